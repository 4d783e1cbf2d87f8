"""Test `coginst ready`: its steps, what it changes and what it leaves for a person."""

import re
import shutil
from collections import Counter
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from tests.lesson_files import write_lesson
from utils import lessons
from utils.cli.commands import app
from utils.instructor import blind_answers, lesson_time, mutation_testing, ready
from utils.instructor.answers import Answer
from utils.instructor.mutation_testing import MutantTally
from utils.instructor.mutations import Mutant
from utils.instructor.ready import Step, StepResult

CHECKS = """
```python
check(LayerNorm)
```

```python
check(normalised=normalised)
check(other)
```
"""


def steps(*functions):
    return tuple(Step(function.__name__, function, f"remedy of {function.__name__}") for function in functions)


def test_each_step_runs_and_the_changed_files_are_named(tmp_path, monkeypatch):
    (tmp_path / "README.md").write_text("old", encoding="utf-8")
    (tmp_path / "course").mkdir()

    def write(lesson, exercises):
        assert lesson.name == "layer_norm" and "LayerNorm" in exercises
        print("a note")
        (tmp_path / "README.md").write_text("new", encoding="utf-8")
        (tmp_path / "course" / "06_layer_norm.md").write_text("new", encoding="utf-8")
        return StepResult()

    def remind(lesson, exercises):
        return StepResult(reminders=["a reminder"])

    monkeypatch.setattr(ready, "STEPS", steps(write, remind))
    monkeypatch.setattr(
        ready,
        "_generated_files",
        lambda path: {p.relative_to(tmp_path).as_posix(): p.read_bytes() for p in tmp_path.rglob("*.md")},
    )
    done = CliRunner().invoke(app, ["ready", "06"])
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "write: done, changed README.md, changed course/06_layer_norm.md",
        "remind: done",
        "",
        "Left for you:",
        "- a reminder (the tests pass without it)",
        f"- {ready.NOT_RUN}",
    ]


def test_a_problem_gives_its_remedy_and_an_error_stops(monkeypatch):
    def first(lesson, exercises):
        return StepResult(["one problem"])

    def second(lesson, exercises):
        raise ValueError("line 1\nline 2")

    def third(lesson, exercises):
        raise AssertionError("This step depends on the step before it.")

    monkeypatch.setattr(ready, "STEPS", steps(first, second, third))
    done = CliRunner().invoke(app, ["ready", "layer_norm", "LayerNorm"])
    assert done.exit_code == 1
    assert done.stdout.splitlines() == [
        "first: left for you",
        "second: stopped",
        "",
        "Left for you:",
        "- one problem",
        "  remedy of first",
        "- line 1",
        "- line 2",
        "  remedy of second",
        f"- {ready.NOT_RUN}",
        "Then run `coginst ready layer_norm` again.",
    ]


def test_unknown_names_are_refused(monkeypatch):
    monkeypatch.setattr(ready, "STEPS", ())
    done = CliRunner().invoke(app, ["ready", "nope"])
    assert done.exit_code == 2 and done.stderr.startswith("There is no lesson 'nope' in solutions/.")
    done = CliRunner().invoke(app, ["ready", "06", "softmax"])
    assert done.exit_code == 2 and done.stderr.startswith("utils/checks/layer_norm.py declares no exercise softmax.")


@pytest.mark.parametrize("error", [SyntaxError("'(' was never closed", ("layer_norm.py", 9, 1, "(")), NameError("foo")])
def test_checks_that_cannot_be_imported_are_one_sentence(monkeypatch, error):
    def fail(lesson):
        raise error

    monkeypatch.setattr(ready, "exercise_names", fail)
    done = CliRunner().invoke(app, ["ready", "06"])
    assert done.exit_code == 2 and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"The checks cannot be imported: {type(error).__name__}: ")
    assert "layer_norm.py, line 9" in done.stderr or "test_ready.py, line" in done.stderr


def test_calls_of_check_and_declarations_agree(tmp_path):
    lesson = lessons.read_lesson(write_lesson(tmp_path, "06_layer_norm", CHECKS))
    assert [line.partition(":")[0] for line in ready._find_missing_checks(lesson, []).problems] == [
        "other",
        "SelfAttentionLayer",
        "norm_vectors",
    ]
    for path in lessons.all_lessons():
        assert not ready._find_missing_checks(lessons.read_lesson(path), []).problems


def test_an_import_of_the_first_cell_that_no_cell_uses_is_named(tmp_path):
    cells = (
        "from jaxtyping import Float, Int\nfrom torch import nn\nfrom utils import check, hint, solution",
        'def f(x: Float[Tensor, "n"]):\n    # <COGINST>\n    return nn.Linear(1, 1)(x)\n    # </COGINST>\n\n\ncheck(f)',
    )
    page = "\n\n".join(f"```python\n{cell}\n```" for cell in cells)
    lesson = lessons.read_lesson(write_lesson(tmp_path, "06_layer_norm", page))
    assert ready._find_unused_imports(lesson, []).problems == ["the first cell imports Int, but no cell uses it"]


@pytest.mark.parametrize("path", lessons.all_lessons(), ids=lambda path: path.stem)
def test_every_lesson_uses_what_its_first_cell_imports(path):
    assert not ready._find_unused_imports(lessons.read_lesson(path), []).problems


def test_lint_names_the_findings_in_changed_files(tmp_path, monkeypatch):
    names = ("solutions/06_layer_norm.md", "utils/checks/layer_norm.py", "tests/course/test_layer_norm.py", "new.py")
    for name in (*names, ".ci/lint_prose.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(lessons.ROOT / ".ci" / "lint_prose.py", tmp_path / ".ci")
    lesson_file, checks, test, new = (tmp_path / name for name in names)
    write_lesson(lesson_file.parent, lesson_file.stem, "Start anew.\n")
    checks.write_text("from utils.exercises.exercise import Int\n", encoding="utf-8")
    test.write_text("x = 1\n", encoding="utf-8")
    new.write_text("y = {'a':1}\n", encoding="utf-8")
    monkeypatch.setattr(ready, "ROOT", tmp_path)
    monkeypatch.setattr(ready, "git_output", lambda root, *command: "new.py\ndeleted.py\n")
    lesson = lessons.read_lesson(lesson_file)
    found = ready._lint(lesson, [])
    wording, unused, layout, count = found.problems
    assert wording.startswith("solutions/06_layer_norm.md:") and "anew" in wording
    assert unused.startswith("utils/checks/layer_norm.py:1:") and "Int" in unused
    assert (
        layout.startswith("new.py:1:")
        and "would be reformatted" in layout
        and count.startswith("1 file would be reformatted")
    )
    monkeypatch.setattr(ready.importlib.util, "find_spec", lambda name: None)
    without_ruff = ready._lint(lesson, [])
    assert without_ruff.problems == [wording]
    assert without_ruff.reminders == ["ruff is not installed; `make lint` installs and runs it"]


def test_stale_solved_notebooks_of_other_lessons_are_named(monkeypatch):
    monkeypatch.setattr(ready.solved_notebooks, "solve_lessons", lambda stems, folder: [])
    monkeypatch.setattr(ready.solved_notebooks, "find_stale", lambda folder: ["05_multihead_attention"])
    (problem,) = ready._solve(lessons.read_lesson(lessons.find_lesson("06")), []).problems
    assert problem == (
        "tests/solved/05_multihead_attention.ipynb differs from solutions/05_multihead_attention.md:"
        " run `coginst ready 05_multihead_attention`"
    )


def test_the_command_that_stores_changed_verdicts_is_complete(tmp_path, monkeypatch):
    folder = lessons.ROOT / "tests" / "checks" / "blind"
    stored = Answer("LayerNorm", "wrong", "difference", "none", "x = 1\n")
    changed = replace(stored, source="x = 2\n")
    files = {folder / "first" / "a.py": [stored, changed], folder / "second" / "b.py": [stored]}
    monkeypatch.setattr(blind_answers, "read_blind_answers", lambda: files)
    monkeypatch.setattr(blind_answers, "find_changed_verdicts", lambda answers: {changed: "the verdict changed"})
    monkeypatch.setattr(blind_answers, "write_pending", lambda names: False)
    found = ready._judge_blind_answers(lessons.read_lesson(lessons.find_lesson("06")), ["LayerNorm"])
    assert found.problems == [
        "the verdict changed",
        "`coginst answers tests/checks/blind/first/a.py --write` stores the new verdicts",
    ]


def test_a_mutant_that_passes_is_left_for_a_person(monkeypatch):
    tally = MutantTally("LayerNorm", "layer_norm")
    tally.outcomes = [
        (Mutant(kind="constant", change="1 → 2", source=""), mutation_testing.WRONG, "seed 2, case 0"),
        (Mutant(kind="constant", change="1 → 3", source=""), mutation_testing.NAMED, ""),
    ]
    monkeypatch.setattr(mutation_testing, "run_mutants", lambda names: [tally])
    monkeypatch.setattr(mutation_testing, "update_table", lambda tallies: None)
    (problem,) = ready._test_mutants(lessons.read_lesson(lessons.find_lesson("06")), ["LayerNorm"]).problems
    assert problem.startswith("LayerNorm: a mutant passes") and "1 → 2 (seed 2, case 0)" in problem


def test_the_rows_of_other_exercises_stay_in_the_table(tmp_path):
    path = tmp_path / "mutants.md"
    before = mutation_testing.TABLE.read_text(encoding="utf-8")
    path.write_text(before.replace("| `softmax` |", "| `exercise_that_was_removed` |"), encoding="utf-8")
    tally = MutantTally("row_sums", "start_here")
    tally.outcomes = [(Mutant(kind="constant", change="1 → 2", source=""), mutation_testing.NAMED, "")]
    rows = mutation_testing.update_table([tally], path)
    assert list(rows) == [name for name in mutation_testing.read_table() if name not in ("softmax", "all")]
    assert rows["row_sums"] == (1, 1, 1, 0, 0, 0, 0, 0, 0)
    stored = mutation_testing.read_table(path)
    assert stored.pop("all") == tuple(map(sum, zip(*rows.values()))) and stored == rows


def test_the_stated_time_is_corrected_only_if_it_is_wrong(tmp_path):
    page = (
        "# T\n\n**After this** you know. **Time:** {} minutes.\n\n"
        + "word " * 1500
        + "\n\n```python\nx = 1\n# <COGINST>\n```\n"
    )
    path = write_lesson(tmp_path, "98_x", page.format(30))
    assert lesson_time.needed_minutes(lessons.read_lesson(path)) == pytest.approx((1500 + 8) / 150 + 1 / 15)
    assert lesson_time.write_stated_time(path)
    assert lesson_time.stated_minutes(lessons.read_lesson(path)) == 10
    assert path.read_text(encoding="utf-8").endswith(page.format(10)) and not lesson_time.write_stated_time(path)
    write_lesson(tmp_path, "98_x", "# T\n")
    with pytest.raises(ValueError, match="does not state its time"):
        lesson_time.write_stated_time(path)


def test_an_exercise_is_pending_until_it_has_right_and_wrong_answers(tmp_path):
    folder = tmp_path / "tests" / "checks" / "blind"
    (folder / "first").mkdir(parents=True)
    text = "# %% softmax right (passed): with exp\nx = 1\n# %% row_sums wrong (difference): none\nx = 2\n"
    (folder / "first" / "02_a.py").write_text(text, encoding="utf-8")
    answers = [answer for file in blind_answers.read_blind_answers(tmp_path).values() for answer in file]
    assert Counter(answer.exercise for answer in answers) == {"softmax": 1, "row_sums": 1}
    names = ["row_sums", "softmax"]
    assert blind_answers.read_pending(tmp_path) == [] and blind_answers.find_pending(names, answers) == names
    assert blind_answers.write_pending(names, tmp_path) and not blind_answers.write_pending(names, tmp_path)
    assert blind_answers.read_pending(tmp_path) == names
    answers.append(Answer("softmax", "wrong", "difference", "nothing", "x = 3\n"))
    assert blind_answers.find_pending(names, answers) == ["row_sums"]


def test_a_changed_verdict_is_named_with_its_message():
    answer = Answer("row_sums", "wrong", "misconception x", "of x", "def row_sums(x):\n    return x.sum(dim=0)\n")
    (line,) = blind_answers.find_changed_verdicts([answer]).values()
    assert re.match(r"row_sums wrong, of x: misconception x became misconception [\w-]+: .+", line)
    same = replace(answer, verdict=re.search(r"became (misconception [\w-]+):", line)[1])
    assert blind_answers.find_changed_verdicts([same]) == {}
