"""Lesson 11: the second half of a text repeats the first. The model around an attention layer, and two layers compared
on equal terms.

A text of 32 tokens is 16 random ones, twice. A model is asked for each next token of the second half, which stands 15
places before the one that it sees last. There are no positions but those that an attention layer brings, and no second
layer: the right place can only be found by its distance. Layers and data are handed in; what they compute is the
lesson's.
"""

from utils.models.gram_attention.measures import (
    ASSET,
    accuracy_by_length,
    accuracy_with_scaled_keys,
    repeated_texts,
    study,
    weight_by_distance,
)
from utils.models.gram_attention.numerics import Cost, cost, upcast
from utils.models.gram_attention.training import (
    HELD_OUT,
    HELD_OUT_TEXTS,
    REACHED,
    Comparison,
    CopyModel,
    SeedResults,
    SeedRun,
    copied_accuracy,
    copied_half,
    copied_logits,
    copied_loss,
    lesson_batch_function,
    train_comparison,
)

with_room, look_back = upcast, weight_by_distance  # as notebooks from before call them

__all__ = [
    "ASSET",
    "HELD_OUT",
    "HELD_OUT_TEXTS",
    "REACHED",
    "Comparison",
    "CopyModel",
    "Cost",
    "SeedResults",
    "SeedRun",
    "accuracy_by_length",
    "accuracy_with_scaled_keys",
    "copied_accuracy",
    "copied_half",
    "copied_logits",
    "copied_loss",
    "cost",
    "lesson_batch_function",
    "repeated_texts",
    "study",
    "train_comparison",
    "upcast",
    "weight_by_distance",
]
