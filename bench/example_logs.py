"""Generate the records that a class of simulated learners shares, as input for `coginst report --learning`.

Each rate is a known probability of the simulation, so the report should find it within its interval. The lessons,
exercises, misconceptions and items are those of the course. The same seed always generates the same class.

    python -m bench.example_logs try                       # 40 learners; then: coginst report try/results --learning
    python -m bench.example_logs try --learners 200 --seed 2
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from utils import lessons
from utils.exercises.exercise import all_exercises, family_members, find_exercise
from utils.grading.intake.folders import write_text
from utils.grading.reports.learning.families import name_mistake_families
from utils.grading.reports.learning.messages import Message
from utils.learning.sharing import FILE_NAME

ITEMS = lessons.ROOT / "utils" / "learning" / "items"
Attempt = dict[str, Any]


@dataclass(frozen=True)
class Rates:
    """The probabilities of the simulation.

    Attributes:
        first_attempt: the probability that the first attempt at an exercise passes.
        transfer: the probability that the first attempt at a transfer exercise passes.
        repair: the probability that a reader passes within two further attempts, by the kind of message. For each
            message, a random number from -`spread` to `spread` is added.
        stop: the probability that any other reader stops after fewer than two further attempts.
        late: the probability that a reader who does neither passes at the third further attempt.
        recurrence: the probability that a misconception returns in a later lesson after its exercise was passed.
        continue_course: the probability that a learner continues with the next lesson.
        right: the probability that a first answer is right, by confidence. For each learner, a random number from
            -`spread` to `spread` is added.
        knowledge: the parameters of the beta distribution of the share of items that a learner knows before the course.
        gain: the share of unknown items that are known after the course.
        retention: the share of the learned items that are known four weeks later.
        guess: the probability that an item is answered correctly without knowledge.
        skip: the probability that an unknown item is skipped instead of guessed.
    """

    first_attempt: float = 0.4
    transfer: float = 0.55
    repair: tuple[tuple[str, float], ...] = (
        ("misconception", 0.7), ("milestone", 0.6), ("difference", 0.4), ("shape", 0.8),
    )  # fmt: skip
    stop: float = 0.3
    late: float = 0.1
    recurrence: float = 0.25
    continue_course: float = 0.95
    right: tuple[tuple[str, float], ...] = (("certain", 0.85), ("fairly sure", 0.65), ("guessing", 0.35), ("", 0.5))
    spread: float = 0.1
    knowledge: tuple[float, float] = (2.0, 3.0)
    gain: float = 0.45
    retention: float = 0.7
    guess: float = 0.25
    skip: float = 0.05


@dataclass(frozen=True)
class SimulatedExercise:
    """An exercise of the simulation.

    Attributes:
        messages: the messages that a wrong answer can lead to.
        families: for each message about a mistake that several lessons share, the name of this mistake. An exercise has
            at most one, so that at most one mistake can return in it.
        members: the tasks of a transfer exercise; empty for other exercises.
    """

    lesson: str
    name: str
    messages: list[Message]
    families: dict[Message, str]
    members: tuple[str, ...] = ()


@functools.cache
def simulated_course(numbers: tuple[str, ...] = ()) -> list[SimulatedExercise]:
    """Return the exercises of these lessons (by default all), each with some of its messages."""
    exercises = all_exercises()
    families = name_mistake_families(exercises.values())
    returning = _choose_returning_mistakes(families)
    stems = {path.stem[3:]: path.stem for path in lessons.all_lessons()}
    course = []
    for lesson, group in itertools.groupby(exercises.values(), key=lambda exercise: stems[exercise.lesson]):
        if numbers and lesson[:2] not in numbers:
            continue
        for exercise in group:
            if exercise.member:
                members = tuple(member.member for member in family_members(exercise))
                message = Message(lesson, exercise.name, "difference")
                course.append(SimulatedExercise(lesson, exercise.name, [message], {}, members))
                continue
            ids = [misconception.id for misconception in exercise.misconceptions]
            chosen = returning.get(exercise.name)
            shared = [id for id in ids if chosen and families[exercise.name, id] == chosen][:1]
            own = [id for id in ids if _is_only_in(lesson[3:], families, families[exercise.name, id])][:2]
            messages = [Message(lesson, exercise.name, "misconception", id) for id in shared + own]
            messages.append(Message(lesson, exercise.name, "difference", "", "the scores"))
            messages.append(Message(lesson, exercise.name, "difference"))
            messages.append(Message(lesson, exercise.name, "shape"))
            known = {messages[0]: chosen} if chosen else {}
            course.append(SimulatedExercise(lesson, exercise.name, messages, known))
    return course


def _choose_returning_mistakes(families: Mapping[tuple[str, str], str]) -> dict[str, str]:
    """Return the mistake that can return in each exercise.

    An exercise has at most one such mistake. A chosen mistake can return in every exercise that recognises it, so no
    transfer exercise recognises it: there, a mistake that returns would change the rate of first attempts that pass.
    """
    exercises_of: dict[str, set[str]] = defaultdict(set)
    for (exercise, _), family in families.items():
        exercises_of[family].add(exercise)
    chosen: dict[str, str] = {}
    for family in sorted(exercises_of, key=lambda name: (-len(exercises_of[name]), name)):
        is_in_several = len({find_exercise(name).lesson for name in exercises_of[family]}) > 1
        is_in_transfer = any(find_exercise(name).member for name in exercises_of[family])
        if is_in_several and not is_in_transfer and not exercises_of[family] & chosen.keys():
            chosen |= dict.fromkeys(exercises_of[family], family)
    return chosen


def _is_only_in(lesson: str, families: Mapping[tuple[str, str], str], family: str) -> bool:
    return all(find_exercise(exercise).lesson == lesson for (exercise, _), name in families.items() if name == family)


@functools.cache
def repair_rate(rates: Rates, message: Message) -> float:
    """Return the probability that a reader of a message passes within two further attempts."""
    kind = "milestone" if message.milestone else message.reason
    return dict(rates.repair)[kind] + random.Random(str(message)).uniform(-rates.spread, rates.spread)


class SimulatedLearner:
    """A learner who works through the course.

    Args:
        rng: the learner's own random generator.
    """

    def __init__(self, rates: Rates, rng: random.Random) -> None:
        self.rates, self.rng = rates, rng
        self.attempts: list[Attempt] = []
        self.made: set[str] = set()  # families of the mistakes made in the current exercise
        self.settled: dict[str, tuple[str, bool]] = {}  # for each family: the lesson, and whether it returns later

    def work_through(self, course: Sequence[SimulatedExercise]) -> list[Attempt]:
        """Return the attempts at the exercises of the course."""
        lesson = course[0].lesson
        for exercise in course:
            if exercise.lesson != lesson and self.rng.random() >= self.rates.continue_course:
                break
            lesson = exercise.lesson
            self._solve(exercise)
        return self.attempts

    def _solve(self, exercise: SimulatedExercise) -> None:
        self.made, self.count = set(), 0
        self.member = self.rng.choice(exercise.members) if exercise.members else ""
        returning, possible = self._possible_messages(exercise)
        first = self.rates.transfer if exercise.members else self.rates.first_attempt
        if not returning and self.rng.random() < first:
            self._attempt(exercise, None)
            return
        message = returning or self.rng.choice(possible)
        self._attempt(exercise, message)
        if self._react(exercise, message):
            return
        # Two further attempts did not pass. The next wrong answer leads to a message that the learner has not read.
        other = self.rng.choice([m for m in possible if m != message] or [message])
        self._attempt(exercise, other)
        if other != message:
            self._react(exercise, other)

    def _possible_messages(self, exercise: SimulatedExercise) -> tuple[Message | None, list[Message]]:
        """Return the message of a mistake that returns here (or None), and all messages that the learner can get."""
        returning, possible = None, []
        for message in exercise.messages:
            family = exercise.families.get(message)
            lesson, returns = self.settled.get(family or "", ("99", False))
            if exercise.lesson <= lesson:
                possible.append(message)
            elif returns:
                returning = message
        return returning, possible

    def _react(self, exercise: SimulatedExercise, message: Message) -> bool:
        """Attempt the exercise after the first reading of a message. Return whether the learner passed or stopped."""
        if self.rng.random() < repair_rate(self.rates, message):
            if self.rng.random() < 0.4:
                self._attempt(exercise, message)
            self._attempt(exercise, None)
            return True
        if self.rng.random() < self.rates.stop:
            if self.rng.random() < 0.5:
                self._attempt(exercise, message)
            return True
        self._attempt(exercise, message)
        self._attempt(exercise, message)
        is_late = self.rng.random() < self.rates.late
        if is_late:
            self._attempt(exercise, None)
        return is_late

    def _attempt(self, exercise: SimulatedExercise, message: Message | None) -> None:
        """Record an attempt that leads to this message, or that passes."""
        self.count += 1
        self.attempts.append(
            {
                "lesson": exercise.lesson,
                "exercise": exercise.name,
                "member": self.member,
                "status": "failed" if message else "passed",
                "reason": message.reason if message else "passed",
                "misconception": message.misconception if message else "",
                "milestone": message.milestone if message else "",
                "attempt": self.count,
                "minutes": round(min(59.0, self.rng.lognormvariate(0.7, 0.8)), 1) if self.attempts else None,
            }
        )
        if message in exercise.families:
            self.made.add(exercise.families[message])
        if message is None:
            for family in self.made - self.settled.keys():
                self.settled[family] = (exercise.lesson, self.rng.random() < self.rates.recurrence)


def answer_questions(rates: Rates, rng: random.Random) -> list[dict[str, Any]]:
    """Return a learner's first answers to predictions and quizzes."""
    talent = rng.uniform(-rates.spread, rates.spread)
    answers = []
    for kind, count in (("predictions", 12), ("quizzes", 8)):
        for number in range(count):
            sure, rate = rng.choice(rates.right)
            right = rng.random() < rate + talent
            question = f"{sum(map(ord, kind)) * 1000 + number:08x}"
            answers.append({"kind": kind, "lesson": "", "question": question, "right": right, "sure": sure})
    return answers


@functools.cache
def read_distractors(form: str) -> dict[str, list[str]]:
    """Return the wrong choices of each item of a form."""
    items = yaml.safe_load((ITEMS / f"form_{form}.yaml").read_text(encoding="utf-8"))
    return {item["id"]: [c["misconception"] for c in item["choices"] if "misconception" in c] for item in items}


def answer_inventory(rates: Rates, rng: random.Random) -> list[dict[str, Any]]:
    """Return a learner's answers to the inventory; some learners do not take the second or the third sitting."""
    known = rng.betavariate(*rates.knowledge)
    learned = (0.0, rates.gain, rates.gain * rates.retention)
    answers = []
    for sitting, (form, gain) in enumerate(zip("aba", learned), start=1):
        if sitting > 1 and rng.random() < 0.1:
            break
        for item, distractors in read_distractors(form).items():
            if rng.random() < known + (1 - known) * gain:
                choice = "correct"
            elif rng.random() < rates.skip:
                choice = ""
            else:
                choice = (
                    "correct"
                    if rng.random() < rates.guess
                    else rng.choices(distractors, range(len(distractors), 0, -1))[0]
                )
            answers.append(
                {
                    "form": form,
                    "sitting": sitting,
                    "item": item,
                    "choice": choice,
                    "minutes": round(rng.uniform(0.2, 1.2), 1),
                }
            )
    return answers


def simulate_class(
    learners: int, seed: int, rates: Rates | None = None, course: Sequence[SimulatedExercise] | None = None
) -> list[bytes]:
    """Return the content of the file that each learner shares.

    Args:
        learners: the number of learners.
        seed: the seed of the class.
    """
    rates = rates or Rates()
    course = simulated_course() if course is None else course
    files = []
    for number in range(learners):
        rngs = {part: random.Random(f"{seed} {number} {part}") for part in ("attempts", "questions", "inventory")}
        shared = {
            "format": 1,
            "course": lessons.course_version(),
            "attempts": SimulatedLearner(rates, rngs["attempts"]).work_through(course),
            "questions": answer_questions(rates, rngs["questions"]),
            "inventory": answer_inventory(rates, rngs["inventory"]),
        }
        files.append(json.dumps(shared).encode())
    return files


def write_class(out: Path, learners: int, seed: int) -> None:
    """Write the files as `coginst collect` stores them, into the new folder `out`.

    Raises:
        FileExistsError: `out` exists.
    """
    out.mkdir(parents=True)
    for number, content in enumerate(simulate_class(learners, seed)):
        write_text(out / "handed-in" / f"s{number:04}" / FILE_NAME, content.decode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="the folder to create")
    parser.add_argument("--learners", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    write_class(asked.out, asked.learners, asked.seed)
    print(f"Next: coginst report {asked.out / 'results'} --learning")


if __name__ == "__main__":
    main()
