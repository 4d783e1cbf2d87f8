"""A misconception from a wrong answer: its function and its entry, written into the lesson's checks."""

from __future__ import annotations

import ast
import builtins
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

from utils import lessons
from utils.feedback.exercise import Exercise
from utils.lessons.code import Definition
from utils.lessons.files import write_atomically

TODO = "TODO: say what is wrong, and why, in one or two sentences."


class NoPlace(ValueError):
    """The exercise's declaration has no table that an entry could be added to."""


@dataclass(frozen=True)
class Stub:
    """What is to be added: the function (or class) of a wrong answer, its entry, and the names that it still needs."""

    function: str
    entry: str
    needs: list[str]


def stub(exercise: Exercise, source: str, id: str, message: str = TODO) -> Stub:
    """The misconception `id` of which the answer in `source` is the function.

    Raises:
        ValueError: the source does not define the exercise's name, or the id is taken or no id.
    """
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", id):
        raise ValueError(f"{id!r} is no id: small letters, digits and hyphens, such as softmax-of-the-columns.")
    if any(wrong.id == id for wrong in exercise.misconceptions):
        raise ValueError(f"{exercise.name} has a misconception called {id} already.")
    tree = ast.parse(source)
    if not any(exercise.name in lessons.bound_names(node) for node in tree.body):
        raise ValueError(f"the answer defines no {exercise.name!r}.")
    name = f"_{id.replace('-', '_')}"
    function = (
        _renamed(tree, exercise.name, name) if exercise.kind != "value" else _wrapped(source, exercise.name, name)
    )
    entry = f'"{id}": Wrong({name}, {message!r}),'
    return Stub(function, entry, _free_names(ast.parse(function)))


def _renamed(tree: ast.Module, old: str, new: str) -> str:
    """The answer's cell with its definition under another name."""
    for node in ast.walk(tree):
        if isinstance(node, Definition) and node.name == old:
            node.name = new
        elif isinstance(node, ast.Name) and node.id == old:
            node.id = new
    return ast.unparse(tree)


def _wrapped(source: str, value: str, name: str) -> str:
    """A value's cell as a function without arguments."""
    return f"def {name}():\n{textwrap.indent(source.strip(), '    ')}\n    return {value}"


def _free_names(tree: ast.Module) -> list[str]:
    """The names that a source reads and does not bind."""
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    bound = {name for node in ast.walk(tree) for name in lessons.bound_names(node)}
    bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return sorted(read - bound - set(dir(builtins)))


def add(path: Path, exercise: Exercise, made: Stub) -> list[str]:
    """Write a stub into a lesson's checks, before and into its exercise's declaration.

    Returns:
        The names that the function needs and the checks do not define.

    Raises:
        NoPlace: `misconceptions=` of the declaration is not written as a dict.
    """
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    statement, table = _declaration(tree, exercise.name)
    if table is None or not table.keys or table.end_lineno is None:
        raise NoPlace(f"the misconceptions of {exercise.name} in {path.name} are not written as a dict there.")
    lines = text.splitlines()
    last = table.values[-1]
    assert last.end_lineno is not None  # ast.parse sets it
    lines.insert(last.end_lineno, f"        {made.entry}")
    lines[statement.lineno - 1 : statement.lineno - 1] = [*made.function.splitlines(), "", ""]
    write_atomically(path, "\n".join(lines) + "\n")
    known = {name for node in tree.body for name in lessons.bound_names(node)}
    return [name for name in made.needs if name not in known]


def _declaration(tree: ast.Module, name: str) -> tuple[ast.stmt, ast.Dict | None]:
    """The statement that declares an exercise, and its table of misconceptions if it is written as one."""
    for statement in tree.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "exercise":
                first = node.args[0] if node.args else None
                if isinstance(first, ast.Constant) and first.value == name:
                    table = next((k.value for k in node.keywords if k.arg == "misconceptions"), None)
                    return statement, table if isinstance(table, ast.Dict) else None
    raise NoPlace(f"{name} is not declared by a call of exercise({name!r}, ...).")
