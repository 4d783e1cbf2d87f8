"""Find the statement in a learner's code that raised an exception, and infer the cause from the statement."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator

from utils.exercises.observe import Failure
from utils.lessons.names import iter_names

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def parse_source(source: str) -> ast.Module | None:
    """Parse a learner's source, which may be indented; return None if it cannot be parsed."""
    try:
        return ast.parse(textwrap.dedent(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _parents(tree: ast.AST) -> dict[ast.AST, ast.AST]:
    return {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}


def _find_statement(failure: Failure) -> tuple[ast.stmt, ast.Module] | None:
    """Return the statement on the failing line and the tree of its function; None if the same line occurs twice."""
    lines = [i for i, line in enumerate(failure.body.splitlines(), 1) if line.strip() == failure.code]
    if failure.code and len(lines) == 1 and (tree := parse_source(failure.body)):
        on_line = [n for n in ast.walk(tree) if isinstance(n, ast.stmt) and n.lineno <= lines[0] <= (n.end_lineno or 0)]
    elif failure.code and not lines and (tree := parse_source(failure.code.rstrip(":"))):
        on_line = tree.body
    else:
        return None
    if on_line and isinstance(on_line[-1], (ast.Raise, ast.Assert)) and not _is_raiser(on_line[-1], failure):
        is_one_line_if = len(on_line) > 1 and on_line[-2].lineno == on_line[-1].lineno
        return (on_line[-2], tree) if is_one_line_if else (ast.Pass(), tree)
    return (on_line[-1], tree) if on_line else None


def _is_raiser(statement: ast.stmt, failure: Failure) -> bool:
    """Tell whether a `raise` or `assert` itself raised the exception, rather than an expression inside it."""
    if isinstance(statement, ast.Assert):
        return failure.type == "AssertionError"
    if not isinstance(statement, ast.Raise) or statement.exc is None:
        return False
    raised = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
    return ast.unparse(raised).rpartition(".")[2] == failure.type or isinstance(statement.exc, ast.Name)


def _own_nodes(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the nodes of a statement, without the statements nested in it. For a loop, yield only its header."""
    yield statement
    for child in ast.iter_child_nodes(statement):
        if not isinstance(child, (ast.stmt, ast.ExceptHandler)):
            yield from ast.walk(child)


def raised_by_own_code(failure: Failure) -> str:
    """Say why the learner's own `raise` or `assert` raised an exception.

    Returns:
        "validation" after a condition on the arguments, "condition" after a condition on other values, "except" in an
        `except` block, "unconditional" if no condition is visible, and "" for all other exceptions.
    """
    found = _find_statement(failure)
    if found is None:
        return "unconditional" if failure.code.startswith("raise ") else ""
    statement, tree = found
    if not isinstance(statement, (ast.Raise, ast.Assert)):
        return ""
    parents = _parents(tree)
    above, node = [], statement
    while node in parents and not isinstance(node, (*_FUNCTIONS, ast.Lambda)):
        above.append(node := parents[node])
    if any(isinstance(n, ast.ExceptHandler) for n in above):
        return "except"
    conditions = [n.test for n in (statement, *above) if isinstance(n, (ast.Assert, ast.If))]
    if not conditions:
        return "unconditional"
    computed = {name for n in ast.walk(tree) if not _is_size_assignment(n) for name in _stored_names(n)}
    return "condition" if computed & set(iter_names(conditions, ast.Load)) else "validation"


def _stored_names(node: ast.AST) -> set[str]:
    """Return the names that an assignment or the header of a loop assigns to."""
    if not isinstance(node, (ast.stmt, ast.NamedExpr, ast.comprehension)) or isinstance(node, _FUNCTIONS):
        return set()
    return set(iter_names([n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)], ast.Store))


def _is_size_assignment(node: ast.AST) -> bool:
    """Tell whether an assignment only stores sizes of arguments, such as `batch, seq, _ = x.shape`."""
    return isinstance(node, ast.Assign) and bool(_SIZES.fullmatch(ast.unparse(node.value)))


_SIZES = re.compile(r"\w+\.shape(\[[-:\d]+\])?|\w+\.size\((-?\d)?\)|len\(\w+\)")

# --- None -----------------------------------------------------------------------------------------------

_OPERATORS = {
    "+": ast.Add,
    "-": ast.Sub,
    "*": ast.Mult,
    "/": ast.Div,
    "@": ast.MatMult,
    "**": ast.Pow,
    "//": ast.FloorDiv,
}
_OPERATORS |= {"%": ast.Mod, "&": ast.BitAnd, "|": ast.BitOr, "^": ast.BitXor}
_RETURN_NOTHING = {
    "register_buffer",
    "register_parameter",
    "add_module",
    "append",
    "extend",
    "insert",
    "reverse",
    "sort",
}
_RETURN_NOTHING |= {"update", "print", "backward", "zero_grad", "shuffle"}


def explain_none(failure: Failure) -> str:
    """Explain an error about None. Name the expression only if the failing line shows which expression is None."""
    if match := re.search(r"(\w+)\(\): argument '(\w+)' .*, not NoneType", failure.text):
        return f"`{match[1]}` got None as its argument `{match[2]}`."
    general = (
        "something is None here, where a value is needed. An omitted argument can be None, and a call that returns"
        " nothing gives None."
    )
    found = _find_statement(failure)
    if found is None:
        return general
    statement, tree = found
    users = list(_users_of_none(failure.text, [*_own_nodes(statement)]))
    shown = {ast.unparse(expression) for _, expression in users}
    if len(shown) != 1 or isinstance(users[0][1], ast.Constant):
        return general
    expression, name = users[0][1], shown.pop()
    waiting = {user for user, _ in users}  # calls that contain these operations cannot have run yet
    earlier = [n for n in _own_nodes(statement) if isinstance(n, ast.Call) and not waiting & {*ast.walk(n)}]
    if earlier and not isinstance(expression, ast.Call):  # an earlier call may have raised the error
        return f"something is None here. Is it `{name}`?{_origin_of_none(expression, tree)[1]}"
    origin, remark = _origin_of_none(expression, tree)
    return f"`{name}` is None{origin}.{remark}"


def _users_of_none(text: str, nodes: list[ast.AST]) -> Iterator[tuple[ast.AST, ast.expr]]:
    """Yield (operation, operand) for each operand that may be None, according to the error's text."""
    attribute = re.search(r"'NoneType' object has no attribute '(\w+)'", text)
    binary = re.search(r"unsupported operand type\(s\) for (\S+?)=?: '(\w+)' and '(\w+)'", text)
    for n in nodes:
        if attribute and isinstance(n, ast.Attribute) and n.attr == attribute[1]:
            yield n, n.value
        elif "not subscriptable" in text or "item assignment" in text:
            if isinstance(n, ast.Subscript):
                yield n, n.value
        elif "not callable" in text and isinstance(n, ast.Call):
            yield n, n.func
        elif "not iterable" in text and isinstance(n, (ast.For, ast.comprehension)):
            yield n, n.iter
        elif "unpack" in text and isinstance(n, ast.Assign) and isinstance(n.targets[0], (ast.Tuple, ast.List)):
            yield n, n.value
        elif "unary" in text and isinstance(n, ast.UnaryOp):
            yield n, n.operand
        elif binary and isinstance(n, (ast.BinOp, ast.AugAssign)) and isinstance(n.op, _OPERATORS.get(binary[1], ())):
            sides = (n.left, n.right) if isinstance(n, ast.BinOp) else (n.target, n.value)
            yield from ((n, side) for side, kind in zip(sides, binary.groups()[1:]) if kind == "NoneType")


def _origin_of_none(expression: ast.expr, tree: ast.Module) -> tuple[str, str]:
    """Return a clause and a sentence that explain why an expression may be None.

    Use the clause only if the expression is certainly None.
    """
    if isinstance(expression, ast.Attribute) and expression.attr == "grad":
        return "", " A tensor has a `.grad` only after `backward` has computed it, and `zero_grad()` removes it again."
    if isinstance(expression, ast.Attribute):
        return (
            "",
            f" Where does `{ast.unparse(expression)}` get its value? `register_buffer`, for example, returns nothing.",
        )
    if not isinstance(expression, ast.Name):
        return "", ""
    assigned = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == expression.id and _is_stored(n)]
    functions = [n for n in ast.walk(tree) if isinstance(n, (*_FUNCTIONS, ast.Lambda))]
    if (
        not assigned
        and len(functions) == 1
        and expression.id in {a.arg for a in ast.walk(functions[0].args) if isinstance(a, ast.arg)}
    ):
        return ": the call left this argument out, or passed None", ""
    calls = [n.value for n in ast.walk(tree) if isinstance(n, ast.Assign) and assigned and assigned[0] in n.targets]
    if len(assigned) == 1 and calls and isinstance(calls[0], ast.Call):
        called = ast.unparse(calls[0].func).rpartition(".")[2]
        if called in _RETURN_NOTHING:
            return f", because `{called}` returns nothing", ""
    return "", ""


def _is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


# --- products --------------------------------------------------------------------------------------------


_PRODUCTS = ("matmul", "bmm")
_SHAPE_CALLS = {"transpose", "permute", "swapaxes", "view", "reshape", "unsqueeze", "size", "softmax", "sqrt", "float"}


def count_products(failure: Failure) -> tuple[int, int]:
    """Count two kinds of operations on the failing line: matrix products, and others that can combine two sizes."""
    found = _find_statement(failure)
    nodes = [*_own_nodes(found[0])] if found else []
    operators = [n.op for n in nodes if isinstance(n, (ast.BinOp, ast.AugAssign))]
    called = [ast.unparse(n.func).rpartition(".")[2] for n in nodes if isinstance(n, ast.Call)]
    products = sum(isinstance(op, ast.MatMult) for op in operators) + sum(name in _PRODUCTS for name in called)
    return products, len(operators) + sum(name not in _SHAPE_CALLS for name in called) - products
