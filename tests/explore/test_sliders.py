"""Explorers are driven as a reader drives them; what they show is compared with torch."""

import math
import re

import numpy as np
import pytest
import torch

from tests.explore.panels import alt, facts, plain
from tests.show.figures import TOKENS
from utils import explore, show
from utils.explore.gram_attention import LONGEST, arrows
from utils.explore.panel import DPI
from utils.show.words import number_text

SCORES = [0.9544, 1.4950, 1.4754, 0.8434, 0.7070, 1.0865]
TABLE = torch.randn(6, 6, generator=torch.Generator().manual_seed(3)) * 2
FREE = TABLE.softmax(-1)
MASKED = TABLE.masked_fill(torch.ones(6, 6).triu(1).bool(), -torch.inf).softmax(-1)


@pytest.mark.parametrize(
    "a, r, b, s",
    [(20, 1.5, 80, 1.0), (0, 1.0, 90, 2.0), (-170, 2.0, 170, 0.5), (45, 1.0, -135, 1.0), (30, 1.2, 30, 1.1)],
)
def test_dot_product_follows_its_sliders(a, r, b, s):
    panel = explore.dot_product()
    panel.angle_a.value, panel.length_a.value, panel.angle_b.value, panel.length_b.value = a, r, b, s
    one, two = (
        torch.tensor([math.cos(math.radians(t)), math.sin(math.radians(t))]).double() * n for t, n in ((a, r), (b, s))
    )
    cosine = torch.cosine_similarity(one, two, dim=0).clamp(-1, 1)
    shown = facts(panel)
    assert float(shown["dot product"]) == pytest.approx((one @ two).item(), abs=0.0051)
    assert float(shown["cosine"]) == pytest.approx(cosine.item(), abs=0.0051)
    assert float(shown["angle"].rstrip("°")) == pytest.approx(math.degrees(cosine.acos()), abs=0.01)
    x, y = (number_text(n) for n in one.tolist())
    assert f"a is ({x}, {y})" in alt(panel) and f"dot product {shown['dot product']}" in repr(panel)


def test_dot_product_says_what_the_sign_means():
    panel = explore.dot_product()
    assert "Positive" in plain(panel.readout)
    panel.angle_a.value = 170
    panel.angle_b.value = 80
    assert "right angle" in plain(panel.readout) and facts(panel)["dot product"] == "0.00"
    panel.angle_b.value = 20
    assert "Negative" in plain(panel.readout)
    panel.length_a.value = 0
    assert facts(panel) == {"dot product": "0.00", "cosine": "none", "angle": "none"}


# ---------------------------------------------------------------- scaling


def scaled_row(d_k, divide, seed, seq=6):
    rows = torch.randn(seq + 1, 1024, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    scores = torch.stack([torch.dot(rows[0, :d_k], key[:d_k]) for key in rows[1:]])
    return scores / math.sqrt(d_k) if divide else scores


@pytest.mark.parametrize("d_k", [1, 8, 128, 1024])
@pytest.mark.parametrize("divide", [False, True])
def test_scaling_shows_torchs_numbers(d_k, divide):
    panel = explore.scaling(seed=3)
    panel.d_k.value, panel.divide.value = d_k, divide
    scores = scaled_row(d_k, divide, 3)
    weights = scores.softmax(0)
    jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(0), scores)
    entropy = torch.distributions.Categorical(logits=scores).entropy()
    shown = facts(panel)
    assert float(shown["largest weight"]) == pytest.approx(weights.max().item(), abs=0.0051)
    assert float(shown["entropy"]) == pytest.approx(entropy.item(), abs=0.0051)
    assert float(shown["size of the gradient"]) == pytest.approx(jacobian.norm().item(), abs=0.0051)
    for i, weight in enumerate(weights):
        assert f"key {i} {number_text(weight.item())}" in alt(panel)
    assert "largest weight 0.17, entropy 1.79, size of the gradient 0.37" in plain(panel.readout)


def test_scaling_starts_saturated_and_dividing_mends_it():
    panel = explore.scaling()
    assert panel.d_k.value == 128 and panel.divide.value is False
    before = facts(panel)
    panel.divide.value = True
    after = facts(panel)
    assert float(before["largest weight"]) > 0.95 > 0.6 > float(after["largest weight"])
    assert float(before["size of the gradient"]) < 0.1 < 0.3 < float(after["size of the gradient"])


def test_a_new_draw_is_new_and_can_be_repeated():
    first, second = explore.scaling(), explore.scaling()
    start = alt(first)
    first.new_draw.click()
    second.new_draw.click()
    assert start != alt(first) == alt(second)


# ---------------------------------------------------------------- softmax


@pytest.mark.parametrize("factor, shift", [(1.0, 0.0), (0.0, 3.0), (20.0, -10.0), (4.0, 2.0)])
def test_softmax_shows_torchs_numbers(factor, shift):
    panel = explore.softmax(torch.tensor(SCORES, requires_grad=True), TOKENS)
    panel.factor.value, panel.shift.value = factor, shift
    scores = torch.tensor(SCORES, dtype=torch.float64)
    weights = (scores * factor).softmax(0)  # the shift is left out: it must change nothing
    shown = facts(panel)
    assert float(shown["largest weight"]) == pytest.approx(weights.max().item(), abs=0.0051)
    assert shown["of the given scores"] == f"{scores.softmax(0).max():.2f}"
    assert shown["changed by the shift"] == "0.0000"
    for token, weight, score in zip(TOKENS, weights, scores * factor + shift):
        assert f"{token} {number_text(weight.item())}" in alt(panel).split("weights:")[1]
        assert f"{token} {number_text(score.item())}" in alt(panel).split("weights:")[0]


# ---------------------------------------------------------------- causal


def test_causal_starts_where_most_of_the_weight_is_in_the_future():
    panel = explore.causal(TABLE, TOKENS)
    assert panel.position.value == 1 and not panel.mask.value
    assert facts(panel)["may use"] == "6 of 6" and facts(panel)["on the future"] == f"{FREE[1, 2:].sum():.2f}"


@pytest.mark.parametrize("at", range(6))
def test_causal_follows_its_controls(at):
    panel = explore.causal(TABLE, TOKENS)
    panel.position.value, panel.mask.value = at, True
    said = facts(panel)
    assert said["asks"] == TOKENS[at] and said["may use"] == f"{at + 1} of 6" and said["on the future"] == "0.00"
    assert f"{TOKENS[0]} {MASKED[at, 0]:.2f}" in alt(panel)
    grown = re.search(r"each visible weight is ([\d.]+) times", panel.readout.value)
    assert grown is None if at == 5 else abs(float(grown[1]) - MASKED[at, 0] / FREE[at, 0]) < 0.006
    panel.mask.value = False
    assert facts(panel)[
        "on the future"
    ] == f"{FREE[at, at + 1 :].sum():.2f}" and f"{TOKENS[5]} {FREE[at, 5]:.2f}" in alt(panel)


def test_scores_that_differ_by_hundreds_are_explored():
    explore.causal([[0.0, 800.0], [0.0, 0.0]], ["a", "b"], position=0, masked=True)


# ---------------------------------------------------------------- volume


@pytest.mark.parametrize(
    "rise, length, angle", [(30, 1.5, 90), (0, 2.0, 90), (90, 2.0, 120), (45, 0.0, 60), (60, 1.0, 0), (5, 0.1, 10)]
)
def test_volume_shows_what_torch_computes(rise, length, angle):
    panel = explore.volume()
    panel.rise.value, panel.length.value, panel.angle.value = rise, length, angle
    vectors = torch.tensor(arrows(rise, length, angle))
    determinant = max(0.0, float(torch.linalg.det(vectors @ vectors.T)))
    shown = facts(panel)
    assert float(shown["score"].replace("−", "-")) == pytest.approx(-determinant, abs=0.006) and not shown[
        "score"
    ].startswith("−0.00")
    assert float(shown["volume"]) == pytest.approx(math.sqrt(determinant), abs=0.006)
    assert float(shown["dot product of query and key"]) == pytest.approx(float(vectors[0] @ vectors[1]), abs=0.006)


def test_each_remark_on_a_volume_comes_where_it_is_true():
    panel = explore.volume()
    assert "volume 0.75, score −0.56" in repr(panel)
    assert "Twice as long would be twice the volume and four times the score: −2.25." in plain(panel.readout)
    panel.length.value = 0.7
    before = float(facts(panel)["score"].replace("−", "-"))
    panel.length.value = 1.4
    assert float(facts(panel)["score"].replace("−", "-")) == pytest.approx(4 * before, abs=0.03)
    panel.rise.value = 0
    assert "stays 0 at any length" in plain(panel.readout) and facts(panel)["score"] == "0.00"
    panel.length.value = 0.0
    assert "A key of length 0 spans nothing" in plain(panel.readout)
    panel.length.value, panel.rise.value, panel.angle.value = 1.0, 40, 0
    assert "they span no plane" in plain(panel.readout)


def test_the_frame_holds_still_while_sliders_move():
    scales = set()
    for rise, length, angle in [(30, 1.5, 90), (90, LONGEST, 120), (0, 0.0, 0)]:
        axes = show.volume(*arrows(rise, length, angle), limit=LONGEST).figure.axes[0]
        scales.add((*np.round(axes.get_xlim(), 6), *np.round(axes.get_ylim(), 6)))
    assert len(scales) == 1
    assert explore.volume().picture.value == show.volume(*arrows(30, 1.5, 90), limit=LONGEST).html(DPI)
