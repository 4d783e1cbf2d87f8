"""Exercises of lesson 12: the MLP and the block of a GPT-2, the model, its checkpoint, and writing with kept keys."""

from __future__ import annotations

import difflib
import functools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.checks._attention import attention_weights, causal_mask, restrict_to_cases, torch_attention
from utils.feedback.exercise import Float, Hints, Int, Wrong, case, exercise, layer_parameters, sample_parameter
from utils.feedback.instantiate import Params
from utils.feedback.properties import (
    batch_independent,
    causal,
    draws_nothing,
    finite_when_scaled,
    moves_with_its_module,
    remembers_nothing,
    slopes_agree,
)
from utils.feedback.report import format_number
from utils.models.your_own_gpt2 import GPTConfig, shapes
from utils.test_doubles.your_own_gpt2 import REFUSAL_PHRASE, FakeGPT

_ROOT = math.sqrt(2 / math.pi)


def _tanh_form(x, root=_ROOT, cube=0.044715, half=0.5):
    return half * x * (1 + torch.tanh(root * (x + cube * x**3)))


def _torchs(x):
    return F.gelu(x, approximate="tanh")


def _landmarks(probe):
    """Where the curve has a value that one can tell without a formula."""
    if probe.has_correct_values:
        return None
    for x, wanted, why in (
        (0.0, 0.0, "nothing comes of nothing"),
        (10.0, 10.0, "a large number passes as it is"),
        (-10.0, 0.0, "of a very negative number nothing is left"),
        (1.0, 0.8412, "84 of 100 normally distributed numbers are smaller than 1, so that share of it passes"),
        (-1.0, -0.1588, "16 of 100 normally distributed numbers are smaller than -1, so that share of it passes"),
    ):
        seen = probe.run(case(torch.tensor([x])))
        if seen.failure or not isinstance(seen.value, Tensor) or seen.value.numel() != 1:
            return None
        found = float(seen.value)
        if not abs(found - wanted) < 1e-3:
            return f"gelu({x:g}) is {format_number(found)}, and {wanted:g} is expected: {why}."
    return None


_EXACT = (
    "This is the exact curve, with the error function. GPT-2 was trained with the approximation by tanh; the two differ"
    " by up to 0.0005, and its weights belong to the one that they were trained with."
)

exercise(
    "gelu",
    oracle=_torchs,
    cases=lambda rand: [case(rand(5) * 2), case(rand(2, 3, 4)), case(rand(6, 2) * 4)],
    returns=Float(),
    differentiable=True,
    atol=2e-6,
    properties=[_landmarks, finite_when_scaled(100.0)],
    misconceptions={
        "exact": Wrong(F.gelu, _EXACT),
        "relu": Wrong(
            F.relu,
            "This is ReLU: zero below zero, with a corner. GELU dips a little below zero and is smooth.",
        ),
        "silu": Wrong(
            F.silu,
            "This is SiLU, x times a sigmoid, as later models have it. GELU follows a normal distribution.",
        ),
        "sigmoid-form": Wrong(
            lambda x: x * torch.sigmoid(1.702 * x),
            "This is the quick approximation by a sigmoid, off by up to 0.02. GPT-2 uses the one with tanh.",
        ),
        "no-half": Wrong(
            lambda x: _tanh_form(x, half=1.0),
            "Large numbers come out doubled: 1 + tanh goes up to 2. The formula halves that.",
        ),
        "no-x-in-front": Wrong(
            lambda x: _tanh_form(x) / x,
            "These are shares between 0 and 1. GELU lets that share of x pass: multiply by x.",
        ),
        "no-cube": Wrong(
            lambda x: _tanh_form(x, cube=0.0),
            "The term with the cube of x is missing.",
        ),
        "square-for-cube": Wrong(
            lambda x: 0.5 * x * (1 + torch.tanh(_ROOT * (x + 0.044715 * x**2))),
            "x is squared where its cube should stand, so that the curve bends differently on the two sides.",
        ),
        "root-forgotten": Wrong(
            lambda x: _tanh_form(x, root=2 / math.pi),
            "2 / π stands where its root should: the curve is too flat around zero.",
        ),
        "root-of-two-only": Wrong(
            lambda x: _tanh_form(x, root=math.sqrt(2) / math.pi),
            "Only the 2 is under the root. The root is of the whole fraction, 2 / π.",
        ),
        "outside-the-root": Wrong(
            lambda x: 0.5 * x * (1 + torch.tanh(_ROOT * x + 0.044715 * x**3)),
            "The root multiplies x alone. It stands before a bracket that holds the cube, too.",
        ),
        "one-outside-the-bracket": Wrong(
            lambda x: x / 2 + torch.tanh(_ROOT * (x + 0.044715 * x**3)),
            "x / 2 multiplies the 1 alone, and tanh is added afterwards. Both stand in the bracket that it multiplies.",
        ),
        "point-slipped": Wrong(
            lambda x: _tanh_form(x, cube=0.44715),
            "The number before the cube is ten times too large: it is 0.044715.",
        ),
        "no-one": Wrong(
            lambda x: 0.5 * x * torch.tanh(_ROOT * (x + 0.044715 * x**3)),
            "The 1 beside tanh is missing, so both sides rise alike. With it the share runs from 0 to 1.",
        ),
        "cube-of-the-sum": Wrong(
            lambda x: 0.5 * x * (1 + torch.tanh(_ROOT * (x + 0.044715 * x) ** 3)),
            "The whole bracket is cubed. Only the x behind 0.044715 is.",
        ),
    },
    equivalent={
        "factored": lambda x: x * (1 + torch.tanh(0.7978845608028654 * x * (1 + 0.044715 * x * x))) / 2,
        "by-sigmoid": lambda x: x * torch.sigmoid(2 * _ROOT * (x + 0.044715 * x**3)),
    },
    hints=Hints(
        "Read the formula from the inside: what does tanh get?",
        "tanh gets the root of 2 / π times a sum of x and a small multiple of its cube. 1 is added, and the whole is"
        " multiplied by half of x.",
        "torch.tanh exists, (2 / torch.pi) ** 0.5 is the root, x**3 the cube; then 0.5 * x * (1 + ...).",
    ),
)


_NO_DROPOUT = draws_nothing(
    "Random numbers are drawn in forward, so each call gives another result. Is there a dropout? None is asked for."
)


# --- the MLP -----------------------------------------------------------------------------------------------


def _mlp(p, x, bend=_torchs, prefix=""):
    wide = F.linear(x, p[f"{prefix}c_fc.weight"], p[f"{prefix}c_fc.bias"])
    return F.linear(bend(wide), p[f"{prefix}c_proj.weight"], p[f"{prefix}c_proj.bias"])


def _mlp_layers(d_model, d_mlp):
    return layer_parameters(c_fc=nn.Linear(d_model, d_mlp), c_proj=nn.Linear(d_mlp, d_model))


_NO_BEND = (
    "There is no bend between the two maps. Two linear maps in a row are one linear map, however wide the vector is in"
    " between."
)
_RELU = "The bend is ReLU. GPT-2 was trained with GELU, and its weights fit no other."
_RESIDUAL_INSIDE = (
    "The MLP returns its input as well. It is the block that adds what an MLP found to the stream; the MLP itself"
    " returns only that."
)

exercise(
    "MLP",
    initial_parameters=_mlp_layers,
    oracle=lambda p, x: _mlp(p, x),
    cases=lambda rand: [
        case(rand(2, 3, 4), init=(4, 10)),
        case(rand(5, 3), init=(3, 7), seed=1),
        case(rand(2, 2, 6), init={"d_model": 6, "d_mlp": 5}, seed=2, train=True, note="in training"),
    ],
    returns=Float("batch seq d_model"),
    atol=2e-6,
    properties=[_NO_DROPOUT, batch_independent(), moves_with_its_module, remembers_nothing],
    misconceptions={
        "no-bend": Wrong(lambda p, x: _mlp(p, x, lambda wide: wide), _NO_BEND),
        "exact": Wrong(lambda p, x: _mlp(p, x, F.gelu), _EXACT),
        "relu": Wrong(lambda p, x: _mlp(p, x, F.relu), _RELU),
        "bend-last": Wrong(
            lambda p, x: _torchs(_mlp(p, x, lambda wide: wide)),
            "GELU comes after both maps, so that almost nothing negative can be added to the stream. It belongs between"
            " them.",
        ),
        "bend-first": Wrong(
            lambda p, x: _mlp(p, _torchs(x), lambda wide: wide),
            "GELU acts on the input, before the vector is made wide. It belongs between the two maps.",
        ),
        "bent-twice": Wrong(
            lambda p, x: _torchs(_mlp(p, x)),
            "GELU acts once more on what c_proj gives, so that almost nothing negative can be added to the stream. It"
            " acts once, between the two maps.",
        ),
        "returns-its-input-too": Wrong(lambda p, x: x + _mlp(p, x), _RESIDUAL_INSIDE),
        "softmax": Wrong(
            lambda p, x: _mlp(p, x, lambda wide: wide.softmax(-1)),
            "A softmax stands between the maps. The entries do not compete here: each is bent by itself, with GELU.",
        ),
        "always-four-times": Wrong(
            _mlp,
            "The MLP is four times as wide as its input, whatever d_mlp says. That is what the block asks for; the MLP"
            " does as it is told.",
            initial_parameters=lambda d_model, d_mlp: _mlp_layers(d_model, 4 * d_model),
        ),
    },
    hints=Hints(
        "Two layers and a function between them: wide, bent, back.",
        "__init__ makes c_fc from d_model to d_mlp and c_proj the other way. forward calls them in this order, with"
        " gelu on what the first one gives.",
        "nn.Linear has a bias unless told otherwise. Call c_proj on gelu of c_fc of x, and add nothing.",
    ),
)


# --- the block, and the model ------------------------------------------------------------------------------


def _parameters(d, prefix=""):
    """The parameters of a block of width d, in the order in which its parts are made."""
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


def _attend(p, prefix, x, heads, mask=causal_mask, order=(0, 1, 2), split=_split, scale=None):
    made = [split(_project(p, f"{prefix}W_{name}", x), heads) for name in ("query", "key", "value")]
    q, k, v = (made[i] for i in order)
    seen = mask(x.shape[-2])
    seen = None if seen is None else seen.to(x.device)
    mixed = torch_attention(q, k, v, seen) if scale is None else attention_weights(q, k, seen, scale=scale) @ v
    return _project(p, f"{prefix}out_proj", _merge(mixed))


def _block(
    p,
    x,
    config,
    prefix="",
    note=lambda name, given, made: made,
    attend=_attend,
    bend=_torchs,
    order=lambda s, attn, mlp, ln_1, ln_2: (s := s + attn(ln_1(s))) + mlp(ln_2(s)),
    eps=lambda config: config.eps,
):
    """A block with one step replaced. `order` puts its four parts together; `note` hears of each."""

    def part(name, make):
        return lambda given: note(f"{prefix}{name}", given, make(given))

    return note(
        prefix.removesuffix("."),
        x,
        order(
            x,
            part("attn", lambda h: attend(p, f"{prefix}attn.", h, config.n_heads)),
            part("mlp", lambda h: _mlp(p, h, bend, f"{prefix}mlp.")),
            *(part(f"ln_{i}", lambda h, i=i: _norm(p, f"{prefix}ln_{i}", h, eps(config))) for i in (1, 2)),
        ),
    )


def _with(**how) -> Callable:
    return lambda p, x: _block(p, x, p.init_args["config"], **how)


def _up_to_1024(p, x):
    if x.shape[-2] > 1024:
        raise RuntimeError("the text is longer than the mask")
    return _block(p, x, p.init_args["config"])


# What goes wrong within a block: the check of a block names it, and so does the check of a model that is made of such.
class _Slip(NamedTuple):
    """What goes wrong within a block, and what to say of it."""

    how: dict[str, Callable]
    message: str


_BLOCK_MISTAKES = {
    "post-norm": _Slip(
        {"order": lambda s, attn, mlp, ln_1, ln_2: ln_2((t := ln_1(s + attn(s))) + mlp(t))},
        "The norms stand around the sums, as in the first transformers: post-norm. GPT-2 has them in front of attention"
        " and MLP, so that the stream itself is never normalised.",
    ),
    "norm-of-what-is-added": _Slip(
        {"order": lambda s, attn, mlp, ln_1, ln_2: (s := s + ln_1(attn(s))) + ln_2(mlp(s))},
        "The norms act on what attention and MLP found, as in lesson 06's layer. In GPT-2 they act on what these read.",
    ),
    "no-first-sum": _Slip(
        {"order": lambda s, attn, mlp, ln_1, ln_2: (s := attn(ln_1(s))) + mlp(ln_2(s))},
        "What attention found replaces the stream, and all that was in it is lost. It is added to the stream.",
    ),
    "no-second-sum": _Slip(
        {"order": lambda s, attn, mlp, ln_1, ln_2: mlp(ln_2(s + attn(ln_1(s))))},
        "What the MLP found replaces the stream, and all that was in it is lost. It is added to the stream.",
    ),
    "no-sums": _Slip(
        {"order": lambda s, attn, mlp, ln_1, ln_2: mlp(ln_2(attn(ln_1(s))))},
        "Both sums are missing: what attention found replaces the stream, and what the MLP found replaces that. Each"
        " adds what it found to the stream.",
    ),
    "normed-stream-goes-on": _Slip(
        {"order": lambda s, attn, mlp, ln_1, ln_2: (t := (h := ln_1(s)) + attn(h)) * 0 + (u := ln_2(t)) + mlp(u)},
        "The sums are made with the normalised stream, so that the stream itself is lost at every norm. Only attention"
        " and MLP read the normalised copy; what they find is added to the stream as it was.",
    ),
    "side-by-side": _Slip(
        {"order": lambda s, attn, mlp, ln_1, ln_2: s + attn(ln_1(s)) + mlp(ln_2(s))},
        "The MLP reads the stream from before attention, so that it cannot work on what attention brought. Some models"
        " do it for speed; in GPT-2 the MLP comes after the first sum.",
    ),
    "mlp-first": _Slip(
        {"order": lambda s, attn, mlp, ln_1, ln_2: (s := s + mlp(ln_2(s))) + attn(ln_1(s))},
        "The MLP comes before attention. First something is fetched from other positions, then it is worked on.",
    ),
    "mlp-reads-what-was-found": _Slip(
        {"order": lambda s, attn, mlp, ln_1, ln_2: s + (found := attn(ln_1(s))) + mlp(ln_2(found))},
        "The MLP reads only what attention found. It reads the stream after the first sum, with all that was in it.",
    ),
    "first-norm-twice": _Slip(
        {"order": lambda s, attn, mlp, ln_1, ln_2: (s := s + attn(ln_1(s))) + mlp(ln_1(s))},
        "ln_1 stands before both halves, and ln_2 is not used. Each half reads the stream through a norm of its own.",
    ),
    "norms-exchanged": _Slip(
        {"order": lambda s, attn, mlp, ln_1, ln_2: (s := s + attn(ln_2(s))) + mlp(ln_1(s))},
        "ln_1 and ln_2 have changed places. The first belongs to attention, the second to the MLP.",
    ),
    "no-norms": _Slip(
        {"order": lambda s, attn, mlp, ln_1, ln_2: (s := s + attn(s)) + mlp(s)},
        "The norms are made and not used: attention and MLP read the stream as it is, however large it has grown.",
    ),
    "no-second-norm": _Slip(
        {"order": lambda s, attn, mlp, ln_1, ln_2: (s := s + attn(ln_1(s))) + mlp(s)},
        "The MLP reads the stream as it is; ln_2 is not used. Each half reads it through a norm.",
    ),
    "no-mlp": _Slip(
        {"order": lambda s, attn, mlp, ln_1, ln_2: s + attn(ln_1(s))},
        "The MLP has no part in it. After attention's sum its own is still to come.",
    ),
    "eps-as-in-lesson-06": _Slip(
        {"eps": lambda config: 1e-6},
        "The norms have the eps of lesson 06, 1e-6. GPT-2's is another one: config.eps says which.",
    ),
    "exact-gelu": _Slip({"bend": F.gelu}, f"In the MLP: {_EXACT[0].lower()}{_EXACT[1:]}"),
    "relu": _Slip({"bend": F.relu}, f"In the MLP: {_RELU[0].lower()}{_RELU[1:]}"),
    "no-bend": _Slip({"bend": lambda x: x}, f"In the MLP: {_NO_BEND[0].lower()}{_NO_BEND[1:]}"),
    "no-mask": _Slip(
        {"attend": lambda *a: _attend(*a, mask=lambda n: None)},
        "No causal mask: every position sees the whole text, and what comes later changes what was written before.",
    ),
    "one-head": _Slip(
        {"attend": lambda p, prefix, x, heads: _attend(p, prefix, x, 1)},
        "There is one head of the full width. n_heads says how many share it.",
    ),
    "not-scaled": _Slip(
        {"attend": lambda *a: _attend(*a, scale=1.0)},
        "The scores of attention are not divided by the root of a head's width.",
    ),
    "heads-interleaved": _Slip(
        {"attend": lambda *a: _attend(*a, split=lambda x, heads: x.unflatten(-1, (-1, heads)).movedim(-1, -3))},
        "The heads are cut the other way: every n_heads-th entry for a head. A head's entries are neighbours.",
    ),
    "query-and-key-exchanged": _Slip(
        {"attend": lambda *a: _attend(*a, order=(1, 0, 2))},
        "Queries and keys have changed places: row i must hold what position i asks.",
    ),
}


def _first_wrong_part(run, at_the_end):
    """Which part is the first to give wrong numbers, beside torch's own: the parts before it are right.

    Args:
        run: `(params, args, note)` runs the oracle, which tells `note` the name of each part, what it is given and what
            it makes of it.
        at_the_end: what to say where all parts are right.
    """

    def broken(probe):
        for trial in [] if probe.has_correct_values else probe.trials:
            config, right = trial.case.init[0], {}
            initial = probe.exercise.initial_parameters(config)
            p = Params({name: sample_parameter(name, value.shape, trial.case.seed) for name, value in initial.items()})
            p.init_args = {"config": config}
            run(p, trial.case.args, lambda name, given, made, right=right: right.setdefault(name, (given, made))[1])
            right.pop("", None)  # the whole is no part
            heard = probe.run(trial.case, parts=list(right)).parts or {}
            for name, (given, made) in right.items():
                if name not in heard or heard[name][0].shape != given.shape:
                    continue
                if not _near(heard[name][0], given):
                    return f"The stream is right up to `{name}`, which is given other numbers than it should be."
                if not _near(heard[name][1], made):
                    return f"`{name}` is the first part that is given the right numbers and returns wrong ones."
            if len(heard) == len(right) and not trial.is_correct(probe.exercise):
                return at_the_end
        return None

    return broken


def _near(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and torch.allclose(a, b, rtol=1e-4, atol=1e-5)


_SMALL = GPTConfig(vocab_size=11, n_positions=7, d_model=6, n_layers=2, n_heads=3, eps=1e-2)
_LONG = GPTConfig(vocab_size=9, n_positions=1030, d_model=4, n_layers=1, n_heads=2, eps=1e-2)
_TINY_EPS = GPTConfig(vocab_size=9, n_positions=5, d_model=4, n_layers=1, n_heads=2, eps=1e-5)

exercise(
    "Block",
    initial_parameters=_block_parameters,
    oracle=_with(),
    cases=lambda rand: [
        # with this seed the exact GELU shows well
        case(rand(2, 7, 6), init=(_SMALL,), seed=6, note="as long as n_positions"),
        case(rand(3, 4, 4), init=(_TINY_EPS,), seed=1),
        case(rand(2, 3, 4) * 0.01, init=(_TINY_EPS,), seed=2, train=True, note="small numbers, in training"),
        case(rand(2, 1, 6), init=(_SMALL,), seed=3),
        # in training, so that what is asked of the others is not asked of so long a text
        case(rand(1, 1030, 4), init=(_LONG,), seed=4, train=True, note="longer than GPT-2's texts, in training"),
    ],
    returns=Float("batch seq d_model"),
    atol=5e-6,
    properties=[
        _NO_DROPOUT,
        _first_wrong_part(
            lambda p, args, note: _block(p, *args, p.init_args["config"], note=note),
            "Every part is given the right numbers and returns the right ones: what is done with the last is wrong.",
        ),
        moves_with_its_module,
        *(
            restrict_to_cases(broken, lambda case: not case.train)  # a block does the same in training
            for broken in (causal(), batch_independent(), remembers_nothing, finite_when_scaled())
        ),
    ],
    misconceptions={name: Wrong(_with(**how), message) for name, (how, message) in _BLOCK_MISTAKES.items()}
    | {
        "context-of-gpt2": Wrong(
            _up_to_1024,
            "The context of attention is 1024 whatever config.n_positions is, so a longer text does not fit. Take it"
            " from config.",
        ),
        "adds-the-first-half-twice": Wrong(
            _with(order=lambda s, attn, mlp, ln_1, ln_2: (s := s + attn(ln_1(s))) + s + mlp(ln_2(s))),
            "The stream is added twice. Each half adds what it found once, to the stream as it is then.",
        ),
    },
    hints=Hints(
        "Two halves of one form: read the stream through a norm, add what was found.",
        "Four parts in the order of the text. In forward the first half uses ln_1 and attn, the second ln_2 and mlp,"
        " on the stream that the first half left.",
        "x becomes x plus attn of ln_1 of x; then the same once more with mlp and ln_2. LayerNorm takes config.eps as"
        " its second argument.",
    ),
)


def _gpt_parameters(config):
    d = config.d_model
    ends = {"wte.weight": torch.zeros(config.vocab_size, d), "wpe.weight": torch.zeros(config.n_positions, d)}
    for i in range(config.n_layers):
        ends |= _parameters(d, f"blocks.{i}.")
    return ends | {f"ln_f.{kind}": torch.zeros(d) for kind in "wb"}


def _gpt(
    place=lambda p, tokens: F.embedding(tokens, p["wte.weight"]) + p["wpe.weight"][: tokens.shape[-1]],
    which=range,
    block=_block,
    last=lambda p, x, eps: _norm(p, "ln_f", x, eps),
    head=lambda p, x: F.linear(x, p["wte.weight"]),
    note=lambda name, given, made: made,
    **within,
):
    """The model with one step replaced; `within` is for its blocks."""

    def answer(p, tokens):
        config = p.init_args["config"]
        x = place(p, tokens)
        for i in which(config.n_layers):
            x = block(p, x, config, f"blocks.{i}.", note, **within)
        eps = within.get("eps", lambda config: config.eps)(config)
        return head(p, note("ln_f", x, last(p, x, eps)))

    return answer


def _future_changes_nothing(probe):
    """Another last token leaves the logits before it as they were."""
    for trial in [] if probe.has_correct_values else probe.trials:
        tokens = trial.case.args[0]
        moved = tokens.clone()
        moved[:, -1] = (moved[:, -1] + 1) % trial.case.init[0].vocab_size
        after = probe.run(replace(trial.case, args=(moved,)))
        if after.failure or trial.yours.value.shape != after.value.shape or trial.yours.value.dim() != 3:
            continue
        if not torch.allclose(trial.yours.value[:, :-1], after.value[:, :-1], atol=1e-4):
            return (
                "The future changes the past: with another last token, earlier positions gave other logits. When the"
                " model writes, that token does not exist yet."
            )
    return None


exercise(
    "GPT",
    initial_parameters=_gpt_parameters,
    oracle=_gpt(),
    cases=lambda rand: [
        case(rand.integers(3, 7, high=11), init=(_SMALL,), note="as long as n_positions"),
        case(rand.integers(2, 4, high=9), init=(_TINY_EPS,), seed=1, train=True, note="in training"),
    ],
    returns=Float("batch seq vocab"),
    atol=2e-6,
    properties=[
        _NO_DROPOUT,
        _first_wrong_part(
            lambda p, args, note: _gpt(note=note)(p, *args),
            "Every part gives the right numbers, `ln_f` the last: what comes after it is wrong. Are the scores made"
            " with `self.wte.weight` as it is now?",
        ),
        _future_changes_nothing,
        moves_with_its_module,
        slopes_agree,
    ],
    misconceptions={
        "no-positions": Wrong(
            _gpt(place=lambda p, tokens: F.embedding(tokens, p["wte.weight"]) + 0 * p["wpe.weight"][0]),
            "The positions never enter: wpe has no part in the result. Add its rows 0, 1, 2 … to the embeddings.",
        ),
        "positions-from-1": Wrong(
            _gpt(
                place=lambda p, tokens: (
                    F.embedding(tokens, p["wte.weight"]) + p["wpe.weight"].roll(-1, 0)[: tokens.shape[-1]]
                )
            ),
            "Every position gets the vector of the next one, as if they were counted from 1. The first row of wpe is"
            " that of position 0.",
        ),
        "positions-of-the-batch": Wrong(
            _gpt(place=lambda p, tokens: F.embedding(tokens, p["wte.weight"]) + p["wpe.weight"][: len(tokens), None]),
            "All positions of a text get one vector, that of the text's place in the batch. Positions run along the"
            " second axis of tokens.",
        ),
        "positions-as-tokens": Wrong(
            _gpt(place=lambda p, tokens: F.embedding(tokens, p["wte.weight"]) + p["wte.weight"][: tokens.shape[-1]]),
            "The vectors of positions are taken from wte, where those of tokens stand. They have a table of their own,"
            " wpe.",
        ),
        "embedding-enlarged": Wrong(
            _gpt(
                place=lambda p, tokens: (
                    F.embedding(tokens, p["wte.weight"]) * p["wte.weight"].shape[1] ** 0.5
                    + p["wpe.weight"][: tokens.shape[-1]]
                )
            ),
            "The embeddings are multiplied by the root of d_model, as in the paper of 2017. GPT-2 takes them as they"
            " are.",
        ),
        "no-final-norm": Wrong(
            _gpt(last=lambda p, x, eps: x + 0 * p["ln_f.w"]),
            "ln_f is made and not used. The blocks have added to the stream; the norm brings it back to one size before"
            " it is compared with the embeddings.",
        ),
        "final-norm-first": Wrong(
            _gpt(
                place=lambda p, tokens: _norm(
                    p,
                    "ln_f",
                    F.embedding(tokens, p["wte.weight"]) + p["wpe.weight"][: tokens.shape[-1]],
                    p.init_args["config"].eps,
                ),
                last=lambda p, x, eps: x,
            ),
            "ln_f stands before the blocks. It comes after the last of them.",
        ),
        "final-norm-every-block": Wrong(
            _gpt(
                block=lambda p, x, config, *how, **within: _norm(
                    p, "ln_f", _block(p, x, config, *how, **within), config.eps
                ),
                last=lambda p, x, eps: x,
            ),
            "ln_f runs after each block, so that the stream itself is normalised every time. It runs once, after the"
            " last.",
        ),
        "head-of-its-own": Wrong(
            _gpt(head=lambda p, x: F.linear(x, p["lm_head.weight"])),
            "There is a head with a weight of its own. GPT-2's head is tied: the scores are dot products with the rows"
            " of wte, and there is no further parameter.",
            initial_parameters=lambda config: (
                _gpt_parameters(config) | {"lm_head.weight": torch.zeros(config.vocab_size, config.d_model)}
            ),
        ),
        "vectors-for-logits": Wrong(
            _gpt(head=lambda p, x: x),
            "These are vectors of d_model numbers. Each is compared with every token's embedding, which gives a score"
            " for each token of the vocabulary.",
        ),
        "probabilities": Wrong(
            _gpt(head=lambda p, x: F.linear(x, p["wte.weight"]).softmax(-1)),
            "These are probabilities: a softmax has run already. The model gives the scores, its logits.",
        ),
        "last-position-only": Wrong(
            _gpt(head=lambda p, x: F.linear(x[:, -1], p["wte.weight"])),
            "Only the last position is returned. In training every position is asked for its next token.",
        ),
        "one-block-for-all": Wrong(
            _gpt(which=lambda n: [0] * n),
            "The same block runs every time. A list made by multiplying one block repeats that one object.",
        ),
        "only-the-first-block": Wrong(
            _gpt(which=lambda n: [0]),
            "Only the first block runs. What a block returns is what the next one reads.",
        ),
        "only-the-last-block": Wrong(
            _gpt(which=lambda n: [n - 1]),
            "What the last block makes of the embeddings is all that is left: is each block fed the embeddings anew?"
            " What a block returns is what the next one reads.",
        ),
        "backwards": Wrong(
            _gpt(which=lambda n: reversed(range(n))),
            "The blocks run from the last to the first.",
        ),
        "stream-added-twice": Wrong(
            _gpt(block=lambda p, x, *how, **within: x + _block(p, x, *how, **within)),
            "The stream is added once more around each block. A block already returns the stream and what it found.",
        ),
        **{
            name: Wrong(_gpt(**how), f"Within the blocks. {message}")
            for name, (how, message) in _BLOCK_MISTAKES.items()
        },
    },
    hints=Hints(
        "Follow a token: what does it become first, what is added, what does it pass, what is it compared with at the"
        " end?",
        "wte of the tokens plus wpe of 0 to seq - 1; the blocks in their order, each fed what the one before returned;"
        " ln_f; then a product with the transposed weight of wte.",
        "torch.arange counts the positions, on the device of the tokens, and their vectors broadcast over the batch."
        " The last line multiplies ln_f of the stream by wte's weight, transposed.",
    ),
)


# --- the checkpoint ----------------------------------------------------------------------------------------


def _drawn(rand, config, prefix="", extras=False, leave_out=(), add=()):
    """A checkpoint with random numbers."""
    made = {name: rand(*shape) for name, shape in shapes(config).items() if name not in leave_out}
    made |= {name: rand(*shape) for name, shape in add}
    if extras:
        n = config.n_positions
        made |= {f"h.{i}.attn.bias": torch.ones(1, 1, n, n).tril() for i in range(config.n_layers)}
        made["lm_head.weight"] = made["wte.weight"].clone()
    return {name if name.startswith("lm_head") else f"{prefix}{name}": value for name, value in made.items()}


def _state(
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
    """`gpt2_state` with one step replaced, by the table of names."""

    def answer(tensors, config):
        found = {name.removeprefix("transformer."): value for name, value in tensors.items()}
        found = {
            n: v for n, v in found.items() if not n.endswith((".attn.bias", ".attn.masked_bias", "lm_head.weight"))
        }
        if {name: list(value.shape) for name, value in found.items()} != shapes(config):
            raise ValueError("it does not fit")
        found = taken_from(tensors, found)
        state = {name: whole(found[name]) for name in ("wte.weight", "wpe.weight")}
        norms = {f"{block}.{i}.ln_{k}": f"h.{i}.ln_{k}" for i in blocks(config.n_layers) for k in (1, 2)}
        for mine, theirs in (norms | {"ln_f": "ln_f"}).items():
            state |= {f"{mine}.{norm(kind)}": found[f"{theirs}.{kind}"] for kind in ("weight", "bias")}
        for i in blocks(config.n_layers):
            for mine, theirs in ((f"attn.{out}", "attn.c_proj"), *((f"mlp.{n}",) * 2 for n in ("c_fc", "c_proj"))):
                name = f"h.{i}.{theirs}"
                state[f"{block}.{i}.{mine}.weight"] = turn(mine, found[f"{name}.weight"])
                state[f"{block}.{i}.{mine}.bias"] = found[f"{name}.bias"]
            three = {kind: cut(found[f"h.{i}.attn.c_attn.{kind}"], config.n_heads) for kind in ("weight", "bias")}
            for part, weight, bias in zip(parts, three["weight"], three["bias"]):
                state[f"{block}.{i}.attn.{part}.weight"] = turn(f"attn.{part}", weight)
                state[f"{block}.{i}.attn.{part}.bias"] = bias
        return state

    return answer


def _cut_by_heads(value, heads):
    """As if each head had its query, key and value side by side."""
    return [piece.flatten(-2) for piece in value.unflatten(-1, (heads, 3, -1)).unbind(-2)]


def _names_fit_the_model(probe):
    """The names are those of the model's parameters, no more and no fewer."""
    for trial in probe.trials:
        yours, wanted = trial.yours.value, trial.expected.value
        if not isinstance(yours, dict) or yours.keys() == wanted.keys():
            continue
        missing, extra = ([n for n in some if n not in other] for some, other in ((wanted, yours), (yours, wanted)))
        lacks = f"has no `{missing[0]}`{f' and lacks {len(missing) - 1} more' * (len(missing) > 1)}" if missing else ""
        close = difflib.get_close_matches(missing[0], map(str, extra), n=1) if missing else []
        name = (close or extra or [""])[0]
        has = f"has a `{name}`, which is no parameter of the model" if extra else ""
        return f"The state {' and '.join(filter(None, (lacks, has)))}. Its names are those of your classes."
    return None


def _from_which_tensor(probe):
    """What the first wrong tensor holds, if it is something of the file."""
    for trial in probe.trials:
        yours, wanted = trial.yours.value, trial.expected.value
        if not isinstance(yours, dict) or yours.keys() != wanted.keys():
            continue
        tensors = {n.removeprefix("transformer."): v for n, v in trial.case.args[0].items()}
        for name, right in wanted.items():
            if not isinstance(yours[name], Tensor) or yours[name].equal(right):
                continue
            for what, piece in _pieces(tensors):
                as_filed = piece.dim() == 2 and not what.endswith("turned") and piece.T.equal(right)
                if piece.equal(yours[name]):
                    if as_filed:
                        return f"`{name}` holds {what} as the file has it, and nn.Linear stores a matrix turned."
                    return f"`{name}` holds {what}, and that is not where its numbers stand in the file."
                if as_filed and piece.flatten().equal(yours[name].flatten()):
                    return (
                        f"`{name}` holds the numbers of {what}, dealt out anew row by row. A reshape has the right"
                        " shape and is no transpose."
                    )
            return f"`{name}` is the first tensor with other numbers than it should have; those before it are right."
    return None


def _pieces(tensors):
    """Every tensor of a checkpoint, whole and in thirds, as it is and turned, with what it is called."""
    for name, value in tensors.items():
        whole = [(f"`{name}`", value)]
        if value.dim() and "c_attn" in name:
            thirds = zip(("first", "second", "last"), value.chunk(3, dim=-1))
            whole += [(f"the {which} third of `{name}`", piece) for which, piece in thirds]
        yield from whole
        yield from ((f"{what}, turned", piece.T) for what, piece in whole if piece.dim() == 2)


_STATE = GPTConfig(vocab_size=5, n_positions=3, d_model=6, n_layers=2, n_heads=2)
_STATE_WIDE = GPTConfig(vocab_size=7, n_positions=4, d_model=8, n_layers=3, n_heads=4)

exercise(
    "gpt2_state",
    oracle=_state(),
    cases=lambda rand: [
        case(_drawn(rand, _STATE), _STATE),
        case(_drawn(rand, _STATE_WIDE, "transformer.", extras=True), _STATE_WIDE, note="names with a prefix"),
        case(_drawn(rand, _STATE, leave_out=["h.1.mlp.c_fc.bias"]), _STATE, note="a tensor is missing"),
        case(_drawn(rand, _STATE, add=[("h.2.ln_1.weight", (6,))]), _STATE, note="with a tensor too many"),
        case(_drawn(rand, _STATE, add=[("wpe.weight", (4, 6))]), _STATE, note="with a tensor of another shape"),
    ],
    differentiable=False,
    properties=[_names_fit_the_model, _from_which_tensor],
    misconceptions={
        "not-turned": Wrong(
            _state(turn=lambda name, value: value),
            "No matrix was turned. Conv1D stores [in, out], nn.Linear [out, in]; the square ones fit both ways, and"
            " only c_fc and the MLP's c_proj would complain.",
        ),
        "attention-not-turned": Wrong(
            _state(turn=lambda name, value: value if name.startswith("attn") else value.T),
            "The matrices of attention were not turned. They are square, so that they fit both ways and nothing"
            " complains; Conv1D stores them as [in, out] like those of the MLP.",
        ),
        "out_proj-not-turned": Wrong(
            _state(turn=lambda name, value: value if name == "attn.out_proj" else value.T),
            "out_proj was not turned. It is square, so that it fits both ways; it is a Conv1D like the others.",
        ),
        "c_attn-not-turned": Wrong(
            _state(turn=lambda name, value: value if name.startswith("attn.W") else value.T),
            "The three pieces of c_attn were not turned. Each is square, so that it fits both ways; they are [in, out]"
            " like the whole.",
        ),
        "keys-first": Wrong(
            _state(parts=("W_key", "W_query", "W_value")),
            "The first third of c_attn went to the keys and the second to the queries. The order is queries, keys,"
            " values.",
        ),
        "values-first": Wrong(
            _state(parts=("W_value", "W_key", "W_query")),
            "The first third of c_attn went to the values. The order is queries, keys, values.",
        ),
        "values-second": Wrong(
            _state(parts=("W_query", "W_value", "W_key")),
            "Keys and values have changed places. The order in c_attn is queries, keys, values.",
        ),
        "cut-by-heads": Wrong(
            _state(cut=_cut_by_heads),
            "c_attn was cut as if each head had its query, key and value side by side. All queries come first, head"
            " after head, then all keys, then all values.",
        ),
        "cut-in-turn": Wrong(
            _state(cut=lambda value, heads: [value[..., i::3] for i in range(3)]),
            "Every third column was taken. The three matrices stand side by side in c_attn, each as one block of"
            " columns.",
        ),
        "rows-cut": Wrong(
            _state(cut=lambda value, heads: value.chunk(3)),
            "c_attn's weight was cut along its rows, which are its inputs. Queries, keys and values stand side by side:"
            " cut the columns.",
        ),
        "only-the-first-block": Wrong(
            _state(blocks=lambda n: range(1)),
            "Only block 0 is there. Each of the config.n_layers blocks has tensors of its own.",
        ),
        "embedding-turned": Wrong(
            _state(whole=lambda value: value.T),
            "wte and wpe were turned, too. An embedding has a row for each token in the file as in your model.",
        ),
        "norms-by-their-names": Wrong(
            _state(norm=lambda kind: kind),
            "The norms' parameters still have the file's names. In your LayerNorm weight is called w, and bias b.",
        ),
        "out_proj-by-its-name": Wrong(
            _state(out="c_proj"),
            "attn.c_proj has kept its name. In your MultiHeadAttention that layer is out_proj; the MLP's c_proj stays.",
        ),
        "from-the-file-as-it-came": Wrong(
            _state(taken_from=lambda tensors, found: tensors),
            "The tensors are taken from `tensors`, whose names may have a prefix, `transformer.`: with it, no tensor is"
            " found. The names in `found` have no prefix.",
        ),
        "blocks-by-their-names": Wrong(
            _state(block="h"),
            "The blocks are still called h. In your model they are blocks.",
        ),
    },
    hints=Hints(
        "Take one name of the file after the other. What is it called in your model, and has its tensor to be turned,"
        " or cut?",
        "Five kinds: embeddings (as they are), norms (w and b), c_attn (cut in three, the weights turned), attn.c_proj"
        " (out_proj, turned), c_fc and mlp.c_proj (turned). Biases are never turned.",
        "A loop over config.n_layers with two prefixes, one for the file's names and one for yours. chunk(3, dim=-1)"
        " cuts c_attn's weight and its bias alike; .T turns a piece.",
    ),
)


# --- keys and values kept ----------------------------------------------------------------------------------


def _kept(
    position=lambda seq, step: seq + step,
    remembers=lambda old, new, step: new if old is None else torch.cat((old, new), dim=-2),
    keeps=lambda joined, new: joined,
    shared=False,
    scale=None,
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
    """`generate_cached` with one step replaced, on the model's parameters alone; `within` is for its blocks."""

    def answer(model, tokens, n_tokens):
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
                root = k.shape[-1] ** -0.5 if scale is None else scale(c)
                return _project(p, f"{prefix}out_proj", _merge(attention_weights(q, k, mask, scale=root) @ v))

            for i in range(c.n_layers):
                x = _block(p, x, c, f"blocks.{i}.", attend=attend, **within)
            logits = F.linear(final(p, "ln_f", x[:, -1], c.eps), p["wte.weight"])
            new = pick(logits)[:, None]
            if ends(new, c):
                break
            text = torch.cat((text, new), dim=1)
            new = feed(new, text)
        return result(text, seq)

    return answer


def _by_the_whole(model, tokens, n_tokens):
    """The oracle: every position of the text again for every token, with torch's own functions."""
    p = Params(dict(model.named_parameters()))
    p.init_args = {"config": model.config}
    for _ in range(n_tokens):
        tokens = torch.cat((tokens, _gpt()(p, tokens)[:, -1:].argmax(-1)), dim=1)
    return tokens


def _keeps_keys_and_values(probe):
    """After the prompt one position at a time goes through the model."""
    for trial in probe.trials[:1]:  # what is kept hangs on no numbers
        model, tokens, n_tokens = trial.case.args
        held = dict(model.named_parameters())
        strict = FakeGPT(model.config, lambda name, shape, held=held: held[name], strict=True)
        failure = probe.run(replace(trial.case, args=(strict, tokens, n_tokens))).failure
        if failure and REFUSAL_PHRASE in failure.text:
            return (
                f"The tokens are right, and {failure.text}. Keys and values of earlier positions are to be kept, so"
                " that after the prompt only the new token goes through the model."
            )
    return None


_MANY = 64  # prompts with which the pass of a prompt is looked at alone


def _prompt_pass_is_wrong(probe):
    """Whether already the first new token of some prompt is not the whole model's, in a vocabulary so large that a
    slightly wrong stream is nearest to another token."""
    config = replace(_WRITING, vocab_size=4001)
    model = FakeGPT(config, lambda name, shape: sample_parameter(name, shape, 1))
    prompts = torch.randint(config.vocab_size, (_MANY, 5), generator=torch.Generator().manual_seed(0))
    seen, wanted = probe.run(case(model, prompts, 1)), _by_the_whole(model, prompts, 1)
    if seen.failure or not isinstance(seen.value, Tensor) or seen.value.shape != wanted.shape:
        return None
    wrong = int((seen.value != wanted)[:, -1].sum())
    if not wrong:
        return None
    return (
        f"The pass of the prompt is wrong already: of {_MANY} prompts {wrong} {'is' if wrong == 1 else 'are'} followed"
        " by another token than model(tokens) would choose. Each pass is to compute what the whole model does: compare"
        " it with your GPT's forward, and what it does with a block with your Block's."
    )


def _first_wrong_pass(probe):
    """How far it writes what the whole model would."""
    if not probe.has_correct_values and (message := _prompt_pass_is_wrong(probe)):
        return message
    for trial in probe.trials:
        tokens = trial.case.args[1]
        yours, wanted = trial.yours.value, trial.expected.value
        if not isinstance(yours, Tensor) or yours.shape != wanted.shape or yours.equal(wanted):
            continue
        seq = tokens.shape[1]
        first = int((yours != wanted).any(0).nonzero()[0]) - seq
        if first < 0:
            return "The tokens that were given are not the beginning of the result."
        if first == 0:
            return (
                "The very first new token is not the one that model(tokens) would choose, so the pass of the prompt is"
                " wrong already: compare it with your GPT's forward, part by part."
            )
        passed = "the prompt's pass is right" if first == 1 else f"the first {first} passes give the right tokens"
        return (
            f"In a text of {seq} tokens {passed}, and pass {first + 1} is the first to give another one than"
            " model(tokens) would. Look at what a single new token is given then: its position, the keys and values"
            " that are kept, and its row of the mask."
        )
    return None


_GREEDY = draws_nothing(
    "Random numbers are drawn on the way: is the next token sampled? Greedily means to take the most likely one."
)


_ENDS_AT_0 = (
    "Writing ends when token 0 comes. That was lesson 08's sign to stop; in GPT-2 it is an exclamation mark. n_tokens"
    " tokens are to be written, whichever come."
)
_ENDS_AT_THE_LAST = (
    "Writing ends when the last token of the vocabulary comes, with which GPT-2 ends a text. n_tokens tokens are to be"
    " written, whichever come."
)

_WRITING = GPTConfig(vocab_size=37, n_positions=14, d_model=12, n_layers=2, n_heads=3, eps=1e-3)
_DEEPER = GPTConfig(vocab_size=29, n_positions=7, d_model=8, n_layers=3, n_heads=2, eps=1e-3)
_SHALLOW = replace(_DEEPER, n_layers=1)


@functools.lru_cache  # whoever runs it gets a copy
def _writer(config, seed):
    """A model in which much hangs on positions and attention, so that a slip in either soon changes a token."""

    def fill(name, shape):
        loud = 3.0 if name.startswith("wpe") or ".attn." in name else 1.0
        return sample_parameter(name, shape, seed) * loud

    return FakeGPT(config, fill)


# Token by token: one of a text, then what is said at positions 1, 2, …: 0 and the last token are among them. GPT-2 ends
# a text with its last token, so this model has as many as GPT-2.
_PLAN = (7, 300, 0, 300, 50256, 7)
_PLANNED = GPTConfig(vocab_size=50257, n_positions=len(_PLAN) + 1, d_model=4, n_layers=1, n_heads=2, eps=1e-3)


def _planned(name, shape):
    """Parameters of a model in which the position alone decides: its vector is that of the token that is due."""
    rows = dict(zip(dict.fromkeys(_PLAN), torch.eye(shape[-1])))
    made = torch.zeros(shape)
    if name == "wte.weight":
        made[list(rows)] = torch.stack(list(rows.values()))
    elif name == "wpe.weight":
        made[: len(_PLAN)] = 4 * torch.stack([rows[token] for token in _PLAN])
    elif name.endswith(".w"):
        made += 1
    return made


@functools.lru_cache
def _planner():
    return FakeGPT(_PLANNED, _planned)


exercise(
    "generate_cached",
    oracle=_by_the_whole,
    cases=lambda rand: [
        case(_writer(_WRITING, 1), rand.integers(6, 5, high=37), 6),
        case(_writer(_DEEPER, 2), rand.integers(5, 1, high=29), 6, note="from a single token up to the last position"),
        case(_writer(_SHALLOW, 4), rand.integers(2, 4, high=29), 1, note="for one new token"),
        case(_writer(_SHALLOW, 5), rand.integers(2, 3, high=29), 0, note="for no new token"),
        case(
            _planner(), rand.integers(3, 2, high=50257), 5, note="with a model that says its first and its last token"
        ),
    ],
    returns=Int("batch longer"),
    differentiable=False,
    properties=[_GREEDY, _first_wrong_pass, _keeps_keys_and_values],
    misconceptions={
        "position-0-again": Wrong(
            _kept(position=lambda seq, step: 0),
            "Every new token gets position 0, as the only token of its call. Its position is the number of tokens"
            " before it.",
        ),
        "position-stands-still": Wrong(
            _kept(position=lambda seq, step: seq),
            "Every new token gets the position behind the prompt. It moves on by one with each token.",
        ),
        "position-one-late": Wrong(
            _kept(position=lambda seq, step: seq + step + 1),
            "Every new token gets the position behind its own. The first one after a prompt of seq tokens has position"
            " seq, for the prompt's are 0 to seq - 1.",
        ),
        "position-one-early": Wrong(
            _kept(position=lambda seq, step: seq + step - 1),
            "Every new token gets the position of the token before it. The first one after a prompt of seq tokens has"
            " position seq.",
        ),
        "position-counts-the-passes": Wrong(
            _kept(position=lambda seq, step: step + 1),
            "The first new token gets position 1, whatever the length of the prompt. What went through the model before"
            " is the whole prompt: the position grows by its length first.",
        ),
        "sees-the-first-only": Wrong(
            _kept(later_mask=lambda n: (torch.arange(n) == 0)[None]),
            "After the prompt, a new token may see position 0 only: its mask is the first row of a triangle. It stands"
            " last, and may see everything that is kept.",
        ),
        "prompt-forgotten": Wrong(
            _kept(keeps=lambda joined, new: new),
            "What was kept is replaced by the newest keys and values, so that from the third pass on the prompt is"
            " forgotten. Keep the joined ones.",
        ),
        "not-scaled": Wrong(
            _kept(scale=lambda c: 1.0),
            "The scores are not divided by the root of a head's width.",
        ),
        "root-of-d_model": Wrong(
            _kept(scale=lambda c: c.d_model**-0.5),
            "The scores are divided by the root of d_model. It is the width of a head that counts.",
        ),
        "nothing-kept": Wrong(
            _kept(remembers=lambda old, new, step: new),
            "After the prompt a new token sees only itself: earlier keys and values are not used. Append the new ones"
            " to those that are kept.",
        ),
        "only-the-prompt-kept": Wrong(
            _kept(
                remembers=lambda old, new, step: (
                    new if old is None else torch.cat((old[..., : old.shape[-2] - (step > 1), :], new), dim=-2)
                )
            ),
            "A new token sees the prompt and itself, and not the tokens that were written in between: what is kept has"
            " to grow with each of them.",
        ),
        "prompt-without-a-mask": Wrong(
            _kept(prompt_mask=lambda n: None),
            "The prompt is read without a causal mask, so that its positions see what comes after them. They are to"
            " compute what they would in model(tokens).",
        ),
        "one-cache-for-all-blocks": Wrong(
            _kept(shared=True, prompt_mask=lambda n: None),
            "All blocks share one store of keys and values. Each block has its own.",
        ),
        "no-final-norm": Wrong(
            _kept(final=lambda p, name, x, eps: x),
            "ln_f is missing before the stream is compared with the embeddings.",
        ),
        "first-token-again": Wrong(
            _kept(feed=lambda best, text: text[:, :1]),
            "The first token of the text is fed again and again. What goes in is the one that was just chosen.",
        ),
        "only-the-new": Wrong(
            _kept(result=lambda text, seq: text[:, seq:]),
            "Only the new tokens come back. The result is the whole text: what was given, then what was added.",
        ),
        "one-too-many": Wrong(
            _kept(rounds=lambda n: n + 1),
            "There is one token too many. n_tokens tokens are n_tokens rounds, the prompt's own among them.",
        ),
        "one-too-few": Wrong(
            _kept(rounds=lambda n: max(n - 1, 0)),
            "There is one token too few: what the prompt's own round gives is the first new token.",
        ),
        "first-text-only": Wrong(
            _kept(pick=lambda logits: logits[:1].argmax(-1).expand(len(logits))),
            "Every text of the batch is continued with the first one's token. Each row chooses its own.",
        ),
        "least-likely": Wrong(
            _kept(pick=lambda logits: logits.argmin(-1)),
            "The least likely token is taken.",
        ),
        "ends-at-0": Wrong(_kept(ends=lambda new, c: bool((new == 0).all())), _ENDS_AT_0),
        "ends-at-the-last-token": Wrong(
            _kept(ends=lambda new, c: bool((new == c.vocab_size - 1).all())), _ENDS_AT_THE_LAST
        ),
        "ends-at-the-last-token-of-one-text": Wrong(
            _kept(ends=lambda new, c: bool((new == c.vocab_size - 1).any())), _ENDS_AT_THE_LAST
        ),
        **{
            name: Wrong(_kept(order=how["order"]), f"Within the blocks. {message}")
            for name, (how, message) in _BLOCK_MISTAKES.items()
            if "order" in how and name != "no-sums"  # which writes the same as no-second-sum
        },
    },
    hints=Hints(
        "Write the forward pass of the whole model once, for `new` tokens at `positions`. What has to be remembered"
        " between two calls, and by whom?",
        "For each block: queries, keys and values of the new tokens, split into heads; keys and values appended to"
        " those that are kept, along the positions; scores, mask, softmax, mix, merge, out_proj; then the block's MLP.",
        "A new token's row of the mask shows everything that is kept; the prompt's is causal: compare the positions of"
        " the new tokens with 0 to the end. torch.cat(..., dim=2) appends. Afterwards ln_f of the last position, the"
        " product with wte.weight.T, argmax.",
    ),
)
