# %% logit_lens wrong (misconception four-blocks): four blocks written in
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """What the model would answer if it ended here: before the first block, and after each."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1]))
    seen = [x[0, -1]]
    for block in model.blocks[:4]:
        x = block(x)
        seen.append(x[0, -1])
    return model.ln_f(torch.stack(seen)) @ model.wte.weight.T

# %% logit_lens wrong (misconception four-blocks): as many blocks as the notebook's config has
config = your_own_gpt2.GPTConfig(vocab_size=50257, n_positions=64, d_model=192, n_layers=4, n_heads=4)


def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """What the model would answer if it ended here: before the first block, and after each."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1]))
    seen = [x[0, -1]]
    for block in model.blocks[: config.n_layers]:
        x = block(x)
        seen.append(x[0, -1])
    return model.ln_f(torch.stack(seen)) @ model.wte.weight.T

# %% logit_lens wrong (misconception written-over): the stream is written over in place, and views of it are kept
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """What the model would answer if it ended here: before the first block, and after each."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1]))
    seen = [x[0, -1]]
    for block in model.blocks:
        x[:] = block(x)
        seen.append(x[0, -1])
    return model.ln_f(torch.stack(seen)) @ model.wte.weight.T

# %% logit_lens wrong (misconception stream-added-twice): the stream is added once more to what a block returns
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """What the model would answer if it ended here: before the first block, and after each."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1]))
    seen = [x[0, -1]]
    for block in model.blocks:
        x = x + block(x)
        seen.append(x[0, -1])
    return model.ln_f(torch.stack(seen)) @ model.wte.weight.T

# %% logit_lens wrong (misconception each-from-the-embeddings): each block is fed the embeddings
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """What the model would answer if it ended here: before the first block, and after each."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1]))
    seen = [x[0, -1]]
    for block in model.blocks:
        seen.append(block(x)[0, -1])
    return model.ln_f(torch.stack(seen)) @ model.wte.weight.T

# %% patch_stream wrong (misconception no-final-norm): no ln_f at the end
def patch_stream(model, clean, corrupted, layer, position):
    """Logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = torch.arange(clean.shape[1])
    x, other = (model.wte(tokens) + model.wpe(places) for tokens in (clean, corrupted))
    for block in model.blocks[:layer]:
        x, other = block(x), block(other)
    x[:, position] = other[:, position]
    for block in model.blocks[layer:]:
        x = block(x)
    return x @ model.wte.weight.T

# %% patch_stream wrong (misconception four-blocks): the run ends after four blocks
def patch_stream(model, clean, corrupted, layer, position):
    """Logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = torch.arange(clean.shape[1])
    x, other = (model.wte(tokens) + model.wpe(places) for tokens in (clean, corrupted))
    for block in model.blocks[:layer]:
        x, other = block(x), block(other)
    x[:, position] = other[:, position]
    for block in model.blocks[layer:4]:
        x = block(x)
    return model.ln_f(x) @ model.wte.weight.T

# %% induction_score wrong (misconception favourite): the share of queries whose largest weight is there
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    n = pattern.shape[-1] // 2
    best = pattern[..., n:, :].argmax(dim=-1)
    return (best == torch.arange(1, n + 1)).float().mean(dim=-1)

# %% induction_score wrong (property which_cells_count): the share of queries that look there most among the first list
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    n = pattern.shape[-1] // 2
    best = pattern[..., n:, :n].argmax(dim=-1)
    return (best == torch.arange(1, n + 1)).float().mean(dim=-1)

# %% induction_score wrong (property which_cells_count): the share of queries that give the place more than half
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    n = pattern.shape[-1] // 2
    found = pattern.diagonal(offset=1 - n, dim1=-2, dim2=-1)[..., 1:]
    return (found > 0.5).float().mean(dim=-1)

# %% logit_lens right (passed): in place, with copies kept
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """What the model would answer if it ended here: before the first block, and after each."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1]))
    seen = [x[0, -1].clone()]
    for block in model.blocks:
        x[:] = block(x)
        seen.append(x[0, -1].clone())
    return model.ln_f(torch.stack(seen)) @ model.wte.weight.T

# %% logit_lens right (passed): every row is read at once
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """What the model would answer if it ended here: before the first block, and after each."""
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1]))
    seen = [model.ln_f(x)[0, -1]]
    for i in range(len(model.blocks)):
        x = model.blocks[i](x)
        seen.append(model.ln_f(x)[0, -1])
    return torch.stack(seen) @ model.wte.weight.T

# %% patch_stream right (passed): both runs side by side
def patch_stream(model, clean, corrupted, layer, position):
    """Logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = torch.arange(clean.shape[1])
    x, other = (model.wte(tokens) + model.wpe(places) for tokens in (clean, corrupted))
    for block in model.blocks[:layer]:
        x, other = block(x), block(other)
    x[:, position] = other[:, position]
    for block in model.blocks[layer:]:
        x = block(x)
    return model.ln_f(x) @ model.wte.weight.T

# %% patch_stream right (passed): by the number of the block
def patch_stream(model, clean, corrupted, layer, position):
    """Logits for clean, with one vector before block `layer` from the run of corrupted."""
    places = torch.arange(clean.shape[1])
    x, other = (model.wte(tokens) + model.wpe(places) for tokens in (clean, corrupted))
    for block in model.blocks[:layer]:
        x, other = block(x), block(other)
    x[:, position] = other[:, position]
    for block in (model.blocks[i] for i in range(layer, len(model.blocks))):
        x = block(x)
    return model.ln_f(x) @ model.wte.weight.T

# %% induction_score right (passed): query after query
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    n = pattern.shape[-1] // 2
    return sum(pattern[..., n + i, i + 1] for i in range(n)) / n

# %% induction_score right (passed): the second half of the rows, the trace of it
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    n = pattern.shape[-1] // 2
    return pattern[..., n:, 1 : n + 1].diagonal(dim1=-2, dim2=-1).mean(-1)
