"""Estimate shares, differences of shares and ratios of averages, each with a 95 % confidence interval.

scipy computes the intervals. Learners do not need scipy, so it is imported only when the first interval is computed.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

LEVEL = 0.95
RESAMPLES = 1999  # the usual number of resamples for a 95 % interval, because 1999 + 1 is divisible by 40
INSTALL = 'scipy is not installed, and the report on learning needs it. Install it with: pip install -e ".[grade]"'


class MissingPackageError(ValueError):
    """A package that the statistics need is not installed; the message says how to install it."""


class Estimate(NamedTuple):
    """A value with the limits of its 95 % interval. The limits are nan if the data give no interval."""

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
        part: the number of learners to whom something applies.
        whole: the number of all learners, at least 1.
    """
    interval = load_scipy_stats().binomtest(part, whole).proportion_ci(LEVEL, method="wilson")
    return Estimate(part / whole, float(interval.low), float(interval.high))


def estimate_difference(first: Mapping[int, bool], second: Mapping[int, bool]) -> Estimate:
    """Return the share in the first group minus the share in the second group, with a hybrid score interval.

    For groups without a common learner, this is Newcombe's interval, computed from the two Wilson intervals. If a
    learner is in both groups, the two shares are correlated. The interval accounts for this correlation.

    Args:
        first, second: for each learner of a group, whether it applies to the learner. No group is empty.
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
    """Return the average of the numerators divided by the average of the denominators, with a BCa bootstrap interval.

    The bootstrap resamples learners. Its random generator has a fixed seed, so the same data give the same interval.

    Args:
        numerators, denominators: one number for each learner, in the same order.

    Returns:
        The estimate, or None if the average of the denominators is 0.
    """
    import numpy as np

    above, below = np.asarray(numerators, dtype=float), np.asarray(denominators, dtype=float)
    if below.mean() == 0:
        return None

    def ratio(a: Any, b: Any, axis: int = -1) -> Any:
        return a.mean(axis=axis) / b.mean(axis=axis)

    value = float(ratio(above, below))
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        warnings.simplefilter("ignore")  # If all learners have the same numbers, scipy warns, and the limits are nan.
        interval = (
            load_scipy_stats()
            .bootstrap(
                (above, below),
                ratio,
                paired=True,
                n_resamples=RESAMPLES,
                batch=max(1, 4_000_000 // len(above)),  # limits memory use to about 100 MB
                confidence_level=LEVEL,
                method="BCa",
                rng=np.random.default_rng(0),
            )
            .confidence_interval
        )
    return Estimate(value, float(interval.low), float(interval.high))


def point_biserial(right: Sequence[bool], rest: Sequence[float]) -> float | None:
    """Return the correlation between right answers to one item and the scores on the other items.

    Returns:
        The correlation from -1 to 1, or None if all answers or all scores are equal.
    """
    if len(set(right)) < 2 or len(set(rest)) < 2:
        return None
    return float(load_scipy_stats().pointbiserialr(right, rest).statistic)
