"""Read and judge the blind answers in `tests/checks/blind/`.

The authors of blind answers saw only the student files and ran no check.
`pending.txt` in that folder names the exercises that do not have blind answers yet.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from utils.instructor.answers import Answer, format_verdict, judge_all, read_answers
from utils.lessons import ROOT, write_atomically

_HEADER = "# These exercises do not have blind answers yet. `coginst ready LESSON` updates this list.\n"


def blind_folder(root: Path = ROOT) -> Path:
    """Return the folder of the blind answers."""
    return root / "tests" / "checks" / "blind"


def read_blind_answers(root: Path = ROOT) -> dict[Path, list[Answer]]:
    """Return the answers of each file, in the order of the file names. Raises `ValueError`."""
    return {path: read_answers(path) for path in sorted(blind_folder(root).glob("*/*.py"))}


def read_pending(root: Path = ROOT) -> list[str]:
    """Return the names of the exercises that are marked as pending."""
    path = blind_folder(root) / "pending.txt"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def find_pending(exercises: Iterable[str], answers: Iterable[Answer]) -> list[str]:
    """Return the exercises that lack a right answer or a wrong answer."""
    answered = {(answer.exercise, answer.kind) for answer in answers}
    return [name for name in exercises if not {(name, "right"), (name, "wrong")} <= answered]


def write_pending(exercises: Iterable[str], root: Path = ROOT) -> bool:
    """Write the names of the pending exercises, and return whether the list changed."""
    exercises = list(exercises)
    if exercises == read_pending(root):
        return False
    write_atomically(blind_folder(root) / "pending.txt", _HEADER + "".join(f"{name}\n" for name in exercises))
    return True


def find_changed_verdicts(answers: list[Answer]) -> dict[Answer, str]:
    """Judge the answers. Return each answer whose verdict has changed, with a line that names both verdicts."""
    return {
        answer: f"{answer.exercise} {answer.kind}, {answer.description}: {answer.verdict or 'no verdict'} became"
        f" {format_verdict(report)}: {report.message}"
        for answer, report in zip(answers, judge_all(answers))
        if format_verdict(report) != answer.verdict
    }
