"""The property of functions that sample: a message names a cause only if several generators prove it."""

import pytest
import torch

from utils.checks._sampling import draws_from_its_generator
from utils.exercises import exercise as declared
from utils.exercises.exercise import case, exercise
from utils.exercises.probe import Probe
from utils.exercises.runner import InProcessRunner

NAMES = ("elsewhere", "restarted", "ignored", "disturbing", "shared", "repeated")


def right(n, generator):
    return torch.rand(n, generator=generator)


def one_bit(n, generator):
    return torch.randint(0, 2, (1,), generator=generator).expand(n).clone() + torch.arange(n) / n


def shared(n, generator):
    return torch.rand(1, generator=generator).expand(n).clone()


def seeded(n, generator):
    return torch.rand(n, generator=torch.Generator().manual_seed(3))


def copied(n, generator):
    return torch.rand(n, generator=generator.clone_state())


def elsewhere(n, generator):
    return torch.rand(n)


@pytest.mark.parametrize(
    "answer, name",
    [
        (right, None),
        (one_bit, "repeated"),
        (shared, "shared"),
        (seeded, "restarted"),
        (copied, "restarted"),
        (elsewhere, "elsewhere"),
    ],
)
def test_the_cause_of_equal_samples(monkeypatch, answer, name):
    monkeypatch.setattr(declared, "_exercises", dict(declared.all_exercises()))
    generator = torch.Generator().manual_seed(1)
    noise = exercise(
        "noise",
        oracle=right,
        cases=[case(5, generator)],
        misconceptions={},
        parse_result=lambda result, case: None,
        hints=("A?", "B.", "C."),
    )
    probe = Probe.from_runner(noise, InProcessRunner(noise.signature, answer), seed=0)
    assert draws_from_its_generator(**{n: n for n in NAMES})(probe) == name
