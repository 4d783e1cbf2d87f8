"""Test that grading knows each learner's task: copied answers, shared codes, and pages without a valid code."""

import csv
import io
import json

import pytest

from tests.grading.student_notebooks import lesson_with_sources, notebook
from utils.exercises.exercise import family_members, find_exercise
from utils.feedback.check import CheckFailed
from utils.grading.intake.roster import Student, format_roster
from utils.grading.judge.results import ExerciseResult, write_result
from utils.grading.judge.shown_tasks import read_shown_task
from utils.grading.judge.submissions import Submission
from utils.grading.judge.verdicts import Judge
from utils.grading.reports.report_writer import write_reports
from utils.grading.runner.isolation import ResourceLimits
from utils.instructor.answers import AnswerFactory
from utils.instructor.nbgrader.grading import grade
from utils.learner_data.seed import FIXED, assign_task

NAME, STEM = "mix_texts", "02_simplified_attention"
FAMILY = find_exercise(NAME)
MEMBERS = family_members(FAMILY)
SOURCES = [AnswerFactory.from_exercise(each).source for each in MEMBERS]


def code_of(number, among=0):
    """Return a code of the member with this number; a larger `among` gives the code of another learner."""
    seeds = [f"{a}{b}AAAA" for a in "ABCDEFGH" for b in "ABCDEFGH"]
    return str([code for seed in seeds if (code := assign_task(seed, NAME, len(MEMBERS))).number == number][among])


def page(source, *codes):
    """Return a page of lesson 02 with an answer, and an output that shows these codes."""
    content = json.loads(notebook([lesson_with_sources(STEM[3:])[1][0], f'task("{NAME}")', source]))
    content["cells"][1]["outputs"] = [
        {"output_type": "execute_result", "metadata": {}, "execution_count": 1,
         "data": {"text/plain": [f"Your task ({code})\n", "Several texts …"]}}
        for code in codes
    ]  # fmt: skip
    return json.dumps(content).encode()


@pytest.fixture(scope="module")
def judge(unisolated_sandbox):
    return Judge(unisolated_sandbox, ResourceLimits())


def grade_page(judge, content, student="s1", file=f"{STEM}.ipynb"):
    return judge.grade(Submission(student, STEM, {file: content}, "k"), only=NAME)


def grade_answer(judge, *arguments):
    (result,) = grade_page(judge, page(*arguments)).exercises
    return result


@pytest.mark.parametrize("number", range(1, len(MEMBERS) + 1))
def test_an_answer_is_judged_against_the_task_that_the_page_shows(judge, number):
    result = grade_answer(judge, SOURCES[number - 1], code_of(number))
    assert (result.state, result.member, result.note) == ("passed", MEMBERS[number - 1].member, "")
    assert result.task_code == code_of(number) and result.points == 1


def test_an_answer_to_another_task_fails_with_a_note_for_the_instructor(judge):
    result = grade_answer(judge, SOURCES[3], code_of(1))
    assert (result.state, result.points, result.member) == ("failed", 0, "seq-first")
    assert result.misconception == "other-task-distances"
    assert result.note == "The answer solves the task of another learner (distances instead of seq-first)."


def test_a_page_without_a_code_is_judged_against_every_task(judge):
    result = grade_answer(judge, SOURCES[2])
    assert (result.state, result.member, result.task_code) == ("passed", "mean-product", "")
    assert result.note == "The page shows no task code. The answer solves the task mean-product."
    wrong = grade_answer(judge, f"def {NAME}(x):\n    return x")
    assert (wrong.state, wrong.note) == ("failed", "The page shows no task code. The answer solves none of the tasks.")


def test_a_page_in_markdown_shows_no_code(judge):
    setup = lesson_with_sources(STEM[3:])[1][0]
    head = "---\njupyter:\n  kernelspec:\n    display_name: Python 3\n    language: python\n    name: python3\n---\n"
    text = f"{head}\n# Lesson\n\n```python\n{setup}\n```\n\n```python\n{SOURCES[1]}\n```\n".encode()
    (result,) = grade_page(judge, text, file=f"{STEM}.md").exercises
    assert (result.state, result.member) == ("passed", "centred") and "no task code" in result.note


def test_an_unfinished_answer_has_no_note(judge):
    result = grade_answer(judge, f'def {NAME}(x):\n    raise NotImplementedError("{NAME}")')
    assert (result.state, result.note) == ("not attempted", "")


def test_codes_that_no_learner_has_do_not_count():
    number = int(code_of(1)[-1]) % len(MEMBERS) + 1
    for codes, note in (
        ([f"{code_of(1)[:-1]}{number}"], "which no learner has"),
        ([f"{code_of(1)[:-1]}9"], "which no learner has"),
        ([f"{FIXED}-2"], "which no learner has"),
        ([code_of(1), code_of(2)], "several task codes"),
    ):
        shown = read_shown_task(page("", *codes), FAMILY)
        assert (shown.code, shown.members) == ("", MEMBERS) and note in shown.note
    sample = read_shown_task(page("", f"{FIXED}-1"), FAMILY)
    assert sample.members == MEMBERS[:1] and "the sample task instead" in sample.note


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff", b"[" * 100_000, b"3", b'{"cells": 3}', b'{"cells": [3, {"outputs": [3, {"data": 3}]}]}',
     b'{"cells": [{"outputs": [{"data": {"text/plain": [3]}}, {"data": {"text/plain": 3}}]}]}'],
)  # fmt: skip
def test_a_page_of_any_form_can_be_searched_for_a_code(content):
    assert read_shown_task(content, FAMILY).members == MEMBERS


def test_a_code_in_source_or_prose_is_no_output():
    content = json.loads(page(f"# Your task ({code_of(1)})"))
    content["cells"].append({"cell_type": "markdown", "source": f"Your task ({code_of(1)})", "metadata": {}})
    assert read_shown_task(json.dumps(content).encode(), FAMILY).code == ""


def test_the_reports_of_a_class_of_three_show_the_copy(judge, tmp_path):
    """Zoe handed in Ada's answer with her own task, and Bob shows Ada's code."""
    students = [Student("s1", "Ada"), Student("s2", "Bob"), Student("s3", "Zoe")]
    handed_in = tmp_path / "handed-in"
    handed_in.mkdir()
    (handed_in / "roster.csv").write_text(format_roster(students), encoding="utf-8")
    pages = {"s1": page(SOURCES[0], code_of(1)), "s2": page(SOURCES[0], code_of(1)), "s3": page(SOURCES[0], code_of(2))}
    for student, content in pages.items():
        write_result(tmp_path / "results", grade_page(judge, content, student))
    write_reports(tmp_path / "results", out=tmp_path / "report")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "report" / "transfer.csv").read_text(encoding="utf-8-sig"))))
    assert [(row["id"], row["task"], row["state"], row["note"]) for row in rows] == [
        ("s1", "seq-first", "passed", "The same task code is in the page of s2."),
        ("s2", "seq-first", "passed", "The same task code is in the page of s1."),
        ("s3", "centred", "failed", "The answer solves the task of another learner (seq-first instead of centred)."),
    ]
    assert rows[2]["task code"] == code_of(2)
    class_page = (tmp_path / "report" / "class.html").read_text(encoding="utf-8")
    assert "2 cases need a look" in class_page and "Zoe" not in class_page
    student_page = (tmp_path / "report" / "students" / "s3.html").read_text(encoding="utf-8")
    assert "another learner" not in student_page and "Your result is right for another task" in student_page


def test_the_task_of_a_page_without_a_code_is_unknown(judge, tmp_path):
    (tmp_path / "handed-in").mkdir()
    (tmp_path / "handed-in" / "roster.csv").write_text(format_roster([Student("s1", "Ada")]), encoding="utf-8")
    write_result(tmp_path / "results", grade_page(judge, page(SOURCES[0])))
    write_reports(tmp_path / "results", out=tmp_path / "report")
    (row,) = csv.DictReader(io.StringIO((tmp_path / "report" / "transfer.csv").read_text(encoding="utf-8-sig")))
    assert (row["task code"], row["task"], row["state"]) == ("", "", "passed")


def test_the_sandbox_contains_no_transfer_exercises(sandbox):
    source = f"def {NAME}(x):\n    from utils.checks.transfer import simplified_attention\n    return x"
    (result,) = grade_page(Judge(sandbox, ResourceLimits()), page(source, code_of(1))).exercises
    assert result.state == "failed" and "No module named 'utils.checks'" in result.message


def test_results_of_older_runs_have_no_task():
    assert (ExerciseResult("f", "absent", 0.0, 1.0).member, ExerciseResult("f", "absent", 0.0, 1.0).note) == ("", "")


@pytest.mark.parametrize("number", range(len(MEMBERS)))
def test_nbgrader_accepts_an_answer_to_any_task(number, capsys):
    grade(AnswerFactory.from_exercise(MEMBERS[number]).make_answer(SOURCES[number]))
    assert capsys.readouterr().out == f"{NAME}/{MEMBERS[number].member} passes.\n"


def test_nbgrader_rejects_an_answer_to_no_task():
    def mix_texts(x):
        return 2 * x

    with pytest.raises(CheckFailed, match="mix_texts"):
        grade(mix_texts)
