#!/bin/sh
# Make the gVisor that runsc is built from, build/cache/runsc/gvisor: a copy of the module that
# go.mod names, with gvisor/ added to it and patches/ applied. Beside it, go.work puts that copy in
# place of the module. Building, testing and linting all use it, so they compile gVisor once.
set -eu
cd "$(dirname "$0")"
cache=../cache/runsc
mkdir -p "$cache"
go mod download gvisor.dev/gvisor
rm -rf "$cache/gvisor"
cp -r --no-preserve=mode "$(go list -m -f '{{.Dir}}' gvisor.dev/gvisor)" "$cache/gvisor"
cp -r gvisor/. "$cache/gvisor"
for patch in patches/*.patch; do
    # Without the ceiling, Git would look for the patched files in this repository.
    GIT_CEILING_DIRECTORIES=$(realpath "$cache") git -C "$cache/gvisor" apply "$PWD/$patch" || {
        echo "build/runsc: $patch does not fit this gVisor: see docs/updating-gvisor.md" >&2
        exit 1
    }
done
{
    grep '^go ' go.mod
    echo "use ../../runsc"
    echo "replace gvisor.dev/gvisor => ./gvisor"
} >"$cache/go.work"
