#!/bin/sh
# Print the linker's flags that say which version and commit a program is, and for a release where
# newer ones are announced: build/release/stamps.sh VERSION
set -eu
rooms=github.com/forevervm/desktop/backend
printf '%s' "-X $rooms/version.Version=$1"
if commit=$(git log -1 --format=%h --abbrev=12 2>/dev/null); then
    git diff --quiet HEAD || commit=$commit+
    printf '%s' " -X $rooms/version.Commit=$commit -X $rooms/version.Date=$(TZ=UTC git log -1 --date=format-local:%Y-%m-%d --format=%cd)"
fi
[ -z "${UPDATE_FEED:-}" ] || printf '%s' " -X $rooms/update.Feed=$UPDATE_FEED -X $rooms/update.SigningKey=${UPDATE_KEYS:?the public keys that sign releases}"
