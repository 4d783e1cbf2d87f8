"""Measure learning with the concept inventory: gain, retention, and how well each item works.

A score is the share of correct answers among all items of a sitting; a skipped item counts as wrong. The gain is
computed from averages: it is the average improvement divided by the average room for improvement. The average of the
learners' individual gains would be biased. A learner with a high first score has little room for improvement, so this
learner's gain depends mostly on guesses.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from utils.grading.reports.learning.intervals import Estimate, estimate_ratio, point_biserial
from utils.grading.reports.learning.suppression import SMALLEST, is_visible, nested_groups_are_safe, visible_groups
from utils.learning.sharing import SharedFile

BEFORE, AFTER, LATER = 1, 2, 3  # the sittings
FORMS = {BEFORE: "a", AFTER: "b", LATER: "a"}
CORRECT = "correct"
Sitting = dict[str, str]  # the choice for each item


@dataclass(frozen=True)
class Gain:
    """The gain from one sitting to another, for the learners who completed both sittings.

    Attributes:
        before, after: the average scores.
        gain: (after - before) / (1 - before); None if every learner knew everything before.
    """

    learners: frozenset[int]
    before: float
    after: float
    gain: Estimate | None


@dataclass(frozen=True)
class Choice:
    """A wrong choice that learners made in an item.

    Attributes:
        name: the misconception as exercise/misconception; "" if learners skipped the item; None for the choices that
            too few learners made, counted together.
        share: the share of this choice among all learners who saw the item.
    """

    name: str | None
    share: float


@dataclass(frozen=True)
class ItemResult:
    """The result of one item, in the first sitting that contains this item.

    Attributes:
        difficulty: the share of learners who chose the correct answer.
        discrimination: the correlation of this answer with the score in the other items; None if it is undefined.
        choices: the wrong choices, the most frequent first; empty if fewer than five learners chose wrongly.
    """

    form: str
    item: str
    learners: frozenset[int]
    difficulty: float
    discrimination: float | None
    choices: list[Choice]


@dataclass(frozen=True)
class InventoryResult:
    """The results of the inventory. A part with fewer than five learners is None or empty.

    Attributes:
        gain: from before the course to after it.
        retention: from before the course to four weeks after it.
        is_retention_hidden: whether the retention is hidden because it would reveal a group of fewer than five.
    """

    gain: Gain | None
    retention: Gain | None
    is_retention_hidden: bool
    items: list[ItemResult]


def measure_inventory(learners: Sequence[SharedFile]) -> InventoryResult:
    """Return the gain, the retention, and a result for each item."""
    sittings: dict[int, dict[int, Sitting]] = {BEFORE: {}, AFTER: {}, LATER: {}}
    for number, learner in enumerate(learners):
        for answer in learner.inventory:
            if answer.form == FORMS[answer.sitting]:
                sittings[answer.sitting].setdefault(number, {})[answer.item] = answer.choice
    both = sittings[BEFORE].keys() & sittings[AFTER].keys()
    all_three = both & sittings[LATER].keys()
    is_hidden = is_visible(all_three) and not nested_groups_are_safe(both, all_three)
    items = []
    for sitting in (BEFORE, AFTER):
        answers = sittings[sitting]
        if is_visible(both) and not nested_groups_are_safe(answers.keys(), both):
            # Leave out the few learners who completed only one sitting. Otherwise, a reader could compute their
            # average.
            answers = {number: answers[number] for number in both}
        items += _measure_items(answers, FORMS[sitting])
    return InventoryResult(
        _measure_gain(sittings[BEFORE], sittings[AFTER], both),
        None if is_hidden else _measure_gain(sittings[BEFORE], sittings[LATER], all_three),
        is_hidden,
        items,
    )


def _measure_gain(
    before: Mapping[int, Sitting], after: Mapping[int, Sitting], learners: Collection[int]
) -> Gain | None:
    if not is_visible(learners):
        return None
    numbers = sorted(learners)
    first = [_score(before[number]) for number in numbers]
    second = [_score(after[number]) for number in numbers]
    gain = estimate_ratio([b - a for a, b in zip(first, second)], [1 - a for a in first])
    if gain and gain.high > 1:
        gain = gain._replace(high=1.0)  # no gain is above 1
    return Gain(frozenset(learners), sum(first) / len(first), sum(second) / len(second), gain)


def _score(sitting: Sitting) -> float:
    return sum(choice == CORRECT for choice in sitting.values()) / max(1, len(sitting))


def _measure_items(answers: Mapping[int, Sitting], form: str) -> list[ItemResult]:
    """Return the results of the items that enough learners saw, in the order of the item ids."""
    rows = []
    ids = {item for sitting in answers.values() for item in sitting}
    for item in sorted(ids, key=lambda name: (len(name), name)):
        choices = {number: sitting[item] for number, sitting in answers.items() if item in sitting}
        if not is_visible(choices):
            continue
        right = [choice == CORRECT for choice in choices.values()]
        rest = [_score({i: c for i, c in answers[number].items() if i != item}) for number in choices]
        rows.append(
            ItemResult(
                form,
                item,
                frozenset(choices),
                sum(right) / len(right),
                point_biserial(right, rest),
                _count_wrong_choices(choices),
            )
        )
    return rows


def _count_wrong_choices(choices: Mapping[int, str]) -> list[Choice]:
    """Return the share of each wrong choice. Choices with too few learners are counted together."""
    groups: dict[str, set[int]] = defaultdict(set)
    for number, choice in choices.items():
        if choice != CORRECT:
            groups[choice].add(number)
    shown = visible_groups(groups)
    rest = sum(len(group) for name, group in groups.items() if name not in shown)
    rows = [Choice(name, len(groups[name]) / len(choices)) for name in shown]
    rows.sort(key=lambda choice: (-choice.share, choice.name or ""))
    return rows + [Choice(None, rest / len(choices))] * (rest >= SMALLEST)
