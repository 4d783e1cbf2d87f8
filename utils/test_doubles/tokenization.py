"""Lesson 01: GPT-2's tokenizer, and a tiny language model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.gpt2 import load_tokenizer
from utils.gpt2.tokenizer import backend_tokenizer

if TYPE_CHECKING:
    from jaxtyping import Float, Int

VOCAB = 50257  # the size of GPT-2's vocabulary
END = VOCAB - 1  # the id of <|endoftext|>
# For longer texts, a model with `ends_at` returns logits for its own small vocabulary only, because logits for GPT-2's
# vocabulary would fill the memory if an answer never stops.
LONGEST = 32


class LazyTokenizer:
    """GPT-2's tokenizer, which is loaded when it is first used.

    Plain encoding and decoding use the tokenizers library, because many checks are faster than the import of
    transformers. All other calls load the tokenizer from transformers.
    """

    def encode(self, text: Any, *args: Any, **kwargs: Any) -> Any:
        if type(text) is not str or args or kwargs:
            return load_tokenizer().encode(text, *args, **kwargs)
        return backend_tokenizer().encode(text).ids

    def decode(self, token_ids: Any, *args: Any, skip_special_tokens: bool = False, **kwargs: Any) -> Any:
        ids = token_ids.tolist() if isinstance(token_ids, Tensor) else token_ids
        ids = [ids] if type(ids) is int else ids
        if args or kwargs or not isinstance(ids, (list, tuple)) or not all(type(i) is int for i in ids):
            return load_tokenizer().decode(token_ids, *args, skip_special_tokens=skip_special_tokens, **kwargs)
        return backend_tokenizer().decode(list(ids), skip_special_tokens=skip_special_tokens)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            # copy and pickle look up special methods before __init__ has run.
            raise AttributeError(name)
        return getattr(load_tokenizer(), name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return load_tokenizer()(*args, **kwargs)

    def __len__(self) -> int:
        return len(load_tokenizer())


class FakeModelOutput(NamedTuple):
    """The result of FakeCausalLM, with the fields of a Hugging Face result: the logits, and the cache."""

    logits: Float[Tensor, "*batch seq vocab"]
    past_key_values: Int[Tensor, "*batch past"]


class FakeCausalLM(nn.Module):
    """A tiny model with the interface of Hugging Face. The logits at a position depend on all tokens up to it.

    Args:
        rand: a function that samples the model's tables, as `rand(*shape)`.
        ends_at: the number of tokens after which the model predicts `<|endoftext|>`; the model then has GPT-2's
            vocabulary. With None, the model has `vocab` tokens and never predicts an end.
    """

    embed: Tensor
    unembed: Tensor

    def __init__(
        self, rand: Callable[..., Tensor], vocab: int = 11, width: int = 6, ends_at: int | None = None
    ) -> None:
        super().__init__()
        self.ends_at = ends_at
        self.register_buffer("embed", rand(vocab, width))
        self.register_buffer("unembed", rand(width, vocab) * 0.7)

    def forward(
        self, input_ids: Int[Tensor, "*batch seq"], past_key_values: Tensor | None = None, **ignored: Any
    ) -> FakeModelOutput:
        ids = input_ids if past_key_values is None else torch.cat([past_key_values, input_ids], dim=-1)
        places = torch.arange(1, ids.shape[-1] + 1)
        past = (self.embed[ids % len(self.embed)] * torch.cos(places)[:, None]).cumsum(dim=-2)
        logits = torch.tanh(past) @ self.unembed
        if self.ends_at is not None and len(places) <= LONGEST:
            logits = F.pad(logits, (0, VOCAB - logits.shape[-1]), value=-100.0)
            logits[..., END] = torch.where(places == self.ends_at, 100.0, -100.0)
        return FakeModelOutput(logits[..., -input_ids.shape[-1] :, :], ids)

    def generate(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError(
            "the exercise asks you to write this loop yourself. Call the model itself, model(tokens), and use its"
            " logits."
        )
