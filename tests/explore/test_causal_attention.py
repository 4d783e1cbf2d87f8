"""The explorer of the mask, in a browser: its numbers are torch's."""

import pytest
import torch

from tests.show.figure_checks import TOKENS
from utils import explore

TABLE = torch.randn(6, 6, generator=torch.Generator().manual_seed(3)) * 2
FREE = TABLE.double().softmax(-1)
MASKED = TABLE.double().masked_fill(torch.ones(6, 6).triu(1).bool(), -torch.inf).softmax(-1)


def test_it_starts_where_most_of_the_weight_is_in_the_future(show_widget):
    page = show_widget(explore.causal(TABLE, TOKENS))
    assert page.facts() == {"asks": TOKENS[1], "may use": "6 of 6", "on the future": f"{FREE[1, 2:].sum():.2f}"}
    assert "Switch the mask on" in page.remark()


def test_its_weights_are_torchs(show_widget):
    page = show_widget(explore.causal(TABLE, TOKENS))
    for at in range(6):
        page.set("position", at)
        for mask, table in ((True, MASKED), (False, FREE)):
            page.set("mask", mask)
            assert torch.tensor(page.numbers()["weights"]) == pytest.approx(table[at], abs=1e-6)
            assert page.facts()["on the future"] == f"{table[at, at + 1 :].sum():.2f}"


def test_it_follows_hand_and_keyboard_and_keeps_where_it_stands(show_widget):
    page = show_widget(explore.causal(TABLE, TOKENS))
    slider = page.root.get_by_role("slider", name="position")
    slider.press("ArrowRight")
    assert page.facts()["asks"] == TOKENS[2] and page.state() == {"position": 2, "mask": False}
    page.root.get_by_role("checkbox", name="mask on").check()
    assert page.state() == {"position": 2, "mask": True}
    assert page.remark().endswith(f"{1 / FREE[2, :3].sum():.2f} times what it was.")
    page.page.evaluate("() => { window.gone = true; }")
    slider.press("End")
    assert page.facts()["asks"] == TOKENS[5] and "has no future" in page.remark()


def test_scores_that_differ_by_hundreds_are_explored(show_widget):
    page = show_widget(explore.causal([[0.0, 800.0], [0.0, 0.0]], ["a", "b"], position=0, masked=True))
    assert page.numbers()["weights"] == [1, 0] and "next to nothing before" in page.remark()
