"""Check dropout by its effect on the result, because answers may sample random numbers in different ways.

In training, each row of the result must be a sum of products weight × value. Some products are missing, and the
remaining ones are scaled up.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from utils.checks._attention import causal_mask
from utils.exercises.exercise import Case, Wrong
from utils.exercises.instantiate import Params
from utils.exercises.probe import Probe
from utils.exercises.sampler import sample_parameter


@dataclass(frozen=True)
class _ResultTerms:
    """The result of a layer for one case, split into a base and one contribution for each attention weight.

    Attributes:
        base: the result if all attention weights are dropped, [batch, query, width].
        per_weight: the contribution of each attention weight, [batch, query, head, key, width].
        rate: the dropout rate.
    """

    base: Tensor
    per_weight: Tensor
    rate: float

    def sum(self, keep: Tensor | float = 1.0) -> Tensor:
        """Return the result after multiplying each weight by `keep`, which broadcasts to the shape of `per_weight`."""
        return self.base + (self.per_weight * keep).sum((2, 3))

    @functools.cached_property
    def sums_of_subsets(self) -> Tensor:
        """Return the summed contributions of every possible subset of the weights, [batch, query, subset, width]."""
        subsets = _subsets(self.per_weight.shape[2] * self.per_weight.shape[3])
        return torch.einsum("sm,bqmw->bqsw", subsets, self.per_weight.flatten(2, 3))

    @property
    def visible(self) -> Tensor:
        """Return the causal mask, bool [query, key]."""
        return causal_mask(self.per_weight.shape[1])


@dataclass(frozen=True)
class _DropoutPattern:
    """One way to apply dropout.

    Attributes:
        factor: the number that multiplies the kept entries.
        fraction: the probability that an entry is dropped.
        axes: the shape of the random mask, with the axes of `_ResultTerms.per_weight`. Along an axis of size 1, all
            entries share one random number.
        on_output: whether dropout is applied to the result instead of to weights or values.
    """

    factor: float
    fraction: float
    axes: tuple[int, ...]
    on_output: bool = False

    def sample_result(self, terms: _ResultTerms) -> Tensor:
        """Return a result with this kind of dropout. It is deterministic because the seed is fixed."""
        keep = torch.rand(self.axes, generator=torch.Generator().manual_seed(11)) >= self.fraction
        if self.on_output:
            return terms.sum() * keep[:, :, 0, 0] * self.factor
        return terms.sum(keep * self.factor)


def make_dropout_parser(mix_values: Callable[[Params, Tensor, Tensor], Tensor], initial: Callable) -> Callable:
    """Build a `parse_result` that returns one fixed result for each kind of dropout.

    Answers may sample random numbers in different ways, so two correct results can differ. The parser finds out which
    weights were dropped. It tries all subsets of the weights, so the input sequences must be short. It then returns a
    fixed result for this kind of dropout. The parser also recognises known mistakes, for example dropping values
    instead of weights. So these results match a misconception. Results without dropout, or with an unknown kind of
    dropout, are returned unchanged.

    Args:
        mix_values: function of `(params, x, keep)` that returns the result without dropout, with each weight multiplied
            by `keep` [batch, heads, seq, seq].
        initial: the exercise's `initial_parameters`.
    """

    def parse(result: Any, case: Case) -> Any:
        terms = _decompose_result(mix_values, initial, case)
        if terms is None or not isinstance(result, Tensor) or not result.is_floating_point():
            return result
        values = result.detach().double()
        if values.shape != terms.base.shape or not values.isfinite().all():
            return result
        if _is_close((values - terms.sum()).abs(), values):  # no weight was dropped
            return result
        pattern = _infer_pattern(values, terms)
        return result if pattern is None else pattern.sample_result(terms).to(result.dtype)

    return parse


@functools.lru_cache(maxsize=64)  # the answer and all misconceptions use the same terms
def _decompose_result(mix_values: Callable, initial: Callable, case: Case) -> _ResultTerms | None:
    """Split the correct result of a case into terms. Return None if the parser cannot handle the case."""
    try:
        bound = inspect.signature(initial).bind(**case.init) if isinstance(case.init, dict) else None
        bound = bound or inspect.signature(initial).bind(*case.init)
        bound.apply_defaults()
        parameters = initial(*bound.args, **bound.kwargs)
    except ValueError:  # the constructor must reject these arguments, so there is no result
        return None
    rate, heads = bound.arguments["dropout"], bound.arguments.get("num_heads", 1)
    x = case.args[0]
    if not case.fill or not 0 < rate < 1 or heads * x.shape[1] > 10:
        return None
    p = Params({name: sample_parameter(name, value.shape, case.seed).double() for name, value in parameters.items()})
    p.init_args = bound.arguments
    x = x.double()
    batch, seq, _ = x.shape
    keep = torch.zeros(heads * seq + 1, batch, heads, seq, seq, dtype=torch.float64)
    for i in range(heads * seq):
        keep[i, :, i // seq, :, i % seq] = 1.0
    with torch.no_grad():  # one call computes the results with a single weight, and the result without weights
        *each, base = mix_values(p, x.repeat(len(keep), 1, 1), keep.flatten(0, 1)).unflatten(0, (-1, batch))
    return _ResultTerms(base, (torch.stack(each, dim=2) - base[:, :, None]).unflatten(2, (heads, seq)), rate)


def _infer_pattern(result: Tensor, terms: _ResultTerms) -> _DropoutPattern | None:
    """Return the first kind of dropout that explains a result, or None."""
    rate = terms.rate
    for factor in dict.fromkeys((1 / (1 - rate), 1.0, 1 / rate, 2.0, 1 - rate)):
        for explain in (_explain_by_weights, _explain_by_values, _explain_by_output):
            if pattern := explain(result, terms, factor):
                return pattern
    return None


def _subsets(n: int) -> Tensor:
    """Return every possible row of n zeros and ones, [2^n, n]."""
    return ((torch.arange(2**n)[:, None] >> torch.arange(n)) & 1).double()


def _is_close(difference: Tensor, result: Tensor) -> bool:
    return bool((difference < 1e-4 * (1 + result.abs().max())).all())


def _explain_by_weights(result: Tensor, terms: _ResultTerms, factor: float) -> _DropoutPattern | None:
    """Return the dropout pattern if dropped weights explain the result, otherwise None."""
    batch, seq, heads, keys, _ = terms.per_weight.shape
    candidates = factor * terms.sums_of_subsets
    best = (candidates - (result - terms.base)[:, :, None]).abs().amax(-1).min(-1)
    if not _is_close(best.values, result):
        return None
    kept = _subsets(heads * keys)[best.indices].view(batch, seq, heads, keys).bool()
    visible = terms.visible[:, None].expand_as(kept)
    count = int(visible.sum())
    fraction = _infer_fraction(count - int((kept & visible).sum()), count, terms.rate, factor)
    return None if fraction is None else _DropoutPattern(factor, fraction, _infer_axes(kept, fraction))


def _infer_fraction(dropped: int, total: int, rate: float, factor: float) -> float | None:
    """Infer the dropped fraction: rate, 1 - rate or 0.5.

    The number of dropped entries may differ from the expected number by up to six standard deviations.
    """
    if not dropped:
        return None
    deviations = {f: abs(dropped - total * f) / math.sqrt(total * f * (1 - f)) for f in (rate, 1 - rate, 0.5)}
    if factor == 1 / (1 - rate) and deviations[rate] < 6:
        return rate
    fraction = min(deviations, key=deviations.get)
    return fraction if deviations[fraction] < 6 else None


def _infer_axes(kept: Tensor, fraction: float) -> tuple[int, ...]:
    """Infer the shape of the random mask.

    An axis gets size 1 if all entries along it are equal, and chance is a very unlikely explanation.
    """
    seq = kept.shape[1]
    agreement = fraction**2 + (1 - fraction) ** 2  # the probability that two independent entries are equal
    axes = [*kept.shape, 1]
    visible = causal_mask(seq)[:, None].expand_as(kept)
    for axis, first in (
        (0, kept[:1]),  # all texts of the batch have the same mask
        (2, kept[:, :, :1]),  # all heads have the same mask
        (1, kept[:, -1:]),  # all queries have the same mask: whole keys are dropped
        (3, kept[..., :1]),  # all keys share one random number: whole rows are dropped
    ):
        all_agree = (kept == first)[visible].all()
        comparisons = int(visible.sum()) * (1 - 1 / kept.shape[axis])
        if all_agree and comparisons and agreement**comparisons < 1e-6:
            axes[axis] = 1
    return tuple(axes)


def _explain_by_values(result: Tensor, terms: _ResultTerms, factor: float) -> _DropoutPattern | None:
    """Return the dropout pattern if dropped entries of the values explain the result, otherwise None."""
    batch, _, heads, keys, width = terms.per_weight.shape
    if heads > 1:
        return None
    subsets = _subsets(keys)
    candidates = factor * torch.einsum("sk,bqkw->bqsw", subsets, terms.per_weight[:, :, 0]) + terms.base[:, :, None]
    best = (candidates - result[:, :, None]).abs().amax(1).min(1)
    if not _is_close(best.values, result):
        return None
    fraction = _infer_fraction(int((1 - subsets[best.indices]).sum()), batch * width * keys, terms.rate, factor)
    return None if fraction is None else _DropoutPattern(factor, fraction, (batch, 1, 1, keys, width))


def _explain_by_output(result: Tensor, terms: _ResultTerms, factor: float) -> _DropoutPattern | None:
    """Return the dropout pattern if entries of the result itself were dropped, otherwise None."""
    if_dropped, if_kept = result.abs(), (result - factor * terms.sum()).abs()
    if not _is_close(torch.minimum(if_dropped, if_kept), result):
        return None
    fraction = _infer_fraction(int((if_dropped < if_kept).sum()), result.numel(), terms.rate, factor)
    if fraction is None:
        return None
    return _DropoutPattern(factor, fraction, (*result.shape[:2], 1, 1, result.shape[2]), on_output=True)


def make_dropout(
    factor: Callable[[float], float] = lambda rate: 1 / (1 - rate),
    fraction: Callable[[float], float] = lambda rate: rate,
    mask_shape: Callable[[Sequence[int]], Sequence[int]] = lambda shape: shape,
) -> Callable:
    """Build a function that drops weights in training. It can replace the step `drop` of `attention`.

    Args:
        factor: function of the dropout rate that returns the number that multiplies the kept weights.
        fraction: function of the dropout rate that returns the probability that a weight is dropped.
        mask_shape: function of the weights' shape that returns the shape of the random mask.
    """

    def drop(p, weights):
        rate = p.init_args["dropout"]
        if not p.training or not rate:
            return weights
        uniform = torch.rand(tuple(mask_shape(weights.shape)), device=weights.device)
        return weights * (uniform >= fraction(rate)) * factor(rate)

    return drop


def dropout_misconceptions(build: Callable, has_heads: bool = False) -> dict[str, Wrong]:
    """Return the misconceptions about dropout on attention weights.

    Args:
        build: builds the layer from replaced steps. The step `drop` applies the dropout.
        has_heads: whether the layer has several heads.
    """
    wrong = {
        "not-enlarged": Wrong(
            build(drop=make_dropout(factor=lambda rate: 1.0)),
            "Your dropout does not scale up the weights that it keeps, so in training the sums are too small on"
            " average. Divide the kept weights by 1 - dropout.",
        ),
        "keep-and-drop-swapped": Wrong(
            build(drop=make_dropout(fraction=lambda rate: 1 - rate)),
            "You swapped keep and drop: your layer drops weights with probability 1 - dropout, but it should drop them"
            " with probability dropout.",
        ),
        "one-draw-for-all-texts": Wrong(
            build(drop=make_dropout(mask_shape=lambda shape: (1, *shape[1:]))),
            "You drop the same weights in all texts of a batch. Dropout should keep or drop each weight independently,"
            " in every text.",
        ),
        "keys-vanish-as-a-whole": Wrong(
            build(drop=make_dropout(mask_shape=lambda shape: (*shape[:-2], 1, shape[-1]))),
            "If your layer drops a position, it does so for all queries at once. Dropout should keep or drop each"
            " weight independently, with one random number for each pair of positions.",
        ),
        "rows-vanish-as-a-whole": Wrong(
            build(drop=make_dropout(mask_shape=lambda shape: (*shape[:-1], 1))),
            "Your layer drops whole rows, so a query attends to all positions or to none. Dropout should keep or drop"
            " each weight independently, with one random number for each pair of positions.",
        ),
    }
    if has_heads:
        wrong["one-draw-for-all-heads"] = Wrong(
            build(drop=make_dropout(mask_shape=lambda shape: (shape[0], 1, *shape[2:]))),
            "You drop the same weights in all heads. Dropout should keep or drop each weight independently, in every"
            " head.",
        )
    return wrong


def drops_weights(probe: Probe) -> str | None:
    """Report wrong results in training mode if all results in evaluation mode are correct."""
    in_training = [t.is_correct(probe.exercise) for t in probe.trials if t.case.train]
    in_evaluation = [t.is_correct(probe.exercise) for t in probe.trials if not t.case.train]
    if all(in_training) or not all(in_evaluation):
        return None
    return (
        "Your result is right in evaluation mode, but wrong in training mode. In training mode, each row should be a"
        " sum of terms weight × value: leave out some terms at random, and divide the remaining terms by 1 - dropout."
    )


def draws_anew(probe: Probe) -> str | None:
    """Check that two calls in training drop different weights."""
    for trial in probe.trials:
        if not trial.case.train:
            continue
        observation = probe.run(trial.case, calls=2)
        if observation.failure is None and isinstance(observation.value[0], Tensor) and torch.equal(*observation.value):
            return (
                "Two calls in training drop the same weights. Sample a new random mask in each call; otherwise, the"
                " model only learns to work without these few weights."
            )
    return None


DROPOUT = (drops_weights, draws_anew)
