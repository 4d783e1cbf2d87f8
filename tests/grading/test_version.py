"""Test that a change of the course invalidates results exactly if verdicts may depend on it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from utils.grading import engine
from utils.lessons import ROOT


def made_up(root: Path) -> Path:
    """Create a course whose files have the names of the real ones, but are empty."""
    for path in (ROOT / "utils").rglob("*.py"):
        copy = root / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text("", encoding="utf-8")
    return root


JUDGES_OR_RUNS = ["grading/judge/verdicts", "grading/runner/server", "checks/start_here", "exercises/compare"]
COLLECTS_OR_REPORTS = ["grading/intake/collect", "grading/reports/class_page", "grading/intake/roster", "cli/grading"]


@pytest.mark.parametrize("name", JUDGES_OR_RUNS + COLLECTS_OR_REPORTS)
def test_what_judges_or_runs_counts_and_what_collects_or_reports_does_not(tmp_path: Path, name: str) -> None:
    root = made_up(tmp_path)
    before = engine.course_version.__wrapped__(root)
    (root / "utils" / f"{name}.py").write_text("x = 1", encoding="utf-8")
    assert (engine.course_version.__wrapped__(root) != before) == (name in JUDGES_OR_RUNS)


def test_nothing_that_a_judge_or_a_runner_imports_is_left_out() -> None:
    code = "import sys, utils.grading.judge.verdicts, utils.grading.runner.fork_server"
    code += "; print(*(m.__file__ for n, m in sys.modules.items() if n.startswith('utils.') and m.__file__))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8", check=True)
    needed = {Path(file).relative_to(ROOT / "utils") for file in done.stdout.split()} - {Path("grading/__init__.py")}
    counted = {path for path in needed if any(path.is_relative_to(folder) for folder in engine.VERDICT_FOLDERS)}
    assert Path("grading/runner/fork_server.py") in counted
    assert needed == counted
