"""Write a folder atomically: a reader finds the old contents or the new ones, never a mixture of both."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from utils.lessons.files import replace_folder_atomically


class FolderError(ValueError):
    """The output path is a file, or a folder that the command did not write; the message says what to do."""


def write_text(path: Path, text: str) -> None:
    """Write a text as UTF-8 without changing its line endings. Lone surrogates become "?"."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8", "replace"))


@contextlib.contextmanager
def replace_folder(out: Path, marker_file: str) -> Iterator[Path]:
    """Yield a new empty folder, which replaces `out` if the block succeeds; otherwise `out` stays unchanged.

    Args:
        marker_file: a file that every folder of this kind contains. A folder without it is never replaced.

    Raises:
        FolderError: `out` is a file, or is not empty and has no marker file.
    """
    if out.exists() and not out.is_dir():
        raise FolderError(f"{out} is a file. Name a folder.")
    if out.is_dir() and any(out.iterdir()) and not (out / marker_file).is_file():
        raise FolderError(
            f"{out} contains other files and no {marker_file} from an earlier run, so it is not replaced. Name a new"
            " folder."
        )
    with replace_folder_atomically(out) as new:
        yield new
