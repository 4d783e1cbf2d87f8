"""What goes between the judge and the runner: frames of JSON and safetensors, and how a value becomes such data.

A frame is two lengths, a JSON text and bytes (tensors as safetensors, or a file). Never a pickle: what a runner sends
is read by a judge that trusts none of it, so every length, count, depth, type and shape is checked before anything is
made of it. The way to the runner is the judge's own, so there alone objects of `utils.test_doubles` may travel, by name.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from dataclasses import dataclass
from typing import Any

_HEAD = struct.Struct(">II")


class ProtocolError(ValueError):
    """What arrived is not what was agreed on; the message is a sentence about it."""


class ChannelClosed(Exception):
    """The other side is gone."""


class ChannelTimeout(Exception):
    """Nothing arrived, or was taken, in time."""


@dataclass(frozen=True)
class Bounds:
    """How much is taken from the other side.

    Attributes:
        text: bytes of JSON.
        blob: bytes of tensors.
        depth: how deep lists may lie in one another.
        items: how many values there may be.
        string: characters of one text.
        axes: of a tensor.
    """

    text: int = 16 << 20
    blob: int = 64 << 20
    depth: int = 40
    items: int = 400_000
    string: int = 100_000
    axes: int = 32


FROM_RUNNER = Bounds()
FROM_JUDGE = Bounds(blob=1 << 30, depth=400)


class Channel:
    """One end of a connection, on which whole frames are sent and taken."""

    def __init__(self, connection: socket.socket, bounds: Bounds) -> None:
        self.connection, self.bounds = connection, bounds

    def send(self, message: dict[str, Any], blob: bytes = b"", timeout: float | None = None) -> None:
        """Raises `Closed`, or `Late` where the other side does not take it."""
        text = json.dumps(message, allow_nan=False).encode()
        try:
            self.connection.settimeout(timeout)
            self.connection.sendall(_HEAD.pack(len(text), len(blob)) + text + blob)
        except TimeoutError:
            raise ChannelTimeout from None
        except OSError:
            raise ChannelClosed from None

    def receive(self, timeout: float | None = None) -> tuple[dict[str, Any], bytes]:
        """The next frame: an object of JSON, and bytes. Raises `Closed`, `Late` or `Broken`."""
        end = None if timeout is None else time.monotonic() + timeout
        texts, blobs = _HEAD.unpack(self._receive_bytes(_HEAD.size, end))
        for size, most in ((texts, self.bounds.text), (blobs, self.bounds.blob)):
            if size > most:
                raise ProtocolError(f"a message of {size:,} bytes, where at most {most:,} are taken")
        message = parse_json(self._receive_bytes(texts, end), self.bounds)
        if not isinstance(message, dict):
            raise ProtocolError("a message that is no object")
        return message, self._receive_bytes(blobs, end)

    def _receive_bytes(self, count: int, end: float | None) -> bytes:
        got = bytearray()
        while len(got) < count:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                raise ChannelTimeout
            try:
                self.connection.settimeout(left)
                part = self.connection.recv(min(count - len(got), 1 << 20))
            except TimeoutError:
                raise ChannelTimeout from None
            except OSError:
                raise ChannelClosed from None
            if not part:
                raise ChannelClosed
            got += part
        return bytes(got)

    def has_unread_data(self) -> bool:
        """Whether something has arrived that nobody asked for."""
        self.connection.settimeout(0)
        try:
            return bool(self.connection.recv(1, socket.MSG_PEEK))
        except OSError:
            return False


def parse_json(text: bytes, bounds: Bounds) -> Any:
    """JSON as data, once its depth, its number of values and the lengths of its texts are known to be small. Raises
    `Broken`."""
    if sum(map(text.count, (b",", b"[", b"{"))) > bounds.items:  # before anything is made of it
        raise ProtocolError(f"more than {bounds.items:,} values")
    try:
        data = json.loads(text, parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"a text that is no JSON ({type(error).__name__})") from None
    count, level = 0, [data]
    for _ in range(bounds.depth):
        count += len(level)
        if count > bounds.items:
            raise ProtocolError(f"more than {bounds.items:,} values")
        if any(isinstance(value, str) and len(value) > bounds.string for value in level):
            raise ProtocolError(f"a text of more than {bounds.string:,} characters")
        level = [inner for value in level for inner in _children(value)]
        if not level:
            return data
    raise ProtocolError(f"lists that lie in one another {bounds.depth} deep")


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value, *value.values()]
    return value if isinstance(value, list) else []


def _reject_constant(constant: str) -> Any:
    raise ProtocolError(f"{constant} where a number should be")
