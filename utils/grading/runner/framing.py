"""Send and receive frames between the judge and the runner.

A frame consists of two lengths, a JSON text and a blob of bytes (tensors as safetensors, or files). Pickle is never
used. The judge does not trust the runner, so it checks all lengths, counts and depths in a frame. The types and shapes
of values are checked in `codec`.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from dataclasses import dataclass
from typing import Any

import msgspec

_HEAD = struct.Struct(">II")


class ProtocolError(ValueError):
    """The other side violated the protocol. The message is a noun phrase that describes the wrong data."""


class ChannelClosed(Exception):
    """The other side has closed the connection."""


class ChannelTimeout(Exception):
    """A frame could not be sent or received in time."""


@dataclass(frozen=True)
class Bounds:
    """The limits for a message from the other side.

    Attributes:
        text: bytes of JSON.
        blob: bytes of tensors or files.
        depth: levels of nested lists and objects.
        items: values in the JSON text.
        string: characters of one string.
        axes: axes of a tensor.
    """

    text: int = 16 << 20
    blob: int = 64 << 20
    depth: int = 100
    items: int = 600_000
    string: int = 100_000
    axes: int = 32


FROM_RUNNER = Bounds()
FROM_JUDGE = Bounds(blob=1 << 30, depth=400)


class Channel:
    """One end of a connection that sends and receives whole frames."""

    def __init__(self, connection: socket.socket, bounds: Bounds) -> None:
        self.connection, self.bounds = connection, bounds

    def send(self, message: Any, blob: bytes = b"", timeout: float | None = None) -> None:
        """Send a frame that contains plain data or msgspec structs, and bytes. Lone surrogates become "?".

        Raises:
            ChannelClosed: the other side has closed the connection.
            ChannelTimeout: the other side does not accept the data in time.
        """
        data = msgspec.to_builtins(message)
        text = json.dumps(data, allow_nan=False, ensure_ascii=False).encode("utf-8", "replace")
        try:
            self.connection.settimeout(timeout)
            self.connection.sendall(_HEAD.pack(len(text), len(blob)) + text + blob)
        except TimeoutError:
            raise ChannelTimeout from None
        except OSError:
            raise ChannelClosed from None

    def receive(self, timeout: float | None = None) -> tuple[Any, bytes]:
        """Return the JSON data and the bytes of the next frame.

        Raises:
            ChannelClosed: the other side has closed the connection.
            ChannelTimeout: the frame is not complete in time.
            ProtocolError: the frame exceeds the bounds or is not valid.
        """
        end = None if timeout is None else time.monotonic() + timeout
        texts, blobs = _HEAD.unpack(self._receive_bytes(_HEAD.size, end))
        for size, most in ((texts, self.bounds.text), (blobs, self.bounds.blob)):
            if size > most:
                raise ProtocolError(f"a message of {size:,} bytes, more than the limit of {most:,}")
        message = parse_json(self._receive_bytes(texts, end), self.bounds)
        return message, self._receive_bytes(blobs, end)

    def _receive_bytes(self, count: int, end: float | None) -> bytes:
        data = bytearray()
        while len(data) < count:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                raise ChannelTimeout
            try:
                self.connection.settimeout(left)
                chunk = self.connection.recv(min(count - len(data), 1 << 20))
            except TimeoutError:
                raise ChannelTimeout from None
            except OSError:
                raise ChannelClosed from None
            if not chunk:
                raise ChannelClosed
            data += chunk
        return bytes(data)

    def has_unread_data(self) -> bool:
        """Return whether unread data has arrived; do not wait for data."""
        self.connection.settimeout(0)
        try:
            return bool(self.connection.recv(1, socket.MSG_PEEK))
        except OSError:
            return False


def parse_json(text: bytes, bounds: Bounds) -> Any:
    """Parse a JSON text and check its depth, its number of values and the lengths of its strings.

    Raises:
        ProtocolError: the text is not JSON, contains NaN, Infinity or a lone surrogate, or exceeds the bounds.
    """
    if sum(map(text.count, (b",", b"[", b"{"))) > bounds.items:  # Estimate the number of values before parsing.
        raise ProtocolError(f"more than {bounds.items:,} values")
    try:
        data = msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise ProtocolError(f"a text that is not JSON ({type(error).__name__})") from None
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
    raise ProtocolError(f"lists or objects nested more than {bounds.depth} levels deep")


# Control characters except "\t", "\n" and "\r", and marks that change the direction of the text after them.
_HIDDEN = dict.fromkeys([*range(9), 11, 12, *range(14, 32), *range(127, 160), *range(0x202A, 0x202F)], "\ufffd")
_HIDDEN |= dict.fromkeys([*range(0x2066, 0x206A), *range(0xD800, 0xE000)], "\ufffd")


def clean_text(text: str) -> str:
    """Replace the control characters, direction marks and lone surrogates in a text with U+FFFD."""
    return text if text.isprintable() else text.translate(_HIDDEN)


def clean_texts(data: Any) -> Any:
    """Apply `clean_text` to all texts and keys in JSON data."""
    if isinstance(data, str):
        return clean_text(data)
    if isinstance(data, list):
        return [clean_texts(value) for value in data]
    if isinstance(data, dict):
        return {clean_texts(key): clean_texts(value) for key, value in data.items()}
    return data


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value, *value.values()]
    return value if isinstance(value, list) else []
