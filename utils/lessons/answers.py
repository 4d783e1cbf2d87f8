"""Produce a lesson with its answers: remove marker lines and instructors' notes, and keep everything else."""

from __future__ import annotations

from pathlib import Path

from utils.lessons import markers
from utils.lessons.cells import Cell, read_lesson
from utils.lessons.files import LessonError
from utils.lessons.names import bound_names
from utils.lessons.syntax import Definition, parse_cell, statement_rows


def solved_source(cell: Cell) -> str:
    """Return the source of a cell as the instructor runs it. Invalid markers stay; the build reports them."""
    return "\n".join(line for line in _solved_lines(markers.parse_markers(cell)) if line is not None)


def definition_source(path: str | Path, name: str) -> str:
    """Return the source of one definition without markers.

    For a function or class, this is its definition with decorators. For a value, it is the text between the answer
    markers around the assignment. Without such markers, it is only the assignment.

    Raises:
        LessonError: the lesson does not define this name.
    """
    for cell in read_lesson(path).cells:
        tree = parse_cell(cell)
        node = next((node for node in tree.body if name in bound_names(node)), None) if tree else None
        if node is None:
            continue
        marked = markers.parse_markers(cell)
        first, last = statement_rows(node)[0] - cell.line + 1, statement_rows(node)[-1] - cell.line + 1
        span = range(first, last + 1)
        if not isinstance(node, Definition):
            answers = (region for region in marked.regions if region.kind == markers.ANSWER)
            span = next((region.inner_rows for region in answers if first in region.inner_rows), span)
        lines = _solved_lines(marked)
        return "\n".join(line for row in span if (line := lines[row]) is not None).strip("\n")
    raise LessonError(f"{Path(path).name} defines no {name!r}.")


def _solved_lines(marked: markers.MarkedCell) -> list[str | None]:
    """Return the lines of the cell, with None in place of each line that the solved cell does not contain."""
    lines: list[str | None] = list(marked.lines)
    for region in marked.regions:
        if region.comment_position is not None:
            row, column = region.comment_position
            lines[row] = marked.lines[row][:column].rstrip() or None
        elif region.kind == markers.NOTE:
            lines[region.start : region.end] = [None] * (region.end - region.start)
        else:
            lines[region.start] = lines[region.end - 1] = None
    return lines
