"""Define the transfer exercise of lesson 06: layer norm with a scale, with one changed convention."""

import torch
from torch.nn import functional as F

from utils.checks._wrong_answers import with_steps
from utils.exercises.exercise import Float, Wrong, case
from utils.feedback.properties import batch_independent
from utils.feedback.transfer_families import LessonTask, member, transfer_family


def _standard_deviation(centred, dim, eps):
    return (centred.pow(2).mean(dim, keepdim=True) + eps).sqrt()


def _mean_distance(centred, dim, eps):
    return centred.abs().mean(dim, keepdim=True) + eps


def _range_of(x, dim, eps):
    return x.amax(dim, keepdim=True) - x.amin(dim, keepdim=True) + eps


@with_steps
def _norm(
    x,
    w,
    eps,
    *,
    dim=-1,
    centre=lambda x, dim: x - x.mean(dim, keepdim=True),
    divisor=_standard_deviation,
    change_eps=lambda eps: eps,
    scale=lambda normed, w: normed * w,
):
    """Normalise `x` along `dim`: subtract a mean, divide, and multiply by `w`."""
    centred = centre(x, dim)
    return scale(centred / divisor(centred, dim, change_eps(eps)), w)


def _features_first(normed, w):
    return normed * w[:, None]


def _row_by_row(spread):
    """Return an oracle that centres each vector, divides it by `spread(vector)` + eps, and multiplies it by `w`."""

    def answer(x, w, eps):
        rows = [w * (row - row.mean()) / (spread(row) + eps) for row in x.flatten(0, 1)]
        return torch.stack(rows).view_as(x)

    return answer


_columns = _norm.replace(dim=1, scale=_features_first)
_rms = _norm.replace(centre=lambda x, dim: x)
_range = _norm.replace(divisor=_range_of)
_distance = _norm.replace(divisor=_mean_distance)


def _milestones(norm):
    """Return the milestones of `norm`, an answer with replaceable steps."""

    def values(x, w, eps):
        normalised = norm.replace(scale=lambda normed, w: normed)(x, w, eps)
        centred = norm.replace(divisor=lambda centred, dim, eps: 1.0, scale=lambda normed, w: normed)(x, w, eps)
        return {"the differences from the means?": centred, "the normalised vectors": normalised}

    return values


def _mistakes(norm, scale=lambda normed, w: normed * w, **more):
    """Return the mistakes common to all tasks, and those in `more`.

    Args:
        norm: the right answer with replaceable steps.
        scale: multiplies the normalised vectors by w.
        more: further misconceptions by id.
    """
    return {
        **more,
        "eps-forgotten": norm.replace(change_eps=lambda eps: 0.0).wrong(
            "eps has no effect on your result. Add it as the task says: a vector of zeros would give 0 / 0, which is"
            " nan."
        ),
        "eps-fixed": norm.replace(change_eps=lambda eps: 1e-6).wrong(
            "Your eps is always 1e-6. Use the argument `eps`."
        ),
        "scale-unused": norm.replace(scale=lambda normed, w: normed).wrong(
            "You return the normalised vectors without w. Finally, multiply each entry by its number in w."
        ),
        "scale-plus-one": norm.replace(scale=lambda normed, w: scale(normed, 1 + w)).wrong(
            "You multiply by 1 + w, as some models do, which store w minus 1. Here, multiply by w."
        ),
        "scale-first": Wrong(
            lambda x, w, eps: norm.replace(scale=lambda normed, w: normed)(scale(x, w), w, eps),
            "You multiplied by w before the norm, so w changes the means and the divisors. Multiply by w after the"
            " norm.",
        ),
        "over-everything": Wrong(
            lambda x, w, eps: scale(norm.replace(scale=lambda normed, w: normed, dim=(-2, -1))(x, w, eps), w),
            "You computed one mean for a whole text. The vector of each token should be normalised independently.",
        ),
    }


def _root_mistakes(norm):
    """Return the mistakes for tasks that divide by √(mean square + eps)."""
    return {
        "eps-outside-the-root": norm.replace(
            divisor=lambda centred, dim, eps: _standard_deviation(centred, dim, 0.0) + eps
        ).wrong("You added eps after the square root. Add eps before you take the root."),
        "no-root": norm.replace(
            divisor=lambda centred, dim, eps: centred.pow(2).mean(dim, keepdim=True) + eps,
        ).wrong("You did not take the square root, so the vectors with large entries become the smallest."),
    }


def _unbiased(norm):
    def divisor(centred, dim, eps):
        return (centred.pow(2).sum(dim, keepdim=True) / (centred.shape[dim] - 1) + eps).sqrt()

    return norm.replace(divisor=divisor).wrong(
        "Your variance divides by one less than the number of entries. Torch's var and std do so unless you pass"
        " correction=0."
    )


def _cases(rand, shapes=((2, 4, 4), (3, 2, 6), (2, 3, 8), (1, 5, 4)), axis=-1):
    """Return cases. `shapes` gives the shapes of x, and `axis` is the axis of the features.

    The mean of a vector's entries is not 0. In the last case, the entries are so small that eps matters.
    """
    cases = [case(rand(*shape) + 0.7, rand(shape[axis]), 0.1 * (i + 1)) for i, shape in enumerate(shapes)]
    return [*cases, case(0.05 * rand(*shapes[0]) + 0.02, rand(shapes[0][axis]), 0.001)]


transfer_family(
    "norm_vectors",
    lesson=LessonTask(
        "the last axis is normalised as a whole, with its mean and its variance",
        lambda x, w, eps: F.layer_norm(x, x.shape[-1:], w, eps=eps),
    ),
    cases=_cases,
    returns=Float("batch seq d"),
    properties=[batch_independent()],
    members={
        "features-first": member(
            """
            Write a layer norm for another order of the axes. `x` has the shape `[batch, d, seq]`: the second axis is
            the features. The vector of token `i` in text `b` is `x[b, :, i]`, which has `d` entries. `w` has the
            shape `[d]`, and `eps` is a positive number.

            Normalise the vector of each token independently, as in this lesson: subtract the mean of its entries, and
            divide by the square root of their variance plus `eps`. The variance divides by `d`. Then multiply each
            entry by its number in `w`. Do not add a bias.

            Return the normalised vectors in the same order of the axes, `[batch, d, seq]`.
            """,
            clause="the vector of a token lies along the second axis",
            # In some cases, d equals seq, so that answers to the other tasks run without an error.
            cases=lambda rand: _cases(rand, ((2, 4, 4), (3, 6, 6), (1, 8, 8), (2, 4, 3), (3, 6, 2)), axis=1),
            oracle=lambda x, w, eps: F.layer_norm(x.movedim(1, 2), w.shape, w, eps=eps).movedim(2, 1),
            returns=Float("batch d seq"),
            milestones=_milestones(_columns),
            misconceptions=_mistakes(
                _columns,
                _features_first,
                **_root_mistakes(_columns),
                **{
                    "unbiased": _unbiased(_columns),
                    "w-along-the-tokens": _norm.replace(dim=1).wrong(
                        "You normalised along the right axis, but w lies along the tokens. Each number in w belongs"
                        " to a feature, so add an axis for the tokens to w."
                    ),
                    "normalised-along-the-tokens": _norm.replace(scale=_features_first).wrong(
                        "Your mean and your variance run over the tokens, so the tokens influence each other. They"
                        " should run over the d entries of one token, along the second axis."
                    ),
                    "not-moved-back": Wrong(
                        lambda x, w, eps: _norm(x.mT, w, eps),
                        "The numbers are right, but the axes are in the order [batch, seq, d]. Return them in the order"
                        " of the input.",
                    ),
                },
            ),
        ),
        "rms": member(
            """
            Write the norm that some newer models use instead of layer norm. `x` has the shape `[batch, seq, d]`: the
            vector of token `i` in text `b` is `x[b, i]`, which has `d` entries. `w` has the shape `[d]`, and `eps` is
            a positive number.

            Normalise the vector of each token independently, without subtracting a mean: square its entries, take the
            mean of the squares, add `eps`, and take the square root. Divide the vector itself by this number. Then
            multiply each entry by its number in `w`. Do not add a bias.

            Return the normalised vectors, in the same shape `[batch, seq, d]`.
            """,
            clause="no mean is subtracted, and the divisor is the root of the mean square",
            oracle=lambda x, w, eps: F.rms_norm(x, x.shape[-1:], w, eps),
            milestones=_milestones(_rms),
            misconceptions=_mistakes(
                _rms,
                **_root_mistakes(_rms),
                **{
                    "sum-of-squares": _rms.replace(
                        divisor=lambda centred, dim, eps: (centred.pow(2).sum(dim, keepdim=True) + eps).sqrt()
                    ).wrong("You divided by the root of the sum of the squares. Take their mean."),
                    "only-the-variance": Wrong(
                        lambda x, w, eps: x / (x.var(-1, keepdim=True, correction=0) + eps).sqrt() * w,
                        "You did not subtract the mean from x, but you divide by the root of the variance, which still"
                        " subtracts the mean. Square the entries themselves.",
                    ),
                },
            ),
        ),
        "range": member(
            """
            Write a norm with another measure of spread. `x` has the shape `[batch, seq, d]`: the vector of token `i`
            in text `b` is `x[b, i]`, which has `d` entries. `w` has the shape `[d]`, and `eps` is a positive number.

            Normalise the vector of each token independently: subtract the mean of its entries, as in this lesson. Then
            divide by the range plus `eps`. The range is the largest of the `d` entries minus the smallest: no entry is
            squared, and there is no root. Then multiply each entry by its number in `w`. Do not add a bias.

            Return the normalised vectors, in the same shape `[batch, seq, d]`.
            """,
            clause="the divisor is the largest entry minus the smallest, plus `eps`",
            oracle=_row_by_row(lambda row: row.max() - row.min()),
            milestones=_milestones(_range),
            misconceptions=_mistakes(
                _range,
                **{
                    "smallest-subtracted": _range.replace(centre=lambda x, dim: x - x.amin(dim, keepdim=True)).wrong(
                        "You subtracted the smallest entry, so no difference is negative. Subtract the mean of the"
                        " entries."
                    ),
                    "no-mean-subtracted": _range.replace(centre=lambda x, dim: x).wrong(
                        "You divided the entries themselves. Subtract their mean first."
                    ),
                    "largest-distance": _norm.replace(
                        divisor=lambda centred, dim, eps: centred.abs().amax(dim, keepdim=True) + eps
                    ).wrong(
                        "You divided by the largest distance from the mean. Divide by the largest entry minus the"
                        " smallest."
                    ),
                    "largest-entry": Wrong(
                        lambda x, w, eps: (x - x.mean(-1, keepdim=True)) / (x.amax(-1, keepdim=True) + eps) * w,
                        "You divided by the largest entry. Subtract the smallest entry from it before you divide.",
                    ),
                    "one-range-for-a-text": Wrong(
                        lambda x, w, eps: (x - x.mean(-1, keepdim=True)) / _range_of(x, (-2, -1), eps) * w,
                        "You computed one range for a whole text. Each vector should have its own range.",
                    ),
                    "half-range": _norm.replace(
                        divisor=lambda centred, dim, eps: _range_of(centred, dim, 0.0) / 2 + eps
                    ).wrong("You divided by half the range. Divide by the whole range."),
                },
            ),
        ),
        "mean-distance": member(
            """
            Write a norm with another measure of spread. `x` has the shape `[batch, seq, d]`: the vector of token `i`
            in text `b` is `x[b, i]`, which has `d` entries. `w` has the shape `[d]`, and `eps` is a positive number.

            Normalise the vector of each token independently: subtract the mean of its entries, as in this lesson. Then
            divide by the mean distance plus `eps`. The mean distance is the mean of the absolute values of the `d`
            differences: they are not squared, and there is no root. Then multiply each entry by its number in `w`.
            Do not add a bias.

            Return the normalised vectors, in the same shape `[batch, seq, d]`.
            """,
            clause="the divisor is the mean distance from the mean, plus `eps`",
            oracle=_row_by_row(lambda row: F.l1_loss(row, row.mean().expand_as(row))),
            milestones=_milestones(_distance),
            misconceptions=_mistakes(
                _distance,
                **{
                    "sum-of-distances": _norm.replace(
                        divisor=lambda centred, dim, eps: centred.abs().sum(dim, keepdim=True) + eps
                    ).wrong("You divided by the sum of the distances. Take their mean."),
                    "distance-from-zero": Wrong(
                        lambda x, w, eps: (x - x.mean(-1, keepdim=True)) / _mean_distance(x, -1, eps) * w,
                        "You took the mean of the absolute values of the entries. Subtract the mean before you take"
                        " the absolute values.",
                    ),
                    "not-absolute": _norm.replace(
                        divisor=lambda centred, dim, eps: centred.mean(dim, keepdim=True) + eps
                    ).wrong(
                        "You took the mean of the differences themselves, which is always 0. Take their absolute"
                        " values first."
                    ),
                    "root-of-the-distance": _norm.replace(
                        divisor=lambda centred, dim, eps: _mean_distance(centred, dim, eps).sqrt()
                    ).wrong(
                        "You took the square root of the mean distance. Distances are not squared: no root is needed."
                    ),
                },
            ),
        ),
    },
)
