"""Another device, on every machine: tensors that say they are elsewhere, and compute here.

A `_Away` tensor wraps one of the CPU. It reports the meta device, which no machine computes on; each operation on it is
done with the wrapped tensor, so that numbers and shapes are the true ones. An operation that is given tensors of both
devices stops, as on a GPU.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from utils.feedback.op_trace import collect_tensors

FAKE_DEVICE = torch.device("meta")
CROSS_DEVICE_OPS = ("copy", "index")  # in the names of operations that may take tensors of two devices


class DeviceMismatch(Exception):
    """An operation was given tensors of two devices."""


class _FakeDeviceTensor(Tensor):
    """A tensor of the other device; `here` is the tensor that it stands for."""

    cpu_tensor: Tensor
    # As torch documents it, for a subclass that only dispatches.
    __torch_function__ = torch._C._disabled_torch_function_impl  # pyright: ignore[reportAssignmentType]

    @staticmethod
    def __new__(cls, here: Tensor) -> _FakeDeviceTensor:
        made = Tensor._make_wrapper_subclass(
            cls,
            here.size(),
            strides=here.stride(),
            storage_offset=here.storage_offset(),
            dtype=here.dtype,
            device=FAKE_DEVICE,
            requires_grad=here.requires_grad,
        )
        made.cpu_tensor = here
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        return _compute(func, args, kwargs or {})

    def new_tensor(self, data: Any, **options: Any) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        """From data, which torch would put on a real meta device."""
        return _FakeDeviceTensor(self.cpu_tensor.new_tensor(data, **options))


@contextlib.contextmanager
def emulate_device() -> Iterator[None]:
    """While it is entered, `.to(AWAY)` and `device=AWAY` lead to the other device."""
    with _FakeDeviceMode(), _TensorCreationMode():
        yield


class _TensorCreationMode(TorchFunctionMode):
    """`torch.tensor(numbers, device=AWAY)`: torch makes these out of sight of the other mode."""

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        asked = kwargs.get("device")
        if (
            func in (torch.tensor, torch.as_tensor, torch.asarray)
            and asked is not None
            and torch.device(asked) == FAKE_DEVICE
        ):
            return func(*args, **{**kwargs, "device": "cpu"}).to(FAKE_DEVICE)
        return func(*args, **kwargs)


class _FakeDeviceMode(TorchDispatchMode):
    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else torch imports its compiler, 800 modules, for a mode that it is never to compile

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        return _compute(func, args, kwargs or {})


def _compute(func: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    """Do one operation here, with its result where a real device would have put it."""
    given = collect_tensors([*args, *kwargs.values()])
    away = [t for t in given if isinstance(t, _FakeDeviceTensor)]
    local = [t for t in given if not isinstance(t, _FakeDeviceTensor) and t.dim()]  # single numbers may be anywhere
    if away and local and not any(word in func.__name__ for word in CROSS_DEVICE_OPS):
        raise DeviceMismatch(func.__name__)
    asked = kwargs.get("device")
    leaves = bool(away) if asked is None else torch.device(asked) == FAKE_DEVICE
    if asked is not None:
        kwargs = {**kwargs, "device": torch.device("cpu")}
    if away:
        args, kwargs = _unwrap(args), _unwrap(kwargs)
    result = func(*args, **kwargs)
    if not leaves:
        return result
    known = {id(t.cpu_tensor): t for t in away}  # what an operation in place gives back

    def placed(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        return known[id(value)] if id(value) in known else _FakeDeviceTensor(value)

    return placed(result) if isinstance(result, Tensor) else tree_map(placed, result)


def _unwrap(value: Any) -> Any:
    """Arguments of an operation with the tensors that stand behind those of the other device."""
    if isinstance(value, _FakeDeviceTensor):
        return value.cpu_tensor
    if isinstance(value, (tuple, list)):
        return [*map(_unwrap, value)]
    return {key: _unwrap(item) for key, item in value.items()} if isinstance(value, dict) else value
