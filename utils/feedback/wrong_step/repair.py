"""Find the wrong step of an answer: run it again, with an expected value in place of the result of one step.

If the final result is then right, all later steps are right, so the mistake is in this step or before it. Lesson 13
calls this method patching.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

from torch import Tensor

from utils.exercises.call_trace import TracedCall
from utils.exercises.compare import values_equal
from utils.exercises.oracles import parse_observation
from utils.exercises.probe import Probe, Trial
from utils.feedback.wrong_step.computation import Computation
from utils.feedback.wrong_step.milestones import Milestone, expected_values, float_result

FEWEST_RUNS, MOST_CALLS = 15, 4000  # a search stops after MOST_CALLS calls, but not before FEWEST_RUNS runs
MOST_OTHERS = 2  # a repair is tested on at most this many other wrong trials
Form = Literal["call", "loop", "slices"]


@dataclass(frozen=True)
class Repair:
    """A change of a single step that makes a wrong answer right: a milestone replaces the result of this step.

    Attributes:
        call: the index of the first call of the step; a step in a loop consists of several calls.
        milestone: the index of the milestone.
        form: which results change if the step is in a loop. "call": the milestone replaces only the result of `call`.
            "loop": it replaces the result of every call. "slices": its slices replace the results in order.
        is_transposed: whether the last two axes of the new results are exchanged.
    """

    call: int
    milestone: int
    form: Form = "call"
    is_transposed: bool = False


class Repairer:
    """Searches for repairs of a wrong answer.

    Args:
        probe: the answer.
        trial: a wrong trial.
        computation: the answer's calls on this trial.
        others: other wrong trials; a repair has to work on the first `MOST_OTHERS` of these trials too.
    """

    def __init__(self, probe: Probe, trial: Trial, computation: Computation, others: Sequence[Trial] = ()) -> None:
        self.probe, self.trial, self.computation, self.others = probe, trial, computation, others[:MOST_OTHERS]
        self.final = computation.final_call(float_result(trial))
        self._runs = 0

    def first_repair(self) -> Repair | None:
        """Return the repair of the earliest step, or None. Repairs that undo a wrong step come first."""
        most = max(FEWEST_RUNS, MOST_CALLS // len(self.computation.calls))
        for candidates, limit in ((self._removals(), most // 2), (self._replacements(), most)):
            for repair in itertools.chain.from_iterable(map(self._forms, candidates)):
                if self._runs >= limit:
                    break
                values = replaced_values(repair, self.computation.calls, self.computation.milestones)
                if self._is_right(self.trial, values) and self._works_on_others(repair):
                    return repair
        return None

    def _forms(self, repair: Repair) -> Iterator[Repair]:
        """Yield the repair with each `form` that fits the shapes. If none fits, yield the transposed forms that fit."""
        calls, milestones = self.computation.calls, self.computation.milestones
        forms = [[replace(repair, form=f, is_transposed=t) for f in get_args(Form)] for t in (False, True)]
        fitting = [[each for each in some if replaced_values(each, calls, milestones)] for some in forms]
        yield from fitting[0] or fitting[1]

    @cached_property
    def path(self) -> list[int]:
        """The calls that influence the final result, without calls that influence only correct required milestones."""
        computation = self.computation
        # Only a required milestone shows that a result is right. The answer's own result is wrong.
        required = [k is not None and not computation.milestones[k].is_optional for k in computation.reached]
        required[self.final] = False
        harmless = computation.find_harmless(self.final, required)
        path = [i for i in range(self.final) if computation.is_number(i) and self.final in computation.descendants(i)]
        return [i for i in path if i not in harmless]

    def _removals(self) -> Iterator[Repair]:
        """Yield repairs that undo a wrong step or remove rounding errors, in the order of the steps."""
        computation = self.computation
        for i in self.path:
            same = computation.reached[i]  # the exact value of this milestone removes rounding errors
            earlier = computation.ancestors(i) if not computation.is_right(i) else set() if same is None else {same}
            yield from (Repair(i, k) for k in sorted(earlier - {len(computation.milestones) - 1}))

    def _replacements(self) -> Iterator[Repair]:
        """Yield the other repairs in the order of the steps.

        Two kinds of repair are left out because they would make any answer right. One replaces the answer's final
        result. The other puts the expected final result in place of a step. An optional milestone does not replace a
        correct result, because some correct answers skip it.
        """
        computation = self.computation
        last, reached = len(computation.milestones) - 1, {k for k in computation.reached if k is not None}
        order = sorted(range(last), key=lambda k: (k in reached, k))
        # A correct step inside a layer or model is replaced only if another line uses the step's result.
        own = {i for i, call in enumerate(computation.calls) if call.is_direct} | self._used_on_other_lines()
        for i in (i for i in self.path if i not in computation.constants):
            is_wrong = not computation.is_right(i)
            allowed = (k for k in order if is_wrong or (i in own and not computation.milestones[k].is_optional))
            yield from (Repair(i, k) for k in allowed if k != computation.reached[i])

    def _used_on_other_lines(self) -> set[int]:
        calls, inputs = self.computation.calls, self.computation.inputs
        return {j for call, used in zip(calls, inputs) for j in used if calls[j].line != call.line}

    def _works_on_others(self, repair: Repair) -> bool:
        def is_right(trial: Trial, calls: Sequence[TracedCall]) -> bool:
            expected = expected_values(self.probe, trial)
            if expected is None or len(expected.milestones) != len(self.computation.milestones):
                return True  # this trial cannot tell
            values = replaced_values(repair, calls, expected.milestones)
            return bool(values) and self._is_right(trial, values)

        return self.holds_on_others([repair.call], is_right)

    def holds_on_others(self, steps: Sequence[int], is_right: Callable[[Trial, Sequence[TracedCall]], bool]) -> bool:
        """Tell whether a repair of the calls `steps` works on the other trials.

        Args:
            steps: indices of calls. A trial in which these calls belong to other steps does not count.
            is_right: tells whether the repair makes a trial right, given its calls.
        """
        steps_here = [(c.name, c.line) for c in (self.computation.calls[i] for i in steps)]
        for trial in self.others:
            calls = self.probe.runner.trace(trial.case)
            same = [(calls[i].name, calls[i].line) for i in steps if i < len(calls)] == steps_here
            if same and not is_right(trial, calls):
                return False
        return True

    def _is_right(self, trial: Trial, values: dict[int, Tensor]) -> bool:
        return self.is_expected(trial, self.result_with(trial, values))

    def result_with(self, trial: Trial, values: dict[int, Tensor]) -> Any:
        """Run the answer with other values as the results of calls. Return its result, or None if it raises."""
        self._runs += 1
        observation = self.probe.runner.run_with_values(trial.case, [*values], [*values.values()])
        return None if observation.failure else parse_observation(self.probe.exercise, trial.case, observation).value

    def is_expected(self, trial: Trial, result: Any) -> bool:
        """Tell whether a result equals the expected result of a trial."""
        atol = max(self.probe.exercise.atol, self.computation.atol)
        return values_equal(result, trial.expected.value, atol, "any")


def replaced_values(repair: Repair, calls: Sequence[TracedCall], milestones: Sequence[Milestone]) -> dict[int, Tensor]:
    """Map the index of each call that a repair changes to its new result; {} if the milestone's shape does not fit."""
    step, milestone = calls[repair.call], milestones[repair.milestone].value
    loop = [i for i, call in enumerate(calls) if (call.place, call.name) == (step.place, step.name)]
    axes = [axis for axis, size in enumerate(milestone.shape) if size == len(loop)]
    options: dict[Form, list[dict[int, Tensor]]] = {
        "call": [{repair.call: milestone}],
        "loop": [dict.fromkeys(loop, milestone)] if len(loop) > 1 else [],
        "slices": [dict(zip(loop, milestone.unbind(axis))) for axis in axes],
    }
    for values in options[repair.form]:
        if repair.is_transposed:
            values = {i: value.mT for i, value in values.items() if value.dim() > 1}
        if values and all(_has_same_shape(calls[i].value, value) for i, value in values.items()):
            return values
    return {}


def _has_same_shape(value: Tensor | None, milestone: Tensor) -> bool:
    return value is not None and value.squeeze().shape == milestone.squeeze().shape
