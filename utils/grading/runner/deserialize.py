"""Rebuild the cases that the judge sent to the runner. Classes, such as test doubles, are imported by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from utils.grading.runner.codec import TRUSTED_PREFIXES, Unpacker
from utils.grading.runner.framing import Bounds, ProtocolError


class TrustedUnpacker(Unpacker):
    """Builds the values that the judge sent, including objects of the trusted classes."""

    def __init__(self, tensors: list[Tensor], bounds: Bounds) -> None:
        super().__init__(tensors, bounds)
        self._known: dict[int, Any] = {}

    def _makers(self) -> dict[str, Callable[[dict[str, Any]], Any]]:
        return super()._makers() | {
            "again": lambda d: self._known[d["of"]],
            "generator": lambda d: self._remember(d, torch.Generator().set_state(self.unpack(d["of"]))),
            "set": lambda d: {self.unpack(item) for item in d["of"]},
            "bytes": lambda d: self.tensors[d["of"]].numpy().tobytes(),
            "function": lambda d: resolve_name(d["of"]),
            "object": self._object,
        }

    def _remember(self, data: dict[str, Any], value: Any) -> Any:
        self._known[data["id"]] = value
        return value

    def _unpack_tensor(self, data: dict[str, Any]) -> Tensor:
        tensor = super()._unpack_tensor(data)
        if "stride" in data:
            tensor = torch.empty_strided(tensor.shape, data["stride"], dtype=tensor.dtype).copy_(tensor)
        if "parameter" in data:
            tensor = nn.Parameter(tensor, requires_grad=data["parameter"])
        return self._remember(data, tensor)

    def _unpack_tuple(self, data: dict[str, Any]) -> tuple:
        return super()._unpack_tuple(
            {"of": data["of"], "type": data.get("type") if data.get("type") == "Size" else None}
        )

    def _object(self, data: dict[str, Any]) -> Any:
        cls = resolve_name(data["class"])
        instance = self._remember(data, cls.__new__(cls))
        vars(instance).update(self.unpack(data["of"]))
        return instance


def resolve_name(name: str) -> Any:
    """Return the function or class with this name. The name has the format of `codec.qualified_name`.

    Raises:
        ProtocolError: the module is not trusted.
    """
    module, _, path = name.partition(":")
    if not name.startswith(TRUSTED_PREFIXES):
        raise ProtocolError(f"{name} is not in a trusted module")
    return getattr(importlib.import_module(module), path)
