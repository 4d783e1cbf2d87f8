"""What every explorer, prediction and quiz is made on: a widget that lives in the page.

A kind is a Python file, which says what the page starts from, and a .js file beside it, which computes and draws. What
the kinds share is in `page.js` and `page.css`. The numbers are sent once; from then on the page needs no kernel: it
follows the pointer while the kernel is busy, after a restart, in a saved notebook and on a web page.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./page\.js";\n', re.MULTILINE)


@functools.cache
def build_es_module(kind: str) -> str:
    """The one ES module of a kind: `page.js`, then `KIND.js` without its import of that."""
    own, found = _IMPORT.subn("", read_asset(f"{kind}.js"))
    if found != 1:
        raise ValueError(f'{kind}.js must have one line `import {{ … }} from "./page.js";`; it has {found}.')
    return read_asset("page.js") + own


@functools.cache
def read_asset(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


@functools.cache
def widget_class(name: str) -> type:
    """The class of a kind's widgets, made on first use: importing this module must not import ipywidgets."""
    import anywidget
    import traitlets

    class Live(anywidget.AnyWidget):
        """A widget that computes in the page, with words for where it cannot be shown.

        Attributes:
            start: what the page starts from; it never changes.
            state: where the controls stand, `{name: value}`; the page writes it when a control comes to rest.
            data: bytes, for what is too large for JSON.
            kind: the name of its .js file.
            words: what stands where the widget cannot be shown.
        """

        kind = name
        _esm, _css = build_es_module(name), read_asset("page.css")
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
    kind: str,
    fallback_text: str,
    start: Mapping[str, Any],
    state: Mapping[str, Any],
    data: bytes = b"",
    on_message: Callable[[Any, Mapping[str, Any]], None] | None = None,
) -> Any:
    """A widget of `kind`.

    Args:
        kind: the name of its .js file.
        words: what stands where it cannot be shown: in a terminal, in print, without scripts.
        start: what the page starts from, as JSON: numbers, strings, lists, dicts. nan and inf cannot be sent.
        state: where the controls stand at first.
        data: bytes, for what is too large for JSON.
        heard: called as `heard(widget, message)` with what the page sends to a kernel that listens.
    """
    widget = widget_class(kind)(fallback_text, start=dict(start), state=dict(state), data=data)
    if on_message:
        widget.on_msg(lambda widget, message, buffers: on_message(widget, message))
    return widget


def parse_text(name: str, value: Any, empty: bool = False) -> str:
    if not isinstance(value, str) or not (empty or value.strip()):
        raise ValueError(f"{name} must be a string with something in it; got {value!r}.")
    return value
