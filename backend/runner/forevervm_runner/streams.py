"""sys.stdin, sys.stdout and sys.stderr of the user's code.

Output goes through the real descriptors 1 and 2, a line at a time, so that it keeps its order with what C code
and subprocesses write to the same descriptors. What has no newline yet is flushed every few milliseconds.
"""

import io
import sys
from typing import Any, NoReturn, TextIO

NO_KEYBOARD = "This machine has nobody at the keyboard: {} can't be used. Put the value into the code instead."


class NoKeyboard(io.TextIOBase):
    """A stdin that says at once that nobody will type. Without it, code that asks would wait for ever."""

    encoding = "utf-8"
    errors = "strict"
    name = "<stdin>"

    def _refuse(self, *_: Any) -> NoReturn:
        raise EOFError(NO_KEYBOARD.format("input()"))

    read = readline = readlines = __next__ = _refuse  # type: ignore[assignment]

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 0

    def isatty(self) -> bool:
        return False


def no_breakpoint(*_: Any, **__: Any) -> NoReturn:
    """In place of the debugger, which would ask for commands."""
    raise RuntimeError(NO_KEYBOARD.format("breakpoint()"))


def writer(fd: int, name: str) -> TextIO:
    """A text stream on a descriptor that is not closed with it. Nothing a `str` can hold makes it fail."""
    raw = io.FileIO(fd, "w", closefd=False)
    stream = io.TextIOWrapper(
        io.BufferedWriter(raw, 64 << 10), encoding="utf-8", errors="backslashreplace", newline="\n", line_buffering=True
    )
    stream.mode = "w"  # type: ignore[misc]
    return stream


class Streams:
    """The three streams, able to put themselves back after code that replaced or closed them."""

    def __init__(self) -> None:
        self.stdin: Any = NoKeyboard()
        self.stdout = writer(1, "<stdout>")
        self.stderr = writer(2, "<stderr>")

    def install(self) -> None:
        if self.stdout.closed:
            self.stdout = writer(1, "<stdout>")
        if self.stderr.closed:
            self.stderr = writer(2, "<stderr>")
        if self.stdin.closed:
            self.stdin = NoKeyboard()
        sys.stdin = sys.__stdin__ = self.stdin  # type: ignore[misc]
        sys.stdout = sys.__stdout__ = self.stdout  # type: ignore[misc]
        sys.stderr = sys.__stderr__ = self.stderr  # type: ignore[misc]

    def flush(self) -> None:
        """Writes out what is buffered, whatever state the streams are in."""
        for stream in (self.stdout, self.stderr):
            try:
                stream.flush()
            except (ValueError, OSError, RuntimeError):
                continue
