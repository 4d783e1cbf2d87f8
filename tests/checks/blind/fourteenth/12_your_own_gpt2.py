# %% gelu wrong (misconception outside-the-root): multiplies only x by the square root, not the cubic term (a misplaced bracket)
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    return x / 2 * (1 + torch.tanh((2 / torch.pi) ** 0.5 * x + 0.044715 * x**3))


# %% gelu wrong (misconception root-of-two-only): the square root is taken of 2 only, not of 2 / pi
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    return x / 2 * (1 + torch.tanh(2**0.5 / torch.pi * (x + 0.044715 * x**3)))


# %% gelu wrong (misconception exact): torch's default GELU, the exact curve without tanh; differs by up to 0.0005
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    return nn.functional.gelu(x)


# %% gelu wrong (property finite_when_scaled): tanh written with exp; inf / inf is nan for large inputs
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    inner = (2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)
    power = torch.exp(2 * inner)
    tanh = (power - 1) / (power + 1)
    return x / 2 * (1 + tanh)


# %% gelu wrong (property gradients): tanh is computed without a graph, so the values are right and the gradients lack a term
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    with torch.no_grad():
        gate = torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3))
    return x / 2 * (1 + gate)


# %% gelu right (passed): the formula, with the argument of tanh limited, so that huge inputs have a finite gradient
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    small = x.clamp(-10, 10)
    inner = (2 / torch.pi) ** 0.5 * (small + 0.044715 * small**3)
    return 0.5 * x * (1 + torch.tanh(inner))


# %% gelu right (passed): as x times a sigmoid, since (1 + tanh u) / 2 = sigmoid(2 u)
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    near = torch.clamp(x, min=-12.0, max=12.0)
    u = (near + 0.044715 * near * near * near) * (2 * (2 / torch.pi) ** 0.5)
    return x * torch.sigmoid(u)


# %% MLP wrong (misconception returns-its-input-too): adds the input to the result, which is the block's task
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return x + self.c_proj(gelu(self.c_fc(x)))


# %% MLP wrong (misconception bent-twice): gelu after the second layer as well
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        x = gelu(self.c_fc(x))
        return gelu(self.c_proj(x))


# %% MLP wrong (misconception always-four-times): ignores d_mlp and makes the inner width four times d_model; right when d_mlp is 4 * d_model
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, 4 * d_model)
        self.c_proj = nn.Linear(4 * d_model, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.c_proj(gelu(self.c_fc(x)))


# %% MLP wrong (misconception exact): uses nn.GELU(), the exact curve, instead of gelu; differs slightly
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)
        self.act = nn.GELU()

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.c_proj(self.act(self.c_fc(x)))


# %% MLP wrong (property draws_nothing): adds a dropout of 0.1 that the page does not name; right in eval mode only
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.dropout(self.c_proj(gelu(self.c_fc(x))))


# %% MLP right (passed): two layers with gelu between
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
        for name, sizes in {"c_fc": (d_model, d_mlp), "c_proj": (d_mlp, d_model)}.items():
            self.add_module(name, nn.Linear(*sizes, bias=True))

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        result = x
        for step in (self.c_fc, gelu, self.c_proj):
            result = step(result)
        return result


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
        return self.ln_2(x + self.mlp(x))


# %% Block wrong (misconception side-by-side): the MLP reads the stream from before attention (both halves in parallel)
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


# %% Block wrong (misconception eps-as-in-lesson-06): the norms use their default eps instead of config.eps; shows when the stream is small or config.eps is large
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


# %% Block wrong (structure): ln_2 is the same module as ln_1; right until the two norms have different parameters
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, qkv_bias=True)
        self.ln_2 = self.ln_1
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


# %% Block wrong (property draws_nothing): attention gets a dropout of 0.1; right in eval mode only
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


# %% Block right (passed): two lines
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


# %% Block right (passed): all arguments by name, and a loop over the two halves
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d_model=d, eps=config.eps)
        self.ln_2 = LayerNorm(d_model=d, eps=config.eps)
        self.mlp = MLP(d_model=d, d_mlp=d * 4)
        self.attn = MultiHeadAttention(
            d_in=d,
            d_out=d,
            context_length=config.n_positions,
            dropout=0.0,
            num_heads=config.n_heads,
            qkv_bias=True,
        )

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        stream = x
        for norm, part in ((self.ln_1, self.attn), (self.ln_2, self.mlp)):
            stream = torch.add(part(norm(stream)), stream)
        return stream


# %% GPT wrong (misconception probabilities): returns probabilities, a softmax over the vocabulary, instead of logits
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
        logits = self.ln_f(x) @ self.wte.weight.T
        return logits.softmax(dim=-1)


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


# %% GPT wrong (structure): one Block repeated n_layers times, so that all blocks share their parameters; shows when the blocks get different weights or the parameters are counted
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


# %% GPT wrong (property moves_with_its_module): the positions are created on the CPU, not on the device of tokens
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


# %% GPT wrong (property first_wrong_part): ln_f has its default eps, not config.eps; shows when eps is large compared with the variance of the stream
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


# %% GPT right (passed): arange, a loop, and the transposed embeddings
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


# %% GPT right (passed): the first rows of wpe.weight as position vectors, nn.Sequential over the blocks in forward, F.linear as head
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.ln_f = LayerNorm(config.d_model, config.eps)
        self.blocks = nn.ModuleList()
        for _ in range(config.n_layers):
            self.blocks.append(Block(config))
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        seq = tokens.size(1)
        stream = self.wpe.weight[:seq].unsqueeze(0) + self.wte(tokens)
        stream = nn.Sequential(*self.blocks)(stream)
        return nn.functional.linear(self.ln_f(stream), self.wte.weight)


# %% gpt2_state wrong (misconception out_proj-not-turned): the square matrix of attn.c_proj is not transposed
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    for name in ("wte.weight", "wpe.weight"):
        state[name] = found[name]
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
        state[f"{new}.attn.out_proj.weight"] = found[f"{old}.attn.c_proj.weight"]
        state[f"{new}.attn.out_proj.bias"] = found[f"{old}.attn.c_proj.bias"]
        for part in ("c_fc", "c_proj"):
            state[f"{new}.mlp.{part}.weight"] = found[f"{old}.mlp.{part}.weight"].T
            state[f"{new}.mlp.{part}.bias"] = found[f"{old}.mlp.{part}.bias"]
    return state


# %% gpt2_state wrong (property names_fit_the_model): renames every c_proj to out_proj, that of the mlp too
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    for name in ("wte.weight", "wpe.weight"):
        state[name] = found[name]
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
        for part, mine in (("c_fc", "c_fc"), ("c_proj", "out_proj")):
            state[f"{new}.mlp.{mine}.weight"] = found[f"{old}.mlp.{part}.weight"].T
            state[f"{new}.mlp.{mine}.bias"] = found[f"{old}.mlp.{part}.bias"]
    return state


# %% gpt2_state wrong (property names_fit_the_model): takes one character of the name as the block's number; with more than ten blocks, h.10 and later overwrite block 1
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    for name, tensor in found.items():
        if not name.startswith("h."):
            new = name
        else:
            layer, rest = name[2], name[2:].split(".", 1)[1]
            new = f"blocks.{layer}.{rest}"
        if "ln_" in new:
            new = new.replace("weight", "w").replace("bias", "b")
        if new.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight")):
            tensor = tensor.T
        if "attn.c_attn" in new:
            for part, piece in zip(("W_query", "W_key", "W_value"), tensor.chunk(3, dim=0)):
                state[new.replace("c_attn", part)] = piece
        else:
            state[new.replace("attn.c_proj", "attn.out_proj")] = tensor
    return state


# %% gpt2_state wrong (property from_which_tensor): the three biases are taken as every third number of c_attn.bias; right while the bias is zero
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    for name in ("wte.weight", "wpe.weight"):
        state[name] = found[name]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    for layer in range(config.n_layers):
        old, new = f"h.{layer}", f"blocks.{layer}"
        for norm in ("ln_1", "ln_2"):
            state[f"{new}.{norm}.w"] = found[f"{old}.{norm}.weight"]
            state[f"{new}.{norm}.b"] = found[f"{old}.{norm}.bias"]
        matrices = found[f"{old}.attn.c_attn.weight"].chunk(3, dim=1)
        biases = found[f"{old}.attn.c_attn.bias"].view(-1, 3).unbind(dim=1)
        for name, matrix, bias in zip(("W_query", "W_key", "W_value"), matrices, biases):
            state[f"{new}.attn.{name}.weight"] = matrix.T
            state[f"{new}.attn.{name}.bias"] = bias
        state[f"{new}.attn.out_proj.weight"] = found[f"{old}.attn.c_proj.weight"].T
        state[f"{new}.attn.out_proj.bias"] = found[f"{old}.attn.c_proj.bias"]
        for part in ("c_fc", "c_proj"):
            state[f"{new}.mlp.{part}.weight"] = found[f"{old}.mlp.{part}.weight"].T
            state[f"{new}.mlp.{part}.bias"] = found[f"{old}.mlp.{part}.bias"]
    return state


# %% gpt2_state wrong (shape): splits c_attn into pieces of 192, the width of the small GPT-2; wrong for every other d_model
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    for name in ("wte.weight", "wpe.weight"):
        state[name] = found[name]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    for layer in range(config.n_layers):
        old, new = f"h.{layer}", f"blocks.{layer}"
        for norm in ("ln_1", "ln_2"):
            state[f"{new}.{norm}.w"] = found[f"{old}.{norm}.weight"]
            state[f"{new}.{norm}.b"] = found[f"{old}.{norm}.bias"]
        matrices = found[f"{old}.attn.c_attn.weight"].split(192, dim=1)
        biases = found[f"{old}.attn.c_attn.bias"].split(192)
        for name, matrix, bias in zip(("W_query", "W_key", "W_value"), matrices, biases):
            state[f"{new}.attn.{name}.weight"] = matrix.T
            state[f"{new}.attn.{name}.bias"] = bias
        state[f"{new}.attn.out_proj.weight"] = found[f"{old}.attn.c_proj.weight"].T
        state[f"{new}.attn.out_proj.bias"] = found[f"{old}.attn.c_proj.bias"]
        for part in ("c_fc", "c_proj"):
            state[f"{new}.mlp.{part}.weight"] = found[f"{old}.mlp.{part}.weight"].T
            state[f"{new}.mlp.{part}.bias"] = found[f"{old}.mlp.{part}.bias"]
    return state


# %% gpt2_state right (passed): block by block, with names made from the block's number
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    for name in ("wte.weight", "wpe.weight"):
        state[name] = found[name]
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
        for part in ("c_fc", "c_proj"):
            state[f"{new}.mlp.{part}.weight"] = found[f"{old}.mlp.{part}.weight"].T
            state[f"{new}.mlp.{part}.bias"] = found[f"{old}.mlp.{part}.bias"]
    return state


# %% gpt2_state right (passed): one pass over the file's names, with string methods and slices of the transposed matrix
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    width = config.d_model
    for name, tensor in found.items():
        words = name.split(".")
        if words[0] == "h":
            words[0] = "blocks"
        kind = words[-1]
        if words[-2] in ("ln_1", "ln_2", "ln_f"):
            words[-1] = kind[0]
        elif words[-2] in ("c_attn", "c_fc", "c_proj"):
            tensor = tensor.t().contiguous() if kind == "weight" else tensor
            if words[-2] == "c_attn":
                for place, part in enumerate(["W_query", "W_key", "W_value"]):
                    state[".".join([*words[:-2], part, kind])] = tensor[place * width : (place + 1) * width]
                continue
            if words[-3] == "attn":
                words[-2] = "out_proj"
        state[".".join(words)] = tensor
    return state


# %% generate_cached wrong (misconception position-0-again): the positions of every pass start at 0, done is ignored
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        positions = torch.arange(new.shape[1], device=new.device)
        x = model.wte(new) + model.wpe(positions)
        for layer, block in enumerate(model.blocks):
            normed = block.ln_1(x)
            q, k, v = (
                split_heads(w(normed), model.config.n_heads)
                for w in (block.attn.W_query, block.attn.W_key, block.attn.W_value)
            )
            if kept[layer] is not None:
                k = torch.cat([kept[layer][0], k], dim=2)
                v = torch.cat([kept[layer][1], v], dim=2)
            kept[layer] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            future = torch.ones(new.shape[1], k.shape[2], dtype=torch.bool, device=new.device).triu(done + 1)
            scores = scores.masked_fill(future, -torch.inf)
            weights = scores.softmax(dim=-1)
            x = x + block.attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x) @ model.wte.weight.T
        done += new.shape[1]
        new = logits[:, -1:].argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (misconception prompt-without-a-mask): no causal mask, so the positions of the prompt see later positions
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        positions = torch.arange(done, done + new.shape[1], device=new.device)
        x = model.wte(new) + model.wpe(positions)
        for layer, block in enumerate(model.blocks):
            normed = block.ln_1(x)
            q, k, v = (
                split_heads(w(normed), model.config.n_heads)
                for w in (block.attn.W_query, block.attn.W_key, block.attn.W_value)
            )
            if kept[layer] is not None:
                k = torch.cat([kept[layer][0], k], dim=2)
                v = torch.cat([kept[layer][1], v], dim=2)
            kept[layer] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            weights = scores.softmax(dim=-1)
            x = x + block.attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x) @ model.wte.weight.T
        done += new.shape[1]
        new = logits[:, -1:].argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (misconception first-text-only): all texts of a batch get the token chosen for the first text; right for one text
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        positions = torch.arange(done, done + new.shape[1], device=new.device)
        x = model.wte(new) + model.wpe(positions)
        for layer, block in enumerate(model.blocks):
            normed = block.ln_1(x)
            q, k, v = (
                split_heads(w(normed), model.config.n_heads)
                for w in (block.attn.W_query, block.attn.W_key, block.attn.W_value)
            )
            if kept[layer] is not None:
                k = torch.cat([kept[layer][0], k], dim=2)
                v = torch.cat([kept[layer][1], v], dim=2)
            kept[layer] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            future = torch.ones(new.shape[1], k.shape[2], dtype=torch.bool, device=new.device).triu(done + 1)
            scores = scores.masked_fill(future, -torch.inf)
            weights = scores.softmax(dim=-1)
            x = x + block.attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x) @ model.wte.weight.T
        done += new.shape[1]
        new = logits[0, -1].argmax().expand(len(tokens), 1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (shape): stops at the last token of the vocabulary, GPT-2's end of text, if all texts chose it
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        positions = torch.arange(done, done + new.shape[1], device=new.device)
        x = model.wte(new) + model.wpe(positions)
        for layer, block in enumerate(model.blocks):
            normed = block.ln_1(x)
            q, k, v = (
                split_heads(w(normed), model.config.n_heads)
                for w in (block.attn.W_query, block.attn.W_key, block.attn.W_value)
            )
            if kept[layer] is not None:
                k = torch.cat([kept[layer][0], k], dim=2)
                v = torch.cat([kept[layer][1], v], dim=2)
            kept[layer] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            future = torch.ones(new.shape[1], k.shape[2], dtype=torch.bool, device=new.device).triu(done + 1)
            scores = scores.masked_fill(future, -torch.inf)
            weights = scores.softmax(dim=-1)
            x = x + block.attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x) @ model.wte.weight.T
        done += new.shape[1]
        new = logits[:, -1:].argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
        if (new == model.config.vocab_size - 1).all():
            break
    return tokens


# %% generate_cached wrong (property keeps_keys_and_values): the right tokens, but nothing is kept: the whole text goes through the model for each token
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in model.blocks:
            x = x + block.attn(block.ln_1(x))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x) @ model.wte.weight.T
        done += new.shape[1]
        new = logits[:, -1:].argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached right (passed): split_heads, cat, and a mask that is shifted by done
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        positions = torch.arange(done, done + new.shape[1], device=new.device)
        x = model.wte(new) + model.wpe(positions)
        for layer, block in enumerate(model.blocks):
            normed = block.ln_1(x)
            q, k, v = (
                split_heads(w(normed), model.config.n_heads)
                for w in (block.attn.W_query, block.attn.W_key, block.attn.W_value)
            )
            if kept[layer] is not None:
                k = torch.cat([kept[layer][0], k], dim=2)
                v = torch.cat([kept[layer][1], v], dim=2)
            kept[layer] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            future = torch.ones(new.shape[1], k.shape[2], dtype=torch.bool, device=new.device).triu(done + 1)
            scores = scores.masked_fill(future, -torch.inf)
            weights = scores.softmax(dim=-1)
            x = x + block.attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x) @ model.wte.weight.T
        done += new.shape[1]
        new = logits[:, -1:].argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached right (passed): scaled_dot_product_attention with a table of visible positions, unflatten, scores of the last position only
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        count = new.size(1)
        places = torch.arange(done + count, device=new.device)
        visible = places[None, :] <= places[done:, None]
        stream = model.wte(new).add(model.wpe(places[done:]))
        for number, block in enumerate(model.blocks):
            attn, read = block.attn, block.ln_1(stream)
            query, key, value = [
                layer(read).unflatten(-1, (model.config.n_heads, -1)).movedim(2, 1)
                for layer in (attn.W_query, attn.W_key, attn.W_value)
            ]
            if done > 0:
                key = torch.cat((kept[number][0], key), dim=-2)
                value = torch.cat((kept[number][1], value), dim=-2)
            kept[number] = [key, value]
            mixed = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=visible)
            stream = stream + attn.out_proj(mixed.movedim(1, 2).flatten(start_dim=2))
            stream = stream + block.mlp(block.ln_2(stream))
        done = done + count
        scores = nn.functional.linear(model.ln_f(stream[:, -1]), model.wte.weight)
        new = scores.topk(1, dim=-1).indices
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


