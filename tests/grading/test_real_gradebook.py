"""Test that points from `coginst grade` arrive in the gradebook and the form grader of the real nbgrader.

The tests are skipped if nbgrader is not installed. `make test-nbgrader` creates a separate environment for it.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import site
import sqlite3
import sys
from pathlib import Path

import nbformat
import pytest
from typer.testing import CliRunner

from tests.fresh_python import environment_without, isolated_jupyter_environment, run_python
from tests.grading.student_notebooks import reference_notebook
from utils.cli.commands import app
from utils.grading.judge.bubblewrap import isolation_problem
from utils.grading.judge.results import ExerciseResult, LessonResult, read_result, result_path
from utils.grading.judge.verdicts import absent_result
from utils.grading.reports.nbgrader_gradebook import GradebookError, check_gradebook, record_points
from utils.instructor.nbgrader.export import export_lessons
from utils.lessons import ROOT

Gradebook = pytest.importorskip(
    "nbgrader.api", reason="needs nbgrader, which has a separate environment: make test-nbgrader"
).Gradebook

START, SOFTMAX = "00_start_here", "02_simplified_attention"
TAG = "<script>alert(1)</script> [a](https://evil.example) and `more`"


def nbgrader(course: Path, *arguments: str) -> str:
    """Run nbgrader in the course's folder, without the user's own Jupyter configuration."""
    environment = environment_without("PYTEST_", "COURSE_CHECKS", "COURSE_PROGRESS") | isolated_jupyter_environment(
        course.parent
    )
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment["PYTHONPATH"] = str(ROOT)
    done = run_python("-m", "nbgrader", *arguments, cwd=course, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gradebook") / "course"
    export_lessons(folder, [START, SOFTMAX])
    nbgrader(folder, "generate_assignment", "--assignment=*")
    return folder


@pytest.fixture
def course(generated, tmp_path):
    """The folder of a course, with a gradebook that contains no points yet."""
    return Path(shutil.copytree(generated, tmp_path / "course"))


@pytest.fixture
def book(course):
    return course / "gradebook.db"


def rows(book: Path) -> dict[tuple[str, str], tuple]:
    """Return the automatic score, manual score, manual-grade flag and comment of each (student, exercise)."""
    with Gradebook(f"sqlite:///{book}", "attention") as held:
        found = {}
        for assignment in held.assignments:
            for submission in assignment.submissions:
                for page in submission.notebooks:
                    words = {c.name.removeprefix("answer-"): c.comment for c in page.comments}
                    for grade in page.grades:
                        name = grade.name.removeprefix("points-")
                        values = (grade.auto_score, grade.manual_score, grade.needs_manual_grade, words[name])
                        found[submission.student_id, name] = values
        return found


def every_row(book: Path) -> list[str]:
    with sqlite3.connect(book) as held:
        return list(held.iterdump())


NAMES = [e.name for e in absent_result("x", SOFTMAX).exercises]
STATES = ["passed", "failed", "not attempted", "waits for another exercise", "stopped", "unreadable"]


def a_result(student: str = "ada", **states: str) -> LessonResult:
    """Return a result of lesson 02 with one exercise in each state; `states` replaces the states of some exercises."""
    exercises = (
        ExerciseResult(name, state, float(state == "passed"), 1.0, message=f"About {name}.")
        for name, state in (dict(zip(NAMES, STATES)) | states).items()
    )
    return LessonResult(student, SOFTMAX, "k", tuple(exercises))


def test_what_has_no_points_is_for_a_person_to_decide_and_no_zero(book):
    done = record_points(book, [a_result(), absent_result("ben", SOFTMAX)])
    found = rows(book)
    assert {student for student, _ in found} == {"ada"}, "nothing is written for an absent student"
    assert [found["ada", name][:3] for name in NAMES] == [
        (1.0, None, False),
        (0.0, None, False),
        (0.0, None, False),
        (None, None, True),
        (None, None, True),
        (None, None, True),
    ]
    assert found["ada", NAMES[0]][3] is None
    assert [found["ada", name][3] for name in NAMES[1:]] == [
        f"{state}\n\n    About {name}." for name, state in zip(NAMES[1:], STATES[1:])
    ]
    assert (done.submission_count, done.undecided_count, done.without_cell) == (1, 3, [])


def test_doing_it_again_changes_nothing_and_a_new_result_what_is_new(book):
    record_points(book, [a_result()])
    before = every_row(book)
    record_points(book, [a_result()])
    assert every_row(book) == before
    record_points(book, [a_result(**{NAMES[1]: "passed", NAMES[4]: "failed"})])
    found = rows(book)
    assert found["ada", NAMES[1]] == (1.0, None, False, None) and found["ada", NAMES[4]][:3] == (0.0, None, False)


def test_what_a_person_gave_stays_and_is_looked_at_again_where_the_points_changed(book):
    record_points(book, [a_result()])
    with Gradebook(f"sqlite:///{book}", "attention") as held:
        for name in NAMES[1:5]:
            grade = held.find_grade(f"points-{name}", SOFTMAX, SOFTMAX, "ada")
            grade.manual_score, grade.needs_manual_grade = 0.5, False
        held.find_comment(f"answer-{NAMES[1]}", SOFTMAX, SOFTMAX, "ada").manual_comment = "Nearly."
        held.db.commit()
    done = record_points(book, [a_result(**{NAMES[2]: "passed"})])
    found = rows(book)
    assert found["ada", NAMES[1]] == (0.0, 0.5, False, "Nearly.") and found["ada", NAMES[4]][:3] == (None, 0.5, False)
    assert found["ada", NAMES[2]][:3] == (1.0, 0.5, True)
    assert done.undecided_count == 1, "only the unreadable exercise is still undecided"


def test_points_are_the_cell_s_and_what_has_no_cell_is_told(book):
    with sqlite3.connect(book) as held:
        held.execute("UPDATE grade_cells SET max_score = 4 WHERE id IN (SELECT id FROM base_cell WHERE name = ?)",
                     [f"points-{NAMES[0]}"])  # fmt: skip
    result = a_result()
    half = dataclasses.replace(result.exercises[0], points=0.25)
    extra = dataclasses.replace(result.exercises[1], name="new_one")
    results = [dataclasses.replace(result, student=who, exercises=(half, extra)) for who in ("ada", "ben")]
    assert record_points(book, results, {"ben": "Ben Ö"}).without_cell == [f"{SOFTMAX} new_one"]
    assert rows(book)["ada", NAMES[0]][0] == 1.0 and rows(book)["Ben Ö", NAMES[0]][0] == 1.0


def test_what_is_no_gradebook_is_refused_and_stays(book, tmp_path):
    text = tmp_path / "text.db"
    text.write_text("no gradebook " * 100, encoding="utf-8")
    for path, stems, fact in [
        (tmp_path / "none.db", [START], "nbgrader generate_assignment"),
        (text, [START], "not a gradebook"),
        (book, [START, "03_self_attention", "04_causal_attention"], "03_self_attention, 04_causal_attention"),
    ]:
        with pytest.raises(GradebookError) as error:
            check_gradebook(path, stems)
        assert str(path) in str(error.value) and fact in str(error.value)
    assert not (tmp_path / "none.db").exists() and text.read_text(encoding="utf-8") == "no gradebook " * 100
    before = every_row(book)
    check_gradebook(book, [START, SOFTMAX])
    assert every_row(book) == before


@pytest.fixture
def packages(monkeypatch):
    """The environment of .ci/nbgrader finds its packages through a .pth file, which a runner's Python does not read."""
    folders = [place for place in sys.path if place.endswith("-packages")]
    monkeypatch.setattr(site, "getsitepackages", lambda: folders)


def call(*arguments: object) -> str:
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return done.output


def test_the_command_after_nbgrader_s_copies_that_run_nothing(packages, course, book, tmp_path):
    """Follow docs/grading.md: nbgrader copies the answers without running them; `coginst` adds points and comments."""
    trap = tmp_path / "ran"
    answers = {
        "ada": "    return x.sum(dim=1)",
        "bob": "    return x.sum(dim=0)",
        "eve": f"    try:\n        open({str(trap)!r}, 'w')\n    finally:\n        raise ValueError({TAG!r})",
    }
    for student, answer in answers.items():
        page = nbformat.read(course / "release" / START / f"{START}.ipynb", 4)
        (gap,) = [cell for cell in page.cells if cell.metadata.get("nbgrader", {}).get("solution")]
        gap.source = gap.source.replace('    raise NotImplementedError("row_sums")', answer)
        assert answer in gap.source
        folder = course / "submitted" / student / START
        folder.mkdir(parents=True)
        nbformat.write(page, folder / f"{START}.ipynb")
    nbgrader(course, "autograde", START, "--no-execute", "--SaveAutoGrades.enabled=False")
    assert {values[:3] for values in rows(book).values()} == {(None, None, True)}, "no points of nbgrader's own"
    assert not trap.exists(), "nor has it run what they wrote"

    (tmp_path / "roster.csv").write_text("id,name\nada,Ada L\nbob,Bob B\neve,Eve E\n", encoding="utf-8")
    taken, out = tmp_path / "handed-in", tmp_path / "results"
    call("collect", course / "submitted", "--roster", tmp_path / "roster.csv", "--out", taken)
    isolation = "none" if isolation_problem() else "bwrap"
    asked = ["grade", taken, "--out", out, "--nbgrader", book, "--quiet", "--isolation", isolation]
    output = call(*asked)
    assert str(book) in output and "3 submissions" in output
    found = rows(book)
    assert {student: values[:3] for (student, _), values in found.items()} == {
        "ada": (1.0, None, False),
        "bob": (0.0, None, False),
        "eve": (0.0, None, False),
    }

    nbgrader(course, "generate_feedback", START)
    pages = {s: (course / "feedback" / s / START / f"{START}.html").read_text(encoding="utf-8") for s in answers}
    assert "(Score: 1.0 / 1.0)" in pages["ada"] and "(Score: 0.0 / 1.0)" in pages["bob"]
    told = {s: text.split("<b>Comments:</b>")[1].split("</div>")[0] for s, text in pages.items() if s != "ada"}
    (exercise,) = read_result(result_path(out, "bob", START)).exercises
    assert "<b>Comments:</b>" not in pages["ada"] and exercise.message[:20] in told["bob"]
    assert "&lt;script&gt;alert(1)" in told["eve"] and "<script" not in told["eve"] and "<a " not in told["eve"]

    (taken / "bob" / f"{START}.ipynb").write_bytes(reference_notebook("00"))
    call(*asked)
    assert rows(book)["bob", "row_sums"] == (1.0, None, False, None)
