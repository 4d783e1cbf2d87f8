"""The figure and the explorer of one position under the causal mask show what torch computes."""

import html
import re
import subprocess
import sys
import warnings

import pytest
import torch

from utils import explore, show

TOKENS = "Your journey starts with one step".split()
SCORES = torch.randn(6, 6, generator=torch.Generator().manual_seed(3)) * 2
FREE = SCORES.softmax(-1)
MASKED = SCORES.masked_fill(torch.ones(6, 6).triu(1).bool(), -torch.inf).softmax(-1)


def heights(picture):
    """The weights that are drawn: the filled bars."""
    return torch.tensor([bar.get_height() for bar in picture.figure.axes[0].patches if bar.get_fill()][-6:])


def texts(picture):
    from matplotlib.text import Text

    return [t for t in picture.figure.findobj(Text) if t.get_visible() and t.get_text().strip()]


@pytest.mark.parametrize("at", range(6))
@pytest.mark.parametrize("masked", [True, False])
def test_the_bars_are_the_row_of_weights(at, masked):
    picture = show.causal(SCORES, TOKENS, at, masked=masked)
    wanted = (MASKED if masked else FREE)[at]
    assert torch.allclose(heights(picture).float(), wanted, atol=1e-6)
    words = [t.get_text() for t in texts(picture)]
    assert words.count("×") == (5 - at if masked else 0)
    assert f"{wanted[0]:.2f}" in words and f"{TOKENS[0]} {wanted[0]:.2f}" in picture.alt
    assert (f"may use: {', '.join(TOKENS[:at + 1])}." in picture.alt) or not masked


def test_past_and_future_are_told_apart_by_more_than_colour():
    axes = show.causal(SCORES, TOKENS, "starts", masked=False).figure.axes[0]
    bars = [bar for bar in axes.patches if bar.get_fill()][-6:]
    assert len({bar.get_facecolor() for bar in bars[:3]}) == len({bar.get_facecolor() for bar in bars[3:]}) == 1
    assert bars[2].get_facecolor() != bars[3].get_facecolor()
    assert any(t.get_text() == "not written yet" for t in axes.texts)


@pytest.mark.parametrize("names, at", [(TOKENS, 0), (["W" * 14] * 16, 7), (["a", "b"], 0), (["$x_1$", "\n", "", "汉", "<b>", " the"], 3)])
def test_nothing_is_cut_off(names, at):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        picture = show.causal(torch.randn(len(names), len(names)), names, at)
        picture.figure.canvas.draw()
    width, height = picture.figure.get_size_inches() * picture.figure.dpi
    assert picture.figure.get_figwidth() <= 6.3
    for text in texts(picture):
        box = text.get_window_extent(picture.figure.canvas.get_renderer())
        assert box.x0 >= -1 and box.y0 >= -1 and box.x1 <= width + 1 and box.y1 <= height + 1, text


@pytest.mark.parametrize("given, words", [
    ((SCORES[:2], TOKENS, 0), "scores is 2 × 6; expected a square table of 2 to 16 positions"),
    ((torch.zeros(17, 17), ["a"] * 17, 0), "17 × 17"),
    ((SCORES, TOKENS[:5], 0), "5 tokens were given for 6 positions"),
    ((SCORES, TOKENS, 6), "position must be a token or a number from 0 to 5; got 6"),
    ((SCORES, TOKENS, "trip"), "no token is 'trip'; there are: Your, journey"),
    ((SCORES, TOKENS, True), "position must be"),
    ((SCORES.masked_fill(SCORES > 0, torch.nan), TOKENS, 0), "is nan"),
    ((SCORES.masked_fill(SCORES > 0, -torch.inf), TOKENS, 0), "is infinite"),
    ((..., TOKENS, 0), "fill in the exercise"),
])  # fmt: skip
def test_what_cannot_be_drawn_is_refused_in_words(given, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        show.causal(*given)


def facts(panel):
    return dict(re.findall(r"([a-z][a-z ]*?) <b>([^<]+)</b>", html.unescape(panel.readout.value)))


def alt(panel):
    return html.unescape(re.search(r'alt="([^"]*)"', panel.picture.value)[1])


def test_the_explorer_starts_where_most_of_the_weight_is_in_the_future():
    panel = explore.causal(SCORES, TOKENS)
    assert panel.position.value == 1 and not panel.mask.value
    assert facts(panel)["may use"] == "6 of 6" and facts(panel)["on the future"] == f"{FREE[1, 2:].sum():.2f}"


@pytest.mark.parametrize("at", range(6))
def test_the_explorer_follows_its_controls(at):
    panel = explore.causal(SCORES, TOKENS)
    panel.position.value, panel.mask.value = at, True
    said = facts(panel)
    assert said["asks"] == TOKENS[at] and said["may use"] == f"{at + 1} of 6" and said["on the future"] == "0.00"
    assert f"{TOKENS[0]} {MASKED[at, 0]:.2f}" in alt(panel)
    grown = re.search(r"each visible weight is ([\d.]+) times", panel.readout.value)
    assert grown is None if at == 5 else abs(float(grown[1]) - MASKED[at, 0] / FREE[at, 0]) < 0.006
    panel.mask.value = False
    assert facts(panel)["on the future"] == f"{FREE[at, at + 1:].sum():.2f}" and f"{TOKENS[5]} {FREE[at, 5]:.2f}" in alt(panel)


def test_the_explorer_is_a_widget_and_a_calm_sentence():
    first, second = explore.causal(SCORES, TOKENS), explore.causal(SCORES, TOKENS)
    bundle = first._repr_mimebundle_()
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == first.model_id
    assert bundle["text/plain"] == repr(second) and repr(first).endswith(".") and not re.search(r"0x|VBox", repr(first))
    assert all(part in first.children or part in first.children[0].children for part in (first.position, first.mask, first.readout, first.picture))


def test_the_explorer_refuses_in_words():
    with pytest.raises(ValueError, match="position must be a whole number from 0 to 5; got 'journey'"):
        explore.causal(SCORES, TOKENS, position="journey")
    with pytest.raises(ValueError, match="5 tokens were given"):
        explore.causal(SCORES, TOKENS[:5])


def test_scores_that_differ_by_hundreds_are_drawn():
    steep = torch.tensor([[0.0, 800.0], [0.0, 0.0]])
    assert "a 1.00, b 0" in show.causal(steep, ["a", "b"], 0).alt
    explore.causal(steep, ["a", "b"], position=0, masked=True)


def test_importing_draws_nothing():
    code = "import sys; from utils.explore import causal; assert not {'ipywidgets', 'matplotlib'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
