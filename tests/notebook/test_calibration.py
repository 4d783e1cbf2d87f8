"""The record of predictions and quizzes, the questions to repeat, and the page that shows what a learner built."""

import json

from utils import progress
from utils.feedback.progress import read_answers, record_answer, record_attempt
from utils.lessons import ROOT
from utils.notebook.calibration import load_calibration, load_warm_up, question_widget


def answer(question, right, sure="certain", kind="predictions"):
    record_answer(kind, {"question": question}, right=right, sure=sure)


def days(progress_path, *questions):
    """Set the answers one day apart, in this order."""
    kept = json.loads(progress_path.read_text(encoding="utf-8"))
    for day, question in enumerate(questions, 1):
        kept["answers"][question]["when"] = f"2026-01-{day:02}T00:00:00+00:00"
    progress_path.write_text(json.dumps(kept), encoding="utf-8")


def test_how_sure_and_how_right(progress_path, snapshot):
    assert str(load_calibration()) == "" and "warm_up" not in repr(progress())
    for n, asked in enumerate(("this question", "these questions", "these questions")):
        answer(f"{n}?", right=n > 0)
        for text in (repr(progress()), progress()._repr_html_()):
            assert f"asks {asked} again." in text
    answer("a?", right=True, sure="guessing", kind="quizzes")
    answer("b?", right=False, sure="")
    assert "asks three of these questions again" in repr(progress())
    calibration = load_calibration()
    assert calibration.counts == {"certain": (2, 3), "fairly sure": (0, 0), "guessing": (1, 1), "": (0, 1)}
    assert str(calibration) == snapshot and str(calibration) in repr(progress())
    page = progress()._repr_html_()
    assert "<b>3 of 5</b>" in page and "width:67%" in page and "fairly" not in page


def test_the_oldest_three_are_asked_again_and_go_to_the_end(progress_path):
    for question in "abcd":
        answer(question, right=True)
    days(progress_path, "c", "a", "d", "b")
    assert repr(load_warm_up()) == "1. c\n2. a\n3. d" == repr(progress().warm_up())
    widget = question_widget(read_answers()["c"])
    assert widget.start == {"question": "c"} and widget.state["done"] == ""
    widget._handle_custom_msg({"event": "answered", "right": False, "sure": "guessing"}, [])
    assert repr(load_warm_up()) == "1. a\n2. d\n3. b" and read_answers()["c"]["right"] is False


def test_a_quiz_is_asked_again_with_nothing_chosen(progress_path):
    answer("q", right=True, kind="quizzes")
    assert question_widget(read_answers()["q"]).state == {"chosen": [], "sure": ""}


def test_nothing_to_warm_up_with(progress_path, capsys, snapshot):
    progress().warm_up()._ipython_display_()
    assert capsys.readouterr().out == snapshot


def test_a_page_shows_what_was_built(progress_path, tmp_path, monkeypatch, capsys, snapshot):
    page = (ROOT / "course" / "00_start_here.ipynb").read_text(encoding="utf-8")
    mine = page.replace('raise NotImplementedError(\\"row_sums\\")', "return x.sum(dim=1)  # <mine>").replace(
        "# YOUR CODE HERE", ""
    )
    assert mine != page
    (tmp_path / "00_start_here.ipynb").write_text(mine, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    record_attempt("start_here", "row_sums", "passed")
    record_attempt("simplified_attention", "softmax", "passed")  # its page was not saved
    progress().save("Ada & Co")
    assert capsys.readouterr().out == snapshot
    text = (tmp_path / "my_course.html").read_text(encoding="utf-8")
    assert "<h1>Ada &amp; Co: what I built</h1>" in text
    assert "return x.sum(dim=1)  # &lt;mine&gt;" in text
    assert "<code>softmax</code>" in text and "YOUR CODE HERE" not in text and "2 of " in text
    assert "src=" not in text and "http" not in text
