"""Schedule the questions of the course. Each is asked again shortly before the learner would forget the answer.

The first answer to a prediction or a quiz creates a card of FSRS (package `fsrs`,
https://github.com/open-spaced-repetition/py-fsrs). From all earlier answers to a question, FSRS estimates how long the
learner will remember the answer.

| answer | rating | first interval |
|---|---|---|
| wrong | Again | 1 day |
| right, guessing | Hard | 1 day |
| right, fairly sure, or confidence not stated | Good | 2 days |
| right, certain | Easy | 8 days |

All intervals are whole days. FSRS can also repeat a question within minutes. This is switched off, because
`progress().warm_up()` already repeats a failed question. A review never changes the answer that was recorded in the
lesson. If the learner answers a question in the lesson again, the new answer changes only the question's schedule.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from utils import lessons
from utils.learner_data.progress import read_answers, read_reviews, record_review

if TYPE_CHECKING:
    from fsrs import Card, Rating, Scheduler

_CONTEXT = re.compile(r"(?m)^\*\*Predict\.\*\* (.+)$")
ASKED = ("predictions", "quizzes")  # the kinds of questions that can be asked again


@dataclass(frozen=True)
class Question:
    """A question that was answered before.

    Attributes:
        text: the text of the question.
        entry: the answer that was recorded in the lesson; see `read_answers`.
        due: the time when it should be asked again.
        lesson: the stem of its lesson.
        context: what its lesson says before a prediction, such as "Four scores are 0."; "" if it says nothing.
    """

    text: str
    entry: Mapping[str, Any]
    due: datetime
    lesson: str
    context: str


def rate(right: bool, sure: str) -> Rating:
    """Return the rating of an answer; the table at the top of this module has all ratings."""
    from fsrs import Rating

    if not right:
        return Rating.Again
    return {"guessing": Rating.Hard, "certain": Rating.Easy}.get(sure, Rating.Good)


def schedule(now: datetime) -> list[Question]:
    """Return all answered questions of the course, in the order of their due times.

    A question that is no longer in a lesson is left out. A question whose text occurs twice in the course is also left
    out, because its record does not say which of the two was answered.

    Args:
        now: the current time in UTC. If an answer is dated in the future because the clock was corrected, its question
            is due now.
    """
    answers = {text: entry for text, entry in read_answers().items() if entry["kind"] in ASKED}
    places, reviews = find_questions() if answers else {}, read_reviews()
    questions = [
        Question(text, entry, _read_card(entry, reviews.get(text), now).due, *places[text])
        for text, entry in answers.items()
        if text in places
    ]
    return sorted(questions, key=lambda question: question.due)


def due_questions(now: datetime) -> list[Question]:
    """Return the questions that are due, in the order of their due times."""
    return [question for question in schedule(now) if question.due <= now]


def select_questions(questions: Iterable[Question], n: int) -> list[Question]:
    """Select up to `n` questions from as many lessons as possible, and mix the lessons.

    Args:
        questions: the questions to select from, in the order of their due times.
        n: the number of questions.

    Returns:
        The questions in the order in which to ask them. Neighbours belong to different lessons, if that is possible.
    """
    every, seen, ranks = list(questions), Counter[str](), []
    for question in every:
        ranks.append(seen[question.lesson])  # the number of earlier questions from this lesson
        seen[question.lesson] += 1
    chosen = sorted(range(len(every)), key=lambda i: (ranks[i], i))[:n]
    return _separate_neighbours([every[i] for i in sorted(chosen)])


def _separate_neighbours(questions: list[Question]) -> list[Question]:
    """Order questions so that neighbours belong to different lessons, if possible.

    Each question is followed by a question from another lesson: the lesson with the most remaining questions.
    """
    remaining, mixed = list(questions), []
    while remaining:
        left = Counter(question.lesson for question in remaining)
        previous = mixed[-1].lesson if mixed else ""
        following = min(remaining, key=lambda question: (question.lesson == previous, -left[question.lesson]))
        remaining.remove(following)
        mixed.append(following)
    return mixed


def review(question: Question, right: bool, sure: str, now: datetime) -> None:
    """Record an answer from a review, and schedule the question again."""
    card = _read_card(question.entry, read_reviews().get(question.text), now)
    card, _ = _scheduler().review_card(card, rate(right, sure), now)
    times = {"due": card.due.isoformat(), "when": now.isoformat()}
    record_review(question.text, {"stability": card.stability, "difficulty": card.difficulty, **times})


@functools.cache
def _scheduler() -> Scheduler:
    from fsrs import Scheduler

    return Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)


def _read_card(entry: Mapping[str, Any], stored: Mapping[str, Any] | None, now: datetime) -> Card:
    """Return a question's FSRS card, updated with the latest answer from a review or from the lesson."""
    from fsrs import Card, State

    latest = entry.get("last", entry)
    answered = last = _parse_time(latest["when"], now)
    card = Card(card_id=0, due=now)
    if stored:
        last, due = datetime.fromisoformat(stored["when"]), datetime.fromisoformat(stored["due"])
        numbers = {name: float(stored[name]) for name in ("stability", "difficulty")}
        card = Card(0, State.Review, None, **numbers, due=due, last_review=min(last, now))
    if card.last_review is None or card.last_review < answered <= now:
        card, _ = _scheduler().review_card(card, rate(latest["right"], latest["sure"]), min(answered, now))
    if last > now:  # the clock was set back, so nobody knows how long ago this answer was given
        card.due = now
    return card


def _parse_time(text: str, now: datetime) -> datetime:
    """Return the time of an answer. A time that is unreadable or not in UTC counts as now."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return now
    return time if time.tzinfo == now.tzinfo else now


@functools.cache
def find_questions() -> dict[str, tuple[str, str]]:
    """Map the text of each prediction and quiz to (stem of its lesson, context). Leave out texts that occur twice."""
    folders = [lessons.ROOT / name for name in ("course", "utils/assets/first", "solutions")]
    paths = {path.stem: path for folder in folders for path in lessons.all_lessons(folder)}
    found = [(text, (stem, context)) for stem, path in paths.items() for text, context in _questions_of(path)]
    times = Counter(text for text, _ in found)
    return {text: place for text, place in found if times[text] == 1}


def _questions_of(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the text and context of each question in a lesson. Yield nothing if the lesson cannot be read."""
    try:
        cells = lessons.read_lesson(path).cells
    except lessons.LessonError:
        return
    context = None  # of the last Markdown cell: a figure may be between this cell and the question
    for cell in cells:
        if cell.kind == "markdown":
            context = _CONTEXT.search(cell.source)
        elif cell.source.startswith(("explore.predict(", "explore.quiz(")):
            with contextlib.suppress(SyntaxError):
                calls = [node for node in ast.walk(ast.parse(cell.source)) if isinstance(node, ast.Call)]
                text = calls[0].args[0] if calls[0].args else None
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    yield text.value, re.sub(r"\*([^*]+)\*", r"\1", context[1]) if context else ""
