"""Convert the arguments of cases and the results of answers to JSON and safetensors, and back.

Numbers, texts and tensors, including those in tuples, lists and dicts, are converted completely in both directions.
Requests to the runner can also contain functions and objects of the trusted modules. A function is sent as its name,
and an object is sent as its class name and attributes. In a reply, an instance of a data class of `utils` is sent as
its fields. Any other object in a reply is sent only as its type name and its repr. The judge turns the type name and
the repr into an opaque object, which equals only itself.
"""

from __future__ import annotations

import collections
import dataclasses
import math
import types
from collections.abc import Callable
from typing import Any

import torch
from safetensors.torch import load, save
from torch import Tensor, nn

from utils.grading.runner.framing import FROM_RUNNER, Bounds, ProtocolError, parse_json

SHOWN = 200  # maximum number of characters in the repr of a value of an unsupported type
DIGITS = 300  # maximum number of digits in an integer
MOST_VALUES = 100_000  # maximum number of values in a result; a tensor counts as one value
MOST_LEVELS = 20  # maximum depth of nested lists, tuples and dicts in a result
LARGEST = 48 << 20  # maximum total bytes of the tensors in one message from the runner
LONGEST = 10_000  # maximum number of characters in a text, such as an error message or the source of a function
KEYS = (str, int, float, bool, tuple, type(None))
_TYPES = {  # keys: the names that safetensors uses
    "BOOL": torch.bool, "U8": torch.uint8, "U16": torch.uint16, "U32": torch.uint32, "U64": torch.uint64,
    "I8": torch.int8, "I16": torch.int16, "I32": torch.int32, "I64": torch.int64,
    "BF16": torch.bfloat16, "F16": torch.float16, "F32": torch.float32, "F64": torch.float64,
}  # fmt: skip
_NAMES = {str(dtype).removeprefix("torch."): dtype for dtype in (*_TYPES.values(), torch.complex64, torch.complex128)}
# modules whose functions and objects a request may contain
TRUSTED_PREFIXES = ("utils.test_doubles.", "utils.models.", "utils.exercises.exercise:", "utils.exercises.observe:")
TRUSTED_PREFIXES += ("torch.nn.",)
# modules whose data classes a reply may contain
RECORDS = ("utils.exercises.", "utils.feedback.", "utils.grading.runner.")


class TooLarge(Exception):
    """The result exceeds a message limit. The exception's text is a complete sentence."""


# --- to data ------------------------------------------------------------------------------------------


class Packer:
    """Converts values to JSON data, and collects their tensors for `blob`.

    Args:
        objects: whether to convert objects of the trusted classes completely, as requests to the runner require.
        largest: the maximum total bytes of the tensors. If it is given, the other bounds of a reply also apply.
    """

    def __init__(self, objects: bool = False, largest: int | None = None) -> None:
        self.objects, self.largest = objects, largest
        self.tensors: list[Tensor] = []
        self.bytes, self.count, self.level, self._known = 0, 0, 0, {}

    def blob(self) -> bytes:
        """Return the collected tensors in the safetensors format."""
        return save({str(i): tensor for i, tensor in enumerate(self.tensors)}) if self.tensors else b""

    def pack(self, value: Any) -> Any:
        """Convert a value to JSON data.

        Raises:
            TooLarge: the tensors exceed `largest`, or there are too many values.
            TypeError: `objects` is true and the value contains an object of a class that is not trusted.
        """
        if self.largest is None:
            return self._pack(value)
        self.count += 1
        if self.count > MOST_VALUES:
            raise TooLarge(f"The result contains more than {MOST_VALUES:,} values.")
        too_long = isinstance(value, str) and len(value) > FROM_RUNNER.string
        self.level += 1
        packed = self._pack_opaque(value) if too_long or self.level > MOST_LEVELS else self._pack(value)
        self.level -= 1
        return packed

    def _pack(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return value if abs(value) < 10**DIGITS else self._pack_opaque(value)
        if kind is float:
            return value if math.isfinite(value) else {"is": "float", "of": str(value)}
        if kind is list:
            return [self.pack(item) for item in value]
        if isinstance(value, Tensor):
            return self._pack_tensor(value)
        if isinstance(value, torch.Size) and any(abs(size) >= 2**62 for size in value):
            return self._pack_opaque(value)  # torch cannot print such a size.
        if isinstance(value, tuple):
            return self._pack_container("tuple", kind, [self.pack(item) for item in value])
        if isinstance(value, dict) and (self.objects or all(isinstance(key, KEYS) for key in value)):
            return self._pack_container("dict", kind, [[self.pack(k), self.pack(v)] for k, v in value.items()])
        if value is ...:
            return {"is": "ellipsis"}
        if isinstance(value, (torch.dtype, torch.device)):
            return {"is": kind.__name__, "of": str(value).removeprefix("torch.")}
        if self.objects:
            return self._pack_object(value)
        if dataclasses.is_dataclass(kind) and kind.__module__.startswith(RECORDS):
            return {"is": "record", "of": {f.name: self._pack_field(f, value) for f in dataclasses.fields(kind)}}
        if kind in (set, frozenset, bytes, complex):
            return self._pack_opaque(value)
        if isinstance(value, float):  # a subclass of float, such as numpy.float64
            return {"is": "number", "type": kind.__name__, "of": self.pack(float(value)), "shown": _safe_repr(value)}
        return self._pack_opaque(value)

    def _pack_field(self, field: dataclasses.Field, record: Any) -> Any:
        """Convert a field of a record: truncate a string to the limit, and turn a set into a list."""
        value = getattr(record, field.name)
        if field.type != "Any" and isinstance(value, str):
            return value[:LONGEST]
        return self.pack(list(value) if isinstance(value, frozenset) else value)

    def _pack_container(self, what: str, kind: type, items: list) -> Any:
        name = {} if kind in (tuple, dict) else {"type": kind.__name__[:100]}
        return {"is": what, "of": items, **name}

    def _pack_opaque(self, value: Any, name: str = "") -> dict[str, Any]:
        return {"is": "foreign", "type": (name or type(value).__name__)[:100], "shown": _safe_repr(value)}

    def _pack_tensor(self, value: Tensor) -> dict[str, Any]:
        if self.objects and id(value) in self._known:
            return {"is": "again", "of": self._known[id(value)][0]}
        dtype = str(value.dtype).removeprefix("torch.")
        if self.largest is not None and (name := _unsupported(value)):
            return self._pack_opaque(value, name)
        if value.device.type != "cpu":
            return {"is": "elsewhere", "device": str(value.device), "dtype": dtype, "shape": list(value.shape)}
        self.bytes += value.numel() * value.element_size()
        if self.largest is not None and self.bytes > self.largest:
            raise TooLarge(f"The result has {self.bytes:,} bytes or more, but the limit is {self.largest:,} bytes.")
        plain = value.detach().resolve_conj().resolve_neg()
        plain = torch.view_as_real(plain) if plain.is_complex() else plain
        self.tensors.append(plain.clone(memory_format=torch.contiguous_format))
        data: dict[str, Any] = {"is": "tensor", "of": len(self.tensors) - 1}
        if value.is_complex():
            data["complex"] = True
        if self.objects:
            data["id"] = self._remember(value)
            if not value.is_contiguous() and value.dim() and value.numel():
                data["stride"] = list(value.stride())
            if isinstance(value, nn.Parameter):
                data["parameter"] = value.requires_grad
        return data

    def _remember(self, value: Any) -> int:
        self._known[id(value)] = len(self._known), value  # Keep `value` alive, so that no other object gets its id.
        return len(self._known) - 1

    def _pack_object(self, value: Any) -> dict[str, Any]:
        if id(value) in self._known:
            return {"is": "again", "of": self._known[id(value)][0]}
        if isinstance(value, torch.Generator):
            return {"is": "generator", "of": self.pack(value.get_state()), "id": self._remember(value)}
        if isinstance(value, (set, frozenset)):
            return {"is": "set", "of": [self.pack(item) for item in value]}
        if isinstance(value, bytes):
            self.tensors.append(torch.tensor(bytearray(value), dtype=torch.uint8))
            return {"is": "bytes", "of": len(self.tensors) - 1}
        if isinstance(value, types.FunctionType):
            return {"is": "function", "of": qualified_name(value)}
        name = qualified_name(type(value))
        number = self._remember(value)
        return {"is": "object", "class": name, "id": number, "of": self.pack(dict(vars(value)))}


def qualified_name(thing: Any) -> str:
    """Return the name of a function or class of a trusted module, such as "torch.nn.modules.linear:Linear".

    Raises:
        TypeError: the module is not trusted.
    """
    name = f"{thing.__module__}:{thing.__qualname__}"
    if not name.startswith(TRUSTED_PREFIXES):
        raise TypeError(f"{name} cannot be sent to a runner. Use plain data or a class of utils.test_doubles.")
    return name


def _unsupported(tensor: Tensor) -> str:
    """Return a name for the kind of a tensor that messages cannot contain, or "" for any other tensor."""
    if tensor.is_nested:
        return "nested_tensor"
    if tensor.layout is not torch.strided:
        return "sparse_tensor"
    if tensor.dim() > FROM_RUNNER.axes:
        return f"tensor_with_{tensor.dim()}_axes"
    if math.prod(max(size, 1) for size in tensor.shape) > FROM_RUNNER.blob:
        return "huge_tensor" if tensor.is_meta else ""
    return "" if str(tensor.dtype).removeprefix("torch.") in _NAMES else "quantized_tensor"


def _safe_repr(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as error:
        text = f"<{type(error).__name__}>"
    return text[:SHOWN]


# --- from data ----------------------------------------------------------------------------------------


def parse_tensors(blob: bytes, bounds: Bounds) -> list[Tensor]:
    """Return the tensors of a message in order.

    The type, shape and length of every tensor are checked before any tensor is created.

    Raises:
        ProtocolError: the bytes are not valid, or exceed the bounds.
    """
    if not blob:
        return []
    start = 8 + int.from_bytes(blob[:8], "little")
    if start > min(len(blob), bounds.text):
        raise ProtocolError("tensors whose header exceeds the message or the limit")
    header = parse_json(blob[8:start], bounds)
    if not isinstance(header, dict) or set(header) != {str(i) for i in range(len(header))}:
        raise ProtocolError("tensors whose names are not 0, 1, 2 and so on")
    for entry in header.values():
        _validate_entry(entry, bounds)
    try:
        tensors = load(blob)
    except Exception as error:  # Usually a SafetensorError, but other parser errors must not stop the judge either.
        raise ProtocolError(f"tensors that are not valid safetensors ({type(error).__name__})") from None
    if any(t.dtype is torch.bool and t.numel() and t.view(torch.uint8).amax() > 1 for t in tensors.values()):
        raise ProtocolError("a bool tensor with a value other than 0 and 1")
    return [tensors[str(i)] for i in range(len(tensors))]


def _validate_entry(entry: Any, bounds: Bounds) -> None:
    """Check the dtype and the shape of a tensor, and check that its number of bytes matches them.

    Raises:
        ProtocolError: one of these checks fails.
    """
    if not isinstance(entry, dict) or not isinstance(entry.get("dtype"), str) or entry["dtype"] not in _TYPES:
        raise ProtocolError("a tensor of an unknown dtype")
    bytes_asked = math.prod(validate_shape(entry.get("shape"), bounds)) * _TYPES[entry["dtype"]].itemsize
    match entry.get("data_offsets"):
        case [int(first), int(last)] if last - first == bytes_asked:
            return
    raise ProtocolError("a tensor whose bytes do not fill its shape")


def validate_shape(shape: Any, bounds: Bounds) -> list[int]:
    """Return `shape` if it is valid for a tensor.

    Raises:
        ProtocolError: `shape` is not a list of sizes, or exceeds the bounds.
    """
    if not isinstance(shape, list) or len(shape) > bounds.axes:
        raise ProtocolError(
            f"a tensor with more than {bounds.axes} axes" if isinstance(shape, list) else "a shape that is not a list"
        )
    if not all(type(size) is int and 0 <= size <= bounds.blob for size in shape):
        raise ProtocolError("a size that is not a whole number, is negative or is too large")
    if math.prod(max(size, 1) for size in shape) > bounds.blob:
        raise ProtocolError("a tensor with too many elements")
    return shape


class Unpacker:
    """Builds values from the data that a runner sent. All data is checked.

    Args:
        tensors: the tensors of the same message, from `parse_tensors`.
    """

    def __init__(self, tensors: list[Tensor], bounds: Bounds) -> None:
        self.tensors, self.bounds = tensors, bounds

    def unpack(self, data: Any) -> Any:
        """Return the value that `data` describes.

        Raises:
            ProtocolError: the data describes no value.
        """
        if data is None or isinstance(data, (bool, int, float, str)):
            return data
        if isinstance(data, list):
            return [self.unpack(item) for item in data]
        kind = data.get("is") if isinstance(data, dict) else None
        make = self._makers().get(kind) if isinstance(kind, str) else None
        if make is None:
            raise ProtocolError("a value of no known kind")
        try:
            return make(data)
        except ProtocolError:
            raise
        except (LookupError, AttributeError, TypeError, ValueError, RuntimeError, OverflowError) as error:
            raise ProtocolError(f"an invalid value ({error})") from None

    def _makers(self) -> dict[str, Callable[[dict[str, Any]], Any]]:
        return {
            "float": lambda d: {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[d["of"]],
            "ellipsis": lambda d: ...,
            "dtype": lambda d: _NAMES[d["of"]],
            "device": lambda d: torch.device(_text(d["of"])),
            "tuple": lambda d: self._unpack_tuple(d),
            "dict": lambda d: self._unpack_dict(d),
            "record": lambda d: {name: self.unpack(value) for name, value in d["of"].items()},
            "tensor": lambda d: self._unpack_tensor(d),
            "elsewhere": lambda d: torch.empty(
                validate_shape(d["shape"], self.bounds), dtype=_NAMES[d["dtype"]], device="meta"
            ),
            "number": lambda d: _number_with_repr(_text(d["type"]), float(self.unpack(d["of"])), _text(d["shown"])),
            "foreign": lambda d: opaque_object(_text(d["type"]), _text(d["shown"])),
        }

    def _unpack_tensor(self, data: dict[str, Any]) -> Tensor:
        index = data["of"]
        if type(index) is not int or not 0 <= index < len(self.tensors):
            raise ProtocolError("a reference to a tensor that is not in the message")
        tensor = self.tensors[index]
        return torch.view_as_complex(tensor) if data.get("complex") is True else tensor

    def _unpack_tuple(self, data: dict[str, Any]) -> tuple:
        items = [self.unpack(item) for item in _list(data["of"])]
        name = data.get("type")
        if name is None:
            return tuple(items)
        if name != "Size":
            return type(_identifier(name), (tuple,), {})(items)
        # torch cannot print a `Size` with numbers of 2**62 or more.
        if not all(type(size) is int and abs(size) < 2**62 for size in items):
            raise ProtocolError("a torch.Size whose items are not whole numbers, or too large")
        return torch.Size(items)

    def _unpack_dict(self, data: dict[str, Any]) -> dict:
        pairs = [(self.unpack(k), self.unpack(v)) for k, v in (_list(pair) for pair in _list(data["of"]))]
        items = collections.OrderedDict(pairs) if data.get("type") == "OrderedDict" else dict(pairs)
        return collections.Counter(items) if data.get("type") == "Counter" else items


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ProtocolError("a value that should be a text")
    return value


def _list(value: Any) -> list:
    if not isinstance(value, list):
        raise ProtocolError("a value that should be a list")
    return value


def _identifier(name: Any) -> str:
    text = _text(name)
    return text if text.isidentifier() and len(text) <= 100 else "object"


class _Foreign:
    shown = ""

    def __repr__(self) -> str:
        return self.shown


def opaque_object(name: str, shown: str) -> Any:
    """Return an object with this type name and this repr; it equals only itself."""
    return type(_identifier(name), (_Foreign,), {"shown": shown})()


def _number_with_repr(name: str, value: float, shown: str) -> float:
    return type(_identifier(name), (float,), {"__repr__": lambda self: shown})(value)
