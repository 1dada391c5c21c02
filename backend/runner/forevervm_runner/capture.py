"""The relay's end of one capture pipe: standard output or standard error of everything the user runs."""

import fcntl
import os
import struct
import termios
import time

PIPE_BYTES = 1 << 20
CHUNK = 64 << 10
REST_SECONDS = 0.01


class Capture:
    """Reads what was written. After each read it rests, so that small writes are sent together.

    The first byte after a pause is read at once; a stream that fills its pipe never rests.
    """

    def __init__(self, stream: str) -> None:
        self.stream = stream
        self.fd, self.write_fd = os.pipe()
        try:
            fcntl.fcntl(self.write_fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        except OSError:
            pass  # a smaller pipe is only slower
        os.set_blocking(self.fd, False)
        self._rest_until = 0.0
        self._owed = 0

    def waiting(self) -> int:
        """How many bytes are in the pipe."""
        return int(struct.unpack("i", fcntl.ioctl(self.fd, termios.FIONREAD, b"\0" * 4))[0])

    def resting(self, now: float) -> float:
        """Seconds until the next read is due; 0 when it is now."""
        return 0.0 if self._owed else max(0.0, self._rest_until - now)

    def mark(self) -> None:
        """Everything in the pipe now must come out before the next message of the worker."""
        self._owed = self.waiting()

    @property
    def owed(self) -> bool:
        """Whether bytes that were there at the last mark are still to be read."""
        return self._owed > 0

    def read(self) -> bytes:
        """The next piece, or nothing."""
        try:
            data = os.read(self.fd, CHUNK)
        except BlockingIOError:
            data = b""
        self._owed = max(0, self._owed - len(data)) if data else 0
        self._rest_until = 0.0 if len(data) == CHUNK else time.monotonic() + REST_SECONDS
        return data
