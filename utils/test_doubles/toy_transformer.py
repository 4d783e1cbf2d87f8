"""Lesson 08: a tokenizer of eight letters and a model that goes on in its own way, to let a loop write with; a model to
make one training step with."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.models.toy_transformer import STOP

_LETTERS = "_abcdefgh. "  # the place of a character is its id


class LetterTokenizer:
    """A tokenizer of lower-case letters, the full stop and the space: a is 1, b is 2; 0, shown as _, is nothing."""

    def encode(self, text: str, return_tensors: str | None = None) -> list[int] | Tensor:
        ids = [_LETTERS.index(c) for c in text]
        return torch.tensor([ids]) if return_tensors == "pt" else ids

    def decode(self, ids: int | list[int] | Tensor) -> str:
        ids = ids.tolist() if isinstance(ids, Tensor) else ids
        return "".join(_LETTERS[i] for i in ([ids] if isinstance(ids, int) else ids))

    def batch_decode(self, rows: list | Tensor) -> list[str]:
        return [self.decode(row) for row in rows]


class FakeTextModel(nn.Module):
    """Goes on in letters that depend on the whole text, and says STOP when the text has a given length, or never.

    Args:
        table: [9, 9], what is said after what.
        stop: the length of text at which it says STOP; None for never.
        says: the lengths at which it says a certain character, and then goes on; at one that lies within the prompt
            it says that of a place which is not the last.

    Stops a loop that does not end, with a RuntimeError.
    """

    def __init__(
        self, table: Tensor, stop_length: int | None = None, forced_characters: dict[int, str] | None = None
    ) -> None:
        super().__init__()
        self.table, self.stop, self.says, self.asked = table, stop_length, forced_characters or {}, 0

    def forward(self, src: Tensor) -> Tensor:
        """Tokens [batch, seq] to logits [batch, seq, 11]."""
        self.asked += 1
        if src.shape[1] > 80 or self.asked > 3000:  # every answer to a check together asks less than 1000 times
            raise RuntimeError(
                "the model is asked without end. It never says stop here; after max_len rounds, 28 unless told"
                " otherwise, the loop ends all the same."
            )
        if src.numel() and int(src.max()) >= len(_LETTERS):
            raise ValueError(
                f"the text holds the id {int(src.max())}, and this model has the tokens 0 to {len(_LETTERS) - 1}. The"
                " best of one position's logits is a token; the best of all positions' is a place in a table."
            )
        seen = F.one_hot(src, len(_LETTERS))[..., :9].float() * torch.arange(1, src.shape[1] + 1)[None, :, None]
        logits = F.pad((seen.cumsum(1) @ self.table).sin() * 5, (0, len(_LETTERS) - 9), value=-19.0)
        logits[..., STOP] = -20.0
        for length, character in self.says.items():
            if src.shape[1] >= length:
                logits[:, length - 1, _LETTERS.index(character)] = 20.0
        if self.stop is not None and src.shape[1] >= self.stop:
            logits[:, self.stop - 1 :, STOP] = 20.0
        return logits


class FakeOptimizer:
    """An optimizer that is called as torch's are and counts its steps; torch's own import a compiler first.

    Args:
        signs: step along the signs of the gradients, whatever their length, as Adam's first step does.
    """

    def __init__(self, parameters: list, rate: float, signs: bool) -> None:
        self.param_groups, self.state = [{"params": parameters, "lr": rate}], {}
        self.signs, self.steps = signs, 0

    def zero_grad(self, set_to_none: bool = True) -> None:
        for p in self.param_groups[0]["params"]:
            p.grad = None if set_to_none or p.grad is None else torch.zeros_like(p)

    def step(self, closure: Callable | None = None) -> Tensor | None:
        loss = closure() if closure else None
        self.steps += 1
        group = self.param_groups[0]
        with torch.no_grad():
            for p in group["params"]:
                if p.grad is not None:
                    p -= group["lr"] * (p.grad.sign() if self.signs else p.grad)
        return loss


class FakeTrainableModel(nn.Module):
    """A table of what follows which token, to make one training step with. Unless it is `fresh`, it comes from an
    earlier batch, whose gradients are still there; in eval mode it answers otherwise than in training, as a model with
    dropout does.

    Args:
        table: [vocab, vocab], logits / 3.
        signs: whether its `optimizer` steps along the signs of the gradients.
        fresh: whether no backward has run on it yet.

    An answer is run on a copy of it, and the optimizer goes with the newest copy.
    """

    def __init__(
        self, table: Tensor, signs: bool = False, optimizer: FakeOptimizer | None = None, fresh: bool = False
    ) -> None:
        super().__init__()
        self.fresh = fresh
        self.table, self.start = nn.Parameter(table), table.clone()
        self.optimizer = optimizer or FakeOptimizer([self.table], 0.1 if signs else 0.5, signs)

    def __deepcopy__(self, memo: dict) -> FakeTrainableModel:
        twin = FakeTrainableModel(self.start.clone(), optimizer=self.optimizer, fresh=self.fresh)
        twin.table.grad = None if self.fresh else self.start.roll(1, 0)
        self.optimizer.param_groups[0]["params"] = [twin.table]
        self.optimizer.steps = 0
        return twin.train(self.training)

    def forward(self, src: Tensor) -> Tensor:
        """Tokens [batch, seq] to logits [batch, seq, vocab]."""
        return (3.0 if self.training else 1.5) * self.table[src]


def view_training_step(result: object, model: FakeTrainableModel, optimizer: FakeOptimizer, batch: tuple) -> object:
    """What a training step returned and left behind: the loss, the table, and four facts: a float was returned; the
    model is in training mode; the table moved (1), or did not though it has gradients (0), or has none (-1); how many
    steps the optimizer made.
    """
    if result is None:
        return None
    one = isinstance(result, (int, float)) or (isinstance(result, Tensor) and result.numel() == 1)
    loss = torch.tensor(float(result), dtype=torch.float64) if one else result
    table, grad = model.table.detach().clone(), model.table.grad
    moved = 1 if not torch.equal(table, model.start) else 0 if grad is not None and grad.any() else -1
    facts = isinstance(result, float), model.training, moved, optimizer.steps
    return loss, table, torch.tensor([float(fact) for fact in facts])
