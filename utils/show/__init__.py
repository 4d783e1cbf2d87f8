"""Every static figure of the course, one function per kind.

Each function returns a `Picture`, which a notebook shows as an image with alt text and a terminal prints as that text.
Rows are queries, columns are keys. Arguments may be tensors (also ones that require grad), arrays or nested lists;
what cannot be drawn is refused with a ValueError that says what was given and what was expected.
"""

from utils.show.attention import attention
from utils.show.causal import causal
from utils.show.charts import bars, lines
from utils.show.flow import steps
from utils.show.heads import cuts
from utils.show.normalising import distributions
from utils.show.page import Picture
from utils.show.plane import mixing, vectors
from utils.show.positions import heat, turning
from utils.show.runs import curves
from utils.show.regression import circuits, prompts, valley
from utils.show.scaling import entropy, jacobian_norm, saturation, saturation_study
from utils.show.sorter import gates, trace
from utils.show.stream import residual_stream
from utils.show.tables import grid, mask, scores, weights
from utils.show.tokens import merges, next_tokens, tokens
from utils.show.volume import volume

__all__ = [
    "attention",
    "causal",
    "bars", "lines",
    "steps",
    "cuts",
    "distributions",
    "Picture",
    "mixing", "vectors",
    "heat", "turning",
    "curves",
    "circuits", "prompts", "valley",
    "entropy", "jacobian_norm", "saturation", "saturation_study",
    "gates", "trace",
    "residual_stream",
    "grid", "mask", "scores", "weights",
    "merges", "next_tokens", "tokens",
    "volume",
]  # fmt: skip
