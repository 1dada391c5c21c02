"""The way out: a process that carries the connections which code opens to the proxy's port, over
two pipes of its own.

It does not look at the data: the proxy outside decides and answers. The connections share the pipes
with yamux (https://github.com/hashicorp/yamux/blob/master/spec.md). Each has a window, so one that
nobody reads does not hold up the others. After a restore the pipes are new, and what was open is
over. Process 1 then tells the nonce with which both sides start over.
"""

import collections
import contextlib
import os
import select
import signal
import socket
import stat
import struct
from dataclasses import dataclass
from typing import NoReturn

from .descriptors import seal

PORT = 3128
READ_FD, WRITE_FD = 3, 4
NONCE_BYTES = 32
CONNECTIONS = 60  # fewer than the supervisor lets in
FIRST_WINDOW, WINDOW = 256 << 10, 512 << 10  # both ways, as yamux begins, and from then on
CHUNK = 256 << 10
HIGH_WATER = 1 << 20

_HEADER = struct.Struct(">BBHII")
DATA, WINDOW_UPDATE, PING = range(3)
SYN, ACK, FIN, RST = 1, 2, 4, 8


@dataclass
class WayOut:
    """The process, and the socket on which it is told of a restore."""

    pid: int
    control: socket.socket

    def begin(self, nonce: str) -> None:
        """Ends what was open, and starts over.

        A process that the user's code has ended does not matter."""
        with contextlib.suppress(OSError):
            self.control.send(nonce.encode("ascii", "replace"), socket.MSG_DONTWAIT)


def given() -> bool:
    """Whether there are pipes for it.

    Asked before anything is opened, which would get their numbers."""
    try:
        return all(stat.S_ISFIFO(os.fstat(fd).st_mode) for fd in (READ_FD, WRITE_FD))
    except OSError:
        return False


def start(close: tuple[int, ...]) -> WayOut:
    """Starts the process. It closes what is not its own."""
    control, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        control.close()
        for fd in close:
            os.close(fd)
        _serve(theirs)
    theirs.close()
    os.close(READ_FD)
    os.close(WRITE_FD)
    return WayOut(pid, control)


def _serve(control: socket.socket) -> NoReturn:
    seal()
    try:
        os.setpgid(0, 0)  # of its own, so that what ends the worker's group does not end this
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        EgressRelay(control, READ_FD, WRITE_FD, PORT).run()
    finally:
        os._exit(0)


class Stream:
    """One connection."""

    def __init__(self, number: int, sock: socket.socket) -> None:
        self.number, self.sock = number, sock
        self.credit = FIRST_WINDOW  # bytes that may be sent out
        self.pending: collections.deque[bytes] = collections.deque()  # for the program
        self.taken = 0  # bytes that the program took since that was last told
        self.ended_here = self.ended_there = False


class EgressRelay:
    """See the module."""

    def __init__(self, control: socket.socket, read_fd: int, write_fd: int, port: int) -> None:
        self._control, self._read_fd, self._write_fd = control, read_fd, write_fd
        os.set_blocking(read_fd, False)
        os.set_blocking(write_fd, False)
        self._listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind(("127.0.0.1", port))
        self._listener.listen(64)
        self._listener.setblocking(False)
        self._streams: dict[int, Stream] = {}
        self._by_fd: dict[int, Stream] = {}
        self._out: collections.deque[bytes | memoryview] = collections.deque()
        self._unsent = 0
        self._last = -1
        # What is looked for before anything else counts; empty when there is no restore that we
        # were told of yet.
        self._nonce = b""
        self._told = b""
        self._linked = False
        self._head = b""
        # Of the frame that is being received: whose data it is, how much is to come, and its flags.
        self._whose: Stream | None = None
        self._left = 0
        self._flags = 0

    def run(self) -> None:
        while self._turn():
            pass

    def _turn(self) -> bool:
        poll = select.poll()
        poll.register(self._control.fileno(), select.POLLIN)
        if self._nonce or self._linked:
            poll.register(self._read_fd, select.POLLIN)
        if self._unsent:
            poll.register(self._write_fd, select.POLLOUT)
        if self._linked and len(self._streams) < CONNECTIONS:
            poll.register(self._listener.fileno(), select.POLLIN)
        for fd, stream in self._by_fd.items():
            wanted = select.POLLOUT if stream.pending else 0
            if not stream.ended_here and stream.credit and self._unsent < HIGH_WATER:
                wanted |= select.POLLIN
            if wanted:
                poll.register(fd, wanted)
        for fd, event in poll.poll():
            if fd == self._control.fileno():
                if not self._hear_control():
                    return False
                break  # nothing of before counts any more
            if fd == self._read_fd:
                if not self._receive():
                    return False
            elif fd == self._listener.fileno():
                self._accept()
            elif (ready := self._by_fd.get(fd)) is not None:
                if event & ~select.POLLIN and ready.pending:
                    self._pass_in(ready)
                if event & ~select.POLLOUT and not ready.ended_here and ready.number in self._streams:
                    self._pass_out(ready)
        return self._flush()

    # -- starting over -----------------------------------------------------------------------------

    def _hear_control(self) -> bool:
        data = self._control.recv(4096)
        self._told += data
        while len(self._told) >= NONCE_BYTES:
            self._restart(self._told[:NONCE_BYTES])
            self._told = self._told[NONCE_BYTES:]
        return bool(data)

    def _restart(self, nonce: bytes) -> None:
        for stream in list(self._streams.values()):
            self._drop(stream)
        self._out.clear()
        self._unsent = 0
        self._last = -1
        self._head, self._whose, self._left = b"", None, 0
        self._nonce, self._linked = nonce, False
        self._send(nonce)

    # -- to the outside ----------------------------------------------------------------------------

    def _send(self, data: bytes) -> None:
        self._out.append(data)
        self._unsent += len(data)

    def _frame(self, kind: int, flags: int, number: int, length: int) -> None:
        self._send(_HEADER.pack(0, kind, flags, number, length))

    def _flush(self) -> bool:
        try:
            while self._out:
                sent = os.write(self._write_fd, self._out[0])
                self._unsent -= sent
                if sent < len(self._out[0]):
                    self._out[0] = memoryview(self._out[0])[sent:]
                else:
                    self._out.popleft()
        except BlockingIOError:
            pass
        except OSError:
            return False
        return True

    def _accept(self) -> None:
        try:
            sock, _ = self._listener.accept()
        except OSError:
            return
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._last += 2
        stream = Stream(self._last, sock)
        self._streams[stream.number] = self._by_fd[sock.fileno()] = stream
        self._frame(WINDOW_UPDATE, SYN, stream.number, WINDOW - FIRST_WINDOW)

    def _pass_out(self, stream: Stream) -> None:
        try:
            data = stream.sock.recv(min(CHUNK, stream.credit))
        except BlockingIOError:
            return
        except OSError:
            self._reset(stream)
            return
        if data:
            stream.credit -= len(data)
            self._frame(DATA, 0, stream.number, len(data))
            self._send(data)
            return
        stream.ended_here = True
        self._frame(WINDOW_UPDATE, FIN, stream.number, 0)
        self._end_if_over(stream)

    def _reset(self, stream: Stream) -> None:
        self._frame(WINDOW_UPDATE, RST, stream.number, 0)
        self._drop(stream)

    def _drop(self, stream: Stream) -> None:
        self._streams.pop(stream.number, None)
        self._by_fd.pop(stream.sock.fileno(), None)
        if not (stream.ended_here and stream.ended_there):
            with contextlib.suppress(OSError):  # the program is not to take it for the end
                stream.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        stream.sock.close()

    def _end_if_over(self, stream: Stream) -> None:
        if stream.ended_here and stream.ended_there and not stream.pending:
            self._drop(stream)

    # -- from the outside --------------------------------------------------------------------------

    def _receive(self) -> bool:
        try:
            data = os.read(self._read_fd, CHUNK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if not data:
            return False
        if self._nonce:
            data = self._head + data
            at = data.find(self._nonce)
            if at < 0:
                self._head = data[-NONCE_BYTES + 1 :]
                return True
            data = data[at + NONCE_BYTES :]
            self._head, self._nonce, self._linked = b"", b"", True
        view = memoryview(data)
        while view:
            if self._left:
                part = view[: self._left]
                view = view[len(part) :]
                self._left -= len(part)
                self._hear_data(part)
                continue
            missing = _HEADER.size - len(self._head)
            self._head += view[:missing]
            view = view[missing:]
            if len(self._head) == _HEADER.size:
                _, kind, flags, number, length = _HEADER.unpack(self._head)
                self._head = b""
                self._hear(kind, flags, number, length)
        return True

    def _hear(self, kind: int, flags: int, number: int, length: int) -> None:
        if kind == PING and flags & SYN:
            self._frame(PING, ACK, 0, length)
            return
        if kind > WINDOW_UPDATE:
            return
        stream = self._streams.get(number)
        if kind == DATA and length:
            self._whose, self._left, self._flags = stream, length, flags
            return
        if stream is None:
            return
        if kind == WINDOW_UPDATE:
            stream.credit += length
        self._hear_flags(stream, flags)

    def _hear_data(self, part: memoryview) -> None:
        stream = self._whose
        if stream is not None and stream.number in self._streams:
            stream.pending.append(bytes(part))
            self._pass_in(stream)
        if not self._left and stream is not None and stream.number in self._streams:
            self._hear_flags(stream, self._flags)

    def _hear_flags(self, stream: Stream, flags: int) -> None:
        if flags & RST:
            self._drop(stream)
        elif flags & FIN and not stream.ended_there:
            stream.ended_there = True
            self._pass_in(stream)

    def _pass_in(self, stream: Stream) -> None:
        try:
            while stream.pending:
                piece = stream.pending[0]
                sent = stream.sock.send(piece)
                stream.taken += sent
                if sent < len(piece):
                    stream.pending[0] = piece[sent:]
                    break
                stream.pending.popleft()
        except BlockingIOError:
            pass
        except OSError:
            self._reset(stream)
            return
        if stream.taken >= WINDOW // 2 and not stream.ended_there:
            self._frame(WINDOW_UPDATE, 0, stream.number, stream.taken)
            stream.taken = 0
        if stream.ended_there and not stream.pending:
            with contextlib.suppress(OSError):
                stream.sock.shutdown(socket.SHUT_WR)
            self._end_if_over(stream)
