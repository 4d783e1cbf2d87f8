"""Tests of the copy task, of the comparison of two layers under equal conditions, and of the bundled study."""

import functools
import importlib.util
import json
import math
import sys

import pytest
import torch
from torch import nn

from utils import lessons
from utils.models import gram_attention
from utils.models.gram_attention import CopyModel, SeedResults

SEQ, VOCAB = 32, 16


def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat([half, half], dim=1)
    return text[:, :-1], text[:, 1:]


def distances(seq):
    place = torch.arange(seq)
    return place[:, None] - place


class ByDistance(nn.Module):
    """Learn only one score for each distance; `draws` random numbers are used up before the weights are initialised."""

    def __init__(self, width=VOCAB, draws=0):
        super().__init__()
        torch.rand(draws)
        self.score = nn.Parameter(torch.zeros(128))
        self.W_v = nn.Linear(width, width, bias=False)

    def forward(self, x, return_weights=False):
        d = distances(x.shape[1])
        weights = self.score[d.clamp_min(0)].masked_fill(d < 0, -torch.inf).softmax(-1).expand(len(x), 2, -1, -1)
        mixed = weights[:, 0] @ self.W_v(x)
        return (mixed, weights) if return_weights else mixed


class Lookup(nn.Module):
    """Copy the token `back` positions before; if a key is longer than 1, it gets all the weight."""

    def __init__(self, back, d=VOCAB, deaf=False):
        super().__init__()
        self.back, self.deaf = back, deaf
        self.W_k = nn.Linear(d, d, bias=False)
        nn.init.eye_(self.W_k.weight)

    def forward(self, x, return_weights=False):
        d = distances(x.shape[1])
        keys = x @ self.W_k.weight.T if self.deaf else self.W_k(x)
        scores = 50.0 * (d == self.back) + 1000 * (keys.norm(dim=-1)[:, None] - 1)
        weights = scores.masked_fill(d < 0, -torch.inf).softmax(-1)[:, None]
        mixed = weights[:, 0] @ x
        return (mixed, weights) if return_weights else mixed


def knower(back=SEQ // 2 - 1, **options):
    model = CopyModel(Lookup(back, **options), VOCAB, VOCAB)
    with torch.no_grad():
        model.embed.weight.copy_(torch.eye(VOCAB))
        model.unembed.weight.copy_(torch.eye(VOCAB))
    return model


def compared(**models):
    return gram_attention.Comparison(
        {name: [gram_attention.SeedRun(0, model)] for name, model in models.items()}, copy_batch, SEQ, VOCAB
    )


# ---------------------------------------------------------------- the model and its metrics


def test_the_model_is_embedding_layer_unembedding():
    torch.manual_seed(0)
    model = CopyModel(ByDistance(8), 5, 8)
    tokens = torch.randint(5, (3, 7))
    logits, weights = model(tokens, return_weights=True)
    assert torch.equal(logits, model(tokens)) and logits.shape == (3, 7, 5) and weights.shape == (3, 2, 7, 7)
    assert torch.allclose(logits, model.attention(model.embed.weight[tokens]) @ model.unembed.weight.T, atol=1e-6)
    assert sum(p.numel() for p in model.parameters()) == 5 * 8 * 2 + 128 + 8 * 8


def test_who_looks_fifteen_back_copies_everything_and_who_looks_elsewhere_guesses():
    inputs, targets = copy_batch(200, SEQ, VOCAB, torch.Generator().manual_seed(0))
    assert gram_attention.copied_accuracy(knower(), inputs, targets) == 1
    for back in (14, 16, 0):
        assert 0.03 < gram_attention.copied_accuracy(knower(back), inputs, targets) < 0.1
    sure = gram_attention.copied_loss(knower(), inputs, targets).item()
    # The logit is 1 for the right token and 0 for the 15 others.
    assert sure == pytest.approx(-math.log(math.e / (math.e + 15)), abs=1e-5)


@pytest.mark.parametrize("length", [4, 6, 32])
def test_the_copied_half_is_what_can_be_known(length):
    inputs, targets = copy_batch(2, length, 1000)
    assert torch.equal(gram_attention.copied_half(targets), inputs[:, : length // 2])
    assert gram_attention.copied_logits(knower(), inputs % VOCAB).shape[1] == length // 2


# ---------------------------------------------------------------- training under equal conditions


@pytest.fixture(scope="module")
def comparison():
    layers = {"plain": ByDistance, "after many draws": lambda: ByDistance(draws=1000)}
    return gram_attention.train_comparison(
        layers, copy_batch, seeds=(0, 3), steps=120, d_model=VOCAB, lr=3e-2, every=50, progress=False
    )


def test_it_learns_and_says_when(comparison):
    for runs in comparison.runs.values():
        assert [run.seed for run in runs] == [0, 3]
        for run in runs:
            assert run.steps == [0, 50, 100, 120] and len(run.loss) == len(run.accuracy) == 4
            assert run.accuracy[0] < 0.2 and run.accuracy[-1] > 0.99 and run.loss[0] > run.loss[-1]
            assert run.first_copying_step == next(s for s, a in zip(run.steps, run.accuracy) if a >= 0.99)
            assert run.seconds > 0
    assert comparison.first_copying_steps == {
        name: [run.first_copying_step for run in runs] for name, runs in comparison.runs.items()
    }
    assert comparison.accuracy.points == [0, 50, 100, 120] and comparison.loss.values["plain"].shape == (2, 4)
    assert torch.equal(comparison.accuracy.percent["plain"], 100 * comparison.accuracy.values["plain"])


def test_what_is_measured_is_what_the_model_can_do(comparison):
    held_out = copy_batch(
        gram_attention.HELD_OUT_TEXTS, SEQ, VOCAB, torch.Generator().manual_seed(gram_attention.HELD_OUT)
    )
    for name, models in comparison.models.items():
        for run, model in zip(comparison.runs[name], models):
            assert gram_attention.copied_accuracy(model, *held_out) == pytest.approx(run.accuracy[-1])
            assert float(gram_attention.copied_loss(model, *held_out).detach()) == pytest.approx(run.loss[-1], rel=1e-5)


def test_layers_meet_the_same_texts_and_the_same_embeddings(comparison):
    """One layer uses 999 more random numbers in its constructor; only its own weights may then differ."""
    seen, starts = {}, {}

    def watched(name):
        def batch(*sizes, generator=None):
            inputs, targets = copy_batch(*sizes, generator=generator)
            seen.setdefault(name[0], []).append(inputs)
            return inputs, targets

        return batch

    for name, draws in (("plain", 0), ("drawn", 999)):
        done = gram_attention.train_comparison(
            {name: functools.partial(ByDistance, draws=draws)},
            watched(name),
            seeds=(5,),
            steps=1,
            d_model=VOCAB,
            lr=0.0,
            progress=False,
        )
        starts[name] = done.models[name][0]
    assert all(torch.equal(a, b) for a, b in zip(seen["p"], seen["d"])) and len(seen["p"]) == 2
    one, other = starts["plain"], starts["drawn"]
    assert torch.equal(one.embed.weight, other.embed.weight) and torch.equal(one.unembed.weight, other.unembed.weight)
    assert not torch.equal(one.attention.W_v.weight, other.attention.W_v.weight)
    assert not torch.equal(
        comparison.models["plain"][0].embed.weight, comparison.models["plain"][1].embed.weight
    )  # seeds differ


def test_the_same_seeds_give_the_same_curves_and_the_readers_draws_stay(comparison):
    torch.manual_seed(1)
    before = torch.get_rng_state()
    again = gram_attention.train_comparison(
        {"plain": ByDistance}, copy_batch, seeds=(3,), steps=120, d_model=VOCAB, lr=3e-2, every=50, progress=False
    )
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.allclose(again.loss.values["plain"][0], comparison.loss.values["plain"][1], atol=1e-6)


def test_no_first_step_where_none_is_good_enough():
    run = gram_attention.SeedRun(0, nn.Identity(), steps=[0, 10], accuracy=[0.1, 0.98])
    assert (
        run.first_copying_step is None
        and gram_attention.SeedRun(0, nn.Identity(), steps=[0, 10, 20], accuracy=[0.1, 0.99, 0.9]).first_copying_step
        == 10
    )


@pytest.mark.parametrize("layers, seeds", [({}, (0,)), ({"plain": ByDistance}, ())])
def test_nothing_to_compare_is_said(layers, seeds, snapshot):
    with pytest.raises(ValueError) as error:
        gram_attention.train_comparison(layers, copy_batch, seeds=seeds)
    assert str(error.value) == snapshot


def test_without_the_lesson_the_texts_have_to_be_given(monkeypatch, snapshot):
    monkeypatch.setitem(sys.modules, "solutions", None)
    with pytest.raises(ValueError) as error:
        gram_attention.train_comparison({"plain": ByDistance}, seeds=(0,), steps=1)
    assert str(error.value) == snapshot


def test_an_interrupted_comparison_is_none():
    calls = []

    def batch(*sizes, generator=None):
        calls.append(1)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return copy_batch(*sizes, generator=generator)

    with pytest.raises(KeyboardInterrupt):
        gram_attention.train_comparison({"plain": ByDistance}, batch, seeds=(0,), d_model=VOCAB, progress=False)


def test_a_table_of_what_was_measured():
    found = SeedResults(
        [1, 2.5], {"a": torch.tensor([[0.5, 1.0], [0.7, 1.0]]), "a long name that needs room": torch.zeros(2, 2)}
    )
    rows = found.table("factor").split("\n")
    assert "factor" in rows[0] and rows[1].split()[:4] == ["1", "60.0", "(50.0", "to"]
    assert "100.0 (100.0 to 100.0)" in rows[2] and "2.5" in rows[2]
    assert len({len(row) for row in rows}) == 1


@pytest.mark.parametrize("ulps", [-2, -1, 0, 1, 2])
def test_a_table_does_not_hang_on_the_last_bit(ulps):
    share = torch.tensor(1959 / 2000) * (1 + ulps * torch.finfo(torch.float32).eps)  # 97.95 %
    assert "98.0 (98.0 to 98.0)" in SeedResults([1], {"a": share.reshape(1, 1)}).table()


# ---------------------------------------------------------------- longer texts


def test_a_longer_text_moves_its_copy_away():
    """A model that attends 15 positions back is right only if the period is 16."""
    done = compared(fifteen=knower(), thirty_one=knower(31))
    away = gram_attention.accuracy_by_length(done, (32, 64, 96))
    assert away.points == [32, 64, 96] and away.values["fifteen"].shape == (1, 3)
    assert away.values["fifteen"][0, 0] == 1 and away.values["thirty_one"][0, 1] == 1
    for guess in (away.values["fifteen"][0, 1:], away.values["thirty_one"][0, [0, 2]]):
        assert guess.max() < 0.15
    again = gram_attention.accuracy_by_length(done, (32, 64, 96), period=16)
    assert again.values["fifteen"].eq(1).all()
    assert again.values["thirty_one"][0, 2] > 0.7  # two periods back is the same token, if the text has two periods


def test_texts_repeat_from_the_period_on():
    text = gram_attention.repeated_texts(compared(a=knower()), 3, 6, 20)
    assert text.shape == (3, 20) and torch.equal(text[:, 6:], text[:, :-6])
    assert not torch.equal(text[:, 3:6], text[:, :3])


@pytest.mark.parametrize("lengths, period", [((33,), None), ((32,), 32), ((32,), 1), ((2,), None)])
def test_lengths_that_cannot_be_are_refused(lengths, period, snapshot):
    with pytest.raises(ValueError) as error:
        gram_attention.accuracy_by_length(compared(a=knower()), lengths, period)
    assert str(error.value) == snapshot


def test_what_the_layer_refuses_is_heard():
    class Short(Lookup):
        def forward(self, x, return_weights=False):
            if x.shape[1] > 40:
                raise ValueError("longer than max_len")
            return super().forward(x, return_weights)

    model = knower()
    model.attention = Short(15)
    with pytest.raises(ValueError, match="max_len"):
        gram_attention.accuracy_by_length(compared(a=model), (32, 64))


# ---------------------------------------------------------------- loud keys


def test_a_loud_key_is_followed_by_who_follows_loud_keys():
    """With one loud key, all later queries copy its token; the loop counts this token by token."""
    done, factor, texts = compared(a=knower()), 3.0, 40
    inputs, targets = copy_batch(texts, SEQ, VOCAB, torch.Generator().manual_seed(gram_attention.HELD_OUT))
    rank = torch.rand(texts, SEQ - 1, generator=torch.Generator().manual_seed(gram_attention.HELD_OUT)).argsort(-1)
    place = (rank == 0).nonzero()[:, 1]
    tally = {"all": [], "others": [], "itself": []}
    for b in range(texts):
        for i in range(15, 31):
            at = int(place[b]) if place[b] <= i else i - 15
            right = bool(inputs[b, at] == targets[b, i])
            tally["all"].append(right)
            tally["itself" if place[b] == i - 15 else "others"].append(right)
    for which, rights in tally.items():
        share = gram_attention.accuracy_with_scaled_keys(done, (1, factor), which, n_scaled=1, n_texts=texts).values[
            "a"
        ][0]
        assert share[0] == 1 and float(share[1]) == pytest.approx(sum(rights) / len(rights), abs=1e-6)
    assert all(tally["itself"]) and not all(tally["others"])


def test_a_quiet_key_is_never_found():
    done = compared(a=knower())
    assert gram_attention.accuracy_with_scaled_keys(done, (0.5,), "itself").values["a"].max() < 0.2
    assert gram_attention.accuracy_with_scaled_keys(done, (0.5,), "others").values["a"].min() == 1


def test_loudness_leaves_the_model_as_it_was():
    model = knower()
    gram_attention.accuracy_with_scaled_keys(compared(a=model), (1, 50))
    assert not model.attention.W_k._forward_hooks and torch.equal(model.attention.W_k.weight, torch.eye(VOCAB))
    assert model.attention.W_k.weight.requires_grad


def test_places_are_different_in_each_text_and_as_many_as_asked():
    noted = []

    class Noting(Lookup):
        def forward(self, x, return_weights=False):
            noted.append(self.W_k(x).norm(dim=-1) > 1.5)
            return super().forward(x, return_weights)

    model = knower()
    model.attention = Noting(15)
    nn.init.eye_(model.attention.W_k.weight)
    gram_attention.accuracy_with_scaled_keys(compared(a=model), (2,), n_scaled=4, n_texts=50)
    assert noted[0].sum(-1).eq(4).all() and noted[0].unique(dim=0).shape[0] > 40


@pytest.mark.parametrize("options", [{"which": "some"}, {"n_scaled": 0}, {"n_scaled": 31}], ids=str)
def test_what_loud_cannot_do_is_said(options, snapshot):
    with pytest.raises(ValueError) as error:
        gram_attention.accuracy_with_scaled_keys(compared(a=knower()), **options)
    assert str(error.value) == snapshot


def test_a_layer_that_goes_round_its_key_module_is_noticed(snapshot):
    with pytest.raises(ValueError) as error:
        gram_attention.accuracy_with_scaled_keys(compared(a=knower(deaf=True)), (1, 2))
    assert str(error.value) == snapshot


def test_where_a_head_looks_back_to():
    inputs, _ = copy_batch(8, SEQ, VOCAB)
    for back in (15, 3, 0):
        weight = gram_attention.weight_by_distance(knower(back), inputs)
        assert weight.shape == (1, SEQ - 1) and weight[0, back] > 0.99
        assert weight[0].sum() == pytest.approx(float(weight[0, back]), abs=0.01)
    # Uniform weights: the last 16 rows have 1/16 … 1/31, and only a few of these rows reach far back.
    even = CopyModel(ByDistance(), VOCAB, VOCAB)
    weight = gram_attention.weight_by_distance(even, inputs)[0]
    assert weight[0] == pytest.approx(sum(1 / n for n in range(16, 32)) / 16, abs=1e-6)
    assert weight[30] == pytest.approx(1 / 31, abs=1e-6)


# ---------------------------------------------------------------- cost


def test_the_ledger_counts_what_lives_at_once():
    x, kilo = torch.randn(1024), 4096
    assert gram_attention.cost(lambda: x + 1).peak == kilo
    assert gram_attention.cost(lambda: x[:10].view(2, 5).T).peak == 0  # views allocate nothing, and x existed before
    assert gram_attention.cost(lambda: (x + 1) + (x + 2)).peak == 3 * kilo
    assert gram_attention.cost(lambda: ((x + 1) + 2) + 3).peak == 2 * kilo  # each result frees the previous one

    def in_a_row():
        y = x + 1
        y = y[:512] + 1
        return y.clone()

    assert gram_attention.cost(in_a_row).peak == kilo + kilo // 2
    assert gram_attention.cost(lambda: torch.stack([x] * 16)).peak == 16 * kilo
    assert gram_attention.cost(lambda: x.add_(1)).peak == 0


def test_a_call_is_timed_without_gradients():
    layer = nn.Linear(64, 64)
    graphs = []
    found = gram_attention.cost(lambda: graphs.append(layer(torch.ones(1, 64)).requires_grad), repeats=3)
    assert len(graphs) == 5 and not any(graphs) and 0 < found.seconds < 1


# ---------------------------------------------------------------- the bundled study


@pytest.fixture(scope="module")
def study():
    return gram_attention.study()


def stored_mean(study, part, name, point):
    found = study[part]
    return float(found.percent[name][:, found.points.index(point)].mean())


def test_the_study_says_what_was_found(study):
    assert study["settings"]["seeds"] == [0, 1, 2, 3, 4] and study["settings"]["steps"] == 400
    for name in ("standard", "triple"):
        assert study["accuracy"].values[name][:, -1].eq(1).all()  # Both layers copy everything.
        assert len(study["first"][name]) == 5 and all(40 <= first <= 120 for first in study["first"][name])
        assert stored_mean(study, "longer", name, 32) == 100
        assert all(stored_mean(study, "longer", name, n) < 8 for n in (48, 64, 96))  # chance is 6.25
        peak = study["back"].values[name]
        assert peak.argmax(-1).eq(15).all() and (peak[:, 15] > 0.35).all()
    assert stored_mean(study, "loud others", "triple", 50) > 99
    assert stored_mean(study, "loud others", "standard", 50) < 30
    assert stored_mean(study, "loud itself", "triple", 50) < 8
    assert stored_mean(study, "loud itself", "standard", 50) > 97
    assert stored_mean(study, "quiet others", "triple", 0) < 8
    assert stored_mean(study, "quiet others", "standard", 0) > 99
    assert stored_mean(study, "repeats", "triple", 96) > stored_mean(study, "repeats", "standard", 96) + 25


def test_every_part_of_the_study_can_be_drawn(study):
    from utils import show

    for part, found in study.items():
        if isinstance(found, SeedResults):
            assert {tuple(rows.shape) for rows in found.values.values()} == {(5, len(found.points))}
            assert show.curves(found.points, found.percent, title=part).alt.startswith(part)


def bench():
    spec = importlib.util.spec_from_file_location("bench_gram", lessons.ROOT / "bench" / "gram_attention.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_study_holds_when_it_is_measured_again(study):
    """Repeat one of five seeds. Training accumulates rounding errors, so another machine may differ in a few tokens."""
    again = bench().measure_study(range(1), ("triple",))
    assert abs(again["first"]["triple"][0] - study["first"]["triple"][0]) <= 20
    for part in ("longer", "repeats", "loud", "loud others", "loud itself", "quiet", "back"):
        now, then = torch.tensor(again[part]["values"]["triple"][0]), study[part].values["triple"][0]
        assert torch.allclose(now, then, atol=0.08), part


def test_the_file_is_small_legible_and_what_the_bench_writes():
    text = (gram_attention.ASSET / "study.json").read_text(encoding="utf-8")
    assert len(text) < 30_000 and bench().study_json(json.loads(text)) == text


def test_the_bench_knows_three_ways_to_the_same_scores():
    ways = bench()
    q, k, r = torch.randn(3, 2, 2, 5, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    pairs = ways.pairwise_determinant(q, k, r)
    assert pairs.shape == (2, 2, 5, 5) and (pairs < 0).all()
    for way in (ways.expanded_determinant, ways.import_lesson().gram_scores):
        assert torch.allclose(way(q, k, r), pairs, atol=1e-10)
        for flat in (torch.zeros_like(q), q):  # a zero reference, or one parallel to the query: the volume is 0
            assert way(q, k, flat).abs().max() < 1e-9


def test_endless_lengths_are_one_sentence():
    """The squared volume is too large even for Python's floats."""
    with pytest.raises(ValueError, match="does not fit in"):
        gram_attention.upcast(*(torch.full((2, 3), 1e60, dtype=torch.float64) for _ in range(3)))
