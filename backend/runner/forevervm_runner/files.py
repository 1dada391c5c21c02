"""File requests, answered by the relay: they work while the user's code runs, whatever it does."""

import collections
import contextlib
import errno
import os
import queue
import re
import shutil
import stat
import time
from collections.abc import Iterator
from typing import Any

from . import threads
from .frames import Header

HOME = os.environ.get("HOME") or "/root"
# Whom programs in the machine trust, when they ask who a server is.
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
READ_LIMIT = 4 << 20
ENTRY_LIMIT = 10_000
# A listing must fit into a header; what is not ASCII takes six bytes there.
_LISTING_BYTES = 900 << 10
# A file that is on its way lies beside its place under such a name, which no listing tells. What is
# left of one that broke off goes when the next one comes into that folder.
_PART = re.compile(r"\.forevervm-[0-9a-f]{32}\.part")
_PART_SECONDS = 3600.0
# Those that came to their place last. Anyone who did not hear of it, as the machine was saved right
# then, sends the end again.
_placed: collections.deque[tuple[str, str]] = collections.deque(maxlen=256)

Answer = tuple[Any, bytes]


class FileTrouble(Exception):
    """A file request that cannot be met; the message is for a person."""


def answer(header: Header, payload: bytes) -> Answer:
    """Does one file request. Returns the reply's result and payload, or raises FileTrouble."""
    path = AUTHORITIES if header["type"] == "trust" else _path(header.get("path"))
    try:
        match header["type"]:
            case "read_file":
                return _read(path, _count(header, "offset", 0), _count(header, "length", READ_LIMIT))
            case "write_file":
                return _write(path, header, payload), b""
            case "stat_file":
                return _entry(os.path.basename(path) or "/", os.stat(path)), b""
            case "remove_file":
                return _remove(path), b""
            case "make_folder":
                os.makedirs(path, exist_ok=True)
                return {"path": path}, b""
            case "disk":
                return _disk(path), b""
            case "trust":
                return _replace(path, payload), b""
            case _:
                return _list(path, _count(header, "limit", 1000)), b""
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise FileTrouble(
                "The machine's disk is full. Delete files in it that are no longer needed, and try again."
            ) from None
        raise FileTrouble(f"{path}: {os.strerror(error.errno or 0)}") from None


def _path(given: Any) -> str:
    if not isinstance(given, str) or not given or "\0" in given:
        raise FileTrouble("A file request needs a path.")
    return os.path.normpath(os.path.join(HOME, os.path.expanduser(given)))


def _count(header: Header, name: str, default: int) -> int:
    value = header.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 62:
        raise FileTrouble(f"{name} must be a whole number, 0 or more.")
    return value


def _open_regular(path: str, flags: int) -> tuple[int, os.stat_result]:
    """Opens a plain file. Never blocks: a pipe or a device is refused, not waited for."""
    fd = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode):
        os.close(fd)
        what = "a folder" if stat.S_ISDIR(info.st_mode) else "not a plain file"
        raise FileTrouble(f"{path} is {what}.")
    return fd, info


def _read(path: str, offset: int, length: int) -> Answer:
    fd, info = _open_regular(path, os.O_RDONLY)
    try:
        want = min(length, READ_LIMIT)
        parts: list[bytes] = []
        while want > 0 and (part := os.pread(fd, want, offset)):
            parts.append(part)
            offset += len(part)
            want -= len(part)
        told = {"size": info.st_size, "eof": offset >= info.st_size, "changed": info.st_mtime_ns}
        return told, b"".join(parts)
    finally:
        os.close(fd)


def _write(path: str, header: Header, data: bytes) -> Any:
    """Adds a piece to a file on its way. The last one brings it to its place, all at once."""
    offset, part = _count(header, "offset", 0), f".forevervm-{header.get('part')}.part"
    if not _PART.fullmatch(part):
        raise FileTrouble("A file that is written needs a part.")
    if header.get("last") and (path, part) in _placed:
        return {"path": path, "size": offset + len(data)}
    if os.path.isdir(path):
        raise FileTrouble(f"{path} is a folder.")
    folder = os.path.dirname(path) or "/"
    if offset == 0:
        os.makedirs(folder, exist_ok=True)
        _sweep(folder)
    temp = os.path.join(folder, part)
    try:
        fd, info = _open_regular(temp, os.O_WRONLY | os.O_NOFOLLOW | (os.O_CREAT if offset == 0 else 0))
    except FileNotFoundError:
        raise FileTrouble(_LOST) from None
    try:
        if info.st_size < offset:
            raise FileTrouble(_LOST)
        end = offset + len(data)
        view = memoryview(data)
        while view:
            written = os.pwrite(fd, view, offset)
            offset += written
            view = view[written:]
        if info.st_size > end:
            os.ftruncate(fd, end)  # of a piece that came twice
        if header.get("last"):
            _finish(fd, path, header)
            os.rename(temp, path)
            _placed.append((path, part))
        return {"path": path, "size": end}
    finally:
        os.close(fd)


_LOST = "The beginning of this file is gone: the machine went back to an earlier state meanwhile. Send the file again."


def _finish(fd: int, path: str, header: Header) -> None:
    """Gives a whole file the mode and the time that it is to have."""
    mode = 0o444 if header.get("read_only") else 0o644
    with contextlib.suppress(OSError):
        before = os.lstat(path)
        if stat.S_ISREG(before.st_mode) and not header.get("read_only"):
            mode = stat.S_IMODE(before.st_mode)
    os.fchmod(fd, mode)
    if changed := _count(header, "changed", 0):
        os.utime(fd, ns=(changed, changed))


def _sweep(folder: str) -> None:
    """Removes what broke off long ago."""
    old = time.time() - _PART_SECONDS
    with os.scandir(folder) as found:
        left = [entry.path for entry in found if _PART.fullmatch(entry.name)]
    for path in left:
        with contextlib.suppress(OSError):
            if os.lstat(path).st_mtime < old:
                os.unlink(path)


def _remove(path: str) -> Any:
    if path in ("/", HOME):
        raise FileTrouble(f"{path} cannot be deleted.")
    if stat.S_ISDIR(os.lstat(path).st_mode):
        shutil.rmtree(path)
    else:
        os.unlink(path)
    return {"path": path}


def _disk(path: str) -> Any:
    room = os.statvfs(path)
    return {"size": room.f_blocks * room.f_frsize, "free": room.f_bavail * room.f_frsize}


def _replace(path: str, data: bytes) -> Any:
    """Writes a file that others may read meanwhile."""
    new = f"{path}.new"
    with open(new, "wb") as file:
        file.write(data)
    os.chmod(new, 0o644)
    os.replace(new, path)
    return None


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISLNK(mode):
        return "link"
    return "file" if stat.S_ISREG(mode) else "other"


def _entry(name: str, info: os.stat_result) -> dict[str, Any]:
    # Names are bytes; one that is not UTF-8 is shown with replacement characters.
    shown = os.fsencode(name).decode("utf-8", "replace")
    return {"name": shown, "type": _kind(info.st_mode), "size": info.st_size, "changed": info.st_mtime_ns}


def _list(path: str, limit: int) -> Any:
    entries: list[dict[str, Any]] = []
    more, room, limit = False, _LISTING_BYTES, min(limit, ENTRY_LIMIT)
    with os.scandir(path) as found:
        for entry in found:
            if _PART.fullmatch(entry.name):
                continue
            room -= 6 * len(entry.name) + 120
            if len(entries) >= limit or room < 0:
                more = True
                break
            with contextlib.suppress(OSError):
                entries.append(_entry(entry.name, entry.stat(follow_symlinks=False)))
    entries.sort(key=lambda entry: entry["name"])
    return {"path": path, "entries": entries, "more": more}


class FileThread:
    """Does file requests one after another, so that a slow disk delays nothing else."""

    def __init__(self, wake_fd: int) -> None:
        """`wake_fd` is written to when a reply is there."""
        self._wake_fd = wake_fd
        self._requests: queue.SimpleQueue[tuple[Header, bytes]] = queue.SimpleQueue()
        self._replies: queue.SimpleQueue[tuple[Header, bytes]] = queue.SimpleQueue()
        threads.start(self._serve)

    def ask(self, header: Header, payload: bytes) -> None:
        self._requests.put((header, payload))

    def replies(self) -> Iterator[tuple[Header, bytes]]:
        """What is answered: `id` with `result` or `error`, and the bytes."""
        while not self._replies.empty():
            yield self._replies.get()

    def _serve(self) -> None:
        while True:
            header, payload = self._requests.get()
            reply: Header = {"id": header.get("id")}
            data = b""
            try:
                reply["result"], data = answer(header, payload)
                if header["type"] == "trust":
                    reply["trusts"] = str(header["digest"])[:128]
            except FileTrouble as trouble:
                reply["error"] = str(trouble)
            except Exception as error:
                reply["error"] = f"{type(error).__name__}: {error}"
            self._replies.put((reply, data))
            with contextlib.suppress(BlockingIOError):  # full of wake-ups already
                os.write(self._wake_fd, b"f")
