#!/usr/bin/env bash
# Pack the Windows programs, and what machines need in Docker, as an MSI: build/windows/package.sh
# VERSION [FOLDER]
#
# It takes agent, supervisor, runsc and image from build/bin: they run on Linux. With
# $WINDOWS_CERTIFICATE and $WINDOWS_KEY (PEM files), the programs and the MSI are signed, and dated
# by $TIMESTAMP_SERVER where there is one. Unsigned, the same inputs and SOURCE_DATE_EPOCH give the
# same bytes.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=$1 out=$(realpath -m "${2:-build/dist}")
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
work=$PWD/build/cache/dist/windows
name=forevervm-$version-windows-amd64.msi
rm -rf "$work"
mkdir -p "$out" "$work/program/image"

signed() { # FILE: in its place
    [ -n "${WINDOWS_CERTIFICATE:-}" ] || return 0
    osslsigncode sign -certs "$WINDOWS_CERTIFICATE" -key "$WINDOWS_KEY" -n ForeverVM -i https://forevervm.com -h sha256 \
        ${TIMESTAMP_SERVER:+-ts "$TIMESTAMP_SERVER"} -in "$1" -out "$1.signed" >/dev/null
    mv "$1.signed" "$1"
}
program() { # NAME, what is to be compiled, and how
    local exe=$work/program/$1.exe
    GOOS=windows GOARCH=amd64 CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w ${4:-} $(build/release/stamps.sh "$version")" ${3:+-tags "$3"} -o "$exe" "$2"
    go -C build/release tool go-winres patch --no-backup --in "$PWD/build/windows/winres.json" \
        --file-version "$version.0" --product-version "$version.0" "$exe"
    signed "$exe"
}
program forevervm ./backend/cmd/forevervm
program forevervm-desktop . desktop,production '-H windowsgui'
build/mcpb/build.sh "$version" "$work/program/forevervm.mcpb" windows amd64
cp build/bin/{agent,supervisor,runsc} "$work/program/"
ln -s "$PWD"/build/bin/image/base.{erofs,json} "$work/program/image/"
echo msi >"$work/program/package"
cp LICENSE "$work/program/LICENSE.txt"
build/release/notices.sh "$work/program" "$version" build/bin/image/base.json "$work"/program/{forevervm.exe,forevervm-desktop.exe,agent,supervisor,runsc}
cp "$work/program/sbom.cdx.json" "$out/${name%.msi}.sbom.cdx.json"
convert build/mcpb/icon.png -define icon:auto-resize=256,64,48,32,16 "$work/icon.ico"
find "$work" -type f -exec touch --date="@$SOURCE_DATE_EPOCH" {} +

# An update has another product code, and two packages of one version are one product.
code() { python3 -c 'import sys, uuid; print(str(uuid.uuid5(uuid.NAMESPACE_URL, "https://forevervm.com/" + sys.argv[1])).upper())' "$1"; }
msi=$work/$name
(cd "$work" && wixl --arch x64 -D Version="$version" -D ProductCode="$(code "product/$version")" \
    -o "$msi" "$OLDPWD/build/windows/forevervm.wxs")

# What wixl has no elements for: the person's path, and what is done before an update or a removal.
# Windows replaces no program that runs: so what runs from the folder of the installation is ended,
# and nothing else, and once more after AI apps were disconnected, which may have started it again.
# What fails there does not keep the rest from going on. Where a person watched an update, the
# window is opened after it. msiexec /x … DELETEDATA=1 deletes the machines, too.
table() { # NAME; its rows from standard input
    sed 's/|/\t/g; s/$/\r/' >"$work/$1.idt"
}
table Environment <<'ROWS'
Environment|Name|Value|Component_
s72|l255|L255|s72
Environment|Environment
Path|=-Path|[~];[INSTALLDIR]|Daemon
ROWS
table CustomAction <<'ROWS'
Action|Type|Source|Target
s72|i2|S72|S255
CustomAction|Action
EndAll|98|INSTALLDIR|"[INSTALLDIR]forevervm.exe" stop --all
Disconnect|82|forevervm.exe|uninstall --yes
DisconnectAndDelete|82|forevervm.exe|uninstall --yes --data
EndAgain|98|INSTALLDIR|"[INSTALLDIR]forevervm.exe" stop --all
OpenWindow|210|forevervm_desktop.exe|
ROWS
step() { # ACTION SEQUENCE CONDITION
    echo "INSERT INTO \`InstallExecuteSequence\` (\`Action\`, \`Condition\`, \`Sequence\`) VALUES ('$1', '$3', $2)"
}
# The older version is removed within the installation of the newer one, not before it, as wixl has
# it: one that fails brings it back.
removed='REMOVE="ALL"' updated=WIX_UPGRADE_DETECTED
msibuild "$msi" -i "$work/Environment.idt" -i "$work/CustomAction.idt" \
    -q "$(step EndAll 1201 "$removed OR $updated")" \
    -q "$(step Disconnect 1203 "$removed AND NOT UPGRADINGPRODUCTCODE AND NOT DELETEDATA")" \
    -q "$(step DisconnectAndDelete 1204 "$removed AND NOT UPGRADINGPRODUCTCODE AND DELETEDATA")" \
    -q "$(step EndAgain 1205 "$removed OR $updated")" -q "$(step OpenWindow 6601 "$updated AND UILevel > 2")" \
    -q "$(step RemoveEnvironmentStrings 3300 "")" -q "$(step WriteEnvironmentStrings 5200 "")" \
    -q "UPDATE \`InstallExecuteSequence\` SET \`Sequence\` = 1501 WHERE \`Action\` = 'RemoveExistingProducts'" \
    -s "Python machines that keep their state forever, for AI apps" "ForeverVM Desktop authors" "x64;1033" "{$(code "package/$version")}" # wixl makes one up
# Nor can wixl be told when it was made, and when it was changed.
python3 - "$msi" <<'DATED'
import os
import re
import sys

when = ((int(os.environ["SOURCE_DATE_EPOCH"]) + 11644473600) * 10**7).to_bytes(8, "little")
with open(sys.argv[1], "r+b") as file:
    found = re.findall(rb"(?s)(?:\x40\0\0\0.{8}){2}(?=\x03\0\0\0)", data := file.read())
    assert len(found) == 1, found
    file.seek(data.index(found[0]))
    file.write((b"\x40\0\0\0" + when) * 2)
DATED
signed "$msi"
mv "$msi" "$out/$name"
rm -rf "$work"
