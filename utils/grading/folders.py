"""A folder that is written whole: the old one is there or the new one, never a half."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from utils.lessons.files import replace_folder_atomically


class FolderError(ValueError):
    """A folder is something else than what a command writes; the message says what to name instead."""


def write_text(path: Path, text: str) -> None:
    """Write a text as UTF-8, line ends as they are. What it cannot hold, half of a character, is a "?"."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8", "replace"))


@contextlib.contextmanager
def replace_folder(out: Path, marker_file: str) -> Iterator[Path]:
    """An empty folder beside `out` that takes its place when the block ends well; else `out` stays as it was.

    Args:
        sign: a file that lies in every folder of this kind. A folder without it is not ours to replace.

    Raises:
        FolderError: `out` is a file, or holds other things.
    """
    if out.exists() and not out.is_dir():
        raise FolderError(f"{out} is a file, and a folder is to be written; name another.")
    if out.is_dir() and any(out.iterdir()) and not (out / marker_file).is_file():
        raise FolderError(f"{out} holds other things (it has no {marker_file} of an earlier run); name a new folder.")
    with replace_folder_atomically(out) as new:
        yield new
