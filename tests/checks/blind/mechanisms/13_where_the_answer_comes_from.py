# %% logit_lens wrong (property settings): switches gradients off and leaves them off
def logit_lens(model, tokens):
    torch.set_grad_enabled(False)
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    rows = [x[0, -1]]
    for block in model.blocks:
        x = block(x)
        rows.append(x[0, -1])
    return model.ln_f(torch.stack(rows)) @ model.wte.weight.T


# %% without_head wrong (property leaves_its_inputs): keeps the hook's handle as an attribute of the model, which stays there
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
    model.hook = out_proj.register_forward_pre_hook(silence)
    try:
        return model(tokens)
    finally:
        model.hook.remove()
