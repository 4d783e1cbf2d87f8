# %% logit_lens wrong (misconception first-position): reads at the first position
def logit_lens(model: nn.Module, tokens: Int[Tensor, "1 seq"]) -> Float[Tensor, "layers+1 vocab"]:
    """What the model would answer if it ended here: before the first block, and after each."""
    x = model.wte(tokens) + model.wpe.weight[: tokens.shape[1]]
    rows = [x]
    for block in model.blocks:
        x = block(x)
        rows.append(x)
    return torch.stack([(model.ln_f(row) @ model.wte.weight.T)[0][0] for row in rows])

# %% without_head wrong (misconception looks-at-all): the head's queries are set to zero for a while, so it looks everywhere alike instead of being silent
def without_head(
    model: nn.Module, tokens: Int[Tensor, "batch seq"], layer: int, head: int
) -> Float[Tensor, "batch seq vocab"]:
    """Logits with one head's share of what goes into out_proj set to zero."""
    width = model.config.d_model // model.config.n_heads

    def zero(part, given, found):
        found = found.clone()
        found[..., head * width : (head + 1) * width] = 0
        return found

    hook = model.blocks[layer].attn.W_query.register_forward_hook(zero)
    try:
        return model(tokens)
    finally:
        hook.remove()

# %% patch_stream wrong (misconception added): the sum of both vectors instead of the other one
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Logits for clean, with one vector before block `layer` from the run of corrupted."""
    streams = []
    for tokens in (clean, corrupted):
        x = model.wte(tokens) + model.wpe.weight[: tokens.shape[1]]
        for block in model.blocks[:layer]:
            x = block(x)
        streams.append(x)
    x, other = streams
    x[:, position] += other[:, position]
    for block in model.blocks[layer:]:
        x = block(x)
    return model.ln_f(x) @ model.wte.weight.T

# %% patch_stream wrong (misconception rest-not-run): what is left of the run is computed for the position alone, without the blocks after it
def patch_stream(
    model: nn.Module,
    clean: Int[Tensor, "batch seq"],
    corrupted: Int[Tensor, "batch seq"],
    layer: int,
    position: int,
) -> Float[Tensor, "batch seq vocab"]:
    """Logits for clean, with one vector before block `layer` from the run of corrupted."""
    def stream(tokens):
        x = model.wte(tokens) + model.wpe.weight[: tokens.shape[1]]
        for i, block in enumerate(model.blocks):
            if i < layer:
                x = block(x)
        return x

    x = stream(clean)
    x[:, position] = stream(corrupted)[:, position]
    return model.ln_f(x) @ model.wte.weight.T

# %% induction_score wrong (misconception summed): the sum along the diagonal and not its mean
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Mean weight on what came after the same token the last time, over the second half of a repeated list."""
    n = pattern.shape[-1] // 2
    return torch.stack([pattern[..., i, i - n + 1] for i in range(n, 2 * n)]).sum(0)

# %% induction_score wrong (misconception turned): looks forward, columns and rows exchanged
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Mean weight on what came after the same token the last time, over the second half of a repeated list."""
    n = pattern.shape[-1] // 2
    return pattern.diagonal(offset=n - 1, dim1=-2, dim2=-1)[..., 1:].mean(-1)

# %% induction_score right (passed): a mask of ones where the places are, and an einsum
def induction_score(pattern: Float[Tensor, "... seq seq"]) -> Float[Tensor, "..."]:
    """Mean weight on what came after the same token the last time, over the second half of a repeated list."""
    n = pattern.shape[-1] // 2
    queries, keys = torch.arange(n, 2 * n), torch.arange(1, n + 1)
    wanted = torch.zeros_like(pattern[(0,) * (pattern.dim() - 2)])
    wanted[queries, keys] = 1 / n
    return torch.einsum("...qk,qk->...", pattern, wanted)
