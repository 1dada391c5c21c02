#!/bin/sh
# After a removal. People's machines are theirs: they stay, in their home folders.
set -e
case ${1:-} in remove | purge | 0) rm -f /etc/apparmor.d/forevervm-supervisor ;; esac # as dpkg says it, and rpm
exit 0
