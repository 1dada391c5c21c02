#!/usr/bin/env python3
"""Look at what goes with a release's packages: their checksums and the lists of what is in them.

build/release/test.py VERSION [FOLDER]
"""

import hashlib
import json
import sys
from pathlib import Path

version = sys.argv[1]
folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parent.parent / "dist"

listed = {}
for line in (folder / "SHA256SUMS").read_text().splitlines():
    digest, name = line.split("  ")
    listed[name] = digest
files = {
    path.name: path for path in folder.iterdir() if path.is_file() and path.name != "SHA256SUMS"
}
assert listed.keys() == files.keys(), listed.keys() ^ files.keys()
for name, path in files.items():
    with path.open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == listed[name], name

lists = [path for name, path in files.items() if name.endswith(".sbom.cdx.json")]
assert {path.name.split("-")[2] for path in lists} >= {"linux", "windows"}, lists
for path in lists:
    bom = json.loads(path.read_text())
    assert bom["bomFormat"] == "CycloneDX" and bom["metadata"]["component"]["version"] == version, (
        path
    )
    parts = [component["purl"] for component in bom["components"]]
    assert len(parts) == len(set(parts)), path
    for part in (
        "pkg:golang/std@",
        "pkg:golang/gvisor.dev/gvisor@",
        "pkg:npm/svelte@",
        "pkg:pypi/numpy@",
        "pkg:deb/debian/python3.13-minimal@",
    ):
        assert any(one.startswith(part) for one in parts), (path, part)
print(f"== {len(files)} files, {len(lists)} of them lists of what is in the others, are well")
