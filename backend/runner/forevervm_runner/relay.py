"""The relay: an event loop between the supervisor's pipe and the worker.

It holds what must outlive the user's code: which instruction runs, which wait, the frames not yet
acknowledged. It never waits for the worker: a question that the worker does not answer in time is
answered "busy", and the worker's death is noticed at once.
"""

import collections
import contextlib
import os
import select
import signal
import sys
import time
from dataclasses import dataclass
from typing import Any

from . import processes
from .capture import Capture
from .channel import Channel
from .egress_relay import WayOut
from .files import FileThread
from .frames import BadFrame, Header, Message, nested, wire_frame
from .instructions import Instruction, Instructions
from .interrupt_window import InterruptWindow
from .outbox import Outbox
from .questions import Question, Questions
from .wire import Closed, Wire

BACKGROUND_LIMIT = 1 << 20
# When interrupted, the processes that the instruction waits for hear of it after Python does: were
# they to end first, it would go on as if nothing had happened. Python says when it has; this is for
# when it cannot.
CHILDREN_SECONDS = 0.5
PRESS_SECONDS = 0.002
# With more processes than this code may be multiplying, and the relay gets to do very little: they
# are held still to be signalled.
MANY_PROCESSES = 32
# How often they are looked for, at most, until all are killed.
SWEEPS = 10
ANSWER_SECONDS = 0.5
TABLE_SECONDS = 1.5
SAVE_SECONDS = 26.0
CONFIGURE_SECONDS = 2.0
REHEARSE_SECONDS = 60.0  # only for the template, on a computer that may be slow
LAST_WORDS_SECONDS = 5.0
RESULT_DEPTH = 8

QUESTIONS = {
    "complete": ANSWER_SECONDS,
    "inspect": ANSWER_SECONDS,
    "variables": TABLE_SECONDS,
    "limit": ANSWER_SECONDS,
    "table": TABLE_SECONDS,
    "save_table": SAVE_SECONDS,
}
FILE_REQUESTS = ("read_file", "write_file", "list_files", "stat_file", "remove_file", "make_folder", "disk", "trust")
BUSY = "Python is occupied; ask again when the running instruction lets go."

_READABLE = select.POLLIN | select.POLLHUP | select.POLLERR


class Ended(Exception):
    """The relay is finished; the argument is its exit status."""


@dataclass
class WorkerProcess:
    pid: int
    work: Channel
    side: Channel
    window: InterruptWindow


class Relay:
    """See the module."""

    def __init__(
        self, read_fd: int, write_fd: int, captures: list[Capture], worker: WorkerProcess, way_out: WayOut | None
    ) -> None:
        self.worker = worker
        self._way_out = way_out
        # The digest of the certificate authorities that were put into the machine; empty for those
        # of its image.
        self._trusts = ""
        self._wire = Wire(read_fd, write_fd)
        self._captures = captures
        self._outbox = Outbox()
        self._instructions = Instructions()
        self._questions = Questions(worker.side)
        self._from_worker: collections.deque[Message] = collections.deque()
        # What the worker said when it had loaded everything, and the resume that is being done.
        self._warm: Header | None = None
        self._resume: Header | None = None
        self._ready = False
        # Whether the user's code has left processes behind.
        self._children = False
        # When to interrupt the instruction (again), and when to interrupt its children.
        self._press_at: float | None = None
        self._children_at: float | None = None
        self._wake_fd, wake_write_fd = os.pipe()
        os.set_blocking(self._wake_fd, False)
        os.set_blocking(wake_write_fd, False)
        self._files = FileThread(wake_write_fd)
        # A child that ends wakes the loop, like an answered file request.
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake_write_fd, warn_on_full_buffer=False)

    # -- the loop ----------------------------------------------------------------------------------

    def turn(self) -> None:
        """Waits until something is to be done, and does it. Raises Ended, Closed, BadFrame."""
        ready = self._wait()
        worker = self.worker
        if ready.get(self._wake_fd):
            self._woken()
        for capture in self._captures:
            if ready.get(capture.fd):
                self._pass_output(capture)
        if ready.get(worker.side.fd, 0) & _READABLE:
            self._hear_side()
        if ready.get(worker.work.fd, 0) & _READABLE and not self._from_worker:
            self._hear_work()
        self._take_from_worker()
        worker.work.flush()
        worker.side.flush()
        if ready.get(self._wire.read_fd, 0) & _READABLE:
            self._hear_supervisor()
            # An acknowledgement may have made room, and nothing else wakes the loop for what waits.
            self._take_from_worker()
        for late in self._questions.ask() if self._warm else ():
            self._unanswered(late)
        self._press_on()
        self._dispatch()
        self._wire.flush()

    def _wait(self) -> dict[int, int]:
        """What is ready, by descriptor. Registers only what the relay is willing to take now.

        The clock is looked at only where something depends on it: for a second after a restore that
        is a slow system call.
        """
        poll = select.poll()
        times = [self._questions.deadline if self._warm else None, self._press_at, self._children_at]
        poll.register(self._wake_fd, select.POLLIN)
        if not self._wire.full:
            poll.register(self._wire.read_fd, select.POLLIN)
        if self._wire.unsent:
            poll.register(self._wire.write_fd, select.POLLOUT)
        side, work = self.worker.side, self.worker.work
        poll.register(side.fd, select.POLLIN | (select.POLLOUT if side.unsent else 0))
        poll.register(work.fd, (0 if self._from_worker else select.POLLIN) | (select.POLLOUT if work.unsent else 0))
        for capture in self._captures if not self._outbox.full else ():
            if rested := capture.resting():
                times.append(rested)
            else:
                poll.register(capture.fd, select.POLLIN)
        due = min((at for at in times if at is not None), default=None)
        return dict(poll.poll(None if due is None else max(0.0, due - time.monotonic()) * 1000))

    # -- the supervisor's side ---------------------------------------------------------------------

    def _hear_supervisor(self) -> None:
        for header, payload in self._wire.receive():
            try:
                self._request(header, payload)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                self._reply(header.get("id"), error=f"malformed {header['type']} request: {error}")

    def _request(self, header: Header, payload: bytes) -> None:
        kind = header["type"]
        if kind == "execute":
            self._instructions.add(int(header["seq"]), header.get("formats"), payload)
            self._dispatch()  # at once, so that an interrupt right behind it finds it running
        elif kind == "ack":
            self._outbox.acknowledge(int(header["seq"]), int(header["index"]))
        elif kind == "interrupt":
            self._interrupt(int(header["seq"]))
        elif kind == "cancel":
            self._instructions.cancel(int(header["seq"]))
        elif kind == "resume":
            if self._way_out is not None and (nonce := header.get("way_out")):
                self._way_out.begin(str(nonce))
            self._resume = header
            self._begin_resume()
        elif kind in QUESTIONS:
            if not self._questions.add(header, payload, QUESTIONS[kind]):
                self._reply(header.get("id"), error=BUSY, kind="busy")
        elif kind in FILE_REQUESTS:
            self._files.ask(header, payload)

    def _emit(self, seq: int, header: Header, payload: bytes = b"", last: bool = False) -> None:
        self._wire.send(self._outbox.add(seq, header, payload, last))

    def _reply(
        self,
        request: Any,
        result: Any = None,
        payload: bytes = b"",
        error: str | None = None,
        kind: str | None = None,
    ) -> None:
        header = {"type": "reply", "id": request, "ok": error is None}
        header |= {"result": result} if error is None else {"error": error}
        if kind is not None:
            header["kind"] = kind
        try:
            if nested(result, RESULT_DEPTH):
                raise ValueError("it is nested too deep")
            frame = wire_frame(header, payload)
        except (TypeError, ValueError) as trouble:
            frame = wire_frame({"type": "reply", "id": request, "ok": False, "error": f"No answer: {trouble}."})
        self._wire.send(frame)

    # -- resume ------------------------------------------------------------------------------------

    def _begin_resume(self) -> None:
        """Acknowledges, and has the worker configure itself: `ready` follows its answer."""
        header = self._resume
        if header is None or self._warm is None:
            return
        self._ready = False
        for seq, index in header.get("acked") or ():
            self._outbox.acknowledge(int(seq), int(index))
        limit = header.get("limit_bytes")
        settings = {
            "type": "configure",
            "reseed": bool(header.get("reseed")),
            "reseed_python": bool(header.get("reseed_python")),
            "rehearse": bool(header.get("rehearse")),
            "limit_bytes": None if limit is None else int(limit),
            "env": {str(name): str(value) for name, value in (header.get("env") or {}).items()},
            "formats": [str(name) for name in header.get("formats") or ()],
        }
        self._questions.clear()
        self._questions.add(settings, b"", REHEARSE_SECONDS if settings["rehearse"] else CONFIGURE_SECONDS)

    def _finish_resume(self) -> None:
        """Answers `ready`, then sends again whatever is not acknowledged."""
        if self._resume is None or self._warm is None:
            return
        sync, self._resume = self._resume.get("sync"), None
        self._ready = True
        doing = self._instructions
        ready = {
            "type": "ready",
            "pid": self.worker.pid,
            "python": self._warm["python"],
            "baseline_bytes": self._warm["baseline_bytes"],
            "last_seq": doing.last_seq,
            "running": doing.running_seq,
            "queued": doing.queued,
            "trusts": self._trusts,
        }
        if sync is not None:
            ready["sync"] = sync
        self._wire.restart()
        self._wire.send(wire_frame(ready))
        for frame in self._outbox.unacknowledged():
            self._wire.send(frame)

    # -- instructions ------------------------------------------------------------------------------

    def _dispatch(self) -> None:
        """Starts the next instruction, if its time has come."""
        doing = self._instructions
        if not self._ready or doing.running or not doing.queued or self._from_worker or self._outbox.full:
            return
        for capture in self._captures:
            if capture.waiting():
                self._pass_output(capture)  # written before it starts, so not its output
        instruction = doing.start_next()
        if self._children and not _many():
            instruction.others = processes.descendants(self.worker.pid)
        self._emit(instruction.seq, {"type": "started", "at": time.time()})
        self.worker.work.send(
            {"type": "execute", "seq": instruction.seq, "formats": instruction.formats}, instruction.code
        )

    def _interrupt(self, seq: int) -> None:
        instruction = self._instructions.running
        if instruction is not None and instruction.seq == seq:
            instruction.interrupts += 1
            instruction.pressed = False
            self._press_at = time.monotonic()

    def _press_on(self) -> None:
        """Brings an interrupt to the worker as soon as it can take it, and then to the
        instruction's children."""
        instruction = self._instructions.running
        if instruction is None:
            self._press_at = self._children_at = None
        if instruction is None or (self._press_at is None and self._children_at is None):
            return
        now = time.monotonic()
        if self._press_at is not None and now >= self._press_at:
            self._press_at = None
            if self.worker.window.seq == instruction.seq:
                self._press(instruction)
            else:
                self._press_at = now + PRESS_SECONDS  # it has not quite begun, or is already over
        if self._children_at is not None and now >= self._children_at:
            self._children_at = None
            self._signal_started(instruction, signal.SIGINT)

    def _press(self, instruction: Instruction) -> None:
        times, worker = instruction.interrupts, {self.worker.pid}
        self.worker.side.send({"type": "press", "seq": instruction.seq, "hard": times > 1})
        processes.send_signal(worker, signal.SIGCONT)  # one that has stopped itself hears nothing else
        processes.send_signal(worker, signal.SIGINT)
        if times == 1:
            self._children_at = time.monotonic() + CHILDREN_SECONDS
        else:
            processes.send_signal(worker, processes.NUDGE)
            self._signal_started(instruction, signal.SIGTERM if times == 2 else signal.SIGKILL)

    @property
    def _ours(self) -> set[int]:
        """The processes that are not the user's."""
        return {self.worker.pid, os.getpid()} | ({self._way_out.pid} if self._way_out is not None else set())

    def _signal_started(self, instruction: Instruction, number: int) -> None:
        """Signals the processes that the instruction has started."""
        worker, many, done = self.worker.pid, _many(), instruction.others | self._ours
        if number == signal.SIGINT and not many:
            processes.send_signal(processes.descendants(worker) - done, number)
            return
        for _ in range(SWEEPS):
            with processes.stopped(worker):  # it is the leader of their group
                started = (processes.running() if many else processes.descendants(worker)) - done
                processes.send_signal(started, number)
            # One that was just forking when all were stopped has a child that was not there yet,
            # and the code multiplies again from that one.
            done |= started
            if not started or number != signal.SIGKILL:
                return

    # -- the worker's side -------------------------------------------------------------------------

    def _pass_output(self, capture: Capture) -> None:
        data = capture.read()
        seq = self._instructions.running_seq
        if not data:
            return
        if seq is not None:
            self._emit(seq, {"type": "output", "stream": capture.stream}, data)
        elif self._wire.unsent_bytes < BACKGROUND_LIMIT:
            self._wire.send(wire_frame({"type": "background", "stream": capture.stream}, data))

    def _hear_work(self) -> None:
        messages = self._receive(self.worker.work)
        if messages:
            self._from_worker.extend(messages)
            self._mark()

    def _mark(self) -> None:
        for capture in self._captures:
            capture.mark()

    def _take_from_worker(self) -> None:
        """Passes the worker's messages on, each after the output that was written before it."""
        while self._from_worker:
            for capture in self._captures:
                while capture.owed:
                    if self._outbox.full:
                        return
                    self._pass_output(capture)
            if self._outbox.full:
                return
            header, payload = self._from_worker.popleft()
            try:
                self._message(header, payload)
            except (KeyError, TypeError, ValueError, RecursionError):
                self._lost()  # forged: the worker itself does not send such a thing
            if self._from_worker:
                self._mark()

    def _message(self, header: Header, payload: bytes) -> None:
        kind, seq = header.pop("type"), self._instructions.running_seq
        if kind == "warm":
            self._warm = header
            self._wire.send(wire_frame({"type": "template"}))
            self._begin_resume()
        elif seq is None:
            return  # shown by a thread while nothing runs: there is nowhere to put it
        elif kind == "result":
            self._children = header.pop("children")
            self._emit(seq, {"type": kind, **header}, payload, last=True)
            done = self._instructions.finish()
            if done.interrupts and _many():
                self._signal_started(done, signal.SIGKILL)
        elif kind in ("display", "clear"):
            self._emit(seq, {"type": kind, **header}, payload)
            self.worker.work.send({"type": "taken"})

    def _hear_side(self) -> None:
        for message in self._receive(self.worker.side):
            pressed = message[0].get("pressed")
            if pressed is not None and pressed == self._instructions.running_seq and self._children_at is not None:
                self._children_at = time.monotonic()
            found = self._questions.match(message)
            if found is None:
                continue
            asked, answer = found
            if asked.header["type"] == "configure":
                self._finish_resume()
            else:
                self._reply(
                    asked.header.get("id"), answer.get("result"), error=answer.get("error"), kind=answer.get("kind")
                )

    def _unanswered(self, question: Question) -> None:
        """The time of a question is over."""
        if question.header["type"] == "configure":
            self._finish_resume()  # the control thread will get to it before the user's Python code goes on
        else:
            self._reply(question.header.get("id"), error=BUSY, kind="busy")

    def _receive(self, channel: Channel) -> list[Message]:
        try:
            messages = channel.receive()
        except BadFrame:
            messages = None
        if messages is None:
            self._lost()
        return messages or []

    # -- processes and files -----------------------------------------------------------------------

    def _woken(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake_fd, 4096)
        status = processes.reap().get(self.worker.pid)
        if status is not None:
            self._die(status)
        for header, payload in self._files.replies():
            self._trusts = header.get("trusts", self._trusts)
            self._reply(header["id"], header.get("result"), payload, header.get("error"))

    def _lost(self) -> None:
        """The worker closed its sockets or sends nonsense: it is dying, or cannot be reached any
        more and is ended."""
        patience = time.monotonic() + 0.2
        while time.monotonic() < patience:
            status = processes.reap().get(self.worker.pid)
            if status is not None:
                self._die(status)
            time.sleep(0.005)
        processes.send_signal({self.worker.pid}, signal.SIGKILL)
        os.waitpid(self.worker.pid, 0)
        self._die(processes.LOST_STATUS << 8)

    def _die(self, status: int) -> None:
        """Sends what the worker still said and wrote, and how it died, and ends."""
        with contextlib.suppress(BadFrame):
            self._from_worker.extend(self.worker.work.receive() or ())
        while self._from_worker and self._from_worker[0][0].get("type") in ("display", "clear", "result"):
            self._mark()
            self._pass_marked()
            with contextlib.suppress(KeyError, TypeError, ValueError, RecursionError):
                self._message(*self._from_worker.popleft())
        self._mark()
        self._pass_marked()
        exit_code, number, reason = processes.ending(status)
        told = {"seq": self._instructions.running_seq, "exit_code": exit_code, "signal": number, "reason": reason}
        self._wire.send(wire_frame({"type": "died", **told}))
        deadline = time.monotonic() + LAST_WORDS_SECONDS
        self._wire.flush()
        while self._wire.unsent and (left := deadline - time.monotonic()) > 0:
            poll = select.poll()
            poll.register(self._wire.write_fd, select.POLLOUT)
            poll.poll(left * 1000)
            self._wire.flush()
        raise Ended(70)

    def _pass_marked(self) -> None:
        for capture in self._captures:
            while capture.owed and not self._outbox.full:
                self._pass_output(capture)


def _many() -> bool:
    return len(processes.running()) > MANY_PROCESSES


def serve(relay: Relay) -> int:
    """Runs the relay to its end and returns the exit status."""
    try:
        while True:
            relay.turn()
    except Ended as ended:
        return int(ended.args[0])
    except Closed:
        return 0
    except BadFrame as error:
        sys.stderr.write(f"forevervm_runner: {error}\n")
        return 71
