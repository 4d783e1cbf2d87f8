"""Provide test doubles for lesson 08: a letter tokenizer, and models for generation and for one training step."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.models.toy_transformer import STOP

if TYPE_CHECKING:
    from jaxtyping import Float, Int

_LETTERS = "_abcdefgh. "  # the index of each character is its token id


class LetterTokenizer:
    """A tokenizer for the letters a to h, the full stop and the space. The id of "a" is 1; id 0 is decoded as "_"."""

    def encode(self, text: str, return_tensors: str | None = None) -> list[int] | Int[Tensor, "1 seq"]:
        ids = [_LETTERS.index(c) for c in text]
        return torch.tensor([ids]) if return_tensors == "pt" else ids

    def decode(self, ids: int | list[int] | Int[Tensor, "*seq"]) -> str:
        ids = ids.tolist() if isinstance(ids, Tensor) else ids
        return "".join(_LETTERS[i] for i in ([ids] if isinstance(ids, int) else ids))

    def batch_decode(self, rows: list[int] | list[list[int]] | Int[Tensor, "batch *seq"]) -> list[str]:
        return [self.decode(row) for row in rows]


class FakeTextModel(nn.Module):
    """A model that predicts the next letter from the whole text. When the text has a given length, it predicts STOP.

    Args:
        table: a tensor [9, 9] that maps the tokens so far to the next letter.
        stop_length: the length of the text at which the model predicts STOP; None for never. For a longer text, the
            model predicts letters again.
        forced_characters: maps a length of the text to the character that the model predicts after it. If the prompt is
            longer, this prediction is not at the last position.

    If an answer never stops calling the model, the model raises a RuntimeError.
    """

    def __init__(
        self, table: Tensor, stop_length: int | None = None, forced_characters: dict[int, str] | None = None
    ) -> None:
        super().__init__()
        # The table is a parameter, because an answer may look up the model's device in `model.parameters()`.
        self.table = nn.Parameter(table, requires_grad=False)
        self.part = nn.Identity()  # a submodule has its own training mode
        self.stop_length, self._n_calls = stop_length, 0
        self.forced_characters = forced_characters or {}

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq 11"]:
        """Return the logits of the next letters.

        Raises:
            RuntimeError: the text is too long, or there were too many calls.
            ValueError: a token is not one of the 11.
        """
        self._n_calls += 1
        # A sweep may use a prompt of 300 letters. All runs in one check together call the model fewer than 1000 times.
        if src.shape[1] > 1000 or self._n_calls > 3000:
            raise RuntimeError(
                "your loop calls the model without end. It must end after max_len rounds (28 by default), even if the"
                " model never predicts STOP."
            )
        if src.numel() and int(src.max()) >= len(_LETTERS):
            raise ValueError(
                f"the text holds the id {int(src.max())}, but this model has only the tokens 0 to {len(_LETTERS) - 1}."
                " An argmax over one position's logits is a token; over all positions it is an index into a table."
            )
        letters, places = F.one_hot(src, len(_LETTERS))[..., :9].float(), torch.arange(1, src.shape[1] + 1)
        weighted_tokens = letters * places[None, :, None]
        logits = F.pad((weighted_tokens.cumsum(1) @ self.table).sin() * 5, (0, len(_LETTERS) - 9), value=-19.0)
        logits[..., STOP] = -20.0
        for length, character in self.forced_characters.items():
            if src.shape[1] >= length:
                logits[:, length - 1, _LETTERS.index(character)] = 20.0
        if self.stop_length is not None and src.shape[1] >= self.stop_length:
            logits[:, self.stop_length - 1, STOP] = 20.0
        return logits


class FakeOptimizer:
    """An optimizer with torch's interface that counts its steps. It avoids the slow import of torch's optimizers.

    Each parameter has its own group, as in code that applies weight decay only to some parameters.

    Args:
        rate: the learning rate.
        signs: use only the signs of the gradients, like Adam in its first step.
    """

    def __init__(self, parameters: list[nn.Parameter], rate: float, signs: bool) -> None:
        self.rate, self.signs = rate, signs
        self.restart(parameters)

    def restart(self, parameters: list[nn.Parameter]) -> None:
        """Forget all steps. From now on, update these parameters with the original learning rate."""
        self.param_groups, self.state = [{"params": [p], "lr": self.rate} for p in parameters], {}
        self.steps = 0

    def zero_grad(self, set_to_none: bool = True) -> None:
        for p in (p for group in self.param_groups for p in group["params"]):
            p.grad = None if set_to_none or p.grad is None else torch.zeros_like(p)

    def step(self, closure: Callable[[], Float[Tensor, ""]] | None = None) -> Float[Tensor, ""] | None:
        loss = closure() if closure else None
        self.steps += 1
        with torch.no_grad():
            for group in self.param_groups:
                for p in (p for p in group["params"] if p.grad is not None):
                    p -= group["lr"] * (p.grad.sign() if self.signs else p.grad)
        return loss


class FakeTrainableModel(nn.Module):
    """A model for one training step: a table of logits for the next token, and a bias.

    The logits differ between eval mode and training mode, as in a model with dropout. Each answer gets a copy of the
    model, and the optimizer always updates the newest copy.

    Args:
        table: the logits in training mode, divided by the gain, without the bias, [vocab, vocab].
        bias: the bias in the logits, divided by the gain, [vocab]. It is a parameter with one axis, as in a real model.
        signs: whether the optimizer uses only the signs of the gradients.
        fresh: whether copies start without gradients. Otherwise, they have gradients, as after an earlier batch.
        gain: multiplies the logits. A large gain gives large gradients.
    """

    def __init__(
        self,
        table: Tensor,
        bias: Tensor,
        signs: bool = False,
        optimizer: FakeOptimizer | None = None,
        fresh: bool = False,
        gain: float = 3.0,
    ) -> None:
        super().__init__()
        self.fresh, self.gain = fresh, gain
        self.table, self.bias = nn.Parameter(table), nn.Parameter(bias)
        self.start = [p.detach().clone() for p in self.parameters()]
        self.optimizer = optimizer or FakeOptimizer(list(self.parameters()), 0.1 if signs else 0.5, signs)

    def __deepcopy__(self, memo: dict[int, object]) -> FakeTrainableModel:
        table, bias = (p.detach().clone() for p in self.parameters())
        twin = FakeTrainableModel(table, bias, optimizer=self.optimizer, fresh=self.fresh, gain=self.gain)
        for p in twin.parameters():
            p.grad = None if self.fresh else p.detach().roll(1, 0)
        # Restart the optimizer, because an answer may have changed its learning rate.
        self.optimizer.restart(list(twin.parameters()))
        return twin.train(self.training)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        """Return the logits for the next tokens."""
        return self.gain * (1.0 if self.training else 0.5) * (self.table[src] + self.bias)


def view_training_step(result: Any, model: FakeTrainableModel, optimizer: FakeOptimizer, batch: tuple) -> object:
    """Collect the effects of one training step.

    Returns:
        The parameters (the table, with the bias as its last row), the loss, and four facts. The first two say whether
        the result is a float, and whether the model is in training mode. The third is 1 if a parameter changed, 0 if
        none changed although there are gradients, and -1 if none changed and there are no gradients. The fourth is the
        number of steps that the optimizer took.
    """
    if result is None:
        return None
    loss = result
    if hasattr(result, "__float__"):
        # A result with several numbers cannot be converted to a float. In that case, the check compares the
        # shape of the result.
        with contextlib.suppress(TypeError, ValueError, RuntimeError):
            loss = torch.tensor(float(result), dtype=torch.float64)
    changed = not all(map(torch.equal, model.parameters(), model.start))
    has_gradients = any(p.grad is not None and p.grad.any() for p in model.parameters())
    facts = isinstance(result, float), model.training, 1 if changed else 0 if has_gradients else -1, optimizer.steps
    table = torch.vstack([model.table, model.bias]).detach()
    return table, loss, torch.tensor([float(fact) for fact in facts])


def remove_last_layer(model: nn.Module) -> None:
    """Remove the last layer of a CogModel, as a later cell in the lesson does."""
    layers = model.get_submodule("layers")
    assert isinstance(layers, nn.ModuleList)
    del layers[-1]
