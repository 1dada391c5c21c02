"""What is loaded and run once before the template checkpoint, so that no machine has to wait for
it.

Each library here makes every machine's checkpoint larger and its waking slower: only what nearly
every analysis uses. Nothing is put into the user's namespace.
"""

import contextlib
import gc
import importlib
from typing import Any

from . import assist, figures, forked_eval, variables
from .errors import Failure

LIBRARIES = (
    "numpy",
    "numpy.random",
    "pandas",
    "matplotlib",
    "matplotlib.pyplot",
    "matplotlib.backends.backend_svg",
    "matplotlib_inline.backend_inline",
    "asyncio",
    "ssl",
)

_REHEARSAL = """
import numpy as np, pandas as pd, matplotlib.pyplot as plt
frame = pd.DataFrame({"a": np.arange(3), "b": ["x", "y", "z"], "c": [0.5, 1.5, 2.5]})
frame.plot(x="a", y="c", title="rehearsal")
frame.groupby("b")["c"].mean()
frame
"""


def load() -> None:
    """Imports the common libraries; one that the image lacks is no reason to fail."""
    for name in LIBRARIES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    with contextlib.suppress(ImportError, AttributeError):
        figures.keep_fonts_in_memory()
    variables.prepare()


def rehearse(shell: Any) -> None:
    """Uses what instructions will use, so that lazy imports and caches are in the template."""
    try:
        import pandas as pd
        from matplotlib import pyplot as plt
    except ImportError:
        return
    scratch: dict[str, object] = {}
    exec(compile(_REHEARSAL, "<rehearsal>", "exec"), scratch)
    shell.display_formatter.format(scratch["frame"], exclude={"text/plain"})
    repr(pd.Series([1.0, 2.0])), repr(scratch["frame"])
    shell.display_formatter.format(plt.gcf(), exclude={"text/plain"})
    plt.close("all")
    with contextlib.suppress(Exception):
        assist.complete(shell, "import os\nos.pa", 15)
        assist.inspect(shell, "len", 3, 0)
    forked_eval.ask(lambda: None)
    try:
        exec(compile("1/0", "<rehearsal>", "exec"), {})
    except ZeroDivisionError as error:
        Failure(error)


def settle() -> None:
    """Last: what is alive now stays, so the collector need not look at it (nor dirty its pages)
    again."""
    gc.collect()
    gc.freeze()
