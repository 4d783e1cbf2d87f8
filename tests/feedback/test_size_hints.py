"""Questions about a number or an axis in the code: they need evidence that it explains the wrong size."""

import pytest
import torch
from torch import nn

from utils.exercises.exercise import Float, case, layer_parameters
from utils.feedback.diagnose import diagnose


@pytest.fixture
def mlp(declare_exercise):
    return declare_exercise(
        "Widened",
        initial_parameters=lambda d: layer_parameters(up=nn.Linear(d, 4 * d), down=nn.Linear(4 * d, d)),
        oracle=lambda p, x: (x @ p["up.weight"].T + p["up.bias"]).relu() @ p["down.weight"].T + p["down.bias"],
        cases=lambda rand: [case(rand(2, 4), init=(4,)), case(rand(2, 3, 5), init=(5,))],
    )


def make_mlp(forward):
    class MLP(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    MLP.forward = forward
    return MLP


def test_a_factor_is_no_size(mlp):
    def forward(self, x):
        _rows, _columns = x.shape
        return self.down(self.up(x).relu())

    message = diagnose(mlp, make_mlp(forward)).message
    assert "unpack" in message and "in your code" not in message


@pytest.mark.parametrize(
    "answer, number",
    [
        (lambda x: (x * 2).reshape(-1, 3), 3),
        (lambda x: x + torch.zeros(3) + x, 3),
        (lambda x: torch.stack([x[i] * 2 for i in range(6)]), 6),
        (lambda x: torch.cat([x, x * 4], dim=3)[:, :3], None),  # the number of an axis
        (lambda x: (x * 4 / 4 * 2).view(x.shape[0] * 4, 7), None),  # a factor
        (lambda x: [x[0], x[1], x[2], x[3], x[4], x[5]][3] @ x, None),  # indices
    ],
)
def test_a_number_is_asked_about_only_if_it_is_in_the_error(declare_exercise, answer, number):
    double = declare_exercise(cases=lambda rand: [case(rand(6, 3)), case(rand(4, 5))])
    message = diagnose(double, answer).message
    assert (f"is the {number} in your code" in message) if number else ("in your code" not in message), message


def test_a_fixed_shape_needs_the_number_in_the_code(declare_exercise):
    grid = declare_exercise("grid", oracle=lambda size: torch.ones(size, size), cases=[case(2), case(5)])
    assert "hard-coded" in diagnose(grid, lambda size: torch.ones(6, 6)).message
    assert "hard-coded" not in diagnose(grid, lambda size: torch.ones(2 * 3, 4 + 2)).message


# --- a fixed axis ---------------------------------------------------------------------------------------


@pytest.fixture
def summed(declare_exercise):
    return declare_exercise(
        "summed",
        oracle=lambda x: torch.ones(x.shape[1], x.shape[1]) @ x,
        cases=lambda rand: [case(rand(2, 4, 3)), case(rand(5, 6, 3))],
        returns=Float("batch seq d"),
    )


def test_a_length_of_the_wrong_axis_is_asked_about(summed, snapshot):
    added = diagnose(summed, lambda x: x + torch.ones(len(x), 1))
    assert added.reason == "raised" and added.message.partition("Error: ")[2] == snapshot(name="len in an error")
    shaped = diagnose(summed, lambda x: torch.ones(x.shape[0], x.shape[0], x.shape[2]))
    assert shaped.reason == "shape" and shaped.message == snapshot(name="shape[0] in a wrong shape")


def test_a_longer_axis_is_evidence_if_only_one_case_fails(declare_exercise):
    """A batch of one text runs, because a size of 1 fits every other size."""
    summed = declare_exercise(
        "summed",
        oracle=lambda x, y: x + y,
        cases=lambda rand: [case(rand(1, 4, 3), rand(3)), case(rand(5, 6, 3), rand(3))],
    )
    hint = "`len(x)` is the size of axis 0 of `x` (5 here): should it be the size of axis 1 (6 here)?"
    assert hint in diagnose(summed, lambda x, y: x + torch.ones(len(x), 1) + y).message
    same_by_chance = diagnose(summed, lambda x, y: x + torch.ones(5, 1) * len(x) + y)
    assert "the size of axis" not in same_by_chance.message


def test_one_case_is_no_evidence_for_a_wrong_axis(declare_exercise):
    for shapes in ([(2, 4, 3)], [(2, 4, 3), (2, 6, 3)], [(2, 4, 2), (5, 6, 5)]):
        summed = declare_exercise("summed", cases=lambda rand, shapes=shapes: [case(rand(*s)) for s in shapes])
        for answer in (lambda x: x + torch.ones(2, 1) * len(x), lambda x: x + torch.ones(7 * len(x), 1)):
            assert "the size of axis" not in diagnose(summed, answer).message.partition("Error: ")[2]


def test_an_axis_that_is_the_last_only_of_some_inputs(declare_exercise, snapshot):
    sums = declare_exercise(
        "sums", oracle=lambda x: x.sum(-1), cases=lambda rand: [case(rand(2, 3)), case(rand(4, 5)), case(rand(2, 3, 4))]
    )
    assert diagnose(sums, lambda x: x.sum(dim=1)).message == snapshot
    always_wrong = diagnose(sums, lambda x: x.sum(dim=1, keepdim=True)).message
    assert "last axis only" not in always_wrong
    assert "last axis only" not in diagnose(sums, lambda x: x.sum(-1) if x.dim() == 2 else x).message
