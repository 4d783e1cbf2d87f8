"""Slips that the code of an answer shows: lines that do something other than what whoever writes them means.

Each is said only where the code proves it; whether it is the reason for a wrong result is left open.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterator

from torch import Tensor

OF_COLLECTIONS = {*dir(list), *dir(dict), *dir(set)}  # `add` of a tensor makes a new one, `add` of a set does not
WITHOUT_SIBLING = {"softmax", "log_softmax", "permute", "view", "reshape", "flatten", "expand", "roll", "flip"}


def slip_in(source: str) -> str | None:
    """The first slip in the functions of an answer, as a sentence; None where there is none, or no source."""
    try:
        tree = ast.parse(textwrap.dedent(source))
    except SyntaxError:
        return None
    return next((words for node in ast.walk(tree) for look in _LOOKS if (words := look(node))), None)


def _power(node: ast.AST) -> str | None:
    """`d ** 1 / 2`."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
        return None
    before = node.left
    if isinstance(before, ast.BinOp) and not isinstance(before.op, ast.Pow):  # of x / d ** 1 / 2 the d ** 1
        before = before.right
    if isinstance(before, ast.BinOp) and isinstance(before.op, ast.Pow) and _is(before.right, 1):
        return (
            f"`** 1 / {ast.unparse(node.right)}` is no root: Python takes the power first, which changes nothing, and"
            f" then divides by {ast.unparse(node.right)}. Brackets make one number of the exponent."
        )
    return None


def _thrown_away(node: ast.AST) -> str | None:
    """`scores.masked_fill(~mask, -torch.inf)` on a line of its own."""
    if not isinstance(node, ast.Expr):
        return None
    made, shown = node.value, ast.unparse(node.value)
    if isinstance(made, ast.Compare) and isinstance(made.ops[0], ast.Eq):
        return f"`{shown}` compares, and nothing comes of it: a single = assigns."
    if isinstance(made, ast.Attribute):
        return f"`{shown}` on a line of its own does nothing: a function is called by the brackets behind its name."
    if isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) and _makes_anew(made.func, made.keywords):
        return f"`{shown}` makes a new tensor, and nothing keeps it: what it was made from stays as it was."
    return None


def _makes_anew(method: ast.Attribute, keywords: list[ast.keyword]) -> bool:
    """Whether it is one of torch's methods that leave their tensor alone."""
    name = method.attr
    anew = name in WITHOUT_SIBLING or (hasattr(Tensor, name) and hasattr(Tensor, f"{name}_"))
    own = isinstance(method.value, ast.Name) and method.value.id == "self"
    return anew and not own and name not in OF_COLLECTIONS and not any(k.arg in ("out", "inplace") for k in keywords)


def _ends_in_the_first_round(node: ast.AST) -> str | None:
    """`return` where the loop's own lines stand."""
    if not isinstance(node, (ast.For, ast.While)) or any(
        isinstance(n, (ast.Continue, ast.Break)) for n in ast.walk(node)
    ):
        return None
    if any(isinstance(statement, ast.Return) for statement in node.body):
        return "`return` stands inside the loop, so the function ends in the loop's first round."
    return None


def _overwritten(function: ast.AST) -> str | None:
    """A result that each round of a loop makes anew, though it was begun before the loop and is used after it."""
    if not isinstance(function, ast.FunctionDef):
        return None
    for i, loop in enumerate(function.body):
        if not isinstance(loop, ast.For):
            continue
        begun, used = set(_names(function.body[:i], ast.Store)), set(_names(function.body[i + 1 :], ast.Load))
        for name in _names([s for s in loop.body if isinstance(s, ast.Assign)], ast.Store):
            if name in begun & used and name not in set(_names([loop], ast.Load)):
                return f"Each round of the loop makes `{name}` anew, and only that of the last round is left."
    return None


def _names(statements: list[ast.stmt], context: type) -> Iterator[str]:
    """The names that are read (`ast.Load`) or bound (`ast.Store`) in statements."""
    nodes = (node for statement in statements for node in ast.walk(statement))
    return (node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, context))


def _is(node: ast.AST, value: int) -> bool:
    return isinstance(node, ast.Constant) and node.value == value


_LOOKS: tuple[Callable[[ast.AST], str | None], ...] = (_power, _thrown_away, _ends_in_the_first_round, _overwritten)
