"""Numbered frames, kept until the supervisor has stored them for good."""

from collections import deque
from collections.abc import Iterator

from .frames import Header, wire_frame

HIGH_WATER = 4 << 20


class Outbox:
    """Numbers the frames of each instruction from 0 and keeps them until acknowledged.

    `full` says that no more output should be read from the machine; a frame that is already made is
    always taken.
    """

    def __init__(self) -> None:
        self._kept: dict[int, deque[tuple[int, bytes]]] = {}
        self._next_index: dict[int, int] = {}
        self._bytes = 0

    @property
    def full(self) -> bool:
        return self._bytes >= HIGH_WATER

    def add(self, seq: int, header: Header, payload: bytes = b"", last: bool = False) -> bytes:
        """Numbers a frame, keeps it, and returns its bytes for sending now.

        `last`: nothing follows for `seq`."""
        index = self._next_index.get(seq, 0)
        if last:
            self._next_index.pop(seq, None)
        else:
            self._next_index[seq] = index + 1
        frame = wire_frame({**header, "seq": seq, "index": index}, payload)
        self._kept.setdefault(seq, deque()).append((index, frame))
        self._bytes += len(frame)
        return frame

    def acknowledge(self, seq: int, index: int) -> None:
        """Forgets the frames of `seq` up to and including `index`."""
        kept = self._kept.get(seq)
        while kept and kept[0][0] <= index:
            self._bytes -= len(kept.popleft()[1])
        if kept is not None and not kept:
            del self._kept[seq]

    def unacknowledged(self) -> Iterator[bytes]:
        """Every kept frame, oldest instruction first."""
        for kept in self._kept.values():
            for _, frame in kept:
                yield frame
