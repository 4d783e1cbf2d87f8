"""The record of predictions and quizzes, and the page that shows what a learner built."""

from utils import progress
from utils.learner_data.progress import record_answer, record_attempt
from utils.lessons import ROOT
from utils.notebook.calibration import load_calibration


def answer(question, right, sure="certain", kind="predictions"):
    record_answer(kind, {"question": question}, right=right, sure=sure)


def test_how_sure_and_how_right(progress_path, snapshot):
    assert str(load_calibration()) == "" and "warm_up" not in repr(progress())
    for n in range(3):
        answer(f"{n}?", right=n > 0)
    answer("a?", right=True, sure="guessing", kind="quizzes")
    answer("b?", right=False, sure="")
    calibration = load_calibration()
    assert calibration.counts == {"certain": (2, 3), "fairly sure": (0, 0), "guessing": (1, 1), "": (0, 1)}
    assert str(calibration) == snapshot and str(calibration) in repr(progress())
    page = progress()._repr_html_()
    assert "<b>3 of 5</b>" in page and "width:67%" in page and "fairly" not in page


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
