"""Define the transfer exercise of lesson 05: many heads with a mask, with one changed convention."""

import torch
from torch.nn import functional as F

from utils.checks._attention import mask_scores, softmax_values
from utils.checks._wrong_answers import with_steps
from utils.exercises.exercise import Float, Wrong, case
from utils.feedback.properties import batch_independent
from utils.feedback.transfer_families import LessonTask, member, transfer_family


def _split(x, n):
    """Give neighbouring entries to the same head: [batch, seq, d] -> [batch, n, seq, d_head]."""
    return x.unflatten(-1, (n, -1)).transpose(-3, -2)


def _merge(x):
    """Put the heads side by side: [batch, n, seq, d_head] -> [batch, seq, d]."""
    return x.transpose(-3, -2).flatten(-2)


def _first_head(x):
    """Keep only the first head, [batch, 1, seq, d_head], so that all heads use its keys."""
    return x[:, :1]


@with_steps
def _attend(
    q,
    k,
    v,
    n_heads,
    mask,
    *,
    split=_split,
    merge=_merge,
    change_keys=lambda k: k,
    change_values=lambda v: v,
    change_mask=lambda mask: mask,
    hide=mask_scores,
    width=lambda d_head, d: d_head,
    normalise=lambda scores: F.softmax(scores, -1),
    change_weights=lambda weights: weights,
):
    """Compute attention in heads, with a mask [seq, seq] in which True means visible."""
    q, k, v = (split(part, n_heads) for part in (q, k, v))
    scores = q @ change_keys(k).mT / width(k.shape[-1], n_heads * k.shape[-1]) ** 0.5
    return merge(change_weights(normalise(hide(scores, change_mask(mask)))) @ change_values(v))


def _oracle(
    join=lambda results: torch.cat(list(results), dim=-1),
    change_mask=lambda mask: mask,
    change_weights=lambda all_weights: all_weights,
    keys_of=lambda head: head,
):
    """Return an oracle that computes one head after the other.

    Args:
        join: function of the results of all heads [n_heads, batch, seq, d_head].
        change_mask: function of the mask.
        change_weights: function of the weights of all heads [n_heads, batch, seq, seq].
        keys_of: function that maps each head to the head whose keys it uses.
    """

    def answer(q, k, v, n_heads, mask):
        parts_q, parts_k, parts_v = (part.chunk(n_heads, dim=-1) for part in (q, k, v))
        visible = change_mask(mask)
        identity = torch.eye(k.shape[1], dtype=q.dtype).expand(len(q), -1, -1)
        weights = [
            F.scaled_dot_product_attention(parts_q[head], parts_k[keys_of(head)], identity, attn_mask=visible)
            for head in range(n_heads)
        ]
        return join(torch.stack([w.bmm(part) for w, part in zip(change_weights(torch.stack(weights)), parts_v)]))

    return answer


def _milestones(change_keys=lambda k: k, change_mask=lambda mask: mask, change_weights=None):
    """Return the milestones of a task that changes the keys, the mask or the weights."""

    def values(q, k, v, n_heads, mask):
        q, k, v = (_split(part, n_heads) for part in (q, k, v))
        scores = q @ change_keys(k).mT
        scaled = scores / k.shape[-1] ** 0.5
        masked = mask_scores(scaled, change_mask(mask))
        steps = {"the queries of the heads": q, "the keys of the heads": k, "the values of the heads": v}
        steps |= {"the scores": scores, "the scaled scores": scaled, "the masked scores": masked}
        steps |= softmax_values(masked)
        weights = masked.softmax(-1)
        if change_weights is not None:
            weights = change_weights(weights)
            steps["the mean of the weights of all heads"] = weights
        return {**steps, "the results of the heads": weights @ v}

    return values


def _average(weights):
    """Give each head the mean of the weights of all heads, [batch, n_heads, seq, seq]."""
    return weights.mean(-3, keepdim=True).expand_as(weights)


def _sum_heads(x):
    return x.sum(-3)


def _view(x, n):
    """Give each head whole positions, as a single view does."""
    return x.reshape(x.shape[0], n, x.shape[1], -1)


def _plain_views(right):
    """Return the mistake of a single view before attention and another view after it."""
    return right.replace(split=_view, merge=lambda x: x.reshape(x.shape[0], x.shape[-2], -1)).wrong(
        "Each of your heads consists of whole positions, because you only changed the shape, before attention and after"
        " it. Split the last axis and move the axes; afterwards, move them back and join the heads."
    )


def _mistakes(right, **more):
    """Return the mistakes common to all tasks, and those in `more`. `right` is the answer with replaceable steps."""
    return {
        **more,
        "one-head": Wrong(
            lambda q, k, v, n_heads, mask: right(q, k, v, 1, mask),
            "You compute one head with all entries. Split the entries of each position into n_heads heads, and give"
            " each head its own weights.",
        ),
        "scaled-by-d": right.replace(width=lambda d_head, d: d).wrong(
            "You divide by the square root of d, the number of entries of all heads together. A head's score is a sum"
            " over its own entries only, so divide by the square root of their number."
        ),
        "plain-view": right.replace(split=_view).wrong(
            "Each of your heads consists of whole positions, because you changed the shape in one step. Split the"
            " last axis first, then move the axes."
        ),
        "mask-ignored": right.replace(hide=lambda scores, mask: scores).wrong(
            "You do not use the mask, so every position sees all positions."
        ),
        "hidden-with-zero": right.replace(hide=lambda scores, mask: mask_scores(scores, mask, 0.0)).wrong(
            "You set hidden scores to 0, and exp(0) is 1, so hidden positions still get weight. Only a score of minus"
            " infinity gets weight 0."
        ),
        "wrong-axis": right.replace(normalise=lambda scores: F.softmax(scores, -2).nan_to_num(0.0)).wrong(
            "The weights of each key sum to one over the queries. The weights of each query should sum to one."
        ),
    }


_averaged = _attend.replace(change_weights=_average)
_true_hides = _attend.replace(change_mask=lambda mask: ~mask)
_shared_keys = _attend.replace(change_keys=_first_head)
_summed = _attend.replace(merge=_sum_heads)


def _cases(rand, diagonal=True):
    """Return cases. Each row of a mask contains True and False; the diagonal has the value `diagonal`."""
    cases = []
    for batch, seq, n_heads, d_head in ((2, 4, 2, 3), (1, 5, 3, 2), (3, 3, 2, 2), (2, 6, 4, 2)):
        d, place = n_heads * d_head, torch.arange(seq)
        mask = (rand.mask(seq, seq) & ((place[:, None] + 1) % seq != place)) == diagonal
        cases.append(case(rand(batch, seq, d), rand(batch, seq, d), rand(batch, seq, d), n_heads, mask))
    return cases


transfer_family(
    "attend_in_heads",
    lesson=LessonTask(
        "neighbouring entries form a head, True means visible, and the heads are put side by side", _attend
    ),
    large_scores=(0, 1),
    cases=_cases,
    properties=[batch_independent()],
    members={
        "true-hides": member(
            """
            Write attention with many heads. `q`, `k` and `v` have the shape `[batch, seq, d]`, and `d` is divisible by
            `n_heads`. Neighbouring entries belong to the same head, as in this lesson, and the results of the heads
            are put side by side in the end. There is no output layer and no dropout.

            `mask` is a bool tensor `[seq, seq]`, and it holds for all texts and heads. A row is the position that asks.
            Where `mask` is True, the position of the column is hidden; where it is False, it is visible. No row hides
            every position.

            Divide the scores of a head by the square root of the number of its entries, then hide, then apply the
            softmax. Return only the context vectors, in the shape `[batch, seq, d]`.
            """,
            clause="the mask hides a position where it is True",
            cases=lambda rand: _cases(rand, diagonal=False),
            oracle=_oracle(change_mask=lambda mask: mask.logical_not()),
            returns=Float("batch seq d"),
            milestones=_milestones(change_mask=lambda mask: ~mask),
            misconceptions=_mistakes(
                _true_hides,
                **{
                    "plain-views": _plain_views(_true_hides),
                    "mask-transposed": _true_hides.replace(change_mask=lambda mask: ~mask.T).wrong(
                        "You swapped the rows and the columns of the mask. A row belongs to the position that asks."
                    ),
                },
            ),
        ),
        "shared-keys": member(
            """
            Write attention with many heads that share their keys. `q`, `k` and `v` have the shape `[batch, seq, d]`,
            and `d` is divisible by `n_heads`. Neighbouring entries belong to the same head, as in this lesson. Each
            head uses its own queries and its own values, but every head uses the keys of head 0. The results of the
            heads are put side by side. There is no output layer and no dropout.

            `mask` is a bool tensor `[seq, seq]`, and it holds for all texts and heads. A row is the position that asks.
            Where `mask` is True, the position of the column is visible, as in this lesson. Each row sees at least one
            position.

            Divide the scores of a head by the square root of the number of its entries, then hide, then apply the
            softmax. Return only the context vectors, in the shape `[batch, seq, d]`.
            """,
            clause="every head uses the keys of head 0",
            oracle=_oracle(keys_of=lambda head: 0),
            returns=Float("batch seq d"),
            milestones=_milestones(change_keys=_first_head),
            misconceptions=_mistakes(
                _shared_keys,
                **{
                    "plain-views": _plain_views(_shared_keys),
                    "keys-of-the-last-head": _attend.replace(change_keys=lambda k: k[:, -1:]).wrong(
                        "Every head uses the keys of the last head. The task asks for the keys of head 0."
                    ),
                    "mean-of-the-keys": _attend.replace(change_keys=lambda k: k.mean(1, keepdim=True)).wrong(
                        "Every head uses the mean of the keys of all heads. The task asks for the keys of head 0."
                    ),
                    "values-shared-too": _shared_keys.replace(
                        change_values=lambda v: _first_head(v).expand_as(v)
                    ).wrong("Every head mixes the values of head 0. Only the keys are shared; the values are not."),
                    "true-means-hidden": _shared_keys.replace(change_mask=lambda mask: ~mask).wrong(
                        "Your mask is inverted: in this task, True means visible."
                    ),
                },
            ),
        ),
        "averaged-weights": member(
            """
            Write attention with many heads that agree. `q`, `k` and `v` have the shape `[batch, seq, d]`, and `d` is
            divisible by `n_heads`. Neighbouring entries belong to the same head, as in this lesson. Each head computes
            its weights from its own queries and keys. Then each head mixes its own values with the mean of the weights
            of all heads. The results of the heads are put side by side. There is no output layer and no dropout.

            `mask` is a bool tensor `[seq, seq]`, and it holds for all texts and heads. A row is the position that asks.
            Where `mask` is True, the position of the column is visible, as in this lesson. Each row sees at least one
            position.

            Divide the scores of a head by the square root of the number of its entries, then hide, then apply the
            softmax. Return only the context vectors, in the shape `[batch, seq, d]`.
            """,
            clause="every head mixes its values with the mean of the weights of all heads",
            oracle=_oracle(change_weights=lambda w: w.mean(0).repeat(len(w), 1, 1, 1)),
            returns=Float("batch seq d"),
            milestones=_milestones(change_weights=_average),
            misconceptions=_mistakes(
                _averaged,
                **{
                    "plain-views": _plain_views(_averaged),
                    "averages-scores": _attend.replace(normalise=lambda scores: F.softmax(_average(scores), -1)).wrong(
                        "You took the mean of the scores and applied the softmax to it. Apply the softmax in each head"
                        " first, then take the mean of the weights."
                    ),
                    "sums-weights": _attend.replace(
                        change_weights=lambda w: w.sum(-3, keepdim=True).expand_as(w)
                    ).wrong("You added the weights of the heads, so they sum to n_heads. Take their mean."),
                    "averages-results": _attend.replace(
                        merge=lambda x: _merge(x.mean(-3, keepdim=True).expand_as(x))
                    ).wrong(
                        "You took the mean of the results of the heads. Take the mean of the weights, so that each head"
                        " still mixes its own values."
                    ),
                    "true-means-hidden": _averaged.replace(change_mask=lambda mask: ~mask).wrong(
                        "Your mask is inverted: in this task, True means visible."
                    ),
                },
            ),
        ),
        "summed": member(
            """
            Write attention with many heads whose results are added. `q`, `k` and `v` have the shape `[batch, seq, d]`,
            and `d` is divisible by `n_heads`. Neighbouring entries belong to the same head, as in this lesson, so each
            head has `d // n_heads` entries. In the end, the results of the heads are not put side by side, but added
            number by number. There is no output layer and no dropout.

            `mask` is a bool tensor `[seq, seq]`, and it holds for all texts and heads. A row is the position that asks.
            Where `mask` is True, the position of the column is visible, as in this lesson. Each row sees at least one
            position.

            Divide the scores of a head by the square root of the number of its entries, then hide, then apply the
            softmax. Return only the sum, in the shape `[batch, seq, d_head]`, where `d_head` is `d // n_heads`.
            """,
            clause="the results of the heads are added instead of put side by side",
            oracle=_oracle(join=lambda results: results.sum(0)),
            returns=Float("batch seq d_head"),
            milestones=_milestones(),
            misconceptions=_mistakes(
                _summed,
                **{
                    "averaged": _attend.replace(merge=lambda x: x.mean(-3)).wrong(
                        "You took the mean of the results of the heads. The task asks for their sum."
                    ),
                    "summed-entries": _attend.replace(merge=lambda x: x.sum(-1).transpose(-1, -2)).wrong(
                        "You added the entries inside each head, so there is one number for each head. Add the results"
                        " of the heads, entry by entry."
                    ),
                    "true-means-hidden": _summed.replace(change_mask=lambda mask: ~mask).wrong(
                        "Your mask is inverted: in this task, True means visible."
                    ),
                },
            ),
        ),
    },
)
