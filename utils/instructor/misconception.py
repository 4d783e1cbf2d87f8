"""A misconception from a wrong answer: its function and its entry, written into the lesson's checks."""

from __future__ import annotations

import ast
import builtins
import re
import symtable
import textwrap
from dataclasses import dataclass
from pathlib import Path

from utils import lessons
from utils.feedback.exercise import Exercise
from utils.lessons.files import write_atomically
from utils.lessons.syntax import Definition

TODO = "TODO: say what is wrong, and why, in one or two sentences."


class StubError(ValueError):
    """A stub cannot be added to the checks; nothing was written, and the message says why."""


@dataclass(frozen=True)
class MisconceptionStub:
    """What is to be added.

    Attributes:
        function: the function (or class) of a wrong answer.
        entry: its line of the exercise's table.
        needs: the names that it reads and does not bind.
        at_once: those of them that it reads while the checks are loaded, as a class reads what it derives from.
        binds: its own names at the module's level, imports aside.
    """

    function_source: str
    table_entry: str
    free_names: list[str]
    load_time_names: list[str]
    bound_names: list[str]


def make_stub(exercise: Exercise, source: str, id: str, message: str = TODO) -> MisconceptionStub:
    """The misconception `id` of which the answer in `source` is the function.

    Raises:
        ValueError: the source does not parse or does not define the exercise's name, or the id is taken or no id.
    """
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", id):
        raise ValueError(f"{id!r} is no id: small letters, digits and hyphens, such as softmax-of-the-columns.")
    if any(wrong.id == id for wrong in exercise.misconceptions):
        raise ValueError(f"{exercise.name} has a misconception called {id} already.")
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise ValueError(
            f"the answer does not parse (line {error.lineno}: {error.msg}), so it does nothing to know it by."
        ) from None
    if not any(exercise.name in lessons.bound_names(node) for node in tree.body):
        raise ValueError(f"the answer defines no {exercise.name!r}.")
    name = f"_{exercise.name}_{id.replace('-', '_')}"
    function = (
        _rename_definition(tree, exercise.name, name)
        if exercise.kind != "value"
        else _wrap_value(source, exercise.name, name)
    )
    parts = map(repr, textwrap.wrap(message, 90, drop_whitespace=False))  # strings that `ruff format` can lay out
    entry = f'"{id}": Wrong({name}, {" ".join(parts)}),'
    made = ast.parse(function)
    needs = _free_names(made)
    at_once = _load_time_names(symtable.symtable(function, "an answer", "exec"))
    imports = (ast.Import, ast.ImportFrom)
    binds = [name for node in made.body if not isinstance(node, imports) for name in lessons.bound_names(node)]
    return MisconceptionStub(function, entry, needs, [name for name in needs if name in at_once], binds)


class _AnnotationStripper(ast.NodeTransformer):
    """Code without annotations and docstrings. The names in annotations are the lesson's: the checks have other things
    under some of them, and none under others."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        return ast.Assign([node.target], self.visit(node.value)) if node.value else ast.Pass()

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if isinstance(node, Definition):
            if ast.get_docstring(node) is not None:
                node.body = node.body[1:] or [ast.Pass()]
            if not isinstance(node, ast.ClassDef):
                node.returns = None
        return node


def _rename_definition(tree: ast.Module, old: str, new: str) -> str:
    """The answer's cell, plain, with its definition under another name."""
    tree = ast.fix_missing_locations(_AnnotationStripper().visit(tree))
    for node in ast.walk(tree):
        if isinstance(node, Definition) and node.name == old:
            node.name = new
        elif isinstance(node, ast.Name) and node.id == old:
            node.id = new
    return ast.unparse(tree)


def _wrap_value(source: str, value: str, name: str) -> str:
    """A value's cell as a function without arguments."""
    return f"def {name}():\n{textwrap.indent(source.strip(), '    ')}\n    return {value}"


def _free_names(tree: ast.Module) -> list[str]:
    """The names that a source reads and does not bind."""
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    bound = {name for node in ast.walk(tree) for name in lessons.bound_names(node)}
    bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    return sorted(read - bound - set(dir(builtins)))


def _load_time_names(table: symtable.SymbolTable) -> set[str]:
    """The names that code reads from its module while that is loaded: what stands in functions waits."""
    if table.get_type() == "function":
        return set()
    top = table.get_type() == "module"
    found = {s.get_name() for s in table.get_symbols() if s.is_referenced() and (top or s.is_global())}
    return found.union(*map(_load_time_names, table.get_children()))


def add_stub(path: Path, exercise: Exercise, stub: MisconceptionStub) -> list[str]:
    """Write a stub into a lesson's checks, before and into its exercise's declaration.

    Returns:
        The names that the function needs when it is called and the checks do not define.

    Raises:
        NoPlace: `misconceptions=` of the declaration is not written as a dict, or with the stub the checks could not be
            loaded any more.
    """
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    statement, table = _declaration(tree, exercise.name)
    if table is None or not table.keys or table.end_lineno is None:
        raise StubError(f"the misconceptions of {exercise.name} in {path.name} are not written as a dict there.")
    known = {name for node in tree.body for name in lessons.bound_names(node)}
    _require_loadable(path, stub, known)
    lines = text.splitlines()
    last = table.values[-1]
    assert last.end_lineno is not None  # ast.parse sets it
    lines.insert(last.end_lineno, f"        {stub.table_entry}")
    lines[statement.lineno - 1 : statement.lineno - 1] = [*stub.function_source.splitlines(), "", ""]
    write_atomically(path, "\n".join(lines) + "\n")
    return [name for name in stub.free_names if name not in known]


def _require_loadable(path: Path, made: MisconceptionStub, known: set[str]) -> None:
    """Found without running a line of it: nobody has read it yet."""
    if missing := [name for name in made.load_time_names if name not in known]:
        raise StubError(
            f"nothing was written: the answer needs {', '.join(missing)} as soon as it is loaded, and {path.name} has"
            " no such name. Import it there first, or take it out of the answer."
        )
    if taken := [name for name in made.bound_names if name in known]:
        raise StubError(
            f"nothing was written: the answer defines {', '.join(taken)}, and {path.name} has that name already. Give"
            " it another one in the answer."
        )


def _declaration(tree: ast.Module, name: str) -> tuple[ast.stmt, ast.Dict | None]:
    """The statement that declares an exercise, and its table of misconceptions if it is written as one."""
    for statement in tree.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "exercise":
                first = node.args[0] if node.args else None
                if isinstance(first, ast.Constant) and first.value == name:
                    table = next((k.value for k in node.keywords if k.arg == "misconceptions"), None)
                    return statement, table if isinstance(table, ast.Dict) else None
    raise StubError(f"{name} is not declared by a call of exercise({name!r}, ...).")
