"""The toy model that ships: trained, measured on words that it never saw, and written with its card."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import nn

from utils.models import toy_transformer as toy
from utils.models.toy_transformer import ASSET, LONGEST, SHORTEST, VOCAB_SIZE
from utils.training.asset_publishing import (
    deterministic_algorithms,
    replace_asset,
    require_finished,
    require_writable_asset,
    write_card,
)
from utils.training.loop import History

KEPT = ("depth.json",)  # written by bench/toy_transformer.py; it stays when the model is made anew
HELD_OUT = ("minecraft", "attention", "strawberry")  # real words that no training text holds
LENGTHS = (3, 4, *range(SHORTEST, LONGEST + 1), 11, 12)


@dataclass(frozen=True)
class CogModelRecipe:
    """Everything that decides what comes out, besides the code and the machine."""

    seed: int = 0
    embed_dim: int = 64
    num_layers: int = 3
    steps: int = 2500
    batch: int = 192
    rate: float = 4e-3


@dataclass(frozen=True)
class CogModelMetrics:
    """What the card quotes: loss and exact match on random words of each length, echoed and shouted, and on real
    words."""

    loss: float
    by_length: dict[int, dict[str, float]]
    real: dict[str, bool]

    def summary_text(self) -> str:
        """The same as text, for a terminal."""
        rows = [
            f"  {n:2} letters: " + ", ".join(f"{name} {share:.1%}" for name, share in row.items())
            for n, row in self.by_length.items()
        ]
        real = [f"  {prompt}: {'right' if right else 'wrong'}" for prompt, right in self.real.items()]
        return "\n".join((f"Loss on unseen words: {self.loss:.5f}.", "Whole texts right:", *rows, *real))


@torch.no_grad()
def measure_cogmodel(model: nn.Module, seed: int, n: int = 1000) -> CogModelMetrics:
    """Ask a model for `n` random words of each length with each command, from a seed that is not the training's."""
    generator = torch.Generator().manual_seed(seed)
    ask = lambda words, command: toy.exact_match(model, *toy.tokens_of([f"{word} {command}" for word in words]))
    by_length = {}
    for length in LENGTHS:
        words = toy.random_words(n, generator, length)
        by_length[length] = {command: ask(words, command) for command in toy.COMMANDS}
    real = {f"{word} {command}": ask([word], command) == 1 for word in HELD_OUT for command in toy.COMMANDS}
    tokens, asked = toy.draw_batch(4 * n, generator)
    return CogModelMetrics(float(toy.lesson_loss_function()(model(tokens), tokens, asked)), by_length, real)


def train_and_publish(
    out: Path = ASSET,
    replace: bool = False,
    recipe: CogModelRecipe = CogModelRecipe(),
    device: str | None = None,
    progress: bool = True,
    build: Callable | None = None,
    n: int = 1000,
) -> tuple[CogModelMetrics, History]:
    """Train, measure, and write the folder `out`: all of its files, or none. With `replace` older ones give way.

    Raises:
        PublishError: the files are there, the folder is not of ours, or the training was interrupted.
    """
    out, device = Path(out), device or "cpu"  # so small a model gains nothing from a GPU
    require_writable_asset(out, KEPT, replace)
    build = build or toy.lesson_model_class()
    with deterministic_algorithms(device):
        torch.manual_seed(recipe.seed)
        model = build(VOCAB_SIZE, recipe.embed_dim, recipe.num_layers).to(device)
        history = toy.train_cogmodel(
            model, recipe.steps, recipe.batch, recipe.rate, recipe.seed, words=toy.REAL_WORDS, progress=progress
        )
    require_finished(history, recipe.steps)
    measured = measure_cogmodel(model.cpu(), recipe.seed + 1, n)
    with replace_asset(out, KEPT) as stage:
        _save(stage, model, recipe)
        write_card(stage, "cogmodel", device, **card_fields(model, recipe, history, measured, n))
    return measured, history


def _save(folder: Path, model: nn.Module, recipe: CogModelRecipe) -> None:
    from safetensors.torch import save_file

    weights = {name: value.detach().contiguous() for name, value in sorted(model.named_parameters())}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    sizes = {"vocab_size": VOCAB_SIZE, "embed_dim": recipe.embed_dim, "num_layers": recipe.num_layers}
    (folder / "config.json").write_text(json.dumps(sizes, indent=2) + "\n", encoding="utf-8")


def card_fields(
    model: nn.Module, recipe: CogModelRecipe, history: History, measured: CogModelMetrics, n: int
) -> dict[str, object]:
    """What the card's template asks for, besides what `write_card` knows itself."""

    def rows(lengths: Iterable[int]) -> str:
        shares = (
            (length, [f"{measured.by_length[length][command]:.1%}" for command in toy.COMMANDS]) for length in lengths
        )
        return "\n".join(f"| {length} | {' | '.join(row)} |" for length, row in shares)

    trained = range(SHORTEST, LONGEST + 1)
    return asdict(recipe) | {
        "vocab": VOCAB_SIZE,
        "numbers": sum(p.numel() for p in model.parameters()),
        "shortest": SHORTEST,
        "longest": LONGEST,
        "n_real": len(toy.REAL_WORDS),
        "few": recipe.batch // 32,
        "seconds": history.seconds,
        "last": history.losses[-1],
        "loss": measured.loss,
        "n": n,
        "commands": " | ".join(toy.COMMANDS),
        "trained": rows(trained),
        "others": rows(length for length in LENGTHS if length not in trained),
        "real": "\n".join(
            f"| `{prompt}` | {'right' if right else 'wrong'} |" for prompt, right in measured.real.items()
        ),
    }
