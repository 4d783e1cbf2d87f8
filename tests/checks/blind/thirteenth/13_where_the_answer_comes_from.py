# %% logit_lens wrong (misconception normed-at-the-end-only): only the last reading goes through ln_f, the earlier readings do not
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    rows = [x[0, -1]]
    for block in model.blocks:
        x = block(x)
        rows.append(x[0, -1])
    rows[-1] = model.ln_f(rows[-1])
    return torch.stack(rows) @ model.wte.weight.T


# %% logit_lens wrong (misconception normed-from-the-start): writes the normalised stream back, so the later blocks read ln_f of the stream
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    x = model.ln_f(x)
    rows = [x[0, -1] @ model.wte.weight.T]
    for block in model.blocks:
        x = model.ln_f(block(x))
        rows.append(x[0, -1] @ model.wte.weight.T)
    return torch.stack(rows)


# %% logit_lens wrong (property as_it_was): the logits are right, but the hooks that collect the stream are never removed
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    streams = []
    for block in model.blocks:
        block.register_forward_pre_hook(lambda part, given: streams.append(given[0][:, -1]))
    model.ln_f.register_forward_pre_hook(lambda part, given: streams.append(given[0][:, -1]))
    model(tokens)
    readings = torch.cat(streams[: len(model.blocks) + 1])
    return model.ln_f(readings) @ model.wte.weight.T


# %% logit_lens wrong (property as_it_was): adds the embeddings in place to a slice of wpe.weight, so each call changes the model's positions; the first call is right
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    with torch.no_grad():
        x = model.wpe.weight[: tokens.shape[1]]
        x += model.wte(tokens[0])
        x = x[None]
        rows = [model.ln_f(x[:, -1])]
        for block in model.blocks:
            x = block(x)
            rows.append(model.ln_f(x[:, -1]))
        return torch.cat(rows) @ model.wte.weight.T


# %% logit_lens wrong (difference milestone): torch's layer norm with its own eps 1e-5 instead of ln_f; right only if the config's eps is 1e-5 too
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    streams = [x[0, -1]]
    for block in model.blocks:
        x = block(x)
        streams.append(x[0, -1])
    streams = torch.stack(streams)
    normed = nn.functional.layer_norm(streams, streams.shape[-1:], model.ln_f.w, model.ln_f.b)
    return normed @ model.wte.weight.T


# %% logit_lens right (passed): goes through the blocks by hand and reads the stream each time
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    rows = [model.ln_f(x)[0, -1] @ model.wte.weight.T]
    for block in model.blocks:
        x = block(x)
        rows.append(model.ln_f(x)[0, -1] @ model.wte.weight.T)
    return torch.stack(rows)


# %% logit_lens right (passed): one run of the model with hooks on the blocks, removed in finally; all readings at once through ln_f
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    before, after, hooks = [], [], []
    try:
        for number, block in enumerate(model.blocks):
            if number == 0:
                hooks.append(block.register_forward_pre_hook(lambda part, given: before.append(given[0][:, -1])))
            hooks.append(block.register_forward_hook(lambda part, given, result: after.append(result[:, -1])))
        model(tokens)
    finally:
        for hook in hooks:
            hook.remove()
    return nn.functional.linear(model.ln_f(torch.cat(before + after)), model.wte.weight)


# %% patch_stream wrong (misconception after-the-block): replaces the vector that comes out of block `layer`, one block too late
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = torch.arange(clean.shape[1], device=clean.device)
    x = model.wte(clean) + model.wpe(places)
    other = model.wte(corrupted) + model.wpe(places)
    for number, block in enumerate(model.blocks):
        x, other = block(x), block(other)
        if number == layer:
            x = x.clone()
            x[:, position] = other[:, position]
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream wrong (misconception and-all-before): replaces the vectors of all positions up to `position`, not only this one
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = torch.arange(clean.shape[1], device=clean.device)
    x = model.wte(clean) + model.wpe(places)
    other = model.wte(corrupted) + model.wpe(places)
    for number, block in enumerate(model.blocks):
        if number == layer:
            x = torch.cat((other[:, : position + 1], x[:, position + 1 :]), dim=1)
        x, other = block(x), block(other)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream wrong (misconception first-text-only): replaces the vector only in the first text of the batch; right for a batch of one
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = torch.arange(clean.shape[1], device=clean.device)
    x = model.wte(clean) + model.wpe(places)
    other = model.wte(corrupted) + model.wpe(places)
    for number, block in enumerate(model.blocks):
        if number == layer:
            x = x.clone()
            x[0, position] = other[0, position]
        x, other = block(x), block(other)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream wrong (misconception in-every-later-block): replaces the vector before block `layer` and again before every later block; right for the last block
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = torch.arange(clean.shape[1], device=clean.device)
    here = (places == position)[:, None]
    x = model.wte(clean) + model.wpe(places)
    other = model.wte(corrupted) + model.wpe(places)
    for number, block in enumerate(model.blocks):
        if number >= layer:
            x = torch.where(here, other, x)
        x, other = block(x), block(other)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream wrong (property leaves_its_inputs): before block 0 it exchanges the token in the caller's tensor `clean`, which stays changed; the logits are right
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    if layer == 0:  # the stream before block 0 depends only on the token and its position
        clean[:, position] = corrupted[:, position]
        return model(clean)
    places = torch.arange(clean.shape[1], device=clean.device)
    x = model.wte(clean) + model.wpe(places)
    other = model.wte(corrupted) + model.wpe(places)
    for number, block in enumerate(model.blocks):
        if number == layer:
            x = x.clone()
            x[:, position] = other[:, position]
        x, other = block(x), block(other)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream right (passed): both runs side by side by hand, the vector copied before block `layer`
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = torch.arange(clean.shape[1], device=clean.device)
    x = model.wte(clean) + model.wpe(places)
    other = model.wte(corrupted) + model.wpe(places)
    for number, block in enumerate(model.blocks):
        if number == layer:
            x = x.clone()
            x[:, position] = other[:, position]
        x = block(x)
        if number < layer:
            other = block(other)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream right (passed): two runs of the model with a hook before block `layer`, the first one reads, the second one replaces; removed in finally
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    block, seen = model.blocks[layer], []

    def read(part, given):
        seen.append(given[0][:, position : position + 1].clone())

    def replace(part, given):
        x = given[0]
        return (torch.cat((x[:, :position], seen[0], x[:, position + 1 :]), dim=1), *given[1:])

    for function, tokens in ((read, corrupted), (replace, clean)):
        hook = block.register_forward_pre_hook(function)
        try:
            logits = model(tokens)
        finally:
            hook.remove()
    return logits


# %% without_head wrong (misconception after-out_proj): sets entries of out_proj's output to zero instead of its input
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    # Run the model with a hook, and remove the hook afterwards.
    def silence(part, given, result):
        result = result.clone()
        result[..., head * width : (head + 1) * width] = 0
        return result

    hook = model.blocks[layer].attn.out_proj.register_forward_hook(silence)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head wrong (misconception interleaved): takes every n_heads-th entry for the head's part, as if the heads were interleaved
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    # Run the model with a hook, and remove the hook afterwards.
    def silence(part, given):
        x = given[0].clone()
        x[..., head :: model.config.n_heads] = 0
        return x

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    logits = model(tokens)
    hook.remove()
    return logits


# %% without_head wrong (property as_it_was): removes all pre-hooks of the layer afterwards, also hooks that the caller had registered
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    # Run the model with a hook, and remove the hook afterwards.
    def silence(part, given):
        x = given[0].clone()
        x[..., head * width : (head + 1) * width] = 0
        return x

    out_proj = model.blocks[layer].attn.out_proj
    out_proj.register_forward_pre_hook(silence)
    logits = model(tokens)
    out_proj._forward_pre_hooks.clear()
    return logits


# %% without_head wrong (property leaves_its_inputs): sets columns of out_proj.weight to zero and then puts a new nn.Parameter there: same numbers, but another object, which needs a gradient again
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    # Run the model with a hook, and remove the hook afterwards.
    out_proj = model.blocks[layer].attn.out_proj
    saved = out_proj.weight.detach().clone()
    silent = saved.clone()
    silent[:, head * width : (head + 1) * width] = 0
    out_proj.weight = nn.Parameter(silent)
    logits = model(tokens)
    out_proj.weight = nn.Parameter(saved)
    return logits


# %% without_head wrong (property as_it_was): switches the model to eval mode and leaves it there; a model in training mode is not the same afterwards
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    # Run the model with a hook, and remove the hook afterwards.
    def silence(part, given):
        keep = torch.ones(given[0].shape[-1], dtype=given[0].dtype, device=given[0].device)
        keep[head * width : (head + 1) * width] = 0
        return given[0] * keep

    model.eval()
    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head right (passed): a pre-hook that sets the head's slice of a copy to zero, removed in finally
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    # Run the model with a hook, and remove the hook afterwards.
    def silence(part, given):
        x = given[0].clone()
        x[..., head * width : (head + 1) * width] = 0
        return x

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head right (passed): the hook cuts the input into heads and puts it together again with zeros for this head
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    # Run the model with a hook, and remove the hook afterwards.
    def without(part, given):
        pieces = list(given[0].split(width, dim=-1))
        pieces[head] = torch.zeros_like(pieces[head])
        return (torch.cat(pieces, dim=-1),)

    out_proj = model.blocks[layer].attn.out_proj
    handle = out_proj.register_forward_pre_hook(without)
    try:
        logits = model(tokens)
    finally:
        handle.remove()
    return logits


# %% induction_score wrong (misconception same-token): takes the weight on position i, the same token, instead of the token after it
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=-n, dim1=-2, dim2=-1).mean(dim=-1)


# %% induction_score wrong (misconception from-the-end-of-the-first): averages the whole diagonal, which also has a weight of the last query of the first list
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=1 - n, dim1=-2, dim2=-1).mean(dim=-1)


# %% induction_score wrong (property finite): n is always 20, as in this lesson's lists; wrong for lists of another length
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    return pattern.diagonal(offset=-19, dim1=-2, dim2=-1)[..., -20:].mean(dim=-1)


# %% induction_score wrong (shape): squeezes the result, so axes of size 1 (one text, one head) disappear
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    i = torch.arange(n, device=pattern.device)
    return pattern[..., n + i, i + 1].mean(dim=-1, keepdim=True).squeeze()


# %% induction_score wrong (property leaves_its_inputs): the score is right, but all other weights in the caller's pattern are set to zero
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    wanted = torch.zeros(2 * n, 2 * n, dtype=torch.bool, device=pattern.device)
    for i in range(n):
        wanted[n + i, i + 1] = True
    pattern[..., ~wanted] = 0
    return pattern.sum(dim=(-2, -1)) / n


# %% induction_score right (passed): the diagonal 1 - n without its first entry, mean over the last axis
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=1 - n, dim1=-2, dim2=-1)[..., -n:].mean(dim=-1)


# %% induction_score right (passed): adds the n weights in a loop and divides by n
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    total = torch.zeros_like(pattern[..., 0, 0])
    for i in range(n):
        total = total + pattern[..., n + i, i + 1]
    return total / n


