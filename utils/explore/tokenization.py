"""Explorers of tokens: what a tokenizer makes of any text, and which token comes next under temperature and top-k."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import torch

from utils import show
from utils.explore.panel import explorer, facts_line, live, read_text, said, slider
from utils.show.colours import FAINT, INK, MUTED, VERMILION
from utils.show.html import escape, line
from utils.show.tokenization import CHIPS, chip_text, counted, quoted, shortened, token_of

LONGEST = 2000  # characters whose tokens are shown
MOST_CHIPS = 60  # of a text that grows, the last ones
BARS = 10
KS = (1, 2, 3, 5, 10, 20, 50, 100, 1000)


def encode(tokenizer: Any, text: str) -> list[int]:
    """The ids of a text. Half a surrogate pair, which a browser may send, becomes the replacement character."""
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    try:
        given = tokenizer.encode(whole, verbose=False)  # no warning about a model's longest input: there is no model
    except TypeError:
        given = tokenizer.encode(whole)
    return [int(number) for number in getattr(given, "ids", given)]


def chips(pieces: Sequence[str | bytes], ids: Sequence[int], marked: Collection[int] = ()) -> str:
    """Tokens as coloured spans with their ids, wrapping over lines; those at `marked` positions have an edge."""
    made = []
    for i, (piece, number) in enumerate(zip(pieces, ids)):
        edge = f"2px solid {VERMILION}" if i in marked else "2px solid transparent"
        style = (
            f"display:inline-block;background:{CHIPS[i % len(CHIPS)]};color:{INK};border:{edge};border-radius:5px;"
            "padding:1px 5px;margin:2px 1px;text-align:center;vertical-align:top;line-height:1.35;max-width:100%;"
            "overflow-wrap:anywhere"
        )
        shown = escape(shortened(chip_text(piece), 60))
        below = f'<span style="color:{MUTED};font-size:80%">{number}</span>'
        made.append(f'<span style="{style}">{shown}<br>{below}</span>')
    return f'<div style="max-width:52em;font-size:14px">{"".join(made)}</div>'


def _read_tokenizer(tokenizer: Any) -> Any:
    if not (hasattr(tokenizer, "encode") and hasattr(tokenizer, "decode")):
        got = type(tokenizer).__name__
        raise ValueError(f"tokenizer must have encode and decode, as load_tokenizer() gives it; got {got}.")
    return tokenizer


# ---------------------------------------------------------------- a text and its tokens


def tokens(tokenizer: Any, text: str = "Tokens are pieces of words: antidisestablishmentarianism, 12345, 😀.") -> Any:
    """A text box; as you type, the coloured tokens of the text with their ids, and how many there are.

    The static twin is `show.tokens(to_str_tokens(text, tokenizer), tokenizer.encode(text))`.

    Args:
        tokenizer: GPT-2's, or anything with `encode` and `decode`.
        text: what stands in the box at first.

    Returns:
        A box with `.text`, `.readout` and `.chips`.
    """
    import ipywidgets as widgets

    _read_tokenizer(tokenizer)
    read_text("text", text, empty=True)
    box = widgets.Textarea(
        value=text,
        placeholder="type a text",
        rows=3,
        continuous_update=True,
        layout={"width": "40em", "max_width": "calc(100% - 4px)"},
    )
    box.tooltip = "The text to split into tokens"
    readout, drawn = widgets.HTML(), widgets.HTML()

    def update() -> str:
        given = box.value
        ids = encode(tokenizer, given[:LONGEST])
        pieces = [token_of(tokenizer, number) for number in ids]
        characters = min(len(given), LONGEST)
        facts = {"tokens": f"{len(ids):,}", "characters": f"{characters:,}"}
        if ids:
            facts["characters per token"] = f"{characters / len(ids):.1f}"
        remark = _remark(given, pieces)
        readout.value = facts_line(facts) + line(escape(remark))
        drawn.value = chips(pieces, ids)
        some = " ".join(f"{quoted(piece)} {number}" for piece, number in zip(pieces[:40], ids))
        return f"{said(facts)}. {remark}" + (f" {some}{' …' if len(ids) > 40 else ''}." if ids else "")

    about = "Explorer: type a text in JupyterLab, and see its tokens with their ids."
    return live([box], update, [box, readout, drawn], about, text=box, readout=readout, chips=drawn)


def _remark(text: str, pieces: Sequence[str | bytes]) -> str:
    if not text:
        return "An empty text has no tokens: type something."
    if len(text) > LONGEST:
        return f"The text has {len(text):,} characters; these are the tokens of the first {LONGEST:,}."
    parts = sum(isinstance(piece, bytes) for piece in pieces)
    if parts:
        what = "1 token is only a part" if parts == 1 else f"{parts:,} tokens are only parts"
        return f"{what} of a character, and written as \\x…: its bytes are spread over several tokens."
    if any(isinstance(piece, str) and len(piece) > 1 and piece[0] == " " for piece in pieces):
        return "A space (·) belongs to the token that follows it."
    return "Type a space before a word, or a capital, and see another token."


# ---------------------------------------------------------------- the next token


def distribution(logits: torch.Tensor, temperature: float, k: int) -> torch.Tensor:
    """The probabilities [vocab] that are drawn from: the k highest logits, divided by the temperature, then softmax.

    At temperature 0 all of it is on the highest logit (the first of equal ones): greedy.
    """
    order = torch.argsort(logits, descending=True, stable=True)
    if temperature == 0:
        k, temperature = 1, 1.0
    kept = torch.full_like(logits, -torch.inf)
    kept[order[:k]] = logits[order[:k]] / temperature
    return kept.softmax(-1)


class _Writer:
    """A text that grows by one token at a time, and the logits of what comes next: one pass of the model for each
    text."""

    def __init__(self, model: Any, tokenizer: Any, seed: int) -> None:
        self.model, self.tokenizer = model, tokenizer
        self.generator = torch.Generator().manual_seed(seed)
        config = getattr(model, "config", None)
        self.longest = getattr(config, "n_positions", None) or getattr(config, "max_position_embeddings", None)
        self.start: list[int] = []  # the prompt's tokens
        self.drawn: list[int] = []
        self.logits = torch.zeros(0)

    def begin(self, text: str) -> None:
        """Take a new prompt, or raise a ValueError and keep the old one."""
        ids = encode(self.tokenizer, text)
        first = getattr(self.tokenizer, "bos_token_id", None)
        if not ids and first is None:
            raise ValueError("An empty text has no last token to go on from: write at least one word.")
        self._read(ids or [first])
        self.start, self.drawn = ids or [first], []

    def go_on(self, number: int) -> None:
        self._read([*self.start, *self.drawn, number])
        self.drawn.append(number)

    def again(self) -> None:
        self._read(self.start)
        self.drawn = []

    def _read(self, ids: list[int]) -> None:
        if self.longest and len(ids) > self.longest:
            raise ValueError(f"That makes {len(ids):,} tokens, and this model reads at most {self.longest:,}.")
        training = getattr(self.model, "training", False)
        place = next((p.device for p in self.model.parameters()), None) if hasattr(self.model, "parameters") else None
        try:
            if training:
                self.model.eval()
            with torch.no_grad():
                logits = self.model(torch.tensor([ids], device=place)).logits
        finally:
            if training:
                self.model.train()
        self.logits = logits[0, -1].double().cpu()


def next_token(
    model: Any,
    tokenizer: Any,
    prompt: str = "When Mary and John went to the store, John gave a drink to",
    seed: int = 0,
) -> Any:
    """The likeliest next tokens of a prompt, with sliders for temperature and k, and a button that draws one.

    The static twin is `show.next_tokens(logits[0, -1].softmax(-1), tokenizer)`.

    Args:
        model: called with ids [1, seq], gives something with `.logits` [1, seq, vocab]; GPT-2, for example.
        tokenizer: its tokenizer.
        prompt: what stands in the box at first. An empty one starts from the tokenizer's BOS token.
        seed: for the draws; the global generator is left alone.

    Returns:
        A box with `.prompt`, `.temperature`, `.k`, `.sample`, `.start_over`, `.readout`, `.picture` and `.so_far`.
    """
    import ipywidgets as widgets

    _read_tokenizer(tokenizer)
    read_text("prompt", prompt, empty=True)
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ValueError(f"seed must be a whole number; got {seed!r}.")
    writer = _Writer(model, tokenizer, seed)
    writer.begin(prompt)
    vocab = len(writer.logits)

    box = widgets.Text(
        value=prompt, description="prompt", continuous_update=False, placeholder="type a text, then press Enter",
        layout={"width": "46em", "max_width": "calc(100% - 4px)"}, style={"description_width": "7.5em"},
    )  # fmt: skip
    temperature = slider("FloatSlider", "temperature", value=1.0, min=0.0, max=2.0, step=0.1)
    options = [(str(k), k) for k in KS if k < vocab] + [("all", vocab)]
    k = slider("SelectionSlider", "keep the top", options=options, value=vocab)
    sample = widgets.Button(description="Sample", button_style="primary", tooltip="Draw a token and append it")
    start_over = widgets.Button(description="Start over", tooltip="Go back to the prompt")
    so_far = widgets.HTML()
    state = {"remark": ""}

    def draw() -> tuple[show.Picture, dict[str, str], str]:
        own = writer.logits.softmax(-1)
        probs = distribution(writer.logits, temperature.value, k.value)
        order = torch.argsort(writer.logits, descending=True, stable=True)[:BARS]
        labels = [quoted(token_of(tokenizer, int(number))) for number in order]
        facts = {
            "likeliest": f"{probs.max():.2f}",
            "entropy": f"{show.entropy(probs):.2f}",
            "tokens that carry 90 %": f"{_carriers(probs):,}",
        }
        so_far.value = _so_far(writer, tokenizer)
        groups = {"the model's own": own[order], _setting(temperature.value, k.value, vocab): probs[order]}
        title = f"Next token: {labels[0]} with probability {probs[order[0]]:.2f}"
        picture = show.bars(groups, labels, title=title, same_scale=True, limit=1.0)
        return picture, facts, state["remark"] or _advice(temperature.value, k.value, vocab)

    def changed(_: Any) -> None:
        state["remark"] = ""

    temperature.observe(changed, names="value")
    k.observe(changed, names="value")
    about = (
        "Explorer: the likeliest next tokens of a prompt, sliders for temperature and k, and a button that draws one."
    )
    buttons = {"sample": sample, "start_over": start_over}
    panel = explorer([temperature, k], draw, about, prompt=box, temperature=temperature, k=k, so_far=so_far, **buttons)

    def attempt(act: Any, told: str = "") -> None:
        try:
            state["remark"] = act() or told
        except ValueError as problem:
            state["remark"] = f"{problem} The picture is still that of the text before."
        panel.redraw()

    def pick() -> str:
        probs = distribution(writer.logits, temperature.value, k.value)
        number = int(torch.multinomial(probs, 1, generator=writer.generator))
        chance = probs[number].item()
        rank = int((writer.logits > writer.logits[number]).sum()) + 1
        writer.go_on(number)
        name = quoted(token_of(tokenizer, number))
        if chance == 1:
            return f"Taken: {name}, the only one that is left to draw from."
        return f"Drawn: {name}, which had the probability {chance:.2f} and was number {rank:,} in the model's order."

    box.observe(lambda _: attempt(lambda: writer.begin(box.value)), names="value")
    sample.on_click(lambda _: attempt(pick))
    start_over.on_click(lambda _: attempt(writer.again, "Back to the prompt."))
    panel.children = (box, *panel.children[:1], widgets.HBox([sample, start_over]), so_far, *panel.children[1:])
    return panel


def _setting(temperature: float, k: int, vocab: int) -> str:
    kept = "all kept" if k >= vocab else f"top {k}"
    return f"temperature {temperature:.1f}, {kept}"


def _carriers(probs: torch.Tensor, share: float = 0.9) -> int:
    """How many of the likeliest tokens it takes to reach `share` of the probability."""
    total = probs.sort(descending=True).values.cumsum(0)
    return int((total < share * total[-1] - 1e-12).sum()) + 1


def _advice(temperature: float, k: int, vocab: int) -> str:
    if temperature == 0:
        return "Temperature 0 is greedy: the likeliest token is taken every time, and k does not matter."
    if k == 1:
        return "With one token kept there is nothing to choose from: greedy again, at any temperature."
    if k < vocab:
        return f"Only the {k} likeliest can be drawn; their probabilities are scaled up to sum to 1."
    if temperature == 1:
        return "At temperature 1, with all tokens kept, these are the model's own probabilities."
    if temperature < 1:
        return "Below 1 the temperature stretches differences between logits: likely tokens gain."
    return "Above 1 the temperature shrinks differences between logits: unlikely tokens gain."


def _so_far(writer: _Writer, tokenizer: Any) -> str:
    ids = [*writer.start, *writer.drawn]
    hidden = max(0, len(ids) - MOST_CHIPS)
    pieces = [token_of(tokenizer, number) for number in ids[hidden:]]
    before = line(f"… {counted(hidden, 'token')} before") if hidden else ""
    marked = range(max(0, len(writer.start) - hidden), len(ids) - hidden)
    style = f"border-bottom:1px solid {FAINT};padding-bottom:4px"
    return f'<div style="{style}">{before}{chips(pieces, ids[hidden:], marked)}</div>'
