"""Explorers of scores and softmax: dot products as arrows, a softmax under factor and shift, and why 1/√d_k."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from utils import show
from utils.explore.panel import explorer, said, slider, two
from utils.show.arguments import read_names, read_numbers, read_whole
from utils.show.words import number_text


def dot_product() -> Any:
    """Two arrows whose angles and lengths are set by sliders; dot product, cosine and angle in numbers.

    The static twin is `show.vectors({"a": …, "b": …}, angle=("a", "b"))`.

    Returns:
        A box with `.angle_a`, `.length_a`, `.angle_b`, `.length_b`, `.readout` and `.picture`.
    """
    turns = {"min": -180, "max": 180, "step": 5}
    sizes = {"min": 0.0, "max": 2.0, "step": 0.1}
    angle_a = slider("IntSlider", "angle of a, °", value=20, **turns)
    length_a = slider("FloatSlider", "length of a", value=1.5, **sizes)
    angle_b = slider("IntSlider", "angle of b, °", value=80, **turns)
    length_b = slider("FloatSlider", "length of b", value=1.0, **sizes)

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
            "dot product": two(dot),
            "cosine": "none" if flat else two(cosine),
            "angle": "none" if flat else f"{between}°",
        }
        if flat:
            remark = "A vector of length 0 points nowhere: its dot product with anything is 0."
        elif dot == 0:
            remark = "At a right angle the dot product is 0, whatever the lengths."
        else:
            remark = "Positive: the arrows lean the same way." if dot > 0 else "Negative: the arrows lean apart."
        title = f"a · b = {number_text(dot)}"
        return show.vectors({"a": a, "b": b}, title=title, angle=("a", "b"), limit=2.2), facts, remark

    controls = [angle_a, length_a, angle_b, length_b]
    about = "Explorer: two arrows, sliders for their angles and lengths, and their dot product."
    parts = dict(zip(("angle_a", "length_a", "angle_b", "length_b"), controls))
    return explorer(controls, draw, about, **parts)


def softmax(scores: Any, labels: Sequence[str]) -> Any:
    """Sliders that multiply and shift scores: the factor sharpens the softmax, the shift changes nothing.

    The static twin is `show.bars({"scores": …, "weights": …}, labels)`.

    Args:
        scores: [n] finite numbers, at most 16.
        labels: n strings.

    Returns:
        A box with `.factor`, `.shift`, `.readout` and `.picture`.
    """
    given = torch.tensor(read_numbers(scores, "scores", [1], "a row of numbers").tolist(), dtype=torch.float64)
    names = read_names(labels, len(given), "labels", "scores")
    if len(given) > 16:
        raise ValueError(f"softmax shows at most 16 scores; got {len(given)}.")
    factor = slider("FloatSlider", "multiply by", value=4.0, min=0.0, max=20.0, step=0.5)
    shift = slider("FloatSlider", "then add", value=2.0, min=-10.0, max=10.0, step=0.5)
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
        groups = {"scores": moved, "weights": weights}
        return show.bars(groups, names, title=title, reference=reference, limit=1.0), facts, remark

    about = "Explorer: a row of scores beside its softmax, with sliders that multiply and shift the scores."
    return explorer([factor, shift], draw, about, factor=factor, shift=shift)


def scaling(seq: int = 6, seed: int = 29) -> Any:
    """The softmax of one row of random scores against d_k, with and without the division by √d_k.

    The query and the `seq` keys have standard normal entries; a smaller d_k uses their first entries, so that moving
    the slider changes d_k and not the luck of the draw. The default seed's draw goes the way that the mean of many
    goes. The static twin is `show.saturation()`.

    Returns:
        A box with `.d_k`, `.divide`, `.new_draw`, `.readout` and `.picture`.
    """
    import ipywidgets as widgets

    read_whole(seq, "seq", 2, 16)
    d_k = slider("SelectionSlider", "d_k", options=[2**k for k in range(11)], value=128)
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
        remark = f"Uniform weights would give {said(beside)}. "
        remark += f"The scores, {how}, have a standard deviation of {spread:.2f}."
        title = f"d_k = {d_k.value}, {how}: largest weight {facts['largest weight']}"
        names = [f"key {i}" for i in range(seq)]
        return show.bars(weights, names, title=title, reference=("uniform", 1 / seq), limit=1.0), facts, remark

    about = (
        "Explorer: the softmax of one row of random scores, a slider for d_k, and the division by √d_k to switch on."
    )
    panel = explorer([d_k, divide], draw, about, d_k=d_k, divide=divide, new_draw=new_draw)

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
