# %% logit_lens wrong (property settings): switches gradients off and leaves them off
def logit_lens(model, tokens):
    torch.set_grad_enabled(False)
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    rows = [x[0, -1]]
    for block in model.blocks:
        x = block(x)
        rows.append(x[0, -1])
    return model.ln_f(torch.stack(rows)) @ model.wte.weight.T
