"""The additional runs that lesson 10 quotes: different initial values, optimisers and rates, and two-layer stacks.

`python -m utils.models.icl_regression.study` computes the missing runs in about ten minutes on one core. It writes
`study.json`, which `study()` reads. For each stack, the run with seed 0 is saved completely, for `stored`.
"""

from __future__ import annotations

import json
from typing import Any

import torch

from utils.lessons.files import write_atomically
from utils.models.icl_regression.config import RegressionConfig
from utils.models.icl_regression.data import draw
from utils.models.icl_regression.evaluation import mean_squared_error
from utils.models.icl_regression.experiment import ASSETS, train
from utils.models.icl_regression.layers import circuits

RESULTS = ASSETS / "study.json"
LAYER = {"steps": 2000, "batch_size": 32}
STACK = {"n_layers": 2, "gain_ov": 0.3, "lr_ov": 1e-2, "schedule": "one_cycle", "clip": 1.0, "batch_size": 32}
STACK |= {"steps": 3000, "dynamics_every": 500, "matrices_every": 3000, "log_every": 100}
WAYS: dict[str, dict[str, Any]] = {
    "usual": LAYER,
    "one rate": LAYER | {"lr_ov": 4e-3},
    "torch's start": LAYER | {"gain_qk": 1.0, "gain_ov": 1.0},
    "SGD": LAYER | {"optimiser": "SGD", "lr_qk": 0.05, "lr_ov": 0.05},
    "AdamW": LAYER | {"optimiser": "AdamW"},
    "small_id": LAYER | {"init": "small_id"},
    "small_id, 8000 steps": LAYER | {"init": "small_id", "steps": 8000},
    "small_id_qk": LAYER | {"init": "small_id_qk"},
    "oppo_small_id": LAYER | {"init": "oppo_small_id"},
}
STACKS: dict[str, dict[str, Any]] = {
    "two-layers-y": STACK | {"writes": "y"},
    "two-layers": STACK,
    "two-layers-causal": STACK | {"causal": True},
    "two-layers-tied": STACK | {"weight_tying": True},
}


def study() -> dict[str, dict[str, Any]]:
    """Read the results of every run by its name and seed, for example "SGD 0".

    A result contains the `error` on 40,000 prompts, and `w` and `mu` for each layer.
    """
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def run_missing() -> None:
    """Compute the runs that are not in `study.json`.

    Stacks and "small_id" have three seeds; all other runs have one.
    """
    torch.set_num_threads(1)
    fresh = draw(40_000, 40, 5, generator=torch.Generator().manual_seed(99))
    results = study() if RESULTS.is_file() else {}
    for name, changes in (STACKS | WAYS).items():
        for seed in (0, 1, 2) if name in STACKS or name == "small_id" else (0,):
            if f"{name} {seed}" in results:
                continue
            run = train(RegressionConfig(seed=seed, device="cpu", **changes), progress=False)
            qk, ov = circuits(run.model)
            results[f"{name} {seed}"] = {
                "error": round(mean_squared_error(run.model, fresh), 4),
                "w": [
                    [round(w, 3) for w in layer] for layer in qk.diagonal(dim1=-2, dim2=-1)[..., :-1].mean(-1).tolist()
                ],
                "mu": [[round(mu, 3) for mu in layer[:, -1, -1].tolist()] for layer in ov],
            }
            if seed == 0 and name in STACKS:
                run.optimiser_state = None
                run.save(ASSETS / f"{name}-2-seed-0")
            write_atomically(RESULTS, json.dumps(results, indent=1).encode())
            print(name, seed, results[f"{name} {seed}"]["error"], f"{run.seconds:.0f} s", flush=True)


if __name__ == "__main__":
    run_missing()
