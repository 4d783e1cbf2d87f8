"""Replace the red traceback with one line of text if a cell needs an unfinished exercise or an earlier cell.

A cell that the learner stops also shows one line. All other exceptions are displayed as usual. The hook is registered
when `utils` is imported under IPython; `coginst lab` imports `utils` before the first cell runs.
"""

from __future__ import annotations

import ast
import os
import re
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from utils import lessons
from utils.lessons import bound_names, strip_magics
from utils.lessons.names import read_globals
from utils.lessons.stubs import unfinished_name
from utils.show.html import card, inline_html

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


class Notice:
    """A line of text that can be displayed as plain text or as HTML."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return card(inline_html(self.text))


def register_exception_hook() -> None:
    """Register `_handle` for exceptions if this process runs under IPython."""
    from IPython import get_ipython

    shell = get_ipython()
    if shell is not None:
        shell.set_custom_exc((Exception, KeyboardInterrupt), _handle)
        plain = shell.display_formatter.formatters["text/plain"]
        plain.singleton_printers[id(...)] = lambda value, printer, cycle: printer.text("... (to be filled in)")


_waiting: dict[str, str] = {}  # {name: exercise}: the cell that defines the name failed because it needs the exercise


def pending_exercise(error: BaseException, names: Mapping[str, Any]) -> str | None:
    """Return the name of the unfinished exercise that caused an exception.

    Return "" if the exercise is unknown, and None if the exception is a real error. `names` contains the variables of
    the notebook. A variable that is still `...` shows which value the cell needs.
    """
    name = unfinished_name(error)
    if isinstance(error, NotImplementedError):
        return name.partition(".")[0] if name else None
    if name is not None:
        gaps = [name for name, value in names.items() if value is ... and not name.startswith("_")]
        frames = traceback.walk_tb(error.__traceback__)
        read = {name for frame, line in frames for name in read_globals(frame.f_code, line)}
        used = [name for name in gaps if name in read] or gaps
        return used[-1] if used else ""
    return None


def _handle(
    shell: InteractiveShell, kind: type[BaseException], error: BaseException, trace: Any, tb_offset: int | None = None
) -> list[str]:
    """Show one line for an expected error, otherwise the traceback. Return the shown lines, as IPython requires."""
    source = shell.user_ns["In"][-1]
    exercise = pending_exercise(error, shell.user_ns)
    if exercise is not None:
        _waiting.update(dict.fromkeys(_defined_names(source), exercise))
        line = (
            f"This cell needs `{exercise}` from the exercise above."
            if exercise
            else "This cell needs a value that is still `...`: fill it in above."
        )
    elif isinstance(error, NameError) and error.name in _waiting:
        exercise = _waiting[error.name]
        _waiting.update(dict.fromkeys(_defined_names(source), exercise))
        line = (
            f"This cell needs `{error.name}`, and the cell above that defines it needs `{exercise}`. Complete"
            f" `{exercise}`, then run both cells again."
        )
    elif isinstance(error, NameError) and is_defined_above(error.name, source):
        line = (
            f"`{error.name}` does not exist yet: the cell above that defines it has not run since the kernel started."
            " Choose Run ▸ Run All Above Selected Cell in the menu, then run this cell again."
        )
    elif kind.__name__ == "UnfinishedExercise":
        line = str(error)
    elif isinstance(error, KeyboardInterrupt):
        line = "You stopped this cell. Its work up to that point is kept."
    else:
        lines = shell.InteractiveTB.structured_traceback(kind, error, trace, tb_offset=tb_offset)
        shell._showtraceback(kind, error, lines)
        if words := _explain_error(error, source):
            _show_notice(words)
        return lines
    _show_notice(line)
    return [line]


def _show_notice(text: str) -> None:
    from IPython.display import display

    display(Notice(text))


def _explain_error(error: BaseException, source: str) -> str:
    """Explain an error in a cell that passes a value to `check`. Return "" if there is no explanation."""
    if not re.search(r"(?m)^check\(\w+=", source):
        return ""
    from utils.exercises.observe import Failure
    from utils.feedback.torch_errors import explain_further

    return explain_further(Failure(type(error).__name__, str(error)))


def is_defined_above(name: str | None, source: str) -> bool:
    """Tell whether this kernel's notebook defines `name` above the cell with the text `source`."""
    path = Path(os.environ.get("JPY_SESSION_NAME", ""))  # set by Jupyter to the path of the kernel's notebook
    if not name or not path.is_file():
        return False
    try:
        cells = [cell.source for cell in lessons.read_lesson(path).cells if cell.kind == "code"]
    except lessons.LessonError:
        return False
    above = cells[: cells.index(source)] if source in cells else cells
    return any(name in _defined_names(cell) for cell in above)


def _defined_names(source: str) -> list[str]:
    """Return the names that a cell binds at its top level, or no names if the cell is not valid Python."""
    try:
        return bound_names(ast.parse(strip_magics(source) or ""))
    except (SyntaxError, ValueError):
        return []
