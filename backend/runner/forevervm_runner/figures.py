"""Matplotlib and plotly figures.

Every open pyplot figure is sent when its instruction ends, shown or not, and closed, so that the
next instruction starts with none.
"""

import io
import os
import sys
from collections.abc import Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

from IPython.core.formatters import PNGFormatter, SVGFormatter

from . import afterimport
from .rich import REPRESENTATION_LIMIT

# Every plot must be smaller than the bound on one representation; each try halves the resolution.
_TRIES = 6


def prepare_environment() -> None:
    """Must run before matplotlib or plotly is imported."""
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    os.environ["PLOTLY_RENDERER"] = "plotly_mimetype"
    afterimport.do("plotly.io._renderers", _without_nbformat)


def _without_nbformat(renderers: Any) -> None:
    """Lets plotly show figures without the nbformat package: it only reads the version of it."""
    if getattr(renderers, "nbformat", None) is None:
        renderers.nbformat = SimpleNamespace(__version__="5.0.0")


class _FontFile(io.BytesIO):
    """A font in memory, which says where it came from: matplotlib asks when it embeds one."""

    def __init__(self, path: str) -> None:
        with open(path, "rb") as file:
            super().__init__(file.read())
        self.name = os.fspath(path)

    def __str__(self) -> str:
        return self.name


class _FontsInMemory:
    """matplotlib's module for fonts, opening them in memory."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def FT2Font(self, path: str, *args: Any, **kwargs: Any) -> Any:
        return self._module.FT2Font(_FontFile(path), *args, **kwargs)


def keep_fonts_in_memory() -> None:
    """Lets matplotlib read each font once.

    It seeks and reads a thousand times for a plot, and in the sandbox that takes half of the
    time."""
    from matplotlib import font_manager

    font_manager.ft2font = _FontsInMemory(font_manager.ft2font)


class Figures:
    """Draws figures in the formats that were asked for, and remembers which were shown."""

    def __init__(self) -> None:
        self.formats: Sequence[str] = ("png",)
        self.too_large = False

    def begin(self, formats: Sequence[str]) -> None:
        """For a new instruction."""
        self.formats, self.too_large = formats, False

    def png(self, figure: Any) -> bytes | None:
        dpi = figure.dpi
        for _ in range(_TRIES):
            data = _draw(figure, "png", dpi)
            if data is None or len(data) <= REPRESENTATION_LIMIT:
                return data
            dpi /= 2
        self.too_large = True
        return None

    def svg(self, figure: Any) -> str | None:
        if "svg" not in self.formats:
            return None
        data = _draw(figure, "svg", figure.dpi)
        return None if data is None else data.decode("utf-8", "replace")

    def register(self, shell: Any) -> None:
        """Makes matplotlib figures displayable by the shell's formatters."""
        display = shell.display_formatter
        for formatter, draw in ((_Png(parent=display), self.png), (_Svg(parent=display), self.svg)):
            formatter.for_type_by_name("matplotlib.figure", "Figure", draw)
            display.formatters[formatter.format_type] = formatter

    def open(self) -> list[Any]:
        """The open pyplot figures, oldest first."""
        helpers = sys.modules.get("matplotlib._pylab_helpers")
        if helpers is None:
            return []
        return [manager.canvas.figure for manager in helpers.Gcf.get_all_fig_managers()]

    def close(self) -> None:
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is not None:
            pyplot.close("all")


def is_figure(value: Any) -> bool:
    """Whether it is one of matplotlib's."""
    module = sys.modules.get("matplotlib.figure")
    return module is not None and issubclass(type(value), module.Figure)


class _Strict:
    """A formatter that raises what is wrong with a figure.

    IPython's would print it, and the code would go on."""

    def __call__(self, value: Any) -> Any:
        if is_figure(value):
            try:
                draw = self.lookup(value)  # type: ignore[attr-defined]
            except KeyError:  # the code took it out
                return None
            return draw(value)
        return super().__call__(value)  # type: ignore[misc]


class _Png(_Strict, PNGFormatter):
    """Pictures of figures."""


class _Svg(_Strict, SVGFormatter):
    """Drawings of figures."""


def plotly_bundle(value: Any) -> dict[str, Any] | None:
    """The representation of a plotly figure that is an instruction's value, or None for anything
    else.

    As IPython has it, the figure would display itself beside its value.
    """
    plotly = sys.modules.get("plotly.basedatatypes")
    if plotly is None or not isinstance(value, plotly.BaseFigure):
        return None
    return {"application/vnd.plotly.v1+json": value.to_json().encode()}


def _draw(figure: Any, form: str, dpi: float) -> bytes | None:
    if not figure.axes and not figure.lines and not figure.texts and not figure.images and not figure.subfigs:
        return None  # nothing on it, as in IPython
    out = io.BytesIO()
    # A quarter larger, and a tenth of the time of a plot less: it does not go far.
    how: dict[str, Any] = {"pil_kwargs": {"compress_level": 1}} if form == "png" else {}
    canvas = figure.canvas
    if canvas is None or not hasattr(canvas, "print_figure"):
        from matplotlib.backend_bases import FigureCanvasBase

        FigureCanvasBase(figure)
        canvas = figure.canvas
    canvas.print_figure(
        out,
        format=form,
        dpi=dpi,
        facecolor=figure.get_facecolor(),
        edgecolor=figure.get_edgecolor(),
        bbox_inches="tight",
        **how,
    )
    return out.getvalue()
