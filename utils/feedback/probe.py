"""What a question or a property may look at: the trials of an answer, and the means to run it again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from torch import Tensor

from utils.feedback.compare import failures_match, values_equal
from utils.feedback.exercise import Case, Exercise, Spec
from utils.feedback.observe import Observation, RunOptions
from utils.feedback.runner import Runner, cached_cases, cached_oracle_observation, parse_observation


@dataclass(frozen=True)
class ResultPart:
    """One tensor of a result beside the expected one, with what the exercise calls it."""

    index: int
    yours: Tensor
    expected: Tensor
    spec: Spec | None


@dataclass(frozen=True)
class Trial:
    """One case with what the learner's answer and the oracle did on it."""

    case: Case
    yours: Observation
    expected: Observation

    def is_correct(self, exercise: Exercise) -> bool:
        """Whether the answer gave the expected values, or refused as expected, whatever its side effects."""
        yours, wanted = self.yours.failure, self.expected.failure
        if yours or wanted:
            return bool(yours and wanted and failures_match(yours, wanted))
        return values_equal(self.yours.value, self.expected.value, exercise.atol, exercise.dtypes)


@dataclass(frozen=True)
class Probe:
    """An answer under test: its exercise, who runs it, and its trials."""

    exercise: Exercise
    runner: Runner
    trials: list[Trial]

    @classmethod
    def from_runner(cls, exercise: Exercise, runner: Runner, seed: int, gradients: bool = True) -> Probe:
        """The trials of all cases that the exercise draws from `seed`; without `gradients` their results alone."""
        cases = cached_cases(exercise, seed)
        yours = [parse_observation(exercise, c, runner.run(c, RunOptions(gradients=gradients))) for c in cases]
        wanted = [cached_oracle_observation(exercise, c, gradients) for c in cases]
        return cls(exercise, runner, [Trial(*three) for three in zip(cases, yours, wanted)])

    def with_gradients(self) -> Probe:
        """The same results, and what gradients reach."""

        def reached(trial: Trial) -> Trial:
            again = self.runner.run(trial.case, RunOptions(gradients=True))
            fields = {name: getattr(again, name) for name in ("detached", "level", "broken", "backward")}
            return Trial(
                trial.case, replace(trial.yours, **fields), cached_oracle_observation(self.exercise, trial.case)
            )

        return replace(self, trials=[reached(trial) for trial in self.trials])

    def run(self, case: Case, **look: Any) -> Observation:
        """What the answer does on another case; `look` as `Look` has it. Its value is not read."""
        return self.runner.run(case, RunOptions(**look))

    @cached_property
    def has_correct_values(self) -> bool:
        """Whether every trial gave the expected values, so that only side effects can be wrong."""
        return all(trial.is_correct(self.exercise) for trial in self.trials)

    def bind_arguments(self, case: Case) -> dict[str, Any]:
        """A case's arguments by name."""
        return self.exercise.signature.bind_arguments(case.args, case.kwargs)

    def spec(self, part: int) -> Spec | None:
        """What the exercise calls a part of its result."""
        specs = self.exercise.specs
        return specs[part] if part < len(specs) else None

    def result_parts(self, trial: Trial) -> list[ResultPart]:
        """The tensors of a result beside the expected ones; none where the structures differ."""
        yours, wanted = trial.yours.value, trial.expected.value
        pairs: list[tuple[Any, Any]] = []
        if isinstance(wanted, Tensor):
            pairs = [(yours, wanted)]
        elif isinstance(wanted, (tuple, list)) and isinstance(yours, (tuple, list)) and len(yours) == len(wanted):
            pairs = list(zip(yours, wanted))
        elif isinstance(wanted, dict) and isinstance(yours, dict):
            pairs = [(yours.get(key), wanted[key]) for key in wanted]
        specs = [None if isinstance(wanted, dict) else self.spec(i) for i in range(len(pairs))]
        both = ((i, a, b) for i, (a, b) in enumerate(pairs) if isinstance(a, Tensor) and isinstance(b, Tensor))
        return [ResultPart(i, a, b, specs[i]) for i, a, b in both]
