"""Fixtures for all tests: one browser per process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Start a browser for the first test that needs one. Each test opens its own tabs or windows."""
    from tests.browser.harness import launch_browser

    with launch_browser() as browser:
        yield browser
