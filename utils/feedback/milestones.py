"""Find the step at which a computation goes wrong: compare the results of an answer's lines with the oracle's values.

The exercise names its intermediate values, its milestones, in order: `{"the scores": …, "the weights": …}`. The answer
runs once more, and every torch call of its lines is recorded. A call reaches a milestone if its result has the same
numbers, up to the order of the axes. A label that ends in "?" names a value on one of several ways to the next
milestone; nothing is missing without it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from torch import Tensor

from utils.feedback.call_trace import TracedCall
from utils.feedback.milestone_values import (
    Milestone,
    is_rearranged,
    is_telling,
    matching_slices,
    same_numbers,
    share_of_equal_numbers,
)
from utils.feedback.observe import collect_tensors, is_float
from utils.feedback.probe import Probe, Trial
from utils.feedback.report import TraceLine
from utils.feedback.runner import make_runner

MOST_LINES = 12  # the number of lines that a report quotes


@dataclass(frozen=True)
class Departure:
    """The step at which a computation departs from the expected one.

    Attributes:
        sentence: what is right, and what is not.
        lines: the lines of the answer that compute something, with their milestones.
        yours, expected: the wrong intermediate value and the milestone that should follow, or None.
        name: the milestone that should follow.
    """

    sentence: str
    lines: list[TraceLine] = field(default_factory=list)
    yours: Tensor | None = None
    expected: Tensor | None = None
    name: str | None = None


def find_departure(probe: Probe, wrong: Sequence[Trial]) -> tuple[Trial, Departure] | None:
    """Return the step at which the answer departs from the milestones, and the trial that shows it.

    Args:
        probe: the answer under test.
        wrong: its wrong trials.
    """
    if probe.exercise.milestones is None:
        return None
    for trial in sorted((t for t in wrong if not t.case.train), key=lambda t: (bool(t.case.note), _size(t))):
        milestones = _milestones(probe, trial)
        if milestones is None:
            continue
        calls = probe.runner.trace(trial.case)
        departure = _Comparison(milestones, calls, trial).departure() if calls else None
        return (trial, departure) if departure else None
    return None


def _size(trial: Trial) -> int:
    return sum(t.numel() for t in collect_tensors(list(trial.case.args)))


def _milestones(probe: Probe, trial: Trial) -> list[Milestone] | None:
    """Return the milestones of a case, or None if two of them have the same numbers on this case."""
    exercise = probe.exercise
    values: Mapping[str, Tensor] = make_runner(exercise, exercise.milestones).run(trial.case).value or {}
    milestones = [Milestone(label.rstrip("?"), v.detach(), label.endswith("?")) for label, v in values.items()]
    expected = trial.expected.value
    expected = expected[0] if isinstance(expected, tuple) else expected
    comparable = is_float(expected) and exercise.parse_result is None and exercise.view is None
    if comparable and not (milestones and same_numbers(milestones[-1].value, expected)):
        milestones.append(Milestone("the result", expected.detach(), False))
    required = [m for m in milestones if not m.is_optional]
    if not required or not all(is_telling(m.value) for m in required):
        return None
    if any(is_rearranged(a.value, b.value) for a, b in itertools.combinations(required, 2)):
        return None
    return [m for m in milestones if is_telling(m.value)]


# --- comparing computations -----------------------------------------------------------------------------


class _Comparison:
    """The calls of an answer next to the milestones.

    `reached[i]` is the index of the last milestone that call i reaches, or None.
    """

    def __init__(self, milestones: list[Milestone], calls: Sequence[TracedCall], trial: Trial) -> None:
        self.milestones, self.calls, self.trial = milestones, calls, trial
        self.inputs = [[j for j in call.inputs if j < i] for i, call in enumerate(calls)]
        self.reached = [self._milestone_of(call.value) for call in calls]
        self._add_slices()
        for i, k in enumerate(self.reached):  # a step back to an earlier value is not right
            self.reached[i] = None if k is not None and (self._last_input(i) or 0) > k else k
        self.used = {j for inputs in self.inputs for j in inputs}

    def _milestone_of(self, value: Tensor | None) -> int | None:
        if value is None:
            return None
        matches = [k for k, m in enumerate(self.milestones) if is_rearranged(value, m.value)]
        return max(matches, default=None)

    def _add_slices(self) -> None:
        """Find milestones whose slices are computed one after the other, as by a loop over rows or heads."""
        for k, milestone in enumerate(self.milestones):
            slices: dict[int, set[tuple[int, int]]] = {
                i: found
                for i, call in enumerate(self.calls)
                if self.reached[i] is None and call.value is not None
                if (found := matching_slices(call.value, milestone.value))
            }
            indices = set().union(*slices.values()) if slices else set()
            if any(indices >= {(axis, i) for i in range(size)} for axis, size in enumerate(milestone.value.shape)):
                for i in slices:
                    self.reached[i] = k

    def departure(self) -> Departure | None:
        reached = {k for k in self.reached if k is not None}
        last = len(self.milestones) - 1
        if last in reached:
            return self._changed_afterwards(last)
        if unused := self._unused_result():
            return unused
        wrong = self._first_wrong_call()
        if wrong is None:
            return self._missing_step(reached)
        sources = {self.reached[j] for j in self._matched_inputs(wrong)}
        furthest = max((k for k in sources if k is not None), default=-1)
        following = self._expected_milestone(wrong, furthest, reached)
        return None if following is None else self._departure_at(wrong, furthest, following)

    def _expected_milestone(self, wrong: int, furthest: int, reached: set[int]) -> int | None:
        """Return the milestone that should follow: the one with the most equal numbers, otherwise the next required."""
        value = self.calls[wrong].value
        rest = [k for k in range(furthest + 1, len(self.milestones)) if k not in reached]
        shares = {k: share_of_equal_numbers(value, self.milestones[k].value) for k in rest}
        best = max(rest, key=lambda k: shares[k], default=None)
        if best is not None and shares[best] > 0.1:
            return best
        return self._next_milestone(furthest, reached)

    def _changed_afterwards(self, last: int) -> Departure:
        """Report that the expected result is computed, but not returned."""
        source = max(i for i, k in enumerate(self.reached) if k == last)
        later = next((i for i in range(source + 1, len(self.calls)) if source in self.inputs[i]), None)
        if later is None:
            start = self._line_text(source, start=True)
            sentence = f"{start} gives {self._label(last)}, but this is not what your code returns."
            return Departure(sentence, self._trace_lines(None, None))
        same_line = self.calls[source].line == self.calls[later].line
        start = self._line_text(source, start=True, with_operation=same_line)
        operation = _operation_text(self.calls[later].name)
        where = "on the same line" if same_line else f"on {self._line_text(later)}"
        sentence = f"{start} gives {self._label(last)}, as it should, but {operation} {where} changes it."
        return Departure(sentence, self._trace_lines(self.calls[later].line, None))

    def _departure_at(self, wrong: int, furthest: int, following: int) -> Departure:
        expected = self.milestones[following]
        if not self._has_size_of_a_step(wrong, furthest):
            wrong = self._first_of_size(wrong, expected.value)
        call = self.calls[wrong]
        where = self._line_text(wrong)
        if furthest < 0:
            start = f"The first value should be {expected.label}, but"
        else:
            source = next(i for i in reversed(range(wrong)) if self.reached[i] == furthest)
            same_line = self.calls[source].line == call.line
            first = self._line_text(source, start=True, with_operation=same_line)
            start = (
                f"{first} gives {self._label(furthest)}, as it should. The next step should lead to {expected.label},"
            )
            start += " but"
            where = f"{_operation_text(call.name)} on the same line" if same_line else where
        value = call.value
        comparable = value is not None and value.shape == expected.value.shape and is_float(value)
        return Departure(
            f"{start} {where} gives none of the expected values.",
            self._trace_lines(call.line, expected.label),
            value if comparable else None,
            expected.value if comparable else None,
            expected.label,
        )

    def _first_wrong_call(self) -> int | None:
        """Return the first call that reaches no milestone, gets only right values, and leads to no later milestone."""
        leads_to_milestone: set[int] = set()
        for i in reversed(range(len(self.calls))):
            if self.reached[i] is not None or i in leads_to_milestone:
                leads_to_milestone.update(self.inputs[i])
        constants: set[int] = set()  # results that are computed only from constants or masks are no steps
        for i, call in enumerate(self.calls):
            floats = [j for j in self.inputs[i] if is_float(self.calls[j].value) and j not in constants]
            if not floats and (self.inputs[i] or not call.has_other_inputs):
                constants.add(i)
                continue
            right = all(j in leads_to_milestone or self.reached[j] is not None for j in floats)
            unmatched = self.reached[i] is None and i not in leads_to_milestone and is_float(call.value)
            if right and unmatched and self._is_relevant(i):
                return i
        return None

    def _is_relevant(self, i: int) -> bool:
        """Tell whether the result is used by a later call, or is the last result. Other results may serve anything."""
        return i in self.used or i == len(self.calls) - 1

    def _has_size_of_a_step(self, wrong: int, furthest: int) -> bool:
        """Tell whether a wrong result has as many numbers as the last right value, or as a later milestone."""
        value = self.calls[wrong].value
        if value is None or furthest < 0:
            return False
        return any(value.numel() == milestone.value.numel() for milestone in self.milestones[furthest:])

    def _first_of_size(self, wrong: int, expected: Tensor) -> int:
        """Return the first call with as many numbers as the expected value, from the wrong call on.

        Only calls that use the wrong result count. A call before it may be a right step that no milestone describes.
        """
        descendants = {wrong}
        for i in range(wrong, len(self.calls)):
            if i == wrong or descendants & set(self.inputs[i]):
                descendants.add(i)
                value = self.calls[i].value
                if value is not None and value.numel() == expected.numel():
                    return i
        return wrong

    def _matched_inputs(self, i: int) -> set[int]:
        """Return the calls with milestones on which a call depends most directly."""
        matched, waiting = set(), list(self.inputs[i])
        while waiting:
            j = waiting.pop()
            if self.reached[j] is not None:
                matched.add(j)
            else:
                waiting += self.inputs[j]
        return matched

    def _next_milestone(self, after: int, reached: set[int]) -> int | None:
        rest = range(after + 1, len(self.milestones))
        return next((k for k in rest if k not in reached and not self.milestones[k].is_optional), None)

    def _unused_result(self) -> Departure | None:
        """Report the furthest milestone if its result is computed, but neither used nor returned."""
        furthest = max((k for k in self.reached if k is not None), default=None)
        if furthest is None or not is_float(self.milestones[furthest].value):
            return None
        holders = [i for i, k in enumerate(self.reached) if k == furthest]
        if any(i in self.used for i in holders) or self._is_returned(furthest):
            return None
        source = holders[-1]
        later = ((i, self._last_input(i)) for i in range(source + 1, len(self.calls)) if is_float(self.calls[i].value))
        consumer = next(((i, k) for i, k in later if k is not None and k < furthest), None)
        if consumer is None:
            return None
        i, k = consumer
        sentence = (
            f"{self._line_text(source, start=True)} gives {self._label(furthest)}, but this result is never used:"
            f" {_operation_text(self.calls[i].name)} on line {self.calls[i].line} (`{self.calls[i].code}`) receives"
            f" {self._label(k)}."
        )
        return Departure(sentence, self._trace_lines(self.calls[i].line, None))

    def _last_input(self, i: int) -> int | None:
        """Return the last milestone among the direct inputs of a call."""
        return max((k for j in self.inputs[i] if (k := self.reached[j]) is not None), default=None)

    def _missing_step(self, reached: set[int]) -> Departure | None:
        """Report that the answer returns a milestone before the last one."""
        if not reached:
            return None
        furthest = max(reached)
        following = self._next_milestone(furthest, reached)
        if following is None or not self._is_returned(furthest):
            return None
        label = self.milestones[following].label
        source = max(i for i, k in enumerate(self.reached) if k == furthest)
        sentence = (
            f"{self._line_text(source, start=True)} gives {self._label(furthest)}, as it should, and your code returns"
            f" it. The step that gives {label} is missing."
        )
        return Departure(sentence, self._trace_lines(None, None))

    def _is_returned(self, k: int) -> bool:
        value = self.trial.yours.value
        values = value if isinstance(value, tuple) else (value,)
        return any(isinstance(v, Tensor) and is_rearranged(v.detach(), self.milestones[k].value) for v in values)

    # --- words ------------------------------------------------------------------------------------------

    def _label(self, k: int) -> str:
        return self.milestones[k].label

    def _line_text(self, i: int, start: bool = False, with_operation: bool = False) -> str:
        call = self.calls[i]
        text = f"line {call.line} (`{call.code}`)"
        if with_operation:
            text = f"{_operation_text(call.name)} on {text}"
        return text[0].upper() + text[1:] if start else text

    def _trace_lines(self, wrong_line: int | None, expected: str | None) -> list[TraceLine]:
        """Return the lines that compute something, each with the milestones that it reaches."""
        lines: dict[int, TraceLine] = {}
        for call, k in zip(self.calls, self.reached):
            note = self._label(k) if k is not None else ""
            line = lines.get(call.line) or TraceLine(call.line, call.code, "", "")
            notes = [n for n in line.note.split(", ") if n]
            if note and note not in notes:
                notes.append(note)
            lines[call.line] = TraceLine(call.line, call.code, ", ".join(notes), "right" if notes else "")
        if wrong_line in lines:
            line = lines[wrong_line]
            note = f"does not give {expected}" if expected else line.note
            lines[wrong_line] = TraceLine(line.line, line.code, ", ".join(filter(None, (line.note, note))), "wrong")
        ordered = sorted(lines.values(), key=lambda line: line.line)
        at = next((i for i, line in enumerate(ordered) if line.line == wrong_line), 0)
        start = max(0, min(at - MOST_LINES // 2, len(ordered) - MOST_LINES))
        return ordered[start : start + MOST_LINES]


_OPERATIONS = {
    "matmul": "the matrix product", "mm": "the matrix product", "bmm": "the matrix product",
    "rmatmul": "the matrix product", "einsum": "`einsum`", "linear": "the linear layer",
    "div": "the division", "truediv": "the division", "rdiv": "the division", "rtruediv": "the division",
    "mul": "the multiplication", "rmul": "the multiplication", "add": "the addition", "radd": "the addition",
    "sub": "the subtraction", "rsub": "the subtraction", "pow": "the power", "rpow": "the power",
    "neg": "the minus sign", "getitem": "the indexing", "setitem": "the assignment",
}  # fmt: skip


def _operation_text(name: str) -> str:
    """Name an operation as people do."""
    return _OPERATIONS.get(name) or _OPERATIONS.get(name.strip("_").removeprefix("i")) or f"`{name}`"
