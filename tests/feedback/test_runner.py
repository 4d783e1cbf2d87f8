"""What is remembered from one check for the next, and that no answer reaches it."""

import torch
from torch import nn

from utils.feedback.diagnose import diagnose
from utils.feedback.exercise import case


def test_the_oracle_is_run_once_for_all_checks(declare_exercise):
    runs = []

    def oracle(x):
        runs.append(1)
        return x * 2

    double = declare_exercise(oracle=oracle)
    assert diagnose(double, lambda x: x + x)
    first = len(runs)
    assert diagnose(double, lambda x: x + x) and not diagnose(double, lambda x: x + 1)
    assert len(runs) == first > 0


def test_other_numbers_are_judged_anew(declare_exercise):
    """What a case holds may come from a file or a setting."""
    held = [3.0]
    double = declare_exercise(cases=lambda rand: [case(torch.full((2,), held[0]))])
    assert not diagnose(double, lambda x: torch.full_like(x, 10.0))
    held[0] = 5.0
    assert diagnose(double, lambda x: torch.full_like(x, 10.0))


def test_an_oracle_that_reads_the_world_is_asked_again_when_that_changes(declare_exercise):
    factor, runs = [2.0], []

    def oracle(x):
        runs.append(1)
        return x * factor[0]

    scaled = declare_exercise("scaled", oracle=oracle, cache_key=lambda: factor[0])
    assert diagnose(scaled, lambda x: x * 2)
    first = len(runs)
    assert diagnose(scaled, lambda x: x * 2) and len(runs) == first
    factor[0] = 3.0
    assert diagnose(scaled, lambda x: x * 3) and not diagnose(scaled, lambda x: x * 2)
    assert len(runs) == 2 * first


def test_what_is_right_for_one_set_of_numbers_only_is_explained_by_what_gradients_reach(affine):
    seen = []

    class Remembers(nn.Module):
        def __init__(self, d_in, d_out):
            super().__init__()
            self.layer = nn.Linear(d_in, d_out)

        def forward(self, x):
            if not any(x.shape == s.shape and torch.equal(x, s) for s in seen):
                return x.sum() * torch.ones(len(x), 2)
            return self.layer(x)

    seen += [each.args[0] for each in affine.sample_cases(0)]
    report = diagnose(affine, Remembers)
    assert "Right for one set of numbers and wrong for another" in report.message
    assert "have no part in the result" in report.message


def test_what_an_answer_changes_is_its_own(declare_exercise):
    """A module that empties the list that it is built with and the one that it is called with."""
    total = declare_exercise(
        "Total",
        initial_parameters=lambda widths: {"scale": torch.ones(len(widths))},
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
