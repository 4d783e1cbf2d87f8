"""Provide test doubles for lesson 09: a fake letter sorter, which does not sort."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.models.abc_sorter import SEP

if TYPE_CHECKING:
    from jaxtyping import Float, Int


class FakeSorter(nn.Module):
    """A model whose predictions follow no simple rule, so that an answer cannot guess them but has to call the model.

    It often predicts the separator.
    """

    def __init__(self, rand: Callable[..., Tensor]) -> None:
        super().__init__()
        self.table = nn.Parameter(rand(7, 4, 4), requires_grad=False)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq 4"]:
        """Return logits that depend on all tokens so far."""
        weighted_tokens = F.one_hot(tokens, 4).float() * torch.arange(1, tokens.shape[1] + 1)[None, :, None]
        past = weighted_tokens.cumsum(1)
        logits = torch.einsum("bsv,svw->bsw", past, self.table[: tokens.shape[1]]).sin() * 3
        logits[..., SEP] += 2.0
        return logits
