"""The limit on the machine's memory, and what is kept back for telling that it was reached."""

import mmap
import resource

RESERVE_BYTES = 16 << 20
_setrlimit, _getrlimit = resource.setrlimit, resource.getrlimit
_DATA, _INFINITY = resource.RLIMIT_DATA, resource.RLIM_INFINITY
_mmap, _OWN = mmap.mmap, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS


def own_memory() -> int:
    """Bytes of memory that this process may write to and shares with no other."""
    with open("/proc/self/status", "rb") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith(b"VmData:"))


def limit_memory(limit: int | None) -> None:
    """Bounds this process's own memory, and what all processes use; `None` takes the bound away."""
    _, hard = _getrlimit(_DATA)
    soft = _INFINITY if limit is None else limit
    _setrlimit(_DATA, (soft if hard == _INFINITY else min(soft, hard), hard))


class Reserve:
    """Memory kept back while an instruction runs, so that its end can be told when it has used up
    the rest."""

    def __init__(self) -> None:
        self._block: mmap.mmap | None = None

    def take(self) -> None:
        if self._block is None:
            try:
                self._block = _mmap(-1, RESERVE_BYTES, flags=_OWN)
            except (OSError, MemoryError):
                self._block = None  # the limit is reached already; the next instruction tries again

    def release(self) -> None:
        if self._block is not None:
            self._block.close()
            self._block = None
