"""Define `Probe`. Diagnostics and properties use it to examine an answer's trials, and to run the answer again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from torch import Tensor

from utils.exercises.compare import failures_match, values_equal
from utils.exercises.exercise import Case, Exercise, Spec
from utils.exercises.observe import Observation, RunOptions
from utils.exercises.oracles import cached_cases, cached_oracle_observation, parse_observation
from utils.exercises.runner import Runner


@dataclass(frozen=True)
class ResultPart:
    """One tensor of a result, the expected tensor and its specification."""

    index: int
    yours: Tensor
    expected: Tensor
    spec: Spec | None


@dataclass(frozen=True)
class Trial:
    """One case, with the observations of the learner's answer and of the oracle."""

    case: Case
    yours: Observation
    expected: Observation

    def is_correct(self, exercise: Exercise) -> bool:
        """Tell whether the answer returned the expected values or raised the expected error.

        Side effects are ignored.
        """
        yours, expected = self.yours.failure, self.expected.failure
        if yours or expected:
            return bool(yours and expected and failures_match(yours, expected))
        return values_equal(self.yours.value, self.expected.value, exercise.atol, exercise.dtypes)


@dataclass(frozen=True)
class Probe:
    """An answer under test: its exercise, its runner and its trials."""

    exercise: Exercise
    runner: Runner
    trials: list[Trial]

    @classmethod
    def from_runner(cls, exercise: Exercise, runner: Runner, seed: int, gradients: bool = True) -> Probe:
        """Run an answer on all cases that the exercise samples with `seed`, with or without gradients."""
        cases = cached_cases(exercise, seed)
        yours = [parse_observation(exercise, c, runner.run(c, RunOptions(gradients=gradients))) for c in cases]
        expected = [cached_oracle_observation(exercise, c, gradients) for c in cases]
        return cls(exercise, runner, [Trial(*fields) for fields in zip(cases, yours, expected)])

    def with_gradients(self) -> Probe:
        """Return a copy that also records which inputs and parameters the gradients reach."""

        def add_gradients(trial: Trial) -> Trial:
            observation = self.runner.run(trial.case, RunOptions(gradients=True))
            fields = {name: getattr(observation, name) for name in ("detached", "level", "broken", "backward")}
            return Trial(
                trial.case, replace(trial.yours, **fields), cached_oracle_observation(self.exercise, trial.case)
            )

        return replace(self, trials=[add_gradients(trial) for trial in self.trials])

    def run(self, case: Case, **options: Any) -> Observation:
        """Run the answer on another case, with the fields of `RunOptions` as keywords.

        The value of the observation is the answer's own result: `parse_result` is not applied.
        """
        return self.runner.run(case, RunOptions(**options))

    @cached_property
    def has_correct_values(self) -> bool:
        """Tell whether every trial has the expected values. If so, only side effects can be wrong."""
        return all(trial.is_correct(self.exercise) for trial in self.trials)

    def without_side_effects(self) -> Probe:
        """Return a copy of this probe, with the expected side effects in place of the answer's side effects."""

        def clean(trial: Trial) -> Trial:
            value, expected = trial.yours.value, trial.expected
            if isinstance(value, tuple) and isinstance(expected.value, tuple) and len(value) == len(expected.value):
                pairs = zip(value, expected.value)
                value = tuple(b if (s := self.spec(i)) and s.is_facts else a for i, (a, b) in enumerate(pairs))
            return replace(trial, yours=replace(trial.yours, value=value, changed=expected.changed))

        return replace(self, trials=[clean(trial) for trial in self.trials])

    def bind_arguments(self, case: Case) -> dict[str, Any]:
        """Return a case's arguments by name."""
        return self.exercise.signature.bind_arguments(case.args, case.kwargs)

    def spec(self, part: int) -> Spec | None:
        """Return the specification of a part of the result."""
        specs = self.exercise.specs
        return specs[part] if part < len(specs) else None

    def result_parts(self, trial: Trial) -> list[ResultPart]:
        """Pair the tensors of a result with the expected tensors. Returns an empty list if the structures differ."""
        yours, expected = trial.yours.value, trial.expected.value
        pairs: list[tuple[Any, Any]] = []
        if isinstance(expected, Tensor):
            pairs = [(yours, expected)]
        elif isinstance(expected, (tuple, list)) and isinstance(yours, (tuple, list)) and len(yours) == len(expected):
            pairs = list(zip(yours, expected))
        elif isinstance(expected, dict) and isinstance(yours, dict):
            pairs = [(yours.get(key), expected[key]) for key in expected]
        specs = [None if isinstance(expected, dict) else self.spec(i) for i in range(len(pairs))]
        tensors = ((i, a, b) for i, (a, b) in enumerate(pairs) if isinstance(a, Tensor) and isinstance(b, Tensor))
        return [ResultPart(i, a, b, specs[i]) for i, a, b in tensors]


def repeats_results(first: Probe, second: Probe) -> bool:
    """Tell whether an answer gave the same result for different inputs, although the expected result changed."""
    atol = first.exercise.atol
    return any(
        values_equal(a.yours.value, b.yours.value, atol, "any")
        and not values_equal(a.expected.value, b.expected.value, atol, "any")
        for a, b in zip(first.trials, second.trials)
    )
