"""Find the side effects of a call: changes to arguments, to variables outside the call, and to torch's settings."""

from __future__ import annotations

import contextlib
import inspect
import types
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from utils.exercises.instantiate import copy_value
from utils.exercises.op_trace import collect_tensors


def global_settings() -> dict[str, Any]:
    """Return torch's global settings that an answer could change. The keys are the calls that read them."""
    return {
        "torch.is_grad_enabled()": torch.is_grad_enabled(),
        "torch.get_default_dtype()": torch.get_default_dtype(),
        "torch.is_inference_mode_enabled()": torch.is_inference_mode_enabled(),
    }


def values_identical(before: Any, after: Any) -> bool:
    """Tell whether two values of a case have the same content.

    Objects without `==` are compared by identity. Random generators count as equal.
    """
    if isinstance(before, Tensor):
        if not isinstance(after, Tensor) or before.shape != after.shape:
            return False
        return torch.equal(before, after) or torch.equal(before.nan_to_num(), after.detach().nan_to_num())
    if isinstance(before, (tuple, list)):
        return (
            isinstance(after, (tuple, list)) and len(before) == len(after) and all(map(values_identical, before, after))
        )
    if isinstance(before, dict):
        return (
            isinstance(after, dict)
            and before.keys() == after.keys()
            and all(values_identical(before[k], after[k]) for k in before)
        )
    if isinstance(before, nn.Module):
        return not changed_paths("", before, after)
    return isinstance(before, torch.Generator) or before is after or before == after


def changed_paths(name: str, before: Any, after: Any) -> list[str]:
    """Return the changed parts of the argument `name`: the name itself or, for a module, paths such as "model.mask".

    For modules, compare the parameters (numbers, requires_grad, and whether each has a gradient), the buffers, the
    training mode and the number of hooks. Compare attributes with plain data by value, and other attributes by type.
    """
    if not (isinstance(before, nn.Module) and isinstance(after, nn.Module)):
        return [] if values_identical(before, after) else [name]
    parts, other_parts = dict(before.named_modules()), dict(after.named_modules())
    paths = list(parts.keys() ^ other_parts.keys())
    for key in parts.keys() & other_parts.keys():
        contents, other_contents = _module_contents(parts[key]), _module_contents(other_parts[key])
        names = contents.keys() | other_contents.keys()
        changed = [n for n in names if not values_identical(contents.get(n), other_contents.get(n))]
        paths += [f"{key}.{n}" if key else n for n in changed]
    return sorted(f"{name}.{path}" for path in paths)


def _module_contents(module: nn.Module) -> dict[str, Any]:
    """Return a module's parameters, buffers, attributes and number of hooks, without those of its submodules."""
    own = vars(module).keys() - _MODULE_ATTRIBUTES
    attributes = {n: vars(module)[n] for n in own if not n.startswith("_")}
    contents = {n: v if is_plain_data(v) else type(v).__name__ for n, v in attributes.items()}
    contents["training"] = module.training
    contents |= {n: (p.data, p.requires_grad, p.grad is None) for n, p in module._parameters.items() if p is not None}
    contents |= dict(module._buffers)
    hooks = len(module._forward_hooks) + len(module._forward_pre_hooks) + len(module._backward_hooks)
    return contents | {"hooks": hooks}


_MODULE_ATTRIBUTES = vars(nn.Module()).keys()


def outer_variables(answer: Any) -> dict[str, Any]:
    """Return copies of the `lasting_values` of an answer."""
    return {name: copy_value(value) for name, value in lasting_values(answer).items()}


def lasting_values(answer: Any) -> dict[str, Any]:
    """Return the plain-data variables that an answer can use and that still exist after a call.

    A class can use its class attributes, and all variables that its methods can use. A function can use the notebook's
    variables, the variables of an enclosing function, and the default values of its arguments.
    """
    if inspect.isclass(answer):
        own = {f"{answer.__name__}.{n}": v for n, v in vars(answer).items() if not n.startswith("__")}
        functions = [f for f in vars(answer).values() if isinstance(f, types.FunctionType)]
        variables = {n: v for function in functions for n, v in lasting_values(function).items()}
        return variables | {name: value for name, value in own.items() if is_plain_data(value)}
    cached = {"functools.lru_cache": tuple(answer.cache_info())} if hasattr(answer, "cache_info") else {}
    answer = inspect.unwrap(answer) if callable(answer) else answer
    if not isinstance(answer, types.FunctionType):
        return cached
    outer = inspect.getclosurevars(answer)
    defaults = {n: p.default for n, p in inspect.signature(answer).parameters.items() if p.default is not p.empty}
    variables = {**outer.globals, **outer.nonlocals, **defaults, **cached}
    return {name: value for name, value in variables.items() if is_plain_data(value)}


@contextlib.contextmanager
def emptied_variables(answer: Any) -> Iterator[bool]:
    """Clear the dicts and lists of tensors that an answer keeps between calls, and restore them after the block.

    Yields True if the answer keeps at least one dict or list of tensors. An answer that still works inside the block
    uses these dicts and lists only as a cache.
    """
    caches = [v for v in lasting_values(answer).values() if isinstance(v, (dict, list)) and collect_tensors(v)]
    contents = [cache.copy() for cache in caches]
    for cache in caches:
        cache.clear()
    try:
        yield bool(caches)
    finally:
        for cache, content in zip(caches, contents):
            cache.clear()
            cache.update(content) if isinstance(cache, dict) else cache.extend(content)


def is_plain_data(value: Any, depth: int = 4) -> bool:
    """Tell whether a value is plain data, with at most `depth` levels of nested containers."""
    if isinstance(value, (list, tuple, dict)):
        items = value.values() if isinstance(value, dict) else value
        return depth > 0 and all(is_plain_data(item, depth - 1) for item in items)
    return value is None or isinstance(value, (Tensor, bool, int, float, str))
