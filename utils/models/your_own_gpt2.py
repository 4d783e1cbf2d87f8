"""Lesson 12: what a GPT-2 is made of by numbers, and the tensors of the one that is here, as its file holds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from utils.gpt2.layer0 import Checkpoint
from utils.gpt2.sources import Source, source
from utils.models.lesson_models import load_parameters

PREFIX = "transformer."  # before every name in a file that save_pretrained wrote
# What some files hold besides: the causal mask of each layer, and the embedding once more, as the head.
_NO_PARAMETERS = (".attn.bias", ".attn.masked_bias", "lm_head.weight")


@dataclass(frozen=True)
class GPTConfig:
    """The sizes of a GPT-2, and the eps of its layer norms."""

    vocab_size: int
    n_positions: int
    d_model: int
    n_layers: int
    n_heads: int
    eps: float = 1e-5

    @classmethod
    def from_source(cls, where: Source) -> GPTConfig:
        """Of a GPT-2 on disk."""
        return cls(where.vocab_size, where.n_positions, where.d_model, where.n_layers, where.n_heads, where.epsilon)


def shapes(config: GPTConfig) -> dict[str, list[int]]:
    """Every tensor of a checkpoint by its name (without a prefix), and its shape."""
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
    """A checkpoint's tensors by their plain names, all of them and no others.

    A prefix `transformer.` goes, and so does what is no parameter: stored masks, and the head, which is the embedding.

    Raises:
        ValueError: a tensor is missing, superfluous, or has another shape than `config` says; named with both shapes.
    """
    found = {name.removeprefix(PREFIX): value for name, value in tensors.items()}
    found = {name: value for name, value in found.items() if not name.endswith(_NO_PARAMETERS)}
    wanted = shapes(config)
    faults = [f"{name} {wanted[name]} is missing" for name in wanted.keys() - found.keys()]
    faults += [f"{name} {list(found[name].shape)} is superfluous" for name in found.keys() - wanted.keys()]
    faults += [
        f"{name} is {list(found[name].shape)}, and {wanted[name]} is expected"
        for name in wanted.keys() & found.keys()
        if list(found[name].shape) != wanted[name]
    ]
    if faults:
        more = f"; and {len(faults) - 3} more" if len(faults) > 3 else ""
        raise ValueError(f"This checkpoint does not fit {config}: {'; '.join(sorted(faults)[:3])}{more}.")
    return found


def checkpoint() -> tuple[dict[str, Tensor], GPTConfig]:
    """Every tensor of the GPT-2 that is here, by its name in the file, and its sizes.

    Raises:
        WeightsError: the file is damaged.
    """
    where = source()
    with Checkpoint(where) as file:
        tensors = {name: file.read_tensor(name) for name in file.tensor_names() if not name.startswith("wte.")}
        # the small one keeps the rows that were trained, and one for all others
        whole = "wte.weight" in file.tensor_names()
        tensors["wte.weight"] = (
            file.read_tensor("wte.weight") if whole else file.read_embeddings(torch.arange(where.vocab_size))
        )
    return tensors, GPTConfig.from_source(where)


def load(model: nn.Module, state: Mapping[str, Tensor]) -> nn.Module:
    """The model with the parameters of `state`, after eval(); its buffers stay its own.

    Raises:
        ValueError: a parameter has another name or shape than in `state`.
    """
    try:
        load_parameters(model, state)
    except ValueError as error:
        raise ValueError(f"The state does not fit the model: {error}.") from None
    return model.eval()
