#!/usr/bin/env python3
"""Open the rehearsed DMG and look at what is in it.

build/macos/test.py VERSION ARCHITECTURE [FOLDER]
"""

import plistlib
import posixpath
import subprocess
import sys
import tempfile
from pathlib import Path

version, architecture = sys.argv[1:3]
folder = Path(sys.argv[3]) if len(sys.argv) > 3 else Path(__file__).parent.parent / "dist"
dmg = folder / f"forevervm-{version}-darwin-{architecture}.dmg"


def run(*command):
    return subprocess.run(command, check=True, capture_output=True).stdout


def content(path):
    """What is in a file of the volume, or for a link where it leads."""
    return run("7z", "e", "-so", dmg, path)


with tempfile.TemporaryDirectory() as work:
    run("dmg2img", dmg, f"{work}/volume")  # which opens it all
    assert b"Apple HFS Plus" in run("file", f"{work}/volume")

modes = {}
for entry in run("7z", "l", "-slt", dmg).decode().split("\n\n"):
    facts = dict(line.split(" = ", 1) for line in entry.splitlines() if " = " in line)
    if "Mode" in facts:
        modes[facts["Path"]] = facts["Mode"]

assert (
    modes["ForeverVM/Applications"].startswith("l")
    and content("ForeverVM/Applications") == b"/Applications"
)
contents = "ForeverVM/ForeverVM.app/Contents/"
info = plistlib.loads(content(contents + "Info.plist"))
assert info["CFBundleShortVersionString"] == info["CFBundleVersion"] == version, info
assert info["CFBundleURLTypes"][0]["CFBundleURLSchemes"] == ["forevervm"], info
assert content(contents + f"Resources/{info['CFBundleIconFile']}.icns")[:4] == b"icns"
assert content(contents + "Resources/package") == b"dmg\n"

program = content(contents + f"MacOS/{info['CFBundleExecutable']}")
# Mach-O for 64 bits, and Apple's number of the processor.
assert (
    program[:4] == b"\xcf\xfa\xed\xfe"
    and int.from_bytes(program[4:8], "little")
    == {"amd64": 0x01000007, "arm64": 0x0100000C}[architecture]
)
assert modes[contents + "MacOS/forevervm"] == "-rwxr-xr-x", modes

links = [path for path, mode in modes.items() if mode.startswith("l") and "/MacOS/" in path]
assert links
for link in links:
    target = posixpath.normpath(posixpath.join(posixpath.dirname(link), content(link).decode()))
    assert target in modes, f"{link} leads to {target}, which is missing"
if contents + "Resources/sandbox" in modes:
    for part in ("supervisor", "runsc", "image/base.erofs", "image/base.json"):
        assert contents + "Resources/sandbox/" + part in modes, part
    assert content(contents + "Resources/sandbox/runsc")[:4] == b"\x7fELF"
    for part in ("kernel", "initramfs", "LICENSES"):
        assert f"{contents}Resources/guest/{architecture}/{part}" in modes, part
print(f"== {dmg.name} is well")
