# %% logit_lens wrong (misconception no-embeddings): the stream is read only after each block, so the reading before the first block is missing and there are n_layers rows
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    rows = []
    for block in model.blocks:
        x = block(x)
        rows.append(model.ln_f(x[0, -1]) @ model.wte.weight.T)
    return torch.stack(rows)


# %% logit_lens wrong (misconception normed-at-the-end-only): only the last reading goes through ln_f; the earlier rows are dot products of the raw stream with the embeddings
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    rows = [x[0, -1]]
    for block in model.blocks:
        x = block(x)
        rows.append(x[0, -1])
    rows[-1] = model.ln_f(rows[-1])
    return torch.stack(rows) @ model.wte.weight.T


# %% logit_lens wrong (misconception normed-from-the-start): the normalised stream is assigned back to x, so each block gets the output of ln_f instead of the stream; the first row is right, all later rows are wrong
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    positions = torch.arange(tokens.shape[1], device=tokens.device)
    x = model.ln_f(model.wte(tokens) + model.wpe(positions))
    rows = [x[0, -1] @ model.wte.weight.T]
    for block in model.blocks:
        x = model.ln_f(block(x))
        rows.append(x[0, -1] @ model.wte.weight.T)
    return torch.stack(rows)


# %% logit_lens wrong (property as_it_was): right numbers, but the hooks that record the stream are never removed and stay in the model
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    streams = []
    model.blocks[0].register_forward_pre_hook(lambda part, given: streams.append(given[0]))
    for block in model.blocks:
        block.register_forward_hook(lambda part, given, found: streams.append(found))
    model(tokens)
    last = torch.stack([stream[0, -1] for stream in streams])
    return model.ln_f(last) @ model.wte.weight.T


# %% logit_lens wrong (difference places): the first reading is taken before the position vectors are added, so row 0 lacks wpe; all other rows are right
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""

    def read(stream):
        return model.ln_f(stream)[0, -1] @ model.wte.weight.T

    x = model.wte(tokens)
    rows = [read(x)]
    x = x + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    for block in model.blocks:
        x = block(x)
        rows.append(read(x))
    return torch.stack(rows)


# %% logit_lens right (passed): runs the blocks one after the other and collects the last vectors
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    streams = [x]
    for block in model.blocks:
        x = block(x)
        streams.append(x)
    last = torch.cat([stream[:, -1] for stream in streams])
    return model.ln_f(last) @ model.wte.weight.T


# %% logit_lens right (passed): records the stream with hooks during one run, removes the hooks in finally, and reads with functional.linear
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    recorded = []
    handles = [model.blocks[0].register_forward_pre_hook(lambda part, given: recorded.append(given[0][0, -1]))]
    for block in model.blocks:
        handles.append(block.register_forward_hook(lambda part, given, result: recorded.append(result[0, -1])))
    try:
        model(tokens)
    finally:
        for handle in handles:
            handle.remove()
    return torch.stack([nn.functional.linear(model.ln_f(vector), model.wte.weight) for vector in recorded])


# %% patch_stream wrong (misconception other-way-round): the two runs are exchanged: a vector of the clean run is put into the run of corrupted, and the logits for corrupted are returned
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = torch.arange(clean.shape[1], device=clean.device)
    a = model.wte(clean) + model.wpe(places)
    b = model.wte(corrupted) + model.wpe(places)
    for i, block in enumerate(model.blocks):
        if i == layer:
            b = b.clone()
            b[:, position] = a[:, position]
        a, b = block(a), block(b)
    return model.ln_f(b) @ model.wte.weight.T


# %% patch_stream wrong (misconception after-the-block): the vector is replaced after block `layer` has run instead of in the stream that goes into it, one block too late
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
    twin = model.wte(corrupted) + model.wpe(places)
    for i, block in enumerate(model.blocks):
        x, twin = block(x), block(twin)
        if i == layer:
            x = x.clone()
            x[:, position] = twin[:, position]
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream wrong (misconception first-text-only): only the first text of the batch is patched (index 0 instead of all); right for one sentence
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = torch.arange(clean.shape[1], device=clean.device)
    other = model.wte(corrupted) + model.wpe(places)
    for block in model.blocks[:layer]:
        other = block(other)
    x = model.wte(clean) + model.wpe(places)
    for i, block in enumerate(model.blocks):
        if i == layer:
            x = x.clone()
            x[0, position] = other[0, position]
        x = block(x)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream wrong (property what_was_exchanged): the stream of corrupted never goes through the blocks, so the replacement is always the vector before block 0; right only for layer 0
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

    x, replacement = start(clean), start(corrupted)[:, position]
    for number, block in enumerate(model.blocks):
        if number == layer:
            x = x.clone()
            x[:, position] = replacement
        x = block(x)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream wrong (misconception in-every-later-block): the vector is replaced before block `layer` and again before every later block (i >= layer) instead of only once; right for the last block
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
    y = model.wte(corrupted) + model.wpe(places)
    for i, block in enumerate(model.blocks):
        if i >= layer:
            x = torch.cat([x[:, :position], y[:, position : position + 1], x[:, position + 1 :]], dim=1)
        x, y = block(x), block(y)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream right (passed): both streams go through the blocks side by side, and one vector is exchanged on the way
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
    twin = model.wte(corrupted) + model.wpe(places)
    for i, block in enumerate(model.blocks):
        if i == layer:
            x = x.clone()
            x[:, position] = twin[:, position]
        x, twin = block(x), block(twin)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream right (passed): two runs of the model with pre-hooks on the block, one that records and one that replaces; both are removed
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    block, seen = model.blocks[layer], {}

    def record(part, given):
        seen["vector"] = given[0][:, position].clone()

    def replace(part, given):
        changed = given[0].clone()
        changed[:, position] = seen["vector"]
        return (changed,)

    hook = block.register_forward_pre_hook(record)
    try:
        model(corrupted)
    finally:
        hook.remove()
    hook = block.register_forward_pre_hook(replace)
    try:
        return model(clean)
    finally:
        hook.remove()


# %% without_head wrong (property which_entries_are_zero): the slice starts at `head` instead of head * width, so parts of heads 0 and 1 are set to zero; right only for head 0
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    # Run the model with a hook, and remove the hook afterwards.
    def remove_head(part, given):
        x = given[0].clone()
        x[..., head : head + width] = 0
        return x

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(remove_head)
    logits = model(tokens)
    hook.remove()
    return logits


# %% without_head wrong (misconception after-out_proj): a forward hook sets entries of out_proj's output to zero, after the heads have been mixed and the bias added, instead of the head's part of its input
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    # Run the model with a hook, and remove the hook afterwards.
    def silence(part, given, found):
        found = found.clone()
        found[:, :, head * width : (head + 1) * width] = 0
        return found

    hook = model.blocks[layer].attn.out_proj.register_forward_hook(silence)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head wrong (misconception weights-left): sets the head's columns of out_proj.weight to zero and writes the saved columns back, but the saved columns are a view and are zero too; the logits are right, the model stays damaged
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    # Run the model with a hook, and remove the hook afterwards.
    columns = slice(head * width, (head + 1) * width)
    weight = model.blocks[layer].attn.out_proj.weight
    with torch.no_grad():
        saved = weight[:, columns]
        weight[:, columns] = 0
        logits = model(tokens)
        weight[:, columns] = saved
    return logits


# %% without_head wrong (misconception last-position-only): the head is switched off only at the last position instead of at every position; right for texts of one token
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    # Run the model with a hook, and remove the hook afterwards.
    def silence(part, given):
        changed = given[0].clone()
        changed[:, -1, head * width : (head + 1) * width] = 0
        return changed

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head wrong (misconception hook-left): `hook.remove` is written without parentheses, so it is not called and the hook stays: the logits are right, but the model lacks the head afterwards, and a second call lacks both heads
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    # Run the model with a hook, and remove the hook afterwards.
    def silence(part, given):
        results = given[0].unflatten(-1, (model.config.n_heads, width)).clone()
        results[..., head, :] = 0.0
        return results.flatten(-2)

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    logits = model(tokens)
    hook.remove
    return logits


# %% without_head right (passed): a pre-hook that clones the input and sets the slice to zero, removed in finally
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    # Run the model with a hook, and remove the hook afterwards.
    def silence(part, given):
        changed = given[0].clone()
        changed[..., head * width : (head + 1) * width] = 0
        return changed

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head right (passed): masked_fill with a table of the head's columns, and the hook as a context manager
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    # Run the model with a hook, and remove the hook afterwards.
    owner = torch.arange(model.config.d_model, device=tokens.device) // width
    out_proj = model.blocks[layer].attn.out_proj
    with out_proj.register_forward_pre_hook(lambda part, given: given[0].masked_fill(owner == head, 0.0)):
        logits = model(tokens)
    return logits


# %% induction_score wrong (misconception same-token): takes the weight on position i, the earlier occurrence of the same token, instead of i + 1, the token after it
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    i = torch.arange(n, device=pattern.device)
    return pattern[..., n + i, i].mean(dim=-1)


# %% induction_score wrong (misconception whole-square): averages the whole block of rows n .. 2n - 1 and columns 1 .. n instead of only its diagonal
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern[..., n:, 1 : n + 1].mean(dim=(-2, -1))


# %% induction_score wrong (misconception from-the-end-of-the-first): the diagonal with offset 1 - n has n + 1 entries, and its first one (query n - 1 of the first list, key 0) is averaged too
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=1 - n, dim1=-2, dim2=-1).mean(dim=-1)


# %% induction_score wrong (misconception last-query-missing): the loop ends at i = n - 2, so the last of the n weights (query 2n - 1, key n) is left out and the mean is over n - 1
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    weights = []
    for i in range(n - 1):
        weights.append(pattern[..., n + i, i + 1])
    return torch.stack(weights, dim=-1).mean(dim=-1)


# %% induction_score wrong (raised): the mean is taken over axis 1 instead of the last axis; right for exactly one axis before the last two ([heads, seq, seq]), wrong for several, an error for none
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    weights = pattern[..., torch.arange(n, 2 * n), torch.arange(1, n + 1)]
    return weights.mean(dim=1)


# %% induction_score right (passed): two index tensors pick the n weights
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    i = torch.arange(n, device=pattern.device)
    return pattern[..., n + i, i + 1].mean(dim=-1)


# %% induction_score right (passed): cuts out the block of the second list's queries and the keys from 1 on, and takes its diagonal
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    half = pattern.shape[-2] // 2
    block = pattern[..., half:, 1 : half + 1]
    return torch.diagonal(block, dim1=-2, dim2=-1).sum(dim=-1) / half
