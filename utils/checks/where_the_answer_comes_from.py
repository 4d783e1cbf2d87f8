"""Define the exercises of lesson 13: the logit lens, patching, removing a head, and an induction score."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional as F

from utils.checks._wrong_answers import with_steps, wrong_answer
from utils.exercises.compare import values_equal
from utils.exercises.exercise import Facts, Float, Hints, Wrong, case, exercise
from utils.exercises.oracles import make_runner
from utils.exercises.sampler import sample_parameter
from utils.models.your_own_gpt2 import GPTConfig
from utils.test_doubles.where_the_answer_comes_from import HeadOutputModel, view_without_hooks
from utils.test_doubles.your_own_gpt2 import FakeGPT

# The two models differ in all sizes. In both, the width of a head differs from the number of heads.
WIDE = GPTConfig(vocab_size=17, n_positions=72, d_model=12, n_layers=3, n_heads=3, eps=1e-2)
NARROW = GPTConfig(vocab_size=13, n_positions=9, d_model=10, n_layers=2, n_heads=5, eps=1e-2)
# Some block and head numbers in this model have two digits.
DEEP = GPTConfig(vocab_size=11, n_positions=7, d_model=22, n_layers=11, n_heads=11, eps=1e-2)


def sample_model(config: GPTConfig, rand: Callable[..., Tensor]) -> FakeGPT:
    """Return a model with sampled parameters."""
    seed = int(rand.integers(1, high=10_000))
    return FakeGPT(config, lambda name, shape: sample_parameter(name, shape, seed)).eval().requires_grad_(False)


def _logits(model, x):
    """Compute logits from the stream after the last block, with torch's layer norm."""
    norm = model.ln_f
    return F.linear(F.layer_norm(x, x.shape[-1:], norm.w, norm.b, norm.eps), model.wte.weight)


def _streams(model, tokens):
    """Return the stream before each block and after the last block, as [layers + 1, batch, seq, d_model]."""
    streams, parts = [], (*model.blocks, model.ln_f)
    hooks = [part.register_forward_pre_hook(lambda _, inputs: streams.append(inputs[0].clone())) for part in parts]
    model(tokens)
    for hook in hooks:
        hook.remove()
    return torch.stack(streams)


def _stream_values(model, tokens, whose="the stream"):
    """Compute optional milestones: the stream before each block of a run, and after the last block."""
    streams = _streams(model, tokens)
    vectors, positions = F.embedding(tokens, model.wte.weight), model.wpe.weight[: tokens.shape[1]]
    values = {"the token vectors?": vectors, "the position vectors?": positions}
    values |= {f"{whose} before block {i}?": x for i, x in enumerate(streams[:-1])}
    return values | {f"{whose} after the last block?": streams[-1]}


# --- the model after the call ------------------------------------------------------------------------------


def as_it_was(probe):
    """Check that a call with correct results left the model unchanged."""
    values = [trial.yours.value for trial in probe.trials]
    if any(trial.yours.failure for trial in probe.trials):
        return None
    if not all(isinstance(value, tuple) and isinstance(value[0], Tensor) for value in values):
        return None
    for value, trial in zip(values, probe.trials):
        expected = trial.expected.value[0]
        if value[0].shape != expected.shape or not torch.allclose(value[0], expected, atol=1e-4):
            return None
    # Before the call, a model may already have hooks and be in training mode.
    changes = [value[2] - trial.expected.value[2] for value, trial in zip(values, probe.trials)]
    if hooks := max(int(change[0]) for change in changes):
        are = "a hook is" if hooks == 1 else f"{hooks} hooks are"
        return (
            f"The result is correct, but {are} still in the model after the call, so every later run uses"
            f" {'it' if hooks == 1 else 'them'}. Keep the handle that register_… returns, and call remove() on it."
        )
    if any(change[0] < 0 for change in changes):
        return (
            "The result is correct, but your code removes hooks that the model had before the call. Remove only your"
            " own hook: keep the handle that register_… returns, and call remove() on it."
        )
    if any(change[1] for change in changes):
        mode = "in training mode" if any(change[1] > 0 for change in changes) else "no longer in training mode"
        return f"The result is correct, but the model is {mode} after the call. Leave its mode unchanged."
    if not probe.has_correct_values:
        return (
            "The result is correct, but afterwards the model gives different logits: you changed a part of it and did"
            " not restore it. Every later measurement would be made on a different model."
        )
    return None


def _left_behind(index, yours, expected):
    if len(index) != 1:
        return ""
    hooks = "hooks are left in the model" if yours > expected else "hooks that the model had before the call are gone"
    mode = "in training mode" if yours > expected else "no longer in training mode"
    return (hooks, f"the model is {mode} after the call")[index[0]]


HOOK_LEFT = (
    "The hook is still in the model after the call, so every later run uses it. Keep the handle that register_…"
    " returns, and call remove() on it."
)
_AFTERWARDS = (
    Float("batch seq vocab", "the model's logits after the call"),
    Facts("the state of the model after the call"),
)
LOGITS_AND_MODEL = (Float("batch seq vocab", "logits"), *_AFTERWARDS)


# --- read --------------------------------------------------------------------------------------------------


@with_steps
def _lens(
    model,
    tokens,
    *,
    rows=lambda streams: streams,
    place=lambda streams: streams[:, 0, -1],
    out=_logits,
    result=lambda logits: logits,
):
    return result(out(model, place(rows(_streams(model, tokens)))))


@with_steps
def _lens_in_a_loop(
    model,
    tokens,
    *,
    goes_on=lambda model, x: x,
    first=lambda model, x: x,
    places=True,
    blocks=lambda model: model.blocks,
    through=lambda block, x, start: block(x),
    written_over=False,
):
    """Loop over the blocks.

    If `written_over` is true, return the last row in place of each row, as if all rows were views of one tensor.
    """
    x = F.embedding(tokens, model.wte.weight)
    x = first(model, x + model.wpe.weight[: tokens.shape[1]] * places)
    rows = [_logits(model, x) if first(model, x) is x else F.linear(x, model.wte.weight)]
    start = x
    for block in blocks(model):
        x = through(block, x, start)
        rows.append(_logits(model, x))
        x = goes_on(model, x)
    return torch.stack([rows[-1]] * len(rows) if written_over else rows)[:, 0, -1]


def _normed(model, x):
    return model.ln_f(x)


def _normed_at_the_end(model, x):
    return torch.cat((F.linear(x[:-1], model.wte.weight), _logits(model, x[-1:])))


def _plain_norm(model, x):
    return F.linear(F.layer_norm(x, x.shape[-1:]), model.wte.weight)


def _lens_milestones(model, tokens):
    streams, norm, values = _streams(model, tokens), model.ln_f, {}
    normed = F.layer_norm(streams, norm.w.shape, norm.w, norm.b, norm.eps)
    for label, value in _stream_values(model, tokens).items():
        if "stream" in label:
            values[label.rstrip("?")] = value
            values[f"the last position of {label}"] = value[:, -1]
        else:
            values[label] = value
    return {
        **values,
        "the stream after ln_f?": normed,
        "the streams at the last position?": streams[:, 0, -1],
        "the streams at the last position after ln_f?": normed[:, 0, -1],
        "the logits at every position?": _logits(model, streams),
        "the logits at the last position": _logits(model, streams[:, 0, -1]),
    }


exercise(
    "logit_lens",
    oracle=_lens,
    milestones=_lens_milestones,
    cases=lambda rand: [
        case(sample_model(WIDE, rand), rand.integers(1, 5, high=17)),
        case(sample_model(NARROW, rand), rand.integers(1, 9, high=13), note="as long as the model allows"),
        case(sample_model(WIDE, rand), rand.integers(1, 1, high=17), note="a single token"),
        case(sample_model(DEEP, rand), rand.integers(1, 6, high=11), note="with 11 blocks"),
    ],
    returns=(Float("layers+1 vocab", "logits"), *_AFTERWARDS),
    view=view_without_hooks,
    explain_entry=_left_behind,
    differentiable=False,
    atol=1e-4,
    properties=[as_it_was],
    misconceptions={
        "no-final-norm": _lens.replace(out=lambda model, x: F.linear(x, model.wte.weight)).wrong(
            "ln_f is missing. The output layer was trained on the normalised stream, and the stream before ln_f has a"
            " different scale."
        ),
        "norm-without-its-parameters": _lens.replace(out=_plain_norm).wrong(
            "You normalise the stream, but without the w and b of ln_f. Use the model's ln_f."
        ),
        "normed-at-the-end-only": _lens.replace(out=_normed_at_the_end).wrong(
            "Only the last row goes through ln_f. The lens treats each row like the stream after the last block, so"
            " ln_f should be applied to each row."
        ),
        "no-embeddings": _lens.replace(rows=lambda s: s[1:]).wrong(
            "The first row is missing: the logits before any block, when the stream holds only the embeddings."
        ),
        "not-after-the-last": _lens.replace(rows=lambda s: s[:-1]).wrong(
            "The last row is missing: the logits after the last block. There should be n_layers + 1 rows: one before"
            " the first block, and one after each block."
        ),
        "what-each-block-adds": _lens.replace(rows=lambda s: torch.cat((s[:1], s.diff(dim=0)))).wrong(
            "You apply the lens to what each block adds. Apply it to the stream itself, which is the sum of everything"
            " added so far."
        ),
        "first-position": _lens.replace(place=lambda s: s[:, 0, 0]).wrong(
            "You read the first position. Read the last position, because it predicts the next token."
        ),
        "every-position": _lens.replace(place=lambda s: s[:, 0]).wrong(
            "You read every position. Read only the last position, because it predicts the next token."
        ),
        "mean-of-positions": _lens.replace(place=lambda s: s[:, 0].mean(1)).wrong(
            "You average the stream over all positions. Only the last position predicts the next token."
        ),
        "probabilities": _lens.replace(result=lambda logits: logits.softmax(-1)).wrong(
            "Your rows are probabilities. Return the logits; the lesson applies softmax later."
        ),
        "backwards": _lens.replace(rows=lambda s: s.flip(0)).wrong(
            "The rows are in reverse order. Row 0 should be read before the first block, and the last row after the"
            " last block."
        ),
        "first-twice": _lens.replace(rows=lambda s: torch.cat((s[:1], s[:-1]))).wrong(
            "The first row appears twice, and the last row is missing: you read the stream before each block."
            " From row 1 on, read the stream after a block, so that the last block's result is included."
        ),
        "normed-from-the-start": _lens_in_a_loop.replace(goes_on=_normed, first=_normed).wrong(
            "Every block reads the normalised stream, even the first block. The lens should normalise a copy, and the"
            " blocks should read the stream itself."
        ),
        "normed-stream-goes-on": _lens_in_a_loop.replace(goes_on=_normed).wrong(
            "The next block reads the normalised stream. The lens should normalise a copy, and the blocks should read"
            " the stream itself."
        ),
        "four-blocks": _lens_in_a_loop.replace(blocks=lambda model: model.blocks[:4]).wrong(
            "You run four blocks, as many as this lesson's model has. Other models have a different number of blocks,"
            " so run all of model.blocks."
        ),
        "written-over": _lens_in_a_loop.replace(written_over=True).wrong(
            "All rows are equal: each holds the logits after the last block. If you change the"
            " stream in place, the rows that you kept are views and change with it; keep copies."
        ),
        "stream-added-twice": _lens_in_a_loop.replace(through=lambda block, x, start: x + block(x)).wrong(
            "The stream is added again after each block. A block already returns the stream with its own results added."
        ),
        "each-from-the-embeddings": _lens_in_a_loop.replace(through=lambda block, x, start: block(start)).wrong(
            "Every block reads the embeddings. Each block should read the result of the block before it."
        ),
        "no-positions": _lens_in_a_loop.replace(places=False).wrong(
            "The position vectors are missing. The stream begins as the sum of wte of the tokens and wpe of the"
            " positions."
        ),
    },
    hints=Hints(
        "Run the model as its forward does. At which points in the model can the stream be read?",
        "Begin with the embeddings of tokens and positions, and keep the last position's vector before the first block"
        " and after each block. Then turn each of these vectors into logits in the same way as the model does with its"
        " last vector.",
        "Start a list with x[0, -1], and append one vector after each block of model.blocks; torch.stack makes it"
        " [layers + 1, d_model]. Then apply model.ln_f, and multiply by model.wte.weight.T.",
    ),
)


# --- exchange ----------------------------------------------------------------------------------------------


@with_steps
def _patch(
    model,
    clean,
    corrupted,
    layer,
    position,
    *,
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
    """Patch the stream with hooks."""
    theirs = _streams(model, source(clean, corrupted))
    start, at = where(layer), positions(position)
    hooks = []

    def exchange(depth):
        def hook(_, inputs):
            x = inputs[0].clone()
            x[:, at] = put(x[:, at], theirs[depth if again else taken(layer)][:, at])
            return x

        return hook

    for depth, block in enumerate((*model.blocks, model.ln_f)):
        if depth == start or (again and start < depth < len(model.blocks)):
            hooks.append(part(block).register_forward_pre_hook(exchange(depth)))
    if not norm:  # bypass ln_f
        hooks.append(model.ln_f.register_forward_hook(lambda _, inputs, result: inputs[0]))
    logits = model(into(clean, corrupted))
    for hook in [] if leave else hooks:
        hook.remove()
    return logits


@with_steps
def _patch_in_a_loop(model, clean, corrupted, layer, position, *, rest):
    """Patch the stream, then run only the blocks in `rest(blocks, layer)`."""
    stream, other_stream = (_streams(model, tokens)[layer].clone() for tokens in (clean, corrupted))
    stream[:, position] = other_stream[:, position]
    for block in rest(model.blocks, layer):
        stream = block(stream)
    return _logits(model, stream)


@wrong_answer
def _token_exchanged(model, clean, corrupted, layer, position):
    """You replace the token, so the text differs even before the first block. Replace the vector in the stream before
    block `layer` instead.
    """
    mixed = clean.clone()
    mixed[:, position] = corrupted[:, position]
    return model(mixed)


def _first_text_only(mine, theirs):
    return torch.cat((theirs[:1], mine[1:]))


def _what_was_exchanged(probe):
    """If the answer replaced a wrong vector, name this vector."""
    oracle = make_runner(probe.exercise, probe.exercise.oracle)
    for trial in probe.trials:
        if trial.yours.failure or not isinstance(trial.yours.value, tuple):
            continue
        if values_equal(trial.yours.value[0], trial.expected.value[0], probe.exercise.atol):
            continue
        model, clean, corrupted, layer, position = trial.case.args
        your_logits = trial.yours.value[0]
        clean_logits = oracle.run(replace(trial.case, args=(model, clean, clean, 0, 0))).value[0]
        for i, j in itertools.product(range(len(model.blocks)), range(clean.shape[1])):
            other_place = replace(trial.case, args=(model, clean, corrupted, i, j))
            logits = oracle.run(other_place).value[0]
            # A replacement that does not change the logits cannot be told apart from others of this kind.
            changes_logits = not values_equal(logits, clean_logits, 1e-3)
            if (i, j) != (layer, position) and changes_logits and values_equal(your_logits, logits, 1e-4):
                return (
                    f"For block {layer} and position {position}, you replace the vector at position {j} before block"
                    f" {i}. Replace the vector at position {position} before block {layer}."
                )
        if (
            your_logits.shape == clean_logits.shape
            and position
            and not values_equal(your_logits[:, :position], clean_logits[:, :position], 1e-4)
        ):
            return (
                f"For position {position}, earlier positions have different logits than in the clean run, although"
                " earlier positions cannot see this position. You replace something else, or your run differs from the"
                " model's forward."
            )
        if your_logits.shape == clean_logits.shape and position:
            return (
                f"For block {layer} and position {position}, the logits before this position are correct, but some"
                " logits from this position on are wrong. Insert only one vector: the corrupted run's input of block"
                f" {layer}, unchanged."
            )
    return None


def _patch_milestones(model, clean, corrupted, layer, position):
    stream, other = _streams(model, clean), _streams(model, corrupted)
    patched = stream[layer].clone()
    patched[:, position] = other[layer][:, position]
    values = {
        **_stream_values(model, corrupted, "the corrupted stream"),
        "the corrupted logits?": _logits(model, other[-1]),
        **_stream_values(model, clean, "the clean stream"),
        "the clean logits?": _logits(model, stream[-1]),
        "the corrupted vector?": other[layer][:, position],
        "the clean stream with the corrupted vector": patched,
    }
    for i, block in enumerate(model.blocks[layer:], layer):
        values[f"the patched stream after block {i}"] = patched = block(patched)
    values["the patched stream after ln_f"] = F.layer_norm(
        patched, model.ln_f.w.shape, model.ln_f.w, model.ln_f.b, model.ln_f.eps
    )
    return values | {"the patched logits": _logits(model, patched)}


exercise(
    "patch_stream",
    oracle=_patch,
    milestones=_patch_milestones,
    view=view_without_hooks,
    cases=lambda rand: [
        case(sample_model(WIDE, rand), rand.integers(2, 5, high=17), rand.integers(2, 5, high=17), 1, 2),
        case(sample_model(WIDE, rand), rand.integers(1, 6, high=17), rand.integers(1, 6, high=17), 2, 5),
        case(sample_model(NARROW, rand), rand.integers(3, 4, high=13), rand.integers(3, 4, high=13), 0, 1),
        case(sample_model(WIDE, rand), rand.integers(2, 4, high=17), rand.integers(2, 4, high=17), 1, 0),
        case(
            *(sample_model(DEEP, rand), rand.integers(2, 5, high=11), rand.integers(2, 5, high=11), 10, 1),
            note="with 11 blocks",
        ),
    ],
    returns=LOGITS_AND_MODEL,
    differentiable=False,
    atol=1e-4,
    properties=[as_it_was, _what_was_exchanged],
    misconceptions={
        "other-way-round": Wrong(
            _patch.replace(into=lambda clean, corrupted: corrupted, source=lambda clean, corrupted: clean),
            "You run the corrupted text with one vector of the clean text. Run the clean text, with one vector of the"
            " corrupted text.",
        ),
        "rest-not-run": _patch_in_a_loop.replace(rest=lambda blocks, layer: []).wrong(
            "You compute the logits right after you replace the vector. The run should first continue through block"
            " `layer` and all later blocks."
        ),
        "four-blocks": _patch_in_a_loop.replace(rest=lambda blocks, layer: blocks[layer:4]).wrong(
            "Your run ends after four blocks, as many as this lesson's model has. Other models have a different number"
            " of blocks, so run all of model.blocks."
        ),
        "no-final-norm": _patch.replace(norm=False).wrong(
            "ln_f is missing at the end. The output layer was trained on the normalised stream, and the stream before"
            " ln_f has a different scale."
        ),
        "after-the-block": _patch.replace(where=lambda layer: layer + 1, taken=lambda layer: layer + 1).wrong(
            "You replace the vector after block `layer`. Replace it before this block, in the block's input."
        ),
        "taken-after-the-block": _patch.replace(taken=lambda layer: layer + 1).wrong(
            "You take the vector after block `layer` of the corrupted run, and put it in before this block. Take it"
            " before the block as well."
        ),
        "put-in-at-the-start": _patch.replace(where=lambda layer: 0).wrong(
            "You take the vector before block `layer`, but put it in before block 0. Insert it before block `layer`."
        ),
        "all-positions": _patch.replace(positions=lambda position: slice(None)).wrong(
            "You replace the vectors at all positions, so these are the logits of the corrupted text. Replace only the"
            " vector at `position`."
        ),
        "and-all-before": _patch.replace(positions=lambda position: slice(position + 1)).wrong(
            "You replace the vectors at all positions up to `position`. Replace only the vector at `position` itself."
        ),
        "and-all-behind": _patch.replace(positions=lambda position: slice(position, None)).wrong(
            "You replace the vectors at all positions from `position` on. Replace only the vector at `position` itself."
        ),
        "only-what-attention-reads": _patch.replace(part=lambda block: block.ln_1).wrong(
            "You replace the vector only in the input of ln_1, so the block still adds to the clean stream. Replace the"
            " vector in the stream itself, before the block."
        ),
        "last-position": _patch.replace(positions=lambda position: -1).wrong(
            "You always replace the vector at the last position. Replace the vector at `position`."
        ),
        "position-one-early": _patch.replace(positions=lambda position: position - 1).wrong(
            "You replace the vector at the position before `position`. Positions are counted from 0."
        ),
        "in-every-later-block": _patch.replace(again=True).wrong(
            "You replace the vector before block `layer` and again before every later block, so you overwrite what the"
            " blocks in between add at this position. Replace the vector only once, before block `layer`."
        ),
        "added": _patch.replace(put=lambda mine, theirs: mine + theirs).wrong(
            "You add the corrupted run's vector to the clean vector. It should replace the clean vector."
        ),
        "halfway": _patch.replace(put=lambda mine, theirs: (mine + theirs) / 2).wrong(
            "You put in the mean of the two vectors. The corrupted run's vector should replace the clean vector."
        ),
        "first-text-only": _patch.replace(put=_first_text_only).wrong(
            "You replace the vector only in the first text of the batch. Replace it in every text, with the vector of"
            " the corresponding corrupted text."
        ),
        "token-exchanged": _token_exchanged,
        "nothing-exchanged": Wrong(
            lambda model, clean, corrupted, layer, position: model(clean),
            "These are the logits of the clean text: you did not replace any vector. Replace the vector at `position`"
            " before block `layer`.",
        ),
        "hook-left": _patch.replace(leave=True).wrong(HOOK_LEFT),
    },
    hints=Hints(
        "There are two runs. Which vector do you need from the first run, and at what point in the second run do you"
        " insert it?",
        "Run both texts through the first `layer` blocks. Then copy one position of the corrupted stream into the clean"
        " stream, and continue with the clean stream only.",
        "Write a function, stream(tokens), that adds the embeddings and runs model.blocks[:layer]. Then set x[:,"
        " position] = other[:, position], and continue with model.blocks[layer:], model.ln_f, and the product with"
        " model.wte.weight.T.",
    ),
)


# --- remove ------------------------------------------------------------------------------------------------


def _listed(places):
    """Format indices as text, with a range for consecutive indices: "0 to 3, 7"."""
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


def head_columns(model, head):
    return slice(head * _width(model), (head + 1) * _width(model))


def _zero_columns(block, columns):
    block.attn.out_proj.weight[:, columns] = 0


@with_steps
def _without(
    model, tokens, layer, head, *, columns=head_columns, layers=lambda layer, n: [layer], silence=_zero_columns
):
    """Remove a head by changing parameters, then restore them."""
    parameters = {name: value.clone() for name, value in model.state_dict().items()}
    for i in layers(layer, len(model.blocks)):
        silence(model.blocks[i], columns(model, head))
    logits = model(tokens)
    model.load_state_dict(parameters)
    return logits


def _others(model, head):
    every = torch.arange(model.config.d_model)
    return every[(every < (own := head_columns(model, head)).start) | (every >= own.stop)]


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


@with_steps
def _without_by_hook(model, tokens, layer, head, *, part=lambda attn: attn.out_proj, places=slice(None), leave=False):
    """Remove a head with a hook on a part of the attention. The hook zeroes the head's entries in the part's input."""

    def hook(_, inputs):
        x = inputs[0].clone()
        x[:, places, head_columns(model, head)] = 0
        return x

    hooked = part(model.blocks[layer].attn).register_forward_pre_hook(hook)
    logits = model(tokens)
    if not leave:
        hooked.remove()
    return logits


def _values_but_no_bias(block, columns):
    block.attn.W_value.weight[columns] = 0


@wrong_answer
def _weights_left(model, tokens, layer, head):
    """The logits are correct, but you set parameters to zero and did not restore them, so the model has lost this head
    permanently. A hook changes no stored parameters.
    """
    model.blocks[layer].attn.out_proj.weight[:, head_columns(model, head)] = 0
    return model(tokens)


def _which_entries_are_zero(probe):
    """Name the entries that are zero in out_proj's input, if they are not exactly the removed head's entries.

    Some answers remove a head correctly without zero entries, for example by changing weights. For such an answer,
    return None.
    """
    message = None
    for trial in [] if probe.has_correct_values else probe.trials:
        model, tokens, layer, head = trial.case.args
        parameters = dict(model.named_parameters())
        observed_model = HeadOutputModel(
            model.config, lambda name, shape, p=parameters: p.get(name, torch.zeros(shape)), layer
        )
        observation = probe.run(replace(trial.case, args=(observed_model, tokens, layer, head)))
        failed = observation.failure or not isinstance(observation.value, tuple)
        value = None if failed else observation.value[0]
        if not isinstance(value, Tensor) or value.dim() != 3 or value.shape[-1] != model.config.d_model:
            return None
        zero = (value == 0).all((0, 1)).nonzero().flatten().tolist()
        own = list(range(model.config.d_model))[head_columns(model, head)]
        if zero != own and trial.is_correct(probe.exercise):
            return None
        partly = (value[..., own] == 0).all(-1)  # [batch, seq]
        if zero != own and not message and partly.any() and not partly.all():
            places = "in some texts" if not partly.any(1).all() else "at some positions"
            message = f"In the input of out_proj in block {layer}, the head's entries are zero only {places}."
        if zero != own and not message:
            one = len(zero) == 1
            entries = (
                f"{'entry' if one else 'entries'} {_listed(zero)} {'is' if one else 'are'}" if zero else "no entry is"
            )
            message = (
                f"In the input of out_proj in block {layer}, {entries} zero at every position. Head {head} of"
                f" {model.config.n_heads} has the entries {own[0]} to {own[-1]} of {model.config.d_model}."
            )
    return message


exercise(
    "without_head",
    oracle=_without,
    view=view_without_hooks,
    cases=lambda rand: [
        case(sample_model(WIDE, rand), rand.integers(2, 6, high=17), 1, 2),
        case(sample_model(NARROW, rand), rand.integers(1, 5, high=13), 0, 3),
        case(sample_model(WIDE, rand), rand.integers(3, 4, high=17), 2, 1),
        case(sample_model(NARROW, rand), rand.integers(2, 3, high=13), 1, 0, note="the first head"),
        # An answer that selects block 1's parameters by the beginning of their names would also select block 10's.
        case(sample_model(DEEP, rand), rand.integers(2, 3, high=11), 1, 10, note="with 11 blocks and 11 heads"),
    ],
    returns=LOGITS_AND_MODEL,
    differentiable=False,
    atol=1e-4,
    properties=[as_it_was, _which_entries_are_zero],
    misconceptions={
        "whole-attention": _without.replace(silence=_whole_attention).wrong(
            "You remove all of the block's attention. Only one head's entries should be zero; the other heads should"
            " still contribute to the result."
        ),
        "all-heads": _without.replace(columns=lambda model, head: slice(None)).wrong(
            "You remove every head of the block. Only the entries of head `head` should be zero."
        ),
        "whole-block": _without.replace(silence=_whole_block).wrong(
            "You remove the whole block, including its MLP. Remove only one head of its attention."
        ),
        "the-others": _without.replace(columns=_others).wrong(
            "You remove all heads except this one. Remove only this head."
        ),
        "after-out_proj": _without.replace(silence=_rows).wrong(
            "You set entries of out_proj's result to zero, where the heads are already mixed. A head has its own"
            " entries only in the input of out_proj."
        ),
        "rows-of-out_proj": _without.replace(silence=_rows_of_weights).wrong(
            "You set rows of out_proj's weight to zero, but each row computes one entry of the layer's result, where"
            " the heads are already mixed. The head's entries are in the layer's input, and each of these entries is"
            " multiplied by one column of the weight."
        ),
        "before-attention": _without_by_hook.replace(part=lambda attn: attn).wrong(
            "You set entries of attention's input to zero, but every head reads all of these entries. A head has its"
            " own entries only in the input of out_proj."
        ),
        "bias-removed-too": _without.replace(silence=_with_its_bias).wrong(
            "You also remove the bias of out_proj. It belongs to no head, so it should still be added."
        ),
        "interleaved": _without.replace(columns=lambda model, head: slice(head, None, model.config.n_heads)).wrong(
            "You set every n_heads-th entry to zero. The entries of a head are adjacent: each head has d_model /"
            " n_heads consecutive entries."
        ),
        "one-entry": _without.replace(columns=lambda model, head: slice(head, head + 1)).wrong(
            "You set a single entry to zero. A head has d_model / n_heads entries."
        ),
        "as-wide-as-there-are-heads": Wrong(
            _without.replace(columns=lambda model, head: slice(head * (n := model.config.n_heads), (head + 1) * n)),
            "You set n_heads entries to zero. A head has d_model / n_heads entries: the number of heads is not the"
            " width of a head.",
        ),
        "starts-at-the-number-of-heads": Wrong(
            _without.replace(columns=lambda model, head: slice(i := head * model.config.n_heads, i + _width(model))),
            "Your entries begin at head * n_heads. Each of the heads before this head has d_model / n_heads entries,"
            " not n_heads entries.",
        ),
        "head-from-one": Wrong(
            _without.replace(columns=lambda model, head: slice((head - 1) * (w := _width(model)), head * w)),
            "You remove the head before `head`. Heads are counted from 0.",
        ),
        "in-every-block": _without.replace(layers=lambda layer, n: range(n)).wrong(
            "You remove head `head` in every block. Remove it only in block `layer`: heads with the same index in"
            " different blocks are different heads."
        ),
        "blocks-that-begin-alike": Wrong(
            _without.replace(layers=lambda layer, n: [i for i in range(n) if str(i).startswith(str(layer))]),
            "For block 1, you also remove the head in block 10, because its number begins with 1. Compare the whole"
            " number.",
        ),
        "block-before": _without.replace(layers=lambda layer, n: [(layer - 1) % n]).wrong(
            "You remove the head in the block before `layer`. Blocks are counted from 0."
        ),
        "looks-at-all": _without.replace(silence=_looks_at_all).wrong(
            "The head's queries or keys are zero, so the head gives all visible positions the same weight and adds the"
            " mean of their values. A removed head should add nothing."
        ),
        "values-but-no-bias": _without.replace(silence=_values_but_no_bias).wrong(
            "The head's value matrix is zero, but the bias of its values is still added at every position. Remove this"
            " bias as well."
        ),
        "last-position-only": _without_by_hook.replace(places=slice(-1, None)).wrong(
            "You remove the head only at the last position. Remove it at every position, because later blocks read what"
            " the head adds at the other positions."
        ),
        "nothing-removed": Wrong(
            lambda model, tokens, layer, head: model(tokens),
            "These are the logits of the whole model: no head was removed. Does your hook return the changed tensor?",
        ),
        "hook-left": _without_by_hook.replace(leave=True).wrong(HOOK_LEFT),
        "weights-left": _weights_left,
    },
    hints=Hints(
        "Where in a block are the heads' results still side by side, each in its own entries?",
        "The input of out_proj holds the results of all heads, merged. A hook that runs before out_proj can return a"
        " copy in which one head's entries are zero; remove the hook afterwards.",
        "A head has width = config.d_model // config.n_heads entries, and the first entry of this head is at head *"
        " width. Call register_forward_pre_hook on model.blocks[layer].attn.out_proj; it calls your function with"
        " (part, given), and given[0] is the input tensor.",
    ),
)


# --- induction ---------------------------------------------------------------------------------------------


@with_steps
def _score(
    pattern,
    *,
    rows=lambda n: torch.arange(n, 2 * n),
    ahead=1,
    over=lambda weights, n: weights.mean(-1),
):
    n = pattern.shape[-1] // 2
    asks = rows(n)
    return over(pattern[..., asks, (asks - n + ahead) % (2 * n)], n)


def _patterns(rand, *shape, hidden=True):
    """Return random attention patterns. `hidden` applies the causal mask."""
    scores = 2 * rand(*shape)
    if hidden:
        scores = scores.masked_fill(torch.ones(shape[-2:], dtype=torch.bool).triu(1), -torch.inf)
    return scores.softmax(-1)


@wrong_answer
def _favourite(pattern):
    """You return the fraction of queries that give their largest weight to the right position. The score should be the
    mean of the weights themselves.
    """
    n = pattern.shape[-1] // 2
    asks = torch.arange(n, 2 * n)
    return (pattern[..., n:, :].argmax(-1) == asks - n + 1).float().mean(-1)


def _which_cells_count(probe):
    """Name weights that wrongly affect the score, and weights that the score wrongly ignores.

    To find these weights, score a batch of patterns. In each pattern, one weight is 1 and all others are 0. The
    patterns have the size of a failing case, because an answer can be correct for one size and wrong for another.
    """
    wrong = [trial for trial in probe.trials if not trial.is_correct(probe.exercise)]
    lengths = sorted({trial.case.args[0].shape[-1] // 2 for trial in wrong})
    return next(filter(None, (_wrong_cells(probe, n) for n in lengths)), None)


def _wrong_cells(probe, n):
    """Name the weights that the answer uses wrongly for a list of n tokens."""
    cells = torch.eye(4 * n * n).view(-1, 2 * n, 2 * n)
    right = [(i, i - n + 1) for i in range(n, 2 * n)]
    all_right = sum(cells[i * 2 * n + j] for i, j in right)
    patterns = (cells, cells / 2, torch.zeros(1, 2 * n, 2 * n), all_right[None])
    scores, halves, of_zeros, of_all = (_scores(probe, pattern) for pattern in patterns)
    if scores is None or of_zeros is None or not scores.isfinite().all() or of_zeros.abs().max() > 1e-6:
        return None
    if halves is not None and not values_equal(2 * halves, scores, 1e-5):
        return (
            "Your score does not halve when all weights are halved: do you use an argmax or a comparison? The score"
            " should be the mean of the weights themselves."
        )
    counted = [divmod(k, 2 * n) for k in scores.nonzero().flatten().tolist()]
    if counted == right:
        if of_all is None or not values_equal(of_all, scores.sum()[None], 1e-5):
            return (
                "You read the right weights, but your score is not their mean. If several weights are 1 and the others"
                " 0, a mean is the sum of the scores that each of these weights gives alone; your score is not."
            )
        share = max(scores[scores != 0].tolist(), key=lambda share: abs(share - 1 / n))
        if abs(share - 1 / n) < 1e-6:
            return None
        return (
            f"For a list of {n} tokens, you use the right weights but do not take their mean: one weight is multiplied"
            f" by {share:.3g} instead of {1 / n:.3g}."
        )
    extra = next((cell for cell in counted if cell not in right), None)
    missing = next((cell for cell in right if cell not in counted), None)
    mistakes = []
    if extra:
        mistakes.append(f"the weight of query {extra[0]} on key {extra[1]} counts, but should not")
    if missing:
        mistakes.append(f"the weight of query {missing[0]} on key {missing[1]} does not count, but should")
    return f"For a list of {n} tokens, written twice at positions 0 to {2 * n - 1}, {'; '.join(mistakes)}."


def _scores(probe, patterns):
    """Return the answer's scores for several patterns, or None if the answer does not return one score per pattern."""
    observation = probe.run(case(patterns))
    scores = observation.value
    usable = not observation.failure and isinstance(scores, Tensor) and scores.shape == patterns.shape[:1]
    return scores.detach() if usable else None


def _score_milestones(pattern):
    n = pattern.shape[-1] // 2
    weights = pattern[..., range(n, 2 * n), range(1, n + 1)]
    return {
        "the whole diagonal?": pattern.diagonal(offset=1 - n, dim1=-2, dim2=-1),
        "the rows of the second list?": pattern[..., n:, :],
        "the weights on the right positions": weights,
        "their sum?": weights.sum(-1),
    }


exercise(
    "induction_score",
    milestones=_score_milestones,
    unswept={"sizes": "the pattern belongs to a text with two equal halves, so its length is even"},
    oracle=_score,
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
        "same-token": _score.replace(ahead=0).wrong(
            "You take the weight on the same token in the first list. Take the weight on the token that came next, one"
            " position later."
        ),
        "two-ahead": _score.replace(ahead=2).wrong(
            "You take the weight two positions after the earlier occurrence. Take the weight one position after the"
            " earlier occurrence."
        ),
        "before-it": _score.replace(ahead=-1).wrong(
            "You take the weight on the token before the earlier occurrence. Take the weight on the token after the"
            " earlier occurrence."
        ),
        "previous-token": Wrong(
            lambda pattern: pattern.diagonal(offset=-1, dim1=-2, dim2=-1).mean(-1),
            "You take the weight on the previous position. An induction head attends to the position after the earlier"
            " occurrence of the query's token.",
        ),
        "from-the-end-of-the-first": _score.replace(rows=lambda n: torch.arange(n - 1, 2 * n)).wrong(
            "You include one query too many: the last token of the first list, which has no earlier occurrence. Begin"
            " with the first token of the second list."
        ),
        "last-query-missing": _score.replace(rows=lambda n: torch.arange(n, 2 * n - 1)).wrong(
            "You leave out the last query. Its token also occurs in the first list, and there is a position after that"
            " occurrence: position n."
        ),
        "first-query-missing": _score.replace(rows=lambda n: torch.arange(n + 1, 2 * n)).wrong(
            "You leave out the first query of the second list. Its token occurred before, at position 0."
        ),
        "last-query-only": _score.replace(rows=lambda n: torch.arange(2 * n - 1, 2 * n)).wrong(
            "You use only the last query. The score should be the mean over all queries of the second list."
        ),
        "over-all-queries": _score.replace(over=lambda weights, n: weights.sum(-1) / (2 * n)).wrong(
            "You divide the sum by the total number of positions. Divide by the number of queries in the second list."
        ),
        "summed": _score.replace(over=lambda weights, n: weights.sum(-1)).wrong(
            "You return the sum of the weights. The score should be their mean, between 0 and 1."
        ),
        "largest": _score.replace(over=lambda weights, n: weights.amax(-1)).wrong(
            "You return the largest of the weights. A single query says little, so the score should be the mean over"
            " all queries of the second list."
        ),
        "favourite": _favourite,
        "first-two-axes": Wrong(
            lambda pattern: pattern.diagonal(offset=1 - pattern.shape[-1] // 2)[..., 1:].mean(-1),
            "You take the diagonal of the first two axes, which may be layers and heads. Take the diagonal of the last"
            " two axes, which form one attention pattern.",
        ),
        "whole-square": Wrong(
            lambda pattern: pattern[..., (n := pattern.shape[-1] // 2) :, 1 : n + 1].mean((-2, -1)),
            "You take the mean over a square block of weights. For each query, use only the weight on the position"
            " after the earlier occurrence of its token.",
        ),
        "turned": Wrong(
            lambda pattern: _score(pattern.mT),
            "Rows and columns are swapped. Each row holds the weights of one query.",
        ),
        "one-for-all-heads": _score.replace(over=lambda weights, n: weights.mean()).wrong(
            "You return one number for all heads together. Each head should have its own score."
        ),
    },
    hints=Hints(
        "Write a list of four tokens twice, and number the positions from 0. Which key does query 5 attend to?",
        "Query i attends to key i - n + 1, where n is half of the length. In the pattern, these weights lie on a"
        " diagonal.",
        "pattern.diagonal(offset=..., dim1=-2, dim2=-1) holds the weights on one diagonal. Its first entry belongs to"
        " query n - 1, so leave this entry out; then take the mean over the last axis.",
    ),
)
