"""Test the export for nbgrader. test_real_nbgrader.py tests it with nbgrader itself, if nbgrader is installed."""

import ast
import json
import re
from collections import Counter

import nbformat
import pytest
from typer.testing import CliRunner

from tests.fresh_python import printed_output
from tests.lesson_files import write_lesson
from utils import lessons
from utils.cli.commands import app
from utils.exercises.exercise import all_exercises
from utils.feedback.check import CheckFailed
from utils.instructor.build import student_files
from utils.instructor.nbgrader import export as nbgrader
from utils.instructor.nbgrader.export import (
    BEGIN,
    CONFIG,
    END,
    ExportError,
    export_lessons,
    make_assignment,
    student_source,
)
from utils.instructor.nbgrader.grading import grade
from utils.lessons import ROOT

MARKED = """\
# T

```python
# <COGNOTE>
secret = "Ada"
# </COGNOTE>
first_sum = (
    1 + 2 + 3
)  # <COGSTUB> all three numbers
second_sum = first_sum * 2  # <COGLINE>
print("# <COGINST>")
```

```python
for row in range(3):
    # <COGINST>
    if row:
        last_row = row + 1 + row
    # </COGINST>
```

Why?

<COGINST>
Because `a` comes before `b` in every row.
</COGINST>
"""


@pytest.fixture
def marked(tmp_path):
    folder = tmp_path / "solutions"
    folder.mkdir()
    return write_lesson(folder, "04_marked", MARKED)


@pytest.fixture(scope="module")
def built():
    return student_files(ROOT / "solutions")


def marks(cell):
    return cell["metadata"].get("nbgrader", {})


@pytest.mark.parametrize("path", lessons.all_lessons(), ids=lambda path: path.stem)
def test_each_exercise_has_an_answer_and_a_point(path):
    notebook = make_assignment(path)
    nbformat.validate(nbformat.from_dict(notebook))
    cells = notebook["cells"]
    exercises = [e for e in all_exercises().values() if e.lesson == path.stem[3:]]
    graded = {marks(cell)["grade_id"]: cell for cell in cells if marks(cell).get("grade")}
    assert set(graded) == {f"points-{e.name}" for e in exercises}
    for e in exercises:
        cell = graded[f"points-{e.name}"]
        before = cells[cells.index(cell) - 1]
        assert (
            marks(before)["grade_id"] == f"answer-{e.name}" and marks(before)["solution"] and not marks(before)["grade"]
        )
        assert cell["source"].endswith(f"grade({e.name}={e.name})" if e.kind == "value" else f"grade({e.name})")
        assert marks(cell)["locked"] and marks(cell)["points"] == 1 and cell["metadata"]["tags"] == ["raises-exception"]
    ids = [marks(cell)["grade_id"] for cell in cells if marks(cell)]
    assert len(ids) == len(set(ids)) and all(re.fullmatch(r"[\w-]+", name) for name in ids)
    assert len({cell["id"] for cell in cells}) == len(cells)


@pytest.mark.parametrize("path", lessons.all_lessons(), ids=lambda path: path.stem)
def test_without_its_answers_it_is_the_students_copy(path, built):
    copy = json.loads(built[f"{path.stem}.ipynb"])
    cells = [cell for cell in make_assignment(path)["cells"] if not marks(cell).get("grade")]
    assert len(cells) == len(copy["cells"])
    for cell, student in zip(cells, copy["cells"]):
        source = cell["source"]
        if marks(cell):
            assert source.count(BEGIN) == source.count(END) > 0
            source = student_source(source)
        assert source == "".join(student["source"])
        assert {key: value for key, value in cell["metadata"].items() if key != "nbgrader"} == student["metadata"]


def test_every_marker_becomes_nbgraders_and_notes_go(marked):
    first, second, prose = [cell for cell in make_assignment(marked)["cells"] if marks(cell)]
    assert (
        first["source"]
        == f"# all three numbers\n{BEGIN}\nfirst_sum = (\n    1 + 2 + 3\n)\n{END}\n{BEGIN}\nsecond_sum = first_sum *"
        f' 2\n{END}\nprint("# <COGINST>")'
    )
    ast.parse(first["source"])
    assert (
        second["source"]
        == f"for row in range(3):\n    {BEGIN}\n    if row:\n        last_row = row + 1 + row\n    {END}"
    )
    assert (
        prose["cell_type"] == "markdown"
        and marks(prose)["solution"]
        and marks(prose)["grade"]
        and marks(prose)["points"] == 1
    )
    assert f"<!-- {BEGIN} -->\nBecause `a` comes before `b` in every row.\n<!-- {END} -->" in prose["source"]
    assert "Ada" not in json.dumps(make_assignment(marked)) and "<COGNOTE>" not in json.dumps(make_assignment(marked))


def test_stubs_say_what_they_stand_for():
    source = (
        f"class A:\n    def f(self):\n        {BEGIN}\n        return 1\n        {END}\n\n\n{BEGIN}\nx ="
        f" 2\n{END}\ncheck(A)"
    )
    assert (
        student_source(source)
        == 'class A:\n    def f(self):\n        # YOUR CODE HERE\n        raise NotImplementedError("A.f")\n\n\nx = ...'
        "  # YOUR CODE HERE\ncheck(A)"
    )
    assert student_source("x = 1") is None
    assert student_source(f"{BEGIN}\nx = (1") is None, "nbgrader then uses its own stub"


# --- the graded cell ----------------------------------------------------------------------------------


def test_a_graded_cell_passes_waits_or_says_what_is_wrong(capsys):
    import sys as system
    import warnings

    def row_sums(x):
        warnings.warn("deprecated", stacklevel=1)
        system.stderr.write("noise")
        return x.sum(dim=1)

    grade(row_sums)
    captured = capsys.readouterr()
    assert captured.out == "row_sums passes.\n" and captured.err == "", "nbgrader takes stderr for a failure"

    def row_sums(x):
        raise NotImplementedError("row_sums")

    with pytest.raises(NotImplementedError, match="^row_sums$"):
        grade(row_sums)

    def row_sums(x):
        return x.sum(dim=0)

    with pytest.raises(CheckFailed, match=r"^✗ row_sums: "):
        grade(row_sums)
    with pytest.raises(CheckFailed):
        grade(context_vec_2=None)


# --- writing ------------------------------------------------------------------------------------------


def test_an_export_is_repeatable_and_keeps_what_an_instructor_changed(tmp_path, snapshot):
    out = tmp_path / "course"
    done = export_lessons(out, ["00", "layer_norm"])
    counts = Counter(exercise.lesson for exercise in all_exercises().values())
    assert done.points == {"00_start_here": 1, "06_layer_norm": counts["layer_norm"]} and not done.kept
    names = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert names == {
        "nbgrader_config.py",
        "source/00_start_here/00_start_here.ipynb",
        "source/06_layer_norm/06_layer_norm.ipynb",
    }
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    export_lessons(out, ["00", "06"])
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    changed = out / "source" / "00_start_here" / "00_start_here.ipynb"
    changed.write_text(changed.read_text(encoding="utf-8").replace('"points": 1', '"points": 3'), encoding="utf-8")
    (out / "source" / "06_layer_norm" / "06_layer_norm.ipynb").unlink()
    with pytest.raises(ExportError) as error:
        export_lessons(out, ["00", "06"])
    assert str(error.value).replace(str(out), "OUT") == snapshot
    assert (
        '"points": 3' in changed.read_text(encoding="utf-8")
        and not (out / "source" / "06_layer_norm" / "06_layer_norm.ipynb").exists()
    )
    (out / "nbgrader_config.py").write_text("c = get_config()\n", encoding="utf-8")
    done = export_lessons(out, ["00"], replace=True)
    assert (
        changed.read_bytes() == before[changed]
        and (out / "nbgrader_config.py").read_text(encoding="utf-8") == "c = get_config()\n"
        and [message.replace(str(out), "OUT") for message in done.kept] == snapshot
    )


def test_wrong_markers_and_unfit_folders_write_nothing(tmp_path, marked, snapshot):
    out = tmp_path / "course"
    write_lesson(marked.parent, "04_marked", MARKED.replace("# </COGNOTE>", ""))
    with pytest.raises(ValueError, match="COGNOTE"):
        export_lessons(out, source=marked.parent)
    assert not out.exists()
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(ExportError) as error:
        export_lessons(tmp_path / "file")
    assert str(error.value).replace(str(tmp_path), "FOLDER") == snapshot
    with pytest.raises(ExportError) as error:
        export_lessons(ROOT / "course" / "nbgrader")
    assert str(error.value).replace(str(ROOT), "ROOT") == snapshot


def test_the_command(tmp_path, snapshot):
    command = ["export-nbgrader", str(tmp_path / "course")]
    done = CliRunner().invoke(app, [*command, "02", "start_here"])
    assert done.exit_code == 0 and done.stdout.replace(str(tmp_path), "FOLDER") == snapshot
    refused = CliRunner().invoke(app, [*command, "nope"])
    assert refused.exit_code == 2 and refused.stderr.startswith("There is no lesson 'nope'")


def test_the_settings_parse_and_nothing_else_of_ours_needs_nbgrader():
    assert "stubs.preprocessors()" in CONFIG and ast.parse(CONFIG)
    code = (
        "import sys; sys.modules['nbgrader'] = None; import utils.instructor.nbgrader.export; "
        "import utils.instructor.nbgrader.grading, utils.cli"
    )
    printed_output(code)
    assert nbgrader.POINTS == 1
