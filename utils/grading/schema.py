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
from utils.grading.codec import Packer, Unpacker, sanitise_text
from utils.grading.deserialize import TrustedUnpacker, qualified_name, resolve_name
from utils.grading.framing import ProtocolError

LONGEST = 10_000  # characters of an error's text, or of a function's source
NAMES = 10_000  # of parameters

# --- to the runner --------------------------------------------------------------------------------------


def encode_form(form: AnswerSignature) -> dict[str, Any]:
    """A form, its view by name."""
    data = {field.name: getattr(form, field.name) for field in dataclasses.fields(form)}
    return data | {"arguments": list(form.arguments), "view": form.view and qualified_name(form.view)}


def decode_form(data: dict[str, Any]) -> AnswerSignature:
    """The form, in the runner."""
    view = resolve_name(data["view"]) if data["view"] else None
    return AnswerSignature(**data | {"arguments": tuple(data["arguments"]), "view": view})


def encode_case(packer: Packer, case: Case) -> dict[str, Any]:
    """A case; its note is the judge's."""
    packed = packer.pack({"args": case.args, "kwargs": dict(case.kwargs), "init": case.init})
    return {"holds": packed, "fill": case.fill, "train": case.train, "seed": case.seed}


def decode_case(given: TrustedUnpacker, data: dict[str, Any]) -> Case:
    """The case, in the runner."""
    return Case(**given.unpack(data["holds"]), fill=data["fill"], train=data["train"], seed=data["seed"])


def encode_look(look: RunOptions) -> dict[str, Any]:
    """What is to be seen of a run."""
    return dataclasses.asdict(look) | {"attributes": list(look.attributes), "parts": list(look.parts)}


def decode_look(data: dict[str, Any]) -> RunOptions:
    """The look, in the runner."""
    return RunOptions(**data)


# --- from the runner ------------------------------------------------------------------------------------


def encode_observation(packer: Packer, observation: Observation) -> dict[str, Any]:
    """What an answer did on a case."""
    return {
        "value": packer.pack(observation.value),
        "failure": encode_failure(observation.failure),
        "backward": encode_failure(observation.backward),
        **{name: list(map(str, getattr(observation, name)))[:NAMES] for name in _LISTS},
        "parameters": None
        if observation.parameters is None
        else {n: list(s) for n, s in observation.parameters.items()},
        **{name: packer.pack(getattr(observation, name)) for name in _DICTS},
        "drew": bool(observation.drew),
        "operations": int(observation.operations),
        "largest": int(observation.largest),
    }


_LISTS = ("changed", "detached", "level", "broken", "aliases")
_DICTS = ("state", "attributes", "parts")


def decode_observation(unpacker: Unpacker, data: Any) -> Observation:
    """The observation that a runner sent. Raises `Broken`."""
    data = _require_object(data)
    parameters = data.get("parameters")
    held = {name: unpacker.unpack(data.get(name)) for name in _DICTS}
    if not all(value is None or _has_text_keys(value, dict) for value in held.values()):
        raise ProtocolError("what an object holds, without names")
    if not all(isinstance(t, Tensor) for t in (held["state"] or {}).values()):
        raise ProtocolError("a state that is not made of tensors")
    if not all(_is_pair(pair) for pair in (held["parts"] or {}).values()):
        raise ProtocolError("parts that are not pairs of tensors")
    return Observation(
        value=unpacker.unpack(data.get("value")),
        failure=decode_failure(data.get("failure")),
        backward=decode_failure(data.get("backward")),
        **{name: tuple(_require_text(item) for item in _require_list(data.get(name))) for name in _LISTS},
        parameters=None
        if parameters is None
        else {_require_text(n): _require_shape(s) for n, s in _require_object(parameters).items()},
        **held,
        drew=data.get("drew") is True,
        operations=_require_count(data.get("operations")),
        largest=_require_count(data.get("largest")),
    )


def encode_failure(failure: Failure | None) -> dict[str, Any] | None:
    """An exception, its texts cut to what is read of them."""
    if failure is None:
        return None
    data = {name: _cut(getattr(failure, name)) for name in ("type", "text", "code", "body", "todo")}
    return data | {"line": failure.line, "bases": [_cut(base) for base in failure.bases[:100]]}


def decode_failure(data: Any) -> Failure | None:
    """The exception that a runner told of. Raises `Broken`."""
    if data is None:
        return None
    data = _require_object(data)
    texts = {name: _require_text(data.get(name)) for name in ("type", "text", "code", "body")}
    todo = None if data.get("todo") is None else _require_text(data["todo"])
    bases = tuple(_require_text(base) for base in _require_list(data.get("bases")))
    return Failure(**texts, line=_require_line(data.get("line")), bases=bases, todo=todo)


def encode_traits(traits: CodeTraits) -> dict[str, Any]:
    """What an answer's code shows."""
    integers = [n for n in traits.integers if abs(n) < 2**63][:1000]
    borrowed = [[_cut(name), kind] for name, kind in traits.notebook_globals[:1000]]
    return {
        "source": _cut(traits.source),
        "integers": integers,
        "borrowed": borrowed,
        "idle": list(traits.unused_arguments),
    }


def decode_traits(data: Any) -> CodeTraits:
    """The traits that a runner sent. Raises `Broken`."""
    data = _require_object(data)
    integers = _require_list(data.get("integers"))
    borrowed = [_require_list(pair) for pair in _require_list(data.get("borrowed"))]
    if not all(type(n) is int for n in integers) or not all(len(pair) == 2 for pair in borrowed):
        raise ProtocolError("traits of no known kind")
    return CodeTraits(
        _require_text(data.get("source")),
        frozenset(integers),
        tuple((_require_text(name), _require_text(kind)) for name, kind in borrowed),
        tuple(_require_text(name) for name in _require_list(data.get("idle"))),
    )


def encode_device_result(moved: DeviceMoveResult) -> dict[str, Any]:
    """What became of an answer on another device."""
    return {"left_behind": moved.unmoved_tensor, "mixed": moved.has_device_mix}


def decode_device_result(data: Any) -> DeviceMoveResult:
    """As a runner told it. Raises `Broken`."""
    left = _require_object(data).get("left_behind")
    return DeviceMoveResult(None if left is None else _require_text(left), data.get("mixed") is True)


def encode_origin(origin: NonfiniteOrigin | None) -> dict[str, Any] | None:
    """What made the first nan or inf."""
    return origin and {"words": origin.cause, "line": origin.line, "code": _cut(origin.code)}


def decode_origin(data: Any) -> NonfiniteOrigin | None:
    """As a runner told it. Raises `Broken`."""
    if data is None:
        return None
    words = _require_text(_require_object(data).get("words"))
    if not words:
        raise ProtocolError("an origin without words")
    return NonfiniteOrigin(words, _require_line(data.get("line")), _require_text(data.get("code")))


def decode_gradients(value: Any) -> dict[str, Tensor | None]:
    """The gradients that a runner sent. Raises `Broken`."""
    if not _has_text_keys(value, dict) or not all(v is None or isinstance(v, Tensor) for v in value.values()):
        raise ProtocolError("gradients that are no tensors")
    return value


# --- checks ---------------------------------------------------------------------------------------------


def _cut(text: Any) -> Any:
    return text[:LONGEST] if isinstance(text, str) else text


def _require_object(data: Any) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise ProtocolError("an object that is none")
    return data


def _require_list(data: Any) -> list:
    if not isinstance(data, list) or len(data) > NAMES:
        raise ProtocolError("a list that is none, or too long")
    return data


def _require_text(data: Any) -> str:
    if not isinstance(data, str) or len(data) > LONGEST:
        raise ProtocolError("a text that is none, or too long")
    return sanitise_text(data)


def _require_line(data: Any) -> int | None:
    if data is not None and (type(data) is not int or not 0 <= data < 10**7):
        raise ProtocolError("a line that is no number")
    return data


def _require_count(data: Any) -> int:
    if type(data) is not int or not 0 <= data < 2**62:
        raise ProtocolError("a count that is no number")
    return data


def _require_shape(data: Any) -> tuple[int, ...]:
    return tuple(_require_count(size) for size in _require_list(data))


def _has_text_keys(value: Any, kind: type) -> bool:
    return isinstance(value, kind) and all(isinstance(name, str) for name in value)


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(isinstance(t, Tensor) for t in value)
