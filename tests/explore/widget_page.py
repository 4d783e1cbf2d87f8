"""Live widgets in a real browser, without a notebook around them: what they draw, compute and tell a kernel.

with chromium() as window:
    shown = Shown(window, explore.dot_product())
    shown.set("angle_a", 90)
    shown.numbers()["dot"]
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

_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A live widget</title></head>
<body style="margin:16px;background:BACKGROUND"><main><h1>A live widget</h1><div id="here"></div></main>
</body></html>"""
# What anywidget hands to a module: a model with get, set, save_changes, on, off and send.
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
# JSON has no nan and no infinities
_PLAIN = """value => JSON.stringify(value, (_, x) =>
    typeof x === 'number' && !Number.isFinite(x) ? {special: String(x)} : ArrayBuffer.isView(x) ? [...x] : x)"""


@contextlib.contextmanager
def open_window(browser: Browser) -> Iterator[BrowserContext]:
    """One window for many pages: each is a tab of it. Chromium draws a window around a page that comes without one,
    which is twice the work of the page itself."""
    window = browser.new_context()
    window.new_page()  # a window closes with its last tab
    yield window
    window.close()


@contextlib.contextmanager
def open_chromium_window() -> Iterator[BrowserContext]:
    """A window of a new browser."""
    with launch_browser() as browser, open_window(browser) as window:
        yield window


def open_tab(window: BrowserContext, width: int = 800) -> Page:
    """A new tab, as wide as is asked for."""
    page = window.new_page()
    page.set_viewport_size({"width": width, "height": 900})
    return page


class WidgetPage:
    """A widget in a page of its own, as wide as is asked for; errors of its script are ours at once. `reading`: in a
    page of the book, which has no kernel."""

    def __init__(
        self, window: BrowserContext, widget: Any, width: int = 800, dark: bool = False, reading: bool = False
    ) -> None:
        self.page = open_tab(window, width)
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self._asked(request.url))
        self.page.set_content(_PAGE.replace("BACKGROUND", "#111417" if dark else "#ffffff"))
        traits = {"start": widget.start, "state": widget.state, "reading": reading}
        # What a browser cannot read is refused here; and a saved notebook gives the keys back in another order.
        traits = json.loads(json.dumps(traits, allow_nan=False, sort_keys=True))
        data = base64.b64encode(widget.data).decode("ascii")
        self.page.evaluate(_RENDER, [widget._esm, widget._css, traits, data])
        self.root: Locator = self.page.locator(".coginst")

    def _asked(self, url: str) -> None:
        if not url.startswith(("data:", "blob:", "about:")):
            self.errors.append(f"it asked for {url}")

    def numbers(self) -> dict[str, Any]:
        """What the explorer has computed, at full precision."""
        return _floats(json.loads(self._plain("coginst.numbers")))

    def state(self) -> dict[str, Any]:
        """What the page has kept, as a saved notebook would."""
        return json.loads(self.page.evaluate("() => JSON.stringify(window.model.get('state'))"))

    def set_control(self, name: str, value: Any) -> None:
        """Move a control, by the name of what it sets."""
        self.page.evaluate(
            "([name, value]) => document.querySelector('.coginst').coginst.set(name, value)", [name, value]
        )
        self.assert_no_errors()

    def facts(self) -> dict[str, str]:
        """{name: number} of the line of numbers."""
        pairs = []
        for fact in self.root.locator(".facts > span").all():
            value = fact.locator("b").inner_text()
            pairs.append([fact.inner_text().removesuffix(value).strip(), value])
        self.assert_no_errors()
        return dict(pairs)

    def remark(self) -> str:
        return self.root.locator(".remark").inner_text()

    def picture_label(self) -> str:
        """The words of the picture."""
        return self.root.locator("svg[role=img]").first.get_attribute("aria-label")

    def sent_messages(self) -> list[Any]:
        """The messages to the kernel."""
        return self.page.evaluate("() => window.sent")

    def reply_from_kernel(self, message: Any) -> None:
        """A message from the kernel."""
        self.page.evaluate("message => window.answer(message)", message)

    def right_edge(self) -> float:
        """How far to the right the picture's marks reach, in pixels of the page; what overflows makes no page wider."""
        edges = "all => Math.max(...all.map(one => one.getBoundingClientRect().right))"
        return self.root.locator("svg *").evaluate_all(edges)

    def set_state(self, state: dict[str, Any]) -> None:
        """A new state from the kernel."""
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
