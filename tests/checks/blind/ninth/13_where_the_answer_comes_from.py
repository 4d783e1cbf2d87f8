# %% patch_stream wrong (misconception other-way-round): runs the corrupted text with the clean text's vector, the two mixed up
def patch_stream(model, clean, corrupted, layer, position):
    def start(tokens):
        return model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))

    a, b = start(clean), start(corrupted)
    for block in model.blocks[:layer]:
        a, b = block(a), block(b)
    b = b.clone()
    b[:, position] = a[:, position]
    for block in model.blocks[layer:]:
        b = block(b)
    return model.ln_f(b) @ model.wte.weight.T

# %% patch_stream wrong (misconception and-all-before): replaces all vectors up to and including the position
def patch_stream(model, clean, corrupted, layer, position):
    places = torch.arange(clean.shape[1], device=clean.device)
    mine, theirs = model.wte(clean) + model.wpe(places), model.wte(corrupted) + model.wpe(places)
    for i, block in enumerate(model.blocks):
        if i == layer:
            mine = torch.cat([theirs[:, : position + 1], mine[:, position + 1 :]], dim=1)
        mine, theirs = block(mine), block(theirs)
    return model.ln_f(mine) @ model.wte.weight.T

# %% patch_stream wrong (property what_was_exchanged): replaces one entry of every vector instead of one position's vector
def patch_stream(model, clean, corrupted, layer, position):
    seen = {}

    def read(part, given):
        seen["vector"] = given[0][:, :, position].clone()

    def write(part, given):
        stream = given[0].clone()
        stream[:, :, position] = seen["vector"]
        return stream

    hook = model.blocks[layer].register_forward_pre_hook(read)
    model(corrupted)
    hook.remove()
    hook = model.blocks[layer].register_forward_pre_hook(write)
    logits = model(clean)
    hook.remove()
    return logits

# %% patch_stream wrong (property what_was_exchanged): gives every clean text the vector of the first corrupted text
def patch_stream(model, clean, corrupted, layer, position):
    places = torch.arange(clean.shape[1], device=clean.device)
    stream = model.wte(torch.cat([clean, corrupted])) + model.wpe(places)
    for block in model.blocks[:layer]:
        stream = block(stream)
    x, source = stream[: len(clean)].clone(), stream[len(clean)]
    x[:, position] = source[position]
    for block in model.blocks[layer:]:
        x = block(x)
    return model.ln_f(x) @ model.wte.weight.T

# %% patch_stream wrong (property what_was_exchanged): hooks the output of the block before, which for layer 0 is the last block
def patch_stream(model, clean, corrupted, layer, position):
    before, box = model.blocks[layer - 1], []
    hook = before.register_forward_hook(lambda part, given, found: box.append(found[:, position]))
    try:
        model(corrupted)
    finally:
        hook.remove()

    def swap(part, given, found):
        found = found.clone()
        found[:, position] = box[0]
        return found

    hook = before.register_forward_hook(swap)
    try:
        return model(clean)
    finally:
        hook.remove()

# %% patch_stream wrong (property training): switches off the gradients of the model's parameters and leaves them off
def patch_stream(model, clean, corrupted, layer, position):
    model.requires_grad_(False)

    def before(tokens):
        x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for i in range(layer):
            x = model.blocks[i](x)
        return x

    x = before(clean)
    x[:, position] = before(corrupted)[:, position]
    for i in range(layer, len(model.blocks)):
        x = model.blocks[i](x)
    return model.ln_f(x) @ model.wte.weight.T

# %% patch_stream right (passed): both texts in one batch, and a pre-hook that swaps the halves at one position by a where
def patch_stream(model, clean, corrupted, layer, position):
    n, seq = clean.shape
    here = (torch.arange(seq, device=clean.device) == position)[:, None]

    def swap(part, given):
        mine, theirs = given[0].chunk(2)
        return torch.cat([torch.where(here, theirs, mine), theirs])

    hook = model.blocks[layer].register_forward_pre_hook(swap)
    try:
        return model(torch.cat([clean, corrupted]))[:n]
    finally:
        hook.remove()

# %% patch_stream right (passed): by hand with reduce, and the new stream joined from three pieces
def patch_stream(model, clean, corrupted, layer, position):
    from functools import reduce

    run = lambda x, blocks: reduce(lambda stream, block: block(stream), blocks, x)
    blocks = list(model.blocks)
    begin = lambda tokens: model.wte(tokens) + model.wpe.weight[: tokens.shape[1]]
    mine, theirs = (run(begin(tokens), blocks[:layer]) for tokens in (clean, corrupted))
    rest = mine.shape[1] - position - 1
    left, _, right = mine.split([position, 1, rest], dim=1)
    patched = torch.cat([left, theirs.narrow(1, position, 1), right], dim=1)
    return nn.functional.linear(model.ln_f(run(patched, blocks[layer:])), model.wte.weight)

# %% induction_score wrong (misconception turned): reads the diagonal above the main one, with queries and keys exchanged
def induction_score(pattern):
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=n - 1, dim1=-2, dim2=-1)[..., 1:].mean(dim=-1)

# %% induction_score wrong (property which_cells_count): takes the position before the earlier occurrence instead of the one after it
def induction_score(pattern):
    n = pattern.shape[-1] // 2
    total = 0
    for i in range(n, 2 * n):
        total = total + pattern[..., i, i - n - 1 if i > n else 0]
    return total / n

# %% induction_score wrong (misconception over-all-queries): divides the sum over the second list's queries by the whole length
def induction_score(pattern):
    seq = pattern.size(-1)
    half = seq // 2
    queries = torch.arange(half, seq, device=pattern.device)
    return pattern[..., queries, queries - half + 1].sum(-1) / seq

# %% induction_score wrong (misconception last-query-missing): leaves out the last query, whose target is in the second list
def induction_score(pattern):
    n = pattern.shape[-1] // 2
    second_on_first = pattern[..., n:, :n]
    return second_on_first.diagonal(offset=1, dim1=-2, dim2=-1).mean(dim=-1)

# %% induction_score wrong (raised): needs exactly three axes before the last two, as on the page
def induction_score(pattern):
    n = pattern.shape[-1] // 2
    rows = torch.arange(n, 2 * n, device=pattern.device)
    return pattern[:, :, :, rows, rows - n + 1].mean(dim=3)

# %% induction_score wrong (property which_cells_count): lets the last query wrap round to the list's first token
def induction_score(pattern):
    n = pattern.shape[-1] // 2
    target = torch.arange(1, n + 1, device=pattern.device) % n
    target = target.unsqueeze(-1).expand(*pattern.shape[:-2], n, 1)
    return pattern[..., n:, :].gather(-1, target).squeeze(-1).mean(-1)

# %% induction_score right (passed): flattens the square and walks through it in steps of one row and one column
def induction_score(pattern):
    seq = pattern.shape[-1]
    n = seq // 2
    return pattern.flatten(-2)[..., n * seq + 1 :: seq + 1].mean(dim=-1)

# %% induction_score right (passed): an einsum with a matrix that selects each query's target
def induction_score(pattern):
    n = pattern.shape[-1] // 2
    select = torch.ones(n, n, dtype=pattern.dtype, device=pattern.device).tril().triu()
    return torch.einsum("...qk,qk->...", pattern[..., n:, 1 : n + 1], select) / n
