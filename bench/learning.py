"""Simulate classes with known rates, and count how many 95 % confidence intervals of `coginst report --learning` miss
the true rate. About 5 % of the intervals should miss the true rate. [Using the course in a study](study.md) explains
the names of the rates.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from bench.example_logs import Rates, repair_rate, simulate_class, simulated_course
from bench.measurement import Row
from utils.exercises.exercise import all_exercises
from utils.grading.reports.learning.calibration import measure_calibration
from utils.grading.reports.learning.exercises import measure_transfer
from utils.grading.reports.learning.families import name_mistake_families
from utils.grading.reports.learning.intervals import Estimate
from utils.grading.reports.learning.inventory import measure_inventory
from utils.grading.reports.learning.messages import Message, measure_messages, measure_recurrence
from utils.learning.sharing import SharedFile, parse_shared

CLASSES = {20: 2000, 200: 100, 2000: 20}  # the number of classes for each number of learners
LESSONS = ("02", "03", "04")


@functools.cache
def _find_families() -> dict[tuple[str, str], str]:
    return name_mistake_families(all_exercises().values())


def compare_with_truth(learners: Sequence[SharedFile], rates: Rates) -> Iterator[tuple[str, Estimate, float]]:
    """Yield each estimate of the report on a simulated class: what it estimates, the estimate, and the true value."""
    yield from compare_attempts(learners, rates)
    yield from compare_inventory(learners, rates)
    yield from compare_questions(learners, rates)


def compare_attempts(learners: Sequence[SharedFile], rates: Rates) -> Iterator[tuple[str, Estimate, float]]:
    """Yield the estimates from the attempts at exercises, as `compare_with_truth` does."""
    for effect in measure_messages(learners):
        message = effect.message
        true = repair_rate(rates, message)
        yield "passes after a message", effect.repaired, true
        if effect.difference:
            numbers_only = Message(message.lesson, message.exercise, "difference")
            yield "difference from numbers only", effect.difference, true - repair_rate(rates, numbers_only)
    for row in measure_recurrence(learners, _find_families()):
        yield "returned", row.returned, rates.recurrence
    for row in measure_transfer(learners):
        yield "first attempt passed", row.first_attempt, rates.transfer


def compare_inventory(learners: Sequence[SharedFile], rates: Rates) -> Iterator[tuple[str, Estimate, float]]:
    """Yield the estimates from the concept inventory, as `compare_with_truth` does."""
    inventory = measure_inventory(learners)
    if inventory.gain and inventory.gain.gain:
        yield "gain", inventory.gain.gain, rates.gain
    if inventory.retention and inventory.retention.gain:
        yield "gain four weeks later", inventory.retention.gain, rates.gain * rates.retention


def compare_questions(learners: Sequence[SharedFile], rates: Rates) -> Iterator[tuple[str, Estimate, float]]:
    """Yield the estimates from predictions and quizzes, as `compare_with_truth` does."""
    for row in measure_calibration(learners):
        kind = "calibration, guessing" if row.sure == "guessing" else "calibration, other confidence"
        yield kind, row.right, dict(rates.right)[row.sure]


def count_misses(learners: int, seeds: Iterable[int], rates: Rates | None = None) -> dict[str, tuple[int, int]]:
    """Return, for each kind of estimate, how many intervals miss the true value, and how many intervals there are."""
    rates = rates or Rates()
    course = simulated_course(LESSONS)
    misses: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for seed in seeds:
        files = [parse_shared(content) for content in simulate_class(learners, seed, rates, course)]
        for kind, estimate, true in compare_with_truth(files, rates):
            counts[kind] += 1
            misses[kind] += not estimate.low <= true <= estimate.high
    return {kind: (misses[kind], count) for kind, count in counts.items()}


def rows() -> list[Row]:
    counts = {learners: count_misses(learners, range(classes)) for learners, classes in CLASSES.items()}
    pooled = {learners: [sum(column) for column in zip(*kinds.values())] for learners, kinds in counts.items()}
    sizes = [f"{learners:,} learners" for learners in CLASSES]
    what = "95 % intervals that miss the true rate"
    overall = [100 * misses / count for misses, count in pooled.values()]
    return [
        Row(f"{what}, all rates", overall, "%", names=sizes, bar="near 5 %", headline=True),
        *(
            Row(f"{kind}, {size}", [100 * misses / count], "%", f"{count:,} intervals")
            for kind in counts[max(CLASSES)]
            for size, kinds in zip(sizes, counts.values())
            for misses, count in [kinds[kind]]
        ),
    ]
