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


# %% logit_lens wrong (misconception no-embeddings): forgets the reading before the first block
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    rows = []
    for block in model.blocks:
        x = block(x)
        rows.append(model.ln_f(x[0, -1]) @ model.wte.weight.T)
    return torch.stack(rows)


# %% logit_lens wrong (property as_it_was): subtle, the hooks stay on the model
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    streams = []
    model.blocks[0].register_forward_pre_hook(lambda part, given: streams.append(given[0][0, -1]))
    for block in model.blocks:
        block.register_forward_hook(lambda part, given, found: streams.append(found[0, -1]))
    model(tokens)
    return model.ln_f(torch.stack(streams)) @ model.wte.weight.T


# %% logit_lens wrong (difference places): subtle, the last reading goes through ln_f twice, which a new norm hardly shows, but a trained one does
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    streams = [x]
    for block in model.blocks:
        x = block(x)
        streams.append(x)
    streams[-1] = model.ln_f(streams[-1])
    return torch.stack([model.ln_f(stream[0, -1]) @ model.wte.weight.T for stream in streams])


# %% logit_lens wrong (raised): subtle, squeeze also removes the axis of the positions if the text has a single token
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    rows = [model.ln_f(x.squeeze()[-1]) @ model.wte.weight.T]
    for block in model.blocks:
        x = block(x)
        rows.append(model.ln_f(x.squeeze()[-1]) @ model.wte.weight.T)
    return torch.stack(rows)


# %% logit_lens right (passed): runs the parts one by one
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    rows = [model.ln_f(x)[0, -1] @ model.wte.weight.T]
    for block in model.blocks:
        x = block(x)
        rows.append(model.ln_f(x)[0, -1] @ model.wte.weight.T)
    return torch.stack(rows)


# %% logit_lens right (passed): one run, hooks on the blocks that are removed in any case, then the head for all readings at once
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    streams, hooks = [], []

    def before(part, given):
        streams.append(given[0][0, -1].clone())

    def after(part, given, found):
        streams.append(found[0, -1].clone())

    try:
        hooks.append(model.blocks[0].register_forward_pre_hook(before))
        for block in model.blocks:
            hooks.append(block.register_forward_hook(after))
        model(tokens)
    finally:
        for hook in hooks:
            hook.remove()
    read = model.ln_f(torch.stack(streams).unsqueeze(0))[0]
    return nn.functional.linear(read, model.wte.weight)


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
    x = model.wte(clean) + model.wpe(places)
    other = model.wte(corrupted) + model.wpe(places)
    for number, block in enumerate(model.blocks):
        x, other = block(x), block(other)
        if number == layer:
            x = x.clone()
            x[:, position] = other[:, position]
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream wrong (misconception other-way-round): the other way round, a clean vector goes into the run of corrupted
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
            other = other.clone()
            other[:, position] = x[:, position]
        x, other = block(x), block(other)
    return model.ln_f(other) @ model.wte.weight.T


# %% patch_stream wrong (property what_was_exchanged): subtle, all texts get the vector of the first corrupted text (right for a single text)
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    seen = []
    keep = model.blocks[layer].register_forward_pre_hook(lambda part, given: seen.append(given[0][0, position]))
    model(corrupted)
    keep.remove()

    def exchange(part, given):
        x = given[0].clone()
        x[:, position] = seen[0]
        return x

    hook = model.blocks[layer].register_forward_pre_hook(exchange)
    logits = model(clean)
    hook.remove()
    return logits


# %% patch_stream wrong (misconception hook-left): subtle, the hook stays on the block: the first result is right, but all later runs of the model are changed
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    seen = []
    keep = model.blocks[layer].register_forward_pre_hook(lambda part, given: seen.append(given[0][:, position]))
    model(corrupted)
    keep.remove()

    def exchange(part, given):
        x = given[0].clone()
        x[:, position] = seen[0]
        return x

    model.blocks[layer].register_forward_pre_hook(exchange)
    return model(clean)


# %% patch_stream wrong (misconception in-every-later-block): subtle, replaces the vector again before every later block (right only for the last block, or at the first position of equal tokens)
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
        if number >= layer:
            x = x.clone()
            x[:, position] = other[:, position]
        x, other = block(x), block(other)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream right (passed): runs both texts by hand up to the block, then the clean one on its own
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
    for block in model.blocks[:layer]:
        x, other = block(x), block(other)
    x = torch.cat([x[:, :position], other[:, position : position + 1], x[:, position + 1 :]], dim=1)
    for block in model.blocks[layer:]:
        x = block(x)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream right (passed): two runs of the whole model, each with a hook before the block that is removed in any case
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    block, kept = model.blocks[layer], {}
    here = torch.zeros(clean.shape[1], 1, dtype=torch.bool, device=clean.device)
    here[position] = True

    def run(tokens, function):
        hook = block.register_forward_pre_hook(function)
        try:
            return model(tokens)
        finally:
            hook.remove()

    def store(part, given):
        kept["stream"] = given[0]

    def exchange(part, given):
        return (torch.where(here, kept["stream"], given[0]), *given[1:])

    run(corrupted, store)
    return run(clean, exchange)


# %% without_head wrong (misconception after-out_proj): zeroes columns of the output of out_proj, after the heads have been mixed
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


# %% without_head wrong (property which_entries_are_zero): the slice starts at head instead of head * width
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
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head wrong (misconception weights-left): subtle, zeroes the head's columns in the weights of out_proj and never restores them (only the first result is right)
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    with torch.no_grad():
        model.blocks[layer].attn.out_proj.weight[:, head * width : (head + 1) * width] = 0
    return model(tokens)


# %% without_head wrong (misconception last-position-only): subtle, removes the head only at the last position (right for a single token)
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        x = given[0].clone()
        x[:, -1, head * width : (head + 1) * width] = 0
        return x

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head wrong (property which_entries_are_zero): subtle, removes the head only in the first text of the batch (right for a single text)
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        x = given[0].clone()
        x[0, :, head * width : (head + 1) * width] = 0
        return x

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head right (passed): a hook that zeroes the slice of a clone
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        x = given[0].clone()
        x[..., head * width : (head + 1) * width] = 0
        return x

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head right (passed): a hook that splits the input into heads and joins it again with zeros in one place
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def others_only(part, given):
        pieces = list(given[0].split(width, dim=-1))
        pieces[head] = torch.zeros_like(pieces[head])
        return (torch.cat(pieces, dim=-1), *given[1:])

    layer_out = model.blocks[layer].attn.out_proj
    handle = layer_out.register_forward_pre_hook(others_only)
    try:
        logits = model(tokens)
    finally:
        handle.remove()
    return logits


# %% induction_score wrong (misconception same-token): takes the weight on the earlier occurrence itself, position i, not i + 1
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    i = torch.arange(n, device=pattern.device)
    return pattern[..., n + i, i].mean(dim=-1)


# %% induction_score wrong (misconception turned): query and key are exchanged
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    i = torch.arange(n, device=pattern.device)
    return pattern[..., i + 1, n + i].mean(dim=-1)


# %% induction_score wrong (misconception from-the-end-of-the-first): subtle, the diagonal has n + 1 entries, the first of which belongs to the last query of the first list
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=1 - n, dim1=-2, dim2=-1).mean(dim=-1)


# %% induction_score wrong (misconception last-query-missing): subtle, leaves out the last query, whose key is in the second list
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    i = torch.arange(n - 1, device=pattern.device)
    return pattern[..., n + i, i + 1].mean(dim=-1)


# %% induction_score wrong (misconception first-two-axes): subtle, diagonal without dim1 and dim2 runs over the first two axes (right only for the pattern of a single head)
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=1 - n)[..., 1:].mean(dim=-1)


# %% induction_score right (passed): indexes with the queries n + i and the keys i + 1
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    i = torch.arange(n, device=pattern.device)
    return pattern[..., n + i, i + 1].mean(dim=-1)


# %% induction_score right (passed): cuts out the square of second-list queries and keys 1 to n, and takes the mean of its main diagonal with einsum
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    square = pattern[..., n:, 1 : n + 1]
    return torch.einsum("...ii->...", square) / n


