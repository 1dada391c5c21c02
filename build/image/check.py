#!/usr/bin/env python3
"""Check an image by what it is for: run check_inside.py in it, in gVisor, without privilege.

build/image/check.py [--variant base|ml]
"""

import argparse
import hashlib
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
BIN = HERE.parent / "bin"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--variant", choices=["base", "ml"], default="base")
    args = parser.parse_args()
    image = BIN / "image" / f"{args.variant}.erofs"

    manifest = json.loads(image.with_suffix(".json").read_text())
    with open(image, "rb") as file:
        if manifest["digest"] != "sha256:" + hashlib.file_digest(file, "sha256").hexdigest():
            sys.exit(f"{image}: not the file that {image.with_suffix('.json').name} describes")

    inside = ["/usr/bin/python3", "-u", "/mnt/inbox/check_inside.py", args.variant]
    with subprocess.Popen(
        [HERE / "run.py", "--variant", args.variant, *inside],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as sandbox:  # fmt: skip
        for line in sandbox.stdout or ():
            print(line, end="", flush=True)
    sys.exit(sandbox.returncode)


if __name__ == "__main__":
    main()
