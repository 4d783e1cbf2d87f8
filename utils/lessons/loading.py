"""Run the cells of a lesson, or load only its definitions as a module, without the demo cells."""

from __future__ import annotations
import __future__

import ast
import linecache
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from utils.lessons.cells import Cell, Lesson, read_lesson
from utils.lessons.files import ROOT
from utils.lessons.names import bound_names
from utils.lessons.syntax import Definition, find_parse_errors, parse_cell, parse_error_text

# The loaded module of each file, with the file's modification time and size.
_loaded: dict[tuple[Path, str], tuple[tuple[int, int], ModuleType]] = {}
_FUTURES = sum(getattr(__future__, feature).compiler_flag for feature in __future__.all_feature_names)


class CellRunner:
    """Run the code of a lesson's cells in one namespace. A `from __future__` import affects all later cells."""

    def __init__(self, lesson: Lesson, namespace: dict[str, Any]) -> None:
        self.lesson, self.namespace = lesson, namespace
        self._flags = 0

    def run(self, cell: Cell, statements: list[ast.stmt]) -> None:
        """Run statements of a cell. Tracebacks show the statements' lines. Exceptions from the code are not caught."""
        file = _traceback_filename(cell, self.lesson)
        code = compile(ast.Module(statements, []), file, "exec", self._flags, dont_inherit=True)
        self._flags |= code.co_flags & _FUTURES
        exec(code, self.namespace)


def _traceback_filename(cell: Cell, lesson: Lesson) -> str:
    """Return the file name for tracebacks. Store the text of a notebook cell in `linecache`, which tracebacks read."""
    if lesson.path.suffix == ".md":
        return str(lesson.path)
    name = f"<{lesson.path.name}, cell {cell.index + 1}>"
    linecache.cache[name] = (len(cell.source), None, [line + "\n" for line in cell.source.split("\n")], name)
    return name


def load_lesson(path: str | Path, name: str | None = None) -> ModuleType:
    """Load the definitions of a lesson: imports, `def`, `class`, ALL_CAPS constants and `X = yours("X")`.

    Demo cells do not run. Tracebacks show the line in the .md file, or the cell in the .ipynb file. Cells that do not
    parse are skipped, because a learner's notebook may contain unfinished code. A definition that fails is omitted;
    accessing it raises an AttributeError with the reason. The module is cached until the file changes.

    Raises:
        LessonError: the file cannot be read as a lesson.
    """
    path = Path(path).resolve()
    if name is None:
        room = "solutions" if path.parent == ROOT / "solutions" else "lesson"
        name = f"{room}.{path.stem.split('_', 1)[-1]}"
    stat = path.stat() if path.exists() else None
    age, module = _loaded.get((path, name), (None, None))
    if module is None or stat is None or age != (stat.st_mtime_ns, stat.st_size):
        module = ModuleType(name)
        define_lesson_in(module, path)
    return module


def define_lesson_in(module: ModuleType, path: Path) -> None:
    """Run the definitions of a lesson file in `module`. `path` must be absolute. Raises `LessonError`."""
    lesson = read_lesson(path)
    stat = path.stat()
    _loaded[path, module.__name__] = (stat.st_mtime_ns, stat.st_size), module
    module.__file__, module.__doc__ = str(path), f"The definitions of {path.name}."
    if module.__name__.startswith("solutions."):
        sys.modules[module.__name__] = module  # dataclasses and pickle look the module up by its name
    linecache.checkcache(str(path))
    try:
        _execute_definitions(module, lesson)
    except BaseException:  # an interrupted module lacks definitions, so the next load starts again
        _loaded.pop((path, module.__name__), None)
        if sys.modules.get(module.__name__) is module:
            del sys.modules[module.__name__]
        raise


def _execute_definitions(module: ModuleType, lesson: Lesson) -> None:
    failed: dict[str, BaseException] = {}

    def missing(name: str) -> None:
        if name in failed:
            why = failed[name]
            if isinstance(why, SyntaxError):
                cell = f"The cell of `{name}` in {lesson.path.name}"
                raise AttributeError(f"{cell} {parse_error_text(why)}") from why
            raise AttributeError(f"{lesson.path.name} could not define {name!r}: {type(why).__name__}: {why}") from why
        raise AttributeError(f"{lesson.path.name} defines no {name!r}.")

    runner = CellRunner(lesson, module.__dict__)
    for cell in lesson.cells:
        tree = parse_cell(cell)
        if tree is None:
            failed.update(find_parse_errors(cell))
            continue
        for node in filter(_is_definition, tree.body):
            names = bound_names(node)
            try:
                runner.run(cell, [node])
            except (Exception, SystemExit) as error:  # the error is reported when a name from this statement is used
                failed.update(dict.fromkeys(names, error))
            else:
                for name in names:
                    failed.pop(name, None)
    module.__dict__["__getattr__"] = missing


def _is_definition(node: ast.stmt) -> bool:
    if isinstance(node, (ast.Import, ast.ImportFrom, *Definition)):
        return True
    if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
        called = (
            isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name) and node.value.func.id == "yours"
        )
        names = bound_names(node)
        return bool(names) and (called or all(name.isupper() for name in names))
    return False
