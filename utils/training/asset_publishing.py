"""Making an asset that ships: seeded and repeatable, and written as a whole folder or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

import torch

from utils.lessons.files import replace_folder_atomically
from utils.training.loop import History

CARDS = Path(__file__).resolve().parent / "cards"
FILES = ("config.json", "model.safetensors", "README.md")  # what an asset consists of


class PublishError(ValueError):
    """The asset cannot be made or written; nothing was changed."""


def require_writable_asset(folder: Path, kept: Collection[str] = (), replace: bool = False) -> None:
    """Ask, before a long training, whether `folder` may be written.

    Args:
        kept: names beside `FILES` that belong to the asset and are written by another command.
        replace: whether an older asset may give way.

    Raises:
        PublishError: there is an asset already, or something that this project did not make.
    """
    there = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    strange = sorted(there - {*FILES, *kept})
    if strange or folder.is_file():
        raise PublishError(
            f"{folder} holds {', '.join(strange) or 'no folder'}, which this command did not make. Name another folder"
            " with --out."
        )
    only_kept = there and there <= set(kept)
    if folder.is_dir() and not only_kept and not replace:
        raise PublishError(f"{folder} is there already. Give --replace to train it anew, or another folder with --out.")


@contextlib.contextmanager
def replace_asset(folder: Path, kept: Collection[str] = ()) -> Iterator[Path]:
    """An empty folder to write into, which takes the place of `folder` when the block ends without an error.

    The files named in `kept` are carried over from the older folder. After an error the older one is there unchanged.
    """
    with replace_folder_atomically(folder) as stage:
        yield stage
        for name in kept:
            if (folder / name).exists():
                shutil.copyfile(folder / name, stage / name)
        for path in stage.iterdir():
            path.chmod(0o644)  # safetensors makes files for their owner alone


@contextlib.contextmanager
def deterministic_algorithms(device: str) -> Iterator[None]:
    """The same numbers again on the same machine; nothing that the caller draws changes."""
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
    """Raise `PublishError` where a training was interrupted: its weights are not those of the recipe."""
    if history.interrupted:
        raise PublishError(f"Interrupted after {history.done} of {steps} steps; nothing was written.")


def write_card(folder: Path, name: str, device: str, **fields: object) -> None:
    """Fill the template `name` of the model cards, and write it beside `model.safetensors` as `README.md`.

    Every template may use `digest`, `megabytes` and `kilobytes` of the weights, and `where` they were trained: what the
    numbers come out as depends on the machine.
    """
    weights = (folder / "model.safetensors").read_bytes()
    text = (
        (CARDS / f"{name}.md")
        .read_text(encoding="utf-8")
        .format(
            digest=hashlib.sha256(weights).hexdigest(),
            megabytes=len(weights) / 1e6,
            kilobytes=len(weights) / 1e3,
            where=f"{device}, {torch.get_num_threads()} thread(s)" if device == "cpu" else device,
            **fields,
        )
    )
    (folder / "README.md").write_text(text, encoding="utf-8")
