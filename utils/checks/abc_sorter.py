"""Exercises of lesson 09: attention whose Q/K/V weights are gated by factor pairs, its rate, and greedy sorting."""

import functools
import math
from dataclasses import replace

import torch
from torch import nn
from torch.nn import functional as F

from utils.checks._attention import (
    causal_mask,
    divided_by_width_message,
    fix_arguments,
    future_mask,
    make_causal_attention,
    multiplied_by_root_message,
    strictly_causal_mask,
    torch_attention,
)
from utils.feedback.exercise import Float, Hints, Wrong, case, exercise, sample_parameter
from utils.feedback.properties import (
    batch_independent,
    causal,
    draws_nothing,
    finite_when_scaled,
    moves_with_its_module,
    remembers_nothing,
    rows_sum_to_one,
)
from utils.models.abc_sorter import SEP, VOCAB, encode
from utils.test_doubles.abc_sorter import FakeSorter

_NAMES = ("q", "k", "v")


def _gate(A, B, temp=1.0):
    return F.softmax(torch.einsum("...er,...rd->...ed", A, B) / temp, dim=-1)


def _weight(gate=_gate, join=torch.mul):
    """An answer from `gate(A, B, temp)` and how it meets the base."""

    def answer(A, B, base=None, temp=1.0):
        made = gate(A, B, temp)
        return made if base is None else join(made, base)

    return answer


_gated = _weight()


def _gate_by_hand(A, B, temp):
    scores = A @ B / temp
    powers = (scores - scores.amax(-1, keepdim=True)).exp()
    return powers / powers.sum(-1, keepdim=True)


exercise(
    "make_weight",
    oracle=_gated,
    cases=lambda rand: [
        case(rand(2, 6, 3), rand(2, 3, 5)),
        case(rand(2, 4, 2), rand(2, 2, 3), base=rand(2, 4, 3)),
        case(rand(5, 2), rand(2, 4), base=rand(5, 4), temp=0.5),
        case(rand(3, 4, 6), rand(3, 6, 2), base=rand(3, 4, 2), temp=2.5),
        case(rand(1, 3, 1), rand(1, 1, 2), base=torch.zeros(1, 3, 2), note="with a base of zeros"),
        case(100 * rand(3, 2).abs(), 3 * rand(2, 4).abs(), note="with large numbers"),
    ],
    returns=Float("... embed_dim d_head"),
    differentiable=True,
    properties=[finite_when_scaled()],
    misconceptions={
        "clamped": Wrong(
            _weight(lambda A, B, temp: F.softmax((A @ B / temp).clamp(-50, 50), dim=-1)),
            "The scores are cut off before exp. Nothing overflows, and two large scores become equal, however far apart"
            " they were.",
        ),
        "axis-from-the-front": Wrong(
            _weight(lambda A, B, temp: F.softmax(A @ B / temp, dim=1)),
            "The softmax runs along axis 1. That is the last one of a single matrix, and with heads in front it is the"
            " entries of the input. The outputs are always the last axis, so count from the end.",
        ),
        "first-axis": Wrong(
            _weight(lambda A, B, temp: F.softmax(A @ B / temp, dim=0)),
            "The softmax runs along axis 0, so that with heads in front the heads compete with each other. It is the"
            " outputs, along the last axis, that share one unit.",
        ),
        "log-softmax": Wrong(
            _weight(lambda A, B, temp: F.log_softmax(A @ B / temp, dim=-1)),
            "These are logarithms of shares, all of them negative. A gate is the share itself, between 0 and 1.",
        ),
        "base-divided": Wrong(
            _weight(join=lambda gate, base: base / gate),
            "The base is divided by the gate, so what should be shut comes out largest. A gate near 0 must let next to"
            " nothing pass: multiply.",
        ),
        "gate-unused": Wrong(
            _weight(join=lambda gate, base: base),
            "Where there is a base it comes out as it went in, and the gate has no part in it. The gate decides how"
            " much of each entry passes.",
        ),
        "wrong-axis": Wrong(
            _weight(lambda A, B, temp: F.softmax(A @ B / temp, dim=-2)),
            "The softmax ran down the columns: each column of the gate sums to one. A row belongs to one entry of the"
            " input, and it is the row that shares one unit among the outputs.",
        ),
        "no-softmax": Wrong(
            _weight(lambda A, B, temp: A @ B / temp),
            "This is the product of the factors without a softmax, so a gate can be negative and turn the sign of what"
            " it lets through. A gate is a share between 0 and 1.",
        ),
        "sigmoid": Wrong(
            _weight(lambda A, B, temp: torch.sigmoid(A @ B / temp)),
            "A sigmoid opens each gate by itself, so a row may sum to anything. In a softmax the outputs compete: what"
            " one gains, the others of its row lose.",
        ),
        "base-added": Wrong(
            _weight(join=torch.add),
            "The base is added to the gate. A gate decides how much of the base passes, so it multiplies.",
        ),
        "base-ignored": Wrong(
            _weight(join=lambda gate, base: gate),
            "The base is not used: this is the strict variant whatever is passed. When there is a base, the gate"
            " multiplies it entry by entry.",
        ),
        "zeros-count-as-none": Wrong(
            _weight(join=lambda gate, base: gate * base if base.any() else gate),
            "A base of zeros is taken for no base, and the gate comes back. Zero times the gate is zero; there is no"
            " base only where it is None.",
        ),
        "softmax-after-the-base": Wrong(
            lambda A, B, base=None, temp=1.0: F.softmax(A @ B / temp * (1 if base is None else base), dim=-1),
            "The base went in before the softmax, so the result is positive whatever the base is. Make the gate first"
            " and multiply afterwards: the sign must come from the base.",
        ),
        "temperature-multiplied": Wrong(
            _weight(lambda A, B, temp: _gate(A, B, 1 / temp)),
            "You multiplied by the temperature. A high temperature must make the gate softer, so it divides.",
        ),
        "temperature-twice": Wrong(
            _weight(lambda A, B, temp: _gate(A, B, temp**2)),
            "The temperature divides twice, as if each factor had one of its own. It divides their product, once.",
        ),
        "root-of-the-rank": Wrong(
            _weight(lambda A, B, temp: _gate(A, B, temp * A.shape[-1] ** 0.5)),
            "The product is also divided by the root of the rank, as attention scores are by that of their width. Here"
            " the temperature is all that divides.",
        ),
        "temperature-ignored": Wrong(
            _weight(lambda A, B, temp: _gate(A, B)),
            "The temperature is not used. It divides the product of the factors before the softmax.",
        ),
        "temperature-after-the-softmax": Wrong(
            _weight(lambda A, B, temp: _gate(A, B) / temp),
            "The shares themselves are divided by the temperature, so a row no longer sums to one. It divides the"
            " product of the factors, before the softmax, and decides how sharp that is.",
        ),
        "softmax-of-each-factor": Wrong(
            _weight(lambda A, B, temp: F.softmax(A / temp, -1) @ F.softmax(B / temp, -1)),
            "Each factor went through a softmax of its own, and then they were multiplied. Rows sum to one this way"
            " too, but every row is now a mix of the same few rows of B: the gate can hardly be sharp. The softmax"
            " comes after the product.",
        ),
    },
    equivalent={"by-hand": _weight(_gate_by_hand)},
    hints=Hints(
        "Two steps: a table of shares from A and B, then, if there is a base, a product entry by entry.",
        "A @ B has the shape of the weight. Divide by temp, and let softmax turn each row into shares.",
        "softmax along dim -1 of A @ B / temp. That is the gate, and the result where there is no base; where there is"
        " one, multiply the two.",
    ),
)


def _parameters(embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
    """The parameters of a DeepQKVAttention, in the order in which the lesson names them."""
    d_head = embed_dim // num_heads
    made = {}
    for n in _NAMES:
        made[f"{n}A"] = torch.empty(num_heads, embed_dim, rank)
        made[f"{n}B"] = torch.empty(num_heads, rank, d_head)
        if not strict:
            made[f"{n}_base"] = torch.empty(num_heads, embed_dim, d_head)
    made["o.weight"] = torch.empty(embed_dim, embed_dim)
    return {name: nn.init.normal_(value, std=0.5) for name, value in made.items()}


def _qkv(p, x, weight=_gated):
    return [torch.einsum("bse,hed->bhsd", x, weight(p[f"{n}A"], p[f"{n}B"], p.get(f"{n}_base"))) for n in _NAMES]


def _ungated(A, B, base=None):
    return A @ B if base is None else base


def _output(p, y):
    return F.linear(y, p["o.weight"])


def _answer(
    qkv=_qkv,
    merge=lambda y: y.transpose(1, 2).flatten(2),
    out=_output,
    empty=0.0,
    transform_weights=lambda p, weights, mask: weights,
    **how,
):
    """A forward pass with one step replaced. `empty` is what stands for the weights of a row in which all is hidden."""
    return make_causal_attention(
        qkv,
        transform_weights=lambda p, weights, mask: transform_weights(p, weights.nan_to_num(empty), mask),
        out=lambda p, mixed: out(p, merge(mixed)),
        **how,
    )


def _oracle(p, x, return_weights=False):
    q, k, v = _qkv(p, x)
    y = _output(p, torch_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape))
    return (y, torch_attention(q, k, is_causal=True)) if return_weights else y


def _without_bases(p):
    return {name: value for name, value in p.items() if not name.endswith("_base")}


def _close(a, b):
    return isinstance(a, torch.Tensor) and a.shape == b.shape and torch.allclose(a.detach(), b, atol=1e-4)


def _temperature(probe):
    """`temp` reaches the gates: seen only by building the module with another one."""
    first = probe.trials[0]
    plain = {
        name: sample_parameter(name, shape, first.case.seed) for name, shape in (first.yours.parameters or {}).items()
    }
    if (
        first.yours.failure
        or set(plain) != set(_parameters(*first.case.init))
        or not _close(first.yours.value, _oracle(plain, *first.case.args))
    ):
        return None  # wrong at temp=1 already: that has words of its own
    case = replace(first.case, init={"embed_dim": 6, "num_heads": 2, "context_length": 7, "temp": 0.5})
    seen = probe.run(case)
    if seen.failure:
        return None
    params = {name: sample_parameter(name, shape, case.seed) for name, shape in seen.parameters.items()}
    hot = {name: value * 2 if name in ("qA", "kA", "vA") else value for name, value in params.items()}
    if _close(seen.value, _oracle(hot, *case.args)):
        return None
    if _close(seen.value, _oracle(params, *case.args)):
        return (
            "temp changes nothing: with temp=0.5 the result is the same as with 1. Keep it in __init__ and hand it to"
            " make_weight, for all three weights."
        )
    return (
        "With temp=0.5 the result is not what gates of that temperature give. The same temp goes into all three"
        " weights, once."
    )


def _starts_somewhere(probe):
    """Numbers are drawn at the start: finite, other ones with another seed, the same with the same."""
    x = torch.zeros(1, 2, 6)
    made = [probe.run(case(x, init=(6, 2, 7), fill=False, seed=seed), state=True) for seed in (1, 1, 2)]
    for name in made[0].parameters or ():
        first, again, other = (seen.state[name] for seen in made)
        if not first.isfinite().all() or torch.equal(first, other) or not torch.equal(first, again):
            return (
                f"`{name}` is not drawn when the object is made: it starts with what happened to be in memory, or"
                " always with the same numbers. Fill it with small random ones."
            )
        if first.abs().mean() > 3:
            return (
                f"`{name}` starts with numbers of about {float(first.abs().mean()):.3g}. Start small: of large numbers"
                " the softmax makes gates that are wide open or shut before anything is learnt."
            )
    return None


def _of(*places):
    """Asks a property of these trials only: each asks the answer to be built and run several times."""

    def chosen(asked):
        @functools.wraps(asked)
        def broken(probe):
            return asked(replace(probe, trials=[probe.trials[i] for i in places]))

        return broken

    return chosen


def _explaining(asked):
    """Asks a property of wrong numbers only: right ones, beside other numbers, have it."""

    @functools.wraps(asked)
    def broken(probe):
        return None if probe.has_correct_values else asked(probe)

    return broken


def _made_anew(probe):
    """The weights are made from what A, B and the bases hold now."""
    trial = probe.trials[0]
    used = (
        None
        if probe.has_correct_values
        else probe.runner.run_after_earlier_case(trial.case, earlier=replace(trial.case, seed=100))
    )
    if used is None or used.failure or trial.yours.failure or _close(used.value, trial.yours.value):
        return None
    return (
        "When its parameters change, the result does not follow: something that was made of them is kept, in __init__"
        " or in the first call. Training changes them at every step, so make the weights in forward, each time."
    )


_STRICT = {"embed_dim": 6, "num_heads": 3, "context_length": 5, "rank": 2, "strict": True}

exercise(
    "DeepQKVAttention",
    initial_parameters=_parameters,
    oracle=_oracle,
    cases=lambda rand: [
        case(rand(3, 4, 6), init=(6, 2, 7)),
        case(rand(2, 5, 6), init=_STRICT, seed=1, return_weights=True),
        case(rand(1, 3, 8), init=(8, 4, 3), seed=2, train=True, return_weights=True, note="in training"),
    ],
    returns=Float("batch seq embed_dim"),
    properties=[
        _made_anew,
        _of(0)(causal()),
        _explaining(batch_independent()),
        rows_sum_to_one(part=1),
        _of(1, 2)(moves_with_its_module),
        _of(0)(remembers_nothing),
        _temperature,
        _starts_somewhere,
        _of(0)(finite_when_scaled()),
    ],
    misconceptions={
        "sees-the-future": Wrong(
            _answer(masked_value=None),
            "Nothing is masked: while the model writes the first sorted letter, it could read the other two. In"
            " training the answer stands in the sequence, and a position may look back only.",
        ),
        "masked-after-the-softmax": Wrong(
            _answer(masked_value=None, transform_weights=lambda p, weights, mask: weights * mask),
            "The future is hidden after the softmax. It has taken its share by then, so that the rows no longer sum to"
            " one, and a later token changes the earlier weights: give its score minus infinity before the softmax.",
        ),
        "mirror-image": Wrong(
            _answer(make_mask=future_mask),
            "The mask is the mirror image: each position sees itself and what comes after it. Rows ask, and may look"
            " back.",
        ),
        "future-alone": Wrong(
            _answer(make_mask=lambda n: ~causal_mask(n), empty=torch.nan),
            "The mask is turned round: what may be seen was hidden, so a position sees the future alone, and the last"
            " one, which sees nothing, is nan.",
        ),
        "blind-to-itself": Wrong(
            _answer(make_mask=strictly_causal_mask, empty=torch.nan),
            "A position does not see itself, so the first one sees nothing, and a softmax over nothing is nan. The"
            " diagonal belongs to what may be seen.",
        ),
        "not-scaled": Wrong(
            _answer(scale=lambda d_head, embed_dim: 1.0),
            "The scores are not divided by the root of the head's width.",
        ),
        "multiplied": Wrong(
            _answer(scale=lambda d_head, embed_dim: d_head**0.5), multiplied_by_root_message("the head's width")
        ),
        "divided-by-the-width": Wrong(
            _answer(scale=lambda d_head, embed_dim: 1 / d_head), divided_by_width_message("the head's width")
        ),
        "root-of-embed_dim": Wrong(
            _answer(scale=lambda d_head, embed_dim: embed_dim**-0.5),
            "You divided by the root of embed_dim. A head's dot product runs over embed_dim / num_heads entries, and"
            " their number is what counts.",
        ),
        "wrong-axis": Wrong(
            _answer(axis=-2),
            "The softmax ran down the columns. A row belongs to the position that asks.",
        ),
        "heads-run-together": Wrong(
            _answer(merge=lambda y: y.reshape(y.shape[0], y.shape[2], -1)),
            "The heads were merged without moving the head axis behind the positions first: reshape then strings"
            " together positions of one head. Each position must keep its own entries from every head.",
        ),
        "no-gate": Wrong(
            _answer(qkv=lambda p, x: _qkv(p, x, _ungated)),
            "The weights are the base alone, and the factors do nothing. Each weight is made by make_weight, from A, B"
            " and the base.",
        ),
        "values-not-gated": Wrong(
            _answer(qkv=lambda p, x: [*_qkv(p, x)[:2], _qkv(p, x, _ungated)[2]]),
            "Queries and keys are made with gated weights, the values are not. All three weights come from"
            " make_weight.",
        ),
        "one-pair-for-all": Wrong(
            _answer(qkv=lambda p, x: _qkv({**p, **{f"{n}{half}": p[f"q{half}"] for n in "kv" for half in "AB"}}, x)),
            "Keys and values are made with the queries' factors. Each of the three has a pair of its own.",
        ),
        "output-layer-forgotten": Wrong(
            _answer(out=lambda p, y: y),
            "The heads are merged and returned without the output layer o. It is what lets the heads' results mix.",
        ),
        "query-and-key-swapped": Wrong(
            _answer(order=(1, 0, 2)),
            "Queries and keys have changed places. Row i holds what position i asks.",
        ),
        "a-base-in-the-strict-variant": Wrong(
            _oracle,
            "There is a base although strict is True. The strict variant has nothing but the factors: its weights are"
            " the gates themselves.",
            initial_parameters=fix_arguments(_parameters, strict=False),
        ),
        "an-unused-base-in-the-strict-variant": Wrong(
            lambda p, *given, **options: _oracle(_without_bases(p) if p.init_args["strict"] else p, *given, **options),
            "There are bases although strict is True. Nothing uses them, and still they are parameters: the strict"
            " variant has the factors alone.",
            initial_parameters=fix_arguments(_parameters, strict=False),
        ),
        "never-a-base": Wrong(
            _oracle,
            "There is no base even when strict is False. Without one, every weight lies between 0 and 1 and each row"
            " sums to one.",
            initial_parameters=fix_arguments(_parameters, strict=True),
        ),
        "a-bias-in-the-output-layer": Wrong(
            _oracle,
            "The output layer has a bias: nn.Linear adds one unless it is told not to. The sorter has 36 parameters"
            " there, 6 × 6.",
            initial_parameters=lambda embed_dim, *rest, **more: {
                **_parameters(embed_dim, *rest, **more),
                "o.bias": torch.zeros(embed_dim),
            },
        ),
    },
    hints=Hints(
        "Nothing but the making of the three weights is new. The rest is lesson 05: heads, mask, softmax, mix, merge,"
        " output layer.",
        "A weight has the shape [heads, embed_dim, d_head], so x [batch, seq, embed_dim] times it should give [batch,"
        " heads, seq, d_head]: an einsum, or x with an axis for the heads.",
        'For each of q, k, v: torch.einsum("bse,hed->bhsd", x, weight). Scores: q @ k transposed over the root of'
        " d_head; -inf where the mask is False; softmax; @ v; then transpose(1, 2), flatten(2), and o.",
    ),
)


def _rate(step, steps, base_lr, warmup_steps):
    if step < warmup_steps:
        return base_lr / warmup_steps * (step + 1)
    turned = math.pi * (step - warmup_steps) / (steps - warmup_steps)
    return base_lr * (0.55 + 0.45 * math.cos(turned))


def _cosine(low=0.1, turn=math.pi):
    """From 1 down to `low`, along a cosine that turns by `turn`."""
    return _warmed_up(lambda t: low + (1 - low) * 0.5 * (1 + math.cos(turn * t)))


def _warmed_up(rate):
    """The right warm-up, then `rate(t)` times base_lr, where t goes from 0 to 1."""

    def answer(step, steps, base_lr, warmup_steps):
        if step < warmup_steps:
            return base_lr * (step + 1) / warmup_steps
        return base_lr * rate((step - warmup_steps) / (steps - warmup_steps))

    return answer


def _landmark(step, steps, base, warmup):
    """What the schedule does at a step."""
    if step == 0:
        return f"the first step of the warm-up takes the first of {warmup} equal stairs, for a rate of 0 would waste it"
    if step == warmup - 1:
        return f"the last step of the warm-up reaches base_lr = {base:g}"
    if step < warmup:
        return f"the warm-up climbs in {warmup} equal stairs, and this is stair {step + 1}"
    if step == warmup:
        return f"the warm-up is over, and the cosine starts from base_lr = {base:g}"
    if step == steps:
        return "at the end a tenth of base_lr is left"
    t = (step - warmup) / (steps - warmup)
    return f"here {t:.2f} of the way down is done, and half a cosine leads from base_lr to a tenth of it"


def _landmarks(probe):
    """Where the schedule must pass, said of the first step at which yours does not."""
    for trial in probe.trials:
        yours, wanted, (step, steps, base, warmup) = trial.yours.value, trial.expected.value, trial.case.args
        if not isinstance(yours, float) or abs(yours - wanted) < 1e-6 * base:
            continue
        where = _landmark(step, steps, base, warmup)
        return f"lr_at({step}, {steps}, {base:g}, {warmup}) is {yours:.6g}, and {wanted:.6g} is expected: {where}."
    return None


exercise(
    "lr_at",
    oracle=_rate,
    cases=lambda rand: [
        case(step, steps, base, warmup)
        for steps, base, warmup in (
            (15000, 1e-3, 500),
            (300, 0.02, 30),
            (int(rand.integers(1, low=80, high=120)), 1.0, 7),
        )
        for step in (0, warmup // 2, warmup - 1, warmup, (steps + warmup) // 2, steps - 1, steps)
    ],
    differentiable=False,
    properties=[_landmarks],
    atol=1e-7,
    misconceptions={
        "starts-at-zero": Wrong(
            lambda step, steps, base_lr, warmup_steps: (
                base_lr * step / warmup_steps if step < warmup_steps else _rate(step, steps, base_lr, warmup_steps)
            ),
            "The first step has a rate of 0 and learns nothing. Count the steps from one in the warm-up: the last"
            " warm-up step then reaches the full rate.",
        ),
        "no-warm-up": Wrong(
            lambda step, steps, base_lr, warmup_steps: _rate(max(step, warmup_steps), steps, base_lr, warmup_steps),
            "The rate is at its full height from the first step. The warm-up climbs to it in equal steps.",
        ),
        "falls-to-zero": Wrong(
            _cosine(low=0.0),
            "The cosine falls to 0. It is to end at a tenth of base_lr, so that the last steps still learn.",
        ),
        "wave-from-step-zero": Wrong(
            lambda step, steps, base_lr, warmup_steps: (
                _rate(step, steps, base_lr, warmup_steps) if step < warmup_steps else _rate(step, steps, base_lr, 0)
            ),
            "The cosine counts from step 0, so the rate drops at the end of the warm-up. It starts when the warm-up"
            " ends.",
        ),
        "cosine-one-step-early": Wrong(
            lambda step, steps, base_lr, warmup_steps: (
                _rate(step, steps, base_lr, warmup_steps)
                if step < warmup_steps
                else _rate(step, steps, base_lr, warmup_steps - 1)
            ),
            "The cosine starts at the last step of the warm-up, and at step warmup_steps a first piece of it is gone."
            " That step is its beginning, with the whole base_lr.",
        ),
        "warm-up-one-step-long": Wrong(
            lambda step, steps, base_lr, warmup_steps: (
                base_lr * (step + 1) / warmup_steps
                if step <= warmup_steps
                else _rate(step, steps, base_lr, warmup_steps)
            ),
            "The warm-up has one step too many, and that one climbs above base_lr. Its steps are 0 to warmup_steps - 1;"
            " at step warmup_steps the cosine begins.",
        ),
        "ends-one-step-early": Wrong(
            lambda step, steps, base_lr, warmup_steps: _rate(
                step, steps - (step >= warmup_steps), base_lr, warmup_steps
            ),
            "A tenth is reached at step steps - 1, one too early. The way down ends at step `steps`.",
        ),
        "cut-off-at-a-tenth": Wrong(
            _warmed_up(lambda t: max(0.1, 0.5 * (1 + math.cos(math.pi * t)))),
            "The cosine falls towards 0 and is cut off at a tenth, so the rate is too low on the way and flat at the"
            " end. The wave itself leads from base_lr down to a tenth.",
        ),
        "full-turn": Wrong(
            _cosine(turn=2 * math.pi),
            "The cosine makes a full turn: the rate falls and rises again. Half a turn, from 0 to pi, goes down once.",
        ),
        "degrees": Wrong(
            _cosine(turn=180),
            "The angle is in degrees; math.cos counts in radians, and half a turn is math.pi.",
        ),
        "straight-line": Wrong(
            _warmed_up(lambda t: 1 - 0.9 * t),
            "The rate falls along a straight line. The ends agree with the cosine's; in between the cosine stays high"
            " for longer.",
        ),
        "tenth-added": Wrong(
            _warmed_up(lambda t: 0.1 + 0.5 * (1 + math.cos(math.pi * t))),
            "The cosine part still has its full height of 1, and a tenth is added: the rate jumps to 1.1 × base_lr"
            " after the warm-up. Floor and wave share one unit: 0.1 and 0.9.",
        ),
    },
    hints=Hints(
        "Draw it: a straight climb over warmup_steps, then half a cosine wave down to a tenth.",
        "In the warm-up: base_lr times (step + 1) / warmup_steps. After it: how far are you, from 0 to 1, on the way"
        " from the end of the warm-up to steps?",
        "With t from 0 to 1, half of 1 + cos(pi t) goes from 1 to 0. The rate is base_lr times (0.1 + 0.9 times that).",
    ),
)


def _greedy(
    take=lambda logits: logits[0, -1],
    forbid=True,
    append=True,
    feed=lambda ids: ids,
    sign=1,
    closed=-torch.inf,
    start=encode,
    written=lambda ids: [],
    show=lambda ids: "".join(VOCAB[i] for i in ids[4:]),
):
    """Three passes with one step replaced; `sign` -1 takes the least likely, `closed` is the separator's logit."""

    def answer(model, letters):
        ids = seen = start(letters)
        n = ids.shape[1]
        for _ in range(3):
            logits = sign * take(model(seen))
            if forbid:
                logits[SEP] = closed
            logits[written(ids[0, n:])] = -torch.inf
            ids = torch.cat([ids, logits.argmax().view(1, 1)], 1)
            seen = feed(ids) if append else seen
        return show(ids[0].tolist())

    return answer


def _of_the_question(model, letters):
    ids, left = encode(letters), list(letters)
    for _ in range(3):
        logits = model(ids)[0, -1]
        left.remove(best := max(left, key=lambda letter: float(logits[VOCAB.index(letter)])))
        ids = torch.cat([ids, torch.tensor([[VOCAB.index(best)]])], dim=1)
    return "".join(VOCAB[i] for i in ids[0, 4:])


def _all_at_once(model, letters):
    return "".join(VOCAB[i + 1] for i in model(encode(letters))[0, 1:4, 1:].argmax(-1).tolist())


def _by_topk(model, letters):
    ids = encode(letters)
    while ids.shape[1] < 7:
        best = model(ids)[0, -1, 1:].topk(1).indices + 1
        ids = torch.cat([ids, best[None]], dim=1)
    return "".join(VOCAB[int(i)] for i in ids[0, 4:])


_GREEDY = draws_nothing(
    "Random numbers are drawn on the way: is the next letter sampled from the probabilities? Greedily means to take"
    " the likeliest one."
)


def _three_letters(probe):
    """Three letters, none of them the separator."""
    for trial in probe.trials:
        yours, letters = trial.yours.value, trial.case.args[1]
        if not isinstance(yours, str) or yours == trial.expected.value:
            continue
        if len(yours) != 3:
            return (
                f"For {letters!r} yours is {yours!r}, of length {len(yours)}. The model is asked three times, and what"
                " it says each time is one letter of the answer."
            )
        if any(c not in "abc" for c in yours):
            return (
                f"For {letters!r} yours is {yours!r}: the separator was written, or something was decoded that is no"
                " letter. What is asked for are letters."
            )
    return None


exercise(
    "sort_letters",
    oracle=_by_topk,
    cases=lambda rand: [
        case(FakeSorter(rand), letters, note="with a model that does not sort")
        for letters in ("cab", "bba", "acc", "abc", "bcb", "aab")
    ],
    differentiable=False,
    properties=[_GREEDY, _three_letters],
    misconceptions={
        "separator-not-forbidden": Wrong(
            _greedy(forbid=False),
            "The separator was chosen as an output. After the four tokens of the prompt only letters make sense: give"
            " the separator a logit of minus infinity before you choose.",
        ),
        "separator-not-low-enough": Wrong(
            _greedy(closed=0.0),
            "The separator's logit was set to 0, and it still wins where all other logits are negative. Only minus"
            " infinity is below every logit.",
        ),
        "a-second-separator": Wrong(
            _greedy(
                start=lambda letters: torch.cat([encode(letters), torch.tensor([[SEP]])], 1),
                show=lambda ids: "".join(VOCAB[i] for i in ids[5:]),
            ),
            "A second separator was put behind the first: encode has already added one. The model then stands one place"
            " behind the one where its answer begins.",
        ),
        "separator-cut-off": Wrong(
            _greedy(
                start=lambda letters: encode(letters)[:, :3],
                show=lambda ids: "".join(VOCAB[i] for i in ids[3:]),
            ),
            "The model sees no separator. It stands behind the question, and the answer begins after it: leave what"
            " encode gives as it is.",
        ),
        "forgets-the-question": Wrong(
            _greedy(feed=lambda ids: ids[:, -1:]),
            "After the first pass only the newest letter goes into the model. It remembers nothing between two passes:"
            " the question and all that is written have to go in each time.",
        ),
        "letters-of-the-question-only": Wrong(
            _of_the_question,
            "Only letters of the question that are not used up were allowed, so half of the sorting is done by Python."
            " Whatever letter the model likes best is to be written, also when it is wrong.",
        ),
        "each-letter-once": Wrong(
            _greedy(written=lambda ids: ids),
            "A letter that was written is forbidden from then on, so that aab can never come out. Only the separator is"
            " no answer.",
        ),
        "sorts-by-itself": Wrong(
            lambda model, letters: "".join(sorted(letters)),
            "The letters come back sorted although the model that was passed does not sort: Python did it, or another"
            " model was asked. What this model would write is the question, also when it is wrong.",
        ),
        "reads-the-first-position": Wrong(
            _greedy(take=lambda logits: logits[0, 0]),
            "You read the logits of the first position: what would follow the first letter. The next token follows the"
            " last position.",
        ),
        "never-appends": Wrong(
            _greedy(append=False),
            "The model sees the same four tokens each time, so it gives the same letter three times. Append what it"
            " chose, and ask again.",
        ),
        "all-at-once": Wrong(
            _all_at_once,
            "You took three positions of one pass. The model has not seen its own first letter when it is asked for"
            " the second: one pass for each letter.",
        ),
        "whole-sequence": Wrong(
            _greedy(show=lambda ids: "".join(VOCAB[i] for i in ids)),
            "This is the whole sequence, with the letters that were typed and the separator. Only the last three are"
            " the answer.",
        ),
        "ids-not-letters": Wrong(
            _greedy(show=lambda ids: ids[4:]),
            "These are ids. VOCAB turns each into its letter; the answer is a string of three.",
        ),
        "least-likely": Wrong(
            _greedy(sign=-1),
            "You chose the least likely letter. Greedy means the one with the highest logit.",
        ),
    },
    hints=Hints(
        "Three passes through the model, one for each letter that it writes. What does the second pass see that the"
        " first did not?",
        "encode(letters) gives ids [1, 4]. model(ids)[0, -1] are the logits for what comes next: four numbers, one of"
        " them for the separator.",
        "Set the logit at SEP to -inf, take argmax, append it to ids with torch.cat along dim 1; after three rounds"
        " join VOCAB[i] for the last three ids.",
    ),
)
