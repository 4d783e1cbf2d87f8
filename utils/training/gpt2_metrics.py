"""Measure the small GPT-2 on unseen text, for its model card."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor

from utils.gpt2 import load_tokenizer
from utils.training import corpus
from utils.training.gpt2_rows import compact_indices, make_training_rows, random_token_lists, untrained_logit_offset

if TYPE_CHECKING:
    from jaxtyping import Float, Int
    from transformers.models.gpt2 import GPT2LMHeadModel

HEADLINE = "When Mary and John went to the store, John gave a drink to"
N_ASKED = 200  # number of held-out sentences in one measurement
N_LISTS, LIST_LENGTHS = 100, (10, 30)


@dataclass(frozen=True)
class GPT2Metrics:
    """The numbers in the model card.

    Probabilities and weights are means. `other` is the total probability of all untrained tokens.
    """

    loss: float
    headline: str
    headline_prob: float
    accuracy: float
    answer_prob: float
    other_mean: float
    other_max: float
    heads: Float[Tensor, "n_heads 3"]  # mean weight on the previous position, the query's own, and position 0
    uniform: float
    repeated: float  # share of correct tokens in the second half of repeated random lists
    # In these lists, the mean weight on the token that follows the earlier copy of the query's token.
    induction: Float[Tensor, "n_layers n_heads"]
    previous: Float[Tensor, "n_layers n_heads"]  # in the same lists, mean weight on the previous position

    def summary_text(self) -> str:
        """Format the metrics for a terminal."""
        heads = [
            f"  head 0.{i}: previous {p:.2f}, current {c:.2f}, first {f:.2f}: {kind}"
            for i, ((p, c, f), kind) in enumerate(zip(self.heads.tolist(), self.head_kinds()))
        ]
        layers = [
            f"  layer {layer}: previous {p:.2f} (head {layer}.{i}), induction {s:.2f} (head {layer}.{j})"
            for layer, (i, p, j, s) in enumerate(self.best_heads())
        ]
        return "\n".join((
            f"Loss on unseen text: {self.loss:.3f} nats per token.",
            f"{HEADLINE!r} continues with {self.headline!r} (probability {self.headline_prob:.3f}).",
            f"Held-out sentences: {self.accuracy:.1%} right, probability of the right name {self.answer_prob:.3f}.",
            f"Total probability of untrained tokens: mean {self.other_mean:.1e}, maximum {self.other_max:.1e}.",
            f"Layer 0 (uniform {self.uniform:.2f}):", *heads,
            f"Repeated random lists: {self.repeated:.1%} right. The best heads:", *layers,
        ))  # fmt: skip

    def head_kinds(self) -> list[str]:
        """Return the kind of each head in layer 0.

        The kind is the position with the largest mean weight: "previous", "current" or "first". If this weight is below
        1.4 times the uniform weight, the kind is "other".
        """
        names = ("previous", "current", "first")
        return [names[int(row.argmax())] if row.max() >= 1.4 * self.uniform else "other" for row in self.heads]

    def best_heads(self) -> list[tuple[int, float, int, float]]:
        """Return two heads for each layer, with their values.

        The first head has the largest weight on the previous position. The second head has the highest induction score.
        """
        (previous, i), (induction, j) = self.previous.max(-1), self.induction.max(-1)
        return list(zip(i.tolist(), previous.tolist(), j.tolist(), induction.tolist()))


@torch.no_grad()
def measure_gpt2(model: GPT2LMHeadModel, ids: Int[Tensor, "n_ids"], seed: int, n: int = N_ASKED) -> GPT2Metrics:
    """Measure a compact model on unseen input: `n` held-out sentences, plus texts and lists from a different seed."""
    tokenizer, extra, compact = load_tokenizer(), untrained_logit_offset(len(ids)), compact_indices(ids)
    model.set_attn_implementation("eager")

    def run(prompt: str) -> tuple[Tensor, Tensor, Tensor]:
        """Run the model on a prompt.

        Returns:
            The probabilities of single tokens (the last column is the probability of each untrained token), the total
            probability of all untrained tokens, and the attention patterns in layer 0.
        """
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
    fresh = make_training_rows([(model.config.n_positions, 100, 1)], seed)
    inputs, targets = (compact[fresh.ids][tensor] for tensor in fresh.batches[0])
    logits = model(inputs).logits + extra
    others.append(logits.softmax(-1)[..., -1].flatten())
    other = torch.cat(others)
    repeated, induction, previous = _measure_lists(model, ids, seed)
    return GPT2Metrics(
        loss=float(F.cross_entropy(logits.flatten(0, 1), targets.flatten())),
        headline=str(tokenizer.decode([int(ids[best])])) if best < len(ids) else "(an untrained token)",
        headline_prob=float(headline[best]),
        accuracy=right / n,
        answer_prob=float(torch.stack(answer_probs).mean()),
        other_mean=float(other.mean()),
        other_max=float(other.max()),
        heads=torch.stack(heads).mean(0),
        uniform=float(torch.stack(uniform).mean()),
        repeated=repeated,
        induction=induction,
        previous=previous,
    )


def _measure_lists(model: GPT2LMHeadModel, ids: Tensor, seed: int) -> tuple[float, Tensor, Tensor]:
    """Measure the fields `repeated`, `induction` and `previous` of `GPT2Metrics`."""
    extra, compact = untrained_logit_offset(len(ids)), compact_indices(ids)
    right, induction, previous = [], [], []
    longest = min(LIST_LENGTHS[1], model.config.n_positions // 2)
    for tokens in islice(random_token_lists(ids, seed, min(LIST_LENGTHS[0], longest), longest), N_LISTS):
        n, row = len(tokens), compact[tokens].repeat(2)
        out = model(row[None], output_attentions=True)
        patterns = torch.cat(out.attentions).detach()  # [layer, head, query, key]
        again, later = torch.arange(n, 2 * n), torch.arange(1, 2 * n)
        right.append((out.logits[0] + extra)[n:-1].argmax(-1) == row[n + 1 :])
        induction.append(patterns[:, :, again, again - n + 1].mean(-1))
        previous.append(patterns[:, :, later, later - 1].mean(-1))
    return float(torch.cat(right).float().mean()), torch.stack(induction).mean(0), torch.stack(previous).mean(0)
