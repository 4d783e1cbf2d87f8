"""Test with random data that any reply of a runner is either refused with `ProtocolError` or safe to use."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import torch
from hypothesis import example, given
from hypothesis import strategies as st

from utils.grading.runner import schema
from utils.grading.runner.codec import Unpacker, parse_tensors
from utils.grading.runner.framing import FROM_RUNNER, ProtocolError, parse_json

KINDS = "float ellipsis dtype device tuple dict tensor elsewhere number foreign".split()
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(KINDS)
KEYS = st.sampled_from("is of type shown shape dtype complex value failure line source".split()) | st.text(max_size=3)
ANYTHING = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=5
)
READERS = (schema.decode_traits, schema.decode_device_result, schema.decode_origin, schema.decode_failure)


@given(st.sampled_from(KINDS), st.dictionaries(KEYS, ANYTHING, max_size=4))
@example("tuple", {"type": "Size", "of": [2**63]})
@example("tuple", {"type": "Size", "of": [None]})
def test_any_value_is_refused_or_can_be_shown(kind: str, fields: dict[str, Any]) -> None:
    with contextlib.suppress(ProtocolError):
        repr(Unpacker([torch.ones(2)], FROM_RUNNER).unpack(fields | {"is": kind}))


@given(st.binary(max_size=100) | ANYTHING.map(lambda value: json.dumps(value).encode()))
def test_any_reply_is_refused_or_understood(reply: bytes) -> None:
    with contextlib.suppress(ProtocolError):
        data = parse_json(reply, FROM_RUNNER)
        for read in READERS:
            with contextlib.suppress(ProtocolError):
                read(data)
        schema.decode_observation(Unpacker([], FROM_RUNNER), data)


@given(st.binary(max_size=300))
def test_any_tensors_are_refused_or_taken(blob: bytes) -> None:
    with contextlib.suppress(ProtocolError):
        parse_tensors(blob, FROM_RUNNER)
