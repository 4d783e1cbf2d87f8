"""The explorer of a body in a browser: its volume equals torch's in every view."""

import math

import numpy as np
import pytest
import torch

from utils import explore


def arrows(rise: float, length: float, angle: float) -> np.ndarray:
    """Return the explorer's query, key and reference, [3, 3].

    Query and reference have length 1 and are `angle` degrees apart; the key is above the middle between them.
    """
    up, half, apart = math.radians(rise), math.radians(angle / 2), math.radians(angle)
    key = length * np.array([math.cos(up) * math.cos(half), math.cos(up) * math.sin(half), math.sin(up)])
    rows = np.array([[1.0, 0.0, 0.0], key, [math.cos(apart), math.sin(apart), 0.0]])
    return rows.round(12) + 0.0  # cos 90° is 6e-17 on a computer


@pytest.mark.parametrize(
    "rise, length, angle", [(30, 1.5, 90), (0, 2.0, 90), (90, 2.0, 120), (45, 0.0, 60), (60, 1.0, 0), (5, 0.1, 10)]
)
def test_it_shows_what_torch_computes(show_widget, rise, length, angle):
    page = show_widget(explore.volume())
    for name, value in (("rise", rise), ("length", length), ("angle", angle)):
        page.set_control(name, value)
    vectors = torch.tensor(arrows(rise, length, angle))
    gram = vectors @ vectors.T
    determinant = max(0.0, float(torch.linalg.det(gram)))
    found = page.numbers()
    assert torch.tensor(found["gram"], dtype=torch.float64) == pytest.approx(gram, abs=1e-9)
    rows = torch.tensor(found["vectors"], dtype=torch.float64)
    assert rows @ rows.T == pytest.approx(gram, abs=1e-9)
    assert found["score"] == pytest.approx(-determinant, abs=1e-9)
    assert found["volume"] == pytest.approx(math.sqrt(determinant), abs=1e-5)
    assert found["area"] * found["height"] == pytest.approx(found["volume"])
    facts = page.facts()
    assert float(facts["score"].replace("−", "-")) == pytest.approx(-determinant, abs=0.0051)
    assert facts["score"] != "−0.00"
    assert facts["dot product of query and key"] == f"{gram[0, 1]:.2f}"


def test_each_remark_on_a_volume_is_true(show_widget, snapshot):
    page = show_widget(explore.volume())
    assert page.facts()["volume"] == "0.75" and page.facts()["score"] == "−0.56"
    assert page.remark() == snapshot(name="body")
    page.set_control("rise", 0)
    assert page.remark() == snapshot(name="in the plane") and page.facts()["score"] == "0.00"
    page.set_control("length", 0)
    assert page.remark() == snapshot(name="no length")
    page.set_control("length", 1)
    page.set_control("angle", 0)
    assert page.remark() == snapshot(name="no plane")


def tips(page):
    """Return the tips of the arrows of query, key and reference, in pixels from the origin."""
    script = """all => all.filter(p => p.getAttribute('d').endsWith('Z')).map(p => {
        const line = p.previousElementSibling;
        const [x, y] = p.getAttribute('d').match(/^M(\\S+) ([^L]+)/).slice(1).map(Number);
        return [x - line.getAttribute('x1'), line.getAttribute('y1') - y];
    })"""
    return torch.tensor(page.root.locator("svg path").evaluate_all(script), dtype=torch.float64)


def test_turning_moves_the_picture_and_no_number(show_widget):
    page = show_widget(explore.volume())
    before, facts, unit = tips(page), page.facts(), None
    page.page.evaluate("() => { window.gone = true; }")
    box = page.root.locator("rect.draggable").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.page.mouse.move(x, y)
    page.page.mouse.down()
    page.page.mouse.move(x + 60, y + 40, steps=6)
    page.page.mouse.up()
    state = page.state()
    assert state["turn"] < -40 and state["tilt"] > 35 and page.facts() == facts
    assert (tips(page) - before).abs().max() > 5
    page.set_control("tilt", 90)  # from above, the picture shows the true lengths on the floor
    flat = tips(page)
    unit = flat[0].norm()
    assert flat[2].norm() == pytest.approx(unit) and abs(float(flat[0] @ flat[2])) < 1e-6 * unit**2
    assert flat[1].norm() == pytest.approx(1.5 * math.cos(math.radians(30)) * unit)
    page.set_control("tilt", 0)  # from the side, the picture shows only heights
    assert tips(page)[:, 1] / unit == pytest.approx(torch.tensor([0.0, 0.75, 0.0]).double(), abs=1e-6)


def test_the_frame_holds_still_while_the_key_grows(show_widget):
    page = show_widget(explore.volume())
    before = tips(page)
    page.set_control("length", 0.75)
    assert tips(page) == pytest.approx(before * torch.tensor([[1.0], [0.5], [1.0]]), abs=1e-3)


def test_every_slider_turns_by_key_on_a_narrow_page(show_widget):
    page = show_widget(explore.volume(), width=360)
    for name, key in (
        ("key rises by", "Home"),
        ("length of key", "End"),
        ("query to ref.", "End"),
        ("rotate view", "ArrowRight"),
        ("tilt view", "End"),
    ):
        page.root.get_by_role("slider", name=name).press(key)
    assert page.state() == {"rise": 0, "length": 2, "angle": 120, "turn": -22, "tilt": 90}
    assert page.page.evaluate("() => document.documentElement.scrollWidth") <= 360


def hidden(page):
    """Count the dashed edges of the body and the other ones."""
    script = "all => all.map(line => line.getAttribute('stroke-dasharray') === '3 3')"
    edges = page.root.locator("svg g > line[stroke='var(--muted)']").evaluate_all(script)
    return sum(edges), len(edges) - sum(edges)


def test_of_twelve_edges_the_three_behind_are_dashed(show_widget):
    page = show_widget(explore.volume())
    for turn, tilt in ((-23, 24), (70, 50), (-150, 10)):
        page.set_control("turn", turn)
        page.set_control("tilt", tilt)
        assert hidden(page) == (3, 9)
    page.set_control("rise", 0)
    assert hidden(page) == (0, 0)


def test_on_a_phone_on_its_side_the_picture_is_beside_what_moves_it(show_widget):
    page = show_widget(explore.volume())
    assert page.root.locator("svg[role=img]").bounding_box()["y"] > 200
    page.page.set_viewport_size({"width": 844, "height": 390})
    page.page.wait_for_function("() => document.querySelector('.coginst').clientHeight < 390")
    slider, picture = page.root.get_by_role("slider").first, page.root.locator("svg[role=img]")
    assert slider.bounding_box()["x"] + slider.bounding_box()["width"] < picture.bounding_box()["x"]
    assert abs(slider.bounding_box()["y"] - picture.bounding_box()["y"]) < 40
    assert page.right_edge() <= 844
