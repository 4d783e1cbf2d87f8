"""The explorer of layer norm in a browser: its numbers equal torch's."""

import pytest
import torch
from torch.nn import functional as F

from utils import explore
from utils.explore.normalisation import VECTOR

BASE = torch.tensor(VECTOR, dtype=torch.float64)


@pytest.mark.parametrize(
    "shift, scale, eps", [(2, 2, 1e-6), (-5, 3, 0.1), (0, 1e-4, 1e-6), (5, 1e-4, 0.001), (-0.5, 0.1, 0.1)]
)
def test_its_numbers_are_torchs(show_widget, shift, scale, eps):
    page = show_widget(explore.layer_norm())
    for name, value in (("shift", shift), ("scale", scale), ("eps", eps)):
        page.set_control(name, value)
    before = BASE * scale + shift
    after = F.layer_norm(before, (8,), eps=eps)
    found = page.numbers()
    assert found["before"] == pytest.approx(before.tolist(), abs=1e-6)
    assert found["after"] == pytest.approx(after.tolist(), abs=1e-5)
    assert found["variance_after"] == pytest.approx(after.var(correction=0).item(), abs=1e-6)
    assert page.facts()["variance after"] == f"{after.var(correction=0):.2f}"


def test_eps_matters_only_for_a_variance_near_it(show_widget, snapshot):
    page = show_widget(explore.layer_norm())
    facts = {"mean before": "2.00", "variance before": "2.9", "mean after": "0.00", "variance after": "1.00"}
    assert page.facts() == facts and page.remark() == snapshot(name="variance above eps")
    page.root.get_by_role("slider", name="multiply by").press("Home")
    assert page.state()["scale"] == 1e-4 and page.remark() == snapshot(name="variance near eps")
    page.set_control("scale", 0.01)
    assert page.facts()["variance after"] == "0.99" and page.remark() == snapshot(name="eps is not negligible")
    for eps, scale in ((0.001, 0.5), (0.001, 1), (0.1, 3)):  # the remark agrees with the variance that is shown
        page.set_control("eps", eps)
        page.set_control("scale", scale)
        assert ("not negligible" in page.remark()) == (page.facts()["variance after"] < "1.00")
    page.set_control("eps", 1e-6)
    page.set_control("scale", 1e-4)
    page.root.get_by_role("slider", name="add").press("ArrowRight")
    assert page.state()["shift"] == 2.5 and page.picture_label() == snapshot(name="picture")
