"""Check that the figure of one position under the causal mask shows the weights that torch computes."""

import numpy as np
import pytest
import torch

from tests.show.figure_checks import TOKENS, text_strings
from utils import show

SCORES = torch.randn(6, 6, generator=torch.Generator().manual_seed(3)) * 2
FREE = SCORES.softmax(-1)
MASKED = SCORES.masked_fill(torch.ones(6, 6).triu(1).bool(), -torch.inf).softmax(-1)


def heights(picture):
    """Return the weights in the figure: the heights of the filled bars."""
    return torch.tensor([bar.get_height() for bar in picture.figure.axes[0].patches if bar.get_fill()][-6:])


def test_a_position_may_be_a_token_that_begins_with_a_space():
    tokens = ["The", " cat", " sat"]
    alts = {show.causal(SCORES[:3, :3], tokens, at).alt for at in (1, " cat", "·cat", torch.tensor(1), np.int64(1))}
    assert len(alts) == 1


@pytest.mark.parametrize("at", range(6))
@pytest.mark.parametrize("masked", [True, False])
def test_the_bars_are_the_row_of_weights(at, masked, snapshot):
    picture = show.causal(SCORES, TOKENS, at, masked=masked)
    wanted = (MASKED if masked else FREE)[at]
    assert torch.allclose(heights(picture).float(), wanted, atol=1e-6)
    said = text_strings(picture)
    assert said.count("×") == (5 - at if masked else 0)
    assert f"{wanted[0]:.2f}" in said and f"{TOKENS[0]} {wanted[0]:.2f}" in picture.alt
    assert picture.alt == snapshot


def test_past_and_future_are_told_apart_by_more_than_colour():
    axes = show.causal(SCORES, TOKENS, "starts", masked=False).figure.axes[0]
    bars = [bar for bar in axes.patches if bar.get_fill()][-6:]
    assert len({bar.get_facecolor() for bar in bars[:3]}) == len({bar.get_facecolor() for bar in bars[3:]}) == 1
    assert bars[2].get_facecolor() != bars[3].get_facecolor()
    assert any(t.get_text() == "not written yet" for t in axes.texts)


def test_scores_that_differ_by_hundreds_are_drawn():
    assert "a 1.00, b 0" in show.causal([[0.0, 800.0], [0.0, 0.0]], ["a", "b"], 0).alt
