"""What several lessons' checks build on: the journey, masks, attention with a knob for each step, words, positions.

Right answers go through torch's own attention (`torch_attention`); `weights` is the one to be turned wrong.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.feedback.exercise import Case, Wrong, case, layer_parameters
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


def strictly_causal_mask(size: int) -> Tensor:
    """Only what comes before, so that position 0 sees nothing."""
    return causal_mask(size).tril(-1)


def mask_scores(scores: Tensor, mask: Tensor | None, value: float = -torch.inf) -> Tensor:
    """Scores with `value` where the mask is False; as they are without a mask."""
    return scores if mask is None else scores.masked_fill(~mask.to(scores.device), value)


def invert_mask(mask: Tensor | None) -> Tensor | None:
    """A mask read the other way round: True = hidden."""
    return None if mask is None else ~mask


# --- parameters -------------------------------------------------------------------------------------------

QKV = ("W_query", "W_key", "W_value")
QKV_LAYERS = ("q_layer", "k_layer", "v_layer")


def qkv_parameters(d_in: int, d_out: int, bias: bool, names: tuple[str, ...] = QKV) -> dict[str, Tensor]:
    """Parameters of three layers from d_in to d_out, as `nn.Linear` draws them, in the order of `names`."""
    return layer_parameters(**{name: nn.Linear(d_in, d_out, bias=bias) for name in names})


def project_qkv(p: Mapping[str, Tensor], x: Tensor, names: tuple[str, ...] = QKV, prefix: str = "") -> list[Tensor]:
    """Queries, keys and values of x through the layers of these names, with their biases if they have any."""
    return [F.linear(x, p[f"{prefix}{name}.weight"], p.get(f"{prefix}{name}.bias")) for name in names]


def fix_arguments(initial: Callable, **settings: object) -> Callable:
    """The constructor `initial` with some of its arguments fixed, whatever it is called with."""
    signature = inspect.signature(initial)

    @functools.wraps(initial)
    def made(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.arguments.update(settings)
        return initial(*bound.args, **bound.kwargs)

    return made


def initialisation_case(x: Tensor, init: tuple, seed: int) -> Case:
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


def restrict_to_cases(broken: Property, predicate: Callable[[Case], bool]) -> Property:
    """A property that is asked of some cases only."""

    @functools.wraps(broken)
    def asked(probe: Probe) -> str | None:
        trials = [trial for trial in probe.trials if predicate(trial.case)]
        return broken(replace(probe, trials=trials)) if trials else None

    return asked


def hides_with_minus_infinity(probe: Probe) -> str | None:
    """A hidden position gets no weight where everything is hidden: such a row may be nan or 0, or be refused.

    Any finite number shares it out among what it should hide. Asked of right numbers, where the case gives a mask and
    weights come out, alone or last in a tuple.
    """
    several = isinstance(probe.exercise.returns, tuple)
    for trial in probe.trials if probe.has_correct_values else ():
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


def attention_weights(
    q: Tensor,
    k: Tensor,
    mask: Tensor | None = None,
    *,
    scale: float | None = None,
    axis: int = -1,
    masked_value: float = -torch.inf,
) -> Tensor:
    """Attention weights [..., seq, seq] with a knob for each step.

    Args:
        q, k: [..., seq, d_head].
        mask: bool [seq, seq], True = may attend.
        scale: what the scores are multiplied by, 1 / sqrt(d_head) unless given.
        axis: along which the softmax runs.
        masked_value: what a hidden score becomes.
    """
    scores = q @ k.mT * (k.shape[-1] ** -0.5 if scale is None else scale)
    return F.softmax(mask_scores(scores, mask, masked_value), axis)


def make_attention(
    qkv=project_qkv,
    make_mask=lambda given, size: given,
    scale=lambda d_head, d_in: d_head**-0.5,
    masked_value: float | None = -torch.inf,
    axis: int = -1,
    order=(0, 1, 2),
    transform_scores=lambda p, scores: scores,
    transform_weights=lambda p, weights, mask: weights,
    mix=lambda p, weights, v, x: weights @ v,
    out=lambda p, mixed: mixed,
) -> Callable:
    """The forward pass `(params, x, mask=None, return_weights=False)` of attention, with a knob for each step.

    Args:
        qkv: `(params, x)` to queries, keys and values; `order` says which of these serve as such.
        make_mask: `(the call's own mask, the number of positions)` to the mask that counts.
        scale: `(d_head, d_in)` to what the scores are multiplied by.
        masked_value: what a hidden score becomes; None leaves all as they are.
        axis: along which the softmax runs.
        transform_scores: the scores' last change before they are hidden.
        transform_weights: `(params, weights, mask)` to the weights that mix.
        mix: weights, values and x to context vectors.
        out: what becomes of these.
    """

    def answer(p, x, mask=None, return_weights=False):
        made = qkv(p, x)
        q, k, v = (made[i] for i in order)
        seen = make_mask(mask, x.shape[-2])
        seen = None if seen is None else seen.to(x.device)
        scores = transform_scores(p, q @ k.mT * scale(k.shape[-1], x.shape[-1]))
        shares = transform_weights(
            p, F.softmax(scores if masked_value is None else mask_scores(scores, seen, masked_value), axis), seen
        )
        y = out(p, mix(p, shares, v, x))
        return (y, shares) if return_weights else y

    return answer


def apply_dropout(p, x: Tensor, mask: Tensor | None = None) -> Tensor:
    """Dropout as a module built with `dropout` does it in its mode."""
    return F.dropout(x, p.init_args["dropout"], p.training)


def make_causal_attention(qkv=project_qkv, make_mask=causal_mask, transform_weights=apply_dropout, **how) -> Callable:
    """`attention` that makes its mask itself, by `sees(the number of positions)`, and drops weights in training."""
    return make_attention(
        qkv, make_mask=lambda given, size: make_mask(size), transform_weights=transform_weights, **how
    )


def torch_causal_attention(p, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The same by torch's attention: what it drops in the module's mode is nothing after eval()."""
    return torch_attention(q, k, v, is_causal=True, dropout_p=p.init_args["dropout"] if p.training else 0.0)


_after_eval = functools.partial(
    restrict_to_cases, predicate=lambda case: not case.train
)  # what chance may change is asked after eval()
CAUSAL_LAYER = (
    _after_eval(causal()),
    _after_eval(batch_independent()),
    moves_with_its_module,
    _after_eval(remembers_nothing),
)

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


def scale_by_length(p, scores: Tensor) -> Tensor:
    """For `before`: scores divided by the root of how many positions there are."""
    return scores / scores.shape[-1] ** 0.5


def multiplied_by_root_message(width: str) -> str:
    return (
        f"The scores were multiplied by the root of {width} and should be divided by it. A dot product grows with that"
        " root as it is; now the softmax is sharper still, and picks one token."
    )


def divided_by_width_message(width: str) -> str:
    return (
        f"You divided by {width} instead of by its root. The spread of a dot product grows with the root of the width."
    )


def ignored_qkv_bias_misconceptions(right: Callable, initial: Callable) -> dict[str, Wrong]:
    """Layers made by `initial` that have biases always, or never, whatever qkv_bias says."""
    return {
        "always-a-bias": Wrong(
            right,
            "The layers have biases although qkv_bias is False: nn.Linear adds one unless it is told not to. Pass"
            " qkv_bias on as its bias.",
            initial_parameters=fix_arguments(initial, qkv_bias=True),
        ),
        "never-a-bias": Wrong(
            right,
            "The layers have no biases even when qkv_bias is True. Pass qkv_bias on as the layers' bias.",
            initial_parameters=fix_arguments(initial, qkv_bias=False),
        ),
    }


# --- positions --------------------------------------------------------------------------------------------


def rotation_factors(position: Tensor, d: int, base: float) -> Tensor:
    """Unit complex numbers [seq, d/2] in float64: pair i turns by base^(-2i/d) a position."""
    speed = base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    angle = position.to(torch.float64)[:, None] * speed
    return torch.polar(torch.ones_like(angle), angle)


def sinusoids(position: Tensor, d_model: int, base: float = 100.0) -> Tensor:
    """Sines and cosines [seq, d_model] side by side, as the parts of unit numbers that turn."""
    turned = rotation_factors(position, d_model, base)
    return torch.stack((turned.imag, turned.real), dim=-1).flatten(1).float()


def rope(x: Tensor, base: float = 10000.0) -> Tensor:
    """x [..., seq, d] with each pair of neighbours turned by its position, as complex numbers."""
    pairs = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous())
    turned = pairs * rotation_factors(torch.arange(x.shape[-2]), x.shape[-1], base)
    return torch.view_as_real(turned).flatten(-2).to(x.dtype)
