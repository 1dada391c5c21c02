#!/bin/sh
# Write patches/ from the commits in build/cache/gvisor (edit.sh). See docs/updating-gvisor.md.
set -eu
cd "$(dirname "$0")"
tree=../cache/gvisor
version=$(git -C "$tree" describe --tags --abbrev=0 patches)
commits=$(git -C "$tree" rev-list --reverse "$version..patches")
rm -f patches/*.patch
number=0
for commit in $commits; do
    number=$((number + 1))
    topic=$(git -C "$tree" log -1 --format=%s "$commit" | sed 's/:.*//; s/ /-/g')
    {
        git -C "$tree" log -1 --format=%B "$commit"
        git -C "$tree" diff-tree -p --no-commit-id --no-color --no-ext-diff --no-renames \
            --unified=3 --abbrev=12 --src-prefix=a/ --dst-prefix=b/ "$commit"
    } >"$(printf 'patches/%04d-%s.patch' "$number" "$topic")"
done
