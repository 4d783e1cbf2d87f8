"""Find mistakes before the first milestone: an argument that is changed, or a reshape that should exchange axes.

The answer runs again with another value in place of the result of such a call. If its final result is then right, this
call is the mistake.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from utils.exercises.call_trace import TracedCall
from utils.exercises.observe import collect_tensors, is_float
from utils.exercises.probe import Trial
from utils.feedback.wrong_step.repair import Repairer

MOST_CHANGES = 6  # at most this many calls that change an argument are tried
RESHAPES = ("reshape", "view", "reshape_as", "view_as")
MOST_AXES = 5  # the number of orders grows with the factorial of the number of axes
MOST_ORDERS = 2  # at most this many orders of the axes are tried for each call


def find_changed_argument(repairer: Repairer) -> int | None:
    """Return the call whose result should be an unchanged argument of the answer. If there is none, return None.

    If several calls change the argument one after the other, this is the last of them.
    """
    computation = repairer.computation
    changes = [i for i in repairer.path if not computation.is_right(i) and not computation.ancestors(i)]
    arguments = _arguments(repairer, repairer.trial)
    for i, k in itertools.product(changes[:MOST_CHANGES], range(len(arguments))):
        is_right = partial(_is_right_with_argument, repairer, i, k)
        if is_right(repairer.trial, computation.calls) and repairer.holds_on_others([i], is_right):
            return i
    return None


def _is_right_with_argument(repairer: Repairer, i: int, k: int, trial: Trial, calls: Sequence[TracedCall]) -> bool:
    """Tell whether a trial is right if argument `k` replaces the result of call `i`."""
    value, arguments = calls[i].value, _arguments(repairer, trial)
    if value is None or k >= len(arguments) or not is_float(arguments[k]) or arguments[k].shape != value.shape:
        return False
    return repairer.is_expected(trial, repairer.result_with(trial, {i: arguments[k].detach()}))


def _arguments(repairer: Repairer, trial: Trial) -> list[Tensor]:
    return collect_tensors(list(repairer.probe.bind_arguments(trial.case).values()))


def find_wrong_reshapes(repairer: Repairer) -> list[int]:
    """Return the calls of `reshape` or `view` that should exchange axes. If there are none, return [].

    `reshape` keeps the order of all numbers, so it never exchanges axes, even if its result has the right shape. Each
    call is tried alone, then all calls together.
    """
    computation = repairer.computation
    exchanged = _exchanged_results(repairer, repairer.trial, computation.calls)
    path = [i for i in exchanged if repairer.final in computation.descendants(i)]
    groups = [[i] for i in path] + ([path] if len(path) > 1 else [])
    for group, order in itertools.product(groups, range(MOST_ORDERS)):
        if all(order >= len(exchanged[i]) for i in group):
            continue
        is_right = partial(_is_right_with_exchange, repairer, group, order)
        if is_right(repairer.trial, computation.calls) and repairer.holds_on_others(group, is_right):
            return group
    return []


def _is_right_with_exchange(
    repairer: Repairer, group: Sequence[int], order: int, trial: Trial, calls: Sequence[TracedCall]
) -> bool:
    """Tell whether a trial is right if the calls in `group` exchange axes."""
    exchanged = _exchanged_results(repairer, trial, calls)
    values = {i: exchanged[i][min(order, len(exchanged[i]) - 1)] for i in group if i in exchanged}
    last = values.pop(repairer.final, None)
    result = repairer.result_with(trial, values) if values else trial.yours.value
    if last is not None and isinstance(result, Tensor):  # the numbers that the last call receives have changed too
        source = _source(repairer, trial, calls, repairer.final)
        orders = [] if source is None else exchanged_axes(result.reshape(source.shape), result.shape)
        result = orders[min(order, len(orders) - 1)] if orders else result
    return repairer.is_expected(trial, result)


def _exchanged_results(repairer: Repairer, trial: Trial, calls: Sequence[TracedCall]) -> dict[int, list[Tensor]]:
    """Map each call of `reshape` or `view` to its results with exchanged axes, if such results have its shape."""
    results = {}
    for i, call in enumerate(calls):
        source = _source(repairer, trial, calls, i) if call.name in RESHAPES else None
        if source is not None and call.value is not None and (orders := exchanged_axes(source, call.value.shape)):
            results[i] = orders[:MOST_ORDERS]
    return results


def _source(repairer: Repairer, trial: Trial, calls: Sequence[TracedCall], i: int) -> Tensor | None:
    """Return the tensor whose shape a call changes; None if it is unknown."""
    value = calls[i].value
    arguments = _arguments(repairer, trial) if calls[i].has_other_inputs else []
    sources = [*(calls[j].value for j in calls[i].inputs), *arguments]
    return next((s for s in sources if s is not None and value is not None and _have_same_order(s, value)), None)


def _have_same_order(a: Tensor, b: Tensor) -> bool:
    return a.numel() == b.numel() and torch.equal(a.detach().flatten(), b.flatten())


def exchanged_axes(source: Tensor, shape: Sequence[int]) -> list[Tensor]:
    """Return all tensors of a shape that result from an exchange of axes.

    One axis may be split into two before the exchange, as in attention with several heads, or two adjacent axes may be
    joined after it. Tensors that `reshape` would give are left out.
    """
    plain, dims = source.reshape(*shape), source.dim()
    if max(dims, len(shape)) > MOST_AXES or plain.shape == source.shape or abs(dims - len(shape)) > 1:
        return []
    forms = [source]
    if len(shape) > dims:
        sizes = [(axis, n) for axis, size in enumerate(source.shape) for n in shape if 1 < n < size and size % n == 0]
        forms = [source.unflatten(axis, (n, -1)) for axis, n in sizes]
    orders = [form.permute(order) for form in forms for order in itertools.permutations(range(form.dim()))]
    if len(shape) < dims:
        orders = [each.flatten(axis, axis + 1) for each in orders for axis in range(dims - 1)]
    results: list[Tensor] = []
    for each in orders:
        if each.shape == plain.shape and not any(torch.equal(each, other) for other in (plain, *results)):
            results.append(each.contiguous())
    return results
