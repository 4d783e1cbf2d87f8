"""How an exercise is written down: its oracle, cases, misconceptions, properties and hints.

An exercise is data. `utils.feedback.runner` runs answers on it, `utils.feedback.diagnose` finds the words.
A lesson's exercises stand in `utils/checks/<lesson>.py`, which is imported by name; CONTRIBUTING.md walks through one.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import pkgutil
import sys
import zlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch

from utils import lessons


@dataclass(frozen=True, eq=False)  # tensors have no plain equality, so a case is the same as itself alone
class Case:
    """One call: arguments, and for a module how it is built first.

    `init` is what the class is constructed with. With `fill` every parameter is then given order-one
    values (biases too), so that a forgotten bias or a swapped pair shows; without, the module keeps
    what its constructor drew from `seed`, so that the initialisation itself is checked. `own` says which
    example of the page a case is. An answer that fails on one is shown on it: its numbers are printed there.
    """

    args: tuple = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    init: tuple | Mapping[str, Any] = ()
    fill: bool = True
    train: bool = False
    seed: int = 0
    note: str = ""
    page_example: str = ""


def case(*args, init=(), fill=True, train=False, seed=0, note="", page_example="", **kwargs) -> Case:
    """A `Case` from the call as it would be written: `case(x, mask=m, init=(3, 2))`."""
    return Case(args, kwargs, init, fill, train, seed, note or page_example, page_example)


@dataclass(frozen=True)
class Spec:
    """What a result is called in messages: the names of its axes, and its own where there are several."""

    kind: str  # "float", "bool", "int", or "facts"
    axes: tuple[str, ...]
    name: str = ""

    @property
    def is_facts(self) -> bool:
        """Whether these are facts that a view found: told in words, for their numbers and places tell nothing."""
        return self.kind == "facts"


def Float(axes: str = "", name: str = "") -> Spec:
    """A floating-point tensor with these axes, e.g. `Float("seq d_out")`."""
    return Spec("float", tuple(axes.split()), name)


def Bool(axes: str = "", name: str = "") -> Spec:
    """A bool tensor with these axes."""
    return Spec("bool", tuple(axes.split()), name)


def Int(axes: str = "", name: str = "") -> Spec:
    """An integer tensor with these axes."""
    return Spec("int", tuple(axes.split()), name)


def Facts(name: str) -> Spec:
    """A tensor of facts that a view found out of the result, e.g. `Facts("how the prompts were drawn")`."""
    return Spec("facts", ("fact",), name)


@dataclass(frozen=True)
class AnswerSignature:
    """What running an answer takes to know of its exercise: no oracle, no misconception.

    Attributes:
        name: the exercise.
        kind: "function", "module" (a class) or "value".
        arguments: the names of what the learner's function, or `forward`, takes.
        differentiable: whether gradients are looked at.
        view: what is made of a result before it is compared; a function of `utils.test_doubles`.
    """

    name: str
    kind: str
    arguments: tuple[str, ...] = ()
    differentiable: bool = True
    view: Callable[..., Any] | None = None

    def bind_arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a call by name."""
        return {**dict(zip(self.arguments, args)), **kwargs}


@dataclass(frozen=True)
class Misconception:
    """A wrong answer that can be run, and what its author needs to hear.

    `answer` is a function with the oracle's signature, or a whole class. `initial` replaces the
    exercise's own where the mistake lies in the parameters that the module makes.
    """

    id: str
    answer: Any
    message: str
    initial_parameters: Callable | None = None


class Wrong(NamedTuple):
    """A misconception as it is declared: `misconceptions={id: Wrong(answer, message)}`; see `Misconception`."""

    answer: Any
    message: str
    initial_parameters: Callable[..., Mapping[str, torch.Tensor]] | None = None


class Step(NamedTuple):
    """Another value that the cell of a value makes on the way to it."""

    oracle: Any
    misconceptions: Mapping[str, Wrong]


class Hints(NamedTuple):
    """The three grades of help that an exercise gives, a sentence or two each."""

    nudge: str
    idea: str
    almost_the_code: str


@dataclass(frozen=True, eq=False)
class Exercise:
    """One exercise. `kind` is "function", "module" (a class) or "value". Built by `exercise(...)`."""

    name: str
    lesson: str
    oracle: Any
    cases: Callable[[Sampler], Sequence[Case]] | Sequence[Case]
    misconceptions: tuple[Misconception, ...]
    hints: tuple[str, ...]
    returns: Spec | tuple[Spec, ...] | None = None
    initial_parameters: Callable[..., Mapping[str, torch.Tensor]] | None = None
    properties: tuple[Callable, ...] = ()
    equivalent: Mapping[str, Any] = field(default_factory=dict)
    view: Callable[..., Any] | None = None
    parse_result: Callable[[Any, Case], Any] | None = None
    differentiable: bool | None = None
    explain_entry: Callable[[tuple, Any, Any], str] | None = None
    atol: float = 1e-5
    cache_key: Callable[[], Hashable] | None = None
    steps: Mapping[str, Step] = field(default_factory=dict)

    @property
    def requires_gradients(self) -> bool:
        """Whether gradients must flow: through every class, and through a function whose text says so."""
        return self.differentiable is True or (self.differentiable is None and self.kind == "module")

    @property
    def dtypes(self) -> Literal["same", "wider"]:
        """Which types of numbers will do: a layer hands on what the next one takes, a function may be more exact."""
        return "same" if self.kind == "module" else "wider"

    @property
    def kind(self) -> str:
        if self.initial_parameters is not None:
            return "module"
        return "function" if callable(self.oracle) else "value"

    @property
    def signature(self) -> AnswerSignature:
        """What a runner has to know."""
        names = () if self.kind == "value" else tuple(inspect.signature(self.oracle).parameters)
        arguments = names[1:] if self.kind == "module" else names  # the first holds the module's parameters
        return AnswerSignature(self.name, self.kind, arguments, self.differentiable is not False, self.view)

    @property
    def specs(self) -> tuple[Spec, ...]:
        """What the parts of a result are called; empty where nothing was declared."""
        if self.returns is None:
            return ()
        return self.returns if isinstance(self.returns, tuple) else (self.returns,)

    def sample_cases(self, seed: int = 0) -> list[Case]:
        """The cases, with numbers drawn from `seed` where the exercise draws any."""
        if not callable(self.cases):
            return list(self.cases)
        return list(self.cases(Sampler(f"{self.name}:{seed}")))

    @property
    def has_random_cases(self) -> bool:
        """Whether another seed gives other numbers, so that a written-down answer can be told."""
        return callable(self.cases)


class Sampler:
    """Seeded order-one numbers for cases: `rand(6, 3)` is a float32 tensor of shape [6, 3]."""

    def __init__(self, seed: str):
        self.generator = torch.Generator().manual_seed(zlib.crc32(seed.encode()))

    def __call__(self, *shape: int, scale: float = 1.0, dtype=torch.float32) -> torch.Tensor:
        return (torch.randn(*shape, generator=self.generator, dtype=torch.float64) * scale).to(dtype)

    def integers(self, *shape: int, low: int = 0, high: int = 10) -> torch.Tensor:
        """Integers from `low` to `high - 1`, an int64 tensor."""
        return torch.randint(low, high, shape, generator=self.generator)

    def mask(self, *shape: int, fraction: float = 0.5) -> torch.Tensor:
        """A bool tensor that is True about `share` of the time, and always True on the diagonal."""
        drawn = torch.rand(*shape, generator=self.generator) < fraction
        return drawn | torch.eye(*shape[-2:], dtype=torch.bool)


def sample_parameter(name: str, shape: Sequence[int], seed: int) -> torch.Tensor:
    """The order-one values that a case gives to the parameter `name`.

    Matrices shrink with the root of their size, so that scores have spread about one.
    """
    return _sample_parameter(name, tuple(shape), seed).clone()


@functools.lru_cache(maxsize=1024)  # an object is made and filled anew for every call that is looked at
def _sample_parameter(name: str, shape: tuple[int, ...], seed: int) -> torch.Tensor:
    values = Sampler(f"{seed}:{name}")(*shape)
    return values / values.numel() ** 0.25 if values.dim() > 1 else values


# --- the registry -----------------------------------------------------------------------------------

_exercises: dict[str, Exercise] = {}
_CHECKS = Path(__file__).resolve().parents[1] / "checks"


def exercise(
    name: str,
    *,
    oracle: Any,
    hints: Sequence[str],
    misconceptions: Mapping[str, tuple],
    cases: Callable[[Sampler], Sequence[Case]] | Sequence[Case] = (Case(),),
    returns: Spec | tuple[Spec, ...] | None = None,
    initial_parameters: Callable[..., Mapping[str, torch.Tensor]] | None = None,
    properties: Sequence[Callable] = (),
    equivalent: Mapping[str, Any] | None = None,
    view: Callable[..., Any] | None = None,
    parse_result: Callable[[Any, Case], Any] | None = None,
    differentiable: bool | None = None,
    explain_entry: Callable[[tuple, Any, Any], str] | None = None,
    atol: float = 1e-5,
    cache_key: Callable[[], Hashable] | None = None,
    steps: Mapping[str, Step] | None = None,
) -> Exercise:
    """Declare an exercise of the lesson whose checks module this call stands in.

    Args:
        name: the function, class or variable that the learner writes.
        oracle: a function of the learner's signature built on torch's own functions; for a class a
            function of `(params, *args)`; for a value the value itself. Never our reference answer.
        hints: `Hints(...)`, a nudge, the idea, almost the code; a sentence or two each.
        misconceptions: `{id: Wrong(answer, message)}`, `answer` in the oracle's form or a class; a third
            item replaces `initial`.
        cases: a list of `case(...)`, or a function that draws one from a `Sampler`.
        returns: `Float("seq d_out")`, or a tuple of such, to name axes in messages.
        initial: for a class: a function of the constructor's arguments that gives
            `{parameter name: initial value}` (see `linear`).
        properties: functions of a `Probe` that return a sentence when they are broken.
        equivalent: `{id: answer}`: answers that look wrong and are right.
        view: `view(result, *args)`: what an answer left behind, for a function that acts on its arguments. It runs
            where the answer runs, so it is a function of `utils.test_doubles`.
        read: `read(result, case)`: what is compared of a result, for a function that draws at random. It runs beside
            the oracle and may know what is right; `Probe.run` gives the result itself.
        differentiable: whether gradients must flow from the result back to the inputs, where the oracle's do. Left out,
            they must for a class; for a function they only help to explain wrong numbers.
        meaning: `meaning(index, yours, expected)`: what one wrong number means, as a clause.
        atol: largest difference that counts as equal (relative to 1 or to the expected number).
        reads: what oracle and misconceptions hang on besides their arguments, such as which GPT-2 is there. What they
            do on a case is remembered for as long as it stays the same.
        steps: for a value, the values that its cell makes on the way to it, by name.
    """
    lesson = sys._getframe(1).f_globals["__name__"].rpartition(".")[2]
    if name in _exercises and _exercises[name].lesson != lesson:
        raise ValueError(f"{name} is already an exercise of {_exercises[name].lesson}; names are unique in the course")
    if len(hints) != 3:
        raise ValueError(f"{name}: three hints are needed (a nudge, the idea, almost the code), {len(hints)} given")
    wrong = tuple(Misconception(id, *entry) for id, entry in misconceptions.items())
    made = Exercise(
        name=name,
        lesson=lesson,
        oracle=oracle,
        cases=cases,
        misconceptions=wrong,
        hints=tuple(hints),
        returns=returns,
        initial_parameters=initial_parameters,
        properties=tuple(properties),
        equivalent=dict(equivalent or {}),
        view=view,
        parse_result=parse_result,
        differentiable=differentiable,
        explain_entry=explain_entry,
        atol=atol,
        cache_key=cache_key,
        steps=dict(steps or {}),
    )
    _exercises[name] = made
    return made


def layer_parameters(**layers: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Parameters of named layers, in order: `linear(W_query=nn.Linear(3, 2))` has `W_query.weight`, `W_query.bias`."""
    return {f"{name}.{key}": p.detach() for name, layer in layers.items() for key, p in layer.named_parameters()}


def all_exercises() -> dict[str, Exercise]:
    """Every exercise of the course by name, in the order of the lessons and, within one, of its checks module."""
    for module in pkgutil.iter_modules([str(_CHECKS)]):
        importlib.import_module(f"utils.checks.{module.name}")
    stems = [path.stem for folder in ("solutions", "course") for path in lessons.all_lessons(lessons.ROOT / folder)]
    order = {stem[3:]: stem for stem in stems}
    return dict(sorted(_exercises.items(), key=lambda item: order.get(item[1].lesson, "99")))


class UnknownExercise(ValueError):
    """No exercise has this name; the message says which is meant, or where they are listed."""


def find_exercise(name: str) -> Exercise:
    """The exercise called `name`, or `UnknownExercise`. The checks of other lessons are not loaded for it."""
    for path in _CHECKS.glob("*.py") if name not in _exercises else ():
        if f'"{name}"' in path.read_text(encoding="utf-8"):
            importlib.import_module(f"utils.checks.{path.stem}")
    if name in _exercises or name in (known := all_exercises()):
        return _exercises[name]
    close = difflib.get_close_matches(name, known, n=1)
    meant = f"Did you mean {close[0]}?" if close else f"`progress()` lists all {len(known)}."
    raise UnknownExercise(f"No exercise is called {name}. {meant}")
