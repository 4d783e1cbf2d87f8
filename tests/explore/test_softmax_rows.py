"""The explorer of the softmax in a browser: its numbers equal torch's."""

import pytest
import torch

from tests.show.figure_checks import TOKENS
from utils import explore

SCORES = [0.9544, 1.4950, 1.4754, 0.8434, 0.7070, 1.0865]


@pytest.mark.parametrize("factor, shift", [(1.0, 0.0), (0.0, 3.0), (20.0, -10.0), (4.0, 2.0)])
def test_its_numbers_are_torchs(show_widget, factor, shift):
    page = show_widget(explore.softmax(torch.tensor(SCORES, requires_grad=True), TOKENS))
    page.set_control("factor", factor)
    page.set_control("shift", shift)
    scores = torch.tensor(SCORES, dtype=torch.float64)
    weights = (scores * factor).softmax(0)  # without the shift, which must change nothing
    found = page.numbers()
    assert found["weights"] == pytest.approx(weights.tolist(), abs=1e-6)
    assert found["scores"] == pytest.approx((scores * factor + shift).tolist(), abs=1e-5)
    assert page.facts() == {
        "largest weight": f"{weights.max():.2f}",
        "with unchanged scores": f"{scores.softmax(0).max():.2f}",
        "changed by the shift": "0.0000",
    }


@pytest.mark.parametrize("width", [390, 800])
def test_its_height_is_constant(show_widget, width):
    page = show_widget(explore.softmax(SCORES, TOKENS), width=width)
    heights = set()
    for factor, shift in ((0.0, 0.0), (4.0, 2.0), (6.0, 2.0), (20.0, 10.0), (20.0, -10.0)):
        page.set_control("factor", factor)
        page.set_control("shift", shift)
        heights.add(page.root.bounding_box()["height"])
    assert len(heights) == 1


def test_it_follows_the_keyboard(show_widget):
    page = show_widget(explore.softmax(SCORES, TOKENS))
    assert page.picture_label().startswith("Scores × 4 + 2: ")
    page.root.get_by_role("slider", name="multiply by").press("Home")
    assert page.facts()["largest weight"] == "0.17"
    page.root.get_by_role("slider", name="then add").press("Home")
    assert page.state() == {"factor": 0, "shift": -10} and page.picture_label().startswith("Scores × 0 − 10: ")
