"""Framing of the two byte streams: the supervisor's pipe (JSON headers) and the worker's sockets
(marshal).

The layout is PROTOCOL.md's: header length, payload length, header, payload.
"""

import json
import marshal
import struct
from collections.abc import Callable, Iterator
from typing import Any

HEADER_LIMIT = 1 << 20
# How much is read at a time. More would have the allocator ask the system for the buffer of every
# read, and give it back: in the sandbox that takes longer than reading.
READ_BYTES = 64 << 10
PAYLOAD_LIMIT = 8 << 20

Header = dict[str, Any]
Message = tuple[Header, bytes]

_LENGTHS = struct.Struct(">II")
_pack, _unpack, _PREFIX = _LENGTHS.pack, _LENGTHS.unpack_from, _LENGTHS.size
_encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode
_decode = json.JSONDecoder().decode
_dump, _load = marshal.dumps, marshal.loads


class BadFrame(Exception):
    """The other side sent bytes that are not a frame. There is no way to go on reading."""


def wire_frame(header: Header, payload: bytes = b"") -> bytes:
    """One frame for the supervisor. ASCII-only JSON, so a lone surrogate can never make it invalid
    UTF-8.

    Raises ValueError or TypeError for what cannot be one.
    """
    text = _encode(header).encode("ascii")
    if len(text) > HEADER_LIMIT or len(payload) > PAYLOAD_LIMIT:
        raise ValueError("the frame is too large")
    return _pack(len(text), len(payload)) + text + payload


def nested(value: Any, depth: int) -> bool:
    """Whether lists and dicts are nested deeper than that; a header may be 16 deep in all."""
    if not isinstance(value, (dict, list, tuple)):
        return False
    parts = value.values() if isinstance(value, dict) else value
    return depth == 0 or any(nested(part, depth - 1) for part in parts)


def inner_frame(header: Header, payload: bytes = b"") -> bytes:
    """One frame between relay and worker.

    Marshal and not JSON: it is one C function, so user code that replaces parts of `json` in the
    worker cannot break it.
    """
    blob = _dump(header)
    return _pack(len(blob), len(payload)) + blob + payload


def _wire_header(blob: bytes) -> Header:
    header = _decode(blob.decode("utf-8"))
    if not isinstance(header, dict) or not isinstance(header.get("type"), str):
        raise ValueError("a header must be an object with a type")
    return header


def _inner_header(blob: bytes) -> Header:
    header = _load(blob)
    if not isinstance(header, dict):
        raise ValueError("a header must be an object")
    return header


class Decoder:
    """Turns chunks of a byte stream into messages. Feed it, then take what is complete."""

    def __init__(self, parse: Callable[[bytes], Header]) -> None:
        self._parse = parse
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def messages(self) -> Iterator[Message]:
        """Every complete message fed so far. Raises BadFrame at one that cannot be."""
        buffer = self._buffer
        start = 0
        try:
            while len(buffer) - start >= _PREFIX:
                header_size, payload_size = _unpack(buffer, start)
                if not 2 <= header_size <= HEADER_LIMIT or payload_size > PAYLOAD_LIMIT:
                    raise BadFrame(f"impossible frame lengths {header_size}, {payload_size}")
                body = start + _PREFIX
                end = body + header_size + payload_size
                if len(buffer) < end:
                    break
                try:
                    header = self._parse(bytes(buffer[body : body + header_size]))
                except Exception as error:
                    raise BadFrame(f"bad header: {error}") from None
                payload = bytes(buffer[body + header_size : end])
                start = end
                yield header, payload
        finally:
            del buffer[:start]


def wire_decoder() -> Decoder:
    """A decoder for the supervisor's requests."""
    return Decoder(_wire_header)


def inner_decoder() -> Decoder:
    """A decoder for the sockets between relay and worker."""
    return Decoder(_inner_header)
