"""Delay the imports of a package: each module is loaded when one of its names is first used (PEP 562).

If an argument of the wrong type causes an error in one of the package's functions, the function names this argument.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

from utils.show.argument_types import explain_wrong_types


def attach(package: str, homes: Mapping[str, Sequence[str]]) -> tuple[Callable, Callable, list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` for a package that offers names from its modules.

    Args:
        package: the package's `__name__`.
        homes: {module: the names that the package takes from it}. A name must not be the name of a module in the
            package, because the loaded module would hide it.
    """
    home = {name: module for module, names in homes.items() for name in names}

    @functools.cache
    def load(name: str) -> Any:
        value = getattr(importlib.import_module(f"{package}.{home[name]}"), name)
        return explain_wrong_types(value) if isinstance(value, FunctionType) else value

    def __getattr__(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"{package} has no {name!r}. There are: {', '.join(home)}.")
        return load(name)

    return __getattr__, lambda: sorted(home), list(home)
