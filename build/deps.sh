#!/usr/bin/env bash
# Make sure that the Debian or Ubuntu packages needed to build, run and test are installed.
#
# As root it installs what is missing. Otherwise it asks first, and uses sudo; where nobody can be
# asked (CI=true, or no terminal) it prints the command and fails. An argument says what else is
# needed: check, test, test-all, soak (each with those before it), kubernetes, bench, pictures, or
# dist, for installers.
set -euo pipefail
cd "$(dirname "$0")/.."

# Neither Go nor Node is a package here: what Debian 12 has is too old. Go 1.21 and later fetches
# the version that go.mod asks for, unless it was told not to (GOTOOLCHAIN=local), and then says
# that version here.
at_least() { [ -n "$2" ] && [ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }
go_needed=$(sed -n 's/^go //p' go.mod)
go_found=$(go version | sed -n 's/^go version go\([0-9.]*\).*/\1/p') || true
node_found=$(node --version | sed 's/^v//') || true
at_least "${go_needed%.0}" "$go_found" || lacking+=" Go $go_needed (found: ${go_found:-none})"
at_least 20.19 "$node_found" || lacking+=" Node 20.19 (found: ${node_found:-none})"
command -v npm >/dev/null || lacking+=" npm"
if [ -n "${lacking:-}" ]; then
    echo "missing:$lacking. Install Go 1.21 or newer (https://go.dev/doc/install; it fetches the version it needs)" \
        "and Node 20.19 or newer with npm (https://nodejs.org)." >&2
    exit 1
fi

# package: why. The one list of them.
packages='
ca-certificates: to trust the servers that packages and libraries come from
curl: fetches files in tests
gcc: builds the desktop window
gpgv: checks the signatures of Debian packages (sandbox image)
libgtk-3-dev: the desktop window
libwebkit2gtk-4.1-dev: what shows the page in the desktop window
make: runs the Makefile
mmdebstrap: unpacks Debian packages into the sandbox image
pkg-config: finds the libraries of the desktop window
python3: builds and checks the sandbox image
tar: unpacks the sandbox image
uidmap: lets mmdebstrap work without root
util-linux: unshare, which stands in for root when the sandbox image is checked, and in tests
'

tier=${1:-}
case $tier in '' | check | test | test-all | soak | kubernetes | bench | pictures | dist) ;; *)
    echo "build/deps.sh: there is no '$tier'" >&2
    exit 2
    ;;
esac
wants() { [[ " $* " == *" $tier "* ]]; }

if wants check test test-all soak; then
    packages+='
libc6-dev: the race detector
python3-venv: linters of Python, pytest, and the published Python SDK
strace: kills a program at each of its system calls, in tests
'
fi

if wants test test-all soak; then
    packages+='
dbus-daemon: the bus of the keyring, in tests
fonts-dejavu-core: text in the browser and on the screen of tests
gnome-keyring: tests of signing in
iproute2: a neighbour of this computer, in tests of what machines reach
openssl: signs the extension of Claude Desktop, in tests
'
fi

if wants kubernetes; then
    packages+='
iproute2: the network of the node, in tests of machines in Kubernetes
libc6-dev: the race detector
libseccomp-dev: builds runc, which runs the containers of that node
'
fi

if wants bench; then
    packages+='
dbus-daemon: benchmarks of the desktop window
docker.io: benchmarks of machines in Docker, which start one of their own
erofs-utils: unpacks the sandbox image, to compare with Jupyter on the same Python
fonts-dejavu-core: text on the screen of the benchmarks of the desktop window
openbox: the window manager of the benchmarks of the desktop window
python3-venv: installs Jupyter
xvfb: benchmarks of the desktop window
'
fi

if wants pictures; then
    packages+='
fonts-dejavu-core: text in the pictures
webp: makes the moving picture
'
fi

if wants test test-all soak bench pictures; then
    if grep -qs '^ID=ubuntu' /etc/os-release; then
        build/browser.sh >/dev/null || true # it says how to get one; the package is only a snap there
    elif ! build/browser.sh >/dev/null 2>&1; then
        packages+='
chromium: tests of reports as PDF
chromium-headless-shell: tests and benchmarks of the page
'
    fi
fi

if wants test-all; then
    packages+='
adwaita-icon-theme: the panel of the tests of the desktop window
binutils-mingw-w64-x86-64: makes a library that the Wine of Debian 12 lacks, for tests of the Windows build
docker.io: tests of machines in Docker, which start one of their own
imagemagick: tests of the desktop window
openbox: the window manager of the tests of the desktop window
openssh-client: tests of machines in a Docker that is reached over ssh
openssh-server: the same
wine: runs the Windows build, in tests
wine64: runs the Windows build, in tests
xauth: tests of the desktop window
xdotool: the mouse and the keyboard of the tests of the desktop window
xfce4-panel: the tray of the tests of the desktop window
xvfb: tests of the desktop window
'
fi

if wants soak; then
    packages+='
arch-test: says whether programs for ARM run here, when the sandbox image for it is built
binfmt-support: runs programs for ARM
e2fsprogs: an empty file system for the data disk of a virtual machine
qemu-system-arm: tests of machines in a virtual machine on ARM
qemu-system-x86: tests of machines in a virtual machine
qemu-user-static: runs programs for ARM
'
fi

if wants soak && ! command -v cargo >/dev/null; then
    # The published Rust SDK needs a newer cargo than the package of that name in Debian 12 and
    # Ubuntu 24.04.
    [ "$(id -u)" != 0 ] || apt-get update
    for cargo in cargo-web cargo-1.85 cargo-1.80 cargo; do
        [ -z "$(apt-cache show "$cargo" 2>/dev/null)" ] || break
    done
    packages+="$cargo: the published Rust SDK
"
fi

if wants dist; then
    packages+='
binutils-mingw-w64-x86-64: makes a library that the Wine of Debian 12 lacks, for tests of the MSI
debian-archive-keyring: makes the fresh Debian that the deb is tested in
dmg2img: opens the DMG, in tests
icnsutils: the icon of the application for macOS
imagemagick: the icons for Windows and macOS
msitools: packs the MSI, and tests it
osslsigncode: signs the MSI
p7zip-full: opens the DMG, in tests
rpm: unpacks the rpm
wine: installs the MSI, in tests
wine64: installs the MSI, in tests
wixl: packs the MSI
xorriso: the volume in the DMG
zstd: packs the tarball
'
fi

missing=()
while IFS=: read -r package why; do
    [ -n "$package" ] || continue
    why=${why# }
    if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" != installed ]; then
        missing+=("$package")
        echo "missing: $package ($why)" >&2
    fi
done <<<"$packages"

if [ ${#missing[@]} -gt 0 ]; then
    install=(apt-get install --yes --no-install-recommends "${missing[@]}")
    if [ "$(id -u)" = 0 ]; then
        apt-get update
        DEBIAN_FRONTEND=noninteractive "${install[@]}"
    elif [ "${CI:-}" = true ] || ! [ -t 0 ] || ! command -v sudo >/dev/null; then
        echo "install with:  sudo apt-get update && sudo ${install[*]}" >&2
        exit 1
    else
        read -r -p "Install them now with: sudo ${install[*]} ? [y/N] " answer
        [[ $answer == [yY]* ]] || exit 1
        sudo apt-get update
        sudo "${install[@]}"
    fi
fi
