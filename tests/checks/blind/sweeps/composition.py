# %% softmax wrong (property leaves_its_inputs): it works in place: the caller's scores become the weights
def softmax(x, dim):
    x -= x.amax(dim=dim, keepdim=True)
    x.exp_()
    x /= x.sum(dim=dim, keepdim=True)
    return x

# %% copy_weights wrong (misconception contiguous): contiguous() copies only what is not contiguous, so with d_in or d_out of 1 both layers share one memory
def copy_weights(v2, v1):
    for name in ("W_query", "W_key", "W_value"):
        getattr(v1, name).data = getattr(v2, name).weight.data.T.contiguous()

# %% get_mask wrong (property state): all callers get views of one table, so a mask that is changed in place changes every other mask
_table = torch.ones(256, 256, dtype=torch.bool).tril()


def get_mask(size):
    global _table
    if size > len(_table):
        _table = torch.ones(size, size, dtype=torch.bool).tril()
    return _table[:size, :size]

# %% MultiHeadAttention wrong (property copies): forward keeps its weights with their graph on the module, so copy.deepcopy fails after a call
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).tril().bool(), persistent=False)

    def forward(self, x):
        seq = x.shape[1]
        layers = (self.W_query, self.W_key, self.W_value)
        queries, keys, values = (split_heads(layer(x), self.num_heads) for layer in layers)
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        self.weights = torch.softmax(scores, dim=-1)
        return self.out_proj(merge_heads(self.dropout(self.weights) @ values))

# %% LayerNorm wrong (property parameters): eps is a saved buffer, so state_dict has a third entry and the models of lessons 08 and 12 do not load
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.register_buffer("eps", torch.tensor(eps))
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual):
        centred = residual - residual.mean(dim=-1, keepdim=True)
        variance = centred.square().mean(dim=-1, keepdim=True)
        return centred / (variance + self.eps).sqrt() * self.w + self.b

# %% PositionalEncoding wrong (property leaves_its_inputs): it adds in place, so the caller's x is changed (the next line of the page adds to zeros again)
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        if d_model % 2:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        self.register_buffer("table", positional_encoding(torch.arange(float(max_len)), d_model), persistent=False)

    def forward(self, x):
        if x.shape[-2] > self.max_len:
            raise ValueError("the text is too long")
        x += self.table[: x.shape[-2]]
        return x

# %% CogModel wrong (property works_when_changed): forward counts to num_layers, so the later cell that removes a layer gets an IndexError
class CogModel(nn.Module):
    def __init__(self, vocab_size, embed_dim, num_layers):
        super().__init__()
        self.num_layers = num_layers
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src):
        seq = src.shape[1]
        mask = torch.ones(seq, seq, dtype=torch.bool, device=src.device).tril()
        stream = self.pos_encoder(self.embed(src))
        for i in range(self.num_layers):
            stream = self.layers[i](stream, mask)
        return self.decoder(self.norm(stream))

# %% lr_at wrong (structure): after the warm-up the rate is a float32 tensor, not a float, so an optimizer's state or a log holds tensors
def lr_at(step, steps, base_lr, warmup_steps):
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    share = torch.tensor((step - warmup_steps) / (steps - warmup_steps))
    return base_lr / 10 + 0.9 * base_lr * (1 + torch.cos(torch.pi * share)) / 2

# %% kernel_estimator wrong (property leaves_its_inputs): the answer is added up in the last entry of z_q itself, so the caller's questions are no longer (x_q, 0)
def kernel_estimator(z_q, z, w, mu):
    scores = z_q[..., :-1] @ z[..., :-1].transpose(-2, -1)
    answer = z_q[..., -1:]
    for a, m in zip(w, mu):
        answer += m * torch.softmax(a * scores, dim=-1) @ z[..., -1:]
    return answer

# %% Block wrong (property works_when_changed): it calls attn.forward and mlp.forward, so hooks on them never run and the page's cell cannot switch an MLP off
class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, qkv_bias=True)
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x):
        x = x + self.attn.forward(self.ln_1(x))
        return x + self.mlp.forward(self.ln_2(x))

# %% MultiHeadAttention right (passed): the weights of the last call are kept detached, which disturbs neither deepcopy nor state_dict
class MultiHeadAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
        super().__init__()
        if d_out % num_heads:
            raise ValueError("d_out must be divisible by num_heads")
        self.num_heads = num_heads
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.out_proj = nn.Linear(d_out, d_out)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", torch.ones(context_length, context_length).tril().bool(), persistent=False)
        self.seen = None

    def forward(self, x):
        seq = x.shape[1]
        layers = (self.W_query, self.W_key, self.W_value)
        queries, keys, values = (split_heads(layer(x), self.num_heads) for layer in layers)
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        weights = torch.softmax(scores.masked_fill(~self.mask[:seq, :seq], -torch.inf), dim=-1)
        self.seen = weights.detach()
        return self.out_proj(merge_heads(self.dropout(weights) @ values))

# %% get_mask right (passed): the transpose of an upper triangle; not contiguous, but a table of its own in every call
def get_mask(size):
    return torch.ones(size, size, dtype=torch.bool).triu().T

# %% copy_weights right (passed): load_state_dict copies into v1's own memory
def copy_weights(v2, v1):
    v1.load_state_dict({name: getattr(v2, name).weight.T for name in ("W_query", "W_key", "W_value")})
