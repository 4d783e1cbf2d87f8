"""A prediction in a browser: the guess comes before the answer, also without a kernel."""

import math

import pytest
import torch

from utils import explore
from utils.learner_data.progress import read_answers

_JUDGE = """([kind, text, answer, tolerance]) => {
    const given = window.module.readGuess(kind, text, answer);
    return given === null ? null : window.module.judged(kind, given, answer, tolerance).right;
}"""


def guess(page, text, check="Check my guess"):
    page.root.get_by_role("textbox").fill(text)
    page.root.get_by_role("button", name=check).click()


def note(page):
    return " ".join(page.root.locator(".note").inner_text().split())


def verdict(page):
    """Return "passed", "failed", or "todo" if there is no verdict."""
    return page.root.locator(".note").get_attribute("class").removeprefix("note ")


def test_nothing_is_revealed_before_a_guess(show_widget):
    page = show_widget(explore.predict("How many are `True`?", 1234, explain="Because of 5678."))
    page.root.get_by_role("textbox").fill("12")  # typing alone is not a guess
    text = page.root.inner_html() + repr(explore.predict("How many are `True`?", 1234, explain="Because of 5678."))
    assert "1234" not in text and "5678" not in text and "<code>True</code>" in text


def test_what_is_typed_is_what_is_judged(show_widget, snapshot):
    """The page judges the guess, so neither fast typing nor the kernel changes the verdict."""
    page = show_widget(explore.predict("How many?", 60, explain="1 + 2 + 3 + 4"))
    page.page.evaluate("() => { window.gone = true; }")
    page.root.get_by_role("textbox").press_sequentially("60", delay=0)
    page.root.get_by_role("textbox").press("Enter")
    assert verdict(page) == "passed" and note(page) == snapshot
    assert page.root.get_by_role("status").inner_text() == page.root.locator(".note").text_content()


def test_no_confidence_is_preselected(show_widget):
    page = show_widget(explore.predict("How many?", 10))
    assert page.root.locator("input:checked").count() == 0
    guess(page, "10")
    assert page.sent_messages() == [{"event": "answered", "right": True, "sure": "", "said": "10"}]
    assert page.root.locator("input:checked").count() == 0 and page.root.get_by_role("radio").first.is_disabled()


def test_after_a_second_wrong_guess_the_answer_is_shown_and_the_first_guess_counts(show_widget, snapshot):
    page = show_widget(explore.predict("How many?", 10))
    page.root.get_by_role("radio", name="certain").check()
    guess(page, "12")
    assert verdict(page) == "failed" and note(page) == snapshot(name="first guess")
    assert note(page) == page.root.get_by_role("status").inner_text()
    guess(page, "12")  # the same guess again is not a second guess
    assert note(page) == snapshot(name="first guess")
    assert page.root.get_by_role("radio", name="guessing").is_disabled()
    guess(page, "11")
    assert verdict(page) == "failed" and note(page) == snapshot(name="second guess")
    first = note(page)
    box = page.root.get_by_role("textbox")
    assert box.get_attribute("readonly") is not None
    box.press("Enter")
    page.root.get_by_role("button", name="Show me").click(force=True)
    assert note(page) == first
    assert page.sent_messages() == [{"event": "answered", "right": False, "sure": "certain", "said": "12"}]
    assert page.state() == {"guess": "11", "first": "12", "sure": "certain", "done": "guessed"}


def test_a_guess_in_another_tab_counts_in_this_tab(show_widget):
    page = show_widget(explore.predict("How many?", 10))
    page.set_state({"guess": "12", "first": "12", "sure": "certain", "done": ""})
    assert "lower than 12" in note(page)
    page.set_state({"guess": "10", "first": "12", "sure": "certain", "done": "guessed"})
    assert note(page).startswith("Right this time. Your guess: 10")
    assert page.root.get_by_role("textbox").get_attribute("readonly") is not None and page.sent_messages() == []


HINTS = {  # an answer, a wrong guess, and a part of the reply
    "lower": (10, "12", "the answer is lower than 12."),
    "higher": (-0.5, "−3", "the answer is higher than −3."),
    "infinite": (math.inf, "7", "the answer is higher than 7."),
    "too many numbers": ([6, 3], "6, 3, 1", "the answer has 2 numbers."),
    "second number": ([6, 3], "6, 2", "number 2 of the answer is higher than 2."),
    "word": ("journey", "starts", "Not this time. You have one more guess."),
}


@pytest.mark.parametrize("name", HINTS)
def test_a_wrong_first_guess_gets_a_direction_and_a_second_guess(show_widget, name):
    answer, text, reply = HINTS[name]
    page = show_widget(explore.predict("What?", answer, explain="Because."))
    guess(page, text)
    assert reply in note(page) and "Because." not in note(page) and page.state()["done"] == ""
    guess(page, "6, 3" if isinstance(answer, list) else str(answer))
    assert verdict(page) == "passed" and note(page).startswith("Right this time.") and "Because." in note(page)
    assert len(page.sent_messages()) == 1


def test_yes_or_no_has_no_second_guess(show_widget):
    page = show_widget(explore.predict("Is it?", True))
    guess(page, "no")
    assert page.state()["done"] == "guessed" and "The answer: yes" in note(page)


def test_a_saved_first_guess_is_shown_again(show_widget):
    widget = explore.predict("How many?", 10, explain="Count.")
    widget.state = {**widget.state, "guess": "12", "first": "12"}
    page = show_widget(widget)
    assert "lower than 12" in note(page) and "Count." not in note(page)
    guess(page, "10")
    assert note(page).startswith("Right this time.") and page.sent_messages() == []


def test_focus_stays_where_it_was(show_widget):
    page = show_widget(explore.predict("How many?", 10))
    page.root.get_by_role("textbox").fill("12")
    page.root.get_by_role("button", name="Check my guess").press("Enter")
    assert page.page.evaluate("() => document.activeElement.textContent") == "Check my guess"


def test_a_saved_guess_is_shown_again(show_widget, snapshot):
    widget = explore.predict("How many?", 10, explain="Count.")
    widget.state = {"guess": "12", "sure": "guessing", "done": "guessed"}
    page = show_widget(widget)
    assert verdict(page) == "failed" and note(page) == snapshot and page.sent_messages() == []
    assert page.root.get_by_role("textbox").input_value() == "12"
    assert page.root.get_by_role("status").inner_text() == ""  # a notebook that is opened announces nothing


def test_show_me_gives_the_answer_without_a_verdict(show_widget, snapshot):
    page = show_widget(explore.predict("How many?", 10, explain="Count."))
    page.root.get_by_role("button", name="Show me").click()
    assert verdict(page) == "todo" and note(page) == snapshot and page.sent_messages() == []


def test_what_is_no_number_reveals_nothing(show_widget, snapshot):
    page = show_widget(explore.predict("How many?", 10))
    for text in ["", "  ", "many", "nan", "1/0", "twelve", "1/2/3", "--1", "50,25,7"]:
        guess(page, text)
        assert verdict(page) == "todo" and "10" not in note(page) and page.state()["done"] == ""
        assert note(page) == snapshot(name="a text" if text.strip() else "nothing")


RIGHT_OR_WRONG = [
    (10, 0, "10", True), (10, 0, " 10.0 ", True), (10, 0, "11", False), (10, 0, "-10", False), (-1, 0, "−1", True),
    (0.25, 0, "1/4", True), (0.25, 0, "25%", True), (0.25, 0, "0.26", False), (0.25, 0, ".25", True),
    (0.24, 0.02, "0.26", True), (0.24, 0.02, "0.27", False), (1000, 0, "1e3", True), (1000, 0, "1_000", True),
    (50257, 0, "50,257", True), (1234567.5, 0, "1,234,567.5", True), (0.25, 0, "0,25", True), (1.5, 0, "1,5", True),
    (-1000, 0, "−1,000", True),
    (0.3, 0.1, "0.2", True), (math.inf, 0, "inf", True), (-math.inf, 0, "inf", False), (-math.inf, 0, "−inf", True),
    (torch.tensor(1.5), 0, "1.5", True),
    ("nan", 0, "NaN", True), ("the last row", 0, "The  last ROW", True), ("journey", 0, "starts", False),
    (True, 0, "yes", True), (True, 0, "False", False), (False, 0, "n", True),
    ([6, 3], 0, "[6, 3]", True), ([6, 3], 0, "6 x 3", True), ((6, 3), 0, "torch.Size([6, 3])", True),
    ([6, 3], 0, "3, 6", False), ([6, 3], 0, "6", False), ([1, 14, 50257], 0, "1, 14, 50,257", True),
    ([1, 14, 50257], 0, "1 × 14 × 50257", True), ([2, 128, 64], 0, "[2,128, 64]", True),
]  # fmt: skip


def test_right_and_wrong_guesses(show_widget):
    page = show_widget(explore.predict("What?", 1))
    for answer, tolerance, text, right in RIGHT_OR_WRONG:
        start = explore.predict("What?", answer, tolerance).start
        guess_and_answer = [start["kind"], text.strip(), start["answer"], start["tolerance"]]
        assert page.page.evaluate(_JUDGE, guess_and_answer) is right, (answer, text)


def test_a_near_guess_is_right_and_shows_the_distance(show_widget, snapshot):
    page = show_widget(explore.predict("What?", 0.24, tolerance=0.02))
    guess(page, "0.25")
    assert verdict(page) == "passed" and note(page) == snapshot


def test_what_a_reader_types_is_text(show_widget):
    page = show_widget(explore.predict("What?", "a"))
    guess(page, "b")
    guess(page, "<script>x</script>")
    assert "<script>" not in page.root.inner_html() and "<script>x</script>" in note(page)


def test_a_first_answer_is_kept_for_later(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "kept.json"))
    widget = explore.predict("How many?", 10)
    heard = {"event": "answered", "right": True, "sure": "certain", "said": "10"}
    for message in (heard, "what is this", {"event": "other"}):
        widget._handle_custom_msg(message, [])  # as the browser sends it
    kept = read_answers()
    assert list(kept) == ["How many?"]
    entry = kept["How many?"]
    assert (entry["kind"], entry["right"], entry["sure"]) == ("predictions", True, "certain")
    assert entry["start"] == widget.start


@pytest.mark.parametrize(
    "arguments, name",
    [
        ({"question": "", "answer": 1}, "question"),
        ({"question": "What?", "answer": None}, "answer"),
        ({"question": "What?", "answer": ""}, "answer"),
        ({"question": "What?", "answer": []}, "answer"),
        ({"question": "What?", "answer": math.nan}, "answer"),
        ({"question": "What?", "answer": 1, "tolerance": -1}, "tolerance"),
        ({"question": "What?", "answer": 1, "tolerance": math.nan}, "tolerance"),
        ({"question": "What?", "answer": 1, "explain": 3}, "explain"),
    ],
)
def test_predict_rejects(arguments, name, snapshot):
    with pytest.raises(ValueError, match=f"^{name} must be ") as error:
        explore.predict(**arguments)
    assert str(error.value) == snapshot
