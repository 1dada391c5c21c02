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
import sys
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
# A lock that nobody says to hold is as long on its way to its next holder at most.
UNLOCK_SECONDS = 0.1

_HEAD, _TAIL, _DIRECT, _GUARD, _READING, _SHARED, _RESIDUE, _RING = 0, 8, 16, 24, 25, 26, 27, 64
SIZE = _RING + RING_BYTES
_from_bytes, _to_bytes = int.from_bytes, int.to_bytes
# Both marks in one look: their two bytes as a number, and what it is while text may go to memory.
_MARKS, _PLUGGED = _GUARD // 2, _from_bytes(bytes([1, 0]), sys.byteorder)

_write, _fstat, _monotonic = os.write, os.fstat, time.monotonic
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

    def __init__(self, board: Board, fd: int, pipe_fd: int, name: str) -> None:
        self.name = name
        self.mode = "wb"
        self._fd, self.pipe_fd = fd, pipe_fd
        self._use(board.memory)
        self._seal_bytes, self._plug_bytes = board.seal, board.plug * (PIPE_BYTES // CELL)
        info = _fstat(pipe_fd)
        self._identity = info.st_dev, info.st_ino
        # An own description of the pipe: that it does not block must not be seen through descriptor 1.
        self._plug_fd = hidden(os.open(f"/proc/self/fd/{pipe_fd}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
        self._head = self._tail = self._direct = 0
        self._window = 0.0
        self._writes = 0
        self._alone = True
        # Not an RLock: that looks at the clock, which for the first second after a restore is a system call.
        self._lock = _Lock()
        self._owner = 0  # the thread that is in `write`

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._fd

    def isatty(self) -> bool:
        return False

    def close(self) -> None:
        """Descriptors 1 and 2 are not Python's to close."""

    def write(self, data: Any) -> int:
        """Writes everything, and returns how much that was. `print` calls it twice for a line, so every step counts."""
        if data.__class__ is not bytes:
            data = bytes(data)
        me = _get_ident()
        if self._owner == me:
            # A signal handler or an object's finalizer prints while the same thread is in here.
            return self._write_straight(data)
        with self._lock:
            self._owner = me
            try:
                marks = self._marks
                if marks[_MARKS] != _PLUGGED and not (self._in_burst() and self._plug() and marks[_MARKS] == _PLUGGED):
                    return self._write_straight(data)
                head, size = self._head, _len(data)
                at, end = head % RING_BYTES, head + size
                if at + size <= RING_BYTES and end - self._tail <= RING_BYTES:
                    self._memory[_RING + at : _RING + at + size] = data
                    self._words[0] = self._head = end
                elif not self._keep(data, size):
                    return self._write_straight(data)
                if marks[_MARKS] != _PLUGGED:
                    self._write_straight(self._seal_bytes + _to_bytes(self._head, 8, "little"))
                return size
            finally:
                self._owner = 0

    def in_forked_child(self) -> None:
        """A forked copy of the process may not use the memory: its text would mix with the worker's."""
        self._alone = False
        self._owner = 0
        self._lock = _Lock()
        self._use(mmap.mmap(-1, SIZE))

    def _use(self, memory: mmap.mmap) -> None:
        self._memory = memory
        self._words, self._marks = memoryview(memory)[:_DIRECT].cast("Q"), memoryview(memory)[:_RING].cast("H")

    def unlock(self) -> None:
        """After an instruction, by its thread: an interrupt may have hit between taking the lock and letting it go."""
        if not self._lock.locked():
            return
        if self._lock.acquire(timeout=UNLOCK_SECONDS):
            self._lock.release()
        elif self._owner in (0, _get_ident()):
            self._owner = 0
            self._lock = _Lock()

    def _in_burst(self) -> bool:
        now = _monotonic()
        if now - self._window > BURST_SECONDS:
            self._window, self._writes = now, 0
        self._writes += 1
        return self._writes > BURST_WRITES and self._alone and not self._memory[_SHARED]

    def _plug(self) -> bool:
        """Fills the pipe. Says whether nobody can write to it now without the relay."""
        memory = self._memory
        if memory[_READING]:
            return False
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
            return True
        memory[_GUARD] = 0
        return False

    def _keep(self, data: bytes, size: int) -> bool:
        """Puts a text into the memory, if it has room."""
        memory, head = self._memory, self._head
        if head + size - self._tail > RING_BYTES:
            self._tail = _from_bytes(memory[_TAIL : _TAIL + 8], "little")
            if head + size - self._tail > RING_BYTES:
                return False
        at = head % RING_BYTES
        first = RING_BYTES - at
        if size <= first:
            memory[_RING + at : _RING + at + size] = data
        else:
            memory[_RING + at : _RING + RING_BYTES] = data[:first]
            memory[_RING : _RING + size - first] = data[first:]
        self._words[0] = self._head = head + size
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
        self._tail = 0
        self._carry = b""
        self._others = self._most = 0
        self._taken = 0

    @property
    def guarded(self) -> bool:
        """Whether the worker is writing to the memory, so that the pipe should be left alone for a moment."""
        return bool(self._memory[_GUARD])

    def begin(self) -> None:
        """Before the first read of a draining."""
        memory = self._memory
        memory[_READING] = 1
        memory[_GUARD] = 0

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

        At a plug that is all text there is: none is added while the relay drains, but perhaps by one write that was
        under way, and that belongs here too.
        """
        if self._carry:
            data, self._carry = self._carry + data, b""
        parts: list[bytes] = []
        start = 0
        while True:
            plug, seal = data.find(self._plug, start), data.find(self._seal, start)
            if plug >= 0 and not 0 <= seal < plug:
                parts.append(data[start:plug])
                parts.append(self._take(None))
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

    def _take(self, until: int | None) -> bytes:
        """The text in the memory, all or up to a position."""
        memory = self._memory
        head = _from_bytes(memory[_HEAD : _HEAD + 8], "little")
        if until is not None:
            head = _min(head, until)
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
