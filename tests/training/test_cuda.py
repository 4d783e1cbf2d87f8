"""Tests that need a GPU."""

from unittest import mock

import pytest
import torch
from torch import nn

import solutions
from utils.exercises.exercise import all_exercises
from utils.exercises.sampler import sample_parameter
from utils.models import icl_regression
from utils.models.icl_regression import RegressionConfig
from utils.training import loop

pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available(), reason="needs an NVIDIA GPU, and torch's CUDA build (pyproject.toml says how)"
)

EXERCISES = all_exercises()
MODULES = [name for name, exercise in EXERCISES.items() if exercise.kind == "module"]


def _moved(value, device):
    return value.to(device) if isinstance(value, (torch.Tensor, nn.Module)) else value


def _imported(exercise):
    return getattr(getattr(solutions, exercise.lesson), exercise.name)


@pytest.mark.parametrize("name", MODULES)
def test_the_course_s_own_modules_give_the_same_on_both_devices(name):
    exercise = EXERCISES[name]
    for case in exercise.sample_cases()[:3]:
        module = _imported(exercise)(**case.init) if isinstance(case.init, dict) else _imported(exercise)(*case.init)
        module.eval()
        with torch.no_grad():
            for key, p in module.named_parameters():
                p.copy_(sample_parameter(key, p.shape, 0))
            first = lambda out: out[0] if isinstance(out, tuple) else out
            here = first(module(*case.args, **case.kwargs))
            given = [_moved(a, "cuda") for a in case.args]
            there = first(module.to("cuda")(*given, **{k: _moved(v, "cuda") for k, v in case.kwargs.items()}))
        assert there.device.type == "cuda" and torch.allclose(here, there.cpu(), atol=1e-4)


def test_a_captured_run_is_an_ordinary_run():
    """With the same data, a step recorded as a CUDA graph gives the same losses as an eager step, up to rounding."""
    config = RegressionConfig(steps=60, batch_size=32, queries=2, log_every=1, device="cuda")
    captured = icl_regression.train(config, progress=False)
    with mock.patch.object(loop, "GraphStep", loop.EagerStep):
        usual = icl_regression.train(config, progress=False)
    assert torch.allclose(torch.tensor(captured.losses), torch.tensor(usual.losses), rtol=1e-3)
    for a, b in zip(captured.model.parameters(), usual.model.parameters()):
        assert torch.allclose(a, b, atol=1e-3)


def test_a_run_on_the_gpu_meets_the_bar():
    fixed = icl_regression.draw(100_000, 40, 5, generator=torch.Generator().manual_seed(12345))
    run = icl_regression.train(RegressionConfig(device="cuda"), progress=False)
    bar = icl_regression.mean_squared_error(icl_regression.kernel((0.14, -0.14), (3.18, -3.18)), fixed)
    assert icl_regression.mean_squared_error(run.model, fixed) <= bar
