"""The explorer of √d_k in a browser: its first sample is torch's; later samples are random and repeatable."""

import math

import pytest
import torch

from utils import explore


def scaled_row(d_k, divide, seed, seq=6):
    rows = torch.randn(seq + 1, 1024, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    scores = torch.stack([torch.dot(rows[0, :d_k], key[:d_k]) for key in rows[1:]])
    return scores / math.sqrt(d_k) if divide else scores


def assert_torchs(found):
    """The page computes the same numbers from the scores as torch."""
    scores = torch.tensor(found["scores"], dtype=torch.float64)
    weights = scores.softmax(0)
    jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(0), scores)
    entropy = torch.distributions.Categorical(logits=scores).entropy()
    assert found["weights"] == pytest.approx(weights.tolist(), abs=1e-6)
    assert found["largest"] == pytest.approx(weights.max().item(), abs=1e-6)
    assert found["entropy"] == pytest.approx(entropy.item(), abs=1e-5)
    assert found["gradient"] == pytest.approx(jacobian.norm().item(), abs=1e-5)
    assert found["spread"] == pytest.approx(scores.std(correction=0).item(), abs=1e-5)


@pytest.mark.parametrize("d_k", [1, 8, 128, 1024])
@pytest.mark.parametrize("divide", [False, True])
def test_the_first_sample_is_torchs(show_widget, d_k, divide, snapshot):
    page = show_widget(explore.scaling(seed=3))
    page.set_control("d_k", d_k)
    page.set_control("divide", divide)
    found = page.numbers()
    assert found["scores"] == pytest.approx(scaled_row(d_k, divide, 3).tolist(), abs=1e-5)
    assert_torchs(found)
    assert page.facts()["largest weight"] == f"{scaled_row(d_k, divide, 3).softmax(0).max():.2f}"
    assert page.remark() == snapshot


def test_it_starts_saturated_and_dividing_helps(show_widget):
    page = show_widget(explore.scaling())
    before = page.numbers()
    page.root.get_by_role("checkbox", name="divide by √d_k").check()
    after = page.numbers()
    assert page.state() == {"d_k": 128, "divide": True, "draw": 0}
    assert before["largest"] > 0.95 > 0.6 > after["largest"]
    assert before["gradient"] < 0.1 < 0.3 < after["gradient"]


def test_a_new_sample_needs_no_kernel_and_can_be_repeated(show_widget):
    first, second = show_widget(explore.scaling()), show_widget(explore.scaling())
    rows = [first.numbers()["scores"]]
    for page in (first, second):
        page.page.evaluate("() => { window.gone = true; }")
    for _ in range(2):
        for page in (first, second):
            page.root.get_by_role("button", name="New sample").press("Enter")
        assert_torchs(first.numbers())
        rows.append(first.numbers()["scores"])
        assert rows[-1] == second.numbers()["scores"] and rows[-1] not in rows[:-1]
    assert first.state()["draw"] == 2


def test_later_samples_have_the_spread_of_random_dot_products(show_widget):
    page = show_widget(explore.scaling(16))
    samples = []
    for draw in range(1, 41):
        page.set_control("draw", draw)
        samples += page.numbers()["scores"]
    scores = torch.tensor(samples)
    assert 9.5 < scores.std().item() < 13.5  # √128 is 11.3; the keys of one sample share a query
    assert abs(scores.mean().item()) < 2


def test_a_narrower_key_is_the_start_of_the_wide_one(show_widget):
    page = show_widget(explore.scaling(16))
    narrow, wide = [], []
    for draw in range(1, 11):
        page.set_control("draw", draw)
        for d_k, scores in ((512, narrow), (1024, wide)):
            page.set_control("d_k", d_k)
            scores += page.numbers()["scores"]
    assert torch.corrcoef(torch.tensor([narrow, wide]))[0, 1] > 0.5  # half of the summed products are the same


@pytest.mark.parametrize("seed", [-1, 0.5, True, "3"])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(ValueError, match="^seed must be "):
        explore.scaling(seed=seed)
