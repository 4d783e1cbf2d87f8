"""Find limits in the code of an answer, such as a fixed number of positions, and derive cases that exceed them.

A limit can also be a float, such as a temperature below which the code does something else.

`utils.exercises.sweep_cases` tests sizes that are cheap to test for every answer. This module tests larger sizes, such
as 3001 positions, but only if the code of the answer contains a possible limit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from utils.exercises.case_changes import argument_values, resize, with_argument, with_capacity, works
from utils.exercises.code_traits import CodeTraits
from utils.exercises.exercise import Case, Exercise
from utils.exercises.sweep_cases import LARGE, LENGTHS, free_sizes
from utils.exercises.sweep_options import small_inputs

MOST = 4096  # the largest size that this module tests; longer texts, for example, would take too long
# For each dtype, the smallest positive integer that it cannot represent. If the answer's code contains the dtype, a
# size above this integer is tested.
FIRST_ROUNDED = {"uint8": 256, "int8": 128, "bfloat16": 257, "float16": 2049, "half": 2049}


class Limit(NamedTuple):
    """A number or dtype in the code of an answer that may limit sizes.

    Attributes:
        text: what the code contains: "3000" or "float16".
        size: the smallest size for which the limit matters.
    """

    text: str
    size: int


def find_limits(code: CodeTraits) -> list[Limit]:
    """Return the limits in an answer's code, if their sizes are above `LARGE` and at most `MOST`.

    The other sweeps already exceed smaller limits.
    """
    dtypes = (Limit(name, n + 1) for name, n in FIRST_ROUNDED.items() if re.search(rf"\.{name}\b", code.source))
    numbers = (Limit(text, n + 1) for text, n in sorted(code.limits, key=lambda limit: limit[::-1]))
    return [limit for limit in (*dtypes, *numbers) if LARGE < limit.size <= MOST]


def cases_near_number(exercise: Exercise, base: Case, number: float) -> Iterator[Case]:
    """Yield cases in which a float argument is slightly below or above `number`, with normal and with small inputs."""
    for name, value in argument_values(exercise, base).items():
        for factor in (0.9, 1.1) if type(value) is float else ():
            changed = with_argument(exercise, base, name, float(f"{factor * number:.3g}"))
            yield changed
            yield from small_inputs(exercise, changed)


def cases_of_size(exercise: Exercise, base: Case, new: int) -> Iterator[Case]:
    """Yield cases in which one size is `new`, and the other sizes are 1 if the oracle accepts that."""
    for name, value in argument_values(exercise, base).items():
        if name in LENGTHS and type(value) is int:
            yield with_argument(exercise, base, name, new)
        if type(value) is str and value:
            yield with_argument(exercise, base, name, f"{value} " * new)
    sizes = free_sizes(exercise, base)
    for size in sizes:
        case = base
        for other in sizes:
            smaller = resize(case, other, 1)
            case = smaller if other != size and works(exercise, smaller) else case
        yield with_capacity(exercise, resize(case, size, new), new)
