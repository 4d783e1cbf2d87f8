"""The bundled small GPT-2: trained from nothing on `utils.training.corpus`, measured, and written with its model card.

It is an honest model of GPT-2's 50257 tokens. Only the tokens that its text holds get an embedding of their own; the
others share one vector, and the softmax of the training counts that vector once for each of them: a last logit, plus
log(how many).

It is trained in two parts. The first makes all of it, on texts. The second goes on from there, rounded as it would be
stored, with random lists that repeat among the texts, until later layers find what followed a token the last time. It
leaves alone what decides where layer 0's heads look.
"""

from __future__ import annotations

import hashlib
import re
import tempfile
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
    from transformers import GPT2LMHeadModel

ASSET = ROOT / "utils" / "assets" / "gpt2-mini"
# Not trained in the second part: the embeddings, and where the heads of layer 0 look and what they read there.
KEPT = ("transformer.wte.", "transformer.wpe.", "transformer.h.0.ln_1.", "transformer.h.0.attn.c_attn.")


@dataclass(frozen=True)
class GPT2MiniRecipe:
    """Everything that decides what comes out, besides the code and the machine."""

    seed: int = 0
    n_layer: int = 4
    n_embd: int = 192
    n_head: int = 12
    n_positions: int = 128
    steps: int = 2100  # of the first part
    # Share of the steps on short rows: names are learnt to be copied sooner where few texts stand in the way.
    short: float = 4 / 7
    short_row: int = 48
    batch: int = 2048  # tokens a step
    rate: float = 2e-3  # of AdamW, for embeddings, norms and biases
    matrix_rate: float = 1e-2  # of Muon, for the layers' matrices
    unknown: float = 0.15  # of the texts have one of their words replaced by a token that is never trained
    push: float = 10.0  # times the probability of all untrained tokens is added to the loss
    more: float = 4 / 7  # steps of the second part, for each of the first
    lists: float = 0.7  # the share of random lists at its beginning
    attention_rate: float = 5e-3  # in it, of AdamW, for queries, keys and values

    def first_stages(self) -> list[Stage]:
        """Those of the first part, in order."""
        first = round(self.short * self.steps)
        lengths = ((min(self.short_row, self.n_positions), first), (self.n_positions, self.steps - first))
        return [(length, self.batch // length, steps) for length, steps in lengths]

    def second_stages(self) -> list[Stage]:
        """The one of the second part."""
        return [(self.n_positions, self.batch // self.n_positions, max(1, round(self.more * self.steps)))]


def first_part_rows(recipe: GPT2MiniRecipe) -> TrainingRows:
    """The rows of the first part."""
    return make_training_rows(recipe.first_stages(), recipe.seed, recipe.unknown)


def second_part_rows(recipe: GPT2MiniRecipe, ids: Tensor) -> TrainingRows:
    """The rows of the second part, of tokens that the first has trained. The seed between is that of the
    measurements."""
    return make_training_rows(recipe.second_stages(), recipe.seed + 2, recipe.unknown, recipe.lists, ids)


def new_model(recipe: GPT2MiniRecipe, n_ids: int):
    """A `GPT2LMHeadModel` over the compact ids. Positions start as waves, which makes "one place back" a rotation to be
    found."""
    from transformers import GPT2LMHeadModel

    torch.manual_seed(recipe.seed)
    model = GPT2LMHeadModel(_config(recipe, n_ids + 1, "gelu_pytorch_tanh"))  # gelu_new's formula, in one fused step
    with torch.no_grad():
        model.transformer.wte.weight.normal_(std=0.1)
        angle = torch.arange(recipe.n_positions)[:, None] / 200 ** (torch.arange(0, recipe.n_embd, 2) / recipe.n_embd)
        waves = torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)
        model.transformer.wpe.weight.copy_(0.1 * waves)
    return model


def _config(recipe: GPT2MiniRecipe, vocab_size: int, activation_function: str = "gelu_new"):
    from transformers import GPT2Config

    whole = vocab_size == VOCAB
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
        bos_token_id=END if whole else None,
        eos_token_id=END if whole else None,
        tie_word_embeddings=True,
        use_cache=False,
    )


def train_first_part(
    recipe: GPT2MiniRecipe, data: TrainingRows, progress: bool = True, device: str = "cpu"
) -> tuple[GPT2LMHeadModel, History]:
    """The first part. Returns the model, on the CPU and rounded to the float16 that is stored, and the history."""
    with deterministic_algorithms(device):
        model = new_model(recipe, len(data.ids))
        return _train(recipe, model, data, progress, device)


def train_second_part(
    recipe: GPT2MiniRecipe, model: GPT2LMHeadModel, data: TrainingRows, progress: bool = True, device: str = "cpu"
) -> tuple[GPT2LMHeadModel, History]:
    """The second part, which changes `model`. Returns as `fit` does."""
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
    model = model.to(device).train()
    if device != "cpu":
        model.set_attn_implementation("eager")  # its gradient adds up in one order
    extra = untrained_logit_offset(len(data.ids), device)

    def step_loss(step: int) -> Tensor:
        inputs, targets = (tensor.to(device) for tensor in data.batches[step])
        logs = (model(inputs).logits + extra).log_softmax(-1).flatten(0, 1)
        return F.nll_loss(logs, targets.flatten(), ignore_index=IGNORED) + recipe.push * logs[:, -1].exp().mean()

    optimisers = _optimisers(recipe, model, attention_rate)
    history = train(
        step_loss,
        optimisers,
        len(data.batches),
        schedule=one_cycle_schedule,
        clip=1.0,
        progress=progress,
        title="gpt2-mini",
    )
    return model.cpu().half().float().eval(), history


def _optimisers(
    recipe: GPT2MiniRecipe, model: GPT2LMHeadModel, attention_rate: float | None
) -> list[torch.optim.Optimizer]:
    """Muon for the layers' matrices, AdamW for the rest, layer 0's queries, keys and values among them; with
    `attention_rate` those of all layers.

    Muon steps are equally long in every direction, and left the heads looking at everything a little; with AdamW they
    choose.
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
    groups: list[dict] = [{"params": rest}]
    if attention:
        groups.append({"params": attention, "lr": attention_rate})
    return [
        torch.optim.Muon(matrices, lr=recipe.matrix_rate, weight_decay=0.05),
        torch.optim.AdamW(groups, lr=recipe.rate, betas=(0.9, 0.98), weight_decay=0.01, fused=True),
    ]


def save(folder: Path, model: "GPT2LMHeadModel", ids: Tensor, recipe: GPT2MiniRecipe) -> None:
    """Write `config.json` and `model.safetensors`: float16, and of `wte` the trained rows and the one that all others
    share."""
    from safetensors.torch import save_file

    tensors = {
        name: tensor.half()
        for name, tensor in model.state_dict().items()
        if name not in ("lm_head.weight", "transformer.wte.weight")
    }
    wte = model.transformer.wte.weight.detach().half()
    tensors |= {"wte.rows": wte[:-1].clone(), "wte.other": wte[-1].clone(), "wte.ids": ids.int()}
    save_file(
        {name: tensors[name].contiguous() for name in sorted(tensors)},
        folder / "model.safetensors",
        metadata={"format": "pt"},
    )
    (folder / "config.json").write_text(_config(recipe, VOCAB).to_json_string() + "\n", encoding="utf-8")


def load(folder: Path, recipe: GPT2MiniRecipe) -> tuple[GPT2LMHeadModel, Tensor]:
    """What `save` has written: the compact model, and the ids of its tokens."""
    from safetensors.torch import load_file

    tensors = load_file(folder / "model.safetensors")
    ids, rows, other = (tensors.pop(f"wte.{part}") for part in ("ids", "rows", "other"))
    table = torch.cat((rows, other[None]))
    with torch.random.fork_rng(devices=[]):
        model = new_model(recipe, len(ids))
    model.load_state_dict(tensors | {"transformer.wte.weight": table, "lm_head.weight": table})
    return model.eval(), ids.long()


def train_and_publish(
    out: Path = ASSET,
    replace: bool = False,
    recipe: GPT2MiniRecipe = GPT2MiniRecipe(),
    device: str | None = None,
    progress: bool = True,
    start: Path | None = None,
) -> tuple[GPT2Metrics, History]:
    """Train, measure, and write the folder `out`: all of its files, or none. With `replace` an older one gives way.

    Args:
        start: a folder with the result of the first part, as `save` writes it, which is then not made again. Its card
            says how long that took.

    Returns:
        What was measured, and the history of the second part with the seconds of both.

    Raises:
        PublishError: the folder is there, or is not of ours, or the training was interrupted.
    """
    out = Path(out)
    require_writable_asset(out, replace=replace)
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    if start is None:
        data = first_part_rows(recipe)
        model, first = train_first_part(recipe, data, progress, device)
        require_finished(first, recipe.steps)
        ids, minutes = data.ids, first.seconds / 60
    else:
        (model, ids), minutes = load(Path(start), recipe), _read_training_minutes(Path(start))
    first_digest = _digest(model, ids, recipe)
    data = second_part_rows(recipe, ids)
    model, history = train_second_part(recipe, model, data, progress, device)
    require_finished(history, len(data.batches))
    measured = measure_gpt2(model, ids, recipe.seed + 1)
    took = {"first_minutes": minutes, "minutes": history.seconds / 60, "first_digest": first_digest}
    with replace_asset(out) as stage:
        save(stage, model, ids, recipe)
        write_card(stage, "gpt2-mini", device, **card_fields(recipe, len(ids), measured), **took)
    history.seconds += 60 * minutes
    return measured, history


def _digest(model: GPT2LMHeadModel, ids: Tensor, recipe: GPT2MiniRecipe) -> str:
    """Of the weights as they would be stored."""
    with tempfile.TemporaryDirectory() as folder:
        save(Path(folder), model, ids, recipe)
        return hashlib.sha256((Path(folder) / "model.safetensors").read_bytes()).hexdigest()


def _read_training_minutes(folder: Path) -> float:
    """How long the training took of which `folder` holds the result."""
    return float(re.findall(r"took ([\d.]+) minutes", (folder / "README.md").read_text(encoding="utf-8"))[0])


def card_fields(recipe: GPT2MiniRecipe, n_ids: int, measured: GPT2Metrics) -> dict[str, object]:
    """What the card's template asks for, besides what `write_card` knows itself and how long it took."""
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
