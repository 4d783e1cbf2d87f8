"""Models whose code stands once, in a lesson's own page: where they are taken from, and how weights get into them."""

from __future__ import annotations

import contextlib
import importlib
import io
from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn


def load_from_lesson(stem: str, name: str, alternative: str) -> Any:
    """The class or function `name` of the lesson `stem`, as its page in `solutions/` has it.

    Which parts of it are the learner's is said by the lesson, and not again here.

    Raises:
        ValueError: the page is not in this copy; `otherwise` shows how to hand in one's own.
    """
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            lesson = getattr(importlib.import_module("solutions"), stem)
        except (ImportError, AttributeError):
            raise ValueError(f"the lesson's {name} is not here; give your own, as in {alternative}.") from None
        return getattr(lesson, name)


def load_parameters(model: nn.Module, stored: Mapping[str, Tensor]) -> None:
    """Put stored weights into a model of the lesson's, or of the learner's; buffers, such as a mask, stay its own.

    Raises:
        ValueError: a parameter has another name or shape than in the file; the message is a clause about the first one.
    """
    own, theirs = (
        {name: list(value.shape) for name, value in some} for some in (model.named_parameters(), stored.items())
    )
    odd = sorted(name for name in own.keys() | theirs.keys() if own.get(name) != theirs.get(name))
    if odd:
        name = odd[0]
        raise ValueError(
            f"{name} is {theirs.get(name, 'missing')} in the file and {own.get(name, 'missing')} in the model"
        )
    model.load_state_dict(stored, strict=False)
