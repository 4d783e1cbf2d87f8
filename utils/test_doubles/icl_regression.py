"""Provide test doubles for lesson 10: an attention layer with random weights. Answers compute its circuits."""

from collections.abc import Callable

from torch import Tensor, nn


class FakeQueryAttention(nn.Module):
    """The projections of a QueryAttention, without biases. `rand(*shape)` samples the weights."""

    def __init__(self, n_embd: int, n_head: int, n_out: int, rand: Callable[..., Tensor]) -> None:
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        inside = n_head * n_embd
        for name, (rows, columns) in {**dict.fromkeys("qkv", (inside, n_embd)), "o": (n_out, inside)}.items():
            layer = nn.Linear(columns, rows, bias=False)
            layer.weight.data = rand(rows, columns)
            setattr(self, f"{name}_proj", layer)
