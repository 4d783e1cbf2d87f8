"""The caches between checks, which no answer can change."""

import torch
from torch import nn

from utils.exercises.exercise import case
from utils.feedback.diagnose import diagnose


def test_the_oracle_is_run_once_for_all_checks(declare_exercise):
    runs = []

    def oracle(x):
        runs.append(1)
        return x * 2

    double = declare_exercise(oracle=oracle)
    assert diagnose(double, lambda x: x + x) and not diagnose(double, lambda x: x + 1)
    first = len(runs)
    assert diagnose(double, lambda x: x + x) and not diagnose(double, lambda x: x + 2)
    assert len(runs) == first > 0


def test_cases_are_sampled_again_when_the_cache_key_changes(declare_exercise):
    """The numbers of a case may come from a file or a setting, which can change."""
    numbers = [3.0]
    sample = lambda rand: [case(torch.full((2,), numbers[0]))]
    double = declare_exercise(cases=sample, cache_key=lambda: numbers[0])
    assert diagnose(double, lambda x: torch.full_like(x, 10.0)).table.expected == [["6.0000", "6.0000"]]
    numbers[0] = 5.0
    assert diagnose(double, lambda x: x + 6.0).table.expected == [["10.0000", "10.0000"]]


def test_an_oracle_runs_again_when_its_cache_key_changes(declare_exercise):
    factor, runs = [2.0], []

    def oracle(x):
        runs.append(1)
        return x * factor[0]

    scaled = declare_exercise("scaled", oracle=oracle, cache_key=lambda: factor[0])
    assert diagnose(scaled, lambda x: x * 2) and not diagnose(scaled, lambda x: x * 3)
    first = len(runs)
    assert diagnose(scaled, lambda x: x * 2) and len(runs) == first
    factor[0] = 3.0
    assert diagnose(scaled, lambda x: x * 3) and not diagnose(scaled, lambda x: x * 2)
    assert len(runs) == 2 * first


def test_an_answer_that_is_right_for_one_seed_is_explained_by_its_gradients(affine, snapshot):
    known = []

    class Remembers(nn.Module):
        def __init__(self, d_in, d_out):
            super().__init__()
            self.layer = nn.Linear(d_in, d_out)

        def forward(self, x):
            if not any(x.shape == k.shape and torch.equal(x, k) for k in known):
                return x.sum() * torch.ones(len(x), 2)
            return self.layer(x)

    known += [each.args[0] for each in affine.sample_cases(0)]
    report = diagnose(affine, Remembers)
    assert report.property == "uses_everything" and report.message == snapshot


def test_an_answer_changes_only_its_own_copies(declare_exercise):
    """The module empties the list of its constructor and the list of its call."""
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

    assert diagnose(total, Emptied).property == "leaves_its_inputs"
    assert diagnose(total, Right)
