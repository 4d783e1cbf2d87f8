"""What may be wrong with an answer, as questions in the order in which they are asked. The first that has words speaks.

A question is a function of a `Probe` and one of its trials that returns a sentence, or None where nothing is wrong.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from torch import Size, Tensor

from utils.feedback.compare import failures_match, is_compatible_dtype, values_equal
from utils.feedback.observe import Failure, is_float
from utils.feedback.phrases import (
    actual_parameters_text,
    article,
    call_text,
    comparable_type,
    constructor_text,
    dtype_name,
    dtype_reason_text,
    error_summary,
    expected_parameters_text,
    missing_parameters_text,
    name_list_text,
    named_shape_text,
    origin_text,
    part_text,
    position_text,
    result_text,
    returns_text,
    shape_text,
    type_cause_text,
    type_text,
)
from utils.feedback.probe import Probe, Trial
from utils.feedback.torch_errors import explain_failure, hard_coded_size_hint


class Diagnostic(NamedTuple):
    """A question, the reason that a report gives when it speaks, and for a property which one is broken."""

    reason: str
    diagnose: Callable[[Probe, Trial], str | None]
    property: str | None = None


# --- what runs, and what comes out --------------------------------------------------------------------


def diagnose_notebook_globals(probe: Probe, trial: Trial) -> str | None:
    """Does it read a tensor or a number of the notebook where it should use its argument, or its own parameter?"""
    traits = probe.runner.inspect_code()
    for name, what in traits.notebook_globals:
        if not what:  # anything may be of use, but not in the place of an argument
            if traits.unused_arguments:
                return f"It uses `{name}` of the notebook, and never its argument `{traits.unused_arguments[0]}`."
            continue
        if any(p.split(".")[0] == name for p in trial.expected.parameters or ()):
            return (
                f"`{name}` without `self.` is {what} of the notebook, not the one that belongs to this object. Each"
                f" object has its own: `self.{name}`."
            )
        arguments = probe.exercise.signature.arguments
        given = f" `{arguments[0]}`" if len(arguments) == 1 else f"s {name_list_text(arguments)}"
        return (
            f"It uses `{name}`, {what} of the notebook. All that it needs should come from its argument{given}, so"
            " that it works on other inputs too."
        )
    return None


def diagnose_exception(probe: Probe, trial: Trial) -> str | None:
    """Did it stop, where it should have given a result or stopped otherwise?"""
    failure, wanted = trial.yours.failure, trial.expected.failure
    if failure is None:
        return None
    call = call_text(probe.exercise, trial.case)
    if wanted:
        if failures_match(failure, wanted):
            return None
        return f"{call} should be refused with {article(wanted.type)}; yours raised {_wrong_exception_text(failure)}"
    place = f" on line {failure.line}" if failure.line else ""
    if failure.line and failure.code:
        place += f" (`{failure.code}`)"
    if (failure.code or "").startswith(("raise ", "assert ")):
        return (
            f"{call} was refused{place}: {failure.text or failure.type}. Nothing is wrong with this input; is the"
            " condition too strict?"
        )
    why = explain_failure(failure, probe.exercise.name)
    if failure.type == "NameError" and (idle := probe.runner.inspect_code().unused_arguments):
        why += f" Its argument `{idle[0]}` is never used."
    return f"{call} stopped{place} with {article(failure.type)}: {why}{hard_coded_size_hint(probe, trial)}"


def _wrong_exception_text(failure: Failure) -> str:
    """An exception of another type than the one that is asked for."""
    raised = f"{article(failure.type)}{error_summary(failure).rstrip('.')}."
    if failure.type == "AssertionError":
        raised += " An `assert` is for what cannot happen, and `python -O` leaves it out."
    return raised


def diagnose_parameters(probe: Probe, trial: Trial) -> str | None:
    """Has an object the parameters that it should have, by name and shape?"""
    yours, wanted = trial.yours.parameters, trial.expected.parameters
    if yours is None or wanted is None or yours == wanted or trial.expected.failure:
        return None
    made = constructor_text(probe.exercise, trial.case)
    missing, extra = [n for n in wanted if n not in yours], [n for n in yours if n not in wanted]
    if missing and set(missing) <= set(trial.yours.aliases):
        return (
            f"{made} keeps one parameter under several names: {name_list_text(missing)} among them. One layer stands in"
            " several places (`a = b = nn.Linear(...)`, or `[layer] * n`); make each anew."
        )
    if missing:
        there = actual_parameters_text(yours, extra)
        return f"{made} has no parameter {name_list_text(missing)}; {there}.{missing_parameters_text(missing)}"
    if extra:
        return f"{made} has a parameter too many: {name_list_text(extra)}. {expected_parameters_text(wanted, extra)}"
    for name, shape in wanted.items():
        if yours[name] != shape:
            return f"{made} has {name} of shape {shape_text(yours[name])}, and {shape_text(shape)} is expected."
    return None


def diagnose_missing_exception(probe: Probe, trial: Trial) -> str | None:
    """Did it give a result where it should have refused?"""
    wanted = trial.expected.failure
    if wanted is None or trial.yours.failure:
        return None
    call = call_text(probe.exercise, trial.case)
    why = error_summary(wanted).rstrip(".")
    return f"{call} should be refused with {article(wanted.type)}{why}. Yours returned {type_text(trial.yours.value)}."


def diagnose_structure(probe: Probe, trial: Trial) -> str | None:
    """Is what came back of the type, the length and the order that are expected?"""
    if trial.expected.failure or trial.yours.failure:
        return None
    yours, wanted = trial.yours.value, _without_facts(probe, trial)
    call = call_text(probe.exercise, trial.case)
    if wanted is None:
        return None if yours is None else f"{call} returned {type_text(yours)}, and nothing is expected."
    if yours is None:
        if probe.exercise.kind == "value":
            return "It is None. Does the line that makes it end in a call that returns nothing?"
        return f"{call} returned None. Did you forget `return`?"
    if (
        isinstance(wanted, tuple)
        and isinstance(yours, (tuple, list))
        and (words := _tuple_message(probe, call, yours, wanted))
    ):
        return words
    if comparable_type(yours) != comparable_type(wanted):
        what = "It" if probe.exercise.kind == "value" else call
        listed = isinstance(wanted, tuple) and isinstance(probe.exercise.returns, tuple)
        named = f": {returns_text(probe.exercise)}" if listed else ""
        return f"{what} is {type_text(yours)}, and {type_text(wanted)} is expected{named}.{type_cause_text(yours)}"
    return None


def _tuple_message(probe: Probe, call: str, yours: tuple | list, wanted: tuple) -> str | None:
    """What is wrong with the items of a tuple: how many, in which order, of which type."""
    exercise = probe.exercise
    if len(yours) != len(wanted):
        return f"{call} returned {len(yours)} things, and {len(wanted)} are expected: {returns_text(exercise)}."
    permuted = any(values_equal(yours, order, exercise.atol, "wider") for order in itertools.permutations(wanted))
    if permuted and not values_equal(yours, wanted, exercise.atol, "wider"):
        return f"The parts are right and their order is not: return {returns_text(exercise)}, in this order."
    for i, (mine, right) in enumerate(zip(yours, wanted)):
        if comparable_type(mine) != comparable_type(right):
            name = part_text(probe.spec(i), i)
            return f"{call} returned {type_text(mine)} as its {name}, and {type_text(right)} is expected.{type_cause_text(mine)}"
    return None


def _without_facts(probe: Probe, trial: Trial) -> Any:
    """The expected result; without the facts that a view adds to a tuple, where it could not look at yours."""
    yours, wanted, specs = trial.yours.value, trial.expected.value, probe.exercise.specs
    if not isinstance(wanted, tuple) or len(specs) < 2 or not specs[-1].is_facts:
        return wanted
    if not isinstance(yours, tuple) or len(yours) != len(wanted) or not isinstance(yours[-1], Tensor):
        return wanted[:-1]
    return wanted if yours[-1].shape == wanted[-1].shape else wanted[:-1]


def diagnose_shape(probe: Probe, trial: Trial) -> str | None:
    """Has each tensor its shape?"""
    for part in probe.result_parts(trial):
        yours, wanted = part.yours.shape, part.expected.shape
        if yours == wanted:
            continue
        where = result_text(probe.exercise, trial.case, part.index)
        everywhere = [p for t in probe.trials for p in probe.result_parts(t) if p.index == part.index]
        if len({p.yours.shape for p in everywhere}) == 1 and len({p.expected.shape for p in everywhere}) > 1:
            always = f"has shape {shape_text(yours)} whatever the input is" if len(yours) else "is a single number"
            always = f"{where} {always}; here {named_shape_text(wanted, part.spec)} is expected."
            return always + _fixed_shape_hint(probe, yours)
        swapped = min(len(yours), len(wanted)) > 1 and yours == part.expected.mT.shape
        with_axes = ", with its last two axes swapped" if swapped else ""
        return f"{where} has shape {shape_text(yours)}{with_axes}; expected is {named_shape_text(wanted, part.spec)}."
    return None


_OF_ALL = re.compile(r"\.(sum|mean|max|min|prod|norm|var|std)\(\s*\)|torch\.(sum|mean|max|prod)\(\s*[^,()]+\)")


def _fixed_shape_hint(probe: Probe, shape: Size) -> str:
    """What the code shows of why a shape is always the same."""
    traits = probe.runner.inspect_code()
    if not shape and (found := _OF_ALL.search(traits.source)):
        return f" `{found[1] or found[2]}` without a `dim` takes all the numbers of a tensor together."
    if traits.integers & set(shape):
        return " Is a size written down in it that should be read from the argument?"
    return ""


def diagnose_device(probe: Probe, trial: Trial) -> str | None:
    """Is each tensor where the inputs are?"""
    for part in probe.result_parts(trial):
        if part.yours.device != part.expected.device:
            where = result_text(probe.exercise, trial.case, part.index)
            return (
                f"{where} is on the device {part.yours.device}, its inputs are on {part.expected.device}. Make new"
                " tensors on the device of the input, so that it also runs elsewhere."
            )
    return None


def diagnose_dtype(probe: Probe, trial: Trial) -> str | None:
    """Has each tensor numbers of the right type?"""
    for part in probe.result_parts(trial):
        yours, wanted = part.yours, part.expected
        if not is_compatible_dtype(yours.dtype, wanted.dtype, probe.exercise.dtypes):
            right = values_equal(yours, wanted, probe.exercise.atol, "any")
            what = "The numbers are right, their type is not" if right else "The type of the numbers is off"
            call = call_text(probe.exercise, trial.case)
            needed = f"{dtype_name(yours)} where {dtype_name(wanted)} is needed ({call})."
            return f"{what}: {needed}{dtype_reason_text(yours, wanted)}"
    return None


def diagnose_nonfinite(probe: Probe, trial: Trial) -> str | None:
    """Is there nan or inf where a number should be?"""
    if trial.case.note and any(_plainly_wrong(probe, other) for other in probe.trials):
        return None  # with numbers chosen to be hard; what is wrong with ordinary ones comes first
    for part in probe.result_parts(trial):
        if not is_float(part.yours):
            continue
        bad = ~part.yours.isfinite() & part.expected.isfinite()
        if bad.any():
            index = tuple(bad.nonzero()[0].tolist())
            where = result_text(probe.exercise, trial.case, part.index)
            place = position_text(index, part.spec)
            value = part.yours[index].item()
            origin = origin_text(probe.runner.find_nonfinite_origin(trial.case), probe.runner.inspect_code().source)
            return f"{where} holds {value} at {place}, where a finite number is expected.{origin}"
    return None


def _plainly_wrong(probe: Probe, trial: Trial) -> bool:
    """Whether a case without a remark has wrong numbers, and every one of them is a number."""
    if trial.case.note or trial.expected.failure or trial.is_correct(probe.exercise):
        return False
    return all(bool(part.yours.isfinite().all()) for part in probe.result_parts(trial) if is_float(part.yours))


# --- side effects, where the numbers are right ----------------------------------------------------------


def diagnose_modified_inputs(probe: Probe, trial: Trial) -> str | None:
    """Did it write into an argument?"""
    extra = [n for n in trial.yours.changed if n not in trial.expected.changed]
    if not extra or not probe.has_correct_values:
        return None
    return (
        f"The result is right, but it changed its input `{extra[0]}`. Whoever passed it in still needs the old"
        " numbers: compute a new tensor instead of writing into this one."
    )


def diagnose_gradients(probe: Probe, trial: Trial) -> str | None:
    """Do gradients reach the inputs and parameters that they should reach?"""
    if not probe.exercise.requires_gradients or not probe.has_correct_values:
        return None
    if trial.yours.backward and not trial.expected.backward:
        why = explain_failure(trial.yours.backward, probe.exercise.name)
        return f"The result is right, but gradients cannot flow back: {why}"
    broken = [n for n in trial.yours.broken if n not in trial.expected.broken]
    if broken:
        return (
            f"{call_text(probe.exercise, trial.case)}: the numbers are right, and the gradient for {name_list_text(broken)}"
            " holds nan or inf. What makes nan on the way spoils the gradient even where the number is mended"
            " afterwards."
        )
    lost = [n for n in trial.yours.detached if n not in trial.expected.level]
    if not lost:
        return None
    return (
        f"The numbers are right, but no gradient reaches {name_list_text(lost)}: the result is cut off from it (by"
        " requires_grad=False, .detach(), .item(), .data, torch.no_grad() or torch.tensor(...)), so training could not"
        " change anything."
    )


def diagnose_unused_inputs(probe: Probe, trial: Trial) -> str | None:
    """Has an input or a parameter no part in wrong numbers, in no case, though others have?"""
    if probe.exercise.differentiable is False or trial is not probe.trials[0]:
        return None
    seen: dict[str, list[bool]] = {}  # for each case in which the expected result hangs on it, whether yours does
    for t in probe.trials:
        if t.expected.failure:
            continue
        if t.yours.failure or t.yours.backward:
            return None
        inputs = [name for name, value in probe.bind_arguments(t.case).items() if is_float(value)]
        for name in [*inputs, *(t.yours.parameters or ())]:
            if name not in t.expected.level:
                seen.setdefault(name, []).append(name not in t.yours.detached)
    names = [name for name, used in seen.items() if not any(used)]
    if not names or len(names) == len(seen):
        return None
    has, it, stands = ("have", "them", "they belong") if len(names) > 1 else ("has", "it", "it belongs")
    return (
        f"{name_list_text(names)} {has} no part in the result, as far as a gradient can tell. Does another name stand where"
        f" {stands}, or is what is made of {it} left unused?"
    )


DIAGNOSTICS: tuple[Diagnostic, ...] = (
    Diagnostic("structure", diagnose_notebook_globals),
    Diagnostic("raised", diagnose_exception),
    Diagnostic("structure", diagnose_parameters),
    Diagnostic("raised", diagnose_missing_exception),
    Diagnostic("structure", diagnose_structure),
    Diagnostic("shape", diagnose_shape),
    Diagnostic("device", diagnose_device),
    Diagnostic("dtype", diagnose_dtype),
    Diagnostic("property", diagnose_nonfinite, "finite"),
    Diagnostic("property", diagnose_modified_inputs, "leaves_its_inputs"),
    Diagnostic("property", diagnose_gradients, "lets_gradients_through"),
    Diagnostic("property", diagnose_unused_inputs, "uses_everything"),
)
