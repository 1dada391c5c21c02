#!/usr/bin/env bash
# Run every fuzz test for a while: build/fuzz.sh [TIME EACH]
# What a test finds of interest stays in build/cache/fuzz: the next run goes on from there.
set -euo pipefail
cd "$(dirname "$0")/.."
grep -roE '^func Fuzz[A-Za-z0-9_]*' --include='*_test.go' backend | while IFS=: read -r file test; do
    test=${test#func }
    echo "$file: $test"
    kept=$PWD/build/cache/fuzz/$(dirname "$file")
    mkdir -p "$kept"
    # Each find is made smaller once at most: large ones would take all of the time otherwise.
    go test -run '^$' -fuzz "^$test\$" -fuzzminimizetime 1x -fuzztime "${1:-1m}" \
        "./$(dirname "$file")" -args -test.fuzzcachedir="$kept"
done
