"""The explorer of the dot product in a browser: its numbers equal torch's, and its arrows can be dragged."""

import math
import re

import pytest
import torch

from utils import explore


def ends(*pairs):
    return [torch.tensor([math.cos(math.radians(t)), math.sin(math.radians(t))]).double() * r for t, r in pairs]


@pytest.mark.parametrize(
    "a, r, b, s",
    [(20, 1.5, 80, 1.0), (0, 1.0, 90, 2.0), (-170, 2.0, 170, 0.5), (45, 1.0, -135, 1.0), (30, 1.2, 30, 1.1)],
)
def test_its_numbers_are_torchs(show_widget, a, r, b, s):
    page = show_widget(explore.dot_product())
    for name, value in (("angle_a", a), ("length_a", r), ("angle_b", b), ("length_b", s)):
        page.set_control(name, value)
    one, two = ends((a, r), (b, s))
    cosine = torch.cosine_similarity(one, two, dim=0).clamp(-1, 1)
    found = page.numbers()
    assert found["a"] == pytest.approx(one.tolist(), abs=1e-5) and found["b"] == pytest.approx(two.tolist(), abs=1e-5)
    assert found["dot"] == pytest.approx((one @ two).item(), abs=1e-5)
    assert found["cosine"] == pytest.approx(cosine.item(), abs=1e-5)
    assert math.cos(math.radians(found["angle"])) == pytest.approx(cosine.item(), abs=1e-5)
    assert page.picture_label().startswith(f"a · b = {page.facts()['dot product']}.")


def test_it_says_what_the_sign_means(show_widget, snapshot):
    page = show_widget(explore.dot_product())
    assert page.facts() == {"dot product": "0.75", "cosine": "0.50", "angle": "60°"}
    assert page.remark() == snapshot(name="positive")
    page.set_control("angle_a", 170)
    assert page.remark() == snapshot(name="zero") and page.facts()["dot product"] == "0.00"
    page.set_control("angle_b", 20)
    assert page.remark() == snapshot(name="negative")
    page.set_control("length_a", 0)
    assert page.facts() == {"dot product": "0.00", "cosine": "none", "angle": "none"}
    assert page.remark() == snapshot(name="no length")


@pytest.mark.parametrize("a, b", [(30, 30), (30, 35), (35, 30), (-180, 180), (90, 95), (-95, -90)])
def test_names_of_arrows_that_lie_together_do_not_overlap(show_widget, a, b):
    page = show_widget(explore.dot_product())
    for name, value in (("angle_a", a), ("angle_b", b), ("length_a", 2), ("length_b", 2)):
        page.set_control(name, value)
    texts = page.root.locator("svg text").filter(has_text=re.compile("^[ab]$"))
    one, two = texts.evaluate_all("all => all.map(text => text.getBoundingClientRect().toJSON())")
    wide, high = (max(one[a], two[a]) - min(one[b], two[b]) for a, b in (("left", "right"), ("top", "bottom")))
    assert max(wide, high) > -1


def middle(handle):
    box = handle.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_an_arrow_is_dragged_by_its_head_with_the_kernel_gone(show_widget):
    page = show_widget(explore.dot_product())
    page.page.evaluate("() => { window.gone = true; }")
    (ax, ay), mouse = middle(page.root.locator("circle.draggable").first), page.page.mouse
    unit = math.hypot(ax - page.root.locator("svg").bounding_box()["x"] - 320, 0) / (1.5 * math.cos(math.radians(20)))
    x, y = ax - 1.5 * unit * math.cos(math.radians(20)), ay + 1.5 * unit * math.sin(math.radians(20))  # the origin
    mouse.move(ax, ay)
    mouse.down()
    mouse.move(x - unit, y - unit, steps=8)
    assert page.facts()["angle"] == "55°"  # it follows before the button is released
    mouse.up()
    state = page.state()
    assert state["angle_a"] == 135 and state["length_a"] == pytest.approx(1.4) and state["angle_b"] == 80
    assert page.root.get_by_role("slider", name="angle of a").get_attribute("aria-valuetext") == "135"
    mouse.move(x, y)  # the arrow is no longer held
    assert page.facts()["angle"] == "55°"


def test_a_slider_moves_it_by_keyboard(show_widget):
    page = show_widget(explore.dot_product())
    page.root.get_by_role("slider", name="angle of b").press("ArrowRight")
    assert page.state()["angle_b"] == 85 and page.facts()["angle"] == "65°"
