"""The toy model that ships: trained, measured on words that it never saw, and written with its card."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import nn

from utils import toy
from utils.instructor.mini import _deterministic
from utils.toy import ASSET, LONGEST, SHORTEST, VOCAB_SIZE
from utils.train import History

FILES = ("config.json", "model.safetensors", "README.md")
KEPT = ("depth.json",)  # written by bench/toy.py; it stays when the model is made anew
HELD_OUT = ("minecraft", "attention", "strawberry")  # real words that no training text holds
LENGTHS = (3, 4, *range(SHORTEST, LONGEST + 1), 11, 12)


@dataclass(frozen=True)
class Recipe:
    """Everything that decides what comes out, besides the code and the machine."""

    seed: int = 0
    embed_dim: int = 64
    num_layers: int = 3
    steps: int = 2500
    batch: int = 192
    rate: float = 4e-3


@dataclass(frozen=True)
class Measured:
    """What the card quotes: loss and exact match on random words of each length, echoed and shouted, and on real words."""

    loss: float
    by_length: dict[int, dict[str, float]]
    real: dict[str, bool]

    def lines(self) -> str:
        """The same as text, for a terminal."""
        rows = [f"  {n:2} letters: " + ", ".join(f"{name} {share:.1%}" for name, share in row.items()) for n, row in self.by_length.items()]
        real = [f"  {prompt}: {'right' if right else 'wrong'}" for prompt, right in self.real.items()]
        return "\n".join((f"Loss on unseen words: {self.loss:.5f}.", "Whole texts right:", *rows, *real))


class ToyError(ValueError):
    """The asset cannot be made or written; nothing was changed."""


@torch.no_grad()
def measure(model: nn.Module, seed: int, n: int = 1000) -> Measured:
    """Ask a model for `n` random words of each length with each command, from a seed that is not the training's."""
    generator = torch.Generator().manual_seed(seed)
    ask = lambda words, command: toy.exact_match(model, *toy.tokens_of([f"{word} {command}" for word in words]))  # noqa: E731
    by_length = {}
    for length in LENGTHS:
        words = toy.random_words(n, generator, length)
        by_length[length] = {command: ask(words, command) for command in toy.COMMANDS}
    real = {f"{word} {command}": ask([word], command) == 1 for word in HELD_OUT for command in toy.COMMANDS}
    return Measured(float(toy.answer_loss(model, *toy.draw_batch(4 * n, generator))), by_length, real)


def make(
    out: Path = ASSET, replace: bool = False, recipe: Recipe = Recipe(), device: str | None = None, progress: bool = True,
    build: Callable | None = None, n: int = 1000,
) -> tuple[Measured, History]:
    """Train, measure, and write the folder `out`: all of its files, or none. With `replace` older ones give way.

    Raises:
        ToyError: the files are there, the folder is not of ours, or the training was interrupted.
    """
    out, device = Path(out), device or "cpu"  # so small a model gains nothing from a GPU
    there = sorted(path.name for path in out.iterdir()) if out.is_dir() else []
    strange = [name for name in there if name not in (*FILES, *KEPT)]
    if strange or out.is_file():
        raise ToyError(f"{out} holds {', '.join(strange) or 'no folder'}, which this command did not make. Name another folder with --out.")
    if set(there) & set(FILES) and not replace:
        raise ToyError(f"{out} holds a model already. Give --replace to train it anew, or another folder with --out.")
    build = build or toy.course_model()
    with _deterministic(device):
        torch.manual_seed(recipe.seed)
        model = build(VOCAB_SIZE, recipe.embed_dim, recipe.num_layers).to(device)
        history = toy.train_cogmodel(
            model, recipe.steps, recipe.batch, recipe.rate, recipe.seed, words=toy.REAL_WORDS, progress=progress
        )
    if history.interrupted:
        raise ToyError(f"Interrupted after {history.done} of {recipe.steps} steps; nothing was written.")
    measured = measure(model.cpu(), recipe.seed + 1, n)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".cogmodel-") as scratch:
        stage, old = Path(scratch) / "new", Path(scratch) / "old"
        stage.mkdir()
        _save(stage, model, recipe)
        where = f"{device}, {torch.get_num_threads()} thread(s)" if device == "cpu" else device
        (stage / "README.md").write_text(card(stage, model, recipe, history, measured, where, n), encoding="utf-8")
        for name in KEPT:
            if (out / name).exists():
                (stage / name).write_bytes((out / name).read_bytes())
        for path in stage.iterdir():
            path.chmod(0o644)
        if out.exists():
            os.replace(out, old)
        try:
            os.replace(stage, out)
        except BaseException:
            if old.exists():
                os.replace(old, out)
            raise
    return measured, history


def _save(folder: Path, model: nn.Module, recipe: Recipe) -> None:
    from safetensors.torch import save_file

    weights = {name: value.detach().contiguous() for name, value in sorted(model.named_parameters())}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    sizes = {"vocab_size": VOCAB_SIZE, "embed_dim": recipe.embed_dim, "num_layers": recipe.num_layers}
    (folder / "config.json").write_text(json.dumps(sizes, indent=2) + "\n", encoding="utf-8")


def card(folder: Path, model: nn.Module, recipe: Recipe, history: History, measured: Measured, where: str, n: int) -> str:
    """The model card, filled with what was measured."""
    file = folder / "model.safetensors"
    row = lambda length: f"| {length} | " + " | ".join(f"{measured.by_length[length][command]:.1%}" for command in toy.COMMANDS) + " |"  # noqa: E731
    trained = range(SHORTEST, LONGEST + 1)
    return TEMPLATE.format(
        **asdict(recipe), vocab=VOCAB_SIZE, numbers=sum(p.numel() for p in model.parameters()), kilobytes=file.stat().st_size / 1000,
        digest=hashlib.sha256(file.read_bytes()).hexdigest(), shortest=SHORTEST, longest=LONGEST, n_real=len(toy.REAL_WORDS), few=recipe.batch // 32,
        seconds=history.seconds, where=where, last=history.losses[-1], loss=measured.loss, n=n, commands=" | ".join(toy.COMMANDS),
        trained="\n".join(row(length) for length in trained), others="\n".join(row(length) for length in LENGTHS if length not in trained),
        real="\n".join(f"| `{prompt}` | {'right' if right else 'wrong'} |" for prompt, right in measured.real.items()),
    )


TEMPLATE = """\
# The toy transformer

`CogModel({vocab}, {embed_dim}, {num_layers})` of lesson 08, trained by this project: it echoes a word, or shouts it. `load_cogmodel()` reads it.
Licence: MIT, as the rest of the repository.

| | |
|---|---|
| tokens, width, layers | {vocab}, {embed_dim}, {num_layers} |
| parameters | {numbers:,} |
| size of `model.safetensors` | {kilobytes:.0f} kB, float32 |
| SHA-256 | `{digest}` |

## Training

{steps:,} steps of {batch} fresh texts: words of {shortest} to {longest} random letters, each with `echo` or `upper`, its answer, a full stop and token 0.
Each step adds {few} of {n_real} real words with both commands; the real words below are not among them. The loss asks for the space before the answer, the answer, its full stop and the stop.
AdamW, rate {rate:g}, one cycle, seed {seed}. The last loss was {last:.5f}.

It took {seconds:.0f} s on {where}. This makes it again, the same on the same machine with as many threads:

```bash
coginst train cogmodel --replace
```

## What it does

Measured on the stored weights with random words from another seed, and again by `tests/test_toy_transformer.py`.
A text counts if the space, every letter, the full stop and the stop are right. {n:,} words of each length, each with both commands. Loss: {loss:.5f}.

| letters | {commands} |
|---|---|---|
{trained}

Real words that no training text holds:

| prompt | answer |
|---|---|
{real}

## What it cannot do

It was trained on words of {shortest} to {longest} letters and on nothing else. Of other lengths:

| letters | {commands} |
|---|---|---|
{others}

It knows small and large letters, the space and the full stop; its words are in small letters. It has no other command.
"""
