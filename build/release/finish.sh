#!/usr/bin/env bash
# Write the checksums of what is in a folder of packages, and where there is a key its signed
# manifest: build/release/finish.sh VERSION [FOLDER]
#
# $FOREVERVM_SIGNING_KEY signs the manifest that installed programs look at (backend/update). What
# is new is the text of $NOTES, a file, or else the commits since the tag before.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=$1 folder=$(realpath "${2:-build/dist}")
if [ -n "${FOREVERVM_SIGNING_KEY:-}" ]; then
    notes=${NOTES:-}
    if [ -z "$notes" ]; then
        notes=$(mktemp)
        trap 'rm -f "$notes"' EXIT
        before=$(git describe --tags --abbrev=0 HEAD^ 2>/dev/null || true)
        git log --no-merges -n 30 --format='- %s' ${before:+"$before..HEAD"} >"$notes"
    fi
    go run ./backend/update/feedtool sign -version "$version" -notes "$notes" "$folder"
else
    echo "There is no signing key: installed programs hear nothing of this release."
fi
cd "$folder"
rm -f SHA256SUMS
sha256sum -- * >SHA256SUMS.new
mv SHA256SUMS.new SHA256SUMS
