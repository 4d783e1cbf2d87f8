"""A line to type a word and a command into: the toy transformer goes on."""

from __future__ import annotations

from typing import Any

import torch

from utils.explore.model_parameters import pack_tables, require_parameters
from utils.explore.widget import make_widget, parse_text
from utils.models import toy_transformer as toy

MOST = 28  # new characters
WHAT = "lesson 08's CogModel"
SAMPLE = "attention upper"  # a text on which the page sees whether it computes what the model does


def writer(model: Any, tokenizer: Any, prompt: str = "strawberry upper") -> Any:
    """Type a word and a command; the model's text appears below, letter by letter right or wrong.

    The page computes it from the model's parameters, as `CogModel` does with one head a layer. The static twin is
    `print(generate_text(model, tokenizer, prompt))`.

    Args:
        model: lesson 08's CogModel, the learner's own or the course's; its parameters are taken by their names.
        tokenizer: what `decode` of an id gives a character.
        prompt: what the line holds at first.

    Returns:
        A widget whose `state` has `prompt`.

    Raises:
        ValueError: the model lacks a parameter, or has one more; the message names it.
    """
    parse_text("prompt", prompt, empty=True)
    if not hasattr(tokenizer, "decode"):
        raise ValueError(f"tokenizer must have decode, as toy_transformer.CharTokenizer() has; got {tokenizer!r}.")
    parameters = require_parameters(model, _shapes(model), WHAT)
    ids = toy.tokens_of([SAMPLE])[0]
    try:
        with torch.no_grad():
            nothing = next(model.parameters()).new_zeros(1, toy.CONTEXT + MOST, model.embed.weight.shape[1])
            extra = {"places": model.pos_encoder(nothing)[0], "sample": model(ids.to(nothing.device))[0]}
    except AttributeError as error:
        raise ValueError(f"model must be {WHAT}, with a pos_encoder; {error}.") from None
    shapes, data = pack_tables({**parameters, **extra})
    start = {
        "shapes": shapes,
        "layers": len(model.layers),
        "eps": {name: float(getattr(part, "eps", 1e-6)) for name, part in _norms(model).items()},
        "characters": [tokenizer.decode(i) for i in range(toy.VOCAB_SIZE)],
        "commands": list(toy.COMMANDS),
        "longest": toy.CONTEXT,
        "most": MOST,
        "sample": ids[0].tolist(),
    }
    words = "Explorer: type a word and echo or upper, and the model goes on, letter by letter right or wrong."
    return make_widget("toy_transformer", words, start, {"prompt": prompt}, data)


def _norms(model: Any) -> dict[str, Any]:
    return {**{f"layers.{i}.norm1": layer.norm1 for i, layer in enumerate(model.layers)}, "norm": model.norm}


def _shapes(model: Any) -> dict[str, list[int]]:
    """The parameters of a CogModel as wide and as deep as this one."""
    try:
        width, depth = model.embed.weight.shape[1], len(model.layers)
    except (AttributeError, TypeError, IndexError):
        raise ValueError(
            f"model must be {WHAT}, with the parts embed and layers; got {type(model).__name__}."
        ) from None
    vector, shapes = [width], {"embed.weight": [toy.VOCAB_SIZE, width]}
    for i in range(depth):
        for part in "qkv":
            shapes[f"layers.{i}.self_attn.{part}_layer.weight"] = [width, width]
            shapes[f"layers.{i}.self_attn.{part}_layer.bias"] = vector
        shapes |= {f"layers.{i}.norm1.{part}": vector for part in "wb"}
    shapes |= {f"norm.{part}": vector for part in "wb"}
    return shapes | {"decoder.weight": [toy.VOCAB_SIZE, width], "decoder.bias": [toy.VOCAB_SIZE]}
