"""Make lessons importable: `from solutions import self_attention` gives the definitions of lesson 03 and runs no demo
cell."""

import sys as _sys
from importlib.util import spec_from_file_location as _spec
from pathlib import Path as _Path

from utils import lessons as _lessons
from utils.lessons import loading as _loading

_HERE = _Path(__file__).parent


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(f"module 'solutions' has no attribute {name!r}")
    try:
        return _lessons.load_lesson(_lessons.find_lesson(name, _HERE))
    except _lessons.LessonError as error:
        raise AttributeError(str(error)) from None


def __dir__():
    return sorted(path.stem[3:] for path in _lessons.all_lessons(_HERE))


class _Lessons:
    """A finder and loader, used by `import solutions.self_attention` and `importlib.reload`."""

    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        package, _, name = fullname.rpartition(".")
        if package != __name__ or name.startswith("_"):
            return None
        try:
            return _spec(fullname, _lessons.find_lesson(name, _HERE), loader=cls)
        except _lessons.LessonError as error:
            raise ModuleNotFoundError(
                str(error)
            ) from None  # no `name=`, so that `from solutions import x` shows this message

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        _loading.define_lesson_in(module, _Path(module.__spec__.origin))


_sys.meta_path.append(_Lessons)
