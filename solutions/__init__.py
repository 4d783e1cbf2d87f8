"""Lessons as modules: `from solutions import self_attention` gives what lesson 03 defines, and runs no demo cell."""

import sys as _sys
from pathlib import Path as _Path

from utils import lessons as _lessons


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(f"module 'solutions' has no attribute {name!r}")
    try:
        path = _lessons.find(name, _Path(__file__).parent)
    except _lessons.LessonError as error:
        # `from solutions import nope` asks by hasattr first, and would say less than we can.
        importing = _sys._getframe(1).f_code.co_name == "_handle_fromlist"
        raise (ImportError if importing else AttributeError)(str(error)) from None
    return _lessons.load(path)


def __dir__():
    return sorted(path.stem[3:] for path in _lessons.all_lessons(_Path(__file__).parent))
