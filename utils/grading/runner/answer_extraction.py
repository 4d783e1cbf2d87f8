"""Find the answers in a notebook and the exercises that they use, and load a single answer in the runner."""

from __future__ import annotations

import ast
import builtins
import contextlib
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from utils import lessons
from utils.exercises.timeout import Timeout
from utils.feedback.phrases import LAMBDA_MESSAGE, library_answer_message
from utils.lessons.loading import CellRunner
from utils.lessons.names import nested_code, read_globals, read_names
from utils.lessons.syntax import find_parse_errors, parse_cell, parse_error_text


@dataclass
class PageAnswer:
    """The answer to one exercise, read from the source of a notebook that has not run.

    Attributes:
        source: for a function or class, its last definition; for a value, every cell that assigns its name.
        uses: the other exercises that the answer reads, from this notebook or (through `yours`) from earlier lessons.
    """

    source: str = ""
    uses: list[str] = field(default_factory=list)


def find_answers(lesson: lessons.Lesson, exercises: dict[str, str]) -> dict[str, PageAnswer]:
    """Return the answers in a notebook by exercise name.

    Args:
        exercises: the kind of each exercise of the lesson ("function", "module" or "value"), by name.
    """
    statements: dict[str, list[ast.stmt]] = {}
    answers: dict[str, PageAnswer] = {}
    for cell in lesson.cells:
        tree = parse_cell(cell)
        for name in find_parse_errors(cell) if tree is None else ():
            if name in exercises:
                answers.setdefault(name, PageAnswer()).source = cell.source
        for node in tree.body if tree else ():
            for name in lessons.bound_names(node):
                statements.setdefault(name, []).append(node)
                if name in exercises and not _is_yours_assignment(node):
                    _add_source(answers.setdefault(name, PageAnswer()), cell, node, exercises[name])
    for name, entry in answers.items():
        entry.uses = _used_exercises(name, statements, exercises)
    return answers


def _add_source(entry: PageAnswer, cell: lessons.Cell, node: ast.stmt, kind: str) -> None:
    """Record a statement that binds the exercise's name.

    A new definition replaces earlier definitions. For a value, all cells that assign it are kept.
    """
    if kind == "value":
        if cell.source not in entry.source:
            entry.source = f"{entry.source}\n\n{cell.source}".strip()
        return
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))]) - cell.line
    entry.source = "\n".join(cell.source.split("\n")[first : (node.end_lineno or node.lineno) - cell.line + 1])


def requested_exercises(lesson: lessons.Lesson) -> list[str]:
    """Return the names of the exercises that the notebook requests with `yours`."""
    trees = filter(None, map(parse_cell, lesson.cells))
    return list(dict.fromkeys(name for tree in trees for name in _requested_names(tree)))


def _is_yours_assignment(node: ast.stmt) -> bool:
    """Return whether a statement is an assignment that calls `yours`, such as `X = yours("X")`."""
    return isinstance(node, (ast.Assign, ast.AnnAssign)) and any(_requested_names(node))


def _requested_names(node: ast.AST) -> Iterator[str]:
    """Yield the names that `yours` is called with."""
    for call in _find_calls(node, "yours"):
        yield from (a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str))


def _find_calls(node: ast.AST, function: str) -> Iterator[ast.Call]:
    """Yield the calls to the function with this name."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == function:
            yield call


def _used_exercises(name: str, statements: dict[str, list[ast.stmt]], exercises: dict[str, str]) -> list[str]:
    """Return the exercises that the answer `name` uses.

    The search starts with the statements that bind `name`. If they read a name that is not an exercise, the search
    continues with the statements that bind that name.
    """
    uses: dict[str, None] = {}
    visited, waiting = {name}, [name]
    while waiting:
        for node in statements.get(waiting.pop(), ()):
            uses |= dict.fromkeys(_requested_names(node))
            for other in read_names(node) - visited:
                visited.add(other)
                if other in exercises:
                    uses.setdefault(other)
                else:
                    waiting.append(other)
    uses.pop(name, None)
    return list(uses)


# --- running --------------------------------------------------------------------------------------------


class AnswerNotFound(Exception):
    """The notebook has no answer to the exercise.

    The message says why. `error` is the exception that prevented the answer, or None if there was no exception.
    """

    def __init__(self, message: str, error: BaseException | None = None) -> None:
        super().__init__(message)
        self.error = error


class NotADefinition(Exception):
    """The notebook binds the exercise's name to something that is not a definition; `check` shows the same message."""


def load_answer(path: Path, name: str, kind: str, names: dict[str, Any], timeout: float) -> Any:
    """Return the answer that a notebook gives to an exercise.

    A function or class comes from the notebook's definitions. In two cases, the notebook's cells run up to the answer
    instead: the answer reads a name that a cell computes, or the exercise asks for a value.

    Args:
        names: additional names that a notebook provides, such as `display`.
        timeout: CPU seconds for each cell before the answer. A cell that takes longer is interrupted and skipped.

    Raises:
        AnswerNotFound: the notebook has no answer to the exercise.
    """
    if kind != "value":
        module = lessons.load_lesson(path)
        vars(module).update({n: v for n, v in names.items() if n not in vars(module)})
        try:
            answer = getattr(module, name)
        except AttributeError as error:
            why = _explain_assignment(lessons.read_lesson(path), name, vars(module)) if error.__cause__ is None else ""
            raise AnswerNotFound(why or str(error), NotADefinition(why) if why else error.__cause__) from None
        if why := library_answer_message(answer):
            raise AnswerNotFound(why, NotADefinition(why))
        missing = [
            n for n in _referenced_names(answer, vars(module)) if not hasattr(builtins, n) and n not in vars(module)
        ]
        if all(_is_refused(module, n) for n in missing):
            return answer
    return _run_page(lessons.read_lesson(path), name, kind, dict(names), timeout)


def _explain_assignment(lesson: lessons.Lesson, name: str, names: dict[str, Any]) -> str:
    """Explain why a value that is assigned to `name` is not a valid answer. Return "" if there is no explanation."""
    trees = filter(None, map(parse_cell, lesson.cells))
    bound = [node for tree in trees for node in tree.body if name in lessons.bound_names(node)]
    values = [node.value for node in bound if isinstance(node, (ast.Assign, ast.AnnAssign))]
    match values[-1] if values else None:
        case None | ast.Constant():
            return ""
        case ast.Lambda():
            return LAMBDA_MESSAGE
        case ast.Attribute(ast.Name(module), attribute) if why := library_answer_message(
            getattr(names.get(module), attribute, 0)
        ):
            return why
    return f"`{name}` is assigned a value. Define it with `def` or `class` instead, so that it has this name."


def _is_refused(module: types.ModuleType, name: str) -> bool:
    """Return whether a name has no value because `yours` could not return an answer.

    Running the notebook would not give the name a value either.
    """
    try:
        getattr(module, name)
    except AttributeError as error:
        return isinstance(error.__cause__, NotImplementedError)
    return False


def _referenced_names(answer: Any, names: dict[str, Any]) -> set[str]:
    """Return the global names that an answer reads, directly or through other functions of the notebook."""
    referenced: set[str] = set()
    waiting = [answer]
    while waiting:
        value = waiting.pop()
        for part in vars(value).values() if isinstance(value, type) else (value,):
            if isinstance(part, types.FunctionType) and part.__globals__ is names:
                new = set().union(*map(read_globals, nested_code(part.__code__))) - referenced
                referenced |= new
                waiting += map(names.get, new)
    return referenced


def _run_page(lesson: lessons.Lesson, name: str, kind: str, names: dict[str, Any], patience: float) -> Any:
    """Run the notebook up to the answer and return the value of `name`.

    Execution stops after the last cell that binds the name. If the answer is a value that later cells check, execution
    stops after the last of these checks.

    Raises:
        AnswerNotFound: no cell binds the name, or the cell that binds it failed.
    """
    trees = [(cell, tree) for cell in lesson.cells if cell.kind == "code" and (tree := parse_cell(cell))]
    binding = [cell.index for cell, tree in trees if name in lessons.bound_names(tree)]
    checking = [cell.index for cell, tree in trees if binding and cell.index >= binding[0] and _is_checked(tree, name)]
    if not binding:
        broken = next((error for cell in lesson.cells if (error := find_parse_errors(cell).get(name))), None)
        cell = f"The cell of `{name}` in {lesson.path.name}"
        why = f"{cell} {parse_error_text(broken)}." if broken else f"{lesson.path.name} defines no {name!r}."
        raise AnswerNotFound(why, broken)
    last = max(checking) if checking and kind == "value" else max(binding)
    runner, stopped = CellRunner(lesson, names), None
    for cell, tree in trees:
        if cell.index > last:
            break
        try:
            with contextlib.nullcontext() if cell.index in binding else _limit_time(patience):
                runner.run(cell, tree.body)
        except (Exception, SystemExit) as error:  # As in a notebook, the remaining cells still run.
            stopped = error if cell.index in binding else stopped
    if name not in names:
        text = f"{type(stopped).__name__}: {stopped}" if stopped else f"No cell assigns a value to `{name}`."
        if isinstance(stopped, SystemExit):
            text = f"Its cell ends the program (`sys.exit()`, `exit()` or `quit()`) before `{name}` has a value."
        raise AnswerNotFound(text, stopped)
    return names[name]


@contextlib.contextmanager
def _limit_time(patience: float) -> Iterator[None]:
    """Run the block for at most `patience` CPU seconds.

    Raises:
        KeyboardInterrupt: the time limit of the whole exercise stopped the block.
    """
    timer = Timeout(patience)
    try:
        with timer:
            yield
    except KeyboardInterrupt:
        timer.stop()
        if not timer.fired:  # The interrupt comes from the time limit of the whole exercise.
            raise


def _is_checked(tree: ast.Module, name: str) -> bool:
    """Return whether a cell calls `check` on a name."""
    calls = list(_find_calls(tree, "check"))
    positional = [a.id for call in calls for a in call.args if isinstance(a, ast.Name)]
    return name in positional or name in [k.arg for call in calls for k in call.keywords]


class NullObject:
    """An object whose calls and methods do nothing. It replaces `check`, `show` and similar names in the runner."""

    def __call__(self, *args: Any, **kwargs: Any) -> NullObject:
        return self

    def __getattr__(self, name: str) -> NullObject:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __enter__(self) -> NullObject:
        return self

    def __exit__(self, *error: object) -> None: ...


def make_yours(pages: dict[str, str], folder: Path) -> Callable[[str], Any]:
    """Return a `yours` function for the runner.

    Args:
        pages: for each exercise that `yours` may return, the file name of the notebook that defines it.
    """

    def yours(name: str) -> Any:
        if name not in pages:
            raise NotImplementedError(f"This needs `{name}` from an earlier lesson, which does not pass yet.")
        return getattr(lessons.load_lesson(folder / pages[name]), name)

    return yours
