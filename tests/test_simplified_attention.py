"""Lesson 02: right answers, written differently, and the claims of its prose."""

import math

import numpy as np
import torch
from torch.nn import functional as F

INPUTS = torch.tensor(
    [[0.43, 0.15, 0.89], [0.55, 0.87, 0.66], [0.57, 0.85, 0.64], [0.22, 0.58, 0.33], [0.77, 0.25, 0.10], [0.05, 0.80, 0.55]]
)
SCORES = INPUTS.mv(INPUTS[1])
WEIGHTS = SCORES.softmax(0)


def softmax_by_logsumexp(x, dim):
    return torch.exp(x - torch.logsumexp(x, dim, keepdim=True))


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


def attention_transposed(inputs):
    w = torch.softmax(inputs.mm(inputs.transpose(0, 1)), dim=0).T  # the scores are symmetric
    return w.matmul(inputs), w


RIGHT = {
    "attn_scores_2": [SCORES, torch.einsum("ij,j->i", INPUTS, INPUTS[1]), torch.stack([x.dot(INPUTS[1]) for x in INPUTS])],
    "attn_weights_2": [WEIGHTS, SCORES.exp() / SCORES.exp().sum(), F.softmax(SCORES, dim=-1)],
    "context_vec_2": [WEIGHTS @ INPUTS, (WEIGHTS[:, None] * INPUTS).sum(0), sum(w * x for w, x in zip(WEIGHTS, INPUTS))],
    "attn_scores": [INPUTS @ INPUTS.T, torch.einsum("id,jd->ij", INPUTS, INPUTS), torch.stack([INPUTS @ x for x in INPUTS])],
    "softmax": [softmax_by_logsumexp, softmax_by_max, softmax_by_log],
    "simple_attention": [attention_by_einsum, attention_by_loops, attention_transposed],
}


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


def test_claims_about_all_six():
    weights = (INPUTS @ INPUTS.T).softmax(-1)
    assert weights.argmax(-1).tolist() == [0, 1, 1, 1, 2, 1]
    assert all(set(row.topk(2).indices.tolist()) == {1, 2} for row in weights[1:])
    order = [5, 3, 1, 0, 2, 4]
    again = (INPUTS[order] @ INPUTS[order].T).softmax(-1) @ INPUTS[order]
    assert torch.allclose(again, (weights @ INPUTS)[order], atol=1e-6)


def test_first_quiz():
    grown = SCORES.clone()
    grown[0] += 1
    ratio = grown.softmax(0)[1:] / WEIGHTS[1:]
    assert (ratio < 1).all() and torch.allclose(ratio, ratio[0].expand(5))
