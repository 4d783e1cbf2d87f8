"""Find the order in which a module creates its layers. With a fixed seed, this order determines the initial weights."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from utils.exercises.observe import preserve_global_state, seed_torch
from utils.exercises.probe import Probe
from utils.feedback.properties import Property


def made_in_order(*names: str) -> Property:
    """Check that the `nn.Linear` layers are created in the order of `names`.

    The property checks only cases that keep the initial weights (`fill=False`) and have a wrong result.
    """

    def broken(probe: Probe) -> str | None:
        for trial in probe.trials:
            if trial.case.fill or trial.is_correct(probe.exercise):
                continue
            state = probe.run(trial.case, state=True).state or {}
            weights = {name: state[f"{name}.weight"] for name in names if f"{name}.weight" in state}
            biased = {name for name in names if f"{name}.bias" in state}
            order = _order(weights, biased, trial.case.seed)
            if order and order != names:
                return (
                    f"You create the layers in the order {', '.join(order)}, but it should be {', '.join(names)}. Each"
                    " layer samples its weights when it is created, so a different order gives different weights for"
                    " the same seed."
                )
        return None

    return broken


def _order(weights: Mapping[str, Tensor], biased: set[str], seed: int) -> tuple[str, ...]:
    """Return the order in which the layers were created, or an empty tuple if no order explains the weights."""
    order: list[str] = []
    with preserve_global_state(seed):
        seed_torch(seed)
        while len(order) < len(weights):
            before = torch.get_rng_state()
            for name, weight in weights.items():
                torch.set_rng_state(before)
                rows, columns = weight.shape
                if name not in order and torch.equal(nn.Linear(columns, rows, bias=name in biased).weight, weight):
                    order.append(name)
                    break
            else:
                return ()
    return tuple(order)
