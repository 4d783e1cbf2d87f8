"""The diagnostics, in the order in which they run. Each function looks for one kind of fault.

A diagnostic takes a `Probe` and one of its trials. It returns a sentence, or None if it finds nothing wrong. The first
sentence becomes the message of the report.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from torch import Size, Tensor

from utils.feedback.compare import failures_match, is_compatible_dtype, unexpected_changes, values_equal
from utils.feedback.exercise import Case
from utils.feedback.failing_line import raised_by_own_code
from utils.feedback.observe import Failure, is_float
from utils.feedback.op_trace import CAUSES_OF_INF
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
from utils.feedback.probe import Probe, ResultPart, Trial
from utils.feedback.shape_relations import shape_relation_text
from utils.feedback.size_hints import constant_axis_hint, fixed_axis_hint, hard_coded_size_hint, has_hard_coded_size
from utils.feedback.torch_errors import explain_failure


class Diagnostic(NamedTuple):
    """A diagnostic, the reason for its report and, for a property, the name of the property."""

    reason: str
    diagnose: Callable[[Probe, Trial], str | None]
    property: str | None = None


# --- errors and the structure of the result -----------------------------------------------------------


def diagnose_notebook_globals(probe: Probe, trial: Trial) -> str | None:
    """Check that the answer does not use a notebook variable where it should use an argument or its own parameter."""
    traits = probe.runner.inspect_code()
    for name, kind in traits.notebook_globals:
        if not kind:  # reading any other value, such as a table of settings, is a fault only if an argument is unused
            if traits.unused_arguments:
                return (
                    f"Your code uses the notebook's variable `{name}`, but never its argument"
                    f" `{traits.unused_arguments[0]}`."
                )
            continue
        if any(p.split(".")[0] == name for p in trial.expected.parameters or ()):
            return (
                f"`{name}` without `self.` is {kind} in the notebook, not this object's own `{name}`. Write"
                f" `self.{name}`."
            )
        arguments = probe.exercise.signature.arguments
        shown = f" `{arguments[0]}`" if len(arguments) == 1 else f"s {name_list_text(arguments)}"
        if kind == "a number":  # the number may be a setting that no argument holds
            return (
                f"Your code uses `{name}`, a number in the notebook. If this number describes the input, compute it"
                f" from the argument{shown} instead, so that your code works on other inputs too."
            )
        return (
            f"Your code uses `{name}`, {kind} in the notebook. It should take its values from its argument{shown}, so"
            " that it works on other inputs too."
        )
    return None


def diagnose_exception(probe: Probe, trial: Trial) -> str | None:
    """Check that the answer raised no exception, or the exception that the oracle raised."""
    failure, expected = trial.yours.failure, trial.expected.failure
    if failure is None:
        return None
    call = call_text(probe.exercise, trial.case)
    if expected:
        if failures_match(failure, expected):
            return None
        return f"{call} should raise {article(expected.type)}, but raised {_wrong_exception_text(failure)}"
    place = f" on line {failure.line}" if failure.line else ""
    if failure.line and failure.code:
        place += f" (`{failure.code}`)"
    if reason := raised_by_own_code(failure):
        return f"{call} {_OWN_EXCEPTIONS[reason].format(place=place, error=_own_error_text(failure))}"
    why = explain_failure(failure, probe.exercise.name)
    if failure.type == "NameError" and (unused := probe.runner.inspect_code().unused_arguments):
        why += f" Your code never uses its argument `{unused[0]}`."
    hint = hard_coded_size_hint(probe, trial) or fixed_axis_hint(probe, trial) or constant_axis_hint(probe)
    return f"{call} stopped{place} with {article(failure.type)}: {why}{hint}"


# What a learner's `raise` or `assert` means, by the result of `raised_by_own_code`. The oracle accepts the input.
_OWN_EXCEPTIONS = {
    "validation": "was rejected{place}: {error}. This input is valid; is the condition too strict?",
    "condition": (
        "stopped{place}: {error}. This input is valid, so either the condition for this error is wrong or a value that"
        " the condition uses."
    ),
    "except": (
        "stopped{place}: {error}. This line is in an `except` block, so another error came first. To see that error,"
        " remove `try` and `except` for a moment."
    ),
    "unconditional": "stopped{place}: {error}. This input is valid, so your code should not raise this error here.",
}


def _own_error_text(failure: Failure) -> str:
    return (failure.text.strip() or failure.type).splitlines()[0].rstrip(".")


def _wrong_exception_text(failure: Failure) -> str:
    """Describe an exception of an unexpected type."""
    text = f"{article(failure.type)}{error_summary(failure).rstrip('.')}."
    if failure.type == "AssertionError" and raised_by_own_code(failure):
        text += " `assert` is meant for states that cannot occur, and `python -O` removes it."
    return text


def diagnose_parameters(probe: Probe, trial: Trial) -> str | None:
    """Check the names and shapes of a module's parameters."""
    yours, expected = trial.yours.parameters, trial.expected.parameters
    if yours is None or expected is None or yours == expected or trial.expected.failure:
        return None
    constructor = constructor_text(probe.exercise, trial.case)
    missing, extra = [n for n in expected if n not in yours], [n for n in yours if n not in expected]
    if missing and set(missing) <= set(trial.yours.aliases):
        return (
            f"{constructor} has one parameter under several names, among them {name_list_text(missing)}."
            " `a = b = nn.Linear(...)`, `[layer] * n` and `a.weight = b.weight` share parameters; create separate"
            " layers instead."
        )
    if missing:
        actual = actual_parameters_text(yours, extra)
        cause = missing_parameters_text(missing, yours)
        return f"{constructor} has no parameter {name_list_text(missing)}; {actual}.{cause}"
    if extra:
        unexpected = "an unexpected parameter" if len(extra) == 1 else "unexpected parameters"
        return f"{constructor} has {unexpected}: {name_list_text(extra)}. {expected_parameters_text(expected, extra)}"
    for name, shape in expected.items():
        if yours[name] != shape:
            return (
                f"`{name}` of {constructor} has shape {shape_text(yours[name])}, but should have shape"
                f" {shape_text(shape)}."
            )
    return None


def diagnose_missing_exception(probe: Probe, trial: Trial) -> str | None:
    """Check that the answer raised an exception if the oracle did."""
    expected = trial.expected.failure
    if expected is None or trial.yours.failure:
        return None
    call = call_text(probe.exercise, trial.case)
    why = error_summary(expected).rstrip(".")
    return f"{call} should raise {article(expected.type)}{why}. Your code returned {type_text(trial.yours.value)}."


def diagnose_structure(probe: Probe, trial: Trial) -> str | None:
    """Check the type of the result and, for a tuple, the number, order and types of its items."""
    if trial.expected.failure or trial.yours.failure:
        return None
    yours, expected = trial.yours.value, _without_facts(probe, trial)
    is_value = probe.exercise.kind == "value"
    call = call_text(probe.exercise, trial.case)
    if expected is None:
        return None if yours is None else f"{call} returned {type_text(yours)}, but should return nothing."
    if yours is None:
        if is_value:
            return f"`{call}` is None. Does the line that assigns it end with a call that returns nothing?"
        return f"{call} returned None. Did you forget `return`?"
    if (
        isinstance(expected, tuple)
        and isinstance(yours, (tuple, list))
        and (message := _tuple_message(probe, call, yours, expected))
    ):
        return message
    if comparable_type(yours) != comparable_type(expected):
        is_listed = isinstance(expected, tuple) and isinstance(probe.exercise.returns, tuple)
        listed = f": {returns_text(probe.exercise)}" if is_listed else ""
        verbs = (f"`{call}` is", "should be") if is_value else (f"{call} returned", "should return")
        return f"{verbs[0]} {type_text(yours)}, but {verbs[1]} {type_text(expected)}{listed}.{type_cause_text(yours)}"
    return None


def _tuple_message(probe: Probe, call: str, yours: tuple | list, expected: tuple) -> str | None:
    """Describe what is wrong with the items of a tuple: their number, their order or a type."""
    exercise = probe.exercise
    if len(yours) != len(expected):
        return f"{call} returned {len(yours)} values, but should return {len(expected)}: {returns_text(exercise)}."
    permuted = any(values_equal(yours, order, exercise.atol, "wider") for order in itertools.permutations(expected))
    if permuted and not values_equal(yours, expected, exercise.atol, "wider"):
        return f"The values are right, but their order is not: return {returns_text(exercise)}, in this order."
    for i, (item, expected_item) in enumerate(zip(yours, expected)):
        if comparable_type(item) != comparable_type(expected_item):
            name = part_text(probe.spec(i), i)
            return (
                f"{call} returned {type_text(item)} as {name}, but should return {type_text(expected_item)}."
                f"{type_cause_text(item)}"
            )
    return None


def _without_facts(probe: Probe, trial: Trial) -> Any:
    """Return the expected result, without its facts if the exercise's view could not derive facts from the answer."""
    yours, expected, specs = trial.yours.value, trial.expected.value, probe.exercise.specs
    if not isinstance(expected, tuple) or len(specs) < 2 or not specs[-1].is_facts:
        return expected
    if not isinstance(yours, tuple) or len(yours) != len(expected) or not isinstance(yours[-1], Tensor):
        return expected[:-1]
    return expected if yours[-1].shape == expected[-1].shape else expected[:-1]


def diagnose_shape(probe: Probe, trial: Trial) -> str | None:
    """Check the shape of each tensor."""
    for part in probe.result_parts(trial):
        yours, expected = part.yours.shape, part.expected.shape
        if yours == expected:
            continue
        where = _part_name(probe, trial, part)
        same_part = [p for t in probe.trials for p in probe.result_parts(t) if p.index == part.index]
        if len({p.yours.shape for p in same_part}) == 1 and len({p.expected.shape for p in same_part}) > 1:
            fixed = f"has shape {shape_text(yours)} for every input" if len(yours) else "is a single number"
            message = f"{where} {fixed}; here {named_shape_text(expected, part.spec)} is expected."
            return message + (_fixed_shape_hint(probe, yours) or constant_axis_hint(probe))
        swapped = min(len(yours), len(expected)) > 1 and yours == part.expected.mT.shape
        with_axes = " (the sizes of its last two axes are swapped)" if swapped else ""
        message = f"{where} has shape {shape_text(yours)}{with_axes}, expected {named_shape_text(expected, part.spec)}."
        relation = "" if swapped else shape_relation_text(yours, expected, part.spec)
        return message + (fixed_axis_hint(probe, trial) or constant_axis_hint(probe) or relation)
    return None


def _part_name(probe: Probe, trial: Trial, part: ResultPart) -> str:
    """Name a part of a result: by its key in a dict, by its name in a tuple, by its number in a list."""
    expected = trial.expected.value
    if isinstance(expected, dict):
        return f"The entry {list(expected)[part.index]!r} of {_call_or_value(probe, trial.case)}"
    if isinstance(expected, (list, tuple)) and not (part.spec and part.spec.name):
        return f"Item {part.index} of the result of {_call_or_value(probe, trial.case)}"
    return result_text(probe.exercise, trial.case, part.index)


def _call_or_value(probe: Probe, case: Case) -> str:
    return f"`{probe.exercise.name}`" if probe.exercise.kind == "value" else call_text(probe.exercise, case)


_FULL_REDUCTION = re.compile(r"\.(sum|mean|max|min|prod|norm|var|std)\(\s*\)|torch\.(sum|mean|max|prod)\(\s*[^,()]+\)")


def _fixed_shape_hint(probe: Probe, shape: Size) -> str:
    """Explain from the code why a shape never changes, as a sentence with a leading space; "" if unknown."""
    traits = probe.runner.inspect_code()
    if not shape and (match := _FULL_REDUCTION.search(traits.source)):
        return f" Without a `dim`, `{match[1] or match[2]}` reduces the whole tensor to a single number."
    if has_hard_coded_size(traits.source, shape):
        return " Is a size hard-coded that should come from the argument?"
    return ""


def diagnose_device(probe: Probe, trial: Trial) -> str | None:
    """Check that each tensor is on the device of the inputs."""
    for part in probe.result_parts(trial):
        if part.yours.device != part.expected.device:
            where = _part_name(probe, trial, part)
            return (
                f"{where} is on the device {part.yours.device}, but should be on {part.expected.device}. Create new"
                " tensors on the device of the input, so that your code also runs on other devices."
            )
    return None


def diagnose_dtype(probe: Probe, trial: Trial) -> str | None:
    """Check the dtype of each tensor."""
    for part in probe.result_parts(trial):
        yours, expected = part.yours, part.expected
        if not is_compatible_dtype(yours.dtype, expected.dtype, probe.exercise.dtypes):
            right = values_equal(yours, expected, probe.exercise.atol, "any")
            verdict = "The numbers are right, but their dtype is not" if right else "The dtype is wrong"
            call = call_text(probe.exercise, trial.case)
            dtypes = f"{dtype_name(yours)}, expected {dtype_name(expected)} ({call})."
            given = {v.dtype for v in probe.bind_arguments(trial.case).values() if is_float(v)}
            return f"{verdict}: {dtypes}{dtype_reason_text(yours, expected, given)}"
    return None


def diagnose_nonfinite(probe: Probe, trial: Trial) -> str | None:
    """Check that the result is finite wherever the expected result is finite."""
    if trial.case.note and any(_is_plainly_wrong(probe, other) for other in probe.trials):
        return None  # a case with a note has deliberately hard numbers; a mistake on ordinary numbers is reported first
    for part in probe.result_parts(trial):
        if not is_float(part.yours):
            continue
        bad = ~part.yours.isfinite() & part.expected.isfinite()
        if bad.any():
            index = tuple(bad.nonzero()[0].tolist())
            where = _part_name(probe, trial, part)
            place = position_text(index, part.spec)
            value = part.yours[index].item()
            origin = probe.runner.find_nonfinite_origin(trial.case)
            if origin and math.isinf(value) and origin.cause not in CAUSES_OF_INF:
                origin = None  # a nan in another place does not explain an inf
            why = origin_text(origin, probe.runner.inspect_code().source)
            return f"{where} contains {value} at {place}, but should be finite there.{why}"
    return None


def _is_plainly_wrong(probe: Probe, trial: Trial) -> bool:
    """Tell whether the answer returned a finite but wrong result on a case without a note."""
    if trial.case.note or trial.expected.failure or trial.is_correct(probe.exercise):
        return False
    return all(bool(part.yours.isfinite().all()) for part in probe.result_parts(trial) if is_float(part.yours))


# --- side effects and gradients -------------------------------------------------------------------------


def diagnose_modified_inputs(probe: Probe, trial: Trial) -> str | None:
    """Check that the answer did not modify an argument, if its results are right."""
    extra = unexpected_changes(trial.yours, trial.expected)
    if not extra or not probe.has_correct_values:
        return None
    return (
        f"The result is right, but your code changed its input `{extra[0]}`. The caller may still need the old values:"
        f" compute something new instead of writing into `{extra[0]}`."
    )


def diagnose_gradients(probe: Probe, trial: Trial) -> str | None:
    """Check that gradients reach every input and parameter that they reach in the oracle."""
    if not probe.exercise.requires_gradients or not probe.has_correct_values:
        return None
    if trial.yours.backward and not trial.expected.backward:
        why = explain_failure(trial.yours.backward, probe.exercise.name)
        return f"The result is right, but gradients cannot flow back: {why}"
    broken = [n for n in trial.yours.broken if n not in trial.expected.broken]
    if broken:
        return (
            f"{call_text(probe.exercise, trial.case)}: the numbers are right, but the gradient for"
            f" {name_list_text(broken)} contains nan or inf. The slope of a square root or a logarithm at 0 is inf. An"
            " operation such as 0 / 0 makes the gradient nan, even if a later step replaces the nan in the result."
        )
    lost = [n for n in trial.yours.detached if n not in trial.expected.level]
    if not lost:
        return None
    return (
        f"The numbers are right, but no gradient reaches {name_list_text(lost)}, so training learns nothing through"
        f" {'them' if len(lost) > 1 else 'it'}. Something disconnects the result, such as requires_grad=False,"
        " .detach(), .item(), .data, torch.no_grad() or torch.tensor(...)."
    )


def diagnose_unused_inputs(probe: Probe, trial: Trial) -> str | None:
    """Find inputs and parameters that never influence a wrong result, if at least one of them does."""
    if probe.exercise.differentiable is False or trial is not probe.trials[0]:
        return None
    if _CUTS_GRADIENT.search(probe.runner.inspect_code().source):
        return None  # the result may depend on what no gradient reaches
    # Maps the name of each input or parameter to a list. The list has one entry for each case whose expected result
    # depends on this input or parameter: whether a gradient of the answer reaches it.
    reached: dict[str, list[bool]] = {}
    for t in probe.trials:
        if t.expected.failure:
            continue
        if t.yours.failure or t.yours.backward:
            return None
        inputs = [name for name, value in probe.bind_arguments(t.case).items() if is_float(value)]
        for name in [*inputs, *(t.yours.parameters or ())]:
            if name not in t.expected.level:
                reached.setdefault(name, []).append(name not in t.yours.detached)
    names = [name for name, used in reached.items() if not any(used)]
    if not names or len(names) == len(reached) or any(_depends_on(probe, name) for name in names):
        return None
    them = "them" if len(names) > 1 else "it"
    return (
        f"The result does not seem to depend on {name_list_text(names)}: no gradient reaches {them}. Does your code use"
        f" another variable by mistake, or never use what it computes from {them}?"
    )


def _depends_on(probe: Probe, name: str) -> bool:
    """Tell whether a result changes with an input, for example through a comparison, which has no gradient."""
    for trial in probe.trials:
        if is_float(value := probe.bind_arguments(trial.case).get(name)):
            change = lambda v, old=value: 3 - 2 * v if v is old else v
            case = trial.case
            args, kwargs = tuple(map(change, case.args)), {key: change(v) for key, v in case.kwargs.items()}
            changed = probe.run(replace(case, args=args, kwargs=kwargs))
            if changed.failure or not values_equal(changed.value, trial.yours.value, probe.exercise.atol, "any"):
                return True
    return False


_CUTS_GRADIENT = re.compile(
    r"\.detach\(|\.data\b|\.item\(|\.tolist\(|\.numpy\(|no_grad|torch\.tensor\(|\.arg(?:max|min|sort)\("
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
