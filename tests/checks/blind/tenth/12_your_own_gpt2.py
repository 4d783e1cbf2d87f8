# %% gelu wrong (property landmarks): forgets that x itself is also inside the tanh
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    return x / 2 * (1 + torch.tanh((2 / torch.pi) ** 0.5 * 0.044715 * x**3))


# %% gelu wrong (misconception root-forgotten): 2 / pi without the root
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    return 0.5 * x * (1 + torch.tanh(2 / torch.pi * (x + 0.044715 * x**3)))


# %% gelu wrong (misconception exact): subtle, the exact curve with the error function, up to 0.0005 away
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    return nn.functional.gelu(x)


# %% gelu wrong (property finite_when_scaled): subtle, tanh as a quotient of exponentials, which is nan for large inputs
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    u = (2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)
    tanh = (torch.exp(2 * u) - 1) / (torch.exp(2 * u) + 1)
    return x / 2 * (1 + tanh)


# %% gelu right (passed): torch's gelu with the tanh approximation
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    return nn.functional.gelu(x, approximate="tanh")


# %% gelu right (passed): the formula, with the inner x limited where tanh is 1 or -1 anyway
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    inner = x.clamp(-20.0, 20.0)
    bend = torch.tanh((2 / torch.pi) ** 0.5 * (inner + 0.044715 * inner * inner * inner))
    return 0.5 * x * (1.0 + bend)


# %% MLP wrong (misconception no-bend): no activation between the layers
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.c_proj(self.c_fc(x))


# %% MLP wrong (misconception bent-twice): gelu is applied again after c_proj
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return gelu(self.c_proj(gelu(self.c_fc(x))))


# %% MLP wrong (misconception exact): subtle, nn.GELU() is the exact curve and not the gelu above
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)
        self.act = nn.GELU()

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.c_proj(self.act(self.c_fc(x)))


# %% MLP wrong (misconception always-four-times): subtle, the width is always 4 d_model and d_mlp is ignored
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, 4 * d_model)
        self.c_proj = nn.Linear(4 * d_model, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.c_proj(gelu(self.c_fc(x)))


# %% MLP right (passed): one line
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.c_proj(gelu(self.c_fc(x)))


# %% MLP right (passed): functional linear maps
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        wide = nn.functional.linear(x, self.c_fc.weight, self.c_fc.bias)
        wide = gelu(wide)
        return wide @ self.c_proj.weight.T + self.c_proj.bias


# %% Block wrong (misconception side-by-side): attention and MLP both read the stream from before the block
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


# %% Block wrong (misconception post-norm): post-norm, the norms rescale the sums
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


# %% Block wrong (misconception eps-as-in-lesson-06): subtle, the norms keep their default eps; shows if config.eps is another number
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


# %% Block wrong (property draws_nothing): subtle, attention has a dropout of 0.1, which shows only in training mode
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
        return x + self.mlp(self.ln_2(x))


# %% Block right (passed): keyword arguments and named steps
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1, self.ln_2 = LayerNorm(d, eps=config.eps), LayerNorm(d, eps=config.eps)
        self.attn = MultiHeadAttention(
            d_in=d, d_out=d, context_length=config.n_positions, dropout=0.0, num_heads=config.n_heads, qkv_bias=True
        )
        self.mlp = MLP(d_model=d, d_mlp=d * 4)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        gathered = self.attn(self.ln_1(x))
        middle = torch.add(x, gathered)
        processed = self.mlp(self.ln_2(middle))
        return torch.add(middle, processed)


# %% GPT wrong (misconception no-final-norm): forgets ln_f
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


# %% GPT wrong (structure): a separate output layer instead of the embeddings
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(config.d_model, config.eps)
        self.head = nn.Linear(config.d_model, config.vocab_size, bias=False)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.wte(tokens) + self.wpe(positions)
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln_f(x))


# %% GPT wrong (property moves_with_its_module): subtle, positions are created on the CPU; shows when the model and the tokens are on another device
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        positions = torch.arange(tokens.shape[1])
        x = self.wte(tokens) + self.wpe(positions)
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T


# %% GPT wrong (structure): subtle, all layers are the same Block; shows from two layers on
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


# %% GPT right (passed): embeddings, blocks, norm, product with the transposed embeddings
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


# %% GPT right (passed): the first rows of wpe, a Sequential-like loop, functional linear
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        vocab, positions, d = config.vocab_size, config.n_positions, config.d_model
        self.wte, self.wpe = nn.Embedding(vocab, d), nn.Embedding(positions, d)
        self.blocks = nn.ModuleList()
        for _ in range(config.n_layers):
            self.blocks.append(Block(config))
        self.ln_f = LayerNorm(d, eps=config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        stream = self.wte(tokens)
        stream = stream + self.wpe.weight[: tokens.size(-1)]
        for i in range(len(self.blocks)):
            stream = self.blocks[i](stream)
        return nn.functional.linear(self.ln_f(stream), self.wte.weight)


# %% gpt2_state wrong (misconception c_attn-not-turned): queries, keys and values are not transposed
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    for name in ("wte.weight", "wpe.weight"):
        state[name] = found[name]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    for i in range(config.n_layers):
        old, new = f"h.{i}.", f"blocks.{i}."
        for norm in ("ln_1", "ln_2"):
            state[f"{new}{norm}.w"] = found[f"{old}{norm}.weight"]
            state[f"{new}{norm}.b"] = found[f"{old}{norm}.bias"]
        weights = found[old + "attn.c_attn.weight"].split(config.d_model, dim=1)
        biases = found[old + "attn.c_attn.bias"].split(config.d_model)
        for part, weight, bias in zip(("W_query", "W_key", "W_value"), weights, biases):
            state[f"{new}attn.{part}.weight"] = weight
            state[f"{new}attn.{part}.bias"] = bias
        for ours, theirs in (("attn.out_proj", "attn.c_proj"), ("mlp.c_fc", "mlp.c_fc"), ("mlp.c_proj", "mlp.c_proj")):
            state[f"{new}{ours}.weight"] = found[f"{old}{theirs}.weight"].T
            state[f"{new}{ours}.bias"] = found[f"{old}{theirs}.bias"]
    return state


# %% gpt2_state wrong (misconception values-second): keys and values are exchanged
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    for name in ("wte.weight", "wpe.weight"):
        state[name] = found[name]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    for i in range(config.n_layers):
        old, new = f"h.{i}.", f"blocks.{i}."
        for norm in ("ln_1", "ln_2"):
            state[f"{new}{norm}.w"] = found[f"{old}{norm}.weight"]
            state[f"{new}{norm}.b"] = found[f"{old}{norm}.bias"]
        weights = found[old + "attn.c_attn.weight"].split(config.d_model, dim=1)
        biases = found[old + "attn.c_attn.bias"].split(config.d_model)
        for part, weight, bias in zip(("W_query", "W_value", "W_key"), weights, biases):
            state[f"{new}attn.{part}.weight"] = weight.T
            state[f"{new}attn.{part}.bias"] = bias
        for ours, theirs in (("attn.out_proj", "attn.c_proj"), ("mlp.c_fc", "mlp.c_fc"), ("mlp.c_proj", "mlp.c_proj")):
            state[f"{new}{ours}.weight"] = found[f"{old}{theirs}.weight"].T
            state[f"{new}{ours}.bias"] = found[f"{old}{theirs}.bias"]
    return state


# %% gpt2_state wrong (property names_fit_the_model): subtle, reads the number of a block from one digit; shows from the eleventh block on
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    for name, tensor in found.items():
        if name in ("wte.weight", "wpe.weight"):
            state[name] = tensor
            continue
        if name.startswith("h."):
            name = "blocks." + name[2] + name[name.index(".", 2) :]
        if ".attn." in name or ".mlp." in name:
            tensor = tensor.T if tensor.dim() == 2 else tensor
        else:
            name = name.removesuffix("weight").removesuffix("bias") + ("w" if name.endswith("weight") else "b")
        if ".c_attn." in name:
            for part, piece in zip(("W_query", "W_key", "W_value"), tensor.chunk(3, dim=0)):
                state[name.replace("c_attn", part)] = piece.clone()
        else:
            state[name.replace("attn.c_proj", "attn.out_proj")] = tensor.clone()
    return state


# %% gpt2_state wrong (shape): subtle, splits c_attn after 192 columns, the width of the small model
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    for name in ("wte.weight", "wpe.weight"):
        state[name] = found[name]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    for i in range(config.n_layers):
        old, new = f"h.{i}.", f"blocks.{i}."
        for norm in ("ln_1", "ln_2"):
            state[f"{new}{norm}.w"] = found[f"{old}{norm}.weight"]
            state[f"{new}{norm}.b"] = found[f"{old}{norm}.bias"]
        weights = found[old + "attn.c_attn.weight"].split(192, dim=1)
        biases = found[old + "attn.c_attn.bias"].split(192)
        for part, weight, bias in zip(("W_query", "W_key", "W_value"), weights, biases):
            state[f"{new}attn.{part}.weight"] = weight.T
            state[f"{new}attn.{part}.bias"] = bias
        for ours, theirs in (("attn.out_proj", "attn.c_proj"), ("mlp.c_fc", "mlp.c_fc"), ("mlp.c_proj", "mlp.c_proj")):
            state[f"{new}{ours}.weight"] = found[f"{old}{theirs}.weight"].T
            state[f"{new}{ours}.bias"] = found[f"{old}{theirs}.bias"]
    return state


# %% gpt2_state right (passed): block by block, all names written out
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    for name in ("wte.weight", "wpe.weight"):
        state[name] = found[name]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    for i in range(config.n_layers):
        old, new = f"h.{i}.", f"blocks.{i}."
        for norm in ("ln_1", "ln_2"):
            state[f"{new}{norm}.w"] = found[f"{old}{norm}.weight"]
            state[f"{new}{norm}.b"] = found[f"{old}{norm}.bias"]
        weights = found[old + "attn.c_attn.weight"].split(config.d_model, dim=1)
        biases = found[old + "attn.c_attn.bias"].split(config.d_model)
        for part, weight, bias in zip(("W_query", "W_key", "W_value"), weights, biases):
            state[f"{new}attn.{part}.weight"] = weight.T
            state[f"{new}attn.{part}.bias"] = bias
        for ours, theirs in (("attn.out_proj", "attn.c_proj"), ("mlp.c_fc", "mlp.c_fc"), ("mlp.c_proj", "mlp.c_proj")):
            state[f"{new}{ours}.weight"] = found[f"{old}{theirs}.weight"].T
            state[f"{new}{ours}.bias"] = found[f"{old}{theirs}.bias"]
    return state


# %% gpt2_state right (passed): goes through the file and renames
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    for name, tensor in found.items():
        if name in ("wte.weight", "wpe.weight"):
            state[name] = tensor
            continue
        if name.startswith("h."):
            name = "blocks." + name[2:]
        if ".attn." in name or ".mlp." in name:
            tensor = tensor.T if tensor.dim() == 2 else tensor
        else:
            name = name.removesuffix("weight").removesuffix("bias") + ("w" if name.endswith("weight") else "b")
        if ".c_attn." in name:
            for part, piece in zip(("W_query", "W_key", "W_value"), tensor.chunk(3, dim=0)):
                state[name.replace("c_attn", part)] = piece.clone()
        else:
            state[name.replace("attn.c_proj", "attn.out_proj")] = tensor.clone()
    return state


# %% generate_cached wrong (misconception prompt-without-a-mask): no causal mask, so the prompt's positions see later tokens
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        # One pass, in which only the positions of `new` go through the model.
        n_heads = model.config.n_heads
        length = new.shape[1]
        at = torch.arange(done, done + length, device=new.device)
        x = model.wte(new) + model.wpe(at)
        for i, block in enumerate(model.blocks):
            read = block.ln_1(x)
            q, k, v = (
                layer(read).unflatten(-1, (n_heads, -1)).transpose(1, 2)
                for layer in (block.attn.W_query, block.attn.W_key, block.attn.W_value)
            )
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            future = torch.arange(done + length, device=new.device) > at[:, None]
            weights = scores.softmax(dim=-1)
            x = x + block.attn.out_proj((weights @ v).transpose(1, 2).flatten(2))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1]) @ model.wte.weight.T
        done += length
        new = logits.argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (misconception position-0-again): the new tokens always get positions from 0 on
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        # One pass, in which only the positions of `new` go through the model.
        n_heads = model.config.n_heads
        length = new.shape[1]
        at = torch.arange(done, done + length, device=new.device)
        x = model.wte(new) + model.wpe(torch.arange(length, device=new.device))
        for i, block in enumerate(model.blocks):
            read = block.ln_1(x)
            q, k, v = (
                layer(read).unflatten(-1, (n_heads, -1)).transpose(1, 2)
                for layer in (block.attn.W_query, block.attn.W_key, block.attn.W_value)
            )
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            future = torch.arange(done + length, device=new.device) > at[:, None]
            weights = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
            x = x + block.attn.out_proj((weights @ v).transpose(1, 2).flatten(2))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1]) @ model.wte.weight.T
        done += length
        new = logits.argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (misconception first-text-only): subtle, every text continues with the token chosen for the first text; right for one text
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        # One pass, in which only the positions of `new` go through the model.
        n_heads = model.config.n_heads
        length = new.shape[1]
        at = torch.arange(done, done + length, device=new.device)
        x = model.wte(new) + model.wpe(at)
        for i, block in enumerate(model.blocks):
            read = block.ln_1(x)
            q, k, v = (
                layer(read).unflatten(-1, (n_heads, -1)).transpose(1, 2)
                for layer in (block.attn.W_query, block.attn.W_key, block.attn.W_value)
            )
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            future = torch.arange(done + length, device=new.device) > at[:, None]
            weights = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
            x = x + block.attn.out_proj((weights @ v).transpose(1, 2).flatten(2))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1]) @ model.wte.weight.T
        done += length
        new = logits[0].argmax().expand(len(tokens), 1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (shape): subtle, stops early when every text has chosen the last token of the vocabulary, GPT-2's end of text
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        # One pass, in which only the positions of `new` go through the model.
        n_heads = model.config.n_heads
        length = new.shape[1]
        at = torch.arange(done, done + length, device=new.device)
        x = model.wte(new) + model.wpe(at)
        for i, block in enumerate(model.blocks):
            read = block.ln_1(x)
            q, k, v = (
                layer(read).unflatten(-1, (n_heads, -1)).transpose(1, 2)
                for layer in (block.attn.W_query, block.attn.W_key, block.attn.W_value)
            )
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            future = torch.arange(done + length, device=new.device) > at[:, None]
            weights = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
            x = x + block.attn.out_proj((weights @ v).transpose(1, 2).flatten(2))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1]) @ model.wte.weight.T
        done += length
        new = logits.argmax(dim=-1, keepdim=True)
        if (new == model.config.vocab_size - 1).all():
            return torch.cat([tokens, new], dim=1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached right (passed): scores, mask and softmax by hand
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        # One pass, in which only the positions of `new` go through the model.
        n_heads = model.config.n_heads
        length = new.shape[1]
        at = torch.arange(done, done + length, device=new.device)
        x = model.wte(new) + model.wpe(at)
        for i, block in enumerate(model.blocks):
            read = block.ln_1(x)
            q, k, v = (
                layer(read).unflatten(-1, (n_heads, -1)).transpose(1, 2)
                for layer in (block.attn.W_query, block.attn.W_key, block.attn.W_value)
            )
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            future = torch.arange(done + length, device=new.device) > at[:, None]
            weights = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
            x = x + block.attn.out_proj((weights @ v).transpose(1, 2).flatten(2))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1]) @ model.wte.weight.T
        done += length
        new = logits.argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached right (passed): split_heads, merge_heads and scaled_dot_product_attention with a boolean mask
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        # One pass, in which only the positions of `new` go through the model.
        end = done + new.size(1)
        stream = model.wte(new) + model.wpe.weight[done:end]
        may_look = torch.ones(end, end, dtype=torch.bool, device=new.device).tril()[done:]
        for i, block in enumerate(model.blocks):
            attn, read = block.attn, block.ln_1(stream)
            keys = split_heads(attn.W_key(read), model.config.n_heads)
            values = split_heads(attn.W_value(read), model.config.n_heads)
            if done > 0:
                keys = torch.cat((kept[i][0], keys), dim=-2)
                values = torch.cat((kept[i][1], values), dim=-2)
            kept[i] = keys, values
            queries = split_heads(attn.W_query(read), model.config.n_heads)
            mixed = nn.functional.scaled_dot_product_attention(queries, keys, values, attn_mask=may_look)
            stream = stream + attn.out_proj(merge_heads(mixed))
            stream = stream + block.mlp(block.ln_2(stream))
        scores = nn.functional.linear(model.ln_f(stream), model.wte.weight)
        done = end
        new = scores[:, -1:].max(dim=-1).indices
        tokens = torch.cat([tokens, new], dim=1)
    return tokens
