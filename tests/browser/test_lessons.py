"""Every lesson as a learner first opens it in a real browser: Run All is calm, nothing is red, nothing leaves the
machine, and everybody can read it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser import harness as browser
from utils import lessons
from utils.feedback.exercise import all_exercises

STEMS = [
    path.stem for path in lessons.all_lessons() if not path.stem.startswith("02")
]  # lesson 02 has a test of its own


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Page, Path]]:
    """One Lab for all lessons: its page, with no notebook open, and the folder that it serves."""
    folder = tmp_path_factory.mktemp("served")
    with (
        browser.serve(folder, [browser.ROOT / "course" / f"{stem}.ipynb" for stem in STEMS]) as url,
        browser.open_lab(url) as page,
    ):
        browser.put_away(page)
        yield page, folder / "course"


@pytest.mark.parametrize("stem", STEMS)
def test_an_untouched_lesson_runs_to_its_end(lab: tuple[Page, Path], stem: str) -> None:
    page, folder = lab
    with browser.pictured(page, f"{stem}-failure"):
        notebook = browser.choose(page, stem)
        assert not notebook.unsaved(), "Jupyter takes the page for changed although nobody touched it"
        notebook.run_all()
        assert notebook.errors() == []
        checked = notebook.checked()
        assert len(checked) == len([e for e in all_exercises().values() if e.lesson == stem[3:]])
        assert all("not attempted yet" in said for said in checked)
        browser.theme(page, ("Light", "Dark")[int(stem[:2]) % 2])  # test_solved.py looks at it in the other one
        browser.screenshot(page, f"{stem}-untouched")
        assert notebook.hard_to_read() == []
        notebook.save(folder / f"{stem}.ipynb")
        browser.put_away(page)
