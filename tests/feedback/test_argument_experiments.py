"""Changed arguments, and calls of `reshape` that should exchange axes, without a matching misconception."""

import pytest
import torch

from tests.feedback.test_departure import answer
from utils.exercises.exercise import case
from utils.feedback.diagnose import diagnose
from utils.feedback.wrong_step.argument_experiments import exchanged_axes


@pytest.fixture
def mix_by_position(declare_exercise):
    """Attention of each text with itself. The position is the first axis of `x`, [seq, batch, d]."""

    def milestones(x):
        texts = x.transpose(0, 1)
        scores = torch.einsum("bid,bjd->bij", texts, texts)
        return {"the scores": scores, "the weights": scores.softmax(-1)}

    def oracle(x):
        return torch.stack([(x[:, b] @ x[:, b].T).softmax(-1) @ x[:, b] for b in range(x.shape[1])], dim=1)

    return declare_exercise(
        "mixed",
        oracle=oracle,
        milestones=milestones,
        cases=lambda rand: [case(rand(3, 2, 4)), case(rand(4, 3, 5))],
    )


@pytest.fixture
def mix_in_heads(declare_exercise):
    """Attention of two heads: each head uses half of the entries of each vector, [batch, seq, d]."""

    def milestones(x):
        heads = torch.stack(x.chunk(2, dim=-1), dim=1)
        scores = torch.einsum("bnid,bnjd->bnij", heads, heads)
        return {"the scores": scores, "the weights": scores.softmax(-1)}

    def oracle(x):
        return torch.cat([(h @ h.mT).softmax(-1) @ h for h in x.chunk(2, dim=-1)], dim=-1)

    return declare_exercise(
        "mixed",
        oracle=oracle,
        milestones=milestones,
        cases=lambda rand: [case(rand(2, 3, 8)), case(rand(3, 5, 4))],
        unswept={"sizes": "the last axis has an even size", "shapes": "the last axis has an even size"},
    )


TURN = (
    "texts = x.transpose(0, 1)\n"
    "weights = torch.softmax(texts @ texts.mT, dim=-1)\n"
    "return (weights @ texts).transpose(0, 1)"
)
SPLIT = (
    "b, s, d = x.shape\n"
    "h = x.reshape(b, s, 2, d // 2).transpose(1, 2)\n"
    "weights = torch.softmax(h @ h.mT, dim=-1)\n"
    "return (weights @ h).transpose(1, 2).reshape(b, s, d)"
)


@pytest.mark.parametrize(
    "exercise, code, changes, lines",
    [
        ("mix_by_position", TURN, {"x.transpose(0, 1)": "x.reshape(x.shape[1], x.shape[0], -1)"}, [2]),
        ("mix_by_position", TURN, {"(weights @ texts).transpose(0, 1)": "(weights @ texts).view(x.shape)"}, [4]),
        (
            "mix_by_position",
            TURN,
            {"x.transpose(0, 1)": "x.reshape(x.shape[1], x.shape[0], -1)", ".transpose(0, 1)": ".view(x.shape)"},
            [2, 4],
        ),
        ("mix_in_heads", SPLIT, {"x.reshape(b, s, 2, d // 2).transpose(1, 2)": "x.view(b, 2, s, d // 2)"}, [3]),
        ("mix_in_heads", SPLIT, {".transpose(1, 2).reshape(b, s, d)": ".reshape(b, s, d)"}, [5]),
    ],
)
def test_a_reshape_instead_of_an_exchange_is_named(request, exercise, code, changes, lines):
    exercise = request.getfixturevalue(exercise)
    assert diagnose(exercise, answer(code))
    for old, new in changes.items():
        code = code.replace(old, new)
    report = diagnose(exercise, answer(code))
    assert "it cannot exchange axes" in report.message, str(report)
    assert [f"line {n} (" in report.message for n in range(2, 6)] == [n in lines for n in range(2, 6)]


@pytest.mark.parametrize(
    "step",
    [
        "x = x / x.norm(dim=-1, keepdim=True)",
        "x = torch.nn.functional.layer_norm(x, x.shape[-1:])",
        "x = (x - x.mean(-1, keepdim=True)) / x.std()",
    ],
)
def test_a_step_that_changes_an_argument_is_named(mix_in_heads, step):
    """A milestone in place of a part of the step can make the result right by coincidence."""
    report = diagnose(mix_in_heads, answer(f"{step}\n{SPLIT}"))
    assert f"Without line 2 (`{step}`), this result would be right." in report.message, str(report)
    assert [line.line for line in report.trace if line.state == "wrong"] == [2]


def test_a_changed_argument_is_not_blamed_if_another_mistake_remains(mix_in_heads):
    report = diagnose(mix_in_heads, answer("x = x / 2\n" + SPLIT.replace("dim=-1", "dim=-2")))
    assert not report and "Without" not in report.message


def test_a_reshape_is_not_blamed_for_another_mistake(mix_in_heads):
    report = diagnose(mix_in_heads, answer(SPLIT.replace("h @ h.mT", "h @ h.mT / 2")))
    assert not report and "exchange axes" not in report.message


def test_a_reshape_is_not_blamed_if_another_mistake_remains(mix_in_heads):
    code = SPLIT.replace("x.reshape(b, s, 2, d // 2).transpose(1, 2)", "x.view(b, 2, s, d // 2)")
    report = diagnose(mix_in_heads, answer(code.replace("dim=-1", "dim=-2")))
    assert not report and "exchange axes" not in report.message


def test_exchanged_axes_are_all_orders_of_a_shape():
    x = torch.arange(24.0).view(2, 3, 4)
    assert [torch.equal(y, x.transpose(0, 1)) for y in exchanged_axes(x, (3, 2, 4))] == [True]
    heads = exchanged_axes(x, (2, 2, 3, 2))
    assert any(torch.equal(y, x.view(2, 3, 2, 2).transpose(1, 2)) for y in heads)
    assert [torch.equal(y, x.transpose(0, 1).reshape(3, 8)) for y in exchanged_axes(x, (3, 8))].count(True) == 1
    assert exchanged_axes(x, (2, 3, 4)) == exchanged_axes(x, (24,)) == []
