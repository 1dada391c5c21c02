"""The supervisor's pipe: frames out, without ever blocking, and bytes in."""

import collections
import os

from .frames import READ_BYTES, Decoder, Message, wire_decoder

JOIN_BYTES = 64 << 10
HIGH_WATER = 8 << 20


class Closed(Exception):
    """The supervisor closed its end."""


class Wire:
    """Sends frames in order."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self.read_fd, self.write_fd = read_fd, write_fd
        os.set_blocking(write_fd, False)
        self._decoder: Decoder = wire_decoder()
        self._unsent: collections.deque[bytes] = collections.deque()
        self._partial = memoryview(b"")
        self.unsent_bytes = 0

    @property
    def unsent(self) -> bool:
        return bool(self.unsent_bytes)

    @property
    def full(self) -> bool:
        """Whether so much is unsent that no more requests should be taken."""
        return self.unsent_bytes >= HIGH_WATER

    def send(self, frame: bytes) -> None:
        """Queues a frame."""
        self._unsent.append(frame)
        self.unsent_bytes += len(frame)

    def restart(self) -> None:
        """Forgets what is queued: it will be sent again.

        A frame that is half sent is finished."""
        self._unsent.clear()
        self.unsent_bytes = len(self._partial)

    def flush(self) -> None:
        """Writes as much as the pipe takes. Raises Closed."""
        try:
            while self.unsent_bytes:
                if not self._partial:
                    self._partial = memoryview(self._next())
                sent = os.write(self.write_fd, self._partial)
                self.unsent_bytes -= sent
                self._partial = self._partial[sent:]
        except BlockingIOError:
            return
        except BrokenPipeError:
            raise Closed from None

    def _next(self) -> bytes:
        """The next frame, joined with those behind it that are small."""
        frame = self._unsent.popleft()
        if not self._unsent or len(frame) >= JOIN_BYTES:
            return frame
        parts, size = [frame], len(frame)
        while self._unsent and size + len(self._unsent[0]) <= JOIN_BYTES:
            parts.append(self._unsent.popleft())
            size += len(parts[-1])
        return b"".join(parts)

    def receive(self) -> list[Message]:
        """Requests that have arrived. Raises Closed, BadFrame."""
        data = os.read(self.read_fd, READ_BYTES)
        if not data:
            raise Closed
        self._decoder.feed(data)
        return list(self._decoder.messages())
