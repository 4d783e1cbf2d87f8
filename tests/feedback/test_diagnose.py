"""Misconceptions and plain differences: what is said when no question fires."""

import pytest
import torch

from tests.feedback.answers import failure_message, with_name
from utils.feedback.check import check
from utils.feedback.diagnose import diagnose
from utils.feedback.exercise import case

# --- misconceptions ----------------------------------------------------------------------------------


def test_a_misconception_speaks_with_its_table(double):
    report = check(with_name("double", lambda x: x * x))
    assert (report.misconception, report.message) == ("squares", "You squared it. Doubling adds it to itself.")
    assert len(report.table.yours) == 4 and len(report.table.yours[0]) == 5
    assert len(report.table.wrong) == 20


def test_a_misconception_is_known_through_a_wrong_type(double):
    """Two mistakes at once: the deeper one is named."""
    assert diagnose(double, lambda x: (x * x).double()).misconception == "squares"


def test_a_misconception_must_agree_on_every_case(double):
    assert diagnose(double, lambda x: x * x if len(x) == 2 else x * 3).misconception is None


def test_a_misconception_that_raises_somewhere(declare_exercise):
    """Right on square input, an exception elsewhere: recognised by both."""
    product = declare_exercise(
        "product",
        oracle=lambda x: x @ x.T,
        cases=lambda rand: [case(rand(3, 3)), case(rand(2, 4))],
        misconceptions={"no-transpose": (lambda x: x @ x, "Turn one of them.")},
    )
    assert diagnose(product, lambda x: torch.matmul(x, x)).misconception == "no-transpose"


def test_a_value_is_recognised(declare_exercise):
    value = declare_exercise(
        "total",
        oracle=torch.tensor(6.0),
        cases=(case(),),
        misconceptions={"mean": (lambda: torch.tensor(2.0), "The mean.")},
    )
    assert check(total=torch.tensor(2.0)).misconception == "mean" and check(total=torch.tensor(6.0))
    assert "it is 5.0000, expected 6.0000" in failure_message(value, torch.tensor(5.0))


# --- the plain difference ----------------------------------------------------------------------------


def test_the_smallest_failing_case_and_its_first_wrong_number(double):
    def odd(x):
        y = x * 2
        y[1, 2] += 1
        return y

    report = diagnose(double, odd)
    assert report.message.startswith(
        "In 2 of 2 cases the result differs; the smallest: double(x) with x of shape [2, 3]: row 1, column 2 is "
    )
    assert report.table.wrong == {(1, 2)}


def test_the_table_shows_the_case_that_the_words_are_about(declare_exercise):
    """The smallest, wherever it stands in the list."""
    exercise_ = declare_exercise(cases=lambda rand: [case(rand(5, 5)), case(rand(2, 2)), case(rand(3, 3))])
    report = diagnose(exercise_, lambda x: x * 2 + torch.eye(len(x)))
    assert "x of shape [2, 2]" in report.message and len(report.table.yours) == 2


OWN = torch.tensor([[0.5, 1.0], [2.0, 4.0], [3.0, 5.0]])


@pytest.mark.parametrize("wrong", [lambda x: x * x, lambda x: x * 2 + torch.eye(len(x))[:, : x.shape[1]]])
def test_the_pages_own_example_is_shown_before_a_smaller_or_a_larger_one(declare_exercise, wrong):
    exercise_ = declare_exercise(
        cases=lambda rand: [case(rand(2, 2)), case(OWN, page_example="this page's x"), case(rand(4, 4))],
        misconceptions={"squares": (lambda x: x**2, "You squared it.")},
    )
    report = diagnose(exercise_, wrong)
    assert report.table.expected == [["1.0000", "2.0000"], ["4.0000", "8.0000"], ["6.0000", "10.0000"]]
    assert (report.table.caption, report.table.inputs) == ("this page's x", [])  # which stands there
    where = "double(x) with x of shape [3, 2] (this page's x): row 0, column 0 is 2.0000, expected 1.0000"
    assert report.misconception or f"In 3 of 3 cases the result differs; one of them: {where}." in report.message


def test_where_the_pages_own_example_is_right_another_case_is_shown(declare_exercise):
    exercise_ = declare_exercise(
        cases=lambda rand: [case(OWN, page_example="this page's x"), case(rand(4, 4)), case(rand(2, 2))]
    )
    report = diagnose(exercise_, lambda x: x * 2 + (x.shape != OWN.shape))
    assert "the smallest: double(x) with x of shape [2, 2]: " in report.message and report.table.caption == ""


def test_what_is_wrong_with_ordinary_numbers_comes_before_nan_of_hard_ones(declare_exercise):
    hard = torch.full((2, 2), 1000.0)
    shares = declare_exercise(
        "shares",
        oracle=lambda x, dim: x.softmax(dim),
        cases=lambda rand: [
            case(hard, 1, page_example="thousands"), case(rand(3, 3), 1, note="again"), case(rand(3, 4), 1), case(rand(2, 2), 0)
        ],
    )  # fmt: skip
    report = diagnose(shares, lambda x, dim: x.exp() / x.exp().sum(0))
    assert report.reason == "difference" and "one of them: shares(x, 1) with x of shape [3, 4]: " in report.message
    assert report.message.endswith("Its argument `dim` is never used.") and len(report.table.yours[0]) == 4
    right = diagnose(shares, lambda x, dim: x.exp() / x.exp().sum(dim, keepdim=True))
    assert right.reason == "property" and "holds nan" in right.message and "never used" not in right.message


@pytest.mark.parametrize("large", [(8, 8), (3, 3)])
def test_words_and_table_speak_of_one_case_where_a_remarked_one_is_smaller(declare_exercise, large):
    """A remark (loud numbers, say) puts a case behind the plain ones, in the words and in the table."""
    exercise_ = declare_exercise(cases=lambda rand: [case(rand(2, 2), note="loud"), case(rand(*large))])
    report = diagnose(exercise_, lambda x: print(len(x)) or x * 2 + torch.eye(len(x)))
    number = report.table.yours[0][0]
    assert f"one of them: double(x) with x of shape {list(large)}: row 0, column 0 is {number}, " in report.message
    assert len(report.table.yours) == large[0] and report.printed == f"{large[0]}\n" and report.table.caption == ""


def test_a_table_is_named_where_the_words_speak_of_no_case(declare_exercise, affine):
    report = diagnose(affine, type("Affine", (torch.nn.Module,), {"__init__": _with_a_layer, "forward": _without_bias}))
    assert report.misconception == "no-bias" and report.table.caption == "Affine(3, 2)(x) with x of shape [4, 3]"
    wide = declare_exercise(
        misconceptions={"squares": (lambda x: x**2, "Squared.")}, cases=lambda rand: [case(rand(7, 7))]
    )
    assert diagnose(wide, lambda x: x * x).table.caption == "double(x) with x of shape [7, 7]"
    small = declare_exercise(misconceptions={"squares": (lambda x: x**2, "Squared.")})
    assert diagnose(small, lambda x: x * x).table.caption == ""  # what was given stands beside it


def _with_a_layer(self, d_in, d_out):
    torch.nn.Module.__init__(self)
    self.layer = torch.nn.Linear(d_in, d_out)


def _without_bias(self, x):
    return x @ self.layer.weight.T


def test_a_table_of_several_results_by_name_says_which_it_shows(declare_exercise):
    exercise_ = declare_exercise(oracle=lambda x: {"x before": x, "x after": x * 2}, misconceptions={})
    assert diagnose(exercise_, lambda x: {"x before": x, "x after": x * 3}).table.caption == "x after"


def test_what_one_number_means(declare_exercise):
    mask = declare_exercise(
        "grid",
        oracle=lambda size: torch.eye(size).bool(),
        cases=[case(2)],
        explain_entry=lambda index, a, b: f"{index[0]} sees {index[1]}",
    )
    assert (
        failure_message(mask, lambda size: torch.ones(size, size).bool())
        == "grid(2): row 0, column 1 is True, expected False; 0 sees 1. It is True everywhere."
    )


@pytest.mark.parametrize(
    "wrong, words",
    [
        (lambda x: x * 3, "Every number is 1.5 times the expected one."),
        (lambda x: x * -2, "All numbers have the wrong sign."),
        (lambda x: x * 2 + 0.25, "Every number is off by the same amount, +0.25"),
        (lambda x: x * x.shape[-1], "off by one factor: 1.5, 2.5"),
    ],
)
def test_plain_relations(double, wrong, words):
    assert words in failure_message(double, wrong)


def test_a_transposed_result(declare_exercise):
    square = declare_exercise("square", oracle=lambda x: x * 2, cases=lambda rand: [case(rand(3, 3)), case(rand(4, 4))])
    assert "It is the transpose of what is expected" in failure_message(square, lambda x: (x * 2).T)


def test_dicts(declare_exercise):
    count = declare_exercise("count", oracle=lambda ids: {(1, 2): 2, (2, 1): 1}, cases=[case([1, 2, 1, 2])])
    assert "at key (1, 2) yours is 3, expected 2" in failure_message(count, lambda ids: {(1, 2): 3, (2, 1): 1})
    assert "the key (2, 1) is missing" in failure_message(count, lambda ids: {(1, 2): 2})
    assert "the key (0, 0) should not be there" in failure_message(count, lambda ids: {(1, 2): 2, (2, 1): 1, (0, 0): 1})
