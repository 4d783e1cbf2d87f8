# %% gelu wrong (misconception square-for-cube): squares x instead of taking the third power
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    return x / 2 * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**2)))


# %% gelu wrong (misconception root-of-two-only): the root covers only the 2, not the fraction 2 / pi
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    return 0.5 * x * (1 + torch.tanh(2**0.5 / torch.pi * (x + 0.044715 * x**3)))


# %% gelu wrong (misconception exact): (subtle) the exact GELU with erf, not GPT-2's form with tanh; differs by up to 0.0005
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    return nn.functional.gelu(x)


# %% gelu wrong (property finite_when_scaled): (subtle) writes tanh with two exponentials, so large inputs give inf / inf = nan
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    inner = (2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)
    up, down = torch.exp(inner), torch.exp(-inner)
    return 0.5 * x * (1 + (up - down) / (up + down))


# %% gelu right (passed): the formula
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    return x / 2 * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))


# %% gelu right (passed): (1 + tanh(u)) / 2 is sigmoid(2u)
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    inner = (2 / torch.pi) ** 0.5 * x * (1 + 0.044715 * x.square())
    return x * torch.sigmoid(2 * inner)


# %% MLP wrong (misconception no-bend): no gelu between the two linear layers
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.c_proj(self.c_fc(x))


# %% MLP wrong (misconception bent-twice): gelu once more after c_proj
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return gelu(self.c_proj(gelu(self.c_fc(x))))


# %% MLP wrong (misconception always-four-times): (subtle) ignores d_mlp and is always four times as wide
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, 4 * d_model)
        self.c_proj = nn.Linear(4 * d_model, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.c_proj(gelu(self.c_fc(x)))


# %% MLP wrong (misconception exact): (subtle) nn.GELU() instead of the page's gelu: the exact curve, off by up to 0.0005 before c_proj
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.act = nn.GELU()
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.c_proj(self.act(self.c_fc(x)))


# %% MLP right (passed): two linear layers with gelu between
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.c_proj(gelu(self.c_fc(x)))


# %% MLP right (passed): functional linear maps with the layers' weights, one step a line
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.add_module("c_fc", nn.Linear(in_features=d_model, out_features=d_mlp, bias=True))
        self.add_module("c_proj", nn.Linear(in_features=d_mlp, out_features=d_model, bias=True))

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        wide = nn.functional.linear(x, self.c_fc.weight, self.c_fc.bias)
        bent = gelu(wide)
        return nn.functional.linear(bent, self.c_proj.weight, self.c_proj.bias)


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


# %% Block wrong (misconception side-by-side): attention and MLP in parallel, the MLP does not see what attention added
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


# %% Block wrong (misconception eps-as-in-lesson-06): (subtle) the norms keep their default eps, which shows if config.eps is not 1e-6
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


# %% Block wrong (property leaves_its_inputs): (subtle) += changes the caller's stream in place
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, qkv_bias=True)
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        x += self.attn(self.ln_1(x))
        x += self.mlp(self.ln_2(x))
        return x


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
        self.ln_1, self.ln_2 = LayerNorm(d_model=d, eps=config.eps), LayerNorm(d_model=d, eps=config.eps)
        self.attn = MultiHeadAttention(
            d_in=d, d_out=d, context_length=config.n_positions, dropout=0.0, num_heads=config.n_heads, qkv_bias=True
        )
        self.mlp = MLP(d_model=d, d_mlp=d * 4)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        for norm, half in ((self.ln_1, self.attn), (self.ln_2, self.mlp)):
            x = torch.add(x, half(norm(x)))
        return x


# %% GPT wrong (structure): a separate output layer instead of the tied embeddings
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


# %% GPT wrong (misconception positions-of-the-batch): positions are counted along the batch instead of along the text
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        positions = torch.arange(tokens.size(0), device=tokens.device)
        x = self.wte(tokens) + self.wpe(positions)[:, None]
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T


# %% GPT wrong (structure): (subtle) the list repeats one block, so all layers share their weights; right only for one layer
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


# %% GPT wrong (property moves_with_its_module): (subtle) arange without a device, which fails if the model and the tokens are not on the CPU
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


# %% GPT right (passed): embeddings, a loop over the blocks, product with wte transposed
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layers))
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T


# %% GPT right (passed): positions by cumsum of ones, appends blocks one by one, functional linear
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList()
        for _ in range(config.n_layers):
            self.blocks.append(Block(config))
        self.ln_f = LayerNorm(config.d_model, eps=config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        positions = torch.ones_like(tokens).cumsum(dim=1) - 1
        stream = self.wpe(positions) + self.wte(tokens)
        for layer in range(len(self.blocks)):
            stream = self.blocks[layer](stream)
        return nn.functional.linear(self.ln_f(stream), self.wte.weight)


# %% gpt2_state wrong (misconception out_proj-not-turned): does not transpose the square c_proj of attn
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    for name in ("wte.weight", "wpe.weight"):
        state[name] = found[name]
    for short, long in (("w", "weight"), ("b", "bias")):
        state[f"ln_f.{short}"] = found[f"ln_f.{long}"]
    for i in range(config.n_layers):
        old, new = f"h.{i}.", f"blocks.{i}."
        for norm in ("ln_1", "ln_2"):
            state[f"{new}{norm}.w"] = found[f"{old}{norm}.weight"]
            state[f"{new}{norm}.b"] = found[f"{old}{norm}.bias"]
        weights = found[f"{old}attn.c_attn.weight"].T.chunk(3, dim=0)
        biases = found[f"{old}attn.c_attn.bias"].chunk(3, dim=0)
        for part, weight, bias in zip(("W_query", "W_key", "W_value"), weights, biases):
            state[f"{new}attn.{part}.weight"], state[f"{new}attn.{part}.bias"] = weight, bias
        state[f"{new}attn.out_proj.weight"] = found[f"{old}attn.c_proj.weight"]
        state[f"{new}attn.out_proj.bias"] = found[f"{old}attn.c_proj.bias"]
        for part in ("c_fc", "c_proj"):
            state[f"{new}mlp.{part}.weight"] = found[f"{old}mlp.{part}.weight"].T
            state[f"{new}mlp.{part}.bias"] = found[f"{old}mlp.{part}.bias"]
    return state


# %% gpt2_state wrong (misconception keys-first): takes the parts of c_attn in the order keys, queries, values
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    for name in ("wte.weight", "wpe.weight"):
        state[name] = found[name]
    for short, long in (("w", "weight"), ("b", "bias")):
        state[f"ln_f.{short}"] = found[f"ln_f.{long}"]
    for i in range(config.n_layers):
        old, new = f"h.{i}.", f"blocks.{i}."
        for norm in ("ln_1", "ln_2"):
            state[f"{new}{norm}.w"] = found[f"{old}{norm}.weight"]
            state[f"{new}{norm}.b"] = found[f"{old}{norm}.bias"]
        weights = found[f"{old}attn.c_attn.weight"].T.chunk(3, dim=0)
        biases = found[f"{old}attn.c_attn.bias"].chunk(3, dim=0)
        for part, weight, bias in zip(("W_key", "W_query", "W_value"), weights, biases):
            state[f"{new}attn.{part}.weight"], state[f"{new}attn.{part}.bias"] = weight, bias
        state[f"{new}attn.out_proj.weight"] = found[f"{old}attn.c_proj.weight"].T
        state[f"{new}attn.out_proj.bias"] = found[f"{old}attn.c_proj.bias"]
        for part in ("c_fc", "c_proj"):
            state[f"{new}mlp.{part}.weight"] = found[f"{old}mlp.{part}.weight"].T
            state[f"{new}mlp.{part}.bias"] = found[f"{old}mlp.{part}.bias"]
    return state


# %% gpt2_state wrong (property names_fit_the_model): (subtle) reads the block's number as one character of the name, wrong from the eleventh block on
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    for name, tensor in found.items():
        if name.startswith("w"):
            state[name] = tensor
            continue
        new = name
        if name.startswith("h."):
            new = f"blocks.{name[2]}.{name[4:].lstrip('.')}"
        if "ln_" in name:
            state[new.replace("weight", "w").replace("bias", "b")] = tensor
        elif "c_attn" in name:
            for part, piece in zip(("W_query", "W_key", "W_value"), tensor.chunk(3, dim=-1)):
                state[new.replace("c_attn", part)] = piece.T if piece.ndim == 2 else piece
        else:
            state[new.replace("attn.c_proj", "attn.out_proj")] = tensor.T if tensor.ndim == 2 else tensor
    return state


# %% gpt2_state wrong (property leaves_its_inputs): (subtle) transposes the checkpoint's own tensors in place, so the file's tensors change and a second call fails
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    for name, tensor in found.items():
        if name.startswith("w"):
            state[name] = tensor
            continue
        new = "blocks." + name[2:] if name.startswith("h.") else name
        if tensor.ndim == 2:
            tensor.t_()
        if "ln_" in name:
            state[new.replace("weight", "w").replace("bias", "b")] = tensor
        elif "c_attn" in name:
            for part, piece in zip(("W_query", "W_key", "W_value"), tensor.chunk(3, dim=0)):
                state[new.replace("c_attn", part)] = piece
        else:
            state[new.replace("attn.c_proj", "attn.out_proj")] = tensor
    return state


# %% gpt2_state right (passed): a loop over layers with the names written out
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    for name in ("wte.weight", "wpe.weight"):
        state[name] = found[name]
    for short, long in (("w", "weight"), ("b", "bias")):
        state[f"ln_f.{short}"] = found[f"ln_f.{long}"]
    for i in range(config.n_layers):
        old, new = f"h.{i}.", f"blocks.{i}."
        for norm in ("ln_1", "ln_2"):
            state[f"{new}{norm}.w"] = found[f"{old}{norm}.weight"]
            state[f"{new}{norm}.b"] = found[f"{old}{norm}.bias"]
        weights = found[f"{old}attn.c_attn.weight"].T.chunk(3, dim=0)
        biases = found[f"{old}attn.c_attn.bias"].chunk(3, dim=0)
        for part, weight, bias in zip(("W_query", "W_key", "W_value"), weights, biases):
            state[f"{new}attn.{part}.weight"], state[f"{new}attn.{part}.bias"] = weight, bias
        state[f"{new}attn.out_proj.weight"] = found[f"{old}attn.c_proj.weight"].T
        state[f"{new}attn.out_proj.bias"] = found[f"{old}attn.c_proj.bias"]
        for part in ("c_fc", "c_proj"):
            state[f"{new}mlp.{part}.weight"] = found[f"{old}mlp.{part}.weight"].T
            state[f"{new}mlp.{part}.bias"] = found[f"{old}mlp.{part}.bias"]
    return state


# %% gpt2_state right (passed): takes each name apart and translates the pieces, with copies
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    for name, tensor in found.items():
        pieces = name.split(".")
        kind = pieces.pop()
        if pieces[0] == "h":
            pieces[0] = "blocks"
        last = pieces[-1]
        if last in ("wte", "wpe"):
            state[name] = tensor.clone()
        elif last.startswith("ln_"):
            state[".".join([*pieces, kind[0]])] = tensor.clone()
        else:
            turned = tensor.T.clone() if kind == "weight" else tensor.clone()
            if last == "c_attn":
                d = config.d_model
                for i, part in enumerate(("W_query", "W_key", "W_value")):
                    state[".".join([*pieces[:-1], part, kind])] = turned[i * d:(i + 1) * d].contiguous()
            else:
                if pieces[-2:] == ["attn", "c_proj"]:
                    pieces[-1] = "out_proj"
                state[".".join([*pieces, kind])] = turned.contiguous()
    return state


# %% generate_cached wrong (misconception position-0-again): every pass takes position vectors from 0 on, done is not used
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        seq = new.shape[1]
        x = model.wte(new) + model.wpe(torch.arange(seq, device=new.device))
        for i, block in enumerate(model.blocks):
            read, attn = block.ln_1(x), block.attn
            q, k, v = (
                layer(read).unflatten(-1, (model.config.n_heads, -1)).transpose(1, 2)
                for layer in (attn.W_query, attn.W_key, attn.W_value)
            )
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            future = torch.ones(seq, done + seq, dtype=torch.bool, device=new.device).triu(done + 1)
            scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(future, -torch.inf)
            mixed = (scores.softmax(dim=-1) @ v).transpose(1, 2).flatten(2)
            x = x + attn.out_proj(mixed)
            x = x + block.mlp(block.ln_2(x))
        done += seq
        logits = model.ln_f(x[:, -1]) @ model.wte.weight.T
        new = logits.argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (misconception sees-the-first-only): is_causal=True in every pass, so a new token sees only position 0
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        positions = torch.arange(done, done + new.shape[1], device=new.device)
        x = model.wte(new) + model.wpe(positions)
        for i, block in enumerate(model.blocks):
            read = block.ln_1(x)
            q = split_heads(block.attn.W_query(read), model.config.n_heads)
            k = split_heads(block.attn.W_key(read), model.config.n_heads)
            v = split_heads(block.attn.W_value(read), model.config.n_heads)
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + block.attn.out_proj(merge_heads(mixed))
            x = x + block.mlp(block.ln_2(x))
        done += new.shape[1]
        logits = model.ln_f(x)[:, -1:] @ model.wte.weight.T
        new = logits.argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (misconception first-text-only): (subtle) takes the first text's best token for all texts, right only for a batch of one
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        positions = torch.arange(done, done + new.shape[1], device=new.device)
        x = model.wte(new) + model.wpe(positions)
        for i, block in enumerate(model.blocks):
            read = block.ln_1(x)
            q = split_heads(block.attn.W_query(read), model.config.n_heads)
            k = split_heads(block.attn.W_key(read), model.config.n_heads)
            v = split_heads(block.attn.W_value(read), model.config.n_heads)
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=done == 0)
            x = x + block.attn.out_proj(merge_heads(mixed))
            x = x + block.mlp(block.ln_2(x))
        done += new.shape[1]
        best = (model.ln_f(x)[0, -1] @ model.wte.weight.T).argmax()
        new = best.expand(tokens.shape[0], 1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (property keeps_keys_and_values): (subtle) the right texts, but every pass runs the whole text through the model and keeps nothing
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in model.blocks:
            x = block(x)
        done = tokens.shape[1]
        new = (model.ln_f(x)[:, -1:] @ model.wte.weight.T).argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached right (passed): explicit scores and a mask for the new rows
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        seq = new.shape[1]
        x = model.wte(new) + model.wpe(torch.arange(done, done + seq, device=new.device))
        for i, block in enumerate(model.blocks):
            read, attn = block.ln_1(x), block.attn
            q, k, v = (
                layer(read).unflatten(-1, (model.config.n_heads, -1)).transpose(1, 2)
                for layer in (attn.W_query, attn.W_key, attn.W_value)
            )
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            future = torch.ones(seq, done + seq, dtype=torch.bool, device=new.device).triu(done + 1)
            scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(future, -torch.inf)
            mixed = (scores.softmax(dim=-1) @ v).transpose(1, 2).flatten(2)
            x = x + attn.out_proj(mixed)
            x = x + block.mlp(block.ln_2(x))
        done += seq
        logits = model.ln_f(x[:, -1]) @ model.wte.weight.T
        new = logits.argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached right (passed): scaled_dot_product_attention, causal only in the first pass
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        positions = torch.arange(done, done + new.shape[1], device=new.device)
        x = model.wte(new) + model.wpe(positions)
        for i, block in enumerate(model.blocks):
            read = block.ln_1(x)
            q = split_heads(block.attn.W_query(read), model.config.n_heads)
            k = split_heads(block.attn.W_key(read), model.config.n_heads)
            v = split_heads(block.attn.W_value(read), model.config.n_heads)
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=done == 0)
            x = x + block.attn.out_proj(merge_heads(mixed))
            x = x + block.mlp(block.ln_2(x))
        done += new.shape[1]
        logits = model.ln_f(x)[:, -1:] @ model.wte.weight.T
        new = logits.argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens
