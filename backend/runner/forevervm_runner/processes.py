"""The processes of the sandbox, as seen by the relay: who runs, who is reaped, who is stopped."""

import contextlib
import os
import signal
from collections.abc import Iterator

# The signal of an interrupt that was repeated, and the exit status of a worker that lost its
# sockets.
NUDGE = signal.SIGRTMIN + 11
LOST_STATUS = 213
LOST = "The code closed the descriptors through which its machine is reached."


def running() -> set[int]:
    """Process ids of everything alive in the sandbox."""
    return {int(name) for name in os.listdir("/proc") if name.isdigit()}


def reap() -> dict[int, int]:
    """Collects every finished child, orphans included. Returns wait statuses by process id."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended[pid] = status


def descendants(ancestor: int) -> set[int]:
    """Every process whose chain of parents leads to `ancestor`."""
    parents: dict[int, int] = {}
    for pid in running():
        try:
            with open(f"/proc/{pid}/stat", "rb") as stat:
                # "pid (name) state ppid …"; the name may hold spaces and parentheses.
                parents[pid] = int(stat.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
    found: set[int] = set()
    frontier = {ancestor}
    while frontier:
        frontier = {pid for pid, parent in parents.items() if parent in frontier} - found
        found |= frontier
    return found


@contextlib.contextmanager
def stopped(group: int) -> Iterator[None]:
    """Holds a process group still meanwhile."""
    with contextlib.suppress(OSError):
        os.killpg(group, signal.SIGSTOP)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.killpg(group, signal.SIGCONT)


def send_signal(pids: set[int], number: int) -> None:
    """Signals each; one that is already gone does not matter."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            continue


def ending(status: int) -> tuple[int | None, int | None, str]:
    """Exit code, signal, and a sentence about how a process ended, from its wait status."""
    code = os.waitstatus_to_exitcode(status)
    if code == LOST_STATUS:
        return None, None, LOST
    if code >= 0:
        return code, None, f"Python ended itself with status {code}."
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    return None, -code, f"Python was ended by {name}."
