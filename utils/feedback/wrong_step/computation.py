"""Match the torch calls of an answer with the milestones of the expected computation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from torch import Tensor

from utils.exercises.call_trace import TracedCall
from utils.exercises.observe import is_float
from utils.feedback.wrong_step.milestones import (
    ATOL,
    ExpectedValues,
    Match,
    changes_nothing,
    is_multiple,
    is_telling,
    match,
    matching_slices,
    share_of_equal_numbers,
    trace_back,
)

MIN_TOLERANCE = 3e-6  # the lowest tolerance, because a different order of operations changes the last digits
ARITHMETIC = ("add", "sub", "rsub", "mul", "div", "truediv", "rdiv", "rtruediv", "pow")
CREATION = ("zeros", "ones", "empty", "full", "arange", "tensor", "as_tensor", "eye", "linspace", "rand", "randn")
VIEWS = (
    "getitem view reshape transpose permute unsqueeze squeeze flatten unflatten movedim swapaxes swapdims expand"
    " expand_as unbind chunk split narrow select clone detach contiguous to float double view_as_complex roll flip"
).split()


class Computation:
    """The calls that an answer makes, and the milestones that these calls reach.

    Attributes:
        milestones: the expected intermediate values, in order.
        others: other correct values; see `ExpectedValues`.
        calls: the recorded calls, in order.
        inputs: for each call, the earlier calls whose results it uses.
        reached: for each call, the index of the last milestone that equals its result, or None.
        atol: the tolerance for equal numbers, derived from the exercise's tolerance.
        kinds: for each call, how its result matches its milestone: "same", "transposed" or None (see `match`).
    """

    def __init__(self, expected: ExpectedValues, calls: Sequence[TracedCall], atol: float) -> None:
        self.milestones, self.others, self.calls = expected.milestones, expected.others, calls
        self.atol = min(ATOL, max(MIN_TOLERANCE, atol))
        self.inputs = [[j for j in call.inputs if j < i] for i, call in enumerate(calls)]
        self.reached: list[int | None] = [None] * len(calls)
        self.kinds: list[Match | None] = [None] * len(calls)
        for i in range(len(calls)):
            self._match_call(i)
        self._match_slices()
        for i, k in enumerate(self.reached):  # it is wrong to compute a milestone from a later milestone
            if k is not None and (self.last_input(i) or 0) > k:
                self.reached[i] = None
        self.used = {j for inputs in self.inputs for j in inputs}
        self.parts = self._find_parts()
        self.constants = self._find_constants()
        self.leading = self._find_leading()

    def _match_call(self, i: int) -> None:
        value = self.calls[i].value
        if value is None or not is_float(value):
            return
        kinds: dict[int, Match] = {
            k: kind for k, m in enumerate(self.milestones) if (kind := match(value, m.value, self.atol))
        }
        if kinds:
            best = max((k for k in kinds if kinds[k] == "same"), default=max(kinds))
            self.reached[i], self.kinds[i] = best, kinds[best]

    def _match_slices(self) -> None:
        """Find milestones that are computed slice by slice, for example in a loop over rows or heads."""
        groups: dict[tuple[int, str], list[int]] = {}
        for i, call in enumerate(self.calls):
            if self.reached[i] is None and call.value is not None and is_float(call.value):
                groups.setdefault((call.line, call.name), []).append(i)
        for members in groups.values():
            for k in reversed(range(len(self.milestones))):
                if self._cover(members, k):
                    break

    def _cover(self, members: list[int], k: int) -> bool:
        """Mark `members` if these calls compute all slices of milestone `k` along one axis. Return whether they do."""
        milestone = self.milestones[k].value
        values = ((i, self.calls[i].value) for i in members)
        slices = {i: matching_slices(value, milestone, self.atol) for i, value in values if value is not None}
        found = set().union(*slices.values()) if slices else set()
        if not any(size > 1 and found >= {(axis, n) for n in range(size)} for axis, size in enumerate(milestone.shape)):
            return False
        for i in (i for i in slices if slices[i]):
            self.reached[i], self.kinds[i] = k, "same"
        return True

    def _find_parts(self) -> set[int]:
        """Return the calls that compute a part of a milestone, for example in a loop with too few iterations."""
        values = ((i, call.value) for i, call in enumerate(self.calls) if self.reached[i] is None)
        return {
            i
            for i, value in values
            if value is not None and any(matching_slices(value, m.value, self.atol) for m in self.milestones)
        }

    def _find_constants(self) -> set[int]:
        """Return the calls that are not steps of the computation: their results depend only on constants or masks."""
        constants: set[int] = set()
        has_constant_steps = any(m.is_constant for m in self.milestones)
        for i, call in enumerate(self.calls):
            from_constants = not call.has_other_inputs and all(
                j in constants or not self.is_number(j) for j in self.inputs[i]
            )
            is_created = call.name.removeprefix("new_").removesuffix("_like") in CREATION
            if is_created or (from_constants and (not has_constant_steps or call.name in VIEWS)):
                constants.add(i)
        return constants

    def _find_leading(self) -> set[int]:
        """Return the calls that lead to a new milestone. Their results count as correct.

        A milestone is new if it is later than all `ancestors` of the call.
        """
        furthest = [-1] * len(self.calls)  # for each call, the last milestone that its result leads to
        for i in reversed(range(len(self.calls))):
            k = self.reached[i]
            own = furthest[i] if k is None else k
            for j in self.inputs[i] if self.is_number(i) else ():
                furthest[j] = max(furthest[j], own)
        return {i for i, k in enumerate(furthest) if k > max(self.ancestors(i), default=-1)}

    # --- questions --------------------------------------------------------------------------------------

    def furthest_label(self) -> str | None:
        """Return the label of the last required milestone that the answer reaches, or None.

        Transposed milestones do not count. Optional milestones do not count either, because a wrong computation may
        contain their numbers.
        """
        given = {k for k, kind in zip(self.reached, self.kinds) if k is not None and kind == "same"}
        required = [k for k in sorted(given) if not self.milestones[k].is_optional]
        return self.milestones[required[-1]].label if required else None

    def is_number(self, i: int) -> bool:
        """Tell whether a call returned floating-point numbers."""
        return is_float(self.calls[i].value)

    def is_right(self, i: int) -> bool:
        """Tell whether the result of a call counts as right.

        The right results are expected values, parts of milestones, steps towards a milestone, constants and masks.
        """
        return self._right[i]

    @cached_property
    def _right(self) -> list[bool]:
        return [self._compute_right(i) for i in range(len(self.calls))]

    @cached_property
    def _telling_others(self) -> list[bool]:
        return [is_telling(other) for _, other in self.others]

    def _compute_right(self, i: int) -> bool:
        if self.reached[i] is not None or i in self.leading | self.constants | self.parts or not self.is_number(i):
            return True
        value, name = self.calls[i].value, self.calls[i].name
        if value is None:
            return False
        # A value with few distinct numbers can match by coincidence. Such a match counts only if the same torch
        # function computed both values.
        others = zip(self.others, self._telling_others)
        return any(
            match(value, other, self.atol) for (function, other), telling in others if function == name or telling
        )

    def has_other_steps(self, i: int) -> bool:
        """Tell whether another call on the same line also returns floating-point numbers."""
        return any(self.is_number(j) and c.line == self.calls[i].line for j, c in enumerate(self.calls) if j != i)

    def continues_on_its_line(self, i: int) -> bool:
        """Tell whether a later call on the same line as call `i` computes new numbers from its result."""
        later = (self.calls[j] for j in self.descendants(i)[1:] if self.is_number(j))
        return any(call.line == self.calls[i].line and call.name not in VIEWS for call in later)

    def last_input(self, i: int) -> int | None:
        """Return the last milestone that a direct input of a call reaches, or None."""
        return max((k for j in self.inputs[i] if (k := self.reached[j]) is not None), default=None)

    def final_call(self, result: Tensor | None) -> int:
        """Return the last call whose result is the answer's result; if there is none, return the answer's last call."""
        values = [call.value for call in self.calls] if result is not None else []
        equal = (i for i, v in enumerate(values) if v is not None and result is not None and match(v, result))
        return max(equal, default=len(self.calls) - 1)

    def first_wrong_call(self, result: Tensor | None) -> int | None:
        """Return the first call that receives only correct values, returns a wrong value, and leads to the result."""
        final, right = self.final_call(result), self._right
        harmless = self.find_harmless(final, right)
        views: set[int] = set()  # parts and rearrangements of correct values
        for i, call in enumerate(self.calls):
            if right[i] or i in harmless or not all(right[j] or j in views | harmless for j in self.inputs[i]):
                continue
            is_negation = call.name == "neg" and i != final  # the sign may change at any step before the last
            if (call.name in VIEWS and self._is_part(i)) or self._is_filled_later(i) or is_negation:
                views.add(i)
            elif final in self.descendants(i):  # ignore computations that do not lead to the result
                return i
        return None

    def find_harmless(self, final: int, right: Sequence[bool]) -> set[int]:
        """Return the calls that influence only correct results, such as `x * 0` in `x + x * 0`.

        Args:
            final: the call that gives the answer's result.
            right: for each call, whether its result counts as correct.
        """
        harmless: set[int] = set()
        # Integers, such as the result of argmax, are never compared, so nothing shows that they are right.
        is_shown_right = [each and self.is_number(i) for i, each in enumerate(right)]
        for i in reversed(range(final)):
            users = [j for j in range(i + 1, final + 1) if i in self.inputs[j] and final in self.descendants(j)]
            is_right = (j in harmless or (is_shown_right[j] and not self._is_earlier(j, i)) for j in users)
            if users and all(is_right):
                harmless.add(i)
        return harmless

    def _is_earlier(self, i: int, j: int) -> bool:
        """Tell whether call `j` depends on a later milestone than the milestone that call `i` reaches."""
        k = self.reached[i]
        return k is not None and k < max(self.ancestors(j), default=-1)

    def _is_part(self, i: int) -> bool:
        """Tell whether the result of a call is a view of an argument, or only a part of an earlier value."""
        value, sources = self.calls[i].value, [self.calls[j].value for j in self.inputs[i]]
        return not sources or any(s is not None and value is not None and value.numel() < s.numel() for s in sources)

    def _is_filled_later(self, i: int) -> bool:
        """Tell whether a call writes into a tensor, and a later call writes into the same tensor."""
        is_write = [call.name == "setitem" for call in self.calls]
        return is_write[i] and any(is_write[j] and i in self.inputs[j] for j in range(i + 1, len(self.calls)))

    def first_empty_call(self) -> int | None:
        """Return the first call that returns a tensor without entries."""
        values = ((i, call.value) for i, call in enumerate(self.calls))
        return next((i for i, value in values if value is not None and not value.numel()), None)

    def wrong_part(self, i: int, k: int) -> int | None:
        """If call `i` stacks values, return the first of them that is not a slice of milestone `k`; otherwise None."""
        parts = [j for j in self.inputs[i] if self.is_number(j)] if self.calls[i].name == "stack" else []
        milestone = self.milestones[k].value
        values = ((j, self.calls[j].value) for j in parts)
        return next((j for j, v in values if v is not None and not matching_slices(v, milestone, self.atol)), None)

    def passes(self, i: int) -> list[int]:
        """Return the calls that the step of call `i` makes in all passes of a loop."""
        step = self.calls[i].place, self.calls[i].name
        return [j for j, call in enumerate(self.calls) if (call.place, call.name) == step]

    def is_one_function(self, first: int, last: int) -> bool:
        """Tell whether all wrong calls from `first` to `last` belong to one function that the learner's line calls."""
        calls = [self.calls[j] for j in range(first, last + 1) if not self.is_right(j) or j == last]
        return not calls[-1].is_direct and all(call.function == calls[-1].function != "" for call in calls)

    def ancestors(self, i: int) -> set[int]:
        """Return the milestones that a call depends on directly, with no other milestone between them and the call."""
        given = {j: k for j, k in enumerate(self.reached) if k is not None}
        return {given[j] for j in trace_back(self.inputs, self.inputs[i], given) if j in given}

    def next_on_path(self, start: int, result: Tensor | None) -> int | None:
        """Return the call that uses the result of call `start` on the path to the answer's result.

        If several calls use it, return the last: the others compute its other operands. A call that computes only a
        condition is chosen only if there is no other call.
        """
        inputs = [[j for j in found if self.is_number(j)] for found in self.inputs]
        later = self.descendants(start)[1:]
        path = {*later} & trace_back(inputs, [self.final_call(result)])
        users = [i for i in path if start in self.inputs[i]]
        return max(users, default=min(path, default=next(iter(later), None)))

    def descendants(self, i: int) -> list[int]:
        """Return a call and all later calls that depend on its result, in order."""
        found = {i}
        for j in range(i + 1, len(self.calls)):
            if found & set(self.inputs[j]):
                found.add(j)
        return sorted(found)

    def most_similar(self, i: int, candidates: Sequence[int]) -> int | None:
        """Return the candidate milestone that has the most numbers in common with the result of call `i`.

        If they have fewer than half of the numbers in common, return the first candidate that is proportional to the
        result, or None.
        """
        value = self.calls[i].value
        shares = {k: share_of_equal_numbers(value, self.milestones[k].value) for k in candidates}
        best = max(shares, key=lambda k: shares[k], default=None)
        if best is not None and shares[best] >= 0.5:
            return best
        return next((k for k in candidates if is_multiple(value, self.milestones[k].value)), None)

    def without_operands(self, i: int, size: int) -> int:
        """Return the call that computes `size` numbers from the result of call `i` and other values.

        If there is no such call, return `i`. This happens, for example, if the result of `i` already has `size`
        numbers, or if a later call only stacks it with other rows or entries.
        """
        sizes = [0 if call.value is None else call.value.numel() for call in self.calls]
        if sizes[i] in (0, size):
            return i
        whole = next((j for j in self.descendants(i) if sizes[j] == size), i)
        return whole if self.calls[whole].name in ARITHMETIC else i

    def sources(self, i: int) -> set[int]:
        """Return the `ancestors` of a call and of all later calls that depend on its result."""
        return set().union(*(self.ancestors(j) for j in self.descendants(i)))

    def with_origins(self, milestones: set[int]) -> set[int]:
        """Return the given milestones, and all milestones from which they are computed."""
        origins = set().union(*(self.milestones[k].parents for k in milestones)) - milestones
        return self.with_origins(milestones | origins) if origins else milestones

    def skips_a_step(self, k: int, later: int) -> bool:
        """Tell whether there is a required milestone between milestones `k` and `later`. Leaves do not count."""
        between = self.milestones[k + 1 : later] if k not in self.milestones[later].parents else []
        return any(not (m.is_optional or m.is_leaf) for m in between)

    def combines_steps(self, i: int) -> bool:
        """Tell whether a call combines the results of at least two earlier calls that are not constants."""
        return len({j for j in self.inputs[i] if self.is_number(j) and j not in self.constants}) > 1

    def spans_all(self, first: int, last: int) -> bool:
        """Tell whether the lines from call `first` to call `last` contain all calls that compute numbers."""
        numeric = [c for i, c in enumerate(self.calls) if self.is_number(i) and c.name not in VIEWS]
        return all(self.calls[first].line <= call.line <= self.calls[last].line for call in numeric)

    def find_idle_call(self, i: int) -> int | None:
        """Return the last idle call (see `is_idle`) that leads to call `i`, or `i` itself if it is idle."""
        return max(filter(self.is_idle, trace_back(self.inputs, [i])), default=None)

    def is_idle(self, i: int) -> bool:
        """Tell whether a call is arithmetic that changes nothing.

        The result of such a call equals an input or an argument, or reaches the same milestone as an input.
        """
        reached, value = self.reached[i], self.calls[i].value
        if self.calls[i].name not in ARITHMETIC:
            return False
        arguments = (argument for function, argument in self.others if not function)
        return any(changes_nothing(value, argument) for argument in arguments) or any(
            (reached is not None and reached == self.reached[j]) or changes_nothing(value, self.calls[j].value)
            for j in self.inputs[i]
        )
