"""Compute the Gram scores of lesson 11 for all pairs of query and key. The source computes each of the five terms of
the determinant separately. The memory is the peak value. The limit of the first row is 5, because four runs on a busy
machine gave ratios from 3.8 to 4.7. Adding in place with `addcmul_` saved 10 to 25 % of the time.

A 3 × 3 determinant for each pair takes 400 MB at 256 positions, so this method is measured with 128 positions.

`python bench/gram_attention.py --write` writes utils/assets/gram_attention/study.json, which the lesson draws: five
seeds of each layer, trained as in the lesson, then tested on longer texts and with scaled keys.
"""

import argparse
import contextlib
import io
import json
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch
from torch import Tensor

from bench.measurement import Row
from utils.models import gram_attention

ROUNDS, SEEDS, D_MODEL, HEADS = 9, 5, 64, 4
LENGTHS, LOUD, QUIET = (32, 48, 64, 96), (1, 2, 5, 10, 50), (0, 0.1, 0.25, 0.5, 0.75, 1)


def import_lesson():
    with contextlib.redirect_stdout(io.StringIO()):  # on import, the lesson prints which earlier answers it uses
        from solutions import gram_attention

    return gram_attention


def layer_factories() -> dict:
    here = import_lesson()
    return {
        "standard": lambda: here.StandardAttention(D_MODEL, HEADS),
        "triple": lambda: here.TripleProductAttention(D_MODEL, HEADS),
    }


# ---------------------------------------------------------------- costs


def standard_scores(q: Tensor, k: Tensor, r: Tensor) -> Tensor:
    return (q @ k.mT) * q.shape[-1] ** -0.5


def expanded_determinant(q: Tensor, k: Tensor, r: Tensor) -> Tensor:
    """Compute the determinant with the terms written out, as in the source text."""
    qq, rr, rq = ((a * b).sum(-1, keepdim=True) for a, b in ((q, q), (r, r), (r, q)))
    kk = (k * k).sum(-1).unsqueeze(-2)
    qk, rk = q @ k.mT, r @ k.mT
    return -(qq * kk * rr + 2 * qk * rk * rq - qq * rk**2 - kk * rq**2 - rr * qk**2)


def pairwise_determinant(q: Tensor, k: Tensor, r: Tensor) -> Tensor:
    """Compute torch.linalg.det of the Gram matrix of each triple."""
    shape = (*q.shape[:-1], k.shape[-2], q.shape[-1])
    rows = torch.stack(
        [q[..., :, None, :].expand(shape), k[..., None, :, :].expand(shape), r[..., :, None, :].expand(shape)], dim=-2
    )
    return -torch.linalg.det(rows @ rows.mT)


@torch.no_grad()
def time_call(way, made: tuple[Tensor, ...], calls: int = 5) -> float:
    """Return the CPU time of one call."""
    began = time.process_time()
    for _ in range(calls):
        way(*made)
    return 1000 * (time.process_time() - began) / calls


def compare_ways(what: str, ways: dict, made: tuple[Tensor, ...], bar: str = "", headline: bool = False) -> list[Row]:
    """Compare the first way with each of the others, in time and in memory."""
    (_, mine), *others = ways.items()
    found = []
    for beside, other in others:
        memory = [[gram_attention.cost(lambda: way(*made), 1).peak / 1e6] for way in (mine, other)]  # noqa: B023
        ours, theirs = zip(*([time_call(way, made) for way in (mine, other)] for _ in range(ROUNDS)))
        found.append(Row(f"{what}, time", ours, "ms", beside, theirs, bar=bar, headline=headline))
        found.append(Row(f"{what}, memory", memory[0], "MB", beside, memory[1]))
        bar, headline = "", False
    return found


def rows() -> list[Row]:
    torch.set_num_threads(1)
    gram_scores, made = import_lesson().gram_scores, {name: make() for name, make in layer_factories().items()}
    draw = lambda *shape: torch.randn(shape, generator=torch.Generator().manual_seed(0))
    ways = {"": gram_scores, "standard scores": standard_scores, "the source's method": expanded_determinant}
    pairs = {"": gram_scores, "one determinant per pair": pairwise_determinant}
    whole = {"": made["triple"], "the standard layer": made["standard"]}
    return [
        *compare_ways("Gram scores, 256 positions", ways, tuple(draw(3, 8, HEADS, 256, 16)), "5", True),
        *compare_ways("Gram scores, 128 positions", pairs, tuple(draw(3, 8, HEADS, 128, 16))),
        *compare_ways("layer with Gram scores, 128 positions", whole, (draw(8, 128, D_MODEL),)),
    ]


# ---------------------------------------------------------------- copying


def measure_study(seeds: range = range(SEEDS), names: tuple[str, ...] = ("standard", "triple")) -> dict:
    """Measure everything about the study that the lesson draws. `names` selects layers."""
    made = {name: make for name, make in layer_factories().items() if name in names}
    settings = {
        "seeds": list(seeds),
        "steps": 400,
        "seq_len": 32,
        "vocab_size": 16,
        "batch_size": 64,
        "d_model": D_MODEL,
        "lr": 3e-3,
        "every": 10,
    }
    done = gram_attention.train_comparison(made, **settings, progress=False)
    found = {
        "accuracy": done.accuracy,
        "loss": done.loss,
        "longer": gram_attention.accuracy_by_length(done, LENGTHS),
        "repeats": gram_attention.accuracy_by_length(done, LENGTHS, period=16),
    }
    inputs, _ = done.batch(128, 32, 16, generator=torch.Generator().manual_seed(gram_attention.HELD_OUT))
    back = {
        name: torch.stack([gram_attention.weight_by_distance(model, inputs).mean(0) for model in each])
        for name, each in done.models.items()
    }
    found["back"] = gram_attention.SeedResults(list(range(31)), back)
    far = gram_attention.repeated_texts(done, 128, 16, 64)[:, :-1]
    last = {name: torch.stack([last_query_weights(model, far) for model in each]) for name, each in done.models.items()}
    found["far"] = gram_attention.SeedResults(list(range(63)), last)
    for name, factors in (("loud", LOUD), ("quiet", QUIET)):
        for which, ending in (("all", ""), ("others", " others"), ("itself", " itself")):
            found[name + ending] = gram_attention.accuracy_with_scaled_keys(done, factors, which)
    plain = {
        name: {"points": one.points, "values": {k: _rounded(v) for k, v in one.values.items()}}
        for name, one in found.items()
    }
    gates = [gate_statistics(model, inputs) for model in done.models["triple"]]
    return {
        "settings": settings,
        "first": done.first_copying_steps,
        "gate": {what: [round(each[what], 3) for each in gates] for what in gates[0]},
        **plain,
    }


@torch.no_grad()
def last_query_weights(model: torch.nn.Module, inputs: Tensor) -> Tensor:
    """Return the mean weight that the last position puts 0, 1, … positions back, [seq]."""
    return model(inputs, return_weights=True)[1][:, :, -1].mean((0, 1)).flip(0)


@torch.no_grad()
def gate_statistics(model: torch.nn.Module, inputs: Tensor) -> dict[str, float]:
    """Measure the heights of keys above the plane of query and reference, relative to the key's length, and the scores.

    The numbers are given separately for the keys that the queries should find, and for all other keys.
    """
    here, layer, x = import_lesson(), model.attention, model.embed(inputs)
    made = (w(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for w in (layer.W_q, layer.W_k, layer.W_r))
    q, k, r = map(here.apply_rope, made)
    scores = here.gram_scores(q, k, r)
    area = (q * q).sum(-1) * (r * r).sum(-1) - (q * r).sum(-1) ** 2
    heights = (-scores / area.unsqueeze(-1) / (k * k).sum(-1).unsqueeze(-2)).clamp_min(0).sqrt()
    scaled, place = scores / q.shape[-1] ** 1.5, torch.arange(inputs.shape[1])
    asked = (place >= 15)[:, None] & (place[:, None] >= place)
    right = place[:, None] - place == 15
    return {
        f"{what} of {which}": float(table[..., asked & chosen].mean())
        for what, table in (("height", heights), ("score", scaled))
        for which, chosen in (("right", right), ("others", ~right))
    }


def _rounded(table: Tensor) -> list[list[float]]:
    return [[round(x, 4) for x in row] for row in table.tolist()]


def study_json(study: dict) -> str:
    """Format the study as JSON with each row of numbers on one line."""
    return (
        re.sub(
            r"\[[^\[\]{}]*\]",
            lambda row: " ".join(row[0].split()).replace("[ ", "[").replace(" ]", "]"),
            json.dumps(study, indent=1),
        )
        + "\n"
    )


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--write", action="store_true", required=True, help="write the study (takes some minutes)")
    ask.parse_args()
    torch.set_num_threads(1)
    gram_attention.ASSET.mkdir(exist_ok=True)
    (gram_attention.ASSET / "study.json").write_text(study_json(measure_study()), encoding="utf-8")


if __name__ == "__main__":
    main()
