"""Define the data of an exercise: its oracle, cases, misconceptions, properties and hints.

`utils.exercises.runner` runs answers on the cases, and `utils.feedback.diagnose` turns the observations into a report.
Each lesson declares its exercises in `utils/checks/<lesson>.py`; CONTRIBUTING.md explains an example.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch

from utils import lessons
from utils.exercises.sampler import Sampler


@dataclass(frozen=True, eq=False)  # cases are compared by identity, because == on tensors returns no single bool
class Case:
    """One call to an answer. For a module, it includes the arguments and settings that build the module.

    Attributes:
        args: the positional arguments.
        kwargs: the keyword arguments.
        init: the arguments of the constructor, for a module.
        fill: True gives every parameter, including biases, values of order one, so that a forgotten bias or two swapped
            parameters change the result. False keeps the parameters that the constructor sampled with `seed`, so that
            the initialisation itself is checked.
        train: whether the module is in training mode.
        seed: the seed of all random numbers of the run.
        note: a remark that messages show after the call. Failures on cases with a note are reported last.
        page_example: the name of the example in the lesson that this case repeats. If an answer fails on this case, the
            report shows this case, because the learner knows its numbers from the lesson.
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
    """Create a `Case` from the arguments of a call, as in `case(x, mask=m, init=(3, 2))`."""
    return Case(args, kwargs, init, fill, train, seed, note or page_example, page_example)


@dataclass(frozen=True)
class Spec:
    """The kind of a result, and the names that messages use for it.

    `axes` lists the names of the axes. If there are several results, `name` tells them apart.
    """

    kind: str  # "float", "bool", "int", or "facts"
    axes: tuple[str, ...]
    name: str = ""

    @property
    def is_facts(self) -> bool:
        """Tell whether the tensor's numbers encode facts about a result or a call.

        Messages describe facts in words, not in numbers.
        """
        return self.kind == "facts"


def Float(axes: str = "", name: str = "") -> Spec:
    """Specify a floating-point tensor with these axes, such as `Float("seq d_out")`."""
    return Spec("float", tuple(axes.split()), name)


def Bool(axes: str = "", name: str = "") -> Spec:
    """Specify a bool tensor with these axes."""
    return Spec("bool", tuple(axes.split()), name)


def Int(axes: str = "", name: str = "") -> Spec:
    """Specify an integer tensor with these axes."""
    return Spec("int", tuple(axes.split()), name)


def Facts(name: str) -> Spec:
    """Specify a tensor that encodes facts about a result or a call, such as `Facts("how prompts were sampled")`."""
    return Spec("facts", ("fact",), name)


@dataclass(frozen=True)
class AnswerSignature:
    """The part of an exercise that a runner needs. It contains no oracle and no misconception.

    Attributes:
        name: the name of the exercise.
        kind: "function", "module" (a class) or "value".
        arguments: the names of the arguments of the learner's function or `forward`.
        differentiable: whether gradients are recorded.
        view: a function from `utils.test_doubles` that converts a result before it is compared, or None.
    """

    name: str
    kind: str
    arguments: tuple[str, ...] = ()
    differentiable: bool = True
    view: Callable[..., Any] | None = None

    def bind_arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call by name."""
        return {**dict(zip(self.arguments, args)), **kwargs}


@dataclass(frozen=True)
class Misconception:
    """A wrong answer as runnable code, and the message for a learner who gives this answer.

    Attributes:
        id: the misconception's name.
        answer: a function with the oracle's signature, or a whole class.
        message: the message to the learner.
        initial_parameters: replaces the exercise's `initial_parameters`, if the mistake concerns the parameters that
            the module creates.
        catalogue: the id of this mistake in a catalogue that several lessons share; "" if it is in none. An exercise
            may use a different id for the mistake.
    """

    id: str
    answer: Any
    message: str
    initial_parameters: Callable | None = None
    catalogue: str = ""


class Wrong(NamedTuple):
    """A misconception inside a declaration: `misconceptions={id: Wrong(answer, message)}`. See `Misconception`."""

    answer: Any
    message: str
    initial_parameters: Callable[..., Mapping[str, torch.Tensor]] | None = None
    catalogue: str = ""


class Step(NamedTuple):
    """An intermediate value that the learner's cell computes."""

    oracle: Any
    misconceptions: Mapping[str, Wrong]


class Hints(NamedTuple):
    """The three hints of an exercise, one or two sentences each."""

    nudge: str
    idea: str
    almost_the_code: str


@dataclass(frozen=True, eq=False)
class Exercise:
    """One exercise, created by `exercise(...)`. The docstring of `exercise` explains the fields."""

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
    milestones: Callable[..., Mapping[str, torch.Tensor]] | None = None
    unswept: Mapping[str, str] = field(default_factory=dict)
    member: str = ""  # for a transfer exercise: the member's id
    task: str = ""  # for a transfer exercise: the text that learners read

    @property
    def full_name(self) -> str:
        """The exercise's name. In a transfer exercise, a slash and the member's id follow: `attend/keys-first`."""
        return f"{self.name}/{self.member}" if self.member else self.name

    @property
    def requires_gradients(self) -> bool:
        """Tell whether gradients must flow through the answer. By default, this is required only of a class."""
        return self.differentiable is True or (self.differentiable is None and self.kind == "module")

    @property
    def dtypes(self) -> Literal["same", "wider"]:
        """Return the accepted dtypes.

        A layer must return the expected dtype, because the next layer needs it. A function may return a wider dtype.
        """
        return "same" if self.kind == "module" else "wider"

    @property
    def kind(self) -> str:
        """Return "function", "module" (a class) or "value"."""
        if self.initial_parameters is not None:
            return "module"
        return "function" if callable(self.oracle) else "value"

    @property
    def signature(self) -> AnswerSignature:
        """Return the part of the exercise that a runner needs."""
        names = () if self.kind == "value" else tuple(inspect.signature(self.oracle).parameters)
        arguments = names[1:] if self.kind == "module" else names  # the oracle's first argument is `params`
        return AnswerSignature(self.name, self.kind, arguments, self.differentiable is not False, self.view)

    @property
    def specs(self) -> tuple[Spec, ...]:
        """Return the specification of each part of a result, or () if the exercise declares none."""
        if self.returns is None:
            return ()
        return self.returns if isinstance(self.returns, tuple) else (self.returns,)

    def sample_cases(self, seed: int = 0) -> list[Case]:
        """Return the cases. Random cases are sampled with `seed`."""
        if not callable(self.cases):
            return list(self.cases)
        return list(self.cases(Sampler(f"{self.name}:{seed}")))

    @property
    def has_random_cases(self) -> bool:
        """Tell whether the cases depend on the seed. If so, a check uses a second seed to find hard-coded results."""
        return callable(self.cases)


# --- the registry -----------------------------------------------------------------------------------

_exercises: dict[str, Exercise] = {}
_families: dict[str, tuple[Exercise, ...]] = {}
_CHECKS = Path(__file__).resolve().parents[1] / "checks"


def exercise(
    name: str,
    *,
    oracle: Any,
    hints: Sequence[str],
    misconceptions: Mapping[str, tuple],
    **fields: Any,
) -> Exercise:
    """Declare an exercise. It belongs to the lesson whose checks module contains this call.

    The keyword arguments after `misconceptions` are optional fields of `Exercise`.

    Args:
        name: the function, class or variable that the learner writes.
        oracle: for a function, a function with the learner's signature that uses torch's own functions; for a class, a
            function of `(params, *args)`; for a value, the value itself. It must never be the reference answer.
        hints: `Hints(nudge, idea, almost_the_code)`, one or two sentences each.
        misconceptions: `{id: Wrong(answer, message)}`. `answer` has the form of the oracle, or is a class. An optional
            third item replaces `initial_parameters`.
        cases: a list of `case(...)`, or a function that samples this list with a `Sampler`.
        returns: `Float("seq d_out")`, or a tuple of specifications. Messages use the names of the axes.
        initial_parameters: for a class, a function of the constructor's arguments that returns `{parameter name:
            initial value}` (see `layer_parameters`).
        properties: functions of a `Probe` that return a sentence if a property is broken.
        equivalent: `{id: answer}`: answers that look wrong but are correct.
        view: `view(result, *args)`: for a function that may change its arguments, returns the value to compare instead
            of the result. It runs in the process of the answer, so it must come from `utils.test_doubles`.
        parse_result: `parse_result(result, case)`: for a function that samples at random, returns the value to compare
            instead of the result. It runs in the process of the oracle, so it may know the correct answer. `Probe.run`
            does not apply it.
        differentiable: whether gradients must flow from the result back to the inputs, if they do in the oracle. The
            default is yes for a class. For a function, the default is no: gradients only help to explain wrong results.
        explain_entry: `explain_entry(index, yours, expected)`: returns a clause that says what one wrong number means.
        atol: the largest difference that counts as equal (relative to 1 or to the expected number).
        cache_key: returns everything that determines the cases and the results of the oracle and the misconceptions,
            such as the installed GPT-2. Cases and results are cached until this value changes.
        steps: for a value, the intermediate values that its cell computes, by name.
        milestones: a function with the oracle's signature that returns the intermediate values of the computation, in
            order: `{"the scores": scores, "the weights": weights}`; see `utils.feedback.wrong_step.departure`.
        unswept: the sweeps of `utils.feedback.sweeps` that the answer need not pass, each with the reason.

    Raises:
        ValueError: another lesson has an exercise of this name, or the number of hints is not three.
    """
    lesson = sys._getframe(1).f_globals["__name__"].rpartition(".")[2]
    if len(hints) != 3:
        raise ValueError(f"{name} needs three hints (a nudge, the idea, almost the code), but has {len(hints)}")
    declared = make_exercise(name, lesson, oracle, misconceptions, hints=tuple(hints), **fields)
    register_exercise(declared)
    return declared


def make_exercise(
    name: str, lesson: str, oracle: Any, misconceptions: Mapping[str, tuple], *, hints: tuple[str, ...], **fields: Any
) -> Exercise:
    """Create an exercise from the arguments of a declaration, without registering it."""
    wrong = tuple(Misconception(id, *entry) for id, entry in misconceptions.items())
    fields.setdefault("cases", (Case(),))
    for field_name, container in (("properties", tuple), ("equivalent", dict), ("steps", dict), ("unswept", dict)):
        fields[field_name] = container(fields.get(field_name) or ())
    return Exercise(name=name, lesson=lesson, oracle=oracle, misconceptions=wrong, hints=hints, **fields)


def register_exercise(declared: Exercise, family: tuple[Exercise, ...] = ()) -> None:
    """Register an exercise of the course. For the first member of a family, pass all members as `family`.

    Raises:
        ValueError: another lesson has an exercise of this name.
    """
    name = declared.name
    if name in _exercises and _exercises[name].lesson != declared.lesson:
        raise ValueError(
            f"{name} is already an exercise of {_exercises[name].lesson}; names must be unique in the course"
        )
    _exercises[name] = declared
    _families.pop(name, None)
    if family:
        _families[name] = family


def layer_parameters(**layers: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return the parameters of named layers, in order.

    For example, `layer_parameters(W_query=nn.Linear(3, 2))` has the keys `W_query.weight` and `W_query.bias`.
    """
    return {f"{name}.{key}": p.detach() for name, layer in layers.items() for key, p in layer.named_parameters()}


def all_exercises() -> dict[str, Exercise]:
    """Return all exercises of the course by name, sorted by lesson and then in the order of declaration.

    The first member of a family of transfer exercises represents the family.
    """
    for path in _check_modules():
        importlib.import_module(_module_name(path))
    stems = [path.stem for folder in ("solutions", "course") for path in lessons.all_lessons(lessons.ROOT / folder)]
    order = {stem[3:]: stem for stem in stems}
    return dict(sorted(_exercises.items(), key=lambda item: order.get(item[1].lesson, "99")))


def all_members() -> dict[str, Exercise]:
    """Return all exercises by full name, with every member of each family of transfer exercises."""
    exercises = [member for exercise in all_exercises().values() for member in family_members(exercise)]
    return {exercise.full_name: exercise for exercise in exercises}


def family_members(exercise: Exercise) -> tuple[Exercise, ...]:
    """Return the members of an exercise's family in order. If it belongs to no family, return only the exercise."""
    return _families.get(exercise.name, (exercise,)) if exercise.member else (exercise,)


def _check_modules() -> list[Path]:
    """Return the modules that declare exercises. Modules of transfer exercises come last."""
    return [path for part in ("", "transfer") for path in sorted((_CHECKS / part).glob("*.py"))]


def _module_name(path: Path) -> str:
    parts = path.relative_to(_CHECKS).with_suffix("").parts
    return ".".join(["utils.checks", *(part for part in parts if part != "__init__")])


class UnknownExercise(ValueError):
    """No exercise has this name. The message suggests a similar name, or says where to find all names."""


def find_exercise(name: str) -> Exercise:
    """Return the exercise called `name`. Load only the checks module that contains it.

    For a transfer exercise, `name` is `family/member`, or only `family` for the first member.
    `utils.feedback.transfer_families.find_own_exercise` returns the member that the learner gets.

    Raises:
        UnknownExercise: no exercise has this name.
    """
    if not isinstance(name, str):
        raise UnknownExercise(f'name the exercise in quotes, such as "softmax"; got {type(name).__name__}.')
    family, _, member = name.partition("/")
    for path in _check_modules() if family not in _exercises else ():
        if f'"{family}"' in path.read_text(encoding="utf-8"):
            importlib.import_module(_module_name(path))
    if family in _exercises or family in (known := all_exercises()):
        members = {each.member: each for each in family_members(_exercises[family])}
        if not member or member in members:
            return members[member] if member else _exercises[family]
        raise UnknownExercise(f"{family} has no member {member}. Its members are: {', '.join(filter(None, members))}.")
    close = difflib.get_close_matches(name, known, n=1)
    advice = f"Did you mean {close[0]}?" if close else f"`progress()` lists all {len(known)}."
    raise UnknownExercise(f"No exercise is called {name if name.strip() else repr(name)}. {advice}")
