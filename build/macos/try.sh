#!/usr/bin/env bash
# Install the application from a DMG, on a Mac, and have it run Python without Docker:
# build/macos/try.sh DMG
set -euo pipefail
if [ "$(sysctl -n kern.hv_support)" != 1 ]; then
    echo "This Mac runs no virtual machines, so ForeverVM is not tried on it."
    exit
fi
volume=$(mktemp -d)
hdiutil attach -nobrowse -mountpoint "$volume" "$1"
cp -R "$volume/ForeverVM.app" /Applications/
hdiutil detach "$volume"
forevervm=/Applications/ForeverVM.app/Contents/MacOS/forevervm
says() {
    said=$("$forevervm" exec first "$1")
    [ "$said" = "$2" ] || { echo "$1 gives $said in place of $2" && exit 1; }
}
trap '"$forevervm" doctor; "$forevervm" stop; cat "$HOME/Library/Application Support/ForeverVM/data/vm/"*.log' EXIT
"$forevervm" machine new --name first
began=$SECONDS
says 'x = 41; x + 1' 42
echo "The first result came after $((SECONDS - began)) s."
"$forevervm" machine sleep first
says x 41
kill -9 "$(plutil -extract pid raw "$HOME/Library/Application Support/ForeverVM/run/daemon.json")"
says x 41
pkill -9 vfkit
"$forevervm" stop
says x 41
