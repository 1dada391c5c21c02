#!/usr/bin/env bash
# Ubuntu from 23.10 on lets only programs with an AppArmor profile use user namespaces, which the
# sandbox needs. Where that is so, install a profile for this checkout's supervisor, with the
# person's consent. It also names a copy of unshare, by which tests enter user namespaces: the
# Makefile puts it in front of the system's own.
set -euo pipefail
cd "$(dirname "$0")/.."
restricted=/proc/sys/kernel/apparmor_restrict_unprivileged_userns
[ "$(cat $restricted 2>/dev/null || echo 0)" = 1 ] && [ "$(id -u)" != 0 ] || exit 0

install -D "$(command -pv unshare)" build/cache/tools/unshare
profile=/etc/apparmor.d/forevervm-supervisor-checkout
wanted=$(sed "s#@{FOREVERVM_SUPERVISOR}#$PWD/build/{bin/supervisor,cache/tools/unshare}#g" build/linux/apparmor/forevervm-supervisor)
[ "$(cat $profile 2>/dev/null)" != "$wanted" ] || exit 0

cat >&2 <<SENTENCE
This system allows user namespaces, which keep Python code away from your files, only to programs that are named to it.
To name this checkout's supervisor, and the copy of unshare that its tests use, the following profile is written to $profile:

$wanted

SENTENCE
if ! [ -t 0 ] || ! command -v sudo >/dev/null; then
    echo "Nobody can be asked here. Write that file as root, then run: apparmor_parser -r $profile" >&2
    exit 1
fi
read -r -p "Do it now, with sudo? [y/N] " answer
[[ $answer == [yY]* ]] || exit 1
printf '%s\n' "$wanted" | sudo tee $profile >/dev/null
sudo apparmor_parser -r $profile
