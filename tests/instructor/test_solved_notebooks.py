"""Test the solved notebooks: what they keep of a run, and that they match the lessons."""

import json
import re

import nbformat
import pytest
from typer.testing import CliRunner

from tests.lesson_files import write_lesson
from utils import lessons
from utils.cli.commands import app
from utils.instructor import solved_notebooks
from utils.instructor.solved_notebooks import SolveError, solve_lessons, solved_notebook

SOLVED = lessons.ROOT / "tests" / "solved"

BODY = """\
# T

<COGNOTE>
secret
</COGNOTE>

Why? `<COGINST>`

<COGINST>
Because.
</COGINST>

```python tags=["nbval-check-output"]
# <COGINST>
x = 2
# </COGINST>
y = x * 2  # <COGLINE>
z = y + 1  # <COGSTUB> one more
# <COGNOTE>
key = 1
# </COGNOTE>
z
```

```python
import os, sys
from IPython.display import display, HTML, Image
print("\\x1b[31mred\\x1b[0m", object(), os.getcwd())
display({"text/html": "<b>x</b>", "image/png": "AA==", "text/plain": "the text"}, raw=True)
display({"text/html": "<b>x</b>"}, raw=True)
display({"application/vnd.jupyter.widget-view+json": {"model_id": "a"}, "text/plain": "IntSlider()"}, raw=True)
print(os.environ["COURSE_CHECKS"], os.path.exists(os.environ["COURSE_PROGRESS"]))
```
"""


@pytest.mark.parametrize("path", lessons.all_lessons(), ids=lambda path: path.stem)
def test_solved_notebooks_are_the_lessons_own(path):
    kept, made = nbformat.read(SOLVED / f"{path.stem}.ipynb", 4), solved_notebook(path)
    strange = "run `coginst solve` and commit what it writes"
    assert [(c.id, c.cell_type, c.source, c.metadata) for c in kept.cells] == [
        (c["id"], c["cell_type"], c["source"], c["metadata"]) for c in made["cells"]
    ], strange
    assert all(cell.execution_count for cell in kept.cells if cell.cell_type == "code"), strange


def test_a_lesson_whose_cells_changed_after_it_was_solved_is_stale(tmp_path):
    for number, stem in enumerate(("same", "edited", "missing")):
        path = write_lesson(tmp_path, f"0{number}_{stem}", "# T\n\n```python\nx = 1\n```\n")
        (tmp_path / f"{path.stem}.ipynb").write_text(json.dumps(solved_notebook(path)), encoding="utf-8")
    (tmp_path / "02_missing.ipynb").unlink()
    write_lesson(tmp_path, "01_edited", "# T\n\n```python\nx = 2\n```\n")
    assert solved_notebooks.find_stale(tmp_path, tmp_path) == ["01_edited", "02_missing"]


def test_no_solved_notebook_is_of_a_lesson_that_went():
    assert {path.stem for path in SOLVED.glob("*.ipynb")} == {path.stem for path in lessons.all_lessons()}


@pytest.mark.parametrize("path", sorted(SOLVED.glob("*.ipynb")), ids=lambda path: path.stem)
def test_solved_notebooks_keep_text_alone(path):
    text = path.read_text(encoding="utf-8")
    assert str(lessons.ROOT) not in text and "\x1b" not in text and "COGINST" not in text
    for cell in json.loads(text)["cells"]:
        for output in cell.get("outputs", []):
            assert output["output_type"] == "stream" or list(output["data"]) == ["text/plain"]


def test_answers_are_in_and_markers_out(tmp_path):
    cells = solved_notebook(write_lesson(tmp_path, "04_x", BODY))["cells"]
    assert [cell["source"] for cell in cells[:2]] == [
        "# T\n\n\nWhy? `<COGINST>`\n\nBecause.",
        "x = 2\ny = x * 2\nz = y + 1\nz",
    ]
    assert cells[1]["metadata"] == {"tags": ["nbval-check-output"]}


def test_text_outputs_are_kept_and_a_second_run_writes_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", __file__)  # the author's own progress must have no effect
    source, out = tmp_path / "solutions", tmp_path / "solved"
    source.mkdir()
    write_lesson(source, "04_x", BODY)
    (path,) = solve_lessons(["x"], out, source)
    first = path.read_bytes()
    assert path == out / "04_x.ipynb" and solve_lessons([], out, source) == [path] and path.read_bytes() == first
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == [1, 2]
    assert code[0].outputs[0].data == {"text/plain": "5"}
    printed = "".join(output.text for output in code[1].outputs if output.output_type == "stream")
    assert re.fullmatch(r"red <object object at 0x000000> \S+\nstrict False\n", printed)
    assert [dict(output.data) for output in code[1].outputs if output.output_type != "stream"] == [
        {"text/plain": "the text"}
    ]


def test_a_lesson_that_fails_is_named_with_its_line_and_nothing_is_written(tmp_path, monkeypatch):
    source, out = tmp_path / "solutions", tmp_path / "solved"
    source.mkdir()
    write_lesson(source, "04_x", BODY)
    bad = write_lesson(source, "05_bad", "```python\nx = 1\n```\n\n```python\nx / 0\n```\n")
    with pytest.raises(
        SolveError, match=rf"^{re.escape(str(bad))}:14: this cell fails .* ZeroDivisionError: division by zero$"
    ):
        solve_lessons(["05", "04"], out, source)
    assert list(out.iterdir()) == []
    monkeypatch.setattr(solved_notebooks, "TIMEOUT", 1)
    slow = write_lesson(source, "05_bad", "```python\nimport time; time.sleep(30)\n```\n")
    with pytest.raises(SolveError, match=rf"^{re.escape(str(slow))}:10: this cell fails"):
        solve_lessons(["05"], out, source)


def test_ctrl_c_while_the_kernel_starts_ends_without_a_traceback(monkeypatch):
    def stop(client, **options):
        try:
            raise KeyboardInterrupt
        finally:
            raise AssertionError("nbclient's clean-up")

    monkeypatch.setattr("nbclient.NotebookClient.execute", stop)
    done = CliRunner().invoke(app, ["solve", "00"])
    assert done.exit_code == 130 and "Traceback" not in done.output


def test_an_unknown_lesson_is_one_red_line():
    result = CliRunner().invoke(app, ["solve", "nope"])
    assert result.exit_code == 2 and result.stderr.startswith("There is no lesson 'nope' in solutions/. There are: ")


def test_lab_hands_its_options_on(monkeypatch):
    from utils.cli import lab

    calls = []
    monkeypatch.setattr(lab, "lab", lambda **options: calls.append(options))
    assert CliRunner().invoke(app, ["lab"]).exit_code == 0
    assert CliRunner().invoke(app, ["lab", "--no-browser", "--port", "9000"]).exit_code == 0
    assert calls == [{"port": None, "browser": True}, {"port": 9000, "browser": False}]
