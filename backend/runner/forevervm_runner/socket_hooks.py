"""Makes Python's sockets reach the outside, for libraries that do not ask for a proxy.

A machine has no network but the proxy on its own loopback. Names are not resolved here, so each
gets an address that stands for it, of a range that is nobody's; a connection to such an address, or
to any that is not the machine's own, is made through the proxy. Loaded into every Python in the
machine (site/sitecustomize.py). Programs that bring their own network code need to know the proxy.
"""

import collections
import errno
import functools
import os
import socket
import threading
from typing import Any

from . import afterimport
from .addresses import numeric, own

PROXY = ("127.0.0.1", 3128)
MAX_NAMES = 1 << 16
MAX_ANSWER = 4096

_getaddrinfo, _connect, _connect_ex = socket.getaddrinfo, socket.socket.connect, socket.socket.connect_ex
_send, _recv = socket.socket.sendall, socket.socket.recv


class _Names:
    """Which address stands for which name."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_name: dict[str, str] = {}
        self._by_address: collections.OrderedDict[str, str] = collections.OrderedDict()
        self._next = 1

    def address(self, name: str) -> str:
        with self._lock:
            if name in self._by_name:
                return self._by_name[name]
            if len(self._by_address) >= MAX_NAMES:
                _, old = self._by_address.popitem(last=False)
                del self._by_name[old]
            # 198.18.0.0/15 is for measuring networks: never on the internet.
            address = f"198.{18 + (self._next >> 16)}.{self._next >> 8 & 255}.{self._next & 255}"
            self._next = self._next % ((1 << 17) - 2) + 1
            self._by_name[name], self._by_address[address] = address, name
            return address

    def name(self, address: str) -> str:
        with self._lock:
            return self._by_address.get(address, address)


_names = _Names()


def _text(host: Any) -> str | None:
    if isinstance(host, (bytes, bytearray)):
        host = bytes(host).decode("ascii", "replace")
    return host if isinstance(host, str) else None


@functools.wraps(_getaddrinfo)
def getaddrinfo(host: Any, port: Any, family: int = 0, type: int = 0, proto: int = 0, flags: int = 0) -> Any:
    """As the original, but that a name outside has an address."""
    name = _text(host)
    if (
        name is None
        or own(name)
        or numeric(name) is not None
        or flags & socket.AI_NUMERICHOST
        or family == socket.AF_INET6
    ):
        return _getaddrinfo(host, port, family, type, proto, flags)
    return _getaddrinfo(
        _names.address(name.rstrip(".").lower()), port, family, type, proto, flags & ~socket.AI_ADDRCONFIG
    )


def gethostbyname(name: str) -> str:
    """As the original, but that a name outside has an address."""
    return str(getaddrinfo(name, None, socket.AF_INET, socket.SOCK_STREAM)[0][4][0])


def _target(sock: socket.socket, address: Any) -> tuple[str, int] | None:
    """Where a connection to this address really goes; None for one that is none of ours."""
    if sock.family not in (socket.AF_INET, socket.AF_INET6) or sock.type != socket.SOCK_STREAM:
        return None
    if not isinstance(address, tuple) or len(address) < 2 or not isinstance(address[1], int):
        return None
    host = _text(address[0])
    if host is None or own(host):
        return None
    return _names.name(host), address[1]


def _proxy(sock: socket.socket) -> tuple[str, int]:
    return ("::ffff:" + PROXY[0], PROXY[1]) if sock.family == socket.AF_INET6 else PROXY


def _request(target: tuple[str, int]) -> bytes:
    host = f"[{target[0]}]" if ":" in target[0] else target[0]
    line = f"{host}:{target[1]}".encode("idna" if not host.isascii() else "ascii")
    return b"CONNECT " + line + b" HTTP/1.1\r\nHost: " + line + b"\r\n\r\n"


def _judge(answer: bytes) -> None:
    """Raises what the proxy's answer means to who wanted to connect."""
    line = answer.split(b"\r\n", 1)[0].decode("utf-8", "replace")
    _, code, *reason = [*line.split(" ", 2), ""]
    if code.startswith("2"):
        return
    number = errno.EACCES if code == "403" else errno.ECONNREFUSED
    kind = PermissionError if code == "403" else ConnectionRefusedError
    raise kind(number, (reason[0] if reason else "") or os.strerror(number))


def _whole(answer: bytearray) -> bool:
    return answer.endswith(b"\r\n\r\n") or len(answer) >= MAX_ANSWER


def _tunnel(sock: socket.socket, target: tuple[str, int]) -> None:
    """Connects a socket through the proxy.

    One that does not block is made to wait: the proxy is in the machine and the rest takes a
    moment."""
    timeout = sock.gettimeout()
    if timeout == 0:
        sock.settimeout(30)
    try:
        _connect(sock, _proxy(sock))
        _send(sock, _request(target))
        answer = bytearray()
        while not _whole(answer):
            if not (byte := _recv(sock, 1)):  # not a byte of what follows
                raise ConnectionResetError(errno.ECONNRESET, "The way to the network was cut off.")
            answer += byte
        _judge(bytes(answer))
    finally:
        if timeout == 0:
            sock.settimeout(0)


def connect(self: socket.socket, address: Any) -> None:
    """As the original; to the outside through the proxy."""
    target = _target(self, address)
    if target is None:
        return _connect(self, address)
    return _tunnel(self, target)


def connect_ex(self: socket.socket, address: Any) -> int:
    """As the original; to the outside through the proxy."""
    target = _target(self, address)
    if target is None:
        return _connect_ex(self, address)
    try:
        _tunnel(self, target)
    except OSError as error:
        return error.errno or errno.ECONNREFUSED
    return 0


def _hook_asyncio(selector_events: Any) -> None:
    loop_class = selector_events.BaseSelectorEventLoop
    original = loop_class.sock_connect

    @functools.wraps(original)
    async def sock_connect(self: Any, sock: Any, address: Any) -> None:
        target = _target(sock, address)
        if target is None:
            await original(self, sock, address)
            return
        await original(self, sock, _proxy(sock))
        await self.sock_sendall(sock, _request(target))
        answer = bytearray()
        while not _whole(answer):
            if not (byte := await self.sock_recv(sock, 1)):
                raise ConnectionResetError(errno.ECONNRESET, "The way to the network was cut off.")
            answer += byte
        _judge(bytes(answer))

    loop_class.sock_connect = sock_connect


def _hook_psycopg(module: Any) -> None:
    from . import postgres

    postgres.hook_psycopg(module)


def _hook_psycopg2(module: Any) -> None:
    from . import postgres

    postgres.hook_psycopg2(module)


def install() -> None:
    """Puts all of this in place, once."""
    if socket.getaddrinfo is getaddrinfo:
        return
    socket.getaddrinfo = getaddrinfo
    socket.gethostbyname = gethostbyname
    sockets: Any = socket.socket
    sockets.connect, sockets.connect_ex = connect, connect_ex
    afterimport.do("asyncio.selector_events", _hook_asyncio)
    afterimport.do("psycopg", _hook_psycopg)
    afterimport.do("psycopg2", _hook_psycopg2)
