"""Define the exercises of lesson 08: the toy transformer, its loss, a training step, and the generation loop."""

from dataclasses import replace

import torch
from torch.nn import functional as F

from utils.checks._attention import (
    attention_mistakes,
    attention_weights,
    causal_mask,
    fix_arguments,
    project_qkv,
    sinusoids,
    softmax_values,
    torch_attention,
)
from utils.checks._wrong_answers import with_steps, wrong_answer
from utils.exercises.exercise import Facts, Float, Hints, Wrong, case, exercise
from utils.exercises.oracles import observe_oracle
from utils.feedback.phrases import call_text
from utils.feedback.properties import draws_nothing, moves_with_its_module, works_when_changed
from utils.feedback.report import format_number
from utils.models.toy_transformer import STOP
from utils.test_doubles.toy_transformer import (
    FakeTextModel,
    FakeTrainableModel,
    LetterTokenizer,
    remove_last_layer,
    view_training_step,
)

_EPS = 1e-6


def _model_parameters(vocab_size, embed_dim, num_layers):
    """Return a dict of all parameters of a CogModel, in the order of the lesson's parts. All numbers are 0."""
    square, row = (embed_dim, embed_dim), (embed_dim,)
    sizes = {"embed.weight": (vocab_size, embed_dim)}
    for i in range(num_layers):
        sizes |= {f"{name}.{key}": size for name in _attention(f"layers.{i}") for key, size in _linear(*square)}
        sizes |= {f"layers.{i}.norm1.{key}": row for key in "wb"}
    sizes |= {f"norm.{key}": row for key in "wb"}
    sizes |= {f"decoder.{key}": size for key, size in _linear(vocab_size, embed_dim)}
    return {name: torch.zeros(size) for name, size in sizes.items()}


def _linear(wide, narrow):
    """Return the names and sizes of the parameters of a linear layer with `narrow` inputs and `wide` outputs."""
    return ("weight", (wide, narrow)), ("bias", (wide,))


def _attention(layer):
    return tuple(f"{layer}.self_attn.{n}_layer" for n in "qkv")


def _add_positions(x):
    return x + sinusoids(torch.arange(x.shape[-2]), x.shape[-1])


def _attend(p, layer, x, mask):
    q, k, v = project_qkv(p, x, _attention(layer))
    if mask is None or mask.any(-1).all():
        return torch_attention(q, k, v, mask)
    # In a fully masked row, a learner's softmax gives nan, but torch's attention gives 0. This code gives nan too.
    return attention_weights(q, k, mask) @ v


def _norm(p, name, x):
    return F.layer_norm(x, x.shape[-1:], p[f"{name}.w"], p[f"{name}.b"], eps=_EPS)


def _layers(p):
    return range(len({name.split(".")[1] for name in p if name.startswith("layers.")}))


def _logits(x, p):
    return F.linear(x, p["decoder.weight"], p["decoder.bias"])


def _layer(p, name, x, mask):
    return x + _norm(p, f"{name}.norm1", _attend(p, name, x, mask))


@with_steps
def _model(
    p,
    src,
    *,
    place=_add_positions,
    mask=causal_mask,
    which=_layers,
    layer=_layer,
    reads=lambda stream, start: stream,
    last=lambda x, p: _norm(p, "norm", x),
    out=_logits,
):
    x = start = place(F.embedding(src, p["embed.weight"]))
    for i in which(p):
        x = layer(p, f"layers.{i}", reads(x, start), mask(src.shape[-1]))
    return out(last(x, p), p)


def _model_values(p, src):
    embeddings = F.embedding(src, p["embed.weight"])
    rows = sinusoids(torch.arange(src.shape[-1]), embeddings.shape[-1])
    x = embeddings + rows
    values = {"the embeddings": embeddings, "the encodings of the positions?": rows, "the embeddings with positions": x}
    for i in _layers(p):
        values[f"the stream after layer {i}"] = x = _layer(p, f"layers.{i}", x, causal_mask(src.shape[-1]))
    return {**values, "the normalised stream": (x := _norm(p, "norm", x)), "the logits": _logits(x, p)}


def _future_changes_nothing(probe):
    """Check that all earlier logits stay the same if the last token is replaced. Skip correct answers."""
    for trial in [] if probe.has_correct_values else probe.trials:
        src = trial.case.args[0]
        changed = src.clone()
        changed[:, -1] = (changed[:, -1] + 1) % trial.case.init[0]
        after = probe.run(replace(trial.case, args=(changed,)))
        if not after.failure and not torch.allclose(trial.yours.value[:, :-1], after.value[:, :-1], atol=1e-5):
            clause = ", and in training the model could read it instead of predicting it" if trial.case.train else ""
            return (
                "A later token changes earlier logits: when the last token is replaced, the logits at earlier"
                f" positions change. When the model generates text, that token does not exist yet{clause}."
            )
    return None


_wrong = attention_mistakes(lambda change_mask: _model.replace(mask=lambda n: change_mask(causal_mask(n))))
_NO_DROPOUT = draws_nothing(
    "forward samples random numbers: does it apply dropout? None of the five parts is a dropout layer."
)


_TWO_LAYERS = case(torch.tensor([[3, 1, 4, 1, 5]]), init=(7, 4, 2))


exercise(
    "CogModel",
    unswept={"parameters": "the lesson lets the layer save its mask as a buffer"},
    initial_parameters=_model_parameters,
    oracle=_model,
    milestones=_model_values,
    cases=lambda rand: [
        case(rand.integers(1, 3, high=7), init=(7, 4, 1)),
        case(rand.integers(3, 5, high=9), init=(9, 6, 2), seed=1, train=True, note="in training"),
        case(rand.integers(1, 40, high=7), init=(7, 4, 1), seed=2),
    ],
    returns=Float("batch seq vocab_size"),
    properties=[
        _NO_DROPOUT,
        _future_changes_nothing,
        moves_with_its_module,
        works_when_changed(
            _TWO_LAYERS,
            remove_last_layer,
            lambda exercise: observe_oracle(exercise, replace(_TWO_LAYERS, init=(7, 4, 1))).value,
            "After the last layer is removed from `layers`, your model should give the same result as a model with one"
            " layer fewer, but it does not. A later cell of this lesson removes layers, so forward should go through"
            " `self.layers`.",
        ),
    ],
    misconceptions={
        "no-mask": _wrong.sees_the_future(
            "The layers hide nothing: every position sees the whole text. In training, the model would read the next"
            " letter instead of predicting it; when it generates a text, there is no next letter to read."
        ),
        "mirror-image": _wrong.mirror_image(
            "Your mask is the mirror image: a position sees itself and the future. True should mark the positions"
            " that may be attended to: the position itself and those to its left."
        ),
        "one-step-ahead": _model.replace(mask=lambda n: causal_mask(n + 1)[1:, :n]).wrong(
            "Your mask is one diagonal too wide: each position also sees the next letter, which it has to predict. In"
            " each row, the entry on the diagonal should be the last True."
        ),
        "true-hides": _wrong.true_means_blocked(
            'In your mask True marks what is hidden, but in this course True means "may attend". With your mask a'
            " position sees only the future, and the last position sees nothing, so its output is nan."
        ),
        "blind-to-itself": _wrong.blind_to_itself(
            "Your mask hides each position from itself, so the first position sees nothing, and a softmax over"
            " nothing is nan. The diagonal should be True."
        ),
        "stream-added-twice": _model.replace(layer=lambda p, name, x, mask: x + _layer(p, name, x, mask)).wrong(
            "The input of each layer is added to the stream twice. A SelfAttentionLayer already adds src itself: pass"
            " its result on to the next layer unchanged."
        ),
        "no-positions": _model.replace(place=lambda x: x).wrong(
            "You never add the positions. Without them, the first layer cannot tell the order of the letters before a"
            ' position, so "abc echo" looks the same as "cba echo".'
        ),
        "embeddings-added-twice": _model.replace(place=lambda x: x + _add_positions(x)).wrong(
            "You add the embeddings to the stream twice. PositionalEncoding returns the embeddings with the positions"
            " already added: its result is the stream."
        ),
        "positions-of-the-batch": Wrong(
            _model.replace(place=lambda x: x + sinusoids(torch.arange(len(x)), x.shape[-1])[:, None]),
            "Every position of a text gets the same vector, chosen by the text's index in the batch. The encoder"
            " should count along the seq axis, not along the batch axis.",
        ),
        "positions-last": Wrong(
            _model.replace(place=lambda x: x, last=lambda x, p: _norm(p, "norm", _add_positions(x))),
            "You add the positions after the layers, when attention has already been computed. Add them before the"
            " first layer, because attention cannot tell positions apart without them.",
        ),
        "positions-in-every-layer": Wrong(
            _model.replace(
                layer=lambda p, name, x, mask: _layer(p, name, x if name == "layers.0" else _add_positions(x), mask)
            ),
            "You add the positions again before every layer. Add them once: the stream keeps what was added to it.",
        ),
        "one-layer-for-all": _model.replace(which=lambda p: [0] * len(_layers(p))).wrong(
            "Layer 0 runs every time, and the other layers never run. Run all num_layers layers, each on the result of"
            " the layer before it."
        ),
        "only-the-first-layer": _model.replace(which=lambda p: [0]).wrong(
            "Only the first layer runs. Run all num_layers layers, each on the result of the layer before it."
        ),
        "only-the-last-layer": _model.replace(reads=lambda stream, start: start).wrong(
            "Only the last layer affects the result: do you pass the embeddings to every layer? Each layer should take"
            " the result of the layer before it."
        ),
        "backwards": _model.replace(which=lambda p: reversed(_layers(p))).wrong(
            "The layers run from the last to the first. A trained model needs them in the order of the list."
        ),
        "one-layer-too-few": Wrong(
            _model,
            "You create num_layers - 1 layers, one too few. range(n) gives n numbers, from 0 to n - 1.",
            initial_parameters=lambda vocab, width, num_layers: _model_parameters(vocab, width, num_layers - 1),
        ),
        "always-two-layers": Wrong(
            _model,
            "You create two layers even if num_layers is 1. Create num_layers of them.",
            initial_parameters=fix_arguments(_model_parameters, num_layers=2),
        ),
        "embedding-enlarged": _model.replace(place=lambda x: _add_positions(x * x.shape[-1] ** 0.5)).wrong(
            "You multiply the embeddings by the square root of embed_dim, as the original transformer of 2017 does."
            " None of the five parts does this here, and weights that were trained without this factor would not work"
            " with it."
        ),
        "norm-first": Wrong(
            _model.replace(
                layer=lambda p, name, x, mask: _layer(p, name, _norm(p, "norm", x) if name == "layers.0" else x, mask),
                last=lambda x, p: x,
            ),
            "You normalise before the layers. The layers add to the stream, so the norm should come after the last"
            " layer and bring the stream back to a fixed scale for the decoder.",
        ),
        "norm-in-every-layer": Wrong(
            _model.replace(
                layer=lambda p, name, x, mask: _norm(p, "norm", _layer(p, name, x, mask)), last=lambda x, p: x
            ),
            "You normalise after each layer, which changes the stream itself each time. The norm should run once,"
            " after the last layer.",
        ),
        "no-final-norm": _model.replace(last=lambda x, p: x).wrong(
            "You create the final norm but do not use it. Each layer has added to the stream, and the norm should bring"
            " the stream back to a fixed scale before the decoder reads it."
        ),
        "probabilities": _model.replace(out=lambda x, p: _logits(x, p).softmax(-1)).wrong(
            "You return probabilities: a softmax has already run. Return logits, because the loss applies a softmax"
            " itself."
        ),
        "log-probabilities": _model.replace(out=lambda x, p: _logits(x, p).log_softmax(-1)).wrong(
            "You return log-probabilities: a log_softmax has already run. Return the decoder's scores unchanged."
        ),
        "no-decoder": _model.replace(out=lambda x, p: x).wrong(
            "You return vectors of embed_dim numbers. The decoder should turn each vector into a score for every"
            " token of the vocabulary."
        ),
        "last-position-only": _model.replace(out=lambda x, p: _logits(x, p)[:, -1]).wrong(
            "You return the logits of only the last position. Training predicts the next token at every position, so"
            " return the logits of all positions."
        ),
    },
    hints=Hints(
        "Use the five parts in the order in which the lesson names them: embed, pos_encoder, layers, norm, decoder.",
        "layers should be an nn.ModuleList of num_layers SelfAttentionLayer objects. Each layer takes the stream and a"
        " mask; create the mask to fit the length of src.",
        "In forward, apply embed and pos_encoder, then call each layer in a loop with the previous result and the"
        " mask, and finally apply norm and decoder. The mask is a seq × seq lower triangle of True, on src's device.",
    ),
)


@with_steps
def _loss(
    logits,
    tokens,
    asked,
    *,
    score=lambda logits: -logits.log_softmax(-1),
    reduce=lambda losses, asked: losses[asked].mean(),
):
    """Look up the score of each next token in `score(logits)`. Reduce these scores, [batch, seq - 1], to the loss."""
    return reduce(score(logits)[:, :-1].gather(-1, tokens[:, 1:, None])[..., 0], asked[:, 1:])


def _loss_values(logits, tokens, asked):
    """Compute the milestones of a loss. They are all optional, because cross_entropy does all steps at once."""
    marked, targets = asked[:, 1:], tokens[:, 1:]
    values = {}
    for rows, place, right, whose in (
        (logits, "at all positions", None, ""),
        (logits[:, :-1], "at all positions but the last", targets, "of the next tokens"),
        (logits[:, :-1][marked], "at the positions before the marked tokens", targets[marked], "of the marked tokens"),
    ):
        forms = {"the logits": rows, **softmax_values(rows, "the probabilities", noun="logits")}
        values |= {f"{label.rstrip('?')} {place}?": value for label, value in forms.items()}
        if right is not None:
            for label in ("the logits", "the probabilities", "the logarithms of the probabilities"):
                picked = values[f"{label} {place}?"].gather(-1, right[..., None])[..., 0]
                values[f"{label} {whose}?"] = picked
            values[f"the losses {whose}?"] = -picked
    losses = values["the losses of the next tokens?"] * marked
    return values | {"the losses with 0 for tokens without a mark?": losses, "the sum of the losses?": losses.sum()}


def _mean_of_text_means(losses, asked):
    return (losses * asked / asked.sum(1, keepdim=True)).sum(1).mean()


_WRONG_LOSSES = {
    "everything-asked": _loss.replace(reduce=lambda losses, asked: losses.mean()),
    "its-own-token": lambda logits, tokens, asked: F.cross_entropy(logits[asked], tokens[asked]),
    "asks-the-place-before": (
        lambda logits, tokens, asked: F.cross_entropy(logits[:, :-1][asked[:, :-1]], tokens[:, 1:][asked[:, :-1]])
    ),
    "asks-the-question": _loss.replace(reduce=lambda losses, asked: losses[~asked].mean()),
    "summed": _loss.replace(reduce=lambda losses, asked: losses[asked].sum()),
}


def _sample_texts(rand, batch, seq, vocab, scattered=False):
    """Sample tokens and the mask `asked`.

    In each text, the mask marks an answer and its STOP. If `scattered` is true, it marks random tokens instead.
    """
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


def _loss_case(rand, batch, seq, vocab, scattered=False, note="", scale=1.0):
    return case(rand(batch, seq, vocab, scale=scale), *_sample_texts(rand, batch, seq, vocab, scattered), note=note)


exercise(
    "answer_loss",
    oracle=_loss,
    milestones=_loss_values,
    cases=lambda rand: [
        _loss_case(rand, 2, 6, 4),
        _loss_case(rand, 3, 9, 7),
        _loss_case(rand, 5, 7, 11, scattered=True, note="with marked tokens at scattered positions"),
        _loss_case(rand, 4, 6, 9, scale=40.0, note="with predictions that are confident but wrong"),
    ],
    returns=Float(),
    differentiable=True,
    misconceptions={
        "everything-asked": Wrong(
            _WRONG_LOSSES["everything-asked"],
            "You average over all next tokens and never use `asked`. The letters of the question are random: nobody can"
            " predict them, so a loss on these letters teaches the model nothing.",
        ),
        "its-own-token": Wrong(
            _WRONG_LOSSES["its-own-token"],
            "You compare the logits at each position with the token at the same position, which the model has already"
            " read. The logits at position i - 1 should predict the token at position i.",
        ),
        "asks-the-place-before": Wrong(
            _WRONG_LOSSES["asks-the-place-before"],
            "The logits and tokens are aligned, but `asked` is off by one position: it marks tokens, and you use it for"
            " the positions that predict these tokens. As a result, the first token of each answer is left out, and the"
            " token after the answer is counted.",
        ),
        "backwards": Wrong(
            lambda logits, tokens, asked: F.cross_entropy(logits[:, 1:][asked[:, :-1]], tokens[:, :-1][asked[:, :-1]]),
            "The shift goes in the wrong direction: at each position, you compare the logits with the previous token,"
            " which the model has already read. The logits at position i - 1 should predict the token at"
            " position i.",
        ),
        "backwards-marked-later": Wrong(
            lambda logits, tokens, asked: F.cross_entropy(logits[:, 1:][asked[:, 1:]], tokens[:, :-1][asked[:, 1:]]),
            "The shift goes in the wrong direction: at each position that `asked` marks, you compare the logits with"
            " the previous token, which the model has already read. The logits at position i - 1 should predict the"
            " token at position i.",
        ),
        "rolled-logits-only": Wrong(
            lambda logits, tokens, asked: F.cross_entropy(logits[:, :-1][asked[:, 1:]], tokens[:, :-1][asked[:, 1:]]),
            "You take the logits one position before each token that `asked` marks, but you compare them with the token"
            " at this earlier position, which the model has just read. The logits at position i - 1 should predict the"
            " token at position i.",
        ),
        "asks-the-question": Wrong(
            _WRONG_LOSSES["asks-the-question"],
            "You inverted `asked`: your loss covers exactly the tokens that it does not mark. True marks the tokens"
            " that the model has to predict.",
        ),
        "summed": Wrong(
            _WRONG_LOSSES["summed"],
            "You return the sum over the tokens that `asked` marks, which grows with the number of texts in the batch."
            " Return the mean instead.",
        ),
        "shared-among-all": _loss.replace(reduce=lambda losses, asked: (losses * asked).mean()).wrong(
            "Tokens that `asked` does not mark add 0 to your sum, but you still count them: you divide the sum by the"
            " total number of next tokens. Divide by the number of tokens that `asked` marks."
        ),
        "shared-among-all-tokens": Wrong(
            _loss.replace(reduce=lambda losses, asked: (losses * asked).sum() / (asked.numel() + len(asked))),
            "You divide the sum over the target tokens by the number of all tokens. Divide by the number of tokens that"
            " `asked` marks.",
        ),
        "summed-for-each-text": _loss.replace(reduce=lambda losses, asked: (losses * asked).sum() / len(asked)).wrong(
            "You divide the sum over the target tokens by the number of texts, so longer answers make the loss larger."
            " Divide by the number of tokens that `asked` marks."
        ),
        "mean-of-means": _loss.replace(reduce=_mean_of_text_means).wrong(
            "You average within each text and then over the texts, so a token of a short answer has more weight than a"
            " token of a long answer. All tokens of the batch that `asked` marks should have the same weight."
        ),
        "one-for-each-text": _loss.replace(reduce=lambda losses, asked: (losses * asked).sum(1) / asked.sum(1)).wrong(
            "You return one number per text. Training minimises a single number: the mean over all tokens of the batch"
            " that `asked` marks."
        ),
        "one-for-each-token": _loss.replace(reduce=lambda losses, asked: losses[asked]).wrong(
            "You return one number for each token that `asked` marks. Training minimises a single number: the mean of"
            " these numbers."
        ),
        "stop-left-out": Wrong(
            lambda logits, tokens, asked: _loss(logits, tokens, asked & (tokens != STOP)),
            "You leave out token 0 everywhere. `asked` also marks the stop token after an answer; a model that never"
            " learns to predict this token would never stop generating.",
        ),
        "padding-left-out": Wrong(
            lambda logits, tokens, asked: _loss(logits, tokens, tokens != STOP),
            "You leave out token 0, keep all other tokens, and never use `asked`. So the loss includes the random"
            " letters of the question, but never the stop token.",
        ),
        "asked-for-stops": Wrong(
            lambda logits, tokens, asked: _WRONG_LOSSES["everything-asked"](
                logits, tokens.masked_fill(~asked, STOP), asked
            ),
            "Where `asked` is False, you replace the token with 0, so the model is trained to predict the stop token"
            " there. Leave these tokens out of the mean.",
        ),
        "sign": Wrong(
            lambda logits, tokens, asked: -_loss(logits, tokens, asked),
            "The sign is wrong: you return the mean log-probability, which is negative, and minimising it would make"
            " the right tokens less likely. The loss should be minus this mean.",
        ),
        "no-logarithm": _loss.replace(score=lambda logits: -logits.softmax(-1)).wrong(
            "You return minus the mean probability of the right tokens. Cross-entropy takes the logarithm of each"
            " probability, so that a confident mistake costs a lot."
        ),
        "distance-from-one": _loss.replace(score=lambda logits: 1 - logits.softmax(-1)).wrong(
            "You return the mean of 1 minus the probability of the right token. Cross-entropy takes minus the"
            " logarithm of each probability, so that a confident mistake costs a lot."
        ),
        "logit-for-log-probability": _loss.replace(score=torch.neg).wrong(
            "You return minus the mean logit of the right tokens. A single logit says little: only a softmax compares"
            " it with the other logits."
        ),
        "log-of-the-mean": Wrong(
            _loss.replace(score=lambda logits: logits.softmax(-1), reduce=lambda p, asked: -p[asked].mean().log()),
            "You take the logarithm of the mean probability. First take the logarithm of each target token's"
            " probability, then the mean.",
        ),
        "softmax-twice": Wrong(
            lambda logits, tokens, asked: _loss(logits.softmax(-1), tokens, asked),
            "You apply a softmax before the cross-entropy, which applies one itself. Give it the logits unchanged.",
        ),
        "bits": Wrong(
            lambda logits, tokens, asked: _loss(logits, tokens, asked) / torch.tensor(2.0).log(),
            "Your loss is in bits, with the logarithm to base 2. torch's cross-entropy uses the natural logarithm.",
        ),
        "share-wrong": _loss.replace(score=lambda logits: (logits < logits.amax(-1, keepdim=True)).float()).wrong(
            "You return the fraction of the marked tokens that the model predicts wrongly. This fraction changes in"
            " jumps and gives no useful gradient; cross-entropy measures how likely the right token is."
        ),
        "softmax-over-places": _loss.replace(score=lambda logits: -logits.log_softmax(1)).wrong(
            "Your softmax runs over the positions of a text. At each position, the probabilities of all tokens of the"
            " vocabulary should sum to one."
        ),
        "divided-by-the-vocabulary": Wrong(
            lambda logits, tokens, asked: _loss(logits, tokens, asked) / logits.shape[-1],
            "You also average over the vocabulary, so your loss is too small by a factor of vocab. Each token that"
            " `asked` marks should contribute a single number: the loss of the right token.",
        ),
    },
    hints=Hints(
        "Which position predicts the token at position 5? Leave out one position of the logits and one position of the"
        " tokens, so that each row of logits lines up with the token that it predicts.",
        "Leave out the last position of logits, and the first position of tokens and asked. Then use asked, a bool"
        " tensor, to select from the logits and the tokens.",
        "F.cross_entropy takes the logits [n, vocab] and the right tokens [n], and returns the mean loss. Here, n is"
        " the number of tokens that `asked` marks. logits[:, :-1] lines up with tokens[:, 1:].",
    ),
)


@with_steps
def _training_step(
    model,
    optimizer,
    batch,
    *,
    forget=True,
    backward=True,
    steps=1,
    early=False,
    mode=True,
    loss=_loss,
    sign=1.0,
    change=lambda grads: grads,
    cleared=lambda p: True,
    move=lambda model, optimizer: optimizer.step(),
    returns=lambda loss, recompute: loss.item(),
):
    """Take a training step.

    `returns(loss, recompute)` computes the result; `cleared` selects the parameters whose gradients are cleared.
    """
    tokens, asked = batch
    parameters = list(model.parameters())
    model.train(mode)
    if early:
        optimizer.step()
    for p in parameters:
        if forget and cleared(p):
            p.grad = None
    value = loss(model(tokens), tokens, asked)
    if backward:
        for p, grad in zip(parameters, change(torch.autograd.grad(sign * value, parameters))):
            p.grad = grad if p.grad is None else p.grad + grad
    for _ in range(0 if early else steps):
        move(model, optimizer)
    return returns(value, lambda: loss(model(tokens), tokens, asked))


def _step_without_gradients(model, optimizer):
    model.zero_grad()
    optimizer.step()


@wrong_answer
def _step_before_backward(model, optimizer, batch):
    """The parameters have not moved: you call step before backward, when there are no gradients yet. Clear the old
    gradients, then call backward, then step.
    """
    model.zero_grad()
    optimizer.step()
    return _training_step.replace(steps=0)(model, optimizer, batch)


def _by_hand(model, optimizer):
    with torch.no_grad():
        for p in model.parameters():
            p -= optimizer.param_groups[0]["lr"] * p.grad


def _with_its_own_rate(model, optimizer):
    for group in optimizer.param_groups:
        group["lr"] = 5e-3
    optimizer.step()


def _clipped(grads):
    norm = torch.stack([grad.norm() for grad in grads]).norm()
    return [grad * (1 / norm).clamp(max=1) for grad in grads]


def _training_case(rand, batch, seq, vocab, signs=False, fresh=False, gain=3.0, note=""):
    model = FakeTrainableModel(rand(vocab, vocab), rand(vocab), signs, fresh=fresh, gain=gain)
    return case(model, model.optimizer, _sample_texts(rand, batch, seq, vocab), note=note)


_FACT_MESSAGES = (
    "the returned value is not a float",
    "the model is in eval mode after the step",
    "the parameters have not moved",
    "the optimizer took more than one step, or none",
)


def _one_step_of_its_optimizer(probe):
    """Check that the answer calls `step` on the given optimizer exactly once."""
    for trial in probe.trials:
        value = trial.yours.value
        if isinstance(value, tuple) and value[2][3] != 1:
            count = int(value[2][3])
            steps = f"took {count} steps" if count else "took no step"
            why = (
                "The caller of your function runs the loop."
                if count
                else "It knows the parameters, the learning rate and its own earlier steps."
            )
            return f"The optimizer that is passed in {steps}, but it should take one step. {why}"
    return None


def _moves_as_far_as_expected(probe):
    """If the parameters move in the right direction, but not as far as they should, name the factor."""
    for trial in probe.trials:
        if isinstance(trial.yours.value, tuple) and not trial.is_correct(probe.exercise):
            if not torch.equal(trial.yours.value[2], trial.expected.value[2]):
                return None  # the report on the difference also names a wrong fact
            start = torch.vstack([trial.case.args[0].table, trial.case.args[0].bias]).detach()
            yours, expected = (value[0].double() - start for value in (trial.yours.value, trial.expected.value))
            factor = float((yours * expected).sum() / expected.square().sum())
            is_scaled = abs(factor) > 1e-3 and abs(factor - 1) > 1e-3
            if is_scaled and torch.allclose(yours, factor * expected, rtol=1e-3, atol=1e-5):
                return (
                    f"{call_text(probe.exercise, trial.case)}: the parameters move {format_number(factor, 3)} times as"
                    " far as they should. Does your code change the loss, the gradients or the learning rate?"
                )
    return None


exercise(
    "training_step",
    unswept={"training": "the lesson calls this function with a model in training mode"},
    oracle=_training_step,
    view=view_training_step,
    cases=lambda rand: [
        _training_case(rand, 3, 6, 4, note="with a model that still has the gradients of an earlier step"),
        _training_case(rand, 2, 5, 4, fresh=True, note="with a new model, which has no gradients yet"),
        _training_case(rand, 2, 6, 4, gain=100.0, note="with a model that has large gradients"),
        _training_case(
            rand,
            2,
            8,
            5,
            signs=True,
            note=("with an optimizer that steps along the signs of the gradients, as AdamW does in its first step"),
        ),
    ],
    returns=(Float("row column", "parameters"), Float("", "loss"), Facts("the state after the step")),
    explain_entry=lambda index, yours, expected: _FACT_MESSAGES[index[0]] if len(index) == 1 else "",
    differentiable=False,
    properties=[_one_step_of_its_optimizer, _moves_as_far_as_expected],
    misconceptions={
        "old-gradients-added": _training_step.replace(forget=False).wrong(
            "The gradients of an earlier step were still there, and backward added this batch's gradients to them."
            " Clear the old gradients before backward; otherwise they become part of this step."
        ),
        "old-gradients-of-biases": _training_step.replace(cleared=lambda p: p.dim() > 1).wrong(
            "The old gradients of parameters with one axis, such as biases, were still there, and backward added this"
            " batch's gradients to them. Clear the gradients of all parameters."
        ),
        "own-learning-rate": _training_step.replace(move=_with_its_own_rate).wrong(
            "The step used the learning rate 0.005, not the learning rate of the optimizer that is passed in. The"
            " caller changes this rate from step to step."
        ),
        "no-step": _training_step.replace(steps=0).wrong(
            "The gradients exist, but the parameters have not moved, and the optimizer took no step. Call the"
            " optimizer's step to apply the gradients."
        ),
        "step-before-backward": _step_before_backward,
        "no-gradients": _training_step.replace(move=_step_without_gradients).wrong(
            "The parameters have not moved and have no gradients: either backward is missing, or the gradients were"
            " cleared before the step. Clear the old gradients, then call backward, then step."
        ),
        "old-gradients-only": _training_step.replace(forget=False, backward=False).wrong(
            "The step used the gradients of an earlier batch. The gradients of this batch do not exist until backward"
            " has run."
        ),
        "step-first": _training_step.replace(early=True).wrong(
            "You call step before backward, so the step used the gradients of an earlier batch. The gradients of this"
            " batch do not exist until backward has run."
        ),
        "loss-as-a-tensor": _training_step.replace(returns=lambda loss, recompute: loss).wrong(
            "The step is right, but the loss that you return is not a float. A float is only a number, but a tensor may"
            " keep its computation graph in memory."
        ),
        "loss-after-the-step": _training_step.replace(returns=lambda loss, recompute: recompute().item()).wrong(
            "You return the loss of the model after the step. Return the loss that you computed before the step; this"
            " needs no second forward pass."
        ),
        "everything-asked": _training_step.replace(loss=_WRONG_LOSSES["everything-asked"]).wrong(
            "Your loss covers all next tokens, including the random letters of the question. answer_loss should cover"
            " only the answer."
        ),
        "asks-the-question": _training_step.replace(loss=_WRONG_LOSSES["asks-the-question"]).wrong(
            "Your loss covers the tokens that `asked` does not mark, because it uses the inverse of `asked`."
        ),
        "its-own-token": _training_step.replace(loss=_WRONG_LOSSES["its-own-token"]).wrong(
            "Your loss compares the logits at each position with the token at the same position, which the model has"
            " already read. answer_loss should compare the logits with the next tokens."
        ),
        "asks-the-place-before": _training_step.replace(loss=_WRONG_LOSSES["asks-the-place-before"]).wrong(
            "`asked` is shifted by one position: it marks tokens, and your loss uses it for the positions that predict"
            " these tokens."
        ),
        "summed": _training_step.replace(loss=_WRONG_LOSSES["summed"]).wrong(
            "Your loss is the sum over the tokens that `asked` marks, so a larger batch gives larger gradients."
            " answer_loss should return the mean."
        ),
        "uphill": _training_step.replace(sign=-1.0).wrong(
            "Your step goes uphill: it makes the right tokens less likely. The optimizer reduces the value that you"
            " call backward on, so call backward on the loss itself."
        ),
        "eval-mode": _training_step.replace(mode=False).wrong(
            "The step ran in eval mode, which switches off layers such as dropout. A training step should run in"
            " training mode."
        ),
        "eval-mode-until-the-step": _training_step.replace(
            mode=False, move=lambda model, optimizer: (model.train(), optimizer.step())
        ).wrong(
            "You computed the loss in eval mode, which switches off layers such as dropout. A training step should run"
            " in training mode from its first line."
        ),
        "left-in-eval-mode": Wrong(
            _training_step.replace(returns=lambda loss, recompute: loss.item(), move=lambda m, o: (o.step(), m.eval())),
            "The step is right, but the model is in eval mode after it. The model is in training mode when your"
            " function is called, and must stay in it.",
        ),
        "two-steps": _training_step.replace(steps=2).wrong(
            "The optimizer took two steps with the same gradients. After one step, the gradients are out of date and"
            " must be computed again."
        ),
        "by-hand": _training_step.replace(move=_by_hand).wrong(
            "You subtracted the learning rate times the gradient from each parameter, as plain gradient descent does."
            " Let the optimizer that is passed in take the step: AdamW, which the lesson uses, updates the parameters"
            " in a different way."
        ),
        "clipped": _training_step.replace(change=_clipped).wrong(
            "You clipped the gradients to a norm of at most 1 before the step. Clipping is a remedy for very large"
            " gradients; this step should use the gradients unchanged."
        ),
    },
    hints=Hints(
        "What does backward do with gradients that are already there? And what does the optimizer's step read?",
        "In order: clear the old gradients, compute the logits and the loss, call backward, then step. Return the"
        " loss as a float.",
        "The optimizer has zero_grad and step; the loss has backward and item. The batch is a pair: tokens, which go"
        " into the model, and asked, which goes into answer_loss with the logits and the tokens.",
    ),
)


@with_steps
def _generate_text(
    model,
    tokenizer,
    prompt,
    max_len=28,
    *,
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
    """Generate greedily. `n` is the length of the prompt."""
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


@wrong_answer
def _only_when_it_stops(model, tokenizer, prompt, max_len=28):
    """If the model never predicts the stop token, you return nothing: is your only return inside the loop? Also return
    the text if the loop ends because max_len tokens were added.
    """
    text = _generate_text(model, tokenizer, prompt, max_len)
    return text if len(text) < len(prompt) + max_len else None


def _generate_by_tensors(model, tokenizer, prompt, max_len=28):
    ids = tokenizer.encode(prompt, return_tensors="pt")
    left = max_len
    while left and int(new := model(ids)[:, -1].topk(1).indices) != STOP:
        ids, left = torch.cat((ids, new), dim=1), left - 1
    return tokenizer.decode(ids[0])


_GREEDY = draws_nothing(
    "Your loop samples random numbers: do you sample the next token from the probabilities? Greedy decoding takes the"
    " most likely token, so that a prompt always gets the same answer."
)


def _prompt_then_new(probe):
    """Check that the text consists of the prompt and the correct number of new characters."""
    for trial in probe.trials:
        yours, wanted, prompt = trial.yours.value, trial.expected.value, trial.case.args[2]
        if not isinstance(yours, str) or yours == wanted:
            continue
        if not yours.startswith(prompt):
            return (
                f"The prompt was {prompt!r} and your text is {yours!r} ({trial.case.note}). The text should begin"
                " with the unchanged prompt."
            )
        if len(yours) != len(wanted):
            count, due = len(yours) - len(prompt), len(wanted) - len(prompt)
            return (
                f"After {prompt!r} your text has {count} new character{'s' * (count != 1)}, but {due}"
                f" {'is' if due == 1 else 'are'} expected ({trial.case.note}). Check when your loop ends (it should end"
                " when the model predicts token 0, or after max_len new tokens), and what the model reads in each"
                " iteration."
            )
    return None


exercise(
    "generate_text",
    oracle=_generate_by_tensors,
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
            note="with a model that predicts 0 within the prompt, and stops when the text has 8 letters",
        ),
        case(
            FakeTextModel(rand(9, 9), forced_characters={5: " "}),
            LetterTokenizer(),
            "head",
            max_len=2,
            note="with a model whose text must end with a space",
        ),
    ],
    differentiable=False,
    properties=[_GREEDY, _prompt_then_new],
    misconceptions={
        "stops-at-any-place": Wrong(
            _generate_text.replace(stops=lambda new, logits: bool((logits.argmax(-1) == STOP).any())),
            "Your loop ends as soon as the model predicts 0 at any position, which can also happen within the text."
            " Only the logits at the last position predict the next token.",
        ),
        "stripped": _generate_text.replace(tidy=str.strip).wrong(
            "You removed the spaces at the ends of the text. Return the text unchanged, even if its last character is a"
            " space."
        ),
        "never-stops": _generate_text.replace(stops=lambda new, logits: False).wrong(
            "Token 0 means stop, but your loop goes on. The model was never trained to write anything after a stop"
            " token, so the rest of the text is noise."
        ),
        "stops-at-the-full-stop": Wrong(
            _generate_text.replace(until=lambda new: new == LetterTokenizer().encode(".")[0]),
            "Your loop ends at a full stop. A text may go on after a full stop; the model predicts token 0 when the"
            " text ends.",
        ),
        "stops-at-the-full-stop-alone": Wrong(
            _generate_text.replace(
                stops=lambda new, logits: False, until=lambda new: new == LetterTokenizer().encode(".")[0]
            ),
            "Your loop ends at a full stop and goes on after token 0. It should be the other way round: token 0 is"
            " the end, and a text may go on after a full stop.",
        ),
        "keeps-the-stop": _generate_text.replace(keep_stop=True).wrong(
            "You append the stop token before the loop ends. It only signals the end and should not be part of the"
            " text."
        ),
        "answer-only": _generate_text.replace(show=lambda ids, n: ids[n:]).wrong(
            "You return only what the model added. The text should begin with the prompt."
        ),
        "first-position": _generate_text.replace(where=lambda logits: logits[0, 0]).wrong(
            "You read the logits of position 0, which predict what follows the first letter. The logits of the last"
            " position predict what follows the text."
        ),
        "least-likely": _generate_text.replace(pick=torch.argmin).wrong(
            "You take the token with the lowest logit. The most likely token has the highest logit."
        ),
        "forgets-the-text": _generate_text.replace(feed=lambda ids, n: ids[-1:]).wrong(
            "Only the newest token goes into the model. The model remembers nothing between two calls, so pass it the"
            " whole text each time."
        ),
        "forgets-the-prompt": _generate_text.replace(feed=lambda ids, n: ids if len(ids) == n else ids[-1:]).wrong(
            "After the first iteration only the newest token goes into the model. The model remembers nothing between"
            " two"
            " calls, so pass it the whole text each time."
        ),
        "forgets-the-first": _generate_text.replace(feed=lambda ids, n: ids[n:] or ids).wrong(
            "After the first iteration the model sees what it wrote, but no longer the prompt. It remembers nothing"
            " between two calls, so pass it the whole text each time."
        ),
        "never-feeds-back": _generate_text.replace(feed=lambda ids, n: ids[:n]).wrong(
            "You take every new token from the same logits: those at the end of the prompt. Append each new token to"
            " what the model reads, and take the logits of the last position."
        ),
        "max-len-of-the-whole": _generate_text.replace(rounds=lambda max_len, n: max(0, max_len - n)).wrong(
            "You count the prompt in max_len too, so a longer prompt gets a shorter answer. max_len should be the"
            " largest number of new tokens."
        ),
        "nothing-without-a-stop": _only_when_it_stops,
        "max-len-ignored": _generate_text.replace(rounds=lambda max_len, n: 28).wrong(
            "You allow 28 new tokens whatever max_len is. 28 is only the default: use the argument."
        ),
        "one-token": _generate_text.replace(rounds=lambda max_len, n: 1).wrong(
            "You add only one token. Repeat the loop until the model predicts the stop token or max_len new tokens have"
            " been added."
        ),
        "one-too-few": _generate_text.replace(rounds=lambda max_len, n: max_len - 1).wrong(
            "If the model never predicts the stop token, you add max_len - 1 tokens instead of max_len tokens. Count"
            " the iterations: each iteration adds one token."
        ),
        "one-too-many": _generate_text.replace(rounds=lambda max_len, n: max_len + 1).wrong(
            "If the model never predicts the stop token, you add max_len + 1 tokens instead of max_len tokens. Count"
            " the iterations: each iteration adds one token."
        ),
    },
    hints=Hints(
        "This is the loop of lesson 01 with a way to stop: read the logits at the last position, append the best token,"
        " repeat.",
        'encode returns the ids; with return_tensors="pt", it returns them as a batch of one text. Look at the best'
        " token before you append it: if it is 0, leave the loop.",
        "In each of max_len iterations, take the argmax of the logits at the last position; leave the loop if it is 0,"
        " otherwise append it to the ids with torch.cat along dim 1. After the loop, decode the first row.",
    ),
)
