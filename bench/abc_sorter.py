"""Train the letter sorter of lesson 09 until it sorts all 27 triples of letters. The source trains on 128 random
triples in each step, and its loss includes every next token. The lesson trains on all 27 sequences in each step, and
its loss includes only the answers.

`python bench/abc_sorter.py --write` is a different command: it writes utils/assets/abc_sorter/ again, with the first
4,000 steps of the usual training and with the study. The lesson draws both. The study trains 20 sorters for each
variant. The variants differ in the tokens that count in the loss, the training sequences, the learning rate, the number
of steps, the temperature and the rank. Further variants are strict, or have equal gates, no positions or no warm-up.
`python bench/abc_sorter.py --held-out` writes only the results of sorters that were trained without some triples.
"""

import argparse
import json
import random
import sys
import time
from collections import Counter
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


def new_sorter(seed: int, positions: bool = True, equal_gates: bool = False, **options) -> abc_sorter.Sorter:
    torch.manual_seed(seed)
    model = abc_sorter.Sorter(lesson.DeepQKVAttention(6, 2, 7, **options))
    if equal_gates:
        for name in ("qA", "kA", "vA"):
            model.attention.get_parameter(name).requires_grad_(False).zero_()
    if not positions:
        model.pos_embed.weight.data.zero_()
        model.pos_embed.weight.requires_grad_(False)
    return model


def short_rate(step: int) -> float:
    return lesson.lr_at(step, 300, 2e-2, 30)


def rate_without_warmup(step: int) -> float:
    """Return the rate of the lesson's half cosine, which starts at the first step because there is no warm-up."""
    return lesson.lr_at(step + 1, 301, 2e-2, 1)


def steps_until_sorted(
    loss=abc_sorter.loss_on_outputs, all_27=True, slow=False, rate=None, steps=None, **options
) -> list[int | None]:
    """Return, for 20 seeds, the number of steps until all 27 are sorted.

    The training stops after `steps` steps (300 by default) at the lesson's rate, or after 4,000 steps at the usual
    rate.
    """
    models, generator = [new_sorter(seed, **options) for seed in range(STARTS)], torch.Generator().manual_seed(0)

    def draw() -> torch.Tensor:
        if all_27:
            return SEQUENCES
        return abc_sorter.random_sequences(STARTS * 128, generator).view(STARTS, 128, 7)

    plan = (15000, 1e-3, 500) if slow else (steps or 300, 2e-2, 30)
    steps, every = (4000, 100) if slow else (steps or 300, 25)
    rate = rate or (lambda step: lesson.lr_at(step, *plan))
    return abc_sorter.train_batched(models, loss, draw, steps, rate, every, until_sorted=True)


def write_study(only: str | None = None) -> None:
    """Measure the figures about many seeds that the lesson quotes, or only one of them."""
    every_next = abc_sorter.loss_on_all_tokens
    ways = {"answers, all 27": {}, "answers, random": {"all_27": False}}
    ways |= {"strict": {"strict": True}, "no positions": {"positions": False}}
    ways |= {"+ dot, all 27": {"loss": loss_on_outputs_and_separator}, "all six, all 27": {"loss": every_next}}
    ways |= {f"temperature {temp:g}": {"temp": temp} for temp in (0.1, 0.3, 3.0, 10.0)}
    ways |= {f"rank {rank}": {"rank": rank} for rank in (1, 2, 6)}
    ways |= {"all six, random": {"loss": every_next, "all_27": False}}
    ways |= {"answers, all 27, slow": {"slow": True}}
    ways |= {"equal gates": {"equal_gates": True}}
    ways |= {"no warm-up": {"rate": rate_without_warmup}}
    ways |= {"all six, all 27, 1500 steps": {"loss": every_next, "steps": 1500}}
    study = {} if only is None else abc_sorter.study()
    for name, how in ways.items():
        if only not in (None, name):
            continue
        study[name] = steps_until_sorted(**how)
        done = sorted(step for step in study[name] if step is not None)
        print(f"{name:26}{len(done):3} of {STARTS}   {done}", flush=True)
        abc_sorter.STUDY.write_text(json.dumps(study) + "\n", encoding="utf-8")


def train_without(held_out: list[list[int]], sequences: torch.Tensor = SEQUENCES) -> list[abc_sorter.Sorter]:
    """Train one sorter for each list of held-out triples, on the other sequences. All lists have the same length."""
    kept = torch.stack([sequences[[i for i in range(27) if i not in some]] for some in held_out])
    models = [new_sorter(seed) for seed in range(len(held_out))]
    abc_sorter.train_batched(models, abc_sorter.loss_on_outputs, lambda: kept, 300, short_rate, 300)
    return models


def shuffle_answers(seed: int) -> torch.Tensor:
    """Return the 27 sequences with the answers of other triples, so that there is no rule to learn."""
    order = torch.randperm(27, generator=torch.Generator().manual_seed(seed))
    return torch.cat([SEQUENCES[:, :4], SEQUENCES[order, 4:]], dim=1)


def answers_to_held_out(held_out: list[list[int]], sequences: torch.Tensor = SEQUENCES) -> list[tuple[str, str]]:
    """Return pairs (expected, written) for all held-out triples of `train_without`."""
    expected = [abc_sorter.decode(row) for row in sequences[:, 4:]]
    models = train_without(held_out, sequences)
    written = [abc_sorter.write_answers(model) for model in models]
    return [(expected[i], answers[i]) for some, answers in zip(held_out, written) for i in some]


def share_right(pairs: list[tuple[str, str]]) -> float:
    return round(sum(expected == written for expected, written in pairs) / len(pairs), 3)


def write_held_out() -> None:
    """Measure how sorters answer triples that were not in their training."""
    study = {"random": {}, "shuffled": {}, "one order": {}, "no order": {}}
    for split in range(5):
        seven = torch.randperm(27, generator=torch.Generator().manual_seed(split))[:7].tolist()
        study["random"][str(split)] = share_right(answers_to_held_out([seven] * STARTS))
        study["shuffled"][str(split)] = share_right(answers_to_held_out([seven] * STARTS, shuffle_answers(split)))
    answers, wrong = [abc_sorter.decode(row) for row in SEQUENCES[:, 4:]], []
    for answer in sorted(set(answers)):
        orders = [i for i in range(27) if answers[i] == answer]
        if len(orders) == 1:
            continue
        kept_one = [[i for i in orders if i != orders[start % len(orders)]] for start in range(STARTS)]
        for name, held_out in (("one order", kept_one), ("no order", [orders] * STARTS)):
            pairs = answers_to_held_out(held_out)
            study[name][answer] = share_right(pairs)
            wrong += [written for expected, written in pairs if written != expected]
            if (name, answer) == ("no order", "aab"):
                study["written for aab"] = dict(Counter(written for _, written in pairs).most_common())
        print(answer, study["one order"][answer], study["no order"][answer], flush=True)
    study["wrong"] = {"in order": sum("".join(sorted(w)) == w for w in wrong), "all": len(wrong)}
    print(study)
    abc_sorter.HELD_OUT.write_text(json.dumps(study, indent=1) + "\n", encoding="utf-8")


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
    what = ask.add_mutually_exclusive_group(required=True)
    what.add_argument("--write", action="store_true", help="make utils/assets/abc_sorter/")
    what.add_argument("--only", metavar="NAME", help="measure one variant of the study again")
    what.add_argument("--held-out", action="store_true", help="measure sorters trained without some triples again")
    given = ask.parse_args()
    torch.set_num_threads(1)
    if given.write:
        write_usual()
    if given.write or given.only:
        write_study(given.only)
    if given.write or given.held_out:
        write_held_out()


if __name__ == "__main__":
    main()
