"""Train the bundled toy model, measure it on held-out words, and write it with its model card."""

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
    serialize_weights,
    write_card,
)
from utils.training.loop import History

KEPT = ("depth.json",)  # written by bench/toy_transformer.py; a new training run does not change it
HELD_OUT = ("minecraft", "attention", "strawberry")  # real words that no training text contains
LENGTHS = (3, 4, *range(SHORTEST, LONGEST + 1), 11, 12)


@dataclass(frozen=True)
class CogModelRecipe:
    """Everything that determines the trained model, except the code and the machine."""

    seed: int = 0
    embed_dim: int = 64
    num_layers: int = 3
    steps: int = 2500
    batch: int = 192
    rate: float = 4e-3


@dataclass(frozen=True)
class CogModelMetrics:
    """The numbers in the model card.

    Attributes:
        loss: the loss on unseen words.
        by_length: the share of exact matches on random words of each length, for each command.
        real: for each prompt with a real word, True if the answer is correct.
    """

    loss: float
    by_length: dict[int, dict[str, float]]
    real: dict[str, bool]

    def summary_text(self) -> str:
        """Format the metrics for a terminal."""
        rows = [
            f"  {n:2} letters: " + ", ".join(f"{name} {share:.1%}" for name, share in row.items())
            for n, row in self.by_length.items()
        ]
        real = [f"  {prompt}: {'right' if right else 'wrong'}" for prompt, right in self.real.items()]
        return "\n".join((f"Loss on unseen words: {self.loss:.5f}.", "Texts that are completely right:", *rows, *real))


@torch.no_grad()
def measure_cogmodel(model: nn.Module, seed: int, n: int = 1000) -> CogModelMetrics:
    """Test a model on `n` random words of each length with each command.

    `seed` must differ from the training's seed.
    """
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
    build: Callable[[int, int, int], nn.Module] | None = None,
    n: int = 1000,
) -> tuple[CogModelMetrics, History]:
    """Train and measure a model, and write its files to the folder `out`. If an error occurs, write none of them.

    With `replace`, `out` may contain an older version, which is then replaced.

    Raises:
        PublishError: the files already exist, the folder contains other files, or the training was interrupted.
    """
    out, device = Path(out), device or "cpu"  # such a small model is no faster on a GPU
    require_writable_asset(out, KEPT, replace)
    build = build or toy.lesson_model_class()
    with deterministic_algorithms(device):
        torch.manual_seed(recipe.seed)
        model = build(VOCAB_SIZE, recipe.embed_dim, recipe.num_layers).to(device)
        history = toy.train_cogmodel(
            model, recipe.steps, recipe.batch, recipe.rate, recipe.seed, words=toy.REAL_WORDS, progress=progress
        )
    require_finished(history, recipe.steps)
    metrics = measure_cogmodel(model.cpu(), recipe.seed + 1, n)
    sizes = {"vocab_size": VOCAB_SIZE, "embed_dim": recipe.embed_dim, "num_layers": recipe.num_layers}
    with replace_asset(out, KEPT) as stage:
        weights = {name: parameter.detach() for name, parameter in model.named_parameters()}
        (stage / "model.safetensors").write_bytes(serialize_weights(weights))
        (stage / "config.json").write_text(json.dumps(sizes, indent=2) + "\n", encoding="utf-8")
        write_card(stage, "cogmodel", device, **card_fields(model, recipe, history, metrics, n))
    return metrics, history


def card_fields(
    model: nn.Module, recipe: CogModelRecipe, history: History, measured: CogModelMetrics, n: int
) -> dict[str, object]:
    """Return the values for the template of the model card, except those that `write_card` adds."""

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
