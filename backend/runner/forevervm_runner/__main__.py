"""Starts the runner: hides the supervisor's pipes, forks the worker, and becomes the relay."""

import fcntl
import os
import signal
import socket
import sys

from .capture import Capture

PRIVATE_FD = 800


def _hide(fd: int) -> int:
    """A close-on-exec duplicate, out of the way of the user's descriptors."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, PRIVATE_FD)
    os.close(fd)
    return moved


def _hide_socket(sock: socket.socket) -> socket.socket:
    return socket.socket(fileno=_hide(sock.detach()))


def main() -> int:
    wire_in, wire_out = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3), fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 3)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    captures = [Capture("stdout"), Capture("stderr")]
    work_ours, work_theirs = socket.socketpair()
    side_ours, side_theirs = socket.socketpair()
    pid = os.fork()
    if pid:
        return _relay(wire_in, wire_out, captures, work_ours, side_ours, pid, (work_theirs, side_theirs))
    for fd in (wire_in, wire_out, captures[0].fd, captures[1].fd):
        os.close(fd)
    work_ours.close()
    side_ours.close()
    _worker(null, captures, _hide_socket(work_theirs), _hide_socket(side_theirs))
    return 0


def _relay(
    wire_in: int,
    wire_out: int,
    captures: list[Capture],
    work: socket.socket,
    side: socket.socket,
    worker_pid: int,
    theirs: tuple[socket.socket, ...],
) -> int:
    from .relay import Relay, serve

    for sock in theirs:
        sock.close()
    # Process 1 must not be stopped by what the user's code signals.
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(name, signal.SIG_IGN)
    status = serve(Relay(wire_in, wire_out, captures, work, side, worker_pid))
    try:
        os.kill(worker_pid, signal.SIGKILL)
    except OSError:
        pass
    os._exit(status)


def _worker(null: int, captures: list[Capture], work: socket.socket, side: socket.socket) -> None:
    os.setsid()
    os.dup2(captures[0].write_fd, 1)
    os.dup2(captures[1].write_fd, 2)
    saved = [_hide(null), *(_hide(capture.write_fd) for capture in captures)]
    from . import figures

    figures.prepare_environment()
    os.environ.setdefault("PIP_ROOT_USER_ACTION", "ignore")
    os.environ.setdefault("PIP_DISABLE_PIP_VERSION_CHECK", "1")
    os.environ.setdefault("PIP_BREAK_SYSTEM_PACKAGES", "1")
    os.environ.setdefault("PIP_NO_INPUT", "1")
    from .worker import Worker

    Worker(work, side, *saved, [capture.board for capture in captures]).run()


if __name__ == "__main__":
    sys.exit(main())
