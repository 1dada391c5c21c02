"""The limit on the machine's memory, and what is kept back for telling that it was reached."""

import mmap
import resource

RESERVE_BYTES = 16 << 20
_PAGE = resource.getpagesize()
_setrlimit, _getrlimit = resource.setrlimit, resource.getrlimit
_AS, _INFINITY = resource.RLIMIT_AS, resource.RLIM_INFINITY
_mmap = mmap.mmap


def address_space() -> int:
    """Bytes of address space this process has mapped."""
    with open("/proc/self/statm", "rb") as statm:
        return int(statm.read().split()[0]) * _PAGE


def limit_address_space(limit: int | None) -> None:
    """Bounds this process's address space, libraries included; `None` takes the bound away."""
    _, hard = _getrlimit(_AS)
    soft = _INFINITY if limit is None else limit
    _setrlimit(_AS, (soft if hard == _INFINITY else min(soft, hard), hard))


class Reserve:
    """Address space kept back while an instruction runs, so that its end can be told when it has used up the rest."""

    def __init__(self) -> None:
        self._block: mmap.mmap | None = None

    def take(self) -> None:
        if self._block is None:
            try:
                self._block = _mmap(-1, RESERVE_BYTES)
            except (OSError, MemoryError):
                self._block = None  # the limit is reached already; the next instruction tries again

    def release(self) -> None:
        if self._block is not None:
            self._block.close()
            self._block = None
