"""Does something to a module as soon as it is imported, so that nobody pays for it who does not
need the module.

Every Python in the machine loads this when it starts, so it imports nothing that they have not
loaded anyway.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any


class _Finder:
    def __init__(self, name: str, then: "Callable[[Any], None]") -> None:
        self._name, self._then = name, then

    def find_spec(
        self, name: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
    ) -> "ModuleSpec | None":
        if name != self._name:
            return None
        sys.meta_path.remove(self)
        for finder in list(sys.meta_path):
            spec = finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader.exec_module = _both(spec.loader.exec_module, self._then)  # type: ignore[assignment, method-assign]
                return spec
        sys.meta_path.insert(0, self)  # it may be installed yet
        return None


def _both(load: "Callable[[ModuleType], None]", then: "Callable[[Any], None]") -> "Callable[[ModuleType], None]":
    def execute(module: "ModuleType") -> None:
        load(module)
        then(module)

    return execute


def do(name: str, then: "Callable[[Any], None]") -> None:
    """Calls `then` with the module of that name, now or when it is imported."""
    if name in sys.modules:
        then(sys.modules[name])
    else:
        sys.meta_path.insert(0, _Finder(name, then))
