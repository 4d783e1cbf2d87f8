"""Check arrows in the plane, and the steps from inputs to the context vector of one query."""

import itertools
import math

import numpy as np
import pytest
import torch

from tests.show.figure_checks import INPUTS, TOKENS, WEIGHTS, artist_box, text_artists, text_strings
from utils import show


def test_vectors_arrows_end_where_they_should(snapshot):
    picture = show.vectors({"a": [3.0, 0.0], "b": [1.0, 1.0]}, angle=("a", "b"), projection=("b", "a"))
    axes = picture.figure.axes[0]
    ends = [tuple(t.xy) for t in axes.texts if getattr(t, "arrow_patch", None)]
    assert ends == [(3.0, 0.0), (1.0, 1.0)]
    assert "a · b = 3.00 × 1.41 × cos 45° = 3.00" in axes.get_xlabel() and "shadow of b on a: 1.00" in axes.get_xlabel()
    assert "45°" in text_strings(picture)
    assert picture.alt == snapshot
    (dashed,) = [line for line in axes.lines if line.get_linestyle() == "--" and len(line.get_xdata()) == 2]
    assert dashed.get_xydata().tolist() == [[1.0, 1.0], [1.0, 0.0]]


def test_one_unit_is_as_wide_as_it_is_high():
    axes = show.vectors({"a": [3.0, 0.5]}).figure.axes[0]
    (x0, y0), (x1, y1) = axes.transData.transform([(0, 0), (1, 1)])
    assert x1 - x0 == pytest.approx(y1 - y0, rel=1e-6)


@pytest.mark.parametrize("degrees", [0, 1, 90, 179, 180, 270])
def test_the_arc_spans_the_angle_between(degrees):
    turn = math.radians(degrees)
    picture = show.vectors({"a": [1, 0], "b": [math.cos(turn), math.sin(turn)]}, angle=("a", "b"))
    (arc,) = picture.figure.axes[0].patches
    between = min(degrees, 360 - degrees)
    assert (arc.theta2 - arc.theta1) % 360 == pytest.approx(between, abs=1e-6)
    assert f"cos {between}°" in picture.alt


def test_names_at_tips_do_not_touch():
    close = {f"vector {i}": [1.0, i / 1000] for i in range(6)}
    picture = show.vectors(close)
    boxes = [artist_box(picture, text) for text in text_artists(picture) if text.get_text().startswith("vector")]
    assert len(boxes) == 6 and not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


def test_mixing_walks_from_tip_to_tail(snapshot):
    picture = show.mixing(WEIGHTS[1], INPUTS, TOKENS)
    arrows = [(t.xyann, t.xy) for t in picture.figure.axes[0].texts if getattr(t, "arrow_patch", None)]
    (start, result), *chain = arrows
    expected = WEIGHTS[1] @ INPUTS
    assert tuple(start) == (0, 0) and tuple(result) == pytest.approx(tuple(expected[:2].tolist()))
    assert tuple(chain[-1][1]) == pytest.approx(tuple(result))
    for (_, tip), (tail, _) in itertools.pairwise(chain):
        assert tuple(tip) == tuple(tail)
    for k, (tail, tip) in enumerate(chain):
        assert np.subtract(tip, tail) == pytest.approx((WEIGHTS[1, k] * INPUTS[k, :2]).numpy(), abs=1e-6)
    assert "0.24 × journey" in text_strings(picture) and "coordinate 1 of 3" in text_strings(picture)
    assert picture.alt == snapshot


# ---------------------------------------------------------------- steps


def test_steps_without_matrices_is_the_simplified_attention_of_the_course(snapshot):
    picture = show.steps(INPUTS, TOKENS, "journey")
    assert {"0.95", "1.50", "1.48", "0.84", "0.71", "1.09"} <= set(text_strings(picture))
    assert picture.alt == snapshot
    assert "keys [6, 3]" not in text_strings(picture)


def test_steps_with_matrices_scales_and_uses_query_keys_and_values():
    torch.manual_seed(123)
    W = [torch.nn.Parameter(torch.rand(3, 2)) for _ in range(3)]
    picture = show.steps(INPUTS, TOKENS, 1, *W)
    # The source of the course prints these numbers for this seed.
    assert "query [2], journey @ W_query: (0.43, 1.46)." in picture.alt
    assert "Your 1.27, journey 1.85, starts 1.81, with 1.08, one 0.56, step 1.54" in picture.alt
    assert "softmax(scores / √2): Your 0.15, journey 0.23, starts 0.22, with 0.13, one 0.09, step 0.18" in picture.alt
    assert picture.alt.endswith("(0.31, 0.82).")
    shapes = {"inputs [6, 3]", "keys [6, 2]", "query [2]", "scores [6]", "weights [6]", "values [6, 2]", "context [2]"}
    assert shapes <= set(text_strings(picture))


def test_steps_columns_hold_each_tokens_numbers():
    picture = show.steps(INPUTS, TOKENS, 1)
    inside = {text.get_text(): text.get_position() for text in picture.figure.axes[0].texts}
    for token, score in zip(TOKENS, ["0.95", "1.50", "1.48", "0.84", "0.71", "1.09"]):
        assert inside[score][0] == pytest.approx(inside[token][0])


def test_steps_colours_the_weights_as_the_table_does():
    from matplotlib import colormaps

    picture = show.steps(INPUTS, TOKENS, 1)
    fills = [tuple(patch.get_facecolor()) for patch in picture.figure.axes[0].patches]
    assert all(tuple(colormaps["viridis"](weight)) in fills for weight in WEIGHTS[1].double().tolist())


def test_a_long_vector_is_shortened_and_says_so():
    picture = show.steps(torch.arange(7.0)[None], ["a"], 0)
    assert "⋮" in text_strings(picture) and "6.00" in text_strings(picture) and "4.00" not in text_strings(picture)


def test_a_shadow_that_points_away_has_a_positive_length():
    alt = show.vectors({"a": [-2.0, 1.0], "b": [1.0, 0.0]}, projection=("a", "b")).alt
    assert "The shadow of a on b is 2.00 long and points away from b." in alt
