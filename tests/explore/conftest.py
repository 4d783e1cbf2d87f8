"""One browser for all tests of a module that show live widgets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext

from tests.explore.in_page import Shown, window_of


@pytest.fixture(scope="package")
def window(chromium: Browser) -> Iterator[BrowserContext]:
    with window_of(chromium) as opened:
        yield opened


@pytest.fixture
def shown(window: BrowserContext) -> Iterator[Callable[..., Shown]]:
    """Shows a widget; its page is closed at the end, and no script of it may have failed."""
    pages: list[Shown] = []

    def show(widget: Any, **how: Any) -> Shown:
        pages.append(Shown(window, widget, **how))
        return pages[-1]

    yield show
    for page in pages:
        page.close()
