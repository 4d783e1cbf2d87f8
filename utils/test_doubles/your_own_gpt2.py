"""Provide test doubles for lesson 12: a small GPT-2 whose parts have the names from the lesson.

An answer can call the whole model or its parts. With `strict=True`, only the first pass (the prompt) may have several
positions. In a later pass, the model, W_key and W_value raise an error if they get several positions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.models.your_own_gpt2 import GPTConfig

if TYPE_CHECKING:
    from jaxtyping import Float, Int

REFUSAL_PHRASE = "together in a pass after the prompt"


class _Norm(nn.Module):
    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.w, self.b = (nn.Parameter(torch.zeros(config.d_model)) for _ in "wb")
        self.eps = config.eps

    def forward(self, x: Tensor) -> Tensor:
        return F.layer_norm(x, self.w.shape, self.w, self.b, self.eps)


class _SinglePositionLinear(nn.Linear):
    """A linear layer. If strict, only its first call may have several positions. A later error names `label`."""

    def __init__(self, n_inputs: int, n_outputs: int, label: str, strict: bool) -> None:
        super().__init__(n_inputs, n_outputs)
        self.label, self.strict, self._called = label, strict, False

    def forward(self, input: Tensor) -> Tensor:
        if self.strict and self._called and input.dim() > 2 and input.shape[-2] > 1:
            raise RuntimeError(f"{input.shape[-2]} positions went through {self.label} {REFUSAL_PHRASE}")
        self._called = True
        return super().forward(input)


class _Attention(nn.Module):
    def __init__(self, config: GPTConfig, strict: bool) -> None:
        super().__init__()
        d = config.d_model
        self.W_query, self.W_key, self.W_value = (
            _SinglePositionLinear(d, d, label, strict) for label in ("the model", "W_key", "W_value")
        )
        self.out_proj = nn.Linear(d, d)
        self.num_heads = config.n_heads

    def forward(self, x: Tensor) -> Tensor:
        heads = [f(x).unflatten(-1, (self.num_heads, -1)) for f in (self.W_query, self.W_key, self.W_value)]
        contexts = F.scaled_dot_product_attention(*(t.transpose(1, 2) for t in heads), is_causal=True)
        return self.out_proj(contexts.transpose(1, 2).flatten(2))


class _MLP(nn.Module):
    def __init__(self, config: GPTConfig, strict: bool) -> None:
        super().__init__()
        d = config.d_model
        self.c_fc, self.c_proj = _SinglePositionLinear(d, 4 * d, "the model", strict), nn.Linear(4 * d, d)

    def forward(self, x: Tensor) -> Tensor:
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class _Block(nn.Module):
    def __init__(self, config: GPTConfig, strict: bool) -> None:
        super().__init__()
        self.ln_1, self.attn = _Norm(config), _Attention(config, strict)
        self.ln_2, self.mlp = _Norm(config), _MLP(config, strict)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class FakeGPT(nn.Module):
    """A GPT with the sizes in `config`. `fill(name, shape)` returns the value of each parameter."""

    def __init__(self, config: GPTConfig, fill: Callable[[str, torch.Size], Tensor], strict: bool = False) -> None:
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList(_Block(config, strict) for _ in range(config.n_layers))
        self.ln_f = _Norm(config)
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                parameter.copy_(fill(name, parameter.shape))

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T


def silence_mlp(block: nn.Module) -> None:
    """Add a hook that replaces the result of a block's MLP with zeros, as a later cell in the lesson does."""
    block.get_submodule("mlp").register_forward_hook(_return_zeros)


def _return_zeros(part: nn.Module, inputs: tuple, output: Tensor) -> Tensor:
    return 0 * output
