"""Train the bundled small GPT-2 from scratch on `utils.training.corpus`, measure it, and write it with its model card.

The model predicts all 50,257 tokens of GPT-2. Only the tokens in the training text get their own embedding. All other
tokens share one vector, and therefore one logit. In training, log n is added to this logit, where n is the number of
tokens that share it. The softmax then counts the logit n times.

The training has two parts. The first part trains all parameters on texts. The second part starts from these weights,
rounded as in the stored file. It adds repeated random lists to the texts. From these lists, later layers learn to
find an earlier copy of the current token, and the token that follows this copy. The second part does not change the
parameters that determine where layer 0's heads attend.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from utils.lessons import ROOT
from utils.training import gpt2_rows
from utils.training.asset_publishing import (
    deterministic_algorithms,
    replace_asset,
    require_finished,
    require_writable_asset,
    serialize_weights,
    write_card,
)
from utils.training.gpt2_metrics import HEADLINE, LIST_LENGTHS, N_ASKED, N_LISTS, GPT2Metrics, measure_gpt2
from utils.training.gpt2_rows import (
    END,
    IGNORED,
    VOCAB,
    Stage,
    TrainingRows,
    make_training_rows,
    untrained_logit_offset,
)
from utils.training.loop import History, one_cycle_schedule, train

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from transformers.models.gpt2 import GPT2Config, GPT2LMHeadModel

ASSET = ROOT / "utils" / "assets" / "gpt2-mini"
# The second part does not train the embeddings, layer 0's first norm, or layer 0's queries, keys and values.
KEPT = ("transformer.wte.", "transformer.wpe.", "transformer.h.0.ln_1.", "transformer.h.0.attn.c_attn.")


@dataclass(frozen=True)
class GPT2MiniRecipe:
    """The settings of a training run. With the same code and machine, they determine the result."""

    seed: int = 0
    n_layer: int = 4
    n_embd: int = 192
    n_head: int = 12
    n_positions: int = 128
    steps: int = 2100  # steps of the first part
    # The share of steps with short rows. With short rows, the model learns sooner to copy names.
    short: float = 4 / 7
    short_row: int = 48
    batch: int = 2048  # tokens per step
    rate: float = 2e-3  # AdamW's rate for embeddings, norms and biases
    matrix_rate: float = 1e-2  # Muon's rate for the layers' matrices
    unknown: float = 0.15  # the share of texts in which an untrained token replaces one word
    push: float = 10.0  # the loss includes the total probability of untrained tokens, times this factor
    more: float = 4 / 7  # the steps of the second part, divided by the steps of the first
    lists: float = 0.7  # the share of random lists at the beginning of the second part
    attention_rate: float = 5e-3  # AdamW's rate for queries, keys and values in the second part

    def first_stages(self) -> list[Stage]:
        """Return the stages of the first part, in order."""
        first = round(self.short * self.steps)
        lengths = ((min(self.short_row, self.n_positions), first), (self.n_positions, self.steps - first))
        return [(length, self.batch // length, steps) for length, steps in lengths]

    def second_stages(self) -> list[Stage]:
        """Return the single stage of the second part."""
        return [(self.n_positions, self.batch // self.n_positions, max(1, round(self.more * self.steps)))]


def first_part_rows(recipe: GPT2MiniRecipe) -> TrainingRows:
    """Create the rows for the first part."""
    return make_training_rows(recipe.first_stages(), recipe.seed, recipe.unknown)


def second_part_rows(recipe: GPT2MiniRecipe, ids: Int[Tensor, "n_ids"]) -> TrainingRows:
    """Create the rows for the second part. `ids` are the tokens that the first part trained.

    The seed is `recipe.seed + 2`, because the measurements use `recipe.seed + 1`.
    """
    return make_training_rows(recipe.second_stages(), recipe.seed + 2, recipe.unknown, recipe.lists, ids)


def new_model(recipe: GPT2MiniRecipe, n_ids: int) -> GPT2LMHeadModel:
    """Create a model for the compact ids.

    The position embeddings start as sine and cosine waves. A head can then find the previous position by a rotation.
    """
    from transformers.models.gpt2 import GPT2LMHeadModel

    torch.manual_seed(recipe.seed)
    # gelu_pytorch_tanh is the same formula as gelu_new, in one fused operation.
    model = GPT2LMHeadModel(_config(recipe, n_ids + 1, "gelu_pytorch_tanh"))
    with torch.no_grad():
        model.transformer.wte.weight.normal_(std=0.1)
        angle = torch.arange(recipe.n_positions)[:, None] / 200 ** (torch.arange(0, recipe.n_embd, 2) / recipe.n_embd)
        waves = torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)
        model.transformer.wpe.weight.copy_(0.1 * waves)
    return model


def _config(recipe: GPT2MiniRecipe, vocab_size: int, activation_function: str = "gelu_new") -> GPT2Config:
    from transformers.models.gpt2 import GPT2Config

    end = END if vocab_size == VOCAB else None
    return GPT2Config(
        vocab_size=vocab_size,
        n_positions=recipe.n_positions,
        n_embd=recipe.n_embd,
        n_layer=recipe.n_layer,
        n_head=recipe.n_head,
        activation_function=activation_function,
        initializer_range=recipe.n_embd**-0.5,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=end,
        eos_token_id=end,
        tie_word_embeddings=True,
        use_cache=False,
    )


def train_first_part(
    recipe: GPT2MiniRecipe, data: TrainingRows, progress: bool = True, device: str = "cpu"
) -> tuple[GPT2LMHeadModel, History]:
    """Train the first part. Return the model and the history.

    The model is on the CPU, and its weights are rounded to float16, as in the stored file.
    """
    with deterministic_algorithms(device):
        model = new_model(recipe, len(data.ids))
        return _train(recipe, model, data, progress, device)


def train_second_part(
    recipe: GPT2MiniRecipe, model: GPT2LMHeadModel, data: TrainingRows, progress: bool = True, device: str = "cpu"
) -> tuple[GPT2LMHeadModel, History]:
    """Train the second part, which changes `model`. Return the model and the history, like `train_first_part`."""
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(not name.startswith(KEPT))
    with deterministic_algorithms(device):
        return _train(recipe, model, data, progress, device, recipe.attention_rate)


def _train(
    recipe: GPT2MiniRecipe,
    model: GPT2LMHeadModel,
    data: TrainingRows,
    progress: bool,
    device: str,
    attention_rate: float | None = None,
) -> tuple[GPT2LMHeadModel, History]:
    model.to(device)  # pyright: ignore[reportArgumentType]  # a decorator in transformers hides that `to` is a method
    model.train()
    if device != "cpu":
        model.set_attn_implementation("eager")  # in its backward pass, eager attention adds numbers in a fixed order
    extra = untrained_logit_offset(len(data.ids), device)

    def step_loss(step: int) -> Tensor:
        inputs, targets = (tensor.to(device) for tensor in data.batches[step])
        logs = (model(inputs).logits + extra).log_softmax(-1).flatten(0, 1)
        return F.nll_loss(logs, targets.flatten(), ignore_index=IGNORED) + recipe.push * logs[:, -1].exp().mean()

    optimisers, steps = _optimisers(recipe, model, attention_rate), len(data.batches)
    history = train(step_loss, optimisers, steps, one_cycle_schedule, clip=1.0, progress=progress, title="gpt2-mini")
    return model.cpu().half().float().eval(), history


def _optimisers(
    recipe: GPT2MiniRecipe, model: GPT2LMHeadModel, attention_rate: float | None
) -> list[torch.optim.Optimizer]:
    """Create Muon for the matrices in the layers, and AdamW for all other parameters.

    AdamW also trains the queries, keys and values of layer 0. If `attention_rate` is given, AdamW trains the queries,
    keys and values of all layers. Muon's steps are equally long in every direction. With Muon, each head kept a little
    attention weight on every position; with AdamW, the heads specialise.
    """
    matrices, attention, rest = [], [], []
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        if attention_rate is not None and name.endswith("c_attn.weight"):
            attention.append(parameter)
        elif ".h." in name and parameter.dim() == 2 and not name.endswith("h.0.attn.c_attn.weight"):
            matrices.append(parameter)
        else:
            rest.append(parameter)
    groups = [{"params": rest}] + [{"params": attention, "lr": attention_rate}] * bool(attention)
    return [
        torch.optim.Muon(matrices, lr=recipe.matrix_rate, weight_decay=0.05),
        torch.optim.AdamW(groups, lr=recipe.rate, betas=(0.9, 0.98), weight_decay=0.01, fused=True),
    ]


def save(folder: Path, model: GPT2LMHeadModel, ids: Int[Tensor, "n_ids"], recipe: GPT2MiniRecipe) -> None:
    """Write `config.json` and `model.safetensors` in float16.

    `wte` has one row for each trained token, and one row for all other tokens.
    """
    (folder / "model.safetensors").write_bytes(serialize_weights(_stored_tensors(model, ids)))
    (folder / "config.json").write_text(_config(recipe, VOCAB).to_json_string() + "\n", encoding="utf-8")


def _stored_tensors(model: GPT2LMHeadModel, ids: Tensor) -> dict[str, Float[Tensor, "..."] | Int[Tensor, "..."]]:
    tensors = {name: tensor.half() for name, tensor in model.state_dict().items() if name != "lm_head.weight"}
    wte = tensors.pop("transformer.wte.weight")
    return tensors | {"wte.rows": wte[:-1].clone(), "wte.other": wte[-1].clone(), "wte.ids": ids.int()}


def train_and_publish(
    out: Path = ASSET,
    replace: bool = False,
    recipe: GPT2MiniRecipe = GPT2MiniRecipe(),
    device: str | None = None,
    progress: bool = True,
) -> tuple[GPT2Metrics, History]:
    """Train and measure the model, and write it to the folder `out`. With `replace`, `out` may already exist.

    After an error, no file is written.

    Returns:
        The metrics, and the history of the second part with the seconds of both parts.

    Raises:
        PublishError: the folder already exists, contains other files, or the training was interrupted.
    """
    out = Path(out)
    require_writable_asset(out, replace=replace)
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    data = first_part_rows(recipe)
    model, first = train_first_part(recipe, data, progress, device)
    require_finished(first, recipe.steps)
    ids, minutes = data.ids, first.seconds / 60
    first_digest = hashlib.sha256(serialize_weights(_stored_tensors(model, ids))).hexdigest()
    data = second_part_rows(recipe, ids)
    model, history = train_second_part(recipe, model, data, progress, device)
    require_finished(history, len(data.batches))
    metrics = measure_gpt2(model, ids, recipe.seed + 1)
    took = {"first_minutes": minutes, "minutes": history.seconds / 60, "first_digest": first_digest}
    with replace_asset(out) as stage:
        save(stage, model, ids, recipe)
        write_card(stage, "gpt2-mini", device, **card_fields(recipe, len(ids), metrics), **took)
    history.seconds += 60 * minutes
    return metrics, history


def card_fields(recipe: GPT2MiniRecipe, n_ids: int, measured: GPT2Metrics) -> dict[str, object]:
    """Return the fields of the card's template, except the training times and the fields that `write_card` adds."""
    heads = [
        f"| 0.{head} | {' | '.join(f'{weight:.2f}' for weight in weights)} | {kind} |"
        for head, (weights, kind) in enumerate(zip(measured.heads.tolist(), measured.head_kinds()))
    ]
    layers = [
        f"| {layer} | {layer}.{i} | {previous:.2f} | {layer}.{j} | {induction:.2f} |"
        for layer, (i, previous, j, induction) in enumerate(measured.best_heads())
    ]
    return (
        asdict(recipe)
        | asdict(measured)
        | {
            "vocab": VOCAB,
            "n_ids": n_ids,
            "stages": _in_words(recipe.first_stages()),
            "more_stages": _in_words(recipe.second_stages()),
            "percent": 100 * recipe.unknown,
            "headline_prompt": HEADLINE,
            "n_asked": N_ASKED,
            "n_lists": N_LISTS,
            "shortest": LIST_LENGTHS[0],
            "longest": LIST_LENGTHS[1],
            "shortest_trained": gpt2_rows.LIST_LENGTHS[0],
            "longest_trained": gpt2_rows.LIST_LENGTHS[1],
            "heads": "\n".join(heads),
            "layers": "\n".join(layers),
        }
    )


def _in_words(stages: list[Stage]) -> str:
    steps = " then ".join(f"{steps:,} of {rows} rows of {length} tokens" for length, rows, steps in stages)
    millions = sum(length * rows * steps for length, rows, steps in stages) / 1e6
    return f"{steps}; {millions:.1f} million tokens"
