"""Completion and inspection.

Most of it may run the user's code and is computed in a forked copy (see forked_eval)."""

import builtins
import keyword
import re
from itertools import islice
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from IPython.core.completer import provisionalcompleter

from .bounded import cut
from .shell import Shell

MATCH_LIMIT = 500
_WINDOW = 64 << 10
_TEXT = 96 << 10


_NAME = re.compile(r"(?:^|[^\w.])([^\W\d]\w*)$")
_ELSEWHERE = frozenset("'\"%!?@([{")
# By identity: even comparing types may call a metaclass of the user's.
_KINDS = {
    id(kind): name
    for kind, name in (
        (FunctionType, "function"), (BuiltinFunctionType, "function"), (ModuleType, "module"), (type, "class"),
    )
}  # fmt: skip
_id, _type, _items = id, type, dict.items


def _kind(value: Any) -> str:
    return _KINDS.get(_id(_type(value)), "instance")


_BUILTINS = {name: _kind(value) for name, value in vars(builtins).items()} | dict.fromkeys(keyword.kwlist, "keyword")


def complete_name(namespace: dict[str, Any], code: str, cursor: int) -> Any:
    """Completes a bare name at once, or gives None where that is not all there is to it.

    Touches nothing of the user's but the names, so it needs no copy of the process.
    """
    line = code[:cursor].rpartition("\n")[2]
    found = _NAME.search(line)
    if found is None or not _ELSEWHERE.isdisjoint(line) or line.lstrip().startswith(("import ", "from ")):
        return None
    prefix = found[1]
    names = {name: _kind(value) for name, value in list(_items(namespace)) if _type(name) is str}
    texts = sorted(name for name in {**_BUILTINS, **names} if name.startswith(prefix))
    matches = [
        {
            "text": text[:1000],
            "type": names.get(text) or _BUILTINS[text],
            "signature": "",
            "start": cursor - len(prefix),
            "end": cursor,
        }
        for text in texts[:MATCH_LIMIT]
        if prefix.startswith("_") or not text.startswith("_")
    ]
    return {"matches": matches}


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
