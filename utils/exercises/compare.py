"""Compare results and observations. This module only calculates; it writes no messages."""

from __future__ import annotations

from typing import Any, Literal, TypeGuard

import torch
from torch import Tensor

from utils.exercises.observe import Failure, Observation

# How strictly dtypes are compared. "wider" also accepts a more precise dtype, such as float64 instead of float32.
Dtypes = Literal["same", "wider", "any"]


def difference_mask(yours: Tensor, expected: Tensor, atol: float) -> Tensor:
    """Return a bool tensor that marks where two tensors of the same shape differ.

    Two numbers differ if they are more than `atol` · (1 + |expected number|) apart. Integers and bools must be equal:
    a large token id is not close to the next id.
    """
    yours, expected = yours.detach().cpu(), expected.detach().cpu()
    if not yours.is_floating_point() and not expected.is_floating_point():
        return yours != expected
    yours, expected = yours.to(torch.float64), expected.to(torch.float64)
    return ~torch.isclose(yours, expected, rtol=atol, atol=atol, equal_nan=True)


def is_number(value: Any) -> TypeGuard[int | float]:
    """Tell whether a value is an int or a float. A bool does not count as an int."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_compatible_dtype(yours: torch.dtype, expected: torch.dtype, dtypes: Dtypes) -> bool:
    """Tell whether the dtype `yours` is accepted instead of `expected`."""
    if dtypes == "any" or yours == expected:
        return True
    floats = yours.is_floating_point and expected.is_floating_point
    return dtypes == "wider" and floats and torch.promote_types(yours, expected) == yours


def values_equal(a: Any, b: Any, atol: float, dtypes: Dtypes = "same") -> bool:
    """Tell whether `a` has the same structure as the expected result `b`, and the same numbers within `atol`."""
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        if (
            a.shape != b.shape
            or not is_compatible_dtype(a.dtype, b.dtype, dtypes)
            or (dtypes != "any" and a.device != b.device)
        ):
            return False
        if a.is_meta or b.is_meta:  # no numbers to compare
            return False
        if a.device == b.device and a.dtype == b.dtype and torch.equal(a, b):  # ten times faster than difference_mask
            return True
        return not difference_mask(a, b, atol).any()
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(values_equal(x, y, atol, dtypes) for x, y in zip(a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(values_equal(a[k], b[k], atol, dtypes) for k in b)
    if is_number(a) and is_number(b) and not (isinstance(a, int) and isinstance(b, int)):
        return not difference_mask(torch.tensor(float(a)), torch.tensor(float(b)), atol).any()
    return type(a) is type(b) and bool(a == b)


def observations_agree(
    a: Observation, b: Observation, atol: float, dtypes: Dtypes = "same", gradients: bool = True
) -> bool:
    """Tell whether two observations of a case agree in values, exceptions, side effects, parameters and gradients."""
    if a.failure is None or b.failure is None:
        if a.failure is not b.failure:
            return False
    else:
        return failures_match(a.failure, b.failure)
    if a.parameters != b.parameters or _changed_arguments(a) != _changed_arguments(b):
        return False
    return (not gradients or _gradients_match(a, b)) and values_equal(a.value, b.value, atol, dtypes)


def _changed_arguments(observation: Observation) -> set[str]:
    return {path.partition(".")[0] for path in observation.changed}


def unexpected_changes(yours: Observation, expected: Observation) -> list[str]:
    """Return the parts of its arguments that the answer changed. Leave out the parts that the oracle changes too."""
    return [path for path in yours.changed if path not in expected.changed]


def _gradients_match(a: Observation, b: Observation) -> bool:
    """Tell whether gradients reach the same inputs and parameters in both observations.

    Inputs and parameters that do not influence the result of `b` are ignored.
    """
    if bool(a.backward) != bool(b.backward) or not set(a.broken) <= set(b.broken):
        return False
    return set(a.detached) ^ set(b.detached) <= set(b.level)


def failures_match(yours: Failure, expected: Failure) -> bool:
    """Tell whether an exception has the expected type or a subclass of it."""
    return expected.type in (yours.type, *yours.bases)
