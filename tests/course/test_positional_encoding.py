"""Lesson 07: right answers in several forms, and the claims of its prose."""

import math
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from solutions import positional_encoding as lesson
from solutions import simplified_attention
from tests.show.figure_checks import text_strings
from utils import show
from utils.exercises.exercise import find_exercise
from utils.feedback.diagnose import diagnose


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
    """The class of the course's source text, which cuts its table by the batch size."""

    def __init__(self, d_model, max_len=5000):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1).float()
        pe = torch.zeros(max_len, d_model)
        pe[:, 0::2] = torch.sin(position * torch.exp(torch.arange(0, d_model, 2) * (-math.log(100.0) / d_model)))
        pe[:, 1::2] = torch.cos(position * torch.exp(torch.arange(0, d_model, 2) * (-math.log(100.0) / d_model)))
        self.register_buffer("pe", pe.unsqueeze(0).transpose(0, 1))

    def forward(self, x):
        return x + self.pe[: x.size(0), :]


def test_the_first_wrong_step_is_named():
    def positional_encoding(position, d_model, base=100.0):
        exponents = torch.arange(0, d_model, 2) / d_model
        angles = position[:, None] / (base**exponents + 1)
        return torch.stack((angles.sin(), angles.cos()), -1).flatten(1)

    report = diagnose(find_exercise("positional_encoding"), positional_encoding)
    assert report.departure in ("the speeds", "the angles")  # the next or the nearest milestone
    assert "(`angles = position[:, None] / (base**exponents + 1)`)" in report.message


def test_a_wrong_rotation_is_found():
    def apply_rope(x, base=10000.0):
        angles = torch.arange(x.shape[-2])[:, None] * base ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])
        a, b = x[..., ::2], x[..., 1::2]
        first = a * angles.cos() - b * angles.sin()
        second = a * angles.sin() - b * angles.cos()
        return torch.stack((first, second), -1).flatten(-2)

    report = diagnose(find_exercise("apply_rope"), apply_rope)
    assert report.departure == "the rotated second entries"
    assert "(`second = a * angles.sin() - b * angles.cos()`)" in report.message


def test_a_table_that_is_scaled_is_found():
    class Halved(OfTheSourceText):
        def forward(self, x):
            rows = self.pe[: x.shape[-2], 0]
            return x + rows / 2

    report = diagnose(find_exercise("PositionalEncoding"), Halved)
    assert report.departure == "the result"
    assert "gives the encodings of the positions" in report.message


def test_the_source_texts_own_class_is_named():
    assert diagnose(find_exercise("PositionalEncoding"), OfTheSourceText).misconception == "batch-axis-of-three"


@pytest.mark.parametrize("dtype", [torch.int64, torch.float32, torch.float64])
def test_the_dtype_of_the_result_may_be_that_of_the_positions(dtype):
    """Positions are floats, so an answer may use their dtype for its result."""

    def positional_encoding(position, d_model, base=100.0):
        return _pe_by_shift(position.to(dtype), d_model, base).to(position.dtype)

    report = diagnose(find_exercise("positional_encoding"), positional_encoding)
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

    report = diagnose(find_exercise("positional_encoding"), rounded)
    assert report.property == "angles"
    assert "are the sine and the cosine of 1.000, with d_model = 8 and base = 100. Pair 0 should" in report.message
    assert diagnose(find_exercise("positional_encoding"), up_to_one).misconception == "exponents-up-to-one"


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


def test_a_table_of_rounded_positions_does_not_pass():
    class PositionalEncoding(PEAdded):
        def __init__(self, d_model, max_len=5000):
            super().__init__(d_model, max_len)
            self.pe = _pe_by_slices(torch.arange(max_len).half().float(), d_model)

    assert diagnose(find_exercise("PositionalEncoding"), PositionalEncoding).property == "has_far_rows"


def test_an_error_for_a_batch_is_not_said_to_come_from_the_first_axis():
    class PositionalEncoding(PEAdded):
        def forward(self, x):
            return super().forward(x) * 0 + x + self.pe[: x.shape[-2]].view(x.shape)

    report = diagnose(find_exercise("PositionalEncoding"), PositionalEncoding)
    assert report.status == "failed" and "You slice" not in report.message


def test_a_table_that_does_not_move_with_its_module_is_found():
    report = diagnose(find_exercise("PositionalEncoding"), PlainAttribute)
    assert report.property == "moves_with_its_module" and "`self.pe`" in report.message
    report = diagnose(find_exercise("PositionalEncoding"), MadeOnTheCPU)
    assert report.property == "moves_with_its_module" and "`self.pe`" not in report.message


@pytest.mark.parametrize("rate", [0.1, 0.3])
def test_a_dropout_on_the_sum_is_named(rate, snapshot):
    class OfTheTutorial(PEAdded):
        def __init__(self, d_model, max_len=5000):
            super().__init__(d_model, max_len)
            self.dropout = nn.Dropout(rate)

        def forward(self, x):
            return self.dropout(super().forward(x))

    report = diagnose(find_exercise("PositionalEncoding"), OfTheTutorial)
    assert report.status == "failed" and report.message == snapshot


def test_the_report_on_a_wrong_table_shows_what_was_added():
    class Doubled(PEAdded):
        def __init__(self, d_model, max_len=5000):
            super().__init__(d_model, max_len)
            self.pe *= 2

    report = diagnose(find_exercise("PositionalEncoding"), Doubled)
    text = (
        "you added 0.000 and 2.000 to the first two entries of x. Row 0 of the table should begin with 0.000 and 1.000."
    )
    assert report.property == "adds_its_rows" and text in report.message


def test_a_rotation_that_blocks_the_gradient_is_found():
    def apply_rope(x, base=10000.0):
        return _rope_by_stack(x.detach(), base)

    assert diagnose(find_exercise("apply_rope"), apply_rope).property == "lets_gradients_through"


# ---------------------------------------------------------------- claims of the lesson

PE = lesson.positional_encoding(torch.arange(100.0), 512)


@pytest.mark.claim("Attention without positions or a mask **ignores order**: shuffled tokens give shuffled results.")
@pytest.mark.claim("Its results now depend on the order, because the vectors contain their positions.")
@pytest.mark.parametrize("seed", range(3))
def test_attention_without_positions_gives_shuffled_results_for_shuffled_tokens(seed):
    """Position vectors are left out: shuffled tokens give the same results, shuffled. With them, the results differ."""
    x = torch.randn(6, 8, generator=torch.Generator().manual_seed(seed))
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    attend = simplified_attention.simple_attention
    assert torch.allclose(attend(x[order])[0], attend(x)[0][order], atol=1e-6)
    marked = lesson.PositionalEncoding(8)
    assert not torch.allclose(attend(marked(x[order]))[0], attend(marked(x))[0][order], atol=1e-2)


@pytest.mark.claim("a single layer ignores the order of the earlier tokens.")
@pytest.mark.claim("in the masked first layer, each position mixes a different set of tokens")
@pytest.mark.parametrize("seed", range(4))
def test_one_causal_layer_sees_the_past_as_a_bag_and_a_second_one_can_detect_order(seed):
    """Two earlier tokens change places. A second layer sees a difference, unless the first layer has no mask."""
    x = torch.randn(6, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    swapped, mask = x[[1, 0, 2, 3, 4, 5]], torch.ones(6, 6).tril().bool()

    def attend(x, mask=mask):
        return F.scaled_dot_product_attention(x[None], x[None], x[None], attn_mask=mask)[0]

    assert torch.allclose(attend(x)[2:], attend(swapped)[2:])
    assert (attend(attend(x)) - attend(attend(swapped)))[2:].abs().max() > 1e-4
    assert torch.allclose(attend(attend(x, None))[2:], attend(attend(swapped, None))[2:])


def test_small_cases_by_hand():
    rows = lesson.positional_encoding(torch.tensor([0.0, 3.0]), 4)
    assert rows[0].tolist() == [0, 1, 0, 1]
    assert torch.allclose(rows[1], torch.tensor([math.sin(3), math.cos(3), math.sin(0.3), math.cos(0.3)]))
    assert (
        0.9 < 6 / (2 * math.pi) < 1 and round(math.degrees(1)) == 57
    )  # "after six positions it has nearly gone round"


def test_how_much_slower_the_last_hand_is():
    """With base 100, it is 10 times slower for d = 4 and 98 times slower for d = 512."""
    for d, slower in ((4, 10), (512, 98)):
        sine = lesson.positional_encoding(torch.tensor([1.0]), d)[0, -2].item()
        assert round(1 / math.asin(sine)) == slower


def test_fast_waves_tell_neighbours_apart_and_slow_ones_far_positions_only():
    def apart(p, q, entries):
        return (PE[p, entries] - PE[q, entries]).norm()

    left, right = slice(0, 128), slice(384, 512)
    assert apart(10, 11, left) > 20 * apart(10, 11, right) and apart(0, 50, right) > 20 * apart(10, 11, right)
    assert PE[0, ::2].abs().max() == 0
    rotated = [(PE[p, ::2].diff().abs() > 0.02).float().mean() for p in (0, 10, 25, 50)]
    assert rotated == sorted(rotated) and rotated[0] == 0 and rotated[-1] > rotated[1] + 0.2


@pytest.mark.observed("The result best matches the vector seven positions earlier")
def test_a_row_rotated_back_by_seven_best_matches_the_row_seven_positions_earlier():
    t = 7 * 100.0 ** (-torch.arange(0, 512, 2) / 512)
    sine, cosine = PE[:, 0::2], PE[:, 1::2]
    back = torch.stack((sine * t.cos() - cosine * t.sin(), cosine * t.cos() + sine * t.sin()), -1).flatten(1)
    assert torch.equal((back @ PE.T).argmax(dim=1)[7:], torch.arange(93))


@pytest.mark.observed("Base 100 distinguishes nearby positions better")
def test_how_similar_positions_are_at_three_distances():
    """Measured at width 512, against base 10000."""
    rows = {base: lesson.positional_encoding(torch.tensor([0, 10.0, 100, 1000]), 512, base) for base in (100.0, 1e4)}
    similarity = {base: (table @ table[0] / 256).tolist()[1:] for base, table in rows.items()}
    assert similarity[100.0][0] < similarity[1e4][0] - 0.2  # "sharper near by"
    assert max(map(abs, similarity[100.0][1:])) < 0.1  # far and very far look the same
    assert similarity[1e4][1] > similarity[1e4][2] + 0.2 > 0.3  # far and very far differ


def test_which_models_rotate_and_which_learns_its_table():
    """Only the source of transformers is read."""
    import transformers

    config = transformers.GPT2Config()
    table = config.n_positions, config.n_embd
    assert table == (1024, 768)
    models = Path(transformers.__file__).parent / "models"
    source = {name: (models / name / f"modeling_{name}.py").read_text("utf-8") for name in ("gpt2", "llama", "mistral")}
    assert "self.wpe = nn.Embedding(" in source["gpt2"] and "rotary" not in source["gpt2"]
    for name in ("llama", "mistral"):
        assert "query_states, key_states = apply_rotary_pos_emb(query_states, key_states, cos, sin" in source[name]


def test_a_quarter_of_a_turn():
    turned = lesson.apply_rope(torch.tensor([[0.0, 0.0], [1.0, 0.0]]))[1]
    assert torch.allclose(turned, torch.tensor([math.cos(1), math.sin(1)]))  # from the first entry to the second
    (a, b), t = (0.0, 1.0), math.pi / 2
    assert abs(a * math.cos(t) - b * math.sin(t) + 1) < 1e-9 and abs(a * math.sin(t) + b * math.cos(t)) < 1e-9


def test_slowest_waves():
    periods = {base: 2 * math.pi * base ** (510 / 512) for base in (100, 10000)}
    assert 580 < periods[100] < 640 and 58_000 < periods[10000] < 63_000  # "some 600", "some 60,000"


@pytest.mark.claim(
    "From any position, the same rotation leads to the next one, and dot products depend only on the distance."
)
@pytest.mark.claim("Dot products of two rows depend only on their distance")
@pytest.mark.parametrize("width", [16, 64])
@pytest.mark.parametrize("step", [1, 7])
def test_without_cosines_a_step_is_no_rotation_and_dot_products_depend_on_the_position(width, step):
    """The cosines are removed, or replaced by sines of other speeds: no matrix makes the step from every position.

    Measured: errors of 0.1 to 0.6 instead of 0, and dot products that vary by a tenth or more of their size.
    """
    rows = {
        "both": lesson.positional_encoding(torch.arange(100.0).double(), width),
        "sines": lesson.positional_encoding(torch.arange(100.0).double(), width)[:, ::2],
        "as many sines": lesson.positional_encoding(torch.arange(100.0).double(), 2 * width)[:, ::2],
    }
    for name, table in rows.items():
        before, after = table[:-step], table[step:]
        solved = torch.linalg.lstsq(before, after, driver="gelsd").solution
        error = ((before @ solved - after).norm() / after.norm()).item()
        along = (table @ table.T).diagonal(step)
        varies = (along.std() / table.square().sum(1).mean()).item()
        assert (error < 1e-6 and varies < 1e-6) if name == "both" else (error > 0.01 and varies > 0.05), (name, error)


@pytest.mark.claim("Sines of several speeds already make the rows different.")
def test_rows_of_sines_at_several_speeds_differ():
    """With sines of eight speeds, a thousand rows differ. With only the fastest sine, some rows nearly coincide."""
    sines = lesson.positional_encoding(torch.arange(1000.0).double(), 16)[:, ::2]
    nearest = lambda rows: (torch.cdist(rows, rows) + 9 * torch.eye(len(rows))).min().item()
    assert nearest(sines) > 0.01 and nearest(sines[:, :1]) < 1e-4


def test_dot_products_depend_only_on_distance():
    products = PE @ PE.T
    for gap in range(0, 99, 7):
        along = products.diagonal(gap)
        assert torch.allclose(along, along[0].expand_as(along), atol=2e-3)
    assert products[3, 10] > products[3, 50]
    assert torch.allclose(products.diagonal(), torch.full((100,), 256.0), atol=1e-3)


@pytest.mark.claim("the plain dot product is nearly the same for all distances above about 90")
def test_base_100_hardly_distinguishes_far_from_very_far():
    """Beyond 90, dot products stay within a tenth of 0 up to distance 2000. With base 10000 they go on falling."""
    far = torch.arange(90.0, 2000.0)
    dots = {}
    for base in (100.0, 10000.0):
        start = lesson.positional_encoding(torch.zeros(1), 512, base)[0]
        dots[base] = lesson.positional_encoding(far, 512, base) @ start / 256
    assert dots[100.0].abs().max() < 0.12  # measured: 0.104
    assert dots[10000.0][0] - dots[10000.0][900] > 0.2


@pytest.mark.claim("Adding can have a price")
@pytest.mark.parametrize("seed", range(2))
def test_a_linear_reader_loses_the_position_in_narrow_vectors_of_many_tokens_only(seed):
    """The best linear reader names one of 30 positions, with and without one of 50 random tokens added.

    Measured with 16 entries: 1.00 without tokens, 0.38-0.43 with them, 0.92-0.98 with only 5 different tokens. With
    128 entries and 50 tokens: 1.00 and 1.00.
    """
    generator = torch.Generator().manual_seed(seed)
    tokens, places = torch.randint(50, (6000,), generator=generator), torch.randint(30, (6000,), generator=generator)

    def share(width, add, different=50):
        vectors = torch.randn(50, width, generator=generator)[tokens % different] * add
        x = vectors + lesson.positional_encoding(torch.arange(30.0), width)[places]
        x = torch.cat((x, torch.ones(len(x), 1)), 1).double()
        reader = torch.linalg.lstsq(x[:4000], F.one_hot(places[:4000], 30).double(), driver="gelsd").solution
        return ((x[4000:] @ reader).argmax(1) == places[4000:]).float().mean().item()

    assert share(16, add=0) > 0.85 and share(16, add=1) < 0.6 and share(16, add=1, different=5) > 0.75
    assert share(128, add=0) > 0.95 and share(128, add=1) > 0.95


@pytest.mark.claim("If the direction is reversed, keys *ahead* and *behind* swap scores.")
@pytest.mark.claim("Either way, positions affect scores only through their difference.")
def test_the_hands_rotate_clockwise_rope_counterclockwise_and_either_direction_works():
    """Scores depend only on the distance in either direction, and the reversed table is the transposed table. If only
    the queries are rotated, scores depend on positions.
    """
    hand = lesson.positional_encoding(torch.arange(2.0), 2)  # from the top of the dial to the right
    assert hand[0].tolist() == [0, 1] and hand[1, 0] > 0
    rotated = lesson.apply_rope(torch.tensor([[0.0, 1.0], [0.0, 1.0]]))
    assert rotated[1, 0] < 0  # the same start, but to the left
    swap = torch.arange(32).view(16, 2).flip(1).flatten()  # exchanging the two entries of a pair reverses the direction
    for seed in range(3):
        q, k = torch.randn(2, 1, 32, generator=torch.Generator().manual_seed(seed)).expand(2, 48, 32)
        ours = lesson.apply_rope(q) @ lesson.apply_rope(k).T
        reverse = lesson.apply_rope(q[:, swap]) @ lesson.apply_rope(k[:, swap]).T
        still = lesson.apply_rope(q) @ k.T
        varies = [
            max(scores.diagonal(gap).std().item() for gap in range(-40, 41, 8)) for scores in (ours, reverse, still)
        ]
        assert varies[0] < 1e-4 and varies[1] < 1e-4 and varies[2] > 0.5, varies
        assert not torch.allclose(ours, reverse, atol=0.1) and torch.allclose(ours.T, reverse, atol=1e-4)


def test_a_larger_base_sees_farther_and_less_sharply():
    similarity = {
        base: (rows := lesson.positional_encoding(torch.arange(64.0), 64, base)) @ rows[0] / 32
        for base in (100.0, 10000.0)
    }
    assert (similarity[10000.0][1:] > similarity[100.0][1:]).all()
    assert similarity[10000.0].min() > 0.4 and similarity[100.0].min() < 0


@pytest.mark.claim("every position of a text gets the same position vector")
def test_the_batch_axis_bug_matters_only_with_a_batch():
    """Without a batch axis, the wrong slice is right; with it, all positions get the same vector."""
    module, x = lesson.PositionalEncoding(6), torch.zeros(4, 6)
    assert torch.equal(x + module.pe[: x.size(0)], module(x))
    batch = torch.zeros(3, 5, 6)
    wrong = batch + module.pe[: batch.size(0)][:, None]
    assert all(torch.equal(wrong[i, p], wrong[i, 0]) for i in range(3) for p in range(5))
    assert not torch.allclose(wrong, module(batch))


def test_odd_widths_and_long_texts_raise_and_the_table_moves_with_the_module():
    with pytest.raises(ValueError, match=r"\b7\b"):
        lesson.PositionalEncoding(7)
    module = lesson.PositionalEncoding(4, max_len=6)
    with pytest.raises(ValueError, match=r"\b7\b.*\b6\b"):
        module(torch.zeros(2, 7, 4))
    assert module.to("meta").pe.device.type == "meta" and not list(module.parameters())
    assert lesson.PositionalEncoding(4).double()(torch.zeros(2, 4, dtype=torch.float64)).dtype == torch.float64
    x = torch.zeros(2, 3, 4, requires_grad=True)
    lesson.PositionalEncoding(4)(x).sum().backward()
    assert (x.grad == 1).all()


@pytest.mark.observed("For a given query and key, the score depends only on the difference of their positions.")
def test_rope_scores_depend_on_distance_and_lengths_stay():
    """Measured for one query and one key at 48 positions."""
    query, key = torch.randn(2, 32, generator=torch.Generator().manual_seed(1))
    q, k = lesson.apply_rope(query.expand(48, 32)), lesson.apply_rope(key.expand(48, 32))
    scores = q @ k.T
    for gap in range(-47, 48, 5):
        along = scores.diagonal(gap)
        assert torch.allclose(along, along[0].expand_as(along), atol=1e-4)
    assert not torch.allclose(scores[3, 10], scores[10, 3], atol=1e-2)  # 7 ahead differs from 7 behind
    pairs = q.unflatten(-1, (16, 2)).norm(dim=-1)
    assert torch.allclose(pairs, pairs[0].expand_as(pairs), atol=1e-5)
    halves = [torch.cat((rows[:, 0::2], rows[:, 1::2]), -1) for rows in (q, k)]
    assert torch.allclose(halves[0] @ halves[1].T, scores, atol=1e-4)
    assert not torch.allclose(halves[0] @ k.T, scores, atol=0.1)
    assert lesson.apply_rope(q.double()).dtype == torch.float64


@pytest.mark.claim("Yes: the mix would hold vectors rotated by different angles")
def test_rotated_values_would_be_mixed_at_different_angles():
    """The quiz: the mix of equal values is the same value, but the mix of their rotations is not."""
    value = torch.ones(6, 4)
    weights = torch.full((6,), 1 / 6)
    assert torch.allclose(weights @ value, value[0])
    assert not torch.allclose(weights @ lesson.apply_rope(value, base=10.0), value[0], atol=0.1)


def test_the_prediction_about_dog():
    """The context vector is the same in both orders; with positions it differs."""
    generator = torch.Generator().manual_seed(5)
    vectors = {word: torch.randn(8, generator=generator) for word in ("the", "dog", "bites", "a", "man")}
    attend, marked = simplified_attention.simple_attention, lesson.PositionalEncoding(8)
    without_positions, with_positions = [], []
    for sentence in ("the dog bites a man", "a man bites the dog"):
        words = sentence.split()
        x = torch.stack([vectors[word] for word in words])
        without_positions.append(attend(x)[0][words.index("dog")])
        with_positions.append(attend(marked(x))[0][words.index("dog")])
    assert torch.allclose(*without_positions, atol=1e-6) and not torch.allclose(*with_positions, atol=1e-2)


# ---------------------------------------------------------------- figures


def test_heat_shows_every_number(snapshot):
    values = torch.arange(12.0).view(3, 4) - 5
    picture = show.heat(values, rows="position", columns="entry")
    image = picture.figure.axes[0].images[0]
    assert torch.equal(torch.tensor(image.get_array().filled(), dtype=torch.float32), values)
    assert image.get_clim() == (-6, 6)
    assert picture.alt == snapshot
    for wrong in (torch.zeros(3), torch.zeros(2, 600), torch.full((2, 2), math.nan)):
        with pytest.raises(ValueError) as error:
            show.heat(wrong)
        assert str(error.value) == snapshot


def test_turning_keeps_lengths_and_describes_where_each_arrow_ends(snapshot):
    picture = show.turning([1.0, 0.0], [0, 1, 2], math.pi / 2)
    assert picture.alt == snapshot
    dial = show.turning([0.0, 1.0], [0, 1, 2, 3, 4, 5], -1.0)
    assert f"position 1: ({math.sin(1):.2f}, {math.cos(1):.2f})" in dial.alt
    slow = show.turning([1.0, 0.0], [0, 10, 200, 0.5], 0.005)
    assert {"0", "10", "200", "0.5"} <= {*text_strings(slow)} and "rotates by 0.286° per position" in slow.alt
    for pair, at in (([0.0, 0.0], [1]), ([1.0], [1]), ([1.0, 2.0], range(9))):
        with pytest.raises(ValueError):
            show.turning(pair, at, 0.5)
