# %% gelu wrong (misconception root-of-two-only): the root of 2 divided by pi, instead of the root of (2 / pi)
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    return x / 2 * (1 + torch.tanh(2**0.5 / torch.pi * (x + 0.044715 * x**3)))


# %% gelu wrong (property landmarks): the cube also covers the factor: (0.044715 x)**3
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    inner = (2 / torch.pi) ** 0.5 * (x + (0.044715 * x) ** 3)
    return 0.5 * x * (1 + torch.tanh(inner))


# %% gelu wrong (misconception exact): subtle, the exact GELU with erf, which differs from GPT-2's form by up to 0.0005
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    return x * 0.5 * (1 + torch.erf(x / 2**0.5))


# %% gelu wrong (property finite_when_scaled): subtle, tanh written with exponentials, which gives nan for large inputs (from about 14 on)
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    inner = (2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)
    up, down = torch.exp(inner), torch.exp(-inner)
    return x / 2 * (1 + (up - down) / (up + down))


# %% gelu wrong (property gradients): subtle, the numbers are right, but no gradient flows through the tanh
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    gate = torch.tanh((2 / torch.pi) ** 0.5 * (x.data + 0.044715 * x.data**3))
    return x / 2 * (1 + gate)


# %% gelu right (passed): the formula with torch.tanh
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    inner = (2 / torch.pi) ** 0.5 * (x + 0.044715 * x.pow(3))
    return x / 2 * (1 + torch.tanh(inner))


# %% gelu right (passed): (1 + tanh(u)) / 2 is sigmoid(2u); u is computed from a clamped copy, where both are saturated
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    limited = x.clamp(min=-20.0, max=20.0)
    u = (2 / torch.pi) ** 0.5 * limited * (1 + 0.044715 * limited * limited)
    return x * torch.sigmoid(2 * u)


# %% MLP wrong (misconception no-bend): no gelu between the layers
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.c_proj(self.c_fc(x))


# %% MLP wrong (misconception bent-twice): gelu also after the second layer
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        x = gelu(self.c_fc(x))
        return gelu(self.c_proj(x))


# %% MLP wrong (misconception always-four-times): subtle, ignores d_mlp and is always four times as wide as d_model
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, 4 * d_model)
        self.c_proj = nn.Linear(4 * d_model, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.c_proj(gelu(self.c_fc(x)))


# %% MLP wrong (misconception exact): subtle, uses torch's exact GELU instead of the learner's own with tanh (differs by up to 0.0005 in each entry of the wide vector)
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.act = nn.GELU()
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.c_proj(self.act(self.c_fc(x)))


# %% MLP wrong (raised): subtle, expects exactly three axes, but any number of axes may come before the last
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        batch, seq, d_model = x.shape
        wide = gelu(self.c_fc(x.reshape(batch * seq, d_model)))
        return self.c_proj(wide).view(batch, seq, d_model)


# %% MLP right (passed): one line
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.c_proj(gelu(self.c_fc(x)))


# %% MLP right (passed): all vectors as the rows of one matrix, step by step, then the old shape
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.add_module("c_fc", nn.Linear(in_features=d_model, out_features=d_mlp, bias=True))
        self.add_module("c_proj", nn.Linear(in_features=d_mlp, out_features=d_model, bias=True))

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        rows = x.reshape(-1, x.shape[-1])
        for step in (self.c_fc, gelu, self.c_proj):
            rows = step(rows)
        return rows.reshape(x.shape)


# %% Block wrong (misconception post-norm): post-norm, the norms act on the sums
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, qkv_bias=True)
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        x = self.ln_1(x + self.attn(x))
        return self.ln_2(x + self.mlp(x))


# %% Block wrong (misconception side-by-side): the MLP reads the block's input instead of the stream after attention
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, qkv_bias=True)
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        return x + self.attn(self.ln_1(x)) + self.mlp(self.ln_2(x))


# %% Block wrong (misconception first-norm-twice): subtle, ln_1 is used for both halves: no difference in a new block, but in every trained block
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, qkv_bias=True)
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_1(x))


# %% Block wrong (misconception eps-as-in-lesson-06): subtle, config.eps is not passed to the norms: shows if it is not 1e-6, in streams with a small variance
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, qkv_bias=True)
        self.ln_2 = LayerNorm(d)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


# %% Block wrong (property draws_nothing): subtle, a dropout of 0.1 in attention: right in eval mode, random in training mode
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.1, config.n_heads, qkv_bias=True)
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


# %% Block right (passed): two lines, one for each half
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, qkv_bias=True)
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


# %% Block right (passed): keyword arguments, and a loop over the two halves
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1, self.ln_2 = (LayerNorm(d_model=d, eps=config.eps) for _ in range(2))
        self.attn = MultiHeadAttention(
            d_in=d,
            d_out=d,
            context_length=config.n_positions,
            dropout=0.0,
            num_heads=config.n_heads,
            qkv_bias=True,
        )
        self.mlp = MLP(d_model=d, d_mlp=d * 4)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        stream = x
        for norm, part in ((self.ln_1, self.attn), (self.ln_2, self.mlp)):
            written = part(norm(stream))
            stream = stream + written
        return stream


# %% GPT wrong (misconception no-final-norm): the last norm is made, but not used
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
        return x @ self.wte.weight.T


# %% GPT wrong (structure): multiplies a list by n_layers, so all entries are the same block with the same parameters
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config)] * config.n_layers)
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.wte(tokens) + self.wpe(positions)
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T


# %% GPT wrong (property gradients): subtle, the head uses wte.weight.data: the logits are right, but the embeddings get no gradient through the head
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.wte(tokens) + self.wpe(positions)
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.data.T


# %% GPT wrong (property first_wrong_part): subtle, ln_f does not get config.eps: shows if it is not 1e-6, in streams with a small variance
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(config.d_model)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.wte(tokens) + self.wpe(positions)
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T


# %% GPT wrong (property moves_with_its_module): subtle, the positions are created on the CPU, whatever the device of tokens
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T


# %% GPT right (passed): arange on the tokens' device, product with the transposed embeddings
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.wte(tokens) + self.wpe(positions)
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T


# %% GPT right (passed): positions for each text, blocks appended one by one, functional linear as the head
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        c = config
        self.wte = nn.Embedding(num_embeddings=c.vocab_size, embedding_dim=c.d_model)
        self.wpe = nn.Embedding(num_embeddings=c.n_positions, embedding_dim=c.d_model)
        self.blocks = nn.ModuleList()
        for _ in range(c.n_layers):
            self.blocks.append(Block(c))
        self.ln_f = LayerNorm(c.d_model, eps=c.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        batch, seq = tokens.shape
        places = torch.arange(seq, dtype=torch.long, device=tokens.device).expand(batch, seq)
        stream = torch.add(self.wpe(places), self.wte(tokens))
        for number in range(self.config.n_layers):
            stream = self.blocks[number](stream)
        return nn.functional.linear(self.ln_f(stream), self.wte.weight)


# %% gpt2_state wrong (misconception not-turned): nothing is transposed
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    state["wte.weight"], state["wpe.weight"] = found["wte.weight"], found["wpe.weight"]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    for layer in range(config.n_layers):
        old, new = f"h.{layer}", f"blocks.{layer}"
        for norm in ("ln_1", "ln_2"):
            state[f"{new}.{norm}.w"] = found[f"{old}.{norm}.weight"]
            state[f"{new}.{norm}.b"] = found[f"{old}.{norm}.bias"]
        matrices = found[f"{old}.attn.c_attn.weight"].split(config.d_model, dim=1)
        biases = found[f"{old}.attn.c_attn.bias"].split(config.d_model)
        for name, matrix, bias in zip(("W_query", "W_key", "W_value"), matrices, biases):
            state[f"{new}.attn.{name}.weight"] = matrix
            state[f"{new}.attn.{name}.bias"] = bias
        state[f"{new}.attn.out_proj.weight"] = found[f"{old}.attn.c_proj.weight"]
        state[f"{new}.attn.out_proj.bias"] = found[f"{old}.attn.c_proj.bias"]
        for name in ("c_fc", "c_proj"):
            state[f"{new}.mlp.{name}.weight"] = found[f"{old}.mlp.{name}.weight"]
            state[f"{new}.mlp.{name}.bias"] = found[f"{old}.mlp.{name}.bias"]
    return state


# %% gpt2_state wrong (misconception cut-by-heads): splits c_attn as if queries, keys and values of each head were side by side, head after head
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    state["wte.weight"], state["wpe.weight"] = found["wte.weight"], found["wpe.weight"]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    for layer in range(config.n_layers):
        old, new = f"h.{layer}", f"blocks.{layer}"
        for norm in ("ln_1", "ln_2"):
            state[f"{new}.{norm}.w"] = found[f"{old}.{norm}.weight"]
            state[f"{new}.{norm}.b"] = found[f"{old}.{norm}.bias"]
        d, heads = config.d_model, config.n_heads
        packed = found[f"{old}.attn.c_attn.weight"].reshape(d, heads, 3, d // heads)
        packed_bias = found[f"{old}.attn.c_attn.bias"].reshape(heads, 3, d // heads)
        for part, name in enumerate(("W_query", "W_key", "W_value")):
            state[f"{new}.attn.{name}.weight"] = packed[:, :, part].reshape(d, d).T
            state[f"{new}.attn.{name}.bias"] = packed_bias[:, part].reshape(d)
        state[f"{new}.attn.out_proj.weight"] = found[f"{old}.attn.c_proj.weight"].T
        state[f"{new}.attn.out_proj.bias"] = found[f"{old}.attn.c_proj.bias"]
        for name in ("c_fc", "c_proj"):
            state[f"{new}.mlp.{name}.weight"] = found[f"{old}.mlp.{name}.weight"].T
            state[f"{new}.mlp.{name}.bias"] = found[f"{old}.mlp.{name}.bias"]
    return state


# %% gpt2_state wrong (property names_fit_the_model): subtle, takes only one digit of the block's number, so blocks from 10 on overwrite block 1
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    for name, tensor in found.items():
        if not name.startswith("h."):
            if name.startswith("ln_f"):
                name = name.replace("weight", "w").replace("bias", "b")
            state[name] = tensor
            continue
        layer, rest = name[2], name[4:]
        new = f"blocks.{layer}.{rest}"
        if rest.startswith("ln_"):
            state[new.replace("weight", "w").replace("bias", "b")] = tensor
        elif rest.startswith("attn.c_attn"):
            for part, piece in zip(("W_query", "W_key", "W_value"), tensor.chunk(3, dim=-1)):
                state[new.replace("c_attn", part)] = piece.T if piece.ndim == 2 else piece
        else:
            new = new.replace("attn.c_proj", "attn.out_proj")
            state[new] = tensor.T if tensor.ndim == 2 else tensor
    return state


# %% gpt2_state wrong (misconception out_proj-not-turned): subtle, out_proj, whose matrix is square, is not transposed (all shapes fit)
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    for name, tensor in found.items():
        new = name
        if name.startswith("h."):
            new = "blocks." + name.removeprefix("h.")
        new = new.replace("attn.c_proj", "attn.out_proj")
        if "ln_" in new:
            new = new.replace(".weight", ".w").replace(".bias", ".b")
        if "c_attn" in new:
            for part, piece in zip(("W_query", "W_key", "W_value"), tensor.chunk(3, dim=-1)):
                state[new.replace("c_attn", part)] = piece.T if piece.ndim == 2 else piece
        elif "mlp" in new and tensor.ndim == 2:
            state[new] = tensor.T
        else:
            state[new] = tensor
    return state


# %% gpt2_state wrong (property from_which_tensor): subtle, the bias of the keys becomes 0: no logit changes, but it is not the file's tensor
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    state["wte.weight"], state["wpe.weight"] = found["wte.weight"], found["wpe.weight"]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    for layer in range(config.n_layers):
        old, new = f"h.{layer}", f"blocks.{layer}"
        for norm in ("ln_1", "ln_2"):
            state[f"{new}.{norm}.w"] = found[f"{old}.{norm}.weight"]
            state[f"{new}.{norm}.b"] = found[f"{old}.{norm}.bias"]
        matrices = found[f"{old}.attn.c_attn.weight"].T.chunk(3, dim=0)
        for name, matrix in zip(("W_query", "W_key", "W_value"), matrices):
            state[f"{new}.attn.{name}.weight"] = matrix
        bias_q, bias_k, bias_v = found[f"{old}.attn.c_attn.bias"].chunk(3)
        state[f"{new}.attn.W_query.bias"] = bias_q
        state[f"{new}.attn.W_key.bias"] = torch.zeros_like(bias_k)  # adds the same to all scores of a query
        state[f"{new}.attn.W_value.bias"] = bias_v
        state[f"{new}.attn.out_proj.weight"] = found[f"{old}.attn.c_proj.weight"].T
        state[f"{new}.attn.out_proj.bias"] = found[f"{old}.attn.c_proj.bias"]
        for name in ("c_fc", "c_proj"):
            state[f"{new}.mlp.{name}.weight"] = found[f"{old}.mlp.{name}.weight"].T
            state[f"{new}.mlp.{name}.bias"] = found[f"{old}.mlp.{name}.bias"]
    return state


# %% gpt2_state right (passed): all names written out, block by block
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    state["wte.weight"], state["wpe.weight"] = found["wte.weight"], found["wpe.weight"]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    for layer in range(config.n_layers):
        old, new = f"h.{layer}", f"blocks.{layer}"
        for norm in ("ln_1", "ln_2"):
            state[f"{new}.{norm}.w"] = found[f"{old}.{norm}.weight"]
            state[f"{new}.{norm}.b"] = found[f"{old}.{norm}.bias"]
        matrices = found[f"{old}.attn.c_attn.weight"].split(config.d_model, dim=1)
        biases = found[f"{old}.attn.c_attn.bias"].split(config.d_model)
        for name, matrix, bias in zip(("W_query", "W_key", "W_value"), matrices, biases):
            state[f"{new}.attn.{name}.weight"] = matrix.T
            state[f"{new}.attn.{name}.bias"] = bias
        state[f"{new}.attn.out_proj.weight"] = found[f"{old}.attn.c_proj.weight"].T
        state[f"{new}.attn.out_proj.bias"] = found[f"{old}.attn.c_proj.bias"]
        for name in ("c_fc", "c_proj"):
            state[f"{new}.mlp.{name}.weight"] = found[f"{old}.mlp.{name}.weight"].T
            state[f"{new}.mlp.{name}.bias"] = found[f"{old}.mlp.{name}.bias"]
    return state


# %% gpt2_state right (passed): takes each name apart at its dots, and translates the pieces
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    for name, tensor in found.items():
        parts = name.split(".")
        if parts[0] == "h":
            parts[0] = "blocks"
        if parts[-2].startswith("ln_"):
            parts[-1] = {"weight": "w", "bias": "b"}[parts[-1]]
        if "attn" in parts or "mlp" in parts:
            if tensor.dim() == 2:
                tensor = tensor.transpose(0, 1).contiguous()
            if parts[-3:-1] == ["attn", "c_proj"]:
                parts[-2] = "out_proj"
        if parts[-2] == "c_attn":
            rows = tensor.unflatten(0, (3, config.d_model))
            for number, part in enumerate(("W_query", "W_key", "W_value")):
                state[".".join([*parts[:-2], part, parts[-1]])] = rows[number].clone()
        else:
            state[".".join(parts)] = tensor
    return state


# %% generate_cached wrong (misconception position-0-again): done is never increased, so each new token gets position 0
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        seq = new.shape[1]
        places = torch.arange(done + seq, device=tokens.device)
        x = model.wte(new) + model.wpe(places[done:])
        for number, block in enumerate(model.blocks):
            h, attn = block.ln_1(x), block.attn
            q = split_heads(attn.W_query(h), model.config.n_heads)
            k = split_heads(attn.W_key(h), model.config.n_heads)
            v = split_heads(attn.W_value(h), model.config.n_heads)
            if kept[number] is not None:
                k = torch.cat([kept[number][0], k], dim=2)
                v = torch.cat([kept[number][1], v], dim=2)
            kept[number] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            scores = scores.masked_fill(torch.arange(k.shape[2], device=x.device) > torch.arange(k.shape[2] - seq, k.shape[2], device=x.device)[:, None], -torch.inf)
            x = x + attn.out_proj(merge_heads(scores.softmax(dim=-1) @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1]) @ model.wte.weight.T
        new = logits.argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (misconception prompt-without-a-mask): no mask, so in the first pass the prompt's earlier positions see later ones
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        seq = new.shape[1]
        places = torch.arange(done + seq, device=tokens.device)
        x = model.wte(new) + model.wpe(places[done:])
        for number, block in enumerate(model.blocks):
            h, attn = block.ln_1(x), block.attn
            q = split_heads(attn.W_query(h), model.config.n_heads)
            k = split_heads(attn.W_key(h), model.config.n_heads)
            v = split_heads(attn.W_value(h), model.config.n_heads)
            if kept[number] is not None:
                k = torch.cat([kept[number][0], k], dim=2)
                v = torch.cat([kept[number][1], v], dim=2)
            kept[number] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            x = x + attn.out_proj(merge_heads(scores.softmax(dim=-1) @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1]) @ model.wte.weight.T
        done = done + seq
        new = logits.argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (misconception first-text-only): subtle, takes the first text's token for all texts of the batch (right for one text)
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        seq = new.shape[1]
        places = torch.arange(done + seq, device=tokens.device)
        x = model.wte(new) + model.wpe(places[done:])
        for number, block in enumerate(model.blocks):
            h, attn = block.ln_1(x), block.attn
            q = split_heads(attn.W_query(h), model.config.n_heads)
            k = split_heads(attn.W_key(h), model.config.n_heads)
            v = split_heads(attn.W_value(h), model.config.n_heads)
            if kept[number] is not None:
                k = torch.cat([kept[number][0], k], dim=2)
                v = torch.cat([kept[number][1], v], dim=2)
            kept[number] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            scores = scores.masked_fill(places[None, :done + seq] > places[done:, None], -torch.inf)
            x = x + attn.out_proj(merge_heads(scores.softmax(dim=-1) @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1]) @ model.wte.weight.T
        done = done + seq
        new = logits[0].argmax().expand(tokens.shape[0], 1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (property keeps_keys_and_values): subtle, the tokens are right, but the whole text goes through the model in each pass
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        logits = model(tokens)[:, -1]
        done = done + new.shape[1]
        new = logits.argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (raised): subtle, 12 heads, as in the page's model, whatever config.n_heads says
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        seq = new.shape[1]
        places = torch.arange(done + seq, device=tokens.device)
        x = model.wte(new) + model.wpe(places[done:])
        for number, block in enumerate(model.blocks):
            h, attn = block.ln_1(x), block.attn
            q = split_heads(attn.W_query(h), 12)
            k = split_heads(attn.W_key(h), 12)
            v = split_heads(attn.W_value(h), 12)
            if kept[number] is not None:
                k = torch.cat([kept[number][0], k], dim=2)
                v = torch.cat([kept[number][1], v], dim=2)
            kept[number] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            scores = scores.masked_fill(places[None, :done + seq] > places[done:, None], -torch.inf)
            x = x + attn.out_proj(merge_heads(scores.softmax(dim=-1) @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1]) @ model.wte.weight.T
        done = done + seq
        new = logits.argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached right (passed): split_heads and merge_heads, mask by absolute positions
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        seq = new.shape[1]
        places = torch.arange(done + seq, device=tokens.device)
        x = model.wte(new) + model.wpe(places[done:])
        for number, block in enumerate(model.blocks):
            h, attn = block.ln_1(x), block.attn
            q = split_heads(attn.W_query(h), model.config.n_heads)
            k = split_heads(attn.W_key(h), model.config.n_heads)
            v = split_heads(attn.W_value(h), model.config.n_heads)
            if kept[number] is not None:
                k = torch.cat([kept[number][0], k], dim=2)
                v = torch.cat([kept[number][1], v], dim=2)
            kept[number] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            scores = scores.masked_fill(places[None, :done + seq] > places[done:, None], -torch.inf)
            x = x + attn.out_proj(merge_heads(scores.softmax(dim=-1) @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1]) @ model.wte.weight.T
        done = done + seq
        new = logits.argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached right (passed): scaled_dot_product_attention with a mask of visible keys
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        n_heads, count = model.config.n_heads, new.shape[1]
        query_at = torch.arange(done, done + count, device=new.device)
        key_at = torch.arange(done + count, device=new.device)
        visible = key_at <= query_at.unsqueeze(1)
        stream = model.wte(new) + model.wpe(query_at)
        for i in range(len(model.blocks)):
            block = model.blocks[i]
            read = block.ln_1(stream)
            parts = [layer(read).unflatten(-1, (n_heads, -1)) for layer in (block.attn.W_query, block.attn.W_key, block.attn.W_value)]
            query, key, value = (part.permute(0, 2, 1, 3) for part in parts)
            if done > 0:
                old_key, old_value = kept[i]
                key, value = torch.cat((old_key, key), dim=-2), torch.cat((old_value, value), dim=-2)
            kept[i] = [key, value]
            mixed = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=visible)
            stream = stream + block.attn.out_proj(mixed.permute(0, 2, 1, 3).flatten(start_dim=2))
            stream = stream + block.mlp(block.ln_2(stream))
        last = model.ln_f(stream)[:, -1:]
        scores = nn.functional.linear(last, model.wte.weight)
        done += count
        new = scores.max(dim=-1).indices
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


