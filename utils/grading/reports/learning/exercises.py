"""Measure how much effort exercises take, and how often first attempts at transfer exercises pass."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from utils.grading.reports.learning.intervals import Estimate, estimate_share
from utils.grading.reports.learning.messages import attempts_by_exercise
from utils.grading.reports.learning.suppression import is_visible
from utils.learning.attempts import Attempt
from utils.learning.sharing import SharedFile


class Quartiles(NamedTuple):
    """The three quartiles of a quantity."""

    lower: float
    median: float
    upper: float


@dataclass(frozen=True)
class Effort:
    """The effort of learners in one exercise. Attempts after a learner's first passed attempt do not count.

    Attributes:
        learners: the numbers of the learners who attempted the exercise.
        passed: the share of these learners who passed.
        attempts: the quartiles of the number of attempts.
        minutes: the quartiles of the time that a learner spent on all attempts; None if the time is known for too few
            learners. A pause of more than an hour does not count.
    """

    lesson: str
    exercise: str
    learners: frozenset[int]
    passed: float
    attempts: Quartiles
    minutes: Quartiles | None


@dataclass(frozen=True)
class Transfer:
    """The success of learners' first attempts at a transfer exercise.

    Attributes:
        learners: the numbers of the learners who attempted any member of its family.
        first_attempt: the share of these learners whose first attempt passed.
    """

    lesson: str
    exercise: str
    learners: frozenset[int]
    first_attempt: Estimate


def measure_effort(learners: Sequence[SharedFile]) -> list[Effort]:
    """Return the effort in each exercise that enough learners attempted, in the order of the lessons."""
    rows = []
    for (lesson, exercise), attempts_of in _attempts_by_learner(learners).items():
        if not is_visible(attempts_of):
            continue
        minutes = [
            sum(known)
            for attempts in attempts_of.values()
            if (known := [attempt.minutes for attempt in attempts if attempt.minutes is not None])
        ]
        rows.append(
            Effort(
                lesson,
                exercise,
                frozenset(attempts_of),
                sum(attempts[-1].status == "passed" for attempts in attempts_of.values()) / len(attempts_of),
                _quartiles([len(attempts) for attempts in attempts_of.values()]),
                _quartiles(minutes) if is_visible(minutes) else None,
            )
        )
    return sorted(rows, key=lambda row: row.lesson)


def measure_transfer(learners: Sequence[SharedFile]) -> list[Transfer]:
    """Return how often first attempts passed, for each transfer exercise that enough learners attempted."""
    rows = []
    for (lesson, exercise), attempts_of in _attempts_by_learner(learners).items():
        first = {number: attempts[0] for number, attempts in attempts_of.items() if attempts[0].member}
        if is_visible(first):
            right = sum(attempt.status == "passed" for attempt in first.values())
            rows.append(Transfer(lesson, exercise, frozenset(first), estimate_share(right, len(first))))
    return sorted(rows, key=lambda row: row.lesson)


def _attempts_by_learner(learners: Sequence[SharedFile]) -> dict[tuple[str, str], dict[int, list[Attempt]]]:
    """Group the attempts by (lesson, exercise) and learner. Omit attempts after a learner's first passed attempt."""
    grouped: dict[tuple[str, str], dict[int, list[Attempt]]] = defaultdict(dict)
    for number, learner in enumerate(learners):
        for key, attempts in attempts_by_exercise(learner.attempts).items():
            grouped[key][number] = attempts
    return grouped


def _quartiles(values: Sequence[float]) -> Quartiles:
    return Quartiles(*statistics.quantiles(values, n=4, method="inclusive"))
