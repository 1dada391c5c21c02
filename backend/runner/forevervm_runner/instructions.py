"""Which instruction runs and which wait."""

from dataclasses import dataclass, field


@dataclass
class Instruction:
    """What runs now."""

    seq: int
    formats: list[str] | None
    code: bytes
    # How often it was interrupted, and whether the last time has reached the worker.
    interrupts: int = 0
    pressed: bool = True
    # Processes that were there before it.
    others: set[int] = field(default_factory=set)


class Instructions:
    """First in, first out; each number once."""

    def __init__(self) -> None:
        self.last_seq = -1
        self.running: Instruction | None = None
        self._queue: dict[int, Instruction] = {}

    @property
    def running_seq(self) -> int | None:
        return self.running.seq if self.running else None

    @property
    def queued(self) -> list[int]:
        return list(self._queue)

    def add(self, seq: int, formats: list[str] | None, code: bytes) -> None:
        """Queues an instruction, unless its number was seen before."""
        if seq > self.last_seq:
            self.last_seq = seq
            self._queue[seq] = Instruction(seq, formats, code)

    def cancel(self, seq: int) -> None:
        self._queue.pop(seq, None)

    def start_next(self) -> Instruction:
        """Makes the oldest waiting instruction the running one."""
        self.running = self._queue.pop(next(iter(self._queue)))
        return self.running

    def finish(self) -> Instruction:
        """Returns what ran: nothing does any more."""
        assert self.running is not None
        done, self.running = self.running, None
        return done
