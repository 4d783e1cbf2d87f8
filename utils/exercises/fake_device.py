"""Emulate a second device, so that checks need no GPU. Its tensors report the device; operations run on the CPU.

A `_FakeDeviceTensor` wraps a CPU tensor. It reports the meta device, and each operation runs on the wrapped tensor, so
numbers and shapes are correct. An operation that mixes both devices raises an error, as on a GPU.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

from utils.exercises.op_trace import collect_tensors

FAKE_DEVICE = torch.device("meta")
CROSS_DEVICE_OPS = ("copy", "index")  # operations with these words in their names accept tensors on different devices


@dataclass(frozen=True)
class DeviceMoveResult:
    """The result of a run on an emulated device."""

    unmoved_tensor: str | None = None  # the name of a tensor that did not move with its module
    has_device_mix: bool = False  # whether an operation mixed tensors of two devices
    keeps_tensors: bool = False  # whether devices are mixed because the answer keeps tensors between calls
    works: bool = False  # whether the call on the emulated device returned a result


class DeviceMismatch(Exception):
    """An operation got tensors on two different devices."""


class _FakeDeviceTensor(Tensor):
    """A tensor on the emulated device; `cpu_tensor` is the wrapped tensor."""

    cpu_tensor: Tensor
    # torch's documentation recommends this line for subclasses that implement only __torch_dispatch__.
    __torch_function__ = torch._C._disabled_torch_function_impl  # pyright: ignore[reportAssignmentType]

    @staticmethod
    def __new__(cls, cpu_tensor: Tensor) -> _FakeDeviceTensor:
        wrapper = Tensor._make_wrapper_subclass(
            cls,
            cpu_tensor.size(),
            strides=cpu_tensor.stride(),
            storage_offset=cpu_tensor.storage_offset(),
            dtype=cpu_tensor.dtype,
            device=FAKE_DEVICE,
            requires_grad=cpu_tensor.requires_grad,
        )
        wrapper.cpu_tensor = cpu_tensor
        return wrapper

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        return _compute(func, args, kwargs or {})

    def new_tensor(self, data: Any, **options: Any) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Create a tensor on the emulated device. torch's own method would use the real meta device."""
        return _FakeDeviceTensor(self.cpu_tensor.new_tensor(data, **options))


@contextlib.contextmanager
def emulate_device() -> Iterator[None]:
    """Emulate a device: inside the context, `.to(FAKE_DEVICE)` and `device=FAKE_DEVICE` use the emulated device."""
    with _FakeDeviceMode(), _TensorCreationMode():
        yield


class _TensorCreationMode(TorchFunctionMode):
    """Redirects `torch.tensor(numbers, device=FAKE_DEVICE)`, which torch does not pass to `_FakeDeviceMode`."""

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        kwargs = kwargs or {}
        device = kwargs.get("device")
        if (
            func in (torch.tensor, torch.as_tensor, torch.asarray)
            and device is not None
            and torch.device(device) == FAKE_DEVICE
        ):
            return func(*args, **{**kwargs, "device": "cpu"}).to(FAKE_DEVICE)
        return func(*args, **kwargs)


class _FakeDeviceMode(TorchDispatchMode):
    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # otherwise torch imports the 800 modules of its compiler, although it never compiles this mode

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        return _compute(func, args, kwargs or {})


def _compute(func: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
    """Run one operation on the CPU, and put its result on the device that a real operation would use.

    Raises:
        DeviceMismatch: the operation mixes tensors of the fake device and the CPU.
    """
    inputs = collect_tensors([*args, *kwargs.values()])
    emulated = [t for t in inputs if isinstance(t, _FakeDeviceTensor)]
    # In torch, a tensor without axes works with tensors on any device. So only CPU tensors with axes count here.
    local = [t for t in inputs if not isinstance(t, _FakeDeviceTensor) and t.dim()]
    if emulated and local and not any(word in func.__name__ for word in CROSS_DEVICE_OPS):
        raise DeviceMismatch(func.__name__)
    device = kwargs.get("device")
    to_fake_device = bool(emulated) if device is None else torch.device(device) == FAKE_DEVICE
    if device is not None:
        kwargs = {**kwargs, "device": torch.device("cpu")}
    if emulated:
        args, kwargs = _unwrap(args), _unwrap(kwargs)
    result = func(*args, **kwargs)
    if not to_fake_device:
        return result
    wrappers = {id(t.cpu_tensor): t for t in emulated}  # for in-place operations: they return one of their inputs

    def wrap(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        return wrappers[id(value)] if id(value) in wrappers else _FakeDeviceTensor(value)

    return wrap(result) if isinstance(result, Tensor) else tree_map(wrap, result)


def _unwrap(value: Any) -> Any:
    """In an operation's arguments, replace each emulated tensor with the CPU tensor that it wraps."""
    if isinstance(value, _FakeDeviceTensor):
        return value.cpu_tensor
    if isinstance(value, (tuple, list)):
        return [*map(_unwrap, value)]
    return {key: _unwrap(item) for key, item in value.items()} if isinstance(value, dict) else value


def find_unmoved_tensor(module: nn.Module) -> str | None:
    """Find a tensor that did not move with its module. Return the name of its attribute; None if all moved."""
    for part in module.modules():
        for name, value in vars(part).items():
            if name not in ("_parameters", "_buffers") and any(t.device != FAKE_DEVICE for t in collect_tensors(value)):
                return name
    return None


def call_on_fake_device(call: Callable[..., Any], args: tuple, kwargs: Mapping[str, Any]) -> DeviceMoveResult:
    """Move the arguments to the emulated device, and call a function or module with them."""
    args, kwargs = tree_map(_move_to_fake_device, (args, dict(kwargs)))
    call(*args, **kwargs)
    return DeviceMoveResult(works=True)


def _move_to_fake_device(value: Any) -> Any:
    return value.to(FAKE_DEVICE) if isinstance(value, Tensor) else value
