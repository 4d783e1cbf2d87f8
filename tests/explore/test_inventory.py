"""The concept inventory in a browser: moving, skipping, what is sent to the kernel, and what is not revealed."""

import json
import re

import pytest

from tests.explore.test_every_explorer import go_to, press
from utils.learner_data.progress import read_sittings
from utils.learning.forms import load_form
from utils.learning.inventory import Sitting

FORM_A = load_form("a")


@pytest.fixture(autouse=True)
def progress_path(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_PROGRESS", str(tmp_path / "progress.json"))


@pytest.fixture
def show_sitting(show_widget):
    """Show a sitting. Its last message can be delivered to the kernel, whose answer then reaches the page."""

    def show(number):
        widget = Sitting(number).widget
        page = show_widget(widget)
        page.page.clock.install()

        def deliver():
            widget.state = page.state()
            widget._handle_custom_msg(page.sent_messages()[-1], [])
            page.set_state(dict(widget.state))

        page.deliver = deliver
        return page

    return show


def shown_panel(page):
    return page.root.get_by_role("group").first.get_attribute("aria-label")


def focused(page):
    return page.page.evaluate("() => document.activeElement.ariaLabel ?? document.activeElement.textContent")


def lines_of_code(page):
    return page.root.locator("ol.code:visible code").evaluate_all("all => all.map(one => one.textContent)")


def note(page):
    return page.root.locator(".note").inner_text()


def test_nothing_is_preselected_and_each_question_is_shown_alone(show_sitting):
    page = show_sitting(1)
    press("Begin")(page)
    for place, item in enumerate(FORM_A):
        assert shown_panel(page) == focused(page) == f"Question {place + 1} of 12"
        assert page.root.get_by_role("radio").count() == 4 and page.root.locator("input:checked").count() == 0
        assert sorted(page.root.locator("label.option").all_inner_texts()) == sorted(item.choices)
        assert lines_of_code(page) == item.code
        press("Skip")(page)
    assert shown_panel(page) == focused(page) == "Before you finish"


def test_code_keeps_its_indentation_and_numbers_its_lines(show_sitting):
    page = show_sitting(1)
    go_to("Question 10 of 12")(page)
    assert lines_of_code(page)[1].startswith("    ")
    look = "one => [getComputedStyle(one).whiteSpace, getComputedStyle(one.closest('ol')).listStyleType]"
    assert page.root.locator("ol.code:visible code").first.evaluate(look) == ["pre-wrap", "decimal"]


def test_back_and_forward_keep_what_was_chosen_and_skip_takes_it_back(show_sitting):
    page = show_sitting(1)
    press("Begin")(page)
    page.root.get_by_role("radio").nth(2).check()
    press("Next")(page)
    press("Back")(page)
    assert page.root.get_by_role("radio").nth(2).is_checked()
    press("Next")(page)
    press("Back")(page)
    press("Skip")(page)
    press("Back")(page)
    assert page.root.locator("input:checked").count() == 0 and page.state()["chosen"] == {"A1": -1}
    assert page.root.get_by_role("button", name="Back").get_attribute("aria-disabled") == "true"


def test_next_without_an_answer_stays_and_says_what_to_do(show_sitting):
    page = show_sitting(1)
    press("Begin")(page)
    press("Next")(page)
    assert shown_panel(page) == "Question 1 of 12" and focused(page) == "Next"
    assert note(page) == page.root.get_by_role("status").inner_text() == "Choose an answer, or press Skip."
    page.root.get_by_role("radio").first.check()
    assert note(page) == ""


@pytest.mark.parametrize("width", [320, 700, 1100])
def test_the_buttons_stay_where_they_are(show_sitting, width):
    """They have one place for all questions, also when an answer is chosen or when Next says that none is."""
    page = show_sitting(1)
    page.page.set_viewport_size({"width": width, "height": 900})
    press("Begin")(page)
    places = set()
    for _ in FORM_A:
        for act in (lambda: press("Next")(page), lambda: page.root.get_by_role("radio").nth(3).check()):
            act()
            places.add(tuple(map(tuple, page.root.locator(".row button").evaluate_all(_PLACES))))
        press("Skip")(page)
    assert len(places) == 1 and len(places.pop()) == 3
    finish = page.root.get_by_role("button", name="Finish").bounding_box()
    row = page.root.get_by_role("button", name="Back").bounding_box()
    assert finish["y"] + finish["height"] <= row["y"]  # a double click on Skip does not finish


_PLACES = "all => all.map(one => one.getBoundingClientRect()).map(at => [at.x, at.y + scrollY, at.width, at.height])"


def test_keys_alone_answer_and_finish(show_sitting):
    page = show_sitting(1)
    keys = page.page.keyboard
    keys.press("Tab")
    keys.press("Enter")
    keys.press("Tab")
    keys.press("Space")  # the first radio button
    keys.press("ArrowDown")
    assert page.root.get_by_role("radio").nth(1).is_checked() and page.state()["chosen"] == {"A1": 1}
    for name in ("Back", "Skip", "Next"):
        keys.press("Tab")
        assert focused(page) == name
    keys.press("Enter")
    assert focused(page) == "Question 2 of 12"
    for _ in range(11):
        while focused(page) != "Skip":
            keys.press("Tab")
        keys.press("Enter")
    assert focused(page) == "Before you finish"
    while focused(page) != "Finish":
        keys.press("Tab")
    keys.press("Enter")
    assert page.sent_messages()[-1]["done"] is True


def test_the_review_leads_to_each_question_and_names_its_state(show_sitting):
    page = show_sitting(1)
    press("Begin")(page)
    page.root.get_by_role("radio").first.check()
    press("Next")(page)
    while shown_panel(page) != "Before you finish":
        press("Skip")(page)
    names = page.root.locator("ul.places button").all_inner_texts()
    assert names[0] == "Question 1: answered" and names[1:] == [f"Question {n}: skipped" for n in range(2, 13)]
    assert "answered 1 of 12" in page.root.inner_text()
    press("Question 7: skipped")(page)
    assert shown_panel(page) == "Question 7 of 12"


def test_a_sitting_is_recorded_when_it_is_finished_and_shows_only_the_score(show_sitting):
    page = show_sitting(1)
    press("Begin")(page)
    for item in FORM_A[:5]:
        right = next(text for text, label in item.choices.items() if label == "correct")
        page.page.clock.run_for(30_000)
        page.root.get_by_role("radio", name=right.replace("`", ""), exact=True).check()
        assert page.sent_messages()[-1]["minutes"][item.id] == pytest.approx(0.5, abs=0.01)
        press("Next")(page)
    while shown_panel(page) != "Before you finish":
        press("Skip")(page)
    page.deliver()
    assert not read_sittings()[1]["done"]
    press("Finish")(page)
    assert "run this cell again" in note(page)
    page.deliver()
    entry = read_sittings()[1]
    assert entry["done"] and [item["choice"] for item in entry["items"]] == ["correct"] * 5 + [""] * 7
    assert {item["minutes"] for item in entry["items"][:5]} == {0.5}
    text = page.root.inner_text()
    assert "5 of 12 answers were right" in text and "you get the same questions again" in text
    assert shown_panel(page) == focused(page) == "Result" and "5 of 12" in page.root.get_by_role("status").inner_text()
    assert not any(item.concept in text for item in FORM_A)
    assert page.root.get_by_role("button").count() == 0


def test_form_b_names_the_concepts_that_were_right(show_sitting):
    page, form_b = show_sitting(2), load_form("b")
    press("Begin")(page)
    right = next(text for text, label in form_b[0].choices.items() if label == "correct")
    page.root.get_by_role("radio", name=right.replace("`", ""), exact=True).check()
    press("Next")(page)
    while shown_panel(page) != "Before you finish":
        press("Skip")(page)
    press("Finish")(page)
    page.deliver()
    rows = page.root.locator("ul.plain li").all_inner_texts()
    assert rows == [f"✓ right: {form_b[0].concept}"] + [f"✗ not right: {item.concept}" for item in form_b[1:]]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_page_gets_no_correct_choice(show_sitting, number):
    """Neither the initial values nor a saved notebook or a message says which choice is correct or what is wrong."""
    page = show_sitting(number)
    go_to("Before you finish")(page)
    widget = Sitting(number).widget
    traits = json.dumps([dict(widget.start), dict(widget.state), page.state(), page.sent_messages()])
    assert not re.search(r"\b(correct|rationale|misconception|right)\b", traits)
    for item in load_form("a") + load_form("b"):
        for label in item.choices.values():
            assert f'"{label}"' not in traits


def test_time_with_the_page_hidden_does_not_count(show_sitting):
    page = show_sitting(1)
    press("Begin")(page)
    hide = """hidden => {
        Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});
        document.dispatchEvent(new Event('visibilitychange'));
    }"""
    page.page.clock.run_for(60_000)
    page.page.evaluate(hide, True)
    page.page.clock.run_for(180_000)
    page.page.evaluate(hide, False)
    page.page.clock.run_for(30_000)
    press("Skip")(page)
    assert page.state()["minutes"]["A1"] == pytest.approx(1.5, abs=0.02)


def test_without_a_kernel_the_page_says_what_to_do(show_sitting):
    page = show_sitting(1)
    page.page.evaluate("() => { window.gone = true; }")
    go_to("Before you finish")(page)
    press("Finish")(page)
    assert note(page).startswith("The score needs a kernel.")


def test_an_unfinished_sitting_continues_at_the_first_open_question(show_sitting):
    page = show_sitting(1)
    press("Begin")(page)
    page.root.get_by_role("radio").nth(3).check()
    press("Next")(page)
    press("Skip")(page)
    page.deliver()
    press("Back")(page)
    press("Back")(page)
    order = page.root.locator("label.option").all_inner_texts()
    again = show_sitting(1)
    press("Continue")(again)
    assert shown_panel(again) == "Question 3 of 12"
    press("Back")(again)
    press("Back")(again)
    assert again.root.get_by_role("radio").nth(3).is_checked()
    assert again.root.locator("label.option").all_inner_texts() == order
