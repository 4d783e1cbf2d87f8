"""Provide an explorer for the toy transformer: type a word and a command, and the model continues the text."""

from __future__ import annotations

from typing import Any

import torch

from utils.explore.model_parameters import pack_tables, require_parameters
from utils.models import toy_transformer as toy
from utils.show.widget import Widget, make_widget, parse_text

MOST = 28  # the model writes at most this many new characters
EXPECTED = "lesson 08's CogModel"
SAMPLE = "attention upper"  # the browser compares its logits for this text with the model's


def writer(model: Any, tokenizer: Any, prompt: str = "strawberry upper") -> Widget:
    """Show a text box for a word and a command. Below it, mark each letter of the model's text as right or wrong.

    The browser computes the text from the model's parameters, in the same way as a `CogModel` with one head in each
    layer. The static version is `print(generate_text(model, tokenizer, prompt))`.

    Args:
        model: lesson 08's CogModel, written by the learner or by the course. Its parameters are read by name.
        tokenizer: an object whose `decode` turns an id into a character.
        prompt: the initial content of the text box.

    Returns:
        A widget whose `state` has `prompt`.

    Raises:
        ValueError: a parameter of the model is missing or unexpected. The message names it.
    """
    parse_text("prompt", prompt, empty=True)
    if not hasattr(tokenizer, "decode"):
        raise ValueError(f"tokenizer must have decode, like toy_transformer.CharTokenizer(); got {tokenizer!r}.")
    parameters = require_parameters(model, _shapes(model), EXPECTED)
    ids = toy.tokens_of([SAMPLE])[0]
    try:
        with torch.no_grad():
            nothing = next(model.parameters()).new_zeros(1, toy.CONTEXT + MOST, model.embed.weight.shape[1])
            extra = {"places": model.pos_encoder(nothing)[0], "sample": model(ids.to(nothing.device))[0]}
    except AttributeError as error:
        raise ValueError(f"model must be {EXPECTED}, with a pos_encoder; {error}.") from None
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
    words = "Explorer: type a word and echo or upper; the model continues, and each letter is marked as right or wrong."
    return make_widget(__file__, words, start, {"prompt": prompt}, data)


def _norms(model: Any) -> dict[str, Any]:
    return {**{f"layers.{i}.norm1": layer.norm1 for i, layer in enumerate(model.layers)}, "norm": model.norm}


def _shapes(model: Any) -> dict[str, list[int]]:
    """Return the parameter shapes of a CogModel with the width and the depth of `model`.

    Raises:
        ValueError: the model does not have the attributes of a CogModel.
    """
    try:
        width, depth = model.embed.weight.shape[1], len(model.layers)
    except (AttributeError, TypeError, IndexError):
        raise ValueError(
            f"model must be {EXPECTED}, with the attributes embed and layers; got {type(model).__name__}."
        ) from None
    vector, shapes = [width], {"embed.weight": [toy.VOCAB_SIZE, width]}
    for i in range(depth):
        for part in "qkv":
            shapes[f"layers.{i}.self_attn.{part}_layer.weight"] = [width, width]
            shapes[f"layers.{i}.self_attn.{part}_layer.bias"] = vector
        shapes |= {f"layers.{i}.norm1.{part}": vector for part in "wb"}
    shapes |= {f"norm.{part}": vector for part in "wb"}
    return shapes | {"decoder.weight": [toy.VOCAB_SIZE, width], "decoder.bias": [toy.VOCAB_SIZE]}
