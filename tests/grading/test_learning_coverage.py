"""Count how often the 95 % intervals of the report on learning contain the known rate of a simulated class.

A count comes from independent classes with one interval each, so it follows a binomial distribution if 95 % of the
intervals contain the rate. docs/bench.md counts more classes.
"""

import random
from collections import Counter
from statistics import fmean, stdev

import msgspec
import numpy as np
import pytest
from scipy.stats import binom

from bench.example_logs import (
    Rates,
    SimulatedLearner,
    answer_inventory,
    answer_questions,
    repair_rate,
    simulated_course,
)
from bench.learning import LESSONS, compare_attempts, compare_inventory, compare_questions
from utils.grading.reports.learning.intervals import (
    estimate_clustered_share,
    estimate_difference,
    estimate_ratio,
    estimate_share,
)
from utils.grading.reports.learning.inventory import measure_inventory
from utils.grading.reports.learning.messages import measure_messages, message_of
from utils.learning.sharing import SharedFile

FALSE_ALARM = 3e-6  # the probability that one count fails by chance; below 1e-4 for all counts of this module
RATES = Rates()


def assert_near_95_percent(misses, classes):
    low, high = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], classes, 0.05)
    assert low <= misses <= high, f"{misses} of {classes} intervals miss the rate; expected {low:.0f} to {high:.0f}"


# --- the intervals --------------------------------------------------------------------------------------------


def draw_share(learners, rng):
    """The rate differs between classes, because the probability of a miss jumps from one rate to the next."""
    rate = rng.uniform(0.2, 0.8)
    return estimate_share(int(rng.binomial(learners, rate)), learners), rate


def draw_difference(learners, rng):
    """A fifth of each group is also in the other group, with the same outcome."""
    rate = rng.uniform(0.2, 0.8)
    passed = dict(enumerate(rng.random(2 * learners) < rate))
    first = {n: passed[n] for n in range(learners)}
    second = {n: passed[n] for n in range(learners * 4 // 5, learners * 9 // 5)}
    return estimate_difference(first, second), 0.0


def draw_ratio(learners, rng):
    """The gain from twelve questions to twelve others."""
    known = rng.beta(*RATES.knowledge, learners)
    before, after = (
        rng.binomial(12, share + (1 - share) * RATES.guess) / 12
        for share in (known, known + (1 - known) * RATES.gain)
    )  # fmt: skip
    return estimate_ratio(after - before, 1 - before), RATES.gain


def draw_clustered_share(learners, rng):
    """Learners differ in how much they know, and give one to seven answers."""
    rate = rng.uniform(0.3, 0.7)
    answers = rng.integers(1, 8, learners)
    right = rng.binomial(answers, rate + rng.uniform(-0.3, 0.3, learners))
    return estimate_clustered_share(right.tolist(), answers.tolist()), rate


@pytest.mark.parametrize("learners, classes", [(7, 1000), (20, 3000), (200, 1000), (2000, 300)])
@pytest.mark.parametrize("draw", [draw_share, draw_difference, draw_ratio, draw_clustered_share])
def test_95_percent_of_the_intervals_contain_the_rate(draw, learners, classes):
    misses = 0
    for seed in range(classes):
        estimate, rate = draw(learners, np.random.default_rng(seed))
        misses += not estimate.low <= rate <= estimate.high
    assert_near_95_percent(misses, classes)


# --- the report -----------------------------------------------------------------------------------------------

# One transfer exercise, and two exercises of different lessons in which the same mistake can be made.
COURSE = [e for e in simulated_course(LESSONS) if e.name in ("attn_scores", "mix_texts", "copy_weights")]
PARTS = {
    "attempts": (lambda rng: SimulatedLearner(RATES, rng).work_through(COURSE), compare_attempts),
    "inventory": (lambda rng: answer_inventory(RATES, rng), compare_inventory),
    "questions": (lambda rng: answer_questions(RATES, rng), compare_questions),
}


def simulate_part(part, learners, seed):
    """Return the files of a class of which only one part is not empty."""
    simulate, _ = PARTS[part]
    empty = {"format": 1, "course": "", "attempts": [], "questions": [], "inventory": []}
    rngs = (random.Random(f"{seed} {number} {part}") for number in range(learners))
    return [msgspec.convert(empty | {part: simulate(rng)}, SharedFile) for rng in rngs]


@pytest.mark.parametrize("learners, classes", [(20, 300), (200, 40)])
@pytest.mark.parametrize(
    "part, kinds",
    [
        ("attempts", {"passes after a message", "difference from numbers only", "returned", "first attempt passed"}),
        ("inventory", {"gain", "gain four weeks later"}),
        ("questions", {"calibration, guessing", "calibration, other confidence"}),
    ],
)
def test_95_percent_of_the_intervals_of_the_report_contain_the_rate(part, kinds, learners, classes):
    _, compare = PARTS[part]
    misses, counts = Counter(), Counter()
    for seed in range(classes):
        first = {}  # other intervals of the same kind and class are not independent
        for kind, estimate, true in compare(simulate_part(part, learners, seed), RATES):
            first.setdefault(kind, not estimate.low <= true <= estimate.high)
        misses.update(first)
        counts.update(first.keys())
    assert counts.keys() == kinds
    for kind in kinds:
        assert_near_95_percent(misses[kind], counts[kind])


# --- two classic errors ---------------------------------------------------------------------------------------


def is_near_zero(errors):
    """Return whether the average of independent errors is less than five standard errors from 0."""
    return abs(fmean(errors)) < 5 * stdev(errors) / len(errors) ** 0.5


def test_the_average_of_individual_gains_is_far_from_the_rate():
    right, wrong = [], []
    for seed in range(40):
        files = simulate_part("inventory", 100, seed)
        scores = [
            [fmean(a.choice == "correct" for a in file.inventory if a.sitting == number) for number in (1, 2)]
            for file in files
            if {a.sitting for a in file.inventory} >= {1, 2}
        ]
        right.append(measure_inventory(files).gain.gain.value - RATES.gain)
        individual = fmean((after - before) / (1 - before) for before, after in scores if before < 1)
        wrong.append(individual - RATES.gain)
    assert is_near_zero(right) and not is_near_zero(wrong)
    assert fmean(wrong) < -0.05


def test_a_count_of_all_readings_is_far_from_the_rate():
    files = simulate_part("attempts", 4000, 1)
    right, wrong = [], []
    for effect in measure_messages(files):
        readings = [
            any(following.status == "passed" for following in attempts[n + 1 : n + 3])
            for file in files
            if (attempts := [a for a in file.attempts if a.exercise == effect.message.exercise])
            for n, each in enumerate(attempts)
            if each.status == "failed" and message_of(each) == effect.message
        ]
        true = repair_rate(RATES, effect.message)
        right.append(effect.repaired.value - true)
        wrong.append(fmean(readings) - true)
    assert is_near_zero(right) and not is_near_zero(wrong)
    assert fmean(wrong) < -0.05
