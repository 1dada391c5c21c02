"""The value of an instruction, its rich representations, and its errors."""

import itertools
import json
import struct

import pytest
from harness import Runner

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("1+1", "2"),
        ("x = 1", None),
        ("None", None),
        ("", None),
        ("# nothing", None),
        ("'a\\n\"b'", "'a\\n\"b'"),
        ("for i in range(3):\n    i\n'done'", "'done'"),
        ("def f():\n    return 3\n\nf()", "3"),
        ("1+1;", None),
        ("b'\\x00\\xff'", "b'\\x00\\xff'"),
        ("'\\ud800'", "'\\ud800'"),
        ("[1, [2, {'a': (3,)}]]", "[1, [2, {'a': (3,)}]]"),
        ("if True:\n    5", None),
        ("list(range(100))", repr(list(range(100)))),
        ("import asyncio\nawait asyncio.sleep(0, 'slept')", "'slept'"),
        ("async def g():\n    return 4\nawait g()", "4"),
        ("__name__", "'__main__'"),
        ("%time 7", "7"),
        ("x = !echo one; echo two\nlist(x)", "['one', 'two']"),
        ("_ = 5\n_", "5"),
    ],
)
def test_value_is_repr_of_last_expression(machine: Runner, code: str, value: str | None) -> None:
    assert machine.run(code).value == value


def test_underscore_is_the_last_value(machine: Runner) -> None:
    machine.run("del _") if machine.run("'_' in globals()").value == "True" else None
    machine.run("6 * 7")
    assert machine.run("_ + 0").value == "42"


def test_namespace_begins_empty(start) -> None:  # type: ignore[no-untyped-def]
    runner = start()
    names = runner.run("sorted(n for n in dir() if not n.startswith('_'))").value
    assert names == "['In', 'Out', 'exit', 'get_ipython', 'open', 'quit']"


def test_repr_is_pythons_and_not_ipythons(machine: Runner) -> None:
    code = "class Wide:\n    def __repr__(self): return 'r'\n    def _repr_pretty_(self, p, c): p.text('pretty')\n[Wide()] * 3"
    assert machine.run(code).value == "[r, r, r]"
    assert machine.run("{'b': 1, 'a': set()}").value == "{'b': 1, 'a': set()}"


def test_plain_value_has_nothing_rich(machine: Runner) -> None:
    outcome = machine.run("{'a': 1}")
    assert list(outcome.result.mimes) == ["text/plain"]
    assert outcome.result.header["truncated"] is False
    assert machine.run("x = 1").result.header["mimes"] == []


def test_long_repr_keeps_head_and_tail(machine: Runner) -> None:
    outcome = machine.run("list(range(1_000_000))")
    text = outcome.value
    assert text is not None and text.startswith("[0, 1, 2,") and text.endswith("999998, 999999]")
    assert "characters left out" in text
    assert len(text.encode()) <= 1 << 20
    assert outcome.result.header["truncated"] is True


@pytest.mark.parametrize(
    ("code", "head", "tail"),
    [
        ("'ab' * 500_000_000", "'abab", "abab'"),
        ("b'\\xff' * 1_000_000_000", "b'\\xff\\xff", "\\xff\\xff'"),
        ('"it\'s " * 1_000_000', "\"it's ", "it's \""),
        ("'\"' + \"it's \" * 1_000_000", "'\"it\\'s ", "it\\'s '"),
        ("'\\u20ac' * 2_000_000", "'€€", "€€'"),
        ("'\\ud800' * 2_000_000", "'\\ud800\\ud800", "\\ud800'"),
    ],
)
def test_giant_strings(machine: Runner, code: str, head: str, tail: str) -> None:
    outcome = machine.run(code)
    text = outcome.value
    assert text is not None and text.startswith(head) and text.endswith(tail)
    assert len(text.encode()) <= 1 << 20
    assert outcome.result.header["truncated"] is True


RICH = """
class Rich:
    def __repr__(self): return 'rich'
    def _repr_html_(self): return '<b>h</b>'
    def _repr_markdown_(self): return '*m*'
    def _repr_svg_(self): return '<svg/>'
    def _repr_png_(self): return b'\\x89PNG-not-really'
    def _repr_json_(self): return {'a': [1, None, 'x']}
    def _repr_latex_(self): return '$x$'
    def _repr_jpeg_(self): return b'jpeg'
"""


def test_representations(machine: Runner) -> None:
    mimes = machine.run(RICH + "Rich()").result.mimes
    assert mimes["text/plain"] == b"rich"
    assert mimes["text/html"] == b"<b>h</b>"
    assert mimes["text/markdown"] == b"*m*"
    assert mimes["image/svg+xml"] == b"<svg/>"
    assert mimes["image/png"] == b"\x89PNG-not-really"
    assert mimes["image/jpeg"] == b"jpeg"
    assert mimes["text/latex"] == b"$x$"
    assert json.loads(mimes["application/json"]) == {"a": [1, None, "x"]}
    assert next(iter(mimes)) == "text/plain"


def test_mimebundle(machine: Runner) -> None:
    code = "class B:\n    def _repr_mimebundle_(self, **k): return {'application/x-own+json': {'k': 1}, 'text/plain': 'no'}\nB()"
    mimes = machine.run(code).result.mimes
    assert json.loads(mimes["application/x-own+json"]) == {"k": 1}
    assert mimes["text/plain"].startswith(b"<__main__.B object")


def test_too_large_representation_is_left_out(machine: Runner) -> None:
    code = "class L:\n    def __repr__(self): return 'L'\n    def _repr_html_(self): return 'x' * (5 << 20)\n    def _repr_markdown_(self): return 'm'\nL()"
    result = machine.run(code).result
    assert set(result.mimes) == {"text/plain", "text/markdown"}
    assert result.header["truncated"] is True


def test_raising_representation_tells_and_keeps_the_value(machine: Runner) -> None:
    code = "class Bad:\n    def __repr__(self): return 'bad'\n    def _repr_html_(self): raise ValueError('in html')\nBad()"
    outcome = machine.run(code)
    assert outcome.value == "bad"
    assert "ValueError: in html" in outcome.err


def test_data_frame(machine: Runner) -> None:
    mimes = machine.run("import pandas as pd\npd.DataFrame({'a': [1, 2]})").result.mimes
    assert mimes["text/plain"] == b"   a\n0  1\n1  2"
    assert b"<table" in mimes["text/html"]


def test_data_frame_comes_whole(machine: Runner) -> None:
    mimes = machine.run("import pandas as pd\npd.DataFrame({'a, b': range(400), 'c': 0.1})").result.mimes
    assert b"..." in mimes["text/html"]
    lines = mimes["text/csv"].decode().split("\n")
    assert lines[0] == ',"a, b",c' and lines[400] == "399,399,0.1" and lines[401:] == [""]


@pytest.mark.parametrize(
    "frame",
    [
        "pd.DataFrame({'a': range(50_000)})",
        "pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([(1, 2), (1, 3)]))",
        "pd.Series([1])",
    ],
)
def test_tables_that_do_not_come_whole(machine: Runner, frame: str) -> None:
    result = machine.run(f"import pandas as pd\n{frame}").result
    assert result.header["status"] == "ok" and "text/csv" not in result.mimes


def test_display_update_and_clear(machine: Runner) -> None:
    code = """
print('before')
handle = display('first', display_id='d1')
handle.update('second')
from IPython.display import clear_output, HTML
clear_output(wait=True)
display(HTML('<i>x</i>'), metadata={'k': 'v'})
print('after')
"""
    outcome = machine.run(code)
    kinds = [kind for kind, _ in itertools.groupby(frame.type for frame in outcome.frames if frame.type != "display")]
    shown = [frame.mimes.get("text/plain") for frame in outcome.of("display")]
    assert shown[:2] == [b"'first'", b"'second'"]
    order = [frame.type for frame in outcome.frames]
    assert order.index("clear") > order.index("display") > order.index("output")
    assert outcome.frames[-2].payload.endswith(b"after\n") or outcome.frames[-2].payload == b"\n"
    assert kinds == ["started", "output", "clear", "output", "result"]
    first, second, third = outcome.of("display")
    assert first.mimes["text/plain"] == b"'first'"
    assert (first.header["display_id"], first.header["update"]) == ("d1", False)
    assert (second.header["display_id"], second.header["update"]) == ("d1", True)
    assert third.mimes["text/html"] == b"<i>x</i>"
    assert third.header["metadata"] == {"k": "v"}
    assert outcome.of("clear")[0].header["wait"] is True


def test_image_from_base64_is_bytes(machine: Runner) -> None:
    code = "from IPython.display import Image\nImage(data=b'\\x89PNG\\r\\n\\x1a\\n' + bytes(30), format='png')"
    assert machine.run(code).result.mimes["image/png"].startswith(PNG)


@pytest.mark.parametrize(
    "code",
    [
        "display({'': 'x'}, raw=True)",
        "display({'text/\\x00': 'x', 'a\\nb': 'x', '\\ud800': 'x', 'tëxt': 'x'}, raw=True)",
        "display({'x' * 300: 'x', ' ': 'x', 'x' * 201: 'x'}, raw=True)",
        "display('x', metadata={'a': float('nan')})",
        "display('x', metadata={'a': [float('inf'), 1e400]})",
        "deep = {}\nfor _ in range(30): deep = {'a': [deep]}\ndisplay('x', metadata=deep)",
        "class R:\n    def _repr_mimebundle_(self, **k): return {'': 'x', 'a' * 400: 'x'}\nR()",
        "import numpy as np\nclass R:\n    def _repr_mimebundle_(self, **k): return {np.str_('text/html'): np.str_('x')}\nR()",
        "display('x', display_id='\\ud800' * 5000)",
        "class S(str): pass\ndisplay('x', display_id=S('x'), metadata={S('a'): S('b')})",
    ],
)
def test_display_keeps_within_the_protocol(machine: Runner, code: str) -> None:
    """Every frame is held to the bounds by the harness."""
    assert machine.run(code).ok


def test_names_of_representations(machine: Runner) -> None:
    shown = machine.run("display({'': 'x', 'text/html; charset=utf-8': '<b>', 'a\\x7f': 'x'}, raw=True)").of("display")[
        0
    ]
    assert shown.mimes == {"text/html; charset=utf-8": b"<b>"}
    shown = machine.run("display('x', metadata={'width': float('nan'), 'k': 1})").of("display")[0]
    assert shown.header["metadata"] == {}


@pytest.mark.parametrize(
    ("raised", "name"),
    [
        ("type('E' * 300, (Exception,), {})", "E" * 200),
        ("type('E', (Exception,), {'__qualname__': 'Q' * (2 << 20)})", "Q" * 200),
        ("type('E', (Exception,), {'__qualname__': '\\ud800' * 300})", "\\ud800" * 33 + "\\u"),
        ("type('E', (Exception,), {'__qualname__': type('S', (str,), {})('Sub')})", "Sub"),
        ("SystemExit('x' * (2 << 20))", "SystemExit"),
        ("SystemExit(10 ** 5000)", "SystemExit"),
        ("type('E', (Exception,), {'__str__': lambda e: type('S', (str,), {})('words')})()", "E"),
        ("type('E', (SystemExit,), {'__str__': lambda e: (_ for _ in ()).throw(e)})()", "Exception"),
        ("type('E', (SystemExit,), {'code': property(lambda e: 1/0)})()", "E"),
        ("Exception('x' * (2 << 20))", "Exception"),
    ],
)
def test_errors_keep_within_the_protocol(machine: Runner, raised: str, name: str) -> None:
    assert machine.run("raise " + raised).ename == name


# -- figures ---------------------------------------------------------------------------------------


def test_every_figure_comes_back_shown_or_not(machine: Runner) -> None:
    code = """
import matplotlib.pyplot as plt
plt.figure(); plt.plot([1, 2]); plt.show()
plt.figure(); plt.plot([2, 1])
fig, ax = plt.subplots(); ax.bar([1], [2])
import pandas as pd
pd.DataFrame({'a': [1, 2]}).plot()
None
"""
    outcome = machine.run(code)
    assert len(outcome.of("display")) == 4
    assert all(frame.mimes["image/png"].startswith(PNG) for frame in outcome.of("display"))
    assert outcome.value is None
    assert machine.run("plt.get_fignums()").value == "[]"


def test_figure_as_value_comes_once(machine: Runner) -> None:
    outcome = machine.run("import matplotlib.pyplot as plt\nfig, ax = plt.subplots(); ax.plot([1])\nfig")
    assert outcome.result.mimes["image/png"].startswith(PNG)
    assert outcome.of("display") == []
    assert (outcome.value or "").startswith("<Figure size 640x480")


def test_figures_of_a_failed_instruction_come_back(machine: Runner) -> None:
    outcome = machine.run("import matplotlib.pyplot as plt\nplt.plot([1])\n1/0")
    assert len(outcome.of("display")) == 1
    assert outcome.ename == "ZeroDivisionError"


def test_fonts_can_be_embedded_though_they_are_in_memory(machine: Runner) -> None:
    code = """import matplotlib.pyplot as plt, os, pathlib
plt.plot([1]); plt.title('Grüße')
for name in ("a.pdf", "a.ps", "a.svg"):
    plt.savefig("/tmp/" + name)
with plt.rc_context({"svg.fonttype": "none", "pdf.fonttype": 42}):
    plt.savefig("/tmp/b.svg"), plt.savefig("/tmp/b.pdf")
plt.close('all')
b"DejaVuSans" in pathlib.Path("/tmp/b.pdf").read_bytes()"""
    assert machine.run(code).value == "True"


def test_svg_where_asked(machine: Runner) -> None:
    outcome = machine.run("import matplotlib.pyplot as plt\nplt.plot([1]);", formats=["png", "svg"])
    mimes = outcome.of("display")[0].mimes
    assert mimes["image/png"].startswith(PNG)
    assert b"<svg" in mimes["image/svg+xml"]
    outcome = machine.run("plt.plot([1]);", formats=["svg"])
    assert {"image/png", "image/svg+xml"} <= set(outcome.of("display")[0].mimes)  # SVG is beside PNG, never instead


def test_huge_plot_is_drawn_smaller(machine: Runner) -> None:
    code = "import numpy as np, matplotlib.pyplot as plt\nplt.figure(figsize=(20, 20), dpi=150)\nplt.imshow(np.random.rand(3000, 3000, 3));"
    data = machine.run(code).of("display")[0].mimes["image/png"]
    assert data.startswith(PNG) and len(data) <= 4 << 20
    width = struct.unpack(">I", data[16:20])[0]
    assert 300 < width < 3000


def test_plot_that_cannot_be_drawn(machine: Runner) -> None:
    outcome = machine.run("import matplotlib.pyplot as plt\nplt.title('$\\\\bad$')\nplt.figure(); plt.plot([1])\n5")
    assert outcome.ename == "ValueError" and "bad" in outcome.error
    assert len(outcome.of("display")) == 1 and not outcome.err
    assert not machine.run("1").of("display")


def test_other_backend_and_magic(machine: Runner) -> None:
    code = "%matplotlib inline\nimport matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt\nplt.plot([1])\nNone"
    outcome = machine.run(code)
    assert len(outcome.of("display")) == 1
    machine.run("matplotlib.use('module://matplotlib_inline.backend_inline')")


def test_estimators_are_text(machine: Runner) -> None:
    fitted = machine.run(
        "from sklearn.linear_model import LinearRegression\nLinearRegression().fit([[1], [2]], [1, 2])"
    )
    assert list(fitted.result.mimes) == ["text/plain"]
    assert fitted.value == "LinearRegression()"


def test_plotly(machine: Runner) -> None:
    made = "import plotly.graph_objects as go\nfig = go.Figure(go.Bar(y=[1, 2]))\n"
    mime = "application/vnd.plotly.v1+json"
    value = machine.run(made + "fig")
    assert json.loads(value.result.mimes[mime])["data"][0]["type"] == "bar"
    assert value.of("display") == []
    for show in ("fig.show()", "display(fig)"):
        (shown,) = machine.run(made + show).of("display")
        assert json.loads(shown.mimes[mime])["data"][0]["y"] is not None


FRAME = 'import pandas as pd\ndf = pd.DataFrame({"month": [1], "Revenue": [2.0], "shop": ["a"]})\n'

# -- errors ----------------------------------------------------------------------------------------


def test_traceback_is_pythons(machine: Runner) -> None:
    outcome = machine.run("def f():\n    return 1/0\n\nf()")
    assert (outcome.ename, outcome.result.header["evalue"]) == ("ZeroDivisionError", "division by zero")
    lines = outcome.error.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1] == f'  File "<step {outcome.seq + 1}>", line 4, in <module>'
    assert "    return 1/0" in lines
    assert lines[-1] == "ZeroDivisionError: division by zero"
    assert "\x1b" not in outcome.error
    assert "forevervm_runner" not in outcome.error and "interactiveshell" not in outcome.error


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (f'{FRAME}df["profit"].sum()', 'There is no column "profit". There are: month, Revenue, shop.'),
        (f"{FRAME}df.profit.sum()", 'There is no column "profit". There are: month, Revenue, shop.'),
        (f'{FRAME}df["revenue"]', 'There is no column "revenue". Is it "Revenue"? There are: month, Revenue, shop.'),
        (f'{FRAME}df[["month", "x"]]', "The table's columns are: month, Revenue, shop."),
        (f'{FRAME}df.groupby("city").sum()', 'There is no column "city". There are: month, Revenue, shop.'),
        (f'{FRAME}df.sort_values("date")', 'There is no column "date". There are: month, Revenue, shop.'),
        (
            "import sklaern.linear_model",
            "There is no library sklaern in this machine. %pip install sklaern installs it.",
        ),
        ("import fitz", "There is no library fitz in this machine. %pip install pymupdf installs it."),
        ("open('/root/hints/salse.csv')", 'There is no file "salse.csv" in /root/hints. Is it "sales.csv"?'),
        ("open('/root/hints/x')", 'There is no file "x" in /root/hints. There are: dates.txt, sales.csv.'),
        ("open('/root/nowhere/x', 'w')", 'There is no folder "/root/nowhere". os.makedirs makes one.'),
        ("b'caf\\xe9 au lait'.decode()", 'This text is not in UTF-8. Pass encoding="cp1252"'),
        ("float('1.234,50')", "'1.234,50' is text, and a number is needed."),
        ("import re\nre.match('a', 'b').group()", "What stands before .group is empty (None)"),
        ("1 + '1'", "A number and a text cannot be put together so."),
        ("print(", "The code ends too early"),
        (
            "raise OSError(\"HTTPSConnectionPool: (Caused by ProxyError('x', OSError('Tunnel connection failed: 502 ForeverVM: The name a.example is not known.')))\")",
            "The name a.example is not known.",
        ),
        (
            "raise OSError('<urlopen error 403 ForeverVM: That machine\\'s owner denied it.>')",
            "That machine's owner denied it.",
        ),
        ("import requests\nraise requests.exceptions.ReadTimeout('x')", "The website did not answer in time."),
        ("[1][3]", "It has fewer entries than the code asks for."),
        ("import pandas as pd, io\npd.read_csv(io.StringIO(''))", "The file is empty."),
        ("import pandas as pd, io\npd.read_csv(io.StringIO('a,b\\n1,2\\n1,2,3,4'))", "Line 3 has 4 values, not 2"),
    ],
)
def test_an_error_says_what_helps(machine: Runner, code: str, says: str) -> None:
    machine.run(
        "import os\nos.makedirs('/root/hints', exist_ok=True)\nfor n in ('sales.csv', 'dates.txt'): open(f'/root/hints/{n}', 'w').close()"
    )
    last = machine.run(code).error.splitlines()[-1]
    assert last.startswith(says), last


def test_an_error_of_the_users_own_says_nothing_more(machine: Runner) -> None:
    hostile = "class Bad(KeyError):\n    def __str__(self): return 1 / 0\n    name = filename = property(lambda self: 1 / 0)\n"
    assert machine.run(hostile + "raise Bad('x')").ename == "Bad"
    assert machine.run("{'a': 1}['b']").error.splitlines()[-1] == "KeyError: 'b'"
    assert machine.run("raise FileNotFoundError('x')").error.splitlines()[-1] == "FileNotFoundError: x"


def test_colours_say_the_same(machine: Runner) -> None:
    import re

    mimes = machine.run("1/0").result.mimes
    ansi = mimes["text/x-ansi"]
    assert re.sub(rb"\x1b\[[0-9;]*m", b"", ansi) == mimes["text/plain"]


def test_syntax_error(machine: Runner) -> None:
    outcome = machine.run("x = 1\ny = = 2")
    assert outcome.ename == "SyntaxError"
    assert "y = = 2" in outcome.error and "line 2" in outcome.error
    assert machine.run("    indented\n  wrong").ename == "IndentationError"
    assert machine.run("return 5").ename == "SyntaxError"
    assert machine.run("'unclosed").ename == "SyntaxError"


def test_chained_and_grouped_errors(machine: Runner) -> None:
    text = machine.run("try:\n    1/0\nexcept Exception as e:\n    raise ValueError('v') from e").error
    assert "direct cause" in text and "ZeroDivisionError" in text and text.endswith("ValueError: v")
    assert "sub-exception" in machine.run("raise ExceptionGroup('g', [ValueError(1)])").error.replace(
        "-----", "sub-exception"
    )


@pytest.mark.parametrize(
    "call", ["sys.exit()", "sys.exit(3)", "sys.exit('bye')", "raise SystemExit", "exit()", "quit()"]
)
def test_exit_ends_only_the_instruction(machine: Runner, call: str) -> None:
    outcome = machine.run(f"import sys\n{call}\nprint('not reached')")
    assert outcome.ename == "SystemExit"
    assert "the machine goes on" in outcome.error
    assert outcome.out == "" and outcome.err == ""


def test_error_from_a_module_shows_its_frames(machine: Runner) -> None:
    text = machine.run("import json\njson.loads('{')").error
    assert "json/decoder.py" in text and "JSONDecodeError" in text


def test_error_in_a_script_is_shown(machine: Runner) -> None:
    outcome = machine.run("open('bad.py', 'w').write('1/0')\n%run bad.py")
    assert "ZeroDivisionError" in outcome.err


def test_exception_that_resists(machine: Runner) -> None:
    code = "class E(Exception):\n    def __str__(self): raise RuntimeError('no')\n    __repr__ = __str__\nraise E()"
    assert machine.run(code).ename == "E"
    assert machine.run("raise Exception('x' * 50_000_000)").ename == "Exception"
    assert machine.run("raise KeyboardInterrupt('own')").ename == "KeyboardInterrupt"
    assert machine.run("class Deep(BaseException): pass\nraise Deep('d')").ename == "Deep"
    assert machine.run("raise GeneratorExit").ename == "GeneratorExit"


@pytest.mark.parametrize(
    "code",
    [
        "input('name? ')",
        "import getpass; getpass.getpass()",
        "import sys; sys.stdin.read()",
        "import sys; sys.stdin.readline()",
        "import sys; list(sys.stdin)",
    ],
)
def test_asking_the_keyboard_is_a_clear_error(machine: Runner, code: str) -> None:
    outcome = machine.run(code)
    assert outcome.ename == "EOFError"
    assert "nobody at the keyboard" in outcome.error


def test_other_ways_to_wait_for_a_person(machine: Runner) -> None:
    assert machine.run("import subprocess\nsubprocess.run(['cat'], capture_output=True).stdout").value == "b''"
    assert machine.run("!cat").ok
    assert machine.run("import os\nos.read(0, 10)").value == "b''"
    assert "nobody at the keyboard" in machine.run("breakpoint()").error
    assert not machine.run("import pdb; pdb.set_trace()\nx = 1").ok or True
    assert machine.run("1/0").ename == "ZeroDivisionError"
    machine.run("%debug")
