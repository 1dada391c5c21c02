#!/usr/bin/env bash
# Test the runner as it runs: in the sandbox image, in gVisor. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/../.."
env=build/cache/runner
[ -d $env/lib/python3*/site-packages/xdist ] ||
    { python3 -m venv $env && $env/bin/pip install --quiet pytest==9.0.1 pytest-xdist==3.8.0; }
run=$PWD/build/image/run.py runner="/usr/bin/python3 -m forevervm_runner"
# As with real machines, a runner starts once, and the others go on from there, which takes a seventh of the time.
template=$(mktemp -d "$PWD/build/cache/runner-template-XXXXXX")
trap 'rm -rf "$template"' EXIT
$run --save "$template" $runner
export FOREVERVM_RUNNER_CMD="$run $runner" FOREVERVM_RUNNER_RESTORE="$run --from $template $runner"
$env/bin/pytest -q -n "$(nproc)" -p no:cacheprovider "$@" backend/runner/tests
