#!/usr/bin/env bash
# Make the application for macOS and pack it as a DMG: build/macos/package.sh VERSION ARCHITECTURE
# [FOLDER]
#
# On a Mac this is the real one, window included: signed where $MACOS_IDENTITY names a certificate
# in the keychain, and notarised where $NOTARY_KEY is a file with a key of App Store Connect
# ($NOTARY_KEY_ID, $NOTARY_ISSUER say which). It needs dmgbuild (PyPI). Elsewhere it is a rehearsal:
# the same bundle, with the command line program for a window and without vfkit, which runs the
# virtual machine. ARCHITECTURE is amd64 or arm64. agent, supervisor, runsc, image and guest, which
# run on Linux, are taken from $PARTS, by default build/bin; where there are none for that
# architecture ($PARTS=none), the bundle has none.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=$1 architecture=$2
out=${3:-build/dist}
parts=${PARTS:-build/bin}
mkdir -p "$out"
out=$(cd "$out" && pwd)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
work=$PWD/build/cache/dist/macos-$architecture
name=forevervm-$version-darwin-$architecture.dmg
contents=$work/volume/ForeverVM.app/Contents
rm -rf "$work"
mkdir -p "$contents"/{MacOS,Resources/sandbox/image}

export MACOSX_DEPLOYMENT_TARGET=13.0 # as Info.plist says; vfkit needs it
flags="-s -w $(build/release/stamps.sh "$version")"
GOOS=darwin GOARCH=$architecture CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "$flags" -o "$contents/MacOS/forevervm" ./backend/cmd/forevervm
program=forevervm
if [ "$(uname -s)" = Darwin ]; then
    program=forevervm-desktop
    GOARCH=$architecture CGO_ENABLED=1 CGO_LDFLAGS="-framework UniformTypeIdentifiers" \
        go build -trimpath -buildvcs=false -tags desktop,production -ldflags "$flags" -o "$contents/MacOS/$program" .
    GOARCH=$architecture CGO_ENABLED=1 go -C build/macos/vfkit build -trimpath -buildvcs=false -ldflags "-s -w" \
        -o "$contents/MacOS/vfkit" github.com/crc-org/vfkit/cmd/vfkit
fi
# The programs look for what they need beside themselves; what is no program of this system has to
# lie among the resources.
beside() { ln -s "../Resources/$1" "$contents/MacOS/$(basename "$1")"; }
if [ "$parts" != none ]; then
    cp "$parts"/{agent,supervisor,runsc} "$contents/Resources/sandbox/"
    cp "$parts"/image/base.{erofs,json} "$contents/Resources/sandbox/image/"
    mkdir -p "$contents/Resources/guest/$architecture"
    cp "$parts/guest/$architecture"/{kernel,initramfs,LICENSES} "$contents/Resources/guest/$architecture/"
    for part in sandbox/{agent,supervisor,runsc,image} guest; do beside "$part"; done
else
    rmdir "$contents/Resources/sandbox/image" "$contents/Resources/sandbox"
fi
build/mcpb/build.sh "$version" "$contents/Resources/forevervm.mcpb" darwin "$architecture"
echo dmg >"$contents/Resources/package"
beside forevervm.mcpb
beside package
sed "s/@VERSION@/$version/; s/@PROGRAM@/$program/" build/macos/Info.plist >"$contents/Info.plist"
printf 'APPL????' >"$contents/PkgInfo"
icon=$PWD/build/mcpb/icon.png icons=$work/icon.iconset
mkdir "$icons"
if [ "$(uname -s)" = Darwin ]; then
    for size in 16 32 128 256 512; do sips -z $size $size "$icon" --out "$icons/icon_${size}x$size.png" >/dev/null; done
    iconutil --convert icns --output "$contents/Resources/icon.icns" "$icons"
else
    for size in 16 32 128 256 512; do convert "$icon" -resize ${size}x$size "$icons/$size.png"; done
    png2icns "$contents/Resources/icon.icns" "$icons"/*.png >/dev/null
fi
cp LICENSE "$contents/Resources/LICENSE.txt"
if [ "$parts" != none ]; then
    programs=("$contents/MacOS/forevervm" "$contents/MacOS/$program" "$contents/Resources/sandbox"/{agent,supervisor,runsc})
    if [ -e "$contents/MacOS/vfkit" ]; then programs+=("$contents/MacOS/vfkit"); fi
    build/release/notices.sh "$contents/Resources" "$version" "$parts/image/base.json" "${programs[@]}"
    cp "$contents/Resources/sbom.cdx.json" "$out/${name%.dmg}.sbom.cdx.json"
fi
chmod -R u=rwX,go=rX "$work/volume"

if [ "$(uname -s)" = Darwin ]; then
    # Processors of Apple's run nothing without a signature, if only one of nobody's.
    sign() { codesign --force --sign - "$@"; }
    if [ -n "${MACOS_IDENTITY:-}" ]; then
        sign() { codesign --force --timestamp --options runtime --sign "$MACOS_IDENTITY" "$@"; }
    fi
    sign --entitlements build/macos/virtualization.plist "$contents/MacOS/vfkit"
    sign --entitlements build/macos/entitlements.plist "$contents/MacOS/forevervm"
    sign --entitlements build/macos/entitlements.plist "$work/volume/ForeverVM.app"
    codesign --verify --deep --strict "$work/volume/ForeverVM.app"
    python3 -m dmgbuild -s build/macos/dmgbuild.py -D app="$work/volume/ForeverVM.app" ForeverVM "$work/$name"
    if [ -n "${MACOS_IDENTITY:-}" ]; then
        codesign --timestamp --sign "$MACOS_IDENTITY" "$work/$name"
        if [ -n "${NOTARY_KEY:-}" ]; then
            xcrun notarytool submit "$work/$name" --key "$NOTARY_KEY" --key-id "$NOTARY_KEY_ID" --issuer "$NOTARY_ISSUER" --wait
            xcrun stapler staple "$work/$name"
        fi
    fi
else
    echo "This is no Mac: $name holds the command line program alone, and is a rehearsal of the one that is made there."
    ln -s /Applications "$work/volume/Applications"
    find "$work/volume" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
    export TZ=UTC # and SOURCE_DATE_EPOCH, which xorriso heeds
    xorriso -as mkisofs -quiet -V ForeverVM -R -hfsplus -hfsplus-file-creator-type APPL '????' /ForeverVM.app -o "$work/hybrid.iso" "$work/volume" 2>/dev/null
    go -C build/release run ./udif "$work/hybrid.iso" "$work/$name"
fi
mv "$work/$name" "$out/$name"
rm -rf "$work"
