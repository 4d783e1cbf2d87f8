"""Hide every number about fewer than five learners, and every other number that would reveal it.

A group is the set of learners that a number describes, such as the readers of a message. Three rules protect a group:

1. The page shows no number about a group of fewer than five learners.
2. If the hidden groups together have fewer than five learners, `visible_groups` hides another group. Otherwise, a
   reader could compute the number of hidden learners from the total.
3. `rounded_count` rounds each number of learners to a multiple of five. A difference of rounded numbers is not exact.

Some functions show the same statistic for a group and for a part of that group. They must also call
`nested_groups_are_safe`.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import TypeVar

SMALLEST = 5
Key = TypeVar("Key", bound=Hashable)


def is_visible(learners: Collection[object]) -> bool:
    """Return whether a group is large enough to be shown. `learners` has one entry for each learner."""
    return len(learners) >= SMALLEST


def visible_groups(groups: Mapping[Key, Collection[int]]) -> set[Key]:
    """Return the keys of the groups that can be shown side by side.

    Args:
        groups: for each key, the numbers of the learners in its group. The groups may overlap.
    """
    shown = sorted((key for key in groups if is_visible(groups[key])), key=lambda key: (-len(groups[key]), str(key)))
    hidden = {learner for key in groups if key not in shown for learner in groups[key]}
    while shown and 0 < len(hidden) < SMALLEST:
        hidden.update(groups[shown.pop()])
    return set(shown)


def nested_groups_are_safe(group: Collection[int], part: Collection[int]) -> bool:
    """Return whether a page can show the same statistic for a group and for a part of that group.

    A reader who sees both numbers can compute the statistic for the rest of the group. The rest must therefore have
    either no learners or at least five.
    """
    rest = set(group) - set(part)
    return not rest or is_visible(rest)


def rounded_count(learners: Collection[int]) -> int:
    """Return the number of learners, rounded to the nearest multiple of five."""
    return SMALLEST * ((len(learners) + SMALLEST // 2) // SMALLEST)
