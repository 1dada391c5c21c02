#!/usr/bin/env python3
"""Build what a virtual machine starts with: a kernel, an initial file system, and their licences.

    build/guest/build.py [--architecture x86_64|aarch64] [--out DIR] [--cache DIR]

Leaves kernel, initramfs and LICENSES in the output folder (build/bin/guest/amd64 or arm64). The
kernel is Debian's for virtual machines, whose package is fetched and verified as those of the
sandbox image are. The initial file system holds the few modules that the kernel needs, our init
(backend/cmd/guest), and an empty file system for a new data disk: ext4, made here, so that the
virtual machine needs no program that makes one. The same packages give the same bytes.
"""

import argparse
import gzip
import importlib.util
import io
import lzma
import os
import pathlib
import platform
import re
import shutil
import sys
import tempfile

PROJECT = pathlib.Path(__file__).resolve().parent.parent.parent
_spec = importlib.util.spec_from_file_location("image_build", PROJECT / "build/image/build.py")
assert _spec and _spec.loader
image = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(image)

# What the virtual machine's devices and file systems need, built in or not.
MODULES = [
    "virtio_pci",
    "virtio_blk",
    "virtio_console",
    "virtio_balloon",
    "virtio_rng",
    "vmw_vsock_virtio_transport",
    "ext4",
    "erofs",
]

# The most that kernel and initramfs may take together: they are downloaded beside the image.
MOST = 60_000_000

# An empty data disk: one group of ext4, which the virtual machine grows to the size of its disk.
# What mke2fs makes of its own accord varies with its version and its mke2fs.conf.
SEED_SIZE = 128 << 20
SEED_FEATURES = (
    "none,has_journal,ext_attr,resize_inode,dir_index,filetype,extent,64bit,flex_bg,sparse_super,"
    "large_file,huge_file,dir_nlink,extra_isize,metadata_csum"
)
SEED_ID = "d7a1f0c2-6a0b-4f0e-9d9c-5b1f7e3c2a10"
# Such a disk can grow to 4 TiB.
SEED_MOST_BLOCKS = 1 << 30


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--architecture", choices=sorted(image.ARCHITECTURES), default=platform.machine()
    )
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--cache", type=pathlib.Path, default=PROJECT / "build/cache/guest")
    args = parser.parse_args()
    debian = image.ARCHITECTURES[args.architecture]
    out = (args.out or PROJECT / "build/bin/guest" / debian).resolve()

    if shutil.which("mke2fs", path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None:
        sys.exit("missing: e2fsprogs (makes an empty ext4 file system)")
    image.require_host(platform.machine())
    os.umask(0o022)
    args.cache.mkdir(parents=True, exist_ok=True)
    out.mkdir(parents=True, exist_ok=True)

    root = fetch(args.architecture, args.cache.resolve())
    [kernel] = (root / "boot").glob("vmlinuz-*")
    release = kernel.name.removeprefix("vmlinuz-")
    write(out / "kernel", unpacked(kernel.read_bytes(), args.architecture))
    write(out / "initramfs", initramfs(root, release, debian))
    write(out / "LICENSES", licences(root, release).encode())

    sizes = {name: (out / name).stat().st_size for name in ("kernel", "initramfs")}
    total = sum(sizes.values())
    print(
        f"{out}  Linux {release}  "
        + "  ".join(f"{name} {size / 1e6:.1f} MB" for name, size in sizes.items())
        + f"  together {total / 1e6:.1f} MB, {packed(out) / 1e6:.1f} MB compressed"
    )
    if packed(out) > MOST:
        sys.exit(f"that is more than the {MOST / 1e6:.0f} MB that it may take in a download")


def fetch(architecture, cache):
    """The kernel's package, unpacked; nothing of it is run."""
    tree = cache / f"linux-{architecture}-{image.digest_of(architecture, pathlib.Path(__file__))}"
    if not tree.exists():
        with image.building(tree) as partial:
            package = f"linux-image-cloud-{image.ARCHITECTURES[architecture]}"
            image.unpack_debian(partial / "root", architecture, "extract", [package])
    return tree / "root"


def unpacked(kernel, architecture):
    """The kernel as hypervisors take it: on ARM, Apple's takes no packed one."""
    if architecture == "aarch64" and kernel[56:60] != b"ARMd":
        sys.exit("the kernel is packed, and would have to be unpacked for Apple's hypervisor")
    return kernel


# ---------------------------------------------------------------- the initial file system


def initramfs(root, release, debian):
    archive = Archive()
    for name in ("dev", "lib"):
        archive.add(name, 0o040755)
    # Go's runtime and the kernel open these before anything is mounted.
    archive.add("dev/console", 0o020600, device=(5, 1))
    archive.add("dev/null", 0o020666, device=(1, 3))
    modules = resolve(root, release)
    for module, content in modules:
        archive.add(f"lib/{module}.ko", 0o100644, content)
    archive.add("lib/order", 0o100644, "".join(f"{m}.ko\n" for m, _ in modules).encode())
    archive.add("data.ext4.gz", 0o100644, seed())
    archive.add("init", 0o100755, init(debian))
    return gzip.compress(archive.close(), 9, mtime=0)


def resolve(root, release):
    """The modules and what they depend on, in an order in which they can be loaded."""
    folder = root / f"usr/lib/modules/{release}"
    files = {path.name.split(".ko")[0].replace("-", "_"): path for path in folder.rglob("*.ko.xz")}
    built_in = {
        pathlib.PurePath(line).name.removesuffix(".ko").replace("-", "_")
        for line in (folder / "modules.builtin").read_text().splitlines()
    }
    done: dict[str, bytes] = {}

    def need(name):
        if name in done or name in built_in:
            return
        if name not in files:
            sys.exit(f"the kernel has no module {name}")
        content = lzma.decompress(files[name].read_bytes())
        for other in filter(None, depends(content).split(",")):
            need(other.replace("-", "_"))
        done[name] = content

    for name in MODULES:
        need(name)
    return list(done.items())


def depends(module):
    """What a module says of the others that it needs: the package has no modules.dep."""
    found = re.search(rb"\0depends=([^\0]*)\0", module)
    return found[1].decode() if found else ""


def seed():
    with tempfile.NamedTemporaryFile() as file, tempfile.NamedTemporaryFile("w") as config:
        kind = "{\n  inode_size = 256\n }\n"
        config.write(f"[fs_types]\n ext4 = {kind} small = {kind}")
        config.flush()
        file.truncate(SEED_SIZE)
        image.run(
            shutil.which("mke2fs", path=f"{os.environ['PATH']}:/usr/sbin:/sbin"),
            "-q", "-F", "-t", "ext4", "-b", "4096", "-I", "256", "-i", "131072", "-m", "0",
            "-O", SEED_FEATURES, "-J", "size=32", "-L", "forevervm-data", "-U", SEED_ID,
            "-E", f"hash_seed={SEED_ID},resize={SEED_MOST_BLOCKS},lazy_itable_init=0,"
            "lazy_journal_init=0,nodiscard,root_owner=0:0",
            file.name,
            env={
                **os.environ, "MKE2FS_CONFIG": config.name, "E2FSPROGS_FAKE_TIME": str(image.EPOCH)
            },
        )  # fmt: skip
        return gzip.compress(file.read(), 9, mtime=0)


def init(debian):
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "init"
        image.run(
            "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w",
            "-o", program, "./backend/cmd/guest",
            env={**os.environ, "CGO_ENABLED": "0", "GOOS": "linux", "GOARCH": debian},
            cwd=PROJECT,
        )  # fmt: skip
        return program.read_bytes()


class Archive:
    """A cpio archive as the kernel unpacks it, all of whose files are root's and of one time."""

    def __init__(self):
        self.out = io.BytesIO()
        self.count = 0

    def add(self, name, mode, content=b"", device=(0, 0)):
        self.count += 1
        path = name.encode() + b"\0"
        fields = [
            self.count, mode, 0, 0, 1, image.EPOCH, len(content), 0, 0, *device, len(path), 0
        ]  # fmt: skip
        self.out.write(b"070701" + b"".join(b"%08x" % field for field in fields) + path)
        self.pad()
        self.out.write(content)
        self.pad()

    def pad(self):
        self.out.write(b"\0" * (-self.out.tell() % 4))

    def close(self):
        self.add("TRAILER!!!", 0)
        return self.out.getvalue()


# ---------------------------------------------------------------- licences and small things


def licences(root, release):
    text = (root / f"usr/share/doc/linux-image-{release}/copyright").read_text()
    return (
        f"kernel, and what lies under lib in initramfs: Linux {release}, as Debian has built it.\n"
        "Its source is Debian's package linux of that version (https://snapshot.debian.org).\n\n"
        "init in initramfs: ForeverVM's, under the licence of ForeverVM, with Go's libraries\n"
        "(https://go.dev/LICENSE).\n\n"
        "What Debian says of Linux:\n\n" + text
    )


def packed(out):
    """How much kernel and initramfs take in a download."""
    return sum(len(gzip.compress((out / name).read_bytes(), 6)) for name in ("kernel", "initramfs"))


def write(path, content):
    with image.replacing(path) as partial:
        partial.write_bytes(content)


if __name__ == "__main__":
    main()
