"""Misconceptions and differences: the reports if no diagnostic finds anything."""

import pytest
import torch
from torch import nn

from tests.feedback.answers import Affine, failure_message, stable, with_name
from utils.exercises.exercise import case
from utils.feedback.check import check
from utils.feedback.diagnose import diagnose

# --- misconceptions ----------------------------------------------------------------------------------


def test_a_misconception_speaks_with_its_table(double):
    report = check(with_name("double", lambda x: x * x))
    assert (report.misconception, report.message) == ("squares", "You squared it. Doubling adds it to itself.")
    assert len(report.table.yours) == 4 and len(report.table.yours[0]) == 5
    assert len(report.table.wrong) == 20


def test_a_misconception_is_recognised_in_spite_of_a_wrong_dtype(double):
    assert diagnose(double, lambda x: (x * x).double()).misconception == "squares"


def test_a_misconception_must_agree_on_every_case(double):
    assert diagnose(double, lambda x: x * x if len(x) == 2 else x * 3).misconception is None


def test_a_misconception_that_raises_somewhere(declare_exercise):
    """The misconception gives a result on square input and raises an exception otherwise; both must agree."""
    product = declare_exercise(
        "product",
        oracle=lambda x: x @ x.T,
        cases=lambda rand: [case(rand(3, 3)), case(rand(2, 4))],
        misconceptions={"no-transpose": (lambda x: x @ x, "Transpose one of them.")},
    )
    assert diagnose(product, lambda x: torch.matmul(x, x)).misconception == "no-transpose"


def test_a_misconception_of_a_value_is_recognised(declare_exercise, snapshot):
    value = declare_exercise(
        "total",
        oracle=torch.tensor(6.0),
        cases=(case(),),
        misconceptions={"mean": (lambda: torch.tensor(2.0), "The mean.")},
    )
    assert check(total=torch.tensor(2.0)).misconception == "mean" and check(total=torch.tensor(6.0))
    assert failure_message(value, torch.tensor(5.0)) == snapshot


# --- differences -------------------------------------------------------------------------------------


def test_the_smallest_failing_case_and_its_first_wrong_number(double, snapshot):
    def odd(x):
        y = x * 2
        y[1, 2] += 1
        return y

    report = diagnose(double, odd)
    assert stable(report.message) == snapshot
    assert report.table.wrong == {(1, 2)}


def test_table_and_message_show_the_same_case(declare_exercise):
    """They show the smallest case, at any position in the list."""
    exercise_ = declare_exercise(cases=lambda rand: [case(rand(5, 5)), case(rand(2, 2)), case(rand(3, 3))])
    report = diagnose(exercise_, lambda x: x * 2 + torch.eye(len(x)))
    assert "x of shape [2, 2]" in report.message and len(report.table.yours) == 2


OWN = torch.tensor([[0.5, 1.0], [2.0, 4.0], [3.0, 5.0]])


@pytest.mark.parametrize("wrong", [lambda x: x * x, lambda x: x * 2 + torch.eye(len(x))[:, : x.shape[1]]])
def test_the_pages_example_is_preferred_to_smaller_and_larger_cases(declare_exercise, wrong, snapshot):
    exercise_ = declare_exercise(
        cases=lambda rand: [case(rand(2, 2)), case(OWN, page_example="this page's x"), case(rand(4, 4))],
        misconceptions={"squares": (lambda x: x**2, "You squared it.")},
    )
    report = diagnose(exercise_, wrong)
    assert report.table.expected == [["1.0000", "2.0000"], ["4.0000", "8.0000"], ["6.0000", "10.0000"]]
    assert (report.table.caption, report.table.inputs) == ("this page's x", [])  # the page itself shows its inputs
    assert report.message == snapshot


def test_another_case_is_shown_if_the_pages_example_is_right(declare_exercise, snapshot):
    exercise_ = declare_exercise(
        cases=lambda rand: [case(OWN, page_example="this page's x"), case(rand(4, 4)), case(rand(2, 2))]
    )
    report = diagnose(exercise_, lambda x: x * 2 + (x.shape != OWN.shape))
    assert stable(report.message) == snapshot and report.table.caption == ""


def test_a_mistake_on_ordinary_numbers_is_reported_before_nan_on_large_ones(declare_exercise, snapshot):
    large = torch.full((2, 2), 1000.0)
    weights = declare_exercise(
        "weights",
        oracle=lambda x, dim: x.softmax(dim),
        cases=lambda rand: [
            case(large, 1, page_example="thousands"),
            case(rand(3, 3), 1, note="again"),
            case(rand(3, 4), 1),
            case(rand(2, 2), 0),
        ],
    )
    report = diagnose(weights, lambda x, dim: x.exp() / x.exp().sum(0))
    assert report.reason == "difference" and len(report.table.yours[0]) == 4
    assert stable(report.message) == snapshot(name="wrong on ordinary numbers")
    right = diagnose(weights, lambda x, dim: x.exp() / x.exp().sum(dim, keepdim=True))
    assert right.property == "finite" and stable(right.message) == snapshot(name="nan on large numbers")


@pytest.mark.parametrize("shape", [(8, 8), (3, 3)])
def test_a_case_with_a_note_is_reported_last(declare_exercise, shape):
    """A note (for example on large numbers) puts a case behind the others, in the message and in the table."""
    exercise_ = declare_exercise(cases=lambda rand: [case(rand(2, 2), note="large"), case(rand(*shape))])
    report = diagnose(exercise_, lambda x: print(len(x)) or x * 2 + torch.eye(len(x)))
    assert str(list(shape)) in report.message and report.table.yours[0][0] in report.message
    assert len(report.table.yours) == shape[0] and report.printed == f"{shape[0]}\n" and report.table.caption == ""


def test_a_table_is_named_if_the_message_names_no_case(declare_exercise, affine):
    report = diagnose(affine, type("Affine", (torch.nn.Module,), {"__init__": _with_a_layer, "forward": _without_bias}))
    assert report.misconception == "no-bias" and report.table.caption == "Affine(3, 2)(x) with x of shape [4, 3]"
    wide = declare_exercise(
        misconceptions={"squares": (lambda x: x**2, "Squared.")}, cases=lambda rand: [case(rand(7, 7))]
    )
    assert diagnose(wide, lambda x: x * x).table.caption == "double(x) with x of shape [7, 7]"
    small = declare_exercise(misconceptions={"squares": (lambda x: x**2, "Squared.")})
    assert diagnose(small, lambda x: x * x).table.caption == ""  # the table shows the input


def _with_a_layer(self, d_in, d_out):
    torch.nn.Module.__init__(self)
    self.layer = torch.nn.Linear(d_in, d_out)


def _without_bias(self, x):
    return x @ self.layer.weight.T


def test_a_table_names_the_wrong_item_of_a_dict(declare_exercise):
    exercise_ = declare_exercise(oracle=lambda x: {"x before": x, "x after": x * 2}, misconceptions={})
    assert diagnose(exercise_, lambda x: {"x before": x, "x after": x * 3}).table.caption == "x after"


def test_the_meaning_of_one_number(declare_exercise, snapshot):
    mask = declare_exercise(
        "grid",
        oracle=lambda size: torch.eye(size).bool(),
        cases=[case(2)],
        explain_entry=lambda index, a, b: f"{index[0]} sees {index[1]}",
    )
    assert failure_message(mask, lambda size: torch.ones(size, size).bool()) == snapshot


@pytest.mark.parametrize(
    "wrong, relation",
    [
        (lambda x: x * 3, "factor"),
        (lambda x: x * -2, "factor"),
        (lambda x: x * 2 + 0.25, "offset"),
        (lambda x: x * x.shape[-1], "factor"),
    ],
    ids=["times 1.5", "wrong sign", "plus 0.25", "a factor for each case"],
)
def test_a_relation_follows_the_difference(double, wrong, relation, snapshot):
    report = diagnose(double, wrong)
    assert report.relation == relation and stable(report.message) == snapshot


def test_a_transposed_result(declare_exercise):
    square = declare_exercise("square", oracle=lambda x: x * 2, cases=lambda rand: [case(rand(3, 3)), case(rand(4, 4))])
    assert diagnose(square, lambda x: (x * 2).T).relation == "transpose"


def test_the_wrong_number_of_a_tuple_is_named(declare_exercise):
    both = declare_exercise("both", oracle=lambda x: (0.25, x), cases=[case(torch.ones(2, 2))])
    assert failure_message(both, lambda x: (0.5, x)).endswith(": part 0 is 0.5, expected 0.25.")


def test_dicts(declare_exercise, snapshot):
    count = declare_exercise("count", oracle=lambda ids: {(1, 2): 2, (2, 1): 1}, cases=[case([1, 2, 1, 2])])
    assert failure_message(count, lambda ids: {(1, 2): 3, (2, 1): 1}) == snapshot(name="a wrong value")
    assert failure_message(count, lambda ids: {(1, 2): 2}) == snapshot(name="a missing key")
    assert failure_message(count, lambda ids: {(1, 2): 2, (2, 1): 1, (0, 0): 1}) == snapshot(name="an additional key")


def test_a_module_that_is_wrong_only_in_eval_mode(affine):
    """The misconception describes the eval mode only, because the answer is right in training mode."""

    class Switched(Affine):
        def forward(self, x):
            return self.layer(x) if self.training else self.layer(x) - self.layer.bias

    class Plain(Affine):
        def forward(self, x):
            return self.layer(x) - self.layer.bias

    report = diagnose(affine, with_name("Affine", Switched))
    assert report.misconception == "no-bias"
    assert "In training mode, your result is right" in report.message and "The bias is not used." in report.message
    assert diagnose(affine, with_name("Affine", Plain)).message == "The bias is not used."


def test_a_module_that_is_wrong_only_in_training_mode(declare_exercise):
    """Nothing is said about eval mode, in which the check does not run every case."""
    scaled = declare_exercise(
        "Scaled",
        initial_parameters=lambda size: {"w": torch.ones(size)},
        oracle=lambda p, x: x * p["w"],
        cases=lambda rand: [case(rand(2, 3), init=(3,)), case(rand(4, 3), init=(3,), train=True)],
    )

    class Scaled(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.w = nn.Parameter(torch.ones(size))

        def forward(self, x):
            return x * self.w + float(self.training)

    assert "mode" not in diagnose(scaled, Scaled).message
