"""How an interrupt reaches the user's code.

First SIGINT, as Ctrl-C gives it. Where the system gave that to another thread, which does not wake
a main thread that sleeps, the main thread gets one of its own; where that is lost too, because
`os.system` ignores it while it waits, an exception is put into the main thread; where what it
raised fell into a place that drops exceptions, it comes again. From the second time on all come at
once, and a signal of our own for code that handles or ignores SIGINT.
"""

import ctypes
import functools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .interrupt_window import InterruptWindow
from .processes import NUDGE

LOST_SECONDS = 0.02
_DROPS = 50  # how often it is dropped before it has to be sent once more
_LOCK_SECONDS = 1.0

_async_exc = ctypes.pythonapi.PyThreadState_SetAsyncExc
_async_exc.argtypes = [ctypes.c_ulong, ctypes.py_object]
_NO_EXCEPTION = ctypes.py_object()
_signal, _DEFAULT = signal.signal, signal.SIG_DFL
_getsignal, _SIGINT, _sleep, _get_ident = signal.getsignal, signal.SIGINT, time.sleep, threading.get_ident
_unraisablehook, _getpid, _pthread_kill = sys.__unraisablehook__, os.getpid, signal.pthread_kill


class Interrupts:
    """Made in the main thread, whose instructions it interrupts."""

    def __init__(self, window: InterruptWindow) -> None:
        self._window = window
        self._main = _get_ident()
        self._pid = _getpid()
        self._seq: int | None = None
        #: Whether an interrupt raises KeyboardInterrupt now.
        self.raising = False
        self._seen = self._kept = self._dropped = False
        # Held while an exception is put into the main thread, so that none comes after the window
        # is closed.
        self._lock = threading.RLock()
        self.handlers = {_SIGINT: self.on_signal, NUDGE: self._on_nudge}
        for number, handler in self.handlers.items():
            _signal(number, handler)
        signal.signal = self._signal  # type: ignore[assignment]
        sys.unraisablehook = self._on_unraisable
        os.fork, os.forkpty = self._undisturbed(os.fork), self._undisturbed(os.forkpty)

    def _signal(self, number: Any, handler: Any) -> Any:
        """`signal.signal`.

        The system's default, to end the process, would end the machine: ours is to end the
        instruction."""
        if handler == _DEFAULT and number in self.handlers:
            handler = self.handlers[number]
        return _signal(number, handler)

    def in_forked_child(self) -> None:
        """A copy made by the user's code must not close the worker's window when it comes to its
        end."""
        self._window = InterruptWindow()

    def begin(self, seq: int) -> None:
        """From here on KeyboardInterrupt may be raised anywhere."""
        self._seen = self._dropped = False
        self._seq, self.raising = seq, True
        self._window.open(seq)

    def end(self) -> None:
        """From here on it is not.

        Set `raising` to False first; one that the control thread put in may still be raised
        here."""
        with self._lock:
            self._window.close()
            _async_exc(self._main, _NO_EXCEPTION)

    @contextmanager
    def held_back(self) -> Iterator[bool]:
        """For what must not be left half done: an interrupt that comes meanwhile is raised at the
        end.

        Gives whether this is the main thread, the only one that is ever interrupted.
        """
        if _get_ident() != self._main or not self.raising:
            yield _get_ident() == self._main
            return
        self.raising = self._kept = False
        try:
            yield True
        finally:
            self.raising = True
        if self._kept:
            raise KeyboardInterrupt

    def _undisturbed(self, fork: Callable[[], Any]) -> Callable[[], Any]:
        """What Python calls around a fork drops exceptions, in both processes."""

        @functools.wraps(fork)
        def undisturbed() -> Any:
            with self.held_back():
                return fork()

        return undisturbed

    def press(self, seq: int, hard: bool) -> None:
        """Called by another thread beside the signal."""
        directly = False
        for _ in range(0 if hard else _DROPS):
            _sleep(LOST_SECONDS)
            if self._seen or _getsignal(_SIGINT) != self.on_signal:
                return  # it arrived, or the user's code handles interrupts itself
            if directly and not self._dropped:
                break
            self._dropped, directly = False, True
            self._while_open(seq, lambda: _pthread_kill(self._main, _SIGINT))
        self._while_open(seq, lambda: _async_exc(self._main, KeyboardInterrupt))

    def _while_open(self, seq: int, act: Callable[[], Any]) -> None:
        if self._lock.acquire(timeout=_LOCK_SECONDS):
            try:
                if self.raising and self._seq == seq:
                    act()
            finally:
                self._lock.release()

    def on_signal(self, _number: int, _frame: Any) -> None:
        """The handler of SIGINT."""
        self._seen = True
        if self.raising:
            raise KeyboardInterrupt
        self._kept = True

    def _on_nudge(self, _number: int, _frame: Any) -> None:
        if self.raising:
            raise KeyboardInterrupt

    def _on_unraisable(self, event: Any) -> None:
        """An interrupt can fall into a finalizer or a callback of C code, where exceptions are
        dropped."""
        ours = _get_ident() == self._main and _getpid() == self._pid
        if event.exc_type is KeyboardInterrupt and ours and self.raising:
            self._dropped, self._seen = True, False  # raised in here, it would be dropped again
        else:
            _unraisablehook(event)
