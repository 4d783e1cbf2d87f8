"""Run the sweeps: tests of general properties. They start when an answer is correct on all cases of its exercise.

A sweep runs the answer on cases from `utils.exercises.sweep_cases`, and compares its results with the oracle's. An
exercise opts out of a sweep with `unswept={name: reason}`; `coginst sweeps` prints the reasons.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from utils.exercises.compare import unexpected_changes
from utils.exercises.exercise import Case, Exercise
from utils.exercises.observe import Observation, RunOptions, collect_tensors, is_float
from utils.exercises.oracles import cached_oracle_observation, make_runner, parse_observation
from utils.exercises.probe import Trial
from utils.exercises.runner import Runner
from utils.exercises.side_effects import values_identical
from utils.exercises.sweep_cases import (
    CASE_SWEEPS,
    TOLERANCE,
    base_cases,
    call_sequences,
    cases_without_generator,
    derived_cases,
    derived_pairs,
)
from utils.exercises.sweep_limits import MOST, cases_near_number, cases_of_size, find_limits
from utils.feedback.gradients import find_infinite_gradient, find_wrong_gradient
from utils.feedback.phrases import article, call_text, change_text, error_summary, inputs_text, kept_text

# In these sweeps, an answer may raise an exception that the oracle does not raise. In the sweeps of
# `_MAY_GIVE_NAN`, the answer may also give nan. If a lesson forbids this behaviour, a property tests it.
_MAY_RAISE = ("dtypes", "numbers", "lists", "layouts", "large", "hidden numbers", "hidden rows")
_MAY_GIVE_NAN = ("large", "hidden numbers", "hidden rows")
CONDITIONS = ("sizes", "options", "numbers", "widths")  # `find_condition` tries the changes that these sweeps make

SWEEPS = {
    "state": "one object gets inputs of different sizes, and then the first input again, with and without gradients",
    "settings": "a call leaves torch's global settings unchanged",
    "seed": "without a generator, torch.manual_seed determines the result",
    "gradients": "the gradients of inputs and parameters equal the oracle's gradients",
    "finite gradients": "no gradient is nan or inf on the inputs of the zeros, ties and large sweeps",
    "initialisation": "after a different seed, a new object starts with different numbers",
    "copies": "a deep copy and a reloaded state_dict give the same result",
    "parameters": "a state_dict that contains only the parameters can be loaded",
    "limits": f"a size exceeds a limit in the code: a number below {MOST}, or the largest integer of a dtype",
    **{name: sweep.what for name, sweep in CASE_SWEEPS.items()},
}


class Finding(NamedTuple):
    """The result of a sweep that found a fault: a wrong trial or a message."""

    sweep: str
    trial: Trial | None = None
    message: str = ""
    base: Case | None = None  # the base case from which the trial's case is derived
    scale: float = 1.0  # a factor for the tolerance; in the sweep of small numbers, the largest expected number


@functools.lru_cache(maxsize=128)
def with_sweep_tolerance(exercise: Exercise, scale: float = 1.0) -> Exercise:
    """Return a copy of the exercise without misconceptions; its tolerance is that of the sweeps times `scale`.

    An answer that is correct on all cases cannot match a misconception, because each misconception is wrong on some
    case.
    """
    return replace(exercise, atol=max(exercise.atol, TOLERANCE) * scale, misconceptions=())


def applicable_sweeps(exercise: Exercise) -> list[str]:
    """Return the names of the sweeps that apply to an exercise, except those in its `unswept`."""
    if exercise.kind == "value":
        return []
    names = [name for name in CASE_SWEEPS if name not in exercise.unswept and derived_cases(exercise, name)]
    if exercise.kind == "module":
        names = ["initialisation", "copies", "parameters", *names]
    if exercise.requires_gradients:
        names = ["gradients", *names, "finite gradients"]
    if {"sizes", "numbers", "texts"} & {*names}:
        names.append("limits")
    if cases_without_generator(exercise):
        names.insert(0, "seed")
    return [name for name in ("settings", "state", *names) if name not in exercise.unswept]


def run_sweeps(exercise: Exercise, runner: Runner) -> Finding | None:
    """Run an exercise's sweeps on an answer that is correct on all cases, and return the first fault."""
    special = {
        "settings": _sweep_settings,
        "state": _sweep_state,
        "seed": _sweep_seed,
        "gradients": _sweep_gradients,
        "finite gradients": _sweep_finite_gradients,
        "initialisation": _sweep_initialisation,
        "copies": _sweep_copies,
        "parameters": _sweep_copies,
        "limits": _sweep_limits,
    }
    for name in applicable_sweeps(exercise):
        sweep = special.get(name, _sweep_cases)
        if finding := sweep(exercise, runner, name):
            return finding
    return None


def find_condition(exercise: Exercise, runner: Runner) -> tuple[Trial, Trial] | None:
    """Find a base case and a derived case such that the answer is correct on exactly one of them. Return both trials.

    The answer is wrong on some of the exercise's cases. The difference between the two cases shows under which
    condition the answer is wrong. If the answer is wrong on the base case, the derived case must change an option or
    have a larger result, because a result of size 1 is often right by chance.
    """
    tolerant, bases = with_sweep_tolerance(exercise), {}  # a result near the tolerance is neither right nor wrong

    def run(case: Case) -> Trial:
        yours = parse_observation(exercise, case, runner.run(case))
        return compare_where_finite(case, yours, cached_oracle_observation(exercise, case, False), False)

    for name in CONDITIONS:
        for base, case in derived_pairs(exercise, name) if name not in exercise.unswept else ():
            first = bases[id(base)] = bases.get(id(base)) or run(base)
            second_size = _result_size(cached_oracle_observation(exercise, case, False))
            if first.is_correct(exercise) or name == "options" or second_size > _result_size(first.expected):
                second = run(case)
                right, wrong = (first, second) if first.is_correct(exercise) else (second, first)
                if _result_size(right.expected) == 1 < _result_size(wrong.expected):
                    continue  # right by chance
                if not second.yours.failure and right.is_correct(exercise) and not wrong.is_correct(tolerant):
                    return first, second
    return None


def _scale(observation: Observation) -> float:
    """Return the largest absolute value in a result, but at most 1.

    For several tensors, use the smallest of their maxima.
    """
    numbers = [t.detach().abs().max() for t in collect_tensors(observation.value) if is_float(t) and t.numel()]
    return min([1.0, *(float(n) for n in numbers if 0 < n < math.inf)])


def _result_size(observation: Observation) -> int:
    return sum(tensor.numel() for tensor in collect_tensors(observation.value))


def _require_all_runs(observations: list[Observation], count: int) -> list[Observation]:
    """Check that no observation is missing, and return the observations. Only an exception may end the runs early.

    Raises:
        ValueError: observations are missing without an exception, so nothing is known about the other runs.
    """
    if len(observations) > count or (len(observations) < count and not (observations and observations[-1].failure)):
        raise ValueError(f"{count} runs gave {len(observations)} results")
    return observations


def _sweep_limits(exercise: Exercise, runner: Runner, name: str) -> Finding | None:
    """Test sizes above a limit in the code, and float arguments near a number in the code. Results are not cached."""
    oracle, code = make_runner(exercise, exercise.oracle), runner.inspect_code()
    for base in base_cases(exercise)[:1]:
        sizes = [
            (limit.text, "size", case)
            for limit in find_limits(code)
            for case in cases_of_size(exercise, base, limit.size)
        ]
        floats = [
            (f"{number:g}", "value", case)
            for number in sorted(code.floats)
            for case in cases_near_number(exercise, base, number)
        ]
        for text, what, case in (*sizes, *floats):
            trial = Trial(case, *(parse_observation(exercise, case, r.run(case)) for r in (runner, oracle)))
            if trial.expected.failure or trial.is_correct(with_sweep_tolerance(exercise)):
                continue
            failure = trial.yours.failure
            outcome = f"raises {article(failure.type)}{error_summary(failure)}" if failure else "gives a wrong result"
            message = (
                f"{call_text(exercise, base)} is right, but your code {outcome} when"
                f" {change_text(exercise, base, case)}. Does `{text}` in your code limit this {what}?"
            )
            return Finding("sizes", message=message)
    return None


def _sweep_cases(exercise: Exercise, runner: Runner, name: str) -> Finding | None:
    for base, case in derived_pairs(exercise, name):
        raw = runner.run(case)
        yours = parse_observation(exercise, case, raw)
        if name in _MAY_RAISE and yours.failure:
            continue
        if exercise.parse_result and not all(t.isfinite().all() for t in collect_tensors(raw.value)):
            return Finding(name, message=f"The result of {call_text(exercise, case)} contains nan or inf.")
        expected = cached_oracle_observation(exercise, case, False)
        may_give_nan = name in _MAY_GIVE_NAN and not (name == "hidden rows" and _result_size(expected) == 1)
        trial = compare_where_finite(case, yours, expected, may_give_nan)
        scale = _scale(expected) if name == "small" else 1.0
        if not trial.is_correct(with_sweep_tolerance(exercise, scale)):
            return Finding(name, trial, base=base, scale=scale)
        if changes := unexpected_changes(yours, trial.expected):
            text = f"{call_text(exercise, case)} is right, but the call changes `{changes[0]}`."
            return Finding(name, message=text)
    return None


def compare_where_finite(case: Case, yours: Observation, expected: Observation, only_ordinary: bool) -> Trial:
    """Return a trial of two observations. In both, 0 replaces each number that should not be compared.

    A number is not compared if the oracle's number is not finite. Large numbers can overflow or underflow. Therefore,
    `only_ordinary` also skips a number if the answer's number is not finite, or if the answer's whole row is 0.
    """
    if yours.failure or expected.failure:
        return Trial(case, yours, expected)
    left, right = _clear(yours.value, expected.value, only_ordinary)
    return Trial(case, replace(yours, value=left), replace(expected, value=right))


def _clear(yours: Any, expected: Any, only_ordinary: bool) -> tuple[Any, Any]:
    """Write 0 in place of the numbers that `compare_where_finite` ignores."""
    if type(yours) in (tuple, list) and type(expected) in (tuple, list) and len(yours) == len(expected):
        pairs = [_clear(a, b, only_ordinary) for a, b in zip(yours, expected)]
        return type(yours)(a for a, _ in pairs), type(expected)(b for _, b in pairs)
    if not (isinstance(yours, Tensor) and isinstance(expected, Tensor) and is_float(yours) and is_float(expected)):
        return yours, expected
    if yours.shape != expected.shape:
        return yours, expected
    ignored = ~expected.isfinite()
    if only_ordinary:
        ignored = ignored | ~yours.isfinite()
        ignored = ignored | (yours == 0).all(-1, keepdim=True) if yours.dim() else ignored
    return yours.detach().masked_fill(ignored, 0.0), expected.detach().masked_fill(ignored, 0.0)


def _sweep_settings(exercise: Exercise, runner: Runner, name: str) -> Finding | None:
    """Report a global setting of torch that a call changes and does not restore."""
    for case in base_cases(exercise)[:1]:
        yours, expected = runner.run(case), cached_oracle_observation(exercise, case, False)
        if switched := [setting for setting in yours.switched if setting not in expected.switched]:
            message = (
                f"{call_text(exercise, case)} is right, but it changes the value of `{switched[0]}`, which affects all"
                " later code. Change a setting only inside a `with` block, such as `with torch.no_grad():`, which"
                " restores the setting."
            )
            return Finding(name, message=message)
    return None


def _sweep_state(exercise: Exercise, runner: Runner, name: str) -> Finding | None:
    sequences = call_sequences(exercise)
    without_gradients = sequences[:1] if exercise.requires_gradients else []
    for sequence, gradients in (*((s, True) for s in sequences), *((s, False) for s in without_gradients)):
        observations = _require_all_runs(runner.run_in_sequence(sequence, gradients), len(sequence))
        for i, (case, yours) in enumerate(zip(sequence, observations)):
            expected = cached_oracle_observation(exercise, case, False)
            parsed = parse_observation(exercise, case, yours)
            trial = compare_where_finite(case, parsed, expected, False)
            is_correct = trial.is_correct(with_sweep_tolerance(exercise))
            if is_correct and yours.reused:
                message = (
                    f"{call_text(exercise, case)} returns the same object as an earlier call, or one that shares its"
                    " memory, so changing one result changes the other. Create a new object in each call."
                    f"{kept_text(yours.kept)}"
                )
                return Finding(name, message=message)
            if is_correct:
                if changes := unexpected_changes(yours, expected):
                    mode = "" if gradients else " under `torch.no_grad()`"
                    text = f"{call_text(exercise, case)} is right, but the call changes `{changes[0]}`{mode}."
                    return Finding(name, message=text)
                continue
            alone = parse_observation(exercise, case, runner.run(case))
            alone_right = compare_where_finite(case, alone, expected, False).is_correct(with_sweep_tolerance(exercise))
            kept = observations[i - 1].kept if i else ()
            if not (alone_right or kept):
                return Finding("sizes", compare_where_finite(case, alone, expected, False))
            return Finding(name, message=_state_message(exercise, sequence[:i], case, trial, kept))
    return None


def _sweep_seed(exercise: Exercise, runner: Runner, name: str) -> Finding | None:
    for case in cases_without_generator(exercise):
        observations = _require_all_runs(runner.run_in_sequence([case, replace(case, seed=case.seed + 1), case]), 3)
        if any(o.failure for o in observations):
            return Finding("sizes", Trial(case, observations[-1], cached_oracle_observation(exercise, case, False)))
        first, _, again = observations
        if not values_identical(first.value, again.value):
            message = (
                f"{call_text(exercise, case)} gives two different results after the same torch.manual_seed. Without a"
                " generator, sample from torch's global generator: pass `generator` on to torch, even if it is None."
            )
            return Finding(name, message=message)
    return None


def _state_message(exercise: Exercise, earlier: list[Case], case: Case, trial: Trial, kept: Sequence[str]) -> str:
    call, failure = call_text(exercise, case), trial.yours.failure
    before = inputs_text(exercise, earlier[-1]) if earlier else ""
    outcome = f"raises {article(failure.type)}{error_summary(failure)}" if failure else "gives a wrong result"
    memory = kept_text(kept) or " Does your code keep something from an earlier call?"
    return (
        f"{call} {outcome} after earlier calls{f' (the last one with {before})' if before else ''}. A result should"
        f" depend only on the arguments and the parameters.{memory}"
    )


def _sweep_gradients(exercise: Exercise, runner: Runner, name: str) -> Finding | None:
    message = find_wrong_gradient(exercise, runner)
    return Finding(name, message=message) if message else None


def _sweep_finite_gradients(exercise: Exercise, runner: Runner, name: str) -> Finding | None:
    trial = find_infinite_gradient(exercise, runner)
    return Finding(name, trial) if trial else None


def _sweep_initialisation(exercise: Exercise, runner: Runner, name: str) -> Finding | None:
    """Check that two objects created after different seeds start with different random parameters."""
    bases = base_cases(exercise)[:1]
    cases = [replace(case, fill=False, seed=case.seed + step) for case in bases for step in (100, 200)]
    oracle = make_runner(exercise, exercise.oracle)
    states = [[r.run(case, RunOptions(state=True)).state or {} for case in cases] for r in (runner, oracle)]
    if not cases:
        return None
    (first, second), (expected, other) = states
    fixed = [
        n
        for n in expected
        if not torch.equal(expected[n], other[n]) and n in first and torch.equal(first[n], second[n])
    ]
    if not fixed:
        return None
    message = (
        f"`{fixed[0]}` starts with the same numbers in every new object, whatever seed is set before. Does `__init__`"
        " set a seed? Initial values should come from torch's random number generator."
    )
    return Finding(name, message=message)


def _sweep_copies(exercise: Exercise, runner: Runner, name: str) -> Finding | None:
    case = next(iter(base_cases(exercise)), None)
    if case is None:
        return None
    expected = cached_oracle_observation(exercise, case, False)
    for (sweep, what), yours in zip(_COPIES, _require_all_runs(runner.run_copies(case), len(_COPIES))):
        parsed = parse_observation(exercise, case, yours)
        right = compare_where_finite(case, parsed, expected, False).is_correct(with_sweep_tolerance(exercise))
        if sweep == name and not right:
            failure = yours.failure
            outcome = f"raises {article(failure.type)}{error_summary(failure)}" if failure else "gives another result"
            return Finding(name, message=f"{call_text(exercise, case)} is right, but {what} {outcome}.")
    return None


_COPIES = (
    ("copies", "a deep copy of your object after this call (`copy.deepcopy`)"),
    ("copies", "a new object with the same arguments that loads its `state_dict()`"),
    ("parameters", "a new object that loads a state_dict with only the parameters"),
)
