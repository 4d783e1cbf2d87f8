"""Define the diagnostics, in the order in which they run. Each function looks for one kind of fault.

A diagnostic takes a `Probe` and one of its trials. It returns a sentence, or None if it finds nothing wrong. The first
sentence becomes the message of the report.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from utils.exercises.compare import failures_match, is_compatible_dtype, unexpected_changes, values_equal
from utils.exercises.observe import Failure, is_float
from utils.exercises.op_trace import CAUSES_OF_INF
from utils.exercises.probe import Probe, Trial
from utils.feedback.failing_line import raised_by_own_code
from utils.feedback.phrases import (
    actual_parameters_text,
    article,
    call_text,
    constructor_text,
    dtype_name,
    dtype_reason_text,
    error_summary,
    expected_parameters_text,
    missing_parameters_text,
    name_list_text,
    origin_text,
    position_text,
    shape_text,
    type_text,
)
from utils.feedback.size_hints import constant_axis_hint, fixed_axis_hint, hard_coded_size_hint
from utils.feedback.structure_diagnostics import diagnose_shape, diagnose_structure, part_name
from utils.feedback.torch_errors import explain_failure


class Diagnostic(NamedTuple):
    """A diagnostic, the `reason` in its reports, and the name of the property that it tests, if any."""

    reason: str
    diagnose: Callable[[Probe, Trial], str | None]
    property: str | None = None


# --- errors and the structure of the result -----------------------------------------------------------


def diagnose_notebook_globals(probe: Probe, trial: Trial) -> str | None:
    """Check that the answer does not use a notebook variable where it should use an argument or its own parameter."""
    traits = probe.runner.inspect_code()
    for name, kind in traits.notebook_globals:
        if not kind:  # another kind of value, such as a table of settings, is wrong only if an argument is unused
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
        if kind == "a number":  # the number may be a setting that is not an argument
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
    """Check that the answer raised no exception, unless the oracle raised the same exception."""
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


# The keys are the results of `raised_by_own_code`. Each text explains an exception that the learner's own `raise` or
# `assert` raised, although the oracle accepts the input.
_OWN_EXCEPTIONS = {
    "validation": "was rejected{place}: {error}. This input is valid; is the condition too strict?",
    "condition": (
        "stopped{place}: {error}. This input is valid, so either the condition for this error is wrong, or a value in"
        " the condition is wrong."
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
        cause = missing_parameters_text(missing, yours, expected)
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


def diagnose_device(probe: Probe, trial: Trial) -> str | None:
    """Check that each tensor in the result is on the device of the inputs."""
    for part in probe.result_parts(trial):
        if part.yours.device != part.expected.device:
            where = part_name(probe, trial, part)
            return (
                f"{where} is on the device {part.yours.device}, but should be on {part.expected.device}. Create new"
                " tensors on the device of the input, so that your code also runs on other devices."
            )
    return None


def diagnose_dtype(probe: Probe, trial: Trial) -> str | None:
    """Check the dtype of each tensor in the result."""
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
        return None  # cases with a note are deliberately hard; mistakes on ordinary cases are reported first
    for part in probe.result_parts(trial):
        if not is_float(part.yours):
            continue
        bad = ~part.yours.isfinite() & part.expected.isfinite()
        if bad.any():
            index = tuple(bad.nonzero()[0].tolist())
            where = part_name(probe, trial, part)
            value = part.yours[index].item()
            origin = probe.runner.find_nonfinite_origin(trial.case)
            if origin and math.isinf(value) and origin.cause not in CAUSES_OF_INF:
                origin = None  # the origin of a nan does not explain an inf
            why = origin_text(origin, probe.runner.inspect_code().source)
            if not index:
                return f"{where} is {value}, but should be finite.{why}"
            return f"{where} contains {value} at {position_text(index, part.spec)}, but should be finite there.{why}"
    return None


def _is_plainly_wrong(probe: Probe, trial: Trial) -> bool:
    """Tell whether the answer returned a finite but wrong result on a case without a note."""
    if trial.case.note or trial.expected.failure or trial.is_correct(probe.exercise):
        return False
    return all(bool(part.yours.isfinite().all()) for part in probe.result_parts(trial) if is_float(part.yours))


# --- side effects and gradients -------------------------------------------------------------------------


def diagnose_modified_inputs(probe: Probe, trial: Trial) -> str | None:
    """Check that an answer with correct results did not modify an argument."""
    extra = unexpected_changes(trial.yours, trial.expected)
    if not extra or not probe.has_correct_values:
        return None
    if mode := changed_mode_text(probe, trial):
        return f"The result is right, but {mode}"
    if "." in extra[0]:
        return (
            f"The result is right, but the call adds `{extra[0]}`, or changes its values, its `requires_grad`, or"
            " whether it has a `.grad`. The caller may still use the model, so leave the model as it was."
        )
    return (
        f"The result is right, but your code changed its input `{extra[0]}`. The caller may still need the old values:"
        f" compute something new instead of writing into `{extra[0]}`."
    )


def changed_mode_text(probe: Probe, trial: Trial) -> str:
    """Describe the mode of a model argument if the answer changed this mode; return "" if no mode changed."""
    changed = unexpected_changes(trial.yours, trial.expected)
    paths = [path.removesuffix(".training") for path in changed if path.endswith(".training")]
    if not paths:
        return ""
    path = min(paths, key=len)  # if the whole model's mode changed, name the model instead of its layers
    name, _, layer = path.partition(".")
    before = probe.bind_arguments(trial.case)[name].get_submodule(layer).training
    return f"`{path}` is in {'eval' if before else 'training'} mode after the call. Leave its mode unchanged."


def diagnose_gradients(probe: Probe, trial: Trial) -> str | None:
    """Check that the answer's gradients reach each input and parameter that the oracle's gradients reach."""
    if not probe.exercise.requires_gradients or not probe.has_correct_values:
        return None
    if trial.yours.backward and not trial.expected.backward:
        why = explain_failure(trial.yours.backward, probe.exercise.name)
        return f"The result is right, but gradients cannot flow back: {why}"
    broken = [n for n in trial.yours.broken if n not in trial.expected.broken]
    if broken:
        return (
            f"{call_text(probe.exercise, trial.case)}: the numbers are right, but the gradient for"
            f" {name_list_text(broken)} contains nan or inf. A square root or logarithm of 0, 0 / 0, or exp of a large"
            " number causes this, even if a later step replaces the nan or inf."
        )
    lost = [n for n in trial.yours.detached if n not in trial.expected.level]
    if not lost:
        return None
    return (
        f"The numbers are right, but no gradient reaches {name_list_text(lost)}, so a model cannot learn through"
        f" {'them' if len(lost) > 1 else 'it'}. Something disconnects the result, such as requires_grad=False,"
        " .detach(), .item(), .data, torch.no_grad() or torch.tensor(...)."
    )


def diagnose_unused_inputs(probe: Probe, trial: Trial) -> str | None:
    """Find inputs and parameters that do not influence a wrong result, although other inputs or parameters do."""
    if probe.exercise.differentiable is False or trial is not probe.trials[0]:
        return None
    if _CUTS_GRADIENT.search(probe.runner.inspect_code().source):
        return None  # the result may depend on inputs that no gradient reaches
    # Each input or parameter has one entry for each case in which it influences the expected result. The entry is True
    # if the answer's gradient reaches the input or parameter.
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
        f" another variable by mistake, or ignore the values that it computes from {them}?"
    )


def _depends_on(probe: Probe, name: str) -> bool:
    """Tell whether a result depends on an input, even through an operation without a gradient, such as a comparison."""
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
