"""Fast text output that keeps its place among everything else written to the same descriptor.

A system call costs several microseconds in the sandbox, so a loop of `print()` must not make one per line. But C
code and subprocesses write to descriptor 1 behind Python's back, and their bytes must come out in order. So:

- Ordinarily each write goes straight into the capture pipe.
- In a burst of writes Python first *plugs* the pipe: it fills it up, so that anybody else who writes has to wait. Then
  it writes into shared memory, without system calls. Every 10 ms the relay takes the text from the memory, puts it
  where the plug stands, and drains the pipe, which lets the others write behind it.

The marks `GUARD` (the pipe is plugged and untouched: text may go to memory) and `READING` (the relay is draining: it
may not) are looked at before and after each write to memory. If the relay came in between, a *seal* is written into
the pipe: text up to here comes before whatever follows. So text in memory always has a plug or a seal in the pipe
before anything that is written later.

If others do write during bursts, the relay sets `SHARED`, and Python writes straight into the pipe for a while.
"""

import io
import mmap
import os
import select
import threading
import time
from typing import Any

from .descriptors import hidden

PIPE_BYTES = 64 << 10
RING_BYTES = 256 << 10
CELL = 16
BURST_WRITES = 32
BURST_SECONDS = 0.01

# With fewer cells than this the pipe was as good as full before.
PLUG_CELLS = 64
RESIDUE_SECONDS = 0.2

_HEAD, _TAIL, _DIRECT, _GUARD, _READING, _SHARED, _RESIDUE, _RING = 0, 8, 16, 24, 25, 26, 27, 64
SIZE = _END = _RING + RING_BYTES
_from_bytes, _to_bytes = int.from_bytes, int.to_bytes

_write, _fstat, _getppid, _monotonic = os.write, os.fstat, os.getppid, time.monotonic
_Lock, _get_ident = threading.Lock, threading.get_ident
_poll, _POLLOUT = select.poll, select.POLLOUT
_memoryview, _len, _min = memoryview, len, min


class Board:
    """The memory that the worker and the relay share for one stream, and what they put into the pipe.

    A plug is many equal cells. A seal is half a cell that tells it, and the position in the text that it stands for.
    """

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, SIZE)
        self.plug = os.urandom(CELL)
        self.seal = os.urandom(CELL // 2)


class SlateWriter(io.RawIOBase):
    """The worker's side: a raw stream on descriptor `fd`, whose pipe's write end is also `pipe_fd`."""

    # What `write` looks at for each line; slots are found sooner than other attributes.
    __slots__ = ("_at", "_lap", "_limit", "_memory", "_words")

    def __init__(self, board: Board, fd: int, pipe_fd: int, name: str) -> None:
        self.name = name
        self.mode = "wb"
        self._fd, self.pipe_fd = fd, pipe_fd
        # Where in the memory the next text goes, what that lacks to be its position in all the text, and how far it may go. No text may
        # be put there, and the limit is 0, unless the worker has plugged the pipe.
        self._at, self._lap, self._limit = _RING, -_RING, 0
        self._use(board.memory)
        self._seal_bytes, self._plug_bytes = board.seal, board.plug * (PIPE_BYTES // CELL)
        info = _fstat(pipe_fd)
        self._identity = info.st_dev, info.st_ino
        # An own description of the pipe: that it does not block must not be seen through descriptor 1.
        self._plug_fd = hidden(os.open(f"/proc/self/fd/{pipe_fd}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
        self._direct = 0
        self._plugged = self._window = 0.0
        self._writes = 0
        self._alone = True
        # Not an RLock: that looks at the clock, which for the first second after a restore is a system call.
        self._lock = _Lock()
        self._inside: set[int] = set()  # the threads that hold it or wait for it

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def isatty(self) -> bool:
        return False

    def close(self) -> None:
        """Descriptors 1 and 2 are not Python's to close."""

    def write(self, data: Any) -> int:
        """Writes everything, and returns how much that was. `print` calls it twice for a line, so every step counts.

        While the text is put into the memory nothing is called, and it is one line: so neither another thread nor a signal handler, a
        finalizer or a trace function comes in between, as CPython lets them in at calls, at loops and at new lines. That needs no lock.
        """
        if data.__class__ is bytes:
            size, memory = _len(data), self._memory
            # fmt: off
            if (end := (at := self._at) + size) <= self._limit and memory[_GUARD] and not memory[_READING]: memory[at:end] = data; self._at = end; self._words[0] = end + self._lap  # noqa: E501, E701, E702
            else: return self._write_with_care(data)  # noqa: E701
            # fmt: on
            if not memory[_GUARD] or memory[_READING]:
                self._seal()
            return size
        return self._write_with_care(bytes(memoryview(data)))

    def in_forked_child(self) -> None:
        """A forked copy of the process may not use the memory: its text would mix with the worker's."""
        self._alone = False
        self._limit = 0
        self._lock, self._inside = _Lock(), set()
        self._use(mmap.mmap(-1, SIZE))

    def _use(self, memory: mmap.mmap) -> None:
        self._memory, self._words = memory, memoryview(memory)[:_DIRECT].cast("Q")

    def unlock(self) -> None:
        """After an instruction, by its thread: an interrupt may have hit between taking the lock and letting it go."""
        self._inside.discard(_get_ident())
        if not self._inside and self._lock.locked():
            self._lock = _Lock()

    def _write_with_care(self, data: bytes) -> int:
        """`write` where the text is not just put behind the one before."""
        me = _get_ident()
        if me in self._inside:
            # A signal handler, a finalizer or a trace function prints while the same thread is in here.
            return self._write_straight(data)
        self._inside.add(me)
        try:
            with self._lock:
                self._limit = 0  # the others wait for the lock
                if not (self._in_burst() and self._plug() and self._keep(data)):
                    return self._write_straight(data)
                if self._memory[_GUARD] and not self._memory[_READING]:
                    self._limit = _min(_END, self._at + RING_BYTES - self._kept)
                else:
                    self._write_seal()
                return _len(data)
        finally:
            self._inside.discard(me)

    def _seal(self) -> None:
        """Tells the place of the text that was put into the memory while the relay came and drained the pipe."""
        me = _get_ident()
        if me in self._inside:
            self._write_seal()
            return
        self._inside.add(me)
        try:
            with self._lock:
                self._limit = 0
                self._write_seal()
        finally:
            self._inside.discard(me)

    def _write_seal(self) -> None:
        self._write_all(self._seal_bytes + _to_bytes(self._at + self._lap, 8, "little"))

    def _in_burst(self) -> bool:
        now = _monotonic()
        if now - self._plugged > 2 * BURST_SECONDS:  # else it goes on after the relay has come
            if now - self._window > BURST_SECONDS:
                self._window, self._writes = now, 0
            self._writes += 1
        return self._writes > BURST_WRITES and self._alone and not self._memory[_SHARED]

    def _plug(self) -> bool:
        """Fills the pipe. Says whether nobody can write to it now without the relay."""
        memory = self._memory
        if memory[_READING]:
            return False
        if memory[_GUARD]:
            return True  # it is plugged
        try:
            info = _fstat(self._fd)
            if (info.st_dev, info.st_ino) != self._identity:
                return False  # the user's code put another file in place of descriptor 1
            memory[_GUARD], memory[_RESIDUE] = 1, CELL
            written = _write(self._plug_fd, self._plug_bytes)
        except OSError:
            memory[_GUARD], memory[_RESIDUE] = 0, 0
            return False
        # All that fitted in one piece: the pipe is full. It need not have ended with a whole cell.
        memory[_RESIDUE] = written % CELL
        if written >= PLUG_CELLS * CELL:
            self._plugged = _monotonic()
            return True
        memory[_GUARD] = 0
        return False

    @property
    def _kept(self) -> int:
        """How much of the memory the relay has not taken."""
        return self._at + self._lap - _from_bytes(self._memory[_TAIL : _TAIL + 8], "little")

    def _keep(self, data: bytes) -> bool:
        """Puts a text into the memory, if it has room."""
        memory, at, size = self._memory, self._at, _len(data)
        if size > RING_BYTES - self._kept:
            return False
        first = _END - at
        if size <= first:
            memory[at : at + size] = data
            self._at = at + size
        else:
            memory[at:_END] = data[:first]
            memory[_RING : _RING + size - first] = data[first:]
            self._at, self._lap = _RING + size - first, self._lap + RING_BYTES
        self._words[0] = self._at + self._lap
        return True

    def _write_straight(self, data: bytes) -> int:
        self._direct += _len(data)
        self._memory[_DIRECT : _DIRECT + 8] = _to_bytes(self._direct, 8, "little")
        self._write_all(data)
        return _len(data)

    def _write_all(self, data: bytes) -> None:
        view = _memoryview(data)
        while view:
            try:
                view = view[_write(self._fd, view) :]
            except BlockingIOError:  # the user's code made the descriptor so
                poll = _poll()
                poll.register(self._fd, _POLLOUT)
                poll.poll()


class SlateReader:
    """The relay's side: tells when the pipe may be read, and weaves the memory's text into what is read."""

    def __init__(self, board: Board) -> None:
        self._memory = board.memory
        self._plug, self._seal = board.plug, board.seal
        self._most_of_plug = board.plug * (PIPE_BYTES // CELL - 1 - PLUG_CELLS)
        self._tail = self._begun = 0
        self._carry = b""
        self._others = self._most = 0
        self._taken = 0

    def begin(self) -> None:
        """Before the first read of a draining."""
        memory = self._memory
        memory[_READING] = 1
        memory[_GUARD] = 0
        _getppid()  # any system call: after it the worker has seen the marks, and what it put there before is seen here
        self._begun = self._head

    def end(self) -> bytes:
        """The pipe was seen empty. Returns what was held back as the possible beginning of a marker."""
        # A plug that came during the draining was drained with it.
        self._memory[_GUARD] = 0
        self._memory[_READING] = 0
        rest, self._carry = self._carry, b""
        self._others += len(rest)
        return rest

    def weave(self, data: bytes) -> bytes:
        """The user's bytes in what was read: plugs and seals taken out, the memory's text put in their place.

        At a plug that is what was there when the draining began: what has come since has a seal.
        """
        if self._carry:
            data, self._carry = self._carry + data, b""
        parts: list[bytes] = []
        start = 0
        while True:
            plug, seal = data.find(self._plug, start), data.find(self._seal, start)
            if plug >= 0 and not 0 <= seal < plug:
                parts.append(data[start:plug])
                parts.append(self._take(self._begun))
                start = self._plug_end(data, plug)
            elif 0 <= seal <= len(data) - CELL:
                parts.append(data[start:seal])
                parts.append(self._take(_from_bytes(data[seal + CELL // 2 : seal + CELL], "little")))
                start = seal + CELL
            else:
                break
        keep = len(data) - self._unfinished(data[start:])
        self._carry = data[keep:]
        parts.append(data[start:keep])
        self._others += sum(map(len, parts)) - self._taken
        self._taken = 0
        return b"".join(parts)

    def _unfinished(self, data: bytes) -> int:
        """How many bytes at the end may be the beginning of a plug's cell or of a seal."""
        for size in range(min(CELL - 1, len(data)), 0, -1):
            end = data[-size:]
            if self._plug.startswith(end) or self._seal.startswith(end[: CELL // 2]):
                return size
        return 0

    def _plug_end(self, data: bytes, start: int) -> int:
        """Where the plug that begins at `start` ends."""
        cell, end = self._plug, start + CELL
        if data.startswith(self._most_of_plug, end):
            end += _len(self._most_of_plug)
        while data.startswith(cell, end):
            end += CELL
        # A plug ends with as much of a cell as had room. The worker notes how much, right after writing it.
        patience = time.monotonic() + RESIDUE_SECONDS
        while (residue := self._memory[_RESIDUE]) == CELL and time.monotonic() < patience:
            time.sleep(0)
        while residue and not data.startswith(cell[:residue], end):
            residue -= 1
        return end + residue

    def shared(self) -> bool:
        """Whether anybody but the worker's Python has written to the pipe since this was last asked."""
        # What others wrote in all, less what Python wrote and is still unread.
        others = self._others - _from_bytes(self._memory[_DIRECT : _DIRECT + 8], "little")
        more, self._most = others > self._most, max(others, self._most)
        return more

    def set_shared(self, shared: bool) -> None:
        """Tells the worker to write straight into the pipe (or that it need not any more)."""
        self._memory[_SHARED] = int(shared)

    @property
    def _head(self) -> int:
        return _from_bytes(self._memory[_HEAD : _HEAD + 8], "little")

    def _take(self, until: int) -> bytes:
        """The text in the memory up to a position."""
        memory, head = self._memory, _min(self._head, until)
        size = head - self._tail
        if not 0 < size <= RING_BYTES:
            return b""  # nothing, or the user's code has written into this memory
        at = self._tail % RING_BYTES
        first = min(size, RING_BYTES - at)
        text = memory[_RING + at : _RING + at + first] + memory[_RING : _RING + size - first]
        self._tail = head
        self._taken += size
        memory[_TAIL : _TAIL + 8] = _to_bytes(head, 8, "little")
        return text
