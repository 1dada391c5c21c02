"""The relay's ends of its sockets to the worker."""

import socket
import struct

from .frames import READ_BYTES, Header, Message, inner_decoder, inner_frame

_SENDER = struct.Struct("3i")  # process, user, group


class Channel:
    """Whole messages over a stream socket. Nothing here blocks.

    Only what the worker itself sends counts. Its children inherit its ends of the sockets, and one
    that the user's code left behind could tell the result of a later instruction. The kernel says
    who sends.
    """

    def __init__(self, sock: socket.socket, worker: int) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._worker = worker
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
        """Whole messages that have arrived; None when the worker closed its end.

        Raises BadFrame."""
        try:
            data, control, _, _ = self._sock.recvmsg(READ_BYTES, socket.CMSG_SPACE(_SENDER.size))
        except BlockingIOError:
            return []
        except OSError:
            return None
        if not data:
            return None
        if self._sender(control) != self._worker:
            return []
        self._decoder.feed(data)
        return list(self._decoder.messages())

    @staticmethod
    def _sender(control: list[tuple[int, int, bytes]]) -> int:
        """The process that sent what came with this; 0 where that is not told."""
        for level, kind, data in control:
            if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS and len(data) >= _SENDER.size:
                return int(_SENDER.unpack_from(data)[0])
        return 0
