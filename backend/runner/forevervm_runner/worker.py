"""The worker: the process whose main thread runs the user's instructions, one at a time."""

import builtins
import contextlib
import faulthandler
import gc
import os
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

from . import figures, guard, rich, streams, warm, wholetables
from .bounded import bounded_repr, plain_str
from .control_thread import FORMATS, ControlThread
from .errors import Failure
from .frames import Header
from .interrupt_window import InterruptWindow
from .interrupts import Interrupts
from .memory import Reserve, own_memory
from .output import Outputs
from .pipe import Pipe
from .processes import LOST_STATUS
from .shell import NOTHING, Publisher, Shell

# Values of these types have no representation but their text: no need to ask every formatter.
_PLAIN = frozenset((int, float, complex, bool, str, bytes, list, tuple, dict, set, frozenset, range))

_getpid, _exit, _monotonic, _get_ident = os.getpid, os._exit, time.monotonic, threading.get_ident
_waitid, _ANY_CHILD = os.waitid, (os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)

Outcome = tuple[Header, bytes]


def _untold(ename: str, words: bytes) -> Outcome:
    """An outcome that is there before it is needed."""
    mimes = [["text/plain", len(words)]]
    return {"status": "error", "ename": ename, "evalue": "", "mimes": mimes, "truncated": True}, words


_NO_MEMORY = _untold("MemoryError", b"MemoryError: there was not even memory left to tell the result.")
_NO_WORDS = _untold("Exception", b"The instruction failed, and telling its error failed as well.")

_FORKED = (
    "A forked process can only show text. Save the picture to a file (plt.savefig), or give the data back "
    "and show it in the process that forked."
)


def _has_children() -> bool:
    """Whether processes that the user's code started are still there, finished or not."""
    try:
        _waitid(*_ANY_CHILD)
    except ChildProcessError:
        return False
    return True


def _print_in_fork(mimes: dict[str, bytes]) -> None:
    """What a forked process displays: its text. The way to the relay is the worker's alone."""
    text = mimes.pop("text/plain", None)
    if text is not None:
        print(text.decode("utf-8", "replace"), flush=True)
    if text is None or not all(mime.startswith("text/") for mime in mimes):
        print(_FORKED, file=sys.stderr, flush=True)


class Worker:
    """Owns the shell and the loop that executes."""

    def __init__(
        self, work: socket.socket, side: socket.socket, window: InterruptWindow, outputs: Outputs, null_fd: int
    ) -> None:
        self._pid = _getpid()
        self._work, side_pipe = Pipe(work), Pipe(side)
        self._outputs = outputs
        self._streams = streams.Streams(outputs)
        self._streams.install()
        sys.breakpointhook = streams.no_breakpoint
        faulthandler.enable(outputs.err.pipe_fd)
        self._interrupts = Interrupts(window)
        self._reserve = Reserve()
        self._figures = figures.Figures()
        # Before there is a shell: matplotlib's inline backend would hook itself into it and show
        # figures its own way.
        warm.load()
        self._shell: Any = self._make_shell()
        warm.rehearse(self._shell)
        self._control = ControlThread(side_pipe, self._shell, self._interrupts, self._rehearse)
        self._guard = guard.Guard([null_fd, outputs.out.pipe_fd, outputs.err.pipe_fd], self._interrupts.handlers)
        self._running = False
        # By thread: what waits behind what is just being shown.
        self._showing: dict[int, deque[tuple[Header, bytes]]] = {}

        def in_forked_child() -> None:
            """A copy made by the user's code must not speak to the relay in the worker's name."""
            self._work.close()
            side_pipe.close()
            self._outputs.in_forked_child()
            self._interrupts.in_forked_child()

        os.register_at_fork(after_in_child=in_forked_child)

    def _make_shell(self) -> Shell:
        Publisher.on_display = self._display
        Publisher.on_clear = self._clear
        shell = Shell.instance(user_module=ModuleType("__main__"))
        self._figures.register(shell)
        wholetables.register(shell)
        return shell

    def run(self) -> NoReturn:
        """Says that everything is loaded, then executes forever."""
        self._control.start()
        self._guard.remember_modules()
        warm.settle()
        self._control.baseline_bytes = own_memory()
        version = ".".join(map(str, sys.version_info[:3]))
        self._work.send({"type": "warm", "python": version, "baseline_bytes": self._control.baseline_bytes})
        while True:
            try:
                header, code = self._work.receive()
                if header["type"] == "execute":
                    self._execute(header["seq"], header.get("formats"), code)
            except OSError:
                _exit(LOST_STATUS)  # the user's code closed the way to the relay
            except KeyboardInterrupt:
                continue  # the last of several, come too late

    # -- one instruction ---------------------------------------------------------------------------

    def _execute(self, seq: int, formats: list[str] | None, code: bytes) -> None:
        """Runs one instruction and reports its result, whatever happens in between."""
        self._figures.begin([name for name in formats or () if name in FORMATS] or self._control.formats)
        self._reserve.take()
        start = _monotonic()
        outcome: Outcome | None = None
        error: BaseException | None = None
        self._running = True
        try:
            self._interrupts.begin(seq)
            outcome = self._attempt(seq, code)
        except BaseException as raised:
            error = raised
        # Python looks for signals where it calls and where it jumps back, so none is raised before
        # or after this line.
        self._interrupts.raising = False
        # What the control thread put into this one directly may still come: one from before, one
        # put in meanwhile.
        try:
            try:
                self._interrupts.end()
            except BaseException as raised:
                error = raised
                self._interrupts.end()
        except BaseException as raised:
            error = raised
            self._interrupts.end()
        if _getpid() != self._pid:
            _exit(0)  # a child that the user's code forked came out of the instruction
        self._reserve.release()
        self._restore(self._restore_python)
        if outcome is None:
            try:
                outcome = self._failed(error or KeyboardInterrupt())
            except BaseException:
                outcome = _NO_WORDS
        error = None
        header, payload = outcome
        if header["status"] == "error" and "MemoryError" in header["ename"]:
            gc.collect()
        runtime = int((_monotonic() - start) * 1000)
        self._running = False
        self._restore(self._outputs.write_now)  # telling the outcome may have run the user's code
        self._work.send({"type": "result", "children": _has_children(), "runtime_ms": runtime, **header}, payload)
        self._restore(self._guard.restore_files)  # nobody waits for it: the next instruction begins after it

    def _attempt(self, seq: int, code: bytes) -> Outcome:
        """Runs the code and makes its outcome.

        All of this may run the user's code, and can be interrupted."""
        value, error = self._run_code(seq, code.decode("utf-8", "replace"))
        if _getpid() != self._pid:
            self._end_fork(error)
        if error is not None:
            try:
                with contextlib.suppress(Exception):  # one error at a time
                    self._show_figures()
                return self._failed(error)
            finally:
                # From an error hang the frames of its traceback and those below, this one too:
                # unless nothing leads back to it, all their variables live until the garbage
                # collector comes by.
                error = None
        mimes: rich.Mimes = []
        truncated = False
        try:
            if value is not NOTHING:
                plain, truncated = bounded_repr(value)
                more, left_out = rich.pack({} if type(value) in _PLAIN else self._represent(value))
                mimes = [("text/plain", plain), *more]
                truncated = truncated or left_out
        finally:
            self._show_figures(value)
        fields, payload = rich.header_of(mimes)
        return {"status": "ok", "mimes": fields, "truncated": truncated or self._figures.too_large}, payload

    def _rehearse(self) -> None:
        """Runs an instruction that leaves nothing, for the memory that it uses."""
        shell, hook = self._shell, self._shell.displayhook
        before = shell.user_ns["_"], hook._, shell.execution_count
        try:
            self._attempt(0, b"1 + 1")
        finally:
            shell.user_ns["_"], hook._, shell.execution_count = before

    def _run_code(self, seq: int, code: str) -> tuple[Any, BaseException | None]:
        """The value of the last expression, or NOTHING, and what was raised."""
        shell, hook = self._shell, self._shell.displayhook
        hook.value, hook.cell = NOTHING, code
        shell.user_global_ns["__builtins__"] = builtins
        shell.execution_count = seq
        for trap in (shell.display_trap, shell.builtin_trap):
            trap._nested_level = 0  # an interrupt may have hit when the last instruction let go of it
        try:
            done = shell.run_cell(code, store_history=False)
            error = done.error_before_exec or done.error_in_exec
            done.error_before_exec = done.error_in_exec = None
            return hook.value, error
        finally:
            # At once: what comes next needs builtins.
            self._guard.restore_python()
            self._streams.install()
            shell.last_execution_result = error = None
            hook.value = NOTHING

    def _failed(self, error: BaseException) -> Outcome:
        try:
            failure = Failure(error)
            fields, payload = rich.header_of([("text/plain", failure.plain), ("text/x-ansi", failure.ansi)])
        except MemoryError:
            return _NO_MEMORY
        told = {"status": "error", "ename": failure.ename, "evalue": failure.evalue}
        return {**told, "mimes": fields, "truncated": False}, payload

    def _end_fork(self, error: BaseException | None) -> NoReturn:
        """Ends a child that the user's code forked and let come out of the instruction, as Python
        would."""
        if isinstance(error, SystemExit):
            code = error.code or 0
            if not isinstance(code, int):
                print(code, file=sys.stderr)
                code = 1
            _exit(code & 0xFF)
        if error is not None:
            self._tell(error)
        _exit(int(error is not None))

    def _restore(self, part: Callable[[], None]) -> None:
        """Makes a part of the process fit for the next instruction."""
        try:
            part()
        except Exception as error:
            self._tell(error)

    def _restore_python(self) -> None:
        """The interpreter and its signals. Lets out what C code still holds."""
        self._guard.restore_python()
        self._outputs.write_now()
        self._streams.renew()
        self._streams.install()
        guard.flush_c_stdio()
        self._guard.restore_signals()

    def _tell(self, error: BaseException) -> None:
        """For errors beside the instruction's own."""
        self._streams.stderr.write(Failure(error).plain.decode() + "\n")

    # -- what the user's code shows ----------------------------------------------------------------

    def _represent(self, value: Any) -> dict[str, Any]:
        """The representations of a value beyond its text."""
        try:
            plotly = figures.plotly_bundle(value)
            if plotly is not None:
                return plotly
            bundle, _ = self._shell.display_formatter.format(value, exclude={"text/plain"})
            return {mime: data for mime, data in bundle.items() if mime != "text/plain"}
        except Exception as error:
            if figures.is_figure(value):
                raise
            self._tell(error)
            return {}

    def _show_figures(self, already: Any = None) -> None:
        """Sends every open figure but the one that is the instruction's value, then closes them.

        Raises what is wrong with the first that cannot be drawn.
        """
        problem: Exception | None = None
        try:
            for figure in self._figures.open():
                try:
                    bundle = self._represent(figure) if figure is not already else None
                    if bundle:
                        self._display({**bundle, "text/plain": repr(figure)}, {}, None, False)
                except Exception as error:
                    problem = problem or error
            if problem is not None:
                raise problem
        finally:
            problem = None  # else its traceback would lead back to it
            self._figures.close()

    def _display(self, data: dict[str, Any], metadata: dict[str, Any], display_id: str | None, update: bool) -> None:
        mimes, _ = rich.pack(data)
        if _getpid() != self._pid:
            _print_in_fork(dict(mimes))
            return
        fields, payload = rich.header_of(mimes)
        header = {
            "type": "display",
            "mimes": fields,
            "metadata": rich.plain_metadata(metadata),
            "display_id": None if display_id is None else plain_str(display_id)[:200],
            "update": bool(update),
        }
        self._show(header, payload)

    def _clear(self, wait: bool) -> None:
        if _getpid() == self._pid:
            self._show({"type": "clear", "wait": bool(wait)}, b"")

    def _show(self, header: Header, payload: bytes) -> None:
        """Sends what is shown, and waits until the relay has put it in its place among the output.

        What a signal handler, a finalizer or a trace function shows in the middle of this follows
        it.
        """
        me = _get_ident()
        if me in self._showing:
            self._showing[me].append((header, payload))
            return
        shown = deque([(header, payload)])
        while shown:  # again where a trace function showed something before the last line
            self._showing[me] = shown
            try:
                while shown:
                    self._send_shown(*shown.popleft())
            finally:
                del self._showing[me]

    def _send_shown(self, header: Header, payload: bytes) -> None:
        with self._interrupts.held_back() as in_main:  # half a frame would be the end of the machine
            if in_main and not self._running:
                return  # it would come behind the result, into nothing
            self._outputs.write_now()
            self._work.send(header, payload)
            while in_main and self._running and self._work.receive()[0]["type"] != "taken":
                continue
