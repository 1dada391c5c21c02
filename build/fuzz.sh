#!/usr/bin/env bash
# Run every fuzz test for a while: build/fuzz.sh [TIME EACH]
set -euo pipefail
cd "$(dirname "$0")/.."
grep -roE '^func Fuzz[A-Za-z0-9_]*' --include='*_test.go' backend | while IFS=: read -r file test; do
    test=${test#func }
    echo "$file: $test"
    # Each find is made smaller once at most: large ones would take all of the time otherwise.
    go test -run '^$' -fuzz "^$test\$" -fuzzminimizetime 1x -fuzztime "${1:-1m}" "./$(dirname "$file")"
done
