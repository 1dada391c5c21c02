"""A page of a table: some rows and columns of a data frame, a series, an array, a list or a dict,
sorted and filtered.

All of it runs in a copy of the process (see forked_eval), because columns may be of classes of the
user's: it may call whatever it likes of theirs. What is sent is text, bounded in number and length.
"""

import itertools
import os
import sys
from typing import Any

SECONDS = 1.0
SAVE_SECONDS = 25.0
MAX_ROWS = 200
MAX_COLUMNS = 50
MAX_FILTERS = 16
CELL = 200
# A page with long cells is cut to short ones.
TEXT_LIMIT = 256 << 10
SHORT_CELL = 24
# What a column holds is told of this many rows, evenly taken, at most.
SAMPLE = 100_000
# A list, say, has no more rows than this: each item is looked at.
MAX_ITEMS = 100_000
BINS = 12
MOST_FREQUENT = 3

_MIDNIGHT = " 00:00:00"

Query = dict[str, Any]


class Refused(Exception):
    """The message is a sentence for a person."""


def answer(namespace: dict[str, Any], query: Query) -> dict[str, Any]:
    """Answers a query (see PROTOCOL.md)."""
    try:
        return _page(namespace, query)
    except Refused as refused:
        return {"problem": str(refused)}


def save(namespace: dict[str, Any], query: Query) -> dict[str, Any]:
    """Writes all rows that a query leaves, in its order, to a new file that nobody else has."""
    try:
        return _save(namespace, query)
    except Refused as refused:
        return {"problem": str(refused)}


def _save(namespace: dict[str, Any], query: Query) -> dict[str, Any]:
    import tempfile

    pandas = sys.modules.get("pandas")
    frame, keep, order = _chosen(namespace, query, pandas)
    if order is not None:
        frame = frame.iloc[order]
    elif keep is not None:
        frame = frame[keep]
    file, path = tempfile.mkstemp(prefix="table-", suffix="." + query["format"], dir="/tmp")
    try:
        with open(file, "wb") as out:
            if query["format"] == "xlsx":
                _without_zones(frame, pandas).to_excel(out)
            else:
                frame.to_csv(out)
    except BaseException:
        os.unlink(path)
        raise
    return {"path": path, "rows": len(frame)}


def _without_zones(frame: Any, pandas: Any) -> Any:
    """Excel knows no time zones."""
    aware = [i for i, dtype in enumerate(frame.dtypes) if isinstance(dtype, pandas.DatetimeTZDtype)]
    if not aware:
        return frame
    columns = [frame.iloc[:, i] for i in range(frame.shape[1])]
    for i in aware:
        columns[i] = columns[i].dt.tz_localize(None)
    return pandas.concat(columns, axis=1)


def _chosen(namespace: dict[str, Any], query: Query, pandas: Any) -> tuple[Any, Any, Any]:
    """The table, which of its rows the filters leave, and their order; None where that is all, or as
    it is."""
    name = query["name"]
    if name not in namespace:
        raise Refused(f"There is no variable {name} any more.")
    frame = _as_frame(namespace[name], pandas)
    keep = _mask(frame, query.get("filters") or [], pandas)
    return frame, keep, _order(frame, keep, query, pandas)


def _page(namespace: dict[str, Any], query: Query) -> dict[str, Any]:
    pandas = sys.modules.get("pandas")
    frame, keep, order = _chosen(namespace, query, pandas)
    total, width = frame.shape
    matching = total if keep is None else int(keep.sum())
    first = max(0, int(query.get("offset") or 0))
    last = first + max(0, min(int(query.get("limit") or MAX_ROWS), MAX_ROWS))
    left = max(0, min(int(query.get("first_column") or 0), width))
    right = min(left + max(0, min(int(query.get("columns") or MAX_COLUMNS), MAX_COLUMNS)), width)
    if order is not None:
        part = frame.iloc[order[first:last], left:right]
    elif keep is not None:
        part = frame.iloc[keep.nonzero()[0][first:last], left:right]
    else:
        part = frame.iloc[first:last, left:right]
    columns = [
        {
            "name": _text(name, CELL),
            "type": _text(part.dtypes.iloc[i], CELL),
            "number": _is_number(part.dtypes.iloc[i], pandas),
        }
        for i, name in enumerate(part.columns)
    ]
    about = bool(query.get("about"))
    if about:
        whole = frame.iloc[:, left:right]
        told = whole if keep is None else whole[keep]
        for i, column in enumerate(columns):
            column["about"] = _about(told.iloc[:, i], pandas)
        part = part.iloc[:0]
    # By column: a row of several types would turn numbers into others.
    values = [list(part.iloc[:, i]) for i in range(part.shape[1])]
    cells = [_days([_cell(value, CELL, pandas) for value in column]) for column in values]
    index = [label or "" for label in _days([_text(label, CELL) for label in part.index])]
    text = sum(map(len, index)) + sum(len(cell) for column in cells for cell in column if cell is not None)
    if text > TEXT_LIMIT:
        cells = [[_cut(cell, SHORT_CELL) for cell in column] for column in cells]
        index = [label[:SHORT_CELL] for label in index]
    return {
        "rows": total,
        "matching": matching,
        "width": width,
        "offset": first,
        "first_column": left,
        "columns": columns,
        "index": index,
        "cells": [[column[row] for column in cells] for row in range(len(index))],
    }


def _as_frame(value: Any, pandas: Any) -> Any:
    numpy = sys.modules.get("numpy")
    if pandas is not None:
        if isinstance(value, pandas.DataFrame):
            return value
        if isinstance(value, pandas.Series):
            return value.to_frame(name="value" if value.name is None else value.name)
        if numpy is not None and isinstance(value, numpy.ndarray) and value.ndim in (1, 2):
            return pandas.DataFrame(value, copy=False)
        if isinstance(value, (list, tuple, set, frozenset, dict)):
            return _of_items(value, pandas)
    raise Refused("This is not a table that can be shown.")


def _of_items(value: Any, pandas: Any) -> Any:
    """A row for each item: its key, and the item itself, or a column for each key if all are dicts."""
    if len(value) > MAX_ITEMS:
        raise Refused(f"This has {len(value):,} items. At most {MAX_ITEMS:,} can be shown.")
    keys, items = (list(value), list(value.values())) if isinstance(value, dict) else (None, list(value))
    if items and all(isinstance(item, dict) for item in items):
        frame = pandas.DataFrame.from_records(items)
    else:
        # One by one: numpy would make a second dimension of items that are lists.
        values = sys.modules["numpy"].empty(len(items), dtype=object)
        for i, item in enumerate(items):
            values[i] = item
        frame = pandas.Series(values).infer_objects().to_frame("value")
    if keys is not None:
        frame.index = pandas.Index([_text(key, CELL) for key in keys], dtype=object)
    return frame


def _mask(frame: Any, filters: list[Query], pandas: Any) -> Any:
    """Which rows match all filters, or None for all."""
    keep = None
    for wanted in itertools.islice(filters, MAX_FILTERS):
        column = int(wanted["column"])
        if not -1 <= column < frame.shape[1]:
            continue
        values = frame.index.to_series() if column < 0 else frame.iloc[:, column]
        mask = _matches(values, str(wanted["test"]), str(wanted["value"]), pandas)
        keep = mask if keep is None else keep & mask
    return keep


def _matches(values: Any, test: str, wanted: str, pandas: Any) -> Any:
    if test == "contains":
        return _contains(values, wanted)
    value = _comparable(values, wanted, pandas)
    if value is None:
        values, value = values.astype(str), wanted
    compare = {
        "eq": values.__eq__, "ne": values.__ne__, "lt": values.__lt__, "le": values.__le__, "gt": values.__gt__, "ge": values.__ge__,
    }  # fmt: skip
    return compare[test](value).fillna(False).to_numpy(dtype=bool)


def _contains(values: Any, wanted: str) -> Any:
    found = values.astype(str).str.contains(wanted, case=False, regex=False, na=False)
    return found.to_numpy(dtype=bool)


def _comparable(values: Any, wanted: str, pandas: Any) -> Any:
    """What to compare the values with, or None to compare their texts."""
    types = pandas.api.types
    try:
        if types.is_bool_dtype(values.dtype):
            return {"true": True, "1": True, "false": False, "0": False}.get(wanted.strip().lower())
        if types.is_numeric_dtype(values.dtype):
            return float(wanted)
        if types.is_datetime64_any_dtype(values.dtype):
            at = pandas.Timestamp(wanted)
            zone = getattr(values.dtype, "tz", None)
            return at.tz_localize(zone) if zone is not None and at.tzinfo is None else at
        if types.is_timedelta64_dtype(values.dtype):
            return pandas.Timedelta(wanted)
    except (ValueError, TypeError) as error:
        raise Refused(f"{wanted[:100]!r} cannot be compared with what is in this column.") from error
    return None


def _order(frame: Any, keep: Any, query: Query, pandas: Any) -> Any:
    """The rows' positions in the order that is asked for, or None where they stay as they are."""
    sort = query.get("sort")
    if not sort:
        return None
    column = int(sort["column"])
    if not -1 <= column < frame.shape[1]:
        return None
    values = frame.index.to_series() if column < 0 else frame.iloc[:, column]
    values = pandas.Series(values.array, copy=False)
    if keep is not None:
        values = values[keep]
    ascending = not sort.get("descending")
    try:
        ordered = values.sort_values(ascending=ascending, kind="stable", na_position="last")
    except TypeError:  # of types that cannot be compared
        ordered = values.astype(str).sort_values(ascending=ascending, kind="stable")
    return ordered.index.to_numpy()


def _about(column: Any, pandas: Any) -> dict[str, Any] | None:
    """What a column holds: of numbers and times their range and how they are spread, else what is
    there most often. None where that cannot be told."""
    try:
        about: dict[str, Any] = {"missing": int(column.isna().sum()), "sampled": len(column) > SAMPLE}
        if about["sampled"]:
            column = column.iloc[:: -(-len(column) // SAMPLE)]
        known = column.dropna()
        types = pandas.api.types
        if types.is_datetime64_any_dtype(known.dtype) or _is_number(known.dtype, pandas):
            if len(known):
                low, high = _days([_text(known.min(), CELL), _text(known.max(), CELL)])
                about.update(low=low, high=high, counts=_spread(known, pandas))
        else:
            counts = known.astype(str).value_counts()
            about["distinct"] = None if about["sampled"] else len(counts)
            frequent = counts.iloc[:MOST_FREQUENT].items()
            about["top"] = [{"value": _text(value, CELL), "count": int(n)} for value, n in frequent]
        return about
    except Exception:
        return None


def _spread(known: Any, pandas: Any) -> list[int]:
    """How many values are in each of a number of equal parts of their range."""
    numpy = sys.modules["numpy"]
    if pandas.api.types.is_datetime64_any_dtype(known.dtype):
        known = known.astype("int64")
    values = known.to_numpy(dtype="float64")
    counts, _ = numpy.histogram(values[numpy.isfinite(values)], bins=BINS)
    return [int(count) for count in counts]


def _is_number(dtype: Any, pandas: Any) -> bool:
    types = pandas.api.types
    return bool(types.is_numeric_dtype(dtype) and not types.is_bool_dtype(dtype))


def _cell(value: Any, limit: int, pandas: Any) -> str | None:
    """A value as text; None where there is none."""
    if value is None or (pandas.api.types.is_scalar(value) and pandas.isna(value)):
        return None
    return _text(value, limit)


def _days(texts: list[str | None]) -> list[str | None]:
    """Times that are all at midnight, as days."""
    if any(text and not text.endswith(_MIDNIGHT) for text in texts):
        return texts
    return [text and text.removesuffix(_MIDNIGHT) for text in texts]


def _text(value: Any, limit: int) -> str:
    if isinstance(value, (str, bytes)):
        value = value[: limit + 1]
    elif isinstance(value, (list, tuple, dict, set)) and len(value) > limit:
        return f"{type(value).__name__} of {len(value):,}"
    return _cut(str.__str__(str(value)), limit) or ""


def _cut(text: str | None, limit: int) -> str | None:
    return text if text is None or len(text) <= limit else text[: limit - 1] + "…"
