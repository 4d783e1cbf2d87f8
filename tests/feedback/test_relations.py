"""The relations between wrong and expected results, each with an answer for which it holds."""

import pytest
import torch

from tests.feedback.answers import failure_message, stable
from utils.exercises.exercise import Float, case
from utils.feedback.diagnose import diagnose


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
    "rearranged": (lambda x, y: (x @ y).reshape(2, -1).T.reshape(x.shape), "rearranged"),
    "none": (lambda x, y: x @ y + x**2, None),
}


@pytest.mark.parametrize("wrong, relation", WRONG.values(), ids=WRONG)
def test_a_relation_between_numbers(product, wrong, relation, snapshot):
    report = diagnose(product, wrong)
    assert (report.reason, report.relation) == ("difference", relation), str(report)
    assert stable(report.message) == snapshot


CAUSAL = lambda x: x.masked_fill(~torch.ones(x.shape).tril().bool(), -torch.inf).softmax(-1)


@pytest.mark.parametrize(
    "wrong, region",
    [
        (lambda x: CAUSAL(3 * x), ""),  # the first row is 1, 0, 0 and the rest above the diagonal 0 in every answer
        (lambda x: CAUSAL(x) * torch.ones(x.shape).tril(-1), "Only the diagonal is 0"),
        (lambda x: CAUSAL(x) + torch.rand(x.shape).triu(1), "Only the part above the diagonal differs"),
        (lambda x: torch.cat([CAUSAL(x)[:-1], x[-1:]]), "Only the last row differs"),
    ],
)
def test_a_region_says_nothing_if_the_rest_could_not_differ(declare_exercise, wrong, region):
    weights = declare_exercise("weights", oracle=CAUSAL, cases=lambda rand: [case(rand(4, 4)), case(rand(5, 5))])
    message = diagnose(weights, wrong).message
    assert region in message and ("Only" in message) == bool(region), message


def test_only_what_is_observed_is_said_about_numbers(declare_exercise):
    """Each answer fits a relation by accident: the sentence about its cause would be untrue."""
    square = lambda rand: [case(rand(4, 4)), case(rand(6, 6))]
    scores = declare_exercise("scores", oracle=lambda x: x @ x.T, cases=square)
    message = diagnose(scores, lambda x: 2 * x @ x.T).message
    assert "2 times" in message and "transpose" not in message

    same = declare_exercise("same", oracle=lambda x: (x[:1] * 2).expand(3, 4, 4), cases=square)
    assert "the same along" not in diagnose(same, lambda x: (x[:1] ** 2 + x[:1]).expand(3, 4, 4)).message

    swapped = declare_exercise("swapped", oracle=lambda x: x * 2, cases=lambda rand: [case(rand(2, 3)) for _ in "ab"])
    assert "The two rows are swapped." in diagnose(swapped, lambda x: x.flip(0) * 2).message

    zeros_and_ones = declare_exercise("grid", oracle=lambda x: (x > 0) * 1.0, cases=lambda rand: [case(rand(4, 4))])
    assert (
        "All numbers are correct"
        not in diagnose(zeros_and_ones, lambda x: ((x > 0) * 1.0).flatten().sort()[0].view(4, 4)).message
    )


def test_sizes_and_amounts_are_those_of_the_reported_case(declare_exercise):
    """The larger case comes first, and the message shows the smaller case."""
    cases = lambda rand: [case(rand(6, 6)), case(rand(4, 4))]
    double = declare_exercise(cases=cases)
    assert "size of axis 0 of `x` is 4 here" in diagnose(double, lambda x: x * 2 * len(x)).message
    assert "+4 in this case" in diagnose(double, lambda x: x * 2 + len(x)).message
    counted = declare_exercise("counted", oracle=lambda x: list(range(len(x))), cases=cases)
    assert "The first 3 of 4 items are right" in diagnose(counted, lambda x: [*range(len(x) - 1), 9]).message
    one = diagnose(counted, lambda x: [0, *[9] * (len(x) - 1)]).message
    assert "Only the first of 4 items is right" in one, one


def test_half_is_not_named_after_one_of_two_sizes(declare_exercise):
    double = declare_exercise(cases=lambda rand: [case(rand(2, 4)) for _ in "ab"])
    assert "size of axis" not in diagnose(double, lambda x: x).message


def test_a_relation_of_different_parts_is_not_reported(pair):
    answer = lambda x: (x * 3, x.sum(-1)) if len(x) == 2 else (x * 2, x.sum(-1) * 1.5)
    assert diagnose(pair, answer).relation is None


def test_numbers_that_differ_look_different(declare_exercise):
    message = diagnose(declare_exercise(cases=[case(torch.ones(2))]), lambda x: x * 2.00004).message
    assert "is 2.00004, expected 2." in message.replace("2.0000401", "2.00004")


def test_numbers_that_are_missing_are_no_multiples(declare_exercise):
    """Every large number is 1.02 times the expected one; the small numbers are 0 instead."""
    shares = declare_exercise(
        "shares", oracle=lambda x: x, cases=lambda rand: [case(torch.tensor([0.5, 0.4, 2e-3]))], atol=1e-3
    )
    report = diagnose(shares, lambda x: x * 1.02 * (x > 0.01))
    assert report.reason == "difference" and report.relation != "factor", str(report)


def test_a_function_without_effect_is_no_relation(declare_exercise):
    """The missing number is small, so the results are nearly the absolute values of the expected ones."""
    numbers = declare_exercise(
        "numbers", oracle=lambda x: x, cases=lambda rand: [case(torch.tensor([0.31234567, 0.42345678, 5e-5]))]
    )
    report = diagnose(numbers, lambda x: x * (x > 0.01))
    assert report.reason == "difference" and report.relation is None, str(report)


def test_a_relation_must_hold_in_every_case(product):
    assert diagnose(product, lambda x, y: (x @ y) * 2 if len(x) == 4 else x * y).relation is None


def test_a_relation_between_masks(declare_exercise, snapshot):
    mask = declare_exercise("grid", oracle=lambda size: torch.ones(size, size).tril().bool(), cases=[case(3), case(5)])
    inverted = diagnose(mask, lambda size: ~torch.ones(size, size).tril().bool())
    assert inverted.relation == "opposite" and inverted.message == snapshot(name="inverted")
    without_diagonal = diagnose(mask, lambda size: torch.ones(size, size).tril(-1).bool())
    assert without_diagonal.relation == "places" and without_diagonal.message == snapshot(name="without the diagonal")


def test_a_single_number_has_no_relation(declare_exercise):
    grid = declare_exercise("grid", oracle=lambda size: torch.ones(size, size).tril().bool(), cases=[case(1), case(5)])
    report = diagnose(grid, lambda size: torch.ones(size, size).tril().bool() & (size > 1))
    assert report.reason == "difference" and report.relation is None, report.message
    assert "right when `size` is" in report.message


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
        (lambda n: [*range(n - 1), 9][: n - (n == 4)], "prefix"),
        (lambda n: [*range(n - (n > 4)), 9], "prefix"),
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


def test_numbers_that_are_off_by_different_amounts_have_no_offset(product):
    """Each amount is close to the mean amount by the check's tolerance, but the amounts differ by a third of it."""
    wrong = lambda x, y: x @ y + 3e-4 + 5e-5 * (-1.0) ** torch.arange(len(x))
    assert diagnose(product, wrong).relation is None
    assert diagnose(product, lambda x, y: x @ y + 3e-4).relation == "offset"
