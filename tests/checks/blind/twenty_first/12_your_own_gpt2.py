# %% gelu wrong (misconception no-one): the 1 + before tanh is forgotten, so the result is x/2 * tanh(...): positive on both sides, and only half of x for large x
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    inner = (2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)
    return x / 2 * torch.tanh(inner)


# %% gelu wrong (misconception outside-the-root): the root of 2/pi multiplies only x and not the cubic term, because the brackets are missing
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    return 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * x + 0.044715 * x**3))


# %% gelu wrong (misconception exact): the exact curve with erf instead of GPT-2's form with tanh; differs by less than 0.0005
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    return 0.5 * x * (1 + torch.erf(x / 2**0.5))


# %% gelu wrong (property finite_when_scaled): tanh is written with exp, which overflows for large inputs: inf / inf gives nan in float32 from about x = 14 on
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    z = (2 / torch.pi) ** 0.5 * (x + 0.044715 * x.pow(3))
    up, down = torch.exp(z), torch.exp(-z)
    tanh = (up - down) / (up + down)
    return x / 2 * (1 + tanh)


# %% gelu wrong (property finite_when_scaled): x is clamped to at most 10 to keep the results finite, and the clamped x is also the factor in front, so gelu(100) is 10
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    x = x.clamp(-10, 10)  # so that x ** 3 cannot overflow
    inner = (2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)
    return 0.5 * x * (1 + torch.tanh(inner))


# %% gelu right (passed): the formula as it stands on the page
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    return x / 2 * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))


# %% gelu right (passed): the same with a sigmoid, because (1 + tanh(z)) / 2 is sigmoid(2 z)
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    root = torch.tensor(2 / torch.pi, dtype=x.dtype, device=x.device).sqrt()
    inner = root * (x + 0.044715 * x * x * x)
    return x * torch.sigmoid(2 * inner)


# %% MLP wrong (misconception bend-first): gelu acts on the input of c_fc instead of between the two layers, so c_fc and c_proj are one linear map
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        # Two linear layers.
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        # To the larger width, through gelu, and back.
        x = gelu(x)
        x = self.c_fc(x)
        return self.c_proj(x)


# %% MLP wrong (misconception returns-its-input-too): forward adds its input to the result; that is the task of the block, so the stream would be added twice
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        # Two linear layers.
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        # To the larger width, through gelu, and back.
        return x + self.c_proj(gelu(self.c_fc(x)))


# %% MLP wrong (misconception always-four-times): the inner width is always 4 * d_model and d_mlp is ignored; shows only if d_mlp is another number
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        # Two linear layers.
        self.c_fc = nn.Linear(d_model, 4 * d_model)
        self.c_proj = nn.Linear(4 * d_model, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        # To the larger width, through gelu, and back.
        return self.c_proj(gelu(self.c_fc(x)))


# %% MLP wrong (property draws_nothing): a dropout of 0.1 after c_proj, as in other people's GPT-2; in training mode the output is random and not c_proj(gelu(c_fc(x))), in eval mode it is right
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        # Two linear layers.
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        # To the larger width, through gelu, and back.
        return self.dropout(self.c_proj(gelu(self.c_fc(x))))


# %% MLP wrong (structure): c_proj is made without a bias, so the file's mlp.c_proj.bias has no place in the model
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        # Two linear layers.
        self.c_fc = nn.Linear(d_model, d_mlp, bias=True)
        self.c_proj = nn.Linear(d_mlp, d_model, bias=False)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        # To the larger width, through gelu, and back.
        hidden = gelu(self.c_fc(x))
        return self.c_proj(hidden)


# %% MLP right (passed): two nn.Linear layers and the nested call
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        # Two linear layers.
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        # To the larger width, through gelu, and back.
        return self.c_proj(gelu(self.c_fc(x)))


# %% MLP right (passed): layers registered in a loop over names, forward as a loop over three steps
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        # Two linear layers.
        for name, (width_in, width_out) in {"c_fc": (d_model, d_mlp), "c_proj": (d_mlp, d_model)}.items():
            self.add_module(name, nn.Linear(width_in, width_out, bias=True))

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        # To the larger width, through gelu, and back.
        out = x
        for step in (self.c_fc, gelu, self.c_proj):
            out = step(out)
        return out


# %% Block wrong (misconception no-second-sum): the second half does not add to the stream: forward returns only the MLP's result
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


# %% Block wrong (misconception normed-stream-goes-on): x is overwritten by its normalised copy in both halves, so the results are added to the normalised vectors and not to the stream
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
        x = self.ln_1(x)
        x = x + self.attn(x)
        x = self.ln_2(x)
        x = x + self.mlp(x)
        return x


# %% Block wrong (misconception side-by-side): both halves read the stream that comes in (in parallel), so the MLP does not see what attention has added
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


# %% Block wrong (misconception first-norm-twice): the MLP reads through ln_1 and ln_2 is never used; a new block gives the right numbers, because both norms start equal, but loaded or trained weights do not
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


# %% Block wrong (property first_wrong_part): ln_2 is made without config.eps and keeps LayerNorm's default 1e-6; shows only if config.eps is another number, and then mostly for small vectors
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        # Two norms, attention and an MLP.
        self.ln_1 = LayerNorm(d, eps=config.eps)
        self.attn = MultiHeadAttention(
            d, d, context_length=config.n_positions, dropout=0.0, num_heads=config.n_heads, qkv_bias=True
        )
        self.ln_2 = LayerNorm(d)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        # Attention adds to the stream, then the MLP does.
        x = x + self.attn(self.ln_1(x))
        x = x + self.mlp(self.ln_2(x))
        return x


# %% Block right (passed): two lines, one for each half
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
        return x + self.mlp(self.ln_2(x))


# %% Block right (passed): keyword arguments, and a loop over pairs of norm and part
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        # Two norms, attention and an MLP.
        self.ln_1, self.ln_2 = LayerNorm(d_model=d, eps=config.eps), LayerNorm(d_model=d, eps=config.eps)
        self.attn = MultiHeadAttention(
            d_in=d, d_out=d, context_length=config.n_positions, dropout=0.0, num_heads=config.n_heads, qkv_bias=True
        )
        self.mlp = MLP(d_model=d, d_mlp=d * 4)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        # Attention adds to the stream, then the MLP does.
        stream = x
        for norm, part in ((self.ln_1, self.attn), (self.ln_2, self.mlp)):
            stream = stream + part(norm(stream))
        return stream


# %% GPT wrong (misconception probabilities): forward applies a softmax at the end and returns probabilities instead of logits
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
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.wte(tokens) + self.wpe(positions)
        for block in self.blocks:
            x = block(x)
        logits = self.ln_f(x) @ self.wte.weight.T
        return torch.softmax(logits, dim=-1)


# %% GPT wrong (structure): a separate output layer with its own matrix (nn.Linear) instead of the embeddings; the head is not tied, and the model has another parameter
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
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.wte(tokens) + self.wpe(positions)
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln_f(x))


# %% GPT wrong (structure): [Block(config)] * n_layers puts the same block into the list n_layers times, so all layers share one set of weights; right with one layer
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
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.wte(tokens) + self.wpe(positions)
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T


# %% GPT wrong (misconception final-norm-every-block): ln_f is inside the loop and normalises the stream after every block instead of only after the last; right with one layer
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        # Two embeddings, the blocks, and the last norm.
        d = config.d_model
        self.wte, self.wpe = nn.Embedding(config.vocab_size, d), nn.Embedding(config.n_positions, d)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layers))
        self.ln_f = LayerNorm(d, config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        # From tokens to logits.
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.wte(tokens) + self.wpe(positions)
        for block in self.blocks:
            x = block(x)
            x = self.ln_f(x)
        return x @ self.wte.weight.T


# %% GPT wrong (property moves_with_its_module): the positions are made once in __init__ and kept as a plain attribute, not on the device of tokens; on the CPU all is right, on a GPU the lookup in wpe fails
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        # Two embeddings, the blocks, and the last norm.
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.positions = torch.arange(config.n_positions)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        # From tokens to logits.
        x = self.wte(tokens) + self.wpe(self.positions[: tokens.shape[1]])
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T


# %% GPT right (passed): arange on the device of tokens, a loop over the blocks, and a product with the transposed embeddings
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
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.wte(tokens) + self.wpe(positions)
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T


# %% GPT right (passed): blocks appended one by one, the first rows of wpe's table, and functional.linear with the embeddings
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        # Two embeddings, the blocks, and the last norm.
        width = config.d_model
        self.wte = nn.Embedding(num_embeddings=config.vocab_size, embedding_dim=width)
        self.wpe = nn.Embedding(num_embeddings=config.n_positions, embedding_dim=width)
        self.blocks = nn.ModuleList()
        for _ in range(config.n_layers):
            self.blocks.append(Block(config))
        self.ln_f = LayerNorm(width, eps=config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        # From tokens to logits.
        _, seq = tokens.shape
        stream = self.wte(tokens) + self.wpe.weight[:seq]
        for block in self.blocks:
            stream = block(stream)
        return nn.functional.linear(self.ln_f(stream), self.wte.weight)


# %% gpt2_state wrong (misconception embedding-turned): every tensor with two axes is transposed, wte.weight and wpe.weight included, so the embeddings become [d_model, vocab] and [d_model, positions]
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    # Every tensor gets the name and the layout that GPT expects.
    for name, tensor in found.items():
        if tensor.ndim == 2:
            tensor = tensor.T
        if name.startswith("h."):
            name = "blocks." + name[2:]
        name = name.replace("attn.c_proj", "attn.out_proj")
        if "ln_" in name:
            name = name.replace("weight", "w").replace("bias", "b")
        if "c_attn" in name:
            for new, part in zip(("W_query", "W_key", "W_value"), tensor.split(config.d_model, dim=0)):
                state[name.replace("c_attn", new)] = part
        else:
            state[name] = tensor
    return state


# %% gpt2_state wrong (property names_fit_the_model): c_proj is renamed to out_proj in the MLP too, where it must keep its name (blocks.0.mlp.out_proj.weight)
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    # Every tensor gets the name and the layout that GPT expects.
    for name, tensor in found.items():
        if name in ("wte.weight", "wpe.weight"):
            state[name] = tensor
            continue
        if name.startswith("h."):
            name = name.replace("h.", "blocks.", 1)
        if "ln_" in name:
            name = name.removesuffix("weight").removesuffix("bias") + ("w" if name.endswith("weight") else "b")
            state[name] = tensor
            continue
        name = name.replace("c_proj", "out_proj")
        if "c_attn" in name:
            for new, part in zip(("W_query", "W_key", "W_value"), tensor.chunk(3, dim=-1)):
                state[name.replace("c_attn", new)] = part.T if part.ndim == 2 else part
        else:
            state[name] = tensor.T if tensor.ndim == 2 else tensor
    return state


# %% gpt2_state wrong (property from_which_tensor): the tensors of a block are found with startswith("h.1") without a dot after the number, so with more than ten blocks those of h.10, h.11, ... overwrite blocks.1; right for up to ten blocks
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    # Every tensor gets the name and the layout that GPT expects.
    for name in ("wte.weight", "wpe.weight"):
        state[name] = found[name]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    d = config.d_model
    for layer in range(config.n_layers):
        new = f"blocks.{layer}."
        for name, tensor in found.items():
            if not name.startswith(f"h.{layer}"):
                continue
            part = name.split(".", 2)[2]
            if part.startswith("ln_"):
                norm, kind = part.split(".")
                state[f"{new}{norm}.{kind[0]}"] = tensor
            elif part == "attn.c_attn.weight":
                for which, matrix in zip(("query", "key", "value"), tensor.split(d, dim=1)):
                    state[f"{new}attn.W_{which}.weight"] = matrix.T
            elif part == "attn.c_attn.bias":
                for which, bias in zip(("query", "key", "value"), tensor.split(d)):
                    state[f"{new}attn.W_{which}.bias"] = bias
            else:
                part = part.replace("attn.c_proj", "attn.out_proj")
                state[new + part] = tensor.T if part.endswith("weight") else tensor
    return state


# %% gpt2_state wrong (property from_which_tensor): matrices are brought to [out, in] with reshape instead of a transpose, so every shape fits and loading succeeds, but the numbers are in the wrong places (square matrices are not changed at all)
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}

    # Every tensor gets the name and the layout that GPT expects.
    def turned(matrix):
        rows, columns = matrix.shape
        return matrix.reshape(columns, rows)

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
            state[f"{new}.attn.{name}.weight"] = turned(weight)
            state[f"{new}.attn.{name}.bias"] = bias
        for theirs, mine in {"attn.c_proj": "attn.out_proj", "mlp.c_fc": "mlp.c_fc", "mlp.c_proj": "mlp.c_proj"}.items():
            state[f"{new}.{mine}.weight"] = turned(found[f"{old}.{theirs}.weight"])
            state[f"{new}.{mine}.bias"] = found[f"{old}.{theirs}.bias"]
    return state


# %% gpt2_state wrong (property from_which_tensor): a copy-and-paste slip: W_value.bias gets the middle third of c_attn's bias (that of the keys) instead of the last third; all else is right
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    # Every tensor gets the name and the layout that GPT expects.
    d = config.d_model
    state["wte.weight"] = found["wte.weight"]
    state["wpe.weight"] = found["wpe.weight"]
    for i in range(config.n_layers):
        h, b = f"h.{i}.", f"blocks.{i}."
        state[b + "ln_1.w"] = found[h + "ln_1.weight"]
        state[b + "ln_1.b"] = found[h + "ln_1.bias"]
        state[b + "ln_2.w"] = found[h + "ln_2.weight"]
        state[b + "ln_2.b"] = found[h + "ln_2.bias"]
        weight = found[h + "attn.c_attn.weight"]
        bias = found[h + "attn.c_attn.bias"]
        state[b + "attn.W_query.weight"] = weight[:, :d].T
        state[b + "attn.W_query.bias"] = bias[:d]
        state[b + "attn.W_key.weight"] = weight[:, d : 2 * d].T
        state[b + "attn.W_key.bias"] = bias[d : 2 * d]
        state[b + "attn.W_value.weight"] = weight[:, 2 * d :].T
        state[b + "attn.W_value.bias"] = bias[d : 2 * d]
        state[b + "attn.out_proj.weight"] = found[h + "attn.c_proj.weight"].T
        state[b + "attn.out_proj.bias"] = found[h + "attn.c_proj.bias"]
        state[b + "mlp.c_fc.weight"] = found[h + "mlp.c_fc.weight"].T
        state[b + "mlp.c_fc.bias"] = found[h + "mlp.c_fc.bias"]
        state[b + "mlp.c_proj.weight"] = found[h + "mlp.c_proj.weight"].T
        state[b + "mlp.c_proj.bias"] = found[h + "mlp.c_proj.bias"]
    state["ln_f.w"] = found["ln_f.weight"]
    state["ln_f.b"] = found["ln_f.bias"]
    return state


# %% gpt2_state right (passed): a loop over the layers that looks up each name
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    # Every tensor gets the name and the layout that GPT expects.
    d = config.d_model
    state["wte.weight"], state["wpe.weight"] = found["wte.weight"], found["wpe.weight"]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    for i in range(config.n_layers):
        h, b = f"h.{i}.", f"blocks.{i}."
        for norm in ("ln_1", "ln_2"):
            state[f"{b}{norm}.w"] = found[f"{h}{norm}.weight"]
            state[f"{b}{norm}.b"] = found[f"{h}{norm}.bias"]
        weight, bias = found[h + "attn.c_attn.weight"], found[h + "attn.c_attn.bias"]
        for n, name in enumerate(("W_query", "W_key", "W_value")):
            part = slice(n * d, (n + 1) * d)
            state[f"{b}attn.{name}.weight"] = weight[:, part].T
            state[f"{b}attn.{name}.bias"] = bias[part]
        for theirs, mine in (("attn.c_proj", "attn.out_proj"), ("mlp.c_fc", "mlp.c_fc"), ("mlp.c_proj", "mlp.c_proj")):
            state[f"{b}{mine}.weight"] = found[f"{h}{theirs}.weight"].T
            state[f"{b}{mine}.bias"] = found[f"{h}{theirs}.bias"]
    return state


# %% gpt2_state right (passed): a loop over the file's tensors that renames, splits and transposes (contiguous copies)
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    # Every tensor gets the name and the layout that GPT expects.
    for name, tensor in found.items():
        if name.startswith("h."):
            name = "blocks." + name.removeprefix("h.")
        module, kind = name.rsplit(".", 1)
        if module in ("wte", "wpe"):
            state[name] = tensor
        elif "ln_" in module:
            state[f"{module}.{ {'weight': 'w', 'bias': 'b'}[kind] }"] = tensor
        else:
            turned = tensor.t().contiguous() if kind == "weight" else tensor
            if module.endswith(".c_attn"):
                attention = module.removesuffix(".c_attn")
                for letter, part in zip(("query", "key", "value"), turned.chunk(3, dim=0)):
                    state[f"{attention}.W_{letter}.{kind}"] = part
            elif module.endswith("attn.c_proj"):
                state[f"{module.removesuffix('c_proj')}out_proj.{kind}"] = turned
            else:
                state[name] = turned
    return state


# %% generate_cached wrong (property keeps_keys_and_values): every pass sends the whole text through the model and nothing is kept; the texts are right, but earlier positions go through the model again for each token
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


# %% generate_cached wrong (misconception position-0-again): the positions of each pass are counted from 0 instead of from done, so every generated token gets position vector 0; shows from the second new token on
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        # One pass, in which only the positions of `new` go through the model.
        length = new.shape[1]
        x = model.wte(new) + model.wpe(torch.arange(length, device=new.device))
        future = torch.ones(length, done + length, dtype=torch.bool, device=new.device).triu(1 + done)
        for layer, block in enumerate(model.blocks):
            h = block.ln_1(x)
            q = split_heads(block.attn.W_query(h), model.config.n_heads)
            k = split_heads(block.attn.W_key(h), model.config.n_heads)
            v = split_heads(block.attn.W_value(h), model.config.n_heads)
            if kept[layer] is not None:
                k = torch.cat([kept[layer][0], k], dim=2)
                v = torch.cat([kept[layer][1], v], dim=2)
            kept[layer] = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            weights = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
            x = x + block.attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1:]) @ model.wte.weight.T
        done += length
        new = logits.argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (misconception sees-the-first-only): the mask is triu(1) of a [new, all] table without the shift by done, so in later passes the new token sees only key 0; the first new token is right
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        # One pass, in which only the positions of `new` go through the model.
        positions = torch.arange(done, done + new.shape[1], device=tokens.device)
        x = model.wte(new) + model.wpe(positions)
        for layer, block in enumerate(model.blocks):
            h = block.ln_1(x)
            q, k, v = (
                split_heads(w(h), model.config.n_heads)
                for w in (block.attn.W_query, block.attn.W_key, block.attn.W_value)
            )
            if kept[layer] is not None:
                old_k, old_v = kept[layer]
                k, v = torch.cat([old_k, k], dim=2), torch.cat([old_v, v], dim=2)
            kept[layer] = k, v
            scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
            mask = torch.triu(torch.ones(q.shape[2], k.shape[2], device=x.device), diagonal=1).bool()
            weights = torch.softmax(scores.masked_fill(mask, -torch.inf), dim=-1)
            x = x + block.attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x)[:, -1] @ model.wte.weight.T
        done += new.shape[1]
        new = logits.argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (misconception only-the-prompt-kept): keys and values are stored only in the first pass, so a generated token never gets into the cache; the first two new tokens are right, later ones miss the generated tokens before them
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        # One pass, in which only the positions of `new` go through the model.
        length = new.shape[1]
        positions = torch.arange(done, done + length, device=new.device)
        x = model.wte(new) + model.wpe(positions)
        for layer, block in enumerate(model.blocks):
            h = block.ln_1(x)
            q = split_heads(block.attn.W_query(h), model.config.n_heads)
            k = split_heads(block.attn.W_key(h), model.config.n_heads)
            v = split_heads(block.attn.W_value(h), model.config.n_heads)
            if kept[layer] is None:
                kept[layer] = (k, v)
            else:
                k = torch.cat([kept[layer][0], k], dim=2)
                v = torch.cat([kept[layer][1], v], dim=2)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            if length > 1:
                future = torch.ones(length, length, dtype=torch.bool, device=new.device).triu(1)
                scores = scores.masked_fill(future, -torch.inf)
            x = x + block.attn.out_proj(merge_heads(scores.softmax(dim=-1) @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1]) @ model.wte.weight.T
        done += length
        new = logits.argmax(dim=-1)[:, None]
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (misconception first-text-only): the token with the highest score is chosen for text 0 only and appended to every text of the batch; right for one text
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        # One pass, in which only the positions of `new` go through the model.
        here = torch.arange(done, done + new.shape[1], device=new.device)
        everywhere = torch.arange(done + new.shape[1], device=new.device)
        may_look = everywhere[None, :] <= here[:, None]
        x = model.wte(new) + model.wpe(here)
        for layer, block in enumerate(model.blocks):
            h = block.ln_1(x)
            q, k, v = (
                split_heads(w(h), model.config.n_heads)
                for w in (block.attn.W_query, block.attn.W_key, block.attn.W_value)
            )
            if kept[layer] is not None:
                k = torch.cat([kept[layer][0], k], dim=2)
                v = torch.cat([kept[layer][1], v], dim=2)
            kept[layer] = (k, v)
            scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~may_look, -torch.inf)
            x = x + block.attn.out_proj(merge_heads(scores.softmax(dim=-1) @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x) @ model.wte.weight.T
        done += new.shape[1]
        best = logits[0, -1].argmax()
        new = best.expand(tokens.shape[0], 1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached right (passed): split_heads and merge_heads, a mask from comparing positions, keys and values joined with cat
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        # One pass, in which only the positions of `new` go through the model.
        length = new.shape[1]
        here = torch.arange(done, done + length, device=tokens.device)
        hidden = torch.arange(done + length, device=tokens.device) > here[:, None]
        x = model.wte(new) + model.wpe(here)
        for layer, block in enumerate(model.blocks):
            read, attn = block.ln_1(x), block.attn
            q, k, v = (split_heads(w(read), model.config.n_heads) for w in (attn.W_query, attn.W_key, attn.W_value))
            if kept[layer] is not None:
                k, v = (torch.cat(pair, dim=2) for pair in zip(kept[layer], (k, v)))
            kept[layer] = (k, v)
            scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(hidden, -torch.inf)
            x = x + attn.out_proj(merge_heads(scores.softmax(dim=-1) @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1:]) @ model.wte.weight.T
        done += length
        new = logits.argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached right (passed): scaled_dot_product_attention, causal only in the first pass, with a local helper that cuts the heads
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        # One pass, in which only the positions of `new` go through the model.
        batch, count = new.shape

        def cut(vectors):
            return vectors.view(batch, count, model.config.n_heads, -1).transpose(1, 2)

        stream = model.wte(new) + model.wpe(torch.arange(count, device=new.device) + done)
        for i, block in enumerate(model.blocks):
            normed = block.ln_1(stream)
            query, key, value = cut(block.attn.W_query(normed)), cut(block.attn.W_key(normed)), cut(block.attn.W_value(normed))
            if done > 0:
                past_key, past_value = kept[i]
                key = torch.cat((past_key, key), dim=-2)
                value = torch.cat((past_value, value), dim=-2)
            kept[i] = key, value
            mixed = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=done == 0)
            stream = stream + block.attn.out_proj(mixed.transpose(1, 2).reshape(batch, count, -1))
            stream = stream + block.mlp(block.ln_2(stream))
        done = done + count
        last = nn.functional.linear(model.ln_f(stream[:, -1]), model.wte.weight)
        new = last.argmax(dim=-1).unsqueeze(1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens
