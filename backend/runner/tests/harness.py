"""A supervisor in miniature: starts a runner and speaks its protocol."""

import contextlib
import itertools
import json
import os
import shlex
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

DEADLINE = 120.0  # seconds; far more than anything takes but on a computer with ten times too much to do
PACKAGE = Path(__file__).resolve().parent.parent

Header = dict[str, Any]
T = TypeVar("T")


def command(fresh: bool) -> list[str]:
    """How to start a runner, from nothing or as most machines do.

    The sandbox's own test entry sets the variables."""
    given = os.environ.get("FOREVERVM_RUNNER_CMD")
    if not fresh:
        given = os.environ.get("FOREVERVM_RUNNER_RESTORE", given)
    return shlex.split(given) if given else [sys.executable, "-m", "forevervm_runner"]


def encode(header: Header, payload: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return struct.pack(">II", len(text), len(payload)) + text + payload


@dataclass
class Frame:
    header: Header
    payload: bytes

    @property
    def type(self) -> str:
        return str(self.header["type"])

    @property
    def key(self) -> tuple[int, int]:
        return self.header["seq"], self.header["index"]

    @property
    def mimes(self) -> dict[str, bytes]:
        """The representations in the payload, by type."""
        found, start = {}, 0
        for mime, length in self.header["mimes"]:
            found[mime] = self.payload[start : start + length]
            start += length
        assert start == len(self.payload)
        return found


@dataclass
class Outcome:
    """All frames of one instruction."""

    seq: int
    frames: list[Frame] = field(default_factory=list)

    def of(self, kind: str) -> list[Frame]:
        return [frame for frame in self.frames if frame.type == kind]

    def stream(self, name: str) -> bytes:
        return b"".join(frame.payload for frame in self.of("output") if frame.header["stream"] == name)

    @property
    def out(self) -> str:
        return self.stream("stdout").decode("utf-8", "replace")

    @property
    def err(self) -> str:
        return self.stream("stderr").decode("utf-8", "replace")

    @property
    def result(self) -> Frame:
        (result,) = self.of("result")
        return result

    @property
    def ok(self) -> bool:
        return bool(self.result.header["status"] == "ok")

    @property
    def value(self) -> str | None:
        """`repr()` of the value, None when there is none. Fails when the instruction did."""
        assert self.ok, self.error
        plain = self.result.mimes.get("text/plain")
        return None if plain is None else plain.decode()

    @property
    def error(self) -> str:
        assert not self.ok, self.result
        return self.result.mimes["text/plain"].decode()

    @property
    def ename(self) -> str:
        assert not self.ok, self.value
        return str(self.result.header["ename"])


def check(frame: Frame) -> None:
    """Holds a frame to what the supervisor and the daemon accept (backend/sandbox/protocol): beyond
    it they end the machine."""
    header, kind = frame.header, frame.type
    assert depth(header) <= 16
    if "index" in header:
        assert all(type(header[name]) is int and 0 <= header[name] <= 1 << 40 for name in ("seq", "index"))
    if kind in ("output", "background"):
        assert header["stream"] in ("stdout", "stderr") and len(frame.payload) <= 64 << 10
    elif kind == "started":
        assert 0 <= header["at"] < 253402300799
    elif kind == "display":
        assert len((header["display_id"] or "").encode("utf-8", "replace")) <= 4 << 10
        assert type(header["update"]) is bool
    elif kind == "clear":
        assert type(header["wait"]) is bool
    elif kind == "result":
        assert header["status"] in ("ok", "error") and 0 <= header["runtime_ms"] <= 10**13
        assert type(header["truncated"]) is bool
        assert len(header.get("ename", "").encode("utf-8", "surrogatepass")) <= 256
    elif kind == "died":
        assert header["exit_code"] in (None, *range(256)) and header["signal"] in (None, *range(1, 65))
    else:
        assert kind in ("template", "ready", "reply")
    if kind in ("display", "result"):
        assert len(header["mimes"]) <= 64
        assert sum(length for _, length in header["mimes"]) == len(frame.payload)
        for name, length in header["mimes"]:
            assert type(length) is int and 0 <= length <= 4 << 20
            assert 0 < len(name) <= 256 and name.isascii() and name.isprintable()


def depth(value: Any) -> int:
    if not isinstance(value, (dict, list)):
        return 0
    return 1 + max(map(depth, value.values() if isinstance(value, dict) else value), default=0)


def _no_number(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


class Gone(Exception):
    """The runner ended while something was awaited of it."""


class Runner:
    """One runner process.

    Frames are collected by a thread; tests wait for conditions on them. Only a fresh one is sure to
    send a `template`."""

    def __init__(self, acknowledge: bool = True, reading: bool = True, fresh: bool = False) -> None:
        self.acknowledge = acknowledge
        self.frames: list[Frame] = []
        self.problem: Exception | None = None
        self.ended = False
        self._changed = threading.Condition()
        self._reading = threading.Event()
        if reading:
            self._reading.set()
        self._writing = threading.Lock()
        self._seqs = itertools.count()
        self._ids = itertools.count(1)
        self._home = tempfile.TemporaryDirectory(prefix="runner-home-")
        environment = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": self._home.name,
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(PACKAGE),
            "OPENBLAS_NUM_THREADS": "1",
        }
        for name in os.environ:
            if name.startswith("FOREVERVM_"):
                environment[name] = os.environ[name]
        self.process = subprocess.Popen(
            command(fresh), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=self._home.name
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    # -- life --------------------------------------------------------------------------------------

    def resume(self, **fields: Any) -> Header:
        """Sends a resume and returns the `ready` that answers it."""
        settings = {
            "acked": [],
            "reseed": False,
            "reseed_python": False,
            "rehearse": False,
            "limit_bytes": None,
            "env": {},
            "formats": ["png"],
            "hostname": "machine",
            **fields,
        }
        before = len(self.frames)
        self.send({"type": "resume", **settings})
        return self.wait(lambda: self.first("ready", before)).header

    def close(self) -> int:
        """Ends the runner as a supervisor does, by closing its stdin."""
        try:
            if self.process.stdin:
                self.process.stdin.close()
        except OSError:
            pass
        self._reading.set()
        try:
            return self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
        finally:
            self._reader.join(10)
            assert self.process.stdout
            self.process.stdout.close()
            self._home.cleanup()

    def pause_reading(self) -> None:
        self._reading.clear()

    def continue_reading(self) -> None:
        self._reading.set()

    # -- sending -----------------------------------------------------------------------------------

    def send(self, header: Header, payload: bytes = b"") -> None:
        assert self.process.stdin
        with self._writing:
            self.process.stdin.write(encode(header, payload))
            self.process.stdin.flush()

    def start(self, code: str | bytes, **fields: Any) -> int:
        """Queues an instruction and returns its number."""
        seq = next(self._seqs)
        self.send({"type": "execute", "seq": seq, **fields}, code.encode() if isinstance(code, str) else code)
        return seq

    def run(self, code: str | bytes, timeout: float = DEADLINE, **fields: Any) -> Outcome:
        return self.finish(self.start(code, **fields), timeout)

    def interrupt(self, seq: int) -> None:
        self.send({"type": "interrupt", "seq": seq})

    def ask(self, kind: str, payload: bytes = b"", timeout: float = DEADLINE, **fields: Any) -> Frame:
        """A request that is answered by a `reply`."""
        number = next(self._ids)
        self.send({"type": kind, "id": number, **fields}, payload)
        return self.wait(
            lambda: next((f for f in self.frames if f.type == "reply" and f.header["id"] == number), None), timeout
        )

    # -- waiting -----------------------------------------------------------------------------------

    def wait(self, found: Callable[[], T | None], timeout: float = DEADLINE) -> T:
        """Blocks until `found` gives something."""
        deadline = time.monotonic() + timeout
        with self._changed:
            while True:
                answer = found()
                if answer:
                    return answer
                if self.problem is not None:
                    raise self.problem
                if self.ended:
                    raise Gone(self.frames[-1:])
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"after {len(self.frames)} frames, the last {self.frames[-3:]}")
                self._changed.wait(left)

    def first(self, kind: str, start: int = 0, seq: int | None = None) -> Frame | None:
        for frame in self.frames[start:]:
            if frame.type == kind and (seq is None or frame.header.get("seq") == seq):
                return frame
        return None

    def outcome(self, seq: int) -> Outcome:
        """What has arrived of an instruction so far."""
        return Outcome(seq, [f for f in list(self.frames) if "index" in f.header and f.header["seq"] == seq])

    def finish(self, seq: int, timeout: float = DEADLINE) -> Outcome:
        """Waits for an instruction's result."""
        self.wait(lambda: self.first("result", seq=seq), timeout)
        return self.outcome(seq)

    def printed(self, seq: int, text: str, timeout: float = DEADLINE) -> None:
        """Waits until an instruction has written a text."""
        self.wait(lambda: text in self.outcome(seq).out, timeout)

    # -- receiving ---------------------------------------------------------------------------------

    def _exactly(self, size: int) -> bytes:
        assert self.process.stdout
        data = self.process.stdout.read(size)
        if len(data) < size:
            raise EOFError
        return data

    def _read(self) -> None:
        try:
            while True:
                self._reading.wait()
                header_size, payload_size = struct.unpack(">II", self._exactly(8))
                assert 2 <= header_size <= 1 << 20 and payload_size <= 8 << 20
                header = json.loads(self._exactly(header_size).decode("utf-8"), parse_constant=_no_number)
                frame = Frame(header, self._exactly(payload_size))
                check(frame)
                with self._changed:
                    self.frames.append(frame)
                    self._changed.notify_all()
                if self.acknowledge and "index" in header:
                    with contextlib.suppress(BrokenPipeError):
                        self.send({"type": "ack", "seq": header["seq"], "index": header["index"]})
        except EOFError:
            pass
        except Exception as error:
            self.problem = error
        with self._changed:
            self.ended = True
            self._changed.notify_all()


def interrupted(machine: Runner, code: str, presses: int = 1) -> Outcome:
    """Starts the code, waits until it says `in`, interrupts until it ends."""
    seq = machine.start(code)
    machine.printed(seq, "in\n")
    for _ in range(presses):
        machine.interrupt(seq)
        try:
            machine.wait(lambda: machine.first("result", seq=seq), 1.0)
            break
        except TimeoutError:
            continue
    return machine.finish(seq)
