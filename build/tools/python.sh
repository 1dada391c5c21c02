#!/usr/bin/env bash
# Install the Python tools that requirements.txt names into build/cache/tools/python, when it has
# changed.
set -euo pipefail
cd "$(dirname "$0")"
env=../cache/tools/python
! cmp -s requirements.txt $env/requirements.txt || exit 0
rm -rf $env
python3 -m venv $env
$env/bin/pip install --quiet --disable-pip-version-check --requirement requirements.txt
cp requirements.txt $env # last: it stands for all of them
