"""Run oracles and misconceptions in this process, and cache their results."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

from torch import Tensor

from utils.exercises.exercise import Case, Exercise, Misconception
from utils.exercises.instantiate import make_module_class
from utils.exercises.observe import Observation, RunOptions
from utils.exercises.runner import InProcessRunner


def make_runner(exercise: Exercise, answer: Any, initial: Callable | None = None) -> InProcessRunner:
    """Create a runner for an answer: a learner's answer, an oracle or a misconception."""
    return InProcessRunner(exercise.signature, to_learner_answer(exercise, answer, initial))


def to_learner_answer(exercise: Exercise, answer: Any, initial: Callable | None = None) -> Any:
    """Convert an oracle or a misconception to a value, function or class that a learner could pass to `check`."""
    if exercise.kind == "value":
        return answer() if isinstance(answer, types.FunctionType) else answer
    if exercise.kind == "module" and not inspect.isclass(answer):
        initial_parameters = initial or exercise.initial_parameters
        assert initial_parameters is not None  # an exercise of kind "module" declares initial parameters
        return make_module_class(initial_parameters, answer)
    return answer


def misconception_answer(exercise: Exercise, wrong: Misconception) -> Any:
    """Convert a misconception to a value, function or class, as `to_learner_answer` does."""
    return to_learner_answer(exercise, wrong.answer, wrong.initial_parameters)


def observe_answer(exercise: Exercise, answer: Any, case: Case) -> Observation:
    """Run an answer, oracle or misconception on `case`, and record which inputs and parameters get gradients."""
    return parse_observation(exercise, case, make_runner(exercise, answer).run(case, RunOptions(gradients=True)))


def parse_observation(exercise: Exercise, case: Case, observation: Observation) -> Observation:
    """Apply the exercise's `parse_result`, if any, to the value of an observation."""
    if exercise.parse_result is None or observation.failure:
        return observation
    return replace(observation, value=exercise.parse_result(observation.value, case))


def observe_oracle(exercise: Exercise, case: Case) -> Observation:
    """Run the oracle on `case`."""
    return observe_answer(exercise, exercise.oracle, case)


# --- caches ---------------------------------------------------------------------------------------------


def cached_cases(exercise: Exercise, seed: int) -> list[Case]:
    """Return the cases that an exercise samples with `seed`. Cache them until the exercise's `cache_key` changes.

    Every check uses the same `Case` objects, because the results of oracles and misconceptions are cached for each
    object. A run copies the arguments of its case, so no answer can change these objects.
    """
    return _cached_cases(exercise, seed, exercise.cache_key and exercise.cache_key())


@functools.cache
def _cached_cases(exercise: Exercise, seed: int, key: Hashable) -> list[Case]:
    return exercise.sample_cases(seed)


def cached_oracle_observation(exercise: Exercise, case: Case, gradients: bool = True) -> Observation:
    """Run the oracle on a case from `cached_cases`, and cache the observation.

    If `gradients` is False, the function may still return a cached observation with gradients.
    """
    cached = _oracle_observations(exercise, case)
    if gradients not in cached and not (cached and not gradients):
        runner = make_runner(exercise, exercise.oracle)
        cached[gradients] = parse_observation(exercise, case, runner.run(case, RunOptions(gradients=gradients)))
    return cached.get(gradients) or cached[True]


@functools.lru_cache(maxsize=512)
def _oracle_observations(exercise: Exercise, case: Case) -> dict[bool, Observation]:
    """Return the dict that caches the oracle's observations on a case. The key says whether gradients were recorded."""
    return {}


@functools.lru_cache(maxsize=512)
def cached_oracle_gradients(exercise: Exercise, case: Case) -> dict[str, Tensor | None]:
    """Compute the oracle's gradients on a case from `cached_cases`, and cache them."""
    return make_runner(exercise, exercise.oracle).compute_gradients(case)


@functools.lru_cache(maxsize=2048)
def cached_misconception_result(exercise: Exercise, index: int, case: Case) -> Observation:
    """Run a misconception without gradients on a case from `cached_cases`, and cache the observation."""
    wrong = exercise.misconceptions[index]
    return parse_observation(exercise, case, make_runner(exercise, wrong.answer, wrong.initial_parameters).run(case))
