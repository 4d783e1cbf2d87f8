"""Provide helpers for the checks of several lessons: inputs, masks, attention, messages and position encodings.

Oracles use torch's own attention (`torch_attention`). Misconceptions replace a step of `attention` or `weigh_scores`.
`ATTENTION_MISTAKES` lists the mistakes that several lessons recognise.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.checks._wrong_answers import with_steps
from utils.exercises.exercise import Case, Wrong, case, layer_parameters
from utils.exercises.probe import Probe
from utils.feedback.properties import (
    Property,
    batch_independent,
    causal,
    moves_with_its_module,
)

# --- word vectors for "Your journey starts with one step", used in lessons 02 to 05 ------------------------

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
    """Return the bool mask [size, size] in which each position sees only earlier positions; position 0 sees nothing."""
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
    """Compute the queries, keys and values of x with the layers in `names`. Their biases are optional."""
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
    """Check that each weight matrix is initialised as in `nn.Linear`. The order of the matrices does not matter."""

    def broken(probe: Probe) -> str | None:
        observation = probe.run(case(torch.zeros(shape), init=init, fill=False), state=True)
        for name, value in (observation.state or {}).items():
            if not name.endswith(".weight") or value.dim() != 2:
                continue
            limit = value.shape[1] ** -0.5
            # nn.Linear samples uniformly from -limit to limit, which gives a standard deviation of 0.58 × limit.
            if value.abs().max() > 1.001 * limit or not 0.5 < value.std() / limit < 0.65:
                return (
                    f"`{name}` is not initialised as in nn.Linear: for {value.shape[1]} inputs, its numbers should be"
                    f" sampled uniformly between -{limit:.3f} and {limit:.3f}."
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

    For this row, the answer may return nan or 0, or it may raise an error. If it sets hidden scores to a finite number
    instead of -inf, the softmax gives positive weights to hidden positions. The property checks only correct answers,
    and only cases with a mask. The weights must be the answer's only result, or the last item of a tuple.
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
                " large negative number hides a score only if the row also has much higher scores; a score of -inf"
                " never gets a positive weight."
            )
    return None


# --- attention --------------------------------------------------------------------------------------------


def torch_attention(
    q: Tensor, k: Tensor, v: Tensor | None = None, mask: Tensor | None = None, **options: float | bool
) -> Tensor:
    """Compute attention with torch's own function, for any number of leading axes.

    torch needs at least one leading axis, so this function adds one and removes it again. If `v` is None, the
    function uses an identity matrix as the values, so it returns the weights [..., seq, seq].
    """
    if v is None:
        v = torch.eye(k.shape[-2], dtype=k.dtype, device=k.device).expand(*k.shape[:-1], k.shape[-2])
    return F.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=mask, **options)[0]


@with_steps
def weigh_scores(
    scores: Tensor,
    mask: Tensor | None,
    d_head: int,
    d_in: int | None = None,
    *,
    scale: Callable = lambda d_head, d_in, seq: d_head**-0.5,
    change_mask: Callable = lambda mask: mask,
    hide: Callable = mask_scores,
    normalise: Callable = lambda scores: F.softmax(scores, -1),
    change_weights: Callable = lambda weights, mask, d_head: weights,
) -> Tensor:
    """Turn the scores of queries and keys into attention weights [..., seq, seq].

    Args:
        scores: the dot products, [..., seq, seq].
        mask: bool [seq, seq], True = may attend, or None.
        d_head: the width of queries and keys.
        d_in: the width of the inputs, which only wrong steps use.
        scale: function of `(d_head, d_in, seq)` that returns the factor for the scores.
        change_mask: function that changes the mask; it is not called without a mask.
        hide: function of `(scores, mask)` that hides the scores where the mask is False.
        normalise: the softmax.
        change_weights: function of `(weights, mask, d_head)` that changes the weights after the softmax.
    """
    mask = None if mask is None else change_mask(mask.to(scores.device))
    scores = hide(scores * scale(d_head, d_in, scores.shape[-1]), mask)
    return change_weights(normalise(scores), mask, d_head)


def attention_weights(q: Tensor, k: Tensor, mask: Tensor | None = None, d_in: int | None = None, **steps) -> Tensor:
    """Compute attention weights [..., seq, seq] from queries and keys [..., seq, d_head]; see `weigh_scores`."""
    return weigh_scores.replace(**steps)(q @ k.mT, mask, k.shape[-1], d_in)


def attention_values(q: Tensor, k: Tensor, v: Tensor | None = None, mask: Tensor | None = None) -> dict[str, Tensor]:
    """Compute the intermediate values of scaled dot-product attention, which are milestones of an exercise.

    Args:
        q, k: queries and keys, [..., seq, d_head].
        v: values, [..., seq, d_v]. Without values, the weights are the last milestone.
        mask: bool [seq, seq], True = may attend, or None.
    """
    root = k.shape[-1] ** 0.5
    values = {"the queries": q, "the keys": k, **({} if v is None else {"the values": v})}
    values |= {"the scaled queries?": q / root, "the scaled keys?": k / root}
    values |= weight_values(q @ k.mT, k.shape[-1], mask)
    return values if v is None else {**values, "the context vectors": torch_attention(q, k, v, mask)}


def weight_values(scores: Tensor, d_head: int, mask: Tensor | None = None) -> dict[str, Tensor]:
    """Compute the milestones from the scores [..., seq, seq] to the weights, including both."""
    scaled = scores / d_head**0.5
    values = {"the scores": scores, "the scaled scores": scaled}
    if mask is None:
        return values | softmax_values(scaled)
    masked, weights = mask_scores(scaled, mask), F.softmax(scaled, -1)
    values |= {"the masked scores before the scaling?": mask_scores(scores, mask), "the masked scores": masked}
    values |= {"the exponentials without the mask?": scaled.exp(), "the weights without the mask?": weights}
    return values | {"the weights computed without the mask, times the mask?": weights * mask} | softmax_values(masked)


def softmax_values(
    scores: Tensor, result: str = "the weights", dim: int = -1, noun: str = "scores"
) -> dict[str, Tensor]:
    """Compute the intermediate values of a softmax, which are milestones of an exercise.

    Args:
        scores: the input of the softmax.
        result: what the exercise calls the result.
        dim: the axis of the softmax.
        noun: what the exercise calls the input.
    """
    lowered, shifted = scores - scores.max(), scores - scores.amax(dim, keepdim=True)
    shifts = {f"the {noun} minus one maximum?": lowered, f"the shifted {noun}?": shifted}
    powers = {"the exponentials?": scores.exp()}
    powers |= {f"the exponentials of {label}": value.exp() for label, value in shifts.items()}
    sums = {f"the sums of {label}": value.sum(dim, keepdim=True) for label, value in powers.items()}
    logs = {f"the logarithms of {result}?": F.log_softmax(scores, dim)}
    return {**shifts, **powers, **sums, **logs, result: F.softmax(scores, dim)}


def keep_weights(p, weights: Tensor) -> Tensor:
    """Return the weights unchanged. Layers without dropout use this function as the step `drop` of `attention`."""
    return weights


@with_steps
def attention(
    p: Mapping[str, Tensor],
    x: Tensor,
    mask: Tensor | None = None,
    return_weights: bool = False,
    *,
    qkv: Callable = project_qkv,
    order: tuple[int, ...] = (0, 1, 2),
    make_mask: Callable = lambda mask, size: mask,
    transform_scores: Callable = lambda p, scores: scores,
    drop: Callable = keep_weights,
    mix: Callable = lambda p, weights, v, x: weights @ v,
    out: Callable = lambda p, mixed: mixed,
    **steps,
) -> Tensor | tuple[Tensor, Tensor]:
    """Compute the forward pass of an attention layer.

    Args:
        p: the parameters of the layer.
        x: the inputs, [..., seq, d_in].
        mask: bool [seq, seq], True = may attend.
        return_weights: whether to return the weights too.
        qkv: function of `(p, x)` that returns queries, keys and values.
        order: the indices of the queries, keys and values in the result of `qkv`.
        make_mask: function of `(mask, seq)` that returns the mask to use; `mask` is the argument of the call.
        transform_scores: function of `(p, scores)` that changes the dot products.
        drop: function of `(p, weights)` that applies dropout to the weights.
        mix: function of `(p, weights, values, x)` that returns the context vectors.
        out: function of `(p, context vectors)` that returns the output.
        steps: the steps of `weigh_scores`.
    """
    projections = qkv(p, x)
    q, k, v = (projections[i] for i in order)
    scores = transform_scores(p, q @ k.mT)
    used_mask = make_mask(mask, x.shape[-2])
    weights = drop(p, weigh_scores.replace(**steps)(scores, used_mask, k.shape[-1], x.shape[-1]))
    y = out(p, mix(p, weights, v, x))
    return (y, weights) if return_weights else y


def apply_dropout(p, x: Tensor) -> Tensor:
    """Apply dropout to x with the rate of the module. In evaluation mode, return x unchanged."""
    return F.dropout(x, p.init_args["dropout"], p.training)


# This layer creates its own mask, and applies dropout in training.
causal_attention = attention.replace(make_mask=lambda mask, size: causal_mask(size), drop=apply_dropout)


def torch_causal_attention(p, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Compute causal attention with torch's own function. Dropout is active only in training mode."""
    return torch_attention(q, k, v, is_causal=True, dropout_p=p.init_args["dropout"] if p.training else 0.0)


# Dropout makes results random in training mode, so these properties are checked only in evaluation mode.
_after_eval = functools.partial(restrict_to_cases, predicate=lambda case: not case.train)
CAUSAL_LAYER = (
    _after_eval(causal()),
    _after_eval(batch_independent()),
    moves_with_its_module,
)

# --- mistakes in attention ---------------------------------------------------------------------------------


class Mistake(NamedTuple):
    """A mistake in attention, defined by the wrong steps of `attention` and a default message.

    In the message, `{width}` stands for the width of a head. Each lesson inserts its own name for this width.
    """

    steps: Mapping[str, Any]
    message: str = ""


ATTENTION_MISTAKES = {
    # the scale of the scores
    "not-scaled": Mistake({"scale": lambda d_head, d_in, seq: 1.0}),
    "multiplied": Mistake(
        {"scale": lambda d_head, d_in, seq: d_head**0.5},
        "You should divide the scores by the square root of {width}, but you multiplied them by it. The spread of a dot"
        " product already grows in proportion to this square root, so your softmax is even sharper and gives nearly all"
        " weight to one token.",
    ),
    "divided-by-the-width": Mistake(
        {"scale": lambda d_head, d_in, seq: 1 / d_head},
        "You divided by {width} instead of its square root. The spread of a dot product grows with the square root of"
        " the width.",
    ),
    "root-of-d_in": Mistake({"scale": lambda d_head, d_in, seq: d_in**-0.5}),
    "root-of-the-length": Mistake(
        {"scale": lambda d_head, d_in, seq: seq**-0.5},
        "You divided by the square root of the number of positions. The spread of the scores grows with the width of"
        " the queries and keys, not with the length of the text.",
    ),
    "root-of-2": Mistake(
        {"scale": lambda d_head, d_in, seq: 2**-0.5},
        "You always divide the scores by the square root of 2, whatever the width of the layer is. Divide by the square"
        " root of the width of the layer's own keys.",
    ),
    "scaled-too-late": Mistake(
        {
            "scale": lambda d_head, d_in, seq: 1.0,
            "change_weights": lambda weights, mask, d_head: weights / d_head**0.5,
        }
    ),
    # the roles of queries, keys and values
    "query-and-key-swapped": Mistake(
        {"order": (1, 0, 2)},
        "You swapped queries and keys. Row i should hold the scores of the query at position i with all keys.",
    ),
    "keys-and-values-swapped": Mistake({"order": (0, 2, 1)}),
    "keys-as-values": Mistake(
        {"order": (0, 1, 1)},
        "You mix the keys instead of the values. Keys are compared with the queries, which gives the weights; the"
        " weights should mix the values.",
    ),
    "inputs-as-values": Mistake(
        {"mix": lambda p, weights, v, x: weights @ x},
        "You mix the raw inputs, so the result has d_in columns. Mix the value vectors instead, which have d_out"
        " entries.",
    ),
    # the softmax
    "wrong-axis": Mistake(
        {"normalise": lambda scores: F.softmax(scores, -2)},
        "You applied softmax down the columns. A row belongs to a query, and the weights of each query should sum to"
        " one.",
    ),
    "second-axis": Mistake({"normalise": lambda scores: F.softmax(scores, 1)}),
    "still-scores": Mistake(
        {"normalise": lambda scores: scores},
        "These are the scores, scaled and masked, but the softmax is missing. Softmax turns each row into weights that"
        " sum to one.",
    ),
    # the mask
    "sees-the-future": Mistake(
        {"change_mask": lambda mask: None},
        "Nothing is hidden: position 0 gives weight to later positions. When a model generates text, those tokens do"
        " not exist yet.",
    ),
    "true-means-blocked": Mistake(
        {"change_mask": lambda mask: ~mask},
        "Your mask is inverted: where it is True, it blocks attention. In this course, as in torch's"
        " scaled_dot_product_attention, True means 'may attend'.",
    ),
    "mirror-image": Mistake(
        {"change_mask": lambda mask: mask.mT},
        "Your mask is the mirror image: each position sees itself and all later positions. A position should look"
        " back, not ahead.",
    ),
    "blind-to-itself": Mistake(
        {"change_mask": lambda mask: mask.tril(-1)},
        "No position sees itself, so position 0 sees nothing, and a softmax over nothing is nan. The diagonal should"
        " stay visible.",
    ),
    "always-causal": Mistake(
        {"make_mask": lambda mask, size: causal_mask(size) if mask is None else mask},
        "Your function hides later positions even without a mask. None means that every position may attend to every"
        " other position.",
    ),
    "always-causal-too": Mistake(
        {"make_mask": lambda mask, size: causal_mask(size) if mask is None else mask & causal_mask(size)},
        "Your function hides later positions whatever the mask says. Only the mask should decide which positions are"
        " visible, and without a mask all of them are.",
    ),
    "mask-after-softmax": Mistake(
        {
            "hide": lambda scores, mask: scores,
            "change_weights": lambda weights, mask, d_head: weights if mask is None else weights * mask,
        },
        "You apply the mask after the softmax, so blocked weights become 0 and the rows no longer sum to one. Hide the"
        " scores before the softmax instead: then the remaining weights sum to one.",
    ),
    "hidden-with-zero": Mistake(
        {"hide": lambda scores, mask: mask_scores(scores, mask, 0.0)},
        "You set blocked scores to 0, but exp(0) is 1, so the softmax still gives them weight, even more than it gives"
        " a negative score. Only a score of -inf gets weight 0.",
    ),
    "mask-added": Mistake(
        {"hide": lambda scores, mask: scores if mask is None else scores + mask},
        "You added the mask to the scores, which adds 1 to each visible score and 0 to each blocked score, so blocked"
        " positions still get weight. Set the blocked scores to minus infinity instead, because only a score of minus"
        " infinity gets weight 0.",
    ),
    # dropout
    "no-dropout": Mistake({"drop": keep_weights}),
    "drops-in-eval": Mistake(
        {"drop": lambda p, weights: F.dropout(weights, p.init_args["dropout"])},
        "You drop weights in evaluation mode too, so a trained model gives a different answer each time. Dropout should"
        " be active only in training mode; F.dropout assumes training mode unless you pass the mode of the layer.",
    ),
    "keep-rate": Mistake(
        {"drop": lambda p, weights: F.dropout(weights, 1 - p.init_args["dropout"], p.training)},
        "You apply dropout with the rate 1 - dropout. In this class, as in nn.Dropout, the rate is the fraction of the"
        " weights to drop, so pass dropout itself as the rate.",
    ),
}


def attention_mistakes(build: Callable, width: str = "", messages: Mapping[str, str] | None = None) -> SimpleNamespace:
    """Return a namespace with one function for each mistake. The function returns this mistake as a misconception.

    For example, let `wrong = attention_mistakes(attention.replace)`. Then `wrong.not_scaled("…")` returns the
    misconception "not-scaled" with this message. `wrong.root_of_2()` returns the misconception "root-of-2" with its
    default message.

    Args:
        build: builds the answer from replaced steps, such as the `replace` of `attention`.
        width: what the exercise calls the width of a head.
        messages: the lesson's own messages, by their id in `ATTENTION_MISTAKES`.
    """

    def declare(id: str, mistake: Mistake) -> Callable[..., Wrong]:
        usual = (messages or {}).get(id) or mistake.message.format(width=width)
        return lambda message=usual: Wrong(build(**mistake.steps), message, catalogue=id)

    return SimpleNamespace(**{id.replace("-", "_"): declare(id, m) for id, m in ATTENTION_MISTAKES.items()})


def ignored_qkv_bias_misconceptions(right: Callable, initial: Callable) -> dict[str, Wrong]:
    """Return two misconceptions that ignore qkv_bias: one always creates biases, and the other never does."""
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
    """Return rotations as complex128 numbers [seq, d/2]. The angle of pair i is position × base^(-2i/d)."""
    frequency = base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    angle = position.to(torch.float64)[:, None] * frequency
    return torch.polar(torch.ones_like(angle), angle)


def sinusoids(position: Tensor, d_model: int, base: float = 100.0) -> Tensor:
    """Return sinusoidal position encodings [seq, d_model], in which the sine and cosine of an angle are adjacent."""
    rotations = rotation_factors(position, d_model, base)
    return torch.stack((rotations.imag, rotations.real), dim=-1).flatten(1).float()


def rope(x: Tensor, base: float = 10000.0) -> Tensor:
    """Rotate each pair of adjacent entries in x [..., seq, d] by an angle that is proportional to the position."""
    pairs = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous())
    rotated = pairs * rotation_factors(torch.arange(x.shape[-2]), x.shape[-1], base)
    return torch.view_as_real(rotated).flatten(-2).to(x.dtype)
