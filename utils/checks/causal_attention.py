"""Exercises of lesson 04: hiding the future. The oracle is torch's attention with `is_causal`, and where that has no
say, arithmetic on yes and no."""

import torch
from torch import nn
from torch.nn import functional as F

from utils.checks._attention import (
    CAUSAL_LAYER,
    INPUTS,
    WORDS,
    apply_dropout,
    causal_mask,
    future_mask,
    ignored_qkv_bias_misconceptions,
    make_causal_attention,
    multiplied_by_root_message,
    project_qkv,
    qkv_parameters,
    scale_by_length,
    starts_as_linear,
    strictly_causal_mask,
    torch_attention,
    torch_causal_attention,
)
from utils.checks._dropout import DROPOUT, dropout_misconceptions, make_dropout, make_dropout_parser
from utils.feedback.exercise import Bool, Float, Hints, Wrong, case, exercise
from utils.feedback.properties import finite_when_scaled, rows_sum_to_one


def _of_the_page():
    """The scores [6, 6] that the lesson makes with seed 789."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.default_generator.manual_seed(789)
        queries, keys = (nn.Linear(3, 2, bias=False)(INPUTS) for _ in range(2))
    return queries @ keys.T


_SCORES = _of_the_page()

exercise(
    "get_mask",
    oracle=causal_mask,
    cases=[case(size) for size in (1, 2, 5, 8, 19)],
    returns=Bool("query key"),
    misconceptions={
        "sees-the-future": Wrong(
            future_mask,
            "Your mask is the mirror image: row 0 may see every later position, and the last row only itself. Rows are"
            " the positions that ask; each may look back, not ahead.",
        ),
        "blind-to-itself": Wrong(
            strictly_causal_mask,
            "Nobody may see themselves: the diagonal is False, so position 0 has nothing to attend to, and its softmax"
            " would be nan.",
        ),
        "blind-after-row-0": Wrong(
            lambda size: strictly_causal_mask(size) | (torch.arange(size * size).view(size, size) == 0),
            "Row 0 sees itself and no other row does: below it the diagonal is False. Each position may look at"
            " itself as well as at its past.",
        ),
        "one-step-ahead": Wrong(
            lambda size: torch.ones(size, size).tril(1).bool(),
            "Each position also sees the next one: the very token that it will be asked to predict.",
        ),
        "true-means-blocked": Wrong(
            lambda size: ~causal_mask(size),
            "Your True means 'hidden'. In this course, as in torch's scaled_dot_product_attention, True means 'may"
            " attend'.",
        ),
        "everyone-sees-everyone": Wrong(
            lambda size: torch.ones(size, size).bool(),
            "Every cell is True, so nothing is hidden: position 0 may read the whole text before it is written.",
        ),
        "only-itself": Wrong(
            lambda size: torch.eye(size).bool(),
            "Each position sees itself and nothing else. It may look back, too: the past is what attention is there"
            " for.",
        ),
        "only-the-previous": Wrong(
            lambda size: causal_mask(size).triu(-1),
            "Each position sees itself and the one before it, and nothing older. The whole past is open to it, back to"
            " position 0.",
        ),
        "only-the-last-three": Wrong(
            lambda size: causal_mask(size).triu(-2),
            "Each position sees itself and the two before it: from row 3 on, older ones are hidden. However far back a"
            " position lies, a later one may look at it; only the future is hidden.",
        ),
        "other-diagonal": Wrong(
            lambda size: future_mask(size).flip(0),
            "The border runs from the lower left to the upper right. Row i ends with column i, so the border is the"
            " diagonal from the upper left to the lower right.",
        ),
    },
    hints=Hints(
        "Fill in the 4 × 4 table by hand first. Which shape do the yes cells make?",
        "torch has a function that keeps the lower triangle of a matrix.",
        "Start from a size × size matrix of ones of dtype bool, then keep its lower triangle, diagonal included.",
    ),
)


def _rest(weights, mask):
    return torch.where(mask, weights, 0.0)


def _shared_out(rest, dim=-1):
    return rest / rest.sum(dim, keepdim=True)


def _corner(weights, mask):
    """A causal mask where the mask that was given stands, square or not."""
    return torch.ones_like(mask).tril()


def _dealt_out_equally(weights, mask):
    lost = 1 - _rest(weights, mask).sum(-1, keepdim=True)
    return torch.where(mask, weights + lost / mask.sum(-1, keepdim=True), 0.0)


exercise(
    "masked_then_renormalised",
    # F.normalize divides by the sum of absolute values, and weights are not negative.
    oracle=lambda weights, mask: F.normalize(_rest(weights, mask), p=1, dim=-1),
    cases=lambda rand: [
        case((_SCORES / 2**0.5).softmax(-1), causal_mask(6), page_example="this page's attn_weights"),
        case(rand(3, 3).softmax(-1), causal_mask(3)),
        case(rand(5, 5, scale=3.0).softmax(-1), rand.mask(5, 5)),
        case(rand(1, 4).softmax(-1), rand.mask(1, 4)),
        case(rand(2, 1, 1, 1).softmax(-1), causal_mask(1)),
        case(rand(2, 4, 4).softmax(-1), causal_mask(4)),
        case(rand(2, 3, 5).softmax(-1), rand.mask(3, 5)),
    ],
    returns=Float("query key", name="weights"),
    properties=[rows_sum_to_one()],
    misconceptions={
        "not-renormalised": Wrong(
            _rest,
            "The hidden weights are gone, and so is their share: the rows no longer sum to one. What is left of a row"
            " has to be divided by its own sum, or early positions pass on less than late ones.",
        ),
        "keepdim-forgotten": Wrong(
            lambda weights, mask: _rest(weights, mask) / _rest(weights, mask).sum(-1),
            "The row sums are a flat list, and a division lines a flat list up with the columns: column 0 was divided"
            " by the sum of row 0, and so on. Keep the axis that the sum runs over, so that each row meets its own"
            " sum.",
        ),
        "wrong-axis": Wrong(
            lambda weights, mask: F.normalize(_rest(weights, mask), p=1, dim=-2),
            "The columns were made to sum to one. A row belongs to the position that asks, and it is the asker who"
            " shares out one unit.",
        ),
        "second-axis": Wrong(
            lambda weights, mask: _shared_out(_rest(weights, mask), dim=1),
            "The sums run along dim 1, which is the last axis of a single table only; with a batch in front it counts"
            " the queries. What is shared out runs along the last axis, however many stand before it.",
        ),
        "whole-table": Wrong(
            lambda weights, mask: _rest(weights, mask) / _rest(weights, mask).sum(),
            "You divided by the sum of the whole table. Each row shares out one unit of its own, so each needs its own"
            " sum.",
        ),
        "divided-by-the-count": Wrong(
            lambda weights, mask: _rest(weights, mask) / mask.sum(-1, keepdim=True),
            "You divided by how many positions a row may see. What must become one is the sum of their weights, not"
            " their number.",
        ),
        "softmax-again": Wrong(
            lambda weights, mask: F.softmax(_rest(weights, mask), dim=-1),
            "A second softmax turns each 0 into e to the 0, which is 1: the hidden positions get weight again. The"
            " weights are shares already; dividing them by their sum is enough.",
        ),
        "weights-taken-for-scores": Wrong(
            lambda weights, mask: F.softmax(weights.masked_fill(~mask, -torch.inf), dim=-1),
            "You hid the rest with -inf and took a softmax, which is the way to treat scores. These are weights,"
            " shares already: another softmax changes their proportions and makes them more alike.",
        ),
        "true-means-blocked": Wrong(
            lambda weights, mask: _shared_out(_rest(weights, ~mask)),
            "You kept what the mask hides and hid the rest. In this course True means 'may attend'.",
        ),
        "length-of-one": Wrong(
            lambda weights, mask: F.normalize(_rest(weights, mask), dim=-1),
            "The squares of each row sum to one: that is what F.normalize does unless told otherwise. Shares are to sum"
            " to one as they are, so a row is divided by its sum and not by its length.",
        ),
        "always-causal": Wrong(
            lambda weights, mask: F.normalize(_rest(weights, _corner(weights, mask)), p=1, dim=-1),
            "The future is hidden, whatever the mask says. It is the mask that tells what may be seen, and it need not"
            " be causal.",
        ),
        "dealt-out-equally": Wrong(
            _dealt_out_equally,
            "What the hidden ones had was dealt out in equal parts. The rows sum to one, and the proportions among the"
            " rest have changed; dividing by the row's sum keeps them.",
        ),
        "mask-ignored": Wrong(
            lambda weights, mask: weights + 0.0 * mask,
            "The weights come back as they were: positions that may not be seen still have a share.",
        ),
    },
    equivalent={
        "sum-over-the-old-sum": (
            lambda weights, mask: (
                weights * mask / (weights * mask).sum(-1, keepdim=True) * weights.sum(-1, keepdim=True)
            )
        ),
        "softmax-of-logs": lambda weights, mask: F.softmax(weights.log().masked_fill(~mask, -torch.inf), -1),
    },
    hints=Hints(
        "Two steps: take the hidden weights out, then give each row its sum of one back.",
        "A True counts as 1 and a False as 0 in a product. For the second step you need the sum of each row.",
        "Multiply by the mask; sum along the last axis with keepdim=True; divide.",
    ),
)


def _weigh(
    make_mask=causal_mask, scale=lambda d_k, n: d_k**0.5, masked_value=-torch.inf, axis=-1, late=lambda d_k: 1.0
):
    def answer(scores, d_k):
        n = scores.shape[-1]
        return F.softmax(scores.masked_fill(~make_mask(n), masked_value) / scale(d_k, n), dim=axis) / late(d_k)

    return answer


def _weights_by_torch(scores, d_k):
    """torch's attention with the scores as queries and unit vectors as keys: its weights come out."""
    eye = torch.eye(scores.shape[-1], dtype=scores.dtype, device=scores.device).expand_as(scores)
    return torch_attention(scores, eye, is_causal=True, scale=d_k**-0.5)


def _unhidden(scores, d_k):
    return F.softmax(scores / d_k**0.5, -1)


def _cut_afterwards(scores, d_k):
    return _unhidden(scores, d_k) * causal_mask(scores.shape[-1])


def _shared_out_again(scores, d_k):
    kept = _cut_afterwards(scores, d_k)
    return kept / kept.sum(-1, keepdim=True)


_WORDS = {
    "mask-after-softmax": (
        "The mask acts after the softmax, and nothing is renormalised: row 0 keeps only the share that it had among all"
        " positions. Worse, how much is left depends on the hidden scores, so the future still shows."
    ),
    "hidden-with-zero": (
        "Hidden scores became 0, and e to the 0 is 1: the softmax gives the future weight all the same, and more than"
        " to a negative score. Only a score of -inf has weight 0."
    ),
    "sees-the-future": (
        "Nothing is hidden: row 0 has weight on positions that come later. When a model writes, those tokens do not"
        " exist yet."
    ),
    "true-means-blocked": (
        "The past is hidden and the future open, and of the last row nothing is left, which makes it nan. True in the"
        " mask means 'may attend', so the scores to fill are those where it is False."
    ),
    "blind-to-itself": (
        "A position may not see itself, so row 0 is empty, and a softmax over nothing is nan. The diagonal belongs to"
        " what may be seen."
    ),
    "divided-by-d_k": (
        "You divided by d_k instead of by its root, so the weights come out too even. The spread of a dot product grows"
        " with the root of the width."
    ),
}

exercise(
    "causal_attn_weights",
    oracle=_weights_by_torch,
    cases=lambda rand: [
        case(_SCORES, d_k=2, page_example="this page's attn_scores"),
        case(rand(3, 3), 2),
        case(rand(6, 6, scale=3.0), 16),
        case(rand(2, 4, 4, scale=2.0), 5),
        case(rand(2, 3, 5, 5), 3),
        case(rand(1, 1), 3),
        case(torch.zeros(2, 2), 4, note="all of them 0"),
        case(
            torch.tensor([[0.0, 400.0], [0.0, 0.0]]) + rand(1), 1, note="with a hidden score far above the visible one"
        ),
        case(
            # row 0 sees itself alone, which no number other than -inf leaves it
            rand.integers(4, 4, high=5).float() - torch.tensor([[2e10], [0], [0], [0]]),
            4,
            note="with a score of minus twenty billion in sight",
        ),
    ],
    returns=Float("query key", name="weights"),
    properties=[rows_sum_to_one(), finite_when_scaled()],
    differentiable=True,
    misconceptions={
        "sees-the-future": Wrong(_unhidden, _WORDS["sees-the-future"]),
        "mask-after-softmax": Wrong(_cut_afterwards, _WORDS["mask-after-softmax"]),
        "hidden-with-zero": Wrong(_weigh(masked_value=0.0), _WORDS["hidden-with-zero"]),
        "minus-a-billion": Wrong(
            _weigh(masked_value=-1e9),
            "Hidden scores became a low number such as -1e9, which hides them only while what may be seen scores"
            " higher. Only -inf is below every score, and has a weight of exactly 0 beside any of them.",
        ),
        "not-hidden-enough": Wrong(
            _weigh(masked_value=-10.0),
            "Hidden scores became -10, which is low and not low enough: the future keeps a small weight, and a large"
            " one where the other scores are low, too. Nothing but -inf is below every score.",
        ),
        "not-scaled": Wrong(
            _weigh(scale=lambda d_k, n: 1.0),
            "The scores are not divided by the root of d_k. The mask is right; the weights are too sharp, the more so"
            " the wider the keys.",
        ),
        "divided-by-d_k": Wrong(_weigh(scale=lambda d_k, n: d_k), _WORDS["divided-by-d_k"]),
        "root-of-the-length": Wrong(
            _weigh(scale=lambda d_k, n: n**0.5),
            "You divided by the root of the number of positions. Scores spread with the width of the keys, d_k, and"
            " not with the length of the text.",
        ),
        "shared-out-before-hiding": Wrong(
            _shared_out_again,
            "The softmax shares out among all positions, and what is left without the hidden ones is shared out again."
            " Where a hidden score is far higher than the visible ones nothing is left, and 0 / 0 is nan: hide first.",
        ),
        "scaled-too-late": Wrong(
            _weigh(scale=lambda d_k, n: 1.0, late=lambda d_k: d_k**0.5),
            "The division comes after the softmax, so the rows no longer sum to one. It has to act on the scores, where"
            " it decides how sharp the softmax is.",
        ),
        "zeros-hidden-too": Wrong(
            lambda scores, d_k: F.softmax(
                (scores * causal_mask(scores.shape[-1])).masked_fill(scores.tril() == 0, -torch.inf) / d_k**0.5, dim=-1
            ),
            "Every score that is 0 is hidden, also where the mask shows it: 0 is a score like any other. Ask the mask,"
            " not the scores, what may be seen.",
        ),
        "wrong-axis": Wrong(_weigh(axis=-2), WORDS["wrong-axis"]),
        "second-axis": Wrong(
            _weigh(axis=1),
            "The softmax runs along dim 1, which is the last axis of a single table only; with a batch in front it"
            " counts heads or queries. It runs along the last axis, however many stand before it.",
        ),
        "true-means-blocked": Wrong(_weigh(lambda n: ~causal_mask(n)), _WORDS["true-means-blocked"]),
        "mirror-image": Wrong(
            _weigh(future_mask),
            "Each position sees itself and what comes after it: the triangle is the mirror image. Rows ask, and may"
            " look back.",
        ),
        "blind-to-itself": Wrong(_weigh(strictly_causal_mask), _WORDS["blind-to-itself"]),
        "mask-as-long-as-the-batch": Wrong(
            lambda scores, d_k: F.softmax(scores.masked_fill(~causal_mask(len(scores)), -torch.inf) / d_k**0.5, dim=-1),
            "The mask takes its size from the first axis, which in a batch counts the texts. It needs a row and a"
            " column for each position, and positions run along the last two axes.",
        ),
        "still-scores": Wrong(
            lambda scores, d_k: (scores / d_k**0.5).masked_fill(~causal_mask(scores.shape[-1]), -torch.inf),
            WORDS["still-scores"],
        ),
    },
    equivalent={
        "scaled-first": lambda scores, d_k: F.softmax(
            (scores / d_k**0.5).masked_fill(~causal_mask(scores.shape[-1]), -torch.inf), -1
        ),
        "lowest-of-its-type": lambda scores, d_k: F.softmax(
            (scores / d_k**0.5).masked_fill(~causal_mask(scores.shape[-1]), torch.finfo(scores.dtype).min), -1
        ),
    },
    hints=Hints(
        "The order matters: hide first, share out afterwards. What score gets no share at all?",
        "get_mask of the table's size says what may stay. Fill the other scores with -inf, divide by the root of d_k,"
        " and take the softmax of each row.",
        "masked_fill fills where its mask is True, so hand it the opposite of get_mask(scores.shape[-1]); then softmax"
        " along dim -1.",
    ),
)


def _kept(rand, *shape):
    return rand(*shape) > -0.3


exercise(
    "inverted_dropout",
    oracle=lambda x, keep, p: torch.where(keep, x / (1 - p), 0.0),
    cases=lambda rand: [
        case(rand(2, 3), _kept(rand, 2, 3), 0.5),
        case(rand(4, 4).softmax(-1), _kept(rand, 4, 4), 0.2),
        case(rand(2, 3, 5), _kept(rand, 2, 3, 5), 0.9),
        case(rand(3, 2), torch.ones(3, 2, dtype=torch.bool), 0.0, note="nothing is dropped"),
        case(rand(7), _kept(rand, 7), 0.4),
    ],
    returns=Float(),
    differentiable=True,
    misconceptions={
        "not-scaled": Wrong(
            lambda x, keep, p: x * keep,
            "What is kept comes back as it was, so on average only a share of 1 - p is left. The survivors must be"
            " enlarged to make up for the dropped, or the next layer meets other sizes in training than afterwards.",
        ),
        "divided-by-p": Wrong(
            lambda x, keep, p: torch.where(keep, x / p, 0.0),
            "You divided by p, the share that is dropped, which is right at p = 0.5 only. Whoever survives stands in"
            " for the dropped, so it is the share of survivors that divides.",
        ),
        "multiplied": Wrong(
            lambda x, keep, p: x * keep * (1 - p),
            "The survivors were made smaller. Some numbers are gone already, so those that remain must grow to keep"
            " the mean.",
        ),
        "one-plus-p": Wrong(
            lambda x, keep, p: x * keep * (1 + p),
            "You multiplied the survivors by 1 + p. At p = 0.5 half of them are left, and each has to count twice, not"
            " one and a half times.",
        ),
        "keeps-the-dropped": Wrong(
            lambda x, keep, p: torch.where(keep, 0.0, x / (1 - p)),
            "You dropped what was to be kept. keep is True where a number survives.",
        ),
        "nothing-dropped": Wrong(
            lambda x, keep, p: x / (1 - p) + 0.0 * keep,
            "Everything was enlarged and nothing dropped. Where keep is False the result is 0.",
        ),
        "by-what-happened": Wrong(
            lambda x, keep, p: torch.where(keep, x / keep.float().mean(), 0.0),
            "You divided by the share that survived this time. It varies from draw to draw, and is 0 when all are"
            " dropped; the mean is kept by the share that survives on average, which p gives.",
        ),
        "doubled": Wrong(
            lambda x, keep, p: x * keep * 2,
            "The survivors are doubled whatever p is, which is right at p = 0.5 only. By how much they grow depends on"
            " how many were dropped.",
        ),
        "rows-renormalised": Wrong(
            lambda x, keep, p: x * keep / (x * keep).sum(-1, keepdim=True),
            "You gave each row a sum of one again, as after a mask. Dropout does not renormalise: a row with fewer"
            " survivors is meant to be smaller, and only the mean over many draws stays.",
        ),
        "rows-renormalised-or-0": Wrong(
            lambda x, keep, p: x * keep / (x * keep).sum(-1, keepdim=True).clamp(min=1e-9),
            "You gave each row a sum of one again, as after a mask. Dropout does not renormalise: a row with fewer"
            " survivors is meant to be smaller, and only the mean over many draws stays.",
        ),
        "rows-keep-their-sum": Wrong(
            lambda x, keep, p: x * keep * x.sum(-1, keepdim=True) / (x * keep).sum(-1, keepdim=True),
            "You gave each row the sum back that it had before. Dropout does not do that: a row with fewer survivors is"
            " meant to be smaller, and only the mean over many draws stays.",
        ),
        "draws-its-own": Wrong(
            lambda x, keep, p: F.dropout(x, p) + 0.0 * keep,
            "It draws what to drop anew and does not use keep. Here the draw is given, so that you can see what"
            " happens to it.",
        ),
    },
    equivalent={
        "product": lambda x, keep, p: x * keep / (1 - p),
        "torch-backward": lambda x, keep, p: torch.ops.aten.native_dropout_backward(x, keep, 1 / (1 - p)),
    },
    hints=Hints(
        "Ten numbers, eight of which survive at p = 0.2. By which factor must these eight grow to make up for two?",
        "Two steps: zeros where keep is False, and a division of the rest. On average a share of 1 - p survives.",
        "Multiply x by keep, then divide by one minus p.",
    ),
)


def _layers(d_in, d_out, context_length, dropout, qkv_bias=False):
    return qkv_parameters(d_in, d_out, qkv_bias)


def _by_torch(p, x):
    return torch_causal_attention(p, *project_qkv(p, x))


def _undropped(p, weights, mask):
    return weights


def _rated(rate):
    """A dropout of the weights whose rate is made of the module's."""
    return lambda p, weights, mask: F.dropout(weights, rate(p.init_args["dropout"]), p.training)


def _mixed(p, x, keep):
    """The result without dropout, each weight multiplied by keep [batch, 1, seq, seq]."""
    return make_causal_attention(transform_weights=lambda p, weights, mask: weights * keep[:, 0])(p, x)


class _NotCut(nn.Module):
    """The lesson's class but for one thing: the mask keeps its full size."""

    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", causal_mask(context_length))

    def forward(self, x):
        q, k, v = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = (q @ k.transpose(1, 2) / k.shape[-1] ** 0.5).masked_fill(~self.mask, -torch.inf)
        return self.dropout(F.softmax(scores, -1)) @ v


exercise(
    "CausalAttention",
    initial_parameters=_layers,
    oracle=_by_torch,
    cases=lambda rand: [
        case(rand(2, 4, 3), init=(3, 2, 4, 0.5)),
        case(rand(1, 1, 2), init=(2, 1, 1, 0.0), seed=6),
        case(
            rand(5, 3, 5),
            init={"d_in": 5, "d_out": 4, "context_length": 6, "dropout": 0.2, "qkv_bias": True},
            seed=1,
            note="shorter than the context",
        ),
        case(rand(6, 4, 4), init=(4, 6, 5, 0.5), train=True, seed=2, note="in training"),
        case(
            rand(12, 4, 2),
            init={"d_in": 2, "d_out": 5, "context_length": 7, "dropout": 0.2, "qkv_bias": True},
            train=True,
            seed=3,
            note="in training",
        ),
        case(rand(2, 20, 3), init=(3, 2, 24, 0.0), seed=4),
    ],
    returns=Float("batch seq d_out"),
    parse_result=make_dropout_parser(_mixed, _layers),
    properties=[
        *DROPOUT,
        *CAUSAL_LAYER,
        finite_when_scaled(),
        starts_as_linear((32, 24, 2, 0.0), (1, 2, 32)),
    ],
    misconceptions={
        "sees-the-future": Wrong(
            make_causal_attention(masked_value=None),
            _WORDS["sees-the-future"].replace("row 0", "position 0"),
        ),
        "mask-after-softmax": Wrong(
            make_causal_attention(masked_value=None, transform_weights=lambda p, w, mask: apply_dropout(p, w * mask)),
            _WORDS["mask-after-softmax"],
        ),
        "hidden-with-zero": Wrong(make_causal_attention(masked_value=0.0), _WORDS["hidden-with-zero"]),
        "true-means-blocked": Wrong(
            make_causal_attention(make_mask=lambda n: ~causal_mask(n)),
            _WORDS["true-means-blocked"].replace("row", "position"),
        ),
        "blind-to-itself": Wrong(make_causal_attention(make_mask=strictly_causal_mask), _WORDS["blind-to-itself"]),
        "mirror-image": Wrong(
            make_causal_attention(make_mask=future_mask),
            "Each position sees itself and what comes after it: the mask is the mirror image. A position may look"
            " back, not ahead.",
        ),
        "mask-not-cut": Wrong(
            _NotCut,
            "The mask keeps its full size, and the text is shorter than context_length: the two tables do not fit. A"
            " text may be of any length up to context_length, and needs only the corner of the mask that belongs to"
            " it.",
        ),
        "wrong-axis": Wrong(make_causal_attention(axis=-2), WORDS["wrong-axis"]),
        "not-scaled": Wrong(
            make_causal_attention(scale=lambda d_k, d_in: 1.0),
            "The scores are not divided by the root of d_k. The mask is right; the weights are too sharp, the more so"
            " the wider the layer.",
        ),
        "multiplied": Wrong(make_causal_attention(scale=lambda d_k, d_in: d_k**0.5), multiplied_by_root_message("d_k")),
        "divided-by-d_k": Wrong(make_causal_attention(scale=lambda d_k, d_in: 1 / d_k), _WORDS["divided-by-d_k"]),
        "root-of-d_in": Wrong(
            make_causal_attention(scale=lambda d_k, d_in: d_in**-0.5),
            "You divided by the root of d_in, the width of the inputs. Scores are products of queries and keys: their"
            " width d_out counts.",
        ),
        "root-of-the-length": Wrong(
            make_causal_attention(scale=lambda d_k, d_in: 1.0, transform_scores=scale_by_length),
            WORDS["root-of-the-length"],
        ),
        "keys-as-values": Wrong(make_causal_attention(order=(0, 1, 1)), WORDS["keys-as-values"]),
        "root-of-2": Wrong(make_causal_attention(scale=lambda d_k, d_in: 2**-0.5), WORDS["root-of-2"]),
        "query-and-key-swapped": Wrong(
            make_causal_attention(order=(1, 0, 2)),
            "Queries and keys have changed places. Row i must hold what position i asks: its query against the keys.",
        ),
        "no-dropout": Wrong(
            make_causal_attention(transform_weights=_undropped),
            "Nothing is dropped in training. The layer is asked for a dropout of its weights, to act between softmax"
            " and mix.",
        ),
        "drops-in-eval": Wrong(
            make_causal_attention(transform_weights=lambda p, w, mask: F.dropout(w, p.init_args["dropout"])),
            "It drops weights after eval(), too, so a finished model answers differently each time. The dropout has to"
            " know in which mode the layer is; F.dropout on its own assumes training.",
        ),
        "dropout-on-the-output": Wrong(
            make_causal_attention(transform_weights=_undropped, out=apply_dropout),
            "The dropout acts on the context vectors: single numbers of a mixed vector vanish. Here it acts on the"
            " weights, so that a position cannot rely on one other position being there.",
        ),
        "dropout-on-the-scores": Wrong(
            make_causal_attention(transform_scores=apply_dropout, transform_weights=_undropped),
            "The dropout acts on the scores, before the softmax. A dropped score is 0, and a score of 0 still gets"
            " weight: nothing is ignored.",
        ),
        "dropout-of-the-values": Wrong(
            make_causal_attention(transform_weights=_undropped, mix=lambda p, w, v, x: w @ apply_dropout(p, v)),
            "The dropout acts on the values. Here it acts on the weights: who listens to whom is left to chance, what"
            " is said is not.",
        ),
        "keep-rate": Wrong(
            make_causal_attention(transform_weights=_rated(lambda rate: 1 - rate)),
            "You handed on 1 - dropout. The number is the share that is dropped, for nn.Dropout as for this class.",
        ),
        "fixed-rate": Wrong(
            make_causal_attention(transform_weights=_rated(lambda rate: 0.5)),
            "Half of the weights are dropped, whatever rate is asked for. It is dropout, the argument of __init__,"
            " that says how many.",
        ),
        "dropout-before-renormalising": Wrong(
            make_causal_attention(transform_weights=lambda p, w, mask: F.normalize(apply_dropout(p, w), p=1, dim=-1)),
            "After the dropout each row was given a sum of one again. The survivors are enlarged already; a row with"
            " few of them is meant to be smaller.",
        ),
        **dropout_misconceptions(make_causal_attention),
        "inputs-as-values": Wrong(make_causal_attention(mix=lambda p, w, v, x: w @ x), WORDS["inputs-as-values"]),
        **ignored_qkv_bias_misconceptions(_by_torch, _layers),
    },
    equivalent={
        "made-in-forward": make_causal_attention(),
        "own-random-numbers": make_causal_attention(transform_weights=make_dropout()),
    },
    hints=Hints(
        "SelfAttention_v2 is the skeleton. New are: a batch axis in front, a mask before the softmax, a dropout after"
        " it.",
        "__init__: three Linear layers, a dropout layer, and get_mask of the whole context as a buffer called mask."
        " forward: turn the last two axes of the keys only, and cut the mask to the length of the text.",
        "Let n be the number of positions in x; scores where self.mask[:n, :n] is False become -inf; divide by the"
        " root of keys.shape[-1]; softmax dim -1; self.dropout; @ values.",
    ),
)
