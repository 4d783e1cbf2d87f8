"""The items of the concept inventory: their fields, their distractors, and cues that would give an answer away."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from utils import lessons
from utils.exercises.exercise import all_exercises

ITEMS = lessons.ROOT / "utils" / "learning" / "items"
FORMS = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(ITEMS.glob("form_*.yaml"))}
# A reader who does not know the answer prefers the choice with a word of caution, and rejects a choice with advice.
CAUTION = set(
    "may might can could some sometimes often usually mostly about nearly only here likely then still".split()
)
ADVICE = {"should", "must", "belongs", "needs"}
EVERY_ITEM = [pytest.param(item, id=item["id"]) for form in FORMS.values() for item in form]


def _lengths(item: dict) -> tuple[int, list[int]]:
    """Return the length of the correct choice, and the lengths of the distractors."""
    (correct,) = [len(choice["text"]) for choice in item["choices"] if choice.get("correct")]
    return correct, [len(choice["text"]) for choice in item["choices"] if not choice.get("correct")]


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z_]+", text.lower()))


def _split_choices(item: dict) -> tuple[set[str], list[set[str]]]:
    """Return the words of the correct choice, and the words of each distractor."""
    (correct,) = [_words(choice["text"]) for choice in item["choices"] if choice.get("correct")]
    return correct, [_words(choice["text"]) for choice in item["choices"] if not choice.get("correct")]


def test_both_forms_ask_about_the_same_twelve_concepts():
    concepts = {name: [item["concept"] for item in form] for name, form in FORMS.items()}
    assert list(concepts) == ["form_a", "form_b"]
    assert concepts["form_a"] == concepts["form_b"]
    assert len(set(concepts["form_a"])) == 12


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_a_third_of_the_items_ask_for_the_wrong_line_and_the_reason(form):
    with_code = [item for item in form if "code" in item]
    assert len(with_code) == 4
    for item in with_code:
        numbers = [line.split()[0] for line in item["code"].splitlines()]
        assert numbers == [str(n) for n in range(1, len(numbers) + 1)], item["id"]
        assert all(" because " in choice["text"] for choice in item["choices"]), item["id"]


@pytest.mark.parametrize("item", EVERY_ITEM)
def test_one_choice_is_correct_and_every_other_choice_is_a_misconception_of_the_course(item):
    assert item["rationale"].strip()
    assert len({choice["text"] for choice in item["choices"]}) == 4
    assert sum(bool(choice.get("correct")) for choice in item["choices"]) == 1
    for choice in item["choices"]:
        assert set(choice) in ({"text", "correct"}, {"text", "misconception"})
        if "misconception" in choice:
            exercise, misconception = choice["misconception"].split("/")
            assert misconception in {m.id for m in all_exercises()[exercise].misconceptions}


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_the_length_of_a_choice_does_not_give_the_answer_away(form):
    """A learner who always picks the longest or the shortest choice gets no more than a guess of one in two."""
    lengths = [_lengths(item) for item in form]
    assert sum(correct > max(others) for correct, others in lengths) <= 6
    assert sum(correct < min(others) for correct, others in lengths) <= 6


@pytest.mark.parametrize("item", EVERY_ITEM)
def test_no_choice_stands_out_by_caution_or_advice(item):
    correct, distractors = _split_choices(item)
    assert correct & CAUTION <= set.union(*distractors)
    assert ADVICE & set.union(*distractors) <= correct


@pytest.mark.parametrize("item", EVERY_ITEM)
def test_a_distractor_has_as_many_words_of_the_question_as_the_correct_choice(item):
    question = {word for word in _words(item["question"] + item.get("code", "")) if len(word) > 3}
    correct, distractors = _split_choices(item)
    assert len(correct & question) <= max(len(words & question) for words in distractors)


@pytest.mark.parametrize("item", EVERY_ITEM)
def test_no_item_repeats_a_question_of_a_lesson(item):
    question = " ".join(item["question"].split()).lower()
    for path in Path(lessons.ROOT / "solutions").glob("[0-9]*.md"):
        assert question not in " ".join(path.read_text(encoding="utf-8").split()).lower(), path.name
