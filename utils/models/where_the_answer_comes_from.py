"""Provide inputs for lesson 13: sentence pairs, repeated lists, attention patterns, and models with removed heads."""

from __future__ import annotations

import contextlib
import copy
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from utils.gpt2 import load_tokenizer
from utils.gpt2.layer0 import Checkpoint
from utils.gpt2.sources import source
from utils.models.lesson_models import LessonModule, require_head

if TYPE_CHECKING:
    from jaxtyping import Float, Int

# With a leading space, each of these words is a single GPT-2 token that the small GPT-2 knows.
NAMES = """Mary Anna Sarah Emma Alice Jane Kate Laura Helen Rose Grace Maria John Tom Jack David Peter Paul Mark Sam
George Henry James Daniel""".split()
PLACES = "store park school beach garden market station office river farm".split()
THINGS = "drink book ball letter key ring pen basket camera bag".split()
SENTENCE = "When {} and {} went to the {}, {} gave a {} to"
END = 50256  # <|endoftext|>


@dataclass(frozen=True)
class Pairs:
    """Sentences that end before a name. Each has a twin in which a different name is correct.

    Attributes:
        clean, corrupted: the tokens of the sentences and of their twins.
        right, wrong: the correct next tokens for `clean` and for `corrupted`: the names of the receivers.
    """

    clean: Int[Tensor, "n seq"]
    corrupted: Int[Tensor, "n seq"]
    right: Int[Tensor, "n"]
    wrong: Int[Tensor, "n"]


def pairs(n: int, seed: int = 0, exchange: str = "giver") -> Pairs:
    """Sample `n` sentences such as "When Mary and John went to the store, …", each with a twin.

    All sentences have the same length. The giver is the first or the second name at random, so that the correct name
    is not always at the same position.

    Args:
        exchange: "giver": giver and receiver are swapped in the twin. "receiver": a third name replaces the receiver.

    Raises:
        ValueError: n is not a whole number above 0, or `exchange` is neither "giver" nor "receiver".
    """
    if type(n) is not int or n < 1:
        raise ValueError(f"n must be a whole number above 0; got {n!r}.")
    if exchange not in ("giver", "receiver"):
        raise ValueError(f'exchange must be "giver" or "receiver"; got {exchange!r}.')
    rng, encode = random.Random(seed), load_tokenizer().encode
    third_names = random.Random(seed)  # a separate generator, so that `clean` does not depend on `exchange`
    clean, corrupted, names = [], [], []
    for _ in range(n):
        (a, b), place, thing = rng.sample(NAMES, 2), rng.choice(PLACES), rng.choice(THINGS)
        giver, other = rng.choice([(a, b), (b, a)])
        clean.append(encode(SENTENCE.format(a, b, place, giver, thing)))
        if exchange == "giver":
            corrupted.append(encode(SENTENCE.format(a, b, place, other, thing)))
            names.append([encode(f" {other}")[0], encode(f" {giver}")[0]])
        else:
            third = third_names.choice([name for name in NAMES if name not in (a, b)])
            c, d = (third if name == other else name for name in (a, b))
            corrupted.append(encode(SENTENCE.format(c, d, place, giver, thing)))
            names.append([encode(f" {other}")[0], encode(f" {third}")[0]])
    right, wrong = torch.tensor(names).unbind(1)
    return Pairs(torch.tensor(clean), torch.tensor(corrupted), right, wrong)


def known_tokens() -> Int[Tensor, "known"]:
    """Return the tokens that the installed GPT-2 has learned, except `<|endoftext|>`.

    For the real GPT-2, these are all tokens. For the small GPT-2, they are the tokens in its training text.

    Raises:
        WeightsError: the file is damaged.
    """
    checkpoint_source = source()
    with Checkpoint(checkpoint_source) as file:
        known = file.read_trained_ids() if file.is_compact else torch.arange(checkpoint_source.vocab_size)
    return known[known != END]


def repeated_lists(n: int, length: int, seed: int = 0) -> Int[Tensor, "n twice"]:
    """Sample `n` lists of `length` different tokens that the model knows, and write each list twice.

    The shape of the result is [n, 2 length].

    Raises:
        ValueError: `n` or `length` is below 1, or `length` is above the number of known tokens.
    """
    known = known_tokens()
    if n < 1:
        raise ValueError(f"n must be at least 1; got {n!r}.")
    if not 1 <= length <= len(known):
        raise ValueError(f"length must be between 1 and {len(known)}, the number of known tokens; got {length!r}.")
    generator = torch.Generator().manual_seed(seed)
    lists = torch.stack([known[torch.randperm(len(known), generator=generator)[:length]] for _ in range(n)])
    return lists.repeat(1, 2)


@torch.no_grad()
def patterns(model: LessonModule, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "layers batch heads seq seq"]:
    """Return the attention patterns of all heads in lesson 12's GPT. Each row sums to 1."""
    heads, seq = model.config.n_heads, tokens.shape[1]
    layer_patterns, x = [], model.wte(tokens) + model.wpe(torch.arange(seq, device=tokens.device))
    hidden = torch.ones(seq, seq, dtype=torch.bool, device=tokens.device).triu(1)
    for block in model.blocks:
        h = block.ln_1(x)
        q, k = (f(h).unflatten(-1, (heads, -1)).transpose(1, 2) for f in (block.attn.W_query, block.attn.W_key))
        scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
        layer_patterns.append(scores.masked_fill(hidden, -torch.inf).softmax(-1))
        x = block(x)
    return torch.stack(layer_patterns)


@contextlib.contextmanager
def last_positions(model: nn.Module, count: int = 1) -> Iterator[None]:
    """Limit the logits of lesson 12's GPT to the last `count` positions while a `with` block runs.

    The shape of the logits is then [batch, count, vocab].

    Raises:
        ValueError: `count` is below 1.
    """
    if count < 1:
        raise ValueError(f"count must be at least 1; got {count!r}.")
    hook = model.get_submodule("ln_f").register_forward_pre_hook(lambda part, given: given[0][:, -count:])
    try:
        yield
    finally:
        hook.remove()


def entries(model: LessonModule, head: int) -> slice:
    """Return the slice of a head's entries in the last dimension of queries, keys, values or merged results.

    Raises:
        ValueError: there is no such head.
    """
    require_head(head, model.config.n_heads)
    width = model.config.d_model // model.config.n_heads
    return slice(head * width, (head + 1) * width)


@torch.no_grad()
def head_results(model: LessonModule, tokens: Int[Tensor, "batch seq"]) -> list[Float[Tensor, "batch seq d_model"]]:
    """Return the input of `out_proj` in each block: the results of all heads, side by side."""
    stored: list[Tensor] = []
    parts = [block.attn.out_proj for block in model.blocks]
    hooks = [part.register_forward_pre_hook(lambda part, given: stored.append(given[0])) for part in parts]
    try:
        model(tokens)
    finally:
        for hook in hooks:
            hook.remove()
    return stored


@torch.no_grad()
def exchange_head(
    model: LessonModule,
    tokens: Int[Tensor, "batch seq"],
    twins: Sequence[Float[Tensor, "batch seq d_model"]],
    layer: int,
    head: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Replace one head's result at one position with the result in `twins`, and return the logits for `tokens`.

    Everything else in the run is computed as usual.

    Args:
        twins: the `head_results` of a run on the twin sentences.
    """
    place = (slice(None), position, entries(model, head))

    def replace(part: nn.Module, given: tuple[Tensor]) -> Tensor:
        merged = given[0].clone()
        merged[place] = twins[layer][place]
        return merged

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(replace)
    try:
        return model(tokens)
    finally:
        hook.remove()


def without_heads(model: LessonModule, heads: Iterable[tuple[int, int]]) -> nn.Module:
    """Return a copy of lesson 12's GPT in which the heads `(layer, head)` contribute nothing.

    The copy shares the embedding with the model.
    """
    other = copy.deepcopy(model, {id(model.wte): model.wte})
    with torch.no_grad():
        for layer, head in heads:
            other.blocks[layer].attn.out_proj.weight[:, entries(model, head)] = 0
    return other
