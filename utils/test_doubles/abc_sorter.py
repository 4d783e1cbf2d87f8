"""Lesson 09: a model that does not sort, to ask for letters."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.models.abc_sorter import SEP


class FakeSorter(nn.Module):
    """Continues in its own odd way, and often likes the separator best: only asking it tells what it would say."""

    def __init__(self, rand: Callable[..., Tensor]) -> None:
        super().__init__()
        self.table = nn.Parameter(rand(7, 4, 4), requires_grad=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits [batch, seq, 4] that depend on the whole past."""
        seen = F.one_hot(tokens, 4).float() * torch.arange(1, tokens.shape[1] + 1)[None, :, None]
        past = seen.cumsum(1)
        logits = torch.einsum("bsv,svw->bsw", past, self.table[: tokens.shape[1]]).sin() * 3
        logits[..., SEP] += 2.0
        return logits
