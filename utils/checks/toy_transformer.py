"""Exercises of lesson 08: the toy transformer, and the loop that lets it write."""

from dataclasses import replace

import torch
from torch import nn
from torch.nn import functional as F

from utils.feedback import Float, case, exercise, moves_with_its_module
from utils.toy import STOP

_BASE, _EPS = 100.0, 1e-6


def _parameters(vocab_size, embed_dim, num_layers):
    """Every parameter of a CogModel by name, in the order in which the lesson names its parts."""
    made = {"embed.weight": nn.Embedding(vocab_size, embed_dim).weight}
    for i in range(num_layers):
        for n in "qkv":
            layer = nn.Linear(embed_dim, embed_dim)
            made |= {f"layers.{i}.self_attn.{n}_layer.{key}": p for key, p in layer.named_parameters()}
        made |= {f"layers.{i}.norm1.w": torch.ones(embed_dim), f"layers.{i}.norm1.b": torch.zeros(embed_dim)}
    made |= {"norm.w": torch.ones(embed_dim), "norm.b": torch.zeros(embed_dim)}
    made |= {f"decoder.{key}": p for key, p in nn.Linear(embed_dim, vocab_size).named_parameters()}
    return {name: value.detach() for name, value in made.items()}


def _waves(seq, d):
    """Sines and cosines as the parts of unit numbers that turn: 100 to the power of -2i/d a step."""
    speed = _BASE ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    turned = torch.polar(torch.ones(seq, d // 2, dtype=torch.float64), torch.arange(seq)[:, None] * speed)
    return torch.stack((turned.imag, turned.real), dim=-1).flatten(1).float()


def _norm(p, name, x):
    return F.layer_norm(x, x.shape[-1:], p[f"{name}.w"], p[f"{name}.b"], eps=_EPS)


def _attend(p, name, x, mask):
    q, k, v = (F.linear(x, p[f"{name}.{n}_layer.weight"], p[f"{name}.{n}_layer.bias"]) for n in "qkv")
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return out if mask is None else out.masked_fill(~mask.any(-1, keepdim=True), torch.nan)  # torch's own gives 0 where nothing may be seen


def _layers(p):
    return range(len({name.split(".")[1] for name in p if name.startswith("layers.")}))


def _model(
    place=lambda x: x + _waves(*x.shape[-2:]), mask=lambda n: torch.ones(n, n).tril().bool(), which=_layers,
    layer=lambda x, name, p, mask: x + _norm(p, f"{name}.norm1", _attend(p, f"{name}.self_attn", x, mask)),
    last=lambda x, p: _norm(p, "norm", x), out=lambda x, p: F.linear(x, p["decoder.weight"], p["decoder.bias"]), start=lambda src, p: F.embedding(src, p["embed.weight"]),
):
    """A forward pass with one step replaced."""
    def answer(p, src):
        x = place(start(src, p))
        for i in which(p):
            x = layer(x, f"layers.{i}", p, mask(src.shape[-1]))
        return out(last(x, p), p)
    return answer


def _batch_axis(x):
    """The waves of the batch's index for every position, as when a sequence-first encoder is fed batches."""
    return x + _waves(x.shape[0], x.shape[-1])[:, None]


def _shared_layer(p):
    return [0] * len(_layers(p))


def _future_changes_nothing(probe):
    """Another last token leaves the logits of the positions before it as they were."""
    for trial in probe.trials:
        src = trial.case.args[0]
        moved = src.clone()
        moved[:, -1] = (moved[:, -1] + 1) % trial.case.init[0]
        after = probe.run(replace(trial.case, args=(moved,)))
        if not after.failure and not torch.allclose(trial.yours.value[:, :-1], after.value[:, :-1], atol=1e-5):
            when = " In training it would be read off instead of found out." if trial.case.train else ""
            return f"The future changes the past: with another last token, earlier positions gave other logits. When the model writes, that token does not exist yet.{when}"
    return None


exercise(
    "CogModel",
    initial=_parameters,
    oracle=_model(),
    cases=lambda rand: [
        case(rand.integers(2, 5, high=9), init=(9, 6, 2)), case(rand.integers(3, 7, high=5), init=(5, 8, 3), seed=1),
        case(rand.integers(4, 2, high=7), init=(7, 4, 1), seed=2), case(rand.integers(3, 5, high=8), init=(8, 6, 2), seed=3, train=True, note="in training"),
    ],
    returns=Float("batch seq vocab_size"),
    properties=[_future_changes_nothing, moves_with_its_module],
    misconceptions={
        "no-mask": (
            _model(mask=lambda n: None),
            "No mask reaches the layers, so every position sees the whole text. In training it would read the next letter instead of finding it out, "
            "and in writing there is no next letter to read.",
        ),
        "mirror-image": (
            _model(mask=lambda n: torch.ones(n, n).triu().bool()),
            "The mask is the mirror image: a position sees itself and the future. True stands where a position may attend, and that is to its left.",
        ),
        "true-hides": (
            _model(mask=lambda n: torch.ones(n, n).triu(1).bool()),
            "In this mask True stands on what is to be hidden. Here True means may attend: as it is, a position sees the future alone, and the last one sees nothing, "
            "which is why it comes out as nan.",
        ),
        "blind-to-itself": (
            _model(mask=lambda n: torch.ones(n, n).tril(-1).bool()),
            "The mask hides each position from itself, so the first one sees nothing, and a softmax over nothing is nan. The diagonal belongs to what may be seen.",
        ),
        "stream-added-twice": (
            _model(layer=lambda x, name, p, mask: 2 * x + _norm(p, f"{name}.norm1", _attend(p, f"{name}.self_attn", x, mask))),
            "The stream is added once more around each layer. A SelfAttentionLayer already returns src plus what it found; what it returns is what the next one reads.",
        ),
        "no-positions": (
            _model(place=lambda x: x),
            "The positions never enter. Attention does not care for order: to this model the letters before a position are a bag, "
            "and \"abc echo\" is \"cba echo\".",
        ),
        "positions-of-the-batch": (
            _model(place=_batch_axis),
            "Every position of a text gets one and the same vector, that of the text's index in the batch. "
            "The encoder's first axis must meet seq, not batch.",
        ),
        "positions-last": (
            _model(place=lambda x: x, last=lambda x, p: _norm(p, "norm", x + _waves(*x.shape[-2:]))),
            "The positions are added after the layers, when attention is over. They must be in the stream before the first layer asks who stands where.",
        ),
        "positions-in-every-layer": (
            _model(layer=lambda x, name, p, mask: (lambda y: y + _norm(p, f"{name}.norm1", _attend(p, f"{name}.self_attn", y, mask)))(
                x if name == "layers.0" else x + _waves(*x.shape[-2:]))),
            "The positions are added again before every layer. Once is enough: the stream keeps what was added to it.",
        ),
        "one-layer-for-all": (
            _model(which=_shared_layer),
            "The same layer runs every time. A list made by multiplying one layer repeats that one object; each place needs a layer of its own.",
        ),
        "only-the-first-layer": (
            _model(which=lambda p: [0]),
            "Only the first layer runs, or each one is fed the embeddings anew. What a layer returns is what the next one reads.",
        ),
        "no-final-norm": (
            _model(last=lambda x, p: x),
            "The final norm is made and not used. Each layer has added to the stream; the norm brings it back to one size before the decoder reads it.",
        ),
        "probabilities": (
            lambda p, src: _model()(p, src).softmax(-1),
            "These are probabilities: a softmax has run already. The model gives logits, because the loss takes a softmax itself.",
        ),
        "no-decoder": (
            _model(out=lambda x, p: x),
            "These are vectors of embed_dim numbers. The decoder turns each into a score for every token of the vocabulary.",
        ),
        "last-position-only": (
            lambda p, src: _model()(p, src)[:, -1],
            "Only the last position is returned. In training every position is asked for its next token, so all of them are needed.",
        ),
    },
    hints=(
        "Five parts, used in the order in which they are named: embed, pos_encoder, layers, norm, decoder.",
        "The layers are as many SelfAttentionLayer in an nn.ModuleList. Each takes the stream and the mask, which is made for the length of src.",
        "In forward, embed, then pos_encoder, then the layers in a loop, each called with what the one before returned and the mask; at the end norm, then decoder. "
        "The mask is a seq × seq lower triangle of True, on src's device.",
    ),
)


class _Speller:
    """A tokenizer of lower-case letters: a is 1, b is 2; 0 is nothing."""

    def encode(self, text, return_tensors=None):
        ids = ["_abcdefgh".index(c) for c in text]
        return torch.tensor([ids]) if return_tensors == "pt" else ids

    def decode(self, ids):
        ids = ids.tolist() if isinstance(ids, torch.Tensor) else ids
        return "".join("_abcdefgh"[i] for i in ([ids] if isinstance(ids, int) else ids))

    def batch_decode(self, rows):
        return [self.decode(row) for row in rows]


class _Rambler(nn.Module):
    """Goes on in a way that depends on the whole text, and says STOP when the text has a given length, or never. Stops a loop that does not end."""

    def __init__(self, table, stop=None):
        super().__init__()
        self.table, self.stop, self.asked = table, stop, 0

    def forward(self, src):
        self.asked += 1
        if src.shape[1] > 80 or self.asked > 3000:  # every answer to a check together asks less than 1000 times
            raise RuntimeError("the model is asked without end. It never says stop here; after max_len rounds, 28 unless told otherwise, the loop ends all the same.")
        if src.numel() and int(src.max()) > 8:
            raise ValueError(f"the text holds the id {int(src.max())}, and this model has the tokens 0 to 8. The best of one position's logits is a token; the best of all positions' is a place in a table.")
        seen = F.one_hot(src, 9).float() * torch.arange(1, src.shape[1] + 1)[None, :, None]
        logits = (seen.cumsum(1) @ self.table).sin() * 5
        logits[..., STOP] = -20.0
        if self.stop is not None and src.shape[1] >= self.stop:
            logits[:, self.stop - 1 :, STOP] = 20.0
        return logits


def _write(model, tokenizer, prompt, max_len=28, where=lambda logits: logits[0, -1], pick=lambda row: int(row.argmax()), stops=True, keep_stop=False,
           feed=lambda ids: ids, rounds=lambda max_len, n: max_len, show=lambda ids, n: ids):
    ids = tokenizer.encode(prompt)
    n = len(ids)
    for _ in range(rounds(max_len, n)):
        new = pick(where(model(torch.tensor([feed(ids)]))))
        if stops and new == STOP:
            ids = ids + [new] * keep_stop
            break
        ids = ids + [new]
    return tokenizer.decode(show(ids, n))


def _by_tensors(model, tokenizer, prompt, max_len=28):
    ids = tokenizer.encode(prompt, return_tensors="pt")
    left = max_len
    while left and int(new := model(ids)[:, -1].topk(1).indices) != STOP:
        ids, left = torch.cat((ids, new), dim=1), left - 1
    return tokenizer.decode(ids[0])


def _prompt_then_new(probe):
    """The prompt, then as many characters as the model writes before it stops or has to."""
    for trial in probe.trials:
        yours, wanted, prompt = trial.yours.value, trial.expected.value, trial.case.args[2]
        if not isinstance(yours, str) or yours == wanted:
            continue
        if not yours.startswith(prompt):
            return f"The prompt was {prompt!r} and your text is {yours!r} ({trial.case.note}). The text begins with the prompt, as it was given."
        if len(yours) != len(wanted):
            return (
                f"After {prompt!r} yours goes on for {len(yours) - len(prompt)} characters, and {len(wanted) - len(prompt)} are expected ({trial.case.note}). "
                "It stops when the model says token 0, which is not written, or after max_len rounds, 28 unless told otherwise."
            )
    return None


exercise(
    "generate_text",
    oracle=_by_tensors,
    cases=lambda rand: [
        case(_Rambler(rand(9, 9), stop=7), _Speller(), "abc", note="with a model that stops when the text has 7 letters"),
        case(_Rambler(rand(9, 9)), _Speller(), "cabh", max_len=6, note="with a model that never stops"),
        case(_Rambler(rand(9, 9), stop=3), _Speller(), "fga", note="with a model that stops at once"),
        case(_Rambler(rand(9, 9), stop=12), _Speller(), "ed", max_len=5, note="with a model that would stop later"),
        case(_Rambler(rand(9, 9)), _Speller(), "be", note="with a model that never stops"),
    ],
    differentiable=False,
    properties=[_prompt_then_new],
    misconceptions={
        "never-stops": (
            lambda model, tokenizer, prompt, max_len=28: _write(model, tokenizer, prompt, max_len, stops=False),
            "Token 0 means stop, and yours writes on. After it the model was never trained to say anything, so what follows is noise.",
        ),
        "keeps-the-stop": (
            lambda model, tokenizer, prompt, max_len=28: _write(model, tokenizer, prompt, max_len, keep_stop=True),
            "The stop token itself stands in the text. It is a sign to leave the loop; leave before it is appended.",
        ),
        "answer-only": (
            lambda model, tokenizer, prompt, max_len=28: _write(model, tokenizer, prompt, max_len, show=lambda ids, n: ids[n:]),
            "Only what the model added is returned. The text begins with the prompt.",
        ),
        "first-position": (
            lambda model, tokenizer, prompt, max_len=28: _write(model, tokenizer, prompt, max_len, where=lambda logits: logits[0, 0]),
            "You read the logits of position 0: what follows the first letter. What follows the text stands at the last position.",
        ),
        "least-likely": (
            lambda model, tokenizer, prompt, max_len=28: _write(model, tokenizer, prompt, max_len, pick=lambda row: int(row.argmin())),
            "You take the token with the lowest logit. The most likely one has the highest.",
        ),
        "forgets-the-text": (
            lambda model, tokenizer, prompt, max_len=28: _write(model, tokenizer, prompt, max_len, feed=lambda ids: ids[-1:]),
            "Only the newest token goes into the model. It remembers nothing between two rounds: the whole text has to go in each time.",
        ),
        "never-feeds-back": (
            lambda model, tokenizer, prompt, max_len=28: _write(model, tokenizer, prompt, max_len, feed=lambda ids: tokenizer.encode(prompt)),
            "The model is asked about the bare prompt each time, so it says the same token again and again. What it said must be part of what it reads.",
        ),
        "max-len-of-the-whole": (
            lambda model, tokenizer, prompt, max_len=28: _write(model, tokenizer, prompt, max_len, rounds=lambda m, n: max(0, m - n)),
            "max_len counts the prompt too, so a longer prompt gets a shorter answer. It is the largest number of *new* tokens.",
        ),
        "one-token": (
            lambda model, tokenizer, prompt, max_len=28: _write(model, tokenizer, prompt, max_len, rounds=lambda m, n: 1),
            "One token was added. Go round the loop until the model stops, or max_len tokens are new.",
        ),
        "one-too-many": (
            lambda model, tokenizer, prompt, max_len=28: _write(model, tokenizer, prompt, max_len, rounds=lambda m, n: m + 1),
            "There is one token more than max_len where the model does not stop by itself. Count the rounds: each adds one token.",
        ),
    },
    hints=(
        "It is the loop of lesson 01, with a way out: text in, logits at the last position, the best token, append, again.",
        "encode gives the ids, with return_tensors=\"pt\" as a batch of one. Look at the best token before you append it: if it is 0, leave the loop.",
        "In each of max_len rounds: the logits of the last position, their argmax; leave the loop if it is 0, else torch.cat it to the ids along dim 1. "
        "After the loop, decode the first row.",
    ),
)
