"""A guess before the truth, and a quiz in which every choice is explained."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from utils.explore.panel import note, panel_type, read_text
from utils.show.html import escape, inline, line


def predict(question: str, answer: Any, tolerance: float = 0, explain: str = "") -> Any:
    """Ask for a guess; show the truth beside it, and why, only after one was made.

    Enter or the button gives the guess, "Show me" gives up. A guess that cannot be read as an answer of this kind
    reveals nothing.

    Args:
        question: plain text, `code` in backticks.
        answer: a number, a short string (case and spaces do not matter), a bool, or a list of numbers such as a shape.
        tolerance: how far a number may be off and still be right.
        explain: shown with the truth.

    Returns:
        A box with `.guess`, `.button`, `.show_me` and `.result`.
    """
    import ipywidgets as widgets

    read_text("question", question)
    read_text("explain", explain, empty=True)
    answer = answer.tolist() if hasattr(answer, "tolist") else answer
    read, wanted = _reader(answer)
    if isinstance(tolerance, bool) or not isinstance(tolerance, (int, float)) or not tolerance >= 0:
        raise ValueError(f"tolerance must be a number of at least 0; got {tolerance!r}.")

    guess = widgets.Text(placeholder=f"your guess: {wanted}", layout={"width": "16em"})
    guess.tooltip = question
    button = widgets.Button(description="Check my guess", button_style="primary")
    show_me = widgets.Button(description="Show me", tooltip="Show the answer without a guess")
    result = widgets.HTML()

    def reveal(verdict: str, colour: str) -> None:
        why = f"<br>{inline(explain)}" if explain else ""
        result.value = note(verdict + why, colour)
        for part in (guess, button, show_me):
            part.disabled = True

    def judge(*_: Any) -> None:
        text = guess.value.strip()
        given = read(text) if text else None
        if given is None:
            result.value = note(f"Write {wanted} first; a guess costs nothing." if not text else f"Write {wanted}.")
            return
        right, off = _compare(given, answer, tolerance)
        truth = f"Your guess: <b>{escape(text)}</b> &emsp; The answer: <b>{_written(answer)}</b>"
        reveal(f"{'Right.' if right else 'Not this time.'} {truth}{off}", "passed" if right else "failed")

    def give_up(*_: Any) -> None:
        reveal(f"The answer: <b>{_written(answer)}</b>", "todo")

    def message(_: Any, content: Mapping[str, Any], buffers: Any) -> None:
        if content.get("event") == "submit" and not guess.disabled:  # Enter; leaving the field is not a guess
            judge()

    guess.on_msg(message)
    button.on_click(judge)
    show_me.on_click(give_up)
    row = widgets.HBox([guess, button, show_me], layout={"flex_flow": "row wrap"})
    asked = widgets.HTML(line(f"<b>Predict.</b> {inline(question)}"))
    words = f"Predict. {question} Write the answer down, then type it in JupyterLab."
    return panel_type()([asked, row, result], lambda: words, guess=guess, button=button, show_me=show_me, result=result)


def _reader(answer: Any) -> tuple[Callable[[str], Any], str]:
    """How to read a guess (None if it cannot be), and what to ask for."""
    if isinstance(answer, bool):
        return (
            lambda text: {"true": True, "yes": True, "y": True, "false": False, "no": False, "n": False}.get(
                text.lower()
            ),
            "yes or no",
        )
    if isinstance(answer, (int, float)):
        return _number, "a number"
    if isinstance(answer, str) and answer.strip():
        return lambda text: text, "a word"
    numbers = isinstance(answer, (list, tuple)) and answer and all(isinstance(x, (int, float)) for x in answer)
    if numbers:
        return _several, "numbers, such as 2, 3"
    raise ValueError(f"answer must be a number, a string, a bool or a list of numbers; got {answer!r}.")


def _number(text: str) -> float | None:
    """'10', '0.25', '1/4', '25%', '-inf'; None for anything else, nan included."""
    share = text.endswith("%")
    text = text.rstrip("%").strip().replace("−", "-")
    try:
        number = float(Fraction(text)) if "/" in text else float(text)
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    return None if math.isnan(number) else number / 100 if share else number


def _several(text: str) -> list[float] | None:
    """'[6, 3]', '6 3', '6 × 3', 'torch.Size([6, 3])'; None if there is no number or a word."""
    text = text.replace("torch.Size", "").replace("−", "-")
    numbers = [_number(part) for part in re.split(r"[\s,;x×()\[\]]+", text) if part]
    return None if not numbers or None in numbers else numbers


def _compare(given: Any, answer: Any, tolerance: float) -> tuple[bool, str]:
    """Is it right, and for a number: by how much is it off, in words."""
    if isinstance(answer, str):
        return " ".join(given.casefold().split()) == " ".join(answer.casefold().split()), ""
    if isinstance(answer, (list, tuple)):
        return len(given) == len(answer) and all(_compare(g, a, tolerance)[0] for g, a in zip(given, answer)), ""
    if isinstance(answer, bool) or given == answer:
        return given == answer, ""
    off = abs(given - answer)
    close = off <= tolerance * (1 + 1e-9) + 1e-12
    return close, "" if math.isinf(off) else f" &emsp; off by {off:.3g}"


def _written(answer: Any) -> str:
    if isinstance(answer, (list, tuple)):
        return "[" + ", ".join(map(_written, answer)) + "]"
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    return f"{answer:.6g}" if isinstance(answer, float) else escape(str(answer))


def quiz(question: str, choices: Mapping[str, str], answer: str) -> Any:
    """A question with choices, each of which is explained once it was chosen; any number of tries.

    Args:
        question: plain text, `code` in backticks; so are the choices and explanations.
        choices: {choice: explanation}, 2 to 8 of them.
        answer: the right choice.

    Returns:
        A box with `.buttons` and `.explanations`, dicts from the choices to their widgets.
    """
    import ipywidgets as widgets

    read_text("question", question)
    if not isinstance(choices, Mapping) or not 2 <= len(choices) <= 8:
        raise ValueError(f"choices must be a dict of 2 to 8 choices with their explanations; got {choices!r}.")
    for choice, explanation in choices.items():
        read_text("a choice", choice)
        read_text(f"the explanation of {choice!r}", explanation)
    if answer not in choices:
        raise ValueError(f"the answer {answer!r} is not among the choices: {', '.join(map(repr, choices))}.")

    buttons, explanations, rows = {}, {}, []
    for letter, (choice, explanation) in zip("ABCDEFGH", choices.items()):
        button = widgets.Button(
            description=letter, tooltip=f"Choose {letter}: {choice}", layout={"width": "2.6em", "flex": "0 0 auto"}
        )
        told = widgets.HTML()
        right = choice == answer
        verdict, colour = ("Right.", "passed") if right else ("Not this one.", "failed")

        def tell(
            _: Any, told: Any = told, told_as: str = note(f"<b>{verdict}</b> {inline(explanation)}", colour)
        ) -> None:
            told.value = told_as

        button.on_click(tell)
        buttons[choice], explanations[choice] = button, told
        rows += [widgets.HBox([button, widgets.HTML(line(inline(choice)))], layout={"align_items": "center"}), told]
    lettered = " ".join(f"{letter}) {choice}" for letter, choice in zip("ABCDEFGH", choices))
    words = f"Quiz. {question} {lettered} Choose in JupyterLab; every choice is explained."
    asked = widgets.HTML(line(f"<b>{inline(question)}</b>"))
    return panel_type()([asked, *rows], lambda: words, buttons=buttons, explanations=explanations)
