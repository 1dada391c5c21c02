"""Where the runner keeps descriptors that the user's code should not stumble over."""

import ctypes
import fcntl
import os

PRIVATE_FD = 800
_PR_SET_DUMPABLE = 4


def seal() -> None:
    """Keeps other processes from this one's descriptors, which they could open in /proc."""
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def hidden(fd: int) -> int:
    """Moves a descriptor out of the way: a high number, closed in programs that are started."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, PRIVATE_FD)
    os.close(fd)
    return moved
