"""Tests of `failing_line`: which expression is None, and why the learner's own code raised an exception.

PYTEST_DONT_REWRITE: the answers contain `assert`, whose text pytest would change.
"""

import pytest
import torch
from torch import nn

from tests.feedback.answers import stable
from utils.feedback.diagnose import diagnose


def raised_message(exercise, answer):
    report = diagnose(exercise, answer)
    assert report.reason == "raised", str(report)
    return stable(report.message).partition("(`code`)")[2]


# --- None ---------------------------------------------------------------------------------------------


def without_gradient(x):
    p = nn.Parameter(x.clone())
    p.data -= 0.1 * p.grad
    return p


def argument_left_out(x, mask=None):
    return x * 2 + mask.float()


def result_of_append(x):
    rows = [].append(x)
    return rows[0]


def assigned_twice(x):
    rows = x.shape
    rows = None
    return rows[0] * 2


def after_a_call(x):
    scale = None
    return torch.relu(x) * scale


def two_candidates(x):
    first, second = None, [1]
    return first[0] + second[0] + x


def torch_function(x):
    scale = None
    return torch.exp(scale) + x


ON_NONE = [without_gradient, argument_left_out, result_of_append, assigned_twice, after_a_call, two_candidates]


@pytest.mark.parametrize("answer", [*ON_NONE, torch_function])
def test_only_what_the_line_shows_is_called_none(double, answer, snapshot):
    message = raised_message(double, answer)
    assert "register_buffer" not in message and message == snapshot


def test_a_buffer_that_is_assigned(affine, snapshot):
    class Affine(nn.Module):
        def __init__(self, d_in, d_out):
            super().__init__()
            self.layer = nn.Linear(d_in, d_out)
            self.scale = None

        def forward(self, x):
            return self.scale * x

    assert raised_message(affine, Affine) == snapshot


# --- raise and assert ---------------------------------------------------------------------------------


def validation(x):
    assert len(x) == 2, "two rows only"
    return x * 3


def validation_of_a_size(x):
    rows = x.shape[0]
    if rows > 2:
        raise ValueError("two rows only")
    return x * 3


def intermediate_assert(x):
    doubled = x * 3
    assert doubled.sum() == 2 * x.sum()
    return doubled


def intermediate_raise(x):
    doubled = x[:1] * 2
    if doubled.shape != x.shape:
        raise ValueError("shapes differ.")
    return doubled


def raise_in_except(x):
    try:
        return x @ x
    except RuntimeError as error:
        raise ValueError("no product") from error


def bare_raise(x):
    try:
        return x @ x
    except RuntimeError:
        raise


def without_condition(x):
    raise ValueError("{not} finished")


def error_inside_assert(x):
    assert x.dubble
    return x


def error_inside_raise(x):
    if len(x) > 1:
        raise ValueError(x.dubble)
    return x


def one_line(x):
    if x: raise ValueError("empty")  # fmt: skip # noqa: E701
    return x


OWN = [
    validation,
    validation_of_a_size,
    intermediate_assert,
    intermediate_raise,
    raise_in_except,
    bare_raise,
    without_condition,
]


@pytest.mark.parametrize("answer", [*OWN, error_inside_assert, error_inside_raise, one_line])
def test_the_learners_own_exception(double, answer, snapshot):
    message = raised_message(double, answer)
    assert ("too strict" in message) == answer.__name__.startswith("validation") and message == snapshot


def test_an_assertion_of_a_library_is_not_the_learners(declare_exercise):
    def oracle(x):
        raise ValueError("invalid")

    def answer(x):
        return nn.MultiheadAttention(3, 2)(x)

    message = diagnose(declare_exercise(oracle=oracle), answer).message
    assert "AssertionError" in message and "python -O" not in message
