"""Generate any amount of training text for the small GPT-2 from our own word lists and grammar.

The text contains short stories, sentences about who gave what to whom, questions, short dialogues, counting, repeated
lists and plain statements. `sentences(seed)` never ends. The same seed gives the same text on every machine and in
every version of Python.

Some combinations are held out, so that tests can use sentences that a model has never read. A hash selects a
tenth of all pairs of names, and a tenth of all pairs of a place and an object. No text from `sentences` contains a
held-out combination.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import TypeVar

T = TypeVar("T")

SHE = """Mary Anna Sarah Emma Lucy Alice Jane Kate Laura Julia Helen Rose Grace Linda Clara Maria Sophie Nora Ruth Eva
Lily Amy Diana Susan Lisa Rachel Zoe Rosa Elena Maya""".split()
HE = """John Tom Jack David Peter Bob Paul Mark Sam Adam George Henry James Daniel Simon Oscar Leo Ben Frank Max
Hugo Luke Martin Thomas Robert Kevin Carl Eric Victor Omar""".split()
NAMES = sorted(SHE + HE)

# The first places, objects and animals in these lists occur most often. Therefore, a trained model has clear
# preferences, and a temperature can change them.
PLACES = """store park school beach library garden market station office kitchen museum river farm lake zoo cafe
restaurant hospital cinema church bakery forest hotel bridge harbor theater castle airport playground village""".split()
OBJECTS = """drink book ball apple gift letter flower hat cake map key ticket coat ring cup pen coin basket toy sandwich
camera phone bag box blanket cookie lamp picture plate shirt bottle chair guitar mirror orange pencil rope sword watch
umbrella""".split()
ANIMALS = "dog cat bird horse fish cow rabbit duck sheep mouse goat fox bear lion".split()
COLORS = "red blue green yellow black white brown pink".split()
ADJECTIVES = "big small old new nice heavy clean pretty round broken".split()
FOODS = "bread soup rice cheese fruit cake fish pasta".split()
DRINKS = "water tea milk coffee juice".split()
JOBS = "teacher doctor farmer singer driver baker painter writer".split()
FEELINGS = "happy tired hungry sad thirsty cold".split()
WEATHER = "sunny cold rainy windy warm cloudy".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = "January February March April May June July August September October November December".split()
NUMBERS = """one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen twenty""".split()
LETTERS = [chr(65 + i) for i in range(26)]
MORE = """tree house door window table road song story game name word head hand eye night morning water fire stone wind
sun moon star snow rain leaf boat train car bus wheel bell drum milk bread gold silver iron paper glass wood""".split()
WORDS = sorted({*NAMES, *PLACES, *OBJECTS, *ANIMALS, *COLORS, *FOODS, *JOBS, *NUMBERS, *MORE, *LETTERS, *DAYS})

CAPITALS = {
    "France": "Paris", "England": "London", "Spain": "Madrid", "Italy": "Rome", "Germany": "Berlin", "Japan": "Tokyo",
    "China": "Beijing", "Russia": "Moscow", "Egypt": "Cairo", "Greece": "Athens", "Canada": "Ottawa",
    "Ireland": "Dublin",
}  # fmt: skip
OPPOSITES = [
    pair.split("/")
    for pair in """hot/cold big/small old/new up/down left/right day/night black/white open/closed fast/slow
happy/sad full/empty high/low long/short early/late light/dark rich/poor wet/dry strong/weak""".split()
]
FACTS = [
    fact
    for line in """\
The sun is hot.|Ice is cold.|The sky is blue.|Grass is green.|Snow is white.|Milk is white.|Blood is red.
A dog is an animal.|A cat is an animal.|A rose is a flower.|An apple is a fruit.|An orange is a fruit.
Gold is a metal.|Iron is a metal.|Birds can fly.|Fish can swim.|Dogs can run.|Cows give milk.|Bees make honey.
Cats like milk.|Fish live in water.|Birds live in trees.|The moon goes around the earth.
The earth goes around the sun.|A day has twenty-four hours.|An hour has sixty minutes.
A minute has sixty seconds.|A week has seven days.|A year has twelve months.|A hand has five fingers.
A spider has eight legs.|A dog has four legs.|A bird has two legs.|A bird has two wings.|A car has four wheels.
Water is wet.|Stones are hard.|Sugar is sweet.|The sun comes up in the morning.|The moon shines at night.
The stars shine at night.|We sleep at night.|We eat when we are hungry.|We drink when we are thirsty.
We read books.|We sing songs.|We write letters.|Winter is cold.|Summer is warm.|Spring comes after winter.
Summer comes after spring.|Autumn comes after summer.|Winter comes after autumn.""".splitlines()
    for fact in line.split("|")
]

_SHE, _NAMES, _PLACES, _OBJECTS = frozenset(SHE), frozenset(NAMES), frozenset(PLACES), frozenset(OBJECTS)
_HEADLINE = (("John", "Mary"), ("store", "drink"))  # the pairs in the well-known sentence about Mary and John


def is_held_out_pair(first: str, second: str) -> bool:
    """Return True if no training text contains this pair: two names in any order, or a place and an object."""
    pair = tuple(sorted((first, second))) if first in _NAMES else (first, second)
    return pair in _HEADLINE or hashlib.sha256("|".join(pair).encode()).digest()[0] < 26


def has_held_out_pair(text: str) -> bool:
    """Return True if the text contains a held-out combination."""
    words = set(re.findall(r"[A-Za-z]+", text))
    names = any(is_held_out_pair(a, b) for a, b in combinations(sorted(words & _NAMES), 2))
    return names or any(is_held_out_pair(place, thing) for place in words & _PLACES for thing in words & _OBJECTS)


def sentences(seed: int) -> Iterator[str]:
    """Yield training texts without end. A text is a few sentences, a list, a count or a sum.

    No text contains a held-out combination.
    """
    writer = _TextSampler(seed)
    kinds, weights = zip(*_KINDS.items())
    while True:
        text = writer.choose_weighted(kinds, weights)(writer)
        if not has_held_out_pair(text):
            yield text


def random_word_lists(words: Sequence[str], seed: int, shortest: int, longest: int) -> Iterator[list[int]]:
    """Yield lists without end. Each has `shortest` to `longest` items: distinct indices into `words`.

    The words in a list never contain a held-out combination.
    """
    writer = _TextSampler(seed)
    while True:
        places = writer.sample(range(len(words)), writer.random_integer(shortest, longest))
        if not has_held_out_pair(" ".join(words[place] for place in places)):
            yield places


def ioi_sentences(n: int, seed: int, held_out: bool = True) -> list[tuple[str, str]]:
    """Return `n` different prompts, each with its next word.

    An example is `("When Mary and John went to the store, John gave a drink to", " Mary")`. With `held_out`, the
    prompt's two names never occur together in `sentences`, and neither do its place and object. Without `held_out`,
    either pair may occur in `sentences`.

    Raises:
        ValueError: `n` different prompts were not found; perhaps fewer exist.
    """
    writer, prompts = _TextSampler(seed), {}
    for _ in range(1000 * (n + 1)):
        if len(prompts) == n:
            return list(prompts.items())
        (a, b), place, thing = writer.people(2), writer.choose(*PLACES), writer.choose(*OBJECTS)
        if is_held_out_pair(a, b) == is_held_out_pair(place, thing) == held_out:
            prompt, other = writer.gift_prompt(a, b, place, thing)
            prompts[prompt] = " " + other
    raise ValueError(f"found only {len(prompts)} of {n} different sentences; perhaps no more exist.")


class _TextSampler:
    """Samples words and writes texts.

    It uses only `random()`, which gives the same numbers in every version of Python.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random

    # Random choices

    def choose(self, *options: T) -> T:
        return options[int(self._random() * len(options))]

    def random_integer(self, low: int, high: int) -> int:
        return low + int(self._random() * (high - low + 1))

    def is_chosen(self, p: float) -> bool:
        return self._random() < p

    def choose_weighted(self, options: Sequence[T], weights: Sequence[float] | None = None) -> T:
        """Choose one option by weight. By default, the first options are the most likely."""
        weights = weights or [1 / (rank + 3) for rank in range(len(options))]
        left = self._random() * sum(weights)
        for option, weight in zip(options, weights):
            left -= weight
            if left < 0:
                return option
        return options[-1]

    def sample(self, options: Sequence[T], n: int) -> list[T]:
        """Choose `n` different options, in random order."""
        rest = list(options)
        return [rest.pop(int(self._random() * len(rest))) for _ in range(n)]

    def people(self, n: int) -> list[str]:
        return self.sample(NAMES, n)

    def thing(self) -> str:
        return self.choose_weighted(OBJECTS)

    def place(self) -> str:
        return self.choose_weighted(PLACES)

    # Texts

    def gift_prompt(self, a: str, b: str, place: str, thing: str) -> tuple[str, str]:
        """Return a prompt about a gift, and the name of the person who receives the gift.

        An example of a prompt is `When Mary and John went to the store, John gave a drink to`.
        """
        giver, other = (a, b) if self.is_chosen(0.5) else (b, a)
        first = self.choose("When", "When", "After", "While", "As", "Once")
        moved = ("went to", "went to", "came to", "got to", "walked to", "were at")
        verb = self.choose(*(("were at", "were at", "played at", "sat at", "met at") if first == "While" else moved))
        gave = self.choose("gave", "gave", "gave", "handed", "passed", "offered", "brought", "sold", "showed")
        what = _with_article(thing) if self.is_chosen(0.75) else f"the {thing}"
        return f"{first} {a} and {b} {verb} the {place}, {giver} {gave} {what} to", other

    def _who_gave(self) -> str:
        (a, b), thing = self.people(2), self.thing()
        text, other = self.gift_prompt(a, b, self.place(), thing)
        giver = b if other == a else a
        end = self.choose(
            f" {_pronoun(other).capitalize()} said thank you.", f" {other} said thank you.", f" {other} was happy.",
            f" {other} liked the {thing}.",
            f" Now {other} has the {thing}.", f" {other} gave the {thing} back to {giver}.", " Then they went home.",
            "",
        )  # fmt: skip
        question = self.choose(
            *[""] * 3,
            f" Who has the {thing}? {other} has the {thing}.",
            f" Who gave the {thing} to {other}? {giver} gave the {thing} to {other}.",
        )
        return f"{text} {other}." + (question if "back" not in end else "") + end

    def _gave_first(self) -> str:
        (a, b), thing = self.people(2), self.thing()
        start = self.choose(
            f"{a} and {b} went to the {self.place()}.",
            f"{a} and {b} were at the {self.place()}.",
            f"{a} met {b} at the {self.place()}.",
            f"{a} went to see {b}.",
        )
        giver, other = (a, b) if self.is_chosen(0.5) else (b, a)
        deed = self.choose(
            f"{giver} had {_with_article(thing)} and gave it to {other}.",
            f"{giver} gave {other} {_with_article(thing)}.",
            f"{giver} gave {_with_article(thing)} to {other}.",
            f"{giver} bought {_with_article(thing)} for {other}.",
        )
        end = self.choose(
            f"{other} was happy.",
            f"{other} said thank you.",
            f"{other} thanked {giver} for the {thing}.",
            f"{other} put the {thing} in a bag.",
            "Then they went home.",
            f"Now {other} has the {thing}.",
        )
        return f"{start} {deed} {end}"

    def _story(self) -> str:
        a, b = self.people(2)
        he, thing, place = _pronoun(a), self.thing(), self.place()
        what = self.choose(*ADJECTIVES, *COLORS)
        lines = [self.choose(
            f"{a} went to the {place}.", f"One day {a} went to the {place}.",
            f"It was a {self.choose(*WEATHER)} day. {a} went to the {place}.",
            f"On {self.choose(*DAYS)} {a} went to the {place}.", f"{a} was at the {place}.",
            f"In the morning {a} walked to the {place}.",
            f"Every day {a} goes to the {place}. One day {he} went there with {b}.",
        )]  # fmt: skip
        if self.is_chosen(0.5):
            lines += [
                (
                    f"{he.capitalize()} {self.choose('found', 'saw', 'bought', 'had')}"
                    f" {_with_article(f'{what} {thing}')}."
                ),
                self.choose(f"The {thing} was {what}.", f"{a} liked the {thing}.", f"{a} took the {thing} home."),
            ]
        else:
            animal = self.choose_weighted(ANIMALS)
            lines += [
                f"{he.capitalize()} saw {_with_article(f'{what} {animal}')}.",
                self.choose(
                    f"The {animal} was {what}.",
                    f"{a} gave the {animal} some {self.choose(*FOODS + DRINKS)}.",
                    f"The {animal} looked at {a}.",
                    f"The {animal} ran away.",
                ),
            ]
        if self.is_chosen(0.5):
            lines.append(self.choose(
                f"Then {he} met {b}. {b} said hello to {a}.",
                f"There {he} met {b}. They talked about the {self.choose('weather', 'school', 'game', 'music')}.",
                f"{a} and {b} played together.",
                f"Then {b} came. {a} and {b} had {self.choose(*DRINKS)} and {self.choose(*FOODS)}.",
            ))  # fmt: skip
            lines.append(
                self.choose(
                    "Then they went home.", "They were happy.", "It was a good day.", "In the evening they went home."
                )
            )
        else:
            lines.append(
                self.choose(
                    f"Then {he} went home.",
                    f"{a} was {self.choose(*FEELINGS)}.",
                    f"In the evening {he} went home.",
                    f"{he.capitalize()} was very {self.choose(*FEELINGS)}.",
                )
            )
        return " ".join(lines)

    def _where(self) -> str:
        people, places = self.people(self.random_integer(2, 3)), self.sample(PLACES, 3)
        known = list(zip(people, places))
        text = " ".join(f"{who} is {self.choose('at', 'at', 'in')} the {place}." for who, place in known)
        for who, place in self.sample(known, self.random_integer(1, 2)):
            text += f" Where is {who}? {who} is at the {place}."
        return text

    def _likes(self) -> str:
        people = self.people(self.random_integer(2, 3))
        things = self.sample((*FOODS, *DRINKS, "music", "books", "flowers", "games"), 3)
        verb, question = "likes", "What does {} like?"
        if self.is_chosen(0.3):
            things = [_with_article(job) for job in self.sample(JOBS, 3)]
            verb, question = "is", "What is {}?"
        known = list(zip(people, things))
        facts = [f"{who} {verb} {thing}." for who, thing in known]
        answers = [f"{question.format(who)} {who} {verb} {thing}." for who, thing in self.sample(known, 2)]
        return " ".join([*facts, *answers])

    def _dialogue(self) -> str:
        (a, b), thing, place = self.people(2), self.thing(), self.place()
        said, feels = self.choose("said", "said", "asked"), self.choose("fine", "well", *FEELINGS)
        return self.choose(
            f'"Hello, {a}," said {b}. "Hello, {b}," said {a}. "How are you?" "I am {feels}," said {b}.',
            (
                f'"Where are you going?" asked {a}. "I am going to the {place}," said {b}. "May I come with you?"'
                f' "Yes, please," said {b}. So {a} and {b} went to the {place}.'
            ),
            (
                f'"Do you want {_with_article(thing)}?" asked {a}.'
                f' "{self.choose("Yes, please", "No, thank you")}," said {b}.'
            ),
            (
                f'"Who has the {thing}?" asked {a}. "I have the {thing}," said {b}. "Here it is."'
                f' "Thank you, {b}," said {a}.'
            ),
            (
                f'"Where is my {thing}?" {said} {a}. "It is at the {place}," said {b}.'
                f" So {a} went to the {place} to get the {thing}."
            ),
            f"{a}: Hello, {b}. How are you?\n{b}: I am {feels}, thank you. And you?\n{a}: I am {feels} too.",
            f"{a}: What is your name?\n{b}: My name is {b}. And what is your name?\n{a}: My name is {a}.",
            (
                f"My name is {a}. I am a {self.choose(*JOBS)}. I live near the {place}. My friend is {b}."
                f" {b} has {_with_article(thing)}."
            ),
            f"{a}: Where is the {thing}?\n{b}: The {thing} is at the {place}.\n{a}: Thank you, {b}.",
        )  # fmt: skip

    def _count(self) -> str:
        kind = self.random_integer(0, 8)
        join = self.choose(" ", " ", ", ", ", ")
        if kind <= 2:
            low = self.choose(0, 0, 0, self.random_integer(0, 14))
            run = NUMBERS[low : self.random_integer(low + 5, 20)]
        elif kind <= 4:
            low = self.choose(1, 1, self.random_integer(0, 80))
            run = [str(number) for number in range(low, low + self.random_integer(6, 16))]
        elif kind == 5:
            step, low = self.choose(2, 2, 5, 10), self.random_integer(0, 2)
            run = [str(number) for number in range(step * low, step * (low + 10), step)]
        elif kind == 6:
            high = self.random_integer(5, 20)
            run = NUMBERS[high - 1 :: -1]
        elif kind == 7:
            run = self.choose(DAYS, MONTHS)
            start = self.random_integer(0, len(run) - 1)
            run = (run * 2)[start : start + len(run)]
        else:
            start = self.random_integer(0, 12)
            run = LETTERS[start : start + self.random_integer(6, 13)]
        text = join.join(run)
        if kind <= 2 and self.is_chosen(0.3):
            return f"{self.people(1)[0]} can count from {run[0]} to {run[-1]}: {text}."
        return text + self.choose(".", "")

    def _repeat(self) -> str:
        """Write a list several times. After the first time, each word predicts the next."""
        source = self.choose(WORDS, WORDS, WORDS, ANIMALS, COLORS, NUMBERS, OBJECTS, LETTERS, NAMES)
        n = self.random_integer(3, min(12, len(source) - 1))
        words = self.sample(source, n)
        join = self.choose(" ", " ", " ", ", ")
        return join.join(words * self.random_integer(2, max(2, 28 // n)))

    def _fact(self) -> str:
        kind = self.random_integer(0, 9)
        if kind <= 4:
            return " ".join(self.sample(FACTS, self.random_integer(1, 3)))
        if kind <= 6:
            country = self.choose(*list(CAPITALS))
            city = CAPITALS[country]
            return self.choose(
                f"The capital of {country} is {city}.", f"{city} is the capital of {country}.",
                f"{city} is a city in {country}.",
                f"What is the capital of {country}? The capital of {country} is {city}.",
                f"{self.people(1)[0]} lives in {city}, the capital of {country}.",
            )  # fmt: skip
        if kind == 7:
            first, second = self.sample(self.choose(*OPPOSITES), 2)
            return self.choose(
                f"The opposite of {first} is {second}.",
                f"What is the opposite of {first}? The opposite of {first} is {second}.",
            )
        a, b = self.random_integer(1, 9), self.random_integer(1, 9)
        if kind == 8:
            return f"{a} + {b} = {a + b}"
        return f"{NUMBERS[a - 1].capitalize()} and {NUMBERS[b - 1]} is {NUMBERS[a + b - 1]}."


def _pronoun(name: str) -> str:
    return "she" if name in _SHE else "he"


def _with_article(noun: str) -> str:
    """Return the noun with its article: `a drink`, `an apple`."""
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


_KINDS: dict[Callable[[_TextSampler], str], float] = {
    _TextSampler._who_gave: 30, _TextSampler._gave_first: 7, _TextSampler._story: 18, _TextSampler._where: 5,
    _TextSampler._likes: 5, _TextSampler._dialogue: 9, _TextSampler._count: 9, _TextSampler._repeat: 30,
    _TextSampler._fact: 8,
}  # fmt: skip
