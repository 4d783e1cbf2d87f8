"""Sizes and checkpoints for lesson 12: the configuration of a GPT-2, its stored tensors, and a parameter loader."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from utils.gpt2.layer0 import Checkpoint
from utils.gpt2.sources import Source, source
from utils.models.lesson_models import load_parameters

PREFIX = "transformer."  # save_pretrained adds this prefix to every name
# Some files also contain the causal mask of each layer, and the embedding a second time, as the output head.
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

    @classmethod
    def from_source(cls, where: Source) -> GPTConfig:
        """Read the configuration of a GPT-2 on disk."""
        return cls(where.vocab_size, where.n_positions, where.d_model, where.n_layers, where.n_heads, where.epsilon)


def shapes(config: GPTConfig) -> dict[str, list[int]]:
    """Map the name of every tensor of a checkpoint (without a prefix) to its shape."""
    d = config.d_model
    layer = {
        "ln_1.weight": [d],
        "ln_1.bias": [d],
        "attn.c_attn.weight": [d, 3 * d],
        "attn.c_attn.bias": [3 * d],
        "attn.c_proj.weight": [d, d],
        "attn.c_proj.bias": [d],
        "ln_2.weight": [d],
        "ln_2.bias": [d],
        "mlp.c_fc.weight": [d, 4 * d],
        "mlp.c_fc.bias": [4 * d],
        "mlp.c_proj.weight": [4 * d, d],
        "mlp.c_proj.bias": [d],
    }
    layers = {f"h.{i}.{name}": shape for i in range(config.n_layers) for name, shape in layer.items()}
    ends = {"ln_f.weight": [d], "ln_f.bias": [d]}
    return {"wte.weight": [config.vocab_size, d], "wpe.weight": [config.n_positions, d], **layers, **ends}


def named(tensors: Mapping[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors by their plain names, after a check that they are complete and have the right
    shapes.

    The prefix `transformer.` is removed. Entries that are not parameters are left out: stored masks, and the output
    head, which is the embedding.

    Raises:
        ValueError: a tensor is missing or superfluous, or its shape differs from `config`; the message names the
            tensors and shapes.
    """
    tensors_by_name = {name.removeprefix(PREFIX): value for name, value in tensors.items()}
    tensors_by_name = {name: value for name, value in tensors_by_name.items() if not name.endswith(_NO_PARAMETERS)}
    expected_shapes = shapes(config)
    faults = [f"{name} {expected_shapes[name]} is missing" for name in expected_shapes.keys() - tensors_by_name.keys()]
    faults += [
        f"{name} {list(tensors_by_name[name].shape)} is superfluous"
        for name in tensors_by_name.keys() - expected_shapes.keys()
    ]
    faults += [
        f"{name} is {list(tensors_by_name[name].shape)}, expected {expected_shapes[name]}"
        for name in expected_shapes.keys() & tensors_by_name.keys()
        if list(tensors_by_name[name].shape) != expected_shapes[name]
    ]
    if faults:
        more = f"; and {len(faults) - 3} more" if len(faults) > 3 else ""
        raise ValueError(f"This checkpoint does not fit {config}: {'; '.join(sorted(faults)[:3])}{more}.")
    return tensors_by_name


def checkpoint() -> tuple[dict[str, Tensor], GPTConfig]:
    """Read every tensor of the installed GPT-2, by its name in the file, and its configuration.

    Raises:
        WeightsError: the file is damaged.
    """
    checkpoint_source = source()
    with Checkpoint(checkpoint_source) as file:
        tensors = {name: file.read_tensor(name) for name in file.tensor_names() if not name.startswith("wte.")}
        # The small GPT-2 stores only the trained rows, and one row for all other tokens.
        whole = "wte.weight" in file.tensor_names()
        tensors["wte.weight"] = (
            file.read_tensor("wte.weight")
            if whole
            else file.read_embeddings(torch.arange(checkpoint_source.vocab_size))
        )
    return tensors, GPTConfig.from_source(checkpoint_source)


def load(model: nn.Module, state: Mapping[str, Tensor]) -> nn.Module:
    """Load the parameters of `state` into the model, and return it in eval mode; its buffers do not change.

    Raises:
        ValueError: the name or shape of a parameter differs from `state`.
    """
    try:
        load_parameters(model, state)
    except ValueError as error:
        raise ValueError(f"The state does not fit the model: {error}.") from None
    return model.eval()
