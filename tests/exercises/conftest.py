"""Declare small exercises for the tests of the engine."""

import pytest
from torch import nn
from torch.nn import functional as F

from utils.exercises import exercise as declared
from utils.exercises.exercise import Float, case, exercise, layer_parameters

HINTS = ("A nudge?", "The idea.", "Almost the code.")


@pytest.fixture
def declare_exercise(monkeypatch):
    """Declare an exercise for one test only."""
    monkeypatch.setattr(declared, "_exercises", dict(declared.all_exercises()))

    def declare(name="double", **fields):
        fields = {
            "oracle": lambda x: x * 2,
            "hints": HINTS,
            "misconceptions": {},
            "cases": lambda rand: [case(rand(2, 3)), case(rand(4, 5))],
            **fields,
        }
        return exercise(name, **fields)

    return declare


@pytest.fixture
def double(declare_exercise):
    return declare_exercise(
        differentiable=True,
        misconceptions={
            "squares": (lambda x: x**2, "You squared it. Doubling adds it to itself."),
            "halves": (lambda x: x / 2, "Half."),
        },
    )


@pytest.fixture
def pair(declare_exercise):
    return declare_exercise(
        "pair",
        oracle=lambda x: (x * 2, x.sum(-1)),
        returns=(Float("rows columns", name="doubled"), Float("rows", name="sums")),
    )


@pytest.fixture
def affine(declare_exercise):
    return declare_exercise(
        "Affine",
        initial_parameters=lambda d_in, d_out: layer_parameters(layer=nn.Linear(d_in, d_out)),
        oracle=lambda p, x: F.linear(x, p["layer.weight"], p["layer.bias"]),
        cases=lambda rand: [case(rand(4, 3), init=(3, 2)), case(rand(2, 3), init=(3, 2), fill=False, seed=7)],
        misconceptions={"no-bias": (lambda p, x: F.linear(x, p["layer.weight"]), "The bias is not used.")},
    )
