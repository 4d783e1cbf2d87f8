"""Test lesson 09: alternative correct answers, and the claims of its prose."""

import functools
import io
import math
import re

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from solutions import abc_sorter as lesson
from utils import show
from utils.exercises.exercise import find_exercise
from utils.instructor.answers import AnswerFactory
from utils.lessons import ROOT
from utils.models import abc_sorter as sorting
from utils.models.abc_sorter import SEP, VOCAB, encode
from utils.show.text_format import number_text


def _make_weight(A, B, base=None, temp=1.0):
    gate = torch.softmax(A @ B / temp, dim=-1)
    return gate if base is None else base * gate


class ByEinsum(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.temp, self.num_heads, self.d_head = temp, num_heads, embed_dim // num_heads
        for n in "qkv":
            setattr(self, f"{n}A", nn.Parameter(torch.randn(num_heads, embed_dim, rank)))
            setattr(self, f"{n}B", nn.Parameter(torch.randn(num_heads, rank, self.d_head)))
            self.register_parameter(
                f"{n}_base", None if strict else nn.Parameter(torch.randn(num_heads, embed_dim, self.d_head))
            )
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("mask", torch.ones(context_length, context_length, dtype=torch.bool).tril())

    def project(self, x):
        return [
            torch.einsum(
                "bse,hed->bhsd",
                x,
                _make_weight(getattr(self, f"{n}A"), getattr(self, f"{n}B"), getattr(self, f"{n}_base"), self.temp),
            )
            for n in "qkv"
        ]

    def forward(self, x, return_weights=False):
        q, k, v = self.project(x)
        seq = x.shape[1]
        scores = (q @ k.mT / self.d_head**0.5).masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = scores.softmax(-1)
        y = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (y, weights) if return_weights else y


class OneHeadAtATime(ByEinsum):
    def forward(self, x, return_weights=False):
        outs, patterns = [], []
        for h in range(self.num_heads):
            W = [
                _make_weight(
                    getattr(self, f"{n}A")[h],
                    getattr(self, f"{n}B")[h],
                    None if self.q_base is None else getattr(self, f"{n}_base")[h],
                    self.temp,
                )
                for n in "qkv"
            ]
            q, k, v = (x @ w for w in W)
            blocked = torch.ones(x.shape[1], x.shape[1], device=x.device).triu(1).bool()
            w = F.softmax((q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])).masked_fill(blocked, float("-inf")), -1)
            outs.append(w @ v)
            patterns.append(w)
        y = self.o(torch.cat(outs, -1))
        return (y, torch.stack(patterns, 1)) if return_weights else y


class ByTorch(ByEinsum):
    def forward(self, x, return_weights=False):
        q, k, v = self.project(x)
        y = self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).permute(0, 2, 1, 3).reshape(x.shape))
        if return_weights:
            eye = torch.eye(x.shape[1], device=x.device).expand(*q.shape[:2], -1, -1)
            return y, F.scaled_dot_product_attention(q, k, eye, is_causal=True)
        return y


def _softmax_rows(A, B, base=None, temp=1.0):
    table = torch.matmul(A, B).div(temp)
    gate = torch.exp(table - table.logsumexp(-1, keepdim=True))
    return gate if base is None else torch.mul(gate, base)


def _weight_by_loop(A, B, base=None, temp=1.0):
    if A.dim() == 3:
        bases = [None] * len(A) if base is None else base
        return torch.stack([_weight_by_loop(a, b, c, temp) for a, b, c in zip(A, B, bases)])
    rows = torch.stack([F.softmax((row @ B) / temp, dim=0) for row in A])
    return rows if base is None else rows * base


def _rate_by_cases(step, steps, base_lr, warmup_steps):
    if step >= warmup_steps:
        t = (step - warmup_steps) / max(1, steps - warmup_steps)
        return base_lr * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * t)))
    return base_lr * (step + 1) / warmup_steps


def _rate_by_half_angle(step, steps, base_lr, warmup_steps):
    warm_up = min(1.0, (step + 1) / warmup_steps)
    t = max(0, step - warmup_steps) / (steps - warmup_steps)
    return warm_up * base_lr * (1 - 0.9 * math.sin(math.pi * t / 2) ** 2)


def _rate_by_torch(step, steps, base_lr, warmup_steps):
    if step < warmup_steps:
        return base_lr * float(torch.linspace(1 / warmup_steps, 1, warmup_steps, dtype=torch.float64)[step])
    t = torch.tensor((step - warmup_steps) / (steps - warmup_steps), dtype=torch.float64)
    return float(
        base_lr
        * torch.lerp(
            torch.tensor(0.1, dtype=torch.float64),
            torch.tensor(1.0, dtype=torch.float64),
            (1 + torch.cos(t * torch.pi)) / 2,
        )
    )


def _sort_in_a_loop(model, letters):
    ids = encode(letters)
    for _ in range(3):
        logits = model(ids)[0, -1].clone()
        logits[SEP] = -float("inf")
        ids = torch.cat([ids, logits.argmax()[None, None]], dim=1)
    return "".join(VOCAB[i] for i in ids[0, -3:].tolist())


def _sort_with_a_list(model, letters):
    ids = encode(letters)[0].tolist()
    while len(ids) < 7:
        scores = model(torch.tensor([ids]))[0][-1].tolist()
        ids.append(max((1, 2, 3), key=lambda i: scores[i]))
    return VOCAB[ids[4]] + VOCAB[ids[5]] + VOCAB[ids[6]]


def _sort_with_strings(model, letters):
    answer = ""
    while len(answer) < 3:
        ids = torch.tensor([["·abc".index(c) for c in letters + "·" + answer]])
        answer += "abc"[int(model(ids).squeeze(0)[-1][1:].argmax())]
    return answer


RIGHT = {
    "make_weight": [_make_weight, _softmax_rows, _weight_by_loop],
    "DeepQKVAttention": [ByEinsum, OneHeadAtATime, ByTorch],
    "lr_at": [_rate_by_cases, _rate_by_half_angle, _rate_by_torch],
    "sort_letters": [_sort_in_a_loop, _sort_with_a_list, _sort_with_strings],
}


# ---------------------------------------------------------------- the claims of the lesson

SEQUENCES = sorting.all_sequences()


def sorter(seed=0, **options):
    torch.manual_seed(seed)
    return sorting.Sorter(lesson.DeepQKVAttention(6, 2, 7, **options))


def short_rate(step):
    return lesson.lr_at(step, 300, 2e-2, 30)


@functools.cache
def trained():
    """Train the sorter of the lesson; return it with its log."""
    model = sorter()
    log = sorting.train(model, lambda: sorting.loss_on_outputs(model, SEQUENCES), 300, short_rate, every=5)
    return model, log


@pytest.fixture(scope="module")
def twenty():
    """Train 20 sorters as in the lesson; return them with the steps that each needs to sort all 27 triples."""
    models = [sorter(seed) for seed in range(20)]
    return models, sorting.train_batched(models, sorting.loss_on_outputs, lambda: SEQUENCES, 300, short_rate)


def train_twenty(change=lambda model: None, rate=short_rate):
    """Train 20 sorters, each after `change(model)`; return them and their steps until all is sorted."""
    models = [sorter(seed) for seed in range(20)]
    for model in models:
        change(model)
    step_counts = sorting.train_batched(
        models, sorting.loss_on_outputs, lambda: SEQUENCES, 300, rate, until_sorted=True
    )
    return models, step_counts


@pytest.fixture(scope="module")
def usual():
    model = sorter()
    return model, sorting.load_usual(model)


def test_the_usual_training_that_ships_is_the_one_that_bench_makes(usual, tmp_path):
    """Repeat the first 150 steps. Later steps differ between machines, because rounding errors grow."""
    torch.manual_seed(0)
    model = sorter()
    log = sorting.train_usual(model, lambda step: lesson.lr_at(step, 15000, 1e-3, 500), steps=150)
    assert len(usual[1].loss) == 4000 and usual[1].when == list(range(0, 4001, 50))
    assert log.loss == pytest.approx(usual[1].loss[:150], abs=1e-3) and log.sorted[:3] == usual[1].sorted[:3]
    sorting.save_usual(model, log, tmp_path / "new" / "usual.safetensors")
    loaded = sorter()
    assert sorting.load_usual(loaded, tmp_path / "new" / "usual.safetensors").when == log.when
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), loaded.parameters()))


def test_weights_that_do_not_fit_are_named(snapshot):
    with pytest.raises(ValueError) as error:
        sorting.load_usual(sorter(strict=True))
    assert str(error.value).replace(str(ROOT), "ROOT") == snapshot


@pytest.mark.parametrize("damage", [lambda content: content[: len(content) // 2], lambda content: b"", None])
def test_a_damaged_file_of_the_usual_training_is_named(tmp_path, damage):
    path = tmp_path / "usual.safetensors"
    if damage:
        path.write_bytes(damage(sorting.USUAL.read_bytes()))
    with pytest.raises(ValueError, match=r"usual\.safetensors cannot be read .* restores it"):
        sorting.load_usual(sorter(), path)


def test_the_27_sequences_are_all_triples_with_their_answers():
    rows = [sorting.decode(row) for row in SEQUENCES]
    assert len(set(rows)) == 27 == 3**3
    assert all(row[3] == "·" and row[4:] == "".join(sorted(row[:3])) for row in rows)


def test_random_sequences_are_like_them_and_follow_the_generator():
    samples = [sorting.random_sequences(300, torch.Generator().manual_seed(1)) for _ in range(2)]
    assert torch.equal(*samples) and {tuple(r) for r in samples[0].tolist()} == {tuple(r) for r in SEQUENCES.tolist()}


def test_the_counts_are_those_of_the_source_text():
    counts = list(sorting.count_parameters(sorter()).values())
    assert counts == [24, 42, 306, 72, 36, 480]
    assert 306 == 3 * 2 * (6 * 3 + 3 * 3) + 3 * 2 * 6 * 3 + 6 * 6 and 162 + 108 + 36 == 306
    assert sum(p.numel() for p in sorter().parameters()) == 480
    assert sorting.count_parameters(sorter(strict=True))["total"] == 372


def test_both_trainings_sort_all_27_and_ours_in_a_tenth_of_the_steps(usual):
    _, log = trained()
    assert log.sorted[-1] == usual[1].sorted[-1] == 27
    assert log.first_all_sorted < usual[1].first_all_sorted / 10


def count_successes(way):
    """Count the starts of the stored study, out of 20, that sort all 27 triples if trained this way."""
    return sum(steps is not None for steps in sorting.study()[way])


@pytest.mark.claim("Here, the choice of tokens in the loss matters more than the choice of sequences")
@pytest.mark.claim("with 1,500 steps, 19 of 20 runs on all six tokens succeed")
@pytest.mark.claim("The high learning rate also helps")
def test_the_asked_tokens_decide_and_not_the_sequences():
    """Of 20 starts, 20 succeed with the answers only, 18 with the dot, and 11 or 8 with unpredictable letters."""
    assert count_successes("answers, all 27") == count_successes("answers, random") == 20
    assert max(sorting.study()["answers, all 27"]) == 125 and max(sorting.study()["answers, random"]) == 150
    assert count_successes("+ dot, all 27") == 18 and count_successes("all six, all 27") == 11
    assert count_successes("all six, random") == 8
    assert count_successes("all six, all 27, 1500 steps") == 19
    slow = sorting.study()["answers, all 27, slow"]
    assert min(slow) == 600 and max(slow) == 1100


@pytest.mark.claim(
    "all 20 runs without one learn to sort. Half of them succeed by step 75; with a warm-up, half succeed by step 100"
)
def test_the_sorter_needs_no_warmup(twenty):
    """The warm-up is removed from 20 runs: all of them still sort all 27 triples, half of them by step 75."""
    median = lambda steps: sorted(steps)[10]
    study = sorting.study()
    assert (median(study["no warm-up"]), median(study["answers, all 27"])) == (75, 100)
    rate = lambda step: lesson.lr_at(step + 1, 301, 2e-2, 1)
    assert rate(0) == 2e-2 and max(map(rate, range(300))) == 2e-2
    first = train_twenty(rate=rate)[1]
    assert None not in first and sum(first) <= sum(twenty[1])


@pytest.mark.claim("In its first step, Adam moves every parameter by about the full rate")
def test_the_first_step_of_adam_does_not_depend_on_the_size_of_the_gradient():
    """The loss is a thousand times larger or smaller: each parameter moves by the rate. Plain gradient descent, the
    control, moves it by other amounts.
    """
    for size in (1e-3, 1.0, 1e3):
        moves = []
        for make in (torch.optim.Adam, torch.optim.SGD):
            w = torch.zeros(5, requires_grad=True)
            (size * w @ torch.tensor([1.0, -2.0, 3.0, -4.0, 5.0])).backward()
            make([w], lr=0.01).step()
            moves.append(w.detach().abs())
        assert torch.allclose(moves[0], torch.full((5,), 0.01), rtol=0.01)
        assert not torch.allclose(moves[1], moves[0], rtol=0.5)


@pytest.fixture(scope="module")
def held_out():
    """Train sorters without some triples; return the pairs (expected, written) of these triples for each experiment.

    "random": 10 sorters without seven random triples, in five ways. "shuffled": 5 sorters, if the triples exchange
    their answers. "aab": 6 sorters without any order of aab. "one order": 6 sorters with one of these orders.
    All sorters are trained at once, so smaller training sets contain their first sequences twice.
    """

    def shuffled(seed):
        order = torch.randperm(27, generator=torch.Generator().manual_seed(seed))
        return torch.cat([SEQUENCES[:, :4], SEQUENCES[order, 4:]], dim=1)

    def keep(table, omitted):
        kept = table[[i for i in range(27) if i not in omitted]]
        return torch.cat([kept, kept])[:25]

    seven = [torch.randperm(27, generator=torch.Generator().manual_seed(split))[:7].tolist() for split in range(5)]
    aab = [i for i, row in enumerate(SEQUENCES) if sorting.decode(row[4:]) == "aab"]
    runs = [("random", SEQUENCES, some) for some in seven * 2]
    runs += [("shuffled", shuffled(split), some) for split, some in enumerate(seven)]
    runs += [("aab", SEQUENCES, aab)] * 6 + [("one order", SEQUENCES, [i for i in aab if i != one]) for one in aab * 2]
    models, kept = [sorter(seed) for seed in range(len(runs))], torch.stack([keep(*run[1:]) for run in runs])
    sorting.train_batched(models, sorting.loss_on_outputs, lambda: kept, 300, short_rate, 300)
    pairs = {name: [] for name, *_ in runs}
    for model, (name, table, omitted) in zip(models, runs):
        written = sorting.write_answers(model)
        pairs[name] += [(sorting.decode(table[i, 4:]), written[i]) for i in omitted]
    return pairs


def share_right(pairs):
    return sum(expected == written for expected, written in pairs) / len(pairs)


@pytest.mark.claim("The models sort 76 to 84 % of these triples; a table of the training answers could sort none.")
@pytest.mark.claim("answers were exchanged between triples, and only 10 to 14 % were right")
def test_the_sorter_sorts_triples_that_it_has_never_seen(held_out):
    """Seven triples are removed from the training: 76 to 84 % of them are sorted (five choices, 20 runs each). If the
    rule is removed as well, because the triples exchange their answers, 10 to 14 % are right (the control). The test
    repeats 15 of these runs: 81 % and 9 %.
    """
    study = sorting.held_out_study()
    for name, low, high in (("random", 0.76, 0.84), ("shuffled", 0.10, 0.14)):
        values = [round(value, 2) for value in study[name].values()]
        assert (len(values), min(values), max(values)) == (5, low, high)
    assert share_right(held_out["random"]) > 0.6 and share_right(held_out["shuffled"]) < 0.3


@pytest.mark.claim("if all triples with the same answer are held out, fewer are sorted")
@pytest.mark.observed("Of the 395 wrong answers in the table, 377 are in alphabetical order")
@pytest.mark.observed("44 of 60 answers (20 random starts) were abb")
def test_the_sorter_often_fails_on_answers_that_it_has_never_seen(held_out):
    """Every order of aab is removed from 20 runs: 0 of 60 are right and 44 are abb. If one order stays, about half of
    the others are right. The stored study has the same for seven answers; the test repeats 12 of the runs: 0 of 18
    right, 9 of them abb; with one order, 58 % right.
    """
    study = sorting.held_out_study()
    assert study["one order"].keys() == study["no order"].keys() and len(study["no order"]) == 7
    assert all(share > study["no order"][answer] + 0.15 for answer, share in study["one order"].items())
    assert study["wrong"] == {"in order": 377, "all": 395}
    counts = study["written for aab"]
    assert sum(counts.values()) == 60 and counts["abb"] == 44 and "aab" not in counts
    written = [answer for _, answer in held_out["aab"]]
    assert len(written) == 18 and written.count("aab") <= 4 and written.count("abb") >= 4
    assert share_right(held_out["one order"]) > 0.25
    wrong = [answer for name in ("aab", "one order") for right, answer in held_out[name] if answer != right]
    assert sum("".join(sorted(answer)) == answer for answer in wrong) > 0.75 * len(wrong)


def test_written_answers_are_those_of_the_exercise():
    model = trained()[0]
    expected = [lesson.sort_letters(model, sorting.decode(row[:3])) for row in SEQUENCES]
    assert sorting.write_answers(model) == expected
    assert sorting.write_answers(sorter(3)) == [
        lesson.sort_letters(sorter(3), sorting.decode(row[:3])) for row in SEQUENCES
    ]


def test_the_study_is_what_bench_measures(twenty):
    """Repeat two rows of the study, with slack for machines that round differently."""
    _, first = twenty
    assert all(abs(new - old) <= 50 for new, old in zip(first, sorting.study()["answers, all 27"]))
    models = [sorter(seed) for seed in range(20)]
    first = sorting.train_batched(models, sorting.loss_on_all_tokens, lambda: SEQUENCES, 300, short_rate)
    assert 6 <= sum(step is not None for step in first) <= 15


def test_sorters_trained_together_agree_with_those_trained_separately(twenty):
    separate, log = trained()
    together = twenty[0][0]
    assert abs(log.first_all_sorted - twenty[1][0]) <= 25
    assert torch.allclose(sorting.looks(separate), sorting.looks(together), atol=0.1)


def test_xavier_counts_the_heads_of_a_whole_tensor_as_part_of_the_matrix():
    whole, head = torch.empty(2000, 6, 3), torch.empty(6, 3)
    bound = lambda rows, columns: math.sqrt(6 / (rows + columns))
    assert abs(bound(6, 3) - 0.82) < 5e-3 and bound(18, 6) == 0.5
    assert nn.init._calculate_fan_in_and_fan_out(torch.empty(2, 6, 3)) == (18, 6)
    assert nn.init._calculate_fan_in_and_fan_out(head) == (3, 6)
    layer = lesson.DeepQKVAttention(6, 2, 7)
    assert 0.5 < max(base.abs().max() for base in (layer.q_base, layer.k_base, layer.v_base)) <= bound(6, 3)
    assert nn.init.xavier_uniform_(whole).abs().max() < 0.05


@pytest.mark.claim("If head 0 is forced to look at only one letter, in any pass, the model writes that letter")
def test_the_model_writes_the_letter_that_head_0_looks_at():
    """The weights of head 0 are replaced: all on one letter, for each letter, pass and order of a, b, c. The model
    writes this letter in all 54 cases. Without the replacement it writes the letter that comes next.
    """
    model = trained()[0]
    layer, orders = model.attention, SEQUENCES[[5, 7, 11, 15, 19, 21]]
    for step in range(3):
        ids = orders[:, : 4 + step]
        with torch.no_grad():
            x = model.token_embed(ids) + model.pos_embed.weight[: 4 + step]
            stream = model.norm1(x)
            weights = layer(stream, return_weights=True)[1]
            values = torch.einsum("bse,hed->bhsd", stream, lesson.make_weight(layer.vA, layer.vB, layer.v_base))
            for letter in (None, 1, 2, 3):
                looks = weights.clone()
                if letter:
                    looks[:, 0, -1] = (ids == letter) & (torch.arange(4 + step) < 3)
                y = x + layer.o((looks @ values).transpose(1, 2).flatten(2))
                y = model.final_norm(y + model.mlp(model.norm2(y)))
                written = (y @ model.token_embed.weight.T)[:, -1, 1:].argmax(-1) + 1
                assert written.tolist() == [letter or step + 1] * 6


@pytest.mark.claim("If both heads are removed, the letters already written are the model's only clue to the question")
def test_without_heads_the_answer_does_not_depend_on_the_question(twenty):
    """Both heads of 20 sorters are removed: the logits after the dot are the same for all questions. With the heads
    they differ.
    """
    for model in twenty[0]:
        with torch.no_grad():
            spread = [
                (each(SEQUENCES[:, :4])[:, 3] - each(SEQUENCES[:1, :4])[:, 3]).abs().max()
                for each in (model, sorting.without(model, 0, 1))
            ]
        assert spread[0] > 1 and spread[1] < 1e-5


@pytest.mark.claim("The position tells this model which letter comes next")
@pytest.mark.claim("the letters already written are correct, the model writes the largest letter")
def test_positions_tell_the_model_which_letter_comes_next(twenty):
    """Exchange the positions of the passes in the sorter of the page, and in 20 others, for three different letters.

    With the position of the last pass, the sorter of the page writes the largest letter in every pass; of 20 others, 16
    do (measured). With their own positions, all write the letters in order (the control).
    """
    texts = SEQUENCES[[len(set(row[:3].tolist())) == 3 for row in SEQUENCES]]

    def right(model, step, position, expected):
        own = model.pos_embed.weight.detach().clone()
        with torch.no_grad():
            model.pos_embed.weight[3 + step] = own[position]
            written = model(texts[:, : 4 + step])[:, -1, 1:].argmax(-1) + 1
            model.pos_embed.weight.copy_(own)
        return torch.equal(written, expected)

    models = [trained()[0], *(model for model, steps in zip(*twenty) if steps is not None)]
    own, last = (
        [all(right(m, i, 5 if last else 3 + i, texts[:, 6 if last else 4 + i]) for i in range(3)) for m in models]
        for last in (False, True)
    )
    assert all(own) and last[0] and sum(last) > len(last) / 2


@pytest.mark.observed("In the last pass, `c` gets the highest score unless the letter written last is *c*")
def test_a_score_depends_on_the_letter_that_was_written_last():
    """In head 0, c has the highest score of the last pass after a written a or b, and the lowest after a written c."""
    model, _ = trained()
    letters = {letter: sorting.VOCAB.index(letter) for letter in "abc"}
    for written, highest in (("a", "c"), ("b", "c"), ("c", "a")):
        ids = torch.tensor([[*letters.values(), sorting.VOCAB.index("·"), letters["a"], letters[written]]])
        with torch.no_grad():
            _, weights = model(ids, return_weights=True)
        row = weights[0, 0, -1, :3]
        assert "abc"[int(row.argmax())] == highest, (written, row)


@pytest.mark.claim("In this model, head 1 is not needed")
@pytest.mark.observed("In each order, head 0 looks most at the smallest letter in the first pass")
@pytest.mark.observed("Looking at a letter raises that letter's score more than any other score")
@pytest.mark.observed("in the second pass, the letter a gets about 0.4 of head 0's weight in `aab`, and 0.2 in `abc`")
def test_how_the_model_of_the_page_sorts():
    """The model looks at the smallest letter first, at the largest last, and copies it. Head 1 is not needed."""
    model = trained()[0]
    looks = sorting.looks(model)
    assert looks.shape == (2, 3, 3) and looks[0].argmax(-1).tolist() == [0, 1, 2]
    assert looks[0, 0, 0] > 0.5 and looks[0, 2, 2] > 0.6 and looks[0].sum(-1).max() < 1
    for step, letter in ((0, 0), (2, 2)):  # each order, and at the first pass also head 1
        for order in ("abc", "acb", "bac", "bca", "cab", "cba"):
            row = sorting.trace(model, order)[step].weights
            place = order.index("abc"[letter])
            assert row[0].argmax() == place and (step or row[1].argmax() == place)
            ranks = row[0, [order.index(x) for x in ("abc" if step == 0 else "cba")]].tolist()
            assert ranks == sorted(ranks, reverse=True)
    with torch.no_grad():
        letters = model.token_embed.weight[1:]
        stream = model.norm1(letters + model.pos_embed.weight[:3].mean(0))
        layer = model.attention
        values = stream @ lesson.make_weight(layer.vA[0], layer.vB[0], layer.v_base[0])
        pushes = values @ layer.o.weight[:, :3].T @ letters.T
    assert pushes.argmax(-1).tolist() == [0, 1, 2] and (pushes.diagonal() > 5).all()
    share = lambda letters: float(sorting.trace(model, letters)[1].weights[0, :2].sum())
    assert abs(share("aab") - 0.4) < 0.1  # both a's together
    assert abs(float(sorting.trace(model, "abc")[1].weights[0, 0]) - 0.2) < 0.1
    left = [sorting.count_sorted(sorting.without(model, *heads)) for heads in ((0,), (1,), (0, 1))]
    assert left[0] < 14 and left[1] >= 24 and left[2] <= 6
    assert sorting.count_sorted(sorting.without(model, mlp=True)) >= 20
    assert sorting.count_sorted(sorting.without(model, positions=True)) <= 9
    assert sorting.count_sorted(model) == 27


@pytest.mark.claim("in the last pass, all 20 sorters of the study write it even without their heads")
@pytest.mark.observed("In the last pass of `ccb`, head 0 hardly looks at a *c*, yet the model writes *c*")
def test_after_a_written_c_no_head_is_needed(twenty):
    """Without heads, all sorters give c more than 0.8 after a written c, and the sorter of the page gives it to nothing
    else: after a written b, it needs head 0.
    """
    after_c, after_b = (torch.tensor([[*map(sorting.VOCAB.index, text)]]) for text in ("ccb·bc", "bca·ab"))
    chance_of_c = lambda model, ids: model(ids)[0, -1, 1:].softmax(-1)[2]
    model = trained()[0]
    with torch.no_grad():
        assert all(chance_of_c(sorting.without(model, 0, 1), after_c) > 0.8 for model in twenty[0])
        assert chance_of_c(model, after_b) > 0.9 and chance_of_c(sorting.without(model, 0), after_b) < 0.1
    last = sorting.trace(model, "ccb")[2]
    assert last.chosen == "c" and last.weights[0, :2].sum() < 0.2


@pytest.mark.claim("only 3 have a head that can be removed without an error")
@pytest.mark.observed("These letters get the most weight in 17, 11 and 19 of the 20 sorters")
def test_how_twenty_models_sort(twenty):
    """The heads of 20 sorters are removed: one head leaves 3 of them complete, both leave none (at most 6 of 27)."""
    models, _ = twenty
    looks = torch.stack([sorting.looks(model) for model in models]).mean(1)  # averaged over both heads
    assert torch.allclose(looks.mean(0).diagonal(), torch.tensor([0.45, 0.33, 0.49]), atol=0.06)
    assert looks.mean(0).argmax(-1).tolist() == [0, 1, 2]
    leads = looks.argmax(-1) == torch.arange(3)  # 17, 11 and 19 here; all three in 8
    assert all(abs(count - told) <= 2 for count, told in zip(leads.sum(0).tolist(), (17, 11, 19)))
    assert abs(leads.all(-1).sum() - 8) <= 3
    left = [[sorting.count_sorted(sorting.without(m, *heads)) for heads in ((0,), (1,), (0, 1))] for m in models]
    assert sum(max(one, other) == 27 for one, other, _ in left) in range(1, 7)  # 3 here
    assert max(both for *_, both in left) <= 8  # 6 here
    without_mlp = [sorting.count_sorted(sorting.without(model, mlp=True)) for model in models]
    assert min(without_mlp) <= 8 and max(without_mlp) == 27


def test_the_usual_loss_stops_at_its_floor(usual):
    model, log = usual
    floor = 2 * math.log(3) / 6
    assert abs(floor - 0.366) < 5e-4 and floor - 0.02 < sum(log.loss[-100:]) / 100 < floor + 0.03
    with torch.no_grad():
        each = F.cross_entropy(model(SEQUENCES[:, :-1]).mT, SEQUENCES[:, 1:], reduction="none").mean(0)
    assert (each[:2] >= math.log(3) - 1e-6).all() and (each[:2] < math.log(3) + 0.02).all() and (each[2:] < 0.05).all()


def test_no_model_pays_less_than_ln_3_for_a_letter_of_the_question():
    """Over all 27 triples, each letter follows each prefix equally often, so the next letter has an entropy of ln 3."""
    for known in (1, 2):
        follow = {}
        for row in SEQUENCES.tolist():
            follow.setdefault(tuple(row[:known]), []).append(row[known])
        assert all(
            sorted(set(after)) == [1, 2, 3] and len({after.count(i) for i in (1, 2, 3)}) == 1
            for after in follow.values()
        )


def test_how_often_each_variant_gets_there(twenty):
    assert all(sorting.count_sorted(model) == 27 for model in twenty[0])
    assert count_successes("strict") == 20 and max(sorting.study()["strict"]) == 175


@pytest.mark.claim("even with every gate fixed at one third, all 20 runs succeed")
@pytest.mark.claim("Sorting three letters does not need the gate: with all gates equal, the bases suffice")
def test_the_bases_suffice_without_the_gates(twenty):
    """The gates of 20 sorters are fixed at one third: all of them still sort all 27 triples, as fast as with gates."""

    def fix_gates(model):
        for name in "qkv":
            getattr(model.attention, f"{name}A").requires_grad_(False).zero_()

    models, first = train_twenty(fix_gates)
    gate = lesson.make_weight(models[3].attention.qA, models[3].attention.qB)
    assert torch.allclose(gate, torch.full_like(gate, 1 / 3))
    assert None not in first and abs(sum(first) - sum(twenty[1])) <= 20 * 25
    assert count_successes("equal gates") == 20


@pytest.mark.claim("Positions do matter")
@pytest.mark.claim("Neither setting changes the result much")
def test_temperature_and_rank_hardly_matter_and_positions_do():
    """The position embedding is removed from 20 sorters: 6 of them sort within 300 steps, and all 20 with it. The
    stored study has the other settings: 19 or 20 of 20.
    """
    knobs = ["temperature 0.1", "temperature 0.3", "temperature 3", "temperature 10", "rank 1", "rank 2", "rank 6"]
    assert min(map(count_successes, knobs)) >= 19 and count_successes("no positions") == 6
    models = [sorter(seed) for seed in range(20)]
    for model in models:
        model.pos_embed.weight.requires_grad_(False).zero_()
    first = sorting.train_batched(models, sorting.loss_on_outputs, lambda: SEQUENCES, 300, short_rate)
    assert 3 <= sum(step is not None for step in first) <= 10
    assert not any(model.pos_embed.weight.any() for model in models)


def test_training_opens_some_gates_and_shuts_others():
    share = [
        lesson.make_weight(getattr(start.attention, f"{n}A"), getattr(start.attention, f"{n}B")).amax(-1).mean()
        for start in map(sorter, range(20))
        for n in "qkv"
    ]
    assert abs(sum(share) / 60 - 0.47) < 0.01
    layer = trained()[0].attention
    for name in "qkv":
        gate = lesson.make_weight(getattr(layer, f"{name}A"), getattr(layer, f"{name}B"))
        assert gate.amax(-1).mean() > 0.5 and gate.min() < 0.1


def test_the_rate_climbs_to_its_height_and_ends_at_a_tenth():
    rate = [lesson.lr_at(step, 15000, 1e-3, 500) for step in range(15001)]
    assert max(rate) == rate[499] == rate[500] == 1e-3 and rate[0] == 1e-3 / 500 and math.isclose(rate[-1], 1e-4)


def test_the_trace_is_what_the_model_does():
    model, _ = trained()
    steps = sorting.trace(model, "cab")
    assert [step.prefix for step in steps] == ["cab·", "cab·a", "cab·ab"]
    assert "".join(step.chosen for step in steps) == "abc"
    for step in steps:
        assert math.isclose(sum(step.probs.values()), 1, abs_tol=1e-5)
        assert max(step.probs, key=step.probs.get) == step.chosen
        assert step.weights.shape == (2, len(step.prefix)) and torch.allclose(step.weights.sum(-1), torch.ones(2))
    assert (
        sorting.count_sorted(model)
        == 27
        == sum(lesson.sort_letters(model, sorting.decode(r[:3])) == sorting.decode(r[4:]) for r in SEQUENCES)
    )


@pytest.mark.parametrize("letters", ["", "ab", "abcd", "abd", "123", "a b"])
def test_anything_but_three_letters_is_an_error(letters, snapshot):
    with pytest.raises(ValueError) as error:
        sorting.encode(letters)
    assert str(error.value) == snapshot


def test_capitals_and_spaces_around_do_no_harm():
    assert torch.equal(sorting.encode(" CaB "), torch.tensor([[3, 1, 2, 0]]))


# ---------------------------------------------------------------- messages about wrong answers, and figures


class Forgets(ByEinsum):
    """Take `temp` without using it."""

    def __init__(self, *args, temp=1.0, **kwargs):
        super().__init__(*args, **kwargs)


class HotValuesOnly(ByEinsum):
    def project(self, x):
        hot = super().project(x)
        self.temp, temp = 1.0, self.temp
        cold = super().project(x)
        self.temp = temp
        return [*cold[:2], hot[2]]


def test_a_forgotten_temperature_is_diagnosed(snapshot):
    for answer in (Forgets, HotValuesOnly):
        report = check_as("DeepQKVAttention", answer)
        assert report.property == "temperature"
        assert report.message == snapshot(name=answer.__name__)


class Doubled(ByEinsum):
    def forward(self, x, return_weights=False):
        out = super().forward(x, return_weights)
        return (2 * out[0], out[1]) if return_weights else 2 * out


def test_messages_about_initial_values_say_what_was_observed():
    class Constant(ByEinsum):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            nn.init.constant_(self.kA, 0.1)

    class OwnGenerator(ByEinsum):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            generator = torch.Generator()
            generator.seed()
            with torch.no_grad():
                self.kA.uniform_(-0.5, 0.5, generator=generator)

    assert "same numbers" in check_as("DeepQKVAttention", Constant).message
    message = check_as("DeepQKVAttention", OwnGenerator).message
    assert "different numbers after the same manual_seed" in message and "always" not in message


def test_other_errors_are_not_blamed_on_the_temperature():
    report = check_as("DeepQKVAttention", Doubled)
    assert report.status == "failed" and "temp" not in report.message


class OtherMask(ByEinsum):
    """Apply the mask in another way, which a subclass defines."""

    def forward(self, x, return_weights=False):
        q, k, v = self.project(x)
        weights = self.hidden(q @ k.mT / self.d_head**0.5, x)
        y = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (y, weights) if return_weights else y


class AfterTheSoftmax(OtherMask):
    def hidden(self, scores, x):
        return scores.softmax(-1).tril()


class MaskOnTheCPU(OtherMask):
    def hidden(self, scores, x):
        return (scores + torch.full((x.shape[1],) * 2, -torch.inf).triu(1)).softmax(-1)


class EyeOnTheCPU(ByEinsum):
    def forward(self, x, return_weights=False):
        y, weights = super().forward(x, True)
        return (y, weights @ torch.eye(x.shape[1])) if return_weights else y


class MadeInInit(ByEinsum):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.weights = [
            _make_weight(getattr(self, f"{n}A"), getattr(self, f"{n}B"), getattr(self, f"{n}_base"), self.temp)
            for n in "qkv"
        ]

    def project(self, x):
        return [torch.einsum("bse,hed->bhsd", x, weight) for weight in self.weights]


class IdleBases(ByEinsum):
    """Create bases in the strict variant without using them."""

    def __init__(self, *args, strict=False, **kwargs):
        super().__init__(*args, **kwargs)
        self.strict = strict

    def project(self, x):
        weights = [
            _make_weight(
                getattr(self, f"{n}A"), getattr(self, f"{n}B"), None if self.strict else getattr(self, f"{n}_base")
            )
            for n in "qkv"
        ]
        return [torch.einsum("bse,hed->bhsd", x, weight) for weight in weights]


class TooLarge(ByEinsum):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        with torch.no_grad():
            self.kB.mul_(20)


@pytest.mark.parametrize(
    "answer, name",
    [
        (AfterTheSoftmax, "masked-after-the-softmax"),
        (MaskOnTheCPU, "moves_with_its_module"),
        (EyeOnTheCPU, "moves_with_its_module"),
        (MadeInInit, "made_anew"),
        (IdleBases, "an-unused-base-in-the-strict-variant"),
        (TooLarge, "starts_somewhere"),
    ],
)
def test_mistakes_of_a_layer_are_diagnosed(answer, name, snapshot):
    report = check_as("DeepQKVAttention", answer)
    assert name in (report.misconception, report.property), str(report)
    assert re.sub(r"\b([Ll])ine \d+", r"\1ine N", report.message) == snapshot


def test_requirements_of_the_page_on_gates_and_rates_are_checked():
    def without_zeros(A, B, base=None, temp=1.0):
        gate = _make_weight(A, B, None, temp)
        return gate * base if base is not None and base.any() else gate

    def cut_off(A, B, base=None, temp=1.0):
        return _make_weight(A.detach(), B, base, temp)

    def overflows(A, B, base=None, temp=1.0):
        powers = (A @ B / temp).exp()
        gate = powers / powers.sum(-1, keepdim=True)
        return gate if base is None else gate * base

    assert check_as("make_weight", without_zeros).misconception == "zeros-count-as-none"
    assert check_as("make_weight", cut_off).property == "lets_gradients_through"
    assert check_as("make_weight", overflows).property == "finite"

    def early(step, steps, base_lr, warmup_steps):
        if step < warmup_steps:
            return base_lr * (step + 1) / warmup_steps
        t = (step - warmup_steps + 1) / (steps - warmup_steps + 1)
        return base_lr * (0.55 + 0.45 * math.cos(math.pi * t))

    assert check_as("lr_at", early).misconception == "cosine-one-step-early"


def test_sampled_answers_and_other_models_are_diagnosed(snapshot):
    def sampled(model, letters):
        ids = encode(letters)
        for _ in range(3):
            logits = model(ids)[0, -1].clone()
            logits[SEP] = -torch.inf
            ids = torch.cat([ids, torch.multinomial(logits.softmax(-1), 1)[None]], dim=1)
        return "".join(VOCAB[i] for i in ids[0, 4:])

    another = trained()[0]
    report = check_as("sort_letters", sampled)
    assert report.property == "draws_nothing"
    assert report.message == snapshot
    report = check_as("sort_letters", lambda model, letters: _sort_in_a_loop(another, letters))
    assert report.misconception == "sorts-by-itself"


@pytest.mark.parametrize(
    "name, old, new, line, label",
    [
        ("make_weight", "base * gate", "base * gate.sqrt()", "line 8 (", "the result"),
    ],
)
def test_the_first_wrong_step_is_named(name, old, new, line, label):
    answers = AnswerFactory.from_name(name)
    report = answers.judge(answers.source.replace(old, new))
    assert report.departure == label and line.lower() in report.message.lower(), str(report)


def check_as(name, answer):
    from utils.feedback.diagnose import diagnose

    return diagnose(find_exercise(name), answer)


def test_gates_shows_every_number_and_rejects_invalid_tensors(snapshot):
    gate = torch.softmax(torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(0)), -1)
    base = torch.linspace(-1.5, 1.5, 24).view(2, 4, 3)
    picture = show.gates(gate, base)
    labels = [t.get_text() for axes in picture.figure.axes for t in axes.texts]
    for value in [*gate.flatten().tolist(), *base.flatten().tolist(), *(gate * base).flatten().tolist()]:
        assert number_text(value) in labels
    assert len(picture.figure.axes) == 6 and len(show.gates(gate).figure.axes) == 2
    for args in ((gate * 2,), (gate[0],), (gate.repeat(3, 1, 1),), (gate, base[:1])):
        with pytest.raises(ValueError) as error:
            show.gates(*args)
        assert str(error.value) == snapshot


def test_the_trace_is_drawn_with_its_numbers(snapshot):
    model, _ = trained()
    steps = sorting.trace(model, "bca")
    picture = show.trace(steps)
    labels = " ".join(t.get_text() for axes in picture.figure.axes for t in axes.texts)
    assert "bca becomes abc" in picture.alt and all(f"{p:.3f}" in labels for step in steps for p in step.probs.values())
    for axes, step in zip(picture.figure.axes[::2], steps, strict=True):  # every number is in the cell of its token
        cells = {text.get_position(): text.get_text() for text in axes.texts}
        assert cells == {(j, i): number_text(weight) for (i, j), weight in np.ndenumerate(step.weights.numpy())}
    with pytest.raises(ValueError) as error:
        show.trace([])
    assert str(error.value) == snapshot


def test_the_terminal_program_sorts_letters(monkeypatch, capsys, snapshot):
    monkeypatch.setattr("sys.stdin", io.StringIO("cab\nxyz\nAAB\n\n"))
    sorting.main()
    assert re.sub(r"\d\.\d+", "N", capsys.readouterr().out) == snapshot  # trained weights differ between machines
