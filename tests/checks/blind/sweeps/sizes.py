# %% softmax wrong (shape): the axes come back by a transpose, which undoes movedim for vectors and matrices only; three axes with dim=0 come back swapped
def softmax(x, dim):
    last = x.movedim(dim, -1)
    powers = torch.exp(last - last.amax(dim=-1, keepdim=True))
    return (powers / powers.sum(dim=-1, keepdim=True)).transpose(dim, -1)

# %% SingleHeadAttention wrong (shape): a batch of one text loses its batch axis
class SingleHeadAttention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.q_layer = nn.Linear(d_model, d_model)
        self.k_layer = nn.Linear(d_model, d_model)
        self.v_layer = nn.Linear(d_model, d_model)

    def forward(self, x, mask=None, return_weights=False):
        if x.dim() == 2:
            x = x.unsqueeze(0)
        queries, keys, values = self.q_layer(x), self.k_layer(x), self.v_layer(x)
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        out = (weights @ values).squeeze(0)
        return (out, weights.squeeze(0)) if return_weights else out

# %% get_mask wrong (property sees_itself_and_its_past): positions are int8, so from position 128 on they are negative and the mask is wrong
def get_mask(size):
    place = torch.arange(size).to(torch.int8)
    return place[:, None] >= place[None, :]

# %% MultiHeadAttentionWrapper wrong (property sizes): heads are sorted by name as text, so with more than ten heads, head 10 comes before head 2
class MultiHeadAttentionWrapper(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        self.heads = nn.ModuleList(
            [CausalAttention(d_in, d_out, context_length, dropout, qkv_bias) for _ in range(num_heads)]
        )

    def forward(self, x):
        return torch.cat([head(x) for _, head in sorted(self.heads.named_children())], dim=-1)

# %% LayerNorm wrong (property finite): the sample variance is scaled by (n - 1) / n, which is nan for vectors of one number instead of b
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual):
        n = residual.shape[-1]
        mean = residual.mean(dim=-1, keepdim=True)
        variance = residual.var(dim=-1, keepdim=True) * (n - 1) / n
        return (residual - mean) / (variance + self.eps).sqrt() * self.w + self.b

# %% generate_text wrong (property sizes): the model sees only the last 32 tokens, so texts longer than that get shifted positions and lose their beginning
def generate_text(model, tokenizer, prompt, max_len=28):
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(max_len):
        with torch.no_grad():
            token = model(ids[:, -32:])[:, -1].argmax(dim=-1, keepdim=True)
        if token.item() == 0:
            break
        ids = torch.cat((ids, token), dim=1)
    return tokenizer.decode(ids[0])

# %% ov_circuit wrong (misconception reshaped): o_proj's matrix is viewed as [heads, D, n_out], which is the right order only for n_out = 1
def ov_circuit(model):
    D = model.n_embd
    W_V = model.v_proj.weight.detach().view(model.n_head, D, D)
    W_O = model.o_proj.weight.detach().view(model.n_head, D, -1)
    return W_V.transpose(1, 2) @ W_O

# %% MLP wrong (misconception always-four-times): d_mlp is ignored; the inner width is always four times d_model
class MLP(nn.Module):
    def __init__(self, d_model, d_mlp):
        super().__init__()
        self.c_fc = nn.Linear(d_model, 4 * d_model)
        self.c_proj = nn.Linear(4 * d_model, d_model)

    def forward(self, x):
        return self.c_proj(gelu(self.c_fc(x)))

# %% gpt2_state wrong (property names_fit_the_model): one digit of the layer's number is read, so h.10 overwrites blocks.1 (the real GPT-2 has 12 blocks)
def gpt2_state(tensors, config):
    found, state = your_own_gpt2.named(tensors, config), {}
    renamed = {"weight": "w", "bias": "b"}
    for name, tensor in found.items():
        if name.startswith("ln_f."):
            state["ln_f." + renamed[name.split(".")[1]]] = tensor
        elif not name.startswith("h."):
            state[name] = tensor
        else:
            block = f"blocks.{name[2]}."
            part, kind = name.split(".", 2)[2].rsplit(".", 1)
            if part in ("ln_1", "ln_2"):
                state[f"{block}{part}.{renamed[kind]}"] = tensor
                continue
            tensor = tensor.T if kind == "weight" else tensor
            if part == "attn.c_attn":
                for layer, piece in zip(("W_query", "W_key", "W_value"), tensor.split(config.d_model, dim=0)):
                    state[f"{block}attn.{layer}.{kind}"] = piece
            else:
                state[block + part.replace("attn.c_proj", "attn.out_proj") + "." + kind] = tensor
    return state

# %% induction_score wrong (shape): every axis of size one is squeezed away, so a single text or a single head changes the shape
def induction_score(pattern):
    n = pattern.shape[-1] // 2
    rows = torch.arange(n, 2 * n, device=pattern.device)
    score = pattern[..., rows, rows - n + 1].mean(dim=-1)
    return score.squeeze()

# %% apply_rope right (passed): pairs are complex numbers, and a rotation is a product
def apply_rope(x, base=10000.0):
    half = x.shape[-1] // 2
    kind = torch.promote_types(x.dtype, torch.float32)
    speed = base ** (-torch.arange(half, dtype=kind, device=x.device) / half)
    angle = torch.arange(x.shape[-2], dtype=kind, device=x.device)[:, None] * speed
    pairs = torch.view_as_complex(x.to(kind).unflatten(-1, (half, 2)).contiguous())
    turned = pairs * torch.polar(torch.ones_like(angle), angle)
    return torch.view_as_real(turned).flatten(-2).to(x.dtype)

# %% split_heads right (passed): cut into chunks and stacked, without view or transpose
def split_heads(x, num_heads):
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)

# %% CausalAttention right (passed): one row after another, each over its own past; the buffer is there, but no score has to be hidden
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x):
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        rows = []
        for i in range(x.shape[1]):
            scores = queries[:, i : i + 1] @ keys[:, : i + 1].transpose(-2, -1) / keys.shape[-1] ** 0.5
            rows.append(self.dropout(torch.softmax(scores, dim=-1)) @ values[:, : i + 1])
        return torch.cat(rows, dim=1)
