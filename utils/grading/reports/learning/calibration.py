"""Measure calibration: how many of the learners' first answers are right at each degree of confidence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from utils.grading.reports.learning.intervals import Estimate, estimate_clustered_share
from utils.grading.reports.learning.suppression import visible_groups
from utils.learning.sharing import CONFIDENCE, SharedFile


@dataclass(frozen=True)
class Calibration:
    """The learners' first answers to one kind of question, all given with the same confidence.

    Attributes:
        kind: "predictions" or "quizzes".
        sure: the confidence, or "" if the learner did not say.
        learners: the learners who gave at least one of these answers.
        right: the share of these answers that are right. The interval takes into account that the answers of one
            learner are not independent.
    """

    kind: str
    sure: str
    learners: frozenset[int]
    right: Estimate


def measure_calibration(learners: Sequence[SharedFile]) -> list[Calibration]:
    """Return the share of right answers for each kind of question and each confidence, the highest confidence first."""
    answers: dict[str, dict[str, dict[int, list[bool]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for number, learner in enumerate(learners):
        for question in learner.questions:
            answers[question.kind][question.sure][number].append(question.right)
    rows = []
    for kind, by_level in sorted(answers.items()):
        shown = visible_groups(by_level)
        for sure in (level for level in CONFIDENCE if level in shown):
            given = by_level[sure].values()
            share = estimate_clustered_share([sum(right) for right in given], [len(right) for right in given])
            rows.append(Calibration(kind, sure, frozenset(by_level[sure]), share))
    return rows
