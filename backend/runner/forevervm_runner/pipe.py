"""The worker's ends of its sockets to the relay."""

import os
import socket
import threading

from .frames import READ_BYTES, Header, inner_decoder, inner_frame

_exit, _Lock = os._exit, threading.Lock


class Pipe:
    """A blocking message channel to the relay. The user's threads may send too: a lock keeps frames
    whole.

    An OSError from it means that the user's code closed the descriptor.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._recv, self._sendall, self.close = sock.recv, sock.sendall, sock.close
        self._lock = _Lock()
        self._decoder = inner_decoder()
        self._messages: list[tuple[Header, bytes]] = []

    def send(self, header: Header, payload: bytes = b"") -> None:
        frame = inner_frame(header, payload)
        with self._lock:
            self._sendall(frame)

    def receive(self) -> tuple[Header, bytes]:
        """The next message. Ends the process when the relay is gone."""
        while not self._messages:
            data = self._recv(READ_BYTES)
            if not data:
                _exit(0)
            self._decoder.feed(data)
            self._messages.extend(self._decoder.messages())
        return self._messages.pop(0)
