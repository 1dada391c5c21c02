"""The processes of the sandbox, as seen by the relay: who runs, who is reaped, who is stopped."""

import os
import signal

# The signal of an interrupt that was repeated, and the exit status of a worker that lost its sockets.
NUDGE = signal.SIGRTMIN + 11
LOST_STATUS = 213


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


def send_signal(pids: set[int], number: signal.Signals) -> None:
    """Signals each; one that is already gone does not matter."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            continue
