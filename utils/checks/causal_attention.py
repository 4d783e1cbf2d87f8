"""Define the exercises of lesson 04: attention that hides the future.

The oracles of the attention exercises use torch's attention with `is_causal`. The other oracles apply masks directly.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.checks._attention import (
    CAUSAL_LAYER,
    INPUTS,
    apply_dropout,
    attention_mistakes,
    attention_values,
    causal_attention,
    causal_mask,
    future_mask,
    ignored_qkv_bias_misconceptions,
    keep_weights,
    mask_scores,
    project_qkv,
    qkv_parameters,
    starts_as_linear,
    strictly_causal_mask,
    torch_attention,
    torch_causal_attention,
    weigh_scores,
    weight_values,
)
from utils.checks._dropout import DROPOUT, dropout_misconceptions, make_dropout, make_dropout_parser
from utils.checks._wrong_answers import with_steps, wrong_answer
from utils.exercises.exercise import Bool, Float, Hints, Wrong, case, exercise
from utils.feedback.phrases import call_text
from utils.feedback.properties import finite_when_scaled, rows_sum_to_one


def _page_scores():
    """Return the scores [6, 6] that the lesson computes with seed 789."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.default_generator.manual_seed(789)
        queries, keys = (nn.Linear(3, 2, bias=False)(INPUTS) for _ in range(2))
    return queries @ keys.T


_SCORES = _page_scores()


def _sees_itself_and_its_past(probe):
    """Check that row i is True in the columns 0 to i and nowhere else."""
    for trial in probe.trials:
        mask, expected = trial.yours.value, trial.expected.value
        if not isinstance(mask, Tensor) or mask.dtype != torch.bool or mask.shape != expected.shape:
            continue
        wrong = (mask != expected).nonzero().tolist()
        if not wrong:
            continue
        row, column = wrong[0]
        where = f"In {call_text(probe.exercise, trial.case)}, position {row}"
        if column > row:
            return f"{where} sees position {column}, which comes later. It may see only itself and its past."
        if column == row:
            return f"{where} does not see itself. It must see itself and its whole past."
        return f"{where} does not see position {column}, which comes earlier. It must see its whole past."
    return None


exercise(
    "get_mask",
    unswept={"zero counts": "a text has at least one position"},
    oracle=causal_mask,
    cases=[case(size) for size in (1, 2, 5, 8, 19)],
    returns=Bool("query key"),
    properties=[_sees_itself_and_its_past],
    misconceptions={
        "sees-the-future": Wrong(
            future_mask,
            "Your mask is the mirror image: row 0 sees every later position, and the last row sees only itself. Each"
            " row belongs to a query position, which should see only itself and earlier positions.",
        ),
        "blind-to-itself": Wrong(
            strictly_causal_mask,
            "No position sees itself, because the diagonal is False. Position 0 then has nothing to attend to, so its"
            " softmax would be nan.",
        ),
        "blind-after-row-0": Wrong(
            lambda size: strictly_causal_mask(size) | (torch.arange(size * size).view(size, size) == 0),
            "Row 0 sees itself, but no other row does: below row 0, the diagonal is False. Each position should see"
            " itself as well as its past.",
        ),
        "one-step-ahead": Wrong(
            lambda size: torch.ones(size, size).tril(1).bool(),
            "Each position also sees the next token, which is exactly the token that it must predict.",
        ),
        "true-means-blocked": Wrong(
            lambda size: ~causal_mask(size),
            "Your True means 'hidden'. In this course, as in torch's scaled_dot_product_attention, True means 'may"
            " attend'.",
        ),
        "everyone-sees-everyone": Wrong(
            lambda size: torch.ones(size, size).bool(),
            "Every cell is True, so nothing is hidden: each position may read the tokens after it, which it must"
            " predict.",
        ),
        "only-itself": Wrong(
            lambda size: torch.eye(size).bool(),
            "Each position sees only itself, so attention has nothing to mix. It should also see all earlier"
            " positions.",
        ),
        "only-the-previous": Wrong(
            lambda size: causal_mask(size).triu(-1),
            "Each position sees only itself and the position before it. It should see its whole past, back to position"
            " 0.",
        ),
        "only-the-last-three": Wrong(
            lambda size: causal_mask(size).triu(-2),
            "Each position sees itself and the two positions before it, so from row 3 on, older positions are hidden."
            " A position should see its whole past, however far back it goes; only the future is hidden.",
        ),
        "other-diagonal": Wrong(
            lambda size: future_mask(size).flip(0),
            "The border between True and False runs from the lower left to the upper right. It should run along the"
            " diagonal from the upper left to the lower right, because column i is the last column that row i sees.",
        ),
    },
    hints=Hints(
        "Fill in the 4 × 4 table by hand first. Which shape do the True cells form?",
        "torch has a function that keeps the lower triangle of a matrix.",
        "Start from a size × size matrix of ones of dtype bool, then keep its lower triangle, including the diagonal.",
    ),
)


def _zero_hidden(weights, mask):
    return torch.where(mask, weights, 0.0)


def _divide_by_sum(rest, dim=-1):
    return rest / rest.sum(dim, keepdim=True)


def _causal_mask_like(weights, mask):
    """Return a causal mask with the shape of `mask`, which need not be square."""
    return torch.ones_like(mask).tril()


def _renormalisation_steps(weights, mask):
    masked = _zero_hidden(weights, mask)
    return {"the masked weights": masked, "the row sums of the masked weights?": masked.sum(-1, keepdim=True)}


def _hide_nearly_all(scores):
    """Raise the scores of position 1 so much that position 0 gives itself a weight of only about 1e-8.

    Some wrong answers use a small constant such as 1e-5. It is much larger than this weight, so they fail here.
    """
    return scores + 18.0 * F.one_hot(torch.tensor(1), scores.shape[-1])


@wrong_answer
def _spread_hidden_evenly(weights, mask):
    """You spread the weight of the hidden positions evenly over the visible positions. The rows sum to one, but the
    proportions of the visible weights have changed; divide each row by its sum to keep the proportions.
    """
    lost = 1 - _zero_hidden(weights, mask).sum(-1, keepdim=True)
    return torch.where(mask, weights + lost / mask.sum(-1, keepdim=True), 0.0)


exercise(
    "masked_then_renormalised",
    unswept={
        "zeros": "a row whose allowed weights are all 0 cannot be divided by its sum",
        **dict.fromkeys(
            ("sizes", "large", "hidden numbers", "small", "signs"), "the weights are positive, and each row sums to one"
        ),
    },
    # F.normalize divides by the sum of absolute values. No weight is negative, so this is the plain sum.
    oracle=lambda weights, mask: F.normalize(_zero_hidden(weights, mask), p=1, dim=-1),
    milestones=_renormalisation_steps,
    cases=lambda rand: [
        case((_SCORES / 2**0.5).softmax(-1), causal_mask(6), page_example="this lesson's attn_weights"),
        case(rand(3, 3).softmax(-1), causal_mask(3)),
        case(rand(5, 5, scale=3.0).softmax(-1), rand.mask(5, 5)),
        case(rand(1, 4).softmax(-1), rand.mask(1, 4)),
        case(rand(2, 1, 1).softmax(-1), causal_mask(1)),
        case(rand(2, 4, 4).softmax(-1), causal_mask(4)),
        case(rand(2, 3, 5).softmax(-1), rand.mask(3, 5)),
        case(rand(70, 70).softmax(-1), rand.mask(70, 70)),
        case(_hide_nearly_all(rand(3, 3)).softmax(-1), causal_mask(3), note="with a row whose visible weight is tiny"),
    ],
    returns=Float("query key", name="weights"),
    properties=[rows_sum_to_one()],
    misconceptions={
        "not-renormalised": Wrong(
            _zero_hidden,
            "You removed the hidden weights, so the rows no longer sum to one. Divide the remaining weights of each row"
            " by their sum; otherwise, a row that lost more weight gives smaller results.",
        ),
        "keepdim-forgotten": Wrong(
            lambda weights, mask: _zero_hidden(weights, mask) / _zero_hidden(weights, mask).sum(-1),
            "Your row sums form a flat vector, and broadcasting aligns it with the columns: column 0 was divided by the"
            " sum of row 0, and so on. Keep the axis that you sum over, so that each row is divided by its own sum.",
        ),
        "wrong-axis": Wrong(
            lambda weights, mask: F.normalize(_zero_hidden(weights, mask), p=1, dim=-2),
            "You made the columns sum to one, but the rows should sum to one. A row holds the weights with which one"
            " query position attends to all positions.",
        ),
        "second-axis": Wrong(
            lambda weights, mask: _divide_by_sum(_zero_hidden(weights, mask), dim=1),
            "You sum along dim 1, which is the last axis only for a single table; with a batch axis in front, dim 1 is"
            " the axis of the queries. Sum along the last axis, however many axes come before it.",
        ),
        "whole-table": Wrong(
            lambda weights, mask: _zero_hidden(weights, mask) / _zero_hidden(weights, mask).sum(),
            "You divided by the sum of the whole table. Each row should sum to one, so divide each row by its own sum.",
        ),
        "divided-by-the-count": Wrong(
            lambda weights, mask: _zero_hidden(weights, mask) / mask.sum(-1, keepdim=True),
            "You divided by the number of positions that a row may see. Divide by the sum of the weights of these"
            " positions instead, so that the row sums to one.",
        ),
        "softmax-again": Wrong(
            lambda weights, mask: F.softmax(_zero_hidden(weights, mask), dim=-1),
            "Your result is the softmax of the masked weights: a hidden weight is 0, and exp(0) is 1, so the hidden"
            " positions get weight again. The visible weights are already positive: only divide them by their sum.",
        ),
        "weights-taken-for-scores": Wrong(
            lambda weights, mask: F.softmax(weights.masked_fill(~mask, -torch.inf), dim=-1),
            "Your result is a softmax of the visible weights, as if they were scores. They are weights already, and exp"
            " makes them more alike: divide them by their sum instead.",
        ),
        "true-means-blocked": Wrong(
            lambda weights, mask: _divide_by_sum(_zero_hidden(weights, ~mask)),
            "You kept the positions that the mask hides and removed those that it allows. In this course, True means"
            " 'may attend'.",
        ),
        "length-of-one": Wrong(
            lambda weights, mask: F.normalize(_zero_hidden(weights, mask), dim=-1),
            "The squares of each row sum to one: by default, F.normalize divides a row by its length. The weights"
            " themselves should sum to one, so divide each row by its sum.",
        ),
        "always-causal": Wrong(
            lambda weights, mask: F.normalize(_zero_hidden(weights, _causal_mask_like(weights, mask)), p=1, dim=-1),
            "You hide the future, whatever the mask says. Use the mask that is passed in, because it need not be"
            " causal.",
        ),
        "dealt-out-equally": _spread_hidden_evenly,
        "sum-with-a-floor": Wrong(
            lambda weights, mask: F.normalize(_zero_hidden(weights, mask), p=1, dim=-1, eps=1e-5),
            "Your divisor has a lower limit, so a row with tiny visible weights does not sum to one. Divide each row by"
            " its sum, however small it is.",
        ),
        "one-minus-hidden": Wrong(
            lambda weights, mask: (
                _zero_hidden(weights, mask) / (1 - _zero_hidden(weights, ~mask).sum(-1, keepdim=True))
            ),
            "You divided by 1 minus the hidden weight. If nearly all the weight of a row is hidden, this difference is"
            " inaccurate or even 0: divide by the sum of the visible weights instead.",
        ),
        "mask-ignored": Wrong(
            lambda weights, mask: weights + 0.0 * mask,
            "You returned the weights unchanged, so hidden positions still have weight. Remove the weights where the"
            " mask is False, then rescale each row.",
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
        "There are two steps: remove the hidden weights, then make each row sum to one again.",
        "In a product, True counts as 1 and False as 0. For the second step you need the sum of each row.",
        "Multiply by the mask; sum along the last axis with keepdim=True; divide.",
    ),
)


@with_steps
def _weights(scores, d_k, **steps):
    """Compute causal attention weights. `steps` replaces steps of `weigh_scores`."""
    return weigh_scores.replace(**steps)(scores, causal_mask(scores.shape[-1]), d_k)


def _causal_steps(scores, d_k):
    """Compute the milestones.

    Leave out the scores, because they are an argument of the answer. Also leave out all values that are computed
    without the mask, because they are wrong in this exercise.
    """
    steps = weight_values(scores, d_k, causal_mask(scores.shape[-1]))
    return {label: value for label, value in steps.items() if label != "the scores" and "without" not in label}


def _weights_by_torch(scores, d_k):
    """Compute the weights with torch's attention: the scores are the queries, and unit vectors are the keys."""
    eye = torch.eye(scores.shape[-1], dtype=scores.dtype, device=scores.device).expand_as(scores)
    return torch_attention(scores, eye, is_causal=True, scale=d_k**-0.5)


@wrong_answer
def _renormalise_after_softmax(scores, d_k):
    """You hide the later positions only after exp, the first step of a softmax. If a hidden score is far higher than
    the visible scores, all visible weights in the row are 0, and 0 / 0 is nan: hide the scores before exp.
    """
    kept = F.softmax(scores / d_k**0.5, -1) * causal_mask(scores.shape[-1])
    return kept / kept.sum(-1, keepdim=True)


_MESSAGES = {
    "mask-after-softmax": (
        "You hide the later positions only after dividing by a sum over all positions, so position 0 gives itself a"
        " weight below 1. This weight depends on the hidden scores, so the future still has an influence."
    ),
    "hidden-with-zero": (
        "You set hidden scores to 0, but exp(0) is 1, so later positions still get weight, even more than a visible"
        " position whose score is negative. Only a score of -inf gets weight 0."
    ),
    "true-means-blocked": (
        "You hide the past and show the future, so the last position sees nothing, and its softmax is nan. True in the"
        " mask means 'may attend', so fill the scores where the mask is False."
    ),
    "divided-by-the-width": (
        "You divided by d_k instead of its square root, so the weights are too uniform. The spread of a dot product"
        " grows with the square root of the width."
    ),
}
_wrong = attention_mistakes(_weights.replace, messages=_MESSAGES)

exercise(
    "causal_attn_weights",
    oracle=_weights_by_torch,
    milestones=_causal_steps,
    cases=lambda rand: [
        case(_SCORES, d_k=2, page_example="this lesson's attn_scores"),
        case(rand(3, 3), 2),
        case(rand(6, 6, scale=3.0), 16),
        case(rand(2, 4, 4, scale=2.0), 5),
        case(rand(2, 3, 5, 5), 3),
        case(rand(1, 1), 3),
        case(torch.zeros(2, 2), 4, note="all scores are 0"),
        case(
            torch.tensor([[0.0, 400.0], [0.0, 0.0]]) + rand(1),
            1,
            note="with a hidden score far above the visible score",
        ),
        case(
            # The only visible score in row 0 is lower than a finite fill value such as -1e9.
            rand.integers(4, 4, high=5).float() - torch.tensor([[2e10], [0], [0], [0]]),
            4,
            note="with a visible score of minus twenty billion",
        ),
    ],
    returns=Float("query key", name="weights"),
    properties=[rows_sum_to_one(), finite_when_scaled()],
    differentiable=True,
    misconceptions={
        "sees-the-future": _wrong.sees_the_future(),
        "mask-after-softmax": _wrong.mask_after_softmax(),
        "hidden-with-zero": _wrong.hidden_with_zero(),
        "minus-a-billion": _weights.replace(hide=lambda scores, mask: mask_scores(scores, mask, -1e9)).wrong(
            "You set hidden scores to a low number such as -1e9, which works only while the visible scores are higher."
            " Only -inf is below every score and always has a weight of exactly 0."
        ),
        "not-hidden-enough": Wrong(
            lambda scores, d_k: F.softmax(mask_scores(scores, causal_mask(scores.shape[-1]), -10.0) / d_k**0.5, -1),
            "You set hidden scores to -10, which is not low enough: the future keeps some weight, especially"
            " if the visible scores are low too. Only -inf is below every score.",
        ),
        "not-scaled": _wrong.not_scaled(
            "You did not divide the scores by the square root of d_k. The mask is right, but the weights are too sharp;"
            " wider keys make them even sharper."
        ),
        "divided-by-d_k": _wrong.divided_by_the_width(),
        "root-of-the-length": _wrong.root_of_the_length(
            "You divided by the square root of the number of positions. The spread of scores grows with d_k, the width"
            " of the keys, not with the length of the text."
        ),
        "shared-out-before-hiding": _renormalise_after_softmax,
        "scaled-too-late": _wrong.scaled_too_late(
            "You divide after the softmax, so the rows no longer sum to one. Divide the scores instead, because their"
            " size decides how sharp the softmax is."
        ),
        "zeros-hidden-too": Wrong(
            lambda scores, d_k: _weights(scores.masked_fill(scores == 0, -torch.inf), d_k),
            "You hide every score that is 0, even where the mask allows it, but 0 is a score like any other. Use the"
            " mask, not the scores, to decide what is hidden.",
        ),
        "wrong-axis": _wrong.wrong_axis(),
        "second-axis": _wrong.second_axis(
            "Your softmax runs along dim 1, which is the last axis only for a single table; with a batch axis in front,"
            " dim 1 is the axis of the heads or of the queries. Use the last axis, however many axes come before it."
        ),
        "true-means-blocked": _wrong.true_means_blocked(),
        "mirror-image": _wrong.mirror_image(
            "Your triangle is the mirror image: each position sees itself and all later positions. Each row belongs to"
            " a query position, which should see only itself and earlier positions."
        ),
        "blind-to-itself": _wrong.blind_to_itself(),
        "mask-as-long-as-the-batch": Wrong(
            lambda scores, d_k: weigh_scores(scores, causal_mask(len(scores)), d_k),
            "You take the size of the mask from the first axis, which is the axis of the texts in a batch. The mask"
            " needs a row and a column for each position, so take its size from one of the last two axes.",
        ),
        "still-scores": _wrong.still_scores(),
    },
    equivalent={
        "scaled-first": _weights,
        "lowest-of-its-type": _weights.replace(
            hide=lambda scores, mask: mask_scores(scores, mask, torch.finfo(scores.dtype).min)
        ),
    },
    hints=Hints(
        "The order matters: first hide the scores, then normalise them. Which score gets a weight of exactly 0?",
        "Call get_mask with the size of the table: it marks the scores that should stay. Set the other scores to -inf,"
        " divide by the square root of d_k, and take the softmax of each row.",
        "masked_fill fills the cells where its mask is True, so pass it the inverse of get_mask(scores.shape[-1]); then"
        " take the softmax along dim -1.",
    ),
)


def _sample_keep(rand, *shape):
    return rand(*shape) > -0.3


exercise(
    "inverted_dropout",
    oracle=lambda x, keep, p: torch.where(keep, x / (1 - p), 0.0),
    milestones=lambda x, keep, p: {"the kept numbers?": x * keep, "all numbers after the division?": x / (1 - p)},
    cases=lambda rand: [
        case(rand(2, 3), _sample_keep(rand, 2, 3), 0.5),
        case(rand(4, 4).softmax(-1), _sample_keep(rand, 4, 4), 0.2),
        case(rand(2, 3, 5), _sample_keep(rand, 2, 3, 5), 0.9),
        case(rand(3, 2), torch.ones(3, 2, dtype=torch.bool), 0.0, note="nothing is dropped"),
        case(rand(5), _sample_keep(rand, 5), 0.4),
    ],
    returns=Float(),
    differentiable=True,
    misconceptions={
        "not-scaled": Wrong(
            lambda x, keep, p: x * keep,
            "You return the kept numbers unchanged, so on average only a fraction of 1 - p of the total is left. Scale"
            " up the kept numbers to make up for the dropped numbers; otherwise, the next layer gets smaller inputs in"
            " training than in evaluation.",
        ),
        "divided-by-p": Wrong(
            lambda x, keep, p: torch.where(keep, x / p, 0.0),
            "You divided by p, the fraction that is dropped, which is right only at p = 0.5. Divide by the fraction"
            " that is kept, because the kept numbers must make up for the dropped numbers.",
        ),
        "multiplied": Wrong(
            lambda x, keep, p: x * keep * (1 - p),
            "You made the kept numbers smaller. They should become larger, because they must make up for the dropped"
            " numbers.",
        ),
        "one-plus-p": Wrong(
            lambda x, keep, p: x * keep * (1 + p),
            "You multiplied the kept numbers by 1 + p. At p = 0.5, half of the numbers are kept, so each kept number"
            " should be multiplied by 2, not by 1.5.",
        ),
        "keeps-the-dropped": Wrong(
            lambda x, keep, p: torch.where(keep, 0.0, x / (1 - p)),
            "You dropped the numbers that should stay. keep is True where a number should stay.",
        ),
        "nothing-dropped": Wrong(
            lambda x, keep, p: x / (1 - p) + 0.0 * keep,
            "You scaled up all numbers and dropped none of them. Where keep is False, the result should be 0.",
        ),
        "by-what-happened": Wrong(
            lambda x, keep, p: torch.where(keep, x / keep.float().mean(), 0.0),
            "You divided by the fraction that was kept this time, which varies from sample to sample and is 0 if all"
            " numbers are dropped. To keep the mean, divide by the fraction that is kept on average, and compute this"
            " fraction from p.",
        ),
        "doubled": Wrong(
            lambda x, keep, p: x * keep * 2,
            "You double the kept numbers whatever p is, which is right only at p = 0.5. The factor should depend on the"
            " fraction that is dropped.",
        ),
        "rows-renormalised": Wrong(
            lambda x, keep, p: x * keep / (x * keep).sum(-1, keepdim=True),
            "You made each row sum to one again, as you would after masking. Dropout should not renormalise: the sum of"
            " a row may change, and only its mean over many samples should stay the same.",
        ),
        "rows-renormalised-or-0": Wrong(
            lambda x, keep, p: x * keep / (x * keep).sum(-1, keepdim=True).clamp(min=1e-9),
            "You made each row sum to one again, as you would after masking. Dropout should not renormalise: the sum of"
            " a row may change, and only its mean over many samples should stay the same.",
        ),
        "rows-keep-their-sum": Wrong(
            lambda x, keep, p: x * keep * x.sum(-1, keepdim=True) / (x * keep).sum(-1, keepdim=True),
            "You rescaled each row to its sum before the dropout. Dropout should not do this: the sum of a row may"
            " change, and only its mean over many samples should stay the same.",
        ),
        "draws-its-own": Wrong(
            lambda x, keep, p: F.dropout(x, p) + 0.0 * keep,
            "You make a new random choice of the numbers to drop, instead of using keep. In this exercise, keep is"
            " given, so that you can see the effect of one random choice.",
        ),
    },
    equivalent={
        "product": lambda x, keep, p: x * keep / (1 - p),
        "torch-backward": lambda x, keep, p: torch.ops.aten.native_dropout_backward(x, keep, 1 / (1 - p)),
    },
    hints=Hints(
        "Of ten numbers, eight are kept on average at p = 0.2. By what factor must these eight numbers grow to make up"
        " for the two dropped numbers?",
        "There are two steps: put zeros where keep is False, and divide the other numbers. On average, a fraction of 1"
        " - p is kept.",
        "Multiply x by keep, then divide by one minus p.",
    ),
)


def _initial_parameters(d_in, d_out, context_length, dropout, qkv_bias=False):
    return qkv_parameters(d_in, d_out, qkv_bias)


def _by_torch(p, x):
    return torch_causal_attention(p, *project_qkv(p, x))


def _mix_with_keep(p, x, keep):
    """Compute the result without dropout, but multiply each weight by `keep` [batch, 1, seq, seq]."""
    return causal_attention.replace(drop=lambda p, weights: weights * keep[:, 0])(p, x)


class _UncutMask(nn.Module):
    """The lesson's class, but it does not cut the mask to the length of the text."""

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


_wrong = attention_mistakes(causal_attention.replace, width="d_k", messages=_MESSAGES)


def _milestones(p, x):
    return attention_values(*project_qkv(p, x), causal_mask(x.shape[-2]))


exercise(
    "CausalAttention",
    unswept={"parameters": "the lesson lets the layer save its mask as a buffer"},
    initial_parameters=_initial_parameters,
    oracle=_by_torch,
    milestones=_milestones,
    cases=lambda rand: [
        case(rand(2, 4, 3), init=(3, 2, 4, 0.5)),
        case(rand(1, 1, 2), init=(2, 1, 1, 0.0), seed=6),
        case(
            rand(5, 3, 5),
            init={"d_in": 5, "d_out": 4, "context_length": 6, "dropout": 0.2, "qkv_bias": True},
            seed=1,
            note="shorter than the context",
        ),
        case(rand(6, 4, 4), init=(4, 6, 5, 0.7), train=True, seed=2, note="in training"),
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
    parse_result=make_dropout_parser(_mix_with_keep, _initial_parameters),
    properties=[
        *DROPOUT,
        *CAUSAL_LAYER,
        finite_when_scaled(),
        starts_as_linear((32, 24, 2, 0.0), (1, 2, 32)),
    ],
    misconceptions={
        "sees-the-future": _wrong.sees_the_future(),
        "mask-after-softmax": _wrong.mask_after_softmax(),
        "hidden-with-zero": _wrong.hidden_with_zero(),
        "true-means-blocked": _wrong.true_means_blocked(),
        "blind-to-itself": _wrong.blind_to_itself(),
        "mirror-image": _wrong.mirror_image(),
        "mask-not-cut": Wrong(
            _UncutMask,
            "You use the mask at its full size, so it does not fit a text that is shorter than context_length. Use only"
            " the upper left part of the mask, with as many rows and columns as the text has positions.",
        ),
        "wrong-axis": _wrong.wrong_axis(),
        "not-scaled": _wrong.not_scaled(
            "You did not divide the scores by the square root of d_k. The mask is right, but the weights are too sharp;"
            " a wider layer makes them even sharper."
        ),
        "multiplied": _wrong.multiplied(),
        "divided-by-d_k": _wrong.divided_by_the_width(),
        "root-of-d_in": _wrong.root_of_d_in(
            "You divided by the square root of d_in, the width of the inputs. Scores are dot products of queries and"
            " keys, so use the width of the queries and keys, d_out."
        ),
        "root-of-the-length": _wrong.root_of_the_length(),
        "keys-as-values": _wrong.keys_as_values(),
        "root-of-2": _wrong.root_of_2(),
        "query-and-key-swapped": _wrong.query_and_key_swapped(),
        "no-dropout": _wrong.no_dropout(
            "Nothing is dropped in training. The layer should apply dropout to its weights, after the softmax and"
            " before the weighted sum of the values."
        ),
        "drops-in-eval": _wrong.drops_in_eval(),
        "dropout-on-the-output": causal_attention.replace(drop=keep_weights, out=apply_dropout).wrong(
            "You apply dropout to the context vectors, so individual entries of a context vector become 0. Apply it to"
            " the weights instead, so that no position can rely on a single other position."
        ),
        "dropout-on-the-scores": causal_attention.replace(drop=keep_weights, transform_scores=apply_dropout).wrong(
            "You apply dropout to the scores, before the softmax. A dropped score is 0, and a score of 0 still gets"
            " weight, so nothing is ignored: apply dropout to the weights."
        ),
        "dropout-of-the-values": Wrong(
            causal_attention.replace(drop=keep_weights, mix=lambda p, w, v, x: w @ apply_dropout(p, v)),
            "You apply dropout to the values, which sets random entries of the value vectors to 0. Apply it to the"
            " weights instead: dropout should remove random attention weights.",
        ),
        "keep-rate": _wrong.keep_rate(),
        "fixed-rate": causal_attention.replace(drop=lambda p, weights: F.dropout(weights, 0.5, p.training)).wrong(
            "You drop half of the weights, whatever rate is passed. Use dropout, the argument of __init__, as the rate."
        ),
        "dropout-before-renormalising": Wrong(
            causal_attention.replace(drop=lambda p, weights: F.normalize(apply_dropout(p, weights), p=1, dim=-1)),
            "You made each row sum to one again after the dropout. The kept weights are scaled up already, and a row"
            " with few kept weights should have a smaller sum.",
        ),
        **dropout_misconceptions(causal_attention.replace),
        "inputs-as-values": _wrong.inputs_as_values(),
        **ignored_qkv_bias_misconceptions(_by_torch, _initial_parameters),
    },
    equivalent={
        "made-in-forward": causal_attention,
        "own-random-numbers": causal_attention.replace(drop=make_dropout()),
    },
    hints=Hints(
        "Start from SelfAttention_v2. Three things are new: a batch axis in front, a mask before the softmax, and"
        " dropout after the softmax.",
        "In __init__, create three Linear layers and a dropout layer, and store the result of get_mask for the whole"
        " context as a buffer called mask. In forward, transpose only the last two axes of the keys, and slice the"
        " mask to the length of the text.",
        "Let n be the number of positions in x. Set the scores to -inf where self.mask[:n, :n] is False, divide them by"
        " the square root of keys.shape[-1], take the softmax along dim -1, apply self.dropout, and multiply by values"
        " with @.",
    ),
)
