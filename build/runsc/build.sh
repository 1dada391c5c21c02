#!/bin/sh
# Build runsc into build/bin, or into the file that is given. Its version is stamped, because gVisor
# refuses to restore what another version saved, and can only if it knows its own; nothing else of
# the checkout is in it, since checkpoints are bound to its digest.
set -eu
cd "$(dirname "$0")"
# v0.0.0-20260905035102-160fafc42237 of the module is release-20260905.0-160fafc42237 of runsc.
version=$(go list -m -f '{{.Version}}' gvisor.dev/gvisor |
    sed -E 's/^v0\.0\.0-([0-9]{8})[0-9]{6}-/release-\1.0-/')
architecture=$(go env GOARCH)
host=$(go env GOHOSTARCH)
cache=../cache/runsc
[ "$architecture" = "$host" ] || cache=$cache-$architecture
export CGO_ENABLED=0
./apply.sh "$cache"

# What compiles the filters for another processor runs emulated, and emulators know no seccomp.
emulated() {
    [ "$architecture" = "$host" ] ||
        GIT_CEILING_DIRECTORIES=$(realpath "$cache") git -C "$cache/gvisor" "$@" "$PWD/emulated.patch"
}
emulated apply
go run -modfile="$cache/go.mod" ./precompile >"$cache/filters.generated"
emulated apply -R
printf '{"Replace": {"%s": "%s"}}' \
    "$PWD/filters.go" "$PWD/$cache/filters.generated" >"$cache/overlay.json"
go build -modfile="$cache/go.mod" -trimpath -buildvcs=false -overlay "$cache/overlay.json" \
    -ldflags "-s -w -X gvisor.dev/gvisor/runsc/version.version=$version" -o "${1:-../bin/runsc}" .
