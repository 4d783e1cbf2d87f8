"""Create the training data for the small GPT-2: rows of tokens, as indices into a compact vocabulary.

Only the tokens in the training text have their own index. The indices have the same order as the tokens' ids. One
additional index represents all other tokens.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from utils.gpt2 import load_tokenizer
from utils.gpt2.tokenizer import backend_tokenizer
from utils.training import corpus

if TYPE_CHECKING:
    from jaxtyping import Float, Int

VOCAB, END = 50257, 50256
UNKNOWN = -1  # marks an input token that is replaced with an untrained token
IGNORED = -100  # marks a position without a target; it is the ignore_index of the loss function
LIST_LENGTHS = (5, 40)  # the shortest and the longest random list

Stage = tuple[int, int, int]  # tokens per row, rows per step, steps
Asked = tuple[list[int], list[int]]  # input tokens and target tokens


@dataclass(frozen=True)
class TrainingRows:
    """The rows for a training run.

    Attributes:
        ids: the trained tokens, ascending.
        batches: for each step `(inputs, targets)`, as indices into `ids`. Index `len(ids)` represents all other tokens.
    """

    ids: Int[Tensor, "n_ids"]
    batches: list[tuple[Int[Tensor, "rows length"], Int[Tensor, "rows length"]]]


def make_training_rows(
    stages: Sequence[Stage],
    seed: int,
    hidden_share: float = 0.0,
    list_chance: float = 0.0,
    ids: Int[Tensor, "n_ids"] | None = None,
) -> TrainingRows:
    """Create rows of texts, separated by `<|endoftext|>`. Each row starts at the beginning of a text.

    Half of the rows start with `<|endoftext|>`.

    Args:
        hidden_share: the share of texts in which an untrained token replaces one word.
        list_chance: the probability that a random list replaces a text, at the first step of a stage. It falls linearly
            and reaches 0 after the last step.
        ids: the trained tokens, ascending. The default is the tokens in the rows; with lists, `ids` is required.
    """
    reader, blocks = _RowSampler(seed, hidden_share, ids), []
    for length, n_rows, steps in stages:
        for step in range(steps):
            rows = [reader.row(length, list_chance * (1 - step / steps)) for _ in range(n_rows)]
            blocks.append([torch.tensor(tokens) for tokens in zip(*rows)])
    tokens = torch.cat([tokens.flatten() for block in blocks for tokens in block])
    trained: Tensor = torch.unique(tokens[tokens >= 0]) if ids is None else ids  # without UNKNOWN and IGNORED
    return TrainingRows(trained, [_to_compact_indices(trained, read, asked) for read, asked in blocks])


def _to_compact_indices(ids: Tensor, read: Tensor, asked: Tensor) -> tuple[Tensor, Tensor]:
    """Replace each token with its index in `ids`."""
    return (
        torch.searchsorted(ids, read).masked_fill(read == UNKNOWN, len(ids)),
        torch.searchsorted(ids, asked).masked_fill(asked == IGNORED, IGNORED),
    )


class _RowSampler:
    """Samples texts and random lists, and fills rows with them."""

    def __init__(self, seed: int, unknown: float, ids: Tensor | None) -> None:
        self.draw, self.unknown = random.Random(seed).random, unknown
        self.texts = _tokenized(seed)
        self.lists = iter(()) if ids is None else random_token_lists(ids, seed, *LIST_LENGTHS)

    def row(self, length: int, lists: float) -> Asked:
        """Return `length` input tokens, and for each of them the next token as its target."""
        start = [END] if self.draw() < 0.5 else []
        read, asked = [*start], [*start]
        while len(read) <= length:
            more_read, more_asked = self._list() if lists and self.draw() < lists else self._text()
            read += [*more_read, END]
            asked += more_asked
        return read[:length], asked[1 : length + 1]

    def _text(self) -> Asked:
        tokens = next(self.texts)
        word = tokens[int(self.draw() * len(tokens))] if self.draw() < self.unknown else None
        read = [UNKNOWN if token == word else token for token in tokens]
        return read, [*(IGNORED if token == word else token for token in tokens), END]

    def _list(self) -> Asked:
        """Sample a list and write it twice.

        Only predictable tokens are targets. These are the tokens in the second copy, except its first token.
        """
        tokens = next(self.lists)
        return tokens * 2, [*[IGNORED] * (len(tokens) + 1), *tokens[1:], IGNORED]


def _tokenized(seed: int) -> Iterator[list[int]]:
    tokenizer, texts = load_tokenizer(), corpus.sentences(seed)
    while True:
        yield from tokenizer(list(islice(texts, 2000)))["input_ids"]


def random_token_lists(ids: Int[Tensor, "n_ids"], seed: int, shortest: int, longest: int) -> Iterator[list[int]]:
    """Yield lists of trained tokens without end. No list contains a token twice or a held-out combination."""
    own = [token for token in ids.tolist() if token != END]
    words = [backend_tokenizer().decode([token]) for token in own]
    return ([own[place] for place in places] for places in corpus.random_word_lists(words, seed, shortest, longest))


def compact_indices(ids: Int[Tensor, "n_ids"]) -> Int[Tensor, "vocab"]:
    """Return, for every token of GPT-2, its index in the compact vocabulary."""
    return torch.full((VOCAB,), len(ids)).scatter(0, ids, torch.arange(len(ids)))


def untrained_logit_offset(n_ids: int, device: torch.device | str = "cpu") -> Float[Tensor, "n_ids+1"]:
    """Return the numbers to add to the compact logits.

    The last logit represents all untrained tokens, so its offset is log(number of these tokens). All other offsets are
    0.
    """
    extra = torch.zeros(n_ids + 1, device=device)
    extra[-1] = math.log(VOCAB - n_ids)
    return extra
