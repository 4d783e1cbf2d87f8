"""Lesson 11: the second half of a text repeats the first. The model around an attention layer, and two layers compared on equal terms.

A text of 32 tokens is 16 random ones, twice. A model is asked for each next token of the second half, which stands 15 places before
the one that it sees last. There are no positions but those that an attention layer brings, and no second layer: the right place can
only be found by its distance. Layers and data are handed in; what they compute is the lesson's.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import math
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from utils.train import cosine, train

ASSET = Path(__file__).resolve().parent / "assets" / "copying"
REACHED = 0.99  # the share of copied tokens at which a model is said to copy
HELD_OUT, HELD_OUT_TEXTS = 12345, 128  # the seed and the number of texts that no training sees
Batch = Callable[..., tuple[Tensor, Tensor]]


class CopyModel(nn.Module):
    """Tokens in, one attention layer, logits out: no positions, no residual, no norm, as in the course's source text.

    Args:
        attention: from [batch, seq, d_model] to [batch, seq, d_model], causal; with ``return_weights=True`` it also
            gives the weights [batch, heads, seq, seq].
    """

    def __init__(self, attention: nn.Module, vocab_size: int = 16, d_model: int = 64) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocab_size, d_model)
        self.attention = attention
        self.unembed = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, tokens: Tensor, return_weights: bool = False) -> Tensor | tuple[Tensor, Tensor]:
        """Ids [batch, seq] to logits [batch, seq, vocab]; with `return_weights` also [batch, heads, seq, seq]."""
        if not return_weights:
            return self.unembed(self.attention(self.embed(tokens)))
        mixed, weights = self.attention(self.embed(tokens), return_weights=True)
        return self.unembed(mixed), weights


@dataclass
class Run:
    """One model's training. `loss` and `accuracy` are those of held-out texts' copied halves, after `steps` steps."""

    seed: int
    model: nn.Module
    steps: list[int] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    accuracy: list[float] = field(default_factory=list)
    seconds: float = 0.0  # of training, the measuring included

    @property
    def first(self) -> int | None:
        """The first logged step at which 99 % of the copied tokens came out right; None if there was none."""
        return next((step for step, share in zip(self.steps, self.accuracy) if share >= REACHED), None)


@dataclass(frozen=True)
class Measured:
    """Numbers of several seeds: `values[name]` is [seeds, points], a column for each of `points`."""

    points: list[float]
    values: dict[str, Tensor]

    @property
    def percent(self) -> dict[str, Tensor]:
        """The values times 100, as `show.curves` draws them."""
        return {name: 100 * numbers for name, numbers in self.values.items()}

    def table(self, points_name: str = "") -> str:
        """Mean, lowest and highest over the seeds, in per cent, a row for each point; narrow enough for half a window."""
        width = max(24, *(len(name) + 2 for name in self.values))
        rows = [f"{points_name:>8}" + "".join(f"{name:>{width}}" for name in self.values)]
        for i, point in enumerate(self.points):
            row = f"{point:>8g}"
            for numbers in self.values.values():
                low, mean, high = (100 * float(x) for x in (numbers[:, i].min(), numbers[:, i].mean(), numbers[:, i].max()))
                row += f"{f'{mean:.1f} ({low:.1f} to {high:.1f})':>{width}}"
            rows.append(row)
        return "\n".join(rows)


@dataclass
class Comparison:
    """What `train_comparison` did: `runs[name]` is a list with a `Run` for each seed; `batch` draws the texts."""

    runs: dict[str, list[Run]]
    batch: Batch
    seq_len: int
    vocab_size: int

    @property
    def models(self) -> dict[str, list[nn.Module]]:
        """The trained models, a list for each layer, in the order of the seeds."""
        return {name: [run.model for run in runs] for name, runs in self.runs.items()}

    @property
    def first(self) -> dict[str, list[int | None]]:
        """For each layer and seed the first logged step at which 99 % is reached, or None."""
        return {name: [run.first for run in runs] for name, runs in self.runs.items()}

    @property
    def accuracy(self) -> Measured:
        """The share of copied tokens that come out right, against the step."""
        return self._curve("accuracy")

    @property
    def loss(self) -> Measured:
        """The loss on the copied half, against the step."""
        return self._curve("loss")

    def _curve(self, what: str) -> Measured:
        steps = next(iter(self.runs.values()))[0].steps
        return Measured(list(steps), {name: torch.tensor([getattr(run, what) for run in runs]) for name, runs in self.runs.items()})


def copied(tokens: Tensor) -> Tensor:
    """Of targets [..., seq − 1] those that the copied half holds: the last seq / 2."""
    return tokens[..., tokens.shape[-1] // 2 :]


def copied_logits(model: nn.Module, inputs: Tensor) -> Tensor:
    """What `model` says at the places where the copied half is asked for, [batch, seq / 2, vocab]."""
    return model(inputs)[:, inputs.shape[1] // 2 :]


def copied_loss(model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy of the copied half: what can be known. The first half is random, and nobody is asked for it."""
    return F.cross_entropy(copied_logits(model, inputs).flatten(0, 1), copied(targets).flatten())


@torch.no_grad()
def copied_accuracy(model: nn.Module, inputs: Tensor, targets: Tensor) -> float:
    """The share of the copied half's tokens that `model` puts first."""
    return float((copied_logits(model, inputs).argmax(-1) == copied(targets)).float().mean())


def train_comparison(
    layers: Mapping[str, Callable[[], nn.Module]], batch: Batch | None = None, seeds: Iterable[int] = range(5), steps: int = 400,
    seq_len: int = 32, vocab_size: int = 16, batch_size: int = 64, d_model: int = 64, lr: float = 3e-3, every: int = 10, progress: bool = True,
) -> Comparison:
    """Train a `CopyModel` around each layer: per seed the same texts in the same order, the same embeddings to start from, the same budget.

    Args:
        layers: {name: what makes an attention layer of width d_model}.
        batch: `(batch_size, seq_len, vocab_size, generator) -> (inputs, targets)`; by default the lesson's `copy_batch`.
        steps: of AdamW on the loss of the copied half, at the rate `lr`, which falls along half a cosine.
        every: how often loss and accuracy of held-out texts are taken; they are also taken at the end.
    """
    batch, seeds = batch or lesson_batch(), list(seeds)
    if not layers or not seeds:
        raise ValueError("train_comparison needs at least one layer, as in {'standard': lambda: StandardAttention(64, 4)}, and one seed.")
    held_out = batch(HELD_OUT_TEXTS, seq_len, vocab_size, generator=_generator(HELD_OUT))
    runs = {name: [] for name in layers}
    for seed in seeds:
        for name, make in layers.items():
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                attention = make()
                torch.manual_seed(seed)  # layers draw different amounts; what is around them starts the same
                model = CopyModel(attention, vocab_size, d_model)
            title = f"{name}, seed {seed}"
            runs[name].append(_train_one(model, seed, batch, held_out, steps, (batch_size, seq_len, vocab_size), lr, every, progress, title))
    return Comparison(runs, batch, seq_len, vocab_size)


def _train_one(model: nn.Module, seed: int, batch: Batch, held_out: tuple, steps: int, sizes: tuple, lr: float, every: int, progress: bool, title: str) -> Run:
    run, generator = Run(seed, model), _generator(seed)

    @torch.no_grad()
    def measure(step: int) -> None:
        inputs, targets = held_out
        logits, right = copied_logits(model, inputs), copied(targets)
        run.loss.append(float(F.cross_entropy(logits.flatten(0, 1), right.flatten())))
        run.accuracy.append(float((logits.argmax(-1) == right).float().mean()))
        run.steps.append(step)

    def loss(step: int) -> Tensor:
        if step % every == 0:
            measure(step)
        return copied_loss(model, *batch(*sizes, generator=generator))

    optimiser = torch.optim.AdamW(model.parameters(), lr=lr, fused=True)
    history = train(loss, optimiser, steps, schedule=cosine, log_every=every, progress=progress, title=title)
    if history.interrupted:
        raise KeyboardInterrupt  # a comparison of unequal trainings would be none
    measure(steps)
    run.seconds = history.seconds
    return run


@torch.no_grad()
def longer(comparison: Comparison, lengths: Sequence[int] = (32, 48, 64, 96), period: int | None = None, texts: int = 64) -> Measured:
    """The share of repeated tokens that the trained models get right in texts of other lengths.

    Args:
        period: how many tokens there are before they repeat. By default half of the length, as in the training's texts; then a longer
            text also has its copy further away. ``period=16`` keeps the distance and repeats the same tokens as often as they fit.
    """
    shares = []
    for length in lengths:
        every = length // 2 if period is None else period
        if length % 2 or not 2 <= every < length:
            raise ValueError(f"a text needs an even length and a period from 2 to below it; got length {length} and period {every}.")
        text = _repeated(comparison, texts, every, length)
        inputs, right = text[:, :-1], text[:, every:]
        shares.append([[float((m(inputs)[:, every - 1 :].argmax(-1) == right).float().mean()) for m in each] for each in comparison.models.values()])
    return _by_layer(comparison, list(lengths), shares)


def _repeated(comparison: Comparison, n: int, period: int, length: int) -> Tensor:
    """`n` held-out texts [n, length] whose first `period` tokens are repeated to the end."""
    inputs, _ = comparison.batch(n, 2 * period, comparison.vocab_size, generator=_generator(HELD_OUT))
    return inputs[:, torch.arange(length) % period]


def _by_layer(comparison: Comparison, points: list, shares: list) -> Measured:
    table = torch.tensor(shares)  # [points, layers, seeds]
    return Measured(points, {name: table[:, i].T for i, name in enumerate(comparison.runs)})


@torch.no_grad()
def loud(
    comparison: Comparison, factors: Sequence[float] = (1, 2, 5, 10, 50), which: str = "all", places: int = 4, texts: int = HELD_OUT_TEXTS
) -> Measured:
    """The share of the copied half that is right when the key vectors of some random places are multiplied by a factor.

    What `W_k` gives is multiplied, in every layer alike, at `places` of the seq − 1 places, other ones in each text.

    Args:
        factors: above 1 loud, below 1 quiet.
        which: "all" copied tokens; or of these only the ones whose own key, the one to be found, is left alone ("others" are multiplied);
            or only the ones whose own key is multiplied ("itself").
    """
    ways = ("all", "others", "itself")
    if which not in ways:
        raise ValueError(f"which must be one of {', '.join(map(repr, ways))}; got {which!r}.")
    inputs, targets = comparison.batch(texts, comparison.seq_len, comparison.vocab_size, generator=_generator(HELD_OUT))
    seq = inputs.shape[1]
    if not 1 <= places < seq:
        raise ValueError(f"places must be from 1 to {seq - 1}; got {places}.")
    chosen = torch.rand(texts, seq, generator=_generator(HELD_OUT)).argsort(-1) < places
    own = chosen[:, : seq - seq // 2]  # the key to be found for a copied token stands seq // 2 places back
    counted = {"all": torch.ones_like(own), "others": ~own, "itself": own}[which]
    shares = []
    for factor in factors:
        gain = torch.where(chosen, float(factor), 1.0)[..., None]
        shares.append([[_share_with(model, inputs, targets, gain, counted) for model in each] for each in comparison.models.values()])
    return _by_layer(comparison, list(factors), shares)


def _share_with(model: nn.Module, inputs: Tensor, targets: Tensor, gain: Tensor, counted: Tensor) -> float:
    called = []

    def louder(module: nn.Module, given: tuple, keys: Tensor) -> Tensor:
        called.append(True)
        return keys * gain

    hook = model.attention.W_k.register_forward_hook(louder)
    try:
        right = copied_logits(model, inputs).argmax(-1) == copied(targets)
    finally:
        hook.remove()
    if not called:
        raise ValueError("the layer did not call W_k, so its keys cannot be made loud; write W_k(x), not x @ W_k.weight.T.")
    return float(right[counted].float().mean())


@torch.no_grad()
def look_back(model: nn.Module, inputs: Tensor) -> Tensor:
    """The mean weight that each head puts 0, 1, … places back while the copied half is written, [heads, seq − 1]."""
    weights = model(inputs, return_weights=True)[1].mean(0)
    first = inputs.shape[1] // 2  # the place from which the first copied token is said
    n = weights.shape[-1]
    back = [weights.diagonal(-d, -2, -1)[:, max(0, first - d) :] for d in range(n)]
    return torch.stack([row.mean(-1) for row in back], dim=-1)


def with_room(*vectors: Tensor) -> list[Tensor]:
    """The vectors [..., d] of a volume, in float32 at least: a score multiplies six lengths, and float16 ends at 65,504.

    Raises:
        ValueError: the sixth power of their lengths is too large for that as well.
    """
    vectors = [x.float() if x.dtype.itemsize < 4 else x for x in vectors]
    if not vectors[0].is_meta:  # a tensor without numbers has no lengths
        longest = [float(x.detach().norm(dim=-1).amax()) for x in vectors]
        if not math.prod(longest) ** 2 < torch.finfo(vectors[0].dtype).max:
            lengths = ", ".join(f"{length:.3g}" for length in longest)
            raise ValueError(f"query, key and reference have lengths up to {lengths}: their squared volume does not fit in {vectors[0].dtype}. Scale them down.")
    return vectors


@dataclass(frozen=True)
class Cost:
    """The median seconds of a call, and the bytes that it held at the most beyond what was there before."""

    seconds: float
    peak: int


@torch.no_grad()
def cost(call: Callable[[], object], repeats: int = 5) -> Cost:
    """Time and memory of `call()`, without gradients. On one core of the CPU: there several would wait for each other in so short a call."""
    cores, times = torch.get_num_threads(), []
    torch.set_num_threads(1)
    try:
        call()
        for _ in range(repeats):
            begin = time.perf_counter()
            call()
            times.append(time.perf_counter() - begin)
    finally:
        torch.set_num_threads(cores)
    with _ledger_type()() as ledger:
        call()
    return Cost(sorted(times)[repeats // 2], ledger.peak)


@functools.cache
def _ledger_type() -> type:
    """Made on first use: torch's dispatch modes are slow to import."""
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    class Ledger(TorchDispatchMode):
        """Adds up the storages that operations make, and takes away those whose last tensor has gone."""

        def __init__(self) -> None:
            super().__init__()
            self.now = self.peak = 0
            self.users: dict[int, int] = {}  # how many tensors use a storage; 0 stands for what was there before
            self.before: set[int] = set()

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
            for given in tree_leaves((args, kwargs)):
                if isinstance(given, Tensor) and (key := self._key(given)) not in self.users:
                    self.before.add(key)
            made = func(*args, **(kwargs or {}))
            for tensor in tree_leaves(made):
                if isinstance(tensor, Tensor) and (key := self._key(tensor)) not in self.before:
                    if key not in self.users:
                        self.users[key] = 0
                        self.now += tensor.untyped_storage().nbytes()
                        self.peak = max(self.peak, self.now)
                    self.users[key] += 1
                    weakref.finalize(tensor, self._gone, key, tensor.untyped_storage().nbytes()).atexit = False
            return made

        @staticmethod
        def _key(tensor: Tensor) -> int:
            return tensor.untyped_storage()._cdata

        def _gone(self, key: int, size: int) -> None:
            self.users[key] -= 1
            if not self.users[key]:
                del self.users[key]
                self.now -= size

    return Ledger


def study(path: Path | str = ASSET / "study.json") -> dict[str, object]:
    """What `bench/gram.py --write` measured last with five seeds of each layer.

    Returns:
        "settings"; "first", for each layer the step at which each seed reaches 99 %; and as `Measured`: "accuracy" and "loss" against the step;
        "longer", the copy further away; "repeats", the same 16 tokens again and again; "back", the weight 0, 1, … places back, mean of the
        heads; "loud" and "quiet", each also as "… others" and "… itself", against the factor.
    """
    stored = json.loads(Path(path).read_text(encoding="utf-8"))
    return {name: _measured(part) if isinstance(part, dict) and "points" in part else part for name, part in stored.items()}


def _measured(part: dict) -> Measured:
    return Measured(part["points"], {name: torch.tensor(rows) for name, rows in part["values"].items()})


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def lesson_batch() -> Batch:
    """The lesson's own `copy_batch`."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            from solutions import gram_attention

            return gram_attention.copy_batch
    except ImportError:
        raise ValueError("the lesson's copy_batch is not here; give your own, as in train_comparison(layers, batch=copy_batch).") from None
