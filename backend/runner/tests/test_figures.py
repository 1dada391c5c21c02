"""Plots are the same as if matplotlib had found their bounds by drawing them, and one that cannot be drawn says why."""

import ast

import pytest
from harness import Runner

CODE = """
import io, warnings
import numpy as np, pandas as pd, matplotlib.pyplot as plt
from forevervm_runner import figures
warnings.simplefilter("ignore")

def line(): plt.plot(range(100))
def titled():
    plt.plot([1e9, 2e9, 4e9], label="a long name"); plt.title("Two\\nlines"); plt.xlabel("x"); plt.ylabel("y"); plt.legend()
def beside(): plt.plot([1, 2]); plt.legend(["beside it"], loc="upper left", bbox_to_anchor=(1.05, 1))
def logs(): plt.loglog([1, 10, 1e6], [1e-9, 3, 1e9])
def bars(): plt.bar(["one", "two", "a much longer one"], [1, 2, 3]); plt.xticks(rotation=60)
def points(): plt.scatter(range(9), range(9), c=range(9)); plt.colorbar(label="size")
def image(): plt.imshow(np.arange(12).reshape(3, 4))
def grid():
    fig, axes = plt.subplots(2, 3, sharex=True)
    for a in axes.flat: a.hist([1, 2, 2, 3]); a.set_title("one of six")
    fig.suptitle("all of them")
def equal():
    fig, (left, right) = plt.subplots(1, 2, sharey=True); left.plot([0, 9], [0, 1]); left.axis("equal")
    right.plot([0, 1], [-50, 70]); right.set_aspect("equal", adjustable="datalim")
def marks():
    plt.plot([1, 2]); plt.minorticks_on(); plt.tick_params(which="both", direction="out", length=14, top=True, right=True, labelbottom=False)
def twins():
    plt.plot([1, 2]); right = plt.gca().twinx(); right.plot([300, 100], "r"); right.set_ylabel("the other")
def notes(): plt.plot([1, 2]); plt.annotate("far away", (1, 2), (1.3, 2.4), arrowprops={"arrowstyle": "->"}); plt.text(-1, 1, "left of it")
def pie(): plt.pie([1, 2, 3], labels=["one", "two", "three"], autopct="%d %%")
def frame(): pd.DataFrame({"a": [1, 2], "b": [2, 1]}, index=pd.to_datetime(["2026-01-01", "2026-06-01"])).plot()
def boxes(): plt.boxplot([[1, 2, 9], [2, 3]]); plt.axhline(4)
def lines(): plt.contour(np.arange(16).reshape(4, 4)); plt.fill_between([0, 3], [0, 1], [1, 3], alpha=0.3)
def bare(): plt.plot([1, 2]); plt.axis("off")
def within(): plt.plot([1, 2]); plt.gca().inset_axes([0.5, 0.1, 0.4, 0.3]).plot([3, 1])
def second(): plt.plot([1, 2]); plt.gca().secondary_xaxis("top", functions=(lambda x: x * 1e6, lambda x: x / 1e6)).set_xlabel("more")
def space(): plt.figure().add_subplot(projection="3d").plot([1, 2], [2, 1], [1, 3])
def polar(): plt.subplot(projection="polar").plot([0, 1, 2], [1, 2, 3])
def arrows(): plt.quiver([0, 1], [0, 1], [1, 0], [0, 1])
def table(): plt.plot([1, 2]); plt.table([["a", "b"]], loc="bottom")
def arranged(): plt.subplots(1, 2, layout="constrained")[1][0].set_ylabel("arranged")
def moved(): plt.plot([1, 2]); plt.gcf().subplots_adjust(left=0.4); plt.gcf().text(0.01, 0.5, "at the edge")
def fitted(): from mpl_toolkits.axes_grid1.axes_divider import make_axes_area_auto_adjustable as fit; left, right = plt.subplots(1, 2)[1]; left.imshow([[1, 2]]); right.set_ylabel("right"); fit(right)
def divided(): from mpl_toolkits.axes_grid1 import make_axes_locatable as divide; a = plt.subplot(); i = a.imshow([[1, 2]]); plt.colorbar(i, cax=divide(a).append_axes("right", "5%", pad=0.1))
def images():
    from mpl_toolkits.axes_grid1 import ImageGrid
    for a in ImageGrid(plt.figure(), 111, (2, 2), cbar_mode="single"): a.imshow([[1, 2]])
def zoomed():
    from mpl_toolkits.axes_grid1 import inset_locator as inset
    a = plt.subplot(); a.plot([1, 2]); b = inset.zoomed_inset_axes(a, 3); b.plot([1, 2]); b.set(xlim=(0, 0.1), ylim=(1, 1.1)); inset.mark_inset(a, b, 2, 4); inset.inset_axes(a, "20%", 0.5, loc="lower right")
def hosted(): from mpl_toolkits.axes_grid1 import host_subplot; a = host_subplot(111); a.plot([1, 2]); a.twinx().set_ylabel("the other")
def artist(): from mpl_toolkits import axisartist; plt.figure().add_subplot(axes_class=axisartist.Axes).plot([1, 2])
def parted():
    left, right = plt.figure(layout="constrained").subfigures(1, 2); left.subplots(2).flat[0].plot([1, 2]); right.subplots(); right.suptitle("right")
def tight(): plt.subplots(2, 2, layout="tight")[1][0, 0].set_ylabel("arranged")
def compressed(): plt.subplots(1, 2, layout="compressed")[1][0].imshow([[1, 2]])

def drawn(make, ours):
    plt.close("all"); make(); figure = plt.gcf()
    if ours: return figures._draw(figure, "png", figure.dpi)
    out = io.BytesIO()
    figure.canvas.print_figure(out, format="png", dpi=figure.dpi, facecolor=figure.get_facecolor(), edgecolor=figure.get_edgecolor(),
        bbox_inches="tight", pil_kwargs={"compress_level": 1})
    return out.getvalue()

def known(make):
    plt.close("all"); make(); return figures._bounds(plt.gcf()) != "tight"

makers = [line, titled, beside, logs, bars, points, image, grid, equal, marks, twins, notes, pie, frame, boxes, lines, bare, within, second, space, polar, arrows, table, arranged, moved,
    fitted, divided, images, zoomed, hosted, artist, parted, tight, compressed]
others = [m.__name__ for m in makers if drawn(m, True) != drawn(m, False)]
slow = [m.__name__ for m in makers if not known(m)]
plt.close("all")
others, slow
"""


def test_a_plot_is_as_matplotlib_draws_it(machine: Runner) -> None:
    others, slow = ast.literal_eval(machine.run(CODE, timeout=120).value or "")
    assert not others
    assert "line" not in slow and "grid" not in slow and "space" in slow


def test_where_a_short_cut_fails_matplotlib_draws(machine: Runner) -> None:
    """A plot that is not like any that is known here."""
    code = """
import matplotlib.pyplot as plt
class Late(plt.matplotlib.lines.Line2D):
    def draw(self, renderer):
        if self.axes.figure.bbox.width == 640: self.measured = True
        self.measured
        super().draw(renderer)
Late.__module__ = plt.matplotlib.lines.Line2D.__module__
plt.subplot().add_line(Late([0, 1], [0, 1]))
plt.show()
"""
    outcome = machine.run(code)
    (picture,) = outcome.of("display")
    assert outcome.ok and picture.mimes["image/png"].startswith(b"\x89PNG") and not outcome.err


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
