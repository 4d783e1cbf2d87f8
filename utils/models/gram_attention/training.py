"""Define the model around an attention layer, and train several layers under equal conditions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.models.lesson_models import load_from_lesson
from utils.training.loop import cosine_schedule, train

if TYPE_CHECKING:
    from jaxtyping import Float, Int

REACHED = 0.99  # a model copies if it predicts at least this share of the copied tokens correctly
HELD_OUT, HELD_OUT_TEXTS = 12345, 128  # the seed and the number of the held-out texts
Batch = Callable[..., tuple[Tensor, Tensor]]


class CopyModel(nn.Module):
    """An embedding, an attention layer and an output layer, as in the course's source text.

    There is no position encoding, no residual connection and no norm.

    Args:
        attention: a causal module from [batch, seq, d_model] to [batch, seq, d_model]. With ``return_weights=True``, it
            also returns the weights [batch, heads, seq, seq].
    """

    def __init__(self, attention: nn.Module, vocab_size: int = 16, d_model: int = 64) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocab_size, d_model)
        self.attention = attention
        self.unembed = nn.Linear(d_model, vocab_size, bias=False)

    def forward(
        self, tokens: Int[Tensor, "batch seq"], return_weights: bool = False
    ) -> (
        Float[Tensor, "batch seq vocab"] | tuple[Float[Tensor, "batch seq vocab"], Float[Tensor, "batch heads seq seq"]]
    ):
        """Return the logits. With `return_weights`, also return the attention weights."""
        if not return_weights:
            return self.unembed(self.attention(self.embed(tokens)))
        mixed, weights = self.attention(self.embed(tokens), return_weights=True)
        return self.unembed(mixed), weights


@dataclass
class SeedRun:
    """The record of one model's training.

    `loss` and `accuracy` are measured on the copied half of held-out texts, after the steps in `steps`.
    """

    seed: int
    model: nn.Module
    steps: list[int] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    accuracy: list[float] = field(default_factory=list)
    seconds: float = 0.0  # the duration of the training, including measurements

    @property
    def first_copying_step(self) -> int | None:
        """The first measured step at which 99 % of the copied tokens are correct, or None."""
        return next((step for step, share in zip(self.steps, self.accuracy) if share >= REACHED), None)


@dataclass(frozen=True)
class SeedResults:
    """The results of each layer: a table with one row for each seed and one column for each item in `points`."""

    points: list[float]
    values: dict[str, Float[Tensor, "seeds points"]]

    @property
    def percent(self) -> dict[str, Float[Tensor, "seeds points"]]:
        """The values times 100, for `show.curves`."""
        return {name: 100 * numbers for name, numbers in self.values.items()}

    def table(self, points_name: str = "") -> str:
        """Format the mean, minimum and maximum over the seeds, in percent, with one row for each point.

        The table is narrow enough for half a window.
        """
        width = max(24, *(len(name) + 2 for name in self.values))
        rows = [f"{points_name:>8}" + "".join(f"{name:>{width}}" for name in self.values)]
        for i, point in enumerate(self.points):
            row = f"{point:>8g}"
            for numbers in self.values.values():
                column = numbers[:, i].double()
                # A share is often halfway between two rounded values, so its last bits decide the rounding. These
                # bits depend on the machine. Rounding twice removes them, so all machines print the same value.
                low, mean, high = (round(100 * float(x), 4) for x in (column.min(), column.mean(), column.max()))
                row += f"{f'{mean:.1f} ({low:.1f} to {high:.1f})':>{width}}"
            rows.append(row)
        return "\n".join(rows)


@dataclass
class Comparison:
    """The result of `train_comparison`.

    `runs[name]` is a list with one `SeedRun` for each seed; `batch` samples the texts.
    """

    runs: dict[str, list[SeedRun]]
    batch: Batch
    seq_len: int
    vocab_size: int

    @property
    def models(self) -> dict[str, list[nn.Module]]:
        """The trained models: a list for each layer, in the order of the seeds."""
        return {name: [run.model for run in runs] for name, runs in self.runs.items()}

    @property
    def first_copying_steps(self) -> dict[str, list[int | None]]:
        """For each layer and seed, the first measured step at which 99 % of the copied tokens are correct, or None."""
        return {name: [run.first_copying_step for run in runs] for name, runs in self.runs.items()}

    @property
    def accuracy(self) -> SeedResults:
        """The share of correct copied tokens at each measured step."""
        return self._curve("accuracy")

    @property
    def loss(self) -> SeedResults:
        """The loss on the copied half at each measured step."""
        return self._curve("loss")

    def _curve(self, what: str) -> SeedResults:
        steps = next(iter(self.runs.values()))[0].steps
        return SeedResults(
            list(steps), {name: torch.tensor([getattr(run, what) for run in runs]) for name, runs in self.runs.items()}
        )


def copied_half(tokens: Int[Tensor, "*batch seq"]) -> Int[Tensor, "*batch copied"]:
    """Return the targets for the copied half."""
    return tokens[..., tokens.shape[-1] // 2 :]


def copied_logits(model: nn.Module, inputs: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch copied vocab"]:
    """Return the logits of `model` at the positions that predict the copied half."""
    return model(inputs)[:, inputs.shape[1] // 2 :]


def copied_loss(
    model: nn.Module, inputs: Int[Tensor, "batch seq"], targets: Int[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the cross-entropy of the copied half. The first half is random, so it is left out."""
    return F.cross_entropy(copied_logits(model, inputs).flatten(0, 1), copied_half(targets).flatten())


@torch.no_grad()
def copied_accuracy(model: nn.Module, inputs: Int[Tensor, "batch seq"], targets: Int[Tensor, "batch seq"]) -> float:
    """Return the share of positions in the copied half where the correct token has the highest logit."""
    return float((copied_logits(model, inputs).argmax(-1) == copied_half(targets)).float().mean())


def train_comparison(
    layers: Mapping[str, Callable[[], nn.Module]],
    batch: Batch | None = None,
    seeds: Iterable[int] = range(5),
    steps: int = 400,
    seq_len: int = 32,
    vocab_size: int = 16,
    batch_size: int = 64,
    d_model: int = 64,
    lr: float = 3e-3,
    every: int = 10,
    progress: bool = True,
) -> Comparison:
    """Train a `CopyModel` for each layer, under equal conditions.

    For each seed, all layers get the same texts in the same order, the same initial embeddings and the same number of
    steps.

    Args:
        layers: maps each name to a function that returns an attention layer of width d_model.
        batch: `(batch_size, seq_len, vocab_size, generator) -> (inputs, targets)`; by default the lesson's
            `copy_batch`.
        steps: the number of AdamW steps on the loss of the copied half; the learning rate `lr` decays along half a
            cosine.
        every: the number of steps between two measurements of loss and accuracy on held-out texts. They are also
            measured at the end.

    Raises:
        ValueError: there is no layer or no seed, or the lesson's `copy_batch` is missing.
        KeyboardInterrupt: a training run was interrupted.
    """
    batch, seeds = batch or lesson_batch_function(), list(seeds)
    if not layers or not seeds:
        raise ValueError(
            "train_comparison needs at least one layer, for example {'standard': lambda: StandardAttention(64, 4)}, and"
            " one seed."
        )
    held_out = batch(HELD_OUT_TEXTS, seq_len, vocab_size, generator=held_out_generator())
    runs: dict[str, list[SeedRun]] = {name: [] for name in layers}
    for seed in seeds:
        for name, make in layers.items():
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                attention = make()
                torch.manual_seed(seed)  # equal initial embeddings, even if one layer uses more random numbers
                model = CopyModel(attention, vocab_size, d_model)
            generator = torch.Generator().manual_seed(seed)
            next_batch = functools.partial(batch, batch_size, seq_len, vocab_size, generator=generator)
            run = SeedRun(seed, model)
            _train_one(run, next_batch, held_out, steps, lr, every, progress, title=f"{name}, seed {seed}")
            runs[name].append(run)
    return Comparison(runs, batch, seq_len, vocab_size)


def _train_one(
    run: SeedRun,
    next_batch: Callable[[], tuple[Tensor, Tensor]],
    held_out: tuple[Tensor, Tensor],
    steps: int,
    lr: float,
    every: int,
    progress: bool,
    title: str,
) -> None:
    model, (inputs, targets) = run.model, held_out

    @torch.no_grad()
    def measure(step: int) -> None:
        logits, right = copied_logits(model, inputs), copied_half(targets)
        run.loss.append(float(F.cross_entropy(logits.flatten(0, 1), right.flatten())))
        run.accuracy.append(float((logits.argmax(-1) == right).float().mean()))
        run.steps.append(step)

    def loss(step: int) -> Tensor:
        if step % every == 0:
            measure(step)
        return copied_loss(model, *next_batch())

    optimiser = torch.optim.AdamW(model.parameters(), lr=lr, fused=True)
    history = train(loss, optimiser, steps, schedule=cosine_schedule, log_every=every, progress=progress, title=title)
    if history.interrupted:
        raise KeyboardInterrupt  # training runs of different lengths cannot be compared
    measure(steps)
    run.seconds = history.seconds


def held_out_generator() -> torch.Generator:
    """Return a generator for the held-out texts."""
    return torch.Generator().manual_seed(HELD_OUT)


def lesson_batch_function() -> Batch:
    """Return the lesson's `copy_batch`."""
    return load_from_lesson("gram_attention", "copy_batch", "train_comparison(layers, batch=copy_batch)")
