"""What several lessons' checks build on: the journey, masks, attention with a knob for each step, words, positions.

Right answers go through torch's own attention (`torch_attention`); `weights` is the one to be turned wrong.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.feedback.exercise import Case, Wrong, case, filled, linear
from utils.feedback.observe import Params
from utils.feedback.probe import Probe
from utils.feedback.properties import (
    Property,
    batch_independent,
    causal,
    moves_with_its_module,
    remembers_nothing,
)

# --- the six word vectors that lessons 02 to 05 work on: "Your journey starts with one step" --------------

INPUTS = torch.tensor(
    [
        [0.43, 0.15, 0.89],  # Your
        [0.55, 0.87, 0.66],  # journey
        [0.57, 0.85, 0.64],  # starts
        [0.22, 0.58, 0.33],  # with
        [0.77, 0.25, 0.10],  # one
        [0.05, 0.80, 0.55],  # step
    ]
)
QUERY = INPUTS[1]

# --- masks: True = may attend -----------------------------------------------------------------------------


def causal_mask(size: int) -> Tensor:
    """Each position sees itself and what comes before it. Bool [size, size]."""
    return torch.arange(size)[:, None] >= torch.arange(size)


def future_mask(size: int) -> Tensor:
    """The mirror image: itself and what comes after it."""
    return causal_mask(size).T


def strict_mask(size: int) -> Tensor:
    """Only what comes before, so that position 0 sees nothing."""
    return causal_mask(size).tril(-1)


def hide(scores: Tensor, mask: Tensor | None, value: float = -torch.inf) -> Tensor:
    """Scores with `value` where the mask is False; as they are without a mask."""
    return scores if mask is None else scores.masked_fill(~mask.to(scores.device), value)


def negated(mask: Tensor | None) -> Tensor | None:
    """A mask read the other way round: True = hidden."""
    return None if mask is None else ~mask


# --- parameters -------------------------------------------------------------------------------------------

QKV = ("W_query", "W_key", "W_value")
QKV_LAYERS = ("q_layer", "k_layer", "v_layer")


def qkv_layers(d_in: int, d_out: int, bias: bool, names: tuple[str, ...] = QKV) -> dict[str, Tensor]:
    """Parameters of three layers from d_in to d_out, as `nn.Linear` draws them, in the order of `names`."""
    return linear(**{name: nn.Linear(d_in, d_out, bias=bias) for name in names})


def project(p: Mapping[str, Tensor], x: Tensor, names: tuple[str, ...] = QKV, prefix: str = "") -> list[Tensor]:
    """Queries, keys and values of x through the layers of these names, with their biases if they have any."""
    return [F.linear(x, p[f"{prefix}{name}.weight"], p.get(f"{prefix}{name}.bias")) for name in names]


def fixed(initial: Callable, **settings: object) -> Callable:
    """The constructor `initial` with some of its arguments fixed, whatever it is called with."""
    signature = inspect.signature(initial)

    @functools.wraps(initial)
    def made(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.arguments.update(settings)
        return initial(*bound.args, **bound.kwargs)

    return made


def as_made(x: Tensor, init: tuple, seed: int) -> Case:
    """A case in which a module keeps the weights that its constructor draws from this seed."""
    note = f"with the weights as __init__ makes them after manual_seed({seed})"
    return case(x, init=init, fill=False, seed=seed, note=note)


def starts_as_linear(init: tuple, shape: tuple) -> Property:
    """What stands in layers starts with the numbers that `nn.Linear` draws, in whatever order they are made."""

    def broken(probe: Probe) -> str | None:
        seen = probe.run(case(torch.zeros(shape), init=init, fill=False), state=True)
        for name, value in (seen.state or {}).items():
            if not name.endswith(".weight") or value.dim() != 2:
                continue
            limit = value.shape[1] ** -0.5
            # evenly from -limit to limit, which has a spread of 0.58 times the limit
            if value.abs().max() > 1.001 * limit or not 0.5 < value.std() / limit < 0.65:
                return (
                    f"`{name}` does not start with the numbers that nn.Linear draws: for {value.shape[1]} inputs they"
                    f" lie evenly between -{limit:.3f} and {limit:.3f}."
                )
        return None

    return broken


def only(broken: Property, of: Callable[[Case], bool]) -> Property:
    """A property that is asked of some cases only."""

    @functools.wraps(broken)
    def asked(probe: Probe) -> str | None:
        trials = [trial for trial in probe.trials if of(trial.case)]
        return broken(replace(probe, trials=trials)) if trials else None

    return asked


def hides_with_minus_infinity(probe: Probe) -> str | None:
    """A hidden position gets no weight where everything is hidden: such a row may be nan or 0, or be refused.

    Any finite number shares it out among what it should hide. Asked of right numbers, where the case gives a mask and
    weights come out, alone or last in a tuple.
    """
    several = isinstance(probe.exercise.returns, tuple)
    for trial in probe.trials if probe.values_right else ():
        mask = trial.case.kwargs.get("mask")
        if mask is None or isinstance(trial.expected.value, tuple) != several:
            continue
        closed = mask.clone()
        closed[1] = False
        seen = probe.run(replace(trial.case, kwargs={**trial.case.kwargs, "mask": closed}))
        found = seen.value[-1] if isinstance(seen.value, tuple) else seen.value
        if seen.failure or not isinstance(found, Tensor) or found.dim() < 2:
            continue
        weight = float(found.detach()[..., 1, :].nan_to_num(0.0).abs().max())
        if weight > 1e-6:
            return (
                f"In a row that may see nothing, a hidden position gets a weight of {weight:.2f}. A low number hides a"
                " score only beside higher ones; only -inf has no weight beside any."
            )
    return None


# --- attention --------------------------------------------------------------------------------------------


def torch_attention(
    q: Tensor, k: Tensor, v: Tensor | None = None, mask: Tensor | None = None, **options: float | bool
) -> Tensor:
    """torch's attention for any number of leading axes (it wants at least one).

    Without values the identity is mixed, so the weights [..., seq, seq] come out.
    """
    if v is None:
        v = torch.eye(k.shape[-2], dtype=k.dtype, device=k.device).expand(*k.shape[:-1], k.shape[-2])
    return F.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=mask, **options)[0]


def weights(
    q: Tensor,
    k: Tensor,
    mask: Tensor | None = None,
    *,
    scale: float | None = None,
    axis: int = -1,
    hidden: float = -torch.inf,
) -> Tensor:
    """Attention weights [..., seq, seq] with a knob for each step.

    Args:
        q, k: [..., seq, d_head].
        mask: bool [seq, seq], True = may attend.
        scale: what the scores are multiplied by, 1 / sqrt(d_head) unless given.
        axis: along which the softmax runs.
        hidden: what a hidden score becomes.
    """
    scores = q @ k.mT * (k.shape[-1] ** -0.5 if scale is None else scale)
    return F.softmax(hide(scores, mask, hidden), axis)


def attention(
    qkv=project,
    sees=lambda given, size: given,
    scale=lambda d_head, d_in: d_head**-0.5,
    hidden: float | None = -torch.inf,
    axis: int = -1,
    order=(0, 1, 2),
    before=lambda p, scores: scores,
    after=lambda p, weights, mask: weights,
    mix=lambda p, weights, v, x: weights @ v,
    out=lambda p, mixed: mixed,
) -> Callable:
    """The forward pass `(params, x, mask=None, return_weights=False)` of attention, with a knob for each step.

    Args:
        qkv: `(params, x)` to queries, keys and values; `order` says which of these serve as such.
        sees: `(the call's own mask, the number of positions)` to the mask that counts.
        scale: `(d_head, d_in)` to what the scores are multiplied by.
        hidden: what a hidden score becomes; None leaves all as they are.
        axis: along which the softmax runs.
        before: the scores' last change before they are hidden.
        after: `(params, weights, mask)` to the weights that mix.
        mix: weights, values and x to context vectors.
        out: what becomes of these.
    """

    def answer(p, x, mask=None, return_weights=False):
        made = qkv(p, x)
        q, k, v = (made[i] for i in order)
        seen = sees(mask, x.shape[-2])
        seen = None if seen is None else seen.to(x.device)
        scores = before(p, q @ k.mT * scale(k.shape[-1], x.shape[-1]))
        shares = after(p, F.softmax(scores if hidden is None else hide(scores, seen, hidden), axis), seen)
        y = out(p, mix(p, shares, v, x))
        return (y, shares) if return_weights else y

    return answer


def dropped(p, x: Tensor, mask: Tensor | None = None) -> Tensor:
    """Dropout as a module built with `dropout` does it in its mode."""
    return F.dropout(x, p.init["dropout"], p.training)


def causal_attention(qkv=project, sees=causal_mask, after=dropped, **how) -> Callable:
    """`attention` that makes its mask itself, by `sees(the number of positions)`, and drops weights in training."""
    return attention(qkv, sees=lambda given, size: sees(size), after=after, **how)


def torch_causal(p, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The same by torch's attention: what it drops in the module's mode is nothing after eval()."""
    return torch_attention(q, k, v, is_causal=True, dropout_p=p.init["dropout"] if p.training else 0.0)


# --- dropout, judged by what it does ----------------------------------------------------------------------


@dataclass(frozen=True)
class _Pieces:
    """A layer's result on a case, taken apart: `base`, what is there without any weight, and for each weight what it
    adds, [text, query, head, key, width].
    """

    base: Tensor
    each: Tensor
    rate: float

    def sum(self, keep: Tensor | float = 1.0) -> Tensor:
        """The result with each weight multiplied by `keep`, which has those five axes, or 1 for any of them."""
        return self.base + (self.each * keep).sum((2, 3))

    @property
    def visible(self) -> Tensor:
        """Which keys a query may see. Bool [query, key]."""
        return causal_mask(self.each.shape[1])


@dataclass(frozen=True)
class _Drops:
    """How a result came about: each survivor times `factor`, a `share` dropped, a draw for each item of `axes`."""

    factor: float
    share: float
    axes: tuple[int, ...]  # of a draw: those of _Pieces.each, 1 where one draw serves all along an axis
    on_output: bool = False

    def example(self, pieces: _Pieces) -> Tensor:
        """One result that came about so; the same for whoever asks."""
        kept = torch.rand(self.axes, generator=torch.Generator().manual_seed(11)) >= self.share
        if self.on_output:
            return pieces.sum() * kept[:, :, 0, 0] * self.factor
        return pieces.sum(kept * self.factor)


def by_what_is_dropped(mixed: Callable[[Params, Tensor, Tensor], Tensor], initial: Callable) -> Callable:
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
        pieces = _taken_apart(mixed, initial, case)
        if pieces is None or not isinstance(result, Tensor) or not result.is_floating_point():
            return result
        seen = result.detach().double()
        if seen.shape != pieces.base.shape or not seen.isfinite().all():
            return result
        drops = _how_dropped(seen, pieces)
        return result if drops is None else drops.example(pieces).to(result.dtype)

    return read


def _taken_apart(mixed: Callable, initial: Callable, case: Case) -> _Pieces | None:
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
    p = Params({name: filled(name, value.shape, case.seed).double() for name, value in made.items()})
    p.init = bound.arguments
    x = x.double()
    batch, seq, _ = x.shape
    keep = torch.zeros(heads * seq + 1, batch, heads, seq, seq, dtype=torch.float64)
    for i in range(heads * seq):
        keep[i, :, i // seq, :, i % seq] = 1.0
    with torch.no_grad():  # all at once, as one large batch
        *each, base = mixed(p, x.repeat(len(keep), 1, 1), keep.flatten(0, 1)).unflatten(0, (-1, batch))
    return _Pieces(base, (torch.stack(each, dim=2) - base[:, :, None]).unflatten(2, (heads, seq)), rate)


def _how_dropped(seen: Tensor, pieces: _Pieces) -> _Drops | None:
    """The first way that explains a result."""
    rate = pieces.rate
    for factor in dict.fromkeys((1 / (1 - rate), 1.0, 1 / rate, 2.0, 1 - rate)):
        for found in (_weights_dropped, _values_dropped, _output_dropped):
            if drops := found(seen, pieces, factor):
                return drops
    return None


def _subsets(n: int) -> Tensor:
    """All rows of n zeros and ones, [2^n, n]."""
    return ((torch.arange(2**n)[:, None] >> torch.arange(n)) & 1).double()


def _fits(gap: Tensor, seen: Tensor) -> bool:
    return bool((gap < 1e-4 * (1 + seen.abs().max())).all())


def _weights_dropped(seen: Tensor, pieces: _Pieces, factor: float) -> _Drops | None:
    """Are single weights missing, in every row?"""
    batch, seq, heads, keys, _ = pieces.each.shape
    subsets = _subsets(heads * keys)
    made = pieces.base[:, :, None] + factor * torch.einsum("sm,bqmw->bqsw", subsets, pieces.each.flatten(2, 3))
    best = (made - seen[:, :, None]).abs().amax(-1).min(-1)
    if not _fits(best.values, seen):
        return None
    kept = subsets[best.indices].view(batch, seq, heads, keys).bool()
    visible = pieces.visible[:, None].expand_as(kept)
    count = int(visible.sum())
    share = _share(count - int((kept & visible).sum()), count, pieces.rate, factor)
    return None if share is None else _Drops(factor, share, _axes(kept, share))


def _share(dropped: int, of: int, rate: float, factor: float) -> float | None:
    """Which share was to be dropped, if any explains how many were: within six standard deviations of it."""
    if not dropped:
        return None
    likely = {s: abs(dropped - of * s) / math.sqrt(of * s * (1 - s)) for s in (rate, 1 - rate, 0.5)}
    if factor == 1 / (1 - rate) and likely[rate] < 6:
        return rate
    share = min(likely, key=likely.get)
    return share if likely[share] < 6 else None


def _axes(kept: Tensor, share: float) -> tuple[int, ...]:
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


def _values_dropped(seen: Tensor, pieces: _Pieces, factor: float) -> _Drops | None:
    """Are single entries of the values missing, for all queries alike?"""
    batch, _, heads, keys, width = pieces.each.shape
    if heads > 1:
        return None
    subsets = _subsets(keys)
    made = factor * torch.einsum("sk,bqkw->bqsw", subsets, pieces.each[:, :, 0]) + pieces.base[:, :, None]
    best = (made - seen[:, :, None]).abs().amax(1).min(1)
    if not _fits(best.values, seen):
        return None
    share = _share(int((1 - subsets[best.indices]).sum()), batch * width * keys, pieces.rate, factor)
    return None if share is None else _Drops(factor, share, (batch, 1, 1, keys, width))


def _output_dropped(seen: Tensor, pieces: _Pieces, factor: float) -> _Drops | None:
    """Are single entries of the result missing?"""
    gone, left = seen.abs(), (seen - factor * pieces.sum()).abs()
    if not _fits(torch.minimum(gone, left), seen):
        return None
    share = _share(int((gone < left).sum()), seen.numel(), pieces.rate, factor)
    return None if share is None else _Drops(factor, share, (*seen.shape[:2], 1, 1, seen.shape[2]), on_output=True)


def own_draw(
    factor: Callable[[float], float] = lambda rate: 1 / (1 - rate),
    share: Callable[[float], float] = lambda rate: rate,
    over: Callable[[Sequence[int]], Sequence[int]] = lambda shape: shape,
) -> Callable:
    """For `after`: weights dropped by `torch.rand`: what survives is multiplied, which share goes, over which shape."""

    def after(p, weights, mask):
        rate = p.init["dropout"]
        if not p.training or not rate:
            return weights
        drawn = torch.rand(tuple(over(weights.shape)), device=weights.device)
        return weights * (drawn >= share(rate)) * factor(rate)

    return after


def own_dropouts(by: Callable, heads: bool = False) -> dict[str, Wrong]:
    """Dropouts of the weights that go wrong, whatever they draw with; `by(after=...)` is the layer with one of them."""
    wrong = {
        "not-enlarged": Wrong(
            by(after=own_draw(factor=lambda rate: 1.0)),
            "What survives the dropout keeps its size, so in training the sums come out too small on average. The"
            " survivors have to make up for the dropped: divide by 1 - dropout.",
        ),
        "keep-and-drop-swapped": Wrong(
            by(after=own_draw(share=lambda rate: 1 - rate)),
            "Keep and drop have changed places: a share of 1 - dropout vanishes, where a share of dropout should.",
        ),
        "one-draw-for-all-texts": Wrong(
            by(after=own_draw(over=lambda shape: (1, *shape[1:]))),
            "All texts of a batch lose the same weights. Chance decides on each weight by itself, in every text.",
        ),
        "keys-vanish-as-a-whole": Wrong(
            by(after=own_draw(over=lambda shape: (*shape[:-2], 1, shape[-1]))),
            "A position that is dropped is dropped for all that look at it. Chance decides on each weight by itself:"
            " one draw for each pair of positions.",
        ),
        "rows-vanish-as-a-whole": Wrong(
            by(after=own_draw(over=lambda shape: (*shape[:-1], 1))),
            "Whole rows are dropped, so that a position hears everyone or nobody. Chance decides on each weight by"
            " itself: one draw for each pair of positions.",
        ),
    }
    if heads:
        wrong["one-draw-for-all-heads"] = Wrong(
            by(after=own_draw(over=lambda shape: (shape[0], 1, *shape[2:]))),
            "All heads lose the same weights. Chance decides on each weight by itself, in every head.",
        )
    return wrong


def drops_weights(probe: Probe) -> str | None:
    """Where all is right after eval() and not in training, it is the dropout that is wrong; what else it may be."""
    right = {t.case.train: [] for t in probe.trials}
    for t in probe.trials:
        right[t.case.train].append(t.right(probe.exercise))
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


_settled = functools.partial(only, of=lambda case: not case.train)  # what chance may change is asked after eval()
CAUSAL_LAYER = (
    _settled(causal()),
    _settled(batch_independent()),
    moves_with_its_module,
    _settled(remembers_nothing),
)
DROPOUT = (drops_weights, draws_anew)

# --- words for mistakes that come up in several exercises -------------------------------------------------

WORDS = {
    "wrong-axis": (
        "Softmax ran down the columns. A row belongs to the position that asks, and it is the asker who shares out one"
        " unit."
    ),
    "still-scores": (
        "These are the scores, scaled and masked; the softmax is missing. Weights are shares: each row sums to one."
    ),
    "inputs-as-values": (
        "The raw inputs are mixed, so the result has d_in columns. What a token passes on is its value vector, of d_out"
        " entries."
    ),
    "keys-as-values": (
        "The keys are mixed instead of the values. A key is what a token is found by; its value is what it passes on."
    ),
    "root-of-2": (
        "The scores are divided by the root of 2, whatever the layer is built with. The root to divide by is that of"
        " the width of its own keys."
    ),
    "root-of-the-length": (
        "You divided by the root of the number of positions. Scores spread with the width of queries and keys, and not"
        " with the length of the text."
    ),
}


def by_the_length(p, scores: Tensor) -> Tensor:
    """For `before`: scores divided by the root of how many positions there are."""
    return scores / scores.shape[-1] ** 0.5


def multiplied_by_the_root(width: str) -> str:
    return (
        f"The scores were multiplied by the root of {width} and should be divided by it. A dot product grows with that"
        " root as it is; now the softmax is sharper still, and picks one token."
    )


def divided_by_the_whole(width: str) -> str:
    return (
        f"You divided by {width} instead of by its root. The spread of a dot product grows with the root of the width."
    )


def qkv_bias_unheard(right: Callable, initial: Callable) -> dict[str, Wrong]:
    """Layers made by `initial` that have biases always, or never, whatever qkv_bias says."""
    return {
        "always-a-bias": Wrong(
            right,
            "The layers have biases although qkv_bias is False: nn.Linear adds one unless it is told not to. Pass"
            " qkv_bias on as its bias.",
            initial=fixed(initial, qkv_bias=True),
        ),
        "never-a-bias": Wrong(
            right,
            "The layers have no biases even when qkv_bias is True. Pass qkv_bias on as the layers' bias.",
            initial=fixed(initial, qkv_bias=False),
        ),
    }


# --- positions --------------------------------------------------------------------------------------------


def turns(position: Tensor, d: int, base: float) -> Tensor:
    """Unit complex numbers [seq, d/2] in float64: pair i turns by base^(-2i/d) a position."""
    speed = base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    angle = position.to(torch.float64)[:, None] * speed
    return torch.polar(torch.ones_like(angle), angle)


def waves(position: Tensor, d_model: int, base: float = 100.0) -> Tensor:
    """Sines and cosines [seq, d_model] side by side, as the parts of unit numbers that turn."""
    turned = turns(position, d_model, base)
    return torch.stack((turned.imag, turned.real), dim=-1).flatten(1).float()


def rope(x: Tensor, base: float = 10000.0) -> Tensor:
    """x [..., seq, d] with each pair of neighbours turned by its position, as complex numbers."""
    pairs = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous())
    turned = pairs * turns(torch.arange(x.shape[-2]), x.shape[-1], base)
    return torch.view_as_real(turned).flatten(-2).to(x.dtype)
