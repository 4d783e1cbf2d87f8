# %% logit_lens wrong (misconception no-final-norm): reads without ln_f
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    readings = [x[0, -1]]
    for block in model.blocks:
        x = block(x)
        readings.append(x[0, -1])
    return torch.stack(readings) @ model.wte.weight.T


# %% logit_lens wrong (misconception no-embeddings): no reading before the first block: n_layers rows
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    readings = []
    for block in model.blocks:
        x = block(x)
        readings.append(x[0, -1])
    return model.ln_f(torch.stack(readings)) @ model.wte.weight.T


# %% logit_lens wrong (property as_it_was): right logits, but the hooks on the blocks are left on the model
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    stream = [x[0, -1]]
    for block in model.blocks:
        block.register_forward_hook(lambda part, given, found: stream.append(found[0, -1]))
    model(tokens)
    return model.ln_f(torch.stack(stream)) @ model.wte.weight.T


# %% logit_lens wrong (property sizes): reads at position 13, the last one of the page's sentence; wrong for texts of another length
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    readings = [x[0, min(13, tokens.shape[1] - 1)]]
    for block in model.blocks:
        x = block(x)
        readings.append(x[0, min(13, tokens.shape[1] - 1)])
    return model.ln_f(torch.stack(readings)) @ model.wte.weight.T


# %% logit_lens wrong (property as_it_was): right logits, but the model is in train mode afterwards
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    model.eval()
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    readings = [x[0, -1]]
    for block in model.blocks:
        x = block(x)
        readings.append(x[0, -1])
    logits = model.ln_f(torch.stack(readings)) @ model.wte.weight.T
    model.train()
    return logits


# %% logit_lens right (passed): runs the blocks by hand and reads all streams at once
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    readings = [x[0, -1]]
    for block in model.blocks:
        x = block(x)
        readings.append(x[0, -1])
    return model.ln_f(torch.stack(readings)) @ model.wte.weight.T


# %% logit_lens right (passed): runs the model with hooks that are removed in any case
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    stream, hooks = [], []
    for block in model.blocks:
        hooks.append(block.register_forward_pre_hook(lambda part, given: stream.append(given[0][0, -1])))
    hooks.append(model.ln_f.register_forward_pre_hook(lambda part, given: stream.append(given[0][0, -1])))
    try:
        model(tokens)
    finally:
        for hook in hooks:
            hook.remove()
    return model.ln_f(torch.stack(stream)) @ model.wte.weight.T


# %% patch_stream wrong (misconception after-the-block): replaces the vector in the output of block `layer`, one block too late
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = torch.arange(clean.shape[1], device=clean.device)
    x, other = (model.wte(tokens) + model.wpe(places) for tokens in (clean, corrupted))
    for number, block in enumerate(model.blocks):
        x, other = block(x), block(other)
        if number == layer:
            x = x.clone()
            x[:, position] = other[:, position]
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream wrong (misconception in-every-later-block): replaces the vector before block `layer` and again before every later block
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = torch.arange(clean.shape[1], device=clean.device)
    x, other = (model.wte(tokens) + model.wpe(places) for tokens in (clean, corrupted))
    for number, block in enumerate(model.blocks):
        if number >= layer:
            x = x.clone()
            x[:, position] = other[:, position]
        x, other = block(x), block(other)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream wrong (property what_was_exchanged): changes the output of blocks[layer - 1]; for layer 0 this is the last block
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    found = {}

    def keep(part, given, out):
        found["vector"] = out[:, position].clone()

    def put(part, given, out):
        out = out.clone()
        out[:, position] = found["vector"]
        return out

    before = model.blocks[layer - 1]
    hook = before.register_forward_hook(keep)
    model(corrupted)
    hook.remove()
    hook = before.register_forward_hook(put)
    logits = model(clean)
    hook.remove()
    return logits


# %% patch_stream wrong (property what_was_exchanged): all texts get the vector of the first corrupted text; right for one text
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = torch.arange(clean.shape[1], device=clean.device)
    x, other = (model.wte(tokens) + model.wpe(places) for tokens in (clean, corrupted))
    for number, block in enumerate(model.blocks):
        if number == layer:
            x = x.clone()
            x[:, position] = other[0, position]
        x, other = block(x), block(other)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream wrong (misconception hook-left): right logits, but the hook that replaces the vector stays on the model
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    found = {}

    def keep(part, given):
        found["vector"] = given[0][:, position].clone()

    def put(part, given):
        x = given[0].clone()
        x[:, position] = found["vector"]
        return x

    hook = model.blocks[layer].register_forward_pre_hook(keep)
    model(corrupted)
    hook.remove()
    model.blocks[layer].register_forward_pre_hook(put)
    return model(clean)


# %% patch_stream right (passed): runs both texts side by side by hand
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = torch.arange(clean.shape[1], device=clean.device)
    x, other = (model.wte(tokens) + model.wpe(places) for tokens in (clean, corrupted))
    for number, block in enumerate(model.blocks):
        if number == layer:
            x = x.clone()
            x[:, position] = other[:, position]
        x, other = block(x), block(other)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream right (passed): two pre-hooks on the block, the second uses where; both removed in any case
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    kept = []
    chosen = (torch.arange(clean.shape[1], device=clean.device) == position)[:, None]
    block = model.blocks[layer]
    hook = block.register_forward_pre_hook(lambda part, given: kept.append(given[0]))
    try:
        model(corrupted)
    finally:
        hook.remove()
    hook = block.register_forward_pre_hook(lambda part, given: (torch.where(chosen, kept[0], given[0]),))
    try:
        return model(clean)
    finally:
        hook.remove()


# %% without_head wrong (misconception after-out_proj): sets part of the output of out_proj to zero, after the heads have been mixed
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given, found):
        x = found.clone()
        x[..., head * width : (head + 1) * width] = 0
        return x

    hook = model.blocks[layer].attn.out_proj.register_forward_hook(silence)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head wrong (misconception interleaved): every n_heads-th entry instead of neighbouring entries
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        x = given[0].clone()
        x[..., head :: model.config.n_heads] = 0
        return (x,)

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head wrong (property which_entries_are_zero): counts the columns from the end; the slice of the last head is empty, so this head stays
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        x = given[0].clone()
        x[..., (head - model.config.n_heads) * width : (head + 1 - model.config.n_heads) * width] = 0
        return (x,)

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head wrong (misconception values-but-no-bias): sets the head's rows of W_value to zero and restores them, but the bias of the values still goes through; right where this bias is 0
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    weight = model.blocks[layer].attn.W_value.weight.data
    rows = slice(head * width, (head + 1) * width)
    before = weight[rows].clone()
    weight[rows] = 0
    try:
        return model(tokens)
    finally:
        weight[rows] = before


# %% without_head wrong (misconception hook-left): right logits in the first call, but the hook stays on the model
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        x = given[0].clone()
        x[..., head * width : (head + 1) * width] = 0
        return (x,)

    model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    return model(tokens)


# %% without_head right (passed): a pre-hook clears a slice of a copy, and is removed in any case
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        x = given[0].clone()
        x[..., head * width : (head + 1) * width] = 0
        return (x,)

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head right (passed): a pre-hook splits the heads, fills one by a mask, and joins them; the hook is used as a context
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    gone = torch.arange(model.config.n_heads, device=tokens.device) == head

    def silence(part, given):
        heads = given[0].unflatten(-1, (-1, width))
        return heads.masked_fill(gone[:, None], 0.0).flatten(-2)

    with model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence):
        logits = model(tokens)
    return logits


# %% induction_score wrong (misconception same-token): takes the weight on the same token, position i, not on the token after it
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=-n, dim1=-2, dim2=-1).mean(dim=-1)


# %% induction_score wrong (misconception one-for-all-heads): one mean over all heads and texts instead of one for each head
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=1 - n, dim1=-2, dim2=-1)[..., 1:].mean()


# %% induction_score wrong (misconception from-the-end-of-the-first): keeps the first entry of the diagonal, the query n - 1 on position 0: a mean of n + 1 weights
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=1 - n, dim1=-2, dim2=-1).mean(dim=-1)


# %% induction_score wrong (misconception last-query-missing): leaves out the last query, which looks at the first token of the second list: a mean of n - 1 weights
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=1 - n, dim1=-2, dim2=-1)[..., 1:-1].mean(dim=-1)


# %% induction_score wrong (raised): the axes are counted from the front; right for [layers, batch, heads, seq, seq] only
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=1 - n, dim1=3, dim2=4)[..., 1:].mean(dim=-1)


# %% induction_score right (passed): a diagonal without its first entry
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=1 - n, dim1=-2, dim2=-1)[..., 1:].mean(dim=-1)


# %% induction_score right (passed): picks the weights with two index vectors
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    i = torch.arange(n, device=pattern.device)
    return pattern[..., n + i, i + 1].sum(dim=-1) / n


