"""Attack with runners that send invalid data: it must be refused before it is used, and cost only its own exercise."""

from __future__ import annotations

import base64
import contextlib
import importlib
import itertools
import json
import os
import pickle
import socket
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import save

from tests.grading.hostile.conftest import WRONG, graded, untouched
from utils.grading.judge.sandbox import RunnerStopped, Session
from utils.grading.runner.codec import LARGEST, Packer, TooLarge, Unpacker, parse_tensors
from utils.grading.runner.framing import FROM_RUNNER, Bounds, Channel, ProtocolError, parse_json
from utils.grading.runner.isolation import ProcessExit, ResourceLimits
from utils.grading.runner.protocol import Done, Request


def frame(message: object, blob: bytes = b"") -> bytes:
    text = message if isinstance(message, bytes) else json.dumps(message).encode()
    return struct.pack(">II", len(text), len(blob)) + text + blob


def safetensors(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def tensor(shape: object, offsets: object = (0, 4), dtype: object = "F32", name: str = "0") -> dict:
    return {name: {"dtype": dtype, "shape": shape, "data_offsets": offsets}}


# --- tensors --------------------------------------------------------------------------------------------


class Evil:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return (os.mkdir, (str(self.path),))


def test_a_pickle_is_no_tensor(tmp_path: Path) -> None:
    evil = pickle.dumps(Evil(tmp_path / "made"))
    pickle.loads(evil)
    assert (tmp_path / "made").is_dir()
    (tmp_path / "made").rmdir()
    for blob in (evil, safetensors(tensor([1], (0, len(evil)), "U8"), evil), safetensors(evil)):
        with pytest.raises(ProtocolError):
            Unpacker(parse_tensors(blob, FROM_RUNNER), FROM_RUNNER).unpack({"is": "pickle", "of": 0})
    assert not (tmp_path / "made").exists()


BAD_TENSORS = {
    "a million dimensions": safetensors(tensor([1] * 1_000_000), bytes(4)),
    "nan as size": safetensors(b'{"0":{"dtype":"F32","shape":[NaN],"data_offsets":[0,4]}}', bytes(4)),
    "a size that is no whole number": safetensors(tensor([1.0]), bytes(4)),
    "a negative size": safetensors(tensor([-1, -1]), bytes(4)),
    "true as size": safetensors(tensor([True]), bytes(4)),
    "no bytes for its size": safetensors(tensor([1 << 20], (0, 4)), bytes(4)),
    "more bytes than its size": safetensors(tensor([1], (0, 8)), bytes(8)),
    "nothing, of a large shape": safetensors(tensor([0, 1 << 40], (0, 0))),
    "a product that overflows": safetensors(tensor([1 << 20] * 8, (0, 0))),
    "bytes beyond the end": safetensors(tensor([1], (1 << 40, (1 << 40) + 4)), bytes(4)),
    "an unknown type": safetensors(tensor([1], dtype="F4096"), bytes(4)),
    "a type that is a list": safetensors(tensor([1], dtype=["F32"]), bytes(4)),
    "another name": safetensors(tensor([1], name="../0"), bytes(4)),
    "two in the same place": safetensors(tensor([1]) | tensor([1], name="1"), bytes(4)),
    "a header longer than all": struct.pack("<Q", 1 << 62) + b"{}",
    "a header that is a list": safetensors([1, 2]),
    "a deep header": safetensors(b"[" * 100_000),
    "half a length": b"\1\2\3",
    "bools that are none": safetensors(tensor([4], (0, 4), "BOOL"), b"\2\0\1\1"),
}


TAKEN = {  # A naive reader accepts these, and stops with an exception at all others.
    "a million dimensions",
    "another name",
    "two in the same place",
    "a header longer than all",
    "bools that are none",
}
DEATHS = (ValueError, TypeError, LookupError, AttributeError, RuntimeError)


def trusted(blob: bytes) -> list[torch.Tensor]:
    """Read tensors without any precaution."""
    start = 8 + int.from_bytes(blob[:8], "little")
    types = {"F32": torch.float32, "U8": torch.uint8, "BOOL": torch.bool}
    found = []
    for entry in json.loads(blob[8:start]).values():
        first, last = entry["data_offsets"]
        held = bytearray(blob[start + first : start + last])
        found.append(torch.frombuffer(held, dtype=types[entry["dtype"]]).reshape(entry["shape"]))
    return found


@pytest.mark.parametrize("name", BAD_TENSORS)
def test_bad_tensors_are_refused(name: str) -> None:
    with contextlib.nullcontext() if name in TAKEN else pytest.raises(DEATHS):
        trusted(BAD_TENSORS[name])
    with pytest.raises(ProtocolError):
        parse_tensors(BAD_TENSORS[name], FROM_RUNNER)


def test_good_tensors_are_taken() -> None:
    """Check that the tensors above are refused because of their faults, not because of how the tests write them."""
    for read in (trusted, lambda blob: parse_tensors(blob, FROM_RUNNER)):
        (found,) = read(safetensors(tensor([1]), struct.pack("<f", 2.5)))
        assert found.tolist() == [2.5]
    kinds = [
        torch.ones(2, 3),
        torch.zeros(0, 4),
        torch.tensor(True),
        torch.arange(3),
        torch.ones(2, dtype=torch.bfloat16),
    ]
    for mine, theirs in zip(kinds, parse_tensors(save({str(i): t for i, t in enumerate(kinds)}), FROM_RUNNER)):
        assert mine.dtype == theirs.dtype and torch.equal(mine, theirs)


# --- values ---------------------------------------------------------------------------------------------

BAD_VALUES = {
    "an unknown kind": {"is": "object", "class": "os:system", "of": []},
    "a pickle": {"is": "pickle", "of": base64.b64encode(pickle.dumps(os.system)).decode()},
    "a tensor that is not there": {"is": "tensor", "of": 7},
    "a tensor of number nan": {"is": "tensor", "of": {"is": "float", "of": "nan"}},
    "a tensor elsewhere without end": {"is": "elsewhere", "dtype": "float32", "shape": [1 << 40] * 3, "device": "meta"},
    "a float that is code": {"is": "float", "of": "__import__('os')"},
    "a dict whose key is a list": {"is": "dict", "of": [[[1], 2]]},
    "a dict of triples": {"is": "dict", "of": [[1, 2, 3]]},
    "a tuple of a number": {"is": "tuple", "of": 5},
    "a device of nobody": {"is": "device", "of": "nowhere:9"},
    "an object without kind": {"of": 1},
}


def made(value: dict) -> object:
    """Build a value without any precaution."""
    makers: dict[str, Callable[[Any], object]] = {
        "object": lambda of: getattr(
            importlib.import_module(value["class"].split(":")[0]), value["class"].split(":")[1]
        ),
        "pickle": lambda of: pickle.loads(base64.b64decode(of)),
        "tensor": lambda of: [torch.ones(1)][of],
        "elsewhere": lambda of: torch.empty(value["shape"], device=value["device"]),
        "float": eval,
        "dict": dict,
        "tuple": tuple,
        "device": torch.device,
    }
    return makers[value["is"]](value.get("of"))


HARM = {"an unknown kind": os.system, "a pickle": os.system, "a float that is code": os}


@pytest.mark.parametrize("name", BAD_VALUES)
def test_bad_values_are_refused(name: str) -> None:
    value = BAD_VALUES[name]
    with contextlib.nullcontext() if name in HARM else pytest.raises(DEATHS):
        assert made(value) is HARM[name]  # The judge's process now holds what the runner named.
    with pytest.raises(ProtocolError):
        Unpacker([torch.ones(1)], FROM_RUNNER).unpack(value)


BAD_TEXTS = {
    "deep": b"[" * 110 + b"]" * 110,
    "deep beyond Python": b"[" * 1_000_000,
    "wide": b"[" + b"0," * 700_000 + b"0]",
    "nan": b"[NaN]",
    "infinity": b'{"id": Infinity}',
    "no JSON": b"{1: 2}",
    "a number of a million digits": b"[" + b"9" * 1_000_000 + b"]",
    "a long text": b'["' + b"x" * 200_000 + b'"]',
    "not UTF-8": b'["\xff"]',
}


@pytest.mark.parametrize("name", BAD_TEXTS)
def test_bad_texts_are_refused(name: str) -> None:
    taken = name in ("deep", "wide", "nan", "infinity", "a long text")
    with contextlib.nullcontext() if taken else pytest.raises(DEATHS):
        json.loads(BAD_TEXTS[name])
    with pytest.raises(ProtocolError):
        parse_json(BAD_TEXTS[name], FROM_RUNNER)


def test_a_foreign_object_is_a_name_and_equal_to_nothing() -> None:
    made = Unpacker([], FROM_RUNNER).unpack({"is": "foreign", "type": "ndarray", "shown": "array([1.])"})
    assert type(made).__name__ == "ndarray" and repr(made) == "array([1.])"
    assert made != 1 and made != Unpacker([], FROM_RUNNER).unpack({"is": "foreign", "type": "ndarray", "shown": ""})
    odd = Unpacker([], FROM_RUNNER).unpack({"is": "foreign", "type": "a b; import os", "shown": "x"})
    assert type(odd).__name__ == "object"


# --- replies --------------------------------------------------------------------------------------------


class Nobody:
    """A sandbox whose runner has ended."""

    def wait_for_exit(self, kill: bool) -> ProcessExit:
        return ProcessExit(0, 0.0)


@pytest.fixture
def line() -> tuple[Session, socket.socket]:
    """A session, and the runner's end of its connection."""
    ours, theirs = socket.socketpair()
    return Session(Nobody(), ours, ResourceLimits(0.05)), theirs  # pyright: ignore[reportArgumentType]


def reply(number: object, result: object = None, notes: object = ()) -> bytes:
    return frame({"id": number, "notes": notes, "outcome": {"type": "Done", "result": result}})


def ask(session: Session, blob: bytes = b"") -> Any:
    """Send the session's next request, and return the result as the runner sent it."""
    outcome, _ = session.exchange(Request(session.request_count + 1, "run", [], {}), blob)
    assert isinstance(outcome, Done)
    return outcome.result


def test_a_reply_is_taken_once_and_in_its_turn(line: tuple[Session, socket.socket]) -> None:
    session, theirs = line
    for number in (1, 2):
        timer = threading.Timer(0.1, theirs.sendall, [reply(number, number)])
        timer.start()
        assert ask(session) == number
        timer.join()
    assert session.over is None


TURNS = {
    "before it was asked": [reply(1)],
    "out of order": [reply(2)],
    "without a number": [reply(None)],
    "of a number that is true": [reply(True)],
    "with notes that are none": [reply(1, notes="x")],
    "with a note of an unknown kind": [reply(1, notes=[["win", "x"]])],
    "with a million notes": [reply(1, notes=[["file", "x"]] * 10_000)],
    "that is a list": [frame([1])],
    "of an unknown outcome": [frame({"id": 1, "notes": [], "outcome": {"type": "Passed"}})],
    "without an outcome": [frame({"id": 1, "notes": []})],
    "of four gigabytes": [struct.pack(">II", 0xFFFFFFFF, 0xFFFFFFFF)],
    "of a gigabyte of tensors": [struct.pack(">II", 2, 1 << 30) + b"{}"],
}


WHOLE = {name: sent for name, sent in TURNS.items() if b'"Done"' in sent[0]}


@pytest.mark.parametrize("sent", WHOLE.values(), ids=list(WHOLE))
def test_who_looks_at_no_number_takes_any_reply(sent: list[bytes]) -> None:
    ours, theirs = socket.socketpair()
    theirs.sendall(sent[0])
    assert Channel(ours, FROM_RUNNER).receive(1.0)[0]["outcome"]["result"] is None


@pytest.mark.parametrize("sent", TURNS.values(), ids=list(TURNS))
def test_any_other_reply_ends_the_session(line: tuple[Session, socket.socket], sent: list[bytes]) -> None:
    session, theirs = line
    early = sent == TURNS["before it was asked"]
    if early:
        theirs.sendall(sent[0])
    else:
        session.channel.has_unread_data = lambda: False  # The replies arrive after the request.
        theirs.sendall(b"".join(sent))
    with pytest.raises(RunnerStopped) as over:
        ask(session)
    assert over.value.kind == "tampering"
    with pytest.raises(RunnerStopped):  # The session stays ended.
        ask(session)


def test_a_second_reply_is_not_taken_for_the_next(line: tuple[Session, socket.socket]) -> None:
    session, theirs = line
    session.channel.has_unread_data = lambda: False
    theirs.sendall(reply(1, "first") + reply(1, "again"))
    naive = Channel(socket.socket(fileno=os.dup(session.channel.connection.fileno())), Bounds())
    assert ask(session) == "first"
    with pytest.raises(RunnerStopped) as over:
        ask(session)
    assert over.value.kind == "tampering"
    theirs.sendall(reply(1))
    assert naive.receive()[0]["id"] == 1  # A naive reader would accept the old number.


def test_half_a_reply_is_not_waited_for_without_end(line: tuple[Session, socket.socket]) -> None:
    session, theirs = line
    session.left = 0.2
    theirs.sendall(reply(1)[:-3])
    session.channel.has_unread_data = lambda: False
    with pytest.raises(RunnerStopped) as over:
        ask(session)
    assert over.value.kind == "time"


def test_who_takes_no_question_is_not_waited_for_without_end(line: tuple[Session, socket.socket]) -> None:
    session, theirs = line
    session.left = 0.2
    with pytest.raises(RunnerStopped) as over:
        ask(session, bytes(8 << 20))
    assert over.value.kind == "time"
    assert theirs.recv(1)  # The request was sent at least in part.


def test_replies_that_come_in_time_one_by_one_are_late_together(
    line: tuple[Session, socket.socket], monkeypatch
) -> None:
    """On the fake clock, each reply takes 60 % of the time limit."""
    session, theirs = line
    clock = itertools.count(0.0, 0.6 * session.left)
    monkeypatch.setattr("utils.grading.judge.sandbox.time", SimpleNamespace(monotonic=lambda: next(clock)))
    session.channel.has_unread_data = lambda: False
    whole = session.left
    theirs.sendall(reply(1, 1) + reply(2, 2) + reply(3, 3))
    naive = Channel(socket.socket(fileno=os.dup(session.channel.connection.fileno())), FROM_RUNNER)
    for number in (1, 2):
        assert ask(session) == number
    with pytest.raises(RunnerStopped) as over:
        ask(session)
    assert over.value.kind == "time"
    assert naive.receive(whole)[0]["id"] == 3  # A naive reader, with the full limit for each reply, would accept it.


# --- attacks from a page ----------------------------------------------------------------------------------

REACHES = """
import gc, json, struct, threading, time
def line():
    return next(o for o in gc.get_objects() if type(o).__name__ == "Channel").connection
def frame(message, blob=b""):
    text = message if isinstance(message, bytes) else json.dumps(message).encode()
    return struct.pack(">II", len(text), len(blob)) + text + blob
def reply(number, result):
    return frame({"id": number, "notes": [], "outcome": {"type": "Done", "result": result}})
"""
LIES = {
    "twice": "line().sendall(reply(2, None))",
    "out of order": "line().sendall(reply(3, {}))",
    "late": "threading.Timer(0.05, lambda: line().sendall(reply(1, None))).start()\n    time.sleep(0.1)",
    "a gigabyte": "line().sendall(struct.pack('>II', 100, 1 << 30) + bytes(1 << 20))",
    "nan as size": 'line().sendall(frame(b\'{"id": 2, "notes": [], "outcome": {"type": "Done", "result": NaN}}\'))',
    "deep": "line().sendall(frame(b'[' * 1_000_000))",
    "garbage": "line().sendall(bytes(range(256)) * 16)",
}


@pytest.mark.parametrize("lie", LIES.values(), ids=list(LIES))
def test_a_page_that_answers_itself_gets_nothing(sandbox, lie: str) -> None:
    result = graded(sandbox, f"{REACHES}\nclass Attack:\n    {lie}\n{WRONG}")
    assert [e.state for e in result.exercises] == ["stopped"] and not result.points
    assert "tampering" in {incident.kind for incident in result.incidents}
    assert untouched(sandbox)


SAYS_IT_IS_RIGHT = """
import sys
class Attack:
    packer = sys.modules["utils.grading.runner.codec"].Packer
    old = packer.pack
    def always(self, value, old=old):
        data = old(self, value)
        if isinstance(data, dict) and data["is"] == "record":
            more = {"passed": True, "expected": None, "misconception": None, "status": "passed"}
            return {**data, "of": {**data["of"], **more}}
        return data
    packer.pack = always
"""
HUGE = {
    "a result of a gigabyte": "def row_sums(x):\n    import torch\n    return torch.zeros(1).expand(1 << 28)",
    "a result of a million dimensions": """
import sys
def row_sums(x):
    sys.modules["utils.grading.runner.codec"].Packer.pack = lambda self, value: {"is": "record", "of": {
        "value": {"is": "elsewhere", "device": "meta", "dtype": "float32", "shape": [1] * 1_000_000}}}
    return x.sum(dim=1)
""",
}


def test_a_runner_cannot_say_that_it_is_right(sandbox, monkeypatch) -> None:
    outcomes, exchange = [], Session.exchange

    def heard(self, *args):
        outcomes.append(exchange(self, *args))
        return outcomes[-1]

    monkeypatch.setattr(Session, "exchange", heard)
    assert graded(sandbox, SAYS_IT_IS_RIGHT, WRONG).exercises[0].state == "failed"
    results = [outcome.result for outcome, _ in outcomes]
    assert any(isinstance(r, dict) and r["of"].get("status") == "passed" for r in results)  # The claim was sent.


def test_without_a_bound_a_huge_result_is_made_and_taken() -> None:
    """The result is only slightly larger than the bound, because a gigabyte would be slow."""
    large = torch.zeros(1, dtype=torch.uint8).expand(LARGEST + 1)
    packer = Packer()
    packer.pack(large)
    assert len(packer.blob()) > LARGEST
    with pytest.raises(TooLarge):
        Packer(largest=LARGEST).pack(large)
    shape = {"is": "elsewhere", "device": "meta", "dtype": "float32", "shape": [1] * 1_000_000}
    assert Unpacker([], Bounds(axes=1_000_000)).unpack(shape).dim() == 1_000_000
    with pytest.raises(ProtocolError):
        Unpacker([], FROM_RUNNER).unpack(shape)


@pytest.mark.parametrize("source", HUGE.values(), ids=list(HUGE))
def test_a_huge_result_is_not_taken(sandbox, source: str) -> None:
    result = graded(sandbox, source)
    assert result.exercises[0].state == "stopped"
    assert untouched(sandbox)
