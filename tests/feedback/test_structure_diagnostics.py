"""How a wrong shape differs from the expected shape."""

import pytest

from utils.exercises.exercise import Float, case
from utils.feedback.diagnose import diagnose
from utils.feedback.structure_diagnostics import shape_relation_text

SPEC = Float("batch seq d_out")


@pytest.mark.parametrize(
    "yours, expected, spec, text",
    [
        ((2, 1, 5, 3), (2, 5, 3), SPEC, "one axis too many: its second axis, of size 1."),
        ((2, 5, 3, 4), (2, 5, 3), SPEC, "one axis too many: its fourth axis, of size 4."),
        ((2, 3), (2, 5, 3), SPEC, "The axis `seq`, of size 5, is missing. Is it summed or indexed?"),
        ((5, 3), (1, 5, 3), SPEC, "The axis `batch`, of size 1, is missing. Does `squeeze`"),
        ((5, 2, 3), (2, 5, 3), SPEC, "the axes are in a different order."),
        ((2, 4, 3), (2, 5, 3), SPEC, "The axis `seq` has one entry too few."),
        ((2, 1, 3), (2, 5, 3), SPEC, "The axis `seq` has a single entry"),
        ((2, 5, 6), (2, 5, 3), SPEC, "The axis `d_out` is 2 times as long as it should be."),
        ((6,), (), None, "one axis too many: its first axis, of size 6."),
        ((10, 3), (2, 5, 3), SPEC, "The axis `batch` and the axis `seq` are joined into one axis of size 10."),
        ((1, 1), (1, 1, 1), None, "One of its axes, of size 1, is missing."),
        ((), (1, 1), None, "All its axes of size 1 are missing. Does `squeeze` remove them?"),
        ((2, 5, 8), (2, 5, 3), SPEC, ""),
        ((3, 3), (2, 5, 3, 3), None, ""),
    ],
)
def test_a_wrong_shape_is_described(yours, expected, spec, text):
    relation = shape_relation_text(yours, expected, spec)
    assert text in relation if text else relation == ""


def test_a_case_without_axes_of_size_1_is_reported(declare_exercise):
    doubled = declare_exercise(
        "doubled", oracle=lambda x: 2 * x, cases=lambda rand: [case(rand(3, 1, 4)), case(rand(3, 2, 4))]
    )
    message = diagnose(doubled, lambda x: 2 * x.flatten(0, 1)).message
    assert "[3, 2, 4]" in message and "are joined into one axis of size 6" in message, message


def test_a_wrong_size_without_a_reason_is_compared_with_a_right_case(declare_exercise):
    rows = declare_exercise(
        "rows", oracle=lambda x: x.flatten(), cases=lambda rand: [case(rand(2, 3)), case(rand(5, 4))]
    )
    message = diagnose(rows, lambda x: x[[0, -1]].flatten()).message
    assert message.endswith("rows(x) with x of shape [2, 3] is right."), message
