# %% gelu wrong (misconception square-for-cube): x squared instead of x cubed in the inner term
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    return x / 2 * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**2)))


# %% gelu wrong (misconception root-forgotten): forgets the square root, 2/pi instead of its root
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    inner = 2 / torch.pi * (x + 0.044715 * x.pow(3))
    return 0.5 * x * (1 + inner.tanh())


# %% gelu wrong (misconception exact): the exact curve with erf instead of the form with tanh; differs by up to 0.0005
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    return x / 2 * (1 + torch.erf(x / 2**0.5))


# %% gelu wrong (property finite_when_scaled): writes tanh with exponentials, which overflow; nan for x above about 10
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    u = (2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)
    e = torch.exp(2 * u)
    return x / 2 * (1 + (e - 1) / (e + 1))


# %% gelu wrong (property gradients): the cube is detached, so the values are right and the gradient misses a term
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    cube = x.detach() ** 3
    return x / 2 * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * cube)))


# %% gelu right (passed): the formula; inside tanh x is limited to ±20, where tanh is exactly ±1, so that no cube overflows
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    small = x.clamp(-20, 20)
    return x / 2 * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (small + 0.044715 * small**3)))


# %% gelu right (passed): x times a sigmoid, because (1 + tanh u) / 2 is sigmoid(2u); the inner x is limited to ±20
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    small = torch.clamp(x, min=-20.0, max=20.0)
    u = small * (1 + 0.044715 * small * small) * (2 / torch.pi) ** 0.5
    return x * torch.sigmoid(2 * u)


# %% MLP wrong (misconception no-bend): forgets gelu between the two layers
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.c_proj(self.c_fc(x))


# %% MLP wrong (misconception returns-its-input-too): adds the stream inside the MLP, x + ...
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return x + self.c_proj(gelu(self.c_fc(x)))


# %% MLP wrong (misconception always-four-times): ignores d_mlp and always makes the middle four times as wide; right whenever d_mlp is 4 * d_model
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, 4 * d_model)
        self.c_proj = nn.Linear(4 * d_model, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.c_proj(gelu(self.c_fc(x)))


# %% MLP wrong (property draws_nothing): dropout of 0.1 on the result in training mode; right in eval mode
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        x = self.c_proj(gelu(self.c_fc(x)))
        return nn.functional.dropout(x, 0.1, training=self.training)


# %% MLP wrong (raised): unpacks exactly three axes; a single vector, a table or four axes raise an error
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        batch, seq, d_model = x.shape
        flat = x.reshape(batch * seq, d_model)
        return self.c_proj(gelu(self.c_fc(flat))).reshape(batch, seq, d_model)


# %% MLP right (passed): one line, c_proj of gelu of c_fc
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.c_proj(gelu(self.c_fc(x)))


# %% MLP right (passed): the three steps in a loop
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        sizes = {"c_fc": (d_model, d_mlp), "c_proj": (d_mlp, d_model)}
        for name, (width_in, width_out) in sizes.items():
            self.add_module(name, nn.Linear(in_features=width_in, out_features=width_out, bias=True))

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        for step in (self.c_fc, gelu, self.c_proj):
            x = step(x)
        return x


# %% Block wrong (misconception side-by-side): the MLP reads the stream as it was before attention (both halves in parallel)
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


# %% Block wrong (structure): forgets the biases on queries, keys and values (qkv_bias is left at False)
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads)
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


# %% Block wrong (misconception eps-as-in-lesson-06): does not pass config.eps to the norms; shows if the config's eps is not the default 1e-6, above all for a small stream
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1, self.ln_2 = LayerNorm(d), LayerNorm(d)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, True)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


# %% Block wrong (structure): one norm object under both names; right as long as both norms have the same numbers, wrong after loading a checkpoint
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        norm = LayerNorm(d, config.eps)
        self.ln_1 = norm
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, qkv_bias=True)
        self.ln_2 = norm
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


# %% Block wrong (property leaves_its_inputs): adds in place, so the tensor that the caller passed is changed (and a leaf that needs a gradient raises an error)
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d, eps=config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, qkv_bias=True)
        self.ln_2 = LayerNorm(d, eps=config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        x += self.attn(self.ln_1(x))
        x += self.mlp(self.ln_2(x))
        return x


# %% Block right (passed): two sums, attention first
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


# %% Block right (passed): keyword arguments, and the halves in a loop over (norm, part)
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d_model=d, eps=config.eps)
        self.attn = MultiHeadAttention(
            d_in=d, d_out=d, context_length=config.n_positions, dropout=0.0, num_heads=config.n_heads, qkv_bias=True
        )
        self.ln_2 = LayerNorm(d_model=d, eps=config.eps)
        self.mlp = MLP(d_model=d, d_mlp=d * 4)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        stream = x
        for norm, part in ((self.ln_1, self.attn), (self.ln_2, self.mlp)):
            stream = torch.add(stream, part(norm(stream)))
        return stream


# %% GPT wrong (misconception no-final-norm): forgets the last norm in forward
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


# %% GPT wrong (structure): a separate output layer of its own instead of the tied head
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
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln_f(x))


# %% GPT wrong (structure): the list holds one and the same block n_layers times; right only with one layer
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config)] * config.n_layers)
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T


# %% GPT wrong (property moves_with_its_module): makes the positions without a device, so it fails when model and tokens are on another device than the CPU
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layers))
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        batch, seq = tokens.shape
        x = self.wte(tokens) + self.wpe(torch.arange(seq))
        for block in self.blocks:
            x = block(x)
        return nn.functional.linear(self.ln_f(x), self.wte.weight)


# %% GPT wrong (property first_wrong_part): copies the embeddings for the head in __init__; right in a new model, wrong after weights are loaded or trained
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(config.d_model, config.eps)
        self.unembed = self.wte.weight.detach().clone().T

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.unembed


# %% GPT right (passed): arange on the device of the tokens, product with the transposed embeddings
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
        return self.ln_f(x) @ self.wte.weight.T


# %% GPT right (passed): positions counted with cumsum, blocks appended one by one, einsum for the tied head
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(num_embeddings=config.vocab_size, embedding_dim=config.d_model)
        self.wpe = nn.Embedding(num_embeddings=config.n_positions, embedding_dim=config.d_model)
        self.blocks = nn.ModuleList()
        for _ in range(config.n_layers):
            self.blocks.append(Block(config))
        self.ln_f = LayerNorm(config.d_model, eps=config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        places = torch.ones_like(tokens).cumsum(dim=1) - 1
        stream = self.wpe(places) + self.wte(tokens)
        for block in self.blocks:
            stream = block(stream)
        return torch.einsum("bsd,vd->bsv", self.ln_f(stream), self.wte.weight)


# %% gpt2_state wrong (misconception out_proj-not-turned): does not transpose the square matrix of attn.c_proj
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    # Every tensor gets the name and the layout that GPT expects.
    state["wte.weight"], state["wpe.weight"] = found["wte.weight"], found["wpe.weight"]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    for layer in range(config.n_layers):
        old, new = f"h.{layer}", f"blocks.{layer}"
        for norm in ("ln_1", "ln_2"):
            state[f"{new}.{norm}.w"] = found[f"{old}.{norm}.weight"]
            state[f"{new}.{norm}.b"] = found[f"{old}.{norm}.bias"]
        weights = found[f"{old}.attn.c_attn.weight"].split(config.d_model, dim=1)
        biases = found[f"{old}.attn.c_attn.bias"].split(config.d_model)
        for name, weight, bias in zip(("W_query", "W_key", "W_value"), weights, biases):
            state[f"{new}.attn.{name}.weight"], state[f"{new}.attn.{name}.bias"] = weight.T, bias
        state[f"{new}.attn.out_proj.weight"] = found[f"{old}.attn.c_proj.weight"]
        state[f"{new}.attn.out_proj.bias"] = found[f"{old}.attn.c_proj.bias"]
        for name in ("c_fc", "c_proj"):
            state[f"{new}.mlp.{name}.weight"] = found[f"{old}.mlp.{name}.weight"].T
            state[f"{new}.mlp.{name}.bias"] = found[f"{old}.mlp.{name}.bias"]
    return state


# %% gpt2_state wrong (misconception keys-first): the three parts of c_attn in the order key, query, value
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    # Every tensor gets the name and the layout that GPT expects.
    for name, tensor in found.items():
        name = name.replace("h.", "blocks.") if name.startswith("h.") else name
        if ".c_attn." in name:
            parts = tensor.chunk(3, dim=-1)
            for new, part in zip(("W_key", "W_query", "W_value"), parts):
                state[name.replace("c_attn", new)] = part.T if part.dim() == 2 else part
        elif "ln_" in name:
            state[name.replace("weight", "w").replace("bias", "b")] = tensor
        else:
            name = name.replace("attn.c_proj", "attn.out_proj")
            state[name] = tensor.T if name.startswith("blocks.") and tensor.dim() == 2 else tensor
    return state


# %% gpt2_state wrong (property names_fit_the_model): reads the number of the block from a single character of the name; wrong with more than ten blocks
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    # Every tensor gets the name and the layout that GPT expects.
    for name, tensor in found.items():
        if name in ("wte.weight", "wpe.weight"):
            state[name] = tensor
        elif name.startswith("ln_f"):
            state["ln_f.w" if name.endswith("weight") else "ln_f.b"] = tensor
        else:
            block = f"blocks.{name[2]}"
            part, kind = name.split(".")[-2], name.split(".")[-1]
            if part in ("ln_1", "ln_2"):
                state[f"{block}.{part}.{kind[0]}"] = tensor
                continue
            if kind == "weight":
                tensor = tensor.T
            if part == "c_attn":
                for new, piece in zip(("W_query", "W_key", "W_value"), tensor.chunk(3, dim=0)):
                    state[f"{block}.attn.{new}.{kind}"] = piece
            elif ".attn." in name:
                state[f"{block}.attn.out_proj.{kind}"] = tensor
            else:
                state[f"{block}.mlp.{part}.{kind}"] = tensor
    return state


# %% gpt2_state wrong (shape): splits c_attn at the fixed width 192 of the small GPT-2; wrong for every other d_model
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    # Every tensor gets the name and the layout that GPT expects.
    state["wte.weight"], state["wpe.weight"] = found["wte.weight"], found["wpe.weight"]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    for layer in range(config.n_layers):
        old, new = f"h.{layer}", f"blocks.{layer}"
        for norm in ("ln_1", "ln_2"):
            state[f"{new}.{norm}.w"] = found[f"{old}.{norm}.weight"]
            state[f"{new}.{norm}.b"] = found[f"{old}.{norm}.bias"]
        weight, bias = found[f"{old}.attn.c_attn.weight"].T, found[f"{old}.attn.c_attn.bias"]
        for i, name in enumerate(("W_query", "W_key", "W_value")):
            state[f"{new}.attn.{name}.weight"] = weight[192 * i : 192 * (i + 1)]
            state[f"{new}.attn.{name}.bias"] = bias[192 * i : 192 * (i + 1)]
        state[f"{new}.attn.out_proj.weight"] = found[f"{old}.attn.c_proj.weight"].T
        state[f"{new}.attn.out_proj.bias"] = found[f"{old}.attn.c_proj.bias"]
        for name in ("c_fc", "c_proj"):
            state[f"{new}.mlp.{name}.weight"] = found[f"{old}.mlp.{name}.weight"].T
            state[f"{new}.mlp.{name}.bias"] = found[f"{old}.mlp.{name}.bias"]
    return state


# %% gpt2_state wrong (property leaves_its_inputs): empties the caller's dict at the end "to free memory"; the result is right, but a second call with the same dict fails
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    # Every tensor gets the name and the layout that GPT expects.
    for name, tensor in found.items():
        if name.startswith("h."):
            name = "blocks." + name[2:]
            if tensor.dim() == 2:
                tensor = tensor.T
        if ".c_attn." in name:
            query, key, value = tensor.chunk(3, dim=0)
            state[name.replace("c_attn", "W_query")] = query
            state[name.replace("c_attn", "W_key")] = key
            state[name.replace("c_attn", "W_value")] = value
        elif "ln_" in name:
            state[name.replace("weight", "w").replace("bias", "b")] = tensor
        else:
            state[name.replace("attn.c_proj", "attn.out_proj")] = tensor
    tensors.clear()
    return state


# %% gpt2_state right (passed): explicit names, layer by layer
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    # Every tensor gets the name and the layout that GPT expects.
    state["wte.weight"], state["wpe.weight"] = found["wte.weight"], found["wpe.weight"]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    for layer in range(config.n_layers):
        old, new = f"h.{layer}", f"blocks.{layer}"
        for norm in ("ln_1", "ln_2"):
            state[f"{new}.{norm}.w"] = found[f"{old}.{norm}.weight"]
            state[f"{new}.{norm}.b"] = found[f"{old}.{norm}.bias"]
        weights = found[f"{old}.attn.c_attn.weight"].split(config.d_model, dim=1)
        biases = found[f"{old}.attn.c_attn.bias"].split(config.d_model)
        for name, weight, bias in zip(("W_query", "W_key", "W_value"), weights, biases):
            state[f"{new}.attn.{name}.weight"], state[f"{new}.attn.{name}.bias"] = weight.T, bias
        state[f"{new}.attn.out_proj.weight"] = found[f"{old}.attn.c_proj.weight"].T
        state[f"{new}.attn.out_proj.bias"] = found[f"{old}.attn.c_proj.bias"]
        for name in ("c_fc", "c_proj"):
            state[f"{new}.mlp.{name}.weight"] = found[f"{old}.mlp.{name}.weight"].T
            state[f"{new}.mlp.{name}.bias"] = found[f"{old}.mlp.{name}.bias"]
    return state


# %% gpt2_state right (passed): goes through the names of the file and rewrites each, contiguous copies
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    # Every tensor gets the name and the layout that GPT expects.
    for name, tensor in found.items():
        steps = name.split(".")
        kind = steps[-1]
        if steps[0] == "h":
            steps[0] = "blocks"
            if tensor.dim() == 2:
                tensor = tensor.transpose(0, 1)
        if steps[-2].startswith("ln_"):
            steps[-1] = {"weight": "w", "bias": "b"}[kind]
        if steps[-2] == "c_attn":
            three = tensor.unflatten(0, (3, config.d_model))
            for new, part in zip(("W_query", "W_key", "W_value"), three):
                state[".".join([*steps[:-2], new, kind])] = part.clone(memory_format=torch.contiguous_format)
            continue
        if steps[-3:-1] == ["attn", "c_proj"]:
            steps[-2] = "out_proj"
        state[".".join(steps)] = tensor.clone(memory_format=torch.contiguous_format)
    return state


# %% generate_cached wrong (misconception prompt-without-a-mask): no causal mask in the first pass, so the positions of the prompt see later tokens
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        # One pass, in which only the positions of `new` go through the model.
        heads = model.config.n_heads
        x = model.wte(new) + model.wpe(torch.arange(done, done + new.shape[1], device=tokens.device))
        for layer, block in enumerate(model.blocks):
            h = block.ln_1(x)
            q, k, v = (split_heads(w(h), heads) for w in (block.attn.W_query, block.attn.W_key, block.attn.W_value))
            if kept[layer] is not None:
                k, v = torch.cat((kept[layer][0], k), dim=2), torch.cat((kept[layer][1], v), dim=2)
            kept[layer] = (k, v)
            weights = torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-1)
            x = x + block.attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1:]) @ model.wte.weight.T
        done += new.shape[1]
        new = logits.argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (misconception position-0-again): the positions start at 0 again in every pass (done is not added)
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        # One pass, in which only the positions of `new` go through the model.
        seq, heads = new.shape[1], model.config.n_heads
        x = model.wte(new) + model.wpe(torch.arange(seq, device=tokens.device))
        for layer, block in enumerate(model.blocks):
            h = block.ln_1(x)
            q, k, v = (split_heads(w(h), heads) for w in (block.attn.W_query, block.attn.W_key, block.attn.W_value))
            if kept[layer] is not None:
                k, v = torch.cat((kept[layer][0], k), dim=2), torch.cat((kept[layer][1], v), dim=2)
            kept[layer] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            future = torch.ones(seq, done + seq, dtype=torch.bool, device=tokens.device).triu(done + 1)
            weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
            x = x + block.attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1:]) @ model.wte.weight.T
        done += seq
        new = logits.argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (shape): stops when all texts have chosen the last token of the vocabulary (GPT-2's end of text); fewer than n_tokens then
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        # One pass, in which only the positions of `new` go through the model.
        seq, heads = new.shape[1], model.config.n_heads
        x = model.wte(new) + model.wpe(torch.arange(done, done + seq, device=tokens.device))
        for layer, block in enumerate(model.blocks):
            h = block.ln_1(x)
            q, k, v = (split_heads(w(h), heads) for w in (block.attn.W_query, block.attn.W_key, block.attn.W_value))
            if kept[layer] is not None:
                k, v = torch.cat((kept[layer][0], k), dim=2), torch.cat((kept[layer][1], v), dim=2)
            kept[layer] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            future = torch.ones(seq, done + seq, dtype=torch.bool, device=tokens.device).triu(done + 1)
            weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
            x = x + block.attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1:]) @ model.wte.weight.T
        done += seq
        new = logits.argmax(dim=-1)
        if (new == model.config.vocab_size - 1).all():
            tokens = torch.cat([tokens, new], dim=1)
            break
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (property first_wrong_pass): keeps only the newest n_positions // 2 keys and values; wrong once a text is longer than that
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        # One pass, in which only the positions of `new` go through the model.
        seq, heads = new.shape[1], model.config.n_heads
        window = model.config.n_positions // 2
        x = model.wte(new) + model.wpe(torch.arange(done, done + seq, device=tokens.device))
        for layer, block in enumerate(model.blocks):
            h = block.ln_1(x)
            q, k, v = (split_heads(w(h), heads) for w in (block.attn.W_query, block.attn.W_key, block.attn.W_value))
            if kept[layer] is not None:
                k, v = torch.cat((kept[layer][0], k), dim=2), torch.cat((kept[layer][1], v), dim=2)
            kept[layer] = (k[:, :, -window:], v[:, :, -window:])
            scores = q @ k.mT / q.shape[-1] ** 0.5
            if seq > 1:
                future = torch.ones(seq, seq, dtype=torch.bool, device=tokens.device).triu(1)
                scores = scores.masked_fill(future, -torch.inf)
            x = x + block.attn.out_proj(merge_heads(torch.softmax(scores, dim=-1) @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1:]) @ model.wte.weight.T
        done += seq
        new = logits.argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (property first_wrong_pass): divides the scores by 4, the root of the small GPT-2's head width 16; wrong for heads of another width
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        # One pass, in which only the positions of `new` go through the model.
        seq, heads = new.shape[1], model.config.n_heads
        x = model.wte(new) + model.wpe(torch.arange(done, done + seq, device=tokens.device))
        for layer, block in enumerate(model.blocks):
            h = block.ln_1(x)
            q, k, v = (split_heads(w(h), heads) for w in (block.attn.W_query, block.attn.W_key, block.attn.W_value))
            if kept[layer] is not None:
                k, v = torch.cat((kept[layer][0], k), dim=2), torch.cat((kept[layer][1], v), dim=2)
            kept[layer] = (k, v)
            scores = q @ k.mT / 4
            future = torch.ones(seq, done + seq, dtype=torch.bool, device=tokens.device).triu(done + 1)
            weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
            x = x + block.attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1:]) @ model.wte.weight.T
        done += seq
        new = logits.argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached right (passed): mask with triu(done + 1), keys and values put together with cat
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        # One pass, in which only the positions of `new` go through the model.
        seq, heads = new.shape[1], model.config.n_heads
        x = model.wte(new) + model.wpe(torch.arange(done, done + seq, device=tokens.device))
        future = torch.ones(seq, done + seq, dtype=torch.bool, device=tokens.device).triu(done + 1)
        for layer, block in enumerate(model.blocks):
            h = block.ln_1(x)
            q, k, v = (split_heads(w(h), heads) for w in (block.attn.W_query, block.attn.W_key, block.attn.W_value))
            if kept[layer] is not None:
                k, v = torch.cat((kept[layer][0], k), dim=2), torch.cat((kept[layer][1], v), dim=2)
            kept[layer] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
            x = x + block.attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x) @ model.wte.weight.T
        done += seq
        new = logits[:, -1:].argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached right (passed): unflatten and einsum, a mask from positions, only the last position goes through the head
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        # One pass, in which only the positions of `new` go through the model.
        n_heads = model.config.n_heads
        places = torch.arange(done, done + new.shape[1], device=new.device)
        seen = torch.arange(done + new.shape[1], device=new.device)[None, :] <= places[:, None]
        stream = model.wte(new) + model.wpe(places)
        for i, block in enumerate(model.blocks):
            attn, normed = block.attn, block.ln_1(stream)
            q = attn.W_query(normed).unflatten(-1, (n_heads, -1))
            k = attn.W_key(normed).unflatten(-1, (n_heads, -1)).transpose(1, 2)
            v = attn.W_value(normed).unflatten(-1, (n_heads, -1)).transpose(1, 2)
            if done > 0:
                old_k, old_v = kept[i]
                k, v = torch.cat([old_k, k], dim=-2), torch.cat([old_v, v], dim=-2)
            kept[i] = [k, v]
            scores = torch.einsum("bihd,bhjd->bhij", q, k) * q.shape[-1] ** -0.5
            weights = torch.where(seen, scores, torch.full_like(scores, -torch.inf)).softmax(dim=-1)
            mixed = torch.einsum("bhij,bhjd->bihd", weights, v).flatten(-2)
            stream = stream + attn.out_proj(mixed)
            stream = stream + block.mlp(block.ln_2(stream))
        last = model.ln_f(stream[:, -1])
        scores = nn.functional.linear(last, model.wte.weight)
        done = done + new.shape[1]
        new = scores.argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


