"""Packages that load a module when a name of it is first used (PEP 562)."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def attach(package: str, homes: Mapping[str, Sequence[str]]) -> tuple[Callable, Callable, list[str]]:
    """What a package needs to have names that stand in its modules: its `__getattr__`, `__dir__` and `__all__`.

    Args:
        package: the package's `__name__`.
        homes: {module: the names that the package takes from it}. No name may be that of a module of the package:
            once loaded, the module would hide it.
    """
    home = {name: module for module, names in homes.items() for name in names}

    def __getattr__(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"{package} has no {name!r}. There are: {', '.join(home)}.")
        return getattr(importlib.import_module(f"{package}.{home[name]}"), name)

    return __getattr__, lambda: sorted(home), list(home)
