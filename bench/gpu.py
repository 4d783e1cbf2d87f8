"""The regression of lesson 10 on a GPU: the source text's loop, as it stands there, beside the course's own."""

import torch

from bench.icl_regression import SECONDS, compare_with_source, time_source_loop
from bench.measurement import Row


def rows() -> list[Row]:
    """Raises RuntimeError where there is no GPU."""
    if not torch.cuda.is_available():
        raise RuntimeError("torch sees no GPU here.")
    gpu = torch.device("cuda")
    return compare_with_source("on this GPU, extrapolated", time_source_loop(gpu, seconds=SECONDS), gpu)
