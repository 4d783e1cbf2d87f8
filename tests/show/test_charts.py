"""Check bars, lines, curves of several runs, and the study of saturation."""

import itertools
import math

import numpy as np
import pytest
import torch

from tests.show.figure_checks import SCORES, TOKENS, WEIGHTS, artist_box, text_artists, text_strings
from utils import show


def test_bars_end_in_their_numbers(snapshot):
    picture = show.bars({"scores": SCORES[1], "weights": WEIGHTS[1]}, TOKENS, reference=("uniform", 1 / 6))
    left, right = picture.figure.axes
    assert [bar.get_width() for bar in left.patches] == pytest.approx(SCORES[1].tolist())
    assert [bar.get_width() for bar in right.patches] == pytest.approx(WEIGHTS[1].tolist())
    at = {(text.xy[1], text.get_text()): text.xy[0] for text in right.texts if hasattr(text, "xy")}
    assert at == pytest.approx({(i, f"{w:.2f}"): w for i, w in enumerate(WEIGHTS[1].tolist())})
    dashed = [line.get_xdata()[0] for line in right.lines if line.get_linestyle() == "--"]
    assert dashed == [1 / 6] and not [line for line in left.lines if line.get_linestyle() == "--"]
    assert "uniform 0.17" in text_strings(picture) and "scores" in text_strings(picture) and left.get_legend() is None
    assert picture.alt == snapshot


def test_bars_share_a_scale_only_when_asked():
    values = {"guess": [0.1, 0.2], "truth": [5.0, 10.0]}
    spans = lambda p: [axes.get_xlim() for axes in p.figure.axes]
    own, same = (spans(show.bars(values, ["a", "b"], same_scale=flag)) for flag in (False, True))
    assert own[0][1] < 1 and same[0][1] == pytest.approx(same[1][1], rel=0.2) and same[0][1] > 10


def test_a_limit_ends_the_one_scale_of_both_groups():
    left, right = show.bars(
        {"own": [0.76, 0.1], "set": [0.76, 0.2]}, ["a", "b"], same_scale=True, limit=1.0
    ).figure.axes
    assert left.get_xlim() == pytest.approx(right.get_xlim()) and left.get_xlim()[1] > 1


def test_a_number_stands_outside_its_bar():
    picture = show.bars([-3.0, 0.5], ["a", "b"])
    axes = picture.figure.axes[0]
    for bar, text in zip(axes.patches, [t for t in axes.texts if hasattr(t, "xy")]):
        assert not artist_box(picture, text).overlaps(artist_box(picture, bar))


# ---------------------------------------------------------------- lines and curves


def test_lines_are_the_numbers_given_with_names_at_their_ends(snapshot):
    picture = show.lines(
        [1, 2, 4], {"loss": [3.0, 2.0, 1.0], "other": [1.0, 1.5, 3.0]}, xlabel="step", ylabel="nats", logx=True
    )
    axes = picture.figure.axes[0]
    assert [line.get_ydata().tolist() for line in axes.lines] == [[3.0, 2.0, 1.0], [1.0, 1.5, 3.0]]
    assert len({(line.get_linestyle(), line.get_marker(), line.get_color()) for line in axes.lines}) == 2
    heights = {text.get_text(): artist_box(picture, text) for text in axes.texts}
    for name, end in (("loss", 1.0), ("other", 3.0)):
        y = axes.transData.transform((4, end))[1]
        assert heights[name].y0 <= y <= heights[name].y1 and heights[name].x0 >= axes.get_window_extent().x1
    assert picture.alt == snapshot
    assert axes.get_legend() is None


def test_a_long_line_is_summed_up(snapshot):
    assert show.lines(range(50), {"a": [float(i) for i in range(50)]}, xlabel="step").alt == snapshot


def test_names_at_line_ends_do_not_touch():
    picture = show.lines([0, 1], {f"line {i}": [i, 1.0] for i in range(6)})
    boxes = [artist_box(picture, text) for text in text_artists(picture) if text.get_text().startswith("line")]
    assert len(boxes) == 6 and not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


RUNS = {"standard": [[0, 10, 20.0], [4, 20, 20.0]], "triple": torch.tensor([[1.0, 2.0, 3.0]])}


def test_curves_draw_the_mean_in_a_band_of_all_runs(snapshot):
    picture = show.curves([1, 2, 4], RUNS, title="Rising", xlabel="step", ylabel="right", reference=("chance", 5))
    axes = picture.figure.axes[0]
    assert [line.get_ydata().tolist() for line in axes.lines[:2]] == [[2, 15, 20], [1, 2, 3]]
    band = axes.collections[0].get_paths()[0].vertices
    assert {(x, y) for x, y in band.round(6).tolist()} >= {(1, 0), (2, 10), (1, 4), (2, 20), (4, 20)}
    assert band[:, 1].min() == 0 and band[:, 1].max() == 20
    assert picture.alt == snapshot
    assert {"Rising", "step", "right", "standard", "triple", "chance 5.00"} <= set(text_strings(picture))


def test_runs_that_are_alike_do_not_differ():
    assert "a: 2 runs, all alike." in show.curves([1, 2], {"a": [[100, 100], [100, 100]]}).alt


# ---------------------------------------------------------------- saturation


def test_entropy_of_one_hot_and_uniform():
    assert show.entropy(torch.tensor([0.0, 1.0, 0.0])).item() == 0
    assert show.entropy(torch.full((2, 7), 1 / 7)).tolist() == pytest.approx([math.log(7)] * 2)


@pytest.mark.parametrize("scale", [0.0, 0.3, 1.0, 5.0, 40.0])
def test_jacobian_norm_is_autograds(scale):
    scores = scale * torch.randn(6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(-1), scores)
    assert show.jacobian_norm(scores.softmax(-1)).item() == pytest.approx(jacobian.norm().item(), abs=1e-8)


def test_the_study_is_a_mean_over_its_draws():
    study = show.saturation_study((3, 8), seq=4, draws=10, seed=5)
    for at, d_k in enumerate((3, 8)):
        generator = torch.Generator().manual_seed(5)
        queries = torch.randn(10, 1, d_k, generator=generator, dtype=torch.float64)
        keys = torch.randn(10, 4, d_k, generator=generator, dtype=torch.float64)
        for how, divisor in (("unscaled", 1.0), ("scaled", math.sqrt(d_k))):
            found = {"largest": [], "entropy": [], "gradient": []}
            for q, k in zip(queries[:, 0], keys):
                scores = torch.stack([torch.dot(q, one) for one in k]) / divisor
                found["largest"].append(max(scores.softmax(0).tolist()))
                found["entropy"].append(torch.distributions.Categorical(logits=scores).entropy().item())
                found["gradient"].append(
                    torch.autograd.functional.jacobian(lambda s: s.softmax(0), scores).norm().item()
                )
            for fact, values in found.items():
                assert study[f"{fact}_{how}"][at].item() == pytest.approx(np.mean(values)), (fact, how, d_k)


def test_the_study_shows_what_the_lesson_says():
    study = show.saturation_study()
    assert study["d_k"].tolist() == [2, 8, 32, 128, 512]
    # The prose of the lesson quotes these numbers.
    expected = {
        "spread_unscaled": [1.4243, 2.8535, 5.7150, 11.3512, 22.7484],
        "spread_scaled": [1.0072, 1.0089, 1.0103, 1.0033, 1.0053],
        "largest_unscaled": [0.4662, 0.6952, 0.8483, 0.9274, 0.9627],
        "largest_scaled": [0.3894, 0.4166, 0.4257, 0.4247, 0.4237],
        "entropy_unscaled": [1.3414, 0.8007, 0.3865, 0.1846, 0.0923],
        "entropy_scaled": [1.5022, 1.4701, 1.4574, 1.4606, 1.4591],
        "gradient_unscaled": [0.3662, 0.2884, 0.1776, 0.0961, 0.0512],
        "gradient_scaled": [0.3787, 0.3817, 0.3836, 0.3837, 0.3862],
    }
    assert {name: study[name].tolist() for name in expected} == {
        name: pytest.approx(v, abs=1e-3) for name, v in expected.items()
    }


def test_the_study_leaves_the_global_generator_alone_and_each_d_k_to_itself():
    state = torch.get_rng_state()
    alone, among = show.saturation_study((8,), draws=50), show.saturation_study((2, 8), draws=50)
    assert torch.equal(torch.get_rng_state(), state)
    assert all(alone[name][0] == among[name][1] for name in alone)


def test_saturation_draws_the_study():
    picture, study = show.saturation(draws=100), show.saturation_study(draws=100)
    for axes, fact in zip(picture.figure.axes, ("largest", "entropy", "gradient")):
        unscaled, scaled = (line.get_ydata().tolist() for line in axes.lines[:2])
        assert unscaled == study[f"{fact}_unscaled"].tolist() and scaled == study[f"{fact}_scaled"].tolist()
        assert axes.get_xlim()[0] < 2 and axes.get_xscale() == "log"
    last = study["gradient_unscaled"][-1].item()
    assert f"{last:.2f} at 512" in picture.alt and "uniform 0.37" in picture.alt
    only = show.saturation(scaled=(True,), draws=100)
    assert (
        "not scaled" not in text_strings(only)
        and only.figure.axes[0].lines[0].get_ydata().tolist() == study["largest_scaled"].tolist()
    )


def test_two_points_have_ticks_only_at_their_numbers():
    (axes,) = show.lines([16, 32], {"kept": [1.0, 2.0]}).figure.axes
    assert axes.get_xticks().tolist() == [16, 32]
