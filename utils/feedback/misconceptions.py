"""Find the misconception that a wrong answer agrees with."""

from __future__ import annotations

import functools

from utils.exercises.compare import Dtypes, observations_agree
from utils.exercises.exercise import Case, Exercise, Misconception
from utils.exercises.observe import Observation
from utils.exercises.oracles import cached_misconception_result, misconception_answer, observe_answer
from utils.exercises.probe import Probe


def find_misconception(probe: Probe) -> Misconception | None:
    """Return the misconception that agrees with the answer on every case. Prefer a match with the same dtypes."""
    exercise, trials = probe.exercise, probe.trials

    rounds: tuple[Dtypes, ...] = ("same", "any")
    for dtypes in rounds:
        agree = functools.partial(observations_agree, atol=exercise.atol, dtypes=dtypes)
        for index, misconception in enumerate(exercise.misconceptions):
            # Compare values before gradients: the first value already excludes most misconceptions.
            if not all(
                agree(t.yours, cached_misconception_result(exercise, index, t.case), gradients=False) for t in trials
            ):
                continue
            observed = [_observe_misconception(exercise, index, t.case) for t in trials]
            if not all(agree(t.yours, o, gradients=exercise.requires_gradients) for t, o in zip(trials, observed)):
                continue
            gave_result = any(o.failure is None for o in observed)  # otherwise, only exceptions agree
            if gave_result and not all(
                agree(o, t.expected, gradients=exercise.requires_gradients) for t, o in zip(trials, observed)
            ):
                return misconception
    return None


def _observe_misconception(exercise: Exercise, index: int, case: Case) -> Observation:
    """Run a misconception on a case, with gradients if the exercise requires them."""
    if not exercise.requires_gradients:
        return cached_misconception_result(exercise, index, case)
    return observe_answer(exercise, misconception_answer(exercise, exercise.misconceptions[index]), case)
