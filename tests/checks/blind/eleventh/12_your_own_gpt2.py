# %% gelu wrong (misconception outside-the-root): the root multiplies only x, not the cube
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    return 0.5 * x * (1 + torch.tanh((2 / torch.pi) ** 0.5 * x + 0.044715 * x**3))


# %% gelu wrong (misconception exact): the exact curve with erf instead of GPT-2's form with tanh (differs by up to 0.0005)
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    return 0.5 * x * (1 + torch.erf(x / 2**0.5))


# %% gelu wrong (property finite_when_scaled): writes tanh as a quotient of exponentials, which is inf / inf for large inputs
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    power = torch.exp(2 * (2 / torch.pi) ** 0.5 * (x + 0.044715 * x**3))
    return x / 2 * (1 + (power - 1) / (power + 1))


# %% gelu right (passed): x times a sigmoid of twice the argument, which is clamped where the curve is flat
def gelu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Return GELU in GPT-2's form, with tanh."""
    small = x.clamp(min=-20.0, max=20.0)
    inner = (2.0 / torch.pi) ** 0.5 * small * (1 + 0.044715 * small * small)
    return x * torch.sigmoid(2 * inner)


# %% MLP wrong (misconception bent-twice): gelu after the second layer as well
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return gelu(self.c_proj(gelu(self.c_fc(x))))


# %% MLP wrong (misconception always-four-times): always four times as wide, whatever d_mlp says
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, 4 * d_model)
        self.c_proj = nn.Linear(4 * d_model, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.c_proj(gelu(self.c_fc(x)))


# %% MLP wrong (misconception returns-its-input-too): adds its result to x, which is the block's task
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return x + self.c_proj(gelu(self.c_fc(x)))


# %% MLP right (passed): functional linear with the layers' weights and biases
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.add_module("c_fc", nn.Linear(in_features=d_model, out_features=d_mlp, bias=True))
        self.add_module("c_proj", nn.Linear(in_features=d_mlp, out_features=d_model, bias=True))

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        hidden = gelu(nn.functional.linear(x, self.c_fc.weight, self.c_fc.bias))
        return nn.functional.linear(hidden, self.c_proj.weight, self.c_proj.bias)


# %% Block wrong (misconception side-by-side): the MLP reads the stream from before attention (a parallel block)
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


# %% Block wrong (misconception eps-as-in-lesson-06): the norms keep their default eps instead of config.eps
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


# %% Block wrong (property draws_nothing): attention drops a tenth of its weights (GPT-2's rate), which shows only in training mode
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


# %% Block right (passed): keyword arguments, both halves in a loop
class Block(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        d = config.d_model
        self.ln_1 = LayerNorm(d_model=d, eps=config.eps)
        self.attn = MultiHeadAttention(
            d_in=d, d_out=d, context_length=config.n_positions, dropout=0.0, num_heads=config.n_heads, qkv_bias=True
        )
        self.ln_2 = LayerNorm(d_model=d, eps=config.eps)
        self.mlp = MLP(d_model=d, d_mlp=d * 4)

    def forward(self, x: Float[Tensor, "batch seq d_model"]) -> Float[Tensor, "batch seq d_model"]:
        stream = x
        for norm, part in ((self.ln_1, self.attn), (self.ln_2, self.mlp)):
            stream = torch.add(stream, part(norm(stream)))
        return stream


# %% GPT wrong (misconception positions-of-the-batch): numbers the texts instead of the positions (shape[0]), so one text gets position 0 everywhere
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layers))
        self.ln_f = LayerNorm(config.d_model, config.eps)

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        places = torch.arange(tokens.shape[0], device=tokens.device)
        x = self.wte(tokens) + self.wpe(places)[:, None]
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T


# %% GPT wrong (property gradients): the head uses the embeddings without their gradient, so logits are right and wte learns only as an embedding
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
        return self.ln_f(x) @ self.wte.weight.data.T


# %% GPT wrong (property lets_gradients_through): keeps a copy of the position vectors from the first call with each length, so later changes of wpe (loading weights, training) are ignored
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layers))
        self.ln_f = LayerNorm(config.d_model, config.eps)
        self.places = {}

    def forward(self, tokens: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab"]:
        seq = tokens.shape[1]
        if seq not in self.places:
            self.places[seq] = self.wpe(torch.arange(seq, device=tokens.device)).detach().clone()
        x = self.wte(tokens) + self.places[seq]
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T


# %% GPT right (passed): functional embedding and linear with the embeddings as matrix
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
        index = torch.arange(tokens.size(-1), device=tokens.device).expand_as(tokens)
        stream = torch.add(self.wpe(index), self.wte(tokens))
        for i in range(len(self.blocks)):
            stream = self.blocks[i](stream)
        return nn.functional.linear(self.ln_f(stream), self.wte.weight)


# %% gpt2_state wrong (misconception out_proj-not-turned): does not transpose the square matrix of attn.c_proj
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    # Every tensor gets the name and the layout that GPT expects.
    for name in ("wte.weight", "wpe.weight"):
        state[name] = found[name]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    for i in range(config.n_layers):
        old, new = f"h.{i}.", f"blocks.{i}."
        for norm in ("ln_1", "ln_2"):
            state[new + norm + ".w"], state[new + norm + ".b"] = found[old + norm + ".weight"], found[old + norm + ".bias"]
        for kind in ("weight", "bias"):
            parts = found[old + "attn.c_attn." + kind].split(config.d_model, dim=-1)
            for part, tensor in zip(("W_query", "W_key", "W_value"), parts):
                state[f"{new}attn.{part}.{kind}"] = tensor.T if kind == "weight" else tensor
            state[new + "attn.out_proj." + kind] = found[old + "attn.c_proj." + kind]
            for part in ("c_fc", "c_proj"):
                tensor = found[f"{old}mlp.{part}.{kind}"]
                state[f"{new}mlp.{part}.{kind}"] = tensor.T if kind == "weight" else tensor
    return state


# %% gpt2_state wrong (property names_fit_the_model): reads one digit for the number of a block, so blocks 10 and later get a wrong name
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    # Every tensor gets the name and the layout that GPT expects.
    for name, tensor in found.items():
        if ".ln_" in name or name.startswith("ln_f"):
            name = name.replace(".weight", ".w").replace(".bias", ".b")
        elif name.startswith("h.") and name.endswith("weight"):
            tensor = tensor.T
        if name.startswith("h."):
            name = f"blocks.{name[2]}." + name.split(".", 2)[2]
        name = name.replace("attn.c_proj", "attn.out_proj")
        if "c_attn" in name:
            for part, piece in zip(("W_query", "W_key", "W_value"), tensor.chunk(3, dim=0)):
                state[name.replace("c_attn", part)] = piece
        else:
            state[name] = tensor
    return state


# %% gpt2_state wrong (misconception cut-by-heads): splits c_attn as if each head had its query, key and value columns side by side (right for one head)
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    # Every tensor gets the name and the layout that GPT expects.
    for name, tensor in found.items():
        first, *rest = name.split(".")
        if "ln_" in name:
            rest[-1] = rest[-1][0]
        elif first == "h" and rest[-1] == "weight":
            tensor = tensor.T
        if first == "h":
            first = "blocks"
        if "c_attn" in rest:
            by_head = tensor.unflatten(0, (config.n_heads, 3, -1))
            for i, part in enumerate(("W_query", "W_key", "W_value")):
                state[".".join([first, rest[0], "attn", part, rest[-1]])] = by_head[:, i].flatten(0, 1)
        else:
            state[".".join([first, *rest]).replace("attn.c_proj", "attn.out_proj")] = tensor
    return state


# %% gpt2_state right (passed): goes through the names that GPT expects and looks each one up, with contiguous copies
def gpt2_state(tensors: dict[str, Tensor], config: GPTConfig) -> dict[str, Tensor]:
    """Return a checkpoint's tensors with the names and layouts of GPT."""
    found, state = your_own_gpt2.named(tensors, config), {}
    # Every tensor gets the name and the layout that GPT expects.
    d = config.d_model

    def linear(ours, theirs, columns=slice(None)):
        state[ours + ".weight"] = found[theirs + ".weight"][:, columns].t().clone()
        state[ours + ".bias"] = found[theirs + ".bias"][columns].clone()

    def norm(ours, theirs):
        state[ours + ".w"] = found[theirs + ".weight"].clone()
        state[ours + ".b"] = found[theirs + ".bias"].clone()

    for number in range(config.n_layers):
        ours, theirs = f"blocks.{number}", f"h.{number}"
        norm(ours + ".ln_1", theirs + ".ln_1")
        norm(ours + ".ln_2", theirs + ".ln_2")
        linear(ours + ".attn.W_query", theirs + ".attn.c_attn", slice(0, d))
        linear(ours + ".attn.W_key", theirs + ".attn.c_attn", slice(d, 2 * d))
        linear(ours + ".attn.W_value", theirs + ".attn.c_attn", slice(2 * d, 3 * d))
        linear(ours + ".attn.out_proj", theirs + ".attn.c_proj")
        linear(ours + ".mlp.c_fc", theirs + ".mlp.c_fc")
        linear(ours + ".mlp.c_proj", theirs + ".mlp.c_proj")
    norm("ln_f", "ln_f")
    state["wte.weight"], state["wpe.weight"] = found["wte.weight"].clone(), found["wpe.weight"].clone()
    return state


# %% generate_cached wrong (misconception position-counts-the-passes): counts passes instead of positions (done += 1), so the new tokens get too small positions after a prompt of several tokens
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        # One pass, in which only the positions of `new` go through the model.
        seq = new.shape[1]
        places = torch.arange(done, done + seq, device=new.device)
        x = model.wte(new) + model.wpe(places)
        for i, block in enumerate(model.blocks):
            normed = block.ln_1(x)
            q, k, v = (split_heads(w(normed), model.config.n_heads) for w in (block.attn.W_query, block.attn.W_key, block.attn.W_value))
            if kept[i] is not None:
                k, v = torch.cat((kept[i][0], k), dim=2), torch.cat((kept[i][1], v), dim=2)
            kept[i] = (k, v)
            scores = q @ k.mT / k.shape[-1] ** 0.5
            future = torch.ones(seq, k.shape[2], dtype=torch.bool, device=new.device).triu(k.shape[2] - seq + 1)
            weights = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
            x = x + block.attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1]) @ model.wte.weight.T
        done += 1
        new = logits.argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (misconception first-text-only): chooses the token of the first text for all texts of a batch (right for one text)
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        # One pass, in which only the positions of `new` go through the model.
        seq = new.shape[1]
        places = torch.arange(done, done + seq, device=new.device)
        x = model.wte(new) + model.wpe(places)
        for i, block in enumerate(model.blocks):
            normed = block.ln_1(x)
            q, k, v = (split_heads(w(normed), model.config.n_heads) for w in (block.attn.W_query, block.attn.W_key, block.attn.W_value))
            if kept[i] is not None:
                k, v = torch.cat((kept[i][0], k), dim=2), torch.cat((kept[i][1], v), dim=2)
            kept[i] = (k, v)
            scores = q @ k.mT / k.shape[-1] ** 0.5
            future = torch.arange(k.shape[2], device=new.device) > places[:, None]
            weights = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
            x = x + block.attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1]) @ model.wte.weight.T
        done += seq
        new = logits[0].argmax().expand(len(tokens), 1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached wrong (misconception prompt-without-a-mask): no mask in the pass of the prompt, so its positions see later positions of the prompt (right for prompts of one token)
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        # One pass, in which only the positions of `new` go through the model.
        seq = new.shape[1]
        places = torch.arange(done, done + seq, device=new.device)
        x = model.wte(new) + model.wpe(places)
        for i, block in enumerate(model.blocks):
            normed = block.ln_1(x)
            q, k, v = (split_heads(w(normed), model.config.n_heads) for w in (block.attn.W_query, block.attn.W_key, block.attn.W_value))
            if kept[i] is not None:
                k, v = torch.cat((kept[i][0], k), dim=2), torch.cat((kept[i][1], v), dim=2)
            kept[i] = (k, v)
            scores = q @ k.mT / k.shape[-1] ** 0.5
            weights = scores.softmax(dim=-1)
            x = x + block.attn.out_proj(merge_heads(weights @ v))
            x = x + block.mlp(block.ln_2(x))
        logits = model.ln_f(x[:, -1]) @ model.wte.weight.T
        done += seq
        new = logits.argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens


# %% generate_cached right (passed): torch's attention function with a mask of allowed keys, pairs of keys and values joined with zip
def generate_cached(model: nn.Module, tokens: Int[Tensor, "batch seq"], n_tokens: int) -> Int[Tensor, "batch longer"]:
    """Continue the texts greedily by n_tokens tokens; compute keys and values once for each position."""
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        # One pass, in which only the positions of `new` go through the model.
        batch, seq = new.shape
        heads = model.config.n_heads
        row = torch.arange(done, done + seq, device=new.device)
        column = torch.arange(done + seq, device=new.device)
        allowed = column.unsqueeze(0) <= row.unsqueeze(1)
        stream = model.wte(new) + model.wpe(row)
        for number, block in enumerate(model.blocks):
            attn, normed = block.attn, block.ln_1(stream)
            q = attn.W_query(normed).reshape(batch, seq, heads, -1).permute(0, 2, 1, 3)
            k = attn.W_key(normed).reshape(batch, seq, heads, -1).permute(0, 2, 1, 3)
            v = attn.W_value(normed).reshape(batch, seq, heads, -1).permute(0, 2, 1, 3)
            past = kept[number]
            kept[number] = pair = (k, v) if past is None else tuple(torch.cat(two, dim=-2) for two in zip(past, (k, v)))
            mixed = nn.functional.scaled_dot_product_attention(q, *pair, attn_mask=allowed)
            stream = stream + attn.out_proj(mixed.permute(0, 2, 1, 3).reshape(batch, seq, -1))
            stream = stream + block.mlp(block.ln_2(stream))
        scores = nn.functional.linear(model.ln_f(stream[:, -1:]), model.wte.weight)
        done = done + seq
        new = scores.max(dim=-1).indices
        tokens = torch.cat([tokens, new], dim=1)
    return tokens




# %% attend_new/window wrong (difference milestone): the mask takes the first new position for the first position of the text, and ignores the past
def attend_new(q: Tensor, k: Tensor, v: Tensor, past_k: Tensor, past_v: Tensor) -> Tensor:
    """Return the mixed values of the new positions, as your task says."""
    keys, values = torch.cat((past_k, k), dim=2), torch.cat((past_v, v), dim=2)
    scores = q @ keys.transpose(-2, -1) / q.shape[-1] ** 0.5
    mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril().triu(-2)
    return torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1) @ values


# %% attend_new/window wrong (property sizes): subtle, slices three positions: with only one past position, the slice of the first new position starts at -1
def attend_new(q: Tensor, k: Tensor, v: Tensor, past_k: Tensor, past_v: Tensor) -> Tensor:
    """Return the mixed values of the new positions, as your task says."""
    keys, values = torch.cat((past_k, k), dim=2), torch.cat((past_v, v), dim=2)
    past, results = past_k.shape[2], []
    for i in range(q.shape[2]):
        seen = slice(past + i - 2, past + i + 1)
        scores = q[:, :, i : i + 1] @ keys[:, :, seen].transpose(-2, -1) / q.shape[-1] ** 0.5
        results.append(torch.softmax(scores, dim=-1) @ values[:, :, seen])
    return torch.cat(results, dim=2)


# %% attend_new/window right (passed): compares the places of queries and keys
def attend_new(q: Tensor, k: Tensor, v: Tensor, past_k: Tensor, past_v: Tensor) -> Tensor:
    """Return the mixed values of the new positions, as your task says."""
    keys, values = torch.cat((past_k, k), dim=-2), torch.cat((past_v, v), dim=-2)
    place = torch.arange(keys.shape[-2], device=q.device)
    back = place[past_k.shape[-2] :, None] - place
    scores = torch.einsum("bhid,bhjd->bhij", q, keys) / q.shape[-1] ** 0.5
    weights = scores.masked_fill((back < 0) | (back > 2), -torch.inf).softmax(-1)
    return torch.einsum("bhij,bhjd->bhid", weights, values)


# %% attend_new/penalty wrong (misconception whole-distance): subtracts the whole distance instead of half of it
def attend_new(q: Tensor, k: Tensor, v: Tensor, past_k: Tensor, past_v: Tensor) -> Tensor:
    """Return the mixed values of the new positions, as your task says."""
    keys, values = torch.cat((past_k, k), dim=2), torch.cat((past_v, v), dim=2)
    place = torch.arange(keys.shape[2], device=q.device)
    distance = place[past_k.shape[2] :, None] - place
    scores = q @ keys.transpose(-2, -1) / q.shape[-1] ** 0.5 - distance
    return torch.softmax(scores.masked_fill(distance < 0, -torch.inf), dim=-1) @ values


# %% attend_new/penalty wrong (misconception sees-later-positions): subtle, hides no later positions: right if only one position is new
def attend_new(q: Tensor, k: Tensor, v: Tensor, past_k: Tensor, past_v: Tensor) -> Tensor:
    """Return the mixed values of the new positions, as your task says."""
    keys, values = torch.cat((past_k, k), dim=2), torch.cat((past_v, v), dim=2)
    place = torch.arange(keys.shape[2], device=q.device)
    distance = (place[past_k.shape[2] :, None] - place).abs()
    scores = q @ keys.transpose(-2, -1) / q.shape[-1] ** 0.5 - distance / 2
    return torch.softmax(scores, dim=-1) @ values


# %% attend_new/penalty right (passed): one new position after the other, with a shorter list of keys for each
def attend_new(q: Tensor, k: Tensor, v: Tensor, past_k: Tensor, past_v: Tensor) -> Tensor:
    """Return the mixed values of the new positions, as your task says."""
    results, new, past = [], q.shape[2], past_k.shape[2]
    for i in range(new):
        keys = torch.cat((past_k, k[:, :, : i + 1]), dim=2)
        values = torch.cat((past_v, v[:, :, : i + 1]), dim=2)
        distance = torch.arange(past + i, -1, -1, device=q.device)
        scores = (keys @ q[:, :, i].unsqueeze(-1)).squeeze(-1) / q.shape[-1] ** 0.5 - 0.5 * distance
        results.append((torch.softmax(scores, dim=-1).unsqueeze(-1) * values).sum(dim=2))
    return torch.stack(results, dim=2)


# %% attend_new/newest-first wrong (misconception as-in-the-lesson): puts the past first and uses the lesson's mask, as if the oldest came first
def attend_new(q: Tensor, k: Tensor, v: Tensor, past_k: Tensor, past_v: Tensor) -> Tensor:
    """Return the mixed values of the new positions, as your task says."""
    keys, values = torch.cat((past_k, k), dim=2), torch.cat((past_v, v), dim=2)
    scores = q @ keys.transpose(-2, -1) / q.shape[-1] ** 0.5
    mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril(past_k.shape[2])
    return torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1) @ values


# %% attend_new/newest-first wrong (property finite): subtle, hides after the softmax and renormalises: nan if a hidden score is far higher than the visible scores
def attend_new(q: Tensor, k: Tensor, v: Tensor, past_k: Tensor, past_v: Tensor) -> Tensor:
    """Return the mixed values of the new positions, as your task says."""
    keys, values = torch.cat((k, past_k), dim=2), torch.cat((v, past_v), dim=2)
    weights = torch.softmax(q @ keys.transpose(-2, -1) / q.shape[-1] ** 0.5, dim=-1).triu()
    return weights / weights.sum(dim=-1, keepdim=True) @ values


# %% attend_new/newest-first right (passed): turns everything round, attends as in the lesson, and turns the result round
def attend_new(q: Tensor, k: Tensor, v: Tensor, past_k: Tensor, past_v: Tensor) -> Tensor:
    """Return the mixed values of the new positions, as your task says."""
    q, k, v, past_k, past_v = (x.flip(2) for x in (q, k, v, past_k, past_v))
    keys, values = torch.cat((past_k, k), dim=2), torch.cat((past_v, v), dim=2)
    visible = torch.ones(q.shape[2], keys.shape[2], dtype=torch.bool, device=q.device).tril(past_k.shape[2])
    mixed = nn.functional.scaled_dot_product_attention(q, keys, values, attn_mask=visible)
    return mixed.flip(2)


# %% attend_new/nothing wrong (misconception as-in-the-lesson): appends the additional score before the mask, which hides it from every query: the weights sum to one
def attend_new(q: Tensor, k: Tensor, v: Tensor, past_k: Tensor, past_v: Tensor) -> Tensor:
    """Return the mixed values of the new positions, as your task says."""
    keys, values = torch.cat((past_k, k), dim=2), torch.cat((past_v, v), dim=2)
    scores = q @ keys.transpose(-2, -1) / q.shape[-1] ** 0.5
    scores = torch.cat((scores, torch.zeros_like(scores[..., :1])), dim=-1)
    mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril(past_k.shape[2])
    weights = torch.softmax(scores.masked_fill(~mask, -torch.inf), dim=-1)
    return weights[..., :-1] @ values


# %% attend_new/nothing wrong (property finite): subtle, adds 1 to the sum of the powers, without subtracting a maximum: nan for scores above 88
def attend_new(q: Tensor, k: Tensor, v: Tensor, past_k: Tensor, past_v: Tensor) -> Tensor:
    """Return the mixed values of the new positions, as your task says."""
    keys, values = torch.cat((past_k, k), dim=2), torch.cat((past_v, v), dim=2)
    scores = q @ keys.transpose(-2, -1) / q.shape[-1] ** 0.5
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(past_k.shape[2] + 1)
    powers = scores.masked_fill(hidden, -torch.inf).exp()
    return powers / (1 + powers.sum(dim=-1, keepdim=True)) @ values


# %% attend_new/nothing right (passed): a key and a value of zeros in front of all others
def attend_new(q: Tensor, k: Tensor, v: Tensor, past_k: Tensor, past_v: Tensor) -> Tensor:
    """Return the mixed values of the new positions, as your task says."""
    keys = torch.cat((torch.zeros_like(past_k[:, :, :1]), past_k, k), dim=2)
    values = torch.cat((torch.zeros_like(past_v[:, :, :1]), past_v, v), dim=2)
    scores = q @ keys.mT / q.shape[-1] ** 0.5
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(past_k.shape[2] + 2)
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1) @ values
