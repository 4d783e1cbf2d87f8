"""Find the step at which a computation goes wrong: compare the results of the answer's lines with the oracle's values.

The exercise names its intermediate values in order; these are its milestones: `{"the scores": …, "the weights": …}`.
The answer runs once more, and each torch call that its lines make is recorded. A call reaches a milestone if its result
has the milestone's numbers. The order of the axes may differ. A label that ends in "?" names an optional value: some
correct answers skip it.

If replacing the result of one step makes the answer right (see `repair`), the report names this step. Otherwise, it
names the first wrong result, and the milestone that should follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from torch import Tensor

from utils.exercises.compare import values_equal
from utils.exercises.observe import is_float
from utils.exercises.probe import Probe, Trial
from utils.feedback.report import TraceLine
from utils.feedback.wrong_step.argument_experiments import find_changed_argument, find_wrong_reshapes
from utils.feedback.wrong_step.computation import VIEWS, Computation
from utils.feedback.wrong_step.departure_text import (
    Departure,
    label_text,
    line_text,
    list_text,
    operation_name,
    other_value_text,
    region_text,
    sentence_case,
    source_text,
    trace_lines,
)
from utils.feedback.wrong_step.expected_step import expected_leaf, expected_milestone, wrong_step
from utils.feedback.wrong_step.milestones import (
    ambiguity,
    expected_values,
    float_result,
    has_same_axes,
    has_slice_shape,
    is_unrelated,
    match,
    trace_back,
)
from utils.feedback.wrong_step.repair import Repair, Repairer

COPYING = ("expand", "expand_as", "repeat", "repeat_interleave", "broadcast_to")  # they never cause wrong numbers


def find_departure(probe: Probe, wrong: Sequence[Trial]) -> tuple[Trial, Departure] | None:
    """Return the step at which the answer departs from the milestones, and the trial that shows it.

    Args:
        probe: the answer under test.
        wrong: its wrong trials.
    """
    if probe.exercise.milestones is None:
        return None
    usable = [t for t in wrong if t.case.fill and not t.case.train and not _has_right_tensor(probe, t)]
    for trial in sorted(usable, key=ambiguity):
        expected = expected_values(probe, trial)
        calls = probe.runner.trace(trial.case) if expected and expected.milestones else []
        if expected and calls:
            computation = Computation(expected, calls, probe.exercise.atol)
            # Cases with a note, such as "with large scores", come first: a repair may fail only under this condition.
            others = sorted((t for t in usable if t is not trial), key=lambda t: not t.case.note)
            repairer = Repairer(probe, trial, computation, others)
            departure = _Explanation(computation, trial, repairer).departure()
            if departure:
                return trial, replace(departure, furthest=computation.furthest_label())
    return None


def _has_right_tensor(probe: Probe, trial: Trial) -> bool:
    """Tell whether a result consists of several tensors and the first one is correct."""
    parts = probe.result_parts(trial)
    return (
        bool(parts)
        and len(probe.exercise.specs) > 1
        and values_equal(parts[0].yours, parts[0].expected, probe.exercise.atol, "any")
    )


class _Explanation:
    """Explains where a computation departs from the milestones."""

    def __init__(self, computation: Computation, trial: Trial, repairer: Repairer) -> None:
        self.computation, self.trial, self.repairer = computation, trial, repairer
        self.milestones, self.calls, self.reached = computation.milestones, computation.calls, computation.reached
        self._label, self._trace_lines = partial(label_text, computation), partial(trace_lines, computation)
        self._line, self._operation = partial(line_text, computation), partial(operation_name, computation)
        self._region_text, self._source_text = partial(region_text, computation), partial(source_text, computation)

    def departure(self) -> Departure | None:
        reached = {k for k in self.reached if k is not None}
        last = len(self.milestones) - 1
        if empty := self._empty_result():
            return empty
        if reshapes := find_wrong_reshapes(self.repairer):
            return self._departure_of_reshapes(reshapes)
        if last in reached:
            # If the expected result is not a float tensor (ids, for example), the last milestone is not the result.
            is_result = is_float(self.trial.expected.value) and not self._is_returned(last)
            return self._changed_afterwards(last) if is_result else None
        if unused := self._unused_result():
            return unused
        if (change := find_changed_argument(self.repairer)) is not None:
            return self._departure_of_change(change)
        if repair := self.repairer.first_repair():
            return self._departure_of_repair(repair)
        wrong = self.computation.first_wrong_call(float_result(self.trial))
        if wrong is None:
            return self._missing_step(reached)
        if self.calls[wrong].name in COPYING:
            return None
        before = self.computation.ancestors(wrong)
        if before:
            furthest = max(self.computation.sources(wrong), default=-1)
            following = expected_milestone(self.computation, wrong, furthest, reached)
            return None if following is None else self._departure_after(wrong, furthest, following)
        following = expected_leaf(self.computation, wrong, reached)
        return None if following is None else self._departure_at_start(wrong, following)

    # --- sentences --------------------------------------------------------------------------------------

    def _departure_after(self, wrong: int, furthest: int, following: int) -> Departure:
        first, wrong = wrong, wrong_step(self.computation, wrong, following, furthest)
        nearest = max(self.computation.ancestors(wrong))
        given = {nearest, furthest if following > furthest else nearest}
        source, k = max((i, k) for i, k in enumerate(self.reached[:wrong]) if k in given)
        same_line = self.calls[source].line == self.calls[wrong].line
        start, right = self._source_text(source, k)
        is_clear = wrong == first and self.calls[wrong].is_direct and self.computation.has_other_steps(wrong)
        where = self._region_text(first, wrong, True) if same_line else self._line(wrong, is_clear)
        if same_line and self.computation.passes(first)[0] < source:
            where = where.replace("on the same line", "in the next pass of the loop")
        elif same_line:
            where = self._with_later(where, source, wrong)
        received = sorted(self.computation.ancestors(wrong))
        direct = {self.reached[j] for j in self.calls[wrong].inputs if j not in self.computation.constants}
        if len(received) > 1 and direct == {*received}:
            where += f", which receives {list_text([self.milestones[k].label for k in received])},"
        sentence = (
            f"{self._missing_leaf(following)}{start}{right}. The next step should lead to"
            f" {self.milestones[following].label}, but {where}"
            f" {'give' if where.startswith('the steps') else 'gives'} {self._other_value(wrong, following)}."
        )
        return self._untested_departure(sentence, wrong, following)

    def _departure_of_reshapes(self, calls: Sequence[int]) -> Departure:
        """Report calls of `reshape` or `view`. A run has shown that the result is right if they exchange axes."""
        lines = {self.calls[i].line: self._line(i) for i in calls}
        where = f"{self._operation(calls[0])} on {list_text(list(lines.values()))}"
        sentence = (
            f"{sentence_case(where)} gives the right shape, but it cannot exchange axes, because it keeps the order of"
            f" all numbers. This result would be right if the axes were exchanged there, for example with `transpose`."
        )
        return Departure(sentence, self._trace_lines(self.calls[calls[0]].line, "the right order of the axes"))

    def _departure_of_change(self, i: int) -> Departure:
        """Report that call `i`, or a call before it, changes an argument that should stay unchanged."""
        where = self._region_text(min(self._wrong_steps(i)), i, False)
        return Departure(f"Without {where}, this result would be right.", self._trace_lines(self.calls[i].line, None))

    def _departure_of_repair(self, repair: Repair) -> Departure:
        """Report the step that a repair changes. A run has shown that this change makes the final result right."""
        i, k, computation = repair.call, repair.milestone, self.computation
        label, line, reached = self.milestones[k].label, self.calls[i].line, self.reached[i]
        given = [(j, m) for j, m in enumerate(self.reached[:i]) if m is not None and m in computation.ancestors(i)]
        source, before = max(given) if given else (None, None)
        if source is not None and before == k:
            return self._departure_of_removal(source, repair)
        if reached == k and repair.form != "call":
            return self._departure_of_pass(i, k)
        if reached is not None:
            return self._departure_of_right_step(i, reached, k)
        if (part := computation.wrong_part(i, k)) is not None:
            where = sentence_case(self._line(i, with_operation=True))
            sentence = (
                f"{where} should give {label}, but {self._line(part, with_operation=True)} gives it other numbers."
            )
            return self._departure(sentence, self._trace_lines(self.calls[part].line, label), i, k)
        first = min(self._wrong_steps(i))
        where = self._region_text(first, i, source is not None and self.calls[source].line == line)
        start = "" if source is None or before is None else f"{''.join(self._source_text(source, before))}. "
        if before is not None and source in self.calls[i].inputs and computation.skips_a_step(before, k):
            where += f", which receives {self.milestones[before].label},"
        verb = "they give" if where.startswith("the steps") else "it gives"
        sentence = f"This result would be right if {where} gave {label}, but {verb} {self._other_value(i, k)}."
        marked = line if self.calls[first].line == line else None
        return self._departure(f"{start}{sentence}", self._trace_lines(marked, label), i, k)

    def _departure_of_right_step(self, i: int, reached: int, k: int) -> Departure:
        """Report a step that gives an expected value. The result would be right if the step gave milestone `k`."""
        (start, right), label, line = self._source_text(i, reached), self.milestones[k].label, self.calls[i].line
        if reached != k and reached in self.computation.ancestors(i):
            where = sentence_case(self._line(i, with_operation=True))
            sentence = f"{where} leaves {self.milestones[reached].label} unchanged here, but should give {label}."
            return Departure(sentence, self._trace_lines(line, label), name=label)
        if reached != k and reached in self.computation.with_origins({k}):
            sentence = f"{start}{right}. This result would be right if the next step gave {label}."
            return Departure(sentence, self._trace_lines(None, None), name=label)
        if reached != k:
            often = " once too often" if self.reached.count(reached) > 1 else ""
            sentence = f"{start}{often}. With {label} instead, this result would be right."
            return Departure(sentence, self._trace_lines(line, label), name=label)
        is_arranged = has_same_axes(self.calls[i].value, self.milestones[k].value)
        if self.computation.kinds[i] == "transposed" or not is_arranged:
            sentence = f"{start}. With rows and columns exchanged, this result would be right."
            return Departure(sentence, self._trace_lines(line, "the right order of the axes"))
        sentence = f"{start}, but its rounding errors make later results wrong."
        return Departure(sentence, self._trace_lines(line, "enough digits"))

    def _departure_of_pass(self, i: int, k: int) -> Departure:
        """Report a step in a loop that gives milestone `k` in one pass, and should give it in all passes."""
        (start, _), label = self._source_text(i, k), self.milestones[k].label
        sentence = f"{start} in one pass of the loop. With these numbers in every pass, this result would be right."
        return Departure(sentence, self._trace_lines(self.calls[i].line, f"{label} in every pass"), name=label)

    def _departure_of_removal(self, source: int, repair: Repair) -> Departure:
        """Report that the steps after call `source` make the result wrong.

        The repair replaces the result of the last of these steps with the result of call `source`, a milestone.
        """
        i, k, line = repair.call, repair.milestone, self.calls[repair.call].line
        first = min({*self._wrong_steps(i)} & {*self.computation.descendants(source)}, default=i)
        where = self._region_text(first, i, self.calls[source].line == line)
        where = self._with_later(where, source, i)
        if repair.form == "call" and len(self.computation.passes(i)) > 1:
            where += " in this pass of the loop"
        sentence = f"Without {where}, this result would be right."
        if not has_same_axes(self.calls[i].value, self.calls[source].value):
            change = f"kept the numbers of {self.milestones[k].label} in their places"
            sentence = f"This result would be right if {where} {change}."
        later = (m.label for m in self.milestones[k + 1 :] if not (m.is_optional or m.is_leaf))
        start, lines = "".join(self._source_text(source, k)), self._trace_lines(line, None)
        return Departure(f"{start}. {sentence}", lines, name=next(later, None))

    def _with_later(self, text: str, source: int, i: int) -> str:
        """Call the operation of call `i` "the later division", for example, if call `source` is a division too."""
        operation = self._operation(i)
        is_same = operation == self._operation(source)
        return text.replace(operation, f"the later {operation.removeprefix('the ')}") if is_same else text

    def _wrong_steps(self, i: int) -> list[int]:
        """Return call `i` and all calls with wrong results that lead to it."""
        path = trace_back(self.computation.inputs, [i])
        return [j for j in path if j == i or not self.computation.is_right(j)]

    def _other_value(self, wrong: int, following: int) -> str:
        return other_value_text(self.calls[wrong].value, self.milestones[following].value, self.computation.atol)

    def _departure_at_start(self, wrong: int, following: int) -> Departure | None:
        first_wrong, size = wrong, self.milestones[following].value.numel()
        wrong = self.computation.without_operands(wrong_step(self.computation, wrong, following, -1), size)
        is_reached = any(k is not None for k in self.reached)
        if following == len(self.milestones) - 1 and not is_reached and self.computation.spans_all(first_wrong, wrong):
            return None  # the report already says that the whole computation gives a wrong result
        path = trace_back(self.computation.inputs, [wrong])
        if all(self.calls[i].name in (*VIEWS, "stack", "cat") for i in path):  # any of these steps can be wrong
            first_wrong = min(path)
        others = any(self.calls[i].line == self.calls[wrong].line and k is not None for i, k in enumerate(self.reached))
        goes_on = self.computation.continues_on_its_line(wrong)
        where = sentence_case(self._line(wrong, with_operation=others or goes_on))
        if self.calls[first_wrong].line != self.calls[wrong].line:
            where = f"The computation from {self._line(first_wrong)} to {self._line(wrong)}"
        (label, expected, *_), value = self.milestones[following], self.calls[wrong].value
        combines = self.milestones[following].is_leaf and self.computation.combines_steps(first_wrong)
        if combines or value is None or is_unrelated(value, expected) or not has_slice_shape(value, expected):
            sentence = f"No line up to {self._line(wrong)} gives {label}."
            return Departure(sentence, self._trace_lines(None, None), is_vague=not is_reached)
        sentence = f"{where} should lead to {label}, but gives {self._other_value(wrong, following)}."
        return self._untested_departure(sentence, wrong, following)

    def _untested_departure(self, sentence: str, wrong: int, following: int) -> Departure:
        lines = self._trace_lines(self.calls[wrong].line, self.milestones[following].label)
        is_last = following == len(self.milestones) - 1
        return self._departure(sentence, lines, self.repairer.final if is_last else wrong, following)

    def _departure(self, sentence: str, lines: list[TraceLine], place: int, following: int) -> Departure:
        yours, milestone = self.calls[place].value, self.milestones[following]
        if yours is None or yours.shape != milestone.value.shape or not is_float(yours):
            return Departure(sentence, lines, name=milestone.label)
        return Departure(sentence, lines, yours, milestone.value, milestone.label)

    def _missing_leaf(self, following: int) -> str:
        """Name a missing milestone that is computed only from the arguments; return "" if none is missing.

        A milestone does not count as missing if a reached milestone depends on it.
        """
        reached = {k for k in self.reached if k is not None}
        needed = self.computation.with_origins({following}) - self.computation.with_origins(reached)
        leaves = (k for k in sorted(needed) if self.milestones[k].is_leaf and not self.milestones[k].is_optional)
        missing = next((k for k in leaves if k != following), None)
        return "" if missing is None else f"No line gives {self.milestones[missing].label}. "

    def _changed_afterwards(self, last: int) -> Departure:
        """Report that the expected result is computed, but not returned."""
        source = max(i for i, k in enumerate(self.reached) if k == last)
        later = self.computation.next_on_path(source, float_result(self.trial))
        if later is None:
            sentence = (
                f"{sentence_case(self._line(source))} gives {self._label(source)}, but your code does not return it."
            )
            return Departure(sentence, self._trace_lines(None, None))
        same_line = self.calls[source].line == self.calls[later].line
        start = sentence_case(self._line(source, with_operation=same_line))
        where = "on the same line" if same_line else f"on {self._line(later)}"
        if self.computation.passes(later)[0] <= source:
            where = "in the next pass of the loop"
        sentence = (
            f"{start} gives {self._label(source)}, as it should, but"
            f" {self._with_later(self._operation(later), source, later)} {where} changes it."
        )
        return Departure(sentence, self._trace_lines(self.calls[later].line, None))

    def _empty_result(self) -> Departure | None:
        """Report a tensor without entries, if the expected computation contains no such tensor."""
        i = self.computation.first_empty_call()
        if i is None or any(not m.value.numel() for m in self.milestones):
            return None
        sentence = f"{sentence_case(self._line(i))} gives a tensor without entries."
        return Departure(sentence, self._trace_lines(self.calls[i].line, "any entries"))

    def _unused_result(self) -> Departure | None:
        """Report that the answer computes a milestone, but then continues from an earlier milestone."""
        furthest = max((k for k in self.reached if k is not None), default=-1)
        holders = [i for i, k in enumerate(self.reached) if k == furthest]
        if not holders or any(i in self.computation.used for i in holders):
            return None
        if self._is_returned(furthest) and not isinstance(self.trial.yours.value, tuple):
            return None
        for i in range(holders[-1] + 1, len(self.calls)):
            received = self.computation.last_input(i)
            if received is not None and received < furthest and self.computation.is_number(i):
                sentence = (
                    f"{sentence_case(self._line(holders[-1]))} gives {self._label(holders[-1])}, but no later step"
                    f" uses this result: {self._operation(i)} on {self._line(i)} receives"
                    f" {self.milestones[received].label}."
                )
                return Departure(sentence, self._trace_lines(self.calls[i].line, None))
        return None

    def _missing_step(self, reached: set[int]) -> Departure | None:
        """Report that the answer returns an intermediate value, so a step is missing."""
        furthest = max(reached, default=None)
        if furthest is None or not self._is_returned(furthest):
            return None
        following = next((m for m in self.milestones[furthest + 1 :] if not m.is_optional and not m.is_leaf), None)
        if following is None:
            return None
        source = max(i for i, k in enumerate(self.reached) if k == furthest)
        if (idle := self.computation.find_idle_call(source)) is not None:
            sentence = f"{sentence_case(self._line(idle, with_operation=True))} changes nothing in this case."
            return Departure(sentence, self._trace_lines(self.calls[idle].line, None))
        yours, expected = (m.value.flatten() for m in (self.milestones[furthest], following))
        if values_equal(yours, expected, self.computation.atol):  # the report already says that the shape differs
            return None
        sentence = (
            f"{sentence_case(self._line(source))} gives {self._label(source)}, and your code returns it. The step that"
            f" gives {following.label} is missing."
        )
        return Departure(sentence, self._trace_lines(None, None))

    def _is_returned(self, k: int) -> bool:
        value = self.trial.yours.value
        values = value if isinstance(value, tuple) else (value,)
        return any(
            isinstance(v, Tensor) and match(v.detach(), self.milestones[k].value, self.computation.atol) for v in values
        )
