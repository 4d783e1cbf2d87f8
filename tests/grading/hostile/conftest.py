"""Try an attack twice: without protection, where it must succeed, and in the sandbox, where it must fail."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.grading.student_notebooks import notebook
from utils.grading.judge.results import ExerciseResult, LessonResult
from utils.grading.judge.sandbox import Sandbox
from utils.grading.judge.verdicts import Judge, Submission
from utils.grading.runner.isolation import ResourceLimits
from utils.lessons import ROOT

PAGE = "00_start_here.ipynb"
RIGHT = "def row_sums(x):\n    return x.sum(dim=1)"
WRONG = "def row_sums(x):\n    return x.sum(dim=1) + 1"
SHORT = ResourceLimits(2.0, 1 << 30)  # for pages that do not end
AMPLE = ResourceLimits(120.0, 1 << 30)  # enough for all other pages, on a slow machine too


def graded(sandbox: Sandbox, *cells: str, limits: ResourceLimits = AMPLE) -> LessonResult:
    """Return the judge's result for a notebook with these cells."""
    page = {PAGE: notebook(cells)}
    return Judge(sandbox, limits).grade(Submission("anna", "00_start_here", page, "key"))


def verdict(sandbox: Sandbox, *cells: str, limits: ResourceLimits = AMPLE) -> ExerciseResult:
    """Return the result of the only exercise in a notebook with these cells."""
    (exercise,) = graded(sandbox, *cells, limits=limits).exercises
    return exercise


def untouched(sandbox: Sandbox) -> bool:
    """Return whether the answers of the next students still get the correct verdicts."""
    right, wrong = (verdict(sandbox, cell).state for cell in (RIGHT, WRONG))
    return (right, wrong) == ("passed", "failed")


@pytest.fixture(scope="session")
def in_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., dict[str, Any]]]:
    """Return a function that checks notebooks in one process, as a naive grader does; see `unprotected.run`."""
    folder = tmp_path_factory.mktemp("in-process")
    environment = {name: value for name, value in os.environ.items() if name != "COURSE_CHECKS"}
    script = Path(__file__).with_name("unprotected.py")
    server = subprocess.Popen(
        [sys.executable, script], cwd=ROOT, env=environment | {"PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip
    assert server.stdin and server.stdout
    count = 0

    def run(*pages: str | tuple[str, ...], seconds: float = 300.0) -> dict[str, Any]:
        nonlocal count
        files = []
        for cells in pages:
            count += 1
            files.append(folder / f"{count:02}_page.ipynb")
            files[-1].write_bytes(notebook([cells] if isinstance(cells, str) else cells))
        asked = {"pages": list(map(str, files)), "seconds": seconds, "printed": str(folder / f"{count:02}.txt")}
        server.stdin.write(json.dumps(asked) + "\n")
        server.stdin.flush()
        return {**json.loads(server.stdout.readline()), "printed": Path(asked["printed"]).stat().st_size}

    yield run
    server.stdin.close()
    server.wait(30)
