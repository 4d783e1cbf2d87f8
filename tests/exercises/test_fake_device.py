"""Device emulation: right numbers, an error if two devices mix, and no import of torch's compiler."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from tests.fresh_python import printed_output
from utils.exercises.fake_device import FAKE_DEVICE, DeviceMismatch, emulate_device

X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


def to_cpu(value):
    """Move a tensor to the CPU, as a learner would."""
    return value.cpu()


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: x @ x.mT + 1,
        lambda x: x.softmax(-1).masked_fill(torch.ones(2, 2, dtype=torch.bool, device=x.device).triu(1), 0.0),
        lambda x: torch.arange(2, device=x.device)[:, None] * x,
        lambda x: x.new_zeros(2, 2).add_(x).mul_(2),
        lambda x: torch.stack([row * 2 for row in x]),
        lambda x: torch.tensor([1.0, 2.0]).to(x) * x,
        lambda x: x.new_tensor([[1.0, 2.0]]) * x,
        lambda x: torch.tensor([[1.0, 2.0]], device=x.device) * x + torch.as_tensor([3.0], device=x.device),
        lambda x: torch.einsum("ij,kj->ik", x, x)[:, :1].flatten(),
        lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None]),
        lambda x: x * x.max().item() + torch.tensor(2.0),
        lambda x: x.index_select(0, torch.tensor([1, 0])),
        lambda x: torch.linalg.svd(x).S.sort().values,
    ],
)
def test_the_emulated_device_computes_the_same_numbers(compute):
    with emulate_device():
        result = compute(X.to(FAKE_DEVICE))
        assert result.device == FAKE_DEVICE
        assert torch.allclose(to_cpu(result), compute(X))


def test_modules_move_train_and_keep_their_buffers():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3), nn.Dropout(0.5), nn.Linear(3, 1))
    model.register_buffer("table", torch.ones(3))
    expected = model.eval()(X)
    with emulate_device():
        model.to(FAKE_DEVICE)
        assert all(t.device == FAKE_DEVICE for t in [*model.parameters(), *model.buffers()])
        assert torch.allclose(to_cpu(model(X.to(FAKE_DEVICE))), expected)
        model.train()(X.to(FAKE_DEVICE)).sum().backward()
        assert model[0].weight.grad.device == FAKE_DEVICE


@pytest.mark.parametrize(
    "mix",
    [
        lambda x: x + torch.ones(2, 2),
        lambda x: x @ torch.eye(2),
        lambda x: x.masked_fill(torch.ones(2, 2, dtype=torch.bool), 0.0),
        lambda x: torch.cat([x, torch.zeros(1, 2)]),
        lambda x: x * torch.arange(2, device="cpu"),
    ],
)
def test_tensors_of_two_devices_do_not_meet(mix):
    with emulate_device(), pytest.raises(DeviceMismatch):
        mix(X.to(FAKE_DEVICE))


def test_a_check_of_devices_does_not_import_torchs_compiler():
    """The import takes more than a second, for which a learner would wait in the first check of a notebook."""
    code = (
        "import sys\n"
        "from solutions import causal_attention\n"
        "from utils import check\n"
        "assert check(causal_attention.CausalAttention)\n"
        "print([name for name in ('torch._dynamo', 'sympy') if name in sys.modules])"
    )
    assert printed_output(code).splitlines()[-1] == "[]"
