"""How a wrong shape differs from the expected shape."""

import pytest

from utils.exercises.exercise import Float
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
        ((2, 5, 8), (2, 5, 3), SPEC, "Only the size of the axis `d_out` is wrong."),
        ((6,), (), None, "one axis too many: its first axis, of size 6."),
        ((3, 3), (2, 5, 3, 3), None, ""),
    ],
)
def test_a_wrong_shape_is_described(yours, expected, spec, text):
    relation = shape_relation_text(yours, expected, spec)
    assert text in relation if text else relation == ""
