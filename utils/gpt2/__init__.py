"""Provide GPT-2 for the lessons: its tokenizer, the inputs and weights of layer 0's attention, and the whole model.

All functions work without a network. They use the real GPT-2 if it is on disk, otherwise the small GPT-2 that comes
with the course. `source` says which GPT-2 is used. This module imports neither transformers nor any module that could
access a network.

Start with `model`. Imports: no other package.
"""

from utils.gpt2.layer0 import get_l0_values, get_pre_attn, get_split_l0_heads
from utils.gpt2.model import load_gpt2
from utils.gpt2.sources import Source, WeightsError, source
from utils.gpt2.tokenizer import backend_tokenizer, load_tokenizer

__all__ = [
    "Source",
    "WeightsError",
    "backend_tokenizer",
    "get_l0_values",
    "get_pre_attn",
    "get_split_l0_heads",
    "load_gpt2",
    "load_tokenizer",
    "source",
]
