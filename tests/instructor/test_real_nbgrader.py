"""Test the export with nbgrader itself: it makes the student's copies, collects them and grades them.

These tests are skipped if nbgrader is not installed. `make test-nbgrader` runs them in a separate environment.
"""

import copy
import os
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest

from tests.fresh_python import environment_without, isolated_jupyter_environment, run_python
from utils import lessons
from utils.instructor.build import student_files
from utils.instructor.nbgrader.export import BEGIN, END, export_lessons
from utils.instructor.release import release

Gradebook = pytest.importorskip(
    "nbgrader.api", reason="needs nbgrader, in a separate environment: make test-nbgrader"
).Gradebook

ROOT = lessons.ROOT
STEMS = [path.stem for path in lessons.all_lessons()]
GRADED = [
    "00_start_here",
    "02_simplified_attention",
    "03_self_attention",
    "06_layer_norm",
]  # functions, values, classes; 06 asks for yours() of 03


def nbgrader(course: Path, *arguments: str) -> str:
    """Run nbgrader in the course's folder with a student's copy of the course, without the user's own Jupyter."""
    environment = environment_without("PYTEST_", "COURSE_CHECKS", "COURSE_PROGRESS") | isolated_jupyter_environment(
        course.parent
    )
    environment["PATH"] = os.pathsep.join(
        [str(Path(sys.executable).parent), os.environ["PATH"]]
    )  # nbgrader calls alembic by its name
    environment["PYTHONPATH"] = os.pathsep.join([str(course.parent / "attention"), str(ROOT / "tests" / "offline")])
    done = run_python("-m", "nbgrader", *arguments, cwd=course, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def read(course: Path, folder: str, stem: str) -> nbformat.NotebookNode:
    return nbformat.read(course / folder / stem / f"{stem}.ipynb", 4)


def marks(cell) -> dict:
    return cell.metadata.get("nbgrader", {})


def hand_in(course: Path, student: str, stem: str, answers: dict[str, str] | None) -> None:
    """Write a submission: the released notebook with `answers`, by grade id, in its gaps. None leaves it unchanged."""
    notebook = copy.deepcopy(read(course, "release", stem))
    for cell in notebook.cells:
        if answers and marks(cell).get("solution"):
            cell.source = answers[marks(cell)["grade_id"]]
    folder = course / "submitted" / student / stem
    folder.mkdir(parents=True)
    nbformat.write(notebook, folder / f"{stem}.ipynb")


def right_answers(course: Path, stem: str) -> dict[str, str]:
    cells = [cell for cell in read(course, "source", stem).cells if marks(cell).get("solution")]
    return {
        marks(cell)["grade_id"]: "\n".join(line for line in cell.source.split("\n") if line.strip() not in (BEGIN, END))
        for cell in cells
    }


def set_up(folder: Path, *names: str) -> Path:
    """Make the nbgrader course folder and, next to it, the unzipped release. Return the course folder."""
    zipfile.ZipFile(release(folder / "attention.zip").path).extractall(folder)
    export_lessons(folder / "course", names)
    return folder / "course"


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    folder = set_up(tmp_path_factory.mktemp("nbgrader"))
    nbgrader(folder, "generate_assignment", "--assignment=*")
    return folder


@pytest.fixture(scope="module")
def graded(course):
    """Return the points of four students.

    Ada is right, and Eve hands in untouched notebooks. Bob has one wrong answer in each lesson. Mallory changed a
    graded cell and `check`.
    """
    for stem in GRADED:
        right = right_answers(course, stem)
        hand_in(course, "ada", stem, right)
        hand_in(course, "eve", stem, None)
    for stem, name, good, bad in [
        ("00_start_here", "row_sums", "dim=1", "dim=0"),
        ("02_simplified_attention", "context_vec_2", "context_vec_2 =", "context_vec_2 = 2 *"),
        ("03_self_attention", "scaled_context_vec_2", "scaled_context_vec_2 =", "scaled_context_vec_2 = 2 *"),
        ("06_layer_norm", "LayerNorm", "correction=0", "correction=1"),
    ]:
        right = right_answers(course, stem)
        answer = right[f"answer-{name}"]
        assert good in answer
        hand_in(course, "bob", stem, right | {f"answer-{name}": answer.replace(good, bad)})
    stem = "00_start_here"
    hand_in(course, "mallory", stem, {"answer-row_sums": "def row_sums(x): return 0\n\ncheck = lambda f: True"})
    path = course / "submitted" / "mallory" / stem / f"{stem}.ipynb"
    notebook = nbformat.read(path, 4)
    for cell in notebook.cells:
        if marks(cell).get("grade"):
            cell.source = "print('row_sums passes.')"
    nbformat.write(notebook, path)
    for stem in GRADED:
        nbgrader(course, "autograde", stem)
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        return {
            (submission.student_id, stem): {
                grade.name: grade.score for notebook in submission.notebooks for grade in notebook.grades
            }
            for stem in GRADED
            for submission in book.assignment_submissions(stem)
        }


@pytest.mark.parametrize("stem", STEMS)
def test_generate_assignment_leaves_what_the_build_leaves(course, stem):
    released = read(course, "release", stem)
    student_cells = [cell for cell in released.cells if not marks(cell).get("grade")]
    built = nbformat.reads(student_files(ROOT / "solutions")[f"{stem}.ipynb"].decode(), 4)
    assert [cell.source for cell in student_cells] == [cell.source for cell in built.cells]
    assert [cell.metadata.get("tags") for cell in student_cells] == [cell.metadata.get("tags") for cell in built.cells]
    assert [cell.id for cell in student_cells] == [cell.id for cell in built.cells]
    graded = [cell for cell in released.cells if marks(cell).get("grade")]
    assert graded and all(marks(cell)["locked"] and marks(cell)["points"] == 1 for cell in graded)
    assert "BEGIN SOLUTION" not in str(released)


def test_nbgrader_without_our_settings_leaks_nothing(tmp_path):
    set_up(tmp_path, "02", "04")
    (tmp_path / "course" / "nbgrader_config.py").write_text("c = get_config()\n", encoding="utf-8")
    nbgrader(tmp_path / "course", "generate_assignment", "--assignment=*")
    for stem in ("02_simplified_attention", "04_causal_attention"):
        released = read(tmp_path / "course", "release", stem)
        gaps = [cell for cell in released.cells if marks(cell).get("solution")]
        assert gaps and all(
            "raise NotImplementedError()" in cell.source and "BEGIN" not in cell.source for cell in gaps
        )
        for answer in right_answers(tmp_path / "course", stem).values():
            assert answer not in str([cell.source for cell in released.cells])


def test_autograde_gives_a_point_for_each_exercise_that_passes(graded):
    for stem in GRADED:
        points = graded["ada", stem]
        assert points and set(points.values()) == {1}, (stem, points)
        assert set(graded["eve", stem]) == set(points) and set(graded["eve", stem].values()) == {0}, (
            stem,
            graded["eve", stem],
        )


def test_an_earlier_lesson_is_found_where_nbgrader_keeps_it(course, graded):
    """Without the course's answers, lesson 06 runs with the student's own lesson 03."""
    assert graded["ada", "06_layer_norm"]["points-SelfAttentionLayer"] == 1
    assert "UnfinishedExercise" in (course / "autograded" / "eve" / "06_layer_norm" / "06_layer_norm.ipynb").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize(
    "stem, lost",
    [
        ("00_start_here", {"points-row_sums"}),
        ("02_simplified_attention", {"points-context_vec_2"}),
        ("03_self_attention", {"points-scaled_context_vec_2"}),
        ("06_layer_norm", {"points-LayerNorm", "points-SelfAttentionLayer"}),
    ],
)
def test_a_wrong_answer_costs_its_own_point_and_those_of_what_is_built_on_it(graded, stem, lost):
    assert {name for name, score in graded["bob", stem].items() if score == 0} == lost, graded["bob", stem]


def test_the_mistake_is_named_in_what_comes_back(course, graded):
    cells = nbformat.read(course / "autograded" / "bob" / "00_start_here" / "00_start_here.ipynb", 4).cells
    (cell,) = [cell for cell in cells if marks(cell).get("grade_id") == "points-row_sums"]
    assert "You added down the columns" in str(cell.outputs)
    nbgrader(course, "generate_feedback", "00_start_here")
    page = (course / "feedback" / "bob" / "00_start_here" / "00_start_here.html").read_text(encoding="utf-8")
    assert "You added down the columns" in page


def test_graded_cells_are_put_back_and_bring_their_own_check(course, graded):
    assert graded["mallory", "00_start_here"] == {"points-row_sums": 0}
    cells = nbformat.read(course / "autograded" / "mallory" / "00_start_here" / "00_start_here.ipynb", 4).cells
    (cell,) = [cell for cell in cells if marks(cell).get("grade")]
    assert cell.source.endswith("grade(row_sums)")


def test_an_untouched_submission_comes_back_without_a_red_box_but_for_its_points(course, graded):
    cells = nbformat.read(course / "autograded" / "eve" / "00_start_here" / "00_start_here.ipynb", 4).cells
    red = [
        cell for cell in cells if cell.cell_type == "code" and any(out.output_type == "error" for out in cell.outputs)
    ]
    assert all("raises-exception" in cell.metadata.get("tags", []) for cell in red)


def test_grading_is_not_the_instructors_own_progress(course, graded):
    assert not list(course.rglob(".progress.json"))
