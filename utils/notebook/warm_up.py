"""Ask questions that are due for review, and repeat a question after a wrong answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from utils.learning.clock import Clock, utc_now
from utils.learning.review import Question, due_questions, review, schedule, select_questions
from utils.show.widget import Widget

AT_MOST = 3  # questions in a warm-up, unless the learner asks for another number


def due_sentence(clock: Clock = utc_now) -> str:
    """Return a sentence that says how many questions are due for review."""
    n = len(due_questions(clock()))
    if not n:
        return "No question is due for review."
    return f"{n} {'question is' if n == 1 else 'questions are'} due for review: progress().warm_up()."


def load_warm_up(n: int = AT_MOST, clock: Clock = utc_now) -> WarmUp:
    """Return up to `n` questions that are due.

    Raises:
        ValueError: `n` is not a positive whole number.
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise ValueError(f"n must be a whole number of at least 1, the number of questions; got {n!r}.")
    return WarmUp(select_questions(due_questions(clock()), n), clock)


class WarmUp:
    """A few questions that the learner answers again. A terminal shows only the text of each question."""

    def __init__(self, questions: Sequence[Question], clock: Clock = utc_now) -> None:
        self.questions = questions
        self.clock = clock

    def __repr__(self) -> str:
        if self.questions:
            return "\n".join(f"{n}. {full_text(question)}" for n, question in enumerate(self.questions, 1))
        later = schedule(self.clock())
        if not later:
            return "There are no questions to repeat yet: answer a prediction or a quiz in a lesson first."
        days = max(1, -((self.clock() - later[0].due) // timedelta(days=1)))
        return f"No question is due. The next question is due in {days} {'day' if days == 1 else 'days'}."

    def _ipython_display_(self) -> None:
        from IPython.display import display

        if self.questions:
            display(self.make_box())
        else:
            print(self)

    def make_box(self) -> Any:
        """Return a box with one widget for each question. A question with a wrong answer is appended again."""
        from ipywidgets import VBox

        box = VBox()

        def ask(question: Question) -> None:
            box.children = (*box.children, question_widget(question, lambda *said: answer(question, *said)))

        def answer(question: Question, right: bool, sure: str) -> None:
            review(question, right, sure, self.clock())
            if not right:
                ask(question)

        for question in self.questions:
            ask(question)
        return box


def question_widget(question: Question, on_answer: Callable[[bool, str], None]) -> Widget:
    """Return a new widget that asks a question again. The widget does not show the recorded answer.

    Args:
        question: the question.
        on_answer: called as `on_answer(right, sure)` when the learner has answered.
    """
    from utils.explore import predictions, quizzes
    from utils.show.widget import make_widget

    def handle_message(widget: Widget, message: Any) -> None:
        if isinstance(message, Mapping) and message.get("event") == "answered":
            on_answer(message.get("right") is True, message.get("sure", ""))

    text = full_text(question)
    kinds = {"predictions": (predictions, {"guess": "", "done": ""}), "quizzes": (quizzes, {"chosen": []})}
    module, empty = kinds[question.entry["kind"]]
    start = {**question.entry["start"], "question": text}
    return make_widget(module.__file__, text, start, {**empty, "sure": ""}, on_message=handle_message)


def full_text(question: Question) -> str:
    """Return one text with the lesson's number, the context from the lesson, and the question."""
    return " ".join(filter(None, [f"Lesson {question.lesson[:2]}.", question.context, question.text]))
