"""Exercises of lesson 08: the toy transformer, and the loop that lets it write."""

from dataclasses import replace

import torch
from torch.nn import functional as F

from utils.checks._attention import causal_mask, future_mask, project, strict_mask, torch_attention, waves
from utils.feedback.exercise import Float, Hints, Wrong, case, exercise
from utils.feedback.properties import moves_with_its_module
from utils.models.toy_transformer import STOP
from utils.stand_ins.toy_transformer import Rambler, Speller

_EPS = 1e-6


def _model_parameters(vocab_size, embed_dim, num_layers):
    """Every parameter of a CogModel by name, in the order in which the lesson names its parts. Each case fills them."""
    square, row = (embed_dim, embed_dim), (embed_dim,)
    sizes = {"embed.weight": (vocab_size, embed_dim)}
    for i in range(num_layers):
        sizes |= {f"{name}.{key}": size for name in _attention(f"layers.{i}") for key, size in _linear(*square)}
        sizes |= {f"layers.{i}.norm1.{key}": row for key in "wb"}
    sizes |= {f"norm.{key}": row for key in "wb"}
    sizes |= {f"decoder.{key}": size for key, size in _linear(vocab_size, embed_dim)}
    return {name: torch.zeros(size) for name, size in sizes.items()}


def _linear(wide, narrow):
    """The parameters of a linear layer from `narrow` to `wide` numbers, and their sizes."""
    return ("weight", (wide, narrow)), ("bias", (wide,))


def _attention(layer):
    return tuple(f"{layer}.self_attn.{n}_layer" for n in "qkv")


def _placed(x):
    return x + waves(torch.arange(x.shape[-2]), x.shape[-1])


def _attend(p, layer, x, mask):
    out = torch_attention(*project(p, x, _attention(layer)), mask)
    # torch's own gives 0 where nothing may be seen
    return out if mask is None else out.masked_fill(~mask.any(-1, keepdim=True), torch.nan)


def _norm(p, name, x):
    return F.layer_norm(x, x.shape[-1:], p[f"{name}.w"], p[f"{name}.b"], eps=_EPS)


def _layers(p):
    return range(len({name.split(".")[1] for name in p if name.startswith("layers.")}))


def _logits(x, p):
    return F.linear(x, p["decoder.weight"], p["decoder.bias"])


def _layer(p, name, x, mask):
    return x + _norm(p, f"{name}.norm1", _attend(p, name, x, mask))


def _model(
    place=_placed,
    mask=causal_mask,
    which=_layers,
    layer=_layer,
    reads=lambda stream, start: stream,
    last=lambda x, p: _norm(p, "norm", x),
    out=_logits,
):
    """A forward pass with one step replaced."""

    def answer(p, src):
        x = start = place(F.embedding(src, p["embed.weight"]))
        for i in which(p):
            x = layer(p, f"layers.{i}", reads(x, start), mask(src.shape[-1]))
        return out(last(x, p), p)

    return answer


def _future_changes_nothing(probe):
    """Another last token leaves the logits of the positions before it as they were. Right ones it does leave so."""
    for trial in [] if probe.values_right else probe.trials:
        src = trial.case.args[0]
        moved = src.clone()
        moved[:, -1] = (moved[:, -1] + 1) % trial.case.init[0]
        after = probe.run(replace(trial.case, args=(moved,)))
        if not after.failure and not torch.allclose(trial.yours.value[:, :-1], after.value[:, :-1], atol=1e-5):
            when = " In training it would be read off instead of found out." if trial.case.train else ""
            return (
                "The future changes the past: with another last token, earlier positions gave other logits. When the"
                f" model writes, that token does not exist yet.{when}"
            )
    return None


def _draws_nothing(probe):
    """A forward pass takes no random numbers, in training neither."""
    if probe.values_right or not any(trial.yours.drew for trial in probe.trials):
        return None
    return "Random numbers are drawn in forward: is there a dropout? None of the five parts is one."


exercise(
    "CogModel",
    initial=_model_parameters,
    oracle=_model(),
    cases=lambda rand: [
        case(rand.integers(1, 3, high=7), init=(7, 4, 1)),
        case(rand.integers(3, 5, high=9), init=(9, 6, 2), seed=1, train=True, note="in training"),
    ],
    returns=Float("batch seq vocab_size"),
    properties=[_draws_nothing, _future_changes_nothing, moves_with_its_module],
    misconceptions={
        "no-mask": Wrong(
            _model(mask=lambda n: None),
            "No mask reaches the layers, so every position sees the whole text. In training it would read the next"
            " letter instead of finding it out, and in writing there is no next letter to read.",
        ),
        "mirror-image": Wrong(
            _model(mask=future_mask),
            "The mask is the mirror image: a position sees itself and the future. True stands where a position may"
            " attend, and that is to its left.",
        ),
        "one-step-ahead": Wrong(
            _model(mask=lambda n: causal_mask(n + 1)[1:, :n]),
            "The mask is one diagonal too wide: each position also sees the next letter, the very one that it is asked"
            " to foretell. The diagonal is the last that may be seen.",
        ),
        "true-hides": Wrong(
            _model(mask=lambda n: ~causal_mask(n)),
            "In this mask True stands on what is to be hidden. Here True means may attend: as it is, a position sees"
            " the future alone, and the last one sees nothing, which is why it comes out as nan.",
        ),
        "blind-to-itself": Wrong(
            _model(mask=strict_mask),
            "The mask hides each position from itself, so the first one sees nothing, and a softmax over nothing is"
            " nan. The diagonal belongs to what may be seen.",
        ),
        "stream-added-twice": Wrong(
            _model(layer=lambda p, name, x, mask: x + _layer(p, name, x, mask)),
            "The stream is added once more around each layer. A SelfAttentionLayer already returns src plus what it"
            " found; what it returns is what the next one reads.",
        ),
        "no-positions": Wrong(
            _model(place=lambda x: x),
            "The positions never enter. Attention does not care for order: to this model the letters before a position"
            ' are a bag, and "abc echo" is "cba echo".',
        ),
        "positions-of-the-batch": Wrong(
            _model(place=lambda x: x + waves(torch.arange(len(x)), x.shape[-1])[:, None]),
            "Every position of a text gets one and the same vector, that of the text's index in the batch. The"
            " encoder's first axis must meet seq, not batch.",
        ),
        "positions-last": Wrong(
            _model(place=lambda x: x, last=lambda x, p: _norm(p, "norm", _placed(x))),
            "The positions are added after the layers, when attention is over. They must be in the stream before the"
            " first layer asks who stands where.",
        ),
        "positions-in-every-layer": Wrong(
            _model(layer=lambda p, name, x, mask: _layer(p, name, x if name == "layers.0" else _placed(x), mask)),
            "The positions are added again before every layer. Once is enough: the stream keeps what was added to it.",
        ),
        "one-layer-for-all": Wrong(
            _model(which=lambda p: [0] * len(_layers(p))),
            "The same layer runs every time. A list made by multiplying one layer repeats that one object; each place"
            " needs a layer of its own.",
        ),
        "only-the-first-layer": Wrong(
            _model(which=lambda p: [0]),
            "Only the first layer runs. There are num_layers of them, and what a layer returns is what the next one"
            " reads.",
        ),
        "only-the-last-layer": Wrong(
            _model(reads=lambda stream, start: start),
            "What the last layer found is all that is left: is each layer fed the embeddings anew? What a layer returns"
            " is what the next one reads.",
        ),
        "backwards": Wrong(
            _model(which=lambda p: reversed(_layers(p))),
            "The layers run from the last to the first. A trained model needs them in the order in which they stand.",
        ),
        "always-two-layers": Wrong(
            _model(),
            "There are two layers whatever num_layers is. Make as many as it says.",
            initial=lambda vocab_size, embed_dim, num_layers: _model_parameters(vocab_size, embed_dim, 2),
        ),
        "embedding-enlarged": Wrong(
            _model(place=lambda x: _placed(x * x.shape[-1] ** 0.5)),
            "The embeddings are multiplied by the root of embed_dim, as in the paper of 2017. None of the five parts"
            " here does that, and weights that were trained without it do not fit.",
        ),
        "norm-first": Wrong(
            _model(
                layer=lambda p, name, x, mask: _layer(p, name, _norm(p, "norm", x) if name == "layers.0" else x, mask),
                last=lambda x, p: x,
            ),
            "The norm runs before the layers. They add to the stream, and it is the decoder that needs it at one size:"
            " the norm comes after the last layer.",
        ),
        "norm-in-every-layer": Wrong(
            _model(layer=lambda p, name, x, mask: _norm(p, "norm", _layer(p, name, x, mask)), last=lambda x, p: x),
            "The norm runs after each layer, so that the stream itself is changed each time. It runs once, after the"
            " last.",
        ),
        "no-final-norm": Wrong(
            _model(last=lambda x, p: x),
            "The final norm is made and not used. Each layer has added to the stream; the norm brings it back to one"
            " size before the decoder reads it.",
        ),
        "probabilities": Wrong(
            _model(out=lambda x, p: _logits(x, p).softmax(-1)),
            "These are probabilities: a softmax has run already. The model gives logits, because the loss takes a"
            " softmax itself.",
        ),
        "log-probabilities": Wrong(
            _model(out=lambda x, p: _logits(x, p).log_softmax(-1)),
            "These are logarithms of probabilities: a log_softmax has run already. The model gives the decoder's scores"
            " as they are.",
        ),
        "no-decoder": Wrong(
            _model(out=lambda x, p: x),
            "These are vectors of embed_dim numbers. The decoder turns each into a score for every token of the"
            " vocabulary.",
        ),
        "last-position-only": Wrong(
            _model(out=lambda x, p: _logits(x, p)[:, -1]),
            "Only the last position is returned. In training every position is asked for its next token, so all of"
            " them are needed.",
        ),
    },
    hints=Hints(
        "Five parts, used in the order in which they are named: embed, pos_encoder, layers, norm, decoder.",
        "The layers are as many SelfAttentionLayer in an nn.ModuleList. Each takes the stream and the mask, which is"
        " made for the length of src.",
        "In forward, embed, then pos_encoder, then the layers in a loop, each called with what the one before returned"
        " and the mask; at the end norm, then decoder. The mask is a seq × seq lower triangle of True, on src's"
        " device.",
    ),
)


def _writes(
    where=lambda logits: logits[0, -1],
    pick=torch.argmax,
    stops=True,
    keep_stop=False,
    feed=lambda ids, n: ids,
    rounds=lambda max_len, n: max_len,
    show=lambda ids, n: ids,
):
    """A loop with one step replaced; n is the length of the prompt."""

    def answer(model, tokenizer, prompt, max_len=28):
        ids = tokenizer.encode(prompt)
        n = len(ids)
        for _ in range(rounds(max_len, n)):
            new = int(pick(where(model(torch.tensor([feed(ids, n)])))))
            if stops and new == STOP:
                ids = ids + [new] * keep_stop
                break
            ids = [*ids, new]
        return tokenizer.decode(show(ids, n))

    return answer


def _only_when_it_stops(model, tokenizer, prompt, max_len=28):
    text = _writes()(model, tokenizer, prompt, max_len)
    return text if len(text) < len(prompt) + max_len else None


def _by_tensors(model, tokenizer, prompt, max_len=28):
    ids = tokenizer.encode(prompt, return_tensors="pt")
    left = max_len
    while left and int(new := model(ids)[:, -1].topk(1).indices) != STOP:
        ids, left = torch.cat((ids, new), dim=1), left - 1
    return tokenizer.decode(ids[0])


def _takes_the_best(probe):
    """Nothing is drawn: the best token is the same one each time."""
    if probe.values_right or not any(trial.yours.drew for trial in probe.trials):
        return None
    return (
        "Random numbers are drawn on the way: is the next token sampled from the probabilities? Greedily means to take"
        " the most likely one, so that a prompt always gets the same answer."
    )


def _prompt_then_new(probe):
    """The prompt, then as many characters as the model writes before it stops or has to."""
    for trial in probe.trials:
        yours, wanted, prompt = trial.yours.value, trial.expected.value, trial.case.args[2]
        if not isinstance(yours, str) or yours == wanted:
            continue
        if not yours.startswith(prompt):
            return (
                f"The prompt was {prompt!r} and your text is {yours!r} ({trial.case.note}). The text begins with the"
                " prompt, as it was given."
            )
        if len(yours) != len(wanted):
            return (
                f"After {prompt!r} yours goes on for {len(yours) - len(prompt)} characters, and"
                f" {len(wanted) - len(prompt)} are expected ({trial.case.note}). Look at when the loop ends (the model"
                " says token 0, or max_len tokens are new), and at what the model is given in each round."
            )
    return None


exercise(
    "generate_text",
    oracle=_by_tensors,
    cases=lambda rand: [
        case(Rambler(rand(9, 9), stop=7), Speller(), "abc", note="with a model that stops when the text has 7 letters"),
        case(Rambler(rand(9, 9)), Speller(), "cabh", max_len=6, note="with a model that never stops"),
        case(Rambler(rand(9, 9), stop=3), Speller(), "fga", note="with a model that stops at once"),
        case(Rambler(rand(9, 9), stop=12), Speller(), "ed", max_len=5, note="with a model that would stop later"),
        case(Rambler(rand(9, 9)), Speller(), "be", note="with a model that never stops"),
        case(Rambler(rand(9, 9)), Speller(), "d", max_len=0, note="with no room for a new token"),
    ],
    differentiable=False,
    properties=[_takes_the_best, _prompt_then_new],
    misconceptions={
        "never-stops": Wrong(
            _writes(stops=False),
            "Token 0 means stop, and yours writes on. After it the model was never trained to say anything, so what"
            " follows is noise.",
        ),
        "keeps-the-stop": Wrong(
            _writes(keep_stop=True),
            "The stop token was appended before the loop ended. It is a sign to leave, and no part of the text.",
        ),
        "answer-only": Wrong(
            _writes(show=lambda ids, n: ids[n:]),
            "Only what the model added is returned. The text begins with the prompt.",
        ),
        "first-position": Wrong(
            _writes(where=lambda logits: logits[0, 0]),
            "You read the logits of position 0: what follows the first letter. What follows the text stands at the"
            " last position.",
        ),
        "least-likely": Wrong(
            _writes(pick=torch.argmin),
            "You take the token with the lowest logit. The most likely one has the highest.",
        ),
        "forgets-the-text": Wrong(
            _writes(feed=lambda ids, n: ids[-1:]),
            "Only the newest token goes into the model. It remembers nothing between two rounds: the whole text has to"
            " go in each time.",
        ),
        "forgets-the-prompt": Wrong(
            _writes(feed=lambda ids, n: ids if len(ids) == n else ids[-1:]),
            "After the first round only the newest token goes into the model. It remembers nothing between two rounds:"
            " the whole text has to go in each time.",
        ),
        "forgets-the-first": Wrong(
            _writes(feed=lambda ids, n: ids[n:] or ids),
            "After the first round the model sees what it wrote, and no longer the prompt. It remembers nothing between"
            " two rounds: the whole text has to go in each time.",
        ),
        "never-feeds-back": Wrong(
            _writes(feed=lambda ids, n: ids[:n]),
            "The model is asked about the bare prompt each time, so it says the same token again and again. What it"
            " said must be part of what it reads.",
        ),
        "max-len-of-the-whole": Wrong(
            _writes(rounds=lambda max_len, n: max(0, max_len - n)),
            "max_len counts the prompt too, so a longer prompt gets a shorter answer. It is the largest number of"
            " *new* tokens.",
        ),
        "nothing-without-a-stop": Wrong(
            _only_when_it_stops,
            "Where the model does not stop by itself, nothing comes back: the text is returned inside the loop only."
            " After max_len tokens it is to be returned as well.",
        ),
        "max-len-ignored": Wrong(
            _writes(rounds=lambda max_len, n: 28),
            "There may be 28 new tokens whatever max_len is. That is its value where nothing else is given; count up to"
            " the argument.",
        ),
        "one-token": Wrong(
            _writes(rounds=lambda max_len, n: 1),
            "One token was added. Go round the loop until the model stops, or max_len tokens are new.",
        ),
        "one-too-few": Wrong(
            _writes(rounds=lambda max_len, n: max_len - 1),
            "There is one token less than max_len where the model does not stop by itself. Count the rounds: each adds"
            " one token.",
        ),
        "one-too-many": Wrong(
            _writes(rounds=lambda max_len, n: max_len + 1),
            "There is one token more than max_len where the model does not stop by itself. Count the rounds: each adds"
            " one token.",
        ),
    },
    hints=Hints(
        "It is the loop of lesson 01, with a way out: text in, logits at the last position, the best token, append,"
        " again.",
        'encode gives the ids, with return_tensors="pt" as a batch of one. Look at the best token before you append'
        " it: if it is 0, leave the loop.",
        "In each of max_len rounds: the logits of the last position, their argmax; leave the loop if it is 0, else"
        " torch.cat it to the ids along dim 1. After the loop, decode the first row.",
    ),
)
