"""A line to type a word and a command into: the toy transformer goes on."""

from __future__ import annotations

import html
from typing import Any

import torch

from utils import toy
from utils.explore.panel import PLAIN, WRONG, note, panel_type


def writer(model: Any, tokenizer: Any, prompt: str = "strawberry upper") -> Any:
    """Type a word and a command; the model's text appears below, letter by letter right or wrong.

    The static twin is `print(generate_text(model, tokenizer, prompt))`.

    Returns:
        A box with `.box` and `.written`.
    """
    import ipywidgets as widgets

    box = widgets.Text(value=prompt, placeholder="minecraft upper", description="prompt", layout={"width": "30em"}, style={"description_width": "4em"})
    written = widgets.HTML()
    latest = {"said": ""}

    def redraw(*_: Any) -> None:
        asked = box.value.strip()
        try:
            text = _continued(model, tokenizer, asked)
        except ValueError as error:
            latest["said"] = str(error)
            written.value = note(html.escape(str(error)), WRONG)
            return
        latest["said"] = text
        new = html.escape(text[len(asked) :])
        right = toy.completed(asked) if asked.partition(" ")[2] in toy.COMMANDS else None
        remark = "" if right is None or right == text else f"<br>Right would be: {html.escape(right)}"
        written.value = note(f"<code>{html.escape(asked)}<b>{new}</b></code>{remark}", PLAIN if right in (None, text) else WRONG)

    box.observe(redraw, names="value")
    redraw()
    words = lambda: f"Explorer: type a word and echo or upper. Now: {latest['said']}"  # noqa: E731
    return panel_type()([box, written], words, box=box, written=written)


@torch.no_grad()
def _continued(model: Any, tokenizer: Any, prompt: str) -> str:
    """The prompt and at most 28 characters that the model writes after it."""
    if not prompt:
        raise ValueError("Type a word of 5 to 10 letters, a space, and echo or upper.")
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(28):
        new = model(ids)[:, -1].argmax(-1)
        if new == toy.STOP:
            break
        ids = torch.cat([ids, new[:, None]], dim=1)
    return tokenizer.decode(ids[0])
