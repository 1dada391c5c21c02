#!/bin/sh
# Build runsc into build/bin, or into the file that is given, from the gVisor that apply.sh has
# made. Its version is stamped, because gVisor refuses to restore what another version saved, and
# can only if it knows its own; nothing else of the checkout is in it, since checkpoints are bound
# to its digest.
set -eu
cd "$(dirname "$0")"
cache=../cache/runsc
# v0.0.0-20260905035102-160fafc42237 of the module is release-20260905.0-160fafc42237 of runsc.
version=$(go list -m -f '{{.Version}}' gvisor.dev/gvisor |
    sed -E 's/^v0\.0\.0-([0-9]{8})[0-9]{6}-/release-\1.0-/')
# What the daemon asks of runsc (backend/engine/local/features.go), by the patches' headers.
features=$(sed -n 's/^Feature: /forevervm./p' patches/*.patch | paste -sd, -)
filters=$cache/filters.$(go env GOARCH) # no Go file, where the project's own go would find it
export CGO_ENABLED=0 GOWORK="$PWD/$cache/go.work"
go run ./precompile >"$filters"
printf '{"Replace": {"%s": "%s"}}' "$PWD/filters.go" "$PWD/$filters" >"$filters.json"
go build -trimpath -buildvcs=false -overlay "$filters.json" \
    -tags "$features" -ldflags "-s -w -X gvisor.dev/gvisor/runsc/version.version=$version" \
    -o "${1:-../bin/runsc}" .
