"""`repr()` of any value, at most 1 MiB of it.

The value on the wire is exactly `repr(value)`. Long ones keep their head and tail. Strings and
bytes, which are the usual giants, are cut before `repr` so that no gigabyte is ever built.
"""

REPR_LIMIT = 1 << 20
_HALF = REPR_LIMIT // 2 - 64

_repr, _len, _str, _bytes, _bytearray, _type = repr, len, str, bytes, bytearray, type
_exactly = str.__str__


def plain_str(text: object) -> str:
    """What `str()` gives, as nothing but a string: `__str__` and `__repr__` may also return an
    instance of a class of the user's."""
    return _exactly(_str(text))


def bounded_repr(value: object) -> tuple[bytes, bool]:
    """UTF-8 of `repr(value)`, and whether something was left out. Raises whatever `repr` raises."""
    kind = _type(value)
    if (kind is _str or kind is _bytes or kind is _bytearray) and _len(value) > REPR_LIMIT:  # type: ignore[arg-type]
        return _repr_of_long(value), True  # type: ignore[arg-type]
    return cut(_exactly(_repr(value)))


def cut(text: str, limit: int = REPR_LIMIT) -> tuple[bytes, bool]:
    """UTF-8 of a text, at most about `limit` bytes: head, a line about what is missing, tail."""
    if _len(text) <= limit:
        data = text.encode("utf-8", "backslashreplace")
        if _len(data) <= limit:
            return data, False
    half = limit // 2 - 64
    head = text[:half].encode("utf-8", "backslashreplace")[:half].decode("utf-8", "ignore")
    tail = text[-half:].encode("utf-8", "backslashreplace")[-half:].decode("utf-8", "ignore")
    missing = _len(text) - _len(head) - _len(tail)
    return f"{head}\n… {missing:,} characters left out …\n{tail}".encode(), True


def _repr_of_long(value: str | bytes | bytearray) -> bytes:
    """What `cut(repr(value))` would give, without making all of it."""
    single, double = ("'", '"') if isinstance(value, str) else (b"'", b'"')
    quote = '"' if single in value and double not in value else "'"  # type: ignore[operator]
    prefix, suffix = {str: ("", ""), bytes: ("b", ""), bytearray: ("bytearray(b", ")")}[type(value)]
    head = _body(value[:_HALF], quote).encode("utf-8", "backslashreplace")[:_HALF].decode("utf-8", "ignore")
    tail = _body(value[-_HALF:], quote).encode("utf-8", "backslashreplace")[-_HALF:].decode("utf-8", "ignore")
    missing = f"{_len(value) - 2 * _HALF:,} or more characters left out"
    return f"{prefix}{quote}{head}\n… {missing} …\n{tail}{quote}{suffix}".encode()


def _body(part: str | bytes | bytearray, quote: str) -> str:
    """The inside of the quotes of repr(part), as it reads when `quote` surrounds the whole."""
    text = _repr(part if isinstance(part, str) else _bytes(part))
    if not isinstance(part, str):
        text = text[1:]
    inside, used = text[1:-1], text[0]
    # A part with only single quotes would alone have been put in double ones, and its quotes left
    # bare.
    return inside.replace("'", "\\'") if used == '"' and quote == "'" else inside
