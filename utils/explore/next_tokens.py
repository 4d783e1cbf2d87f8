"""Explorer of the next token: which ones are likely under temperature and top-k, and what a text becomes by drawing."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from utils.explore.tokenization import encode, require_tokenizer
from utils.explore.widget import make_widget, parse_text
from utils.show.tokenization import chip_text, decode_token, quote_token

NAMED = 1000  # of the likeliest tokens the page knows the names
CHIPS = 60  # of a text that grows, the last ones
KS = (1, 2, 3, 5, 10, 20, 50, 100, 1000)


def next_token(
    model: Any,
    tokenizer: Any,
    prompt: str = "When Mary and John went to the store, John gave a drink to",
    seed: int = 0,
) -> Any:
    """The likeliest next tokens of a prompt, with sliders for temperature and k, and a button that draws one.

    All logits are in the page, so that its probabilities are exact; for the logits after another token, or of another
    prompt, it asks the kernel. The static twin is `show.next_tokens(logits[0, -1].softmax(-1), tokenizer)`.

    Args:
        model: called with ids [1, seq], gives something with `.logits` [1, seq, vocab]; GPT-2, for example.
        tokenizer: its tokenizer.
        prompt: what stands in the box at first. An empty one starts from the tokenizer's BOS token.
        seed: for the draws; the global generator is left alone.

    Returns:
        A widget whose `state` has `prompt`, `temperature` and `k`, and `now`, the text that has grown.

    Raises:
        ValueError: an argument of another kind, or a prompt that the model cannot read.
    """
    require_tokenizer(tokenizer)
    parse_text("prompt", prompt, empty=True)
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ValueError(f"seed must be a whole number; got {seed!r}.")
    reader = _NextTokenService(model, tokenizer)
    first = reader.answer({"text": prompt})
    vocab = first["vocab"]
    words = (
        "Explorer: the likeliest next tokens of a prompt, sliders for temperature and k, and a button that draws one."
    )
    start = {"prompt": prompt, "first": first, "ks": [*(k for k in KS if k < vocab), vocab], "seed": seed % 2**32}
    state = {"prompt": prompt, "temperature": 1.0, "k": vocab, "draws": 0, "base": None, "now": None, "told": None}

    def heard(widget: Any, message: Mapping[str, Any]) -> None:
        try:
            answer = reader.answer(message)
        except Exception as problem:  # the model is anybody's: the page waits for an answer
            answer = {"refused": str(problem) or type(problem).__name__}
        widget.send({"ask": message["ask"], **answer})

    return make_widget("next_tokens", words, start, state, on_message=heard)


class _NextTokenService:
    """What comes after a text, by one pass of the model for each."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.model, self.tokenizer = model, tokenizer
        config = getattr(model, "config", None)
        self.longest = getattr(config, "n_positions", None) or getattr(config, "max_position_embeddings", None)

    def answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Of `{"text"}`, or of `{"ids", "drawn"}`, the last `drawn` of which were drawn; with a `rank`, of these ids
        and the token that has that rank after them.

        Raises:
            ValueError: the text is empty, or longer than the model can read.
        """
        ids, drawn = list(message.get("ids", [])), message.get("drawn", 0)
        if "text" in message:
            ids = self._ids(message["text"])
        if "rank" in message:
            ids.append(int(_rank_tokens(self._logits(ids))[message["rank"]]))
        logits = self._logits(ids)
        order = _rank_tokens(logits)
        names = [[int(number), quote_token(decode_token(self.tokenizer, int(number)))] for number in order[:NAMED]]
        pieces = [chip_text(decode_token(self.tokenizer, number)) for number in ids[-CHIPS:]]
        values = base64.b64encode(pack_descending(logits[order].numpy())).decode("ascii")
        return {"ids": ids, "drawn": drawn, "pieces": pieces, "vocab": len(logits), "names": names, "values": values}

    def _ids(self, text: str) -> list[int]:
        ids = encode(self.tokenizer, text)
        first = getattr(self.tokenizer, "bos_token_id", None)
        if not ids and first is None:
            raise ValueError("An empty text has no last token to go on from: write at least one word.")
        return ids or [first]

    def _logits(self, ids: Sequence[int]) -> torch.Tensor:
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
        row = logits[0, -1].float().cpu()
        if not row.isfinite().any() or row.isnan().any() or row.isposinf().any():
            raise ValueError("The model's logits hold nan or inf: nothing can be drawn from them.")
        return row


def _rank_tokens(logits: torch.Tensor) -> torch.Tensor:
    """The ids from the highest logit down, the first of equal ones first."""
    return torch.argsort(logits, descending=True, stable=True)


def pack_descending(values: np.ndarray) -> bytes:
    """float32 numbers that fall, exactly: as whole numbers in the same order, each by how far it lies below the one
    before.

    Such a step is written in bytes of seven bits, the lowest first, with the eighth set in all but the last. A step of
    0 is followed by how often it comes: most tokens of the small GPT-2 have one and the same logit.
    """
    bits = (values.astype(np.float32) + 0.0).view(np.int32).astype(np.int64)
    ordered = np.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
    made = bytearray()
    for step, group in itertools.groupby(np.diff(ordered, prepend=2**31).tolist()):
        count = len(list(group))
        for number in [0, count] if step == 0 else [-step] * count:
            made += _seven_bits(number)
    return bytes(made)


def _seven_bits(number: int) -> bytes:
    made = bytearray()
    while number > 127:
        made.append(128 | number & 127)
        number >>= 7
    return bytes([*made, number])
