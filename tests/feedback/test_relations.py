"""The relations between wrong and expected results, each with an answer for which it holds."""

import pytest
import torch

from tests.feedback.answers import failure_message, stable
from utils.feedback.diagnose import diagnose
from utils.feedback.exercise import Float, case


@pytest.fixture
def product(declare_exercise):
    cases = lambda rand: [case(rand(4, 4), rand(4, 4)), case(rand(6, 6), rand(6, 6))]
    return declare_exercise("product", oracle=lambda x, y: x @ y, cases=cases, returns=Float("seq d_out"))


def only(region):
    """Make an answer that is wrong only in a region, which is given as a function of a matrix of ones."""

    def wrong(x, y):
        right, where = x @ y, region(torch.ones(x.shape)).bool()
        return torch.where(where, right + torch.rand(right.shape) + 1, right)

    return wrong


WRONG = {
    "transpose": (lambda x, y: (x @ y).T, "transpose"),
    "symmetric": (lambda x, y: (x @ y + (x @ y).T) / 2, "symmetric"),
    "zero": (lambda x, y: x @ y * 0, "constant"),
    "wrong sign": (lambda x, y: -(x @ y), "factor"),
    "almost right": (lambda x, y: x @ y * 1.0002, "factor"),
    "two decimals": (lambda x, y: (x @ y).round(decimals=2), "rounded"),
    "no decimals": (lambda x, y: (x @ y).round(), "rounded"),
    "divided by the root of a size": (lambda x, y: x @ y / len(x) ** 0.5, "factor"),
    "divided by a size": (lambda x, y: x @ y / len(x), "factor"),
    "times 0.3": (lambda x, y: x @ y * 0.3, "factor"),
    "plus 2": (lambda x, y: x @ y + 2, "offset"),
    "an argument": (lambda x, y: x + 0 * y, "argument"),
    "plus an argument": (lambda x, y: x @ y + x, "argument"),
    "without an argument": (lambda x, y: x @ y - y, "argument"),
    "times an argument": (lambda x, y: x @ y * x, "argument"),
    "softmax of rows": (lambda x, y: (x @ y).softmax(-1), "function"),
    "softmax of columns": (lambda x, y: (x @ y).softmax(-2), "function"),
    "exp": (lambda x, y: (x @ y).exp(), "function"),
    "the diagonal": (only(lambda o: torch.eye(len(o))), "places"),
    "above the diagonal": (lambda x, y: (x @ y).tril(), "places"),
    "the diagonal and below": (lambda x, y: (x @ y).triu(1), "places"),
    "the first column": (only(lambda o: o * (torch.arange(len(o)) == 0)), "places"),
    "after the first row": (only(lambda o: o * (torch.arange(len(o)) > 0)[:, None]), "places"),
    "shifted rows": (lambda x, y: (x @ y).roll(1, 0), "moved"),
    "reversed columns": (lambda x, y: (x @ y).flip(1), "moved"),
    "one number": (lambda x, y: torch.full_like(x, 7.0), "constant"),
    "equal rows": (lambda x, y: (x @ y)[:1].repeat(len(x), 1) + 1, "constant"),
    "a factor by row": (lambda x, y: x @ y / (x @ y).norm(dim=1, keepdim=True), "factor_by_row"),
    "a factor by column": (lambda x, y: x @ y / (x @ y).norm(dim=0), "factor_by_column"),
    "an offset by row": (lambda x, y: x @ y - (x @ y).mean(1, keepdim=True), "offset_by_row"),
    "rearranged": (lambda x, y: (x @ y).reshape(2, -1).T.reshape(x.shape), "rearranged"),
    "none": (lambda x, y: x @ y + x**2, None),
}


@pytest.mark.parametrize("wrong, relation", WRONG.values(), ids=WRONG)
def test_a_relation_between_numbers(product, wrong, relation, snapshot):
    report = diagnose(product, wrong)
    assert (report.reason, report.relation) == ("difference", relation), str(report)
    assert stable(report.message) == snapshot


def test_a_relation_must_hold_in_every_case(product):
    assert diagnose(product, lambda x, y: (x @ y) * 2 if len(x) == 4 else x * y).relation is None


def test_a_relation_between_masks(declare_exercise, snapshot):
    mask = declare_exercise("grid", oracle=lambda size: torch.ones(size, size).tril().bool(), cases=[case(3), case(5)])
    inverted = diagnose(mask, lambda size: ~torch.ones(size, size).tril().bool())
    assert inverted.relation == "opposite" and inverted.message == snapshot(name="inverted")
    without_diagonal = diagnose(mask, lambda size: torch.ones(size, size).tril(-1).bool())
    assert without_diagonal.relation == "places" and without_diagonal.message == snapshot(name="without the diagonal")


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
def test_a_relation_between_lists(declare_exercise, wrong, name, snapshot):
    counted = declare_exercise("counted", oracle=lambda n: list(range(n)), cases=[case(4), case(6)])
    report = diagnose(counted, wrong)
    assert (report.reason, report.relation) == ("difference", name), str(report)
    assert report.message == snapshot


def test_the_first_wrong_item_of_a_list_is_named(declare_exercise, snapshot):
    counted = declare_exercise("counted", oracle=lambda n: list(range(n)), cases=[case(6), case(4)])
    assert failure_message(counted, lambda n: [0, 1, 2, *"abc"][:n]) == snapshot
