"""Create the student copy of a lesson: replace the answers with stubs, so that the code still parses.

The markers come from `utils.lessons.markers`. `strip_cell` renders the student's version of one cell, and
`strip_answers` inserts these versions into the lesson. Text outside the markers does not change.
"""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from utils import lessons
from utils.lessons import Cell, LessonError, bound_names, markers, stubs, syntax
from utils.lessons.markers import MarkedCell, MarkerError, MarkerFault, Region


@dataclass
class StudentCell:
    """A cell of the student's copy, its removed lines, and the names that have no value before the student answers."""

    kind: str
    source: str
    unset_names: set[str] = field(default_factory=set)
    removed_lines: list[tuple[int, str]] = field(default_factory=list)  # row in the cell (0-based), text
    partial_rows: set[int] = field(default_factory=set)  # rows that were removed only in part


@dataclass
class StrippedLesson:
    """The student's version of a lesson: its text, its cells, and the removed lines as `(source line number, text)`."""

    text: str
    cells: list[StudentCell]
    code_answers: list[tuple[int, str]]
    prose_answers: list[tuple[int, str]]
    partial_lines: set[int] = field(default_factory=set)  # source lines that were removed only in part


def strip_lesson(text: str, path: str | Path) -> str:
    r"""Return the student's version of a lesson's Markdown.

    The text may also be a part of a lesson, without front matter. Line endings become `\n`, and a byte order mark is
    removed.

    Args:
        path: the name of the lesson in error messages.

    Raises:
        MarkerError: the file has faults; the message has one line for each fault.
    """
    return strip_answers(text, path, whole=False).text


def strip_notes(text: str, path: str | Path) -> str:
    """Return the lesson's Markdown without its notes for instructors. Answers and their markers stay.

    Raises:
        MarkerError: same as in `strip_lesson`.
    """
    return strip_answers(text, path, kinds={markers.NOTE}).text


def strip_answers(
    text: str, path: str | Path, whole: bool = True, kinds: Collection[str] = markers.KINDS
) -> StrippedLesson:
    """Return the student's version of a lesson: its text, its cells, and the removed lines.

    Args:
        whole: whether the text is a complete lesson, with front matter.
        kinds: the kinds of marker to apply; all others stay in the text.

    Raises:
        MarkerError: the file has faults; the message has one line for each fault.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    try:
        lesson = lessons.parse_lesson(text, path, whole)
    except LessonError as error:
        raise MarkerError(str(error)) from None
    if not any(cell.source.strip() for cell in lesson.cells):
        raise MarkerError(f"{path}:1: the lesson has no cells. Write the first cell below the front matter.")
    lines = text.splitlines()
    result = StrippedLesson("", [], [], [])
    faults: list[tuple[int, str]] = []
    edits: list[tuple[Cell, str]] = []
    for cell in lesson.cells:
        marked = markers.parse_markers(cell)
        try:
            _require_closed(cell, lines)
            student = strip_cell(marked, kinds)
        except CellFaults as error:
            faults += [(cell.line + fault.row, fault.message) for fault in error.faults]
            continue
        if student.source != cell.source:
            edits.append((cell, student.source))
        if student.source.strip() or student.source == cell.source:
            result.cells.append(student)
        answers = result.code_answers if cell.kind == "code" else result.prose_answers
        answers += [(cell.line + row, line) for row, line in student.removed_lines]
        result.partial_lines |= {cell.line + row for row in student.partial_rows}
    if faults:
        raise MarkerError("\n".join(f"{path}:{line}: {message}" for line, message in sorted(faults)))
    if not any(cell.source.strip() for cell in result.cells):
        raise MarkerError(
            f"{path}:1: without its notes the lesson is empty. Students need some content outside the notes."
        )
    for cell, new in reversed(edits):
        _replace_cell(lines, cell, new)
    result.text = "\n".join(lines) + "\n" * text.endswith("\n")
    return result


class CellFaults(Exception):
    """The faults in the markers of one cell."""

    def __init__(self, *faults: MarkerFault) -> None:
        self.faults = faults


def strip_cell(marked: MarkedCell, kinds: Collection[str] = markers.KINDS) -> StudentCell:
    """Return the student's version of a cell. Its source is "" if nothing is left of the cell.

    Raises:
        CellFaults: the cell's markers are wrong, or the cell does not parse without its answers.
    """
    if marked.faults:
        raise CellFaults(*marked.faults)
    cell, lines = marked.cell, marked.lines
    regions = [region for region in marked.regions if region.kind in kinds]
    student = StudentCell(cell.kind, cell.source)
    if not regions:
        return student
    student.removed_lines = [(row, lines[row]) for region in regions for row in region.inner_rows]
    student.partial_rows = {
        region.comment_position[0] for region in regions if region.comment_position and region.kind == markers.STUB
    }
    if cell.kind != "code":
        student.source = "\n".join(_replace_prose(lines, regions))
        return student
    rendering = _CodeRendering(marked, regions)
    student.source, student.unset_names = rendering.source(), rendering.unset()
    try:
        python = lessons.strip_magics(student.source) or ""
        compile(python, "<cell>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        message = (
            f"without its answers the cell does not parse ({getattr(error, 'msg', error)}). Include more lines in the"
            " marked region."
        )
        raise CellFaults(MarkerFault(0, message)) from None
    return student


# --- one file -------------------------------------------------------------------------------------------


def _require_closed(cell: Cell, lines: list[str]) -> None:
    end = cell.line - 1 + _line_count(cell)
    if not _is_fenced(cell, lines):
        return
    if end >= len(lines):
        opening = "fence" if cell.kind == "code" else "region"
        raise CellFaults(MarkerFault(-1, f"this {opening} is never closed. Close it at the end of its cell."))
    if cell.kind == "code" and lines[end].strip().strip("`"):
        message = f"this fence is still open when line {end + 1} opens another fence. Close it at the end of its cell."
        raise CellFaults(MarkerFault(-1, message))


def _is_fenced(cell: Cell, lines: list[str]) -> bool:
    """Return whether the file marks the start and end of the cell with its own lines: a fence or region comments."""
    before = lines[cell.line - 2] if cell.line > 1 else ""
    return cell.kind == "code" or (before.startswith("<!-- #") and "#end" not in before)


def _line_count(cell: Cell) -> int:
    """Return how many lines the cell's source has in the file; an empty source has 0 lines."""
    return cell.source.count("\n") + 1 if cell.source else 0


def _replace_cell(lines: list[str], cell: Cell, new: str) -> None:
    """Replace the cell's lines in the file. An empty cell is deleted, with the blank lines after it."""
    start, end = cell.line - 1, cell.line - 1 + _line_count(cell)
    if new.strip():
        lines[start:end] = new.split("\n")
        return
    if _is_fenced(cell, lines):
        start, end = start - 1, end + 1
    while end < len(lines) and not lines[end].strip():
        end += 1
    del lines[start:end]
    prose = start < len(lines) and not lines[start].startswith(("```", "<!-- #"))
    while start > 1 and not lines[start - 1].strip() and not lines[start - 2].strip() and not prose:
        start -= 1
        del lines[start]


# --- one cell -------------------------------------------------------------------------------------------


def _replace_prose(lines: list[str], regions: list[Region]) -> list[str]:
    for region in reversed(regions):
        start = region.start
        lines[start : region.end] = [stubs.PROSE] if region.kind == markers.ANSWER else []
        if region.kind == markers.NOTE:
            if start == 0 or not lines[start - 1].strip():  # two consecutive blank lines would split the cell
                while start < len(lines) and not lines[start].strip():
                    del lines[start]
            while start == len(lines) and lines and not lines[-1].strip():
                start -= 1
                lines.pop()
    return lines


class _CodeRendering:
    """Replaces the marked regions of one Python cell."""

    def __init__(self, marked: MarkedCell, regions: list[Region]) -> None:
        assert marked.tree is not None, "a cell with regions has parsed"
        self.tree, self.lines = marked.tree, marked.lines
        self.scopes = syntax.enclosing_definitions(marked.tree)
        self.new = {region: self._replacement(region) for region in regions}
        self._fill_empty_blocks()

    def source(self) -> str:
        lines = list(self.lines)
        for region, new in reversed(self.new.items()):
            lines[region.start : region.end] = new
        return "\n".join(lines)

    def unset(self) -> set[str]:
        """Return the names that have no value when the answers are removed.

        For an answer inside a function or class, this is the name of the outermost function or class. For any other
        answer, these are the names that the answer binds.
        """
        removed = [node for region in self.new for node in region.statements]
        scopes = {node: self.scopes[node] for node in removed}
        return {name for node, scope in scopes.items() for name in ([scope[0].name] if scope else bound_names(node))}

    def _replacement(self, region: Region) -> list[str]:
        if region.kind == markers.ANSWER:
            return self._stub(region.statements[0], region.statements)
        if region.kind != markers.STUB:
            return []
        row, column = region.equals_position
        (node,) = region.statements
        value = stubs.value_stub(node.targets if isinstance(node, ast.Assign) else [], region.hint)
        return [*self.lines[region.start : row], f"{self.lines[row][:column]} {value}"]

    def _stub(self, at: ast.stmt, removed: Collection[ast.stmt]) -> list[str]:
        """Return the stub that replaces the statements in `removed`, indented like the statement `at`."""
        line = self.lines[syntax.statement_rows(at)[0]]
        indent = line[: len(line) - len(line.lstrip())]
        scope = self.scopes[at]
        if scope and isinstance(scope[-1], syntax.Function):
            new = stubs.body_stub(".".join(node.name for node in scope))
        else:
            names = dict.fromkeys(name for node in removed for name in bound_names(node) if name != "_")
            new = stubs.assignment_stubs(names) or (stubs.block_stub() if indent else [stubs.TODO])
        return [indent + line for line in new]

    def _fill_empty_blocks(self) -> None:
        """Insert a stub into each block that would otherwise be empty or contain only a docstring."""
        removed = {node: region for region, new in self.new.items() if not new for node in region.statements}
        for block, owner in syntax.iter_statement_lists(self.tree):
            emptied = [node for node in block if node in removed]
            remaining = [node for node in block if node not in removed]
            docstring = isinstance(owner, syntax.Function) and len(remaining) == 1 and syntax.is_docstring(remaining[0])
            if not emptied or (remaining and not docstring):
                continue
            answers = [node for node in emptied if removed[node].kind != markers.NOTE]
            if owner is not self.tree:
                self.new[removed[emptied[-1]]] = self._stub(emptied[-1], answers)
            elif answers:
                self.new[removed[emptied[-1]]] = [stubs.TODO]
