"""File requests, answered by the relay: they work while the user's code runs, whatever it does."""

import contextlib
import os
import queue
import stat
import threading
from collections.abc import Iterator
from typing import Any

from .frames import Header

HOME = os.environ.get("HOME") or "/root"
# Whom programs in the machine trust, when they ask who a server is.
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"
READ_LIMIT = 4 << 20
ENTRY_LIMIT = 10_000
# A listing must fit into a header; what is not ASCII takes six bytes there.
_LISTING_BYTES = 900 << 10

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
                return _write(path, _count(header, "offset", 0), bool(header.get("truncate")), payload), b""
            case "trust":
                return _replace(path, payload), b""
            case _:
                return _list(path, _count(header, "limit", 1000)), b""
    except OSError as error:
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
        return {"size": info.st_size, "eof": offset >= info.st_size}, b"".join(parts)
    finally:
        os.close(fd)


def _write(path: str, offset: int, truncate: bool, data: bytes) -> Any:
    os.makedirs(os.path.dirname(path) or "/", exist_ok=True)
    if os.path.isdir(path):
        raise FileTrouble(f"{path} is a folder.")
    fd, _ = _open_regular(path, os.O_WRONLY | os.O_CREAT)
    try:
        if truncate:
            os.ftruncate(fd, offset)
        view = memoryview(data)
        while view:
            written = os.pwrite(fd, view, offset)
            offset += written
            view = view[written:]
        return {"path": path, "size": os.fstat(fd).st_size}
    finally:
        os.close(fd)


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


def _list(path: str, limit: int) -> Any:
    entries: list[dict[str, Any]] = []
    more, room, limit = False, _LISTING_BYTES, min(limit, ENTRY_LIMIT)
    with os.scandir(path) as found:
        for entry in found:
            room -= 6 * len(entry.name) + 120
            if len(entries) >= limit or room < 0:
                more = True
                break
            try:
                info = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            entries.append(
                {
                    # Names are bytes; one that is not UTF-8 is shown with replacement characters.
                    "name": os.fsencode(entry.name).decode("utf-8", "replace"),
                    "type": _kind(info.st_mode),
                    "size": info.st_size,
                    "modified": info.st_mtime,
                }
            )
    entries.sort(key=lambda entry: entry["name"])
    return {"path": path, "entries": entries, "more": more}


class FileThread:
    """Does file requests one after another, so that a slow disk delays nothing else."""

    def __init__(self, wake_fd: int) -> None:
        """`wake_fd` is written to when a reply is there."""
        self._wake_fd = wake_fd
        self._requests: queue.SimpleQueue[tuple[Header, bytes]] = queue.SimpleQueue()
        self._replies: queue.SimpleQueue[tuple[Header, bytes]] = queue.SimpleQueue()
        threading.stack_size(256 << 10)
        threading.Thread(target=self._serve, daemon=True).start()
        threading.stack_size(0)

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
