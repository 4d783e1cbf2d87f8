"""Our stubs in nbgrader: `generate_assignment` leaves what `coginst build` leaves. Named in the nbgrader_config.py that
an export writes.

Without it nbgrader leaves stubs of its own, which no check mistakes for an answer; only the calm words are lost.
Imports nbgrader.
"""

from __future__ import annotations

from nbgrader.converters import GenerateAssignment
from nbgrader.preprocessors import ClearSolutions

from utils.instructor.nbgrader.export import student_source


class ClearAnswers(ClearSolutions):
    """Takes the solution regions out of a code cell as the build does: a stub says which exercise it stands for."""

    def _replace_solution_region(self, cell, language):
        student = student_source(cell.source) if cell.cell_type == "code" else None
        if student is None:
            return super()._replace_solution_region(cell, language)
        cell.source = student
        return True


def preprocessors() -> list[type]:
    """What nbgrader's `generate_assignment` does to a notebook, with `ClearAnswers` in its place."""
    return [
        ClearAnswers if step is ClearSolutions else step
        for step in GenerateAssignment.class_traits()["preprocessors"].default()
    ]
