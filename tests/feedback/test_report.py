"""The rendering of a report, as text and as HTML."""

import re
from html.parser import HTMLParser

import pytest
import torch

from tests.feedback.answers import with_name
from utils.exercises.exercise import Float, case
from utils.feedback.check import check
from utils.feedback.diagnose import diagnose
from utils.feedback.report import Note


def test_text_and_html_say_the_same(double):
    report = check(with_name("double", lambda x: x * x))
    text, page = str(report), report._repr_html_()
    assert report.message in text and report.message in re.sub("<[^>]*>", "", page)
    for cells in report.table.yours + report.table.expected:
        for cell in cells:
            assert cell in text and f">{cell}</td>" in page
    assert text.count("[") == page.count("outline:2px") == len(report.table.wrong)
    for i, row in enumerate(report.table.yours):  # a screen reader reads the table cell by cell
        for j, yours in enumerate(row):
            verdict = "wrong" if (i, j) in report.table.wrong else "right"
            assert f'aria-label="yours {yours}, expected {report.table.expected[i][j]}, {verdict}"' in page


class _Announced(HTMLParser):
    """Collect the text inside the elements with the role `status`, which a screen reader reads when they appear."""

    def __init__(self, page):
        super().__init__()
        self.open, self.text = [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag != "br":
            self.open.append(dict(attrs).get("role") == "status")

    def handle_endtag(self, tag):
        self.open.pop()

    def handle_data(self, data):
        self.text += data if any(self.open) else ""


def test_a_screen_reader_announces_the_message_and_not_the_tables(double):
    report = check(with_name("double", lambda x: x * x))
    assert report.table
    assert _Announced(report._repr_html_()).text == str(report).splitlines()[0]


def test_a_hint_is_announced():
    assert _Announced(Note("double: hint 1 of 3", "Add `x` to itself.")._repr_html_()).text == (
        "double: hint 1 of 3Add x to itself."
    )


def test_backticks_are_code_on_a_page(double):
    page = check(with_name("double", lambda x: None))._repr_html_()
    assert "<code>return</code>" in page and "`" not in page


def test_html_is_escaped_and_sets_no_background(double):
    page = check(with_name("double", lambda x: x @ torch.ones(3, 3) if "<script>" else x))._repr_html_()
    assert "<script>" not in page and "background" not in page
    assert "var(--jp-ui-font-color1" in page


@pytest.mark.parametrize("name", ["#2a8f5b", "#d1543a", "#7a7f8a"])
def test_accents_stand_out_on_light_and_dark(name):
    """WCAG requires a contrast of 3:1 for graphical marks; JupyterLab's backgrounds are white and #111111."""

    def luminance(colour):
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear_ = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear_[0] + 0.7152 * linear_[1] + 0.0722 * linear_[2]

    from utils.show.colours import ACCENT

    assert name in ACCENT.values()
    for ground in ("#ffffff", "#111111"):
        high, low = sorted((luminance(name), luminance(ground)), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 3


def test_a_large_table_is_cut_around_the_first_wrong_cell(declare_exercise):
    wide = declare_exercise("wide", oracle=lambda x: x * 2, cases=lambda rand: [case(rand(30, 40))])

    def odd(x):
        y = x * 2
        y[20, 33] = y[29, 2] = 0  # a later row is wrong in an earlier column
        return y

    report = diagnose(wide, odd)
    assert len(report.table.yours) == len(report.table.yours[0]) == 8
    assert report.table.caption == "rows 16–23, columns 29–36 of 30 × 40" and report.table.wrong == {(4, 4)}


@pytest.mark.parametrize(
    "returns, name",
    [
        (Float("batch seq d_in"), "batch"),
        (Float("n_heads seq d_in"), "head"),
        (Float("n seq d_in"), "item"),
        (None, "item"),
    ],
)
def test_a_batch_shows_the_item_that_is_wrong(declare_exercise, returns, name):
    specified = {"returns": returns} if returns else {}
    deep = declare_exercise("deep", oracle=lambda x: x * 2, cases=lambda rand: [case(rand(3, 2, 2))], **specified)

    def odd(x):
        y = x * 2
        y[2, 0, 1] = 0
        return y

    report = diagnose(deep, odd)
    assert report.table.caption == f"{name} 2" and (f"{name} 2, seq 0" in report.message or not returns)


# --- inputs and printed text --------------------------------------------------------------------------


def test_a_small_input_is_shown_next_to_the_result(double):
    report = diagnose(double, lambda x: x + 1)
    ((name, rows),) = report.table.inputs
    assert name == "x" and len(rows) == len(report.table.yours)
    assert "input x" in str(report) and "input x" in report._repr_html_()
    number = float(rows[0][0])
    assert float(report.table.yours[0][0]) == pytest.approx(number + 1, abs=2e-4)
    assert float(report.table.expected[0][0]) == pytest.approx(number * 2, abs=2e-4)


def test_a_large_input_is_not_shown(declare_exercise):
    wide = declare_exercise("wide", oracle=lambda x: x * 2, cases=lambda rand: [case(rand(7, 7))])
    assert diagnose(wide, lambda x: x + 1).table.inputs == []


def test_what_an_answer_prints_is_shown_below_the_verdict(double, capsys, snapshot):
    def talks(x):
        print("sizes:", list(x.shape), "<b>")
        return x * 2

    passed = diagnose(double, talks)
    assert passed and passed.printed == "sizes: [2, 3] <b>\n" and str(passed) == snapshot
    assert "sizes: [2, 3] &lt;b&gt;" in passed._repr_html_()
    assert capsys.readouterr().out == ""
    assert diagnose(double, lambda x: x * 2).printed == ""


def test_a_failed_report_shows_the_printed_text_of_its_case(double):
    def wrong_on_the_large(x):
        print(f"{len(x)} rows")
        return x * 2 if len(x) == 2 else x * 3

    report = diagnose(double, wrong_on_the_large)
    assert report.status == "failed" and report.printed == "4 rows\n"


def test_the_printed_text_belongs_to_the_case_of_the_message(declare_exercise):
    """An error is reported for the first case, and wrong numbers for the smallest."""
    cases = lambda rand: [case(rand(n, 2)) for n in (4, 2)]
    double = declare_exercise("double", oracle=lambda x: x * 2, cases=cases)

    def raises(x):
        print(f"{len(x)} rows")
        raise ValueError(f"no {len(x)} rows")

    report = diagnose(double, raises)
    assert report.reason == "raised" and "no 4 rows" in report.message and report.printed == "4 rows\n"


def test_the_printed_text_belongs_to_the_sweep(declare_exercise):
    """An answer that is right on all cases is wrong only with large numbers, which a sweep finds."""
    double = declare_exercise("double", oracle=lambda x: x * 2, cases=lambda rand: [case(rand(3, 2))])

    def prints(x):
        print(f"largest {float(x.abs().max()):.0f}")
        return (x * 2).clamp(-50, 50)

    report = diagnose(double, prints)
    assert report.property and float(report.printed.split()[1]) > 25


def test_endless_printing_is_cut(double):
    assert len(diagnose(double, lambda x: [print("a" * 100) for _ in range(100)] and x * 2).printed) == 2000


def test_a_small_difference_is_seen(double):
    report = diagnose(double, lambda x: x * 2 + 3e-5)
    pairs = [(a, b) for mine, right in zip(report.table.yours, report.table.expected) for a, b in zip(mine, right)]
    assert all(a != b for a, b in pairs) and len(pairs[0][0].split(".")[1]) == 6
