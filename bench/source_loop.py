"""The source text's regression loop run whole, 500,001 steps on one thread, beside ours to the same loss: what
`icl_regression` extrapolates."""

import torch

from bench.icl_regression import CPU, compare_with_source, time_source_loop
from bench.measurement import Row


def rows() -> list[Row]:
    torch.set_num_threads(1)
    return compare_with_source("run whole", time_source_loop(CPU), CPU)
