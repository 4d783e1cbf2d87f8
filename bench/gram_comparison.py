"""Compare Gram scores with dot products under fair conditions, for lesson 11. The learning rate of each layer is chosen
by trial. The layers have equally many parameters. CPU time is measured as well as steps, for five seeds.

There are two tasks. One layer learns to copy. Two layers learn to continue texts that repeat their first tokens, at a
different distance in each text.

`python bench/gram_comparison.py --write` writes utils/assets/gram_attention/comparison.json, in about half an hour on
one core. It keeps the runs that the file contains, so an interrupted command continues. `--fresh` starts again.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bench.gram_attention import D_MODEL, HEADS, import_lesson, study_json
from utils.models import gram_attention

RESULTS = gram_attention.ASSET / "comparison.json"
RATES, TRIAL_SEEDS, SEEDS = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2), (100, 101), (0, 1, 2, 3, 4)
BATCH, HELD_OUT_TEXTS, EVERY, WARM_UP, REACHED = 64, 256, 10, 50, 0.99
LIMITS = {"copy": 400, "induction": 1000}  # the maximum number of steps of each task
TRIAL_LIMITS = {"copy": 200, "induction": 1000}
LENGTH, VOCAB, PERIODS = 32, 32, (5, 16)  # properties of the texts for two layers


# ---------------------------------------------------------------- layers


class WideStandard(nn.Module):
    """Standard attention whose queries and keys are 24 wide in each head instead of 16.

    It has as many parameters as the layer with references.
    """

    d_key = 24

    def __init__(self, d_model: int = D_MODEL, n_head: int = HEADS) -> None:
        super().__init__()
        self.n_head = n_head
        self.W_q, self.W_k = (nn.Linear(d_model, n_head * self.d_key, bias=False) for _ in range(2))
        self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(2))

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return q @ k.mT / self.d_key**0.5

    def forward(self, x: Tensor, return_weights: bool = False):
        q, k, v = (w(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_v))
        scores = self.scores(*map(import_lesson().apply_rope, (q, k)))
        future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        weights = scores.masked_fill(future, -torch.inf).softmax(-1)
        out = self.W_o((weights @ v).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out


class AreaAttention(WideStandard):
    """Score a key by minus the squared area of query and key: a volume without a reference.

    The product has four lengths instead of six, so the scale is d to the power 1 instead of 1.5.
    """

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        lengths = (q * q).sum(-1).unsqueeze(-1) * (k * k).sum(-1).unsqueeze(-2)
        return ((q @ k.mT).square() - lengths) / self.d_key


def make_layer(kind: str) -> nn.Module:
    here = import_lesson()
    makers: dict[str, Callable[[], nn.Module]] = {
        "standard": lambda: here.StandardAttention(D_MODEL, HEADS),
        "standard, wide": WideStandard,
        "triple": lambda: here.TripleProductAttention(D_MODEL, HEADS),
        "area": AreaAttention,
    }
    return makers[kind]()


KINDS = {
    "copy": ("standard", "standard, wide", "triple", "area"),
    "induction": ("standard", "standard, wide", "triple"),
}


class TwoLayers(nn.Module):
    """An embedding, two attention layers on a residual stream with layer norm, and an output layer.

    Only RoPE adds positions.
    """

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCAB, D_MODEL)
        self.layers = nn.ModuleList(make_layer(kind) for _ in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(D_MODEL) for _ in range(3))
        self.unembed = nn.Linear(D_MODEL, VOCAB, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        for layer, norm in zip(self.layers, self.norms):
            x = x + layer(norm(x))
        return self.unembed(self.norms[-1](x))


# ---------------------------------------------------------------- tasks


def sample_copies(n: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Return inputs, targets and which targets count, for the lesson's task."""
    inputs, targets = import_lesson().copy_batch(n, 32, 16, generator)
    return inputs, targets, (torch.arange(31) >= 15).expand(n, 31)


def sample_repeats(n: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Return texts that repeat their first 5 to 16 tokens, which are all different.

    A target counts if the token before it occurred earlier.
    """
    period = torch.randint(PERIODS[0], PERIODS[1] + 1, (n, 1), generator=generator)
    tokens = torch.rand(n, VOCAB, generator=generator).argsort(-1)
    place = torch.arange(LENGTH + 1)
    text = tokens.gather(1, place % period)
    return text[:, :-1], text[:, 1:], place[1:] > period


TASKS = {"copy": sample_copies, "induction": sample_repeats}


# ---------------------------------------------------------------- runs


def build_model(task: str, kind: str) -> nn.Module:
    if task == "induction":
        return TwoLayers(kind)
    return gram_attention.CopyModel(make_layer(kind), vocab_size=16, d_model=D_MODEL)


def train_until_reached(task: str, kind: str, rate: float, seed: int, limit: int) -> tuple[dict, nn.Module]:
    """Train until 99 % of the counted held-out tokens are correct, at most for `limit` steps.

    Returns the steps (None if 99 % were not reached), the CPU time of these steps, the last accuracy, and the model.
    """
    torch.manual_seed(seed)
    model, sample = build_model(task, kind), TASKS[task]
    held_out = sample(HELD_OUT_TEXTS, torch.Generator().manual_seed(gram_attention.HELD_OUT))
    generator = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, fused=True)
    seconds, step = 0.0, 0
    while (right := share_right(model, held_out)) < REACHED and step < limit:
        began = time.process_time()
        for _ in range(EVERY):
            inputs, targets, counted = sample(BATCH, generator)
            for group in optimiser.param_groups:
                group["lr"] = rate * min(1, (step + 1) / WARM_UP)
            optimiser.zero_grad()
            F.cross_entropy(model(inputs)[counted], targets[counted]).backward()
            optimiser.step()
            step += 1
        seconds += time.process_time() - began
    found = {"steps": step if right >= REACHED else None, "seconds": round(seconds, 2), "accuracy": round(right, 3)}
    return found | {"ms per step": round(1000 * seconds / max(step, 1), 1)}, model


@torch.no_grad()
def share_right(model: nn.Module, texts: tuple[Tensor, Tensor, Tensor]) -> float:
    inputs, targets, counted = texts
    return float((model(inputs).argmax(-1) == targets)[counted].float().mean())


def without_own(task: str, model: nn.Module, names: tuple[str, ...]) -> float:
    """Return the accuracy if these projections return the vectors of another text."""
    hooks = [
        module.register_forward_hook(lambda module, given, vectors: vectors.roll(1, 0))
        for name, module in model.named_modules()
        if name.rpartition(".")[2] in names
    ]
    try:
        held_out = TASKS[task](HELD_OUT_TEXTS, torch.Generator().manual_seed(gram_attention.HELD_OUT))
        return round(share_right(model, held_out), 3)
    finally:
        for hook in hooks:
            hook.remove()


def mean_cost(tried: list[float], limit: int) -> float:
    """Return the mean number of steps. A run that did not reach 99 % counts as `limit` steps or more."""
    return statistics.mean(steps if steps >= 1 else limit * (2 - steps) for steps in tried)


def run_missing(results: dict, save: Callable[[], None]) -> None:
    """Choose the rate of each layer with two seeds, then train it with five other seeds.

    For each rate, `results` gets the steps of each trial, or the last accuracy if the trial did not reach 99 %.
    """
    for task, limit in LIMITS.items():
        for kind in KINDS[task]:
            entry = results.setdefault(task, {}).setdefault(kind, {"rates": {}, "runs": []})
            entry["parameters"] = sum(p.numel() for p in make_layer(kind).parameters())
            for rate in RATES:
                tried = entry["rates"].setdefault(str(rate), [])
                for seed in TRIAL_SEEDS[len(tried) :]:
                    run, _ = train_until_reached(task, kind, rate, seed, TRIAL_LIMITS[task])
                    tried.append(run["steps"] or run["accuracy"])
                    print(task, kind, rate, seed, tried[-1], flush=True)
                    save()
            entry["rate"] = float(min(entry["rates"], key=lambda rate: mean_cost(entry["rates"][rate], limit)))
            for seed in SEEDS[len(entry["runs"]) :]:
                run, model = train_until_reached(task, kind, entry["rate"], seed, limit)
                run["another text's query"] = without_own(task, model, ("W_q",))
                if kind == "triple":
                    run["another text's reference"] = without_own(task, model, ("W_r",))
                entry["runs"].append(run)
                print(task, kind, entry["rate"], seed, run, flush=True)
                save()


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--write", action="store_true", required=True, help="write the results (takes half an hour)")
    ask.add_argument("--fresh", action="store_true", help="ignore the results that the file contains")
    given = ask.parse_args()
    torch.set_num_threads(1)
    results = {} if given.fresh or not RESULTS.exists() else json.loads(RESULTS.read_text(encoding="utf-8"))
    run_missing(results, lambda: RESULTS.write_text(study_json(results), encoding="utf-8") and None)
    RESULTS.write_text(study_json(results), encoding="utf-8")


if __name__ == "__main__":
    main()
