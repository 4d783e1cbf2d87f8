"""Parts of the inputs that should influence a result but do not, or the other way round."""

import pytest
import torch

from utils.exercises.exercise import case
from utils.feedback.diagnose import diagnose


@pytest.fixture
def squares(declare_exercise):
    """The sum of the squares of all rows of x but the first."""
    return declare_exercise(
        "squares",
        oracle=lambda x: (x[1:] ** 2).sum(),
        cases=lambda rand: [case(rand(4, 3)), case(rand(5, 2))],
    )


@pytest.mark.parametrize(
    "wrong, sentence",
    [
        (lambda x: (x[1:-1] ** 2).sum(), "Your result does not depend on `x[4]`, but it should."),
        (lambda x: (x**2).sum(), "Your result depends on `x[0]`, but it should not."),
        (lambda x: (x[-1:] ** 2).sum(), "does not depend on some rows of `x`, such as `x[1]`, but it should."),
        (lambda x: (x[1:] ** 3).sum(), ""),
    ],
)
def test_a_wrong_influence_is_named(squares, wrong, sentence):
    report = diagnose(squares, wrong)
    assert sentence in report.message and ("depend" in report.message) == bool(sentence), report.message
    assert report.reason == "difference" and (report.relation == "influence" or not sentence)


def test_all_texts_are_one_part(declare_exercise):
    summed = declare_exercise("summed", oracle=lambda x: (x**2).sum(), cases=lambda rand: [case(rand(2, 4, 3))])
    assert "`x[:, 0]`" in diagnose(summed, lambda x: (x[:, 1:] ** 2).sum()).message


def test_a_missing_gradient_alone_proves_nothing(squares):
    """The result depends on every row, but no gradient reaches the last one."""
    detached = lambda x: (x[1:-1] ** 2).sum() + (x[-1].detach() ** 2).sum() * 2
    assert "depend on" not in diagnose(squares, detached).message


def test_the_case_is_named_if_it_is_not_the_reported_one(declare_exercise):
    """The first case has a wrong number; the second one also lacks a row."""
    squares = declare_exercise(
        "squares", oracle=lambda x: (x**2).sum(), cases=lambda rand: [case(rand(2, 3)), case(rand(5, 4))]
    )
    message = diagnose(squares, lambda x: (x[:4] ** 2).sum() + (x[0, 0] - 1) ** 2).message
    assert "`x[4]`, but it should. This is so for squares(x) with x of shape [5, 4]." in message, message


def test_a_value_has_no_inputs(declare_exercise):
    value = declare_exercise("value", oracle=torch.tensor([1.0, 2.0]), cases=None)
    assert diagnose(value, torch.tensor([1.0, 3.0])).relation is None
