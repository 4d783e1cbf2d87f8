"""Every choice of a quiz is explained once it was chosen, and not before."""

import pytest

from utils import explore

CHOICES = {"red": "Red is `hot`.", "green & blue": "Green is <cold>.", "blue": "Blue is far."}


def notes(page):
    return page.root.locator(".note").all_inner_texts()


def test_every_choice_is_explained_once_chosen_and_not_before(show_widget):
    page = show_widget(explore.quiz("Which?", CHOICES, "blue"))
    assert notes(page) == ["", "", ""] and "far" not in page.root.inner_html()
    for i, text in (
        (1, "Not this one. Green is <cold>."),
        (2, "Right. Blue is far."),
        (0, "Not this one. Red is hot."),
    ):
        page.root.get_by_role("button").nth(i).click()
        assert notes(page)[i] == page.root.get_by_role("status").inner_text() == text
    assert page.state()["chosen"] == ["green & blue", "blue", "red"]
    assert page.sent() == [{"event": "answered", "right": False, "sure": "fairly sure", "said": "green & blue"}]


def test_the_whole_choice_can_be_pressed_and_by_key(show_widget):
    page = show_widget(explore.quiz("Which?", CHOICES, "blue"))
    page.root.get_by_text("green & blue").click()
    assert notes(page)[1]
    page.page.keyboard.press("Tab")
    page.page.keyboard.press("Space")
    assert notes(page)[2] == "Right. Blue is far."
    assert page.page.evaluate("() => document.activeElement.textContent") == "Cblue"


def test_a_saved_quiz_keeps_what_was_chosen(show_widget):
    widget = explore.quiz("Which?", CHOICES, "blue")
    widget.state = {"chosen": ["red"], "sure": "guessing"}
    assert notes(show_widget(widget)) == ["Not this one. Red is hot.", "", ""]


def test_choices_are_lettered_in_words():
    said = repr(explore.quiz("Which?", CHOICES, "blue"))
    assert "A) red B) green & blue C) blue" in said and "far" not in said


@pytest.mark.parametrize(
    "choices, answer, message",
    [
        ({"a": "x"}, "a", "2 to 8 choices"),
        (["a", "b"], "a", "2 to 8 choices"),
        ({"a": "x", "b": "y"}, "c", "the answer 'c' is not among the choices: 'a', 'b'"),
        ({"a": "x", "b": ""}, "a", "the explanation of 'b' must be a string with something in it"),
    ],
)
def test_quiz_refuses(choices, answer, message):
    with pytest.raises(ValueError, match=message):
        explore.quiz("Which?", choices, answer)
