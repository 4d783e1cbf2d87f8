"""Exercises of lesson 05: several heads, side by side and in one product, and what heads of a GPT-2 look at."""

import torch
from torch import nn
from torch.nn import functional as F

from utils import gpt2
from utils.feedback import Float, batch_independent, case, causal, exercise, finite_when_loud, linear, moves_with_its_module, remembers_nothing, rows_sum_to_one

_QKV = ("W_query", "W_key", "W_value")


def _sees(n):
    return torch.arange(n)[:, None] >= torch.arange(n)


def _drop(p, weights):
    return F.dropout(weights, p.init["dropout"], p.training)


def _weigh(p, q, k, scale=None, sees=_sees, dim=-1):
    """Weights [..., seq, seq] of queries and keys [..., seq, d_head], dropped where the module trains."""
    scores = q @ k.mT * (k.shape[-1] ** -0.5 if scale is None else scale)
    return _drop(p, F.softmax(scores.masked_fill(~sees(q.shape[-2]).to(q.device), -torch.inf), dim=dim))


# ---------------------------------------------------------------- heads side by side


def _wrapper_parameters(d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
    heads = [linear(**{n: nn.Linear(d_in, d_out, bias=qkv_bias) for n in _QKV}) for _ in range(num_heads)]
    return {f"heads.{i}.{name}": value for i, head in enumerate(heads) for name, value in head.items()}


def _head(p, x, i, **how):
    q, k, v = (F.linear(x, p[f"heads.{i}.{n}.weight"], p.get(f"heads.{i}.{n}.bias")) for n in _QKV)
    return _weigh(p, q, k, **how) @ v


def _by_torch(p, x, i):
    q, k, v = (F.linear(x, p[f"heads.{i}.{n}.weight"], p.get(f"heads.{i}.{n}.bias")) for n in _QKV)
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=p.init["dropout"] if p.training else 0.0)


def _heads(p):
    return range(p.init["num_heads"])


def _narrow(d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
    return _wrapper_parameters(d_in, max(1, d_out // num_heads), context_length, dropout, num_heads, qkv_bias)


exercise(
    "MultiHeadAttentionWrapper",
    initial=_wrapper_parameters,
    oracle=lambda p, x: torch.cat([_by_torch(p, x, i) for i in _heads(p)], dim=-1),
    cases=lambda rand: [
        case(rand(2, 5, 3), init=(3, 2, 5, 0.0, 3)),
        case(rand(3, 2, 4), init={"d_in": 4, "d_out": 3, "context_length": 6, "dropout": 0.5, "num_heads": 2, "qkv_bias": True}, seed=1, note="shorter than the context"),
        case(rand(2, 4, 3), init=(3, 5, 4, 0.5, 2), train=True, seed=2, note="in training"),
        case(rand(2, 3, 3), init=(3, 2, 6, 0.0, 2), fill=False, seed=123, note="with the weights as __init__ makes them after manual_seed(123)"),
    ],
    returns=Float("batch seq width"),
    properties=[causal(), batch_independent(), moves_with_its_module, remembers_nothing],
    misconceptions={
        "added": (
            lambda p, x: sum(_head(p, x, i) for i in _heads(p)),
            "The heads' results are added up, so that nobody can tell any more which head said what. They stand side by side: each keeps its own entries.",
        ),
        "averaged": (
            lambda p, x: torch.stack([_head(p, x, i) for i in _heads(p)]).mean(0),
            "You took the mean of the heads. Where one found something and the others did not, it is diluted; side by side, what each found is kept.",
        ),
        "one-head-repeated": (
            lambda p, x: torch.cat([_head(p, x, 0) for _ in _heads(p)], dim=-1),
            "The same head answers every time. A list made by multiplying one module repeats that one module; each head needs weights of its own.",
        ),
        "in-a-row": (
            lambda p, x: torch.cat([_head(p, x, i) for i in _heads(p)], dim=1),
            "The results were strung together along the positions, which makes the text longer. They belong side by side, along the last axis.",
        ),
        "stacked": (
            lambda p, x: torch.stack([_head(p, x, i) for i in _heads(p)], dim=-1),
            "The results were stacked along a new axis. What follows expects one vector for each position: join them along the last axis.",
        ),
        "last-head-only": (
            lambda p, x: _head(p, x, p.init["num_heads"] - 1),
            "Only the last head's result is returned. Every head has looked at something else, and all of it is wanted.",
        ),
        "split-d_out": (
            lambda p, x: torch.cat([_head(p, x, i) for i in _heads(p)], dim=-1),
            "Each head is only d_out / num_heads wide. In the wrapper every head has the full d_out, so the result has num_heads × d_out entries; "
            "the next class shares d_out among the heads.",
            _narrow,
        ),
        "sees-the-future": (
            lambda p, x: torch.cat([_head(p, x, i, sees=lambda n: torch.ones(n, n).bool()) for i in _heads(p)], dim=-1),
            "The heads see the future. Use CausalAttention for each, which hides it.",
        ),
    },
    hints=(
        "A head is a CausalAttention. How do you keep several modules, so that their weights are trained?",
        "An nn.ModuleList of num_heads separate CausalAttention in heads; forward asks each of them and joins what they say.",
        "torch.cat joins a list of tensors; along dim=-1 they stand side by side. Each head is made by a call of its own.",
    ),
)

# ---------------------------------------------------------------- one tensor, many heads


exercise(
    "split_heads",
    oracle=lambda x, num_heads: torch.stack(x.chunk(num_heads, dim=-1), dim=-3),
    cases=lambda rand: [case(rand(2, 5, 6), 3), case(rand(3, 4, 8), 2), case(rand(1, 3, 10), 5), case(rand(2, 4, 4), 4)],
    returns=Float("batch num_heads seq d_head"),
    misconceptions={
        "view-without-transpose": (
            lambda x, num_heads: x.reshape(x.shape[0], num_heads, x.shape[1], -1),
            "The shape is right and the numbers are dealt out wrongly: the view runs through the text row by row, so head 0 got whole vectors of the "
            "first positions instead of its slice of every position. First cut the width, then let positions and heads change places.",
        ),
        "not-transposed": (
            lambda x, num_heads: x.unflatten(-1, (num_heads, -1)),
            "The width is cut into heads, and the heads stand behind the positions. A product over positions needs [seq, d_head] as the last two axes: "
            "let positions and heads change places.",
        ),
        "interleaved": (
            lambda x, num_heads: x.unflatten(-1, (-1, num_heads)).permute(0, 3, 1, 2),
            "Each head got every num_heads-th entry. A head's entries are neighbours: head 0 has the first d_head, head 1 the next.",
        ),
        "heads-in-front": (
            lambda x, num_heads: torch.stack(x.chunk(num_heads, dim=-1)),
            "The heads stand in front of the batch. The order is batch, heads, positions, width of a head.",
        ),
        "width-before-positions": (
            lambda x, num_heads: x.unflatten(-1, (num_heads, -1)).permute(0, 2, 3, 1),
            "The last two axes have changed places: [d_head, seq] instead of [seq, d_head].",
        ),
        "positions-split": (
            lambda x, num_heads: torch.stack([x] * num_heads, dim=1),
            "Every head got the whole width. The width is shared out: a head has d_out / num_heads entries.",
        ),
    },
    hints=(
        "Take one position of 6 entries and 3 heads. Which entries belong to head 1?",
        "Two steps: view the last axis as two, num_heads and d_head; then let two axes change places.",
        "x.view(batch, seq, num_heads, -1) cuts the width; transpose(1, 2) brings the heads before the positions.",
    ),
)

exercise(
    "merge_heads",
    oracle=lambda x: torch.cat(x.unbind(dim=-3), dim=-1),
    cases=lambda rand: [case(rand(2, 3, 5, 2)), case(rand(3, 2, 4, 4)), case(rand(1, 5, 3, 2)), case(rand(2, 4, 4, 3))],
    returns=Float("batch seq d_out"),
    misconceptions={
        "not-transposed": (
            lambda x: x.reshape(x.shape[0], x.shape[2], -1),
            "The shape is right and the vectors are scrambled: without letting heads and positions change places first, a row holds several positions of one head. "
            "It must hold all heads of one position.",
        ),
        "interleaved": (
            lambda x: x.permute(0, 2, 3, 1).flatten(2),
            "The heads' entries are shuffled into each other. A position's vector is head 0's entries, then head 1's, and so on.",
        ),
        "added": (
            lambda x: x.sum(1),
            "The heads are added up. They stand side by side, so that each keeps its own entries.",
        ),
        "averaged": (
            lambda x: x.mean(1),
            "The heads are averaged. They stand side by side, so that what one found is not diluted.",
        ),
        "still-split": (
            lambda x: x.transpose(1, 2),
            "Heads and positions have changed places; the heads are still an axis of their own. Flatten the last two.",
        ),
        "positions-merged": (
            lambda x: x.flatten(2),
            "You joined the positions with the width, and the heads are left. What goes on is one vector for each position.",
        ),
    },
    hints=(
        "It undoes split_heads. What was the last thing that split_heads did?",
        "First let heads and positions change places again, then join the last two axes.",
        "transpose(1, 2), then flatten(2). A plain view would complain here, because transposing leaves the numbers where they are in memory.",
    ),
)


def _multi_parameters(d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
    if d_out % num_heads:
        raise ValueError("d_out must be divisible by num_heads")
    made = linear(**{n: nn.Linear(d_in, d_out, bias=qkv_bias) for n in _QKV})
    return made | linear(out_proj=nn.Linear(d_out, d_out))


def _multi(
    weigh=lambda p, q, k, d_out: _weigh(p, q, k), split=lambda x, h: x.unflatten(-1, (h, -1)).transpose(1, 2), merge=lambda x: x.transpose(1, 2).flatten(2),
    out=lambda p, x: F.linear(x, p["out_proj.weight"], p["out_proj.bias"]), order=(0, 1, 2),
):
    """A forward pass with one step replaced."""
    def answer(p, x):
        heads = p.init["num_heads"]
        made = [split(F.linear(x, p[f"{n}.weight"], p.get(f"{n}.bias")), heads) for n in _QKV]
        q, k, v = (made[i] for i in order)
        return out(p, merge(weigh(p, q, k, p.init["d_out"]) @ v))
    return answer


def _multi_by_torch(p, x):
    q, k, v = (torch.stack(F.linear(x, p[f"{n}.weight"], p.get(f"{n}.bias")).chunk(p.init["num_heads"], -1), 1) for n in _QKV)
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=p.init["dropout"] if p.training else 0.0)
    return F.linear(torch.cat(mixed.unbind(1), -1), p["out_proj.weight"], p["out_proj.bias"])


def _any_width(d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
    return linear(**{n: nn.Linear(d_in, d_out, bias=qkv_bias) for n in _QKV}) | linear(out_proj=nn.Linear(d_out, d_out))


def _always(bias):
    return lambda d_in, d_out, context_length, dropout, num_heads, qkv_bias=False: _multi_parameters(d_in, d_out, context_length, dropout, num_heads, bias)


exercise(
    "MultiHeadAttention",
    initial=_multi_parameters,
    oracle=_multi_by_torch,
    cases=lambda rand: [
        case(rand(2, 5, 3), init=(3, 6, 5, 0.0, 3)),
        case(rand(3, 2, 5), init={"d_in": 5, "d_out": 8, "context_length": 6, "dropout": 0.5, "num_heads": 2, "qkv_bias": True}, seed=1, note="shorter than the context"),
        case(rand(2, 4, 3), init=(3, 4, 7, 0.5, 2), train=True, seed=2, note="in training"),
        case(rand(2, 3, 3), init=(3, 2, 6, 0.0, 2), fill=False, seed=123, note="with the weights as __init__ makes them after manual_seed(123)"),
        case(rand(2, 3, 3), init=(3, 5, 4, 0.0, 2), seed=4, note="with a d_out that the heads cannot share"),
    ],
    returns=Float("batch seq d_out"),
    properties=[causal(), batch_independent(), moves_with_its_module, remembers_nothing, finite_when_loud(alone=True)],
    misconceptions={
        "view-without-transpose": (
            _multi(split=lambda x, h: x.reshape(x.shape[0], h, x.shape[1], -1)),
            "The heads are made by a view alone, which deals whole vectors of the first positions to head 0. Cut the width first, then let positions and "
            "heads change places; your split_heads does it.",
        ),
        "merged-without-transpose": (
            _multi(merge=lambda x: x.reshape(x.shape[0], x.shape[2], -1)),
            "The heads were joined without letting heads and positions change places again, so a row holds several positions of one head. Your merge_heads does it.",
        ),
        "root-of-d_out": (
            _multi(weigh=lambda p, q, k, d_out: _weigh(p, q, k, scale=d_out**-0.5)),
            "You divided by the root of d_out. A head's dot product runs over d_out / num_heads entries, and their number counts.",
        ),
        "not-scaled": (
            _multi(weigh=lambda p, q, k, d_out: _weigh(p, q, k, scale=1.0)),
            "The scores are not divided by the root of the head's width, so the softmax is too sharp.",
        ),
        "wrong-axis": (
            _multi(weigh=lambda p, q, k, d_out: _weigh(p, q, k, dim=-2).nan_to_num(0.0)),
            "Softmax ran down the columns. A row belongs to the position that asks, and it shares out one unit.",
        ),
        "over-the-heads": (
            _multi(weigh=lambda p, q, k, d_out: _drop(p, F.softmax(q @ k.mT * k.shape[-1] ** -0.5, dim=1) * _sees(q.shape[-2]))),
            "Softmax ran over the heads, so that they compete for each pair of positions. Each head shares out a unit of its own in every row.",
        ),
        "multiplied": (
            _multi(weigh=lambda p, q, k, d_out: _weigh(p, q, k, scale=k.shape[-1] ** 0.5)),
            "The scores were multiplied by the root of the head's width and should be divided by it. A dot product grows with that root as it is; now the softmax is sharper still, and picks one token.",
        ),
        "sees-the-future": (
            _multi(weigh=lambda p, q, k, d_out: _weigh(p, q, k, sees=lambda n: torch.ones(n, n).bool())),
            "Nothing is hidden: every position sees the future, in all heads.",
        ),
        "true-means-blocked": (
            _multi(weigh=lambda p, q, k, d_out: _weigh(p, q, k, sees=lambda n: ~_sees(n) | torch.eye(n).bool())),
            "The mask is turned round: a position sees itself and what comes after. True means may attend.",
        ),
        "no-out_proj": (
            _multi(out=lambda p, x: x),
            "The heads stand side by side and out_proj is not used. It is what lets the heads' results mix; without it no entry hears of another head.",
        ),
        "heads-averaged": (
            _multi(merge=lambda x: x.mean(1).repeat(1, 1, x.shape[1])),
            "The heads' results were averaged. They stand side by side, each with its own entries.",
        ),
        "query-and-key-swapped": (
            _multi(order=(1, 0, 2)),
            "Queries and keys have changed places. Row i holds what position i asks: its query against all keys.",
        ),
        "no-dropout": (
            _multi(weigh=lambda p, q, k, d_out: F.softmax((q @ k.mT * k.shape[-1] ** -0.5).masked_fill(~_sees(q.shape[-2]), -torch.inf), -1)),
            "Nothing is dropped in training. The dropout acts on the weights of every head, between softmax and mix.",
        ),
        "any-width-accepted": (
            _multi_by_torch,
            "A d_out of 5 for 2 heads was accepted. The heads share the width evenly, so it must be divisible by their number: refuse it in __init__, with a sentence.",
            _any_width,
        ),
        "always-a-bias": (
            _multi_by_torch,
            "The three layers have biases although qkv_bias is False: nn.Linear adds one unless it is told not to.",
            _always(True),
        ),
    },
    hints=(
        "It is CausalAttention with a split after the three layers and a merge before the last one.",
        "One W_query, W_key and W_value of width d_out for all heads. split_heads each result; everything up to the mix runs over the last two axes as before.",
        "scores: queries @ keys transposed on the last two axes, over the root of the head's width; -inf where mask is False; softmax; dropout; @ values; "
        "then merge_heads, then out_proj. Refuse an indivisible d_out in __init__.",
    ),
)

# ---------------------------------------------------------------- the heads of a GPT-2

_PROMPTS = (
    "Mary had a book", "One day Tom went home", "John and Anna saw a cat", "Tom gave the ball to", "one two three four five",
    "Lucy was at the store", "The dog ran to Sam", "Emma likes green apples",
)


def _pattern(prompt, head, q_bias=True, k_bias=True, scale=None, mask=True, swap=False, dim=-1):
    tokens, x = gpt2.get_pre_attn(prompt)
    W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
    q, k = x @ W_Q + (b_Q if q_bias else 0), x @ W_K + (b_K if k_bias else 0)
    scores = (k @ q.T if swap else q @ k.T) * (W_Q.shape[1] ** -0.5 if scale is None else scale(W_Q))
    return F.softmax(scores.masked_fill(~_sees(len(tokens)), -torch.inf) if mask else scores, dim=dim)


def _by_sdpa(prompt, n_heads):
    tokens, x = gpt2.get_pre_attn(prompt)
    made = [gpt2.get_split_l0_heads(head, bias=True) for head in range(n_heads)]
    q, k = (torch.stack([x @ one[i] + one[i + 2] for one in made]) for i in (0, 1))
    return F.scaled_dot_product_attention(q, k, torch.eye(len(tokens)).expand(n_heads, -1, -1), is_causal=True)


def _all(**how):
    return lambda prompt, n_heads: torch.stack([_pattern(prompt, head, **how) for head in range(n_heads)])


exercise(
    "all_head_patterns",
    oracle=_by_sdpa,
    cases=lambda rand: [case(_PROMPTS[int(i)], n) for i, n in zip(torch.randperm(8, generator=rand.generator), (4, 3))],
    returns=Float("n_heads seq seq"),
    properties=[rows_sum_to_one()],
    differentiable=False,
    atol=2e-6,
    misconceptions={
        "no-biases": (
            _all(q_bias=False, k_bias=False),
            "The queries' bias is left out, so these are not quite GPT-2's patterns. "
            "It favours the same keys in every row. get_split_l0_heads gives it, and the keys', with bias=True.",
        ),
        "not-scaled": (
            _all(scale=lambda W_Q: 1.0),
            "The scores are not divided by the root of the head's width; the patterns are too sharp.",
        ),
        "root-of-d_model": (
            _all(scale=lambda W_Q: W_Q.shape[0] ** -0.5),
            "You divided by the root of d_model. A head's queries and keys are d_head wide, the second axis of W_Q.",
        ),
        "sees-the-future": (
            _all(mask=False),
            "The future is not hidden. GPT-2 masks it in every head, so the upper right of each pattern is 0.",
        ),
        "head-0-every-time": (
            lambda prompt, n_heads: torch.stack([_pattern(prompt, 0)] * n_heads),
            "Head 0 is shown n_heads times. Ask get_split_l0_heads for each head.",
        ),
        "one-head-only": (
            lambda prompt, n_heads: _pattern(prompt, n_heads - 1),
            "Only one head's pattern is returned. Collect all of them and stack them along a new first axis.",
        ),
        "query-and-key-swapped": (
            _all(swap=True),
            "Queries and keys have changed places: row i must hold what position i asks.",
        ),
        "wrong-axis": (
            _all(dim=-2),
            "The softmax ran down the columns. A row belongs to the position that asks.",
        ),
    },
    equivalent={
        # What it adds to a row is one number for the whole row, and softmax does not see it.
        "no-key-bias": _all(k_bias=False),
        "ones-appended": lambda prompt, n_heads: torch.stack([_with_ones(prompt, head) for head in range(n_heads)]),
    },
    hints=(
        "For one head you have all you need: what goes into attention from get_pre_attn, the weights and biases from get_split_l0_heads.",
        "queries are x @ W_Q + b_Q, keys likewise; causal_attn_weights makes weights of their scores. Do it for each head and stack.",
        "Call get_split_l0_heads(head, bias=True) for head in range(n_heads); scores are queries @ keys.T and d_k is W_K.shape[-1]; torch.stack makes [n_heads, seq, seq].",
    ),
)


def _with_ones(prompt, head):
    tokens, x = gpt2.get_pre_attn(prompt)
    W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
    x = torch.cat((x, torch.ones(len(x), 1)), dim=-1)
    q, k = x @ torch.cat((W_Q, b_Q[None])), x @ torch.cat((W_K, b_K[None]))
    return F.softmax((q @ k.T / W_Q.shape[1] ** 0.5).masked_fill(~_sees(len(x)), -torch.inf), -1)


_KINDS = ("previous", "current", "first")


def _kind(pattern, bar=1.4, start=2, rows=None, measure=None):
    at = torch.arange(start, len(pattern)) if rows is None else rows(pattern)
    means = torch.stack([pattern[at, at - 1].mean(), pattern[at, at].mean(), pattern[at, 0].mean()]) if measure is None else measure(pattern, at)
    uniform = (1 / (at + 1.0)).mean()
    return _KINDS[int(means.argmax())] if means.max() >= bar * uniform else "other"


def _head_kind(pattern):
    """By sums over the diagonals of the table without its first two rows."""
    rows = pattern.double()[2:]
    n = len(rows)
    sums = {"previous": rows.diagonal(1).sum(), "current": rows.diagonal(2).sum(), "first": rows[:, 0].sum()}
    best = max(sums, key=sums.get)
    return best if sums[best] / n >= 1.4 * sum(1 / (i + 3) for i in range(n)) / n else "other"


def _like(kind, seq, strength, rand):
    """A random causal pattern that puts `strength` more on one kind of place."""
    scores = rand(seq, seq, scale=0.3)
    at = torch.arange(seq)
    column = {"previous": (at - 1).clamp_min(0), "current": at, "first": torch.zeros_like(at)}[kind]
    scores[at, column] += strength
    return scores.masked_fill(~_sees(seq), -torch.inf).softmax(-1)


def _upper_first(seq, rand):
    """Rows 0 and 1 cannot tell the kinds apart; here they would outvote the others."""
    pattern = _like("previous", seq, 1.1, rand)
    pattern[0], pattern[1] = 0.0, 0.0
    pattern[0, 0], pattern[1, 0] = 1.0, 1.0
    return pattern


def _one_row_decides(row):
    """Uniform but for one row, which looks at the first token alone."""
    pattern = torch.ones(4, 4).tril() / torch.arange(1, 5)[:, None]
    pattern[row] = torch.tensor([1.0, 0.0, 0.0, 0.0])
    return pattern


def _means(probe):
    """What was to be compared, for the first pattern that got another name."""
    for trial in probe.trials:
        yours, (pattern,) = trial.yours.value, trial.case.args
        if not isinstance(yours, str) or yours == trial.expected.value:
            continue
        at = torch.arange(2, len(pattern))
        means = ", ".join(f"{m:.3f} on {kind}" for kind, m in zip(_KINDS, (pattern[at, at - 1].mean(), pattern[at, at].mean(), pattern[at, 0].mean())))
        uniform = float((1 / (at + 1.0)).mean())
        return (
            f"You called a pattern of {len(pattern)} positions{f' ({trial.case.note})' if trial.case.note else ''} {yours!r}. From row 2 on its mean weights are {means}, "
            f"and uniform has {uniform:.3f}, 1.4 times of which is {1.4 * uniform:.3f}: {trial.expected.value!r}."
        )
    return None


exercise(
    "head_kind",
    oracle=_head_kind,
    cases=lambda rand: [
        *(case(_like(kind, seq, strength, rand)) for kind, seq in zip(_KINDS, (9, 6, 12)) for strength in (0.9, 3.0)),
        case(_like("current", 8, 0.0, rand), note="with no favourite place"), case(_like("first", 10, 0.25, rand), note="with next to no favourite"),
        case(_upper_first(5, rand), note="of five positions"), *(case(torch.ones(n, n).tril() / torch.arange(1, n + 1)[:, None], note="that is uniform") for n in (7, 4)),
        case(_one_row_decides(2), note="whose row 2 decides"), case(_one_row_decides(1), note="whose row 1 must not decide"),
    ],
    differentiable=False,
    properties=[_means],
    misconceptions={
        "row-1-counted": (
            lambda pattern: _kind(pattern, start=1),
            "Row 1 is counted. There the previous position is also the first one, so that one weight votes twice; from row 2 on the three places are distinct.",
        ),
        "row-2-skipped": (
            lambda pattern: _kind(pattern, start=3),
            "Row 2 is not counted. Counting from 0 it is the first row in which the previous position, the current one and the first one are three places.",
        ),
        "never-other": (
            lambda pattern: _kind(pattern, bar=0.0),
            "Every pattern gets one of the three names, even a uniform one. A head is only called by its favourite place if it puts at least 1.4 times there "
            "what a uniform pattern would.",
        ),
        "bar-of-one": (
            lambda pattern: _kind(pattern, bar=1.0),
            "A little more than uniform is enough for you, and chance makes that all the time. The bar is 1.4 times uniform.",
        ),
        "all-rows": (
            lambda pattern: _kind(pattern, start=0, measure=lambda p, at: torch.stack([p.diagonal(-1).sum() / len(p), p.diagonal().mean(), p[:, 0].mean()])),
            "Rows 0 and 1 are counted. In row 0 there is one place only, and in row 1 the previous position is the first one; from row 2 on the three are distinct.",
        ),
        "bar-one-over-seq": (
            lambda pattern: (lambda at, m: _KINDS[int(m.argmax())] if m.max() >= 1.4 / len(pattern) else "other")(
                *(lambda at: (at, torch.stack([pattern[at, at - 1].mean(), pattern[at, at].mean(), pattern[at, 0].mean()])))(torch.arange(2, len(pattern)))),
            "You compare with 1 / seq. A causal row i has i + 1 places to share among, so uniform is 1 / (i + 1), and its mean over the rows is more.",
        ),
        "looks-down-the-columns": (
            lambda pattern: _kind(pattern.T.contiguous()),
            "You read the pattern by its columns. A row belongs to the position that asks: where it looks stands along the row.",
        ),
        "last-row-only": (
            lambda pattern: _kind(pattern, rows=lambda p: torch.tensor([len(p) - 1])),
            "Only the last row was read. One row is chance; take the mean over all rows from 2 on.",
        ),
        "next-for-previous": (
            lambda pattern: _kind(pattern, measure=lambda p, at: torch.stack([p[at - 1, at].mean(), p[at, at].mean(), p[at, 0].mean()])),
            "You looked one place to the right of the diagonal, at the next position, where a causal pattern is 0. The previous position of row i is column i - 1.",
        ),
    },
    hints=(
        "For each row from 2 on, three weights count: in the column before it, in its own, and in column 0. Take the mean of each over the rows.",
        "If rows holds 2, 3 … up to the last row, pattern[rows, rows - 1] are the weights on the previous position. What would a uniform row i have there?",
        "Uniform has (1 / (rows + 1)).mean(). Take the largest of the three means; if it is at least 1.4 times that, return its name, else \"other\".",
    ),
)
