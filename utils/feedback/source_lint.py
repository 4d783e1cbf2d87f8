"""Slips that the code of an answer shows: lines that do something other than what whoever writes them means.

Each is said only where the code proves it; whether it is the reason for a wrong result is left open.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable, Iterator

from torch import Tensor

COLLECTION_METHODS = {*dir(list), *dir(dict), *dir(set)}  # `add` of a tensor makes a new one, `add` of a set does not
METHODS_WITHOUT_INPLACE = {"softmax", "log_softmax", "permute", "view", "reshape", "flatten", "expand", "roll", "flip"}


def find_lint(source: str) -> str | None:
    """The first slip in the functions of an answer, as a sentence; None where there is none, or no source."""
    try:
        tree = ast.parse(textwrap.dedent(source))
    except SyntaxError:
        return None
    return next((words for node in ast.walk(tree) for look in _LINTS if (words := look(node))), None)


def _lint_power(node: ast.AST) -> str | None:
    """`d ** 1 / 2`."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
        return None
    before = node.left
    if isinstance(before, ast.BinOp) and not isinstance(before.op, ast.Pow):  # of x / d ** 1 / 2 the d ** 1
        before = before.right
    if isinstance(before, ast.BinOp) and isinstance(before.op, ast.Pow) and _is_constant(before.right, 1):
        return (
            f"`** 1 / {ast.unparse(node.right)}` is no root: Python takes the power first, which changes nothing, and"
            f" then divides by {ast.unparse(node.right)}. Brackets make one number of the exponent."
        )
    return None


def _lint_unused_result(node: ast.AST) -> str | None:
    """`scores.masked_fill(~mask, -torch.inf)` on a line of its own."""
    if not isinstance(node, ast.Expr):
        return None
    made, shown = node.value, ast.unparse(node.value)
    if isinstance(made, ast.Compare) and isinstance(made.ops[0], ast.Eq):
        return f"`{shown}` compares, and nothing comes of it: a single = assigns."
    if isinstance(made, ast.Attribute):
        return f"`{shown}` on a line of its own does nothing: a function is called by the brackets behind its name."
    if (
        isinstance(made, ast.Call)
        and isinstance(made.func, ast.Attribute)
        and _returns_new_tensor(made.func, made.keywords)
    ):
        return f"`{shown}` makes a new tensor, and nothing keeps it: what it was made from stays as it was."
    return None


def _returns_new_tensor(method: ast.Attribute, keywords: list[ast.keyword]) -> bool:
    """Whether it is one of torch's methods that leave their tensor alone."""
    name = method.attr
    anew = name in METHODS_WITHOUT_INPLACE or (hasattr(Tensor, name) and hasattr(Tensor, f"{name}_"))
    own = isinstance(method.value, ast.Name) and method.value.id == "self"
    return (
        anew and not own and name not in COLLECTION_METHODS and not any(k.arg in ("out", "inplace") for k in keywords)
    )


def _lint_early_return(node: ast.AST) -> str | None:
    """`return` where the loop's own lines stand."""
    if not isinstance(node, (ast.For, ast.While)) or any(
        isinstance(n, (ast.Continue, ast.Break)) for n in ast.walk(node)
    ):
        return None
    if any(isinstance(statement, ast.Return) for statement in node.body):
        return "`return` stands inside the loop, so the function ends in the loop's first round."
    return None


def _lint_overwritten_result(function: ast.AST) -> str | None:
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


def _is_constant(node: ast.AST, value: int) -> bool:
    return isinstance(node, ast.Constant) and node.value == value


_LINTS: tuple[Callable[[ast.AST], str | None], ...] = (
    _lint_power,
    _lint_unused_result,
    _lint_early_return,
    _lint_overwritten_result,
)
