"""Provide helpers for the checks of several lessons: inputs, masks, attention, messages and position encodings.

Oracles use torch's own attention (`torch_attention`). Misconceptions use `attention_weights` and `make_attention`,
which have a parameter for each step of attention.
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

# --- word vectors of "Your journey starts with one step", used in lessons 02 to 05 ------------------------

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
    """Return the bool mask [size, size] in which each position sees itself and all earlier positions."""
    return torch.arange(size)[:, None] >= torch.arange(size)


def future_mask(size: int) -> Tensor:
    """Return the bool mask [size, size] in which each position sees itself and all later positions."""
    return causal_mask(size).T


def strictly_causal_mask(size: int) -> Tensor:
    """Return the bool mask [size, size] in which each position sees only earlier ones, and position 0 sees nothing."""
    return causal_mask(size).tril(-1)


def mask_scores(scores: Tensor, mask: Tensor | None, value: float = -torch.inf) -> Tensor:
    """Set the scores to `value` where the mask is False. Without a mask, return them unchanged."""
    return scores if mask is None else scores.masked_fill(~mask.to(scores.device), value)


def invert_mask(mask: Tensor | None) -> Tensor | None:
    """Invert the mask, so that True means hidden."""
    return None if mask is None else ~mask


# --- parameters -------------------------------------------------------------------------------------------

QKV = ("W_query", "W_key", "W_value")
QKV_LAYERS = ("q_layer", "k_layer", "v_layer")


def qkv_parameters(d_in: int, d_out: int, bias: bool, names: tuple[str, ...] = QKV) -> dict[str, Tensor]:
    """Return the initial parameters of three `nn.Linear` layers from d_in to d_out, created in the order of `names`."""
    return layer_parameters(**{name: nn.Linear(d_in, d_out, bias=bias) for name in names})


def project_qkv(p: Mapping[str, Tensor], x: Tensor, names: tuple[str, ...] = QKV, prefix: str = "") -> list[Tensor]:
    """Compute the queries, keys and values of x with the layers `names`; their biases are optional."""
    return [F.linear(x, p[f"{prefix}{name}.weight"], p.get(f"{prefix}{name}.bias")) for name in names]


def fix_arguments(initial: Callable, **settings: object) -> Callable:
    """Wrap the constructor `initial` so that the arguments in `settings` have fixed values."""
    signature = inspect.signature(initial)

    @functools.wraps(initial)
    def with_settings(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.arguments.update(settings)
        return initial(*bound.args, **bound.kwargs)

    return with_settings


def initialisation_case(x: Tensor, init: tuple, seed: int) -> Case:
    """Return a case that keeps the initial weights, which the constructor samples with this seed."""
    note = f"with the weights that __init__ creates after manual_seed({seed})"
    return case(x, init=init, fill=False, seed=seed, note=note)


def starts_as_linear(init: tuple, shape: tuple) -> Property:
    """Check that all weight matrices have the initial distribution of `nn.Linear`, in any order of creation."""

    def broken(probe: Probe) -> str | None:
        observation = probe.run(case(torch.zeros(shape), init=init, fill=False), state=True)
        for name, value in (observation.state or {}).items():
            if not name.endswith(".weight") or value.dim() != 2:
                continue
            limit = value.shape[1] ** -0.5
            # nn.Linear samples uniformly from -limit to limit; this distribution has a std of 0.58 × limit.
            if value.abs().max() > 1.001 * limit or not 0.5 < value.std() / limit < 0.65:
                return (
                    f"`{name}` does not start with numbers as nn.Linear samples them: for {value.shape[1]} inputs, they"
                    f" should be uniform between -{limit:.3f} and {limit:.3f}."
                )
        return None

    return broken


def restrict_to_cases(broken: Property, predicate: Callable[[Case], bool]) -> Property:
    """Restrict a property to the cases for which `predicate` is true."""

    @functools.wraps(broken)
    def restricted(probe: Probe) -> str | None:
        trials = [trial for trial in probe.trials if predicate(trial.case)]
        return broken(replace(probe, trials=trials)) if trials else None

    return restricted


def hides_with_minus_infinity(probe: Probe) -> str | None:
    """Check that a row whose positions are all hidden has no positive weights.

    Such a row may be nan or 0, or the answer may raise an error. If the code sets hidden scores to a finite number
    instead of -inf, the softmax distributes weight over the hidden positions. Only correct answers are checked. The
    cases must have a mask and return weights, either as the only result or as the last element of a tuple.
    """
    several = isinstance(probe.exercise.returns, tuple)
    for trial in probe.trials if probe.has_correct_values else ():
        mask = trial.case.kwargs.get("mask")
        if mask is None or isinstance(trial.expected.value, tuple) != several:
            continue
        closed = mask.clone()
        closed[1] = False
        observation = probe.run(replace(trial.case, kwargs={**trial.case.kwargs, "mask": closed}))
        weights = observation.value[-1] if isinstance(observation.value, tuple) else observation.value
        if observation.failure or not isinstance(weights, Tensor) or weights.dim() < 2:
            continue
        weight = float(weights.detach()[..., 1, :].nan_to_num(0.0).abs().max())
        if weight > 1e-6:
            return (
                f"In a row where the mask hides every position, a hidden position gets a weight of {weight:.2f}. A"
                " large negative number hides a score only next to higher scores; only -inf always gives weight 0."
            )
    return None


# --- attention --------------------------------------------------------------------------------------------


def torch_attention(
    q: Tensor, k: Tensor, v: Tensor | None = None, mask: Tensor | None = None, **options: float | bool
) -> Tensor:
    """Compute attention with torch's own function, for any number of leading axes.

    torch needs at least one leading axis, so this function adds one and removes it again. If no values are given, it
    uses the identity matrix, so it returns the weights [..., seq, seq].
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
    """Compute attention weights [..., seq, seq], with a parameter for each step.

    Args:
        q, k: queries and keys, [..., seq, d_head].
        mask: bool [seq, seq], True = may attend.
        scale: the factor for the scores; the default is 1 / sqrt(d_head).
        axis: the axis along which the softmax runs.
        masked_value: the value of a hidden score.
    """
    scores = q @ k.mT * (k.shape[-1] ** -0.5 if scale is None else scale)
    return F.softmax(mask_scores(scores, mask, masked_value), axis)


def make_attention(
    qkv=project_qkv,
    make_mask=lambda mask, size: mask,
    scale=lambda d_head, d_in: d_head**-0.5,
    masked_value: float | None = -torch.inf,
    axis: int = -1,
    order=(0, 1, 2),
    transform_scores=lambda p, scores: scores,
    transform_weights=lambda p, weights, mask: weights,
    mix=lambda p, weights, v, x: weights @ v,
    out=lambda p, mixed: mixed,
) -> Callable:
    """Build an attention function `(params, x, mask=None, return_weights=False)` from its steps.

    Args:
        qkv: function of `(params, x)` that returns queries, keys and values.
        make_mask: function of `(mask, seq)` that returns the mask to use; `mask` is the argument of the call.
        scale: function of `(d_head, d_in)` that returns the factor for the scores.
        masked_value: the value of a hidden score; with None, the mask is ignored.
        axis: the axis along which the softmax runs.
        order: the indices of the queries, keys and values in the result of `qkv`.
        transform_scores: function of `(params, scores)` that changes the scores before they are masked.
        transform_weights: function of `(params, weights, mask)` that changes the weights after the softmax.
        mix: function of `(params, weights, values, x)` that returns the context vectors.
        out: function of `(params, context vectors)` that returns the output.
    """

    def answer(p, x, mask=None, return_weights=False):
        projections = qkv(p, x)
        q, k, v = (projections[i] for i in order)
        used_mask = make_mask(mask, x.shape[-2])
        used_mask = None if used_mask is None else used_mask.to(x.device)
        scores = transform_scores(p, q @ k.mT * scale(k.shape[-1], x.shape[-1]))
        if masked_value is not None:
            scores = mask_scores(scores, used_mask, masked_value)
        weights = transform_weights(p, F.softmax(scores, axis), used_mask)
        y = out(p, mix(p, weights, v, x))
        return (y, weights) if return_weights else y

    return answer


def apply_dropout(p, x: Tensor, mask: Tensor | None = None) -> Tensor:
    """Apply dropout to x with the rate of the module. In evaluation mode, return x unchanged."""
    return F.dropout(x, p.init_args["dropout"], p.training)


def make_causal_attention(
    qkv=project_qkv, make_mask=causal_mask, transform_weights=apply_dropout, **options
) -> Callable:
    """Build an attention function that creates its own mask with `make_mask(size)` and drops weights in training."""
    return make_attention(
        qkv, make_mask=lambda mask, size: make_mask(size), transform_weights=transform_weights, **options
    )


def torch_causal_attention(p, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Compute causal attention with torch's own function; its dropout is active only in training mode."""
    return torch_attention(q, k, v, is_causal=True, dropout_p=p.init_args["dropout"] if p.training else 0.0)


# Dropout makes the results random in training mode, so these properties are checked only in evaluation mode.
_after_eval = functools.partial(restrict_to_cases, predicate=lambda case: not case.train)
CAUSAL_LAYER = (
    _after_eval(causal()),
    _after_eval(batch_independent()),
    moves_with_its_module,
    _after_eval(remembers_nothing),
)

# --- messages for misconceptions that several exercises share ---------------------------------------------

WORDS = {
    "wrong-axis": (
        "You applied softmax down the columns. A row belongs to a query, and the weights of each query should sum to"
        " one."
    ),
    "still-scores": (
        "These are the scores, scaled and masked, but the softmax is missing. Softmax turns each row into weights that"
        " sum to one."
    ),
    "inputs-as-values": (
        "You mix the raw inputs, so the result has d_in columns. Mix the value vectors instead, which have d_out"
        " entries."
    ),
    "keys-as-values": (
        "You mix the keys instead of the values. Keys are compared with the queries, which gives the weights; the"
        " weights should mix the values."
    ),
    "root-of-2": (
        "You divide the scores by the root of 2, whatever sizes the layer has. Divide by the root of the width of the"
        " layer's own keys."
    ),
    "root-of-the-length": (
        "You divided by the root of the number of positions. The spread of the scores grows with the width of queries"
        " and keys, and not with the length of the text."
    ),
}


def scale_by_length(p, scores: Tensor) -> Tensor:
    """Divide the scores by the square root of the number of positions. Used as `transform_scores`."""
    return scores / scores.shape[-1] ** 0.5


def multiplied_by_root_message(width: str) -> str:
    return (
        f"You multiplied the scores by the root of {width}, but they should be divided by it. A dot product already"
        " grows with this root, so now the softmax is even sharper, and gives nearly all weight to one token."
    )


def divided_by_width_message(width: str) -> str:
    return f"You divided by {width} instead of its root. The spread of a dot product grows with the root of the width."


def ignored_qkv_bias_misconceptions(right: Callable, initial: Callable) -> dict[str, Wrong]:
    """Return two misconceptions about the constructor `initial`: its layers ignore qkv_bias."""
    return {
        "always-a-bias": Wrong(
            right,
            "Your layers have biases although qkv_bias is False, because nn.Linear adds a bias by default. Pass"
            " qkv_bias on to the layers as their bias.",
            initial_parameters=fix_arguments(initial, qkv_bias=True),
        ),
        "never-a-bias": Wrong(
            right,
            "Your layers have no biases even if qkv_bias is True. Pass qkv_bias on to the layers as their bias.",
            initial_parameters=fix_arguments(initial, qkv_bias=False),
        ),
    }


# --- positions --------------------------------------------------------------------------------------------


def rotation_factors(position: Tensor, d: int, base: float) -> Tensor:
    """Return rotations as complex128 numbers [seq, d/2]; the angle of pair i is position × base^(-2i/d)."""
    frequency = base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    angle = position.to(torch.float64)[:, None] * frequency
    return torch.polar(torch.ones_like(angle), angle)


def sinusoids(position: Tensor, d_model: int, base: float = 100.0) -> Tensor:
    """Return sinusoidal position encodings [seq, d_model], with the sine and cosine of each angle side by side."""
    rotations = rotation_factors(position, d_model, base)
    return torch.stack((rotations.imag, rotations.real), dim=-1).flatten(1).float()


def rope(x: Tensor, base: float = 10000.0) -> Tensor:
    """Rotate each pair of neighbouring entries of x [..., seq, d] by an angle that depends on its position."""
    pairs = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous())
    rotated = pairs * rotation_factors(torch.arange(x.shape[-2]), x.shape[-1], base)
    return torch.view_as_real(rotated).flatten(-2).to(x.dtype)
