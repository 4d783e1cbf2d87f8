"""Test `coginst new`: the new lesson builds, runs and passes, and no other lesson changes."""

import re
import shutil

import pytest
from typer.testing import CliRunner

from tests.fresh_python import environment_without, run_python
from utils import lessons
from utils.cli.commands import app
from utils.instructor import scaffold
from utils.instructor.scaffold import ScaffoldError, create_lesson
from utils.lessons import ROOT

# A lesson may have an exercise with the example's name: somebody may be following CONTRIBUTING.md.
EXERCISE = "name_of_a_test"


@pytest.fixture
def checkout(tmp_path):
    """Return a copy of the parts of this clone that a new lesson needs."""
    root = tmp_path / "checkout"
    for name in ("solutions", "utils", "tests", "course"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints"))
    for name in ("conftest.py", "pyproject.toml", "README.md", "CONTRIBUTING.md"):
        shutil.copy(ROOT / name, root)
    for path in [*root.rglob("*flash_attention*")]:  # somebody may be writing a lesson with this name
        path.unlink()
    return root


def run(root, *arguments):
    return run_python("-m", *arguments, cwd=root, env=environment_without("PYTEST_") | {"PYTHONPATH": str(root)})


def one_after_another(root, *commands):
    """Run `coginst` with each of these arguments in one process, until one fails."""
    code = (
        "import sys; from utils.cli.commands import app\n"
        "for words in sys.argv[1:]: app(words.split(), standalone_mode=False) and sys.exit(f'{words} failed')"
    )
    return run_python("-c", code, *commands, cwd=root, env=environment_without("PYTEST_") | {"PYTHONPATH": str(root)})


def contents(root):
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_a_new_lesson_passes_everything_that_a_lesson_has_to(checkout):
    before, number = contents(checkout), f"{len(lessons.all_lessons()):02d}"
    done = run(
        checkout, "utils.cli", "new", "flash_attention", "--title", "Attention in blocks", "--exercise", EXERCISE
    )
    assert (
        done.returncode == 0
        and f"{number}_flash_attention.md" in done.stdout
        and "coginst solve flash_attention" in done.stdout
    ), done.stderr
    after = contents(checkout)
    assert after.keys() - before.keys() == {
        f"solutions/{number}_flash_attention.md",
        "utils/checks/flash_attention.py",
        "tests/course/test_flash_attention.py",
    }
    assert all(after[name] == content for name, content in before.items())
    done = one_after_another(checkout, "build", "build --check", "solve flash_attention")
    assert done.returncode == 0, done.stdout + done.stderr
    stem = f"{number}_flash_attention"
    tests = [
        "tests/course/test_flash_attention.py",
        "tests/course/test_voice.py",
        "tests/checks/test_exercises.py",
        "tests/instructor/test_solved_notebooks.py",
        "tests/solved/test_outputs.py",
        f"course/{stem}.ipynb",
    ]
    chosen = f"flash_attention or {EXERCISE} or Cell or lessons_that_went"
    done = run(checkout, "pytest", "-q", "-p", "no:cacheprovider", *tests, "-k", chosen)
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 25, done.stdout
    copy = (checkout / "course" / f"{stem}.md").read_text(encoding="utf-8")
    assert (
        "# Attention in blocks" in copy and f'raise NotImplementedError("{EXERCISE}")' in copy and "argmax" not in copy
    )


def test_two_lessons_can_be_started_side_by_side(checkout, snapshot):
    first = create_lesson("flash_attention", exercise=EXERCISE, root=checkout)
    with pytest.raises(ScaffoldError) as error:
        create_lesson("linear_attention", exercise=EXERCISE, root=checkout)
    assert str(error.value) == snapshot
    second = create_lesson("98_linear_attention", exercise="strongest_key", root=checkout)
    assert (
        first[0].name == f"{len(lessons.all_lessons()):02d}_flash_attention.md"
        and second[0].name == "98_linear_attention.md"
    )
    assert "# Linear attention\n" in second[0].read_text(encoding="utf-8") and not any(
        scaffold.EXERCISE in path.read_text(encoding="utf-8") for path in second
    )
    done = run(checkout, "utils.cli", "build")
    assert done.returncode == 0 and "4 files" in done.stdout, done.stdout + done.stderr


def test_an_exercise_is_added_to_the_three_files_of_a_lesson(checkout):
    before = contents(checkout)
    done = run(checkout, "utils.cli", "new", "positional_encoding", "--exercise", "strongest_key")
    assert done.returncode == 0 and "coginst ready 07" in done.stdout, done.stderr
    page, checks, test = names = [
        "solutions/07_positional_encoding.md",
        "utils/checks/positional_encoding.py",
        "tests/course/test_positional_encoding.py",
    ]
    after = contents(checkout)
    assert {name for name in after if after[name] != before.get(name)} == set(names)
    old, new = ({name: files[name].decode() for name in names} for files in (before, after))
    assert "from jaxtyping import Float, Int\n" in new[page] and "check(strongest_key)\n```\n\n## Recap" in new[page]
    assert new[checks].count("import Float, Hints, Int, Wrong, case, exercise\n") == 1
    assert new[test].count('RIGHT = {\n    "strongest_key": [') == 1
    added = [set(new[name].splitlines()) - set(old[name].splitlines()) for name in names]
    assert all(added) and [len(set(old[name].splitlines()) - set(new[name].splitlines())) for name in names] == [
        1,
        1,
        0,
    ]


def test_each_lesson_has_a_place_for_a_new_exercise(checkout):
    for lesson in [path.stem for path in lessons.all_lessons() if path.stem[:2] != "00"]:
        for path in scaffold.add_exercise(lesson, f"strongest_key_{lesson[:2]}", checkout):
            text = path.read_text(encoding="utf-8")
            assert "strongest_key" in text
            if path.suffix == ".py":
                compile(text, path.name, "exec")
                assert "import torch" in text


def test_an_exercise_that_has_no_place_is_refused_and_nothing_is_written(checkout, snapshot):
    before = contents(checkout)
    for lesson, exercise in (("00", "strongest_key"), ("07", "softmax"), ("07", "mix_texts"), ("07", "x y")):
        with pytest.raises(ScaffoldError) as error:
            scaffold.add_exercise(lesson, exercise, checkout)
        assert str(error.value) == snapshot
    assert contents(checkout) == before


def test_what_cannot_be_made_is_refused_and_nothing_is_written(checkout, snapshot):
    (checkout / "utils" / "checks" / "half_done.py").touch()
    before, messages = contents(checkout), {}
    names = "causal_attention 04_other Flash flash-attention ../flash class half_done".split()
    for name, exercise in [*((name, EXERCISE) for name in (*names, "", "journey\n")), ("flash_attention", "x y")]:
        with pytest.raises(ScaffoldError) as error:
            create_lesson(name, exercise=exercise, root=checkout)
        messages[name] = str(error.value)
    assert messages == snapshot
    assert contents(checkout) == before


def test_where_one_file_cannot_be_written_none_is(checkout):
    shutil.rmtree(checkout / "tests")
    before = contents(checkout)
    with pytest.raises(OSError):
        create_lesson("flash_attention", exercise=EXERCISE, root=checkout)
    assert contents(checkout) == before


def test_where_one_file_of_a_lesson_cannot_be_written_none_is_changed(checkout, monkeypatch):
    before, write, written = contents(checkout), scaffold.lessons.write_atomically, []

    def fail_later(path, text):
        if len(written) == 2:
            raise OSError("full")
        written.append(path)
        write(path, text)

    monkeypatch.setattr(scaffold.lessons, "write_atomically", fail_later)
    with pytest.raises(OSError):
        scaffold.add_exercise("07", EXERCISE, checkout)
    assert contents(checkout) == before and len(written) == 2


def test_it_is_the_exercise_that_the_page_shows(checkout):
    """CONTRIBUTING.md shows the exercise in three parts: the gap, its check, and correct answers."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    gap, *_ = re.findall(r"(?ms)^~~~markdown\n(.*?)^~~~$", page)
    check, right, *_ = re.findall(r"(?ms)^```python\n(.*?)^```$", page.replace(gap, ""))
    for path, part in zip(create_lesson("flash_attention", exercise=EXERCISE, root=checkout), (gap, check, right)):
        assert part.replace(scaffold.EXERCISE, EXERCISE) in path.read_text(encoding="utf-8"), (
            f"{path.name} and CONTRIBUTING.md differ"
        )


def test_the_command_refuses_in_one_red_line(monkeypatch, snapshot):
    monkeypatch.setattr(scaffold, "ROOT", ROOT)
    done = CliRunner().invoke(app, ["new", "causal_attention"])
    assert done.exit_code == 2 and done.stderr == snapshot


def test_a_number_without_a_lesson_is_no_name_of_a_new_lesson():
    done = CliRunner().invoke(app, ["new", "42", "--exercise", EXERCISE])
    assert done.exit_code == 2 and done.stderr.startswith("There is no lesson '42' in solutions/.")
