"""Define the transfer exercise of lesson 12: several new positions after a cache, with one changed rule."""

import torch
from torch.nn import functional as F

from utils.checks._attention import softmax_values
from utils.checks._wrong_answers import with_steps
from utils.exercises.exercise import Float, Wrong, case
from utils.feedback.properties import batch_independent
from utils.feedback.transfer_families import LessonTask, member, transfer_family


def _oldest_first(past, new):
    return torch.cat((past, new), dim=2)


def _newest_first(past, new):
    return torch.cat((new, past), dim=2)


def _distances(n_new, n_past):
    """Return the distance from each new position back to each key, [new, past + new]."""
    return torch.arange(n_past, n_past + n_new)[:, None] - torch.arange(n_past + n_new)


def _distances_newest_first(n_new, n_past):
    return torch.arange(n_new + n_past) - torch.arange(n_new)[:, None]


def _without_bias(scores, distances, d_head):
    return scores


def _penalty(scores, distances, d_head):
    return scores - distances / 2


def _softmax(scores):
    return F.softmax(scores, dim=-1)


def _softmax_with_unshifted_nothing(scores):
    """Shift the scores, but not the appended score of 0."""
    exponentials = (scores - scores.amax(-1, keepdim=True)).exp()
    return exponentials / (1 + exponentials.sum(-1, keepdim=True))


def _softmax_with_nothing(scores):
    """Append a score of 0, apply the softmax, then drop the weight of the appended score."""
    return F.softmax(F.pad(scores, (0, 1)), dim=-1)[..., :-1]


@with_steps
def _attend(
    q,
    k,
    v,
    past_k,
    past_v,
    *,
    join=_oldest_first,
    distances=_distances,
    sees=lambda distances: distances >= 0,
    bias=_without_bias,
    divisor=lambda d_head: d_head**0.5,
    normalise=_softmax,
):
    """Compute attention from the new positions to the cache and to each other."""
    keys, values = join(past_k, k), join(past_v, v)
    back = distances(q.shape[2], past_k.shape[2])
    scores = bias(q @ keys.mT / divisor(q.shape[3]), back, q.shape[3])
    return normalise(scores.masked_fill(~sees(back), -torch.inf)) @ values


_window = _attend.replace(sees=lambda distances: (distances >= 0) & (distances < 3))
_distance = _attend.replace(bias=_penalty)
_reversed = _attend.replace(join=_newest_first, distances=_distances_newest_first)
_nothing = _attend.replace(normalise=_softmax_with_nothing)


def _torch_attend(q, k, v, past_k, past_v, mask):
    """Compute attention with torch's own function. `mask(query, key)` is added to the score of these two positions."""
    keys, values = torch.cat((past_k, k), 2), torch.cat((past_v, v), 2)
    total = keys.shape[2]
    bias = torch.full((q.shape[2], total), -torch.inf)
    for row, query in enumerate(range(past_k.shape[2], total)):
        for key in range(query + 1):
            bias[row, key] = mask(query, key)
    return F.scaled_dot_product_attention(q, keys, values, attn_mask=bias.to(q.dtype))


def _oracle(mask):
    return lambda q, k, v, past_k, past_v: _torch_attend(q, k, v, past_k, past_v, mask)


_causal = _oracle(lambda query, key: 0.0)


def _causal_newest_first(q, k, v, past_k, past_v):
    return _causal(*(t.flip(2) for t in (q, k, v, past_k, past_v))).flip(2)


def _causal_with_nothing(q, k, v, past_k, past_v):
    """Compute attention with an added oldest position that every position sees. Its key and its value are zeros."""
    nothing = torch.zeros_like(past_k[:, :, :1])
    return _causal(q, k, v, torch.cat((nothing, past_k), 2), torch.cat((nothing, past_v), 2))


def _milestones(join=_oldest_first, distances=_distances, bias=_without_bias, normalise=_softmax, width=None):
    """Return the milestones for the steps of an answer. `width` is the number of positions in a window."""

    def values(q, k, v, past_k, past_v):
        keys, joined = join(past_k, k), join(past_v, v)
        back = distances(q.shape[2], past_k.shape[2])
        products = q @ keys.mT
        scaled = products / q.shape[3] ** 0.5
        scores = bias(scaled, back, q.shape[3])
        masked = scores.masked_fill((back < 0) | (back >= (width or keys.shape[2])), -torch.inf)
        steps = {"the keys of all positions": keys, "the values of all positions": joined}
        steps |= {"the dot products": products, "the scaled scores": scaled}
        if bias is not _without_bias:
            steps["the scores with the penalty"] = scores
        steps["the masked scores"] = masked
        return {**steps, **softmax_values(masked), "the weights": normalise(masked)}

    return values


def _mistakes(right, **more):
    """Return the mistakes common to all tasks, and those in `more`. `right` is the answer with replaceable steps."""
    return {
        **more,
        "not-scaled": right.replace(divisor=lambda d_head: 1.0).wrong(
            "You did not divide the dot products of queries and keys by the square root of d_head."
        ),
        "divided-by-the-width": right.replace(divisor=lambda d_head: d_head).wrong(
            "You divided the dot products by d_head. Divide them by its square root."
        ),
        "past-forgotten": Wrong(
            lambda q, k, v, past_k, past_v: right(q, k, v, past_k[:, :, :0], past_v[:, :, :0]),
            "The new positions see only each other. They should also see past positions: their keys and values are in"
            " `past_k` and `past_v`.",
        ),
        "keys-as-values": Wrong(
            lambda q, k, v, past_k, past_v: right(q, k, k, past_k, past_k),
            "You mix the keys. The keys give the weights, and the weights should mix the values.",
        ),
        "past-values-from-the-keys": Wrong(
            lambda q, k, v, past_k, past_v: right(q, k, v, past_k, past_k),
            "For the past positions, you mix keys instead of values. Join `past_v` with `v`.",
        ),
        "wrong-axis": right.replace(normalise=lambda scores: F.softmax(scores, -2).nan_to_num(0.0)).wrong(
            "Your weights sum to one over the new positions. The weights of each new position should sum to one over"
            " the keys."
        ),
    }


def _sees_later(right):
    return right.replace(sees=lambda distances: distances == distances).wrong(
        "Every new position sees all new positions, including later ones. A new position should see only itself and"
        " positions before it."
    )


def _without_offset(right):
    return right.replace(
        distances=lambda n_new, n_past: torch.arange(n_new)[:, None] - torch.arange(n_new + n_past)
    ).wrong(
        "You count the new positions from 0, as if nothing came before them. The first new position follows the cache,"
        " so its index is the number of past positions."
    )


def _cases(rand):
    cases = []
    for batch, n_heads, new, past, d_head in ((2, 3, 4, 5, 2), (3, 2, 3, 4, 3), (1, 2, 5, 3, 2), (2, 4, 2, 6, 3)):
        new_shape, past_shape = (batch, n_heads, new, d_head), (batch, n_heads, past, d_head)
        cases.append(case(*(rand(*new_shape) for _ in range(3)), *(rand(*past_shape) for _ in range(2))))
    return cases


transfer_family(
    "attend_new",
    lesson=LessonTask("each new position sees itself and all positions before it", _attend),
    large_scores=(0, 1, 3),
    cases=_cases,
    returns=Float("batch n_heads new d_head"),
    properties=[batch_independent()],
    members={
        "window": member(
            """
            A model keeps keys and values, and several new positions go through it in one pass. `q`, `k` and `v` belong
            to the new positions and have the shape `[batch, n_heads, new, d_head]`. `past_k` and `past_v` hold the keys
            and values of the positions before them, the oldest first, in the shape `[batch, n_heads, past, d_head]`.
            There is at least one new and one past position.

            Each new position sees at most three positions: itself and the two positions before it, whether these are
            new or past. It sees no later position.

            Divide the dot products of queries and keys by the square root of `d_head`, hide, and apply the softmax.
            Return the mixed values of the new positions, in the shape `[batch, n_heads, new, d_head]`.
            """,
            clause="each new position sees only itself and the two positions before it",
            oracle=_oracle(lambda query, key: 0.0 if query - key < 3 else -torch.inf),
            milestones=_milestones(width=3),
            misconceptions=_mistakes(
                _window,
                **{
                    "window-of-two": _attend.replace(sees=lambda back: (back >= 0) & (back < 2)).wrong(
                        "Each new position sees only itself and one position before it. It should see two positions"
                        " before it."
                    ),
                    "window-of-four": _attend.replace(sees=lambda back: (back >= 0) & (back < 4)).wrong(
                        "Each new position sees itself and three positions before it. It should see only two positions"
                        " before it."
                    ),
                    "blind-to-itself": _attend.replace(sees=lambda back: (back >= 1) & (back < 4)).wrong(
                        "A new position does not see itself. The three positions should include the position itself."
                    ),
                    "sees-later-positions": _attend.replace(sees=lambda back: back < 3).wrong(
                        "A new position also sees later new positions. It should see only itself and the two positions"
                        " before it."
                    ),
                },
            ),
        ),
        "penalty": member(
            """
            A model keeps keys and values, and several new positions go through it in one pass. `q`, `k` and `v` belong
            to the new positions and have the shape `[batch, n_heads, new, d_head]`. `past_k` and `past_v` hold the keys
            and values of the positions before them, the oldest first, in the shape `[batch, n_heads, past, d_head]`.
            There is at least one new and one past position.

            Each new position sees itself and all positions before it, but positions far back count less: subtract half
            of the distance from each score. The distance is 0 for the position itself, 1 for the position before it.

            Divide the dot products of queries and keys by the square root of `d_head`, then subtract, hide, and apply
            the softmax. Return the mixed values of the new positions, in the shape `[batch, n_heads, new, d_head]`.
            """,
            clause="half of the distance between the two positions is subtracted from each score",
            oracle=_oracle(lambda query, key: -0.5 * (query - key)),
            milestones=_milestones(bias=_penalty),
            misconceptions=_mistakes(
                _distance,
                **{
                    "sees-later-positions": _distance.replace(
                        sees=lambda back: back == back, bias=lambda scores, back, d_head: scores - back.abs() / 2
                    ).wrong(
                        "A new position also sees later new positions. It should see only itself and positions before"
                        " it."
                    ),
                    "without-offset": _without_offset(_distance),
                    "added": _attend.replace(bias=lambda scores, back, d_head: scores + back / 2).wrong(
                        "Your scores grow with the distance, so positions far back count more. Subtract half of the"
                        " distance."
                    ),
                    "whole-distance": _attend.replace(bias=lambda scores, back, d_head: scores - back).wrong(
                        "You subtract the whole distance from each score. Subtract half of the distance."
                    ),
                    "subtracted-before-scaling": _attend.replace(
                        bias=lambda scores, back, d_head: scores - back / 2 / d_head**0.5
                    ).wrong(
                        "You subtract half of the distance before you divide by the square root of d_head. Divide"
                        " first."
                    ),
                },
            ),
        ),
        "newest-first": member(
            """
            A model keeps keys and values, and several new positions go through it in one pass. `q`, `k` and `v` belong
            to the new positions and have the shape `[batch, n_heads, new, d_head]`. `past_k` and `past_v` hold the keys
            and values of the positions before them, in the shape `[batch, n_heads, past, d_head]`. There is at least
            one new and one past position.

            All five tensors are stored backwards: index 0 is the newest position, and the last index is the oldest
            position. All new positions come later in the text than all past positions. As in this lesson, each new
            position sees itself and all positions before it in the text, and no later position.

            Divide the dot products of queries and keys by the square root of `d_head`, hide, and apply the softmax.
            Return the mixed values of the new positions, the newest first, in the shape
            `[batch, n_heads, new, d_head]`.
            """,
            clause="the positions are stored with the newest first",
            oracle=_causal_newest_first,
            milestones=_milestones(join=_newest_first, distances=_distances_newest_first),
            misconceptions=_mistakes(
                _reversed,
                **{
                    "sees-later-positions": _sees_later(_reversed),
                    "oldest-first-result": Wrong(
                        lambda *tensors: _reversed(*tensors).flip(2),
                        "Your results are right, but in the wrong order: the oldest position comes first. Return the"
                        " newest first.",
                    ),
                    "mask-not-reversed": _reversed.replace(
                        distances=lambda n_new, n_past: torch.arange(n_new)[:, None] - torch.arange(n_new + n_past)
                    ).wrong(
                        "A new position sees the positions with smaller indices, which are later in the text here. It"
                        " should see itself and all positions with larger indices."
                    ),
                    "past-before-new": _attend.replace(distances=_distances_newest_first).wrong(
                        "You put the past positions before the new positions. Here the newest position comes first, so"
                        " the past positions follow the new positions."
                    ),
                },
            ),
        ),
        "nothing": member(
            """
            A model keeps keys and values, and several new positions go through it in one pass. `q`, `k` and `v` belong
            to the new positions and have the shape `[batch, n_heads, new, d_head]`. `past_k` and `past_v` hold the keys
            and values of the positions before them, the oldest first, in the shape `[batch, n_heads, past, d_head]`.
            There is at least one new and one past position.

            Each new position sees itself and all positions before it, and it may also attend to nothing: the softmax
            gets one additional score of 0 for each query. Its weight mixes no value, so the other weights sum to less
            than one.

            Divide the dot products of queries and keys by the square root of `d_head`, hide, and apply the softmax.
            Return the mixed values of the new positions, in the shape `[batch, n_heads, new, d_head]`.
            """,
            clause="the softmax of each query includes an additional score of 0, which belongs to no value",
            oracle=_causal_with_nothing,
            milestones=_milestones(normalise=_softmax_with_nothing),
            misconceptions=_mistakes(
                _nothing,
                **{
                    "sees-later-positions": _sees_later(_nothing),
                    "without-offset": _without_offset(_nothing),
                    "one-added-to-the-scores": _attend.replace(
                        normalise=lambda scores: F.softmax(F.pad(scores, (0, 1), value=1.0), -1)[..., :-1]
                    ).wrong(
                        "Your additional score is 1, but it should be 0. A score of 0 adds 1 to the sum of the"
                        " exponentials."
                    ),
                    "nothing-not-shifted": _attend.replace(normalise=_softmax_with_unshifted_nothing).wrong(
                        "You subtract the largest score from the scores, but not from the additional score of 0. After"
                        " the subtraction, it is minus the largest score, and its exponential is no longer 1."
                    ),
                    "always-half": _attend.replace(normalise=lambda scores: F.softmax(scores, -1) / 2).wrong(
                        "The additional score always gets a weight of one half. It should get the weight that the"
                        " softmax gives to a score of 0."
                    ),
                },
            ),
        ),
    },
)
