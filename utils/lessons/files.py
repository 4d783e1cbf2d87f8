"""Files of the course: where lessons lie, their text as it is read, and the one way to write a file or a folder."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

FILE_NAME = re.compile(r"(\d\d)_(\w+)\.(md|ipynb)")


class LessonError(ValueError):
    """A lesson cannot be found or read; the message says which, why, and what to do."""


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


def find_lesson(name: str, folder: str | Path | None = None) -> Path:
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


def read_text(path: Path) -> str:
    """The file's text with `\\n` line ends and without a byte order mark. Raises `LessonError`."""
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


def write_atomically(path: str | Path, content: str | bytes) -> None:
    """Make `content` (a text is written as UTF-8) the whole of the file at `path`, whose folder must exist.

    Whoever reads the file, at any moment and after a crash, finds the old content or the new. On failure the old file
    stays, and nothing is left beside it.

    Raises:
        OSError: it cannot be written.
    """
    path = Path(path)
    partial = path.with_name(f"{path.name}.{os.urandom(4).hex()}.new")
    try:
        with open(partial, "xb") as file:  # made by `open`, it gets the mode that any new file gets
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())  # else a power cut may leave the new name on an empty file
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


@contextlib.contextmanager
def hold_lock(lock: Path, timeout: float, on_timeout: Callable[[], object]) -> Iterator[bool]:
    """Run the block while no other process runs one under the same file `lock`, which the operating system gives back
    when a process dies.

    Args:
        patience: the seconds for which it waits for another before it calls `late`, once. If `late` returns, it waits
            on, without an end; an OSError from `late` lets the block run all the same.

    Yields:
        Whether the lock was to be had. On a disk that knows no locks, or cannot be written, the block runs without.
    """
    from filelock import FileLock, Timeout  # not before it is needed: `check` is to be imported fast

    turn, had = FileLock(lock), False
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError, NotImplementedError):
            try:
                held.enter_context(turn.acquire(timeout=timeout))
            except Timeout:
                on_timeout()
                held.enter_context(turn.acquire())
            had = True
        yield had


@contextlib.contextmanager
def replace_folder_atomically(folder: Path) -> Iterator[Path]:
    """An empty folder to write into, which takes the place of `folder` when the block ends without an error.

    After an error the older folder is there unchanged, and nothing is left beside it.

    Raises:
        OSError: it cannot be written.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as beside:
        new, old = Path(beside) / "new", Path(beside) / "old"
        new.mkdir()  # unlike the one around it, with the permissions of any new folder
        yield new
        if folder.exists():
            os.replace(folder, old)
        try:
            os.replace(new, folder)
        except BaseException:
            if old.exists():
                os.replace(old, folder)
            raise
