"""Run an answer on a case, and record everything that a check may need.

A run passes copies of the case's arguments to the answer, and captures the text that the answer prints. Afterwards, it
restores the random state, the grad mode and the default dtype.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import itertools
import linecache
import math
import operator
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

from utils.exercises.exercise import AnswerSignature, Case, Sampler
from utils.exercises.instantiate import build_module, copy_value
from utils.exercises.op_trace import OperationCounter, collect_tensors
from utils.exercises.side_effects import changed_paths, global_settings
from utils.lessons.stubs import unfinished_name

ZERO_GRADIENT = 1e-5  # smaller gradients count as 0, because they may be rounding errors
AGAIN = " again"  # see `Observation.parts`


@dataclass(frozen=True)
class RunOptions:
    """Options of a run: what to record in addition to its result.

    Attributes:
        gradients: if possible, run the answer once more to find which inputs and parameters its gradients reach.
        calls: how often to call the answer with the same arguments; above 1, `value` is the list of results.
        state: record a module's state_dict before the call.
        attributes: record a module's attributes with these names.
        count: count torch's operations, and record the size of the largest tensor that an operation returned.
        parts: record the input and the output of the submodules with these names.
        prepare: a function from `utils.test_doubles` that changes the module before the call, as a later cell does.
    """

    gradients: bool = False
    calls: int = 1
    state: bool = False
    attributes: Sequence[str] = ()
    count: bool = False
    parts: Sequence[str] = ()
    prepare: Callable[[nn.Module], None] | None = None


@dataclass
class Failure:
    """An exception that an answer raised: its type and text, its line, and whether a stub raised it."""

    type: str
    text: str
    line: int | None = None
    code: str = ""
    part: str = ""  # the expression in the line that failed, if Python knows it
    body: str = ""  # the source of the function that contains the line
    bases: tuple[str, ...] = ()  # the names of the base classes of the exception type
    todo: str | None = None  # for a stub: the name that the learner still has to define, or "" if it is unknown


@dataclass
class Observation:
    """The recorded result of one run of an answer on one case.

    All fields are plain data, except `value`, which is whatever the answer returned.
    """

    value: Any = None
    failure: Failure | None = None
    changed: tuple[str, ...] = ()  # the arguments that were modified
    detached: tuple[str, ...] = ()  # the inputs and parameters that no gradient reaches
    level: tuple[str, ...] = ()  # the inputs and parameters whose gradient is missing or 0
    broken: tuple[str, ...] = ()  # the inputs and parameters whose gradient contains nan or inf
    backward: Failure | None = None  # the exception of the backward pass, if there was one
    parameters: dict[str, tuple[int, ...]] | None = None  # for a module: the shapes of its parameters by name
    aliases: tuple[str, ...] = ()  # for a module: additional names of shared parameters
    state: dict[str, Tensor] | None = None  # for a module: its state_dict, if the options request it
    attributes: dict[str, Any] | None = None  # for a module: its attributes that are in `RunOptions.attributes`
    # For a module: the first (input, output) of each submodule; if it runs again, the last one under its name + AGAIN.
    parts: dict[str, tuple[Tensor, Tensor]] | None = None
    kept: tuple[str, ...] = ()  # after several calls: the variables and attributes that these calls changed
    reused: bool = False  # after several calls: whether a later call changed the result of an earlier one
    switched: tuple[str, ...] = ()  # changed global settings, such as "torch.get_default_dtype()"
    drew: bool = False  # whether the call used or seeded torch's global random generator
    operations: int = 0  # the number of torch operations, if the options request it
    largest: int = 0  # the size of the largest tensor that an operation returned
    printed: str = ""  # what the answer printed, truncated to MOST_PRINTED characters


# --- global state -------------------------------------------------------------------------------------


MOST_PRINTED = 2000  # characters
_is_preserving = False  # whether a block of `preserve_global_state` is running


@contextlib.contextmanager
def preserve_global_state(seed: int = 0) -> Iterator[io.StringIO]:
    """Run the block with a fixed random seed and captured output, and restore all global state afterwards.

    Yields a buffer with the text that the block prints.
    """
    global _is_preserving
    numpy, outermost = sys.modules.get("numpy"), not _is_preserving
    cuda = torch.cuda.is_available() and torch.cuda.is_initialized()
    python_state, grad, dtype = random.getstate(), torch.is_grad_enabled(), torch.get_default_dtype()
    threads = torch.get_num_threads()
    # Saving numpy's state takes longer than everything else, so only the outermost block saves it.
    numpy_state = numpy.random.get_state() if numpy and outermost else None
    devices = list(range(torch.cuda.device_count())) if cuda else []
    printed = io.StringIO()
    with torch.random.fork_rng(devices=devices), contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            _is_preserving = True
            torch.set_grad_enabled(True)
            torch.set_default_dtype(torch.float32)
            if threads > 1:  # on a busy machine, several threads make these tiny cases 20 times slower
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
    """Seed torch's generators. If CUDA is not in use, seed only the generator of the CPU, to avoid starting CUDA."""
    torch.default_generator.manual_seed(seed)
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(seed)


def to_plain_tensors(value: Any) -> Any:
    """Convert tensor subclasses in a result to plain tensors, because a subclass can override torch's comparisons."""
    if isinstance(value, Tensor) and type(value) is not Tensor:
        with torch._C.DisableTorchFunctionSubclass():
            return value.as_subclass(Tensor)
    if type(value) in (tuple, list):
        plain = type(value)(map(to_plain_tensors, value))
        return value if all(map(operator.is_, plain, value)) else plain
    if type(value) is dict:
        plain = {key: to_plain_tensors(item) for key, item in value.items()}
        return value if all(map(operator.is_, plain.values(), value.values())) else plain
    return value


def is_float(value: Any) -> bool:
    """Tell whether a value is a floating-point tensor."""
    return isinstance(value, Tensor) and value.is_floating_point()


# --- one run ------------------------------------------------------------------------------------------


def record_run(
    form: AnswerSignature,
    answer: Callable[..., Any],
    case: Case,
    options: RunOptions,
    mode: contextlib.AbstractContextManager | None = None,
) -> Observation:
    """Run `answer` on `case` and record the observation.

    Args:
        form: the part of the exercise that a runner needs.
        answer: the learner's function or class.
        case: the case to run.
        options: what to record. With `options.gradients`, inputs and parameters require gradients during the run.
        mode: a torch mode that is active during the call, for example to record torch's operations.
    """
    observation = Observation()
    args, kwargs = copy_value(case.args), copy_value(dict(case.kwargs))
    named = form.bind_arguments(args, kwargs)
    leaves = {name: value.requires_grad_() for name, value in named.items() if options.gradients and is_float(value)}
    with preserve_global_state(case.seed) as printed:
        try:
            call = answer
            if form.kind == "module":
                if options.state:  # an uninitialised tensor will probably reuse this memory, and so contain nan
                    torch.empty(64).fill_(torch.nan)
                module = call = build_module(answer, case)
                if options.prepare:
                    options.prepare(module)
                _record_module(module, options, observation)
                leaves |= {n: p for n, p in module.named_parameters() if options.gradients}
                seed_torch(case.seed)
            before_call, settings = torch.get_rng_state(), global_settings()
            with OperationCounter() if options.count else mode or contextlib.nullcontext() as counter:
                results = [call_answer(form, call, args, kwargs) for _ in range(options.calls)]
            observation.drew = not torch.equal(before_call, torch.get_rng_state())
            observation.switched = tuple(n for n, value in global_settings().items() if settings[n] != value)
            if isinstance(counter, OperationCounter):
                observation.operations, observation.largest = counter.operations, counter.largest
            observation.value = results[0] if options.calls == 1 else results
            if options.gradients:
                observation.detached, observation.level, observation.broken = _trace_gradients(
                    observation.value, leaves, case.seed
                )
        except (Exception, SystemExit) as error:
            observation.failure = build_failure(error, answer)
    observation.printed = printed.getvalue()[:MOST_PRINTED]
    if not options.gradients:
        before = form.bind_arguments(case.args, dict(case.kwargs))
        observation.changed = tuple(path for name in named for path in changed_paths(name, before[name], named[name]))
    return observation


def _record_module(module: nn.Module, options: RunOptions, observation: Observation) -> None:
    """Record a module's parameters, state and attributes. Add hooks that record the calls of its submodules."""
    observation.parameters = {name: tuple(p.shape) for name, p in module.named_parameters()}
    all_names = (name for name, _ in module.named_parameters(remove_duplicate=False))
    observation.aliases = tuple(name for name in all_names if name not in observation.parameters)
    if options.state:
        observation.state = {name: tensor.detach().clone() for name, tensor in module.state_dict().items()}
    if options.parts:
        observation.parts = {}
        for name, part in module.named_modules():
            if name in options.parts:
                part.register_forward_hook(functools.partial(_record_part_call, observation.parts, name))
    if options.attributes:
        observation.attributes = {
            name: _scalar_or_value(getattr(module, name)) for name in options.attributes if hasattr(module, name)
        }


def _record_part_call(
    parts: dict[str, tuple[Tensor, Tensor]], name: str, _: nn.Module, inputs: tuple, output: Any
) -> None:
    """Record an input and output of a submodule if both are floating-point tensors. This is a forward hook."""
    if inputs and is_float(inputs[0]) and is_float(output):
        parts[name + AGAIN if name in parts else name] = inputs[0].detach().clone(), output.detach().clone()


def watch_part(*given: Any) -> None:
    """Do nothing. Sweeps register this hook on a model to find answers that remove a caller's hooks."""


def enlarge_output(module: nn.Module, given: Any, output: Any) -> Any:
    """Multiply a model's output by 100, and subtract 10,000. The order of the numbers stays the same."""
    return output * 100 - 10_000 if isinstance(output, Tensor) and is_float(output) else output


def call_answer(form: AnswerSignature, call: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    """Call the answer once, and return its result. If the exercise has a `view`, the view converts the result."""
    result = to_plain_tensors(call(*args, **kwargs))
    if form.view is None:
        return result
    return form.view(result, *args, **kwargs)


def _scalar_or_value(value: Any) -> Any:
    """Convert a tensor with a single number to that number."""
    return value.item() if isinstance(value, Tensor) and value.numel() == 1 else value


def _trace_gradients(value: Any, leaves: dict[str, Tensor], seed: int) -> tuple[tuple[str, ...], ...]:
    """Backpropagate from a randomly weighted sum of the results, and find the leaf tensors that get a gradient.

    Returns:
        The names of three groups of leaves, as in `Observation`: `detached` (no gradient), `level` (no gradient or
            gradient 0) and `broken` (a gradient with nan or inf).
    """
    rand = Sampler(f"gradient:{seed}")
    terms = [(t * rand(*t.shape, dtype=t.dtype)).sum() for t in collect_tensors(value) if t.requires_grad]
    if not terms:
        return tuple(leaves), tuple(leaves), ()
    targets = [t for t in leaves.values() if t.requires_grad]
    gradients = torch.autograd.grad(sum(terms[1:], terms[0]), targets, allow_unused=True) if targets else ()
    largest = {id(t): g.abs().amax().item() if g.numel() else 0.0 for t, g in zip(targets, gradients) if g is not None}
    sizes = {name: largest.get(id(t)) for name, t in leaves.items()}
    return (
        tuple(name for name, size in sizes.items() if size is None),
        tuple(name for name, size in sizes.items() if size is None or size < ZERO_GRADIENT),
        tuple(name for name, size in sizes.items() if size is not None and not math.isfinite(size)),
    )


def build_failure(error: BaseException, answer: Any) -> Failure:
    """Describe an exception, with the line of the learner's own code that raised it."""
    own = source_files(answer)
    line, code, part, body, trace = None, "", "", "", error.__traceback__
    while trace is not None:
        at = trace.tb_frame.f_code
        if at.co_filename in own:
            line, code = trace.tb_lineno, linecache.getline(at.co_filename, trace.tb_lineno).strip()
            part, body = _failed_part(trace), function_source(at)
        trace = trace.tb_next
    bases = tuple(base.__name__ for base in type(error).__mro__[1:])
    return Failure(type(error).__name__, str(error), line, code, part, body, bases, unfinished_name(error))


def _failed_part(trace: types.TracebackType) -> str:
    """Return the expression that raised the exception.

    Return "" on Python 3.10, or if the expression spans several lines.
    """
    if sys.version_info < (3, 11):
        return ""
    code = trace.tb_frame.f_code
    first, last, start, end = next(itertools.islice(code.co_positions(), trace.tb_lasti // 2, None))
    if first is None or first != last:
        return ""
    return linecache.getline(code.co_filename, first).encode()[start:end].decode(errors="replace")


def function_source(code: types.CodeType) -> str:
    """Return the source of a function, including unreachable code; "" if the source is unknown."""
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]
    try:
        return "".join(inspect.getblock(lines))
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return "".join(lines)


def answer_source(answer: Any) -> str:
    """Return the source of a function, or of all methods of a class; for a value, return its repr. Never raises."""
    try:
        return "".join(map(function_source, _code_objects(answer))) or repr(answer)
    except Exception:  # the repr of a learner's object may raise any exception
        return ""


def source_files(answer: Any) -> set[str]:
    """Return the names of the files that contain an answer's own code."""
    return {code.co_filename for code in _code_objects(answer)}


def _code_objects(answer: Any) -> list[types.CodeType]:
    """Return the code objects of a function, or of all methods of a class."""
    if inspect.isclass(answer):
        return [f.__code__ for f in vars(answer).values() if isinstance(f, types.FunctionType)]
    answer = inspect.unwrap(answer) if callable(answer) else answer
    return [answer.__code__] if hasattr(answer, "__code__") else []
