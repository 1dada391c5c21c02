"""The whole of a table: pandas shows a part of a long one, but a report should have all of it."""

from typing import Any

from IPython.core.formatters import BaseFormatter
from traitlets import ObjectName, Unicode

# What takes 60 ms to write on a computer with two processors, and 1 MiB.
_CELLS = 50_000
_BYTES = 1 << 20


class _Csv(BaseFormatter):
    """Comma-separated values, beside the HTML."""

    format_type = Unicode("text/csv")
    print_method = ObjectName("_repr_csv_")


def register(shell: Any) -> None:
    """Adds the form to what the shell makes of values."""
    formatter = _Csv(parent=shell.display_formatter)
    formatter.for_type_by_name("pandas", "DataFrame", _whole)
    shell.display_formatter.formatters[formatter.format_type] = formatter


def _whole(frame: Any) -> str | None:
    """All rows and columns, or None if they are too many, or if columns have names of several levels."""
    rows, columns = frame.shape
    if rows * (columns + 1) > _CELLS or frame.columns.nlevels > 1:
        return None
    text = frame.to_csv()
    return text if len(text) <= _BYTES else None
