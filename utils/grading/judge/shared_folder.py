"""Manage the seed and the locks of a results folder that several processes share."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
from pathlib import Path

from utils.grading.judge.results import ResultError
from utils.lessons.files import write_atomically

SEED_FILE, LOCKS_FILE = "seed.txt", ".locks"


class SubmissionLocks(contextlib.AbstractContextManager):
    """Locks on the submissions that this process is grading, so that several processes can share the work.

    Each submission corresponds to one byte of a file in the results folder. The system releases the locks of a process
    that dies. Windows and some file systems have no such locks. There, every process grades all submissions.
    """

    def __init__(self, out: Path) -> None:
        out.mkdir(parents=True, exist_ok=True)
        self.file = (out / LOCKS_FILE).open("ab")

    def __exit__(self, *error: object) -> None:
        self.file.close()

    def take(self, student: str, lesson: str) -> bool:
        """Lock a submission. Return False if another process has locked it, otherwise True."""
        try:
            self._lock(student, lesson)
        except OSError as error:
            return error.errno not in (errno.EACCES, errno.EAGAIN)
        except ImportError:  # Windows has no such locks.
            return True
        return True

    def release(self, student: str, lesson: str) -> None:
        """Release the lock on a submission."""
        with contextlib.suppress(OSError, ImportError):
            self._lock(student, lesson, release=True)

    def _lock(self, student: str, lesson: str, release: bool = False) -> None:
        import fcntl

        operation = fcntl.LOCK_UN if release else fcntl.LOCK_EX | fcntl.LOCK_NB
        digest = hashlib.sha256(f"{student}/{lesson}".encode("utf-8", "surrogateescape")).digest()
        fcntl.lockf(self.file, operation, 1, int.from_bytes(digest[:7], "big"))


def _create_seed(path: Path) -> None:
    """Write a random seed, unless another process has just written one.

    `os.link` gives the complete file its final name in one step. If a file with that name exists, `os.link` does not
    replace it.
    """
    new = path.with_name(f"{path.name}.{secrets.token_hex(4)}.new")
    write_atomically(new, f"{secrets.randbelow(2**63)}\n")
    try:
        os.link(new, path)
    except FileExistsError:
        pass
    except OSError:  # a disk without links
        os.replace(new, path)
    new.unlink(missing_ok=True)


def keep_seed(out: Path, seed: int | None) -> int:
    """Return the seed of the results in `out`, and store it there, so that the next run uses the same seed.

    Args:
        seed: a new seed; None for the stored seed, or for a random seed if no seed is stored.

    Raises:
        ResultError: the stored seed cannot be read.
    """
    path = out / SEED_FILE
    out.mkdir(parents=True, exist_ok=True)
    if seed is None and not path.exists():
        _create_seed(path)
    elif seed is not None:
        write_atomically(path, f"{seed}\n")
    try:
        return int(path.read_text(encoding="ascii"))
    except ValueError:
        raise ResultError(f"{path} contains no seed. Pass the seed of these results with --seed.") from None
