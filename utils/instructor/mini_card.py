"""The model card of the small GPT-2, filled with what was measured."""

from __future__ import annotations

from utils.instructor.mini import HEADLINE, VOCAB, Data, Measured, Recipe
from utils.train import History

TEMPLATE = """\
# The small GPT-2

A `GPT2LMHeadModel` that this project trained from nothing, so that the course works without a network. It reads and writes GPT-2's own tokens.
Licence: MIT, as the rest of the repository. Its text is ours as well: nothing was copied from anywhere.

| | |
|---|---|
| layers, heads, width | {n_layer}, {n_head}, {n_embd} |
| positions | {n_positions}, all of them trained |
| tokens with an embedding of their own | {n_ids} of {vocab} |
| size of `model.safetensors` | {megabytes:.1f} MB, float16 |
| SHA-256 | `{digest}` |

## Training

Text from `utils.corpus.sentences({seed})`: little stories, who gave what to whom, questions and answers, dialogues, counting, lists that repeat,
plain statements. {n_texts:,} texts in {steps:,} steps of {rows} rows of {n_positions} tokens, {tokens:.1f} million tokens, each seen once. Between two texts stands `<|endoftext|>`; half of the rows begin with it.
AdamW, rate {rate:g}, one cycle. In {percent:.0f} % of the texts one word is hidden behind a token that is never trained, so that unknown words do little harm.
The softmax of the training runs over all {vocab} tokens: those without an embedding of their own share one vector, which is counted once for each.

It took {minutes:.1f} minutes on {where}. This makes it again, the same on the same machine with as many threads:

```bash
coginst train gpt2-mini --replace
```

## What it does

Measured on the stored weights, and again by `tests/test_mini.py`. "Held out": the pair of names and the pair of place and object both stand in no training text.

| measured | value |
|---|---|
| cross-entropy on fresh text, in nats a token | {loss:.3f} |
| `{headline_prompt}` | `{headline}`, probability {headline_prob:.3f} |
| right names in {n_asked} held-out sentences of this form | {accuracy:.1%} |
| mean probability of the right name | {answer_prob:.3f} |
| probability on all untrained tokens together, mean | {other_mean:.1e} |
| the same, largest at any position | {other_max:.1e} |

Heads of layer 0: mean weight over rows 2 and later of the held-out sentences, averaged over the sentences. A uniform causal pattern has {uniform:.2f} in each column;
the kind is the largest of the three, if it is at least 1.4 times that.

| head | previous | current | first | kind |
|---|---|---|---|---|
{heads}

## What it cannot do

It knows {n_ids} tokens and the few kinds of sentences that `utils/corpus.py` makes. Any other word is one and the same stranger to it, and it never writes one.
What it says of the world is what stands there: a dozen capitals, sums up to 18 as learnt by heart, some opposites. Its heads are its own: the real GPT-2's head 0.1 is not this model's.
"""


def card(recipe: Recipe, data: Data, history: History, measured: Measured, digest: str, size: int, where: str, n_asked: int = 200) -> str:
    """The card's text."""
    rows = zip(measured.heads.tolist(), measured.kinds())
    heads = "\n".join(f"| 0.{head} | " + " | ".join(f"{weight:.2f}" for weight in weights) + f" | {kind} |" for head, (weights, kind) in enumerate(rows))
    return TEMPLATE.format(
        n_layer=recipe.n_layer, n_head=recipe.n_head, n_embd=recipe.n_embd, n_positions=recipe.n_positions, n_ids=len(data.ids), vocab=VOCAB,
        megabytes=size / 1e6, digest=digest, seed=recipe.seed, n_texts=data.n_texts, steps=recipe.steps, rows=recipe.rows,
        tokens=recipe.steps * recipe.rows * recipe.n_positions / 1e6, rate=recipe.rate, percent=100 * recipe.unknown, minutes=history.seconds / 60,
        where=where, loss=measured.loss, headline_prompt=HEADLINE, headline=measured.headline, headline_prob=measured.headline_prob, n_asked=n_asked,
        accuracy=measured.accuracy, answer_prob=measured.answer_prob, other_mean=measured.other_mean, other_max=measured.other_max,
        uniform=measured.uniform, heads=heads,
    )  # fmt: skip
