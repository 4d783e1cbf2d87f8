"""Test lesson 02: differently written right answers, messages of checks, and the claims of its prose."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from solutions import simplified_attention as lesson
from tests.show.figure_checks import AWKWARD, assert_no_overlap, assert_not_clipped, text_strings
from utils import explore, gpt2, show
from utils.checks._attention import INPUTS
from utils.exercises.exercise import find_exercise
from utils.feedback.check import check
from utils.instructor.answers import AnswerFactory

SCORES = INPUTS.mv(INPUTS[1])
WEIGHTS = SCORES.softmax(0)


def softmax_by_differences(x, dim):
    """Compute each weight as 1 over a sum of powers: this needs no maximum, and an overflow cannot become nan."""
    x = x.movedim(dim, -1)
    return (x[..., None, :] - x[..., :, None]).exp().sum(-1).reciprocal().movedim(-1, dim)


def softmax_by_max(x, dim):
    top = x.max(dim=dim, keepdim=True).values
    e = torch.exp(x - top)
    return e.div(e.sum(dim=dim).unsqueeze(dim))


def softmax_by_log(x, dim):
    return F.log_softmax(x, dim=dim).exp()


def attention_by_einsum(inputs):
    w = torch.softmax(torch.einsum("id,jd->ij", inputs, inputs), dim=1)
    return torch.einsum("ij,jd->id", w, inputs), w


def attention_by_loops(inputs):
    weights = torch.stack([torch.softmax(torch.stack([a.dot(b) for b in inputs]), dim=0) for a in inputs])
    return torch.stack([sum(w * v for w, v in zip(row, inputs)) for row in weights]), weights


def attention_in_python(inputs):
    """Compute with plain numbers, which is a right answer because this exercise needs no gradients."""
    weights = []
    for a in inputs.tolist():
        scores = [sum(p * q for p, q in zip(a, b)) for b in inputs.tolist()]
        powers = [math.exp(s - max(scores)) for s in scores]
        weights.append([p / sum(powers) for p in powers])
    mixed = [[sum(w * v for w, v in zip(row, column)) for column in inputs.T.tolist()] for row in weights]
    return torch.tensor(mixed), torch.tensor(weights)


def attention_transposed(inputs):
    w = torch.softmax(inputs.mm(inputs.transpose(0, 1)), dim=0).T  # the scores are symmetric
    return w.matmul(inputs), w


RIGHT = {
    "attn_scores_2": [
        SCORES,
        torch.einsum("ij,j->i", INPUTS, INPUTS[1]),
        torch.stack([x.dot(INPUTS[1]) for x in INPUTS]),
    ],
    "attn_weights_2": [WEIGHTS, SCORES.exp() / SCORES.exp().sum(), F.softmax(SCORES, dim=-1)],
    "context_vec_2": [
        WEIGHTS @ INPUTS,
        (WEIGHTS[:, None] * INPUTS).sum(0),
        sum(w * x for w, x in zip(WEIGHTS, INPUTS)),
    ],
    "attn_scores": [
        INPUTS @ INPUTS.T,
        torch.einsum("id,jd->ij", INPUTS, INPUTS),
        torch.stack([INPUTS @ x for x in INPUTS]),
    ],
    "softmax": [softmax_by_differences, softmax_by_max, softmax_by_log],
    "simple_attention": [attention_by_einsum, attention_by_loops, attention_in_python, attention_transposed],
}


# --- messages of checks -----------------------------------------------------------------------------


def misconception(**answers):
    """Check a value or a function, and return the misconception in the report."""
    ((name, answer),) = answers.items()
    return check(**answers).misconception if find_exercise(name).kind == "value" else check(answer).misconception


def test_using_the_wrong_variable_of_the_lesson_is_a_misconception():
    shares = SCORES / SCORES.sum()
    assert misconception(attn_weights_2=shares.softmax(0)) == "softmax-of-the-shares"
    assert misconception(context_vec_2=shares @ INPUTS) == "shares-for-weights"
    assert misconception(attn_scores_2=WEIGHTS) == "already-weights"


def test_one_row_of_a_softmax_down_the_columns_is_a_misconception():
    table = torch.softmax(INPUTS @ INPUTS.T, dim=0)
    assert misconception(attn_weights_2=table[1]) == "down-the-columns"
    assert misconception(context_vec_2=table[1] @ INPUTS) == "columns-for-weights"
    assert check(attn_weights_2=table[:, 1])  # the scores are symmetric, so a column of this table is right


def test_wrong_values_have_their_misconceptions():
    scores, mixed, table = SCORES.clone(), WEIGHTS @ INPUTS, INPUTS @ INPUTS.T
    scores[1] = 0
    assert misconception(attn_scores_2=scores) == "not-with-itself"
    assert misconception(attn_scores_2=INPUTS @ INPUTS[0]) == "first-token"
    assert misconception(attn_weights_2=2**SCORES / (2**SCORES).sum()) == "other-base"
    assert misconception(attn_weights_2=SCORES[:, None].softmax(1)[:, 0]) == "axis-of-one"
    assert misconception(attn_weights_2=(SCORES / 3**0.5).softmax(0)) == "scaled-already"
    assert misconception(context_vec_2=mixed / 6) == "mean-for-sum"
    assert misconception(context_vec_2=mixed + INPUTS[1]) == "query-on-top"
    assert misconception(context_vec_2=sum(WEIGHTS[i] * INPUTS[i] for i in range(5))) == "last-left-out"
    assert misconception(context_vec_2=(WEIGHTS[:, None] * INPUTS).sum(1)) == "summed-over-the-width"
    assert misconception(attn_scores=table.triu()) == "half-a-table"
    assert misconception(attn_scores=table.clone().fill_diagonal_(0)) == "not-with-itself"
    assert misconception(attn_scores=table / 3) == "mean-for-sum"


def test_the_printed_values_of_the_page_pass():
    assert check(context_vec_2=torch.tensor([0.4419, 0.6515, 0.5683]))
    assert check(attn_weights_2=torch.tensor([0.1385, 0.2379, 0.2333, 0.1240, 0.1082, 0.1581]))


def test_softmax_must_handle_finite_numbers_of_any_size_only():
    for seed in range(2):
        assert all(case.args[0].isfinite().all() for case in find_exercise("softmax").sample_cases(seed))

    def softmax(x, dim):
        return torch.exp(x - torch.logsumexp(x, dim=dim, keepdim=True))

    assert check(softmax)

    def softmax(x, dim):
        powers = torch.exp(x - x.abs().amax(dim=dim, keepdim=True))
        return powers / powers.sum(dim=dim, keepdim=True)

    assert misconception(softmax=softmax) == "absolute-for-maximum"

    def softmax(x, axis):
        return torch.softmax(x, axis)

    report = check(softmax)  # the page calls softmax with the argument name dim
    assert report.reason == "raised" and "'dim'" in report.message


def test_a_sentence_of_one_word_keeps_its_axes():
    def simple_attention(inputs):
        context, weights = attention_by_einsum(inputs)
        return context.squeeze(), weights.squeeze()

    assert misconception(simple_attention=simple_attention) == "axes-of-one-lost"

    def simple_attention(inputs):
        return attention_by_einsum(inputs)[0], inputs @ inputs.T

    assert misconception(simple_attention=simple_attention) == "scores-beside"


# --- claims -----------------------------------------------------------------------------------------


def test_predictions():
    assert 2 * 1 + 1 * 2 == 4
    assert torch.allclose(F.softmax(SCORES + 10, 0), WEIGHTS, atol=1e-6)
    assert math.isclose(INPUTS[2] @ INPUTS[1], 1.4754, abs_tol=1e-4)


def test_numbers_in_the_prose():
    assert np.round([0.55 * 0.43 + 0.87 * 0.15 + 0.66 * 0.89], 4) == [0.9544]
    assert torch.allclose(SCORES[[2, 4]], torch.tensor([1.4754, 0.7070]), atol=5e-5)
    assert WEIGHTS.argsort(descending=True).tolist()[:2] == [1, 2] and WEIGHTS.argmin() == 4
    assert [round(float(WEIGHTS[i]), 2) for i in (1, 2, 4)] == [0.24, 0.23, 0.11]
    assert 3.4e38 < torch.finfo(torch.float32).max < 3.5e38 < math.exp(100)


def test_numbers_in_the_messages():
    assert round(float(SCORES.exp().sum()), 1) == 18.7
    assert round(float(torch.sigmoid(SCORES).sum()), 1) == 4.5
    assert round(float(SCORES.sum()), 1) == 6.6
    assert 6.5 < (SCORES @ INPUTS).norm() / (WEIGHTS @ INPUTS).norm() < 7.5  # "about seven times too long"
    assert torch.isinf(torch.tensor(89.0).exp()) and torch.isfinite(torch.tensor(88.0).exp())


@pytest.mark.observed("this reader names six to eight words, whether the list has 8 or 32 words")
@pytest.mark.claim("If the reader may look back, it names all 32 words")
@pytest.mark.parametrize("seed", range(3))
def test_one_state_holds_a_few_words_and_looking_back_finds_all(seed, monkeypatch):
    """The lesson shows seed 0; without looking back, other seeds lose most words too."""
    start = torch.manual_seed
    with torch.random.fork_rng():
        monkeypatch.setattr(torch, "manual_seed", lambda _: start(seed))
        assert lesson.bottleneck(4)[0] > 3.9
        for n in (8, 16, 32):
            last, back = lesson.bottleneck(n)
            assert 5.5 < last < 8.5 and back > n - 0.1
        assert 14 < lesson.bottleneck(32, d=256)[0] < 19  # "about half"


def encode_lists(seed, factor):
    generator = torch.Generator().manual_seed(seed)
    vectors, texts = torch.randn(20, 64, generator=generator), torch.randint(20, (2000, 32), generator=generator)
    state = torch.zeros(64)
    for word in texts.T:
        state = factor * state.roll(1, dims=-1) + vectors[word]
    return vectors, texts, state


@pytest.mark.claim("Early words are lost first, because each step shrinks the state")
@pytest.mark.claim("With a factor of 1.1 instead of 0.8, late words would be lost first")
@pytest.mark.parametrize("seed", range(3))
def test_the_factor_decides_which_words_are_lost(seed):
    """With a factor of 1 instead of 0.8, early and late words are named equally often (0.27); with 1.1, late are lost.

    A guess is right once in 20.
    """
    named = {}
    for factor in (0.8, 1.0, 1.1):
        _, texts, state = encode_lists(seed, factor)
        named[factor] = [lesson.words_named(state, texts[:, part]) / 4 for part in (slice(4), slice(-4, None))]
    assert named[0.8][0] < 0.1 and named[0.8][1] > 0.9
    assert abs(named[1.0][0] - named[1.0][1]) < 0.1
    assert named[1.1][0] > 0.75 and named[1.1][1] < 0.1


@pytest.mark.claim("a better reader, which can undo the encoder's steps, names nearly all 32 words")
@pytest.mark.parametrize("seed", range(3))
def test_a_reader_that_undoes_the_steps_names_nearly_all_words(seed):
    """Measured: 31.7 of 32. A reader that does not subtract the newest word names about as few as the linear reader."""
    vectors, texts, state = encode_lists(seed, 0.8)

    def words_undone(subtract):
        left, found = state, 0.0
        for i in reversed(range(32)):
            newest = (left @ vectors.T - vectors.pow(2).sum(dim=1) / 2).argmax(dim=1)
            found += float((newest == texts[:, i]).float().mean())
            left = ((left - vectors[newest] if subtract else left) / 0.8).roll(-1, dims=-1)
        return found

    assert words_undone(subtract=True) > 30.5
    assert words_undone(subtract=False) < 10


def test_the_two_figures_of_the_opening(snapshot):
    read, written = (
        "that your journey starts with one step".split(),
        "dass deine Reise mit einem Schritt beginnt".split(),
    )
    picture = show.looking_back(read, written, asks="beginnt", finds="starts")
    assert set(read + written + ["encoder", "decoder"]) <= set(text_strings(picture))
    assert picture.alt == snapshot
    road = show.variants()
    places = [road.alt.index(name) for name in ("simplified", "trainable", "causal", "multi-head")]
    assert places == sorted(places)
    assert show.looking_back(np.array(read), written, asks="beginnt", finds="starts").alt == picture.alt
    for figure in (picture, road, show.looking_back(AWKWARD[:8], AWKWARD[4:12], AWKWARD[7], AWKWARD[0])):
        assert_not_clipped(figure)
        assert_no_overlap(figure)


@pytest.mark.parametrize(
    "arguments",
    [
        ("a b", ["c", "d"], "c", "a"),
        (list("abcdefghi"), ["x", "y"], "x", "a"),
        (["a", "b"], ["x"], "x", "a"),
        (["a", "b"], ["x", "y"], "a", "a"),
        (["a", "a"], ["x", "y"], "x", "a"),
    ],
    ids=["read-is-a-string", "nine-read-words", "one-written-word", "asks-not-written", "finds-twice"],
)
def test_looking_back_rejects_invalid_arguments(arguments, snapshot):
    with pytest.raises(ValueError) as error:
        show.looking_back(*arguments)
    assert str(error.value) == snapshot


def test_similarities_of_the_six_vectors():
    assert F.cosine_similarity(INPUTS[1], INPUTS[2], dim=0) > 0.999
    assert INPUTS[4].argmax() == INPUTS[1].argmin() == INPUTS[2].argmin() == 0


def test_the_shadow_and_the_length():
    a, b = torch.tensor([2.0, 1.0]), torch.tensor([1.0, 2.0])
    shadow = b.norm() * F.cosine_similarity(a, b, dim=0)
    assert torch.isclose(shadow * a.norm(), torch.tensor(4.0))


@pytest.mark.claim("positive and negative scores nearly cancel, their sum is near 0, so the shares become very large")
@pytest.mark.claim("**Softmax** avoids both problems")
def test_shares_that_explode():
    """Replace the division by the sum with softmax: the shares are positive and below 1, for five lists."""
    for seed in range(5):
        scores = torch.randn(6, generator=torch.Generator().manual_seed(seed))
        scores += 0.01 - scores.mean()  # the sum is now 0.06
        shares = scores / scores.sum()
        assert shares.min() < 0 and shares.abs().max() > 5
        assert scores.softmax(0).min() > 0 and scores.softmax(0).max() < 1
    unlucky = torch.tensor([2.0, -1.0, -0.9])
    assert (unlucky / unlucky.sum())[:2].round().tolist() == [20, -10] and (SCORES > 0).all()


@pytest.mark.claim("If scores have both signs, some shares are negative")
@pytest.mark.parametrize("signs", [(1, 1, -1), (1, -1, -1), (1, 1, 1), (-1, -1, -1)])
def test_only_scores_of_both_signs_become_negative_shares(signs):
    """Give all scores the same sign: then all shares are positive, even if every score is negative."""
    scores = torch.tensor([0.5, 1.0, 1.25]) * torch.tensor(signs)
    assert bool((scores / scores.sum() < 0).any()) == (len(set(signs)) == 2)


@pytest.mark.claim("so the mix that follows cannot be longer than the longest of the six vectors")
@pytest.mark.parametrize("seed", range(3))
def test_a_mix_does_not_grow_with_the_sentence(seed):
    """Use the powers of the scores without dividing them by their sum: the mix then grows with the sentence."""
    x, grown = 0.5 + torch.rand(6, 3, generator=torch.Generator().manual_seed(seed)), []
    for n in (6, 60, 600):
        words = x.repeat(n // 6, 1)
        context, _ = lesson.simple_attention(words)
        assert (context.norm(dim=-1) <= x.norm(dim=-1).max() + 1e-5).all()
        grown.append(float(((words @ words.T).exp() @ words).norm(dim=-1).max()))
    assert grown[1] > 9 * grown[0] and grown[2] > 9 * grown[1]


@pytest.mark.claim("adding the same number to all scores changes no weight")
@pytest.mark.claim("Every exp grows by the same factor, e to the 10, and the division cancels it")
@pytest.mark.parametrize("seed", range(3))
def test_a_shift_cancels(seed):
    """Add 10 to all scores: no weight changes. Without the division, or added to one score only, weights change."""
    scores = torch.randn(6, generator=torch.Generator().manual_seed(seed))
    one = scores.clone()
    one[seed] += 10
    assert torch.allclose((scores + 10).softmax(0), scores.softmax(0), atol=1e-6)
    assert torch.allclose((scores + 10).exp() / scores.exp(), torch.tensor(10.0).exp(), rtol=1e-4)
    assert not torch.allclose(one.softmax(0), scores.softmax(0), atol=0.1)


@pytest.mark.claim("more of the weight goes to the highest score")
@pytest.mark.claim("The ranking of the tokens has not changed")
@pytest.mark.parametrize("seed", range(3))
def test_stretched_scores_sharpen_the_weights(seed):
    """Multiply the scores by larger and larger numbers. Equal scores keep equal weights."""
    scores = torch.randn(6, generator=torch.Generator().manual_seed(seed))
    weights = [(scores * factor).softmax(0) for factor in (0.5, 1, 2, 4)]
    largest = [float(row.max()) for row in weights]
    assert all(row.argsort().equal(scores.argsort()) for row in weights)
    assert largest == sorted(largest) and largest[-1] > 1.5 * largest[0]
    assert torch.allclose((torch.ones(6) * 4).softmax(0), torch.full((6,), 1 / 6))


@pytest.mark.claim("The largest power is now e⁰ = 1, so no power overflows")
@pytest.mark.claim("The sum is at least 1, so nothing is divided by zero")
@pytest.mark.claim("(float32 rounds it to 0), and 0 / 0 is `nan`")
@pytest.mark.parametrize("seed", range(3))
def test_without_the_subtraction_softmax_overflows_or_divides_by_zero(seed):
    """Leave out the subtraction of the largest score: powers become inf or the sum becomes 0, and weights nan."""
    scores = torch.randn(6, generator=torch.Generator().manual_seed(seed))

    def by_formula(x):
        return x.exp() / x.exp().sum()

    assert torch.allclose(by_formula(scores), lesson.softmax(scores, dim=0), atol=1e-6)
    for shift in (1000, -1000, -200):
        assert by_formula(scores + shift).isnan().any()
        assert not by_formula(scores + shift / 20).isnan().any()
        assert torch.allclose(lesson.softmax(scores + shift, dim=0), scores.softmax(0), atol=1e-3)
    assert (scores + 1000).exp().isinf().all() and (scores - 200).exp().sum() == 0
    assert (scores - 200).double().exp().min() > 0  # a dtype with a larger range does not round these powers to 0


@pytest.mark.claim("A power can still underflow, but then its weight is too small to matter")
@pytest.mark.parametrize("seed", range(3))
def test_a_power_that_underflows_has_a_weight_below_1e_30(seed):
    """The same weights in float64, where no power underflows, differ by less than 1e-30 where float32 has 0."""
    scores = 60 * torch.randn(200, generator=torch.Generator().manual_seed(seed))
    weights, exact = lesson.softmax(scores, dim=0), scores.double().softmax(0)
    assert (weights == 0).any() and (exact > 0).all()
    assert exact[weights == 0].max() < 1e-30


@pytest.mark.observed("in one torch call instead of 36")
def test_one_product_is_one_call():
    """Count the products that torch computes."""

    class Count(TorchDispatchMode):
        products = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            self.products += func.overloadpacket in (torch.ops.aten.dot, torch.ops.aten.mm)
            return func(*args, **(kwargs or {}))

    with Count() as loops:
        slow = torch.stack([torch.dot(a, b) for a in INPUTS for b in INPUTS])
    with Count() as product:
        fast = INPUTS @ INPUTS.T
    assert (loops.products, product.products) == (36, 1) and torch.allclose(slow.view(6, 6), fast)


@pytest.mark.claim("every token has looked at every other token")
def test_every_token_changes_every_context_vector():
    """Change one input: all context vectors change. If each token may look only at itself, one of them changes."""
    before, alone = lesson.simple_attention(INPUTS)[0], INPUTS
    for j in range(6):
        changed = INPUTS.clone()
        changed[j] += 0.5
        assert ((lesson.simple_attention(changed)[0] - before).abs().amax(dim=-1) > 1e-3).all()
        assert int(((changed - alone).abs().amax(dim=-1) > 1e-3).sum()) == 1


@pytest.mark.claim("because the vector of *journey* is longer")
@pytest.mark.claim("With vectors of length 1, each token would look most at itself")
@pytest.mark.claim("A high score means that two vectors point in similar directions, or are long")
def test_long_vectors_score_high():
    """Scale all vectors to length 1: each token then gives itself the largest weight, as do random vectors."""
    _, weights = lesson.simple_attention(INPUTS)
    assert weights[3].argmax() == 1 and weights[3, 1] > weights[3, 3] and INPUTS[1].norm() > INPUTS[3].norm()
    tables = [INPUTS, *(torch.rand(6, 3, generator=torch.Generator().manual_seed(seed)) for seed in range(5))]
    own = []
    for x in tables:
        own.append(int((lesson.simple_attention(x)[1].argmax(dim=-1) == torch.arange(6)).sum()))
        directions = x / x.norm(dim=-1, keepdim=True)
        assert lesson.simple_attention(directions)[1].argmax(dim=-1).tolist() == list(range(6))
    assert max(own) < 6, own


@pytest.mark.claim("Shuffle the words, and each word keeps the same context vector")
@pytest.mark.parametrize("seed", range(5))
def test_attention_ignores_the_order(seed):
    """Add a vector for each position to the inputs: the same shuffle then changes the context vectors."""
    generator = torch.Generator().manual_seed(seed)
    order, positions = torch.randperm(6, generator=generator), torch.randn(6, 3, generator=generator)
    context, _ = lesson.simple_attention(INPUTS)
    assert torch.allclose(lesson.simple_attention(INPUTS[order])[0], context[order], atol=1e-6)
    with_order, _ = lesson.simple_attention(INPUTS + positions)
    assert not torch.allclose(lesson.simple_attention(INPUTS[order] + positions)[0], with_order[order], atol=0.05)


@pytest.mark.observed("Five of six look most at journey or starts")
def test_claims_about_all_six():
    """Measure the table of the page, and the same table after a shuffle."""
    weights = (INPUTS @ INPUTS.T).softmax(-1)
    assert weights.argmax(-1).tolist() == [0, 1, 1, 1, 2, 1]
    assert all(set(row.topk(2).indices.tolist()) == {1, 2} for row in weights[1:])
    order = [5, 3, 1, 0, 2, 4]
    again = (INPUTS[order] @ INPUTS[order].T).softmax(-1) @ INPUTS[order]
    assert torch.allclose(again, (weights @ INPUTS)[order], atol=1e-6)


def test_the_context_vectors_that_the_page_prints():
    printed = [
        [0.4421, 0.5931, 0.5790],
        [0.4419, 0.6515, 0.5683],
        [0.4431, 0.6496, 0.5671],
        [0.4304, 0.6298, 0.5510],
        [0.4671, 0.5910, 0.5266],
        [0.4177, 0.6503, 0.5645],
    ]
    assert torch.allclose(lesson.simple_attention(INPUTS)[0], torch.tensor(printed), atol=5.1e-5)


@pytest.mark.observed("*cat* has its highest score with itself. Its second highest score is 0.41, with *dog*")
@pytest.mark.claim("With vectors of length 1, each word gives itself a weight of about 0.2")
def test_words_in_the_small_gpt_2s_vectors():
    """Test the default sentence, which is shown if the learner has not kept a sentence.

    If all vectors are scaled to length 1, the weights on themselves fall from 1 to 0.19–0.22.
    """
    tokens, x = gpt2.get_pre_attn(explore.my_sentence())
    assert "".join(tokens) == "Mary likes the cat and Tom likes the dog"
    alike = F.cosine_similarity(x[tokens.index(" cat")], x, dim=-1).tolist()
    dog = tokens.index(" dog")
    assert abs(alike[dog] - 0.41) < 0.005 and sorted(alike)[-3] < 0.32 < alike[dog] == sorted(alike)[-2]
    assert all(10 < float(row.norm()) < 11 and float(row.dot(row)) > 100 for row in x)
    assert (F.softmax(x @ x.T, -1).diagonal() > 0.9999).all()
    scaled = lesson.simple_attention(F.normalize(x, dim=-1))[1].diagonal()
    assert 0.17 < scaled.min() and scaled.max() < 0.235


@pytest.mark.claim("What one token gains, the others lose, each by the same factor")
def test_first_quiz():
    """Raise one score. Without the division by the sum, the other five do not change."""
    for scores in (SCORES, *(torch.randn(6, generator=torch.Generator().manual_seed(seed)) for seed in range(3))):
        grown = scores.clone()
        grown[0] += 1
        ratio = grown.softmax(0)[1:] / scores.softmax(0)[1:]
        assert (ratio < 0.999).all() and torch.allclose(ratio, ratio[0].expand(5))
        assert torch.equal(grown.exp()[1:], scores.exp()[1:])


@pytest.mark.parametrize(
    "name, old, new, reached, departure",
    [
        (
            "softmax",
            "powers.sum(dim=dim, keepdim=True)",
            "powers.norm(dim=dim, keepdim=True)",
            "the exponentials of the shifted scores",
            "the sums of the exponentials of the shifted scores",
        ),
        (
            "simple_attention",
            "return weights @ inputs,",
            "return weights.cumsum(0) @ inputs,",
            "the weights",
            "the context vectors",
        ),
    ],
)
def test_the_step_at_which_attention_goes_wrong(name, old, new, reached, departure):
    answers = AnswerFactory.from_name(name)
    report = answers.judge(answers.source.replace(old, new))
    assert report.departure == departure and f"gives {reached}" in report.message
    assert report.trace[-1].state == "wrong"
    assert f"line {report.trace[-1].line} (`" in report.message


def test_an_overflowing_power_is_no_right_step_of_softmax():
    answers = AnswerFactory.from_name("softmax")
    report = answers.judge(answers.source.replace("x - x.amax(dim=dim, keepdim=True)", "x").replace(".sum(", ".norm("))
    assert report.status == "failed" and "as it should" not in report.message


@pytest.mark.claim("Both functions use every pair of tokens, and a text twice as long has four times as many pairs")
@pytest.mark.parametrize("attention", [lambda x: lesson.simple_attention(x)[0], lesson.block_by_block])
def test_every_pair_counts(attention):
    """A change in any token changes every context vector. The multiplications grow with the number of pairs."""
    x = torch.rand(12, 3, generator=torch.Generator().manual_seed(0))
    changes = torch.autograd.functional.jacobian(attention, x)
    assert (changes.abs().amax(dim=(1, 3)) > 1e-4).all()
    counts = []
    for n in (256, 512):
        with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):  # only MATH can be counted
            attention(torch.randn(n, 64))
        counts.append(counter.get_total_flops())
    assert counts == [2 * 2 * n**2 * 64 for n in (256, 512)]


@pytest.mark.claim("block by block, without storing the whole table of weights")
@pytest.mark.claim("keeps only twice as many numbers for a text twice as long")
def test_only_the_stored_table_makes_memory_grow_with_the_square():
    """Count the numbers kept, block by block and with torch's implementation that stores the table."""
    kept = lambda attention, n: lesson.numbers_kept(attention, torch.randn(n, 64))
    assert kept(lesson.block_by_block, 1024) == 2 * kept(lesson.block_by_block, 512) < 3 * 1024 * 64
    with sdpa_kernel(SDPBackend.MATH):  # the same function, with a stored table
        assert kept(lesson.block_by_block, 1024) > 1024**2 and kept(lesson.block_by_block, 512) < 1024**2
    assert kept(lesson.simple_attention, 512) == 512**2 + 512 * 64
    without_axes = lambda x: F.scaled_dot_product_attention(x, x, x, scale=1.0)  # no batch, no heads
    assert kept(without_axes, 1024) > 1024**2  # the call decides whether torch stores the table


def test_the_block_by_block_function_computes_simple_attention():
    x = torch.randn(7, 3, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(lesson.block_by_block(x), torch.softmax(x @ x.T, dim=-1) @ x, atol=1e-6)
