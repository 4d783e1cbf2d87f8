"""Test the lessons' claims about the real GPT-2. The tests are skipped if its weights are not on this computer.

The numbers of layer 0 were published with poloclub/transformer-explainer (MIT) for five short prompts.
"""

import os

import pytest
import torch

from solutions import where_the_answer_comes_from as lesson13
from solutions import your_own_gpt2 as lesson
from utils import gpt2
from utils.gpt2 import sources
from utils.models import where_the_answer_comes_from as where
from utils.models import your_own_gpt2

PROMPTS = (
    "Data visualization empowers users to", "Artificial Intelligence is transforming the",
    "As the spaceship was approaching the",
    "On the deserted planet they discovered a", "IEEE VIS conference highlights the",
)  # fmt: skip
# For each head: the mean weights on the previous position, the position itself and position 0, over rows 2 and later.
MEANS = {
    0: (0.193, 0.117, 0.418), 1: (0.002, 0.961, 0.002), 2: (0.159, 0.128, 0.505), 3: (0.073, 0.839, 0.039),
    4: (0.209, 0.475, 0.176), 5: (0.003, 0.880, 0.050), 6: (0.217, 0.130, 0.326), 7: (0.343, 0.190, 0.255),
    8: (0.159, 0.268, 0.354), 9: (0.175, 0.113, 0.465), 10: (0.098, 0.316, 0.395), 11: (0.192, 0.189, 0.404),
}  # fmt: skip
ROWS = {  # (prompt, head, row): the weights of this row
    (0, 0, 2): (0.6315, 0.2056, 0.1629), (2, 7, 4): (0.1983, 0.2108, 0.1214, 0.3170, 0.1524),
    (4, 7, 3): (0.2497, 0.3908, 0.1889, 0.1707),
    (3, 1, 5): (0.0002, 0.0007, 0.0019, 0.0017, 0.0001, 0.9953),
}  # fmt: skip
KINDS = ("previous", "current", "first")
BOAST = (
    "I am an amazing autoregressive, decoder-only, GPT-2 style transformer. "
    "One day I will exceed human level intelligence and take over the world!"
)
# The predictions after the last tokens of "<|endoftext|>" + BOAST, as published in chapter 1.1 of the ARENA course.
GUESSES = {" and": " I", " take": " over", " over": " the", " the": " world", " world": ".", "!": " I"}


def missing() -> str | None:
    """Return why these tests cannot run, or None if the user's COURSE_GPT2 or the cache has the real GPT-2.

    The suite sets COURSE_GPT2 to its own value; COURSE_GPT2_GIVEN holds the user's value.
    """
    user_path = os.environ["COURSE_GPT2_GIVEN"]
    path = sources.find_in_cache()[0] if user_path in ("", "bundled") else user_path
    if path is None or sources.find_source(path).n_layers != 12:
        return "needs the real GPT-2: `coginst fetch gpt2` gets it, or COURSE_GPT2 names its folder"
    return None


@pytest.fixture(autouse=True)
def the_real_one(monkeypatch):
    if reason := missing():
        pytest.skip(reason)
    monkeypatch.setenv("COURSE_GPT2", os.environ["COURSE_GPT2_GIVEN"].replace("bundled", ""))


def pattern(prompt, head):
    tokens, x = gpt2.get_pre_attn(prompt)
    W_Q, W_K, b_Q, b_K = gpt2.get_split_l0_heads(head, bias=True)
    scores = (x @ W_Q + b_Q) @ (x @ W_K + b_K).T / W_Q.shape[1] ** 0.5
    return scores.masked_fill(torch.ones(len(tokens), len(tokens)).triu(1).bool(), -torch.inf).softmax(-1)


def means(prompts, head):
    """Return the mean weights on the previous, current and first position over rows 2 and later.

    Also return the mean weight of a uniform pattern on each of these positions.
    """
    weights, uniform = [], []
    for prompt in prompts:
        p = pattern(prompt, head)
        weights += [(p[i, i - 1], p[i, i], p[i, 0]) for i in range(2, len(p))]
        uniform += [1 / (i + 1) for i in range(2, len(p))]
    return torch.tensor(weights).mean(0), sum(uniform) / len(uniform)


def kind(prompts, head):
    """Classify a head as in lesson 05: by the position with the largest mean, if this is 1.4 times the uniform mean."""
    weights, uniform = means(prompts, head)
    return KINDS[weights.argmax()] if weights.max() >= 1.4 * uniform else "other"


def test_it_is_the_real_one():
    source = gpt2.source()
    assert source.real and (source.n_layers, source.n_heads, source.d_model, source.n_positions) == (12, 12, 768, 1024)


def test_layer_0_attends_as_published():
    for head, published in MEANS.items():
        weights, uniform = means(PROMPTS, head)
        assert torch.allclose(weights, torch.tensor(published), atol=0.01) and round(uniform, 2) == 0.23, head
    for (prompt, head, row), published in ROWS.items():
        assert torch.allclose(pattern(PROMPTS[prompt], head)[row, : row + 1], torch.tensor(published), atol=0.005), (
            prompt,
            head,
            row,
        )


def test_three_heads_have_kinds_and_one_prompt_is_not_evidence():
    """On average, head 0.0 looks at the first token, 0.1 at the token itself and 0.7 at the previous token.

    Head 0.7 does so on only two of the five prompts.
    """
    assert [kind(PROMPTS, head) for head in (0, 1, 7)] == ["first", "current", "previous"]
    each = {head: [kind([prompt], head) for prompt in PROMPTS] for head in (0, 1, 7)}
    assert each[0] == ["first"] * 5 and each[1] == ["current"] * 5 and each[7].count("previous") == 2


def test_it_gives_the_drink_to_mary():
    model, tokenizer = gpt2.load_gpt2()
    ids = tokenizer("When Mary and John went to the store, John gave a drink to", return_tensors="pt").input_ids
    with torch.no_grad():
        assert tokenizer.decode(model(ids).logits[0, -1].argmax()) == " Mary"


def test_it_predicts_that_the_model_takes_over_the_world():
    """Lesson 01: near the end, the model predicts "over", "the" and "world", and after the end it predicts "I"."""
    model, tokenizer = gpt2.load_gpt2()

    def after(text):
        ids = tokenizer(text, return_tensors="pt").input_ids
        with torch.no_grad():
            guesses = [tokenizer.decode([i]) for i in model(ids).logits[0].argmax(-1).tolist()]
        return dict(zip([tokenizer.decode([i]) for i in ids[0].tolist()][-6:], guesses[-6:]))

    assert after("<|endoftext|>" + BOAST) == GUESSES
    assert {token: after(BOAST)[token] for token in (" take", " over", " the", "!")} == {
        token: GUESSES[token] for token in (" take", " over", " the", "!")
    }


@torch.no_grad()
def test_the_lessons_model_writes_the_same_text():
    """Lesson 12: generate_cached writes the same tokens as generate of transformers."""
    theirs, tokenizer = gpt2.load_gpt2()
    tensors, config = your_own_gpt2.checkpoint()
    mine = your_own_gpt2.load(lesson.GPT(config), lesson.gpt2_state(tensors, config))
    ids = tokenizer("When Mary and John went to the store, John gave a drink to", return_tensors="pt").input_ids
    written = theirs.generate(ids, max_new_tokens=20, do_sample=False, pad_token_id=50256)
    assert torch.equal(lesson.generate_cached(mine, ids, 20), written)


# Roles of heads for the prompt about Mary and John (Wang and others, 2022, section 3) and for induction (Olsson and
# others, 2022).
NAME_MOVERS, INHIBITORS = ((9, 6), (9, 9), (10, 0)), ((7, 3), (7, 9), (8, 6), (8, 10))
INDUCTION, PREVIOUS = ((5, 1), (5, 5), (6, 9), (7, 2), (7, 10)), (4, 11)


@pytest.fixture
def mine(the_real_one):
    tensors, config = your_own_gpt2.checkpoint()
    return your_own_gpt2.load(lesson.GPT(config), lesson.gpt2_state(tensors, config)).requires_grad_(False)


def test_the_heads_of_lesson_13_attend_as_published(mine):
    """At the last position, name movers look at the receiver, and the heads before them at the giver."""
    many = where.pairs(50)
    last = where.patterns(mine, many.clean)[:, :, :, -1]  # [layers, batch, heads, keys]
    receiver = (many.clean == many.right[:, None]).float()
    for layer, head in NAME_MOVERS:
        weights = last[layer, :, head]
        assert (weights * receiver).sum(1).mean() > weights[:, 9].mean()
        assert (weights * receiver).sum(1).mean() > 0.25, (layer, head)
    for layer, head in INHIBITORS:
        assert last[layer, :, head, 9].mean() > last[layer, :, head, 1:9].mean() * 2, (layer, head)


def test_the_answer_of_fifty_sentences_moves_with_the_second_name(mine):
    many, rows = where.pairs(50), torch.arange(50)

    def gaps(logits):
        return logits[rows, -1, many.right] - logits[rows, -1, many.wrong]

    start, end = gaps(mine(many.clean)), gaps(mine(many.corrupted))
    assert (start > 0).float().mean() > 0.9 and (end < 0).float().mean() > 0.9
    for layer, position in ((0, 9), (11, 13)):
        patched = gaps(lesson13.patch_stream(mine, many.clean, many.corrupted, layer, position))
        assert ((start - patched) / (start - end)).median() > 0.8


def test_it_has_the_published_induction_heads(mine):
    pattern = where.patterns(mine, where.repeated_lists(4, 20))
    scores = lesson13.induction_score(pattern).mean(1)
    assert all(scores[layer, head] > 0.3 for layer, head in INDUCTION)
    assert scores[:4].max() < 0.2
    back = pattern.diagonal(offset=-1, dim1=-2, dim2=-1).mean((1, 3))
    assert divmod(back.argmax().item(), 12) == PREVIOUS
