# %% logit_lens wrong (misconception no-final-norm): the readings are compared with the embeddings without going through ln_f
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    rows = [x[0, -1] @ model.wte.weight.T]
    for block in model.blocks:
        x = block(x)
        rows.append(x[0, -1] @ model.wte.weight.T)
    return torch.stack(rows)


# %% logit_lens wrong (misconception no-embeddings): the reading before the first block is missing, so there are n_layers rows and not n_layers + 1
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    rows = []
    for block in model.blocks:
        x = block(x)
        rows.append(model.ln_f(x)[0, -1] @ model.wte.weight.T)
    return torch.stack(rows)


# %% logit_lens wrong (misconception normed-from-the-start): the stream is overwritten by its normalised copy, and the next block gets this copy; row 0 is right, the rows after it are wrong
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    x = model.ln_f(x)
    rows = [x[0, -1] @ model.wte.weight.T]
    for block in model.blocks:
        x = model.ln_f(block(x))
        rows.append(x[0, -1] @ model.wte.weight.T)
    return torch.stack(rows)


# %% logit_lens wrong (property as_it_was): removes the last block from model.blocks after each run and never puts the blocks back; the first call is right, afterwards the model has no blocks
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    rows = [model(tokens)[0, -1]]
    for _ in range(len(model.blocks)):
        model.blocks = model.blocks[:-1]
        rows.insert(0, model(tokens)[0, -1])
    return torch.stack(rows)


# %% logit_lens wrong (difference milestone): the readings are normalised by hand with mean and variance, without the w and b of ln_f; right for a new model (w 1, b 0), wrong for a trained one
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    streams = [x[0, -1]]
    for block in model.blocks:
        x = block(x)
        streams.append(x[0, -1])
    streams = torch.stack(streams)
    centred = streams - streams.mean(dim=-1, keepdim=True)
    normalised = centred / (streams.var(dim=-1, correction=0, keepdim=True) + model.config.eps).sqrt()
    return normalised @ model.wte.weight.T


# %% logit_lens right (passed): the model's parts one after another, all readings stacked and normalised at once
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    streams = [x[0, -1]]
    for block in model.blocks:
        x = block(x)
        streams.append(x[0, -1])
    return model.ln_f(torch.stack(streams)) @ model.wte.weight.T


# %% logit_lens right (passed): one run of the model with hooks that note what goes into each block and into ln_f, removed in finally
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    readings, hooks = [], []

    def note(part, given):
        readings.append(given[0][0, -1].clone())

    try:
        for part in [*model.blocks, model.ln_f]:
            hooks.append(part.register_forward_pre_hook(note))
        model(tokens)
    finally:
        for hook in hooks:
            hook.remove()
    rows = []
    for reading in readings:
        rows.append(nn.functional.linear(model.ln_f(reading), model.wte.weight))
    return torch.stack(rows)


# %% patch_stream wrong (misconception other-way-round): the direction is exchanged, a vector of the clean run is put into the run of corrupted and the logits for corrupted are returned
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = model.wpe(torch.arange(clean.shape[1], device=clean.device))
    mine, other = model.wte(clean) + places, model.wte(corrupted) + places
    for block in model.blocks[:layer]:
        mine, other = block(mine), block(other)
    patched = other.clone()
    patched[:, position] = mine[:, position]
    for block in model.blocks[layer:]:
        patched = block(patched)
    return model.ln_f(patched) @ model.wte.weight.T


# %% patch_stream wrong (misconception after-the-block): the vector is replaced after block `layer` and not before it, so the patch comes one block too late
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = model.wpe(torch.arange(clean.shape[1], device=clean.device))
    mine, other = model.wte(clean) + places, model.wte(corrupted) + places
    for i, block in enumerate(model.blocks):
        mine, other = block(mine), block(other)
        if i == layer:
            mine = mine.clone()
            mine[:, position] = other[:, position]
    return model.ln_f(mine) @ model.wte.weight.T


# %% patch_stream wrong (misconception in-every-later-block): the vector is replaced before block `layer` and again before every later block (>= instead of ==); right only for the last block
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = model.wpe(torch.arange(clean.shape[1], device=clean.device))
    mine, other = model.wte(clean) + places, model.wte(corrupted) + places
    for i, block in enumerate(model.blocks):
        if i >= layer:
            mine = mine.clone()
            mine[:, position] = other[:, position]
        mine, other = block(mine), block(other)
    return model.ln_f(mine) @ model.wte.weight.T


# %% patch_stream wrong (misconception first-text-only): only the first text of the batch is patched (index 0 on the batch axis); right for a single text
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = model.wpe(torch.arange(clean.shape[1], device=clean.device))
    mine, other = model.wte(clean) + places, model.wte(corrupted) + places
    for block in model.blocks[:layer]:
        mine, other = block(mine), block(other)
    mine = mine.clone()
    mine[0, position] = other[0, position]
    for block in model.blocks[layer:]:
        mine = block(mine)
    return model.ln_f(mine) @ model.wte.weight.T


# %% patch_stream wrong (misconception only-what-attention-reads): the hook sits on ln_1 of the block, so attention reads the twin's vector, but the stream itself, which ln_2 and later blocks read, keeps the clean vector
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    reader, seen = model.blocks[layer].ln_1, []
    hook = reader.register_forward_pre_hook(lambda part, given: seen.append(given[0].clone()))
    try:
        model(corrupted)
    finally:
        hook.remove()

    def replace(part, given):
        stream = given[0].clone()
        stream[:, position] = seen[0][:, position]
        return stream

    hook = reader.register_forward_pre_hook(replace)
    try:
        return model(clean)
    finally:
        hook.remove()


# %% patch_stream right (passed): both texts through the first blocks by hand, one vector copied, the rest of the blocks for clean alone
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = model.wpe(torch.arange(clean.shape[1], device=clean.device))
    mine, other = model.wte(clean) + places, model.wte(corrupted) + places
    for i, block in enumerate(model.blocks):
        if i == layer:
            mine = mine.clone()
            mine[:, position] = other[:, position]
        mine = block(mine)
        if i < layer:
            other = block(other)
    return model.ln_f(mine) @ model.wte.weight.T


# %% patch_stream right (passed): two runs of the model with a pre-hook on the block, first to remember and then to replace by torch.where, removed in finally
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    block, remembered = model.blocks[layer], {}

    def remember(part, given):
        remembered["stream"] = given[0].clone()

    def replace(part, given):
        here = torch.arange(given[0].shape[1], device=given[0].device) == position
        return torch.where(here[None, :, None], remembered["stream"], given[0])

    logits = None
    for tokens, action in ((corrupted, remember), (clean, replace)):
        hook = block.register_forward_pre_hook(action)
        try:
            logits = model(tokens)
        finally:
            hook.remove()
    return logits


# %% without_head wrong (property which_entries_are_zero): the slice is on axis 1, so positions head * width to (head + 1) * width are set to zero for all heads and not the head's entries at all positions
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    # Run the model with a hook, and remove the hook afterwards.
    def silence(part, given):
        x = given[0].clone()
        x[:, head * width : (head + 1) * width] = 0
        return x

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head wrong (property which_entries_are_zero): the slice starts at entry head instead of head * width, so for every head but 0 entries of the wrong heads are set to zero
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    # Run the model with a hook, and remove the hook afterwards.
    def silence(part, given):
        x = given[0].clone()
        x[..., head : head + width] = 0
        return x

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head wrong (misconception hook-left): hook.remove() stands after the return and never runs; the logits of the first call are right, but the head stays switched off in the model
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
    return model(tokens)
    hook.remove()


# %% without_head wrong (misconception last-position-only): the head's entries are set to zero at the last position only and not at every position
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    # Run the model with a hook, and remove the hook afterwards.
    def silence(part, given):
        x = given[0].clone()
        x[:, -1, head * width : (head + 1) * width] = 0
        return x

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head wrong (misconception weights-left): sets the head's columns of out_proj.weight to zero and restores them from `saved`, which is the same memory and no copy; the logits are right, but the model has lost these weights
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    # Run the model with a hook, and remove the hook afterwards.
    weight = model.blocks[layer].attn.out_proj.weight
    saved = weight.data
    with torch.no_grad():
        weight[:, head * width : (head + 1) * width] = 0
        logits = model(tokens)
        weight.copy_(saved)
    return logits


# %% without_head right (passed): a hook that sets a slice of a copy to zero, removed in finally
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


# %% without_head right (passed): the entries of the head by comparison of entry // width, masked_fill, the hook's handle as a context manager
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    # Run the model with a hook, and remove the hook afterwards.
    def cut(layer_called, inputs):
        (merged,) = inputs
        entries = torch.arange(merged.shape[-1], device=merged.device)
        return (merged.masked_fill(entries // width == head, 0.0),)

    with model.blocks[layer].attn.out_proj.register_forward_pre_hook(cut):
        logits = model(tokens)
    return logits


# %% induction_score wrong (misconception same-token): takes the weight on position i, the same token itself, and not on position i + 1 after it
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    i = torch.arange(n, device=pattern.device)
    return pattern[..., n + i, i].mean(dim=-1)


# %% induction_score wrong (misconception turned): query and key axes are exchanged, it reads row i + 1 and column n + i; almost all of these weights lie in the future and are 0 under a causal mask
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    i = torch.arange(n, device=pattern.device)
    return pattern[..., i + 1, n + i].mean(dim=-1)


# %% induction_score wrong (misconception from-the-end-of-the-first): takes the whole diagonal with offset 1 - n, which has n + 1 entries; the additional entry, query n - 1 on key 0, belongs to the first list
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=1 - n, dim1=-2, dim2=-1).mean(dim=-1)


# %% induction_score wrong (misconception last-query-missing): the last query 2n - 1 (i = n - 1, key n) is left out, so the mean is over n - 1 weights and not over n
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    weights = [pattern[..., n + i, i + 1] for i in range(n - 1)]
    return torch.stack(weights, dim=-1).mean(dim=-1)


# %% induction_score wrong (shape): diagonal() without dim1 and dim2 takes the diagonal of the first two axes; right for a single pattern, wrong as soon as axes of batch or heads come before
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    second_list = pattern[..., n:, 1 : n + 1]
    return second_list.diagonal().mean(dim=-1)


# %% induction_score right (passed): a loop that adds the n weights
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    total = 0
    for i in range(n):
        total = total + pattern[..., n + i, i + 1]
    return total / n


# %% induction_score right (passed): the square of rows n to 2n - 1 and columns 1 to n, its main diagonal on the last two axes, the mean
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.size(-2) // 2
    square = pattern[..., n:, 1 : n + 1]
    return torch.diagonal(square, dim1=-2, dim2=-1).mean(-1)
