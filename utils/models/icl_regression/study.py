"""Train more runs for lesson 10, with other prompts, initial values, optimisers or rates, or with two-layer stacks.

`python -m utils.models.icl_regression.study` computes the missing runs in about ten minutes on one core. It writes
`study.json`, which `stored_study()` reads. For each stack, it also saves the complete run with seed 0, so that
`stored` can load it.
"""

from __future__ import annotations

import json
from typing import Any

import torch
from torch import Tensor

from utils.lessons.files import write_atomically
from utils.models.icl_regression.config import RegressionConfig
from utils.models.icl_regression.data import Prompts, draw
from utils.models.icl_regression.estimators import centred_step, kernel, ridge
from utils.models.icl_regression.evaluation import mean_squared_error
from utils.models.icl_regression.experiment import ASSETS, STUDY, Run, stored_study, train
from utils.models.icl_regression.layers import QueryLayer, build_model, circuits, statistics

LAYER = {"steps": 4000, "batch_size": 64}
STACK = {"n_layers": 2, "gain_ov": 0.3, "lr_ov": 1e-2, "schedule": "one_cycle", "clip": 1.0, "batch_size": 32}
STACK |= {"steps": 3000, "dynamics_every": 500, "matrices_every": 3000, "log_every": 100}
TORCH = {"gain_qk": 1.0, "gain_ov": 1.0}
SHORT = {"steps": 1000, "batch_size": 32}
WAYS: dict[str, dict[str, Any]] = {
    "usual": LAYER,
    "one rate": LAYER | {"lr_ov": 4e-3},
    "one rate, larger start": LAYER | {"lr_ov": 4e-3, "gain_ov": 6.0},
    "30 times": LAYER | {"lr_qk": 2e-3, "lr_ov": 6e-2},
    "torch's start": LAYER | TORCH,
    "SGD": LAYER | {"optimiser": "SGD", "lr_qk": 0.05, "lr_ov": 0.05},
    "AdamW": LAYER | {"optimiser": "AdamW"},
    "small_id": LAYER | {"init": "small_id"},
    "small_id_qk": LAYER | {"init": "small_id_qk"},
    "oppo_small_id": LAYER | {"init": "oppo_small_id"},
    "like the source": LAYER | TORCH | {"steps": 32_000, "lr_qk": 1e-3, "lr_ov": 1e-3, "schedule": "constant"},
}
PROMPTS: dict[str, dict[str, Any]] = {
    "as before": LAYER,
    "d = 2": LAYER | {"d": 2},
    "d = 10": LAYER | {"d": 10},
    "L = 10": LAYER | {"L": 10},
    "L = 160": LAYER | {"L": 160},
    "noise 0.5": LAYER | {"noise_std": 0.5},
    "noise 1": LAYER | {"noise_std": 1.0},
    "first entry × 2": LAYER | {"scales": (2.0, 1.0, 1.0, 1.0, 1.0)},
}
PAIRS: dict[str, dict[str, Any]] = {"a pair": SHORT, "no mean of y": SHORT}
STACKS: dict[str, dict[str, Any]] = {
    "two-layers-y": STACK | {"writes": "y"},
    "two-layers": STACK,
    "two-layers-causal": STACK | {"causal": True},
    "two-layers-tied": STACK | {"weight_tying": True},
}
RUNS = STACKS | WAYS | PROMPTS | PAIRS
SEEDS = dict.fromkeys(WAYS, 5) | dict.fromkeys(PROMPTS | STACKS, 3) | dict.fromkeys(PAIRS, 12)


class MeanFreeLayer(QueryLayer):
    """A layer that first subtracts the mean from the examples' y values."""

    def forward(self, z_q: Tensor, z: Tensor, allowed: Tensor | None = None) -> Tensor:
        """Return the output for each question."""
        y = z[..., -1:]
        return super().forward(z_q, torch.cat((z[..., :-1], y - y.mean(dim=1, keepdim=True)), dim=-1), allowed)


def train_run(name: str, seed: int) -> Run:
    """Train the run with this name and seed."""
    config = RegressionConfig(seed=seed, device="cpu", **RUNS[name])
    model = build_model(config)
    if name == "no mean of y":
        start, model = model.state_dict(), MeanFreeLayer(config.d + 1, config.n_head, config.n_out)
        model.load_state_dict(start)
    return train(config, model, progress=False)


def measure(name: str, run: Run) -> dict[str, Any]:
    """Return what `study.json` stores about a run."""
    c = run.config
    fresh = draw(40_000, c.length, c.d, c.noise_std, generator=torch.Generator().manual_seed(99), scales=c.scales)
    qk, ov = circuits(run.model)
    result: dict[str, Any] = {
        "error": round(mean_squared_error(run.model, fresh), 4),
        "w": _round(qk.diagonal(dim1=-2, dim2=-1)[..., :-1].mean(-1)),
        "mu": [_round(layer[:, -1, -1]) for layer in ov],
    }
    return result | _compare_with_estimators(run, fresh) if name in PROMPTS else result


def _compare_with_estimators(run: Run, prompts: Prompts) -> dict[str, Any]:
    heads = statistics(run.model)
    formula = kernel([head.w for head in heads], [head.mu for head in heads])(prompts.z_q, prompts.z)
    with torch.no_grad():
        answers = run.model(prompts.z_q, prompts.z)
    step = centred_step()(prompts.z_q, prompts.z)
    rate = (step * prompts.y_q).sum() / step.square().sum()
    return {
        "step": round(mean_squared_error(centred_step(rate.item()), prompts), 4),
        "ridge": round(mean_squared_error(ridge(run.config.d * run.config.noise_std**2), prompts), 4),
        "formula": round(((answers - formula).square().mean() / answers.square().mean()).sqrt().item(), 4),
        "diagonal": _round(circuits(run.model)[0][0].diagonal(dim1=-2, dim2=-1)[:, :-1]),
    }


def _round(values: Tensor) -> Any:
    return [_round(part) for part in values] if values.dim() else round(values.item(), 3)


def run_missing() -> None:
    """Compute the runs that are not in `study.json`."""
    torch.set_num_threads(1)
    results = stored_study() if STUDY.is_file() else {}
    for name, seed in ((name, seed) for name, seeds in SEEDS.items() for seed in range(seeds)):
        if f"{name} {seed}" in results:
            continue
        run = train_run(name, seed)
        results[f"{name} {seed}"] = measure(name, run)
        if seed == 0 and name in STACKS:
            run.save(ASSETS / f"{name}-2-seed-0")
        lines = [f"{json.dumps(key)}: {json.dumps(result)}" for key, result in results.items()]
        write_atomically(STUDY, ("{\n" + ",\n".join(lines) + "\n}\n").encode())
        print(name, seed, results[f"{name} {seed}"]["error"], f"{run.seconds:.0f} s", flush=True)


if __name__ == "__main__":
    run_missing()
