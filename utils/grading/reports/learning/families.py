"""Find the mistakes that learners can make in several lessons."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from utils.feedback.exercise import Exercise, Misconception
from utils.grading.reports.tally import group_similar


def name_mistake_families(exercises: Iterable[Exercise]) -> dict[tuple[str, str], str]:
    """Return the family of each misconception: the same mistake has the same family in all exercises.

    Two misconceptions are the same mistake if they have the same entry in the catalogue of mistakes that several
    lessons share. Otherwise they must have the same id and similar messages, because an id alone is ambiguous.

    Returns:
        For each (exercise, misconception), the name of the family.
    """
    by_id: dict[str, list[Misconception]] = defaultdict(list)
    owners: dict[int, str] = {}  # the exercise of a misconception, by the identity of the misconception
    for exercise in exercises:
        for misconception in exercise.misconceptions:
            by_id[misconception.catalogue or misconception.id].append(misconception)
            owners[id(misconception)] = exercise.name
    families: dict[tuple[str, str], str] = {}
    for name, misconceptions in by_id.items():
        groups = group_similar(misconceptions)
        in_catalogue = [group for group in groups if any(m.catalogue for m in group)]
        others = [group for group in groups if group not in in_catalogue]
        merged = [[m for group in in_catalogue for m in group], *others]
        for number, group in enumerate(sorted(filter(None, merged), key=len, reverse=True)):
            for misconception in group:
                exercise = owners[id(misconception)]
                families[exercise, misconception.id] = name if number == 0 else f"{name} ({owners[id(group[-1])]})"
    return families
