"""What the small GPT-2 reads while it trains: rows of tokens, in places of a compact vocabulary.

Only the tokens that its text holds have a place of their own, in the order of their ids; one more place stands for
every other token.
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

from utils.training import corpus

if TYPE_CHECKING:
    from transformers import GPT2TokenizerFast

VOCAB, END = 50257, 50256
UNKNOWN = -1  # read where a token is hidden
IGNORED = -100  # of torch's cross entropy: a place that asks for nothing
LIST_LENGTHS = (5, 40)  # the shortest and the longest random list

Stage = tuple[int, int, int]  # tokens in a row, rows a step, steps
Asked = tuple[list[int], list[int]]  # tokens as they are read, and as they are asked for


@dataclass(frozen=True)
class TrainingRows:
    """`steps[i]`: `(inputs, targets)` `[rows, length]`, of places in `ids`; `len(ids)` stands for every other token."""

    ids: Tensor
    batches: list[tuple[Tensor, Tensor]]


def load_tokenizer() -> GPT2TokenizerFast:
    from utils import gpt2

    return gpt2.load_tokenizer()


def make_training_rows(
    stages: Sequence[Stage], seed: int, hidden_share: float = 0.0, list_chance: float = 0.0, ids: Tensor | None = None
) -> TrainingRows:
    """Rows of texts with `<|endoftext|>` between them, each row from the beginning of a text on; half of them begin
    with the token too.

    Args:
        unknown: the share of texts that have one of their words hidden behind a token that is never trained.
        lists: the chance at a stage's first step that a random list stands in the place of a text; it falls in a line,
            to nothing after the last step.
        ids: the trained tokens, ascending; those that the rows hold when left out, which goes without lists only.
    """
    reader, blocks = _RowSampler(seed, hidden_share, ids), []
    for length, n_rows, steps in stages:
        for step in range(steps):
            rows = [reader.row(length, list_chance * (1 - step / steps)) for _ in range(n_rows)]
            blocks.append([torch.tensor(tokens) for tokens in zip(*rows)])
    own = _distinct_ids(blocks) if ids is None else ids
    return TrainingRows(own, [_to_compact_indices(own, read, asked) for read, asked in blocks])


def _distinct_ids(blocks: list[list[Tensor]]) -> Tensor:
    """The ids of all tokens in the rows, ascending."""
    found = torch.cat([tokens.flatten() for block in blocks for tokens in block]).unique()
    return found[found >= 0]


def _to_compact_indices(ids: Tensor, read: Tensor, asked: Tensor) -> tuple[Tensor, Tensor]:
    """Places instead of tokens."""
    return (
        torch.searchsorted(ids, read).masked_fill(read == UNKNOWN, len(ids)),
        torch.searchsorted(ids, asked).masked_fill(asked == IGNORED, IGNORED),
    )


class _RowSampler:
    """Draws texts and random lists, and fills rows with them."""

    def __init__(self, seed: int, unknown: float, ids: Tensor | None) -> None:
        self.draw, self.unknown = random.Random(seed).random, unknown
        self.texts, self.lists = (
            _tokenized(seed),
            iter(()) if ids is None else random_token_lists(ids, seed, *LIST_LENGTHS),
        )

    def row(self, length: int, lists: float) -> Asked:
        """What is read at `length` places, and what is asked for there: the token after each."""
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
        """A list twice. Asked for is what can be known: the second time, from its second token on."""
        tokens = next(self.lists)
        return tokens * 2, [*[IGNORED] * (len(tokens) + 1), *tokens[1:], IGNORED]


def _tokenized(seed: int) -> Iterator[list[int]]:
    tokenizer, texts = load_tokenizer(), corpus.sentences(seed)
    while True:
        yield from tokenizer(list(islice(texts, 2000)))["input_ids"]


def random_token_lists(ids: Tensor, seed: int, shortest: int, longest: int) -> Iterator[list[int]]:
    """Lists of different tokens without end, drawn from the trained ones; no one holds a combination that is kept
    back."""
    own = [token for token in ids.tolist() if token != END]
    words = [load_tokenizer().decode([token]) for token in own]
    return ([own[place] for place in places] for places in corpus.random_word_lists(words, seed, shortest, longest))


def compact_indices(ids: Tensor) -> Tensor:
    """The place `[50257]` of every token in the compact vocabulary."""
    return torch.full((VOCAB,), len(ids)).scatter(0, ids, torch.arange(len(ids)))


def untrained_logit_offset(n_ids: int, device: torch.device | str = "cpu") -> Tensor:
    """What is added to the compact logits: the last one stands for every token that is not trained."""
    extra = torch.zeros(n_ids + 1, device=device)
    extra[-1] = math.log(VOCAB - n_ids)
    return extra
