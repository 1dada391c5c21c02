#!/usr/bin/env bash
# Build the Kubernetes that tests start (backend/engine/kubernetes/kubetest): from nothing 7 minutes
# on 2 cores, and 260 MB. What is built lies in a folder named by what it is built from, so a change
# builds anew and nothing else does.
#
#     build.sh        build what is not there yet
#     build.sh where  print the folder, which is there once all is built
#
# Every part is a module of its own: each asks for other versions of the same libraries.
set -euo pipefail
cd "$(dirname "$0")"

# A cache elsewhere is one that several checkouts share.
cache=${FOREVERVM_TEST_KUBERNETES:-$(realpath -m ../cache/kubernetes)}
key=$({
    uname -m
    find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
} | sha256sum | cut -c 1-16)
out=$cache/$key
case ${1:-} in
where)
    echo "$out"
    exit
    ;;
'') ;;
*)
    echo "usage: build.sh [where]" >&2
    exit 2
    ;;
esac

mkdir -p "$cache"
exec 9>"$cache/lock" # two builds at once take longer than one after the other
flock 9
[ ! -d "$out" ] || exit 0
began=$SECONDS
made=$cache/making
rm -rf "$made"
mkdir -p "$made/cni"
# The objects take 5 GB and nothing else uses them.
GOCACHE=$(mktemp -d)
export GOCACHE CGO_ENABLED=0 GOWORK=off GOFLAGS='-trimpath -buildvcs=false'
trap 'rm -rf "$GOCACHE" "$made"' EXIT

# Programs ask a server for its version before they use newer parts of the API.
kubernetes=$(go -C cluster list -m -f '{{.Version}}' k8s.io/kubernetes)
IFS=. read -r major minor _ <<<"${kubernetes#v}"
version=k8s.io/component-base/version
go -C cluster build -o "$made" -ldflags "-s -w -X $version.gitVersion=$kubernetes \
    -X $version.gitMajor=$major -X $version.gitMinor=$minor" . ./pause
for name in etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl volumes forward; do
    ln -s cluster "$made/$name"
done
# A module's tools are what it is for.
go -C containerd build -o "$made" -tags 'no_btrfs no_zfs no_devmapper' -ldflags '-s -w' tool
go -C cni build -o "$made/cni" -ldflags '-s -w' tool
# Without seccomp, a part of it in C, runc refuses each pod that asks for a profile.
CGO_ENABLED=1 go -C runc build -o "$made" -tags 'netgo osusergo seccomp' \
    -ldflags '-s -w -linkmode external -extldflags -static' tool

mv "$made" "$out"
if [ -z "${FOREVERVM_TEST_KUBERNETES:-}" ]; then # those of older versions
    find "$cache" -mindepth 1 -maxdepth 1 -type d ! -name "$key" -exec rm -rf {} +
fi
echo "$out: $(du -sm "$out" | cut -f 1) MB after $((SECONDS - began)) s"
