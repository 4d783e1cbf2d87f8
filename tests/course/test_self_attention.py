"""Lesson 03: right answers, written differently, and the claims of its prose."""

import itertools
import math

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from solutions import self_attention as lesson
from utils import explore, show
from utils.checks._attention import INPUTS
from utils.feedback.diagnose import diagnose
from utils.feedback.exercise import find_exercise
from utils.gpt2 import get_pre_attn, get_split_l0_heads

with torch.random.fork_rng():
    torch.manual_seed(123)
    W_Q, W_K, W_V = (torch.rand(3, 2) for _ in range(3))
Q, K, V = INPUTS @ W_Q, INPUTS @ W_K, INPUTS @ W_V


class V1ByTorch(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.W_query = nn.Parameter(torch.rand(d_in, d_out))
        self.W_key = nn.Parameter(torch.rand(d_in, d_out))
        self.W_value = nn.Parameter(torch.rand(d_in, d_out))

    def forward(self, x):
        x = x.unsqueeze(0)
        return F.scaled_dot_product_attention(x @ self.W_query, x @ self.W_key, x @ self.W_value).squeeze(0)


class V1ByEinsum(V1ByTorch):
    def forward(self, x):
        q, k, v = (torch.einsum("si,io->so", x, w) for w in (self.W_query, self.W_key, self.W_value))
        return torch.einsum("qk,kd->qd", torch.softmax(torch.einsum("qd,kd->qk", q, k) / math.sqrt(k.size(-1)), -1), v)


class V1ByRows(V1ByTorch):
    def forward(self, x):
        keys = (x @ self.W_key) / self.W_key.shape[1] ** 0.5  # scaling the keys scales the scores
        return torch.stack([torch.softmax(keys @ (row @ self.W_query), 0) @ (x @ self.W_value) for row in x])


class V2ByTorch(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        x = x[None]
        return F.scaled_dot_product_attention(self.W_query(x), self.W_key(x), self.W_value(x))[0]


class V2Transposed(V2ByTorch):
    def forward(self, x):
        weights = torch.softmax(self.W_key(x) @ self.W_query(x).T / self.W_key.out_features**0.5, dim=0).T
        return weights @ self.W_value(x)


class V2Scaled(V2ByTorch):
    def forward(self, x):
        q = self.W_query(x) * self.W_query.out_features**-0.5
        return q.matmul(self.W_key(x).transpose(-1, -2)).softmax(-1).matmul(self.W_value(x))


def copy_in_place(v2, v1):
    with torch.no_grad():
        v1.W_query.copy_(v2.W_query.weight.T)
        v1.W_key.copy_(v2.W_key.weight.T)
        v1.W_value.copy_(v2.W_value.weight.T)
    return v1


def copy_as_parameters(v2, v1):
    for name in ("W_query", "W_key", "W_value"):
        setattr(v1, name, nn.Parameter(getattr(v2, name).weight.data.t().clone()))


def copy_by_state(v2, v1):
    v1.load_state_dict({k.removesuffix(".weight"): v.T for k, v in v2.state_dict().items()})


def weights_by_torch(W_Q, W_K, x, mask=None):
    eye = torch.eye(len(x))[None]
    return F.scaled_dot_product_attention((x @ W_Q)[None], (x @ W_K)[None], eye, attn_mask=mask)[0]


def weights_by_where(W_Q, W_K, x, mask=None):
    scores = torch.matmul(x @ W_Q, (x @ W_K).transpose(0, 1)).div(math.sqrt(W_Q.size(1)))
    if mask is not None:
        scores = torch.where(mask, scores, torch.tensor(float("-inf")))
    return scores.softmax(dim=1)


def weights_by_rows(W_Q, W_K, x, mask=None):
    q, k, rows = x @ W_Q, x @ W_K, []
    for i in range(len(x)):
        scores = k @ q[i] / W_Q.shape[-1] ** 0.5
        rows.append((scores if mask is None else scores.where(mask[i], -torch.inf)).softmax(0))
    return torch.stack(rows)


class HeadByTorch(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None, return_weights=False):
        scores = torch.einsum("...qd,...kd->...qk", self.q_layer(x), self.k_layer(x)) / x.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask.logical_not(), float("-inf"))
        weights = F.softmax(scores, -1)
        out = torch.einsum("...qk,...kd->...qd", weights, self.v_layer(x))
        if return_weights:
            return out, weights
        return out


class HeadByAddition(HeadByTorch):
    def forward(self, x, mask=None, return_weights=False):
        hidden = torch.zeros(x.shape[-2], x.shape[-2])
        if mask is not None:
            hidden[~mask] = -torch.inf
        weights = (self.q_layer(x) @ self.k_layer(x).mT * x.size(-1) ** -0.5 + hidden).softmax(-1)
        return (weights @ self.v_layer(x), weights) if return_weights else weights @ self.v_layer(x)


class HeadByBmm(HeadByTorch):
    def forward(self, x, mask=None, return_weights=False):
        batched = x.reshape(-1, *x.shape[-2:])
        q, k, v = self.q_layer(batched), self.k_layer(batched), self.v_layer(batched)
        scores = torch.bmm(q, k.transpose(1, 2)) / math.sqrt(k.shape[2])
        scores = scores if mask is None else scores.masked_fill(mask == 0, -math.inf)
        weights = torch.softmax(scores, dim=2)
        out = torch.bmm(weights, v).reshape(x.shape)
        return (out, weights.reshape(*x.shape[:-1], x.shape[-2])) if return_weights else out


RIGHT = {
    "scaled_context_vec_2": [
        torch.softmax(Q[1] @ K.T / 2**0.5, 0) @ V,
        F.scaled_dot_product_attention(Q[None], K[None], V[None])[0, 1],
        (torch.softmax(Q @ K.T * 0.5**0.5, -1) @ V)[1],
    ],
    "SelfAttention_v1": [V1ByTorch, V1ByEinsum, V1ByRows],
    "SelfAttention_v2": [V2ByTorch, V2Transposed, V2Scaled],
    "copy_weights": [copy_in_place, copy_as_parameters, copy_by_state],
    "compute_attn_weights": [weights_by_torch, weights_by_where, weights_by_rows],
    "SingleHeadAttention": [HeadByTorch, HeadByAddition, HeadByBmm],
}


# --- what the checks say ------------------------------------------------------------------------------


def layer(base, order, make):
    """A class of the lesson whose three parts are made in this order."""

    def __init__(self, *sizes, **options):
        nn.Module.__init__(self)
        for name in order:
            setattr(self, name, make(*sizes, **options))

    return type(base.__name__, (base,), {"__init__": __init__})


def hidden_with(number):
    def weights(W_Q, W_K, x, mask=None):
        scores = x @ W_Q @ (x @ W_K).T / W_K.shape[-1] ** 0.5
        return (scores if mask is None else scores.masked_fill(~mask, number)).softmax(-1)

    class Head(HeadByTorch):
        def forward(self, x, mask=None, return_weights=False):
            scores = self.q_layer(x) @ self.k_layer(x).mT / x.shape[-1] ** 0.5
            weights = (scores if mask is None else scores.masked_fill(~mask, number)).softmax(-1)
            return (weights @ self.v_layer(x), weights) if return_weights else weights @ self.v_layer(x)

    return {"compute_attn_weights": weights, "SingleHeadAttention": Head}


@pytest.mark.parametrize("name", ["compute_attn_weights", "SingleHeadAttention"])
@pytest.mark.parametrize("number", [-1e4, -1e9, torch.finfo(torch.float32).min])
def test_no_finite_number_hides_a_score(name, number):
    """Lesson 04 says why: it attends to everything in a row that may see nothing."""
    report = diagnose(find_exercise(name), hidden_with(number)[name])
    assert report.property == "hides_with_minus_infinity" and "only -inf" in report.message, str(report)
    assert diagnose(find_exercise(name), hidden_with(-torch.inf)[name])


def test_what_is_wrong_with_a_mask_is_not_blamed_on_a_low_number():
    """A single head whose mask counts only where the weights are asked for: the result without is no weights."""

    class Head(HeadByTorch):
        def forward(self, x, mask=None, return_weights=False):
            return HeadByTorch.forward(self, x, mask if return_weights else None, return_weights)

    report = diagnose(find_exercise("SingleHeadAttention"), Head)
    assert report.status == "failed" and report.property is None and "-inf" not in report.message


def test_a_row_that_sees_nothing_may_come_out_empty_or_be_refused():
    def zeros(W_Q, W_K, x, mask=None):
        return hidden_with(-torch.inf)["compute_attn_weights"](W_Q, W_K, x, mask).nan_to_num(0.0)

    def refused(W_Q, W_K, x, mask=None):
        if mask is not None and not mask.any(-1).all():
            raise ValueError("a row sees nothing")
        return zeros(W_Q, W_K, x, mask)

    assert diagnose(find_exercise("compute_attn_weights"), zeros) and diagnose(
        find_exercise("compute_attn_weights"), refused
    )


@pytest.mark.parametrize("order", list(itertools.permutations(("W_query", "W_key", "W_value"))))
def test_another_order_of_the_parameters_is_named(order):
    first = layer(V1ByTorch, order, lambda d_in, d_out: nn.Parameter(torch.rand(d_in, d_out)))
    second = layer(V2ByTorch, order, lambda d_in, d_out, qkv_bias=False: nn.Linear(d_in, d_out, bias=qkv_bias))
    for name, made in (("SelfAttention_v1", first), ("SelfAttention_v2", second)):
        report = diagnose(find_exercise(name), made)
        if order == ("W_query", "W_key", "W_value"):
            assert report, str(report)
        else:
            assert report.misconception.startswith("made-in-the-order-") and "in another order" in report.message


def test_a_single_head_is_asked_for_no_order():
    made = layer(HeadByTorch, ("v_layer", "q_layer", "k_layer"), lambda d_model: nn.Linear(d_model, d_model))
    assert diagnose(find_exercise("SingleHeadAttention"), made)


def test_weights_may_be_copied_by_what_a_layer_knows_of_itself():
    """Its in_features and out_features, and that it can be called."""

    def by_entries(v2, v1):
        with torch.no_grad():
            for name in ("W_query", "W_key", "W_value"):
                layer = getattr(v2, name)
                for i, o in itertools.product(range(layer.in_features), range(layer.out_features)):
                    getattr(v1, name)[i, o] = layer.weight[o, i]

    def by_unit_vectors(v2, v1):
        with torch.no_grad():
            for name in ("W_query", "W_key", "W_value"):
                getattr(v1, name).copy_(getattr(v2, name)(torch.eye(getattr(v2, name).in_features)))

    for answer in (by_entries, by_unit_vectors):
        report = diagnose(find_exercise("copy_weights"), answer)
        assert report, str(report)


def test_what_is_copied_can_be_trained():
    def as_tensors(v2, v1):
        for name in ("W_query", "W_key", "W_value"):
            delattr(v1, name)
            setattr(v1, name, getattr(v2, name).weight.detach().T.clone())

    assert "v1 has nothing left to train" in diagnose(find_exercise("copy_weights"), as_tensors).message


@pytest.mark.parametrize("name", ["SelfAttention_v1", "SelfAttention_v2", "SingleHeadAttention"])
def test_a_root_of_another_size_is_named(name):
    base, names = {
        "SelfAttention_v1": (V1ByTorch, ("W_query", "W_key", "W_value")),
        "SelfAttention_v2": (V2ByTorch, ("W_query", "W_key", "W_value")),
        "SingleHeadAttention": (HeadByTorch, ("q_layer", "k_layer", "v_layer")),
    }[name]

    def qkv(self, x):
        made = (getattr(self, n) for n in names)
        return [x @ m if isinstance(m, Tensor) else m(x) for m in made]

    def by(divisor, values=2):
        def forward(self, x, mask=None, return_weights=False):
            made = qkv(self, x)
            scores = made[0] @ made[1].mT / divisor(made, x)
            weights = (scores if mask is None else scores.masked_fill(~mask, -torch.inf)).softmax(-1)
            out = weights @ made[values]
            return (out, weights) if return_weights else out

        return diagnose(find_exercise(name), type(name, (base,), {"forward": forward})).misconception

    assert by(lambda made, x: x.shape[-2] ** 0.5) == "root-of-the-length"
    assert by(lambda made, x: made[0].shape[-1] ** 0.5, values=1) == "keys-as-values"
    if name != "SingleHeadAttention":
        assert by(lambda made, x: 2**0.5) == "root-of-2"
        assert by(lambda made, x: x.shape[-1] ** 0.5) == "root-of-d_in"


# --- the claims of the prose ----------------------------------------------------------------------------


def test_scores_are_no_longer_mutual():
    assert abs(Q[1] @ K[2] - Q[2] @ K[1]) > 1e-3
    assert torch.allclose(INPUTS @ INPUTS.T, (INPUTS @ INPUTS.T).T) and not torch.allclose(Q @ K.T, (Q @ K.T).T)


def test_a_query_that_fits_one_key_alone_gets_its_value():
    """A mix of all values becomes what a dictionary returns when one key fits far better than the others."""
    keys, values = torch.eye(4), torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(
        F.scaled_dot_product_attention(100 * keys[None, 2:3], keys[None], values[None])[0, 0], values[2]
    )


def test_the_explorer_starts_where_one_bar_has_nearly_all_the_weight():
    rows = torch.randn(7, 1024, generator=torch.Generator().manual_seed(29), dtype=torch.float64)[:, :128]
    assert (rows[1:] @ rows[0]).softmax(-1).max() > 0.95


def test_two_layouts_of_a_matrix():
    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    wide, square = nn.Linear(3, 2, bias=False), nn.Linear(3, 3, bias=False)
    assert torch.allclose(wide(x), x @ wide.weight.T) and torch.allclose(square(x), x @ square.weight.T)
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        x @ wide.weight
    assert (x @ square.weight).shape == square(x).shape and not torch.allclose(x @ square.weight, square(x), atol=1e-3)
    W_Q, _ = get_split_l0_heads(0)
    assert W_Q.shape[0] > W_Q.shape[1]  # [d_model, d_head], cut from the columns of the file's matrix


def test_an_underscore_changes_the_tensor_and_its_views_and_an_optimizer_does_so_too():
    a = torch.zeros(2, 3)
    turned = a.T
    assert a.add(1).sum() == 6 and turned.sum() == 0 and a.add_(1) is a and turned.sum() == 6
    weight = nn.Parameter(torch.ones(2, 3))
    turned, place = weight.detach().T, weight.data_ptr()
    weight.sum().backward()
    torch.optim.Adam([weight], lr=0.1).step()
    assert weight.data_ptr() == place and (turned < 1).all()


def test_divided_by_d_k_the_weights_would_be_nearly_equal():
    generator = torch.Generator().manual_seed(0)
    queries, keys = torch.randn(2000, 1, 64, generator=generator), torch.randn(2000, 6, 64, generator=generator)
    scores = (queries * keys).sum(-1) / 64
    assert abs(scores.std() * 8 - 1) < 0.05 and scores.softmax(-1).amax(-1).mean() < 0.22


@pytest.mark.parametrize("d_k", [2, 8, 32, 128, 512])
def test_scores_spread_by_the_root_of_d_k(d_k):
    draws = torch.randn(2, 20_000, d_k, generator=torch.Generator().manual_seed(d_k))
    assert abs((draws[0] * draws[1]).sum(-1).std() / d_k**0.5 - 1) < 0.03


def test_the_numbers_of_the_gradient():
    study = show.saturation_study(d_ks=(512,))
    assert round(float(study["gradient_unscaled"]), 2) == 0.05 and round(float(study["gradient_scaled"]), 2) == 0.39
    assert round(math.exp(-20) * 1e9) == 2  # "two billionths"
    assert round(math.log(6), 2) == 1.79  # the entropy of six equal weights


def test_predictions_and_quiz():
    assert tuple(nn.Linear(3, 2).weight.shape) == (2, 3)
    assert torch.softmax(torch.tensor([0.3, -torch.inf]), 0)[1] == 0
    assert 64**0.5 == 8 and round(768**0.5, 1) == 27.7


def test_linear_starts_centred_and_rand_does_not():
    weight = nn.Linear(64, 64).weight
    assert abs(weight.mean()) < 0.01 and weight.abs().max() <= 1 / 8 and torch.rand(64, 64).min() >= 0


def test_a_trained_head_looks_one_way():
    """Without a mask and without biases, as the lesson says; what it draws where the learner kept no sentence."""
    tokens, x = get_pre_attn(explore.my_sentence())
    cat, dog = tokens.index(" cat"), tokens.index(" dog")
    W_Q, W_K = (W.double() for W in get_split_l0_heads(1))
    queries, keys = x.double() @ W_Q, x.double() @ W_K
    weights = F.softmax(queries @ keys.T / math.sqrt(W_K.shape[1]), -1)
    assert abs(weights[cat, dog] - 0.46) < 0.005 and weights[dog, cat] < 0.005
    assert cat < dog  # so that GPT-2 would hide it
    assert torch.allclose(lesson.compute_attn_weights(*get_split_l0_heads(1), x).double(), weights, atol=1e-5)


def test_hidden_weight_goes_to_the_others():
    mask = torch.ones(6, 6, dtype=torch.bool)
    mask[[0, 2, 3, 4, 5], 1] = False
    weights = lesson.compute_attn_weights(W_Q, W_K, INPUTS, mask)
    assert torch.allclose(weights.sum(-1), torch.ones(6))
    holes = lesson.compute_attn_weights(W_Q, W_K, INPUTS) * mask
    assert (holes.sum(-1)[[0, 2, 3, 4, 5]] < 0.9).all()


def test_before_training_the_weights_are_nearly_equal():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        head, (x, _) = lesson.SingleHeadAttention(4), lesson.flagged_batch(64)
        _, weights = head(x, return_weights=True)
    assert 0.1 < weights.min() and weights.max() < 0.25  # six equal ones would be 0.17


def trained(seed, mask=None):
    """A head after the lesson's 300 steps, and its last loss."""
    torch.manual_seed(seed)
    head = lesson.SingleHeadAttention(4)
    optimizer = torch.optim.Adam(head.parameters(), lr=0.05)
    for _ in range(300):
        x, target = lesson.flagged_batch(64)
        loss = F.mse_loss(head(x, mask), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return head, loss.item()


def test_a_head_learns_to_find_the_flag_from_any_start():
    """The lesson's 300 steps are no lucky seed: five starts, fresh texts."""
    for seed in range(5):
        with torch.random.fork_rng():
            head, loss = trained(seed)
            x, _ = lesson.flagged_batch(50, seq=6)
            _, weights = head(x, return_weights=True)
            assert loss < 0.02
            assert abs(weights[(x[..., 3] == 1)[:, None].expand_as(weights)].mean() - 0.99) < 0.02


def test_everyone_looks_at_the_flag_on_one():
    """The lesson's own seed and words."""
    with torch.random.fork_rng():
        head, _ = trained(0)
        x = torch.cat((INPUTS, torch.zeros(6, 1)), dim=1)
        x[4, 3] = 1.0
        _, found = head(x, return_weights=True)
    assert (found[:, 4] > 0.9).all()


def test_no_token_finds_the_flagged_one_alone():
    """Five of six tokens can only guess the mean of three numbers: 5/6 × 3/4 × 1/12."""
    with torch.random.fork_rng():
        _, loss = trained(0, mask=torch.eye(6, dtype=torch.bool))
    assert loss > 0.04
