"""The worker's second thread: answers questions about the namespace and carries settings in.

It works while an instruction runs, as long as that lets go of the interpreter now and then.
"""

import _thread
import contextlib
import json
import os
from collections.abc import Callable

from . import assist, forked_eval, reseed, tables, threads, variables
from .frames import Header
from .interrupts import Interrupts
from .memory import limit_memory
from .pipe import Pipe
from .processes import LOST_STATUS
from .shell import Shell

DEFAULT_VARIABLES = 500
FORMATS = ("png", "svg")

# Not threading.Thread, whose parts an instruction may have overwritten.
_start_new_thread = _thread.start_new_thread
_exit, _loads = os._exit, json.loads


class ControlThread:
    """Serves one channel from the relay in a thread of its own."""

    def __init__(self, pipe: Pipe, shell: Shell, interrupts: Interrupts, rehearse: Callable[[], object]) -> None:
        self._pipe, self._shell, self._interrupts, self._rehearse = pipe, shell, interrupts, rehearse
        self._initial = frozenset(shell.user_ns)
        # Memory of the process before any user code ran; set by the worker.
        self.baseline_bytes = 0
        # The formats of figures where an instruction does not say.
        self.formats = ["png"]
        # What the environment was given.
        self._given: dict[str, str] = {}
        self._answers: dict[str, Callable[[Header, str], Header]] = {
            "complete": self._complete,
            "inspect": self._inspect,
            "variables": self._variables,
            "table": self._table,
            "save_table": self._save_table,
            "limit": self._limit,
            "configure": self._configure,
        }

    def start(self) -> None:
        threads.start(self._serve)

    def _serve(self) -> None:
        while True:
            try:
                header, payload = self._pipe.receive()
                if header["type"] == "press":
                    self._interrupts.press(header["seq"], header["hard"])
                    self._pipe.send({"pressed": header["seq"]})
                elif header["type"] in ("variables", "table", "save_table"):
                    # It takes too long for an interrupt to wait for it.
                    _start_new_thread(self._reply_aside, (header, payload))
                else:
                    self._reply(header, payload)
            except OSError:
                _exit(LOST_STATUS)
            except BaseException:
                continue  # out of memory: the relay says "busy" for us

    def _reply(self, header: Header, payload: bytes) -> None:
        self._pipe.send({**self._answer(header, payload), "ask": header["ask"]})

    def _reply_aside(self, header: Header, payload: bytes) -> None:
        with contextlib.suppress(BaseException):  # the relay says "busy" for us
            self._reply(header, payload)

    def _answer(self, header: Header, payload: bytes) -> Header:
        try:
            return self._answers[header["type"]](header, payload.decode("utf-8", "replace"))
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"[:1000]}

    def _complete(self, header: Header, code: str) -> Header:
        cursor = int(header["cursor"])
        quick = assist.complete_name(self._shell.user_ns, code, cursor)
        if quick is not None:
            return {"result": quick}
        return forked_eval.ask(lambda: assist.complete(self._shell, code, cursor))

    def _inspect(self, header: Header, code: str) -> Header:
        cursor, detail = int(header["cursor"]), int(header.get("detail") or 0)
        return forked_eval.ask(lambda: assist.inspect(self._shell, code, cursor, detail))

    def _variables(self, header: Header, _: str) -> Header:
        limit = header.get("limit")
        limit = DEFAULT_VARIABLES if limit is None else int(limit)
        names = self._shell.user_ns
        listed, whole = variables.listing(names, self._initial, limit)
        if whole:
            return {"result": listed}
        answer = forked_eval.ask(lambda: variables.listing(names, self._initial, limit, True)[0], variables.SECONDS)
        return answer if "result" in answer else {"result": listed}

    def _table(self, _: Header, query: str) -> Header:
        names = self._shell.user_ns
        return forked_eval.ask(lambda: tables.answer(names, _loads(query)), tables.SECONDS)

    def _save_table(self, _: Header, query: str) -> Header:
        names = self._shell.user_ns
        return forked_eval.ask(lambda: tables.save(names, _loads(query)), tables.SAVE_SECONDS)

    def _limit(self, header: Header, _: str) -> Header:
        limit = header.get("limit_bytes")
        limit_memory(None if limit is None else self.baseline_bytes + int(limit))
        return {"result": None}

    def _configure(self, header: Header, _: str) -> Header:
        """What a resume brings.

        One part that fails (the user's code can see to that) must not stop the others."""
        if header["reseed"]:
            with contextlib.suppress(Exception):
                reseed.reseed_openssl()
        if header["reseed_python"]:
            with contextlib.suppress(Exception):
                reseed.reseed_python()
        with contextlib.suppress(Exception):
            self._give(header["env"])
        self.formats = [name for name in header["formats"] if name in FORMATS] or ["png"]
        if header["rehearse"]:
            with contextlib.suppress(Exception):
                self._rehearse()
        return self._limit(header, "")

    def _give(self, env: dict[str, str]) -> None:
        """Sets variables. What the user's code has made of them is left alone."""
        for name, value in env.items():
            if os.environ.get(name) == self._given.get(name):
                os.environ[name] = value
        self._given = dict(env)
