"""Show live widgets in a real browser without a notebook, and read what they draw, compute and send to the kernel.

with open_chromium_window() as window:
    page = WidgetPage(window, explore.dot_product())
    page.set_control("angle_a", 90)
    page.numbers()["dot"]
"""

from __future__ import annotations

import base64
import contextlib
import json
import math
from collections.abc import Iterator
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Locator, Page

from tests.browser.harness import launch_browser

_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A live widget</title>
<meta name="viewport" content="width=device-width"></head>
<body style="margin:16px;background:BACKGROUND"><main><h1>A live widget</h1><div id="here"></div></main>
</body></html>"""
# A fake of the model that anywidget passes to a module: get, set, save_changes, on, off and send.
_RENDER = """async ([source, css, traits, data]) => {
    const style = document.createElement('style');
    style.textContent = css;
    document.head.append(style);
    traits.data = new DataView(Uint8Array.from(atob(data), c => c.charCodeAt(0)).buffer);
    const heard = {};
    window.sent = [], window.saved = 0, window.errors = [];
    window.model = {
        get: name => traits[name],
        set: (name, value) => { traits[name] = value; },
        save_changes: () => { window.saved += 1; if (window.gone) throw new Error('no kernel'); },
        on: (event, f) => { (heard[event] ??= []).push(f); },
        off: () => {},
        send: message => { if (window.gone) throw new Error('no kernel'); window.sent.push(message); },
    };
    window.answer = message => { for (const f of heard['msg:custom'] ?? []) f(message, []); };
    window.tell = state => { traits.state = state; for (const f of heard['change:state'] ?? []) f(); };
    window.module = await import(URL.createObjectURL(new Blob([source], {type: 'text/javascript'})));
    window.leave = await window.module.default.render({model: window.model, el: document.querySelector('#here')});
}"""
# JSON has no nan and no infinities.
_PLAIN = """value => JSON.stringify(value, (_, x) =>
    typeof x === 'number' && !Number.isFinite(x) ? {special: String(x)} : ArrayBuffer.isView(x) ? [...x] : x)"""


@contextlib.contextmanager
def open_window(browser: Browser) -> Iterator[BrowserContext]:
    """Open one window for many pages, each of which is a tab.

    If no window is open, Chromium opens a new window for each page, which takes twice as long as the page itself.
    """
    window = browser.new_context()
    window.new_page()  # keeps the window open: it closes with its last tab
    yield window
    window.close()


@contextlib.contextmanager
def open_chromium_window() -> Iterator[BrowserContext]:
    """Open a window of a new browser."""
    with launch_browser() as browser, open_window(browser) as window:
        yield window


def open_tab(window: BrowserContext, width: int = 800) -> Page:
    """Open a new tab of this width."""
    page = window.new_page()
    page.set_viewport_size({"width": width, "height": 900})
    return page


class WidgetPage:
    """A widget in a page of its own, which records errors of scripts.

    Args:
        window: the window that gets the page as a tab.
        widget: the widget to show.
        width: the width of the page, in pixels.
        dark: whether the background is dark.
        reading: whether the page belongs to the book, which has no kernel.
    """

    def __init__(
        self, window: BrowserContext, widget: Any, width: int = 800, dark: bool = False, reading: bool = False
    ) -> None:
        self.page = open_tab(window, width)
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self._asked(request.url))
        self.page.set_content(_PAGE.replace("BACKGROUND", "#111417" if dark else "#ffffff"))
        traits = {"start": widget.start, "state": widget.state, "reading": reading}
        # A browser cannot read nan. A saved notebook sorts keys, too.
        traits = json.loads(json.dumps(traits, allow_nan=False, sort_keys=True))
        data = base64.b64encode(widget.data).decode("ascii")
        self.page.evaluate(_RENDER, [widget._esm, widget._css, traits, data])
        self.root: Locator = self.page.locator(".coginst")

    def _asked(self, url: str) -> None:
        if not url.startswith(("data:", "blob:", "about:")):
            self.errors.append(f"the page requested {url}")

    def numbers(self) -> dict[str, Any]:
        """Return the results of the explorer at full precision."""
        return _floats(json.loads(self._plain("coginst.numbers")))

    def state(self) -> dict[str, Any]:
        """Return the state that a saved notebook would contain."""
        return json.loads(self.page.evaluate("() => JSON.stringify(window.model.get('state'))"))

    def set_control(self, name: str, value: Any) -> None:
        """Set the state `name` as its control does."""
        self.page.evaluate(
            "([name, value]) => document.querySelector('.coginst').coginst.set(name, value)", [name, value]
        )
        self.assert_no_errors()

    def facts(self) -> dict[str, str]:
        """Return the line of numbers as {name: number}."""
        pairs = []
        for fact in self.root.locator(".facts > span").all():
            value = fact.locator("b").inner_text()
            pairs.append([fact.inner_text().removesuffix(value).strip(), value])
        self.assert_no_errors()
        return dict(pairs)

    def remark(self) -> str:
        return self.root.locator(".remark").inner_text()

    def picture_label(self) -> str:
        """Return the description of the picture for screen readers."""
        return self.root.locator("svg[role=img]").first.get_attribute("aria-label")

    def sent_messages(self) -> list[Any]:
        """Return the messages that the page has sent to the kernel."""
        return self.page.evaluate("() => window.sent")

    def reply_from_kernel(self, message: Any) -> None:
        """Send a message from the kernel to the page."""
        self.page.evaluate("message => window.answer(message)", message)

    def right_edge(self) -> float:
        """Return the right end of the picture's marks, in pixels; marks that overflow do not widen the page."""
        edges = "all => Math.max(...all.map(one => one.getBoundingClientRect().right))"
        return self.root.locator("svg *").evaluate_all(edges)

    def set_state(self, state: dict[str, Any]) -> None:
        """Send a new state from the kernel to the page."""
        self.page.evaluate("state => window.tell(state)", state)
        self.assert_no_errors()

    def assert_no_errors(self) -> None:
        assert not self.errors, self.errors

    def close(self) -> None:
        self.assert_no_errors()
        self.page.close()

    def _plain(self, name: str) -> str:
        return self.page.evaluate(f"() => ({_PLAIN})(document.querySelector('.coginst').{name})")


def _floats(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"special"}:
            return math.nan if value["special"] == "NaN" else float(value["special"].replace("Infinity", "inf"))
        return {name: _floats(each) for name, each in value.items()}
    return [_floats(each) for each in value] if isinstance(value, list) else value
