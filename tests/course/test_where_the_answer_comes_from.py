"""Test lesson 13: alternative correct answers, and the claims of its prose."""

import copy
import functools
import math

import pytest
import torch
from torch.nn import functional as F

from solutions import where_the_answer_comes_from as lesson
from solutions.your_own_gpt2 import GPT, gpt2_state
from utils import gpt2, lessons
from utils.feedback.diagnose import diagnose
from utils.feedback.exercise import find_exercise
from utils.instructor.answers import AnswerFactory
from utils.models import where_the_answer_comes_from as where
from utils.models import your_own_gpt2

# --- alternative correct answers -----------------------------------------------------------------------


def _by_hooks(model, tokens):
    """Record the stream with hooks in a single run."""
    streams = []
    hooks = [
        part.register_forward_hook(lambda part, inputs, result: streams.append((inputs[0], result)))
        for part in model.blocks
    ]
    with torch.no_grad():
        model(tokens)
    for hook in hooks:
        hook.remove()
    rows = torch.stack([streams[0][0][0, -1], *(result[0, -1] for _, result in streams)])
    return F.linear(model.ln_f(rows), model.wte.weight)


def _row_by_row(model, tokens):
    x = model.wte(tokens) + model.wpe.weight[: tokens.shape[1]]
    rows = torch.zeros(len(model.blocks) + 1, model.wte.num_embeddings)
    rows[0] = model.wte.weight @ model.ln_f(x)[0, -1]
    for i, block in enumerate(model.blocks):
        x = block(x)
        rows[i + 1] = model.wte.weight @ model.ln_f(x)[0, -1]
    return rows


def _shorter_and_shorter(model, tokens):
    """Run shorter and shorter copies of the model."""

    def shortened(n):
        short = copy.copy(model)
        short._modules = {**model._modules, "blocks": model.blocks[:n]}
        return short(tokens)[0, -1]

    return torch.stack([shortened(n) for n in range(len(model.blocks) + 1)])


def _patched_by_hooks(model, clean, corrupted, layer, position):
    kept = []

    def keep(part, given):
        kept.append(given[0].clone())

    def put(part, given):
        x = given[0].clone()
        x[:, position, :] = kept[0][:, position, :]
        return (x,)

    for tokens, hook in ((corrupted, keep), (clean, put)):
        handle = model.blocks[layer].register_forward_pre_hook(hook)
        logits = model(tokens)
        handle.remove()
    return logits


def _patched_in_one_batch(model, clean, corrupted, layer, position):
    both = torch.cat((clean, corrupted))
    x = model.wte(both) + model.wpe(torch.arange(both.size(1)))
    for i, block in enumerate(model.blocks):
        if i == layer:
            mine, other = x.chunk(2)
            here = torch.arange(both.size(1)) == position
            x = torch.where(here[:, None], other, mine)
        x = block(x)
    return torch.einsum("bsd,vd->bsv", model.ln_f(x), model.wte.weight)


def _patched_from_stored_streams(model, clean, corrupted, layer, position):
    def streams(tokens):
        rows = [model.wte(tokens) + model.wpe.weight[None, : tokens.shape[1]]]
        for block in model.blocks:
            rows.append(block(rows[-1]))
        return rows

    x = torch.cat(
        (
            (mine := streams(clean)[layer])[:, :position],
            streams(corrupted)[layer][:, position : position + 1],
            mine[:, position + 1 :],
        ),
        dim=1,
    )
    for block in list(model.blocks)[layer:]:
        x = block(x)
    return model.ln_f(x) @ model.wte.weight.t()


def _on_a_copy(model, tokens, layer, head):
    other = copy.deepcopy(model)
    width = other.config.d_model // other.config.n_heads
    with torch.no_grad():
        other.blocks[layer].attn.out_proj.weight[:, head * width : head * width + width] = 0
    return other(tokens)


def _with_its_output_subtracted(model, tokens, layer, head):
    """Subtract the head's contribution from the result of out_proj."""
    out = model.blocks[layer].attn.out_proj
    width = out.in_features // model.config.n_heads
    own = slice(width * head, width * (head + 1))

    def subtract(part, inputs, result):
        return result - inputs[0][..., own] @ part.weight[:, own].T

    with out.register_forward_hook(subtract):
        return model(tokens)


def _with_a_mask(model, tokens, layer, head):
    out = model.blocks[layer].attn.out_proj
    keep = (torch.arange(out.in_features) // (out.in_features // model.config.n_heads) != head).float()
    handle = out.register_forward_pre_hook(lambda part, given: (given[0] * keep,))
    logits = model(tokens)
    handle.remove()
    return logits


def _by_places(pattern):
    n = pattern.shape[-1] // 2
    asks = torch.arange(n, 2 * n)
    return pattern[..., asks, asks - n + 1].mean(-1)


def _in_a_loop(pattern):
    n = pattern.size(-1) // 2
    total = 0
    for i in range(n):
        total = total + pattern[..., n + i, i + 1]
    return total / n


def _cut_out(pattern):
    """Take the main diagonal of the lower left square, shifted by one column."""
    n = pattern.shape[-1] // 2
    return torch.diagonal(pattern[..., n:, 1 : n + 1], dim1=-2, dim2=-1).sum(-1) / n


RIGHT = {
    "logit_lens": [_by_hooks, _row_by_row, _shorter_and_shorter],
    "patch_stream": [_patched_by_hooks, _patched_in_one_batch, _patched_from_stored_streams],
    "without_head": [_on_a_copy, _with_its_output_subtracted, _with_a_mask],
    "induction_score": [_by_places, _in_a_loop, _cut_out],
}


# --- messages if no misconception matches --------------------------------------------------------------


@pytest.fixture
def no_departure(monkeypatch):
    """Leave out the step at which an answer departs, which quotes line numbers."""
    monkeypatch.setattr("utils.feedback.diagnose.find_departure", lambda probe, wrong: None)


@pytest.mark.usefixtures("no_departure")
def test_the_weights_that_count_wrongly_are_named(snapshot):
    def diagnose_with(change):
        def induction_score(pattern):
            n = pattern.shape[-1] // 2
            return change(pattern.diagonal(offset=1 - n, dim1=-2, dim2=-1)[..., 1:]).sum(-1) / n

        return diagnose(find_exercise("induction_score"), induction_score)

    changes = {
        "hits": lambda weights: (weights > 0.5).float(),
        "one weight is missing": lambda weights: weights * (torch.arange(weights.shape[-1]) != 1),
        "one weight counts twice": lambda weights: weights * (1 + (torch.arange(weights.shape[-1]) == 1)),
    }
    for name, change in changes.items():
        report = diagnose_with(change)
        assert report.property == "which_cells_count" and report.message == snapshot(name=name)


@pytest.mark.usefixtures("no_departure")
def test_the_weights_of_a_hard_coded_diagonal_are_named_for_a_length_at_which_they_are_wrong(snapshot):
    """The diagonal is right for a list of four tokens, which is the first case."""

    def induction_score(pattern):
        return pattern.diagonal(offset=-3, dim1=-2, dim2=-1)[..., 1:].mean(-1)

    report = diagnose(find_exercise("induction_score"), induction_score)
    assert report.property == "which_cells_count" and report.message == snapshot


def test_no_weights_are_named_if_the_score_is_not_a_sum_of_weights(snapshot):
    def induction_score(pattern, change=None):
        n = pattern.shape[-1] // 2
        return change(pattern.diagonal(offset=1 - n, dim1=-2, dim2=-1)[..., 1:])

    changes = {
        "added": lambda weights: weights.mean(-1) + 0.1,
        "norm": lambda weights: weights.norm(dim=-1),
        "mean": lambda weights: weights.mean(-1) * 1.01,
    }
    for name, change in changes.items():
        report = diagnose(find_exercise("induction_score"), functools.partial(induction_score, change=change))
        assert report.message == snapshot(name=name)


@pytest.mark.parametrize(
    "name, old, new, departure, line",
    [
        ("logit_lens", "x = block(x)", "x = block(x) * 1.1", "the stream before block 2", "x = block(x) * 1.1"),
        (
            "patch_stream",
            "model.ln_f(x)",
            "model.ln_f(3 * x)",
            "the patched stream after ln_f",
            "return model.ln_f(3 * x)",
        ),
        ("induction_score", ".mean(", ".pow(2).mean(", "the result", ".pow(2)"),
    ],
)
def test_the_line_at_which_a_run_departs_is_quoted(name, old, new, departure, line):
    answer = AnswerFactory.from_name(name)
    report = answer.judge(answer.source.replace(old, new))
    assert report.departure == departure
    assert [row.state for row in report.trace if line in row.code] == ["wrong"], report.message


@pytest.mark.usefixtures("no_departure")
def test_the_vector_that_was_exchanged_is_named(snapshot):
    def one_block_early(model, clean, corrupted, layer, position):
        return lesson.patch_stream(model, clean, corrupted, max(layer - 1, 0), position)

    def noise(model, clean, corrupted, layer, position):
        return (
            lesson.patch_stream(model, clean, corrupted, layer, position)
            + torch.linspace(0, 1, clean.shape[1])[:, None]
        )

    def doubled(model, clean, corrupted, layer, position):
        logits = lesson.patch_stream(model, clean, corrupted, layer, position)
        return torch.cat((logits[:, :position], 2 * logits[:, position:]), dim=1)

    for answer in (one_block_early, noise, doubled):
        report = diagnose(find_exercise("patch_stream"), answer)
        assert report.property == "what_was_exchanged", str(report)
        assert report.message == snapshot(name=answer.__name__)


def test_no_entries_are_named_if_an_answer_that_changes_weights_is_right_in_some_cases():
    def without_head(model, tokens, layer, head):
        width = model.config.d_model // model.config.n_heads
        out, head = model.blocks[layer].attn.out_proj, min(head, 9)
        weight = out.weight.data
        out.weight.data = weight.clone()
        out.weight.data[:, head * width : (head + 1) * width] = 0
        logits = model(tokens)
        out.weight.data = weight
        return logits

    report = diagnose(find_exercise("without_head"), without_head)
    assert report.reason == "difference" and "entries" not in report.message


def test_a_model_with_fewer_blocks_after_the_call_is_named(snapshot):
    def logit_lens(model, tokens):
        rows = lesson.logit_lens(model, tokens)
        del model.blocks[-1]
        return rows

    report = diagnose(find_exercise("logit_lens"), logit_lens)
    assert report.property == "as_it_was" and report.message == snapshot


def test_the_entries_that_are_zero_are_named(snapshot):
    def without_head(model, tokens, layer, head):
        width = model.config.d_model // model.config.n_heads

        def silence(part, inputs):
            x = inputs[0].clone()
            x[..., head * width + 1 : (head + 1) * width] = 0
            return x

        with model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence):
            return model(tokens)

    report = diagnose(find_exercise("without_head"), without_head)
    assert report.property == "which_entries_are_zero" and report.message == snapshot


# --- claims of the page, on the small GPT-2 ------------------------------------------------------------


TEXTS = [f"When Mary and John went to the store, {giver} gave a drink to" for giver in ("John", "Mary")]


@pytest.fixture(scope="module")
def model():
    tensors, config = your_own_gpt2.checkpoint()
    return your_own_gpt2.load(GPT(config), gpt2_state(tensors, config)).requires_grad_(False)


@pytest.fixture(scope="module")
def texts():
    return [torch.tensor([gpt2.load_tokenizer().encode(text)]) for text in TEXTS]


def token(word):
    (token_id,) = gpt2.load_tokenizer().encode(word)
    return token_id


def gap(logits):
    return (logits[0, -1, token(" Mary")] - logits[0, -1, token(" John")]).item()


def gaps(logits, pairs):
    rows = torch.arange(len(logits))
    return logits[rows, -1, pairs.right] - logits[rows, -1, pairs.wrong]


def second_half(logits, lists):
    n = lists.shape[1] // 2
    return (logits[:, n:-1].argmax(-1) == lists[:, n + 1 :]).float().mean().item()


def page():
    return " ".join(
        cell.source for cell in lessons.read_lesson(lessons.find_lesson("where_the_answer_comes_from")).cells
    )


def test_one_word_moves_the_answer_from_end_to_end(model, texts):
    clean, corrupted = texts
    assert (clean != corrupted).nonzero().tolist() == [[0, 9]] and clean.shape == (1, 14)
    assert gap(model(clean)) > 12 and gap(model(corrupted)) < -6
    assert math.isclose(math.e, 2.7, abs_tol=0.05)  # the factor of the odds for one unit of logit difference
    assert "11.5" not in page() and round(sum(p.numel() for p in model.parameters()) / 1e6) in (11, 12)


def test_the_lens_says_to_then_nothing_then_mary(model, texts):
    shares = lesson.logit_lens(model, texts[0]).softmax(-1)
    assert shares[0].argmax() == token(" to") and shares[0].max() > 0.99
    assert shares[1:3, token(" Mary")].max() < 0.01 and shares[1].max() < 0.2
    assert shares[3:].argmax(-1).tolist() == [token(" Mary")] * 2 and shares[-1].max() > 0.98


def test_the_whole_answer_depends_on_one_vector(model, texts):
    clean, corrupted = texts
    whole, turned = gap(model(clean)), gap(model(corrupted))

    def moved(layer, position):
        return (whole - gap(lesson.patch_stream(model, clean, corrupted, layer, position))) / (whole - turned)

    assert moved(0, 9) == pytest.approx(1, abs=1e-3)
    assert all(moved(0, position) == pytest.approx(0, abs=1e-3) for position in range(14) if position != 9)
    for layer in (1, 2, 3):
        assert moved(layer, 13) > 0.9
        assert all(abs(moved(layer, position)) < 0.06 for position in range(13))


def test_the_places_hold_for_twenty_sentences(model):
    many = where.pairs(20)
    start, end = (gaps(model(tokens), many) for tokens in (many.clean, many.corrupted))
    assert (start > 0).all() and (end < 0).all()
    for layer, position, expected in ((0, 9, 1), (1, 13, 1), (1, 9, 0), (1, 10, 0)):
        patched = lesson.patch_stream(model, many.clean, many.corrupted, layer, position)
        shares = (start - gaps(patched, many)) / (start - end)
        assert abs(shares.mean() - expected) < 0.06 and shares.std() < 0.06, (layer, position)


def test_one_sentence_overstates_a_head(model, texts):
    few = where.pairs(6)
    whole, start = gap(model(texts[0])), gaps(model(few.clean), few)
    falls = torch.tensor([
        [(start - gaps(lesson.without_head(model, few.clean, i, j), few)).mean() for j in range(12)] for i in range(4)
    ])  # fmt: skip
    alone = [whole - gap(lesson.without_head(model, texts[0], 0, head)) for head in range(12)]
    assert sorted(range(12), key=lambda head: -alone[head])[:2] == [1, 8] and alone[8] > 4  # on this sentence
    assert falls[0, 8] < 0.8 and falls[0].argmax() == 1 and falls[0, 1] > 1.2  # on six
    assert falls[1:].max() < 0.6 and falls.min() < -0.5  # later blocks are hardly needed, and one cell is blue


@pytest.fixture(scope="module")
def lists():
    return where.repeated_lists(10, length=20)


@pytest.fixture(scope="module")
def pattern(model, lists):
    return where.patterns(model, lists)


def test_one_block_holds_induction_heads(model, lists, pattern):
    assert second_half(model(lists), lists) > 0.93
    assert (model(lists)[:, :19].argmax(-1) == lists[:, 1:20]).float().mean() < 0.01
    scores = lesson.induction_score(pattern).mean(1)
    assert scores[2].min() > 0.6 and scores[[0, 1, 3]].max() < 0.3


def test_the_heads_that_look_back_write_what_the_induction_head_looks_for(model, lists, pattern):
    back = pattern.diagonal(offset=-1, dim1=-2, dim2=-1).mean((1, 3))
    assert back[1].topk(2).indices.tolist() == [3, 7] and back[1, [3, 7]].min() > 0.3
    part = where.known_tokens()[:1000]
    streams = [model.wte.weight[part] + model.wpe.weight[5]]
    for block in model.blocks[:2]:
        streams.append(block(streams[-1][:, None])[:, 0])
    head = lesson.induction_score(pattern).mean(1)[2].argmax().item()

    def match(i, j):
        early, late = model.blocks[i], model.blocks[2]
        own, read = where.entries(model, j), where.entries(model, head)
        OV = early.attn.out_proj.weight[:, own] @ early.attn.W_value.weight[own]
        QK = late.attn.W_query.weight[read].T @ late.attn.W_key.weight[read]
        table = late.ln_1(streams[2]) @ QK @ (early.ln_1(streams[i]) @ OV.T).T
        return ((table.diagonal() - table.mean(1)) / table.std(1)).mean().item()

    matches = torch.tensor([[match(i, j) for j in range(12)] for i in range(2)])
    assert matches[1].topk(2).indices.tolist() == [3, 7] and matches[1, [3, 7]].min() > 2
    assert matches[0].max() < 1.2


def test_one_induction_head_is_replaced_and_eight_are_not(model, lists, pattern):
    best = lesson.induction_score(pattern).mean(1)[2].argsort(descending=True).tolist()

    def right(heads):
        return second_half(where.without_heads(model, heads)(lists), lists)

    assert abs(right([(2, best[0])]) - right([])) < 0.025
    assert right([(2, head) for head in best[:8]]) < 0.6 and right([(2, head) for head in best]) < 0.1
    assert abs(right([(3, head) for head in range(12)]) - right([])) < 0.03
    assert second_half(lesson.without_head(model, lists, 2, best[0]), lists) == right([(2, best[0])])


def test_the_table_that_compares_two_models(model):
    assert (model.config.n_layers, model.config.d_model, model.config.n_heads) == (4, 192, 12)
    rows = page()
    assert "| tokens | byte pairs, 50,257 | 01 | byte pairs, 128,256 |" in rows and model.config.vocab_size == 50257
    assert 25 - 20 + 1 == 6
