"""Read the files of an untrusted folder or zip one at a time, without unpacking it.

No path from an archive is ever used for writing, links are not followed, and devices are not opened. The number of
files and their total size are checked before any file of a zip is read.
"""

from __future__ import annotations

import io
import os
import stat
import struct
import time
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from utils.grading.judge.submissions import LARGEST, open_untrusted
from utils.grading.runner.framing import clean_text
from utils.learning.sharing import FILE_NAME

MEGABYTE = 10**6
_UTC_TIMES = 0x5455  # the tag of Info-ZIP's extra field "extended timestamp"
MAX_FILE = LARGEST  # `coginst grade` has the same limit.
# Folders and files that macOS, Jupyter, Python, Windows and nbgrader create. No student means to hand them in.
LEFT_BEHIND = (
    *("__MACOSX", ".DS_Store", ".ipynb_checkpoints", "__pycache__", "Thumbs.db", "desktop.ini", "timestamp.txt"),
)


class ArchiveError(ValueError):
    """A source or one of its files cannot be read; the message says why."""


@dataclass(frozen=True)
class ArchiveLimits:
    """The maximum number of files in an archive, and their maximum total size in bytes."""

    max_files: int
    max_bytes: int


OUTER = ArchiveLimits(200_000, 20_000 * MEGABYTE)  # a class of thousands
INNER = ArchiveLimits(2_000, 256 * MEGABYTE)  # one student's zip


@dataclass(frozen=True)
class SourceFile:
    """A file of a source. A source is a folder, a zip, or the home folders of JupyterHub users.

    Attributes:
        source: the name of the source.
        path: the path of the file in its source.
        mtime: when the file was last changed, in seconds since 1970.
        refusal: why the file cannot be read, as a sentence; "" if it can be read.
        read: a function that returns the content, at most `MAX_FILE` bytes. It can be called until the iterator moves
            to the next file. It raises `ArchiveError` if the file cannot be read.
        user: the hub's user in whose home the file is; "" outside of homes.
    """

    source: str
    path: PurePosixPath
    mtime: float
    refusal: str
    read: Callable[[], bytes]
    user: str = ""

    @property
    def location(self) -> str:
        """The source and the path, as one text."""
        return f"{self.source}: {self.path}"


def iter_files(source: str | Path) -> Iterator[SourceFile]:
    """Yield the files of a folder or zip, including the files of the zips in it.

    Raises:
        ArchiveError: the source cannot be read at all.
    """
    source = Path(source)
    if source.is_dir():
        files = _iter_folder(source, source)
    elif source.is_file():
        files = _iter_zip(source, source.name, PurePosixPath(), OUTER)
    else:
        raise ArchiveError(f"{source}: no such folder or zip exists.")
    for file in files:
        is_zip = file.path.suffix.lower() == ".zip" and not file.refusal
        for each in _iter_nested_zip(file) if is_zip else (file,):
            if not any(part in LEFT_BEHIND for part in each.path.parts):
                yield each


def iter_homes(pattern: str) -> Iterator[SourceFile]:
    """Yield the notebooks, Markdown lessons, progress files and shared files in the home folders of JupyterHub users.

    Args:
        pattern: the path of the lessons in each home, such as "/home/*/attention/course". The first `*` stands for the
            user's name.

    Raises:
        ArchiveError: the pattern has no place for the user's name, or matches no folder.
    """
    parts = Path(pattern).parts
    place = next((n for n, part in enumerate(parts) if "*" in part), None)
    if place is None or parts[place].count("*") > 1:
        raise ArchiveError(
            f"{pattern}: exactly one * must stand for the name of the user. Quote the pattern, so that the shell does"
            " not replace the *: '/home/*/attention/course'."
        )
    before, after = parts[place].split("*")
    is_empty = True
    for home in sorted(Path(*parts[:place]).glob(parts[place])):
        user = home.name[len(before) : len(home.name) - len(after)]
        for path in sorted(home.glob("/".join(parts[place + 1 :]))) if parts[place + 1 :] else [home]:
            is_empty = False
            for file in _readable_files(_iter_home(home, path)):
                name = clean_path(f"{user}/{path.relative_to(home).as_posix()}") / file.path
                yield replace(file, source=pattern, path=name, user=user)
    if is_empty:
        raise ArchiveError(f"{pattern}: no such folder exists, or you may not read the homes.")


def _readable_files(files: Iterator[SourceFile]) -> Iterator[SourceFile]:
    """Yield the files. If a folder cannot be read, the last item contains the reason instead of a file."""
    try:
        yield from files
    except ArchiveError as error:
        yield SourceFile("", PurePosixPath(), 0, str(error), bytes)


def _iter_home(home: Path, path: Path) -> Iterator[SourceFile]:
    """Yield the files at `path`, a file or folder in a home. Each path in the result is relative to `path`."""
    # The command runs as root, so a link could lead to another user's files. Between this check and the reading, a user
    # can also replace a folder with a link. Therefore, a file must belong to the owner of the home.
    owner = home.lstat().st_uid
    if path.resolve() != home.parent.resolve() / path.relative_to(home.parent):
        yield SourceFile("", PurePosixPath(), 0, _refusal_reason(stat.S_IFLNK, 0), bytes)
    elif path.is_dir():
        for file in _iter_folder(path, path, owner):
            is_hidden = any(part.startswith(".") for part in file.path.parts)
            is_lesson = file.path.suffix in (".ipynb", ".md") and not is_hidden
            if is_lesson or file.path.name in (".progress.json", FILE_NAME):
                yield file
    else:
        status = path.lstat()
        refusal = _refusal_reason(status.st_mode, status.st_size)
        yield SourceFile("", PurePosixPath(), status.st_mtime, refusal, lambda: _read_file(path, owner))


def clean_path(path: str) -> PurePosixPath:
    """Return a path without hidden characters, in Unicode form NFC. Rosters use this form, but macOS does not."""
    return PurePosixPath(unicodedata.normalize("NFC", clean_text(path)))


def _iter_nested_zip(file: SourceFile) -> Iterator[SourceFile]:
    """Yield the files of a zip inside the source. A zip inside that zip is not opened but yielded as a file."""
    try:
        yield from _iter_zip(io.BytesIO(file.read()), file.source, file.path, INNER)
    except ArchiveError as error:
        yield SourceFile(file.source, file.path, file.mtime, str(error), file.read)


# --- folders --------------------------------------------------------------------------------------------


def _iter_folder(folder: Path, top: Path, owner: int | None = None) -> Iterator[SourceFile]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        raise ArchiveError(f"{folder}: the folder cannot be read ({error.strerror}).") from None
    for entry in entries:
        path = Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            yield from _iter_folder(path, top, owner)
            continue
        status = entry.stat(follow_symlinks=False)
        refusal = _refusal_reason(status.st_mode, status.st_size)
        name = clean_path(path.relative_to(top).as_posix())
        yield SourceFile(top.name, name, status.st_mtime, refusal, lambda path=path: _read_file(path, owner))


def _refusal_reason(mode: int, size: int) -> str:
    """Return why a file with this mode and size must not be read, or "" if it may be read."""
    if stat.S_ISLNK(mode):
        return "It is a link, and links are not followed. Hand in the file itself."
    if stat.S_IFMT(mode) and not stat.S_ISREG(mode):
        return "It is a device, a pipe or a socket, not a regular file."
    if size > MAX_FILE:
        return f"It is larger than the limit of {MAX_FILE // MEGABYTE} MB. Clear its outputs."
    return ""


def _read_file(path: Path, owner: int | None) -> bytes:
    """Return the bytes of a regular file.

    Args:
        owner: the number of the user to whom the file must belong; None for any user.

    Raises:
        ArchiveError: the file cannot be read or belongs to another user, or it changed after it was listed and is now
            a link, a device or too large.
    """
    try:
        with open_untrusted(path) as file:  # The file may have been replaced since it was listed.
            status = os.fstat(file.fileno())
            if refusal := _refusal_reason(status.st_mode, status.st_size):
                raise ArchiveError(refusal)
            if owner is not None and status.st_uid != owner:
                raise ArchiveError("It does not belong to the owner of the home. Correct its owner with chown.")
            return file.read(MAX_FILE)
    except OSError as error:
        raise ArchiveError(f"It cannot be read ({error.strerror}).") from None


# --- zips -----------------------------------------------------------------------------------------------


def _iter_zip(
    file: Path | io.BytesIO, source: str, within: PurePosixPath, limits: ArchiveLimits
) -> Iterator[SourceFile]:
    """Yield the files of a zip. `within` is the zip's path inside its source; it is empty if the zip is the source.

    Raises:
        ArchiveError: the file cannot be read as a zip, or it exceeds the limits.
    """
    zip_name = within if within.parts else source
    try:
        with zipfile.ZipFile(file) as packed:
            entries = [entry for entry in packed.infolist() if not entry.is_dir()]
            _refuse_bomb(entries, str(zip_name), limits)
            for entry in entries:
                refusal = _entry_refusal_reason(entry)
                inside = [part for part in _entry_parts(entry) if part not in ("/", "..")]
                name = clean_path(within.joinpath(*inside).as_posix())
                yield SourceFile(
                    source, name, _entry_mtime(entry), refusal, lambda entry=entry: _read_entry(packed, entry)
                )
    except ArchiveError:
        raise
    except (zipfile.BadZipFile, NotImplementedError, OSError, EOFError, ValueError) as error:
        raise ArchiveError(f"{zip_name}: it cannot be read as a zip ({error}).") from None


def _refuse_bomb(entries: list[zipfile.ZipInfo], name: str, limits: ArchiveLimits) -> None:
    total = sum(entry.file_size for entry in entries)
    if len(entries) > limits.max_files:
        raise ArchiveError(f"{name} holds {len(entries):,} files, but the limit is {limits.max_files:,}.")
    if total > limits.max_bytes:
        raise ArchiveError(
            f"{name} would unpack to {total // MEGABYTE:,} MB, but the limit is {limits.max_bytes // MEGABYTE:,} MB."
        )


def _entry_refusal_reason(entry: zipfile.ZipInfo) -> str:
    if ".." in _entry_parts(entry) or entry.filename.startswith(("/", "\\")) or entry.filename[1:3] in (":/", ":\\"):
        return f"Its path leads out of the zip ({entry.filename[:80]!r})."
    if entry.flag_bits & 1:
        return "It is protected with a password."
    # A high compression ratio is not a reason for refusal: the output of a harmless loop also has a high ratio.
    return _refusal_reason(entry.external_attr >> 16 if entry.create_system == 3 else 0, entry.file_size)


def _entry_parts(entry: zipfile.ZipInfo) -> tuple[str, ...]:
    """Return the parts of an entry's path; some systems separate them with backslashes."""
    return PurePosixPath(entry.filename.replace("\\", "/")).parts


def _entry_mtime(entry: zipfile.ZipInfo) -> float:
    """Return when an entry was changed, in seconds since 1970.

    A zip stores this time in steps of two seconds, in an unknown time zone. Most zip programs also store the exact time
    in UTC, in an extra field. The exact time is used if it is stored.
    """
    rest = entry.extra
    while len(rest) >= 4:  # each field has a tag, a size and its content
        tag, size = struct.unpack("<HH", rest[:4])
        content, rest = rest[4 : 4 + size], rest[4 + size :]
        if tag == _UTC_TIMES and len(content) >= 5 and content[0] & 1:  # bit 0: the time is stored
            return float(struct.unpack("<i", content[1:5])[0])
    try:
        return time.mktime((*entry.date_time, 0, 0, -1))
    except (ValueError, OverflowError):
        return 0.0


def _read_entry(packed: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Return the bytes of an entry; zipfile stops at the declared size and verifies the checksum.

    Raises:
        ArchiveError: the entry is damaged.
    """
    try:
        return packed.read(entry)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, OSError, EOFError, ValueError) as error:
        raise ArchiveError(f"It is damaged ({error}).") from None
