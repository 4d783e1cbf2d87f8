"""Publish a bundled asset reproducibly. After an error, no part of the new asset is published."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from utils.lessons.files import replace_folder_atomically
from utils.training.loop import History

if TYPE_CHECKING:
    from jaxtyping import Float, Int

CARDS = Path(__file__).resolve().parent / "cards"
FILES = ("config.json", "model.safetensors", "README.md")  # the files of an asset


class PublishError(ValueError):
    """The asset cannot be created or written. Nothing was changed."""


def require_writable_asset(folder: Path, kept: Collection[str] = (), replace: bool = False) -> None:
    """Check that `folder` may be written, before a long training run starts.

    Args:
        kept: the names of additional files in the asset, which another command writes.
        replace: True if an older asset may be replaced.

    Raises:
        PublishError: an asset already exists, or the folder contains files that do not come from this project.
    """
    existing = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    foreign = sorted(existing - {*FILES, *kept})
    if foreign or folder.is_file():
        reason = "is a file" if folder.is_file() else f"contains {', '.join(foreign)}, which this command did not write"
        raise PublishError(f"{folder} {reason}. Choose another folder with --out.")
    only_kept = existing and existing <= set(kept)
    if folder.is_dir() and not only_kept and not replace:
        raise PublishError(
            f"{folder} already exists. Pass --replace to train the model again, or choose another folder with --out."
        )


@contextlib.contextmanager
def replace_asset(folder: Path, kept: Collection[str] = ()) -> Iterator[Path]:
    """Yield an empty folder to write into. The new folder replaces `folder` when the block ends without an error.

    The files named in `kept` are copied from the older folder. After an error, the older folder is unchanged.
    """
    with replace_folder_atomically(folder) as stage:
        yield stage
        for name in kept:
            if (folder / name).exists():
                shutil.copyfile(folder / name, stage / name)


def serialize_weights(tensors: Mapping[str, Float[Tensor, "..."] | Int[Tensor, "..."]]) -> bytes:
    """Return the content of `model.safetensors`, with the tensors sorted by name."""
    from safetensors.torch import save

    return save({name: tensors[name].contiguous() for name in sorted(tensors)}, metadata={"format": "pt"})


@contextlib.contextmanager
def deterministic_algorithms(device: str) -> Iterator[None]:
    """Make the results of the `with` block reproducible on this machine. The caller's random state does not change."""
    before = torch.are_deterministic_algorithms_enabled()
    if device != "cpu":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    try:
        with torch.random.fork_rng(devices=[] if device == "cpu" else None):
            yield
    finally:
        torch.use_deterministic_algorithms(before)


def require_finished(history: History, steps: int) -> None:
    """Check that a training run completed all its steps. The weights of an incomplete run do not match the recipe.

    Raises:
        PublishError: the training was interrupted.
    """
    if history.interrupted:
        raise PublishError(f"The training was interrupted after {history.done} of {steps} steps. Nothing was written.")


def write_card(folder: Path, name: str, device: str, **fields: object) -> None:
    """Fill the model card template `name`, and write it next to `model.safetensors` as `README.md`.

    Every template may use `digest`, `megabytes` and `kilobytes`, which describe the weights. It may also use `where`,
    which names the device and, for a CPU, the number of threads. Both affect the results.
    """
    weights = (folder / "model.safetensors").read_bytes()
    template = (CARDS / f"{name}.md").read_text(encoding="utf-8")
    text = template.format(
        digest=hashlib.sha256(weights).hexdigest(),
        megabytes=len(weights) / 1e6,
        kilobytes=len(weights) / 1e3,
        where=f"{device}, {torch.get_num_threads()} thread(s)" if device == "cpu" else device,
        **fields,
    )
    (folder / "README.md").write_text(text, encoding="utf-8")
