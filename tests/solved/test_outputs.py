"""Run every lesson with its answers and strict checks, and compare its outputs with those in this folder.

The run fails at the first cell that raises an error and at the first exercise that does not pass.
"""

from pathlib import Path

import nbformat
import pytest

from tests.lesson_runs import run_outputs
from utils import lessons
from utils.instructor.solved_notebooks import text_outputs

SOLVED = Path(__file__).parent


@pytest.mark.parametrize("stem", [path.stem for path in lessons.all_lessons()])
def test_a_lesson_runs_and_prints_what_its_solved_notebook_stores(stem: str) -> None:
    stored = nbformat.read(SOLVED / f"{stem}.ipynb", 4).cells
    compared = 0
    for cell, outputs in zip(stored, run_outputs(stem)["outputs"], strict=True):
        if "nbval-check-output" in cell.metadata.get("tags", ()):
            assert text_outputs(outputs) == cell.outputs, f"the outputs of {cell.source!r}: run `coginst solve {stem}`"
            compared += 1
    assert compared
