"""Plain relations between wrong numbers and the expected ones, each with an answer that stands in it."""

import pytest
import torch

from tests.feedback.answers import failure_message
from utils.feedback.diagnose import diagnose
from utils.feedback.exercise import Float, case


@pytest.fixture
def product(declare_exercise):
    cases = lambda rand: [case(rand(4, 4), rand(4, 4)), case(rand(6, 6), rand(6, 6))]
    return declare_exercise("product", oracle=lambda x, y: x @ y, cases=cases, returns=Float("seq d_out"))


def only(region):
    """The product, with something else where the region of ones is."""

    def wrong(x, y):
        right, where = x @ y, region(torch.ones(x.shape)).bool()
        return torch.where(where, right + torch.rand(right.shape) + 1, right)

    return wrong


@pytest.mark.parametrize(
    "wrong, name, words",
    [
        (lambda x, y: (x @ y).T, "transpose", "It is the transpose"),
        (lambda x, y: (x @ y + (x @ y).T) / 2, "symmetric", "together with its transpose"),
        (lambda x, y: x @ y * 0, "constant", "Every number in it is 0."),
        (lambda x, y: -(x @ y), "factor", "All numbers have the wrong sign."),
        (lambda x, y: (x @ y) * 1.0002, "factor", "something small is added on the way, or rounded"),
        (lambda x, y: (x @ y).round(decimals=2), "rounded", "It is the expected result, rounded to 2 decimals."),
        (lambda x, y: (x @ y).round(), "rounded", "rounded to no decimals."),
        (lambda x, y: (x @ y) / len(x) ** 0.5, "factor", "one factor: 1/√4, and `seq` is 4 here."),
        (lambda x, y: (x @ y) / len(x), "factor", "one factor: 1/4, and `seq` is 4 here."),
        (lambda x, y: (x @ y) * 0.3, "factor", "Every number is 0.3 times the expected one."),
        (lambda x, y: (x @ y) + 2, "offset", "by the same amount, +2"),
        (lambda x, y: x + 0 * y, "argument", "It is `x`, as it was given."),
        (lambda x, y: x @ y + x, "argument", "the expected result with `x` added to it"),
        (lambda x, y: x @ y - y, "argument", "the expected result without `y`"),
        (lambda x, y: x @ y * x, "argument", "the expected result times `x`"),
        (lambda x, y: (x @ y).softmax(-1), "function", "the softmax along the last axis of what is expected: a step"),
        (lambda x, y: (x @ y).softmax(-2), "function", "the softmax along the last but one axis"),
        (lambda x, y: (x @ y).exp(), "function", "It is exp of what is expected"),
        (only(lambda o: torch.eye(len(o))), "places", "Only the diagonal differs; all else is right."),
        (lambda x, y: (x @ y).tril(), "places", "Only what lies above the diagonal is 0 where it should not be"),
        (lambda x, y: (x @ y).triu(1), "places", "Only the diagonal and what lies below it is 0"),
        (only(lambda o: o * (torch.arange(len(o)) == 0)), "places", "Only the first column differs"),
        (only(lambda o: o * (torch.arange(len(o)) > 0)[:, None]), "places", "Only what comes after the first row"),
        (
            lambda x, y: (x @ y).roll(1, 0),
            "moved",
            "The rows are right and stand one place after their own along `seq`",
        ),
        (lambda x, y: (x @ y).flip(1), "moved", "The columns are right and stand in reverse order along `d_out`."),
        (lambda x, y: torch.full_like(x, 7.0), "constant", "Every number in it is 7."),
        (lambda x, y: (x @ y)[:1].repeat(len(x), 1) + 1, "constant", "In it all are the same along `seq`."),
        (lambda x, y: x @ y / (x @ y).norm(dim=1, keepdim=True), "factor_by_row", "Each row is the expected one times"),
        (lambda x, y: x @ y / (x @ y).norm(dim=0), "factor_by_column", "Each column is the expected one times"),
        (lambda x, y: x @ y - (x @ y).mean(1, keepdim=True), "offset_by_row", "Each row is the expected one plus"),
        (lambda x, y: (x @ y).reshape(2, -1).T.reshape(x.shape), "rearranged", "All the right numbers are there"),
        (lambda x, y: x @ y + x**2, None, ""),
    ],
)
def test_numbers(product, wrong, name, words):
    report = diagnose(product, wrong)
    assert (report.reason, report.relation) == ("difference", name) and words in report.message, str(report)


def test_what_holds_in_one_case_only_is_not_said(product):
    assert diagnose(product, lambda x, y: (x @ y) * 2 if len(x) == 4 else x * y).relation is None


def test_a_mask_the_other_way_round(declare_exercise):
    mask = declare_exercise("grid", oracle=lambda size: torch.ones(size, size).tril().bool(), cases=[case(3), case(5)])
    assert "Every True is a False" in failure_message(mask, lambda size: ~torch.ones(size, size).tril().bool())
    assert "Only the diagonal" in failure_message(mask, lambda size: torch.ones(size, size).tril(-1).bool())


@pytest.mark.parametrize(
    "wrong, name",
    [
        (lambda n: [], "empty"),
        (lambda n: list(range(n))[::-1], "reversed"),
        (lambda n: list(range(n - 1)), "beginning"),
        (lambda n: list(range(1, n)), "end"),
        (lambda n: list(range(1, n - 1)), "within"),
        (lambda n: list(range(n + 1)), "too_long"),
        (lambda n: [7, *range(n)], "late"),
        (lambda n: [*range(2, n), 0, 1], "reordered"),
        (lambda n: [*range(n - 1), 9], "prefix"),
        (lambda n: [9] * n, None),
    ],
)
def test_lists(declare_exercise, wrong, name):
    counted = declare_exercise("counted", oracle=lambda n: list(range(n)), cases=[case(4), case(6)])
    report = diagnose(counted, wrong)
    assert (report.reason, report.relation) == ("difference", name), str(report)


def test_the_place_in_a_list_is_named(declare_exercise):
    counted = declare_exercise("counted", oracle=lambda n: list(range(n)), cases=[case(6), case(4)])
    assert "The first 3 of 6 items are right, and the next is not." in failure_message(
        counted, lambda n: [0, 1, 2, *"abc"][:n]
    )
