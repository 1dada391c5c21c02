#!/usr/bin/env bash
# hold.sh FOLDER BINARIES: run a node until standard input ends, then remove all that it had.
#
# The other end of standard input is the tests' process. However that ends, killed included, the
# node ends, its control groups are removed, and so is the folder. This is not done in the tests'
# process, as that could not do it then.
set -euo pipefail
folder=$1 binaries=$2
name=$(basename "$folder")

# A branch in each hierarchy of version 1 (a hybrid system mounts version 2, too, and its
# controllers are in version 1), or in the one of version 2.
list() { awk -v type="$1" '$3 == type && $2 ~ "^/sys/fs/cgroup(/|$)" {print $2}' /proc/self/mounts; }
mapfile -t hierarchies < <(list cgroup)
[ ${#hierarchies[@]} -gt 0 ] || mapfile -t hierarchies < <(list cgroup2)
groups=("${hierarchies[@]/%//$name}")

remove() {
    for _ in {1..600}; do # processes that were killed take a moment to end
        for group in "${groups[@]}"; do
            [ ! -d "$group" ] || find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
        done
        left=$(ls -d "${groups[@]}" 2>/dev/null) || true
        [ -n "$left" ] || break
        sleep 0.1
    done
    rm -rf "$folder"
    if [ -n "$left" ]; then
        echo "these control groups are left behind: $left" >&2
        exit 1
    fi
}
trap remove EXIT

for group in "${groups[@]}"; do
    mkdir "$group"
    for file in cpuset.cpus cpuset.mems; do # in version 1 nothing can enter before they are set
        above=$(dirname "$group")/$file
        [ ! -f "$above" ] || cat "$above" >"$group/$file"
    done
    [ ! -f "$group/cgroup.clone_children" ] || echo 1 >"$group/cgroup.clone_children"
done

exec 3<&0
(
    exec 3<&-
    # All of the node ends with its process 1, that with unshare, and that with this script.
    exec setpriv --pdeathsig KILL unshare --mount --net --pid --uts --ipc --fork --kill-child \
        --mount-proc bash "$folder/node.sh" "$folder" "$binaries" "${groups[@]}"
) </dev/null >"$folder/log/node" 2>&1 &
node=$!
(
    while read -r _ <&3; do :; done
    kill -KILL $node
) &
watch=$!
exec 3<&-
wait $node || true
kill $watch 2>/dev/null || true
