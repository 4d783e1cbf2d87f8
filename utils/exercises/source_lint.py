"""Find lines in a learner's source that probably do not do what the learner intended.

A finding is reported only if the code alone proves it. It is not always the reason why a result is wrong.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable

from torch import Tensor

from utils.lessons.names import iter_names

COLLECTION_METHODS = {*dir(list), *dir(dict), *dir(set)}  # `add` may be the method of a set, which works in place
OTHER_MODULES = {"re", "np", "numpy", "math", "random", "queue"}  # `re.sub` and `queue.put` return no tensor
METHODS_WITHOUT_INPLACE = {"softmax", "log_softmax", "permute", "view", "reshape", "flatten", "expand", "roll", "flip"}


def find_lint(source: str) -> str | None:
    """Return a sentence about the first finding in an answer's source.

    Return None if there is no finding, or if the source has a syntax error.
    """
    try:
        tree = ast.parse(textwrap.dedent(source))
    except (SyntaxError, ValueError):
        return None
    return next((message for node in ast.walk(tree) for lint in _LINTS if (message := lint(node))), None)


def _lint_power(node: ast.AST) -> str | None:
    """Find `d ** 1 / 2`, which is not a square root."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Div):
        return None
    dividend = node.left
    if isinstance(dividend, ast.BinOp) and not isinstance(dividend.op, ast.Pow):  # in x / d ** 1 / 2, check d ** 1
        dividend = dividend.right
    if isinstance(dividend, ast.BinOp) and isinstance(dividend.op, ast.Pow) and _is_constant(dividend.right, 1):
        return (
            f"`** 1 / {ast.unparse(node.right)}` is not a root: Python first takes the power, which changes nothing,"
            f" and then divides by {ast.unparse(node.right)}. Put the exponent in parentheses."
        )
    return None


def _lint_unused_result(node: ast.AST) -> str | None:
    """Find an expression whose result is lost, such as `scores.masked_fill(~mask, -torch.inf)` on its own line."""
    if not isinstance(node, ast.Expr):
        return None
    expression, shown = node.value, ast.unparse(node.value)
    if isinstance(expression, ast.Compare) and isinstance(expression.ops[0], ast.Eq):
        return f"`{shown}` only compares, and the result is never used: a single = assigns."
    if isinstance(expression, ast.Attribute):
        return f"`{shown}` on its own line does nothing: a function is called only with parentheses after its name."
    if (
        isinstance(expression, ast.Call)
        and isinstance(expression.func, ast.Attribute)
        and _returns_new_tensor(expression.func, expression.keywords)
    ):
        return f"`{shown}` creates a new tensor that is never used: it does not change the old tensor."
    return None


def _returns_new_tensor(method: ast.Attribute, keywords: list[ast.keyword]) -> bool:
    """Tell whether a call is a torch operation that returns a new tensor and does not work in place."""
    name = method.attr
    is_pure = name in METHODS_WITHOUT_INPLACE or (hasattr(Tensor, name) and hasattr(Tensor, f"{name}_"))
    is_own_method = isinstance(method.value, ast.Name) and method.value.id in {"self", *OTHER_MODULES}
    writes_elsewhere = any(k.arg in ("out", "inplace") for k in keywords)
    return is_pure and not is_own_method and name not in COLLECTION_METHODS and not writes_elsewhere


def _lint_early_return(node: ast.AST) -> str | None:
    """Find a `return` directly in the body of a loop."""
    if not isinstance(node, (ast.For, ast.While)) or any(
        isinstance(n, (ast.Continue, ast.Break)) for n in ast.walk(node)
    ):
        return None
    if any(isinstance(statement, ast.Return) for statement in node.body):
        return "`return` is inside the loop, so the function ends in the first iteration of the loop."
    return None


def _lint_overwritten_result(function: ast.AST) -> str | None:
    """Find a variable that is set before a loop, overwritten in each iteration, and used after the loop."""
    if not isinstance(function, ast.FunctionDef):
        return None
    for i, loop in enumerate(function.body):
        if not isinstance(loop, ast.For):
            continue
        set_before = set(iter_names(function.body[:i], ast.Store))
        used_after = set(iter_names(function.body[i + 1 :], ast.Load))
        targets = [target for s in loop.body if isinstance(s, ast.Assign) for target in s.targets]
        for name in iter_names(targets, ast.Store):
            if name in set_before & used_after and name not in set(iter_names([loop], ast.Load)):
                return (
                    f"Each iteration of the loop overwrites `{name}`, so only the value of the last iteration remains."
                )
    return None


def _is_constant(node: ast.AST, value: int) -> bool:
    return isinstance(node, ast.Constant) and node.value == value


_LINTS: tuple[Callable[[ast.AST], str | None], ...] = (
    _lint_power,
    _lint_unused_result,
    _lint_early_return,
    _lint_overwritten_result,
)
