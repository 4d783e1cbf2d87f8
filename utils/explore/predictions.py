"""Ask learners for a guess before they see the answer."""

from __future__ import annotations

import math
from typing import Any

from utils.explore.answer_events import handle_answer_event
from utils.show.widget import Widget, make_widget, parse_text

WANTED = {"bool": "yes or no", "number": "a number", "word": "a word", "numbers": "numbers, such as 2, 3"}


def predict(question: str, answer: Any, tolerance: float = 0, explain: str = "") -> Widget:
    """Ask for a guess before showing the answer and its explanation.

    The Enter key or the button submits the guess; "Show me" shows the answer without a guess. A guess of the wrong
    type, such as a word instead of a number, does not reveal the answer. After a wrong first guess, the learner may
    guess once more, except at a yes-or-no question. For numbers, the widget also says whether the answer is higher or
    lower. Only the first guess counts: it is recorded for `progress()`, together with how sure the learner was ("" if
    they did not say).

    Args:
        question: plain text with `code` in backticks.
        answer: a number, a short string (case and spaces do not matter), a bool, or a list of numbers such as a shape.
        tolerance: the largest difference from the answer that still counts as right.
        explain: a text to show with the answer.

    Returns:
        A widget whose `state` has `guess`, `sure`, `done` ("", "guessed" or "shown"), and `first` after a wrong first
        guess.

    Raises:
        ValueError: an argument has the wrong type, or the question is blank.
    """
    parse_text("question", question)
    parse_text("explain", explain, empty=True)
    answer = answer.tolist() if hasattr(answer, "tolist") else answer
    kind = _answer_kind(answer)
    if isinstance(tolerance, bool) or not isinstance(tolerance, (int, float)) or not 0 <= tolerance < math.inf:
        raise ValueError(f"tolerance must be a number of at least 0; got {tolerance!r}.")
    start = {
        "question": question, "kind": kind, "wanted": WANTED[kind], "answer": _to_json(answer),
        "written": answer_text(answer), "tolerance": tolerance, "explain": explain,
    }  # fmt: skip
    words = f"Predict. {question} Write the answer down, then type it in JupyterLab."
    return make_widget(__file__, words, start, {"guess": "", "sure": "", "done": ""}, on_message=handle_answer_event)


def _answer_kind(answer: Any) -> str:
    """Return the kind of an answer: "bool", "number", "word" or "numbers".

    Raises:
        ValueError: the answer is of another kind.
    """
    if isinstance(answer, bool):
        return "bool"
    if _is_number(answer):
        return "number"
    if isinstance(answer, str) and answer.strip():
        return "word"
    if isinstance(answer, (list, tuple)) and answer and all(_is_number(x) for x in answer):
        return "numbers"
    raise ValueError(f"answer must be a number, a string, a bool or a list of numbers; got {answer!r}.")


def _is_number(x: Any) -> bool:
    return isinstance(x, (int, float)) and not isinstance(x, bool) and not math.isnan(x)


def _to_json(answer: Any) -> Any:
    """Convert an answer to JSON. Infinite numbers become strings, because JSON has no infinities."""
    if isinstance(answer, (list, tuple)):
        return [_to_json(each) for each in answer]
    return f"{answer}" if isinstance(answer, float) and math.isinf(answer) else answer


def answer_text(answer: Any) -> str:
    """Format an answer for learners."""
    if isinstance(answer, (list, tuple)):
        return "[" + ", ".join(map(answer_text, answer)) + "]"
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    return f"{answer:.6g}" if isinstance(answer, float) else str(answer)
