"""Makes the random generators of a restored copy differ from those of every other copy."""

import ctypes
import os
import sys
from typing import Any

_urandom = os.urandom


def reseed_openssl() -> None:
    """After every restore.

    OpenSSL itself only reseeds when the process id changes, which a restore keeps."""
    ssl = sys.modules.get("_ssl")
    if ssl is not None:
        ssl.RAND_add(_urandom(48), 48.0)
    for path in _loaded_libcryptos():
        try:
            ctypes.CDLL(path).RAND_poll()
        except (OSError, AttributeError):
            continue


def _loaded_libcryptos() -> set[str]:
    """Every OpenSSL in this process; wheels bring their own."""
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
            return {line.split(None, 5)[5].strip() for line in maps if "libcrypto" in line}
    except (OSError, IndexError):
        return set()


def reseed_python() -> None:
    """After a restore that makes a second machine: the generators that everyone shares without
    asking."""
    import random

    random.seed()
    tempfile: Any = sys.modules.get("tempfile")
    if tempfile is not None:
        tempfile._name_sequence = None
    uuid: Any = sys.modules.get("uuid")
    if uuid is not None:
        uuid._node = uuid._last_timestamp = None
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed()
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "seed"):
        torch.seed()
