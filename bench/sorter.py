"""The letter sorter of lesson 09: the source text's recipe beside the lesson's, each until all 27 triples are sorted.

The recipe of the source text draws 128 triples in a Python loop, asks for every next token, and plans 15,000 steps of AdamW at 1e-3; it is
stopped here as soon as everything is sorted. The lesson's takes all 27 sequences, asks for the answers, and plans 300 steps at 2e-2.
Trying the model is not timed. Prints seconds and steps for five seeds, and the ratio of the times.
"""

import random
import sys
import time
from pathlib import Path

import torch
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from solutions import abc_sorter as lesson  # noqa: E402
from utils import sorting  # noqa: E402

SEEDS = range(5)


def loop_batch(n: int) -> torch.Tensor:
    """`n` random sequences, one after the other."""
    x = torch.empty((n, 7), dtype=torch.long)
    for i in range(n):
        triple = random.choices([1, 2, 3], k=3)
        x[i] = torch.tensor([*triple, sorting.SEP, *sorted(triple)])
    return x


def until_sorted(seed: int, steps: int, rate, loss, every: int, fused: bool) -> tuple[float, int | None]:
    """Seconds and steps until all 27 are sorted; None where the plan ends before."""
    torch.manual_seed(seed)
    random.seed(seed)
    model = sorting.Sorter(lesson.DeepQKVAttention(6, 2, 7))
    parameters = list(model.parameters())
    optimiser = torch.optim.AdamW(parameters, lr=rate(0), fused=fused)
    seconds = 0.0
    for step in range(steps):
        begin = time.perf_counter()
        optimiser.param_groups[0]["lr"] = rate(step)
        value = loss(model)
        optimiser.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        seconds += time.perf_counter() - begin
        if (step + 1) % every == 0 and sorting.count_sorted(model) == 27:
            return seconds, step + 1
    return seconds, None


def every_token(model: torch.nn.Module) -> torch.Tensor:
    x = loop_batch(128)
    return F.cross_entropy(model(x)[:, :-1].reshape(-1, 4), x[:, 1:].reshape(-1))


def main() -> None:
    torch.set_num_threads(1)
    sequences = sorting.all_sequences()
    usual = lambda seed: until_sorted(seed, 15001, lambda s: lesson.lr_at(s, 15000, 1e-3, 500), every_token, 250, False)  # noqa: E731
    ours = lambda seed: until_sorted(seed, 300, lambda s: lesson.lr_at(s, 300, 2e-2, 30), lambda m: sorting.loss_on_outputs(m, sequences), 5, True)  # noqa: E731
    ours(99)  # the first steps of a process are slower
    total = {"usual": 0.0, "ours": 0.0}
    for seed in SEEDS:
        for name, way in (("usual", usual), ("ours", ours)):
            seconds, steps = way(seed)
            total[name] += seconds
            print(f"seed {seed} {name:6} {seconds:7.3f} s   {f'27/27 after {steps} steps' if steps else 'not all sorted'}")
    print(f"ratio of the times until all are sorted: {total['usual'] / total['ours']:.0f} (bar 50)")


if __name__ == "__main__":
    main()
