# %% gelu wrong (misconception root-forgotten): the root is forgotten, 2 / pi stands where sqrt(2 / pi) should
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """GPT-2's form of GELU, with tanh."""

    return x / 2 * (1 + torch.tanh(2 / torch.pi * (x + 0.044715 * x**3)))

# %% gelu wrong (misconception exact): the exact GELU with erf instead of the formula with tanh
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """GPT-2's form of GELU, with tanh."""

    return 0.5 * x * (1 + torch.erf(x / 2**0.5))

# %% gelu wrong (misconception cube-of-the-sum): the cube is taken of the whole bracket, (x + 0.044715 x) ** 3
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """GPT-2's form of GELU, with tanh."""

    inner = (x + 0.044715 * x) ** 3
    return 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * inner))

# %% gelu wrong (property lets_gradients_through): goes through numpy with detach, so no gradient flows
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """GPT-2's form of GELU, with tanh."""

    import numpy as np

    a = x.detach().numpy()
    y = a / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (a + 0.044715 * a**3)))
    return torch.from_numpy(y)

# %% gelu wrong (property landmarks): += changes x itself before x / 2 is taken, and a tensor that wants gradients refuses it
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """GPT-2's form of GELU, with tanh."""

    inner = x
    inner += 0.044715 * x**3
    inner = torch.tanh((2 / torch.pi) ** 0.5 * inner)
    return x / 2 * (1 + inner)

# %% gelu wrong (property finite_when_scaled): tanh by hand out of exp, nan where x is large
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """GPT-2's form of GELU, with tanh."""

    u = (2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)
    e = torch.exp(2 * u)
    tanh = (e - 1) / (e + 1)
    return x / 2 * (1 + tanh)

# %% gelu wrong (misconception outside-the-root): the root multiplies x alone and not the cube (a bracket too few)
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """GPT-2's form of GELU, with tanh."""

    root = (2 / torch.pi) ** 0.5
    return x / 2 * (1 + torch.tanh(root * x + 0.044715 * x**3))

# %% gelu wrong (misconception one-outside-the-bracket): the last bracket is missing, x / 2 * 1 + tanh
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """GPT-2's form of GELU, with tanh."""

    root = (2 / torch.pi) ** 0.5
    return x / 2 * 1 + torch.tanh(root * (x + 0.044715 * x**3))

# %% gelu right (passed): one line with math
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """GPT-2's form of GELU, with tanh."""

    import math

    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3))))

# %% gelu right (passed): small steps, the root as a tensor, the cube as x * x * x
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """GPT-2's form of GELU, with tanh."""

    cube = x * x * x
    root = torch.sqrt(torch.tensor(2.0) / torch.pi)
    inside = root * (x + cube * 0.044715)
    factor = torch.tanh(inside) + 1
    half = x / 2
    return half * factor

# %% gelu right (passed): the same formula by way of sigmoid, (1 + tanh u) / 2 = sigmoid(2 u)
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """GPT-2's form of GELU, with tanh."""

    u = (2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)
    return x * torch.sigmoid(2 * u)

# %% gelu right (passed): slow, number by number, and put back into the shape
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """GPT-2's form of GELU, with tanh."""

    flat = x.reshape(-1)
    results = torch.zeros(flat.shape[0], dtype=x.dtype)
    for i in range(flat.shape[0]):
        number = flat[i]
        results[i] = number / 2 * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (number + 0.044715 * number**3)))
    return results.reshape(x.shape)

# %% MLP wrong (misconception relu): ReLU instead of gelu
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.c_proj(torch.relu(self.c_fc(x)))

# %% MLP wrong (misconception exact): torch's gelu as it comes, which is the exact one and not the learner's
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.c_proj(nn.functional.gelu(self.c_fc(x)))

# %% MLP wrong (misconception no-bend): no bend between the two maps
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        x = self.c_fc(x)
        return self.c_proj(x)

# %% MLP wrong (structure): both layers without a bias
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp, bias=False)
        self.c_proj = nn.Linear(d_mlp, d_model, bias=False)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.c_proj(gelu(self.c_fc(x)))

# %% MLP wrong (misconception always-four-times): d_mlp is not used, the width is always 4 * d_model
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, 4 * d_model)
        self.c_proj = nn.Linear(4 * d_model, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.c_proj(gelu(self.c_fc(x)))

# %% MLP wrong (misconception returns-its-input-too): adds x, as the block will do
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return x + self.c_proj(gelu(self.c_fc(x)))

# %% MLP wrong (structure): layers called first and second, other names than the file's
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.first = nn.Linear(d_model, d_mlp)
        self.second = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.second(gelu(self.first(x)))

# %% MLP wrong (misconception bent-twice): gelu a second time, after c_proj
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        x = gelu(self.c_fc(x))
        x = gelu(self.c_proj(x))
        return x

# %% MLP right (passed): the plain way
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.c_proj(gelu(self.c_fc(x)))

# %% MLP right (passed): c_proj made first, keywords, gelu kept as an attribute
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_proj = nn.Linear(in_features=d_mlp, out_features=d_model, bias=True)
        self.c_fc = nn.Linear(in_features=d_model, out_features=d_mlp, bias=True)
        self.bend = gelu

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        wide = self.c_fc(x)
        bent = self.bend(wide)
        back = self.c_proj(bent)
        return back

# %% MLP right (passed): the products by hand with the layers' weights and biases
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        hidden = x @ self.c_fc.weight.T + self.c_fc.bias
        hidden = gelu(hidden)
        return hidden @ self.c_proj.weight.transpose(0, 1) + self.c_proj.bias

# %% MLP right (passed): slow, each position by itself
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.d_model = d_model
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        positions = x.reshape(-1, self.d_model)
        results = []
        for vector in positions:
            results.append(self.c_proj(gelu(self.c_fc(vector))))
        return torch.stack(results).reshape(x.shape)

# %% Block wrong (misconception post-norm): post-norm, the sums are normalised
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

# %% Block wrong (misconception first-norm-twice): ln_1 is used in front of both halves, ln_2 lies idle
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
        x = x + self.mlp(self.ln_1(x))
        return x

# %% Block wrong (misconception side-by-side): both halves read the stream as it came, side by side
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

# %% Block wrong (misconception eps-as-in-lesson-06): the norms get no eps, so they take 1e-6 of their own
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

# %% Block wrong (structure): queries, keys and values have no biases
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
        x = x + self.mlp(self.ln_2(x))
        return x

# %% Block wrong (property draws_nothing): dropout 0.1 in attention, as many models have it
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.1, config.n_heads, True)
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        x = x + self.attn(self.ln_1(x))
        x = x + self.mlp(self.ln_2(x))
        return x

# %% Block wrong (misconception normed-stream-goes-on): x is overwritten by the norm before it is added, so the stream itself is normalised
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, qkv_bias=True)
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        x = self.ln_1(x)
        x = x + self.attn(x)
        x = self.ln_2(x)
        x = x + self.mlp(x)
        return x

# %% Block wrong (misconception mlp-reads-what-was-found): the mlp reads what attention found and not the stream
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, qkv_bias=True)
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        found = self.attn(self.ln_1(x))
        return x + found + self.mlp(self.ln_2(found))

# %% Block right (passed): two lines, as the formula
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

# %% Block right (passed): keywords, and names for every step
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d_model=d, eps=config.eps)
        self.attn = MultiHeadAttention(
            d_in=d, d_out=d, context_length=config.n_positions, dropout=0, num_heads=config.n_heads, qkv_bias=True
        )
        self.ln_2 = LayerNorm(d_model=d, eps=config.eps)
        self.mlp = MLP(d_model=d, d_mlp=d * 4)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        read = self.ln_1(x)
        from_others = self.attn(read)
        middle = x + from_others
        read = self.ln_2(middle)
        from_itself = self.mlp(read)
        return middle + from_itself

# %% Block right (passed): a loop over the two halves
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, qkv_bias=True)
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        for norm, half in ((self.ln_1, self.attn), (self.ln_2, self.mlp)):
            x = torch.add(x, half(norm(x)))
        return x

# %% Block right (passed): slow, text by text, without changing the tensor that was given
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, qkv_bias=True)
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        texts = []
        for text in x:
            stream = text.unsqueeze(0).clone()
            stream = stream + self.attn(self.ln_1(stream))
            stream = stream + self.mlp(self.ln_2(stream))
            texts.append(stream)
        return torch.cat(texts, dim=0)

# %% GPT wrong (structure): a head of its own, with parameters of its own
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

# %% GPT wrong (misconception no-final-norm): ln_f is made and never used
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

# %% GPT wrong (structure): one block listed n_layers times, so all layers share their weights
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

# %% GPT wrong (misconception positions-from-1): the positions are counted from 1
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        seq = tokens.shape[1]
        positions = torch.arange(1, seq + 1) % self.config.n_positions
        x = self.wte(tokens) + self.wpe(positions)
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T

# %% GPT wrong (misconception probabilities): gives probabilities, a softmax too many
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
        logits = self.ln_f(x) @ self.wte.weight.T
        return logits.softmax(dim=-1)

# %% GPT wrong (structure): the blocks sit in a plain Python list
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = [Block(config) for _ in range(config.n_layers)]
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T

# %% GPT wrong (property first_wrong_part): the head is a copy of wte made in __init__, which stays as it was when weights are loaded or trained
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(config.d_model, config.eps)
        self.decoder = self.wte.weight.detach().clone()

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.decoder.T

# %% GPT wrong (raised): the whole table of positions is added, so only texts of full length go through
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        x = self.wte(tokens) + self.wpe.weight
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T

# %% GPT right (passed): the plain way
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

# %% GPT right (passed): a ModuleList that grows, a position for every token of every text, functional.linear
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
        batch, seq = tokens.shape
        positions = torch.arange(seq).unsqueeze(0).expand(batch, seq).to(tokens.device)
        stream = self.wte(tokens)
        stream = stream + self.wpe(positions)
        for layer in range(len(self.blocks)):
            stream = self.blocks[layer](stream)
        stream = self.ln_f(stream)
        return nn.functional.linear(stream, self.wte.weight)

# %% GPT right (passed): rows of the tables by index, and an einsum for the scores
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        _, seq = tokens.shape
        x = self.wte.weight[tokens] + self.wpe.weight[:seq]
        for block in self.blocks:
            x = block(x)
        return torch.einsum("bsd,vd->bsv", self.ln_f(x), self.wte.weight)

# %% GPT right (passed): slow, position by position at the start and at the end
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        d = config.d_model
        self.wte, self.wpe = nn.Embedding(config.vocab_size, d), nn.Embedding(config.n_positions, d)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layers))
        self.ln_f = LayerNorm(d, config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        columns = []
        for position in range(tokens.size(1)):
            here = self.wpe(torch.tensor(position))
            columns.append(self.wte(tokens[:, position]) + here)
        x = torch.stack(columns, dim=1)
        for block in self.blocks:
            x = block(x)
        x = self.ln_f(x)
        scores = []
        for position in range(tokens.size(1)):
            scores.append(x[:, position] @ self.wte.weight.t())
        return torch.stack(scores, dim=1)

# %% gpt2_state wrong (misconception out_proj-not-turned): attn.c_proj is not turned, and being square it fits all the same
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """A checkpoint's tensors under the names, and in the layouts, of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    state["wte.weight"] = found["wte.weight"]
    state["wpe.weight"] = found["wpe.weight"]
    for i in range(config.n_layers):
        old, new = f"h.{i}.", f"blocks.{i}."
        for norm in ("ln_1", "ln_2"):
            state[new + norm + ".w"] = found[old + norm + ".weight"]
            state[new + norm + ".b"] = found[old + norm + ".bias"]
        weight, bias = found[old + "attn.c_attn.weight"], found[old + "attn.c_attn.bias"]
        for name, w, b in zip(("W_query", "W_key", "W_value"), weight.split(config.d_model, dim=1), bias.split(config.d_model)):
            state[new + "attn." + name + ".weight"] = w.T
            state[new + "attn." + name + ".bias"] = b
        state[new + "attn.out_proj.weight"] = found[old + "attn.c_proj.weight"]
        state[new + "attn.out_proj.bias"] = found[old + "attn.c_proj.bias"]
        for name in ("mlp.c_fc", "mlp.c_proj"):
            state[new + name + ".weight"] = found[old + name + ".weight"].T
            state[new + name + ".bias"] = found[old + name + ".bias"]
    state["ln_f.w"] = found["ln_f.weight"]
    state["ln_f.b"] = found["ln_f.bias"]
    return state

# %% gpt2_state wrong (misconception keys-first): c_attn is cut in the order keys, queries, values
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """A checkpoint's tensors under the names, and in the layouts, of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    state["wte.weight"] = found["wte.weight"]
    state["wpe.weight"] = found["wpe.weight"]
    for i in range(config.n_layers):
        old, new = f"h.{i}.", f"blocks.{i}."
        for norm in ("ln_1", "ln_2"):
            state[new + norm + ".w"] = found[old + norm + ".weight"]
            state[new + norm + ".b"] = found[old + norm + ".bias"]
        weight, bias = found[old + "attn.c_attn.weight"], found[old + "attn.c_attn.bias"]
        for name, w, b in zip(("W_key", "W_query", "W_value"), weight.split(config.d_model, dim=1), bias.split(config.d_model)):
            state[new + "attn." + name + ".weight"] = w.T
            state[new + "attn." + name + ".bias"] = b
        state[new + "attn.out_proj.weight"] = found[old + "attn.c_proj.weight"].T
        state[new + "attn.out_proj.bias"] = found[old + "attn.c_proj.bias"]
        for name in ("mlp.c_fc", "mlp.c_proj"):
            state[new + name + ".weight"] = found[old + name + ".weight"].T
            state[new + name + ".bias"] = found[old + name + ".bias"]
    state["ln_f.w"] = found["ln_f.weight"]
    state["ln_f.b"] = found["ln_f.bias"]
    return state

# %% gpt2_state wrong (misconception cut-by-heads): c_attn is read as queries, keys and values of head 0, then of head 1, and so on
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """A checkpoint's tensors under the names, and in the layouts, of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    state["wte.weight"] = found["wte.weight"]
    state["wpe.weight"] = found["wpe.weight"]
    for i in range(config.n_layers):
        old, new = f"h.{i}.", f"blocks.{i}."
        for norm in ("ln_1", "ln_2"):
            state[new + norm + ".w"] = found[old + norm + ".weight"]
            state[new + norm + ".b"] = found[old + norm + ".bias"]
        weight, bias = found[old + "attn.c_attn.weight"].T, found[old + "attn.c_attn.bias"]
        d, heads = config.d_model, config.n_heads
        weight = weight.reshape(heads, 3, d // heads, d)
        bias = bias.reshape(heads, 3, d // heads)
        for part, name in enumerate(("W_query", "W_key", "W_value")):
            state[new + "attn." + name + ".weight"] = weight[:, part].reshape(d, d)
            state[new + "attn." + name + ".bias"] = bias[:, part].reshape(d)
        state[new + "attn.out_proj.weight"] = found[old + "attn.c_proj.weight"].T
        state[new + "attn.out_proj.bias"] = found[old + "attn.c_proj.bias"]
        for name in ("mlp.c_fc", "mlp.c_proj"):
            state[new + name + ".weight"] = found[old + name + ".weight"].T
            state[new + name + ".bias"] = found[old + name + ".bias"]
    state["ln_f.w"] = found["ln_f.weight"]
    state["ln_f.b"] = found["ln_f.bias"]
    return state

# %% gpt2_state wrong (property from_which_tensor): c_attn is viewed as 3 x d x d, which deals the numbers out by rows of the file and mixes queries, keys and values
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """A checkpoint's tensors under the names, and in the layouts, of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    state["wte.weight"] = found["wte.weight"]
    state["wpe.weight"] = found["wpe.weight"]
    for i in range(config.n_layers):
        old, new = f"h.{i}.", f"blocks.{i}."
        for norm in ("ln_1", "ln_2"):
            state[new + norm + ".w"] = found[old + norm + ".weight"]
            state[new + norm + ".b"] = found[old + norm + ".bias"]
        weight, bias = found[old + "attn.c_attn.weight"], found[old + "attn.c_attn.bias"]
        for name, w, b in zip(("W_query", "W_key", "W_value"), weight.reshape(3, config.d_model, config.d_model), bias.split(config.d_model)):
            state[new + "attn." + name + ".weight"] = w.T
            state[new + "attn." + name + ".bias"] = b
        state[new + "attn.out_proj.weight"] = found[old + "attn.c_proj.weight"].T
        state[new + "attn.out_proj.bias"] = found[old + "attn.c_proj.bias"]
        for name in ("mlp.c_fc", "mlp.c_proj"):
            state[new + name + ".weight"] = found[old + name + ".weight"].T
            state[new + name + ".bias"] = found[old + name + ".bias"]
    state["ln_f.w"] = found["ln_f.weight"]
    state["ln_f.b"] = found["ln_f.bias"]
    return state

# %% gpt2_state wrong (misconception from-the-file-as-it-came): named() is called, but the tensors are taken from the dict as it came, so a file with a prefix fails
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """A checkpoint's tensors under the names, and in the layouts, of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    state["wte.weight"] = tensors["wte.weight"]
    state["wpe.weight"] = tensors["wpe.weight"]
    for i in range(config.n_layers):
        old, new = f"h.{i}.", f"blocks.{i}."
        for norm in ("ln_1", "ln_2"):
            state[new + norm + ".w"] = tensors[old + norm + ".weight"]
            state[new + norm + ".b"] = tensors[old + norm + ".bias"]
        weight, bias = tensors[old + "attn.c_attn.weight"], tensors[old + "attn.c_attn.bias"]
        for name, w, b in zip(("W_query", "W_key", "W_value"), weight.split(config.d_model, dim=1), bias.split(config.d_model)):
            state[new + "attn." + name + ".weight"] = w.T
            state[new + "attn." + name + ".bias"] = b
        state[new + "attn.out_proj.weight"] = tensors[old + "attn.c_proj.weight"].T
        state[new + "attn.out_proj.bias"] = tensors[old + "attn.c_proj.bias"]
        for name in ("mlp.c_fc", "mlp.c_proj"):
            state[new + name + ".weight"] = tensors[old + name + ".weight"].T
            state[new + name + ".bias"] = tensors[old + name + ".bias"]
    state["ln_f.w"] = tensors["ln_f.weight"]
    state["ln_f.b"] = tensors["ln_f.bias"]
    return state

# %% gpt2_state wrong (raised): four layers written in, as the small model has them
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """A checkpoint's tensors under the names, and in the layouts, of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    state["wte.weight"] = found["wte.weight"]
    state["wpe.weight"] = found["wpe.weight"]
    for i in range(4):
        old, new = f"h.{i}.", f"blocks.{i}."
        for norm in ("ln_1", "ln_2"):
            state[new + norm + ".w"] = found[old + norm + ".weight"]
            state[new + norm + ".b"] = found[old + norm + ".bias"]
        weight, bias = found[old + "attn.c_attn.weight"], found[old + "attn.c_attn.bias"]
        for name, w, b in zip(("W_query", "W_key", "W_value"), weight.split(config.d_model, dim=1), bias.split(config.d_model)):
            state[new + "attn." + name + ".weight"] = w.T
            state[new + "attn." + name + ".bias"] = b
        state[new + "attn.out_proj.weight"] = found[old + "attn.c_proj.weight"].T
        state[new + "attn.out_proj.bias"] = found[old + "attn.c_proj.bias"]
        for name in ("mlp.c_fc", "mlp.c_proj"):
            state[new + name + ".weight"] = found[old + name + ".weight"].T
            state[new + name + ".bias"] = found[old + name + ".bias"]
    state["ln_f.w"] = found["ln_f.weight"]
    state["ln_f.b"] = found["ln_f.bias"]
    return state

# %% gpt2_state wrong (property names_fit_the_model): ln_f keeps the file's names weight and bias
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """A checkpoint's tensors under the names, and in the layouts, of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    state["wte.weight"] = found["wte.weight"]
    state["wpe.weight"] = found["wpe.weight"]
    for i in range(config.n_layers):
        old, new = f"h.{i}.", f"blocks.{i}."
        for norm in ("ln_1", "ln_2"):
            state[new + norm + ".w"] = found[old + norm + ".weight"]
            state[new + norm + ".b"] = found[old + norm + ".bias"]
        weight, bias = found[old + "attn.c_attn.weight"], found[old + "attn.c_attn.bias"]
        for name, w, b in zip(("W_query", "W_key", "W_value"), weight.split(config.d_model, dim=1), bias.split(config.d_model)):
            state[new + "attn." + name + ".weight"] = w.T
            state[new + "attn." + name + ".bias"] = b
        state[new + "attn.out_proj.weight"] = found[old + "attn.c_proj.weight"].T
        state[new + "attn.out_proj.bias"] = found[old + "attn.c_proj.bias"]
        for name in ("mlp.c_fc", "mlp.c_proj"):
            state[new + name + ".weight"] = found[old + name + ".weight"].T
            state[new + name + ".bias"] = found[old + name + ".bias"]
    state["ln_f.weight"] = found["ln_f.weight"]
    state["ln_f.bias"] = found["ln_f.bias"]
    return state

# %% gpt2_state wrong (property names_fit_the_model): name.replace turns every 'weight' into 'w' and every 'bias' into 'b', those of the linear layers too
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """A checkpoint's tensors under the names, and in the layouts, of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    for name, tensor in found.items():
        name = name.replace("h.", "blocks.").replace(".weight", ".w").replace(".bias", ".b")
        name = name.replace("attn.c_proj", "attn.out_proj")
        if name.startswith("wte") or name.startswith("wpe"):
            state[name.replace(".w", ".weight")] = tensor
        elif "c_attn" in name:
            parts = tensor.chunk(3, dim=-1)
            for part, own in zip(parts, ("W_query", "W_key", "W_value")):
                state[name.replace("c_attn", own)] = part.T if part.dim() == 2 else part
        else:
            state[name] = tensor.T if tensor.dim() == 2 else tensor
    return state

# %% gpt2_state right (passed): a loop over the blocks, every name written out
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """A checkpoint's tensors under the names, and in the layouts, of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    state["wte.weight"] = found["wte.weight"]
    state["wpe.weight"] = found["wpe.weight"]
    for i in range(config.n_layers):
        old, new = f"h.{i}.", f"blocks.{i}."
        for norm in ("ln_1", "ln_2"):
            state[new + norm + ".w"] = found[old + norm + ".weight"]
            state[new + norm + ".b"] = found[old + norm + ".bias"]
        weight, bias = found[old + "attn.c_attn.weight"], found[old + "attn.c_attn.bias"]
        for name, w, b in zip(("W_query", "W_key", "W_value"), weight.split(config.d_model, dim=1), bias.split(config.d_model)):
            state[new + "attn." + name + ".weight"] = w.T
            state[new + "attn." + name + ".bias"] = b
        state[new + "attn.out_proj.weight"] = found[old + "attn.c_proj.weight"].T
        state[new + "attn.out_proj.bias"] = found[old + "attn.c_proj.bias"]
        for name in ("mlp.c_fc", "mlp.c_proj"):
            state[new + name + ".weight"] = found[old + name + ".weight"].T
            state[new + name + ".bias"] = found[old + name + ".bias"]
    state["ln_f.w"] = found["ln_f.weight"]
    state["ln_f.b"] = found["ln_f.bias"]
    return state

# %% gpt2_state right (passed): goes through the file's names one by one and decides by what stands in them
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """A checkpoint's tensors under the names, and in the layouts, of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    for name, tensor in found.items():
        if not name.startswith("h."):
            if name == "ln_f.weight":
                name = "ln_f.w"
            elif name == "ln_f.bias":
                name = "ln_f.b"
            state[name] = tensor
            continue
        _, number, part, *rest = name.split(".")
        here = "blocks." + number + "."
        if part.startswith("ln"):
            state[here + part + "." + rest[0][0]] = tensor
        else:
            layer, kind = rest
            if kind == "weight":
                tensor = tensor.transpose(0, 1)
            if layer == "c_attn":
                for own, third in zip(["W_query", "W_key", "W_value"], tensor.chunk(3, dim=0)):
                    state[here + "attn." + own + "." + kind] = third.clone()
            elif part == "attn":
                state[here + "attn.out_proj." + kind] = tensor.contiguous()
            else:
                state[here + "mlp." + layer + "." + kind] = tensor.contiguous()
    return state

# %% gpt2_state right (passed): slices by hand with d and 2 * d, a little function to turn
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """A checkpoint's tensors under the names, and in the layouts, of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    d = config.d_model

    def turned(matrix):
        return matrix.permute(1, 0)

    for i in range(config.n_layers):
        a = found["h." + str(i) + ".attn.c_attn.weight"]
        ab = found["h." + str(i) + ".attn.c_attn.bias"]
        state["blocks." + str(i) + ".attn.W_query.weight"] = turned(a[:, :d])
        state["blocks." + str(i) + ".attn.W_key.weight"] = turned(a[:, d : 2 * d])
        state["blocks." + str(i) + ".attn.W_value.weight"] = turned(a[:, 2 * d :])
        state["blocks." + str(i) + ".attn.W_query.bias"] = ab[:d]
        state["blocks." + str(i) + ".attn.W_key.bias"] = ab[d : 2 * d]
        state["blocks." + str(i) + ".attn.W_value.bias"] = ab[2 * d :]
        for mine, theirs in {"attn.out_proj": "attn.c_proj", "mlp.c_fc": "mlp.c_fc", "mlp.c_proj": "mlp.c_proj"}.items():
            state["blocks." + str(i) + "." + mine + ".weight"] = turned(found["h." + str(i) + "." + theirs + ".weight"])
            state["blocks." + str(i) + "." + mine + ".bias"] = found["h." + str(i) + "." + theirs + ".bias"]
        for norm in ["ln_1", "ln_2"]:
            state["blocks." + str(i) + "." + norm + ".w"] = found["h." + str(i) + "." + norm + ".weight"]
            state["blocks." + str(i) + "." + norm + ".b"] = found["h." + str(i) + "." + norm + ".bias"]
    for table in ["wte.weight", "wpe.weight"]:
        state[table] = found[table]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    return state

# %% gpt2_state right (passed): clumsy, builds a GPT, copies every tensor into its parameters, and returns these
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """A checkpoint's tensors under the names, and in the layouts, of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    model = GPT(config)
    own = dict(model.named_parameters())
    with torch.no_grad():
        own["wte.weight"].copy_(found["wte.weight"])
        own["wpe.weight"].copy_(found["wpe.weight"])
        own["ln_f.w"].copy_(found["ln_f.weight"])
        own["ln_f.b"].copy_(found["ln_f.bias"])
        for i, block in enumerate(model.blocks):
            block.ln_1.w.copy_(found[f"h.{i}.ln_1.weight"])
            block.ln_1.b.copy_(found[f"h.{i}.ln_1.bias"])
            block.ln_2.w.copy_(found[f"h.{i}.ln_2.weight"])
            block.ln_2.b.copy_(found[f"h.{i}.ln_2.bias"])
            weights = found[f"h.{i}.attn.c_attn.weight"].T.reshape(3, config.d_model, config.d_model)
            biases = found[f"h.{i}.attn.c_attn.bias"].reshape(3, config.d_model)
            for layer, w, b in zip((block.attn.W_query, block.attn.W_key, block.attn.W_value), weights, biases):
                layer.weight.copy_(w)
                layer.bias.copy_(b)
            block.attn.out_proj.weight.copy_(found[f"h.{i}.attn.c_proj.weight"].T)
            block.attn.out_proj.bias.copy_(found[f"h.{i}.attn.c_proj.bias"])
            block.mlp.c_fc.weight.copy_(found[f"h.{i}.mlp.c_fc.weight"].T)
            block.mlp.c_fc.bias.copy_(found[f"h.{i}.mlp.c_fc.bias"])
            block.mlp.c_proj.weight.copy_(found[f"h.{i}.mlp.c_proj.weight"].T)
            block.mlp.c_proj.bias.copy_(found[f"h.{i}.mlp.c_proj.bias"])
    for name, parameter in own.items():
        state[name] = parameter.detach()
    return state

# %% generate_cached wrong (misconception position-0-again): the positions begin at 0 in every call, so each new token stands at position 0
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """The texts and n_tokens more, greedily; keys and values are computed once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        seq = new.shape[1]
        x = model.wte(new) + model.wpe(torch.arange(seq))
        for i, block in enumerate(model.blocks):
            normed = block.ln_1(x)
            q = split_heads(block.attn.W_query(normed), model.config.n_heads)
            k = split_heads(block.attn.W_key(normed), model.config.n_heads)
            v = split_heads(block.attn.W_value(normed), model.config.n_heads)
            if kept[i] is not None:
                k = torch.cat([kept[i][0], k], dim=2)
                v = torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            scores = q @ k.transpose(2, 3) / k.shape[-1] ** 0.5
            if seq > 1:
                hidden = torch.ones(seq, seq, dtype=torch.bool).triu(diagonal=1)
                scores = scores.masked_fill(hidden, -torch.inf)
            mixed = scores.softmax(dim=-1) @ v
            x = x + block.attn.out_proj(merge_heads(mixed))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x) @ model.wte.weight.T
        done += seq
        new = logits[:, -1:].argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (misconception position-counts-the-passes): done grows by 1 after the prompt as well, so the new tokens stand at 1, 2, 3
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """The texts and n_tokens more, greedily; keys and values are computed once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        seq = new.shape[1]
        x = model.wte(new) + model.wpe(torch.arange(done, done + seq))
        for i, block in enumerate(model.blocks):
            normed = block.ln_1(x)
            q = split_heads(block.attn.W_query(normed), model.config.n_heads)
            k = split_heads(block.attn.W_key(normed), model.config.n_heads)
            v = split_heads(block.attn.W_value(normed), model.config.n_heads)
            if kept[i] is not None:
                k = torch.cat([kept[i][0], k], dim=2)
                v = torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            scores = q @ k.transpose(2, 3) / k.shape[-1] ** 0.5
            if seq > 1:
                hidden = torch.ones(seq, seq, dtype=torch.bool).triu(diagonal=1)
                scores = scores.masked_fill(hidden, -torch.inf)
            mixed = scores.softmax(dim=-1) @ v
            x = x + block.attn.out_proj(merge_heads(mixed))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x) @ model.wte.weight.T
        done += 1
        new = logits[:, -1:].argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (misconception prompt-without-a-mask): no mask, so the prompt's positions see what comes later
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """The texts and n_tokens more, greedily; keys and values are computed once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        seq = new.shape[1]
        x = model.wte(new) + model.wpe(torch.arange(done, done + seq))
        for i, block in enumerate(model.blocks):
            normed = block.ln_1(x)
            q = split_heads(block.attn.W_query(normed), model.config.n_heads)
            k = split_heads(block.attn.W_key(normed), model.config.n_heads)
            v = split_heads(block.attn.W_value(normed), model.config.n_heads)
            if kept[i] is not None:
                k = torch.cat([kept[i][0], k], dim=2)
                v = torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            scores = q @ k.transpose(2, 3) / k.shape[-1] ** 0.5
            mixed = scores.softmax(dim=-1) @ v
            x = x + block.attn.out_proj(merge_heads(mixed))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x) @ model.wte.weight.T
        done += seq
        new = logits[:, -1:].argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (misconception sees-the-first-only): the same triu for every call, which lets a single new token see position 0 only
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """The texts and n_tokens more, greedily; keys and values are computed once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        seq = new.shape[1]
        x = model.wte(new) + model.wpe(torch.arange(done, done + seq))
        for i, block in enumerate(model.blocks):
            normed = block.ln_1(x)
            q = split_heads(block.attn.W_query(normed), model.config.n_heads)
            k = split_heads(block.attn.W_key(normed), model.config.n_heads)
            v = split_heads(block.attn.W_value(normed), model.config.n_heads)
            if kept[i] is not None:
                k = torch.cat([kept[i][0], k], dim=2)
                v = torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            scores = q @ k.transpose(2, 3) / k.shape[-1] ** 0.5
            hidden = torch.triu(torch.ones(q.shape[2], k.shape[2]), diagonal=1).bool()
            scores = scores.masked_fill(hidden, -torch.inf)
            mixed = scores.softmax(dim=-1) @ v
            x = x + block.attn.out_proj(merge_heads(mixed))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x) @ model.wte.weight.T
        done += seq
        new = logits[:, -1:].argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (misconception prompt-forgotten): what was kept is replaced by the newest keys and values instead of growing
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """The texts and n_tokens more, greedily; keys and values are computed once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        seq = new.shape[1]
        x = model.wte(new) + model.wpe(torch.arange(done, done + seq))
        for i, block in enumerate(model.blocks):
            normed = block.ln_1(x)
            q = split_heads(block.attn.W_query(normed), model.config.n_heads)
            k = split_heads(block.attn.W_key(normed), model.config.n_heads)
            v = split_heads(block.attn.W_value(normed), model.config.n_heads)
            fresh = (k, v)
            if kept[i] is not None:
                k = torch.cat([kept[i][0], k], dim=2)
                v = torch.cat([kept[i][1], v], dim=2)
            kept[i] = fresh
            scores = q @ k.transpose(2, 3) / k.shape[-1] ** 0.5
            if seq > 1:
                hidden = torch.ones(seq, seq, dtype=torch.bool).triu(diagonal=1)
                scores = scores.masked_fill(hidden, -torch.inf)
            mixed = scores.softmax(dim=-1) @ v
            x = x + block.attn.out_proj(merge_heads(mixed))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x) @ model.wte.weight.T
        done += seq
        new = logits[:, -1:].argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (property keeps_keys_and_values): nothing is kept, the whole text goes through the model each time
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """The texts and n_tokens more, greedily; keys and values are computed once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        new = model(tokens)[:, -1:].argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (misconception root-of-d_model): divides by the root of d_model and not of a head's width
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """The texts and n_tokens more, greedily; keys and values are computed once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        seq = new.shape[1]
        x = model.wte(new) + model.wpe(torch.arange(done, done + seq))
        for i, block in enumerate(model.blocks):
            normed = block.ln_1(x)
            q = split_heads(block.attn.W_query(normed), model.config.n_heads)
            k = split_heads(block.attn.W_key(normed), model.config.n_heads)
            v = split_heads(block.attn.W_value(normed), model.config.n_heads)
            if kept[i] is not None:
                k = torch.cat([kept[i][0], k], dim=2)
                v = torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            scores = q @ k.transpose(2, 3) / model.config.d_model ** 0.5
            if seq > 1:
                hidden = torch.ones(seq, seq, dtype=torch.bool).triu(diagonal=1)
                scores = scores.masked_fill(hidden, -torch.inf)
            mixed = scores.softmax(dim=-1) @ v
            x = x + block.attn.out_proj(merge_heads(mixed))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x) @ model.wte.weight.T
        done += seq
        new = logits[:, -1:].argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (misconception first-text-only): only the first text is continued, its token is put behind all texts
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """The texts and n_tokens more, greedily; keys and values are computed once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        seq = new.shape[1]
        x = model.wte(new) + model.wpe(torch.arange(done, done + seq))
        for i, block in enumerate(model.blocks):
            normed = block.ln_1(x)
            q = split_heads(block.attn.W_query(normed), model.config.n_heads)
            k = split_heads(block.attn.W_key(normed), model.config.n_heads)
            v = split_heads(block.attn.W_value(normed), model.config.n_heads)
            if kept[i] is not None:
                k = torch.cat([kept[i][0], k], dim=2)
                v = torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            scores = q @ k.transpose(2, 3) / k.shape[-1] ** 0.5
            if seq > 1:
                hidden = torch.ones(seq, seq, dtype=torch.bool).triu(diagonal=1)
                scores = scores.masked_fill(hidden, -torch.inf)
            mixed = scores.softmax(dim=-1) @ v
            x = x + block.attn.out_proj(merge_heads(mixed))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x) @ model.wte.weight.T
        done += seq
        new = logits[0, -1].argmax().reshape(1, 1).expand(tokens.shape[0], 1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached right (passed): the plain way, keys and values put together along the positions
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """The texts and n_tokens more, greedily; keys and values are computed once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        seq = new.shape[1]
        x = model.wte(new) + model.wpe(torch.arange(done, done + seq))
        for i, block in enumerate(model.blocks):
            normed = block.ln_1(x)
            q = split_heads(block.attn.W_query(normed), model.config.n_heads)
            k = split_heads(block.attn.W_key(normed), model.config.n_heads)
            v = split_heads(block.attn.W_value(normed), model.config.n_heads)
            if kept[i] is not None:
                k = torch.cat([kept[i][0], k], dim=2)
                v = torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            scores = q @ k.transpose(2, 3) / k.shape[-1] ** 0.5
            if seq > 1:
                hidden = torch.ones(seq, seq, dtype=torch.bool).triu(diagonal=1)
                scores = scores.masked_fill(hidden, -torch.inf)
            mixed = scores.softmax(dim=-1) @ v
            x = x + block.attn.out_proj(merge_heads(mixed))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x) @ model.wte.weight.T
        done += seq
        new = logits[:, -1:].argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached right (passed): torch's scaled_dot_product_attention, causal in the first call only
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """The texts and n_tokens more, greedily; keys and values are computed once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        batch, length = new.shape
        where = torch.arange(done, done + length, device=tokens.device).expand(batch, length)
        stream = model.wte(new) + model.wpe(where)
        for number, block in enumerate(model.blocks):
            read, attn = block.ln_1(stream), block.attn
            query, key, value = (
                split_heads(layer(read), model.config.n_heads) for layer in (attn.W_query, attn.W_key, attn.W_value)
            )
            if done > 0:
                old_key, old_value = kept[number]
                key, value = torch.cat((old_key, key), dim=-2), torch.cat((old_value, value), dim=-2)
            kept[number] = [key, value]
            mixed = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=done == 0)
            stream = stream + attn.out_proj(merge_heads(mixed))
            stream = stream + block.mlp(block.ln_2(stream))
        done = done + length
        last = model.ln_f(stream[:, -1])
        new = (last @ model.wte.weight.T).argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached right (passed): room for all keys and values made beforehand and filled, one mask by positions
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """The texts and n_tokens more, greedily; keys and values are computed once for each position."""
    batch, longest = tokens.shape[0], tokens.shape[1] + n_tokens
    heads, d = model.config.n_heads, model.config.d_model
    dtype = model.wte.weight.dtype
    all_keys = [torch.zeros(batch, heads, longest, d // heads, dtype=dtype) for _ in model.blocks]
    all_values = [torch.zeros(batch, heads, longest, d // heads, dtype=dtype) for _ in model.blocks]
    new, done = tokens, 0
    with torch.no_grad():
        for _ in range(n_tokens):
            end = done + new.shape[1]
            places = torch.arange(done, end)
            may_see = places[:, None] >= torch.arange(end)[None, :]
            x = model.wte(new) + model.wpe(places)
            for block, keys, values in zip(model.blocks, all_keys, all_values):
                y = block.ln_1(x)
                keys[:, :, done:end] = split_heads(block.attn.W_key(y), heads)
                values[:, :, done:end] = split_heads(block.attn.W_value(y), heads)
                queries = split_heads(block.attn.W_query(y), heads)
                scores = torch.einsum("bhqd,bhkd->bhqk", queries, keys[:, :, :end]) * (d // heads) ** -0.5
                weights = torch.softmax(torch.where(may_see, scores, torch.tensor(float("-inf"))), dim=-1)
                x = x + block.attn.out_proj(merge_heads(weights @ values[:, :, :end]))
                x = x + block.mlp(block.ln_2(x))
            done = end
            new = torch.argmax(model.ln_f(x)[:, -1:, :] @ model.wte.weight.T, dim=2)
            tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached right (passed): clumsy, query by query and head by head, so that no mask is needed
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """The texts and n_tokens more, greedily; keys and values are computed once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        seq = new.shape[1]
        n_heads = model.config.n_heads
        x = model.wte(new) + model.wpe(torch.arange(done, done + seq))
        for i in range(len(model.blocks)):
            block = model.blocks[i]
            normed = block.ln_1(x)
            q = split_heads(block.attn.W_query(normed), n_heads)
            k = split_heads(block.attn.W_key(normed), n_heads)
            v = split_heads(block.attn.W_value(normed), n_heads)
            if kept[i] is None:
                kept[i] = {"k": k, "v": v}
            else:
                kept[i]["k"] = torch.cat([kept[i]["k"], k], dim=2)
                kept[i]["v"] = torch.cat([kept[i]["v"], v], dim=2)
            rows = []
            for position in range(seq):
                upto = done + position + 1
                by_head = []
                for head in range(n_heads):
                    keys = kept[i]["k"][:, head, :upto]
                    values = kept[i]["v"][:, head, :upto]
                    query = q[:, head, position]
                    scores = (keys * query[:, None, :]).sum(dim=-1) / keys.shape[-1] ** 0.5
                    weights = torch.softmax(scores, dim=-1)
                    by_head.append((weights[:, :, None] * values).sum(dim=1))
                rows.append(torch.cat(by_head, dim=-1))
            x = x + block.attn.out_proj(torch.stack(rows, dim=1))
            x = x + block.mlp(block.ln_2(x))
        done = done + seq
        x = model.ln_f(x)
        logits = x[:, -1] @ model.wte.weight.T
        new = logits.argmax(dim=-1).unsqueeze(1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens
