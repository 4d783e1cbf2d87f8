"""Blind answers: written from the student pages alone, before any check was run. Each keeps its verdict.

A change of a page or a check can change a verdict. `coginst answers FILE` shows the new reports, and `--write` stores
the new verdicts.
"""

from pathlib import Path

import pytest

from utils.feedback.exercise import all_exercises
from utils.instructor.answers import Answer, format_verdict, judge_all, read_answers

ROUNDS = sorted((Path(__file__).parent / "blind").iterdir())
ANSWERS: dict[tuple[str, str], list[Answer]] = {}
for folder in ROUNDS:
    for path in sorted(folder.glob("*.py")):
        for answer in read_answers(path):
            ANSWERS.setdefault((folder.name, answer.exercise), []).append(answer)


@pytest.mark.parametrize("folder, exercise", ANSWERS)
def test_each_answer_has_its_verdict(folder, exercise):
    answers = ANSWERS[folder, exercise]
    changed = [
        f"{a.kind}, {a.description}: {a.verdict} became {format_verdict(report)}: {report.message}"
        for a, report in zip(answers, judge_all(answers))
        if format_verdict(report) != a.verdict
    ]
    assert not changed, "\n".join(changed)


def test_no_wrong_answer_passes_and_no_right_answer_fails():
    for answers in ANSWERS.values():
        for answer in answers:
            assert (answer.verdict == "passed") == (answer.kind == "right"), str(answer)


def test_every_exercise_has_right_and_wrong_answers():
    """Together, the rounds cover every exercise. Each round covers the lessons that were new or had changed."""
    answered = {(answer.exercise, answer.kind) for answers in ANSWERS.values() for answer in answers}
    assert answered == {(name, kind) for name in all_exercises() for kind in ("right", "wrong")}


def test_nearly_all_wrong_answers_get_an_explanation():
    """At most 1 % of the reports show only that numbers differ. The others name a misconception or another fact."""
    wrong = [answer for answers in ANSWERS.values() for answer in answers if answer.kind == "wrong"]
    plain = [answer for answer in wrong if answer.verdict == "difference"]
    assert len(plain) <= len(wrong) / 100, "\n".join(map(str, plain))
