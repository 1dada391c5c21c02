"""The relay: an event loop between the supervisor's pipe and the worker.

It holds what must outlive the user's code: which instruction runs, which wait, the frames not yet
acknowledged. It never waits for the worker: a question that the worker does not answer in time is answered
"busy", and the worker's death is noticed at once.
"""

import collections
import os
import queue
import select
import signal
import socket
import sys
import threading
import time
from typing import Any

from . import files, processes
from .capture import CHUNK, Capture
from .frames import BadFrame, Decoder, Header, Message, inner_decoder, inner_frame, wire_decoder, wire_frame
from .outbox import Outbox
from .processes import LOST_STATUS, NUDGE

READ_BYTES = 1 << 20
WIRE_HIGH_WATER = 8 << 20
BACKGROUND_LIMIT = 1 << 20
CHILDREN_SECONDS = 0.05
ANSWER_SECONDS = 0.35
CONFIGURE_SECONDS = 2.0
QUESTION_LIMIT = 64

QUESTIONS = ("complete", "inspect", "variables", "limit")
FILE_REQUESTS = ("read_file", "write_file", "list_files")
LOST = "The code closed the descriptors through which its machine is reached."
BUSY = "busy: Python is occupied; ask again when the running instruction lets go."


class Ended(Exception):
    """The relay is finished; the argument is its exit status."""


class Channel:
    """One stream socket to the worker. Sending never blocks; receiving gives whole messages."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self._sock = sock
        self.fd = sock.fileno()
        self._decoder = inner_decoder()
        self._unsent = bytearray()

    @property
    def unsent(self) -> bool:
        return bool(self._unsent)

    def send(self, header: Header, payload: bytes = b"") -> None:
        self._unsent += inner_frame(header, payload)
        self.flush()

    def flush(self) -> None:
        """Sends what the socket takes. A worker that is gone is noticed when reading."""
        try:
            while self._unsent:
                del self._unsent[: self._sock.send(self._unsent)]
        except BlockingIOError:
            return
        except OSError:
            self._unsent.clear()

    def receive(self) -> list[Message] | None:
        """Whole messages that have arrived, or None when the worker closed its end."""
        try:
            data = self._sock.recv(READ_BYTES)
        except BlockingIOError:
            return []
        except OSError:
            return None
        if not data:
            return None
        self._decoder.feed(data)
        return list(self._decoder.messages())


class Instructions:
    """Which instruction runs and which wait, first in first out."""

    def __init__(self) -> None:
        self.last_seq = -1
        self.running: int | None = None
        self.interrupts = 0
        self.began = False
        self.others: set[int] = set()
        self.children = False
        self._queue: dict[int, tuple[list[str] | None, bytes]] = {}

    @property
    def queued(self) -> list[int]:
        return list(self._queue)

    def add(self, seq: int, formats: list[str] | None, code: bytes) -> None:
        """Queues an instruction, unless its number was seen before."""
        if seq > self.last_seq:
            self.last_seq = seq
            self._queue[seq] = (formats, code)

    def cancel(self, seq: int) -> None:
        self._queue.pop(seq, None)

    def start_next(self) -> tuple[int, list[str] | None, bytes] | None:
        """Marks the oldest waiting instruction as running, if none runs."""
        if self.running is not None or not self._queue:
            return None
        seq = next(iter(self._queue))
        formats, code = self._queue.pop(seq)
        self.running, self.interrupts, self.began = seq, 0, False
        return seq, formats, code

    def finish(self) -> None:
        self.running = None


class Question:
    """A request that the worker's side thread answers, with the time until which it may."""

    def __init__(self, header: Header, payload: bytes, seconds: float) -> None:
        self.header = header
        self.payload = payload
        self.deadline = time.monotonic() + seconds


class Relay:
    """See the module. `run` returns never; it raises Ended."""

    def __init__(
        self,
        wire_in: int,
        wire_out: int,
        captures: list[Capture],
        work: socket.socket,
        side: socket.socket,
        worker_pid: int,
    ) -> None:
        self._in, self._out = wire_in, wire_out
        self._captures = captures
        self._work, self._side = Channel(work), Channel(side)
        self._worker_pid = worker_pid
        self._requests: Decoder = wire_decoder()
        self._outbox = Outbox()
        self._instructions = Instructions()
        self._to_wire: collections.deque[memoryview] = collections.deque()
        self._to_wire_bytes = 0
        self._held = False
        self._warm: Header | None = None
        self._resume: Header | None = None
        self._configured = False
        self._from_worker: collections.deque[Message] = collections.deque()
        self._children_at: float | None = None
        self._asked: Question | None = None
        self._questions: collections.deque[Question] = collections.deque()
        self._file_requests: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._file_replies: queue.SimpleQueue[tuple[Header, bytes]] = queue.SimpleQueue()
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)

    # -- the loop -------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Serves until the supervisor closes its pipe or the worker dies."""
        os.set_blocking(self._out, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        threading.stack_size(256 << 10)
        threading.Thread(target=self._serve_files, daemon=True).start()
        threading.stack_size(0)
        while True:
            self._turn()

    def _turn(self) -> None:
        poll = select.poll()
        now = time.monotonic()
        timeout = self._time_left(now)
        if self._to_wire_bytes < WIRE_HIGH_WATER:
            poll.register(self._in, select.POLLIN)
        if self._to_wire:
            poll.register(self._out, select.POLLOUT)
        poll.register(self._wake_read, select.POLLIN)
        poll.register(self._side.fd, select.POLLIN | (select.POLLOUT if self._side.unsent else 0))
        poll.register(
            self._work.fd,
            (0 if self._from_worker else select.POLLIN) | (select.POLLOUT if self._work.unsent else 0),
        )
        if not self._outbox.full:
            for capture in self._captures:
                wait = capture.resting(now)
                if wait:
                    timeout = wait if timeout is None else min(timeout, wait)
                else:
                    poll.register(capture.fd, select.POLLIN)
        ready = dict(poll.poll(None if timeout is None else max(0, timeout * 1000)))
        readable = select.POLLIN | select.POLLHUP | select.POLLERR
        if ready.get(self._wake_read):
            self._drain_wakeups()
        for capture in self._captures:
            if ready.get(capture.fd):
                self._pass_output(capture)
        if ready.get(self._side.fd, 0) & readable:
            self._hear_side()
        if ready.get(self._work.fd, 0) & readable and not self._from_worker:
            self._hear_work()
        if self._from_worker:
            self._take_from_worker()
        self._work.flush()
        self._side.flush()
        self._ask_next()
        self._interrupt_children()
        if ready.get(self._in, 0) & readable:
            self._hear_supervisor()
        self._dispatch()
        self._flush_wire()

    def _time_left(self, now: float) -> float | None:
        times = [self._asked.deadline] if self._asked is not None else []
        if self._children_at is not None:
            times.append(self._children_at)
        return max(0.0, min(times) - now) if times else None

    # -- the supervisor's side ------------------------------------------------------------------------------

    def _hear_supervisor(self) -> None:
        data = os.read(self._in, READ_BYTES)
        if not data:
            raise Ended(0)
        self._requests.feed(data)
        for header, payload in self._requests.messages():
            try:
                self._request(header, payload)
            except (KeyError, TypeError, ValueError) as error:
                self._reply(header.get("id"), error=f"malformed {header['type']} request: {error}")

    def _request(self, header: Header, payload: bytes) -> None:
        kind = header["type"]
        if kind == "execute":
            self._instructions.add(int(header["seq"]), header.get("formats"), payload)
        elif kind == "ack":
            self._outbox.acknowledge(int(header["seq"]), int(header["index"]))
        elif kind == "interrupt":
            self._interrupt(int(header["seq"]))
        elif kind == "cancel":
            self._instructions.cancel(int(header["seq"]))
        elif kind == "resume":
            self._resume = header
            self._configured = False
            self._begin_resume()
        elif kind == "hold":
            self._send(wire_frame({"type": "held"}))
            self._held = True
        elif kind in QUESTIONS:
            if len(self._questions) >= QUESTION_LIMIT:
                self._reply(header.get("id"), error=BUSY)
            else:
                self._questions.append(Question(header, payload, ANSWER_SECONDS))
                self._ask_next()
        elif kind in FILE_REQUESTS:
            self._file_requests.put((header, payload))

    def _send(self, frame: bytes) -> None:
        """Sends now. After `held` nothing may be sent: numbered frames wait in the outbox, others are lost."""
        if not self._held:
            self._to_wire.append(memoryview(frame))
            self._to_wire_bytes += len(frame)

    def _flush_wire(self) -> None:
        while self._to_wire:
            frame = self._to_wire[0]
            try:
                sent = os.write(self._out, frame)
            except BlockingIOError:
                return
            except BrokenPipeError:
                raise Ended(0) from None
            self._to_wire_bytes -= sent
            if sent == len(frame):
                self._to_wire.popleft()
            else:
                self._to_wire[0] = frame[sent:]

    def _emit(self, seq: int, header: Header, payload: bytes = b"", last: bool = False) -> None:
        self._send(self._outbox.add(seq, header, payload, last))

    def _reply(self, request_id: Any, result: Any = None, payload: bytes = b"", error: str | None = None) -> None:
        header = {"type": "reply", "id": request_id, "ok": error is None}
        header |= {"result": result} if error is None else {"error": error}
        try:
            frame = wire_frame(header, payload)
        except (TypeError, ValueError):
            frame = wire_frame({"type": "reply", "id": None, "ok": False, "error": "the answer cannot be sent"})
        self._send(frame)

    # -- resume ---------------------------------------------------------------------------------------------

    def _begin_resume(self) -> None:
        header = self._resume
        if header is None or self._warm is None:
            return
        if self._held:
            # Nothing was under way when the supervisor last listened: what is still queued went nowhere.
            self._to_wire.clear()
            self._to_wire_bytes = 0
            self._held = False
        for seq, index in header.get("acked") or ():
            self._outbox.acknowledge(int(seq), int(index))
        limit = header.get("limit_bytes")
        settings = {
            "type": "configure",
            "reseed": bool(header.get("reseed")),
            "reseed_python": bool(header.get("reseed_python")),
            "limit": None if limit is None else int(limit),
            "env": {str(name): str(value) for name, value in (header.get("env") or {}).items()},
            "formats": header.get("formats") or ["png"],
        }
        self._questions.clear()
        self._asked = Question(settings, b"", CONFIGURE_SECONDS)
        self._side.send({**settings, "ask": id(self._asked)})

    def _finish_resume(self) -> None:
        """Answers `ready`, then sends again whatever is not acknowledged."""
        assert self._warm is not None and self._resume is not None
        sync, self._resume = self._resume.get("sync"), None
        self._configured = True
        doing = self._instructions
        ready = {
            "type": "ready",
            "pid": self._worker_pid,
            "python": self._warm["python"],
            "baseline_bytes": self._warm["baseline_bytes"],
            "last_seq": doing.last_seq,
            "running": doing.running,
            "queued": doing.queued,
        }
        if sync is not None:
            ready["sync"] = sync
        # What waits to be sent was numbered: it goes out again, once, in order. A frame that is partly sent
        # on this same pipe must be finished first.
        partial = self._to_wire[0] if self._to_wire and self._to_wire[0].nbytes != len(self._to_wire[0].obj) else None
        self._to_wire.clear()
        self._to_wire_bytes = 0
        if partial is not None:
            self._to_wire.append(partial)
            self._to_wire_bytes = len(partial)
        self._send(wire_frame(ready))
        for frame in self._outbox.unacknowledged():
            self._send(frame)

    # -- instructions ---------------------------------------------------------------------------------------

    def _dispatch(self) -> None:
        if not self._configured or self._from_worker or self._outbox.full:
            return
        for capture in self._captures:
            # What was written before the instruction starts is not its output.
            if self._instructions.running is None and self._instructions.queued and capture.waiting():
                self._pass_output(capture)
        following = self._instructions.start_next()
        if following is None:
            return
        seq, formats, code = following
        if self._instructions.children:
            # What earlier instructions left running is not to be interrupted with this one.
            self._instructions.others = processes.descendants(self._worker_pid)
        self._emit(seq, {"type": "started", "at": time.time()})
        self._work.send({"type": "execute", "seq": seq, "formats": formats}, code)

    def _interrupt(self, seq: int) -> None:
        doing = self._instructions
        if doing.running != seq:
            return
        doing.interrupts += 1
        if doing.began:
            self._press(doing.interrupts)

    def _press(self, times: int) -> None:
        """Interrupts the running instruction: at first as Ctrl-C does, then harder."""
        self._side.send({"type": "press", "seq": self._instructions.running, "hard": times > 1})
        processes.send_signal({self._worker_pid}, signal.SIGINT)
        if times == 1:
            # Python first: when its child ends too early, it goes on as if nothing had happened.
            self._children_at = time.monotonic() + CHILDREN_SECONDS
        else:
            processes.send_signal({self._worker_pid}, NUDGE)
            processes.send_signal(self._children(), signal.SIGTERM if times == 2 else signal.SIGKILL)

    def _children(self) -> set[int]:
        """The processes that the running instruction started."""
        return processes.descendants(self._worker_pid) - self._instructions.others

    def _interrupt_children(self) -> None:
        """A moment after the interrupt, those that the instruction waits for."""
        if self._children_at is not None and time.monotonic() >= self._children_at:
            self._children_at = None
            processes.send_signal(self._children(), signal.SIGINT)

    # -- the worker's side ----------------------------------------------------------------------------------

    def _pass_output(self, capture: Capture) -> None:
        data = capture.read()
        if not data:
            return
        seq = self._instructions.running
        for start in range(0, len(data), CHUNK):
            piece = data[start : start + CHUNK]
            if seq is not None:
                self._emit(seq, {"type": "output", "stream": capture.stream}, piece)
            elif self._to_wire_bytes < BACKGROUND_LIMIT:
                self._send(wire_frame({"type": "background", "stream": capture.stream}, piece))

    def _hear_work(self) -> None:
        messages = self._work.receive()
        if messages is None:
            self._worker_lost()
        else:
            self._from_worker.extend(messages)
            if messages:
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
            if self._outbox.full and self._from_worker[0][0]["type"] != "began":
                return
            header, payload = self._from_worker.popleft()
            self._message(header, payload)
            if self._from_worker:
                self._mark()

    def _message(self, header: Header, payload: bytes) -> None:
        kind, doing = header.pop("type"), self._instructions
        if kind == "warm":
            self._warm = header
            self._send(wire_frame({"type": "template"}))
            self._begin_resume()
        elif kind == "began":
            doing.began = True
            if doing.interrupts:
                self._press(1)
        elif doing.running is None:
            return  # shown by a thread while nothing runs: there is nowhere to put it
        elif kind == "result":
            doing.children = header.pop("children", False)
            if not doing.children:
                doing.others = set()
            self._emit(doing.running, {"type": kind, **header}, payload, last=True)
            doing.finish()
            self._children_at = None
        elif kind in ("display", "clear"):
            self._emit(doing.running, {"type": kind, **header}, payload)
            self._work.send({"type": "taken"})

    def _hear_side(self) -> None:
        messages = self._side.receive()
        if messages is None:
            self._worker_lost()
            return
        for header, payload in messages:
            asked = self._asked
            if asked is None or header.get("ask") != id(asked):
                continue  # an answer that came too late
            self._asked = None
            if asked.header["type"] == "configure":
                self._finish_resume()
            else:
                self._reply(asked.header.get("id"), header.get("result"), payload, header.get("error"))

    def _ask_next(self) -> None:
        """Puts the next question to the worker; gives up on those whose time is over."""
        now = time.monotonic()
        if self._asked is not None and now >= self._asked.deadline:
            asked, self._asked = self._asked, None
            if asked.header["type"] == "configure":
                self._finish_resume()
            else:
                self._reply(asked.header.get("id"), error=BUSY)
        while self._asked is None and self._questions and self._warm is not None:
            question = self._questions.popleft()
            if now >= question.deadline or self._side.unsent:
                self._reply(question.header.get("id"), error=BUSY)
                continue
            self._asked = question
            self._side.send({**question.header, "ask": id(question)}, question.payload)

    # -- processes and files --------------------------------------------------------------------------------

    def _drain_wakeups(self) -> None:
        try:
            os.read(self._wake_read, 4096)
        except BlockingIOError:
            pass
        ended = processes.reap()
        if self._worker_pid in ended:
            self._worker_ended(ended[self._worker_pid])
        while not self._file_replies.empty():
            header, payload = self._file_replies.get()
            self._reply(header["id"], header.get("result"), payload, header.get("error"))

    def _worker_lost(self) -> None:
        """The worker closed its sockets: it is dying, or cannot be reached any more and is ended."""
        status, patience = None, time.monotonic() + 0.2
        while status is None and time.monotonic() < patience:
            status = processes.reap().get(self._worker_pid)
            if status is None:
                time.sleep(0.005)
        if status is None:
            processes.send_signal({self._worker_pid}, signal.SIGKILL)
            os.waitpid(self._worker_pid, 0)
            self._die({"exit_code": None, "signal": None, "reason": LOST})
        else:
            self._worker_ended(status)

    def _worker_ended(self, status: int) -> None:
        code = os.waitstatus_to_exitcode(status)
        if code == LOST_STATUS:
            self._die({"exit_code": None, "signal": None, "reason": LOST})
        if code < 0:
            name = signal.Signals(-code).name if -code in set(signal.Signals) else str(-code)
            self._die({"exit_code": None, "signal": -code, "reason": f"Python was ended by {name}."})
        self._die({"exit_code": code, "signal": None, "reason": f"Python ended itself with status {code}."})

    def _die(self, how: Header) -> None:
        """Sends what the worker still said and wrote, how it died, and ends."""
        self._from_worker.extend(self._work.receive() or ())
        self._take_from_worker()
        for capture in self._captures:
            capture.mark()
            while capture.owed and not self._outbox.full:
                self._pass_output(capture)
        self._send(wire_frame({"type": "died", "seq": self._instructions.running, **how}))
        deadline = time.monotonic() + 5.0
        while self._to_wire and (left := deadline - time.monotonic()) > 0:
            poll = select.poll()
            poll.register(self._out, select.POLLOUT)
            poll.poll(left * 1000)
            self._flush_wire()
        raise Ended(70)

    def _serve_files(self) -> None:
        while True:
            header, payload = self._file_requests.get()
            reply: Header = {"id": header.get("id")}
            data = b""
            try:
                reply["result"], data = files.answer(header, payload)
            except files.FileTrouble as trouble:
                reply["error"] = str(trouble)
            except Exception as error:
                reply["error"] = f"{type(error).__name__}: {error}"
            self._file_replies.put((reply, data))
            try:
                os.write(self._wake_write, b"f")
            except BlockingIOError:
                pass  # full of wake-ups already


def serve(relay: Relay) -> int:
    """Runs the relay to its end and returns the exit status."""
    try:
        relay.run()
    except Ended as ended:
        return int(ended.args[0])
    except BadFrame as error:
        sys.stderr.write(f"forevervm_runner: {error}\n")
        return 71
    return 0
