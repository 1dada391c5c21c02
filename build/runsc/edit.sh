#!/bin/sh
# Make build/cache/gvisor, a Git repository in which each patch is a commit, to edit them. Where it
# is there already with another version of gVisor, the patches are rebased onto the one in go.mod.
# See docs/updating-gvisor.md.
set -eu
cd "$(dirname "$0")"
own=$PWD/gvisor
patches=$PWD/patches
go mod download gvisor.dev/gvisor
module=$(go list -m -f '{{.Dir}}' gvisor.dev/gvisor)
version=$(go list -m -f '{{.Version}}' gvisor.dev/gvisor)
mkdir -p ../cache/gvisor
cd ../cache/gvisor

# Our own files are links to those in gvisor/: an edit is one, wherever it is made.
link() {
    echo 'forevervm_*' >.git/info/exclude
    (cd "$own" && find . -type f) | while read -r file; do ln -s "$own/$file" "$file"; done
}
find . -name 'forevervm_*' -delete

# The module's files become the next commit of the branch upstream.
upstream() {
    git ls-files -z | xargs -0 rm -f
    cp -r --no-preserve=mode "$module/." .
    git add --all --force .
    git commit --quiet --message "gVisor $version"
    git tag "$version"
}

if [ ! -e .git ]; then
    git init --quiet --initial-branch=upstream
    git config user.name 'ForeverVM Desktop'
    git config user.email patches@localhost
    git config commit.gpgSign false
    git config core.hooksPath /dev/null
    upstream
    link
    git switch --quiet --create patches
    for patch in "$patches"/*.patch; do
        git apply --index "$patch"
        sed '/^diff --git /,$d' "$patch" | git commit --quiet --file=-
    done
elif git rev-parse --quiet --verify "refs/tags/$version" >/dev/null; then
    link
else
    before=$(git describe --tags --abbrev=0 upstream)
    git switch --quiet upstream
    upstream
    link
    git rebase --onto "$version" "$before" patches
fi
