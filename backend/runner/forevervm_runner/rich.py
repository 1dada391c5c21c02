"""Representations of a value beyond its text: HTML, pictures, JSON and the like, within bounds."""

import base64
import binascii
import json
import re
from typing import Any

from .bounded import plain_str
from .frames import nested

REPRESENTATION_LIMIT = 4 << 20
MESSAGE_LIMIT = 7 << 20
METADATA_LIMIT = 64 << 10
METADATA_DEPTH = 8
MIME_LIMIT = 32

Mimes = list[tuple[str, bytes]]

_dumps, _decode64 = json.JSONEncoder(default=str).encode, base64.b64decode
_dumps_strictly = json.JSONEncoder(default=str, allow_nan=False).encode
_loads, _str = json.loads, str
# What the supervisor takes for the name of a representation, and more than any real one needs.
_is_mime = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,198}[\x21-\x7e])?").fullmatch


def encode(mime: str, data: Any) -> bytes | None:
    """The bytes of one representation, or None for something that is not one."""
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(memoryview(data))
    if isinstance(data, str):
        data = plain_str(data)
        if mime.startswith(("image/", "audio/", "video/", "application/pdf")) and mime != "image/svg+xml":
            try:
                return _decode64(data)
            except (binascii.Error, ValueError):
                return None
        return data.encode("utf-8", "backslashreplace")
    if mime.endswith("json") or isinstance(data, (dict, list, int, float, bool)):
        return _dumps(data).encode("utf-8", "backslashreplace")
    return None


def pack(data: dict[str, Any]) -> tuple[Mimes, bool]:
    """The representations of a bundle that can be sent, and whether any had to be left out for its
    size."""
    packed: Mimes = []
    room, truncated = MESSAGE_LIMIT, False
    for name, value in data.items():
        try:
            mime = plain_str(name) if isinstance(name, _str) else ""
            encoded = encode(mime, value) if _is_mime(mime) else None
        except Exception:
            continue
        if encoded is None:
            continue
        if len(encoded) > min(room, REPRESENTATION_LIMIT) or len(packed) >= MIME_LIMIT:
            truncated = True
            continue
        room -= len(encoded)
        packed.append((mime, encoded))
    return packed, truncated


def header_of(mimes: Mimes) -> tuple[list[list[Any]], bytes]:
    """The `mimes` field and the payload of a frame."""
    return [[mime, len(data)] for mime, data in mimes], b"".join(data for _, data in mimes)


def plain_metadata(metadata: Any) -> dict[str, Any]:
    """Metadata as nothing but JSON's types, so that no object of the user's travels on."""
    try:
        text = _dumps_strictly(metadata)
        plain = _loads(text) if len(text) <= METADATA_LIMIT else {}
    except Exception:
        return {}
    return plain if isinstance(plain, dict) and not nested(plain, METADATA_DEPTH) else {}
