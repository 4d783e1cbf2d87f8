"""The files of a folder or a zip that somebody else made: read one at a time, never unpacked.

Nothing is written under a name that stands in an archive, links are not followed, devices are not opened, and what
would come out is counted before it is.
"""

from __future__ import annotations

import io
import os
import stat
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

MEGABYTE = 10**6
MAX_FILE = 64 * MEGABYTE  # a notebook with pictures has a few; the largest in the wild some tens
LEFT_BEHIND = ("__MACOSX", ".ipynb_checkpoints", "__pycache__", ".DS_Store", "Thumbs.db", "desktop.ini")


class ArchiveError(ValueError):
    """A source cannot be read at all; the message says which and why."""


@dataclass(frozen=True)
class ArchiveLimits:
    """How many files an archive may hold, and how many bytes they may come to."""

    max_files: int
    max_bytes: int


OUTER = ArchiveLimits(200_000, 20_000 * MEGABYTE)  # a class of thousands
INNER = ArchiveLimits(2_000, 256 * MEGABYTE)  # one student's zip


@dataclass(frozen=True)
class SourceFile:
    """A file of a source.

    Attributes:
        source: what the source is called.
        path: where the file lies in it.
        time: when it was last changed, in seconds since 1970.
        refused: why it cannot be read, a sentence; "" where it can.
        read: gives its content, at most `MAX_FILE` bytes, until the next file is asked for. Raises `ArchiveError`.
    """

    source: str
    path: PurePosixPath
    mtime: float
    refusal: str
    read: Callable[[], bytes]

    @property
    def location(self) -> str:
        """Where it is, in words: the source and the path."""
        return f"{self.source}: {self.path}"


def iter_files(source: str | Path) -> Iterator[SourceFile]:
    """The files of a folder or of a zip, those of a zip within it among them. Raises `ArchiveError`."""
    source = Path(source)
    if source.is_dir():
        found = _iter_folder(source, source)
    elif source.is_file():
        found = _iter_zip(source, source.name, PurePosixPath(), OUTER)
    else:
        raise ArchiveError(f"{source}: there is no such folder or zip.")
    for file in found:
        if any(part in LEFT_BEHIND for part in file.path.parts):
            continue
        if file.path.suffix.lower() == ".zip" and not file.refusal:
            yield from _iter_nested_zip(file)
        else:
            yield file


def _iter_nested_zip(file: SourceFile) -> Iterator[SourceFile]:
    """The files of a student's own zip; a zip in that one is a file like any other."""
    try:
        yield from _iter_zip(io.BytesIO(file.read()), file.source, file.path, INNER)
    except ArchiveError as error:
        yield SourceFile(file.source, file.path, file.mtime, str(error), file.read)


# --- folders --------------------------------------------------------------------------------------------


def _iter_folder(folder: Path, top: Path) -> Iterator[SourceFile]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise ArchiveError(f"{folder}: it cannot be read ({error.strerror}).") from None
    for entry in entries:
        path = Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            yield from _iter_folder(path, top)
            continue
        about = entry.stat(follow_symlinks=False)
        why = _refusal_reason(about.st_mode, about.st_size)
        name = PurePosixPath(path.relative_to(top).as_posix())
        yield SourceFile(top.name, name, about.st_mtime, why, lambda path=path: _read_file(path))


def _refusal_reason(mode: int, size: int) -> str:
    """Why a file of this kind and size is not read; "" where it is."""
    if stat.S_ISLNK(mode):
        return "it is a link, and links are not followed; hand in the file itself."
    if stat.S_IFMT(mode) and not stat.S_ISREG(mode):
        return "it is a device, a pipe or a socket, and no file."
    if size > MAX_FILE:
        return f"it has {size // MEGABYTE:,} MB, and {MAX_FILE // MEGABYTE} are read at most; clear its outputs."
    return ""


def _read_file(path: Path) -> bytes:
    """The bytes of a file that is still what it was when it was listed."""
    try:
        # Not through a link, and not waiting for a pipe, that took its place meanwhile.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with open(handle, "rb") as file:
            about = os.fstat(handle)
            if why := _refusal_reason(about.st_mode, about.st_size):
                raise ArchiveError(why)
            return file.read(MAX_FILE)
    except OSError as error:
        raise ArchiveError(f"it cannot be read ({error.strerror}).") from None


# --- zips -----------------------------------------------------------------------------------------------


def _iter_zip(
    file: Path | io.BytesIO, source: str, within: PurePosixPath, limits: ArchiveLimits
) -> Iterator[SourceFile]:
    """The files of a zip; `within` is where it lies in its source."""
    called = within if within.parts else source
    try:
        with zipfile.ZipFile(file) as packed:
            entries = [entry for entry in packed.infolist() if not entry.is_dir()]
            _refuse_bomb(entries, str(called), limits)
            for entry in entries:
                why = _entry_refusal_reason(entry)
                inside = [part for part in _entry_parts(entry) if part not in ("/", "..")]
                name = within.joinpath(*inside)
                yield SourceFile(source, name, _entry_mtime(entry), why, lambda entry=entry: _read_entry(packed, entry))
    except (zipfile.BadZipFile, NotImplementedError, OSError, EOFError, ValueError) as error:
        if isinstance(error, ArchiveError):
            raise
        raise ArchiveError(f"{called}: it cannot be read as a zip ({error}).") from None


def _refuse_bomb(entries: list[zipfile.ZipInfo], name: str, limits: ArchiveLimits) -> None:
    total = sum(entry.file_size for entry in entries)
    if len(entries) > limits.max_files:
        raise ArchiveError(f"{name} holds {len(entries):,} files, and {limits.max_files:,} are read at most.")
    if total > limits.max_bytes:
        raise ArchiveError(
            f"{name} would unpack to {total // MEGABYTE:,} MB, and {limits.max_bytes // MEGABYTE:,} are read at most."
        )


def _entry_refusal_reason(entry: zipfile.ZipInfo) -> str:
    if ".." in _entry_parts(entry) or entry.filename.startswith(("/", "\\")) or entry.filename[1:3] in (":/", ":\\"):
        return f"its name leads out of the zip ({entry.filename[:80]!r})."
    if entry.flag_bits & 1:
        return "it is locked with a password."
    # However small it is in the zip: a loop that printed one line a million times is no attack.
    return _refusal_reason(entry.external_attr >> 16 if entry.create_system == 3 else 0, entry.file_size)


def _entry_parts(entry: zipfile.ZipInfo) -> tuple[str, ...]:
    """The parts of its name; some systems write a backslash between them."""
    return PurePosixPath(entry.filename.replace("\\", "/")).parts


def _entry_mtime(entry: zipfile.ZipInfo) -> float:
    try:
        return time.mktime((*entry.date_time, 0, 0, -1))
    except (ValueError, OverflowError):
        return 0.0


def _read_entry(packed: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """The bytes of an entry; zipfile stops at the size that was declared, and compares the checksum."""
    try:
        return packed.read(entry)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, OSError, EOFError, ValueError) as error:
        raise ArchiveError(f"it is damaged ({error}).") from None
