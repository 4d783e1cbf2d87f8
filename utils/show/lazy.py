"""Delay the imports of a package: each module is loaded when one of its names is first used (PEP 562)."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def attach(package: str, homes: Mapping[str, Sequence[str]]) -> tuple[Callable, Callable, list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` for a package that offers names from its modules.

    Args:
        package: the package's `__name__`.
        homes: {module: the names that the package takes from it}. A name must not be the name of a module in the
            package, because the loaded module would hide it.
    """
    home = {name: module for module, names in homes.items() for name in names}

    def __getattr__(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"{package} has no {name!r}. There are: {', '.join(home)}.")
        return getattr(importlib.import_module(f"{package}.{home[name]}"), name)

    return __getattr__, lambda: sorted(home), list(home)
