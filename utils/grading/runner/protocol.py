"""Define the messages between the judge and the runner.

A request names a method of `PageLoader` or `Runner` and contains its arguments. A reply contains the outcome. The
result must match the return annotation of the method. The judge rejects any other result. To add a method, add it to
`Runner` and `InProcessRunner` in `utils.exercises.runner`. The code at the two ends of the connection needs no change.
"""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, TypeVar

import msgspec

from utils.grading.runner.audit import AuditKind
from utils.grading.runner.codec import LONGEST, Packer, Unpacker, parse_tensors
from utils.grading.runner.framing import Bounds, ProtocolError

T = TypeVar("T")
Text = Annotated[str, msgspec.Meta(max_length=LONGEST)]
LARGEST_NUMBER = 2**62  # the maximum for a line number or a count
AuditNote = tuple[AuditKind, Text]


class Request(msgspec.Struct):
    """A call to a method, with positional and named arguments in the format of `Packer`."""

    id: int
    method: str
    args: list[Any]
    kwargs: Any


class Done(msgspec.Struct, tag=True):
    """The method has returned; `result` is in the format of `Packer`."""

    result: Any


class Raised(msgspec.Struct, tag=True):
    """The method has raised an exception; `name` is the name of its type."""

    name: Text
    text: Text


class AnswerMissing(msgspec.Struct, tag=True):
    """The notebook has no answer to the exercise.

    If an exception is the reason, `failure` is a `Failure` in the format of `Packer`. Otherwise, `failure` is None.
    """

    message: Text
    failure: Any


class TimeUp(msgspec.Struct, tag=True):
    """The time limit was reached on this line of the answer."""

    line: Annotated[int, msgspec.Meta(ge=0, lt=10**7)] | None
    code: Text


class OutOfMemory(msgspec.Struct, tag=True):
    """The runner's memory limit was reached, or the result is too large; `detail` is a sentence, or ""."""

    detail: Text = ""


Outcome = Done | Raised | AnswerMissing | TimeUp | OutOfMemory


class Reply(msgspec.Struct):
    """The outcome of a request, and the entries of the audit log since the last reply.

    `id` is the id of the request; it is None if the time limit was reached between two requests.
    """

    id: int | None
    notes: Annotated[list[AuditNote], msgspec.Meta(max_length=100)]
    outcome: Outcome


@dataclasses.dataclass
class ParsedPage:
    """The content of a notebook that the runner has parsed but not run.

    Attributes:
        answers: the source of each answer and the exercises that it uses.
        requested: the exercises that the notebook requests with `yours`.
        unreadable_reason: why the notebook cannot be read, as a sentence; None if it can be read.
    """

    answers: dict[str, tuple[str, list[str]]] = dataclasses.field(default_factory=dict)
    requested: list[str] = dataclasses.field(default_factory=list)
    unreadable_reason: str | None = None


def clip(text: str) -> str:
    """Truncate a text to the maximum length of a text in a message."""
    return text[:LONGEST]


def encode_call(number: int, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Request, bytes]:
    """Return the request for a call, and the tensors of its arguments."""
    packer = Packer(objects=True)
    return Request(number, method, packer.pack(list(args)), packer.pack(kwargs)), packer.blob()


def decode_result(data: Any, blob: bytes, kind: Any, bounds: Bounds) -> Any:
    """Convert data from a runner into a value of the type `kind`. `kind` may be any annotation.

    Raises:
        ProtocolError: the data is not valid, has another type, or exceeds a limit.
    """
    result = convert(Unpacker(parse_tensors(blob, bounds), bounds).unpack(data), kind)
    _check_fields(result)
    return result


def _check_fields(result: Any) -> None:
    """Check the texts and numbers in a result, except in fields of the type `Any`.

    Raises:
        ProtocolError: a text is too long, or a number is negative or too large.
    """
    if isinstance(result, str) and len(result) > LONGEST:
        raise ProtocolError(f"a text of more than {LONGEST:,} characters")
    if isinstance(result, int) and not 0 <= result < LARGEST_NUMBER:
        raise ProtocolError("a line or a count that is negative or too large")
    if isinstance(result, (list, tuple)):
        for item in result:
            _check_fields(item)
    if dataclasses.is_dataclass(result):
        for field in dataclasses.fields(result):
            if field.type != "Any":
                _check_fields(getattr(result, field.name))


def convert(data: Any, kind: type[T]) -> T:
    """Convert plain data to the type `kind`.

    Raises:
        ProtocolError: the data has another type.
    """
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise ProtocolError(f"a message of another type ({error})") from None
