"""Tables a page at a time: right, bounded, and unable to change anything or to hold anybody up."""

import json
import time
from typing import Any

import pytest
from harness import Runner
from test_assist import answer

FRAME = (
    "import numpy as np, pandas as pd\n"
    "frame = pd.DataFrame({'n': [3, 1, 2, None], 'word': ['b', 'A', None, 'c=1'], 'day': pd.date_range('2024-01-01', periods=4),"
    " 'flag': [True, False, True, False]}, index=['w', 'x', 'y', 'z'])\n"
)


def table(machine: Runner, name: str, **query: Any) -> Any:
    return answer(machine, "table", json.dumps({"name": name, **query}).encode())


def first(page: Any) -> list[str | None]:
    return [row[0] for row in page["cells"]]


def test_a_page_is_what_was_asked_for(machine: Runner) -> None:
    machine.run(
        FRAME
        + "many = pd.DataFrame(np.arange(300_000).reshape(1000, 300))\nseries = frame['n']\narray = np.zeros((3, 2))"
    )
    page = table(machine, "frame")
    assert (page["rows"], page["matching"], page["width"], page["index"]) == (4, 4, 4, ["w", "x", "y", "z"])
    assert [(c["name"], c["number"]) for c in page["columns"]] == [
        ("n", True),
        ("word", False),
        ("day", False),
        ("flag", False),
    ]
    assert (
        page["cells"][0] == ["3.0", "b", "2024-01-01", "True"]
        and page["cells"][2][1] is None
        and page["cells"][3][0] is None
    )
    page = table(machine, "many", offset=995, limit=500, first_column=280, columns=500)
    assert (page["rows"], page["width"], page["first_column"], len(page["columns"])) == (1000, 300, 280, 20)
    assert len(page["cells"]) == 5 and page["cells"][0][0] == str(995 * 300 + 280)
    page = table(machine, "many", limit=10**9, columns=10**9)
    assert (len(page["cells"]), len(page["columns"])) == (200, 50)
    assert table(machine, "many", offset=10**9)["cells"] == []
    assert (
        first(table(machine, "series")) == ["3.0", "1.0", "2.0", None] and first(table(machine, "array")) == ["0.0"] * 3
    )


def test_lists_and_dicts_are_tables(machine: Runner) -> None:
    machine.run(
        "numbers, words, nested = [3, 1, 2], ('b', 'a'), [[1, 2], [3], {4}]\n"
        "prices, people = {'tea': 2.5, 'milk': 1.25}, [{'name': 'Ann', 'age': 41}, {'name': 'Bo'}]\n"
        "colours, empty, odd = {'red'}, [], {1: None, (2, 3): b'x'}\n"
        "most, long = ['x'] * 100_000, list(range(100_001))"
    )
    page = table(machine, "numbers", sort={"column": 0})
    assert (page["rows"], page["index"], first(page)) == (3, ["1", "2", "0"], ["1", "2", "3"])
    assert page["columns"][0] == {"name": "value", "type": "int64", "number": True}
    assert first(table(machine, "words")) == ["b", "a"]
    assert first(table(machine, "nested")) == ["[1, 2]", "[3]", "{4}"]
    page = table(machine, "prices", filters=[{"column": 0, "test": "gt", "value": "2"}])
    assert (page["index"], first(page)) == (["tea"], ["2.5"])
    page = table(machine, "people")
    assert [column["name"] for column in page["columns"]] == ["name", "age"]
    assert page["cells"] == [["Ann", "41.0"], ["Bo", None]]
    assert first(table(machine, "colours")) == ["red"] and table(machine, "empty")["rows"] == 0
    assert table(machine, "odd")["index"] == ["1", "(2, 3)"] and table(machine, "odd", about=True)["rows"] == 2
    assert table(machine, "most", about=True)["rows"] == 100_000
    assert "100,001 items" in table(machine, "long")["problem"]


def test_what_columns_hold_is_told(machine: Runner) -> None:
    machine.run(
        FRAME + "big = pd.DataFrame({'n': np.arange(300_000), 's': 'x'})\n"
        "class Odd:\n  def __str__(self): raise ValueError\nodd = pd.DataFrame({'o': [Odd()]})"
    )
    page = table(machine, "frame", about=True)
    assert page["cells"] == [] and page["matching"] == 4
    n, word, day, flag = [column["about"] for column in page["columns"]]
    assert n == {
        "missing": 1,
        "sampled": False,
        "low": "1.0",
        "high": "3.0",
        "counts": [1] + [0] * 5 + [1] + [0] * 4 + [1],
    }
    assert (word["missing"], word["distinct"], len(word["top"])) == (1, 3, 3)
    assert (day["low"], day["high"], sum(day["counts"])) == ("2024-01-01", "2024-01-04", 4)
    assert {(one["value"], one["count"]) for one in flag["top"]} == {("True", 2), ("False", 2)}
    matching = table(machine, "frame", about=True, filters=[{"column": 0, "test": "ge", "value": "2"}])
    assert (matching["matching"], matching["columns"][0]["about"]["low"]) == (2, "2.0")
    n, s = [column["about"] for column in table(machine, "big", about=True)["columns"]]
    assert n["sampled"] and 60_000 < sum(n["counts"]) <= 100_000 and s["distinct"] is None
    assert table(machine, "odd", about=True)["columns"][0]["about"] is None


def test_sorting_and_filtering(machine: Runner) -> None:
    machine.run(FRAME + "mixed = pd.DataFrame({'m': [2, 'a', None, 1.5]})")
    assert first(table(machine, "frame", sort={"column": 0})) == ["1.0", "2.0", "3.0", None]
    assert first(table(machine, "frame", sort={"column": 0, "descending": True})) == ["3.0", "2.0", "1.0", None]
    assert table(machine, "frame", sort={"column": -1, "descending": True})["index"] == ["z", "y", "x", "w"]
    assert len(table(machine, "mixed", sort={"column": 0})["cells"]) == 4

    def found(column: int, test: str, value: str, **more: Any) -> list[str]:
        return table(machine, "frame", filters=[{"column": column, "test": test, "value": value}], **more)["index"]

    assert found(0, "ge", "2") == ["w", "y"] and found(0, "eq", "1.0") == ["x"]
    assert (
        found(1, "contains", "a") == ["x"] and found(1, "contains", "=1") == ["z"] and found(1, "contains", ".*") == []
    )
    assert (
        found(2, "lt", "2024-01-02") == ["w"] and found(3, "eq", "true") == ["w", "y"] and found(-1, "eq", "y") == ["y"]
    )
    assert found(0, "ge", "1", sort={"column": 0}) == ["x", "y", "w"]
    page = table(
        machine,
        "frame",
        filters=[{"column": 0, "test": "ge", "value": "1"}, {"column": 3, "test": "eq", "value": "true"}],
        limit=1,
    )
    assert (page["matching"], page["rows"], page["index"]) == (2, 4, ["w"])


def test_what_is_no_table_is_told(machine: Runner) -> None:
    machine.run(FRAME + "number = 3\ncube = np.zeros((2, 2, 2))")
    for name in ("number", "cube", "nothing"):
        assert table(machine, name).keys() == {"problem"}
    told = table(machine, "frame", filters=[{"column": 0, "test": "lt", "value": "much"}])
    assert "cannot be compared" in told["problem"]


def test_hostile_cells_are_bounded_and_change_nothing(machine: Runner) -> None:
    machine.run(
        "import pandas as pd, time\n"
        "class Sly:\n    def __str__(self):\n        global caught\n        caught = True\n        return 'x' * 2000\n    __repr__ = __str__\n"
        "class Slow:\n    def __str__(self): time.sleep(60)\n    __repr__ = __str__\n"
        "caught = False\n"
        "sly = pd.DataFrame({i: [Sly()] * 200 for i in range(60)})\n"
        "long = pd.DataFrame({'t': ['ä' * 10**6] * 300, 'l': [list(range(10**5))] * 300})\n"
        "slow = pd.DataFrame({'s': [Slow()]})"
    )
    page = table(machine, "sly", limit=60, columns=30)
    assert (len(page["cells"]), len(page["cells"][0])) == (60, 30) and len(page["cells"][0][0]) <= 24
    page = table(machine, "long", limit=20)
    assert len(page["cells"][0][0]) <= 200 and page["cells"][0][1] == "list of 100,000"
    assert machine.run("caught").value == "False"
    start = time.monotonic()
    header = machine.ask("table", json.dumps({"name": "slow"}).encode()).header
    assert not header["ok"] and header["kind"] == "busy" and time.monotonic() - start < 10


def test_an_interrupt_does_not_wait_for_a_table(machine: Runner) -> None:
    machine.run(
        "import pandas as pd, time\nclass Slow:\n    def __str__(self): time.sleep(60)\nslow = pd.DataFrame({'s': [Slow()]})"
    )
    seq = machine.start("while True: pass")
    machine.wait(lambda: machine.first("started", seq=seq))
    machine.send({"type": "table", "id": 77}, json.dumps({"name": "slow"}).encode())
    machine.interrupt(seq)
    assert machine.finish(seq).ename == "KeyboardInterrupt"


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_the_rows_that_match_are_saved_to_a_file_of_their_own(machine: Runner, ending: str) -> None:
    machine.run(
        "import pandas as pd, glob; t = pd.DataFrame({'n': [3, 1, 2], 'at': pd.date_range('2026-01-01', periods=3, tz='UTC')})"
    )
    query = {
        "name": "t",
        "format": ending,
        "sort": {"column": 0},
        "filters": [{"column": 0, "test": "ge", "value": "2"}],
    }
    saved = answer(machine, "save_table", json.dumps(query).encode())
    assert saved["rows"] == 2 and saved["path"].startswith("/tmp/table-")
    read = f"pd.read_csv({saved['path']!r})" if ending == "csv" else f"pd.read_excel({saved['path']!r})"
    assert machine.run(f"list({read}['n'])").value == "[2, 3]"
    assert answer(machine, "save_table", json.dumps({"name": "absent", "format": ending}).encode()) == {
        "problem": "There is no variable absent any more."
    }
