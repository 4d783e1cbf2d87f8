"""Read and write the result of one submission, `results/ID/NN_stem.json`.

A file is written atomically. It contains a key, which is a hash of everything that the verdicts depend on. As
long as the key stays the same, grading again changes nothing.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

import msgspec

from utils.lessons.files import write_atomically

SCHEMA = 1

State = Literal[
    "passed", "failed", "not attempted", "waits for another exercise", "stopped", "unreadable", "absent"
]  # stopped: the answer hit a time or memory limit, or its process ended early; unreadable: the file is not a lesson
STATES: tuple[str, ...] = get_args(State)
# If every result of a lesson has one of these states, its points are left empty instead of 0. The instructor then sets
# them.
NOT_GRADED = ("absent", "unreadable")

Kind = Literal["processes", "network", "file", "tampering", "grading"]


class ResultError(ValueError):
    """A file is not a result; the message says which file, what is wrong with it, and what to do."""


@dataclass(frozen=True)
class Incident:
    """An action that a submission cannot perform by accident, or a failure to grade the submission.

    Attributes:
        exercise: the exercise in which it happened; "" if it happened while the notebook was parsed.
        detail: a description in plain text.
    """

    kind: Kind
    exercise: str
    detail: str


@dataclass(frozen=True)
class ExerciseResult:
    """The verdict on one exercise.

    Attributes:
        name: the exercise.
        state: one of `STATES`.
        points: the points earned; 0 unless the answer passed.
        max_points: the points that can be earned.
        reason: the reason for the verdict, one of `utils.feedback.report.REASONS`; "" if the answer was not judged.
        misconception: the id of the detected misconception, or None.
        message: the message to the student, in plain text.
        html: the card that a notebook shows, including its table; "" if the answer was not judged.
        seconds: the CPU time of the answer's process, measured from outside the process.
        waits_for: the exercise that must pass first, if `state` is "waits for another exercise".
        answer: the student's source; "" if there is none.
        fingerprint: a hash of the wrong results on the cases. The cases are the same for all students, so failures with
            equal fingerprints count as the same mistake. "" if the answer passed or returned no result.
        member: for a transfer exercise, the id of the member that the answer was judged against.
        task_code: the task code that the notebook shows; "" if there is no valid code.
        note: a sentence for the instructor, such as that the answer solves another learner's task.
    """

    name: str
    state: State
    points: float
    max_points: float
    reason: str = ""
    misconception: str | None = None
    message: str = ""
    html: str = ""
    seconds: float = 0.0
    waits_for: str | None = None
    answer: str = ""
    fingerprint: str = ""
    member: str = ""
    task_code: str = ""
    note: str = ""


@dataclass(frozen=True)
class LessonResult:
    """The verdicts on one student's submission of one lesson.

    Attributes:
        student: the name of the student's folder, which is the id unless the id cannot name a folder.
        lesson: the lesson's stem, such as "02_simplified_attention".
        key: a hash of everything that the verdicts depend on: the answers, the earlier lessons that they use, the
            course's version, and the settings.
        exercises: the results in the order of the lesson.
        incidents: the incidents in the order in which they happened.
        page: the `page_hash` of the notebook that was graded, or "" if the lesson was not handed in.
    """

    student: str
    lesson: str
    key: str
    exercises: tuple[ExerciseResult, ...]
    incidents: tuple[Incident, ...] = ()
    page: str = ""
    schema: int = field(default=SCHEMA, kw_only=True)

    @property
    def points(self) -> float:
        """The points earned."""
        return sum(e.points for e in self.exercises)

    @property
    def max_points(self) -> float:
        """The points that can be earned."""
        return sum(e.max_points for e in self.exercises)

    @property
    def is_handed_in(self) -> bool:
        """Whether the student handed the lesson in."""
        return any(e.state != "absent" for e in self.exercises)

    @property
    def is_graded(self) -> bool:
        """Whether any exercise could be graded."""
        return any(e.state not in NOT_GRADED for e in self.exercises)


def ungraded_result(absent: LessonResult, why: str) -> LessonResult:
    """Return the result of a lesson that was handed in, but could not be graded, written or reported.

    Its key is empty, so the next run grades the lesson again.

    Args:
        absent: the result that the lesson would have if it had not been handed in.
    """
    message = f"This lesson could not be graded ({why}). Your instructor decides how many points it gets."
    lost = tuple(dataclasses.replace(e, state="unreadable", message=message) for e in absent.exercises)
    return dataclasses.replace(absent, key="", exercises=lost, incidents=(Incident("grading", "", why),))


def result_path(folder: str | Path, student: str, lesson: str) -> Path:
    """Return the path of a result, `folder/ID/NN_stem.json`.

    Raises:
        ResultError: the id or the lesson cannot name a file. (`coginst collect` only creates names that can.)
    """
    for name in (student, lesson):
        if name in ("", ".", "..") or set(name) & set("/\\\0") or not is_utf8(name):
            raise ResultError(
                f"{name!a} cannot name a folder or a file. Grade the folder that `coginst collect` wrote."
            )
    return Path(folder) / student / f"{lesson}.json"


def is_utf8(text: str) -> bool:
    """Return whether a text can be encoded as UTF-8. This is impossible for a file name with invalid bytes."""
    return not re.search("[\ud800-\udfff]", text)


def write_result(folder: str | Path, result: LessonResult) -> Path:
    """Write a result atomically to its path in `folder`, create missing folders, and return the path.

    Raises:
        ResultError: see `result_path`.
        OSError: the file cannot be written.
    """
    path = result_path(folder, result.student, result.lesson)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(dataclasses.asdict(result), ensure_ascii=False, indent=1) + "\n")
    return path


def read_result(path: str | Path) -> LessonResult:
    """Read the result in a file.

    Raises:
        ResultError: the file does not exist, or it is not a result of `coginst grade`.
    """  # noqa: DOC501  (the ValueError is caught in the function)
    path = Path(path)
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data.get("schema") != SCHEMA:
            raise ValueError(f"its schema is {data.get('schema')!r}, expected {SCHEMA}")
        return msgspec.convert(data, LessonResult)
    except FileNotFoundError:
        raise ResultError(f"{path}: this file does not exist. `coginst grade` writes it.") from None
    except (OSError, ValueError, AttributeError) as error:
        what = f"{type(error).__name__}: {error}"
        raise ResultError(
            f"{path}: this is not a result of `coginst grade` ({what}). Delete the file and grade again."
        ) from None


def read_results(folder: str | Path) -> Iterator[LessonResult]:
    """Yield all results in a folder, sorted by student and lesson. Raises `ResultError`."""
    for path in sorted(Path(folder).glob("*/[0-9][0-9]_*.json")):
        yield read_result(path)
