"""Train the regression to the end twice: with the source's code and with ours.

`icl_regression` extrapolates this figure.
"""

import torch

from bench.icl_regression import CPU, compare_with_source, time_source_loop
from bench.measurement import Row


def rows() -> list[Row]:
    torch.set_num_threads(1)
    return compare_with_source("run to the end", time_source_loop(CPU), CPU)
