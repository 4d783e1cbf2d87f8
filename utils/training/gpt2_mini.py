"""The bundled small GPT-2: trained from nothing on `utils.training.corpus`, measured, and written with its model card.

It is an honest model of GPT-2's 50257 tokens. Only the tokens that its text holds get an embedding of their own; the
others share one vector, and the softmax of the training counts that vector once for each of them: a last logit, plus
log(how many).
"""

from __future__ import annotations

import math
import random
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from utils.lessons import ROOT
from utils.training import corpus
from utils.training.loop import History, one_cycle, train
from utils.training.publish import deterministic, publish, require_finished, require_free, write_card

if TYPE_CHECKING:
    from transformers import GPT2LMHeadModel, GPT2TokenizerFast

ASSET = ROOT / "utils" / "assets" / "gpt2-mini"
HEADLINE = "When Mary and John went to the store, John gave a drink to"
VOCAB, END = 50257, 50256
N_ASKED = 200  # held-out sentences that a measurement asks for
IGNORED = -100  # of torch's cross entropy: a place that asks for nothing


@dataclass(frozen=True)
class Recipe:
    """Everything that decides what comes out, besides the code and the machine."""

    seed: int = 0
    n_layer: int = 4
    n_embd: int = 192
    n_head: int = 12
    n_positions: int = 128
    steps: int = 2100
    # Share of the steps on short rows: names are learnt to be copied sooner where few texts stand in the way.
    short: float = 4 / 7
    short_row: int = 48
    batch: int = 2048  # tokens a step
    rate: float = 2e-3  # of AdamW, for embeddings, norms and biases
    matrix_rate: float = 1e-2  # of Muon, for the layers' matrices
    unknown: float = 0.15  # of the texts have one of their words replaced by a token that is never trained
    push: float = 10.0  # times the probability of all untrained tokens is added to the loss

    def stages(self) -> list[tuple[int, int, int]]:
        """`(tokens in a row, rows a step, steps)`, in order."""
        first = round(self.short * self.steps)
        return [
            (length, self.batch // length, steps)
            for length, steps in (
                (min(self.short_row, self.n_positions), first),
                (self.n_positions, self.steps - first),
            )
        ]


@dataclass(frozen=True)
class Data:
    """`steps[i]`: `(inputs, targets)` `[rows, length]`, of places in `ids`; `len(ids)` stands for every other token."""

    ids: Tensor
    steps: list[tuple[Tensor, Tensor]]
    n_texts: int


def load_tokenizer() -> "GPT2TokenizerFast":
    from utils import gpt2

    return gpt2.load_tokenizer()


def make_data(recipe: Recipe, stages: list[tuple[int, int, int]] | None = None) -> Data:
    """Rows of texts with `<|endoftext|>` between them, each row from the beginning of a text on; half of them begin
    with the token too."""
    tokenizer, texts, draw = load_tokenizer(), corpus.sentences(recipe.seed), random.Random(recipe.seed).random
    tokens_of = (tokens for _ in iter(int, 1) for tokens in tokenizer(list(islice(texts, 2000)))["input_ids"])
    blocks, n_texts = [], 0
    for length, n_rows, steps in stages or recipe.stages():
        rows, hidden = [], []
        while len(rows) < n_rows * steps:
            row = [END] if draw() < 0.5 else []
            hide = [False] * len(row)
            while len(row) <= length:
                tokens = next(tokens_of)
                word = tokens[int(draw() * len(tokens))] if draw() < recipe.unknown else None
                row += [*tokens, END]
                hide += [*(token == word for token in tokens), False]
                n_texts += 1
            rows.append(row[: length + 1])
            hidden.append(hide[: length + 1])
        blocks += zip(torch.tensor(rows).split(n_rows), torch.tensor(hidden).split(n_rows))
    ids = torch.cat([tokens.flatten() for tokens, _ in blocks]).unique()
    steps = []
    for tokens, mask in blocks:
        places = torch.searchsorted(ids, tokens)
        steps.append((places.masked_fill(mask, len(ids))[:, :-1], places.masked_fill(mask, IGNORED)[:, 1:]))
    return Data(ids, steps, n_texts)


def new_model(recipe: Recipe, n_ids: int):
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


def _config(recipe: Recipe, vocab_size: int, activation_function: str = "gelu_new"):
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


def log_many(n_ids: int, device: torch.device | str = "cpu") -> Tensor:
    """What is added to the compact logits: the last one stands for every token that is not trained."""
    extra = torch.zeros(n_ids + 1, device=device)
    extra[-1] = math.log(VOCAB - n_ids)
    return extra


def fit(recipe: Recipe, data: Data, progress: bool = True, device: str = "cpu") -> tuple["GPT2LMHeadModel", History]:
    """Train. Returns the model, on the CPU and rounded to the float16 that is stored, and the history."""
    with deterministic(device):
        model = new_model(recipe, len(data.ids)).to(device).train()
        if device != "cpu":
            model.set_attn_implementation("eager")  # its gradient adds up in one order
        extra = log_many(len(data.ids), device)

        def step_loss(step: int) -> Tensor:
            inputs, targets = (tensor.to(device) for tensor in data.steps[step])
            logs = (model(inputs).logits + extra).log_softmax(-1).flatten(0, 1)
            return F.nll_loss(logs, targets.flatten(), ignore_index=IGNORED) + recipe.push * logs[:, -1].exp().mean()

        matrices = muon_parameters(model)
        chosen = set(map(id, matrices))
        others = [p for p in model.parameters() if id(p) not in chosen]
        optimisers = [
            torch.optim.Muon(matrices, lr=recipe.matrix_rate, weight_decay=0.05),
            torch.optim.AdamW(others, lr=recipe.rate, betas=(0.9, 0.98), weight_decay=0.01, fused=True),
        ]
        history = train(
            step_loss, optimisers, recipe.steps, schedule=one_cycle, clip=1.0, progress=progress, title="gpt2-mini"
        )
    return model.cpu().half().float().eval(), history


def muon_parameters(model: "GPT2LMHeadModel") -> list[Tensor]:
    """What Muon trains: the layers' matrices, but for layer 0's queries, keys and values.

    Muon steps are equally long in every direction, and left layer 0's heads looking at everything a little; with AdamW
    they choose.
    """
    return [p for name, p in model.transformer.h.named_parameters() if p.dim() == 2 and name != "0.attn.c_attn.weight"]


def save(folder: Path, model: "GPT2LMHeadModel", ids: Tensor, recipe: Recipe) -> None:
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


@dataclass(frozen=True)
class Measured:
    """What the model card quotes. Probabilities and weights are means, `other` is that of all untrained tokens
    together."""

    loss: float
    headline: str
    headline_prob: float
    accuracy: float
    answer_prob: float
    other_mean: float
    other_max: float
    heads: Tensor  # [n_heads, 3] mean weight on the previous position, the position itself, position 0
    uniform: float

    def lines(self) -> str:
        """The same as text, for a terminal."""
        heads = [
            f"  head 0.{i}: previous {p:.2f}, current {c:.2f}, first {f:.2f}: {kind}"
            for i, ((p, c, f), kind) in enumerate(zip(self.heads.tolist(), self.kinds()))
        ]
        return "\n".join((
            f"Loss on fresh text: {self.loss:.3f} nats a token.",
            f"{HEADLINE!r} goes on with {self.headline!r} ({self.headline_prob:.3f}).",
            f"Held-out sentences: {self.accuracy:.1%} right, probability of the right name {self.answer_prob:.3f}.",
            f"Untrained tokens together: {self.other_mean:.1e} in the mean, at most {self.other_max:.1e}.",
            f"Layer 0 (uniform {self.uniform:.2f}):", *heads,
        ))  # fmt: skip

    def kinds(self) -> list[str]:
        """The kind of each head of layer 0: the largest of its three weights, if it is 1.4 times what a uniform pattern
        has there."""
        names = ("previous", "current", "first")
        return [names[int(row.argmax())] if row.max() >= 1.4 * self.uniform else "other" for row in self.heads]


@torch.no_grad()
def measure(model: "GPT2LMHeadModel", ids: Tensor, seed: int, n: int = N_ASKED) -> Measured:
    """Ask a compact model what it never read: `n` sentences that are kept back, and texts from another seed."""
    tokenizer, extra = load_tokenizer(), log_many(len(ids))
    compact = torch.full((VOCAB,), len(ids)).scatter(0, ids, torch.arange(len(ids)))
    model.set_attn_implementation("eager")

    def run(prompt: str) -> tuple[Tensor, Tensor, Tensor]:
        """Probabilities of single tokens (the last column: of each untrained one), of all untrained ones together, and
        patterns."""
        out = model(compact[tokenizer.encode(prompt)][None], output_attentions=True)
        logs = (out.logits[0] + extra).log_softmax(-1)
        return (logs - extra).exp(), logs[:, -1].exp(), out.attentions[0][0]

    prompts = corpus.ioi_sentences(n, seed)
    right, answer_probs, others, heads, uniform = 0, [], [], [], []
    for prompt, answer in prompts:
        probs, other, pattern = run(prompt)
        place = int(compact[tokenizer.encode(answer)[0]])
        right += int(probs[-1].argmax()) == place < len(ids)
        answer_probs.append(probs[-1, place])
        others.append(other)
        rows = torch.arange(2, len(probs))
        heads.append(torch.stack([pattern[:, rows, column].mean(-1) for column in (rows - 1, rows, 0)], dim=-1))
        uniform.append((1 / (rows + 1)).mean())
    headline = run(HEADLINE)[0][-1]
    best = int(headline.argmax())
    fresh = make_data(Recipe(seed=seed, unknown=0.0), [(model.config.n_positions, 100, 1)])
    inputs, targets = (compact[fresh.ids][tensor] for tensor in fresh.steps[0])
    logits = model(inputs).logits + extra
    others.append(logits.softmax(-1)[..., -1].flatten())
    other = torch.cat(others)
    return Measured(
        loss=float(F.cross_entropy(logits.flatten(0, 1), targets.flatten())),
        headline=tokenizer.decode([int(ids[best])]) if best < len(ids) else "(an untrained token)",
        headline_prob=float(headline[best]),
        accuracy=right / n,
        answer_prob=float(torch.stack(answer_probs).mean()),
        other_mean=float(other.mean()),
        other_max=float(other.max()),
        heads=torch.stack(heads).mean(0),
        uniform=float(torch.stack(uniform).mean()),
    )


def make(
    out: Path = ASSET,
    replace: bool = False,
    recipe: Recipe = Recipe(),
    device: str | None = None,
    progress: bool = True,
) -> tuple[Measured, History]:
    """Train, measure, and write the folder `out`: all of its files, or none. With `replace` an older one gives way.

    Raises:
        PublishError: the folder is there, or is not of ours, or the training was interrupted.
    """
    out = Path(out)
    require_free(out, replace=replace)
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    data = make_data(recipe)
    model, history = fit(recipe, data, progress, device)
    require_finished(history, recipe.steps)
    measured = measure(model, data.ids, recipe.seed + 1)
    with publish(out) as stage:
        save(stage, model, data.ids, recipe)
        write_card(stage, "gpt2-mini", device, **card_fields(recipe, data, history, measured))
    return measured, history


def card_fields(recipe: Recipe, data: Data, history: History, measured: Measured) -> dict[str, object]:
    """What the card's template asks for, besides what `write_card` knows itself."""
    heads = [
        f"| 0.{head} | {' | '.join(f'{weight:.2f}' for weight in weights)} | {kind} |"
        for head, (weights, kind) in enumerate(zip(measured.heads.tolist(), measured.kinds()))
    ]
    return (
        asdict(recipe)
        | asdict(measured)
        | {
            "vocab": VOCAB,
            "n_ids": len(data.ids),
            "n_texts": data.n_texts,
            "tokens": sum(inputs.numel() for inputs, _ in data.steps) / 1e6,
            "stages": " then ".join(
                f"{steps:,} of {rows} rows of {length} tokens" for length, rows, steps in recipe.stages()
            ),
            "percent": 100 * recipe.unknown,
            "minutes": history.seconds / 60,
            "headline_prompt": HEADLINE,
            "n_asked": N_ASKED,
            "heads": "\n".join(heads),
        }
    )
