#!/usr/bin/env bash
# Check the runner's and its tests' Python: mistakes, types, format.
set -euo pipefail
cd "$(dirname "$0")"
env=../../build/cache/runner-lint
[ -x $env/bin/mypy ] ||
    { python3 -m venv $env && $env/bin/pip install --quiet ruff==0.17.6 mypy==2.4.1 pytest==9.0.1; }
$env/bin/ruff check --quiet --no-cache .
$env/bin/ruff format --quiet --no-cache --check .
$env/bin/mypy --cache-dir $env/mypy --no-error-summary forevervm_runner tests
