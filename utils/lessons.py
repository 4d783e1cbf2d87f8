"""A lesson as data (its cells, from .md or .ipynb) and as a module (its definitions, and no demo cell).

Markdown is read here as jupytext reads it, because importing jupytext costs more than a second and `check` and `yours`
are on a learner's path. What this reader does not know it refuses; what it accepts is cut into exactly jupytext's cells.
"""

from __future__ import annotations

import __future__
import ast
import io
import json
import linecache
import re
import sys
import tokenize
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Iterator

ROOT = Path(__file__).resolve().parent.parent

FILE_NAME = re.compile(r"(\d\d)_(\w+)\.(md|ipynb)")


class LessonError(ValueError):
    """A lesson cannot be found or read; the message says which, why, and what to do."""


@dataclass(frozen=True)
class Cell:
    """One cell. `kind` is "code", "markdown" or "raw"; `line` is where its source starts in the file (1 in a notebook)."""

    kind: str
    source: str
    line: int
    metadata: dict
    index: int


@dataclass(frozen=True)
class Lesson:
    """A lesson's cells in order, with the notebook metadata of its header."""

    stem: str
    path: Path
    cells: list[Cell]
    metadata: dict = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The stem without its number: "02_simplified_attention" is "simplified_attention"."""
        return self.stem.split("_", 1)[-1]

    @property
    def title(self) -> str:
        """The text of its first `# heading`, or the name where it has none."""
        for cell in self.cells:
            if cell.kind == "markdown":
                for _, line in prose_lines(cell.source):
                    if line.startswith("# "):
                        return line[2:].strip()
        return self.name


# --- finding ------------------------------------------------------------------------------------------


def all_lessons(folder: str | Path | None = None) -> list[Path]:
    """The lessons in `folder` (`solutions/` by default), in order; of a pair .md and .ipynb, the one changed last."""
    folder = ROOT / "solutions" if folder is None else Path(folder)
    latest: dict[str, Path] = {}
    for path in sorted(folder.glob("[0-9][0-9]_*")):
        if FILE_NAME.fullmatch(path.name) and path.is_file():
            rival = latest.get(path.stem)
            if rival is None or path.stat().st_mtime_ns > rival.stat().st_mtime_ns:
                latest[path.stem] = path
    return [latest[stem] for stem in sorted(latest)]


def find(name: str, folder: str | Path | None = None) -> Path:
    """The file of the lesson "simplified_attention", "02_simplified_attention" or "02", in `folder` or `solutions/`.

    Raises:
        LessonError: there is no such lesson; the message lists those there are.
    """
    paths = all_lessons(folder)
    for path in paths:
        if name in (path.stem, path.stem[:2], path.stem[3:]):
            return path
    known = ", ".join(path.stem[3:] for path in paths) or "none at all"
    where = "solutions" if folder is None else Path(folder).name
    raise LessonError(f"There is no lesson {name!r} in {where}/. There are: {known}.")


# --- reading ------------------------------------------------------------------------------------------


def read(path: str | Path) -> Lesson:
    """The lesson in a .md or .ipynb file.

    Raises:
        LessonError: the file is missing, is not UTF-8, or is not a lesson.
    """
    path = Path(path)
    return parse(read_text(path), path)


def read_text(path: Path) -> str:
    """The file's text with `\\n` line ends and without a byte order mark."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise LessonError(f"{path}: there is no such file.") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise LessonError(f"{path}:{line}: this byte is not UTF-8; save the file as UTF-8.") from None
    except OSError as error:
        raise LessonError(f"{path}: it cannot be read ({error.strerror}).") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse(text: str, path: str | Path, whole: bool = True) -> Lesson:
    """The lesson that `text` holds; `path` says which format it is, and names it in messages. Raises `LessonError`.

    With `whole=False` markdown may be a part of a lesson, without front matter.
    """
    path = Path(path)
    if path.suffix == ".ipynb":
        cells, metadata = _notebook_cells(text, path)
    elif path.suffix == ".md":
        cells, metadata = _markdown_cells(text, path, whole)
    else:
        raise LessonError(f"{path}: a lesson is a .md or .ipynb file.")
    return Lesson(path.stem, path, cells, metadata)


def _notebook_cells(text: str, path: Path) -> tuple[list[Cell], dict]:
    try:
        notebook = json.loads(text)
        if notebook["nbformat"] != 4:
            raise KeyError
        cells = [
            Cell(cell["cell_type"], "".join(cell["source"]), 1, cell.get("metadata", {}), index)
            for index, cell in enumerate(notebook["cells"])
        ]
    except (ValueError, KeyError, TypeError):
        raise LessonError(f"{path}: this is not a Jupyter notebook of format 4; open it in JupyterLab and save it again.") from None
    return cells, notebook.get("metadata", {})


# The languages whose fences jupytext turns into code cells (a test compares).
LANGUAGES = frozenset(
    """R bash c# c++ clojure coconut cs csharp cython f# fs fsharp gnuplot go groovy haskell html idl java javascript jenner
    js julia latex logtalk lua markdown matlab maxima ocaml octave perl powershell pypy python python2 python3 q
    robotframework ruby rust sas scala scheme script sh sos sage spark sql stata svg tcl typescript xonsh""".split()
    + ["wolfram language"]
)
_FENCE = re.compile(
    r"^```(`*)(\s*)({})($|\s.*$)".format("|".join(map(re.escape, sorted(LANGUAGES | {name.upper() for name in LANGUAGES}, reverse=True))))
)
_REGION = re.compile(r"^<!--\s*#(region|markdown|md|raw)(.*)-->\s*$")
_PLAIN_FENCE_END = re.compile(r"^```\s*$")
_UNSUPPORTED = ("split_at_heading", "custom_language_magics", "cell_markers", "root_level_metadata_as_raw_cell")


def _markdown_cells(text: str, path: Path, whole: bool) -> tuple[list[Cell], dict]:
    lines = text.splitlines()
    metadata, cells, position = {}, [], 0
    if whole or lines and lines[0].rstrip() == "---":
        metadata, cells, position = _header(lines, path)
    while position < len(lines):
        reader = _CellReader(lines[position:], position, path)
        cells.append(reader.cell(len(cells)))
        position += reader.next
    return cells, metadata


def _header(lines: list[str], path: Path) -> tuple[dict, list[Cell], int]:
    """The notebook metadata, the raw cell that other front matter makes, and where the first cell starts."""
    import yaml  # comes with jupytext, which writes these headers with it

    if not lines or lines[0].rstrip() != "---":
        raise LessonError(f"{path}:1: this is not a lesson: it has no front matter (`---`, `jupyter:`, its kernelspec, `---`).")
    end = next((i for i, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    if end is None:
        raise LessonError(f"{path}:1: the front matter is never closed; end it with a line `---`.")
    jupyter, other, inside = [], [], False
    for line in lines[1:end]:
        if line and not line[0].isspace():
            inside = line.rstrip().replace(" ", "") == "jupyter:"
        (jupyter if inside else other).append(line)
    try:
        metadata = yaml.load("\n".join(jupyter), getattr(yaml, "CSafeLoader", yaml.SafeLoader))["jupyter"]
        kernel = metadata["kernelspec"]
        language = kernel.get("language") or re.match(r"[a-z]*", kernel["name"]).group()
        options = metadata.get("jupytext", {})
        version = options.get("text_representation", {}).get("format_version", "1.3")
    except (yaml.YAMLError, KeyError, TypeError, AttributeError):
        raise LessonError(f"{path}:1: this is not a lesson: its front matter names no kernelspec under `jupyter:`.") from None
    if language != "python":
        raise LessonError(f"{path}:1: its kernelspec is for {language!r}, and a lesson is written in python.")
    odd = [option for option in _UNSUPPORTED if option in options] + [f"format_version {version}"] * (str(version) in ("1.0", "1.1"))
    if odd:
        raise LessonError(f"{path}:1: lessons do without jupytext's {', '.join(odd)}: take it out of the front matter.")
    raw = [Cell("raw", "\n".join(["---", *other, "---"]), 1, {}, 0)] if other else []
    start = end + 1
    return metadata, raw, start + (start < len(lines) and not lines[start].strip())


class _CellReader:
    """Cuts the first cell off `lines` as jupytext's MarkdownCellReader (format 1.3) does."""

    def __init__(self, lines: list[str], offset: int, path: Path) -> None:
        self.lines, self.offset, self.path = lines, offset, path
        self.next = len(lines)

    def cell(self, index: int) -> Cell:
        first = self.lines[0]
        if match := _REGION.match(first):
            name, options = match.groups()
            metadata = self._options(options, 0, title=True)
            if name in ("markdown", "md"):
                metadata["region_name"] = name
            kind, magic = ("raw" if name == "raw" else "markdown"), ""
            closing = re.compile(rf"^<!--\s*#end{name}\s*-->\s*$")
            end = next((i for i, line in enumerate(self.lines) if closing.match(line)), None)
        elif match := _FENCE.match(first):
            ticks, _, language, options = match.groups()
            metadata = self._options(options, 0)
            kind, magic = "code", self._magic(language, metadata)
            end = self._code_end("```" + ticks, language == "python")
        else:
            end, following, explicit = self._prose_end()
            self._skip_blank(following, explicit)
            return Cell("markdown", "\n".join(self.lines[:end]), self.offset + 1, {}, index)
        explicit = end is not None
        end = len(self.lines) if end is None else end
        self._skip_blank(min(end + explicit, len(self.lines)), explicit)
        return Cell(kind, magic + "\n".join(self.lines[1:end]), self.offset + 2 - bool(magic), metadata, index)

    def _skip_blank(self, following: int, explicit: bool) -> None:
        """Step over the one blank line (two after an explicit end) that separates cells."""
        blank = [not line.strip() for line in self.lines[following : following + 3]]
        if blank[:2] == [True, False]:
            following += 1
        elif explicit and blank == [True, True, False]:
            following += 2
        self.next = following

    def _prose_end(self) -> tuple[int, int, bool]:
        """Where a markdown cell ends, where the next starts, and whether two blank lines say so."""
        blanks, fenced, indented = 0, False, False
        for i, line in enumerate(self.lines):
            if fenced:
                fenced = not _PLAIN_FENCE_END.match(line)
                continue
            if blanks and line.startswith("    ") and line.strip():
                indented, blanks = True, 0
                continue
            if indented and line.strip() and not line.startswith("    "):
                indented = False
            if indented:
                continue
            if _REGION.match(line) or _FENCE.match(line):
                before = i - 1 if i > 1 and blanks else i
                return before, i, False
            if line.startswith("```"):
                if blanks >= 2 and not line.startswith("```{"):
                    return i - 2, i, True
                fenced, blanks = True, 0
            elif not line.strip():
                blanks += 1
            elif blanks >= 2:
                return i - 2, i, True
            else:
                blanks = 0
        return len(self.lines), len(self.lines), False

    def _code_end(self, fence: str, python: bool) -> int | None:
        """The index of the closing fence; one inside a triple-quoted string closes nothing."""
        quotes = _Quotes()
        for i, line in enumerate(self.lines[1:], 1):
            if python:
                quoted = quotes.open
                quotes.feed(line)
                if quoted:
                    continue
            # jupytext asks only that the line starts with the fence
            if line.startswith(fence):
                return i
            if not python and ('"""' in line or "'''" in line):
                raise LessonError(f"{self.path}:{self.offset + i + 1}: a cell that is not Python cannot hold triple quotes here.")
        return None

    def _magic(self, language: str, metadata: dict) -> str:
        """The `%%bash` line that jupytext puts on top of a cell in another language."""
        if language == "python":
            return ""
        if language not in LANGUAGES:
            raise LessonError(f"{self.path}:{self.offset + 1}: write the fence's language in lower case, not {language}.")
        arguments = metadata.pop("magic_args", None)
        return f"%%{language} {arguments}\n" if arguments else f"%%{language}\n"

    def _options(self, text: str, line: int, title: bool = False) -> dict:
        """The cell metadata in `tags=["a"] key="b" flag` after a fence's language or a region's title."""
        metadata: dict = {}
        rest = text.strip()
        if title and (match := re.match(r'[^={"]*?(?=\S+=|$)', rest)) and match.group().strip():
            metadata["title"], rest = match.group().strip(), rest[match.end() :]
        while rest:
            match = re.match(r"([a-zA-Z_][\w./@-]*)(=?)", rest)
            try:
                if not match:
                    raise ValueError
                value, rest = None, rest[match.end() :]
                if match.group(2):
                    value, used = json.JSONDecoder().raw_decode(rest)
                    rest = rest[used:]
                if rest and not rest[0].isspace():
                    raise ValueError
            except ValueError:
                raise LessonError(
                    f'{self.path}:{self.offset + line + 1}: the options {text.strip()!r} are not understood; write them as tags=["name"].'
                ) from None
            metadata[match.group(1)] = value
            rest = rest.strip()
        tags = metadata.get("tags", [])
        if "active" in metadata or "run_control" in metadata or any(str(tag).startswith("active-") for tag in tags or []):
            raise LessonError(f"{self.path}:{self.offset + line + 1}: a lesson's cells are all active; take the option {text.strip()!r} away.")
        return metadata


class _Quotes:
    """Whether the next line starts inside a triple-quoted string, judged as jupytext judges it."""

    def __init__(self) -> None:
        self.open: str | None = None

    def feed(self, line: str) -> None:
        if self.open is None and line.lstrip().startswith("#"):
            return
        single, last = None, -1
        for i, char in enumerate(line):
            if single is None and self.open is None and char == "#":
                break
            if char not in "\"'" or line[i - 1 : i] == "\\":
                continue
            if single is not None:
                single = None if single == char else single
            elif line[i - 2 : i + 1] == 3 * char and i >= last + 3:
                if self.open in (None, char):
                    self.open, last = (char if self.open is None else None), i
            elif self.open is None:
                single = char


def prose_lines(source: str) -> Iterator[tuple[int, str]]:
    """The lines of a markdown cell that stand outside fenced examples, each with its index."""
    fence = ""
    for index, line in enumerate(source.split("\n")):
        mark = re.match(r" {0,3}(`{3,}|~{3,})(.*)$", line)
        if fence:
            if mark and mark.group(1).startswith(fence) and not mark.group(2).strip():
                fence = ""
        elif mark and not (mark.group(1)[0] == "`" and "`" in mark.group(2)):
            fence = mark.group(1)
        else:
            yield index, line


# --- Python in cells ------------------------------------------------------------------------------------

_MAGIC_LINE = re.compile(r"^(\s*)(?:[%!?]|[A-Za-z_]\w*(?:\s*,\s*\w+)*\s*=\s*[%!][A-Za-z]|[\w.]+\?{1,2}\s*$)")
_CELL_MAGICS_OVER_PYTHON = ("time", "timeit", "capture", "prun")


def without_magics(source: str) -> str | None:
    """The cell's Python with each `%` and `!` line replaced by `pass`, lines kept; None when it is in another language."""
    lines = source.split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    if lines[first].startswith("%%"):
        if lines[first][2:].split(" ")[0] not in _CELL_MAGICS_OVER_PYTHON:
            return None
        lines[first] = ""
    if not any(_MAGIC_LINE.match(line) for line in lines):
        return "\n".join(lines)
    try:
        ast.parse("\n".join(lines))  # then a line that starts with % goes on an expression
    except (SyntaxError, ValueError):
        lines = [f"{match.group(1)}pass" if (match := _MAGIC_LINE.match(line)) else line for line in lines]
    return "\n".join(lines)


def tree_of(cell: Cell) -> ast.Module | None:
    """The cell's syntax tree, lines numbered as in its file; None when it is not Python, or not yet."""
    source = without_magics(cell.source) if cell.kind == "code" else None
    try:
        tree = ast.parse(source) if source is not None else None
    except (SyntaxError, ValueError):
        return None
    return ast.increment_lineno(tree, cell.line - 1) if tree else None


_MARKER = re.compile(r"#\s*<(/?)(COGINST|COGNOTE|COGLINE|COGSTUB)>")


def without_markers(source: str) -> str:
    """A code cell as the instructor runs it: answers stay, marker lines and what stands between COGNOTEs go."""
    lines = source.split("\n")
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, SyntaxError):
        return source
    gone: set[int] = set()
    note = 0
    for token in tokens:
        match = _MARKER.match(token.string) if token.type == tokenize.COMMENT else None
        if not match:
            continue
        row, column = token.start[0] - 1, token.start[1]
        before = lines[row][:column].rstrip()
        if before:
            lines[row] = before
        else:
            gone.add(row)
        if match.group(2) == "COGNOTE":
            if match.group(1):
                gone.update(range(note, row))
            note = row
    return "\n".join(line for row, line in enumerate(lines) if row not in gone)


def source_of(path: str | Path, name: str) -> str:
    """The source of one definition, markers removed: a function or class with its decorators, or how a value is worked out.

    For a value that is the text between the answer markers of the cell that assigns it, else the assigning statement.

    Raises:
        LessonError: the lesson defines no such name.
    """
    lesson = read(path)
    for cell in lesson.cells:
        tree = tree_of(cell)
        for node in tree.body if tree else ():
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node.name == name:
                start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            elif name in bound_names(node):
                start = node.lineno
            else:
                continue
            lines = cell.source.split("\n")
            start, end = start - cell.line, node.end_lineno - cell.line + 1
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                start, end = _region_around(lines, start, end)
            return without_markers("\n".join(lines[start:end])).strip("\n")
    raise LessonError(f"{Path(path).name} defines no {name!r}.")


def _region_around(lines: list[str], start: int, end: int) -> tuple[int, int]:
    """The span between the answer markers around lines `start:end`, or that span where there are none."""
    opening = next((i for i in range(start, -1, -1) if lines[i].strip() == "# <COGINST>"), None)
    closing = next((i for i in range(end - 1, len(lines)) if lines[i].strip() == "# </COGINST>"), None)
    if opening is None or closing is None or "# </COGINST>" in (line.strip() for line in lines[opening:start]):
        return start, end
    return opening + 1, closing


def bound_names(node: ast.AST) -> list[str]:
    """The names that a statement binds in its own scope, in order, each once."""
    names: dict[str, None] = {}

    def visit(node: ast.AST) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names[node.name] = None
            for child in [*node.decorator_list, *getattr(node, "bases", ())]:
                visit(child)
            return
        if isinstance(node, ast.Lambda):
            return
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            for child in ast.walk(node):  # a comprehension's own targets stay inside it; a walrus in it does not
                if isinstance(child, ast.NamedExpr):
                    names[child.target.id] = None
            return
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names[node.id] = None
        elif isinstance(node, ast.alias) and node.name != "*":
            names[node.asname or node.name.split(".")[0]] = None
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            names[node.name] = None
        elif isinstance(node, ast.MatchMapping) and node.rest:
            names[node.rest] = None
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(node)
    return list(names)


# --- a lesson as a module -------------------------------------------------------------------------------

_loaded: dict[tuple, ModuleType] = {}
_FUTURES = sum(getattr(__future__, feature).compiler_flag for feature in __future__.all_feature_names)


def load(path: str | Path, name: str | None = None) -> ModuleType:
    """The lesson's definitions as a module: imports, `def`, `class`, ALL_CAPS constants and `X = yours("X")`; no demo cell runs.

    Tracebacks show the line of the .md, or the cell of the .ipynb. Cells that do not parse are passed over, for a learner's
    notebook may hold a half-written one. A definition that fails is left out; asking for it raises an AttributeError that says why.
    The module is kept until the file changes.

    Raises:
        LessonError: the file cannot be read as a lesson.
    """
    path = Path(path).resolve()
    lesson = read(path)
    stat = path.stat()
    if name is None:
        name = f"{'solutions' if path.parent == ROOT / 'solutions' else 'lesson'}.{lesson.name}"
    key = (path, stat.st_mtime_ns, stat.st_size, name)
    if key not in _loaded:
        module = ModuleType(name, f"The definitions of {path.name}.")
        module.__file__ = str(path)
        if name.startswith("solutions."):
            sys.modules[name] = module  # so that dataclasses and pickles find the module by its name
        for old in [old for old in _loaded if old[0] == path and old[3] == name]:
            del _loaded[old]
        _loaded[key] = module
        linecache.checkcache(str(path))
        _define(module, lesson)
    return _loaded[key]


def _define(module: ModuleType, lesson: Lesson) -> None:
    failed: dict[str, Exception] = {}

    def missing(name: str):
        if name in failed:
            why = failed[name]
            raise AttributeError(f"{lesson.path.name} could not define {name!r}: {type(why).__name__}: {why}") from why
        raise AttributeError(f"{lesson.path.name} defines no {name!r}.")

    futures = 0
    for cell in lesson.cells:
        tree = tree_of(cell)
        if tree is None:
            continue
        file = _file_of(cell, lesson)
        for node in filter(_is_definition, tree.body):
            names = bound_names(node)
            try:
                code = compile(ast.Module([node], []), file, "exec", futures, dont_inherit=True)
                futures |= code.co_flags & _FUTURES
                exec(code, module.__dict__)
            except Exception as error:  # whatever a half-finished lesson raises belongs to the names it was to define
                failed.update(dict.fromkeys(names, error))
            else:
                for name in names:
                    failed.pop(name, None)
    module.__getattr__ = missing


def _file_of(cell: Cell, lesson: Lesson) -> str:
    """The file name for tracebacks. A notebook's cell has no file: its text is put where tracebacks look for it."""
    if lesson.path.suffix == ".md":
        return str(lesson.path)
    name = f"<{lesson.path.name}, cell {cell.index + 1}>"
    linecache.cache[name] = (len(cell.source), None, [line + "\n" for line in cell.source.split("\n")], name)
    return name


def _is_definition(node: ast.stmt) -> bool:
    if isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return True
    if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
        called = isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name) and node.value.func.id == "yours"
        names = bound_names(node)
        return bool(names) and (called or all(name.isupper() for name in names))
    return False
