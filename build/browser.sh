#!/usr/bin/env bash
# Print the path of the browser that tests of the page use: $CHROMIUM, or the first that is found.
set -euo pipefail

if [ -n "${CHROMIUM:-}" ]; then
    echo "$CHROMIUM"
    exit
fi
# The first has no window, and takes two thirds of the processor time of the others.
for name in chromium-headless-shell chromium chromium-browser google-chrome; do
    path=$(command -v $name) || continue
    # A snap sees neither the tests' files nor their browser profile.
    ! grep -qs /snap/ <(readlink -f "$path") <(head -c 4096 "$path" | tr -d '\0') || continue
    echo "$path"
    exit
done
for path in "${PLAYWRIGHT_BROWSERS_PATH:-$HOME/.cache/ms-playwright}"/chromium-*/chrome-linux*/chrome; do
    [ -x "$path" ] || continue
    echo "$path"
    exit
done
echo "No browser was found that the tests of the page can use (Ubuntu's Chromium is a snap, which they cannot)." \
    "Install Google Chrome, or run: npx playwright install --with-deps chromium; or name one in the variable CHROMIUM." >&2
exit 1
