# %% logit_lens wrong (misconception no-final-norm): ln_f is forgotten, the head reads the stream as it is
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """What the model would answer if it ended here: before the first block, and after each."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1]))
    rows = [x[0, -1] @ model.wte.weight.T]
    for block in model.blocks:
        x = block(x)
        rows.append(x[0, -1] @ model.wte.weight.T)
    return torch.stack(rows)

# %% logit_lens wrong (misconception no-embeddings): no row before the first block, n_layers rows only
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """What the model would answer if it ended here: before the first block, and after each."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1]))
    rows = []
    for block in model.blocks:
        x = block(x)
        rows.append(model.ln_f(x[0, -1]) @ model.wte.weight.T)
    return torch.stack(rows)

# %% logit_lens wrong (misconception every-position): the logits of all positions and not only of the last
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """What the model would answer if it ended here: before the first block, and after each."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1]))
    rows = [model.ln_f(x) @ model.wte.weight.T]
    for block in model.blocks:
        x = block(x)
        rows.append(model.ln_f(x) @ model.wte.weight.T)
    return torch.cat(rows)

# %% logit_lens wrong (shape): the axis of the one text is kept, [layers + 1, 1, vocab]
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """What the model would answer if it ended here: before the first block, and after each."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1]))
    found = [x]
    for block in model.blocks:
        x = block(x)
        found.append(x)
    return torch.stack([model.ln_f(x)[:, -1] @ model.wte.weight.T for x in found])

# %% logit_lens wrong (misconception no-positions): the position vectors are forgotten
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """What the model would answer if it ended here: before the first block, and after each."""
    x = model.wte(tokens)
    rows = [model.ln_f(x)[0, -1] @ model.wte.weight.T]
    for block in model.blocks:
        x = block(x)
        rows.append(model.ln_f(x)[0, -1] @ model.wte.weight.T)
    return torch.stack(rows)

# %% logit_lens wrong (misconception what-each-block-adds): reads what each block added, and not the stream after it
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """What the model would answer if it ended here: before the first block, and after each."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1]))
    parts = [x]
    for block in model.blocks:
        after = block(x)
        parts.append(after - x)
        x = after
    return torch.stack([model.ln_f(part)[0, -1] @ model.wte.weight.T for part in parts])

# %% logit_lens wrong (misconception probabilities): gives probabilities, a softmax too many
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """What the model would answer if it ended here: before the first block, and after each."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1]))
    rows = [model.ln_f(x)[0, -1] @ model.wte.weight.T]
    for block in model.blocks:
        x = block(x)
        rows.append(model.ln_f(x)[0, -1] @ model.wte.weight.T)
    return torch.stack(rows).softmax(dim=-1)

# %% logit_lens wrong (misconception normed-from-the-start): x is overwritten by its norm, so each block gets a stream that went through ln_f
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """What the model would answer if it ended here: before the first block, and after each."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1]))
    x = model.ln_f(x)
    logits = [x[0, -1] @ model.wte.weight.T]
    for block in model.blocks:
        x = block(x)
        x = model.ln_f(x)
        logits.append(x[0, -1] @ model.wte.weight.T)
    return torch.stack(logits)

# %% logit_lens wrong (property as_it_was): hooks on the blocks that are never removed
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """What the model would answer if it ended here: before the first block, and after each."""
    seen = []

    def before(part, given):
        seen.append(given[0])

    def after(part, given, found):
        seen.append(found)

    model.blocks[0].register_forward_pre_hook(before)
    for block in model.blocks:
        block.register_forward_hook(after)
    model(tokens)
    return torch.stack([model.ln_f(x)[0, -1] @ model.wte.weight.T for x in seen])

# %% logit_lens wrong (misconception first-twice): each row is read before its block has run, so the first comes twice and the last is missing
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """What the model would answer if it ended here: before the first block, and after each."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1]))
    logits = torch.zeros(len(model.blocks) + 1, model.wte.weight.shape[0])
    logits[0] = model.ln_f(x)[0, -1] @ model.wte.weight.T
    for i, block in enumerate(model.blocks):
        logits[i + 1] = model.ln_f(x)[0, -1] @ model.wte.weight.T
        x = block(x)
    return logits

# %% logit_lens right (passed): the plain way, block by block
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """What the model would answer if it ended here: before the first block, and after each."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1]))
    rows = [model.ln_f(x)[0, -1] @ model.wte.weight.T]
    for block in model.blocks:
        x = block(x)
        rows.append(model.ln_f(x)[0, -1] @ model.wte.weight.T)
    return torch.stack(rows)

# %% logit_lens right (passed): hooks that note what goes into each block and into ln_f, and are removed
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """What the model would answer if it ended here: before the first block, and after each."""
    streams = []

    def note(part, given):
        streams.append(given[0][0, -1])

    hooks = [part.register_forward_pre_hook(note) for part in [*model.blocks, model.ln_f]]
    try:
        model(tokens)
    finally:
        for hook in hooks:
            hook.remove()
    return nn.functional.linear(model.ln_f(torch.stack(streams)), model.wte.weight)

# %% logit_lens right (passed): a copy of the model that is cut off after k blocks, for each k
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """What the model would answer if it ended here: before the first block, and after each."""
    import copy

    short = copy.deepcopy(model)
    logits = []
    for k in range(len(model.blocks) + 1):
        short.blocks = model.blocks[:k]
        logits.append(short(tokens)[0, -1])
    return torch.stack(logits)

# %% logit_lens right (passed): two helper functions, the first k blocks run anew for each row, scores by einsum
def stream_after(model, tokens, k):
    if k == 0:
        return model.wte(tokens) + model.wpe.weight[: tokens.shape[1]]
    return model.blocks[k - 1](stream_after(model, tokens, k - 1))


def read_out(model, stream):
    last = model.ln_f(stream)[:, -1]
    return torch.einsum("b d, v d -> b v", last, model.wte.weight).squeeze(0)


def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """What the model would answer if it ended here: before the first block, and after each."""
    n_rows = model.config.n_layers + 1
    return torch.stack([read_out(model, stream_after(model, tokens, k)) for k in range(n_rows)])

# %% logit_lens right (passed): clumsy, the model itself is shortened for each row and put together again
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """What the model would answer if it ended here: before the first block, and after each."""
    whole = model.blocks
    rows = []
    try:
        for k in range(len(whole) + 1):
            model.blocks = nn.ModuleList(list(whole)[:k])
            rows.append(model(tokens)[:, -1, :])
    finally:
        model.blocks = whole
    return torch.cat(rows, dim=0)

# %% patch_stream wrong (misconception other-way-round): the two texts are exchanged, the corrupted one runs with a vector of the clean one
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Logits for clean, with one vector before block `layer` from the run of corrupted."""
    kept = {}

    def note(part, given):
        kept["x"] = given[0]

    def patch(part, given):
        x = given[0].clone()
        x[:, position] = kept["x"][:, position]
        return x

    hook = model.blocks[layer].register_forward_pre_hook(note)
    model(clean)
    hook.remove()
    hook = model.blocks[layer].register_forward_pre_hook(patch)
    logits = model(corrupted)
    hook.remove()
    return logits

# %% patch_stream wrong (misconception all-positions): the whole stream is exchanged, at every position
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = torch.arange(clean.shape[1])
    a = model.wte(clean) + model.wpe(places)
    b = model.wte(corrupted) + model.wpe(places)
    for i, block in enumerate(model.blocks):
        if i == layer:
            a = b
        a, b = block(a), block(b)
    return model.ln_f(a) @ model.wte.weight.T

# %% patch_stream wrong (misconception after-the-block): exchanged after block `layer` and not before it
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = torch.arange(clean.shape[1])
    a = model.wte(clean) + model.wpe(places)
    b = model.wte(corrupted) + model.wpe(places)
    for i, block in enumerate(model.blocks):
        a, b = block(a), block(b)
        if i == layer:
            a[:, position] = b[:, position]
    return model.ln_f(a) @ model.wte.weight.T

# %% patch_stream wrong (misconception in-every-later-block): exchanged before block `layer` and again before each later block
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = torch.arange(clean.shape[1])
    a = model.wte(clean) + model.wpe(places)
    b = model.wte(corrupted) + model.wpe(places)
    for i, block in enumerate(model.blocks):
        if i >= layer:
            a = a.clone()
            a[:, position] = b[:, position]
        a, b = block(a), block(b)
    return model.ln_f(a) @ model.wte.weight.T

# %% patch_stream wrong (misconception token-exchanged): exchanges the token in the text, in place, whatever the layer
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Logits for clean, with one vector before block `layer` from the run of corrupted."""
    clean[:, position] = corrupted[:, position]
    return model(clean)

# %% patch_stream wrong (misconception hook-left): the brackets after hook.remove are missing, so the hook stays
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Logits for clean, with one vector before block `layer` from the run of corrupted."""
    with torch.no_grad():
        x = model.wte(corrupted) + model.wpe(torch.arange(corrupted.shape[1]))
        for block in model.blocks[:layer]:
            x = block(x)

    def patch(part, given):
        new = given[0].clone()
        new[:, position] = x[:, position]
        return (new,)

    hook = model.blocks[layer].register_forward_pre_hook(patch)
    logits = model(clean)
    hook.remove
    return logits

# %% patch_stream right (passed): a slice from position to position + 1
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = torch.arange(clean.shape[1])
    a = model.wte(clean) + model.wpe(places)
    b = model.wte(corrupted) + model.wpe(places)
    for i, block in enumerate(model.blocks):
        if i == layer:
            a = a.clone()
            a[:, position : position + 1] = b[:, position : position + 1]
        a, b = block(a), block(b)
    return model.ln_f(a) @ model.wte.weight.T

# %% patch_stream wrong (misconception and-all-behind): a colon too many, everything from the position on is exchanged
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = torch.arange(clean.shape[1])
    a = model.wte(clean) + model.wpe(places)
    b = model.wte(corrupted) + model.wpe(places)
    for i, block in enumerate(model.blocks):
        if i == layer:
            a = a.clone()
            a[:, position:] = b[:, position:]
        a, b = block(a), block(b)
    return model.ln_f(a) @ model.wte.weight.T

# %% patch_stream wrong (misconception first-text-only): exchanged in the first text of the batch only
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Logits for clean, with one vector before block `layer` from the run of corrupted."""
    kept = []
    hook = model.blocks[layer].register_forward_pre_hook(lambda part, given: kept.append(given[0]))
    model(corrupted)
    hook.remove()

    def patch(part, given):
        x = given[0].clone()
        x[0, position] = kept[0][0, position]
        return x

    hook = model.blocks[layer].register_forward_pre_hook(patch)
    logits = model(clean)
    hook.remove()
    return logits

# %% patch_stream wrong (misconception only-what-attention-reads): the hook sits on ln_1, so attention reads the other vector but the stream goes on as it was
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Logits for clean, with one vector before block `layer` from the run of corrupted."""
    part = model.blocks[layer].ln_1
    kept = []
    hook = part.register_forward_pre_hook(lambda p, given: kept.append(given[0].clone()))
    model(corrupted)
    hook.remove()

    def patch(p, given):
        x = given[0].clone()
        x[:, position] = kept[0][:, position]
        return x

    hook = part.register_forward_pre_hook(patch)
    logits = model(clean)
    hook.remove()
    return logits

# %% patch_stream right (passed): both streams side by side, the plain way
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = torch.arange(clean.shape[1])
    a = model.wte(clean) + model.wpe(places)
    b = model.wte(corrupted) + model.wpe(places)
    for i, block in enumerate(model.blocks):
        if i == layer:
            a = a.clone()
            a[:, position] = b[:, position]
        a, b = block(a), block(b)
    return model.ln_f(a) @ model.wte.weight.T

# %% patch_stream right (passed): two hooks, one that notes and one that exchanges, both removed
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Logits for clean, with one vector before block `layer` from the run of corrupted."""
    block = model.blocks[layer]
    kept = {}

    def note(part, given):
        kept["vector"] = given[0][:, position].clone()

    def exchange(part, given):
        stream = given[0].clone()
        stream[:, position] = kept["vector"]
        return (stream,)

    hook = block.register_forward_pre_hook(note)
    try:
        model(corrupted)
    finally:
        hook.remove()
    hook = block.register_forward_pre_hook(exchange)
    try:
        return model(clean)
    finally:
        hook.remove()

# %% patch_stream right (passed): both texts in one batch, a mask and torch.where
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Logits for clean, with one vector before block `layer` from the run of corrupted."""
    batch, seq = clean.shape
    both = torch.cat([clean, corrupted])
    here = (torch.arange(seq) == position % seq)[:, None]

    def exchange(part, given):
        ours, theirs = given[0][:batch], given[0][batch:]
        return torch.cat([torch.where(here, theirs, ours), theirs])

    hook = model.blocks[layer].register_forward_pre_hook(exchange)
    try:
        logits = model(both)
    finally:
        hook.remove()
    return logits[:batch]

# %% patch_stream right (passed): a copy of the model whose block is wrapped in a module that exchanges
class Exchange(nn.Module):
    def __init__(self, block, vector, position):
        super().__init__()
        self.block, self.vector, self.position = block, vector, position

    def forward(self, x):
        x = x.clone()
        x[:, self.position] = self.vector
        return self.block(x)


def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Logits for clean, with one vector before block `layer` from the run of corrupted."""
    import copy

    stream = model.wte(corrupted) + model.wpe(torch.arange(corrupted.shape[1]))
    for i in range(layer):
        stream = model.blocks[i](stream)
    other = copy.deepcopy(model)
    other.blocks[layer] = Exchange(other.blocks[layer], stream[:, position].detach(), position)
    return other(clean)

# %% patch_stream right (passed): slow, text by text, the pieces of the stream put together with cat
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Logits for clean, with one vector before block `layer` from the run of corrupted."""
    def upto(text):
        x = model.wte(text[None]) + model.wpe(torch.arange(len(text)))[None]
        for i in range(layer):
            x = model.blocks[i](x)
        return x

    all_logits = []
    for a, b in zip(clean, corrupted):
        seq = len(a)
        p = position if position >= 0 else seq + position
        x, y = upto(a), upto(b)
        x = torch.cat([x[:, :p], y[:, p : p + 1], x[:, p + 1 :]], dim=1)
        for i in range(layer, len(model.blocks)):
            x = model.blocks[i](x)
        all_logits.append(nn.functional.linear(model.ln_f(x), model.wte.weight))
    return torch.cat(all_logits)

# %% without_head wrong (misconception hook-left): the hook is never removed
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Logits with one head's share of what goes into out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        x = given[0].clone()
        x[:, :, head * width : (head + 1) * width] = 0
        return x

    model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    return model(tokens)

# %% without_head wrong (misconception after-out_proj): the entries of what comes out of out_proj are set to zero
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Logits with one head's share of what goes into out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given, found):
        found = found.clone()
        found[..., head * width : (head + 1) * width] = 0
        return found

    hook = model.blocks[layer].attn.out_proj.register_forward_hook(silence)
    logits = model(tokens)
    hook.remove()
    return logits

# %% without_head wrong (misconception interleaved): every n_heads-th entry, as if the heads' entries were shuffled together
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Logits with one head's share of what goes into out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    n_heads = model.config.n_heads

    def silence(part, given):
        x = given[0].clone()
        x[..., head::n_heads] = 0
        return x

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    logits = model(tokens)
    hook.remove()
    return logits

# %% without_head wrong (misconception rows-of-out_proj): rows of out_proj's weights are set to zero for a while, where it should be columns
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Logits with one head's share of what goes into out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    weight = model.blocks[layer].attn.out_proj.weight
    before = weight.detach().clone()
    with torch.no_grad():
        weight[head * width : (head + 1) * width] = 0
        logits = model(tokens)
        weight.copy_(before)
    return logits

# %% without_head wrong (misconception weights-left): the right columns of out_proj's weights are set to zero, and stay so
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Logits with one head's share of what goes into out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    with torch.no_grad():
        model.blocks[layer].attn.out_proj.weight[:, head * width : (head + 1) * width] = 0
    return model(tokens)

# %% without_head wrong (misconception the-others): the other way round, all heads but this one are silent
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Logits with one head's share of what goes into out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        x = torch.zeros_like(given[0])
        x[..., head * width : (head + 1) * width] = given[0][..., head * width : (head + 1) * width]
        return x

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    logits = model(tokens)
    hook.remove()
    return logits

# %% without_head wrong (misconception last-position-only): silent at the last position only
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Logits with one head's share of what goes into out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        x = given[0].clone()
        x[:, -1, head * width : (head + 1) * width] = 0
        return x

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    logits = model(tokens)
    hook.remove()
    return logits

# %% without_head wrong (misconception head-from-one): heads are counted from 1, so the head before is silent, and for head 0 none
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Logits with one head's share of what goes into out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    start = (head - 1) * width
    stop = start + width

    def silence(part, given):
        x = given[0].clone()
        x[..., start:stop] = 0
        return x

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    logits = model(tokens)
    hook.remove()
    return logits

# %% without_head wrong (misconception values-but-no-bias): the head's rows of W_value's weights are set to zero for a while, but its bias still comes through
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Logits with one head's share of what goes into out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    weight = model.blocks[layer].attn.W_value.weight
    mine = slice(head * width, head * width + width)
    with torch.no_grad():
        before = weight[mine].clone()
        weight[mine] = 0
        logits = model(tokens)
        weight[mine] = before
    return logits

# %% without_head wrong (misconception nothing-removed): the hook changes a copy and returns nothing
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Logits with one head's share of what goes into out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        x = given[0].clone()
        x[:, :, head * width : (head + 1) * width] = 0

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    logits = model(tokens)
    hook.remove()
    return logits

# %% without_head right (passed): a hook with a mask, removed in finally
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Logits with one head's share of what goes into out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    keep = torch.ones(model.config.d_model)
    keep[head * width : (head + 1) * width] = 0
    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(lambda part, given: given[0] * keep)
    try:
        return model(tokens)
    finally:
        hook.remove()

# %% without_head right (passed): a copy of the model, in which the head's columns of out_proj are zero
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Logits with one head's share of what goes into out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    import copy

    silent = copy.deepcopy(model)
    silent.blocks[layer].attn.out_proj.weight.data[:, head * width : (head + 1) * width] = 0
    return silent(tokens)

# %% without_head right (passed): the head's values are made zero as they leave W_value, bias and all
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Logits with one head's share of what goes into out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def no_values(part, given, values):
        values = values.clone()
        values[..., head * width : (head + 1) * width] = 0.0
        return values

    hook = model.blocks[layer].attn.W_value.register_forward_hook(no_values)
    logits = model(tokens)
    hook.remove()
    return logits

# %% without_head right (passed): the whole run by hand, with torch's scaled_dot_product_attention
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Logits with one head's share of what goes into out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    batch, seq = tokens.shape
    n_heads = model.config.n_heads
    x = model.wte(tokens) + model.wpe(torch.arange(seq))
    for i, block in enumerate(model.blocks):
        attn, normed = block.attn, block.ln_1(x)
        q, k, v = (
            map_(normed).view(batch, seq, n_heads, width).transpose(1, 2)
            for map_ in (attn.W_query, attn.W_key, attn.W_value)
        )
        found = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        if i == layer:
            found = torch.cat([found[:, :head], torch.zeros_like(found[:, :1]), found[:, head + 1 :]], dim=1)
        x = x + attn.out_proj(found.transpose(1, 2).reshape(batch, seq, n_heads * width))
        x = x + block.mlp(block.ln_2(x))
    return model.ln_f(x) @ model.wte.weight.T

# %% without_head right (passed): out_proj's columns are set to zero for one run and put back
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Logits with one head's share of what goes into out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    weight = model.blocks[layer].attn.out_proj.weight
    before = weight.detach().clone()
    columns = list(range(head * width, (head + 1) * width))
    with torch.no_grad():
        try:
            for column in columns:
                weight[:, column] = 0
            logits = model(tokens)
        finally:
            weight.copy_(before)
    return logits

# %% induction_score wrong (misconception same-token): looks at the same token and not at the one after it
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Mean weight on what came after the same token the last time, over the second half of a repeated list."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=-n, dim1=-2, dim2=-1).mean(dim=-1)

# %% induction_score wrong (misconception from-the-end-of-the-first): the right diagonal, but its first entry belongs to the last query of the first list
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Mean weight on what came after the same token the last time, over the second half of a repeated list."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=1 - n, dim1=-2, dim2=-1).mean(dim=-1)

# %% induction_score wrong (misconception first-two-axes): diagonal without dim1 and dim2, which takes the first two axes
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Mean weight on what came after the same token the last time, over the second half of a repeated list."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=1 - n)[..., 1:].mean(dim=-1)

# %% induction_score wrong (misconception one-for-all-heads): one number for all heads together
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Mean weight on what came after the same token the last time, over the second half of a repeated list."""
    n = pattern.shape[-1] // 2
    return pattern[..., torch.arange(n, 2 * n), torch.arange(1, n + 1)].mean()

# %% induction_score wrong (misconception whole-square): the mean of the whole square from the second list to the first, and not of its diagonal
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Mean weight on what came after the same token the last time, over the second half of a repeated list."""
    n = pattern.shape[-1] // 2
    return pattern[..., n:, 1 : n + 1].mean(dim=(-2, -1))

# %% induction_score wrong (raised): works for [batch, heads, seq, seq] only
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Mean weight on what came after the same token the last time, over the second half of a repeated list."""
    batch, heads, seq, _ = pattern.shape
    n = seq // 2
    total = torch.zeros(batch, heads)
    for q in range(n, seq):
        total += pattern[:, :, q, q - n + 1]
    return total / n

# %% induction_score wrong (misconception over-all-queries): divides by all 2n positions and not by the n queries
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Mean weight on what came after the same token the last time, over the second half of a repeated list."""
    seq = pattern.shape[-1]
    n = seq // 2
    total = 0
    for q in range(n, seq):
        total = total + pattern[..., q, q - n + 1]
    return total / seq

# %% induction_score wrong (misconception favourite): how often the head looks there most, and not with how much weight
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Mean weight on what came after the same token the last time, over the second half of a repeated list."""
    n = pattern.shape[-1] // 2
    looks = pattern[..., n:, :].argmax(dim=-1)
    return (looks == torch.arange(1, n + 1)).float().mean(dim=-1)

# %% induction_score wrong (misconception last-query-missing): the last query is left out, since nothing in the first list comes after its token
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Mean weight on what came after the same token the last time, over the second half of a repeated list."""
    n = pattern.shape[-1] // 2
    return pattern[..., n:, 1:n].diagonal(dim1=-2, dim2=-1).mean(dim=-1)

# %% induction_score wrong (raised): the length 20 of the page's lists is written in
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Mean weight on what came after the same token the last time, over the second half of a repeated list."""
    return pattern[..., torch.arange(20, 40), torch.arange(1, 21)].mean(dim=-1)

# %% induction_score right (passed): the diagonal without its first entry
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Mean weight on what came after the same token the last time, over the second half of a repeated list."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=1 - n, dim1=-2, dim2=-1)[..., 1:].mean(dim=-1)

# %% induction_score right (passed): pairs of indices
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Mean weight on what came after the same token the last time, over the second half of a repeated list."""
    n = pattern.size(-1) // 2
    queries = torch.arange(n, 2 * n)
    return pattern[..., queries, queries - n + 1].mean(-1)

# %% induction_score right (passed): a loop over the queries, sum divided by n
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Mean weight on what came after the same token the last time, over the second half of a repeated list."""
    seq = pattern.shape[-1]
    n = seq // 2
    total = torch.zeros(pattern.shape[:-2])
    for q in range(n, seq):
        total += pattern[..., q, q - n + 1]
    return total / n

# %% induction_score right (passed): a square cut out, times the identity, summed
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Mean weight on what came after the same token the last time, over the second half of a repeated list."""
    n = pattern.shape[-1] // 2
    square = pattern[..., n:, 1 : n + 1]
    return (square * torch.eye(n)).sum(dim=(-2, -1)) / n

# %% induction_score right (passed): slow, each head by itself with a helper, plain numbers, and the shape put back
def one_head(weights, n):
    return sum(weights[n + i, i + 1].item() for i in range(n)) / n


def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Mean weight on what came after the same token the last time, over the second half of a repeated list."""
    front, seq = pattern.shape[:-2], pattern.shape[-1]
    scores = [one_head(weights, seq // 2) for weights in pattern.reshape(-1, seq, seq)]
    return torch.tensor(scores).reshape(front)
