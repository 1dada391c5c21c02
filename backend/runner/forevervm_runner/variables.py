"""The listing of the user's variables.

Nothing of the user's is called: lengths, shapes, sizes and previews are given only for objects
whose type is exactly one of Python's or numpy's own. Types are told by their identity, since even
comparing them may call a metaclass. Tables may have columns of a class of the user's: they are
described only where that is in a copy of the process (see forked_eval).
"""

import sys
from collections.abc import Callable
from itertools import islice
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

# A copy of a process with many libraries takes its time to make.
SECONDS = 1.0
PREVIEW = 120
MAX_LIMIT = 1000
_ELEMENTS = 8
_NUMBERS = frozenset(map(id, (int, float, complex, bool, type(None))))
_CONTAINERS = frozenset(map(id, (list, tuple, set, frozenset, dict)))
_SEQUENCES = frozenset(map(id, (str, bytes, bytearray, range)))
_TEXTS = frozenset(map(id, (str, bytes, bytearray)))
_FUNCTIONS = frozenset(map(id, (FunctionType, BuiltinFunctionType)))
# Kinds of arrays whose type has a name without asking what is in it.
_PLAIN_KINDS = frozenset("biufcSUmMO")
_HIDDEN = {"In", "Out", "exit", "quit", "get_ipython", "open", "display"}

_type, _len, _repr, _sizeof, _issubclass, _id = type, len, repr, sys.getsizeof, issubclass, id
_name_of: Callable[[type], str] = type.__dict__["__name__"].__get__
_items, _exactly = dict.items, str.__str__

Entry = dict[str, Any]


def _type_name(kind: type) -> str:
    return _exactly(_name_of(kind))


class _Foreign:
    """numpy's and pandas' classes and the functions to ask them with, as they were when
    imported."""

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


def listing(namespace: dict[str, Any], initial: frozenset[str], limit: int, tables: bool = False) -> tuple[Any, bool]:
    """The user's variables, by name, and whether that is all that can be told of them: without
    `tables` it may not be."""
    names = [
        (name, value)
        for name, value in list(_items(namespace))
        if _type(name) is str
        and not name.startswith("_")
        and name not in _HIDDEN
        and name not in initial
        and _type(value) is not ModuleType
    ]
    names.sort(key=lambda item: item[0])
    limit = max(0, min(limit, MAX_LIMIT))
    shown = names[:limit]
    whole = tables or not any(_is_table(value) for _, value in shown)
    return {"variables": [describe(name, value, tables) for name, value in shown], "more": _len(names) > limit}, whole


def _is_table(value: Any) -> bool:
    """Whether describing it may call something of the user's."""
    kind = _type(value)
    if _foreign is None:
        return False
    if kind is _foreign.array:
        return value.dtype.kind not in _PLAIN_KINDS
    return kind is _foreign.frame or kind is _foreign.series or _issubclass(kind, _foreign.scalar)


def describe(name: str, value: Any, tables: bool) -> Entry:
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
        if _id(kind) in _CONTAINERS or _id(kind) in _SEQUENCES:
            entry["length"] = _len(value)
            entry["bytes"] = _sizeof(value)
            entry["preview"] = _preview(value)
        elif _id(kind) in _NUMBERS:
            entry["bytes"] = _sizeof(value)
            entry["preview"] = _preview(value)
        elif _id(kind) in _FUNCTIONS:
            entry["kind"] = "function"
        elif _issubclass(kind, _type):
            entry["kind"] = "class"
        elif _foreign is not None and (tables or not _is_table(value)):
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
    elif _issubclass(kind, foreign.scalar) and kind.__module__ == "numpy":
        entry |= {"bytes": value.nbytes, "preview": _repr(value)[:PREVIEW]}


def _preview(value: Any) -> str:
    text = _short(value)
    return text if _len(text) <= PREVIEW else text[: PREVIEW - 1] + "…"


def _short(value: Any, depth: int = 1) -> str:
    """Like repr, of a few elements and a few characters; a foreign object is only its type's
    name."""
    kind = _type(value)
    if kind is int:
        return _repr(value) if value.bit_length() < 400 else "a very large int"
    if _id(kind) in _NUMBERS or kind is range:
        return _repr(value)
    if _id(kind) in _TEXTS:
        return _repr(value[:PREVIEW])
    if _id(kind) not in _CONTAINERS:
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
    brackets = "[]" if kind is list else "()" if kind is tuple else "{}"
    return brackets[0] + inside + brackets[1]
