"""Define the exercises of lesson 05: separate heads, heads computed together, and the heads of a GPT-2."""

import functools

import torch
from torch import nn
from torch.nn import functional as F

from utils import gpt2
from utils.checks._attention import (
    ATTENTION_MISTAKES,
    CAUSAL_LAYER,
    QKV,
    apply_dropout,
    attention_mistakes,
    attention_values,
    attention_weights,
    causal_attention,
    causal_mask,
    fix_arguments,
    ignored_qkv_bias_misconceptions,
    initialisation_case,
    keep_weights,
    project_qkv,
    qkv_parameters,
    torch_attention,
    torch_causal_attention,
)
from utils.checks._dropout import DROPOUT, dropout_misconceptions, make_dropout, make_dropout_parser
from utils.checks._layer_order import made_in_order
from utils.checks._wrong_answers import with_steps, wrong_answer
from utils.exercises.exercise import Float, Hints, Wrong, case, exercise, layer_parameters
from utils.feedback.properties import finite_when_scaled, rows_sum_to_one
from utils.gpt2.sources import find_source

# ---------------------------------------------------------------- heads side by side


def _wrapper(d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
    heads = [qkv_parameters(d_in, d_out, qkv_bias) for _ in range(num_heads)]
    return {f"heads.{i}.{name}": value for i, head in enumerate(heads) for name, value in head.items()}


def _narrow_heads(d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
    return _wrapper(d_in, d_out // num_heads, context_length, dropout, num_heads, qkv_bias)


def _dropout_and_bias_swapped(d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
    """Return the parameters of a wrapper that passes dropout and qkv_bias to its heads in the wrong order."""
    return _wrapper(d_in, d_out, context_length, float(qkv_bias), num_heads, bool(dropout))


def _head(p, x, i):
    return torch_causal_attention(p, *project_qkv(p, x, prefix=f"heads.{i}."))


def _head_without_dropout(p, x, i):
    return torch_attention(*project_qkv(p, x, prefix=f"heads.{i}."), is_causal=True)


def _head_with(**steps):
    """Return a function that computes one head with replaced steps."""

    def head(p, x, i):
        return causal_attention.replace(qkv=lambda p, x: project_qkv(p, x, prefix=f"heads.{i}."), **steps)(p, x)

    return head


def _side_by_side(heads):
    return torch.cat(tuple(heads), dim=-1)


@with_steps
def _run_heads(p, x, *, join=_side_by_side, which=range, head=_head):
    """Run the wrapper's heads with the indices `which(num_heads)`, and concatenate their results."""
    return join([head(p, x, i) for i in which(p.init_args["num_heads"])])


def _wrapper_with_keep(p, x, keep):
    """Compute the result without dropout, but multiply each weight by `keep` [batch, heads, seq, seq]."""

    def head(p, x, i):
        return _head_with(drop=lambda p, weights: weights * keep[:, i])(p, x, i)

    return _run_heads.replace(head=head)(p, x)


def _wrapper_values(p, x):
    heads = (project_qkv(p, x, prefix=f"heads.{i}.") for i in range(p.init_args["num_heads"]))
    values = attention_values(*(torch.stack(t) for t in zip(*heads)), causal_mask(x.shape[-2]))
    contexts = values.pop("the context vectors")
    steps = {f"{label.rstrip('?')}?": value for label, value in values.items()}  # milestones of CausalAttention
    heads = {f"the context vectors of head {i}": context for i, context in enumerate(contexts)}
    return {**steps, **heads, "the context vectors side by side": _side_by_side(contexts)}


class _Head(nn.Module):
    def __init__(self, d_in, d_out, dropout, bias):
        super().__init__()
        self.W_query, self.W_key, self.W_value = (nn.Linear(d_in, d_out, bias=bias) for _ in range(3))
        self.dropout = dropout

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        return F.dropout(attention_weights(q, k, causal_mask(x.shape[1])), self.dropout, self.training) @ v


class _HeadsInAList(nn.Module):
    """The lesson's class, but with the heads in a Python list instead of an `nn.ModuleList`."""

    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = [_Head(d_in, d_out, dropout, qkv_bias) for _ in range(num_heads)]

    def forward(self, x):
        return _side_by_side([head(x) for head in self.heads])


def _heads_start_apart(probe):
    """Check that each head samples its own initial weights, instead of copying another head's weights."""
    observation = probe.run(case(torch.zeros(1, 2, 3), init=(3, 2, 4, 0.0, 2), fill=False), state=True)
    first, second = ((observation.state or {}).get(f"heads.{i}.W_query.weight") for i in (0, 1))
    if first is None or second is None or not torch.equal(first, second):
        return None
    return (
        "Heads 0 and 1 start with the same weights in `W_query`, as if they were copies of one head. Create each head"
        " with a separate call, so that each head samples its own weights."
    )


exercise(
    "MultiHeadAttentionWrapper",
    unswept={"parameters": "the lesson lets the layer save its mask as a buffer"},
    initial_parameters=_wrapper,
    oracle=_run_heads,
    milestones=_wrapper_values,
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
    parse_result=make_dropout_parser(_wrapper_with_keep, _wrapper),
    properties=[*DROPOUT, *CAUSAL_LAYER, _heads_start_apart],
    misconceptions={
        "added": _run_heads.replace(join=sum).wrong(
            "You added the heads' results, so the heads' contributions can no longer be told apart. Concatenate the"
            " results instead, so that each head keeps its own entries."
        ),
        "averaged": _run_heads.replace(join=lambda heads: sum(heads) / len(heads)).wrong(
            "You averaged the heads, so the result of each head is diluted by the other results. Concatenate the"
            " results instead, so that each head keeps its own entries."
        ),
        "one-head-repeated": Wrong(
            _run_heads.replace(which=lambda num_heads: [0] * num_heads),
            "There is only one head, and it runs num_heads times. Each head needs its own weights: make each head with"
            " a separate call, because multiplying a list repeats the same module.",
            initial_parameters=fix_arguments(_wrapper, num_heads=1),
        ),
        "in-a-plain-list": Wrong(
            _HeadsInAList,
            "torch finds no parameters in your object, so the heads' weights would not be trained, moved or saved. It"
            " does not search plain Python lists or tuples; use torch's own list for modules.",
        ),
        "first-head-only": _run_heads.replace(which=lambda num_heads: [0] * num_heads).wrong(
            "Your result contains head 0 several times and no other head. Each head has its own weights and computes"
            " a different attention pattern, so run every head once."
        ),
        "interleaved": _run_heads.replace(join=lambda heads: torch.stack(heads, dim=-1).flatten(-2)).wrong(
            "You interleaved the heads' entries: entry 0 of every head, then entry 1. The entries of a head should"
            " stay together, and head 0 comes first."
        ),
        "last-head-first": _run_heads.replace(which=lambda num_heads: range(num_heads)[::-1]).wrong(
            "Your heads are in the wrong order: the last head comes first. The first d_out entries should come from"
            " head 0."
        ),
        "no-dropout": _run_heads.replace(head=_head_without_dropout).wrong(
            "Nothing is dropped in training. Do the heads have dropout? Pass `dropout` on to each CausalAttention."
        ),
        "dropout-and-bias-swapped": Wrong(
            _run_heads.replace(head=_head_without_dropout),
            "You passed dropout and qkv_bias in the wrong order, so a dropout of 0.5 creates biases and drops nothing."
            " The arguments of CausalAttention are d_in, d_out, context_length, dropout, qkv_bias.",
            initial_parameters=_dropout_and_bias_swapped,
        ),
        "in-a-row": _run_heads.replace(join=functools.partial(torch.cat, dim=1)).wrong(
            "You joined the results along the position axis, which makes the text longer. Join the results along the"
            " last axis."
        ),
        "stacked": _run_heads.replace(join=functools.partial(torch.stack, dim=-1)).wrong(
            "You stacked the results along a new axis, but later layers expect one vector for each position. Join the"
            " results along the last axis."
        ),
        "last-head-only": _run_heads.replace(which=lambda num_heads: [num_heads - 1]).wrong(
            "You return only the last head's result. Each head computes a different attention pattern, so return the"
            " results of all heads."
        ),
        "split-d_out": Wrong(
            _run_heads,
            "Each of your heads is only d_out / num_heads wide. In the wrapper, every head should have the full width"
            " d_out, which gives num_heads × d_out entries; only the next class splits d_out between the heads.",
            initial_parameters=_narrow_heads,
        ),
        "sees-the-future": _run_heads.replace(head=_head_with(**ATTENTION_MISTAKES["sees-the-future"].steps)).wrong(
            "Your heads see the future. Each head should be a CausalAttention, which hides the future."
        ),
        **ignored_qkv_bias_misconceptions(_run_heads, _wrapper),
    },
    hints=Hints(
        "A head is a CausalAttention. How can you store several modules so that their weights are trained?",
        "Store num_heads separate CausalAttention layers in an nn.ModuleList named heads. forward runs each head and"
        " joins the results.",
        "torch.cat joins a list of tensors; with dim=-1 it puts them side by side. Make each head with a separate call"
        " of CausalAttention.",
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
            "The shape is right, but the view reads the text row by row, so head 0 got whole vectors of the first"
            " positions instead of its slice of every position. First split the width, then swap positions and heads.",
        ),
        "not-transposed": Wrong(
            lambda x, num_heads: x.unflatten(-1, (num_heads, -1)),
            "You split the width into heads, but the head axis comes after the position axis. The matrix products of"
            " attention need [seq, d_head] as the last two axes, so swap the position axis and the head axis.",
        ),
        "interleaved": Wrong(
            lambda x, num_heads: x.unflatten(-1, (-1, num_heads)).permute(0, 3, 1, 2),
            "Each of your heads got every num_heads-th entry. The entries of a head should be adjacent: head 0 should"
            " get the first d_head entries, and head 1 the next d_head entries.",
        ),
        "num_heads-and-d_head-swapped": Wrong(
            lambda x, num_heads: torch.stack(x.split(num_heads, dim=-1), dim=1),
            "You swapped two numbers: your code makes d_out / num_heads heads with num_heads entries each. torch's"
            " split takes the size of each piece; chunk takes the number of pieces.",
        ),
        "texts-and-heads-mixed": Wrong(
            lambda x, num_heads: torch.cat(x.chunk(num_heads, -1)).view(len(x), num_heads, x.shape[1], -1),
            "The shape is right, but texts and heads are mixed up: the memory holds the pieces head by head, but the"
            " view reads them text by text. Use transpose or stack to get the head axis into the right position.",
        ),
        "heads-in-front": Wrong(
            lambda x, num_heads: torch.stack(x.chunk(num_heads, dim=-1)),
            "In your result, the head axis comes before the batch axis. The order should be batch, heads, positions,"
            " width of a head.",
        ),
        "width-before-positions": Wrong(
            lambda x, num_heads: x.unflatten(-1, (num_heads, -1)).permute(0, 2, 3, 1),
            "You swapped the last two axes: they are [d_head, seq] instead of [seq, d_head].",
        ),
        "positions-split": Wrong(
            lambda x, num_heads: torch.stack([x] * num_heads, dim=1),
            "Every head got the whole width. The width should be split evenly between the heads, so that each head has"
            " d_out / num_heads entries.",
        ),
    },
    hints=Hints(
        "Take one position whose vector has 6 entries, and split this vector into 3 heads. Which entries belong to head"
        " 1?",
        "There are two steps: view the last axis as two axes, num_heads and d_head; then swap two axes.",
        "x.view(batch, seq, num_heads, -1) splits the width; transpose(1, 2) moves the head axis before the position"
        " axis.",
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
        case(rand(2, 5, 3, 2).transpose(1, 2), note="with a transposed memory layout, as split_heads may return it"),
    ],
    returns=Float("batch seq d_out"),
    differentiable=True,
    misconceptions={
        "view-after-transpose": Wrong(
            lambda x: x.transpose(1, 2).view(x.shape[0], x.shape[2], -1),
            "A transpose does not move the numbers in memory, and view can join two axes only if their numbers are"
            " adjacent in memory. reshape and flatten copy the numbers if necessary.",
        ),
        "not-transposed": Wrong(
            lambda x: x.reshape(x.shape[0], x.shape[2], -1),
            "The shape is right, but the vectors are scrambled: you did not swap heads and positions first, so a row"
            " holds several positions of one head. It should hold all heads of one position.",
        ),
        "interleaved": Wrong(
            lambda x: x.permute(0, 2, 3, 1).flatten(2),
            "You interleaved the heads' entries. A position's vector should hold head 0's entries first, then head"
            " 1's, and so on.",
        ),
        "added": Wrong(
            lambda x: x.sum(1),
            "You added the heads. Put them side by side, so that each head keeps its own entries.",
        ),
        "averaged": Wrong(
            lambda x: x.mean(1),
            "You averaged the heads. Put them side by side, so that each head keeps its own entries.",
        ),
        "still-split": Wrong(
            lambda x: x.transpose(1, 2),
            "You swapped heads and positions, but the heads are still a separate axis. Flatten the last two axes.",
        ),
        "strung-along-the-positions": Wrong(
            lambda x: x.flatten(1, 2),
            "You joined the heads along the position axis, which makes the text longer. Join the heads along the last"
            " axis.",
        ),
        "texts-side-by-side": Wrong(
            lambda x: torch.cat(x.unbind(0), dim=-1),
            "You put the texts side by side, not the heads. A loop over a tensor runs along its first axis, which is"
            " the batch axis; the head axis is the second axis.",
        ),
        "positions-merged": Wrong(
            lambda x: x.flatten(2),
            "You joined the position axis with the width axis, and the heads are still a separate axis. The result"
            " should have one vector for each position.",
        ),
    },
    hints=Hints(
        "merge_heads undoes split_heads. What was the last step of split_heads?",
        "First swap heads and positions back, then join the last two axes.",
        "Call transpose(1, 2), then flatten(2). A plain view would give an error here, because transposing leaves the"
        " numbers where they are in memory.",
    ),
)


def _initial_parameters(
    d_in,
    d_out,
    context_length,
    dropout,
    num_heads,
    qkv_bias=False,
    order=(*QKV, "out_proj"),
    out_bias=lambda qkv_bias: True,
    any_width=False,
):
    if d_out % num_heads and not any_width:
        raise ValueError("d_out must be divisible by num_heads")
    sizes = dict.fromkeys(QKV, (d_in, d_out, qkv_bias)) | {"out_proj": (d_out, d_out, out_bias(qkv_bias))}
    return layer_parameters(**{name: nn.Linear(*sizes[name]) for name in order})


def _refuses_when_made(probe):
    """Check that the constructor, not `forward`, rejects a width that is not divisible by the number of heads."""
    for d_out, heads in ((5, 2), (6, 4)):
        observation = probe.run(case(torch.zeros(2, 3, 3), init=(3, d_out, 4, 0.0, heads)))
        if observation.failure is None:
            return (
                f"Your __init__ accepts a d_out of {d_out} for {heads} heads, although {heads} does not divide {d_out}."
            )
        if observation.parameters is not None:
            return (
                f"Your __init__ accepts a d_out of {d_out} for {heads} heads, and only forward raises an error. Raise"
                " it in __init__, before any layer is made."
            )
    return None


def _split(x, num_heads):
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)


def _merge(x):
    return torch.cat(x.unbind(1), dim=-1)


def _out_proj(p, x):
    return F.linear(x, p["out_proj.weight"], p.get("out_proj.bias"))


@with_steps
def _multi_head(p, x, *, split=_split, merge=_merge, out=_out_proj, **steps):
    """Compute the forward pass. `steps` replaces steps of `attention`."""

    def qkv(p, x):
        return [split(t, p.init_args["num_heads"]) for t in project_qkv(p, x)]

    return causal_attention.replace(qkv=qkv, out=lambda p, mixed: out(p, merge(mixed)), **steps)(p, x)


def _by_head(p, x):
    """Run one head after another, each with its own dropout and its own columns of out_proj."""
    parts = zip(*(t.chunk(p.init_args["num_heads"], -1) for t in (*project_qkv(p, x), p["out_proj.weight"])))
    return sum((torch_causal_attention(p, q, k, v) @ w.mT for q, k, v, w in parts), p["out_proj.bias"])


def _heads_in_front(p, x):
    q, k, v = (torch.stack(t.chunk(p.init_args["num_heads"], -1)) for t in project_qkv(p, x))
    return _out_proj(p, torch.cat(list(torch_causal_attention(p, q, k, v)), -1))


def _interleave(x, num_heads):
    """Give each head every num_heads-th entry."""
    return x.unflatten(-1, (-1, num_heads)).permute(0, 3, 1, 2)


def _undo_interleave(x):
    """Undo `_interleave`."""
    return x.permute(0, 2, 3, 1).flatten(2)


_INTERLEAVED = {"split": _interleave, "merge": _undo_interleave}
_PLAIN_VIEWS = {
    "split": lambda x, h: x.reshape(x.shape[0], h, x.shape[1], -1),
    "merge": lambda x: x.reshape(x.shape[0], x.shape[2], -1),
}
_ROOT_OF_D_OUT = {"transform_scores": lambda p, scores: scores * p.init_args["num_heads"] ** -0.5}
_NO_OUT_PROJ = {"out": lambda p, x: x}
# If a layer uses these wrong steps, each row of its result is still a weighted sum of vectors. So the parser can
# recognise dropout in this layer too.
_PARSED_STEPS = (
    _INTERLEAVED,
    {"split": _interleave},
    {"merge": _undo_interleave},
    _PLAIN_VIEWS,
    _ROOT_OF_D_OUT,
    *(ATTENTION_MISTAKES[id].steps for id in ("not-scaled", "root-of-d_in", "divided-by-the-width", "multiplied")),
    *(ATTENTION_MISTAKES[id].steps for id in ("root-of-the-length", "sees-the-future", "hidden-with-zero")),
    _NO_OUT_PROJ,
    *(ATTENTION_MISTAKES[id].steps for id in ("query-and-key-swapped", "keys-as-values")),
)


def _make_parser():
    """Return a `parse_result` that recognises dropout, both in the correct layer and in known wrong layers.

    The parser maps all results with the same kind of dropout to one fixed result.
    """

    def mix_with_keep(steps):
        # `keep` has the shape [batch, heads, seq, seq] and multiplies each weight.
        return lambda p, x, keep: _multi_head.replace(drop=lambda p, weights: weights * keep, **steps)(p, x)

    parsers = [make_dropout_parser(mix_with_keep(steps), _initial_parameters) for steps in ({}, *_PARSED_STEPS)]

    def parse(result, case):
        if not case.train:
            return parsers[0](result, case)
        candidates = (parser(result, case) for parser in parsers)
        return next((parsed for parsed in candidates if parsed is not result), result)

    return parse


def _uncut(p, scores):
    return scores.masked_fill(~causal_mask(p.init_args["context_length"]), -torch.inf)


def _by_torch(p, x):
    return _out_proj(
        p, _merge(torch_causal_attention(p, *(_split(t, p.init_args["num_heads"]) for t in project_qkv(p, x))))
    )


def _milestones(p, x):
    values = attention_values(
        *(_split(t, p.init_args["num_heads"]) for t in project_qkv(p, x)), causal_mask(x.shape[1])
    )
    merged = _merge(values["the context vectors"])
    columns = torch.stack(p["out_proj.weight"].chunk(p.init_args["num_heads"], -1))
    parts = {"the heads' parts of the result?": values["the context vectors"] @ columns.mT}
    return {**values, "the merged context vectors": merged, **parts, "the result": _out_proj(p, merged)}


_wrong = attention_mistakes(_multi_head.replace, width="the head's width")

exercise(
    "MultiHeadAttention",
    unswept={"parameters": "the lesson lets the layer save its mask as a buffer"},
    initial_parameters=_initial_parameters,
    oracle=_by_torch,
    milestones=_milestones,
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
        case(rand(2, 3, 3), init=(3, 5, 4, 0.0, 2), seed=4, note="with a d_out that is not divisible by num_heads"),
    ],
    returns=Float("batch seq d_out"),
    parse_result=_make_parser(),
    properties=[
        made_in_order("W_query", "W_key", "W_value", "out_proj"),
        *DROPOUT,
        *CAUSAL_LAYER,
        finite_when_scaled(),
        _refuses_when_made,
    ],
    misconceptions={
        "view-without-transpose": Wrong(
            _multi_head.replace(split=_PLAIN_VIEWS["split"]),
            "You split the heads with a single view, so head 0 gets the whole vectors of the first positions. Split the"
            " width first, then swap positions and heads; your split_heads does both.",
        ),
        "merged-without-transpose": _multi_head.replace(merge=_PLAIN_VIEWS["merge"]).wrong(
            "You joined the heads without swapping heads and positions back, so a row holds several positions of one"
            " head. Your merge_heads swaps them back first."
        ),
        "plain-views": _multi_head.replace(**_PLAIN_VIEWS).wrong(
            "You split the heads with a single view, and joined them with a single view. So head 0 gets the whole"
            " vectors of the first positions. Use your split_heads and merge_heads, which swap positions and heads."
        ),
        "heads-interleaved": _multi_head.replace(**_INTERLEAVED).wrong(
            "Each of your heads got every num_heads-th entry of queries, keys and values. The entries of a head should"
            " be adjacent: head 0 should get the first d_out / num_heads entries."
        ),
        "dealt-out-and-merged": _multi_head.replace(split=_interleave).wrong(
            "Each of your heads got every num_heads-th entry of queries, keys and values. The entries of a head should"
            " be adjacent, so split the heads with your split_heads."
        ),
        "merged-interleaved": _multi_head.replace(merge=_undo_interleave).wrong(
            "You interleaved the heads' results before out_proj: entry 0 of every head, then entry 1. Put them side by"
            " side, with head 0's entries first."
        ),
        "mask-not-cut": _multi_head.replace(transform_scores=_uncut).wrong(
            "Your forward raises an error for a text that is shorter than context_length: do you use the mask at its"
            " full size? A text of n positions needs only the first n rows and columns of the mask."
        ),
        "root-of-d_out": _multi_head.replace(**_ROOT_OF_D_OUT).wrong(
            "You divided by the square root of d_out. A head's dot product is a sum over d_out / num_heads entries, so"
            " divide by the square root of d_out / num_heads."
        ),
        "not-scaled": _wrong.not_scaled(
            "You did not divide the scores by the square root of the head's width, so the softmax is too sharp."
        ),
        "wrong-axis": _wrong.wrong_axis(
            "Your softmax ran down the columns. Each row belongs to the query of one position, and the weights of each"
            " row should sum to one."
        ),
        "over-the-heads": Wrong(
            _multi_head.replace(
                **{**ATTENTION_MISTAKES["mask-after-softmax"].steps, **ATTENTION_MISTAKES["second-axis"].steps}
            ),
            "Your softmax ran over the heads, so the heads compete for each pair of positions. In each head, every row"
            " of weights should sum to one.",
        ),
        "multiplied": _wrong.multiplied(),
        "sees-the-future": _wrong.sees_the_future("Nothing is hidden: every position sees the future, in all heads."),
        "root-of-d_in": _wrong.root_of_d_in(
            "You divided by the square root of d_in, the width of the inputs. A head's dot product is a sum over d_out"
            " / num_heads entries, so divide by the square root of d_out / num_heads."
        ),
        "root-of-the-length": _wrong.root_of_the_length(),
        "divided-by-d_head": _wrong.divided_by_the_width(),
        "mirror-image": _wrong.mirror_image(),
        "true-means-blocked": _wrong.true_means_blocked(
            "Your mask is inverted: each position sees all later positions, and the last position sees nothing, which"
            " gives nan. True means 'may attend', so -inf belongs where the mask is False."
        ),
        "mask-after-softmax": _wrong.mask_after_softmax(
            "You remove the weights of later positions after the softmax, so the rows no longer sum to one: the softmax"
            " still includes the later positions in its sum. Mask the scores before the softmax instead."
        ),
        "hidden-with-zero": _wrong.hidden_with_zero(
            "You set hidden scores to 0, and exp(0) is 1, so later positions still get weight. Only a score of -inf"
            " gets weight 0."
        ),
        "no-out_proj": _multi_head.replace(**_NO_OUT_PROJ).wrong(
            "You put the heads side by side but do not use out_proj. out_proj mixes the heads' results; without it, no"
            " entry depends on more than one head."
        ),
        "heads-averaged": _multi_head.replace(merge=lambda x: x.mean(1).repeat(1, 1, x.shape[1])).wrong(
            "You averaged the heads' results. Put them side by side, so that each head keeps its own entries."
        ),
        "query-and-key-swapped": _wrong.query_and_key_swapped(),
        "keys-as-values": _wrong.keys_as_values(),
        "no-dropout": _wrong.no_dropout(
            "Nothing is dropped in training. Apply dropout to the weights of every head, after the softmax and before"
            " the weights mix the values."
        ),
        "drops-in-eval": _wrong.drops_in_eval(),
        "keep-rate": _wrong.keep_rate(),
        **dropout_misconceptions(_multi_head.replace, has_heads=True),
        "dropout-on-the-output": Wrong(
            _multi_head.replace(drop=keep_weights, out=lambda p, x: apply_dropout(p, _out_proj(p, x))),
            "You apply dropout to the layer's result, so individual entries of the result become 0. Apply dropout to"
            " the weights of every head instead, so that a position cannot rely on one particular other position.",
        ),
        "dropout-before-out_proj": Wrong(
            _multi_head.replace(drop=keep_weights, out=lambda p, x: _out_proj(p, apply_dropout(p, x))),
            "You apply dropout to the merged heads, so individual entries of the mixed values become 0. Apply dropout"
            " to the weights of every head, after the softmax and before the weights mix the values.",
        ),
        "any-width-accepted": Wrong(
            _by_torch,
            "You accepted a d_out of 5 for 2 heads. All heads should have the same width, so __init__ should raise a"
            " ValueError with a clear message if d_out is not divisible by num_heads.",
            initial_parameters=fix_arguments(_initial_parameters, any_width=True),
        ),
        "out_proj-first": Wrong(
            _by_torch,
            "The computation is right, but with the same seed your weights differ: out_proj samples its weights before"
            " the other three layers. Make W_query, W_key, W_value, then out_proj.",
            initial_parameters=fix_arguments(_initial_parameters, order=("out_proj", *QKV)),
        ),
        "key-first": Wrong(
            _by_torch,
            "The computation is right, but with the same seed your weights differ: W_key samples its weights before"
            " W_query. Make W_query, W_key, W_value, then out_proj.",
            initial_parameters=fix_arguments(_initial_parameters, order=("W_key", "W_query", "W_value", "out_proj")),
        ),
        "out_proj-asks-qkv_bias": Wrong(
            _by_torch,
            "Your out_proj has a bias only if qkv_bias is true. qkv_bias is only for queries, keys and values; out_proj"
            " should always have a bias.",
            initial_parameters=fix_arguments(_initial_parameters, out_bias=lambda qkv_bias: qkv_bias),
        ),
        **ignored_qkv_bias_misconceptions(_by_torch, _initial_parameters),
    },
    equivalent={
        "head-by-head": _by_head,
        "heads-in-front": _heads_in_front,
        "own-random-numbers": _multi_head.replace(drop=make_dropout()),
    },
    hints=Hints(
        "MultiHeadAttention is CausalAttention with a split after the first three layers and a merge before the last"
        " layer.",
        "Use one W_query, W_key and W_value of width d_out for all heads, and apply split_heads to each result. Scores,"
        " softmax and the weighted sum of values then work on the last two axes, as in CausalAttention.",
        "Swap the last two axes of keys, multiply queries by the result, and divide by the square root of the head's"
        " width. Set -inf where mask is False, apply softmax and dropout, multiply by values, and call merge_heads and"
        " out_proj. If d_out is not divisible by num_heads, raise an error in __init__.",
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


def _head_weights(head):
    """Return the weights and biases of a head of the GPT-2 in use. The result is cached."""
    return _read_head_weights(gpt2.source(), head)


@functools.lru_cache(maxsize=32)
def _read_head_weights(where, head):
    return gpt2.get_split_l0_heads(head, bias=True, path=where.path)


def _pattern(prompt, head, read=_head_weights, mask=causal_mask, order=(0, 1), **steps):
    """Compute the attention pattern of a head. `read(head)` returns the head's weights and biases."""
    _, x = gpt2.get_pre_attn(prompt)
    W_Q, W_K, b_Q, b_K = read(head)
    projections = x @ W_Q + b_Q, x @ W_K + b_K
    q, k = (projections[i] for i in order[:2])  # `order[2]` is for values, which a pattern does not need
    return attention_weights(q, k, mask(len(x)), d_in=x.shape[-1], **steps)


def _patterns_by_torch(prompt, n_heads):
    _, x = gpt2.get_pre_attn(prompt)
    heads = [_head_weights(head) for head in range(n_heads)]
    q, k = (torch.stack([x @ head[i] + head[i + 2] for head in heads]) for i in (0, 1))
    return torch_attention(q, k, is_causal=True)


def _which_gpt2():
    """Return the GPT-2 that the lesson uses, or an error text if no GPT-2 is available."""
    try:
        return find_source()
    except gpt2.WeightsError as error:
        return str(error)


@with_steps
def _all_patterns(prompt, n_heads, **steps):
    return torch.stack([_pattern(prompt, head, **steps) for head in range(n_heads)])


def _change_biases(change):
    """Return a function that reads a head's weights and biases, and replaces the biases with `change(b_Q, b_K)`."""

    def read(head):
        W_Q, W_K, b_Q, b_K = _head_weights(head)
        return W_Q, W_K, *change(b_Q, b_K)

    return read


_wrong = attention_mistakes(_all_patterns.replace)

exercise(
    "all_head_patterns",
    oracle=_patterns_by_torch,
    cases=lambda rand: [
        *(case(_PROMPTS[int(i)], n) for i, n in zip(torch.randperm(8, generator=rand.generator), (4, 3))),
        case("Mary", 1, note="with one head and a text of one token"),
        case("Wilhelmina's strawberries, unbelievably.", 2, note="with words of several tokens"),
    ],
    returns=Float("n_heads seq seq"),
    properties=[rows_sum_to_one()],
    differentiable=False,
    cache_key=_which_gpt2,
    atol=2e-6,
    misconceptions={
        "no-biases": _all_patterns.replace(read=_change_biases(lambda b_Q, b_K: (0.0, 0.0))).wrong(
            "You left out the queries' bias, which favours the same keys in every row, so your patterns differ slightly"
            " from GPT-2's. With bias=True, get_split_l0_heads also returns the biases of queries and keys."
        ),
        "not-scaled": _wrong.not_scaled(
            "You did not divide the scores by the square root of the head's width, so the patterns are too sharp."
        ),
        "scaled-twice": _wrong.divided_by_the_width(
            "Your scores are divided by d_head instead of its square root, so the patterns are too uniform."
            " causal_attn_weights already divides by the square root: did you also divide before you called it?"
        ),
        "root-of-d_model": _wrong.root_of_d_in(
            "You divided by the square root of d_model. A head's queries and keys have only d_head entries, so divide"
            " by the square root of d_head, the size of W_Q's second axis."
        ),
        "sees-the-future": _wrong.sees_the_future(
            "You did not mask the future. GPT-2 masks it in every head, so all weights above the diagonal should be 0."
        ),
        "mask-after-softmax": _wrong.mask_after_softmax(
            "You removed the weights of later positions after the softmax, so the rows no longer sum to one. Mask the"
            " scores first, then apply the softmax: causal_attn_weights does both."
        ),
        "all-heads": Wrong(
            lambda prompt, n_heads: _all_patterns(prompt, gpt2.source().n_heads),
            "You ignored n_heads and returned the patterns of all heads of the model. Return only the patterns of the"
            " first n_heads heads.",
        ),
        "biases-swapped": _all_patterns.replace(read=_change_biases(lambda b_Q, b_K: (b_K, b_Q))).wrong(
            "You added b_K to the queries. Did you swap the biases? get_split_l0_heads returns them in the order W_Q,"
            " W_K, b_Q, b_K."
        ),
        "one-head-late": Wrong(
            lambda prompt, n_heads: torch.stack([_pattern(prompt, head + 1) for head in range(n_heads)]),
            "You start with head 1, so head 0 is missing. Heads are counted from 0.",
        ),
        "head-0-every-time": Wrong(
            lambda prompt, n_heads: torch.stack([_pattern(prompt, 0)] * n_heads),
            "You return the pattern of head 0 for every head. Call get_split_l0_heads for each head.",
        ),
        "one-head-only": Wrong(
            lambda prompt, n_heads: _pattern(prompt, n_heads - 1),
            "You return only one head's pattern. Collect the patterns of all heads and stack them along a new first"
            " axis.",
        ),
        "query-and-key-swapped": _wrong.query_and_key_swapped(
            "You swapped queries and keys. Row i should belong to the query of position i."
        ),
        "wrong-axis": _wrong.wrong_axis(
            "Your softmax ran down the columns. Each row belongs to the query of one position, so each row should sum"
            " to one."
        ),
    },
    equivalent={
        # The key bias adds the same number to all scores in a row, so the softmax does not change.
        "no-key-bias": _all_patterns.replace(read=_change_biases(lambda b_Q, b_K: (b_Q, 0.0))),
        "ones-appended": lambda prompt, n_heads: torch.stack([_with_ones(prompt, head) for head in range(n_heads)]),
    },
    hints=Hints(
        "You have everything that one head needs: get_pre_attn returns the input of attention, and get_split_l0_heads"
        " returns the weights and biases.",
        "queries are x @ W_Q + b_Q, and keys are computed in the same way; causal_attn_weights turns their scores into"
        " weights. Do this for each head and stack the results.",
        "Call get_split_l0_heads(head, bias=True) for head in range(n_heads). The scores are queries @ keys.T, d_k is"
        " W_K.shape[-1], and torch.stack makes [n_heads, seq, seq].",
    ),
)


def _with_ones(prompt, head):
    """Compute a pattern: append the biases to the weight matrices as a row, and append a 1 to each input vector."""
    _, x = gpt2.get_pre_attn(prompt)
    W_Q, W_K, b_Q, b_K = _head_weights(head)
    x = torch.cat((x, torch.ones(len(x), 1)), dim=-1)
    return attention_weights(x @ torch.cat((W_Q, b_Q[None])), x @ torch.cat((W_K, b_K[None])), causal_mask(len(x)))


_KINDS = ("previous", "current", "first")


def _mean_weights(pattern, rows):
    """Return three mean weights over `rows`: on the previous, on the current and on the first position."""
    return torch.stack([pattern[rows, rows - 1].mean(), pattern[rows, rows].mean(), pattern[rows, 0].mean()])


def _uniform_mean(pattern, rows):
    """Return the mean weight of a visible position in `rows` of a uniform pattern: the mean of 1 / (row + 1)."""
    return (1 / (rows + 1.0)).mean()


@with_steps
def _classify(pattern, *, bar=1.4, rows=lambda seq: torch.arange(2, seq), means=_mean_weights, uniform=_uniform_mean):
    at = rows(len(pattern))
    means_by_kind = means(pattern, at)
    is_favourite = means_by_kind.max() >= bar * uniform(pattern, at)
    return _KINDS[int(means_by_kind.argmax())] if is_favourite else "other"


def _first_over_the_bar(order):
    """Return an answer that names the first kind in `order` whose mean weight reaches the threshold."""

    def answer(pattern):
        at = torch.arange(2, len(pattern))
        means, bar = dict(zip(_KINDS, _mean_weights(pattern, at))), 1.4 * _uniform_mean(pattern, at)
        return next((kind for kind in order if means[kind] >= bar), "other")

    return answer


@wrong_answer
def _against_the_second(pattern):
    """You compare the largest mean with the second largest mean, but both means may be large. Compare the largest mean
    with 1.4 times the mean weight of a uniform head.
    """
    means = _mean_weights(pattern, torch.arange(2, len(pattern)))
    second, largest = means.sort().values[-2:]
    return _KINDS[int(means.argmax())] if largest >= 1.4 * second else "other"


def _skip_rows(skipped):
    """Return a function that computes the mean weights. For kind i, it leaves out the first `skipped[i]` rows."""
    return lambda p, at: torch.stack(
        [
            _mean_weights(p, at[late:])[place] if len(at) > late else torch.tensor(0.0)
            for place, late in enumerate(skipped)
        ]
    )


def _head_kind(pattern):
    """Classify the pattern without its first two rows: sum over two diagonals and over the first column."""
    rows = pattern.double()[2:]
    n = len(rows)
    sums = {"previous": rows.diagonal(1).sum(), "current": rows.diagonal(2).sum(), "first": rows[:, 0].sum()}
    best = max(sums, key=sums.get)
    return best if sums[best] / n >= 1.4 * sum(1 / (i + 3) for i in range(n)) / n else "other"


def _sample_pattern(kind, seq, strength, rand):
    """Sample a causal pattern. In each row, add `strength` to the score of the position that `kind` names."""
    scores = rand(seq, seq, scale=0.3)
    at = torch.arange(seq)
    column = {"previous": (at - 1).clamp_min(0), "current": at, "first": torch.zeros_like(at)}[kind]
    scores[at, column] += strength
    return scores.masked_fill(~causal_mask(seq), -torch.inf).softmax(-1)


def _sample_other_pattern(seq, rand):
    """Sample a causal pattern with low weights on the previous, current and first positions."""
    scores = rand(seq, seq, scale=0.3)
    at = torch.arange(2, seq)
    for column in (at - 1, at, 0):
        scores[at, column] -= 1.5
    return scores.masked_fill(~causal_mask(seq), -torch.inf).softmax(-1)


def _sample_misleading_top(seq, rand):
    """Sample a "previous" pattern. An answer that includes rows 0 and 1 misclassifies it as a "first" pattern."""
    pattern = _sample_pattern("previous", seq, 1.1, rand)
    pattern[0], pattern[1] = 0.0, 0.0
    pattern[0, 0], pattern[1, 0] = 1.0, 1.0
    return pattern


def _uniform_pattern(seq):
    """Return a causal pattern in which all visible positions of a row have equal weights."""
    return torch.ones(seq, seq).tril() / torch.arange(1, seq + 1)[:, None]


def _column(kind, row):
    return {"previous": row - 1, "current": row, "first": 0}[kind]


def _one_row_looks(row, kind="first", seq=4, share=1.0):
    """Return a uniform pattern with one exception: `row` gives the weight `share` to the position of `kind`."""
    pattern = _uniform_pattern(seq)
    pattern[row, : row + 1] = (1 - share) / row
    pattern[row, _column(kind, row)] = share
    return pattern


def _times_uniform(kind, seq, times):
    """Return a pattern. From row 2 on, the weight of the position of `kind` is `times` × the uniform weight."""
    pattern = _uniform_pattern(seq)
    for row in range(2, seq):
        pattern[row] = _one_row_looks(row, kind, seq, times / (row + 1))[row]
    return pattern


def _two_habits(most, also, seq, rand, larger=0.48, smaller=0.40):
    """Sample a pattern with two kinds above the threshold: `most` with weight `larger`, `also` with `smaller`."""
    pattern = _uniform_pattern(seq)
    for row in range(2, seq):
        shares = rand(row + 1).abs()
        shares[[_column(most, row), _column(also, row)]] = 0.0
        pattern[row, : row + 1] = 0.12 * shares / shares.sum()
        pattern[row, _column(most, row)] = larger
        pattern[row, _column(also, row)] = smaller
    return pattern


def _means(probe):
    """Report the mean weights and the threshold for the first pattern that the answer classifies wrongly."""
    for trial in probe.trials:
        yours, (pattern,) = trial.yours.value, trial.case.args
        if not isinstance(yours, str) or yours == trial.expected.value:
            continue
        at = torch.arange(2, len(pattern))
        means = ", ".join(f"{m:.3f} on {kind}" for kind, m in zip(_KINDS, _mean_weights(pattern, at)))
        uniform = float(_uniform_mean(pattern, at))
        return (
            f"You called a pattern of {len(pattern)} positions{f' ({trial.case.note})' if trial.case.note else ''}"
            f" {yours!r}, but it is {trial.expected.value!r}. From row 2 on, its mean weights are {means}; the mean"
            f" weight of a uniform pattern is {uniform:.3f}, and 1.4 times this value is {1.4 * uniform:.3f}."
        )
    return None


def _names_one_of_two(probe):
    """Check a pattern in which two means are equal and above the threshold. The lesson accepts both names."""
    pattern = _uniform_pattern(6)
    for row in range(2, 6):
        pattern[row, : row + 1] = 0.1 / (row - 1)
        pattern[row, [0, row - 1]] = 0.45
    observation = probe.run(case(pattern))
    if observation.failure or observation.value in ("previous", "first"):
        return None
    return (
        "If the mean weights on the previous and the first position are both 0.45, which is above the threshold, you"
        f" return {observation.value!r}. Return the name of one of the two positions."
    )


exercise(
    "head_kind",
    oracle=_head_kind,
    cases=lambda rand: [
        *(
            case(_sample_pattern(kind, seq, strength, rand))
            for kind, seq in zip(_KINDS, (9, 6, 12))
            for strength in (0.9, 3.0)
        ),
        case(_sample_pattern("previous", 3, 4.0, rand)),
        *(
            case(_two_habits(most, also, seq, rand), note="with two means above the threshold")
            for most, also, seq in (("current", "previous", 7), ("first", "current", 8), ("previous", "first", 9))
        ),
        *(
            case(_two_habits(most, also, 7, rand, 0.4403, 0.4397), note="with two means that are nearly equal")
            for most, also in (("previous", "current"), ("current", "first"), ("first", "previous"))
        ),
        case(_times_uniform("first", 12, 1.35), note="with a mean a little below the threshold"),
        # A threshold that depends on the pattern's length gives the wrong answer for one of the next two cases.
        case(_times_uniform("previous", 12, 1.2), note="with a mean below the threshold"),
        case(_times_uniform("current", 4, 1.3), note="with a mean below the threshold"),
        case(_times_uniform("current", 6, 1.45), note="with a mean a little above the threshold"),
        case(_sample_other_pattern(8, rand), note="that attends to other positions"),
        case(_sample_pattern("first", 10, 0.25, rand), note="with only a weak preference"),
        case(_sample_misleading_top(5, rand), note="in which row 1 attends only to position 0"),
        *(case(_uniform_pattern(n), note="that is uniform") for n in (7, 4)),
        *(case(_one_row_looks(2, kind), note="in which row 2 determines the result") for kind in _KINDS),
        *(
            case(_one_row_looks(1, kind), note="in which row 1 must not affect the result")
            for kind in ("current", "first")
        ),
        case(_one_row_looks(2, "first", 8), note="in which only row 2 is not uniform"),
        case(_one_row_looks(7, "first", 8, 0.5), note="in which only the last row is not uniform"),
    ],
    differentiable=False,
    properties=[_means, _names_one_of_two],
    misconceptions={
        "row-1-counted": _classify.replace(rows=lambda seq: torch.arange(1, seq)).wrong(
            "You include row 1, where the previous position is also the first position, so the same weight counts"
            " towards two means. From row 2 on, the three positions are different."
        ),
        "row-2-skipped": _classify.replace(rows=lambda seq: torch.arange(3, seq)).wrong(
            "You leave out row 2. Counted from 0, row 2 is the first row in which the previous, the current and the"
            " first position are all different."
        ),
        **{
            f"row-2-lost-for-{kind}": Wrong(
                _classify.replace(means=_skip_rows([int(kind == each) for each in _KINDS])),
                f"Your mean weight on the {kind} position starts at row 3. Start all three means at row 2; in a"
                " diagonal, the index of row 2 depends on the diagonal's first row.",
            )
            for kind in ("previous", "current")
        },
        "first-over-the-bar": Wrong(
            _first_over_the_bar(_KINDS),
            "You return the first kind whose mean reaches the threshold, even if another kind has a larger mean. Find"
            " the largest of the three means first, then check whether it is high enough.",
        ),
        "first-over-the-bar-from-the-end": Wrong(
            _first_over_the_bar(_KINDS[::-1]),
            "You try the kinds one after the other and return the first kind whose mean reaches the threshold, even if"
            " another kind has a larger mean. Find the largest of the three means first, then check whether it is high"
            " enough.",
        ),
        "against-the-second": _against_the_second,
        "mean-of-ratios": Wrong(
            _classify.replace(
                means=lambda p, at: _mean_weights(p * torch.arange(1.0, len(p) + 1)[:, None], at),
                uniform=lambda pattern, at: 1.0,
            ),
            "You divide each weight by the uniform weight of its row and compare the mean of these ratios with 1.4, so"
            " the small weights of late rows count too much. Compare the mean of the weights with 1.4 times the mean of"
            " the uniform weights instead.",
        ),
        "uniform-of-the-mean-row": _classify.replace(uniform=lambda pattern, at: 1 / (at + 1.0).mean()).wrong(
            "You divide 1 by the mean length of the rows, which gives a smaller value than the mean weight of a uniform"
            " head. A uniform head's mean weight is the mean of 1 / (i + 1) over the rows i from 2 on."
        ),
        "never-other": _classify.replace(bar=0.0).wrong(
            "You gave each pattern of this check one of the three names, even the uniform patterns. Name a head after"
            " the position with the largest mean weight only if this mean is at least 1.4 times the mean weight of a"
            " uniform head."
        ),
        "bar-of-one": _classify.replace(bar=1.0).wrong(
            "You accept a mean that is only a little larger than the mean weight of a uniform head, which often happens"
            " by chance. The threshold should be 1.4 times the mean weight of a uniform head."
        ),
        "all-rows": Wrong(
            _classify.replace(
                rows=torch.arange,
                means=lambda p, at: torch.stack([p.diagonal(-1).sum() / len(p), p.diagonal().mean(), p[:, 0].mean()]),
            ),
            "You include rows 0 and 1. Row 0 has only one visible position, and in row 1 the previous position is the"
            " first position; from row 2 on, the three positions are different.",
        ),
        "all-rows-that-have-the-place": Wrong(
            _classify.replace(
                means=lambda p, at: torch.stack([p.diagonal(-1).mean(), p.diagonal().mean(), p[:, 0].mean()]),
            ),
            "Your means include rows 0 and 1. Row 0 has only one visible position, and in row 1 the previous position"
            " is the first position; from row 2 on, the three positions are different.",
        ),
        "row-for-column": Wrong(
            _classify.replace(means=lambda p, at: torch.stack([*_mean_weights(p, at)[:2], p[0, at].mean()])),
            "For the first token you read row 0, which holds the weights that position 0 gives. The weights that other"
            " positions give to position 0 are in column 0.",
        ),
        "bar-one-over-seq": _classify.replace(uniform=lambda pattern, at: 1 / len(pattern)).wrong(
            "You use 1 / seq as the mean weight of a uniform head. In a causal pattern, row i has only i + 1 visible"
            " positions, so its uniform weight is 1 / (i + 1), and the mean of these weights over the rows is larger."
        ),
        "looks-down-the-columns": _classify.replace(means=lambda p, at: _mean_weights(p.T, at)).wrong(
            "You read the pattern column by column. Each row belongs to one query, and its entries are the weights that"
            " this query gives to the positions."
        ),
        "last-row-only": _classify.replace(rows=lambda seq: torch.tensor([seq - 1])).wrong(
            "You read only the last row, but the weights of a single row may be high or low by chance. Take the mean"
            " over all rows from 2 on."
        ),
        "next-for-previous": Wrong(
            _classify.replace(
                means=lambda p, at: torch.stack([p[at - 1, at].mean(), p[at, at].mean(), p[at, 0].mean()])
            ),
            "You read the entries to the right of the diagonal, which belong to the next position and are 0 in a causal"
            " pattern. In row i, the previous position is column i - 1.",
        ),
    },
    hints=Hints(
        "In each row i from 2 on, three weights matter: the weights in the columns i - 1, i and 0. Take the mean of"
        " each of them over the rows.",
        "Let rows be a tensor with 2, 3, … up to the last row. Then pattern[rows, rows - 1] holds the weights on the"
        " previous position. What would these weights be in a uniform row i?",
        "For a uniform pattern, the mean weight is (1 / (rows + 1)).mean(). Take the largest of the three means; if it"
        ' is at least 1.4 times the uniform value, return its name, else "other".',
    ),
)
