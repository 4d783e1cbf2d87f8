"""Find the cells of an untouched lesson that cannot run until an exercise is done. The analysis runs no code."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from utils.lessons import Cell, bound_names, parse_cell
from utils.lessons.names import read_names

# If an answer is unfinished, these functions say so and raise no error.
TOLERANT_CALLS = frozenset({"check", "hint", "solution", "progress"})
# `yours` returns the answer to an earlier exercise. In a copy without solutions/, it may have nothing to return.
YOURS = "yours"

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def mark_blocked_cells(cells: Iterable[tuple[Cell, set[str]]]) -> list[bool]:
    """Return for each cell whether it fails in an untouched lesson.

    A name is unset until a cell gives it a value. A definition that uses an unset name does not fail, but it
    is unfinished until that name has a value.

    Args:
        cells: the cells in order, each with the names that it leaves without a value.
    """
    world = _NameState()
    return [world.run(cell, unset) for cell, unset in cells]


class _NameState:
    """Tracks which names of the lesson still have no value after each cell."""

    def __init__(self) -> None:
        self.unset: set[str] = set()
        self.classes: set[str] = set()  # the classes that have been defined, even if they are unfinished
        self.uses: dict[str, set[str]] = {}  # maps a definition's name to the global names in its body

    def run(self, cell: Cell, unset: set[str]) -> bool:
        tree = parse_cell(cell) or ast.Module([], [])
        self.unset |= unset.difference(bound_names(tree))
        failed = False
        for node in tree.body:
            # After a failure, the remaining statements do not run, so the names that they would bind remain unset.
            failed = failed or self._is_failing(node)
            for name in bound_names(node):
                self._bind(name, node, name in unset, failed)
        return failed

    def _bind(self, name: str, node: ast.stmt, unset: bool, failed: bool) -> None:
        self.unset.discard(name)
        self.uses.pop(name, None)
        self.classes.discard(name)
        if isinstance(node, ast.ClassDef) and not failed:
            self.classes.add(name)
        if unset or failed:
            self.unset.add(name)
        elif (body := _deferred_part(node)) is not None:
            self.uses[name] = read_names(body)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            self.uses[name] = {n.id for n in _forwarded_names(node.value)}

    def is_unfinished(self, name: str, visited: frozenset[str] = frozenset()) -> bool:
        """Return whether the name has no value, or its definition uses an unfinished name."""
        if name in self.unset:
            return True
        return any(
            self.is_unfinished(used, visited | {name}) for used in self.uses.get(name, ()) if used not in visited
        )

    def _is_failing(self, node: ast.stmt) -> bool:
        if isinstance(node, ast.Assert):
            return any(self.is_unfinished(name.id) for name in ast.walk(node) if isinstance(name, ast.Name))
        if not isinstance(node, _DEFINITIONS) and YOURS in _called_names(node):
            return True
        inherits = {base.id for base in getattr(node, "bases", ()) if isinstance(base, ast.Name)} & self.classes
        return any(self.is_unfinished(name) for name in _used_names(node) if name not in inherits)


def _deferred_part(node: ast.stmt) -> ast.AST | None:
    """Return the function, class or lambda that a statement defines, or None. Most of it runs only when called."""
    if isinstance(node, _DEFINITIONS):
        return node
    value = getattr(node, "value", None) if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
    return value if isinstance(value, ast.Lambda) else None


def _forwarded_names(node: ast.AST) -> list[ast.Name]:
    """Return the names that an expression passes on without using them, such as `f` in `g = f` and `pair = (f, 1)`."""
    if isinstance(node, ast.Name):
        return [node]
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return [name for part in node.elts for name in _forwarded_names(part)]
    if isinstance(node, ast.Dict):
        return [name for part in node.values for name in _forwarded_names(part)]
    return []


def _used_names(node: ast.stmt) -> Iterator[str]:
    """Yield the names whose values a statement needs when it runs.

    Leave out names that the statement only defines or only passes on, for example to one of the `TOLERANT_CALLS`.
    """
    if isinstance(node, ast.Expr):
        forwarded = _forwarded_names(node.value)
    elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        forwarded = _forwarded_names(node.value) if all(isinstance(target, ast.Name) for target in targets) else []
    else:
        forwarded = []
    skip = {id(name) for name in forwarded}

    def visit(node: ast.AST) -> Iterator[str]:
        if isinstance(node, _DEFINITIONS[:3]):
            parts = [*node.decorator_list, *getattr(node, "bases", ())]
            arguments = getattr(node, "args", None)
            parts += [part for part in [*arguments.defaults, *arguments.kw_defaults] if part] if arguments else []
            for part in parts:
                yield from visit(part)
            return
        if isinstance(node, ast.Call) and _last_name(node.func) in TOLERANT_CALLS:
            for part in [*node.args, *(keyword.value for keyword in node.keywords)]:
                if not _forwarded_names(part):
                    yield from visit(part)
            return
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store) and id(node) not in skip:
            yield node.id
        for child in ast.iter_child_nodes(node):
            yield from visit(child)

    if _deferred_part(node) is None or isinstance(node, _DEFINITIONS):
        yield from visit(node)


def _called_names(node: ast.AST) -> set[str | None]:
    return {_last_name(call.func) for call in ast.walk(node) if isinstance(call, ast.Call)}


def _last_name(function: ast.expr) -> str | None:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else None
