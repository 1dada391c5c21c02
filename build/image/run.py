#!/usr/bin/env python3
"""Run a program in an image, in gVisor, without privilege. Nothing of it is left when it ends.

    build/image/run.py [--variant base|ml] [--inbox FOLDER] [--save FOLDER | --from FOLDER]
                       PROGRAM [ARGUMENT…]

The inbox, else this folder, is seen at /mnt/inbox, read-only. Read its output through a pipe: into
a file, the sandbox writes at offsets of its own.

With --save the program is saved into a folder as soon as it has written something, and ends; with
--from the same program goes on from there, any number of times. What it wrote at first is lost.
In between, `go run ./build/image/sums FOLDER` has to write the checksums that runsc compares.
"""

import argparse
import json
import os
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
BIN = HERE.parent / "bin"

# The program's files lie in memory of a mount namespace, and go with it.
SCRIPT = """
mount -t tmpfs none "$1" && cd "$1" && mkdir bundle root disk state || exit
printf %s "$2" >bundle/config.json || exit
shift 2
"""
RUN = 'exec "$@"'
# Its input stays open and empty, and its output is held by who saves it: the program sees an end of
# neither.
SAVE = """
saved=$1
shift
mkfifo in && exec 3<>in || exit
"$@" <in 3>&- | {
    [ "$(head -c 1 | wc -c)" = 1 ] &&
        "$1" "$2" checkpoint --image-path="$saved" --compression=none run
}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--variant", choices=["base", "ml"], default="base")
    parser.add_argument("--inbox", type=pathlib.Path, default=HERE)
    saved_at = parser.add_mutually_exclusive_group()
    saved_at.add_argument("--save", type=pathlib.Path)
    saved_at.add_argument("--from", type=pathlib.Path, dest="start")
    parser.add_argument("program", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    image = BIN / "image" / f"{args.variant}.erofs"
    inbox = args.inbox.resolve()
    state = (args.save or args.start or HERE).resolve()
    work = (
        "/srv" if any(str(path).startswith("/mnt/") for path in (image, inbox, state)) else "/mnt"
    )
    # A user namespace in which the caller is root stands in for privilege.
    unshare = [
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
    ]
    runsc = [
        str(BIN / "runsc"), f"--root={work}/state", "--ignore-cgroups", "--network=none",
        f"--overlay2=root:dir={work}/disk,size=4g",
        *(["restore", f"--image-path={state}"] if args.start else ["run"]),
        f"--bundle={work}/bundle", "run",
    ]  # fmt: skip
    script, saved = (SCRIPT + SAVE, [str(state)]) if args.save else (SCRIPT + RUN, [])
    config = json.dumps(spec(image, work, inbox, args.program))
    os.execvp(unshare[0], [*unshare, "sh", "-c", script, "sh", work, config, *saved, *runsc])


def spec(image, work, inbox, program):
    return {
        "ociVersion": "1.0.0",
        "process": {
            "user": {"uid": 0, "gid": 0},
            "args": program,
            "env": [
                "PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
                "HOME=/root",
                "LANG=C.UTF-8",
                "PYTHONPATH=/opt/forevervm",
            ],
            "cwd": "/root",
            "capabilities": {},
            "noNewPrivileges": True,
        },
        "root": {"path": f"{work}/root", "readonly": False},
        "hostname": "image",
        "annotations": {
            "dev.gvisor.spec.rootfs.source": str(image),
            "dev.gvisor.spec.rootfs.type": "erofs",
            "dev.gvisor.spec.rootfs.overlay": f"dir={work}/disk",
            "dev.gvisor.spec.rootfs.options": "size=1g",
        },
        "mounts": [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs"},
            {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["ro"]},
            {
                "destination": "/mnt/inbox",
                "type": "bind",
                "source": str(inbox),
                "options": ["bind", "ro"],
            },
        ],
        "linux": {
            "namespaces": [{"type": kind} for kind in ["pid", "ipc", "uts", "mount", "network"]]
        },
    }


if __name__ == "__main__":
    main()
