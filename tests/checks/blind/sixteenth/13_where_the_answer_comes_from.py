# %% logit_lens wrong (misconception no-embeddings): leaves out the reading before the first block
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    readings = []
    for block in model.blocks:
        x = block(x)
        readings.append(x[0, -1])
    return model.ln_f(torch.stack(readings)) @ model.wte.weight.T


# %% logit_lens wrong (misconception normed-from-the-start): overwrites the stream with the normalised stream, so the next block reads the norm's result
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    x = model.ln_f(x)
    rows = [x[0, -1] @ model.wte.weight.T]
    for block in model.blocks:
        x = model.ln_f(block(x))
        rows.append(x[0, -1] @ model.wte.weight.T)
    return torch.stack(rows)


# %% logit_lens wrong (property as_it_was): (subtle) leaves its hooks on the blocks: the first result is right, but the model keeps the hooks
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    readings = [(model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device)))[0, -1]]

    def keep(part, given, found):
        readings.append(found[0, -1])

    for block in model.blocks:
        block.register_forward_hook(keep)
    model(tokens)
    return model.ln_f(torch.stack(readings)) @ model.wte.weight.T


# %% logit_lens wrong (difference places): (subtle) the last reading goes through ln_f twice, which hardly shows as long as ln_f has w = 1 and b = 0
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    readings = [x]
    for block in model.blocks:
        x = block(x)
        readings.append(x)
    readings[-1] = model.ln_f(readings[-1])  # the model's own end
    return torch.stack([model.ln_f(reading)[0, -1] @ model.wte.weight.T for reading in readings])


# %% logit_lens wrong (shape): (subtle) squeezes the stream, which removes the positions too if the text has a single token
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    rows = [(model.ln_f(x) @ model.wte.weight.T).squeeze()[-1]]
    for block in model.blocks:
        x = block(x)
        rows.append((model.ln_f(x) @ model.wte.weight.T).squeeze()[-1])
    return torch.stack(rows)


# %% logit_lens right (passed): runs the parts in a loop and reads all rows at the end
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    readings = [x[0, -1]]
    for block in model.blocks:
        x = block(x)
        readings.append(x[0, -1])
    return model.ln_f(torch.stack(readings)) @ model.wte.weight.T


# %% logit_lens right (passed): hooks before each block and before ln_f, removed even after an error
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    streams = []

    def keep(part, given):
        streams.append(given[0][:, -1])

    handles = [part.register_forward_pre_hook(keep) for part in (*model.blocks, model.ln_f)]
    try:
        model(tokens)
    finally:
        for handle in handles:
            handle.remove()
    rows = [nn.functional.linear(model.ln_f(stream), model.wte.weight) for stream in streams]
    return torch.cat(rows, dim=0)


# %% patch_stream wrong (misconception after-the-block): replaces the vector after block `layer` instead of before it
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = model.wpe(torch.arange(clean.shape[1], device=clean.device))
    x, y = model.wte(clean) + places, model.wte(corrupted) + places
    for i, block in enumerate(model.blocks):
        x, y = block(x), block(y)
        if i == layer:
            x = x.clone()
            x[:, position] = y[:, position]
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream wrong (misconception other-way-round): exchanges the roles: puts a vector of clean into the run of corrupted
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = model.wpe(torch.arange(clean.shape[1], device=clean.device))
    x, y = model.wte(clean) + places, model.wte(corrupted) + places
    for i, block in enumerate(model.blocks):
        if i == layer:
            y = y.clone()
            y[:, position] = x[:, position]
        x, y = block(x), block(y)
    return model.ln_f(y) @ model.wte.weight.T


# %% patch_stream wrong (misconception first-text-only): (subtle) replaces the vector only in the first text, which is right for a batch of one
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = model.wpe(torch.arange(clean.shape[1], device=clean.device))
    x, y = model.wte(clean) + places, model.wte(corrupted) + places
    for i, block in enumerate(model.blocks):
        if i == layer:
            x = x.clone()
            x[0, position] = y[0, position]
        x, y = block(x), block(y)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream wrong (misconception in-every-later-block): (subtle) replaces the vector again before every later block, which is right only for the last block
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = model.wpe(torch.arange(clean.shape[1], device=clean.device))
    x, y = model.wte(clean) + places, model.wte(corrupted) + places
    for i, block in enumerate(model.blocks):
        if i >= layer:
            x = x.clone()
            x[:, position] = y[:, position]
        x, y = block(x), block(y)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream wrong (property what_was_exchanged): (subtle) takes the replacement from the embeddings of corrupted, which is right only before block 0
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = model.wpe(torch.arange(clean.shape[1], device=clean.device))
    x, y = model.wte(clean) + places, model.wte(corrupted) + places
    for i, block in enumerate(model.blocks):
        if i == layer:
            x = x.clone()
            x[:, position] = y[:, position]
        x = block(x)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream right (passed): runs both streams side by side up to the block, then only the clean one
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = model.wpe(torch.arange(clean.shape[1], device=clean.device))
    x, y = model.wte(clean) + places, model.wte(corrupted) + places
    for block in model.blocks[:layer]:
        x, y = block(x), block(y)
    x = torch.cat([x[:, :position], y[:, position : position + 1], x[:, position + 1 :]], dim=1)
    for block in model.blocks[layer:]:
        x = block(x)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream right (passed): two runs of the whole model, with a hook before the block that first reads and then replaces
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    block = model.blocks[layer]
    read = []

    def keep(part, given):
        read.append(given[0][:, position].clone())

    def replace(part, given):
        here = torch.arange(given[0].shape[1], device=given[0].device) == position
        return (torch.where(here[None, :, None], read[0][:, None], given[0]), *given[1:])

    handle = block.register_forward_pre_hook(keep)
    try:
        model(corrupted)
    finally:
        handle.remove()
    handle = block.register_forward_pre_hook(replace)
    try:
        return model(clean)
    finally:
        handle.remove()


# %% without_head wrong (misconception after-out_proj): sets columns of the output of out_proj to zero instead of its input
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given, found):
        found = found.clone()
        found[..., head * width : (head + 1) * width] = 0
        return found

    hook = model.blocks[layer].attn.out_proj.register_forward_hook(silence)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head wrong (property which_entries_are_zero): a slip in the slice, whose end is head + width: right for head 0 only
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        heads = given[0].clone()
        heads[:, :, head * width : head + width] = 0
        return heads

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    logits = model(tokens)
    hook.remove()
    return logits


# %% without_head wrong (misconception hook-left): (subtle) does not remove the hook: the first result is right, but the head stays switched off afterwards
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        heads = given[0].clone()
        heads[..., head * width : (head + 1) * width] = 0
        return heads

    model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    return model(tokens)


# %% without_head wrong (property as_it_was): (subtle) clears all hooks of out_proj, also hooks that were there before the call
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads
    part = model.blocks[layer].attn.out_proj

    def silence(part, given):
        heads = given[0].clone()
        heads[..., head * width : (head + 1) * width] = 0
        return heads

    part.register_forward_pre_hook(silence)
    logits = model(tokens)
    part._forward_pre_hooks.clear()
    return logits


# %% without_head wrong (misconception values-but-no-bias): (subtle) sets the head's rows of W_value to zero but not its bias, which is right only if this bias is zero
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads
    rows = slice(head * width, (head + 1) * width)
    values = model.blocks[layer].attn.W_value

    def silence(part, given, found):
        found = found.clone()
        found[..., rows] = part.bias[rows]  # what is left if the matrix of this head is zero
        return found

    hook = values.register_forward_hook(silence)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head right (passed): a hook that sets the head's columns of a copy to zero
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        heads = given[0].clone()
        heads[..., head * width : (head + 1) * width] = 0
        return heads

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head right (passed): the hook's handle as a context manager, heads on an axis of their own, masked_fill
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        by_head = given[0].unflatten(-1, (-1, width))
        off = torch.arange(by_head.shape[-2], device=by_head.device) == head
        return (by_head.masked_fill(off[:, None], 0.0).flatten(-2),)

    with model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence):
        logits = model(tokens)
    return logits


# %% induction_score wrong (misconception same-token): takes the weight on the same token instead of the token after it
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=-n, dim1=-2, dim2=-1).mean(dim=-1)


# %% induction_score wrong (misconception turned): exchanges rows and columns: query i + 1, key n + i
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    i = torch.arange(n, device=pattern.device)
    return pattern[..., i + 1, n + i].mean(dim=-1)


# %% induction_score wrong (misconception from-the-end-of-the-first): (subtle) takes the whole diagonal, n + 1 weights, with the last query of the first list
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=1 - n, dim1=-2, dim2=-1).mean(dim=-1)


# %% induction_score wrong (shape): (subtle) puts all leading axes into one, so only a stack with a single leading axis has the right shape
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    seq = pattern.shape[-1]
    n = seq // 2
    scores = []
    for table in pattern.reshape(-1, seq, seq):
        scores.append(torch.stack([table[n + i, i + 1] for i in range(n)]).mean())
    return torch.stack(scores)


# %% induction_score wrong (raised): (subtle) assumes lists of 20 tokens
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    queries = torch.arange(20, pattern.shape[-1], device=pattern.device)
    return pattern[..., queries, queries - 20 + 1].mean(dim=-1)


# %% induction_score right (passed): the rows of the second list, the columns 1 to n, and the main diagonal of this square
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern[..., n:, 1 : n + 1].diagonal(dim1=-2, dim2=-1).mean(dim=-1)


# %% induction_score right (passed): gather along the keys, one key for each query of the second list
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.size(-2) // 2
    second = pattern[..., n:, :]
    key = torch.arange(1, n + 1, device=pattern.device).view(n, 1).expand(*second.shape[:-1], 1)
    return second.gather(-1, key).sum(dim=(-2, -1)) / n


