#!/usr/bin/env bash
# Run every fuzz test for a while: build/fuzz.sh [TIME EACH]
set -euo pipefail
cd "$(dirname "$0")/.."
grep -rlE '^func Fuzz' --include='*_test.go' backend | while read -r file; do
    for test in $(sed -nE 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/p' "$file"); do
        echo "$file: $test"
        go test -run '^$' -fuzz "^$test\$" -fuzztime "${1:-1m}" "./$(dirname "$file")"
    done
done
