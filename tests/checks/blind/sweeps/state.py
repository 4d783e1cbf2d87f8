# %% copy_weights wrong (difference constant): v2 is left frozen (requires_grad False), so its next training step has nothing to train
def copy_weights(v2, v1):
    v2.requires_grad_(False)
    v1.requires_grad_(False)
    for name in ("W_query", "W_key", "W_value"):
        getattr(v1, name).copy_(getattr(v2, name).weight.T)
    v1.requires_grad_(True)

# %% CausalAttention wrong (property state): a short text shrinks the mask for good, so a longer text fails after it
class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, context_length, dropout, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("mask", get_mask(context_length), persistent=False)

    def forward(self, x):
        seq = x.shape[1]
        self.mask = self.mask[:seq, :seq]
        queries, keys, values = self.W_query(x), self.W_key(x), self.W_value(x)
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        scores = scores.masked_fill(~self.mask, -torch.inf)
        return self.dropout(torch.softmax(scores, dim=-1)) @ values

# %% MultiHeadAttention wrong (property state): without gradients it remembers the packed weights of its first such call, so later training or loading changes nothing there
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
        self.packed = None

    def pack(self):
        layers = (self.W_query, self.W_key, self.W_value)
        bias = None if self.W_query.bias is None else torch.cat([layer.bias for layer in layers])
        return torch.cat([layer.weight for layer in layers]), bias

    def forward(self, x):
        seq = x.shape[1]
        if torch.is_grad_enabled():
            weight, bias = self.pack()
        else:
            if self.packed is None:
                self.packed = self.pack()
            weight, bias = self.packed
        parts = nn.functional.linear(x, weight, bias).chunk(3, dim=-1)
        queries, keys, values = (split_heads(part, self.num_heads) for part in parts)
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        scores = scores.masked_fill(~self.mask[:seq, :seq], -torch.inf)
        return self.out_proj(merge_heads(self.dropout(torch.softmax(scores, dim=-1)) @ values))

# %% SelfAttentionLayer wrong (property state): a mask given once is remembered and used in later calls without a mask
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)
        self.mask = None

    def forward(self, src, mask=None):
        if mask is not None:
            self.mask = mask
        return src + self.norm1(self.self_attn(src, self.mask))

# %% PositionalEncoding wrong (property refuses): all modules of one width share the table of the first of them, so a later max_len is ignored
_tables = {}


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        if d_model % 2:
            raise ValueError("d_model must be even")
        if d_model not in _tables:
            _tables[d_model] = positional_encoding(torch.arange(float(max_len)), d_model)
        self.register_buffer("table", _tables[d_model], persistent=False)

    def forward(self, x):
        seq = x.shape[-2]
        if seq > len(self.table):
            raise ValueError("the text is too long")
        return x + self.table[:seq]

# %% answer_loss wrong (property leaves_its_inputs): it writes -100 into the caller's tokens, so the batch cannot go through the model again
def answer_loss(logits, tokens, asked):
    tokens[~asked] = -100
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten(), ignore_index=-100)

# %% DeepQKVAttention wrong (property moves_with_its_module): eval mode uses the weights made in the last training call, so the last optimizer step (or a loaded state) is missing
class DeepQKVAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        d_head = embed_dim // num_heads
        self.temp = temp
        self.last = None

        def small(*shape):
            weight = torch.empty(num_heads, *shape)
            for head in weight:
                nn.init.xavier_uniform_(head)
            return nn.Parameter(weight)

        for name in "qkv":
            setattr(self, name + "A", small(embed_dim, rank))
            setattr(self, name + "B", small(rank, d_head))
            if not strict:
                setattr(self, name + "_base", small(embed_dim, d_head))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, x, return_weights=False):
        if self.training or self.last is None:
            made = [
                make_weight(getattr(self, n + "A"), getattr(self, n + "B"), getattr(self, n + "_base", None), self.temp)
                for n in "qkv"
            ]
            self.last = [weight.detach() for weight in made]
        else:
            made = self.last
        queries, keys, values = (x.unsqueeze(1) @ weight for weight in made)
        scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.o((weights @ values).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out

# %% copy_batch wrong (property seed): without a generator it samples from its own module-level generator; torch.manual_seed has no effect and the texts depend on earlier calls
_own = torch.Generator().manual_seed(0)


def copy_batch(batch_size, seq_len, vocab_size, generator=None):
    if seq_len % 2:
        raise ValueError("seq_len must be even")
    generator = _own if generator is None else generator
    half = torch.randint(vocab_size, (batch_size, seq_len // 2), generator=generator)
    text = torch.cat((half, half), dim=1)
    return text[:, :-1], text[:, 1:]

# %% generate_cached wrong (property leaves_its_inputs): keys and values stay on the blocks, and a prompt of one token continues the cache of an earlier call
def generate_cached(model, tokens, n_tokens):
    new, done = tokens, 0
    heads = model.config.n_heads
    for _ in range(n_tokens):
        positions = torch.arange(done, done + new.shape[1], device=tokens.device)
        x = model.wte(new) + model.wpe(positions)
        for block in model.blocks:
            attn, normed = block.attn, block.ln_1(x)
            queries, keys, values = (
                split_heads(layer(normed), heads) for layer in (attn.W_query, attn.W_key, attn.W_value)
            )
            if new.shape[1] == 1 and hasattr(block, "kept"):
                keys = torch.cat((block.kept[0], keys), dim=2)
                values = torch.cat((block.kept[1], values), dim=2)
            block.kept = (keys, values)
            scores = queries @ keys.transpose(-2, -1) / keys.shape[-1] ** 0.5
            rows, columns = scores.shape[-2:]
            seen = torch.ones(rows, columns, dtype=torch.bool, device=x.device).tril(columns - rows)
            weights = torch.softmax(scores.masked_fill(~seen, -torch.inf), dim=-1)
            x = x + attn.out_proj(merge_heads(weights @ values))
            x = x + block.mlp(block.ln_2(x))
        done += new.shape[1]
        new = (model.ln_f(x[:, -1:]) @ model.wte.weight.T).argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% patch_stream wrong (property state): the streams of corrupted are remembered by text and layer only, so another model (or changed weights) gets the first model's vector
_streams = {}


def patch_stream(model, clean, corrupted, layer, position):
    def start(tokens):
        return model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))

    key = (layer, str(corrupted.tolist()))
    if key not in _streams:
        x = start(corrupted)
        for block in model.blocks[:layer]:
            x = block(x)
        _streams[key] = x.detach()
    x = start(clean)
    for number, block in enumerate(model.blocks):
        if number == layer:
            x = x.clone()
            x[:, position] = _streams[key][:, position]
        x = block(x)
    return model.ln_f(x) @ model.wte.weight.T

# %% get_mask right (passed): remembered by size, and each caller gets its own copy
_masks = {}


def get_mask(size):
    if size not in _masks:
        _masks[size] = torch.ones(size, size, dtype=torch.bool).tril()
    return _masks[size].clone()

# %% CogModel right (passed): the mask is a non-persistent buffer that grows with the longest text, and is rebuilt on another device
class CogModel(nn.Module):
    def __init__(self, vocab_size, embed_dim, num_layers):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)
        self.register_buffer("causal", torch.ones(1, 1, dtype=torch.bool), persistent=False)

    def forward(self, src):
        seq = src.shape[1]
        if len(self.causal) < seq or self.causal.device != src.device:
            self.causal = torch.ones(seq, seq, dtype=torch.bool, device=src.device).tril()
        stream = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            stream = layer(stream, self.causal[:seq, :seq])
        return self.decoder(self.norm(stream))

# %% without_head right (passed): no hook; one call runs with a copy of out_proj's matrix whose columns of the head are zero
def without_head(model, tokens, layer, head):
    width = model.config.d_model // model.config.n_heads
    name = f"blocks.{layer}.attn.out_proj.weight"
    weight = model.get_parameter(name)
    keep = torch.ones_like(weight)
    keep[:, head * width : (head + 1) * width] = 0
    return torch.func.functional_call(model, {name: weight * keep}, (tokens,))

# %% ov_circuit wrong (property state): keeps each model's circuit in a dict, so that later training is ignored
_circuits = {}


def ov_circuit(model):
    if model not in _circuits:
        w_v = model.v_proj.weight.detach().view(model.n_head, model.n_embd, model.n_embd)
        w_o = model.o_proj.weight.detach().view(model.n_out, model.n_head, model.n_embd)
        _circuits[model] = w_v.mT @ w_o.permute(1, 2, 0)
    return _circuits[model]


# %% logit_lens wrong (property leaves_its_inputs): keeps a copy of the unembedding matrix on the model, so that later training is ignored
def logit_lens(model, tokens):
    if not hasattr(model, "unembedding"):
        model.unembedding = model.wte.weight.detach().clone()
    x = model.wte(tokens) + model.wpe(torch.arange(tokens.shape[1], device=tokens.device))
    seen = [x[0, -1]]
    for block in model.blocks:
        x = block(x)
        seen.append(x[0, -1])
    return model.ln_f(torch.stack(seen)) @ model.unembedding.T


# %% softmax wrong (property state): lru_cache compares tensors by identity, so a tensor with new numbers gets its old result
import functools


@functools.lru_cache(maxsize=8)
def softmax(x, dim):
    e = torch.exp(x - x.amax(dim, keepdim=True))
    return e / e.sum(dim, keepdim=True)


# %% simple_attention wrong (property state): keeps the weights for each tensor object, so that new numbers get old weights
_known = {}


def simple_attention(inputs):
    if inputs not in _known:
        _known[inputs] = torch.softmax(inputs @ inputs.mT, dim=-1)
    return _known[inputs] @ inputs, _known[inputs]


# %% generate_text wrong (property state): keeps the text of each model and prompt, so that later training is ignored
_texts = {}


def generate_text(model, tokenizer, prompt, max_len=28):
    key = model, prompt, max_len
    if key not in _texts:
        ids = tokenizer.encode(prompt, return_tensors="pt")
        for _ in range(max_len):
            new = model(ids)[:, -1].argmax(dim=-1)
            if new == 0:
                break
            ids = torch.cat([ids, new[:, None]], dim=1)
        _texts[key] = tokenizer.decode(ids[0])
    return _texts[key]


# %% compute_attn_weights wrong (property state): keeps the product of the two matrices for each pair of objects
_products = {}


def compute_attn_weights(W_Q, W_K, x, mask=None):
    if (W_Q, W_K) not in _products:
        _products[W_Q, W_K] = W_Q @ W_K.T
    scores = x @ _products[W_Q, W_K] @ x.T / W_K.shape[-1] ** 0.5
    return torch.softmax(scores if mask is None else scores.masked_fill(~mask, -torch.inf), dim=-1)


# %% MLP wrong (property moves_with_its_module): keeps a transposed copy of a matrix on the object, so that later training is ignored
class MLP(nn.Module):
    def __init__(self, d_model, d_mlp):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)
        self.transposed = None

    def forward(self, x):
        if self.transposed is None:
            self.transposed = self.c_proj.weight.T.clone()
        return gelu(self.c_fc(x)) @ self.transposed + self.c_proj.bias
