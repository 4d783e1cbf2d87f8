"""Exercises of lesson 05: several heads, side by side and in one product, and what heads of a GPT-2 look at."""

import functools

import torch
from torch import nn
from torch.nn import functional as F

from utils import gpt2
from utils.checks._attention import (
    CAUSAL_LAYER,
    WORDS,
    apply_dropout,
    attention_weights,
    causal_mask,
    divided_by_width_message,
    future_mask,
    ignored_qkv_bias_misconceptions,
    initialisation_case,
    make_causal_attention,
    multiplied_by_root_message,
    project_qkv,
    qkv_parameters,
    restrict_to_cases,
    scale_by_length,
    torch_attention,
    torch_causal_attention,
)
from utils.checks._dropout import DROPOUT, dropout_misconceptions, make_dropout, make_dropout_parser
from utils.checks._layer_order import made_in_order
from utils.feedback.exercise import Float, Hints, Wrong, case, exercise, layer_parameters
from utils.feedback.properties import finite_when_scaled, rows_sum_to_one, slopes_agree
from utils.gpt2.sources import find_source

# ---------------------------------------------------------------- heads side by side


def _wrapper(d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
    made = [qkv_parameters(d_in, d_out, qkv_bias) for _ in range(num_heads)]
    return {f"heads.{i}.{name}": value for i, head in enumerate(made) for name, value in head.items()}


def _narrow(d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
    return _wrapper(d_in, d_out // num_heads, context_length, dropout, num_heads, qkv_bias)


def _one_head(d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
    return _wrapper(d_in, d_out, context_length, dropout, 1, qkv_bias)


def _swapped(d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
    """As if dropout and qkv_bias were handed on in the other order."""
    return _wrapper(d_in, d_out, context_length, float(qkv_bias), num_heads, bool(dropout))


def _head(p, x, i):
    return torch_causal_attention(p, *project_qkv(p, x, prefix=f"heads.{i}."))


def _head_without_dropout(p, x, i):
    return torch_attention(*project_qkv(p, x, prefix=f"heads.{i}."), is_causal=True)


def _wrapper_mixed(p, x, keep):
    """The result without dropout, each weight multiplied by keep [batch, heads, seq, seq]."""

    def head(i):
        return make_causal_attention(
            lambda p, x: project_qkv(p, x, prefix=f"heads.{i}."),
            transform_weights=lambda p, weights, mask: weights * keep[:, i],
        )(p, x)

    return _side_by_side([head(i) for i in range(p.init_args["num_heads"])])


class _Head(nn.Module):
    def __init__(self, d_in, d_out, dropout, bias):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=bias) for _ in range(3))
        self.dropout = dropout

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return F.dropout(attention_weights(q, k, causal_mask(x.shape[1])), self.dropout, self.training) @ v


class _InAList(nn.Module):
    """The lesson's class but for one thing: the heads stand in a plain list."""

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = [_Head(d_in, d_out, dropout, qkv_bias) for _ in range(num_heads)]

    def forward(self, x):
        return _side_by_side([head(x) for head in self.heads])


def _heads_start_apart(probe):
    """Each head draws its own first weights: copies of one head would all begin alike."""
    seen = probe.run(case(torch.zeros(1, 2, 3), init=(3, 2, 4, 0.0, 2), fill=False), state=True)
    first, second = ((seen.state or {}).get(f"heads.{i}.W_query.weight") for i in (0, 1))
    if first is None or second is None or not torch.equal(first, second):
        return None
    return (
        "All heads start with the same weights, as copies of one head do. Make each of them anew, so that each draws"
        " its own."
    )


_side_by_side = functools.partial(torch.cat, dim=-1)


def _joined(join, which=lambda num_heads: range(num_heads), head=_head):
    """An answer that joins the results of these heads."""
    return lambda p, x: join([head(p, x, i) for i in which(p.init_args["num_heads"])])


exercise(
    "MultiHeadAttentionWrapper",
    initial_parameters=_wrapper,
    oracle=_joined(_side_by_side),
    cases=lambda rand: [
        case(rand(2, 5, 4), init=(4, 3, 5, 0.0, 3)),
        case(
            rand(3, 2, 4),
            init={"d_in": 4, "d_out": 3, "context_length": 6, "dropout": 0.5, "num_heads": 2, "qkv_bias": True},
            seed=1,
            note="shorter than the context",
        ),
        case(rand(1, 1, 3), init=(3, 2, 4, 0.0, 1), seed=3, note="with one head, one text and one position"),
        case(rand(12, 4, 3), init=(3, 5, 4, 0.2, 2), train=True, seed=2, note="in training"),
        case(rand(1, 9, 3), init=(3, 2, 9, 0.0, 2), seed=4),
    ],
    returns=Float("batch seq width"),
    parse_result=make_dropout_parser(_wrapper_mixed, _wrapper),
    properties=[*DROPOUT, *CAUSAL_LAYER, _heads_start_apart],
    misconceptions={
        "added": Wrong(
            _joined(sum),
            "The heads' results are added up, so that nobody can tell any more which head said what. They stand side"
            " by side: each keeps its own entries.",
        ),
        "averaged": Wrong(
            _joined(lambda heads: sum(heads) / len(heads)),
            "You took the mean of the heads. Where one found something and the others did not, it is diluted; side by"
            " side, what each found is kept.",
        ),
        "one-head-repeated": Wrong(
            _joined(_side_by_side, lambda num_heads: [0] * num_heads),
            "There is one head only, and it answers num_heads times. A list made by multiplying one module repeats"
            " that one module; each head needs weights of its own.",
            initial_parameters=_one_head,
        ),
        "in-a-plain-list": Wrong(
            _InAList,
            "The heads stand in a plain Python list, where torch does not look: their weights would not be trained, nor"
            " moved, nor saved. torch has a list of its own for modules.",
        ),
        "first-head-only": Wrong(
            _joined(_side_by_side, lambda num_heads: [0] * num_heads),
            "Head 0 answers every time, and the others are never asked. Each has weights of its own and looks at"
            " something else.",
        ),
        "interleaved": Wrong(
            _joined(lambda heads: torch.stack(heads, dim=-1).flatten(-2)),
            "The heads' entries are shuffled into each other: entry 0 of every head, then entry 1. A head's entries"
            " stay together, head 0's first.",
        ),
        "last-head-first": Wrong(
            _joined(_side_by_side, lambda num_heads: range(num_heads)[::-1]),
            "The heads stand in the wrong order: the last one comes first. Head 0 has the first d_out entries.",
        ),
        "no-dropout": Wrong(
            _joined(_side_by_side, head=_head_without_dropout),
            "Nothing is dropped in training: dropout does not reach the heads. Pass it on to each CausalAttention.",
        ),
        "dropout-and-bias-swapped": Wrong(
            _joined(_side_by_side, head=_head_without_dropout),
            "dropout and qkv_bias have changed places on their way: a dropout of 0.5 gives biases and drops nothing."
            " CausalAttention takes d_in, d_out, context_length, dropout, qkv_bias.",
            initial_parameters=_swapped,
        ),
        "in-a-row": Wrong(
            _joined(functools.partial(torch.cat, dim=1)),
            "The results were strung together along the positions, which makes the text longer. They belong side by"
            " side, along the last axis.",
        ),
        "stacked": Wrong(
            _joined(functools.partial(torch.stack, dim=-1)),
            "The results were stacked along a new axis. What follows expects one vector for each position: join them"
            " along the last axis.",
        ),
        "last-head-only": Wrong(
            _joined(_side_by_side, lambda num_heads: [num_heads - 1]),
            "Only the last head's result is returned. Every head has looked at something else, and all of it is"
            " wanted.",
        ),
        "split-d_out": Wrong(
            _joined(_side_by_side),
            "Each head is only d_out / num_heads wide. In the wrapper every head has the full d_out, so the result has"
            " num_heads × d_out entries; the next class shares d_out among the heads.",
            initial_parameters=_narrow,
        ),
        "sees-the-future": Wrong(
            _joined(
                _side_by_side,
                head=lambda p, x, i: make_causal_attention(
                    lambda p, x: project_qkv(p, x, prefix=f"heads.{i}."), masked_value=None
                )(p, x),
            ),
            "The heads see the future. Use CausalAttention for each, which hides it.",
        ),
        **ignored_qkv_bias_misconceptions(_joined(_side_by_side), _wrapper),
    },
    hints=Hints(
        "A head is a CausalAttention. How do you keep several modules, so that their weights are trained?",
        "An nn.ModuleList of num_heads separate CausalAttention in heads; forward asks each of them and joins what"
        " they say.",
        "torch.cat joins a list of tensors; along dim=-1 they stand side by side. Each head is made by a call of its"
        " own.",
    ),
)

# ---------------------------------------------------------------- one tensor, many heads


exercise(
    "split_heads",
    oracle=lambda x, num_heads: torch.stack(x.chunk(num_heads, dim=-1), dim=-3),
    cases=lambda rand: [
        case(rand(2, 5, 6), 3),
        case(rand(3, 4, 8), 2),
        case(rand(1, 3, 10), 5),
        case(rand(2, 4, 4), 4),
        case(rand(2, 1, 6), 2, note="of one position"),
        case(rand(2, 3, 5), 1, note="for one head"),
    ],
    returns=Float("batch num_heads seq d_head"),
    differentiable=True,
    misconceptions={
        "view-without-transpose": Wrong(
            lambda x, num_heads: x.reshape(x.shape[0], num_heads, x.shape[1], -1),
            "The shape is right and the numbers are dealt out wrongly: the view runs through the text row by row, so"
            " head 0 got whole vectors of the first positions instead of its slice of every position. First cut the"
            " width, then let positions and heads change places.",
        ),
        "not-transposed": Wrong(
            lambda x, num_heads: x.unflatten(-1, (num_heads, -1)),
            "The width is cut into heads, and the heads stand behind the positions. A product over positions needs"
            " [seq, d_head] as the last two axes: let positions and heads change places.",
        ),
        "interleaved": Wrong(
            lambda x, num_heads: x.unflatten(-1, (-1, num_heads)).permute(0, 3, 1, 2),
            "Each head got every num_heads-th entry. A head's entries are neighbours: head 0 has the first d_head,"
            " head 1 the next.",
        ),
        "num_heads-and-d_head-swapped": Wrong(
            lambda x, num_heads: torch.stack(x.split(num_heads, dim=-1), dim=1),
            "There are d_out / num_heads heads of num_heads entries each: the two numbers have changed places. torch's"
            " split, too, takes the size of a piece; chunk takes how many pieces there are.",
        ),
        "texts-and-heads-mixed": Wrong(
            lambda x, num_heads: torch.cat(x.chunk(num_heads, -1)).view(len(x), num_heads, x.shape[1], -1),
            "The shape is right, and texts and heads are mixed up: the pieces lie head by head, and a view then reads"
            " them text by text. An axis comes to its place by transposing or stacking.",
        ),
        "heads-in-front": Wrong(
            lambda x, num_heads: torch.stack(x.chunk(num_heads, dim=-1)),
            "The heads stand in front of the batch. The order is batch, heads, positions, width of a head.",
        ),
        "width-before-positions": Wrong(
            lambda x, num_heads: x.unflatten(-1, (num_heads, -1)).permute(0, 2, 3, 1),
            "The last two axes have changed places: [d_head, seq] instead of [seq, d_head].",
        ),
        "positions-split": Wrong(
            lambda x, num_heads: torch.stack([x] * num_heads, dim=1),
            "Every head got the whole width. The width is shared out: a head has d_out / num_heads entries.",
        ),
    },
    hints=Hints(
        "Take one position of 6 entries and 3 heads. Which entries belong to head 1?",
        "Two steps: view the last axis as two, num_heads and d_head; then let two axes change places.",
        "x.view(batch, seq, num_heads, -1) cuts the width; transpose(1, 2) brings the heads before the positions.",
    ),
)

exercise(
    "merge_heads",
    oracle=lambda x: torch.cat(x.unbind(dim=-3), dim=-1),
    cases=lambda rand: [
        case(rand(2, 3, 5, 2)),
        case(rand(3, 2, 4, 4)),
        case(rand(1, 5, 3, 2)),
        case(rand(2, 4, 4, 3)),
        case(rand(2, 3, 1, 2), note="of one position"),
        case(rand(2, 1, 3, 1), note="of one head of width 1"),
        case(rand(2, 5, 3, 2).transpose(1, 2), note="that lies in memory as split_heads may leave it"),
    ],
    returns=Float("batch seq d_out"),
    differentiable=True,
    misconceptions={
        "view-after-transpose": Wrong(
            lambda x: x.transpose(1, 2).view(x.shape[0], x.shape[2], -1),
            "A transpose leaves the numbers where they are in memory, and view cannot join axes that do not lie side by"
            " side there. reshape and flatten copy the numbers where they must.",
        ),
        "not-transposed": Wrong(
            lambda x: x.reshape(x.shape[0], x.shape[2], -1),
            "The shape is right and the vectors are scrambled: without letting heads and positions change places"
            " first, a row holds several positions of one head. It must hold all heads of one position.",
        ),
        "interleaved": Wrong(
            lambda x: x.permute(0, 2, 3, 1).flatten(2),
            "The heads' entries are shuffled into each other. A position's vector is head 0's entries, then head 1's,"
            " and so on.",
        ),
        "added": Wrong(
            lambda x: x.sum(1),
            "The heads are added up. They stand side by side, so that each keeps its own entries.",
        ),
        "averaged": Wrong(
            lambda x: x.mean(1),
            "The heads are averaged. They stand side by side, so that what one found is not diluted.",
        ),
        "still-split": Wrong(
            lambda x: x.transpose(1, 2),
            "Heads and positions have changed places; the heads are still an axis of their own. Flatten the last two.",
        ),
        "strung-along-the-positions": Wrong(
            lambda x: x.flatten(1, 2),
            "The heads were strung together along the positions, which makes the text longer. They belong side by"
            " side, along the last axis.",
        ),
        "texts-side-by-side": Wrong(
            lambda x: torch.cat(x.unbind(0), dim=-1),
            "The texts were put side by side, and the heads are still there: a loop over a tensor walks along its"
            " first axis, the batch. The heads are the second.",
        ),
        "positions-merged": Wrong(
            lambda x: x.flatten(2),
            "You joined the positions with the width, and the heads are left. What goes on is one vector for each"
            " position.",
        ),
    },
    hints=Hints(
        "It undoes split_heads. What was the last thing that split_heads did?",
        "First let heads and positions change places again, then join the last two axes.",
        "transpose(1, 2), then flatten(2). A plain view would complain here, because transposing leaves the numbers"
        " where they are in memory.",
    ),
)


def _any_width(d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
    return qkv_parameters(d_in, d_out, qkv_bias) | layer_parameters(out_proj=nn.Linear(d_out, d_out))


def _if_even(make):
    """A constructor that refuses a d_out which the heads cannot share."""

    def made(d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        if d_out % num_heads:
            raise ValueError("d_out must be divisible by num_heads")
        return make(d_in, d_out, qkv_bias)

    return made


_layers = _if_even(
    lambda d_in, d_out, bias: qkv_parameters(d_in, d_out, bias) | layer_parameters(out_proj=nn.Linear(d_out, d_out))
)
_OUT_PROJ_FIRST = _if_even(
    lambda d_in, d_out, bias: layer_parameters(out_proj=nn.Linear(d_out, d_out)) | qkv_parameters(d_in, d_out, bias)
)
_KEY_FIRST = _if_even(
    lambda d_in, d_out, bias: (
        qkv_parameters(d_in, d_out, bias, ("W_key", "W_query", "W_value"))
        | layer_parameters(out_proj=nn.Linear(d_out, d_out))
    )
)
_OUT_PROJ_LIKE_THE_OTHERS = _if_even(
    lambda d_in, d_out, bias: (
        qkv_parameters(d_in, d_out, bias) | layer_parameters(out_proj=nn.Linear(d_out, d_out, bias=bias))
    )
)


def _refuses_when_made(probe):
    """A width that cannot be shared is refused by the constructor, not by the first text."""
    seen = probe.run(case(torch.zeros(2, 3, 3), init=(3, 5, 4, 0.0, 2)))
    if seen.failure is None or seen.parameters is None:
        return None
    return (
        "A d_out of 5 for 2 heads was refused only when a text came, by forward. Refuse it in __init__, before any"
        " layer is made."
    )


def _split(x, num_heads):
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)


def _merge(x):
    return torch.cat(x.unbind(1), dim=-1)


def _out_proj(p, x):
    return F.linear(x, p["out_proj.weight"], p.get("out_proj.bias"))


def _multi(split=_split, merge=_merge, out=_out_proj, **how):
    """A forward pass with one step replaced."""

    def qkv(p, x):
        return [split(t, p.init_args["num_heads"]) for t in project_qkv(p, x)]

    return make_causal_attention(qkv, out=lambda p, mixed: out(p, merge(mixed)), **how)


def _by_head(p, x):
    """Head after head, each with a draw of its own, and out_proj cut into their columns."""
    parts = zip(*(t.chunk(p.init_args["num_heads"], -1) for t in (*project_qkv(p, x), p["out_proj.weight"])))
    return sum((torch_causal_attention(p, q, k, v) @ w.mT for q, k, v, w in parts), p["out_proj.bias"])


def _heads_in_front(p, x):
    q, k, v = (torch.stack(t.chunk(p.init_args["num_heads"], -1)) for t in project_qkv(p, x))
    return _out_proj(p, torch.cat(list(torch_causal_attention(p, q, k, v)), -1))


def _deal(x, num_heads):
    """Every num_heads-th entry to a head."""
    return x.unflatten(-1, (-1, num_heads)).permute(0, 3, 1, 2)


def _shuffle(x):
    """Undoes _deal."""
    return x.permute(0, 2, 3, 1).flatten(2)


# Steps that go wrong and leave each row a sum of its own weights times something, by the ids of their misconceptions.
_WRONG_STEPS = {
    "heads-interleaved": {"split": _deal, "merge": _shuffle},
    "dealt-out-and-merged": {"split": _deal},
    "merged-interleaved": {"merge": _shuffle},
    "root-of-d_out": {"transform_scores": lambda p, scores: scores * p.init_args["num_heads"] ** -0.5},
    "not-scaled": {"scale": lambda d_head, d_in: 1.0},
    "root-of-d_in": {"scale": lambda d_head, d_in: d_in**-0.5},
    "divided-by-d_head": {"scale": lambda d_head, d_in: 1 / d_head},
    "multiplied": {"scale": lambda d_head, d_in: d_head**0.5},
    "root-of-the-length": {"scale": lambda d_head, d_in: 1.0, "transform_scores": scale_by_length},
    "sees-the-future": {"masked_value": None},
    "hidden-with-zero": {"masked_value": 0.0},
    "no-out_proj": {"out": lambda p, x: x},
    "query-and-key-swapped": {"order": (1, 0, 2)},
    "keys-as-values": {"order": (0, 1, 1)},
}


def _wrong_step(id, message):
    return Wrong(_multi(**_WRONG_STEPS[id]), message)


def _what_is_dropped():
    """What a result in training becomes: what the right layer or one of the wrong ones makes of the same dropout."""

    def mixed(steps):
        # keep [batch, heads, seq, seq] multiplies each weight
        return lambda p, x, keep: _multi(transform_weights=lambda p, weights, mask: weights * keep, **steps)(p, x)

    readers = [make_dropout_parser(mixed(steps), _layers) for steps in ({}, *_WRONG_STEPS.values())]

    def read(result, case):
        if not case.train:
            return readers[0](result, case)
        explained = (reader(result, case) for reader in readers)
        return next((found for found in explained if found is not result), result)

    return read


def _uncut(p, scores):
    return scores.masked_fill(~causal_mask(p.init_args["context_length"]), -torch.inf)


def _by_torch(p, x):
    return _out_proj(
        p, _merge(torch_causal_attention(p, *(_split(t, p.init_args["num_heads"]) for t in project_qkv(p, x))))
    )


exercise(
    "MultiHeadAttention",
    initial_parameters=_layers,
    oracle=_by_torch,
    cases=lambda rand: [
        case(rand(2, 5, 3), init=(3, 6, 5, 0.0, 3)),
        case(
            rand(3, 2, 5),
            init={"d_in": 5, "d_out": 8, "context_length": 6, "dropout": 0.5, "num_heads": 2, "qkv_bias": True},
            seed=1,
            note="shorter than the context",
        ),
        case(rand(12, 4, 3), init=(3, 4, 7, 0.2, 2), train=True, seed=2, note="in training"),
        case(rand(1, 9, 3), init=(3, 4, 9, 0.0, 2), seed=6),
        initialisation_case(rand(2, 3, 3), init=(3, 2, 6, 0.0, 2), seed=123),
        case(rand(1, 1, 3), init=(3, 4, 5, 0.0, 1), seed=5, note="with one head, one text and one position"),
        case(rand(2, 3, 3), init=(3, 5, 4, 0.0, 2), seed=4, note="with a d_out that the heads cannot share"),
    ],
    returns=Float("batch seq d_out"),
    parse_result=_what_is_dropped(),
    properties=[
        made_in_order("W_query", "W_key", "W_value", "out_proj"),
        *DROPOUT,
        *CAUSAL_LAYER,
        finite_when_scaled(),
        _refuses_when_made,
        restrict_to_cases(slopes_agree, lambda case: not case.train),
    ],
    misconceptions={
        "view-without-transpose": Wrong(
            _multi(split=lambda x, h: x.reshape(x.shape[0], h, x.shape[1], -1)),
            "The heads are made by a view alone, which deals whole vectors of the first positions to head 0. Cut the"
            " width first, then let positions and heads change places; your split_heads does it.",
        ),
        "merged-without-transpose": Wrong(
            _multi(merge=lambda x: x.reshape(x.shape[0], x.shape[2], -1)),
            "The heads were joined without letting heads and positions change places again, so a row holds several"
            " positions of one head. Your merge_heads does it.",
        ),
        "heads-interleaved": _wrong_step(
            "heads-interleaved",
            "Each head got every num_heads-th entry of queries, keys and values. A head's entries are neighbours: head"
            " 0 has the first d_out / num_heads of them.",
        ),
        "dealt-out-and-merged": _wrong_step(
            "dealt-out-and-merged",
            "Each head got every num_heads-th entry of queries, keys and values. A head's entries are neighbours; your"
            " split_heads cuts them so.",
        ),
        "merged-interleaved": _wrong_step(
            "merged-interleaved",
            "The heads' results are shuffled into each other before out_proj: entry 0 of every head, then entry 1."
            " They belong side by side, head 0's entries first.",
        ),
        "mask-not-cut": Wrong(
            _multi(masked_value=None, transform_scores=_uncut),
            "The mask keeps its full size, and the text is shorter than context_length: the two tables do not fit. A"
            " text needs only the corner of the mask that belongs to it.",
        ),
        "root-of-d_out": _wrong_step(
            "root-of-d_out",
            "You divided by the root of d_out. A head's dot product runs over d_out / num_heads entries, and their"
            " number counts.",
        ),
        "not-scaled": _wrong_step(
            "not-scaled",
            "The scores are not divided by the root of the head's width, so the softmax is too sharp.",
        ),
        "wrong-axis": Wrong(
            _multi(axis=-2, transform_weights=lambda p, w, mask: apply_dropout(p, w).nan_to_num(0.0)),
            "Softmax ran down the columns. A row belongs to the position that asks, and it shares out one unit.",
        ),
        "over-the-heads": Wrong(
            _multi(masked_value=None, axis=1, transform_weights=lambda p, w, mask: apply_dropout(p, w * mask)),
            "Softmax ran over the heads, so that they compete for each pair of positions. Each head shares out a unit"
            " of its own in every row.",
        ),
        "multiplied": _wrong_step("multiplied", multiplied_by_root_message("the head's width")),
        "sees-the-future": _wrong_step(
            "sees-the-future",
            "Nothing is hidden: every position sees the future, in all heads.",
        ),
        "root-of-d_in": _wrong_step(
            "root-of-d_in",
            "You divided by the root of d_in, the width of the inputs. A head's dot product runs over d_out /"
            " num_heads entries, and their number counts.",
        ),
        "root-of-the-length": _wrong_step("root-of-the-length", WORDS["root-of-the-length"]),
        "divided-by-d_head": _wrong_step("divided-by-d_head", divided_by_width_message("the head's width")),
        "mirror-image": Wrong(
            _multi(make_mask=future_mask),
            "Each position sees itself and what comes after it: the mask is the mirror image. A position may look"
            " back, not ahead.",
        ),
        "true-means-blocked": Wrong(
            _multi(make_mask=lambda n: ~causal_mask(n)),
            "The mask is turned round: each position sees what comes after it, and the last one sees nothing, which"
            " gives nan. True means may attend, so -inf goes where the mask is False.",
        ),
        "mask-after-softmax": Wrong(
            _multi(masked_value=None, transform_weights=lambda p, w, mask: apply_dropout(p, w * mask)),
            "The future is taken out after the softmax, so the rows no longer sum to one, and what is left has been"
            " divided by a sum that knows the future. Hide the scores, before the softmax.",
        ),
        "hidden-with-zero": _wrong_step(
            "hidden-with-zero",
            "Hidden scores were set to 0, and e to the 0 is 1: the future still gets a share. Only -inf gets none.",
        ),
        "no-out_proj": _wrong_step(
            "no-out_proj",
            "The heads stand side by side and out_proj is not used. It is what lets the heads' results mix; without it"
            " no entry hears of another head.",
        ),
        "heads-averaged": Wrong(
            _multi(merge=lambda x: x.mean(1).repeat(1, 1, x.shape[1])),
            "The heads' results were averaged. They stand side by side, each with its own entries.",
        ),
        "query-and-key-swapped": _wrong_step(
            "query-and-key-swapped",
            "Queries and keys have changed places. Row i holds what position i asks: its query against all keys.",
        ),
        "keys-as-values": _wrong_step("keys-as-values", WORDS["keys-as-values"]),
        "no-dropout": Wrong(
            _multi(transform_weights=lambda p, w, mask: w),
            "Nothing is dropped in training. The dropout acts on the weights of every head, between softmax and mix.",
        ),
        "drops-in-eval": Wrong(
            _multi(transform_weights=lambda p, w, mask: F.dropout(w, p.init_args["dropout"])),
            "It drops weights after eval(), too, so a finished model answers differently each time. The dropout has to"
            " know in which mode the layer is; F.dropout on its own assumes training.",
        ),
        "keep-rate": Wrong(
            _multi(transform_weights=make_dropout(lambda rate: 1 / rate, lambda rate: 1 - rate)),
            "You handed on 1 - dropout. The number is the share that is dropped, for nn.Dropout as for this class.",
        ),
        **dropout_misconceptions(_multi, has_heads=True),
        "dropout-on-the-output": Wrong(
            _multi(transform_weights=lambda p, w, mask: w, out=lambda p, x: apply_dropout(p, _out_proj(p, x))),
            "The dropout acts on the layer's result: single numbers of it vanish. Here it acts on the weights of every"
            " head, so that a position cannot rely on one other position being there.",
        ),
        "dropout-before-out_proj": Wrong(
            _multi(transform_weights=lambda p, w, mask: w, out=lambda p, x: _out_proj(p, apply_dropout(p, x))),
            "The dropout acts on the merged heads: single numbers of what was mixed vanish. Here it acts on the weights"
            " of every head, between softmax and mix.",
        ),
        "any-width-accepted": Wrong(
            _by_torch,
            "A d_out of 5 for 2 heads was accepted. The heads share the width evenly, so it must be divisible by their"
            " number: refuse it in __init__, with a sentence.",
            initial_parameters=_any_width,
        ),
        "out_proj-first": Wrong(
            _by_torch,
            "The computation is right, and the weights that a seed gives are others: out_proj draws its own before the"
            " other three. Make W_query, W_key, W_value, then out_proj.",
            initial_parameters=_OUT_PROJ_FIRST,
        ),
        "key-first": Wrong(
            _by_torch,
            "The computation is right, and the weights that a seed gives are others: W_key draws its own before"
            " W_query. Make W_query, W_key, W_value, then out_proj.",
            initial_parameters=_KEY_FIRST,
        ),
        "out_proj-asks-qkv_bias": Wrong(
            _by_torch,
            "out_proj has a bias only if qkv_bias is true. That argument is about queries, keys and values; out_proj"
            " has a bias always.",
            initial_parameters=_OUT_PROJ_LIKE_THE_OTHERS,
        ),
        **ignored_qkv_bias_misconceptions(_by_torch, _layers),
    },
    equivalent={
        "head-by-head": _by_head,
        "heads-in-front": _heads_in_front,
        "own-random-numbers": _multi(transform_weights=make_dropout()),
    },
    hints=Hints(
        "It is CausalAttention with a split after the three layers and a merge before the last one.",
        "One W_query, W_key and W_value of width d_out for all heads. split_heads each result; everything up to the"
        " mix runs over the last two axes as before.",
        "scores: queries @ keys transposed on the last two axes, over the root of the head's width; -inf where mask is"
        " False; softmax; dropout; @ values; then merge_heads, then out_proj. Refuse an indivisible d_out in __init__.",
    ),
)

# ---------------------------------------------------------------- the heads of a GPT-2

_PROMPTS = (
    "Mary had a book",
    "One day Tom went home",
    "John and Anna saw a cat",
    "Tom gave the ball to",
    "one two three four five",
    "Lucy was at the store",
    "The dog ran to Sam",
    "Emma likes green apples",
)


def _of_head(head):
    """Read once from each GPT-2, whichever mistake asks for it."""
    return _read(gpt2.source(), head)


@functools.lru_cache(maxsize=32)
def _read(where, head):
    return gpt2.get_split_l0_heads(head, bias=True, path=where.path)


def _pattern(
    prompt,
    head,
    q_bias=True,
    k_bias=True,
    biases=(0, 1),
    scale=lambda d_model, d_head: d_head**-0.5,
    mask=causal_mask,
    swap=False,
    axis=-1,
):
    _, x = gpt2.get_pre_attn(prompt)
    W_Q, W_K, b_Q, b_K = _of_head(head)
    b_Q, b_K = ((b_Q, b_K)[i] for i in biases)
    q, k = x @ W_Q + q_bias * b_Q, x @ W_K + k_bias * b_K
    return attention_weights(*((k, q) if swap else (q, k)), mask(len(x)), scale=scale(*W_Q.shape), axis=axis)


def _patterns_by_torch(prompt, n_heads):
    _, x = gpt2.get_pre_attn(prompt)
    made = [_of_head(head) for head in range(n_heads)]
    q, k = (torch.stack([x @ one[i] + one[i + 2] for one in made]) for i in (0, 1))
    return torch_attention(q, k, is_causal=True)


def _which_gpt2():
    """The one that the lesson reads; what is wrong with it where there is none."""
    try:
        return find_source()
    except gpt2.WeightsError as error:
        return str(error)


def _all(**how):
    return lambda prompt, n_heads: torch.stack([_pattern(prompt, head, **how) for head in range(n_heads)])


exercise(
    "all_head_patterns",
    oracle=_patterns_by_torch,
    cases=lambda rand: [
        *(case(_PROMPTS[int(i)], n) for i, n in zip(torch.randperm(8, generator=rand.generator), (4, 3))),
        case("Mary", 1, note="one head, and a text of one token"),
    ],
    returns=Float("n_heads seq seq"),
    properties=[rows_sum_to_one()],
    differentiable=False,
    cache_key=_which_gpt2,
    atol=2e-6,
    misconceptions={
        "no-biases": Wrong(
            _all(q_bias=False, k_bias=False),
            "The queries' bias is left out, so these are not quite GPT-2's patterns. It favours the same keys in every"
            " row. get_split_l0_heads gives it, and the keys', with bias=True.",
        ),
        "not-scaled": Wrong(
            _all(scale=lambda d_model, d_head: 1.0),
            "The scores are not divided by the root of the head's width; the patterns are too sharp.",
        ),
        "scaled-twice": Wrong(
            _all(scale=lambda d_model, d_head: 1 / d_head),
            "The scores are divided by d_head in all, and not by its root, so the patterns are too even."
            " causal_attn_weights divides by the root itself: is it done once more before?",
        ),
        "root-of-d_model": Wrong(
            _all(scale=lambda d_model, d_head: d_model**-0.5),
            "You divided by the root of d_model. A head's queries and keys are d_head wide, the second axis of W_Q.",
        ),
        "sees-the-future": Wrong(
            _all(mask=lambda size: None),
            "The future is not hidden. GPT-2 masks it in every head, so the upper right of each pattern is 0.",
        ),
        "mask-after-softmax": Wrong(
            lambda prompt, n_heads: _all(mask=lambda size: None)(prompt, n_heads).tril(),
            "The future is taken out after the softmax, so the rows no longer sum to one. Hide first, then share out:"
            " causal_attn_weights does both.",
        ),
        "all-heads": Wrong(
            lambda prompt, n_heads: _all()(prompt, gpt2.source().n_heads),
            "All heads of the model came back, whatever n_heads says. Asked for are the first n_heads.",
        ),
        "biases-swapped": Wrong(
            _all(biases=(1, 0)),
            "The biases have changed places: b_Q was added to the keys and b_K to the queries. They come in the order"
            " W_Q, W_K, b_Q, b_K.",
        ),
        "one-head-late": Wrong(
            lambda prompt, n_heads: torch.stack([_pattern(prompt, head + 1) for head in range(n_heads)]),
            "Head 0 is left out: you begin with head 1. Heads are counted from 0.",
        ),
        "head-0-every-time": Wrong(
            lambda prompt, n_heads: torch.stack([_pattern(prompt, 0)] * n_heads),
            "Head 0 is shown n_heads times. Ask get_split_l0_heads for each head.",
        ),
        "one-head-only": Wrong(
            lambda prompt, n_heads: _pattern(prompt, n_heads - 1),
            "Only one head's pattern is returned. Collect all of them and stack them along a new first axis.",
        ),
        "query-and-key-swapped": Wrong(
            _all(swap=True),
            "Queries and keys have changed places: row i must hold what position i asks.",
        ),
        "wrong-axis": Wrong(
            _all(axis=-2),
            "The softmax ran down the columns. A row belongs to the position that asks.",
        ),
    },
    equivalent={
        # What it adds to a row is one number for the whole row, and softmax does not see it.
        "no-key-bias": _all(k_bias=False),
        "ones-appended": lambda prompt, n_heads: torch.stack([_with_ones(prompt, head) for head in range(n_heads)]),
    },
    hints=Hints(
        "For one head you have all you need: what goes into attention from get_pre_attn, the weights and biases from"
        " get_split_l0_heads.",
        "queries are x @ W_Q + b_Q, keys likewise; causal_attn_weights makes weights of their scores. Do it for each"
        " head and stack.",
        "Call get_split_l0_heads(head, bias=True) for head in range(n_heads); scores are queries @ keys.T and d_k is"
        " W_K.shape[-1]; torch.stack makes [n_heads, seq, seq].",
    ),
)


def _with_ones(prompt, head):
    """The biases as one more row of the weights, for an x with a 1 at its end."""
    _, x = gpt2.get_pre_attn(prompt)
    W_Q, W_K, b_Q, b_K = _of_head(head)
    x = torch.cat((x, torch.ones(len(x), 1)), dim=-1)
    return attention_weights(x @ torch.cat((W_Q, b_Q[None])), x @ torch.cat((W_K, b_K[None])), causal_mask(len(x)))


_KINDS = ("previous", "current", "first")


def _on_each(pattern, rows):
    """The mean weights on the previous position, the current one and the first, over these rows."""
    return torch.stack([pattern[rows, rows - 1].mean(), pattern[rows, rows].mean(), pattern[rows, 0].mean()])


def _uniform(pattern, rows):
    """What a uniform pattern has on each of the three."""
    return (1 / (rows + 1.0)).mean()


def _kind(bar=1.4, rows=lambda seq: torch.arange(2, seq), means=_on_each, uniform=_uniform):
    """An answer to head_kind with one step replaced."""

    def answer(pattern):
        at = rows(len(pattern))
        found = means(pattern, at)
        return _KINDS[int(found.argmax())] if found.max() >= bar * uniform(pattern, at) else "other"

    return answer


def _first_over_the_bar(order):
    """Takes the kinds in this order and stops at the first that is high enough."""

    def answer(pattern):
        at = torch.arange(2, len(pattern))
        found, bar = dict(zip(_KINDS, _on_each(pattern, at))), 1.4 * _uniform(pattern, at)
        return next((kind for kind in order if found[kind] >= bar), "other")

    return answer


def _against_the_second(pattern):
    found = _on_each(pattern, torch.arange(2, len(pattern)))
    second, most = found.sort().values[-2:]
    return _KINDS[int(found.argmax())] if most >= 1.4 * second else "other"


def _unequal(skipped):
    """The means where one kind begins so many rows late."""
    return lambda p, at: torch.stack(
        [_on_each(p, at[late:])[place] if len(at) > late else torch.tensor(0.0) for place, late in enumerate(skipped)]
    )


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
    return scores.masked_fill(~causal_mask(seq), -torch.inf).softmax(-1)


def _elsewhere(seq, rand):
    """A random causal pattern that shuns all three kinds of place."""
    scores = rand(seq, seq, scale=0.3)
    at = torch.arange(2, seq)
    for column in (at - 1, at, 0):
        scores[at, column] -= 1.5
    return scores.masked_fill(~causal_mask(seq), -torch.inf).softmax(-1)


def _upper_first(seq, rand):
    """Rows 0 and 1 cannot tell the kinds apart; here they would outvote the others."""
    pattern = _like("previous", seq, 1.1, rand)
    pattern[0], pattern[1] = 0.0, 0.0
    pattern[0, 0], pattern[1, 0] = 1.0, 1.0
    return pattern


def _evenly(seq):
    """Each row shares out evenly among what it may see."""
    return torch.ones(seq, seq).tril() / torch.arange(1, seq + 1)[:, None]


def _column(kind, row):
    return {"previous": row - 1, "current": row, "first": 0}[kind]


def _one_row_looks(row, kind="first", seq=4, share=1.0):
    """Uniform but for one row, which gives this share to one kind of place and deals out the rest evenly."""
    pattern = _evenly(seq)
    pattern[row, : row + 1] = (1 - share) / row
    pattern[row, _column(kind, row)] = share
    return pattern


def _times_uniform(kind, seq, times):
    """From row 2 on one kind of place has so many times what a uniform row gives it."""
    pattern = _evenly(seq)
    for row in range(2, seq):
        pattern[row] = _one_row_looks(row, kind, seq, times / (row + 1))[row]
    return pattern


def _two_habits(most, also, seq, rand):
    """Two kinds of place above the bar, `most` a fifth higher than `also`."""
    pattern = _evenly(seq)
    for row in range(2, seq):
        shares = rand(row + 1).abs()
        shares[[_column(most, row), _column(also, row)]] = 0.0
        pattern[row, : row + 1] = 0.12 * shares / shares.sum()
        pattern[row, _column(most, row)] = 0.48
        pattern[row, _column(also, row)] = 0.40
    return pattern


def _means(probe):
    """What was to be compared, for the first pattern that got another name."""
    for trial in probe.trials:
        yours, (pattern,) = trial.yours.value, trial.case.args
        if not isinstance(yours, str) or yours == trial.expected.value:
            continue
        at = torch.arange(2, len(pattern))
        means = ", ".join(f"{m:.3f} on {kind}" for kind, m in zip(_KINDS, _on_each(pattern, at)))
        uniform = float(_uniform(pattern, at))
        return (
            f"You called a pattern of {len(pattern)} positions{f' ({trial.case.note})' if trial.case.note else ''}"
            f" {yours!r}. From row 2 on its mean weights are {means}, and uniform has {uniform:.3f}, 1.4 times of which"
            f" is {1.4 * uniform:.3f}: {trial.expected.value!r}."
        )
    return None


exercise(
    "head_kind",
    oracle=_head_kind,
    cases=lambda rand: [
        *(case(_like(kind, seq, strength, rand)) for kind, seq in zip(_KINDS, (9, 6, 12)) for strength in (0.9, 3.0)),
        case(_like("previous", 3, 4.0, rand)),
        *(
            case(_two_habits(most, also, seq, rand), note="with two habits above the bar")
            for most, also, seq in (("current", "previous", 7), ("first", "current", 8), ("previous", "first", 9))
        ),
        case(_times_uniform("first", 12, 1.35), note="a little below the bar"),
        case(_times_uniform("current", 6, 1.45), note="a little above the bar"),
        case(_elsewhere(8, rand), note="that looks elsewhere"),
        case(_like("first", 10, 0.25, rand), note="with next to no favourite"),
        case(_upper_first(5, rand), note="of five positions"),
        *(case(_evenly(n), note="that is uniform") for n in (7, 4)),
        *(case(_one_row_looks(2, kind), note="whose row 2 decides") for kind in _KINDS),
        *(case(_one_row_looks(1, kind), note="whose row 1 must not decide") for kind in ("current", "first")),
        case(_one_row_looks(2, "first", 8), note="whose row 2 has a favourite and the others none"),
        case(_one_row_looks(7, "first", 8, 0.5), note="whose last row has a favourite and the others none"),
    ],
    differentiable=False,
    properties=[_means],
    misconceptions={
        "row-1-counted": Wrong(
            _kind(rows=lambda seq: torch.arange(1, seq)),
            "Row 1 is counted. There the previous position is also the first one, so that one weight votes twice; from"
            " row 2 on the three places are distinct.",
        ),
        "row-2-skipped": Wrong(
            _kind(rows=lambda seq: torch.arange(3, seq)),
            "Row 2 is not counted. Counting from 0 it is the first row in which the previous position, the current one"
            " and the first one are three places.",
        ),
        **{
            f"row-2-lost-for-{kind}": Wrong(
                _kind(means=_unequal([int(kind == each) for each in _KINDS])),
                f"The mean on the {kind} position begins at row 3. A diagonal that starts in another column has its row"
                " 2 at another place: all three means run over the same rows, from 2 on.",
            )
            for kind in ("previous", "current")
        },
        "first-over-the-bar": Wrong(
            _first_over_the_bar(_KINDS),
            "The first kind that reaches the bar is returned, also where another one has more. Find the largest of the"
            " three means, then ask whether it is high enough.",
        ),
        "first-over-the-bar-from-the-end": Wrong(
            _first_over_the_bar(_KINDS[::-1]),
            "The kinds are tried one after the other, and the first that reaches the bar is returned, also where"
            " another one has more. Find the largest of the three means, then ask whether it is high enough.",
        ),
        "against-the-second": Wrong(
            _against_the_second,
            "The largest mean is compared with the second largest. What it has to beat is a uniform head's mean, 1.4"
            " times over: two habits may both be strong.",
        ),
        "mean-of-ratios": Wrong(
            _kind(
                means=lambda p, at: _on_each(p * torch.arange(1.0, len(p) + 1)[:, None], at),
                uniform=lambda pattern, at: 1.0,
            ),
            "Each row's weight is compared with that row's uniform share, and the mean of these ratios with 1.4. Take"
            " the means first, and compare these: a late row's small weights count as little as they are.",
        ),
        "uniform-of-the-mean-row": Wrong(
            _kind(uniform=lambda pattern, at: 1 / (at + 1.0).mean()),
            "You divide 1 by the mean length of the rows, which is less than a uniform head has. Its mean weight is the"
            " mean of 1 / (i + 1) over the rows from 2 on.",
        ),
        "never-other": Wrong(
            _kind(bar=0.0),
            "Every pattern gets one of the three names, even a uniform one. A head is only called by its favourite"
            " place if it puts at least 1.4 times there what a uniform pattern would.",
        ),
        "bar-of-one": Wrong(
            _kind(bar=1.0),
            "A little more than uniform is enough for you, and chance makes that all the time. The bar is 1.4 times"
            " uniform.",
        ),
        "all-rows": Wrong(
            _kind(
                rows=torch.arange,
                means=lambda p, at: torch.stack([p.diagonal(-1).sum() / len(p), p.diagonal().mean(), p[:, 0].mean()]),
            ),
            "Rows 0 and 1 are counted. In row 0 there is one place only, and in row 1 the previous position is the"
            " first one; from row 2 on the three are distinct.",
        ),
        "all-rows-that-have-the-place": Wrong(
            _kind(
                means=lambda p, at: torch.stack([p.diagonal(-1).mean(), p.diagonal().mean(), p[:, 0].mean()]),
            ),
            "Rows 0 and 1 are counted in the means. In row 0 there is one place only, and in row 1 the previous"
            " position is the first one; from row 2 on the three are distinct.",
        ),
        "row-for-column": Wrong(
            _kind(means=lambda p, at: torch.stack([*_on_each(p, at)[:2], p[0, at].mean()])),
            "For the first token you read row 0, which holds what position 0 attends to. What others give to position 0"
            " stands in column 0.",
        ),
        "bar-one-over-seq": Wrong(
            _kind(uniform=lambda pattern, at: 1 / len(pattern)),
            "You compare with 1 / seq. A causal row i has i + 1 places to share among, so uniform is 1 / (i + 1), and"
            " its mean over the rows is more.",
        ),
        "looks-down-the-columns": Wrong(
            _kind(means=lambda p, at: _on_each(p.T, at)),
            "You read the pattern by its columns. A row belongs to the position that asks: where it looks stands along"
            " the row.",
        ),
        "last-row-only": Wrong(
            _kind(rows=lambda seq: torch.tensor([seq - 1])),
            "Only the last row was read. One row is chance; take the mean over all rows from 2 on.",
        ),
        "next-for-previous": Wrong(
            _kind(means=lambda p, at: torch.stack([p[at - 1, at].mean(), p[at, at].mean(), p[at, 0].mean()])),
            "You looked one place to the right of the diagonal, at the next position, where a causal pattern is 0. The"
            " previous position of row i is column i - 1.",
        ),
    },
    hints=Hints(
        "For each row from 2 on, three weights count: in the column before it, in its own, and in column 0. Take the"
        " mean of each over the rows.",
        "If rows holds 2, 3 … up to the last row, pattern[rows, rows - 1] are the weights on the previous position."
        " What would a uniform row i have there?",
        "Uniform has (1 / (rows + 1)).mean(). Take the largest of the three means; if it is at least 1.4 times that,"
        ' return its name, else "other".',
    ),
)
