"""What layer 0's attention of a GPT-2 reads and multiplies with, from slices of the file: the model itself is never
loaded."""

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
    """The prompt's tokens as strings, and what layer 0's attention gets: embeddings plus positions, after the layer
    norm `ln_1`.

    Raises:
        ValueError: an empty prompt, or one of more tokens than the model has positions.
        WeightsError: a file that is damaged, misshapen or not finite.
    """
    where = source(path)
    ids = encode_prompt(prompt, where)
    with Checkpoint(where) as checkpoint:
        x = checkpoint.read_embeddings(ids) + checkpoint.read_tensor(
            "wpe.weight", [where.n_positions, where.d_model], rows=(0, len(ids))
        )
        w, b = (checkpoint.read_tensor(f"h.0.ln_1.{part}", [where.d_model]) for part in ("weight", "bias"))
    tokens = [backend_tokenizer().decode([i], skip_special_tokens=False) for i in ids.tolist()]
    return tokens, F.layer_norm(x, (where.d_model,), w, b, where.epsilon)


def get_split_l0_heads(head_idx: int, bias: bool = False, path: str | os.PathLike | None = None) -> tuple[Tensor, ...]:
    """Layer 0's query and key weights of one head.

    Args:
        head_idx: from 0 to n_heads - 1.
        bias: give the biases too. GPT-2 adds them: its own queries are `x @ W_Q + b_Q`.

    Returns:
        (W_Q, W_K), each [d_model, d_head]; with `bias` (W_Q, W_K, b_Q, b_K), the latter [d_head].
    """
    where = source(path)
    (W_Q, b_Q), (W_K, b_K) = (_read_head(where, head_idx, part) for part in (0, 1))
    return (W_Q, W_K, b_Q, b_K) if bias else (W_Q, W_K)


def get_l0_values(
    head_idx: int, path: str | os.PathLike | None = None
) -> tuple[Float[Tensor, "d_model d_head"], Float[Tensor, "d_head"]]:
    """Layer 0's value weights and biases of one head."""
    return _read_head(source(path), head_idx, 2)


def _read_head(where: Source, head_idx: int, part: int) -> tuple[Tensor, Tensor]:
    """Weights and biases of one head's queries (0), keys (1) or values (2): a block of columns of `c_attn`."""
    if isinstance(head_idx, bool) or not hasattr(head_idx, "__index__"):
        raise ValueError(f"head_idx must be a whole number; got {head_idx!r}.")
    head = head_idx.__index__()
    if not 0 <= head < where.n_heads:
        raise ValueError(
            f"there is no head {head}: {where.name} has {where.n_heads}, numbered 0 to {where.n_heads - 1}."
        )
    start = part * where.d_model + head * where.d_head
    columns, d = (start, start + where.d_head), where.d_model
    with Checkpoint(where) as checkpoint:
        weight = checkpoint.read_tensor("h.0.attn.c_attn.weight", [d, 3 * d], columns=columns)
        return weight, checkpoint.read_tensor("h.0.attn.c_attn.bias", [3 * d], rows=columns)


def encode_prompt(prompt: str, where: Source) -> Int[Tensor, "seq"]:
    """The prompt's token ids, refused where the model cannot take them."""
    if not isinstance(prompt, str):
        raise ValueError(f"the prompt must be a string; got {type(prompt).__name__}.")
    try:
        ids = backend_tokenizer().encode(prompt).ids
    except TypeError:
        raise ValueError(
            "the prompt holds half of a surrogate pair, which is no character: it cannot be written as UTF-8."
        ) from None
    if not ids:
        raise ValueError(
            'the prompt is empty; at least one token is needed. "<|endoftext|>" is the token that begins a text.'
        )
    if len(ids) > where.n_positions:
        raise ValueError(
            f"the prompt has {len(ids)} tokens, and {where.name} has {where.n_positions} positions. Shorten it."
        )
    if max(ids) >= where.vocab_size:
        raise WeightsError(
            f"{where.path / CONFIG} has {where.vocab_size} tokens; GPT-2's tokenizer has 50257. {remedy_for(where.path)}"
        )
    return torch.tensor(ids, device="cpu")


class Checkpoint:
    """A GPT-2's safetensors file or files, opened for reading pieces of tensors as float32.

    Keys may begin with `transformer.`, as save_pretrained writes them, or be bare, as in the file on the hub.
    """

    def __init__(self, where: Source) -> None:
        self.where, self._files, self._locations = where, contextlib.ExitStack(), {}

    def __enter__(self) -> Checkpoint:
        with contextlib.ExitStack() as self._files:
            for name in self._names():
                file = self._open(name)
                keys = file.keys()
                self._locations |= {key.removeprefix("transformer."): (file, key) for key in keys}
            self._files = self._files.pop_all()  # all of them opened: they stay open until the end
        return self

    def __exit__(self, *_: object) -> None:
        self._files.close()

    def _names(self) -> Sequence[str]:
        if (self.where.path / WEIGHTS).exists():
            return [WEIGHTS]
        try:
            return sorted(set(json.loads((self.where.path / INDEX).read_text(encoding="utf-8"))["weight_map"].values()))
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise WeightsError(
                f"{self.where.path / INDEX} is damaged ({error}). {remedy_for(self.where.path)}"
            ) from None

    def _open(self, name: str):
        from safetensors import SafetensorError, safe_open

        path = self.where.path / name
        try:
            return self._files.enter_context(safe_open(path, framework="pt"))
        except (SafetensorError, OSError) as error:
            raise WeightsError(
                f"{path} cannot be read: it is cut off or damaged ({error}). {remedy_for(self.where.path)}"
            ) from None

    def tensor_names(self) -> list[str]:
        """The tensors that there are, without `transformer.`."""
        return list(self._locations)

    def read_tensor(
        self,
        name: str,
        shape: Sequence[int | None] | None = None,
        rows: tuple[int, int] | None = None,
        columns: tuple[int, int] | None = None,
    ) -> Float[Tensor, "..."]:
        """A tensor, or the rows or columns `(start, stop)` of it.

        Args:
            shape: what the whole tensor must have; None for a size, or for all of them, that are not known.
        """
        found = self._slice(name, shape)
        if columns is not None:
            piece = found[:, columns[0] : columns[1]]
        else:
            piece = found[rows[0] : rows[1]] if rows is not None else found[:]
        return self._require_finite(name, piece)

    def read_rows(self, name: str, shape: Sequence[int | None], indices: Sequence[int]) -> Tensor:
        """Some rows of a matrix, in the order of `indices`."""
        found = self._slice(name, shape)
        return self._require_finite(name, torch.cat([found[i : i + 1] for i in indices]))

    def read_embeddings(self, ids: Tensor) -> Float[Tensor, "seq d_model"]:
        """The token embeddings of `ids`. The small GPT-2 keeps the rows that were trained, and one vector for all
        others."""
        d = self.where.d_model
        if "wte.rows" not in self._locations:
            return self.read_rows("wte.weight", [self.where.vocab_size, d], ids.tolist())
        trained = self.read_trained_ids()
        place = torch.searchsorted(trained, ids).clamp_max(len(trained) - 1)
        known = trained[place] == ids
        found = self.read_tensor("wte.other", [d]).repeat(len(ids), 1)
        if known.any():
            found[known] = self.read_rows("wte.rows", [len(trained), d], place[known].tolist())
        return found

    def read_trained_ids(self) -> Int[Tensor, "n"]:
        """The ids of the tokens that the small GPT-2 was trained on, ascending."""
        ids = self._slice("wte.ids", [None])[:].long()
        if not len(ids) or ids[0] < 0 or ids[-1] >= self.where.vocab_size or (ids.diff() <= 0).any():
            raise WeightsError(
                f"wte.ids in {self.where.path} are not token ids in ascending order. {remedy_for(self.where.path)}"
            )
        return ids

    def _slice(self, name: str, shape: Sequence[int | None] | None):
        if name not in self._locations:
            raise WeightsError(
                f"{self.where.path} has no tensor {name}: these are not the weights of a GPT-2. {remedy_for(self.where.path)}"
            )
        file, key = self._locations[name]
        found = file.get_slice(key)
        given = list(found.get_shape())
        if shape is None:
            return found
        if len(given) != len(shape) or any(want is not None and have != want for have, want in zip(given, shape)):
            raise WeightsError(
                f"{name} in {self.where.path} has the shape {given}; its configuration says {list(shape)}."
                f" {remedy_for(self.where.path)}"
            )
        return found

    def _require_finite(self, name: str, piece: Tensor) -> Tensor:
        if not piece.isfinite().all():
            raise WeightsError(
                f"{name} in {self.where.path} holds numbers that are not finite (nan or inf). {remedy_for(self.where.path)}"
            )
        return piece.float()
