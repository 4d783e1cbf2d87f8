"""Provide test doubles for lesson 03: two modules for `copy_weights`, and a function that collects its effects."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

NAMES = ("W_query", "W_key", "W_value")


class FakeSelfAttentionV1(nn.Module):
    """A module with the parameters of a SelfAttention_v1. `rand(*shape)` samples each parameter, [d_in, d_out]."""

    def __init__(self, d_in: int, d_out: int, rand: Callable[..., Tensor]) -> None:
        super().__init__()
        for name in NAMES:
            setattr(self, name, nn.Parameter(rand(d_in, d_out)))


class FakeSelfAttentionV2(nn.Module):
    """A module with the layers of a SelfAttention_v2. `rand(*shape)` samples each weight, [d_out, d_in]."""

    def __init__(self, d_in: int, d_out: int, rand: Callable[..., Tensor]) -> None:
        super().__init__()
        for name in NAMES:
            layer = nn.Linear(d_in, d_out, bias=False)
            layer.weight = nn.Parameter(rand(d_out, d_in))
            setattr(self, name, layer)


def view_copied_weights(result: None, v2: nn.Module, v1: nn.Module) -> dict[str, Tensor]:
    """Collect the effects of `copy_weights`.

    Returns:
        The matrices of v1 and v2, whether each requires gradients, and the matrices of v2 after a change of v1.
    """
    facts = {f"v1.{n}": getattr(v1, n).detach().clone() for n in NAMES}
    facts |= {f"v2.{n}.weight": getattr(v2, n).weight.detach().clone() for n in NAMES}
    for name, module, ending in (("v1", v1, ""), ("v2", v2, ".weight")):
        trained = [n for n, p in module.named_parameters() if p.requires_grad]
        flags = [float(n + ending in trained) for n in NAMES]
        facts[f"what of {name} is trained (1 for each matrix)"] = torch.tensor(flags)
    with torch.no_grad():
        for n in NAMES:
            getattr(v1, n).add_(1.0)
    after = {f"v2.{n}.weight after v1 has been trained on": getattr(v2, n).weight.detach().clone() for n in NAMES}
    return facts | after
