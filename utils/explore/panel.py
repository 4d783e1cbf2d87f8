"""What every explorer is made on: a panel of widgets that has words for where it cannot be shown."""

from __future__ import annotations

import functools
import html
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from utils import show

DPI = 150  # an explorer redraws while a slider moves: sharp enough, and half the work of a static figure
RIGHT, WRONG, PLAIN = "#00795a", "#c24e00", "#57606a"


@functools.cache
def panel_type() -> type:
    """The class of every explorer, made on first use: importing this module must not import ipywidgets."""
    import ipywidgets

    class Panel(ipywidgets.VBox):
        """A column of widgets that has words for where it cannot be shown.

        Args:
            children: the widgets, top to bottom.
            describe: gives the sentence.
            parts: widgets, and what else tests and lessons may reach, as attributes.
        """

        def __init__(self, children: Sequence[Any], describe: Callable[[], str], **parts: Any) -> None:
            super().__init__(children)
            self.describe = describe
            for name, part in parts.items():
                setattr(self, name, part)

        def __repr__(self) -> str:
            return self.describe()

        def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
            return {**super()._repr_mimebundle_(**kwargs), "text/plain": self.describe()}

    return Panel


def read_text(name: str, value: Any, empty: bool = False) -> str:
    if not isinstance(value, str) or not (empty or value.strip()):
        raise ValueError(f"{name} must be a string with something in it; got {value!r}.")
    return value


def note(text: str, colour: str = PLAIN) -> str:
    """A remark with a coloured edge. It takes the page's own text colour, so it is legible in light and dark."""
    style = f"border-left:4px solid {colour};padding:2px 10px;line-height:1.5;max-width:46em"
    return f'<div role="status" style="{style}">{text}</div>'


def line(text: str) -> str:
    return f'<div style="line-height:1.5;max-width:46em">{text}</div>'


def two(x: float) -> str:
    """Two decimals, and no sign on a zero."""
    return f"{round(x, 2) + 0.0:.2f}"


def facts_line(facts: Mapping[str, str]) -> str:
    """The numbers side by side; on a narrow page a line breaks between them, never between a name and its number."""
    whole = '<span style="display:inline-block;margin-right:1.5em">'
    return line(" ".join(f"{whole}{html.escape(name)} <b>{html.escape(value)}</b></span>" for name, value in facts.items()))


def said(facts: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in facts.items())


def explorer(
    controls: Sequence[Any], draw: Callable[[], tuple[show.Picture, dict[str, str], str]], about: str, **parts: Any
) -> Any:
    """A panel whose picture, numbers and remark follow its controls.

    `draw` reads the controls and gives a picture, the numbers that change, and one sentence on them.
    """
    import ipywidgets as widgets

    picture, readout = widgets.HTML(), widgets.HTML()
    latest = {}

    def redraw(*_: Any) -> None:
        drawn, facts, remark = draw()
        latest["said"] = f"{said(facts)}. {remark}"
        picture.value = drawn.html(DPI)
        readout.value = facts_line(facts) + line(html.escape(remark))

    for control in controls:
        control.observe(redraw, names="value")
    redraw()
    box = widgets.HBox(controls, layout={"flex_flow": "row wrap"})
    words = lambda: f"{about} Now: {latest['said']}"
    return panel_type()([box, readout, picture], words, picture=picture, readout=readout, redraw=redraw, **parts)


def slider(kind: str, description: str, **settings: Any) -> Any:
    import ipywidgets as widgets

    layout, style = {"width": "23em"}, {"description_width": "7.5em"}
    return getattr(widgets, kind)(description=description, layout=layout, style=style, **settings)
