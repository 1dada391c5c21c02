"""What an error means and what helps, in a sentence, where Python's own words do not say it.

People read it first, models act on it. It is a guess: where in doubt there is none. Nothing of the
user's is called but what the exact types of Python and pandas have.
"""

import difflib
import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

from .host_paths import INBOX, advice

_MESSAGE = 4 << 10
_NAME = 80
_LISTED = 12
_LOOKED_AT = 200

# What is imported under another name than it is installed.
_PACKAGES = {
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "docx": "python-docx",
    "fitz": "pymupdf",
    "PIL": "pillow",
    "pptx": "python-pptx",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}

_NOT_A_NUMBER = re.compile(r"could not convert string to float: (['\"].{0,80}?['\"])$")
_NOTHING_HAS = re.compile(r"'NoneType' object has no attribute '(\w{1,80})'")
_NUMBER_AND_TEXT = re.compile(
    r"unsupported operand type\(s\) for .{1,8}: '(?:int|float)' and 'str'|can only concatenate str"
)
_FIELDS = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")

# What the proxy says to a library that then wraps it in its own words.
_PROXY = re.compile(r"ForeverVM: ([^\n]{5,400}?\.)['\")>\]]*$")

_type, _str = type, str
_isdir, _scandir = os.path.isdir, os.scandir


def hint(error: BaseException, message: str) -> str | None:
    """A sentence for an error with that message, or None."""
    message = message[:_MESSAGE]
    if said := advice(message):
        return said
    if found := _PROXY.search(message):
        return found[1]
    say = _BY_TYPE.get(_type(error)) or _BY_NAME.get(_type(error).__name__)
    return say(error, message) if say else None


def _key(error: BaseException, message: str) -> str | None:
    frame = _frame_of(error)
    if frame is None:
        return None
    key: Any = error.args[0] if len(error.args) == 1 else None
    return _column(frame, None if _type(key) is not _str or key.endswith("not in index") else key)


def _column(frame: Any, key: str | None) -> str | None:
    """That a data frame has no such column; what it has, where nobody knows which was meant."""
    columns = [name for name in list(frame.columns[:_LOOKED_AT]) if _type(name) is _str]
    if not columns:
        return None
    if key is None:
        return f"The table's columns are: {_list(columns)}."
    meant = _close(key, columns)
    return (
        f'There is no column "{_cut(key)}". '
        + (f'Is it "{_cut(meant)}"? ' if meant else "")
        + f"There are: {_list(columns)}."
    )


def _frame_of(error: BaseException) -> Any:
    """The data frame in which pandas has looked, or None."""
    pandas = sys.modules.get("pandas")
    if pandas is None:
        return None
    entry = error.__traceback__
    while entry is not None:
        code, values = entry.tb_frame.f_code, entry.tb_frame.f_locals
        if "/pandas/core/" in code.co_filename:
            for name in ("self", "obj"):
                if _type(values.get(name)) is pandas.DataFrame:
                    return values[name]
        entry = entry.tb_next
    return None


def _module(error: BaseException, message: str) -> str | None:
    name: Any = getattr(error, "name", None)
    if _type(name) is not _str or not name.isascii():
        return None
    root = name.split(".")[0]
    if root in sys.stdlib_module_names or root in sys.modules:
        return None
    return (
        f"There is no library {_cut(root)} in this machine. %pip install {_cut(_PACKAGES.get(root, root))} installs it."
    )


def _file(error: BaseException, message: str) -> str | None:
    path: Any = getattr(error, "filename", None)
    if _type(path) is not _str or not path or "\0" in path:
        return None
    folder, name = os.path.split(path)
    folder = folder or os.getcwd()
    if not _isdir(folder):
        return f'There is no folder "{_cut(folder)}". os.makedirs makes one.'
    if folder != INBOX and os.path.exists(os.path.join(INBOX, name)):
        return f'There is no file "{_cut(name)}" in {_cut(folder)}. It is here as {INBOX}/{_cut(name)}.'
    names = sorted(_visible(folder))
    if not names:
        return f'There is no file "{_cut(name)}" in {_cut(folder)}: the folder is empty.'
    meant = _close(name, names)
    return f'There is no file "{_cut(name)}" in {_cut(folder)}. ' + (
        f'Is it "{_cut(meant)}"?' if meant else f"There are: {_list(names)}."
    )


def _visible(folder: str) -> Iterator[str]:
    with _scandir(folder) as entries:
        for _, entry in zip(range(_LOOKED_AT), entries, strict=False):
            if not entry.name.startswith("."):
                yield entry.name


def _encoding(error: BaseException, message: str) -> str | None:
    if "utf-8" not in message:
        return None
    return 'This text is not in UTF-8. Pass encoding="cp1252" where it comes from Windows, else encoding="latin-1".'


def _value(error: BaseException, message: str) -> str | None:
    if found := _NOT_A_NUMBER.search(message):
        return (
            f'{found[1]} is text, and a number is needed. pd.to_numeric(…, errors="coerce") leaves such values empty.'
        )
    return None


def _attribute(error: BaseException, message: str) -> str | None:
    if found := _NOTHING_HAS.search(message):
        return f"What stands before .{found[1]} is empty (None): what made it has found or returned nothing."
    frame, name = getattr(error, "obj", None), getattr(error, "name", None)
    pandas = sys.modules.get("pandas")
    if pandas is not None and _type(frame) is pandas.DataFrame and _type(name) is _str:
        return _column(frame, name)
    return None


def _operands(error: BaseException, message: str) -> str | None:
    if _NUMBER_AND_TEXT.search(message):
        return "A number and a text cannot be put together so. Turn one into the other first: int(), float() or str()."
    return None


def _index(error: BaseException, message: str) -> str | None:
    return "It has fewer entries than the code asks for." if message.endswith("index out of range") else None


def _empty(error: BaseException, message: str) -> str | None:
    return "The file is empty."


def _parser(error: BaseException, message: str) -> str | None:
    if found := _FIELDS.search(message):
        return f'Line {found[2]} has {found[3]} values, not {found[1]} as the lines before it. Is the separator another one, as sep=";"?'
    return None


def _late(error: BaseException, message: str) -> str | None:
    return "The website did not answer in time."


def _incomplete(error: BaseException, message: str) -> str | None:
    return "The code ends too early: a bracket or a quotation mark is not closed, or a block is empty."


_BY_TYPE: dict[type, Callable[[BaseException, str], str | None]] = {
    KeyError: _key,
    ModuleNotFoundError: _module,
    FileNotFoundError: _file,
    UnicodeDecodeError: _encoding,
    ValueError: _value,
    AttributeError: _attribute,
    TypeError: _operands,
    IndexError: _index,
}
# Of pandas, which may not be imported.
_BY_NAME: dict[str, Callable[[BaseException, str], str | None]] = {
    "EmptyDataError": _empty,
    "ParserError": _parser,
    # Of requests and httpx.
    "ReadTimeout": _late,
    "ConnectTimeout": _late,
    # Of Python's compiler, which does not export it.
    "_IncompleteInputError": _incomplete,
}


def _close(name: str, names: list[str]) -> str | None:
    for one in names:
        if one.strip().casefold() == name.strip().casefold():
            return one
    return next(iter(difflib.get_close_matches(name[:_NAME], names, 1, 0.75)), None)


def _list(names: list[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(_cut(name) for name in names[:_LISTED]) + (f" and {more} more" if more > 0 else "")


def _cut(name: str) -> str:
    """A name on one line."""
    name = "".join(letter if letter.isprintable() else "�" for letter in name[: _NAME + 1])
    return name if len(name) <= _NAME else name[: _NAME - 1] + "…"
