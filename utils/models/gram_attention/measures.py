"""Measure trained models: accuracy at other text lengths, accuracy with scaled keys, and attention by distance."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from utils.lessons.files import ROOT
from utils.models.gram_attention.training import (
    HELD_OUT_TEXTS,
    Comparison,
    SeedResults,
    copied_half,
    copied_logits,
    held_out_generator,
)

if TYPE_CHECKING:
    from jaxtyping import Float, Int

ASSET = ROOT / "utils" / "assets" / "gram_attention"


@torch.no_grad()
def accuracy_by_length(
    comparison: Comparison, lengths: Sequence[int] = (32, 48, 64, 96), period: int | None = None, n_texts: int = 64
) -> SeedResults:
    """Return the share of repeated tokens that the trained models predict correctly in texts of different lengths.

    Args:
        period: the number of tokens after which the text repeats. The default is half the length, as in the training
            texts, so the distance to the copied token is greater in a longer text. With ``period=16``, the distance
            stays the same, and the tokens repeat until the text is full.

    Raises:
        ValueError: a length is odd, or the period does not fit into it.
    """
    texts = {}
    for length in lengths:
        every = length // 2 if period is None else period
        if length % 2 or not 2 <= every < length:
            raise ValueError(
                f"the length must be even, and the period at least 2 and below the length; got length {length} and"
                f" period {every}."
            )
        texts[length] = every, repeated_texts(comparison, n_texts, every, length)

    def share(model: nn.Module, length: float) -> float:
        every, text = texts[length]
        predicted = model(text[:, :-1])[:, every - 1 :].argmax(-1)
        return float((predicted == text[:, every:]).float().mean())

    return _measure_each(comparison, lengths, share)


def repeated_texts(comparison: Comparison, n: int, period: int, length: int) -> Int[Tensor, "n length"]:
    """Return `n` held-out texts of `length` tokens, in which the first `period` tokens repeat."""
    inputs, _ = comparison.batch(n, 2 * period, comparison.vocab_size, generator=held_out_generator())
    return inputs[:, torch.arange(length) % period]


def _measure_each(
    comparison: Comparison, points: Sequence[float], measure: Callable[[nn.Module, float], float]
) -> SeedResults:
    """Call `measure(model, point)` for every model at every point."""
    values = {
        name: torch.tensor([[measure(model, point) for point in points] for model in models])
        for name, models in comparison.models.items()
    }
    return SeedResults(list(points), values)


@torch.no_grad()
def accuracy_with_scaled_keys(
    comparison: Comparison,
    factors: Sequence[float] = (1, 2, 5, 10, 50),
    which: str = "all",
    n_scaled: int = 4,
    n_texts: int = HELD_OUT_TEXTS,
) -> SeedResults:
    """Multiply some key vectors by a factor, and return the share of correct predictions in the copied half.

    The keys are scaled at `n_scaled` random positions, chosen separately for each text.

    Args:
        factors: the factors for the keys. A factor above 1 makes a key loud; a factor below 1 makes it quiet.
        which: the copied tokens to count. "all"; "others": only tokens whose own key (the key to be found) is not
            scaled; "itself": only tokens whose own key is scaled.

    Raises:
        ValueError: `which` or `n_scaled` is invalid, or a layer does not call its module W_k.
    """
    ways = ("all", "others", "itself")
    if which not in ways:
        raise ValueError(f"which must be one of {', '.join(map(repr, ways))}; got {which!r}.")
    sizes = n_texts, comparison.seq_len, comparison.vocab_size
    inputs, targets = comparison.batch(*sizes, generator=held_out_generator())
    seq = inputs.shape[1]
    if not 1 <= n_scaled < seq:
        raise ValueError(f"n_scaled must be from 1 to {seq - 1}; got {n_scaled}.")
    chosen = torch.rand(n_texts, seq, generator=held_out_generator()).argsort(-1) < n_scaled
    own = chosen[:, : seq - seq // 2]  # the query that predicts a copied token needs the key seq // 2 positions earlier
    counted = {"all": torch.ones_like(own), "others": ~own, "itself": own}[which]

    def share(model: nn.Module, factor: float) -> float:
        gain, called = torch.where(chosen, float(factor), 1.0)[..., None], []

        def scale(module: nn.Module, given: tuple, keys: Tensor) -> Tensor:
            called.append(True)
            return keys * gain

        hook = model.get_submodule("attention.W_k").register_forward_hook(scale)
        try:
            right = copied_logits(model, inputs).argmax(-1) == copied_half(targets)
        finally:
            hook.remove()
        if not called:
            raise ValueError(
                "the layer did not call W_k, so its keys cannot be scaled. Write W_k(x), not x @ W_k.weight.T."
            )
        return float(right[counted].float().mean())

    return _measure_each(comparison, factors, share)


@torch.no_grad()
def weight_by_distance(model: nn.Module, inputs: Int[Tensor, "batch seq"]) -> Float[Tensor, "heads seq"]:
    """Return each head's mean weight at the distances 0, 1, … for the queries that predict the copied half."""
    weights = model(inputs, return_weights=True)[1].mean(0)
    first = inputs.shape[1] // 2  # this position predicts the first copied token
    n = weights.shape[-1]
    back = [weights.diagonal(-d, -2, -1)[:, max(0, first - d) :] for d in range(n)]
    return torch.stack([row.mean(-1) for row in back], dim=-1)


def study(path: Path | str = ASSET / "study.json") -> dict[str, object]:
    """Read the latest results of `bench/gram_attention.py --write`, which trains each layer with five seeds.

    Returns:
        "settings": the settings of the training.
        "first": for each layer and seed, the step at which the model reaches 99 %.
        "gate": for each seed of the triple product, the heights of keys above the plane (relative to the key's length)
            and their scores, for the correct keys and for all other keys.
        "accuracy", "loss": `SeedResults` at each step. All entries below are also `SeedResults`.
        "longer": longer texts, in which the distance to the copied token is greater.
        "repeats": longer texts that repeat the same 16 tokens.
        "back": the mean weight of all heads at the distances 0, 1, …
        "far": the same, from the last position of repeated texts of 64 tokens.
        "loud", "quiet" (also with " others" and " itself"): scaled keys, for each factor.
    """
    parts = json.loads(Path(path).read_text(encoding="utf-8"))
    for name, part in parts.items():
        if "points" in part:
            values = {layer: torch.tensor(rows) for layer, rows in part["values"].items()}
            parts[name] = SeedResults(part["points"], values)
    return parts


def comparison(path: Path | str = ASSET / "comparison.json") -> dict[str, dict[str, dict[str, Any]]]:
    """Read the latest results of `bench/gram_comparison.py --write`, by task ("copy", "induction") and by layer.

    Returns:
        For each layer, a dict with these entries.
        "parameters": the number of its parameters.
        "rates": for each learning rate, the steps to 99 % in two trials, or the last accuracy of a trial that did not
            reach 99 %.
        "rate": the best learning rate.
        "runs": the runs at this rate, with "steps" (None if 99 % were not reached), "seconds" of CPU time and
            "accuracy".
    """
    return json.loads(Path(path).read_text(encoding="utf-8"))
