"""Lesson 02: right answers, written differently, and the claims of its prose."""

import math

import numpy as np
import torch
from torch.nn import functional as F

from utils.checks._attention import INPUTS
from utils.feedback.check import check
from utils.feedback.exercise import find

SCORES = INPUTS.mv(INPUTS[1])
WEIGHTS = SCORES.softmax(0)


def softmax_by_differences(x, dim):
    """Each number's share is 1 over a sum of powers: no maximum, and nothing that can overflow to nan."""
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
    """Plain numbers; nothing here is trained, so no gradient is asked for."""
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


# --- what the checks say ----------------------------------------------------------------------------


def named(**answers):
    """The misconception that a check of a value, or of a function, names."""
    ((name, answer),) = answers.items()
    return check(**answers).misconception if find(name).kind == "value" else check(answer).misconception


def test_a_variable_of_the_lesson_in_place_of_another_is_told():
    shares = SCORES / SCORES.sum()
    assert named(attn_weights_2=shares.softmax(0)) == "softmax-of-the-shares"
    assert named(context_vec_2=shares @ INPUTS) == "shares-for-weights"
    assert named(attn_scores_2=WEIGHTS) == "already-weights"


def test_a_softmax_down_the_columns_is_told_by_one_of_its_rows():
    table = torch.softmax(INPUTS @ INPUTS.T, dim=0)
    assert named(attn_weights_2=table[1]) == "down-the-columns"
    assert named(context_vec_2=table[1] @ INPUTS) == "columns-for-weights"
    assert check(attn_weights_2=table[:, 1])  # the table is symmetric, so a column of this one is right


def test_slips_in_a_value_are_told():
    scores, mixed, table = SCORES.clone(), WEIGHTS @ INPUTS, INPUTS @ INPUTS.T
    scores[1] = 0
    assert named(attn_scores_2=scores) == "not-with-itself"
    assert named(attn_scores_2=INPUTS @ INPUTS[0]) == "first-token"
    assert named(attn_weights_2=2**SCORES / (2**SCORES).sum()) == "other-base"
    assert named(attn_weights_2=SCORES[:, None].softmax(1)[:, 0]) == "axis-of-one"
    assert named(attn_weights_2=(SCORES / 3**0.5).softmax(0)) == "scaled-already"
    assert named(context_vec_2=mixed / 6) == "mean-for-sum"
    assert named(context_vec_2=mixed + INPUTS[1]) == "query-on-top"
    assert named(context_vec_2=sum(WEIGHTS[i] * INPUTS[i] for i in range(5))) == "last-left-out"
    assert named(context_vec_2=(WEIGHTS[:, None] * INPUTS).sum(1)) == "summed-over-the-width"
    assert named(attn_scores=table.triu()) == "half-a-table"
    assert named(attn_scores=table.clone().fill_diagonal_(0)) == "not-with-itself"
    assert named(attn_scores=table / 3) == "mean-for-sum"


def test_what_the_page_prints_is_right():
    assert check(context_vec_2=torch.tensor([0.4419, 0.6515, 0.5683]))
    assert check(attn_weights_2=torch.tensor([0.1385, 0.2379, 0.2333, 0.1240, 0.1082, 0.1581]))


def test_a_softmax_is_asked_for_finite_numbers_of_any_size_and_for_no_others():
    for seed in range(2):
        assert all(case.args[0].isfinite().all() for case in find("softmax").draw(seed))

    def softmax(x, dim):
        return torch.exp(x - torch.logsumexp(x, dim=dim, keepdim=True))

    assert check(softmax)

    def softmax(x, dim):
        powers = torch.exp(x - x.abs().amax(dim=dim, keepdim=True))
        return powers / powers.sum(dim=dim, keepdim=True)

    assert named(softmax=softmax) == "absolute-for-maximum"

    def softmax(x, axis):
        return torch.softmax(x, axis)

    assert "dim" in check(softmax).message  # the page calls it by that name


def test_a_sentence_of_one_word_keeps_its_axes():
    def simple_attention(inputs):
        context, weights = attention_by_einsum(inputs)
        return context.squeeze(), weights.squeeze()

    assert named(simple_attention=simple_attention) == "axes-of-one-lost"

    def simple_attention(inputs):
        return attention_by_einsum(inputs)[0], inputs @ inputs.T

    assert named(simple_attention=simple_attention) == "scores-beside"


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
