"""Define the widget class of every explorer, prediction and quiz. All computation happens in the browser.

Each kind of widget has a Python file, which prepares the widget's initial data, and a .js file with the same name,
which computes and draws. All kinds share `page.js` and `page.css`. The initial data is sent once. After that, the
widget needs no kernel, so it also works while the kernel is busy, after a restart, in a saved notebook and on a web
page.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

_IMPORT = re.compile(r'^import \{[^}]*\} from "\.\./show/page\.js";\n', re.MULTILINE)


def read_script(path: Path) -> str:
    """Return the content of a widget's .js file without the line that imports `page.js`.

    Raises:
        ValueError: if the script does not import `page.js` in one line.
    """
    source, n_imports = _IMPORT.subn("", path.read_text(encoding="utf-8"))
    if n_imports != 1:
        raise ValueError(
            f'{path.name} must have one line `import {{ … }} from "../show/page.js";`; it has {n_imports}.'
        )
    return source


@functools.cache
def read_shared(name: str) -> str:
    """Return the content of `page.js` or `page.css`, which all kinds of widgets share."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


class Widget(Protocol):
    """A widget that computes in the browser.

    Attributes:
        kind: the name of the widget's .js file without the suffix.
        start: the widget's initial data; it never changes.
        state: the values of the controls, `{name: value}`. The browser updates it when a control is released.
        data: bytes, for data that is too large for JSON.
        words: the text to show if the widget cannot be shown.
    """

    kind: str
    start: Mapping[str, Any]
    state: Mapping[str, Any]
    data: bytes
    words: str

    def send(self, content: Mapping[str, Any]) -> None: ...
    def observe(self, handler: Callable[[Any], None], names: str) -> None: ...


@functools.cache
def widget_class(script: Path) -> type:
    """Return the widget class for `script`, which draws the widgets. The class implements `Widget`.

    The class is created on first use, so that importing this module does not import ipywidgets.
    """
    import anywidget
    import traitlets

    class Live(anywidget.AnyWidget):
        """A widget that computes in the browser; see `Widget`."""

        kind = script.stem
        _esm, _css = read_shared("page.js") + read_script(script), read_shared("page.css")
        start = traitlets.Dict().tag(sync=True)
        state = traitlets.Dict().tag(sync=True)
        data = traitlets.Bytes(b"").tag(sync=True)

        def __init__(self, words: str, **parts: Any) -> None:
            super().__init__(**parts)
            self.words = words

        def __repr__(self) -> str:
            return self.words

        def _repr_mimebundle_(self, **kwargs: Any) -> Any:
            bundle = super()._repr_mimebundle_(**kwargs)
            if bundle is None:
                return None
            shown, *metadata = bundle if isinstance(bundle, tuple) else (bundle,)
            shown = {**shown, "text/plain": self.words}
            return (shown, *metadata) if metadata else shown

    return Live


def make_widget(
    python_file: str,
    fallback_text: str,
    start: Mapping[str, Any],
    state: Mapping[str, Any],
    data: bytes = b"",
    on_message: Callable[[Widget, Mapping[str, Any]], None] | None = None,
) -> Widget:
    """Create a widget.

    Args:
        python_file: `__file__` of the widget's module. The .js file is beside it.
        fallback_text: the text to show if the widget cannot be shown: in a terminal, in print, without scripts.
        start: the widget's initial data, as JSON: numbers, strings, lists, dicts. nan and inf cannot be sent.
        state: the initial values of the controls.
        data: bytes, for data that is too large for JSON.
        on_message: called as `on_message(widget, message)` when the browser sends a message to the kernel.
    """
    script = Path(python_file).with_suffix(".js")
    widget = widget_class(script)(fallback_text, start=dict(start), state=dict(state), data=data)
    if on_message:
        widget.on_msg(lambda widget, message, buffers: on_message(widget, message))
    return widget


def parse_text(name: str, value: Any, empty: bool = False) -> str:
    """Return `value`, which must be a string. A blank string is allowed only if `empty` is True.

    Raises:
        ValueError: `value` is not a string, or it is blank and `empty` is False. The message calls it `name`.
    """
    if not isinstance(value, str) or not (empty or value.strip()):
        expected = "a string" if empty else "a string that is not blank"
        raise ValueError(f"{name} must be {expected}; got {value!r}.")
    return value
