# %% gelu wrong (misconception sigmoid-form): the quick form with a sigmoid
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """GPT-2's form of GELU, with tanh."""
    return x * torch.sigmoid(1.702 * x)

# %% gelu wrong (raised): ^ is written for a power, and a bracket is missing
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """GPT-2's form of GELU, with tanh."""
    return x / 2 * (1 + torch.tanh((2 / torch.pi) ** 0.5 * x + 0.044715 * x ^ 3))

# %% Block wrong (misconception mlp-first): the mlp comes first, then attention
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, qkv_bias=True)
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        x = x + self.mlp(self.ln_2(x))
        return x + self.attn(self.ln_1(x))

# %% gpt2_state wrong (property from_which_tensor): reshape to the other layout instead of a transpose
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """A checkpoint's tensors under the names, and in the layouts, of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    for name in ("wte.weight", "wpe.weight"):
        state[name] = found[name]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    turn = lambda m: m.reshape(m.shape[1], m.shape[0])
    for i in range(config.n_layers):
        h, b = f"h.{i}.", f"blocks.{i}."
        for norm in ("ln_1", "ln_2"):
            state[f"{b}{norm}.w"], state[f"{b}{norm}.b"] = found[f"{h}{norm}.weight"], found[f"{h}{norm}.bias"]
        weights = found[f"{h}attn.c_attn.weight"].chunk(3, dim=1)
        biases = found[f"{h}attn.c_attn.bias"].chunk(3)
        for part, w, bias in zip(("W_query", "W_key", "W_value"), weights, biases):
            state[f"{b}attn.{part}.weight"], state[f"{b}attn.{part}.bias"] = turn(w), bias
        for mine, theirs in (("attn.out_proj", "attn.c_proj"), ("mlp.c_fc", "mlp.c_fc"), ("mlp.c_proj", "mlp.c_proj")):
            state[f"{b}{mine}.weight"] = turn(found[f"{h}{theirs}.weight"])
            state[f"{b}{mine}.bias"] = found[f"{h}{theirs}.bias"]
    return state

# %% GPT wrong (shape): only the last position's logits
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        x = self.ln_f(x)
        return x[:, [-1]] @ self.wte.weight.T

# %% gelu right (passed): torch's own module
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """GPT-2's form of GELU, with tanh."""
    return torch.nn.GELU("tanh")(x)
