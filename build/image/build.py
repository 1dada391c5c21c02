#!/usr/bin/env python3
"""Build the root file system of the sandbox: one EROFS file, which gVisor mounts in place.

    build/image/build.py [--variant base|ml] [--architecture x86_64|aarch64]
                         [--out DIR] [--cache DIR]
    build/image/build.py --lock          choose versions again and rewrite the lock files

Leaves VARIANT.erofs and VARIANT.json in the output folder (build/bin/image). Works as an ordinary
user or as root. The same Debian packages and the same locks give the same bytes, on any host: all
that decides a byte of the result (Python, pip, mkfs.erofs) is Debian trixie's own, run through its
own loader without a chroot, and not the host's. Of an image for another processor than the host's
only the packages' own scripts run emulated (qemu-user-static); it needs folders of its own.

Three steps, the first two cached by the digest of what goes into them:
  tools    trixie's mkfs.erofs, pip and Python for the host, unpacked
  tree     Debian packages, wheels from the lock, trimmed and compiled; a minute or two
  image    the runner of this checkout on top, and the EROFS file; seconds
"""

import argparse
import contextlib
import fcntl
import getpass
import hashlib
import importlib.metadata
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parent.parent
RUNNER = PROJECT / "backend/runner/forevervm_runner"
KEYRING = HERE / "keyring"
# As the kernel names them, and as Debian does.
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}

# Every file of the image has this time, 2026-01-01, and not 0: zip files know no time before 1980.
EPOCH = 1767225600

DEBIAN = {
    "base": [
        "python3",
        "python-is-python3",  # `!python script.py`
        "python3-venv",
        "ca-certificates",
        "tzdata",
        "tzdata-legacy",  # names such as US/Eastern, which real data is full of
        "libgomp1",  # wheels that people install later (lightgbm, xgboost) expect it
        "procps",  # `!ps`, `!free`
        "curl",
        "unzip",
        # Not git: with its Perl it takes 88 MB, and who has a network to clone from can install it.
    ],
    "ml": [
        "python3-torch",  # Debian's: the public wheels bring CUDA along
        "libopenblas0-pthread",  # or it would multiply with the reference BLAS, many times slower
    ],
}
TOOLS = ["erofs-utils", "python3-pip-whl", "python3", "locales"]

# Beside C.UTF-8. These share most of their bytes; one whose alphabet has another order takes 3 MB.
LOCALES = ["en_US", "en_GB", "de_DE", "es_ES", "fr_FR", "it_IT", "nl_NL", "pt_BR"]

# dpkg keeps to these rules inside the image too, when a person installs more.
DPKG_OPTIONS = [
    "path-exclude=/usr/share/doc/*",
    "path-include=/usr/share/doc/*/copyright",
    "path-exclude=/usr/share/man/*",
    "path-exclude=/usr/share/info/*",
    "path-exclude=/usr/share/locale/*",
    "path-exclude=/usr/share/lintian/*",
    "path-exclude=/usr/share/bug/*",
    # or `pip install` would refuse
    "path-exclude=/usr/lib/python3*/EXTERNALLY-MANAGED",
]

DIST_PACKAGES = "/usr/local/lib/python3.13/dist-packages"
PYTHON_FOLDERS = ["/usr/lib/python3.13", "/usr/lib/python3/dist-packages", DIST_PACKAGES]

# What the libraries carry and nobody running them needs. Checked by `check`: all still import.
TRIMMED_TESTS = [
    "matplotlib",
    "mpl_toolkits",
    "networkx",
    "numpy",
    "pandas",
    "pyarrow",
    "scipy",
    "sklearn",
    "statsmodels",
    "sympy",
]
TRIMMED = [
    f"{DIST_PACKAGES}/pyarrow/include",
    "/usr/lib/libtorch-test",
]

# Where packages come from: for mmdebstrap, and for apt in the image.
MIRRORS = [
    "deb http://deb.debian.org/debian trixie main",
    "deb http://deb.debian.org/debian trixie-updates main",
    "deb http://deb.debian.org/debian-security trixie-security main",
]
FILES = {
    "etc/apt/sources.list": "\n".join(MIRRORS) + "\n",
    "etc/hostname": "forevervm\n",
    "etc/hosts": "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n",
    "etc/resolv.conf": "",
    "etc/machine-id": "",
    "etc/default/locale": "LANG=C.UTF-8\n",
    # The sandbox's user is root, and only the sandbox's.
    "etc/pip.conf": "[global]\nroot-user-action = ignore\ndisable-pip-version-check = true\n",
}

# Mount points; machines are restored only into the ones that they were started with.
FOLDERS = ["mnt/work", "mnt/inbox", "mnt/outbox", "mnt/shared", "run/egress", "opt/forevervm"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--variant", choices=sorted(DEBIAN), default="base")
    parser.add_argument("--architecture", choices=sorted(ARCHITECTURES), default=platform.machine())
    parser.add_argument("--out", type=pathlib.Path, default=PROJECT / "build/bin/image")
    parser.add_argument("--cache", type=pathlib.Path, default=PROJECT / "build/cache/image")
    parser.add_argument(
        "--lock", action="store_true", help="choose new versions and rewrite the lock files"
    )
    args = parser.parse_args()

    require_host(args.architecture)
    # What the caller's shell says about permissions must not reach the image.
    os.umask(0o022)
    args.out, args.cache = args.out.resolve(), args.cache.resolve()
    args.cache.mkdir(parents=True, exist_ok=True)
    with open(args.cache / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if args.lock:
            write_locks(args.cache)
        else:
            build_image(args.variant, args.architecture, args.out, args.cache)


def require_host(architecture):
    needed = {
        "mmdebstrap": ("mmdebstrap", "unpacks Debian packages into a folder"),
        "tar": ("tar", "unpacks what mmdebstrap wrote"),
        "gpgv": ("gpgv", "checks Debian's signatures"),
    }
    if os.getuid() != 0:
        needed["newuidmap"] = ("uidmap", "lets mmdebstrap work without root")
    missing = [package for command, package in needed.items() if shutil.which(command) is None]
    if missing:
        for package, why in missing:
            print(f"missing: {package} ({why})", file=sys.stderr)
        sys.exit(
            "install with:  sudo apt-get install " + " ".join(package for package, _ in missing)
        )
    user = getpass.getuser()
    if os.getuid() != 0 and not re.search(
        rf"^({user}|{os.getuid()}):", pathlib.Path("/etc/subuid").read_text(), re.M
    ):
        print(
            f"missing: user ids for {user} to give away in /etc/subuid,"
            " with which mmdebstrap works without root",
            file=sys.stderr,
        )
        sys.exit(
            "add them with:"
            f"  sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 {user}"
        )
    if platform.machine() not in ARCHITECTURES:
        sys.exit(f"no image for {platform.machine()}: build on one of " + ", ".join(ARCHITECTURES))
    if (
        architecture != platform.machine()
        and not pathlib.Path(f"/proc/sys/fs/binfmt_misc/qemu-{architecture}").exists()
    ):
        sys.exit(
            f"programs for {architecture} do not run here. Install what runs them with:"
            "  sudo apt-get install qemu-user-static binfmt-support arch-test"
        )


# ---------------------------------------------------------------- the image


def build_image(variant, architecture, out, cache):
    tree = build_tree(variant, architecture, cache)
    root = tree / "root"

    runner = root / "opt/forevervm/forevervm_runner"
    shutil.rmtree(runner, ignore_errors=True)
    if RUNNER.is_dir():
        shutil.copytree(RUNNER, runner, ignore=shutil.ignore_patterns("__pycache__", "tests"))
        for path in [runner, *runner.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
        compile_modules(root, cache, "/opt/forevervm")

    out.mkdir(parents=True, exist_ok=True)
    image = out / f"{variant}.erofs"
    with replacing(image) as partial:
        log("writing the EROFS file")
        # gVisor reads neither compressed nor inlined data: a program with inlined data fails to
        # start with EFAULT.
        run(
            *tool(cache, "mkfs.erofs"),
            "--quiet",
            "-E",
            "noinline_data",
            f"-T{EPOCH}",
            "-x-1",
            "--all-root",
            "-U",
            "00000000-0000-0000-0000-000000000000",
            partial,
            root,
        )
        with open(partial, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    manifest = {"digest": f"sha256:{digest}", "variant": variant} | json.loads(
        (tree / "manifest.json").read_text()
    )
    with replacing(out / f"{variant}.json") as partial:
        partial.write_text(json.dumps(manifest, indent=1) + "\n")
    print(f"{image}  {image.stat().st_size / 1e6:.0f} MB  sha256:{digest}")


def build_tree(variant, architecture, cache):
    """The whole image but the runner, as a folder: root/ and manifest.json."""
    locks = [HERE / "requirements.lock"] + (
        [HERE / "requirements-ml.lock"] if variant == "ml" else []
    )
    tree = cache / f"tree-{variant}-{digest_of(architecture, HERE / 'compile.py', *locks)}"
    if tree.exists():
        return tree
    with building(tree) as partial:
        root = partial / "root"
        packages = DEBIAN["base"] + (DEBIAN["ml"] if variant == "ml" else [])
        unpack_debian(root, architecture, "minbase", packages)
        settle(root)
        make_locales(root, cache)

        log("installing Python libraries")
        pip(
            root,
            cache,
            "install",
            "--ignore-installed",
            "--no-compile",
            "--no-deps",
            "--require-hashes",
            "--only-binary=:all:",
            "--no-warn-script-location",
            "--quiet",
            *(f"--requirement={lock}" for lock in locks),
        )
        trim(root)
        log("compiling them")
        compile_modules(root, cache, *PYTHON_FOLDERS)

        manifest = {
            "python": run_python(
                root, cache, "-c", "import platform; print(platform.python_version())"
            ).strip(),
            "packages": {d.name: d.version for d in wheels(root)},
            "debian": {p["Package"]: p["Version"] for p in debian_packages(root)},
        }
        (partial / "manifest.json").write_text(json.dumps(manifest))
        index = root / "usr/share/doc/forevervm/LICENSES.txt"
        index.parent.mkdir()
        index.write_text(licences(root))
    return tree


def unpack_debian(root, architecture, variant, packages):
    log(f"unpacking Debian packages: {' '.join(packages)}")
    options = [f"--dpkgopt={option}" for option in DPKG_OPTIONS]
    # Without root, mmdebstrap acts as another user, who cannot look into every home. Nor should a
    # dpkg.cfg there count.
    with (
        tempfile.TemporaryDirectory() as keys,
        tempfile.NamedTemporaryFile(dir=root.parent, suffix=".tar") as tar,
    ):
        os.chmod(keys, 0o755)
        for key in KEYRING.glob("*.asc"):
            shutil.copyfile(key, pathlib.Path(keys) / key.name)
        # A tar file, because without root the files of a folder would belong to that other user.
        run(
            "mmdebstrap",
            "--quiet",
            f"--variant={variant}",
            f"--keyring={keys}",
            "--format=tar",
            *options,
            f"--architectures={ARCHITECTURES[architecture]}",
            f"--include={','.join(packages)}",
            "trixie",
            "-",
            *MIRRORS,
            stdout=tar,
            env=os.environ | {"HOME": keys},
        )
        root.mkdir()
        run(
            "tar",
            "-C",
            root,
            "-xpf",
            tar.name,
            "--no-same-owner",
            "--delay-directory-restore",
            "--exclude=./dev/*",
        )


def settle(root):
    """Make a fresh Debian the sandbox's: nothing of the host in it, nothing that varies."""
    for folder in [
        "boot",
        "home",
        "media",
        "srv",
        "var/cache",
        "var/log",
        "var/lib/apt/lists",
        "var/tmp",
        "run",
        "tmp",
    ]:
        for path in (root / folder).iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for old in (root / "var/lib/dpkg").glob("*-old"):
        old.unlink()
    # What the packages' own scripts compiled holds the files' times: other bytes each time.
    for compiled in list(root.rglob("__pycache__")):
        shutil.rmtree(compiled)
    for name, text in FILES.items():
        path = root / name
        path.unlink(missing_ok=True)
        path.write_text(text)
    for name in FOLDERS:
        (root / name).mkdir(parents=True)
    (root / "tmp").chmod(0o1777)
    (root / "var/tmp").chmod(0o1777)
    for path in root.rglob("*"):
        # Of no use to the sandbox, whose user is root, and not to be left lying about on the host.
        if path.is_file() and not path.is_symlink() and path.stat().st_mode & 0o6000:
            path.chmod(path.stat().st_mode & 0o1777)


def make_locales(root, cache):
    sources = {"I18NPATH": str(build_tools(cache) / "usr/share/i18n")}
    for name in LOCALES:
        folder = root / f"usr/lib/locale/{name}.utf8"
        # Both processors that there are images for are little-endian.
        run(
            *tool(cache, "localedef"),
            "--no-archive",
            f"--inputfile={name}",
            "--charmap=UTF-8",
            folder,
            env=os.environ | sources,
        )


def trim(root):
    packages = root / DIST_PACKAGES[1:]
    # Debian's torch brings libraries that are newer in the locks: those hide Debian's.
    locked = {normal(wheel.name) for wheel in wheels(root)}
    debians = root / "usr/lib/python3/dist-packages"
    for path in list(debians.iterdir()):
        name = re.sub(r"-[\d.]+\.(dist|egg)-info$", "", path.name)
        hidden = normal(name) in locked if path.name != name else (packages / name).exists()
        if hidden:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for name in TRIMMED_TESTS:
        for tests in list((packages / name).rglob("tests")):
            if tests.is_dir():
                shutil.rmtree(tests)
    for name in TRIMMED:
        shutil.rmtree(root / name[1:], ignore_errors=True)


# ---------------------------------------------------------------- licences


def normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def wheels(root):
    found = importlib.metadata.distributions(path=[str(root / DIST_PACKAGES[1:])])
    return sorted(found, key=lambda d: d.name.lower())


def debian_packages(root):
    status = (root / "var/lib/dpkg/status").read_text()
    for paragraph in status.strip().split("\n\n"):
        yield dict(re.findall(r"^(Package|Version): (.*)$", paragraph, re.M))


TERMS = re.compile(r"(^|/)(licen[cs]e|copying|notice|authors)[^/]*$|\.dist-info/licen[cs]es/", re.I)


def licences(root):
    """A readable index of what is in the image, under which terms, and where their text is."""
    lines = [
        "What this file system is made of, and the files in it that hold the terms.",
        "",
        "Python libraries",
        "",
    ]
    for wheel in wheels(root):
        meta = wheel.metadata
        terms = (
            meta.get("License-Expression")
            or ", ".join(
                c.split(" :: ")[-1]
                for c in meta.get_all("Classifier", [])
                if c.startswith("License ::")
            )
            or (meta.get("License") or "see its files").strip().split("\n")[0]
        )
        lines.append(f"{wheel.name} {wheel.version}: {terms}")
        for file in filter(lambda f: f.locate().exists(), wheel.files or []):
            if TERMS.search(str(file)) and not str(file).endswith((".py", ".pyc")):
                lines.append(f"    {DIST_PACKAGES}/{file}")
    lines += ["", "Debian packages", ""]
    for package in debian_packages(root):
        copyright = f"usr/share/doc/{package['Package']}/copyright"
        text = (root / copyright).read_text(errors="replace")
        terms = sorted({t.strip() for t in re.findall(r"^License:[ \t]*(\S.*)$", text, re.M)})
        lines.append(
            f"{package['Package']} {package['Version']}: {', '.join(terms) or 'see its file'}"
        )
        lines.append(f"    /{copyright}")
    return "\n".join(lines) + "\n"


# ---------------------------------------------------------------- locks


def write_locks(cache):
    """Resolve the .in files and write the locks: one version, one wheel for each architecture."""
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        root = pathlib.Path(folder) / "root"
        unpack_debian(root, platform.machine(), "minbase", ["python3"])
        base = resolve(root, cache, ["requirements.in"], {})
        ml = resolve(root, cache, ["requirements.in", "requirements-ml.in"], base)
    write_lock("requirements", base)
    write_lock("requirements-ml", {name: pin for name, pin in ml.items() if name not in base})


def resolve(root, cache, requirements, constraints):
    """{name: (version, {hash of its wheel for each architecture})}"""
    pins: dict[str, tuple[str, set[str]]] = {}
    for architecture in ARCHITECTURES:
        log(f"resolving {' + '.join(requirements)} for {architecture}")
        with (
            tempfile.NamedTemporaryFile("w", suffix=".txt") as constraint,
            tempfile.NamedTemporaryFile() as report,
        ):
            constraint.writelines(
                f"{name}=={version}\n" for name, (version, _) in constraints.items()
            )
            constraint.flush()
            pip(
                root,
                cache,
                "install",
                "--dry-run",
                "--ignore-installed",
                "--only-binary=:all:",
                "--quiet",
                f"--report={report.name}",
                f"--constraint={constraint.name}",
                "--target=/nonexistent",
                # trixie has glibc 2.41
                *(f"--platform=manylinux_2_{minor}_{architecture}" for minor in range(41, 4, -1)),
                f"--platform=manylinux2014_{architecture}",
                *(f"--requirement={HERE / name}" for name in requirements),
            )
            for item in json.load(report)["install"]:
                name, version = item["metadata"]["name"], item["metadata"]["version"]
                if pins.setdefault(name, (version, set()))[0] != version:
                    sys.exit(
                        f"{name}: {pins[name][0]} and {version} for different architectures;"
                        " pin one in the .in file"
                    )
                pins[name][1].add(item["download_info"]["archive_info"]["hashes"]["sha256"])
    return pins


def write_lock(name, pins):
    with replacing(HERE / f"{name}.lock") as partial:
        lines = [f"# Made from {name}.in by `build/image/build.py --lock`; do not edit.\n"]
        for package, (version, hashes) in sorted(pins.items(), key=lambda pin: pin[0].lower()):
            lines.append(
                " \\\n".join(
                    [f"{package}=={version}", *(f"    --hash=sha256:{h}" for h in sorted(hashes))]
                )
                + "\n"
            )
        partial.write_text("".join(lines))


# ---------------------------------------------------------------- running trixie's programs


def tool(cache, name):
    """The command that runs a program of trixie's, whatever the host has."""
    root = build_tools(cache)
    return in_tree(root, f"usr/bin/{name}")


def build_tools(cache):
    tree = cache / f"tools-{digest_of(platform.machine())}"
    if not tree.exists():
        with building(tree) as partial:
            unpack_debian(partial / "root", platform.machine(), "extract", TOOLS)
    return tree / "root"


def in_tree(root, program):
    # By its own loader with its own libraries: needs no chroot, so no privilege either.
    loader = loader_of(root)
    return [loader, "--library-path", loader.parent, root / program]


def loader_of(root):
    [loader] = root.glob("usr/lib/*-linux-gnu/ld-linux-*.so.*")
    return loader


def run_python(root, cache, *args):
    env = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    env |= {
        "PYTHONHOME": str(root / "usr"),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "LC_ALL": "C.UTF-8",
    }
    # pip trusts what the host trusts, which may be more than the public authorities.
    env.setdefault("PIP_CERT", "/etc/ssl/certs/ca-certificates.crt")
    runs, machine = root, loader_of(root).parent.name.partition("-")[0]
    if machine != platform.machine():
        # The same Python, built for the host, over the image's library. It takes the image's
        # processor for its own, as it does where others cross-compile, so that pip installs for
        # that one; modules written in C it finds among the host's.
        runs = build_tools(cache)
        env |= {
            "_PYTHON_HOST_PLATFORM": f"linux-{machine}",
            "_PYTHON_SYSCONFIGDATA_NAME": f"_sysconfigdata__{machine}-linux-gnu",
            "PYTHONPATH": str(runs / "usr/lib/python3.13/lib-dynload"),
        }
    return run(
        *in_tree(runs, "usr/bin/python3.13"),
        "-P",
        "-s",
        *args,
        env=env,
        stdout=subprocess.PIPE,
        text=True,
    )


def pip(root, cache, *args):
    [wheel] = (build_tools(cache) / "usr/share/python-wheels").glob("pip-*.whl")
    # The scripts that it installs must name Python's place in the image.
    start = (
        "import runpy, sys; sys.executable = '/usr/bin/python3'; "
        f"sys.path.insert(0, {str(wheel)!r}); runpy.run_module('pip', run_name='__main__')"
    )
    run_python(
        root,
        cache,
        "-c",
        start,
        f"--cache-dir={cache / 'pip'}",
        "--disable-pip-version-check",
        *args,
        *(["--root-user-action=ignore"] if args[0] == "install" else []),
    )


def compile_modules(root, cache, *folders):
    print(run_python(root, cache, HERE / "compile.py", root, *folders), end="")


# ---------------------------------------------------------------- small things


def run(*command, env=None, **options):
    env = {**(env or os.environ), "SOURCE_DATE_EPOCH": str(EPOCH)}
    done = subprocess.run([str(word) for word in command], env=env, check=False, **options)
    if done.returncode != 0:
        sys.exit(f"failed ({done.returncode}): {pathlib.Path(command[0]).name}; see above")
    return done.stdout


def digest_of(architecture, *files):
    """Stands for this script, the given files and the architecture."""
    whole = hashlib.sha256(architecture.encode())
    for file in [pathlib.Path(__file__), *sorted(KEYRING.glob("*.asc")), *files]:
        whole.update(hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()[:16]


@contextlib.contextmanager
def building(folder):
    """A folder that appears whole or not at all. Those of the same kind that it replaces go."""
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    yield partial
    partial.rename(folder)
    kind = folder.name.rpartition("-")[0]
    for old in folder.parent.glob(f"{kind}-*"):
        if old != folder:
            shutil.rmtree(old)


@contextlib.contextmanager
def replacing(file):
    """A file that appears whole or not at all."""
    partial = file.with_name(file.name + ".partial")
    partial.unlink(missing_ok=True)
    yield partial
    with open(partial, "rb") as written:
        os.fsync(written)
    partial.rename(file)


def log(text):
    print(f"image: {text}", flush=True)


if __name__ == "__main__":
    main()
