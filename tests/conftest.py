"""Provide fixtures for all tests: one browser per process, a window in it, and the tokenizer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext
    from transformers import GPT2Tokenizer


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Start a browser for the first test that needs one. Each test opens its own tabs or windows."""
    from tests.browser.harness import launch_browser

    with launch_browser() as browser:
        yield browser


@pytest.fixture(scope="session")
def window(chromium: Browser) -> Iterator[BrowserContext]:
    """Open a window for all tests that show widgets or figures, each in a tab of its own."""
    from tests.explore.widget_page import open_window

    with open_window(chromium) as opened:
        yield opened


@pytest.fixture(scope="session")
def tokenizer() -> GPT2Tokenizer:
    """Return the tokenizer of GPT-2."""
    from utils.gpt2 import load_tokenizer

    return load_tokenizer()
