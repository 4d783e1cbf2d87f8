"""Train the regression of lesson 10 on a GPU."""

import torch

from bench.icl_regression import SECONDS, compare_with_source, time_source_loop
from bench.measurement import Row


def rows() -> list[Row]:
    """Measure both loops. Raises RuntimeError if there is no GPU."""
    if not torch.cuda.is_available():
        raise RuntimeError("torch sees no GPU here.")
    gpu = torch.device("cuda")
    return compare_with_source("on this GPU, extrapolated", time_source_loop(gpu, seconds=SECONDS), gpu)
