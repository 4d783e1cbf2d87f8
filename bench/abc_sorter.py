"""Train the letter sorter of lesson 09 until it sorts all 27 triples. The source's recipe samples 128 triples per step
and trains on every next token. The lesson's recipe uses all 27 sequences in each step. Its loss counts only the
answers.

`python bench/abc_sorter.py --write` is a different command: it writes utils/assets/abc_sorter/ again, with the first
4,000 steps of the usual training and with the study. The lesson draws both. The study trains 20 sorters for each
variant: which tokens count in the loss, which sequences, which rate, temperature, rank, the strict variant, and no
positions.
"""

import argparse
import json
import random
import sys
import time
from pathlib import Path

import torch
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from bench.measurement import Row
from solutions import abc_sorter as lesson
from utils.models import abc_sorter

SEEDS, STARTS, SEQUENCES = range(5), 20, abc_sorter.all_sequences()


def source_batch(n: int) -> torch.Tensor:
    """Sample `n` sequences in a loop, as the source does."""
    x = torch.empty((n, 7), dtype=torch.long)
    for i in range(n):
        triple = random.choices([1, 2, 3], k=3)
        x[i] = torch.tensor([*triple, abc_sorter.SEP, *sorted(triple)])
    return x


def train_until_sorted(seed: int, steps: int, rate, loss, every: int, fused: bool) -> tuple[float, int | None]:
    """Return the CPU seconds and steps until all 27 are sorted, or None if the plan ends before that."""
    torch.manual_seed(seed)
    random.seed(seed)
    model = abc_sorter.Sorter(lesson.DeepQKVAttention(6, 2, 7))
    parameters = list(model.parameters())
    optimiser = torch.optim.AdamW(parameters, lr=rate(0), fused=fused)
    seconds = 0.0
    for step in range(steps):
        begin = time.process_time()
        optimiser.param_groups[0]["lr"] = rate(step)
        value = loss(model)
        optimiser.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimiser.step()
        seconds += time.process_time() - begin
        if (step + 1) % every == 0 and abc_sorter.count_sorted(model) == 27:
            return seconds, step + 1
    return seconds, None


def source_loss(model: torch.nn.Module) -> torch.Tensor:
    x = source_batch(128)
    return F.cross_entropy(model(x)[:, :-1].reshape(-1, 4), x[:, 1:].reshape(-1))


def write_usual() -> None:
    """Train with the usual recipe for 4,000 steps, and store weights and log for the lesson."""
    torch.manual_seed(0)
    model, began = abc_sorter.Sorter(lesson.DeepQKVAttention(6, 2, 7)), time.perf_counter()
    log = abc_sorter.train_usual(model, lambda step: lesson.lr_at(step, 15000, 1e-3, 500))
    abc_sorter.save_usual(model, log)
    print(f"{log.sorted[-1]} of 27, all of them first after {log.first_all_sorted} steps")
    print(f"{time.perf_counter() - began:.0f} s; written: {abc_sorter.USUAL.name}")


def loss_on_outputs_and_separator(model, sequences: torch.Tensor) -> torch.Tensor:
    """Return the cross-entropy of the four predictable tokens."""
    return F.cross_entropy(model(sequences[:, :-1])[:, 2:].flatten(0, 1), sequences[:, 3:].flatten())


def new_sorter(seed: int, positions: bool = True, **options) -> abc_sorter.Sorter:
    torch.manual_seed(seed)
    model = abc_sorter.Sorter(lesson.DeepQKVAttention(6, 2, 7, **options))
    if not positions:
        model.pos_embed.weight.data.zero_()
        model.pos_embed.weight.requires_grad_(False)
    return model


def steps_until_sorted(loss=abc_sorter.loss_on_outputs, all_27=True, slow=False, **options) -> list[int | None]:
    """Return, for 20 seeds, the steps until all 27 are sorted: at most 300 at the lesson's rate, 4,000 at the usual
    rate.
    """
    models, generator = [new_sorter(seed, **options) for seed in range(STARTS)], torch.Generator().manual_seed(0)

    def draw() -> torch.Tensor:
        if all_27:
            return SEQUENCES
        return abc_sorter.random_sequences(STARTS * 128, generator).view(STARTS, 128, 7)

    steps, plan = (4000, (15000, 1e-3, 500)) if slow else (300, (300, 2e-2, 30))
    every = 100 if slow else 25
    rate = lambda step: lesson.lr_at(step, *plan)
    return abc_sorter.train_batched(models, loss, draw, steps, rate, every, until_sorted=True)


def write_study() -> None:
    """Measure the figures about many seeds that the lesson quotes."""
    every_next = abc_sorter.loss_on_all_tokens
    ways = {"answers, all 27": {}, "answers, random": {"all_27": False}}
    ways |= {"strict": {"strict": True}, "no positions": {"positions": False}}
    ways |= {"+ dot, all 27": {"loss": loss_on_outputs_and_separator}, "all six, all 27": {"loss": every_next}}
    ways |= {f"temperature {temp:g}": {"temp": temp} for temp in (0.1, 0.3, 3.0, 10.0)}
    ways |= {f"rank {rank}": {"rank": rank} for rank in (1, 2, 6)}
    ways |= {"all six, random": {"loss": every_next, "all_27": False}}
    ways |= {"answers, all 27, slow": {"slow": True}}
    study = {}
    for name, how in ways.items():
        study[name] = steps_until_sorted(**how)
        done = sorted(step for step in study[name] if step is not None)
        print(f"{name:26}{len(done):3} of {STARTS}   {done}", flush=True)
        abc_sorter.STUDY.write_text(json.dumps(study) + "\n", encoding="utf-8")


def time_usual_training(seed: int) -> tuple[float, int | None]:
    return train_until_sorted(seed, 15001, lambda step: lesson.lr_at(step, 15000, 1e-3, 500), source_loss, 250, False)


def time_lesson_training(seed: int) -> tuple[float, int | None]:
    def loss(model: torch.nn.Module) -> torch.Tensor:
        return abc_sorter.loss_on_outputs(model, SEQUENCES)

    return train_until_sorted(seed, 300, lambda step: lesson.lr_at(step, 300, 2e-2, 30), loss, 5, True)


def rows() -> list[Row]:
    torch.set_num_threads(1)
    time_lesson_training(99)  # warm up: the first steps of a process are slower
    runs = [[way(seed) for way in (time_lesson_training, time_usual_training)] for seed in SEEDS]
    assert all(steps for run in runs for _, steps in run)
    mine, theirs = zip(*([seconds for seconds, _ in run] for run in runs))
    what = "training the letter sorter"
    return [Row(what, mine, "s", "the source's recipe", theirs, bar="1/50", headline=True)]


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--write", action="store_true", required=True, help="make utils/assets/abc_sorter/")
    ask.parse_args()
    torch.set_num_threads(1)
    write_usual()
    write_study()


if __name__ == "__main__":
    main()
