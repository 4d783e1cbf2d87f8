# %% logit_lens wrong (difference places): the stream before the first block lacks the position vectors
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens)
    rows = [x[0, -1]]
    x = x + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    for block in model.blocks:
        x = block(x)
        rows.append(x[0, -1])
    return model.ln_f(torch.stack(rows)) @ model.wte.weight.T


# %% logit_lens wrong (property as_it_was): its own hooks are removed by clearing all hooks of the blocks, other hooks included
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    rows = []
    for number, block in enumerate(model.blocks):
        if number == 0:
            block.register_forward_pre_hook(lambda part, given: rows.append(given[0][0, -1]))
        block.register_forward_hook(lambda part, given, found: rows.append(found[0, -1]))
    model(tokens)
    for block in model.blocks:
        block._forward_hooks.clear()
        block._forward_pre_hooks.clear()
    return model.ln_f(torch.stack(rows)) @ model.wte.weight.T


# %% logit_lens wrong (property as_it_was): takes blocks off the end to stop early and puts them back in the order in which it took them, so the blocks are reversed afterwards (the first call's result is right)
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    rows, taken = [model(tokens)[0, -1]], []
    for last in reversed(range(len(model.blocks))):
        taken.append(model.blocks[last])
        del model.blocks[last]
        rows.insert(0, model(tokens)[0, -1])
    model.blocks.extend(taken)
    return torch.stack(rows)


# %% logit_lens right (passed): walks through the parts, one reading after the other through ln_f and a functional linear
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""

    def read(stream):
        return nn.functional.linear(model.ln_f(stream[:, -1]), model.wte.weight)

    places = torch.arange(tokens.size(1), device=tokens.device)
    stream = model.wte(tokens) + model.wpe(places).unsqueeze(0)
    readings = [read(stream)]
    for block in model.blocks:
        stream = block(stream)
        readings.append(read(stream))
    return torch.cat(readings, dim=0)


# %% patch_stream wrong (misconception after-the-block): replaces the vector that comes out of the block instead of the one that goes in
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    stored = []
    hook = model.blocks[layer].register_forward_hook(lambda part, given, found: stored.append(found[:, position].clone()))
    model(corrupted)
    hook.remove()

    def replace(part, given, found):
        found = found.clone()
        found[:, position] = stored[0]
        return found

    hook = model.blocks[layer].register_forward_hook(replace)
    try:
        return model(clean)
    finally:
        hook.remove()


# %% patch_stream wrong (property what_was_exchanged): gives every clean text the vector of the first corrupted text (right for one text)
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""

    def start(tokens):
        return model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))

    x, y = start(clean), start(corrupted)
    for number, block in enumerate(model.blocks):
        if number == layer:
            x = x.clone()
            x[:, position] = y[0, position]
        x, y = block(x), block(y)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream wrong (misconception in-every-later-block): replaces the vector again before every later block too (right for the last block)
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""

    def start(tokens):
        return model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))

    x, y = start(clean), start(corrupted)
    for number, block in enumerate(model.blocks):
        if number >= layer:
            x = x.clone()
            x[:, position] = y[:, position]
        x, y = block(x), block(y)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream right (passed): two pre-hooks, one stores and one swaps the vector with where() on the position, removed in finally
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    block, twin = model.blocks[layer], {}

    def store(part, given):
        twin["stream"] = given[0].clone()

    def swap(part, given):
        here = torch.arange(given[0].shape[1], device=given[0].device) == position
        return (torch.where(here[None, :, None], twin["stream"], given[0]), *given[1:])

    hook = block.register_forward_pre_hook(store)
    try:
        model(corrupted)
    finally:
        hook.remove()
    hook = block.register_forward_pre_hook(swap)
    try:
        return model(clean)
    finally:
        hook.remove()


# %% without_head wrong (misconception hook-left): the hook is never removed
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

    model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    return model(tokens)


# %% without_head wrong (misconception weights-left): sets the columns of out_proj to zero and restores them from a view, not a copy, so they stay zero afterwards (the logits are right)
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    # Run the model with a hook, and remove the hook afterwards.
    own = slice(head * width, (head + 1) * width)
    matrix = model.blocks[layer].attn.out_proj.weight.data
    saved = matrix[:, own]
    matrix[:, own] = 0
    logits = model(tokens)
    matrix[:, own] = saved
    return logits


# %% without_head wrong (misconception last-position-only): silences the head only at the last position, so the logits there are wrong for blocks before the last one, and all earlier logits
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
    logits = model(tokens)
    hook.remove()
    return logits


# %% without_head right (passed): masks by the number of the head of each entry, hook as a context manager
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    # Run the model with a hook, and remove the hook afterwards.
    def silence(part, given):
        (merged,) = given
        owner = torch.arange(merged.shape[-1], device=merged.device) // width
        return (merged.masked_fill(owner == head, 0.0),)

    with model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence):
        return model(tokens)


# %% induction_score wrong (misconception same-token): takes the weight on position i, the earlier occurrence itself
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=-n, dim1=-2, dim2=-1).mean(dim=-1)


# %% induction_score wrong (misconception from-the-end-of-the-first): the whole diagonal, which has n + 1 entries: the last query of the first list counts too
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=1 - n, dim1=-2, dim2=-1).mean(dim=-1)


# %% induction_score wrong (property which_cells_count): the last query looks at position 0 instead of n, because i + 1 is taken modulo n
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    i = torch.arange(n, device=pattern.device)
    return pattern[..., n + i, (i + 1) % n].mean(dim=-1)


# %% induction_score right (passed): a table of zeros and ones picks the n weights, einsum sums them
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    seq = pattern.shape[-1]
    n = seq // 2
    row, column = torch.meshgrid(*(torch.arange(seq, device=pattern.device),) * 2, indexing="ij")
    chosen = ((row >= n) & (column == row - n + 1)).to(pattern.dtype)
    return torch.einsum("...qk,qk->...", pattern, chosen) / n




# %% change_head/mean-of-texts wrong (misconception one-mean): one mean for all positions and texts together
def change_head(model: nn.Module, tokens: Tensor, layer: int, head: int) -> Tensor:
    """Return the logits of a run in which the results of one head are changed, as your task says."""
    width = model.config.d_model // model.config.n_heads
    part = slice(head * width, (head + 1) * width)

    def change(module, given):
        x = given[0].clone()
        x[..., part] = x[..., part].mean(dim=(0, 1))
        return x

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(change)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% change_head/mean-of-texts wrong (difference milestone): subtle, takes the width of a head from the page's config instead of the model's: wrong for a model of another size
def change_head(model: nn.Module, tokens: Tensor, layer: int, head: int) -> Tensor:
    """Return the logits of a run in which the results of one head are changed, as your task says."""
    width = config.d_model // config.n_heads
    part = slice(head * width, (head + 1) * width)

    def change(module, given):
        x = given[0].clone()
        x[..., part] = x[..., part].mean(dim=0, keepdim=True)
        return x

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(change)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% change_head/mean-of-texts right (passed): a pre-hook that splits the heads, removed in finally
def change_head(model: nn.Module, tokens: Tensor, layer: int, head: int) -> Tensor:
    """Return the logits of a run in which the results of one head are changed, as your task says."""

    def change(module, given):
        heads = list(given[0].chunk(model.config.n_heads, dim=-1))
        heads[head] = heads[head].mean(dim=0, keepdim=True).expand_as(heads[head])
        return torch.cat(heads, dim=-1)

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(change)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% change_head/next-text wrong (misconception next-position): shifts along the positions instead of the texts
def change_head(model: nn.Module, tokens: Tensor, layer: int, head: int) -> Tensor:
    """Return the logits of a run in which the results of one head are changed, as your task says."""
    width = model.config.d_model // model.config.n_heads
    part = slice(head * width, (head + 1) * width)

    def change(module, given):
        x = given[0].clone()
        x[..., part] = x[..., part].roll(-1, dims=1)
        return x

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(change)
    logits = model(tokens)
    hook.remove()
    return logits


# %% change_head/next-text wrong (misconception previous-text): subtle, gives each text the results of the text before: right for one or two texts
def change_head(model: nn.Module, tokens: Tensor, layer: int, head: int) -> Tensor:
    """Return the logits of a run in which the results of one head are changed, as your task says."""
    width = model.config.d_model // model.config.n_heads
    part = slice(head * width, (head + 1) * width)

    def change(module, given):
        x = given[0].clone()
        x[..., part] = x[..., part].roll(1, dims=0)
        return x

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(change)
    logits = model(tokens)
    hook.remove()
    return logits


# %% change_head/next-text right (passed): a mask says which entries come from the batch in the new order
def change_head(model: nn.Module, tokens: Tensor, layer: int, head: int) -> Tensor:
    """Return the logits of a run in which the results of one head are changed, as your task says."""
    width = model.config.d_model // model.config.n_heads

    def change(module, given):
        x = given[0]
        own = torch.arange(x.shape[-1], device=x.device) // width == head
        following = torch.cat((x[1:], x[:1]), dim=0)
        return (torch.where(own, following, x),)

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(change)
    try:
        logits = model(tokens)
    finally:
        hook.remove()
    return logits


# %% change_head/first-position wrong (difference places): sets the results after position 0 to zero instead of copying the first result
def change_head(model: nn.Module, tokens: Tensor, layer: int, head: int) -> Tensor:
    """Return the logits of a run in which the results of one head are changed, as your task says."""
    width = model.config.d_model // model.config.n_heads
    part = slice(head * width, (head + 1) * width)

    def change(module, given):
        x = given[0].clone()
        x[:, 1:, part] = 0
        return x

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(change)
    logits = model(tokens)
    hook.remove()
    return logits


# %% change_head/first-position wrong (property as_it_was): subtle, switches the model to eval mode and leaves it there: shows if the model was in training mode
def change_head(model: nn.Module, tokens: Tensor, layer: int, head: int) -> Tensor:
    """Return the logits of a run in which the results of one head are changed, as your task says."""
    width = model.config.d_model // model.config.n_heads
    part = slice(head * width, (head + 1) * width)

    def change(module, given):
        x = given[0].clone()
        x[:, :, part] = given[0][:, :1, part]
        return x

    model.eval()
    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(change)
    logits = model(tokens)
    hook.remove()
    return logits


# %% change_head/first-position right (passed): a hook after out_proj adds what the change of the head adds
def change_head(model: nn.Module, tokens: Tensor, layer: int, head: int) -> Tensor:
    """Return the logits of a run in which the results of one head are changed, as your task says."""
    width = model.config.d_model // model.config.n_heads
    part = slice(head * width, (head + 1) * width)

    def change(module, given, found):
        own = given[0][..., part]
        return found + (own[:, :1] - own) @ module.weight[:, part].T

    hook = model.blocks[layer].attn.out_proj.register_forward_hook(change)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% change_head/last-position wrong (misconception as-in-the-lesson): switches the head off at every position, as in the lesson
def change_head(model: nn.Module, tokens: Tensor, layer: int, head: int) -> Tensor:
    """Return the logits of a run in which the results of one head are changed, as your task says."""
    width = model.config.d_model // model.config.n_heads

    def change(module, given):
        x = given[0].clone()
        x[..., head * width : (head + 1) * width] = 0
        return x

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(change)
    logits = model(tokens)
    hook.remove()
    return logits


# %% change_head/last-position wrong (property as_it_was): subtle, removes every hook of the layer at the end: shows if the layer had another hook before
def change_head(model: nn.Module, tokens: Tensor, layer: int, head: int) -> Tensor:
    """Return the logits of a run in which the results of one head are changed, as your task says."""
    width = model.config.d_model // model.config.n_heads
    out_proj = model.blocks[layer].attn.out_proj

    def change(module, given):
        x = given[0].clone()
        x[:, -1, head * width : (head + 1) * width] = 0
        return x

    out_proj.register_forward_pre_hook(change)
    logits = model(tokens)
    out_proj._forward_pre_hooks.clear()
    return logits


# %% change_head/last-position right (passed): multiplies the input of out_proj by a tensor of ones and zeros
def change_head(model: nn.Module, tokens: Tensor, layer: int, head: int) -> Tensor:
    """Return the logits of a run in which the results of one head are changed, as your task says."""
    n_heads = model.config.n_heads
    keep = torch.ones(tokens.shape[1], n_heads, 1, device=tokens.device)
    keep[-1, head] = 0

    def change(module, given):
        return (given[0].unflatten(-1, (n_heads, -1)) * keep.to(given[0].dtype)).flatten(-2)

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(change)
    try:
        return model(tokens)
    finally:
        hook.remove()
