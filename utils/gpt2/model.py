"""The whole model, for generation."""

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
    """The model in eval mode, float32, on the CPU, and its tokenizer; loaded once.

    It attends "eagerly", so that `output_attentions=True` gives the weights.

    Raises:
        WeightsError: the files are damaged, incomplete, misshapen or hold numbers that are not finite.
    """
    return _load(source(path)).eval(), load_tokenizer()  # again: a caller may have trained it


@functools.lru_cache(maxsize=2)
def _load(where: Source) -> GPT2LMHeadModel:
    with Checkpoint(where) as checkpoint:  # what a damaged file has to say comes from here, in our words
        small = "wte.rows" in checkpoint.tensor_names()
    with (
        torch.random.fork_rng(devices=[]),
        _silence_transformers(),
    ):  # a new model draws random weights before it gets its own
        model = _load_expanded(where) if small else _load_pretrained(where)
    for name, parameter in model.named_parameters():
        if not parameter.isfinite().all():
            raise WeightsError(
                f"{name} in {where.path} holds numbers that are not finite (nan or inf). {remedy_for(where.path)}"
            )
    return model.to("cpu", torch.float32)  # whatever the defaults of this process are


def _load_pretrained(where: Source) -> GPT2LMHeadModel:
    from transformers import GPT2LMHeadModel

    try:
        model, info = GPT2LMHeadModel.from_pretrained(
            where.path,
            local_files_only=True,
            attn_implementation="eager",
            dtype=torch.float32,
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # told below, with names; transformers only prints a table
        )
    except Exception as error:
        raise WeightsError(
            f"{where.path} cannot be loaded ({' '.join(str(error).split())[:300]}). {remedy_for(where.path)}"
        ) from error
    missing = sorted(set(info["missing_keys"]) - {"lm_head.weight"})
    misshapen = sorted(str(key[0] if isinstance(key, tuple) else key) for key in info["mismatched_keys"])
    for what, names in (("has no", missing), ("has the wrong shape for", misshapen)):
        if names:
            raise WeightsError(
                f"{where.path} {what} {', '.join(names[:3])}{' …' if len(names) > 3 else ''}. {remedy_for(where.path)}"
            )
    return model


def _load_expanded(where: Source) -> GPT2LMHeadModel:
    """The small GPT-2 with all 50,257 rows of its embedding: every token that was never trained has the same one."""
    from transformers import GPT2Config, GPT2LMHeadModel

    with Checkpoint(where) as checkpoint:
        embedding = checkpoint.read_embeddings(torch.arange(where.vocab_size))
        state = {
            f"transformer.{name}": checkpoint.read_tensor(name)
            for name in checkpoint.tensor_names()
            if not name.startswith("wte.")
        }
    model = GPT2LMHeadModel(GPT2Config.from_pretrained(where.path, local_files_only=True, attn_implementation="eager"))
    try:
        left = model.load_state_dict(
            {**state, "transformer.wte.weight": embedding, "lm_head.weight": embedding}, strict=False
        )
    except RuntimeError as error:
        raise WeightsError(
            f"{where.path} does not fit its configuration ({' '.join(str(error).split())[:300]}). {remedy_for(where.path)}"
        ) from None
    if left.missing_keys or left.unexpected_keys:
        odd = [*left.missing_keys, *left.unexpected_keys]
        raise WeightsError(
            f"{where.path} does not hold what its configuration says: {', '.join(odd[:3])}. {remedy_for(where.path)}"
        )
    return model


@contextlib.contextmanager
def _silence_transformers():
    """transformers draws a progress bar and logs reports for a load that takes a second; errors still come through."""
    from transformers.utils import logging as told

    level = logging.getLogger("transformers").level
    bars = getattr(told, "is_progress_bar_enabled", lambda: True)()
    told.set_verbosity_error()
    told.disable_progress_bar()
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        logging.getLogger("transformers").setLevel(level)
        if bars:
            told.enable_progress_bar()
