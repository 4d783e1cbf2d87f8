"""One browser a process, for all tests that need one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """A browser that is started for the first test that asks for it; each takes tabs, or windows, of its own."""
    from tests.browser.harness import launch_browser

    with launch_browser() as browser:
        yield browser
