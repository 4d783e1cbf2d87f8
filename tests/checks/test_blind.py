"""Blind answers: written from the student pages alone, before any check was run. Each keeps its verdict.

By default, a few answers with each verdict are judged again, first those that once were judged wrongly.
COURSE_BLIND=all judges all of them, which takes fifteen minutes; CI does this every week.

A change of a page or a check can change a verdict. `coginst answers FILE` shows the new reports, and `--write` stores
the new verdicts.
"""

import os
import re
from collections import Counter

import pytest

from utils.exercises.exercise import all_members
from utils.instructor.answers import Answer
from utils.instructor.blind_answers import find_changed_verdicts, find_pending, read_blind_answers, read_pending
from utils.lessons import ROOT

EACH = {"wrong": 1, "right": 3}  # answers to an exercise with the same verdict
FIRST = ("mechanisms", "sweeps")  # the folders of answers that once were judged wrongly
ANSWERS: dict[str, list[Answer]] = {}  # by exercise, because the answers to one exercise share cached results
for _, file in sorted(read_blind_answers().items(), key=lambda item: item[0].parent.name not in FIRST):
    for answer in file:
        ANSWERS.setdefault(answer.exercise, []).append(answer)


def sample(answers: list[Answer]) -> list[Answer]:
    """Return the first answers with each verdict, or all answers if COURSE_BLIND is "all"."""
    if os.environ.get("COURSE_BLIND") == "all":
        return answers
    counts: Counter[str] = Counter()
    chosen = []
    for answer in answers:
        counts[answer.verdict] += 1
        if counts[answer.verdict] <= EACH[answer.kind]:
            chosen.append(answer)
    return chosen


@pytest.mark.parametrize("exercise", ANSWERS)
def test_each_answer_has_its_verdict(exercise):
    changed = find_changed_verdicts(sample(ANSWERS[exercise]))
    assert not changed, "\n".join(changed.values())


def test_the_sample_contains_every_verdict():
    for answers in ANSWERS.values():
        assert {a.verdict for a in sample(answers)} == {a.verdict for a in answers}


def test_the_rounds_have_as_many_answers_as_the_page_says():
    stated = re.search(r"Each round has (\d+) answers", (ROOT / "docs" / "checks.md").read_text(encoding="utf-8"))
    counts = Counter(path.parent.name for path, file in read_blind_answers().items() for _ in file)
    rounds = "sixteenth seventeenth eighteenth nineteenth twentieth twenty_first".split()
    assert stated and {counts[name] for name in rounds} == {int(stated[1])}


def test_no_wrong_answer_passes_and_no_right_answer_fails():
    for answers in ANSWERS.values():
        for answer in answers:
            assert (answer.verdict == "passed") == (answer.kind == "right"), str(answer)


def test_every_exercise_has_right_and_wrong_answers_or_is_marked_as_pending():
    """Together, the rounds cover every exercise. Each round covers the lessons that were new or had changed."""
    answers = [answer for file in ANSWERS.values() for answer in file]
    assert {answer.exercise for answer in answers} <= set(all_members())
    assert read_pending() == find_pending(all_members(), answers), "run `coginst ready LESSON`"


def test_nearly_all_wrong_answers_get_an_explanation():
    """At most 2 % of the reports show only that numbers differ. The others name a mistake, a step or a fact."""
    wrong = [answer for answers in ANSWERS.values() for answer in answers if answer.kind == "wrong"]
    plain = [answer for answer in wrong if answer.verdict == "difference"]
    assert len(plain) <= len(wrong) / 50, "\n".join(map(str, plain))
