"""Parse the markers in a lesson: find the regions with answers or notes, and the faults in the markers.

In code, a marker must be a comment. In prose, a marker is a separate line outside fenced examples. Anything else that
looks like a marker is a fault. Other modules use the regions: utils.instructor.strip (the student's copy, and the
lesson without notes), utils.lessons.answers (the solved lesson) and utils.instructor.nbgrader.
"""

from __future__ import annotations

import ast
import difflib
import io
import re
import symtable
import tokenize
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace

from utils.lessons import syntax
from utils.lessons.cells import Cell
from utils.lessons.markdown import prose_lines

KINDS = ANSWER, NOTE, LINE, STUB = "COGINST", "COGNOTE", "COGLINE", "COGSTUB"

_PAIRED = re.compile(rf"<(/?)({ANSWER}|{NOTE})>")
_SINGLE = re.compile(rf"# <({LINE}|{STUB})>(?:[ \t]+(\S.*))?")
_LOOKS_ALIKE = re.compile(r"<\s*/?\s*cog|\bCOG[A-Z]+\s*>", re.IGNORECASE)
_BRACKETED = re.compile(r"<\s*/?\s*([A-Za-z]{5,9})\s*/?\s*>")
_NAMED = re.compile(rf"\b({'|'.join(KINDS)})\b")
_OTHER_BRACKETS = re.compile(rf"[\[({{]\s*/?\s*({'|'.join(KINDS)})\b")
_INLINE_CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")


class MarkerError(ValueError):
    """A lesson has invalid markers. The message has one line for each fault: `file:line: fault and remedy`."""


class MarkerFault(Exception):
    """A fault in one row (0-based) of a cell, and its remedy."""

    def __init__(self, row: int, what: str) -> None:
        super().__init__(what)
        self.row, self.message = row, what


@dataclass(frozen=True)
class Region:
    """A marked region of a cell: the rows from `start` to `end` (0-based, `end` excluded).

    The markers of a pair (ANSWER, NOTE) are in the first and the last row. A single marker (LINE, STUB) is a comment on
    one of the rows.
    """

    kind: str
    start: int
    end: int
    statements: tuple[ast.stmt, ...] = ()  # in code: the outermost statements of the region
    comment_position: tuple[int, int] | None = None  # row and column of a single marker
    equals_position: tuple[int, int] = (0, 0)  # for a STUB: row and column after the `=` in its assignment
    hint: str = ""  # for a STUB

    @property
    def inner_rows(self) -> range:
        """The rows of the region, without its two marker lines."""
        return range(self.start, self.end) if self.comment_position else range(self.start + 1, self.end - 1)


@dataclass(frozen=True)
class MarkedCell:
    """A cell with its regions, from top to bottom, and its faults. `tree` is None if the cell is not valid Python."""

    cell: Cell
    regions: tuple[Region, ...] = ()
    faults: tuple[MarkerFault, ...] = ()
    tree: ast.Module | None = None

    @property
    def lines(self) -> list[str]:
        return self.cell.source.split("\n")


def parse_markers(cell: Cell) -> MarkedCell:
    """Parse the marked regions and the faults of a cell. If there are faults, the regions may be wrong."""
    if cell.kind == "markdown":
        return _parse_prose(cell)
    python = syntax.strip_magics(cell.source) if cell.kind == "code" else None
    if python is not None:
        return _CodeParser(cell, python).parse()
    what = "markers work only in Python cells and in prose; this cell is neither."
    lines = cell.source.split("\n")
    return MarkedCell(
        cell, faults=tuple(MarkerFault(row, what) for row, line in enumerate(lines) if looks_like_marker(line))
    )


def looks_like_marker(text: str) -> bool:
    """Return whether a text contains a marker, or something that may be intended as a marker."""
    text = unicodedata.normalize("NFKC", text)
    if _LOOKS_ALIKE.search(text):
        return True
    return any(difflib.get_close_matches(word.upper(), KINDS, 1, 0.8) for word in _BRACKETED.findall(text))


def wrap_in_answer_markers(lines: list[str], indents: tuple[str, str] = ("", "")) -> list[str]:
    """Put lines of code between two answer markers. `indents` contains the indentation of each marker."""
    return [f"{indents[0]}# <{ANSWER}>", *lines, f"{indents[1]}# </{ANSWER}>"]


def _pair_markers(marks: list[tuple[int, str, str]], faults: list[MarkerFault]) -> list[Region]:
    """Combine the opening and closing markers of one cell into regions.

    A marker is `(row, slash, kind)`; `slash` is "/" for a closing marker, otherwise "".
    """
    regions: list[Region] = []
    opened: tuple[int, str] | None = None
    for row, slash, kind in marks:
        if not slash and opened is None:
            opened = (row, kind)
        elif not slash and opened:
            faults.append(
                MarkerFault(
                    row,
                    f"<{kind}> opens inside a <{opened[1]}> region; regions cannot be nested: close the open region"
                    " first.",
                )
            )
        elif opened is None:
            faults.append(MarkerFault(row, f"</{kind}> closes no region; put <{kind}> before it, in the same cell."))
        elif opened[1] != kind:
            faults.append(MarkerFault(row, f"</{kind}> overlaps a <{opened[1]}> region; close the open region first."))
        else:
            regions.append(Region(kind, opened[0], row + 1))
            opened = None
    if opened:
        row, kind = opened
        faults.append(MarkerFault(row, f"<{kind}> is not closed in its cell; put </{kind}> before the cell ends."))
    return regions


_EMPTY = "the region is empty; write the answer between its markers, or remove them."


# --- prose ----------------------------------------------------------------------------------------------


def _parse_prose(cell: Cell) -> MarkedCell:
    marks: list[tuple[int, str, str]] = []
    faults: list[MarkerFault] = []
    for row, line in prose_lines(cell.source):
        if match := re.fullmatch(rf" {{0,3}}{_PAIRED.pattern}\s*", line):
            marks.append((row, match[1], match[2]))
        elif looks_like_marker(text := _INLINE_CODE.sub("", line)) or _OTHER_BRACKETS.search(text):
            faults.append(MarkerFault(row, _prose_fault(line)))
    regions = _pair_markers(marks, faults)
    lines = cell.source.split("\n")
    for region in regions:
        if region.kind == ANSWER and not any(lines[row].strip() for row in region.inner_rows):
            faults.append(MarkerFault(region.start, _EMPTY))
    return MarkedCell(cell, tuple(regions), tuple(faults))


def _prose_fault(line: str) -> str:
    if re.search(rf"<({LINE}|{STUB})>", line):
        return f"{LINE} and {STUB} mark statements; in prose put the answer between lines <{ANSWER}> and </{ANSWER}>."
    return (
        f"{line.strip()!r} looks like a marker but is not one; in prose, a marker is <{ANSWER}>, </{ANSWER}>, <{NOTE}>"
        " or"
        f" </{NOTE}> alone on its line, at the margin (to mention one, put it in `backticks`)."
    )


# --- code -----------------------------------------------------------------------------------------------


class _CodeParser:
    """Parse the markers of one Python cell. `python` is its source without magics; line numbers are unchanged."""

    def __init__(self, cell: Cell, python: str) -> None:
        self.cell, self.python = cell, python
        self.lines = cell.source.split("\n")
        self.faults: list[MarkerFault] = []
        self.tree: ast.Module
        self.tokens: list[tokenize.TokenInfo]

    def parse(self) -> MarkedCell:
        self._reject_markers_in_magics()
        try:
            self.tree = ast.parse(self.python)
            symtable.symtable(self.python, "<cell>", "exec")  # finds mistakes such as two arguments with the same name
            self.tokens = list(tokenize.generate_tokens(io.StringIO(self.python + "\n").readline))
        except (SyntaxError, ValueError, tokenize.TokenError) as error:
            row = (getattr(error, "lineno", None) or 1) - 1
            self.faults.append(MarkerFault(row, f"the cell does not parse: {getattr(error, 'msg', error)}."))
            return MarkedCell(self.cell, faults=tuple(self.faults))
        self.statements = [node for block, _ in syntax.iter_statement_lists(self.tree) for node in block]
        marks, singles = self._markers()
        pairs = _pair_markers(marks, self.faults)
        regions = [self._resolve_or_record(self._resolve_pair, region) for region in pairs]
        for single in singles:
            row = single.start
            around = next((region for region in pairs if region.start < row < region.end - 1), None)
            region = single
            if around:
                what = f"<{single.kind}> is inside a <{around.kind}> region, which already contains it: remove"
                self.faults.append(MarkerFault(row, f"{what} this marker."))
            else:
                region = self._resolve_or_record(self._resolve_single, single)
                if region.statements and any(region.start == other.start for other in regions):
                    self.faults.append(MarkerFault(row, "the statement has two markers; keep one."))
            regions.append(region)
        regions.sort(key=lambda region: region.start)
        return MarkedCell(self.cell, tuple(regions), tuple(self.faults), self.tree)

    def _resolve_or_record(self, find: Callable[[Region], Region], region: Region) -> Region:
        """Return the region with its statements. If there is a fault, record it and return the region unchanged."""
        try:
            return find(region)
        except MarkerFault as fault:
            self.faults.append(fault)
            return region

    def _reject_markers_in_magics(self) -> None:
        for row, (line, kept) in enumerate(zip(self.lines, self.python.split("\n"))):
            if line != kept and looks_like_marker(line):
                what = "a line with a magic cannot have a marker; put the line into a region of a Python cell."
                self.faults.append(MarkerFault(row, what))

    def _markers(self) -> tuple[list[tuple[int, str, str]], list[Region]]:
        """Return the paired markers as `(row, slash, kind)`, and the single markers. Record faults."""
        marks: list[tuple[int, str, str]] = []
        singles: list[Region] = []
        depth = 0
        for token in self.tokens:
            if token.type == tokenize.OP:
                depth += (token.string in "([{") - (token.string in ")]}")
            if token.type != tokenize.COMMENT:
                continue
            (row, column), text = (token.start[0] - 1, token.start[1]), token.string.rstrip()
            if match := re.fullmatch(f"# {_PAIRED.pattern}", text):
                if self.lines[row][:column].strip():
                    what = "must be alone on its line; move the code to another line."
                elif depth:
                    what = "splits a statement; put it before or after the whole statement."
                else:
                    marks.append((row, match[1], match[2]))
                    continue
                self.faults.append(MarkerFault(row, f"{text[2:]} {what}"))
                continue
            match = _SINGLE.fullmatch(text)
            if match and not (match[2] and (match[1] == LINE or looks_like_marker(match[2]))):
                singles.append(Region(match[1], row, row + 1, comment_position=(row, column), hint=match[2] or ""))
            elif looks_like_marker(text) or _NAMED.search(text):
                what = (
                    f"{text!r} looks like a marker but is not one; the markers are `# <{ANSWER}>`, `# </{ANSWER}>`, `#"
                    f" <{NOTE}>`,"
                    f" `# </{NOTE}>` alone on a line, and `# <{LINE}>`, `# <{STUB}> hint` after a statement."
                )
                self.faults.append(MarkerFault(row, what))
        return marks, singles

    def _resolve_pair(self, region: Region) -> Region:
        """Return the region of a pair of markers, with the statements inside.

        Raises:
            MarkerFault: the region splits a block or a statement, or an answer is empty.
        """
        start, end = region.start, region.end - 1
        inside = [node for node in self.statements if self._is_inside(node, start, end)]
        nested = {child for node in inside for child in ast.walk(node) if child is not node}
        top = [node for node in inside if node not in nested]
        if top and (
            not any(set(top) <= set(block) for block, _ in syntax.iter_statement_lists(self.tree))
            or self.lines[syntax.statement_rows(top[0])[0]].lstrip().startswith("elif")
        ):
            what = "the region contains a part of a block and the code after it"
            raise MarkerFault(start, f"{what}; include the whole block, or only a part of it.")
        covered = {row for node in top for row in syntax.statement_rows(node)}
        for token in self.tokens:
            row = token.start[0] - 1
            if start < row < end and row not in covered and token.type in (tokenize.NAME, tokenize.OP):
                what = f"the region separates `{self.lines[row].strip()}` from its statement; include both, or neither."
                raise MarkerFault(row, what)
        if not top and region.kind == ANSWER:
            raise MarkerFault(start, _EMPTY)
        return replace(region, statements=tuple(top))

    def _is_inside(self, node: ast.stmt, start: int, end: int) -> bool:
        """Return whether a statement is between two markers.

        Raises:
            MarkerFault: a marker splits the statement.
        """
        first, last = syntax.statement_rows(node)[0], syntax.statement_rows(node)[-1]
        if start < first < end < last:
            what = f"the region splits the statement that starts {first - start} lines below; include all of it,"
            raise MarkerFault(start, f"{what} or none.")
        if isinstance(node, syntax.Definition) and any(first < row < node.lineno - 1 for row in (start, end)):
            what = f"the region separates the decorator of `{node.name}` from its definition; include both, or neither."
            raise MarkerFault(start, what)
        return start < first and last < end

    def _resolve_single(self, region: Region) -> Region:
        """Return the region of a single marker: all rows of its statement.

        Raises:
            MarkerFault: the marker does not follow a simple statement that is alone on its line.
        """
        row, kind = region.start, region.kind
        nodes = [node for node in self.statements if row in syntax.statement_rows(node)]
        nothing = MarkerFault(row, f"<{kind}> marks no statement; put it at the end of a statement.")
        if not nodes:
            raise nothing
        node = max(
            nodes, key=lambda node: (syntax.statement_rows(node)[0], -syntax.statement_rows(node)[-1], node.col_offset)
        )
        first, last = syntax.statement_rows(node)[0], syntax.statement_rows(node)[-1]
        if syntax.is_compound_statement(node):
            body = getattr(node, "body", [node])[0]
            if not self.lines[row].split("#")[0].strip() and row >= syntax.statement_rows(body)[0]:
                raise nothing
            what = f"put the block between `# <{ANSWER}>` and `# </{ANSWER}>`."
            raise MarkerFault(row, f"<{kind}> marks a statement that opens a block; {what}")
        simple = [other for other in nodes if not syntax.is_compound_statement(other)]
        before = self.lines[first].encode()[: node.col_offset].decode().strip()
        after = self.lines[last].encode()[node.end_col_offset :].decode().strip()
        if before or len(simple) > 1 or after.startswith(";"):
            what = "applies to a whole line, but this line has more than one statement; put each on its own line."
            raise MarkerFault(row, f"<{kind}> {what}")
        equals = self._find_equals(node, row) if kind == STUB else (0, 0)
        return replace(region, start=first, end=last + 1, statements=(node,), equals_position=equals)

    def _find_equals(self, node: ast.stmt, row: int) -> tuple[int, int]:
        """Return the position after the `=` that directly precedes an assignment's value.

        Raises:
            MarkerFault: the statement is not an assignment with a value.
        """
        if not isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) or node.value is None:
            what = f"keeps the left side of an assignment, but this statement has no `=`; use `# <{LINE}>`."
            raise MarkerFault(row, f"<{STUB}> {what}")
        value_line = self.lines[node.value.lineno - 1].encode()
        value = node.value.lineno, len(value_line[: node.value.col_offset].decode())
        ends = [
            token.end
            for token in self.tokens
            if token.type == tokenize.OP and token.string.endswith("=") and token.start < value
        ]
        return ends[-1][0] - 1, ends[-1][1]
