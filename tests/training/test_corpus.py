"""Tests of the training text: it is seeded, has no end, and contains no held-out combination."""

import os
import re
from itertools import combinations, islice, pairwise

import pytest

from tests.fresh_python import printed_output
from utils.lessons import ROOT
from utils.training import corpus
from utils.training.corpus import NAMES, OBJECTS, PLACES, ioi_sentences, is_held_out_pair, sentences

HEADLINE = re.compile(r"^(\w+) ([A-Z]\w+) and ([A-Z]\w+) (?:\w+ )+the (\w+), (\w+) \w+ (?:an?|the) (\w+) to$")


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return list(islice(sentences(7), 20_000))


def test_a_seed_decides_the_text_in_every_process(texts: list[str]) -> None:
    program = (
        "from itertools import islice; from utils.training.corpus import sentences;"
        " print(list(islice(sentences(7), 50)))"
    )
    for salt in ("1", "2"):
        env = {**os.environ, "PYTHONHASHSEED": salt, "PYTHONPATH": str(ROOT)}
        assert printed_output(program, env) == repr(texts[:50])
    assert list(islice(sentences(8), 50)) != texts[:50]


def test_the_word_lists_hold_no_word_twice() -> None:
    for words in (NAMES, PLACES, OBJECTS, corpus.ANIMALS, corpus.WORDS, corpus.FACTS):
        assert len(set(words)) == len(words)
    assert not set(NAMES) & set(PLACES) | set(PLACES) & set(OBJECTS)


def test_no_training_text_holds_what_is_kept_back(texts: list[str]) -> None:
    """Search each text for held-out pairs, independently of `has_held_out_pair`."""
    for text in texts:
        words = set(re.sub(r"[^A-Za-z]", " ", text).split())
        names, places, things = (sorted(words & set(group)) for group in (NAMES, PLACES, OBJECTS))
        pairs = [*combinations(names, 2), *((place, thing) for place in places for thing in things)]
        assert not any(is_held_out_pair(*pair) for pair in pairs), text


def test_a_tenth_is_kept_back_and_the_rest_is_met(texts: list[str]) -> None:
    pairs = list(combinations(NAMES, 2))
    share = sum(is_held_out_pair(*pair) for pair in pairs) / len(pairs)
    assert 0.07 < share < 0.13 and all(is_held_out_pair(a, b) == is_held_out_pair(b, a) for a, b in pairs)
    met = {
        tuple(sorted((a, b))) for a, b in re.findall(r"(?:When|After|While|As|Once) (\w+) and (\w+) ", "\n".join(texts))
    }
    assert len(met) > 0.9 * len([pair for pair in pairs if not is_held_out_pair(*pair)])


def test_the_famous_sentence_is_kept_back(texts: list[str]) -> None:
    assert is_held_out_pair("Mary", "John") and is_held_out_pair("store", "drink")
    assert not any("Mary" in text and "John" in text for text in texts)


@pytest.mark.parametrize("held_out", [True, False])
def test_the_one_who_does_not_give_gets_it(held_out: bool) -> None:
    found = ioi_sentences(200, 3, held_out)
    assert len(set(found)) == 200 and found == ioi_sentences(200, 3, held_out)
    first_gives = 0
    for prompt, answer in found:
        _, a, b, place, giver, thing = HEADLINE.fullmatch(prompt).groups()
        assert {a, b} <= set(NAMES) and a != b and place in PLACES and thing in OBJECTS
        assert giver in (a, b) and answer == " " + (a if giver == b else b)
        assert is_held_out_pair(a, b) == is_held_out_pair(place, thing) == held_out
        first_gives += giver == a
    assert 60 < first_gives < 140


def test_more_sentences_than_there_are_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "PLACES", ["store"])
    monkeypatch.setattr(corpus, "OBJECTS", ["drink"])  # a held-out pair
    with pytest.raises(ValueError, match="0 of 2"):
        ioi_sentences(2, 0, held_out=False)
    assert len(ioi_sentences(2, 0)) == 2


def test_random_lists_hold_no_word_twice_and_nothing_that_is_kept_back() -> None:
    words = [*(" " + name for name in NAMES), *PLACES, *OBJECTS, "ly", " ,"]
    found = list(islice(corpus.random_word_lists(words, 5, 3, 9), 2000))
    assert {len(places) for places in found} == set(range(3, 10))
    assert {place for places in found for place in places} == set(range(len(words)))
    assert found == list(islice(corpus.random_word_lists(words, 5, 3, 9), 2000)) and found[0] != found[1]
    for places in found:
        assert len(set(places)) == len(places)
        held = [words[place].strip() for place in places]
        names, where, things = ([word for word in held if word in group] for group in (NAMES, PLACES, OBJECTS))
        assert not any(is_held_out_pair(*pair) for pair in combinations(names, 2))
        assert not any(is_held_out_pair(place, thing) for place in where for thing in things)


def test_texts_are_varied_and_whole(texts: list[str]) -> None:
    assert len(set(texts)) > 0.8 * len(texts)
    assert not [text for text in texts if not text.strip() or "  " in text or text != text.strip()]
    assert not [text for text in texts if re.search(r"\ba [aeiou]|\ban [^aeiou]", text)]
    every = " ".join(texts)
    assert all(
        re.search(rf"\b{word}\b", every) for word in {*NAMES, *PLACES, *OBJECTS, *corpus.ANIMALS, *corpus.CAPITALS}
    )


def test_lists_repeat_and_counting_counts(texts: list[str]) -> None:
    numbers = {word: value for value, word in enumerate(corpus.NUMBERS, 1)}
    counted = [
        line
        for text in texts
        if (line := re.split(r",? ", text.rstrip("."))) and len(line) >= 5 and all(word in numbers for word in line)
    ]
    steps = [{numbers[b] - numbers[a] for a, b in pairwise(line)} for line in counted if len(set(line)) == len(line)]
    assert steps.count({1}) > 100 and steps.count({-1}) > 50
    assert (
        sum(text == " ".join(words[: len(words) // 2] * 2) for text in texts if len(words := text.split()) >= 6) > 200
    )
