#!/usr/bin/env bash
# Build and test what runs on every system, on this one: build/release/portable.sh
set -euo pipefail
cd "$(dirname "$0")/../.."
make frontend/dist/index.html
go vet -tags=real,system,soak ./backend/...
go test -count 1 ./backend/api/... ./backend/client/... ./backend/home/... ./backend/opener/... ./backend/proof/... ./backend/store/... ./backend/tail/... \
    ./backend/update/... ./backend/version/... ./backend/wire/... ./backend/aiapps/configfile/... ./backend/aiapps/safefile/...
ending=$(go env GOEXE) tags=desktop,production
[ "$(go env GOOS)" != linux ] || tags+=,webkit2_41
[ "$(go env GOOS)" != darwin ] || export CGO_LDFLAGS="-framework UniformTypeIdentifiers"
mkdir -p build/bin
go build -trimpath -o "build/bin/forevervm$ending" ./backend/cmd/forevervm
go build -trimpath -tags "$tags" -o "build/bin/forevervm-desktop$ending" .
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
export FOREVERVM_HOME=$home
"build/bin/forevervm$ending" version
"build/bin/forevervm$ending" doctor || true # which finds no Docker
"build/bin/forevervm$ending" stop
