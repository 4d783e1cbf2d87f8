"""Define properties, which are claims that every result of an answer must satisfy.

A property is a function of a `Probe`. If the claim is false, the function returns a sentence; otherwise, it returns
None. Properties explain wrong results ("a row does not sum to one"). They also reject wrong answers that agree with the
oracle on every case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from utils.exercises.compare import values_equal
from utils.exercises.exercise import Case, Exercise, case
from utils.exercises.observe import Observation, collect_tensors, is_float
from utils.exercises.oracles import observe_oracle, parse_observation
from utils.exercises.probe import Probe, Trial
from utils.feedback.phrases import article, call_text, error_summary, origin_text
from utils.feedback.report import Report, format_number

Property = Callable[[Probe], str | None]


def rows_sum_to_one(part: int | None = None) -> Property:
    """Check attention weights: each row of the result (or of its part `part`) must sum to one."""

    def broken(probe: Probe) -> str | None:
        for trial in probe.trials:
            value = trial.yours.value
            if part is not None:
                value = value[part] if isinstance(value, tuple) else None
            if not isinstance(value, Tensor) or not value.is_floating_point() or value.dim() == 0:
                continue
            weights = value.detach().double()
            sums = weights.sum(-1)
            is_off = (sums - 1).abs() > 1e-3
            if is_off.any():
                by_column = weights.dim() > 1 and bool(((weights.sum(-2) - 1).abs() < 1e-3).all())
                columns = " The columns sum to one: you normalised along the wrong axis." if by_column else ""
                *item, row = is_off.nonzero()[0].tolist() or [0]
                where = f"Row {row} of item {', '.join(map(str, item))}" if item else f"Row {row}"
                total = format_number(float(sums[is_off][0]))
                return (
                    f"{where} of the weights sums to {total}, but every row should sum to one: a row holds the"
                    f" attention weights of one position.{columns}"
                )
        return None

    return broken


def causal(argument: int = 0, axis: int = -2, scale: float = 1e6) -> Property:
    """Check that a later token does not change the results of earlier positions.

    The answer runs on the original inputs and on inputs `scale` times as large. The large inputs reveal a mask that
    uses a finite number such as -1e9 instead of minus infinity.
    """

    def broken(probe: Probe) -> str | None:
        trials = _select_trials(probe, lambda case: case.args[argument].shape[axis] > 1)
        for factor in (1.0, scale):
            for trial in trials:
                if message := _past_changed(probe, trial, argument, axis, factor):
                    return message
        return None

    return broken


def _past_changed(probe: Probe, trial: Trial, argument: int, axis: int, factor: float) -> str | None:
    x = trial.case.args[argument] * factor
    size = x.shape[axis]
    shifted = x.clone()
    shifted.select(axis, size - 1).add_(factor)
    case, changed = (_replace_argument(trial.case, argument, value) for value in (x, shifted))
    before = trial.yours if factor == 1.0 else probe.run(case)
    past = _find_effect(probe, before, case, changed, lambda result: result.narrow(axis, 0, size - 1))
    if past is None:
        return None
    return _past_change_message(past, axis, size) if factor == 1.0 else _scaled_past_change_message(past, axis, factor)


def _find_effect(
    probe: Probe, before: Observation, case: Case, changed: Case, select: Callable[[Tensor], Tensor]
) -> list[Tensor] | None:
    """Compare a part of two results: for `case` and for `changed`. Return both parts, or None if they are equal.

    To prove that the change is the cause, the answer runs on the unchanged case again. If this run also gives a
    different result, return None: the answer may keep values between calls, so the cause is unknown.
    """
    after = probe.run(changed)
    if before.failure or after.failure:
        return None
    parts = [select(_first_tensor(observation.value)) for observation in (before, after)]
    if _nearly_equal(*parts):
        return None
    again = probe.run(case)
    return parts if not again.failure and _nearly_equal(parts[0], select(_first_tensor(again.value))) else None


def _nearly_equal(a: Tensor, b: Tensor) -> bool:
    return torch.allclose(a, b, atol=1e-5, equal_nan=True)  # nan in both results is not a difference


def _past_change_message(past: list[Tensor], axis: int, size: int) -> str:
    before, after = (part.transpose(axis, 0).flatten(1) for part in past)
    first = next(i for i in range(size - 1) if not _nearly_equal(before[i], after[i]))
    return (
        f"Later positions change the results of earlier positions: when the last of {size} tokens changed, the result"
        f" of position {first} changed too. When a model generates text, later tokens do not exist yet."
    )


def _scaled_past_change_message(past: list[Tensor], axis: int, factor: float) -> str | None:
    # An answer may apply softmax to all positions, and then mask and normalise the weights. This can turn a row into 0,
    # which is not a leak, so rows with small numbers are ignored.
    rows = [t.movedim(axis, -2).flatten(0, -2) for t in past]
    comparable = [row.isfinite().all(1) & (row.abs().amax(1) > factor**0.5) for row in rows]
    leaks = ~torch.isclose(*rows, rtol=1e-4, atol=1e-5 * factor).all(1)
    if not (comparable[0] & comparable[1] & leaks).any():
        return None
    return (
        f"With inputs {factor:,.0f} times as large, later positions change the results of earlier positions. A masked"
        " score must be lower than every score that can occur, so use minus infinity: a number such as -100 or -1e9 is"
        " not low enough."
    )


def batch_independent(argument: int = 0) -> Property:
    """Check that the items of a batch do not influence each other's results."""

    def broken(probe: Probe) -> str | None:
        for trial in _select_trials(probe, lambda case: case.args[argument].dim() > 2 and len(case.args[argument]) > 1):
            x = trial.case.args[argument]
            shifted = x.clone()
            shifted[1:] += 1.0
            changed = _replace_argument(trial.case, argument, shifted)
            if _find_effect(probe, trial.yours, trial.case, changed, lambda result: result[0]):
                return (
                    "Batch items leak into each other: the result of sequence 0 changed when only the other sequences"
                    " of its batch changed. They are separate texts and must not influence each other."
                )
        return None

    return broken


def finite_when_scaled(factor: float = 1000.0) -> Property:
    """Multiply the inputs by `factor`. Check that the result is finite and correct if the oracle's result is finite."""

    def broken(probe: Probe) -> str | None:
        for trial in _representative_trials(probe.trials):
            scaled = replace(trial.case, args=tuple(a * factor if is_float(a) else a for a in trial.case.args))
            result = probe.run(scaled)
            expected = observe_oracle(probe.exercise, scaled)
            if result.failure or expected.failure or not _all_finite(expected.value):
                continue
            start = f"With inputs {factor:,.0f} times as large, the result"
            if not _all_finite(result.value):
                origin = probe.runner.find_nonfinite_origin(scaled)
                return f"{start} contains nan or inf.{origin_text(origin, probe.runner.inspect_code().source)}"
            value = parse_observation(probe.exercise, scaled, result).value
            if (
                probe.has_correct_values
                and not trial.case.train
                and not values_equal(value, expected.value, 1e-3, "any")
            ):
                return f"{start} is finite, but wrong: does your code limit or round large numbers?"
        return None

    return broken


def _all_finite(value: Any) -> bool:
    return all(t.isfinite().all() for t in collect_tensors(value))


def moves_with_its_module(probe: Probe) -> str | None:
    """Check that a module works on any device: its tensors must move with it or be created on the input's device."""
    for trial in _representative_trials(probe.trials):
        result = probe.runner.run_on_fake_device(trial.case)
        if result.unmoved_tensor:
            return (
                f"`self.{result.unmoved_tensor}` did not move when the module moved to another device: `.to(...)` moves"
                " parameters, buffers and layers, but not a plain tensor on self. Store it with register_buffer."
            )
        if result.keeps_tensors:
            return (
                "After a call on the CPU, your module fails on another device: it keeps a tensor from the earlier"
                " call. Compute such a tensor in each call, or move it to the device of the input."
            )
        if result.has_device_mix:
            return (
                "Your module works only on the CPU: on another device, forward combines its input with a tensor that it"
                " created on the CPU. Store this tensor as a buffer, which `.to(...)` moves, or create it on the"
                " device of the input."
            )
    return None


def works_where_its_input_is(probe: Probe) -> str | None:
    """Check that a function creates its tensors on the device of its input."""
    results = [probe.runner.run_on_fake_device(trial.case) for trial in probe.trials]
    if any(result.keeps_tensors for result in results):
        return (
            "After a call on the CPU, your function fails on another device: it keeps a tensor from the earlier call."
            " Compute such a tensor in each call, or move it to the device of the input."
        )
    if any(result.has_device_mix for result in results):
        return (
            "Your function works only on the CPU: on another device, it combines its input with a tensor that it"
            " created on the CPU. Create new tensors on the device of the input, or move them there."
        )
    return None


def _representative_trials(trials: Iterable[Trial]) -> list[Trial]:
    """Return the first two trials of each kind. Trials of the same kind differ only in their numbers and sizes."""
    kinds: dict[tuple, list[Trial]] = {}
    for trial in trials:
        case = trial.case
        dims = tuple(a.dim() if isinstance(a, Tensor) else None for a in case.args)
        kinds.setdefault((case.train, tuple(sorted(case.kwargs)), dims), []).append(trial)
    return [trial for same_kind in kinds.values() for trial in same_kind[:2]]


def _select_trials(probe: Probe, fits: Callable[[Case], bool]) -> list[Trial]:
    """Return the trials whose cases satisfy `fits`. If all values are correct, return at most two of each kind."""
    trials = [trial for trial in probe.trials if fits(trial.case)]
    return _representative_trials(trials) if probe.has_correct_values else trials


def works_when_changed(
    case: Case, prepare: Callable[[nn.Module], None], expected: Callable[[Exercise], Tensor], message: str
) -> Property:
    """Check that a module stays correct when later cells of the lesson change it, for example by replacing a part.

    Args:
        case: the case to run.
        prepare: a function of `utils.test_doubles` that changes the module.
        expected: a function of the exercise that returns the correct result of the changed module.
        message: the message if the result is different or the module raises an exception.
    """

    def broken(probe: Probe) -> str | None:
        if not probe.has_correct_values:
            return None
        observation = probe.run(case, prepare=prepare)
        right = values_equal(observation.value, expected(probe.exercise), 1e-4, "wider")
        return None if observation.failure is None and right else message

    return broken


def draws_nothing(why: str) -> Property:
    """Report `why` if the results are wrong and the answer sampled random numbers."""

    def broken(probe: Probe) -> str | None:
        has_sampled = not probe.has_correct_values and any(trial.yours.drew for trial in probe.trials)
        return why if has_sampled else None

    return broken


def refuses(init: tuple, shape: tuple, why: str) -> Property:
    """Check that an invalid input raises a ValueError, and not another error, such as a shape error from torch.

    Args:
        init: the constructor's arguments.
        shape: the shape of the input.
        why: the reason why the input is invalid, as a clause.
    """

    def broken(probe: Probe) -> str | None:
        invalid = case(torch.zeros(shape), init=init)
        failure = probe.run(invalid).failure
        requirement = f"{call_text(probe.exercise, invalid)} should raise a ValueError, because {why}"
        if failure is None:
            return f"{requirement}. Your code returned a result."
        if "ValueError" not in (failure.type, *failure.bases):
            return f"{requirement}; it raised {article(failure.type)}{error_summary(failure)}"
        return None

    return broken


def takes(init: tuple, shape: tuple, why: str) -> Property:
    """Check that a long but valid input is accepted.

    This is a property rather than a case, because a slow wrong answer could take seconds on a long input.

    Args:
        init: the constructor's arguments.
        shape: the shape of the input.
        why: a sentence that says why the input is valid.
    """

    def broken(probe: Probe) -> str | None:
        long = case(torch.zeros(shape), init=init)
        failure = probe.run(long).failure
        if failure is None:
            return None
        return f"{call_text(probe.exercise, long)} was rejected{error_summary(failure)}. {why}"

    return broken


def _replace_argument(case: Case, argument: int, value: Tensor) -> Case:
    """Return the case with one argument replaced."""
    return replace(case, args=tuple(value if i == argument else a for i, a in enumerate(case.args)))


def _first_tensor(value: Any) -> Tensor:
    return (value[0] if isinstance(value, tuple) else value).detach()


def report_broken_property(probe: Probe) -> Report | None:
    """Report the first property that the results break; return None if they break none."""
    if any(t.yours.failure and not t.expected.failure for t in probe.trials):
        return None
    # If the answer correctly raises an exception on a case, there is no result that a property could check.
    with_result = [t for t in probe.trials if not t.yours.failure]
    result_probe = Probe(probe.exercise, probe.runner, with_result)
    for broken in probe.exercise.properties if with_result else ():
        name = broken.__qualname__.partition(".")[0].lstrip("_")  # a closure's qualified name begins with its factory
        try:
            message = broken(result_probe)
        except Exception as error:  # the Runner catches the errors of answers, so this error is a bug in the property
            message = (
                f"The check itself failed, in {name} ({type(error).__name__}: {error}). Please tell the authors of the"
                " course."
            )
        if message:
            return Report(probe.exercise.name, "failed", message, reason="property", property=name)
    return None
