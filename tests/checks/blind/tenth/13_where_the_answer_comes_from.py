# %% logit_lens wrong (misconception no-final-norm): reads the stream without ln_f
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    last = [x[0, -1]]
    for block in model.blocks:
        x = block(x)
        last.append(x[0, -1])
    return torch.stack(last) @ model.wte.weight.T


# %% logit_lens wrong (misconception normed-from-the-start): ln_f changes the stream itself, so later blocks get normalised vectors
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    x = model.ln_f(x)
    rows = [x[0, -1] @ model.wte.weight.T]
    for block in model.blocks:
        x = model.ln_f(block(x))
        rows.append(x[0, -1] @ model.wte.weight.T)
    return torch.stack(rows)


# %% logit_lens wrong (property as_it_was): subtle, the hooks on the blocks are never removed
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    last = []
    model.blocks[0].register_forward_pre_hook(lambda part, given: last.append(given[0][0, -1]))
    for block in model.blocks:
        block.register_forward_hook(lambda part, given, found: last.append(found[0, -1]))
    model(tokens)
    return model.ln_f(torch.stack(last)) @ model.wte.weight.T


# %% logit_lens wrong (difference milestone): subtle, normalises with eps 1e-5 instead of calling ln_f; shows if config.eps is another number
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    last = [x[0, -1]]
    for block in model.blocks:
        x = block(x)
        last.append(x[0, -1])
    return nn.functional.layer_norm(
        torch.stack(last), model.ln_f.w.shape, model.ln_f.w, model.ln_f.b, 1e-5
    ) @ model.wte.weight.T


# %% logit_lens right (passed): runs the parts one by one and reads all rows at the end
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    last = [x[0, -1]]
    for block in model.blocks:
        x = block(x)
        last.append(x[0, -1])
    return model.ln_f(torch.stack(last)) @ model.wte.weight.T


# %% logit_lens right (passed): hooks that are removed in finally
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    rows, hooks = [], []

    def read(stream):
        rows.append(nn.functional.linear(model.ln_f(stream[:, -1]), model.wte.weight)[0])

    def read_input(part, given):
        read(given[0])

    def read_output(part, given, found):
        read(found)

    try:
        hooks.append(model.blocks[0].register_forward_pre_hook(read_input))
        for block in model.blocks:
            hooks.append(block.register_forward_hook(read_output))
        model(tokens)
    finally:
        for hook in hooks:
            hook.remove()
    return torch.stack(rows)


# %% patch_stream wrong (misconception other-way-round): clean and corrupted are exchanged
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    positions = torch.arange(clean.shape[1], device=clean.device)
    x, other = (model.wte(tokens) + model.wpe(positions) for tokens in (corrupted, clean))
    for i, block in enumerate(model.blocks):
        if i == layer:
            x = x.clone()
            x[:, position] = other[:, position]
        x, other = block(x), block(other)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream wrong (misconception after-the-block): replaces the vector after block layer instead of before it
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    positions = torch.arange(clean.shape[1], device=clean.device)
    x, other = (model.wte(tokens) + model.wpe(positions) for tokens in (clean, corrupted))
    for i, block in enumerate(model.blocks):
        x, other = block(x), block(other)
        if i == layer:
            x = x.clone()
            x[:, position] = other[:, position]
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream wrong (misconception first-text-only): subtle, replaces the vector only in the first text; right for one text
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    positions = torch.arange(clean.shape[1], device=clean.device)
    x, other = (model.wte(tokens) + model.wpe(positions) for tokens in (clean, corrupted))
    for i, block in enumerate(model.blocks):
        if i == layer:
            x = x.clone()
            x[0, position] = other[0, position]
        x, other = block(x), block(other)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream wrong (property as_it_was): subtle, sets the model to eval mode and leaves it there; shows if it was in training mode
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    model.eval()
    positions = torch.arange(clean.shape[1], device=clean.device)
    x, other = (model.wte(tokens) + model.wpe(positions) for tokens in (clean, corrupted))
    for i, block in enumerate(model.blocks):
        if i == layer:
            x = x.clone()
            x[:, position] = other[:, position]
        x, other = block(x), block(other)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream right (passed): runs both texts side by side, block by block
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    positions = torch.arange(clean.shape[1], device=clean.device)
    x, other = (model.wte(tokens) + model.wpe(positions) for tokens in (clean, corrupted))
    for i, block in enumerate(model.blocks):
        if i == layer:
            x = x.clone()
            x[:, position] = other[:, position]
        x, other = block(x), block(other)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream right (passed): two hooks with try and finally
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    block, stored = model.blocks[layer], []

    def keep(part, given):
        stored.append(given[0])

    def put(part, given):
        here = torch.arange(given[0].shape[1], device=given[0].device) == position
        return torch.where(here[:, None], stored[0], given[0])

    for tokens, function in ((corrupted, keep), (clean, put)):
        hook = block.register_forward_pre_hook(function)
        try:
            logits = model(tokens)
        finally:
            hook.remove()
    return logits


# %% without_head wrong (misconception after-out_proj): sets entries of the output of out_proj to zero instead of its input
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


# %% without_head wrong (misconception the-others): keeps only this head and sets all the others to zero
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        merged = torch.zeros_like(given[0])
        own = slice(head * width, (head + 1) * width)
        merged[..., own] = given[0][..., own]
        return merged

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head wrong (misconception weights-left): subtle, sets columns of the weight to zero and restores them from a view, which is zero as well
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    columns = model.blocks[layer].attn.out_proj.weight.data[:, head * width : (head + 1) * width]
    before = columns
    columns.zero_()
    logits = model(tokens)
    columns.copy_(before)
    return logits


# %% without_head wrong (property as_it_was): subtle, clears all pre-hooks of out_proj afterwards, so hooks that were there before are lost
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        merged = given[0].clone()
        merged[..., head * width : (head + 1) * width] = 0
        return merged

    out_proj = model.blocks[layer].attn.out_proj
    out_proj.register_forward_pre_hook(silence)
    logits = model(tokens)
    out_proj._forward_pre_hooks.clear()
    return logits


# %% without_head right (passed): a pre-hook on a copy, removed in finally
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        merged = given[0].clone()
        merged[..., head * width : (head + 1) * width] = 0
        return merged

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head right (passed): no hook, functional_call with a weight whose columns for this head are zero
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    name = f"blocks.{layer}.attn.out_proj.weight"
    weight = model.blocks[layer].attn.out_proj.weight
    entries = torch.arange(weight.shape[1], device=weight.device)
    silent = weight.masked_fill(entries // width == head, 0.0)
    return torch.func.functional_call(model, {name: silent}, (tokens,))


# %% induction_score wrong (misconception same-token): the weight on the same token, not on the token after it
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=-n, dim1=-2, dim2=-1).mean(dim=-1)


# %% induction_score wrong (misconception over-all-queries): divides by all 2n positions instead of n
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    rows = torch.arange(n, 2 * n, device=pattern.device)
    return pattern[..., rows, rows - n + 1].sum(dim=-1) / pattern.shape[-1]


# %% induction_score wrong (misconception from-the-end-of-the-first): subtle, takes the whole diagonal, which has one entry of the first list too (query n - 1 on position 0)
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=1 - n, dim1=-2, dim2=-1).mean(dim=-1)


# %% induction_score wrong (misconception first-two-axes): subtle, the diagonal of the first two axes; right only if there are no other axes
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=1 - n)[..., 1:].mean(dim=-1)


# %% induction_score right (passed): the diagonal without its first entry
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=1 - n, dim1=-2, dim2=-1)[..., 1:].mean(dim=-1)


# %% induction_score right (passed): a loop over i
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    weights = [pattern[..., n + i, i + 1] for i in range(n)]
    return torch.stack(weights).mean(dim=0)
