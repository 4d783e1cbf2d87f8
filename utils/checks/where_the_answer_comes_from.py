"""Exercises of lesson 13: what is read in a model, exchanged, removed, and the score of an induction head."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional as F

from utils.feedback.compare import values_equal
from utils.feedback.exercise import Facts, Float, Hints, Wrong, case, exercise, sample_parameter
from utils.feedback.runner import make_runner
from utils.models.your_own_gpt2 import GPTConfig
from utils.test_doubles.where_the_answer_comes_from import HeadOutputModel, view_without_hooks
from utils.test_doubles.your_own_gpt2 import FakeGPT

# Widths, heads and blocks of different numbers; the head's width is no number of heads.
_WIDE = GPTConfig(vocab_size=17, n_positions=12, d_model=12, n_layers=3, n_heads=3, eps=1e-2)
_NARROW = GPTConfig(vocab_size=13, n_positions=9, d_model=10, n_layers=2, n_heads=5, eps=1e-2)
# More blocks than the model of the page.
_DEEP = GPTConfig(vocab_size=11, n_positions=7, d_model=6, n_layers=6, n_heads=2, eps=1e-2)


def _model(config: GPTConfig, rand: Callable[..., Tensor]) -> FakeGPT:
    """A model with drawn parameters."""
    seed = int(rand.integers(1, high=10_000))
    return FakeGPT(config, lambda name, shape: sample_parameter(name, shape, seed)).eval().requires_grad_(False)


def _logits(model, x):
    """The stream at its end to logits, by torch's own norm."""
    norm = model.ln_f
    return F.linear(F.layer_norm(x, x.shape[-1:], norm.w, norm.b, norm.eps), model.wte.weight)


def _streams(model, tokens):
    """The stream before each block, and after the last: overheard, [layers + 1, batch, seq, d_model]."""
    heard, parts = [], (*model.blocks, model.ln_f)
    hooks = [part.register_forward_pre_hook(lambda _, given: heard.append(given[0].clone())) for part in parts]
    model(tokens)
    for hook in hooks:
        hook.remove()
    return torch.stack(heard)


# --- what is left behind -----------------------------------------------------------------------------------


def _as_it_was(probe):
    """The right result, and another model afterwards."""
    values = [trial.yours.value for trial in probe.trials]
    if any(trial.yours.failure or trial.yours.changed for trial in probe.trials):
        return None
    if not all(isinstance(value, tuple) and isinstance(value[0], Tensor) for value in values):
        return None
    for value, trial in zip(values, probe.trials):
        wanted = trial.expected.value[0]
        if value[0].shape != wanted.shape or not torch.allclose(value[0], wanted, atol=1e-4):
            return None
    if hooks := max(int(value[2][0]) for value in values):
        are = "a hook is" if hooks == 1 else f"{hooks} hooks are"
        return (
            f"The result is right, and {are} still in the model after the call, so every later run goes through"
            f" {'it' if hooks == 1 else 'them'}. Keep what register_… returns, and call remove() on it."
        )
    if any(value[2][1] for value in values):
        return "The result is right, and the model is left in training mode. Leave it as it was."
    if not probe.has_correct_values:
        return (
            "The result is right, but afterwards the model gives other logits than before: a part of it has been"
            " changed and not put back. Every later measurement would be of another model."
        )
    return None


def _left_behind(index, yours, expected):
    return ("hooks are left in the model", "the model is in training mode")[index[0]] if len(index) == 1 else ""


_LEFT = (
    "The hook is still in the model after the call, so every later run goes through it. Keep what register_… returns,"
    " and call remove() on it."
)
_AFTERWARDS = Float("batch seq vocab", "what the model gives afterwards"), Facts("what is left behind")
_RETURNS = (Float("batch seq vocab", "logits"), *_AFTERWARDS)


# --- read --------------------------------------------------------------------------------------------------


def _lens(
    rows=lambda streams: streams,
    place=lambda streams: streams[:, 0, -1],
    out=_logits,
    result=lambda logits: logits,
):
    """`logit_lens` with one step replaced."""
    return lambda model, tokens: result(out(model, place(rows(_streams(model, tokens)))))


def _by_a_loop(
    goes_on=lambda model, x: x,
    first=lambda model, x: x,
    places=True,
    blocks=lambda model: model.blocks,
    through=lambda block, x, start: block(x),
    written_over=False,
):
    """`logit_lens` by a loop over the blocks, with another stream than the model's; where it is `written_over`, every
    row is in the end a view of the last."""

    def answer(model, tokens):
        x = F.embedding(tokens, model.wte.weight)
        x = first(model, x + model.wpe.weight[: tokens.shape[1]] * places)
        rows = [_logits(model, x) if first(model, x) is x else F.linear(x, model.wte.weight)]
        start = x
        for block in blocks(model):
            x = through(block, x, start)
            rows.append(_logits(model, x))
            x = goes_on(model, x)
        return torch.stack([rows[-1]] * len(rows) if written_over else rows)[:, 0, -1]

    return answer


def _normed(model, x):
    return model.ln_f(x)


def _normed_at_the_end(model, x):
    return torch.cat((F.linear(x[:-1], model.wte.weight), _logits(model, x[-1:])))


def _plain_norm(model, x):
    return F.linear(F.layer_norm(x, x.shape[-1:]), model.wte.weight)


exercise(
    "logit_lens",
    oracle=_lens(),
    cases=lambda rand: [
        case(_model(_WIDE, rand), rand.integers(1, 5, high=17)),
        case(_model(_NARROW, rand), rand.integers(1, 9, high=13), note="as long as it can be"),
        case(_model(_WIDE, rand), rand.integers(1, 1, high=17), note="a single token"),
        case(_model(_DEEP, rand), rand.integers(1, 6, high=11), note="with more blocks than the page's model"),
    ],
    returns=(Float("layers+1 vocab", "logits"), *_AFTERWARDS),
    view=view_without_hooks,
    explain_entry=_left_behind,
    differentiable=False,
    atol=1e-4,
    properties=[_as_it_was],
    misconceptions={
        "no-final-norm": Wrong(
            _lens(out=lambda model, x: F.linear(x, model.wte.weight)),
            "ln_f is missing. The head was trained on the normalised stream, and reads the raw one on another scale.",
        ),
        "norm-without-its-parameters": Wrong(
            _lens(out=_plain_norm),
            "The stream is normalised, and ln_f's own w and b have no part in it. Use the model's ln_f.",
        ),
        "normed-at-the-end-only": Wrong(
            _lens(out=_normed_at_the_end),
            "Only the last row goes through ln_f. Every row is read as if the model ended there, so every one does.",
        ),
        "no-embeddings": Wrong(
            _lens(rows=lambda s: s[1:]),
            "The first row is missing: what the stream says before any block, when it holds only the embeddings.",
        ),
        "not-after-the-last": Wrong(
            _lens(rows=lambda s: s[:-1]),
            "The last row is missing: the stream after the last block. There are n_layers + 1 places to read.",
        ),
        "what-each-block-adds": Wrong(
            _lens(rows=lambda s: torch.cat((s[:1], s.diff(dim=0)))),
            "These rows read what each block adds. The stream is the sum of all that was added so far.",
        ),
        "first-position": Wrong(
            _lens(place=lambda s: s[:, 0, 0]),
            "The first position is read. The next token is predicted at the last.",
        ),
        "every-position": Wrong(
            _lens(place=lambda s: s[:, 0]),
            "Every position is read. Only the last is asked for: it predicts the next token.",
        ),
        "mean-of-positions": Wrong(
            _lens(place=lambda s: s[:, 0].mean(1)),
            "The stream is averaged over all positions. The next token is predicted at the last one alone.",
        ),
        "probabilities": Wrong(
            _lens(result=lambda logits: logits.softmax(-1)),
            "These are probabilities. Logits are asked for; softmax is taken of them later, where it is needed.",
        ),
        "backwards": Wrong(
            _lens(rows=lambda s: s.flip(0)),
            "The rows are in the opposite order. Row 0 is read before the first block, the last row after the last.",
        ),
        "first-twice": Wrong(
            _lens(rows=lambda s: torch.cat((s[:1], s[:-1]))),
            "The first row stands there twice, and the last is missing: each row was kept before its block, and what"
            " the last one made never.",
        ),
        "normed-from-the-start": Wrong(
            _by_a_loop(goes_on=_normed, first=_normed),
            "Every block is given the normalised stream, the first one too. The lens reads a copy; the stream itself"
            " goes on as it is.",
        ),
        "normed-stream-goes-on": Wrong(
            _by_a_loop(goes_on=_normed),
            "The next block is given the normalised stream. The lens reads a copy; the stream itself goes on as it is.",
        ),
        "four-blocks": Wrong(
            _by_a_loop(blocks=lambda model: model.blocks[:4]),
            "Four blocks are gone through, as many as the page's model has. Another model has another number: go"
            " through all of model.blocks.",
        ),
        "written-over": Wrong(
            _by_a_loop(written_over=True),
            "All rows are the last one: the stream was changed in place, and what was kept of it before is a view of"
            " the same numbers. Let each block make a new tensor.",
        ),
        "stream-added-twice": Wrong(
            _by_a_loop(through=lambda block, x, start: x + block(x)),
            "The stream is added once more around each block. A block already returns the stream and what it found.",
        ),
        "each-from-the-embeddings": Wrong(
            _by_a_loop(through=lambda block, x, start: block(start)),
            "Every block is fed the embeddings. What a block returns is what the next one reads.",
        ),
        "no-positions": Wrong(
            _by_a_loop(places=False),
            "The position vectors are missing. The stream begins as the sum of wte and wpe.",
        ),
    },
    hints=Hints(
        "Run the model as its forward does. At which points do you have a stream that could be read?",
        "Begin with the embeddings of tokens and positions, and keep the last position's vector before the first block"
        " and after each block. Then read all of them as the model reads its last one.",
        "A list that starts with x[0, -1] and grows by one in the loop over model.blocks; torch.stack makes it"
        " [layers + 1, d_model]. Then model.ln_f, and the product with model.wte.weight.T.",
    ),
)


# --- exchange ----------------------------------------------------------------------------------------------


def _patch(
    into=lambda clean, corrupted: clean,
    source=lambda clean, corrupted: corrupted,
    where=lambda layer: layer,
    taken=lambda layer: layer,
    positions=lambda position: position,
    put=lambda mine, theirs: theirs,
    again=False,
    part=lambda block: block,
    leave=False,
    norm=True,
):
    """`patch_stream` with one step replaced, by hooks."""

    def answer(model, clean, corrupted, layer, position):
        theirs = _streams(model, source(clean, corrupted))
        start, at = where(layer), positions(position)
        hooks = []

        def exchange(depth):
            def hook(_, given):
                x = given[0].clone()
                x[:, at] = put(x[:, at], theirs[depth if again else taken(layer)][:, at])
                return x

            return hook

        for depth, block in enumerate((*model.blocks, model.ln_f)):
            if depth == start or (again and start < depth < len(model.blocks)):
                hooks.append(part(block).register_forward_pre_hook(exchange(depth)))
        if not norm:  # the head alone reads the stream at its end
            hooks.append(model.ln_f.register_forward_hook(lambda _, given, made: given[0]))
        logits = model(into(clean, corrupted))
        for hook in [] if leave else hooks:
            hook.remove()
        return logits

    return answer


def _ends_early(rest):
    """The exchange, and of the blocks after it only some."""

    def answer(model, clean, corrupted, layer, position):
        mine, theirs = (_streams(model, tokens)[layer].clone() for tokens in (clean, corrupted))
        mine[:, position] = theirs[:, position]
        for block in rest(model.blocks, layer):
            mine = block(mine)
        return _logits(model, mine)

    return answer


def _token_exchanged(model, clean, corrupted, layer, position):
    mixed = clean.clone()
    mixed[:, position] = corrupted[:, position]
    return model(mixed)


def _first_text_only(mine, theirs):
    return torch.cat((theirs[:1], mine[1:]))


def _what_was_exchanged(probe):
    """Where one vector was exchanged, at another place than it was asked for."""
    oracle = make_runner(probe.exercise, probe.exercise.oracle)
    for trial in probe.trials:
        if trial.is_correct(probe.exercise) or trial.yours.failure or not isinstance(trial.yours.value, tuple):
            continue
        model, clean, corrupted, layer, position = trial.case.args
        for i, j in itertools.product(range(len(model.blocks)), range(clean.shape[1])):
            asked = replace(trial.case, args=(model, clean, corrupted, i, j))
            if (i, j) != (layer, position) and values_equal(trial.yours.value[0], oracle.run(asked).value[0], 1e-4):
                return (
                    f"Asked for block {layer} and position {position}, yours exchanges the vector at position {j}"
                    f" before block {i}."
                )
        mine, whole = trial.yours.value[0], oracle.run(replace(trial.case, args=(model, clean, clean, 0, 0))).value[0]
        if mine.shape == whole.shape and position and not values_equal(mine[:, :position], whole[:, :position], 1e-4):
            return (
                f"Asked for position {position}, the positions before it have other logits than in the clean run, and"
                " none of them can see it: something else is exchanged, or the run itself is not the model's."
            )
        if mine.shape == whole.shape and position:
            return (
                f"Asked for block {layer} and position {position}, the positions before it are right, and not all from"
                f" it on. Is the corrupted run's vector put in as it goes into block {layer}, unchanged, and no other?"
            )
    return None


exercise(
    "patch_stream",
    oracle=_patch(),
    view=view_without_hooks,
    cases=lambda rand: [
        case(_model(_WIDE, rand), rand.integers(2, 5, high=17), rand.integers(2, 5, high=17), 1, 2),
        case(_model(_WIDE, rand), rand.integers(1, 6, high=17), rand.integers(1, 6, high=17), 2, 5),
        case(_model(_NARROW, rand), rand.integers(3, 4, high=13), rand.integers(3, 4, high=13), 0, 1),
        case(_model(_WIDE, rand), rand.integers(2, 4, high=17), rand.integers(2, 4, high=17), 1, 0),
        case(_model(_DEEP, rand), rand.integers(2, 5, high=11), rand.integers(2, 5, high=11), 3, 1),
    ],
    returns=_RETURNS,
    differentiable=False,
    atol=1e-4,
    properties=[_as_it_was, _what_was_exchanged],
    misconceptions={
        "other-way-round": Wrong(
            _patch(into=lambda clean, corrupted: corrupted, source=lambda clean, corrupted: clean),
            "This is the corrupted text with one vector of the clean one. Here the clean text runs, and one of its"
            " vectors comes from the corrupted one.",
        ),
        "rest-not-run": Wrong(
            _ends_early(lambda blocks, layer: []),
            "After the exchange the logits are read at once. What the vector changes is seen only when the run goes on,"
            " through block `layer` and those after it.",
        ),
        "four-blocks": Wrong(
            _ends_early(lambda blocks, layer: blocks[layer:4]),
            "The run ends after four blocks, as many as the page's model has. Another model has another number: go"
            " through all of model.blocks.",
        ),
        "no-final-norm": Wrong(
            _patch(norm=False),
            "ln_f is missing at the end. The head was trained on the normalised stream, and reads the raw one on"
            " another scale.",
        ),
        "after-the-block": Wrong(
            _patch(where=lambda layer: layer + 1, taken=lambda layer: layer + 1),
            "The vector is exchanged after block `layer`. It is what goes into that block that is exchanged.",
        ),
        "taken-after-the-block": Wrong(
            _patch(taken=lambda layer: layer + 1),
            "The vector is taken from the corrupted run after block `layer`, and put in before it. Both are before.",
        ),
        "put-in-at-the-start": Wrong(
            _patch(where=lambda layer: 0),
            "The vector of block `layer` is put in before block 0. It belongs where it was taken from.",
        ),
        "all-positions": Wrong(
            _patch(positions=lambda position: slice(None)),
            "The whole stream is exchanged, at every position, so these are the logits of the corrupted text. Only the"
            " vector at `position` is.",
        ),
        "and-all-before": Wrong(
            _patch(positions=lambda position: slice(position + 1)),
            "Every position up to `position` is exchanged. Only the vector at `position` itself is.",
        ),
        "and-all-behind": Wrong(
            _patch(positions=lambda position: slice(position, None)),
            "Every position from `position` on is exchanged. Only the vector at `position` itself is.",
        ),
        "only-what-attention-reads": Wrong(
            _patch(part=lambda block: block.ln_1),
            "The vector is exchanged where ln_1 reads it, so the block adds to the clean stream all the same. It is the"
            " stream that gets another vector, before the block.",
        ),
        "last-position": Wrong(
            _patch(positions=lambda position: -1),
            "The last position is exchanged, whatever `position` says.",
        ),
        "position-one-early": Wrong(
            _patch(positions=lambda position: position - 1),
            "The position before is exchanged. Positions count from 0.",
        ),
        "in-every-later-block": Wrong(
            _patch(again=True),
            "The vector is exchanged before block `layer` and again before every later one, so this position never sees"
            " the rest of the clean text. It is exchanged once.",
        ),
        "added": Wrong(
            _patch(put=lambda mine, theirs: mine + theirs),
            "The corrupted run's vector is added to the clean one. It replaces it.",
        ),
        "halfway": Wrong(
            _patch(put=lambda mine, theirs: (mine + theirs) / 2),
            "The mean of the two vectors is put in. The corrupted run's replaces the clean one's.",
        ),
        "first-text-only": Wrong(
            _patch(put=_first_text_only),
            "Only the first text of the batch gets the other vector. Every text gets that of its own twin.",
        ),
        "token-exchanged": Wrong(
            _token_exchanged,
            "The token is exchanged, so the text itself is another one from the start. It is the stream before block"
            " `layer` that gets another vector.",
        ),
        "nothing-exchanged": Wrong(
            lambda model, clean, corrupted, layer, position: model(clean),
            "These are the logits of the clean text: nothing was exchanged on the way to them.",
        ),
        "hook-left": Wrong(_patch(leave=True), _LEFT),
    },
    hints=Hints(
        "Two runs. Which vector do you need from the first one, and at what moment of the second do you put it in?",
        "Take both texts through the first `layer` blocks. Then copy one position of the corrupted stream into the"
        " clean one, and let only the clean one go on.",
        "A function of your own, stream(tokens), gives the sum of the embeddings after model.blocks[:layer]. Then"
        " x[:, position] = other[:, position], model.blocks[layer:], model.ln_f, and the product with"
        " model.wte.weight.T.",
    ),
)


# --- remove ------------------------------------------------------------------------------------------------


def _listed(places):
    """Places as text: runs of neighbours as from and to."""
    runs = []
    for place in places:
        if runs and runs[-1][-1] == place - 1:
            runs[-1][-1] = place
        else:
            runs.append([place, place])
    texts = [f"{a}" if a == b else f"{a} to {b}" for a, b in runs]
    return ", ".join(texts[:4]) + (", …" if len(texts) > 4 else "")


def _width(model):
    return model.config.d_model // model.config.n_heads


def _columns(model, head):
    return slice(head * _width(model), (head + 1) * _width(model))


def _without(columns=_columns, layers=lambda layer, n: [layer], silence=None):
    """`without_head` with one step replaced, on the parameters of a copy that nobody else has."""

    def zero(block, columns):
        block.attn.out_proj.weight[:, columns] = 0

    def answer(model, tokens, layer, head):
        held = {name: value.clone() for name, value in model.state_dict().items()}
        for i in layers(layer, len(model.blocks)):
            (silence or zero)(model.blocks[i], columns(model, head))
        logits = model(tokens)
        model.load_state_dict(held)
        return logits

    return answer


def _others(model, head):
    every = torch.arange(model.config.d_model)
    return every[(every < (own := _columns(model, head)).start) | (every >= own.stop)]


def _rows(block, columns):
    block.attn.out_proj.weight[columns] = 0
    block.attn.out_proj.bias[columns] = 0


def _rows_of_weights(block, columns):
    block.attn.out_proj.weight[columns] = 0


def _whole_attention(block, columns):
    block.attn.out_proj.weight.zero_()
    block.attn.out_proj.bias.zero_()


def _with_its_bias(block, columns):
    block.attn.out_proj.weight[:, columns] = 0
    block.attn.out_proj.bias.zero_()


def _whole_block(block, columns):
    _whole_attention(block, columns)
    block.mlp.c_proj.weight.zero_()
    block.mlp.c_proj.bias.zero_()


def _looks_at_all(block, columns):
    block.attn.W_query.weight[columns] = 0
    block.attn.W_query.bias[columns] = 0


def _reads_less(model, tokens, layer, head):
    """Entries of what all heads of the block read are zero."""

    def hook(_, given):
        x = given[0].clone()
        x[..., _columns(model, head)] = 0
        return x

    with model.blocks[layer].attn.register_forward_pre_hook(hook):
        return model(tokens)


def _values_but_no_bias(block, columns):
    block.attn.W_value.weight[columns] = 0


def _at(places):
    """The head's share is removed at some positions only, by a hook."""

    def answer(model, tokens, layer, head):
        def hook(_, given):
            x = given[0].clone()
            x[:, places, _columns(model, head)] = 0
            return x

        hooked = model.blocks[layer].attn.out_proj.register_forward_pre_hook(hook)
        logits = model(tokens)
        hooked.remove()
        return logits

    return answer


def _hook_left(model, tokens, layer, head):
    def hook(_, given):
        x = given[0].clone()
        x[..., _columns(model, head)] = 0
        return x

    model.blocks[layer].attn.out_proj.register_forward_pre_hook(hook)
    return model(tokens)


def _weights_left(model, tokens, layer, head):
    model.blocks[layer].attn.out_proj.weight[:, _columns(model, head)] = 0
    return model(tokens)


def _which_entries_are_zero(probe):
    """Which entries of what goes into out_proj are zero, beside those of the head."""
    for trial in [] if probe.has_correct_values else probe.trials:
        model, tokens, layer, head = trial.case.args
        held = dict(model.named_parameters())
        teller = HeadOutputModel(model.config, lambda name, shape, held=held: held.get(name, torch.zeros(shape)), layer)
        seen = probe.run(replace(trial.case, args=(teller, tokens, layer, head)))
        value = None if seen.failure or not isinstance(seen.value, tuple) else seen.value[0]
        if not isinstance(value, Tensor) or value.dim() != 3 or value.shape[-1] != model.config.d_model:
            return None
        zero = (value == 0).all((0, 1)).nonzero().flatten().tolist()
        own = list(range(model.config.d_model))[_columns(model, head)]
        if zero != own:
            found = f"{_listed(zero)} {'is' if len(zero) == 1 else 'are'} zero" if zero else "none is zero everywhere"
            return (
                f"Of the {model.config.d_model} entries that go into out_proj in block {layer}, {found}. Head {head} of"
                f" {model.config.n_heads} has the entries {own[0]} to {own[-1]}."
            )
    return None


exercise(
    "without_head",
    oracle=_without(),
    view=view_without_hooks,
    cases=lambda rand: [
        case(_model(_WIDE, rand), rand.integers(2, 6, high=17), 1, 2),
        case(_model(_NARROW, rand), rand.integers(1, 5, high=13), 0, 3),
        case(_model(_WIDE, rand), rand.integers(3, 4, high=17), 2, 1),
        case(_model(_NARROW, rand), rand.integers(2, 3, high=13), 1, 0, note="the first head"),
    ],
    returns=_RETURNS,
    differentiable=False,
    atol=1e-4,
    properties=[_as_it_was, _which_entries_are_zero],
    misconceptions={
        "whole-attention": Wrong(
            _without(silence=_whole_attention),
            "All of the block's attention is gone. One head's entries are to be zero; the other heads still write.",
        ),
        "all-heads": Wrong(
            _without(columns=lambda model, head: slice(None)),
            "Every head of the block is silent. Only the entries of head `head` are to be zero.",
        ),
        "whole-block": Wrong(
            _without(silence=_whole_block),
            "The whole block adds nothing, its MLP included. One head of its attention is to be removed.",
        ),
        "the-others": Wrong(
            _without(columns=_others),
            "All heads but this one were removed.",
        ),
        "after-out_proj": Wrong(
            _without(silence=_rows),
            "Entries of what out_proj returns are zero. There the heads are already mixed; a head has entries of its"
            " own only in what goes into out_proj.",
        ),
        "rows-of-out_proj": Wrong(
            _without(silence=_rows_of_weights),
            "Rows of out_proj's weights are zero: they make the entries of its result, where the heads are already"
            " mixed. A head's entries go in, and each of them meets a column.",
        ),
        "before-attention": Wrong(
            _reads_less,
            "Entries of what attention reads are zero. All heads read all entries there; each has entries of its own"
            " only in what goes into out_proj.",
        ),
        "bias-removed-too": Wrong(
            _without(silence=_with_its_bias),
            "The bias of out_proj is gone as well. It belongs to no head and is added in any case.",
        ),
        "interleaved": Wrong(
            _without(columns=lambda model, head: slice(head, None, model.config.n_heads)),
            "Every n_heads-th entry is zero. A head's entries are neighbours: d_model / n_heads of them in a row.",
        ),
        "one-entry": Wrong(
            _without(columns=lambda model, head: slice(head, head + 1)),
            "A single entry is zero. A head has d_model / n_heads of them.",
        ),
        "as-wide-as-there-are-heads": Wrong(
            _without(columns=lambda model, head: slice(head * (n := model.config.n_heads), (head + 1) * n)),
            "n_heads entries are zero. A head has d_model / n_heads of them: the number of heads is not their width.",
        ),
        "starts-at-the-number-of-heads": Wrong(
            _without(columns=lambda model, head: slice(i := head * model.config.n_heads, i + _width(model))),
            "The entries begin at head * n_heads. Each head before this one has d_model / n_heads of them.",
        ),
        "head-from-one": Wrong(
            _without(columns=lambda model, head: slice((head - 1) * (w := _width(model)), head * w)),
            "The head before it is removed. Heads count from 0.",
        ),
        "in-every-block": Wrong(
            _without(layers=lambda layer, n: range(n)),
            "Head `head` is removed in every block. Heads of different blocks share no more than a number: only block"
            " `layer` loses one.",
        ),
        "block-before": Wrong(
            _without(layers=lambda layer, n: [(layer - 1) % n]),
            "The head is removed in the block before. Blocks count from 0.",
        ),
        "looks-at-all": Wrong(
            _without(silence=_looks_at_all),
            "The head's queries or keys are zero, so it looks at all positions alike and writes their mean. A head"
            " that is removed writes nothing.",
        ),
        "values-but-no-bias": Wrong(
            _without(silence=_values_but_no_bias),
            "The head's value matrix is zero, and the bias of its values is still written at every position.",
        ),
        "last-position-only": Wrong(
            _at(slice(-1, None)),
            "The head is silent at the last position only. It is to be removed everywhere: what it writes at other"
            " positions is read by later blocks.",
        ),
        "nothing-removed": Wrong(
            lambda model, tokens, layer, head: model(tokens),
            "These are the logits of the whole model: no head was removed. Does a hook return what it made?",
        ),
        "hook-left": Wrong(_hook_left, _LEFT),
        "weights-left": Wrong(
            _weights_left,
            "The logits are right, but the model has lost that head for good: parameters were set to zero and not put"
            " back. A hook changes nothing that is stored.",
        ),
    },
    hints=Hints(
        "Where in a block do the heads' results still lie side by side, each in entries of its own?",
        "out_proj is given all heads' results, merged. A hook that runs before it can return a copy in which one head's"
        " entries are zero. Take the hook out again afterwards.",
        "width = config.d_model // config.n_heads; the head's entries are those from head * width on, width of them."
        " register_forward_pre_hook on model.blocks[layer].attn.out_proj; its function gets (part, given), and given[0]"
        " is the tensor.",
    ),
)


# --- induction ---------------------------------------------------------------------------------------------


def _score(rows=lambda n: torch.arange(n, 2 * n), ahead=1, turned=False, over=lambda found, n: found.mean(-1)):
    """`induction_score` with one step replaced."""

    def answer(pattern):
        pattern = pattern.transpose(-2, -1) if turned else pattern
        n = pattern.shape[-1] // 2
        asks = rows(n)
        return over(pattern[..., asks, (asks - n + ahead) % (2 * n)], n)

    return answer


def _patterns(rand, *shape, hidden=True):
    """Weights of random scores, each row of which sums to 1."""
    scores = 2 * rand(*shape)
    if hidden:
        scores = scores.masked_fill(torch.ones(shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
    return scores.softmax(-1)


def _previous(pattern):
    return pattern.diagonal(offset=-1, dim1=-2, dim2=-1).mean(-1)


def _favourite(pattern):
    n = pattern.shape[-1] // 2
    asks = torch.arange(n, 2 * n)
    return (pattern[..., n:, :].argmax(-1) == asks - n + 1).float().mean(-1)


def _which_cells_count(probe):
    """Which weights of a small pattern have a part in the score: one at a time is 1, all others are 0."""
    if probe.has_correct_values:
        return None
    n = 4
    cells = torch.eye(4 * n * n).view(-1, 2 * n, 2 * n)
    seen = probe.run(case(cells))
    if seen.failure or not isinstance(seen.value, Tensor) or seen.value.shape != cells.shape[:1]:
        return None
    half = probe.run(case(cells / 2)).value
    if isinstance(half, Tensor) and not values_equal(2 * half, seen.value, 1e-5):
        return (
            "With all weights half as large, the score is not half of what it was. Are hits counted, by an argmax or a"
            " comparison? The score is the mean of the weights themselves."
        )
    counted = [divmod(k, 2 * n) for k in seen.value.nonzero().flatten().tolist()]
    wanted = [(i, i - n + 1) for i in range(n, 2 * n)]
    if counted == wanted:
        return (
            f"On a list of four the right weights are counted, each by {seen.value.max():.3g}, and a mean takes 0.25."
        )
    odd = next((cell for cell in counted if cell not in wanted), None)
    missing = next((cell for cell in wanted if cell not in counted), None)
    says = [f"the weight of query {odd[0]} on key {odd[1]} is counted, and should not be"] if odd else []
    says += (
        [f"{'that' if odd else 'the weight'} of query {missing[0]} on key {missing[1]} is not counted, and should be"]
        if missing
        else []
    )
    return f"On a list of four, written twice at positions 0 to 7, {'; '.join(says)}."


exercise(
    "induction_score",
    oracle=_score(),
    cases=lambda rand: [
        case(_patterns(rand, 3, 8, 8)),
        case(_patterns(rand, 2, 1, 3, 12, 12), note="with an axis for layers and one for lists"),
        case(_patterns(rand, 4, 10, 10, hidden=False), note="a pattern without a mask"),
        case(_patterns(rand, 6, 6), note="a single head"),
    ],
    returns=Float("..."),
    differentiable=False,
    atol=1e-6,
    properties=[_which_cells_count],
    misconceptions={
        "same-token": Wrong(
            _score(ahead=0),
            "This is the weight on the same token, one list earlier. What comes next is one place further on.",
        ),
        "two-ahead": Wrong(
            _score(ahead=2),
            "This is the weight two places behind the earlier occurrence. The token after it is one place behind.",
        ),
        "before-it": Wrong(
            _score(ahead=-1),
            "This is the weight on the token before the earlier occurrence. What came after it is asked for.",
        ),
        "previous-token": Wrong(
            _previous,
            "This is the weight on the previous position. An induction head looks one list back, and one place ahead.",
        ),
        "from-the-end-of-the-first": Wrong(
            _score(rows=lambda n: torch.arange(n - 1, 2 * n)),
            "One query too many: the last token of the first list is counted in, and it has no earlier occurrence.",
        ),
        "last-query-missing": Wrong(
            _score(rows=lambda n: torch.arange(n, 2 * n - 1)),
            "The last query is missing. Its token stands in the first list too, and the place behind that exists.",
        ),
        "first-query-missing": Wrong(
            _score(rows=lambda n: torch.arange(n + 1, 2 * n)),
            "The first query of the second list is missing. Its token has been there before, at position 0.",
        ),
        "last-query-only": Wrong(
            _score(rows=lambda n: torch.arange(2 * n - 1, 2 * n)),
            "Only the last query is looked at. The score is the mean over all queries of the second list.",
        ),
        "over-all-queries": Wrong(
            _score(over=lambda found, n: found.sum(-1) / (2 * n)),
            "The sum is divided by the number of all positions. Only the second list's queries are counted.",
        ),
        "summed": Wrong(
            _score(over=lambda found, n: found.sum(-1)),
            "The weights are summed. The score is their mean, between 0 and 1.",
        ),
        "largest": Wrong(
            _score(over=lambda found, n: found.amax(-1)),
            "This is the largest of the weights. One query says little: the score is the mean over all of them.",
        ),
        "favourite": Wrong(
            _favourite,
            "This is the share of queries that look there most of all. The score is the mean of the weights"
            " themselves.",
        ),
        "first-two-axes": Wrong(
            lambda pattern: pattern.diagonal(offset=1 - pattern.shape[-1] // 2)[..., 1:].mean(-1),
            "The diagonal is that of the first two axes, which may be layers and heads. The last two make a pattern.",
        ),
        "whole-square": Wrong(
            lambda pattern: pattern[..., (n := pattern.shape[-1] // 2) :, 1 : n + 1].mean((-2, -1)),
            "This is the mean over a whole square of weights. Of each query, only the place after the earlier"
            " occurrence of its token is asked for.",
        ),
        "turned": Wrong(
            _score(turned=True),
            "Rows and columns are exchanged. A row holds what one query looks at.",
        ),
        "one-for-all-heads": Wrong(
            _score(over=lambda found, n: found.mean()),
            "One number came out for all heads together. Every head has a score of its own.",
        ),
    },
    hints=Hints(
        "Write down the positions of a list of four that stands there twice. Which key does query 5 look at?",
        "Query i looks at key i - n + 1, where n is half of the length. In a table these keys lie on a diagonal.",
        "pattern.diagonal(offset=..., dim1=-2, dim2=-1) holds the weights on one diagonal. Its first entry belongs to"
        " query n - 1, so leave that out; then the mean over the last axis.",
    ),
)
