"""A box to type three letters into: the sorter writes its answer, and shows how."""

from __future__ import annotations

import html
from typing import Any

from utils import show, sorting
from utils.explore.panel import DPI, PLAIN, WRONG, note, panel_type


def sorter(model: Any, letters: str = "cab") -> Any:
    """Type three letters; see them sorted one by one, with the probabilities and where each head looked.

    The static twin is `show.trace(sorting.trace(model, letters))`. In a terminal it is the trace in words;
    `python -m utils.sorting` asks for letters there.

    Args:
        model: a trained `utils.sorting.Sorter`, or what is called like one.
        letters: what the box holds at first.

    Returns:
        A box with `.box`, `.remark` and `.picture`.
    """
    import ipywidgets as widgets

    sorting.encode(letters)
    box = widgets.Text(
        value=letters, placeholder="cab", description="three letters", layout={"width": "16em"}, style={"description_width": "7em"}
    )
    remark, picture = widgets.HTML(), widgets.HTML()
    latest = {}

    def redraw(*_: Any) -> None:
        typed = box.value.strip().lower()
        if len(typed) < 3 and not set(typed) - set(sorting.LETTERS):
            missing = 3 - len(typed)
            remark.value = note(f"{missing} more letter{'s' if missing > 1 else ''}: a, b or c.", PLAIN)
            return
        try:
            steps = sorting.trace(model, typed)
        except ValueError as error:
            remark.value = note(html.escape(str(error)), WRONG)
            return
        answer, right = "".join(step.chosen for step in steps), "".join(sorted(typed))
        said = f"<b>{typed}</b> becomes <b>{answer}</b>." if answer == right else f"<b>{typed}</b> becomes <b>{answer}</b>; sorted it is {right}."
        remark.value = note(said, PLAIN if answer == right else WRONG)
        latest["picture"] = show.trace(steps)
        picture.value = latest["picture"].html(DPI)

    box.observe(redraw, names="value")
    redraw()
    words = lambda: f"Explorer: type three of the letters a, b, c. Now: {latest['picture'].alt}"  # noqa: E731
    return panel_type()([box, remark, picture], words, box=box, remark=remark, picture=picture)
