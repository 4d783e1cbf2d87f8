"""Lesson 08: a tokenizer of eight letters and a model that goes on in its own way, to let a loop write with."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.models.toy_transformer import STOP

_LETTERS = "_abcdefgh."  # the place of a character is its id; the model never says the last


class Speller:
    """A tokenizer of lower-case letters and the full stop: a is 1, b is 2; 0 is nothing."""

    def encode(self, text: str, return_tensors: str | None = None) -> list[int] | Tensor:
        ids = [_LETTERS.index(c) for c in text]
        return torch.tensor([ids]) if return_tensors == "pt" else ids

    def decode(self, ids: int | list[int] | Tensor) -> str:
        ids = ids.tolist() if isinstance(ids, Tensor) else ids
        return "".join(_LETTERS[i] for i in ([ids] if isinstance(ids, int) else ids))

    def batch_decode(self, rows: list | Tensor) -> list[str]:
        return [self.decode(row) for row in rows]


class Rambler(nn.Module):
    """Goes on in a way that depends on the whole text, and says STOP when the text has a given length, or never.

    Args:
        table: [9, 9], what is said after what.
        stop: the length of text at which it says STOP; None for never.

    Stops a loop that does not end, with a RuntimeError.
    """

    def __init__(self, table: Tensor, stop: int | None = None) -> None:
        super().__init__()
        self.table, self.stop, self.asked = table, stop, 0

    def forward(self, src: Tensor) -> Tensor:
        """Tokens [batch, seq] to logits [batch, seq, 9]."""
        self.asked += 1
        if src.shape[1] > 80 or self.asked > 3000:  # every answer to a check together asks less than 1000 times
            raise RuntimeError(
                "the model is asked without end. It never says stop here; after max_len rounds, 28 unless told"
                " otherwise, the loop ends all the same."
            )
        if src.numel() and int(src.max()) > 8:
            raise ValueError(
                f"the text holds the id {int(src.max())}, and this model has the tokens 0 to 8. The best of one"
                " position's logits is a token; the best of all positions' is a place in a table."
            )
        seen = F.one_hot(src, 9).float() * torch.arange(1, src.shape[1] + 1)[None, :, None]
        logits = (seen.cumsum(1) @ self.table).sin() * 5
        logits[..., STOP] = -20.0
        if self.stop is not None and src.shape[1] >= self.stop:
            logits[:, self.stop - 1 :, STOP] = 20.0
        return logits
