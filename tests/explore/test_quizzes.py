"""Every choice of a quiz is explained when it is chosen, and not before."""

import pytest
from playwright.sync_api import expect

from utils import explore

CHOICES = {"red": "Red is `hot`.", "green & blue": "Green is <cold>.", "blue": "Blue is far."}


def notes(page):
    return page.root.locator(".note").all_inner_texts()


def test_every_choice_is_explained_once_chosen_and_not_before(show_widget, snapshot):
    page = show_widget(explore.quiz("Which?", CHOICES, "blue"))
    assert page.root.locator("input:checked").count() == 0
    assert notes(page) == ["", "", ""] and "far" not in page.root.inner_html()
    for i, verdict in ((1, "failed"), (2, "passed"), (0, "failed")):
        page.root.get_by_role("button").nth(i).click()
        assert notes(page)[i] == page.root.get_by_role("status").inner_text()
        assert verdict in page.root.locator(".note").nth(i).get_attribute("class")
    assert notes(page) == snapshot
    assert page.state()["chosen"] == ["green & blue", "blue", "red"]
    assert page.sent_messages() == [{"event": "answered", "right": False, "sure": "", "said": "green & blue"}]


def test_the_whole_choice_can_be_pressed_and_by_key(show_widget):
    page = show_widget(explore.quiz("Which?", CHOICES, "blue"))
    page.root.get_by_text("green & blue").click()
    assert notes(page)[1]
    page.page.keyboard.press("Tab")
    page.page.keyboard.press("Space")
    assert notes(page)[2].endswith("Blue is far.")
    expect(page.root.get_by_role("button", name="C blue")).to_have_accessible_description("Right. Blue is far.")
    assert page.page.evaluate("() => document.activeElement.textContent") == "Cblue"


def test_a_saved_quiz_keeps_what_was_chosen(show_widget):
    widget = explore.quiz("Which?", CHOICES, "blue")
    widget.state = {"chosen": ["red"], "sure": "guessing"}
    red, *others = notes(show_widget(widget))
    assert red.endswith("Red is hot.") and others == ["", ""]


def test_a_choice_in_another_tab_counts_in_this_tab(show_widget):
    page = show_widget(explore.quiz("Which?", CHOICES, "blue"))
    page.set_state({"chosen": ["red"], "sure": "guessing"})
    assert notes(page)[0].endswith("Red is hot.")
    page.root.get_by_role("button").nth(2).click()
    assert page.state() == {"chosen": ["red", "blue"], "sure": "guessing"} and page.sent_messages() == []


def test_in_a_terminal_choices_have_letters(snapshot):
    text = repr(explore.quiz("Which?", CHOICES, "blue"))
    assert text == snapshot and "far" not in text


@pytest.mark.parametrize(
    "choices, answer, pattern",
    [
        ({"a": "x"}, "a", "2 to 8"),
        (["a", "b"], "a", "2 to 8"),
        ({"a": "x", "b": "y"}, "c", "answer 'c'"),
        ({"a": "x", "b": ""}, "a", "explanation of 'b'"),
    ],
)
def test_quiz_rejects(choices, answer, pattern, snapshot):
    with pytest.raises(ValueError, match=pattern) as error:
        explore.quiz("Which?", choices, answer)
    assert str(error.value) == snapshot
