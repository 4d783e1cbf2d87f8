"""The explorer of a pair of heads in a browser: it shows the exact error on 4,000 prompts."""

import pytest
import torch

from utils import explore
from utils.models import icl_regression as lab

PROMPTS = lab.Prompts(*(t.double() for t in lab.draw(4000, 40, 5, generator=torch.Generator().manual_seed(1))))


def error(w, mu):
    """Compute the error with a softmax over the prompts themselves."""
    scores = torch.einsum("nqd,nld->nql", PROMPTS.z_q[..., :-1], PROMPTS.z[..., :-1])
    y = PROMPTS.z[..., -1:]
    heads = (scores * w).softmax(-1) @ y - (scores * -w).softmax(-1) @ y
    return (mu * heads - PROMPTS.y_q).square().mean().item()


@pytest.mark.parametrize("w, mu", [(0.3, 4.0), (0.04, 11.0), (0.11, 4.05), (0.6, 0.0), (0.6, 0.8), (0.29, 2.35)])
def test_its_errors_are_those_of_the_prompts(show_widget, w, mu):
    page = show_widget(explore.regression())
    page.set_control("w", w)
    page.set_control("mu", mu)
    best, least = lab.best_mu(w, PROMPTS)
    found = page.numbers()
    assert found["error"] == pytest.approx(error(w, mu), abs=1e-5, rel=1e-5)
    assert (found["best"], found["least"]) == pytest.approx((best, least), abs=1e-5)
    assert page.facts()["lowest for this w"] == f"{found['least']:.3f} at μ {found['best']:.2f}"
    assert page.facts()["2wμ"] == f"{2 * w * mu:.2f}"


def test_the_lowest_of_all_is_no_higher_than_any_other(show_widget):
    lowest = show_widget(explore.regression()).numbers()["lowest"]
    grid = [lab.best_mu(round(0.01 * i, 2), PROMPTS)[1] for i in range(4, 61, 2)]
    assert min(grid) - 0.001 < lowest <= min(grid) + 1e-9


def test_each_remark_is_true(show_widget, snapshot):
    page = show_widget(explore.regression())
    assert page.remark() == snapshot(name="above")
    for w, mu, place in ((0.1, 4.45, "on the curve, small w"), (0.1, 1, "below"), (0.3, 1.5, "on the curve")):
        page.set_control("w", w)
        page.set_control("mu", mu)
        assert page.remark() == snapshot(name=place)
    page.set_control("w", 0.04)  # the smallest w: no smaller one would help
    page.set_control("mu", 10.4)
    assert page.remark() == snapshot(name="on the curve, small w")


def test_the_pair_can_be_dragged_and_the_sliders_follow(show_widget):
    page = show_widget(explore.regression())
    page.page.evaluate("() => { window.gone = true; }")
    place = page.root.locator("circle.draggable").bounding_box()
    x, y = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
    page.page.mouse.move(x, y)
    page.page.mouse.down()
    page.page.mouse.move(x - 100, y + 30, steps=4)
    page.page.mouse.up()
    state = page.state()
    assert 0.1 < state["w"] < 0.3 and 2 < state["mu"] < 4
    for name, value in (("w", state["w"]), ("μ", state["mu"])):
        slider = page.root.get_by_role("slider", name=name, exact=True)
        assert float(slider.input_value()) == pytest.approx(value)
    page.page.mouse.move(x + 500, y + 900)  # the released point stays
    assert page.state() == state
    assert page.numbers()["error"] == pytest.approx(error(state["w"], state["mu"]), abs=1e-5)


def test_every_place_of_the_slider_has_its_own_parabola(show_widget):
    page = show_widget(explore.regression(), width=360)
    slider = page.root.get_by_role("slider", name="w", exact=True)
    slider.press("Home")
    for i in range(4, 61, 7):
        assert page.numbers()["best"] == pytest.approx(lab.best_mu(round(0.01 * i, 2), PROMPTS)[0], abs=1e-5)
        for _ in range(7):
            slider.press("ArrowRight")
    assert page.page.evaluate("() => document.documentElement.scrollWidth") <= 360
