"""Explorer of the causal mask: slide along a sequence and see what each position may use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from utils import show
from utils.explore.panel import explorer, slider, two
from utils.show.arguments import read_whole
from utils.show.causal_attention import read_scores, shares


def causal(scores: Any, tokens: Sequence[str], position: int = 1, masked: bool = False) -> Any:
    """A slider for the position that asks, and the mask to switch on and off; its weights over the sequence.

    The static twin is `show.causal(scores, tokens, position)`.

    Args:
        scores: [seq, seq] scores, already scaled, before the softmax; finite; 2 to 16 positions.
        tokens: seq strings.
        position: where the slider starts.
        masked: whether the mask is on at the start.

    Returns:
        A box with `.position`, `.mask`, `.readout` and `.picture`.
    """
    import ipywidgets as widgets

    values, names = read_scores(scores, tokens)
    n = len(names)
    read_whole(position, "position", 0, n - 1)
    place = slider("IntSlider", "position", value=position, min=0, max=n - 1)
    mask = widgets.Checkbox(value=bool(masked), description="mask on", indent=False, layout={"width": "8em"})

    def draw() -> tuple[show.Picture, dict[str, str], str]:
        at = place.value
        free, seen = shares(values[at], n), at + 1 if mask.value else n
        weights = shares(values[at], seen)
        facts = {"asks": names[at], "may use": f"{seen} of {n}", "on the future": two(weights[at + 1 :].sum())}
        if at == n - 1:
            remark = "The last position has no future: the mask changes nothing."
        elif mask.value:
            left = free[:seen].sum()
            remark = "What the future held goes to the rest in proportion" + (
                f": each visible weight is {1 / left:.2f} times what it was."
                if left > 1e-3
                else ", which had next to nothing before."
            )
        else:
            remark = "The orange bars are tokens that do not exist yet when a model writes. Switch the mask on."
        return show.causal(values, names, at, bool(mask.value)), facts, remark

    about = (
        "Explorer: the weights of one position over its sequence, a slider for the position, and the mask to switch on"
        " and off."
    )
    return explorer([place, mask], draw, about, position=place, mask=mask)
