"""Lessons as nbgrader assignments: `source/NN_stem/NN_stem.ipynb`, with answers, and the configuration beside them.

A cell with a gap is a solution cell; after the cell that checks an exercise comes one that is graded. Nothing here needs nbgrader.
"""

from __future__ import annotations

import ast
import io
import json
import os
import re
import tokenize
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterable, Iterator

from utils import lessons
from utils.instructor import strip
from utils.instructor.build import cell_id, student_files, student_metadata
from utils.instructor.needs import cells_that_need
from utils.instructor.notes import without_notes
from utils.lessons import ROOT, Cell

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
POINTS = 1

CONFIG = '''\
"""nbgrader's settings for this course; written by `coginst export-nbgrader`, and yours to change."""

import os

from utils.instructor import stubs  # the course is to be installed where nbgrader runs: pip install -e .

# Grading an answer is not the instructor's own progress.
os.environ["COURSE_PROGRESS"] = "off"

c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "attention"
c.GenerateAssignment.preprocessors = stubs.preprocessors()
c.Execute.timeout = 120  # seconds for one cell; the lessons that train take longer than nbgrader's 30
'''


class ExportError(ValueError):
    """The export cannot be written; nothing was."""


@dataclass
class Exported:
    """The notebooks that were written, the points of each lesson, and a sentence for what was left as it was."""

    written: list[Path] = field(default_factory=list)
    points: dict[str, int] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)


def export(out: str | Path, names: Iterable[str] = (), replace: bool = False, source: str | Path | None = None) -> Exported:
    """Write the named lessons (all when none is named) as assignments into the nbgrader course folder `out`.

    Raises:
        ExportError: `out` cannot be used, or holds another version of an assignment and `replace` is not given.
        MarkerError, BuildError, LessonError: as a build.
    """
    source = ROOT / "solutions" if source is None else Path(source)
    out = Path(out)
    if out.exists() and not out.is_dir():
        raise ExportError(f"{out} is a file, and nbgrader needs a folder; name another.")
    if out.resolve() == ROOT / "course" or ROOT / "course" in out.resolve().parents:
        raise ExportError(f"{out} is where students' copies lie, and assignments hold answers; name another folder.")
    student_files(source)  # every marker is right and nothing leaks, or this raises
    done = Exported()
    texts: dict[Path, str] = {}
    for path in [lessons.find(name, source) for name in names] or lessons.all_lessons(source):
        notebook = assignment(path)
        texts[out / "source" / path.stem / f"{path.stem}.ipynb"] = json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        done.points[path.stem] = sum(cell["metadata"].get("nbgrader", {}).get("points", 0) for cell in notebook["cells"])
    differ = [path for path, text in texts.items() if path.exists() and path.read_text(encoding="utf-8") != text]
    if differ and not replace:
        raise ExportError("\n".join(f"{path} is there already and differs; --replace puts the lesson's in its place." for path in differ))
    config = out / "nbgrader_config.py"
    if not config.exists():
        texts[config] = CONFIG
    elif config.read_text(encoding="utf-8") != CONFIG:
        done.kept.append(f"{config} stays as it is; what an export would write is in docs/instructors.md.")
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        half = path.with_name(path.name + ".tmp")
        half.write_text(text, encoding="utf-8")
        os.replace(half, path)
    done.written = list(texts)
    return done


def assignment(path: str | Path) -> dict:
    """The notebook of one lesson for nbgrader's `source/`: with answers, and what marks and grades them. Raises as `strip`."""
    path = Path(path)
    lesson = lessons.parse(without_notes(lessons.read_text(path), path), path)
    parts = [strip.strip_cell(cell) for cell in lesson.cells]
    needs = cells_that_need((Cell(cell.kind, student.source if student else "", cell.line, cell.metadata, cell.index), student.unset if student else set()) for cell, (student, _, _) in zip(lesson.cells, parts))
    cells = []
    for cell, (_, _, removed), needed in zip(lesson.cells, parts, needs):
        metadata = student_metadata(cell.metadata, needed)
        if removed:
            metadata |= _marks("answer", _name_of(cell, lesson.stem), cell.kind, solution=True, grade=cell.kind == "markdown")
        source = "\n".join(_code(cell) if cell.kind == "code" else _prose(cell)) if removed else cell.source
        cells.append(_cell(cell.kind, cell_id(lesson.stem, cell.index), metadata, source))
        for name, arguments in _checked(cell):
            marks = _marks("points", name, "code", grade=True, locked=True) | {"tags": ["raises-exception"]}  # it waits for the answer
            made = f"from utils.instructor.grading import grade\n\ngrade({arguments})"
            cells.append(_cell("code", cell_id(f"{lesson.stem}:{name}", cell.index), marks, made))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def student_source(source: str) -> str | None:
    """A solution cell's code with the build's stubs for its answers; None where it has no region that the build would accept."""
    lines = source.split("\n")
    if BEGIN not in map(str.strip, lines):
        return None
    marked = [line.replace(BEGIN, "# <COGINST>").replace(END, "# </COGINST>") if line.strip() in (BEGIN, END) else line for line in lines]
    try:
        student, _, _ = strip.strip_cell(Cell("code", "\n".join(marked), 1, {}, 0))
    except strip.CellFaults:
        return None
    return student.source if student else ""


def _cell(kind: str, identity: str, metadata: dict, source: str) -> dict:
    made = {"cell_type": kind, "id": identity, "metadata": metadata, "source": source}
    return made | {"execution_count": None, "outputs": []} if kind == "code" else made


def _marks(what: str, name: str, kind: str, *, solution: bool = False, grade: bool = False, locked: bool = False) -> dict:
    marks = {"grade": grade, "solution": solution, "locked": locked, "task": False, "cell_type": kind, "grade_id": f"{what}-{name}", "schema_version": 3}
    return {"nbgrader": marks | ({"points": POINTS} if grade else {})}


def _name_of(cell: Cell, stem: str) -> str:
    """What an answer is called in the gradebook: its exercise, or its cell where that checks none."""
    return next((name for name, _ in _checked(cell)), cell_id(stem, cell.index))


def _checked(cell: Cell) -> Iterator[tuple[str, str]]:
    """The exercises that a cell checks, `check(f)` or `check(x=x)` on a line of its own: the name and the arguments."""
    tree = lessons.tree_of(cell)
    for node in tree.body if tree else ():
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "check":
            for argument in [*call.args, *call.keywords]:
                name = argument.arg if isinstance(argument, ast.keyword) else getattr(argument, "id", None)
                if name:
                    yield name, ast.unparse(argument)


def _prose(cell: Cell) -> list[str]:
    """A markdown cell's lines with nbgrader's markers, which a reader does not see."""
    outside = dict(lessons.prose_lines(cell.source))
    marks = {"<COGINST>": f"<!-- {BEGIN} -->", "</COGINST>": f"<!-- {END} -->"}
    return [marks.get(outside.get(row, "").strip(), line) for row, line in enumerate(cell.source.split("\n"))]


_MARK = re.compile(r"# <(/?)COG(INST|LINE|STUB)>[ \t]*(.*)")


def _code(cell: Cell) -> list[str]:
    """A code cell's lines with nbgrader's markers: around regions, and around a statement that a COGLINE or COGSTUB takes."""
    lines = cell.source.split("\n")
    python = lessons.without_magics(cell.source)
    simple = [node for node in ast.walk(ast.parse(python)) if isinstance(node, ast.stmt) and not getattr(node, "body", None)]
    before: dict[int, list[str]] = {}
    after: dict[int, list[str]] = {}
    for token in tokenize.generate_tokens(io.StringIO(python + "\n").readline):
        match = _MARK.fullmatch(token.string.rstrip()) if token.type == tokenize.COMMENT else None
        if not match:
            continue
        row, indent = token.start[0], re.match(r"\s*", token.line).group()
        if match[2] == "INST":
            lines[row - 1] = indent + (END if match[1] else BEGIN)
            continue
        node = next(node for node in simple if node.lineno <= row <= node.end_lineno)
        indent = re.match(r"\s*", lines[node.lineno - 1]).group()
        lines[row - 1] = lines[row - 1][: token.start[1]].rstrip()
        before[node.lineno - 1] = [f"{indent}# {match[3]}"] * bool(match[3]) + [indent + BEGIN]
        after[node.end_lineno - 1] = [indent + END]
    return [made for row, line in enumerate(lines) for made in (*before.get(row, ()), line, *after.get(row, ()))]
