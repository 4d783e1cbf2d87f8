"""The regression of lesson 10 on a GPU: the source text's loop, as it stands there, beside the course's own."""

import torch

from bench.icl_regression import SECONDS, against, source_seconds
from bench.rows import Row


def rows() -> list[Row]:
    """Raises RuntimeError where there is no GPU."""
    if not torch.cuda.is_available():
        raise RuntimeError("torch sees no GPU here.")
    gpu = torch.device("cuda")
    return against("on this GPU, extrapolated", source_seconds(gpu, seconds=SECONDS), gpu)
