"""One calm line instead of a red traceback where a cell only waits for an exercise to be filled in.

Registered under IPython when `utils` is imported. Every other exception looks as it always does.
"""

from __future__ import annotations

import html
import traceback


class Calm:
    """The line, as text and as HTML."""

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f'<div style="border-left:4px solid #7a7f8a;padding:4px 12px;color:var(--jp-ui-font-color1,inherit)">{html.escape(self.text)}</div>'


def register() -> None:
    """Ask IPython, if it runs this process, to pass exceptions through `_handle`."""
    from IPython import get_ipython

    shell = get_ipython()
    if shell is not None:
        shell.set_custom_exc((Exception,), _handle)


def sentence(error: BaseException, names: dict) -> str | None:
    """The calm line for an exception that only says "not filled in yet", or None for a real one.

    `names` are the notebook's: an `...` in one of them tells which value the cell waits for.
    """
    text = str(error.args[0]) if error.args else ""
    if isinstance(error, NotImplementedError):
        if text.replace(".", "").isidentifier():
            return f"This needs `{text}`, from the exercise above."
        return text if type(error).__name__ == "NotYet" else None
    if "ellipsis" in text.lower():
        waiting = [name for name, value in names.items() if value is ... and not name.startswith("_")]
        used = [n for n in waiting if _mentions(error, n)] or waiting
        return f"This needs `{used[-1]}`, from the exercise above." if used else "This needs an `...` above to be filled in."
    return None


def _mentions(error: BaseException, name: str) -> bool:
    """Whether a frame of the traceback runs code that reads `name`."""
    return any(name in frame.f_code.co_names for frame, _ in traceback.walk_tb(error.__traceback__))


def _handle(shell, kind, error, trace, tb_offset=None):
    line = sentence(error, shell.user_ns)
    if line is None:
        lines = shell.InteractiveTB.structured_traceback(kind, error, trace, tb_offset=tb_offset)
        shell._showtraceback(kind, error, lines)
        return lines
    from IPython.display import display

    display(Calm(line))
    return [line]
