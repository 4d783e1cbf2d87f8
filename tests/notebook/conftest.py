"""Provide fixtures: the progress file of the home view, and a shell of IPython."""

from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.testing.globalipapp import start_ipython

from utils.lessons import ROOT


@pytest.fixture
def progress_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The progress file of one test. The test runs in the folder of the course, as a lesson does."""
    path = tmp_path / "progress.json"
    monkeypatch.setenv("COURSE_PROGRESS", str(path))
    monkeypatch.chdir(ROOT / "course")
    return path


@pytest.fixture(scope="session")
def ipython() -> InteractiveShell:
    """The shell of IPython in this process. A process can start only one."""
    return start_ipython()
