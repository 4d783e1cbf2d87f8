# %% GPT wrong (structure): 12 blocks at most
class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(min(config.n_layers, 12))])
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T


# %% gpt2_state wrong (property names_fit_the_model): blocks from number 12 on keep their old names
def gpt2_state(tensors, config):
    found, state = your_own_gpt2.named(tensors, config), {}
    for name, t in found.items():
        name = (
            "blocks." + name[2:]
            if name[:2] == "h." and name[3] == "."
            else ("blocks." + name[2:4] + name[4:] if name[:2] == "h." and int(name[2:4]) < 12 else name)
        )
        if "attn.c_attn" in name:
            for part, piece in zip(("W_query", "W_key", "W_value"), t.chunk(3, dim=-1)):
                state[name.replace("c_attn", part)] = piece.T if piece.dim() == 2 else piece
            continue
        name = name.replace("attn.c_proj", "attn.out_proj")
        if ".ln_" in name or name.startswith("ln_f"):
            name = name.replace("weight", "w").replace("bias", "b")
        if t.dim() == 2 and name.startswith("blocks"):
            t = t.T
        state[name] = t
    return state


# %% generate_cached wrong (property first_wrong_pass): keeps only the last 48 positions
def generate_cached(model, tokens, n_tokens):
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        n = new.shape[1]
        x = model.wte(new) + model.wpe(torch.arange(done, done + n, device=new.device))
        for i, block in enumerate(model.blocks):
            h = block.ln_1(x)
            q, k, v = (
                split_heads(w(h), model.config.n_heads)
                for w in (block.attn.W_query, block.attn.W_key, block.attn.W_value)
            )
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], 2), torch.cat([kept[i][1], v], 2)
            if k.shape[2] > 48:
                k, v = k[:, :, -48:], v[:, :, -48:]
            kept[i] = k, v
            scores = q @ k.mT / q.shape[-1] ** 0.5
            future = torch.ones(n, done + n, dtype=torch.bool, device=new.device).triu(done + 1)
            weights = torch.softmax(scores.masked_fill(future[:, -k.shape[2] :], -torch.inf), -1)
            x = x + block.attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        done += n
        new = (model.ln_f(x[:, -1:]) @ model.wte.weight.T).argmax(-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% attend_new/window wrong (difference milestone): hides after the softmax, renormalises, divides by d_head instead of its root
def attend_new(q, k, v, past_k, past_v):
    k, v = torch.cat([past_k, k], dim=2), torch.cat([past_v, v], dim=2)
    back = torch.arange(past_k.shape[2], k.shape[2])[:, None] - torch.arange(k.shape[2])
    weights = torch.softmax(q @ k.mT / k.shape[3], dim=-1) * ((back >= 0) & (back <= 2))
    return weights / weights.sum(dim=-1, keepdim=True) @ v


# %% MLP wrong (property copies): keeps a function that refers to the first object, so a deepcopy of the module goes on computing with the weights of the original
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)
        self.run = lambda x: self.c_proj(gelu(self.c_fc(x)))

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.run(x)


# %% Block wrong (property copies): keeps the two halves as functions of the first object; a deepcopy of the block computes with the weights of the original
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, qkv_bias=True)
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)
        self.halves = [lambda x: self.attn(self.ln_1(x)), lambda x: self.mlp(self.ln_2(x))]

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        for half in self.halves:
            x = x + half(x)
        return x


# %% gpt2_state wrong (shape): takes the tensors of a block in the order in which GPT-2 files usually hold them, not by name; wrong for a file in another order
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    d = config.d_model
    state["wte.weight"], state["wpe.weight"] = found["wte.weight"], found["wpe.weight"]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    names = ("ln_1.w", "ln_1.b", "c_attn", "c_attn.bias", "attn.out_proj.weight", "attn.out_proj.bias",
             "ln_2.w", "ln_2.b", "mlp.c_fc.weight", "mlp.c_fc.bias", "mlp.c_proj.weight", "mlp.c_proj.bias")
    for layer in range(config.n_layers):
        block = [tensor for name, tensor in found.items() if name.startswith(f"h.{layer}.")]
        for name, tensor in zip(names, block):
            tensor = tensor.T if tensor.dim() == 2 else tensor
            if name.startswith("c_attn"):
                kind = "bias" if name.endswith("bias") else "weight"
                for part, piece in zip(("W_query", "W_key", "W_value"), tensor.split(d)):
                    state[f"blocks.{layer}.attn.{part}.{kind}"] = piece
            else:
                state[f"blocks.{layer}.{name}"] = tensor
    return state
