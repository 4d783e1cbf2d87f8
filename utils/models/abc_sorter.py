"""Provide data, model and training for lesson 09. The model receives three letters, and writes them in sorted order.

A sequence has seven tokens, for example ``c a b · a b c``: three letters, a separator, and the three letters in order.
The model has 480 parameters and no biases outside its layer norms. All constants come from the course's source text.
"""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn import functional as F

from utils.lessons.files import ROOT, write_atomically
from utils.models.lesson_models import load_parameters, require_head
from utils.training import loop

if TYPE_CHECKING:
    from jaxtyping import Float, Int

SEP = 0
LETTERS = "abc"
VOCAB = ("·", *LETTERS)  # index = token id
LENGTH = 7  # 3 letters, SEP, 3 letters
EMBED_DIM, NUM_HEADS = 6, 2
USUAL = ROOT / "utils" / "assets" / "abc_sorter" / "usual.safetensors"
STUDY = USUAL.with_name("study.json")
HELD_OUT = USUAL.with_name("held_out.json")


def encode(letters: Sequence[str] | str) -> Int[Tensor, "1 4"]:
    """Encode three letters and the separator as ids.

    Raises:
        ValueError: `letters` is not three letters from a, b and c.
    """
    letters = "".join(letters).strip().lower()
    if len(letters) != 3 or set(letters) - set(LETTERS):
        raise ValueError(f"three letters from a, b and c are needed, for example cab; got {letters!r}.")
    return torch.tensor([[*map(VOCAB.index, letters), SEP]])


def decode(ids: Int[Tensor, "seq"]) -> str:
    """Decode ids to a string. The separator becomes a dot."""
    return "".join(VOCAB[i] for i in ids.tolist())


def all_sequences() -> Int[Tensor, "27 7"]:
    """Return all 27 triples with their answers."""
    return _with_answers(torch.tensor(list(itertools.product((1, 2, 3), repeat=3))))


def random_sequences(n: int, generator: torch.Generator | None = None) -> Int[Tensor, "n 7"]:
    """Sample `n` triples with their answers. Duplicates are allowed."""
    return _with_answers(torch.randint(1, 4, (n, 3), generator=generator))


def _with_answers(triples: Tensor) -> Tensor:
    return torch.cat([triples, torch.full_like(triples[:, :1], SEP), triples.sort(dim=-1).values], dim=-1)


class Sorter(nn.Module):
    """One transformer block around a given attention layer. The output layer shares the weights of the embedding.

    Args:
        attention: a causal module from [batch, seq, 6] to [batch, seq, 6]. With ``return_weights=True``, it also
            returns the weights [batch, heads, seq, seq].
    """

    def __init__(self, attention: nn.Module) -> None:
        super().__init__()
        self.token_embed = nn.Embedding(len(VOCAB), EMBED_DIM)
        self.pos_embed = nn.Embedding(LENGTH, EMBED_DIM)
        self.norm1 = nn.LayerNorm(EMBED_DIM)
        self.attention = attention
        self.norm2 = nn.LayerNorm(EMBED_DIM)
        self.mlp = nn.Sequential(
            nn.Linear(EMBED_DIM, EMBED_DIM, bias=False), nn.ReLU(), nn.Linear(EMBED_DIM, EMBED_DIM, bias=False)
        )
        self.final_norm = nn.LayerNorm(EMBED_DIM)

    def forward(
        self, tokens: Int[Tensor, "batch seq"], return_weights: bool = False
    ) -> Float[Tensor, "batch seq 4"] | tuple[Float[Tensor, "batch seq 4"], Float[Tensor, "batch heads seq seq"]]:
        """Return the logits for at most 7 ids. With `return_weights`, also return the attention weights."""
        x = self.token_embed(tokens) + self.pos_embed.weight[: tokens.shape[-1]]
        mixed, weights = self.attention(self.norm1(x), return_weights=True)
        x = x + mixed
        x = x + self.mlp(self.norm2(x))
        logits = self.final_norm(x) @ self.token_embed.weight.T
        return (logits, weights) if return_weights else logits


def count_parameters(model: Sorter) -> dict[str, int]:
    """Count the parameters of each part of the sorter, and their total."""
    parts = {
        "token embedding": [model.token_embed],
        "position embedding": [model.pos_embed],
        "attention": [model.attention],
        "MLP": [model.mlp],
        "layer norms": [model.norm1, model.norm2, model.final_norm],
    }
    counts = {name: sum(p.numel() for m in modules for p in m.parameters()) for name, modules in parts.items()}
    return {**counts, "total": sum(counts.values())}


@dataclass(frozen=True)
class Step:
    """The record of one generated letter: the input, the probabilities, and the attention weights.

    Attributes:
        prefix: the tokens so far, as text.
        probs: the probability of each letter.
        weights: the weights of the last position on each token in `prefix`.
        chosen: the letter that the model writes.
    """

    prefix: str
    probs: dict[str, float]
    weights: Float[Tensor, "heads seq"]
    chosen: str


@torch.no_grad()
def trace(model: nn.Module, letters: str) -> list[Step]:
    """Record the three steps in which `model` generates its answer greedily. The separator is never chosen."""
    ids, steps = encode(letters), []
    for _ in range(3):
        logits, weights = model(ids, return_weights=True)
        probs = F.softmax(logits[0, -1, 1:], dim=-1)
        chosen = int(probs.argmax()) + 1
        steps.append(Step(decode(ids[0]), dict(zip(LETTERS, probs.tolist())), weights[0, :, -1], VOCAB[chosen]))
        ids = torch.cat([ids, torch.tensor([[chosen]])], dim=1)
    return steps


def _sorts_correctly(model: Callable[[Tensor], Tensor]) -> Tensor:
    """Return, for each of the 27 triples, whether greedy generation sorts it correctly.

    One forward pass is enough, because greedy generation sorts a triple if and only if the model predicts the correct
    letter after each correct prefix.
    """
    right = all_sequences()
    return (model(right[:, :-1])[:, 3:, 1:].argmax(-1) + 1 == right[:, 4:]).all(1)


@torch.no_grad()
def count_sorted(model: nn.Module) -> int:
    """Return how many of the 27 triples a causal `model` sorts correctly by greedy generation."""
    return int(_sorts_correctly(model).sum())


@torch.no_grad()
def write_answers(model: nn.Module) -> list[str]:
    """Write an answer to each of the 27 triples by greedy generation. The separator is never chosen."""
    ids = all_sequences()[:, :4]
    for _ in range(3):
        best = model(ids)[:, -1, 1:].argmax(-1, keepdim=True) + 1
        ids = torch.cat([ids, best], dim=1)
    return [decode(row) for row in ids[:, 4:]]


def loss_on_all_tokens(model: Callable[[Tensor], Tensor], sequences: Int[Tensor, "n 7"]) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of all next tokens, with the input letters, as in the course's source text."""
    return F.cross_entropy(model(sequences[:, :-1]).flatten(0, 1), sequences[:, 1:].flatten())


def loss_on_outputs(model: Callable[[Tensor], Tensor], sequences: Int[Tensor, "n 7"]) -> Float[Tensor, ""]:
    """Return the cross-entropy of the three sorted letters, which are the only predictable tokens."""
    return F.cross_entropy(model(sequences[:, :-1])[:, 3:].flatten(0, 1), sequences[:, 4:].flatten())


def without(model: Sorter, *heads: int, mlp: bool = False, positions: bool = False) -> Sorter:
    """Return a copy of `model` with some parts switched off.

    Args:
        heads: the heads whose output is set to zero.
        mlp: True to set the output of the MLP to zero.
        positions: True to set the position embedding to zero.

    Raises:
        ValueError: there is no such head.
    """
    for head in heads:
        require_head(head, NUM_HEADS)
    rest, width = copy.deepcopy(model), EMBED_DIM // NUM_HEADS
    with torch.no_grad():
        for head in heads:
            rest.get_parameter("attention.o.weight")[:, head * width : (head + 1) * width] = 0
        if mlp:
            rest.get_parameter("mlp.2.weight").zero_()
        if positions:
            rest.pos_embed.weight.zero_()
    return rest


@torch.no_grad()
def looks(model: Sorter) -> Float[Tensor, "heads 3 3"]:
    """Measure how much each head attends to the smallest, the middle and the largest letter in each pass.

    The weights [heads, passes, letters] are means over the six orders of a, b and c.
    """
    orders = all_sequences()[[5, 7, 11, 15, 19, 21]]
    weights = model(orders[:, :-1], return_weights=True)[1][:, :, 3:, :3]
    place = orders[:, :3].argsort(-1)[:, None, None].expand_as(weights)
    return weights.gather(-1, place).mean(0)


@dataclass
class TrainingLog:
    """The record of a training run.

    Attributes:
        loss: the loss of each step.
        when: the steps at which the model was tested on the 27 triples.
        sorted: how many triples the model sorted at each of these steps.
    """

    loss: list[float]
    when: list[int]
    sorted: list[int]

    @property
    def first_all_sorted(self) -> int | None:
        """The first tested step at which the model sorted all 27 triples, or None."""
        return next((step for step, count in zip(self.when, self.sorted) if count == 27), None)


def train(
    model: nn.Module, loss: Callable[[], Tensor], steps: int, rate: Callable[[int], float], every: int = 50
) -> TrainingLog:
    """Train with AdamW on `loss()`, with the learning rate `rate(step)` and gradients clipped to norm 1.

    These settings come from the course's source text. The model is tested on all 27 triples before the first step,
    every `every` steps, and at the end.

    Raises:
        KeyboardInterrupt: the training was interrupted.
    """
    log = TrainingLog([], [], [])

    def try_all(step: int) -> None:
        if step % every == 0 or step == steps:
            log.when.append(step)
            log.sorted.append(count_sorted(model))

    history = loop.train(
        lambda step: loss(),
        torch.optim.AdamW(model.parameters(), lr=1.0, fused=True),
        steps,
        schedule=lambda step, steps: rate(step),
        clip=1.0,
        log_every=1,
        progress=False,
        before_step=try_all,
    )
    if history.interrupted:
        raise KeyboardInterrupt
    try_all(steps)
    log.loss = history.losses
    return log


@loop.one_thread()
def train_batched(
    models: Sequence[nn.Module],
    loss: Callable[[Callable[[Tensor], Tensor], Tensor], Tensor],
    sample_batch: Callable[[], Tensor],
    steps: int,
    rate: Callable[[int], float],
    every: int = 25,
    until_sorted: bool = False,
) -> list[int | None]:
    """Train several sorters at once, in the same way as `train`.

    Training twenty sorters takes less than twice as long as training five.

    Args:
        models: sorters with the same sizes, trained in place. Parameters with `requires_grad=False` do not change.
        loss: a function of a model and its sequences, such as `loss_on_outputs`.
        sample_batch: returns the sequences for a step, [n, 7] for all models or [models, n, 7].
        until_sorted: stop as soon as every model has sorted all 27 triples.

    Returns:
        For each model, the first tested step at which it sorted all 27 triples, or None.
    """
    values, buffers = stack_module_state(list(models))
    learned = [values[name] for name, parameter in models[0].named_parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(learned, fused=True)

    def ask(question: Callable[..., Tensor], data: Tensor) -> Tensor:
        def one(values: dict[str, Tensor], buffers: dict[str, Tensor], data: Tensor) -> Tensor:
            return question(lambda ids: functional_call(models[0], (values, buffers), (ids,)), data)

        return vmap(one, in_dims=(0, 0, 0 if data.dim() == 3 else None))(values, buffers, data)

    first: list[int | None] = [None] * len(models)
    for step in range(steps + 1):
        if step % every == 0 or step == steps:
            with torch.no_grad():
                done = ask(lambda model, _: _sorts_correctly(model), all_sequences()).all(1).tolist()
            first = [step if known is None and right else known for known, right in zip(first, done)]
        if step == steps or (until_sorted and None not in first):
            break
        optimiser.param_groups[0]["lr"] = rate(step)
        optimiser.zero_grad()
        ask(loss, sample_batch()).sum().backward()
        norms = torch.cat([value.grad.flatten(1) for value in learned], 1).norm(dim=1)
        for value in learned:  # clip the gradients of each model separately
            value.grad *= (1 / (norms + 1e-6)).clamp(max=1).view(-1, *[1] * (value.dim() - 1))
        optimiser.step()
    for i, model in enumerate(models):
        model.load_state_dict({name: value[i].detach() for name, value in values.items()}, strict=False)
    return first


def train_usual(model: nn.Module, rate: Callable[[int], float], steps: int = 4000) -> TrainingLog:
    """Train as in the course's source text: each step has 128 random triples, and the loss covers every next token.

    `rate` is the lesson's schedule for 15,000 steps, but the training stops after `steps` steps.
    """
    return train(model, lambda: loss_on_all_tokens(model, random_sequences(128)), steps, rate)


def save_usual(model: nn.Module, log: TrainingLog, path: Path = USUAL) -> None:
    """Save the weights and the log of `train_usual`. `python bench/abc_sorter.py --write` calls this function."""
    from safetensors.torch import save

    tensors = {f"model.{name}": value.detach() for name, value in model.named_parameters()}
    tensors |= {f"log.{name}": torch.tensor(values) for name, values in vars(log).items()}
    path.parent.mkdir(exist_ok=True)
    write_atomically(path, save(tensors))


def study() -> dict[str, list[int | None]]:
    """Return the number of steps until all 27 triples are sorted, for each training method and each of 20 seeds.

    The number is None if the training ended with unsorted triples. `python bench/abc_sorter.py --write` measures the
    numbers.
    """
    return json.loads(STUDY.read_text(encoding="utf-8"))


def held_out_study() -> dict[str, dict[str, float]]:
    """Return how well sorters answer triples that were held out of their training.

    There are 20 sorters in each case. `python bench/abc_sorter.py --held-out` measures these numbers.

    Returns:
        "random": for each of five random splits, the share of correct answers to the seven held-out triples.
        "shuffled": the same, if each triple has the answer of another triple.
        "one order", "no order": for each answer, the share of its held-out orders that were answered correctly. The
            training contained one order of the answer's letters ("one order") or none ("no order").
        "written for aab": how often each answer was written for the orders of aab, if the training contained none.
        "wrong": how many wrong answers in "one order" and "no order" were in alphabetical order, and the number of all
            these wrong answers.
    """
    return json.loads(HELD_OUT.read_text(encoding="utf-8"))


def load_usual(model: nn.Module, path: Path = USUAL) -> TrainingLog:
    """Load the stored weights of `train_usual` into `model`, and return the log of the training.

    Raises:
        ValueError: the file is missing or damaged, or the names or shapes of the model's parameters differ from the
            stored ones. The message says how to fix this.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        stored = load_file(path)
        log = TrainingLog(*(stored.pop(f"log.{name}").tolist() for name in ("loss", "when", "sorted")))
    except (OSError, KeyError, SafetensorError) as error:
        raise ValueError(
            f"{path} cannot be read ({type(error).__name__}: {error}). `git checkout -- utils/assets/abc_sorter`"
            " restores it, and `python bench/abc_sorter.py --write` trains it again."
        ) from None
    weights = {name.removeprefix("model."): value for name, value in stored.items()}
    load_parameters(model, weights, "the weights of the usual training do not fit this model: {}.")
    return log


def main() -> None:
    """Train the lesson's sorter, then sort letters typed in the terminal. An empty line ends the program."""
    from utils import lessons, show

    lesson = lessons.load_lesson(lessons.find_lesson("abc_sorter"))
    torch.manual_seed(0)
    model, sequences = Sorter(lesson.DeepQKVAttention(EMBED_DIM, NUM_HEADS, LENGTH)), all_sequences()
    train(model, lambda: loss_on_outputs(model, sequences), 300, lambda step: lesson.lr_at(step, 300, 2e-2, 30))
    print(f"After training, the model sorts {count_sorted(model)} of 27 triples.")
    while letters := input("Three letters from a, b and c (an empty line quits): ").strip():
        try:
            print(show.trace(trace(model, letters)))
        except ValueError as error:
            print(error)


if __name__ == "__main__":
    main()
