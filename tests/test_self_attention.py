"""Lesson 03: right answers, written differently, and the claims of its prose."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from solutions import self_attention as lesson
from utils import show

INPUTS = torch.tensor(
    [[0.43, 0.15, 0.89], [0.55, 0.87, 0.66], [0.57, 0.85, 0.64], [0.22, 0.58, 0.33], [0.77, 0.25, 0.10], [0.05, 0.80, 0.55]]
)
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


def weights_renormalised(W_Q, W_K, x, mask=None):
    w = torch.softmax((x @ W_Q) @ (x @ W_K).T / W_Q.shape[-1] ** 0.5, dim=-1)
    if mask is not None:
        w = w * mask
        w = w / w.sum(-1, keepdim=True)
    return w


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
        scores = scores if mask is None else scores.masked_fill(mask == 0, -1e9)
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
    "compute_attn_weights": [weights_by_torch, weights_by_where, weights_renormalised],
    "SingleHeadAttention": [HeadByTorch, HeadByAddition, HeadByBmm],
}


def test_scores_are_no_longer_mutual():
    assert abs(Q[1] @ K[2] - Q[2] @ K[1]) > 1e-3


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


def test_a_head_learns_to_find_the_flag_from_any_start():
    """The lesson's 300 steps are no lucky seed: five starts, fresh texts of another length."""
    for seed in range(5):
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            head = lesson.SingleHeadAttention(4)
            optimizer = torch.optim.Adam(head.parameters(), lr=0.05)
            for _ in range(300):
                x, target = lesson.flagged_batch(64)
                loss = F.mse_loss(head(x), target)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            x, _ = lesson.flagged_batch(50, seq=6)
            _, weights = head(x, return_weights=True)
            assert weights[(x[..., 3] == 1)[:, None].expand_as(weights)].mean() > 0.95
