"""One browser window for all tests that show live widgets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext

from tests.explore.widget_page import WidgetPage, open_window


@pytest.fixture(scope="package")
def window(chromium: Browser) -> Iterator[BrowserContext]:
    with open_window(chromium) as opened:
        yield opened


@pytest.fixture
def show_widget(window: BrowserContext) -> Iterator[Callable[..., WidgetPage]]:
    """Show a widget in a page, which is closed at the end of the test; no script of the page may fail."""
    pages: list[WidgetPage] = []

    def show(widget: Any, **how: Any) -> WidgetPage:
        pages.append(WidgetPage(window, widget, **how))
        return pages[-1]

    yield show
    for page in pages:
        page.close()
