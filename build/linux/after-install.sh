#!/bin/sh
# After an installation or an upgrade.
set -e

# Ubuntu from 23.10 on lets only programs with an AppArmor profile use user namespaces, which the
# sandbox is built from. The profile is written in the language of AppArmor 4, which systems without
# that restriction need not know.
profile=/etc/apparmor.d/forevervm-supervisor
if [ -e /etc/apparmor.d/abi/4.0 ]; then
    sed 's#@{FOREVERVM_SUPERVISOR}#/usr/lib/forevervm/supervisor#g' /usr/share/forevervm/apparmor >$profile.new
    mv $profile.new $profile
    if [ -d /sys/kernel/security/apparmor ] && command -v apparmor_parser >/dev/null; then
        apparmor_parser -r $profile || echo "The AppArmor profile $profile was not loaded. Restart the computer to load it." >&2
    fi
fi

# Daemons of the version before are asked to end: they save their machines, and anyone who needs one
# next starts the new version, which goes on with them. Not before the new files are there: AI apps
# would at once start the old version again.
for process in /proc/[0-9]*; do
    [ "$(readlink "$process/exe" 2>/dev/null)" = '/usr/lib/forevervm/forevervm (deleted)' ] || continue
    if tr '\0' ' ' <"$process/cmdline" | grep -q ' serve '; then
        kill "${process#/proc/}" || true
    fi
done
exit 0
