# %% logit_lens wrong (misconception normed-from-the-start): passes the normalised stream on to the next block
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    positions = torch.arange(tokens.shape[1], device=tokens.device)
    x = model.ln_f(model.wte(tokens) + model.wpe(positions))
    rows = [x[0, -1] @ model.wte.weight.T]
    for block in model.blocks:
        x = model.ln_f(block(x))
        rows.append(x[0, -1] @ model.wte.weight.T)
    return torch.stack(rows)


# %% logit_lens wrong (difference places): keeps only the last position before the blocks, so their attention sees no other position
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    positions = torch.arange(tokens.shape[1], device=tokens.device)
    x = (model.wte(tokens) + model.wpe(positions))[:, -1:]
    rows = [model.ln_f(x)[0, 0] @ model.wte.weight.T]
    for block in model.blocks:
        x = block(x)
        rows.append(model.ln_f(x)[0, 0] @ model.wte.weight.T)
    return torch.stack(rows)


# %% logit_lens wrong (difference): subtle, returns log-probabilities: the page's softmax turns them into the same table, but they are not the logits
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    positions = torch.arange(tokens.shape[1], device=tokens.device)
    x = model.wte(tokens) + model.wpe(positions)
    streams = [x]
    for block in model.blocks:
        x = block(x)
        streams.append(x)
    last = torch.cat([stream[:, -1] for stream in streams])
    return torch.log_softmax(model.ln_f(last) @ model.wte.weight.T, dim=-1)


# %% logit_lens wrong (raised): subtle, counts the blocks with the page's config: shows with a model of another number of blocks
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    positions = torch.arange(tokens.shape[1], device=tokens.device)
    x = model.wte(tokens) + model.wpe(positions)
    rows = [model.ln_f(x)[0, -1] @ model.wte.weight.T]
    for layer in range(config.n_layers):
        x = model.blocks[layer](x)
        rows.append(model.ln_f(x)[0, -1] @ model.wte.weight.T)
    return torch.stack(rows)


# %% logit_lens wrong (property as_it_was): subtle, leaves the model in training mode: the logits are right, but the mode has changed afterwards
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    model.eval()
    with torch.no_grad():
        x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        rows = [model.ln_f(x[0, -1]) @ model.wte.weight.T]
        for block in model.blocks:
            x = block(x)
            rows.append(model.ln_f(x[0, -1]) @ model.wte.weight.T)
    model.train()
    return torch.stack(rows)


# %% logit_lens right (passed): runs the parts by hand and reads each stream
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    streams = [x]
    for block in model.blocks:
        streams.append(block(streams[-1]))
    last = torch.stack([stream[0, -1] for stream in streams])
    return model.ln_f(last) @ model.wte.weight.T


# %% logit_lens right (passed): hooks catch what each block and the last norm read in one run; the hooks are removed
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """Return the logits of a model that ends early: before the first block, and after each block."""
    caught = []

    def catch(part, given):
        caught.append(given[0][0, -1].clone())

    hooks = [part.register_forward_pre_hook(catch) for part in (*model.blocks, model.ln_f)]
    try:
        model(tokens)
    finally:
        for hook in hooks:
            hook.remove()
    rows = [nn.functional.linear(model.ln_f(vector), model.wte.weight) for vector in caught]
    return torch.stack(rows)


# %% patch_stream wrong (misconception after-the-block): replaces the vector after the block instead of before it
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
        x, y = block(x), block(y)
        if i == layer:
            x = x.clone()
            x[:, position] = y[:, position]
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream wrong (misconception other-way-round): the other way round, puts the vector of clean into the run of corrupted
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
        if i == layer:
            y = y.clone()
            y[:, position] = x[:, position]
        x, y = block(x), block(y)
    return model.ln_f(y) @ model.wte.weight.T


# %% patch_stream wrong (property what_was_exchanged): subtle, takes the replacement from the first text for every text: right for a single text
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = torch.arange(clean.shape[1], device=clean.device)
    y = model.wte(corrupted) + model.wpe(places)
    for block in model.blocks[:layer]:
        y = block(y)
    vector = y[0, position]
    x = model.wte(clean) + model.wpe(places)
    for i, block in enumerate(model.blocks):
        if i == layer:
            x = x.clone()
            x[:, position] = vector
        x = block(x)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream wrong (misconception in-every-later-block): subtle, replaces the vector before every later block again: right for the last block only
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
            x = x.clone()
            x[:, position] = y[:, position]
        x, y = block(x), block(y)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream wrong (property state): subtle, stores the streams of corrupted from call to call: shows if the model has changed in between
streams_of = {}


def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = torch.arange(clean.shape[1], device=clean.device)
    text = str(corrupted.tolist())
    if text not in streams_of:
        streams_of[text] = [model.wte(corrupted) + model.wpe(places)]
        for block in model.blocks:
            streams_of[text].append(block(streams_of[text][-1]))
    x = model.wte(clean) + model.wpe(places)
    for i, block in enumerate(model.blocks):
        if i == layer:
            x = x.clone()
            x[:, position] = streams_of[text][layer][:, position]
        x = block(x)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream right (passed): both runs by hand up to the block, then only the patched stream goes on
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = torch.arange(clean.shape[1], device=clean.device)
    x, y = (model.wte(tokens) + model.wpe(places) for tokens in (clean, corrupted))
    for i in range(layer):
        x, y = model.blocks[i](x), model.blocks[i](y)
    chosen = (places == position)[:, None]
    x = torch.where(chosen, y, x)
    for i in range(layer, len(model.blocks)):
        x = model.blocks[i](x)
    return model.ln_f(x) @ model.wte.weight.T


# %% patch_stream right (passed): one hook reads the stream of corrupted, a second hook puts its vector into the run of clean
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits for clean, with one vector before block `layer` from the run of corrupted."""
    found = {}

    def read(part, given):
        found["vector"] = given[0][:, position : position + 1]

    def write(part, given):
        stream = given[0]
        return torch.cat((stream[:, :position], found["vector"], stream[:, position + 1 :]), dim=1)

    logits = None
    for tokens, f in ((corrupted, read), (clean, write)):
        hook = model.blocks[layer].register_forward_pre_hook(f)
        try:
            logits = model(tokens)
        finally:
            hook.remove()
    return logits


# %% without_head wrong (misconception after-out_proj): sets columns of the output of out_proj to zero instead of columns of its input
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def remove(part, given, found):
        found = found.clone()
        found[..., head * width : (head + 1) * width] = 0
        return found

    hook = model.blocks[layer].attn.out_proj.register_forward_hook(remove)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head wrong (misconception last-position-only): switches the head off at the last position only
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def remove(part, given):
        mixed = given[0].clone()
        mixed[:, -1, head * width : (head + 1) * width] = 0
        return mixed

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(remove)
    logits = model(tokens)
    hook.remove()
    return logits


# %% without_head wrong (misconception hook-left): subtle, never removes the hook: the first call is right, but the model has changed, and later calls lack several heads
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def remove(part, given):
        mixed = given[0].clone()
        mixed[..., head * width : (head + 1) * width] = 0
        return mixed

    model.blocks[layer].attn.out_proj.register_forward_pre_hook(remove)
    return model(tokens)


# %% without_head wrong (property as_it_was): subtle, clears all hooks of the layer afterwards: shows if the layer had another hook before the call
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads
    out_proj = model.blocks[layer].attn.out_proj

    def remove(part, given):
        mixed = given[0].clone()
        mixed[..., head * width : (head + 1) * width] = 0
        return mixed

    out_proj.register_forward_pre_hook(remove)
    logits = model(tokens)
    out_proj._forward_pre_hooks.clear()
    return logits


# %% without_head wrong (misconception values-but-no-bias): subtle, sets the head's rows of W_value.weight to zero for the run, but not the bias: right only if the values have no bias
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads
    weight = model.blocks[layer].attn.W_value.weight
    before = weight.detach().clone()
    with torch.no_grad():
        weight[head * width : (head + 1) * width] = 0
        logits = model(tokens)
        weight.copy_(before)
    return logits


# %% without_head right (passed): a hook returns a copy in which the head's entries are zero
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def remove(part, given):
        mixed = given[0].clone()
        mixed[..., head * width : (head + 1) * width] = 0
        return mixed

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(remove)
    try:
        return model(tokens)
    finally:
        hook.remove()


# %% without_head right (passed): no hook, runs the model with a copy of out_proj's matrix that does not read the head's entries
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Return the logits with one head's part of the input of out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads
    weight = model.blocks[layer].attn.out_proj.weight
    columns = torch.arange(weight.shape[1], device=weight.device)
    blind = weight.masked_fill(columns // width == head, 0.0)
    return torch.func.functional_call(model, {f"blocks.{layer}.attn.out_proj.weight": blind}, (tokens,))


# %% induction_score wrong (misconception same-token): takes the weight on the same token at position i, not on the token after it
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=-n, dim1=-2, dim2=-1).mean(dim=-1)


# %% induction_score wrong (shape): cuts the right square, but leaves diagonal at its default axes: right only without axes before the last two
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    square = pattern[..., n:, 1 : n + 1]
    return square.diagonal().mean(dim=-1)


# %% induction_score wrong (misconception from-the-end-of-the-first): subtle, takes the whole diagonal of n + 1 entries, with the query at position n - 1: shows if this query looks at position 0
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=1 - n, dim1=-2, dim2=-1).mean(dim=-1)


# %% induction_score wrong (misconception last-query-missing): subtle, leaves out the last query: shows if its weight differs from the mean of the others
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    i = torch.arange(max(n - 1, 1), device=pattern.device)
    return pattern[..., n + i, i + 1].mean(dim=-1)


# %% induction_score wrong (raised): subtle, flattens the axes before the last two: fails if there are none
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    flat = pattern.flatten(0, -3)
    total = sum(flat[:, n + i, i + 1] for i in range(n))
    return (total / n).reshape(pattern.shape[:-2])


# %% induction_score right (passed): the diagonal without its first entry
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=1 - n, dim1=-2, dim2=-1)[..., 1:].mean(dim=-1)


# %% induction_score right (passed): rows and columns one after another; each entry of interest comes 2n + 1 places after the one before
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Return the mean weight, over the second list, on the token after the earlier occurrence of the same token."""
    seq = pattern.shape[-1]
    n = seq // 2
    flat = pattern.flatten(-2)
    weights = flat[..., n * seq + 1 :: seq + 1]
    return weights.sum(dim=-1) / n


