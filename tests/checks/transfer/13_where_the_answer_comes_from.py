# %% change_head/mean-of-texts right: a hook before out_proj
def change_head(model, tokens, layer, head):
    width = model.config.d_model // model.config.n_heads
    own = slice(head * width, (head + 1) * width)

    def change(part, given):
        x = given[0].clone()
        x[..., own] = x[..., own].mean(dim=0, keepdim=True)
        return x

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(change)
    try:
        return model(tokens)
    finally:
        hook.remove()
# %% change_head/mean-of-texts right: a hook in a copy of the model
def change_head(model, tokens, layer, head):
    from copy import deepcopy

    double = deepcopy(model)
    width = double.config.d_model // double.config.n_heads
    own = torch.arange(width) + head * width

    def change(part, given):
        x = given[0].clone()
        x[..., own] = x[..., own].sum(0) / len(x)
        return (x,)

    double.blocks[layer].attn.out_proj.register_forward_pre_hook(change)
    return double(tokens)
# %% change_head/mean-of-texts right: adds the difference after out_proj
def change_head(model, tokens, layer, head):
    out = model.blocks[layer].attn.out_proj
    columns = out.weight.chunk(model.config.n_heads, dim=1)[head]

    def change(part, given, found):
        part_now = given[0].chunk(model.config.n_heads, dim=-1)[head]
        return found + (part_now.mean(0) - part_now) @ columns.T

    hook = out.register_forward_hook(change)
    logits = model(tokens)
    hook.remove()
    return logits
# %% change_head/next-text right: a hook before out_proj
def change_head(model, tokens, layer, head):
    width = model.config.d_model // model.config.n_heads
    own = slice(head * width, (head + 1) * width)

    def change(part, given):
        x = given[0].clone()
        x[..., own] = x[..., own].roll(-1, dims=0)
        return x

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(change)
    try:
        return model(tokens)
    finally:
        hook.remove()
# %% change_head/next-text right: a hook in a copy of the model
def change_head(model, tokens, layer, head):
    from copy import deepcopy

    double = deepcopy(model)
    width = double.config.d_model // double.config.n_heads
    own = torch.arange(width) + head * width

    def change(part, given):
        x = given[0].clone()
        x[..., own] = torch.cat((x[1:], x[:1]))[..., own]
        return (x,)

    double.blocks[layer].attn.out_proj.register_forward_pre_hook(change)
    return double(tokens)
# %% change_head/next-text right: adds the difference after out_proj
def change_head(model, tokens, layer, head):
    out = model.blocks[layer].attn.out_proj
    columns = out.weight.chunk(model.config.n_heads, dim=1)[head]

    def change(part, given, found):
        part_now = given[0].chunk(model.config.n_heads, dim=-1)[head]
        return found + (part_now[(torch.arange(len(part_now)) + 1) % len(part_now)] - part_now) @ columns.T

    hook = out.register_forward_hook(change)
    logits = model(tokens)
    hook.remove()
    return logits
# %% change_head/first-position right: a hook before out_proj
def change_head(model, tokens, layer, head):
    width = model.config.d_model // model.config.n_heads
    own = slice(head * width, (head + 1) * width)

    def change(part, given):
        x = given[0].clone()
        x[..., own] = x[:, :1, own]
        return x

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(change)
    try:
        return model(tokens)
    finally:
        hook.remove()
# %% change_head/first-position right: a hook in a copy of the model
def change_head(model, tokens, layer, head):
    from copy import deepcopy

    double = deepcopy(model)
    width = double.config.d_model // double.config.n_heads
    own = torch.arange(width) + head * width

    def change(part, given):
        x = given[0].clone()
        x[..., own] = x[:, 0:1, own].repeat(1, x.shape[1], 1)
        return (x,)

    double.blocks[layer].attn.out_proj.register_forward_pre_hook(change)
    return double(tokens)
# %% change_head/first-position right: adds the difference after out_proj
def change_head(model, tokens, layer, head):
    out = model.blocks[layer].attn.out_proj
    columns = out.weight.chunk(model.config.n_heads, dim=1)[head]

    def change(part, given, found):
        part_now = given[0].chunk(model.config.n_heads, dim=-1)[head]
        return found + (part_now[:, 0][:, None] - part_now) @ columns.T

    hook = out.register_forward_hook(change)
    logits = model(tokens)
    hook.remove()
    return logits
# %% change_head/last-position right: a hook before out_proj
def change_head(model, tokens, layer, head):
    width = model.config.d_model // model.config.n_heads
    own = slice(head * width, (head + 1) * width)

    def change(part, given):
        x = given[0].clone()
        x[:, -1, own] = 0.0
        return x

    hook = model.blocks[layer].attn.out_proj.register_forward_pre_hook(change)
    try:
        return model(tokens)
    finally:
        hook.remove()
# %% change_head/last-position right: a hook in a copy of the model
def change_head(model, tokens, layer, head):
    from copy import deepcopy

    double = deepcopy(model)
    width = double.config.d_model // double.config.n_heads
    own = torch.arange(width) + head * width

    def change(part, given):
        x = given[0].clone()
        x[:, x.shape[1] - 1 :, own] *= 0
        return (x,)

    double.blocks[layer].attn.out_proj.register_forward_pre_hook(change)
    return double(tokens)
# %% change_head/last-position right: adds the difference after out_proj
def change_head(model, tokens, layer, head):
    out = model.blocks[layer].attn.out_proj
    columns = out.weight.chunk(model.config.n_heads, dim=1)[head]

    def change(part, given, found):
        part_now = given[0].chunk(model.config.n_heads, dim=-1)[head]
        return found + (-part_now * (torch.arange(part_now.shape[1]) == part_now.shape[1] - 1)[:, None]) @ columns.T

    hook = out.register_forward_hook(change)
    logits = model(tokens)
    hook.remove()
    return logits
