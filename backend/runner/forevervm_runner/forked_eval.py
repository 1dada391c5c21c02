"""Questions whose answer may run the user's code (completion, inspection), asked in a forked copy
of the process.

The copy is killed after 200 ms, or what else is said. Whatever it ran, changed or looped in is gone
with it, and the user's own state was never touched.
"""

import _imp
import contextlib
import ctypes
import os
import select
import signal
import time
from collections.abc import Callable
from typing import Any

from .frames import inner_decoder, inner_frame

SECONDS = 0.2
_LIMIT = 2 << 20
_BUSY = {"error": "The answer took too long.", "kind": "busy"}

# Not os.fork: that would run what the user's code has registered to be run at forks, here and for
# as long as it likes.
_fork = ctypes.PyDLL(None).fork
_become_the_copy = ctypes.pythonapi.PyOS_AfterFork_Child
_acquire_import_lock = _imp.acquire_lock

_exit, _kill, _killpg, _setsid, _waitpid = os._exit, os.kill, os.killpg, os.setsid, os.waitpid
_pipe, _close, _read, _write, _poll, _POLLIN = os.pipe, os.close, os.read, os.write, select.poll, select.POLLIN
_monotonic, _SIGKILL, _suppress = time.monotonic, signal.SIGKILL, contextlib.suppress

Answer = dict[str, Any]


def ask(question: Callable[[], Any], seconds: float = SECONDS) -> Answer:
    """`{"result": …}` or `{"error": …}`, at the latest this time and a fork later."""
    ours, theirs = _pipe()
    try:
        pid = _fork()
        if pid < 0:
            return dict(_BUSY)
        if pid == 0:
            _answer(question, theirs)
        _close(theirs)
        theirs = -1
        try:
            return _wait(ours, seconds)
        finally:
            _end(pid)
    finally:
        _close(ours)
        if theirs >= 0:
            _close(theirs)


def _answer(question: Callable[[], Any], fd: int) -> None:
    try:
        _acquire_import_lock()  # which the next line lets go of
        _become_the_copy()
        _setsid()
        try:
            reply: Answer = {"result": question()}
            frame = inner_frame(reply)
        except BaseException as error:
            frame = inner_frame({"error": f"{type(error).__name__}: {error}"[:1000]})
        if len(frame) > _LIMIT:
            frame = inner_frame({"error": "The answer is too long."})
        view = memoryview(frame)
        while view:
            view = view[_write(fd, view) :]
    finally:
        _exit(0)


def _wait(fd: int, seconds: float) -> Answer:
    deadline = _monotonic() + seconds
    decoder = inner_decoder()
    poll = _poll()
    poll.register(fd, _POLLIN)
    while (left := deadline - _monotonic()) > 0:
        if not poll.poll(left * 1000):
            break
        data = _read(fd, 1 << 16)
        if not data:
            return {"error": "The question could not be answered."}
        decoder.feed(data)
        for header, _ in decoder.messages():
            return header
    return dict(_BUSY)


def _end(pid: int) -> None:
    """Ends the copy, and what it has started."""
    for kill in (_killpg, _kill):
        with _suppress(ProcessLookupError):
            kill(pid, _SIGKILL)
    with _suppress(ChildProcessError):  # the user's code waited for it first
        _waitpid(pid, 0)
