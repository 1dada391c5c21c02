"""sys.stdin, sys.stdout and sys.stderr of the user's code."""

import io
import sys
from typing import Any, NoReturn

from .output import Output, Outputs

NO_KEYBOARD = "This machine has nobody at the keyboard: {} can't be used. Put the value into the code instead."


class NoKeyboard(io.TextIOBase):
    """A stdin that says at once that nobody will type.

    Without it, code that asks would wait forever."""

    encoding = "utf-8"
    errors = "strict"
    name = "<stdin>"

    def _refuse(self, *_: Any) -> NoReturn:
        raise EOFError(NO_KEYBOARD.format("input()"))

    read = readline = readlines = __next__ = _refuse

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return 0

    def isatty(self) -> bool:
        return False


def no_breakpoint(*_: Any, **__: Any) -> NoReturn:
    """In place of the debugger, which would ask for commands."""
    raise RuntimeError(NO_KEYBOARD.format("breakpoint()"))


def _text(raw: Output) -> Any:
    """A text stream that holds nothing back itself, and that nothing a `str` can contain makes
    fail."""
    stream = io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", write_through=True)
    stream.mode = "w"  # type: ignore[misc]
    return stream


class Streams:
    """The three streams, able to put themselves back after code that replaced them."""

    def __init__(self, outputs: Outputs) -> None:
        self._raw = outputs.out, outputs.err
        self.stdin: Any = NoKeyboard()
        self.stdout, self.stderr = map(_text, self._raw)

    def install(self) -> None:
        """Makes them Python's streams. Works without any builtin."""
        sys.stdin = sys.__stdin__ = self.stdin  # type: ignore[misc]
        sys.stdout = sys.__stdout__ = self.stdout  # type: ignore[misc]
        sys.stderr = sys.__stderr__ = self.stderr  # type: ignore[misc]

    def renew(self) -> None:
        """New streams in place of ones whose insides the user's code took out or reconfigured."""
        if self.stdin.closed:
            self.stdin = NoKeyboard()
        for name, raw in zip(("stdout", "stderr"), self._raw, strict=True):
            stream = getattr(self, name)
            try:
                usable = stream.buffer is raw and stream.write_through and stream.errors == "backslashreplace"
                usable = usable and stream.encoding == "utf-8" and vars(stream) == {"mode": "w"}
            except ValueError:
                usable = False
            if not usable:
                setattr(self, name, _text(raw))
