"""Test the example class: it is reproducible, `collect` reads it, and its answers get the expected verdicts."""

import csv
import json
from collections import Counter

import pytest

from bench import example_class
from bench.example_class import ExampleError, make_example_class
from bench.fault_injection import COPIED, FAULTS, UNKNOWN
from tests.grading.submission_files import SOFTMAX, read_tree
from utils import lessons
from utils.grading.intake.collect import collect
from utils.grading.intake.csv_tables import unguard_formula
from utils.grading.intake.lesson_detection import known_lessons
from utils.instructor.answers import AnswerFactory, format_verdict

LESSONS = ["00", "02"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("class") / "class"
    return make_example_class(folder, 14, 3, LESSONS)


def expected(folder):
    with (folder / "expected.csv").open(encoding="utf-8", newline="") as file:
        return [{key: unguard_formula(cell) for key, cell in row.items()} for row in csv.DictReader(file)]


def test_one_seed_one_class(made, tmp_path):
    assert read_tree(make_example_class(tmp_path / "again", 14, 3, LESSONS).folder) == read_tree(made.folder)
    assert (
        read_tree(make_example_class(tmp_path / "other", 14, 4, LESSONS).folder)["expected.csv"]
        != read_tree(made.folder)["expected.csv"]
    )


def test_everything_that_can_go_wrong_does(made, tmp_path):
    assert made.fault_counts == dict.fromkeys([*FAULTS, COPIED, UNKNOWN], 1)
    done = collect([made.folder / "submissions.zip"], made.folder / "roster.csv", tmp_path / "in")
    odd = {"not on the roster": 1, "absent": 1, "unreadable": 2, "older version": 1, "renamed": 1}
    assert {what: done.oddity_counts[what] for what in odd} == odd
    assert done.oddity_counts["same file as another's"] >= 2
    assert {row.id for row in done.rows if row.what == "not on the roster"} == {""}


def test_every_student_answered_every_exercise_of_the_lessons_they_did(made):
    known = {lesson.stem: lesson.exercises for lesson in known_lessons()}
    answered: dict[tuple[str, str], list[str]] = {}
    for row in expected(made.folder):
        answered.setdefault((row["id"], row["lesson"]), []).append(row["exercise"])
    assert {stem for _, stem in answered} == {"00_start_here", SOFTMAX}
    assert all(set(names) == known[stem] and len(names) == len(known[stem]) for (_, stem), names in answered.items())
    kinds = Counter(row["verdict"].split()[0] for row in expected(made.folder))
    assert kinds["passed"] > 20 and kinds["misconception"] > 5


def test_what_was_answered_stands_in_the_notebook_and_gets_its_verdict(made, tmp_path):
    done = collect([made.folder / "submissions.zip"], made.folder / "roster.csv", tmp_path / "in")
    whole = [row for row in expected(made.folder) if row["answer"] and not row["mishap"]]
    for row in whole:
        notebook = lessons.read_lesson(done.folder / row["id"] / f"{row['lesson']}.ipynb")
        assert any(row["answer"].rstrip("\n") in cell.source for cell in notebook.cells), row
    checks = AnswerFactory.from_name("softmax")
    for answer, verdict in {row["answer"]: row["verdict"] for row in whole if row["exercise"] == "softmax"}.items():
        assert format_verdict(checks.judge(answer)) == verdict


def test_a_notebook_is_one_that_jupyter_opens(made, tmp_path):
    import nbformat

    done = collect([made.folder / "submissions.zip"], made.folder / "roster.csv", tmp_path / "in")
    for path in sorted(done.folder.glob("*/00_*.ipynb")):
        if path.stat().st_size:
            nbformat.validate(nbformat.from_dict(json.loads(path.read_text(encoding="utf-8"))))


def test_what_cannot_be_made_is_refused_and_nothing_is_written(tmp_path, snapshot):
    def refusal(name, *arguments):
        with pytest.raises(ExampleError) as error:
            make_example_class(tmp_path / name, *arguments)
        return str(error.value).replace(str(tmp_path), "TMP")

    (tmp_path / "there").mkdir()
    assert refusal("there") == snapshot
    assert [refusal("new", count) for count in (1, 3601)] == snapshot
    with pytest.raises(lessons.LessonError, match="'nope'"):
        make_example_class(tmp_path / "new", names=["nope"])
    assert list(tmp_path.iterdir()) == [tmp_path / "there"]


def test_the_largest_class_has_a_name_for_every_student():
    roster = example_class._sample_roster(example_class.MOST, 1)
    assert len({student.name for student in roster}) == example_class.MOST


def test_the_command(tmp_path, capsys):
    example_class.main([str(tmp_path / "c"), "00", "--students", "3", "--seed", "2"])
    printed = capsys.readouterr().out
    assert "3 students" in printed and f"coginst collect {tmp_path / 'c' / 'submissions.zip'}" in printed
    with pytest.raises(SystemExit) as exit_status:
        example_class.main([str(tmp_path / "c")])
    assert exit_status.value.code == 2 and str(tmp_path / "c") in capsys.readouterr().err
