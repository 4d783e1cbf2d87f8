"""Compare the gradients of a correct answer with the oracle's gradients."""

from __future__ import annotations

import re

import torch
from torch import Tensor

from utils.exercises.exercise import Exercise
from utils.exercises.observe import RunOptions
from utils.exercises.oracles import cached_oracle_gradients, cached_oracle_observation, parse_observation
from utils.exercises.probe import Trial
from utils.exercises.runner import Runner
from utils.exercises.sweep_cases import TOLERANCE, base_cases, derived_cases


def find_wrong_gradient(exercise: Exercise, runner: Runner) -> str | None:
    """Compare gradients with the oracle's, and return a message about the first wrong gradient.

    A gradient is wrong, for example, if the answer treats an intermediate value as a constant.
    """
    for case in (*base_cases(exercise), *derived_cases(exercise, "tokens")[:1]):
        gradients = runner.compute_gradients(case)
        for leaf, expected in cached_oracle_gradients(exercise, case).items():
            if expected is None or not expected.isfinite().all() or leaf not in gradients:
                continue
            gradient = gradients[leaf]
            tolerance = TOLERANCE * float(1 + expected.abs().max())
            if gradient is None and float(expected.abs().max()) > tolerance:
                return f"The result is right, but no gradient reaches {leaf}.{_detaching_hint(runner)}"
            if gradient is not None and not torch.allclose(gradient, expected, rtol=TOLERANCE, atol=tolerance):
                return _gradient_message(runner, leaf, gradient, expected)
    return None


def find_infinite_gradient(exercise: Exercise, runner: Runner) -> Trial | None:
    """Return the first trial in which a gradient of the answer is nan or inf, although the oracle's is finite."""
    zeros, ties, large = (derived_cases(exercise, sweep) for sweep in ("zeros", "ties", "large"))
    for case in (*zeros, *ties, *large[:1]):  # the other large inputs may overflow
        yours = parse_observation(exercise, case, runner.run(case, RunOptions(gradients=True)))
        expected = cached_oracle_observation(exercise, case, True)
        if set(yours.broken) - set(expected.broken):
            return Trial(case, yours, expected)
    return None


def _gradient_message(runner: Runner, leaf: str, gradient: Tensor, expected: Tensor) -> str:
    start = f"The result is right, but the gradient for {leaf}"
    if extra := int(((expected == 0) & (gradient.abs() > TOLERANCE)).sum()):
        return (
            f"{start} is wrong: {extra} of its {expected.numel()} numbers should be 0 but are not. Does your code"
            f" change numbers outside the computation graph?{_detaching_hint(runner)}"
        )
    return (
        f"{start} is wrong. Either your code treats a value that depends on {leaf} as a constant, or the result itself"
        f" has an error that is too small to notice.{_detaching_hint(runner)}"
    )


_DETACHING_CALL = re.compile(r"\.detach\(\)|\.data\b|\.item\(\)|\.tolist\(\)|torch\.no_grad\(\)|torch\.tensor\(")


def _detaching_hint(runner: Runner) -> str:
    match = _DETACHING_CALL.search(runner.inspect_code().source)
    return f" Does `{match[0]}` turn something into a constant?" if match else ""
