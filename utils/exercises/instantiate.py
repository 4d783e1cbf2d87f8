"""Prepare the run of a case: copy its arguments, build its module and set the module's parameters."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import inspect
import types
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from utils.exercises.exercise import Case
from utils.exercises.op_trace import collect_tensors
from utils.exercises.sampler import sample_parameter


def copy_value(value: Any) -> Any:
    """Deep-copy an argument of a case. A copied random generator has the same state."""
    if isinstance(value, torch.Generator):
        return torch.Generator(value.device).set_state(value.get_state())
    if isinstance(value, Tensor):
        return value.detach().clone()
    if isinstance(value, (tuple, list)):
        return type(value)(copy_value(v) for v in value)
    if isinstance(value, dict):
        return {k: copy_value(v) for k, v in value.items()}
    if isinstance(value, nn.Module):
        return _copy_module(value, {})
    return value


def _copy_module(value: Any, memo: dict[int, Any]) -> Any:
    """Copy a module several times faster than `copy.deepcopy`. A shortcut copies the module's many empty dicts."""
    kind = type(value)
    if kind in _CONSTANTS:
        return value
    if kind in _CONTAINERS and not value:
        return kind()
    if kind in _DICTS:
        return kind((key, _copy_module(item, memo)) for key, item in value.items())
    if id(value) in memo:
        return memo[id(value)]
    if kind is nn.Parameter and value.grad is None and not vars(value):
        clone = memo[id(value)] = nn.Parameter(value.data.clone(), value.requires_grad)
        return clone
    if isinstance(value, nn.Module) and not hasattr(value, "__deepcopy__"):
        clone = memo[id(value)] = object.__new__(kind)
        vars(clone).update({name: _copy_module(item, memo) for name, item in vars(value).items()})
        return clone
    return copy.deepcopy(value, memo)


_CONSTANTS = frozenset((types.NoneType, bool, int, float, str))
_DICTS = (dict, OrderedDict)
_CONTAINERS = (*_DICTS, set, list, tuple)


class ReusedArguments:
    """Copy the arguments of consecutive calls, and reuse copies where possible.

    If an argument differs from an earlier argument only in its numbers, load the new numbers into the earlier copy.
    A notebook does the same if it trains a model between two calls: it passes one object, with new numbers.
    """

    def __init__(self) -> None:
        self._copies: dict[Any, tuple[Any, Any]] = {}  # maps (position, structure) to (argument, its copy)

    def copy(self, position: int, argument: Any) -> Any:
        """Return a copy of the argument at this position."""
        if not isinstance(argument, (Tensor, nn.Module)):
            return copy_value(argument)
        key = position, *_structure(argument)
        earlier, reused = self._copies.get(key, (None, None))
        if reused is None:
            reused = copy_value(argument)
        elif earlier is not argument or isinstance(argument, Tensor):
            _load_numbers(reused, argument)
        self._copies[key] = argument, reused
        return reused


def _structure(value: Tensor | nn.Module) -> tuple[Any, ...]:
    """Return a hashable key that describes a tensor or module, but not its numbers."""
    if isinstance(value, Tensor):
        return type(value), value.dtype, value.shape, value.stride()
    attributes = (
        (name, _attribute_key(attribute))
        for module in value.modules()
        for name, attribute in vars(module).items()
        if name not in ("training", "_parameters", "_buffers", "_modules")
    )
    return (*map(type, value.modules()), *map(_structure, numbers_of(value)), *attributes)


def _attribute_key(attribute: Any) -> Any:
    if type(attribute) in _CONSTANTS or dataclasses.is_dataclass(attribute):
        return repr(attribute)
    return type(attribute) if type(attribute) in _CONTAINERS and not attribute else id(attribute)


def numbers_of(module: nn.Module) -> tuple[Tensor, ...]:
    """Return a module's parameters and buffers."""
    return (*module.parameters(), *module.buffers())


def _load_numbers(target: Any, source: Any) -> None:
    """Copy the numbers and the training mode of `source` to `target`, which has the same structure."""
    with torch.no_grad():
        if isinstance(target, Tensor):
            target.copy_(source)
            return
        for old, new in zip(numbers_of(target), numbers_of(source)):
            old.copy_(new)
    for old, new in zip(target.modules(), source.modules()):
        old.training = new.training


def shares_numbers(result: Any, arguments: Sequence[Any]) -> bool:
    """Tell whether a result shares memory with an argument, or with the parameters or buffers of an argument."""
    numbers = [numbers_of(a) if isinstance(a, nn.Module) else a for a in arguments]
    places = [{t.untyped_storage().data_ptr() for t in collect_tensors(v) if not t.is_meta} for v in (result, numbers)]
    return bool(places[0] & places[1])


def overwrite(value: Any) -> None:
    """Overwrite a value, as a caller may do.

    Set its tensors to 0, and clear it if it is a dict or list. Skip tensors that autograd protects.
    """
    tensors = collect_tensors(value)
    if isinstance(value, (dict, list)):
        value.clear()
    for tensor in tensors:
        if not tensor.is_meta:
            with torch.no_grad(), contextlib.suppress(RuntimeError):
                tensor.zero_()


class Params(dict[str, Tensor]):
    """A module's parameters by name.

    Attributes:
        training: whether the module is in training mode.
        init_args: the arguments of the constructor, by name.
    """

    training = False
    init_args: Mapping[str, Any] = types.MappingProxyType({})


def make_module_class(initial: Callable[..., Mapping[str, Tensor]], forward: Callable[..., Any]) -> type[nn.Module]:
    """Create a module class from a function of `(params, *args)`, such as an oracle or a misconception.

    Args:
        initial: a function of the constructor's arguments that returns `{parameter name: initial value}`.
        forward: a function of `(params, *args)`.
    """

    class Made(nn.Module):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__()
            built = inspect.signature(initial).bind(*args, **kwargs)
            built.apply_defaults()
            self._built_with = built.arguments
            for name, value in initial(*args, **kwargs).items():
                _register_parameter(self, name, nn.Parameter(value.clone()))

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            params = Params(self.named_parameters())
            params.training, params.init_args = self.training, self._built_with
            return forward(params, *args, **kwargs)

    return Made


def _register_parameter(module: nn.Module, name: str, parameter: nn.Parameter) -> None:
    """Register a parameter under a dotted name, such as `W_query.weight`. Missing submodules are created."""
    *path, last = name.split(".")
    for part in path:
        if part not in module._modules:
            module.add_module(part, nn.Module())
        module = module.get_submodule(part)
    module.register_parameter(last, parameter)


def build_module(answer: Callable[..., nn.Module], case: Case) -> nn.Module:
    """Build the module of a case and set its mode. If `case.fill` is true, replace the initial parameters.

    If an input is float64, the parameters and buffers are float64 too.
    """
    init = copy_value(case.init)  # an answer may change its arguments
    module = answer(**init) if isinstance(init, dict) else answer(*init)
    if case.fill:
        fill_parameters(module, case.seed)
    if any(isinstance(a, Tensor) and a.dtype == torch.float64 for a in case.args):
        module.double()
    return module.train(case.train)


def fill_parameters(module: nn.Module, seed: int) -> None:
    """Fill every parameter with values of order one, sampled with `seed`."""
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            parameter.copy_(sample_parameter(name, parameter.shape, seed))
