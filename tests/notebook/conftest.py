"""Provide fixtures for the tests of the home view."""

from pathlib import Path

import pytest

from utils.lessons import ROOT


@pytest.fixture
def progress_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The progress file of one test. The test runs in the folder of the course, as a lesson does."""
    path = tmp_path / "progress.json"
    monkeypatch.setenv("COURSE_PROGRESS", str(path))
    monkeypatch.chdir(ROOT / "course")
    return path
