"""Starts the runner: hides the supervisor's pipes, forks the worker, and becomes the relay."""

import contextlib
import fcntl
import os
import signal
import socket
import sys
from typing import NoReturn

from . import egress_relay
from .capture import Capture
from .channel import Channel
from .descriptors import hidden, seal
from .interrupt_window import InterruptWindow
from .relay import Relay, WorkerProcess, serve

MOST_TASKS = 1000  # processes and threads


def main() -> int:
    _allow_tasks()
    reachable = egress_relay.given()
    wire = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3), fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, 3)
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    os.dup2(null, 0)
    os.dup2(null, 1)
    way_out = egress_relay.start(close=(*wire, null)) if reachable else None
    captures = [Capture("stdout"), Capture("stderr")]
    window = InterruptWindow()
    (work, works_end), (side, sides_end) = socket.socketpair(), socket.socketpair()
    worker_pid = os.fork()
    if worker_pid == 0:
        if way_out is not None:
            _reach_out()
        for fd in (*wire, captures[0].fd, captures[1].fd, work.detach(), side.detach()):
            os.close(fd)
        if way_out is not None:
            way_out.control.close()
        _worker(null, captures, window, works_end, sides_end)
    works_end.close()
    sides_end.close()
    return _relay(
        Relay(
            *wire,
            captures,
            WorkerProcess(worker_pid, Channel(work, worker_pid), Channel(side, worker_pid), window),
            way_out,
        )
    )


def _allow_tasks() -> None:
    """Raises the limit that what starts us sets (backend/sandbox/spec.go), which must be the same
    for machines of older versions."""
    with contextlib.suppress(OSError), open("/sys/fs/cgroup/pids/pids.max", "w") as most:
        most.write(str(MOST_TASKS))


def _relay(relay: Relay) -> int:
    seal()
    # Process 1 must not be stopped by what the user's code signals.
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(name, signal.SIG_IGN)
    status = serve(relay)
    with contextlib.suppress(OSError):
        os.killpg(relay.worker.pid, signal.SIGKILL)
    os._exit(status)


def _reach_out() -> None:
    """Here and in every Python that is started from here, sockets reach the outside."""
    from . import socket_hooks

    socket_hooks.install()
    here = os.path.dirname(os.path.abspath(__file__))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [f"{here}/site", os.environ.get("PYTHONPATH")]))


def _worker(
    null: int, captures: list[Capture], window: InterruptWindow, work: socket.socket, side: socket.socket
) -> NoReturn:
    # A group of its own, in the relay's session: in one of its own gVisor takes the group for
    # orphaned, and ends all of it by SIGHUP when a process of it ends while another is stopped.
    os.setpgid(0, 0)
    for fd, capture in enumerate(captures, start=1):
        os.dup2(capture.write_fd, fd)
    null, out, err = hidden(null), hidden(captures[0].write_fd), hidden(captures[1].write_fd)
    # Only now: the relay needs none of the libraries that this loads.
    from . import estimators, figures, guard
    from .output import Outputs
    from .worker import Worker

    # matplotlib and plotly read it when they are imported.
    figures.prepare_environment()
    estimators.prepare()
    for name in ("ROOT_USER_ACTION=ignore", "DISABLE_PIP_VERSION_CHECK=1", "BREAK_SYSTEM_PACKAGES=1", "NO_INPUT=1"):
        os.environ.setdefault("PIP_" + name.partition("=")[0], name.partition("=")[2])
    guard.buffer_c_stdio_by_line()
    work, side = (socket.socket(fileno=hidden(end.detach())) for end in (work, side))
    Worker(work, side, window, Outputs(out, err), null).run()


if __name__ == "__main__":
    sys.exit(main())
