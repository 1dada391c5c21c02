#!/usr/bin/env bash
# Test the runner as it runs: in the sandbox image, in gVisor. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/../.."
build/tools/python.sh
run=$PWD/build/image/run.py
runner=(/usr/bin/python3 -m forevervm_runner)
# As with real machines, a runner starts once, and the others go on from there, which takes a
# seventh of the time.
template=$(mktemp -d "$PWD/build/cache/runner-template-XXXXXX")
trap 'rm -rf "$template"' EXIT
"$run" --save "$template" "${runner[@]}"
CGO_ENABLED=0 go run ./build/image/sums "$template"
export FOREVERVM_RUNNER_CMD="$run ${runner[*]}"
export FOREVERVM_RUNNER_RESTORE="$run --from $template ${runner[*]}"
build/cache/tools/python/bin/pytest -q -n "$(nproc)" -p no:cacheprovider "$@" backend/runner/tests
