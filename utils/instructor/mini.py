"""The bundled small GPT-2: trained from nothing on `utils.corpus`, measured, and written with its model card.

It is an honest model of GPT-2's 50257 tokens. Only the tokens that its text holds get an embedding of their own; the others
share one vector, and the softmax of the training counts that vector once for each of them: a last logit, plus log(how many).
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import random
import tempfile
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from utils import corpus
from utils.lessons import ROOT
from utils.train import History, one_cycle, train

if TYPE_CHECKING:
    from transformers import GPT2LMHeadModel, GPT2TokenizerFast

ASSET = ROOT / "utils" / "assets" / "gpt2-mini"
FILES = ("config.json", "model.safetensors", "README.md")
HEADLINE = "When Mary and John went to the store, John gave a drink to"
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


def load_tokenizer() -> "GPT2TokenizerFast":
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
            if len(rows) == n_rows:
                break
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
    tokens, mask = torch.tensor(rows), torch.tensor(hidden)
    ids = tokens.unique()
    compact = torch.searchsorted(ids, tokens)
    seen = compact.masked_fill(mask, len(ids))
    asked = compact.masked_fill(mask, IGNORED)
    return Data(ids, seen[:, :-1].contiguous(), asked[:, 1:].contiguous(), n_texts)


def new_model(recipe: Recipe, n_ids: int):
    """A `GPT2LMHeadModel` over the compact ids. Positions start as waves, which makes "one place back" a rotation to be found."""
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


def fit(recipe: Recipe, data: Data, progress: bool = True, device: str = "cpu") -> tuple["GPT2LMHeadModel", History]:
    """Train. Returns the model, on the CPU and rounded to the float16 that is stored, and the history."""
    with _deterministic(device):
        model = new_model(recipe, len(data.ids)).to(device).train()
        if device != "cpu":
            model.set_attn_implementation("eager")  # its gradient adds up in one order
        extra = log_many(len(data.ids), device)
        inputs, targets = data.inputs.to(device), data.targets.to(device)

        def step_loss(step: int) -> Tensor:
            rows = slice(step * recipe.rows, (step + 1) * recipe.rows)
            logits = model(inputs[rows]).logits + extra
            return F.cross_entropy(logits.flatten(0, 1), targets[rows].flatten(), ignore_index=IGNORED)

        decayed = [{"params": [p for p in model.parameters() if (p.dim() > 1) == matrix], "weight_decay": 0.05 * matrix} for matrix in (True, False)]
        optimiser = torch.optim.AdamW(decayed, lr=recipe.rate, betas=(0.9, 0.98), fused=True)
        history = train(step_loss, optimiser, recipe.steps, schedule=one_cycle, clip=1.0, progress=progress, title="gpt2-mini")
    return model.cpu().half().float().eval(), history


@contextlib.contextmanager
def _deterministic(device: str) -> Iterator[None]:
    """The same numbers again on the same machine; nothing that the caller draws changes."""
    before = torch.are_deterministic_algorithms_enabled()
    if device != "cpu":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    try:
        with torch.random.fork_rng(devices=[] if device == "cpu" else None):
            yield
    finally:
        torch.use_deterministic_algorithms(before)


def save(folder: Path, model: "GPT2LMHeadModel", ids: Tensor, recipe: Recipe) -> None:
    """Write `config.json` and `model.safetensors`: float16, and of `wte` the trained rows and the one that all others share."""
    from safetensors.torch import save_file

    tensors = {name: tensor.half() for name, tensor in model.state_dict().items() if name not in ("lm_head.weight", "transformer.wte.weight")}
    wte = model.transformer.wte.weight.detach().half()
    tensors |= {"wte.rows": wte[:-1].clone(), "wte.other": wte[-1].clone(), "wte.ids": ids.int()}
    save_file({name: tensors[name].contiguous() for name in sorted(tensors)}, folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(_config(recipe, VOCAB).to_json_string() + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Measured:
    """What the model card quotes. Probabilities and weights are means, `other` is that of all untrained tokens together."""

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
        heads = [f"  head 0.{i}: previous {p:.2f}, current {c:.2f}, first {f:.2f}: {kind}" for i, ((p, c, f), kind) in enumerate(zip(self.heads.tolist(), self.kinds()))]
        return "\n".join((
            f"Loss on fresh text: {self.loss:.3f} nats a token.",
            f"{HEADLINE!r} goes on with {self.headline!r} ({self.headline_prob:.3f}).",
            f"Held-out sentences: {self.accuracy:.1%} right, probability of the right name {self.answer_prob:.3f}.",
            f"Untrained tokens together: {self.other_mean:.1e} in the mean, at most {self.other_max:.1e}.",
            f"Layer 0 (uniform {self.uniform:.2f}):", *heads,
        ))  # fmt: skip

    def kinds(self) -> list[str]:
        """The kind of each head of layer 0: the largest of its three weights, if it is 1.4 times what a uniform pattern has there."""
        names = ("previous", "current", "first")
        return [names[int(row.argmax())] if row.max() >= 1.4 * self.uniform else "other" for row in self.heads]


@torch.no_grad()
def measure(model: "GPT2LMHeadModel", ids: Tensor, seed: int, n: int = 200) -> Measured:
    """Ask a compact model what it never read: `n` sentences that are kept back, and texts from another seed."""
    tokenizer, extra = load_tokenizer(), log_many(len(ids))
    compact = torch.full((VOCAB,), len(ids)).scatter(0, ids, torch.arange(len(ids)))
    model.set_attn_implementation("eager")

    def run(prompt: str) -> tuple[Tensor, Tensor, Tensor]:
        """Probabilities of single tokens (the last column: of each untrained one), of all untrained ones together, and patterns."""
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
    fresh = make_data(Recipe(seed=seed, unknown=0.0, n_positions=model.config.n_positions), 100)
    known = compact[fresh.ids]
    logits = model(known[fresh.inputs]).logits + extra
    others.append(logits.softmax(-1)[..., -1].flatten())
    other = torch.cat(others)
    return Measured(
        loss=float(F.cross_entropy(logits.flatten(0, 1), known[fresh.targets].flatten())),
        headline=tokenizer.decode([int(ids[best])]) if best < len(ids) else "(an untrained token)",
        headline_prob=float(headline[best]),
        accuracy=right / n,
        answer_prob=float(torch.stack(answer_probs).mean()),
        other_mean=float(other.mean()),
        other_max=float(other.max()),
        heads=torch.stack(heads).mean(0),
        uniform=float(torch.stack(uniform).mean()),
    )


def make(out: Path = ASSET, replace: bool = False, recipe: Recipe = Recipe(), device: str | None = None, progress: bool = True) -> tuple[Measured, History]:
    """Train, measure, and write the folder `out`: all of its files, or none. With `replace` an older one gives way.

    Raises:
        MiniError: the folder is there, or is not of ours, or the training was interrupted.
    """
    from utils.instructor.mini_card import card

    out = Path(out)
    strange = sorted(path.name for path in out.iterdir() if path.name not in FILES) if out.is_dir() else []
    if strange or out.is_file():
        raise MiniError(f"{out} holds {', '.join(strange) or 'no folder'}, which this command did not make. Name another folder with --out.")
    if out.exists() and not replace:
        raise MiniError(f"{out} is there already. Give --replace to train it anew, or another folder with --out.")
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    data = make_data(recipe, recipe.rows * recipe.steps)
    model, history = fit(recipe, data, progress, device)
    if history.interrupted:
        raise MiniError(f"Interrupted after {history.done} of {recipe.steps} steps; nothing was written.")
    measured = measure(model, data.ids, recipe.seed + 1)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".gpt2-mini-") as scratch:
        stage, old = Path(scratch) / "new", Path(scratch) / "old"
        stage.mkdir()
        save(stage, model, data.ids, recipe)
        digest = hashlib.sha256((stage / "model.safetensors").read_bytes()).hexdigest()
        size = (stage / "model.safetensors").stat().st_size
        text = card(recipe, data, history, measured, digest, size, f"{device}, {torch.get_num_threads()} thread(s)" if device == "cpu" else device)
        (stage / "README.md").write_text(text, encoding="utf-8")
        for name in FILES:
            (stage / name).chmod(0o644)
        if out.exists():
            os.replace(out, old)
        try:
            os.replace(stage, out)
        except BaseException:
            if old.exists():
                os.replace(old, out)
            raise
    return measured, history
