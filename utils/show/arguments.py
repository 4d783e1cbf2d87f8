"""Convert the arguments of figures to arrays and names. Raise a ValueError for arguments that cannot be drawn."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from utils.show.text_format import escape_invisible, number_text


def as_lists(value: Any) -> Any:
    """Convert every tensor and array in `value` to nested lists, and return the result."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (list, tuple, range)):
        return [as_lists(item) for item in value]
    return value


def shape_text(array: np.ndarray) -> str:
    """Return the shape of an array as text, such as "[3, 4]"."""
    return str(list(array.shape))


def require_filled(value: Any, name: str) -> None:
    """Check that the learner has computed `value`. `name` is the name of the value in the error message.

    Raises:
        ValueError: the value is still `...`, so the exercise that computes it is not done.
    """
    if value is ...:
        # The exception hook of the notebook recognises an unfinished value by the word Ellipsis.
        raise ValueError(f"{name} is still `...` (Ellipsis): fill in the exercise that computes it, then draw it.")


def parse_array(value: Any, name: str, dims: Sequence[int], expected: str) -> np.ndarray:
    """Return `value` as an array of numbers or bools.

    Args:
        name: the name of the argument, for the error message.
        dims: the allowed numbers of dimensions.
        expected: a description of the expected shape, for the error message.

    Raises:
        ValueError: if `value` is unfinished, ragged, empty or not numeric, or its number of dimensions is not in
            `dims`.
    """
    require_filled(value, name)
    plain = as_lists(value)
    try:
        array = np.asarray(plain)
    except ValueError:
        raise ValueError(f"{name} has rows of different lengths; expected {expected}.") from None
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} holds something other than numbers ({type(value).__name__}); expected {expected}.")
    if array.ndim not in dims:
        cure = f" Draw one at a time, for example {name}[0]." if array.ndim > max(dims) else ""
        raise ValueError(f"{name} has the shape {shape_text(array)}; expected {expected}.{cure}")
    if array.size == 0:
        raise ValueError(f"{name} is empty (shape {shape_text(array)}); expected {expected}.")
    return array


def parse_numbers(value: Any, name: str, dims: Sequence[int], expected: str, allow_neg_inf: bool = False) -> np.ndarray:
    """Return `value` as a float64 array; see `parse_array`.

    Raises:
        ValueError: as in `parse_array`, or `value` contains nan or infinity. `allow_neg_inf` allows -inf.
    """
    array = parse_array(value, name, dims, expected).astype(np.float64)
    infinite = array == np.inf if allow_neg_inf else np.isinf(array)
    for bad, problem in (
        (np.isnan(array), "is nan, which cannot be drawn; look for the step that produced it"),
        (infinite, f"is infinite; expected finite numbers{' or -inf' if allow_neg_inf else ''}"),
    ):
        if bad.any():
            raise ValueError(f"{name}[{', '.join(map(str, np.argwhere(bad)[0]))}] {problem}.")
    return array


def require_unit_interval(shares: np.ndarray, name: str, remedy: str, tolerance: float = 1e-6) -> None:
    """Check that all numbers are between 0 and 1.

    Args:
        remedy: a sentence for the error message that says what to do.
        tolerance: how far a number may be above 1 because of rounding.

    Raises:
        ValueError: if a number is outside 0…1.
    """
    wrong = shares.min() if shares.min() < 0 else shares.max()
    if wrong < -1e-6 or wrong > 1 + tolerance:
        looks_right = 0 <= round(float(wrong), 2) <= 1  # such as 1.004, which `number_text` writes as 1.00
        found = f"{wrong:.6g}".replace("-", "−") if looks_right else number_text(wrong)
        raise ValueError(f"{name} must be between 0 and 1; found {found}. {remedy}".rstrip())


def parse_integer(value: Any, name: str, minimum: int, maximum: int | None = None, what: str = "a whole number") -> int:
    """Check that `value` is a whole number from `minimum` to `maximum`, and return it as an int.

    Raises:
        ValueError: the value is not a whole number in this range.
    """
    highest = math.inf if maximum is None else maximum
    if not isinstance(value, bool):
        with suppress(TypeError):
            value = operator.index(value)  # also accepts the result of argmax from numpy or torch
    if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= highest:
        bounds = f"of at least {minimum}" if maximum is None else f"from {minimum} to {maximum}"
        raise ValueError(f"{name} must be {what} {bounds}; got {value!r}.")
    return value


def parse_names(given: Any, count: int | None, name: str, what: str = "") -> list[str]:
    """Return `given` as a list of `count` names, or of any number of names if `count` is None.

    Args:
        name: the name of the argument, for the error message.
        what: what the names belong to, such as "bars", for the error message; not used if `count` is None.

    Raises:
        ValueError: `given` is not a list, or it does not contain `count` items.
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        each = f", one for each of {count} {what}" if count is not None else ""
        raise ValueError(f"{name} must be a list of strings{each}; got {given!r}.")
    names = [escape_invisible(str(item.item() if hasattr(item, "item") else item)) for item in given]
    if count is not None and len(names) != count:
        raise ValueError(f"{len(names)} {name} were given for {count} {what}; expected one for each.")
    return names


def parse_position(query: Any, names: Sequence[str]) -> int:
    """Return the index of the query token. `query` is an index, or a name that occurs only once.

    Raises:
        ValueError: the name does not occur exactly once, or the index is out of range.
    """
    if isinstance(query, str):
        name = escape_invisible(query)
        if names.count(name) != 1:
            times = names.count(name)
            raise ValueError(
                f"the query {name!r} occurs {times} times in the tokens, not once; give its index instead."
            )
        return names.index(name)
    return parse_integer(query, "query", 0, len(names) - 1, "a token or an index")


def parse_title(title: Any, default: str) -> str:
    """Return the title of a figure: `title`, or `default` if `title` is None.

    Raises:
        ValueError: the title is neither None nor a string.
    """
    if title is None:
        return default
    if not isinstance(title, str):
        raise ValueError(f"title must be a string; got {type(title).__name__}.")
    return title
