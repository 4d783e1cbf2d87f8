# %% gelu wrong (misconception root-forgotten): forgets the square root of 2 / pi
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    return x / 2 * (1 + torch.tanh(2 / torch.pi * (x + 0.044715 * x**3)))


# %% gelu wrong (misconception outside-the-root): a bracket in the wrong place, the root multiplies only x and not the cube
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    return x / 2 * (1 + torch.tanh((2 / torch.pi) ** 0.5 * x + 0.044715 * x**3))


# %% gelu wrong (misconception exact): subtle, the exact curve with erf, which differs from GPT-2's form by up to 0.0005
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    return x / 2 * (1 + torch.erf(x / 2**0.5))


# %% gelu wrong (property finite_when_scaled): subtle, writes tanh with exp, so large inputs give inf / inf = nan
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    power = torch.exp(2 * (2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3))
    return x / 2 * (1 + (power - 1) / (power + 1))


# %% gelu wrong (property gradients): subtle, no gradient flows through the tanh: the values are right, the gradients are not
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    with torch.no_grad():
        share = (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3))) / 2
    return x * share


# %% gelu right (passed): the formula, with the argument of tanh limited to where tanh still changes
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    near = x.clamp(-10, 10)
    inner = (2 / torch.pi) ** 0.5 * (near + 0.044715 * near**3)
    return 0.5 * x * (1 + torch.tanh(inner))


# %% gelu right (passed): x times a sigmoid of twice the argument, factored
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    near = torch.clamp(x, min=-12.0, max=12.0)
    twice = near * (1 + 0.044715 * near * near) * (8 / torch.pi) ** 0.5
    return x * torch.sigmoid(twice)


# %% MLP wrong (misconception no-bend): forgets gelu between the two layers
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.c_proj(self.c_fc(x))


# %% MLP wrong (misconception returns-its-input-too): adds the input in the MLP already, which is the block's task
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return x + self.c_proj(gelu(self.c_fc(x)))


# %% MLP wrong (misconception always-four-times): subtle, always four times as wide, which ignores a d_mlp that is not 4 * d_model
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, 4 * d_model)
        self.c_proj = nn.Linear(4 * d_model, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.c_proj(gelu(self.c_fc(x)))


# %% MLP wrong (misconception exact): subtle, nn.functional.gelu without approximate, the exact curve instead of the learner's gelu
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.c_proj(nn.functional.gelu(self.c_fc(x)))


# %% MLP wrong (raised): subtle, unpacks three axes, so inputs with any other number of axes fail
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        batch, seq, d_model = x.shape
        flat = x.reshape(batch * seq, d_model)
        return self.c_proj(gelu(self.c_fc(flat))).reshape(batch, seq, d_model)


# %% MLP right (passed): two layers with gelu in between
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.c_proj(gelu(self.c_fc(x)))


# %% MLP right (passed): layers made in a loop, matrix products written out
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        for name, sizes in (("c_fc", (d_model, d_mlp)), ("c_proj", (d_mlp, d_model))):
            self.add_module(name, nn.Linear(*sizes, bias=True))

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        wide = torch.matmul(x, self.c_fc.weight.T) + self.c_fc.bias
        bent = gelu(wide)
        return torch.matmul(bent, self.c_proj.weight.T) + self.c_proj.bias


# %% Block wrong (misconception post-norm): post-norm, each norm is applied to the sum
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
        x = self.ln_2(x + self.mlp(x))
        return x


# %% Block wrong (misconception side-by-side): both halves read the same stream, so the MLP does not see what attention added
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, qkv_bias=True)
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        x = x + self.attn(self.ln_1(x)) + self.mlp(self.ln_2(x))
        return x


# %% Block wrong (misconception eps-as-in-lesson-06): subtle, forgets config.eps, so the norms use LayerNorm's default: shows for small variances
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
        x = x + self.mlp(self.ln_2(x))
        return x


# %% Block wrong (property draws_nothing): subtle, dropout of 0.1 in attention: right in eval mode, random in training mode
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
        x = x + self.mlp(self.ln_2(x))
        return x


# %% Block wrong (structure): subtle, one norm under two names: equal at the start, but the two norms cannot hold different values
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1 = self.ln_2 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, qkv_bias=True)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        x = x + self.attn(self.ln_1(x))
        x = x + self.mlp(self.ln_2(x))
        return x


# %% Block right (passed): two sums
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
        x = x + self.mlp(self.ln_2(x))
        return x


# %% Block right (passed): keyword arguments, and a loop over the two halves
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1, self.ln_2 = (LayerNorm(d_model=d, eps=config.eps) for _ in range(2))
        self.attn = MultiHeadAttention(
            d_in=d, d_out=d, context_length=config.n_positions, dropout=0.0, num_heads=config.n_heads, qkv_bias=True
        )
        self.mlp = MLP(d_model=d, d_mlp=d * 4)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        stream = x
        for norm, part in ((self.ln_1, self.attn), (self.ln_2, self.mlp)):
            stream = torch.add(part(norm(stream)), stream)
        return stream


# %% GPT wrong (misconception no-final-norm): forgets to apply ln_f before the head
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
        return x @ self.wte.weight.T


# %% GPT wrong (raised): counts positions from 1
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        positions = torch.arange(1, tokens.shape[1] + 1, device=tokens.device)
        x = self.wte(tokens) + self.wpe(positions)
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T


# %% GPT wrong (property first_wrong_part): subtle, the head is a copy of the embeddings made at the start, so it is out of date once weights are loaded or trained
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.register_buffer("head", self.wte.weight.detach().clone(), persistent=False)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.wte(tokens) + self.wpe(positions)
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.head.T


# %% GPT wrong (property gradients): subtle, detaches the embeddings in the head: the logits are right, but the tied matrix gets no gradient from the head
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
        return self.ln_f(x) @ self.wte.weight.detach().T


# %% GPT wrong (structure): subtle, one block repeated n_layers times, right only if n_layers is 1
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


# %% GPT right (passed): embeddings, a loop over blocks, and a product with the transposed embeddings
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


# %% GPT right (passed): blocks appended one by one, positions from a cumulative sum, the head with nn.functional.linear
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        d = config.d_model
        self.wte = nn.Embedding(num_embeddings=config.vocab_size, embedding_dim=d)
        self.wpe = nn.Embedding(num_embeddings=config.n_positions, embedding_dim=d)
        self.blocks = nn.ModuleList()
        while len(self.blocks) < config.n_layers:
            self.blocks.append(Block(config))
        self.ln_f = LayerNorm(d, eps=config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        places = torch.ones_like(tokens, dtype=torch.long).cumsum(dim=1) - 1
        stream = self.wpe(places) + self.wte(tokens)
        for number in range(self.config.n_layers):
            stream = self.blocks[number](stream)
        return nn.functional.linear(self.ln_f(stream), self.wte.weight)


# %% gpt2_state wrong (misconception out_proj-not-turned): forgets to transpose the square matrix of out_proj, which loads without an error
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    state["wte.weight"], state["wpe.weight"] = found["wte.weight"], found["wpe.weight"]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    for layer in range(config.n_layers):
        old, new = f"h.{layer}.", f"blocks.{layer}."
        for norm in ("ln_1", "ln_2"):
            state[f"{new}{norm}.w"] = found[f"{old}{norm}.weight"]
            state[f"{new}{norm}.b"] = found[f"{old}{norm}.bias"]
        weights = found[f"{old}attn.c_attn.weight"].chunk(3, dim=1)
        biases = found[f"{old}attn.c_attn.bias"].chunk(3)
        for part, weight, bias in zip(("W_query", "W_key", "W_value"), weights, biases):
            state[f"{new}attn.{part}.weight"] = weight.T
            state[f"{new}attn.{part}.bias"] = bias
        state[f"{new}attn.out_proj.weight"] = found[f"{old}attn.c_proj.weight"]
        state[f"{new}attn.out_proj.bias"] = found[f"{old}attn.c_proj.bias"]
        for theirs, ours in (("mlp.c_fc", "mlp.c_fc"), ("mlp.c_proj", "mlp.c_proj")):
            state[f"{new}{ours}.weight"] = found[f"{old}{theirs}.weight"].T
            state[f"{new}{ours}.bias"] = found[f"{old}{theirs}.bias"]
    return state


# %% gpt2_state wrong (misconception keys-first): takes the parts of c_attn in the order keys, queries, values
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    state["wte.weight"], state["wpe.weight"] = found["wte.weight"], found["wpe.weight"]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    for layer in range(config.n_layers):
        old, new = f"h.{layer}.", f"blocks.{layer}."
        for norm in ("ln_1", "ln_2"):
            state[f"{new}{norm}.w"] = found[f"{old}{norm}.weight"]
            state[f"{new}{norm}.b"] = found[f"{old}{norm}.bias"]
        weights = found[f"{old}attn.c_attn.weight"].chunk(3, dim=1)
        biases = found[f"{old}attn.c_attn.bias"].chunk(3)
        for part, weight, bias in zip(("W_key", "W_query", "W_value"), weights, biases):
            state[f"{new}attn.{part}.weight"] = weight.T
            state[f"{new}attn.{part}.bias"] = bias
        for theirs, ours in (("attn.c_proj", "attn.out_proj"), ("mlp.c_fc", "mlp.c_fc"), ("mlp.c_proj", "mlp.c_proj")):
            state[f"{new}{ours}.weight"] = found[f"{old}{theirs}.weight"].T
            state[f"{new}{ours}.bias"] = found[f"{old}{theirs}.bias"]
    return state


# %% gpt2_state wrong (property from_which_tensor): subtle, numbers the blocks in the order of their names as text, in which 10 comes before 2: wrong for more than ten blocks
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    state["wte.weight"], state["wpe.weight"] = found["wte.weight"], found["wpe.weight"]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    numbers = sorted({name.split(".")[1] for name in found if name.startswith("h.")})
    for layer, number in enumerate(numbers):
        old, new = f"h.{number}.", f"blocks.{layer}."
        for norm in ("ln_1", "ln_2"):
            state[f"{new}{norm}.w"] = found[f"{old}{norm}.weight"]
            state[f"{new}{norm}.b"] = found[f"{old}{norm}.bias"]
        weights = found[f"{old}attn.c_attn.weight"].chunk(3, dim=1)
        biases = found[f"{old}attn.c_attn.bias"].chunk(3)
        for part, weight, bias in zip(("W_query", "W_key", "W_value"), weights, biases):
            state[f"{new}attn.{part}.weight"] = weight.T
            state[f"{new}attn.{part}.bias"] = bias
        for theirs, ours in (("attn.c_proj", "attn.out_proj"), ("mlp.c_fc", "mlp.c_fc"), ("mlp.c_proj", "mlp.c_proj")):
            state[f"{new}{ours}.weight"] = found[f"{old}{theirs}.weight"].T
            state[f"{new}{ours}.bias"] = found[f"{old}{theirs}.bias"]
    return state


# %% gpt2_state wrong (misconception cut-by-heads): subtle, takes c_attn as queries, keys and values of head 0, then of head 1 and so on: right only for one head
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    state["wte.weight"], state["wpe.weight"] = found["wte.weight"], found["wpe.weight"]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    for layer in range(config.n_layers):
        old, new = f"h.{layer}.", f"blocks.{layer}."
        for norm in ("ln_1", "ln_2"):
            state[f"{new}{norm}.w"] = found[f"{old}{norm}.weight"]
            state[f"{new}{norm}.b"] = found[f"{old}{norm}.bias"]
        weights = found[f"{old}attn.c_attn.weight"].unflatten(1, (config.n_heads, 3, -1)).transpose(1, 2).flatten(2).unbind(1)
        biases = found[f"{old}attn.c_attn.bias"].unflatten(0, (config.n_heads, 3, -1)).transpose(0, 1).flatten(1).unbind(0)
        for part, weight, bias in zip(("W_query", "W_key", "W_value"), weights, biases):
            state[f"{new}attn.{part}.weight"] = weight.T
            state[f"{new}attn.{part}.bias"] = bias
        for theirs, ours in (("attn.c_proj", "attn.out_proj"), ("mlp.c_fc", "mlp.c_fc"), ("mlp.c_proj", "mlp.c_proj")):
            state[f"{new}{ours}.weight"] = found[f"{old}{theirs}.weight"].T
            state[f"{new}{ours}.bias"] = found[f"{old}{theirs}.bias"]
    return state


# %% gpt2_state wrong (shape): subtle, recognises the embeddings by their number of rows, so no matrix with n_positions or vocab_size rows is transposed: wrong if d_model or 4 * d_model is n_positions
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    renames = {"attn.c_proj": "attn.out_proj"}
    for name, tensor in found.items():
        if tensor.ndim == 2 and tensor.shape[0] not in (config.vocab_size, config.n_positions):
            tensor = tensor.T
        if name.startswith("h."):
            name = "blocks." + name[2:]
        for theirs, ours in renames.items():
            name = name.replace(theirs, ours)
        if "ln_" in name:
            name = name.replace(".weight", ".w").replace(".bias", ".b")
        if "c_attn" in name:
            for part, piece in zip(("W_query", "W_key", "W_value"), tensor.chunk(3, dim=0)):
                state[name.replace("c_attn", part)] = piece
        else:
            state[name] = tensor
    return state


# %% gpt2_state right (passed): block by block, every name written out
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    state["wte.weight"], state["wpe.weight"] = found["wte.weight"], found["wpe.weight"]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    for layer in range(config.n_layers):
        old, new = f"h.{layer}.", f"blocks.{layer}."
        for norm in ("ln_1", "ln_2"):
            state[f"{new}{norm}.w"] = found[f"{old}{norm}.weight"]
            state[f"{new}{norm}.b"] = found[f"{old}{norm}.bias"]
        weights = found[f"{old}attn.c_attn.weight"].chunk(3, dim=1)
        biases = found[f"{old}attn.c_attn.bias"].chunk(3)
        for part, weight, bias in zip(("W_query", "W_key", "W_value"), weights, biases):
            state[f"{new}attn.{part}.weight"] = weight.T
            state[f"{new}attn.{part}.bias"] = bias
        for theirs, ours in (("attn.c_proj", "attn.out_proj"), ("mlp.c_fc", "mlp.c_fc"), ("mlp.c_proj", "mlp.c_proj")):
            state[f"{new}{ours}.weight"] = found[f"{old}{theirs}.weight"].T
            state[f"{new}{ours}.bias"] = found[f"{old}{theirs}.bias"]
    return state


# %% gpt2_state right (passed): one pass over the file, with the names taken apart
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    d = config.d_model
    for name, tensor in found.items():
        parts = name.split(".")
        if parts[0] in ("wte", "wpe"):
            state[name] = tensor
            continue
        if parts[0] == "h":
            parts[0] = "blocks"
        kind = parts[-1]
        if parts[-2].startswith("ln_"):
            parts[-1] = {"weight": "w", "bias": "b"}[kind]
            state[".".join(parts)] = tensor
            continue
        if kind == "weight":
            tensor = tensor.transpose(0, 1).contiguous()
        if parts[-2] == "c_attn":
            for number, ours in enumerate(["W_query", "W_key", "W_value"]):
                state[".".join(parts[:-2] + [ours, kind])] = tensor[number * d : (number + 1) * d].clone()
            continue
        if parts[-3:-1] == ["attn", "c_proj"]:
            parts[-2] = "out_proj"
        state[".".join(parts)] = tensor
    return state


# %% generate_cached wrong (misconception position-0-again): every pass starts at position 0, although done counts the positions
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        count = new.shape[1]
        positions = torch.arange(count, device=tokens.device)
        x = model.wte(new) + model.wpe(positions)
        future = torch.ones(count, done + count, dtype=torch.bool, device=tokens.device).triu(done + 1)
        for layer, block in enumerate(model.blocks):
            attn, read = block.attn, block.ln_1(x)
            q, k, v = (split_heads(w(read), model.config.n_heads) for w in (attn.W_query, attn.W_key, attn.W_value))
            if kept[layer] is not None:
                k = torch.cat([kept[layer][0], k], dim=2)
                v = torch.cat([kept[layer][1], v], dim=2)
            kept[layer] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            weights = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
            x = x + attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1]) @ model.wte.weight.T
        done += count
        new = logits.argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (misconception prompt-forgotten): keeps only the keys and values of the latest pass, so earlier ones are lost from the third pass on
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        count = new.shape[1]
        positions = torch.arange(done, done + count, device=tokens.device)
        x = model.wte(new) + model.wpe(positions)
        future = torch.ones(count, done + count, dtype=torch.bool, device=tokens.device).triu(done + 1)
        for layer, block in enumerate(model.blocks):
            attn, read = block.attn, block.ln_1(x)
            q, k, v = (split_heads(w(read), model.config.n_heads) for w in (attn.W_query, attn.W_key, attn.W_value))
            latest = (k, v)
            if kept[layer] is not None:
                k = torch.cat([kept[layer][0], k], dim=2)
                v = torch.cat([kept[layer][1], v], dim=2)
            kept[layer] = latest
            scores = q @ k.mT / q.shape[-1] ** 0.5
            weights = scores.masked_fill(future[:, : k.shape[2]], -torch.inf).softmax(dim=-1)
            x = x + attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1]) @ model.wte.weight.T
        done += count
        new = logits.argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (misconception prompt-without-a-mask): subtle, no mask in the first pass: right for one block or prompts of one token
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        count = new.shape[1]
        positions = torch.arange(done, done + count, device=tokens.device)
        x = model.wte(new) + model.wpe(positions)
        for layer, block in enumerate(model.blocks):
            attn, read = block.attn, block.ln_1(x)
            q, k, v = (split_heads(w(read), model.config.n_heads) for w in (attn.W_query, attn.W_key, attn.W_value))
            if kept[layer] is not None:
                k = torch.cat([kept[layer][0], k], dim=2)
                v = torch.cat([kept[layer][1], v], dim=2)
            kept[layer] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            weights = scores.softmax(dim=-1)
            x = x + attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1]) @ model.wte.weight.T
        done += count
        new = logits.argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (property first_wrong_pass): subtle, divides the scores by 8, which is right only for heads of 64 numbers
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        count = new.shape[1]
        positions = torch.arange(done, done + count, device=tokens.device)
        x = model.wte(new) + model.wpe(positions)
        future = torch.ones(count, done + count, dtype=torch.bool, device=tokens.device).triu(done + 1)
        for layer, block in enumerate(model.blocks):
            attn, read = block.attn, block.ln_1(x)
            q, k, v = (split_heads(w(read), model.config.n_heads) for w in (attn.W_query, attn.W_key, attn.W_value))
            if kept[layer] is not None:
                k = torch.cat([kept[layer][0], k], dim=2)
                v = torch.cat([kept[layer][1], v], dim=2)
            kept[layer] = (k, v)
            scores = q @ k.mT / 8
            weights = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
            x = x + attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1]) @ model.wte.weight.T
        done += count
        new = logits.argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (property first_wrong_pass): subtle, argmax over the whole batch, which is right only for one text
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        count = new.shape[1]
        positions = torch.arange(done, done + count, device=tokens.device)
        x = model.wte(new) + model.wpe(positions)
        future = torch.ones(count, done + count, dtype=torch.bool, device=tokens.device).triu(done + 1)
        for layer, block in enumerate(model.blocks):
            attn, read = block.attn, block.ln_1(x)
            q, k, v = (split_heads(w(read), model.config.n_heads) for w in (attn.W_query, attn.W_key, attn.W_value))
            if kept[layer] is not None:
                k = torch.cat([kept[layer][0], k], dim=2)
                v = torch.cat([kept[layer][1], v], dim=2)
            kept[layer] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            weights = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
            x = x + attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1]) @ model.wte.weight.T
        done += count
        new = logits.argmax().remainder(logits.shape[-1]).expand(tokens.shape[0], 1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached right (passed): split_heads, a mask for all passes, softmax
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        count = new.shape[1]
        positions = torch.arange(done, done + count, device=tokens.device)
        x = model.wte(new) + model.wpe(positions)
        future = torch.ones(count, done + count, dtype=torch.bool, device=tokens.device).triu(done + 1)
        for layer, block in enumerate(model.blocks):
            attn, read = block.attn, block.ln_1(x)
            q, k, v = (split_heads(w(read), model.config.n_heads) for w in (attn.W_query, attn.W_key, attn.W_value))
            if kept[layer] is not None:
                k = torch.cat([kept[layer][0], k], dim=2)
                v = torch.cat([kept[layer][1], v], dim=2)
            kept[layer] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            weights = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
            x = x + attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1]) @ model.wte.weight.T
        done += count
        new = logits.argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached right (passed): scaled_dot_product_attention on a cache that is allocated once
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    batch, total, heads = tokens.shape[0], tokens.shape[1] + n_tokens, model.config.n_heads
    for _ in range(n_tokens):
        end = done + new.shape[1]
        place = torch.arange(end, device=tokens.device)
        visible = place[None, :] <= place[done:, None]
        stream = model.wpe(place[done:]).unsqueeze(0) + model.wte(new)
        for number, block in enumerate(model.blocks):
            read = block.ln_1(stream)
            query, key, value = (
                getattr(block.attn, name)(read).reshape(batch, end - done, heads, -1).transpose(1, 2)
                for name in ("W_query", "W_key", "W_value")
            )
            if kept[number] is None:
                size = (batch, heads, total, key.shape[-1])
                kept[number] = (key.new_zeros(size), value.new_zeros(size))
            for store, fresh in zip(kept[number], (key, value)):
                store[:, :, done:end] = fresh.detach()
            keys, values = (store[:, :, :end] for store in kept[number])
            mixed = nn.functional.scaled_dot_product_attention(query, keys, values, attn_mask=visible)
            stream = stream + block.attn.out_proj(mixed.transpose(1, 2).reshape(batch, end - done, -1))
            stream = stream + block.mlp(block.ln_2(stream))
        best = nn.functional.linear(model.ln_f(stream)[:, -1:], model.wte.weight).max(dim=-1).indices
        done += new.shape[1]
        new = best
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


