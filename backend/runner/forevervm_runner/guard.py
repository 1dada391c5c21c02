"""Puts the process back into a usable state after code that changed what it should not have.

Everything used here was taken from its module when the runner started, so replacing `os.dup2` or
`signal.signal` changes nothing for the next instruction. What a program may well want to keep (its
working folder, a higher recursion limit, warnings filters, environment) is left alone.
"""

import builtins
import ctypes
import linecache
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

_builtin_names = vars(builtins)
_get_blocking, _set_blocking = os.get_blocking, os.set_blocking
_dup2, _fstat, _getcwd, _chdir, _open = os.dup2, os.fstat, os.getcwd, os.chdir, os.open
_signal, _getsignal = signal.signal, signal.getsignal
_sigmask, _UNBLOCK = signal.pthread_sigmask, signal.SIG_UNBLOCK
_gettrace, _settrace, _getprofile, _setprofile = sys.gettrace, sys.settrace, sys.getprofile, sys.setprofile
_getrecursionlimit, _setrecursionlimit = sys.getrecursionlimit, sys.setrecursionlimit
_getswitchinterval, _setswitchinterval = sys.getswitchinterval, sys.setswitchinterval
_DEVNULL, _RDONLY = os.devnull, os.O_RDONLY

_libc = ctypes.CDLL(None)
_fflush = _libc.fflush
_fflush.argtypes = [ctypes.c_void_p]
_C_STREAMS = [ctypes.c_void_p.in_dll(_libc, name) for name in ("stdout", "stderr")]
_LINE_BUFFERED = 1

MIN_RECURSION = 1000
MAX_SWITCH_SECONDS = 0.02
HOME = os.environ.get("HOME") or "/root"


def buffer_c_stdio_by_line() -> None:
    """C code's output comes a line at a time, not when 4 KiB are full."""
    setvbuf = _libc.setvbuf
    setvbuf.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_size_t]
    setvbuf(_C_STREAMS[0], None, _LINE_BUFFERED, 0)


def flush_c_stdio() -> None:
    """Writes out what C code left in its own buffers."""
    for stream in _C_STREAMS:
        _fflush(stream)


class Guard:
    """Remembers how things are when made; `restore` makes them so again."""

    def __init__(self, saved: list[int], handlers: Mapping[int, Callable[[int, Any], None]]) -> None:
        """`saved`: duplicates of what descriptors 0, 1 and 2 must be; `handlers`: those of the
        signals that interrupt."""
        self._saved = saved
        self._identities = [_identity(fd) for fd in saved]
        self._handlers = handlers
        self._builtins = dict(_builtin_names)
        self._hooks = {
            name: getattr(sys, name) for name in ("displayhook", "excepthook", "unraisablehook", "breakpointhook")
        }
        self._essential = {name: sys.modules[name] for name in ("sys", "builtins", "os", "io", "IPython", "__main__")}
        self._modules = dict(sys.modules)
        self._threading_excepthook = threading.excepthook

    def remember_modules(self) -> None:
        """Called once everything is imported."""
        self._modules = dict(sys.modules)

    def restore_python(self) -> None:
        """The interpreter: builtins, hooks, tracing, modules that were thrown out."""
        # The first lines use no builtin by its name: any of them may be gone.
        for name, original in self._builtins.items():
            if _builtin_names.get(name, self) is not original:
                _builtin_names[name] = original
        _settrace_off()
        for name, hook in self._hooks.items():
            setattr(sys, name, hook)
        threading.excepthook = self._threading_excepthook
        modules = sys.modules
        if any(modules.get(name) is not module for name, module in self._essential.items()):
            for name, module in self._modules.items():
                modules.setdefault(name, module)
            modules.update(self._essential)
        if type(linecache.cache) is not dict:
            linecache.cache = {}
        if _getrecursionlimit() < MIN_RECURSION:
            _setrecursionlimit(MIN_RECURSION)
        if _getswitchinterval() > MAX_SWITCH_SECONDS:
            _setswitchinterval(0.005)

    def restore_signals(self) -> None:
        """Signal handlers, and that these signals are heard."""
        for number, handler in self._handlers.items():
            if _getsignal(number) is not handler:
                _signal(number, handler)
        _sigmask(_UNBLOCK, self._handlers)

    def restore_files(self) -> None:
        """Descriptors 0 to 2, and a working folder that exists."""
        for fd, identity in enumerate(self._identities):
            if _identity(fd) != identity:
                _dup2(self._saved[fd], fd)
            if not _get_blocking(fd):
                _set_blocking(fd, True)
        try:
            _getcwd()
        except OSError:
            for folder in (HOME, "/"):
                try:
                    return _chdir(folder)
                except OSError:
                    continue


def _settrace_off() -> None:
    if _gettrace() is not None:
        _settrace(None)
    if _getprofile() is not None:
        _setprofile(None)


def _identity(fd: int) -> tuple[int, int]:
    try:
        info = _fstat(fd)
    except OSError:
        return (-1, -1)
    return info.st_dev, info.st_ino
