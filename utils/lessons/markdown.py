"""Split a Markdown lesson into cells exactly as jupytext does.

Importing jupytext takes more than a second, and each learner's first `check` or `yours` would have to wait for it. This
parser rejects lessons that use unsupported features of jupytext. It splits all other lessons into exactly the cells
that jupytext returns.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from utils.lessons.files import LessonError

Metadata = dict[str, Any]
CellFields = tuple[str, str, int, Metadata]  # kind, source, first line in the file, metadata

# The languages whose fences jupytext turns into code cells. A test compares this list with the one in jupytext.
LANGUAGES = frozenset(
    """R bash c# c++ clojure coconut cs csharp cython f# fs fsharp gnuplot go groovy haskell html idl java javascript
    jenner js julia latex logtalk lua markdown matlab maxima ocaml octave perl powershell pypy python python2 python3 q
    robotframework ruby rust sas scala scheme script sh sos sage spark sql stata svg tcl typescript xonsh""".split()
) | {"wolfram language"}
_NAMES = "|".join(map(re.escape, sorted(LANGUAGES | {name.upper() for name in LANGUAGES}, reverse=True)))
_FENCE = re.compile(rf"^```(`*)(\s*)({_NAMES})($|\s.*$)")
_REGION = re.compile(r"^<!--\s*#(region|markdown|md|raw)(.*)-->\s*$")
_PLAIN_FENCE_END = re.compile(r"^```\s*$")
_UNSUPPORTED = ("split_at_heading", "custom_language_magics", "cell_markers", "root_level_metadata_as_raw_cell")


def split_cells(text: str, path: Path, require_header: bool = True) -> tuple[list[CellFields], Metadata]:
    """Split a Markdown lesson into cells, and return the notebook metadata of its header.

    Messages name `path`. The header may be missing only with `require_header=False`. Raises `LessonError`.
    """
    lines = text.splitlines()
    metadata: Metadata = {}
    cells: list[CellFields] = []
    position = 0
    if require_header or (lines and lines[0].rstrip() == "---"):
        metadata, cells, position = _header(lines, path)
    while position < len(lines):
        reader = _CellReader(lines[position:], position, path)
        cells.append(reader.read_cell())
        position += reader.next
    return cells, metadata


def _header(lines: list[str], path: Path) -> tuple[Metadata, list[CellFields], int]:
    """Return the notebook metadata, a raw cell with any other front matter, and the line where the cells start.

    Raises:
        LessonError: the front matter is missing or not closed, has no kernelspec for Python, or uses an unsupported
            option of jupytext.
    """
    # jupytext writes these headers with PyYAML. Importing PyYAML at the top would slow down a learner's first check.
    import yaml

    if not lines or lines[0].rstrip() != "---":
        raise LessonError(
            f"{path}:1: this is not a lesson: it has no front matter (`---`, `jupyter:`, its kernelspec, `---`)."
        )
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
        language = kernel.get("language") or re.sub(r"(?s)[^a-z].*", "", kernel["name"])
        options = metadata.get("jupytext", {})
        version = options.get("text_representation", {}).get("format_version", "1.3")
    except (yaml.YAMLError, KeyError, TypeError, AttributeError):
        raise LessonError(
            f"{path}:1: this is not a lesson: its front matter names no kernelspec under `jupyter:`."
        ) from None
    if language != "python":
        raise LessonError(f"{path}:1: its kernelspec is for {language!r}, and a lesson is written in python.")
    odd = [option for option in _UNSUPPORTED if option in options]
    if str(version) in ("1.0", "1.1"):
        odd.append(f"format_version {version}")
    if odd:
        raise LessonError(f"{path}:1: lessons do without jupytext's {', '.join(odd)}: take it out of the front matter.")
    raw: list[CellFields] = [("raw", "\n".join(["---", *other, "---"]), 1, {})] if other else []
    start = end + 1
    return metadata, raw, start + (start < len(lines) and not lines[start].strip())


class _CellReader:
    """Read the first cell in `lines`, as jupytext's MarkdownCellReader (format 1.3) does."""

    def __init__(self, lines: list[str], offset: int, path: Path) -> None:
        self.lines, self.offset, self.path = lines, offset, path
        self.next = len(lines)

    def read_cell(self) -> CellFields:
        first = self.lines[0]
        if match := _REGION.match(first):
            name, options = match.groups()
            metadata = self._options(options, title=True)
            if name in ("markdown", "md"):
                metadata["region_name"] = name
            kind, magic = ("raw" if name == "raw" else "markdown"), ""
            closing = re.compile(rf"^<!--\s*#end{name}\s*-->\s*$")
            end = next((i for i, line in enumerate(self.lines) if closing.match(line)), None)
        elif match := _FENCE.match(first):
            ticks, _, language, options = match.groups()
            metadata = self._options(options)
            kind, magic = "code", self._magic(language, metadata)
            end = self._code_end("```" + ticks, language == "python")
        else:
            end, following, explicit = self._prose_end()
            self._skip_blank(following, explicit)
            return "markdown", "\n".join(self.lines[:end]), self.offset + 1, {}
        explicit = end is not None
        end = len(self.lines) if end is None else end
        self._skip_blank(min(end + explicit, len(self.lines)), explicit)
        return kind, magic + "\n".join(self.lines[1:end]), self.offset + 2 - bool(magic), metadata

    def _skip_blank(self, following: int, explicit: bool) -> None:
        """Skip a single blank line after a cell. After a closing fence or marker, two blank lines are also skipped."""
        blank = [not line.strip() for line in self.lines[following : following + 3]]
        if blank[:2] == [True, False]:
            following += 1
        elif explicit and blank == [True, True, False]:
            following += 2
        self.next = following

    def _prose_end(self) -> tuple[int, int, bool]:
        """Return where a Markdown cell ends, where the next cell starts, and whether two blank lines separate them."""
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
        """Return the index of the closing fence. A fence inside a triple-quoted string does not count.

        Raises:
            LessonError: a cell in another language contains triple quotes.
        """
        quotes = _Quotes()
        for i, line in enumerate(self.lines[1:], 1):
            if python:
                quoted = quotes.open
                quotes.feed(line)
                if quoted:
                    continue
            # jupytext ends the cell at any line that starts with the fence
            if line.startswith(fence):
                return i
            if not python and ('"""' in line or "'''" in line):
                raise LessonError(
                    f"{self.path}:{self.offset + i + 1}: a cell that is not Python cannot hold triple quotes here."
                )
        return None

    def _magic(self, language: str, metadata: Metadata) -> str:
        """Return the magic line, such as `%%bash`, that jupytext adds to a cell in another language; "" for Python.

        Raises:
            LessonError: the language is not in `LANGUAGES`, where all names are in lower case.
        """
        if language == "python":
            return ""
        if language not in LANGUAGES:
            raise LessonError(
                f"{self.path}:{self.offset + 1}: write the fence's language in lower case, not {language}."
            )
        arguments = metadata.pop("magic_args", None)
        return f"%%{language} {arguments}\n" if arguments else f"%%{language}\n"

    def _options(self, text: str, title: bool = False) -> Metadata:
        """Parse cell metadata such as `tags=["a"] key="b" flag`, which follows a fence's language or a region's title.

        Raises:
            LessonError: the metadata cannot be parsed, or it contains one of jupytext's options for inactive cells.
        """  # noqa: DOC501  (the ValueError is caught in the function)
        metadata: Metadata = {}
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
                    f"{self.path}:{self.offset + 1}: the options {text.strip()!r} are not understood; write them"
                    ' as tags=["name"].'
                ) from None
            metadata[match.group(1)] = value
            rest = rest.strip()
        tags = metadata.get("tags", [])
        if (
            "active" in metadata
            or "run_control" in metadata
            or any(str(tag).startswith("active-") for tag in tags or [])
        ):
            raise LessonError(
                f"{self.path}:{self.offset + 1}: a lesson's cells are all active; take the option"
                f" {text.strip()!r} away."
            )
        return metadata


class _Quotes:
    """Track whether the next line starts inside a triple-quoted string, by jupytext's rules."""

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
    """Yield each line of a Markdown cell that is not in a fenced example, as `(index, line)`."""
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
