"""Provide the copy task of lesson 11: the model around an attention layer, and a fair comparison of two layers.

A text has 32 tokens: 16 random tokens, written twice. The model has to predict each token in the second half. To
predict a token, the model has to find the token's first copy, 15 positions before the last input token. The model has
no position encoding (unless the attention layer adds one) and no second layer, so only the distance identifies the
correct position. Callers pass the layers and the data, which the lesson defines.
"""

from utils.models.gram_attention.measures import (
    ASSET,
    accuracy_by_length,
    accuracy_with_scaled_keys,
    comparison,
    repeated_texts,
    study,
    weight_by_distance,
)
from utils.models.gram_attention.numerics import cost, upcast
from utils.models.gram_attention.training import (
    HELD_OUT,
    HELD_OUT_TEXTS,
    Comparison,
    CopyModel,
    SeedResults,
    SeedRun,
    copied_accuracy,
    copied_half,
    copied_logits,
    copied_loss,
    train_comparison,
)

__all__ = [
    "ASSET",
    "HELD_OUT",
    "HELD_OUT_TEXTS",
    "Comparison",
    "CopyModel",
    "SeedResults",
    "SeedRun",
    "accuracy_by_length",
    "accuracy_with_scaled_keys",
    "comparison",
    "copied_accuracy",
    "copied_half",
    "copied_logits",
    "copied_loss",
    "cost",
    "repeated_texts",
    "study",
    "train_comparison",
    "upcast",
    "weight_by_distance",
]
