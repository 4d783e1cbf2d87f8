"""In which plain relation a wrong list or text stands to the expected one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def find_sequence_relation(pairs: Sequence[tuple[Any, Any]]) -> tuple[str, str] | None:
    """The first relation that holds for all pairs of (yours, expected): its name, and a sentence. None without one."""
    if not pairs or not all(isinstance(a, (list, str)) and type(a) is type(b) for a, b in pairs):
        return None
    for name, words, holds in _RELATIONS:
        if all(holds(a, b) for a, b in pairs):
            return name, words
    shared = [_common_prefix_length(a, b) for a, b in pairs]
    if all(shared):
        return "prefix", f"The first {shared[0]} of {len(pairs[0][1])} items are right, and the next is not."
    return None


def _common_prefix_length(a: Sequence[Any], b: Sequence[Any]) -> int:
    """How many items two sequences begin with alike."""
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


def _is_reordered(a: Sequence[Any], b: Sequence[Any]) -> bool:
    return sorted(map(repr, a)) == sorted(map(repr, b))


_RELATIONS: tuple[tuple[str, str, Callable[[Any, Any], bool]], ...] = (
    ("empty", "It is empty.", lambda a, b: len(a) == 0),
    ("reversed", "It is what is expected in reverse order.", lambda a, b: a == b[::-1]),
    ("beginning", "It is the beginning of what is expected: it ends too soon.", lambda a, b: a == b[: len(a)]),
    ("end", "It is the end of what is expected: the beginning is missing.", lambda a, b: a == b[-len(a) :]),
    ("within", "It is what is expected without its first and its last item.", lambda a, b: a == b[1:-1]),
    ("too_long", "It begins as expected, and goes on where it should end.", lambda a, b: a[: len(b)] == b),
    ("late", "It ends as expected, and something stands before it.", lambda a, b: a[-len(b) :] == b),
    ("reordered", "It holds what is expected in another order.", _is_reordered),
)  # fmt: skip
