"""Find and read lesson files, and write files and folders atomically."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pyright: ignore[reportMissingImports]

ROOT = Path(__file__).resolve().parents[2]

FILE_NAME = re.compile(r"(\d\d)_(\w+)\.(md|ipynb)")


class LessonError(ValueError):
    """A lesson cannot be found or read. The message names the lesson, the reason and the remedy."""


def all_lessons(folder: str | Path | None = None) -> list[Path]:
    """List the lessons in `folder` (default: `solutions/`) in order. If a lesson has two files, list the newer one."""
    folder = ROOT / "solutions" if folder is None else Path(folder)
    latest: dict[str, Path] = {}
    for path in sorted(folder.glob("[0-9][0-9]_*")):
        if FILE_NAME.fullmatch(path.name) and path.is_file():
            rival = latest.get(path.stem)
            if rival is None or path.stat().st_mtime_ns > rival.stat().st_mtime_ns:
                latest[path.stem] = path
    return [latest[stem] for stem in sorted(latest)]


def is_lesson_file(path: Path) -> bool:
    """Tell whether a file name, such as 02_simplified_attention.ipynb, belongs to a lesson of this course."""
    name = FILE_NAME.fullmatch(path.name)
    return bool(name) and (ROOT / "utils" / "checks" / f"{name[2]}.py").is_file()


def find_lesson(name: str, folder: str | Path | None = None) -> Path:
    """Return the file of a lesson in `folder` (default: `solutions/`).

    The name can be "simplified_attention", "02_simplified_attention", "02", or the name of a file of the lesson.

    Raises:
        LessonError: there is no such lesson. The message lists the existing lessons.
    """
    paths, wanted = all_lessons(folder), re.sub(r"\.(md|ipynb)$", "", name)
    for path in paths:
        if wanted in (path.stem, path.stem[:2], path.stem[3:]):
            return path
    known = f"There are: {', '.join(path.stem[3:] for path in paths) or 'none at all'}."
    if name.isdigit() and paths:
        known = f"Lessons are numbered {paths[0].stem[:2]} to {paths[-1].stem[:2]}."
    where = "solutions" if folder is None else Path(folder).name
    raise LessonError(f"There is no lesson {name!r} in {where}/. {known}")


def course_version(root: Path = ROOT) -> str:
    """Return the version of the course, such as "0.3.0", or "" if `root` contains no `pyproject.toml`.

    The version of the installed package is not used, because it does not change when only the files are updated.
    """
    return read_pyproject(root)["project"]["version"] if (root / "pyproject.toml").is_file() else ""


def read_pyproject(root: Path) -> dict[str, Any]:
    """Return the content of `pyproject.toml`."""
    return tomllib.loads(read_text(root / "pyproject.toml"))


def read_text(path: Path) -> str:
    r"""Read a file as UTF-8, with `\n` line endings and without a byte order mark.

    Raises:
        LessonError: the file is missing, cannot be read or is not UTF-8.
    """
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
    """Replace the content of the file at `path`. Text is written as UTF-8. The folder must exist.

    At any moment, a reader sees either the old or the new content, even after a crash. If writing fails, the old file
    stays, and no temporary file is left.

    Raises:
        OSError: the file cannot be written. The error names `path`.
    """
    path = Path(path)
    if not path.name:
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    partial = path.with_name(f"{path.name}.{os.urandom(4).hex()}.new")
    try:
        with open(partial, "xb") as file:  # unlike `tempfile`, `open` gives the file default permissions
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())  # without this, a power cut may leave an empty file
        os.replace(partial, path)
    except OSError as error:
        if error.errno:
            error.filename = str(path)  # nobody knows the name of the temporary file
        raise
    finally:
        partial.unlink(missing_ok=True)


@contextlib.contextmanager
def hold_lock(lock: Path, timeout: float, on_timeout: Callable[[], object]) -> Iterator[bool]:
    """Run the block while no other process holds the lock file `lock`.

    The operating system releases the lock if the process dies.

    Args:
        timeout: how many seconds to wait for another process before calling `on_timeout` once. If `on_timeout` returns,
            the wait continues without a limit. If it raises OSError, the block runs without the lock.

    Yields:
        Whether the lock is held. If the disk is read-only or does not support locks, the block runs without a lock.
    """
    from filelock import FileLock, Timeout  # imported late, so that `check` imports fast

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
    """Provide an empty folder to write into. The new folder replaces `folder` when the block ends without an error.

    After an error, the old folder is unchanged, and no temporary folder is left.

    Raises:
        OSError: the folder cannot be written.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as beside:
        new, old = Path(beside) / "new", Path(beside) / "old"
        new.mkdir()  # `mkdir` gives `new` the default permissions; the temporary folder around it is private
        yield new
        if folder.exists():
            os.replace(folder, old)
        try:
            os.replace(new, folder)
        except BaseException:
            if old.exists():
                os.replace(old, folder)
            raise
