# %% logit_lens wrong (misconception no-final-norm): reads the stream without ln_f
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    rows = [x[0, -1] @ model.wte.weight.T]
    for block in model.blocks:
        x = block(x)
        rows.append(x[0, -1] @ model.wte.weight.T)
    return torch.stack(rows)


# %% logit_lens wrong (misconception normed-from-the-start): the normalised stream goes on into the next block
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    rows = []
    x = model.ln_f(x)
    rows.append(x[0, -1] @ model.wte.weight.T)
    for block in model.blocks:
        x = model.ln_f(block(x))
        rows.append(x[0, -1] @ model.wte.weight.T)
    return torch.stack(rows)


# %% logit_lens wrong (property as_it_was): the logits are right, but the hooks stay on the model
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    streams = []
    model.blocks[0].register_forward_pre_hook(lambda part, given: streams.append(given[0]))
    for block in model.blocks:
        block.register_forward_hook(lambda part, given, result: streams.append(result))
    model(tokens)
    return torch.stack([model.ln_f(stream[0, -1]) @ model.wte.weight.T for stream in streams])


# %% logit_lens wrong (misconception four-blocks): always four blocks, as in the small GPT-2; models with more blocks get too few rows
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    streams = [x]
    for layer in range(min(4, len(model.blocks))):
        streams.append(model.blocks[layer](streams[-1]))
    return torch.cat([model.ln_f(stream[:, -1]) for stream in streams]) @ model.wte.weight.T


# %% logit_lens wrong (difference milestone): normalises with ln_f's weights but a fixed eps of 1e-5 instead of ln_f itself; shows in a model with another eps
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    rows = []
    for layer in range(len(model.blocks) + 1):
        last = x[0, -1]
        normed = nn.functional.layer_norm(last, last.shape, model.ln_f.w, model.ln_f.b)
        rows.append(model.wte.weight @ normed)
        if layer < len(model.blocks):
            x = model.blocks[layer](x)
    return torch.stack(rows)


# %% logit_lens right (passed): a loop over the blocks
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    rows = [model.ln_f(x)[0, -1] @ model.wte.weight.T]
    for block in model.blocks:
        x = block(x)
        rows.append(model.ln_f(x)[0, -1] @ model.wte.weight.T)
    return torch.stack(rows)


# %% logit_lens right (passed): one run with hooks that collect the last vectors, which are removed even if the run fails
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    vectors, hooks = [], []
    first, *_ = model.blocks
    hooks.append(first.register_forward_pre_hook(lambda part, given: vectors.append(given[0][0, -1].clone())))
    for block in model.blocks:
        hooks.append(block.register_forward_hook(lambda part, given, found: vectors.append(found[0, -1].clone())))
    try:
        model(tokens)
    finally:
        for hook in hooks:
            hook.remove()
    readings = model.ln_f(torch.stack(vectors))
    return torch.einsum("ld,vd->lv", readings, model.wte.weight)


# %% patch_stream wrong (misconception after-the-block): replaces the vector after block `layer`, one block too late
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

    x, other = start(clean), start(corrupted)
    for number, block in enumerate(model.blocks):
        x, other = block(x), block(other)
        if number == layer:
            x = x.clone()
            x[:, position] = other[:, position]
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream wrong (misconception other-way-round): the roles are swapped, the clean vector goes into the corrupted run
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

    x, other = start(corrupted), start(clean)
    for number, block in enumerate(model.blocks):
        if number == layer:
            x = x.clone()
            x[:, position] = other[:, position]
        x, other = block(x), block(other)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream wrong (property what_was_exchanged): all texts get the vector of the first corrupted text; right for a batch of one
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

    x, other = start(clean), start(corrupted)
    for number, block in enumerate(model.blocks):
        if number == layer:
            x = x.clone()
            x[:, position] = other[0, position]
        x, other = block(x), block(other)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream wrong (misconception and-all-behind): replaces the vectors at position and after it; right at the last position
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

    x, other = start(clean), start(corrupted)
    for number, block in enumerate(model.blocks):
        if number == layer:
            x = x.clone()
            x[:, position:] = other[:, position:]
        x, other = block(x), block(other)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream wrong (misconception hook-left): the hook that replaces the vector is never removed, so it changes every later run of the model
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    seen = []
    hook = model.blocks[layer].register_forward_pre_hook(lambda part, given: seen.append(given[0]))
    model(corrupted)
    hook.remove()

    def replace(part, given):
        stream = given[0].clone()
        if stream.shape == seen[0].shape:
            stream[:, position] = seen[0][:, position]
        return (stream, *given[1:])

    model.blocks[layer].register_forward_pre_hook(replace)
    return model(clean)


# %% patch_stream right (passed): two runs with hooks, removed in finally
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    block, seen = model.blocks[layer], []
    hook = block.register_forward_pre_hook(lambda part, given: seen.append(given[0].clone()))
    try:
        model(corrupted)
    finally:
        hook.remove()

    def replace(part, given):
        stream = given[0].clone()
        stream[:, position] = seen[0][:, position]
        return (stream,)

    hook = block.register_forward_pre_hook(replace)
    try:
        return model(clean)
    finally:
        hook.remove()


# %% patch_stream right (passed): both texts in one batch up to the block, then torch.where, then the other blocks
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    both = torch.cat([clean, corrupted])
    places = torch.arange(both.shape[1], device=both.device)
    stream = model.wte(both) + model.wpe(places)
    for block in list(model.blocks)[:layer]:
        stream = block(stream)
    mine, twin = stream.chunk(2)
    stream = torch.where((places == position)[None, :, None], twin, mine)
    for block in list(model.blocks)[layer:]:
        stream = block(stream)
    return nn.functional.linear(model.ln_f(stream), model.wte.weight)


# %% without_head wrong (misconception after-out_proj): sets a part of out_proj's output to zero instead of its input
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


# %% without_head wrong (misconception interleaved): takes every n_heads-th column as the head's part instead of `width` columns side by side
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        results = given[0].clone()
        results[..., head :: model.config.n_heads] = 0
        return results

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    logits = model(tokens)
    hook.remove()
    return logits


# %% without_head wrong (misconception weights-left): sets columns of out_proj's weight to zero and "restores" them from a view, not a copy: the model stays changed
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    weight = model.blocks[layer].attn.out_proj.weight.data
    columns = slice(head * width, (head + 1) * width)
    before = weight[:, columns]
    weight[:, columns] = 0
    logits = model(tokens)
    weight[:, columns] = before
    return logits


# %% without_head wrong (misconception last-position-only): switches the head off at the last position only; the other positions keep it
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        results = given[0].clone()
        results[:, -1, head * width : (head + 1) * width] = 0
        return results

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    logits = model(tokens)
    hook.remove()
    return logits


# %% without_head wrong (property which_entries_are_zero): switches the head off in the first text of the batch only; right for one text
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        results = given[0].clone()
        results[0, :, head * width : (head + 1) * width] = 0
        return results

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head right (passed): a pre-hook on a copy of the input, removed in finally
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        results = given[0].clone()
        results[..., head * width : (head + 1) * width] = 0
        return (results,)

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head right (passed): functional_call with a copy of out_proj's weight in which the head's columns are zero
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    name = f"blocks.{layer}.attn.out_proj.weight"
    weight = model.get_parameter(name)
    columns = torch.arange(weight.shape[1], device=weight.device) // width
    silent = weight.masked_fill(columns == head, 0.0)
    return torch.func.functional_call(model, {name: silent}, (tokens,))


# %% induction_score wrong (misconception same-token): takes the weight on the earlier occurrence itself, not on the token after it
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=-n, dim1=-2, dim2=-1).mean(dim=-1)


# %% induction_score wrong (property which_cells_count): the mean of the largest weight of each query, wherever it is
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern[..., n:, :].amax(dim=-1).mean(dim=-1)


# %% induction_score wrong (misconception from-the-end-of-the-first): the mean of the whole diagonal, n + 1 weights, with the query at n - 1 from the first list; close for long lists
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=1 - n, dim1=-2, dim2=-1).mean(dim=-1)


# %% induction_score wrong (misconception last-query-missing): leaves out the last query, so it is the mean of n - 1 weights; right when all weights are equal
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    weights = [pattern[..., n + i, i + 1] for i in range(n - 1)]
    return torch.stack(weights, dim=-1).mean(dim=-1)


# %% induction_score wrong (misconception first-two-axes): diagonal of the first two axes (its default); right for a single table
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=1 - n)[..., 1:].mean(dim=-1)


# %% induction_score right (passed): indexing with two lists of positions
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    steps = torch.arange(n, device=pattern.device)
    return pattern[..., n + steps, steps + 1].mean(dim=-1)


# %% induction_score right (passed): the n by n table of second list and positions 1 to n; einsum adds its diagonal
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.size(-1) // 2
    table = pattern[..., n:, 1 : n + 1]
    return torch.einsum("...ii->...", table) / n


