"""Decide where the learner's data, such as progress, is stored. Two users never share a folder.

If the folder of the notebooks belongs to the user, the data is stored there, so a copy of the folder includes the
data. Otherwise, as in an installation for many users, the data is stored in the user's data folder.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from utils import lessons


def learner_folder(folder: Path | None = None) -> Path:
    """Return the folder for the data of this user. It may not exist yet.

    Args:
        folder: the folder with the notebooks (default: `notebook_folder()`).

    Raises:
        OSError: the user has no home folder.
    """
    folder = folder or notebook_folder()
    if belongs_to_user(folder) and os.access(folder, os.W_OK):
        return folder
    from platformdirs import user_data_path  # imported late, so that `check` imports fast

    try:
        return user_data_path("coginst")
    except RuntimeError:
        raise OSError("there is no home folder for your data; set HOME, or COURSE_PROGRESS to a file") from None


def home_folder() -> Path:
    """Return the user's home folder. If it is unknown, return a path that does not exist."""
    return Path(os.path.expanduser("~"))


def notebook_folder() -> Path:
    """Return the folder with the lessons that this process uses: a copy outside the installation, or `course/`.

    Jupyter stores the path of a kernel's notebook in an environment variable. Other programs start a kernel in the
    folder of its notebook.
    """
    named = Path(os.environ.get("JPY_SESSION_NAME", "")).parent
    try:
        folders = [folder.resolve() for folder in (named, Path.cwd()) if folder.is_absolute()]
    except OSError:  # the current folder was deleted
        folders = []
    for folder in folders:
        if not folder.is_relative_to(lessons.ROOT) and _has_lessons(folder):
            return folder
    return lessons.ROOT / "course"


def belongs_to_user(path: Path) -> bool:
    """Tell whether it is certain that the file or folder belongs to this user.

    On Windows, files have no user id. On a hub, the users in different containers may have the same user id. In
    both cases, the path must be in the user's home folder.
    """
    try:
        if sys.platform != "win32" and path.stat().st_uid != os.geteuid():
            return False
        if sys.platform == "win32" or "JUPYTERHUB_USER" in os.environ:
            return path.resolve(strict=True).is_relative_to(Path.home().resolve())
        return True
    except (OSError, RuntimeError):  # the path does not exist, or there is no home folder
        return False


def _has_lessons(folder: Path) -> bool:
    try:
        return any(lessons.is_lesson_file(path) for path in folder.iterdir())
    except OSError:
        return False
