"""From a lesson's source to the student's text: answers go, stubs that parse come in their place.

Markers are COMMENT tokens in code and lines of their own in prose; everything else that looks like one stops the build.
A cell is edited by whole lines: `_Code` and `_prose` give each cell's new lines, `strip` puts them into the file.
"""

from __future__ import annotations

import ast
import difflib
import io
import re
import tokenize
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path

from utils import lessons
from utils.lessons import Cell, LessonError, bound_names

TODO = "# YOUR CODE HERE"
ANSWER = "*YOUR ANSWER HERE*"

_NAMES = ("COGINST", "COGNOTE", "COGLINE", "COGSTUB")
_REGION_MARKER = re.compile(r"# <(/?)(COGINST|COGNOTE)>")
_LINE_MARKER = re.compile(r"# <(COGLINE|COGSTUB)>(?:[ \t]+(\S.*))?")
_LOOKS_ALIKE = re.compile(r"<\s*/?\s*cog|\bCOG[A-Z]+\s*>", re.IGNORECASE)
_BRACKETED = re.compile(r"<\s*/?\s*([A-Za-z]{5,9})\s*/?\s*>")
_COMPOUND = tuple(
    getattr(ast, name)
    for name in "FunctionDef AsyncFunctionDef ClassDef If For AsyncFor While With AsyncWith Try TryStar Match".split()
    if hasattr(ast, name)
)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class MarkerError(ValueError):
    """A lesson's markers cannot be obeyed. One line for each fault: `file:line: what is wrong and what to do`."""


class _Fault(Exception):
    """A fault at a line of a cell (0-based); `strip` gathers them."""

    def __init__(self, row: int, what: str) -> None:
        super().__init__(what)
        self.row, self.what = row, what


@dataclass
class StudentCell:
    """A cell of the student's copy, and the names that mean nothing yet once it has run."""

    kind: str
    source: str
    unset: set[str] = field(default_factory=set)


@dataclass
class Stripped:
    """The student's text and cells, and what was taken out: `(line in the source, its text)`, code apart from prose."""

    text: str
    cells: list[StudentCell]
    code_answers: list[tuple[int, str]]
    prose_answers: list[tuple[int, str]]


def strip_lesson(text: str, path: str | Path) -> str:
    """The student's markdown for a lesson's markdown, or for a part of it without front matter; `path` is named in messages.

    Line ends become `\\n` and a byte order mark goes. Raises `MarkerError` with all faults of the file, one a line.
    """
    return strip(text, path, whole=False).text


def strip(text: str, path: str | Path, whole: bool = True) -> Stripped:
    """`strip_lesson`, with the account of what was taken out that the build needs. Raises `MarkerError`."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    try:
        lesson = lessons.parse(text, path, whole)
    except LessonError as error:
        raise MarkerError(str(error)) from None
    if not lesson.cells:
        raise MarkerError(f"{path}:1: the lesson has no cells; write its first one below the front matter.")
    lines = text.splitlines()
    result = Stripped("", [], [], [])
    faults: list[tuple[int, str]] = []
    edits: list[tuple[Cell, list[str]]] = []
    for cell in lesson.cells:
        try:
            _require_closed(cell, lines)
            student, new, removed = strip_cell(cell)
        except CellFaults as error:
            faults += [(cell.line + fault.row, fault.what) for fault in error.faults]
            continue
        if new is not None:
            edits.append((cell, new))
        if student:
            result.cells.append(student)
        answers = result.code_answers if cell.kind == "code" else result.prose_answers
        answers += [(cell.line + row, line) for row, line in removed]
    if faults:
        raise MarkerError("\n".join(f"{path}:{line}: {what}" for line, what in sorted(faults)))
    if not result.cells:
        raise MarkerError(f"{path}:1: nothing is left of the lesson for students; leave something outside the notes.")
    for cell, new in reversed(edits):
        _put(lines, cell, new)
    result.text = "\n".join(lines) + "\n" * text.endswith("\n")
    return result


class CellFaults(Exception):
    """What is wrong with the markers of one cell."""

    def __init__(self, faults: list[_Fault]) -> None:
        self.faults = faults


def _require_closed(cell: Cell, lines: list[str]) -> None:
    opening, end = cell.line - 2, cell.line - 1 + _height(cell)
    fenced = cell.kind == "code" or _is_region(cell, lines)
    if fenced and end >= len(lines):
        what = "this fence is" if cell.kind == "code" else "this region is"
        raise CellFaults([_Fault(opening - cell.line + 1, f"{what} never closed; close it where its cell ends.")])
    if cell.kind == "code" and lines[end].strip().strip("`"):
        raise CellFaults([_Fault(opening - cell.line + 1, f"this fence is not closed before the next one opens, in line {end + 1}; close it where its cell ends.")])


def _is_region(cell: Cell, lines: list[str]) -> bool:
    return cell.kind != "code" and cell.line > 1 and lines[cell.line - 2].startswith("<!-- #") and "#end" not in lines[cell.line - 2]


def _height(cell: Cell) -> int:
    """How many lines of the file the cell's source takes; a fence with nothing in it takes none."""
    return cell.source.count("\n") + 1 if cell.source else 0


def _put(lines: list[str], cell: Cell, new: list[str]) -> None:
    """Replace the cell's lines in the file; a cell that nothing is left of goes, with the blank lines after it."""
    start, end = cell.line - 1, cell.line - 1 + _height(cell)
    if any(line.strip() for line in new):
        lines[start:end] = new
        return
    if cell.kind == "code" or _is_region(cell, lines):
        start, end = start - 1, end + 1
    while end < len(lines) and not lines[end].strip():
        end += 1
    del lines[start:end]
    prose = start < len(lines) and not lines[start].startswith(("```", "<!-- #"))
    while start > 1 and not lines[start - 1].strip() and not lines[start - 2].strip() and not prose:
        start -= 1
        del lines[start]


def strip_cell(cell: Cell) -> tuple[StudentCell | None, list[str] | None, list[tuple[int, str]]]:
    """The student's cell (None when nothing is left of it), its new lines (None when unchanged), and what was removed."""
    unset: set[str] = set()
    if cell.kind == "code" and (python := lessons.without_magics(cell.source)) is not None:
        code = _Code(cell.source, python)
        new, removed, unset = code.lines, code.removed, code.unset
    elif cell.kind == "markdown":
        new, removed = _prose(cell.source)
    else:
        _refuse_markers(cell)
        return StudentCell(cell.kind, cell.source), None, []
    source = "\n".join(new)
    if source == cell.source:
        return StudentCell(cell.kind, source, unset), None, []
    return (StudentCell(cell.kind, source, unset) if source.strip() else None), new, removed


def _refuse_markers(cell: Cell) -> None:
    faults = [
        _Fault(row, "markers work in Python cells and in prose; this cell is neither.")
        for row, line in enumerate(cell.source.split("\n"))
        if _looks_like_marker(line)
    ]
    if faults:
        raise CellFaults(faults)


def _looks_like_marker(text: str) -> bool:
    """Whether it holds one of the markers, or what someone may have meant as one."""
    text = unicodedata.normalize("NFKC", text)
    if _LOOKS_ALIKE.search(text):
        return True
    return any(difflib.get_close_matches(word.upper(), _NAMES, 1, 0.8) for word in _BRACKETED.findall(text))


# --- prose ----------------------------------------------------------------------------------------------


def _prose(source: str) -> tuple[list[str], list[tuple[int, str]]]:
    """The student's lines of a markdown cell, and the lines that went."""
    lines = source.split("\n")
    faults: list[_Fault] = []
    marks: list[tuple[int, str, str]] = []
    for row, line in lessons.prose_lines(source):
        match = re.fullmatch(r" {0,3}<(/?)(COGINST|COGNOTE)>\s*", line)
        if match:
            marks.append((row, match.group(1), match.group(2)))
        elif _looks_like_marker(re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", line)):
            faults.append(_Fault(row, _prose_fault(line)))
    regions = _pair(marks, faults)
    for name, start, end in regions:
        if name == "COGINST" and not any(line.strip() for line in lines[start + 1 : end]):
            faults.append(_Fault(start, "the region is empty; write the answer between its markers, or take them away."))
    if faults:
        raise CellFaults(faults)
    removed = []
    for name, start, end in reversed(regions):
        removed += [(row, lines[row]) for row in range(start + 1, end)]
        lines[start : end + 1] = [ANSWER] if name == "COGINST" else []
        blank_above = start == 0 or not lines[start - 1].strip()
        if name == "COGNOTE" and blank_above:  # two blank lines in a row would split the cell
            while start < len(lines) and not lines[start].strip():
                del lines[start]
        while name == "COGNOTE" and start == len(lines) and lines and not lines[-1].strip():
            start -= 1
            lines.pop()
    return lines, removed


def _prose_fault(line: str) -> str:
    if re.search(r"<(COGLINE|COGSTUB)>", line):
        return "COGLINE and COGSTUB mark statements; in prose put the answer between lines <COGINST> and </COGINST>."
    return (
        f"{line.strip()!r} looks like a marker and is none; in prose a marker is <COGINST>, </COGINST>, <COGNOTE> or </COGNOTE> "
        "alone on its line, at the margin (to mention one, put it in `backticks`)."
    )


def _pair(marks: list[tuple[int, str, str]], faults: list[_Fault]) -> list[tuple[str, int, int]]:
    """The regions `(name, first row, last row)` that the marks `(row, "/" or "", name)` of one cell make."""
    regions: list[tuple[str, int, int]] = []
    opened: tuple[int, str] | None = None
    for row, slash, name in marks:
        if not slash and opened is None:
            opened = (row, name)
        elif not slash:
            faults.append(_Fault(row, f"<{name}> opens inside a <{opened[1]}> region; regions do not nest: close that one first."))
        elif opened is None:
            faults.append(_Fault(row, f"</{name}> closes nothing; put <{name}> before it, in the same cell."))
        elif opened[1] != name:
            faults.append(_Fault(row, f"</{name}> crosses a <{opened[1]}> region; close the one that is open."))
        else:
            regions.append((name, opened[0], row))
            opened = None
    if opened:
        row, name = opened
        faults.append(_Fault(row, f"<{name}> is not closed in its cell; put </{name}> before the cell ends."))
    return regions


# --- code -----------------------------------------------------------------------------------------------


@dataclass
class _Edit:
    """Lines `start:end` of a cell (0-based) to be replaced by `new`."""

    start: int
    end: int
    new: list[str]
    gone: list[ast.stmt]


class _Code:
    """One Python cell: its markers found, obeyed, and the result parsed. Raises `CellFaults`.

    `python` is `source` with the magics taken out, line for line.
    """

    def __init__(self, source: str, python: str) -> None:
        self.lines = source.split("\n")
        self.faults: list[_Fault] = []
        self.removed: list[tuple[int, str]] = []
        self.unset: set[str] = set()
        self._refuse_in_magics(python)
        try:
            self.tree = ast.parse(python)
            self.tokens = list(tokenize.generate_tokens(io.StringIO(python + "\n").readline))
        except (SyntaxError, ValueError, tokenize.TokenError) as error:
            row = (getattr(error, "lineno", None) or 1) - 1
            raise CellFaults([*self.faults, _Fault(row, f"the cell does not parse: {getattr(error, 'msg', error)}.")]) from None
        self.blocks = list(_blocks(self.tree))
        self.scopes = _scopes(self.tree)
        marks, statements = self._markers()
        regions = _pair(marks, self.faults)
        edits = [edit for region in regions if (edit := self._try(self._region, *region))]
        for row, name, hint in statements:
            around = next((region for region in regions if region[1] < row < region[2]), None)
            if around:
                self.faults.append(_Fault(row, f"<{name}> stands inside a <{around[0]}> region; the region already takes it: remove this marker."))
            elif edit := self._try(self._statement, row, name, hint):
                if any(edit.start == other.start for other in edits):
                    self.faults.append(_Fault(row, "the statement has two markers; keep one."))
                edits.append(edit)
        if self.faults:
            raise CellFaults(self.faults)
        if edits:
            self._fill_empty_blocks(edits)
            self._apply(edits)
            self._must_parse()

    def _try(self, method, *arguments):
        try:
            return method(*arguments)
        except _Fault as fault:
            self.faults.append(fault)
            return None

    def _refuse_in_magics(self, python: str) -> None:
        for row, (line, kept) in enumerate(zip(self.lines, python.split("\n"))):
            if line != kept and _looks_like_marker(line):
                self.faults.append(_Fault(row, "a line with a magic takes no marker; put it in a region of a Python cell."))

    def _markers(self) -> tuple[list[tuple[int, str, str]], list[tuple[int, str, str]]]:
        """The region markers `(row, slash, name)` and the statement markers `(row, name, hint)`; faults are noted."""
        marks, statements, depth = [], [], 0
        for token in self.tokens:
            if token.type == tokenize.OP:
                depth += (token.string in "([{") - (token.string in ")]}")
            if token.type != tokenize.COMMENT:
                continue
            row, text = token.start[0] - 1, token.string.rstrip()
            alone = not self.lines[row][: token.start[1]].strip()
            if match := _REGION_MARKER.fullmatch(text):
                if not alone:
                    self.faults.append(_Fault(row, f"{text[2:]} must stand alone on its line; move the code to a line of its own."))
                elif depth:
                    self.faults.append(_Fault(row, f"{text[2:]} cuts a statement in two; put it before or after the whole statement."))
                else:
                    marks.append((row, *match.groups()))
                continue
            match = _LINE_MARKER.fullmatch(text)
            if match and not (match.group(1) == "COGLINE" and match.group(2)) and not _looks_like_marker(match.group(2) or ""):
                statements.append((row, match.group(1), match.group(2) or ""))
            elif _looks_like_marker(text) or re.search(r"\bCOG(INST|NOTE|LINE|STUB)\b", text):
                self.faults.append(
                    _Fault(
                        row,
                        f"{text!r} looks like a marker and is none; they are `# <COGINST>`, `# </COGINST>`, `# <COGNOTE>`, `# </COGNOTE>` "
                        "alone on a line, and `# <COGLINE>`, `# <COGSTUB> hint` after a statement.",
                    )
                )
        return marks, statements

    # regions

    def _region(self, name: str, start: int, end: int) -> _Edit | None:
        """What becomes of the lines between two region markers."""
        inside = []
        for block, _ in self.blocks:
            for node in block:
                first, last = _rows(node)
                if start < first < end < last:
                    raise _Fault(start, f"the region cuts the statement that starts {first - start} lines below in two; take in all of it, or none.")
                if any(first < row < node.lineno - 1 for row in (start, end)):
                    raise _Fault(start, f"the region cuts the decorator of `{node.name}` from it; take in both, or neither.")
                if start < first and last < end:
                    inside.append(node)
        top = [node for node in inside if not any(node is not other and _within(node, other) for other in inside)]
        if top and (not any(set(top) <= set(block) for block, _ in self.blocks) or self.lines[_rows(top[0])[0]].lstrip().startswith("elif")):
            raise _Fault(start, "the region takes a part of a block and what follows it; take in the whole block, or a part of it only.")
        covered = {row for node in top for row in range(_rows(node)[0], _rows(node)[1] + 1)}
        for token in self.tokens:
            row = token.start[0] - 1
            if start < row < end and row not in covered and token.type in (tokenize.NAME, tokenize.OP):
                raise _Fault(row, f"the region cuts `{self.lines[row].strip()}` from what it belongs to; take in both, or neither.")
        if not top:
            if name == "COGINST":
                raise _Fault(start, "the region is empty; write the answer between its markers, or take them away.")
            return _Edit(start, end + 1, [], [])
        new = self._stub(top[0], top) if name == "COGINST" else []
        return _Edit(start, end + 1, new, top)

    def _stub(self, at: ast.stmt, gone: list[ast.stmt]) -> list[str]:
        """What stands where `gone` stood: a raise in a function, `name = ...` elsewhere; indented as the statement `at`."""
        indent = re.match(r"\s*", self.lines[_rows(at)[0]]).group()
        scope = self.scopes[at]
        if scope and isinstance(scope[-1], _FUNCTIONS):
            name = ".".join(node.name for node in scope)
            return [f"{indent}{TODO}", f'{indent}raise NotImplementedError("{name}")']
        names = [name for name in dict.fromkeys(n for node in gone for n in bound_names(node)) if name != "_"]
        if names:
            return [f"{indent}{name} = ...  {TODO}" for name in names]
        return [f"{indent}...  {TODO}" if indent else TODO]

    # statements

    def _statement(self, row: int, name: str, hint: str) -> _Edit:
        """What becomes of the statement that a COGLINE or COGSTUB in this row marks."""
        nodes = [node for block, _ in self.blocks for node in block if _rows(node)[0] <= row <= _rows(node)[1]]
        if not nodes:
            raise _Fault(row, f"<{name}> marks no statement; put it at the end of one.")
        node = max(nodes, key=lambda node: (_rows(node)[0], -_rows(node)[1], node.col_offset))
        first, last = _rows(node)
        if isinstance(node, _COMPOUND):
            if not self.lines[row].split("#")[0].strip() and row >= _rows(node.body[0] if hasattr(node, "body") else node)[0]:
                raise _Fault(row, f"<{name}> marks no statement; put it at the end of one.")
            raise _Fault(row, f"<{name}> marks a statement that opens a block; put the block between `# <COGINST>` and `# </COGINST>`.")
        alone = [other for other in nodes if not isinstance(other, _COMPOUND)]
        before = self.lines[first].encode()[: node.col_offset].decode().strip()
        if before or len(alone) > 1 or self._more_after(node):
            raise _Fault(row, f"<{name}> takes a whole line, and this one holds more than one statement; give each its own.")
        if name == "COGLINE":
            return _Edit(first, last + 1, [], [node])
        return self._keep_left(node, row, hint)

    def _more_after(self, node: ast.stmt) -> bool:
        """Whether a `;` follows the statement on its last line."""
        rest = self.lines[node.end_lineno - 1].encode()[node.end_col_offset :].decode().strip()
        return rest.startswith(";")

    def _keep_left(self, node: ast.stmt, row: int, hint: str) -> _Edit:
        """`target = ...  # hint` for the assignment `node`."""
        if not isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) or node.value is None:
            raise _Fault(row, "<COGSTUB> keeps what is left of an assignment's `=`, and this statement has none; use `# <COGLINE>`.")
        first, last = _rows(node)
        value = (node.value.lineno, len(self.lines[node.value.lineno - 1].encode()[: node.value.col_offset].decode()))
        # The assignment's own `=` is the last one before its value.
        equals = [token.end for token in self.tokens if token.type == tokenize.OP and token.string.endswith("=") and token.start < value][-1]
        left = self.lines[first : equals[0] - 1] + [self.lines[equals[0] - 1][: equals[1]]]
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        shape = next((target for target in targets if isinstance(target, (ast.Tuple, ast.List))), None)
        left[-1] += f" {_ellipses(shape) if shape else '...'}  {f'# {hint}' if hint else TODO}"
        return _Edit(first, last + 1, left, [node])

    # putting it together

    def _fill_empty_blocks(self, edits: list[_Edit]) -> None:
        """Where nothing (or a docstring alone) would be left of a block, put a stub in the last edit that emptied it."""
        gone = {node: edit for edit in sorted(edits, key=lambda edit: edit.start) if not edit.new for node in edit.gone}
        for block, owner in self.blocks:
            emptied = [node for node in block if node in gone]
            left = [node for node in block if node not in gone]
            docstring = isinstance(owner, _FUNCTIONS) and len(left) == 1 and _is_docstring(left[0])
            if not emptied or left and not docstring:
                continue
            answers = [node for node in emptied if not self._is_note(gone[node])]
            if owner is not self.tree:
                gone[emptied[-1]].new = self._stub(emptied[-1], answers)
            elif answers:
                gone[emptied[-1]].new = [TODO]

    def _is_note(self, edit: _Edit) -> bool:
        return self.lines[edit.start].strip() == "# <COGNOTE>"

    def _apply(self, edits: list[_Edit]) -> None:
        for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
            self.removed += [(row, self.lines[row]) for row in range(edit.start, edit.end) if not _REGION_MARKER.fullmatch(self.lines[row].strip())]
            self.lines[edit.start : edit.end] = edit.new
            for node in edit.gone:
                scope = self.scopes[node]
                self.unset.update([scope[0].name] if scope else bound_names(node))

    def _must_parse(self) -> None:
        source = lessons.without_magics("\n".join(self.lines))
        try:
            compile(source, "<cell>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            raise CellFaults([_Fault(0, f"without its answers the cell does not parse: {getattr(error, 'msg', error)}; take more into the region.")]) from None


def _rows(node: ast.stmt) -> tuple[int, int]:
    """The first and last row of a statement (0-based), decorators included."""
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))]) - 1, node.end_lineno - 1


def _within(node: ast.stmt, other: ast.stmt) -> bool:
    return any(child is node for child in ast.walk(other))


def _blocks(node: ast.AST):
    """Every list of statements below `node`, with the node that owns it."""
    for child in ast.walk(node):
        for value in (getattr(child, name, None) for name in ("body", "orelse", "finalbody")):
            if isinstance(value, list) and value:
                yield value, child


def _scopes(tree: ast.Module) -> dict[ast.stmt, list[ast.stmt]]:
    """For each statement the classes and functions around it, outermost first."""
    scopes: dict[ast.stmt, list[ast.stmt]] = {}

    def visit(node: ast.AST, around: list[ast.stmt]) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                scopes[child] = around
            visit(child, [*around, child] if isinstance(child, (*_FUNCTIONS, ast.ClassDef)) else around)

    visit(tree, [])
    return scopes


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _ellipses(target: ast.expr) -> str:
    """As many `...` as a tuple of targets unpacks, nested as it is."""
    parts = [f"({_ellipses(part)})" if isinstance(part, (ast.Tuple, ast.List)) else "..." for part in target.elts]
    return ", ".join(parts) + "," * (len(parts) == 1)
