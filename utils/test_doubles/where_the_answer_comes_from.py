"""Lesson 13: a model that returns the input of out_proj, and a view of the model after the call."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from utils.models.your_own_gpt2 import GPTConfig
from utils.test_doubles.your_own_gpt2 import FakeGPT


class _RecordingLinear(nn.Linear):
    """A linear layer that records its last input."""

    def forward(self, x: Tensor) -> Tensor:
        self.last_input = x
        return super().forward(x)


class HeadOutputModel(FakeGPT):
    """A model that returns, instead of logits, the input of out_proj in block `layer` after all hooks."""

    def __init__(self, config: GPTConfig, fill: Callable[[str, torch.Size], Tensor], layer: int) -> None:
        super().__init__(config, fill)
        self.recorder = _RecordingLinear(config.d_model, config.d_model)
        self.blocks[layer].attn.out_proj = self.recorder

    def forward(self, tokens: Tensor) -> Tensor:
        super().forward(tokens)
        return self.recorder.last_input


@torch.no_grad()
def view_without_hooks(result: object, model: nn.Module, *rest: object) -> object:
    """Collect the result of a call and the state of the model after the call, and remove all hooks.

    Returns:
        The result, the model's logits for a fixed text, and two facts: the number of hooks that the answer did not
        remove, and whether the model is in training mode.
    """
    if result is None:
        return None
    hooks = [registry for part in model.modules() for registry in (part._forward_hooks, part._forward_pre_hooks)]
    facts = torch.tensor([float(sum(map(len, hooks))), float(model.training)])
    for registry in hooks:
        registry.clear()
    return result, model(torch.arange(4)[None] % model.config.vocab_size), facts
