"""Load model code from the lessons instead of repeating it, and load stored weights into models."""

from __future__ import annotations

import contextlib
import importlib
import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from torch import Tensor, nn

if TYPE_CHECKING:
    from jaxtyping import Float

# A module that a lesson defines. A type checker cannot see the module's class. With the type nn.Module, the checker
# would treat every attribute as a Tensor or a Module.
LessonModule: TypeAlias = Any


def load_from_lesson(stem: str, name: str, alternative: str) -> Any:
    """Return the class or function `name` from the lesson `stem` in `solutions/`.

    Text that the lesson prints on import is hidden.

    Raises:
        ValueError: the lesson is not in this copy of the course. The message shows `alternative`, a call with the
            learner's own class or function.
    """
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            lesson = getattr(importlib.import_module("solutions"), stem)
        except (ImportError, AttributeError):
            raise ValueError(
                f"the lesson's {name} is not in this copy of the course. Pass your own, for example {alternative}."
            ) from None
        return getattr(lesson, name)


def require_head(head: int, n_heads: int) -> None:
    """Check that a model has this head. A negative number does not count from the end.

    Raises:
        ValueError: there is no such head.
    """
    if not 0 <= head < n_heads:
        raise ValueError(f"there is no head {head}: the model has {n_heads} heads, from 0 to {n_heads - 1}.")


def load_parameters(model: nn.Module, stored: Mapping[str, Float[Tensor, "..."]], message: str) -> None:
    """Copy stored weights into a model that a lesson or a learner has defined. Buffers, such as a mask, stay unchanged.

    Args:
        message: the error message. `{}` in it becomes a clause about the first difference.

    Raises:
        ValueError: the name or shape of a parameter differs from the stored weights.
    """
    own, theirs = (
        {name: list(value.shape) for name, value in some} for some in (model.named_parameters(), stored.items())
    )
    for name in sorted(own.keys() | theirs.keys()):
        if own.get(name) != theirs.get(name):
            sizes = f"{theirs.get(name, 'missing')} in the file and {own.get(name, 'missing')} in the model"
            raise ValueError(message.replace("{}", f"{name} is {sizes}"))
    model.load_state_dict(stored, strict=False)
