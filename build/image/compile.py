"""Compile every module under the given folders of the image, with the image's own Python.

`unchecked-hash`: all files of the image have one and the same time, so a time says nothing.

What the compiler writes depends a little on what its process compiled before (which strings it
has interned), so every package is compiled by a fresh child of one parent, in sorted order: the
same bytes each time, however many processors there are.

Usage: compile.py ROOT FOLDER...    (folders as the image names them, such as /usr/lib/python3.13)
"""

import compileall
import itertools
import multiprocessing
import os
import py_compile
import sys


def compile_package(root, files):
    failed = []
    for file in files:
        ok = compileall.compile_file(
            file,
            stripdir=root,
            prependdir="/",
            quiet=2,
            force=True,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
        if not ok:
            failed.append(file)
    return failed


def leaves_image(entry):
    """Whether it is an absolute link: that leads into the host, not into the image."""
    return entry.is_symlink() and os.path.isabs(os.readlink(entry.path))


def packages(folder):
    """Modules under folder, one list for each of its immediate sub-folders and one for its own."""
    own = []
    for entry in sorted(os.scandir(folder), key=lambda e: e.name):
        if entry.is_dir(follow_symlinks=False):
            yield sorted(
                os.path.join(where, name)
                for where, _, names in os.walk(entry.path)
                for name in names
                if name.endswith(".py")
            )
        elif entry.name.endswith(".py") and not leaves_image(entry):
            own.append(entry.path)
    yield own


def main(root, folders):
    work = [(root, files) for folder in folders for files in packages(root + folder) if files]
    with multiprocessing.get_context("fork").Pool(maxtasksperchild=1) as pool:
        failed = pool.starmap(compile_package, work, chunksize=1)
    # Templates and Python 2 files that some packages carry do not compile, nor are they imported.
    for file in itertools.chain.from_iterable(failed):
        print("not compiled:", file.removeprefix(root))


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]), sys.argv[2:])
