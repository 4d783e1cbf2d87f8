"""Exercises of lesson 01: from a text to token ids, and from logits to the next token."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import torch
from torch.nn import functional as F

from utils.checks._sampling import draws_from_its_generator
from utils.feedback.exercise import Float, Hints, Int, Wrong, case, exercise
from utils.gpt2.tokenizer import END_OF_TEXT, backend_tokenizer
from utils.test_doubles.tokenization import END, FakeCausalLM, LazyTokenizer

# --- byte pairs -------------------------------------------------------------------------------------
# The oracles work on strings: an id is the character of that number, so that Python's own str.replace merges.


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


def _drawn_ids(rand, size, low=97, high=100):
    return rand.integers(size, low=low, high=high).tolist()


def _starts_anew(probe):
    """Nothing of an earlier call is in a result: asked again, it is the same, and made anew."""
    for trial in probe.trials:
        first, again = trial.yours.value, probe.run(trial.case).value
        if isinstance(first, (dict, list)) and type(first) is type(again) and (first is again or first != again):
            kind = "dict" if isinstance(first, dict) else "list"
            return (
                f"What an earlier call put in is still there in the next one: the {kind} is kept between calls. A"
                " default value in the signature and a variable of the notebook are made once; make a new one inside"
                " the function."
            )
    return None


def _first_met_first(probe):
    """The order of the pairs, which decides ties in the training that follows."""
    for trial in probe.trials:
        yours, expected = trial.yours.value, trial.expected.value
        if isinstance(yours, dict) and yours == expected and list(yours) != list(expected):
            return (
                "The counts are right, the order of the pairs is not: the pair that is met first should stand first. "
                "Training will break ties by this order, and a set or a sort forgets it."
            )
    return None


def _as_many_as_neighbours(probe):
    """n ids have n - 1 pairs of neighbours, and no pair is anything else."""
    for trial in probe.trials:
        yours, ids = trial.yours.value, list(trial.case.args[0])
        if not isinstance(yours, dict) or yours == trial.expected.value:
            continue
        stray = next((pair for pair in yours if pair not in trial.expected.value), None)
        if stray is not None:
            return (
                f"{stray!r} is a key of yours, and in {_brief(ids)} these are no neighbours in this order. A key is a"
                " pair of ids, the left one first."
            )
        if all(isinstance(n, int) for n in yours.values()) and sum(yours.values()) != len(ids) - 1:
            return (
                f"For {_brief(ids)} your counts sum to {sum(yours.values())}. {len(ids)} ids have {len(ids) - 1} places"
                " where two of them meet, and each of these counts once."
            )
    return None


def _without_overlaps(ids):
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
        case(_drawn_ids(rand, 12)),
        case(_drawn_ids(rand, 41)),
        case(_drawn_ids(rand, 150)),
    ],
    properties=[_starts_anew, _as_many_as_neighbours, _first_met_first],
    misconceptions={
        "each-pair-once": Wrong(
            lambda ids: dict.fromkeys(pairwise(ids), 1),
            "Every pair has the count 1, however often it stands there. A set, or a dict that is filled with ones,"
            " keeps which pairs there are and forgets how many, and BPE needs the most frequent.",
        ),
        "starts-at-zero": Wrong(
            lambda ids: {pair: n - 1 for pair, n in Counter(pairwise(ids)).items()},
            "All your counts are one too small. The place where a pair is first met counts as well: what enters the"
            " dict then is a 1.",
        ),
        "single-ids": Wrong(
            lambda ids: dict(Counter(ids)),
            "You counted the ids one by one. A merge glues two neighbours together, so what counts is each id with the"
            " one after it.",
        ),
        "two-by-two": Wrong(
            lambda ids: dict(Counter(zip(ids[::2], ids[1::2]))),
            "You cut the ids into pairs two by two: first with second, third with fourth. The second and the third are"
            " neighbours too; each id but the last starts a pair.",
        ),
        "order-forgotten": Wrong(
            lambda ids: dict(Counter(tuple(sorted(pair)) for pair in pairwise(ids))),
            "You put (1, 2) and (2, 1) into one count. They are different pairs, as 'he' and 'eh' are: a merge"
            " replaces the two in this order only.",
        ),
        "wraps-around": Wrong(
            lambda ids: dict(Counter(zip(ids, ids[1:] + ids[:1]))),
            "You also counted the last id with the first one. A text is a line and not a ring: after its last id"
            " nothing follows.",
        ),
        "last-pair-missed": Wrong(
            lambda ids: dict(Counter(pairwise(ids[:-1]))),
            "The last pair is missing. A list of n ids has n - 1 neighbouring pairs, and yours stops one early.",
        ),
        "over-one-between": Wrong(
            lambda ids: dict(Counter(zip(ids, ids[2:]))),
            "You paired each id with the next but one. Only direct neighbours can be glued into one token.",
        ),
        "skips-overlaps": Wrong(
            _without_overlaps,
            "Three equal ids in a row hold the same pair twice, and you counted it once. That two of them overlap"
            " matters for a merge; counting takes every place at which the pair stands.",
        ),
    },
    hints=Hints(
        "Write the ids 1 2 3 1 2 in a row and draw an arc from each to its right neighbour. How many arcs, and which"
        " pair has two?",
        "Two copies of the list, one shifted by a place, stand side by side: the pairs. A dict counts them.",
        "Go through zip(ids, ids[1:]); for each pair, set its entry in the dict to one more than dict.get gives, where"
        " 0 stands for a pair not met before.",
    ),
)


def _step_by_one(ids, pair, new_id):
    out, i = [], 0
    while i < len(ids):
        out.append(new_id if tuple(ids[i : i + 2]) == tuple(pair) else ids[i])
        i += 1
    return out


def _overlapping(ids, pair, new_id):
    """Every place where the pair stands becomes the new id; what is in no such place stays."""
    hits = [i for i in range(len(ids) - 1) if (ids[i], ids[i + 1]) == tuple(pair)]
    covered = {j for i in hits for j in (i, i + 1)}
    return [new_id if i in hits else x for i, x in enumerate(ids) if i in hits or i not in covered]


def _from_the_right(ids, pair, new_id):
    return _merge(ids[::-1], pair[::-1], new_id)[::-1]


def _first_only(ids, pair, new_id):
    return [ord(c) for c in _text_of(ids).replace(_text_of(pair), chr(new_id), 1)]


def _loses_the_last(ids, pair, new_id):
    out, i = [], 0
    while i < len(ids) - 1:
        hit = (ids[i], ids[i + 1]) == tuple(pair)
        out.append(new_id if hit else ids[i])
        i += 2 if hit else 1
    return out


def _as_a_string(ids, pair, new_id):
    text = " ".join(map(str, ids)).replace(" ".join(map(str, pair)), str(new_id))
    return [int(x) for x in text.split()]


def _either_order(ids, pair, new_id):
    out, i = [], 0
    while i < len(ids):
        hit = sorted(ids[i : i + 2]) == sorted(pair)
        out.append(new_id if hit else ids[i])
        i += 2 if hit else 1
    return out


def _spells_the_same(probe):
    """A merge writes the same text in fewer ids."""
    for trial in probe.trials:
        yours, (ids, pair, new_id) = trial.yours.value, trial.case.args
        if not isinstance(yours, list) or yours == trial.expected.value:
            continue
        spelt = [i for x in yours for i in (pair if x == new_id else (x,))]
        if spelt != list(ids):
            return (
                f"merge({_brief(ids)}, {pair}, {new_id}) gave {_brief(yours)}. With each {new_id} spelt out as {pair}"
                f" again that reads {_brief(spelt)}, and the text was {_brief(ids)}: a merge shortens, and loses or"
                " adds nothing."
            )
        if any((a, b) == tuple(pair) for a, b in pairwise(yours)):
            return (
                f"merge({_brief(ids)}, {pair}, {new_id}) gave {_brief(yours)}, and {pair} still stands in it. Every"
                " place where the pair stands is merged, the last one too."
            )
    return None


def _in_place(ids, pair, new_id):
    ids[:] = _merge(ids, pair, new_id)
    return ids


exercise(
    "merge",
    oracle=_merge,
    cases=lambda rand: [
        case([1, 2], (1, 2), 9),
        case([1, 2, 1], (1, 2), 9),
        case([], (1, 2), 9),
        case([0, 1, 0, 2, 0], (0, 2), 9, note="with an id of 0"),
        case([7, 7, 7], (7, 7), 9),
        case([2, 1, 3, 1, 2, 2, 1], (1, 2), 256),
        case([3, 4, 5], (5, 3), 256),
        case([5, 5, 5, 5, 6, 5, 5, 5], (5, 5), 300),
        case(_drawn_ids(rand, 15), (97, 98), 256),
        case(_drawn_ids(rand, 31), (98, 98), 257),
        case(
            [(1, 11, 2)[i] for i in rand.integers(30, high=3)], (1, 11), 112, note="with ids of one and of two digits"
        ),
    ],
    properties=[_starts_anew, _spells_the_same],
    misconceptions={
        "always-256": Wrong(
            lambda ids, pair, new_id: _merge(ids, pair, 256),
            "You always put 256 in. Which id a merge makes is the caller's to say: it is the argument new_id, and only"
            " the first merge of a training makes 256.",
        ),
        "as-a-string": Wrong(
            _as_a_string,
            "You joined the ids to a string and replaced in there. As digits, 1 11 and 11 1 are hard to tell apart,"
            " and a replacement can begin in the middle of a number; an id is one thing, whatever its digits.",
        ),
        "second-left-behind": Wrong(
            _step_by_one,
            "The new id takes the place of the first of the two, and the second stays behind: [1, 2] becomes [9, 2]."
            " One new id stands for both, so after a merge the walk has to go on two places further.",
        ),
        "overlapping": Wrong(
            _overlapping,
            "You merged overlapping pairs: [7, 7, 7] became two new ids, and the middle 7 went into both. An id that"
            " has been merged is used up, else the text would come back longer than it was.",
        ),
        "reversed": Wrong(
            lambda ids, pair, new_id: _merge(ids, pair[::-1], new_id),
            "You merged the pair the wrong way round: where the second stands before the first. 'he' and 'eh' are"
            " different texts; the first of the pair comes first.",
        ),
        "either-order": Wrong(
            _either_order,
            "You merged the two ids in either order. The new id would then stand for two different texts, and nobody"
            " could decode it.",
        ),
        "first-only": Wrong(
            _first_only,
            "Only the first occurrence was merged. The new id is a word of the vocabulary from now on: every place"
            " where the pair stands becomes it.",
        ),
        "last-lost": Wrong(
            _loses_the_last,
            "When the last id belongs to no pair, it is lost. A loop that stops one early, so that there is a right"
            " neighbour to look at, never copies the id at the end.",
        ),
        "from-the-right": Wrong(
            _from_the_right,
            "You merge from the right: [7, 7, 7] became [7, 9]. Byte-pair encoding reads from the left, as every"
            " tokenizer that is to agree with yours does: [9, 7].",
        ),
        "list-against-tuple": Wrong(
            lambda ids, pair, new_id: list(ids),
            "Nothing was merged. In Python a list is never equal to a tuple, whatever they hold: a slice of ids is a"
            " list and the pair is a tuple, so bring them to one kind before you compare.",
        ),
        "changes-its-input": Wrong(
            _in_place,
            "The result is right, and it was written into the list that was passed in. The caller still needs the old"
            " ids, to compare or to count again: build a new list.",
        ),
    },
    hints=Hints(
        "Walk along 7 7 7 7 7 with one finger, merging (7, 7) into 9. By how much does the finger move after a merge,"
        " and by how much otherwise?",
        "Build a new list with a while loop and an index: at each step append either the new id or the id that stands"
        " there.",
        "If ids[i: i + 2] is the pair (mind list against tuple), append new_id and go on two places; else append"
        " ids[i] and go on one. A slice at the end is shorter, and no error.",
    ),
)


def _trained(first=None, best=None, count=None, step=True, number=None):
    """Training with one thing done differently."""

    def train(text, n_merges):
        ids = first(text) if first else list(text.encode())
        merges = {}
        for i in range(n_merges):
            counts = (count or _count)(ids)
            pair = (best or (lambda c: max(c, key=c.get)))(counts)
            merges[pair] = new_id = number(i) if number else 256 + i
            ids = _merge(ids, pair, new_id) if step else ids
        return merges

    return train


def _last_of_the_best(counts):
    best = None
    for pair, n in counts.items():
        if best is None or n >= counts[best]:
            best = pair
    return best


def _within_words(text, n_merges):
    """Training in which no merge crosses a space; each word has the space before it."""
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


def _counted_once(text, n_merges):
    ranked = Counter(zip(text.encode(), text.encode()[1:])).most_common(n_merges)
    return {pair: 256 + i for i, (pair, _) in enumerate(ranked)}


def _only_what_repeats(text, n_merges):
    ids, merges = list(text.encode()), {}
    while len(merges) < n_merges:
        pair, count = Counter(pairwise(ids)).most_common(1)[0]
        if count == 1:
            break
        merges[pair] = 256 + len(merges)
        ids = _merge(ids, pair, merges[pair])
    return merges


def _ids_after(text, n_merges):
    ids = list(text.encode())
    for pair, new_id in _train(text, n_merges).items():
        ids = _merge(ids, pair, new_id)
    return ids


def _reads_its_text(probe):
    """Other texts have other merges."""
    found = [list(t.yours.value.items()) for t in probe.trials if isinstance(t.yours.value, dict)]
    if len(found) < len(probe.trials) or min(map(len, found)) == 0:
        return None
    if all(a[: len(b)] == b[: len(a)] for a, b in pairwise(found)):
        return (
            f"The same merges come out whatever the text is: the first is always {found[0][0][0]}. Does it read a"
            " variable of the notebook where it should read its argument `text`?"
        )
    return None


def _most_frequent_first(probe):
    """How many merges, with which ids, and whether the first is the most frequent pair."""
    for trial in probe.trials:
        yours, (text, n_merges) = trial.yours.value, trial.case.args
        if not isinstance(yours, dict) or yours == trial.expected.value:
            continue
        if len(yours) != n_merges:
            return (
                f"train_bpe({_brief(text)!r}, {n_merges}) gave a dict of {len(yours)}, and n_merges is {n_merges}. Each"
                " round finds one pair that was not merged before."
            )
        if list(yours.values()) != list(range(256, 256 + n_merges)):
            return (
                f"Your new ids are {_brief(list(yours.values()))}. The bytes end at 255, so the merges count on from"
                " 256, in the order in which they are made."
            )
        counts, (first, *_) = _count(list(text.encode())), yours
        best = max(counts.values())
        if counts.get(first, 0) < best:
            return (
                f"In {_brief(text)!r} your first merge is {first}, and another pair is more"
                f" frequent: {counts.get(first, 0)} places against {best}. The most frequent comes first."
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
        case("abcdef", 3, note="where each pair stands once"),
        case(_TONGUE_TWISTERS[int(rand.integers(1, high=3))], 12),
        case("".join(map(chr, _drawn_ids(rand, 30))), 5),
        case(" ".join(_TONGUE_TWISTERS), 16, note="with 16 merges"),
    ],
    properties=[_starts_anew, _reads_its_text, _most_frequent_first],
    misconceptions={
        "characters-for-bytes": Wrong(
            _trained(first=lambda text: [ord(c) for c in text]),
            "You began with one id for each character. An é or an emoji then has an id above what a byte can hold, or"
            " one that a byte already means: the 256 first ids are bytes, of which é takes two.",
        ),
        "ties-to-the-last": Wrong(
            _trained(best=_last_of_the_best),
            "Where two pairs are equally frequent, you took the one that is met last. The rule is the first; another"
            " rule gives another vocabulary, and ids that mean something else.",
        ),
        "ties-to-the-largest": Wrong(
            _trained(best=lambda counts: max(counts, key=lambda pair: (counts[pair], pair))),
            "Where two pairs are equally frequent, yours takes the one with the larger ids: Python compares the pairs"
            " themselves when counts and pairs are compared together. Here the pair that is met first wins.",
        ),
        "ties-to-the-smallest": Wrong(
            _trained(best=lambda counts: min(counts, key=lambda pair: (-counts[pair], pair))),
            "Where two pairs are equally frequent, yours takes the one with the smaller ids, as a sort does. Here the"
            " pair that is met first wins.",
        ),
        "within-words": Wrong(
            _within_words,
            "No merge crosses a space in yours, as in GPT-2's tokenizer. That precaution is told later on this page;"
            " here pairs are counted in the text as a whole, where a word's last letter and the space are a pair, too.",
        ),
        "counted-once": Wrong(
            _counted_once,
            "You counted once, on the bytes, and took the most frequent pairs from that list. After a merge the text"
            " is another one: new pairs appear, with the new id in them, and old ones are gone. Count again after each"
            " merge.",
        ),
        "only-what-repeats": Wrong(
            _only_what_repeats,
            "You stop when the best pair stands there only once. n_merges says how many merges are made; a pair that"
            " stands there once is merged like any other.",
        ),
        "never-merged": Wrong(
            _trained(step=False),
            "The ids never change, so each round finds the same pair, and the dict ends with one entry. Each merge has"
            " to be carried out before the next count.",
        ),
        "least-frequent": Wrong(
            _trained(best=lambda counts: min(counts, key=counts.get)),
            "You merged the rarest pair. A vocabulary is worth most where it is used most: the most frequent pair gets"
            " the new id.",
        ),
        "ids-from-zero": Wrong(
            _trained(number=lambda i: i),
            "Your new ids start at 0, and these are taken: 0 to 255 are the bytes. The first new id is 256.",
        ),
        "ids-one-late": Wrong(
            _trained(number=lambda i: 257 + i),
            "Your first new id is 257. The bytes end at 255, so 256 is free, and a gap in the ids would be a row of"
            " the model that nothing uses.",
        ),
        "ids-to-pairs": Wrong(
            lambda text, n_merges: {new_id: pair for pair, new_id in _train(text, n_merges).items()},
            "Your dict goes from the new id to the pair. That way one decodes; here the merges are asked for as pair:"
            " new id, because to encode a text means to look up pairs.",
        ),
        "returns-the-text": Wrong(
            _ids_after,
            "You returned the merged ids of this one text. What training learns are the merges: with them any other"
            " text can be encoded too.",
        ),
    },
    hints=Hints(
        "You have both halves already: one function that counts, one that merges. What happens, in which order, in one"
        " round?",
        "Start from the bytes of the text. A round: count the pairs, take the most frequent, write it into the dict"
        " with the next id, merge it everywhere.",
        "text.encode() gives the bytes. max with key=counts.get returns the first of equally frequent pairs, if the"
        " dict is in the order of first meeting. Remember to replace ids by the merged ids.",
    ),
)

# --- the tokenizer of GPT-2 -------------------------------------------------------------------------


def _stored(text):
    """The tokens as the vocabulary writes them, a character for each byte."""
    return backend_tokenizer().encode(text).tokens


def _pieces(text, tokenizer):
    """Each token's own text, from GPT-2's table of bytes."""
    table = {chr(c): c for c in (*range(33, 127), *range(161, 173), *range(174, 256))}
    for byte in range(256):
        if byte not in table.values():
            table[chr(256 + len(table) - 188)] = byte
    return [t if t == END_OF_TEXT else bytes(table[c] for c in t).decode(errors="replace") for t in _stored(text)]


def _texts(rand):
    name = ["Ralph", "Benedict", "Wilhelmina", "Zorro"][int(rand.integers(1, high=4))]
    fixed = ["Ralph", " ralph likes  42 + 58 = 100", "A café, naïve: 日本 🙂", "<|endoftext|>one and one and one"]
    return [case(text, LazyTokenizer()) for text in [*fixed, f"Dear {name}, unbelievably {name.lower()}."]]


exercise(
    "to_str_tokens",
    oracle=_pieces,
    cases=_texts,
    misconceptions={
        "text-again": Wrong(
            lambda text, tokenizer: tokenizer.decode(tokenizer.encode(text)),
            "All ids went into the decoder at once, and the text came back as it was: a tokenizer loses nothing. To"
            " see where the tokens begin and end, decode them one at a time.",
        ),
        "one-string": Wrong(
            lambda text, tokenizer: [tokenizer.decode(tokenizer.encode(text))],
            "Your list has one entry, the whole text: all ids were decoded at once. To see where the tokens begin and"
            " end, decode them one at a time.",
        ),
        "words": Wrong(
            lambda text, tokenizer: text.split(),
            "You split at the spaces. These are words, and GPT-2 has no words: a token can be a piece of a word, and"
            " the space before a word belongs to its token.",
        ),
        "spaces-stripped": Wrong(
            lambda text, tokenizer: [tokenizer.decode([i]).strip() for i in tokenizer.encode(text)],
            "You stripped the spaces. They belong to the tokens: ' Ralph' and 'Ralph' have different ids, and a model"
            " sees two different things.",
        ),
        "words-one-by-one": Wrong(
            lambda text, tokenizer: [tokenizer.decode([i]) for word in text.split() for i in tokenizer.encode(word)],
            "You cut the text at the spaces first and encoded each word by itself. Without the space in front, a word"
            " has other tokens than inside a sentence.",
        ),
        "still-ids": Wrong(
            lambda text, tokenizer: list(tokenizer.encode(text)),
            "These are still the ids. Each stands for a piece of text, and decoding shows which.",
        ),
        "as-stored": Wrong(
            lambda text, tokenizer: _stored(text),
            "These are the tokens as the vocabulary stores them: Ġ for a space, and two odd letters for é. Each of"
            " these characters stands for one byte; decoding turns the bytes into text.",
        ),
        "only-the-space-translated": Wrong(
            lambda text, tokenizer: [t.replace("Ġ", " ") for t in _stored(text)],
            "You took the vocabulary's own spelling and put a space for Ġ; each of its other characters stands for a"
            " byte too, so that é has become two letters. Decoding turns all of them back.",
        ),
        "end-left-out": Wrong(
            lambda text, tokenizer: [tokenizer.decode([i]) for i in tokenizer.encode(text) if i != END],
            "The token <|endoftext|> is missing. The model sees it like any other, so it belongs in the list.",
        ),
        "first-and-last-cut": Wrong(
            lambda text, tokenizer: [tokenizer.decode([i]) for i in tokenizer.encode(text)[1:-1]],
            "The first and the last token of the text are missing. This tokenizer puts nothing before a text and"
            " nothing behind it, so there is nothing to cut off.",
        ),
        "first-cut": Wrong(
            lambda text, tokenizer: [tokenizer.decode([i]) for i in tokenizer.encode(text)[1:]],
            "The first token of the text is missing. This tokenizer puts nothing before a text, so there is nothing to"
            " cut off.",
        ),
        "characters": Wrong(
            lambda text, tokenizer: list(text),
            "You cut the text into characters. The tokenizer merges frequent neighbours: a common word is one token.",
        ),
        "each-token-once": Wrong(
            lambda text, tokenizer: [tokenizer.decode([i]) for i in dict.fromkeys(tokenizer.encode(text))],
            "A token that comes back is missing the second time. A set or a dict keeps each id once; a text needs"
            " every one of them, in order.",
        ),
        "special-dropped": Wrong(
            lambda text, tokenizer: [tokenizer.decode([i], skip_special_tokens=True) for i in tokenizer.encode(text)],
            "The token <|endoftext|> came out empty: special tokens were skipped. The model does see it, and so should"
            " you.",
        ),
    },
    hints=Hints(
        "The tokenizer has a method that turns a text into ids and one that goes back. What do you get back from a"
        " single id?",
        "Encode the text once; then decode the ids one at a time and collect the pieces.",
        "A list comprehension over tokenizer.encode(text) that calls tokenizer.decode on each id.",
    ),
)

# --- from logits to the next token ------------------------------------------------------------------

exercise(
    "next_token_probs",
    oracle=lambda logits: torch.exp(logits[:, -1] - torch.logsumexp(logits[:, -1], dim=1, keepdim=True)),
    cases=lambda rand: [
        case(rand(2, 3, 5)),
        case(rand(3, 4, 7)),
        case(rand(4, 2, 3)),
        case(rand(1, 6, 4)),
        case(rand(3, 1, 5), note="with a single position"),
    ],
    returns=Float("batch vocab"),
    differentiable=False,  # to write, a model needs no gradients, and no_grad is a good habit there
    misconceptions={
        "over-positions": Wrong(
            lambda logits: logits.softmax(dim=1)[:, -1],
            "The softmax ran along the positions: one token's logits at all places of the text share one unit. At each"
            " position it is the tokens of the vocabulary that compete, so the result must sum to one over vocab.",
        ),
        "mean-of-the-guesses": Wrong(
            lambda logits: logits.softmax(dim=-1).mean(dim=1),
            "You took the mean over all positions. Each position guesses at its own next token; what follows the whole"
            " text stands in the last.",
        ),
        "over-the-batch": Wrong(
            lambda logits: logits[:, -1].softmax(dim=0),
            "The softmax ran along the batch, as if the texts competed with each other. For each text the tokens of"
            " the vocabulary compete: its own row sums to one.",
        ),
        "first-position": Wrong(
            lambda logits: logits[:, 0].softmax(dim=-1),
            "These are the probabilities after the first token. The row at a position predicts what follows that"
            " position; what follows the whole text stands in the last.",
        ),
        "last-but-one": Wrong(
            lambda logits: logits[:, -2].softmax(dim=-1),
            "You took the last position but one: the guess at the last token, which is already known. The last"
            " position is the one that looks ahead.",
        ),
        "every-position": Wrong(
            lambda logits: logits.softmax(dim=-1),
            "There is a distribution for every position here. All are right, and only the one at the last position is"
            " about a token that is not there yet.",
        ),
        "first-text-only": Wrong(
            lambda logits: logits[0, -1].softmax(dim=-1),
            "This is the answer for the first text of the batch alone. Keep the batch axis: a row of probabilities for"
            " each text.",
        ),
        "first-text-in-a-batch": Wrong(
            lambda logits: logits[:1, -1].softmax(dim=-1),
            "Only the first text of the batch has an answer here. An index of 0 on the batch axis looks at one text;"
            " what is asked for is a row of probabilities for each.",
        ),
        "loses-the-batch": Wrong(
            lambda logits: logits[:, -1:].softmax(dim=-1).squeeze(),
            "For a batch of one text the batch axis is lost: squeeze drops an axis of size 1, and there the batch is"
            " one. A plain index takes the position and leaves nothing to squeeze.",
        ),
        "last-text": Wrong(
            lambda logits: logits[-1].softmax(dim=-1),
            "The index -1 on the first axis took the last text of the batch. The axes are batch, seq, vocab: positions"
            " are counted on the second.",
        ),
        "not-normalised": Wrong(
            lambda logits: logits[:, -1].exp(),
            "exp is there and the division is missing. Probabilities share out one unit: divide each text's powers by"
            " their sum.",
        ),
        "share-of-the-sum": Wrong(
            lambda logits: logits[:, -1] / logits[:, -1].sum(-1, keepdim=True),
            "You divided the logits by their sum, and logits can be negative. Softmax takes exp first, which makes all"
            " of them positive.",
        ),
        "one-sum-for-all": Wrong(
            lambda logits: logits[:, -1].exp() / logits[:, -1].exp().sum(),
            "All texts together share one unit here. Each text has its own probabilities: its own row sums to one.",
        ),
        "logits-themselves": Wrong(
            lambda logits: logits[:, -1],
            "These are the logits of the last position, positive and negative. Softmax turns them into probabilities.",
        ),
        "logarithm": Wrong(
            lambda logits: logits[:, -1].log_softmax(dim=-1),
            "These are logarithms of the probabilities, none above zero. A loss likes them; to read or to draw from,"
            " take the probabilities themselves.",
        ),
        "sigmoid": Wrong(
            lambda logits: logits[:, -1].sigmoid(),
            "A sigmoid squeezes each logit by itself, so the result does not sum to one. Exactly one token comes next:"
            " all of the vocabulary share one unit of probability.",
        ),
        "mean-over-positions": Wrong(
            lambda logits: logits.mean(dim=1).softmax(dim=-1),
            "You averaged the positions. Each of them predicts another token of the text; a mixture of these guesses"
            " predicts none.",
        ),
        "winner-takes-all": Wrong(
            lambda logits: F.one_hot(logits[:, -1].argmax(-1), logits.shape[-1]).float(),
            "The highest logit got all the probability. Softmax leaves some to every token, and how much is what the"
            " model has to say about its doubt.",
        ),
    },
    equivalent={
        # as the lesson says it, exp and divide; what large logits do to that is a matter of lesson 02
        "exp-and-divide": lambda logits: logits[:, -1].exp() / logits[:, -1].exp().sum(dim=-1, keepdim=True),
    },
    hints=Hints(
        "logits[b, t] is a list of scores, one for each token of the vocabulary. Which t is about the token that is"
        " not there yet?",
        "Take the last position of every text, then let the tokens of the vocabulary compete.",
        "Index the second axis with -1 and keep the whole first axis; softmax along the last axis of what remains.",
    ),
)


def _writing(rand):
    return [
        case(FakeCausalLM(rand), rand.integers(batch, seq, high=11), n)
        for batch, seq, n in ((2, 3, 1), (3, 4, 3), (1, 2, 6), (4, 1, 5))
    ] + [
        case(
            FakeCausalLM(rand, ends_at=4), rand.integers(2, 3, high=11), 3, note="with a model that says <|endoftext|>"
        )
    ]


def _greedy(model, tokens, n_tokens):
    for _ in range(n_tokens):
        following = torch.topk(model(tokens).logits.select(1, -1), k=1, dim=-1).indices
        tokens = torch.hstack((tokens, following))
    return tokens


def _written(choose=None, read=None, join=None, steps=lambda n: n):
    """Greedy writing with one thing done differently."""

    def generate(model, tokens, n_tokens):
        for _ in range(steps(n_tokens)):
            logits = model(read(tokens) if read else tokens).logits
            new = choose(logits) if choose else logits[:, -1].argmax(-1, keepdim=True)
            tokens = join(tokens, new) if join else torch.cat([tokens, new], dim=1)
        return tokens

    return generate


def _no_feedback(model, tokens, n_tokens):
    new = model(tokens).logits[:, -1].argmax(-1, keepdim=True)
    return torch.cat([tokens, *[new] * n_tokens], dim=1)


def _only_the_newest(model, tokens, n_tokens):
    new = tokens
    for _ in range(n_tokens):
        new = model(new).logits[:, -1].argmax(-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


def _window(model, tokens, n_tokens):
    return _written(read=lambda text: text[:, -tokens.shape[1] :])(model, tokens, n_tokens)


def _stops(keep):
    """Writing that ends when every text has come to the end of a text."""

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
    """Greedy writing has no chance in it."""
    for trial in probe.trials:
        first, again = (probe.run(replace(trial.case, seed=seed)) for seed in (1, 2))
        if first.failure or again.failure or not all(isinstance(o.value, torch.Tensor) for o in (first, again)):
            return None
        if not torch.equal(first.value, again.value):
            return (
                "The same text is continued in another way the second time: the next token is drawn at random. Greedy"
                " generation takes the most likely one; drawing comes next."
            )
    return None


exercise(
    "generate",
    oracle=_greedy,
    cases=_writing,
    returns=Int("batch seq_and_new"),
    properties=[_always_the_same],
    misconceptions={
        "only-the-newest": Wrong(
            _only_the_newest,
            "After the first round the model is given the new token alone. It has no memory between calls: whatever it"
            " is to know must be in the tokens that you pass, so pass the whole text so far.",
        ),
        "window": Wrong(
            _window,
            "The model is given only as many tokens as the text had at first, so it forgets the beginning as the text"
            " grows. Pass the whole text so far each time.",
        ),
        "stops-at-the-end": Wrong(
            _stops(keep=True),
            "You stop when the model says <|endoftext|>. n_tokens new tokens are asked for, whatever they are; to"
            " GPT-2 the end of one text is the beginning of another.",
        ),
        "stops-before-the-end": Wrong(
            _stops(keep=False),
            "You stop when the model says <|endoftext|>, and leave it out. n_tokens new tokens are asked for, whatever"
            " they are; this one is a token like any other.",
        ),
        "no-feedback": Wrong(
            _no_feedback,
            "The same token comes out every time, because the model is asked about the same text every time. Put the"
            " new token at the end of the text and ask again.",
        ),
        "only-the-new": Wrong(
            lambda model, tokens, n_tokens: _greedy(model, tokens, n_tokens)[:, tokens.shape[1] :],
            "Only the new tokens come back. The result is the whole text: what was given, then what was added.",
        ),
        "first-text-only": Wrong(
            _written(choose=lambda logits: logits[0, -1].argmax().expand(len(logits), 1)),
            "Every text of the batch gets the next token of the first. An index of 0 on the batch axis looks at one"
            " text; each text has its own last position.",
        ),
        "one-token-for-all": Wrong(
            _written(choose=lambda logits: logits[:, -1].argmax()[None, None]),
            "One token is chosen for the whole batch: an argmax without an axis looks at the logits of all texts at"
            " once. Each text has a most likely token of its own, so search along the vocabulary only.",
        ),
        "n_tokens-in-all": Wrong(
            lambda model, tokens, n_tokens: _greedy(model, tokens, max(0, n_tokens - tokens.shape[1])),
            "n_tokens counts the tokens that are there already, so that a long text gets nothing new. It says how many"
            " are added.",
        ),
        "forgets-the-past": Wrong(
            _written(read=lambda tokens: tokens[:, -1:]),
            "The model sees only the last token each time. It has no memory between calls: whatever it is to know must"
            " be in the tokens that you pass, so pass all of them.",
        ),
        "first-position": Wrong(
            _written(choose=lambda logits: logits[:, 0].argmax(-1, keepdim=True)),
            "You take the guess at the first position, which is about the second token. What comes after the text is"
            " predicted at its last position.",
        ),
        "one-too-few": Wrong(
            _written(steps=lambda n: n - 1),
            "One token is missing at the end. A token that is predicted in the last round has to be put in as well.",
        ),
        "one-too-many": Wrong(
            _written(steps=lambda n: n + 1),
            "There is one token too many. n_tokens new tokens are n_tokens rounds in all, a prediction before or after"
            " the loop counted with them.",
        ),
        "at-the-front": Wrong(
            _written(join=lambda tokens, new: torch.cat([new, tokens], dim=1)),
            "The new tokens stand at the front. A text grows at its end, and position by position the model has"
            " learned to read it from the left.",
        ),
        "every-position": Wrong(
            _written(choose=lambda logits: logits.argmax(-1)),
            "You append a guess for every position, so the text doubles in each round. Only the guess at the last"
            " position is about a token that is not there yet.",
        ),
        "draws": Wrong(
            _written(choose=lambda logits: torch.multinomial(logits[:, -1].softmax(-1), 1)),
            "You draw the next token at random. Greedy generation takes the most likely one each time, so that the"
            " same text is always continued in the same way; drawing comes next.",
        ),
        "least-likely": Wrong(
            _written(choose=lambda logits: logits[:, -1].argmin(-1, keepdim=True)),
            "You append the least likely token each time. The highest logit marks what the model expects.",
        ),
    },
    hints=Hints(
        "Do one round on paper: what goes into the model, which of its rows do you read, what do you append, and what"
        " goes in next time?",
        "In a loop: logits of the whole text so far, the most likely token at the last position of each text, then the"
        " text with that token at its end.",
        "argmax over the last axis of logits[:, -1], with keepdim so that the shape is [batch, 1]; torch.cat along the"
        " sequence axis; assign the result to tokens.",
    ),
)

# --- drawing ----------------------------------------------------------------------------------------
# Whoever draws in another way draws other tokens. So what is compared is the distribution that an answer
# draws from: hundreds of rows with the same logits give the share of each token, and these shares fit one
# of the distributions below, or none. Two cases have so many rows, one hot and one cold; in the others all but one
# token are out of reach, and a few rows tell. An answer that goes row by row is as right as any, so rows are few.

_ROWS = 600  # draws for each text where chance has a say
_LIMIT = 6.0  # standard deviations that shares may lie away from their probabilities, all taken together
_NEVER = 1e-6  # a probability at which nothing comes up


def _cut(logits, top_k, fill=-torch.inf, largest=True):
    keep = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, logits.topk(top_k, largest=largest).indices, True)
    return logits.masked_fill(~keep, fill)


def _whole_table_cut(logits, top_k):
    table = logits.unique(dim=0)
    return logits.masked_fill(logits < table.flatten().topk(min(top_k, table.numel())).values[-1], -1e9)


def _places(logits, temperature, top_k):
    ranked = torch.softmax(logits.topk(top_k).values / temperature, dim=-1)
    return F.pad(ranked, (0, logits.shape[-1] - top_k))


def _softmax_of(change):
    return lambda logits, temperature, top_k: torch.softmax(change(logits, temperature, top_k), dim=-1)


DRAWN_FROM = {
    "right": _softmax_of(lambda logits, t, k: _cut(logits, k) / t),
    "temperature-upside-down": _softmax_of(lambda logits, t, k: _cut(logits, k) * t),
    "no-temperature": _softmax_of(lambda logits, t, k: _cut(logits, k)),
    "no-top-k": _softmax_of(lambda logits, t, k: logits / t),
    "neither": _softmax_of(lambda logits, t, k: logits),
    "zero-instead-of-never": _softmax_of(lambda logits, t, k: _cut(logits, k, fill=0.0) / t),
    "all-alike": lambda logits, t, k: (_cut(logits, k) > -torch.inf) / k,
    "greedy": lambda logits, t, k: F.one_hot(logits.argmax(-1), logits.shape[-1]).float(),
    "smallest-k": _softmax_of(lambda logits, t, k: _cut(logits, k, largest=False) / t),
    "place-not-token": _places,
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


def _draw(probs, generator):
    return torch.multinomial(probs, 1, generator=generator)[:, 0]


def _drawing(name):
    """The answer that draws from one of the distributions above."""
    return lambda logits, temperature, top_k, generator: _draw(DRAWN_FROM[name](logits, temperature, top_k), generator)


def shares(result, case):
    """What was drawn, as a shape and a type, and the probabilities that the draws follow: of one that we know, else as
    they fell."""
    if result is None:
        return None
    if not isinstance(result, torch.Tensor):
        return result, None
    logits, temperature, top_k, _ = case.args
    texts, vocab = logits.unique_consecutive(dim=0), logits.shape[-1]
    drawn = result.detach().flatten().long()
    shape = torch.zeros_like(result)
    if len(drawn) != len(logits) or not 0 <= int(drawn.min()) <= int(drawn.max()) < vocab:
        return shape, torch.full_like(texts, torch.nan)
    rows = len(logits) // len(texts)
    fell = F.one_hot(drawn, vocab).view(len(texts), rows, vocab).float().mean(1)
    known = (make(texts, temperature, top_k) for make in DRAWN_FROM.values())
    return shape, next((p for p in known if _fits(fell, p, rows)), fell)


def _fits(fell, p, rows):
    """Whether shares of so many draws are what probabilities give: Pearson's chi-squared, as a normal deviation after
    Wilson and Hilferty."""
    able = p > _NEVER
    if (fell[~able] > 0).any():
        return False
    free = int(able.sum()) - len(p)
    if free == 0:
        return True
    chi2 = float((rows * (fell - p) ** 2 / p.clamp_min(0.5 / rows))[able].sum())  # a rare token may come up once
    return ((chi2 / free) ** (1 / 3) - (1 - 2 / (9 * free))) / (2 / (9 * free)) ** 0.5 <= _LIMIT


def _by_inverse(logits, temperature, top_k, generator):
    """Sorted probabilities, summed up, and where a uniform number falls among them."""
    ranked, tokens = logits.sort(dim=-1, descending=True)
    sums = (torch.softmax(ranked[:, :top_k].double() / temperature, dim=-1)).cumsum(-1)
    place = (torch.rand(len(logits), 1, generator=generator, dtype=torch.float64) > sums).sum(-1, keepdim=True)
    return tokens.gather(-1, place.clamp(max=top_k - 1))[:, 0]


def _one_number(logits, temperature, top_k, generator):
    ranked, tokens = logits.topk(top_k)
    sums = torch.softmax(ranked / temperature, dim=-1).cumsum(-1)
    place = (torch.rand(1, generator=generator) > sums).sum(-1, keepdim=True)
    return tokens.gather(-1, place.clamp(max=top_k - 1))[:, 0]


def _naive(logits, temperature, top_k, generator):
    """Powers of the logits as they are."""
    return _draw(torch.where(_cut(logits, top_k) > -torch.inf, (logits / temperature).exp(), 0.0), generator)


_from_the_generator = draws_from_its_generator(
    torch.linspace(-1.0, 1.0, 5).repeat(40, 1),
    1.0,
    3,
    restarted="The draws follow the right probabilities, and a second call with the same generator gave the very same"
    " ones: it is seeded anew inside, or copied. Draw from it as it is, so that each call goes on where the last one"
    " stopped.",
    elsewhere="The draws follow the right probabilities, and the same generator in the same state gave others the"
    " second time. The chance comes from somewhere else than the generator: pass it on to whatever draws, so that a"
    " text can be made again.",
    ignored="The draws follow the right probabilities, and two generators in different states gave the very same ones."
    " Is something seeded inside, or made afresh? Draw from the generator that is passed in.",
    disturbing="The draws are right, and on the way torch's global random numbers were used or seeded. A model that"
    " is trained in the same program would get other numbers; draw from the generator alone.",
)


def sampling(rand):
    def texts(logits, *shifts):
        near = torch.tensor(logits)
        return torch.stack([near[torch.randperm(len(near), generator=rand.generator)] + shift for shift in shifts])

    def rows(logits, temperature, top_k, count, note=""):
        seed = int(rand.integers(1, high=1000))
        while torch.rand(1, generator=torch.Generator().manual_seed(seed)) < 0.95:
            seed += 1  # whoever draws one number for all rows meets none of the most likely tokens
        generator = torch.Generator().manual_seed(seed)
        return case(logits.repeat_interleave(count, 0), temperature, top_k, generator, note=note)

    cold = [0.5, 0.25, 0.0, -0.25, -0.5, -0.75]
    hot = [1.0, -1.8, -4.6, -4.9, -5.2, -5.5, -5.8]
    return [  # so far apart that so many draws tell the distributions from each other
        rows(texts(cold, 0.0, 2.0), 0.25, 3, _ROWS),
        rows(texts(hot, 0.0, 2.0), 4.0, 3, _ROWS),
        rows(texts([80.0, 60.0, 40.0, 20.0, 0.0], 0.0), 1.0, 1, 1, note="with one text"),
        rows(texts([260.0, 240.0, 220.0, 200.0], 0.0), 1.0, 4, 30, note="with logits above 200"),
    ]


exercise(
    "sample",
    oracle=_by_inverse,
    cases=sampling,
    parse_result=shares,
    returns=(Int("batch", name="tokens"), Float("text vocab", name="share of each token")),
    properties=[_from_the_generator],
    differentiable=False,
    explain_entry=lambda index, yours, expected: (
        f"this is the share of token {index[-1]} among the rows with the logits of text {index[0]}"
    ),
    misconceptions={
        "temperature-upside-down": Wrong(
            _drawing("temperature-upside-down"),
            "You multiplied by the temperature. It divides the logits: hot means that they move together and every"
            " token gets a chance, cold that they move apart and the favourite wins.",
        ),
        "no-temperature": Wrong(
            _drawing("no-temperature"),
            "The temperature makes no difference to what you draw. Dividing the probabilities by it, and letting them"
            " sum to one again, cancels out; it has to act on the logits, before the softmax.",
        ),
        "no-top-k": Wrong(
            _drawing("no-top-k"),
            "Tokens outside the top k are drawn as well. Of fifty thousand unlikely tokens one comes up now and then,"
            " and a single one can spoil a text: outside the k best, the chance is 0.",
        ),
        "neither": Wrong(
            _drawing("neither"),
            "You draw from the model's own probabilities: neither the temperature nor top_k has any effect yet. Both"
            " change the logits before the softmax.",
        ),
        "zero-instead-of-never": Wrong(
            _drawing("zero-instead-of-never"),
            "You set the logits outside the top k to 0, and the power of 0 is 1: these tokens are still drawn, some"
            " more often than before. Only minus infinity has the power 0.",
        ),
        "all-alike": Wrong(
            _drawing("all-alike"),
            "The k best tokens are all drawn equally often. Top-k says who may take part; how likely each is, the"
            " logits say.",
        ),
        "greedy": Wrong(
            _drawing("greedy"),
            "The most likely token comes out every time. That is greedy choice; drawing takes each token as often as"
            " its probability says.",
        ),
        "smallest-k": Wrong(
            _drawing("smallest-k"),
            "You kept the k least likely tokens. The model's best guesses have the highest logits.",
        ),
        "place-not-token": Wrong(
            _drawing("place-not-token"),
            "You return the place among the k best, 0 for the most likely, and not the token that stands there. topk"
            " gives values and indices: the second say which tokens of the vocabulary these are.",
        ),
        "one-more": Wrong(
            _drawing("one-more"),
            "One token too many takes part: k + 1 of them are drawn. When you compare with the k-th best logit, look"
            " at where the k-th stands if one counts from 0.",
        ),
        "one-cut-for-all": Wrong(
            _drawing("one-cut-for-all"),
            "One threshold was made for the whole batch. A text whose logits lie lower loses its tokens to the others;"
            " each row has its own k best.",
        ),
        "first-text-for-all": Wrong(
            _drawing("first-text-for-all"),
            "Every row was drawn with the logits of the first text. Each row is a text of its own, with its own"
            " probabilities.",
        ),
        "first-texts-cut": Wrong(
            _drawing("first-texts-cut"),
            "The k-th best logit of the first text is the threshold for every text, so that another one keeps more"
            " tokens than k, or fewer. Each row has its own k best.",
        ),
        "first-texts-tokens": Wrong(
            _drawing("first-texts-tokens"),
            "The k best tokens of the first text are allowed for every text. Each row has its own k best.",
        ),
        "one-number-for-all": Wrong(
            _one_number,
            "All rows with the same logits got the same token, as if one random number had decided for the whole batch."
            " Each row is a text of its own and needs a draw of its own.",
        ),
        "drops-the-batch": Wrong(
            lambda logits, temperature, top_k, generator: _by_inverse(logits, temperature, top_k, generator).squeeze(),
            "For a batch of one text the batch axis is lost: squeeze() drops every axis of size 1. Name the axis that"
            " is to go.",
        ),
        "naive-exponential": Wrong(
            _naive,
            "You raised e to the logits as they are. From 89 on that is more than a float32 can hold, and from inf"
            " nobody can draw; only differences between logits matter, so let softmax move them down.",
        ),
        "keeps-the-axis": Wrong(
            lambda logits, temperature, top_k, generator: _by_inverse(logits, temperature, top_k, generator)[:, None],
            "The draws are right and stand in a column of shape [batch, 1]. multinomial and gather keep an axis for"
            " several draws; here each row has one token, so that axis goes.",
        ),
    },
    equivalent={
        "temperature-after-top-k": lambda logits, temperature, top_k, generator: _draw(
            torch.softmax(_cut(logits, top_k) / temperature, dim=-1), generator
        ),
        "cut-after-softmax-not-renormalised": lambda logits, temperature, top_k, generator: _draw(
            _cut(torch.softmax(logits / temperature, dim=-1), top_k, fill=0.0), generator
        ),
    },
    hints=Hints(
        "Three steps: change the logits by temperature, decide who may take part, draw. What must a logit be for a"
        " chance of 0?",
        "Divide by the temperature. Find the k-th best logit of each row and set what lies below it to minus infinity."
        " Softmax, then draw one token a row.",
        "logits.topk(top_k).values[:, -1:] is the threshold of each row, and masked_fill uses it."
        " torch.multinomial(probs, 1, generator=generator) draws a column; take its only entry in each row.",
    ),
)
