"""Record an answer's torch calls with their results, line by line."""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from utils.exercises.op_trace import collect_tensors

MAX_CALLS = 400  # the maximum number of recorded calls
MAX_NUMBERS = 20_000  # a larger result is recorded without its numbers


@dataclass(frozen=True)
class TracedCall:
    """One call into torch.

    Attributes:
        name: the name of the torch function, without underscores: "matmul", "truediv", "softmax".
        line: the number of the learner's line that led to the call.
        code: the text of this line.
        value: the result if it is a tensor of numbers or bools, otherwise None.
        inputs: the indices of the earlier calls whose results are arguments of this call.
        has_other_inputs: whether another tensor is an argument: an argument of the answer, a parameter or a constant.
        numbers: the arguments that are plain numbers, such as the 2 in `x * 2`.
        is_direct: True if the learner's line makes the call itself; False if a layer or function that this line calls
            makes it.
        place: a number that identifies the code positions from the learner's line to the torch function. Calls with
            the same number are iterations of a loop.
        function: if the call is not direct, the layer or function that the line calls, such as "self.ln_f"; "" if it
            has no name.
    """

    name: str
    line: int
    code: str
    value: Tensor | None
    inputs: list[int] = field(default_factory=list)
    has_other_inputs: bool = False
    numbers: list[float] = field(default_factory=list)
    is_direct: bool = True
    place: int = 0
    function: str = ""


class CallRecorder(TorchFunctionMode):
    """A torch mode that records the torch calls of the learner's code. Each recorded call returns or changes a tensor.

    A call inside a layer is attributed to the line that calls the layer.

    Args:
        files: the names of the files that contain the learner's own code; None records the calls of all code.
        values: maps the index of a call to a tensor that replaces the numbers in the call's result.
    """

    def __init__(self, files: set[str] | None, values: Mapping[int, Tensor] | None = None) -> None:
        super().__init__()
        self.files, self.values = files, values or {}
        self.calls: list[TracedCall] = []
        self._results: list[Tensor] = []  # keeps the results alive, so that their ids stay unique
        self._places: dict[tuple, int] = {}  # maps code positions to the number that identifies them
        self._origin: dict[int, int] = {}  # maps a tensor's id to the index of the call that returned it

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "").strip("_")
        if name == "get" and isinstance(result, Tensor) and id(args[0]) in self._origin:  # an attribute, such as x.mT
            self._origin[id(result)] = self._origin[id(args[0])]
            self._results.append(result)
        if len(self.calls) < MAX_CALLS and name not in _NOT_COMPUTED:
            first = len(self.calls)
            if first in self.values:
                result = self._replace(self.values[first], result, args)
            self._record(name, collect_tensors((args, kwargs or {})), args, result)
        return result

    def index_of(self, tensor: Tensor) -> int | None:
        """Return the index of the call that returned `tensor`, or None if no recorded call did."""
        return self._origin.get(id(tensor))

    def _replace(self, value: Tensor, result: Any, args: tuple) -> Any:
        """Return a call's result, but with the numbers of `value`.

        If the call works in place, overwrite the argument that it changed. Leave a result of several tensors unchanged.
        """
        target = args[0] if result is None else result
        if not isinstance(target, Tensor):
            return result
        with torch.no_grad():
            if any(target is argument for argument in args):
                target.copy_(value.reshape(target.shape))
                return result
            return value.reshape(target.shape).to(target.dtype).clone()

    def _record(self, name: str, tensors: list[Tensor], args: tuple, result: Any) -> None:
        frames = self._frames()
        if not frames:
            return
        own = frames[-1]
        line, code = own.f_lineno, linecache.getline(own.f_code.co_filename, own.f_lineno).strip()
        is_direct = all(map(_is_transparent, frames[:-1]))
        function = "" if is_direct else _function_name(own, frames[-2])
        position = tuple((id(frame.f_code), frame.f_lasti) for frame in frames)
        place = self._places.setdefault(position, len(self._places))
        changed = args[0] if name in _WRITES and args and isinstance(args[0], Tensor) else None
        inputs = sorted({self._origin[id(t)] for t in tensors if id(t) in self._origin})
        others = any(id(t) not in self._origin for t in tensors)
        numbers = [float(a) for a in args if type(a) in (int, float)]
        for value in collect_tensors(result) if changed is None else [changed]:
            shown = value.detach().clone() if value.numel() <= MAX_NUMBERS and not value.is_meta else None
            self._origin[id(value)] = len(self.calls)
            self._results.append(value)
            self.calls.append(TracedCall(name, line, code, shown, inputs, others, numbers, is_direct, place, function))

    def _frames(self) -> list[FrameType]:
        """Return the stack frames from the torch call back to the learner's line.

        If no line of the learner is running, return [].
        """
        frame, frames = sys._getframe(3), []
        while frame is not None:
            frames.append(frame)
            if self.files is None or frame.f_code.co_filename in self.files:
                return frames
            frame = frame.f_back
        return []


def _is_transparent(frame: FrameType) -> bool:
    """Tell whether a frame belongs to torch but does not call a layer."""
    return f"{os.sep}torch{os.sep}" in frame.f_code.co_filename and frame.f_code.co_name != "_call_impl"


def _function_name(own: FrameType, called: FrameType) -> str:
    """Return the name by which the code of one frame calls the layer or function of the next frame; "" if unknown."""
    layer = called.f_locals.get("self") if called.f_code.co_name.endswith("call_impl") else None
    if layer is None:
        return called.f_code.co_name if called.f_code.co_name.isidentifier() else ""
    names = {name: value for name, value in own.f_locals.items() if isinstance(value, nn.Module)}
    names |= {f"{owner}.{part}": child for owner, value in names.items() for part, child in value.named_children()}
    return next((name for name, value in names.items() if value is layer), "")


_WRITES = {"setitem"}  # calls that return nothing and change their first argument
# Calls that only query a property of a tensor.
_NOT_COMPUTED = {"get", "size", "dim", "numel", "is_floating_point", "len", "stride", "is_contiguous", "set", "item",
                 "tolist", "requires_grad"}  # fmt: skip
