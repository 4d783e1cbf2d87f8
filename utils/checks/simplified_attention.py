"""Exercises of lesson 02: attention without anything to train. Values as printed by the course's source text, 3.3.1."""

import torch
from torch.nn import functional as F

from utils.checks._attention import INPUTS, QUERY
from utils.feedback.exercise import Float, Hints, Wrong, case, exercise
from utils.feedback.properties import finite_when_scaled, rows_sum_to_one

PRINTED = 6e-5  # these oracles are printed to four decimals
SCORES = INPUTS @ QUERY  # what a lesson's earlier exercises make, for mistakes in a later one
SHARES = SCORES / SCORES.sum()

exercise(
    "attn_scores_2",
    oracle=torch.tensor([0.9544, 1.4950, 1.4754, 0.8434, 0.7070, 1.0865]),
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
            "You multiplied the numbers of each pair and did not add them up: three numbers per token instead of one."
            " A dot product multiplies entry by entry and then sums, so that one pair of vectors gives one score.",
        ),
        "sums-over-tokens": Wrong(
            lambda: (INPUTS * QUERY).sum(0),
            "You summed over the tokens: three numbers came out, one per coordinate. A score belongs to a token, so"
            " the coordinates are what must be summed away.",
        ),
        "all-pairs": Wrong(
            lambda: INPUTS @ INPUTS.T,
            "This is the whole 6 × 6 table, every token against every token. Here one row of it is asked for: the"
            ' query "journey" against all six.',
        ),
        "first-token": Wrong(
            lambda: INPUTS @ INPUTS[0],
            'These are the scores of "Your", the first token. The query is "journey", the second, which Python counts'
            " as row 1.",
        ),
        "already-weights": Wrong(
            lambda: SCORES.softmax(0),
            "These are weights already: they sum to one. The scores come first, the dot products as they are; softmax"
            " is the next step.",
        ),
        "not-with-itself": Wrong(
            lambda: SCORES * torch.tensor([1.0, 0.0, 1.0, 1.0, 1.0, 1.0]),
            'The score of "journey" with itself is 0 here. It is one of the six: a token looks at itself as at any'
            " other.",
        ),
        "cosine": Wrong(
            lambda: F.cosine_similarity(INPUTS, QUERY[None]),
            "You divided by the lengths of the vectors: these are cosines. Attention scores keep the lengths: a long"
            " vector that points the same way scores higher.",
        ),
        "distances": Wrong(
            lambda: (INPUTS - QUERY).norm(dim=-1),
            'These are distances: 0 for "journey" itself, and small where two tokens are alike. A score works the other'
            " way, high where two vectors point the same way.",
        ),
        "squared-distances": Wrong(
            lambda: -(INPUTS - QUERY).square().sum(-1),
            'These are squared distances with a minus: 0 for "journey" itself, and lower the further two vectors lie'
            " apart. A score is a dot product: multiply number by number, and add.",
        ),
    },
    hints=Hints(
        'Take two columns of paper: multiply "journey" by "Your" coordinate by coordinate, then add. You have the'
        " first score.",
        "Six dot products with one vector are one product of a matrix with a vector.",
        "The matrix is inputs, one row per token; the vector is query. The operator for a matrix product is @.",
    ),
)

exercise(
    "attn_weights_2",
    oracle=torch.tensor([0.1385, 0.2379, 0.2333, 0.1240, 0.1082, 0.1581]),
    atol=PRINTED,
    returns=Float("seq"),
    misconceptions={
        "share-of-the-sum": Wrong(
            lambda: SHARES,
            "You divided each score by the sum of the scores. These six do sum to one, but a negative score would get"
            " a negative share, and a sum near zero would blow up. Softmax takes exp first, which makes every number"
            " positive.",
        ),
        "not-normalised": Wrong(
            lambda: SCORES.exp(),
            "exp is there, the division is not: these sum to 18.7. Weights share out one unit of attention, so divide"
            " by the sum.",
        ),
        "still-scores": Wrong(
            lambda: SCORES,
            "These are still the scores. They can be any size and sum to anything; softmax turns them into shares that"
            " sum to one.",
        ),
        "winner-takes-all": Wrong(
            lambda: F.one_hot(SCORES.argmax(), 6).float(),
            "All attention goes to the highest score. That is a maximum, not a softmax: it throws the other tokens"
            " away, and no gradient can flow through the choice.",
        ),
        "sigmoid": Wrong(
            lambda: torch.sigmoid(SCORES),
            "A sigmoid squeezes each score by itself: each lies between 0 and 1, and together they sum to 4.5. Softmax"
            " looks at all scores at once, because attention is shared out.",
        ),
        "log-softmax": Wrong(
            lambda: SCORES.log_softmax(0),
            "These are the logarithms of the weights, all of them negative. A weight is a share: positive, and"
            " together one.",
        ),
        "softmax-of-the-shares": Wrong(
            lambda: SHARES.softmax(0),
            "This is the softmax of the first attempt, of scores that had been divided by their sum. They were nearly"
            " equal by then; softmax starts from the scores themselves.",
        ),
        "other-base": Wrong(
            lambda: 2**SCORES / (2**SCORES).sum(),
            "These are powers of 2, shared out. Softmax takes powers of e, about 2.718, which makes high scores stand"
            " out more.",
        ),
        "largest-is-one": Wrong(
            lambda: SCORES.exp() / SCORES.exp().max(),
            "The powers were divided by the largest of them, which is now 1. Divided by their sum they share one unit.",
        ),
        "axis-of-one": Wrong(
            lambda: torch.ones(6),
            "Every weight is 1, as where each score is alone on the axis along which a softmax runs. All six have to"
            " share one unit, so they have to lie along that axis together.",
        ),
        "scaled-already": Wrong(
            lambda: (SCORES / 3**0.5).softmax(0),
            "You divided the scores by the root of the width first. That belongs to the next lesson, where there is a"
            " reason for it; here softmax takes the scores as they are.",
        ),
        "down-the-columns": Wrong(
            lambda: (INPUTS @ INPUTS.T).softmax(0)[1],
            "In a table of all scores the softmax ran down the columns, and then one row was taken. A row is what one"
            " token asked: the six numbers of a row share one unit.",
        ),
        "softmax-twice": Wrong(
            lambda: SCORES.softmax(0).softmax(0),
            "Softmax was applied twice. The second one sees numbers that all lie between 0 and 1, and so makes them"
            " nearly equal.",
        ),
    },
    hints=Hints(
        "The weights must be positive and sum to one, and a higher score must get a larger weight.",
        "First make every score positive with exp, then divide by the sum. torch has a function that does both.",
        "torch's softmax takes the scores and the axis along which the result sums to one. A vector has one axis: 0.",
    ),
)

exercise(
    "context_vec_2",
    oracle=F.scaled_dot_product_attention(QUERY[None], INPUTS, INPUTS, scale=1.0)[0],
    atol=4e-5,  # what is printed is as near as that, and the shares without exp are not
    returns=Float("d_in"),
    misconceptions={
        "plain-average": Wrong(
            lambda: INPUTS.mean(0),
            "This is the plain average of the six vectors: every token counts the same. The weights are what makes it"
            " attention: multiply each vector by its own weight.",
        ),
        "scores-for-weights": Wrong(
            lambda: SCORES @ INPUTS,
            "You mixed with the scores. They sum to 6.6, so the result is a vector about seven times too long. Mix"
            " with the weights, which sum to one.",
        ),
        "not-summed": Wrong(
            lambda: SCORES.softmax(0)[:, None] * INPUTS,
            "Each vector is weighted, and they are not added up: six vectors instead of one. The context vector is"
            " their sum.",
        ),
        "own-vector-only": Wrong(
            lambda: SCORES.softmax(0)[1] * QUERY,
            'Only "journey" itself went in, shrunk by its own weight. A context vector is a mix of all six tokens; its'
            " own vector is one of them.",
        ),
        "shares-for-weights": Wrong(
            lambda: SHARES @ INPUTS,
            "You mixed with the shares of the first attempt, which were made without exp. The weights to mix with are"
            " those of the softmax.",
        ),
        "columns-for-weights": Wrong(
            lambda: (INPUTS @ INPUTS.T).softmax(0)[1] @ INPUTS,
            "The weights that you mixed with come from a softmax down the columns of a table. What one token asked is"
            " a row, and along a row the weights sum to one.",
        ),
        "mean-for-sum": Wrong(
            lambda: (SCORES.softmax(0)[:, None] * INPUTS).mean(0),
            "You took the mean of the six weighted vectors, a sixth of their sum. The weights are shares of one"
            " already: adding is enough.",
        ),
        "summed-over-the-width": Wrong(
            lambda: (SCORES.softmax(0)[:, None] * INPUTS).sum(1),
            "You added along the numbers of each vector, so that six came out, one per token. A context vector is as"
            " wide as the vectors that go in; what is added up are the tokens.",
        ),
        "query-on-top": Wrong(
            lambda: SCORES.softmax(0) @ INPUTS + QUERY,
            'The vector of "journey" was added on top of the mix. It is in it already, with its own share.',
        ),
        "first-left-out": Wrong(
            lambda: SCORES.softmax(0)[1:] @ INPUTS[1:],
            'The first token, "Your", has no part in the mix. Count from 0: all six take part, each with its weight.',
        ),
        "last-left-out": Wrong(
            lambda: SCORES.softmax(0)[:-1] @ INPUTS[:-1],
            'The last token, "step", is not in the mix. A range ends before the number that it is given, so it takes'
            " the full count to reach the last one.",
        ),
        "last-only": Wrong(
            lambda: SCORES.softmax(0)[5] * INPUTS[5],
            'Only the last token, "step", is in it. If a loop made it, each round put its vector in the place of the'
            " one before; they are to be added up.",
        ),
        "plain-sum": Wrong(
            lambda: INPUTS.sum(0),
            "You added the six vectors without their weights. Every token counts in full, so the result grows with the"
            " length of the sentence.",
        ),
    },
    hints=Hints(
        "Start with two tokens: half of one vector plus half of the other. Now do it with six, and with the weights as"
        " the shares.",
        "Multiply each row of inputs by its weight and add the rows. A vector times a matrix does both.",
        "The vector attn_weights_2 stands on the left of @, the matrix inputs on the right: [6] @ [6, 3] gives [3].",
    ),
)


def _rows_apart(rand):
    """Two rows so far apart that one maximum for both leaves nothing of the lower."""
    x = rand(2, 3)
    x[1] -= 500
    return x


def _one_apart(rand):
    """One number so far above the mean of its row, and in another row one so far below, that powers still overflow
    where not the maximum is taken away."""
    x = rand(3, 4)
    x[1, 2] += 300
    x[2, 0] -= 120
    return x


def _powers(x, dim):
    return (x - x.amax(dim, keepdim=True)).exp()


def _shares(powers, dim):
    return powers / powers.sum(dim, keepdim=True)


def _softmax_below(x, dim, low):
    """Powers of the numbers less what `low` makes of each row, shared out."""
    return _shares((x - low(x, dim)).exp(), dim)


exercise(
    "softmax",
    oracle=lambda x, dim: F.softmax(x, dim=dim),
    cases=lambda rand: [
        case(rand(5), 0),
        case(rand(3, 4), -1),
        case(rand(3, 4), dim=0),
        case(rand(2, 3, 4), 1),
        case(rand(1, 4), dim=1),
        case(rand(3, 1), 1),
        case(rand(4) + 1000, 0, note="with numbers near 1000"),
        case(rand(4) - 1000, 0, note="with numbers near -1000"),
        case(_rows_apart(rand), 1, note="where the second row lies 500 below the first"),
        case(_one_apart(rand), -1, note="where in a row one number lies far from the others"),
        case(torch.tensor([100.0, 99.0]), dim=0, page_example="100 and 99, as on this page"),
    ],
    returns=Float(),
    misconceptions={
        "overflows": Wrong(
            lambda x, dim: x.exp() / x.exp().sum(dim, keepdim=True),
            "The formula is right on paper and breaks on large numbers: exp(89) no longer fits into a float32, and inf"
            " / inf is nan. Adding the same number to every score changes no weight, so you are free to move the"
            " scores down first.",
        ),
        "one-maximum-for-all": Wrong(
            lambda x, dim: (x - x.max()).exp() / (x - x.max()).exp().sum(dim, keepdim=True),
            "You subtract one maximum from the whole tensor. A row that lies far below it becomes all zeros, and 0 / 0"
            " is nan. Each row needs its own maximum, along dim.",
        ),
        "ignores-dim": Wrong(
            lambda x, dim: F.softmax(x, dim=-1),
            "The result always sums to one along the last axis, whatever dim says. Use dim both for the maximum and"
            " for the sum.",
        ),
        "always-the-first-axis": Wrong(
            lambda x, dim: F.softmax(x, dim=0),
            "The result always sums to one along the first axis, whatever dim says. Use dim both for the maximum and"
            " for the sum.",
        ),
        "dim-for-the-maximum-only": Wrong(
            lambda x, dim: (
                (x - x.amax(dim, keepdim=True)).exp() / (x - x.amax(dim, keepdim=True)).exp().sum(-1, keepdim=True)
            ),
            "The maximum is taken along dim, and the sum along the last axis, whatever dim says. What shares one unit"
            " is what is summed: both run along dim.",
        ),
        "dim-for-the-sum-only": Wrong(
            lambda x, dim: (
                (x - x.amax(-1, keepdim=True)).exp() / (x - x.amax(-1, keepdim=True)).exp().sum(dim, keepdim=True)
            ),
            "The sum is taken along dim, and the maximum along the last axis, whatever dim says. Only one and the same"
            " number taken from all that share a unit changes no weight: both run along dim.",
        ),
        "over-everything": Wrong(
            lambda x, dim: F.softmax(x.flatten(), dim=0).view_as(x),
            "All entries of the tensor together sum to one. Along dim, every row has its own unit of attention to"
            " share out.",
        ),
        "logarithm": Wrong(
            lambda x, dim: F.log_softmax(x, dim=dim),
            "These are logarithms of the weights: all negative. They are handy in a loss; weights themselves are what"
            " a weighted sum needs.",
        ),
        "share-of-absolute-values": Wrong(
            lambda x, dim: x.abs() / x.abs().sum(dim, keepdim=True),
            "You shared out the absolute values. A score of -5 then weighs more than one of 2; exp keeps the order:"
            " the higher score gets the larger weight.",
        ),
        "mean-for-maximum": Wrong(
            lambda x, dim: _softmax_below(x, dim, lambda x, dim: x.mean(dim, keepdim=True)),
            "You move the scores down by their mean. That is a shift and changes no weight, but one score far above"
            " the mean still overflows. Only the maximum leaves no power above 1.",
        ),
        "absolute-for-maximum": Wrong(
            lambda x, dim: _softmax_below(x, dim, lambda x, dim: x.abs().amax(dim, keepdim=True)),
            "You subtract the largest absolute value. Where all scores are far below 0 it lies far above them, so all"
            " powers become 0, and 0 / 0 is nan; subtract the largest score itself.",
        ),
        "minimum-for-maximum": Wrong(
            lambda x, dim: _softmax_below(x, dim, lambda x, dim: x.amin(dim, keepdim=True)),
            "You subtract the smallest score, which leaves all others above 0, and the power of a large one still"
            " overflows. Only the maximum leaves no power above 1.",
        ),
        "clamped": Wrong(
            lambda x, dim: F.softmax(x.clamp(-80, 80), dim=dim),
            "You cut the scores off before exp. Nothing overflows, and scores of 999 and 1001 become equal: the"
            " difference between them was the information.",
        ),
        "scaled-down": Wrong(
            lambda x, dim: F.softmax(x / x.abs().max(), dim=dim),
            "The numbers were divided by the largest of them. exp stays in range, and the weights change: what counts"
            " for a softmax are differences, and these shrink too. Only a shift leaves them as they are.",
        ),
        "nan-replaced": Wrong(
            lambda x, dim: torch.nan_to_num(x.exp() / x.exp().sum(dim, keepdim=True)),
            "nan is replaced after it has come about, so that a row of large numbers is left without weights. Where"
            " exp does not overflow, there is no nan to replace: move the scores down first.",
        ),
        "highest-gets-least": Wrong(
            lambda x, dim: _shares((x.amax(dim, keepdim=True) - x).exp(), dim),
            "The order is turned round: the highest score gets the smallest weight. What goes into exp is the score"
            " less the maximum, which is 0 for the highest and negative for all others.",
        ),
        "multiplied-by-the-sum": Wrong(
            lambda x, dim: _powers(x, dim) * _powers(x, dim).sum(dim, keepdim=True),
            "The powers are multiplied by their sum, so a row of large scores has weights far above 1. Shares come from"
            " a division: each power by the sum of its row.",
        ),
        "divided-by-itself": Wrong(
            lambda x, dim: _powers(x, dim) / _powers(x, dim),
            "Every weight is 1: each power was divided by itself. What it is a share of is the sum of the powers, along"
            " dim.",
        ),
        "not-normalised": Wrong(
            _powers,
            "The maximum is subtracted and exp is taken; the division is missing, so the largest entry is always 1."
            " Divide by the sum along dim.",
        ),
    },
    hints=Hints(
        "What does exp(1000) give in torch? And what does softmax give for [1, 2] and for [1001, 1002] on paper?",
        "Softmax does not change when the same number is subtracted from every score. Which number keeps exp in range"
        " for each row?",
        "Subtract the maximum along dim, with keepdim so that it lines up; take exp; divide by the sum along dim, with"
        " keepdim again.",
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
    atol=PRINTED,
    returns=Float("seq seq"),
    misconceptions={
        "reshaped": Wrong(
            lambda: INPUTS @ INPUTS.reshape(3, 6),
            "reshape deals the same numbers out anew, row by row, so that the vectors are torn apart. A transpose swaps"
            " rows and columns and keeps each vector whole.",
        ),
        "mean-taken-away": Wrong(
            lambda: (INPUTS - INPUTS.mean(0)) @ (INPUTS - INPUTS.mean(0)).T,
            "The mean of the tokens was taken away first. Scores are the dot products of the vectors as they are.",
        ),
        "coordinates-with-coordinates": Wrong(
            lambda: INPUTS.T @ INPUTS,
            "The transpose stands on the wrong side: this 3 × 3 table compares coordinates with coordinates. A table"
            " of tokens against tokens has one row and one column for each of the six.",
        ),
        "one-query-only": Wrong(
            lambda: SCORES,
            'These are the six scores of "journey" alone, one row of the table. Now every token asks, so there are 36.',
        ),
        "already-weights": Wrong(
            lambda: (INPUTS @ INPUTS.T).softmax(-1),
            "These are weights already: each row sums to one. The table of scores comes first, and softmax after it.",
        ),
        "cosine": Wrong(
            lambda: F.normalize(INPUTS, dim=-1) @ F.normalize(INPUTS, dim=-1).T,
            "You divided by the lengths of the vectors: these are cosines, 1 all along the diagonal. Attention scores"
            " keep the lengths.",
        ),
        "mean-for-sum": Wrong(
            lambda: (INPUTS[:, None] * INPUTS).mean(-1),
            "These are the means of the products, a third of each dot product. A dot product adds them up.",
        ),
        "sums-multiplied": Wrong(
            lambda: INPUTS.sum(1)[:, None] * INPUTS.sum(1),
            "Each entry is a product of two sums: the numbers of both vectors were added up before they met. A dot"
            " product multiplies number by number, and then adds. In einsum the axis that is summed needs the same"
            " letter on both sides.",
        ),
        "half-a-table": Wrong(
            lambda: (INPUTS @ INPUTS.T).triu(),
            "Below the diagonal nothing is filled in. The table is the same on both sides of it, and every token asks"
            " every other: all 36 scores belong there.",
        ),
        "not-with-itself": Wrong(
            lambda: INPUTS @ INPUTS.T * (1 - torch.eye(6)),
            "The diagonal is 0, where each token's score with itself belongs. A token looks at itself as at any other.",
        ),
        "distances": Wrong(
            lambda: torch.cdist(INPUTS, INPUTS),
            "These are distances: 0 along the diagonal, and small where two tokens are alike. A score works the other"
            " way, high where two vectors point the same way.",
        ),
    },
    hints=Hints(
        "Row i, column j is the dot product of row i of inputs with row j of inputs.",
        "A matrix product takes rows of the left one and columns of the right one. What turns the rows of inputs into"
        " columns?",
        "inputs has shape [6, 3] and its transpose inputs.T has [3, 6]. Their product, in this order, has [6, 6].",
    ),
)


def _attend(inputs):
    weights = F.softmax(torch.einsum("id,jd->ij", inputs, inputs), dim=-1)
    return torch.einsum("ij,jd->id", weights, inputs), weights


def _with_weights(make):
    """An answer that differs from the right one in its weights only."""

    def answer(inputs):
        weights = make(inputs)
        return weights @ inputs, weights

    return answer


exercise(
    "simple_attention",
    oracle=_attend,
    cases=lambda rand: [
        case(INPUTS, page_example="this page's inputs"),
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
        "wrong-axis": Wrong(
            _with_weights(lambda x: F.softmax(x @ x.T, dim=0)),
            "The columns of your weights sum to one, the rows do not. A row belongs to the token that asks, and it is"
            " the asker who shares out one unit of attention. A sum along the last axis divides the columns, too, where"
            " it lost that axis: keepdim keeps it.",
        ),
        "not-normalised": Wrong(
            _with_weights(lambda x: x @ x.T),
            "You mixed with the scores themselves. They sum to anything, so a context vector would grow with the"
            " sentence. Turn each row into shares first.",
        ),
        "share-of-the-sum": Wrong(
            _with_weights(lambda x: (x @ x.T) / (x @ x.T).sum(-1, keepdim=True)),
            "You divided each row by its sum without exp. Negative scores become negative shares, and a row that sums"
            " to nearly zero explodes.",
        ),
        "weights-transposed": Wrong(
            lambda x: (F.softmax(x @ x.T, dim=-1).T @ x, F.softmax(x @ x.T, dim=-1)),
            "The weights are right and then used the wrong way round: each output collects by a column, that is, by"
            " how much others look at a token. A token's context vector is mixed with its own row.",
        ),
        "cosine": Wrong(
            _with_weights(lambda x: F.softmax(F.normalize(x, dim=-1) @ F.normalize(x, dim=-1).T, dim=-1)),
            "Your scores are cosines: the lengths were divided out. Simple attention scores with plain dot products,"
            " in which a longer vector counts for more.",
        ),
        "scaled-already": Wrong(
            _with_weights(lambda x: F.softmax(x @ x.T / x.shape[-1] ** 0.5, dim=-1)),
            "You divide the scores by the root of the width. That belongs to the next lesson, where there is a reason"
            " for it; simple attention uses the plain dot products.",
        ),
        "scores-beside": Wrong(
            lambda x: (_attend(x)[0], x @ x.T),
            "The context vectors are right, and beside them stand the scores. What is asked for is what mixed them: the"
            " weights, after the softmax.",
        ),
        "axes-of-one-lost": Wrong(
            lambda x: tuple(part.squeeze() for part in _attend(x)),
            "A sentence of one word, or vectors of one number, lose an axis: squeeze() drops every axis of size 1. Name"
            " the axis that is to go.",
        ),
        "whole-table": Wrong(
            _with_weights(lambda x: F.softmax((x @ x.T).flatten(), dim=0).view(len(x), len(x))),
            "All weights of the table together sum to one. Each row has its own unit to share out, one per token that"
            " asks.",
        ),
    },
    hints=Hints(
        "You did it for one query: scores, then weights, then a weighted sum. Which of the three steps changes when"
        " every token asks?",
        "All scores at once are one product of inputs with its own transpose. Row i holds what token i asked.",
        "scores: inputs @ its transpose. weights: softmax along the last axis. context vectors: weights @ inputs."
        " Return both, context vectors first.",
    ),
)
