"""Find the names that a syntax tree or a code object binds or reads."""

from __future__ import annotations

import ast
import dis
import symtable
import types
from collections.abc import Iterable, Iterator

from utils.lessons.syntax import Definition


def bound_names(node: ast.AST, imports: bool = True) -> list[str]:
    """Return the names that a statement or a whole cell binds in its own scope.

    The names are in the order of the code, without duplicates.

    Args:
        imports: whether to include the names that import statements bind.
    """
    names: dict[str, None] = {}

    def visit(node: ast.AST) -> None:
        if isinstance(node, Definition):
            names[node.name] = None
            for child in [*node.decorator_list, *getattr(node, "bases", ())]:
                visit(child)
            return
        if isinstance(node, ast.Lambda):
            return
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            # The targets of a comprehension are local to it; the target of a walrus is not.
            names.update((child.target.id, None) for child in ast.walk(node) if isinstance(child, ast.NamedExpr))
            return
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names[node.id] = None
        elif isinstance(node, ast.alias) and imports and node.name != "*":
            names[node.asname or node.name.split(".")[0]] = None
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            names[node.name] = None
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names[node.rest] = None
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(node)
    return list(names)


def iter_names(nodes: Iterable[ast.AST], context: type[ast.expr_context]) -> Iterator[str]:
    """Yield every name that code reads (`ast.Load`) or assigns (`ast.Store`). Code inside functions counts too."""
    every = (child for node in nodes for child in ast.walk(node))
    return (node.id for node in every if isinstance(node, ast.Name) and isinstance(node.ctx, context))


def read_names(code: str | ast.AST, in_functions: bool = True) -> set[str]:
    """Return the module-level names that code reads. Local names of functions do not count.

    Args:
        in_functions: whether to include names that functions read when they are called later. False returns only the
            names that are read when the code itself runs.
    """
    source = code if isinstance(code, str) else ast.unparse(code)
    tables, names = [symtable.symtable(source, "<names>", "exec")], set()
    for table in tables:
        if in_functions or table.get_type() != "function":
            is_module = table.get_type() == "module"
            read = (symbol for symbol in table.get_symbols() if symbol.is_referenced())
            names |= {symbol.get_name() for symbol in read if is_module or symbol.is_global()}
            tables += table.get_children()
    return names


def read_globals(code: types.CodeType, line: int | None = None) -> set[str]:
    """Return the global names that a code object reads on line `line`, or on all lines if `line` is None.

    Names that only nested functions read are left out; `nested_code` returns the code of these functions.
    """
    starts, here, names = dict(dis.findlinestarts(code)), None, set()
    for instruction in dis.get_instructions(code):
        here = starts.get(instruction.offset, here)
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME") and line in (None, here):
            names.add(instruction.argval)
    return names


def nested_code(code: types.CodeType) -> list[types.CodeType]:
    """Return a code object and the code objects of all functions, classes and comprehensions inside it."""
    codes = [code]
    for outer in codes:
        codes += [inner for inner in outer.co_consts if isinstance(inner, types.CodeType)]
    return codes


def unread_arguments(code: types.CodeType) -> tuple[str, ...]:
    """Return the positional arguments that a function never reads."""
    read = set(code.co_cellvars)
    for instruction in dis.get_instructions(code):
        if "LOAD_FAST" in instruction.opname or "LOAD_DEREF" in instruction.opname:
            # Since Python 3.13, one instruction can load two variables, or store one and load another.
            names = instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
            read.update(names[1:] if instruction.opname.startswith("STORE_") else names)
    return tuple(name for name in code.co_varnames[: code.co_argcount] if name not in read)
