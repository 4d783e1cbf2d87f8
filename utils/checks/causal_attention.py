"""Exercises of lesson 04: hiding the future. The oracle is torch's attention with `is_causal`, and where that has no say, arithmetic on yes and no."""

import torch
from torch import nn
from torch.nn import functional as F

from utils.feedback import (
    Bool, Float, batch_independent, case, causal, exercise, finite_when_loud, linear, moves_with_its_module, remembers_nothing, rows_sum_to_one,
)


def _ones(size):
    return torch.ones(size, size)


def _sees(n):
    return torch.arange(n)[:, None] >= torch.arange(n)


exercise(
    "get_mask",
    oracle=_sees,
    cases=[case(size) for size in (1, 2, 5, 8, 19)],
    returns=Bool("query key"),
    misconceptions={
        "sees-the-future": (
            lambda size: _ones(size).triu().bool(),
            "Your mask is the mirror image: row 0 may see every later position, and the last row only itself. "
            "Rows are the positions that ask; each may look back, not ahead.",
        ),
        "blind-to-itself": (
            lambda size: _ones(size).tril(-1).bool(),
            "Nobody may see themselves: the diagonal is False, so position 0 has nothing to attend to, and its softmax would be nan.",
        ),
        "one-step-ahead": (
            lambda size: _ones(size).tril(1).bool(),
            "Each position also sees the next one: the very token that it will be asked to predict.",
        ),
        "true-means-blocked": (
            lambda size: _ones(size).triu(1).bool(),
            "Your True means 'hidden'. In this course, as in torch's scaled_dot_product_attention, True means 'may attend'.",
        ),
        "everyone-sees-everyone": (
            lambda size: _ones(size).bool(),
            "Every cell is True, so nothing is hidden: position 0 may read the whole text before it is written.",
        ),
        "only-itself": (
            lambda size: torch.eye(size).bool(),
            "Each position sees itself and nothing else. It may look back, too: the past is what attention is there for.",
        ),
        "only-the-previous": (
            lambda size: _ones(size).tril().triu(-1).bool(),
            "Each position sees itself and the one before it, and nothing older. The whole past is open to it, back to position 0.",
        ),
    },
    hints=(
        "Fill in the 4 × 4 table by hand first. Which shape do the yes cells make?",
        "torch has a function that keeps the lower triangle of a matrix.",
        "Start from a size × size matrix of ones of dtype bool, then keep its lower triangle, diagonal included.",
    ),
)


def _rest(weights, mask):
    return torch.where(mask, weights, 0.0)


exercise(
    "masked_then_renormalised",
    # F.normalize divides by the sum of absolute values, and weights are not negative.
    oracle=lambda weights, mask: F.normalize(_rest(weights, mask), p=1, dim=-1),
    cases=lambda rand: [
        case(rand(3, 3).softmax(-1), _sees(3)), case(rand(5, 5).softmax(-1), rand.mask(5, 5)),
        case(rand(2, 4, 4).softmax(-1), _sees(4)), case(rand(2, 3, 5).softmax(-1), rand.mask(3, 5)),
    ],
    returns=Float("query key", name="weights"),
    properties=[rows_sum_to_one()],
    misconceptions={
        "not-renormalised": (
            _rest,
            "The hidden weights are gone, and so is their share: the rows no longer sum to one. "
            "What is left of a row has to be divided by its own sum, or early positions pass on less than late ones.",
        ),
        "keepdim-forgotten": (
            lambda weights, mask: _rest(weights, mask) / _rest(weights, mask).sum(-1),
            "The row sums are a flat list, and a division lines a flat list up with the columns: column 0 was divided by the sum of row 0, and so on. "
            "Keep the axis that the sum runs over, so that each row meets its own sum.",
        ),
        "wrong-axis": (
            lambda weights, mask: F.normalize(_rest(weights, mask), p=1, dim=-2),
            "The columns were made to sum to one. A row belongs to the position that asks, and it is the asker who shares out one unit.",
        ),
        "whole-table": (
            lambda weights, mask: _rest(weights, mask) / _rest(weights, mask).sum(),
            "You divided by the sum of the whole table. Each row shares out one unit of its own, so each needs its own sum.",
        ),
        "divided-by-the-count": (
            lambda weights, mask: _rest(weights, mask) / mask.sum(-1, keepdim=True),
            "You divided by how many positions a row may see. What must become one is the sum of their weights, not their number.",
        ),
        "softmax-again": (
            lambda weights, mask: F.softmax(_rest(weights, mask), dim=-1),
            "A second softmax turns each 0 into e to the 0, which is 1: the hidden positions get weight again. "
            "The weights are shares already; dividing them by their sum is enough.",
        ),
        "weights-taken-for-scores": (
            lambda weights, mask: F.softmax(weights.masked_fill(~mask, -torch.inf), dim=-1),
            "You hid the rest with -inf and took a softmax, which is the way to treat scores. These are weights, shares already: "
            "another softmax changes their proportions and makes them more alike.",
        ),
        "true-means-blocked": (
            lambda weights, mask: F.normalize(_rest(weights, ~mask), p=1, dim=-1),
            "You kept what the mask hides and hid the rest. In this course True means 'may attend'.",
        ),
        "mask-ignored": (
            lambda weights, mask: weights + 0.0 * mask,
            "The weights come back as they were: positions that may not be seen still have a share.",
        ),
    },
    equivalent={
        "sum-over-the-old-sum": lambda weights, mask: weights * mask / (weights * mask).sum(-1, keepdim=True) * weights.sum(-1, keepdim=True),
        "softmax-of-logs": lambda weights, mask: F.softmax(weights.log().masked_fill(~mask, -torch.inf), -1),
    },
    hints=(
        "Two steps: take the hidden weights out, then give each row its sum of one back.",
        "A True counts as 1 and a False as 0 in a product. For the second step you need the sum of each row.",
        "Multiply by the mask; sum along the last axis with keepdim=True; divide.",
    ),
)


def _causal_by_torch(scores, d_k):
    """torch's attention with the scores as queries, unit vectors as keys and values: its weights come out."""
    n = scores.shape[-1]
    eye = torch.eye(n, dtype=scores.dtype).expand(*scores.shape[:-2], n, n)
    lead = (None,) * max(0, 3 - scores.dim())
    out = F.scaled_dot_product_attention(scores[lead], eye[lead], eye[lead], is_causal=True, scale=d_k**-0.5)
    return out[(0,) * len(lead)] if lead else out


def _weigh(hidden=-torch.inf, scale=lambda d_k, n: d_k**0.5, axis=-1, sees=_sees):
    def answer(scores, d_k):
        n = scores.shape[-1]
        return F.softmax(scores.masked_fill(~sees(n), hidden) / scale(d_k, n), dim=axis)
    return answer


_WORDS = {
    "mask-after-softmax":
        "The mask acts after the softmax, and nothing is renormalised: row 0 keeps only the share that it had among all positions. "
        "Worse, how much is left depends on the hidden scores, so the future still shows.",
    "hidden-with-zero":
        "Hidden scores became 0. e to the 0 is 1, so the softmax gives the future weight all the same, and more than to a negative score. "
        "Only a score of -inf has weight 0.",
    "sees-the-future":
        "Nothing is hidden: row 0 has weight on positions that come later. When a model writes, those tokens do not exist yet.",
    "true-means-blocked":
        "The past is hidden and the future open: the mask was read the other way round. True means 'may attend', "
        "so the scores to fill are those where it is False. The last row is nan because nothing is left of it.",
    "blind-to-itself":
        "A position may not see itself, so row 0 is empty, and a softmax over nothing is nan. The diagonal belongs to what may be seen.",
    "wrong-axis":
        "Softmax ran down the columns. A row belongs to the position that asks, and it is the asker who shares out one unit.",
}

exercise(
    "causal_attn_weights",
    oracle=_causal_by_torch,
    cases=lambda rand: [
        case(rand(3, 3), 2), case(rand(6, 6, scale=3.0), 16), case(rand(2, 4, 4, scale=2.0), 5), case(rand(2, 3, 5, 5), 3),
        case(torch.zeros(2, 2, dtype=torch.float16), 4, note="in float16"),
        case(torch.tensor([[0.0, 400.0], [0.0, 0.0]]) + rand(1), 1, note="with a hidden score far above the visible one"),
        case(rand.integers(4, 4, high=5).float() - torch.tensor([[30000.0], [0], [0], [0]]), 4, note="with visible scores far below the hidden ones"),
    ],
    returns=Float("query key", name="weights"),
    properties=[rows_sum_to_one(), finite_when_loud()],
    misconceptions={
        "sees-the-future": (lambda scores, d_k: F.softmax(scores / d_k**0.5, -1), _WORDS["sees-the-future"]),
        "mask-after-softmax": (
            lambda scores, d_k: F.softmax(scores / d_k**0.5, -1) * _sees(scores.shape[-1]), _WORDS["mask-after-softmax"],
        ),
        "hidden-with-zero": (_weigh(0.0), _WORDS["hidden-with-zero"]),
        "minus-a-billion": (
            _weigh(-1e9),
            "-1e9 is right in float32 and stops in float16, whose numbers end at 65504. Models are often run in half precision; "
            "-inf exists in every type of float, and gives a weight of exactly 0.",
        ),
        "not-hidden-enough": (
            _weigh(-10.0),
            "Hidden scores became -10, which is low and not low enough: the future keeps a small weight, and a large one where the other scores are low, too. "
            "Nothing but -inf is below every score.",
        ),
        "not-scaled": (
            _weigh(scale=lambda d_k, n: 1.0),
            "The scores are not divided by the root of d_k. The mask is right; the weights are too sharp, the more so the wider the keys.",
        ),
        "divided-by-d_k": (
            _weigh(scale=lambda d_k, n: d_k), "You divided by d_k instead of by its root, so the weights come out too even. The spread of a dot product grows with the root of the width.",
        ),
        "root-of-the-length": (
            _weigh(scale=lambda d_k, n: n**0.5),
            "You divided by the root of the number of positions. Scores spread with the width of the keys, d_k, and not with the length of the text.",
        ),
        "shared-out-before-hiding": (
            lambda scores, d_k: (lambda kept: kept / kept.sum(-1, keepdim=True))(F.softmax(scores / d_k**0.5, -1) * _sees(scores.shape[-1])),
            "The softmax shares out among all positions, the hidden ones are then taken out, and the rest is divided by its sum. Where a hidden score is far higher than the visible ones, "
            "nothing is left of these, and 0 / 0 is nan. Hide first, and take the softmax of what may be seen.",
        ),
        "wrong-axis": (_weigh(axis=-2), _WORDS["wrong-axis"]),
        "true-means-blocked": (_weigh(sees=lambda n: ~_sees(n)), _WORDS["true-means-blocked"]),
        "mirror-image": (
            _weigh(sees=lambda n: _sees(n).T),
            "Each position sees itself and what comes after it: the triangle is the mirror image. Rows ask, and may look back.",
        ),
        "blind-to-itself": (_weigh(sees=lambda n: _ones(n).tril(-1).bool()), _WORDS["blind-to-itself"]),
        "mask-as-long-as-the-batch": (
            lambda scores, d_k: F.softmax(scores.masked_fill(~_sees(len(scores)), -torch.inf) / d_k**0.5, dim=-1),
            "The mask takes its size from the first axis, which in a batch counts the texts. "
            "It needs a row and a column for each position, and positions run along the last two axes.",
        ),
        "still-scores": (
            lambda scores, d_k: (scores / d_k**0.5).masked_fill(~_sees(scores.shape[-1]), -torch.inf),
            "These are the scores, scaled and masked; the softmax is missing. Weights are shares: each row sums to one.",
        ),
    },
    equivalent={
        "scaled-first": lambda scores, d_k: F.softmax((scores / d_k**0.5).masked_fill(~_sees(scores.shape[-1]), -torch.inf), -1),
        "lowest-of-its-type": lambda scores, d_k: F.softmax((scores / d_k**0.5).masked_fill(~_sees(scores.shape[-1]), torch.finfo(scores.dtype).min), -1),
    },
    hints=(
        "The order matters: hide first, share out afterwards. What score gets no share at all?",
        "get_mask of the table's size says what may stay. Fill the other scores with -inf, divide by the root of d_k, and take the softmax of each row.",
        "masked_fill fills where its mask is True, so hand it the opposite of get_mask(scores.shape[-1]); then softmax along dim -1.",
    ),
)


def _kept(rand, *shape):
    return rand(*shape) > -0.3


exercise(
    "inverted_dropout",
    oracle=lambda x, keep, p: torch.where(keep, x / (1 - p), 0.0),
    cases=lambda rand: [
        case(rand(2, 3), _kept(rand, 2, 3), 0.5), case(rand(4, 4).softmax(-1), _kept(rand, 4, 4), 0.2), case(rand(2, 3, 5), _kept(rand, 2, 3, 5), 0.9),
        case(rand(3, 2), torch.ones(3, 2, dtype=torch.bool), 0.0, note="nothing is dropped"),
    ],
    returns=Float(),
    misconceptions={
        "not-scaled": (
            lambda x, keep, p: x * keep,
            "What is kept comes back as it was, so on average the result is too small: only a share of 1 - p of it survives. "
            "The survivors must be enlarged to make up for the dropped, or the next layer meets other sizes in training than afterwards.",
        ),
        "divided-by-p": (
            lambda x, keep, p: torch.where(keep, x / p, 0.0),
            "You divided by p, the share that is dropped. Whoever survives stands in for the dropped, so it is the share of survivors that divides. "
            "At p = 0.5 the two cannot be told apart.",
        ),
        "multiplied": (
            lambda x, keep, p: x * keep * (1 - p),
            "The survivors were made smaller. Some numbers are gone already, so those that remain must grow to keep the mean.",
        ),
        "one-plus-p": (
            lambda x, keep, p: x * keep * (1 + p),
            "You multiplied the survivors by 1 + p. At p = 0.5 half of them are left, and each has to count twice, not one and a half times.",
        ),
        "keeps-the-dropped": (
            lambda x, keep, p: torch.where(keep, 0.0, x / (1 - p)),
            "You dropped what was to be kept. keep is True where a number survives.",
        ),
        "nothing-dropped": (
            lambda x, keep, p: x / (1 - p) + 0.0 * keep,
            "Everything was enlarged and nothing dropped. Where keep is False the result is 0.",
        ),
        "by-what-happened": (
            lambda x, keep, p: torch.where(keep, x / keep.float().mean(), 0.0),
            "You divided by the share that survived this time. It varies from draw to draw, and is 0 when all are dropped; "
            "the mean is kept by the share that survives on average, which p gives.",
        ),
        "rows-renormalised": (
            lambda x, keep, p: x * keep / (x * keep).sum(-1, keepdim=True),
            "You gave each row a sum of one again, as after a mask. Dropout does not renormalise: a row with fewer survivors is meant to be smaller, "
            "and only the mean over many draws stays.",
        ),
        "draws-its-own": (
            lambda x, keep, p: F.dropout(x, p) + 0.0 * keep,
            "It draws what to drop anew and does not use keep. Here the draw is given, so that you can see what happens to it.",
        ),
    },
    equivalent={
        "product": lambda x, keep, p: x * keep / (1 - p),
        "torch-backward": lambda x, keep, p: torch.ops.aten.native_dropout_backward(x, keep, 1 / (1 - p)),
    },
    hints=(
        "Ten numbers, eight of which survive at p = 0.2. By which factor must these eight grow to make up for two?",
        "Two steps: zeros where keep is False, and a division of the rest. On average a share of 1 - p survives.",
        "Multiply x by keep, then divide by one minus p.",
    ),
)


def _linear_parameters(d_in, d_out, context_length, dropout, qkv_bias=False):
    return linear(**{name: nn.Linear(d_in, d_out, bias=qkv_bias) for name in ("W_query", "W_key", "W_value")})


def _qkv(p, x):
    return tuple(F.linear(x, p[f"{n}.weight"], p.get(f"{n}.bias")) for n in ("W_query", "W_key", "W_value"))


def _dropped(p, x):
    return F.dropout(x, p.init["dropout"], p.training)


def _attention(
    hide=lambda scores, sees: scores.masked_fill(~sees, -torch.inf), scale=lambda p, d_in, d_k: d_k**-0.5, axis=-1,
    order=(0, 1, 2), before=lambda p, scores: scores, after=_dropped, mix=lambda p, weights, v, x: weights @ v, sees=_sees,
):
    """A forward pass with one step replaced."""
    def answer(p, x):
        q, k, v = (_qkv(p, x)[i] for i in order)
        scores = before(p, q @ k.mT * scale(p, x.shape[-1], k.shape[-1]))
        weights = F.softmax(hide(scores, sees(x.shape[1]).to(x.device)), axis)
        return mix(p, after(p, weights), v, x)
    return answer


def _by_torch(p, x):
    return F.scaled_dot_product_attention(*_qkv(p, x), is_causal=True, dropout_p=p.init["dropout"] if p.training else 0.0)


def _own_draw(p, weights):
    """Dropout from torch.rand: right on average, and with other random numbers than nn.Dropout."""
    rate = p.init["dropout"]
    return torch.where(torch.rand(weights.shape) >= rate, weights / (1 - rate), 0.0) if p.training else weights


class _Wrong(nn.Module):
    """The lesson's class in its simplest right form, for mistakes that live in what it keeps."""

    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", _sees(context_length))

    def weights(self, q, k):
        n = q.shape[1]
        return F.softmax((q @ k.transpose(1, 2) / k.shape[-1] ** 0.5).masked_fill(~self.mask[:n, :n], -torch.inf), -1)

    def forward(self, x):
        return self.dropout(self.weights(self.W_query(x), self.W_key(x))) @ self.W_value(x)


class _NotCut(_Wrong):
    def weights(self, q, k):
        return F.softmax((q @ k.transpose(1, 2) / k.shape[-1] ** 0.5).masked_fill(~self.mask, -torch.inf), -1)


def _always(bias):
    return lambda d_in, d_out, context_length, dropout, qkv_bias=False: _linear_parameters(d_in, d_out, context_length, dropout, bias)


exercise(
    "CausalAttention",
    initial=_linear_parameters,
    oracle=_by_torch,
    cases=lambda rand: [
        case(rand(2, 4, 3), init=(3, 2, 4, 0.5)),
        case(rand(3, 2, 5), init={"d_in": 5, "d_out": 4, "context_length": 6, "dropout": 0.2, "qkv_bias": True}, seed=1, note="shorter than the context"),
        case(rand(2, 5, 4), init=(4, 6, 5, 0.5), train=True, seed=2, note="in training"),
        case(rand(3, 4, 2), init={"d_in": 2, "d_out": 5, "context_length": 7, "dropout": 0.2, "qkv_bias": True}, train=True, seed=3, note="in training"),
        case(rand(2, 20, 3), init=(3, 2, 24, 0.0), seed=4),
        case(rand(2, 3, 3), init=(3, 2, 6, 0.0), fill=False, seed=123, note="with the weights as __init__ makes them after manual_seed(123)"),
    ],
    returns=Float("batch seq d_out"),
    properties=[causal(), batch_independent(), moves_with_its_module, remembers_nothing, finite_when_loud(alone=True)],
    misconceptions={
        "sees-the-future": (_attention(hide=lambda s, sees: s), _WORDS["sees-the-future"].replace("row 0", "position 0")),
        "mask-after-softmax": (
            _attention(hide=lambda s, sees: s, after=lambda p, w: _dropped(p, w * _sees(w.shape[-1]))), _WORDS["mask-after-softmax"],
        ),
        "hidden-with-zero": (_attention(hide=lambda s, sees: s.masked_fill(~sees, 0.0)), _WORDS["hidden-with-zero"]),
        "true-means-blocked": (_attention(sees=lambda n: ~_sees(n)), _WORDS["true-means-blocked"].replace("row", "position")),
        "blind-to-itself": (_attention(sees=lambda n: _ones(n).tril(-1).bool()), _WORDS["blind-to-itself"]),
        "mirror-image": (
            _attention(sees=lambda n: _sees(n).T),
            "Each position sees itself and what comes after it: the mask is the mirror image. A position may look back, not ahead.",
        ),
        "mask-not-cut": (
            _NotCut,
            "The mask keeps its full size, and the text is shorter than context_length: the two tables do not fit. "
            "A text may be of any length up to context_length, and needs only the corner of the mask that belongs to it.",
        ),
        "wrong-axis": (_attention(axis=-2), _WORDS["wrong-axis"]),
        "not-scaled": (
            _attention(scale=lambda p, d_in, d_k: 1.0),
            "The scores are not divided by the root of d_k. The mask is right; the weights are too sharp, the more so the wider the layer.",
        ),
        "multiplied": (
            _attention(scale=lambda p, d_in, d_k: d_k**0.5),
            "The scores were multiplied by the root of d_k and should be divided by it. A dot product grows with that root as it is; now the softmax is sharper still, and picks one token.",
        ),
        "divided-by-d_k": (
            _attention(scale=lambda p, d_in, d_k: 1 / d_k),
            "You divided by d_k instead of by its root, so the weights come out too even. The spread of a dot product grows with the root of the width.",
        ),
        "root-of-d_in": (
            _attention(scale=lambda p, d_in, d_k: d_in**-0.5),
            "You divided by the root of d_in, the width of the inputs. Scores are products of queries and keys: their width d_out counts.",
        ),
        "query-and-key-swapped": (
            _attention(order=(1, 0, 2)), "Queries and keys have changed places. Row i must hold what position i asks: its query against the keys.",
        ),
        "no-dropout": (
            _attention(after=lambda p, w: w),
            "Nothing is dropped in training. The layer is asked for a dropout of its weights, to act between softmax and mix.",
        ),
        "drops-in-eval": (
            _attention(after=lambda p, w: F.dropout(w, p.init["dropout"])),
            "It drops weights after eval(), too, so a finished model answers differently each time. "
            "The dropout has to know in which mode the layer is; F.dropout on its own assumes training.",
        ),
        "dropout-on-the-output": (
            _attention(after=lambda p, w: w, mix=lambda p, w, v, x: _dropped(p, w @ v)),
            "The dropout acts on the context vectors: single numbers of a mixed vector vanish. Here it acts on the weights, "
            "so that a position cannot rely on one other position being there.",
        ),
        "dropout-on-the-scores": (
            _attention(before=_dropped, after=lambda p, w: w),
            "The dropout acts on the scores, before the softmax. A dropped score is 0, and a score of 0 still gets weight: nothing is ignored.",
        ),
        "dropout-of-the-values": (
            _attention(after=lambda p, w: w, mix=lambda p, w, v, x: w @ _dropped(p, v)),
            "The dropout acts on the values. Here it acts on the weights: who listens to whom is left to chance, what is said is not.",
        ),
        "keep-rate": (
            _attention(after=lambda p, w: F.dropout(w, 1 - p.init["dropout"], p.training)),
            "You handed on 1 - dropout. The number is the share that is dropped, for nn.Dropout as for this class.",
        ),
        "fixed-rate": (
            _attention(after=lambda p, w: F.dropout(w, 0.5, p.training)),
            "Half of the weights are dropped, whatever rate is asked for. It is dropout, the argument of __init__, that says how many.",
        ),
        "dropout-before-renormalising": (
            _attention(after=lambda p, w: F.normalize(_dropped(p, w), p=1, dim=-1)),
            "After the dropout each row was given a sum of one again. The survivors are enlarged already; a row with few of them is meant to be smaller.",
        ),
        "own-random-numbers": (
            _attention(after=_own_draw),
            "The dropout is right on average and draws its random numbers in a way of its own. "
            "Use torch's layer, so that the same seed drops the same weights in your class, in the lesson and in every other one.",
        ),
        "inputs-as-values": (
            _attention(mix=lambda p, w, v, x: w @ x),
            "The raw inputs are mixed, so the result has d_in columns. What a token passes on is its value vector, of d_out entries.",
        ),
        "always-a-bias": (
            _by_torch, "The layers have biases although qkv_bias is False: nn.Linear adds one unless it is told not to. Pass qkv_bias on as its bias.", _always(True),
        ),
        "never-a-bias": (
            _by_torch, "The layers have no biases even when qkv_bias is True. Pass qkv_bias on as the layers' bias.", _always(False),
        ),
    },
    equivalent={
        "minus-a-billion": _attention(hide=lambda s, sees: s.masked_fill(~sees, -1e9)),
        "zeroed-and-renormalised": _attention(
            hide=lambda s, sees: s, after=lambda p, w: _dropped(p, F.normalize(w * _sees(w.shape[-1]).to(w.device), p=1, dim=-1)),
        ),
        "made-in-forward": _attention(),
    },
    hints=(
        "SelfAttention_v2 is the skeleton. New are: a batch axis in front, a mask before the softmax, a dropout after it.",
        "__init__: three Linear layers, a dropout layer, and get_mask of the whole context as a buffer called mask. "
        "forward: turn the last two axes of the keys only, and cut the mask to the length of the text.",
        "Let n be the number of positions in x; scores where self.mask[:n, :n] is False become -inf; divide by the root of keys.shape[-1]; softmax dim -1; self.dropout; @ values.",
    ),
)
