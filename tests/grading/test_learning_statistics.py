"""Test the statistics of the report on learning with published intervals and hand-made logs."""

import json
import math
from statistics import fmean

import pytest
from scipy.stats import t, ttest_1samp

from tests.fresh_python import printed_output
from utils.exercises.exercise import all_exercises
from utils.grading.reports.learning import intervals
from utils.grading.reports.learning.calibration import measure_calibration
from utils.grading.reports.learning.exercises import measure_effort, measure_transfer
from utils.grading.reports.learning.families import name_mistake_families
from utils.grading.reports.learning.intervals import (
    MissingPackageError,
    estimate_clustered_share,
    estimate_difference,
    estimate_ratio,
    estimate_share,
    point_biserial,
)
from utils.grading.reports.learning.inventory import measure_inventory
from utils.grading.reports.learning.messages import (
    Message,
    measure_messages,
    measure_recurrence,
    message_of,
    read_outcomes,
)
from utils.grading.reports.learning.suppression import nested_groups_are_safe, rounded_count, visible_groups
from utils.learning.sharing import parse_shared

SOFTMAX, SELF, MASK = "02_simplified_attention", "03_self_attention", "04_causal_attention"


def attempt(verdict, exercise="softmax", lesson=SOFTMAX, member="", minutes=1.0):
    """Return an attempt. The verdict is "passed", "difference", "to: MILESTONE", or the id of a misconception."""
    milestone = verdict.removeprefix("to: ") if verdict.startswith("to: ") else ""
    reason = verdict if verdict in ("passed", "difference") else "difference" if milestone else "misconception"
    return {
        "lesson": lesson, "exercise": exercise, "member": member, "attempt": 1, "minutes": minutes, "reason": reason,
        "status": "passed" if verdict == "passed" else "failed", "milestone": milestone,
        "misconception": verdict if reason == "misconception" else "",
    }  # fmt: skip


def learner(attempts=(), questions=(), inventory=()):
    """Return the parsed file of a learner. An attempt may be given by its verdict."""
    entries = [attempt(each) if isinstance(each, str) else each for each in attempts]
    shared = {"format": 1, "course": "0.3.0", "attempts": entries, "questions": questions, "inventory": inventory}
    return parse_shared(json.dumps(shared).encode())


def sitting(number, *choices):
    form = "aba"[number - 1]
    return [
        {"form": form, "sitting": number, "item": f"{form.upper()}{n}", "choice": choice, "minutes": 1.0}
        for n, choice in enumerate(choices, 1)
    ]


# --- intervals ------------------------------------------------------------------------------------------


def test_the_interval_of_a_share_is_wilsons():
    """The values are those of Newcombe's comparison of intervals for a single proportion."""
    for part, whole, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611)):
        estimate = estimate_share(part, whole)
        assert estimate.value == part / whole
        assert estimate[1:] == pytest.approx((low, high), abs=5e-5)


def outcomes(passed, whole, first=0):
    return {first + n: n < passed for n in range(whole)}


def test_the_interval_of_a_difference_between_two_groups_is_newcombes():
    estimate = estimate_difference(outcomes(56, 70), outcomes(48, 80, first=1000))
    assert estimate == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)


def test_learners_in_both_groups_make_the_interval_of_a_difference_narrower_if_they_do_the_same_in_both():
    apart = estimate_difference(outcomes(12, 20), outcomes(10, 20, first=1000))
    alike = estimate_difference(outcomes(12, 20), outcomes(10, 20))
    opposite = estimate_difference(outcomes(12, 20), {n: n >= 10 for n in range(20)})
    width = lambda estimate: estimate.high - estimate.low
    assert width(alike) < width(apart) < width(opposite)
    assert estimate_difference(outcomes(12, 20), outcomes(12, 20)) == pytest.approx((0, 0, 0), abs=0.05)


def test_a_t_test_does_not_reject_the_limits_of_a_ratio_just_yet():
    """Fieller's limits are the ratios r for which the t test of numerator - r * denominator has a p value of 5 %."""
    above, below = [0.1 * (n % 7) for n in range(12)], [0.3 + 0.2 * (n % 3) for n in range(12)]
    estimate = estimate_ratio(above, below)
    assert estimate.value == pytest.approx(fmean(above) / fmean(below))
    for limit in estimate[1:]:
        assert ttest_1samp([a - limit * b for a, b in zip(above, below)], 0).pvalue == pytest.approx(0.05)
    assert estimate.low < estimate.value < estimate.high


def test_data_that_determine_no_interval_or_no_value():
    assert estimate_ratio([0.0] * 6, [0.0] * 6) is None
    same = estimate_ratio([0.5] * 6, [1.0] * 6)
    assert same.value == 0.5 and math.isnan(same.low) and math.isnan(same.high)
    unknown = estimate_ratio([0.1, 0.3, 0.2, 0.4, 0.0], [0.0, 0.0, 0.0, 0.0, 0.1])  # the average may be 0
    assert unknown.value == pytest.approx(10) and math.isnan(unknown.low) and math.isnan(unknown.high)
    assert point_biserial([True] * 5, [0.1, 0.2, 0.3, 0.4, 0.5]) is None
    assert point_biserial([True, True, False, False], [3.0, 3.0, 1.0, 1.0]) == pytest.approx(1)


def wilson_distance(limit, answers, learners):
    """Return how far a share is from a limit of its Wilson interval: so many standard errors of the limit."""
    return t.ppf(0.975, learners - 1) * math.sqrt(limit * (1 - limit) / answers)


def test_the_interval_of_a_share_of_answers_is_wider_if_the_answers_of_a_learner_are_alike():
    """Ten learners who give two answers each, and are always right or always wrong, are worth nine answers."""
    alike = estimate_clustered_share([2] * 6 + [0] * 4, [2] * 10)
    for limit in alike[1:]:
        assert abs(alike.value - limit) == pytest.approx(wilson_distance(limit, 9, 10))
    apart = estimate_clustered_share([2, 2, 1, 1, 1, 1, 1, 1, 1, 1], [2] * 10)
    assert alike.value == apart.value == 0.6
    assert alike.low < apart.low < apart.high < alike.high


@pytest.mark.parametrize("part", [0, 1, 2])
def test_if_learners_do_not_differ_each_learner_counts_as_one_answer(part):
    estimate = estimate_clustered_share([part] * 6, [2] * 6)
    assert estimate.value == part / 2
    for limit in estimate[1:]:
        assert abs(estimate.value - limit) == pytest.approx(wilson_distance(limit, 6, 6), abs=1e-12)


def test_scipy_is_imported_only_for_an_interval_and_the_error_says_how_to_install_it(monkeypatch):
    code = "import sys, utils.grading.reports.learning.page, utils.cli.commands; print('scipy' in sys.modules)"
    assert printed_output(code) == "False"
    intervals.load_scipy_stats.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "scipy.stats", None)
    with pytest.raises(MissingPackageError, match=r'pip install -e "\.\[grade\]"'):
        estimate_share(1, 2)


# --- messages -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "attempts, outcome",
    [
        (["clamped", "passed"], "passed"),
        (["clamped", "difference", "passed"], "passed"),
        (["clamped", "difference", "difference", "passed"], "failed"),
        (["clamped"], "stopped"),
        (["clamped", "clamped"], "stopped"),
        (["clamped", "difference", "clamped", "passed"], "failed"),  # the second reading does not count
        (["passed", "clamped"], None),  # the exercise was already passed
        (["clamped", attempt("passed", "attn_scores"), "passed"], "passed"),  # another exercise is no further attempt
    ],
)
def test_the_outcome_of_a_message(attempts, outcome):
    found = read_outcomes([learner(attempts)]).get((SOFTMAX, "softmax"), {})
    assert found.get(Message(SOFTMAX, "softmax", "misconception", "clamped"), {}) == ({0: outcome} if outcome else {})


def test_a_learner_counts_once_for_each_message():
    class_ = [learner(["clamped"] * 6 + ["passed"])] * 4 + [learner(["clamped", "passed"])] * 6
    (effect,) = measure_messages(class_)
    assert effect.repaired.value == 0.6 and len(effect.readers) == 10 and effect.stopped == 0
    assert effect.repaired == estimate_share(6, 10)


def test_whoever_stops_counts_as_not_repaired_and_their_share_is_known():
    class_ = (
        [learner(["clamped"])] * 3
        + [learner(["clamped", "clamped", "clamped"])] * 2
        + [learner(["clamped", "passed"])] * 5
    )
    (effect,) = measure_messages(class_)
    assert (effect.repaired.value, effect.stopped) == (0.5, 0.3)


def test_a_message_is_compared_with_the_numbers_of_the_same_exercise():
    other = [learner([attempt("difference", "attn_scores")])] * 5
    class_ = [learner(["clamped", "passed"])] * 8 + [learner(["difference", "passed"])] * 5
    class_ += [learner(["difference"])] * 5 + [learner(["to: the scores", "passed"])] * 5
    effects = {effect.message.name: effect for effect in measure_messages(class_ + other) if "so" in effect.message[1]}
    assert set(effects) == {"clamped", "numbers only", "correct up to the scores"}
    assert effects["numbers only"].difference is None
    assert effects["clamped"].difference == estimate_difference(outcomes(8, 8), outcomes(5, 10, first=100))


def test_a_message_about_a_misconception_mentions_no_milestone():
    entry = attempt("clamped") | {"milestone": "the scores"}
    assert message_of(learner([entry]).attempts[0]).milestone == ""


# --- recurrence -----------------------------------------------------------------------------------------

FAMILIES = {
    ("simple_attention", "wrong-axis"): "wrong axis",
    ("softmax", "over-everything"): "over everything",
    ("SelfAttention_v1", "columns"): "wrong axis",
    ("CausalAttention", "wrong-axis"): "wrong axis",
}
FIRST = [attempt("wrong-axis", "simple_attention"), attempt("passed", "simple_attention")]
LATER = [attempt("columns", "SelfAttention_v1", SELF), attempt("passed", "SelfAttention_v1", SELF)]


@pytest.mark.parametrize(
    "attempts, returned",
    [
        (FIRST + LATER, True),  # the same mistake under another id
        ([*FIRST, LATER[1]], False),
        ([*FIRST, LATER[1], attempt("wrong-axis", "CausalAttention", MASK)], True),
        ([FIRST[0], *LATER], None),  # the exercise was not passed
        ([LATER[0], LATER[1], *FIRST], None),  # the second lesson is an earlier one
        ([*FIRST, attempt("over-everything"), attempt("passed")], None),  # another mistake, in the same lesson
        ([*FIRST, attempt("difference", "get_mask", MASK)], None),  # the mistake cannot be made there
    ],
)
def test_a_misconception_returns_if_it_is_made_in_a_later_lesson_after_its_exercise_was_passed(attempts, returned):
    rows = measure_recurrence([learner(attempts)] * 5, FAMILIES)
    assert [(row.name, row.returned.value) for row in rows] == (
        [("wrong axis", float(returned))] if returned is not None else []
    )


def test_a_mistake_of_the_catalogue_has_one_family_under_all_its_ids():
    families = name_mistake_families(all_exercises().values())
    assert families["causal_attn_weights", "divided-by-d_k"] == families["compute_attn_weights", "divided-by-d_head"]
    assert families["causal_attn_weights", "not-scaled"] != families["inverted_dropout", "not-scaled"]
    assert len(families) == sum(len(exercise.misconceptions) for exercise in all_exercises().values())


# --- exercises, inventory, calibration ---------------------------------------------------------------------


def test_effort_ends_with_the_first_pass():
    class_ = [learner([attempt("clamped", minutes=m) for m in range(n)] + ["passed", "passed"]) for n in range(5)]
    (row,) = measure_effort(class_)
    assert row.attempts == (2, 3, 4) and row.passed == 1  # 1 to 5 attempts
    assert row.minutes == (1, 2, 4)  # 1, 1, 2, 4, 7 minutes
    unknown = [learner([attempt("clamped", minutes=None)])] * 5
    assert measure_effort(unknown)[0].minutes is None and measure_effort(unknown)[0].passed == 0


def test_transfer_counts_first_attempts_at_any_member():
    right = learner([attempt("passed", "moved_axes", member="batch-last")])
    second = learner(
        [attempt("difference", "moved_axes", member="window"), attempt("passed", "moved_axes", member="window")]
    )
    (row,) = measure_transfer([right] * 3 + [second] * 3 + [learner(["passed"])] * 9)
    assert row.first_attempt == estimate_share(3, 6)


def test_the_gain_is_the_gain_of_the_averages():
    low = [learner(inventory=sitting(1, "", "", "", "correct") + sitting(2, "correct", "correct", "correct", ""))] * 4
    high = [learner(inventory=sitting(1, *["correct"] * 3, "") + sitting(2, *["correct"] * 2, "", ""))] * 2
    gain = measure_inventory(low + high).gain
    before, after = (4 * 0.25 + 2 * 0.75) / 6, (4 * 0.75 + 2 * 0.5) / 6
    assert (gain.before, gain.after) == pytest.approx((before, after))
    assert gain.gain.value == pytest.approx((after - before) / (1 - before))
    assert gain.gain.value != pytest.approx(fmean([2 / 3] * 4 + [-1] * 2))  # the average of the learners' own gains


def test_items_have_a_difficulty_a_discrimination_and_wrong_choices():
    strong = [learner(inventory=sitting(1, "correct", "correct", "correct"))] * 5
    weak = [learner(inventory=sitting(1, "softmax/clamped", "", "correct"))] * 5
    first, second, third = measure_inventory(strong + weak).items
    assert (first.form, first.item, first.difficulty, first.discrimination) == ("a", "A1", 0.5, pytest.approx(1))
    assert [(choice.name, choice.share) for choice in first.choices] == [("softmax/clamped", 0.5)]
    assert [choice.name for choice in second.choices] == [""]
    assert third.discrimination is None and third.choices == []


def test_calibration_counts_answers_of_which_those_of_one_learner_are_alike():
    question = lambda n, right, sure: {
        "kind": "quizzes",
        "lesson": "",
        "question": f"{n:08x}",
        "right": right,
        "sure": sure,
    }
    often = learner(questions=[question(n, False, "certain") for n in range(9)])
    once = learner(questions=[question(0, True, "certain"), question(1, True, "guessing")])
    rows = measure_calibration([often] * 2 + [once] * 6)
    assert [(row.sure, row.right.value) for row in rows] == [("certain", 0.25), ("guessing", 1.0)]
    # With independent answers, the interval would be (0.11, 0.47).
    assert rows[0].right.high > 0.6


# --- groups of fewer than five ------------------------------------------------------------------------------


def test_a_further_group_is_hidden_if_the_hidden_groups_are_small_together():
    groups = {"a": range(10), "b": range(10, 16), "c": range(16, 19)}
    assert visible_groups(groups) == {"a"}  # "c" has three learners, so "b" is hidden with it
    assert visible_groups(groups | {"d": range(20, 22)}) == {"a", "b"}  # "c" and "d" have five learners together
    assert visible_groups({"a": range(10), "b": range(10, 16)}) == {"a", "b"}
    assert visible_groups({"a": range(4)}) == set()


def test_a_group_and_a_part_of_it_are_safe_unless_few_learners_remain():
    assert [nested_groups_are_safe(range(10), range(n)) for n in (10, 9, 6, 5, 0)] == [True, False, False, True, True]
    assert [rounded_count(range(n)) for n in (5, 7, 8, 12, 13)] == [5, 5, 10, 10, 15]


def test_items_are_those_of_both_sittings_if_the_few_others_would_be_revealed():
    both = learner(inventory=sitting(1, "correct", "") + sitting(2, "correct", ""))
    once = learner(inventory=sitting(1, "", "correct"))
    assert {len(row.learners) for row in measure_inventory([both] * 8 + [once] * 3).items} == {8}
    assert {len(row.learners) for row in measure_inventory([both] * 8 + [once] * 6).items} == {14, 8}


def test_retention_is_hidden_if_the_few_who_missed_it_would_be_revealed():
    two = learner(inventory=sitting(1, "correct", "") + sitting(2, "correct", "correct"))
    three = learner(inventory=sitting(1, "correct", "") + sitting(2, "correct", "correct") + sitting(3, "", "correct"))
    shown, hidden = measure_inventory([three] * 8 + [two] * 5), measure_inventory([three] * 8 + [two] * 2)
    assert shown.retention is not None and not shown.is_retention_hidden
    assert hidden.retention is None and hidden.is_retention_hidden and hidden.gain is not None
