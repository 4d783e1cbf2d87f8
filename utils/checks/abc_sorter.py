"""Exercises of lesson 09: attention whose Q/K/V weights are gated by factor pairs, its rate, and greedy sorting."""

import math
from dataclasses import replace

import torch
from torch import nn
from torch.nn import functional as F

from utils.exercise import filled
from utils.feedback import Float, batch_independent, case, causal, exercise, finite_when_loud, moves_with_its_module, remembers_nothing, rows_sum_to_one
from utils.observe import sealed
from utils.sorting import SEP, VOCAB, encode

_NAMES = ("q", "k", "v")


def _gate(A, B, temp=1.0):
    return F.softmax(torch.einsum("...er,...rd->...ed", A, B) / temp, dim=-1)


def _gated(A, B, base=None, temp=1.0):
    gate = _gate(A, B, temp)
    return gate if base is None else gate * base


def _weight_cases(rand):
    return [
        case(rand(2, 6, 3), rand(2, 3, 5)),
        case(rand(2, 4, 2), rand(2, 2, 3), base=rand(2, 4, 3)),
        case(rand(5, 2), rand(2, 4), base=rand(5, 4), temp=0.5),
        case(rand(3, 4, 6), rand(3, 6, 2), base=rand(3, 4, 2), temp=2.5),
    ]


exercise(
    "make_weight",
    oracle=_gated,
    cases=_weight_cases,
    returns=Float("... embed_dim d_head"),
    properties=[finite_when_loud()],
    misconceptions={
        "axis-from-the-front": (
            lambda A, B, base=None, temp=1.0: (1 if base is None else base) * F.softmax(A @ B / temp, dim=1),
            "The softmax runs along axis 1. That is the last one of a single matrix, and with heads in front it is the entries of the input. "
            "The outputs are always the last axis, so count from the end.",
        ),
        "first-axis": (
            lambda A, B, base=None, temp=1.0: (1 if base is None else base) * F.softmax(A @ B / temp, dim=0),
            "The softmax runs along axis 0, so that with heads in front the heads compete with each other. "
            "It is the outputs, along the last axis, that share one unit.",
        ),
        "log-softmax": (
            lambda A, B, base=None, temp=1.0: (1 if base is None else base) * F.log_softmax(A @ B / temp, dim=-1),
            "These are logarithms of shares, all of them negative. A gate is the share itself, between 0 and 1.",
        ),
        "base-divided": (
            lambda A, B, base=None, temp=1.0: (1 if base is None else base / _gate(A, B, temp) ** 2) * _gate(A, B, temp),
            "The base is divided by the gate, so what should be shut comes out largest. A gate near 0 must let next to nothing pass: multiply.",
        ),
        "gate-unused": (
            lambda A, B, base=None, temp=1.0: _gate(A, B, temp) if base is None else base,
            "Where there is a base it comes out as it went in, and the gate has no part in it. The gate decides how much of each entry passes.",
        ),
        "wrong-axis": (
            lambda A, B, base=None, temp=1.0: (1 if base is None else base) * F.softmax(A @ B / temp, dim=-2),
            "The softmax ran down the columns: each column of the gate sums to one. "
            "A row belongs to one entry of the input, and it is the row that shares one unit among the outputs.",
        ),
        "no-softmax": (
            lambda A, B, base=None, temp=1.0: (1 if base is None else base) * (A @ B) / temp,
            "This is the product of the factors without a softmax, so a gate can be negative and turn the sign of what it lets through. "
            "A gate is a share between 0 and 1.",
        ),
        "sigmoid": (
            lambda A, B, base=None, temp=1.0: (1 if base is None else base) * torch.sigmoid(A @ B / temp),
            "A sigmoid opens each gate by itself, so a row may sum to anything. "
            "In a softmax the outputs compete: what one gains, the others of its row lose.",
        ),
        "base-added": (
            lambda A, B, base=None, temp=1.0: _gate(A, B, temp) + (0 if base is None else base),
            "The base is added to the gate. A gate decides how much of the base passes, so it multiplies.",
        ),
        "base-ignored": (
            lambda A, B, base=None, temp=1.0: _gate(A, B, temp),
            "The base is not used: this is the strict variant whatever is passed. When there is a base, the gate multiplies it entry by entry.",
        ),
        "softmax-after-the-base": (
            lambda A, B, base=None, temp=1.0: F.softmax(A @ B / temp * (1 if base is None else base), dim=-1),
            "The base went in before the softmax, so the result is positive whatever the base is. "
            "Make the gate first and multiply afterwards: the sign must come from the base.",
        ),
        "temperature-multiplied": (
            lambda A, B, base=None, temp=1.0: _gated(A, B, base, 1 / temp),
            "You multiplied by the temperature. A high temperature must make the gate softer, so it divides.",
        ),
        "temperature-ignored": (
            lambda A, B, base=None, temp=1.0: _gated(A, B, base),
            "The temperature is not used. It divides the product of the factors before the softmax.",
        ),
        "temperature-after-the-softmax": (
            lambda A, B, base=None, temp=1.0: _gated(A, B, base) / temp,
            "The shares themselves are divided by the temperature, so a row no longer sums to one. It divides the product of the factors, before the softmax, and decides how sharp that is.",
        ),
        "softmax-of-each-factor": (
            lambda A, B, base=None, temp=1.0: (1 if base is None else base) * (F.softmax(A / temp, -1) @ F.softmax(B / temp, -1)),
            "Each factor went through a softmax of its own, and then they were multiplied. Rows sum to one this way too, "
            "but every row is now a mix of the same few rows of B: the gate can hardly be sharp. The softmax comes after the product.",
        ),
    },
    equivalent={
        "by-hand": lambda A, B, base=None, temp=1.0: (lambda e: (1 if base is None else base) * e / e.sum(-1, keepdim=True))((A @ B / temp - (A @ B / temp).amax(-1, keepdim=True)).exp()),
    },
    hints=(
        "Two steps: a table of shares from A and B, then, if there is a base, a product entry by entry.",
        "A @ B has the shape of the weight. Divide by temp, and let softmax turn each row into shares.",
        "softmax along dim -1 of A @ B / temp. That is the gate, and the result where there is no base; where there is one, multiply the two.",
    ),
)


def _sizes(embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
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


def _parameters(embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
    """As `_sizes`, and the temperature, which a function of the parameters cannot see."""
    return _sizes(embed_dim, num_heads, context_length, rank, temp, strict)


def _qkv(p, x, weight=_gated):
    return [torch.einsum("bse,hed->bhsd", x, weight(p[f"{n}A"], p[f"{n}B"], p.get(f"{n}_base"))) for n in _NAMES]


def _sees(x):
    return torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()


def _answer(qkv=_qkv, mask=_sees, scale=lambda q, x: q.shape[-1] ** -0.5, dim=-1, merge=lambda y: y.transpose(1, 2).flatten(2),
            out=lambda y, p: F.linear(y, p["o.weight"]), empty=0.0):
    """A forward pass with one step replaced. `empty` is what stands for the weights of a row in which all is hidden."""
    def answer(p, x, return_weights=False):
        q, k, v = qkv(p, x)
        scores = q @ k.mT * scale(q, x)
        blocked = mask(x)
        weights = F.softmax(scores if blocked is None else scores.masked_fill(~blocked, -torch.inf), dim=dim)
        weights = weights.nan_to_num(empty)
        y = out(merge(weights @ v), p)
        return (y, weights) if return_weights else y
    return answer


def _oracle(p, x, return_weights=False):
    q, k, v = _qkv(p, x)
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)
    y = F.linear(y, p["o.weight"])
    if not return_weights:
        return y
    eye = torch.eye(x.shape[1]).expand(*q.shape[:2], -1, -1)
    return y, F.scaled_dot_product_attention(q, k, eye, is_causal=True)


def _close(a, b):
    return isinstance(a, torch.Tensor) and a.shape == b.shape and torch.allclose(a.detach(), b, atol=1e-4)


def _temperature(probe):
    """`temp` reaches the gates: seen only by building the module with another one."""
    first = probe.trials[0]
    plain = {name: filled(name, shape, first.case.seed) for name, shape in (first.yours.parameters or {}).items()}
    if first.yours.failure or set(plain) != set(_sizes(*first.case.init)) or not _close(first.yours.value, _oracle(plain, *first.case.args)):
        return None  # wrong at temp=1 already: that has words of its own
    case = replace(first.case, init={"embed_dim": 6, "num_heads": 2, "context_length": 7, "temp": 0.5})
    seen = probe.run(case)
    if seen.failure:
        return None
    params = {name: filled(name, shape, case.seed) for name, shape in seen.parameters.items()}
    hot = {name: value * 2 if name in ("qA", "kA", "vA") else value for name, value in params.items()}
    if _close(seen.value, _oracle(hot, *case.args)):
        return None
    if _close(seen.value, _oracle(params, *case.args)):
        return "temp changes nothing: with temp=0.5 the result is the same as with 1. Keep it in __init__ and hand it to make_weight, for all three weights."
    return "With temp=0.5 the result is not what gates of that temperature give. The same temp goes into all three weights, once."


def _starts_somewhere(probe):
    """Numbers are drawn at the start: finite, other ones with another seed, the same with the same."""
    made = []
    for seed in (1, 1, 2):
        with sealed(seed):
            torch.empty(64).fill_(float("nan"))  # what uninitialised memory may well hold
            made.append(dict(probe.answer(6, 2, 7).named_parameters()))
    for name, first in made[0].items():
        if not first.isfinite().all() or torch.equal(first, made[2][name]) or not torch.equal(first, made[1][name]):
            return f"`{name}` is not drawn when the object is made: it starts with what happened to be in memory, or always with the same numbers. Fill it with small random ones."
    return None


_STRICT = {"embed_dim": 6, "num_heads": 3, "context_length": 5, "rank": 2, "strict": True}

exercise(
    "DeepQKVAttention",
    initial=_parameters,
    oracle=_oracle,
    cases=lambda rand: [
        case(rand(4, 7, 6), init=(6, 2, 7)),
        case(rand(3, 4, 8), init=(8, 4, 7), seed=1),
        case(rand(2, 5, 6), init=_STRICT, seed=2),
        case(rand(3, 4, 6), init=(6, 2, 7), seed=3, return_weights=True),
        case(rand(2, 3, 6), init=_STRICT, seed=4, return_weights=True), case(rand(2, 9, 6), init=(6, 3, 12), seed=5, train=True, note="in training"),
    ],
    returns=Float("batch seq embed_dim"),
    properties=[causal(), batch_independent(), rows_sum_to_one(part=1), moves_with_its_module, remembers_nothing, _temperature, _starts_somewhere, finite_when_loud(alone=True)],
    misconceptions={
        "sees-the-future": (
            _answer(mask=lambda x: None),
            "Nothing is masked: while the model writes the first sorted letter, it could read the other two. "
            "In training the answer stands in the sequence, and a position may look back only.",
        ),
        "mirror-image": (
            _answer(mask=lambda x: _sees(x).T),
            "The mask is the mirror image: each position sees itself and what comes after it. Rows ask, and may look back.",
        ),
        "future-alone": (
            _answer(mask=lambda x: _sees(x).T.logical_and(~_sees(x)), empty=torch.nan),
            "The mask is turned round: what may be seen was hidden, so a position sees the future alone, and the last one, which sees nothing, is nan.",
        ),
        "blind-to-itself": (
            _answer(mask=lambda x: _sees(x).tril(-1), empty=torch.nan),
            "A position does not see itself, so the first one sees nothing, and a softmax over nothing is nan. The diagonal belongs to what may be seen.",
        ),
        "not-scaled": (
            _answer(scale=lambda q, x: 1.0),
            "The scores are not divided by the root of the head's width.",
        ),
        "multiplied": (
            _answer(scale=lambda q, x: q.shape[-1] ** 0.5),
            "The scores were multiplied by the root of the head's width and should be divided by it. A dot product grows with that root as it is; now the softmax is sharper still, and picks one token.",
        ),
        "divided-by-the-width": (
            _answer(scale=lambda q, x: 1 / q.shape[-1]),
            "You divided by the head's width instead of by its root. The spread of a dot product grows with the root of the width.",
        ),
        "root-of-embed_dim": (
            _answer(scale=lambda q, x: x.shape[-1] ** -0.5),
            "You divided by the root of embed_dim. A head's dot product runs over embed_dim / num_heads entries, and their number is what counts.",
        ),
        "wrong-axis": (
            _answer(dim=-2),
            "The softmax ran down the columns. A row belongs to the position that asks.",
        ),
        "heads-run-together": (
            _answer(merge=lambda y: y.reshape(y.shape[0], y.shape[2], -1)),
            "The heads were merged without moving the head axis behind the positions first: reshape then strings together positions of one head. "
            "Each position must keep its own entries from every head.",
        ),
        "no-gate": (
            _answer(qkv=lambda p, x: _qkv(p, x, lambda A, B, base=None: A @ B if base is None else base)),
            "The weights are the base alone, and the factors do nothing. Each weight is made by make_weight, from A, B and the base.",
        ),
        "values-not-gated": (
            _answer(qkv=lambda p, x: [*_qkv(p, x)[:2], torch.einsum("bse,hed->bhsd", x, p["vA"] @ p["vB"] if p.get("v_base") is None else p["v_base"])]),
            "Queries and keys are made with gated weights, the values are not. All three weights come from make_weight.",
        ),
        "one-pair-for-all": (
            _answer(qkv=lambda p, x: _qkv({**p, **{f"{n}{half}": p[f"q{half}"] for n in "kv" for half in "AB"}}, x)),
            "Keys and values are made with the queries' factors. Each of the three has a pair of its own.",
        ),
        "output-layer-forgotten": (
            _answer(out=lambda y, p: y),
            "The heads are merged and returned without the output layer o. It is what lets the heads' results mix.",
        ),
        "query-and-key-swapped": (
            _answer(qkv=lambda p, x: [_qkv(p, x)[i] for i in (1, 0, 2)]),
            "Queries and keys have changed places. Row i holds what position i asks.",
        ),
        "a-base-in-the-strict-variant": (
            _oracle,
            "There is a base although strict is True. The strict variant has nothing but the factors: its weights are the gates themselves.",
            lambda embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False: _sizes(embed_dim, num_heads, context_length, rank),
        ),
        "never-a-base": (
            _oracle,
            "There is no base even when strict is False. Without one, every weight lies between 0 and 1 and each row sums to one.",
            lambda embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False: _sizes(embed_dim, num_heads, context_length, rank, strict=True),
        ),
        "a-bias-in-the-output-layer": (
            _oracle,
            "The output layer has a bias: nn.Linear adds one unless it is told not to. The sorter counts 36 numbers there, 6 × 6.",
            lambda embed_dim, *rest, **more: {**_sizes(embed_dim, *rest, **more), "o.bias": torch.zeros(embed_dim)},
        ),
    },
    hints=(
        "Nothing but the making of the three weights is new. The rest is lesson 05: heads, mask, softmax, mix, merge, output layer.",
        "A weight has the shape [heads, embed_dim, d_head], so x [batch, seq, embed_dim] times it should give [batch, heads, seq, d_head]: an einsum, "
        "or x with an axis for the heads.",
        "For each of q, k, v: torch.einsum(\"bse,hed->bhsd\", x, weight). Scores: q @ k transposed over the root of d_head; -inf where the mask is False; softmax; "
        "@ v; then transpose(1, 2), flatten(2), and o.",
    ),
)


def _rate(step, steps, base_lr, warmup_steps):
    if step < warmup_steps:
        return base_lr / warmup_steps * (step + 1)
    turned = math.pi * (step - warmup_steps) / (steps - warmup_steps)
    return base_lr * (0.55 + 0.45 * math.cos(turned))


def _seed_like(warm=lambda step, steps, base, warmup: base * (step + 1) / warmup, low=0.1, angle=None, far=None):
    """A rate with one piece replaced."""
    far = far or (lambda step, steps, warmup: (step - warmup) / (steps - warmup))
    angle = angle or (lambda t: math.pi * t)

    def rate(step, steps, base_lr, warmup_steps):
        if step < warmup_steps:
            return warm(step, steps, base_lr, warmup_steps)
        return base_lr * (low + (1 - low) * 0.5 * (1 + math.cos(angle(far(step, steps, warmup_steps)))))
    return rate


def _landmarks(probe):
    """Where the schedule must pass, said of the first step at which yours does not."""
    for trial in probe.trials:
        yours, wanted, (step, steps, base, warmup) = trial.yours.value, trial.expected.value, trial.case.args
        if not isinstance(yours, float) or abs(yours - wanted) < 1e-6 * base:
            continue
        t = (step - warmup) / (steps - warmup)
        where = (
            f"the first step of the warm-up takes the first of {warmup} equal stairs, for a rate of 0 would waste it" if step == 0 else
            f"the last step of the warm-up reaches base_lr = {base:g}" if step == warmup - 1 else
            f"the warm-up climbs in {warmup} equal stairs, and this is stair {step + 1}" if step < warmup else
            f"the warm-up is over, and the cosine starts from base_lr = {base:g}" if step == warmup else
            f"at the end a tenth of base_lr is left" if step == steps else
            f"here {t:.2f} of the way down is done, and half a cosine leads from base_lr to a tenth of it"
        )
        return f"lr_at({step}, {steps}, {base:g}, {warmup}) is {yours:.6g}, and {wanted:.6g} is expected: {where}."
    return None


exercise(
    "lr_at",
    oracle=_rate,
    cases=lambda rand: [
        case(step, steps, base, warmup)
        for steps, base, warmup in ((15000, 1e-3, 500), (300, 0.02, 30), (int(rand.integers(1, low=80, high=120)), 1.0, 7))
        for step in (0, warmup // 2, warmup - 1, warmup, (steps + warmup) // 2, steps - 1, steps)
    ],
    differentiable=False,
    properties=[_landmarks],
    atol=1e-7,
    misconceptions={
        "starts-at-zero": (
            _seed_like(warm=lambda step, steps, base, warmup: base * step / warmup),
            "The first step has a rate of 0 and learns nothing. Count the steps from one in the warm-up: the last warm-up step then reaches the full rate.",
        ),
        "no-warm-up": (
            _seed_like(warm=lambda step, steps, base, warmup: base),
            "The rate is at its full height from the first step. The warm-up climbs to it in equal steps.",
        ),
        "falls-to-zero": (
            _seed_like(low=0.0),
            "The cosine falls to 0. It is to end at a tenth of base_lr, so that the last steps still learn.",
        ),
        "wave-from-step-zero": (
            _seed_like(far=lambda step, steps, warmup: step / steps),
            "The cosine counts from step 0, so the rate drops at the end of the warm-up. It starts when the warm-up ends.",
        ),
        "full-turn": (
            _seed_like(angle=lambda t: 2 * math.pi * t),
            "The cosine makes a full turn: the rate falls and rises again. Half a turn, from 0 to pi, goes down once.",
        ),
        "degrees": (
            _seed_like(angle=lambda t: 180 * t),
            "The angle is in degrees; math.cos counts in radians, and half a turn is math.pi.",
        ),
        "straight-line": (
            lambda step, steps, base_lr, warmup_steps: base_lr * (step + 1) / warmup_steps if step < warmup_steps
            else base_lr * (1 - 0.9 * (step - warmup_steps) / (steps - warmup_steps)),
            "The rate falls along a straight line. The ends agree with the cosine's; in between the cosine stays high for longer.",
        ),
        "tenth-added": (
            lambda step, steps, base_lr, warmup_steps: base_lr * (step + 1) / warmup_steps if step < warmup_steps
            else base_lr * (0.1 + 0.5 * (1 + math.cos(math.pi * (step - warmup_steps) / (steps - warmup_steps)))),
            "The cosine part still has its full height of 1, and a tenth is added: the rate jumps to 1.1 × base_lr after the warm-up. "
            "Floor and wave share one unit: 0.1 and 0.9.",
        ),
    },
    hints=(
        "Draw it: a straight climb over warmup_steps, then half a cosine wave down to a tenth.",
        "In the warm-up: base_lr times (step + 1) / warmup_steps. After it: how far are you, from 0 to 1, on the way from the end of the warm-up to steps?",
        "With t from 0 to 1, half of 1 + cos(pi t) goes from 1 to 0. The rate is base_lr times (0.1 + 0.9 times that).",
    ),
)


class _Oddly(nn.Module):
    """A model that continues in its own odd way, and often likes the separator best: only asking it tells what it would say."""

    def __init__(self, rand):
        super().__init__()
        self.table = nn.Parameter(rand(7, 4, 4), requires_grad=False)

    def forward(self, tokens):
        """Logits [batch, seq, 4] that depend on the whole past."""
        seen = F.one_hot(tokens, 4).float() * torch.arange(1, tokens.shape[1] + 1)[None, :, None]
        past = seen.cumsum(1)
        logits = torch.einsum("bsv,svw->bsw", past, self.table[: tokens.shape[1]]).sin() * 3
        logits[..., SEP] += 2.0
        return logits


def _greedy(model, letters, take=lambda logits: logits[0, -1], forbid=True, grow=lambda ids, new: torch.cat([ids, new], 1), pick=torch.argmax,
            show=lambda ids: "".join(VOCAB[i] for i in ids[0, 4:].tolist())):
    ids, start = encode(letters), encode(letters)
    out = start
    for _ in range(3):
        logits = take(model(ids)).clone()
        if forbid:
            logits[SEP] = -torch.inf if pick is torch.argmax else torch.inf
        new = pick(logits).view(1, 1)
        ids, out = grow(ids, new), torch.cat([out, new], 1)
    return show(out)


def _by_topk(model, letters):
    ids = encode(letters)
    while ids.shape[1] < 7:
        best = model(ids)[0, -1, 1:].topk(1).indices + 1
        ids = torch.cat([ids, best[None]], dim=1)
    return "".join(VOCAB[int(i)] for i in ids[0, 4:])


def _three_letters(probe):
    """Three letters, none of them the separator."""
    for trial in probe.trials:
        yours, letters = trial.yours.value, trial.case.args[1]
        if not isinstance(yours, str) or yours == trial.expected.value:
            continue
        if len(yours) != 3:
            return f"For {letters!r} yours is {yours!r}, of length {len(yours)}. The model is asked three times, and what it says each time is one letter of the answer."
        if any(c not in "abc" for c in yours):
            return f"For {letters!r} yours is {yours!r}: the separator was written, or something was decoded that is no letter. What is asked for are letters."
    return None


exercise(
    "sort_letters",
    oracle=_by_topk,
    cases=lambda rand: [case(_Oddly(rand), letters, note="with a model that does not sort") for letters in ("cab", "bba", "acc", "abc", "bcb", "aab")],
    differentiable=False,
    properties=[_three_letters],
    misconceptions={
        "separator-not-forbidden": (
            lambda model, letters: _greedy(model, letters, forbid=False),
            "The separator was chosen as an output. After the four tokens of the prompt only letters make sense: "
            "give the separator a logit of minus infinity before you choose.",
        ),
        "sorts-by-itself": (
            lambda model, letters: "".join(sorted(letters)),
            "This sorts with Python and never asks the model. What the model would write is the question, also when it is wrong.",
        ),
        "reads-the-first-position": (
            lambda model, letters: _greedy(model, letters, take=lambda logits: logits[0, 0]),
            "You read the logits of the first position: what would follow the first letter. The next token follows the last position.",
        ),
        "never-appends": (
            lambda model, letters: _greedy(model, letters, grow=lambda ids, new: ids),
            "The model sees the same four tokens each time, so it gives the same letter three times. Append what it chose, and ask again.",
        ),
        "all-at-once": (
            lambda model, letters: (lambda ids: "".join(VOCAB[i] for i in (model(ids)[0, 1:4, 1:].argmax(-1) + 1).tolist()))(encode(letters)),
            "You took three positions of one pass. The model has not seen its own first letter when it is asked for the second: one pass for each letter.",
        ),
        "whole-sequence": (
            lambda model, letters: _greedy(model, letters, show=lambda ids: "".join(VOCAB[i] for i in ids[0].tolist())),
            "This is the whole sequence, with the letters that were typed and the separator. Only the last three are the answer.",
        ),
        "ids-not-letters": (
            lambda model, letters: _greedy(model, letters, show=lambda ids: ids[0, 4:].tolist()),
            "These are ids. VOCAB turns each into its letter; the answer is a string of three.",
        ),
        "least-likely": (
            lambda model, letters: _greedy(model, letters, pick=torch.argmin),
            "You chose the least likely letter. Greedy means the one with the highest logit.",
        ),
    },
    hints=(
        "Three passes through the model, one for each letter that it writes. What does the second pass see that the first did not?",
        "encode(letters) gives ids [1, 4]. model(ids)[0, -1] are the logits for what comes next: four numbers, one of them for the separator.",
        "Set the logit at SEP to -inf, take argmax, append it to ids with torch.cat along dim 1; after three rounds join VOCAB[i] for the last three ids.",
    ),
)
