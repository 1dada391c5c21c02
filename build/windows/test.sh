#!/usr/bin/env bash
# Install, use, upgrade and remove the MSI under Wine: build/windows/test.sh VERSION [FOLDER]
#
# It tests the installation, what the daemon does without Docker, and machines in a stand-in for
# WSL. Under Wine the window cannot run.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=$1 folder=$(realpath "${2:-build/dist}")
name=forevervm-$version-windows-amd64
work=$(mktemp -d)
export WINEPREFIX=$work/wine WINEARCH=win64 WINEDEBUG=-all WINEDLLOVERRIDES=mscoree,mshtml,winemenubuilder.exe= USER=person
unset FOREVERVM_HOME FOREVERVM_BASE_URL FOREVERVM_TOKEN XDG_DATA_HOME XDG_CONFIG_HOME DISPLAY
service='' feed=''
finish() {
    wineserver --kill --wait 2>/dev/null || true
    for one in $service $feed; do kill "$one" && wait "$one" || true; done
    rm -rf "$work"
}
trap finish EXIT
say() { echo "== $*"; }
fail() { echo "build/windows/test.sh: $*" >&2 && exit 1; }
windows() { # a command; what it says goes to a file, as a daemon that it starts would hold on to a pipe
    local status=0
    "$@" >"$work/said" 2>&1 </dev/null || status=$?
    tr -d '\r' <"$work/said"
    return $status
}
msiexec() { windows wine msiexec "$@" /qn >"$work/msiexec"; }
says() { # TEXT, a command
    local text=$1 said
    shift
    said=$("$@") || true
    grep -qF -- "$text" <<<"$said" || fail "$* does not say \"$text\" but: $said"
}
value() { # KEY…: nothing where there is none
    local found
    found=$(windows wine reg query "$@") && echo "$found" || true
}

say "making a Windows"
wineboot --init >/dev/null 2>&1
printf 'LIBRARY bcryptprimitives\nEXPORTS\nProcessPrng = advapi32.SystemFunction036\n' >"$work/x.def" # which Go needs, and older Wines lack
x86_64-w64-mingw32-ld --shared -o "$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll" "$work/x.def"
person=$WINEPREFIX/drive_c/users/person
installed=$person/AppData/Local/Programs/ForeverVM
forevervm() { windows wine "$installed/forevervm.exe" "$@"; }
uninstallers() { value 'HKLM\Software\Microsoft\Windows\CurrentVersion\Uninstall' /s | grep -c 'DisplayName.*ForeverVM$' || true; } # Windows lists it under HKCU, where Wine does not

say "installing"
msiinfo suminfo "$folder/$name.msi" | grep -q '^Source: 10 ' || fail "it is not for one person without an administrator"
removal=$(msiinfo export "$folder/$name.msi" InstallExecuteSequence | tr -d '\r' | awk -F'\t' '$1 == "InstallInitialize" {begins = $3} $1 == "RemoveExistingProducts" {removes = $3} END {print removes - begins}')
[ "$removal" = 1 ] || fail "an update that fails would leave no version at all" # Wine, in which nothing is brought back, cannot show it
msiexec /i "$folder/$name.msi"
for file in forevervm.exe forevervm-desktop.exe forevervm.mcpb agent supervisor runsc image/base.erofs image/base.json package NOTICES.txt; do
    [ -s "$installed/$file" ] || fail "$file is missing"
done
cmp "$installed/image/base.erofs" build/bin/image/base.erofs
find "$person" "$WINEPREFIX/drive_c/ProgramData" -name ForeverVM.lnk | grep -q 'Start Menu' || fail "there is no entry in the Start menu"
says "ForeverVM" value 'HKCU\Environment' /v Path
says 'forevervm-desktop.exe" "%1"' value 'HKCU\Software\Classes\forevervm\shell\open\command'
[ "$(value 'HKCU\Software\Microsoft\Windows\CurrentVersion\Run' /v forevervm-desktop)" = "" ] || fail "it starts at login, unasked"
[ "$(uninstallers)" = 1 ] || fail "there are $(uninstallers) entries among the programs"
says "forevervm $version" forevervm version
says "Docker is not installed." forevervm doctor

say "an AI app, and the keyring"
mkdir -p "$person/AppData/Roaming/Claude"
settings=$person/AppData/Roaming/Claude/claude_desktop_config.json
printf '{}' >"$settings"
forevervm connect claude >/dev/null
grep -q 'Programs.*ForeverVM.*forevervm.exe' "$settings"
says "It works" forevervm apps test claude
build/bin/forevervm serve --home "$work/service" >"$work/address" 2>/dev/null &
service=$!
until [ -s "$work/address" ]; do kill -0 "$service" && sleep 0.1; done
build/bin/forevervm token --home "$work/service" >"$work/token"
wine "$installed/forevervm.exe" login --api-base-url "$(sed 's/.*"url":"\([^"]*\)".*/\1/' "$work/address")" <"$work/token" >"$work/said" 2>&1
grep -q "Logged in" "$work/said" || fail "login says $(cat "$work/said")"
says "as local" forevervm whoami
! grep -rqF "$(cat "$work/token")" "$person" || fail "the token is in a file"
forevervm logout >/dev/null

say "upgrading, while it runs"
next() { echo "${version%.*}.$((${version##*.} + 1))"; }
cp "$folder/$name.msi" "$work/next.msi"
code() { tr a-f A-F </proc/sys/kernel/random/uuid; }
for table in Property Upgrade; do
    msiinfo export "$work/next.msi" $table | sed "s/\t$version\t/\t$(next)\t/; s/\t$version\r/\t$(next)\r/; s/^ProductCode\t.*\r/ProductCode\t{$(code)}\r/" >"$work/$table.idt"
done
msibuild "$work/next.msi" -i "$work/Property.idt" -i "$work/Upgrade.idt" -s ForeverVM "ForeverVM Desktop authors" "x64;1033" "{$(code)}"
mkdir "$person/elsewhere"
cp "$installed/forevervm.exe" "$person/elsewhere/"
elsewhere() { windows wine "$person/elsewhere/forevervm.exe" --home 'C:\users\person\elsewhere\home' "$@"; }
elsewhere machine list >/dev/null
forevervm --home 'C:\users\person\second' machine list >/dev/null
forevervm machine list >/dev/null # which starts the daemon
daemon=$person/AppData/Local/ForeverVM/run/daemon.json
[ -e "$daemon" ] || fail "no daemon runs"
msiexec /i "$work/next.msi"
[ ! -e "$daemon" ] || fail "the old daemon runs on"
! forevervm --home 'C:\users\person\second' version | grep daemon || fail "that of another home, which runs the same program, runs on"
says "daemon $version" elsewhere version # which is another installation
elsewhere stop
[ "$(uninstallers)" = 1 ] || fail "after the upgrade there are $(uninstallers) entries among the programs"
says "$(next)" value 'HKLM\Software\Microsoft\Windows\CurrentVersion\Uninstall' /s
forevervm connect claude >/dev/null # Wine removes the older version without saying what for
forevervm machine list >/dev/null
msiexec /x "$work/next.msi" UPGRADINGPRODUCTCODE=1 # as Windows does it
[ ! -e "$daemon" ] || fail "the old daemon runs on"
grep -q forevervm "$settings" || fail "an upgrade disconnects the AI app"
msiexec /i "$work/next.msi"
says "It works" forevervm apps test claude

say "no way back to the older one"
if msiexec /i "$folder/$name.msi" 2>/dev/null; then fail "a newer version was replaced by an older one"; fi
says "forevervm $version" forevervm version
[ "$(uninstallers)" = 1 ] || fail "there are $(uninstallers) entries among the programs"

say "removing, with start at login turned on"
windows wine reg add 'HKCU\Software\Microsoft\Windows\CurrentVersion\Run' /v forevervm-desktop /d x /f >/dev/null
msiexec /x "$work/next.msi"
[ ! -e "$installed/forevervm.exe" ] && [ ! -e "$installed/image" ] || fail "left behind: $(find "$installed")"
[ "$(cat "$settings")" = '{}' ] || fail "the AI app's settings are $(cat "$settings")"
[ "$(uninstallers)" = 0 ] || fail "it is still among the programs"
for key in 'Environment' 'Software\Microsoft\Windows\CurrentVersion\Run' 'Software\Classes\forevervm'; do
    ! value "HKCU\\$key" /s | grep -i forevervm || fail "the registry still has it, at $key"
done
! find "$person" "$WINEPREFIX/drive_c/ProgramData" -name ForeverVM.lnk | grep . || fail "the Start menu still has it"
[ -d "$person/AppData/Local/ForeverVM/data" ] || fail "the person's machines are gone"

say "installing again, with start at login"
msiexec /i "$folder/$name.msi" ADDLOCAL=ALL
says "--hidden" value 'HKCU\Software\Microsoft\Windows\CurrentVersion\Run' /v forevervm-desktop

say "an update from a feed"
. build/release/test-feed.sh
cp "$work/next.msi" "$work/feed/forevervm-$(next)-windows-amd64.msi"
announce "$(next)"
GOOS=windows GOARCH=amd64 CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w $(build/release/stamps.sh "$version")" -o "$installed/forevervm.exe" ./backend/cmd/forevervm
says "Version $(next) is there; this is $version." forevervm update
forevervm machine list >/dev/null
[ -e "$daemon" ] || fail "no daemon runs"
sed -i.good 's/faster/slower/' "$work/feed/release.json"
says "not signed by a key that this version" forevervm update install --yes
mv "$work/feed/release.json.good" "$work/feed/release.json"
says "nobody can be asked here" forevervm update install
says "Version $(next) is installed" forevervm update install --yes
for _ in $(seq 600); do
    ! grep -q "Open this address" "$work/said" || break
    sleep 0.1
done
# Wine has no window: the program says where the page is.
grep -q "Open this address" "$work/said" || fail "the window was not opened after the update"
# What the window has started.
forevervm stop
wineserver --wait
[ ! -e "$daemon" ] || fail "the daemon runs on"
[ "$(uninstallers)" = 1 ] || fail "there are $(uninstallers) entries among the programs"
says "$(next)" value 'HKLM\Software\Microsoft\Windows\CurrentVersion\Uninstall' /s
says "does not look for updates" forevervm update # as the one in that package does not
[ -d "$person/AppData/Local/ForeverVM/data" ] || fail "the person's machines are gone"

say "removing, with the machines"
msiexec /x "$work/next.msi" DELETEDATA=1
[ "$(value 'HKCU\Software\Microsoft\Windows\CurrentVersion\Run' /v forevervm-desktop)" = "" ] || fail "it still starts at login"
[ ! -e "$person/AppData/Local/ForeverVM/data" ] || fail "left behind: $(find "$person/AppData/Local/ForeverVM")"

say "a person's story, with machines in WSL, which a stand-in plays"
wineserver --wait
(unset WINEPREFIX && FOREVERVM_MSI=$folder/$name.msi go test -tags real,system -count=1 -run '^TestWindowsBuildRunsMachinesInWSL$' ./backend/e2e)
say "all is well"
