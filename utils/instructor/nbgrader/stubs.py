"""Let nbgrader's `generate_assignment` write the same stubs as `coginst build`. This module imports nbgrader.

The nbgrader_config.py of an export uses this module. Otherwise, nbgrader would write its own stubs, which
do not tell learners which exercise is unfinished. A check does not pass with either kind of stub.
"""

from __future__ import annotations

from nbgrader.converters import GenerateAssignment  # pyright: ignore[reportMissingImports]
from nbgrader.preprocessors import ClearSolutions  # pyright: ignore[reportMissingImports]

from utils.instructor.nbgrader.export import student_source


class ClearAnswers(ClearSolutions):
    """Replaces the solution regions of a code cell with the build's stubs, which name the exercise."""

    def _replace_solution_region(self, cell, language):
        student = student_source(cell.source) if cell.cell_type == "code" else None
        if student is None:
            return super()._replace_solution_region(cell, language)
        cell.source = student
        return True


def preprocessors() -> list[type]:
    """Return the preprocessors of nbgrader's `generate_assignment`, with `ClearAnswers` instead of `ClearSolutions`."""
    return [
        ClearAnswers if step is ClearSolutions else step
        for step in GenerateAssignment.class_traits()["preprocessors"].default()
    ]
