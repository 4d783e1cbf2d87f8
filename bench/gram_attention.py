"""Attention by a Gram determinant (lesson 11): what its scores cost, and how it copies beside the standard layer.

Costs: time and memory of scores for all pairs, standard ones beside the lesson's (area times height), the five terms of
the determinant written out, and a 3 × 3 determinant for each pair. The bar: at 256 places at most 4 times the time of
the standard scores, and no tensor of [seq, seq, d_head]. Then both layers whole, forwards.

Copying: five seeds of each layer, trained as the lesson trains them, then tried on longer texts and with keys made loud
or quiet. With `--write` that becomes utils/assets/gram_attention/study.json, which the lesson draws. `--costs` and
`--copying` do one part alone.
"""

import argparse
import contextlib
import io
import json
import os
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch
from torch import Tensor

from utils.models import gram_attention

SEEDS, D_MODEL, HEADS = 5, 64, 4
LENGTHS, LOUD, QUIET = (32, 48, 64, 96), (1, 2, 5, 10, 50), (0, 0.1, 0.25, 0.5, 0.75, 1)


def lesson():
    with contextlib.redirect_stdout(io.StringIO()):  # it tells whose earlier work it uses
        from solutions import gram_attention

    return gram_attention


def layers() -> dict:
    here = lesson()
    return {
        "standard": lambda: here.StandardAttention(D_MODEL, HEADS),
        "triple": lambda: here.TripleProductAttention(D_MODEL, HEADS),
    }


# ---------------------------------------------------------------- costs


def standard_scores(q: Tensor, k: Tensor, r: Tensor) -> Tensor:
    return (q @ k.mT) * q.shape[-1] ** -0.5


def five_terms(q: Tensor, k: Tensor, r: Tensor) -> Tensor:
    """The determinant as the source text writes it out."""
    qq, rr, rq = ((a * b).sum(-1, keepdim=True) for a, b in ((q, q), (r, r), (r, q)))
    kk = (k * k).sum(-1).unsqueeze(-2)
    qk, rk = q @ k.mT, r @ k.mT
    return -(qq * kk * rr + 2 * qk * rk * rq - qq * rk**2 - kk * rq**2 - rr * qk**2)


def pair_by_pair(q: Tensor, k: Tensor, r: Tensor) -> Tensor:
    """torch.linalg.det on the Gram matrix of each triple."""
    shape = (*q.shape[:-1], k.shape[-2], q.shape[-1])
    rows = torch.stack(
        [q[..., :, None, :].expand(shape), k[..., None, :, :].expand(shape), r[..., :, None, :].expand(shape)], dim=-2
    )
    return -torch.linalg.det(rows @ rows.mT)


def print_costs() -> None:
    gram_scores = lesson().gram_scores
    ways = {
        "standard": standard_scores,
        "gram_scores": gram_scores,
        "five terms": five_terms,
        "pair by pair": pair_by_pair,
    }
    print("scores, 8 texts, 4 heads, d_head 16: milliseconds (times standard), and memory in tables of [seq, seq]")
    print(f"{'seq':>6}" + "".join(f"{name:>30}" for name in ways))
    at_256 = {}
    for seq in (64, 128, 256, 512):
        q, k, r = torch.randn(3, 8, HEADS, seq, 16, generator=torch.Generator().manual_seed(seq))
        row, base = f"{seq:>6}", None
        for name, way in ways.items():
            if name == "pair by pair" and seq > 128:
                row += f"{'—':>30}"  # 256 places would take over 400 MB
                continue
            spent = gram_attention.cost(lambda: way(q, k, r), 15)  # noqa: B023
            base = base or spent.seconds
            tables = spent.peak / (4 * 8 * HEADS * seq * seq)
            row += f"{f'{1000 * spent.seconds:.2f} ({spent.seconds / base:.1f}×), {tables:.1f}':>30}"
            if seq == 256:
                at_256[name] = (spent.seconds / base, tables)
        print(row, flush=True)
    ratio, tables = at_256["gram_scores"]
    print(
        f"at 256 places: {ratio:.1f} times the standard scores (bar 4), {tables:.1f} tables of [seq, seq]; one of [seq,"
        " seq, d_head] would be 16"
    )
    print(
        "\nlayers whole, forwards, 8 texts, width"
        f" {D_MODEL}\n{'seq':>6}{'standard':>24}{'triple':>24}{'time':>8}{'memory':>8}"
    )
    made = {name: make() for name, make in layers().items()}
    for seq in (32, 64, 128):
        x = torch.randn(8, seq, D_MODEL, generator=torch.Generator().manual_seed(seq))
        spent = [gram_attention.cost(lambda: layer(x), 15) for layer in made.values()]  # noqa: B023
        cells = "".join(f"{f'{1000 * each.seconds:.2f} ms, {each.peak / 2**20:.1f} MB':>24}" for each in spent)
        print(
            f"{seq:>6}{cells}{spent[1].seconds / spent[0].seconds:>7.1f}×{spent[1].peak / spent[0].peak:>7.1f}×",
            flush=True,
        )


# ---------------------------------------------------------------- copying


def measure(seeds: range = range(SEEDS), names: tuple[str, ...] = ("standard", "triple")) -> dict:
    """The study, with what the lesson draws from it; `names` says which layers."""
    made = {name: make for name, make in layers().items() if name in names}
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
        "longer": gram_attention.at_longer_lengths(done, LENGTHS),
        "repeats": gram_attention.at_longer_lengths(done, LENGTHS, period=16),
    }
    inputs, _ = done.batch(128, 32, 16, generator=torch.Generator().manual_seed(gram_attention.HELD_OUT))
    back = {
        name: torch.stack([gram_attention.weight_by_distance(model, inputs).mean(0) for model in each])
        for name, each in done.models.items()
    }
    found["back"] = gram_attention.Measured(list(range(31)), back)
    far = gram_attention.repeated_texts(done, 128, 16, 64)[:, :-1]
    last = {name: torch.stack([last_weights(model, far) for model in each]) for name, each in done.models.items()}
    found["far"] = gram_attention.Measured(list(range(63)), last)
    for name, factors in (("loud", LOUD), ("quiet", QUIET)):
        for which, ending in (("all", ""), ("others", " others"), ("itself", " itself")):
            found[name + ending] = gram_attention.with_scaled_keys(done, factors, which)
    plain = {
        name: {"points": one.points, "values": {k: _rounded(v) for k, v in one.values.items()}}
        for name, one in found.items()
    }
    gates = [gate(model, inputs) for model in done.models["triple"]]
    return {
        "settings": settings,
        "first": done.first,
        "gate": {what: [round(each[what], 3) for each in gates] for what in gates[0]},
        **plain,
    }


@torch.no_grad()
def last_weights(model: torch.nn.Module, inputs: Tensor) -> Tensor:
    """The mean weight that the last place puts 0, 1, … places back, [seq]."""
    return model(inputs, return_weights=True)[1][:, :, -1].mean((0, 1)).flip(0)


@torch.no_grad()
def gate(model: torch.nn.Module, inputs: Tensor) -> dict[str, float]:
    """How far the keys to be found stand out of the plane of query and reference, in lengths of the key, and what they
    score; the same of all other keys."""
    here, layer, x = lesson(), model.attention, model.embed(inputs)
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


def written(study: dict) -> str:
    """As JSON with each row of numbers on one line."""
    return (
        re.sub(
            r"\[[^\[\]{}]*\]",
            lambda row: " ".join(row[0].split()).replace("[ ", "[").replace(" ]", "]"),
            json.dumps(study, indent=1),
        )
        + "\n"
    )


def print_copying(write: bool) -> None:
    began = time.perf_counter()
    study = measure()
    minutes = (time.perf_counter() - began) / 60
    if write:
        gram_attention.ASSET.mkdir(exist_ok=True)
        (gram_attention.ASSET / "study.json").write_text(written(study), encoding="utf-8")
    print("steps until 99 % of the copied half is right, a seed each:", study["first"])
    print("how far keys stand out of the plane, in their lengths, and their scores:", study["gate"])
    for name, part in study.items():
        if name in ("settings", "first", "gate", "accuracy", "loss"):
            continue
        print(f"\n{name}")
        print(gram_attention.Measured(part["points"], {k: torch.tensor(v) for k, v in part["values"].items()}).table())
    print(f"\nat the end: { ({k: [row[-1] for row in v] for k, v in study['accuracy']['values'].items()}) }")
    print(f"{minutes:.1f} minutes, {torch.get_num_threads()} thread(s)")


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--write", action="store_true", help="write utils/assets/gram_attention/study.json as well")
    ask.add_argument("--costs", action="store_true", help="only the costs")
    ask.add_argument("--copying", action="store_true", help="only the copying")
    given = ask.parse_args()
    os.environ["COURSE_PROGRESS"] = "off"
    torch.set_num_threads(1)
    if not given.copying and not given.write:
        print_costs()
    if not given.costs:
        print_copying(given.write)


if __name__ == "__main__":
    main()
