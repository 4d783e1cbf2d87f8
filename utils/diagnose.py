"""From what an answer did to what its author should read: the first question that fires speaks.

Not attempted → raised → None, wrong type or length → wrong shape → kind of number, device, NaN →
a known misconception agrees on every case → a broken property → the plain difference. A misconception
that agrees in every respect (shape and exceptions included) speaks before the general complaints,
because its words are the better ones.
"""

from __future__ import annotations

import dis
import functools
import inspect
import itertools
import re
import types
from dataclasses import dataclass
from typing import Any, Sequence

import torch

from utils import report
from utils.exercise import Case, Exercise, Misconception, Spec
from utils.observe import Failure, Observation, bind, expected, observe, parameter_names, sealed, tensors
from utils.report import Report

REDRAW = 1  # the second seed, with which an answer that passes once must pass again
TABLE_SIZE = 6  # a recognised mistake is shown on the largest failing case up to this many rows


@dataclass
class Trial:
    """One case with what the learner's answer and the oracle did on it."""

    case: Case
    yours: Observation
    expected: Observation


@dataclass
class Probe:
    """What a property may look at: the trials, and the means to run the answer again on other arguments."""

    exercise: Exercise
    answer: Any
    trials: list[Trial]

    def run(self, case: Case) -> Observation:
        return observe(self.exercise, self.answer, case, gradients=False)


def diagnose(exercise: Exercise, answer: Any) -> Report:
    """Check `answer` and say what is to be said. Never raises because of what the answer does."""
    with sealed():
        try:
            return _diagnose(exercise, answer)
        except Exception as error:  # an object that fails when it is merely compared or shown
            words = f"It returns something that cannot be compared with the expected result ({type(error).__name__}: {error})."
            return Report(exercise.name, "failed", words)


def _diagnose(exercise: Exercise, answer: Any) -> Report:
    trials = _trials(exercise, answer, seed=0)
    todo = _todo(exercise, trials)
    if todo:
        return Report(exercise.name, "todo", todo)
    if not all(map(_right(exercise), trials)):
        return _failed(exercise, answer, trials)
    if exercise.drawn and not all(map(_right(exercise), again := _trials(exercise, answer, REDRAW))):
        report_ = _failed(exercise, answer, again)
        if report_.misconception is None and exercise.view is None and not _nearly(again, exercise.atol):
            report_.message = "Right for one set of numbers and wrong for another: is a result written down instead of computed? " + report_.message
        return report_
    broken = _broken_property(exercise, answer, trials)
    if broken:
        return Report(exercise.name, "failed", broken)
    return Report(exercise.name, "passed", _praise(exercise, trials))


def _trials(exercise: Exercise, answer: Any, seed: int) -> list[Trial]:
    return [Trial(c, observe(exercise, answer, c), expected(exercise, c)) for c in exercise.draw(seed)]


def _praise(exercise: Exercise, trials: list[Trial]) -> str:
    if exercise.kind == "value":
        return "passed, the value is right."
    count = len(trials)
    return f"passed, right in {count} case{'s' * (count > 1)}" + (" and with other numbers." if exercise.drawn else ".")


# --- not attempted ----------------------------------------------------------------------------------

def _todo(exercise: Exercise, trials: list[Trial]) -> str | None:
    for trial in trials:
        failure = trial.yours.failure
        value = trial.yours.value
        if value is ... or (isinstance(value, tuple) and any(v is ... for v in value)):
            return _nudge(exercise)
        if failure and failure.todo is not None:
            owner, _, method = failure.todo.partition(".")
            if owner not in ("", exercise.name):
                return f"it needs `{owner}`, and that is not attempted yet."
            return _nudge(exercise, method if method not in ("", "__init__") else "")
    return None


def _nudge(exercise: Exercise, method: str = "") -> str:
    handle = f'"{exercise.name}"' if exercise.kind == "value" else exercise.name
    start = f"`{method}` is not attempted yet." if method else "not attempted yet."
    return f"{start} `hint({handle})` gives a nudge."


# --- right or wrong ---------------------------------------------------------------------------------

def _right(exercise: Exercise):
    return lambda trial: agree(trial.yours, trial.expected, exercise.atol)


def agree(a: Observation, b: Observation, atol: float, dtypes: bool = True) -> bool:
    """Whether two answers did the same on a case: values, exceptions, side effects, gradients, parameters."""
    if a.failure or b.failure:
        return bool(a.failure and b.failure) and _refusal(a.failure.type) == _refusal(b.failure.type)
    return (
        a.changed == b.changed and a.detached == b.detached and bool(a.backward) == bool(b.backward)
        and a.parameters == b.parameters and same(a.value, b.value, atol, dtypes)
    )


def _refusal(type_: str) -> str:
    """An `assert` and a ValueError refuse bad input alike."""
    return "ValueError" if type_ == "AssertionError" else type_


def same(a: Any, b: Any, atol: float, dtypes: bool = True) -> bool:
    """Whether two results are equal: structure and types exactly, numbers within `atol`."""
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        if a.shape != b.shape or (dtypes and (a.dtype != b.dtype or a.device != b.device)):
            return False
        if "meta" in (a.device.type, b.device.type):
            return True
        return (a.device == b.device and a.dtype == b.dtype and torch.equal(a, b)) or not report.different(a, b, atol).any()  # the first is ten times as fast
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(same(x, y, atol, dtypes) for x, y in zip(a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k], atol, dtypes) for k in b)
    if _is_number(a) and _is_number(b):
        return not report.different(torch.tensor(float(a)), torch.tensor(float(b)), atol).any()
    return type(a) is type(b) and bool(a == b)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


# --- what is wrong ----------------------------------------------------------------------------------

def _failed(exercise: Exercise, answer: Any, trials: list[Trial]) -> Report:
    mistake = recognise(exercise, trials)
    if mistake:
        return Report(exercise.name, "failed", mistake.message, mistake.id, _table(exercise, trials, TABLE_SIZE))
    complaint = _complaint(exercise, answer, trials)
    if complaint:
        return Report(exercise.name, "failed", complaint)
    broken = _broken_property(exercise, answer, trials)
    return Report(exercise.name, "failed", broken or _difference(exercise, trials), table=_table(exercise, trials))


def recognise(exercise: Exercise, trials: list[Trial]) -> Misconception | None:
    """The misconception that agrees with the learner's answer on every case; exact types are preferred."""
    @functools.cache
    def seen(index: int, place: int) -> Observation:
        return run_misconception(exercise, exercise.misconceptions[index], trials[place].case)

    for dtypes in (True, False):
        for index, wrong in enumerate(exercise.misconceptions):
            # One case after the other: most mistakes differ from the learner's in the first, and need not be run on the rest.
            if not all(agree(t.yours, seen(index, place), exercise.atol, dtypes) for place, t in enumerate(trials)):
                continue
            observed = [seen(index, place) for place in range(len(trials))]
            telling = any(o.failure is None for o in observed)  # a mistake that only ever raises recognises nothing
            if telling and not all(agree(o, t.expected, exercise.atol, dtypes) for t, o in zip(trials, observed)):
                return wrong
    return None


def run_misconception(exercise: Exercise, wrong: Misconception, case: Case) -> Observation:
    """What a misconception does on a case."""
    return observe(exercise, runnable(exercise, wrong), case)


def runnable(exercise: Exercise, wrong: Misconception) -> Any:
    """A misconception in the form that a learner hands to `check`: a value, a function or a class."""
    from utils.observe import as_module

    if exercise.kind == "value":
        return wrong.answer() if isinstance(wrong.answer, types.FunctionType) else wrong.answer
    if exercise.kind == "module" and not inspect.isclass(wrong.answer):
        return as_module(exercise, wrong.answer, wrong.initial)
    return wrong.answer


def _complaint(exercise: Exercise, answer: Any, trials: list[Trial]) -> str | None:
    """The first general complaint, in the order of the questions."""
    for question in (_reads_notebook, _raised, _structure, _nothing, _shape, _number_kind):
        for trial in trials:
            words = question(exercise, answer, trial, trials)
            if words:
                return words
    for question in (_modified, _gradients):  # the numbers are right: side effects are all that is left
        for trial in trials:
            values_right = all(t.yours.failure is None and same(t.yours.value, t.expected.value, exercise.atol) for t in trials)
            words = question(exercise, answer, trial, trials) if values_right else None
            if words:
                return words
    return _unused(exercise, trials)


def _raised(exercise, answer, trial, trials) -> str | None:
    failure = trial.yours.failure
    if failure is None:
        return None
    if trial.expected.failure:
        wanted = trial.expected.failure
        return None if _refusal(wanted.type) == _refusal(failure.type) else f"{call_text(exercise, trial.case)} should be refused with a {wanted.type}; yours raised a {failure.type}: {failure.text}"
    place = f" on line {failure.line} (`{failure.code}`)" if failure.line and failure.code else f" on line {failure.line}" if failure.line else ""
    if (failure.code or "").startswith(("raise ", "assert ")):
        return f"{call_text(exercise, trial.case)} was refused{place}: {failure.text or failure.type}. Nothing is wrong with this input; is the condition too strict?"
    return f"{call_text(exercise, trial.case)} stopped{place} with {_article(failure.type)}: {_explain(failure, exercise)}{_fixed_size(exercise, answer, trials)}"


def _fixed_size(exercise, answer, trials) -> str:
    """A question, where the code holds a number that is a size of the very cases on which it runs. A 1 or a 2 is mostly an axis."""
    written = {c for f in _functions(answer) for c in _constants(f.__code__) if type(c) is int and c > 2}
    for trial in trials:
        sizes = {n for t in tensors([*bind(exercise, trial.case).values()]) for n in t.shape}
        if trial.yours.failure is None and sizes & written:
            return f" It does run for {_inputs_text(exercise, trial.case)}: is the {min(sizes & written)} in it a size that should be read from the input?"
    return ""


def _constants(code: types.CodeType) -> set:
    """The constants of a code object, those inside tuples too."""
    return {c for const in code.co_consts for c in (const if isinstance(const, tuple) else (const,)) if not isinstance(c, types.CodeType)}


def _structure(exercise, answer, trial, trials) -> str | None:
    yours, wanted = trial.yours.parameters, trial.expected.parameters
    if yours == wanted or trial.expected.failure:
        return None
    made = f"{exercise.name}({_init_text(trial.case)})"
    missing, extra = [n for n in wanted if n not in yours], [n for n in yours if n not in wanted]
    if missing:
        have = f"it has {_listing(yours)}" if yours else "it has none: a plain tensor stored on self is not trained, only an nn.Parameter is, or a layer that holds some"
        numbered = any(part.isdigit() for name in missing for part in name.split("."))
        why = " What stands in a plain list is not found, and one object that stands twice in an nn.ModuleList counts once: make each layer anew." if numbered else ""
        return f"{made} has no parameter {_listing(missing)}; {have}.{why}"
    if extra:
        expected_ = f"Expected are {_listing(wanted)}." if wanted else "None is expected: what training must leave alone is no nn.Parameter, and what only moves along is a buffer (register_buffer)."
        return f"{made} has a parameter too many: {_listing(extra)}. {expected_}"
    if set(yours) == set(wanted):
        for name, size in wanted.items():
            if yours[name] != size:
                return f"{made} has {name} of shape {_size(yours[name])}, and {_size(size)} is expected."
    return None


def _reads_notebook(exercise, answer, trial, trials) -> str | None:
    """An answer that reads a tensor or a number of the notebook where it should use its argument, or its own parameter."""
    if exercise.kind == "value":
        return None
    for function in _functions(answer):
        for name in sorted(_globals_read(function)):
            value = function.__globals__.get(name)
            if not isinstance(value, (torch.Tensor, int, float)) or isinstance(value, bool) or name.isupper():
                continue
            kind = "a tensor" if isinstance(value, torch.Tensor) else "a number"
            if any(p.split(".")[0] == name for p in trial.expected.parameters or ()):
                return f"`{name}` without `self.` is {kind} of the notebook, not the one that belongs to this object. Each object has its own: `self.{name}`."
            return f"It uses `{name}`, {kind} of the notebook. All that it needs should come from its arguments{_of(parameter_names(exercise))}, so that it works on other inputs too."
    return None


def _nothing(exercise, answer, trial, trials) -> str | None:
    yours, wanted = trial.yours.value, _without_facts(exercise, trial)
    if trial.expected.failure and trial.yours.failure:
        return None  # refused, as it should be; with another exception, `_raised` has spoken
    if trial.expected.failure:
        return f"{call_text(exercise, trial.case)} should be refused with a {trial.expected.failure.type}: {trial.expected.failure.text} Yours returned {_kind(yours)}."
    if wanted is None:
        return None if yours is None else f"{call_text(exercise, trial.case)} returned {_kind(yours)}, and nothing is expected."
    if yours is None:
        if exercise.kind == "value":
            return "It is None. Does the line that makes it end in a call that returns nothing?"
        return f"{call_text(exercise, trial.case)} returned None. Did you forget `return`?"
    if isinstance(wanted, tuple) and isinstance(yours, (tuple, list)):
        if len(yours) != len(wanted):
            return f"{call_text(exercise, trial.case)} returned {len(yours)} things, and {len(wanted)} are expected: {_spec_text(exercise)}."
        if type(yours) is tuple and any(same(yours, p, exercise.atol) for p in itertools.permutations(wanted)) and not same(yours, wanted, exercise.atol):
            return f"The parts are right and their order is not: return {_spec_text(exercise)}, in this order."
        for i, (mine, right) in enumerate(zip(yours, wanted)):
            if _family(mine) != _family(right):
                return f"{call_text(exercise, trial.case)} returned {_kind(mine)} as its {_spec_name(exercise, i).rstrip(',')}, and {_kind(right)} is expected."
    if _family(yours) != _family(wanted):
        what = "It" if exercise.kind == "value" else call_text(exercise, trial.case)
        named = f": {_spec_text(exercise)}" if isinstance(wanted, tuple) and isinstance(exercise.returns, tuple) else ""
        return f"{what} is {_kind(yours)}, and {_kind(wanted)} is expected{named}."
    return None


def _without_facts(exercise: Exercise, trial: Trial) -> Any:
    """The expected result; without the facts that a view adds to a tuple, where it could not look at yours."""
    yours, wanted = trial.yours.value, trial.expected.value
    if not isinstance(wanted, tuple) or not isinstance(exercise.returns, tuple) or exercise.returns[-1].axes != ("fact",):
        return wanted
    looked_at = isinstance(yours, tuple) and len(yours) == len(wanted) and isinstance(yours[-1], torch.Tensor) and yours[-1].shape == wanted[-1].shape
    return wanted if looked_at else wanted[:-1]


def _shape(exercise, answer, trial, trials) -> str | None:
    for part, (yours, wanted, spec) in enumerate(_parts(exercise, trial)):
        if yours.shape == wanted.shape:
            continue
        shapes = {tuple(p[0].shape) for t in trials for p in _parts(exercise, t)[part:part + 1]}
        where = _whose(exercise, trial, part)
        if len(shapes) == 1 and len(trials) > 1 and len({tuple(p[1].shape) for t in trials for p in _parts(exercise, t)[part:part + 1]}) > 1:
            return f"{where} has shape {_size(yours.shape)} whatever the input is; here {_named_size(wanted.shape, spec)} is expected. Read the size from the argument: the result must grow with it."
        swapped = ", with its last two axes swapped" if min(yours.dim(), wanted.dim()) > 1 and yours.shape == wanted.mT.shape else ""
        return f"{where} has shape {_size(yours.shape)}{swapped}; expected is {_named_size(wanted.shape, spec)}."
    return None


def _number_kind(exercise, answer, trial, trials) -> str | None:
    for part, (yours, wanted, _) in enumerate(_parts(exercise, trial)):
        where = _whose(exercise, trial, part)
        if yours.device != wanted.device:
            return f"{where} is on the device {yours.device}, its inputs are on {wanted.device}. Make new tensors on the device of the input, so that it also runs elsewhere."
        if yours.dtype != wanted.dtype:
            right = "The numbers are right, their type is not" if same(yours, wanted, exercise.atol, dtypes=False) else "The type of the numbers is off"
            return f"{right}: {_dtype(yours)} where {_dtype(wanted)} is needed ({call_text(exercise, trial.case)}).{_dtype_why(yours, wanted)}"
        if yours.is_floating_point() and (bad := ~yours.isfinite() & wanted.isfinite()).any():
            index = tuple(bad.nonzero()[0].tolist())
            value = yours[index].item()
            return f"{where} holds {value} at {_position(index, _spec(exercise, part))}, where a finite number is expected. {_origin(yours, index)}"
    return None


def _origin(result: torch.Tensor, index: tuple) -> str:
    """Where nan or inf comes from."""
    words = "inf comes from exp or a division that is too large, nan from 0/0, inf/inf or 0 × inf."
    if result.dim() > 1 and result[index[:-1]].isnan().all() and not result.isnan().all():
        words += " This row is nan throughout: so is a softmax over a row in which everything is hidden, even the position itself."
    return words


def _modified(exercise, answer, trial, trials) -> str | None:
    extra = [n for n in trial.yours.changed if n not in trial.expected.changed]
    if extra:
        return f"The result is right, but it changed its input `{extra[0]}`. Whoever passed it in still needs the old numbers: compute a new tensor instead of writing into this one."
    return None


def _gradients(exercise, answer, trial, trials) -> str | None:
    if trial.yours.backward and not trial.expected.backward:
        return f"The result is right, but gradients cannot flow back: {_explain(trial.yours.backward, exercise)}"
    lost = [n for n in trial.yours.detached if n not in trial.expected.detached]
    if lost:
        what = f"`{lost[0]}`" if len(lost) == 1 else f"{_listing(lost)}"
        return f"The numbers are right, but no gradient reaches {what}: the result is cut off from it (by requires_grad=False, .detach(), .item(), .data, torch.no_grad() or torch.tensor(...)), so training could not change anything."
    return None


def _unused(exercise: Exercise, trials: list[Trial]) -> str | None:
    """Wrong numbers in which an input or a parameter has no part, in no case, though others have."""
    seen: dict[str, list[bool]] = {}  # by name: for each case in which the expected result hangs on it, whether yours does
    for t in trials:
        if t.expected.failure:
            continue
        if t.yours.failure or t.yours.backward:
            return None
        floats = [n for n, v in bind(exercise, t.case).items() if isinstance(v, torch.Tensor) and v.is_floating_point()]
        for name in [*floats, *(t.yours.parameters or ())]:
            if exercise.differentiable and name not in t.expected.detached:
                seen.setdefault(name, []).append(name not in t.yours.detached)
    names = [name for name, used in seen.items() if not any(used)]
    if not names or len(names) == len(seen):
        return None
    has, it, stands = ("have", "them", "they belong") if len(names) > 1 else ("has", "it", "it belongs")
    return f"{_listing(names)} {has} no part in the result, as far as a gradient can tell. Does another name stand where {stands}, or is what is made of {it} left unused?"


def _broken_property(exercise: Exercise, answer: Any, trials: list[Trial]) -> str | None:
    if any(t.yours.failure and not t.expected.failure for t in trials):
        return None
    ran = [t for t in trials if not t.yours.failure]  # a case that is rightly refused has no result to ask about
    for broken in exercise.properties if ran else ():
        words = broken(Probe(exercise, answer, ran))
        if words:
            return words
    return None


# --- the plain difference ---------------------------------------------------------------------------

def _difference(exercise: Exercise, trials: list[Trial]) -> str:
    wrong = [t for t in trials if not same(t.yours.value, t.expected.value, exercise.atol)]
    smallest = min(wrong, key=_case_size) if wrong else trials[0]
    count = f"In {len(wrong)} of {len(trials)} cases the result differs. Smallest: " if len(trials) > 1 else ""
    return f"{count}{_first_difference(exercise, smallest)}{_relation(wrong, exercise.atol)}"


def _first_difference(exercise: Exercise, trial: Trial) -> str:
    call = "" if exercise.kind == "value" else f"{call_text(exercise, trial.case)}: "
    keys = list(trial.expected.value) if isinstance(trial.expected.value, dict) else []
    for part, (yours, wanted, spec) in reversed(list(enumerate(_parts(exercise, trial)))):  # weights stand last and come first
        if yours.shape != wanted.shape:
            continue
        wrong = report.different(yours, wanted, exercise.atol)
        if wrong.any():
            index = tuple(wrong.nonzero()[0].tolist())
            a, b = yours[index].item(), wanted[index].item()
            if spec and spec.axes == ("fact",) and exercise.meaning:  # found by a view: its number and its place tell nothing
                return f"{call}{spec.name}: {exercise.meaning(index, a, b)}."
            name = f"{_spec_name(exercise, part)} " if isinstance(exercise.returns, tuple) else f"`{keys[part]}`, " if keys else ""
            meaning = f"; {exercise.meaning(index, a, b)}" if exercise.meaning else ""
            where = f"{name}{_position(index, spec)} is " if index else "it is "
            return f"{call}{where}{report._number(a)}, expected {report._number(b)}{meaning}."
    if isinstance(trial.yours.value, dict) and isinstance(trial.expected.value, dict):
        return call + _dict_difference(trial.yours.value, trial.expected.value, exercise.atol)
    return f"{call}yours is {_short(trial.yours.value)}, expected {_short(trial.expected.value)}."


def _dict_difference(yours: dict, wanted: dict, atol: float) -> str:
    for key in wanted:
        if key not in yours:
            return f"the key {key!r} is missing."
        if not same(yours[key], wanted[key], atol):
            return f"at key {key!r} yours is {_short(yours[key])}, expected {_short(wanted[key])}."
    return f"the key {next(k for k in yours if k not in wanted)!r} should not be there."


def _relation(wrong: list[Trial], atol: float) -> str:
    """A plain relation to the expected numbers that holds in every failing case: a factor, an offset, a transposition."""
    pairs = [(t.yours.value, t.expected.value) for t in wrong]
    if not pairs or not all(isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and a.shape == b.shape and a.is_floating_point() and b.abs().max() > 1e-3 for a, b in pairs):
        return ""
    if all(a.dim() > 1 and a.shape[-1] == a.shape[-2] and same(a.mT, b, atol) for a, b in pairs):
        return " It is the transpose of what is expected: rows and columns are swapped."
    factors = [float((a.double() * b).sum() / (b.double() ** 2).sum()) for a, b in pairs]
    if all(abs(f) > 1e-6 and same(a, b * f, 10 * atol) for f, (a, b) in zip(factors, pairs)):
        if max(factors) - min(factors) < 1e-3:
            if abs(factors[0] - 1) < 1e-3:
                return " The numbers are all but right: something small is added on the way, or rounded."
            return " All numbers have the wrong sign." if abs(factors[0] + 1) < 1e-3 else f" Every number is {factors[0]:.4g} times the expected one."
        return " In each case all numbers are off by one factor: " + ", ".join(f"{f:.4g}" for f in factors) + "."
    offsets = [float((a.double() - b).mean()) for a, b in pairs]
    if all(same(a, b + o, 10 * atol) for o, (a, b) in zip(offsets, pairs)):
        return f" Every number is off by the same amount, {offsets[0]:+.4g} in the first case."
    return ""


def _nearly(trials: list[Trial], atol: float) -> bool:
    """Off by so little that another set of numbers may hide it."""
    return all(same(t.yours.value, t.expected.value, 100 * atol) for t in trials)


def _case_size(trial: Trial) -> int:
    return sum(t.numel() for t in tensors(trial.expected.value)) + sum(t.numel() for t in tensors(list(trial.case.args)))


def _table(exercise: Exercise, trials: list[Trial], up_to: int = 0) -> report.Table | None:
    """Yours beside the expected: the smallest failing case, or the largest that has at most `up_to` rows and columns.

    A list of facts that a view found (its axis is called `fact`) has none: they are told in words, and bare numbers in a row tell nothing.
    """
    shown = []
    for trial in trials:
        for yours, wanted, spec in reversed(_parts(exercise, trial)):
            if yours.shape == wanted.shape and yours.dim() and not (spec and spec.axes == ("fact",)) and report.different(yours, wanted, exercise.atol).any():
                shown.append((trial, yours, wanted, spec))
                break
    if not shown:
        return None
    shown.sort(key=lambda s: _case_size(s[0]))
    fitting = [s for s in shown if max(s[1].shape[-2:]) <= up_to]
    _, yours, wanted, spec = (fitting or shown[:1])[-1]
    return report.table(yours, wanted, exercise.atol, spec.axes if spec else (), spec.name if spec else "")


# --- words ------------------------------------------------------------------------------------------

def call_text(exercise: Exercise, case: Case) -> str:
    """The call as a learner would write it: `get_mask(5)`, `softmax(x, dim=-1) with x of shape [2, 3]`."""
    if exercise.kind == "value":
        return exercise.name
    shown, shapes = [], []
    for name, value in bind(exercise, case).items():
        if isinstance(value, torch.Tensor) and value.dim():
            shapes.append(f"{name} of shape {_size(value.shape)}")
            shown.append(name)
        elif isinstance(value, torch.Tensor):
            shown.append(f"{value.item():.4g}")
        elif value is None or isinstance(value, (int, float, str, tuple, list)) and len(repr(value)) < 40:
            shown.append(f"{name}={value!r}" if name in case.kwargs else repr(value))
        else:
            shown.append(name)
    made = exercise.name if exercise.kind == "function" else f"{exercise.name}({_init_text(case)})"
    with_shapes = f" with {' and '.join(shapes)}" if shapes else ""
    return f"{made}({', '.join(shown)}){with_shapes}{_note(case)}"


def _init_text(case: Case) -> str:
    if isinstance(case.init, dict):
        return ", ".join(f"{k}={v!r}" for k, v in case.init.items())
    return ", ".join(map(repr, case.init))


def _inputs_text(exercise: Exercise, case: Case) -> str:
    sized = [f"{n} of shape {_size(v.shape)}" for n, v in bind(exercise, case).items() if isinstance(v, torch.Tensor)]
    return " and ".join(sized)


def _note(case: Case) -> str:
    return f" ({case.note})" if case.note else ""


def _parts(exercise: Exercise, trial: Trial) -> list[tuple[torch.Tensor, torch.Tensor, Spec | None]]:
    """The tensors of a result beside the expected ones, with what the exercise calls them."""
    yours, wanted = trial.yours.value, trial.expected.value
    if isinstance(wanted, torch.Tensor) and isinstance(yours, torch.Tensor):
        return [(yours, wanted, _spec(exercise, 0))]
    if isinstance(wanted, (tuple, list)) and isinstance(yours, (tuple, list)) and len(yours) == len(wanted):
        return [(a, b, _spec(exercise, i)) for i, (a, b) in enumerate(zip(yours, wanted)) if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor)]
    if isinstance(wanted, dict) and isinstance(yours, dict):
        return [(yours[k], wanted[k], None) for k in wanted if isinstance(yours.get(k), torch.Tensor) and isinstance(wanted[k], torch.Tensor)]
    return []


def _spec(exercise: Exercise, part: int) -> Spec | None:
    specs = exercise.returns if isinstance(exercise.returns, tuple) else (exercise.returns,)
    return specs[part] if part < len(specs) else None


def _spec_name(exercise: Exercise, part: int) -> str:
    spec = _spec(exercise, part)
    name = spec.name if spec else ""
    return f"`{name}`," if name else f"part {part},"


def _spec_text(exercise: Exercise) -> str:
    specs = exercise.returns if isinstance(exercise.returns, tuple) else ()
    return "(" + ", ".join(s.name or f"[{', '.join(s.axes)}]" for s in specs if s.axes != ("fact",)) + ")" if specs else "what the exercise asks for"


def _whose(exercise: Exercise, trial: Trial, part: int) -> str:
    call = call_text(exercise, trial.case)
    if exercise.kind == "value":
        return f"`{exercise.name}`"
    if isinstance(exercise.returns, tuple) and exercise.returns[part].name:
        return f"`{exercise.returns[part].name}` of {call}"
    return f"The result of {call}"


def _position(index: Sequence[int], spec: Spec | None) -> str:
    if len(index) == 1:
        return f"entry {index[0]}"
    if len(index) == 2:
        return f"row {index[0]}, column {index[1]}"
    names = _axis_names(len(index), spec) or [f"axis {i}" for i in range(len(index))]
    return ", ".join(f"{n} at {i}" if n.startswith("axis ") else f"{n} {i}" for n, i in zip(names, index))


def _axis_names(count: int, spec: Spec | None) -> list[str]:
    """A name for each of `count` axes, where `...` stands for any number of them and `1` is no name; none where the specification has other ones."""
    axes = spec.axes if spec else ()
    if axes[:1] == ("...",):
        axes = ("1",) * (count - len(axes) + 1) + axes[1:]
    return [f"axis {i}" if name == "1" else name for i, name in enumerate(axes)] if len(axes) == count else []


def _size(shape) -> str:
    return "[" + ", ".join(map(str, shape)) + "]"


def _named_size(shape, spec: Spec | None) -> str:
    names = _axis_names(len(shape), spec)
    if not names:
        return _size(shape) if len(shape) else "a single number (shape [])"
    return "[" + ", ".join(str(size) if name.startswith("axis ") else f"{name} = {size}" for name, size in zip(names, shape)) + "]"


def _listing(names, at_most: int = 6) -> str:
    names = list(names)
    more = f" and {len(names) - at_most + 1} more" if len(names) > at_most else ""
    return ", ".join(f"`{n}`" for n in (names[: at_most - 1] if more else names)) + more


def _of(names: list[str]) -> str:
    return f" `{names[0]}`" if len(names) == 1 else "s " + _listing(names)


def _kind(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return "a tensor" if value.dim() else "a tensor with a single number"
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)}"
    return _article(type(value).__name__)


def _family(value: Any) -> type:
    if isinstance(value, torch.Tensor):
        return torch.Tensor
    if isinstance(value, dict):
        return dict  # a Counter or a defaultdict is one too
    return float if _is_number(value) else type(value)


def _article(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def _short(value: Any) -> str:
    text = repr(value.tolist() if isinstance(value, torch.Tensor) else value)
    return text if len(text) <= 80 else text[:77] + "..."


def _dtype(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _dtype_why(yours: torch.Tensor, wanted: torch.Tensor) -> str:
    if wanted.dtype == torch.bool:
        return " `masked_fill` and `~` want True and False."
    if wanted.is_floating_point() and yours.is_floating_point():
        return " Keep the type of the input: what changes it does not fit with its neighbours."
    return ""


_EXPLAINED = (
    (r"tri[lu]: input tensor must have at least 2 dim", "tril and triu need a matrix, and got a vector. A mask has a row and a column for each position."),
    (r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)", r"a matrix product needs the left one's columns to match the right one's rows, and here \2 meet \3 (\1 × \2 times \3 × \4)."),
    (r"Expected size for first two dimensions of batch2 tensor to be: \[(\d+), (\d+)\] but got: \[(\d+), (\d+)\]", r"a product of batches needs the left one's last axis to match the right one's last but one, and here \2 meets \4."),
    (r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)", r"sizes \1 and \2 on axis \3 do not fit together element by element. A sum or maximum along an axis loses that axis, unless keepdim keeps it."),
    (r"Boolean value of Tensor with more than one value", "`if` wants one yes or no, and a tensor holds many. To ask whether there is one at all, compare with None."),
    (r"bad operand type for unary ~: 'NoneType'|'NoneType' object has no attribute|unsupported operand .*'NoneType'|, not NoneType", "something is None here. An argument that may be left out is None when it is; look for it first."),
    (r"return_types", "max and min with a dim give a pair, values and indices; take its `.values`."),
    (r"1D tensors expected", "torch.dot takes two vectors, and got something with more axes."),
    (r"inconsistent tensor size", "torch.dot takes two vectors of the same length."),
    (r"Dimension out of range .*got (-?\d+)", r"there is no axis \1: the tensor has fewer axes than that."),
    (r"only supports boolean masks", "the mask must hold True and False (dtype bool)."),
    (r"shape '(.*)' is invalid for input of size (\d+)", r"\2 numbers cannot be laid out as \1."),
    (r"same dtype|expected scalar type", "two tensors have different types of numbers; bring them to one type first."),
    (r"is not on the expected device|on the same device|Torch not compiled with CUDA", "it asks for a device that is not the input's. Make new tensors on the device of the input."),
    (r"leaf Variable that requires grad is being used in an in-place", "an operation (one whose name ends in _, or +=) writes into a parameter that is being trained, and torch keeps track of those. Compute a new tensor, or, to set a parameter on purpose, do it inside torch.no_grad()."),
    (r"modified by an inplace operation", "a tensor that the gradient still needs was overwritten (an operation ending in _, or an assignment into a slice)."),
    (r"Module.__init__\(\) call", "`super().__init__()` has to run before anything is stored on self."),
    (r'missing the required "forward" function', "the class has no method called forward. Is it misspelt, or indented into __init__?"),
    (r"'(\w+)' object has no attribute '(\w+)'", r"a \1 has no `\2`. Is the name spelt as where it was made?"),
    (r"name '(\w+)' is not defined", r"nothing is called `\1` here."),
    (r"list index out of range", "an index runs past the end of a list, which has fewer items than was counted on."),
    (r"unhashable type: '(\w+)'", r"a key of a dict must be something that never changes; a \1 can change, a tuple cannot."),
    (r"tuple indices must be integers or slices, not tuple", "this is not a tensor but a tuple that holds some. Take the one that you need out of it first."),
    (r"probability tensor contains either", "it draws from probabilities, and these hold a negative number, inf or nan. A softmax makes probabilities of scores."),
    (r"Sizes of tensors must match except in dimension (\d+). Expected size (\d+) but got size (\d+)", r"tensors that are joined along axis \1 must agree in all others, and here \2 meets \3."),
    (r"Tensors must have same number of dimensions: got (\d+) and (\d+)", r"tensors that are joined need the same number of axes, and here \1 meet \2. keepdim or a None in an index keeps an axis."),
    (r"maximum recursion depth", "it calls itself without end."),
    (r"(takes .* but \d+ (?:was|were) given|missing \d+ required .*|unexpected keyword argument .*)", r"the call and the signature do not fit: \1."),
)


def _explain(failure: Failure, exercise: Exercise) -> str:
    """torch's error in a learner's words where we know it, else its own first line."""
    missing = re.search(rf"'{exercise.name}' object has no attribute '(\w+)'", failure.text)
    if missing:
        return f"the object has no `{missing[1]}`. Did __init__ store it on self, under this name?"
    if "@" in failure.code and re.search(r"size of tensor a .* must match the size of tensor b", failure.text):
        return "in a product of batches all axes before the last two must agree; turn only the last two of the right one."
    for pattern, words in _EXPLAINED:
        found = re.search(pattern, failure.text)
        if found:
            return found.expand(words)
    first = failure.text.strip().splitlines()[0] if failure.text.strip() else "no message"
    return first if first.endswith((".", "!", "?")) else first + "."


def _functions(answer: Any) -> list[types.FunctionType]:
    if inspect.isclass(answer):
        return [f for f in vars(answer).values() if isinstance(f, types.FunctionType)]
    return [answer] if isinstance(answer, types.FunctionType) else []


def _globals_read(function: types.FunctionType) -> set[str]:
    return {i.argval for i in dis.get_instructions(function) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
