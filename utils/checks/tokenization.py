"""Define the exercises of lesson 01: from a text to token ids, and from logits to the next token."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import torch
from torch.nn import functional as F

from utils.checks._attention import softmax_values
from utils.checks._sampling import draws_from_its_generator
from utils.checks._wrong_answers import with_steps, wrong_answer
from utils.exercises.exercise import Float, Hints, Int, Wrong, case, exercise
from utils.gpt2.tokenizer import END_OF_TEXT
from utils.test_doubles.tokenization import END, FakeCausalLM, LazyTokenizer

# --- byte pairs -------------------------------------------------------------------------------------
# The oracles represent ids as a string with one character per id, so that str.replace can merge pairs.


def _text_of(ids):
    return "".join(map(chr, ids))


def _count(ids):
    text = _text_of(ids)
    return {(ord(a), ord(b)): n for (a, b), n in Counter(pairwise(text)).items()}


def _merge(ids, pair, new_id):
    return [ord(c) for c in _text_of(ids).replace(_text_of(pair), chr(new_id))]


def _train(text, n_merges):
    ids, merges = list(text.encode()), {}
    for new_id in range(256, 256 + n_merges):
        pair = Counter(pairwise(ids)).most_common(1)[0][0]
        merges[pair] = new_id
        ids = _merge(ids, pair, new_id)
    return merges


def _brief(ids):
    text = str(ids)
    return text if len(text) <= 80 else text[:77] + "..."


def _random_ids(rand, size, low=97, high=100):
    return rand.integers(size, low=low, high=high).tolist()


def _starts_anew(probe):
    """Check that a second call returns an equal result in a new object."""
    for trial in probe.trials:
        first, again = trial.yours.value, probe.run(trial.case).value
        if isinstance(first, (dict, list)) and type(first) is type(again) and (first is again or first != again):
            kind = "dict" if isinstance(first, dict) else "list"
            what = f"the same {kind}, not a new one" if first is again else f"different {kind}s"
            return (
                f"Two calls with the same arguments returned {what}. A default value in the signature, or a variable"
                f" of the notebook, keeps its contents between calls; create a new {kind} inside the function."
            )
    return None


def _first_met_first(probe):
    """Check the order of the pairs, because training merges the first of several equally frequent pairs."""
    for trial in probe.trials:
        yours, expected = trial.yours.value, trial.expected.value
        if isinstance(yours, dict) and yours == expected and list(yours) != list(expected):
            return (
                "The counts are right, but the order of the pairs is not: the dict should hold the pairs in the order"
                " in which they first occur. Training will break ties by this order, and a set or a sort loses it."
            )
    return None


def _as_many_as_neighbours(probe):
    """Check that the keys are pairs of neighbouring ids, and that the counts of n ids add up to n - 1."""
    for trial in probe.trials:
        yours, ids = trial.yours.value, list(trial.case.args[0])
        if not isinstance(yours, dict) or yours == trial.expected.value:
            continue
        stray = next((pair for pair in yours if pair not in trial.expected.value), None)
        if stray is not None:
            return (
                f"Your dict has the key {stray!r}, but {_brief(ids)} has no such pair of neighbours in this order. A"
                " key should be a tuple of two neighbouring ids, the left one first."
            )
        if all(isinstance(n, int) for n in yours.values()) and sum(yours.values()) != len(ids) - 1:
            return (
                f"For {_brief(ids)} your counts sum to {sum(yours.values())}. {len(ids)} ids have {len(ids) - 1} pairs"
                " of neighbours, and each pair counts once."
            )
    return None


@wrong_answer
def _without_overlaps(ids):
    """Three equal ids in a row contain the same pair twice, and you counted it once. Overlaps matter only for a merge;
    a count includes every place where the pair occurs.
    """
    counts, i, last = {}, 0, None
    while i < len(ids) - 1:
        pair = (ids[i], ids[i + 1])
        if pair != last:
            counts[pair] = counts.get(pair, 0) + 1
        last = pair if pair != last and pair[0] == pair[1] else None
        i += 1
    return counts


exercise(
    "count_pairs",
    oracle=_count,
    cases=lambda rand: [
        case([1, 2, 3]),
        case([7, 7, 7]),
        case([5]),
        case([]),
        case([97, 98, 97, 98, 97]),
        case([2, 1, 300, 2, 1, 2, 2, 2, 300]),
        case(_random_ids(rand, 12)),
        case(_random_ids(rand, 41)),
        case(_random_ids(rand, 150)),
    ],
    properties=[_starts_anew, _as_many_as_neighbours, _first_met_first],
    misconceptions={
        "each-pair-once": Wrong(
            lambda ids: dict.fromkeys(pairwise(ids), 1),
            "Every pair has the count 1, however often it occurs. A set, or a dict filled with ones, stores which"
            " pairs occur but not how often, and BPE needs the most frequent pair.",
        ),
        "starts-at-zero": Wrong(
            lambda ids: {pair: n - 1 for pair, n in Counter(pairwise(ids)).items()},
            "All your counts are one too small. The first occurrence of a pair counts too: the pair should enter the"
            " dict with the count 1.",
        ),
        "single-ids": Wrong(
            lambda ids: dict(Counter(ids)),
            "You counted single ids. A merge joins two neighbours, so count each id together with the id after it.",
        ),
        "two-by-two": Wrong(
            lambda ids: dict(Counter(zip(ids[::2], ids[1::2]))),
            "You split the ids into separate pairs: first with second, third with fourth. The second id and the third"
            " id are neighbours too: each id except the last starts a pair.",
        ),
        "order-forgotten": Wrong(
            lambda ids: dict(Counter(tuple(sorted(pair)) for pair in pairwise(ids))),
            "You counted (1, 2) and (2, 1) as the same pair. They are different pairs, as 'he' and 'eh' are: a merge"
            " replaces two ids only if they occur in the order of the pair.",
        ),
        "wraps-around": Wrong(
            lambda ids: dict(Counter(zip(ids, ids[1:] + ids[:1]))),
            "You also counted the pair of the last id and the first id. A text does not wrap around: nothing follows"
            " its last id.",
        ),
        "last-pair-missed": Wrong(
            lambda ids: dict(Counter(pairwise(ids[:-1]))),
            "The last pair is missing. A list of n ids has n - 1 neighbouring pairs, and your code stops one pair"
            " early.",
        ),
        "over-one-between": Wrong(
            lambda ids: dict(Counter(zip(ids, ids[2:]))),
            "You paired each id with the id two places after it. Only direct neighbours can be merged into one token.",
        ),
        "skips-overlaps": _without_overlaps,
    },
    hints=Hints(
        "Write the ids 1 2 3 1 2 in a row and draw an arc from each id to its right neighbour. How many arcs are"
        " there, and which pair has two?",
        "Put two copies of the list side by side, one shifted by one place: that gives the pairs. A dict counts them.",
        "Go through zip(ids, ids[1:]). For each pair, set its entry in the dict to one more than dict.get returns; use"
        " 0 as the default for a pair that is not in the dict yet.",
    ),
)


@wrong_answer
def _step_by_one(ids, pair, new_id):
    """The new id replaces only the first id of the pair, and the second id stays: [1, 2] becomes [9, 2]. One new id
    stands for both ids, so after a merge, move on by two places.
    """
    out, i = [], 0
    while i < len(ids):
        out.append(new_id if tuple(ids[i : i + 2]) == tuple(pair) else ids[i])
        i += 1
    return out


@wrong_answer
def _overlapping(ids, pair, new_id):
    """You merged overlapping pairs: [7, 7, 7] became two new ids, and both contain the middle 7. An id that has been
    merged is used up; otherwise the decoded text would be longer than the original.
    """
    hits = [i for i in range(len(ids) - 1) if (ids[i], ids[i + 1]) == tuple(pair)]
    covered = {j for i in hits for j in (i, i + 1)}
    return [new_id if i in hits else x for i, x in enumerate(ids) if i in hits or i not in covered]


@wrong_answer
def _loses_the_last(ids, pair, new_id):
    """If the last id is not merged, it is missing from your result. A loop that stops one place early, so that every id
    has a right neighbour, never copies the last id.
    """
    out, i = [], 0
    while i < len(ids) - 1:
        hit = (ids[i], ids[i + 1]) == tuple(pair)
        out.append(new_id if hit else ids[i])
        i += 2 if hit else 1
    return out


@wrong_answer
def _as_a_string(ids, pair, new_id):
    """You joined the ids into a string and replaced text in it. A match can then start in the middle of a number: the
    string "11 11" contains "1 11", so compare ids as numbers.
    """
    text = " ".join(map(str, ids)).replace(" ".join(map(str, pair)), str(new_id))
    return [int(x) for x in text.split()]


@wrong_answer
def _either_order(ids, pair, new_id):
    """You merged the two ids in either order. The new id would then stand for two different texts, and nobody could
    decode it.
    """
    out, i = [], 0
    while i < len(ids):
        hit = sorted(ids[i : i + 2]) == sorted(pair)
        out.append(new_id if hit else ids[i])
        i += 2 if hit else 1
    return out


def _spells_the_same(probe):
    """Check that merging does not change the text, and that the pair no longer occurs."""
    for trial in probe.trials:
        yours, (ids, pair, new_id) = trial.yours.value, trial.case.args
        if not isinstance(yours, list) or yours == trial.expected.value:
            continue
        spelt = [i for x in yours for i in (pair if x == new_id else (x,))]
        if spelt != list(ids):
            return (
                f"merge({_brief(ids)}, {pair}, {new_id}) gave {_brief(yours)}. With each {new_id} replaced by {pair}"
                f" again, this reads {_brief(spelt)}, but the text was {_brief(ids)}: a merge should not lose or add"
                " anything."
            )
        if any((a, b) == tuple(pair) for a, b in pairwise(yours)):
            return (
                f"merge({_brief(ids)}, {pair}, {new_id}) gave {_brief(yours)}, which still contains {pair}. Merge"
                " every occurrence of the pair, including the last one."
            )
    return None


@wrong_answer
def _in_place(ids, pair, new_id):
    """The result is right, but you wrote it into the list that was passed in. The caller still needs the old ids, to
    compare or to count again: build a new list.
    """
    ids[:] = _merge(ids, pair, new_id)
    return ids


def _read_ids(text):
    """Return each id as a separate object. Python shares only small integers, so `is` is False for equal large ids."""
    return [int(number) for number in text.split()]


exercise(
    "merge",
    oracle=_merge,
    cases=lambda rand: [
        case([1, 2], (1, 2), 9),
        case([1, 2, 1], (1, 2), 9),
        case([], (1, 2), 9),
        case([0, 1, 0, 2, 0], (0, 2), 9, note="with an id of 0"),
        case([7, 7, 7], (7, 7), 9),
        case(_read_ids("300 301 5 300 301"), tuple(_read_ids("300 301")), 302, note="with ids above 256"),
        case([2, 1, 3, 1, 2, 2, 1], (1, 2), 256),
        case([3, 4, 5], (5, 3), 256),
        case([5, 5, 5, 5, 6, 5, 5, 5], (5, 5), 300),
        case(_random_ids(rand, 15), (97, 98), 256),
        case(_random_ids(rand, 31), (98, 98), 257),
        case(
            [(1, 11, 2)[i] for i in rand.integers(30, high=3)], (1, 11), 112, note="with ids of one and of two digits"
        ),
    ],
    properties=[_starts_anew, _spells_the_same],
    misconceptions={
        "always-256": Wrong(
            lambda ids, pair, new_id: _merge(ids, pair, 256),
            "You always insert 256. The caller chooses the id and passes it as the argument new_id; only the first"
            " merge of a training run creates the id 256.",
        ),
        "as-a-string": _as_a_string,
        "second-left-behind": _step_by_one,
        "overlapping": _overlapping,
        "reversed": Wrong(
            lambda ids, pair, new_id: _merge(ids, pair[::-1], new_id),
            "You merged the pair in reverse order, the second id before the first. 'he' and 'eh' are"
            " different texts, so the first id of the pair must come first.",
        ),
        "either-order": _either_order,
        "first-only": Wrong(
            lambda ids, pair, new_id: [ord(c) for c in _text_of(ids).replace(_text_of(pair), chr(new_id), 1)],
            "You merged only the first occurrence. The new id is now part of the vocabulary, so it should replace"
            " every occurrence of the pair.",
        ),
        "last-lost": _loses_the_last,
        "from-the-right": Wrong(
            lambda ids, pair, new_id: _merge(ids[::-1], pair[::-1], new_id)[::-1],
            "You merge from the right: [7, 7, 7] became [7, 9]. Byte-pair encoding reads from the left and gives [9,"
            " 7], so every compatible tokenizer must do the same.",
        ),
        "list-against-tuple": Wrong(
            lambda ids, pair, new_id: list(ids),
            "You merged nothing. A slice of ids is a list and the pair is a tuple, and in Python a list never equals"
            " a tuple: convert one of them before you compare them.",
        ),
        "changes-its-input": _in_place,
    },
    hints=Hints(
        "Go through 7 7 7 7 7 from left to right and merge (7, 7) into 9. How many places do you move on after a merge,"
        " and how many otherwise?",
        "Build a new list with a while loop and an index: at each step, append either the new id or the id at the"
        " index.",
        "If ids[i: i + 2] equals the pair (the slice is a list, the pair a tuple), append new_id and move on by two"
        " places; otherwise append ids[i] and move on by one. At the end of the list the slice is shorter, which gives"
        " no error.",
    ),
)


@with_steps
def _train_step_by_step(
    text,
    n_merges,
    *,
    first=lambda text: list(text.encode()),
    best=lambda counts: max(counts, key=counts.get),
    number=lambda i: 256 + i,
    step=_merge,
):
    ids, merges = first(text), {}
    for i in range(n_merges):
        pair = best(_count(ids))
        merges[pair] = new_id = number(i)
        ids = step(ids, pair, new_id)
    return merges


def _last_of_the_best(counts):
    best = None
    for pair, n in counts.items():
        if best is None or n >= counts[best]:
            best = pair
    return best


@wrong_answer
def _within_words(text, n_merges):
    """Your merges never cross a space, as in GPT-2's tokenizer, which this lesson describes later. Here pairs are
    counted in the whole text, where the last letter of a word and the space after it are also a pair.
    """
    first, *others = text.split(" ")
    words = [list(word.encode()) for word in (first, *(f" {word}" for word in others))]
    merges = {}
    for new_id in range(256, 256 + n_merges):
        counts = sum((Counter(_count(word)) for word in words), Counter())
        if not counts:
            break
        merges[pair := max(counts, key=counts.get)] = new_id
        words = [_merge(word, pair, new_id) for word in words]
    return merges


@wrong_answer
def _counted_once(text, n_merges):
    """You counted the pairs only once, in the original bytes, and took the most frequent ones. A merge changes the
    text: new pairs with the new id appear and old pairs disappear, so count again after each merge.
    """
    ranked = Counter(zip(text.encode(), text.encode()[1:])).most_common(n_merges)
    return {pair: 256 + i for i, (pair, _) in enumerate(ranked)}


@wrong_answer
def _only_what_repeats(text, n_merges):
    """You stop when the best pair occurs only once. n_merges says how many merges to make; a pair that occurs once
    should be merged like any other.
    """
    ids, merges = list(text.encode()), {}
    while len(merges) < n_merges:
        pair, count = Counter(pairwise(ids)).most_common(1)[0]
        if count == 1:
            break
        merges[pair] = 256 + len(merges)
        ids = _merge(ids, pair, merges[pair])
    return merges


@wrong_answer
def _ids_after(text, n_merges):
    """You returned the merged ids of this one text. Training should return the merges, because they can be used to
    encode any other text too.
    """
    ids = list(text.encode())
    for pair, new_id in _train(text, n_merges).items():
        ids = _merge(ids, pair, new_id)
    return ids


def _reads_its_text(probe):
    """Check that the merges depend on the text."""
    merges = [list(t.yours.value.items()) for t in probe.trials if isinstance(t.yours.value, dict)]
    if len(merges) < len(probe.trials) or min(map(len, merges)) == 0:
        return None
    if all(a[: len(b)] == b[: len(a)] for a, b in pairwise(merges)):
        return (
            f"You return the same merges for every text: the first is always {merges[0][0][0]}. Does your function read"
            " a variable of the notebook instead of its argument `text`?"
        )
    return None


def _most_frequent_first(probe):
    """Check the number of merges, their ids, and whether the first merge is the most frequent pair."""
    for trial in probe.trials:
        yours, (text, n_merges) = trial.yours.value, trial.case.args
        if not isinstance(yours, dict) or yours == trial.expected.value:
            continue
        if len(yours) != n_merges:
            return (
                f"train_bpe({_brief(text)!r}, {n_merges}) gave a dict of length {len(yours)}, but n_merges is"
                f" {n_merges}. Each iteration should add one pair that was not merged before."
            )
        if list(yours.values()) != list(range(256, 256 + n_merges)):
            return (
                f"Your new ids are {_brief(list(yours.values()))}. The ids of the bytes end at 255, so the new ids"
                " should count up from 256, in the order of the merges."
            )
        counts, (first, *_) = _count(list(text.encode())), yours
        best = max(counts.values())
        if counts.get(first, 0) < best:
            return (
                f"In {_brief(text)!r} your first merge is {first}, but another pair is more frequent:"
                f" {best} occurrences against {counts.get(first, 0)}. The most frequent pair should be merged first."
            )
    return None


_TONGUE_TWISTERS = (
    "she sells sea shells by the sea shore, the shells she sells are sea shells",
    "how much wood would a woodchuck chuck if a woodchuck could chuck wood",
    "a big bug bit the little beetle but the little beetle bit the big bug back",
)

exercise(
    "train_bpe",
    oracle=_train,
    cases=lambda rand: [
        case("hello hello", 1),
        case("aaabdaaabac", 3),
        case("né né né, où où", 3),
        case("abcdef", 3, note="where each pair occurs once"),
        case(_TONGUE_TWISTERS[int(rand.integers(1, high=3))], 12),
        case("".join(map(chr, _random_ids(rand, 30))), 5),
        case(" ".join(_TONGUE_TWISTERS), 16, note="with 16 merges"),
    ],
    properties=[_starts_anew, _reads_its_text, _most_frequent_first],
    misconceptions={
        "characters-for-bytes": _train_step_by_step.replace(first=lambda text: [ord(c) for c in text]).wrong(
            "You started with one id per character. Then é gets an id that already belongs to a byte, and an emoji gets"
            " an id above 255; start from the bytes of the text instead, where é is two bytes."
        ),
        "ties-to-the-last": _train_step_by_step.replace(best=_last_of_the_best).wrong(
            "If several pairs are equally frequent, you take the pair whose first occurrence comes last. Take the pair"
            " that occurs first: a different rule gives a different vocabulary, in which the ids have different"
            " meanings."
        ),
        "ties-to-the-largest": Wrong(
            _train_step_by_step.replace(best=lambda counts: max(counts, key=lambda pair: (counts[pair], pair))),
            "If two pairs are equally frequent, you take the pair with the larger ids: when two tuples (count, pair)"
            " have equal counts, Python compares the pairs. Take the pair that occurs first.",
        ),
        "ties-to-the-smallest": Wrong(
            _train_step_by_step.replace(best=lambda counts: min(counts, key=lambda pair: (-counts[pair], pair))),
            "If two pairs are equally frequent, you take the pair with the smaller ids, as a sort does. Take the pair"
            " that occurs first.",
        ),
        "within-words": _within_words,
        "counted-once": _counted_once,
        "only-what-repeats": _only_what_repeats,
        "never-merged": _train_step_by_step.replace(step=lambda ids, pair, new_id: ids).wrong(
            "The ids never change, so each iteration finds the same pair, and the dict ends up with one entry. Carry"
            " out"
            " each merge before the next count."
        ),
        "least-frequent": _train_step_by_step.replace(best=lambda counts: min(counts, key=counts.get)).wrong(
            "You merged the rarest pair. The most frequent pair should get the new id, because its merge shortens the"
            " text most."
        ),
        "ids-from-zero": _train_step_by_step.replace(number=lambda i: i).wrong(
            "Your new ids start at 0, but the ids from 0 to 255 are taken: they are the bytes. The first new id should"
            " be 256."
        ),
        "ids-one-late": _train_step_by_step.replace(number=lambda i: 257 + i).wrong(
            "Your first new id is 257. The ids of the bytes end at 255, so the first new id should be 256; a gap in the"
            " ids would give the model a row of parameters that nothing uses."
        ),
        "ids-to-pairs": Wrong(
            lambda text, n_merges: {new_id: pair for pair, new_id in _train(text, n_merges).items()},
            "Your dict maps each new id to its pair, which is what a decoder needs. The exercise asks for {pair: new"
            " id}, because an encoder looks up pairs.",
        ),
        "returns-the-text": _ids_after,
    },
    hints=Hints(
        "You already have both halves: a function that counts and a function that merges. What happens in one"
        " iteration,"
        " and in which order?",
        "Start from the bytes of the text. In each iteration, count the pairs, take the most frequent one, store it in"
        " the"
        " dict with the next id, and merge it everywhere.",
        "text.encode() gives the bytes. max with key=counts.get returns the first of equally frequent pairs, if the"
        " dict holds the pairs in the order in which they first occur. Replace each merged pair by its new id.",
    ),
)

# --- the tokenizer of GPT-2 -------------------------------------------------------------------------


def _stored(text, tokenizer):
    """Return the tokens as the vocabulary stores them, with one character for each byte."""
    return tokenizer.backend.encode(text).tokens


def _pieces(text, tokenizer):
    """Return the text of each token. GPT-2's table maps the characters of stored tokens to bytes.

    Raises:
        ValueError: the text is empty. The lesson does not define this case: `batch_decode([])` is `[""]`.
    """
    if not text:
        raise ValueError("the text is empty.")
    table = {chr(c): c for c in (*range(33, 127), *range(161, 173), *range(174, 256))}
    for byte in range(256):
        if byte not in table.values():
            table[chr(256 + len(table) - 188)] = byte
    return [
        t if t == END_OF_TEXT else bytes(table[c] for c in t).decode(errors="replace") for t in _stored(text, tokenizer)
    ]


def _texts(rand):
    name = ["Ralph", "Benedict", "Wilhelmina", "Zorro"][int(rand.integers(1, high=4))]
    fixed = ["Ralph", " ralph likes  42 + 58 = 100", "A café, naïve: 日本 🙂", "<|endoftext|>one and one and one"]
    texts = [*fixed, f"Dear {name}, unbelievably {name.lower()}."]
    return [case(text, LazyTokenizer()) for text in texts] + [
        case("Dear naïve Wilhelmina", LazyTokenizer(n_merges=500), note="with another tokenizer")
    ]


def _new_texts(ids, tokenizer):
    beginnings = [tokenizer.decode(ids[:n]) for n in range(len(ids) + 1)]
    return [longer[len(shorter) :] for shorter, longer in pairwise(beginnings)]


exercise(
    "to_str_tokens",
    oracle=_pieces,
    cases=_texts,
    misconceptions={
        "text-again": Wrong(
            lambda text, tokenizer: tokenizer.decode(tokenizer.encode(text)),
            "You returned the whole text: decoding all ids at once gives it back unchanged, because a tokenizer loses"
            " nothing. To see where the tokens begin and end, decode the ids one at a time.",
        ),
        "one-string": Wrong(
            lambda text, tokenizer: [tokenizer.decode(tokenizer.encode(text))],
            "Your list has one entry, the whole text. To see where the tokens begin and end, decode the ids one at a"
            " time.",
        ),
        "words": Wrong(
            lambda text, tokenizer: text.split(),
            "You split the text at the spaces, which gives words. The tokens of GPT-2 are not words: a token can be"
            " part of a word, and the space before a word belongs to its token.",
        ),
        "spaces-stripped": Wrong(
            lambda text, tokenizer: [tokenizer.decode([i]).strip() for i in tokenizer.encode(text)],
            "You removed the spaces. They belong to the tokens: ' Ralph' and 'Ralph' have different ids, so the model"
            " sees two different things.",
        ),
        "words-one-by-one": Wrong(
            lambda text, tokenizer: [tokenizer.decode([i]) for word in text.split() for i in tokenizer.encode(word)],
            "You split the text at the spaces first and encoded each word separately. A word without the space before"
            " it has different tokens than the same word with the space.",
        ),
        "still-ids": Wrong(
            lambda text, tokenizer: list(tokenizer.encode(text)),
            "These are still the ids. Each id stands for a piece of text; decode it to get that piece.",
        ),
        "new-text-of-longer-beginnings": Wrong(
            lambda text, tokenizer: _new_texts(tokenizer.encode(text), tokenizer),
            "You decoded longer and longer prefixes of the text, and took what each token adds. If several tokens share"
            " a character, this gives different results; decode each id by itself.",
        ),
        "as-stored": Wrong(
            lambda text, tokenizer: _stored(text, tokenizer),
            "These are the tokens as the vocabulary stores them: Ġ for a space, and two odd characters for é. Each of"
            " these characters stands for one byte; decoding turns the bytes into text.",
        ),
        "only-the-space-translated": Wrong(
            lambda text, tokenizer: [t.replace("Ġ", " ") for t in _stored(text, tokenizer)],
            "You took each token as the vocabulary stores it, and replaced only Ġ with a space. Each of the other"
            " characters also stands for a byte, so é became two characters; decode the ids to convert all of them.",
        ),
        "end-left-out": Wrong(
            lambda text, tokenizer: [tokenizer.decode([i]) for i in tokenizer.encode(text) if i != END],
            "The token <|endoftext|> is missing. The model sees it like any other token, so it belongs in the list.",
        ),
        "first-and-last-cut": Wrong(
            lambda text, tokenizer: [tokenizer.decode([i]) for i in tokenizer.encode(text)[1:-1]],
            "The first and the last token of the text are missing. This tokenizer adds nothing before or after a text,"
            " so there is nothing to remove.",
        ),
        "first-cut": Wrong(
            lambda text, tokenizer: [tokenizer.decode([i]) for i in tokenizer.encode(text)[1:]],
            "The first token of the text is missing. This tokenizer adds nothing before a text, so there is nothing to"
            " cut off.",
        ),
        "characters": Wrong(
            lambda text, tokenizer: list(text),
            "You split the text into characters. The tokenizer merges frequent neighbours: a common word is a single"
            " token.",
        ),
        "each-token-once": Wrong(
            lambda text, tokenizer: [tokenizer.decode([i]) for i in dict.fromkeys(tokenizer.encode(text))],
            "If a token occurs twice, your list contains it only once. A set or a dict keeps each id once; a text"
            " needs all its tokens, in order.",
        ),
        "another-tokenizer": Wrong(
            lambda text, tokenizer: _pieces(text, LazyTokenizer()),
            "Your code splits the text with GPT-2's tokenizer even if another tokenizer is passed. Use the argument"
            " `tokenizer`: each tokenizer has its own merges and its own ids.",
        ),
        "special-dropped": Wrong(
            lambda text, tokenizer: [tokenizer.decode([i], skip_special_tokens=True) for i in tokenizer.encode(text)],
            "The token <|endoftext|> became an empty string, because special tokens were skipped. The model sees this"
            " token, so your list should show it too.",
        ),
    },
    hints=Hints(
        "The tokenizer has a method that turns a text into ids, and a method that turns ids into a text. What do you"
        " get back for a single id?",
        "Encode the text once; then decode the ids one at a time and collect the pieces.",
        "Write a list comprehension over tokenizer.encode(text) that calls tokenizer.decode on each id.",
    ),
)

# --- from logits to the next token ------------------------------------------------------------------


def _probability_steps(logits):
    last = {
        "the logits of the last position?": logits[:, -1],
        "the probabilities at every position?": logits.softmax(-1),
    }
    return last | softmax_values(logits[:, -1], "the probabilities", noun="logits")


exercise(
    "next_token_probs",
    oracle=lambda logits: torch.exp(logits[:, -1] - torch.logsumexp(logits[:, -1], dim=1, keepdim=True)),
    milestones=_probability_steps,
    cases=lambda rand: [
        case(rand(2, 3, 5)),
        case(rand(3, 4, 7)),
        case(rand(4, 2, 3)),
        case(rand(1, 6, 4)),
        case(rand(3, 1, 5), note="with a single position"),
        # The exponentials of these logits and their sum fit into float32. If an answer subtracts one maximum from all
        # logits, some differences are near -120, where exp gives 0.
        case(rand(3, 2, 5) + torch.tensor([60.0, 0.0, -60.0])[:, None, None], note="with logits around 60, 0 and -60"),
    ],
    returns=Float("batch vocab"),
    differentiable=False,  # generation needs no gradients, so an answer may use no_grad
    misconceptions={
        "over-positions": Wrong(
            lambda logits: logits.softmax(dim=1)[:, -1],
            "You applied softmax along the positions, so it compares the logits of one token at all positions. At each"
            " position, the probabilities of all tokens of the vocabulary should sum to one.",
        ),
        "mean-of-the-guesses": Wrong(
            lambda logits: logits.softmax(dim=-1).mean(dim=1),
            "You took the mean over all positions. Each position predicts its own next token; only the last position"
            " predicts the token after the whole text.",
        ),
        "over-the-batch": Wrong(
            lambda logits: logits[:, -1].softmax(dim=0),
            "You applied softmax along the batch, so it compares the logits of one token in all texts. For each text,"
            " the probabilities of all tokens of the vocabulary should sum to one.",
        ),
        "first-position": Wrong(
            lambda logits: logits[:, 0].softmax(dim=-1),
            "These are the probabilities after the first token. Each position predicts the token that follows it, so"
            " the last position predicts the token after the whole text.",
        ),
        "last-but-one": Wrong(
            lambda logits: logits[:, -2].softmax(dim=-1),
            "You took the second-to-last position, which predicts the last token: that token is already known. Only"
            " the last position predicts the token after the text.",
        ),
        "every-position": Wrong(
            lambda logits: logits.softmax(dim=-1),
            "Your result has a distribution for every position. All of them are right, but only the distribution at the"
            " last position predicts a token that is not in the text yet.",
        ),
        "first-text-only": Wrong(
            lambda logits: logits[0, -1].softmax(dim=-1),
            "This is the answer for the first text of the batch only. Keep the batch axis: return a row of"
            " probabilities for each text.",
        ),
        "first-text-in-a-batch": Wrong(
            lambda logits: logits[:1, -1].softmax(dim=-1),
            "Your result has only one row, for the first text of the batch. An index of 0, or a slice of length 1, on"
            " the batch axis selects one text; return a row of probabilities for each text.",
        ),
        "loses-the-batch": Wrong(
            lambda logits: logits[:, -1:].softmax(dim=-1).squeeze(),
            "For a batch of one text, your result loses the batch axis: squeeze() removes every axis of size 1. Select"
            " the last position with a plain integer as the index; then there is no axis of size 1 to remove.",
        ),
        "last-text": Wrong(
            lambda logits: logits[-1].softmax(dim=-1),
            "With the index -1 on the first axis you took the last text of the batch. The axes are batch, seq, vocab,"
            " so the positions are on the second axis.",
        ),
        "not-normalised": Wrong(
            lambda logits: logits[:, -1].exp(),
            "You took exp of the logits but did not divide. Probabilities must sum to one: divide the exponentials of"
            " each text by their sum.",
        ),
        "share-of-the-sum": Wrong(
            lambda logits: logits[:, -1] / logits[:, -1].sum(-1, keepdim=True),
            "You divided the logits by their sum, but logits can be negative. Softmax takes exp first, which makes all"
            " of them positive.",
        ),
        "one-sum-for-all": Wrong(
            lambda logits: logits[:, -1].exp() / logits[:, -1].exp().sum(),
            "Your probabilities sum to one over the whole batch, instead of over each text. The row of each text"
            " should sum to one.",
        ),
        "logits-themselves": Wrong(
            lambda logits: logits[:, -1],
            "These are the logits of the last position, which can be positive or negative. Softmax turns them into"
            " probabilities.",
        ),
        "logarithm": Wrong(
            lambda logits: logits[:, -1].log_softmax(dim=-1),
            "These are the logarithms of the probabilities, so none is above zero. A loss uses logarithms; here,"
            " return the probabilities themselves.",
        ),
        "sigmoid": Wrong(
            lambda logits: logits[:, -1].sigmoid(),
            "A sigmoid transforms each logit independently, so the result does not sum to one. Exactly one token comes"
            " next, so the probabilities of the whole vocabulary must sum to one.",
        ),
        "mean-over-positions": Wrong(
            lambda logits: logits.mean(dim=1).softmax(dim=-1),
            "You averaged the logits over the positions. Each position predicts a different token of the text, so the"
            " average of their logits predicts none of these tokens.",
        ),
        "one-maximum-for-all": Wrong(
            lambda logits: (powers := (logits[:, -1] - logits[:, -1].max()).exp()) / powers.sum(-1, keepdim=True),
            "If all logits of a text are much lower than the highest logit of the batch, your result is wrong: the"
            " differences are so far below 0 that exp gives 0. Subtract the maximum of each text instead.",
        ),
        "winner-takes-all": Wrong(
            lambda logits: F.one_hot(logits[:, -1].argmax(-1), logits.shape[-1]).float(),
            "You gave all the probability to the highest logit. Softmax gives every token some probability, which"
            " shows how certain the model is.",
        ),
    },
    equivalent={
        # The lesson defines softmax as exp divided by its sum, so this exercise accepts overflow for large logits.
        "exp-and-divide": lambda logits: logits[:, -1].exp() / logits[:, -1].exp().sum(dim=-1, keepdim=True),
    },
    hints=Hints(
        "logits[b, t] is a list of scores, one for each token of the vocabulary. Which t predicts the token after the"
        " whole text?",
        "Take the last position of every text, then apply the softmax over the tokens of the vocabulary.",
        "Index the second axis with -1 and keep the whole first axis; then take the softmax along the last axis of the"
        " result.",
    ),
)


def _generation_cases(rand):
    # The models are in evaluation mode, like a loaded GPT-2, so an answer may call model.eval().
    return [
        case(FakeCausalLM(rand).eval(), rand.integers(batch, seq, high=11), n)
        for batch, seq, n in ((2, 3, 1), (3, 4, 3), (1, 2, 6), (4, 1, 5))
    ] + [
        case(
            FakeCausalLM(rand, ends_at=4).eval(),
            rand.integers(2, 3, high=11),
            3,
            note=("with a model that predicts <|endoftext|>"),
        ),
        case(FakeCausalLM(rand, shift=-300.0).eval(), rand.integers(2, 3, high=11), 2, note="with logits near -300"),
    ]


def _greedy(model, tokens, n_tokens):
    for _ in range(n_tokens):
        following = torch.topk(model(tokens).logits.select(1, -1), k=1, dim=-1).indices
        tokens = torch.hstack((tokens, following))
    return tokens


@with_steps
def _generate(
    model,
    tokens,
    n_tokens,
    *,
    choose=lambda logits: logits[:, -1].argmax(-1, keepdim=True),
    read=lambda tokens: tokens,
    join=lambda tokens, new: torch.cat([tokens, new], dim=1),
    steps=lambda n: n,
):
    for _ in range(steps(n_tokens)):
        tokens = join(tokens, choose(model(read(tokens)).logits))
    return tokens


@wrong_answer
def _no_feedback(model, tokens, n_tokens):
    """All your new tokens are the same: the token that the model predicts after the given text. Predict each further
    token from the whole text so far, which includes the new tokens.
    """
    new = model(tokens).logits[:, -1].argmax(-1, keepdim=True)
    return torch.cat([tokens, *[new] * n_tokens], dim=1)


@wrong_answer
def _only_the_newest(model, tokens, n_tokens):
    """After the first iteration, you pass only the new token to the model. The model has no memory between calls and
    knows only the tokens that you pass, so pass the whole text so far.
    """
    new = tokens
    for _ in range(n_tokens):
        new = model(new).logits[:, -1].argmax(-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


@wrong_answer
def _window(model, tokens, n_tokens):
    """The model always gets as many tokens as the given text has, so it no longer sees the beginning as the text grows.
    Pass the whole text so far each time.
    """
    return _generate.replace(read=lambda text: text[:, -tokens.shape[1] :])(model, tokens, n_tokens)


def _stop_at_end(keep):
    """Build an answer that stops when all texts have ended. `keep` decides whether the last token is appended."""

    def generate(model, tokens, n_tokens):
        for _ in range(n_tokens):
            new = model(tokens).logits[:, -1].argmax(-1, keepdim=True)
            ended = bool((new == END).all())
            if keep or not ended:
                tokens = torch.cat([tokens, new], dim=1)
            if ended:
                break
        return tokens

    return generate


def _always_the_same(probe):
    """Check that generation does not depend on the random seed."""
    for trial in probe.trials:
        first, again = (probe.run(replace(trial.case, seed=seed)) for seed in (1, 2))
        if first.failure or again.failure or not all(isinstance(o.value, torch.Tensor) for o in (first, again)):
            return None
        if not torch.equal(first.value, again.value):
            return (
                "The same text got two different continuations. Greedy generation always takes the most likely token,"
                " so it needs no random numbers; sampling comes next."
            )
    return None


exercise(
    "generate",
    unswept={
        "training": "the answer may set the model to evaluation mode",
        "zero counts": "the lesson generates at least one token",
    },
    oracle=_greedy,
    cases=_generation_cases,
    returns=Int("batch seq_and_new"),
    properties=[_always_the_same],
    misconceptions={
        "only-the-newest": _only_the_newest,
        "window": _window,
        "stops-at-the-end": Wrong(
            _stop_at_end(keep=True),
            "You stop when the model predicts <|endoftext|>. The exercise asks for n_tokens new tokens, whatever they"
            " are; for GPT-2, the end of one text is the beginning of the next.",
        ),
        "stops-before-the-end": Wrong(
            _stop_at_end(keep=False),
            "You stop when the model predicts <|endoftext|>, and you do not append this token. The exercise asks for"
            " n_tokens new tokens, whatever they are; <|endoftext|> is a token like any other.",
        ),
        "no-feedback": _no_feedback,
        "only-the-new": Wrong(
            lambda model, tokens, n_tokens: _greedy(model, tokens, n_tokens)[:, tokens.shape[1] :],
            "You returned only the new tokens. The result should be the whole text: the given tokens, then the new"
            " ones.",
        ),
        "first-text-only": _generate.replace(choose=lambda logits: logits[0, -1].argmax().expand(len(logits), 1)).wrong(
            "Every text of the batch gets the next token of the first text. An index of 0 on the batch axis selects"
            " one text; each text needs the prediction at its own last position."
        ),
        "one-token-for-all": _generate.replace(choose=lambda logits: logits[:, -1].argmax()[None, None]).wrong(
            "You choose one token for the whole batch: an argmax without an axis searches the logits of all texts at"
            " once. Each text has its own most likely token, so search along the vocabulary only."
        ),
        "n_tokens-in-all": Wrong(
            lambda model, tokens, n_tokens: _greedy(model, tokens, max(0, n_tokens - tokens.shape[1])),
            "You count the given tokens as part of n_tokens, so a long text gets no new tokens. n_tokens is the number"
            " of tokens to add.",
        ),
        "forgets-the-past": _generate.replace(read=lambda tokens: tokens[:, -1:]).wrong(
            "You pass only the last token to the model each time. The model has no memory between calls and knows only"
            " the tokens that you pass, so pass all of them."
        ),
        "first-position": _generate.replace(choose=lambda logits: logits[:, 0].argmax(-1, keepdim=True)).wrong(
            "You take the prediction at the first position, which is for the second token. The last position predicts"
            " the token after the text."
        ),
        "one-too-few": _generate.replace(steps=lambda n: n - 1).wrong(
            "One token is missing at the end. n_tokens new tokens need n_tokens iterations, and each iteration should"
            " append the token that it predicts."
        ),
        "one-too-many": _generate.replace(steps=lambda n: n + 1).wrong(
            "There is one token too many. n_tokens new tokens need n_tokens iterations in total; a prediction before or"
            " after the loop counts as an iteration."
        ),
        "at-the-front": _generate.replace(join=lambda tokens, new: torch.cat([new, tokens], dim=1)).wrong(
            "You put the new tokens at the front. New tokens should be appended at the end of the text, because the"
            " model has learned to read from left to right."
        ),
        "every-position": _generate.replace(choose=lambda logits: logits.argmax(-1)).wrong(
            "You append a prediction for every position, so the text doubles in each iteration. Only the prediction at"
            " the last position is for the token after the text."
        ),
        "draws": _generate.replace(choose=lambda logits: torch.multinomial(logits[:, -1].softmax(-1), 1)).wrong(
            "You sample the next token at random. Greedy generation always takes the most likely token, so the same"
            " text always gets the same continuation; sampling comes next."
        ),
        "least-likely": _generate.replace(choose=lambda logits: logits[:, -1].argmin(-1, keepdim=True)).wrong(
            "You append the least likely token each time. The highest logit belongs to the token that the model"
            " expects most."
        ),
    },
    hints=Hints(
        "Do one iteration on paper: what do you pass to the model, which row of its logits do you read, what do you"
        " append, and what do you pass next time?",
        "In a loop, get the logits of the whole text so far, take the most likely token at the last position of each"
        " text, and append it to that text.",
        "Take argmax over the last axis of logits[:, -1], with keepdim so that the shape is [batch, 1]. Append the new"
        " tokens with torch.cat along the sequence axis, and assign the result to tokens.",
    ),
)

# --- sampling ---------------------------------------------------------------------------------------
# Two correct answers can sample different tokens, so the check compares distributions. It computes the share of each
# token in hundreds of rows with the same logits, and looks for a known distribution that fits these shares. Two cases
# have hundreds of rows: one with a high temperature, and one with a low temperature. In all other cases, only one token
# is likely, so a few rows are enough. More rows would be slow for correct answers that process rows one by one.

_ROWS = 600  # the number of rows for each text, in cases where several tokens are likely
_LIMIT = 6.0  # the largest accepted deviation between shares and probabilities, in standard deviations
_NEVER = 1e-6  # tokens with a smaller probability must not be sampled


def _cut(logits, top_k, fill=-torch.inf, largest=True):
    keep = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, logits.topk(top_k, largest=largest).indices, True)
    return logits.masked_fill(~keep, fill)


def _whole_table_cut(logits, top_k):
    table = logits.unique(dim=0)
    return logits.masked_fill(logits < table.flatten().topk(min(top_k, table.numel())).values[-1], -1e9)


def _ranks(logits, temperature, top_k):
    ranked = torch.softmax(logits.topk(top_k).values / temperature, dim=-1)
    return F.pad(ranked, (0, logits.shape[-1] - top_k))


def _softmax_of(change):
    return lambda logits, temperature, top_k: torch.softmax(change(logits, temperature, top_k), dim=-1)


DISTRIBUTIONS = {
    "right": _softmax_of(lambda logits, t, k: _cut(logits, k) / t),
    "temperature-upside-down": _softmax_of(lambda logits, t, k: _cut(logits, k) * t),
    "no-temperature": _softmax_of(lambda logits, t, k: _cut(logits, k)),
    "no-top-k": _softmax_of(lambda logits, t, k: logits / t),
    "neither": _softmax_of(lambda logits, t, k: logits),
    "zero-instead-of-never": _softmax_of(lambda logits, t, k: _cut(logits, k, fill=0.0) / t),
    "hundred-instead-of-never": _softmax_of(lambda logits, t, k: _cut(logits / t, k, fill=-1e2)),
    "ten-thousand-instead-of-never": _softmax_of(lambda logits, t, k: _cut(logits / t, k, fill=-1e4)),
    "all-alike": lambda logits, t, k: (_cut(logits, k) > -torch.inf) / k,
    "greedy": lambda logits, t, k: F.one_hot(logits.argmax(-1), logits.shape[-1]).float(),
    "smallest-k": _softmax_of(lambda logits, t, k: _cut(logits, k, largest=False) / t),
    "place-not-token": _ranks,
    "one-more": _softmax_of(lambda logits, t, k: _cut(logits, min(k + 1, logits.shape[-1])) / t),
    "one-cut-for-all": _softmax_of(lambda logits, t, k: _whole_table_cut(logits, k) / t),
    "first-text-for-all": _softmax_of(lambda logits, t, k: (_cut(logits, k) / t)[:1].expand_as(logits)),
    "first-texts-cut": _softmax_of(
        lambda logits, t, k: logits.masked_fill(logits < logits[0].topk(k).values[-1], -torch.inf) / t
    ),
    "first-texts-tokens": _softmax_of(
        lambda logits, t, k: logits.masked_fill(_cut(logits[:1], k) == -torch.inf, -torch.inf) / t
    ),
}


def _multinomial(probs, generator):
    return torch.multinomial(probs, 1, generator=generator)[:, 0]


def _sample_from(name):
    """Build an answer that samples from the distribution `name`."""
    return lambda logits, temperature, top_k, generator: _multinomial(
        DISTRIBUTIONS[name](logits, temperature, top_k), generator
    )


def parse_samples(result, case):
    """Return zeros instead of the samples, and the probabilities of the known distribution that fits the samples.

    If no known distribution fits, return each token's observed relative frequency instead of its probability.
    """
    if result is None:
        return None
    if not isinstance(result, torch.Tensor):
        return result, None
    logits, temperature, top_k, _ = case.args
    texts, vocab = logits.unique_consecutive(dim=0), logits.shape[-1]
    tokens = result.detach().flatten().long()
    zeros = torch.zeros_like(result)
    if len(tokens) != len(logits) or not 0 <= int(tokens.min()) <= int(tokens.max()) < vocab:
        return zeros, torch.full_like(texts, torch.nan)
    rows = len(logits) // len(texts)
    observed = F.one_hot(tokens, vocab).view(len(texts), rows, vocab).float().mean(1)
    known = (compute(texts, temperature, top_k) for compute in DISTRIBUTIONS.values())
    return zeros, next((p for p in known if _fits(observed, p, rows)), observed)


def _fits(observed, p, rows):
    """Test whether the relative frequencies observed in `rows` samples fit the probabilities `p`.

    The statistic is Pearson's chi-squared, transformed into a normal deviate (Wilson and Hilferty).
    """
    possible = p > _NEVER
    if (observed[~possible] > 0).any():
        return False
    freedom = int(possible.sum()) - len(p)
    if freedom == 0:
        return True
    # Without a lower bound on p, one occurrence of a very rare token could decide the test.
    chi2 = float((rows * (observed - p) ** 2 / p.clamp_min(0.5 / rows))[possible].sum())
    return ((chi2 / freedom) ** (1 / 3) - (1 - 2 / (9 * freedom))) / (2 / (9 * freedom)) ** 0.5 <= _LIMIT


def _by_inverse(logits, temperature, top_k, generator):
    """Sort the tokens by probability, then sample with the inverse of the cumulative distribution."""
    ranked, tokens = logits.sort(dim=-1, descending=True)
    sums = (torch.softmax(ranked[:, :top_k].double() / temperature, dim=-1)).cumsum(-1)
    place = (torch.rand(len(logits), 1, generator=generator, dtype=torch.float64) > sums).sum(-1, keepdim=True)
    return tokens.gather(-1, place.clamp(max=top_k - 1))[:, 0]


@wrong_answer
def _one_number(logits, temperature, top_k, generator):
    """All rows with the same logits got the same token, as if one random number decided for the whole batch. Each row
    is a separate text and needs its own random number.
    """
    ranked, tokens = logits.topk(top_k)
    sums = torch.softmax(ranked / temperature, dim=-1).cumsum(-1)
    place = (torch.rand(1, generator=generator) > sums).sum(-1, keepdim=True)
    return tokens.gather(-1, place.clamp(max=top_k - 1))[:, 0]


@wrong_answer
def _naive(logits, temperature, top_k, generator):
    """You took exp of the logits as they are. exp gives inf for numbers of about 89 or more, because the result is
    too large for float32; use softmax, which subtracts the maximum first.
    """
    return _multinomial(torch.where(_cut(logits, top_k) > -torch.inf, (logits / temperature).exp(), 0.0), generator)


_from_the_generator = draws_from_its_generator(
    torch.linspace(-1.0, 1.0, 5).repeat(40, 1),
    1.0,
    3,
    restarted=(
        "Your samples follow the right probabilities, but a second call with the same generator repeats them: your"
        " function copies the generator or seeds it again. Use the generator as it is passed in, so that each call"
        " continues where the last call stopped."
    ),
    elsewhere=(
        "Your samples follow the right probabilities, but a generator in the same state gave different samples the"
        " second time. Some randomness does not come from the generator. Pass the generator to every call that"
        " samples, so that a text can be reproduced."
    ),
    ignored=(
        "Your samples follow the right probabilities, but two generators in different states gave the same samples, as"
        " if your function set a seed or created a new generator. Sample from the generator that is passed in."
    ),
    disturbing=(
        "Your samples are right, but your code also used or seeded torch's global random numbers. This changes the"
        " random numbers of other code in the same program, such as training; use only the generator."
    ),
    shared=_one_number.message,
)


def sampling_cases(rand):
    def texts(logits, *shifts):
        near = torch.tensor(logits)
        return torch.stack([near[torch.randperm(len(near), generator=rand.generator)] + shift for shift in shifts])

    def rows(logits, temperature, top_k, count, note=""):
        seed = int(rand.integers(1, high=1000))
        # Choose a seed whose first random number is at least 0.95. If all rows reuse this number, they get rare tokens.
        while torch.rand(1, generator=torch.Generator().manual_seed(seed)) < 0.95:
            seed += 1
        generator = torch.Generator().manual_seed(seed)
        return case(logits.repeat_interleave(count, 0), temperature, top_k, generator, note=note)

    cold = [0.5, 0.25, 0.0, -0.25, -0.5, -0.75]
    hot = [1.0, -1.8, -4.6, -4.9, -5.2, -5.5, -5.8]
    return [  # these logits and numbers of rows distinguish the known distributions
        rows(texts(cold, 0.0, 2.0), 0.25, 3, _ROWS),
        rows(texts(hot, 0.0, 2.0), 4.0, 3, _ROWS),
        rows(texts([80.0, 60.0, 40.0, 20.0, 0.0], 0.0), 1.0, 1, 1, note="with one text"),
        rows(texts([260.0, 240.0, 220.0, 200.0], 0.0), 1.0, 4, 30, note="with logits above 200"),
        rows(texts([80.0, 60.0, 40.0, 20.0, 0.0], -240.0), 1.0, 2, 30, note="with logits below -150"),
        # Here, exp(1 / temperature) overflows and 0.5 ** (1 / temperature) is 0, even in float64.
        rows(texts([1.0, 0.9, 0.8, 0.2, 0.1, 0.0], 0.0, -150.0), 0.0005, 3, 30, note="with a temperature of 0.0005"),
    ]


exercise(
    "sample",
    unswept=dict.fromkeys(
        ("zeros", "ties", "large", "layouts"),
        "the check counts samples, so many rows of its cases have the same logits",
    ),
    oracle=_by_inverse,
    cases=sampling_cases,
    parse_result=parse_samples,
    returns=(Int("batch", name="tokens"), Float("text vocab", name="share of each token")),
    properties=[_from_the_generator],
    differentiable=False,
    explain_entry=lambda index, yours, expected: (
        f"this is the share of token {index[-1]} among the samples from the logits of text {index[0]}"
    ),
    misconceptions={
        "temperature-upside-down": Wrong(
            _sample_from("temperature-upside-down"),
            "You multiplied the logits by the temperature, but you should divide by it. A high temperature should move"
            " the logits closer together, so that more tokens get a chance; a low temperature should move them further"
            " apart.",
        ),
        "no-temperature": Wrong(
            _sample_from("no-temperature"),
            "The temperature does not change your samples. If you divide probabilities by it and normalise them again,"
            " it cancels out; divide the logits by it, before the softmax.",
        ),
        "no-top-k": Wrong(
            _sample_from("no-top-k"),
            "You also sample tokens outside the top k. Each of these tokens is unlikely, but a large vocabulary has"
            " so many of them that they ruin a text from time to time: their probability must be 0.",
        ),
        "neither": Wrong(
            _sample_from("neither"),
            "You sample from the model's own probabilities: neither the temperature nor top_k has any effect yet. Both"
            " should change the logits before the softmax.",
        ),
        "zero-instead-of-never": Wrong(
            _sample_from("zero-instead-of-never"),
            "You set the logits outside the top k to 0, but exp(0) is 1, so these tokens are still sampled, some more"
            " often than before. Only a logit of minus infinity gives probability 0.",
        ),
        **{
            name: Wrong(
                _sample_from(name),
                f"{when}, you sample only tokens outside the top k. Their logit must be minus infinity: a fixed number"
                f" such as {number} can be higher than the logits of the best tokens.",
            )
            for name, number, when in (
                ("hundred-instead-of-never", "-100", "If all logits are far below 0"),
                ("ten-thousand-instead-of-never", "-10000", "At a low temperature, if all logits are far below 0"),
            )
        },
        "all-alike": Wrong(
            _sample_from("all-alike"),
            "You sample all of the k best tokens equally often. Top-k should only decide which tokens are possible; the"
            " logits should decide how likely each of these tokens is.",
        ),
        "greedy": Wrong(
            _sample_from("greedy"),
            "You return the most likely token every time, which is the greedy choice. Sampling should return each token"
            " with a frequency that matches its probability.",
        ),
        "smallest-k": Wrong(
            _sample_from("smallest-k"),
            "You kept the k least likely tokens. The most likely tokens have the highest logits.",
        ),
        "place-not-token": Wrong(
            _sample_from("place-not-token"),
            "You return the rank among the k best (0 for the most likely), not the token at that rank. topk gives"
            " values and indices; the indices are the tokens of the vocabulary.",
        ),
        "one-more": Wrong(
            _sample_from("one-more"),
            "You sample from k + 1 tokens instead of k tokens. If you compare with the k-th best logit, check its"
            " index, because indices start at 0.",
        ),
        "one-cut-for-all": Wrong(
            _sample_from("one-cut-for-all"),
            "You used one threshold for the whole batch, so a text with lower logits keeps fewer than k tokens. Each"
            " row should keep its own k best tokens.",
        ),
        "first-text-for-all": Wrong(
            _sample_from("first-text-for-all"),
            "You sampled every row from the logits of the first text. Each row is a separate text with its own"
            " probabilities.",
        ),
        "first-texts-cut": Wrong(
            _sample_from("first-texts-cut"),
            "You used the k-th best logit of the first text as the threshold for every text, so another text keeps"
            " more or fewer than k tokens. Each row should keep its own k best tokens.",
        ),
        "first-texts-tokens": Wrong(
            _sample_from("first-texts-tokens"),
            "You allow the k best tokens of the first text in every text. Each row should keep its own k best tokens.",
        ),
        "one-number-for-all": _one_number,
        "drops-the-batch": Wrong(
            lambda logits, temperature, top_k, generator: _by_inverse(logits, temperature, top_k, generator).squeeze(),
            "For a batch of one text, your result loses the batch axis: squeeze() removes every axis of size 1. Name"
            " the axis that should be removed.",
        ),
        "naive-exponential": _naive,
        "keeps-the-axis": Wrong(
            lambda logits, temperature, top_k, generator: _by_inverse(logits, temperature, top_k, generator)[:, None],
            "The samples are right, but they form a column of shape [batch, 1]. multinomial and gather keep an axis"
            " for several samples; here each row has one token, so remove that axis.",
        ),
    },
    equivalent={
        "temperature-after-top-k": lambda logits, temperature, top_k, generator: _multinomial(
            torch.softmax(_cut(logits, top_k) / temperature, dim=-1), generator
        ),
        "cut-after-softmax-not-renormalised": lambda logits, temperature, top_k, generator: _multinomial(
            _cut(torch.softmax(logits / temperature, dim=-1), top_k, fill=0.0), generator
        ),
    },
    hints=Hints(
        "There are three steps: apply the temperature to the logits, decide which tokens are possible, and sample."
        " Which logit gives a probability of 0?",
        "Divide by the temperature. Find the k-th best logit of each row and set all lower logits to minus infinity."
        " Take the softmax, then sample one token per row.",
        "logits.topk(top_k).values[:, -1:] is the threshold of each row; use it with masked_fill."
        " torch.multinomial(probs, 1, generator=generator) samples a column; take the only entry of each row.",
    ),
)
