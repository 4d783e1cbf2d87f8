"""Find the mistakes that learners can make in several lessons."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from utils.exercises.exercise import Exercise, Misconception
from utils.grading.reports.tally import share_words


def name_mistake_families(exercises: Iterable[Exercise]) -> dict[tuple[str, str], str]:
    """Return the family of each misconception. A family contains the same mistake in several exercises.

    Two misconceptions are the same mistake if they come from the same entry in the catalogue of shared mistakes. Any
    other misconception joins a family if it has the same id, and its message resembles at least half of the family's
    messages. The id alone is ambiguous: "not-scaled" can refer to scores or to dropout.

    Returns:
        For each (exercise, misconception), the name of the family.
    """
    by_id: dict[str, list[tuple[str, Misconception]]] = defaultdict(list)
    for exercise in exercises:
        for misconception in exercise.misconceptions:
            by_id[misconception.catalogue or misconception.id].append((exercise.name, misconception))
    return {
        (exercise, misconception.id): name if number == 0 else f"{name} ({group[0][0]})"
        for name, entries in by_id.items()
        for number, group in enumerate(_group_entries(entries))
        for exercise, misconception in group
    }


def _group_entries(entries: list[tuple[str, Misconception]]) -> list[list[tuple[str, Misconception]]]:
    """Group misconceptions with the same id by the similarity of their messages.

    If any of the misconceptions come from the catalogue, they form the first group.
    """
    in_catalogue = [entry for entry in entries if entry[1].catalogue]
    groups = [in_catalogue] if in_catalogue else []
    for entry in entries:
        if entry[1].catalogue:
            continue
        for group in groups:
            if 2 * sum(share_words(entry[1].message, other.message) for _, other in group) >= len(group):
                group.append(entry)
                break
        else:
            groups.append([entry])
    return groups
