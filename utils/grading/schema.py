"""What is asked of a runner and what it answers, as data: cases, looks, observations and the rest of `Runner`.

Each pair of functions here is one kind of thing, there and back. What comes from the runner is checked: `*_of` raises
`Broken` where it is not what it should be.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from torch import Tensor

from utils.feedback.exercise import AnswerSignature, Case
from utils.feedback.observe import Failure, Observation, RunOptions
from utils.feedback.op_trace import NonfiniteOrigin
from utils.feedback.runner import CodeTraits, DeviceMoveResult
from utils.grading.codec import Packer, Unpacker, clean
from utils.grading.deserialize import Given, by_name, name_of
from utils.grading.framing import Broken

LONGEST = 10_000  # characters of an error's text, or of a function's source
NAMES = 10_000  # of parameters

# --- to the runner --------------------------------------------------------------------------------------


def form_data(form: AnswerSignature) -> dict[str, Any]:
    """A form, its view by name."""
    data = {field.name: getattr(form, field.name) for field in dataclasses.fields(form)}
    return data | {"arguments": list(form.arguments), "view": form.view and name_of(form.view)}


def form_from(data: dict[str, Any]) -> AnswerSignature:
    """The form, in the runner."""
    view = by_name(data["view"]) if data["view"] else None
    return AnswerSignature(**data | {"arguments": tuple(data["arguments"]), "view": view})


def case_data(packer: Packer, case: Case) -> dict[str, Any]:
    """A case; its note is the judge's."""
    packed = packer.pack({"args": case.args, "kwargs": dict(case.kwargs), "init": case.init})
    return {"holds": packed, "fill": case.fill, "train": case.train, "seed": case.seed}


def case_from(given: Given, data: dict[str, Any]) -> Case:
    """The case, in the runner."""
    return Case(**given.unpack(data["holds"]), fill=data["fill"], train=data["train"], seed=data["seed"])


def look_data(look: RunOptions) -> dict[str, Any]:
    """What is to be seen of a run."""
    return dataclasses.asdict(look) | {"attributes": list(look.attributes), "parts": list(look.parts)}


def look_from(data: dict[str, Any]) -> RunOptions:
    """The look, in the runner."""
    return RunOptions(**data)


# --- from the runner ------------------------------------------------------------------------------------


def observation_data(packer: Packer, seen: Observation) -> dict[str, Any]:
    """What an answer did on a case."""
    return {
        "value": packer.pack(seen.value),
        "failure": failure_data(seen.failure),
        "backward": failure_data(seen.backward),
        **{name: list(map(str, getattr(seen, name)))[:NAMES] for name in _LISTS},
        "parameters": None if seen.parameters is None else {n: list(s) for n, s in seen.parameters.items()},
        **{name: packer.pack(getattr(seen, name)) for name in _DICTS},
        "drew": bool(seen.drew),
        "operations": int(seen.operations),
        "largest": int(seen.largest),
    }


_LISTS = ("changed", "detached", "level", "broken", "aliases")
_DICTS = ("state", "attributes", "parts")


def observation_of(unpacker: Unpacker, data: Any) -> Observation:
    """The observation that a runner sent. Raises `Broken`."""
    data = _object(data)
    parameters = data.get("parameters")
    held = {name: unpacker.unpack(data.get(name)) for name in _DICTS}
    if not all(value is None or _names_of(value, dict) for value in held.values()):
        raise Broken("what an object holds, without names")
    if not all(isinstance(t, Tensor) for t in (held["state"] or {}).values()):
        raise Broken("a state that is not made of tensors")
    if not all(_is_pair(pair) for pair in (held["parts"] or {}).values()):
        raise Broken("parts that are not pairs of tensors")
    return Observation(
        value=unpacker.unpack(data.get("value")),
        failure=failure_of(data.get("failure")),
        backward=failure_of(data.get("backward")),
        **{name: tuple(_text(item) for item in _list(data.get(name))) for name in _LISTS},
        parameters=None if parameters is None else {_text(n): _shape(s) for n, s in _object(parameters).items()},
        **held,
        drew=data.get("drew") is True,
        operations=_count(data.get("operations")),
        largest=_count(data.get("largest")),
    )


def failure_data(failure: Failure | None) -> dict[str, Any] | None:
    """An exception, its texts cut to what is read of them."""
    if failure is None:
        return None
    data = {name: _cut(getattr(failure, name)) for name in ("type", "text", "code", "body", "todo")}
    return data | {"line": failure.line, "bases": [_cut(base) for base in failure.bases[:100]]}


def failure_of(data: Any) -> Failure | None:
    """The exception that a runner told of. Raises `Broken`."""
    if data is None:
        return None
    data = _object(data)
    texts = {name: _text(data.get(name)) for name in ("type", "text", "code", "body")}
    todo = None if data.get("todo") is None else _text(data["todo"])
    bases = tuple(_text(base) for base in _list(data.get("bases")))
    return Failure(**texts, line=_line(data.get("line")), bases=bases, todo=todo)


def traits_data(traits: CodeTraits) -> dict[str, Any]:
    """What an answer's code shows."""
    integers = [n for n in traits.integers if abs(n) < 2**63][:1000]
    borrowed = [[_cut(name), kind] for name, kind in traits.notebook_globals[:1000]]
    return {
        "source": _cut(traits.source),
        "integers": integers,
        "borrowed": borrowed,
        "idle": list(traits.unused_arguments),
    }


def traits_of(data: Any) -> CodeTraits:
    """The traits that a runner sent. Raises `Broken`."""
    data = _object(data)
    integers = _list(data.get("integers"))
    borrowed = [_list(pair) for pair in _list(data.get("borrowed"))]
    if not all(type(n) is int for n in integers) or not all(len(pair) == 2 for pair in borrowed):
        raise Broken("traits of no known kind")
    return CodeTraits(
        _text(data.get("source")),
        frozenset(integers),
        tuple((_text(name), _text(kind)) for name, kind in borrowed),
        tuple(_text(name) for name in _list(data.get("idle"))),
    )


def moved_data(moved: DeviceMoveResult) -> dict[str, Any]:
    """What became of an answer on another device."""
    return {"left_behind": moved.unmoved_tensor, "mixed": moved.has_device_mix}


def moved_of(data: Any) -> DeviceMoveResult:
    """As a runner told it. Raises `Broken`."""
    left = _object(data).get("left_behind")
    return DeviceMoveResult(None if left is None else _text(left), data.get("mixed") is True)


def origin_data(origin: NonfiniteOrigin | None) -> dict[str, Any] | None:
    """What made the first nan or inf."""
    return origin and {"words": origin.cause, "line": origin.line, "code": _cut(origin.code)}


def origin_of(data: Any) -> NonfiniteOrigin | None:
    """As a runner told it. Raises `Broken`."""
    if data is None:
        return None
    words = _text(_object(data).get("words"))
    if not words:
        raise Broken("an origin without words")
    return NonfiniteOrigin(words, _line(data.get("line")), _text(data.get("code")))


def slopes_of(value: Any) -> dict[str, Tensor | None]:
    """The gradients that a runner sent. Raises `Broken`."""
    if not _names_of(value, dict) or not all(v is None or isinstance(v, Tensor) for v in value.values()):
        raise Broken("gradients that are no tensors")
    return value


# --- checks ---------------------------------------------------------------------------------------------


def _cut(text: Any) -> Any:
    return text[:LONGEST] if isinstance(text, str) else text


def _object(data: Any) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise Broken("an object that is none")
    return data


def _list(data: Any) -> list:
    if not isinstance(data, list) or len(data) > NAMES:
        raise Broken("a list that is none, or too long")
    return data


def _text(data: Any) -> str:
    if not isinstance(data, str) or len(data) > LONGEST:
        raise Broken("a text that is none, or too long")
    return clean(data)


def _line(data: Any) -> int | None:
    if data is not None and (type(data) is not int or not 0 <= data < 10**7):
        raise Broken("a line that is no number")
    return data


def _count(data: Any) -> int:
    if type(data) is not int or not 0 <= data < 2**62:
        raise Broken("a count that is no number")
    return data


def _shape(data: Any) -> tuple[int, ...]:
    return tuple(_count(size) for size in _list(data))


def _names_of(value: Any, kind: type) -> bool:
    return isinstance(value, kind) and all(isinstance(name, str) for name in value)


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(isinstance(t, Tensor) for t in value)
