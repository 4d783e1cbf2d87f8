"""Every explorer of the course: offline widgets that start at an interesting setting and show the number that changes.

Each function returns a box of ipywidgets. Where widgets cannot be shown (a terminal, a printed page, CI) it is a
sentence that says the same; the static twins of the pictures are in `utils.show`.
"""

from __future__ import annotations

import functools
import html
import math
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import torch

from utils import show
from utils.report import inline

DPI = 150  # an explorer redraws while a slider moves: sharp enough, and half the work of a static figure
RIGHT, WRONG, PLAIN = "#00795a", "#c24e00", "#57606a"


@functools.cache
def _panel_type() -> type:
    """The class of every explorer, made on first use: importing this module must not import ipywidgets."""
    import ipywidgets

    class Panel(ipywidgets.VBox):
        """A column of widgets that has words for where it cannot be shown.

        Args:
            children: the widgets, top to bottom.
            describe: gives the sentence.
            parts: widgets, and what else tests and lessons may reach, as attributes.
        """

        def __init__(self, children: Sequence[Any], describe: Callable[[], str], **parts: Any) -> None:
            super().__init__(children)
            self.describe = describe
            for name, part in parts.items():
                setattr(self, name, part)

        def __repr__(self) -> str:
            return self.describe()

        def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
            return {**super()._repr_mimebundle_(**kwargs), "text/plain": self.describe()}

    return Panel


def _text(name: str, value: Any, empty: bool = False) -> str:
    if not isinstance(value, str) or not (empty or value.strip()):
        raise ValueError(f"{name} must be a string with something in it; got {value!r}.")
    return value


def _note(text: str, colour: str = PLAIN) -> str:
    """A remark with a coloured edge. It takes the page's own text colour, so it is legible in light and dark."""
    style = f"border-left:4px solid {colour};padding:2px 10px;line-height:1.5;max-width:46em"
    return f'<div role="status" style="{style}">{text}</div>'


def _line(text: str) -> str:
    return f'<div style="line-height:1.5;max-width:46em">{text}</div>'


def _two(x: float) -> str:
    """Two decimals, and no sign on a zero."""
    return f"{round(x, 2) + 0.0:.2f}"


def _facts(facts: Mapping[str, str]) -> str:
    return _line(" &emsp; ".join(f"{html.escape(name)} <b>{html.escape(value)}</b>" for name, value in facts.items()))


def _said(facts: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in facts.items())


# ---------------------------------------------------------------- a guess before the truth


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

    _text("question", question)
    _text("explain", explain, empty=True)
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
        result.value = _note(verdict + why, colour)
        for part in (guess, button, show_me):
            part.disabled = True

    def judge(*_: Any) -> None:
        text = guess.value.strip()
        given = read(text) if text else None
        if given is None:
            result.value = _note(f"Write {wanted} first; a guess costs nothing." if not text else f"Write {wanted}.")
            return
        right, off = _compare(given, answer, tolerance)
        truth = f"Your guess: <b>{html.escape(text)}</b> &emsp; The answer: <b>{_written(answer)}</b>"
        reveal(f"{'Right.' if right else 'Not this time.'} {truth}{off}", RIGHT if right else WRONG)

    def give_up(*_: Any) -> None:
        reveal(f"The answer: <b>{_written(answer)}</b>", PLAIN)

    def message(_: Any, content: Mapping[str, Any], buffers: Any) -> None:
        if content.get("event") == "submit" and not guess.disabled:  # Enter; leaving the field is not a guess
            judge()

    guess.on_msg(message)
    button.on_click(judge)
    show_me.on_click(give_up)
    row = widgets.HBox([guess, button, show_me], layout={"flex_flow": "row wrap"})
    asked = widgets.HTML(_line(f"<b>Predict.</b> {inline(question)}"))
    words = f"Predict. {question} Write the answer down, then type it in JupyterLab."
    return _panel_type()(
        [asked, row, result], lambda: words, guess=guess, button=button, show_me=show_me, result=result
    )


def _reader(answer: Any) -> tuple[Callable[[str], Any], str]:
    """How to read a guess (None if it cannot be), and what to ask for."""
    if isinstance(answer, bool):
        return lambda text: {"true": True, "yes": True, "y": True, "false": False, "no": False, "n": False}.get(text.lower()), "yes or no"
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
    return f"{answer:.6g}" if isinstance(answer, float) else html.escape(str(answer))


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

    _text("question", question)
    if not isinstance(choices, Mapping) or not 2 <= len(choices) <= 8:
        raise ValueError(f"choices must be a dict of 2 to 8 choices with their explanations; got {choices!r}.")
    for choice, explanation in choices.items():
        _text("a choice", choice)
        _text(f"the explanation of {choice!r}", explanation)
    if answer not in choices:
        raise ValueError(f"the answer {answer!r} is not among the choices: {', '.join(map(repr, choices))}.")

    buttons, explanations, rows = {}, {}, []
    for letter, (choice, explanation) in zip("ABCDEFGH", choices.items()):
        button = widgets.Button(
            description=letter, tooltip=f"Choose {letter}: {choice}", layout={"width": "2.6em", "flex": "0 0 auto"}
        )
        told = widgets.HTML()
        right = choice == answer
        verdict, colour = ("Right.", RIGHT) if right else ("Not this one.", WRONG)

        def tell(
            _: Any, told: Any = told, note: str = _note(f"<b>{verdict}</b> {inline(explanation)}", colour)
        ) -> None:
            told.value = note

        button.on_click(tell)
        buttons[choice], explanations[choice] = button, told
        rows += [widgets.HBox([button, widgets.HTML(_line(inline(choice)))], layout={"align_items": "center"}), told]
    lettered = " ".join(f"{letter}) {choice}" for letter, choice in zip("ABCDEFGH", choices))
    words = f"Quiz. {question} {lettered} Choose in JupyterLab; every choice is explained."
    asked = widgets.HTML(_line(f"<b>{inline(question)}</b>"))
    return _panel_type()([asked, *rows], lambda: words, buttons=buttons, explanations=explanations)


# ---------------------------------------------------------------- pictures that move


def _explorer(
    controls: Sequence[Any], draw: Callable[[], tuple[show.Picture, dict[str, str], str]], about: str, **parts: Any
) -> Any:
    """A panel whose picture, numbers and remark follow its controls.

    `draw` reads the controls and gives a picture, the numbers that change, and one sentence on them.
    """
    import ipywidgets as widgets

    picture, readout = widgets.HTML(), widgets.HTML()
    latest = {}

    def redraw(*_: Any) -> None:
        drawn, facts, remark = draw()
        latest["said"] = f"{_said(facts)}. {remark}"
        picture.value = drawn.html(DPI)
        readout.value = _facts(facts) + _line(html.escape(remark))

    for control in controls:
        control.observe(redraw, names="value")
    redraw()
    box = widgets.HBox(controls, layout={"flex_flow": "row wrap"})
    words = lambda: f"{about} Now: {latest['said']}"
    return _panel_type()([box, readout, picture], words, picture=picture, readout=readout, redraw=redraw, **parts)


def _slider(kind: str, description: str, **settings: Any) -> Any:
    import ipywidgets as widgets

    layout, style = {"width": "23em"}, {"description_width": "7.5em"}
    return getattr(widgets, kind)(description=description, layout=layout, style=style, **settings)


def dot_product() -> Any:
    """Two arrows whose angles and lengths are set by sliders; dot product, cosine and angle in numbers.

    The static twin is `show.vectors({"a": …, "b": …}, angle=("a", "b"))`.

    Returns:
        A box with `.angle_a`, `.length_a`, `.angle_b`, `.length_b`, `.readout` and `.picture`.
    """
    turns = {"min": -180, "max": 180, "step": 5}
    sizes = {"min": 0.0, "max": 2.0, "step": 0.1}
    angle_a = _slider("IntSlider", "angle of a, °", value=20, **turns)
    length_a = _slider("FloatSlider", "length of a", value=1.5, **sizes)
    angle_b = _slider("IntSlider", "angle of b, °", value=80, **turns)
    length_b = _slider("FloatSlider", "length of b", value=1.0, **sizes)

    def draw() -> tuple[show.Picture, dict[str, str], str]:
        ends = [(angle_a.value, length_a.value), (angle_b.value, length_b.value)]
        a, b = (
            torch.tensor([math.cos(math.radians(t)), math.sin(math.radians(t))], dtype=torch.float64) * r
            for t, r in ends
        )
        dot = round((a @ b).item(), 9)  # cos 90° is 6e-17 on a computer
        between = abs((angle_b.value - angle_a.value + 180) % 360 - 180)
        cosine = round(math.cos(math.radians(between)), 9)
        flat = length_a.value == 0 or length_b.value == 0
        facts = {
            "dot product": _two(dot),
            "cosine": "none" if flat else _two(cosine),
            "angle": "none" if flat else f"{between}°",
        }
        if flat:
            remark = "A vector of length 0 points nowhere: its dot product with anything is 0."
        elif dot == 0:
            remark = "At a right angle the dot product is 0, whatever the lengths."
        else:
            remark = "Positive: the arrows lean the same way." if dot > 0 else "Negative: the arrows lean apart."
        title = f"a · b = {show._number(dot)}"
        return show.vectors({"a": a, "b": b}, title=title, angle=("a", "b"), limit=2.2), facts, remark

    controls = [angle_a, length_a, angle_b, length_b]
    about = "Explorer: two arrows, sliders for their angles and lengths, and their dot product."
    parts = dict(zip(("angle_a", "length_a", "angle_b", "length_b"), controls))
    return _explorer(controls, draw, about, **parts)


def scaling(seq: int = 6, seed: int = 29) -> Any:
    """The softmax of one row of random scores against d_k, with and without the division by √d_k.

    The query and the `seq` keys have standard normal entries; a smaller d_k uses their first entries, so that moving
    the slider changes d_k and not the luck of the draw. The default seed's draw goes the way that the mean of many
    goes. The static twin is `show.saturation()`.

    Returns:
        A box with `.d_k`, `.divide`, `.new_draw`, `.readout` and `.picture`.
    """
    import ipywidgets as widgets

    if isinstance(seq, bool) or not isinstance(seq, int) or not 2 <= seq <= 16:
        raise ValueError(f"seq must be a whole number from 2 to 16; got {seq!r}.")
    d_k = _slider("SelectionSlider", "d_k", options=[2**k for k in range(11)], value=128)
    divide = widgets.Checkbox(value=False, description="divide by √d_k", indent=False, layout={"width": "10em"})
    new_draw = widgets.Button(description="New draw", tooltip="Draw another query and other keys")
    state = {"seed": seed}
    uniform = torch.full((seq,), 1 / seq, dtype=torch.float64)

    def draw() -> tuple[show.Picture, dict[str, str], str]:
        generator = torch.Generator().manual_seed(state["seed"])
        rows = torch.randn(seq + 1, 1024, generator=generator, dtype=torch.float64)[:, : d_k.value]
        scores = rows[1:] @ rows[0] / (d_k.value**0.5 if divide.value else 1)
        weights = scores.softmax(-1)
        facts, beside = _sharpness(weights), _sharpness(uniform)
        how = "divided by √d_k" if divide.value else "not scaled"
        spread = scores.std(correction=0)
        remark = (
            f"Uniform weights would give {_said(beside)}. The scores, {how}, have a standard deviation of {spread:.2f}."
        )
        title = f"d_k = {d_k.value}, {how}: largest weight {facts['largest weight']}"
        names = [f"key {i}" for i in range(seq)]
        return show.bars(weights, names, title=title, reference=("uniform", 1 / seq), limit=1.0), facts, remark

    about = (
        "Explorer: the softmax of one row of random scores, a slider for d_k, and the division by √d_k to switch on."
    )
    panel = _explorer([d_k, divide], draw, about, d_k=d_k, divide=divide, new_draw=new_draw)

    def again(_: Any) -> None:
        state["seed"] += 1
        panel.redraw()

    new_draw.on_click(again)
    panel.children[0].children += (new_draw,)
    return panel


def _sharpness(weights: torch.Tensor) -> dict[str, str]:
    facts = {
        "largest weight": weights.max(),
        "entropy": show.entropy(weights),
        "size of the gradient": show.jacobian_norm(weights),
    }
    return {name: f"{fact:.2f}" for name, fact in facts.items()}


def softmax(scores: Any, labels: Sequence[str]) -> Any:
    """Sliders that multiply and shift scores: the factor sharpens the softmax, the shift changes nothing.

    The static twin is `show.bars({"scores": …, "weights": …}, labels)`.

    Args:
        scores: [n] finite numbers, at most 16.
        labels: n strings.

    Returns:
        A box with `.factor`, `.shift`, `.readout` and `.picture`.
    """
    given = torch.tensor(show._numbers(scores, "scores", [1], "a row of numbers").tolist(), dtype=torch.float64)
    names = show._names(labels, len(given), "labels", "scores")
    if len(given) > 16:
        raise ValueError(f"softmax shows at most 16 scores; got {len(given)}.")
    factor = _slider("FloatSlider", "multiply by", value=4.0, min=0.0, max=20.0, step=0.5)
    shift = _slider("FloatSlider", "then add", value=2.0, min=-10.0, max=10.0, step=0.5)
    before = given.softmax(-1)

    def draw() -> tuple[show.Picture, dict[str, str], str]:
        moved = given * factor.value + shift.value
        weights = moved.softmax(-1)
        by_shift = (weights - (given * factor.value).softmax(-1)).abs().max().item()
        facts = {
            "largest weight": f"{weights.max():.2f}",
            "of the given scores": f"{before.max():.2f}",
            "changed by the shift": f"{by_shift:.4f}",
        }
        remark = "Softmax looks at differences between scores: a factor stretches them, a shift leaves them alone."
        sign = "−" if shift.value < 0 else "+"
        title = f"Scores × {factor.value:g} {sign} {abs(shift.value):g}: the largest weight is {weights.max():.2f}"
        reference = ("uniform", 1 / len(given))
        return (
            show.bars({"scores": moved, "weights": weights}, names, title=title, reference=reference, limit=1.0),
            facts,
            remark,
        )

    about = "Explorer: a row of scores beside its softmax, with sliders that multiply and shift the scores."
    return _explorer([factor, shift], draw, about, factor=factor, shift=shift)
