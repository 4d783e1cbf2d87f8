"""GPT-2 for the lessons: its tokenizer, what layer 0's attention works with, and the whole model.

All of it works without a network, with the real weights where they are on disk and with the small GPT-2 that comes with
the course where they are not; `source` says which. Importing this module imports neither transformers nor anything that
could ask a network.
"""

from utils.gpt2.layer0 import get_l0_values, get_pre_attn, get_split_l0_heads
from utils.gpt2.model import load_gpt2
from utils.gpt2.sources import Source, WeightsError, source
from utils.gpt2.tokenizer import load_tokenizer

__all__ = [
    "Source",
    "WeightsError",
    "get_l0_values",
    "get_pre_attn",
    "get_split_l0_heads",
    "load_gpt2",
    "load_tokenizer",
    "source",
]
