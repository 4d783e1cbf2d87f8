"""Show live widgets in a browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import BrowserContext

from tests.explore.widget_page import WidgetPage


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
