"""Run an answer on a case and write down everything that a check may ask about.

The run is sealed: random state, grad mode, default dtype, printed text and the case's own arguments
are as before afterwards, whatever the answer does.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import io
import linecache
import random
import sys
import types
import warnings
from dataclasses import dataclass
from typing import Any, Mapping

import torch
from torch import nn

from utils.calm import unfilled
from utils.exercise import Case, Exercise, Sampler, filled


@dataclass
class Failure:
    """An exception that an answer raised: where, and whether it only says "not attempted yet"."""

    type: str
    text: str
    line: int | None = None
    code: str = ""
    todo: str | None = None  # the name that is not attempted yet, "" when it cannot be told


@dataclass
class Observation:
    """What one answer did on one case."""

    value: Any = None
    failure: Failure | None = None
    changed: tuple[str, ...] = ()  # arguments that were modified
    detached: tuple[str, ...] = ()  # inputs and parameters that no gradient reaches
    backward: Failure | None = None  # what stopped the gradients, if something did
    parameters: dict[str, tuple[int, ...]] | None = None  # of a module


@contextlib.contextmanager
def sealed(seed: int = 0):
    """Run the block with seeded random numbers and silence; put every global state back afterwards."""
    numpy = sys.modules.get("numpy")
    cuda = torch.cuda.is_available() and torch.cuda.is_initialized()
    python_state, grad, dtype = random.getstate(), torch.is_grad_enabled(), torch.get_default_dtype()
    threads = torch.get_num_threads()
    numpy_state = numpy.random.get_state() if numpy else None
    devices = list(range(torch.cuda.device_count())) if cuda else []
    with torch.random.fork_rng(devices=devices), contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            torch.set_grad_enabled(True)
            torch.set_default_dtype(torch.float32)
            if threads > 1:
                torch.set_num_threads(1)  # cases are tiny; on a busy machine threads that wait for each other cost 20 times the work
            reseed(seed)
            yield
        finally:
            torch.set_grad_enabled(grad)
            torch.set_default_dtype(dtype)
            if threads > 1:
                torch.set_num_threads(threads)
            random.setstate(python_state)
            if numpy:
                numpy.random.set_state(numpy_state)


def reseed(seed: int) -> None:
    """Seed torch's generators without touching a CUDA that was never used (manual_seed would queue work on it)."""
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(seed)


def parameter_names(exercise: Exercise) -> list[str]:
    """The names of the arguments that the learner's function (or `forward`) takes."""
    if exercise.kind == "value":
        return []
    names = list(inspect.signature(exercise.oracle).parameters)
    return names[1:] if exercise.kind == "module" else names


def bind(exercise: Exercise, case: Case) -> dict[str, Any]:
    """The case's arguments by name."""
    named = dict(zip(parameter_names(exercise), case.args))
    return {**named, **case.kwargs}


def observe(exercise: Exercise, answer: Any, case: Case, gradients: bool = True) -> Observation:
    """Run `answer` (in the learner's or in the oracle's form) on `case`, and once more to see what its gradients reach."""
    if exercise.kind == "value":
        return Observation(value=answer() if isinstance(answer, types.FunctionType) else answer)
    seen = _run(exercise, answer, case, grads=False)
    if gradients and seen.failure is None and _differentiable(case, exercise):
        again = _run(exercise, answer, case, grads=True)
        seen.detached, seen.backward = again.detached, again.failure
    return seen


def expected(exercise: Exercise, case: Case) -> Observation:
    """What the oracle does on `case`."""
    return observe(exercise, exercise.oracle, case)


def as_module(exercise: Exercise, forward, initial=None) -> type[nn.Module]:
    """A class from a function of `(params, *args)`: how oracles and misconceptions of modules are run."""
    initial = initial or exercise.initial

    class Made(nn.Module):
        def __init__(self, *args, **kwargs):
            super().__init__()
            built = inspect.signature(initial).bind(*args, **kwargs)
            built.apply_defaults()
            self._built_with = built.arguments
            for name, value in initial(*args, **kwargs).items():
                _place(self, name, nn.Parameter(value.clone()))

        def forward(self, *args, **kwargs):
            params = Params(self.named_parameters())
            params.training, params.init = self.training, self._built_with
            return forward(params, *args, **kwargs)

    return Made


class Params(dict):
    """A module's parameters by name; `.training` is the mode in which it runs, `.init` what it was built with, by name."""

    training = False
    init: Mapping[str, Any] = types.MappingProxyType({})


def _place(module: nn.Module, name: str, parameter: nn.Parameter) -> None:
    """Put a parameter at a dotted name, as `W_query.weight`, making the holders on the way."""
    *path, last = name.split(".")
    for part in path:
        if part not in module._modules:
            module.add_module(part, nn.Module())
        module = module._modules[part]
    module.register_parameter(last, parameter)


def _run(exercise: Exercise, answer: Any, case: Case, grads: bool) -> Observation:
    seen = Observation()
    args, kwargs = fresh(case.args), fresh(case.kwargs)
    named = {**dict(zip(parameter_names(exercise), args)), **kwargs}
    leaves = {n: t.requires_grad_() for n, t in named.items() if grads and _is_float(t)}
    with sealed(case.seed):
        try:
            call = answer
            if exercise.kind == "module":
                call = build(exercise, answer, case)
                seen.parameters = {n: tuple(p.shape) for n, p in call.named_parameters()}
                leaves.update({n: p for n, p in call.named_parameters() if grads})
                reseed(case.seed)
            result = call(*args, **kwargs)
            seen.value = _viewed(exercise, case, result, args, kwargs)
            if grads:
                seen.detached = _unreached(seen.value, leaves, case.seed)
        except (Exception, SystemExit) as error:
            seen.failure = _failure(error, answer)
    if not grads:
        before = {**dict(zip(parameter_names(exercise), case.args)), **case.kwargs}
        seen.changed = tuple(n for n in named if not _unchanged(before[n], named[n]))
    return seen


def _viewed(exercise: Exercise, case: Case, result: Any, args: tuple, kwargs: dict) -> Any:
    """What is compared: the result, or what the exercise's `view` makes of it."""
    if exercise.view is None:
        return result
    before = {"case": case} if "case" in inspect.signature(exercise.view).parameters else {}
    return exercise.view(result, *args, **kwargs, **before)


def build(exercise: Exercise, answer: Any, case: Case) -> nn.Module:
    """The module as a case asks for it: built, filled, in its mode."""
    made = answer if inspect.isclass(answer) else as_module(exercise, answer)
    module = made(**case.init) if isinstance(case.init, dict) else made(*case.init)
    if case.fill:
        fill(module, case.seed)
    return module.train(case.train)


def fill(module: nn.Module, seed: int) -> None:
    """Give every parameter the order-one values that a case with this seed asks for."""
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            parameter.copy_(filled(name, parameter.shape, seed))


def fresh(value: Any) -> Any:
    """A deep copy of a case's arguments; random generators are copied with their state."""
    if isinstance(value, torch.Generator):
        return torch.Generator(value.device).set_state(value.get_state())
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, (tuple, list)):
        return type(value)(fresh(v) for v in value)
    if isinstance(value, dict):
        return {k: fresh(v) for k, v in value.items()}
    if isinstance(value, nn.Module):
        return copy.deepcopy(value)
    return value


def _is_float(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _differentiable(case: Case, exercise: Exercise) -> bool:
    return exercise.differentiable and (exercise.kind == "module" or any(_is_float(v) for v in [*case.args, *case.kwargs.values()]))


def tensors(value: Any) -> list[torch.Tensor]:
    """Every tensor in a result: itself, or those of a tuple, list or dict."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in tensors(v)]
    return []


def _unreached(value: Any, leaves: dict[str, torch.Tensor], seed: int) -> tuple[str, ...]:
    """The leaves that no gradient of a random weighted sum of the results reaches."""
    rand = Sampler(f"gradient:{seed}")
    terms = [(t * rand(*t.shape, dtype=t.dtype)).sum() for t in tensors(value) if t.requires_grad]
    if not terms:
        return tuple(leaves)
    wanted = [t for t in leaves.values() if t.requires_grad]
    reached = torch.autograd.grad(sum(terms), wanted, allow_unused=True) if wanted else ()
    ids = {id(t) for t, g in zip(wanted, reached) if g is not None}
    return tuple(n for n, t in leaves.items() if id(t) not in ids)


def _unchanged(before: Any, after: Any) -> bool:
    if isinstance(before, torch.Tensor):
        return before.shape == after.shape and torch.equal(before.nan_to_num(), after.detach().nan_to_num())
    if isinstance(before, (tuple, list)):
        return len(before) == len(after) and all(map(_unchanged, before, after))
    if isinstance(before, dict):
        return before.keys() == after.keys() and all(_unchanged(before[k], after[k]) for k in before)
    if isinstance(before, nn.Module):
        return _unchanged(dict(before.state_dict()), dict(after.state_dict()))
    return isinstance(before, torch.Generator) or before is after or before == after


def _failure(error: BaseException, answer: Any) -> Failure:
    """What was raised and on which line of the learner's own code."""
    own = {code.co_filename for code in _codes(answer)}
    line, code, trace = None, "", error.__traceback__
    while trace is not None:
        filename = trace.tb_frame.f_code.co_filename
        if filename in own:
            line, code = trace.tb_lineno, linecache.getline(filename, trace.tb_lineno).strip()
        trace = trace.tb_next
    return Failure(type(error).__name__, str(error), line, code, not_attempted(error))


def not_attempted(error: BaseException) -> str | None:
    """The name that a stub's error gives ("" when it gives none), or None for any other error.

    torch raises NotImplementedError too, with a sentence where a stub has a name.
    """
    text = str(error.args[0]) if error.args else ""
    if isinstance(error, NotImplementedError) and (not text or text.replace(".", "").isidentifier()):
        return text
    return "" if unfilled(text) else None


def _codes(answer: Any) -> list[types.CodeType]:
    """The code objects of a function, or of all methods of a class."""
    if inspect.isclass(answer):
        return [f.__code__ for f in vars(answer).values() if isinstance(f, types.FunctionType)]
    answer = inspect.unwrap(answer) if callable(answer) else answer
    return [answer.__code__] if hasattr(answer, "__code__") else []
