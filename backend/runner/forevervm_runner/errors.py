"""Tracebacks as Python itself prints them, without the runner's and IPython's own frames."""

import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

import IPython

from .bounded import cut, plain_str
from .hints import hint

TRACEBACK_LIMIT = 256 << 10
NAME_LIMIT = 200
MESSAGE_LIMIT = 16 << 10
_OURS = (str(Path(__file__).parent), str(Path(IPython.__file__).parent))
_COLOURS = sys.version_info >= (3, 13)
_TracebackException = traceback.TracebackException
_type, _repr = type, repr


class Failure:
    """What is told about an exception: its name, its message, and the traceback plain and
    coloured."""

    def __init__(self, error: BaseException) -> None:
        self.ename = _name(error)
        self.evalue = _message(error)
        summary = f"{self.ename}: {self.evalue}" if self.evalue else self.ename
        self.plain = self.ansi = cut(summary, TRACEBACK_LIMIT)[0]
        try:
            if isinstance(error, SystemExit):
                self.evalue = _exit_sentence(error)
                self.plain = self.ansi = cut(f"SystemExit: {self.evalue}", TRACEBACK_LIMIT)[0]
                return
            told = _TracebackException(_type(error), error, _users_part(error.__traceback__), compact=True)
            _clean(told)
            if said := hint(error, self.evalue):
                told.__notes__ = [*(told.__notes__ or ()), said]
            self.plain = _text(told, False)
            self.ansi = _text(told, True) if _COLOURS else self.plain
        except Exception:
            return  # an exception that cannot even be formatted is told in one line


def _text(told: traceback.TracebackException, colours: bool) -> bytes:
    lines = told.format(colorize=colours) if _COLOURS else told.format()  # type: ignore[call-arg]
    return cut("".join(lines).rstrip("\n"), TRACEBACK_LIMIT)[0]


def _ours(traceback_entry: TracebackType) -> bool:
    return traceback_entry.tb_frame.f_code.co_filename.startswith(_OURS)


def _users_part(entries: TracebackType | None) -> TracebackType | None:
    """The traceback from the first frame of the user's code on."""
    first = entries
    while first is not None and _ours(first):
        first = first.tb_next
    return first


def _clean(told: traceback.TracebackException) -> None:
    """Drops the runner's frames from the end: an error it raises on purpose points at the user's
    line."""
    stack = told.stack
    whose: tuple[str, ...] = _OURS[:1]
    while stack and stack[-1].filename.startswith(whose):
        stack.pop()
        whose = _OURS  # IPython's, where it called the runner


def _name(error: BaseException) -> str:
    try:
        name = plain_str(_type(error).__qualname__).encode("utf-8", "backslashreplace")
        return name[:NAME_LIMIT].decode("utf-8", "ignore")
    except Exception:
        return "Exception"


def _message(error: BaseException) -> str:
    try:
        return cut(plain_str(error), MESSAGE_LIMIT)[0].decode()
    except Exception:
        return "<the exception's message cannot be made>"


def _exit_sentence(error: SystemExit) -> str:
    code: Any = error.code
    said = "" if code is None else "(…)"
    if _type(code) is str:
        said = f"({cut(_repr(code[:MESSAGE_LIMIT]), MESSAGE_LIMIT)[0].decode()})"
    elif _type(code) in (int, bool) and -(10**9) < code < 10**9:
        said = f"({code})"
    return f"The code called sys.exit{said or '()'}. The instruction ended here; the machine goes on with its state."
