"""The explorer of sinusoids in a browser: it shows the dot products of whole encodings."""

import itertools
import math

import pytest
import torch

from utils import explore
from utils.explore.positional_encoding import START


def encodings(base, width):
    """Return [64, width] sines and cosines, computed from complex powers instead of the page's cosine of a distance."""
    waves = torch.exp(1j * torch.arange(64.0).double()[:, None] * base ** (-torch.arange(0, width, 2).double() / width))
    return torch.cat((waves.imag, waves.real), dim=-1)


@pytest.mark.parametrize("base, width", [(100, 64), (10, 2), (2, 8), (10000, 512), (100000, 4)])
def test_its_similarities_are_torchs(show_widget, base, width):
    page = show_widget(explore.positions())
    page.set_control("base", base)
    page.set_control("width", width)
    rows = encodings(base, width)
    alike = rows @ rows[0] / (width / 2)
    assert torch.tensor(page.numbers()["likeness"], dtype=torch.float64) == pytest.approx(alike, abs=1e-5)
    below = (alike < 0.5).nonzero().flatten().tolist()
    assert page.facts() == {
        "longest wave": f"{2 * math.pi * base ** ((width - 2) / width):,.0f} positions",
        "first distance below one half": str(below[0]) if below else "none",
        "highest at another position": f"{alike[1:].max():.2f}",
    }
    assert f"Base {base}, width {width}: " in page.picture_label()


def test_it_says_when_the_pattern_repeats(show_widget, snapshot):
    page = show_widget(explore.positions())
    assert page.facts()["longest wave"] == "544 positions" and page.remark() == snapshot(name="fades")
    page.set_control("base", 100000)
    page.set_control("width", 512)
    assert page.facts()["first distance below one half"] == "none" and page.remark() == snapshot(name="stays")
    page.set_control("base", 10)
    page.set_control("width", 2)
    assert page.facts()["longest wave"] == "6 positions" and page.remark() == snapshot(name="repeats")


def test_it_calls_far_positions_different_only_if_all_of_them_are(show_widget):
    page = show_widget(explore.positions())
    for base, width in itertools.product(START["bases"], START["widths"]):
        page.set_control("base", base)
        page.set_control("width", width)
        if "far ones are not" in page.remark():
            assert max(page.numbers()["likeness"][10:]) < 0.7, (base, width)


def test_it_follows_the_keyboard_without_a_kernel(show_widget):
    page = show_widget(explore.positions(), width=360)
    page.page.evaluate("() => { window.gone = true; }")
    page.root.get_by_role("slider", name="base").press("ArrowRight")
    page.root.get_by_role("slider", name="d_model").press("Home")
    assert page.state() == {"base": 1000, "width": 2} and "Base 1000, width 2" in page.picture_label()
    assert page.root.get_by_role("slider", name="d_model").get_attribute("aria-valuetext") == "2"
    assert page.page.evaluate("() => document.documentElement.scrollWidth") <= 360
