"""Share one JupyterLab in each process, because starting JupyterLab takes longer than most tests."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import nbformat
import pytest
from playwright.sync_api import Browser

from tests.browser.harness import KERNEL, Lab, close_notebook, open_lab, serve_jupyter
from utils.cli.configure import is_configured


class LabManager:
    """Starts Lab when a test needs it and none is running."""

    def __init__(self, browser: Browser, folders: pytest.TempPathFactory) -> None:
        self._browser, self._folders = browser, folders
        self._running, self._lab = contextlib.ExitStack(), None

    def get_lab(self) -> Lab:
        if self._lab is None:
            assert is_configured(), "Jupyter is not configured for the course here. Run: coginst configure"
            folder = self._folders.mktemp("lab")
            first = folder / "00_first.ipynb"
            nbformat.write(nbformat.v4.new_notebook(metadata=KERNEL), first)
            url = self._running.enter_context(serve_jupyter(folder, [first]))
            page = self._running.enter_context(open_lab(self._browser, url))
            close_notebook(page)
            self._lab = Lab(page, url, folder)
        return self._lab

    def stop(self) -> None:
        self._lab = None
        self._running.close()


@pytest.fixture(scope="package")  # an idle Lab costs computing time
def _labs(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabManager]:
    labs = LabManager(chromium, tmp_path_factory)
    yield labs
    labs.stop()


@pytest.fixture
def lab(_labs: LabManager) -> Iterator[Lab]:
    """A running Lab without an open notebook. If a test leaves a notebook open (it failed), this Lab is stopped."""
    lab = _labs.get_lab()
    yield lab
    if not lab.is_clean():
        _labs.stop()
