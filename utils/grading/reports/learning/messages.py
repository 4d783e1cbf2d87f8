"""Measure what learners do after they read a message: do they pass, stop, or make the same mistake again later?

For each message, only a learner's first reading counts. Later readings depend on the first. If later readings counted
too, learners who make no progress would have the most influence on the result.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from utils.grading.reports.learning.intervals import Estimate, estimate_difference, estimate_share
from utils.grading.reports.learning.suppression import is_visible, visible_groups
from utils.learning.attempts import Attempt
from utils.learning.sharing import SharedFile

FURTHER_ATTEMPTS = 2
Outcome = Literal["passed", "failed", "stopped"]  # within two further attempts


class Message(NamedTuple):
    """A message of an exercise: the reason in the report, and the misconception or milestone that the message names."""

    lesson: str
    exercise: str
    reason: str
    misconception: str = ""
    milestone: str = ""

    @property
    def is_number_only(self) -> bool:
        """Whether the message only shows the wrong numbers: it names no misconception and no milestone."""
        return self.reason == "difference" and not self.misconception and not self.milestone

    @property
    def name(self) -> str:
        """A name for tables, such as "wrong axis" or "correct up to the scores"."""
        if self.misconception:
            return self.misconception.replace("-", " ")
        if self.milestone:
            return f"correct up to {self.milestone}"
        return "numbers only" if self.is_number_only else self.reason


@dataclass(frozen=True)
class MessageEffect:
    """The effect of a message: what share of its readers then passed, and what share stopped.

    Attributes:
        readers: the numbers of the learners who read the message.
        repaired: the share of the readers who pass within two further attempts.
        stopped: the share of the readers who stop after fewer than two further attempts. They count as not repaired.
        difference: `repaired` minus the same share for the number-only message of the exercise; None if there are too
            few readers of that message, or if this message is the number-only message.
    """

    message: Message
    readers: frozenset[int]
    repaired: Estimate
    stopped: float
    difference: Estimate | None


@dataclass(frozen=True)
class Recurrence:
    """How often a misconception returns in a later lesson.

    Attributes:
        name: the id of the misconception.
        learners: the learners who read its message, passed the exercise, and later attempted an exercise that allows
            the same mistake, in a later lesson.
        returned: the share of these learners who made the mistake again in such an exercise.
    """

    name: str
    learners: frozenset[int]
    returned: Estimate


def attempts_until_pass(attempts: Iterable[Attempt]) -> list[Attempt]:
    """Return a learner's attempts in order. Leave out attempts at an exercise that the learner has already passed."""
    passed: set[tuple[str, str]] = set()
    kept = []
    for attempt in attempts:
        if (attempt.lesson, attempt.exercise) not in passed:
            kept.append(attempt)
        if attempt.status == "passed":
            passed.add((attempt.lesson, attempt.exercise))
    return kept


def attempts_by_exercise(attempts: Iterable[Attempt]) -> dict[tuple[str, str], list[Attempt]]:
    """Map (lesson, exercise) to a learner's attempts in order. Leave out attempts after the first passed attempt."""
    grouped: dict[tuple[str, str], list[Attempt]] = defaultdict(list)
    for attempt in attempts_until_pass(attempts):
        grouped[attempt.lesson, attempt.exercise].append(attempt)
    return grouped


def measure_messages(learners: Sequence[SharedFile]) -> list[MessageEffect]:
    """Return the effect of each message with enough readers, in the order of the lessons.

    Some readers stop: they do not pass, and make fewer than two further attempts. In the share `repaired`, they count
    as readers who did not pass. Leaving them out would favour messages after which learners give up. The result also
    contains the share of these readers. If all of these readers had continued and passed, `repaired` would be higher by
    exactly this share.
    """
    effects = []
    for outcomes_by_message in read_outcomes(learners).values():
        repaired = {
            message: {number: outcome == "passed" for number, outcome in outcomes.items()}
            for message, outcomes in outcomes_by_message.items()
        }
        shown = visible_groups(repaired)
        numbers_only = next((repaired[message] for message in shown if message.is_number_only), None)
        for message in shown:
            readers = repaired[message]
            stopped = sum(outcome == "stopped" for outcome in outcomes_by_message[message].values())
            effects.append(
                MessageEffect(
                    message,
                    frozenset(readers),
                    estimate_share(sum(readers.values()), len(readers)),
                    stopped / len(readers),
                    None
                    if numbers_only is None or message.is_number_only
                    else estimate_difference(readers, numbers_only),
                )
            )
    return sorted(effects, key=lambda effect: (*effect.message[:2], -len(effect.readers), effect.message))


def read_outcomes(learners: Sequence[SharedFile]) -> dict[tuple[str, str], dict[Message, dict[int, Outcome]]]:
    """Return what each learner did after first seeing a message, by (lesson, exercise), message and learner number."""
    outcomes: dict[tuple[str, str], dict[Message, dict[int, Outcome]]] = defaultdict(lambda: defaultdict(dict))
    for number, learner in enumerate(learners):
        for key, attempts in attempts_by_exercise(learner.attempts).items():
            for place, attempt in enumerate(attempts):
                if attempt.status == "failed":
                    following = attempts[place + 1 : place + 1 + FURTHER_ATTEMPTS]
                    outcomes[key][message_of(attempt)].setdefault(number, _outcome(following))
    return outcomes


def _outcome(following: Sequence[Attempt]) -> Outcome:
    """Return what a reader did after a message. `following` contains the reader's next attempts, at most two."""
    if any(attempt.status == "passed" for attempt in following):
        return "passed"
    return "failed" if len(following) == FURTHER_ATTEMPTS else "stopped"


def message_of(attempt: Attempt) -> Message:
    """Return the message shown after a failed attempt. If it names a misconception, it mentions no milestone."""
    milestone = "" if attempt.misconception else attempt.milestone
    return Message(attempt.lesson, attempt.exercise, attempt.reason, attempt.misconception, milestone)


def measure_recurrence(learners: Sequence[SharedFile], families: Mapping[tuple[str, str], str]) -> list[Recurrence]:
    """Return how often learners who have corrected a misconception make the same mistake again in a later lesson.

    Args:
        families: for each (exercise, misconception), the name of the mistake, the same in all lessons.

    Returns:
        The misconceptions with enough learners. Those that return most often come first.
    """
    exercises_of: dict[str, set[str]] = defaultdict(set)
    for (exercise, _), family in families.items():
        exercises_of[family].add(exercise)
    returned: dict[str, dict[int, bool]] = defaultdict(dict)
    for number, learner in enumerate(learners):
        attempts = attempts_until_pass(learner.attempts)
        made: dict[str, set[tuple[str, str]]] = defaultdict(set)  # the exercises in which the learner made a mistake
        repaired: dict[str, str] = {}  # for each mistake, the first lesson in which the learner made it and then passed
        for attempt in attempts:
            family = families.get((attempt.exercise, attempt.misconception))
            for known, lesson in repaired.items():
                if attempt.lesson > lesson and attempt.exercise in exercises_of[known]:
                    returned[known][number] = returned[known].get(number, False) or family == known
            if family:
                made[family].add((attempt.lesson, attempt.exercise))
            if attempt.status == "passed":
                for known, exercises in made.items():
                    if (attempt.lesson, attempt.exercise) in exercises:
                        repaired.setdefault(known, attempt.lesson)
    rows = [
        Recurrence(name, frozenset(outcomes), estimate_share(sum(outcomes.values()), len(outcomes)))
        for name, outcomes in returned.items()
        if is_visible(outcomes)
    ]
    return sorted(rows, key=lambda row: (-row.returned.value, row.name))
