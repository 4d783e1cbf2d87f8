"""A box to type three letters into: the sorter writes its answer, and shows how."""

from __future__ import annotations

from typing import Any

from utils import show
from utils.explore.panel import DPI, live, note
from utils.models import abc_sorter as sorting
from utils.show.html import escape


def sorter(model: Any, letters: str = "cab") -> Any:
    """Type three letters; see them sorted one by one, with the probabilities and where each head looked.

    The static twin is `show.trace(sorting.trace(model, letters))`. In a terminal it is the trace in words;
    `python -m utils.models.abc_sorter` asks for letters there.

    Args:
        model: a trained `utils.models.abc_sorter.Sorter`, or what is called like one.
        letters: what the box holds at first.

    Returns:
        A box with `.box`, `.remark` and `.picture`.
    """
    import ipywidgets as widgets

    sorting.encode(letters)
    layout, style = {"width": "16em"}, {"description_width": "7em"}
    box = widgets.Text(value=letters, placeholder="cab", description="three letters", layout=layout, style=style)
    remark, picture = widgets.HTML(), widgets.HTML()
    latest = {}

    def update() -> str:
        typed = box.value.strip().lower()
        if len(typed) < 3 and not set(typed) - set(sorting.LETTERS):
            missing = 3 - len(typed)
            remark.value = note(f"{missing} more letter{'s' if missing > 1 else ''}: a, b or c.")
            return latest["alt"]
        try:
            steps = sorting.trace(model, typed)
        except ValueError as error:
            remark.value = note(escape(str(error)), "failed")
            return latest["alt"]
        answer, right = "".join(step.chosen for step in steps), "".join(sorted(typed))
        beside = "." if answer == right else f"; sorted it is {right}."
        remark.value = note(f"<b>{typed}</b> becomes <b>{answer}</b>{beside}", "todo" if answer == right else "failed")
        drawn = show.trace(steps)
        picture.value, latest["alt"] = drawn.html(DPI), drawn.alt
        return drawn.alt

    about = "Explorer: type three of the letters a, b, c."
    return live([box], update, [box, remark, picture], about, box=box, remark=remark, picture=picture)
