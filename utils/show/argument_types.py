"""Explain the errors that an argument of the wrong type causes."""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

WORDS = {
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    str: ("a string", "strings"),
    bool: ("True or False", "bools"),
}


def explain_wrong_types(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that does the same, but names an argument of the wrong type if this argument causes an error.

    The types come from the annotations. They are compared only after an error, so a call that works always remains
    valid, and an error that has another cause stays as it is.

    Raises:
        ValueError: by the returned function, if the call ended with a TypeError, AttributeError, IndexError or KeyError
            and an argument does not have the annotated type.
    """

    @functools.wraps(function)
    def explained(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (TypeError, AttributeError, IndexError, KeyError):
            if problem := _describe_problem(function, args, kwargs):
                raise ValueError(problem) from None
            raise

    return explained


def _describe_problem(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
    """Return a sentence about the first argument that does not have its annotated type, or None."""
    import inspect  # only after an error, because this import takes milliseconds

    try:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
    except TypeError:  # the call has too many arguments or too few, and Python's own message says so
        return None
    hints = typing.get_type_hints(function)
    for name, value in given.items():
        if name in hints and not _fits(value, hints[name]):
            return f"{name} must be {_describe(hints[name])}; got {value!r}."
    return None


def _fits(value: Any, hint: Any) -> bool:
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is Mapping:
        return isinstance(value, Mapping) and all(_fits(item, parts[1]) for item in value.values())
    if origin in (Sequence, Iterable, tuple):
        try:
            items = list(value)
        except TypeError:
            return False
        if origin is tuple:
            return len(items) == len(parts) and all(map(_fits, items, parts))
        return not isinstance(value, (str, bytes)) and all(_fits(item, parts[0]) for item in items)
    if hint is int:
        return hasattr(value, "__index__")
    if hint is float:
        return hasattr(value, "__float__")
    if origin is Callable:
        return callable(value)
    return isinstance(value, hint) if hint in (str, types.NoneType) else True


def _describe(hint: Any, plural: bool = False) -> str:
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return " or ".join(_describe(part, plural) for part in parts if part is not types.NoneType)
    if origin is tuple:
        return f"{'pairs' if plural else 'a pair'} ({', '.join(map(_describe, parts))})"
    if origin in (Mapping, Sequence, Iterable):
        word, item = ("dict", parts[1]) if origin is Mapping else ("list", parts[0])
        words = f"{word}s" if plural else f"a {word}"
        return words if item is Any else f"{words} of {_describe(item, True)}"
    return WORDS.get(hint, ("a function", "functions") if origin is Callable else ("numbers", "numbers"))[plural]
