"""Declare transfer exercises. A lesson ends with a family of tasks without hints; each learner gets one of them.

All members of a family share one name and one signature, so the lesson contains only one stub. Each member is an
`Exercise` with its own oracle, cases and misconceptions. `transfer_family` adds further misconceptions:
the answers to the tasks of the other members and of the lesson. CONTRIBUTING.md explains an example.
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from utils.exercises.exercise import (
    Case,
    Exercise,
    UnknownExercise,
    Wrong,
    family_members,
    find_exercise,
    make_exercise,
    register_exercise,
)
from utils.feedback.report import Note
from utils.learner_data.seed import FIXED, TITLE, TaskCode, assign_task, learner_seed
from utils.show import html

OTHER_TASK = "other-task-"  # prefix of a misconception's id; the other member's id follows
LESSON_TASK = "as-in-the-lesson"
NO_HINTS = (
    "This exercise has no hints, because it shows whether you can use the lesson in a new situation."
    ' `task("{0}")` shows your task again.'
)
NO_SOLUTION = 'This exercise has no solution to look up, because learners get different tasks. See `task("{0}")`.'
LARGE_SCORES = "Large scores must not overflow."
_WIDTH = 90  # the longest line of a task in a terminal, in characters


class LessonTask(NamedTuple):
    """An answer that follows the convention of the lesson, and a clause that says what this answer does."""

    clause: str
    oracle: Callable


@dataclass(frozen=True)
class Member:
    """A member of a family, created by `member(...)`. The docstring of `member` explains the fields."""

    task: str
    clause: str
    oracle: Callable
    misconceptions: Mapping[str, Wrong]
    fields: Mapping[str, Any]


def member(
    task: str, *, clause: str, oracle: Callable, misconceptions: Mapping[str, Wrong] | None = None, **fields: Any
) -> Member:
    """Declare a member of a family.

    Args:
        task: the text that the learner reads. Blank lines separate paragraphs. An indented paragraph is code.
        clause: what a right answer does, as a clause with "your": "your mask hides a position where it is True".
        oracle: a function with the learner's signature; see `utils.exercises.exercise.exercise`.
        misconceptions: wrong answers to this task. The other tasks are added automatically.
        fields: further fields of `Exercise`. They replace the fields of the family.
    """
    return Member(inspect.cleandoc(task), clause, oracle, misconceptions or {}, fields)


def transfer_family(
    name: str,
    *,
    members: Mapping[str, Member],
    lesson: LessonTask | None = None,
    large_scores: Sequence[int] = (),
    **fields: Any,
) -> None:
    """Declare a family of transfer exercises. The family belongs to the lesson whose module contains this call.

    Args:
        name: the function or class that the learner writes, for all members.
        members: the members by id, at least four. The lesson in `solutions/` contains the answer to the first member.
        lesson: the convention of the lesson. Pass it only if an answer with this convention takes the same arguments.
        large_scores: the positions of the arguments that the scores are computed from. Each task then states that large
            scores must not overflow, and has a case in which these arguments are 40 times as large.
        fields: fields of `Exercise` that all members share, such as `cases` and `returns`.

    Raises:
        ValueError: there are fewer than four members, or another lesson has an exercise of this name.
    """
    if len(members) < 4:
        raise ValueError(f"The family {name} needs at least four members, but has {len(members)}.")
    module = sys._getframe(1).f_globals["__name__"].rpartition(".")[2]
    family = tuple(
        make_exercise(
            name,
            module,
            own.oracle,
            {**_other_tasks(id, members, lesson), **own.misconceptions},
            hints=(),
            member=id,
            task=f"{own.task}\n\n{LARGE_SCORES}" if large_scores else own.task,
            **_with_large_scores({**fields, **own.fields}, large_scores),
        )
        for id, own in members.items()
    )
    register_exercise(family[0], family)


def _with_large_scores(fields: Mapping[str, Any], positions: Sequence[int]) -> Mapping[str, Any]:
    """Add a copy of the first case, in which the arguments at `positions` are 40 times as large."""
    if not positions:
        return fields

    def cases(*rand: Any) -> list[Case]:
        own = fields["cases"](*rand)
        args = tuple(40 * a if i in positions else a for i, a in enumerate(own[0].args))
        return [*own, replace(own[0], args=args, note="with large scores")]

    return {**fields, "cases": cases}


def _other_tasks(id: str, members: Mapping[str, Member], lesson: LessonTask | None) -> dict[str, Wrong]:
    """Return the misconceptions of member `id`: the right answers to the other tasks of the family."""
    own = f"In your task, {members[id].clause}."
    wrong = {
        OTHER_TASK + other: Wrong(each.oracle, f"Your result is right for another task, in which {each.clause}. {own}")
        for other, each in members.items()
        if other != id
    }
    if lesson is not None:
        wrong[LESSON_TASK] = Wrong(
            lesson.oracle, f"Your result is right for the task of the lesson, in which {lesson.clause}. {own}"
        )
    return wrong


# --- the learner's own task -----------------------------------------------------------------------------


def find_own_exercise(name: str) -> Exercise:
    """Return the exercise called `name`. In a family of transfer exercises, return the member that this learner gets.

    Raises:
        UnknownExercise: no exercise has this name.
    """
    exercise = find_exercise(name)
    if not exercise.member or "/" in name:
        return exercise
    return family_members(exercise)[own_task_code(exercise).number - 1]


def own_task_code(exercise: Exercise) -> TaskCode:
    """Return the task code that identifies this learner's task in a transfer exercise."""
    return assign_task(learner_seed(), exercise.name, len(family_members(exercise)))


class TaskNote(Note):
    """The text of a task. In HTML, indented paragraphs become blocks of code."""

    def _repr_html_(self) -> str:
        parts = [f"<b>{html.escape(self.title)}</b>"]
        for paragraph in self.text.split("\n\n"):
            if paragraph.startswith("    "):
                parts.append(html.code_block(textwrap.dedent(paragraph)))
            else:
                parts.append(f'<div style="margin:6px 0">{html.inline_html(" ".join(paragraph.split()))}</div>')
        return html.card("".join(parts))


def task(exercise: Any) -> Note:
    """Show the learner's own task in a transfer exercise, with the task code.

    Args:
        exercise: the name of the exercise in quotes, or the function or class.
    """
    name = exercise if isinstance(exercise, str) else getattr(exercise, "__name__", exercise)
    try:
        own = find_own_exercise(name)
    except UnknownExercise as error:
        return Note("task", str(error))
    if not own.member:
        return Note("task", f"`{name}` is not a transfer exercise. The text above its cell says what to write.")
    code = own_task_code(own)
    text = own.task
    if code.seed == FIXED:
        text += f"\n\nThis is one of {len(family_members(own))} tasks. Each learner gets one of them."
    return TaskNote(f"{TITLE} ({code})", wrap_paragraphs(text))


def wrap_paragraphs(text: str) -> str:
    """Wrap the lines of each paragraph, except for indented paragraphs."""
    paragraphs = re.split(r"\n\n+", text)
    return "\n\n".join(
        paragraph if paragraph.startswith("    ") else textwrap.fill(" ".join(paragraph.split()), _WIDTH)
        for paragraph in paragraphs
    )
