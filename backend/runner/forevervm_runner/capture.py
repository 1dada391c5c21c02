"""The relay's end of one capture pipe: standard output or standard error of everything the user
runs."""

import fcntl
import os
import struct
import termios
import time

CHUNK = 64 << 10
PIPE_BYTES = 64 << 10
REST_SECONDS = 0.01
# How much an endless writer in the background may add before a result is sent all the same.
MARK_SLACK = 1 << 20


class Capture:
    """Reads what was written. After each read it rests, so that small writes are sent together.

    The first byte after a pause is read at once; a stream that fills its pipe never rests.
    """

    def __init__(self, stream: str) -> None:
        self.stream = stream
        self.fd, self.write_fd = os.pipe()
        fcntl.fcntl(self.write_fd, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        os.set_blocking(self.fd, False)
        self._rest_until = 0.0
        self._owed = 0

    def waiting(self) -> int:
        """How many bytes are in the pipe."""
        return int(struct.unpack("i", fcntl.ioctl(self.fd, termios.FIONREAD, b"\0" * 4))[0])

    def resting(self) -> float:
        """When the next read is due; 0 when it is now."""
        if self._owed or not self._rest_until:
            return 0.0
        if self._rest_until <= time.monotonic():
            self._rest_until = 0.0
        return self._rest_until

    def mark(self) -> None:
        """Everything in the pipe now must come out before the next message of the worker."""
        waiting = self.waiting()
        self._owed = waiting + MARK_SLACK if waiting else 0

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
        if len(data) == CHUNK:
            self._owed = max(0, self._owed - CHUNK)
            self._rest_until = 0.0
        else:
            self._owed = 0
            self._rest_until = time.monotonic() + REST_SECONDS
        return data
