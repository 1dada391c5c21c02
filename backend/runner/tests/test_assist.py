"""Completion, inspection, variables: useful, quick, and unable to run the user's code for long."""

import time
from typing import Any

import pytest
from harness import DEADLINE, Runner


def answer(machine: Runner, kind: str, payload: bytes = b"", **fields: Any) -> Any:
    """The answer to a question, asked again as long as the computer is too busy for it."""
    deadline = time.monotonic() + DEADLINE
    while True:
        header = machine.ask(kind, payload, **fields).header
        if header["ok"]:
            return header["result"]
        assert header["kind"] == "busy" and time.monotonic() < deadline, header


def complete(machine: Runner, code: str, cursor: int | None = None) -> list[str]:
    found = answer(machine, "complete", code.encode(), cursor=len(code) if cursor is None else cursor)
    return [match["text"] for match in found["matches"]]


def variables(machine: Runner, limit: int = 1000) -> dict[str, dict[str, Any]]:
    return {entry["name"]: entry for entry in answer(machine, "variables", limit=limit)["variables"]}


def test_completion(machine: Runner) -> None:
    machine.run(
        "import math\nlong_variable_name = 1\ntext = 'abc'\nimport pandas as pd\ndf = pd.DataFrame({'column one': [1], 'two': [2]})"
    )
    assert "long_variable_name" in complete(machine, "long_var")
    assert any(match.endswith("floor") for match in complete(machine, "math.flo"))
    assert any(match.endswith("upper") for match in complete(machine, "x = 1\ntext.up"))
    assert any("column one" in match for match in complete(machine, "df['col"))
    assert any(match.endswith("two") for match in complete(machine, "df.tw"))
    assert complete(machine, "x = pri") == ["print"]
    assert "long_variable_name" in complete(machine, "print(long_va")
    assert any(match.endswith("path") for match in complete(machine, "import os.pat"))
    assert complete(machine, "no_such_name.x") == []


def test_completion_positions_are_code_points(machine: Runner) -> None:
    code = "'😀'; math.flo + 1"
    machine.run("import math")
    found = answer(machine, "complete", code.encode(), cursor=code.index(" +"))
    match = next(m for m in found["matches"] if m["text"].endswith("floor"))
    assert (code[: match["start"]] + match["text"] + code[match["end"] :]) == "'😀'; math.floor + 1"


def test_inspection(machine: Runner) -> None:
    machine.run("def greet(name: str, times: int = 1) -> str:\n    '''Says hello.'''\n    return 'hi'")
    result = answer(machine, "inspect", b"greet(", cursor=6, detail=0)
    assert result["found"] and result["name"] == "greet"
    assert "times: int = 1" in result["definition"].replace("'", "") and "Says hello." in result["docstring"]
    assert "source" not in result
    assert "return 'hi'" in answer(machine, "inspect", b"greet", cursor=5, detail=1)["source"]
    assert not answer(machine, "inspect", b"nothing_here", cursor=4, detail=0)["found"]


def test_variables(machine: Runner) -> None:
    machine.run(
        "import numpy as np, pandas as pd\n"
        "number = 41\nwords = ['a', 'b']\narray = np.zeros((3, 4))\nframe = pd.DataFrame({'a': [1, 2, 3], 'b': 'xyz'})\n"
        "series = frame['a']\nmapping = {'k': [1, 2]}\ndef function(): pass\nclass Class: pass\nobj = Class()\n"
        "_private = 1\ntext = 'x' * 10_000\nnothing = None\nempty = set()\none = (1,)\nbig = 10 ** 10_000\n"
    )
    found = variables(machine)
    deadline = time.monotonic() + DEADLINE
    while found["frame"]["shape"] is None and time.monotonic() < deadline:  # a busy computer has no time for it
        found = variables(machine)
    assert found["number"] | {"bytes": 0} == {
        "name": "number", "type": "int", "kind": "value", "length": None, "shape": None, "dtype": None, "bytes": 0, "preview": "41",
    }  # fmt: skip
    assert (found["words"]["length"], found["words"]["preview"]) == (2, "['a', 'b']")
    assert (found["array"]["shape"], found["array"]["dtype"], found["array"]["bytes"]) == ([3, 4], "float64", 96)
    assert (found["frame"]["type"], found["frame"]["shape"], found["frame"]["preview"]) == ("DataFrame", [3, 2], "a, b")
    assert found["frame"]["bytes"] > 0 and found["series"]["shape"] == [3]
    assert found["mapping"]["preview"] == "{'k': [1, 2]}"
    assert (found["function"]["kind"], found["Class"]["kind"], found["obj"]["type"]) == ("function", "class", "Class")
    assert len(found["text"]["preview"]) <= 120 and found["text"]["length"] == 10_000
    assert (found["empty"]["preview"], found["one"]["preview"], found["nothing"]["preview"]) == (
        "set()",
        "(1,)",
        "None",
    )
    assert "_private" not in found and "np" not in found and "In" not in found
    assert len(variables(machine, 3)) == 3


HOSTILE = """
import time, os
class Trap:
    hits = []
    def _spring(self, *a, **k):
        Trap.hits.append(1)
        open(os.path.expanduser('~/sprung'), 'a').close()
        while True:
            try:
                while True: time.sleep(0.01)
            except BaseException: pass
    __repr__ = __str__ = __len__ = __dir__ = __getattr__ = __sizeof__ = __eq__ = __hash__ = _spring
    __iter__ = __getitem__ = __format__ = __bool__ = __class_getitem__ = _spring
    _ipython_key_completions_ = __signature__ = property(_spring)
class Meta(type):
    def __getattribute__(cls, name): Trap()._spring()
    def __instancecheck__(cls, x): Trap()._spring()
class Odd(metaclass=Meta): pass
trap = Trap(); odd = object.__new__(Odd)
holder = [trap, odd]; keyed = {'k': trap}
class MyList(list):
    __len__ = __iter__ = __repr__ = Trap._spring
mine = MyList()
safe = 'safe'
"""


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("complete", "trap."),
        ("complete", "trap["),
        ("complete", "odd."),
        ("inspect", "trap"),
        ("inspect", "odd"),
        ("inspect", "trap.x"),
    ],
)
def test_hostile_objects_cannot_hold_assistance(start, kind: str, code: str) -> None:  # type: ignore[no-untyped-def]
    runner = start()
    runner.run(HOSTILE)
    began = time.monotonic()
    runner.ask(kind, code.encode(), cursor=len(code), detail=1)
    assert time.monotonic() - began < 1.0
    assert runner.run("len(Trap.hits), safe").value == "(0, 'safe')", "what ran, ran in a copy"
    assert "safe" in complete(runner, "saf")


def test_hostile_objects_are_not_touched_by_the_listing(start) -> None:  # type: ignore[no-untyped-def]
    runner = start()
    runner.run(HOSTILE)
    found = variables(runner)
    assert found["trap"]["type"] == "Trap" and found["odd"]["type"] == "Odd"
    assert found["holder"]["preview"] == "[<Trap>, <Odd>]"
    assert found["keyed"]["preview"] == "{'k': <Trap>}"
    assert found["mine"]["type"] == "MyList"
    assert not runner.ask("read_file", path="sprung", offset=0, length=1).header["ok"]


HOSTILE_TYPES = """
import os, time
import pandas as pd
from pandas.api.extensions import ExtensionArray, ExtensionDtype
def spring(*a, **k):
    global sprung
    sprung = True
    while True: time.sleep(0.01)
sprung = False
class Meta(type):
    __hash__ = __eq__ = __instancecheck__ = __subclasscheck__ = __getattribute__ = spring
class Odd(metaclass=Meta): pass
class Name(str):
    __format__ = __getitem__ = __str__ = __len__ = spring
class Named: pass
Named.__name__ = Name('Named')
class Names(dict):
    items = __iter__ = keys = copy = __getitem__ = spring
class Dtype(ExtensionDtype):
    name, type = 'trap', object
    @classmethod
    def construct_array_type(cls): return Array
class Array(ExtensionArray):
    dtype = Dtype()
    def __init__(self): self.armed = False
    def __len__(self): return 1 if not self.armed else spring()
    def copy(self): return self
    def __getitem__(self, i): return self
    def isna(self): return [False]
    nbytes = property(spring)
array = Array()
series = pd.Series(array, copy=False)
array.armed = True
odd = object.__new__(Odd); named = Named(); plain = 41
"""


def test_hostile_types_cannot_hold_assistance(start) -> None:  # type: ignore[no-untyped-def]
    runner = start()
    assert runner.run(HOSTILE_TYPES).ok
    for _ in range(2):
        began = time.monotonic()
        found = variables(runner)
        assert time.monotonic() - began < 5
        assert found["plain"]["preview"] == "41"
        assert (found["odd"]["type"], found["named"]["type"], found["series"]["type"]) == ("Odd", "Named", "Series")
        assert "plain" in complete(runner, "pla")
    assert runner.run("sprung").value == "False", "what ran, ran in a copy"
    runner.run("get_ipython().user_ns = Names(get_ipython().user_ns)")
    assert "plain" in variables(runner) and "plain" in complete(runner, "pla")


def test_what_is_registered_for_forks_cannot_hold_assistance(start) -> None:  # type: ignore[no-untyped-def]
    runner = start()
    runner.run(
        "import os, time\nran = []\ndef hook():\n    ran.append(1)\n    time.sleep(600)\n"
        "os.register_at_fork(before=hook, after_in_parent=hook)\ntext = 'abc'"
    )
    for _ in range(2):
        assert any(match.endswith("upper") for match in complete(runner, "x = 1\ntext.up"))
    assert runner.run("ran").value == "[]"


def test_a_copy_leaves_no_processes_behind(start) -> None:  # type: ignore[no-untyped-def]
    runner = start()
    runner.run(
        "import os, time\nclass Forks:\n    def __dir__(self):\n        if os.fork() == 0: time.sleep(600)\n        return ['sprung']\nforks = Forks()"
    )
    count = "len([name for name in os.listdir('/proc') if name.isdigit()])"
    before = runner.run(count).value
    complete(runner, "x = 1\nforks.")
    deadline = time.monotonic() + 10
    while (now := runner.run(count).value) != before and time.monotonic() < deadline:
        pass
    assert now == before


def test_copies_beside_a_busy_thread(start) -> None:  # type: ignore[no-untyped-def]
    """A copy is made while another thread wants the interpreter."""
    runner = start()
    runner.run("import pandas as pd\nframe = pd.DataFrame({'a': [1, 2, 3]})")
    seq = runner.start("print('in')\nwhile True: pass")
    runner.printed(seq, "in\n")
    described, deadline = 0, time.monotonic() + 120
    while described < 5 and time.monotonic() < deadline:
        described += variables(runner)["frame"]["shape"] == [3, 1]
    assert described == 5
    runner.interrupt(seq)
    assert runner.finish(seq).ename == "KeyboardInterrupt"


def test_while_an_instruction_runs(machine: Runner) -> None:
    machine.run("value = 5")
    seq = machine.start("while True: pass")
    machine.wait(lambda: machine.first("started", seq=seq))
    assert variables(machine)["value"]["preview"] == "5"
    assert "value" in complete(machine, "valu")
    machine.interrupt(seq)
    assert machine.finish(seq).ename == "KeyboardInterrupt"


def test_busy_when_python_cannot_answer(machine: Runner) -> None:
    machine.run("value = 5")
    machine.run("import re")
    seq = machine.start("re.match(r'(a+)+$', 'a' * 40 + 'b')")
    machine.wait(lambda: machine.first("started", seq=seq))
    began = time.monotonic()
    for kind, fields in (("variables", {"limit": 5}), ("complete", {"cursor": 3}), ("limit", {"limit_bytes": None})):
        reply = machine.ask(kind, b"val", **fields)
        assert not reply.header["ok"] and reply.header["kind"] == "busy"
    assert time.monotonic() - began < 5
    assert machine.ask("list_files", path="/", limit=5).header["ok"]
    machine.interrupt(seq)
    assert machine.finish(seq).ename == "KeyboardInterrupt"
    assert variables(machine)["value"]["preview"] == "5"
