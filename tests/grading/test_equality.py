"""Test that an answer gets exactly the same report in the sandbox as in one process: message, table and reason.

The answers are blind answers, by default two for each exercise; COURSE_EQUALITY=all uses all of them and takes ten
minutes.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

import utils
from tests.grading.student_notebooks import lesson_with_sources, notebook, notebook_with_answer, reference_notebook
from utils import gpt2, lessons
from utils.exercises.exercise import all_exercises
from utils.feedback.check import check
from utils.feedback.diagnose import diagnose
from utils.feedback.report import Report
from utils.grading.judge.sandbox import Sandbox
from utils.grading.judge.verdicts import Judge, Submission
from utils.grading.runner.answer_extraction import AnswerNotFound, NullObject, load_answer, make_yours
from utils.grading.runner.isolation import ResourceLimits
from utils.instructor.answers import Answer, read_answers

EACH = 1000 if os.environ.get("COURSE_EQUALITY") == "all" else 1
BLIND = Path(__file__).parents[1] / "checks" / "blind"
ANSWERS: dict[str, list[Answer]] = {}
for file in sorted(BLIND.glob("*/*.py")):
    for answer in read_answers(file):
        ANSWERS.setdefault(answer.exercise, []).append(answer)
EXERCISES = all_exercises()
# The reports on these exercises also name the wrong step. For that, the judge sends expected values to the runner.
WITH_REPAIR = ("simple_attention", "kernel_estimator", "SelfAttention_v2", "logit_lens")


def sample(exercise: str) -> list[Answer]:
    """Return `EACH` wrong and `EACH` right answers, spread evenly over the blind answers to an exercise."""
    wrong, right = ([a for a in ANSWERS.get(exercise, ()) if a.kind == kind] for kind in ("wrong", "right"))
    named = [a for a in wrong if a.verdict.endswith("milestone")][:1] if exercise in WITH_REPAIR else []
    return [a for some in (wrong, right) for a in some[:: max(1, len(some) // EACH)][:EACH]] + named


@pytest.fixture(scope="module")
def pages() -> dict[str, bytes]:
    """The reference answers to every lesson, as a student's pages."""
    gpt2.source()  # It prints once which weights are used, and must not do so during a test.
    return {f"{path.stem}.ipynb": reference_notebook(path.stem) for path in lessons.all_lessons()}


def here(exercise: str, folder: Path, page: str) -> Report:
    """Return the report that a page's answer gets in this process."""
    found = EXERCISES[exercise]
    sources = {
        n: f"{lessons.find_lesson(e.lesson).stem}.ipynb" for n, e in EXERCISES.items() if e.lesson != found.lesson
    }
    silent = NullObject()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("check", "hint", "solution", "progress", "show", "explore"):
            patch.setitem(vars(utils), name, silent)
        patch.setitem(vars(utils), "yours", make_yours(sources, folder))
        try:
            given = load_answer(folder / page, exercise, found.kind, {"display": silent}, 10.0)
        except AnswerNotFound as missing:
            return Report(exercise, "failed", str(missing), reason="raised")
    return diagnose(found, given)


@pytest.mark.parametrize("exercise", [name for name in EXERCISES if name in ANSWERS])
def test_the_report_is_the_same(
    sandbox: Sandbox, pages: dict[str, bytes], tmp_path: Path, capfd: pytest.CaptureFixture, exercise: str
) -> None:
    stem = lesson_with_sources(EXERCISES[exercise].lesson)[0].stem
    earlier = {name: text for name, text in pages.items() if name[:2] < stem[:2]}
    for name, text in earlier.items():
        (tmp_path / name).write_bytes(text)
    judge, differ = Judge(sandbox, ResourceLimits()), []
    for answer in sample(exercise):
        page = notebook_with_answer(exercise, answer.source)
        (tmp_path / f"{stem}.ipynb").write_bytes(page)
        mine = here(exercise, tmp_path, f"{stem}.ipynb")
        result = judge.grade(Submission("anna", stem, {**earlier, f"{stem}.ipynb": page}, "key"), exercise)
        (theirs,) = result.exercises
        if (theirs.reason, theirs.misconception, theirs.html) != (mine.reason, mine.misconception, mine._repr_html_()):
            differ.append(
                f"{answer.kind}, {answer.description}\n  here: {mine.message}\n"
                f"  there: {theirs.state}, {theirs.message}"
            )
        if result.incidents:
            differ.append(f"{answer.kind}, {answer.description}: {result.incidents}")
        if answer.kind == "right" and theirs.state != "passed":
            differ.append(f"{answer.description}: {theirs.state}")
    assert not differ, "\n".join(differ)


@pytest.mark.parametrize(
    "source, given",
    [
        ("row_sums = lambda x: x.sum(1)", lambda x: x.sum(1)),
        ("row_sums = torch.sum", torch.sum),
        ("from torch import sum as row_sums", torch.sum),
    ],
)
def test_what_is_no_definition_is_refused_in_the_notebook_s_words(sandbox: Sandbox, source: str, given) -> None:
    page = {"00_start_here.ipynb": notebook(["import torch", source])}
    (done,) = Judge(sandbox, ResourceLimits()).grade(Submission("anna", "00_start_here", page, "")).exercises
    assert (done.state, done.reason, done.message) == ("failed", "structure", check(given).message)


def test_a_page_without_any_code_is_not_attempted(sandbox: Sandbox) -> None:
    done = Judge(sandbox, ResourceLimits()).grade(
        Submission("anna", "00_start_here", {"00_start_here.ipynb": notebook([])}, "")
    )
    assert [e.state for e in done.exercises] == ["not attempted"]
