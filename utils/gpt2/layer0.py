"""Read the inputs and weights of attention in layer 0 of a GPT-2 from its file, without loading the model."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from utils.gpt2.sources import CONFIG, INDEX, WEIGHTS, Source, WeightsError, remedy_for, source
from utils.gpt2.tokenizer import backend_tokenizer


def get_pre_attn(prompt: str, path: str | os.PathLike | None = None) -> tuple[list[str], Float[Tensor, "seq d_model"]]:
    """Return the prompt's tokens as strings, and the input of layer 0's attention.

    The input is the sum of token and position embeddings, normalised by `ln_1`.

    Raises:
        ValueError: the prompt is empty, or has more tokens than the model has positions.
        WeightsError: the file is damaged, or a tensor has the wrong shape or is not finite.
    """
    weights = source(path)
    ids = encode_prompt(prompt, weights)
    with Checkpoint(weights) as checkpoint:
        x = checkpoint.read_embeddings(ids) + checkpoint.read_tensor(
            "wpe.weight", [weights.n_positions, weights.d_model], rows=(0, len(ids))
        )
        w, b = (checkpoint.read_tensor(f"h.0.ln_1.{part}", [weights.d_model]) for part in ("weight", "bias"))
    tokens = [backend_tokenizer().decode([i], skip_special_tokens=False) for i in ids.tolist()]
    return tokens, F.layer_norm(x, (weights.d_model,), w, b, weights.epsilon)


def get_split_l0_heads(head_idx: int, bias: bool = False, path: str | os.PathLike | None = None) -> tuple[Tensor, ...]:
    """Return the query and key weights of one head of layer 0.

    Args:
        head_idx: the index of the head, from 0 to n_heads - 1.
        bias: whether to return the biases too. GPT-2 computes its queries as `x @ W_Q + b_Q`.

    Returns:
        (W_Q, W_K), or (W_Q, W_K, b_Q, b_K) with `bias`. Weights are [d_model, d_head], and biases [d_head].
    """
    weights = source(path)
    (W_Q, b_Q), (W_K, b_K) = (_read_head(weights, head_idx, part) for part in (0, 1))
    return (W_Q, W_K, b_Q, b_K) if bias else (W_Q, W_K)


def get_l0_values(
    head_idx: int, path: str | os.PathLike | None = None
) -> tuple[Float[Tensor, "d_model d_head"], Float[Tensor, "d_head"]]:
    """Return the value weights and biases of one head of layer 0."""
    return _read_head(source(path), head_idx, 2)


def _read_head(weights: Source, head_idx: int, part: int) -> tuple[Tensor, Tensor]:
    """Read the weights and biases of one head's queries (part 0), keys (part 1) or values (part 2) from `c_attn`."""
    if isinstance(head_idx, bool) or not hasattr(head_idx, "__index__"):
        raise ValueError(f"head_idx must be a whole number; got {head_idx!r}.")
    head = head_idx.__index__()
    if not 0 <= head < weights.n_heads:
        raise ValueError(
            f"there is no head {head}: {weights.name} has {weights.n_heads} heads, from 0 to {weights.n_heads - 1}."
        )
    start = part * weights.d_model + head * weights.d_head
    columns, d = (start, start + weights.d_head), weights.d_model
    with Checkpoint(weights) as checkpoint:
        weight = checkpoint.read_tensor("h.0.attn.c_attn.weight", [d, 3 * d], columns=columns)
        return weight, checkpoint.read_tensor("h.0.attn.c_attn.bias", [3 * d], rows=columns)


def encode_prompt(prompt: str, weights: Source) -> Int[Tensor, "seq"]:
    """Return the prompt's token ids.

    Raises:
        ValueError: the prompt is not a string, cannot be encoded, is empty or is too long for the model.
        WeightsError: the model has fewer tokens than the tokenizer.
    """
    if not isinstance(prompt, str):
        raise ValueError(f"the prompt must be a string; got {type(prompt).__name__}.")
    try:
        ids = backend_tokenizer().encode(prompt).ids
    except TypeError:
        raise ValueError(
            "the prompt contains half of a surrogate pair, which is not a character and cannot be encoded as UTF-8."
        ) from None
    if not ids:
        raise ValueError(
            'the prompt is empty, but it needs at least one token. "<|endoftext|>" is the token that begins a text.'
        )
    if len(ids) > weights.n_positions:
        raise ValueError(
            f"the prompt has {len(ids)} tokens, but {weights.name} has {weights.n_positions} positions. Shorten it."
        )
    if max(ids) >= weights.vocab_size:
        raise WeightsError(
            f"{weights.path / CONFIG} says {weights.vocab_size} tokens, but GPT-2's tokenizer has 50257."
            f" {remedy_for(weights.path)}"
        )
    return torch.tensor(ids, device="cpu")


class Checkpoint:
    """The open safetensors files of a GPT-2, from which slices of tensors are read as float32.

    The names of tensors start with `transformer.` in files from save_pretrained, but not in the file on the hub.
    """

    def __init__(self, weights: Source) -> None:
        self.weights, self._files, self._locations = weights, contextlib.ExitStack(), {}

    def __enter__(self) -> Checkpoint:
        with contextlib.ExitStack() as self._files:
            for name in self._names():
                file = self._open(name)
                keys = file.keys()
                self._locations |= {key.removeprefix("transformer."): (file, key) for key in keys}
            # All files are open, so keep them open until __exit__. After an error, the stack closes them here.
            self._files = self._files.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()

    def _names(self) -> Sequence[str]:
        if (self.weights.path / WEIGHTS).exists():
            return [WEIGHTS]
        try:
            return sorted(
                set(json.loads((self.weights.path / INDEX).read_text(encoding="utf-8"))["weight_map"].values())
            )
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise WeightsError(
                f"{self.weights.path / INDEX} is damaged ({error}). {remedy_for(self.weights.path)}"
            ) from None

    def _open(self, name: str):
        from safetensors import SafetensorError, safe_open

        path = self.weights.path / name
        try:
            return self._files.enter_context(safe_open(path, framework="pt"))
        except (SafetensorError, OSError) as error:
            raise WeightsError(
                f"{path} cannot be read, because it is truncated or damaged ({error}). {remedy_for(self.weights.path)}"
            ) from None

    def tensor_names(self) -> list[str]:
        """Return the names of all tensors, without the prefix `transformer.`."""
        return list(self._locations)

    def read_tensor(
        self,
        name: str,
        shape: Sequence[int | None] | None = None,
        rows: tuple[int, int] | None = None,
        columns: tuple[int, int] | None = None,
    ) -> Float[Tensor, "..."]:
        """Read a tensor, or only its rows or columns from `start` to `stop`.

        Args:
            shape: the required shape of the whole tensor. None, as the shape or as one of its sizes, accepts anything.
        """
        tensor = self._slice(name, shape)
        if columns is not None:
            piece = tensor[:, columns[0] : columns[1]]
        else:
            piece = tensor[rows[0] : rows[1]] if rows is not None else tensor[:]
        return self._require_finite(name, piece)

    def read_rows(self, name: str, shape: Sequence[int | None], indices: Sequence[int]) -> Tensor:
        """Read some rows of a matrix, in the order of `indices`."""
        matrix = self._slice(name, shape)
        return self._require_finite(name, torch.cat([matrix[i : i + 1] for i in indices]))

    def read_embeddings(self, ids: Tensor) -> Float[Tensor, "seq d_model"]:
        """Read the token embeddings of `ids`.

        The small GPT-2 stores only the rows of trained tokens, and one vector for all other tokens.
        """
        d = self.weights.d_model
        if "wte.rows" not in self._locations:
            return self.read_rows("wte.weight", [self.weights.vocab_size, d], ids.tolist())
        trained = self.read_trained_ids()
        place = torch.searchsorted(trained, ids).clamp_max(len(trained) - 1)
        known = trained[place] == ids
        embeddings = self.read_tensor("wte.other", [d]).repeat(len(ids), 1)
        if known.any():
            embeddings[known] = self.read_rows("wte.rows", [len(trained), d], place[known].tolist())
        return embeddings

    def read_trained_ids(self) -> Int[Tensor, "n"]:
        """Return the ids of the tokens that the small GPT-2 was trained on, in ascending order."""
        ids = self._slice("wte.ids", [None])[:].long()
        if not len(ids) or ids[0] < 0 or ids[-1] >= self.weights.vocab_size or (ids.diff() <= 0).any():
            raise WeightsError(
                f"wte.ids in {self.weights.path} are not token ids in ascending order. {remedy_for(self.weights.path)}"
            )
        return ids

    def _slice(self, name: str, shape: Sequence[int | None] | None):
        if name not in self._locations:
            raise WeightsError(
                f"{self.weights.path} has no tensor {name}, so these are not the weights of a GPT-2."
                f" {remedy_for(self.weights.path)}"
            )
        file, key = self._locations[name]
        tensor = file.get_slice(key)
        actual = list(tensor.get_shape())
        if shape is None:
            return tensor
        if len(actual) != len(shape) or any(want is not None and have != want for have, want in zip(actual, shape)):
            raise WeightsError(
                f"{name} in {self.weights.path} has the shape {actual}, but the configuration says {list(shape)}."
                f" {remedy_for(self.weights.path)}"
            )
        return tensor

    def _require_finite(self, name: str, piece: Tensor) -> Tensor:
        if not piece.isfinite().all():
            raise WeightsError(
                f"{name} in {self.weights.path} contains numbers that are not finite (nan or inf)."
                f" {remedy_for(self.weights.path)}"
            )
        return piece.float()
