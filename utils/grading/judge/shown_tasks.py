"""Determine from the outputs of a submitted notebook which transfer task the learner got."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from utils.exercises.exercise import Exercise, family_members
from utils.feedback.transfer_families import OTHER_TASK
from utils.grading.judge.results import ExerciseResult
from utils.learner_data.seed import FIXED, assign_task, find_task_codes


@dataclass(frozen=True)
class ShownTask:
    """The task that a notebook shows.

    Attributes:
        code: the task code; "" if it is missing or not valid.
        members: the members that the answer is judged against: one member, or all members if there is no valid code.
        note: a sentence for the instructor; "" if there is nothing to say.
    """

    code: str
    members: tuple[Exercise, ...]
    note: str = ""


def read_shown_task(page: bytes, exercise: Exercise) -> ShownTask:
    """Return the task that a notebook shows for a transfer exercise. A notebook without outputs shows no task."""
    members = family_members(exercise)
    codes = list(dict.fromkeys(code for text in _iter_outputs(page) for code in find_task_codes(text)))
    if not codes:
        return ShownTask("", members, "The page shows no task code.")
    shown = ", ".join(map(str, codes))
    if len(codes) > 1:
        return ShownTask("", members, f"The page shows several task codes: {shown}.")
    if codes[0] != assign_task(codes[0].seed, exercise.name, len(members)):
        return ShownTask("", members, f"The page shows the task code {shown}, which no learner has.")
    note = "The page shows the sample task instead of a learner's own task." if codes[0].seed == FIXED else ""
    return ShownTask(shown, (members[codes[0].number - 1],), note)


def _iter_outputs(page: bytes) -> Iterator[str]:
    """Yield the text of each output of a notebook. The notebook is not trusted, so its JSON may have any form."""
    try:
        cells = _items(json.loads(page), "cells")
    except (ValueError, RecursionError):  # a Markdown file, or a damaged notebook
        return
    for output in (output for cell in cells for output in _items(cell, "outputs")):
        data = output.get("data") if isinstance(output, dict) else None
        text = data.get("text/plain") if isinstance(data, dict) else None
        lines = text if isinstance(text, list) else [text]
        yield "".join(line for line in lines if isinstance(line, str))


def _items(value: Any, key: str) -> list[Any]:
    """Return the list `value[key]`, or an empty list if there is none."""
    items = value.get(key) if isinstance(value, dict) else None
    return items if isinstance(items, list) else []


def choose_result(shown: ShownTask, results: list[ExerciseResult]) -> tuple[ExerciseResult, str]:
    """Return the result to report, and a note for the instructor.

    Args:
        results: the results of the judged members, in the order of `shown.members`. Judging ends at the first result
            that is not "failed".
    """
    passed = next((result for result in results if result.state == "passed"), None)
    own = (result for result in results if not (result.misconception or "").startswith(OTHER_TASK))
    chosen = passed or next(own, results[0])
    notes = [shown.note] if shown.note and chosen.state in ("passed", "failed", "stopped") else []
    if len(shown.members) > 1 and notes:
        notes.append(
            f"The answer solves the task {chosen.member}." if passed else "The answer solves none of the tasks."
        )
    elif (chosen.misconception or "").startswith(OTHER_TASK):
        other = (chosen.misconception or "").removeprefix(OTHER_TASK)
        notes.append(f"The answer solves the task of another learner ({other} instead of {chosen.member}).")
    return chosen, " ".join(notes)
