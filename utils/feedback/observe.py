"""Run an answer on a case and write down everything that a check may ask about.

The run is sealed: random state, grad mode, default dtype, printed text and the case's own arguments are as before
afterwards, whatever the answer does.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import linecache
import math
import random
import sys
import tokenize
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from utils.feedback.exercise import AnswerSignature, Case, Sampler
from utils.feedback.instantiate import build_module, copy_value
from utils.feedback.op_trace import OperationCounter, collect_tensors
from utils.lessons.stubs import unfinished_name

ZERO_GRADIENT = 1e-5  # a gradient of order-one numbers below this is 0 but for rounding


@dataclass(frozen=True)
class RunOptions:
    """What is to be seen of a run, beyond its result.

    Attributes:
        gradients: run the answer once more, where that makes sense, to see which inputs and parameters they reach.
        calls: call it so often with the same arguments; with more than one, `value` is the list of results.
        state: hand out the state_dict of a module as well, before it is called.
        attributes: hand out those of a module that have these names.
        count: count torch's operations, and the numbers of the largest tensor that one of them gives.
        parts: hand out what those parts of a module that have these names were given, and what they made of it.
    """

    gradients: bool = False
    calls: int = 1
    state: bool = False
    attributes: Sequence[str] = ()
    count: bool = False
    parts: Sequence[str] = ()


@dataclass
class Failure:
    """An exception that an answer raised: where, and whether it only says "not attempted yet"."""

    type: str
    text: str
    line: int | None = None
    code: str = ""
    body: str = ""  # the source of the function that the line stands in
    bases: tuple[str, ...] = ()  # of its type
    todo: str | None = None  # the name that is not attempted yet, "" when it cannot be told


@dataclass
class Observation:
    """What one answer did on one case: plain data but for `value`, which is whatever the answer returned."""

    value: Any = None
    failure: Failure | None = None
    changed: tuple[str, ...] = ()  # arguments that were modified
    detached: tuple[str, ...] = ()  # inputs and parameters that no gradient reaches
    level: tuple[str, ...] = ()  # those on which the result does not hang: the detached, and where the gradient is 0
    broken: tuple[str, ...] = ()  # inputs and parameters whose gradient holds nan or inf
    backward: Failure | None = None  # what stopped the gradients, if something did
    parameters: dict[str, tuple[int, ...]] | None = None  # of a module: their sizes by name
    aliases: tuple[str, ...] = ()  # of a module: further names of parameters that have one already
    state: dict[str, Tensor] | None = None  # of a module: its state_dict, where it was asked for
    attributes: dict[str, Any] | None = None  # of a module: those that were asked for
    parts: dict[str, tuple[Tensor, Tensor]] | None = None  # of a module: (given, made), at the first call of each
    drew: bool = False  # whether the call used or seeded torch's global random numbers
    operations: int = 0  # how many torch operations ran, where they were counted
    largest: int = 0  # how many numbers the largest tensor held that one of them gave
    printed: str = ""  # what it printed, cut to MOST_PRINTED characters


# --- a sealed world -----------------------------------------------------------------------------------


MOST_PRINTED = 2000  # characters
_is_preserving = False  # whether a sealed block is being run


@contextlib.contextmanager
def preserve_global_state(seed: int = 0) -> Iterator[io.StringIO]:
    """Run the block with seeded random numbers and silence; put every global state back afterwards.

    Gives what would have been printed.
    """
    global _is_preserving
    numpy, outermost = sys.modules.get("numpy"), not _is_preserving
    cuda = torch.cuda.is_available() and torch.cuda.is_initialized()
    python_state, grad, dtype = random.getstate(), torch.is_grad_enabled(), torch.get_default_dtype()
    threads = torch.get_num_threads()
    # This one costs more than all others together, and blocks within a sealed one are many: the outermost restores it.
    numpy_state = numpy.random.get_state() if numpy and outermost else None
    devices = list(range(torch.cuda.device_count())) if cuda else []
    printed = io.StringIO()
    with torch.random.fork_rng(devices=devices), contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            _is_preserving = True
            torch.set_grad_enabled(True)
            torch.set_default_dtype(torch.float32)
            if threads > 1:  # cases are tiny: on a busy machine threads that wait for each other cost 20 times the work
                torch.set_num_threads(1)
            seed_torch(seed)
            random.seed(seed)
            if numpy:
                numpy.random.seed(seed)
            yield printed
        finally:
            _is_preserving = not outermost
            torch.set_grad_enabled(grad)
            torch.set_default_dtype(dtype)
            if threads > 1:
                torch.set_num_threads(threads)
            random.setstate(python_state)
            if numpy and numpy_state is not None:
                numpy.random.set_state(numpy_state)


def seed_torch(seed: int) -> None:
    """Seed torch's generators without touching a CUDA that was never used (manual_seed would queue work on it)."""
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(seed)


def to_plain_tensors(value: Any) -> Any:
    """A result with torch's own tensors in it: a subclass may answer torch's questions as it likes."""
    if isinstance(value, Tensor) and type(value) is not Tensor:
        with torch._C.DisableTorchFunctionSubclass():
            return value.as_subclass(Tensor)
    if type(value) in (tuple, list):
        return type(value)(map(to_plain_tensors, value))
    if type(value) is dict:
        return {key: to_plain_tensors(item) for key, item in value.items()}
    return value


def is_float(value: Any) -> bool:
    """Whether it is a floating-point tensor."""
    return isinstance(value, Tensor) and value.is_floating_point()


# --- one run ------------------------------------------------------------------------------------------


def record_run(
    form: AnswerSignature,
    answer: Callable[..., Any],
    case: Case,
    options: RunOptions,
    mode: TorchDispatchMode | None = None,
) -> Observation:
    """Run `answer` on `case`; with `look.gradients`, on inputs and parameters that want gradients.

    While it is called, `mode` sees every operation of torch.
    """
    seen = Observation()
    args, kwargs = copy_value(case.args), copy_value(dict(case.kwargs))
    named = form.bind_arguments(args, kwargs)
    leaves = {name: value.requires_grad_() for name, value in named.items() if options.gradients and is_float(value)}
    with preserve_global_state(case.seed) as printed:
        try:
            call = answer
            if form.kind == "module":
                if options.state:  # what memory that nobody fills may well hold
                    torch.empty(64).fill_(torch.nan)
                module = call = build_module(answer, case)
                _record_module(module, options, seen)
                leaves |= {n: p for n, p in module.named_parameters() if options.gradients}
                seed_torch(case.seed)
            before_call = torch.get_rng_state()
            with OperationCounter() if options.count else mode or contextlib.nullcontext() as counted:
                results = [_call_answer(form, call, args, kwargs) for _ in range(options.calls)]
            seen.drew = not torch.equal(before_call, torch.get_rng_state())
            if isinstance(counted, OperationCounter):
                seen.operations, seen.largest = counted.operations, counted.largest
            seen.value = results[0] if options.calls == 1 else results
            if options.gradients:
                seen.detached, seen.level, seen.broken = _trace_gradients(seen.value, leaves, case.seed)
        except (Exception, SystemExit) as error:
            seen.failure = build_failure(error, answer)
    seen.printed = printed.getvalue()[:MOST_PRINTED]
    if not options.gradients:
        before = form.bind_arguments(case.args, dict(case.kwargs))
        seen.changed = tuple(n for n in named if not values_identical(before[n], named[n]))
    return seen


def _record_module(module: nn.Module, look: RunOptions, seen: Observation) -> None:
    """Write down what an object holds before it is called."""
    seen.parameters = {name: tuple(p.shape) for name, p in module.named_parameters()}
    every = (name for name, _ in module.named_parameters(remove_duplicate=False))
    seen.aliases = tuple(name for name in every if name not in seen.parameters)
    if look.state:
        seen.state = {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}
    if look.parts:
        seen.parts = {}
        for name, part in module.named_modules():
            if name in look.parts:
                part.register_forward_hook(functools.partial(_record_part_call, seen.parts, name))
    if look.attributes:
        seen.attributes = {
            name: _scalar_or_value(getattr(module, name)) for name in look.attributes if hasattr(module, name)
        }


def _record_part_call(
    heard: dict[str, tuple[Tensor, Tensor]], name: str, _: nn.Module, given: tuple, made: Any
) -> None:
    """A forward hook that writes down what a part is given and makes, where both are tensors."""
    if given and is_float(given[0]) and is_float(made):
        heard.setdefault(name, (given[0].detach().clone(), made.detach().clone()))


def _call_answer(form: AnswerSignature, call: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    """What is compared: the result of one call, or what the exercise's `view` makes of it."""
    result = to_plain_tensors(call(*args, **kwargs))
    if form.view is None:
        return result
    return form.view(result, *args, **kwargs)


def _scalar_or_value(value: Any) -> Any:
    """A tensor of one number as that number."""
    return value.item() if isinstance(value, Tensor) and value.numel() == 1 else value


def _trace_gradients(value: Any, leaves: dict[str, Tensor], seed: int) -> tuple[tuple[str, ...], ...]:
    """What becomes of the gradient of a random weighted sum of the results: the leaves that it does not reach; these
    and those where it is 0; and those where it is no number."""
    rand = Sampler(f"gradient:{seed}")
    terms = [(t * rand(*t.shape, dtype=t.dtype)).sum() for t in collect_tensors(value) if t.requires_grad]
    if not terms:
        return tuple(leaves), tuple(leaves), ()
    wanted = [t for t in leaves.values() if t.requires_grad]
    reached = torch.autograd.grad(sum(terms[1:], terms[0]), wanted, allow_unused=True) if wanted else ()
    slopes = {id(t): g.abs().amax().item() if g.numel() else 0.0 for t, g in zip(wanted, reached) if g is not None}
    sizes = {name: slopes.get(id(t)) for name, t in leaves.items()}
    return (
        tuple(name for name, size in sizes.items() if size is None),
        tuple(name for name, size in sizes.items() if size is None or size < ZERO_GRADIENT),
        tuple(name for name, size in sizes.items() if size is not None and not math.isfinite(size)),
    )


def values_identical(before: Any, after: Any) -> bool:
    """Whether two values of a case hold the same; where that cannot be told, they do not."""
    if isinstance(before, Tensor):
        return before.shape == after.shape and torch.equal(before.nan_to_num(), after.detach().nan_to_num())
    if isinstance(before, (tuple, list)):
        return len(before) == len(after) and all(map(values_identical, before, after))
    if isinstance(before, dict):
        return before.keys() == after.keys() and all(values_identical(before[k], after[k]) for k in before)
    if isinstance(before, nn.Module):
        return values_identical(dict(before.state_dict()), dict(after.state_dict()))
    return isinstance(before, torch.Generator) or before is after or before == after


def build_failure(error: BaseException, answer: Any) -> Failure:
    """What was raised and on which line of the learner's own code."""
    own = source_files(answer)
    line, code, body, trace = None, "", "", error.__traceback__
    while trace is not None:
        at = trace.tb_frame.f_code
        if at.co_filename in own:
            line, code = trace.tb_lineno, linecache.getline(at.co_filename, trace.tb_lineno).strip()
            body = function_source(at)
        trace = trace.tb_next
    bases = tuple(base.__name__ for base in type(error).__mro__[1:])
    return Failure(type(error).__name__, str(error), line, code, body, bases, unfinished_name(error))


def function_source(code: types.CodeType) -> str:
    """A function as it was written, with what can never be reached; "" where nothing is known of it."""
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]
    try:
        return "".join(inspect.getblock(lines))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return "".join(lines)


def source_files(answer: Any) -> set[str]:
    """The names of the files that an answer's own code stands in."""
    return {code.co_filename for code in _code_objects(answer)}


def _code_objects(answer: Any) -> list[types.CodeType]:
    """The code objects of a function, or of all methods of a class."""
    if inspect.isclass(answer):
        return [f.__code__ for f in vars(answer).values() if isinstance(f, types.FunctionType)]
    answer = inspect.unwrap(answer) if callable(answer) else answer
    return [answer.__code__] if hasattr(answer, "__code__") else []
