"""Provide what learners import: `from utils import check, hint, show`. Each part is loaded on first use."""

import importlib as _importlib
import sys as _sys

_FROM = dict.fromkeys(("check", "hint", "solution", "yours"), "feedback.check")
_FROM |= {"task": "feedback.transfer_families", "progress": "notebook.progress_view"}
_FROM |= {"load_cogmodel": "models.toy_transformer"}
_MODULES = {"show": "show", "explore": "explore", "corpus": "training.corpus"}

__all__ = ["check", "explore", "hint", "load_cogmodel", "progress", "show", "solution", "task", "yours"]


def __getattr__(name):
    if name in _MODULES:
        return _importlib.import_module(f"utils.{_MODULES[name]}")
    if name in _FROM:
        return getattr(_importlib.import_module(f"utils.{_FROM[name]}"), name)
    raise AttributeError(f"utils has no {name!r}. Available names: {', '.join(__all__)}.")


def __dir__():
    return __all__


if "IPython" in _sys.modules:
    from utils.notebook import cell_results as _cell_results
    from utils.notebook import exception_hooks as _exception_hooks

    _exception_hooks.register_exception_hook()
    _cell_results.register_result_display()
