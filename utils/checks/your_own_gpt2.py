"""Define the exercises of lesson 12: GPT-2's MLP and block, the whole model, its checkpoint, the key-value cache."""

from __future__ import annotations

import difflib
import functools
import math
import re
from dataclasses import replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.checks._attention import (
    ATTENTION_MISTAKES,
    Mistake,
    attention_values,
    attention_weights,
    causal_mask,
    restrict_to_cases,
    torch_attention,
)
from utils.checks._wrong_answers import with_steps
from utils.exercises.exercise import Float, Hints, Int, Wrong, case, exercise, layer_parameters
from utils.exercises.instantiate import Params
from utils.exercises.observe import AGAIN
from utils.exercises.oracles import observe_answer
from utils.exercises.sampler import sample_parameter
from utils.feedback.properties import (
    batch_independent,
    causal,
    draws_nothing,
    finite_when_scaled,
    moves_with_its_module,
    takes,
    works_when_changed,
)
from utils.feedback.report import format_number
from utils.models.your_own_gpt2 import GPTConfig, shapes
from utils.test_doubles.your_own_gpt2 import REFUSAL_PHRASE, FakeGPT, silence_mlp

_ROOT = math.sqrt(2 / math.pi)


@with_steps
def _tanh_form(x, *, root=_ROOT, cube=lambda x: 0.044715 * x**3, half=0.5, factor=lambda t: 1 + t, inner=None):
    return half * x * factor(torch.tanh(root * (x + cube(x)) if inner is None else inner(x)))


def _torch_gelu(x):
    return F.gelu(x, approximate="tanh")


def _landmarks(probe):
    """Compare the answer's gelu with five values that are known without the formula."""
    if probe.has_correct_values:
        return None
    for x, expected, reason in (
        (0.0, 0.0, "half of 0 is 0, whatever tanh gives"),
        (10.0, 10.0, "GELU leaves large positive numbers almost unchanged"),
        (-10.0, 0.0, "GELU brings very negative numbers close to zero"),
        (1.0, 0.8412, "84 of 100 normally distributed numbers are smaller than 1, so x is multiplied by about 0.84"),
        (-1.0, -0.1588, "16 of 100 normally distributed numbers are smaller than -1, so x is multiplied by about 0.16"),
    ):
        observation = probe.run(case(torch.tensor([x])))
        if observation.failure or not isinstance(observation.value, Tensor) or observation.value.numel() != 1:
            return None
        value = float(observation.value)
        if not abs(value - expected) < 1e-3:
            return f"gelu({x:g}) is {format_number(value)}, expected {expected:g}: {reason}."
    return None


def _gelu_milestones(x):
    """Compute the intermediate values of GELU's tanh formula, for several ways to write this formula."""
    square, cube, inner = 0.044715 * x**2, 0.044715 * x**3, _ROOT * (x + 0.044715 * x**3)
    up, down = inner.exp(), (-inner).exp()
    return {
        "the squares of x?": x**2,
        "the cubes of x?": x**3,
        "0.044715 times the squares?": square,
        "0.044715 times the cubes?": cube,
        "1 plus 0.044715 times the squares?": 1 + square,
        "x plus 0.044715 times the cubes?": x + cube,
        "x times the square root of 2 / π?": _ROOT * x,
        "the argument of tanh": inner,
        "the argument of tanh times -1?": -inner,
        "the argument of tanh times 2?": 2 * inner,
        "the argument of tanh times -2?": -2 * inner,
        "the exponentials?": up,
        "the exponentials of the negative numbers?": down,
        "the exponentials of the doubled numbers?": up**2,
        "the exponentials of the negative doubled numbers?": down**2,
        "the sum of the exponentials?": up + down,
        "the difference of the exponentials?": up - down,
        "1 plus the exponentials?": 1 + up**2,
        "1 plus the exponentials of the negative numbers?": 1 + down**2,
        "the exponentials minus 1?": up**2 - 1,
        "1 minus the exponentials?": 1 - down**2,
        "the values of tanh": torch.tanh(inner),
        "1 plus the values of tanh": 1 + torch.tanh(inner),
        "half of x?": x / 2,
        "half of the sum 1 + tanh?": (1 + torch.tanh(inner)) / 2,
        "x times the sum 1 + tanh?": x * (1 + torch.tanh(inner)),
    }


_EXACT = (
    "This is the exact GELU, with the error function. GPT-2 was trained with the tanh approximation, which differs by"
    " up to 0.0005, so use the formula of this approximation."
)

exercise(
    "gelu",
    oracle=_torch_gelu,
    milestones=_gelu_milestones,
    cases=lambda rand: [case(rand(5) * 2), case(rand(2, 3, 4)), case(rand(6, 2) * 4)],
    returns=Float(),
    differentiable=True,
    atol=2e-6,
    properties=[_landmarks, finite_when_scaled(100.0)],
    misconceptions={
        "exact": Wrong(F.gelu, _EXACT),
        "relu": Wrong(
            F.relu,
            "This is ReLU, which is 0 for negative inputs and has a kink at 0. GELU is smooth, and slightly below 0 for"
            " negative inputs.",
        ),
        "silu": Wrong(
            F.silu,
            "This is SiLU: x times a sigmoid, as in later models. GELU multiplies x by the probability that a normally"
            " distributed number is smaller than x.",
        ),
        "sigmoid-form": Wrong(
            lambda x: x * torch.sigmoid(1.702 * x),
            "This is the sigmoid approximation, which is wrong by up to 0.02. GPT-2 uses the tanh approximation.",
        ),
        "no-half": _tanh_form.replace(half=1.0).wrong(
            "Large numbers come out doubled, because 1 + tanh goes up to 2. The formula multiplies by half of x."
        ),
        "no-x-in-front": Wrong(
            lambda x: _tanh_form(x) / x,
            "Your results are factors between 0 and 1. GELU multiplies x by this factor.",
        ),
        "no-cube": _tanh_form.replace(cube=lambda x: 0.0).wrong(
            "The term with the cube of x is missing. The argument of tanh should contain it."
        ),
        "square-for-cube": _tanh_form.replace(cube=lambda x: 0.044715 * x**2).wrong(
            "You square x where the formula has the cube of x. Unlike the cube, the square has the same sign for x and"
            " for -x."
        ),
        "root-forgotten": _tanh_form.replace(root=2 / math.pi).wrong(
            "You multiply by 2 / π, so the curve is too flat around zero. The formula has the square root of 2 / π."
        ),
        "root-of-two-only": _tanh_form.replace(root=math.sqrt(2) / math.pi).wrong(
            "Your square root covers only the 2. It should cover the whole fraction, 2 / π."
        ),
        "outside-the-root": _tanh_form.replace(inner=lambda x: _ROOT * x + 0.044715 * x**3).wrong(
            "You multiply only x by the square root. Multiply the whole bracket by it, including the term with the"
            " cube."
        ),
        "one-outside-the-bracket": Wrong(
            lambda x: x / 2 + torch.tanh(_ROOT * (x + 0.044715 * x**3)),
            "You multiply only the 1 by x / 2, and add tanh afterwards. Multiply the sum of 1 and tanh by x / 2.",
        ),
        "point-slipped": _tanh_form.replace(cube=lambda x: 0.44715 * x**3).wrong(
            "The coefficient of the cube is ten times too large. It should be 0.044715."
        ),
        "no-one": _tanh_form.replace(factor=lambda t: t).wrong(
            "The 1 next to tanh is missing, so the curve rises on both sides of zero. If you add the 1, the results for"
            " very negative numbers are close to zero."
        ),
        "cube-of-the-sum": _tanh_form.replace(inner=lambda x: _ROOT * (x + 0.044715 * x) ** 3).wrong(
            "You cube the whole bracket. Only the x after 0.044715 should be cubed."
        ),
    },
    equivalent={
        "factored": lambda x: x * (1 + torch.tanh(0.7978845608028654 * x * (1 + 0.044715 * x * x))) / 2,
        "by-sigmoid": lambda x: x * torch.sigmoid(2 * _ROOT * (x + 0.044715 * x**3)),
    },
    hints=Hints(
        "Read the formula from the inside out: what is the argument of tanh?",
        "The argument of tanh is the square root of 2 / π times a sum: x plus a small multiple of its cube. Add 1 to"
        " the tanh, and multiply by half of x.",
        "Use torch.tanh; (2 / torch.pi) ** 0.5 is the square root, and x**3 is the cube. The last step is 0.5 * x * (1"
        " + ...).",
    ),
)


_NO_DROPOUT = draws_nothing(
    "Your forward uses random numbers, so its result can differ from call to call. If there is a dropout layer, remove"
    " it: this exercise uses no dropout."
)


# --- the MLP -----------------------------------------------------------------------------------------------


@with_steps
def _mlp(p, x, prefix="", *, bend=_torch_gelu):
    wide = F.linear(x, p[f"{prefix}c_fc.weight"], p[f"{prefix}c_fc.bias"])
    return F.linear(bend(wide), p[f"{prefix}c_proj.weight"], p[f"{prefix}c_proj.bias"])


def _mlp_milestones(p, x):
    wide = _project(p, "c_fc", x)
    return {"the result of c_fc": wide, "the result of gelu": _torch_gelu(wide), "the result of c_proj": _mlp(p, x)}


def _mlp_layers(d_model, d_mlp):
    return layer_parameters(c_fc=nn.Linear(d_model, d_mlp), c_proj=nn.Linear(d_mlp, d_model))


_NO_BEND = (
    "The MLP has no activation function between its two linear layers. Without an activation function, the two"
    " layers together are just one linear map, however wide the vector between them is."
)
_RELU = "The activation function of the MLP is ReLU. GPT-2 was trained with GELU, so its weights need GELU."
_RESIDUAL_INSIDE = (
    "The result contains the MLP's input as well. The MLP should return only its own result, because the block adds"
    " this result to the stream."
)

exercise(
    "MLP",
    initial_parameters=_mlp_layers,
    oracle=lambda p, x: _mlp(p, x),
    milestones=_mlp_milestones,
    cases=lambda rand: [
        case(rand(2, 3, 4), init=(4, 10)),
        case(rand(5, 3), init=(3, 7), seed=1),
        case(rand(2, 2, 6), init={"d_model": 6, "d_mlp": 5}, seed=2, train=True, note="in training"),
    ],
    returns=Float("batch seq d_model"),
    atol=2e-6,
    properties=[_NO_DROPOUT, batch_independent(), moves_with_its_module],
    misconceptions={
        "no-bend": _mlp.replace(bend=lambda wide: wide).wrong(_NO_BEND),
        "exact": _mlp.replace(bend=F.gelu).wrong(_EXACT),
        "relu": _mlp.replace(bend=F.relu).wrong(_RELU),
        "bend-last": Wrong(
            lambda p, x: _torch_gelu(_mlp.replace(bend=lambda wide: wide)(p, x)),
            "GELU comes after both linear layers, so the MLP can add no number below about −0.17 to the stream. GELU"
            " belongs between the two linear layers.",
        ),
        "bend-first": Wrong(
            lambda p, x: _mlp.replace(bend=lambda wide: wide)(p, _torch_gelu(x)),
            "You apply GELU to the input, before c_fc makes the vector wide. GELU belongs between the two linear"
            " layers.",
        ),
        "bent-twice": Wrong(
            lambda p, x: _torch_gelu(_mlp(p, x)),
            "You also apply GELU to the result of c_proj, so the MLP can add no number below about −0.17 to the stream."
            " GELU should be applied only once, between the two linear layers.",
        ),
        "returns-its-input-too": Wrong(lambda p, x: x + _mlp(p, x), _RESIDUAL_INSIDE),
        "softmax": _mlp.replace(bend=lambda wide: wide.softmax(-1)).wrong(
            "There is a softmax between the two linear layers, so the entries compete with each other. Use GELU"
            " instead, which is applied to each entry separately."
        ),
        "always-four-times": Wrong(
            _mlp,
            "Your MLP is always four times as wide as its input and ignores d_mlp. The block chooses the width, so the"
            " MLP should use the d_mlp that it gets.",
            initial_parameters=lambda d_model, d_mlp: _mlp_layers(d_model, 4 * d_model),
        ),
    },
    hints=Hints(
        "The MLP consists of two layers with a function in between: widen the vector, apply the function, and project"
        " it back to its original width.",
        "__init__ should create c_fc, from d_model to d_mlp, and c_proj, which maps back. forward should call them in"
        " this order, with gelu on the result of c_fc.",
        "nn.Linear has a bias by default. Apply c_fc, then gelu, then c_proj, and add nothing to the result.",
    ),
)


# --- the block, and the model ------------------------------------------------------------------------------


def _parameters(d, prefix=""):
    """Return the parameters of a block of width d, in the order in which the block creates them."""
    norms = {f"{prefix}ln_{i}": {f"{prefix}ln_{i}.{kind}": torch.zeros(d) for kind in "wb"} for i in (1, 2)}
    square = {n: nn.Linear(d, d) for n in ("W_query", "W_key", "W_value", "out_proj")}
    attention = {f"{prefix}attn.{name}": value for name, value in layer_parameters(**square).items()}
    mlp = {f"{prefix}mlp.{name}": value for name, value in _mlp_layers(d, 4 * d).items()}
    return {**norms[f"{prefix}ln_1"], **attention, **norms[f"{prefix}ln_2"], **mlp}


def _block_parameters(config):
    return _parameters(config.d_model)


def _norm(p, name, x, eps):
    return F.layer_norm(x, x.shape[-1:], p[f"{name}.w"], p[f"{name}.b"], eps)


def _project(p, name, x):
    return F.linear(x, p[f"{name}.weight"], p[f"{name}.bias"])


def _split(x, heads):
    return x.unflatten(-1, (heads, -1)).transpose(-3, -2)


def _merge(x):
    return x.transpose(-3, -2).flatten(-2)


@with_steps
def _attend(p, prefix, x, heads, *, order=(0, 1, 2), split=_split, **steps):
    """Compute the attention of a block. `steps` replaces steps of `weigh_scores`."""
    projections = [split(_project(p, f"{prefix}W_{name}", x), heads) for name in ("query", "key", "value")]
    q, k, v = (projections[i] for i in order)
    mask = causal_mask(x.shape[-2])
    mixed = attention_weights(q, k, mask, **steps) @ v if steps else torch_attention(q, k, v, mask.to(x.device))
    return _project(p, f"{prefix}out_proj", _merge(mixed))


def _block(
    p,
    x,
    config,
    prefix="",
    note=lambda name, part_input, result: result,
    attend=_attend,
    bend=_torch_gelu,
    order=lambda s, attn, mlp, ln_1, ln_2: (s := s + attn(ln_1(s))) + mlp(ln_2(s)),
    eps=lambda config: config.eps,
):
    """Compute a block. Keyword arguments can replace individual steps of the block.

    Args:
        order: combines the four parts of the block.
        note: a function that gets the name, input and result of each part, and returns the result to be used.
    """

    def part(name, make):
        return lambda part_input: note(f"{prefix}{name}", part_input, make(part_input))

    return note(
        prefix.removesuffix("."),
        x,
        order(
            x,
            part("attn", lambda h: attend(p, f"{prefix}attn.", h, config.n_heads)),
            part("mlp", lambda h: _mlp.replace(bend=bend)(p, h, f"{prefix}mlp.")),
            *(part(f"ln_{i}", lambda h, i=i: _norm(p, f"{prefix}ln_{i}", h, eps(config))) for i in (1, 2)),
        ),
    )


@with_steps
def _run_block(p, x, **steps):
    return _block(p, x, p.init_args["config"], **steps)


# The checks of Block, GPT and generate_cached all recognise these mistakes, because a GPT consists of blocks.
_BLOCK_MISTAKES = {
    "post-norm": Mistake(
        {"order": lambda s, attn, mlp, ln_1, ln_2: ln_2((t := ln_1(s + attn(s))) + mlp(t))},
        "The norms are applied to the sums, as in the first transformers (post-norm). They should be applied to the"
        " inputs of attention and MLP, so that the stream itself is never normalised.",
    ),
    "norm-of-what-is-added": Mistake(
        {"order": lambda s, attn, mlp, ln_1, ln_2: (s := s + ln_1(attn(s))) + ln_2(mlp(s))},
        "The norms are applied to the results of attention and of the MLP, as in lesson 06's layer. In GPT-2, they"
        " should be applied to the inputs of these two parts instead.",
    ),
    "no-first-sum": Mistake(
        {"order": lambda s, attn, mlp, ln_1, ln_2: (s := attn(ln_1(s))) + mlp(ln_2(s))},
        "The result of attention replaces the stream, so everything in the stream is lost. Add the result to the"
        " stream instead.",
    ),
    "no-second-sum": Mistake(
        {"order": lambda s, attn, mlp, ln_1, ln_2: mlp(ln_2(s + attn(ln_1(s))))},
        "The result of the MLP replaces the stream, so everything in the stream is lost. Add the result to the stream"
        " instead.",
    ),
    "no-sums": Mistake(
        {"order": lambda s, attn, mlp, ln_1, ln_2: mlp(ln_2(attn(ln_1(s))))},
        "Both sums are missing: the result of attention replaces the stream, and then the result of the MLP replaces"
        " it. Add each result to the stream instead.",
    ),
    "normed-stream-goes-on": Mistake(
        {"order": lambda s, attn, mlp, ln_1, ln_2: (t := (h := ln_1(s)) + attn(h)) * 0 + (u := ln_2(t)) + mlp(u)},
        "You add to the normalised stream, so the stream itself is lost at every norm. Only attention and MLP should"
        " read the normalised copy; add their results to the stream as it was before the norm.",
    ),
    "side-by-side": Mistake(
        {"order": lambda s, attn, mlp, ln_1, ln_2: s + attn(ln_1(s)) + mlp(ln_2(s))},
        "The MLP reads the stream from before attention, so it cannot use the result of attention. Some models do this"
        " for speed, but in GPT-2 the MLP should read the stream after the result of attention is added.",
    ),
    "mlp-first": Mistake(
        {"order": lambda s, attn, mlp, ln_1, ln_2: (s := s + mlp(ln_2(s))) + attn(ln_1(s))},
        "The MLP comes before attention. Attention should first fetch information from other positions; then the MLP"
        " works on it.",
    ),
    "mlp-reads-what-was-found": Mistake(
        {"order": lambda s, attn, mlp, ln_1, ln_2: s + (found := attn(ln_1(s))) + mlp(ln_2(found))},
        "The MLP reads only the result of attention. It should read the whole stream, to which the result of attention"
        " has been added.",
    ),
    "first-norm-twice": Mistake(
        {"order": lambda s, attn, mlp, ln_1, ln_2: (s := s + attn(ln_1(s))) + mlp(ln_1(s))},
        "ln_1 is used in both halves, and ln_2 is not used. Each half should read the stream through its own norm.",
    ),
    "norms-exchanged": Mistake(
        {"order": lambda s, attn, mlp, ln_1, ln_2: (s := s + attn(ln_2(s))) + mlp(ln_1(s))},
        "ln_1 and ln_2 are swapped. ln_1 belongs to attention, ln_2 to the MLP.",
    ),
    "no-norms": Mistake(
        {"order": lambda s, attn, mlp, ln_1, ln_2: (s := s + attn(s)) + mlp(s)},
        "The norms are not used: attention and MLP read the stream itself, however large it has grown. Each should"
        " read the stream through its own norm.",
    ),
    "no-second-norm": Mistake(
        {"order": lambda s, attn, mlp, ln_1, ln_2: (s := s + attn(ln_1(s))) + mlp(s)},
        "The MLP reads the stream without a norm; ln_2 is not used. Each half should read the stream through its own"
        " norm.",
    ),
    "no-mlp": Mistake(
        {"order": lambda s, attn, mlp, ln_1, ln_2: s + attn(ln_1(s))},
        "The MLP has no effect on the result. After the result of attention is added to the stream, add the result of"
        " the MLP as well.",
    ),
    "eps-as-in-lesson-06": Mistake(
        {"eps": lambda config: 1e-6},
        "The norms use 1e-6 for eps, as in lesson 06. GPT-2 needs a different eps: config.eps.",
    ),
    "exact-gelu": Mistake({"bend": F.gelu}, _EXACT.replace("This is", "The MLP uses")),
    "relu": Mistake({"bend": F.relu}, _RELU),
    "no-bend": Mistake({"bend": lambda x: x}, _NO_BEND),
    "no-mask": Mistake(
        {"attend": _attend.replace(**ATTENTION_MISTAKES["sees-the-future"].steps)},
        "There is no causal mask, so every position sees the whole text. A later token then changes the results at"
        " earlier positions.",
    ),
    "one-head": Mistake(
        {"attend": lambda p, prefix, x, heads: _attend(p, prefix, x, 1)},
        "Attention has one head of the full width. It should have n_heads heads, and the width should be split between"
        " these heads.",
    ),
    "not-scaled": Mistake(
        {"attend": _attend.replace(**ATTENTION_MISTAKES["not-scaled"].steps)},
        "The scores of attention are not divided by the square root of a head's width. Large scores make softmax give"
        " nearly all weight to a single position.",
    ),
    "heads-interleaved": Mistake(
        {"attend": _attend.replace(split=lambda x, heads: x.unflatten(-1, (-1, heads)).movedim(-1, -3))},
        "Each head takes every n_heads-th entry. The entries of one head should be adjacent.",
    ),
    "query-and-key-exchanged": Mistake(
        {"attend": _attend.replace(**ATTENTION_MISTAKES["query-and-key-swapped"].steps)},
        "Queries and keys are swapped. Row i of the scores should belong to the query of position i.",
    ),
}


def _block_milestones(p, x):
    values = {}

    def note(name, part_input, result):
        if name == "ln_2":
            values["the stream with the result of attn"] = part_input
        layers = {"attn": ("W_query", "W_key", "W_value"), "mlp": ("c_fc",)}.get(name, ())
        values.update({f"the result of {layer}?": _project(p, f"{name}.{layer}", part_input) for layer in layers})
        values[f"the result of {name}" if name else "the stream with the result of mlp"] = result
        return result

    _run_block.replace(note=note)(p, x)
    return values


def _first_wrong_part(run, at_the_end):
    """Return a property that compares the module with the oracle part by part, and names the first wrong part.

    Args:
        run: runs the oracle, as `run(params, args, note)`, and calls `note` with each part's name, input and result.
        at_the_end: the message if all parts are correct.
    """

    def broken(probe):
        for trial in [] if probe.has_correct_values else probe.trials:
            config, right = trial.case.init[0], {}
            initial = probe.exercise.initial_parameters(config)
            p = Params({name: sample_parameter(name, value.shape, trial.case.seed) for name, value in initial.items()})
            p.init_args = {"config": config}
            run(
                p,
                trial.case.args,
                lambda name, *input_and_result, right=right: right.setdefault(name, input_and_result)[1],
            )
            right.pop("", None)  # leave out the entry for the block itself
            parts = probe.run(trial.case, parts=list(right)).parts or {}
            for name, (part_input, result) in right.items():
                if name not in parts or parts[name][0].shape != part_input.shape:
                    continue
                if not _near(parts[name][0], part_input):
                    return (
                        f"`{name}` is the first part that gets a wrong input. Check the lines that compute this input."
                    )
                if not _near(parts[name][1], result):
                    return f"`{name}` is the first wrong part: its input is correct, but its result is not."
                if name + AGAIN in parts:
                    return f"Your code runs `{name}` more than once, but each part should run once."
            if len(parts) == len(right) and not trial.is_correct(probe.exercise):
                return at_the_end
        return None

    return broken


def _near(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and torch.allclose(a, b, rtol=1e-4, atol=1e-5)


_SMALL = GPTConfig(vocab_size=11, n_positions=7, d_model=6, n_layers=2, n_heads=3, eps=1e-2)
_LONG = GPTConfig(vocab_size=9, n_positions=1030, d_model=4, n_layers=1, n_heads=2, eps=1e-2)
_TINY_EPS = GPTConfig(vocab_size=9, n_positions=5, d_model=4, n_layers=1, n_heads=2, eps=1e-5)

_HOOKED = case(torch.linspace(-1, 1, 24).sin().view(1, 4, 6), init=(_SMALL,))


def _without_mlp(exercise):
    """Return the result of a block whose MLP adds nothing."""
    return observe_answer(
        exercise,
        lambda p, x: _run_block.replace(order=lambda s, attn, mlp, ln_1, ln_2: s + attn(ln_1(s)))(p, x),
        _HOOKED,
    ).value


exercise(
    "Block",
    unswept={"parameters": "the lesson lets the layer save its mask as a buffer"},
    initial_parameters=_block_parameters,
    oracle=_run_block,
    milestones=_block_milestones,
    cases=lambda rand: [
        # With this seed, the exact GELU and the approximation differ clearly.
        case(rand(2, 7, 6), init=(_SMALL,), seed=6, note="as long as n_positions"),
        case(rand(3, 4, 4), init=(_TINY_EPS,), seed=1),
        case(rand(2, 3, 4) * 0.01, init=(_TINY_EPS,), seed=2, train=True, note="small numbers, in training"),
        case(rand(2, 1, 6), init=(_SMALL,), seed=3),
    ],
    returns=Float("batch seq d_model"),
    atol=5e-6,
    properties=[
        _NO_DROPOUT,
        _first_wrong_part(
            lambda p, args, note: _block(p, *args, p.init_args["config"], note=note),
            "Every part of the block gets the correct input and returns the correct result. So the mistake comes after"
            " the last part: check what the block does with the result of this part.",
        ),
        takes((_LONG,), (1, 1030, 4), "`n_positions` is 1030, so attention needs a context length of 1030 positions."),
        moves_with_its_module,
        works_when_changed(
            _HOOKED,
            silence_mlp,
            _without_mlp,
            "A forward hook on `mlp` that replaces its result by zeros does not work in your block. A later cell of"
            " this lesson uses such a hook. Call the layer as `self.mlp(...)`, because a direct call to `forward`"
            " runs no hooks.",
        ),
        *(
            restrict_to_cases(broken, lambda case: not case.train)  # training mode changes nothing in a block
            for broken in (causal(), batch_independent(), finite_when_scaled())
        ),
    ],
    misconceptions={name: _run_block.replace(**how).wrong(message) for name, (how, message) in _BLOCK_MISTAKES.items()}
    | {
        "adds-the-first-half-twice": Wrong(
            _run_block.replace(order=lambda s, attn, mlp, ln_1, ln_2: (s := s + attn(ln_1(s))) + s + mlp(ln_2(s))),
            "The second half doubles the stream that it gets from the first half. Each half should add only its own"
            " result to the stream.",
        ),
    },
    hints=Hints(
        "Both halves have the same form: read the stream through a norm, and add the result to the stream.",
        "Create the four parts in the order in which the lesson lists them. In forward, the first half uses ln_1 and"
        " attn; the second half uses ln_2 and mlp, on the stream that the first half returned.",
        "First apply ln_1 and attn to x, and add the result to x; then do the same with ln_2 and mlp. The second"
        " argument of LayerNorm is config.eps.",
    ),
)


def _gpt_parameters(config):
    d = config.d_model
    ends = {"wte.weight": torch.zeros(config.vocab_size, d), "wpe.weight": torch.zeros(config.n_positions, d)}
    for i in range(config.n_layers):
        ends |= _parameters(d, f"blocks.{i}.")
    return ends | {f"ln_f.{kind}": torch.zeros(d) for kind in "wb"}


@with_steps
def _gpt(
    p,
    tokens,
    *,
    embed=lambda p, tokens: F.embedding(tokens, p["wte.weight"]),
    places=lambda p, tokens: p["wpe.weight"][: tokens.shape[-1]],
    first=lambda p, x, eps: x,
    which=range,
    block=_block,
    last=lambda p, x, eps: _norm(p, "ln_f", x, eps),
    head=lambda p, x: F.linear(x, p["wte.weight"]),
    note=lambda name, part_input, result: result,
    **within,
):
    """Compute the logits. `within` replaces steps inside the blocks."""
    config = p.init_args["config"]
    eps = within.get("eps", lambda config: config.eps)(config)
    x = first(p, embed(p, tokens) + places(p, tokens), eps)
    for i in which(config.n_layers):
        x = block(p, x, config, f"blocks.{i}.", note, **within)
    return head(p, note("ln_f", x, last(p, x, eps)))


def _gpt_milestones(p, tokens):
    vectors, positions = F.embedding(tokens, p["wte.weight"]), p["wpe.weight"][: tokens.shape[-1]]
    values = {"the token vectors?": vectors, "the position vectors?": positions}
    values["the stream before block 0"] = vectors + positions

    def note(name, part_input, result):
        block, _, part = name.removeprefix("blocks.").partition(".")
        if part == "ln_2":
            values[f"the stream with the result of attn in block {block}?"] = part_input
        if not part:
            values["the result of ln_f" if name == "ln_f" else f"the stream after block {block}"] = result
        return result

    values["the logits"] = _gpt.replace(note=note)(p, tokens)
    return values


def _in_the_blocks(message):
    return f"In the blocks: {message[0].lower()}{message[1:]}"


def _future_changes_nothing(probe):
    """Check that a change of the last token does not affect earlier logits."""
    for trial in [] if probe.has_correct_values else probe.trials:
        tokens = trial.case.args[0]
        moved = tokens.clone()
        moved[:, -1] = (moved[:, -1] + 1) % trial.case.init[0].vocab_size
        after = probe.run(replace(trial.case, args=(moved,)))
        if after.failure or trial.yours.value.shape != after.value.shape or trial.yours.value.dim() != 3:
            continue
        if not torch.allclose(trial.yours.value[:, :-1], after.value[:, :-1], atol=1e-4):
            return (
                "The last token changes the logits at earlier positions. When the model makes its prediction at an"
                " earlier position, the last token does not exist yet."
            )
    return None


exercise(
    "GPT",
    unswept={"parameters": "the lesson lets the layer save its mask as a buffer"},
    initial_parameters=_gpt_parameters,
    oracle=_gpt,
    milestones=_gpt_milestones,
    cases=lambda rand: [
        case(rand.integers(3, 7, high=11), init=(_SMALL,), note="as long as n_positions"),
        case(rand.integers(2, 4, high=9), init=(_TINY_EPS,), seed=1, train=True, note="in training"),
    ],
    returns=Float("batch seq vocab"),
    atol=2e-6,
    properties=[
        _NO_DROPOUT,
        _first_wrong_part(
            lambda p, args, note: _gpt.replace(note=note)(p, *args),
            "Every part, including `ln_f`, returns the correct result, so the mistake comes after `ln_f`. Do the scores"
            " use the current `self.wte.weight`?",
        ),
        _future_changes_nothing,
        moves_with_its_module,
    ],
    misconceptions={
        "no-positions": _gpt.replace(places=lambda p, tokens: 0 * p["wpe.weight"][0]).wrong(
            "The position vectors are missing: wpe does not affect the result. Add its rows 0, 1, 2 … to the"
            " embeddings."
        ),
        "positions-from-1": Wrong(
            _gpt.replace(places=lambda p, tokens: p["wpe.weight"].roll(-1, 0)[: tokens.shape[-1]]),
            "Every position gets the vector of the next position, as if positions were counted from 1. Row 0 of wpe"
            " belongs to position 0.",
        ),
        "positions-of-the-batch": _gpt.replace(places=lambda p, tokens: p["wpe.weight"][: len(tokens), None]).wrong(
            "All positions of a text get the same vector, chosen by the text's index in the batch. Positions run along"
            " the second axis of tokens."
        ),
        "positions-as-tokens": _gpt.replace(places=lambda p, tokens: p["wte.weight"][: tokens.shape[-1]]).wrong(
            "The position vectors come from wte, which holds the vectors of tokens. They should come from wpe."
        ),
        "embedding-enlarged": Wrong(
            _gpt.replace(
                embed=lambda p, tokens: F.embedding(tokens, p["wte.weight"]) * p["wte.weight"].shape[1] ** 0.5
            ),
            "The embeddings are multiplied by the square root of d_model, as in the transformer paper of 2017. GPT-2"
            " uses them unchanged.",
        ),
        "no-final-norm": _gpt.replace(last=lambda p, x, eps: x + 0 * p["ln_f.w"]).wrong(
            "ln_f is not used. The blocks have added to the stream, so ln_f should bring it to a common scale before it"
            " is compared with the embeddings."
        ),
        "final-norm-first": Wrong(
            _gpt.replace(first=lambda p, x, eps: _norm(p, "ln_f", x, eps), last=lambda p, x, eps: x),
            "ln_f runs before the blocks. It should run after the last block.",
        ),
        "final-norm-every-block": Wrong(
            _gpt.replace(
                block=lambda p, x, config, *how, **within: _norm(
                    p, "ln_f", _block(p, x, config, *how, **within), config.eps
                ),
                last=lambda p, x, eps: x,
            ),
            "ln_f runs after each block, so the stream itself is normalised every time. It should run once, after the"
            " last block.",
        ),
        "head-of-its-own": Wrong(
            _gpt.replace(head=lambda p, x: F.linear(x, p["lm_head.weight"])),
            "The output layer has its own weight. GPT-2's head is tied: the scores are dot products with the rows of"
            " wte, and there are no further parameters.",
            initial_parameters=lambda config: (
                _gpt_parameters(config) | {"lm_head.weight": torch.zeros(config.vocab_size, config.d_model)}
            ),
        ),
        "vectors-for-logits": _gpt.replace(head=lambda p, x: x).wrong(
            "Your result holds vectors of d_model numbers. Compare each vector with every token's embedding, to get a"
            " score for each token of the vocabulary."
        ),
        "probabilities": _gpt.replace(head=lambda p, x: F.linear(x, p["wte.weight"]).softmax(-1)).wrong(
            "Your result holds probabilities, because a softmax has already run. The model should return the scores,"
            " its logits."
        ),
        "last-position-only": _gpt.replace(head=lambda p, x: F.linear(x[:, -1], p["wte.weight"])).wrong(
            "Only the last position is returned. In training, the model predicts the next token at every position, so"
            " return all positions."
        ),
        "one-block-for-all": _gpt.replace(which=lambda n: [0] * n).wrong(
            "The first block runs every time, and the other blocks are not used. Each block should run once, on the"
            " result of the block before it."
        ),
        "only-the-first-block": _gpt.replace(which=lambda n: [0]).wrong(
            "Only the first block runs. Each block should read the result of the block before it."
        ),
        "only-the-last-block": _gpt.replace(which=lambda n: [n - 1]).wrong(
            "Only the last block affects the result: does every block get the embeddings as its input? Each block"
            " should read the result of the block before it."
        ),
        "backwards": _gpt.replace(which=lambda n: reversed(range(n))).wrong(
            "The blocks run from the last to the first. They should run from the first to the last."
        ),
        "stream-added-twice": _gpt.replace(block=lambda p, x, *how, **within: x + _block(p, x, *how, **within)).wrong(
            "The stream is added again after each block. A block already returns the stream with its own results added."
        ),
        **{
            name: _gpt.replace(**how).wrong(_in_the_blocks(message)) for name, (how, message) in _BLOCK_MISTAKES.items()
        },
    },
    hints=Hints(
        "Follow one token through the model: what does it become first, what is added, what does it pass through, and"
        " what is it compared with at the end?",
        "Add wte of the tokens and wpe of the positions 0 to seq - 1. Then run the blocks, each on the result of the"
        " block before it, apply ln_f, and multiply by the transposed weight of wte.",
        "torch.arange gives the positions, on the device of the tokens, and their vectors broadcast over the batch. At"
        " the end, apply ln_f to the stream, and multiply the result by wte's transposed weight.",
    ),
)


# --- the checkpoint ----------------------------------------------------------------------------------------


def _sample_checkpoint(rand, config, prefix="", extras=False, leave_out=(), add=()):
    """Sample a checkpoint."""
    tensors = {name: rand(*shape) for name, shape in shapes(config).items() if name not in leave_out}
    tensors |= {name: rand(*shape) for name, shape in add}
    if extras:
        n = config.n_positions
        tensors |= {f"h.{i}.attn.bias": torch.ones(1, 1, n, n).tril() for i in range(config.n_layers)}
        tensors["lm_head.weight"] = tensors["wte.weight"].clone()
    return {name if name.startswith("lm_head") else f"{prefix}{name}": value for name, value in tensors.items()}


@with_steps
def _state(
    tensors,
    config,
    *,
    turn=lambda name, value: value.T,
    cut=lambda value, heads: value.chunk(3, dim=-1),
    parts=("W_query", "W_key", "W_value"),
    blocks=lambda n: range(n),
    norm=lambda kind: kind[0],
    whole=lambda value: value,
    out="out_proj",
    block="blocks",
    taken_from=lambda tensors, found: found,
):
    found = {name.removeprefix("transformer."): value for name, value in tensors.items()}
    found = {n: v for n, v in found.items() if not n.endswith((".attn.bias", ".attn.masked_bias", "lm_head.weight"))}
    if {name: list(value.shape) for name, value in found.items()} != shapes(config):
        raise ValueError("it does not fit")
    found = taken_from(tensors, found)
    state = {name: whole(found[name]) for name in ("wte.weight", "wpe.weight")}
    norms = {f"{block}.{i}.ln_{k}": f"h.{i}.ln_{k}" for i in blocks(config.n_layers) for k in (1, 2)}
    for own_name, file_name in (norms | {"ln_f": "ln_f"}).items():
        state |= {f"{own_name}.{norm(kind)}": found[f"{file_name}.{kind}"] for kind in ("weight", "bias")}
    for i in blocks(config.n_layers):
        for own_name, file_name in (
            (f"attn.{out}", "attn.c_proj"),
            *((f"mlp.{n}",) * 2 for n in ("c_fc", "c_proj")),
        ):
            name = f"h.{i}.{file_name}"
            state[f"{block}.{i}.{own_name}.weight"] = turn(own_name, found[f"{name}.weight"])
            state[f"{block}.{i}.{own_name}.bias"] = found[f"{name}.bias"]
        three = {kind: cut(found[f"h.{i}.attn.c_attn.{kind}"], config.n_heads) for kind in ("weight", "bias")}
        for part, weight, bias in zip(parts, three["weight"], three["bias"]):
            state[f"{block}.{i}.attn.{part}.weight"] = turn(f"attn.{part}", weight)
            state[f"{block}.{i}.attn.{part}.bias"] = bias
    return state


def _cut_by_heads(value, heads):
    """Split a tensor into three, but wrongly assume that each head's query, key and value are adjacent."""
    return [piece.flatten(-2) for piece in value.unflatten(-1, (heads, 3, -1)).unbind(-2)]


def _names_fit_the_model(probe):
    """Check that the state contains exactly the names of the model's parameters."""
    for trial in probe.trials:
        your_state, expected = trial.yours.value, trial.expected.value
        if not isinstance(your_state, dict) or your_state.keys() == expected.keys():
            continue
        missing, extra = (
            [n for n in some if n not in other] for some, other in ((expected, your_state), (your_state, expected))
        )
        others = f" and {len(missing) - 1} more of the model's parameters" if len(missing) > 1 else ""
        lacks = f"lacks `{missing[0]}`{others}" if missing else ""
        only_late = missing and all(_BLOCK_FROM_10.match(name) for name in missing)
        digits = " Do you read only one digit of a block's number?" if only_late else ""
        close = difflib.get_close_matches(missing[0], map(str, extra), n=1) if missing else []
        name = (close or extra or [""])[0]
        has = f"has `{name}`, which is not a parameter of the model" if extra else ""
        problem = ", but ".join(filter(None, (lacks, has)))
        return f"The state {problem}. Use the names that your classes give their parameters.{digits}"
    return None


_BLOCK_FROM_10 = re.compile(r"blocks\.[1-9]\d+\.")


def _from_which_tensor(probe):
    """Find the first wrong tensor in the state.

    Report what this tensor contains instead: a tensor of the file, or a part of one.
    """
    for trial in probe.trials:
        yours, wanted = trial.yours.value, trial.expected.value
        if not isinstance(yours, dict) or yours.keys() != wanted.keys():
            continue
        tensors = {n.removeprefix("transformer."): v for n, v in trial.case.args[0].items()}
        for name, right in wanted.items():
            if not isinstance(yours[name], Tensor) or yours[name].equal(right):
                continue
            for what, piece in _pieces(tensors):
                as_filed = piece.dim() == 2 and not what.startswith(_TRANSPOSED) and piece.T.equal(right)
                if piece.equal(yours[name]):
                    if as_filed:
                        return f"`{name}` holds {what} in the file's layout. nn.Linear stores the transposed matrix."
                    return (
                        f"`{name}` should not hold {what}. Check which tensor of the file belongs to this name, and"
                        " whether it needs to be transposed."
                    )
                if as_filed and piece.flatten().equal(yours[name].flatten()):
                    return (
                        f"`{name}` holds the numbers of {what} in the wrong order, filled in row by row. A reshape"
                        " gives the right shape, but it does not transpose."
                    )
            return f"`{name}` is the first tensor with wrong numbers; the tensors before it are correct."
    return None


_TRANSPOSED = "the transpose of "


def _pieces(tensors):
    """Yield (description, tensor) for each checkpoint tensor, each third of a c_attn tensor, and each transpose."""
    for name, value in tensors.items():
        whole = [(f"`{name}`", value)]
        if value.dim() and "c_attn" in name:
            thirds = zip(("first", "second", "last"), value.chunk(3, dim=-1))
            whole += [(f"the {which} third of `{name}`", piece) for which, piece in thirds]
        yield from whole
        yield from ((f"{_TRANSPOSED}{label}", piece.T) for label, piece in whole if piece.dim() == 2)


_NARROW = GPTConfig(vocab_size=5, n_positions=3, d_model=6, n_layers=2, n_heads=2)
# In this configuration, vocab_size equals 4 * d_model, and n_positions equals d_model.
_WIDE = GPTConfig(vocab_size=32, n_positions=8, d_model=8, n_layers=3, n_heads=4)
_DEEP = GPTConfig(vocab_size=5, n_positions=3, d_model=4, n_layers=14, n_heads=2)

exercise(
    "gpt2_state",
    oracle=_state,
    cases=lambda rand: [
        case(_sample_checkpoint(rand, _NARROW), _NARROW),
        case(_sample_checkpoint(rand, _WIDE, "transformer.", extras=True), _WIDE, note="names with a prefix"),
        case(_sample_checkpoint(rand, _DEEP), _DEEP, note="with 12 blocks"),
        case(_sample_checkpoint(rand, _NARROW, leave_out=["h.1.mlp.c_fc.bias"]), _NARROW, note="a tensor is missing"),
        case(
            _sample_checkpoint(rand, _NARROW, add=[("h.2.ln_1.weight", (6,))]), _NARROW, note="a tensor is superfluous"
        ),
        case(
            _sample_checkpoint(rand, _NARROW, add=[("wpe.weight", (4, 6))]),
            _NARROW,
            note="a tensor has a different shape",
        ),
    ],
    differentiable=False,
    properties=[_names_fit_the_model, _from_which_tensor],
    misconceptions={
        "not-turned": _state.replace(turn=lambda name, value: value).wrong(
            "You do not transpose any matrix, but Conv1D stores [in, out], and nn.Linear stores [out, in]. Square"
            " matrices fit either way, so only c_fc and the MLP's c_proj would give an error."
        ),
        "attention-not-turned": Wrong(
            _state.replace(turn=lambda name, value: value if name.startswith("attn") else value.T),
            "The matrices of attention are not transposed. They are square, so they load without an error, but Conv1D"
            " stores them as [in, out], like the matrices of the MLP.",
        ),
        "out_proj-not-turned": Wrong(
            _state.replace(turn=lambda name, value: value if name == "attn.out_proj" else value.T),
            "out_proj is not transposed. It is square, so it loads without an error, but Conv1D stores it as [in,"
            " out], like the other matrices.",
        ),
        "c_attn-not-turned": Wrong(
            _state.replace(turn=lambda name, value: value if name.startswith("attn.W") else value.T),
            "The three pieces of c_attn are not transposed. Each piece is square, so it loads without an error, but it"
            " is stored as [in, out], like the whole matrix.",
        ),
        "keys-first": _state.replace(parts=("W_key", "W_query", "W_value")).wrong(
            "The first third of c_attn went to the keys and the second third to the queries. The order is queries,"
            " keys, values."
        ),
        "values-first": _state.replace(parts=("W_value", "W_key", "W_query")).wrong(
            "The first third of c_attn went to the values. The order is queries, keys, values."
        ),
        "values-second": _state.replace(parts=("W_query", "W_value", "W_key")).wrong(
            "Keys and values are swapped. The order in c_attn is queries, keys, values."
        ),
        "cut-by-heads": _state.replace(cut=_cut_by_heads).wrong(
            "You split c_attn as if each head had its query, key and value side by side. c_attn holds the queries of"
            " all heads first, then all keys, then all values."
        ),
        "cut-in-turn": _state.replace(cut=lambda value, heads: [value[..., i::3] for i in range(3)]).wrong(
            "You took every third column. In c_attn the three matrices are side by side, each as one block of columns."
        ),
        "rows-cut": _state.replace(cut=lambda value, heads: value.chunk(3)).wrong(
            "You split the weight of c_attn along its rows, which are its inputs. Queries, keys and values are side by"
            " side: split the columns."
        ),
        "only-the-first-block": _state.replace(blocks=lambda n: range(1)).wrong(
            "The state holds only block 0. Each of the config.n_layers blocks has its own tensors."
        ),
        "embedding-turned": _state.replace(whole=lambda value: value.T).wrong(
            "wte and wpe are transposed, too. In the file and in your model, an embedding has one row for each token or"
            " position."
        ),
        "norms-by-their-names": _state.replace(norm=lambda kind: kind).wrong(
            "The parameters of the norms still have the file's names. Your LayerNorm calls its weight w and its bias b."
        ),
        "out_proj-by-its-name": _state.replace(out="c_proj").wrong(
            "attn.c_proj still has the file's name. In your MultiHeadAttention this layer is out_proj; only the MLP's"
            " c_proj keeps its name."
        ),
        "from-the-file-as-it-came": _state.replace(taken_from=lambda tensors, found: tensors).wrong(
            "You read from `tensors`, whose names may have the prefix `transformer.`; with the prefix, no tensor is"
            " found. Read from `found`, whose names have no prefix."
        ),
        "blocks-by-their-names": _state.replace(block="h").wrong(
            "The blocks are still called h. Your model calls them blocks."
        ),
    },
    hints=Hints(
        "Go through the names in the file one by one. What is the name of each tensor in your model, and does the"
        " tensor have to be transposed or split?",
        "There are five kinds of tensors: embeddings (unchanged), norms (w and b), c_attn (split into three parts, the"
        " weights transposed), attn.c_proj (out_proj, transposed), c_fc and mlp.c_proj (transposed). Biases are never"
        " transposed.",
        "Loop over config.n_layers with two prefixes, one for the file's names and one for your names. chunk(3,"
        " dim=-1) splits both the weight and the bias of c_attn; .T transposes a piece.",
    ),
)


# --- the cache for keys and values ----------------------------------------------------------------------------------


@with_steps
def _generate_cached(
    model,
    tokens,
    n_tokens,
    *,
    position=lambda seq, step: seq + step,
    remembers=lambda old, new, step: new if old is None else torch.cat((old, new), dim=-2),
    keeps=lambda joined, new: joined,
    shared=False,
    scale=lambda d_head, d_model, seq: d_head**-0.5,
    later_mask=lambda n: None,
    prompt_mask=causal_mask,
    final=_norm,
    rounds=lambda n: n,
    feed=lambda best, text: best,
    result=lambda text, seq: text,
    pick=lambda logits: logits.argmax(-1),
    ends=lambda new, c: False,
    **within,
):
    """Generate with a cache. `within` replaces steps inside the blocks.

    The answer reads the model's parameters and does not call its modules.
    """
    p, c, seq = dict(model.named_parameters()), model.config, tokens.shape[1]
    text, new, cache = tokens, tokens, {}
    for step in range(rounds(n_tokens)):
        first = step == 0
        places = torch.arange(seq) if first else torch.tensor([position(seq, step - 1)])
        x = F.embedding(new, p["wte.weight"]) + p["wpe.weight"][places % c.n_positions]

        def attend(p, prefix, h, heads, first=first, step=step):
            q, k, v = (_split(_project(p, f"{prefix}W_{n}", h), heads) for n in ("query", "key", "value"))
            place = "" if shared else prefix
            new_k, new_v = k, v
            k, v = (remembers(cache.get((place, n)), t, step) for n, t in (("k", k), ("v", v)))
            cache[place, "k"], cache[place, "v"] = keeps(k, new_k), keeps(v, new_v)
            mask = (prompt_mask if first else later_mask)(k.shape[-2])
            return _project(p, f"{prefix}out_proj", _merge(attention_weights(q, k, mask, c.d_model, scale=scale) @ v))

        for i in range(c.n_layers):
            x = _block(p, x, c, f"blocks.{i}.", attend=attend, **within)
        logits = F.linear(final(p, "ln_f", x[:, -1], c.eps), p["wte.weight"])
        new = pick(logits)[:, None]
        if ends(new, c):
            break
        text = torch.cat((text, new), dim=1)
        new = feed(new, text)
    return result(text, seq)


def _generate_without_cache(model, tokens, n_tokens):
    """Continue the texts without a cache. For each new token, compute all positions again."""
    p = Params(dict(model.named_parameters()))
    p.init_args = {"config": model.config}
    for _ in range(n_tokens):
        tokens = torch.cat((tokens, _gpt(p, tokens)[:, -1:].argmax(-1)), dim=1)
    return tokens


def _prompt_milestones(model, tokens, n_tokens):
    """Compute the intermediate values of the pass over the prompt, for a model with one block."""
    # A correct token in pass 2 does not prove that pass 1 is correct. A trace is limited to 400 calls.
    if n_tokens != 1 or model.config.n_layers > 1:
        return {}
    p, values = Params(dict(model.named_parameters())), {}
    p.init_args = {"config": model.config}

    def note(name, part_input, result):
        part = name.rpartition(".")[2]
        if part in ("ln_1", "ln_2"):
            values["the stream before block 0" if part == "ln_1" else "the stream with the result of attn"] = part_input
        elif part == "attn":
            layers = (_project(p, f"{name}.W_{n}", part_input) for n in ("query", "key", "value"))
            q, k, v = (_split(layer, model.config.n_heads) for layer in layers)
            values.update(attention_values(q, k, v, causal_mask(k.shape[-2])))
        values[{"0": "the stream after block 0"}.get(part, f"the result of {part}?")] = result
        return result

    logits = _gpt.replace(note=note)(p, tokens)
    last = {"the result of ln_f for the last position?": values["the result of ln_f?"][:, -1], "the logits?": logits}
    return values | last | {"the logits of the last position": logits[:, -1]}


def _keeps_keys_and_values(probe):
    """Check that the model processes only one position per pass after the prompt."""
    # One trial is enough, because the number of positions per pass does not depend on the model's parameters.
    for trial in probe.trials[:1]:
        model, tokens, n_tokens = trial.case.args
        held = dict(model.named_parameters())
        strict = FakeGPT(model.config, lambda name, shape, held=held: held[name], strict=True)
        failure = probe.run(replace(trial.case, args=(strict, tokens, n_tokens))).failure
        if failure and REFUSAL_PHRASE in failure.text:
            return (
                f"The tokens are correct, but {failure.text}. Keep the keys and values of earlier positions, so that"
                " only the new token goes through the model."
            )
    return None


_N_PROMPTS = 64  # the number of prompts in _prompt_pass_is_wrong


def _prompt_pass_is_wrong(probe):
    """Check the first new token after each of many prompts.

    The vocabulary is so large that even a small error in the stream changes the most likely token.
    """
    config = replace(_WRITING, vocab_size=4001)
    model = FakeGPT(config, lambda name, shape: sample_parameter(name, shape, 1))
    prompts = torch.randint(config.vocab_size, (_N_PROMPTS, 5), generator=torch.Generator().manual_seed(0))
    observation, expected = probe.run(case(model, prompts, 1)), _generate_without_cache(model, prompts, 1)
    result = observation.value
    if observation.failure or not isinstance(result, Tensor) or result.shape != expected.shape:
        return None
    wrong = int((result != expected)[:, -1].sum())
    if not wrong:
        return None
    return (
        f"The first new token is already wrong: for {wrong} of {_N_PROMPTS} prompts, it is not the most likely token of"
        " model(tokens)[:, -1]. Compare the pass over the prompt with your GPT and your Block; then check how you"
        " choose the token."
    )


def _first_wrong_pass(probe):
    """Name the first pass that chooses a wrong token. Without a cache, the model chooses the expected token."""
    if not probe.has_correct_values and (message := _prompt_pass_is_wrong(probe)):
        return message
    for trial in probe.trials:
        tokens = trial.case.args[1]
        your_text, expected = trial.yours.value, trial.expected.value
        if not isinstance(your_text, Tensor) or your_text.shape != expected.shape or your_text.equal(expected):
            continue
        seq = tokens.shape[1]
        first = int((your_text != expected).any(0).nonzero()[0]) - seq
        if first < 0:
            return (
                "Your result does not begin with the tokens that were given. Return the whole text: the given tokens,"
                " then the new tokens."
            )
        if first == 0:
            return (
                "The first new token differs from the choice of model(tokens), so the forward pass over the prompt is"
                " already wrong. Compare this pass with your GPT's forward, part by part."
            )
        passed = "the pass over the prompt chooses" if first == 1 else f"the first {first} passes choose"
        return (
            f"After a prompt of {seq} tokens, {passed} the correct token{'s' * (first > 1)}, but pass {first + 1}"
            " chooses a different token than model(tokens). Check what this pass uses for the new token: its position,"
            " the cached keys and values, and its row of the mask."
        )
    return None


_GREEDY = draws_nothing(
    "Your function uses random numbers: does it sample the next token? Greedy means that it should take the most likely"
    " token."
)


_ENDS_AT_0 = (
    "Generation stops at token 0, which ended a text in lesson 08 but is an exclamation mark in GPT-2. Generate"
    " n_tokens tokens, even if the model predicts the end of the text."
)
_ENDS_AT_THE_LAST = (
    "Generation stops at the last token of the vocabulary, which ends a text in GPT-2. Generate n_tokens tokens,"
    " even if the model predicts the end of the text."
)

_WRITING = GPTConfig(vocab_size=37, n_positions=80, d_model=12, n_layers=2, n_heads=3, eps=1e-3)
_DEEPER = GPTConfig(vocab_size=29, n_positions=7, d_model=8, n_layers=3, n_heads=2, eps=1e-3)
_SHALLOW = replace(_DEEPER, n_layers=1)
_SINGLE = replace(_SHALLOW, vocab_size=1001)  # with so many tokens, even small mistakes change a token
# A head must not have width 4: √4 equals 4 / 2, so a wrong scale could go unnoticed. With this model, a wrong scale
# changes two of sixty tokens.
_WIDE_HEADS = replace(_WRITING, d_model=15, vocab_size=200)
# In this model, some block and head numbers have two digits.
_MANY_WRITING = replace(_DEEPER, d_model=22, n_layers=11, n_heads=11)


@functools.lru_cache  # safe to share, because each run gets a copy
def _writer(config, seed):
    """Return a model in which positions and attention have large effects, so that mistakes soon change a token."""

    def fill(name, shape):
        loud = 3.0 if name.startswith("wpe") or ".attn." in name else 1.0
        return sample_parameter(name, shape, seed) * loud

    return FakeGPT(config, fill)


# The token that the model predicts at each position. The plan contains token 0 and the vocabulary's last token,
# because a wrong answer may stop at one of them. The vocabulary is as large as GPT-2's, whose last token ends a text.
_PLAN = (7, 300, 0, 300, 50256, 7)
_PLANNED = GPTConfig(vocab_size=50257, n_positions=len(_PLAN) + 1, d_model=4, n_layers=1, n_heads=2, eps=1e-3)


def _planned_parameter(name, shape):
    """Return a parameter for a model whose predictions depend only on the position.

    The embedding of each position points in the direction of the token that `_PLAN` lists for that position.
    """
    rows = dict(zip(dict.fromkeys(_PLAN), torch.eye(shape[-1])))
    parameter = torch.zeros(shape)
    if name == "wte.weight":
        parameter[list(rows)] = torch.stack(list(rows.values()))
    elif name == "wpe.weight":
        parameter[: len(_PLAN)] = 4 * torch.stack([rows[token] for token in _PLAN])
    elif name.endswith(".w"):
        parameter += 1
    return parameter


@functools.lru_cache
def _planner():
    return FakeGPT(_PLANNED, _planned_parameter)


exercise(
    "generate_cached",
    oracle=_generate_without_cache,
    milestones=_prompt_milestones,
    cases=lambda rand: [
        case(_writer(_WRITING, 1), rand.integers(6, 5, high=37), 6),
        case(_writer(_DEEPER, 2), rand.integers(5, 1, high=29), 6, note="from a single token up to the last position"),
        case(_writer(_SHALLOW, 4), rand.integers(2, 4, high=29), 1, note="for one new token"),
        case(_writer(_SHALLOW, 5), rand.integers(2, 3, high=29), 0, note="for no new token"),
        case(_writer(_SINGLE, 17), rand.integers(19, 5, high=1001), 1, note="for one new token"),
        case(_writer(_MANY_WRITING, 13), rand.integers(3, 4, high=29), 2, note="with 11 blocks and 11 heads"),
        case(
            _planner(),
            rand.integers(3, 2, high=50257),
            5,
            note="with a model that predicts the first and the last token of its vocabulary",
        ),
        case(_writer(_WIDE_HEADS, 129), rand.integers(60, 5, high=200), 1, note="with many texts"),
    ],
    returns=Int("batch longer"),
    differentiable=False,
    properties=[_GREEDY, _first_wrong_pass, _keeps_keys_and_values],
    misconceptions={
        "position-0-again": _generate_cached.replace(position=lambda seq, step: 0).wrong(
            "Every new token gets position 0, because it is the only token of its pass. Its position should be the"
            " number of tokens before it."
        ),
        "position-stands-still": _generate_cached.replace(position=lambda seq, step: seq).wrong(
            "Every new token gets the position right after the prompt. The position should increase by one with each"
            " new token."
        ),
        "position-one-late": _generate_cached.replace(position=lambda seq, step: seq + step + 1).wrong(
            "Every new token gets a position that is one too high. The prompt has the positions 0 to seq - 1, so the"
            " first new token should have position seq."
        ),
        "position-one-early": _generate_cached.replace(position=lambda seq, step: seq + step - 1).wrong(
            "Every new token gets the position of the token before it. After a prompt of seq tokens, the first new"
            " token should have position seq."
        ),
        "position-counts-the-passes": _generate_cached.replace(position=lambda seq, step: step + 1).wrong(
            "The first new token gets position 1, whatever the length of the prompt. The first pass covers the whole"
            " prompt, so after this pass the position should increase by the prompt's length."
        ),
        "sees-the-first-only": _generate_cached.replace(later_mask=lambda n: (torch.arange(n) == 0)[None]).wrong(
            "After the prompt, a new token sees only position 0: is its mask the first row of a causal mask? The new"
            " token comes last, so it should see every position in the cache."
        ),
        "prompt-forgotten": _generate_cached.replace(keeps=lambda joined, new: new).wrong(
            "The newest keys and values replace the cached keys and values, so the prompt is lost from the third pass"
            " on. Store the joined keys and values in the cache."
        ),
        "not-scaled": _generate_cached.replace(**ATTENTION_MISTAKES["not-scaled"].steps).wrong(
            "The scores are not divided by the square root of a head's width. Large scores make softmax give nearly all"
            " weight to a single position."
        ),
        "root-of-d_model": _generate_cached.replace(**ATTENTION_MISTAKES["root-of-d_in"].steps).wrong(
            "The scores are divided by the square root of d_model. Divide them by the square root of a head's width"
            " instead."
        ),
        "nothing-kept": _generate_cached.replace(remembers=lambda old, new, step: new).wrong(
            "After the prompt, a new token sees only itself, because the earlier keys and values are not used. Append"
            " the new keys and values to the cached keys and values."
        ),
        "only-the-prompt-kept": Wrong(
            _generate_cached.replace(
                remembers=lambda old, new, step: (
                    new if old is None else torch.cat((old[..., : old.shape[-2] - (step > 1), :], new), dim=-2)
                )
            ),
            "A new token sees the prompt and itself, but not the tokens generated in between. The cache should grow"
            " with each new token.",
        ),
        "prompt-without-a-mask": _generate_cached.replace(prompt_mask=lambda n: None).wrong(
            "The prompt is processed without a causal mask, so its positions see later positions. Each position should"
            " compute the same values as in model(tokens)."
        ),
        "one-cache-for-all-blocks": _generate_cached.replace(shared=True, prompt_mask=lambda n: None).wrong(
            "All blocks share one cache of keys and values. Each block needs its own cache."
        ),
        "no-final-norm": _generate_cached.replace(final=lambda p, name, x, eps: x).wrong(
            "ln_f is missing. Apply it to the stream before you compare the stream with the embeddings."
        ),
        "first-token-again": _generate_cached.replace(feed=lambda best, text: text[:, :1]).wrong(
            "Each pass after the prompt gets the first token of the text. It should get the token that was just chosen."
        ),
        "only-the-new": _generate_cached.replace(result=lambda text, seq: text[:, seq:]).wrong(
            "You return only the new tokens. The result should be the whole text: the given tokens, then the new"
            " tokens."
        ),
        "one-too-many": _generate_cached.replace(rounds=lambda n: n + 1).wrong(
            "There is one token too many. To generate n_tokens tokens, the model needs n_tokens passes, including the"
            " pass over the prompt."
        ),
        "one-too-few": _generate_cached.replace(rounds=lambda n: max(n - 1, 0)).wrong(
            "There is one token too few. To generate n_tokens tokens, the model needs n_tokens passes, including the"
            " pass over the prompt, which already gives the first new token."
        ),
        "first-text-only": Wrong(
            _generate_cached.replace(pick=lambda logits: logits[:1].argmax(-1).expand(len(logits))),
            "Every text of the batch gets the next token of the first text. Choose the next token for each row"
            " separately.",
        ),
        "least-likely": _generate_cached.replace(pick=lambda logits: logits.argmin(-1)).wrong(
            "You take the least likely token. Take the most likely token."
        ),
        "ends-at-0": _generate_cached.replace(ends=lambda new, c: bool((new == 0).all())).wrong(_ENDS_AT_0),
        "ends-at-the-last-token": _generate_cached.replace(
            ends=lambda new, c: bool((new == c.vocab_size - 1).all())
        ).wrong(_ENDS_AT_THE_LAST),
        "ends-at-the-last-token-of-one-text": _generate_cached.replace(
            ends=lambda new, c: bool((new == c.vocab_size - 1).any())
        ).wrong(_ENDS_AT_THE_LAST),
        **{
            name: _generate_cached.replace(**how).wrong(_in_the_blocks(message))
            for name, (how, message) in _BLOCK_MISTAKES.items()
            if "order" in how and name != "no-sums"  # here, no-sums and no-second-sum generate the same texts
        },
    },
    hints=Hints(
        "First write the forward pass of the whole model, for the tokens `new` at `positions`. What has to be"
        " remembered between two passes, and for which part of the model?",
        "For each block: compute queries, keys and values of the new tokens, split them into heads, and append the keys"
        " and values to the cached keys and values, along the position axis. Then compute scores, mask, softmax,"
        " weighted sum, merge, out_proj, and the block's MLP.",
        "The mask compares the positions of the new tokens with all positions from 0 to the last: it is causal for the"
        " prompt, and lets a single new token see all cached keys and values. torch.cat(..., dim=2) appends to the"
        " cache; after the blocks, apply ln_f to the last position, multiply by wte.weight.T, and take the argmax.",
    ),
)
