"""Provide an explorer for the next token: its likeliest candidates, and a text that grows by sampling."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from utils.explore.tokenization import encode, require_tokenizer
from utils.show.tokenization import chip_text, decode_token, quote_token
from utils.show.widget import Widget, make_widget, parse_text

NAMED = 1000  # the browser receives the names of this many tokens, the most likely ones
CHIPS = 60  # the browser shows only the last tokens of a text, at most this many
KS = (1, 2, 3, 5, 10, 20, 50, 100, 1000)


def next_token(
    model: Any,
    tokenizer: Any,
    prompt: str = "When Mary and John went to the store, John gave a drink to",
    seed: int = 0,
) -> Widget:
    """Show a prompt's likeliest next tokens, with sliders for temperature and k, and a button that samples a token.

    The browser receives all logits, so the probabilities that it computes are exact. For each new token or prompt, it
    asks the kernel for new logits. The static version is `show.next_tokens(logits[0, -1].softmax(-1), tokenizer)`.

    Args:
        model: a function of ids [1, seq] that returns logits [1, seq, vocab], or an object with such `.logits`; for
            example GPT-2.
        tokenizer: the model's tokenizer.
        prompt: the initial content of the text box. If it is empty, the text starts from the tokenizer's BOS token.
        seed: the seed for sampling. The global generator is not used.

    Returns:
        A widget whose `state` has `prompt`, `temperature`, `k`, and `now` (the prompt followed by the sampled tokens).

    Raises:
        ValueError: an argument has the wrong type, or the model cannot read the prompt.
    """
    require_tokenizer(tokenizer)
    if not callable(model):
        raise ValueError(f"model must be a function of ids [1, seq], such as GPT-2; got {type(model).__name__}.")
    parse_text("prompt", prompt, empty=True)
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ValueError(f"seed must be a whole number; got {seed!r}.")
    reader = _NextTokenService(model, tokenizer)
    first = reader.answer({"text": prompt})
    vocab = first["vocab"]
    words = "Explorer: the likeliest next tokens of a prompt, with sliders for temperature and k, and a button that"
    words += " samples one."
    start = {"prompt": prompt, "first": first, "ks": [*(k for k in KS if k < vocab), vocab], "seed": seed % 2**32}
    state = {"prompt": prompt, "temperature": 1.0, "k": vocab, "draws": 0, "base": None, "now": None, "told": None}

    def answer_question(widget: Widget, message: Mapping[str, Any]) -> None:
        try:
            answer = reader.answer(message)
        except Exception as problem:  # a learner's model may raise any exception, but the browser needs a reply
            answer = {"refused": str(problem) or type(problem).__name__}
        widget.send({"ask": message["ask"], **answer})

    return make_widget(__file__, words, start, state, on_message=answer_question)


class _NextTokenService:
    """Runs the model to answer the browser's requests."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.model, self.tokenizer = model, tokenizer
        config = getattr(model, "config", None)
        self.longest = getattr(config, "n_positions", None) or getattr(config, "max_position_embeddings", None)

    def answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return the tokens of a text, and the logits of the token that follows the text.

        Args:
            message: `{"text"}`, or `{"ids", "drawn"}`, where the last `drawn` ids were sampled. If the message contains
                a `rank`, the next-token candidate with this rank is first appended to the ids.

        Raises:
            ValueError: the text is empty or too long for the model, or the logits have the wrong shape or contain nan.
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
        first: int | None = getattr(self.tokenizer, "bos_token_id", None)
        if ids:
            return ids
        if first is not None:
            return [first]
        raise ValueError("An empty text has no token to continue from: write at least one word.")

    def _logits(self, ids: Sequence[int]) -> Float[Tensor, "vocab"]:
        if self.longest and len(ids) > self.longest:
            raise ValueError(f"The text has {len(ids):,} tokens, but this model reads at most {self.longest:,}.")
        training = getattr(self.model, "training", False)
        place = next((p.device for p in self.model.parameters()), None) if hasattr(self.model, "parameters") else None
        try:
            if training:
                self.model.eval()
            with torch.no_grad():
                output = self.model(torch.tensor([ids], device=place))
        finally:
            if training:
                self.model.train()
        logits = getattr(output, "logits", output)
        if not isinstance(logits, Tensor) or logits.ndim != 3:
            got = list(logits.shape) if isinstance(logits, Tensor) else type(logits).__name__
            raise ValueError(f"model must return logits [1, seq, vocab], or an object with such .logits; got {got}.")
        row = logits[0, -1].float().cpu()
        if not row.isfinite().any() or row.isnan().any() or row.isposinf().any():
            raise ValueError("The model's logits contain nan or inf, so no token can be sampled.")
        return row


def _rank_tokens(logits: Float[Tensor, "vocab"]) -> Int[Tensor, "vocab"]:
    """Return the ids sorted by descending logit, with ties sorted by ascending id."""
    return torch.argsort(logits, descending=True, stable=True)


def pack_descending(values: np.ndarray) -> bytes:
    """Compress descending float32 numbers without loss.

    Each number is mapped to an integer, and larger numbers get larger integers. Only the differences between successive
    integers are stored. Each difference takes as many bytes as it needs, with seven bits per byte and the lowest bits
    first. The eighth bit is set in all bytes except the last. Successive differences of
    0 are stored as a single 0 and their count. This saves space, because most tokens of the small GPT-2 have equal
    logits.
    """
    bits = (values.astype(np.float32) + 0.0).view(np.int32).astype(np.int64)
    ordered = np.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
    packed = bytearray()
    for step, group in itertools.groupby(np.diff(ordered, prepend=2**31).tolist()):
        count = len(list(group))
        for number in [0, count] if step == 0 else [-step] * count:
            while number > 127:
                packed.append(128 | number & 127)
                number >>= 7
            packed.append(number)
    return bytes(packed)
