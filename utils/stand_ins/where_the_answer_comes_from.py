"""Lesson 13: what an answer has left behind in the model that it was given."""

import torch
from torch import nn


@torch.no_grad()
def and_afterwards(result: object, model: nn.Module, *rest: object) -> object:
    """The result; what the model, its hooks removed, then gives for a text of its own; and two facts: how many hooks
    were still in it, and whether it is in training mode."""
    if result is None:
        return None
    hooks = [held for part in model.modules() for held in (part._forward_hooks, part._forward_pre_hooks)]
    facts = torch.tensor([float(sum(map(len, hooks))), float(model.training)])
    for held in hooks:
        held.clear()
    return result, model(torch.arange(4)[None] % model.config.vocab_size), facts
