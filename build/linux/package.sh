#!/usr/bin/env bash
# Pack what `make build` left in build/bin as a tarball, a deb and an rpm: build/linux/package.sh
# VERSION [FOLDER]
#
# All three hold the same tree, which works wherever it lies: the programs find the sandbox's parts
# beside them. The same programs and SOURCE_DATE_EPOCH, by default the time of the commit, give the
# same bytes.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=$1 out=$(realpath -m "${2:-build/dist}")
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
ARCHITECTURE=$(go env GOARCH)
export VERSION=$version ARCHITECTURE SOURCE_DATE_EPOCH
umask 022
name=forevervm-$version-linux-$ARCHITECTURE
work=build/cache/dist/linux
tree=$work/$name
rm -rf "$work"
mkdir -p "$out" "$tree"/{bin,lib/forevervm/image,share/applications,share/doc/forevervm,share/forevervm} "$tree"/share/icons/hicolor/{scalable,512x512}/apps

cp build/bin/{forevervm,forevervm-desktop,agent,supervisor,runsc,forevervm.mcpb} "$tree/lib/forevervm/"
cp build/bin/image/base.{erofs,json} "$tree/lib/forevervm/image/"
ln -s ../lib/forevervm/forevervm ../lib/forevervm/forevervm-desktop "$tree/bin/"
build/bin/forevervm manual "$tree/share"
cp build/linux/forevervm.desktop "$tree/share/applications/"
cp frontend/public/icon.svg "$tree/share/icons/hicolor/scalable/apps/forevervm.svg"
cp build/mcpb/icon.png "$tree/share/icons/hicolor/512x512/apps/forevervm.png"
cp build/linux/apparmor/forevervm-supervisor "$tree/share/forevervm/apparmor"
cp LICENSE "$tree/share/doc/forevervm/copyright"
build/release/notices.sh "$tree/share/doc/forevervm" "$version" build/bin/image/base.json "$tree"/lib/forevervm/{forevervm,forevervm-desktop,agent,supervisor,runsc}
cp "$tree/share/doc/forevervm/sbom.cdx.json" "$out/$name.sbom.cdx.json"
chmod -R u=rwX,go=rX "$tree"

packed() { # KIND: the tree, which says how it was installed, as the update needs to know
    echo "$1" >"$tree/lib/forevervm/package"
    find "$tree" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
}
packed tarball
tar --create --sort=name --owner=0 --group=0 --numeric-owner --format=gnu --directory="$work" "$name" | zstd -T0 -10 --force --quiet -o "$out/$name.tar.zst"
for kind in deb rpm; do
    packed $kind
    # nfpm runs in its module's folder, and takes what it is told about files from there.
    sed "s#build/linux/#$PWD/build/linux/#" build/linux/nfpm.yaml >"$work/nfpm.yaml"
    TREE=$PWD/$tree go -C build/release tool nfpm package --config "$PWD/$work/nfpm.yaml" --packager $kind --target "$out/$name.$kind"
done
rm -rf "$work"
