"""Test with random data that any reply of a runner is either refused with `ProtocolError` or safe to use."""

from __future__ import annotations

import contextlib
import json
from dataclasses import is_dataclass
from typing import Any

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from utils.exercises.exercise import AnswerSignature
from utils.exercises.observe import Failure, Observation
from utils.exercises.op_trace import NonfiniteOrigin
from utils.exercises.runner import CodeTraits, InProcessRunner
from utils.exercises.side_effects import values_identical
from utils.grading.judge.sandbox import RESULT_TYPES
from utils.grading.runner.codec import Packer, Unpacker, parse_tensors
from utils.grading.runner.framing import FROM_RUNNER, ProtocolError, parse_json
from utils.grading.runner.protocol import ParsedPage, Reply, convert, decode_result

KINDS = "float ellipsis dtype device tuple dict tensor elsewhere number foreign".split()
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(KINDS)
KEYS = st.sampled_from("is of type shown shape dtype complex value failure line source".split()) | st.text(max_size=3)
ANYTHING = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=5
)


@given(st.sampled_from(KINDS), st.dictionaries(KEYS, ANYTHING, max_size=4))
@example("tuple", {"type": "Size", "of": [2**63]})
@example("tuple", {"type": "Size", "of": [None]})
def test_any_value_is_refused_or_can_be_shown(kind: str, fields: dict[str, Any]) -> None:
    with contextlib.suppress(ProtocolError):
        repr(Unpacker([torch.ones(2)], FROM_RUNNER).unpack(fields | {"is": kind}))


@given(st.binary(max_size=100) | ANYTHING.map(lambda value: json.dumps(value).encode()))
def test_any_reply_is_refused_or_understood(message: bytes) -> None:
    with contextlib.suppress(ProtocolError):
        data = parse_json(message, FROM_RUNNER)
        for kind in (*RESULT_TYPES.values(), Reply):
            with contextlib.suppress(ProtocolError):
                convert(data, kind)


RESULTS = {
    "run": Observation(torch.ones(2), Failure("ValueError", "x", 3), changed=("x",), state={"w": torch.ones(1)}),
    "inspect_code": CodeTraits("def f(): ...", frozenset({("3", 3)}), (("x", "a tensor"),), ("y",)),
    "find_nonfinite_origin": NonfiniteOrigin("a division", 2, "x / 0"),
    "compute_gradients": {"the input": torch.ones(2), "`w`": None},
    "parse_page": ParsedPage({"f": ("def f(): ...", ["g"])}, ["g"]),
    "load_answer": None,
}


@pytest.mark.parametrize("method", RESULTS)
def test_a_result_arrives_as_it_was_sent(method: str) -> None:
    packer = Packer()
    data = json.loads(json.dumps(packer.pack(RESULTS[method])))
    received = decode_result(data, packer.blob(), RESULT_TYPES[method], FROM_RUNNER)
    assert type(received) is type(RESULTS[method])
    assert values_identical(*(vars(v) if is_dataclass(v) else v for v in (received, RESULTS[method])))


@pytest.mark.parametrize("field", [{"operations": -1}, {"largest": 2**62}, {"failure": {"line": 10**400}},
    {"failure": {"text": "x" * 10_001}}])  # fmt: skip
def test_a_text_or_a_number_beyond_the_limits_is_refused(field: dict[str, Any]) -> None:
    failure = {"type": "ValueError", "text": ""} | field.get("failure", {})
    record = {**field, "failure": {"is": "record", "of": failure}}
    valid = {"is": "record", "of": {"failure": {"is": "record", "of": {"type": "ValueError", "text": ""}}}}
    assert decode_result(valid, b"", RESULT_TYPES["run"], FROM_RUNNER).failure
    with pytest.raises(ProtocolError):
        decode_result({"is": "record", "of": record}, b"", RESULT_TYPES["run"], FROM_RUNNER)


@given(st.sampled_from(sorted(RESULTS)), st.lists(st.integers(0, 200), min_size=1, max_size=3), ANYTHING)
def test_any_damage_to_a_result_is_refused_or_understood(method: str, path: list[int], damage: Any) -> None:
    """Replace a part of a valid result by anything."""
    packer = Packer()
    data = json.loads(json.dumps(packer.pack(RESULTS[method])))
    parent, key = {"of": data}, "of"
    for step in path:
        node = parent[key]  # pyright: ignore[reportArgumentType, reportCallIssue]
        if not isinstance(node, (dict, list)) or not node:
            break
        keys = sorted(node) if isinstance(node, dict) else range(len(node))
        parent, key = node, keys[step % len(keys)]
    parent[key] = damage  # pyright: ignore[reportArgumentType, reportCallIssue]
    with contextlib.suppress(ProtocolError):
        decode_result(data, packer.blob(), RESULT_TYPES[method], FROM_RUNNER)


@given(st.binary(max_size=300))
def test_any_tensors_are_refused_or_taken(blob: bytes) -> None:
    with contextlib.suppress(ProtocolError):
        parse_tensors(blob, FROM_RUNNER)


def test_a_huge_number_in_the_code_is_no_violation() -> None:
    """An honest answer may contain a number that no message can hold."""
    code = f"def f(x):\n    return x + {10**400} + 7"
    names: dict[str, Any] = {}
    exec(code, names)
    traits = InProcessRunner(AnswerSignature("f", "function"), names["f"]).inspect_code()
    data = json.loads(json.dumps(Packer().pack(traits)))
    assert decode_result(data, b"", RESULT_TYPES["inspect_code"], FROM_RUNNER).limits == {("7", 7)}
