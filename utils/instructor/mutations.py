"""Create mutants of an answer: a different operator or axis, a missing line, swapped arguments, and similar changes.

Each change is a mistake that a learner could make. `utils.instructor.mutation_testing` judges the mutants.
"""

from __future__ import annotations

import ast
import copy
import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from utils.lessons.names import iter_names
from utils.lessons.syntax import is_docstring


@dataclass(frozen=True)
class Mutant:
    """An answer with one change: the kind of change, the source, and the lines that differ."""

    kind: str
    source: str
    change: str


_OPERATORS = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Div,),
    ast.Mod: (ast.FloorDiv,),
    ast.Pow: (ast.Mult,),
    ast.MatMult: (ast.Mult,),
}
_COMPARISONS = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_DUALS = [
    ("sum", "mean"),
    ("max", "min"),
    ("amax", "amin"),
    ("argmax", "argmin"),
    ("sin", "cos"),
    ("ones", "zeros"),
    ("tril", "triu"),
    ("cat", "stack"),
    ("softmax", "log_softmax"),
    ("rand", "randn"),
    ("var", "std"),
    ("sqrt", "square"),
    ("values", "indices"),
    ("transpose", "view"),
    ("masked_fill", "masked_fill_"),
    ("exp", "log1p"),
    ("view", "reshape"),
    ("mT", "T"),
    ("encode", "decode"),
]
_ORDERED = (ast.Sub, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult)


def make_mutants(source: str) -> list[Mutant]:
    """Return the distinct mutants of a definition or of a few statements, in source order."""
    tree = ast.parse(source)
    plain = ast.unparse(tree)
    mutants: dict[str, Mutant] = {}
    nodes = list(_iter_nodes(tree))
    for place, (node, parent) in enumerate(nodes):
        for kind, change in _iter_changes(node, parent, tree):
            twin = copy.deepcopy(tree)
            counterpart, holder = list(_iter_nodes(twin))[place]
            change(counterpart, holder)
            try:
                text = ast.unparse(ast.fix_missing_locations(twin))
                compile(text, "<mutant>", "exec")
            except (SyntaxError, ValueError):
                continue
            if text != plain and text not in mutants:
                mutants[text] = Mutant(kind, text, _difference(plain, text))
    return list(mutants.values())


def _difference(before: str, after: str) -> str:
    """Return the changed lines as `old → new`."""
    lines = [line for line in difflib.ndiff(before.splitlines(), after.splitlines()) if line[:2] in ("- ", "+ ")]
    old, new = ([line[2:].strip() for line in lines if line[0] == sign] for sign in "-+")
    return f"{' / '.join(old)} → {' / '.join(new) or '(dropped)'}"


def _iter_nodes(tree: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield each node that can be changed, with its parent.

    Leave out annotations, decorators and base classes, and the contents of docstrings, error messages and f-strings.
    """
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "bases", "type_comment"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(
                child, (ast.expr_context, ast.operator, ast.cmpop, ast.unaryop, ast.boolop)
            ):
                continue
            yield child, tree
            if not isinstance(child, (ast.Raise, ast.JoinedStr)) and not is_docstring(child):
                yield from _iter_nodes(child)


def _iter_changes(node: ast.AST, parent: ast.AST, tree: ast.AST) -> Iterator[tuple[str, Callable]]:
    """Yield (kind, function) for each possible change of a node.

    The function takes a copy of the node and a copy of its parent, and makes the change in them.
    """
    if isinstance(node, ast.stmt) and not isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not is_docstring(node):
        yield "dropped line", _drop_statement
    for kind, new in _iter_replacements(node, parent, tree):
        yield kind, lambda twin, holder, new=new: _replace_child(holder, twin, copy.deepcopy(new))
    if isinstance(node, ast.Call):
        for i in range(len(node.keywords)):
            yield "dropped keyword", lambda twin, holder, i=i: twin.keywords.pop(i)
        for i in range(len(node.args) - 1):
            yield "swapped arguments", lambda twin, holder, i=i: _swap(twin.args, i)
    if isinstance(node, (ast.Tuple, ast.List)) and isinstance(node.ctx, ast.Load):
        for i in range(len(node.elts) - 1):
            yield "swapped items", lambda twin, holder, i=i: _swap(twin.elts, i)
    if isinstance(node, ast.Slice):
        for part in ("lower", "upper", "step"):
            if getattr(node, part) is not None:
                yield "dropped bound", lambda twin, holder, part=part: setattr(twin, part, None)
    if isinstance(node, ast.AugAssign):
        for other in _OPERATORS.get(type(node.op), ()):
            yield "operator", lambda twin, holder, other=other: setattr(twin, "op", other())
    if isinstance(node, ast.arguments) and len(node.args) > 2 and node.args[0].arg != "self":
        yield "swapped arguments", lambda twin, holder: _swap(twin.args, 0)


def _iter_replacements(node: ast.AST, parent: ast.AST, tree: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the nodes that can replace this node, each with the kind of change."""
    if isinstance(node, ast.BinOp):
        for other in _OPERATORS.get(type(node.op), ()):
            yield "operator", ast.BinOp(node.left, other(), node.right)
        if isinstance(node.op, _ORDERED):
            yield "swapped operands", ast.BinOp(node.right, node.op, node.left)
        yield "dropped operand", node.left
        if isinstance(node.op, (ast.Add, ast.Mult)):
            yield "dropped operand", node.right
    elif isinstance(node, ast.UnaryOp):
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            number: Any = node.operand.value
            for value in _near_constants(-number):
                yield "constant", ast.Constant(value)
        else:
            yield "operator", node.operand
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in _COMPARISONS.get(type(node.ops[0]), ()):
            yield "comparison", ast.Compare(node.left, [other()], node.comparators)
    elif isinstance(node, ast.BoolOp):
        yield "operator", ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
        for value in node.values:
            yield "dropped operand", value
    elif isinstance(node, ast.IfExp):
        yield "branch", node.body
        yield "branch", node.orelse
        yield "branch", ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.Constant) and not isinstance(parent, ast.UnaryOp):
        for value in _near_constants(node.value, tree):
            yield "constant", ast.Constant(value)
    elif isinstance(node, ast.Call):
        method = isinstance(node.func, ast.Attribute)
        if isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) not in ("torch", "nn"):
            yield "dropped call", node.func.value
        first = node.args[0] if node.args and (method or len(node.args) == 1) else None
        if first and not isinstance(first, (ast.GeneratorExp, ast.Starred)):
            yield "dropped call", first
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        for pair in _DUALS:
            if node.attr in pair:
                yield "operation", ast.Attribute(node.value, pair[1 - pair.index(node.attr)], ast.Load())
        chained = not isinstance(parent, ast.Call) and not isinstance(node.value, ast.Name)
        if chained or node.attr in ("T", "mT"):
            yield "dropped attribute", node.value
        stored = _stored_attributes(tree)
        if isinstance(node.value, ast.Name) and node.value.id == "self" and node.attr in stored:
            for name in stored:
                if name != node.attr and stored[name] == stored[node.attr]:
                    yield "swapped names", ast.Attribute(node.value, name, ast.Load())
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        yield "dropped index", node.value
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        for name in _confusable_names(node, tree):
            yield "swapped names", ast.Name(name, ast.Load())


def _near_constants(value: Any, tree: ast.AST | None = None) -> list:
    """Return constants that a learner could write by mistake: nearby numbers, the opposite sign, or other strings."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return sorted({value + 1, value - 1, -value} - {value})
    if isinstance(value, float):
        return [value * 2, value / 2, value + 1]
    if isinstance(value, str) and tree is not None:
        texts = {n.value for n, _ in _iter_nodes(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
        return sorted(w for w in texts - {value} if len(w) < 20)
    return []


def _stored_attributes(tree: ast.AST) -> dict[str, str]:
    """Map the name of each attribute that a class stores on self to the code that creates its value.

    If the value is the result of a call, this code is only the called function.
    """
    stored = {}
    for node, _ in _iter_nodes(tree):
        if isinstance(node, ast.Assign):
            maker = node.value.func if isinstance(node.value, ast.Call) else node.value
            for target in (part for target_list in node.targets for part in ast.walk(target_list)):
                if (
                    isinstance(target, ast.Attribute)
                    and isinstance(target.ctx, ast.Store)
                    and isinstance(target.value, ast.Name)
                ):
                    stored[target.attr] = ast.unparse(maker)
    return stored


def _confusable_names(node: ast.Name, tree: ast.AST) -> list[str]:
    """Return the names that a learner could confuse with this name.

    Candidates are arguments of the same type, names bound in the same statement, and the most recently bound name.
    """
    scope = next(
        (
            n
            for n, _ in _iter_nodes(tree)
            if isinstance(n, ast.FunctionDef) and n.lineno <= node.lineno <= (n.end_lineno or n.lineno)
        ),
        tree,
    )
    groups: list[tuple[int, list[str]]] = []  # (line, names bound in it); arguments of the same type form one group
    if isinstance(scope, ast.FunctionDef):
        kinds: dict[str, list[str]] = {}
        for a in scope.args.args:
            kinds.setdefault(ast.unparse(a.annotation).split("[")[0] if a.annotation else "", []).append(a.arg)
        groups += [(0, [name for name in names if name != "self"]) for names in kinds.values()]
    for binding, _ in _iter_nodes(scope):
        if isinstance(binding, ast.Assign):
            groups.append((binding.end_lineno or binding.lineno, list(iter_names(binding.targets, ast.Store))))
        elif isinstance(binding, ast.For):
            groups.append((binding.target.lineno, list(iter_names([binding.target], ast.Store))))
        elif isinstance(binding, (ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp)) and node in ast.walk(
            binding
        ):
            groups += [(0, list(iter_names([part.target], ast.Store))) for part in binding.generators]
    groups = [
        (line, names) for line, names in sorted(groups, key=lambda group: group[0]) if names and line < node.lineno
    ]
    if not any(node.id in names for _, names in groups):
        return []
    beside = [name for _, names in groups if node.id in names for name in names]
    last = [names[-1] for line, names in groups if line and node.id not in names][-1:]
    return [name for name in dict.fromkeys([*beside, *last]) if name != node.id]


def _replace_child(holder: ast.AST, old: ast.AST, new: ast.AST) -> None:
    for name, value in ast.iter_fields(holder):
        if value is old:
            setattr(holder, name, new)
        elif isinstance(value, list):
            value[:] = [new if item is old else item for item in value]


def _swap(items: list, i: int) -> None:
    items[i], items[i + 1] = items[i + 1], items[i]


def _drop_statement(node: ast.AST, holder: ast.AST) -> None:
    for name, value in ast.iter_fields(holder):
        if isinstance(value, list) and node in value:
            value.remove(node)
            if not value and name == "body":
                value.append(ast.Pass())
