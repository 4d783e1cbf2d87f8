"""Test which tests `make quick` chooses for changed files."""

import importlib.util
import subprocess

import pytest

from tests.fresh_python import run_python
from utils.lessons import ROOT

SCRIPT = ROOT / ".ci" / "quick_tests.py"
_spec = importlib.util.spec_from_file_location("quick_tests", SCRIPT)
quick_tests = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(quick_tests)
EVERY_EXPLORER = quick_tests.EVERY_EXPLORER


@pytest.mark.parametrize(
    "file",
    [
        "solutions/06_layer_norm.md",
        "utils/checks/layer_norm.py",
        "course/06_layer_norm.ipynb",
        "tests/solved/06_layer_norm.ipynb",
        "tests/course/test_layer_norm.py",
        "tests/checks/blind/first/06_layer_norm.py",
    ],
)
def test_each_file_of_a_lesson_needs_the_tests_of_this_lesson(file):
    own, shared = quick_tests.pytest_runs([file])
    assert {"tests/course/test_layer_norm.py", "course/06_layer_norm.ipynb"} <= set(own)
    assert set(quick_tests.EVERY_LESSON) <= set(shared)
    assert "[06_layer_norm]" in shared[-1] and "[LayerNorm-" in shared[-1] and "[LayerNorm]" in shared[-1]
    assert "softmax" not in shared[-1]


@pytest.mark.parametrize(
    "file, tests",
    [
        ("docs/sources.md", {"tests/test_docs.py", "tests/test_quick_tests.py", "tests/test_sources.py"}),
        ("utils/feedback/check.py", {"tests/feedback/test_check.py"}),
        ("utils/exercises/op_trace.py", {"tests/exercises"}),
        ("utils/grading/intake/roster.py", {"tests/grading/test_roster.py"}),
        ("utils/instructor/lesson_time.py", {"tests/instructor/test_ready.py"}),
        ("utils/checks/_attention.py", {"tests/checks"}),
        ("tests/feedback/test_check.py", {"tests/feedback/test_check.py"}),
        ("tests/feedback/__snapshots__/test_check.ambr", {"tests/feedback/test_check.py"}),
        ("tests/feedback/conftest.py", {"tests/feedback"}),
        ("utils/explore/answer_events.py", {EVERY_EXPLORER + "::test_an_explorer_is_a_widget_and_a_sentence"}),
        ("tests/explore/test_touch.py", {"tests/explore/test_touch.py"}),
        ("tests/browser/test_lab.py", set()),
        ("tests/feedback/test_that_was_deleted.py", set()),
    ],
)
def test_a_file_of_a_package_needs_the_tests_of_this_package(file, tests):
    chosen = {test for run in quick_tests.pytest_runs([file]) for test in run if test.startswith("tests/")}
    assert chosen == tests


@pytest.mark.parametrize("file", ["utils/explore/softmax_rows.js", "utils/explore/softmax_rows.py"])
def test_an_explorer_needs_its_own_tests_and_its_part_of_the_tests_for_every_explorer(file):
    own, shared = quick_tests.pytest_runs([file])
    assert own[0] == "tests/explore/test_softmax_rows.py"
    assert shared[0] == EVERY_EXPLORER and shared[-2:] == ["-k", "[softmax"]
    assert f'"{shared[-1][1:]}": ' in (ROOT / EVERY_EXPLORER).read_text(encoding="utf-8")


@pytest.mark.parametrize("file", ["Makefile", ".ci/run", "utils/__init__.py", "README.md", "docs/checks.md"])
def test_other_files_need_the_general_tests(file):
    (run,) = quick_tests.pytest_runs([file])
    assert "tests/test_docs.py" in run and not [test for test in run if test.count("/") > 1]


def test_every_test_that_applies_to_every_lesson_or_explorer_exists():
    assert all((ROOT / name).is_file() for name in (*quick_tests.EVERY_LESSON, EVERY_EXPLORER))


def test_changed_files_are_those_of_git(tmp_path, monkeypatch):
    def git(*words):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=tmp_path, check=True)

    monkeypatch.setattr(quick_tests, "ROOT", tmp_path)
    git("init", "-q")
    for name in ("kept", "changed", "committed"):
        (tmp_path / name).write_text("1", encoding="utf-8")
    (tmp_path / ".gitignore").write_text("ignored\n", encoding="utf-8")
    git("add", ".")
    git("commit", "-qm", "first")
    (tmp_path / "committed").write_text("2", encoding="utf-8")
    git("commit", "-qam", "second")
    for name in ("changed", "new", "ignored"):
        (tmp_path / name).write_text("2", encoding="utf-8")
    assert quick_tests.changed_files("HEAD") == ["changed", "new"]
    assert quick_tests.changed_files("HEAD~1") == ["changed", "committed", "new"]


def test_the_script_names_the_tests_without_running_them():
    done = run_python(SCRIPT, "--list", "--files", "utils/feedback/check.py")
    assert done.returncode == 0 and done.stdout.startswith("tests/feedback/test_check.py ")
    done = run_python(SCRIPT, "--files", "tests/browser/test_lab.py")
    assert done.returncode == 0 and done.stdout == "No tests belong to the changed files.\n"


def test_some_exercises_of_a_lesson_and_without_a_folder():
    own, shared = quick_tests.pytest_runs(["solutions/06_layer_norm.md"], ["normalised"], ["tests/solved"])
    assert "tests/solved/test_outputs.py" not in shared and "course/06_layer_norm.ipynb" in own
    assert "[normalised-" in shared[-1] and "LayerNorm" not in shared[-1]
