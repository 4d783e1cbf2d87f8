"""Lesson 06: right answers in several forms, and the claims of its prose."""

import contextlib
import io
from unittest.mock import MagicMock

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from solutions import self_attention
from tests.show.figure_checks import assert_no_overlap, assert_not_clipped
from utils import lessons, show
from utils.exercises.exercise import Exercise, find_exercise
from utils.feedback.diagnose import diagnose
from utils.show.text_format import number_text


class NormByMoments(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps, self.w, self.b = eps, nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))

    def forward(self, residual):
        centred = residual - residual.mean(dim=-1, keepdim=True)
        return centred / torch.sqrt(centred.square().mean(dim=-1, keepdim=True) + self.eps) * self.w + self.b


class NormByTorch(NormByMoments):
    def forward(self, residual):
        return F.layer_norm(residual, self.w.shape, self.w, self.b, self.eps)


class NormByVarMean(NormByMoments):
    def forward(self, residual):
        var, mean = torch.var_mean(residual, -1, correction=0, keepdim=True)
        return torch.addcmul(self.b, (residual - mean) * (var + self.eps) ** -0.5, self.w)


class NormOfRows(NormByMoments):
    def forward(self, residual):
        rows = [
            (row - row.mean()) / (row.var(unbiased=False) + self.eps).sqrt()
            for row in residual.reshape(-1, residual.shape[-1])
        ]
        return torch.stack(rows).view_as(residual) * self.w + self.b


class LayerOfParts(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.self_attn = self_attention.SingleHeadAttention(embed_dim)
        self.norm1 = NormByTorch(embed_dim)

    def forward(self, src, mask=None):
        return src + self.norm1(self.self_attn(src, mask))


class LayerInPlace(LayerOfParts):
    def forward(self, src, mask=None):
        attended, _ = self.self_attn(src, mask=mask, return_weights=True)
        out = src.clone()
        out += self.norm1(attended)
        return out


class LayerOfTexts(LayerOfParts):
    """Make the norm before the attention, and run one text at a time."""

    def __init__(self, embed_dim):
        super().__init__(embed_dim)
        self.norm1, self.self_attn = self.norm1, self_attention.SingleHeadAttention(embed_dim)

    def forward(self, src, mask=None):
        if src.dim() == 2:
            return super().forward(src, mask)
        return torch.stack([self(text, mask) for text in src])


class LayerByTorch(LayerOfParts):
    def forward(self, src, mask=None):
        a = self.self_attn
        attended = F.scaled_dot_product_attention(a.q_layer(src), a.k_layer(src), a.v_layer(src), attn_mask=mask)
        return torch.add(self.norm1(attended), src)


X = torch.tensor([2.0, 4.0, 6.0, 8.0])

RIGHT = {
    "normalised": [
        (X - X.mean()) / X.var(correction=0).sqrt(),
        F.layer_norm(X, (4,)),
        (X - 5) / 5**0.5,
    ],
    "LayerNorm": [NormByMoments, NormByTorch, NormByVarMean, NormOfRows],
    "SelfAttentionLayer": [LayerOfParts, LayerInPlace, LayerByTorch, LayerOfTexts],
}


# ---------------------------------------------------------------- verdicts


def report_on(name, answer):
    return diagnose(find_exercise(name), answer)


class NormOfTorchsEps(NormByMoments):
    def forward(self, residual):
        return F.layer_norm(residual, self.w.shape, self.w, self.b)


class NormOfTorchsDefault(NormByTorch):
    def __init__(self, d_model, eps=1e-5):
        super().__init__(d_model, eps)


class NormOfConstants(NormByMoments):
    def forward(self, residual):
        with torch.no_grad():
            var, mean = torch.var_mean(residual, -1, correction=0, keepdim=True)
        return (residual - mean) / (var + self.eps).sqrt() * self.w + self.b


class NormOfSquares(NormByMoments):
    def forward(self, residual):
        mean = residual.mean(-1, keepdim=True)
        var = (residual.square().mean(-1, keepdim=True) - mean.square()).clamp_min(0)
        return (residual - mean) / (var + self.eps).sqrt() * self.w + self.b


class LayerOfTorchsEps(LayerOfParts):
    def forward(self, src, mask=None):
        return src + F.layer_norm(self.self_attn(src, mask), src.shape[-1:], self.norm1.w, self.norm1.b)


def test_the_first_wrong_step_is_named():
    class SumOfSquares(NormByMoments):
        def forward(self, residual):
            centred = residual - residual.mean(-1, keepdim=True)
            variance = centred.square().sum(-1, keepdim=True) / len(residual)
            return centred / torch.sqrt(variance + self.eps) * self.w + self.b

    report = report_on("LayerNorm", SumOfSquares)
    assert report.departure == "the variances"
    assert "gives the sums of the squared differences" in report.message


def test_a_mask_that_is_changed_is_found():
    class Transposed(LayerOfParts):
        def forward(self, src, mask=None):
            context = self.self_attn(src, mask if mask is None else mask.T)
            return src + self.norm1(context)

    report = report_on("SelfAttentionLayer", Transposed)
    assert report.departure == "the masked scores"
    assert "(`context = self.self_attn(src, mask if mask is None else mask.T)`)" in report.message


@pytest.mark.parametrize("seed", range(3))
def test_a_wrong_eps_is_named_and_not_reported_as_a_wrong_gradient(seed, monkeypatch):
    sample_cases = Exercise.sample_cases
    monkeypatch.setattr(Exercise, "sample_cases", lambda self, s=0: sample_cases(self, s + 10 * seed))
    assert report_on("LayerNorm", NormOfTorchsEps).misconception == "eps-of-torch"
    assert report_on("LayerNorm", NormOfTorchsDefault).misconception == "eps-of-torch-by-default"
    assert report_on("SelfAttentionLayer", LayerOfTorchsEps).misconception == "eps-of-torch"


def test_mistakes_that_ordinary_results_hide_are_found():
    assert report_on("LayerNorm", NormOfConstants).property == "gradients"
    assert report_on("LayerNorm", NormOfSquares).property == "far_from_zero"

    class LayerOfACopy(LayerOfParts):
        def forward(self, src, mask=None):
            return src + self.norm1(self.self_attn(src.detach(), mask))

    assert report_on("SelfAttentionLayer", LayerOfACopy).property == "gradients"


def test_messages_hold_for_answers_that_got_there_in_another_way():
    class WithoutParameters(nn.Module):
        def __init__(self, d_model, eps=1e-6):
            super().__init__()
            self.eps = eps

        def forward(self, residual):
            return F.layer_norm(residual, residual.shape[-1:], eps=self.eps)

    class OtherEps(LayerOfParts):
        def __init__(self, embed_dim):
            super().__init__(embed_dim)
            self.norm1 = NormByTorch(embed_dim, eps=1e-5)

    assert "Your w and b" not in report_on("LayerNorm", WithoutParameters).message
    report = report_on("SelfAttentionLayer", OtherEps)
    assert report.misconception == "eps-of-torch" and "has a different eps" not in report.message


def test_dropout_in_a_layer_does_not_pass():
    class Dropping(LayerOfParts):
        def forward(self, src, mask=None):
            return src + F.dropout(self.norm1(self.self_attn(src, mask)), 0.1, self.training)

    assert report_on("SelfAttentionLayer", Dropping).property == "draws_nothing"


def test_a_norm_may_change_x_in_place():
    x = X.clone()
    x -= x.mean()
    x /= x.var(correction=0).sqrt()
    assert report_on("normalised", x)


def test_an_inverted_mask_is_named_whether_an_empty_row_gives_nan_or_0():
    class Inverted(LayerOfParts):
        def forward(self, src, mask=None):
            return super().forward(src, None if mask is None else ~mask)

    class InvertedByTorch(LayerByTorch):
        def forward(self, src, mask=None):
            return super().forward(src, None if mask is None else ~mask)

    for answer, id in ((Inverted, "sees-what-is-hidden"), (InvertedByTorch, "sees-what-is-hidden-and-0")):
        assert report_on("SelfAttentionLayer", answer).misconception == id


def test_the_message_rounds_a_mean_of_nearly_0_to_0(snapshot):
    almost = torch.tensor([-1.0, -0.3, 0.3, 1.0000001])
    report = report_on("normalised", almost)
    assert report.property == "zero_and_one" and report.message == snapshot


# ---------------------------------------------------------------- claims of the lesson


@pytest.fixture(scope="module")
def lesson():
    """Run all code cells of the lesson and return the names that they define."""
    names = dict.fromkeys(("check", "show", "explore", "hint", "progress", "solution", "task"), MagicMock())
    for cell in lessons.read_lesson(lessons.find_lesson("layer_norm")).cells:
        if cell.kind == "code":
            source = "\n".join(
                "from utils import yours" if line.startswith("from utils import") else line
                for line in cell.source.splitlines()
            )
            with contextlib.redirect_stdout(io.StringIO()):
                exec(source, names)
    return names


def test_the_vector_on_paper(lesson):
    assert X.mean() == 5 and (X - 5).tolist() == [-3, -1, 1, 3] and (X - 5).square().mean() == 5
    assert abs(5**0.5 - 2.2361) < 5e-5 and torch.allclose(lesson["normalised"], (X - 5) / 5**0.5)
    assert torch.allclose(
        (X - 5) / X.std() / lesson["normalised"], torch.tensor(0.75**0.5)
    )  # smaller by the root of 3/4


@pytest.mark.claim("Only eps matters a little less.")
def test_scale_and_shift_leave_no_trace():
    """Scale and shift vanish. With a large eps or a tiny variance, a factor of 1000 leaves a trace."""
    larger = 100 * X + 7
    assert torch.allclose((larger - larger.mean()) / larger.var(correction=0).sqrt(), (X - 5) / 5**0.5, atol=1e-6)
    x = torch.randn(50, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(F.layer_norm(1000 * x, (16,), eps=1e-6), F.layer_norm(x, (16,), eps=1e-6), atol=1e-4)
    assert (F.layer_norm(1000 * x, (16,), eps=1.0) - F.layer_norm(x, (16,), eps=1.0)).abs().max() > 0.1
    assert (F.layer_norm(x, (16,), eps=1e-6) - F.layer_norm(x / 1000, (16,), eps=1e-6)).abs().max() > 0.1


@pytest.mark.claim("it also limits how much tiny differences are enlarged")
def test_what_eps_does():
    """Without eps, equal numbers give nan and tiny differences grow to variance 1; with eps 1e-4 they reach 0.5."""
    tiny = torch.tensor([-0.01, 0.01, -0.01, 0.01], dtype=torch.float64)
    assert torch.isclose(tiny.var(correction=0), torch.tensor(1e-4, dtype=torch.float64))
    assert torch.isclose(F.layer_norm(tiny, (4,), eps=1e-4).var(correction=0), torch.tensor(0.5, dtype=torch.float64))
    flat = torch.full((4,), 3.0)
    assert F.layer_norm(flat, (4,), eps=1e-6).abs().max() == 0
    assert torch.isclose(F.layer_norm(tiny, (4,), eps=0.0).var(correction=0), torch.ones((), dtype=torch.float64))
    assert ((flat - flat.mean()) / flat.var(correction=0).sqrt()).isnan().all()


def test_twice_and_ten(lesson):
    assert lesson["norm"](X).mean() == 10


@pytest.mark.observed("no other token or text affects the result")
def test_each_token_is_normalised_independently(lesson):
    """All other tokens and texts are changed, and the vector of a token stays the same."""
    norm, x = lesson["LayerNorm"](6), torch.randn(3, 5, 6, generator=torch.Generator().manual_seed(0)) * 4 + 1
    before = norm(x)
    x[1:] += 9
    x[:, 1:] *= 3
    assert torch.equal(norm(x)[0, 0], before[0, 0])


@pytest.mark.claim("In *batch* norm, the other texts affect the result in training.")
@pytest.mark.parametrize("seed", range(3))
def test_batch_norm_depends_on_the_other_texts_in_training_only(seed):
    """The other rows are removed: in training the result changes; after eval() it does not."""
    x, batch_norm = torch.randn(4, 6, generator=torch.Generator().manual_seed(seed)), nn.BatchNorm1d(6)
    assert not torch.allclose(batch_norm(x)[:2], batch_norm(x[:2]), atol=0.1)
    batch_norm.eval()
    assert torch.equal(batch_norm(x)[:2], batch_norm(x[:2]))


def test_a_thousand_vectors_each_of_mean_0_and_spread_1(lesson):
    data, out = lesson["input_data"], lesson["output_data"]
    assert abs(data.mean() - 2) < 0.1 and abs(data.std() - 5) < 0.1
    assert out.mean(-1).abs().max() < 1e-5 and (out.var(-1, correction=0) - 1).abs().max() < 1e-4


def test_the_layer_adds_numbers_of_size_one(lesson):
    assert lesson["added"].mean().abs() < 1e-6 and abs(lesson["added"].std(correction=0) - 1) < 1e-3


@pytest.mark.claim("A layer can learn a different `w` to add more, or less.")
def test_a_layer_can_learn_to_add_more(lesson):
    """With all of w at 3 instead of 1, the layer adds numbers of size 3."""
    layer, src = lesson["SelfAttentionLayer"](16), torch.randn(6, 16, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        layer.norm1.w.fill_(3)
    assert abs((layer(src) - src).std(correction=0) - 3) < 0.01


SEEDS = range(100, 103)


def stacked(lesson, monkeypatch, seed, place, **options):
    """Return the measurements of the lesson's `stack` with another seed."""
    monkeypatch.setattr(torch, "manual_seed", lambda _: torch.random.default_generator.manual_seed(seed))
    with torch.random.fork_rng():
        return lesson["stack"](place, **options)


@pytest.mark.observed("layer 24 adds numbers only a fifth as large")
@pytest.mark.observed("The gradient of the first layer is a hundred thousand times smaller")
def test_where_the_norm_is(lesson):
    """Measured in the lesson's own stacks."""
    sizes, apart, gradients = ({name: of[i] for name, of in lesson["measured"].items()} for i in range(3))
    first_by_last = {name: of[0] / of[-1] for name, of in gradients.items()}
    assert 5e4 < 1 / first_by_last["only attention"] < 5e5  # "a hundred thousand times weaker"
    assert apart["only attention"] < 1e-5  # "the same vector"
    assert apart["no sum"] < 1e-5 and 0.1 < first_by_last["no sum"] < 5
    for name in ("no norm", "post-norm", "pre-norm", "this lesson"):
        assert 0.3 < first_by_last[name] < 10 and apart[name] > 0.05  # "keep a difference", "its share"
    growth = [b / a for a, b in zip(sizes["no norm"], sizes["no norm"][1:])]
    assert sum(growth[-6:]) > sum(growth[:6]) and sizes["no norm"][-1] > 10  # "faster and faster", "tenfold"
    assert all(abs(size - 1) < 0.01 for size in sizes["post-norm"])
    assert 2 < sizes["pre-norm"][-1] < 3 and abs(sizes["this lesson"][-1] - 25**0.5) < 0.5
    assert abs(1 / 24**0.5 - 1 / 5) < 0.01  # "layer 24 a fifth of it"


@pytest.mark.observed("After three layers all tokens of a text hold the same vector")
def test_attention_alone_makes_all_tokens_the_same_in_three_layers(lesson, monkeypatch):
    """Measured with three seeds: after one layer the tokens still differ."""
    for seed in SEEDS:
        assert stacked(lesson, monkeypatch, seed, lesson["places"]["only attention"], depth=1)[1] > 0.1
        assert stacked(lesson, monkeypatch, seed, lesson["places"]["only attention"], depth=3)[1] < 1e-5


@pytest.mark.claim("because each value layer shrinks its input by a factor of √3")
@pytest.mark.claim("Because of the biases, the stream itself does not shrink as much.")
@pytest.mark.parametrize("change", ["larger weights", "no bias"])
@pytest.mark.claim("Torch initialises the weights for *n* inputs with variance 1/(3*n*)")
def test_initial_value_layers_shrink_their_input_which_weakens_the_gradient(lesson, monkeypatch, change):
    """Value layers with weights √3 times as large keep the size, and the gradient of layer 1 is no longer weak. It
    is not weak without biases either: the stream then becomes so small that the final norm enlarges the gradient.
    """
    x = torch.randn(2000, 256, generator=torch.Generator().manual_seed(0))
    shrunk = nn.Linear(256, 256)(x).std() / x.std()
    assert abs(shrunk - 3**-0.5) < 0.02
    assert all(abs(nn.Linear(n, 400).weight.var() * 3 * n - 1) < 0.1 for n in (32, 256))
    heads = lesson["SingleHeadAttention"]

    def changed(width):
        head = heads(width)
        with torch.no_grad():
            if change == "no bias":
                head.v_layer.bias.zero_()
            else:
                head.v_layer.weight *= 3**0.5
        return head

    monkeypatch.setitem(lesson, "SingleHeadAttention", changed)
    for seed in SEEDS:
        gradients = stacked(lesson, monkeypatch, seed, lesson["places"]["only attention"])[2]
        assert gradients[-1] / gradients[0] < 30  # instead of 100,000


@pytest.mark.parametrize("seed", SEEDS)
def test_the_order_of_the_five_designs_does_not_depend_on_the_seed(lesson, seed, monkeypatch):
    measured = {name: stacked(lesson, monkeypatch, seed, place) for name, place in lesson["places"].items()}
    ends = {name: sizes[-1] for name, (sizes, _, _) in measured.items()}
    del ends["no sum"]
    assert ends["only attention"] < ends["post-norm"] < ends["pre-norm"] < ends["this lesson"] < ends["no norm"]
    assert ends["no norm"] > 9 and measured["only attention"][1] < 1e-5
    assert measured["only attention"][2][0] < 1e-4 * measured["only attention"][2][-1]


@pytest.mark.claim("Every layer rescales all that earlier layers wrote, instead of only adding to it.")
@pytest.mark.parametrize("seed", SEEDS)
def test_a_stream_that_is_normed_in_each_layer_is_lost(lesson, monkeypatch, seed):
    """The quiz: norm(src) + norm(attention(src)) loses the initial stream. Without norm(src) it remains visible."""
    first, last = {}, {}

    def recorded(name, place):
        def inner(stream, attend, norm):
            first.setdefault(name, stream)
            last[name] = place(stream, attend, norm)
            return last[name]

        return inner

    normed = lambda s, attend, norm: norm(s) + norm(attend(s))
    for name, place in (("normed", normed), ("this lesson", lesson["places"]["this lesson"])):
        stacked(lesson, monkeypatch, seed, recorded(name, place))
    similarity = {n: F.cosine_similarity(first[n].flatten(), last[n].flatten(), 0).abs().item() for n in first}
    assert similarity["normed"] < 0.07 and similarity["this lesson"] > 0.12


@pytest.mark.claim("The norm restores the size after each layer, so the gradient reaches every value matrix.")
@pytest.mark.claim("**the sum** keeps tokens different for longer")
@pytest.mark.claim("either one lets gradients reach the first layer")
@pytest.mark.parametrize("seed", SEEDS)
def test_the_sum_keeps_tokens_different_and_either_part_lets_gradients_through(lesson, seed, monkeypatch):
    """Sum and norm are removed, alone and together. Without the sum, tokens become the same.

    Only without both is the gradient of the first layer lost.
    """
    measured = {name: stacked(lesson, monkeypatch, seed, place) for name, place in lesson["places"].items()}
    for name, (_, apart, gradients) in measured.items():
        assert (apart < 1e-5) == (name in ("only attention", "no sum")), (name, apart)
        first_by_last = gradients[0] / gradients[-1]
        assert (first_by_last < 1e-3) == (name == "only attention"), (name, first_by_last)  # others: 0.28 or more


@pytest.mark.claim("If all tokens are identical, all weights give the same mix, so queries and keys get no gradient.")
@pytest.mark.parametrize("seed", SEEDS)
def test_queries_and_keys_of_identical_tokens_get_no_gradient(lesson, seed, monkeypatch):
    """Without a sum, the gradients of queries and keys are below 1e-9 from layer 4 on, and the first layer has its own.

    With the sum, where tokens stay different, they are above 1e-4 in every layer.
    """
    made, build = [], lesson["SingleHeadAttention"]
    monkeypatch.setitem(lesson, "SingleHeadAttention", lambda width: made.append(build(width)) or made[-1])
    for name in ("no sum", "this lesson", "no norm"):
        made.clear()
        stacked(lesson, monkeypatch, seed, lesson["places"][name])
        sizes = torch.tensor([[part.weight.grad.norm() for part in (head.q_layer, head.k_layer)] for head in made])
        assert len(made) == 24 and sizes[0].min() > 1e-4, name
        assert sizes[4:].max() < 1e-9 if name == "no sum" else sizes.min() > 1e-4, name


@pytest.mark.claim(
    "a larger stream makes each layer add more, and attention's weighted means become larger as the tokens become more"
)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_two_reasons_for_the_growth_without_a_norm(lesson, seed, monkeypatch):
    """If attention reads the stream at a fixed size, or only the part in which tokens differ, the stream stays below 3.

    With both effects it grows to 9.5-14.5.
    """

    def unlike(s):
        apart = s - s.mean(dim=1, keepdim=True)
        return apart / apart.std() * s.std()

    reads = {"both": lambda s: s, "fixed size": lambda s: s / s.std(), "unlike tokens": unlike}
    ends = {
        name: stacked(lesson, monkeypatch, seed, lambda s, attend, norm, read=read: s + attend(read(s)))[0][-1]
        for name, read in reads.items()
    }
    assert ends["both"] > 8 and ends["fixed size"] < 3.5 and ends["unlike tokens"] < 2, ends


@pytest.mark.claim("almost uncorrelated with the stream. Sizes then combine like the sides of a right triangle")
@pytest.mark.parametrize("seed", SEEDS)
def test_sizes_combine_like_the_sides_of_a_triangle_only_if_the_parts_are_uncorrelated(lesson, seed, monkeypatch):
    """24 added vectors of size 1 give about 5 if they are uncorrelated, and 25 if each equals the normed stream."""
    correlated = lambda s, attend, norm: s + norm(s) + 0 * attend(s)
    assert abs(stacked(lesson, monkeypatch, seed, correlated)[0][-1] - 25) < 0.5
    assert abs(stacked(lesson, monkeypatch, seed, lesson["places"]["this lesson"])[0][-1] - 5) < 0.8


# ---------------------------------------------------------------- behaviour, figure, explorer


def test_the_layer_under_a_mask_hides_the_future_and_reaches_every_parameter(lesson):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        layer, x = lesson["SelfAttentionLayer"](8), torch.randn(2, 6, 8)
    mask = torch.ones(6, 6).tril().bool()
    before, moved = layer(x, mask), x.clone()
    moved[:, 4:] += 1
    assert torch.allclose(layer(moved, mask)[:, :4], before[:, :4])
    assert not torch.allclose(layer(moved)[:, :4], layer(x)[:, :4])
    assert torch.allclose(layer(x.flip(0), mask), before.flip(0), atol=1e-6)
    assert torch.allclose(layer(x[0], mask), before[0], atol=1e-6)
    before.square().mean().backward()
    dead = [name for name, p in layer.named_parameters() if p.grad is None or not p.grad.abs().sum()]
    assert dead in ([], ["self_attn.k_layer.bias"])  # a shift of all keys changes no weight
    assert layer.double()(x.double(), mask).dtype == torch.float64


def test_histograms_describe_their_numbers(snapshot):
    data = torch.randn(500, 8, generator=torch.Generator().manual_seed(0)) * 5 + 2
    picture = show.distributions({"before": data, "after": F.layer_norm(data, (8,))})
    assert "before: 4000 numbers" in picture.alt and f"mean {number_text(data.mean().item())}" in picture.alt
    bars = list(picture.figure.axes[0].patches)
    assert sum(bar.get_height() * bar.get_width() for bar in bars) == pytest.approx(1, abs=1e-6)
    assert picture.figure.axes[0].get_xlim() == picture.figure.axes[1].get_xlim()
    assert "500 numbers" in show.distributions({"flat": torch.full((500,), 2.0)}).alt
    assert "1 numbers" in show.distributions({"one": torch.tensor(2.0)}).alt
    assert "32 numbers" in show.distributions({"deep": torch.ones(2, 2, 2, 2, 2)}).alt
    for wrong in ({}, [1, 2], {"a": [float("nan")]}, {"a": []}):
        with pytest.raises(ValueError) as error:
            show.distributions(wrong)
        assert str(error.value) == snapshot


def test_each_place_of_the_norm_is_drawn_and_described(snapshot):
    picture = show.norm_places()
    labels = [text.get_text() for text in picture.figure.axes[0].texts]
    places = ["only attention", "no norm", "post-norm", "pre-norm", "this lesson"]
    assert [text for text in labels if text in places] == places
    assert labels.count("attention") == 5 and labels.count("norm") == 3 and labels.count("+") == 4
    assert_not_clipped(picture)
    assert_no_overlap(picture)
    heights = lambda name: {t.get_text(): t.get_position()[1] for t in show.norm_places([name]).figure.axes[0].texts}
    assert heights("pre-norm")["norm"] < heights("pre-norm")["attention"] < heights("pre-norm")["+"]
    assert heights("this lesson")["attention"] < heights("this lesson")["norm"] < heights("this lesson")["+"]
    assert heights("post-norm")["attention"] < heights("post-norm")["+"] < heights("post-norm")["norm"]
    assert picture.alt == snapshot
    for wrong in ([], ["peri-norm"]):
        with pytest.raises(ValueError) as error:
            show.norm_places(wrong)
        assert str(error.value) == snapshot
