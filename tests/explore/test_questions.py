"""A guess comes before the truth, and every choice of a quiz is explained once it was chosen."""

import math

import pytest
import torch

from tests.explore.panels import everything_said, plain, press_enter
from utils import explore


def test_nothing_is_revealed_before_a_guess():
    panel = explore.predict("How many are `True`?", 1234, explain="Because of 5678.")
    panel.guess.value = "12"  # typing is not yet a guess
    assert "1234" not in everything_said(panel) and "5678" not in everything_said(panel) and "1234" not in repr(panel)
    assert "<code>True</code>" in panel.children[0].value


@pytest.mark.parametrize("way", ["enter", "button"])
def test_a_guess_stands_beside_the_truth(way):
    panel = explore.predict("How many?", 10, explain="1 + 2 + 3 + 4")
    panel.guess.value = "12"
    press_enter(panel.guess) if way == "enter" else panel.button.click()
    assert plain(panel.result) == "Not this time. Your guess: 12 The answer: 10 off by 2 1 + 2 + 3 + 4"
    assert panel.guess.disabled and panel.button.disabled and panel.show_me.disabled


def test_the_first_guess_counts():
    panel = explore.predict("How many?", 10)
    panel.guess.value = "12"
    press_enter(panel.guess)
    panel.guess.value = "10"
    press_enter(panel.guess)
    assert "Your guess: 12" in plain(panel.result)


def test_show_me_gives_the_answer_without_a_verdict():
    panel = explore.predict("How many?", 10, explain="Count.")
    panel.show_me.click()
    assert plain(panel.result) == "The answer: 10 Count."


@pytest.mark.parametrize("text", ["", "  ", "many", "nan", "1/0", "twelve"])
def test_what_is_no_number_reveals_nothing(text):
    panel = explore.predict("How many?", 10)
    panel.guess.value = text
    panel.button.click()
    assert "a number" in plain(panel.result) and "10" not in plain(panel.result) and not panel.guess.disabled


@pytest.mark.parametrize(
    "answer, tolerance, guess, right",
    [
        (10, 0, "10", True), (10, 0, " 10.0 ", True), (10, 0, "11", False), (10, 0, "-10", False), (-1, 0, "−1", True),
        (0.25, 0, "1/4", True), (0.25, 0, "25%", True), (0.25, 0, "0.26", False),
        (0.24, 0.02, "0.26", True), (0.24, 0.02, "0.27", False),
        (0.3, 0.1, "0.2", True), (math.inf, 0, "inf", True), (-math.inf, 0, "inf", False),
        (torch.tensor(1.5), 0, "1.5", True),
        ("nan", 0, "NaN", True), ("the last row", 0, "The  last ROW", True), ("journey", 0, "starts", False),
        (True, 0, "yes", True), (True, 0, "False", False),
        ([6, 3], 0, "[6, 3]", True), ([6, 3], 0, "6 x 3", True), ((6, 3), 0, "torch.Size([6, 3])", True),
        ([6, 3], 0, "3, 6", False), ([6, 3], 0, "6", False),
    ],
)  # fmt: skip
def test_right_and_wrong_are_said_in_words(answer, tolerance, guess, right):
    panel = explore.predict("What?", answer, tolerance)
    panel.guess.value = guess
    panel.button.click()
    assert plain(panel.result).startswith("Right." if right else "Not this time.")


def test_a_near_guess_is_right_and_says_how_near():
    panel = explore.predict("What?", 0.24, tolerance=0.02)
    panel.guess.value = "0.25"
    panel.button.click()
    assert plain(panel.result) == "Right. Your guess: 0.25 The answer: 0.24 off by 0.01"


def test_what_a_reader_types_is_text():
    panel = explore.predict("What?", "a")
    panel.guess.value = "<script>x</script>"
    panel.button.click()
    assert "<script>" not in panel.result.value and "<script>x</script>" in plain(panel.result)


@pytest.mark.parametrize(
    "given, message",
    [
        ({"question": "", "answer": 1}, "question must be a string"),
        (
            {"question": "What?", "answer": None},
            "answer must be a number, a string, a bool or a list of numbers; got None",
        ),
        ({"question": "What?", "answer": ""}, "answer must be a number"),
        ({"question": "What?", "answer": []}, "answer must be a number"),
        ({"question": "What?", "answer": 1, "tolerance": -1}, "tolerance must be a number of at least 0; got -1"),
        ({"question": "What?", "answer": 1, "tolerance": math.nan}, "tolerance must be"),
        ({"question": "What?", "answer": 1, "explain": 3}, "explain must be a string"),
    ],
)
def test_predict_refuses(given, message):
    with pytest.raises(ValueError, match=message):
        explore.predict(**given)


# ---------------------------------------------------------------- quiz
CHOICES = {"red": "Red is `hot`.", "green & blue": "Green is <cold>.", "blue": "Blue is far."}


def test_every_choice_is_explained_once_chosen_and_not_before():
    panel = explore.quiz("Which?", CHOICES, "blue")
    for choice in CHOICES:
        assert panel.explanations[choice].value == ""
    assert "far" not in everything_said(panel)
    for choice, text in (
        ("green & blue", "Not this one. Green is <cold>."),
        ("blue", "Right. Blue is far."),
        ("red", "Not this one. Red is hot ."),
    ):
        panel.buttons[choice].click()
        assert plain(panel.explanations[choice]) == text
    assert not any(button.disabled for button in panel.buttons.values())


def test_choices_are_lettered_whole_and_in_words():
    panel = explore.quiz("Which?", CHOICES, "blue")
    assert [button.description for button in panel.buttons.values()] == ["A", "B", "C"]
    assert "green &amp; blue" in everything_said(panel)
    assert "A) red B) green & blue C) blue" in repr(panel) and "far" not in repr(panel)


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
