"""Load the whole GPT-2, for example to generate text."""

from __future__ import annotations

import contextlib
import functools
import io
import logging
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import torch

from utils.gpt2.layer0 import Checkpoint, require_finite
from utils.gpt2.sources import Source, WeightsError, source
from utils.gpt2.tokenizer import load_tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast
    from transformers.models.gpt2 import GPT2LMHeadModel


def load_gpt2(path: str | os.PathLike | None = None) -> tuple[GPT2LMHeadModel, PreTrainedTokenizerFast]:
    """Return the model (in eval mode, float32, on the CPU) and its tokenizer. Later calls return the same model.

    The model uses the "eager" implementation of attention, so that `output_attentions=True` returns the attention
    weights.

    Raises:
        WeightsError: the files are damaged or incomplete, or a tensor has the wrong shape or is not finite.
    """
    # A caller may have set the cached model to training mode, so call eval() every time.
    return _load(source(path)).eval(), load_tokenizer()


@functools.lru_cache(maxsize=2)
def _load(weights: Source) -> GPT2LMHeadModel:
    # A new model samples random weights first, so fork_rng preserves the caller's random state.
    with Checkpoint(weights) as checkpoint, torch.random.fork_rng(devices=[]), _silence_transformers():
        model = _load_expanded(checkpoint) if checkpoint.is_compact else _load_pretrained(weights)
    for name, parameter in model.named_parameters():
        require_finite(weights.path, name, parameter)
    # Convert explicitly, because this process may have a different default device or dtype.
    return model.cpu().float()


def _load_pretrained(weights: Source) -> GPT2LMHeadModel:
    from transformers.models.gpt2 import GPT2LMHeadModel

    try:
        loaded = GPT2LMHeadModel.from_pretrained(
            weights.path,
            local_files_only=True,
            attn_implementation="eager",
            dtype=torch.float32,
            output_loading_info=True,
            # Wrong sizes are reported below, with the names of the tensors.
            ignore_mismatched_sizes=True,
        )
    except Exception as error:
        problem = f"{weights.path} cannot be loaded ({' '.join(str(error).split())[:300]})."
        raise WeightsError.for_damage(weights.path, problem) from error
    model, info = cast("tuple[GPT2LMHeadModel, dict[str, Any]]", loaded)
    missing = sorted(set(info["missing_keys"]) - {"lm_head.weight"})
    misshapen = sorted(str(key[0] if isinstance(key, tuple) else key) for key in info["mismatched_keys"])
    for problem, names in (("has no", missing), ("has the wrong shape for", misshapen)):
        if names:
            names_text = f"{', '.join(names[:3])}{' …' if len(names) > 3 else ''}"
            raise WeightsError.for_damage(weights.path, f"{weights.path} {problem} {names_text}.")
    return model


def _load_expanded(checkpoint: Checkpoint) -> GPT2LMHeadModel:
    """Load the small GPT-2 with all 50,257 rows of its embedding. All untrained tokens get the same vector.

    Raises:
        WeightsError: the stored tensors do not match the configuration.
    """  # noqa: DOC501  (ruff mistakes the constructor's name for the exception)
    from transformers.models.gpt2 import GPT2Config, GPT2LMHeadModel

    folder, tensors = checkpoint.weights.path, checkpoint.read_all()
    state = {f"transformer.{name}": tensor for name, tensor in tensors.items()}
    model = GPT2LMHeadModel(GPT2Config.from_pretrained(folder, local_files_only=True, attn_implementation="eager"))
    try:
        differences = model.load_state_dict(state | {"lm_head.weight": tensors["wte.weight"]}, strict=False)
    except RuntimeError as error:
        problem = f"{folder} does not match its configuration ({' '.join(str(error).split())[:300]})."
        raise WeightsError.for_damage(folder, problem) from None
    if names := [*differences.missing_keys, *differences.unexpected_keys]:
        problem = f"these tensors are missing or superfluous: {', '.join(names[:3])}."
        raise WeightsError.for_damage(folder, f"{folder} does not match its configuration: {problem}")
    return model


@contextlib.contextmanager
def _silence_transformers() -> Iterator[None]:
    """Hide the progress bar and the reports that transformers prints, but not its errors."""
    from transformers.utils import logging as transformers_logging

    level = logging.getLogger("transformers").level
    bars = getattr(transformers_logging, "is_progress_bar_enabled", lambda: True)()
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        logging.getLogger("transformers").setLevel(level)
        if bars:
            transformers_logging.enable_progress_bar()
