"""The pages of a class in a real browser: tables sort, nothing is requested, and both themes are readable."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.grading.test_reports import RESULTS, many, passed, wrong
from utils.grading.intake.roster import Student, format_roster
from utils.grading.judge.results import LessonResult, write_result
from utils.grading.reports.report_writer import write_reports


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reports on a class of twelve and on one further student, who has every state."""
    folder = tmp_path_factory.mktemp("class")
    results, students = many()
    (folder / "handed-in").mkdir()
    results += [LessonResult(student.id, "00_start_here", "k", (passed("row_sums"),)) for student in students]  # 100 %
    few = (passed("merge"), wrong("merge", "No."), passed("merge"))  # "2 of 3" is sorted as 67 %
    results += [LessonResult(s.id, "05_multihead_attention", "k", (each,)) for s, each in zip(students, few)]
    students.append(Student("s2", "Alan <b>Turing</b>"))
    (folder / "handed-in" / "roster.csv").write_bytes(format_roster(students).encode())
    for result in [*results, *(result for result in RESULTS if result.student == "s2")]:
        write_result(folder / "results", result)
    return write_reports(folder / "results", out=folder / "report").folder


@pytest.fixture(scope="module")
def page(chromium: Browser) -> Iterator[Page]:
    page = chromium.new_page()
    yield page
    page.close()


def opened(page: Page, path: Path, **media: str) -> list[str]:
    """Open a page; return its messages on the console and its requests."""
    lines: list[str] = []
    page.on("console", lambda message: lines.append(message.text))
    page.on("request", lambda request: lines.append(request.url))
    page.emulate_media(**media)
    page.goto(path.as_uri())
    return [line for line in lines if line != path.as_uri() and not line.startswith("data:")]


def column(page: Page, n: int) -> list[str]:
    return page.locator("table.sortable").first.locator(f"tbody tr td:nth-child({n})").all_inner_texts()


def test_a_table_sorts_by_the_heading_that_is_pressed_and_back(page, pages):
    assert opened(page, pages / "class.html") == []
    shares = lambda: [67 if text == "2 of 3" else int(text.removesuffix(" %")) for text in column(page, 3)]
    assert "2 of 3" in column(page, 3)
    before = shares()
    head = page.locator("table.sortable").first.get_by_role("button", name="Pass rate")
    head.focus()
    page.keyboard.press("Enter")
    assert shares() == sorted(before, reverse=True) != before
    assert page.locator("th[aria-sort=descending]").count() == 1
    head.click()
    assert shares() == sorted(before) != before
    assert page.locator("th[aria-sort=ascending]").count() == page.locator("th[aria-sort]").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1200])
def test_pages_are_legible_in_light_and_dark_and_as_wide_as_the_window(page, pages, scheme, width):
    page.set_viewport_size({"width": width, "height": 900})
    for path in (pages / "class.html", pages / "students" / "s2.html"):
        assert opened(page, path, color_scheme=scheme) == []
        colours = page.evaluate(
            "() => { const s = getComputedStyle(document.body); return [s.color, s.backgroundColor] }"
        )
        ink, paper = (sum(map(int, colour[4:-1].split(","))) for colour in colours)
        assert (ink < 200 and paper > 700) if scheme == "light" else (ink > 600 and paper < 100)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width, "tables scroll, the page does not"
    assert "Alan <b>Turing</b>" in page.inner_text("h1")
