# %% logit_lens wrong (misconception no-embeddings): leaves out the reading before the first block
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    rows = []
    for block in model.blocks:
        x = block(x)
        rows.append(model.ln_f(x)[0, -1] @ model.wte.weight.T)
    return torch.stack(rows)


# %% logit_lens wrong (misconception normed-at-the-end-only): only the last reading goes through ln_f
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    streams = [x[0, -1]]
    for block in model.blocks:
        x = block(x)
        streams.append(x[0, -1])
    streams[-1] = model.ln_f(streams[-1])
    return torch.stack(streams) @ model.wte.weight.T


# %% logit_lens wrong (raised): (subtle) reads position 13 instead of the last position, right only for texts of 14 tokens
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    streams = [x]
    for block in model.blocks:
        streams.append(block(streams[-1]))
    return torch.cat([model.ln_f(s[:, 13]) @ model.wte.weight.T for s in streams])


# %% logit_lens wrong (property as_it_was): (subtle) the right logits, but it cuts the model's own blocks off one after the other and leaves it without blocks
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    rows = []
    for n in range(len(model.blocks), -1, -1):
        model.blocks = model.blocks[:n]
        rows.append(model(tokens)[0, -1])
    return torch.stack(rows[::-1])


# %% logit_lens right (passed): runs the parts one by one and reads the stream after each
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    streams = [x[0, -1]]
    for block in model.blocks:
        x = block(x)
        streams.append(x[0, -1])
    return model.ln_f(torch.stack(streams)) @ model.wte.weight.T


# %% logit_lens right (passed): hooks record what goes into each block and out of the last one, and are removed afterwards
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    streams = []

    def keep(part, given):
        streams.append(given[0][0, -1])

    hooks = [part.register_forward_pre_hook(keep) for part in (*model.blocks, model.ln_f)]
    try:
        model(tokens)
    finally:
        for hook in hooks:
            hook.remove()
    return torch.stack([torch.einsum("d,vd->v", model.ln_f(s), model.wte.weight) for s in streams])


# %% patch_stream wrong (misconception after-the-block): replaces the vector after block `layer` instead of before it
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = torch.arange(clean.shape[1], device=clean.device)
    x, twin = (model.wte(tokens) + model.wpe(places) for tokens in (clean, corrupted))
    for i, block in enumerate(model.blocks):
        x, twin = block(x), block(twin)
        if i == layer:
            x = x.clone()
            x[:, position] = twin[:, position]
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream wrong (misconception in-every-later-block): replaces the vector again before every later block
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = torch.arange(clean.shape[1], device=clean.device)
    x, twin = (model.wte(tokens) + model.wpe(places) for tokens in (clean, corrupted))
    for i, block in enumerate(model.blocks):
        if i >= layer:
            x = x.clone()
            x[:, position] = twin[:, position]
        x, twin = block(x), block(twin)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream wrong (property what_was_exchanged): (subtle) takes the first corrupted text's vector for all texts, right only for a batch of one
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = torch.arange(clean.shape[1], device=clean.device)
    x, twin = (model.wte(tokens) + model.wpe(places) for tokens in (clean, corrupted))
    for i, block in enumerate(model.blocks):
        if i == layer:
            x = x.clone()
            x[:, position] = twin[0, position]
        x, twin = block(x), block(twin)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream wrong (misconception hook-left): (subtle) never removes the hook that replaces the vector, so later runs of the model are patched too
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    twin = model.wte(corrupted) + model.wpe(torch.arange(corrupted.shape[1], device=corrupted.device))
    for block in model.blocks[:layer]:
        twin = block(twin)

    def replace(part, given):
        x = given[0].clone()
        x[:, position] = twin[:, position]
        return (x,)

    model.blocks[layer].register_forward_pre_hook(replace)
    return model(clean)


# %% patch_stream right (passed): runs both texts through the parts up to the block, then only the patched stream
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = torch.arange(clean.shape[1], device=clean.device)
    x, twin = (model.wte(tokens) + model.wpe(places) for tokens in (clean, corrupted))
    for block in model.blocks[:layer]:
        x, twin = block(x), block(twin)
    here = (places == position)[:, None]
    x = torch.where(here, twin, x)
    for block in model.blocks[layer:]:
        x = block(x)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream right (passed): one hook records the twin's vector, a second hook puts it into the clean run; both are removed
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    block, found = model.blocks[layer], []
    hook = block.register_forward_pre_hook(lambda part, given: found.append(given[0][:, position].clone()))
    try:
        model(corrupted)
    finally:
        hook.remove()

    def replace(part, given):
        x = given[0].clone()
        x[:, position] = found[0]
        return (x, *given[1:])

    hook = block.register_forward_pre_hook(replace)
    try:
        return model(clean)
    finally:
        hook.remove()


# %% without_head wrong (misconception interleaved): sets every n_heads-th column to zero instead of `width` neighbouring columns
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        x = given[0].clone()
        x[..., head::model.config.n_heads] = 0
        return (x,)

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head wrong (misconception after-out_proj): sets columns of out_proj's output to zero instead of its input
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given, found):
        found = found.clone()
        found[..., head * width:(head + 1) * width] = 0
        return found

    hook = model.blocks[layer].attn.out_proj.register_forward_hook(silence)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head wrong (property which_entries_are_zero): (subtle) switches the head off only in the first text of the batch
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        x = given[0].clone()
        x[0, :, head * width:(head + 1) * width] = 0
        return (x,)

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head wrong (property as_it_was): (subtle) clears all pre-hooks of out_proj, also hooks that were there before
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads
    out_proj = model.blocks[layer].attn.out_proj

    def silence(part, given):
        x = given[0].clone()
        x[..., head * width:(head + 1) * width] = 0
        return (x,)

    out_proj.register_forward_pre_hook(silence)
    try:
        return model(tokens)
    finally:
        out_proj._forward_pre_hooks.clear()


# %% without_head right (passed): a pre-hook that clones and sets the head's columns to zero
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        x = given[0].clone()
        x[..., head * width:(head + 1) * width] = 0
        return (x,)

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head right (passed): masked_fill by the number of the head that each column belongs to, the handle as a context manager
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        (x,) = given
        owner = torch.arange(x.shape[-1], device=x.device) // width
        return x.masked_fill(owner == head, 0.0)

    with model.get_submodule(f"blocks.{layer}.attn.out_proj").register_forward_pre_hook(silence):
        logits = model(tokens)
    return logits


# %% induction_score wrong (misconception from-the-end-of-the-first): the mean of the whole diagonal, which also counts the last query of the first list
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=1 - n, dim1=-2, dim2=-1).mean(dim=-1)


# %% induction_score wrong (misconception same-token): the weight on the same token n places back, not on the token after it
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=-n, dim1=-2, dim2=-1).mean(dim=-1)


# %% induction_score wrong (raised): (subtle) the length of a list is always 20
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    return sum(pattern[..., 20 + i, i + 1] for i in range(20)) / 20


# %% induction_score wrong (misconception first-two-axes): (subtle) diagonal of the first two axes, right only if no axes come before the last two
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(1 - n)[..., 1:].mean(dim=-1)


# %% induction_score right (passed): the diagonal n - 1 below the main one, without its first entry
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=1 - n, dim1=-2, dim2=-1)[..., 1:].mean(dim=-1)


# %% induction_score right (passed): two index lists for queries and keys
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    i = torch.arange(n, device=pattern.device)
    return pattern[..., n + i, i + 1].mean(dim=-1)
