"""Define the transfer exercise of lesson 03: attention with given matrices, with one changed convention."""

import math

import torch
from torch.nn import functional as F

from utils.checks._attention import softmax_values, torch_attention
from utils.checks._wrong_answers import with_steps
from utils.exercises.exercise import Float, Wrong, case
from utils.feedback.transfer_families import LessonTask, member, transfer_family

CAP = 2.0


def _scaled(q, k):
    return torch.einsum("...id,...jd->...ij", q, k) / k.shape[-1] ** 0.5


def _capped(q, k):
    return CAP * torch.tanh(_scaled(q, k) / CAP)


def _log_length(q, k):
    return _scaled(q, k) * math.log(k.shape[-2])


def _squared_distances(q, k):
    return (q.unsqueeze(-2) - k.unsqueeze(-3)).square().sum(-1)


def _distances(q, k):
    return -_squared_distances(q, k) / (2 * k.shape[-1] ** 0.5)


@with_steps
def _mix(
    x,
    W_query,
    W_key,
    W_value,
    *,
    score=_scaled,
    order=(0, 1, 2),
    normalise=lambda scores: F.softmax(scores, -1),
    mix=lambda weights, v, x: weights @ v,
):
    """Compute attention in texts [batch, seq, d_in] with matrices [d_in, d_out]."""
    projections = x @ W_query, x @ W_key, x @ W_value
    q, k, v = (projections[i] for i in order)
    return mix(normalise(score(q, k)), v, x)


def _seq_first(answer):
    """Turn an answer for inputs [batch, seq, d] into an answer for inputs [seq, batch, d]."""
    return lambda x, *matrices: answer(x.transpose(0, 1), *matrices).transpose(0, 1)


def _oracle(score):
    """Return an oracle that computes the scores with `score(q, k)`. It uses torch's softmax and einsum."""

    def answer(x, W_query, W_key, W_value):
        q, k, v = (torch.einsum("bsi,io->bso", x, matrix) for matrix in (W_query, W_key, W_value))
        return torch.einsum("bij,bjd->bid", torch.softmax(score(q, k), dim=2), v)

    return answer


def _milestones(score, turn=lambda x: x, earlier=lambda q, k: {}):
    """Return the milestones.

    Args:
        score: computes the final scores from queries and keys.
        turn: converts x to [batch, seq, d_in].
        earlier: computes the milestones between the values and the final scores from queries and keys.
    """

    def values(x, W_query, W_key, W_value):
        q, k, v = (turn(x) @ matrix for matrix in (W_query, W_key, W_value))
        before, scores = earlier(q, k), score(q, k)
        final = "the capped scores" if before else "the scores"
        steps = {"the queries": q, "the keys": k, "the values": v, **before, final: scores, **softmax_values(scores)}
        return {**steps, "the context vectors": turn(scores.softmax(-1) @ v)}

    return values


def _mistakes(score, wrap=lambda answer: answer, **more):
    """Return the mistakes common to all tasks, and those in `more`."""
    mix = _mix.replace(score=score)
    common = {
        "wrong-axis": Wrong(
            wrap(mix.replace(normalise=lambda scores: F.softmax(scores, -2))),
            "The weights of each key sum to one over the queries. The weights of each query should sum to one over the"
            " keys of the same text.",
        ),
        "query-and-key-swapped": Wrong(
            wrap(mix.replace(order=(1, 0, 2))),
            "You swapped queries and keys. Row i should hold the scores of the query at position i with all keys.",
        ),
        "keys-as-values": Wrong(
            wrap(mix.replace(order=(0, 1, 1))),
            "You mix the keys instead of the values. Use the keys only for the scores.",
        ),
    }
    return {**common, **more}


transfer_family(
    "mix_values",
    lesson=LessonTask("the first axis is the text and the scores are divided by the square root of `d_out`", _mix),
    large_scores=(0, 1),
    cases=lambda rand: [
        case(rand(*shape), *(rand(shape[-1], d_out) for _ in range(3)))
        for shape, d_out in (((2, 3, 4), 5), ((3, 2, 5), 3), ((4, 5, 2), 2), ((2, 6, 3), 4))
    ],
    members={
        "seq-first": member(
            """
            Write self-attention with given matrices for several texts of equal length. `x` has the shape
            `[seq, batch, d_in]`: `x[i, b]` is the vector of token `i` in text `b`. The matrices `W_query`, `W_key` and
            `W_value` have the shape `[d_in, d_out]`, and `x @ W_query` gives the queries.

            Each token attends to all tokens of its own text, without a mask. Divide the scores by the square root of
            `d_out`, as in this lesson. The softmax turns the scores of each query into weights, which mix the values.

            Return only the context vectors, in the shape `[seq, batch, d_out]`.
            """,
            clause="the first axis is the position in the text and the second axis is the text",
            oracle=lambda x, W_query, W_key, W_value: torch_attention(
                *((x @ matrix).transpose(0, 1) for matrix in (W_query, W_key, W_value))
            ).transpose(0, 1),
            returns=Float("seq batch d_out"),
            milestones=_milestones(_scaled, lambda x: x.transpose(0, 1)),
            misconceptions=_mistakes(
                _scaled,
                _seq_first,
                **{
                    "batch-first-result": Wrong(
                        lambda x, *matrices: _mix(x.transpose(0, 1), *matrices),
                        "The context vectors are right, but their axes are in the order [batch, seq, d_out]. Return"
                        " them in the order of the input, [seq, batch, d_out].",
                    ),
                    "not-scaled": Wrong(
                        _seq_first(_mix.replace(score=lambda q, k: q @ k.mT)),
                        "You did not divide the scores by the square root of d_out. The task asks for this division.",
                    ),
                },
            ),
        ),
        "soft-cap": member(
            """
            Write self-attention with given matrices for several texts of equal length. `x` has the shape
            `[batch, seq, d_in]`. The matrices `W_query`, `W_key` and `W_value` have the shape `[d_in, d_out]`, and
            `x @ W_query` gives the queries.

            Each token attends to all tokens of its own text, without a mask. Divide the scores by the square root of
            `d_out`, as in this lesson. Then cap them: replace each divided score `s` by `2 * tanh(s / 2)`, which lies
            between -2 and 2. The softmax turns the capped scores of each query into weights, which mix the values.

            Return only the context vectors, in the shape `[batch, seq, d_out]`.
            """,
            clause="the divided scores are capped with `2 * tanh(s / 2)`",
            oracle=_oracle(_capped),
            returns=Float("batch seq d_out"),
            milestones=_milestones(_capped, earlier=lambda q, k: {"the divided scores": _scaled(q, k)}),
            misconceptions=_mistakes(
                _capped,
                **{
                    "capped-before-division": Wrong(
                        _mix.replace(score=lambda q, k: CAP * torch.tanh(q @ k.mT / CAP) / k.shape[-1] ** 0.5),
                        "You capped the scores first and divided them afterwards. Divide by the square root of d_out"
                        " first, and cap the result.",
                    ),
                    "cap-not-scaled-back": Wrong(
                        _mix.replace(score=lambda q, k: torch.tanh(_scaled(q, k) / CAP)),
                        "Your capped scores lie between -1 and 1. Multiply the tanh by 2, so that small scores stay"
                        " nearly the same.",
                    ),
                    "clamped": _mix.replace(score=lambda q, k: _scaled(q, k).clamp(-CAP, CAP)).wrong(
                        "You cut off scores below -2 and above 2. 2 * tanh(s / 2) also changes the scores in between."
                    ),
                    "cap-of-1": Wrong(
                        _mix.replace(score=lambda q, k: CAP * torch.tanh(_scaled(q, k))),
                        "You did not divide by 2 inside the tanh, so small scores are doubled. The cap should hardly"
                        " change small scores.",
                    ),
                },
            ),
        ),
        "log-length": member(
            """
            Write self-attention with given matrices for several texts of equal length. `x` has the shape
            `[batch, seq, d_in]`. The matrices `W_query`, `W_key` and `W_value` have the shape `[d_in, d_out]`, and
            `x @ W_query` gives the queries.

            Each token attends to all tokens of its own text, without a mask. Divide the scores by the square root of
            `d_out`, as in this lesson. Then multiply them by the natural logarithm of the number of tokens in a text,
            `seq`. The softmax turns the scores of each query into weights, which mix the values.

            Return only the context vectors, in the shape `[batch, seq, d_out]`.
            """,
            clause="the divided scores are multiplied by the logarithm of the number of tokens",
            oracle=_oracle(_log_length),
            returns=Float("batch seq d_out"),
            milestones=_milestones(_log_length),
            misconceptions=_mistakes(
                _log_length,
                **{
                    "log-of-the-width": Wrong(
                        _mix.replace(score=lambda q, k: _scaled(q, k) * math.log(max(2, k.shape[-1]))),
                        "You used the logarithm of the width d_out. The factor is the logarithm of the number of tokens"
                        " in a text.",
                    ),
                    "other-base": Wrong(
                        _mix.replace(score=lambda q, k: _scaled(q, k) * math.log2(k.shape[-2])),
                        "You used the logarithm with base 2. The task asks for the natural logarithm, with base e.",
                    ),
                    "divided-by-the-log": Wrong(
                        _mix.replace(score=lambda q, k: _scaled(q, k) / math.log(k.shape[-2])),
                        "You divided by the logarithm of the number of tokens. Multiply by it: in a longer text, the"
                        " weights should be sharper.",
                    ),
                },
            ),
        ),
        "distances": member(
            """
            Write self-attention with given matrices for several texts of equal length. `x` has the shape
            `[batch, seq, d_in]`. The matrices `W_query`, `W_key` and `W_value` have the shape `[d_in, d_out]`, and
            `x @ W_query` gives the queries.

            Each token attends to all tokens of its own text, without a mask. The score of a query and a key is not
            their dot product, but minus half of their squared distance. Divide the scores by the square root of
            `d_out`, as in this lesson. The softmax turns the scores of each query into weights, which mix the values.

            Return only the context vectors, in the shape `[batch, seq, d_out]`.
            """,
            clause="the score of a query and a key is minus half of their squared distance",
            oracle=_oracle(lambda q, k: torch.cdist(q, k).square().mul(-0.5 / k.shape[-1] ** 0.5)),
            returns=Float("batch seq d_out"),
            milestones=_milestones(_distances),
            misconceptions=_mistakes(
                _distances,
                **{
                    "whole-distance": Wrong(
                        _mix.replace(score=lambda q, k: 2 * _distances(q, k)),
                        "You used the whole squared distance. The score is minus half of it.",
                    ),
                    "far-is-high": Wrong(
                        _mix.replace(score=lambda q, k: -_distances(q, k)),
                        "Your scores grow with the distance, so a query attends most to the key that differs most."
                        " Change the sign.",
                    ),
                    "not-squared": Wrong(
                        _mix.replace(score=lambda q, k: -torch.cdist(q, k) / (2 * k.shape[-1] ** 0.5)),
                        "You used the distances themselves. Use the squared distances: do not take the root.",
                    ),
                    "not-scaled": Wrong(
                        _mix.replace(score=lambda q, k: -_squared_distances(q, k) / 2),
                        "You did not divide the scores by the square root of d_out. The task asks for this division.",
                    ),
                },
            ),
        ),
    },
)
