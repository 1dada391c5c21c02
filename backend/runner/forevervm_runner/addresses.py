"""What hosts are called: addresses, and the names of the machine itself."""

import contextlib
import socket


def numeric(host: str) -> bytes | None:
    """An address in bytes; None for a name."""
    for family in (socket.AF_INET, socket.AF_INET6):
        with contextlib.suppress(OSError, ValueError):
            return socket.inet_pton(family, host.partition("%")[0])
    return None


def own(host: str) -> bool:
    """Whether a host is the machine itself."""
    if host in ("", "localhost", "0.0.0.0", "::", "::1", socket.gethostname()) or host.endswith(".localhost"):
        return True
    address = numeric(host)
    return address is not None and address.removeprefix(b"\0" * 10 + b"\xff\xff")[0] == 127 and len(address) in (4, 16)
