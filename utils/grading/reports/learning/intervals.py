"""Estimate shares, differences of shares and ratios of averages, each with a 95 % confidence interval.

scipy computes the quantiles. Learners do not need scipy, so it is imported only when the first interval is computed.
"""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

LEVEL = 0.95
UPPER = (1 + LEVEL) / 2  # the probability below the upper limit
ROUNDING = 1e-12  # rounding errors can make a variance of 0 positive, so a variance below this number counts as 0
INSTALL = 'scipy is not installed, and the report on learning needs it. Install it with: pip install -e ".[grade]"'


class MissingPackageError(ValueError):
    """A package that the statistics need is not installed; the message says how to install it."""


class Estimate(NamedTuple):
    """A value with the limits of its 95 % interval. The limits are nan if no interval can be computed."""

    value: float
    low: float
    high: float


@functools.cache
def load_scipy_stats() -> Any:
    """Import `scipy.stats`.

    Raises:
        MissingPackageError: scipy is not installed.
    """
    try:
        import scipy.stats
    except ImportError:
        raise MissingPackageError(INSTALL) from None
    return scipy.stats


def estimate_share(part: int, whole: int) -> Estimate:
    """Return a share with its Wilson score interval.

    Args:
        part: the number of learners that the share counts.
        whole: the number of all learners, at least 1.
    """
    return _wilson_interval(part / whole, whole, float(load_scipy_stats().norm.ppf(UPPER)))


def estimate_clustered_share(parts: Sequence[int], wholes: Sequence[int]) -> Estimate:
    """Return a share of answers with its interval. Each learner may give several answers.

    The answers of one learner are not independent. Wilson's interval therefore uses the effective number of answers
    (Kish, Survey Sampling, 1965). This is the number of independent answers that would give the same precision. The
    quantile of Student's t takes account of the small number of learners. If the learners do not differ at all, the
    effective number of answers is unknown, and each learner counts as one answer.

    Args:
        parts: for each learner, the number of answers that the share counts, such as the right answers.
        wholes: for each learner in the same order, the number of all answers, at least 1. There are at least two
            learners.
    """
    learners, answers = len(parts), sum(wholes)
    share = sum(parts) / answers
    residuals = [part - share * whole for part, whole in zip(parts, wholes)]
    variance = learners / (learners - 1) * sum(r * r for r in residuals) / answers**2
    effective = share * (1 - share) / variance if variance > ROUNDING else learners
    return _wilson_interval(share, effective, _t_quantile(learners))


def _wilson_interval(share: float, number: float, quantile: float) -> Estimate:
    """Return a share of `number` independent answers with its Wilson score interval."""
    odds = quantile**2 / number
    center = (share + odds / 2) / (1 + odds)
    distance = math.sqrt(odds * (share * (1 - share) + odds / 4)) / (1 + odds)
    return Estimate(share, max(0.0, center - distance), min(1.0, center + distance))


def _t_quantile(learners: int) -> float:
    return float(load_scipy_stats().t.ppf(UPPER, learners - 1))


def estimate_difference(first: Mapping[int, bool], second: Mapping[int, bool]) -> Estimate:
    """Return the share in the first group minus the share in the second group, with a hybrid score interval.

    For groups without a common learner, this is Newcombe's interval, computed from the two Wilson intervals. If a
    learner is in both groups, the two shares are correlated. The interval accounts for this correlation.

    Args:
        first, second: for each learner of a group, whether the share counts this learner. Neither group is empty.
    """
    (p1, low1, high1), (p2, low2, high2) = (estimate_share(sum(g.values()), len(g)) for g in (first, second))
    variance1, variance2 = p1 * (1 - p1) / len(first), p2 * (1 - p2) / len(second)
    covariance = sum((first[i] - p1) * (second[i] - p2) for i in first.keys() & second) / (len(first) * len(second))
    product = math.sqrt(variance1 * variance2)
    correlation = max(-1.0, min(1.0, covariance / product)) if product else 0.0

    def distance(a: float, b: float) -> float:
        return math.sqrt(max(0.0, a * a - 2 * correlation * a * b + b * b))

    return Estimate(p1 - p2, p1 - p2 - distance(p1 - low1, high2 - p2), p1 - p2 + distance(high1 - p1, p2 - low2))


def estimate_ratio(numerators: Sequence[float], denominators: Sequence[float]) -> Estimate | None:
    """Return the average of the numerators divided by the average of the denominators, with Fieller's interval.

    A ratio r is in the interval if, according to a t test, the average of numerator - r * denominator does not differ
    significantly from 0 (Fieller, Some problems in interval estimation, 1954). These ratios solve a quadratic
    inequality. There is no interval if the average of the denominators does not differ significantly from 0. There is
    also no interval if the ratio of numerator to denominator is the same for all learners.

    Args:
        numerators, denominators: one number for each learner, in the same order. There are at least two learners.

    Returns:
        The estimate, or None if the average of the denominators is 0.
    """
    import numpy as np

    above, below = statistics.fmean(numerators), statistics.fmean(denominators)
    if below == 0:
        return None
    ratio = above / below
    scale = _t_quantile(len(numerators)) ** 2 / len(numerators)
    (variance_above, covariance), (_, variance_below) = np.cov(numerators, denominators).tolist()
    # r is in the interval if square * r**2 - 2 * linear * r + constant <= 0.
    square = below**2 - scale * variance_below
    linear = above * below - scale * covariance
    constant = above**2 - scale * variance_above
    discriminant = linear**2 - square * constant
    if square <= 0 or discriminant <= ROUNDING:
        return Estimate(ratio, math.nan, math.nan)
    root = math.sqrt(discriminant)
    return Estimate(ratio, (linear - root) / square, (linear + root) / square)


def point_biserial(right: Sequence[bool], rest: Sequence[float]) -> float | None:
    """Return the correlation between right answers to one item and the scores on the other items.

    Returns:
        The correlation from -1 to 1, or None if all answers or all scores are equal.
    """
    if len(set(right)) < 2 or len(set(rest)) < 2:
        return None
    return statistics.correlation([float(answer) for answer in right], rest)
