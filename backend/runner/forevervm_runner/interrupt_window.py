"""The time in which an instruction can be interrupted, visible to relay and worker alike.

A signal outside of it would hit the runner's own code. The relay looks before it sends one, the
worker's handlers look again, and no message is needed for it.
"""

import mmap

_to_bytes, _from_bytes = int.to_bytes, int.from_bytes


class InterruptWindow:
    """Made before the fork, so that both processes share its memory."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 8)

    def open(self, seq: int) -> None:
        self._memory[:] = _to_bytes(seq + 1, 8, "little")

    def close(self) -> None:
        self._memory[:] = b"\0\0\0\0\0\0\0\0"

    @property
    def seq(self) -> int | None:
        """The instruction that may be interrupted now."""
        return _from_bytes(self._memory[:], "little") - 1 if any(self._memory[:]) else None
