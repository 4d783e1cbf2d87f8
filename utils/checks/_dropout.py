"""Dropout, judged by what it does: a layer in training may draw when and how it likes.

Each row of its result has to be a sum of weight × value of which some are missing and the others enlarged.
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
from utils.feedback.exercise import Case, Wrong, sample_parameter
from utils.feedback.instantiate import Params
from utils.feedback.probe import Probe


@dataclass(frozen=True)
class _ResultTerms:
    """A layer's result on a case, taken apart: `base`, what is there without any weight, and for each weight what it
    adds, [text, query, head, key, width].
    """

    base: Tensor
    terms: Tensor
    rate: float

    def sum(self, keep: Tensor | float = 1.0) -> Tensor:
        """The result with each weight multiplied by `keep`, which has those five axes, or 1 for any of them."""
        return self.base + (self.terms * keep).sum((2, 3))

    @functools.cached_property
    def sums_of_subsets(self) -> Tensor:
        """What the terms of each subset of weights add up to, [text, query, subset, width]."""
        subsets = _subsets(self.terms.shape[2] * self.terms.shape[3])
        return torch.einsum("sm,bqmw->bqsw", subsets, self.terms.flatten(2, 3))

    @property
    def visible(self) -> Tensor:
        """Which keys a query may see. Bool [query, key]."""
        return causal_mask(self.terms.shape[1])


@dataclass(frozen=True)
class _DropoutPattern:
    """How a result came about: each survivor times `factor`, a `share` dropped, a draw for each item of `axes`."""

    factor: float
    fraction: float
    axes: tuple[int, ...]  # of a draw: those of _Pieces.each, 1 where one draw serves all along an axis
    on_output: bool = False

    def sample_result(self, pieces: _ResultTerms) -> Tensor:
        """One result that came about so; the same for whoever asks."""
        kept = torch.rand(self.axes, generator=torch.Generator().manual_seed(11)) >= self.fraction
        if self.on_output:
            return pieces.sum() * kept[:, :, 0, 0] * self.factor
        return pieces.sum(kept * self.factor)


def make_dropout_parser(mix_values: Callable[[Params, Tensor, Tensor], Tensor], initial: Callable) -> Callable:
    """For an exercise's `read`: results that dropped weights in the same way, by whatever draws, become the same one.

    A layer in training may draw when and how it likes. Each row of its result must be a sum of weight × value, of which
    some are missing and the others enlarged; all subsets are tried, so texts have to be short. Where another thing was
    dropped, or in another way, and the mistake is a known one, its results become the same one as well, so that a
    misconception agrees with it. Whatever is not explained so, or dropped nothing, stays as it is.

    Args:
        mixed: `(params, x, keep)` to the result without dropout, with each weight multiplied by `keep`, which is
            [batch, heads, seq, seq].
        initial: the exercise's.
    """

    def read(result: Any, case: Case) -> Any:
        pieces = _decompose_result(mix_values, initial, case)
        if pieces is None or not isinstance(result, Tensor) or not result.is_floating_point():
            return result
        seen = result.detach().double()
        if seen.shape != pieces.base.shape or not seen.isfinite().all():
            return result
        if _is_close((seen - pieces.sum()).abs(), seen):  # nothing was dropped
            return result
        drops = _infer_pattern(seen, pieces)
        return result if drops is None else drops.sample_result(pieces).to(result.dtype)

    return read


@functools.lru_cache(maxsize=64)  # of one case it is asked for the answer and for every misconception
def _decompose_result(mixed: Callable, initial: Callable, case: Case) -> _ResultTerms | None:
    """The pieces of a case's result; None where nothing can be dropped, or it is not for us to say what is right."""
    try:
        bound = inspect.signature(initial).bind(**case.init) if isinstance(case.init, dict) else None
        bound = bound or inspect.signature(initial).bind(*case.init)
        bound.apply_defaults()
        made = initial(*bound.args, **bound.kwargs)
    except ValueError:  # it is to be refused
        return None
    rate, heads = bound.arguments["dropout"], bound.arguments.get("num_heads", 1)
    x = case.args[0]
    if not case.fill or not 0 < rate < 1 or heads * x.shape[1] > 10:
        return None
    p = Params({name: sample_parameter(name, value.shape, case.seed).double() for name, value in made.items()})
    p.init_args = bound.arguments
    x = x.double()
    batch, seq, _ = x.shape
    keep = torch.zeros(heads * seq + 1, batch, heads, seq, seq, dtype=torch.float64)
    for i in range(heads * seq):
        keep[i, :, i // seq, :, i % seq] = 1.0
    with torch.no_grad():  # all at once, as one large batch
        *each, base = mixed(p, x.repeat(len(keep), 1, 1), keep.flatten(0, 1)).unflatten(0, (-1, batch))
    return _ResultTerms(base, (torch.stack(each, dim=2) - base[:, :, None]).unflatten(2, (heads, seq)), rate)


def _infer_pattern(seen: Tensor, pieces: _ResultTerms) -> _DropoutPattern | None:
    """The first way that explains a result."""
    rate = pieces.rate
    for factor in dict.fromkeys((1 / (1 - rate), 1.0, 1 / rate, 2.0, 1 - rate)):
        for found in (_explain_by_weights, _explain_by_values, _explain_by_output):
            if drops := found(seen, pieces, factor):
                return drops
    return None


def _subsets(n: int) -> Tensor:
    """All rows of n zeros and ones, [2^n, n]."""
    return ((torch.arange(2**n)[:, None] >> torch.arange(n)) & 1).double()


def _is_close(gap: Tensor, seen: Tensor) -> bool:
    return bool((gap < 1e-4 * (1 + seen.abs().max())).all())


def _explain_by_weights(seen: Tensor, pieces: _ResultTerms, factor: float) -> _DropoutPattern | None:
    """Are single weights missing, in every row?"""
    batch, seq, heads, keys, _ = pieces.terms.shape
    made = factor * pieces.sums_of_subsets
    best = (made - (seen - pieces.base)[:, :, None]).abs().amax(-1).min(-1)
    if not _is_close(best.values, seen):
        return None
    kept = _subsets(heads * keys)[best.indices].view(batch, seq, heads, keys).bool()
    visible = pieces.visible[:, None].expand_as(kept)
    count = int(visible.sum())
    share = _infer_fraction(count - int((kept & visible).sum()), count, pieces.rate, factor)
    return None if share is None else _DropoutPattern(factor, share, _infer_axes(kept, share))


def _infer_fraction(dropped: int, of: int, rate: float, factor: float) -> float | None:
    """Which share was to be dropped, if any explains how many were: within six standard deviations of it."""
    if not dropped:
        return None
    likely = {s: abs(dropped - of * s) / math.sqrt(of * s * (1 - s)) for s in (rate, 1 - rate, 0.5)}
    if factor == 1 / (1 - rate) and likely[rate] < 6:
        return rate
    share = min(likely, key=likely.get)
    return share if likely[share] < 6 else None


def _infer_axes(kept: Tensor, share: float) -> tuple[int, ...]:
    """The axes of the draws: 1 where all along an axis agree, and chance would hardly ever make them."""
    seq = kept.shape[1]
    alike = share**2 + (1 - share) ** 2
    axes = [*kept.shape, 1]
    past = causal_mask(seq)
    for axis, first, seen in (
        (0, kept[:1], past[:, None].expand_as(kept)),  # one draw for all texts
        (2, kept[:, :, :1], past[:, None].expand_as(kept)),  # for all heads
        (1, kept[:, -1:], past[:, None].expand_as(kept)),  # for all queries, so that keys vanish as a whole
        (3, kept[..., :1], past[:, None].expand_as(kept)),  # for all keys, so that rows vanish as a whole
    ):
        same = (kept == first)[seen].all()
        compared = int(seen.sum()) * (1 - 1 / kept.shape[axis])
        if same and compared and alike**compared < 1e-6:
            axes[axis] = 1
    return tuple(axes)


def _explain_by_values(seen: Tensor, pieces: _ResultTerms, factor: float) -> _DropoutPattern | None:
    """Are single entries of the values missing, for all queries alike?"""
    batch, _, heads, keys, width = pieces.terms.shape
    if heads > 1:
        return None
    subsets = _subsets(keys)
    made = factor * torch.einsum("sk,bqkw->bqsw", subsets, pieces.terms[:, :, 0]) + pieces.base[:, :, None]
    best = (made - seen[:, :, None]).abs().amax(1).min(1)
    if not _is_close(best.values, seen):
        return None
    share = _infer_fraction(int((1 - subsets[best.indices]).sum()), batch * width * keys, pieces.rate, factor)
    return None if share is None else _DropoutPattern(factor, share, (batch, 1, 1, keys, width))


def _explain_by_output(seen: Tensor, pieces: _ResultTerms, factor: float) -> _DropoutPattern | None:
    """Are single entries of the result missing?"""
    gone, left = seen.abs(), (seen - factor * pieces.sum()).abs()
    if not _is_close(torch.minimum(gone, left), seen):
        return None
    share = _infer_fraction(int((gone < left).sum()), seen.numel(), pieces.rate, factor)
    return (
        None
        if share is None
        else _DropoutPattern(factor, share, (*seen.shape[:2], 1, 1, seen.shape[2]), on_output=True)
    )


def make_dropout(
    factor: Callable[[float], float] = lambda rate: 1 / (1 - rate),
    fraction: Callable[[float], float] = lambda rate: rate,
    mask_shape: Callable[[Sequence[int]], Sequence[int]] = lambda shape: shape,
) -> Callable:
    """For `after`: weights dropped by `torch.rand`: what survives is multiplied, which share goes, over which shape."""

    def after(p, weights, mask):
        rate = p.init_args["dropout"]
        if not p.training or not rate:
            return weights
        drawn = torch.rand(tuple(mask_shape(weights.shape)), device=weights.device)
        return weights * (drawn >= fraction(rate)) * factor(rate)

    return after


def dropout_misconceptions(make_layer: Callable, has_heads: bool = False) -> dict[str, Wrong]:
    """Dropouts of the weights that go wrong, whatever they draw with; `by(transform_weights=...)` is the layer with one of them."""
    wrong = {
        "not-enlarged": Wrong(
            make_layer(transform_weights=make_dropout(factor=lambda rate: 1.0)),
            "What survives the dropout keeps its size, so in training the sums come out too small on average. The"
            " survivors have to make up for the dropped: divide by 1 - dropout.",
        ),
        "keep-and-drop-swapped": Wrong(
            make_layer(transform_weights=make_dropout(fraction=lambda rate: 1 - rate)),
            "Keep and drop have changed places: a share of 1 - dropout vanishes, where a share of dropout should.",
        ),
        "one-draw-for-all-texts": Wrong(
            make_layer(transform_weights=make_dropout(mask_shape=lambda shape: (1, *shape[1:]))),
            "All texts of a batch lose the same weights. Chance decides on each weight by itself, in every text.",
        ),
        "keys-vanish-as-a-whole": Wrong(
            make_layer(transform_weights=make_dropout(mask_shape=lambda shape: (*shape[:-2], 1, shape[-1]))),
            "A position that is dropped is dropped for all that look at it. Chance decides on each weight by itself:"
            " one draw for each pair of positions.",
        ),
        "rows-vanish-as-a-whole": Wrong(
            make_layer(transform_weights=make_dropout(mask_shape=lambda shape: (*shape[:-1], 1))),
            "Whole rows are dropped, so that a position hears everyone or nobody. Chance decides on each weight by"
            " itself: one draw for each pair of positions.",
        ),
    }
    if has_heads:
        wrong["one-draw-for-all-heads"] = Wrong(
            make_layer(transform_weights=make_dropout(mask_shape=lambda shape: (shape[0], 1, *shape[2:]))),
            "All heads lose the same weights. Chance decides on each weight by itself, in every head.",
        )
    return wrong


def drops_weights(probe: Probe) -> str | None:
    """Where all is right after eval() and not in training, it is the dropout that is wrong; what else it may be."""
    right = {t.case.train: [] for t in probe.trials}
    for t in probe.trials:
        right[t.case.train].append(t.is_correct(probe.exercise))
    if all(right.get(True, [True])) or not all(right.get(False, [True])):
        return None
    return (
        "After eval() all is right, in training it is not. There each row should be the sum of weight × value with some"
        " terms left out at random, and what is left of it divided by 1 - dropout."
    )


def draws_anew(probe: Probe) -> str | None:
    """Two calls in training do not drop the same."""
    for trial in probe.trials:
        if not trial.case.train:
            continue
        seen = probe.run(trial.case, calls=2)
        if seen.failure is None and isinstance(seen.value[0], Tensor) and torch.equal(*seen.value):
            return (
                "Two calls in training drop the same weights. Each call is to draw anew, or the model learns to do"
                " without these few alone."
            )
    return None


DROPOUT = (drops_weights, draws_anew)
