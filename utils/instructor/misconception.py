"""Turn a wrong answer into a misconception: add its function and its entry to the lesson's checks module."""

from __future__ import annotations

import ast
import builtins
import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

from utils.exercises.exercise import Exercise
from utils.lessons.files import write_atomically
from utils.lessons.names import bound_names, read_names
from utils.lessons.syntax import Definition

TODO = "TODO: say what is wrong, and why, in one or two sentences."


class StubError(ValueError):
    """A stub cannot be added to the checks. Nothing was written. The message gives the reason."""


@dataclass(frozen=True)
class MisconceptionStub:
    """A misconception to add to the checks.

    Attributes:
        function_source: the source of the wrong function or class.
        table_entry: the line for the exercise's table of misconceptions.
        free_names: the names that the source reads but does not bind.
        bound_names: the names that the source binds at module level, except imports.
    """

    function_source: str
    table_entry: str
    free_names: list[str]
    bound_names: list[str]


def make_stub(exercise: Exercise, source: str, id: str, message: str = TODO) -> MisconceptionStub:
    """Turn the answer in `source` into the misconception `id`.

    Raises:
        ValueError: the source does not parse or does not define the exercise's name, the id is invalid, or the
            exercise already has a misconception with this id.
    """
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", id):
        raise ValueError(
            f"{id!r} is not a valid id. Use lower-case letters, digits and hyphens, such as softmax-of-the-columns."
        )
    if any(wrong.id == id for wrong in exercise.misconceptions):
        raise ValueError(f"{exercise.name} already has a misconception called {id}.")
    tree = parse_answer(source)
    if exercise.name not in bound_names(tree):
        raise ValueError(f"the answer does not define {exercise.name!r}.")
    name = f"_{exercise.name}_{id.replace('-', '_')}"
    tree.body = [node for node in tree.body if not (_is_check(node) or _is_future_import(node))]
    tree = ast.fix_missing_locations(_AnnotationStripper().visit(tree))
    function = (_wrap_value if exercise.kind == "value" else _rename_definition)(tree, exercise.name, name)
    parts = map(repr, textwrap.wrap(message, 90, drop_whitespace=False))  # so that `ruff format` can wrap the text
    entry = f'"{id}": Wrong({name}, {" ".join(parts)}),'
    stub_tree = ast.parse(function)
    free_names = read_names(function).difference(bound_names(stub_tree), dir(builtins))
    return MisconceptionStub(function, entry, sorted(free_names), bound_names(stub_tree, imports=False))


def parse_answer(source: str) -> ast.Module:
    """Return the syntax tree of an answer.

    Raises:
        ValueError: the source is not valid Python, or is nested too deeply.
    """
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError) as error:  # until Python 3.11.3, a null byte raises ValueError
        line = getattr(error, "lineno", None)
        why = f"line {line}: {getattr(error, 'msg', error)}" if line else getattr(error, "msg", error)
        raise ValueError(f"the answer does not parse ({why}), so it cannot run as a misconception.") from None
    except (RecursionError, MemoryError):
        raise ValueError("the answer is nested too deeply, so it cannot run as a misconception.") from None


def _is_check(node: ast.stmt) -> bool:
    """Return whether a statement only calls `check`. The checks modules do not define `check`."""
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "check"


def _is_future_import(node: ast.stmt) -> bool:
    """Return whether a statement is `from __future__ import …`, which is allowed only at the top of a file."""
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


class _AnnotationStripper(ast.NodeTransformer):
    """Removes annotations and docstrings from code.

    Annotations use names from the lesson. In the checks, these names are missing or mean something else.
    """

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
    """Return the code of the answer, with its definition renamed from `old` to `new`."""
    for node in ast.walk(tree):
        if isinstance(node, Definition) and node.name == old:
            node.name = new
        elif isinstance(node, ast.Name) and node.id == old:
            node.id = new
    return ast.unparse(tree)


def _wrap_value(tree: ast.Module, value: str, name: str) -> str:
    """Turn the cell that computes a value into a function without arguments."""
    return f"def {name}():\n{textwrap.indent(ast.unparse(tree), '    ')}\n    return {value}"


def add_stub(path: Path, exercise: Exercise, stub: MisconceptionStub) -> None:
    """Add a stub to a lesson's checks: its function, and its entry in the table of misconceptions.

    Raises:
        StubError: the `misconceptions=` argument in the declaration is not a dict literal, the stub needs a name that
            the file does not define, or the stub defines a name that the file already uses.
    """
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    statement, table = _declaration(tree, exercise.name)
    if table is None or not table.keys or table.end_lineno is None:
        raise StubError(
            f"the misconceptions of {exercise.name} in {path.name} are not written as a dict, so nothing was added."
        )
    _require_names(path, stub, set(bound_names(tree)))
    lines = text.splitlines()
    last = table.values[-1]
    assert last.end_lineno is not None  # ast.parse always sets end_lineno
    rest = lines[last.end_lineno - 1].encode()[last.end_col_offset :].decode()
    if not rest.lstrip().startswith(","):
        lines[last.end_lineno - 1] = f"{lines[last.end_lineno - 1].removesuffix(rest)},{rest}"
    lines.insert(last.end_lineno, f"        {stub.table_entry}")
    lines[statement.lineno - 1 : statement.lineno - 1] = [*stub.function_source.splitlines(), "", ""]
    new_text = "\n".join(lines) + "\n"
    try:
        compile(new_text, path.name, "exec")
    except SyntaxError as error:
        raise StubError(f"Nothing was written: with the new entry, {path.name} would not parse: {error}.") from None
    write_atomically(path, new_text)


def _require_names(path: Path, stub: MisconceptionStub, known: set[str]) -> None:
    """Check that the file defines all names that the stub needs, and none of the names that the stub defines.

    The stub is not executed, because nobody has reviewed it yet.

    Raises:
        StubError: the answer needs a name that the file does not define, or defines a name that the file already uses.
    """
    if missing := [name for name in stub.free_names if name not in known]:
        raise StubError(
            f"Nothing was written: the answer uses {', '.join(missing)}, but {path.name} does not define"
            f" {'it' if len(missing) == 1 else 'them'}. Edit the answer: use names of {path.name}, or define the"
            " missing names inside the answer."
        )
    if taken := [name for name in stub.bound_names if name in known]:
        raise StubError(
            f"Nothing was written: the answer defines {', '.join(taken)}, but {path.name} already uses this name."
            " Rename it in the answer."
        )


def _declaration(tree: ast.Module, name: str) -> tuple[ast.stmt, ast.Dict | None]:
    """Return the statement that declares an exercise, and the dict literal that lists its misconceptions.

    The second value is None if the declaration contains no such dict literal.

    Raises:
        StubError: the file does not declare the exercise.
    """
    for statement in tree.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "exercise":
                first = node.args[0] if node.args else None
                if isinstance(first, ast.Constant) and first.value == name:
                    table = next((k.value for k in node.keywords if k.arg == "misconceptions"), None)
                    return statement, table if isinstance(table, ast.Dict) else None
    raise StubError(f"Nothing was written: no call of exercise({name!r}, ...) declares {name}.")
