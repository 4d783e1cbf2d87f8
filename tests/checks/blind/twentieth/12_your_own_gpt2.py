# %% gelu wrong (misconception root-forgotten): the factor in front of the bracket is 2 / π without the square root
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    return x / 2 * (1 + torch.tanh(2 / torch.pi * (x + 0.044715 * x**3)))


# %% gelu wrong (misconception one-outside-the-bracket): the bracket around 1 + tanh is missing, so the result is x / 2 plus the tanh
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    return x / 2 * 1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3))


# %% gelu wrong (misconception exact): the exact GELU with erf instead of the form with tanh; differs by less than 0.0005
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    return x / 2 * (1 + torch.erf(x / 2**0.5))


# %% gelu wrong (property finite_when_scaled): tanh is written out as (e^2u - 1) / (e^2u + 1), which is inf / inf = nan for large positive inputs (from about 10 on in float32)
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    inner = (2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)
    grown = torch.exp(2 * inner)
    return x / 2 * (1 + (grown - 1) / (grown + 1))


# %% gelu wrong (property finite_when_scaled): x itself is clamped to -10 ... 10 to keep numbers finite, so every input above 10 returns 10 and gets no gradient
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    x = x.clamp(-10, 10)
    return 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))


# %% gelu right (passed): the formula as on the page
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    return x / 2 * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))


# %% gelu right (passed): (1 + tanh u) / 2 written as the sigmoid of 2u, the cube factored
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    import math

    u = math.sqrt(2 / math.pi) * x * (1 + 0.044715 * x * x)
    return x * torch.sigmoid(2 * u)


# %% MLP wrong (misconception no-bend): gelu is forgotten in forward, so the two linear layers are one linear map
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        # Two linear layers.
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        # To the larger width, through gelu, and back.
        x = self.c_fc(x)
        return self.c_proj(x)


# %% MLP wrong (misconception returns-its-input-too): forward adds its input to the result; the addition to the stream belongs to the block
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        # Two linear layers.
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        # To the larger width, through gelu, and back.
        return x + self.c_proj(gelu(self.c_fc(x)))


# %% MLP wrong (misconception always-four-times): the hidden width is always 4 * d_model and the argument d_mlp is ignored; right only if d_mlp happens to be 4 * d_model
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        # Two linear layers.
        self.c_fc = nn.Linear(d_model, 4 * d_model)
        self.c_proj = nn.Linear(4 * d_model, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        # To the larger width, through gelu, and back.
        return self.c_proj(gelu(self.c_fc(x)))


# %% MLP wrong (structure): c_proj is made without a bias; the shape of the output is right, but c_proj.bias does not exist
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        # Two linear layers.
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model, bias=False)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        # To the larger width, through gelu, and back.
        return self.c_proj(gelu(self.c_fc(x)))


# %% MLP wrong (shape): x is flattened to [positions, d_model] and never brought back to its shape; right for two axes, [batch * seq, d_model] for a batch of texts
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        # Two linear layers.
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        # To the larger width, through gelu, and back.
        rows = x.reshape(-1, x.shape[-1])
        wide = gelu(self.c_fc(rows))
        return self.c_proj(wide)


# %% MLP right (passed): two assignments and one nested expression
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        # Two linear layers.
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        # To the larger width, through gelu, and back.
        return self.c_proj(gelu(self.c_fc(x)))


# %% MLP right (passed): the layers registered by add_module in a loop, forward as a chain of steps in a loop
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        # Two linear layers.
        for name, width_in, width_out in (("c_fc", d_model, d_mlp), ("c_proj", d_mlp, d_model)):
            self.add_module(name, nn.Linear(width_in, width_out, bias=True))

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        # To the larger width, through gelu, and back.
        for step in (self.c_fc, gelu, self.c_proj):
            x = step(x)
        return x


# %% Block wrong (misconception post-norm): post-norm, the norms act on the sums and attention and MLP read the stream without a norm
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        # Two norms, attention and an MLP.
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, qkv_bias=True)
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        # Attention adds to the stream, then the MLP does.
        x = self.ln_1(x + self.attn(x))
        return self.ln_2(x + self.mlp(x))


# %% Block wrong (misconception no-second-sum): the MLP's result is returned instead of being added to the stream
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        # Two norms, attention and an MLP.
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, qkv_bias=True)
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        # Attention adds to the stream, then the MLP does.
        x = x + self.attn(self.ln_1(x))
        return self.mlp(self.ln_2(x))


# %% Block wrong (misconception side-by-side): attention and MLP both read the block's input; the MLP does not see what attention has just added
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        # Two norms, attention and an MLP.
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, qkv_bias=True)
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        # Attention adds to the stream, then the MLP does.
        return x + self.attn(self.ln_1(x)) + self.mlp(self.ln_2(x))


# %% Block wrong (misconception eps-as-in-lesson-06): the norms keep LayerNorm's default eps of 1e-6 instead of config.eps; shows only where the variance is small or eps is large
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        # Two norms, attention and an MLP.
        self.ln_1 = LayerNorm(d)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, qkv_bias=True)
        self.ln_2 = LayerNorm(d)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        # Attention adds to the stream, then the MLP does.
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


# %% Block wrong (misconception first-norm-twice): the MLP reads through ln_1, and ln_2 is made but never used; a new block is right because both norms start equal, a trained or loaded one is wrong
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        # Two norms, attention and an MLP.
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, qkv_bias=True)
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        # Attention adds to the stream, then the MLP does.
        x = x + self.attn(self.ln_1(x))
        x = x + self.mlp(self.ln_1(x))
        return x


# %% Block right (passed): positional arguments, two additions
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        # Two norms, attention and an MLP.
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, True)
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        # Attention adds to the stream, then the MLP does.
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


# %% Block right (passed): keyword arguments, a loop over the two pairs of norm and part
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        # Two norms, attention and an MLP.
        self.ln_1 = LayerNorm(d_model=d, eps=config.eps)
        self.attn = MultiHeadAttention(
            d_in=d, d_out=d, context_length=config.n_positions, dropout=0.0, num_heads=config.n_heads, qkv_bias=True
        )
        self.ln_2 = LayerNorm(d_model=d, eps=config.eps)
        self.mlp = MLP(d_model=d, d_mlp=d * 4)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        # Attention adds to the stream, then the MLP does.
        stream = x
        for norm, part in ((self.ln_1, self.attn), (self.ln_2, self.mlp)):
            stream = stream + part(norm(stream))
        return stream


# %% GPT wrong (misconception no-final-norm): the last norm ln_f is made but not applied before the logits
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        # Two embeddings, the blocks, and the last norm.
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        # From tokens to logits.
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return x @ self.wte.weight.T


# %% GPT wrong (structure): an output layer of its own makes the logits; the head is not tied to wte and the model has extra parameters
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        # Two embeddings, the blocks, and the last norm.
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(config.d_model, config.eps)
        self.head = nn.Linear(config.d_model, config.vocab_size, bias=False)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        # From tokens to logits.
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln_f(x))


# %% GPT wrong (structure): the ModuleList holds the same Block n_layers times, so all blocks share their parameters; shows with two or more layers
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        # Two embeddings, the blocks, and the last norm.
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config)] * config.n_layers)
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        # From tokens to logits.
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T


# %% GPT wrong (property moves_with_its_module): the positions are made without device=tokens.device and stay on the CPU; fails as soon as model and tokens are on another device
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        # Two embeddings, the blocks, and the last norm.
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        # From tokens to logits.
        positions = torch.arange(tokens.shape[1])
        x = self.wte(tokens) + self.wpe(positions)
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T


# %% GPT wrong (misconception final-norm-every-block): ln_f is applied inside the loop, after every block, so later blocks get a rescaled stream; right with one layer only
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        # Two embeddings, the blocks, and the last norm.
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        # From tokens to logits.
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
            x = self.ln_f(x)
        return x @ self.wte.weight.T


# %% GPT right (passed): arange on the tokens' device, product with the transposed embeddings
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        # Two embeddings, the blocks, and the last norm.
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        # From tokens to logits.
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T


# %% GPT right (passed): the blocks appended in a loop, the first rows of wpe.weight as positions, nn.functional.linear as the tied head
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        # Two embeddings, the blocks, and the last norm.
        d = config.d_model
        self.wte = nn.Embedding(num_embeddings=config.vocab_size, embedding_dim=d)
        self.wpe = nn.Embedding(num_embeddings=config.n_positions, embedding_dim=d)
        self.blocks = nn.ModuleList()
        for _ in range(config.n_layers):
            self.blocks.append(Block(config))
        self.ln_f = LayerNorm(d, eps=config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        # From tokens to logits.
        batch, seq = tokens.shape
        stream = self.wte(tokens) + self.wpe.weight[:seq]
        for layer in range(len(self.blocks)):
            stream = self.blocks[layer](stream)
        normalised = self.ln_f(stream)
        return nn.functional.linear(normalised, self.wte.weight)


# %% gpt2_state wrong (misconception norms-by-their-names): the norms keep the file's names weight and bias instead of w and b (ln_1, ln_2 and ln_f)
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    # Every tensor gets the name and the layout that GPT expects.
    for name in ("wte.weight", "wpe.weight", "ln_f.weight", "ln_f.bias"):
        state[name] = found[name]
    for i in range(config.n_layers):
        old, new = f"h.{i}.", f"blocks.{i}."
        for norm in ("ln_1", "ln_2"):
            for kind in ("weight", "bias"):
                state[f"{new}{norm}.{kind}"] = found[f"{old}{norm}.{kind}"]
        weights = found[old + "attn.c_attn.weight"].split(config.d_model, dim=1)
        biases = found[old + "attn.c_attn.bias"].split(config.d_model)
        for name, weight, bias in zip(("W_query", "W_key", "W_value"), weights, biases):
            state[f"{new}attn.{name}.weight"] = weight.T
            state[f"{new}attn.{name}.bias"] = bias
        state[new + "attn.out_proj.weight"] = found[old + "attn.c_proj.weight"].T
        state[new + "attn.out_proj.bias"] = found[old + "attn.c_proj.bias"]
        for name in ("c_fc", "c_proj"):
            state[f"{new}mlp.{name}.weight"] = found[f"{old}mlp.{name}.weight"].T
            state[f"{new}mlp.{name}.bias"] = found[f"{old}mlp.{name}.bias"]
    return state


# %% gpt2_state wrong (misconception embedding-turned): every tensor with two axes is transposed, also the embeddings wte and wpe, which must keep their layout
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    # Every tensor gets the name and the layout that GPT expects.
    found = {name: tensor.T if tensor.ndim == 2 else tensor for name, tensor in found.items()}
    state["wte.weight"] = found["wte.weight"]
    state["wpe.weight"] = found["wpe.weight"]
    state["ln_f.w"] = found["ln_f.weight"]
    state["ln_f.b"] = found["ln_f.bias"]
    for i in range(config.n_layers):
        old, new = f"h.{i}.", f"blocks.{i}."
        for norm in ("ln_1", "ln_2"):
            state[f"{new}{norm}.w"] = found[f"{old}{norm}.weight"]
            state[f"{new}{norm}.b"] = found[f"{old}{norm}.bias"]
        for kind in ("weight", "bias"):
            q, k, v = found[f"{old}attn.c_attn.{kind}"].chunk(3)
            state[f"{new}attn.W_query.{kind}"] = q
            state[f"{new}attn.W_key.{kind}"] = k
            state[f"{new}attn.W_value.{kind}"] = v
            state[f"{new}attn.out_proj.{kind}"] = found[f"{old}attn.c_proj.{kind}"]
            state[f"{new}mlp.c_fc.{kind}"] = found[f"{old}mlp.c_fc.{kind}"]
            state[f"{new}mlp.c_proj.{kind}"] = found[f"{old}mlp.c_proj.{kind}"]
    return state


# %% gpt2_state wrong (misconception out_proj-not-turned): attn.c_proj.weight is not transposed; it is square, so loading gives no error and only the numbers are wrong
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    # Every tensor gets the name and the layout that GPT expects.
    state["wte.weight"], state["wpe.weight"] = found["wte.weight"], found["wpe.weight"]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    for i in range(config.n_layers):
        old, new = f"h.{i}.", f"blocks.{i}."
        for norm in ("ln_1", "ln_2"):
            state[f"{new}{norm}.w"] = found[f"{old}{norm}.weight"]
            state[f"{new}{norm}.b"] = found[f"{old}{norm}.bias"]
        weights = found[old + "attn.c_attn.weight"].split(config.d_model, dim=1)
        biases = found[old + "attn.c_attn.bias"].split(config.d_model)
        for name, weight, bias in zip(("W_query", "W_key", "W_value"), weights, biases):
            state[f"{new}attn.{name}.weight"] = weight.T
            state[f"{new}attn.{name}.bias"] = bias
        state[new + "attn.out_proj.weight"] = found[old + "attn.c_proj.weight"]
        state[new + "attn.out_proj.bias"] = found[old + "attn.c_proj.bias"]
        for name in ("c_fc", "c_proj"):
            state[f"{new}mlp.{name}.weight"] = found[f"{old}mlp.{name}.weight"].T
            state[f"{new}mlp.{name}.bias"] = found[f"{old}mlp.{name}.bias"]
    return state


# %% gpt2_state wrong (property names_fit_the_model): the block's number is read as the single character name[2], so from block 10 on the names are wrong ("h.10.ln_1.weight" becomes "blocks.1..ln_1.w")
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    # Every tensor gets the name and the layout that GPT expects.
    for name, tensor in found.items():
        prefix = ""
        if name.startswith("h."):
            prefix, name = f"blocks.{name[2]}.", name[4:]
        if "attn" in name or "mlp" in name:
            tensor = tensor.T if name.endswith("weight") else tensor
            name = name.replace("attn.c_proj", "attn.out_proj")
        elif "ln_" in name:
            name = name.replace("weight", "w").replace("bias", "b")
        if "c_attn" in name:
            for part, piece in zip(("W_query", "W_key", "W_value"), tensor.chunk(3)):
                state[prefix + name.replace("c_attn", part)] = piece
        else:
            state[prefix + name] = tensor
    return state


# %% gpt2_state wrong (property from_which_tensor): the bias of c_attn is cut as if queries, keys and values alternated (entries 0::3, 1::3, 2::3) and not as three blocks one after the other; hidden while biases are 0
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    # Every tensor gets the name and the layout that GPT expects.
    state["wte.weight"], state["wpe.weight"] = found["wte.weight"], found["wpe.weight"]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    for i in range(config.n_layers):
        old, new = f"h.{i}.", f"blocks.{i}."
        for norm in ("ln_1", "ln_2"):
            state[f"{new}{norm}.w"] = found[f"{old}{norm}.weight"]
            state[f"{new}{norm}.b"] = found[f"{old}{norm}.bias"]
        weights = found[old + "attn.c_attn.weight"].split(config.d_model, dim=1)
        bias = found[old + "attn.c_attn.bias"]
        for part, name in enumerate(("W_query", "W_key", "W_value")):
            state[f"{new}attn.{name}.weight"] = weights[part].T
            state[f"{new}attn.{name}.bias"] = bias[part::3]
        state[new + "attn.out_proj.weight"] = found[old + "attn.c_proj.weight"].T
        state[new + "attn.out_proj.bias"] = found[old + "attn.c_proj.bias"]
        for name in ("c_fc", "c_proj"):
            state[f"{new}mlp.{name}.weight"] = found[f"{old}mlp.{name}.weight"].T
            state[f"{new}mlp.{name}.bias"] = found[f"{old}mlp.{name}.bias"]
    return state


# %% gpt2_state right (passed): a loop over the blocks, each tensor by its own name, split for c_attn
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    # Every tensor gets the name and the layout that GPT expects.
    state["wte.weight"], state["wpe.weight"] = found["wte.weight"], found["wpe.weight"]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    for i in range(config.n_layers):
        old, new = f"h.{i}.", f"blocks.{i}."
        for norm in ("ln_1", "ln_2"):
            state[f"{new}{norm}.w"] = found[f"{old}{norm}.weight"]
            state[f"{new}{norm}.b"] = found[f"{old}{norm}.bias"]
        weights = found[old + "attn.c_attn.weight"].split(config.d_model, dim=1)
        biases = found[old + "attn.c_attn.bias"].split(config.d_model)
        for name, weight, bias in zip(("W_query", "W_key", "W_value"), weights, biases):
            state[f"{new}attn.{name}.weight"] = weight.T
            state[f"{new}attn.{name}.bias"] = bias
        state[new + "attn.out_proj.weight"] = found[old + "attn.c_proj.weight"].T
        state[new + "attn.out_proj.bias"] = found[old + "attn.c_proj.bias"]
        for name in ("c_fc", "c_proj"):
            state[f"{new}mlp.{name}.weight"] = found[f"{old}mlp.{name}.weight"].T
            state[f"{new}mlp.{name}.bias"] = found[f"{old}mlp.{name}.bias"]
    return state


# %% gpt2_state right (passed): a loop over the file's tensors that takes each name apart at its dots, chunk after the transpose for c_attn
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    # Every tensor gets the name and the layout that GPT expects.
    for name, tensor in found.items():
        *path, module, kind = name.split(".")
        if path:
            path[0] = "blocks"
        if module.startswith("ln_"):
            state[".".join([*path, module, {"weight": "w", "bias": "b"}[kind]])] = tensor
            continue
        if path and kind == "weight":
            tensor = tensor.transpose(0, 1)
        if module == "c_attn":
            for part, third in zip(["W_query", "W_key", "W_value"], torch.chunk(tensor, 3, dim=0)):
                state[".".join([*path, part, kind])] = third.clone()
            continue
        if module == "c_proj" and path[-1] == "attn":
            module = "out_proj"
        state[".".join([*path, module, kind])] = tensor.clone()
    return state


# %% generate_cached wrong (property keeps_keys_and_values): each pass runs the whole text through the model and nothing is kept; the tokens are right, but earlier positions go through the model again in every pass
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        # One pass, in which only the positions of `new` go through the model.
        logits = model(tokens)
        done += new.shape[1]
        new = logits[:, -1:].argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (misconception prompt-without-a-mask): there is no causal mask, so in the first pass the positions of the prompt attend to later positions; right for a prompt of one token
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        # One pass, in which only the positions of `new` go through the model.
        x = model.wte(new) + model.wpe(torch.arange(done, done + new.shape[1], device=new.device))
        for i, block in enumerate(model.blocks):
            attn, read = block.attn, block.ln_1(x)
            q, k, v = (split_heads(w(read), model.config.n_heads) for w in (attn.W_query, attn.W_key, attn.W_value))
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            weights = torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-1)
            x = x + attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1:]) @ model.wte.weight.T
        done += new.shape[1]
        new = logits.argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (misconception prompt-forgotten): kept stores only the keys and values of the newest pass instead of the joined ones; the first two new tokens are right, from the third pass on the prompt is lost
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        # One pass, in which only the positions of `new` go through the model.
        n = new.shape[1]
        x = model.wte(new) + model.wpe(torch.arange(done, done + n, device=new.device))
        for i, block in enumerate(model.blocks):
            attn, read = block.attn, block.ln_1(x)
            q, k, v = (split_heads(w(read), model.config.n_heads) for w in (attn.W_query, attn.W_key, attn.W_value))
            keys, values = k, v
            if kept[i] is not None:
                keys, values = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            total = keys.shape[2]
            hidden = torch.ones(n, total, dtype=torch.bool, device=x.device).triu(total - n + 1)
            scores = q @ keys.mT / q.shape[-1] ** 0.5
            weights = torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)
            x = x + attn.out_proj(merge_heads(weights @ values))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1:]) @ model.wte.weight.T
        done += n
        new = logits.argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (misconception ends-at-the-last-token): the loop stops without appending when all texts choose the last token of the vocabulary, GPT-2's end of text; the result can then be shorter than n_tokens demands
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        # One pass, in which only the positions of `new` go through the model.
        n = new.shape[1]
        x = model.wte(new) + model.wpe(torch.arange(done, done + n, device=new.device))
        hidden = torch.ones(n, done + n, dtype=torch.bool, device=x.device).triu(done + 1)
        for i, block in enumerate(model.blocks):
            attn, read = block.attn, block.ln_1(x)
            q, k, v = (split_heads(w(read), model.config.n_heads) for w in (attn.W_query, attn.W_key, attn.W_value))
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            weights = torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)
            x = x + attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1:]) @ model.wte.weight.T
        done += n
        new = logits.argmax(dim=-1)
        if (new == model.config.vocab_size - 1).all():
            break
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (misconception position-counts-the-passes): done grows by 1 after every pass, also after the prompt, so the new tokens get the position vectors of positions 1, 2, ...; right for a prompt of one token
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        # One pass, in which only the positions of `new` go through the model.
        n = new.shape[1]
        x = model.wte(new) + model.wpe(torch.arange(done, done + n, device=new.device))
        for i, block in enumerate(model.blocks):
            attn, read = block.attn, block.ln_1(x)
            q, k, v = (split_heads(w(read), model.config.n_heads) for w in (attn.W_query, attn.W_key, attn.W_value))
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            total = k.shape[2]
            hidden = torch.ones(n, total, dtype=torch.bool, device=x.device).triu(total - n + 1)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            weights = torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)
            x = x + attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1:]) @ model.wte.weight.T
        done += 1
        new = logits.argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached right (passed): split_heads and merge_heads, masked softmax written out, a mask shifted by done
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        # One pass, in which only the positions of `new` go through the model.
        n = new.shape[1]
        x = model.wte(new) + model.wpe(torch.arange(done, done + n, device=new.device))
        hidden = torch.ones(n, done + n, dtype=torch.bool, device=x.device).triu(done + 1)
        for i, block in enumerate(model.blocks):
            attn, read = block.attn, block.ln_1(x)
            q, k, v = (split_heads(w(read), model.config.n_heads) for w in (attn.W_query, attn.W_key, attn.W_value))
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            weights = torch.softmax(scores.masked_fill(hidden, -torch.inf), dim=-1)
            x = x + attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1:]) @ model.wte.weight.T
        done += n
        new = logits.argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached right (passed): scaled_dot_product_attention with a table of visible positions, heads split by unflatten, argmax of the last row with keepdim
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        # One pass, in which only the positions of `new` go through the model.
        key_places = torch.arange(done + new.shape[1], device=tokens.device)
        places = key_places[done:]
        visible = key_places[None, :] <= places[:, None]
        stream = model.wte(new) + model.wpe(places)
        for layer, block in enumerate(model.blocks):
            normed = block.ln_1(stream)
            heads = []
            for linear in (block.attn.W_query, block.attn.W_key, block.attn.W_value):
                heads.append(linear(normed).unflatten(-1, (model.config.n_heads, -1)).transpose(1, 2))
            queries, keys, values = heads
            if done > 0:
                old_keys, old_values = kept[layer]
                keys = torch.cat((old_keys, keys), dim=-2)
                values = torch.cat((old_values, values), dim=-2)
            kept[layer] = keys, values
            mixed = nn.functional.scaled_dot_product_attention(queries, keys, values, attn_mask=visible)
            stream = stream + block.attn.out_proj(mixed.transpose(1, 2).flatten(2))
            stream = stream + block.mlp(block.ln_2(stream))
        last = model.ln_f(stream[:, -1])
        done = done + new.shape[1]
        new = nn.functional.linear(last, model.wte.weight).argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens
