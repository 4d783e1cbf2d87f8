"""The bundled small GPT-2: trained from nothing on `utils.corpus`, measured, and written with its model card.

It is an honest model of GPT-2's 50257 tokens. Only the tokens that its text holds get an embedding of their own; the others
share one vector, and the softmax of the training counts that vector once for each of them: a last logit, plus log(how many).
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import shutil
import tempfile
import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from utils import corpus
from utils.lessons import ROOT
from utils.train import History, one_cycle, train

ASSET = ROOT / "utils" / "assets" / "gpt2-mini"
TEMPLATE = Path(__file__).with_name("mini_card.md")
VOCAB, END = 50257, 50256
IGNORED = -100  # of torch's cross entropy: a place that asks for nothing


@dataclass(frozen=True)
class Recipe:
    """Everything that decides what comes out, besides the code and the machine."""

    seed: int = 0
    n_layer: int = 4
    n_embd: int = 192
    n_head: int = 12
    n_positions: int = 128
    rows: int = 16
    steps: int = 3000
    rate: float = 2e-3
    unknown: float = 0.15  # of the texts have one of their words replaced by a token that is never trained


@dataclass(frozen=True)
class Data:
    """`inputs` and `targets` `[rows, n_positions]`, of compact ids: places in `ids`, and `len(ids)` for every other token."""

    ids: Tensor
    inputs: Tensor
    targets: Tensor
    n_texts: int


class MiniError(ValueError):
    """The asset cannot be made or written; nothing was changed."""


def load_tokenizer():
    from utils import gpt2

    return gpt2.load_tokenizer()


def make_data(recipe: Recipe, n_rows: int) -> Data:
    """Rows of texts with `<|endoftext|>` between them, each row from the beginning of a text on; half of them begin with the token too."""
    tokenizer, texts = load_tokenizer(), corpus.sentences(recipe.seed)
    draw, length = random.Random(recipe.seed).random, recipe.n_positions + 1
    rows, hidden, n_texts = [], [], 0
    row, hide = [], []
    while len(rows) < n_rows:
        for tokens in tokenizer(list(islice(texts, 2000)))["input_ids"]:
            n_texts += 1
            if not row and draw() < 0.5:
                row, hide = [END], [False]
            word = tokens[int(draw() * len(tokens))] if draw() < recipe.unknown else None
            row += [*tokens, END]
            hide += [*(token == word for token in tokens), False]
            if len(row) >= length:
                rows.append(row[:length])
                hidden.append(hide[:length])
                row, hide = [], []
    tokens, mask = torch.tensor(rows[:n_rows]), torch.tensor(hidden[:n_rows])
    ids = tokens.unique()
    compact = torch.searchsorted(ids, tokens)
    seen = compact.masked_fill(mask, len(ids))
    asked = compact.masked_fill(mask, IGNORED)
    return Data(ids, seen[:, :-1].contiguous(), asked[:, 1:].contiguous(), n_texts)


def new_model(recipe: Recipe, n_ids: int):
    """A `GPT2LMHeadModel` over the compact ids. Positions start as waves, which makes "one place back" a rotation to be found."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(recipe.seed)
    config = _config(recipe, n_ids + 1, activation_function="gelu_pytorch_tanh")  # gelu_new's formula, in one fused step
    model = GPT2LMHeadModel(config)
    with torch.no_grad():
        model.transformer.wte.weight.normal_(std=0.1)
        angle = torch.arange(recipe.n_positions)[:, None] / 200 ** (torch.arange(0, recipe.n_embd, 2) / recipe.n_embd)
        waves = torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)
        model.transformer.wpe.weight.copy_(0.1 * waves)
    return model


def _config(recipe: Recipe, vocab_size: int, activation_function: str = "gelu_new"):
    from transformers import GPT2Config

    return GPT2Config(
        vocab_size=vocab_size, n_positions=recipe.n_positions, n_embd=recipe.n_embd, n_layer=recipe.n_layer, n_head=recipe.n_head,
        activation_function=activation_function, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        bos_token_id=END if vocab_size == VOCAB else None, eos_token_id=END if vocab_size == VOCAB else None,
        tie_word_embeddings=True, use_cache=False,
    )  # fmt: skip


def log_many(n_ids: int, device: torch.device | str = "cpu") -> Tensor:
    """What is added to the compact logits: the last one stands for every token that is not trained."""
    extra = torch.zeros(n_ids + 1, device=device)
    extra[-1] = math.log(VOCAB - n_ids)
    return extra


def fit(recipe: Recipe, data: Data, progress: bool = True, device: str = "cpu"):
    """Train. Returns the model, on the CPU and rounded to what is stored, and the history."""
    model = new_model(recipe, len(data.ids)).to(device).train()
    extra = log_many(len(data.ids), device)
    inputs, targets = data.inputs.to(device), data.targets.to(device)

    def step_loss(step: int) -> Tensor:
        rows = slice(step * recipe.rows, (step + 1) * recipe.rows)
        logits = model(inputs[rows]).logits + extra
        return F.cross_entropy(logits.flatten(0, 1), targets[rows].flatten(), ignore_index=IGNORED)

    matrices = [p for p in model.parameters() if p.dim() == 2]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    groups = [{"params": matrices, "weight_decay": 0.05}, {"params": vectors, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=recipe.rate, betas=(0.9, 0.98), fused=True)
    history = train(step_loss, optimiser, recipe.steps, schedule=one_cycle, clip=1.0, progress=progress, title="gpt2-mini")
    return model.cpu().half().float().eval(), history
