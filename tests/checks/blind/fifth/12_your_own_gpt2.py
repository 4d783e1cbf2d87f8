# %% generate_cached wrong (misconception ends-at-0): ends when token 0 comes in every text
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """The texts and n_tokens more, greedily; keys and values are computed once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        heads, n = model.config.n_heads, new.shape[1]
        places = torch.arange(done, done + n)
        sees = torch.arange(done + n) <= places[:, None]
        x = model.wte(new) + model.wpe(places)
        for i, block in enumerate(model.blocks):
            a, h = block.attn, block.ln_1(x)
            q = split_heads(a.W_query(h), heads)
            k, v = split_heads(a.W_key(h), heads), split_heads(a.W_value(h), heads)
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = k, v
            scores = (q @ k.mT / k.shape[-1] ** 0.5).masked_fill(~sees, -torch.inf)
            x = x + a.out_proj(merge_heads(scores.softmax(dim=-1) @ v))
            x = x + block.mlp(block.ln_2(x))
        done, new = done + n, (model.ln_f(x[:, -1:]) @ model.wte.weight.T).argmax(dim=-1)
        if (new == 0).all():
            break
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (misconception ends-at-0): ends when token 0 comes in any text
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """The texts and n_tokens more, greedily; keys and values are computed once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        heads, n = model.config.n_heads, new.shape[1]
        places = torch.arange(done, done + n)
        sees = torch.arange(done + n) <= places[:, None]
        x = model.wte(new) + model.wpe(places)
        for i, block in enumerate(model.blocks):
            a, h = block.attn, block.ln_1(x)
            q = split_heads(a.W_query(h), heads)
            k, v = split_heads(a.W_key(h), heads), split_heads(a.W_value(h), heads)
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = k, v
            scores = (q @ k.mT / k.shape[-1] ** 0.5).masked_fill(~sees, -torch.inf)
            x = x + a.out_proj(merge_heads(scores.softmax(dim=-1) @ v))
            x = x + block.mlp(block.ln_2(x))
        done, new = done + n, (model.ln_f(x[:, -1:]) @ model.wte.weight.T).argmax(dim=-1)
        if (new == 0).any():
            break
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (misconception ends-at-the-last-token): ends at GPT-2's end of text, by its number
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """The texts and n_tokens more, greedily; keys and values are computed once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        heads, n = model.config.n_heads, new.shape[1]
        places = torch.arange(done, done + n)
        sees = torch.arange(done + n) <= places[:, None]
        x = model.wte(new) + model.wpe(places)
        for i, block in enumerate(model.blocks):
            a, h = block.attn, block.ln_1(x)
            q = split_heads(a.W_query(h), heads)
            k, v = split_heads(a.W_key(h), heads), split_heads(a.W_value(h), heads)
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = k, v
            scores = (q @ k.mT / k.shape[-1] ** 0.5).masked_fill(~sees, -torch.inf)
            x = x + a.out_proj(merge_heads(scores.softmax(dim=-1) @ v))
            x = x + block.mlp(block.ln_2(x))
        done, new = done + n, (model.ln_f(x[:, -1:]) @ model.wte.weight.T).argmax(dim=-1)
        if (new == 50256).all():
            break
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (misconception ends-at-the-last-token): ends at GPT-2's end of text, in any text
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """The texts and n_tokens more, greedily; keys and values are computed once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        heads, n = model.config.n_heads, new.shape[1]
        places = torch.arange(done, done + n)
        sees = torch.arange(done + n) <= places[:, None]
        x = model.wte(new) + model.wpe(places)
        for i, block in enumerate(model.blocks):
            a, h = block.attn, block.ln_1(x)
            q = split_heads(a.W_query(h), heads)
            k, v = split_heads(a.W_key(h), heads), split_heads(a.W_value(h), heads)
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = k, v
            scores = (q @ k.mT / k.shape[-1] ** 0.5).masked_fill(~sees, -torch.inf)
            x = x + a.out_proj(merge_heads(scores.softmax(dim=-1) @ v))
            x = x + block.mlp(block.ln_2(x))
        done, new = done + n, (model.ln_f(x[:, -1:]) @ model.wte.weight.T).argmax(dim=-1)
        if 50256 in new:
            break
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (misconception ends-at-the-last-token): ends at the last token of the vocabulary
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """The texts and n_tokens more, greedily; keys and values are computed once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        heads, n = model.config.n_heads, new.shape[1]
        places = torch.arange(done, done + n)
        sees = torch.arange(done + n) <= places[:, None]
        x = model.wte(new) + model.wpe(places)
        for i, block in enumerate(model.blocks):
            a, h = block.attn, block.ln_1(x)
            q = split_heads(a.W_query(h), heads)
            k, v = split_heads(a.W_key(h), heads), split_heads(a.W_value(h), heads)
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = k, v
            scores = (q @ k.mT / k.shape[-1] ** 0.5).masked_fill(~sees, -torch.inf)
            x = x + a.out_proj(merge_heads(scores.softmax(dim=-1) @ v))
            x = x + block.mlp(block.ln_2(x))
        done, new = done + n, (model.ln_f(x[:, -1:]) @ model.wte.weight.T).argmax(dim=-1)
        if (new == model.config.vocab_size - 1).all():
            break
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (property keeps_keys_and_values): what ln_1 gives is kept, and keys and values of all positions are computed in each pass
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """The texts and n_tokens more, greedily; keys and values are computed once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        heads, n = model.config.n_heads, new.shape[1]
        places = torch.arange(done, done + n)
        sees = torch.arange(done + n) <= places[:, None]
        x = model.wte(new) + model.wpe(places)
        for i, block in enumerate(model.blocks):
            a, h = block.attn, block.ln_1(x)
            q = split_heads(a.W_query(h), heads)
            kept[i] = h if kept[i] is None else torch.cat((kept[i], h), dim=1)
            k, v = (split_heads(layer(kept[i]), heads) for layer in (a.W_key, a.W_value))
            scores = (q @ k.mT / k.shape[-1] ** 0.5).masked_fill(~sees, -torch.inf)
            x = x + a.out_proj(merge_heads(scores.softmax(dim=-1) @ v))
            x = x + block.mlp(block.ln_2(x))
        done, new = done + n, (model.ln_f(x[:, -1:]) @ model.wte.weight.T).argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (property keeps_keys_and_values): keys are kept, values computed anew in each pass
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """The texts and n_tokens more, greedily; keys and values are computed once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        heads, n = model.config.n_heads, new.shape[1]
        places = torch.arange(done, done + n)
        sees = torch.arange(done + n) <= places[:, None]
        x = model.wte(new) + model.wpe(places)
        for i, block in enumerate(model.blocks):
            a, h = block.attn, block.ln_1(x)
            q = split_heads(a.W_query(h), heads)
            k, h = split_heads(a.W_key(h), heads), h
            if kept[i] is not None:
                k, h = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], h], dim=1)
            kept[i], v = (k, h), split_heads(a.W_value(h), heads)
            scores = (q @ k.mT / k.shape[-1] ** 0.5).masked_fill(~sees, -torch.inf)
            x = x + a.out_proj(merge_heads(scores.softmax(dim=-1) @ v))
            x = x + block.mlp(block.ln_2(x))
        done, new = done + n, (model.ln_f(x[:, -1:]) @ model.wte.weight.T).argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (misconception no-mlp): no MLP
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """The texts and n_tokens more, greedily; keys and values are computed once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        heads, n = model.config.n_heads, new.shape[1]
        places = torch.arange(done, done + n)
        sees = torch.arange(done + n) <= places[:, None]
        x = model.wte(new) + model.wpe(places)
        for i, block in enumerate(model.blocks):
            a, h = block.attn, block.ln_1(x)
            q = split_heads(a.W_query(h), heads)
            k, v = split_heads(a.W_key(h), heads), split_heads(a.W_value(h), heads)
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = k, v
            scores = (q @ k.mT / k.shape[-1] ** 0.5).masked_fill(~sees, -torch.inf)
            x = x + a.out_proj(merge_heads(scores.softmax(dim=-1) @ v))
        done, new = done + n, (model.ln_f(x[:, -1:]) @ model.wte.weight.T).argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (misconception no-second-norm): the MLP reads the stream without ln_2
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """The texts and n_tokens more, greedily; keys and values are computed once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        heads, n = model.config.n_heads, new.shape[1]
        places = torch.arange(done, done + n)
        sees = torch.arange(done + n) <= places[:, None]
        x = model.wte(new) + model.wpe(places)
        for i, block in enumerate(model.blocks):
            a, h = block.attn, block.ln_1(x)
            q = split_heads(a.W_query(h), heads)
            k, v = split_heads(a.W_key(h), heads), split_heads(a.W_value(h), heads)
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = k, v
            scores = (q @ k.mT / k.shape[-1] ** 0.5).masked_fill(~sees, -torch.inf)
            x = x + a.out_proj(merge_heads(scores.softmax(dim=-1) @ v))
            x = x + block.mlp(x)
        done, new = done + n, (model.ln_f(x[:, -1:]) @ model.wte.weight.T).argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (misconception no-first-sum): what attention found replaces the stream
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """The texts and n_tokens more, greedily; keys and values are computed once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        heads, n = model.config.n_heads, new.shape[1]
        places = torch.arange(done, done + n)
        sees = torch.arange(done + n) <= places[:, None]
        x = model.wte(new) + model.wpe(places)
        for i, block in enumerate(model.blocks):
            a, h = block.attn, block.ln_1(x)
            q = split_heads(a.W_query(h), heads)
            k, v = split_heads(a.W_key(h), heads), split_heads(a.W_value(h), heads)
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = k, v
            scores = (q @ k.mT / k.shape[-1] ** 0.5).masked_fill(~sees, -torch.inf)
            x = a.out_proj(merge_heads(scores.softmax(dim=-1) @ v))
            x = x + block.mlp(block.ln_2(x))
        done, new = done + n, (model.ln_f(x[:, -1:]) @ model.wte.weight.T).argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (misconception no-second-sum): what the MLP found replaces the stream
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """The texts and n_tokens more, greedily; keys and values are computed once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        heads, n = model.config.n_heads, new.shape[1]
        places = torch.arange(done, done + n)
        sees = torch.arange(done + n) <= places[:, None]
        x = model.wte(new) + model.wpe(places)
        for i, block in enumerate(model.blocks):
            a, h = block.attn, block.ln_1(x)
            q = split_heads(a.W_query(h), heads)
            k, v = split_heads(a.W_key(h), heads), split_heads(a.W_value(h), heads)
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = k, v
            scores = (q @ k.mT / k.shape[-1] ** 0.5).masked_fill(~sees, -torch.inf)
            x = x + a.out_proj(merge_heads(scores.softmax(dim=-1) @ v))
            x = block.mlp(block.ln_2(x))
        done, new = done + n, (model.ln_f(x[:, -1:]) @ model.wte.weight.T).argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (misconception side-by-side): the MLP reads the stream from before attention
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """The texts and n_tokens more, greedily; keys and values are computed once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        heads, n = model.config.n_heads, new.shape[1]
        places = torch.arange(done, done + n)
        sees = torch.arange(done + n) <= places[:, None]
        x = model.wte(new) + model.wpe(places)
        for i, block in enumerate(model.blocks):
            a, h = block.attn, block.ln_1(x)
            q = split_heads(a.W_query(h), heads)
            k, v = split_heads(a.W_key(h), heads), split_heads(a.W_value(h), heads)
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = k, v
            scores = (q @ k.mT / k.shape[-1] ** 0.5).masked_fill(~sees, -torch.inf)
            y = x + a.out_proj(merge_heads(scores.softmax(dim=-1) @ v))
            x = y + block.mlp(block.ln_2(x))
        done, new = done + n, (model.ln_f(x[:, -1:]) @ model.wte.weight.T).argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (property first_wrong_pass): the MLP is given only half of what ln_2 makes
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """The texts and n_tokens more, greedily; keys and values are computed once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        heads, n = model.config.n_heads, new.shape[1]
        places = torch.arange(done, done + n)
        sees = torch.arange(done + n) <= places[:, None]
        x = model.wte(new) + model.wpe(places)
        for i, block in enumerate(model.blocks):
            a, h = block.attn, block.ln_1(x)
            q = split_heads(a.W_query(h), heads)
            k, v = split_heads(a.W_key(h), heads), split_heads(a.W_value(h), heads)
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = k, v
            scores = (q @ k.mT / k.shape[-1] ** 0.5).masked_fill(~sees, -torch.inf)
            x = x + a.out_proj(merge_heads(scores.softmax(dim=-1) @ v))
            x = x + block.mlp(block.ln_2(x) / 2)
        done, new = done + n, (model.ln_f(x[:, -1:]) @ model.wte.weight.T).argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% Block wrong (property takes): a context of 1024 written in
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, 1024, 0.0, config.n_heads, qkv_bias=True)
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))

# %% Block wrong (misconception no-sums): both sums are missing
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, qkv_bias=True)
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        x = self.attn(self.ln_1(x))
        return self.mlp(self.ln_2(x))

# %% gpt2_state wrong (misconception from-the-file-as-it-came): the embeddings are taken from the tensors as they came
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """A checkpoint's tensors under the names, and in the layouts, of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    state["wte.weight"], state["wpe.weight"] = tensors["wte.weight"], tensors["wpe.weight"]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    for i in range(config.n_layers):
        old, new = f"h.{i}.", f"blocks.{i}."
        for ln in ("ln_1", "ln_2"):
            state[f"{new}{ln}.w"], state[f"{new}{ln}.b"] = found[f"{old}{ln}.weight"], found[f"{old}{ln}.bias"]
        weights = found[f"{old}attn.c_attn.weight"].T.split(config.d_model)
        biases = found[f"{old}attn.c_attn.bias"].split(config.d_model)
        for part, weight, bias in zip(("W_query", "W_key", "W_value"), weights, biases):
            state[f"{new}attn.{part}.weight"], state[f"{new}attn.{part}.bias"] = weight, bias
        for mine, theirs in {"attn.out_proj": "attn.c_proj", "mlp.c_fc": "mlp.c_fc", "mlp.c_proj": "mlp.c_proj"}.items():
            state[f"{new}{mine}.weight"] = found[f"{old}{theirs}.weight"].T
            state[f"{new}{mine}.bias"] = found[f"{old}{theirs}.bias"]
    return state

# %% generate_cached right (passed): keys and values in one tensor for each block
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """The texts and n_tokens more, greedily; keys and values are computed once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        heads, n = model.config.n_heads, new.shape[1]
        places = torch.arange(done, done + n)
        sees = torch.arange(done + n) <= places[:, None]
        x = model.wte(new) + model.wpe(places)
        for i, block in enumerate(model.blocks):
            a, h = block.attn, block.ln_1(x)
            q = split_heads(a.W_query(h), heads)
            both = torch.stack([split_heads(layer(h), heads) for layer in (a.W_key, a.W_value)])
            kept[i] = both if kept[i] is None else torch.cat((kept[i], both), dim=3)
            k, v = kept[i]
            scores = (q @ k.mT / k.shape[-1] ** 0.5).masked_fill(~sees, -torch.inf)
            x = x + a.out_proj(merge_heads(scores.softmax(dim=-1) @ v))
            x = x + block.mlp(block.ln_2(x))
        done, new = done + n, (model.ln_f(x[:, -1:]) @ model.wte.weight.T).argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached right (passed): the whole stream goes through ln_f, the last position is chosen afterwards
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """The texts and n_tokens more, greedily; keys and values are computed once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        heads, n = model.config.n_heads, new.shape[1]
        places = torch.arange(done, done + n)
        sees = torch.arange(done + n) <= places[:, None]
        x = model.wte(new) + model.wpe(places)
        for i, block in enumerate(model.blocks):
            a, h = block.attn, block.ln_1(x)
            q = split_heads(a.W_query(h), heads)
            k, v = split_heads(a.W_key(h), heads), split_heads(a.W_value(h), heads)
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = k, v
            scores = (q @ k.mT / k.shape[-1] ** 0.5).masked_fill(~sees, -torch.inf)
            x = x + a.out_proj(merge_heads(scores.softmax(dim=-1) @ v))
            x = x + block.mlp(block.ln_2(x))
        done, new = done + n, (model.ln_f(x)[:, -1:] @ model.wte.weight.T).argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% Block right (passed): the two halves by addition of names
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, qkv_bias=True)
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        attended = x + self.attn(self.ln_1(x))
        return self.mlp(self.ln_2(attended)) + attended

# %% Block right (passed): sums by torch.add
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d, config.eps)
        self.attn = MultiHeadAttention(d, d, config.n_positions, 0.0, config.n_heads, qkv_bias=True)
        self.ln_2 = LayerNorm(d, config.eps)
        self.mlp = MLP(d, 4 * d)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        x = torch.add(self.attn(self.ln_1(x)), x)
        return torch.add(x, self.mlp(self.ln_2(x)))

# %% gpt2_state right (passed): split by the width, taken from found
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """A checkpoint's tensors under the names, and in the layouts, of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    state["wte.weight"], state["wpe.weight"] = found["wte.weight"], found["wpe.weight"]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    for i in range(config.n_layers):
        old, new = f"h.{i}.", f"blocks.{i}."
        for ln in ("ln_1", "ln_2"):
            state[f"{new}{ln}.w"], state[f"{new}{ln}.b"] = found[f"{old}{ln}.weight"], found[f"{old}{ln}.bias"]
        weights = found[f"{old}attn.c_attn.weight"].T.split(config.d_model)
        biases = found[f"{old}attn.c_attn.bias"].split(config.d_model)
        for part, weight, bias in zip(("W_query", "W_key", "W_value"), weights, biases):
            state[f"{new}attn.{part}.weight"], state[f"{new}attn.{part}.bias"] = weight, bias
        for mine, theirs in {"attn.out_proj": "attn.c_proj", "mlp.c_fc": "mlp.c_fc", "mlp.c_proj": "mlp.c_proj"}.items():
            state[f"{new}{mine}.weight"] = found[f"{old}{theirs}.weight"].T
            state[f"{new}{mine}.bias"] = found[f"{old}{theirs}.bias"]
    return state

# %% gpt2_state right (passed): the first two by a comprehension
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """A checkpoint's tensors under the names, and in the layouts, of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    state |= {name: found[name] for name in ("wte.weight", "wpe.weight")}
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    for i in range(config.n_layers):
        old, new = f"h.{i}.", f"blocks.{i}."
        for ln in ("ln_1", "ln_2"):
            state[f"{new}{ln}.w"], state[f"{new}{ln}.b"] = found[f"{old}{ln}.weight"], found[f"{old}{ln}.bias"]
        weights = found[f"{old}attn.c_attn.weight"].T.split(config.d_model)
        biases = found[f"{old}attn.c_attn.bias"].split(config.d_model)
        for part, weight, bias in zip(("W_query", "W_key", "W_value"), weights, biases):
            state[f"{new}attn.{part}.weight"], state[f"{new}attn.{part}.bias"] = weight, bias
        for mine, theirs in {"attn.out_proj": "attn.c_proj", "mlp.c_fc": "mlp.c_fc", "mlp.c_proj": "mlp.c_proj"}.items():
            state[f"{new}{mine}.weight"] = found[f"{old}{theirs}.weight"].T
            state[f"{new}{mine}.bias"] = found[f"{old}{theirs}.bias"]
    return state
