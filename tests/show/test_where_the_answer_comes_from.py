"""Check the table of effects."""

import pytest
import torch

from tests.show.figure_checks import assert_not_clipped, awkward_texts, text_strings
from utils import show

FALLS = torch.tensor([[0.0, 1.234, -0.5], [2.0, -0.001, 0.25]])


def test_each_cell_holds_its_number(snapshot):
    picture = show.effects(FALLS, ["block 0", "block 1"], ["0", "1", "2"], xlabel="head")
    assert {"1.23", "−0.50", "2.00", "0.25", "0", "head", "block 1"} <= set(text_strings(picture))
    assert picture.alt == snapshot
    assert_not_clipped(picture)


def test_a_wide_table_has_a_scale_in_place_of_numbers():
    picture = show.effects(torch.randn(12, 24), [f"before {i}" for i in range(12)], [str(i) for i in range(24)])
    assert len(picture.figure.axes) == 2
    assert_not_clipped(picture)


def test_awkward_names_and_a_table_without_effects():
    picture = show.effects(torch.zeros(4, 12), awkward_texts(4), awkward_texts(12))
    assert_not_clipped(picture)


@pytest.mark.parametrize(
    "values, rows, columns, why",
    [
        ([[1.0, float("nan")]], ["a"], ["b", "c"], "values"),
        ([1.0, 2.0], ["a"], ["b", "c"], "values"),
        ([[1.0, 2.0]], ["a", "b"], ["b", "c"], "rows"),
        ([[1.0, 2.0]], ["a"], ["b"], "columns"),
    ],
)
def test_what_cannot_be_drawn_is_refused(values, rows, columns, why):
    with pytest.raises(ValueError, match=why):
        show.effects(values, rows, columns)
