"""Exercises of lesson 08: the toy transformer, a step of its training, and the loop that lets it write."""

from dataclasses import replace

import torch
from torch.nn import functional as F

from utils.checks._attention import (
    attention_weights,
    causal_mask,
    future_mask,
    project_qkv,
    sinusoids,
    strictly_causal_mask,
    torch_attention,
)
from utils.feedback.exercise import Facts, Float, Hints, Wrong, case, exercise
from utils.feedback.properties import draws_nothing, moves_with_its_module
from utils.models.toy_transformer import STOP
from utils.test_doubles.toy_transformer import FakeTextModel, FakeTrainableModel, LetterTokenizer, view_training_step

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
    return x + sinusoids(torch.arange(x.shape[-2]), x.shape[-1])


def _attend(p, layer, x, mask):
    q, k, v = project_qkv(p, x, _attention(layer))
    if mask is None or mask.any(-1).all():
        return torch_attention(q, k, v, mask)
    return (
        attention_weights(q, k, mask) @ v
    )  # nan where nothing may be seen, and in what it hangs on; torch's own gives 0


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
    for trial in [] if probe.has_correct_values else probe.trials:
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


_NO_DROPOUT = draws_nothing("Random numbers are drawn in forward: is there a dropout? None of the five parts is one.")


exercise(
    "CogModel",
    initial_parameters=_model_parameters,
    oracle=_model(),
    cases=lambda rand: [
        case(rand.integers(1, 3, high=7), init=(7, 4, 1)),
        case(rand.integers(3, 5, high=9), init=(9, 6, 2), seed=1, train=True, note="in training"),
        case(rand.integers(1, 40, high=7), init=(7, 4, 1), seed=2),
    ],
    returns=Float("batch seq vocab_size"),
    properties=[_NO_DROPOUT, _future_changes_nothing, moves_with_its_module],
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
            _model(mask=strictly_causal_mask),
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
        "embeddings-added-twice": Wrong(
            _model(place=lambda x: x + _placed(x)),
            "The embeddings are in the stream twice. PositionalEncoding gives back the embeddings with the positions"
            " already added: what it returns is the stream.",
        ),
        "positions-of-the-batch": Wrong(
            _model(place=lambda x: x + sinusoids(torch.arange(len(x)), x.shape[-1])[:, None]),
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
        "one-layer-too-few": Wrong(
            _model(),
            "There is one layer too few: num_layers - 1 of them are made. range(n) runs from 0 to n - 1, which are n"
            " numbers.",
            initial_parameters=lambda vocab_size, embed_dim, num_layers: _model_parameters(
                vocab_size, embed_dim, num_layers - 1
            ),
        ),
        "always-two-layers": Wrong(
            _model(),
            "There are two layers whatever num_layers is. Make as many as it says.",
            initial_parameters=lambda vocab_size, embed_dim, num_layers: _model_parameters(vocab_size, embed_dim, 2),
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


def _surprise(logits, tokens):
    """Minus the logarithm of the probability of the token at each place, from the logits at the place before."""
    return -logits[:, :-1].log_softmax(-1).gather(-1, tokens[:, 1:, None])[..., 0]


def _over(asked, values):
    """The mean of the values [batch, seq - 1] at the tokens that are asked for."""
    return values[asked[:, 1:]].mean()


def _loss(logits, tokens, asked):
    return _over(asked, _surprise(logits, tokens))


def _picked(logits, tokens):
    """The logit of the token at each place, from the place before."""
    return logits[:, :-1].gather(-1, tokens[:, 1:, None])[..., 0]


def _per_text(logits, tokens, asked):
    shares = asked[:, 1:] / asked[:, 1:].sum(1, keepdim=True)
    return (_surprise(logits, tokens) * shares).sum(1).mean()


def _without_stop(logits, tokens, asked):
    return _loss(logits, tokens, asked & (tokens != STOP))


def _asked_or_stop(logits, tokens, asked):
    return _surprise(logits, tokens.masked_fill(~asked, STOP)).mean()


def _asked_texts(rand, batch, seq, vocab, scattered=False):
    """Logits, tokens and what is asked for of each text: an answer that ends in a stop, or tokens here and there."""
    tokens, place = rand.integers(batch, seq, high=vocab), torch.arange(seq)
    start = rand.integers(batch, 1, low=1, high=seq - 2)
    end = start + 1 + torch.arange(batch)[:, None] % (seq - 1 - start)
    asked = (place >= start) & (place <= end)
    if scattered:
        asked = (rand.integers(batch, seq, high=2) > 0) & (place > 0)
        asked[0, 1:3], asked[-1, -1] = torch.tensor([True, False]), True
    else:
        tokens = tokens.masked_fill(place >= end, STOP)
    return tokens, asked


def _loss_case(rand, batch, seq, vocab, scattered=False, note=""):
    return case(rand(batch, seq, vocab), *_asked_texts(rand, batch, seq, vocab, scattered), note=note)


exercise(
    "answer_loss",
    oracle=_loss,
    cases=lambda rand: [
        _loss_case(rand, 2, 6, 4),
        _loss_case(rand, 3, 9, 7),
        _loss_case(rand, 5, 7, 11, scattered=True, note="with tokens asked for here and there"),
    ],
    returns=Float(),
    differentiable=True,
    misconceptions={
        "everything-asked": Wrong(
            lambda logits, tokens, asked: _surprise(logits, tokens).mean(),
            "The mean is over all next tokens, and asked plays no part. The letters of the question are random: nobody"
            " can foretell them, and the model would be pushed to try.",
        ),
        "its-own-token": Wrong(
            lambda logits, tokens, asked: F.cross_entropy(logits[asked], tokens[asked]),
            "Each position is scored on its own token, which it has just read. Its logits are about the next one: the"
            " token at place i is told at place i - 1.",
        ),
        "asks-the-place-before": Wrong(
            lambda logits, tokens, asked: F.cross_entropy(logits[:, :-1][asked[:, :-1]], tokens[:, 1:][asked[:, :-1]]),
            "Logits and tokens are matched, and asked is one place off: it marks tokens, and you read it as the"
            " positions that tell them. So the first token of each answer is left out, and the one after it is asked"
            " for.",
        ),
        "backwards": Wrong(
            lambda logits, tokens, asked: F.cross_entropy(logits[:, 1:][asked[:, :-1]], tokens[:, :-1][asked[:, :-1]]),
            "The shift runs the wrong way: each position is scored on the token before it, which it has read. A model"
            " tells what comes next.",
        ),
        "backwards-marked-later": Wrong(
            lambda logits, tokens, asked: F.cross_entropy(logits[:, 1:][asked[:, 1:]], tokens[:, :-1][asked[:, 1:]]),
            "The shift runs the wrong way: the logits of an asked place are scored on the token before it, which was"
            " read already. The token at place i is told at place i - 1.",
        ),
        "rolled-logits-only": Wrong(
            lambda logits, tokens, asked: F.cross_entropy(logits[:, :-1][asked[:, 1:]], tokens[:, :-1][asked[:, 1:]]),
            "The logits are those before each asked token, and the tokens are those before it too: each position is"
            " scored on the token that it has just read. The token at place i is told at place i - 1.",
        ),
        "asks-the-question": Wrong(
            lambda logits, tokens, asked: _over(~asked, _surprise(logits, tokens)),
            "asked is turned round: the loss is about all that is not asked for. True marks what the model has to say.",
        ),
        "summed": Wrong(
            lambda logits, tokens, asked: _surprise(logits, tokens)[asked[:, 1:]].sum(),
            "This is the sum over the asked tokens. It grows with the number of texts in the batch; the mean does not.",
        ),
        "shared-among-all": Wrong(
            lambda logits, tokens, asked: (_surprise(logits, tokens) * asked[:, 1:]).mean(),
            "What is not asked for counts as 0 and is still counted: the sum is divided by all places. Divide by the"
            " number of asked tokens.",
        ),
        "shared-among-all-tokens": Wrong(
            lambda logits, tokens, asked: (_surprise(logits, tokens) * asked[:, 1:]).sum() / asked.numel(),
            "The sum over the asked tokens is divided by the number of all tokens. Divide by the number of asked ones.",
        ),
        "summed-for-each-text": Wrong(
            lambda logits, tokens, asked: (_surprise(logits, tokens) * asked[:, 1:]).sum() / len(tokens),
            "The sum over the asked tokens is divided by the number of texts, so long answers weigh more than short"
            " ones. Divide by the number of asked tokens.",
        ),
        "mean-of-means": Wrong(
            _per_text,
            "First a mean for each text, then the mean of these: a token of a short answer weighs more than one of a"
            " long answer. All asked tokens of the batch weigh the same.",
        ),
        "one-for-each-text": Wrong(
            lambda logits, tokens, asked: (_surprise(logits, tokens) * asked[:, 1:]).sum(1) / asked[:, 1:].sum(1),
            "There is a number for each text. Training goes down one number: the mean over all asked tokens of the"
            " batch.",
        ),
        "one-for-each-token": Wrong(
            lambda logits, tokens, asked: _surprise(logits, tokens)[asked[:, 1:]],
            "There is a number for each asked token. Training goes down one number: their mean.",
        ),
        "stop-left-out": Wrong(
            _without_stop,
            "Token 0 is left out wherever it stands. The stop after an answer is asked for as well; a model that never"
            " learns it would never end.",
        ),
        "padding-left-out": Wrong(
            lambda logits, tokens, asked: _loss(logits, tokens, tokens != STOP),
            "The mean leaves out token 0 and keeps all the rest, and asked plays no part. So the random letters of the"
            " question are asked for, and the stop never is.",
        ),
        "asked-for-stops": Wrong(
            _asked_or_stop,
            "Where nothing is asked for the tokens became 0, and the model is now asked to say stop there. Leave these"
            " places out of the mean.",
        ),
        "sign": Wrong(
            lambda logits, tokens, asked: -_loss(logits, tokens, asked),
            "The sign is turned round: the mean logarithm of a probability is negative, and going down it would make"
            " the right tokens less likely. The loss is minus that mean.",
        ),
        "no-logarithm": Wrong(
            lambda logits, tokens, asked: -_over(asked, _picked(logits.softmax(-1), tokens)),
            "This is minus the mean probability of the right tokens. Cross-entropy takes the logarithm of each, so that"
            " a confident mistake costs much.",
        ),
        "distance-from-one": Wrong(
            lambda logits, tokens, asked: 1 - _over(asked, _picked(logits.softmax(-1), tokens)),
            "This is the mean distance of the right tokens' probabilities from 1. Cross-entropy takes minus the"
            " logarithm of each, so that a confident mistake costs much.",
        ),
        "logit-for-log-probability": Wrong(
            lambda logits, tokens, asked: -_over(asked, _picked(logits, tokens)),
            "This is minus the mean logit of the right tokens. A logit says little by itself: only the softmax sets it"
            " against the others.",
        ),
        "log-of-the-mean": Wrong(
            lambda logits, tokens, asked: -_over(asked, _picked(logits.softmax(-1), tokens)).log(),
            "The logarithm is taken of the mean probability. It is taken of each asked token's first; then comes the"
            " mean.",
        ),
        "softmax-twice": Wrong(
            lambda logits, tokens, asked: _loss(logits.softmax(-1), tokens, asked),
            "A softmax ran before the cross-entropy, which takes one itself. It wants the logits as they are.",
        ),
        "bits": Wrong(
            lambda logits, tokens, asked: _loss(logits, tokens, asked) / torch.tensor(2.0).log(),
            "This is in bits, with the logarithm to base 2. Cross-entropy as torch has it takes the natural one.",
        ),
        "share-wrong": Wrong(
            lambda logits, tokens, asked: _over(asked, (logits[:, :-1].argmax(-1) != tokens[:, 1:]).float()),
            "This is the share of asked tokens that would come out wrong. It moves in jumps and has no slope to go"
            " down; cross-entropy asks how likely the right token was.",
        ),
        "softmax-over-places": Wrong(
            lambda logits, tokens, asked: -_over(asked, _picked(logits.log_softmax(1), tokens)),
            "The softmax runs over the places of a text. At each place it is the tokens of the vocabulary that share"
            " out one unit of probability.",
        ),
        "divided-by-the-vocabulary": Wrong(
            lambda logits, tokens, asked: _loss(logits, tokens, asked) / logits.shape[-1],
            "The mean runs over the vocabulary too, so the loss comes out vocab times too small. There is one number"
            " for each asked token: that of the right one.",
        ),
    },
    hints=Hints(
        "Which position tells the token at place 5? Line the logits up with the tokens that they are about, by leaving"
        " one place out of each.",
        "Leave the last place out of the logits and the first out of tokens and of asked. Then asked, which is a bool"
        " tensor, picks from both.",
        "F.cross_entropy(scores, right) takes logits [n, vocab] and tokens [n] and returns the mean. Here n counts the"
        " asked tokens; logits[:, :-1] and tokens[:, 1:] are lined up.",
    ),
)


def _learns(
    forget=True,
    backward=True,
    steps=1,
    early=False,
    mode=True,
    loss=_loss,
    sign=1.0,
    change=lambda grad: grad,
    move=lambda model, optimizer: optimizer.step(),
    returns=lambda loss, again: loss.item(),
):
    """A training step with one thing replaced; `again` computes the loss anew."""

    def answer(model, optimizer, batch):
        tokens, asked = batch
        model.train(mode)
        if early:
            optimizer.step()
        if forget:
            model.table.grad = torch.zeros_like(model.table)
        value = loss(model(tokens), tokens, asked)
        if backward:
            grad = torch.autograd.grad(sign * value, model.table)[0]
            model.table.grad = change(grad) + (0 if forget or model.table.grad is None else model.table.grad)
        for _ in range(0 if early else steps):
            move(model, optimizer)
        return returns(value, lambda: loss(model(tokens), tokens, asked))

    return answer


def _without_gradients(model, optimizer):
    """The gradients are forgotten when they are due."""
    model.table.grad = None
    optimizer.step()


def _step_before_backward(model, optimizer, batch):
    model.table.grad = None
    optimizer.step()
    return _learns(steps=0)(model, optimizer, batch)


def _by_hand(model, optimizer):
    with torch.no_grad():
        model.table -= optimizer.param_groups[0]["lr"] * model.table.grad


def _clipped(grad):
    return grad * (1 / grad.norm()).clamp(max=1)


def _pupil_case(rand, batch, seq, vocab, signs=False, fresh=False, note=""):
    pupil = FakeTrainableModel(rand(vocab, vocab), signs, fresh=fresh)
    return case(pupil, pupil.optimizer, _asked_texts(rand, batch, seq, vocab), note=note)


_LEFT = (
    "what is returned is no float",
    "the model is in eval mode",
    "the parameters have not moved",
    "the optimizer made more than one step, or none",
)


def _one_step_of_its_optimizer(probe):
    """The step is made by the optimizer that is passed in, once."""
    for trial in probe.trials:
        value = trial.yours.value
        if isinstance(value, tuple) and value[2][3] != 1:
            count = int(value[2][3])
            made = f"made {count} steps" if count else "made no step"
            why = (
                "Who calls the function makes the loop."
                if count
                else "It knows the parameters, its rate, and what it did in the steps before."
            )
            return f"The optimizer that is passed in {made}, and it is to make one. {why}"
    return None


exercise(
    "training_step",
    oracle=_learns(),
    view=view_training_step,
    cases=lambda rand: [
        _pupil_case(rand, 3, 6, 4, note="with a model from an earlier step, whose gradients are still there"),
        _pupil_case(rand, 2, 5, 4, fresh=True, note="with a new model, which has no gradients yet"),
        _pupil_case(rand, 2, 8, 5, signs=True, note="with an optimizer that steps along signs, as AdamW begins"),
    ],
    returns=(Float("", "loss"), Float("row column", "parameters"), Facts("what it leaves behind")),
    explain_entry=lambda index, yours, expected: _LEFT[index[0]] if len(index) == 1 else "",
    differentiable=False,
    properties=[_one_step_of_its_optimizer],
    misconceptions={
        "old-gradients-added": Wrong(
            _learns(forget=False),
            "The gradients of an earlier step were still there, and backward added this batch's to them. Forget them"
            " before backward: the step would go along the sum of all batches so far.",
        ),
        "no-step": Wrong(
            _learns(steps=0),
            "The gradients are there and the parameters have not moved: nothing has used them. That is what the"
            " optimizer's step does.",
        ),
        "step-before-backward": Wrong(
            _step_before_backward,
            "The parameters have not moved: the step comes before backward, when there is no gradient yet. Forget, then"
            " backward, then step.",
        ),
        "no-gradients": Wrong(
            _learns(move=_without_gradients),
            "The parameters have not moved, and there are no gradients: backward is missing, or its gradients were"
            " forgotten before the step. Forget, then backward, then step.",
        ),
        "old-gradients-only": Wrong(
            _learns(forget=False, backward=False),
            "The step went along the gradients of an earlier batch: those of this one do not exist until backward has"
            " run.",
        ),
        "step-first": Wrong(
            _learns(early=True),
            "The step comes before backward, so it went along the gradients of an earlier batch. Those of this one do"
            " not exist until backward has run.",
        ),
        "loss-as-a-tensor": Wrong(
            _learns(returns=lambda loss, again: loss),
            "The step is right, and the loss is returned as a tensor. A list of a thousand of these keeps a thousand"
            " graphs of computation alive; a float is a number and nothing else.",
        ),
        "loss-after-the-step": Wrong(
            _learns(returns=lambda loss, again: again().item()),
            "The loss is computed anew after the step. Return the one that the step went down: it is there already, and"
            " a second forward pass costs time.",
        ),
        "everything-asked": Wrong(
            _learns(loss=lambda logits, tokens, asked: _surprise(logits, tokens).mean()),
            "The loss is about all next tokens, the random letters of the question among them. Your answer_loss asks"
            " for the answer only.",
        ),
        "asks-the-question": Wrong(
            _learns(loss=lambda logits, tokens, asked: _over(~asked, _surprise(logits, tokens))),
            "The loss is about what is not asked for: asked is turned round.",
        ),
        "its-own-token": Wrong(
            _learns(loss=lambda logits, tokens, asked: F.cross_entropy(logits[asked], tokens[asked])),
            "Each position is scored on its own token, which it has just read. Your answer_loss lines the logits up"
            " with the next tokens.",
        ),
        "asks-the-place-before": Wrong(
            _learns(
                loss=lambda logits, tokens, asked: F.cross_entropy(
                    logits[:, :-1][asked[:, :-1]], tokens[:, 1:][asked[:, :-1]]
                )
            ),
            "asked is one place off: it marks tokens, and the loss reads it as the positions that tell them.",
        ),
        "summed": Wrong(
            _learns(loss=lambda logits, tokens, asked: _surprise(logits, tokens)[asked[:, 1:]].sum()),
            "The loss is the sum over the asked tokens, so a larger batch would take longer steps. Your answer_loss is"
            " their mean.",
        ),
        "uphill": Wrong(
            _learns(sign=-1.0),
            "The step goes uphill: it makes the right tokens less likely. The optimizer goes down whatever backward was"
            " called on; call it on the loss itself.",
        ),
        "eval-mode": Wrong(
            _learns(mode=False),
            "The model is put into eval mode. That is for measuring: a layer such as dropout is then switched off. A"
            " training step is made in training mode.",
        ),
        "left-in-eval-mode": Wrong(
            _learns(returns=lambda loss, again: loss.item(), move=lambda m, o: (o.step(), m.eval())),
            "The step is right, and the model is left in eval mode, in which the next step would be made. Whoever"
            " measures switches modes; a step stays in training mode.",
        ),
        "two-steps": Wrong(
            _learns(steps=2),
            "The optimizer stepped twice on the same gradients. After one step the slope is another one, and has to be"
            " computed anew.",
        ),
        "by-hand": Wrong(
            _learns(move=_by_hand),
            "The parameters were moved by rate times gradient. That is one kind of optimizer; AdamW, which the lesson"
            " uses, steps in another way. Let the optimizer that is passed in make the step.",
        ),
        "clipped": Wrong(
            _learns(change=_clipped),
            "The gradients were cut to a length of 1 before the step. That is a remedy for wild ones, which this model"
            " does not need; the step is to go along them as they are.",
        ),
    },
    hints=Hints(
        "What does backward do with gradients that are there already? And what does the optimizer's step read?",
        "In order: forget old gradients, logits, loss, backward, step. What comes back is the loss as a float.",
        "The optimizer has zero_grad and step, the loss has backward and item. The batch is a pair: tokens, which go"
        " into the model, and asked, which goes into answer_loss with them.",
    ),
)


def _writes(
    where=lambda logits: logits[0, -1],
    pick=torch.argmax,
    stops=lambda new, logits: new == STOP,
    keep_stop=False,
    feed=lambda ids, n: ids,
    rounds=lambda max_len, n: max_len,
    show=lambda ids, n: ids,
    until=lambda new: False,
    tidy=lambda text: text,
):
    """A loop with one step replaced; n is the length of the prompt."""

    def answer(model, tokenizer, prompt, max_len=28):
        ids = tokenizer.encode(prompt)
        n = len(ids)
        for _ in range(rounds(max_len, n)):
            logits = model(torch.tensor([feed(ids, n)]))
            new = int(pick(where(logits)))
            if stops(new, logits):
                ids = ids + [new] * keep_stop
                break
            ids = [*ids, new]
            if until(new):
                break
        return tidy(tokenizer.decode(show(ids, n)))

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


_GREEDY = draws_nothing(
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
            more, due = len(yours) - len(prompt), len(wanted) - len(prompt)
            return (
                f"After {prompt!r} yours goes on for {more} character{'s' * (more != 1)}, and"
                f" {due} {'is' if due == 1 else 'are'} expected ({trial.case.note}). Look at when the loop ends (the"
                " model says token 0, or max_len tokens are new), and at what the model is given in each round."
            )
    return None


exercise(
    "generate_text",
    oracle=_by_tensors,
    cases=lambda rand: [
        case(
            FakeTextModel(rand(9, 9), stop_length=7),
            LetterTokenizer(),
            "abc",
            note="with a model that stops when the text has 7 letters",
        ),
        case(FakeTextModel(rand(9, 9)), LetterTokenizer(), "cabh", max_len=6, note="with a model that never stops"),
        case(
            FakeTextModel(rand(9, 9), stop_length=3), LetterTokenizer(), "fga", note="with a model that stops at once"
        ),
        case(
            FakeTextModel(rand(9, 9), stop_length=12),
            LetterTokenizer(),
            "ed",
            max_len=5,
            note="with a model that would stop later",
        ),
        case(FakeTextModel(rand(9, 9)), LetterTokenizer(), "be", note="with a model that never stops"),
        case(FakeTextModel(rand(9, 9)), LetterTokenizer(), "d", max_len=0, note="with no room for a new token"),
        case(
            FakeTextModel(rand(9, 9), stop_length=9, forced_characters={6: "."}),
            LetterTokenizer(),
            "abd",
            note="with a model that goes on after a full stop",
        ),
        case(
            FakeTextModel(rand(9, 9), stop_length=8, forced_characters={2: "_"}),
            LetterTokenizer(),
            "fad",
            note="with a model that says 0 within the prompt, and stops when the text has 8 letters",
        ),
        case(
            FakeTextModel(rand(9, 9), forced_characters={5: " "}),
            LetterTokenizer(),
            "head",
            max_len=2,
            note="with a model that says a space, and has to end there",
        ),
    ],
    differentiable=False,
    properties=[_GREEDY, _prompt_then_new],
    misconceptions={
        "stops-at-any-place": Wrong(
            _writes(stops=lambda new, logits: bool((logits.argmax(-1) == STOP).any())),
            "The loop ends as soon as the model says 0 at any place, and at places within the text it may. Only what it"
            " says at the last one is about the next token.",
        ),
        "stripped": Wrong(
            _writes(tidy=str.strip),
            "Spaces at the ends of the text are cut off. What the model wrote is returned as it is, even if its last"
            " character is a space.",
        ),
        "never-stops": Wrong(
            _writes(stops=lambda new, logits: False),
            "Token 0 means stop, and yours writes on. After it the model was never trained to say anything, so what"
            " follows is noise.",
        ),
        "stops-at-the-full-stop": Wrong(
            _writes(until=lambda new: new == LetterTokenizer().encode(".")[0]),
            "The loop ends at a full stop. A text may go on after one; the model says token 0 where it ends.",
        ),
        "stops-at-the-full-stop-alone": Wrong(
            _writes(stops=lambda new, logits: False, until=lambda new: new == LetterTokenizer().encode(".")[0]),
            "The loop ends at a full stop, and goes on where the model says token 0. It is the other way round: token 0"
            " is the end, and a text may go on after a full stop.",
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
            " new tokens.",
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
