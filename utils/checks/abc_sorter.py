"""Define the exercises of lesson 09: attention with gated Q/K/V weights, a learning-rate schedule, greedy sorting."""

import functools
import math
from dataclasses import replace

import torch
from torch import nn
from torch.nn import functional as F

from utils.checks._attention import (
    attention_mistakes,
    attention_values,
    causal_attention,
    causal_mask,
    fix_arguments,
    keep_weights,
    softmax_values,
    torch_attention,
)
from utils.checks._wrong_answers import with_steps, wrong_answer
from utils.exercises.exercise import Float, Hints, Wrong, case, exercise
from utils.exercises.sampler import sample_parameter
from utils.feedback.properties import (
    batch_independent,
    causal,
    draws_nothing,
    finite_when_scaled,
    moves_with_its_module,
    rows_sum_to_one,
)
from utils.models.abc_sorter import SEP, VOCAB, encode
from utils.test_doubles.abc_sorter import FakeSorter

_NAMES = ("q", "k", "v")


def _gate(A, B, temp=1.0):
    return F.softmax(torch.einsum("...er,...rd->...ed", A, B) / temp, dim=-1)


@with_steps
def _gated(A, B, base=None, temp=1.0, *, gate=_gate, join=torch.mul):
    shares = gate(A, B, temp)
    return shares if base is None else join(shares, base)


def _gate_by_hand(A, B, temp):
    scores = A @ B / temp
    powers = (scores - scores.amax(-1, keepdim=True)).exp()
    return powers / powers.sum(-1, keepdim=True)


def _gate_milestones(A, B, base=None, temp=1.0):
    product = torch.einsum("...er,...rd->...ed", A, B)
    scaled = {} if temp == 1 else {"the product divided by the temperature": product / temp}
    softmax = softmax_values(product / temp, "the gate")
    renamed = {label.replace("scores", "product"): value for label, value in softmax.items()}
    return {"the product of A and B": product, **scaled, **renamed}


exercise(
    "make_weight",
    oracle=_gated,
    milestones=_gate_milestones,
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
    properties=[finite_when_scaled(1e6)],
    misconceptions={
        "clamped": _gated.replace(gate=lambda A, B, temp: F.softmax((A @ B / temp).clamp(-50, 50), dim=-1)).wrong(
            "You clamp the scores before exp. Nothing overflows, but two large scores become equal, however different"
            " they were."
        ),
        "axis-from-the-front": _gated.replace(gate=lambda A, B, temp: F.softmax(A @ B / temp, dim=1)).wrong(
            "Your softmax runs along axis 1, which is the last axis only for a single matrix: with a head axis in"
            " front, axis 1 is the axis of the inputs. The outputs are always on the last axis, so use an axis number"
            " that counts from the end."
        ),
        "first-axis": _gated.replace(gate=lambda A, B, temp: F.softmax(A @ B / temp, dim=0)).wrong(
            "Your softmax runs along axis 0, so if the first axis is the head axis, the heads compete with each other."
            " It should run along the last axis, so that each row of the gate sums to one."
        ),
        "log-softmax": _gated.replace(gate=lambda A, B, temp: F.log_softmax(A @ B / temp, dim=-1)).wrong(
            "You return logarithms of probabilities, which are never positive. A gate should be the probability itself,"
            " between 0 and 1."
        ),
        "base-divided": _gated.replace(join=lambda gate, base: base / gate).wrong(
            "You divide the base by the gate, so a gate near 0 makes an entry very large. A gate near 0 should make an"
            " entry very small, so multiply the base by the gate."
        ),
        "gate-unused": _gated.replace(join=lambda gate, base: base).wrong(
            "If there is a base, you return it unchanged, and the gate has no effect. The gate should decide how much"
            " of each entry passes."
        ),
        "wrong-axis": _gated.replace(gate=lambda A, B, temp: F.softmax(A @ B / temp, dim=-2)).wrong(
            "Your softmax runs down the columns, so each column of the gate sums to one. Each row of the gate should"
            " sum to one instead, because a row belongs to one entry of the input."
        ),
        "no-softmax": _gated.replace(gate=lambda A, B, temp: A @ B / temp).wrong(
            "You use the product of the factors without a softmax, so a gate can be negative and change the sign of an"
            " entry of the base. Each gate should be between 0 and 1."
        ),
        "sigmoid": _gated.replace(gate=lambda A, B, temp: torch.sigmoid(A @ B / temp)).wrong(
            "You use a sigmoid, which computes each gate independently, so a row can have any sum. Use a softmax, in"
            " which each row sums to one: if one gate grows, the other gates of its row shrink."
        ),
        "base-added": _gated.replace(join=torch.add).wrong(
            "You add the base to the gate. A gate should decide how much of the base passes, so multiply the base by"
            " the gate."
        ),
        "base-ignored": _gated.replace(join=lambda gate, base: gate).wrong(
            "You never use the base, so your result is always the strict variant. If there is a base, multiply it by"
            " the gate elementwise."
        ),
        "zeros-count-as-none": _gated.replace(join=lambda gate, base: gate * base if base.any() else gate).wrong(
            "You treat a base of zeros as a missing base and return the gate. The base is missing only if it is None;"
            " with a base of zeros, the result should be zero."
        ),
        "softmax-after-the-base": Wrong(
            lambda A, B, base=None, temp=1.0: F.softmax(A @ B / temp * (1 if base is None else base), dim=-1),
            "You multiply by the base before the softmax, so the result is positive whatever the base is. Make the"
            " gate first and multiply afterwards: the sign should come from the base.",
        ),
        "temperature-multiplied": _gated.replace(gate=lambda A, B, temp: _gate(A, B, 1 / temp)).wrong(
            "You multiply by the temperature. A high temperature should make the gate softer, so divide by it."
        ),
        "temperature-twice": _gated.replace(gate=lambda A, B, temp: _gate(A, B, temp**2)).wrong(
            "You divide by the temperature twice, as if each factor had its own temperature. Divide the product of the"
            " factors by the temperature only once."
        ),
        "root-of-the-rank": _gated.replace(gate=lambda A, B, temp: _gate(A, B, temp * A.shape[-1] ** 0.5)).wrong(
            "You also divide the product by the square root of the rank, as attention divides scores by the square root"
            " of the head's width. Here, you should divide only by the temperature."
        ),
        "temperature-ignored": _gated.replace(gate=lambda A, B, temp: _gate(A, B)).wrong(
            "You never use the temperature. Divide the product of the factors by it before the softmax."
        ),
        "temperature-after-the-softmax": _gated.replace(gate=lambda A, B, temp: _gate(A, B) / temp).wrong(
            "You divide by the temperature after the softmax, so a row no longer sums to one. Divide the product of the"
            " factors by the temperature before the softmax, because there it controls how sharp the gate is."
        ),
        "softmax-of-each-factor": Wrong(
            _gated.replace(gate=lambda A, B, temp: F.softmax(A / temp, -1) @ F.softmax(B / temp, -1)),
            "You apply a softmax to each factor and then multiply the factors. Every row of the gate is then a weighted"
            " mean of the same few rows of softmax(B), so it is rarely sharp: apply one softmax to the product"
            " instead.",
        ),
    },
    equivalent={"by-hand": _gated.replace(gate=_gate_by_hand)},
    hints=Hints(
        "There are two steps: compute the gate, whose rows sum to one, from A and B; then, if there is a base, multiply"
        " it by the gate elementwise.",
        "A @ B has the shape of the weight. Divide it by temp, and apply a softmax, so that each row sums to one.",
        "The gate is the softmax of A @ B / temp along dim -1. Without a base, return the gate; with a base, multiply"
        " the two.",
    ),
)


def _parameters(embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
    """Return the parameters of a DeepQKVAttention in the lesson's order, filled with random numbers."""
    d_head = embed_dim // num_heads
    parameters = {}
    for n in _NAMES:
        parameters[f"{n}A"] = torch.empty(num_heads, embed_dim, rank)
        parameters[f"{n}B"] = torch.empty(num_heads, rank, d_head)
        if not strict:
            parameters[f"{n}_base"] = torch.empty(num_heads, embed_dim, d_head)
    parameters["o.weight"] = torch.empty(embed_dim, embed_dim)
    return {name: nn.init.normal_(value, std=0.5) for name, value in parameters.items()}


def _qkv(p, x, weight=_gated):
    return [torch.einsum("bse,hed->bhsd", x, weight(p[f"{n}A"], p[f"{n}B"], p.get(f"{n}_base"))) for n in _NAMES]


def _ungated(A, B, base=None):
    return A @ B if base is None else base


def _output(p, y):
    return F.linear(y, p["o.weight"])


@with_steps
def _deep_attention(p, x, *, qkv=_qkv, merge=lambda y: y.transpose(1, 2).flatten(2), out=_output, **steps):
    """Compute the forward pass. `steps` replaces steps of `attention`."""
    return causal_attention.replace(qkv=qkv, drop=keep_weights, out=lambda p, mixed: out(p, merge(mixed)), **steps)(
        p, x
    )


def _oracle(p, x, return_weights=False):
    q, k, v = _qkv(p, x)
    y = _output(p, torch_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape))
    return (y, torch_attention(q, k, is_causal=True)) if return_weights else y


def _milestones(p, x, return_weights=False):
    projected, values = _qkv(p, x), {}
    for n, name, vectors in zip(_NAMES, ("queries", "keys", "values"), projected):
        gate, base = _gate(p[f"{n}A"], p[f"{n}B"]), p.get(f"{n}_base")
        values[f"the gate of the {name}?"] = gate
        values[f"the weight of the {name}"] = gate if base is None else gate * base
        values[f"the {name}"] = vectors
    return values | attention_values(*projected, causal_mask(x.shape[1]))


def _without_bases(p):
    return {name: value for name, value in p.items() if not name.endswith("_base")}


def _is_close(a, b):
    return isinstance(a, torch.Tensor) and a.shape == b.shape and torch.allclose(a.detach(), b, atol=1e-4)


def _temperature(probe):
    """Check that `temp` affects the gates: build the module with a different temperature."""
    first = probe.trials[0]
    plain = {
        name: sample_parameter(name, shape, first.case.seed) for name, shape in (first.yours.parameters or {}).items()
    }
    if (
        first.yours.failure
        or set(plain) != set(_parameters(*first.case.init))
        or not _is_close(first.yours.value, _oracle(plain, *first.case.args))
    ):
        # If the answer is already wrong at temp=1, another message explains the mistake.
        return None
    case = replace(first.case, init={"embed_dim": 6, "num_heads": 2, "context_length": 7, "temp": 0.5})
    observation = probe.run(case)
    if observation.failure:
        return None
    params = {name: sample_parameter(name, shape, case.seed) for name, shape in observation.parameters.items()}
    hot = {name: value * 2 if name in ("qA", "kA", "vA") else value for name, value in params.items()}
    if _is_close(observation.value, _oracle(hot, *case.args)):
        return None
    if _is_close(observation.value, _oracle(params, *case.args)):
        return (
            "temp changes nothing: with temp=0.5, the result is the same as with temp=1. Store temp in __init__ and"
            " pass it to make_weight for all three weights."
        )
    return (
        "Your result is right with temp=1, but wrong with temp=0.5. Pass temp to make_weight exactly once for each of"
        " the three weights."
    )


def _starts_somewhere(probe):
    """Check that the initial parameters are finite, are small, and depend only on the seed."""
    x = torch.zeros(1, 2, 6)
    observations = [probe.run(case(x, init=(6, 2, 7), fill=False, seed=seed), state=True) for seed in (1, 1, 2)]
    for name in observations[0].parameters or ():
        first, again, other = (observation.state[name] for observation in observations)
        if torch.equal(first, other):
            return f"`{name}` starts with the same numbers for two different seeds. Fill it with small random numbers."
        if not first.isfinite().all() or not torch.equal(first, again):
            found = "different numbers after the same manual_seed" if first.isfinite().all() else "nan or inf"
            return (
                f"`{name}` starts with {found}: does it contain uninitialised memory? Fill it with small random"
                " numbers from torch's global generator."
            )
        if first.abs().mean() > 3:
            return (
                f"`{name}` starts with numbers of about {float(first.abs().mean()):.3g}. Start with small numbers: with"
                " large numbers, training starts with gates near 0 or 1, or with very large weights."
            )
    return None


def _restrict_to_trials(*places):
    """Return a decorator that restricts a slow property to the trials at these indices."""

    def restrict(check_property):
        @functools.wraps(check_property)
        def broken(probe):
            return check_property(replace(probe, trials=[probe.trials[i] for i in places]))

        return broken

    return restrict


def _only_if_wrong(check_property):
    """Skip a property if the result is correct, because a correct result always has the property."""

    @functools.wraps(check_property)
    def broken(probe):
        return None if probe.has_correct_values else check_property(probe)

    return broken


def _made_anew(probe):
    """Check that the weights are computed from the current values of A, B and the bases."""
    trial = probe.trials[0]
    after_change = (
        None
        if probe.has_correct_values
        else probe.runner.run_in_sequence([replace(trial.case, seed=100), trial.case])[-1]
    )
    if (
        after_change is None
        or after_change.failure
        or trial.yours.failure
        or _is_close(after_change.value, trial.yours.value)
    ):
        return None
    return (
        "When the parameters change, your result still uses a value that __init__ or the first call computed from the"
        " old parameters. Training changes the parameters at every step, so compute the weights in each forward pass."
    )


_STRICT = {"embed_dim": 6, "num_heads": 3, "context_length": 5, "rank": 2, "strict": True}
_wrong = attention_mistakes(_deep_attention.replace, width="the head's width")

exercise(
    "DeepQKVAttention",
    unswept={"parameters": "the lesson lets the layer save its mask as a buffer"},
    initial_parameters=_parameters,
    oracle=_oracle,
    milestones=_milestones,
    cases=lambda rand: [
        case(rand(3, 4, 6), init=(6, 2, 7)),
        case(rand(2, 5, 6), init=_STRICT, seed=1, return_weights=True),
        case(rand(1, 3, 8), init=(8, 4, 3), seed=2, train=True, return_weights=True, note="in training"),
    ],
    returns=Float("batch seq embed_dim"),
    properties=[
        _made_anew,
        _restrict_to_trials(0)(causal()),
        _only_if_wrong(batch_independent()),
        rows_sum_to_one(part=1),
        _restrict_to_trials(1, 2)(moves_with_its_module),
        _temperature,
        _starts_somewhere,
        _restrict_to_trials(0)(finite_when_scaled(1e6)),
    ],
    misconceptions={
        "sees-the-future": _wrong.sees_the_future(
            "You do not mask anything, so the model can read the other two sorted letters while it predicts the first"
            " letter. In training, the sequence contains the answer, so each position should attend only to itself and"
            " to earlier positions."
        ),
        "masked-after-the-softmax": _wrong.mask_after_softmax(
            "You hide the future only after the softmax has given it weight: the rows no longer sum to one, and a later"
            " token changes earlier weights. Set the scores of later positions to minus infinity before the softmax."
        ),
        "mirror-image": _wrong.mirror_image(
            "Your mask is the mirror image: each position sees itself and all later positions. Each row of the mask"
            " belongs to a query, and should allow only the query's own position and earlier positions."
        ),
        "future-alone": _wrong.true_means_blocked(
            "Your mask is inverted: it hides the past and the position itself. A position then sees only the future,"
            " and the last position sees nothing, so its result is nan."
        ),
        "blind-to-itself": _wrong.blind_to_itself(
            "A position does not see itself, so the first position sees nothing, and a softmax over nothing is nan."
            " The diagonal of the mask should be visible."
        ),
        "not-scaled": _wrong.not_scaled("You do not divide the scores by the square root of the head's width."),
        "multiplied": _wrong.multiplied(),
        "divided-by-the-width": _wrong.divided_by_the_width(),
        "root-of-embed_dim": _wrong.root_of_d_in(
            "You divide by the square root of embed_dim. A head's dot product has embed_dim / num_heads terms, so"
            " divide by the square root of this number of terms."
        ),
        "wrong-axis": _wrong.wrong_axis(
            "Your softmax runs down the columns. Each row belongs to a query, and its weights should sum to one."
        ),
        "heads-run-together": _deep_attention.replace(merge=lambda y: y.reshape(y.shape[0], y.shape[2], -1)).wrong(
            "You merge the heads without first moving the head axis behind the position axis, so reshape joins several"
            " positions of one head. Each position should keep its own entries from every head."
        ),
        "no-gate": _deep_attention.replace(qkv=lambda p, x: _qkv(p, x, _ungated)).wrong(
            "You use only the base as the weight, so the factors have no effect. Make each weight with make_weight,"
            " from A, B and the base."
        ),
        "values-not-gated": _deep_attention.replace(qkv=lambda p, x: [*_qkv(p, x)[:2], _qkv(p, x, _ungated)[2]]).wrong(
            "You use gated weights for queries and keys, but not for values. All three weights should come from"
            " make_weight."
        ),
        "one-pair-for-all": Wrong(
            _deep_attention.replace(
                qkv=lambda p, x: _qkv({**p, **{f"{n}{half}": p[f"q{half}"] for n in "kv" for half in "AB"}}, x)
            ),
            "You use the queries' factors for the keys and values too. Queries, keys and values each have their own"
            " pair of factors.",
        ),
        "output-layer-forgotten": _deep_attention.replace(out=lambda p, y: y).wrong(
            "You merge the heads and return them without the output layer o. This layer mixes the results of the heads."
        ),
        "query-and-key-swapped": _wrong.query_and_key_swapped(
            "You swapped queries and keys. Row i of the scores should come from the query of position i."
        ),
        "a-base-in-the-strict-variant": Wrong(
            _oracle,
            "There is a base although strict is True. The strict variant has only the factors: its weights are the"
            " gates themselves.",
            initial_parameters=fix_arguments(_parameters, strict=False),
        ),
        "an-unused-base-in-the-strict-variant": Wrong(
            lambda p, *given, **options: _oracle(_without_bases(p) if p.init_args["strict"] else p, *given, **options),
            "There are bases although strict is True. You do not use them, but they still count as parameters: the"
            " strict variant should have only the factors.",
            initial_parameters=fix_arguments(_parameters, strict=False),
        ),
        "never-a-base": Wrong(
            _oracle,
            "There is no base even when strict is False. Without a base, every weight lies between 0 and 1 and each"
            " row sums to one.",
            initial_parameters=fix_arguments(_parameters, strict=True),
        ),
        "a-bias-in-the-output-layer": Wrong(
            _oracle,
            "The output layer has a bias, because nn.Linear adds one by default. In the sorter, this layer should have"
            " 6 × 6 = 36 parameters.",
            initial_parameters=lambda embed_dim, *rest, **more: {
                **_parameters(embed_dim, *rest, **more),
                "o.bias": torch.zeros(embed_dim),
            },
        ),
    },
    hints=Hints(
        "Only the computation of the three weights is new. The other steps are the same as in lesson 05: heads, mask,"
        " softmax, mix, merge, output layer.",
        "A weight has the shape [heads, embed_dim, d_head]. Multiply x [batch, seq, embed_dim] by it to get [batch,"
        " heads, seq, d_head]: use einsum, or give x an axis for the heads.",
        'For each of q, k and v, compute torch.einsum("bse,hed->bhsd", x, weight). Then divide q @ k transposed by'
        " the square root of d_head, set the scores to -inf where the mask is False, apply softmax, multiply by v, and"
        " finish with transpose(1, 2), flatten(2) and o.",
    ),
)


def _rate(step, steps, base_lr, warmup_steps):
    if step < warmup_steps:
        return base_lr / warmup_steps * (step + 1)
    angle = math.pi * (step - warmup_steps) / (steps - warmup_steps)
    return base_lr * (0.55 + 0.45 * math.cos(angle))


@with_steps
def _schedule(step, steps, base_lr, warmup_steps, *, fall):
    """Return the correct rate in the warm-up. After it, return base_lr × `fall(t)`, where t rises from 0 to 1."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    return base_lr * fall((step - warmup_steps) / (steps - warmup_steps))


def _cosine(low=0.1, turn=math.pi):
    """Return a function of t that follows a cosine from 1 towards `low`. The cosine's angle rises from 0 to `turn`."""
    return lambda t: low + (1 - low) * 0.5 * (1 + math.cos(turn * t))


def _describe_step(step, steps, base, warmup):
    """Return a clause that describes what the schedule should do at a step."""
    if step == 0:
        return (
            f"in the warm-up, the rate should rise in {warmup} equal steps, and step 0 should already have a rate of"
            f" base_lr / {warmup}, because a rate of 0 would waste this step"
        )
    if step == warmup - 1:
        return f"the last step of the warm-up should reach base_lr = {base:g}"
    if step < warmup:
        return (
            f"in the warm-up, the rate should rise in {warmup} equal steps, and this step is number {step + 1}, counted"
            " from 1"
        )
    if step == warmup:
        return f"the warm-up is over, and the cosine should start from base_lr = {base:g}"
    if step == steps:
        return "at the end, the rate should be a tenth of base_lr"
    t = (step - warmup) / (steps - warmup)
    return (
        f"at this step, a fraction of {t:.2f} of the decay is done, and the decay should follow half a period of a"
        " cosine, from base_lr to a tenth of base_lr"
    )


def _landmarks(probe):
    """Report the first step with a wrong rate, and the part of the schedule that the step belongs to."""
    for trial in probe.trials:
        yours, wanted, (step, steps, base, warmup) = trial.yours.value, trial.expected.value, trial.case.args
        if not isinstance(yours, float) or abs(yours - wanted) < 1e-6 * base:
            continue
        landmark = _describe_step(step, steps, base, warmup)
        return f"lr_at({step}, {steps}, {base:g}, {warmup}) is {yours:.6g}, expected {wanted:.6g}: {landmark}."
    return None


exercise(
    "lr_at",
    oracle=_rate,
    unswept={"zero counts": "the lesson does not define a warm-up of 0 steps"},
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
            "Your first step has a learning rate of 0, so the model learns nothing in this step. Count the steps of the"
            " warm-up from 1, so that the last step of the warm-up has the full rate.",
        ),
        "no-warm-up": Wrong(
            lambda step, steps, base_lr, warmup_steps: _rate(max(step, warmup_steps), steps, base_lr, warmup_steps),
            "Your rate is at its maximum from the first step. It should rise to this maximum in equal steps during"
            " the warm-up.",
        ),
        "falls-to-zero": _schedule.replace(fall=_cosine(low=0.0)).wrong(
            "Your cosine falls to 0. It should end at a tenth of base_lr, so that the model still learns in the last"
            " steps."
        ),
        "wave-from-step-zero": Wrong(
            lambda step, steps, base_lr, warmup_steps: (
                _rate(step, steps, base_lr, warmup_steps) if step < warmup_steps else _rate(step, steps, base_lr, 0)
            ),
            "Your cosine starts at step 0, so the rate drops suddenly at the end of the warm-up. The cosine should"
            " start when the warm-up ends.",
        ),
        "cosine-one-step-early": Wrong(
            lambda step, steps, base_lr, warmup_steps: (
                _rate(step, steps, base_lr, warmup_steps)
                if step < warmup_steps
                else _rate(step, steps, base_lr, warmup_steps - 1)
            ),
            "Your cosine starts at the last step of the warm-up, so at step warmup_steps it has already fallen a"
            " little. It should start at step warmup_steps, with the full base_lr.",
        ),
        "warm-up-one-step-long": Wrong(
            lambda step, steps, base_lr, warmup_steps: (
                base_lr * (step + 1) / warmup_steps
                if step <= warmup_steps
                else _rate(step, steps, base_lr, warmup_steps)
            ),
            "Your warm-up has one step too many: at step warmup_steps, the rate is above base_lr. The warm-up should"
            " consist of the steps 0 to warmup_steps - 1, and the cosine should start at step warmup_steps.",
        ),
        "ends-one-step-early": Wrong(
            lambda step, steps, base_lr, warmup_steps: _rate(
                step, steps - (step >= warmup_steps), base_lr, warmup_steps
            ),
            "Your rate reaches a tenth of base_lr at step `steps - 1`, one step too early. It should reach a tenth of"
            " base_lr at step `steps`.",
        ),
        "cut-off-at-a-tenth": _schedule.replace(fall=lambda t: max(0.1, 0.5 * (1 + math.cos(math.pi * t)))).wrong(
            "Your cosine falls towards 0, and your code replaces every rate below a tenth of base_lr with a tenth of"
            " base_lr. So the rate is too low during the decay and constant at the end. The cosine itself should fall"
            " from base_lr to a tenth of base_lr."
        ),
        "full-turn": _schedule.replace(fall=_cosine(turn=2 * math.pi)).wrong(
            "Your cosine runs through a full period, so the rate falls and rises again. Use half a period, from 0 to"
            " pi, so that the cosine only falls."
        ),
        "degrees": _schedule.replace(fall=_cosine(turn=180)).wrong(
            "Your angle is in degrees. math.cos takes radians: half a period is math.pi."
        ),
        "straight-line": _schedule.replace(fall=lambda t: 1 - 0.9 * t).wrong(
            "Your rate falls along a straight line. It agrees with the cosine at both ends, but not in between."
        ),
        "tenth-added": _schedule.replace(fall=lambda t: 0.1 + 0.5 * (1 + math.cos(math.pi * t))).wrong(
            "Your cosine part still starts at 1, and you add a tenth, so the rate jumps to 1.1 × base_lr"
            " after the warm-up. The two parts should sum to one: 0.1 for the floor and 0.9 for the cosine."
        ),
    },
    hints=Hints(
        "Draw the curve: a straight line up over warmup_steps, then half a cosine wave down to a tenth of base_lr.",
        "In the warm-up, the rate is base_lr times (step + 1) / warmup_steps. After the warm-up, how far is the step on"
        " the way from `warmup_steps` to `steps`, as a fraction from 0 to 1?",
        "As t goes from 0 to 1, (1 + cos(pi t)) / 2 goes from 1 to 0. The rate is base_lr times (0.1 + 0.9 times this"
        " number).",
    ),
)


@with_steps
def _sort_greedily(
    model,
    letters,
    *,
    take=lambda logits: logits[0, -1],
    forbid=True,
    append=True,
    feed=lambda ids: ids,
    sign=1,
    separator_logit=-torch.inf,
    start=encode,
    written=lambda ids: [],
    show=lambda ids: "".join(VOCAB[i] for i in ids[4:]),
):
    """Sort with three passes. With `sign` -1, each pass chooses the least likely token."""
    ids = context = start(letters)
    n = ids.shape[1]
    for _ in range(3):
        logits = sign * take(model(context))
        if forbid:
            logits[SEP] = separator_logit
        logits[written(ids[0, n:])] = -torch.inf
        ids = torch.cat([ids, logits.argmax().view(1, 1)], 1)
        context = feed(ids) if append else context
    return show(ids[0].tolist())


@wrong_answer
def _sort_with_question_letters(model, letters):
    """You let the model choose only from the unused letters of the question, so Python does half of the sorting. Write
    the letter that the model scores highest, even if it is wrong.
    """
    ids, left = encode(letters), list(letters)
    for _ in range(3):
        logits = model(ids)[0, -1]
        left.remove(best := max(left, key=lambda letter: float(logits[VOCAB.index(letter)])))
        ids = torch.cat([ids, torch.tensor([[VOCAB.index(best)]])], dim=1)
    return "".join(VOCAB[i] for i in ids[0, 4:])


@wrong_answer
def _read_three_positions(model, letters):
    """You read all three letters from a single pass, so the model has not seen its own first letter when it predicts
    the second. Run one pass for each letter.
    """
    return "".join(VOCAB[i + 1] for i in model(encode(letters))[0, 1:4, 1:].argmax(-1).tolist())


def _sort_by_topk(model, letters):
    ids = encode(letters)
    while ids.shape[1] < 7:
        best = model(ids)[0, -1, 1:].topk(1).indices + 1
        ids = torch.cat([ids, best[None]], dim=1)
    return "".join(VOCAB[int(i)] for i in ids[0, 4:])


_GREEDY = draws_nothing(
    "Your loop samples random numbers: do you sample the next letter from the probabilities? Greedy decoding takes"
    " the most likely letter."
)


def _three_letters(probe):
    """Check that the answer consists of three letters and no separator."""
    for trial in probe.trials:
        yours, letters = trial.yours.value, trial.case.args[1]
        if not isinstance(yours, str) or yours == trial.expected.value:
            continue
        if len(yours) != 3:
            return (
                f"For {letters!r} you return {yours!r}, of length {len(yours)}. Call the model three times, and write"
                " one letter of the answer each time."
            )
        if any(c not in "abc" for c in yours):
            return (
                f"For {letters!r} you return {yours!r}: you wrote the separator, or decoded something that is not a"
                " letter. The answer should contain only letters."
            )
    return None


exercise(
    "sort_letters",
    unswept={"texts": "the lesson promises three letters from a, b and c"},
    oracle=_sort_by_topk,
    cases=lambda rand: [
        case(FakeSorter(rand), letters, note="with a model that does not sort")
        for letters in ("cab", "bba", "acc", "abc", "bcb", "aab")
    ],
    differentiable=False,
    properties=[_GREEDY, _three_letters],
    misconceptions={
        "separator-not-forbidden": _sort_greedily.replace(forbid=False).wrong(
            "Your loop chose the separator as an output. After the four tokens of the prompt, only letters make sense:"
            " set the separator's logit to minus infinity before you choose."
        ),
        "separator-not-low-enough": _sort_greedily.replace(separator_logit=0.0).wrong(
            "You set the separator's logit to 0, and it still wins when all other logits are negative. Only minus"
            " infinity is below every logit."
        ),
        "a-second-separator": Wrong(
            _sort_greedily.replace(
                start=lambda letters: torch.cat([encode(letters), torch.tensor([[SEP]])], 1),
                show=lambda ids: "".join(VOCAB[i] for i in ids[5:]),
            ),
            "You append a second separator, but encode has already added one. The model then starts its answer one"
            " position too late.",
        ),
        "separator-cut-off": Wrong(
            _sort_greedily.replace(
                start=lambda letters: encode(letters)[:, :3],
                show=lambda ids: "".join(VOCAB[i] for i in ids[3:]),
            ),
            "The model sees no separator. The separator ends the question and the answer starts after it, so use the"
            " result of encode unchanged.",
        ),
        "forgets-the-question": _sort_greedily.replace(feed=lambda ids: ids[:, -1:]).wrong(
            "After the first pass, only the newest letter goes into the model. The model remembers nothing between two"
            " passes, so pass it the question and everything written so far each time."
        ),
        "letters-of-the-question-only": _sort_with_question_letters,
        "each-letter-once": _sort_greedily.replace(written=lambda ids: ids).wrong(
            "You forbid every letter that was already written, so your function can never return aab. Forbid only the"
            " separator."
        ),
        "sorts-by-itself": Wrong(
            lambda model, letters: "".join(sorted(letters)),
            "Your function returns sorted letters, but the model that was passed in does not sort: did you use Python's"
            " sort, or another model? Return what this model writes, even if it is wrong.",
        ),
        "reads-the-first-position": _sort_greedily.replace(take=lambda logits: logits[0, 0]).wrong(
            "You read the logits of the first position, which predict what follows the first letter. The logits of"
            " the last position predict the next token."
        ),
        "never-appends": _sort_greedily.replace(append=False).wrong(
            "All three letters come from the same logits, those after the separator. Append each chosen letter before"
            " you call the model again, and read the logits of the last position."
        ),
        "all-at-once": _read_three_positions,
        "whole-sequence": _sort_greedily.replace(show=lambda ids: "".join(VOCAB[i] for i in ids)).wrong(
            "You return the whole sequence, with the letters of the question and the separator. Only the last three"
            " letters are the answer."
        ),
        "ids-not-letters": _sort_greedily.replace(show=lambda ids: ids[4:]).wrong(
            "You return ids. VOCAB turns each id into its letter, and the answer should be a string of three letters."
        ),
        "least-likely": _sort_greedily.replace(sign=-1).wrong(
            "You chose the least likely letter. Greedy decoding takes the letter with the highest logit."
        ),
    },
    hints=Hints(
        "Run three passes through the model, one for each letter that it writes. What does the second pass see that"
        " the first pass did not?",
        "encode(letters) gives ids [1, 4]. model(ids)[0, -1] gives the logits of the next token: four numbers, one of"
        " them for the separator.",
        "Set the logit at SEP to -inf, take argmax, and append it to ids with torch.cat along dim 1. After three"
        " rounds, join VOCAB[i] for the last three ids.",
    ),
)
