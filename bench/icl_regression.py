"""Train the regression of lesson 10. The source's training runs for ten seconds; its total time is extrapolated from
this run. The source's final loss is computed from its final values of w and μ. Both losses are measured on the same
100,000 prompts.

`python bench/icl_regression.py --write` trains 1, 2, 4 and 8 heads with seeds 0 to 2 into utils/assets/icl_regression/,
which lesson 10 reads.
"""

import argparse
import math
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch
from torch import nn

from bench.measurement import Row
from utils.models import icl_regression
from utils.models.icl_regression.experiment import ASSETS

SOURCE_STEPS, SECONDS, SEEDS, CPU = 500_001, 10, range(3), torch.device("cpu")
END = ((0.14, -0.14), (3.18, -3.18))


def clock_for(device: torch.device) -> Callable[[], float]:
    """Return a clock of CPU time if the device is the CPU, otherwise of wall time."""
    return time.process_time if device == CPU else time.perf_counter


class SourceAttention(nn.Module):
    """Attention as the source text computes it: four projections of every token, split into heads."""

    def __init__(self, n_embd: int, n_head: int) -> None:
        super().__init__()
        self.n_embd, self.n_head = n_embd, n_head
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(n_embd, n_embd * n_head, bias=False) for _ in range(3))
        self.o_proj = nn.Linear(n_embd * n_head, 1, bias=False)

    def forward(self, z_q: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        cut = lambda t: t.view(*t.shape[:2], self.n_head, self.n_embd).permute(0, 2, 1, 3)
        q, k, v = cut(self.q_proj(z_q)), cut(self.k_proj(z)), cut(self.v_proj(z))
        weights = nn.functional.softmax(torch.matmul(q, k.transpose(-2, -1)) * self.n_embd**-0.5, dim=-1)
        mixed = torch.matmul(weights, v).permute(0, 2, 1, 3).contiguous()
        return self.o_proj(mixed.view(len(z), z_q.shape[1], -1))


def source_batch(n: int = 128, L: int = 40, d: int = 5, noise_std: float = 0.01) -> tuple[torch.Tensor, ...]:
    """Sample one batch as the source does."""
    x, x_q, beta = torch.randn(n, L, d), torch.randn(n, 1, d), torch.randn(n, d, 1)
    y = torch.einsum("nlx,nxy->nly", x, beta)
    y += math.sqrt(d) * noise_std * torch.randn(n, L, 1)
    y_q = torch.einsum("nlx,nxy->nly", x_q, beta)
    return torch.cat([x_q, torch.zeros_like(y_q)], dim=2), torch.cat([x, y], dim=2), y_q


def time_source_loop(device: torch.device, steps: int = SOURCE_STEPS, seconds: float = math.inf) -> float:
    """Return the seconds that the source's loop needs for `steps` steps with two heads.

    Stop after `seconds` and extrapolate.
    """
    torch.manual_seed(1024)
    model = SourceAttention(6, 2).to(device)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    clock, loss_func, losses = clock_for(device), nn.MSELoss(), []
    began = clock()
    while len(losses) < steps and clock() - began < seconds:
        z_q, z, y_q = (t.to(device) for t in source_batch())
        optimiser.zero_grad()
        loss = loss_func(model(z_q, z), y_q)
        loss.backward()
        optimiser.step()
        losses.append(loss.detach().item())
    return (clock() - began) * steps / len(losses)


def time_training(heads: int, seed: int, device: torch.device = CPU) -> tuple[icl_regression.Run, float]:
    """Train, and return the training with its time."""
    clock = clock_for(device)
    began = clock()
    config = icl_regression.RegressionConfig(n_head=heads, seed=seed, device=device.type)
    run = icl_regression.train(config, progress=False)
    return run, clock() - began


def compare_with_source(beside: str, loop: float, device: torch.device) -> list[Row]:
    """Compare our training of two heads, in time and loss, with the source's loop, which took `loop` seconds."""
    runs, seconds = zip(*(time_training(2, seed, device) for seed in SEEDS))
    fixed = icl_regression.draw(100_000, 40, 5, generator=torch.Generator().manual_seed(12345))
    losses = [icl_regression.mean_squared_error(run.model.cpu(), fixed) for run in runs]
    bar = icl_regression.mean_squared_error(icl_regression.kernel(*END), fixed)
    what = "training regression with two heads" + ("" if device == CPU else ", wall time")
    return [
        Row(what, seconds, "s", f"{SOURCE_STEPS:,} steps of the source, {beside}", [loop], headline=True),
        Row("loss after this training", losses, "", "the source's final loss", [bar], bar="1.00"),
    ]


def rows() -> list[Row]:
    """Measure on the CPU. `bench.gpu` measures on a GPU; `bench.source_loop` runs the source's loop to its end."""
    torch.set_num_threads(1)  # the matrices are 6 × 6, so several threads would only wait for each other
    found = compare_with_source("extrapolated", time_source_loop(CPU, seconds=SECONDS), CPU)
    study = sum(time_training(heads, 0)[1] for heads in (1, 2, 4, 8))
    return [*found, Row("training with 1, 2, 4 and 8 heads", [study], "s")]


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--write", action="store_true", required=True, help="write utils/assets/icl_regression/")
    ask.parse_args()
    torch.set_num_threads(1)
    for heads in (1, 2, 4, 8):
        for seed in SEEDS:
            run, _ = time_training(heads, seed)
            run.optimiser_state = None  # 0.1 MB that nobody needs, because no later training continues this one
            run.config = replace(run.config, device=None)
            run.save(ASSETS / f"heads-{heads}-seed-{seed}")


if __name__ == "__main__":
    main()
