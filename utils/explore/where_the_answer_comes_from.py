"""Type a sentence and its twin: a table of every place where one vector can be exchanged; a click shows the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from utils.explore.panel import live, note, read_text
from utils.gpt2 import load_tokenizer
from utils.show.colours import DIVERGING
from utils.show.html import escape
from utils.show.words import token_label

MOST = 24  # tokens of a sentence: a button for each of them and each block


class _Pair:
    """Two texts of the same length, what a model answers to each, and what an exchanged vector makes of it."""

    def __init__(self, model: Any, patch: Callable[..., Tensor], clean: str, corrupted: str) -> None:
        self.model, self.patch = model, patch
        encode = load_tokenizer().encode
        self.clean, self.corrupted = (torch.tensor([encode(text)]) for text in (clean, corrupted))
        n, m = self.clean.shape[1], self.corrupted.shape[1]
        if n != m:
            raise ValueError(
                f"Tokens: {n} in the sentence, {m} in its twin. Exchange words for others of the same length."
            )
        if not 2 <= n <= MOST:
            raise ValueError(f"A sentence of 2 to {MOST} tokens is needed; this one has {n}.")
        if torch.equal(self.clean, self.corrupted):
            raise ValueError("The two sentences are the same: exchange a word in one of them.")
        with torch.no_grad():
            mine, other = (model(tokens)[0, -1].log_softmax(-1) for tokens in (self.clean, self.corrupted))
        self.right, self.wrong = int(mine.argmax()), int(other.argmax())
        if self.right == self.wrong:
            answer = load_tokenizer().decode([self.right])
            raise ValueError(f"Both sentences are continued with {answer!r}, so there is nothing to move.")
        self.ends = self._difference(mine), self._difference(other)
        self.seen: dict[tuple[int, int], Tensor] = {}

    @property
    def tokens(self) -> list[str]:
        decode = load_tokenizer().decode
        pairs = zip(self.clean[0].tolist(), self.corrupted[0].tolist())
        return [decode([a]) if a == b else f"{decode([a])}/{decode([b]).strip()}" for a, b in pairs]

    def at(self, layer: int, position: int) -> Tensor:
        """Log probabilities [vocab] of the next token with the vector at one place exchanged."""
        if (layer, position) not in self.seen:
            with torch.no_grad():
                logits = self.patch(self.model, self.clean, self.corrupted, layer, position)
            self.seen[layer, position] = logits[0, -1].log_softmax(-1)
        return self.seen[layer, position]

    def moved(self, layer: int, position: int) -> float:
        """How much of the answer moves: 0 as without an exchange, 1 as in the twin."""
        mine, other = self.ends
        return (mine - self._difference(self.at(layer, position))) / (mine - other)

    def _difference(self, logs: Tensor) -> float:
        return float(logs[self.right] - logs[self.wrong])


def patching(model: Any, patch: Callable[..., Tensor], clean: str, corrupted: str) -> Any:
    """A button for each block and position, coloured by how much of the answer moves there; a click tells the answer.

    The static twin is `show.effects`.

    Args:
        model: lesson 12's GPT.
        patch: lesson 13's `patch_stream`.
        clean, corrupted: what stands in the two boxes at first.

    Returns:
        A box with `.clean`, `.corrupted`, `.remark`, `.cells` (rows of buttons) and `.grid`.
    """
    import ipywidgets as widgets

    texts = [read_text("clean", clean), read_text("corrupted", corrupted)]
    style = {"description_width": "5em"}
    boxes = [
        widgets.Text(value=text, description=name, style=style, continuous_update=False, layout={"width": "auto"})
        for text, name in zip(texts, ("sentence", "its twin"))
    ]
    remark, grid = widgets.HTML(), widgets.GridBox()
    cells: list[list[Any]] = []

    def update() -> str:
        try:
            pair = _Pair(model, patch, *(box.value.strip() for box in boxes))
        except ValueError as error:
            remark.value, grid.children, cells[:] = note(escape(str(error)), "failed"), (), []
            return str(error)
        places = range(len(pair.tokens))
        cells[:] = [[_button(pair, layer, place, remark) for place in places] for layer in range(len(model.blocks))]
        rows = [[_name(""), *map(_name, pair.tokens)], *([_row(i), *row] for i, row in enumerate(cells))]
        # as wide as the page allows: no table that has to be scrolled
        grid.layout = {"grid_template_columns": f"5em repeat({len(places)}, minmax(0, 3em))", "grid_gap": "2px"}
        grid.children = [part for row in rows for part in row]
        words = _ends(pair)
        remark.value = note(escape(words))
        return words

    about = "Explorer: type a sentence and its twin, click on a place, and see the answer with the twin's vector there."
    parts = {"clean": boxes[0], "corrupted": boxes[1], "remark": remark, "cells": cells, "grid": grid}
    return live(boxes, update, [*boxes, remark, grid], about, **parts)


def _ends(pair: _Pair) -> str:
    decode = load_tokenizer().decode
    right, wrong = (repr(decode([token])) for token in (pair.right, pair.wrong))
    return f"The sentence is continued with {right}, its twin with {wrong}. Click on a place."


def _button(pair: _Pair, layer: int, position: int, remark: Any) -> Any:
    import ipywidgets as widgets

    share = pair.moved(layer, position)
    token = pair.tokens[position]
    where = f"before block {layer}, position {position} ({token.strip()})"
    button = widgets.Button(
        description=f"{share + 0.0:.1f}".replace("-0.0", "0.0"),
        tooltip=f"Exchange the vector {where}",
        layout={"width": "auto", "padding": "0", "margin": "0", "min_width": "0"},
    )
    button.style.font_size = "0.8em"
    button.style.button_color = _colour(share)
    button.style.text_color = "#1f2328"

    def tell(_: Any) -> None:
        probs, decode = pair.at(layer, position).exp(), load_tokenizer().decode
        names = [f"{decode([t])!r} {probs[t]:.1%}" for t in (pair.right, pair.wrong)]
        best = int(probs.argmax())
        other = "" if best in (pair.right, pair.wrong) else f"; the best is {decode([best])!r}, {probs[best]:.1%}"
        remark.value = note(escape(f"The twin's vector {where}: {', '.join(names)}{other}."))

    button.on_click(tell)
    return button


def _colour(share: float) -> str:
    """Red towards the twin's answer, blue away from it; pale enough for dark letters."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    return to_hex(colormaps[DIVERGING](0.5 + 0.3 * max(-1.0, min(1.0, share))))


def _name(token: str) -> Any:
    """A token, upright, above its column."""
    import ipywidgets as widgets

    upright = "writing-mode:vertical-rl;transform:rotate(180deg);line-height:1.2;margin:auto"
    text = f'<div style="{upright}">{escape(token_label(token, 14))}</div>' if token else ""
    return widgets.HTML(text, layout={"margin": "0", "min_width": "0", "align_self": "flex-end"})


def _row(layer: int) -> Any:
    import ipywidgets as widgets

    return widgets.Label(f"before {layer}", layout={"margin": "0", "width": "auto"})
