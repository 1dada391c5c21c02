"""Plots look as matplotlib draws them, and one that cannot be drawn says why."""

import pytest
from harness import Runner


def test_a_plot_is_as_matplotlib_draws_it(machine: Runner) -> None:
    """With fonts that are kept in memory, in pictures and where they are embedded."""
    code = """
import subprocess, sys
draw = '''
import hashlib, io
from matplotlib import figure, font_manager
def drawn(form, **how):
    fig = figure.Figure()
    axes = fig.subplots()
    axes.plot(range(100), label="$x^2$ é"); axes.set_title("title"); axes.legend()
    out = io.BytesIO(); fig.savefig(out, format=form, **how)
    return hashlib.sha256(out.getvalue()).hexdigest()
print(drawn("png"), drawn("pdf", metadata={"CreationDate": None}))
'''
names = {}
exec(draw, names)
print(subprocess.check_output([sys.executable, "-c", draw], text=True), end="")
type(names["font_manager"].ft2font).__name__
"""
    outcome = machine.run(code, timeout=120)
    ours, theirs = outcome.out.splitlines()
    assert ours == theirs
    assert outcome.value == "'_FontsInMemory'"


FORMULA = "import matplotlib.pyplot as plt\nplt.title('$x^2$')\n"


@pytest.mark.parametrize("shown", ["", "plt.show()", "plt.gcf()", "display(plt.gcf())", "plt.savefig('/tmp/x.png')"])
def test_without_latex(start, shown: str) -> None:  # type: ignore[no-untyped-def]
    """A figure that cannot be drawn is an error, which says what to do."""
    machine = start()
    for _ in range(2):
        outcome = machine.run("import matplotlib.pyplot as plt\nplt.rcParams['text.usetex'] = True\n" + FORMULA + shown)
        assert outcome.ename == "RuntimeError"
        assert "There is no LaTeX in this machine" in outcome.error
        assert 'plt.rcParams["text.usetex"] = False' in outcome.error
        assert not outcome.of("display") and not outcome.err
    assert not machine.run(FORMULA + shown).ok
    outcome = machine.run("plt.rcParams['text.usetex'] = False\n" + FORMULA)
    assert outcome.ok and len(outcome.of("display")) == 1


def test_a_figure_that_fails_beside_another_error(machine: Runner) -> None:
    outcome = machine.run(FORMULA + "plt.gca().title.set_usetex(True)\nplt.figure(); plt.plot([1, 2])\n1 / 0")
    assert outcome.ename == "ZeroDivisionError"
    assert len(outcome.of("display")) == 1
    assert not outcome.err
    assert not machine.run("1").of("display")


def test_figures_of_a_value_that_fails_are_not_left(machine: Runner) -> None:
    code = (
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nclass Bad:\n    def __repr__(self): raise ValueError\nBad()"
    )
    outcome = machine.run(code)
    assert outcome.ename == "ValueError" and len(outcome.of("display")) == 1
    assert not machine.run("1").of("display")
