"""For a wrong call, find the milestone that should follow, and the call that should compute this milestone."""

from __future__ import annotations

import torch
from torch import Tensor

from utils.feedback.wrong_step.computation import VIEWS, Computation
from utils.feedback.wrong_step.milestones import is_slice_size, similarity

PROPORTIONAL, CLOSE, MUCH_CLOSER = 0.999, 0.5, 0.1  # bounds of `similarity`


def expected_milestone(computation: Computation, wrong: int, furthest: int, reached: set[int]) -> int | None:
    """Return the milestone that should follow: one similar to the wrong result, or else the next required milestone."""
    own = computation.ancestors(wrong)
    unreached = [(k, m.parents) for k, m in enumerate(computation.milestones) if k not in reached]
    rest = [k for k, parents in unreached if k > furthest or (parents and parents <= own)]
    required = (k for k in rest if not computation.milestones[k].is_optional and not computation.milestones[k].is_leaf)
    similar = computation.most_similar(wrong, rest)
    return next(required, None) if similar is None else similar


def expected_leaf(computation: Computation, wrong: int, reached: set[int]) -> int | None:
    """Return the milestone that call `wrong` should lead to, if this call depends on no earlier milestone."""
    rest = [k for k in range(len(computation.milestones)) if k not in reached]
    required = [k for k in rest if not computation.milestones[k].is_optional]
    similar, value = computation.most_similar(wrong, rest), computation.calls[wrong].value
    if similar is not None or value is None:
        return similar
    leaves = (k for k in required if computation.milestones[k].is_leaf)
    following = next(leaves, required[0] if required and not reached else None)
    later = (computation.calls[i].value for i in computation.descendants(wrong))
    if following is None or any(
        v is not None and is_slice_size(v, computation.milestones[following].value) for v in later
    ):
        return following
    same_size = (k for k in required if value.numel() == computation.milestones[k].value.numel())
    return next(same_size, following)


def wrong_step(computation: Computation, wrong: int, following: int, furthest: int) -> int:
    """Return the call that should give the milestone `following`; the search starts at the call `wrong`.

    The answer may contain correct steps that the expected computation lacks. Therefore, choose a later call if its
    result is proportional to the milestone, or if it resembles the milestone much more than the first call's result
    does. If the answer has not reached any milestone yet, choose a later call on the same line even if its result is
    only slightly more similar.
    """
    best = first = _step_of_size(computation, wrong, following, furthest)
    value, expected = computation.calls[first].value, computation.milestones[following].value
    is_changed = value is None or value.shape != expected.shape or computation.calls[first].name in VIEWS
    if furthest >= 0 and is_changed:  # the call `first` changes the shape or the order
        return first
    closest = similarity(value, expected)
    for i in computation.descendants(first)[1:]:
        found = similarity(computation.calls[i].value, expected)
        is_clear = found > PROPORTIONAL or found > max(CLOSE, closest + MUCH_CLOSER)
        is_near = furthest < 0 and computation.calls[i].line == computation.calls[first].line and found > closest + 1e-4
        if computation.reached[i] is None and (is_near or (is_clear and found > closest - 1e-4)):
            best, closest = i, max(found, closest)
    return best


def _step_of_size(computation: Computation, wrong: int, following: int, furthest: int) -> int:
    """Start at call `wrong`, and return the first call whose result has the size of an expected value."""
    milestones = computation.milestones
    allowed = [m.value for m in (milestones[furthest:] if furthest >= 0 else [milestones[following]])]
    value = computation.calls[wrong].value
    if value is not None and any(is_slice_size(value, m) for m in allowed):
        return _wrong_divisor(computation, wrong, following)
    size = milestones[following].value.numel()
    values = ((i, computation.calls[i].value) for i in computation.descendants(wrong))
    return next((i for i, v in values if v is not None and v.numel() == size), wrong)


def _wrong_divisor(computation: Computation, wrong: int, following: int) -> int:
    """Return the first call, from `wrong` on, that does not give the right divisor.

    With the right divisor, the answer's division gives milestone `following`. If there is no such division, return
    `wrong`.
    """
    expected, calls = computation.milestones[following].value, computation.calls
    path = computation.descendants(wrong)
    division = next((i for i in path if calls[i].name in ("div", "truediv")), None)
    dividends = [calls[j].value for j in computation.inputs[division] if j not in path] if division is not None else []
    if len(dividends) != 1 or dividends[0] is None or dividends[0].shape != expected.shape:
        return wrong
    right = dividends[0] / expected  # with this divisor, the division gives the milestone
    values = ((i, calls[i].value) for i in path if i <= (division or 0))
    return next((i for i, v in values if i == division or v is None or not _is_close(v, right)), wrong)


def _is_close(value: Tensor, expected: Tensor) -> bool:
    try:
        return bool(
            torch.isclose(value.expand_as(expected), expected, rtol=1e-3).all()
        )  # a lesson's values have four digits
    except RuntimeError:  # the shapes do not fit
        return False
