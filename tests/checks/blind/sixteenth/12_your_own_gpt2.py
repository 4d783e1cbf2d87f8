# %% gelu wrong (misconception root-forgotten): forgets the root of 2 / pi
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    return x / 2 * (1 + torch.tanh(2 / torch.pi * (x + 0.044715 * x**3)))


# %% gelu wrong (misconception outside-the-root): the root multiplies only x, not the cubic term (parentheses)
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    root = (2 / torch.pi) ** 0.5
    return 0.5 * x * (1 + torch.tanh(root * x + 0.044715 * x**3))


# %% gelu wrong (misconception exact): (subtle) the exact curve with erf instead of GPT-2's form with tanh, off by up to 0.0005
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    return x / 2 * (1 + torch.erf(x / 2**0.5))


# %% gelu wrong (property finite_when_scaled): (subtle) writes tanh with exponentials, which gives nan for large inputs
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    u = (2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)
    tanh = (torch.exp(u) - torch.exp(-u)) / (torch.exp(u) + torch.exp(-u))
    return x / 2 * (1 + tanh)


# %% gelu wrong (property lets_gradients_through): (subtle) computes each number with math.tanh and makes a new tensor, so no gradient flows
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    import math

    def one(number):
        return number / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (number + 0.044715 * number**3)))

    return torch.tensor([one(number) for number in x.flatten().tolist()]).reshape(x.shape)


# %% gelu right (passed): the formula as it stands, with torch.tanh
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    return x / 2 * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))


# %% gelu right (passed): (1 + tanh u) / 2 written as sigmoid(2 u), with u from clamped numbers
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    c = torch.clamp(x, -30.0, 30.0)  # tanh is 1 or -1 far earlier
    u = 2.0 * (2.0 / torch.pi) ** 0.5 * c * (1.0 + 0.044715 * c * c)
    return x * torch.sigmoid(u)


# %% MLP wrong (misconception bend-last): applies gelu after the second layer instead of between the layers
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return gelu(self.c_proj(self.c_fc(x)))


# %% MLP wrong (misconception exact): takes torch's GELU in its exact form instead of the own gelu with tanh
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.act = nn.GELU()
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.c_proj(self.act(self.c_fc(x)))


# %% MLP wrong (misconception always-four-times): (subtle) always makes the hidden layer four times as wide, which is right only if d_mlp is 4 * d_model
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, 4 * d_model)
        self.c_proj = nn.Linear(4 * d_model, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.c_proj(gelu(self.c_fc(x)))


# %% MLP wrong (property draws_nothing): (subtle) adds a dropout, so the result is random in training mode
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.dropout(self.c_proj(gelu(self.c_fc(x))))


# %% MLP wrong (raised): (subtle) unpacks three axes, so a single vector, a table or a tensor with four axes fails
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        batch, seq, d_model = x.shape
        wide = gelu(self.c_fc(x.reshape(batch * seq, d_model)))
        return self.c_proj(wide).reshape(batch, seq, d_model)


# %% MLP right (passed): one expression
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.c_proj(gelu(self.c_fc(x)))


# %% MLP right (passed): add_module, and a loop over the three steps
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.add_module("c_fc", nn.Linear(in_features=d_model, out_features=d_mlp, bias=True))
        self.add_module("c_proj", nn.Linear(in_features=d_mlp, out_features=d_model, bias=True))

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        for step in (self.c_fc, gelu, self.c_proj):
            x = step(x)
        return x


# %% Block wrong (misconception post-norm): normalises the sums (post-norm)
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


# %% Block wrong (misconception side-by-side): both halves read the stream as it comes in, so the MLP does not see what attention added
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


# %% Block wrong (misconception eps-as-in-lesson-06): (subtle) the norms keep their default eps instead of config.eps, which shows for small inputs or a large config.eps
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


# %% Block wrong (misconception first-norm-twice): (subtle) uses ln_1 for both halves, which is right only as long as both norms have the same parameters (in a new block)
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


# %% Block wrong (property draws_nothing): (subtle) attention with a dropout of 0.1, so the result is random in training mode
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


# %% Block right (passed): the two formulas
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


# %% Block right (passed): keywords, parts in another order, and a loop over the two halves
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.attn = MultiHeadAttention(
            d_in=d, d_out=d, context_length=config.n_positions, dropout=0.0, num_heads=config.n_heads, qkv_bias=True
        )
        self.mlp = MLP(d_model=d, d_mlp=d * 4)
        self.ln_1, self.ln_2 = (LayerNorm(d_model=d, eps=config.eps) for _ in range(2))

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        stream = x
        for norm, half in ((self.ln_1, self.attn), (self.ln_2, self.mlp)):
            stream = torch.add(stream, half(norm(stream)))
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
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.wte(tokens) + self.wpe(positions)
        for block in self.blocks:
            x = block(x)
        return x @ self.wte.weight.T


# %% GPT wrong (structure): a separate output layer instead of the tied head
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


# %% GPT wrong (structure): (subtle) the list holds the same block n_layers times, which is right only with one layer
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


# %% GPT wrong (property moves_with_its_module): (subtle) creates the positions on the CPU, so the model fails if the tokens are on another device
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


# %% GPT wrong (property first_wrong_part): (subtle) ln_f keeps its default eps instead of config.eps, which shows for a stream with a small variance or a large config.eps
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


# %% GPT right (passed): embeddings of an arange, a loop over the blocks, a product with the transposed embeddings
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


# %% GPT right (passed): a slice of wpe's rows, blocks appended one by one, and nn.functional.linear as the tied head
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        d = config.d_model
        self.wte, self.wpe = nn.Embedding(config.vocab_size, d), nn.Embedding(config.n_positions, d)
        self.blocks = nn.ModuleList()
        for _ in range(config.n_layers):
            self.blocks.append(Block(config))
        self.ln_f = LayerNorm(d, eps=config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        _, seq = tokens.shape
        stream = nn.functional.embedding(tokens, self.wte.weight) + self.wpe.weight[:seq].unsqueeze(0)
        for i in range(len(self.blocks)):
            stream = self.blocks[i](stream)
        return nn.functional.linear(self.ln_f(stream), self.wte.weight)


# %% gpt2_state wrong (misconception c_attn-not-turned): splits c_attn but forgets to transpose its three square matrices
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    d = config.d_model
    for i in range(config.n_layers):
        old, new = f"h.{i}.", f"blocks.{i}."
        for norm in ("ln_1", "ln_2"):
            state[f"{new}{norm}.w"] = found[f"{old}{norm}.weight"]
            state[f"{new}{norm}.b"] = found[f"{old}{norm}.bias"]
        weights = found[old + "attn.c_attn.weight"].split(d, dim=1)
        biases = found[old + "attn.c_attn.bias"].split(d)
        for name, weight, bias in zip(("W_query", "W_key", "W_value"), weights, biases):
            state[f"{new}attn.{name}.weight"] = weight
            state[f"{new}attn.{name}.bias"] = bias
        state[new + "attn.out_proj.weight"] = found[old + "attn.c_proj.weight"].T
        state[new + "attn.out_proj.bias"] = found[old + "attn.c_proj.bias"]
        for layer in ("c_fc", "c_proj"):
            state[f"{new}mlp.{layer}.weight"] = found[f"{old}mlp.{layer}.weight"].T
            state[f"{new}mlp.{layer}.bias"] = found[f"{old}mlp.{layer}.bias"]
    state["wte.weight"], state["wpe.weight"] = found["wte.weight"], found["wpe.weight"]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    return state


# %% gpt2_state wrong (property names_fit_the_model): renames every c_proj to out_proj, also the mlp's
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    for name, tensor in found.items():
        if name in ("wte.weight", "wpe.weight"):
            state[name] = tensor
            continue
        if "ln_" in name:
            name = name.replace("weight", "w").replace("bias", "b")
        elif tensor.dim() == 2:
            tensor = tensor.T
        if name.startswith("h."):
            name = "blocks." + name[2:]
        name = name.replace("c_proj", "out_proj")
        if "c_attn" in name:
            for part, piece in zip(("W_query", "W_key", "W_value"), tensor.chunk(3, dim=0)):
                state[name.replace("c_attn", part)] = piece
        else:
            state[name] = tensor
    return state


# %% gpt2_state wrong (property names_fit_the_model): (subtle) takes a single character as the number of the block, which fails from block 10 on
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    for name, tensor in found.items():
        if not name.startswith("h."):
            state[name.replace("ln_f.weight", "ln_f.w").replace("ln_f.bias", "ln_f.b")] = tensor
            continue
        start, rest = f"blocks.{name[2]}.", name[4:]
        if rest.startswith("ln_"):
            state[start + rest.replace("weight", "w").replace("bias", "b")] = tensor
            continue
        if tensor.dim() == 2:
            tensor = tensor.T
        if rest.startswith("attn.c_attn"):
            for part, piece in zip(("W_query", "W_key", "W_value"), tensor.split(config.d_model)):
                state[start + rest.replace("c_attn", part)] = piece
        else:
            state[start + rest.replace("attn.c_proj", "attn.out_proj")] = tensor
    return state


# %% gpt2_state wrong (misconception cut-by-heads): (subtle) expects queries, keys and values head by head in c_attn, which is right only with one head
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    d, n_heads = config.d_model, config.n_heads
    for i in range(config.n_layers):
        old, new = f"h.{i}.", f"blocks.{i}."
        for norm in ("ln_1", "ln_2"):
            state[f"{new}{norm}.w"] = found[f"{old}{norm}.weight"]
            state[f"{new}{norm}.b"] = found[f"{old}{norm}.bias"]
        weight = found[old + "attn.c_attn.weight"].T.reshape(n_heads, 3, d // n_heads, d)
        bias = found[old + "attn.c_attn.bias"].reshape(n_heads, 3, d // n_heads)
        for j, name in enumerate(("W_query", "W_key", "W_value")):
            state[f"{new}attn.{name}.weight"] = weight[:, j].reshape(d, d)
            state[f"{new}attn.{name}.bias"] = bias[:, j].reshape(d)
        state[new + "attn.out_proj.weight"] = found[old + "attn.c_proj.weight"].T
        state[new + "attn.out_proj.bias"] = found[old + "attn.c_proj.bias"]
        for layer in ("c_fc", "c_proj"):
            state[f"{new}mlp.{layer}.weight"] = found[f"{old}mlp.{layer}.weight"].T
            state[f"{new}mlp.{layer}.bias"] = found[f"{old}mlp.{layer}.bias"]
    state["wte.weight"], state["wpe.weight"] = found["wte.weight"], found["wpe.weight"]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    return state


# %% gpt2_state wrong (property names_fit_the_model): (subtle) reads the names in tensors instead of found, which fails if the file's names have a prefix
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    for name, tensor in tensors.items():
        if name.startswith("h."):
            _, number, part, *rest = name.split(".")
            start = f"blocks.{number}.{part}."
            if part in ("ln_1", "ln_2"):
                state[start + {"weight": "w", "bias": "b"}[rest[0]]] = tensor
                continue
            layer, kind = rest
            if kind == "weight":
                tensor = tensor.T
            if layer == "c_attn":
                q, k, v = tensor.split(config.d_model, dim=0)
                state[f"{start}W_query.{kind}"] = q
                state[f"{start}W_key.{kind}"] = k
                state[f"{start}W_value.{kind}"] = v
            elif part == "attn":
                state[f"{start}out_proj.{kind}"] = tensor
            else:
                state[f"{start}{layer}.{kind}"] = tensor
        elif name.startswith("ln_f"):
            state["ln_f.w" if name.endswith("weight") else "ln_f.b"] = tensor
        else:
            state[name] = tensor
    return state


# %% gpt2_state right (passed): block by block, each name written out
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    d = config.d_model
    for i in range(config.n_layers):
        old, new = f"h.{i}.", f"blocks.{i}."
        for norm in ("ln_1", "ln_2"):
            state[f"{new}{norm}.w"] = found[f"{old}{norm}.weight"]
            state[f"{new}{norm}.b"] = found[f"{old}{norm}.bias"]
        weights = found[old + "attn.c_attn.weight"].split(d, dim=1)
        biases = found[old + "attn.c_attn.bias"].split(d)
        for name, weight, bias in zip(("W_query", "W_key", "W_value"), weights, biases):
            state[f"{new}attn.{name}.weight"] = weight.T
            state[f"{new}attn.{name}.bias"] = bias
        state[new + "attn.out_proj.weight"] = found[old + "attn.c_proj.weight"].T
        state[new + "attn.out_proj.bias"] = found[old + "attn.c_proj.bias"]
        for layer in ("c_fc", "c_proj"):
            state[f"{new}mlp.{layer}.weight"] = found[f"{old}mlp.{layer}.weight"].T
            state[f"{new}mlp.{layer}.bias"] = found[f"{old}mlp.{layer}.bias"]
    state["wte.weight"], state["wpe.weight"] = found["wte.weight"], found["wpe.weight"]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    return state


# %% gpt2_state right (passed): one pass over the names, with a regular expression, and contiguous copies
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    import re

    for name, tensor in found.items():
        name = re.sub(r"^h\.(\d+)\.", r"blocks.\1.", name)
        name = re.sub(r"(ln_[12f])\.weight$", r"\1.w", name)
        name = re.sub(r"(ln_[12f])\.bias$", r"\1.b", name)
        name = name.replace(".attn.c_proj.", ".attn.out_proj.")
        inner = ".attn." in name or ".mlp." in name
        tensor = tensor.t().clone().contiguous() if inner and name.endswith(".weight") else tensor.clone()
        if ".c_attn." in name:
            for part, piece in zip(["W_query", "W_key", "W_value"], torch.chunk(tensor, 3, dim=0)):
                state[name.replace("c_attn", part)] = piece.clone()
        else:
            state[name] = tensor
    return state


# %% generate_cached wrong (misconception position-0-again): counts the positions from 0 in every pass, so each new token gets the vector of position 0
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        n_heads = model.config.n_heads
        x = model.wte(new) + model.wpe(torch.arange(new.shape[1], device=new.device))
        for i, block in enumerate(model.blocks):
            h = block.ln_1(x)
            q, k, v = (split_heads(w(h), n_heads) for w in (block.attn.W_query, block.attn.W_key, block.attn.W_value))
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).triu(done + 1)
            weights = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
            x = x + block.attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1:]) @ model.wte.weight.T
        done += new.shape[1]
        new = logits.argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (misconception sees-the-first-only): the mask is not shifted by done, so a new token sees only the first key
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        n_heads = model.config.n_heads
        x = model.wte(new) + model.wpe(torch.arange(done, done + new.shape[1], device=new.device))
        for i, block in enumerate(model.blocks):
            h = block.ln_1(x)
            q, k, v = (split_heads(w(h), n_heads) for w in (block.attn.W_query, block.attn.W_key, block.attn.W_value))
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            future = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=x.device).triu(1)
            weights = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
            x = x + block.attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1:]) @ model.wte.weight.T
        done += new.shape[1]
        new = logits.argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (misconception first-text-only): (subtle) chooses the token of the first text for all texts, which is right only for a single text
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        n_heads = model.config.n_heads
        x = model.wte(new) + model.wpe(torch.arange(done, done + new.shape[1], device=new.device))
        for i, block in enumerate(model.blocks):
            h = block.ln_1(x)
            q, k, v = (split_heads(w(h), n_heads) for w in (block.attn.W_query, block.attn.W_key, block.attn.W_value))
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).triu(done + 1)
            weights = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
            x = x + block.attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x) @ model.wte.weight.T
        done += new.shape[1]
        best = logits[0, -1].argmax()
        new = torch.full((len(tokens), 1), best.item(), device=tokens.device)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (misconception ends-at-the-last-token): (subtle) stops when every text has chosen the last token of the vocabulary (end of text)
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        n_heads = model.config.n_heads
        x = model.wte(new) + model.wpe(torch.arange(done, done + new.shape[1], device=new.device))
        for i, block in enumerate(model.blocks):
            h = block.ln_1(x)
            q, k, v = (split_heads(w(h), n_heads) for w in (block.attn.W_query, block.attn.W_key, block.attn.W_value))
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).triu(done + 1)
            weights = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
            x = x + block.attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1:]) @ model.wte.weight.T
        done += new.shape[1]
        new = logits.argmax(dim=-1)
        if (new == model.config.vocab_size - 1).all():
            break
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (property keeps_keys_and_values): (subtle) the tokens are right, but nothing is kept: the whole text goes through the model in every pass
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        n_heads = model.config.n_heads
        x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for i, block in enumerate(model.blocks):
            h = block.ln_1(x)
            q, k, v = (split_heads(w(h), n_heads) for w in (block.attn.W_query, block.attn.W_key, block.attn.W_value))
            kept[i] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
            weights = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
            x = x + block.attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1:]) @ model.wte.weight.T
        done += new.shape[1]
        new = logits.argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached right (passed): split_heads and merge_heads, and a triu mask that is shifted by done
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        n_heads = model.config.n_heads
        x = model.wte(new) + model.wpe(torch.arange(done, done + new.shape[1], device=new.device))
        for i, block in enumerate(model.blocks):
            h = block.ln_1(x)
            q, k, v = (split_heads(w(h), n_heads) for w in (block.attn.W_query, block.attn.W_key, block.attn.W_value))
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).triu(done + 1)
            weights = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
            x = x + block.attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1:]) @ model.wte.weight.T
        done += new.shape[1]
        new = logits.argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached right (passed): scaled_dot_product_attention with a mask of positions, keys and values in one kept tensor, topk for the choice
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        count = new.shape[1]
        place = torch.arange(done + count, device=new.device)
        visible = place[None, :] <= place[done:, None]
        stream = model.wte(new) + model.wpe(place[done:])[None]
        for number, block in enumerate(model.blocks):
            attn, read = block.attn, block.ln_1(stream)
            heads = [
                layer(read).unflatten(-1, (model.config.n_heads, -1)).transpose(1, 2)
                for layer in (attn.W_query, attn.W_key, attn.W_value)
            ]
            pair = torch.stack(heads[1:])
            if done > 0:
                pair = torch.cat((kept[number], pair), dim=-2)
            kept[number] = pair
            mixed = nn.functional.scaled_dot_product_attention(heads[0], pair[0], pair[1], attn_mask=visible)
            stream = stream + attn.out_proj(mixed.transpose(1, 2).flatten(2))
            stream = stream + block.mlp(block.ln_2(stream))
        last = model.ln_f(stream)[:, -1]
        scores = torch.einsum("bd,vd->bv", last, model.wte.weight)
        done += count
        new = scores.topk(1, dim=-1).indices
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


