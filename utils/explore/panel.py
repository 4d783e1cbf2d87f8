"""What every explorer is made on: a panel of widgets that has words for where it cannot be shown."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from utils import show
from utils.show.html import card, escape, line

DPI = 150  # an explorer redraws while a slider moves: sharp enough, and half the work of a static figure


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


def note(inside: str, state: str = "todo") -> str:
    """A remark in HTML that appears while one works: right ("passed"), wrong ("failed") or neither."""
    return card(inside, state, status=True)


def two(x: float) -> str:
    """Two decimals, and no sign on a zero."""
    return f"{round(x, 2) + 0.0:.2f}"


def facts_line(facts: Mapping[str, str]) -> str:
    """The numbers side by side; on a narrow page a line breaks between them, never between a name and its number."""
    whole = '<span style="display:inline-block;margin-right:1.5em">'
    return line(" ".join(f"{whole}{escape(name)} <b>{escape(value)}</b></span>" for name, value in facts.items()))


def said(facts: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in facts.items())


def live(controls: Sequence[Any], update: Callable[[], str], children: Sequence[Any], about: str, **parts: Any) -> Any:
    """A panel that is brought up to date whenever a control changes.

    `update` reads the controls, writes into `children`, and gives the words for where these cannot be shown.
    """
    latest = {}

    def redraw(*_: Any) -> None:
        latest["said"] = update()

    for control in controls:
        control.observe(redraw, names="value")
    redraw()
    return panel_type()(children, lambda: f"{about} Now: {latest['said']}", redraw=redraw, **parts)


def explorer(
    controls: Sequence[Any], draw: Callable[[], tuple[show.Picture, dict[str, str], str]], about: str, **parts: Any
) -> Any:
    """A panel whose picture, numbers and remark follow its controls.

    `draw` reads the controls and gives a picture, the numbers that change, and one sentence on them.
    """
    import ipywidgets as widgets

    picture, readout = widgets.HTML(), widgets.HTML()

    def update() -> str:
        drawn, facts, remark = draw()
        picture.value = drawn.html(DPI)
        readout.value = facts_line(facts) + line(escape(remark))
        return f"{said(facts)}. {remark}"

    box = widgets.HBox(controls, layout={"flex_flow": "row wrap"})
    return live(controls, update, [box, readout, picture], about, picture=picture, readout=readout, **parts)


def slider(kind: str, description: str, **settings: Any) -> Any:
    import ipywidgets as widgets

    layout, style = {"width": "23em"}, {"description_width": "7.5em"}
    return getattr(widgets, kind)(description=description, layout=layout, style=style, **settings)
