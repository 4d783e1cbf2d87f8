"""A line to type a word and a command into: the toy transformer goes on."""

from __future__ import annotations

from typing import Any

import torch

from utils.explore.panel import live, note
from utils.models import toy_transformer as toy
from utils.show.html import escape


def writer(model: Any, tokenizer: Any, prompt: str = "strawberry upper") -> Any:
    """Type a word and a command; the model's text appears below, letter by letter right or wrong.

    The static twin is `print(generate_text(model, tokenizer, prompt))`.

    Returns:
        A box with `.box` and `.written`.
    """
    import ipywidgets as widgets

    layout, style = {"width": "30em"}, {"description_width": "4em"}
    box = widgets.Text(value=prompt, placeholder="minecraft upper", description="prompt", layout=layout, style=style)
    written = widgets.HTML()

    def update() -> str:
        asked = box.value.strip()
        try:
            text = _continued(model, tokenizer, asked)
        except ValueError as error:
            written.value = note(escape(str(error)), "failed")
            return str(error)
        right = toy.completed(asked) if asked.partition(" ")[2] in toy.COMMANDS else text
        remark = "" if right == text else f"<br>Right would be: {escape(right)}"
        both = f"<code>{escape(asked)}<b>{escape(text[len(asked) :])}</b></code>"
        written.value = note(both + remark, "todo" if right == text else "failed")
        return text

    about = "Explorer: type a word and echo or upper."
    return live([box], update, [box, written], about, box=box, written=written)


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
