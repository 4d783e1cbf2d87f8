"""Who runs an answer. `Runner` is the cut between the side that judges and the side that runs.

What crosses it is plain data: a `Case` and options go in, an `Observation` (or `Traits`, or a sentence's facts) comes
out. Stand-in models, views and the like are built by name from `utils.test_doubles`, which holds no oracle. `InProcess`
runs an answer in the learner's own process, as a notebook does.
"""

from __future__ import annotations

import dis
import functools
import inspect
import linecache
import types
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from utils.feedback.exercise import Case, Exercise, Form, Misconception
from utils.feedback.fake_device import AWAY, TwoDevices, elsewhere
from utils.feedback.instantiate import as_module, build, fill, fresh
from utils.feedback.observe import (
    Failure,
    Look,
    Observation,
    failure_of,
    files_of,
    is_float,
    plain,
    record,
    reseed,
    sealed,
    source_of,
    tensors,
    unchanged,
)
from utils.feedback.op_trace import FirstNonfinite, Origin

RESULT = Look()  # the result alone


@dataclass(frozen=True)
class Traits:
    """What an answer's code shows without being run."""

    source: str = ""  # its own functions, as they were written
    integers: frozenset[int] = frozenset()  # the whole numbers above 2 that stand in it; a 1 or a 2 is mostly an axis
    borrowed: tuple[tuple[str, str], ...] = ()  # the notebook's values that it reads: (name, "a tensor")
    idle: tuple[str, ...] = ()  # a function's own arguments that it never reads


@dataclass(frozen=True)
class Moved:
    """What became of an answer on another device."""

    left_behind: str | None = None  # a tensor of the object that did not move along
    mixed: bool = False  # whether it mixed tensors of two devices


class Runner(Protocol):
    """Runs one answer to one exercise. Nothing that the answer does raises here."""

    def traits(self) -> Traits:
        """What its code shows."""
        ...

    def run(self, case: Case, look: Look = RESULT) -> Observation:
        """What the answer does on a case, and what else there is to see of it."""
        ...

    def run_used(self, case: Case, earlier: Case) -> Observation:
        """What an object does on `case` that was called on `earlier` before, with other parameters."""
        ...

    def run_elsewhere(self, case: Case) -> Moved:
        """What becomes of it on another device."""
        ...

    def origin(self, case: Case) -> Origin | None:
        """What makes the first nan or inf on a case; None where nothing does."""
        ...

    def slopes(self, case: Case) -> dict[str, Tensor | None]:
        """The gradient of a weighted sum of the first result, by the name of the input or parameter; empty without."""
        ...


class InProcess:
    """A `Runner` in this very process."""

    def __init__(self, form: Form, answer: Any) -> None:
        self.form, self.answer = form, answer

    def traits(self) -> Traits:
        if self.form.kind == "value":
            return Traits()
        functions = _functions(self.answer)
        integers = {c for f in functions for c in _constants(f.__code__) if type(c) is int and c > 2}
        borrowed = [(name, kind) for f in functions for name, kind in _borrowed(f)]
        source = "".join(source_of(f.__code__) for f in functions)
        idle = _idle(self.answer) if isinstance(self.answer, types.FunctionType) else ()
        return Traits(source, frozenset(integers), tuple(dict.fromkeys(borrowed)), idle)

    def run(self, case: Case, look: Look = RESULT) -> Observation:
        value = self.answer
        if self.form.kind == "value":
            return _unfilled() if _has_gap(value) else Observation(plain(value))
        seen = record(self.form, value, case, replace(look, gradients=False))
        if seen.failure is None and _has_gap(seen.value):
            return _unfilled()
        if look.gradients and seen.failure is None and self._has_gradients(case):
            again = record(self.form, value, case, Look(gradients=True))
            seen.detached, seen.level, seen.broken = again.detached, again.level, again.broken
            seen.backward = again.failure
        return seen

    def _has_gradients(self, case: Case) -> bool:
        inputs = [*case.args, *case.kwargs.values()]
        return self.form.differentiable and (self.form.kind == "module" or any(map(is_float, inputs)))

    def run_used(self, case: Case, earlier: Case) -> Observation:
        with sealed(earlier.seed):
            try:
                module = build(self.answer, earlier)
                module(*fresh(earlier.args), **fresh(dict(earlier.kwargs)))
                fill(module, case.seed)
                reseed(case.seed)
                return Observation(plain(module(*fresh(case.args), **fresh(dict(case.kwargs)))))
            except (Exception, SystemExit) as error:
                return Observation(failure=failure_of(error, self.answer))

    def run_elsewhere(self, case: Case) -> Moved:
        with sealed(case.seed):
            try:
                call = self.answer
                if self.form.kind == "module":  # made here, as notebooks do, and moved
                    call = build(self.answer, replace(case, fill=False))
                with elsewhere():
                    return self._on_another_device(call, case)
            except TwoDevices:
                return Moved(mixed=True)
            except (Exception, SystemExit) as error:  # results are judged elsewhere; only devices are asked about
                return Moved(mixed="device" in str(error))

    def _on_another_device(self, call: Any, case: Case) -> Moved:
        if self.form.kind == "module":
            call = call.to(AWAY)
            if left := _left_behind(call):
                return Moved(left_behind=left)
        args, kwargs = tree_map(_moved, (case.args, dict(case.kwargs)))
        call(*args, **kwargs)
        return Moved()

    def origin(self, case: Case) -> Origin | None:
        mode = FirstNonfinite(files := files_of(self.answer))
        record(self.form, self.answer, case, RESULT, mode)
        found = mode.nan or mode.inf
        if found is None:
            return None
        words, line = found
        code = next((linecache.getline(file, line).strip() for file in files), "") if line else ""
        return Origin(words, line, code)

    def slopes(self, case: Case) -> dict[str, Tensor | None]:
        try:
            return self._slopes(case)
        except (Exception, SystemExit):  # no gradient at all: the question of gradients speaks of that
            return {}

    def _slopes(self, case: Case) -> dict[str, Tensor | None]:
        with sealed(case.seed):
            module = build(self.answer, case)
            args = [a.requires_grad_() if is_float(a) else a for a in fresh(case.args)]
            reseed(case.seed)
            value = module(*args, **fresh(dict(case.kwargs)))
            value = value[0] if isinstance(value, tuple) else value
            inputs = [a for a in args if isinstance(a, Tensor) and a.requires_grad]
            leaves = {"the input" if a is args[0] else "an input": a for a in inputs}
            leaves |= {f"`{n}`": p for n, p in module.named_parameters()}
            weights = torch.linspace(-1, 1, value.numel()).view(value.shape)
            found = torch.autograd.grad((value * weights).sum(), list(leaves.values()), allow_unused=True)
            return dict(zip(leaves, found))


def _has_gap(value: Any) -> bool:
    """Whether a result is, or holds, an `...` that was to be filled in."""
    return value is ... or (isinstance(value, tuple) and any(v is ... for v in value))


def _unfilled() -> Observation:
    return Observation(failure=Failure("NotImplementedError", "", todo=""))


# --- what an exercise's own answers are run with --------------------------------------------------------


def runner(exercise: Exercise, answer: Any, initial: Callable | None = None) -> InProcess:
    """A runner for an answer in the learner's form, or in the form of an oracle or a misconception."""
    return InProcess(exercise.form, learners_form(exercise, answer, initial))


def learners_form(exercise: Exercise, answer: Any, initial: Callable | None = None) -> Any:
    """An oracle or a misconception as a learner would hand it to `check`: a value, a function or a class."""
    if exercise.kind == "value":
        return answer() if isinstance(answer, types.FunctionType) else answer
    if exercise.kind == "module" and not inspect.isclass(answer):
        made = initial or exercise.initial
        assert made is not None  # what makes it a module
        return as_module(made, answer)
    return answer


def runnable(exercise: Exercise, wrong: Misconception) -> Any:
    """A misconception in the learner's form."""
    return learners_form(exercise, wrong.answer, wrong.initial)


def observe(exercise: Exercise, answer: Any, case: Case) -> Observation:
    """Run an answer, in any form, on `case`, and once more to see what its gradients reach."""
    return read(exercise, case, runner(exercise, answer).run(case, Look(gradients=True)))


def read(exercise: Exercise, case: Case, seen: Observation) -> Observation:
    """An observation with what is compared of its value."""
    if exercise.read is None or seen.failure:
        return seen
    return replace(seen, value=exercise.read(seen.value, case))


def expected(exercise: Exercise, case: Case) -> Observation:
    """What the oracle does on `case`."""
    return observe(exercise, exercise.oracle, case)


# --- what is known from an earlier check ----------------------------------------------------------------


def drawn(exercise: Exercise, seed: int) -> list[Case]:
    """The cases of a seed, and the very ones of the last time where they hold the same: what an exercise's own answers
    do on them is then known."""
    cases, world = exercise.draw(seed), exercise.reads and exercise.reads()
    last = _drawn.get((exercise, seed, world), [])
    if len(last) == len(cases) and all(map(_alike, last, cases)):
        return last
    _drawn[exercise, seed, world] = cases
    return cases


_drawn: dict[tuple[Exercise, int, Hashable], list[Case]] = {}


def _alike(a: Case, b: Case) -> bool:
    plain = (a.fill, a.train, a.seed) == (b.fill, b.train, b.seed)
    return plain and all(map(unchanged, (a.args, dict(a.kwargs), a.init), (b.args, dict(b.kwargs), b.init)))


@functools.lru_cache(maxsize=512)
def known_expected(exercise: Exercise, case: Case, gradients: bool = True) -> Observation:
    """`expected`, remembered for a case that was `drawn`; without `gradients` the result alone."""
    return read(exercise, case, runner(exercise, exercise.oracle).run(case, Look(gradients=gradients)))


@functools.lru_cache(maxsize=512)
def known_slopes(exercise: Exercise, case: Case) -> dict[str, Tensor | None]:
    """The oracle's `slopes`, remembered for a case that was `drawn`."""
    return runner(exercise, exercise.oracle).slopes(case)


@functools.lru_cache(maxsize=2048)
def known_result(exercise: Exercise, index: int, case: Case) -> Observation:
    """What a misconception does on a case that was `drawn`, without its gradients; remembered."""
    wrong = exercise.misconceptions[index]
    return read(exercise, case, runner(exercise, wrong.answer, wrong.initial).run(case))


# --- code -----------------------------------------------------------------------------------------------


def _functions(answer: Any) -> list[types.FunctionType]:
    if inspect.isclass(answer):
        return [f for f in vars(answer).values() if isinstance(f, types.FunctionType)]
    return [answer] if isinstance(answer, types.FunctionType) else []


def _constants(code: types.CodeType) -> set:
    """The constants of a code object, those inside tuples too."""
    found = (c for const in code.co_consts for c in (const if isinstance(const, tuple) else (const,)))
    return {c for c in found if not isinstance(c, types.CodeType)}


def _idle(function: types.FunctionType) -> tuple[str, ...]:
    """The arguments that a function never reads."""
    code = function.__code__
    read = {i.argval for i in dis.get_instructions(function) if i.opname.startswith(("LOAD_FAST", "LOAD_DEREF"))}
    return tuple(name for name in code.co_varnames[: code.co_argcount] if name not in read | {*code.co_cellvars})


def _borrowed(function: types.FunctionType) -> list[tuple[str, str]]:
    """The notebook's tensors and numbers that a function reads, then its other values; no ALL_CAPS constants."""
    read = {i.argval for i in dis.get_instructions(function) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    found = []
    for name in sorted(read):
        value = function.__globals__.get(name)
        if name.isupper() or value is None or callable(value) or isinstance(value, (bool, types.ModuleType)):
            continue
        found.append((name, _KINDS.get(type(value), "a tensor" if isinstance(value, Tensor) else "")))
    return sorted(found, key=lambda borrowed: not borrowed[1])


_KINDS = {int: "a number", float: "a number"}


def _left_behind(module: nn.Module) -> str | None:
    """The name of a tensor that a part of the module keeps and that did not move with it."""
    for part in module.modules():
        for name, kept in vars(part).items():
            if name not in ("_parameters", "_buffers") and any(t.device != AWAY for t in tensors(kept)):
                return name
    return None


def _moved(value: Any) -> Any:
    return value.to(AWAY) if isinstance(value, Tensor) else value
