"""Every lesson as a learner first opens it in a real browser: Run All is calm, nothing is red, nothing leaves the
machine, and everybody can read it."""

import pytest

from tests.browser import harness as browser
from utils import lessons
from utils.feedback.exercise import all_exercises

STEMS = [
    path.stem for path in lessons.all_lessons() if not path.stem.startswith("02")
]  # lesson 02 has a test of its own


@pytest.mark.parametrize("stem", STEMS)
def test_an_untouched_lesson_runs_to_its_end(lab: browser.Lab, stem: str) -> None:
    lab.hold(browser.ROOT / "course" / f"{each}.ipynb" for each in STEMS)
    page, notebook = lab.page, lab.open(stem)
    with browser.pictured(page, f"{stem}-failure"):
        assert not notebook.unsaved(), "Jupyter takes the page for changed although nobody touched it"
        notebook.run_all()
        assert notebook.errors() == []
        checked = notebook.checked()
        assert len(checked) == len([e for e in all_exercises().values() if e.lesson == stem[3:]])
        assert all("not attempted yet" in said for said in checked)
        browser.theme(page, ("Light", "Dark")[int(stem[:2]) % 2])  # test_solved.py looks at it in the other one
        browser.screenshot(page, f"{stem}-untouched")
        assert notebook.hard_to_read() == []
        browser.theme(page, "Light")
        browser.put_away(page)
