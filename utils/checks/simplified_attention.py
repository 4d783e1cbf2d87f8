"""Define the exercises of lesson 02: attention without parameters.

The expected values are the numbers printed in section 3.3.1 of the course's source text.
"""

import torch
from torch.nn import functional as F

from utils.checks._attention import INPUTS, QUERY, softmax_values
from utils.checks._wrong_answers import with_steps
from utils.exercises.exercise import Float, Hints, Wrong, case, exercise
from utils.feedback.properties import finite_when_scaled, rows_sum_to_one

PRINTED = 6e-5  # the tolerance for expected values with four decimals
SCORES = INPUTS @ QUERY  # wrong answers to later exercises use these scores
DIVIDED_SCORES = SCORES / SCORES.sum()
_OTHERS = [0, 2, 3, 4, 5]  # all words but the query

exercise(
    "attn_scores_2",
    oracle=torch.tensor([0.9544, 1.4950, 1.4754, 0.8434, 0.7070, 1.0865]),
    milestones=lambda: {"the products of the numbers?": INPUTS * QUERY, "the scores": INPUTS @ QUERY},
    atol=PRINTED,
    returns=Float("seq"),
    misconceptions={
        "counts-from-one": Wrong(
            lambda: INPUTS @ INPUTS[2],
            'These are the scores of "starts", the third token. Python counts from 0, so "journey", the second token,'
            " is row 1.",
        ),
        "not-summed": Wrong(
            lambda: INPUTS * QUERY,
            "You multiplied the numbers of each pair of vectors but did not add them up, so there are three numbers"
            " per token. A dot product multiplies entry by entry and then sums, so each pair of vectors gives one"
            " score.",
        ),
        "sums-over-tokens": Wrong(
            lambda: (INPUTS * QUERY).sum(0),
            "You summed over the tokens, which gave three numbers, one per coordinate. Each token needs one score, so"
            " sum over the coordinates instead.",
        ),
        "all-pairs": Wrong(
            lambda: INPUTS @ INPUTS.T,
            "This is the whole 6 × 6 table: every token against every token. The exercise asks for one row of it: the"
            ' query "journey" against all six tokens.',
        ),
        "first-token": Wrong(
            lambda: INPUTS @ INPUTS[0],
            'These are the scores of "Your", the first token. The query is "journey", the second token; Python counts'
            " from 0, so it is row 1.",
        ),
        "already-weights": Wrong(
            lambda: SCORES.softmax(0),
            "These are already weights: they sum to one. The exercise asks for the scores, which are plain dot"
            " products; softmax is the next step.",
        ),
        "not-with-itself": Wrong(
            lambda: SCORES * torch.tensor([1.0, 0.0, 1.0, 1.0, 1.0, 1.0]),
            'Your score of "journey" with itself is 0. It is one of the six scores, and it is computed like the'
            " others: as a dot product.",
        ),
        "cosine": Wrong(
            lambda: F.cosine_similarity(INPUTS, QUERY[None]),
            "You divided by the lengths of the vectors, so these are cosines. Attention scores also depend on the"
            " lengths: of two vectors that point in the same direction, the longer one gets the score further from 0.",
        ),
        "distances": Wrong(
            lambda: (INPUTS - QUERY).norm(dim=-1),
            'These are distances: 0 for "journey" itself, and small for two similar tokens. A score works the other'
            " way: it is high for two vectors that point in the same direction.",
        ),
        "squared-distances": Wrong(
            lambda: -(INPUTS - QUERY).square().sum(-1),
            'These are negative squared distances: 0 for "journey" itself, and lower for vectors that are further'
            " apart. A score is a dot product: multiply entry by entry, then add.",
        ),
    },
    hints=Hints(
        'On paper, multiply "journey" by "Your" coordinate by coordinate, then add. The result is the first score.',
        "Six dot products with the same vector are one product of a matrix and a vector.",
        "The matrix is inputs, with one row per token; the vector is query. The operator for a matrix product is @.",
    ),
)

exercise(
    "attn_weights_2",
    oracle=torch.tensor([0.1385, 0.2379, 0.2333, 0.1240, 0.1082, 0.1581]),
    milestones=lambda: {"the powers of e?": SCORES.exp(), "the weights": SCORES.softmax(0)},
    atol=PRINTED,
    returns=Float("seq"),
    misconceptions={
        "share-of-the-sum": Wrong(
            lambda: DIVIDED_SCORES,
            "You divided each score by the sum of the scores. A negative score then gets a negative weight, and a sum"
            " near zero makes the weights huge; softmax takes exp first, which makes every number positive.",
        ),
        "not-normalised": Wrong(
            lambda: SCORES.exp(),
            "You took exp of the scores but did not divide: these numbers sum to 18.7. Weights must sum to one, so"
            " divide by the sum.",
        ),
        "still-scores": Wrong(
            lambda: SCORES,
            "These are still the scores, which can have any size and any sum. Softmax turns them into weights that sum"
            " to one.",
        ),
        "winner-takes-all": Wrong(
            lambda: F.one_hot(SCORES.argmax(), 6).float(),
            "You gave all attention to the highest score. That is a maximum, not a softmax: it ignores the other"
            " tokens, and no gradient can flow through the choice.",
        ),
        "sigmoid": Wrong(
            lambda: torch.sigmoid(SCORES),
            "A sigmoid transforms each score independently: each result is between 0 and 1, but together they sum to"
            " 4.5. Softmax looks at all scores at once, so that the weights sum to one.",
        ),
        "log-softmax": Wrong(
            lambda: SCORES.log_softmax(0),
            "These are the logarithms of the weights, all of them negative. Weights are positive and sum to one.",
        ),
        "softmax-of-the-shares": Wrong(
            lambda: DIVIDED_SCORES.softmax(0),
            "You applied softmax to the result of the first attempt, in which the scores were divided by their sum."
            " These quotients are close together, so their weights are almost equal; apply softmax to the scores"
            " themselves.",
        ),
        "other-base": Wrong(
            lambda: 2**SCORES / (2**SCORES).sum(),
            "You divided powers of 2 by their sum. Softmax uses powers of e, about 2.718, which separate high scores"
            " from low ones more strongly.",
        ),
        "largest-is-one": Wrong(
            lambda: SCORES.exp() / SCORES.exp().max(),
            "You divided the exponentials by the largest exponential, so the largest weight is 1. Divide by their sum,"
            " so that the weights sum to one.",
        ),
        "axis-of-one": Wrong(
            lambda: torch.ones(6),
            "Every weight is 1, as if softmax ran along an axis that holds a single score. All six weights together"
            " must sum to one, so softmax must run along an axis that holds all six scores.",
        ),
        "scaled-already": Wrong(
            lambda: (SCORES / 3**0.5).softmax(0),
            "You divided the scores by the square root of the width first. The next lesson introduces this division and"
            " gives the reason for it; here, apply softmax to the scores as they are.",
        ),
        "down-the-columns": Wrong(
            lambda: (INPUTS @ INPUTS.T).softmax(0)[1],
            "You applied softmax down the columns of a table of all scores, and then took one row. A row holds the"
            " scores of one query, so softmax should run along the row.",
        ),
        "softmax-twice": Wrong(
            lambda: SCORES.softmax(0).softmax(0),
            "You applied softmax twice. The second softmax gets numbers that are all between 0 and 1, so it makes them"
            " nearly equal.",
        ),
    },
    hints=Hints(
        "The weights must be positive and sum to one, and a higher score must get a larger weight.",
        "First make every score positive with exp, then divide by the sum. torch has a function that does both.",
        "torch's softmax takes the scores and the axis along which the result sums to one. A vector has only axis 0.",
    ),
)

exercise(
    "context_vec_2",
    oracle=F.scaled_dot_product_attention(QUERY[None], INPUTS, INPUTS, scale=1.0)[0],
    milestones=lambda: {
        "the weighted vectors?": SCORES.softmax(0)[:, None] * INPUTS,
        "the context vector": SCORES.softmax(0) @ INPUTS,
    },
    atol=4e-5,  # accepts the numbers printed in the lesson, but rejects a sum whose weights were computed without exp
    returns=Float("d_in"),
    misconceptions={
        "without-its-own-word": Wrong(
            lambda: SCORES[_OTHERS].softmax(0) @ INPUTS[_OTHERS],
            "You mixed only the other five words. A query also looks at its own word: the sum should have six terms.",
        ),
        "plain-average": Wrong(
            lambda: INPUTS.mean(0),
            "This is the plain average of the six vectors: every token counts the same. Attention uses the weights:"
            " multiply each vector by its own weight.",
        ),
        "scores-for-weights": Wrong(
            lambda: SCORES @ INPUTS,
            "You used the scores as the weights. The scores sum to 6.6, so the result is about seven times too long;"
            " use the weights, which sum to one.",
        ),
        "not-summed": Wrong(
            lambda: SCORES.softmax(0)[:, None] * INPUTS,
            "You multiplied each vector by its weight but did not add them up: six vectors instead of one. The context"
            " vector is their sum.",
        ),
        "own-vector-only": Wrong(
            lambda: SCORES.softmax(0)[1] * QUERY,
            'You used only "journey" itself, multiplied by its own weight. A context vector is a mix of all six'
            ' tokens, and "journey" is one of them.',
        ),
        "shares-for-weights": Wrong(
            lambda: DIVIDED_SCORES @ INPUTS,
            "You used the result of the first attempt, which did not use exp, as the weights. Use the weights from the"
            " softmax instead.",
        ),
        "columns-for-weights": Wrong(
            lambda: (INPUTS @ INPUTS.T).softmax(0)[1] @ INPUTS,
            "You used weights from a softmax down the columns of a table. A row holds the scores of one query, so its"
            " weights should sum to one along the row.",
        ),
        "mean-for-sum": Wrong(
            lambda: (SCORES.softmax(0)[:, None] * INPUTS).mean(0),
            "You took the mean of the six weighted vectors, which is a sixth of their sum. The weights already sum to"
            " one, so it is enough to add the vectors.",
        ),
        "summed-over-the-width": Wrong(
            lambda: (SCORES.softmax(0)[:, None] * INPUTS).sum(1),
            "You added up the numbers of each vector, so the result has six numbers, one per token. Add up the tokens"
            " instead: a context vector is as wide as the input vectors.",
        ),
        "query-on-top": Wrong(
            lambda: SCORES.softmax(0) @ INPUTS + QUERY,
            'You added the vector of "journey" to the mix. The mix already contains it, with its own weight.',
        ),
        "first-left-out": Wrong(
            lambda: SCORES.softmax(0)[1:] @ INPUTS[1:],
            'Your mix does not contain the first token, "Your". Python counts from 0: all six tokens take part, each'
            " with its weight.",
        ),
        "last-left-out": Wrong(
            lambda: SCORES.softmax(0)[:-1] @ INPUTS[:-1],
            'Your mix does not contain the last token, "step". A range stops before its end, so use the full count as'
            " the end to reach the last token.",
        ),
        "last-only": Wrong(
            lambda: SCORES.softmax(0)[5] * INPUTS[5],
            'Your result contains only the last token, "step". If you used a loop, each iteration replaced the previous'
            " vector; add the vectors up instead.",
        ),
        "plain-sum": Wrong(
            lambda: INPUTS.sum(0),
            "You added the six vectors without their weights. Each token then has a weight of 1, so the result grows"
            " with the length of the sentence.",
        ),
    },
    hints=Hints(
        "Start with two tokens: half of one vector plus half of the other. Now do the same with six tokens, and with"
        " the weights in place of the halves.",
        "Multiply each row of inputs by its weight and add the rows. A vector times a matrix does both.",
        "Put the vector attn_weights_2 on the left of @ and the matrix inputs on the right: [6] @ [6, 3] gives [3].",
    ),
)


def _rows_apart(rand):
    """Sample two distant rows. If an answer subtracts one maximum from both, exp underflows in the lower row."""
    x = rand(2, 3)
    x[1] -= 500
    return x


def _one_apart(rand):
    """Sample rows with an outlier far above or below the mean. A softmax is safe only if it subtracts the maximum."""
    x = rand(3, 4)
    x[1, 2] += 300
    x[2, 0] -= 120
    return x


def _normalise(powers, dim):
    return powers / powers.sum(dim, keepdim=True)


@with_steps
def _softmax(
    x,
    dim,
    *,
    shift=lambda x, dim: x.amax(dim, keepdim=True),
    divide=_normalise,
    power=lambda x, shift: (x - shift).exp(),
):
    return divide(power(x, shift(x, dim)), dim)


def _softmax_steps(x, dim):
    """Compute the milestones of a softmax that subtracts each row's maximum, the only correct way in this exercise."""
    values = softmax_values(x, "the softmax", dim)
    return {label: value for label, value in values.items() if "shifted" in label or "softmax" in label}


exercise(
    "softmax",
    oracle=lambda x, dim: F.softmax(x, dim=dim),
    milestones=_softmax_steps,
    cases=lambda rand: [
        case(rand(5), 0),
        case(rand(3, 4), -1),
        case(rand(3, 4), dim=0),
        case(rand(2, 3, 4), 1),
        case(rand(1, 4), dim=1),
        case(rand(3, 1), 1),
        case(rand(4) + 1000, 0, note="with numbers near 1000"),
        case(rand(4) - 1000, 0, note="with numbers near -1000"),
        case(_rows_apart(rand), 1, note="with scores that are 500 lower in the second row"),
        case(_one_apart(rand), -1, note="with one number that is far from the other numbers in its row"),
        case(torch.tensor([100.0, 99.0]), dim=0, page_example="the scores 100 and 99, as in this lesson"),
    ],
    returns=Float(),
    misconceptions={
        "overflows": _softmax.replace(shift=lambda x, dim: 0.0).wrong(
            "The formula is right on paper, but it fails for large numbers: exp(89) no longer fits into a float32, and"
            " inf / inf is nan. Adding the same number to every score changes no weight, so you can lower all scores"
            " first."
        ),
        "one-maximum-for-all": _softmax.replace(shift=lambda x, dim: x.max()).wrong(
            "You subtract one maximum from the whole tensor, so in a row with much lower scores all exponentials are 0,"
            " and 0 / 0 is nan. Each row needs its own maximum, along dim."
        ),
        "ignores-dim": Wrong(
            lambda x, dim: F.softmax(x, dim=-1),
            "Your result always sums to one along the last axis, whatever dim is. Use dim for both the maximum and the"
            " sum.",
        ),
        "always-the-first-axis": Wrong(
            lambda x, dim: F.softmax(x, dim=0),
            "Your result always sums to one along the first axis, whatever dim is. Use dim for both the maximum and"
            " the sum.",
        ),
        "dim-for-the-maximum-only": _softmax.replace(divide=lambda powers, dim: _normalise(powers, -1)).wrong(
            "You take the maximum along dim, but the sum along the last axis, whatever dim is. Use dim for both, so"
            " that the result sums to one along dim."
        ),
        "dim-for-the-sum-only": _softmax.replace(shift=lambda x, dim: x.amax(-1, keepdim=True)).wrong(
            "You take the sum along dim, but the maximum along the last axis, whatever dim is. All scores that are"
            " normalised together must be lowered by the same number, so use dim for both."
        ),
        "over-everything": Wrong(
            lambda x, dim: F.softmax(x.flatten(), dim=0).view_as(x),
            "All entries of your tensor together sum to one. The result should sum to one along dim.",
        ),
        "logarithm": Wrong(
            lambda x, dim: F.log_softmax(x, dim=dim),
            "These are the logarithms of the weights, so none is above zero. A loss uses logarithms, but a weighted"
            " sum needs the weights themselves.",
        ),
        "share-of-absolute-values": Wrong(
            lambda x, dim: x.abs() / x.abs().sum(dim, keepdim=True),
            "You divided the absolute values by their sum, so a score of -5 gets a larger weight than a score of 2."
            " exp keeps the order: a higher score gets a larger weight.",
        ),
        "mean-for-maximum": _softmax.replace(shift=lambda x, dim: x.mean(dim, keepdim=True)).wrong(
            "You subtract the mean of the scores. This shift changes no weight, but exp of a score far above the mean"
            " still overflows; subtract the maximum, so that no exponential is above 1."
        ),
        "absolute-for-maximum": _softmax.replace(shift=lambda x, dim: x.abs().amax(dim, keepdim=True)).wrong(
            "You subtract the largest absolute value. If all scores are far below 0, this value is far above them, so"
            " all exponentials become 0, and 0 / 0 is nan; subtract the largest score itself."
        ),
        "minimum-for-maximum": _softmax.replace(shift=lambda x, dim: x.amin(dim, keepdim=True)).wrong(
            "You subtract the smallest score, so no score is below 0 any more, and exp of a large score still"
            " overflows. Subtract the maximum, so that no exponential is above 1."
        ),
        "clamped": Wrong(
            lambda x, dim: F.softmax(x.clamp(-80, 80), dim=dim),
            "You clamp the scores before exp. Nothing overflows, but scores of 999 and 1001 become equal, and the"
            " difference between them is lost.",
        ),
        "scaled-down": Wrong(
            lambda x, dim: F.softmax(x / x.abs().max(), dim=dim),
            "You divided the numbers by the largest of them. exp no longer overflows, but the weights change: softmax"
            " depends on the differences between scores, and only a shift keeps these differences.",
        ),
        "nan-replaced": Wrong(
            lambda x, dim: torch.nan_to_num(x.exp() / x.exp().sum(dim, keepdim=True)),
            "You replace nan after it has appeared, so all weights are 0 in a row of very large or very negative"
            " numbers. Subtract the largest number of each row before exp; then no nan appears.",
        ),
        "highest-gets-least": _softmax.replace(power=lambda x, shift: (shift - x).exp()).wrong(
            "Your order is reversed: the highest score gets the smallest weight. exp needs the score minus the"
            " maximum, which is 0 for the highest score and negative for all others."
        ),
        "multiplied-by-the-sum": Wrong(
            _softmax.replace(divide=lambda powers, dim: powers * powers.sum(dim, keepdim=True)),
            "You multiplied the exponentials by their sum, so weights can be far above 1. Divide each exponential by"
            " the sum of the exponentials along dim instead.",
        ),
        "divided-by-itself": _softmax.replace(divide=lambda powers, dim: powers / powers).wrong(
            "You divided each exponential by itself, so every weight is 1. Divide each exponential by the sum of the"
            " exponentials along dim."
        ),
        "not-normalised": _softmax.replace(divide=lambda powers, dim: powers).wrong(
            "You subtracted the maximum and took exp, but you did not divide, so the largest entry is always 1. Divide"
            " by the sum along dim."
        ),
    },
    hints=Hints(
        "What does exp(1000) give in torch? And what does softmax give on paper for [1, 2] and for [1001, 1002]?",
        "Softmax does not change when the same number is subtracted from every score. Which number can you subtract"
        " from each row, so that exp stays in range?",
        "Subtract the maximum along dim, with keepdim so that the shapes fit; take exp; divide by the sum along dim,"
        " again with keepdim.",
    ),
)


exercise(
    "attn_scores",
    oracle=torch.tensor(
        [
            [0.9995, 0.9544, 0.9422, 0.4753, 0.4576, 0.6310],
            [0.9544, 1.4950, 1.4754, 0.8434, 0.7070, 1.0865],
            [0.9422, 1.4754, 1.4570, 0.8296, 0.7154, 1.0605],
            [0.4753, 0.8434, 0.8296, 0.4937, 0.3474, 0.6565],
            [0.4576, 0.7070, 0.7154, 0.3474, 0.6654, 0.2935],
            [0.6310, 1.0865, 1.0605, 0.6565, 0.2935, 0.9450],
        ]
    ),
    milestones=lambda: {"the scores": INPUTS @ INPUTS.T},
    atol=PRINTED,
    returns=Float("seq seq"),
    misconceptions={
        "reshaped": Wrong(
            lambda: INPUTS @ INPUTS.reshape(3, 6),
            "You used reshape, which fills the new shape with the same numbers row by row, so the numbers of one vector"
            " end up in different vectors. A transpose swaps rows and columns and keeps the numbers of each vector"
            " together.",
        ),
        "mean-taken-away": Wrong(
            lambda: (INPUTS - INPUTS.mean(0)) @ (INPUTS - INPUTS.mean(0)).T,
            "You subtracted the mean of the tokens first. Scores are the dot products of the vectors as they are.",
        ),
        "coordinates-with-coordinates": Wrong(
            lambda: INPUTS.T @ INPUTS,
            "You transposed the wrong factor: this 3 × 3 table compares coordinates with coordinates. A table with a"
            " score for each pair of tokens should have six rows and six columns.",
        ),
        "one-query-only": Wrong(
            lambda: SCORES,
            'These are the six scores of "journey" only, which is one row of the table. Now every token is a query, so'
            " there are 36 scores.",
        ),
        "already-weights": Wrong(
            lambda: (INPUTS @ INPUTS.T).softmax(-1),
            "These are already weights: each row sums to one. The exercise asks for the scores, which come before the"
            " softmax.",
        ),
        "cosine": Wrong(
            lambda: F.normalize(INPUTS, dim=-1) @ F.normalize(INPUTS, dim=-1).T,
            "You divided by the lengths of the vectors, so these are cosines, with 1 all along the diagonal. Attention"
            " scores are plain dot products, without this division.",
        ),
        "mean-for-sum": Wrong(
            lambda: (INPUTS[:, None] * INPUTS).mean(-1),
            "You took the mean of the products, which is a third of each dot product. A dot product adds them up.",
        ),
        "sums-multiplied": Wrong(
            lambda: INPUTS.sum(1)[:, None] * INPUTS.sum(1),
            "Each entry is a product of two sums: you added up the numbers of each vector before you multiplied. A dot"
            " product multiplies number by number and then adds; in einsum, the axis that is summed needs the same"
            " letter in both inputs.",
        ),
        "half-a-table": Wrong(
            lambda: (INPUTS @ INPUTS.T).triu(),
            "All your entries below the diagonal are 0. The table is symmetric, but all 36 scores are needed, because"
            " every token is a query and has a score for every token.",
        ),
        "not-with-itself": Wrong(
            lambda: INPUTS @ INPUTS.T * (1 - torch.eye(6)),
            "Your diagonal is 0, but it should hold the score of each token with itself. This score is computed like"
            " any other.",
        ),
        "distances": Wrong(
            lambda: torch.cdist(INPUTS, INPUTS),
            "These are distances: 0 along the diagonal, and small for two similar tokens. A score works the other way:"
            " it is high for two vectors that point in the same direction.",
        ),
    },
    hints=Hints(
        "Row i, column j is the dot product of row i of inputs with row j of inputs.",
        "A matrix product combines rows of the left matrix with columns of the right one. What turns the rows of"
        " inputs into columns?",
        "inputs has shape [6, 3] and its transpose inputs.T has shape [3, 6]. Their product, in this order, has shape"
        " [6, 6].",
    ),
)


def _attend(inputs):
    weights = F.softmax(torch.einsum("id,jd->ij", inputs, inputs), dim=-1)
    return torch.einsum("ij,jd->id", weights, inputs), weights


def _attention_steps(x):
    scores = x @ x.T
    return {"the scores": scores, **softmax_values(scores), "the context vectors": _attend(x)[0]}


@with_steps
def _simple_attention(inputs, *, weigh=lambda x: F.softmax(x @ x.T, dim=-1), mix=torch.matmul):
    weights = weigh(inputs)
    return mix(weights, inputs), weights


exercise(
    "simple_attention",
    oracle=_attend,
    milestones=_attention_steps,
    cases=lambda rand: [
        case(INPUTS, page_example="this lesson's inputs"),
        case(rand(2, 3)),
        case(rand(4, 3)),
        case(rand(6, 2)),
        case(rand(5, 8, scale=0.5)),
        case(rand(1, 3)),
        case(rand(3, 1)),
    ],
    returns=(Float("seq d_in", name="context_vecs"), Float("seq seq", name="weights")),
    properties=[rows_sum_to_one(part=1), finite_when_scaled()],
    misconceptions={
        "wrong-axis": _simple_attention.replace(weigh=lambda x: F.softmax(x @ x.T, dim=0)).wrong(
            "The columns of your weights sum to one, but the rows should: row i holds the weights of query i. Softmax"
            " ran along the wrong axis, or you divided by a sum along the last axis without keepdim, which divides the"
            " columns."
        ),
        "not-normalised": _simple_attention.replace(weigh=lambda x: x @ x.T).wrong(
            "You used the scores themselves as the weights. The scores can have any sum, so a context vector would grow"
            " with the length of the sentence; first turn each row into weights that sum to one."
        ),
        "share-of-the-sum": Wrong(
            _simple_attention.replace(weigh=lambda x: (x @ x.T) / (x @ x.T).sum(-1, keepdim=True)),
            "You divided each row by its sum, without exp. Negative scores give negative weights, and a row whose sum"
            " is nearly zero gives huge weights.",
        ),
        "weights-transposed": _simple_attention.replace(mix=lambda weights, x: weights.T @ x).wrong(
            "The weights are right, but you multiply their transpose by the inputs, so each output uses a column of the"
            " weights: how much each token attends to this one. A token's context vector should use the token's own"
            " row."
        ),
        "cosine": Wrong(
            _simple_attention.replace(
                weigh=lambda x: F.softmax(F.normalize(x, dim=-1) @ F.normalize(x, dim=-1).T, dim=-1)
            ),
            "Your scores are cosines, because you divided by the lengths of the vectors. Simple attention uses plain"
            " dot products, in which a longer vector counts more.",
        ),
        "scaled-already": Wrong(
            _simple_attention.replace(weigh=lambda x: F.softmax(x @ x.T / x.shape[-1] ** 0.5, dim=-1)),
            "You divide the scores by the square root of the width. The next lesson introduces this division and gives"
            " the reason for it; simple attention uses the plain dot products.",
        ),
        "scores-beside": Wrong(
            lambda x: (_attend(x)[0], x @ x.T),
            "The context vectors are right, but your second result holds the scores. Return the weights that you used"
            " for the context vectors: the numbers after the softmax.",
        ),
        "axes-of-one-lost": Wrong(
            lambda x: tuple(part.squeeze() for part in _attend(x)),
            "For a sentence of one word, or vectors of one number, your result loses an axis: squeeze() removes every"
            " axis of size 1. Name the axis that should be removed.",
        ),
        "whole-table": Wrong(
            _simple_attention.replace(weigh=lambda x: F.softmax((x @ x.T).flatten(), dim=0).view(len(x), len(x))),
            "All weights of your table together sum to one. Each row belongs to one query and should sum to one.",
        ),
    },
    hints=Hints(
        "You have done this for one query: scores, then weights, then a weighted sum. Which of the three steps changes"
        " when every token is a query?",
        "You can compute all scores at once, as the product of inputs and its own transpose. Row i holds the scores of"
        " query i.",
        "The scores are inputs @ its transpose; the weights are their softmax along the last axis; the context vectors"
        " are weights @ inputs. Return both, context vectors first.",
    ),
)
