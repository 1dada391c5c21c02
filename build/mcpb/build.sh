#!/usr/bin/env bash
# Pack Claude Desktop's extension for one system: build/mcpb/build.sh VERSION FILE SYSTEM
# ARCHITECTURE…
#
# SYSTEM and ARCHITECTURE are as Go names them. The same inputs and SOURCE_DATE_EPOCH, by default
# the time of the commit, give the same bytes. With MCPB_CERT and MCPB_KEY (PEM files;
# MCPB_INTERMEDIATE for one more certificate) it is signed.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=$1 out=$2 system=$3
shift 3
mcpb=build/mcpb/node_modules/.bin/mcpb
folder=build/cache/mcpb/$(basename "$out" .mcpb)
rm -rf "$folder"
mkdir -p "$folder/server" "$(dirname "$out")"

for architecture in "$@"; do
    case $system-$architecture in
    windows-*) name=forevervm-extension.exe ;;
    *-amd64) name=forevervm-extension-x86_64 ;;
    darwin-arm64) name=forevervm-extension-arm64 ;; # as uname -m says
    *-arm64) name=forevervm-extension-aarch64 ;;
    esac
    CGO_ENABLED=0 GOOS=$system GOARCH=$architecture go build -trimpath \
        -ldflags "-s -w -X github.com/forevervm/desktop/backend/version.Version=$version" -o "$folder/server/$name" ./backend/cmd/extension
    # Apple looks into what lies in an application that it is to believe.
    [ "$system" != darwin ] || [ -z "${MACOS_IDENTITY:-}" ] || codesign --force --timestamp --options runtime --sign "$MACOS_IDENTITY" "$folder/server/$name"
done
[ "$system" = windows ] || cp build/mcpb/start.sh "$folder/server/"
cp build/mcpb/icon.png LICENSE "$folder/"
node build/mcpb/manifest.js "$system" "$version" >"$folder/manifest.json"

"$mcpb" validate "$folder/manifest.json" >&2
"$mcpb" pack "$folder" "$out.new" >&2
# It notes the time of packing for every file.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)} python3 - "$out.new" <<'DATED'
import os
import struct
import sys
import time
import zipfile

at = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))
date = struct.pack("<HH", at.tm_hour << 11 | at.tm_min << 5 | at.tm_sec // 2, at.tm_year - 1980 << 9 | at.tm_mon << 5 | at.tm_mday)
with open(sys.argv[1], "r+b") as file:
    packed = zipfile.ZipFile(file)
    central = packed.start_dir
    for entry in packed.infolist():
        file.seek(central + 28)
        lengths = struct.unpack("<HHH", file.read(6))
        for place in (entry.header_offset + 10, central + 12):
            file.seek(place)
            file.write(date)
        central += 46 + sum(lengths)
DATED
if [ -n "${MCPB_CERT:-}" ]; then
    node build/mcpb/sign.js "$out.new" "$MCPB_CERT" "$MCPB_KEY" ${MCPB_INTERMEDIATE:+"$MCPB_INTERMEDIATE"}
fi
mv "$out.new" "$out"
