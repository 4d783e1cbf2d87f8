"""Define the transfer exercise of lesson 04: attention with a mask that depends on a number n."""

import torch
from torch.nn import functional as F

from utils.checks._attention import attention_values, causal_mask, mask_scores, torch_attention
from utils.checks._wrong_answers import with_steps
from utils.exercises.exercise import Float, Wrong, case
from utils.feedback.properties import batch_independent
from utils.feedback.transfer_families import LessonTask, member, transfer_family


def _steps_back(size):
    """Return a table [size, size]. Entry [i, j] is i - j, so it is negative for later columns."""
    return torch.arange(size)[:, None] - torch.arange(size)


def _window(size, n):
    back = _steps_back(size)
    return (back >= 0) & (back < n)


def _prefix(size, n):
    return causal_mask(size) | (torch.arange(size) < n)


def _blocks(size, n):
    block = torch.arange(size) // n
    return causal_mask(size) & (block[:, None] == block)


def _stride(size, n):
    back = _steps_back(size)
    return (back >= 0) & (back % n == 0)


@with_steps
def _look(
    q,
    k,
    v,
    n,
    *,
    make_mask,
    scale=lambda width: width**-0.5,
    hide=mask_scores,
    normalise=lambda scores: F.softmax(scores, -1),
    keep=lambda weights, mask: weights,
):
    """Compute attention [batch, seq, d_v] with the mask `make_mask(seq, n)`, in which True means visible."""
    mask = make_mask(q.shape[-2], n)
    weights = keep(normalise(hide(q @ k.mT * scale(k.shape[-1]), mask)), mask)
    return weights @ v


def _wrong(make_mask, message):
    """Declare a misconception that uses another mask."""
    return Wrong(_look.replace(make_mask=make_mask), message)


def _mistakes(make_mask, **more):
    """Return the mistakes common to all tasks, and those in `more`."""
    look = _look.replace(make_mask=make_mask)
    return {
        **more,
        "mirror-image": _wrong(
            lambda size, n: make_mask(size, n).T,
            "Your mask is transposed: you swapped rows and columns. A row belongs to the position that asks, and a"
            " column to the position that answers.",
        ),
        "true-means-hidden": Wrong(
            look.replace(hide=lambda scores, mask: mask_scores(scores, ~mask)),
            "Your mask is inverted: each position sees only the positions that should be hidden. Exchange True and"
            " False.",
        ),
        "mask-after-softmax": Wrong(
            look.replace(hide=lambda scores, mask: scores, keep=lambda weights, mask: weights * mask),
            "You hide the weights after the softmax, so the rows no longer sum to one. Hide the scores before the"
            " softmax.",
        ),
        "hidden-with-zero": Wrong(
            look.replace(hide=lambda scores, mask: mask_scores(scores, mask, 0.0)),
            "You set hidden scores to 0, and exp(0) is 1, so hidden positions still get weight. Only a score of minus"
            " infinity gets weight 0.",
        ),
        "not-scaled": Wrong(
            look.replace(scale=lambda width: 1.0),
            "You did not divide the scores by the square root of d. The task asks for this division.",
        ),
        "wrong-axis": Wrong(
            look.replace(normalise=lambda scores: F.softmax(scores, -2).nan_to_num(0.0)),
            "The weights of each key sum to one over the queries. The weights of each query should sum to one.",
        ),
    }


def _member(task, clause, make_mask, **misconceptions):
    def values(q, k, v, n):
        return attention_values(q, k, v, make_mask(q.shape[-2], n))

    return member(
        task,
        clause=clause,
        oracle=lambda q, k, v, n: torch_attention(q, k, v, make_mask(q.shape[-2], n)),
        milestones=values,
        misconceptions=_mistakes(make_mask, **misconceptions),
    )


transfer_family(
    "look_back",
    lesson=LessonTask(
        "each position sees itself and all earlier positions",
        _look.replace(make_mask=lambda size, n: causal_mask(size)),
    ),
    large_scores=(0, 1),
    unswept={"zero counts": "the tasks say that n is at least 1"},
    cases=lambda rand: [
        case(rand(batch, seq, d), rand(batch, seq, d), rand(batch, seq, d_v), n)
        for batch, seq, d, d_v, n in (
            (2, 5, 4, 3, 2),
            (3, 7, 2, 5, 3),
            (1, 8, 3, 2, 4),
            (2, 6, 5, 4, 2),
            (2, 4, 3, 2, 1),
        )
    ],
    returns=Float("batch seq d_v"),
    properties=[batch_independent()],
    members={
        "window": _member(
            """
            Write attention with a sliding window. `q` and `k` have the shape `[batch, seq, d]`, and `v` has the shape
            `[batch, seq, d_v]`. `n` is at least 1, and it may be larger than `seq`.

            Each position sees `n` positions: itself and the `n - 1` positions directly before it. Near the start of
            the text it sees fewer, because there are no earlier positions. It sees no later position. For `n` = 2,
            position 4 sees the positions 3 and 4.

            Divide the scores by the square root of `d`, hide what a position does not see, and apply the softmax.
            Return only the context vectors, in the shape `[batch, seq, d_v]`.
            """,
            "a position sees itself and the `n - 1` positions before it",
            _window,
            **{
                "one-too-many": _wrong(
                    lambda size, n: _window(size, n + 1),
                    "Your window contains n earlier positions and the position itself. It should contain n positions in"
                    " all.",
                ),
                "window-ahead-too": _wrong(
                    lambda size, n: _steps_back(size).abs() < n,
                    "Your window also contains later positions. A position should see only itself and earlier"
                    " positions.",
                ),
                "hides-the-window": _wrong(
                    lambda size, n: causal_mask(size) & ((_steps_back(size) >= n) | (_steps_back(size) == 0)),
                    "You hide the positions inside the window and show the positions outside it. A position should"
                    " see the positions inside its window.",
                ),
            },
        ),
        "prefix": _member(
            """
            Write attention with a prefix. `q` and `k` have the shape `[batch, seq, d]`, and `v` has the shape
            `[batch, seq, d_v]`. `n` is at least 1, and it may be larger than `seq`.

            The first `n` positions of a text are its prefix, such as a question. Every position sees the whole prefix,
            even the positions inside the prefix. Apart from that, each position sees itself and all earlier
            positions. For `n` = 2, position 0 sees the positions 0 and 1, and position 4 sees the positions 0 to 4.

            Divide the scores by the square root of `d`, hide what a position does not see, and apply the softmax.
            Return only the context vectors, in the shape `[batch, seq, d_v]`.
            """,
            "every position sees the first `n` positions, and also itself and all earlier positions",
            _prefix,
            **{
                "one-too-many": _wrong(
                    lambda size, n: _prefix(size, n + 1),
                    "Your prefix has one position too many. It consists of the positions 0 to n - 1.",
                ),
                "only-the-prefix": _wrong(
                    lambda size, n: (torch.arange(size) < n).expand(size, size),
                    "Every position sees only the prefix. It should also see itself and all earlier positions.",
                ),
                "prefix-only-inside": _wrong(
                    lambda size, n: causal_mask(size) | (torch.arange(size) < n)[:, None],
                    "In your mask, the rows of the prefix see everything. Instead, every row should see the columns of"
                    " the prefix.",
                ),
            },
        ),
        "blocks": _member(
            """
            Write attention inside blocks. `q` and `k` have the shape `[batch, seq, d]`, and `v` has the shape
            `[batch, seq, d_v]`. `n` is at least 1, and it may be larger than `seq`.

            A text is cut into blocks of `n` positions: the first block is the positions 0 to `n - 1`, and the last
            block may be shorter. Each position sees itself and the earlier positions of its own block, and no position
            of another block. For `n` = 2, position 4 sees only itself, and position 5 sees the positions 4 and 5.

            Divide the scores by the square root of `d`, hide what a position does not see, and apply the softmax.
            Return only the context vectors, in the shape `[batch, seq, d_v]`.
            """,
            "a position sees itself and the earlier positions of its own block of `n`",
            _blocks,
            **{
                "whole-block": _wrong(
                    lambda size, n: (torch.arange(size) // n)[:, None] == torch.arange(size) // n,
                    "Each position sees its whole block, including later positions. It should see only itself and"
                    " earlier positions.",
                ),
                "n-blocks": _wrong(
                    lambda size, n: (
                        causal_mask(size)
                        & ((torch.arange(size) * n // size)[:, None] == torch.arange(size) * n // size)
                    ),
                    "You cut the text into n blocks. Cut it into blocks of n positions instead.",
                ),
                "earlier-blocks-too": _wrong(
                    lambda size, n: (
                        ((torch.arange(size) // n)[:, None] > torch.arange(size) // n)
                        | torch.eye(size, dtype=torch.bool)
                    ),
                    "Each position sees the earlier blocks instead of the earlier positions of its own block.",
                ),
            },
        ),
        "stride": _member(
            """
            Write attention in strides. `q` and `k` have the shape `[batch, seq, d]`, and `v` has the shape
            `[batch, seq, d_v]`. `n` is at least 1, and it may be larger than `seq`.

            Each position sees itself and every `n`-th position before it: the positions that lie `n`, `2 * n`,
            `3 * n` and so on steps back, as far as the text goes. It sees no later position. For `n` = 2, position 4
            sees the positions 0, 2 and 4, and position 5 sees the positions 1, 3 and 5.

            Divide the scores by the square root of `d`, hide what a position does not see, and apply the softmax.
            Return only the context vectors, in the shape `[batch, seq, d_v]`.
            """,
            "a position sees itself and every `n`-th position before it",
            _stride,
            **{
                "same-positions-for-all": _wrong(
                    lambda size, n: (
                        (causal_mask(size) & (torch.arange(size) % n == 0)) | torch.eye(size, dtype=torch.bool)
                    ),
                    "All positions see the same earlier positions: 0, n, 2n and so on. Count the steps back from the"
                    " position that asks.",
                ),
                "stride-ahead-too": _wrong(
                    lambda size, n: _steps_back(size) % n == 0,
                    "Your strides also lead to later positions. A position should see only itself and earlier"
                    " positions.",
                ),
                "only-one-stride": _wrong(
                    lambda size, n: (_steps_back(size) == 0) | (_steps_back(size) == n),
                    "Each position sees only one earlier position, n steps back. It should also see the positions"
                    " that lie 2n, 3n and so on steps back.",
                ),
            },
        ),
    },
)
