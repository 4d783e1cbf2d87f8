"""One JupyterLab a process: starting it, and loading its page, takes longer than most tests in it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import nbformat
import pytest
from playwright.sync_api import Browser

from tests.browser.harness import KERNEL, Lab, open_lab, put_away, serve


class Labs:
    """Starts Lab when it is asked for and none is running."""

    def __init__(self, browser: Browser, folders: pytest.TempPathFactory) -> None:
        self._browser, self._folders = browser, folders
        self._running, self._lab = contextlib.ExitStack(), None

    def running(self) -> Lab:
        if self._lab is None:
            folder = self._folders.mktemp("lab")
            first = folder / "00_first.ipynb"
            nbformat.write(nbformat.v4.new_notebook(metadata=KERNEL), first)
            url = self._running.enter_context(serve(folder, [first]))
            page = self._running.enter_context(open_lab(self._browser, url))
            put_away(page)
            self._lab = Lab(page, url, folder)
        return self._lab

    def end(self) -> None:
        self._lab = None
        self._running.close()


@pytest.fixture(scope="session")
def _labs(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Labs]:
    labs = Labs(chromium, tmp_path_factory)
    yield labs
    labs.end()


@pytest.fixture
def lab(_labs: Labs) -> Iterator[Lab]:
    """A running Lab without a notebook. A test that does not leave it so (it failed) is the last in it."""
    lab = _labs.running()
    yield lab
    if not lab.tidy():
        _labs.end()
