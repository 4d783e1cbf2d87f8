"""Provide fixtures for the tests of the inventory and of the reviews."""

from pathlib import Path

import pytest


@pytest.fixture
def progress_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The progress file of one test."""
    path = tmp_path / "progress.json"
    monkeypatch.setenv("COURSE_PROGRESS", str(path))
    return path
