"""Answers that were written from the students' pages alone, before any check was run: each keeps its verdict.

A verdict changes with a text or a check: look at what is said now (`coginst answers FILE`), and keep it with `--write`.
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
    said = judge_all(answers)
    changed = [f"{a.kind}, {a.description}: {a.verdict} became {format_verdict(r)}: {r.message}" for a, r in zip(answers, said)
               if format_verdict(r) != a.verdict]  # fmt: skip
    assert not changed, "\n".join(changed)


def test_no_wrong_one_passes_and_no_right_one_is_refused():
    for answers in ANSWERS.values():
        for answer in answers:
            assert (answer.verdict == "passed") == (answer.kind == "right"), str(answer)


def test_every_exercise_was_answered_rightly_and_wrongly():
    """In each round those of the lessons that were new or had changed."""
    answered = {(answer.exercise, answer.kind) for found in ANSWERS.values() for answer in found}
    assert answered == {(name, kind) for name in all_exercises() for kind in ("right", "wrong")}


def test_nearly_all_wrong_ones_are_told_why():
    """By name, or by a true fact that leads there; a bare difference of numbers is the last resort."""
    wrong = [answer for answers in ANSWERS.values() for answer in answers if answer.kind == "wrong"]
    plain = [answer for answer in wrong if answer.verdict == "difference"]
    assert len(plain) <= len(wrong) / 100, "\n".join(map(str, plain))
