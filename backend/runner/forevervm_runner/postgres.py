"""PostgreSQL, whose C library opens its connections on its own and knows no proxy.

psycopg and psycopg2 are told to connect to the machine's own loopback, where a forwarder leads to
the server by Python's sockets, and so through the proxy. The server's name stays what it is: its
certificate is checked against that as usual.
"""

import contextlib
import functools
import os
import socket
import threading
from typing import Any

from .addresses import own

PORT = 5432
# A forwarder to which nobody has come for so long takes no more connections; the C library tries
# some things one after another.
LISTEN_SECONDS = 60
CHUNK = 64 << 10


def _carry(source: socket.socket, to: socket.socket) -> None:
    try:
        while data := source.recv(CHUNK):
            to.sendall(data)
        to.shutdown(socket.SHUT_WR)
    except OSError:
        for one in (source, to):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


def _serve(listener: socket.socket, outside: socket.socket | None, target: tuple[str, int]) -> None:
    with listener, contextlib.suppress(OSError):
        while True:
            inside, _ = listener.accept()
            if outside is None:
                outside = socket.create_connection(target, LISTEN_SECONDS)
                outside.settimeout(None)
            for pair in ((inside, outside), (outside, inside)):
                threading.Thread(target=_carry, args=pair, daemon=True).start()
            outside = None
    if outside is not None:
        outside.close()


def _forward(target: tuple[str, int], timeout: float) -> int:
    """The port of a forwarder, which is connected to the server already: what prevents that is
    raised here."""
    outside = socket.create_connection(target, timeout)
    outside.settimeout(None)
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(LISTEN_SECONDS)
    threading.Thread(target=_serve, args=(listener, outside, target), daemon=True).start()
    return int(listener.getsockname()[1])


def _away(given: dict[str, Any]) -> dict[str, Any]:
    """What to say in addition to connect to the server that is meant; nothing for one in the
    machine."""
    name = str(given.get("host") or os.environ.get("PGHOST", ""))
    host = str(given.get("hostaddr") or os.environ.get("PGHOSTADDR") or name)
    port = str(given.get("port") or os.environ.get("PGPORT") or PORT)
    # Of several servers only the C library knows which is wanted; a path is a socket in the
    # machine.
    if not port.isdigit() or "," in host or host.startswith(("/", "@")) or own(host):
        return {}
    timeout = float(given.get("connect_timeout") or LISTEN_SECONDS)
    return {"host": name or host, "hostaddr": "127.0.0.1", "port": _forward((host, int(port)), timeout)}


def hook_psycopg(psycopg: Any) -> None:
    """Version 3."""
    import asyncio

    def away(conninfo: str, options: dict[str, Any]) -> dict[str, Any]:
        given = {**psycopg.conninfo.conninfo_to_dict(conninfo), **options}
        try:
            return {**options, **_away(given)}
        except OSError as error:
            raise psycopg.OperationalError(str(error)) from error

    connect = psycopg.Connection.connect.__func__
    connect_async = psycopg.AsyncConnection.connect.__func__

    @functools.wraps(connect)
    def connected(cls: Any, conninfo: str = "", **options: Any) -> Any:
        return connect(cls, conninfo, **away(conninfo, options))

    @functools.wraps(connect_async)
    async def connected_async(cls: Any, conninfo: str = "", **options: Any) -> Any:
        return await connect_async(cls, conninfo, **await asyncio.to_thread(away, conninfo, options))

    psycopg.Connection.connect = classmethod(connected)  # type: ignore[arg-type]
    psycopg.AsyncConnection.connect = classmethod(connected_async)  # type: ignore[arg-type]
    psycopg.connect = psycopg.Connection.connect


def hook_psycopg2(psycopg2: Any) -> None:
    """Version 2."""
    connect = psycopg2.connect

    @functools.wraps(connect)
    def connected(dsn: Any = None, *args: Any, **options: Any) -> Any:
        given = {**(psycopg2.extensions.parse_dsn(dsn) if dsn else {}), **options}
        try:
            options = {**options, **_away(given)}
        except OSError as error:
            raise psycopg2.OperationalError(str(error)) from error
        return connect(dsn, *args, **options)

    psycopg2.connect = connected
