"""Build wrong answers. Each is the correct answer with replaced steps, or a function whose docstring is the message."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from utils.exercises.exercise import Wrong


def with_steps(function: Callable) -> Any:
    """Decorate a correct answer so that its steps can be replaced.

    The keyword-only parameters of `function` are its steps, and their defaults are the correct steps. The decorated
    function is the correct answer and no longer has these parameters. `answer.replace(step=other)` returns an answer
    that uses `other` as this step. The new answer's attribute `steps` maps step names to replacements. Its method
    `wrong(message)` declares the new answer as a misconception. A parameter `**steps` makes the steps of an inner
    function replaceable too.
    """
    signature = inspect.signature(function)
    arguments = [p for p in signature.parameters.values() if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD)]

    def replace(**steps: Any) -> Any:
        signature.bind_partial(**steps)  # raises a TypeError if there is no such step

        @functools.wraps(function)
        def answer(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs, **steps)

        answer.__signature__ = signature.replace(parameters=arguments)
        answer.replace = lambda **more: replace(**(steps | more))
        answer.wrong = lambda message: Wrong(answer, message)
        answer.steps = steps
        return answer

    return replace()


def wrong_answer(function: Callable) -> Wrong:
    """Turn a function into a misconception: its body is the wrong answer, and its docstring is the message."""
    return Wrong(function, " ".join(inspect.getdoc(function).split()))
