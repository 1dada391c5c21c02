#!/bin/sh
# Before a removal: what runs is asked to end, and the daemons then save their machines.
set -e
case ${1:-} in upgrade | 1) exit 0 ;; esac # as dpkg says it, and rpm

running() { # the processes of all these programs, whichever user they are of
    for process in /proc/[0-9]*; do
        case $(readlink "$process/exe" 2>/dev/null) in /usr/lib/forevervm/*) echo "${process#/proc/}" ;; esac
    done
}
for process in $(running); do
    case $(readlink "/proc/$process/exe") in
    /usr/lib/forevervm/forevervm*) kill "$process" || true ;; # and the supervisors end with their daemon
    esac
done
seconds=0
while [ -n "$(running)" ] && [ $seconds -lt 60 ]; do
    sleep 1
    seconds=$((seconds + 1))
done
[ -z "$(running)" ] || echo "ForeverVM is still running after a minute. It saves its machines when it stops." >&2

# A package does not change people's own settings: `forevervm uninstall` does that, after it asked.
# Name those who have not run it.
cut -d: -f1,6 /etc/passwd | while IFS=: read -r user home; do
    if grep -qs '"app"' "$home/.local/share/forevervm/apps/connections.json"; then
        echo "AI apps of $user are still connected to ForeverVM. They will show an error." \
            "Install ForeverVM again, run \`forevervm uninstall\` as $user, then remove the package." \
            "Or delete ForeverVM from the apps' settings." >&2
    fi
done

profile=/etc/apparmor.d/forevervm-supervisor
if [ -e $profile ] && [ -d /sys/kernel/security/apparmor ] && command -v apparmor_parser >/dev/null; then
    apparmor_parser -R $profile || true
fi
exit 0
