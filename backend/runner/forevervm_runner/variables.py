"""The listing of the user's variables.

Nothing of the user's is called: lengths, shapes, sizes and previews are given only for objects whose type is
exactly one of Python's, numpy's or pandas' own.
"""

import sys
from collections.abc import Callable, Mapping
from itertools import islice
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

PREVIEW = 120
MAX_LIMIT = 1000
_ELEMENTS = 8
_NUMBERS = (int, float, complex, bool, type(None))
_CONTAINERS = (list, tuple, set, frozenset, dict)
_BRACKETS: dict[type, str] = {list: "[]", tuple: "()"}
_HIDDEN = {"In", "Out", "exit", "quit", "get_ipython", "open", "display"}

_type, _len, _repr, _sizeof, _isinstance = type, len, repr, sys.getsizeof, isinstance
_type_name: Callable[[type], str] = type.__dict__["__name__"].__get__

Entry = dict[str, Any]


class _Foreign:
    """numpy's and pandas' classes and the functions to ask them with, as they were when imported."""

    def __init__(self) -> None:
        numpy, pandas = sys.modules["numpy"], sys.modules["pandas"]
        self.array = numpy.ndarray
        self.scalar = numpy.generic
        self.frame, self.series, self.index = pandas.DataFrame, pandas.Series, pandas.Index
        self.frame_shape = pandas.DataFrame.shape.fget
        self.frame_bytes = pandas.DataFrame.memory_usage
        self.frame_columns = pandas.DataFrame.columns
        self.series_values = pandas.Series._values.fget
        self.series_bytes = pandas.Series.memory_usage


_foreign: _Foreign | None = None


def prepare() -> None:
    """Takes numpy's and pandas' own functions, before any user code could replace them."""
    global _foreign
    if "numpy" in sys.modules and "pandas" in sys.modules:
        _foreign = _Foreign()


def listing(namespace: Mapping[str, Any], initial: frozenset[str], limit: int) -> Any:
    """The user's variables, by name."""
    names = [
        (name, value)
        for name, value in list(namespace.items())
        if _type(name) is str
        and not name.startswith("_")
        and name not in _HIDDEN
        and name not in initial
        and _type(value) is not ModuleType
    ]
    names.sort(key=lambda item: item[0])
    limit = max(0, min(limit, MAX_LIMIT))
    return {"variables": [describe(name, value) for name, value in names[:limit]], "more": _len(names) > limit}


def describe(name: str, value: Any) -> Entry:
    """One variable. Missing knowledge is null."""
    kind = _type(value)
    entry: Entry = {
        "name": name[:200],
        "type": _type_name(kind)[:200],
        "kind": "value",
        "length": None,
        "shape": None,
        "dtype": None,
        "bytes": None,
        "preview": None,
    }
    try:
        if kind in _CONTAINERS or kind in (str, bytes, bytearray, range):
            entry["length"] = _len(value)
            entry["bytes"] = _sizeof(value)
            entry["preview"] = _preview(value)
        elif kind in _NUMBERS:
            entry["bytes"] = _sizeof(value)
            entry["preview"] = _preview(value)
        elif kind in (FunctionType, BuiltinFunctionType):
            entry["kind"] = "function"
        elif _isinstance(kind, type) and issubclass(kind, type):
            entry["kind"] = "class"
        elif _foreign is not None:
            _describe_foreign(entry, value, kind, _foreign)
    except Exception:
        pass  # what cannot be told stays null
    return entry


def _describe_foreign(entry: Entry, value: Any, kind: type, foreign: _Foreign) -> None:
    if kind is foreign.array:
        entry |= {"shape": list(value.shape), "dtype": str(value.dtype)[:100], "bytes": value.nbytes}
        if value.dtype.kind in "biufcSU" and value.size:
            flat = value.flat
            some = ", ".join(_short(flat[i].item()) for i in range(min(_ELEMENTS, value.size)))
            entry["preview"] = f"[{some}{', …' if value.size > _ELEMENTS else ''}]"[:PREVIEW]
        entry["length"] = value.shape[0] if value.shape else None
    elif kind is foreign.frame:
        shape = foreign.frame_shape(value)
        entry |= {"shape": list(shape), "length": shape[0]}
        entry["bytes"] = int(foreign.frame_bytes(value, index=False, deep=False).sum())
        columns = [name if _type(name) is str else _short(name) for name in islice(value.columns, _ELEMENTS * 2)]
        entry["preview"] = ", ".join(columns)[:PREVIEW]
    elif kind is foreign.series:
        entry |= {"shape": [_len(foreign.series_values(value))], "length": _len(foreign.series_values(value))}
        entry["dtype"] = str(foreign.series_values(value).dtype)[:100]
        entry["bytes"] = int(foreign.series_bytes(value, index=False, deep=False))
    elif issubclass(kind, foreign.scalar) and kind.__module__ == "numpy":
        entry |= {"bytes": value.nbytes, "preview": _repr(value)[:PREVIEW]}


def _preview(value: Any) -> str:
    text = _short(value)
    return text if _len(text) <= PREVIEW else text[: PREVIEW - 1] + "…"


def _short(value: Any, depth: int = 1) -> str:
    """Like repr, of a few elements and a few characters; a foreign object is only its type's name."""
    kind = _type(value)
    if kind is int:
        return _repr(value) if value.bit_length() < 400 else "a very large int"
    if kind in _NUMBERS or kind is range:
        return _repr(value)
    if kind in (str, bytes, bytearray):
        return _repr(value[:PREVIEW])
    if kind not in _CONTAINERS:
        return f"<{_type_name(kind)}>"
    if depth < 0:
        return "…"
    if kind is dict:
        parts = [
            f"{_short(key, depth - 1)}: {_short(item, depth - 1)}" for key, item in islice(value.items(), _ELEMENTS)
        ]
    else:
        parts = [_short(item, depth - 1) for item in islice(value, _ELEMENTS)]
    inside = ", ".join(parts) + (", …" if _len(value) > _ELEMENTS else "")
    if kind is tuple and _len(value) == 1:
        inside += ","
    if kind in (set, frozenset) and not value:
        return f"{_type_name(kind)}()"
    brackets = _BRACKETS.get(kind, "{}")
    return brackets[0] + inside + brackets[1]
