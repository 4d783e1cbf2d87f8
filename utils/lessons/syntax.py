"""Analyse the Python code of cells: strip magics, parse, and find statements."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from utils.lessons.cells import Cell

Function = (ast.FunctionDef, ast.AsyncFunctionDef)
Definition = (*Function, ast.ClassDef)
Scope = list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]

_MAGIC_LINE = re.compile(r"^(\s*)(?:[%!?]|[A-Za-z_]\w*(?:\s*,\s*\w+)*\s*=\s*[%!][A-Za-z]|[\w.]+\?{1,2}\s*$)")
_DEFINES = re.compile(r"^(?:(?:async\s+)?def|class)\s+(\w+)|^(\w+)\s*=(?!=)", re.MULTILINE)
_CELL_MAGICS_OVER_PYTHON = ("time", "timeit", "capture", "prun")


def strip_magics(source: str) -> str | None:
    """Replace each `%` and `!` line with `pass`, to keep the line numbers. Return None if the cell is not Python."""
    lines = source.split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    if lines[first].startswith("%%"):
        if lines[first][2:].split(" ")[0] not in _CELL_MAGICS_OVER_PYTHON:
            return None
        lines[first] = ""
    if not any(_MAGIC_LINE.match(line) for line in lines):
        return "\n".join(lines)
    try:
        ast.parse("\n".join(lines))  # if this parses, a line that starts with % continues an expression
    except (SyntaxError, ValueError):
        lines = [f"{match.group(1)}pass" if (match := _MAGIC_LINE.match(line)) else line for line in lines]
    return "\n".join(lines)


def parse_cell(cell: Cell) -> ast.Module | None:
    """Return the syntax tree of a cell, with line numbers as in the file, or None if the cell is not valid Python."""
    source = strip_magics(cell.source) if cell.kind == "code" else None
    try:
        tree = ast.parse(source) if source is not None else None
    except (SyntaxError, ValueError):
        return None
    return ast.increment_lineno(tree, cell.line - 1) if tree else None


def find_parse_errors(cell: Cell) -> dict[str, SyntaxError]:
    """Return {name: error} for each name that a cell seems to define; `error` is the cell's parse error.

    The dict is empty if the cell parses. The line in the error is relative to the cell.
    """
    source = strip_magics(cell.source) if cell.kind == "code" else None
    try:
        ast.parse(source or "")
    except (SyntaxError, ValueError) as problem:  # until Python 3.11.3, a null byte raises ValueError
        error = problem if isinstance(problem, SyntaxError) else SyntaxError(str(problem))
        return {defined or assigned: error for defined, assigned in _DEFINES.findall(cell.source)}
    return {}


def parse_error_text(error: SyntaxError | ValueError) -> str:
    """Return "cannot be run, because …", without a full stop. Callers put the name of the cell before this text."""
    why = str(error)
    if isinstance(error, SyntaxError):
        # The error for a null byte has no line number.
        line = f"line {error.lineno}, `{(error.text or '').strip()}`: " if error.lineno else ""
        why = f"{line}{error.msg}"
    return f"cannot be run, because it is not valid Python: {why}"


def statement_rows(node: ast.stmt) -> range:
    """Return the rows (0-based) of a statement, including its decorators."""
    first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])
    return range(first - 1, node.end_lineno or node.lineno)


def is_docstring(node: ast.AST) -> bool:
    """Return whether a statement is only a string."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def is_compound_statement(node: ast.stmt) -> bool:
    """Return whether a statement contains other statements."""
    return hasattr(node, "body") or isinstance(node, ast.Match)


def iter_statement_lists(tree: ast.AST) -> Iterator[tuple[list[ast.stmt], ast.AST]]:
    """Yield every list of statements in `tree`, together with the node that contains the list."""
    for node in ast.walk(tree):
        for value in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
            if isinstance(value, list) and value:
                yield value, node


def enclosing_definitions(tree: ast.Module) -> dict[ast.stmt, Scope]:
    """Return, for each statement, the classes and functions around it, outermost first."""
    around: dict[ast.stmt, Scope] = {}

    def visit(node: ast.AST, outer: Scope) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                around[child] = outer
            visit(child, [*outer, child] if isinstance(child, Definition) else outer)

    visit(tree, [])
    return around
