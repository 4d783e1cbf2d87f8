"""What the tests of the home view share."""

from pathlib import Path

import pytest

from utils.lessons import ROOT


@pytest.fixture
def progress_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of this test's own progress; the folder is the course's, as in a lesson."""
    path = tmp_path / "progress.json"
    monkeypatch.setenv("COURSE_PROGRESS", str(path))
    monkeypatch.chdir(ROOT / "course")
    return path
