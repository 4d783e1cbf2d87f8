"""The one parser of markers: what a lesson marks as answers and as notes, as data, and what is wrong with its markers.

In code only a comment is a marker, in prose only a line of its own outside fenced examples. Everything else that looks
like one is a fault. What becomes of the marked regions is for others to say: the student's page and the page without
notes (utils.instructor.strip), the solved page (utils.lessons.answers), and nbgrader's (utils.instructor.nbgrader).
"""

from __future__ import annotations

import ast
import difflib
import io
import re
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
_INLINE_CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")


class MarkerError(ValueError):
    """A lesson's markers cannot be obeyed. One line for each fault: `file:line: what is wrong and what to do`."""


class MarkerFault(Exception):
    """What is wrong at one row (0-based) of a cell, and what to do."""

    def __init__(self, row: int, what: str) -> None:
        super().__init__(what)
        self.row, self.message = row, what


@dataclass(frozen=True)
class Region:
    """What a pair of markers, or a single one, takes: the rows of its cell from `start` to before `end` (0-based).

    A pair (ANSWER, NOTE) stands on the first and the last of them; a single marker (LINE, STUB) is a comment in one.
    """

    kind: str
    start: int
    end: int
    statements: tuple[ast.stmt, ...] = ()  # in code: those that it takes, not those inside them
    comment_position: tuple[int, int] | None = None  # row and column of a single marker
    equals_position: tuple[int, int] = (0, 0)  # of a STUB: row and column after its assignment's `=`
    hint: str = ""  # of a STUB

    @property
    def inner_rows(self) -> range:
        """The rows that it takes, without a pair's own."""
        return range(self.start, self.end) if self.comment_position else range(self.start + 1, self.end - 1)


@dataclass(frozen=True)
class MarkedCell:
    """A cell, its regions from top to bottom, and its faults. `tree` is its syntax tree, of Python that parses."""

    cell: Cell
    regions: tuple[Region, ...] = ()
    faults: tuple[MarkerFault, ...] = ()
    tree: ast.Module | None = None

    @property
    def lines(self) -> list[str]:
        return self.cell.source.split("\n")


def parse_markers(cell: Cell) -> MarkedCell:
    """The cell with its marked regions and its faults; where there are faults, the regions are not to be obeyed."""
    if cell.kind == "markdown":
        return _parse_prose(cell)
    python = syntax.strip_magics(cell.source) if cell.kind == "code" else None
    if python is not None:
        return _CodeParser(cell, python).parse()
    what = "markers work in Python cells and in prose; this cell is neither."
    lines = cell.source.split("\n")
    return MarkedCell(
        cell, faults=tuple(MarkerFault(row, what) for row, line in enumerate(lines) if looks_like_marker(line))
    )


def looks_like_marker(text: str) -> bool:
    """Whether it holds one of the markers, or what someone may have meant as one."""
    text = unicodedata.normalize("NFKC", text)
    if _LOOKS_ALIKE.search(text):
        return True
    return any(difflib.get_close_matches(word.upper(), KINDS, 1, 0.8) for word in _BRACKETED.findall(text))


def wrap_in_answer_markers(lines: list[str], indents: tuple[str, str] = ("", "")) -> list[str]:
    """Lines of code as an answer: between a pair of markers, each indented as is said."""
    return [f"{indents[0]}# <{ANSWER}>", *lines, f"{indents[1]}# </{ANSWER}>"]


def _pair_markers(marks: list[tuple[int, str, str]], faults: list[MarkerFault]) -> list[Region]:
    """The regions that the marks `(row, "/" or "", kind)` of one cell make."""
    regions: list[Region] = []
    opened: tuple[int, str] | None = None
    for row, slash, kind in marks:
        if not slash and opened is None:
            opened = (row, kind)
        elif not slash and opened:
            faults.append(
                MarkerFault(
                    row, f"<{kind}> opens inside a <{opened[1]}> region; regions do not nest: close that one first."
                )
            )
        elif opened is None:
            faults.append(MarkerFault(row, f"</{kind}> closes nothing; put <{kind}> before it, in the same cell."))
        elif opened[1] != kind:
            faults.append(MarkerFault(row, f"</{kind}> crosses a <{opened[1]}> region; close the one that is open."))
        else:
            regions.append(Region(kind, opened[0], row + 1))
            opened = None
    if opened:
        row, kind = opened
        faults.append(MarkerFault(row, f"<{kind}> is not closed in its cell; put </{kind}> before the cell ends."))
    return regions


_EMPTY = "the region is empty; write the answer between its markers, or take them away."


# --- prose ----------------------------------------------------------------------------------------------


def _parse_prose(cell: Cell) -> MarkedCell:
    marks: list[tuple[int, str, str]] = []
    faults: list[MarkerFault] = []
    for row, line in prose_lines(cell.source):
        if match := re.fullmatch(rf" {{0,3}}{_PAIRED.pattern}\s*", line):
            marks.append((row, match[1], match[2]))
        elif looks_like_marker(_INLINE_CODE.sub("", line)):
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
        f"{line.strip()!r} looks like a marker and is none; in prose a marker is <{ANSWER}>, </{ANSWER}>, <{NOTE}> or"
        f" </{NOTE}> alone on its line, at the margin (to mention one, put it in `backticks`)."
    )


# --- code -----------------------------------------------------------------------------------------------


class _CodeParser:
    """Finds the markers of one Python cell; `python` is its source with the magics taken out, line for line."""

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
                what = f"<{single.kind}> stands inside a <{around.kind}> region; the region already takes it: remove"
                self.faults.append(MarkerFault(row, f"{what} this marker."))
            else:
                region = self._resolve_or_record(self._resolve_single, single)
                if region.statements and any(region.start == other.start for other in regions):
                    self.faults.append(MarkerFault(row, "the statement has two markers; keep one."))
            regions.append(region)
        regions.sort(key=lambda region: region.start)
        return MarkedCell(self.cell, tuple(regions), tuple(self.faults), self.tree)

    def _resolve_or_record(self, find: Callable[[Region], Region], region: Region) -> Region:
        """The region with its statements found; as it is where that is a fault."""
        try:
            return find(region)
        except MarkerFault as fault:
            self.faults.append(fault)
            return region

    def _reject_markers_in_magics(self) -> None:
        for row, (line, kept) in enumerate(zip(self.lines, self.python.split("\n"))):
            if line != kept and looks_like_marker(line):
                what = "a line with a magic takes no marker; put it in a region of a Python cell."
                self.faults.append(MarkerFault(row, what))

    def _markers(self) -> tuple[list[tuple[int, str, str]], list[Region]]:
        """The marks of pairs `(row, slash, kind)`, and the single markers; faults are noted."""
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
                    what = "must stand alone on its line; move the code to a line of its own."
                elif depth:
                    what = "cuts a statement in two; put it before or after the whole statement."
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
                    f"{text!r} looks like a marker and is none; they are `# <{ANSWER}>`, `# </{ANSWER}>`, `# <{NOTE}>`,"
                    f" `# </{NOTE}>` alone on a line, and `# <{LINE}>`, `# <{STUB}> hint` after a statement."
                )
                self.faults.append(MarkerFault(row, what))
        return marks, singles

    def _resolve_pair(self, region: Region) -> Region:
        """A pair's region with the statements that it takes. Raises `Fault`."""
        start, end = region.start, region.end - 1
        inside = [node for node in self.statements if self._is_inside(node, start, end)]
        nested = {child for node in inside for child in ast.walk(node) if child is not node}
        top = [node for node in inside if node not in nested]
        if top and (
            not any(set(top) <= set(block) for block, _ in syntax.iter_statement_lists(self.tree))
            or self.lines[syntax.statement_rows(top[0])[0]].lstrip().startswith("elif")
        ):
            what = "the region takes a part of a block and what follows it; take in the whole block, or a part of it"
            raise MarkerFault(start, f"{what} only.")
        covered = {row for node in top for row in syntax.statement_rows(node)}
        for token in self.tokens:
            row = token.start[0] - 1
            if start < row < end and row not in covered and token.type in (tokenize.NAME, tokenize.OP):
                what = f"the region cuts `{self.lines[row].strip()}` from what it belongs to; take in both, or neither."
                raise MarkerFault(row, what)
        if not top and region.kind == ANSWER:
            raise MarkerFault(start, _EMPTY)
        return replace(region, statements=tuple(top))

    def _is_inside(self, node: ast.stmt, start: int, end: int) -> bool:
        """Whether a statement stands between the rows of two markers. Raises `Fault` where they cut it."""
        first, last = syntax.statement_rows(node)[0], syntax.statement_rows(node)[-1]
        if start < first < end < last:
            what = f"the region cuts the statement that starts {first - start} lines below in two; take in all of it,"
            raise MarkerFault(start, f"{what} or none.")
        if isinstance(node, syntax.Definition) and any(first < row < node.lineno - 1 for row in (start, end)):
            what = f"the region cuts the decorator of `{node.name}` from it; take in both, or neither."
            raise MarkerFault(start, what)
        return start < first and last < end

    def _resolve_single(self, region: Region) -> Region:
        """A single marker's region: all rows of the statement that it marks. Raises `Fault`."""
        row, kind = region.start, region.kind
        nodes = [node for node in self.statements if row in syntax.statement_rows(node)]
        nothing = MarkerFault(row, f"<{kind}> marks no statement; put it at the end of one.")
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
            what = "takes a whole line, and this one holds more than one statement; give each its own."
            raise MarkerFault(row, f"<{kind}> {what}")
        equals = self._find_equals(node, row) if kind == STUB else (0, 0)
        return replace(region, start=first, end=last + 1, statements=(node,), equals_position=equals)

    def _find_equals(self, node: ast.stmt, row: int) -> tuple[int, int]:
        """Row and column after the `=` that is the assignment's own, the last one before its value. Raises `Fault`."""
        if not isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)) or node.value is None:
            what = f"keeps what is left of an assignment's `=`, and this statement has none; use `# <{LINE}>`."
            raise MarkerFault(row, f"<{STUB}> {what}")
        value_line = self.lines[node.value.lineno - 1].encode()
        value = node.value.lineno, len(value_line[: node.value.col_offset].decode())
        ends = [
            token.end
            for token in self.tokens
            if token.type == tokenize.OP and token.string.endswith("=") and token.start < value
        ]
        return ends[-1][0] - 1, ends[-1][1]
