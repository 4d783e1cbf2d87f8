"""Lesson 07: right answers, written differently, and the claims of its prose."""

import math

import pytest
import torch
from torch import nn

from solutions import positional_encoding as lesson
from solutions import simplified_attention
from utils import explore, show
from utils.feedback.diagnose import diagnose
from utils.feedback.exercise import find


def _pe_by_slices(position, d_model, base=100.0):
    pe = torch.zeros(len(position), d_model)
    speeds = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(base) / d_model))
    pe[:, 0::2] = torch.sin(position[:, None] * speeds)
    pe[:, 1::2] = torch.cos(position[:, None] * speeds)
    return pe


def _pe_by_loops(position, d_model, base=100.0):
    rows = [
        [(math.sin if j % 2 == 0 else math.cos)(float(p) / base ** (2 * (j // 2) / d_model)) for j in range(d_model)]
        for p in position
    ]
    return torch.tensor(rows)


def _pe_by_shift(position, d_model, base=100.0):
    entry = torch.arange(d_model)
    return torch.sin(position[:, None] * base ** -((entry - entry % 2) / d_model) + (entry % 2) * math.pi / 2)


class PEAdded(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        if d_model % 2:
            raise ValueError(f"d_model must be even; got {d_model}")
        self.register_buffer("pe", _pe_by_slices(torch.arange(max_len).float(), d_model))

    def forward(self, x):
        if x.shape[-2] > len(self.pe):
            raise ValueError("too long")
        return x + self.pe[: x.shape[-2]]


class PENotSaved(PEAdded):
    def __init__(self, d_model, max_len=5000):
        nn.Module.__init__(self)
        if d_model & 1:
            raise ValueError("pairs")
        self.register_buffer("table", _pe_by_shift(torch.arange(max_len), d_model), persistent=False)

    def forward(self, x):
        if x.size(-2) > len(self.table):
            raise ValueError("too long")
        return torch.add(x, self.table.narrow(0, 0, x.size(-2)))


class PEOnTheFly(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        if d_model % 2:
            raise ValueError("an even d_model is needed")
        self.d_model, self.max_len = d_model, max_len

    def forward(self, x):
        if x.shape[-2] > self.max_len:
            raise ValueError("more positions than max_len")
        return x + _pe_by_slices(torch.arange(x.shape[-2], dtype=torch.float), self.d_model).to(x.device)


def _rope_by_stack(x, base=10000.0):
    d = x.shape[-1]
    angle = torch.arange(x.shape[-2], device=x.device)[:, None] * base ** (-torch.arange(0, d, 2, device=x.device) / d)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()), dim=-1).flatten(-2)


def _rope_by_matrices(x, base=10000.0):
    d = x.shape[-1]
    angle = torch.arange(x.shape[-2], device=x.device)[:, None] * base ** (-torch.arange(0, d, 2, device=x.device) / d)
    turn = torch.stack((torch.stack((angle.cos(), -angle.sin()), -1), torch.stack((angle.sin(), angle.cos()), -1)), -2)
    return torch.einsum("sdij,...sdj->...sdi", turn, x.unflatten(-1, (d // 2, 2))).flatten(-2)


def _rope_by_slices(x, base=10000.0):
    d, out = x.shape[-1], torch.empty_like(x)
    for i in range(d // 2):
        t = torch.arange(x.shape[-2]).to(x.device) / base ** (2 * i / d)
        out[..., 2 * i] = x[..., 2 * i] * t.cos() - x[..., 2 * i + 1] * t.sin()
        out[..., 2 * i + 1] = x[..., 2 * i] * t.sin() + x[..., 2 * i + 1] * t.cos()
    return out


RIGHT = {
    "positional_encoding": [_pe_by_slices, _pe_by_loops, _pe_by_shift],
    "PositionalEncoding": [PEAdded, PENotSaved, PEOnTheFly],
    "apply_rope": [_rope_by_stack, _rope_by_matrices, _rope_by_slices],
}


class OfTheSourceText(nn.Module):
    """As the course's source text has it: its table is cut by the batch."""

    def __init__(self, d_model, max_len=5000):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1).float()
        pe = torch.zeros(max_len, d_model)
        pe[:, 0::2] = torch.sin(position * torch.exp(torch.arange(0, d_model, 2) * (-math.log(100.0) / d_model)))
        pe[:, 1::2] = torch.cos(position * torch.exp(torch.arange(0, d_model, 2) * (-math.log(100.0) / d_model)))
        self.register_buffer("pe", pe.unsqueeze(0).transpose(0, 1))

    def forward(self, x):
        return x + self.pe[: x.size(0), :]


def test_the_source_texts_own_class_is_named():
    assert diagnose(find("PositionalEncoding"), OfTheSourceText).misconception == "batch-axis-of-three"


@pytest.mark.parametrize("dtype", [torch.int64, torch.float32, torch.float64])
def test_the_type_of_the_positions_is_not_asked_about(dtype):
    """An answer may make its numbers of the positions' own type: they are floats."""

    def positional_encoding(position, d_model, base=100.0):
        return _pe_by_shift(position.to(dtype), d_model, base).to(position.dtype)

    report = diagnose(find("positional_encoding"), positional_encoding)
    if dtype == torch.int64:
        assert report.misconception == "cut-to-whole"
    else:
        assert report, str(report)


def test_rounded_positions_and_exponents_up_to_one_do_not_pass():
    def rounded(position, d_model, base=100.0):
        return _pe_by_slices(position.round(), d_model, base)

    def up_to_one(position, d_model, base=100.0):
        angles = position[:, None] * base ** -torch.linspace(0, 1, d_model // 2)
        return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)

    report = diagnose(find("positional_encoding"), rounded)
    assert report.property == "angles" and "Pair 0 turns by 1 radians" in report.message
    assert diagnose(find("positional_encoding"), up_to_one).misconception == "exponents-up-to-one"


class PlainAttribute(PEAdded):
    def __init__(self, d_model, max_len=5000):
        super().__init__(d_model, max_len)
        table = self.pe
        del self.pe
        self.pe = table


class MadeOnTheCPU(PEOnTheFly):
    def forward(self, x):
        if x.shape[-2] > self.max_len:
            raise ValueError("more positions than max_len")
        return x + _pe_by_slices(torch.arange(x.shape[-2]).float(), self.d_model)


def test_a_table_that_does_not_move_with_its_module_is_no_buffer():
    report = diagnose(find("PositionalEncoding"), PlainAttribute)
    assert report.property == "moves_with_its_module" and "`self.pe` stayed behind" in report.message
    report = diagnose(find("PositionalEncoding"), MadeOnTheCPU)
    assert report.property == "moves_with_its_module" and "works on the CPU only" in report.message


@pytest.mark.parametrize("share, words", [(0.1, "a tenth of the numbers become 0"), (0.3, "is there a dropout, as in")])
def test_a_dropout_on_the_sum_is_told(share, words):
    class OfTheTutorial(PEAdded):
        def __init__(self, d_model, max_len=5000):
            super().__init__(d_model, max_len)
            self.dropout = nn.Dropout(share)

        def forward(self, x):
            return self.dropout(super().forward(x))

    report = diagnose(find("PositionalEncoding"), OfTheTutorial)
    assert report.status == "failed" and words in report.message


def test_a_wrong_table_is_told_by_what_was_added():
    class Doubled(PEAdded):
        def __init__(self, d_model, max_len=5000):
            super().__init__(d_model, max_len)
            self.pe *= 2

    report = diagnose(find("PositionalEncoding"), Doubled)
    assert report.property == "adds_its_rows"
    assert "At position 0, 0.000 and 2.000 were added" in report.message and "begins 0.000 and 1.000" in report.message


def test_a_turn_that_no_gradient_passes_is_told():
    def apply_rope(x, base=10000.0):
        return _rope_by_stack(x.detach(), base)

    assert diagnose(find("apply_rope"), apply_rope).property == "lets_gradients_through"


# ---------------------------------------------------------------- what the lesson says

PE = lesson.positional_encoding(torch.arange(100.0), 512)


def test_attention_without_positions_gives_shuffled_results_for_shuffled_tokens():
    x = torch.randn(6, 8, generator=torch.Generator().manual_seed(0))
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    attend = simplified_attention.simple_attention
    assert torch.allclose(attend(x[order])[0], attend(x)[0][order], atol=1e-6)
    marked = lesson.PositionalEncoding(8)
    assert not torch.allclose(attend(marked(x[order]))[0], attend(marked(x))[0][order], atol=1e-2)


def test_small_cases_by_hand():
    rows = lesson.positional_encoding(torch.tensor([0.0, 3.0]), 4)
    assert rows[0].tolist() == [0, 1, 0, 1]
    assert torch.allclose(rows[1], torch.tensor([math.sin(3), math.cos(3), math.sin(0.3), math.cos(0.3)]))


def test_slowest_waves():
    periods = {base: 2 * math.pi * base ** (510 / 512) for base in (100, 10000)}
    assert 580 < periods[100] < 640 and 58_000 < periods[10000] < 63_000  # "some 600", "some 60,000"


def test_dot_products_depend_on_distance_alone():
    products = PE @ PE.T
    for gap in range(0, 99, 7):
        along = products.diagonal(gap)
        assert torch.allclose(along, along[0].expand_as(along), atol=2e-3)
    assert products[3, 10] > products[3, 50]
    assert torch.allclose(products.diagonal(), torch.full((100,), 256.0), atol=1e-3)


def test_a_larger_base_sees_farther_and_less_sharply():
    alike = {
        base: (rows := lesson.positional_encoding(torch.arange(64.0), 64, base)) @ rows[0] / 32
        for base in (100.0, 10000.0)
    }
    assert (alike[10000.0][1:] > alike[100.0][1:]).all() and alike[10000.0].min() > 0.4 and alike[100.0].min() < 0


def test_the_batch_axis_bug_is_no_difference_without_a_batch_and_a_large_one_with():
    module, x = lesson.PositionalEncoding(6), torch.zeros(4, 6)
    assert torch.equal(x + module.pe[: x.size(0)], module(x))
    batch = torch.zeros(3, 5, 6)
    wrong = batch + module.pe[: batch.size(0)][:, None]
    assert all(torch.equal(wrong[i, p], wrong[i, 0]) for i in range(3) for p in range(5))
    assert not torch.allclose(wrong, module(batch))


def test_odd_widths_and_long_texts_are_refused_and_the_table_moves_along():
    with pytest.raises(ValueError, match="must be even.*got 7"):
        lesson.PositionalEncoding(7)
    module = lesson.PositionalEncoding(4, max_len=6)
    with pytest.raises(ValueError, match="7 positions and the table 6"):
        module(torch.zeros(2, 7, 4))
    assert module.to("meta").pe.device.type == "meta" and not list(module.parameters())
    assert lesson.PositionalEncoding(4).double()(torch.zeros(2, 4, dtype=torch.float64)).dtype == torch.float64
    x = torch.zeros(2, 3, 4, requires_grad=True)
    lesson.PositionalEncoding(4)(x).sum().backward()
    assert (x.grad == 1).all()


def test_rope_scores_depend_on_distance_and_lengths_stay():
    query, key = torch.randn(2, 32, generator=torch.Generator().manual_seed(1))
    q, k = lesson.apply_rope(query.expand(48, 32)), lesson.apply_rope(key.expand(48, 32))
    scores = q @ k.T
    for gap in range(-47, 48, 5):
        along = scores.diagonal(gap)
        assert torch.allclose(along, along[0].expand_as(along), atol=1e-4)
    assert not torch.allclose(scores[3, 10], scores[10, 3], atol=1e-2)  # behind is not ahead
    pairs = q.unflatten(-1, (16, 2)).norm(dim=-1)
    assert torch.allclose(pairs, pairs[0].expand_as(pairs), atol=1e-5)
    halves = [torch.cat((rows[:, 0::2], rows[:, 1::2]), -1) for rows in (q, k)]
    assert torch.allclose(halves[0] @ halves[1].T, scores, atol=1e-4)
    assert not torch.allclose(halves[0] @ k.T, scores, atol=0.1)
    assert lesson.apply_rope(q.double()).dtype == torch.float64


def test_turned_values_would_be_mixed_at_different_angles():
    """The quiz: the mix of equal values is that value, and of turned ones it is not."""
    value = torch.ones(6, 4)
    weights = torch.full((6,), 1 / 6)
    assert torch.allclose(weights @ value, value[0])
    assert not torch.allclose(weights @ lesson.apply_rope(value, base=10.0), value[0], atol=0.1)


def test_the_prediction_about_dog():
    """Predicted: the same context vector in both orders; and with positions another one."""
    generator = torch.Generator().manual_seed(5)
    vectors = {word: torch.randn(8, generator=generator) for word in ("the", "dog", "bites", "a", "man")}
    attend, marked = simplified_attention.simple_attention, lesson.PositionalEncoding(8)
    seen, with_marks = [], []
    for sentence in ("the dog bites a man", "a man bites the dog"):
        words = sentence.split()
        x = torch.stack([vectors[word] for word in words])
        seen.append(attend(x)[0][words.index("dog")])
        with_marks.append(attend(marked(x))[0][words.index("dog")])
    assert torch.allclose(*seen, atol=1e-6) and not torch.allclose(*with_marks, atol=1e-2)


# ---------------------------------------------------------------- figures and explorer


def test_heat_shows_every_number_it_is_given():
    values = torch.arange(12.0).view(3, 4) - 5
    picture = show.heat(values, rows="position", columns="entry")
    image = picture.figure.axes[0].images[0]
    assert torch.equal(torch.tensor(image.get_array().filled(), dtype=torch.float32), values)
    assert image.get_clim() == (
        -6,
        6,
    )
    assert "3 rows (position) by 4 columns (entry)" in picture.alt
    assert "position 2: 3.00, 4.00, 5.00, 6.00." in picture.alt
    for wrong, told in ((torch.zeros(3), "table"), (torch.zeros(2, 600), "512"), (torch.full((2, 2), math.nan), "nan")):
        with pytest.raises(ValueError, match=told):
            show.heat(wrong)


def test_turning_keeps_lengths_and_says_where_each_arrow_ends():
    picture = show.turning([1.0, 0.0], [0, 1, 2], math.pi / 2)
    assert "position 0: (1.00, 0)" in picture.alt and "position 1: (0.00, 1.00)" in picture.alt
    assert "position 2: (−1.00, 0.00)" in picture.alt
    assert "90° a position" in picture.alt
    for pair, at in (([0.0, 0.0], [1]), ([1.0], [1]), ([1.0, 2.0], range(9))):
        with pytest.raises(ValueError):
            show.turning(pair, at, 0.5)


def test_the_explorer_follows_its_sliders():
    panel = explore.positions()
    assert "544 positions" in panel.readout.value and "waves of many speeds cancel" in panel.readout.value
    first = panel.picture.value
    panel.base.value, panel.width.value = 10.0, 2
    assert panel.picture.value != first and "longest wave <b>6 positions</b>" in panel.readout.value
    assert "repeats" in panel.readout.value
    panel.base.value, panel.width.value = 10000.0, 512
    assert f"{2 * math.pi * 10000 ** (510 / 512):,.0f} positions" in panel.readout.value
    assert "Base 10000, width 512" in panel.picture.value
