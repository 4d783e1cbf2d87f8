"""Lesson 01: right answers, written differently, the property of its sampling check, and the claims of its prose."""

import codecs
import contextlib
import io
import re
from collections import Counter, defaultdict
from itertools import pairwise

import pytest
import torch
from torch.nn import functional as F

from solutions import tokenization as lesson
from tests.fresh_python import printed_output
from tests.gpt2.test_real_gpt2 import BOAST, GUESSES
from utils import lessons
from utils.checks import tokenization
from utils.checks.tokenization import DRAWN_FROM, sampling, shares
from utils.explore.learner_sentence import FEWEST, MOST
from utils.feedback.check import check
from utils.feedback.diagnose import diagnose
from utils.feedback.exercise import Sampler, find_exercise
from utils.gpt2 import load_gpt2, load_tokenizer
from utils.gpt2.tokenizer import read_merges
from utils.instructor.strip import strip_cell
from utils.lessons import markers
from utils.test_doubles.tokenization import LazyTokenizer

# --- right answers ----------------------------------------------------------------------------------


def counts_by_counter(ids):
    return Counter(pairwise(ids))


def counts_by_index(ids):
    counts = defaultdict(int)
    for i in range(len(ids) - 1):
        counts[ids[i], ids[i + 1]] += 1
    return dict(counts)


def counts_by_list(ids):
    pairs = list(pairwise(ids))
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
            ids[i : i + 2] = [new_id]
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
    ids, merges, following = list(bytes(text, "utf-8")), {}, 256
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


def generate_from_a_cache(model, tokens, n_tokens):
    """As it is done in practice: what was computed for the earlier positions is handed back."""
    new, past = tokens, None
    for _ in range(n_tokens):
        said = model(new, past_key_values=past, use_cache=True)
        new, past = said.logits[:, -1].argmax(-1, keepdim=True), said.past_key_values
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


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
    return torch.searchsorted(
        sums, torch.rand(len(logits), 1, generator=generator, dtype=torch.float64) * sums[:, -1:], right=True
    ).squeeze(1)


def sample_row_by_row(logits, temperature, top_k, generator):
    out = []
    for row in logits:
        best = row.topk(top_k)
        out.append(
            best.indices[torch.multinomial((best.values / temperature).softmax(0), 1, generator=generator)].item()
        )
    return torch.tensor(out)


RIGHT = {
    "count_pairs": [counts_by_index, counts_by_counter, counts_by_list],
    "merge": [merge_with_a_stack, merge_by_deletion, merge_with_a_flag],
    "train_bpe": [bpe_on_pieces, bpe_with_a_loop_for_the_best, bpe_recursive],
    "to_str_tokens": [strings_in_a_batch, strings_with_a_loop, strings_from_the_vocabulary],
    "next_token_probs": [probs_softmax_first, probs_by_hand, probs_text_by_text],
    "generate": [
        generate_by_keyword,
        generate_into_a_table,
        generate_recursively,
        generate_text_by_text,
        generate_from_a_cache,
    ],
    "sample": [sample_among_the_best, sample_by_gumbel, sample_by_cumsum, sample_row_by_row],
}


# --- what the checks say beyond the named mistakes --------------------------------------------------


def test_the_order_of_pairs_is_told_from_their_counts():
    def count_pairs(ids):
        return dict(sorted(Counter(pairwise(ids)).items()))

    assert "the order of the pairs is not" in check(count_pairs).message

    def count_pairs(ids):
        return {f"{a} {b}": n for (a, b), n in Counter(pairwise(ids)).items()}

    assert "'1 2' is a key of yours" in check(count_pairs).message


def test_counts_that_do_not_add_up_are_told_by_their_sum():
    def count_pairs(ids):
        return Counter({pair: n + 1 for pair, n in Counter(pairwise(ids)).items()})

    assert (
        check(count_pairs).message
        == "For [1, 2, 3] your counts sum to 4. 3 ids have 2 places where two of them meet, and each of these counts"
        " once."
    )


def test_counts_that_add_up_are_compared_entry_by_entry():
    def count_pairs(ids):
        counts = Counter(pairwise(ids))
        for pair in list(counts)[:1]:
            counts[pair] += 1
            counts[list(counts)[-1]] -= 1
        return counts

    assert check(count_pairs).message.endswith(
        "the smallest: count_pairs([1, 2, 3]): at key (1, 2) yours is 2, expected 1."
    )


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

    assert "gave a dict of 0, and n_merges is 1" in check(train_bpe).message

    def train_bpe(text, n_merges):
        return {pair: 2 * i for pair, i in lesson.train_bpe(text, n_merges).items()}

    assert "Your new ids are [512]" in check(train_bpe).message

    def train_bpe(text, n_merges):
        start = len(text) % 2
        return {(0, i): 256 + i - start for i in range(start, start + n_merges)}

    assert "your first merge is (0, 1), and another pair is more frequent: 0 places against" in check(train_bpe).message


def test_training_on_another_text_than_the_one_given_is_told():
    def train_bpe(text, n_merges):
        return {(0, i): 256 + i for i in range(n_merges)}

    assert "come out whatever the text is: the first is always (0, 0)" in check(train_bpe).message

    ids = list(TEXT.encode())  # a list of the page

    def train_bpe(text, n_merges):
        current, merges = ids, {}
        for new_id in range(256, 256 + n_merges):
            counts = lesson.count_pairs(current)
            best = max(counts, key=counts.get)
            merges[best], current = new_id, lesson.merge(current, best, new_id)
        return merges

    assert "come out whatever the text is: the first is always (104, 101)" in check(train_bpe).message


def test_what_is_kept_between_calls_is_told():
    def count_pairs(ids, counts={}):  # noqa: B006
        for pair in pairwise(ids):
            counts[pair] = counts.get(pair, 0) + 1
        return counts

    def merge(ids, pair, new_id, merged=[]):  # noqa: B006
        merged.extend(lesson.merge(ids, pair, new_id))
        return merged

    def train_bpe(text, n_merges, merges={}):  # noqa: B006
        merges.update(lesson.train_bpe(text, n_merges))
        return merges

    for answer, kept in ((count_pairs, "dict"), (merge, "list"), (train_bpe, "dict")):
        report = check(answer)
        assert report.property == "starts_anew" and f"the {kept} is kept between calls" in report.message, str(report)


def test_a_pair_that_stands_there_once_is_merged():
    def train_bpe(text, n_merges):
        ids, merges = list(text.encode()), {}
        while len(merges) < n_merges:
            counts = lesson.count_pairs(ids)
            best = max(counts, key=counts.get)
            if counts[best] < 2:
                break
            merges[best] = 256 + len(merges)
            ids = lesson.merge(ids, best, merges[best])
        return merges

    assert check(train_bpe).misconception == "only-what-repeats"


def test_no_ids_have_no_pairs_and_nothing_to_merge():
    def count_pairs(ids):
        counts, before = {}, ids[0]
        for i in ids[1:]:
            counts[before, i] = counts.get((before, i), 0) + 1
            before = i
        return counts

    assert "count_pairs([])" in check(count_pairs).message
    assert lesson.encode("", {(1, 2): 256}) == ([], [])


def test_the_first_check_of_tokens_needs_no_transformers():
    """Its import takes longer than that of torch."""
    code = (
        "import sys; from utils.feedback.check import check\n"
        "def to_str_tokens(text, tokenizer): return [tokenizer.decode(i) for i in tokenizer.encode(text)]\n"
        "print(check(to_str_tokens).status, 'transformers' in sys.modules)"
    )
    assert printed_output(code) == "passed False"


@pytest.mark.parametrize(
    "text",
    ["", "A café, naïve: 日本 🙂", "a , b . c 's n't", "<|endoftext|>one<|endoftext|>", " \n\t x", "strawberry " * 30],
)
def test_the_tokenizer_that_answers_are_run_with_is_gpt2s(text):
    real, ours = load_tokenizer(), LazyTokenizer()
    ids = real.encode(text)
    assert ours.encode(text) == ids and ours.encode(text, return_tensors="pt").tolist() == [ids]
    for skip in (False, True):
        assert ours.decode(ids, skip_special_tokens=skip) == real.decode(ids, skip_special_tokens=skip)
        assert ours.decode(torch.tensor(ids, dtype=torch.long)) == real.decode(ids)
    assert [ours.decode(i) for i in ids] == [ours.decode(torch.tensor(i)) for i in ids] == [real.decode(i) for i in ids]
    assert ours.decode([ids, ids]) == real.decode([ids, ids]) and len(ours) == len(real)


def test_what_is_missing_of_the_tokens_is_told():
    def to_str_tokens(text, tokenizer):
        return [tokenizer.decode(i) for i in tokenizer.encode(text) if i != tokenizer.eos_token_id]

    assert check(to_str_tokens).misconception == "end-left-out"

    def to_str_tokens(text, tokenizer):
        names = {i: name for name, i in tokenizer.get_vocab().items()}
        return [names[i].replace("Ġ", " ") for i in tokenizer.encode(text)]

    assert check(to_str_tokens).misconception == "only-the-space-translated"


def test_exp_and_divide_is_a_softmax_here():
    def next_token_probs(logits):
        powers = torch.exp(logits[:, -1])
        return powers / powers.sum(dim=1, keepdim=True)

    assert check(next_token_probs)


def test_one_text_is_a_batch_too():
    def next_token_probs(logits):
        return logits[:, -1:].softmax(-1).squeeze()

    def sample(logits, temperature, top_k, generator):
        return sample_among_the_best(logits, temperature, top_k, generator).squeeze()

    assert check(next_token_probs).misconception == "loses-the-batch"
    assert check(sample).misconception == "drops-the-batch"


def test_writing_goes_on_after_the_end_of_a_text():
    def generate(model, tokens, n_tokens):
        for _ in range(n_tokens):
            new = model(tokens).logits[:, -1].argmax(dim=-1, keepdim=True)
            tokens = torch.cat([tokens, new], dim=1)
            if (new == 50256).all():
                break
        return tokens

    assert check(generate).misconception == "stops-at-the-end"


def test_what_the_model_is_given_is_told():
    def generate(model, tokens, n_tokens):
        new = tokens
        for _ in range(n_tokens):
            new = model(new).logits[:, -1].argmax(dim=-1, keepdim=True)
            tokens = torch.cat([tokens, new], dim=1)
        return tokens

    assert "the new token alone" in check(generate).message

    def generate(model, tokens, n_tokens):
        seq = tokens.shape[1]
        for _ in range(n_tokens):
            new = model(tokens[:, -seq:]).logits[:, -1].argmax(dim=-1, keepdim=True)
            tokens = torch.cat([tokens, new], dim=1)
        return tokens

    assert check(generate).misconception == "window"

    def generate(model, tokens, n_tokens):
        for _ in range(n_tokens):
            tokens = torch.cat([tokens, torch.tensor([[model(tokens).logits[:, -1].argmax().item()]])], dim=1)
        return tokens

    assert check(generate).misconception == "one-token-for-all"


def test_writing_by_chance_is_told_however_it_draws():
    def generate(model, tokens, n_tokens):
        for _ in range(n_tokens):
            logits = model(tokens).logits[:, -1]
            chance = torch.rand(len(logits), 1)
            new = (logits.softmax(-1).cumsum(-1) < chance).sum(-1, keepdim=True).clamp(max=logits.shape[-1] - 1)
            tokens = torch.cat([tokens, new], dim=1)
        return tokens

    assert check(generate).property == "always_the_same"


def one_item_joined(model, tokens, n_tokens):
    return torch.cat([tokens, model(tokens).logits[0, -1].argmax()[None, None]], dim=1)


ERRORS = {
    "which has fewer items than was counted on": (
        "merge",
        lambda ids, pair, new_id: [ids[i + 1] for i in range(len(ids))],
    ),
    "a list can change, a tuple cannot": ("count_pairs", lambda ids: {ids[i : i + 2]: 1 for i in range(len(ids) - 1)}),
    "what the exercise asks you to write": (
        "generate",
        lambda model, tokens, n_tokens: model.generate(tokens, max_new_tokens=n_tokens),
    ),
    "not a tensor but a tuple": ("generate", lambda model, tokens, n_tokens: model(tokens)[:, -1]),
    "must agree in all others, and here 2 meets 1": ("generate", one_item_joined),
    "and here 2 meet 1. keepdim": (
        "generate",
        lambda model, tokens, n: torch.cat([tokens, model(tokens).logits[:, -1].argmax(-1)], 1),
    ),
    "A softmax makes probabilities": ("sample", lambda x, t, k, g: torch.multinomial(x / t, 1, generator=g)[:, 0]),
}


@pytest.mark.parametrize("words", ERRORS)
def test_errors_are_told_in_words(words):
    name, answer = ERRORS[words]
    message = str(diagnose(find_exercise(name), answer))
    assert words in message, message


def test_training_waits_for_its_parts():
    def train_bpe(text, n_merges):
        raise NotImplementedError("count_pairs")

    assert str(check(train_bpe)) == "○ train_bpe: it needs `count_pairs`, and that is not attempted yet."


DRAWS = {  # x: logits, t: temperature, k: top_k, g: generator
    "gave others the second time": lambda x, t, k, g: sample_among_the_best(x, t, k, None),
    "a second call with the same generator": lambda x, t, k, g: sample_among_the_best(
        x, t, k, g.manual_seed(g.initial_seed())
    ),
    "gave the very same ones": lambda x, t, k, g: sample_among_the_best(x, t, k, torch.Generator().manual_seed(0)),
    "random numbers were used or seeded": lambda x, t, k, g: (torch.rand(1), sample_among_the_best(x, t, k, g))[1],
    "it changed its input `logits`": lambda x, t, k, g: sample_among_the_best(x.div_(t), 1.0, k, g),
    "has shape [1200, 6]; expected is [batch = 1200]": lambda x, t, k, g: torch.multinomial(x.exp(), 6, generator=g),
    "a list of 1200 as its `tokens`, and a tensor": lambda x, t, k, g: sample_among_the_best(x, t, k, g).tolist(),
    "float32 where int64 is needed": lambda x, t, k, g: sample_among_the_best(x, t, k, g).float(),
    "Did you forget `return`": lambda x, t, k, g: None,
}


@pytest.mark.parametrize("words", DRAWS)
def test_what_a_wrong_way_to_draw_reads(words):
    def sample(logits, temperature, top_k, generator):
        return DRAWS[words](logits, temperature, top_k, generator)

    report = check(sample)
    assert report.status == "failed" and report.misconception is None and words in report.message, str(report)


def test_a_distribution_that_nobody_thought_of_is_shown():
    def sample(logits, temperature, top_k, generator):
        return torch.multinomial(
            torch.softmax(logits.topk(top_k).values.flip(-1) / temperature, -1), 1, generator=generator
        )[:, 0]

    report = check(sample)
    assert report.misconception is None and "this is the share of token" in report.message
    assert report.table.caption == "share of each token"


@pytest.mark.parametrize("other", [lambda t: t**0.5, lambda t: t * t, lambda t: max(t, 1.0), lambda t: min(t, 1.0)])
def test_another_temperature_is_not_taken_for_the_right_one(other):
    def sample(logits, temperature, top_k, generator):
        return sample_among_the_best(logits, other(temperature), top_k, generator)

    assert not check(sample)


def test_one_random_number_for_all_rows_is_told():
    def sample(logits, temperature, top_k, generator):
        probs = (logits.topk(top_k).values / temperature).softmax(-1)
        place = torch.searchsorted(probs.cumsum(-1), torch.rand(1, generator=generator).expand(len(probs), 1))
        return logits.topk(top_k).indices.gather(1, place.clamp(max=top_k - 1))[:, 0]

    assert check(sample).misconception == "one-number-for-all"


def test_a_text_that_explodes_stays_small():
    """An argmax along the wrong axis appends a token for each of the vocabulary, in every round."""

    def generate(model, tokens, n_tokens):
        for _ in range(n_tokens):
            tokens = torch.cat([tokens, model(tokens).logits[:, -1:].argmax(1)], dim=1)
        return tokens

    assert check(generate).reason == "shape"


def test_an_answer_that_goes_row_by_row_is_given_few_rows():
    asked = 0

    def sample(logits, temperature, top_k, generator):
        nonlocal asked
        asked += len(logits)
        return sample_row_by_row(logits, temperature, top_k, generator)

    assert check(sample) and asked < 6000


def test_the_bound_of_shares_is_six_standard_deviations(monkeypatch):
    """The statistic is a normal number: below 2 in 97.7 % of all draws, and below 6 in all that come up."""
    p = torch.tensor([[0.54, 0.30, 0.16], [0.16, 0.54, 0.30]])
    falls = _falls(p, 600, 2000)
    assert all(tokenization._fits(fell, p, 600) for fell in falls)
    monkeypatch.setattr(tokenization, "_LIMIT", 2.0)
    assert 1930 < sum(tokenization._fits(fell, p, 600) for fell in falls) < 1980


def _falls(p, rows, count):
    counts = torch.distributions.Multinomial(rows, p)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return counts.sample((count,)) / rows


@pytest.mark.parametrize(
    "mistake",
    [
        *("temperature-upside-down", "no-top-k", "zero-instead-of-never", "place-not-token", "greedy"),
        *("no-temperature", "neither", "all-alike", "one-more", "first-texts-tokens"),
    ],
)
def test_a_mistake_in_drawing_is_named_whatever_the_way_of_drawing(mistake):
    def sample(logits, temperature, top_k, generator):
        p = DRAWN_FROM[mistake](logits, temperature, top_k)
        noise = torch.empty_like(p).exponential_(generator=generator)
        return (p / noise).argmax(-1)

    assert check(sample).misconception == mistake


def test_chance_does_not_make_a_right_answer_fail():
    """Other draws than those of the seeds above: a right answer must pass with any method and any seed."""
    for seed in range(60):
        for case in sampling(Sampler(f"sample:{seed % 2}")):
            logits, temperature, top_k, _ = case.args
            drawn = sample_among_the_best(logits, temperature, top_k, torch.Generator().manual_seed(seed))
            texts = logits.unique_consecutive(dim=0)
            exact = torch.softmax(
                texts.masked_fill(texts < texts.topk(top_k).values[:, -1:], -torch.inf) / temperature, -1
            )
            assert torch.allclose(shares(drawn, case)[1], exact, atol=1e-6)


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


def test_only_spelt_out_does_the_word_show_its_letters(tokenizer):
    pieces = lesson.to_str_tokens("Strawberry strawberry strawbery s t r a w b e r r y", tokenizer)
    assert pieces[-10:] == [f" {letter}" for letter in "strawberry"] and pieces.count(" r") == 3
    assert min(len(piece.strip()) for piece in pieces[:-10]) > 1


def test_the_vocabulary(tokenizer):
    assert len(read_merges()) == 50000 and len(tokenizer) == 50257 == 256 + 50000 + 1
    assert ["".join(pair).replace("Ġ", " ") for pair in read_merges()[:5]] == [" t", " a", "he", "in", "re"]
    assert tokenizer.get_vocab()["!"] == 0 and ord("!") == 33
    text = {i: tokenizer.decode([i]) for i in range(50256)}
    words = [t for t in text.values() if t.strip() and "\ufffd" not in t]
    assert not any(" " in t.strip() for t in words)  # no two words in a token
    assert not any(t.endswith(" ") for t in words)  # a space only in front
    assert all(any(p in e for e in tokenizer.get_vocab()) for p in ("Ġthe", "Ġlanguage"))
    assert not any(re.search("[A-Za-z]", t) and re.search("[0-9]", t) for t in words)  # nor a word and a number


def test_a_word_of_two_tokens(tokenizer):
    assert lesson.to_str_tokens(" tokenization", tokenizer) == [" token", "ization"]
    assert lesson.to_str_tokens(" token by token, realization", tokenizer)[0] == " token"
    assert lesson.to_str_tokens(" vaporization", tokenizer)[-1] == "ization"


def test_names_and_numbers(tokenizer):
    ids = [tokenizer.encode(name) for name in ("Ralph", " Ralph", " ralph", "ralph")]
    shared = [set(a) & set(b) for i, a in enumerate(ids) for b in ids[:i]]
    assert set().union(*shared) == set(tokenizer.encode("alph"))
    pieces = lesson.to_str_tokens("56873+3184623=123456789-1000000000", tokenizer)
    assert {len(p) for p in pieces if p.isdigit()} == {1, 2, 3, 6} and pieces[:2] == ["568", "73"]


def test_the_end_of_text(tokenizer):
    assert tokenizer.encode("<|endoftext|>") == [50256]
    assert tokenizer.bos_token_id == tokenizer.eos_token_id == tokenizer.pad_token_id == 50256
    as_published = type(tokenizer)(vocab=tokenizer.get_vocab(), merges=read_merges())
    assert as_published.bos_token_id == as_published.eos_token_id == 50256 and as_published.pad_token is None


def test_the_lines_of_other_peoples_code_give_the_same(tokenizer, tmp_path):
    """`load_gpt2` does what the two Auto classes do: with a folder, where they take the name of a repository."""
    model, _ = load_gpt2()
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    same, their_tokenizer = lesson.from_hugging_face(tmp_path)
    tokens = tokenizer.encode(PROMPT, return_tensors="pt")
    with torch.no_grad():
        assert type(same) is type(model) and torch.allclose(same(tokens).logits, model(tokens).logits, atol=1e-4)
    assert their_tokenizer.encode(PROMPT) == tokens[0].tolist()


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
    assert guesses[2] != " John" and guesses[5] == " the" and guesses[7] == ","  # the second name could be anybody's


def test_first_it_is_open_then_it_is_mary(tokenizer, logits):
    mary, john = tokenizer.encode(" Mary John")
    assert PROMPT.startswith(tokenizer.decode(tokenizer.encode(PROMPT)[:9])) and tokenizer.encode(PROMPT)[8] == 11
    comma, end = logits[0, 8].softmax(-1), logits[0, -1].softmax(-1)
    assert abs(comma[mary] - 0.38) < 0.01 and abs(comma[john] - 0.21) < 0.01 and abs(end[mary] - 0.999) < 0.001


def test_a_text_for_the_real_gpt2_alone(tokenizer):
    """Its guesses, where it is: tests/gpt2/test_real_gpt2.py. Tokens that the small one never met share one vector."""
    cell = next(c.source for c in lessons.read_lesson(lessons.find_lesson("01")).cells if c.source.startswith("boast"))
    given = {}
    exec(cell[: cell.index("if source()")], given)
    ids = tokenizer.encode(given["boast"])
    assert given["boast"] == "<|endoftext|>" + BOAST and given["published"] == GUESSES
    assert lesson.to_str_tokens(BOAST, tokenizer)[-6:] == list(GUESSES)
    embedding = load_gpt2()[0].transformer.wte.weight
    stranger = embedding[tokenizer.encode(" Collider")[0]]
    known = [not torch.equal(embedding[i], stranger) for i in ids]
    assert len(ids) == 35 and known[0] and sum(known[1:]) == 15


def test_greedy_writing(tokenizer):
    tokens = tokenizer.encode(PROMPT, return_tensors="pt")
    model, _ = load_gpt2()
    with torch.no_grad():
        text = tokenizer.decode(lesson.generate(model, tokens, 10)[0])
    assert text.startswith(PROMPT + " Mary")


def test_two_draws_in_five_fall_outside_the_top_50(tokenizer):
    model, _ = load_gpt2()
    with torch.no_grad():
        probs = (model(tokenizer.encode("The", return_tensors="pt")).logits[0, -1] / 2).softmax(-1)
    assert abs(1 - probs.topk(50).values.sum() - 0.4) < 0.02


def test_three_gaps_are_one_exercise():
    """With only some of them filled, it is not attempted yet."""
    cell = next(c for c in lessons.read_lesson(lessons.find_lesson("01")).cells if "check(sample)" in c.source)
    stub = strip_cell(markers.parse_markers(cell)).source
    assert stub.count('raise NotImplementedError("sample")') == 3
    given = vars(lesson).copy()
    exec(stub.replace('raise NotImplementedError("sample")', "scaled = logits / temperature", 1), given)
    assert given["check"](given["sample"]).status == "todo"


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
    ids, parts = tokenizer.encode(PROMPT), model.transformer
    assert torch.allclose(states[0][0], parts.wte.weight[ids] + parts.wpe.weight[:14], atol=1e-6)  # x0


def test_spelling(tokenizer):
    ids = [tokenizer.encode(word) for word in ("Strawberry", " strawberry", " strawbery")]
    assert not set(ids[0]) & set(ids[1]) and not set(ids[1]) & set(ids[2]) and not set(ids[0]) & set(ids[2])
    assert tokenizer.encode("Strawberry strawberry strawbery") == [i for word in ids for i in word]


def test_the_sentence_that_later_lessons_draw():
    text = lessons.find_lesson("01").read_text(encoding="utf-8")
    assert f"of {FEWEST} to {MOST} tokens: lessons 02 to 05 draw it too" in text
    drawn = [p.stem[:2] for p in lessons.all_lessons() if "explore.my_sentence(" in p.read_text(encoding="utf-8")]
    assert drawn == ["02", "03", "04", "05"]
