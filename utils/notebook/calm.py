"""One calm line instead of a red traceback where a cell only waits for an exercise to be filled in.

Registered under IPython when `utils` is imported. Every other exception looks as it always does.
"""

from __future__ import annotations

import ast
import dis
import traceback

from utils.lessons import bound_names
from utils.lessons.stubs import unfinished_name
from utils.show.html import card, inline


class Calm:
    """The line, as text and as HTML."""

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return card(inline(self.text))


def register() -> None:
    """Ask IPython, if it runs this process, to pass exceptions through `_handle`."""
    from IPython import get_ipython

    shell = get_ipython()
    if shell is not None:
        shell.set_custom_exc((Exception,), _handle)


_waiting: dict[str, str] = {}  # names that a waiting cell would have made, and the exercise it waits for


def awaited(error: BaseException, names: dict) -> str | None:
    """The exercise that an exception says is not filled in yet ("" when it cannot be told), or None for a real error.

    `names` are the notebook's: an `...` in one of them tells which value the cell waits for.
    """
    name = unfinished_name(error)
    if isinstance(error, NotImplementedError):
        return name.partition(".")[0] if name else None
    if name is not None:
        gaps = [name for name, value in names.items() if value is ... and not name.startswith("_")]
        used = [name for name in gaps if name in _read_where(error)] or gaps
        return used[-1] if used else ""
    return None


def _read_where(error: BaseException) -> set[str]:
    """The global names that are read on the lines that the traceback goes through."""
    read = set()
    for frame, line in traceback.walk_tb(error.__traceback__):
        starts = dict(dis.findlinestarts(frame.f_code))
        here = None
        for instruction in dis.get_instructions(frame.f_code):
            here = starts.get(instruction.offset, here)
            if here == line and instruction.opname in ("LOAD_NAME", "LOAD_GLOBAL"):
                read.add(instruction.argval)
    return read


def _handle(shell, kind, error, trace, tb_offset=None):
    exercise = awaited(error, shell.user_ns)
    if exercise is not None:
        _waiting.update(dict.fromkeys(_would_make(shell.user_ns["In"][-1]), exercise))
        line = (
            f"This needs `{exercise}`, from the exercise above."
            if exercise
            else "This needs an `...` above to be filled in."
        )
    elif isinstance(error, NameError) and error.name in _waiting:
        exercise = _waiting[error.name]
        _waiting.update(dict.fromkeys(_would_make(shell.user_ns["In"][-1]), exercise))
        line = (
            f"This needs `{error.name}`. The cell above that makes it waits for `{exercise}`: run it again when that is"
            " done."
        )
    elif kind.__name__ == "NotYet":
        line = str(error)
    else:
        lines = shell.InteractiveTB.structured_traceback(kind, error, trace, tb_offset=tb_offset)
        shell._showtraceback(kind, error, lines)
        return lines
    from IPython.display import display

    display(Calm(line))
    return [line]


def _would_make(source: str) -> list[str]:
    """The names that a cell assigns at its top level."""
    return [name for node in ast.parse(source).body for name in bound_names(node)]
