"""Export lessons with their answers as nbgrader assignments: `source/NN_stem/NN_stem.ipynb`.

A cell with a gap becomes a solution cell. A graded cell follows each cell that checks an exercise. The export also
contains nbgrader's configuration. This module does not need nbgrader.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from utils import lessons
from utils.instructor import ipynb
from utils.instructor.blocked_cells import mark_blocked_cells
from utils.instructor.build import student_files, student_metadata
from utils.instructor.strip import CellFaults, strip_cell, strip_notes
from utils.lessons import ROOT, Cell, markers
from utils.lessons.markers import MarkedCell

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
POINTS = 1

CONFIG = '''\
"""Set nbgrader up for this course. `coginst export-nbgrader` wrote this file once; you can change it."""

import os

from utils.instructor.nbgrader import stubs  # install the course where nbgrader runs: pip install -e .

# Grading must not change the instructor's own progress.
os.environ["COURSE_PROGRESS"] = "off"

c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "attention"
c.GenerateAssignment.preprocessors = stubs.preprocessors()
c.Execute.timeout = 120  # seconds for one cell; lessons that train a model take longer than nbgrader's default of 30
'''


class ExportError(ValueError):
    """The export cannot be made. Nothing was written."""


@dataclass
class ExportSummary:
    """The files that were written, the points of each lesson, and a sentence for each file that was kept."""

    written: list[Path] = field(default_factory=list)
    points: dict[str, int] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)


def export_lessons(
    out: str | Path, names: Iterable[str] = (), replace: bool = False, source: str | Path | None = None
) -> ExportSummary:
    """Write the named lessons as assignments into the nbgrader course folder `out`. By default, write all lessons.

    Raises:
        ExportError: `out` cannot be used, or it contains a different version of an assignment and `replace` is False.
        MarkerError, BuildError, LessonError: same as in a build.
    """
    source = ROOT / "solutions" if source is None else Path(source)
    out = Path(out)
    if out.exists() and not out.is_dir():
        raise ExportError(f"{out} is a file, but nbgrader needs a folder. Name a folder.")
    if out.resolve() == ROOT / "course" or ROOT / "course" in out.resolve().parents:
        raise ExportError(
            f"{out} is in the folder of the students' copies, but assignments contain answers. Name another folder."
        )
    student_files(source)  # raises an error if a marker is wrong or an answer leaks
    summary = ExportSummary()
    texts: dict[Path, str] = {}
    for path in [lessons.find_lesson(name, source) for name in names] or lessons.all_lessons(source):
        notebook = make_assignment(path)
        texts[out / "source" / path.stem / f"{path.stem}.ipynb"] = ipynb.notebook_text(notebook)
        summary.points[path.stem] = sum(
            cell["metadata"].get("nbgrader", {}).get("points", 0) for cell in notebook["cells"]
        )
    differ = [path for path, text in texts.items() if path.exists() and path.read_text(encoding="utf-8") != text]
    if differ and not replace:
        raise ExportError(
            "\n".join(
                f"{path} already exists and differs from the export. Add --replace to overwrite it." for path in differ
            )
        )
    config = out / "nbgrader_config.py"
    if not config.exists():
        texts[config] = CONFIG
    elif config.read_text(encoding="utf-8") != CONFIG:
        summary.kept.append(
            f"{config} has other settings, so the export kept it. docs/instructors.md describes the usual settings."
        )
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        lessons.write_atomically(path, text)
    summary.written = list(texts)
    return summary


def make_assignment(path: str | Path) -> dict:
    """Return the notebook of one lesson for nbgrader's `source/`, including answers, markers and graded cells.

    Raises:
        MarkerError: same as in `strip_lesson`.
    """
    path = Path(path)
    lesson = lessons.parse_lesson(strip_notes(lessons.read_text(path), path), path)
    marked = [markers.parse_markers(cell) for cell in lesson.cells]
    students = [(part.cell, strip_cell(part)) for part in marked]
    blocked = mark_blocked_cells(
        (dataclasses.replace(cell, source=student.source), student.unset_names) for cell, student in students
    )
    cells = []
    for part, needed in zip(marked, blocked):
        cell, source = part.cell, part.cell.source
        metadata = student_metadata(cell.metadata, needed)
        if part.regions:
            graded = cell.kind == "markdown"  # answers in prose are graded by hand
            metadata |= _nbgrader_metadata(
                "answer", _grade_name(cell, lesson.stem), cell.kind, solution=True, grade=graded
            )
            source = _add_solution_markers(part)
        cells.append(ipynb.make_cell(cell.kind, ipynb.cell_id(lesson.stem, cell.index), metadata, source))
        for name, arguments in _iter_checks(cell):
            marks = _nbgrader_metadata("points", name, "code", grade=True, locked=True)
            marks["tags"] = ["raises-exception"]  # the cell fails until the exercise is done
            call = f"from utils.instructor.nbgrader.grading import grade\n\ngrade({arguments})"
            cells.append(ipynb.make_cell("code", ipynb.cell_id(f"{lesson.stem}:{name}", cell.index), marks, call))
    return ipynb.make_notebook(cells)


def student_source(source: str) -> str | None:
    """Return the code of a solution cell with the build's stubs instead of its answers.

    Return None if the cell contains no solution, or if the build would reject the cell.
    """
    if BEGIN not in map(str.strip, source.split("\n")):
        return None
    marks = dict(zip((BEGIN, END), markers.wrap_in_answer_markers([])))
    lines = [
        line.replace(mark, marks[mark]) if (mark := line.strip()) in marks else line for line in source.split("\n")
    ]
    try:
        return strip_cell(markers.parse_markers(Cell("code", "\n".join(lines), 1, {}, 0))).source
    except CellFaults:
        return None


def _nbgrader_metadata(
    prefix: str, name: str, kind: str, *, solution: bool = False, grade: bool = False, locked: bool = False
) -> dict:
    marks = {
        "grade": grade,
        "solution": solution,
        "locked": locked,
        "task": False,
        "cell_type": kind,
        "grade_id": f"{prefix}-{name}",
        "schema_version": 3,
    }
    return {"nbgrader": marks | ({"points": POINTS} if grade else {})}


def _grade_name(cell: Cell, stem: str) -> str:
    """Return the name of an answer in the gradebook.

    This is the name of the exercise that the cell checks, or the cell's id if the cell checks no exercise.
    """
    return next((name for name, _ in _iter_checks(cell)), ipynb.cell_id(stem, cell.index))


def _iter_checks(cell: Cell) -> Iterator[tuple[str, str]]:
    """Yield (exercise name, argument) for each argument of a call such as `check(f)` or `check(x=x)` in a cell."""
    tree = lessons.parse_cell(cell)
    for node in tree.body if tree else ():
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "check":
            for argument in [*call.args, *call.keywords]:
                name = argument.arg if isinstance(argument, ast.keyword) else getattr(argument, "id", None)
                if name:
                    yield name, ast.unparse(argument)


def _add_solution_markers(marked: MarkedCell) -> str:
    """Return a cell's source with nbgrader's markers around each region and each marked statement."""
    lines = marked.lines
    begin, end = (BEGIN, END) if marked.cell.kind == "code" else (f"<!-- {BEGIN} -->", f"<!-- {END} -->")
    for region in reversed(marked.regions):
        first, last = lines[region.start], lines[region.end - 1]
        if region.comment_position is None:
            lines[region.start], lines[region.end - 1] = _indent_of(first) + begin, _indent_of(last) + end
        else:
            row, column = region.comment_position
            lines[row] = lines[row][:column].rstrip()
            above = [f"# {region.hint}", begin] if region.hint else [begin]
            lines.insert(region.end, _indent_of(first) + end)
            lines[region.start : region.start] = [_indent_of(first) + line for line in above]
    return "\n".join(lines)


def _indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
