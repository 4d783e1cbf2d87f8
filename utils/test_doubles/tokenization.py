"""Provide test doubles for lesson 01: GPT-2's tokenizer, and a tiny language model."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.gpt2 import load_tokenizer
from utils.gpt2.tokenizer import END_OF_TEXT, backend_tokenizer, build_vocabulary, read_merges, wrap_backend

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

VOCAB = 50257  # the size of GPT-2's vocabulary
END = VOCAB - 1  # the id of <|endoftext|>
# If a text has more tokens than this, a model with `ends_at` returns logits only for its own small vocabulary. With
# GPT-2's vocabulary, an answer with an endless loop would fill the memory.
LONGEST = 32


class LazyTokenizer:
    """GPT-2's tokenizer, or a variant with fewer merges; it is loaded on first use.

    Plain encoding and decoding use the tokenizers library, because importing transformers would take longer than many
    checks. All other calls load the tokenizer from transformers.

    Args:
        n_merges: how many of GPT-2's merges the tokenizer uses; by default all. A tokenizer with fewer merges splits
            texts into different tokens. Its ids are in reverse order, so each id has a different meaning.
    """

    n_merges: int | None = None  # copy and pickle create an object without __init__

    def __init__(self, n_merges: int | None = None) -> None:
        self.n_merges = n_merges

    def encode(self, text: Any, *args: Any, **kwargs: Any) -> Any:
        if type(text) is not str or args or kwargs:
            return self._complete.encode(text, *args, **kwargs)
        return self.backend.encode(text).ids

    def decode(self, token_ids: Any, *args: Any, skip_special_tokens: bool = False, **kwargs: Any) -> Any:
        ids = token_ids.tolist() if isinstance(token_ids, Tensor) else token_ids
        ids = [ids] if type(ids) is int else ids
        if args or kwargs or not isinstance(ids, (list, tuple)) or not all(type(i) is int for i in ids):
            return self._complete.decode(token_ids, *args, skip_special_tokens=skip_special_tokens, **kwargs)
        return self.backend.decode(list(ids), skip_special_tokens=skip_special_tokens)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            # copy and pickle look up special methods before __init__ has run
            raise AttributeError(name)
        return getattr(self._complete, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._complete(*args, **kwargs)

    def __len__(self) -> int:
        return len(self._complete)

    @property
    def backend(self) -> Tokenizer:
        return backend_tokenizer() if self.n_merges is None else _small_backend(self.n_merges)

    @property
    def _complete(self) -> PreTrainedTokenizerFast:
        return load_tokenizer() if self.n_merges is None else _load_small_tokenizer(self.n_merges)


def _small_tables(n_merges: int) -> tuple[dict[str, int], list[tuple[str, str]]]:
    """Return the vocabulary {token: id}, in which the ids are in reverse order, and the first `n_merges` merges."""
    merges = read_merges()[:n_merges]
    tokens = list(build_vocabulary(merges))
    return {token: i for i, token in enumerate(reversed(tokens))}, merges


@functools.cache
def _small_backend(n_merges: int) -> Tokenizer:
    from tokenizers import AddedToken, Tokenizer, models

    tokenizer, full = Tokenizer(models.BPE(*_small_tables(n_merges))), backend_tokenizer()
    tokenizer.pre_tokenizer, tokenizer.decoder = full.pre_tokenizer, full.decoder
    tokenizer.add_special_tokens([AddedToken(END_OF_TEXT, special=True, normalized=False)])
    return tokenizer


@functools.cache
def _load_small_tokenizer(n_merges: int) -> PreTrainedTokenizerFast:
    return wrap_backend(_small_backend(n_merges))


class FakeModelOutput(NamedTuple):
    """The result of FakeCausalLM, with the same fields as a Hugging Face result: the logits, and the cache."""

    logits: Float[Tensor, "*batch seq vocab"]
    past_key_values: Int[Tensor, "*batch past"]


class FakeCausalLM(nn.Module):
    """A tiny model with Hugging Face's interface. The logits at a position depend on all tokens up to that position.

    Args:
        rand: a function that samples the model's tables, as `rand(*shape)`.
        ends_at: the number of tokens after which the model predicts `<|endoftext|>`. The model then has GPT-2's
            vocabulary. With None, the model has `vocab` tokens and never predicts an end.
        shift: a number that is added to all logits.
    """

    embed: Tensor
    unembed: Tensor

    def __init__(
        self,
        rand: Callable[..., Tensor],
        vocab: int = 11,
        width: int = 6,
        ends_at: int | None = None,
        shift: float = 0.0,
    ) -> None:
        super().__init__()
        self.ends_at, self.shift = ends_at, shift
        self.register_buffer("embed", rand(vocab, width))
        self.register_buffer("unembed", rand(width, vocab) * 0.7)

    def forward(
        self, input_ids: Int[Tensor, "*batch seq"], past_key_values: Tensor | None = None, **ignored: Any
    ) -> FakeModelOutput:
        ids = input_ids if past_key_values is None else torch.cat([past_key_values, input_ids], dim=-1)
        places = torch.arange(1, ids.shape[-1] + 1)
        past = (self.embed[ids % len(self.embed)] * torch.cos(places)[:, None]).cumsum(dim=-2)
        logits = torch.tanh(past) @ self.unembed + self.shift
        if self.ends_at is not None and len(places) <= LONGEST:
            logits = F.pad(logits, (0, VOCAB - logits.shape[-1]), value=-100.0)
            logits[..., END] = torch.where(places == self.ends_at, 100.0, -100.0)
        return FakeModelOutput(logits[..., -input_ids.shape[-1] :, :], ids)

    def generate(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError(
            "the exercise asks you to write this loop yourself. Call the model itself, model(tokens), and use its"
            " logits."
        )
