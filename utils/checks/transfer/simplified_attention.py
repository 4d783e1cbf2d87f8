"""Define the transfer exercise of lesson 02: simple attention in several texts, with one changed convention."""

import torch
from torch.nn import functional as F

from utils.checks._attention import softmax_values
from utils.checks._wrong_answers import with_steps
from utils.exercises.exercise import Float, Wrong, case
from utils.feedback.transfer_families import LessonTask, member, transfer_family


@with_steps
def _mix(x, *, score=lambda x: x @ x.mT, normalise=lambda scores: F.softmax(scores, -1), vectors=lambda x: x):
    """Mix the vectors of each text [batch, seq, d] with the softmax of their scores."""
    return normalise(score(x)) @ vectors(x)


def _squared_distances(x):
    return torch.cdist(x, x).square()


def _centre(x):
    return x - x.mean(-2, keepdim=True)


def _seq_first(answer):
    """Turn an answer for inputs [batch, seq, d] into an answer for inputs [seq, batch, d]."""
    return lambda x: answer(x.transpose(0, 1)).transpose(0, 1)


def _milestones(score, turn=lambda x: x):
    """Return the milestones of a task. `score` computes the scores of texts [batch, seq, d]."""

    def values(x):
        texts = turn(x)
        scores = score(texts)
        mixed = turn(torch.einsum("bij,bjd->bid", scores.softmax(-1), texts))
        return {"the scores": scores, **softmax_values(scores), "the context vectors": mixed}

    return values


def _common_mistakes(score):
    """Return the mistakes that all tasks share. `score` computes the scores of texts [batch, seq, d]."""
    mix = _mix.replace(score=score)
    return {
        "wrong-axis": mix.replace(normalise=lambda scores: F.softmax(scores, -2)),
        "softmax-over-texts": mix.replace(normalise=lambda scores: F.softmax(scores, 0)),
        "not-normalised": mix.replace(normalise=lambda scores: scores),
    }


_MESSAGES = {
    "wrong-axis": "The weights of each key sum to one over the queries. The weights of each query should sum to one"
    " over the keys of the same text.",
    "softmax-over-texts": "Your softmax runs over the texts, so the weights of different texts sum to one. Each text is"
    " independent: the softmax should run over the keys of one text.",
    "not-normalised": "You used the scores themselves as weights. Turn the scores of each query into weights that sum"
    " to one before you mix.",
}


def _mistakes(score, wrap=lambda answer: answer, **more):
    common = {id: Wrong(wrap(answer), _MESSAGES[id]) for id, answer in _common_mistakes(score).items()}
    return {**common, **more}


def _dot(x):
    return torch.einsum("bid,bjd->bij", x, x)


def _centred(x):
    return _dot(_centre(x))


def _mean_product(x):
    return _dot(x) / x.shape[-1]


def _minus_distance(x):
    return -_squared_distances(x)


transfer_family(
    "mix_texts",
    lesson=LessonTask("the scores are plain dot products and the second-to-last axis is the position", _mix),
    large_scores=(0,),
    cases=lambda rand: [case(rand(*shape)) for shape in ((2, 3, 4), (3, 2, 5), (4, 5, 2), (2, 6, 3))],
    members={
        "seq-first": member(
            """
            Several texts of equal length pass through simple attention at once. `x` has the shape `[seq, batch, d]`:
            the first axis is the position in a text, and the second axis says which text it is. `x[i, b]` is the
            vector of token `i` in text `b`.

            Each token attends to all tokens of its own text, as in this lesson: scores are dot products, the softmax
            turns the scores of each query into weights, and the weights mix the vectors.

            Return only the context vectors, in the same shape `[seq, batch, d]`.
            """,
            clause="the first axis is the position in the text and the second axis is the text",
            oracle=_seq_first(lambda x: F.scaled_dot_product_attention(x, x, x, scale=1.0)),
            returns=Float("seq batch d"),
            milestones=_milestones(_dot, lambda x: x.transpose(0, 1)),
            misconceptions=_mistakes(
                _dot,
                _seq_first,
                **{
                    "batch-first-result": Wrong(
                        lambda x: _mix(x.transpose(0, 1)),
                        "The context vectors are right, but their axes are in the order [batch, seq, d]. Return them in"
                        " the order of the input, [seq, batch, d].",
                    )
                },
            ),
        ),
        "centred": member(
            """
            Several texts of equal length pass through attention at once. `x` has the shape `[batch, seq, d]`:
            `x[b, i]` is the vector of token `i` in text `b`.

            Each token attends to all tokens of its own text. The scores are dot products of centred vectors: from each
            vector, subtract the mean of all vectors of its text. The softmax turns the scores of each query into
            weights. The weights mix the original vectors, which are not centred.

            Return only the context vectors, in the same shape `[batch, seq, d]`.
            """,
            clause="the mean of the text is subtracted from each vector before the dot products are computed",
            oracle=lambda x: F.scaled_dot_product_attention(_centre(x), _centre(x), x, scale=1.0),
            returns=Float("batch seq d"),
            milestones=_milestones(_centred),
            misconceptions=_mistakes(
                _centred,
                **{
                    "mixes-centred-vectors": Wrong(
                        _mix.replace(score=_centred, vectors=_centre),
                        "You mixed the centred vectors. Use the centred vectors only for the scores; the weights should"
                        " mix the original vectors.",
                    ),
                    "mean-of-a-vector": Wrong(
                        _mix.replace(score=lambda x: _dot(x - x.mean(-1, keepdim=True))),
                        "From each vector, you subtracted the mean of its own numbers. Subtract the mean vector of the"
                        " text instead: for each of the d coordinates, it contains the mean over the tokens.",
                    ),
                },
            ),
        ),
        "mean-product": member(
            """
            Several texts of equal length pass through attention at once. `x` has the shape `[batch, seq, d]`:
            `x[b, i]` is the vector of token `i` in text `b`.

            Each token attends to all tokens of its own text. The score of two tokens is not the sum of the `d`
            products of their numbers, but the mean of these `d` products. The softmax turns the scores of each query
            into weights, and the weights mix the vectors.

            Return only the context vectors, in the same shape `[batch, seq, d]`.
            """,
            clause="the score of two tokens is the mean of the products of their numbers",
            oracle=lambda x: F.scaled_dot_product_attention(x, x, x, scale=1 / x.shape[-1]),
            returns=Float("batch seq d"),
            milestones=_milestones(_mean_product),
            misconceptions=_mistakes(
                _mean_product,
                **{
                    "mean-over-tokens": Wrong(
                        _mix.replace(score=lambda x: _dot(x) / x.shape[-2]),
                        "You divided by the number of tokens. The mean is taken over the d products of one pair of"
                        " tokens.",
                    ),
                    "root-of-d": Wrong(
                        _mix.replace(score=lambda x: _dot(x) / x.shape[-1] ** 0.5),
                        "You divided by the square root of d, as scaled attention does. The mean of d products is their"
                        " sum divided by d.",
                    ),
                },
            ),
        ),
        "distances": member(
            """
            Several texts of equal length pass through attention at once. `x` has the shape `[batch, seq, d]`:
            `x[b, i]` is the vector of token `i` in text `b`.

            Each token attends to all tokens of its own text. The score of two tokens is minus the squared distance of
            their vectors: subtract the vectors, square the `d` differences, add them up, and change the sign. The
            softmax turns the scores of each query into weights, and the weights mix the vectors.

            Return only the context vectors, in the same shape `[batch, seq, d]`.
            """,
            clause="the score of two tokens is minus the squared distance of their vectors",
            oracle=lambda x: torch.stack([(-_squared_distances(text)).softmax(1).mm(text) for text in x]),
            returns=Float("batch seq d"),
            milestones=_milestones(_minus_distance),
            misconceptions=_mistakes(
                _minus_distance,
                **{
                    "far-is-high": Wrong(
                        _mix.replace(score=_squared_distances),
                        "Your scores grow with the distance, so each token attends most to the token that differs most."
                        " Change the sign of the squared distances.",
                    ),
                    "not-squared": Wrong(
                        _mix.replace(score=lambda x: -torch.cdist(x, x)),
                        "Your scores are minus the distances. Use the squared distances: do not take the root.",
                    ),
                },
            ),
        ),
    },
)
