"""Where the runner keeps descriptors that the user's code should not stumble over."""

import fcntl
import os

PRIVATE_FD = 800


def hidden(fd: int) -> int:
    """Moves a descriptor out of the way: a high number, closed in programs that are started."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, PRIVATE_FD)
    os.close(fd)
    return moved
