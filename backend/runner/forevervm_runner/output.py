"""Standard output and standard error of the user's Python: unbuffered, except in a burst.

A system call costs many microseconds in the sandbox, so a loop of `print()` must not make one per
line. The first writes of each 10 ms go straight out. More of them are held for a few milliseconds,
and a thread writes them. No signal reaches that thread, so an interrupt neither loses nor doubles
what is held.

Held text goes out before Python starts a process or looks up a C function, before something is
shown, and before an instruction's result. In the milliseconds of a burst, C code and `os.write` may
overtake it, and the two streams may overtake each other.
"""

import _posixsubprocess
import contextlib
import ctypes
import functools
import io
import os
import queue
import select
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from . import threads

BURST_SECONDS = 0.01
STRAIGHT_WRITES = 32
HOLD_SECONDS = 0.005
HOLD_BYTES = 32 << 10
# A pipe takes this many bytes as one piece. A longer text is not held.
PIPE_BUF = select.PIPE_BUF

# Before a call of these everything is written: C code or another process may write to descriptor 1
# next, or this process may end. Forks have a hook of their own. No audit hook: Python calls that at
# each `id()` too, and `copy.deepcopy` took 3 times as long.
_FLUSH_BEFORE: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (os, ("_exit", "abort", "execv", "execve", "kill", "posix_spawn", "posix_spawnp", "system")),
    (_posixsubprocess, ("fork_exec",)),
    (subprocess, ("_fork_exec",)),
    (ctypes.CDLL, ("__getitem__",)),  # looks up a function, the first time it is used
)

_write, _fstat, _monotonic = os.write, os.fstat, time.monotonic
_Lock, _get_ident, _Empty = threading.Lock, threading.get_ident, queue.Empty
_poll, _POLLOUT, _suppress = select.poll, select.POLLOUT, contextlib.suppress
_bytes, _len, _memoryview = bytes, len, memoryview
_OSError, _BlockingIOError = OSError, BlockingIOError


class Output(io.BufferedIOBase):
    """One of the streams.

    `fd` is 1 or 2. `pipe_fd` is the capture pipe. So is `fd`, until the user's code changes it.
    """

    def __init__(self, fd: int, pipe_fd: int, name: str, both: "Outputs") -> None:
        self.name = name
        self.mode = "wb"
        self.pipe_fd = pipe_fd
        self._fd = fd
        self._both = both
        self._pipe = _identity(pipe_fd)
        self.held: list[bytes] = []
        self._size = 0
        self._since = 0.0
        self._writes = 0

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def isatty(self) -> bool:
        return False

    def close(self) -> None:
        """Descriptors 1 and 2 are not Python's to close."""
        self.flush()

    def write(self, data: Any) -> int:
        """Writes everything, and returns how much that was. `print` calls it twice for a line."""
        if data.__class__ is not _bytes:
            data = _bytes(_memoryview(data))
        size = _len(data)
        if size <= PIPE_BUF and (self.held or self._in_burst()):
            self.held.append(data)
            self._both.write_soon()
            self._size += size
            if self._size >= HOLD_BYTES:
                self._both.write_now()
        else:
            self._both.write_now()
            _write_all(self._fd, data)
        return size

    def flush(self) -> None:
        """Writes what is held. Code that flushes wants each text at once: it begins no burst."""
        self._both.write_now()
        self._writes = 0

    def write_held(self) -> None:
        """For the thread alone. Text counts as held until it is written, so none overtakes it."""
        if pieces := self.held[:]:
            text = b"".join(pieces)
            self._size = 0
            with _suppress(_OSError):  # the user's code closed it
                for lines in _whole_lines(text):
                    _write_all(self.pipe_fd, lines)
            # A burst goes on where it has stopped: what was held counts as written now.
            self._since, self._writes = _monotonic(), _len(pieces)
            del self.held[: _len(pieces)]

    def _in_burst(self) -> bool:
        now = _monotonic()
        if now - self._since > BURST_SECONDS:
            self._since, self._writes = now, 0
        self._writes += 1
        # The other stream's burst is this one's too.
        if self._writes <= STRAIGHT_WRITES and not self._both.holding:
            return False
        # Where the user's code has put another file in place of `fd`, nothing is held for it.
        return self._both.can_hold and _identity(self._fd) == self._pipe


class Outputs:
    """Both streams, and the thread that writes out what they hold."""

    def __init__(self, out_fd: int, err_fd: int) -> None:
        """Takes the other descriptors of the pipes that are descriptors 1 and 2."""
        self.can_hold = True
        self.out = Output(1, out_fd, "<stdout>", self)
        self.err = Output(2, err_fd, "<stderr>", self)
        # None: something is held. A lock: somebody waits, and all is written when it is released.
        self._asked: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._due = False
        self._thread = 0
        threads.start(self._serve)
        os.register_at_fork(before=self.write_now)
        for owner, names in _FLUSH_BEFORE:
            for name in names:
                setattr(owner, name, self._flushing(getattr(owner, name)))

    @property
    def holding(self) -> list[bytes]:
        """Text that is not written yet, if there is any."""
        return self.out.held or self.err.held

    def write_soon(self) -> None:
        """Tells the thread that something is held."""
        if not self._due:
            self._due = True
            self._asked.put(None)

    def write_now(self) -> None:
        """Returns when all that is held is written.

        An interrupt ends the waiting. The text is written all the same.
        """
        if not self.holding or _get_ident() == self._thread:
            return
        done = _Lock()
        done.acquire()
        self._asked.put(done)
        done.acquire()

    def in_forked_child(self) -> None:
        """Drops what the parent will write. From here on nothing is held: there is no thread."""
        self.can_hold = False
        self.out.held, self.err.held = [], []

    def _flushing(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, but that it first writes out what is held."""

        @functools.wraps(function)
        def flushing(*args: Any, **kwargs: Any) -> Any:
            self.write_now()
            return function(*args, **kwargs)

        if flushing.__module__ == "posix":
            flushing.__module__ = "os"  # where pickle finds this one
        return flushing

    def _serve(self) -> None:
        self._thread = _get_ident()
        while True:
            done: Any = None
            try:
                done = self._asked.get() or self._within(HOLD_SECONDS)
                self._due = False  # first: what is held from here on tells again
                self.out.write_held()
                self.err.write_held()
            except BaseException:
                continue  # out of memory: it stays held
            finally:
                if done is not None:
                    done.release()

    def _within(self, seconds: float) -> Any:
        try:
            return self._asked.get(timeout=seconds)
        except _Empty:
            return None


def _identity(fd: int) -> tuple[int, int] | None:
    try:
        info = _fstat(fd)
    except _OSError:
        return None
    return info.st_dev, info.st_ino


def _whole_lines(text: bytes) -> Iterator[bytes]:
    """The text in pieces that a pipe takes whole, so that no other process writes into a line."""
    start = 0
    while start < _len(text):
        end = text.rfind(b"\n", start, start + PIPE_BUF) + 1 or start + PIPE_BUF
        yield text[start:end]
        start = end


def _write_all(fd: int, data: bytes) -> None:
    view = _memoryview(data)
    while view:
        try:
            view = view[_write(fd, view) :]
        except _BlockingIOError:  # the user's code made the descriptor so
            poll = _poll()
            poll.register(fd, _POLLOUT)
            poll.poll()
