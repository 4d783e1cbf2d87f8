"""Run answers. `Runner` is the interface between the code that judges an answer and the code that runs it.

Only plain data crosses this interface: a `Case` and options go in; an `Observation`, `CodeTraits` or another small
record comes out. Test doubles and views are found by name in `utils.test_doubles`, which contains no oracle.
`InProcessRunner` runs an answer in the learner's own process, as a notebook does.
"""

from __future__ import annotations

import copy
import functools
import linecache
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from utils.exercises.call_trace import CallRecorder, TracedCall
from utils.exercises.cell_code import CellCode
from utils.exercises.code_traits import CodeTraits, analyse_code
from utils.exercises.exercise import AnswerSignature, Case
from utils.exercises.fake_device import (
    FAKE_DEVICE,
    DeviceMismatch,
    DeviceMoveResult,
    call_on_fake_device,
    emulate_device,
    find_unmoved_tensor,
)
from utils.exercises.instantiate import (
    ReusedArguments,
    build_module,
    copy_value,
    fill_parameters,
    numbers_of,
    overwrite,
    shares_numbers,
)
from utils.exercises.observe import (
    Failure,
    Observation,
    RunOptions,
    build_failure,
    call_answer,
    collect_tensors,
    is_float,
    preserve_global_state,
    record_run,
    seed_torch,
    source_files,
    to_plain_tensors,
)
from utils.exercises.op_trace import FirstNonfinite, NonfiniteOrigin
from utils.exercises.side_effects import changed_paths, emptied_variables, outer_variables, values_identical

RESULT_ONLY = RunOptions()  # record only the result


class Runner(Protocol):
    """Runs one answer to one exercise. Whatever the answer does, no method raises an exception."""

    def inspect_code(self) -> CodeTraits:
        """Analyse the code of the answer without running it."""
        ...

    def run(self, case: Case, look: RunOptions = RESULT_ONLY) -> Observation:
        """Run the answer on a case, and record what the options request."""
        ...

    def run_in_sequence(self, cases: list[Case], gradients: bool = True) -> list[Observation]:
        """Run the answer on several cases, one after the other, as a notebook does.

        A module is created once, for the first case. Before each call, the module gets the parameters of the next case.
        A case with different constructor arguments gets its own module. If the arguments of two calls differ only in
        their numbers, both calls get the same object, with new numbers (see `ReusedArguments`). After each call, the
        result is overwritten, because a caller may also overwrite it. The sequence ends at the first exception.

        Args:
            cases: the cases, in order.
            gradients: whether torch records gradients.
        """
        ...

    def run_copies(self, case: Case) -> list[Observation]:
        """Run three copies of a module: a deep copy, one that loads its state_dict, and one that loads only parameters.

        Before each run, the original's numbers are set to 0. A copy that still uses them then gives a wrong result.
        """
        ...

    def trace(self, case: Case) -> list[TracedCall]:
        """Run the answer on a case, and record the torch calls of its own lines.

        For a value, rerun the cell that computed it. Return [] if the cell is unknown.
        """
        ...

    def run_with_values(self, case: Case, calls: list[int], values: list[Tensor]) -> Observation:
        """Run the answer as `trace` does, and replace the numbers in the results of some calls.

        `values` contains expected values, so call this method only for an answer that is known to be wrong.

        Args:
            case: the case.
            calls: the indices of these calls in the result of `trace`.
            values: for each of these calls, a tensor with as many numbers as its result.
        """
        ...

    def run_on_fake_device(self, case: Case) -> DeviceMoveResult:
        """Run the answer on an emulated device."""
        ...

    def find_nonfinite_origin(self, case: Case) -> NonfiniteOrigin | None:
        """Find the operation that produces the first nan or inf on a case. Return None if neither occurs."""
        ...

    def compute_gradients(self, case: Case) -> dict[str, Tensor | None]:
        """Map each input and parameter to the gradient of a weighted sum of the results. Return {} on failure."""
        ...


class InProcessRunner:
    """A `Runner` that runs the answer in this process."""

    def __init__(self, form: AnswerSignature, answer: Any, cell: CellCode | None = None) -> None:
        self.form, self.answer, self.cell = form, answer, cell
        self._outer = outer_variables(answer)  # saved before the first call

    def inspect_code(self) -> CodeTraits:
        if self.form.kind == "value":
            return CodeTraits()
        return analyse_code(self.answer)

    def run(self, case: Case, look: RunOptions = RESULT_ONLY) -> Observation:
        value = self.answer
        if self.form.kind == "value":
            return _todo_observation() if _has_ellipsis(value) else Observation(to_plain_tensors(value))
        observation = record_run(self.form, value, case, replace(look, gradients=False))
        if observation.failure is None and _has_ellipsis(observation.value):
            return _todo_observation()
        if look.gradients and observation.failure is None and self._has_gradients(case):
            gradient_run = record_run(self.form, value, case, RunOptions(gradients=True))
            observation.detached, observation.level, observation.broken = (
                gradient_run.detached,
                gradient_run.level,
                gradient_run.broken,
            )
            observation.backward = gradient_run.failure
        return observation

    def _has_gradients(self, case: Case) -> bool:
        inputs = [*case.args, *case.kwargs.values()]
        return self.form.differentiable and (self.form.kind == "module" or any(map(is_float, inputs)))

    def run_in_sequence(self, cases: list[Case], gradients: bool = True) -> list[Observation]:
        observations: list[Observation] = []
        arguments, earlier = ReusedArguments(), None  # `earlier` is the first result, which is not overwritten
        with preserve_global_state(cases[0].seed), torch.set_grad_enabled(gradients):
            try:
                call = build_module(self.answer, cases[0]) if self.form.kind == "module" else self.answer
                attributes = _attributes(call)
                for case in cases:
                    own = call if case.init == cases[0].init else build_module(self.answer, case)
                    observation, value = self._run_next(own, case, arguments)
                    if not observations and value is not None:
                        earlier = value, observation.value
                    else:
                        overwrite(value)
                    outer = outer_variables(self.answer)
                    names = {**self._outer, **outer}
                    kept = [n for n in names if not values_identical(self._outer.get(n, ...), outer.get(n, ...))]
                    kept += [f"self.{n}" for n, v in _attributes(call).items() if attributes.get(n, ...) is not v]
                    reused = earlier is not None and not values_identical(*earlier)
                    observations.append(replace(observation, kept=tuple(kept), reused=reused))
            except (Exception, SystemExit) as error:
                observations.append(Observation(failure=build_failure(error, self.answer)))
        return observations

    def _run_next(self, call: Any, case: Case, arguments: ReusedArguments) -> tuple[Observation, Any]:
        """Call the answer on the next case of a sequence. Return the observation and the result itself.

        If the result is a view of an argument, return None instead of it, because the next call changes the argument.
        """
        if self.form.kind == "module" and case.fill:
            fill_parameters(call, case.seed)
        args = tuple(arguments.copy(i, a) for i, a in enumerate(case.args))
        kwargs = copy_value(dict(case.kwargs))
        seed_torch(case.seed)
        value = call_answer(self.form, call, args, kwargs)
        before, after = (self.form.bind_arguments(a, k) for a, k in ((case.args, case.kwargs), (args, kwargs)))
        changed = tuple(path for name in before for path in changed_paths(name, before[name], after[name]))
        observation = Observation(copy_value(value), changed=changed)
        return observation, None if shares_numbers(value, args) else value

    def run_copies(self, case: Case) -> list[Observation]:
        observations = []
        reload = functools.partial(_reload, answer=self.answer, case=case)
        load_parameters = functools.partial(reload, parameters_only=True)
        for make_copy in (copy.deepcopy, reload, load_parameters):
            with preserve_global_state(case.seed):
                try:
                    original = build_module(self.answer, case)
                    original(*copy_value(case.args), **copy_value(dict(case.kwargs)))
                    module = make_copy(original)
                    overwrite([*filter(is_float, numbers_of(original))])
                    seed_torch(case.seed)
                    value = module(*copy_value(case.args), **copy_value(dict(case.kwargs)))
                    observations.append(Observation(to_plain_tensors(value)))
                except (Exception, SystemExit) as error:
                    observations.append(Observation(failure=build_failure(error, self.answer)))
        return observations

    def trace(self, case: Case) -> list[TracedCall]:
        if self.form.kind == "value":
            return self.cell.trace(self.form.name, self.answer) if self.cell else []
        recorder = CallRecorder(source_files(self.answer))
        record_run(self.form, self.answer, case, RESULT_ONLY, recorder)
        return recorder.calls

    def run_with_values(self, case: Case, calls: list[int], values: list[Tensor]) -> Observation:
        new = dict(zip(calls, values))
        if self.form.kind == "value":
            return self.cell.run_with_values(self.form.name, new) if self.cell else Observation()
        return record_run(self.form, self.answer, case, RESULT_ONLY, CallRecorder(source_files(self.answer), new))

    def run_on_fake_device(self, case: Case) -> DeviceMoveResult:
        moved = self._run_on_fake_device(case)
        if moved.has_device_mix:
            with emptied_variables(self.answer) as is_changed:
                is_kept = is_changed and self._run_on_fake_device(case).works
            return replace(moved, keeps_tensors=is_kept)
        if self.form.kind != "module" or moved.unmoved_tensor:
            return moved
        again = self._run_on_fake_device(case, called_before=True)
        return replace(again, keeps_tensors=again.has_device_mix)

    def _run_on_fake_device(self, case: Case, called_before: bool = False) -> DeviceMoveResult:
        """Run the answer on an emulated device. With `called_before`, a module first runs on the CPU and then moves."""
        with preserve_global_state(case.seed):
            try:
                call, left = self.answer, None
                if self.form.kind == "module":
                    call = build_module(self.answer, replace(case, fill=False))
                if called_before:
                    call(*copy_value(case.args), **copy_value(dict(case.kwargs)))
                with emulate_device():
                    if self.form.kind == "module":
                        call = call.to(FAKE_DEVICE)
                        left = None if called_before else find_unmoved_tensor(call)
                    return (
                        DeviceMoveResult(unmoved_tensor=left)
                        if left
                        else call_on_fake_device(call, case.args, case.kwargs)
                    )
            except DeviceMismatch:
                return DeviceMoveResult(has_device_mix=True)
            except (Exception, SystemExit) as error:  # this run looks only for device errors; `run` reports the others
                return DeviceMoveResult(has_device_mix="device" in str(error))

    def find_nonfinite_origin(self, case: Case) -> NonfiniteOrigin | None:
        mode = FirstNonfinite(files := source_files(self.answer))
        record_run(self.form, self.answer, case, RESULT_ONLY, mode)
        origin = mode.nan or mode.inf
        if origin is None:
            return None
        cause, line = origin
        code = next((linecache.getline(file, line).strip() for file in files), "") if line else ""
        return NonfiniteOrigin(cause, line, code)

    def compute_gradients(self, case: Case) -> dict[str, Tensor | None]:
        try:
            return self._compute_gradients(case)
        except (Exception, SystemExit):  # diagnose_gradients reports missing gradients
            return {}

    def _compute_gradients(self, case: Case) -> dict[str, Tensor | None]:
        with preserve_global_state(case.seed):
            module = build_module(self.answer, case) if self.form.kind == "module" else None
            args = tuple(a.requires_grad_() if is_float(a) else a for a in copy_value(case.args))
            kwargs = copy_value(dict(case.kwargs))
            seed_torch(case.seed)
            value = call_answer(self.form, module or self.answer, args, kwargs)
            results = [r for r in collect_tensors(value) if is_float(r)]
            leaves = {
                f"`{n}`": a
                for n, a in self.form.bind_arguments(args, kwargs).items()
                if is_float(a) and a.requires_grad
            }
            leaves |= {f"`{n}`": p for n, p in module.named_parameters()} if module else {}
            terms = [(result * _gradient_weights(result)).sum() for result in results]
            gradients = torch.autograd.grad(torch.stack(terms).sum(), list(leaves.values()), allow_unused=True)
            return dict(zip(leaves, gradients))


def _gradient_weights(result: Tensor) -> Tensor:
    """Return a different weight for each number of a result. The gradient of an unweighted sum can be 0."""
    return torch.linspace(-1, 1, result.numel()).view(result.shape) if result.dim() else torch.ones(())


def _attributes(answer: Any) -> dict[str, Any]:
    """Return a module's own attributes and buffers by name; return {} for a function."""
    if not isinstance(answer, nn.Module):
        return {}
    return {n: v for n, v in vars(answer).items() if not n.startswith("_")} | dict(answer._buffers)


def _reload(
    module: nn.Module, answer: Callable[..., nn.Module], case: Case, parameters_only: bool = False
) -> nn.Module:
    """Build a new module, and load the state_dict of `module`, or only its parameters, into the new one."""
    fresh = build_module(answer, replace(case, fill=False))
    state = {n: p.detach() for n, p in module.named_parameters()} if parameters_only else module.state_dict()
    fresh.load_state_dict(state)
    return fresh


def _has_ellipsis(value: Any) -> bool:
    """Tell whether a result is or contains a `...` that the learner has not replaced."""
    return value is ... or (isinstance(value, tuple) and any(v is ... for v in value))


def _todo_observation() -> Observation:
    return Observation(failure=Failure("NotImplementedError", "", todo=""))
