"""Lesson 13: what an answer has left behind in the model that it was given."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from utils.models.your_own_gpt2 import GPTConfig
from utils.test_doubles.your_own_gpt2 import FakeGPT


class _RecordingLinear(nn.Linear):
    """A layer that keeps what it was given last."""

    def forward(self, x: Tensor) -> Tensor:
        self.last_input = x
        return super().forward(x)


class HeadOutputModel(FakeGPT):
    """A model that gives, in place of logits, what the heads of block `layer` hand to out_proj, hooks included."""

    def __init__(self, config: GPTConfig, fill: Callable[[str, torch.Size], Tensor], layer: int) -> None:
        super().__init__(config, fill)
        self.listener = _RecordingLinear(config.d_model, config.d_model)
        self.blocks[layer].attn.out_proj = self.listener

    def forward(self, tokens: Tensor) -> Tensor:
        super().forward(tokens)
        return self.listener.last_input


@torch.no_grad()
def view_without_hooks(result: object, model: nn.Module, *rest: object) -> object:
    """The result; what the model, its hooks removed, then gives for a text of its own; and two facts: how many hooks
    were still in it, and whether it is in training mode."""
    if result is None:
        return None
    hooks = [held for part in model.modules() for held in (part._forward_hooks, part._forward_pre_hooks)]
    facts = torch.tensor([float(sum(map(len, hooks))), float(model.training)])
    for held in hooks:
        held.clear()
    return result, model(torch.arange(4)[None] % model.config.vocab_size), facts
