"""Find a simple relation between a wrong list or string and the expected list or string."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


def find_sequence_relation(pairs: Sequence[tuple[Any, Any]]) -> tuple[str, str] | None:
    """Return the name and the sentence of the first relation that holds for all pairs (yours, expected), or None."""
    if not pairs or not all(isinstance(a, (list, str)) and type(a) is type(b) for a, b in pairs):
        return None
    for name, words, holds in _RELATIONS:
        if all(holds(a, b) for a, b in pairs):
            return name, words
    shared = [_common_prefix_length(a, b) for a, b in pairs]
    if all(shared):
        yours, expected = pairs[0]
        at_end = "your result ends there" if shared[0] == len(yours) else "the next item is not"
        rest = "your result goes on" if shared[0] == len(expected) else at_end
        items = "characters" if isinstance(expected, str) else "items"
        rest = rest.replace("item", items.removesuffix("s"))
        first = "Only the first" if shared[0] == 1 else f"The first {shared[0]}"
        verb = "is" if shared[0] == 1 else "are"
        return "prefix", f"{first} of {len(expected)} {items} {verb} right, but {rest}."
    return None


def _common_prefix_length(a: Sequence[Any], b: Sequence[Any]) -> int:
    """Count the equal items at the beginning of two sequences."""
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


def _is_reordered(a: Sequence[Any], b: Sequence[Any]) -> bool:
    return sorted(map(repr, a)) == sorted(map(repr, b))


_RELATIONS: tuple[tuple[str, str, Callable[[Any, Any], bool]], ...] = (
    ("empty", "It is empty.", lambda a, b: len(a) == 0),
    ("reversed", "It is the expected result in reverse order.", lambda a, b: a == b[::-1]),
    ("beginning", "It is only the beginning of the expected result.", lambda a, b: a == b[: len(a)]),
    ("end", "It is only the end of the expected result.", lambda a, b: a == b[-len(a) :]),
    ("within", "It is the expected result without its first and its last item.", lambda a, b: a == b[1:-1]),
    ("too_long", "It begins as expected, but continues where it should end.", lambda a, b: a[: len(b)] == b),
    ("late", "It ends as expected, but has additional items at the beginning.", lambda a, b: a[-len(b) :] == b),
    ("reordered", "It contains the expected items in a different order.", _is_reordered),
)  # fmt: skip
