# shellcheck shell=bash disable=SC2154 # tests of installers source this, and have set $work
# A feed of releases on this computer: its files are in $work/feed. What is built from then on with
# build/release/stamps.sh listens there, and believes what `announce` signs. Who sources this ends
# the process $feed.
mkdir "$work/feed"
python3 -u -m http.server --bind 127.0.0.1 --directory "$work/feed" 0 >"$work/feed-address" 2>/dev/null &
feed=$!
until [ -s "$work/feed-address" ]; do kill -0 $feed && sleep 0.1; done
go build -o "$work/feedtool" ./backend/update/feedtool
UPDATE_KEYS=$("$work/feedtool" keygen "$work/feed-key")
UPDATE_FEED=$(sed 's#.*(\(.*\)/).*#\1#' "$work/feed-address")
export UPDATE_KEYS UPDATE_FEED

announce() { # VERSION, whose packages are in the feed
    echo "Plots are faster." >"$work/notes"
    FOREVERVM_SIGNING_KEY=$(cat "$work/feed-key") "$work/feedtool" sign -version "$1" -notes "$work/notes" "$work/feed"
}
