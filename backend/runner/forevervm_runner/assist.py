"""Completion and inspection, computed in the forked copy (see aside)."""

from itertools import islice
from typing import Any

from IPython.core.completer import provisionalcompleter

from .bounded import cut
from .shell import Shell

MATCH_LIMIT = 500
_WINDOW = 64 << 10
_TEXT = 256 << 10


def _window(code: str, cursor: int) -> tuple[str, int, int]:
    """The part of a long text around the cursor, the cursor in it, and where the part begins."""
    cursor = max(0, min(cursor, len(code)))
    start = max(0, cursor - _WINDOW)
    return code[start : cursor + 1024], cursor - start, start


def complete(shell: Shell, code: str, cursor: int) -> Any:
    """What could stand at the cursor: matches, and the range of code points each would replace."""
    text, at, start = _window(code, cursor)
    with provisionalcompleter():
        found = list(islice(shell.Completer.completions(text, at), MATCH_LIMIT))
    matches = [
        {
            "text": match.text[:1000],
            "type": match.type or "",
            "signature": (match.signature or "")[:500],
            "start": match.start + start,
            "end": match.end + start,
        }
        for match in found
    ]
    return {"matches": matches}


def inspect(shell: Shell, code: str, cursor: int, detail: int) -> Any:
    """What the name at the cursor is: signature, documentation, source at detail 1."""
    from IPython.utils.tokenutil import token_at_cursor

    text, at, _ = _window(code, cursor)
    name = token_at_cursor(text, at)
    found = shell.object_inspect(name, detail_level=1 if detail else 0)
    fields = ("type_name", "definition", "init_definition", "docstring", "init_docstring", "file", "string_form")
    wanted = (*fields, "source") if detail else fields
    told = {field: cut(str(found[field]), _TEXT)[0].decode() for field in wanted if found.get(field)}
    return {"name": name, "found": bool(found.get("found")), **told}
