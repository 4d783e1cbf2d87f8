"""One submission's verdicts as a file, `results/ID/NN_stem.json`: what the judge writes and every report reads.

A file is written whole or not at all, and names what it depends on (`key`): where that is the same, grading again
changes nothing.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from utils.lessons.files import write_atomically

SCHEMA = 1
NOT_COLLECTED = "This file was not collected: "  # begins what lies in the place of one that was refused; why follows

State = Literal[
    "passed", "failed", "not attempted", "waits for another exercise", "stopped", "unreadable", "absent"
]  # stopped: by a limit of time or memory, or because the process ended; unreadable: the file is no lesson
STATES: tuple[str, ...] = get_args(State)

Kind = Literal["time", "memory", "processes", "network", "file", "tampering"]
KINDS: tuple[str, ...] = get_args(Kind)


class ResultError(ValueError):
    """A file is no result; the message says which file, what is wrong with it, and what to do."""


@dataclass(frozen=True)
class Incident:
    """Something that a submission did and may not do, or a limit that it met.

    Attributes:
        kind: what it was about, one of `KINDS`.
        exercise: in which exercise; "" where it was none in particular, as at loading.
        detail: one sentence, plain text.
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
        points: what was earned; 0 unless it passed.
        max_points: what can be earned.
        reason: why, a word of `utils.feedback.report.REASONS`; "" where nothing was run.
        misconception: the id of the mistake that was recognised, or None.
        message: what to read, plain text.
        html: the card that a notebook shows, its table included; "" where nothing was run.
        seconds: the CPU time that the answer's process took for it, as the judge measured it.
        waits_for: the exercise that has to pass first, where `state` says that there is one.
        answer: the learner's source; "" where there is none.
        fingerprint: a hash of the wrong results on the cases, which are the same for everybody: two failures without a
            name that have the same one are the same mistake. "" for what passed or gave no result.
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


@dataclass(frozen=True)
class LessonResult:
    """The verdicts on one student's submission of one lesson.

    Attributes:
        student: the id, as the roster has it and the folder is called.
        lesson: the lesson's stem, "02_simplified_attention".
        key: a hash of what the verdicts depend on: the answers, the earlier lessons that they use, the version of the
            course, and the limits.
        exercises: in the order of the page.
        incidents: in the order in which they happened.
    """

    student: str
    lesson: str
    key: str
    exercises: tuple[ExerciseResult, ...]
    incidents: tuple[Incident, ...] = ()
    schema: int = field(default=SCHEMA, kw_only=True)

    @property
    def points(self) -> float:
        """What was earned."""
        return sum(e.points for e in self.exercises)

    @property
    def max_points(self) -> float:
        """What can be earned."""
        return sum(e.max_points for e in self.exercises)


def result_path(folder: str | Path, student: str, lesson: str) -> Path:
    """Where the result of a student's lesson lies in `folder`: `folder/ID/NN_stem.json`.

    Raises:
        ResultError: the id or the lesson cannot name a file (`coginst collect` gives ids that can).
    """
    for name in (student, lesson):
        if not name or name in (".", "..") or "/" in name or "\\" in name or "\0" in name:
            raise ResultError(f"{name!r} cannot name a folder or a file; grade what `coginst collect` wrote.")
    return Path(folder) / student / f"{lesson}.json"


def write_result(folder: str | Path, result: LessonResult) -> Path:
    """Write a result to its place in `folder`, whole or not at all; the folders are made. Returns the file."""
    path = result_path(folder, result.student, result.lesson)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, json.dumps(dataclasses.asdict(result), ensure_ascii=False, indent=1) + "\n")
    return path


def read_result(path: str | Path) -> LessonResult:
    """The result in a file. Raises `ResultError`."""
    path = Path(path)
    try:
        return _result(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise ResultError(f"{path}: there is no such file; `coginst grade` makes it.") from None
    except (OSError, ValueError, TypeError, KeyError) as error:
        what = f"{type(error).__name__}: {error}"
        raise ResultError(
            f"{path}: this is no result of `coginst grade` ({what}); delete it and grade again."
        ) from None


def read_results(folder: str | Path) -> Iterator[LessonResult]:
    """Every result in a folder, one after the other, by student and lesson. Raises `ResultError`."""
    for path in sorted(Path(folder).glob("*/[0-9][0-9]_*.json")):
        yield read_result(path)


def _result(data: Any) -> LessonResult:
    if data.get("schema") != SCHEMA:
        raise ValueError(f"its schema is {data.get('schema')!r}, and {SCHEMA} is read here")
    exercises = tuple(ExerciseResult(**e) for e in data["exercises"])
    incidents = tuple(Incident(**i) for i in data["incidents"])
    if unknown := [e.state for e in exercises if e.state not in STATES]:
        raise ValueError(f"it has a state {unknown[0]!r}; there are {', '.join(STATES)}")
    if unknown := [i.kind for i in incidents if i.kind not in KINDS]:
        raise ValueError(f"it has an incident {unknown[0]!r}; there are {', '.join(KINDS)}")
    return LessonResult(data["student"], data["lesson"], data["key"], exercises, incidents)
