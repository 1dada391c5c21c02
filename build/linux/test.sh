#!/usr/bin/env bash
# Install, run, upgrade and remove the deb in a fresh Debian, as an ordinary user there:
# build/linux/test.sh VERSION [FOLDER]
#
# Runs as root, for the fresh root file system (mmdebstrap, and half a gigabyte of packages that the
# window needs), which has its own mounts and processes. The rpm and the tarball are unpacked beside
# it and compared: they must hold the same.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=$1 folder=$(realpath "${2:-build/dist}")
name=forevervm-$version-linux-$(go env GOARCH)
[ "$(id -u)" = 0 ] || { echo "build/linux/test.sh makes a root file system: run it as root." >&2 && exit 1; }

if [ "${3:-}" = inside ]; then # called below, in mounts and processes of its own
    root=$4
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
    cd "$root"
    # Not chroot alone: the kernel refuses user namespaces to who lives in one.
    mkdir -p old
    pivot_root . old
    umount --lazy /old
    exec /bin/bash -euo pipefail /test-inside "$version"
fi

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root
mmdebstrap --quiet --variant=minbase --include=ca-certificates "${DEBIAN:-bookworm}" "$root"
cp /etc/resolv.conf "$root/etc/"
cp -r /usr/local/share/ca-certificates/. "$root/usr/local/share/ca-certificates/"
env --unset=TMPDIR chroot "$root" update-ca-certificates >/dev/null 2>&1
cp "$folder/$name.deb" "$root/old.deb"

# From the same programs come the same bytes.
build/linux/package.sh "$version" "$work/again"
for kind in deb rpm tar.zst; do
    cmp "$folder/$name.$kind" "$work/again/$name.$kind"
done
rm -rf "$work/again"

# The next version is the same files under a higher number.
mkdir "$work/next"
dpkg-deb --raw-extract "$root/old.deb" "$work/next"
sed -i "s/^Version: .*/Version: $version.1-1/" "$work/next/DEBIAN/control"
dpkg-deb --root-owner-group -Znone --build "$work/next" "$root/new.deb" >/dev/null

# The other packages hold what the deb does, but for the name of the package in them.
rm -rf "$work/next/DEBIAN"
mkdir "$work/rpm" "$work/tarball"
rpm --root "$work/rpm" --install --nodeps --noscripts "$folder/$name.rpm" 2>/dev/null
tar -C "$work/tarball" --strip-components=1 -xf "$folder/$name.tar.zst"
diff -rq --no-dereference --exclude=package "$work/next/usr" "$work/rpm/usr"
diff -rq --no-dereference --exclude=package "$work/next/usr" "$work/tarball"
for other in rpm tarball; do
    [ "$(find "$work/$other" -path '*/lib/forevervm/package' -exec cat {} +)" = $other ]
    [ "$("$(find "$work/$other" -name forevervm -path '*/lib/*' -type f)" version --json | sed -n 's/^ *"version": "\(.*\)",/\1/p')" = "$version" ]
done
rpm -qp --requires "$folder/$name.rpm" | grep -q webkit2gtk
rm -rf "$work/next" "$work/rpm" "$work/tarball"

cat >"$root/test-inside" <<'INSIDE'
unset TMPDIR
export DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin
version=$1
say() { echo "== $*"; }
fail() { echo "$*" >&2 && exit 1; }
user() { su - person -c "$*"; }
useradd --create-home --shell /bin/bash person

say "installing"
apt-get -qq update
apt-get -qq install --yes --no-install-recommends /old.deb desktop-file-utils man-db >/dev/null 2>&1 || apt-get install --yes --no-install-recommends /old.deb
desktop-file-validate /usr/share/applications/forevervm.desktop
test -s /usr/share/man/man1/forevervm-machine-new.1.gz
bash -n /usr/share/bash-completion/completions/forevervm
user forevervm version | grep -F "forevervm $version ("
! ldd /usr/lib/forevervm/forevervm-desktop | grep 'not found' || fail "the package does not bring all that the window needs"

say "the main job, by an ordinary user"
machine=$(user forevervm machine new)
user "forevervm exec $machine 'x = 6 * 7; x'" | grep -x 42
user forevervm doctor || true
user "mkdir -p .config/Claude && echo '{}' >.config/Claude/claude_desktop_config.json && forevervm connect claude && forevervm apps test claude"

say "upgrading, while it runs"
before=$(pgrep -f 'forevervm serve')
apt-get -qq install --yes /new.deb >/dev/null
for i in $(seq 60); do ! kill -0 $before 2>/dev/null && break || sleep 1; done
! kill -0 $before 2>/dev/null || fail "the daemon of the old version runs on"
user "forevervm exec $machine 'x + 1'" | grep -x 43
dpkg-query -W -f '${Version}\n' forevervm | grep -x "$version.1-1"

say "removing"
user forevervm uninstall --yes
grep -x '{}' ~person/.config/Claude/claude_desktop_config.json
user "forevervm exec $machine 'x + 2'" | grep -x 44
apt-get -qq remove --yes forevervm >/dev/null
! pgrep -af /usr/lib/forevervm || fail "something of it runs on"
for left in /usr/lib/forevervm /usr/bin/forevervm /etc/apparmor.d/forevervm-supervisor; do
    [ ! -e "$left" ] || fail "$left is left"
done
ls ~person/.local/share/forevervm/machines/* >/dev/null # which are the person's

say "installing again: the machines are there"
dpkg --install /old.deb >/dev/null
user "forevervm exec $machine 'x + 3'" | grep -x 45
user forevervm uninstall --yes --data
[ ! -e ~person/.local/share/forevervm ] || fail "the machines are still there"
say "all is well"
INSIDE
unshare --mount --propagation private --pid --fork --kill-child "$0" "$version" "$folder" inside "$root"
