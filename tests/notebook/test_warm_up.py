"""The questions that are due: how they are announced, asked, repeated and scheduled again."""

import json
from datetime import datetime, timedelta, timezone

import pytest

from tests.explore.test_every_explorer import EXPLORERS
from utils import progress
from utils.learner_data.progress import read_answers, read_reviews
from utils.notebook.progress_view import ProgressView
from utils.notebook.warm_up import load_warm_up

START = datetime(2026, 3, 1, 9, tzinfo=timezone.utc)
LATER = START + timedelta(days=1)
VARIANCE, MEAN, SQUARED = "The variance:", "The mean of the output:", "The squared error after 300 steps:"  # 06, 06, 04
QUIZ = "Why was one layer not enough here for words of different lengths?"  # 08


@pytest.fixture
def answered(progress_path):
    """Three wrong predictions and a wrong quiz, answered one minute after the other."""
    starts = {QUIZ: ("quizzes", dict(EXPLORERS["quiz"]().start))}
    starts |= {text: ("predictions", dict(EXPLORERS["predict"]().start)) for text in (VARIANCE, MEAN, SQUARED)}
    answers = {
        text: {
            "kind": starts[text][0],
            "start": starts[text][1] | {"question": text},
            "right": False,
            "sure": "certain",
            "when": (START + timedelta(minutes=minute)).isoformat(),
        }
        for minute, text in enumerate((VARIANCE, MEAN, SQUARED, QUIZ))
    }
    progress_path.write_text(json.dumps({"answers": answers}), encoding="utf-8")
    return progress_path


def view(now):
    return ProgressView(clock=lambda: now)


def say(widget, right, sure="certain"):
    """Answer as the browser does."""
    widget._handle_custom_msg({"event": "answered", "right": right, "sure": sure, "said": "10"}, [])


def texts(box):
    return [widget.start["question"] for widget in box.children]


def test_due_is_one_sentence(answered, capsys):
    minute = timedelta(minutes=1)
    for now, line in (
        (LATER - minute, "No question is due for review.\n"),
        (LATER, "1 question is due for review: progress().warm_up().\n"),
        (LATER + 9 * minute, "4 questions are due for review: progress().warm_up().\n"),
    ):
        assert view(now).due() is None and capsys.readouterr().out == line
        assert line.strip() in repr(view(now))
        assert ("<code>progress().warm_up()</code>" in view(now)._repr_html_()) == ("warm_up" in line)


def test_without_answers_no_question_is_due_whatever_the_clock(progress_path, capsys):
    for year in (1970, 2026, 2100):
        view(datetime(year, 1, 1, tzinfo=timezone.utc)).due()
    assert capsys.readouterr().out == "No question is due for review.\n" * 3


PEEKING = "A head without a mask learns to predict the next random number. What error does it reach in training?"


def test_a_warm_up_asks_three_questions_in_their_context_and_mixes_lessons(answered):
    asked = repr(view(LATER + timedelta(hours=1)).warm_up()).splitlines()
    assert asked == [
        "1. Lesson 06. What is the variance? Square −3, −1, 1 and 3, then take the mean. The variance:",
        f"2. Lesson 04. {PEEKING} The squared error after 300 steps:",
        "3. Lesson 08. Why was one layer not enough here for words of different lengths?",
    ]
    assert len(repr(view(LATER + timedelta(hours=1)).warm_up(9)).splitlines()) == 4


def test_a_question_that_fails_is_asked_again_in_the_same_session(answered):
    now = LATER + timedelta(hours=1)
    box = view(now).warm_up().make_box()
    assert texts(box)[0] == "Lesson 06. What is the variance? Square −3, −1, 1 and 3, then take the mean. The variance:"
    assert len(box.children) == 3 and all(widget.state["sure"] == "" for widget in box.children)
    say(box.children[0], right=False)
    assert texts(box)[3] == texts(box)[0] and box.children[3].state["done"] == "" and len(box.children) == 4
    say(box.children[1], right=True)
    say(box.children[3], right=True, sure="guessing")
    assert len(box.children) == 4
    box.children[2]._handle_custom_msg({"event": "other"}, [])
    assert set(read_reviews()) == {VARIANCE, SQUARED}
    left = repr(view(now).warm_up()).splitlines()
    assert len(left) == 2 and left[0].endswith(MEAN) and left[1].endswith(QUIZ)


def test_a_warm_up_does_not_change_the_record_of_first_answers(answered):
    before = read_answers()
    box = view(LATER + timedelta(hours=1)).warm_up().make_box()
    for widget in box.children[:3]:
        say(widget, right=True)
    assert read_answers() == before


def test_a_quiz_is_asked_again_with_nothing_chosen(answered):
    widget = view(LATER + timedelta(hours=1)).warm_up().make_box().children[2]
    assert widget.kind == "quizzes" and widget.state == {"chosen": [], "sure": ""}
    assert widget.start["choices"] == EXPLORERS["quiz"]().start["choices"]


@pytest.mark.parametrize("sure, words", [("guessing", "1 day"), ("fairly sure", "2 days"), ("certain", "8 days")])
def test_without_due_questions_the_warm_up_says_when(answered, capsys, sure, words):
    content = json.loads(answered.read_text(encoding="utf-8"))
    for entry in content["answers"].values():
        entry |= {"when": START.isoformat(), "right": True, "sure": sure}
    answered.write_text(json.dumps(content), encoding="utf-8")
    view(START + timedelta(hours=1)).warm_up()._ipython_display_()
    assert capsys.readouterr().out == f"No question is due. The next question is due in {words}.\n"


def test_nothing_to_warm_up_with(progress_path, capsys, snapshot):
    progress().warm_up()._ipython_display_()
    assert capsys.readouterr().out == snapshot


@pytest.mark.parametrize("n", [0, -1, 1.5, "3", True, None])
def test_the_number_of_questions_must_be_positive(progress_path, n):
    with pytest.raises(ValueError, match="n must be a whole number of at least 1"):
        load_warm_up(n)
