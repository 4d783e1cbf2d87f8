"""Load the whole GPT-2, for example to generate text."""

from __future__ import annotations

import contextlib
import functools
import io
import logging
import os
from typing import TYPE_CHECKING

import torch

from utils.gpt2.layer0 import Checkpoint
from utils.gpt2.sources import Source, WeightsError, remedy_for, source
from utils.gpt2.tokenizer import load_tokenizer

if TYPE_CHECKING:
    from transformers import GPT2LMHeadModel, GPT2TokenizerFast


def load_gpt2(path: str | os.PathLike | None = None) -> tuple[GPT2LMHeadModel, GPT2TokenizerFast]:
    """Return the model (in eval mode, float32, on the CPU) and its tokenizer. Later calls return the same model.

    The model uses the "eager" implementation of attention, so that `output_attentions=True` returns the attention
    weights.

    Raises:
        WeightsError: the files are damaged or incomplete, or a tensor has the wrong shape or is not finite.
    """
    # A caller may have set the cached model to training mode, so call eval() each time.
    return _load(source(path)).eval(), load_tokenizer()


@functools.lru_cache(maxsize=2)
def _load(weights: Source) -> GPT2LMHeadModel:
    with Checkpoint(weights) as checkpoint:  # raises a WeightsError if a file is damaged
        small = "wte.rows" in checkpoint.tensor_names()
    # A new model first samples random weights, so fork_rng preserves the caller's random state.
    with torch.random.fork_rng(devices=[]), _silence_transformers():
        model = _load_expanded(weights) if small else _load_pretrained(weights)
    for name, parameter in model.named_parameters():
        if not parameter.isfinite().all():
            raise WeightsError(
                f"{name} in {weights.path} contains numbers that are not finite (nan or inf)."
                f" {remedy_for(weights.path)}"
            )
    # Convert explicitly, because this process may have a different default device or dtype.
    return model.to("cpu", torch.float32)


def _load_pretrained(weights: Source) -> GPT2LMHeadModel:
    from transformers import GPT2LMHeadModel

    try:
        model, info = GPT2LMHeadModel.from_pretrained(
            weights.path,
            local_files_only=True,
            attn_implementation="eager",
            dtype=torch.float32,
            output_loading_info=True,
            # Wrong sizes are reported below, in an error that names the tensors.
            ignore_mismatched_sizes=True,
        )
    except Exception as error:
        raise WeightsError(
            f"{weights.path} cannot be loaded ({' '.join(str(error).split())[:300]}). {remedy_for(weights.path)}"
        ) from error
    missing = sorted(set(info["missing_keys"]) - {"lm_head.weight"})
    misshapen = sorted(str(key[0] if isinstance(key, tuple) else key) for key in info["mismatched_keys"])
    for problem, names in (("has no", missing), ("has the wrong shape for", misshapen)):
        if names:
            raise WeightsError(
                f"{weights.path} {problem} {', '.join(names[:3])}{' …' if len(names) > 3 else ''}."
                f" {remedy_for(weights.path)}"
            )
    return model


def _load_expanded(weights: Source) -> GPT2LMHeadModel:
    """Load the small GPT-2 with all 50,257 rows of its embedding. All untrained tokens get the same vector."""
    from transformers import GPT2Config, GPT2LMHeadModel

    with Checkpoint(weights) as checkpoint:
        embedding = checkpoint.read_embeddings(torch.arange(weights.vocab_size))
        state = {
            f"transformer.{name}": checkpoint.read_tensor(name)
            for name in checkpoint.tensor_names()
            if not name.startswith("wte.")
        }
    model = GPT2LMHeadModel(
        GPT2Config.from_pretrained(weights.path, local_files_only=True, attn_implementation="eager")
    )
    try:
        differences = model.load_state_dict(
            {**state, "transformer.wte.weight": embedding, "lm_head.weight": embedding}, strict=False
        )
    except RuntimeError as error:
        raise WeightsError(
            f"{weights.path} does not match its configuration ({' '.join(str(error).split())[:300]})."
            f" {remedy_for(weights.path)}"
        ) from None
    if names := [*differences.missing_keys, *differences.unexpected_keys]:
        raise WeightsError(
            f"{weights.path} does not match its configuration: these tensors are missing or superfluous:"
            f" {', '.join(names[:3])}. {remedy_for(weights.path)}"
        )
    return model


@contextlib.contextmanager
def _silence_transformers():
    """Hide the progress bar and the reports of transformers, but not its errors."""
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
