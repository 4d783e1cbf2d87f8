"""Analyse the code of an answer without running it."""

from __future__ import annotations

import inspect
import math
import types
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from utils.exercises.observe import function_source
from utils.exercises.side_effects import lasting_values
from utils.lessons.names import read_globals, unread_arguments


@dataclass(frozen=True)
class CodeTraits:
    """The findings of a static analysis of an answer's code."""

    source: str = ""  # the source of the functions that the answer defines
    limits: frozenset[tuple[str, int]] = frozenset()  # numbers that may limit sizes: (constant or name, number)
    notebook_globals: tuple[tuple[str, str], ...] = ()  # the notebook variables in the code: (name, kind)
    unused_arguments: tuple[str, ...] = ()  # the arguments that a function never reads
    floats: frozenset[float] = frozenset()  # the positive floats in the code


def analyse_code(answer: Any) -> CodeTraits:
    """Analyse a function, or the methods of a class."""
    functions = _functions(answer)
    constants = {c for f in functions for c in _constants(f.__code__)}
    limits = {(str(c), c) for c in constants} | {*_outer_sizes(answer)}
    limits = {(text, n) for text, n in limits if type(n) is int and 2 < n < 2**62}  # smaller integers are usually axes
    floats = {c for c in constants if type(c) is float and 0 < c < math.inf}
    global_names = [(name, kind) for f in functions for name, kind in _notebook_globals(f)]
    source = "".join(function_source(f.__code__) for f in functions)
    unused = unread_arguments(answer.__code__) if isinstance(answer, types.FunctionType) else ()
    return CodeTraits(source, frozenset(limits), tuple(dict.fromkeys(global_names)), unused, frozenset(floats))


def _functions(answer: Any) -> list[types.FunctionType]:
    if inspect.isclass(answer):
        return [f for f in vars(answer).values() if isinstance(f, types.FunctionType)]
    return [answer] if isinstance(answer, types.FunctionType) else []


def _constants(code: types.CodeType) -> set:
    """Return the constants of a code object, including those inside tuples."""
    constants = (c for const in code.co_consts for c in (const if isinstance(const, tuple) else (const,)))
    return {c for c in constants if not isinstance(c, types.CodeType)}


def _outer_sizes(answer: Any) -> list[tuple[str, int]]:
    """Return pairs (variable name, integer) for the answer's `lasting_values`.

    An integer gives one pair. A tensor gives one pair for the size of each axis.
    """
    values = lasting_values(answer).items()
    sizes = [(name, size) for name, value in values if isinstance(value, Tensor) for size in value.shape]
    return [*sizes, *((name, value) for name, value in values if type(value) is int)]


def _notebook_globals(function: types.FunctionType) -> list[tuple[str, str]]:
    """Return the notebook's variables that a function reads. Tensors and numbers come first.

    Constants in capitals, functions, classes, modules and bools are left out.
    """
    variables = []
    for name in sorted(read_globals(function.__code__)):
        value = function.__globals__.get(name)
        if name.isupper() or value is None or callable(value) or isinstance(value, (bool, types.ModuleType)):
            continue
        variables.append((name, _KINDS.get(type(value), "a tensor" if isinstance(value, Tensor) else "")))
    return sorted(variables, key=lambda variable: not variable[1])


_KINDS = {int: "a number", float: "a number"}
