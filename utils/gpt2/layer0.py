"""Read the input and the weights of layer 0's attention from the file of a GPT-2, without loading the model."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional as F

from utils.gpt2.sources import CONFIG, INDEX, WEIGHTS, Source, WeightsError, source
from utils.gpt2.tokenizer import backend_tokenizer

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from safetensors import safe_open


def get_pre_attn(prompt: str, path: str | os.PathLike | None = None) -> tuple[list[str], Float[Tensor, "seq d_model"]]:
    """Return the prompt's tokens as strings, and the input to layer 0's attention.

    The input is the sum of token and position embeddings, normalised by `ln_1`.

    Raises:
        ValueError: the prompt is empty, or has more tokens than the model has positions.
        WeightsError: the file is damaged, or a tensor has the wrong shape or is not finite.
    """
    weights = source(path)
    ids = encode_prompt(prompt, weights)
    with Checkpoint(weights) as checkpoint:
        shape = [weights.n_positions, weights.d_model]
        x = checkpoint.read_embeddings(ids) + checkpoint.read_tensor("wpe.weight", shape, slice(len(ids)))
        w, b = (checkpoint.read_tensor(f"h.0.ln_1.{part}", [weights.d_model]) for part in ("weight", "bias"))
    tokens = [backend_tokenizer().decode([i], skip_special_tokens=False) for i in ids.tolist()]
    return tokens, F.layer_norm(x, (weights.d_model,), w, b, weights.epsilon)


def get_split_l0_heads(
    head_idx: int, bias: bool = False, path: str | os.PathLike | None = None
) -> tuple[Float[Tensor, "d_model d_head"] | Float[Tensor, "d_head"], ...]:
    """Return the query and key weights of one head of layer 0.

    Args:
        head_idx: the index of the head, from 0 to n_heads - 1.
        bias: whether to return the biases too. GPT-2 computes its queries as `x @ W_Q + b_Q`.

    Returns:
        (W_Q, W_K), or (W_Q, W_K, b_Q, b_K) with `bias`. Weights have shape [d_model, d_head]; biases have shape
        [d_head].

    Raises:
        ValueError: the model has no such head.
        WeightsError: the file is damaged, or a tensor has the wrong shape or is not finite.
    """
    weights = source(path)
    (W_Q, b_Q), (W_K, b_K) = (_read_head(weights, head_idx, part) for part in (0, 1))
    return (W_Q, W_K, b_Q, b_K) if bias else (W_Q, W_K)


def get_l0_values(
    head_idx: int, path: str | os.PathLike | None = None
) -> tuple[Float[Tensor, "d_model d_head"], Float[Tensor, "d_head"]]:
    """Return the value weights and biases of one head of layer 0.

    Raises:
        ValueError: the model has no such head.
        WeightsError: the file is damaged, or a tensor has the wrong shape or is not finite.
    """
    return _read_head(source(path), head_idx, 2)


def _read_head(weights: Source, head_idx: int, part: int) -> tuple[Tensor, Tensor]:
    """Read one head's weights and biases for queries (part 0), keys (part 1) or values (part 2) from `c_attn`.

    Raises:
        ValueError: the model has no head `head_idx`.
    """
    if isinstance(head_idx, bool) or not hasattr(head_idx, "__index__"):
        raise ValueError(f"head_idx must be a whole number; got {head_idx!r}.")
    head = head_idx.__index__()
    if not 0 <= head < weights.n_heads:
        raise ValueError(
            f"there is no head {head}: {weights.name} has {weights.n_heads} heads, from 0 to {weights.n_heads - 1}."
        )
    start = part * weights.d_model + head * weights.d_head
    columns, d = slice(start, start + weights.d_head), weights.d_model
    with Checkpoint(weights) as checkpoint:
        weight = checkpoint.read_tensor("h.0.attn.c_attn.weight", [d, 3 * d], (slice(None), columns))
        return weight, checkpoint.read_tensor("h.0.attn.c_attn.bias", [3 * d], columns)


def encode_prompt(prompt: str, weights: Source) -> Int[Tensor, "seq"]:
    """Return the prompt's token ids.

    Raises:
        ValueError: the prompt is not a string, cannot be encoded, is empty or is too long for the model.
        WeightsError: the model has fewer tokens than the tokenizer.
    """  # noqa: DOC501  (ruff mistakes the constructor's name for the exception)
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
        problem = f"{weights.path / CONFIG} says {weights.vocab_size} tokens, but GPT-2's tokenizer has 50257."
        raise WeightsError.for_damage(weights.path, problem)
    return torch.tensor(ids, device="cpu")


def require_finite(folder: Path, name: str, tensor: Float[Tensor, "..."]) -> None:
    """Check that all numbers in a tensor are finite. The tensor comes from the GPT-2 in `folder`.

    Raises:
        WeightsError: the tensor contains nan or inf.
    """  # noqa: DOC501  (ruff mistakes the constructor's name for the exception)
    if not tensor.isfinite().all():
        problem = f"{name} in {folder} contains numbers that are not finite (nan or inf)."
        raise WeightsError.for_damage(folder, problem)


class Checkpoint:
    """The open safetensors files of a GPT-2. Slices of their tensors are read as float32.

    The names of tensors start with `transformer.` in files from save_pretrained, but not in the file on the hub.
    """

    def __init__(self, weights: Source) -> None:
        self.weights, self._files = weights, contextlib.ExitStack()
        self._locations: dict[str, tuple[safe_open, str]] = {}  # for each name: the file, and the name in that file

    def __enter__(self) -> Checkpoint:
        with contextlib.ExitStack() as self._files:
            for name in self._names():
                file = self._open(name)
                keys = file.keys()
                self._locations |= {key.removeprefix("transformer."): (file, key) for key in keys}
            # All files are open now; keep them open until __exit__. If opening one of them fails, the stack closes
            # the others.
            self._files = self._files.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()

    def _names(self) -> Sequence[str]:
        if (self.weights.path / WEIGHTS).exists():
            return [WEIGHTS]
        index = self.weights.path / INDEX
        try:
            return sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise self._error(f"{index} is damaged ({error}).") from None

    def _open(self, name: str) -> safe_open:
        from safetensors import SafetensorError, safe_open

        path = self.weights.path / name
        try:
            return self._files.enter_context(safe_open(path, framework="pt"))
        except (SafetensorError, OSError) as error:
            raise self._error(f"{path} cannot be read, because it is truncated or damaged ({error}).") from None

    @property
    def is_compact(self) -> bool:
        """Whether the file stores only the embeddings of trained tokens, as the small GPT-2 does."""
        return "wte.rows" in self._locations

    def read_all(self) -> dict[str, Float[Tensor, "..."]]:
        """Return all tensors by name, without the prefix `transformer.`. `wte.weight` has a row for every token.

        Raises:
            WeightsError: a tensor has the wrong shape or is not finite.
        """
        tensors = {name: self.read_tensor(name) for name in self._locations if not name.startswith("wte.")}
        every_id = torch.arange(self.weights.vocab_size)
        tensors["wte.weight"] = self.read_embeddings(every_id) if self.is_compact else self.read_tensor("wte.weight")
        return tensors

    def read_tensor(
        self,
        name: str,
        shape: Sequence[int | None] | None = None,
        part: slice | tuple[slice, slice] = slice(None),
    ) -> Float[Tensor, "..."]:
        """Read a tensor, or only some of its rows (and columns).

        Args:
            shape: the required shape of the whole tensor. None, as the shape or as one of its sizes, accepts anything.

        Raises:
            WeightsError: the tensor is missing, has the wrong shape or is not finite.
        """
        return self._require_finite(name, self._slice(name, shape)[part])

    def read_rows(
        self, name: str, shape: Sequence[int | None], indices: Sequence[int]
    ) -> Float[Tensor, "n_indices d_out"]:
        """Read some rows of a matrix, in the order of `indices`. Raises the same errors as `read_tensor`."""
        matrix = self._slice(name, shape)
        return self._require_finite(name, torch.cat([matrix[i : i + 1] for i in indices]))

    def read_embeddings(self, ids: Int[Tensor, "seq"]) -> Float[Tensor, "seq d_model"]:
        """Read the token embeddings of `ids`.

        The small GPT-2 stores only the rows of trained tokens, and one vector for all other tokens.

        Raises:
            WeightsError: the embeddings are damaged, have the wrong shape or are not finite.
        """
        d = self.weights.d_model
        if not self.is_compact:
            return self.read_rows("wte.weight", [self.weights.vocab_size, d], ids.tolist())
        trained = self.read_trained_ids()
        place = torch.searchsorted(trained, ids).clamp_max(len(trained) - 1)
        known = trained[place] == ids
        embeddings = self.read_tensor("wte.other", [d]).repeat(len(ids), 1)
        if known.any():
            embeddings[known] = self.read_rows("wte.rows", [len(trained), d], place[known].tolist())
        return embeddings

    def read_trained_ids(self) -> Int[Tensor, "n"]:
        """Return the ids of the tokens that the small GPT-2 was trained on, in ascending order.

        Raises:
            WeightsError: there are no ids, or they are not in ascending order.
        """
        ids = self._slice("wte.ids", [None])[:].long()
        if not len(ids) or ids[0] < 0 or ids[-1] >= self.weights.vocab_size or (ids.diff() <= 0).any():
            raise self._error(f"wte.ids in {self.weights.path} are not token ids in ascending order.")
        return ids

    def _slice(self, name: str, shape: Sequence[int | None] | None) -> Any:  # safetensors exports no type
        if name not in self._locations:
            problem = f"{self.weights.path} has no tensor {name}, so these are not the weights of a GPT-2."
            raise self._error(problem)
        file, key = self._locations[name]
        tensor = file.get_slice(key)
        actual = list(tensor.get_shape())
        if shape is not None and (
            len(actual) != len(shape) or any(want not in (None, have) for have, want in zip(actual, shape))
        ):
            place = f"{name} in {self.weights.path}"
            raise self._error(f"{place} has the shape {actual}, but the configuration says {list(shape)}.")
        return tensor

    def _require_finite(self, name: str, piece: Tensor) -> Tensor:
        require_finite(self.weights.path, name, piece)
        return piece.float()

    def _error(self, problem: str) -> WeightsError:
        return WeightsError.for_damage(self.weights.path, problem)
