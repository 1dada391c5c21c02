"""Questions whose answer may run the user's code (completion, inspection), asked in a forked copy of the process.

The copy is killed after 200 ms. Whatever it ran, changed or looped in is gone with it, and the user's own
state was never touched.
"""

import os
import select
import signal
import time
import warnings
from collections.abc import Callable
from typing import Any

from .frames import inner_decoder, inner_frame

SECONDS = 0.2
_LIMIT = 2 << 20
_BUSY = "busy: the answer took too long."

_fork, _exit, _kill, _waitpid, _pipe, _close = os.fork, os._exit, os.kill, os.waitpid, os.pipe, os.close
_read, _write, _SIGKILL, _poll, _POLLIN = os.read, os.write, signal.SIGKILL, select.poll, select.POLLIN
_monotonic = time.monotonic

_filterwarnings, _MODULE = warnings.filterwarnings, __name__.replace(".", r"\.")

Answer = dict[str, Any]


_quiet: object = None


def quiet_fork_warning() -> None:
    """Python warns about forks beside threads; ours does nothing but compute and exit. Called again, it stays in force
    over filters that were set since."""
    global _quiet
    if not warnings.filters or warnings.filters[0] is not _quiet:
        _filterwarnings("ignore", category=DeprecationWarning, module=_MODULE)
        _quiet = warnings.filters[0]


def ask(question: Callable[[], Any]) -> Answer:
    """`{"result": …}` or `{"error": …}`, at the latest 200 ms and a fork later."""
    ours, theirs = _pipe()
    try:
        pid = _fork()
        if pid == 0:
            _answer(question, theirs)
        _close(theirs)
        theirs = -1
        try:
            return _wait(ours)
        finally:
            _end(pid)
    finally:
        _close(ours)
        if theirs >= 0:
            _close(theirs)


def _answer(question: Callable[[], Any], fd: int) -> None:
    try:
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


def _wait(fd: int) -> Answer:
    deadline = _monotonic() + SECONDS
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
    return {"error": _BUSY}


def _end(pid: int) -> None:
    try:
        _kill(pid, _SIGKILL)
        _waitpid(pid, 0)
    except (ProcessLookupError, ChildProcessError):
        return  # the user's code waited for it first
