"""Models of scikit-learn.

They are shown as text. Their diagram needs styles and scripts that the page does not run; without
these it says "In a Jupyter environment, please rerun this cell".
"""

from typing import Any

from . import afterimport


def prepare() -> None:
    """Must run before scikit-learn is imported. Code may set another display."""
    afterimport.do("sklearn._config", _as_text)


def _as_text(config: Any) -> None:
    config.set_config(display="text")
