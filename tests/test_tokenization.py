"""Lesson 01: right answers, written differently, the property of its sampling check, and the claims of its prose."""

import codecs
import contextlib
import io
from collections import Counter, defaultdict
from itertools import pairwise

import pytest
import torch
from torch.nn import functional as F

from solutions import tokenization as lesson
from utils.diagnose import diagnose
from utils.exercise import find
from utils.feedback import check
from utils.gpt2 import load_gpt2, load_tokenizer
from utils.gpt2.tokenizer import read_merges

# --- right answers ----------------------------------------------------------------------------------


def counts_by_counter(ids):
    return Counter(pairwise(ids))


def counts_by_index(ids):
    counts = defaultdict(int)
    for i in range(len(ids) - 1):
        counts[ids[i], ids[i + 1]] += 1
    return dict(counts)


def counts_by_list(ids):
    pairs = list(zip(ids[:-1], ids[1:]))
    return {pair: pairs.count(pair) for pair in pairs}


def merge_with_a_stack(ids, pair, new_id):
    """The new id is never half of the pair, so looking back never merges too much."""
    out = []
    for x in ids:
        if out and (out[-1], x) == pair:
            out[-1] = new_id
        else:
            out.append(x)
    return out


def merge_by_deletion(ids, pair, new_id):
    ids, i = list(ids), 0
    while i < len(ids) - 1:
        if (ids[i], ids[i + 1]) == pair:
            ids[i: i + 2] = [new_id]
        i += 1
    return ids


def merge_with_a_flag(ids, pair, new_id):
    out, used = [], False
    for a, b in zip(ids, [*ids[1:], None]):
        if used:
            used = False
        elif (a, b) == pair:
            out.append(new_id)
            used = True
        else:
            out.append(a)
    return out


def bpe_on_pieces(text, n_merges):
    """Pieces of bytes instead of numbers; two equal pieces are one token."""
    pieces, number, merges = [bytes([b]) for b in text.encode()], {bytes([b]): b for b in range(256)}, {}
    for new_id in range(256, 256 + n_merges):
        left, right = Counter(pairwise(pieces)).most_common(1)[0][0]
        merges[number[left], number[right]] = new_id
        number[left + right] = new_id
        pieces = merge_with_a_stack(pieces, (left, right), left + right)
    return merges


def bpe_with_a_loop_for_the_best(text, n_merges):
    ids, merges, following = [b for b in bytes(text, "utf-8")], {}, 256
    while len(merges) < n_merges:
        best, most = None, 0
        for pair, n in lesson.count_pairs(ids).items():
            if n > most:
                best, most = pair, n
        merges[best] = following
        ids = merge_by_deletion(ids, best, following)
        following += 1
    return merges


def bpe_recursive(text, n_merges):
    def further(ids, merges):
        if len(merges) == n_merges:
            return merges
        (pair, _), new_id = Counter(pairwise(ids)).most_common(1)[0], 256 + len(merges)
        return further(merge_with_a_flag(ids, pair, new_id), {**merges, pair: new_id})

    return further(list(text.encode("utf8")), {})


def strings_in_a_batch(text, tokenizer):
    return tokenizer.batch_decode([[i] for i in tokenizer(text)["input_ids"]])


def strings_with_a_loop(text, tokenizer):
    out = []
    for token in tokenizer.encode(text, return_tensors="pt")[0]:
        out.append(tokenizer.decode(token))
    return out


def strings_from_the_vocabulary(text, tokenizer):
    return [tokenizer.convert_tokens_to_string([t]) for t in tokenizer.tokenize(text)]


def probs_softmax_first(logits):
    return logits.softmax(-1)[:, -1, :]


def probs_by_hand(logits):
    last = logits.select(1, logits.shape[1] - 1)
    powers = (last - last.amax(dim=-1, keepdim=True)).exp()
    return powers / powers.sum(dim=-1, keepdim=True)


@torch.no_grad()
def probs_text_by_text(logits):
    return torch.stack([torch.softmax(text[-1], dim=0) for text in logits])


@torch.no_grad()
def generate_by_keyword(model, tokens, n_tokens):
    for _ in range(n_tokens):
        best = model(input_ids=tokens).logits[:, -1, :].softmax(-1).argmax(dim=-1)
        tokens = torch.cat((tokens, best.unsqueeze(-1)), dim=-1)
    return tokens


def generate_into_a_table(model, tokens, n_tokens):
    batch, seq = tokens.shape
    out = torch.empty(batch, seq + n_tokens, dtype=tokens.dtype)
    out[:, :seq] = tokens
    for i in range(seq, seq + n_tokens):
        out[:, i] = model(out[:, :i]).logits[:, -1].argmax(-1)
    return out


def generate_recursively(model, tokens, n_tokens):
    if n_tokens == 0:
        return tokens
    new = model(tokens).logits.argmax(-1)[:, -1:]
    return generate_recursively(model, torch.cat([tokens, new], 1), n_tokens - 1)


def generate_text_by_text(model, tokens, n_tokens):
    rows = []
    for row in tokens:
        for _ in range(n_tokens):
            row = torch.cat([row, model(row[None]).logits[0, -1].argmax()[None]])
        rows.append(row)
    return torch.stack(rows)


def sample_among_the_best(logits, temperature, top_k, generator):
    values, tokens = logits.topk(top_k, dim=-1)
    place = torch.multinomial(F.softmax(values / temperature, -1), num_samples=1, generator=generator)
    return tokens.gather(1, place).squeeze(1)


def sample_by_gumbel(logits, temperature, top_k, generator):
    threshold = logits.sort(dim=-1, descending=True).values[:, top_k - 1].unsqueeze(1)
    noise = -torch.log(-torch.log(torch.rand(logits.shape, generator=generator)))
    return torch.where(logits >= threshold, logits / temperature + noise, -torch.inf).argmax(-1)


def sample_by_cumsum(logits, temperature, top_k, generator):
    probs = torch.softmax(logits.double() / temperature, -1)
    probs = torch.where(probs >= probs.topk(top_k).values[:, -1:], probs, 0)
    sums = probs.cumsum(-1)
    return torch.searchsorted(sums, torch.rand(len(logits), 1, generator=generator, dtype=torch.float64) * sums[:, -1:], right=True).squeeze(1)


def sample_row_by_row(logits, temperature, top_k, generator):
    out = []
    for row in logits:
        best = row.topk(top_k)
        out.append(best.indices[torch.multinomial((best.values / temperature).softmax(0), 1, generator=generator)].item())
    return torch.tensor(out)


RIGHT = {
    "count_pairs": [counts_by_index, counts_by_counter, counts_by_list],
    "merge": [merge_with_a_stack, merge_by_deletion, merge_with_a_flag],
    "train_bpe": [bpe_on_pieces, bpe_with_a_loop_for_the_best, bpe_recursive],
    "to_str_tokens": [strings_in_a_batch, strings_with_a_loop, strings_from_the_vocabulary],
    "next_token_probs": [probs_softmax_first, probs_by_hand, probs_text_by_text],
    "generate": [generate_by_keyword, generate_into_a_table, generate_recursively, generate_text_by_text],
    "sample": [sample_among_the_best, sample_by_gumbel, sample_by_cumsum, sample_row_by_row],
}


# --- what the checks say beyond the named mistakes --------------------------------------------------


def test_the_order_of_pairs_is_told_from_their_counts():
    def count_pairs(ids):
        return {pair: n for pair, n in sorted(Counter(pairwise(ids)).items())}

    assert "the order of the pairs is not" in check(count_pairs).message

    def count_pairs(ids):
        return {f"{a} {b}": n for (a, b), n in Counter(pairwise(ids)).items()}

    assert "'1 2' is a key of yours" in check(count_pairs).message


def test_counts_that_do_not_add_up_are_told_by_their_sum():
    def count_pairs(ids):
        return Counter({pair: n + 1 for pair, n in Counter(pairwise(ids)).items()})

    assert check(count_pairs).message == "For [1, 2, 3] your counts sum to 4. 3 ids have 2 places where two of them meet, and each of these counts once."


def test_counts_that_add_up_are_compared_entry_by_entry():
    def count_pairs(ids):
        counts = Counter(pairwise(ids))
        for pair in list(counts)[:1]:
            counts[pair] += 1
            counts[list(counts)[-1]] -= 1
        return counts

    assert check(count_pairs).message.endswith("Smallest: count_pairs([1, 2, 3]): at key (1, 2) yours is 2, expected 1.")


def test_a_merge_that_adds_something_is_spelt_out():
    def merge(ids, pair, new_id):
        return [*lesson.merge(ids, pair, new_id), 0]

    assert "With each 9 spelt out as (1, 2) again that reads [1, 2, 0], and the text was [1, 2]" in check(merge).message

    def merge(ids, pair, new_id):
        return ids[:-1] + ids[-1:]

    assert check(merge).misconception == "list-against-tuple"

    def merge(ids, pair, new_id):
        merged = lesson.merge(ids, pair, new_id)
        return merged if len(ids) < 10 else lesson.merge(ids[:8], pair, new_id) + ids[8:]

    assert "still stands in it" in check(merge).message


def test_training_is_told_by_how_many_which_ids_and_what_comes_first():
    def train_bpe(text, n_merges):
        return dict(list(lesson.train_bpe(text, n_merges).items())[1:])

    assert "gave 0 merges. 1 rounds were asked for" in check(train_bpe).message

    def train_bpe(text, n_merges):
        return {pair: 2 * i for pair, i in lesson.train_bpe(text, n_merges).items()}

    assert "Your new ids are [512]" in check(train_bpe).message

    def train_bpe(text, n_merges):
        return {(0, i): 256 + i for i in range(n_merges)}

    assert "your first merge is (0, 0), which stands there 0 times" in check(train_bpe).message


def one_item_joined(model, tokens, n_tokens):
    return torch.cat([tokens, model(tokens).logits[0, -1].argmax()[None, None]], dim=1)


ERRORS = {
    "which has fewer items than was counted on": ("merge", lambda ids, pair, new_id: [ids[i + 1] for i in range(len(ids))]),
    "a list can change, a tuple cannot": ("count_pairs", lambda ids: {ids[i: i + 2]: 1 for i in range(len(ids) - 1)}),
    "what the exercise asks you to write": ("generate", lambda model, tokens, n_tokens: model.generate(tokens, max_new_tokens=n_tokens)),
    "not a tensor but a tuple": ("generate", lambda model, tokens, n_tokens: model(tokens)[:, -1]),
    "must agree in all others, and here 2 meets 1": ("generate", one_item_joined),
    "and here 2 meet 1. keepdim": ("generate", lambda model, tokens, n: torch.cat([tokens, model(tokens).logits[:, -1].argmax(-1)], 1)),
    "A softmax makes probabilities": ("sample", lambda l, t, k, g: torch.multinomial(l / t, 1, generator=g)[:, 0]),
}


@pytest.mark.parametrize("words", ERRORS)
def test_errors_are_told_in_words(words):
    name, answer = ERRORS[words]
    message = str(diagnose(find(name), answer))
    assert words in message, message


def test_training_waits_for_its_parts():
    def train_bpe(text, n_merges):
        raise NotImplementedError("count_pairs")

    assert str(check(train_bpe)) == "○ train_bpe: it needs `count_pairs`, and that is not attempted yet."


DRAWS = {
    "gave others the second time": lambda l, t, k, g: sample_among_the_best(l, t, k, None),
    "gave the very same ones": lambda l, t, k, g: sample_among_the_best(l, t, k, torch.Generator().manual_seed(0)),
    "random numbers were used or seeded": lambda l, t, k, g: (torch.rand(1), sample_among_the_best(l, t, k, g))[1],
    "it changed its input `logits`": lambda l, t, k, g: sample_among_the_best(l.div_(t), 1.0, k, g),
    "has shape [3000, 6]; expected is [batch = 3000]": lambda l, t, k, g: torch.multinomial(l.exp(), 6, generator=g),
    "a list of 3000 as its `tokens`, and a tensor": lambda l, t, k, g: sample_among_the_best(l, t, k, g).tolist(),
    "float32 where int64 is needed": lambda l, t, k, g: sample_among_the_best(l, t, k, g).float(),
    "Did you forget `return`": lambda l, t, k, g: None,
}


@pytest.mark.parametrize("words", DRAWS)
def test_what_a_wrong_way_to_draw_reads(words):
    def sample(logits, temperature, top_k, generator):
        return DRAWS[words](logits, temperature, top_k, generator)

    report = check(sample)
    assert report.status == "failed" and report.misconception is None and words in report.message, str(report)


def test_a_distribution_that_nobody_thought_of_is_shown():
    def sample(logits, temperature, top_k, generator):
        return torch.multinomial(torch.softmax(logits.topk(top_k).values.flip(-1) / temperature, -1), 1, generator=generator)[:, 0]

    report = check(sample)
    assert report.misconception is None and "this is how often token" in report.message and report.table.caption == "share of each token"


@pytest.mark.parametrize("mistake", ["temperature-upside-down", "no-top-k", "zero-instead-of-never", "place-not-token", "greedy"])
def test_a_mistake_in_drawing_is_named_whatever_the_way_of_drawing(mistake):
    from utils.checks.tokenization import _DRAWN_FROM

    def sample(logits, temperature, top_k, generator):
        p = _DRAWN_FROM[mistake](logits, temperature, top_k)
        noise = torch.empty_like(p).exponential_(generator=generator)
        return (p / noise).argmax(-1)

    assert check(sample).misconception == mistake


def test_chance_does_not_make_a_right_answer_fail():
    """Other draws than those of the seeds above: a right answer must pass with any method and any seed."""
    from utils.checks.tokenization import _sampling, _shares
    from utils.exercise import Sampler

    for seed in range(60):
        for case in _sampling(Sampler(f"sample:{seed % 2}")):
            logits, temperature, top_k, _ = case.args
            drawn = sample_among_the_best(logits, temperature, top_k, torch.Generator().manual_seed(seed))
            exact = torch.softmax(logits[::1500].masked_fill(logits[::1500] < logits[::1500].topk(top_k).values[:, -1:], -torch.inf) / temperature, -1)
            assert torch.allclose(_shares(drawn, case)[1], exact, atol=1e-6)


# --- claims: bytes and byte pairs -------------------------------------------------------------------

TEXT = "the cat in the hat sat in the heat"


def poem():
    with contextlib.redirect_stdout(io.StringIO()):
        import this
    return codecs.decode(this.s, "rot13")


def test_bytes():
    assert [len(c.encode()) for c in "hé👋"] == [1, 2, 4] and len("café 👋".encode()) == 10
    assert len("language") == len("hjksdfiu") == 8


def test_by_hand():
    ids = list(TEXT.encode())
    counts = counts_by_counter(ids)
    assert len(ids) == 34 and counts[104, 101] == counts[97, 116] == 4 == max(counts.values())
    assert list(counts).index((104, 101)) < list(counts).index((97, 116))
    assert TEXT.count("the") == 3 and TEXT.count("heat") == 1
    assert len(merge_with_a_flag(ids, (104, 101), 256)) == 30
    merges = bpe_on_pieces(TEXT, 5)
    words = lesson.vocabulary(merges)
    assert [words[i] for i in range(256, 261)] == [b"he", b"at", b"the", b"the ", b"at "]
    assert len(lesson.encode(TEXT, merges)[0]) == 17


def test_the_poem():
    text = poem()
    assert len(text) == len(text.encode()) == 856
    assert len(text.splitlines()) == 21 and sum(map(bool, text.splitlines())) - 1 == 19
    merges = bpe_on_pieces(text, 100)
    words = lesson.vocabulary(merges)
    assert words[277] == b" is better than" and all(words[i] != b" is better than" for i in range(256, 277))
    after = [len(lesson.encode(text, dict(list(merges.items())[:n]))[0]) for n in (0, 10, 90, 100)]
    assert (after[0] - after[1], after[2] - after[3]) == (152, 20)


# --- claims: GPT-2's tokenizer ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def tokenizer():
    return load_tokenizer()


def test_the_opening(tokenizer):
    assert tokenizer.encode(" strawberry") == [41236] and "strawberry".count("r") == 3


def test_the_vocabulary(tokenizer):
    assert len(read_merges()) == 50000 and len(tokenizer) == 50257 == 256 + 50000 + 1
    assert ["".join(pair).replace("Ġ", " ") for pair in read_merges()[:5]] == [" t", " a", "he", "in", "re"]
    assert tokenizer.get_vocab()["!"] == 0 and ord("!") == 33
    text = {i: tokenizer.decode([i]) for i in range(50256)}
    words = [t for t in text.values() if t.strip() and "\ufffd" not in t]
    assert not any(" " in t.strip() for t in words)  # no two words in a token
    assert not any(t.endswith(" ") for t in words)  # a space only in front
    assert all(any(p in e for e in tokenizer.get_vocab()) for p in ("Ġthe", "Ġlanguage"))


def test_names_and_numbers(tokenizer):
    ids = [tokenizer.encode(name) for name in ("Ralph", " Ralph", " ralph", "ralph")]
    shared = [set(a) & set(b) for i, a in enumerate(ids) for b in ids[:i]]
    assert set().union(*shared) == set(tokenizer.encode("alph"))
    pieces = lesson.to_str_tokens("56873+3184623=123456789-1000000000", tokenizer)
    assert {len(p) for p in pieces if p.isdigit()} == {1, 2, 3, 6} and pieces[:2] == ["568", "73"]


def test_the_end_of_text(tokenizer):
    assert tokenizer.encode("<|endoftext|>") == [50256]
    assert tokenizer.bos_token_id == tokenizer.eos_token_id == tokenizer.pad_token_id == 50256


# --- claims: the model ------------------------------------------------------------------------------

PROMPT = "When Mary and John went to the store, John gave a drink to"


@pytest.fixture(scope="module")
def logits(tokenizer):
    model, _ = load_gpt2()
    with torch.no_grad():
        return model(tokenizer.encode(PROMPT, return_tensors="pt")).logits


def test_mary_gets_the_drink(tokenizer, logits):
    assert logits.shape == (1, 14, 50257)
    assert tokenizer.decode(logits[0, -1].argmax()) == " Mary"
    assert logits[0, -1].softmax(-1).max() > 0.5
    guesses = [tokenizer.decode(i) for i in logits[0].argmax(-1)]
    assert guesses[2] != " John" and guesses[5:8] == [" the", " store", ","]  # the second name could be anybody's


def test_greedy_writing(tokenizer):
    tokens = tokenizer.encode(PROMPT, return_tensors="pt")
    model, _ = load_gpt2()
    with torch.no_grad():
        text = tokenizer.decode(lesson.generate(model, tokens, 10)[0])
    assert text.startswith(PROMPT + " Mary")


def test_temperature():
    two = torch.tensor([2.0, 0.0])
    assert round(float(two.softmax(0)[0]), 2) == 0.88 and round(float((two / 2).softmax(0)[0]), 2) == 0.73
    assert (two / 0.01).softmax(0)[0] == 1


def test_a_story_can_be_told_again(tokenizer):
    """`write` of the lesson in short: the seed is the story."""
    model, _ = load_gpt2()
    start = tokenizer.encode("Once Mary", return_tensors="pt")

    def story(seed):
        generator, tokens = torch.Generator().manual_seed(seed), start
        for _ in range(8):
            with torch.no_grad():
                new = lesson.sample(model(tokens).logits[:, -1], 1.0, 50, generator)
            tokens = torch.cat([tokens, new[:, None]], 1)
        return tokens.tolist()

    assert story(1) == story(1) != story(2)


def test_the_stream_keeps_its_shape(tokenizer):
    model, _ = load_gpt2()
    with torch.no_grad():
        states = model(tokenizer.encode(PROMPT, return_tensors="pt"), output_hidden_states=True).hidden_states
    assert len(states) == model.config.n_layer + 1 and {s.shape for s in states} == {(1, 14, model.config.n_embd)}


def test_spelling(tokenizer):
    ids = [tokenizer.encode(word) for word in ("Strawberry", " strawberry", " strawbery")]
    assert not set(ids[0]) & set(ids[1]) and not set(ids[1]) & set(ids[2]) and not set(ids[0]) & set(ids[2])
    assert tokenizer.encode("Strawberry strawberry strawbery") == sum(ids, [])
