"""What a stub is: what stands in a student's copy in the place of an answer, and by which errors it is recognised."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Sequence

TODO = "# YOUR CODE HERE"
PROSE = "*YOUR ANSWER HERE*"


def body_stub(name: str) -> list[str]:
    """The lines that stand for statements in a function; `name` is its dotted name, as "LayerNorm.forward"."""
    return [TODO, f'raise NotImplementedError("{name}")']


def assignment_stubs(names: Iterable[str]) -> list[str]:
    """The lines that stand for statements that would have bound `names`."""
    return [f"{name} = ...  {TODO}" for name in names]


def block_stub() -> list[str]:
    """The line that stands for all of a block that binds nothing."""
    return [f"...  {TODO}"]


def value_stub(targets: Sequence[ast.expr], hint: str) -> str:
    """What stands right of an assignment's `=`: as many `...` as its targets unpack, and the hint."""
    unpacked = next((target for target in targets if isinstance(target, (ast.Tuple, ast.List))), None)
    return f"{_ellipses(unpacked) if unpacked else '...'}  {f'# {hint}' if hint else TODO}"


def _ellipses(target: ast.Tuple | ast.List) -> str:
    parts = [f"({_ellipses(part)})" if isinstance(part, (ast.Tuple, ast.List)) else "..." for part in target.elts]
    return ", ".join(parts) + "," * (len(parts) == 1)


def unfinished_name(error: BaseException) -> str | None:
    """The dotted name that a stub's error gives, "" when it cannot be told, or None for any other error.

    torch raises NotImplementedError too, with a sentence where a stub has a name.
    """
    text = str(error.args[0]) if error.args else ""
    if isinstance(error, NotImplementedError) and (not text or text.replace(".", "").isidentifier()):
        return text
    return "" if is_ellipsis_error(text) else None


def has_code_after_stub(source: str, name: str) -> bool:
    """Whether an answer stands below the `raise` of its stub, which still ends the function before it.

    A page's own last line, `return state`, is no answer.

    Args:
        source: functions as they were written.
        name: the dotted name that the stub's error gives.
    """
    try:
        tree = ast.parse(textwrap.dedent(source))
    except SyntaxError:
        return False
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return any(any(map(_is_answer_statement, _after_stub(function.body, name))) for function in functions)


def _after_stub(statements: list[ast.stmt], name: str) -> list[ast.stmt]:
    raises = [i for i, statement in enumerate(statements) if _is_stub(statement, name)]
    return statements[raises[-1] + 1 :] if raises else []


def _is_stub(statement: ast.stmt, name: str) -> bool:
    made = statement.exc if isinstance(statement, ast.Raise) else None
    if not isinstance(made, ast.Call) or ast.unparse(made.func) != "NotImplementedError" or len(made.args) != 1:
        return False
    return isinstance(made.args[0], ast.Constant) and made.args[0].value == name


def _is_answer_statement(statement: ast.stmt) -> bool:
    return not (isinstance(statement, ast.Return) and isinstance(statement.value, ast.Name))


def is_ellipsis_error(text: str) -> bool:
    """Whether the words of an error come from an `...` that was used as a value.

    einsum speaks of an ellipsis too, one in its own letters.
    """
    return "ellipsis" in text.lower() and "einsum" not in text
