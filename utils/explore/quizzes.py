"""Ask a multiple-choice question and explain every choice."""

from __future__ import annotations

from collections.abc import Mapping

from utils.explore.answer_events import handle_answer_event
from utils.show.widget import Widget, make_widget, parse_text


def quiz(question: str, choices: Mapping[str, str], answer: str) -> Widget:
    """Ask a question with choices. The explanation of a choice appears when the learner chooses it.

    Learners may try any number of choices. Only the first choice counts: it is recorded for `progress()`, together with
    how sure the learner was.

    Args:
        question: plain text with `code` in backticks. Choices and explanations have the same format.
        choices: {choice: explanation}, with 2 to 8 choices.
        answer: the right choice.

    Returns:
        A widget whose `state` has `chosen`, the learner's choices in order, and `sure`.

    Raises:
        ValueError: there are not 2 to 8 choices, a text is missing, or `answer` is not one of the choices.
    """
    parse_text("question", question)
    if not isinstance(choices, Mapping) or not 2 <= len(choices) <= 8:
        raise ValueError(f"choices must be a dict of 2 to 8 choices with their explanations; got {choices!r}.")
    for choice, explanation in choices.items():
        parse_text("a choice", choice)
        parse_text(f"the explanation of {choice!r}", explanation)
    if answer not in choices:
        raise ValueError(f"the answer {answer!r} is not among the choices: {', '.join(map(repr, choices))}.")
    explained = [{"choice": each, "explanation": text, "right": each == answer} for each, text in choices.items()]
    start = {"question": question, "choices": explained}
    lettered = " ".join(f"{letter}) {choice}" for letter, choice in zip("ABCDEFGH", choices))
    words = f"Quiz. {question} {lettered.rstrip('.')}. Choose an answer in JupyterLab; every choice is explained."
    return make_widget(__file__, words, start, {"chosen": [], "sure": ""}, on_message=handle_answer_event)
