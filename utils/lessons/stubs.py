"""Create the stubs that replace answers in student copies, and recognise the errors that stubs raise."""

from __future__ import annotations

import ast
import itertools
import textwrap
from collections.abc import Iterable, Sequence

TODO = "# YOUR CODE HERE"
PROSE = "*YOUR ANSWER HERE*"


def body_stub(name: str) -> list[str]:
    """Return the lines that replace the body of a function. `name` is a dotted name, such as "LayerNorm.forward"."""
    return [TODO, f'raise NotImplementedError("{name}")']


def assignment_stubs(names: Iterable[str]) -> list[str]:
    """Return the lines to put in place of statements that define `names`."""
    return [f"{name} = ...  {TODO}" for name in names]


def block_stub() -> list[str]:
    """Return the line that replaces a whole block that binds no names."""
    return [f"...  {TODO}"]


def value_stub(targets: Sequence[ast.expr], hint: str) -> str:
    """Return the right side of an assignment: one `...` for each unpacked target, then a comment with the hint."""
    unpacked = next((target for target in targets if isinstance(target, (ast.Tuple, ast.List))), None)
    return f"{_ellipses(unpacked) if unpacked else '...'}  {f'# {hint}' if hint else TODO}"


def _ellipses(target: ast.Tuple | ast.List) -> str:
    parts = [f"({_ellipses(part)})" if isinstance(part, (ast.Tuple, ast.List)) else "..." for part in target.elts]
    return ", ".join(parts) + "," * (len(parts) == 1)


def unfinished_name(error: BaseException) -> str | None:
    """Return the dotted name in a stub's error, "" if the name is unknown, or None for any other error.

    torch also raises NotImplementedError, but its message is a sentence instead of a name.
    """
    text = str(error.args[0]) if error.args else ""
    if isinstance(error, NotImplementedError) and (not text or text.replace(".", "").isidentifier()):
        return text
    return "" if is_ellipsis_error(text) else None


def has_code_after_stub(source: str, name: str) -> bool:
    """Return whether an answer was written below its stub's `raise`, where it never runs.

    A final line such as `return state` does not count as an answer, because the lesson may provide it.

    Args:
        source: the source of the functions.
        name: the dotted name in the stub's error.
    """
    try:
        tree = ast.parse(textwrap.dedent(source))
    except (SyntaxError, ValueError):
        return False
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return any(any(map(_is_answer_statement, _after_stub(function.body, name))) for function in functions)


def has_code_above_stub(source: str, name: str) -> bool:
    """Return whether an answer was written between a stub's comment and its `raise`, or instead of the comment.

    Code above the comment does not count, because it may come from the lesson.

    Args:
        source: the source of the functions.
        name: the dotted name in the stub's error.
    """
    try:
        tree = ast.parse(source := textwrap.dedent(source))
    except (SyntaxError, ValueError):
        return False
    lines = source.splitlines()
    blocks = [node.body for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    pairs = [pair for block in blocks for pair in itertools.pairwise(block) if _is_stub(pair[1], name)]
    return any(
        not (isinstance(before, ast.Expr) and isinstance(before.value, ast.Constant))
        and not any(line.strip() == TODO for line in lines[before.end_lineno : stub.lineno])
        for before, stub in pairs
    )


def _after_stub(statements: list[ast.stmt], name: str) -> list[ast.stmt]:
    raises = [i for i, statement in enumerate(statements) if _is_stub(statement, name)]
    return statements[raises[-1] + 1 :] if raises else []


def _is_stub(statement: ast.stmt, name: str) -> bool:
    error = statement.exc if isinstance(statement, ast.Raise) else None
    if not isinstance(error, ast.Call) or ast.unparse(error.func) != "NotImplementedError" or len(error.args) != 1:
        return False
    return isinstance(error.args[0], ast.Constant) and error.args[0].value == name


def _is_answer_statement(statement: ast.stmt) -> bool:
    return not (isinstance(statement, ast.Return) and isinstance(statement.value, ast.Name))


def is_ellipsis_error(text: str) -> bool:
    """Return whether an error message is about a `...` that was used as a value.

    Messages from einsum do not count, because they mention the ellipsis of einsum's own notation.
    """
    return "ellipsis" in text.lower() and "einsum" not in text
