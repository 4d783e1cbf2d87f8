"""The learner's vocabulary: `from utils import check, hint, show`. Everything is loaded when it is first used."""

import importlib as _importlib
import sys as _sys

# Bound now, because the module of the same name would take its place at its first import.
from utils.progress import progress

_HOME = {
    "check": "feedback", "hint": "feedback", "solution": "feedback", "yours": "feedback",
    "show": None, "explore": None, "load_cogmodel": "toy",
}

__all__ = ["progress", *_HOME]


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"utils has no {name!r}. There are: {', '.join(sorted(__all__))}.")
    home = _importlib.import_module(f"utils.{_HOME[name] or name}")
    return getattr(home, name) if _HOME[name] else home


def __dir__():
    return sorted(__all__)


if "IPython" in _sys.modules:
    from utils import calm as _calm

    _calm.register()
