"""Run each solved lesson once, for all tests that need its outputs and for all processes."""

from filelock import FileLock

from utils import lessons
from utils.book.lesson_outputs import CACHE_FOLDER, Outputs, collect_outputs


def run_outputs(stem: str) -> Outputs:
    """Return the outputs of a lesson with its answers. The book uses the same run, and its cache."""
    CACHE_FOLDER.mkdir(parents=True, exist_ok=True)
    with FileLock(CACHE_FOLDER / f"{stem}.lock"):  # another process may be running this lesson
        return collect_outputs([lessons.read_lesson(lessons.find_lesson(stem))], print, workers=1)[stem]
