# %% gelu wrong (misconception exact): multiplies by the exact normal probability, which is the other form
def gelu(x):
    return x * torch.special.ndtr(x)

# %% gelu wrong (misconception point-slipped): has 0.44715 instead of 0.044715
def gelu(x):
    inner = (2 / torch.pi) ** 0.5 * (x + 0.44715 * x**3)
    return x / 2 * (1 + torch.tanh(inner))

# %% gelu wrong (misconception outside-the-root): multiplies only x by the square root, not the cubic term
def gelu(x):
    import math

    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * x + 0.044715 * x.pow(3)))

# %% gelu wrong (misconception one-outside-the-bracket): leaves out a pair of brackets, so tanh is added to x / 2 instead of multiplied
def gelu(x):
    c = (2 / torch.pi) ** 0.5
    return x / 2 * 1 + torch.tanh(c * (x + 0.044715 * x**3))

# %% gelu wrong (misconception square-for-cube): squares x instead of cubing it
def gelu(x):
    cubic = 0.044715 * torch.square(x)
    return (x / 2) * (1 + ((x + cubic) * (2 / torch.pi) ** 0.5).tanh())

# %% gelu wrong (property finite_when_scaled): writes tanh with two exponentials, which overflow and give nan for large inputs
def gelu(x):
    u = (2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)
    e = torch.exp(2 * u)
    return x / 2 * (1 + (e - 1) / (e + 1))

# %% gelu wrong (property leaves_its_inputs): adds the cubic term to x in place, which changes the caller's tensor and stops on a leaf with gradients
def gelu(x):
    half = x / 2
    u = x
    u += 0.044715 * x**3
    return half * (1 + torch.tanh(u * (2 / torch.pi) ** 0.5))

# %% gelu wrong (difference milestone): takes the ReLU outside -2.5 to 2.5, where the curve is still 0.016 away
def gelu(x):
    curve = 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3)))
    return torch.where(x.abs() > 2.5, x.clamp(min=0), curve)

# %% gelu wrong (property gradients): computes the gate without gradients, so the numbers are right and the gradient is not
def gelu(x):
    with torch.no_grad():
        gate = (1 + torch.tanh((2 / torch.pi) ** 0.5 * (x + 0.044715 * x * x * x))) / 2
    return x * gate

# %% gelu wrong (raised): goes through the tensor row by row, which a tensor without axes does not allow
def gelu(x):
    c = (2 / torch.pi) ** 0.5
    rows = [row / 2 * (1 + torch.tanh(c * (row + 0.044715 * row**3))) for row in x]
    return torch.stack(rows)

# %% gelu right (passed): half of one plus tanh is a sigmoid of twice the argument
def gelu(x):
    twice = 2 * (2 / torch.pi) ** 0.5
    return x * torch.sigmoid(twice * (x + 0.044715 * x.pow(3)))

# %% gelu right (passed): factors x out of the cubic, with addcmul
def gelu(x):
    import math

    bend = torch.addcmul(torch.ones_like(x), x, x, value=0.044715)
    half = x.mul(0.5)
    return torch.addcmul(half, half, (bend * x * math.sqrt(2 / math.pi)).tanh())

# %% MLP wrong (misconception bend-first): applies gelu to the input instead of between the layers
class MLP(nn.Module):
    def __init__(self, d_model, d_mlp):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x):
        return self.c_proj(self.c_fc(gelu(x)))

# %% MLP wrong (misconception bent-twice): applies gelu once more, to the output
class MLP(nn.Module):
    def __init__(self, d_model, d_mlp):
        super().__init__()
        self.c_fc, self.c_proj = nn.Linear(d_model, d_mlp), nn.Linear(d_mlp, d_model)

    def forward(self, x):
        for layer in (self.c_fc, self.c_proj):
            x = gelu(layer(x))
        return x

# %% MLP wrong (structure): gives the second layer no bias
class MLP(nn.Module):
    def __init__(self, d_model, d_mlp):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model, bias=False)

    def forward(self, x):
        hidden = gelu(self.c_fc(x))
        return self.c_proj(hidden)

# %% MLP wrong (structure): puts both layers into a Sequential, so the parameters have other names than in the file
class MLP(nn.Module):
    def __init__(self, d_model, d_mlp):
        super().__init__()
        from collections import OrderedDict

        self.layers = nn.Sequential(
            OrderedDict(c_fc=nn.Linear(d_model, d_mlp), c_proj=nn.Linear(d_mlp, d_model))
        )

    def forward(self, x):
        return self.layers.c_proj(gelu(self.layers.c_fc(x)))

# %% MLP wrong (misconception returns-its-input-too): adds the stream to the result, which only the block should do
class MLP(nn.Module):
    def __init__(self, d_model, d_mlp):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x):
        return x.add(self.c_proj(gelu(self.c_fc(x))))

# %% MLP wrong (misconception always-four-times): always makes the vector four times as wide and ignores d_mlp
class MLP(nn.Module):
    def __init__(self, d_model, d_mlp):
        super().__init__()
        wide = 4 * d_model
        self.c_fc = nn.Linear(d_model, wide)
        self.c_proj = nn.Linear(wide, d_model)

    def forward(self, x):
        return self.c_proj(gelu(self.c_fc(x)))

# %% MLP wrong (misconception exact): takes torch's GELU in its default form instead of the gelu above
class MLP(nn.Module):
    def __init__(self, d_model, d_mlp):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.act = nn.GELU()
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x):
        return self.c_proj(self.act(self.c_fc(x)))

# %% MLP wrong (raised): demands exactly the three axes batch, seq and d_model
class MLP(nn.Module):
    def __init__(self, d_model, d_mlp):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x):
        batch, seq, d_model = x.shape
        flat = x.reshape(batch * seq, d_model)
        return self.c_proj(gelu(self.c_fc(flat))).view(batch, seq, d_model)

# %% MLP wrong (property draws_nothing): drops a tenth of the hidden numbers in training mode
class MLP(nn.Module):
    def __init__(self, d_model, d_mlp):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x):
        hidden = gelu(self.c_fc(x))
        hidden = nn.functional.dropout(hidden, p=0.1, training=self.training)
        return self.c_proj(hidden)

# %% MLP wrong (property lets_gradients_through): detaches the hidden vector, so c_fc and the input get no gradient
class MLP(nn.Module):
    def __init__(self, d_model, d_mlp):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x):
        hidden = self.c_fc(x).data
        return self.c_proj(gelu(hidden))

# %% MLP right (passed): adds the layers by name in a loop over a table of sizes
class MLP(nn.Module):
    def __init__(self, d_model, d_mlp):
        super().__init__()
        for name, sizes in {"c_fc": (d_model, d_mlp), "c_proj": (d_mlp, d_model)}.items():
            self.add_module(name, nn.Linear(*sizes, bias=True))

    def forward(self, x):
        first, second = self.children()
        return second(gelu(first(x)))

# %% MLP right (passed): writes both linear maps as addition and matrix product
class MLP(nn.Module):
    def __init__(self, d_model, d_mlp):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x):
        wide = gelu(torch.einsum("...d,md->...m", x, self.c_fc.weight) + self.c_fc.bias)
        return torch.einsum("...m,dm->...d", wide, self.c_proj.weight) + self.c_proj.bias

# %% Block wrong (misconception normed-stream-goes-on): adds to the normalised copies instead of to the stream
class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, qkv_bias=True)
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x):
        x = self.ln_1(x)
        x = x + self.attn(x)
        x = self.ln_2(x)
        return x + self.mlp(x)

# %% Block wrong (misconception side-by-side): both halves read the same stream, so the MLP does not see what attention has added
class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        d = config.d_model
        self.ln_1, self.ln_2 = LayerNorm(d, config.eps), LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, True)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x):
        return x + self.attn(self.ln_1(x)) + self.mlp(self.ln_2(x))

# %% Block wrong (structure): makes the MLP 4 numbers wide instead of four times d_model
class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d, eps=config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0, config.n_heads, qkv_bias=True)
        self.ln_2 = LayerNorm(d, eps=config.eps)
        self.mlp = MLP(d, 4)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))

# %% Block wrong (misconception first-norm-twice): normalises with ln_1 before both halves, a copy-paste slip
class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(
            d_in=d, d_out=d, context_length=config.n_positions, dropout=0.0, num_heads=config.n_heads, qkv_bias=True
        )
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        x = x + self.mlp(self.ln_1(x))
        return x

# %% Block wrong (property first_wrong_part): returns only what the MLP adds in the second half, so attention's sum is lost
class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, True)
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x):
        after = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(after))

# %% Block wrong (misconception eps-as-in-lesson-06): leaves the norms at their default eps
class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        d = config.d_model
        self.ln_1, self.ln_2 = (LayerNorm(d) for _ in range(2))
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, True)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))

# %% Block wrong (structure): uses one norm under both names, right until the two are trained or loaded
class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        d = config.d_model
        self.ln_1 = self.ln_2 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, True)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))

# %% Block wrong (raised): gives d_model as the context, so a text with more tokens than d_model fails
class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, d, 0.0, config.n_heads, qkv_bias=True)
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))

# %% Block wrong (property draws_nothing): attention drops a tenth of its weights in training mode
class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.1, config.n_heads, qkv_bias=True)
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x):
        x = torch.add(x, self.attn(self.ln_1(x)))
        return torch.add(x, self.mlp(self.ln_2(x)))

# %% Block wrong (property leaves_its_inputs): adds in place, which changes the caller's tensor and fails on a leaf that needs gradients
class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, qkv_bias=True)
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x):
        x += self.attn(self.ln_1(x))
        x += self.mlp(self.ln_2(x))
        return x

# %% Block right (passed): goes through pairs of a norm and a part
class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        d = config.d_model
        norm = lambda: LayerNorm(d, config.eps)
        self.ln_1, self.ln_2 = norm(), norm()
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, True)
        self.mlp = MLP(d, d * 4)

    def forward(self, x):
        for norm, part in ((self.ln_1, self.attn), (self.ln_2, self.mlp)):
            x = x + part(norm(x))
        return x

# %% Block right (passed): registers the parts from a dict and writes the forward pass as one nested expression
class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        d = config.d_model
        parts = dict(
            ln_1=LayerNorm(d_model=d, eps=config.eps),
            attn=MultiHeadAttention(
                d_in=d, d_out=d, context_length=config.n_positions, dropout=0.0, num_heads=config.n_heads, qkv_bias=True
            ),
            ln_2=LayerNorm(d_model=d, eps=config.eps),
            mlp=MLP(d_model=d, d_mlp=4 * d),
        )
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x):
        return (y := x + self.attn(self.ln_1(x))) + self.mlp(self.ln_2(y))

# %% GPT wrong (misconception final-norm-first): applies ln_f to the embeddings, before the blocks
class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.ln_f = LayerNorm(config.d_model, config.eps)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        x = self.ln_f(x)
        for block in self.blocks:
            x = block(x)
        return x @ self.wte.weight.T

# %% GPT wrong (raised): counts positions from 1
class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layers))
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens):
        places = torch.ones_like(tokens).cumsum(dim=1)
        x = self.wte(tokens) + self.wpe(places)
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T

# %% GPT wrong (structure): multiplies a list of one block, so all layers share their weights
class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config)] * config.n_layers)
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.mT

# %% GPT wrong (misconception embedding-enlarged): multiplies the token vectors by the square root of d_model, as the first Transformer did
class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens):
        x = self.wte(tokens) * self.config.d_model**0.5
        x = x + self.wpe(torch.arange(tokens.size(1), device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.t()

# %% GPT wrong (shape): gives the logits of the last position only
class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x[:, -1:]) @ self.wte.weight.T

# %% GPT wrong (property first_wrong_part): copies the embeddings for the head when it is built, so loading or training leaves the head behind
class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(config.d_model, config.eps)
        self.W_U = self.wte.weight.detach().clone().T

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.W_U.to(x.device)

# %% GPT wrong (property first_wrong_part): leaves the last norm at its default eps
class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        d = config.d_model
        self.wte, self.wpe = nn.Embedding(config.vocab_size, d), nn.Embedding(config.n_positions, d)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(d)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return nn.functional.linear(self.ln_f(x), self.wte.weight)

# %% GPT wrong (property gradients): takes the embeddings' data for the head, so no gradient comes to them from the scores
class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return torch.einsum("bsd,vd->bsv", self.ln_f(x), self.wte.weight.data)

# %% GPT wrong (structure): gives the head a bias, zeros at first, which is one parameter more than the model has
class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(config.d_model, config.eps)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return nn.functional.linear(self.ln_f(x), self.wte.weight, self.bias)

# %% GPT wrong (property first_wrong_part): returns log-probabilities, which have the same order and differences as the logits
class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return (self.ln_f(x) @ self.wte.weight.T).log_softmax(dim=-1)

# %% GPT wrong (property moves_with_its_module): keeps the positions as a plain tensor, which does not move to another device with the model
class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(config.d_model, config.eps)
        self.places = torch.arange(config.n_positions)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(self.places[: tokens.shape[1]])
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T

# %% GPT right (passed): slices the position vectors, and folds the blocks with reduce
class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        d = config.d_model
        self.wte = nn.Embedding(config.vocab_size, d)
        self.wpe = nn.Embedding(config.n_positions, d)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layers))
        self.ln_f = LayerNorm(d, config.eps)

    def forward(self, tokens):
        from functools import reduce

        start = self.wte(tokens) + self.wpe.weight[None, : tokens.shape[1]]
        end = reduce(lambda stream, block: block(stream), self.blocks, start)
        return nn.functional.linear(self.ln_f(end), self.wte.weight)

# %% GPT right (passed): counts positions with cumsum, appends the blocks one by one, and writes the head as an einsum
class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList()
        while len(self.blocks) < config.n_layers:
            self.blocks.append(Block(config))
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens):
        places = torch.ones_like(tokens).cumsum(dim=-1) - 1
        stream = self.wte(tokens) + self.wpe(places)
        for layer in range(self.config.n_layers):
            stream = self.blocks[layer](stream)
        return torch.einsum("bsd,vd->bsv", self.ln_f(stream), self.wte.weight)

# %% gpt2_state wrong (misconception embedding-turned): transposes every matrix, also the embeddings
def gpt2_state(tensors, config):
    found, state = your_own_gpt2.named(tensors, config), {}
    for name, t in found.items():
        if t.ndim == 2:
            t = t.T
        name = name.replace("h.", "blocks.", 1) if name.startswith("h.") else name
        kind = name.rpartition(".")[2]
        if "ln_" in name:
            state[name[: -len(kind)] + kind[0]] = t
        elif "attn.c_attn" in name:
            for part, piece in zip(("W_query", "W_key", "W_value"), t.chunk(3, dim=0)):
                state[name.replace("c_attn", part)] = piece
        else:
            state[name.replace("attn.c_proj", "attn.out_proj")] = t
    return state

# %% gpt2_state wrong (property from_which_tensor): takes every third number of the bias for queries, keys and values
def gpt2_state(tensors, config):
    found, state = your_own_gpt2.named(tensors, config), {}
    for name in ("wte.weight", "wpe.weight"):
        state[name] = found[name]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    for i in range(config.n_layers):
        old, new = f"h.{i}", f"blocks.{i}"
        for norm in ("ln_1", "ln_2"):
            state[f"{new}.{norm}.w"] = found[f"{old}.{norm}.weight"]
            state[f"{new}.{norm}.b"] = found[f"{old}.{norm}.bias"]
        weights = found[f"{old}.attn.c_attn.weight"].T.chunk(3)
        biases = found[f"{old}.attn.c_attn.bias"].view(-1, 3).T
        for part, weight, bias in zip(("W_query", "W_key", "W_value"), weights, biases):
            state[f"{new}.attn.{part}.weight"], state[f"{new}.attn.{part}.bias"] = weight, bias
        for a, b in (("attn.c_proj", "attn.out_proj"), ("mlp.c_fc", "mlp.c_fc"), ("mlp.c_proj", "mlp.c_proj")):
            state[f"{new}.{b}.weight"] = found[f"{old}.{a}.weight"].T
            state[f"{new}.{b}.bias"] = found[f"{old}.{a}.bias"]
    return state

# %% gpt2_state wrong (property from_which_tensor): reshapes the matrices to the swapped shape instead of transposing them
def gpt2_state(tensors, config):
    found, state = your_own_gpt2.named(tensors, config), {}
    d = config.d_model
    state |= {"wte.weight": found["wte.weight"], "wpe.weight": found["wpe.weight"]}
    state |= {"ln_f.w": found["ln_f.weight"], "ln_f.b": found["ln_f.bias"]}
    for i in range(config.n_layers):
        h = {name.removeprefix(f"h.{i}."): t for name, t in found.items() if name.startswith(f"h.{i}.")}
        block = {}
        for n in (1, 2):
            block[f"ln_{n}.w"], block[f"ln_{n}.b"] = h[f"ln_{n}.weight"], h[f"ln_{n}.bias"]
        for p, part in enumerate(("W_query", "W_key", "W_value")):
            block[f"attn.{part}.weight"] = h["attn.c_attn.weight"][:, p * d : (p + 1) * d].reshape(d, d)
            block[f"attn.{part}.bias"] = h["attn.c_attn.bias"][p * d : (p + 1) * d]
        block["attn.out_proj.weight"], block["attn.out_proj.bias"] = h["attn.c_proj.weight"], h["attn.c_proj.bias"]
        block["mlp.c_fc.weight"], block["mlp.c_fc.bias"] = h["mlp.c_fc.weight"].reshape(4 * d, d), h["mlp.c_fc.bias"]
        block["mlp.c_proj.weight"] = h["mlp.c_proj.weight"].reshape(d, 4 * d)
        block["mlp.c_proj.bias"] = h["mlp.c_proj.bias"]
        state |= {f"blocks.{i}.{name}": t for name, t in block.items()}
    return state

# %% gpt2_state wrong (property names_fit_the_model): renames the norms only inside the blocks, so ln_f keeps weight and bias
def gpt2_state(tensors, config):
    found, state = your_own_gpt2.named(tensors, config), {}
    for name, t in found.items():
        if not name.startswith("h."):
            state[name] = t
            continue
        _, layer, part, *rest = name.split(".")
        base = f"blocks.{layer}.{part}"
        if part in ("ln_1", "ln_2"):
            state[f"{base}.{rest[0][0]}"] = t
        elif rest[0] == "c_attn":
            for new, piece in zip(("W_query", "W_key", "W_value"), t.split(config.d_model, dim=-1)):
                state[f"{base}.{new}.{rest[1]}"] = piece.T if t.ndim == 2 else piece
        else:
            new = "out_proj" if (part, rest[0]) == ("attn", "c_proj") else rest[0]
            state[f"{base}.{new}.{rest[1]}"] = t.T if t.ndim == 2 else t
    return state

# %% gpt2_state wrong (property names_fit_the_model): renames both layers that the file calls c_proj, in attn and in mlp
def gpt2_state(tensors, config):
    found, state = your_own_gpt2.named(tensors, config), {}
    for name, t in found.items():
        if name.startswith("h."):
            name = "blocks." + name[2:]
            if t.ndim == 2:
                t = t.T
        if ".ln_" in name or name.startswith("ln_f"):
            name = name.replace(".weight", ".w").replace(".bias", ".b")
        name = name.replace("c_proj", "out_proj")
        if "c_attn" in name:
            for part, piece in zip(("W_query", "W_key", "W_value"), t.chunk(3)):
                state[name.replace("c_attn", part)] = piece
        else:
            state[name] = t
    return state

# %% gpt2_state wrong (misconception cut-by-heads): reads c_attn as query, key and value of head 0, then of head 1, which is right only with one head
def gpt2_state(tensors, config):
    found, state = your_own_gpt2.named(tensors, config), {}
    d, heads = config.d_model, config.n_heads
    for name, t in found.items():
        if name.startswith("h."):
            name, t = f"blocks.{name[2:]}", t.T if t.ndim == 2 else t
        if "ln_" in name:
            name = name.replace("weight", "w").replace("bias", "b")
        if "c_attn" not in name:
            state[name.replace("attn.c_proj", "attn.out_proj")] = t
            continue
        pieces = t.unflatten(0, (heads, 3, d // heads))
        for p, part in enumerate(("W_query", "W_key", "W_value")):
            state[name.replace("c_attn", part)] = pieces[:, p].flatten(0, 1)
    return state

# %% gpt2_state wrong (property names_fit_the_model): expects a block number of one digit, so an eleventh block keeps the file's names
def gpt2_state(tensors, config):
    import re

    found, state = your_own_gpt2.named(tensors, config), {}
    for name, t in found.items():
        match = re.fullmatch(r"h\.(\d)\.(\w+)\.(.+)", name)
        if not match:
            state[name.replace("ln_f.weight", "ln_f.w").replace("ln_f.bias", "ln_f.b")] = t
            continue
        layer, part, rest = match.groups()
        start = f"blocks.{layer}.{part}."
        if part.startswith("ln"):
            state[start + rest[0]] = t
            continue
        t = t.T if rest.endswith("weight") else t
        if rest.startswith("c_attn"):
            for new, piece in zip(("W_query", "W_key", "W_value"), t.chunk(3)):
                state[start + rest.replace("c_attn", new)] = piece
        else:
            state[start + (rest.replace("c_proj", "out_proj") if part == "attn" else rest)] = t
    return state

# %% gpt2_state wrong (raised): goes through the tensors as given instead of those that named returns, so a prefix stays in the names
def gpt2_state(tensors, config):
    found, state = your_own_gpt2.named(tensors, config), {}
    for name, t in tensors.items():
        if name.startswith("h."):
            name = name.replace("h.", "blocks.", 1)
            t = t.T if t.dim() == 2 else t
        if "ln_" in name:
            name = name.replace(".weight", ".w").replace(".bias", ".b")
        if ".c_attn." in name:
            q, k, v = t.split(config.d_model)
            state[name.replace("c_attn", "W_query")] = q
            state[name.replace("c_attn", "W_key")] = k
            state[name.replace("c_attn", "W_value")] = v
        else:
            state[name.replace("attn.c_proj", "attn.out_proj")] = t
    return state

# %% gpt2_state wrong (property leaves_its_inputs): transposes the file's tensors in place, so the caller's dict is changed and a second call fails
def gpt2_state(tensors, config):
    found, state = your_own_gpt2.named(tensors, config), {}
    for name, t in found.items():
        first, _, rest = name.partition(".")
        if first == "h":
            name = f"blocks.{rest}"
            if t.ndim == 2:
                t.t_()
        if "ln_" in name:
            name = name.replace("weight", "w").replace("bias", "b")
        if "c_attn" in name:
            for part, piece in zip(("query", "key", "value"), t.chunk(3, dim=0)):
                state[name.replace("c_attn", f"W_{part}")] = piece
        else:
            state[name.replace("attn.c_proj", "attn.out_proj")] = t
    return state

# %% gpt2_state wrong (shape): splits c_attn after 192 and 384 columns whatever d_model is
def gpt2_state(tensors, config):
    found, state = your_own_gpt2.named(tensors, config), {}
    for name, t in found.items():
        name = name.replace("h.", "blocks.", 1) if name.startswith("h.") else name
        if "ln_" in name:
            name = name.replace("weight", "w").replace("bias", "b")
        elif name.startswith("blocks.") and t.ndim == 2:
            t = t.transpose(0, 1)
        if "c_attn" in name:
            for part, piece in zip(("W_query", "W_key", "W_value"), (t[:192], t[192:384], t[384:])):
                state[name.replace("c_attn", part)] = piece
        else:
            state[name.replace("attn.c_proj", "attn.out_proj")] = t
    return state

# %% gpt2_state right (passed): a function from each old name to new names, with a table of renamings
def gpt2_state(tensors, config):
    found, state = your_own_gpt2.named(tensors, config), {}
    renamed = {"attn.c_proj": "attn.out_proj", "mlp.c_fc": "mlp.c_fc", "mlp.c_proj": "mlp.c_proj"}

    def norm(old, new):
        return {f"{new}.w": found[f"{old}.weight"], f"{new}.b": found[f"{old}.bias"]}

    def linear(new, weight, bias):
        return {f"{new}.weight": weight.T.contiguous(), f"{new}.bias": bias.clone()}

    state.update({name: found[name] for name in ("wte.weight", "wpe.weight")}, **norm("ln_f", "ln_f"))
    for i in range(config.n_layers):
        h, b = f"h.{i}.", f"blocks.{i}."
        state.update(norm(h + "ln_1", b + "ln_1") | norm(h + "ln_2", b + "ln_2"))
        for old, new in renamed.items():
            state.update(linear(b + new, found[f"{h}{old}.weight"], found[f"{h}{old}.bias"]))
        three = (found[f"{h}attn.c_attn.{kind}"].chunk(3, dim=-1) for kind in ("weight", "bias"))
        for part, weight, bias in zip(("query", "key", "value"), *three):
            state.update(linear(f"{b}attn.W_{part}", weight, bias))
    return state

# %% gpt2_state right (passed): one pass with a regular expression, and unflatten instead of split
def gpt2_state(tensors, config):
    import re

    found, state = your_own_gpt2.named(tensors, config), {}
    for name, t in found.items():
        new = re.sub(r"^h\.(\d+)\.", r"blocks.\1.", name)
        new = re.sub(r"(ln_\w)\.(w|b)\w+$", r"\1.\2", new)
        new = new.replace(".attn.c_proj.", ".attn.out_proj.")
        if new.startswith("blocks.") and t.ndim == 2:
            t = torch.einsum("io->oi", t)
        if ".c_attn." in new:
            for part, piece in zip(("W_query", "W_key", "W_value"), t.unflatten(0, (3, config.d_model)).unbind(0)):
                state[new.replace("c_attn", part)] = piece
        else:
            state[new] = t
    return state

# %% generate_cached wrong (misconception position-counts-the-passes): adds 1 to done after every pass, also after the whole prompt
def generate_cached(model, tokens, n_tokens):
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    heads = model.config.n_heads
    for _ in range(n_tokens):
        length = new.shape[1]
        x = model.wte(new) + model.wpe(torch.arange(done, done + length, device=new.device))
        for i, block in enumerate(model.blocks):
            h = block.ln_1(x)
            q, k, v = (split_heads(w(h), heads) for w in (block.attn.W_query, block.attn.W_key, block.attn.W_value))
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = k, v
            scores = q @ k.mT / k.shape[-1] ** 0.5
            hidden = torch.ones(length, k.shape[2], dtype=torch.bool, device=new.device).triu(k.shape[2] - length + 1)
            out = scores.masked_fill(hidden, -torch.inf).softmax(dim=-1) @ v
            x = x + block.attn.out_proj(merge_heads(out))
            x = x + block.mlp(block.ln_2(x))
        new = (model.ln_f(x[:, -1:]) @ model.wte.weight.T).argmax(dim=-1)
        done += 1
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (misconception sees-the-first-only): builds the mask as if the first key were at the position of the first new token
def generate_cached(model, tokens, n_tokens):
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        places = torch.arange(done, done + new.size(1), device=tokens.device)
        x = model.wte(new) + model.wpe(places)
        for i, block in enumerate(model.blocks):
            a = block.attn
            h = block.ln_1(x)
            q, k, v = [w(h).unflatten(-1, (model.config.n_heads, -1)).transpose(1, 2) for w in (a.W_query, a.W_key, a.W_value)]
            if kept[i]:
                k = torch.cat((kept[i][0], k), dim=-2)
                v = torch.cat((kept[i][1], v), dim=-2)
            kept[i] = (k, v)
            scores = q @ k.transpose(-1, -2) / k.size(-1) ** 0.5
            scores = scores.masked_fill(torch.ones_like(scores).triu(diagonal=1).bool(), float("-inf"))
            x = x + a.out_proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1]) @ model.wte.weight.T
        done += new.size(1)
        new = logits.argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (misconception root-of-d_model): divides the scores by the root of d_model instead of the width of a head
def generate_cached(model, tokens, n_tokens):
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        x = model.wte(new) + model.wpe.weight[done : done + new.shape[1]]
        for i, block in enumerate(model.blocks):
            h, a = block.ln_1(x), block.attn
            q, k, v = (split_heads(w(h), model.config.n_heads) for w in (a.W_query, a.W_key, a.W_value))
            if done > 0:
                k, v = (torch.cat(pair, dim=2) for pair in zip(kept[i], (k, v)))
            kept[i] = k, v
            out = nn.functional.scaled_dot_product_attention(
                q, k, v, is_causal=done == 0, scale=model.config.d_model**-0.5
            )
            x = x + a.out_proj(merge_heads(out))
            x = x + block.mlp(block.ln_2(x))
        done += new.shape[1]
        new = (model.ln_f(x)[:, -1:] @ model.wte.weight.T).argmax(-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (property first_wrong_pass): cuts the heads with a view but no transpose, which is right only while one position goes through
def generate_cached(model, tokens, n_tokens):
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    heads = model.config.n_heads
    for _ in range(n_tokens):
        b, s = new.shape
        x = model.wte(new) + model.wpe(torch.arange(done, done + s, device=new.device))
        for i, block in enumerate(model.blocks):
            h = block.ln_1(x)
            q = block.attn.W_query(h).reshape(b, heads, s, -1)
            k = block.attn.W_key(h).reshape(b, heads, s, -1)
            v = block.attn.W_value(h).reshape(b, heads, s, -1)
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], 2), torch.cat([kept[i][1], v], 2)
            kept[i] = k, v
            scores = q @ k.mT / q.shape[-1] ** 0.5
            row = torch.arange(done, done + s, device=new.device)[:, None]
            scores = scores.masked_fill(torch.arange(done + s, device=new.device) > row, -torch.inf)
            x = x + block.attn.out_proj((scores.softmax(-1) @ v).reshape(b, s, -1))
            x = x + block.mlp(block.ln_2(x))
        done += s
        new = (model.ln_f(x[:, -1:]) @ model.wte.weight.T).argmax(-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (property draws_nothing): samples the next token instead of taking the best one
def generate_cached(model, tokens, n_tokens):
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        n = new.shape[1]
        x = model.wte(new) + model.wpe(torch.arange(done, done + n, device=new.device))
        for i, block in enumerate(model.blocks):
            a, h = block.attn, block.ln_1(x)
            q, k, v = (split_heads(w(h), model.config.n_heads) for w in (a.W_query, a.W_key, a.W_value))
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            hidden = torch.ones(n, done + n, dtype=torch.bool, device=new.device).triu(done + 1)
            weights = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(hidden, -torch.inf).softmax(-1)
            x = x + a.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        probabilities = (model.ln_f(x[:, -1]) @ model.wte.weight.T).softmax(dim=-1)
        new, done = torch.multinomial(probabilities, 1), done + n
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (shape): stops when all texts end with the last token of the vocabulary, which marks the end of a text
def generate_cached(model, tokens, n_tokens):
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    end_of_text = model.config.vocab_size - 1
    for _ in range(n_tokens):
        n = new.shape[1]
        x = model.wte(new) + model.wpe(torch.arange(done, done + n, device=new.device))
        for i, block in enumerate(model.blocks):
            a, h = block.attn, block.ln_1(x)
            q, k, v = (split_heads(w(h), model.config.n_heads) for w in (a.W_query, a.W_key, a.W_value))
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            out = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=n > 1)
            x = x + a.out_proj(merge_heads(out))
            x = x + block.mlp(block.ln_2(x))
        new = (model.ln_f(x[:, -1:]) @ model.wte.weight.T).argmax(-1)
        done += n
        tokens = torch.cat([tokens, new], dim=1)
        if (new == end_of_text).all():
            break
    return tokens

# %% generate_cached wrong (misconception first-text-only): chooses the first text's best token for every text in the batch
def generate_cached(model, tokens, n_tokens):
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        n = new.shape[1]
        x = model.wte(new) + model.wpe(torch.arange(done, done + n, device=new.device))
        for i, block in enumerate(model.blocks):
            a, h = block.attn, block.ln_1(x)
            q, k, v = (split_heads(w(h), model.config.n_heads) for w in (a.W_query, a.W_key, a.W_value))
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            hidden = torch.ones(n, done + n, dtype=torch.bool, device=new.device).triu(done + 1)
            weights = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(hidden, -torch.inf).softmax(-1)
            x = x + a.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x)[0, -1] @ model.wte.weight.T
        new, done = logits.argmax().expand(len(tokens), 1), done + n
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (property keeps_keys_and_values): keeps the normalised vectors and computes all keys and values from them again in each pass
def generate_cached(model, tokens, n_tokens):
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        n = new.shape[1]
        x = model.wte(new) + model.wpe(torch.arange(done, done + n, device=new.device))
        for i, block in enumerate(model.blocks):
            a, h = block.attn, block.ln_1(x)
            kept[i] = h if kept[i] is None else torch.cat([kept[i], h], dim=1)
            q = split_heads(a.W_query(h), model.config.n_heads)
            k = split_heads(a.W_key(kept[i]), model.config.n_heads)
            v = split_heads(a.W_value(kept[i]), model.config.n_heads)
            hidden = torch.ones(n, done + n, dtype=torch.bool, device=new.device).triu(done + 1)
            weights = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(hidden, -torch.inf).softmax(-1)
            x = x + a.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        new = (model.ln_f(x[:, -1:]) @ model.wte.weight.T).argmax(-1)
        done += n
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (property first_wrong_pass): goes on with the last position alone after the first block, so later blocks miss the prompt's keys
def generate_cached(model, tokens, n_tokens):
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        n = new.shape[1]
        x = model.wte(new) + model.wpe(torch.arange(done, done + n, device=new.device))
        for i, block in enumerate(model.blocks):
            a, h = block.attn, block.ln_1(x)
            q, k, v = (split_heads(w(h), model.config.n_heads) for w in (a.W_query, a.W_key, a.W_value))
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            out = nn.functional.scaled_dot_product_attention(q[:, :, -1:], k, v)  # the last position sees every key
            x = x[:, -1:] + a.out_proj(merge_heads(out))
            x = x + block.mlp(block.ln_2(x))
        new = (model.ln_f(x) @ model.wte.weight.T).argmax(-1)
        done += n
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (property leaves_its_inputs): keeps keys and values on the blocks, where the next call finds those of the last text
def generate_cached(model, tokens, n_tokens):
    new, done = tokens, 0
    for _ in range(n_tokens):
        n = new.shape[1]
        x = model.wte(new) + model.wpe(torch.arange(done, done + n, device=new.device))
        for block in model.blocks:
            a, h = block.attn, block.ln_1(x)
            q, k, v = (split_heads(w(h), model.config.n_heads) for w in (a.W_query, a.W_key, a.W_value))
            if hasattr(block, "kept"):
                k, v = torch.cat([block.kept[0], k], dim=2), torch.cat([block.kept[1], v], dim=2)
            block.kept = (k, v)
            hidden = torch.ones(n, k.shape[2], dtype=torch.bool, device=new.device).triu(k.shape[2] - n + 1)
            weights = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(hidden, -torch.inf).softmax(-1)
            x = x + a.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        new = (model.ln_f(x[:, -1:]) @ model.wte.weight.T).argmax(-1)
        done += n
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (misconception side-by-side): reads the stream of the second block's half without attention's result, as both halves start from x
def generate_cached(model, tokens, n_tokens):
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        n = new.shape[1]
        x = model.wte(new) + model.wpe(torch.arange(done, done + n, device=new.device))
        for i, block in enumerate(model.blocks):
            a, h = block.attn, block.ln_1(x)
            q, k, v = (split_heads(w(h), model.config.n_heads) for w in (a.W_query, a.W_key, a.W_value))
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            hidden = torch.ones(n, done + n, dtype=torch.bool, device=new.device).triu(done + 1)
            weights = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(hidden, -torch.inf).softmax(-1)
            x = x + a.out_proj(merge_heads(weights @ v)) + block.mlp(block.ln_2(x))
        new = (model.ln_f(x[:, -1:]) @ model.wte.weight.T).argmax(-1)
        done += n
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached right (passed): torch's attention function, causal only in the first pass, and a list of growing pairs
def generate_cached(model, tokens, n_tokens):
    kept = [None] * len(model.blocks)
    new, done = tokens, 0

    def attend(attn, h, layer):
        q, k, v = (
            w(h).unflatten(-1, (model.config.n_heads, -1)).transpose(1, 2) for w in (attn.W_query, attn.W_key, attn.W_value)
        )
        if kept[layer] is not None:
            k, v = (torch.cat(both, dim=-2) for both in zip(kept[layer], (k, v)))
        kept[layer] = (k, v)
        out = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=done == 0)
        return attn.out_proj(out.transpose(1, 2).flatten(2))

    for _ in range(n_tokens):
        x = model.wte(new) + model.wpe(torch.arange(done, done + new.shape[1], device=tokens.device))
        for layer, block in enumerate(model.blocks):
            x = x + attend(block.attn, block.ln_1(x), layer)
            x = x + block.mlp(block.ln_2(x))
        done += new.shape[1]
        new = nn.functional.linear(model.ln_f(x[:, -1:]), model.wte.weight).argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached right (passed): einsums on an axis of heads, with the newest keys put in front, since a sum has no order
def generate_cached(model, tokens, n_tokens):
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    heads = model.config.n_heads
    for _ in range(n_tokens):
        places = done + torch.arange(new.shape[1], device=new.device)
        x = model.wte(new) + model.wpe(places)
        for layer, block in enumerate(model.blocks):
            h = block.ln_1(x)
            q, k, v = (
                torch.stack(getattr(block.attn, name)(h).chunk(heads, dim=-1), dim=1)
                for name in ("W_query", "W_key", "W_value")
            )
            at = places
            if kept[layer] is not None:
                k = torch.cat([k, kept[layer][0]], dim=2)
                v = torch.cat([v, kept[layer][1]], dim=2)
                at = torch.cat([places, torch.arange(done, device=new.device)])
            kept[layer] = [k, v]
            scores = torch.einsum("bhqd,bhkd->bhqk", q, k) * k.shape[-1] ** -0.5
            scores = torch.where(at[None, :] <= places[:, None], scores, -torch.inf)
            found = torch.einsum("bhqk,bhkd->bhqd", scores.softmax(dim=-1), v)
            x = x + block.attn.out_proj(torch.cat(found.unbind(1), dim=-1))
            x = x + block.mlp(block.ln_2(x))
        last = model.ln_f(x[:, -1])
        done += new.shape[1]
        new = torch.einsum("bd,vd->bv", last, model.wte.weight).max(dim=-1, keepdim=True).indices
        tokens = torch.cat([tokens, new], dim=1)
    return tokens
