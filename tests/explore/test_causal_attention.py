"""The explorer of the mask in a browser: its numbers equal torch's."""

import pytest
import torch

from tests.show.figure_checks import TOKENS
from utils import explore

TABLE = torch.randn(6, 6, generator=torch.Generator().manual_seed(3)) * 2
FREE = TABLE.double().softmax(-1)
MASKED = TABLE.double().masked_fill(torch.ones(6, 6).triu(1).bool(), -torch.inf).softmax(-1)


def test_it_starts_where_most_of_the_weight_is_in_the_future(show_widget, snapshot):
    page = show_widget(explore.causal(TABLE, TOKENS))
    assert page.facts() == {
        "position": TOKENS[1],
        "may use": "6 of 6",
        "weight on the future": f"{FREE[1, 2:].sum():.2f}",
    }
    assert page.remark() == snapshot


def test_its_weights_are_torchs(show_widget):
    page = show_widget(explore.causal(TABLE, TOKENS))
    for at in range(6):
        page.set_control("position", at)
        for mask, table in ((True, MASKED), (False, FREE)):
            page.set_control("mask", mask)
            assert torch.tensor(page.numbers()["weights"]) == pytest.approx(table[at], abs=1e-6)
            assert page.facts()["weight on the future"] == f"{table[at, at + 1 :].sum():.2f}"


def test_it_follows_pointer_and_keyboard_and_keeps_its_state(show_widget, snapshot):
    page = show_widget(explore.causal(TABLE, TOKENS))
    slider = page.root.get_by_role("slider", name="position")
    slider.press("ArrowRight")
    assert page.facts()["position"] == TOKENS[2] and page.state() == {"position": 2, "mask": False}
    page.root.get_by_role("checkbox", name="mask on").check()
    assert page.state() == {"position": 2, "mask": True}
    assert page.remark() == snapshot(name="mask") and f" {1 / FREE[2, :3].sum():.2f} times" in page.remark()
    page.page.evaluate("() => { window.gone = true; }")
    slider.press("End")
    assert page.facts()["position"] == TOKENS[5] and page.remark() == snapshot(name="last position")


def test_scores_that_differ_by_hundreds_are_explored(show_widget, snapshot):
    page = show_widget(explore.causal([[0.0, 800.0], [0.0, 0.0]], ["a", "b"], position=0, masked=True))
    assert page.numbers()["weights"] == [1, 0] and page.remark() == snapshot
