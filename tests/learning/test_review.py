"""The schedule of repeated questions, with the real py-fsrs and without a real clock."""

import ast
import itertools
import json
import re
import subprocess
import sys
from datetime import datetime, timedelta, timezone

import fsrs
import pytest

from utils import lessons
from utils.learner_data.progress import merge_progress, read_answers, read_reviews, record_answer
from utils.learning.review import Question, due_questions, review, schedule, select_questions

START = datetime(2026, 3, 1, 9, tzinfo=timezone.utc)
DAY = timedelta(days=1)


@pytest.fixture
def places(monkeypatch):
    """Let the questions of these tests belong to lessons."""
    every = dict.fromkeys(("q", "r", "first", "again", "a", "other"), ("02_simplified_attention", ""))
    monkeypatch.setattr("utils.learning.review.find_questions", lambda: every)


def answer(path, question, right=True, sure="fairly sure", when=START, kind="quizzes"):
    """Write a first answer into the progress file, at a time of our choice."""
    content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    entry = {"kind": kind, "start": {"question": question}, "right": right, "sure": sure, "when": when.isoformat()}
    content.setdefault("answers", {})[question] = entry
    path.write_text(json.dumps(content), encoding="utf-8")


def due_texts(now):
    return [question.text for question in due_questions(now)]


def find(text, now=START):
    return next(question for question in schedule(now) if question.text == text)


ANSWERS = [  # right, how sure, the days until the question is due for the first time
    (False, "certain", 1), (False, "guessing", 1), (False, "", 1),
    (True, "guessing", 1), (True, "fairly sure", 2), (True, "", 2), (True, "certain", 8),
]  # fmt: skip


@pytest.mark.parametrize("right, sure, days", ANSWERS)
def test_a_first_answer_is_due_after_whole_days(places, progress_path, right, sure, days):
    answer(progress_path, "q", right, sure)
    assert due_texts(START + days * DAY - timedelta(seconds=1)) == []
    assert due_texts(START + days * DAY) == ["q"]


def test_a_later_answer_in_the_lesson_changes_only_the_schedule(places, progress_path, monkeypatch):
    answer(progress_path, "q", right=False, sure="certain")
    monkeypatch.setattr("utils.learner_data.progress._now", lambda: (START + DAY).isoformat())
    record_answer("quizzes", {"question": "q"}, right=True, sure="certain")
    assert due_texts(START + 3 * DAY) == [] and due_texts(START + 9 * DAY) == ["q"]
    assert (find("q").entry["right"], find("q").entry["when"]) == (False, START.isoformat())


def test_reviews_follow_the_scheduler(places, progress_path):
    """The same ratings, given to py-fsrs directly, lead to the same due times."""
    answer(progress_path, "q")
    scheduler = fsrs.Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)
    card, _ = scheduler.review_card(fsrs.Card(due=START), fsrs.Rating.Good, START)
    now, intervals = START, []
    answers = [(True, "certain", fsrs.Rating.Easy), (True, "", fsrs.Rating.Good), (False, "certain", fsrs.Rating.Again)]
    for right, sure, rating in [*answers, (True, "guessing", fsrs.Rating.Hard)]:
        now = find("q", now).due
        review(find("q", now), right, sure, now)
        card, _ = scheduler.review_card(card, rating, now)
        assert find("q", now).due == card.due and due_texts(card.due) == ["q"] and due_texts(card.due - DAY / 2) == []
        intervals.append((card.due - now).days)
    assert intervals[0] < intervals[1] > intervals[2]


def test_a_review_does_not_change_the_first_answer(places, progress_path):
    answer(progress_path, "q", right=True, sure="certain")
    before = read_answers()
    review(find("q"), False, "guessing", START + 8 * DAY)
    assert read_answers() == before and find("q", START + 8 * DAY).due == START + 9 * DAY


def test_an_answer_in_the_lesson_continues_the_schedule(places, progress_path):
    answer(progress_path, "q")
    review(find("q"), True, "certain", START + 2 * DAY)
    later = find("q", START + 3 * DAY).due
    answer(progress_path, "q", right=False, when=START + 3 * DAY)
    assert find("q", START + 3 * DAY).due < later


def test_a_clock_that_is_set_back_does_no_harm(places, progress_path):
    """A clock that was a month ahead is corrected: questions are due at once, and then again within the usual time."""
    ahead = START + 30 * DAY
    answer(progress_path, "first", when=ahead)
    answer(progress_path, "again", when=START - 9 * DAY)
    review(find("again", ahead), False, "certain", ahead)
    assert sorted(due_texts(START)) == ["again", "first"]
    for text in ("first", "again"):
        review(find(text, START), True, "fairly sure", START)
        assert due_texts(START) == [each for each in ("again",) if text == "first"]
        assert START + DAY <= find(text, START).due < ahead - 10 * DAY
    assert due_texts(START + 20 * DAY) == ["again", "first"]  # before the wrong date
    assert all(entry["when"] <= START.isoformat() for entry in read_reviews().values())


DAMAGED = [
    {"stability": 3.0, "difficulty": 2.0, "due": "soon", "when": START.isoformat()},
    {"stability": 0, "difficulty": 2.0, "due": START.isoformat(), "when": START.isoformat()},
    {"stability": "3", "difficulty": 2.0, "due": START.isoformat(), "when": START.isoformat()},
    {"stability": True, "difficulty": 2.0, "due": START.isoformat(), "when": START.isoformat()},
    {"stability": 3.0, "due": START.isoformat(), "when": START.isoformat()},
    {"stability": 3.0, "difficulty": 2.0, "due": "2026-03-02T00:00:00", "when": START.isoformat()},
    [],
    None,
]


@pytest.mark.parametrize("damaged", DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_schedule_starts_again_from_the_first_answer(places, progress_path, damaged):
    answer(progress_path, "q", sure="certain")
    content = json.loads(progress_path.read_text(encoding="utf-8"))
    progress_path.write_text(json.dumps(content | {"reviews": {"q": damaged}}), encoding="utf-8")
    assert find("q").due == START + 8 * DAY
    review(find("q"), True, "certain", START + 8 * DAY)
    assert read_reviews()["q"]["when"] == (START + 8 * DAY).isoformat()


def test_answers_without_a_readable_time_count_as_new(places, progress_path):
    answer(progress_path, "q")
    content = json.loads(progress_path.read_text(encoding="utf-8"))
    for when in ("yesterday", "2020-01-01", "2020-01-01T00:00:00"):
        content["answers"]["q"]["when"] = when
        progress_path.write_text(json.dumps(content), encoding="utf-8")
        assert find("q").due == START + 2 * DAY


def test_only_predictions_and_quizzes_are_repeated(places, progress_path):
    answer(progress_path, "other", kind="sentences")
    answer(progress_path, "a", kind="predictions")
    assert [question.text for question in schedule(START)] == ["a"]


def test_schedules_of_two_machines_are_merged(places, progress_path, tmp_path):
    """Of two reviews of one question, the later one counts, whatever the order of the files."""
    answer(progress_path, "q")
    answer(progress_path, "r")
    other = tmp_path / "other.json"
    other.write_bytes(progress_path.read_bytes())
    review(find("q"), True, "certain", START + 2 * DAY)
    here = progress_path.read_bytes()
    progress_path.write_bytes(other.read_bytes())
    review(find("q"), False, "", START + 3 * DAY)
    review(find("r"), False, "", START + DAY)
    expected = read_reviews()
    assert {text: entry["when"] for text, entry in expected.items()} == {
        "q": (START + 3 * DAY).isoformat(),
        "r": (START + DAY).isoformat(),
    }
    there = progress_path.read_bytes()
    for first, second in ((here, there), (there, here)):
        progress_path.write_bytes(first)
        other.write_bytes(second)
        merge_progress(other)
        assert read_reviews() == expected


# --- the selection ------------------------------------------------------------------------------------


def neighbours(questions):
    return sum(a.lesson == b.lesson for a, b in itertools.pairwise(questions))


def select(texts, n):
    """Select from questions that are due in this order; each text is a lesson and a number."""
    found = [Question(text, {}, START + i * DAY, text[0], "") for i, text in enumerate(texts.split())]
    return select_questions(found, n)


SELECTIONS = [
    ("A0 A1 A2 B0 C0", 3, "A0 B0 C0"),  # as many lessons as possible
    ("A0 A1 A2 B0", 3, "A0 B0 A1"),
    ("B0 A0 A1", 3, "A0 B0 A1"),  # a lesson that is not the first must begin
    ("A0 A1 A2", 3, "A0 A1 A2"),  # one lesson: in the order of the due times
    ("C0 B0 A0", 2, "C0 B0"),  # the question that is due longest begins
    ("", 3, ""),
]


@pytest.mark.parametrize("texts, n, expected", SELECTIONS)
def test_the_selection_mixes_lessons(texts, n, expected):
    assert " ".join(question.text for question in select(texts, n)) == expected


def test_no_neighbours_of_one_lesson_if_any_order_avoids_it():
    """All multisets of up to six questions from three lessons, compared with all their orders."""
    for size in range(1, 7):
        for letters in itertools.combinations_with_replacement("ABC", size):
            names = [f"{letter}{i}" for i, letter in enumerate(letters)]
            best = min(
                sum(a[0] == b[0] for a, b in itertools.pairwise(order)) for order in itertools.permutations(names)
            )
            chosen = select(" ".join(names), size)
            assert neighbours(chosen) == best and sorted(question.text for question in chosen) == sorted(names)


def test_every_question_of_the_course_has_its_lesson_and_its_context(progress_path):
    """The texts are found by a regular expression. No text occurs twice, because answers are stored by the text."""
    pattern = r'(?m)^explore\.(predict|quiz)\(\s*((?:"(?:[^"\\\n]|\\.)*"\s*)+)'
    found = [
        (ast.literal_eval(f"({text})"), (path.stem, kind))
        for path in lessons.all_lessons()
        for kind, text in re.findall(pattern, path.read_text(encoding="utf-8"))
    ]
    asked = dict(found)
    for text, (_, kind) in asked.items():
        answer(progress_path, text, kind={"predict": "predictions", "quiz": "quizzes"}[kind])
    known = {question.text: question for question in schedule(START)}
    assert {text: question.lesson for text, question in known.items()} == {
        text: stem for text, (stem, _) in asked.items()
    }
    assert len(found) == len(asked) == 82
    assert known["The variance:"].context == "What is the variance? Square −3, −1, 1 and 3, then take the mean."
    assert known["Row starts, column journey:"].context.startswith("You computed the score in row journey, column")
    assert known["Why not divide the scores by their sum, without exp?"].context == ""
    contexts = [known[text].context for text, (_, kind) in asked.items() if kind == "predict"]
    assert all(contexts), "outside its lesson, a prediction can be answered only with its context"
    assert not re.search(r"(?i)\b(above|below|next cell|in that|folded)\b", "\n".join(contexts))


def test_check_imports_no_scheduler():
    code = "import sys; from utils import check, progress; progress().due; assert 'fsrs' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=lessons.ROOT)


def test_a_learner_who_answered_nothing_reads_no_lesson(progress_path, monkeypatch):
    """The last cell of each lesson calls this."""
    monkeypatch.setattr(lessons, "read_lesson", None)
    assert due_questions(START) == []
