"""List the messages that most need rewriting, with answers that led to them.

A message's share is the share of its readers who pass within two further attempts. This share has a 95 % interval. The
message with the lowest upper limit of this interval comes first. A message comes early in the list only if its share is
low and many learners read it: with few readers, the interval is wide and its upper limit is high. The order does not
depend on messages that only show wrong numbers. The list can therefore include exercises that have no such message.
"""

from __future__ import annotations

import contextlib
import inspect
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from utils.exercises.exercise import Exercise, Misconception
from utils.grading.intake.roster import read_roster
from utils.grading.reports.html_parts import format_share
from utils.grading.reports.learning.messages import Message, MessageEffect
from utils.grading.reports.learning.suppression import rounded_count
from utils.grading.reports.redact import redact_name
from utils.grading.reports.tally import Mistake, Tally, read_columns, read_student_results

CODE_LINES = 20  # The list shows at most this many lines of an answer.


@dataclass(frozen=True)
class WeakMessage:
    """A message after which few readers correct their answer.

    Attributes:
        text: the text of the message to the learner; "" if it depends on the answer.
        answer: the source of a wrong answer that leads to the message; "" if none is known.
        origin: where the answer comes from.
    """

    effect: MessageEffect
    text: str
    answer: str
    origin: str


def rank_messages(effects: Iterable[MessageEffect]) -> list[MessageEffect]:
    """Sort the messages. The message that most needs rewriting comes first."""
    return sorted(effects, key=lambda effect: (effect.repaired.high, effect.repaired.value, effect.message))


def find_weak_messages(
    effects: Iterable[MessageEffect],
    count: int,
    exercises: Mapping[str, Exercise],
    mistakes: Sequence[Mistake] = (),
) -> list[WeakMessage]:
    """Return the messages that most need rewriting, each with its text and an answer that leads to it.

    Args:
        count: the maximum number of messages.
        exercises: the exercises of the course by name.
        mistakes: the mistakes in the graded answers of the class. If one of these mistakes leads to a message, its
            example is the answer. Otherwise, the answer is the code of the misconception itself.
    """
    weak = []
    for effect in rank_messages(effects)[:count]:
        message = effect.message
        known = exercises[message.exercise].misconceptions if message.exercise in exercises else ()
        misconception = next((m for m in known if m.id == message.misconception), None)
        graded = next((m for m in mistakes if m.example and _led_to(m, message)), None)
        if graded:
            answer, origin = redact_name(graded.example, graded.author), "the shortest graded answer of the class"
        else:
            answer = misconception_source(misconception) if misconception else ""
            origin = "the misconception's own code" if answer else ""
        weak.append(WeakMessage(effect, misconception.message if misconception else "", answer, origin))
    return weak


def read_graded_mistakes(results: Path, handed_in: Path) -> list[Mistake]:
    """Return the mistakes in a class's graded answers, the most common first, or an empty list if nothing is graded.

    Args:
        results: the folder that `coginst grade` wrote, which may be missing.
        handed_in: the folder that `coginst collect` wrote, with the roster.

    Raises:
        RosterError: the roster cannot be used.
    """
    roster = handed_in / "roster.csv"
    if not any(results.glob("*/[0-9][0-9]_*.json")) or not roster.is_file():
        return []
    tally = Tally([], read_columns(results))
    for student in read_roster(roster):
        tally.add_student(student, read_student_results(results, handed_in, student, tally.columns), {})
    return sorted(tally.mistakes.values(), key=lambda mistake: -len(mistake.students))


def _led_to(mistake: Mistake, message: Message) -> bool:
    """Return whether a mistake leads to a message. Ignore milestones, because graded results do not contain them."""
    same = mistake.exercise == message.exercise and mistake.id == message.misconception
    return same and (bool(mistake.id) or mistake.reason == message.reason)


def misconception_source(misconception: Misconception) -> str:
    """Return the source of a misconception.

    If the misconception replaces steps of another function, return only the source of the new steps.
    """
    steps = getattr(misconception.answer, "steps", None)
    if not steps:
        return _source(misconception.answer)
    return "\n".join(f"# {name}\n{_source(step) or repr(step)}" for name, step in steps.items())


def _source(answer: object) -> str:
    with contextlib.suppress(OSError, TypeError):
        return textwrap.dedent(inspect.getsource(answer)).strip().rstrip(",")  # pyright: ignore[reportArgumentType]
    return ""


def format_weak_messages(weak: Sequence[WeakMessage]) -> str:
    """Return the list of messages as text for a terminal."""
    blocks = []
    for number, message in enumerate(weak, start=1):
        effect = message.effect
        lesson, exercise, *_ = effect.message
        readers = f"about {rounded_count(effect.readers)} readers"
        lines = [
            f"{number}. {exercise}, lesson {lesson[:2]}: {effect.message.name}",
            f"{format_share(effect.repaired)} of {readers} pass within two further attempts.",
        ]
        if message.text:
            lines.append(f"Message: {message.text}")
        if message.answer:
            code = message.answer.splitlines()
            lines += [f"Answer ({message.origin}):", *(f"    {line}" for line in code[:CODE_LINES])]
            lines += [f"    … {len(code) - CODE_LINES} more lines"] * (len(code) > CODE_LINES)
        blocks.append("\n   ".join(lines))
    return "\n\n".join(blocks)
