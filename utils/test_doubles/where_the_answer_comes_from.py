"""Provide test doubles for lesson 13: a model that returns the input of out_proj, and a function that removes hooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from utils.models.your_own_gpt2 import GPTConfig
from utils.test_doubles.your_own_gpt2 import FakeGPT

if TYPE_CHECKING:
    from jaxtyping import Float, Int


class _RecordingLinear(nn.Linear):
    """A linear layer that records its last input."""

    def forward(self, input: Tensor) -> Tensor:
        self.last_input = input
        return super().forward(input)


class HeadOutputModel(FakeGPT):
    """A model that returns the input of out_proj in block `layer` instead of logits. Hooks may change this input."""

    def __init__(self, config: GPTConfig, fill: Callable[[str, torch.Size], Tensor], layer: int) -> None:
        super().__init__(config, fill)
        self.recorder = _RecordingLinear(config.d_model, config.d_model)
        self.blocks[layer].get_submodule("attn").out_proj = self.recorder

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq d_model"]:
        super().forward(tokens)
        return self.recorder.last_input


@torch.no_grad()
def view_without_hooks(result: object, model: FakeGPT, *rest: object) -> object:
    """Collect the result of a call and the model's state after the call, and remove all hooks.

    Returns:
        The result, the model's logits for a fixed text, and two facts: how many hooks the answer did not remove, and
        whether the model is in training mode.
    """
    if result is None:
        return None
    hooks = [registry for part in model.modules() for registry in (part._forward_hooks, part._forward_pre_hooks)]
    facts = torch.tensor([float(sum(map(len, hooks))), float(model.training)])
    for registry in hooks:
        registry.clear()
    return result, model(torch.arange(4)[None] % model.config.vocab_size), facts
