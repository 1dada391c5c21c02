"""The worker: the process whose main thread runs the user's instructions, one at a time.

A second thread, kept small, answers questions about the namespace and carries settings in. Both talk only to
the relay.
"""

import ctypes
import os
import resource
import signal
import socket
import sys
import threading
import time
from types import ModuleType
from typing import Any, NoReturn

from . import aside, assist, figures, guard, reseed, rich, streams, variables, warm
from .bounded import bounded_repr
from .errors import Failure
from .frames import Header, inner_decoder, inner_frame
from .processes import LOST_STATUS, NUDGE
from .shell import NOTHING, Publisher, Shell
from .slate import Board, SlateWriter

RESERVE_BYTES = 16 << 20
LOST_SECONDS = 0.02
_PAGE = resource.getpagesize()
_getsignal, _SIGINT = signal.getsignal, signal.SIGINT

_getpid, _exit, _monotonic, _sleep = os.getpid, os._exit, time.monotonic, time.sleep
_waitid, _ANY_CHILD = os.waitid, (os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
_Lock, _get_ident = threading.Lock, threading.get_ident
_async_exc = ctypes.pythonapi.PyThreadState_SetAsyncExc
_async_exc.argtypes = [ctypes.c_ulong, ctypes.py_object]
_NO_EXCEPTION = ctypes.py_object()
_setrlimit, _getrlimit, _AS, _INFINITY = (
    resource.setrlimit,
    resource.getrlimit,
    resource.RLIMIT_AS,
    resource.RLIM_INFINITY,
)


def address_space() -> int:
    """Bytes of address space this process has mapped."""
    with open("/proc/self/statm", "rb") as statm:
        return int(statm.read().split()[0]) * _PAGE


def _has_children() -> bool:
    """Whether processes that the user's code started are still there, finished or not."""
    try:
        _waitid(*_ANY_CHILD)
    except ChildProcessError:
        return False
    return True


class Pipe:
    """A blocking message channel to the relay. The user's threads may send too: a lock keeps frames whole."""

    def __init__(self, sock: socket.socket) -> None:
        self._recv, self._sendall, self.fileno = sock.recv, sock.sendall, sock.fileno
        self._lock = _Lock()
        self._decoder = inner_decoder()
        self._messages: list[tuple[Header, bytes]] = []
        self._socket = sock

    def send(self, header: Header, payload: bytes = b"") -> None:
        frame = inner_frame(header, payload)
        with self._lock:
            self._sendall(frame)

    def receive(self) -> tuple[Header, bytes]:
        """The next message. Ends the process when the relay is gone."""
        while not self._messages:
            data = self._recv(1 << 20)
            if not data:
                _exit(0)
            self._decoder.feed(data)
            self._messages.extend(self._decoder.messages())
        return self._messages.pop(0)

    def close(self) -> None:
        self._socket.close()


class Reserve:
    """Address space kept back, so that the result can still be told when the user's code has used up the rest."""

    def __init__(self) -> None:
        self._block: Any = None

    def take(self) -> None:
        import mmap

        if self._block is None:
            try:
                self._block = mmap.mmap(-1, RESERVE_BYTES)
            except (OSError, MemoryError, ValueError):
                self._block = None

    def release(self) -> None:
        if self._block is not None:
            self._block.close()
            self._block = None


class Worker:
    """Owns the shell and the loop that executes."""

    def __init__(
        self, work: socket.socket, side: socket.socket, null_fd: int, out_fd: int, err_fd: int, boards: list[Board]
    ) -> None:
        self._work, self._side = Pipe(work), Pipe(side)
        self._streams = streams.Streams(
            SlateWriter(boards[0], 1, out_fd, "<stdout>"), SlateWriter(boards[1], 2, err_fd, "<stderr>")
        )
        self._streams.install()
        sys.breakpointhook = streams.no_breakpoint
        signal.signal(signal.SIGINT, self._on_interrupt)
        signal.signal(NUDGE, self._on_nudge)
        self._pid = _getpid()
        self._main = _get_ident()
        self._press_lock = _Lock()
        self._seq: int | None = None
        self._interruptible = False
        self._interrupted = False
        self._figures = figures.Figures()
        self._reserve = Reserve()
        # Before there is a shell: matplotlib's inline backend would hook itself into it and show figures its own way.
        warm.load()
        self._shell = self._make_shell()
        self._hook: Any = self._shell.displayhook
        self._formatter = self._shell.display_formatter
        warm.rehearse(self._shell)
        self._initial = frozenset(self._shell.user_ns)
        self._guard = guard.Guard(out_fd, err_fd, null_fd, self._on_interrupt)
        self._baseline = 0
        self._formats: list[str] = ["png"]
        os.register_at_fork(after_in_child=self._in_forked_child)

    def _make_shell(self) -> Shell:
        module = ModuleType("__main__")
        module.__dict__["__builtins__"] = sys.modules["builtins"]
        Publisher.on_display = self._display
        Publisher.on_clear = lambda wait: self._clear(wait)
        # The hook IPython installs while it runs code is the shell's own; outside, Python's stays.
        shell = Shell.instance(user_module=module)
        self._figures.register(shell)
        aside.quiet_fork_warning()
        return shell

    # -- the main thread ------------------------------------------------------------------------------------

    def run(self) -> NoReturn:
        """Executes for ever."""
        threading.stack_size(512 << 10)
        threading.Thread(target=self._serve_side, name="forevervm", daemon=True).start()
        threading.stack_size(0)
        self._guard.remember_modules()
        warm.settle()
        self._baseline = address_space()
        self._work.send(
            {
                "type": "warm",
                "python": ".".join(map(str, sys.version_info[:3])),
                "baseline_bytes": self._baseline,
            }
        )
        while True:
            try:
                header, code = self._work.receive()
                if header["type"] == "execute":
                    self._execute(header["seq"], header.get("formats"), code)
            except OSError:
                _exit(LOST_STATUS)  # the user's code closed the way to the relay
            except (KeyboardInterrupt, MemoryError):
                continue

    def _execute(self, seq: int, formats: list[str] | None, code: bytes) -> None:
        self._figures.formats = formats or self._formats
        self._figures.too_large = False
        self._seq = seq
        self._reserve.take()
        start = _monotonic()
        outcome: tuple[Header, bytes] | None = None
        try:
            self._interrupted = False
            self._interruptible = True
            self._work.send({"type": "began", "seq": seq})
            outcome = self._attempt(seq, code)
        except BaseException as error:
            outcome = self._failed(error)
        while True:
            # A late interrupt may still fall anywhere into this, once or twice; it must be done whatever happens.
            try:
                self._no_more_interrupts()
                break
            except BaseException as error:
                if outcome is None:
                    outcome = self._failed(error)
        if _getpid() != self._pid:
            _exit(0)  # a child that the user's code forked came out of the instruction
        self._reserve.release()
        self._restore()
        if outcome is None:
            outcome = self._failed(KeyboardInterrupt())
        header, payload = outcome
        runtime = int((_monotonic() - start) * 1000)
        self._report({"type": "result", "children": _has_children(), "runtime_ms": runtime, **header}, payload)
        self._seq = None

    def _attempt(self, seq: int, code: bytes) -> tuple[Header, bytes]:
        """Runs one instruction to its result. Everything in here can be interrupted."""
        shell, hook = self._shell, self._hook
        text = code.decode("utf-8", "replace")
        hook.value, hook.cell = NOTHING, text
        shell.execution_count = seq
        try:
            done = shell.run_cell(text, store_history=False)
            error = done.error_before_exec or done.error_in_exec
            value, hook.value = hook.value, NOTHING
        finally:
            self._guard.restore_python()
            self._streams.install()
        if error is not None:
            self._show_figures()
            return self._failed(error)
        truncated = False
        mimes: rich.Mimes = []
        shown: Any = None
        if value is not NOTHING:
            plain, truncated = bounded_repr(value)
            mimes.append(("text/plain", plain))
            bundle = self._represent(value)
            packed, cut = rich.pack(bundle)
            mimes += packed
            truncated = truncated or cut
            shown = value
        self._show_figures(shown)
        fields, payload = rich.header_of(mimes)
        truncated = truncated or self._figures.too_large
        return {"status": "ok", "mimes": fields, "truncated": truncated}, payload

    def _represent(self, value: Any) -> dict[str, Any]:
        try:
            plotly = figures.plotly_bundle(value)
            if plotly is not None:
                return plotly
            bundle, _ = self._formatter.format(value, exclude={"text/plain"})
        except Exception as error:
            self._tell(error)
            return {}
        bundle.pop("text/plain", None)
        return bundle

    def _tell(self, error: BaseException) -> None:
        self._streams.stderr.write(Failure(error).plain.decode() + "\n")

    def _show_figures(self, already: Any = None) -> None:
        """Sends every open figure but the one that is the instruction's value, then closes them."""
        try:
            for figure in self._figures.open():
                if figure is not already:
                    bundle = self._represent(figure)
                    if bundle:
                        self._display({**bundle, "text/plain": repr(figure)}, {}, None, False)
        except Exception as error:
            self._tell(error)
        finally:
            self._figures.close()

    def _failed(self, error: BaseException) -> tuple[Header, bytes]:
        failure = Failure(error)
        fields, payload = rich.header_of([("text/plain", failure.plain), ("text/x-ansi", failure.ansi)])
        told = {"status": "error", "ename": failure.ename, "evalue": failure.evalue}
        return {**told, "mimes": fields, "truncated": False}, payload

    def _restore(self) -> None:
        try:
            self._guard.restore_python()
            self._streams.renew()
            self._streams.install()
            guard.flush_c_stdio()
            self._guard.restore_process()
        except Exception as error:
            self._tell(error)

    def _report(self, header: Header, payload: bytes) -> None:
        """Sends the result, whatever the state of memory."""
        try:
            self._work.send(header, payload)
        except MemoryError:
            plain = b"MemoryError: there was no memory left even to tell the result."
            short = {"status": "error", "ename": "MemoryError", "evalue": "", "truncated": True}
            mimes = [["text/plain", len(plain)]]
            self._work.send({"type": "result", "runtime_ms": header["runtime_ms"], "mimes": mimes, **short}, plain)

    # -- what the user's code shows -------------------------------------------------------------------------

    def _display(self, data: dict[str, Any], metadata: dict[str, Any], display_id: str | None, update: bool) -> None:
        mimes, _ = rich.pack(data)
        fields, payload = rich.header_of(mimes)
        self._work.send(
            {
                "type": "display",
                "mimes": fields,
                "metadata": rich.plain_metadata(metadata),
                "display_id": str(display_id)[:200] if display_id is not None else None,
                "update": bool(update),
            },
            payload,
        )
        self._await_taken()

    def _clear(self, wait: bool) -> None:
        self._work.send({"type": "clear", "wait": bool(wait)})
        self._await_taken()

    def _await_taken(self) -> None:
        """Waits until the relay has put what was shown in its place among the output."""
        if _get_ident() == self._main and self._seq is not None:
            while self._work.receive()[0]["type"] != "taken":
                continue

    # -- interrupts -----------------------------------------------------------------------------------------

    def _on_interrupt(self, _number: int, _frame: Any) -> None:
        self._interrupted = True
        if self._interruptible:
            raise KeyboardInterrupt

    def _on_nudge(self, _number: int, _frame: Any) -> None:
        """From the second interrupt on: for code that handles or ignores SIGINT."""
        if self._interruptible:
            raise KeyboardInterrupt

    def _no_more_interrupts(self) -> None:
        with self._press_lock:
            self._interruptible = False
            _async_exc(self._main, _NO_EXCEPTION)

    def _press(self, seq: int, hard: bool) -> None:
        """Adds to an interrupt's signal an exception that needs none.

        At first only where the signal was lost: `os.system` ignores it while it waits. Code that handles SIGINT itself is
        overruled from the second interrupt on.
        """
        if not hard:
            _sleep(LOST_SECONDS)
            if self._interrupted or _getsignal(_SIGINT) != self._on_interrupt:
                return
        with self._press_lock:
            if self._interruptible and self._seq == seq:
                _async_exc(self._main, KeyboardInterrupt)

    # -- the side thread ------------------------------------------------------------------------------------

    def _serve_side(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))
        while True:
            try:
                header, payload = self._side.receive()
                self._answer(header, payload)
            except OSError:
                _exit(LOST_STATUS)
            except Exception:
                continue  # out of memory: the relay answers "busy" for us

    def _answer(self, header: Header, payload: bytes) -> None:
        if header["type"] == "press":
            self._press(header["seq"], header["hard"])
            return
        answer: Header
        try:
            answer = self._consider(header, payload)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:1000]}
        self._side.send({**answer, "ask": header["ask"]})

    def _consider(self, header: Header, payload: bytes) -> Header:
        kind = header["type"]
        if kind == "complete":
            code = payload.decode("utf-8", "replace")
            return aside.ask(lambda: assist.complete(self._shell, code, header["cursor"]))
        if kind == "inspect":
            code = payload.decode("utf-8", "replace")
            return aside.ask(lambda: assist.inspect(self._shell, code, header["cursor"], header.get("detail", 0)))
        if kind == "variables":
            limit = header.get("limit")
            names = self._shell.user_ns
            return {"result": variables.listing(names, self._initial, 500 if limit is None else limit)}
        if kind == "limit":
            self._limit(header.get("limit_bytes"))
            return {"result": None}
        if kind == "configure":
            self._configure(header)
            return {"result": None}
        return {"error": f"unknown question {kind}"}

    def _configure(self, header: Header) -> None:
        if header["reseed"]:
            reseed.reseed_openssl()
        if header["reseed_python"]:
            reseed.reseed_python()
        os.environ.update(header["env"])
        self._formats = [name for name in header["formats"] if name in ("png", "svg")] or ["png"]
        self._limit(header["limit"])

    def _limit(self, limit: int | None) -> None:
        """Sets how much address space the user's code may have on top of what the runner needs."""
        _, hard = _getrlimit(_AS)
        soft = _INFINITY if limit is None else self._baseline + limit
        _setrlimit(_AS, (soft if hard == _INFINITY else min(soft, hard), hard))

    def _in_forked_child(self) -> None:
        """A copy made by the user's code must not speak to the relay in the worker's name."""
        if _getpid() != self._pid:
            self._work.close()
            self._side.close()
            self._streams.in_forked_child()
