"""Questions to the worker's control thread, each with the time in which it must be answered.

One is put at a time. The relay never waits: it looks for the answer, and for the time, whenever it
comes round.
"""

import collections
import itertools
import time
from dataclasses import dataclass
from typing import Any

from .channel import Channel
from .frames import Header, Message

LIMIT = 64
_numbers = itertools.count()


@dataclass
class Question:
    header: Header
    payload: bytes
    deadline: float


class Questions:
    """The one that was put and those that wait."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._asked: Question | None = None
        self._number = -1
        self._waiting: collections.deque[Question] = collections.deque()

    @property
    def deadline(self) -> float | None:
        """When to look again, if anything is open."""
        return min((q.deadline for q in (self._asked, *self._waiting) if q), default=None)

    def add(self, header: Header, payload: bytes, seconds: float) -> bool:
        """Takes a question, if there are not too many already."""
        if len(self._waiting) >= LIMIT:
            return False
        self._waiting.append(Question(header, payload, time.monotonic() + seconds))
        return True

    def clear(self) -> None:
        """Forgets all: anyone who asked is gone."""
        self._asked = None
        self._waiting.clear()

    def ask(self) -> list[Question]:
        """Puts the next question if none is open. Returns those whose time is over."""
        if self._asked is None and not self._waiting:
            return []
        now, late = time.monotonic(), []
        if self._asked is not None and now >= self._asked.deadline:
            late.append(self._asked)
            self._asked = None
        while self._waiting and now >= self._waiting[0].deadline:
            late.append(self._waiting.popleft())
        if self._asked is None and self._waiting and not self._channel.unsent:
            self._asked = self._waiting.popleft()
            self._number = next(_numbers)
            self._channel.send({**self._asked.header, "ask": self._number}, self._asked.payload)
        return late

    def match(self, message: Message) -> tuple[Question, Any] | None:
        """The question that a message from the worker answers, with the answer; None if it came too
        late."""
        answer, _ = message
        if self._asked is None or answer.get("ask") != self._number:
            return None
        asked, self._asked = self._asked, None
        return asked, answer
