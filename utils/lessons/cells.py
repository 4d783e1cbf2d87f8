"""Parse a lesson, in .md or .ipynb format, into its cells."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from utils.lessons import markdown
from utils.lessons.files import LessonError, read_text


@dataclass(frozen=True)
class Cell:
    """One cell of a lesson.

    `kind` is "code", "markdown" or "raw". `line` is the line of the file where the source starts (1 in .ipynb).
    """

    kind: str
    source: str
    line: int
    metadata: dict[str, Any]
    index: int


@dataclass(frozen=True)
class Lesson:
    """The cells of a lesson in order, and the notebook metadata of its header."""

    stem: str
    path: Path
    cells: list[Cell]
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The stem without its number: "02_simplified_attention" becomes "simplified_attention"."""
        return self.stem.split("_", 1)[-1]

    @property
    def title(self) -> str:
        """The text of the first `# heading`, or the name if there is no heading."""
        for cell in self.cells:
            if cell.kind == "markdown":
                for _, line in markdown.prose_lines(cell.source):
                    if line.startswith("# "):
                        return line[2:].strip()
        return self.name


def read_lesson(path: str | Path) -> Lesson:
    """Read the lesson in a .md or .ipynb file.

    Raises:
        LessonError: the file is missing, is not UTF-8, or is not a lesson.
    """
    path = Path(path)
    return parse_lesson(read_text(path), path)


def parse_lesson(text: str, path: str | Path, require_header: bool = True) -> Lesson:
    """Parse the text of a lesson. The suffix of `path` selects the format, and messages name `path`.

    With `require_header=False`, a Markdown text may be a part of a lesson, without front matter.

    Raises:
        LessonError: the text is not a lesson, or the suffix of `path` is neither `.md` nor `.ipynb`.
    """
    path = Path(path)
    if path.suffix == ".ipynb":
        parts, metadata = _notebook_parts(text, path)
    elif path.suffix == ".md":
        parts, metadata = markdown.split_cells(text, path, require_header)
    else:
        raise LessonError(f"{path}: a lesson is a .md or .ipynb file.")
    return Lesson(path.stem, path, [Cell(*part, index) for index, part in enumerate(parts)], metadata)


def _notebook_parts(text: str, path: Path) -> tuple[list[markdown.CellFields], dict[str, Any]]:
    try:
        notebook = json.loads(text)
        if notebook["nbformat"] != 4:
            raise KeyError
        parts = [
            (cell["cell_type"], "".join(cell["source"]), 1, cell.get("metadata", {})) for cell in notebook["cells"]
        ]
    except ValueError as error:
        raise LessonError(
            f"{path}: this notebook is damaged or incomplete ({error}); replace it with a complete copy."
        ) from None
    except (KeyError, TypeError):
        raise LessonError(
            f"{path}: this is not a Jupyter notebook of format 4; open it in JupyterLab and save it again."
        ) from None
    return parts, notebook.get("metadata", {})
