"""Test that fingerprints differ for different wrong results, but not for different rounding errors."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from utils.exercises.observe import Observation
from utils.grading.judge.fingerprint import fingerprint_observation


def of(value: object) -> str:
    return fingerprint_observation(Observation(value))


NUMBERS = {
    "drawn": torch.randn(7, 9, generator=torch.Generator().manual_seed(0)),
    "on the edge of four digits": torch.tensor([1.0625, 2.0005, 0.12345, 100.05]),
    "with zeros": torch.tensor([0.0, -0.0, 3.0, 0.0]),
    "nothing but zeros": torch.zeros(3, 4),
    "weights of a mask": torch.tril(torch.ones(5, 5)) / torch.arange(1.0, 6.0)[:, None],
    "large": torch.tensor([1e6, 3e6, 5.0]),
    "with -inf and nan": torch.tensor([[0.5, -math.inf], [math.nan, math.inf]]),
}


@pytest.mark.parametrize("numbers", NUMBERS.values(), ids=list(NUMBERS))
def test_the_last_digits_do_not_count(numbers: Tensor) -> None:
    """The noise has the size of float32 errors, relative to each number and to the largest one."""
    finite = max(1.0, numbers[numbers.isfinite()].abs().max().item())
    for seed in range(50):
        rand = torch.Generator().manual_seed(seed)
        noise = 6e-8 * (2 * torch.rand(numbers.shape, generator=rand) - 1)
        assert of(numbers + noise * (numbers.abs().nan_to_num(posinf=0) + 0.5 * finite)) == of(numbers)


def test_a_float_counts_as_a_number_does() -> None:
    assert of(0.1 + 0.2) == of(0.3)
    assert of([0.1 + 0.2, {"loss": 1.0}]) == of([0.3, {"loss": 1.0 + 1e-12}])
    assert len({of(0.3), of(0.31), of([0.3]), of((0.3,)), of(3), of("0.3"), of(None)}) == 7


OTHERS = {
    "one number": lambda x: x.index_fill(0, torch.tensor([3]), 0.9),
    "all, by one in a hundred": lambda x: 1.01 * x,
    "the order": lambda x: x.flip(0),
    "the sign": lambda x: -x,
    "the shape": lambda x: x[None],
    "the type": lambda x: x.double(),
    "a nan": lambda x: x.index_fill(0, torch.tensor([3]), math.nan),
}


@pytest.mark.parametrize("change", OTHERS.values(), ids=list(OTHERS))
def test_other_numbers_are_another_mistake(change) -> None:
    numbers = torch.linspace(0.2, 1.3, 8)
    assert of(change(numbers)) != of(numbers)


@pytest.mark.parametrize("number", [1e308, -1e308, math.inf, math.nan], ids=str)
def test_no_number_is_too_large(number: float) -> None:
    """A runner can send any number."""
    assert of(torch.full((5000,), number, dtype=torch.float64)) == of(torch.full((5000,), number, dtype=torch.float64))
