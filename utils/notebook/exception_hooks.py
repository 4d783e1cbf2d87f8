"""One calm line instead of a red traceback where a cell only waits: for an exercise, or for a cell above it.

Registered under IPython when `utils` is imported, and by `coginst lab` before any cell is run. Every other exception
looks as it always does.
"""

from __future__ import annotations

import ast
import dis
import os
import re
import traceback
from pathlib import Path

from utils import lessons
from utils.lessons import bound_names, strip_magics
from utils.lessons.stubs import unfinished_name
from utils.show.html import card, inline_html


class Notice:
    """The line, as text and as HTML."""

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return card(inline_html(self.text))


def register_exception_hook() -> None:
    """Ask IPython, if it runs this process, to pass exceptions through `_handle`."""
    from IPython import get_ipython

    shell = get_ipython()
    if shell is not None:
        shell.set_custom_exc((Exception, KeyboardInterrupt), _handle)
        plain = shell.display_formatter.formatters["text/plain"]
        plain.singleton_printers[id(...)] = lambda value, printer, cycle: printer.text("... (to be filled in)")


_waiting: dict[str, str] = {}  # names that a waiting cell would have made, and the exercise it waits for


def pending_exercise(error: BaseException, names: dict) -> str | None:
    """The exercise that an exception says is not filled in yet ("" when it cannot be told), or None for a real error.

    `names` are the notebook's: an `...` in one of them tells which value the cell waits for.
    """
    name = unfinished_name(error)
    if isinstance(error, NotImplementedError):
        return name.partition(".")[0] if name else None
    if name is not None:
        gaps = [name for name, value in names.items() if value is ... and not name.startswith("_")]
        used = [name for name in gaps if name in _globals_read_at(error)] or gaps
        return used[-1] if used else ""
    return None


def _globals_read_at(error: BaseException) -> set[str]:
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
    exercise = pending_exercise(error, shell.user_ns)
    if exercise is not None:
        _waiting.update(dict.fromkeys(_defined_names(shell.user_ns["In"][-1]), exercise))
        line = (
            f"This needs `{exercise}`, from the exercise above."
            if exercise
            else "This needs an `...` above to be filled in."
        )
    elif isinstance(error, NameError) and error.name in _waiting:
        exercise = _waiting[error.name]
        _waiting.update(dict.fromkeys(_defined_names(shell.user_ns["In"][-1]), exercise))
        line = (
            f"This needs `{error.name}`. The cell above that makes it waits for `{exercise}`: run it again when that is"
            " done."
        )
    elif isinstance(error, NameError) and is_defined_above(error.name, shell.user_ns["In"][-1]):
        line = (
            f"`{error.name}` is not there yet: it is made in a cell above that has not run since the kernel started."
            " Choose Run ▸ Run All Above Selected Cell in the menu, then run this cell again."
        )
    elif kind.__name__ == "UnfinishedExercise":
        line = str(error)
    elif isinstance(error, KeyboardInterrupt):
        line = "Stopped by hand; what this cell had done by then is done."
    else:
        return _show_traceback(shell, kind, error, trace, tb_offset)
    from IPython.display import display

    display(Notice(line))
    return [line]


def _show_traceback(shell, kind, error, trace, tb_offset) -> list[str]:
    """The traceback as it always looks and, where a value was to be made, what a check would say of the error."""
    lines = shell.InteractiveTB.structured_traceback(kind, error, trace, tb_offset=tb_offset)
    shell._showtraceback(kind, error, lines)
    words = _explain_error(error, shell.user_ns["In"][-1])
    if words:
        from IPython.display import display

        display(Notice(words))
    return lines


def _explain_error(error: BaseException, source: str) -> str:
    """An error of a cell that was to make an exercise's value, in a learner's words; "" where there are none."""
    if not re.search(r"(?m)^check\(\w+=", source):
        return ""
    from utils.feedback.observe import Failure
    from utils.feedback.torch_errors import explain_failure

    failure = Failure(type(error).__name__, str(error))
    words = explain_failure(failure, "")
    return "" if not failure.text or words.startswith(failure.text.splitlines()[0][:40]) else words


def is_defined_above(name: str | None, source: str) -> bool:
    """Whether the lesson that this kernel runs makes `name` in a cell above the one that reads `source`."""
    path = Path(os.environ.get("JPY_SESSION_NAME", ""))  # Jupyter's word to a kernel for its notebook
    if not name or not path.is_file():
        return False
    try:
        cells = [cell.source for cell in lessons.read_lesson(path).cells if cell.kind == "code"]
    except lessons.LessonError:
        return False
    above = cells[: cells.index(source)] if source in cells else cells
    return any(name in _defined_names(cell) for cell in above)


def _defined_names(source: str) -> list[str]:
    """The names that a cell binds at its top level; none where it is not Python."""
    try:
        return [name for node in ast.parse(strip_magics(source)).body for name in bound_names(node)]
    except SyntaxError:
        return []
