# %% logit_lens wrong (misconception normed-from-the-start): lets the stream itself go through ln_f, so later blocks read a normalised stream
def logit_lens(model, tokens):
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    x = model.ln_f(x)
    rows = [x[0, -1] @ model.wte.weight.T]
    for block in model.blocks:
        x = model.ln_f(block(x))
        rows.append(x[0, -1] @ model.wte.weight.T)
    return torch.stack(rows)

# %% logit_lens wrong (misconception no-embeddings): reads only after each block, so the row before the first block is missing
def logit_lens(model, tokens):
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    rows = torch.stack([(x := block(x))[0, -1] for block in model.blocks])
    return model.ln_f(rows) @ model.wte.weight.T

# %% logit_lens wrong (misconception what-each-block-adds): reads what each block adds instead of the stream after it
def logit_lens(model, tokens):
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    read = [x[:, -1]]
    for block in model.blocks:
        after = block(x)
        read.append((after - x)[:, -1])
        x = after
    return model.ln_f(torch.cat(read)) @ model.wte.weight.T

# %% logit_lens wrong (difference places): sends only the last position through the blocks, so attention sees no other token
def logit_lens(model, tokens):
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    x = x[:, -1:]
    streams = [x]
    for block in model.blocks:
        x = block(x)
        streams.append(x)
    return model.ln_f(torch.cat(streams)[:, 0]) @ model.wte.weight.T

# %% logit_lens wrong (misconception written-over): collects one tensor that it then changes in place, so all rows are the last reading
def logit_lens(model, tokens):
    with torch.no_grad():
        x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        streams = [x]
        for block in model.blocks:
            x.copy_(block(x))
            streams.append(x)
        return torch.stack([(model.ln_f(s) @ model.wte.weight.T)[0, -1] for s in streams])

# %% logit_lens wrong (property as_it_was): leaves its hooks on the blocks
def logit_lens(model, tokens):
    streams = []
    for block in model.blocks:
        block.register_forward_pre_hook(lambda part, given: streams.append(given[0][0, -1]))
    last = model(tokens)[0, -1]
    early = model.ln_f(torch.stack(streams)) @ model.wte.weight.T
    return torch.cat([early, last[None]])

# %% logit_lens wrong (property as_it_was): switches blocks off from the end with Identity and never puts them back
def logit_lens(model, tokens):
    rows = [model(tokens)[0, -1]]
    for layer in reversed(range(len(model.blocks))):
        model.blocks[layer] = nn.Identity()
        rows.append(model(tokens)[0, -1])
    return torch.stack(rows[::-1])

# %% logit_lens wrong (property as_it_was): ends in training mode although the model came in eval mode
def logit_lens(model, tokens):
    model.eval()
    with torch.no_grad():
        x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        rows = [model.ln_f(x[:, -1])]
        for block in model.blocks:
            x = block(x)
            rows.append(model.ln_f(x[:, -1]))
        logits = torch.cat(rows) @ model.wte.weight.T
    model.train()
    return logits

# %% logit_lens wrong (shape): keeps the axis of the one text, so the result has three axes
def logit_lens(model, tokens):
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    rows = [x[:, -1]]
    for block in model.blocks:
        x = block(x)
        rows.append(x[:, -1])
    return model.ln_f(torch.stack(rows)) @ model.wte.weight.T

# %% logit_lens wrong (difference places): normalises the last stream twice, since it is stored after ln_f and then read like the others
def logit_lens(model, tokens):
    streams = [model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))]
    for block in model.blocks:
        streams.append(block(streams[-1]))
    streams[-1] = model.ln_f(streams[-1])
    return torch.stack([model.ln_f(s[0, -1]) @ model.wte.weight.T for s in streams])

# %% logit_lens right (passed): accumulate over the blocks with the embeddings as the initial value
def logit_lens(model, tokens):
    from itertools import accumulate

    start = model.wte(tokens) + model.wpe.weight[: tokens.shape[1]]
    streams = accumulate(model.blocks, lambda stream, block: block(stream), initial=start)
    last = torch.stack([stream[0, -1] for stream in streams])
    return nn.functional.linear(model.ln_f(last), model.wte.weight)

# %% logit_lens right (passed): one run of the whole model with hooks that only listen, removed in any case
def logit_lens(model, tokens):
    heard = []

    def listen(part, given):
        heard.append(given[0][:, -1])

    hooks = [part.register_forward_pre_hook(listen) for part in (*model.blocks, model.ln_f)]
    try:
        model(tokens)
    finally:
        for hook in hooks:
            hook.remove()
    return torch.einsum("ld,vd->lv", model.ln_f(torch.cat(heard)), model.wte.weight)

# %% patch_stream wrong (misconception other-way-round): runs the corrupted text with a vector of the clean text
def patch_stream(model, clean, corrupted, layer, position):
    places = torch.arange(clean.shape[1], device=clean.device)
    a = model.wte(clean) + model.wpe(places)
    b = model.wte(corrupted) + model.wpe(places)
    for number, block in enumerate(model.blocks):
        if number == layer:
            b = b.clone()
            b[:, position] = a[:, position]
        a, b = block(a), block(b)
    return model.ln_f(b) @ model.wte.weight.T

# %% patch_stream wrong (misconception after-the-block): replaces the vector after block `layer` instead of before it
def patch_stream(model, clean, corrupted, layer, position):
    places = torch.arange(clean.shape[1], device=clean.device)
    x = model.wte(clean) + model.wpe(places)
    y = model.wte(corrupted) + model.wpe(places)
    for number, block in enumerate(model.blocks):
        x, y = block(x), block(y)
        if number == layer:
            x = torch.cat([x[:, :position], y[:, position : position + 1], x[:, position + 1 :]], dim=1)
    return model.ln_f(x) @ model.wte.weight.T

# %% patch_stream wrong (raised): indexes the first axis, so a whole text is replaced, or the index is out of range
def patch_stream(model, clean, corrupted, layer, position):
    embed = lambda t: model.wte(t) + model.wpe(torch.arange(t.shape[1], device=t.device))
    x, y = embed(clean), embed(corrupted)
    for block in model.blocks[:layer]:
        x, y = block(x), block(y)
    x = x.clone()
    x[position] = y[position]
    for block in model.blocks[layer:]:
        x = block(x)
    return model.ln_f(x) @ model.wte.weight.T

# %% patch_stream wrong (property what_was_exchanged): goes on with the block after `layer`, which itself is never run on the patched stream
def patch_stream(model, clean, corrupted, layer, position):
    embed = lambda t: model.wte(t) + model.wpe(torch.arange(t.shape[1], device=t.device))
    x, y = embed(clean), embed(corrupted)
    for i in range(layer):
        x, y = model.blocks[i](x), model.blocks[i](y)
    x = x.index_copy(1, torch.tensor([position], device=x.device), y[:, position : position + 1])
    for i in range(layer + 1, len(model.blocks)):
        x = model.blocks[i](x)
    return model.ln_f(x) @ model.wte.weight.T

# %% patch_stream wrong (misconception token-exchanged): swaps the token at this position before the first block, so position and layer only choose a word
def patch_stream(model, clean, corrupted, layer, position):
    mixed = clean.clone()
    mixed[:, position] = corrupted[:, position]
    x = model.wte(mixed) + model.wpe(torch.arange(clean.shape[1], device=clean.device))
    for block in model.blocks:
        x = block(x)
    return model.ln_f(x) @ model.wte.weight.T

# %% patch_stream wrong (property what_was_exchanged): takes the vector from the twin's embeddings, which is right only for layer 0
def patch_stream(model, clean, corrupted, layer, position):
    places = torch.arange(clean.shape[1], device=clean.device)
    twin = (model.wte(corrupted) + model.wpe(places))[:, position]

    def swap(part, given):
        x = given[0].clone()
        x[:, position] = twin
        return (x,)

    hook = model.blocks[layer].register_forward_pre_hook(swap)
    try:
        return model(clean)
    finally:
        hook.remove()

# %% patch_stream wrong (misconception in-every-later-block): replaces the vector again before every later block
def patch_stream(model, clean, corrupted, layer, position):
    places = torch.arange(clean.shape[1], device=clean.device)
    x, y = (model.wte(t) + model.wpe(places) for t in (clean, corrupted))
    here = (places == position)[:, None]
    for number, block in enumerate(model.blocks):
        if number >= layer:
            x = torch.where(here, y, x)
        x, y = block(x), block(y)
    return model.ln_f(x) @ model.wte.weight.T

# %% patch_stream wrong (misconception first-text-only): replaces the vector only in the first text of the batch
def patch_stream(model, clean, corrupted, layer, position):
    seen = []
    spy = model.blocks[layer].register_forward_pre_hook(lambda part, given: seen.append(given[0].detach().clone()))
    model(corrupted)
    spy.remove()

    def swap(part, given):
        x = given[0].clone()
        x[0, position] = seen[0][0, position]
        return x

    hook = model.blocks[layer].register_forward_pre_hook(swap)
    logits = model(clean)
    hook.remove()
    return logits

# %% patch_stream wrong (misconception and-all-behind): replaces all vectors from position on, which is right only at the last position
def patch_stream(model, clean, corrupted, layer, position):
    places = torch.arange(clean.shape[1], device=clean.device)
    x, y = model.wte(clean) + model.wpe(places), model.wte(corrupted) + model.wpe(places)
    for number, block in enumerate(model.blocks):
        if number == layer:
            x = torch.cat((x[:, :position], y[:, position:]), dim=1)
        x, y = block(x), block(y)
    return model.ln_f(x) @ model.wte.weight.T

# %% patch_stream wrong (property what_was_exchanged): puts the mean of the twins' vectors into each text, which is right only for one text
def patch_stream(model, clean, corrupted, layer, position):
    places = torch.arange(clean.shape[1], device=clean.device)
    x, y = model.wte(clean) + model.wpe(places), model.wte(corrupted) + model.wpe(places)
    for number, block in enumerate(model.blocks):
        if number == layer:
            x = x.clone()
            x[:, position] = y[:, position].mean(dim=0)
        x, y = block(x), block(y)
    return model.ln_f(x) @ model.wte.weight.T

# %% patch_stream wrong (misconception hook-left): leaves its last hook in the model, which then patches every later run
def patch_stream(model, clean, corrupted, layer, position):
    saved = {}

    def save(part, given):
        saved["twin"] = given[0][:, position].clone()

    def swap(part, given):
        x = given[0].clone()
        x[:, position] = saved["twin"]
        return x

    hook = model.blocks[layer].register_forward_pre_hook(save)
    model(corrupted)
    hook.remove()
    hook = model.blocks[layer].register_forward_pre_hook(swap)
    return model(clean)

# %% patch_stream right (passed): both texts in one batch, of which one half lends a vector to the other
def patch_stream(model, clean, corrupted, layer, position):
    both = torch.cat([clean, corrupted])
    x = model.wte(both) + model.wpe.weight[: both.shape[1]]
    for number, block in enumerate(model.blocks):
        if number == layer:
            x, y = x.chunk(2)
            x = torch.cat([x[:, :position], y[:, position, None], x[:, position + 1 :]], dim=1)
        x = block(x)
    return model.ln_f(x) @ model.wte.weight.mT

# %% patch_stream right (passed): two hooks, one to save and one to return a mixed input, each removed after its run
def patch_stream(model, clean, corrupted, layer, position):
    entrance = model.blocks[layer]

    def run(tokens, hook):
        handle = entrance.register_forward_pre_hook(hook)
        try:
            return model(tokens)
        finally:
            handle.remove()

    stored = []
    run(corrupted, lambda part, given: stored.append(given[0]))

    def mix(part, given):
        here = torch.arange(given[0].shape[1], device=given[0].device).eq(position).unsqueeze(-1)
        return (torch.where(here, stored[0], given[0]),)

    return run(clean, mix)

# %% without_head wrong (misconception after-out_proj): sets entries of the output of out_proj to zero instead of its input
def without_head(model, tokens, layer, head):
    width = model.config.d_model // model.config.n_heads

    def silence(part, given, found):
        found = found.clone()
        found[..., head * width : (head + 1) * width] = 0
        return found

    hook = model.blocks[layer].attn.out_proj.register_forward_hook(silence)
    logits = model(tokens)
    hook.remove()
    return logits

# %% without_head wrong (misconception interleaved): takes every n_heads-th entry, as if the heads were interleaved
def without_head(model, tokens, layer, head):
    width = model.config.d_model // model.config.n_heads
    heads = model.config.n_heads

    def silence(part, given):
        x = given[0].clone()
        x[:, :, head::heads] = 0
        return x

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    logits = model(tokens)
    hook.remove()
    return logits

# %% without_head wrong (misconception nothing-removed): changes a copy in the hook and does not return it, so nothing happens
def without_head(model, tokens, layer, head):
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        x = given[0].clone()
        x[..., head * width : (head + 1) * width] = 0

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    try:
        return model(tokens)
    finally:
        hook.remove()

# %% without_head wrong (difference): makes the other heads larger to make up for the missing one, as dropout does
def without_head(model, tokens, layer, head):
    width = model.config.d_model // model.config.n_heads
    heads = model.config.n_heads
    keep = torch.ones(heads, device=tokens.device)
    keep[head] = 0
    keep = (keep / keep.mean()).repeat_interleave(width)
    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(lambda part, given: given[0] * keep)
    logits = model(tokens)
    hook.remove()
    return logits

# %% without_head wrong (raised): uses the numbers of layer and head the other way round
def without_head(model, tokens, layer, head):
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        merged = given[0].unflatten(-1, (-1, width)).clone()
        merged[:, :, layer] = 0
        return merged.flatten(-2)

    hook = model.blocks[head].attn.out_proj.register_forward_pre_hook(silence)
    logits = model(tokens)
    hook.remove()
    return logits

# %% without_head wrong (misconception weights-left): saves a view of the weights, so restoring them copies zeros onto zeros
def without_head(model, tokens, layer, head):
    width = model.config.d_model // model.config.n_heads
    weight = model.blocks[layer].attn.out_proj.weight.data
    columns = slice(head * width, (head + 1) * width)
    saved = weight[:, columns]
    weight[:, columns] = 0
    logits = model(tokens)
    weight[:, columns] = saved
    return logits

# %% without_head wrong (misconception last-position-only): switches the head off at the last position only
def without_head(model, tokens, layer, head):
    width = model.config.d_model // model.config.n_heads

    def silence(part, given):
        x = given[0].clone()
        x[:, -1, head * width : (head + 1) * width] = 0
        return x

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(silence)
    logits = model(tokens)
    hook.remove()
    return logits

# %% without_head wrong (misconception bias-removed-too): subtracts out_proj of the head's entries, and with it the bias
def without_head(model, tokens, layer, head):
    width = model.config.d_model // model.config.n_heads
    place = torch.arange(model.config.d_model, device=tokens.device) // width == head

    def subtract(part, given, found):
        mine = nn.functional.linear(given[0] * place, part.weight, part.bias)
        return found - mine

    hook = model.blocks[layer].attn.out_proj.register_forward_hook(subtract)
    try:
        logits = model(tokens)
    finally:
        hook.remove()
    return logits

# %% without_head wrong (property as_it_was): clears all hooks of the layer at the end, also those of others
def without_head(model, tokens, layer, head):
    width = model.config.d_model // model.config.n_heads
    target = model.blocks[layer].attn.out_proj

    def silence(part, given):
        x = given[0].clone()
        x[..., head * width : head * width + width] = 0
        return (x,)

    target.register_forward_pre_hook(silence)
    logits = model(tokens)
    target._forward_pre_hooks.clear()
    return logits

# %% without_head wrong (misconception values-but-no-bias): removes the rows of W_value but leaves their bias, which the head still writes
def without_head(model, tokens, layer, head):
    width = model.config.d_model // model.config.n_heads
    name = f"blocks.{layer}.attn.W_value.weight"
    rows = torch.arange(model.config.d_model, device=tokens.device) // width == head
    weight = model.get_parameter(name).masked_fill(rows[:, None], 0)
    return torch.func.functional_call(model, {name: weight}, (tokens,))

# %% without_head right (passed): a functional call in which the head's columns of out_proj's weight are zero
def without_head(model, tokens, layer, head):
    width = model.config.d_model // model.config.n_heads
    name = f"blocks.{layer}.attn.out_proj.weight"
    mine = torch.arange(model.config.d_model, device=tokens.device).div(width, rounding_mode="floor") == head
    changed = model.get_parameter(name).masked_fill(mine, 0)
    return torch.func.functional_call(model, {name: changed}, (tokens,))

# %% without_head right (passed): a hook that stacks the heads and puts zeros in the place of one
def without_head(model, tokens, layer, head):
    width = model.config.d_model // model.config.n_heads
    out_proj = model.get_submodule(f"blocks.{layer}.attn.out_proj")

    def silence(part, given):
        parts = list(given[0].split(width, dim=-1))
        parts[head] = torch.zeros_like(parts[head])
        return (torch.cat(parts, dim=-1), *given[1:])

    hook = out_proj.register_forward_pre_hook(silence)
    try:
        return model(tokens)
    finally:
        hook.remove()

# %% induction_score wrong (misconception same-token): looks at the earlier occurrence itself instead of the position after it
def induction_score(pattern):
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=-n, dim1=-2, dim2=-1).mean(dim=-1)

# %% induction_score wrong (misconception whole-square): averages a whole square of queries and keys instead of its diagonal
def induction_score(pattern):
    n = pattern.shape[-1] // 2
    return pattern[..., n:, 1 : n + 1].mean(dim=(-2, -1))

# %% induction_score wrong (misconception favourite): counts how often the largest weight is at the right place instead of averaging the weight
def induction_score(pattern):
    n = pattern.shape[-1] // 2
    wanted = torch.arange(1, n + 1, device=pattern.device)
    return (pattern[..., n:, :].argmax(dim=-1) == wanted).float().mean(dim=-1)

# %% induction_score wrong (misconception over-all-queries): divides the sum by the length of the whole text instead of one list
def induction_score(pattern):
    seq = pattern.shape[-1]
    n = seq // 2
    total = sum(pattern[..., query, query - n + 1] for query in range(n, seq))
    return total / seq

# %% induction_score wrong (misconception turned): takes rows for keys and columns for queries
def induction_score(pattern):
    n = pattern.shape[-1] // 2
    queries = torch.arange(n, 2 * n, device=pattern.device)
    return pattern[..., queries - n + 1, queries].mean(dim=-1)

# %% induction_score wrong (misconception from-the-end-of-the-first): averages the whole diagonal, which begins with the last query of the first list
def induction_score(pattern):
    n = pattern.shape[-1] // 2
    return torch.diagonal(pattern, offset=1 - n, dim1=-2, dim2=-1).mean(dim=-1)

# %% induction_score wrong (property which_cells_count): wraps around for the last query, which then looks at position 0 instead of n
def induction_score(pattern):
    n = pattern.shape[-1] // 2
    queries = torch.arange(n, 2 * n, device=pattern.device)
    return pattern[..., queries, (queries + 1) % n].mean(dim=-1)

# %% induction_score wrong (misconception last-query-missing): leaves out the last query
def induction_score(pattern):
    n = pattern.shape[-1] // 2
    return pattern[..., n:-1, 1:n].diagonal(dim1=-2, dim2=-1).mean(dim=-1)

# %% induction_score wrong (misconception one-for-all-heads): averages over all leading axes too, right for the pattern of a single head
def induction_score(pattern):
    n = pattern.shape[-1] // 2
    queries = torch.arange(n, 2 * n, device=pattern.device)
    return pattern[..., queries, queries - (n - 1)].mean()

# %% induction_score wrong (property leaves_its_inputs): blanks the first list in the caller's tensor before it sums the diagonal
def induction_score(pattern):
    n = pattern.shape[-1] // 2
    pattern[..., :n, :] = 0
    return pattern.diagonal(offset=1 - n, dim1=-2, dim2=-1).sum(dim=-1) / n

# %% induction_score wrong (raised): expects exactly the four axes batch, heads, query and key
def induction_score(pattern):
    batch, heads, seq, _ = pattern.shape
    n = seq // 2
    scores = pattern.new_zeros(batch, heads)
    for query in range(n, seq):
        scores = scores + pattern[:, :, query, query - n + 1] / n
    return scores

# %% induction_score right (passed): cuts out the square of second-list queries and traces it with an einsum
def induction_score(pattern):
    n = pattern.shape[-1] // 2
    return torch.einsum("...ii->...", pattern[..., n:, 1 : n + 1]) / n

# %% induction_score right (passed): gathers one key for each query
def induction_score(pattern):
    first, second = pattern.unflatten(-2, (2, -1)).unbind(dim=-3)
    n = second.shape[-2]
    keys = torch.arange(1, n + 1, device=pattern.device).unsqueeze(-1).expand(*second.shape[:-1], 1)
    return second.gather(-1, keys).squeeze(-1).mean(dim=-1)
