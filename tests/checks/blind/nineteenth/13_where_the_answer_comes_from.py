# %% logit_lens wrong (misconception normed-at-the-end-only): only the last reading goes through ln_f, the earlier ones multiply the raw stream by the embeddings
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    rows = [x[0, -1] @ model.wte.weight.T]
    for block in model.blocks:
        x = block(x)
        rows.append(x[0, -1] @ model.wte.weight.T)
    rows[-1] = model.ln_f(x)[0, -1] @ model.wte.weight.T
    return torch.stack(rows)


# %% logit_lens wrong (difference places): the reading before the first block forgets the position embedding (first row wrong)
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    streams = [model.wte(tokens)]
    hooks = [block.register_forward_hook(lambda part, given, found: streams.append(found)) for block in model.blocks]
    model(tokens)
    for hook in hooks:
        hook.remove()
    return torch.stack([(model.ln_f(x) @ model.wte.weight.T)[0, -1] for x in streams])


# %% logit_lens wrong (raised): subtle, takes the number of layers from the page's config instead of the model (shows for a model with another number of layers)
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    rows = []
    for layer in range(config.n_layers + 1):
        rows.append(model.ln_f(x)[0, -1] @ model.wte.weight.T)
        if layer < config.n_layers:
            x = model.blocks[layer](x)
    return torch.stack(rows)


# %% logit_lens wrong (difference milestone): subtle, computes the norm itself with eps 1e-5 instead of calling ln_f (shows for a model with another eps)
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    def read(x):
        last = x[0, -1]
        last = last - last.mean()
        last = last / (last.pow(2).mean() + 1e-5).sqrt()
        return (last * model.ln_f.w + model.ln_f.b) @ model.wte.weight.T

    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    rows = [read(x)]
    for block in model.blocks:
        x = block(x)
        rows.append(read(x))
    return torch.stack(rows)


# %% logit_lens wrong (property as_it_was): subtle, cleans up by deleting all forward hooks of the blocks (shows when a block had a hook before)
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    streams = [x]
    for block in model.blocks:
        block.register_forward_hook(lambda part, given, found: streams.append(found))
    model(tokens)
    for block in model.blocks:
        block._forward_hooks.clear()
    return torch.stack([(model.ln_f(x) @ model.wte.weight.T)[0, -1] for x in streams])


# %% logit_lens right (passed): walks through the parts of the model in a loop
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    rows = [model.ln_f(x)[0, -1] @ model.wte.weight.T]
    for block in model.blocks:
        x = block(x)
        rows.append(model.ln_f(x)[0, -1] @ model.wte.weight.T)
    return torch.stack(rows)


# %% logit_lens right (passed): one run of the model with pre-hooks on the blocks and ln_f, then reads all streams at once
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    streams, hooks = [], []

    def keep(part, given):
        streams.append(given[0].clone())

    try:
        for part in [*model.blocks, model.ln_f]:
            hooks.append(part.register_forward_pre_hook(keep))
        model(tokens)
    finally:
        for hook in hooks:
            hook.remove()
    normed = model.ln_f(torch.cat(streams))[:, -1]
    return torch.einsum("ld,vd->lv", normed, model.wte.weight)


# %% patch_stream wrong (misconception after-the-block): replaces the vector in the output of the block, not in its input
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    found = {}
    hook = model.blocks[layer].register_forward_hook(lambda part, given, out: found.update(x=out))
    model(corrupted)
    hook.remove()

    def replace(part, given, out):
        out = out.clone()
        out[:, position] = found["x"][:, position]
        return out

    hook = model.blocks[layer].register_forward_hook(replace)
    logits = model(clean)
    hook.remove()
    return logits


# %% patch_stream wrong (property what_was_exchanged): hooks the output of block layer - 1, so layer 0 patches the end of the last block
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    before = model.blocks[layer - 1]
    kept = []
    hook = before.register_forward_hook(lambda part, given, out: kept.append(out.clone()))
    model(corrupted)
    hook.remove()

    def replace(part, given, out):
        out = out.clone()
        out[:, position] = kept[0][:, position]
        return out

    hook = before.register_forward_hook(replace)
    logits = model(clean)
    hook.remove()
    return logits


# %% patch_stream wrong (property what_was_exchanged): subtle, puts the first twin's vector into every text (shows with more than one text)
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    kept = []
    hook = model.blocks[layer].register_forward_pre_hook(lambda part, given: kept.append(given[0][0, position]))
    model(corrupted)
    hook.remove()

    def replace(part, given):
        x = given[0].clone()
        x[:, position] = kept[0]
        return x

    hook = model.blocks[layer].register_forward_pre_hook(replace)
    logits = model(clean)
    hook.remove()
    return logits


# %% patch_stream wrong (misconception hook-left): subtle, the hook switches itself off but is never removed (shows in the model's hooks afterwards)
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    kept, done = [], []

    def keep_then_replace(part, given):
        if not kept:
            kept.append(given[0].clone())
        elif not done:
            done.append(True)
            x = given[0].clone()
            x[:, position] = kept[0][:, position]
            return x

    model.blocks[layer].register_forward_pre_hook(keep_then_replace)
    model(corrupted)
    return model(clean)


# %% patch_stream wrong (property state): subtle, keeps the twins' streams by their tokens for later calls (shows with another model or changed weights)
streams_of = {}


def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    key = str(corrupted.tolist())
    if key not in streams_of:
        kept = []
        hooks = [block.register_forward_pre_hook(lambda part, given: kept.append(given[0].clone())) for block in model.blocks]
        model(corrupted)
        for hook in hooks:
            hook.remove()
        streams_of[key] = kept
    twin = streams_of[key][layer]

    def replace(part, given):
        x = given[0].clone()
        x[:, position] = twin[:, position]
        return x

    hook = model.blocks[layer].register_forward_pre_hook(replace)
    logits = model(clean)
    hook.remove()
    return logits


# %% patch_stream right (passed): two runs with a pre-hook on the block, removed in finally
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    block, kept = model.blocks[layer], []

    def keep(part, given):
        kept.append(given[0][:, position].clone())

    def replace(part, given):
        x = given[0].clone()
        x[:, position] = kept[0]
        return (x, *given[1:])

    hook = block.register_forward_pre_hook(keep)
    try:
        model(corrupted)
    finally:
        hook.remove()
    hook = block.register_forward_pre_hook(replace)
    try:
        return model(clean)
    finally:
        hook.remove()


# %% patch_stream right (passed): runs both streams by hand, joins them with torch.where before the block
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
            x = torch.where((places == position)[None, :, None], twin, x)
        x = block(x)
        if i < layer:
            twin = block(twin)
    return model.ln_f(x) @ model.wte.weight.T


# %% without_head wrong (misconception after-out_proj): sets the head's columns to zero in the output of out_proj instead of its input
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
    logits = model(tokens)
    hook.remove()
    return logits


# %% without_head wrong (property which_entries_are_zero): the slice starts at entry `head` instead of head * width
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        x = given[0].clone()
        x[..., head : head + width] = 0
        return x

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    logits = model(tokens)
    hook.remove()
    return logits


# %% without_head wrong (property which_entries_are_zero): subtle, switches the head off only at the 14 positions of the page's sentences (shows for longer texts)
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        x = given[0].clone()
        x[:, :14, head * width : (head + 1) * width] = 0
        return x

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    logits = model(tokens)
    hook.remove()
    return logits


# %% without_head wrong (property as_it_was): subtle, clears all pre-hooks of out_proj afterwards (shows when out_proj had another hook before)
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        x = given[0].clone()
        x[..., head * width : (head + 1) * width] = 0
        return x

    out_proj = model.blocks[layer].attn.out_proj
    out_proj.register_forward_pre_hook(silence)
    logits = model(tokens)
    out_proj._forward_pre_hooks.clear()
    return logits


# %% without_head wrong (property leaves_its_inputs): subtle, zeroes columns of out_proj and restores a new nn.Parameter (shows afterwards: another parameter, with requires_grad True)
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    out_proj = model.blocks[layer].attn.out_proj
    saved = out_proj.weight.detach().clone()
    silent = saved.clone()
    silent[:, head * width : (head + 1) * width] = 0
    out_proj.weight = nn.Parameter(silent)
    logits = model(tokens)
    out_proj.weight = nn.Parameter(saved)
    return logits


# %% without_head right (passed): a pre-hook that sets the slice of a copy to zero, removed in finally
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        x = given[0].clone()
        x[..., head * width : (head + 1) * width] = 0
        return (x, *given[1:])

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head right (passed): no hook, a functional call in which out_proj has zeros in the columns that read the head
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    name = f"blocks.{layer}.attn.out_proj.weight"
    weight = model.get_parameter(name)
    owner = torch.arange(weight.shape[1], device=weight.device) // width
    silent = weight.masked_fill(owner == head, 0.0)
    return torch.func.functional_call(model, {name: silent}, (tokens,))


# %% induction_score wrong (misconception same-token): takes the weight on position i, the same token, instead of i + 1
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=-n, dim1=-2, dim2=-1).mean(dim=-1)


# %% induction_score wrong (misconception from-the-end-of-the-first): the whole diagonal has n + 1 entries and begins in row n - 1 of the first list
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=1 - n, dim1=-2, dim2=-1).mean(dim=-1)


# %% induction_score wrong (raised): subtle, flattens the axes in front, of which there must be at least one (shows for a single pattern [seq, seq])
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    i = torch.arange(n, device=pattern.device)
    flat = pattern.flatten(0, -3)
    return flat[:, n + i, i + 1].mean(dim=-1).reshape(pattern.shape[:-2])


# %% induction_score wrong (property finite): subtle, n is always 20 as in the page's lists (shows for lists of another length)
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = 20
    return pattern[..., n:, 1 : n + 1].diagonal(dim1=-2, dim2=-1).mean(dim=-1)


# %% induction_score wrong (property which_cells_count): subtle, divides by the number of weights above zero instead of n (shows when some of the weights are exactly 0)
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    i = torch.arange(n, device=pattern.device)
    found = pattern[..., n + i, i + 1]
    return found.sum(dim=-1) / (found > 0).sum(dim=-1).clamp(min=1)


# %% induction_score right (passed): cuts the n by n corner and takes its diagonal
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern[..., n:, 1 : n + 1].diagonal(dim1=-2, dim2=-1).mean(dim=-1)


# %% induction_score right (passed): adds the n weights in a loop
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    total = torch.zeros_like(pattern[..., 0, 0])
    for i in range(n):
        total = total + pattern[..., n + i, i + 1]
    return total / n
