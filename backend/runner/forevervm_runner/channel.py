"""The relay's ends of its sockets to the worker."""

import socket

from .frames import READ_BYTES, Header, Message, inner_decoder, inner_frame


class Channel:
    """Whole messages over a stream socket. Nothing here blocks."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._sock = sock
        self.fd = sock.fileno()
        self._decoder = inner_decoder()
        self._unsent = bytearray()

    @property
    def unsent(self) -> bool:
        """Whether the worker has yet to take something."""
        return bool(self._unsent)

    def send(self, header: Header, payload: bytes = b"") -> None:
        self._unsent += inner_frame(header, payload)
        self.flush()

    def flush(self) -> None:
        """Sends what the socket takes. A worker that is gone is noticed when reading."""
        try:
            while self._unsent:
                del self._unsent[: self._sock.send(self._unsent)]
        except BlockingIOError:
            return
        except OSError:
            self._unsent.clear()

    def receive(self) -> list[Message] | None:
        """Whole messages that have arrived; None when the worker closed its end. Raises BadFrame."""
        try:
            data = self._sock.recv(READ_BYTES)
        except BlockingIOError:
            return []
        except OSError:
            return None
        if not data:
            return None
        self._decoder.feed(data)
        return list(self._decoder.messages())
