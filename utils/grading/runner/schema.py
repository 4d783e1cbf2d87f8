"""Encode and decode the arguments and results of `Runner`: cases, run options, observations and so on.

Each kind of data has a pair of functions, `encode_*` and `decode_*`. Data from the runner is not trusted: the functions
that decode it check everything, and raise `ProtocolError` if the data is not valid.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from torch import Tensor

from utils.feedback.exercise import AnswerSignature, Case
from utils.feedback.observe import Failure, Observation, RunOptions
from utils.feedback.op_trace import NonfiniteOrigin
from utils.feedback.runner import CodeTraits, DeviceMoveResult
from utils.grading.runner.codec import Packer, Unpacker, sanitise_text
from utils.grading.runner.deserialize import TrustedUnpacker, qualified_name, resolve_name
from utils.grading.runner.framing import ProtocolError

LONGEST = 10_000  # characters of an error's text or a function's source
NAMES = 10_000  # items of a list, such as parameter names

# --- to the runner --------------------------------------------------------------------------------------


def encode_form(form: AnswerSignature) -> dict[str, Any]:
    """Encode an answer's signature; its view function is sent by name."""
    data = {field.name: getattr(form, field.name) for field in dataclasses.fields(form)}
    return data | {"arguments": list(form.arguments), "view": form.view and qualified_name(form.view)}


def decode_form(data: dict[str, Any]) -> AnswerSignature:
    """Decode an answer's signature in the runner."""
    view = resolve_name(data["view"]) if data["view"] else None
    return AnswerSignature(**data | {"arguments": tuple(data["arguments"]), "view": view})


def encode_case(packer: Packer, case: Case) -> dict[str, Any]:
    """Encode a case, without its note, which only the judge needs."""
    packed = packer.pack({"args": case.args, "kwargs": dict(case.kwargs), "init": case.init})
    return {"holds": packed, "fill": case.fill, "train": case.train, "seed": case.seed}


def decode_case(given: TrustedUnpacker, data: dict[str, Any]) -> Case:
    """Decode a case in the runner."""
    return Case(**given.unpack(data["holds"]), fill=data["fill"], train=data["train"], seed=data["seed"])


def encode_look(look: RunOptions) -> dict[str, Any]:
    """Encode the options of a run."""
    return dataclasses.asdict(look) | {"attributes": list(look.attributes), "parts": list(look.parts)}


def decode_look(data: dict[str, Any]) -> RunOptions:
    """Decode the options of a run in the runner."""
    return RunOptions(**data)


# --- from the runner ------------------------------------------------------------------------------------


def encode_observation(packer: Packer, observation: Observation) -> dict[str, Any]:
    """Encode the observation of a run."""
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
    """Decode an observation that a runner sent. Raises `ProtocolError`."""
    data = _require_object(data)
    parameters = data.get("parameters")
    held = {name: unpacker.unpack(data.get(name)) for name in _DICTS}
    if not all(value is None or _has_text_keys(value, dict) for value in held.values()):
        raise ProtocolError("a state, attributes or parts that are not named")
    if not all(isinstance(t, Tensor) for t in (held["state"] or {}).values()):
        raise ProtocolError("a state that does not consist of tensors")
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
    """Encode an exception, with its texts cut to the limits."""
    if failure is None:
        return None
    data = {name: _cut(getattr(failure, name)) for name in ("type", "text", "code", "body", "todo")}
    return data | {"line": failure.line, "bases": [_cut(base) for base in failure.bases[:100]]}


def decode_failure(data: Any) -> Failure | None:
    """Decode an exception that a runner sent. Raises `ProtocolError`."""
    if data is None:
        return None
    data = _require_object(data)
    texts = {name: _require_text(data.get(name)) for name in ("type", "text", "code", "body")}
    todo = None if data.get("todo") is None else _require_text(data["todo"])
    bases = tuple(_require_text(base) for base in _require_list(data.get("bases")))
    return Failure(**texts, line=_require_line(data.get("line")), bases=bases, todo=todo)


def encode_traits(traits: CodeTraits) -> dict[str, Any]:
    """Encode the traits of an answer's code."""
    integers = [n for n in traits.integers if abs(n) < 2**63][:1000]
    borrowed = [[_cut(name), kind] for name, kind in traits.notebook_globals[:1000]]
    return {
        "source": _cut(traits.source),
        "integers": integers,
        "borrowed": borrowed,
        "idle": list(traits.unused_arguments),
    }


def decode_traits(data: Any) -> CodeTraits:
    """Decode the traits that a runner sent. Raises `ProtocolError`."""
    data = _require_object(data)
    integers = _require_list(data.get("integers"))
    borrowed = [_require_list(pair) for pair in _require_list(data.get("borrowed"))]
    if not all(type(n) is int for n in integers) or not all(len(pair) == 2 for pair in borrowed):
        raise ProtocolError("traits of an unknown kind")
    return CodeTraits(
        _require_text(data.get("source")),
        frozenset(integers),
        tuple((_require_text(name), _require_text(kind)) for name, kind in borrowed),
        tuple(_require_text(name) for name in _require_list(data.get("idle"))),
    )


def encode_device_result(moved: DeviceMoveResult) -> dict[str, Any]:
    """Encode the result of a run on the fake device."""
    return {"left_behind": moved.unmoved_tensor, "mixed": moved.has_device_mix}


def decode_device_result(data: Any) -> DeviceMoveResult:
    """Decode the result of a run on the fake device. Raises `ProtocolError`."""
    left = _require_object(data).get("left_behind")
    return DeviceMoveResult(None if left is None else _require_text(left), data.get("mixed") is True)


def encode_origin(origin: NonfiniteOrigin | None) -> dict[str, Any] | None:
    """Encode the origin of the first nan or inf."""
    return origin and {"words": origin.cause, "line": origin.line, "code": _cut(origin.code)}


def decode_origin(data: Any) -> NonfiniteOrigin | None:
    """Decode the origin of the first nan or inf. Raises `ProtocolError`."""
    if data is None:
        return None
    words = _require_text(_require_object(data).get("words"))
    if not words:
        raise ProtocolError("the origin of a nan or inf without a description")
    return NonfiniteOrigin(words, _require_line(data.get("line")), _require_text(data.get("code")))


def decode_gradients(value: Any) -> dict[str, Tensor | None]:
    """Check the gradients that a runner sent. Raises `ProtocolError`."""
    if not _has_text_keys(value, dict) or not all(v is None or isinstance(v, Tensor) for v in value.values()):
        raise ProtocolError("gradients that are not tensors")
    return value


# --- checks ---------------------------------------------------------------------------------------------


def _cut(text: Any) -> Any:
    return text[:LONGEST] if isinstance(text, str) else text


def _require_object(data: Any) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise ProtocolError("a value that should be a JSON object")
    return data


def _require_list(data: Any) -> list:
    if not isinstance(data, list) or len(data) > NAMES:
        raise ProtocolError("a value that should be a list, or a list that is too long")
    return data


def _require_text(data: Any) -> str:
    if not isinstance(data, str) or len(data) > LONGEST:
        raise ProtocolError("a value that should be a text, or a text that is too long")
    return sanitise_text(data)


def _require_line(data: Any) -> int | None:
    if data is not None and (type(data) is not int or not 0 <= data < 10**7):
        raise ProtocolError("an invalid line number")
    return data


def _require_count(data: Any) -> int:
    if type(data) is not int or not 0 <= data < 2**62:
        raise ProtocolError("an invalid count")
    return data


def _require_shape(data: Any) -> tuple[int, ...]:
    return tuple(_require_count(size) for size in _require_list(data))


def _has_text_keys(value: Any, kind: type) -> bool:
    return isinstance(value, kind) and all(isinstance(name, str) for name in value)


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(isinstance(t, Tensor) for t in value)
