"""Read the log of attempts that `check` writes (`utils.learner_data.attempt_log`)."""

from __future__ import annotations

import functools
from typing import Annotated, Literal

import msgspec

from utils import lessons
from utils.feedback.report import REASONS
from utils.learner_data.attempt_log import log_path, read_log
from utils.learner_data.progress import LONGEST_PAUSE, progress_path

LONGEST_NAME = 100  # characters
# The patterns end with `\Z`, because `$` also matches before a final line break.
Stem = Annotated[str, msgspec.Meta(pattern=r"\A\d\d_\w+\Z", max_length=LONGEST_NAME)]
Name = Annotated[str, msgspec.Meta(pattern=r"\A\w[\w-]*\Z", max_length=LONGEST_NAME)]
OptionalName = Annotated[str, msgspec.Meta(pattern=r"\A[\w-]*\Z", max_length=LONGEST_NAME)]
Label = Annotated[str, msgspec.Meta(max_length=LONGEST_NAME)]
Minutes = Annotated[float, msgspec.Meta(ge=0, le=LONGEST_PAUSE)]
Count = Annotated[int, msgspec.Meta(ge=1, le=100_000)]


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt at an exercise.

    Attributes:
        lesson: the lesson's stem, such as "02_simplified_attention".
        exercise: the name of the exercise.
        member: if the exercise is a family, the id of the member that the learner got; otherwise "".
        status: "passed" or "failed".
        reason: the kind of verdict, one of `utils.feedback.report.REASONS`.
        misconception: the id of the misconception that matches the answer, or "".
        milestone: the furthest intermediate value that the answer gives, such as "the scores", or "".
        attempt: the number of this attempt at this exercise, from 1. Each machine counts its own attempts.
        minutes: minutes since the learner's last attempt in the course; None for the first one or after a long pause.
    """

    lesson: Stem
    exercise: Name
    member: OptionalName
    status: Literal["passed", "failed"]
    reason: str
    misconception: OptionalName
    milestone: Label
    attempt: Count
    minutes: Minutes | None

    def __post_init__(self) -> None:
        possible = ("passed",) if self.status == "passed" else [r for r in REASONS if r not in ("passed", "todo")]
        if self.reason not in possible:
            raise ValueError(f"if `status` is {self.status}, `reason` must be {' or '.join(possible)}")
        if (self.reason == "misconception") != bool(self.misconception):
            raise ValueError("`misconception` must be given if `reason` is misconception, and empty otherwise")
        if not self.milestone.isprintable():
            raise ValueError("`milestone` contains a character that cannot be displayed")


def read_attempts() -> list[Attempt]:
    """Return the logged attempts of this learner, the oldest first. Ignore lines that are damaged or were edited.

    Attempts that were merged from another machine come later, because the log contains no times.
    """
    path = progress_path()
    attempts = []
    for entry in read_log(log_path(path)) if path else ():
        name = entry.get("lesson")
        try:
            attempts.append(msgspec.convert({**entry, "lesson": _stems().get(str(name), name)}, Attempt))
        except (msgspec.ValidationError, ValueError):
            continue
    return attempts


@functools.cache
def _stems() -> dict[str, str]:
    """Map each lesson name as the log writes it ("simplified_attention") to its stem ("02_simplified_attention")."""
    folders = (lessons.ROOT / "course", lessons.ROOT / "solutions")
    return {path.stem[3:]: path.stem for folder in folders for path in lessons.all_lessons(folder)}
