"""Provide sizes and checkpoints for lesson 12: a GPT-2's configuration, its stored tensors, and a parameter loader."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torch import Tensor, nn

from utils.gpt2.layer0 import Checkpoint
from utils.gpt2.sources import source
from utils.models.lesson_models import load_parameters

if TYPE_CHECKING:
    from jaxtyping import Float

PREFIX = "transformer."  # save_pretrained adds this prefix to every name
# Some files also contain each layer's causal mask, and a second copy of the embedding as the output head.
_NO_PARAMETERS = (".attn.bias", ".attn.masked_bias", "lm_head.weight")


@dataclass(frozen=True)
class GPTConfig:
    """The sizes of a GPT-2, and the epsilon of its layer norms."""

    vocab_size: int
    n_positions: int
    d_model: int
    n_layers: int
    n_heads: int
    eps: float = 1e-5


def shapes(config: GPTConfig) -> dict[str, list[int]]:
    """Map the name of each tensor in a checkpoint, without the prefix `transformer.`, to the tensor's shape."""
    d = config.d_model
    weights = {
        "ln_1": [d], "attn.c_attn": [d, 3 * d], "attn.c_proj": [d, d],
        "ln_2": [d], "mlp.c_fc": [d, 4 * d], "mlp.c_proj": [4 * d, d],
    }  # fmt: skip
    parts = {f"h.{i}.{part}": shape for i in range(config.n_layers) for part, shape in weights.items()} | {"ln_f": [d]}
    names = {"wte.weight": [config.vocab_size, d], "wpe.weight": [config.n_positions, d]}
    for part, shape in parts.items():
        names |= {f"{part}.weight": shape, f"{part}.bias": shape[-1:]}
    return names


def named(tensors: Mapping[str, Float[Tensor, "..."]], config: GPTConfig) -> dict[str, Float[Tensor, "..."]]:
    """Check a checkpoint's names and shapes. Return its tensors by name, without the prefix `transformer.`

    Entries that are not parameters are left out: stored masks, and the output head, which equals the embedding.

    Raises:
        ValueError: a tensor is missing or superfluous, or its shape differs from `config`. The message names the
            tensors and shapes.
    """
    stored = {name.removeprefix(PREFIX): t for name, t in tensors.items() if not name.endswith(_NO_PARAMETERS)}
    wanted, found = shapes(config), {name: list(t.shape) for name, t in stored.items()}
    faults = [f"{name} {wanted[name]} is missing" for name in wanted.keys() - found.keys()]
    faults += [f"{name} {found[name]} is superfluous" for name in found.keys() - wanted.keys()]
    common = wanted.keys() & found.keys()
    faults += [f"{name} is {found[name]}, expected {wanted[name]}" for name in common if found[name] != wanted[name]]
    if faults:
        more = f"; and {len(faults) - 3} more" if len(faults) > 3 else ""
        raise ValueError(f"This checkpoint does not fit {config}: {'; '.join(sorted(faults)[:3])}{more}.")
    return stored


def checkpoint() -> tuple[dict[str, Float[Tensor, "..."]], GPTConfig]:
    """Return the tensors of the installed GPT-2, by name, and its configuration.

    The names have no prefix `transformer.`, and `wte.weight` has a row for each token.

    Raises:
        WeightsError: the file is damaged.
    """
    where = source()
    config = GPTConfig(where.vocab_size, where.n_positions, where.d_model, where.n_layers, where.n_heads, where.epsilon)
    with Checkpoint(where) as file:
        return file.read_all(), config


def load(model: nn.Module, state: Mapping[str, Float[Tensor, "..."]]) -> nn.Module:
    """Load the parameters in `state` into the model. Return the model in eval mode. The buffers do not change.

    Raises:
        ValueError: the name or shape of a parameter differs from `state`.
    """
    load_parameters(model, state, "The state does not fit the model: {}.")
    return model.eval()
