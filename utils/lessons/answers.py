"""A lesson with its answers in: marker lines and instructors' notes go, everything else stays."""

from __future__ import annotations

from pathlib import Path

from utils.lessons import markers
from utils.lessons.cells import Cell, read
from utils.lessons.code import Definition, bound_names, rows, tree_of
from utils.lessons.files import LessonError


def with_answers(cell: Cell) -> str:
    """The cell's source as the instructor runs it. Markers that cannot be obeyed stay; a build names them."""
    return "\n".join(line for line in _lines(markers.parse(cell)) if line is not None)


def source_of(path: str | Path, name: str) -> str:
    """The source of one definition, markers removed: a function or class with its decorators, or how a value is
    worked out.

    For a value that is the text between the answer markers of the cell that assigns it, else the assigning statement.

    Raises:
        LessonError: the lesson defines no such name.
    """
    for cell in read(path).cells:
        tree = tree_of(cell)
        node = next((node for node in tree.body if name in bound_names(node)), None) if tree else None
        if node is None:
            continue
        marked = markers.parse(cell)
        first, last = rows(node)[0] - cell.line + 1, rows(node)[-1] - cell.line + 1
        span = range(first, last + 1)
        if not isinstance(node, Definition):
            answers = (region for region in marked.regions if region.kind == markers.ANSWER)
            span = next((region.inside for region in answers if first in region.inside), span)
        lines = _lines(marked)
        return "\n".join(line for row in span if (line := lines[row]) is not None).strip("\n")
    raise LessonError(f"{Path(path).name} defines no {name!r}.")


def _lines(marked: markers.Marked) -> list[str | None]:
    """The cell's lines, None for one that goes."""
    lines: list[str | None] = list(marked.lines)
    for region in marked.regions:
        if region.comment is not None:
            row, column = region.comment
            lines[row] = marked.lines[row][:column].rstrip() or None
        elif region.kind == markers.NOTE:
            lines[region.start : region.end] = [None] * (region.end - region.start)
        else:
            lines[region.start] = lines[region.end - 1] = None
    return lines
