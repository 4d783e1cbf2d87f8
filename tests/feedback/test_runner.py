"""What is remembered from one check for the next, and that no answer reaches it."""

import torch
from torch import nn

from utils.feedback.diagnose import diagnose
from utils.feedback.exercise import case


def test_the_oracle_is_run_once_for_all_checks(made):
    runs = []

    def oracle(x):
        runs.append(1)
        return x * 2

    double = made(oracle=oracle)
    assert diagnose(double, lambda x: x + x)
    first = len(runs)
    assert diagnose(double, lambda x: x + x) and not diagnose(double, lambda x: x + 1)
    assert len(runs) == first > 0


def test_other_numbers_are_judged_anew(made):
    """What a case holds may come from a file or a setting."""
    held = [3.0]
    double = made(cases=lambda rand: [case(torch.full((2,), held[0]))])
    assert not diagnose(double, lambda x: torch.full_like(x, 10.0))
    held[0] = 5.0
    assert diagnose(double, lambda x: torch.full_like(x, 10.0))


def test_an_oracle_that_reads_the_world_is_asked_each_time(made):
    factor = [2.0]
    scaled = made("scaled", oracle=lambda x: x * factor[0], pure=False)
    assert diagnose(scaled, lambda x: x * 2)
    factor[0] = 3.0
    assert diagnose(scaled, lambda x: x * 3) and not diagnose(scaled, lambda x: x * 2)


def test_what_an_answer_changes_is_its_own(made):
    """A module that empties the list that it is built with and the one that it is called with."""
    total = made(
        "Total",
        initial=lambda widths: {"scale": torch.ones(len(widths))},
        oracle=lambda p, x, steps: x * p["scale"] * len(steps),
        cases=lambda rand: [case(rand(3), [1, 2], init=([4, 5, 6],))],
    )

    class Emptied(nn.Module):
        def __init__(self, widths):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(len(widths)))
            widths.clear()

        def forward(self, x, steps):
            n = len(steps)
            steps.clear()
            return x * self.scale * n

    class Right(Emptied):
        def __init__(self, widths):
            super().__init__(list(widths))

        def forward(self, x, steps):
            return super().forward(x, list(steps))

    assert "changed its input `steps`" in diagnose(total, Emptied).message
    assert diagnose(total, Right)
