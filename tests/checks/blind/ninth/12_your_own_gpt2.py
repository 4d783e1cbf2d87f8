# %% MLP wrong (misconception bent-twice): applies gelu a second time, to the result of c_proj
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x):
        for layer in (self.c_fc, self.c_proj):
            x = gelu(layer(x))
        return x

# %% MLP wrong (misconception returns-its-input-too): already adds the input, which is the block's job
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc, self.c_proj = nn.Linear(d_model, d_mlp), nn.Linear(d_mlp, d_model)

    def forward(self, x):
        return x + self.c_proj(gelu(self.c_fc(x)))

# %% MLP wrong (difference milestone): normalises its input first, although the block's ln_2 does this
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x):
        normed = nn.functional.layer_norm(x, x.shape[-1:])
        return self.c_proj(gelu(self.c_fc(normed)))

# %% MLP wrong (misconception always-four-times): takes four times d_model as its width and ignores d_mlp
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        wide = 4 * d_model
        self.c_fc = nn.Linear(d_model, wide)
        self.c_proj = nn.Linear(wide, d_model)

    def forward(self, x):
        return self.c_proj(gelu(self.c_fc(x)))

# %% MLP wrong (raised): unpacks three axes, so a single vector or a batch of vectors gives an error
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x):
        batch, seq, d_model = x.shape
        rows = x.reshape(batch * seq, d_model)
        rows = self.c_proj(gelu(self.c_fc(rows)))
        return rows.reshape(batch, seq, d_model)

# %% MLP wrong (property draws_nothing): adds a dropout that nobody asked for, which changes the results in training mode
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        return self.drop(self.c_proj(gelu(self.c_fc(x))))

# %% MLP right (passed): einsum over the two weights, with the biases added by hand
class MLP(nn.Module):
    def __init__(self, d_model: int, d_mlp: int):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x):
        wide = torch.einsum("...d,md->...m", x, self.c_fc.weight).add(self.c_fc.bias)
        return torch.einsum("...m,dm->...d", gelu(wide), self.c_proj.weight).add(self.c_proj.bias)

# %% MLP right (passed): a Sequential's subclass with named parts and its own forward
from collections import OrderedDict


class MLP(nn.Sequential):
    def __init__(self, d_model: int, d_mlp: int):
        sizes = {"c_fc": (d_model, d_mlp), "c_proj": (d_mlp, d_model)}
        super().__init__(OrderedDict((name, nn.Linear(*pair, bias=True)) for name, pair in sizes.items()))

    def forward(self, x):
        up, down = self
        return down(gelu(up(x)))

# %% GPT wrong (raised): counts the positions from 1
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
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

# %% GPT wrong (structure): puts the same block n_layers times into the list, so all layers share their parameters
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config)] * config.n_layers)
        self.ln_f = LayerNorm(config.d_model, eps=config.eps)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T

# %% GPT wrong (misconception final-norm-every-block): normalises the stream with ln_f after every block
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layers)])
        self.ln_f = LayerNorm(config.d_model, eps=config.eps)

    def forward(self, tokens):
        stream = self.wte(tokens)
        stream = stream + self.wpe.weight[: tokens.size(1)]
        for block in self.blocks:
            stream = block(stream)
            stream = self.ln_f(stream)
        return nn.functional.linear(stream, self.wte.weight)

# %% GPT wrong (property gradients): detaches the embeddings in the head, so the gradient of wte lacks the head's share
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layers))
        self.ln_f = LayerNorm(config.d_model, eps=config.eps)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[-1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return torch.einsum("bsd,vd->bsv", self.ln_f(x), self.wte.weight.data)

# %% GPT wrong (property moves_with_its_module): keeps the positions as a plain attribute, which stays on the CPU when the model moves
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.positions = torch.arange(config.n_positions)
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layers))
        self.ln_f = LayerNorm(config.d_model, eps=config.eps)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(self.positions[: tokens.shape[1]])
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.mT

# %% GPT wrong (shape): gives only the last position's logits in eval mode
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.wte = nn.Embedding(config.vocab_size, config.d_model)
        self.wpe = nn.Embedding(config.n_positions, config.d_model)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layers))
        self.ln_f = LayerNorm(config.d_model, eps=config.eps)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        if not self.training:
            x = x[:, -1:]  # generating needs no other position
        return self.ln_f(x) @ self.wte.weight.T

# %% GPT right (passed): reads the position vectors as a slice and runs the blocks by reduce
from functools import reduce


class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        self.wte, self.wpe = (nn.Embedding(n, config.d_model) for n in (config.vocab_size, config.n_positions))
        self.blocks = nn.ModuleList()
        for _ in range(config.n_layers):
            self.blocks.append(Block(config))
        self.ln_f = LayerNorm(config.d_model, eps=config.eps)

    def forward(self, tokens):
        start = self.wte(tokens) + self.wpe.weight.narrow(0, 0, tokens.shape[1])
        stream = reduce(lambda x, block: block(x), self.blocks, start)
        return nn.functional.linear(self.ln_f(stream), self.wte.weight)

# %% GPT right (passed): positions by cumsum of ones minus one, a functional embedding, and einsum for the head
class GPT(nn.Module):
    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config = config
        d = config.d_model
        self.wte = nn.Embedding(num_embeddings=config.vocab_size, embedding_dim=d)
        self.wpe = nn.Embedding(num_embeddings=config.n_positions, embedding_dim=d)
        self.blocks = nn.ModuleList(map(lambda _: Block(config), range(config.n_layers)))
        self.ln_f = LayerNorm(d, config.eps)

    def forward(self, tokens):
        places = torch.ones_like(tokens).cumsum(dim=1) - 1
        x = nn.functional.embedding(tokens, self.wte.weight) + nn.functional.embedding(places, self.wpe.weight)
        x = nn.Sequential(*self.blocks)(x)
        return torch.einsum("bsd,vd->bsv", self.ln_f(x), self.wte.weight)

# %% gpt2_state wrong (misconception values-second): takes the three parts of c_attn as queries, values, keys
def gpt2_state(tensors, config):
    found, state = your_own_gpt2.named(tensors, config), {}
    for name, t in found.items():
        name = name.replace("h.", "blocks.", 1) if name.startswith("h.") else name
        if "ln_" in name:
            name = name.replace("weight", "w").replace("bias", "b")
        elif name.startswith("blocks.") and t.ndim == 2:
            t = t.T
        if "c_attn" in name:
            for part, piece in zip(("W_query", "W_value", "W_key"), t.chunk(3, dim=0)):
                state[name.replace("c_attn", part)] = piece
        else:
            state[name.replace("attn.c_proj", "attn.out_proj")] = t
    return state

# %% gpt2_state wrong (misconception cut-in-turn): takes every third column of c_attn, as if queries, keys and values were interleaved
def gpt2_state(tensors, config):
    found, state = your_own_gpt2.named(tensors, config), {}
    for key in ("wte.weight", "wpe.weight"):
        state[key] = found[key]
    for i in range(config.n_layers):
        old, new = f"h.{i}.", f"blocks.{i}."
        for j, part in enumerate(("W_query", "W_key", "W_value")):
            state[f"{new}attn.{part}.weight"] = found[old + "attn.c_attn.weight"][:, j::3].T
            state[f"{new}attn.{part}.bias"] = found[old + "attn.c_attn.bias"][j::3]
        for a, b in (("attn.c_proj", "attn.out_proj"), ("mlp.c_fc", "mlp.c_fc"), ("mlp.c_proj", "mlp.c_proj")):
            state[f"{new}{b}.weight"] = found[f"{old}{a}.weight"].T
            state[f"{new}{b}.bias"] = found[f"{old}{a}.bias"]
        for norm in ("ln_1", "ln_2"):
            state[f"{new}{norm}.w"] = found[f"{old}{norm}.weight"]
            state[f"{new}{norm}.b"] = found[f"{old}{norm}.bias"]
    state["ln_f.w"], state["ln_f.b"] = found["ln_f.weight"], found["ln_f.bias"]
    return state

# %% gpt2_state wrong (property from_which_tensor): reshapes the matrices to out by in instead of transposing them
def gpt2_state(tensors, config):
    found, state = your_own_gpt2.named(tensors, config), {}

    def linear(old, new):
        weight, bias = found[old + ".weight"], found[old + ".bias"]
        state[new + ".weight"] = weight.reshape(weight.shape[1], weight.shape[0])
        state[new + ".bias"] = bias

    for name in found:
        if name.startswith("w"):
            state[name] = found[name]
        elif ".ln_" in name or name.startswith("ln_f"):
            short = name.replace(".weight", ".w").replace(".bias", ".b")
            state["blocks" + short[1:] if short.startswith("h.") else short] = found[name]
    for i in range(config.n_layers):
        linear(f"h.{i}.attn.c_proj", f"blocks.{i}.attn.out_proj")
        linear(f"h.{i}.mlp.c_fc", f"blocks.{i}.mlp.c_fc")
        linear(f"h.{i}.mlp.c_proj", f"blocks.{i}.mlp.c_proj")
        linear(f"h.{i}.attn.c_attn", "all")
        weights, biases = state.pop("all.weight"), state.pop("all.bias")
        for k, part in enumerate(["W_query", "W_key", "W_value"]):
            rows = slice(k * config.d_model, (k + 1) * config.d_model)
            state[f"blocks.{i}.attn.{part}.weight"] = weights[rows]
            state[f"blocks.{i}.attn.{part}.bias"] = biases[rows]
    return state

# %% gpt2_state wrong (property names_fit_the_model): its pattern for block numbers knows one digit only, so the names from block 10 on keep their h
def gpt2_state(tensors, config):
    import re

    found, state = your_own_gpt2.named(tensors, config), {}
    for name, t in found.items():
        new = re.sub(r"^h\.(\d)\.", r"blocks.\1.", name)
        new = re.sub(r"(ln_.)\.weight", r"\1.w", new)
        new = re.sub(r"(ln_.)\.bias", r"\1.b", new)
        new = new.replace("attn.c_proj", "attn.out_proj")
        if t.ndim == 2 and not new.startswith("w"):
            t = t.T
        if "c_attn" in new:
            for part, piece in zip(("W_query", "W_key", "W_value"), t.split(config.d_model)):
                state[new.replace("c_attn", part)] = piece
        else:
            state[new] = t
    return state

# %% gpt2_state wrong (property leaves_its_inputs): transposes the caller's tensors in place, so a second call finds them in the wrong shape
def gpt2_state(tensors, config):
    found, state = your_own_gpt2.named(tensors, config), {}
    for name, t in found.items():
        path = name.split(".")
        kind = path.pop()
        if path[0] == "h":
            path[0] = "blocks"
        if path[-1].startswith("ln_"):
            kind = kind[0]
        elif path[0] == "blocks" and kind == "weight":
            t.t_()
        if path[-1] == "c_attn":
            for part, piece in zip(("W_query", "W_key", "W_value"), t.chunk(3)):
                state[".".join([*path[:-1], part, kind])] = piece
            continue
        if path[-2:] == ["attn", "c_proj"]:
            path[-1] = "out_proj"
        state[".".join([*path, kind])] = t
    return state

# %% gpt2_state wrong (misconception from-the-file-as-it-came): reads the norms and embeddings from tensors, not from found, which fails when the names have the prefix
def gpt2_state(tensors, config):
    found, state = your_own_gpt2.named(tensors, config), {}
    state["wte.weight"] = tensors["wte.weight"]
    state["wpe.weight"] = tensors["wpe.weight"]
    state["ln_f.w"] = tensors["ln_f.weight"]
    state["ln_f.b"] = tensors["ln_f.bias"]
    for i in range(config.n_layers):
        here = f"blocks.{i}."
        block = {name.removeprefix(f"h.{i}."): t for name, t in found.items() if name.startswith(f"h.{i}.")}
        q, k, v = block["attn.c_attn.weight"].T.chunk(3, dim=0)
        q_b, k_b, v_b = block["attn.c_attn.bias"].chunk(3)
        state |= {
            here + "ln_1.w": block["ln_1.weight"], here + "ln_1.b": block["ln_1.bias"],
            here + "ln_2.w": block["ln_2.weight"], here + "ln_2.b": block["ln_2.bias"],
            here + "attn.W_query.weight": q, here + "attn.W_query.bias": q_b,
            here + "attn.W_key.weight": k, here + "attn.W_key.bias": k_b,
            here + "attn.W_value.weight": v, here + "attn.W_value.bias": v_b,
            here + "attn.out_proj.weight": block["attn.c_proj.weight"].T,
            here + "attn.out_proj.bias": block["attn.c_proj.bias"],
            here + "mlp.c_fc.weight": block["mlp.c_fc.weight"].T, here + "mlp.c_fc.bias": block["mlp.c_fc.bias"],
            here + "mlp.c_proj.weight": block["mlp.c_proj.weight"].T, here + "mlp.c_proj.bias": block["mlp.c_proj.bias"],
        }
    return state

# %% gpt2_state right (passed): a table of renaming patterns, and each c_attn unbound from a third axis
def gpt2_state(tensors, config):
    import re

    found, state = your_own_gpt2.named(tensors, config), {}
    patterns = [
        (r"^h\.(\d+)\.", r"blocks.\1."), (r"attn\.c_proj", "attn.out_proj"),
        (r"(ln_\w)\.weight$", r"\1.w"), (r"(ln_\w)\.bias$", r"\1.b"),
    ]
    d = config.d_model
    for name, t in sorted(found.items(), reverse=True):
        for old, new in patterns:
            name = re.sub(old, new, name)
        if name.startswith("blocks") and name.endswith(".weight"):
            t = t.transpose(0, 1).contiguous()
        if ".c_attn." in name:
            for part, piece in zip(("W_query", "W_key", "W_value"), t.unflatten(0, (3, d)).unbind(0)):
                state[name.replace("c_attn", part)] = piece.clone()
        else:
            state[name] = t
    return state

# %% gpt2_state right (passed): built the other way round, each new name with a function that fetches its tensor
def gpt2_state(tensors, config):
    found, state = your_own_gpt2.named(tensors, config), {}
    d = config.d_model
    thirds = {"W_query": slice(0, d), "W_key": slice(d, 2 * d), "W_value": slice(2 * d, None)}
    for layer in map(str, range(config.n_layers)):
        get = lambda rest: found["h." + layer + "." + rest]
        new = {f"attn.{part}.weight": get("attn.c_attn.weight")[:, cut].mT for part, cut in thirds.items()}
        new.update((f"attn.{part}.bias", get("attn.c_attn.bias")[cut]) for part, cut in thirds.items())
        for mine, theirs in {"attn.out_proj": "attn.c_proj", "mlp.c_fc": "mlp.c_fc", "mlp.c_proj": "mlp.c_proj"}.items():
            new[mine + ".weight"] = torch.einsum("io->oi", get(theirs + ".weight"))
            new[mine + ".bias"] = get(theirs + ".bias")
        for n in "12":
            new[f"ln_{n}.w"], new[f"ln_{n}.b"] = get(f"ln_{n}.weight"), get(f"ln_{n}.bias")
        state.update({f"blocks.{layer}.{name}": t for name, t in new.items()})
    return {**state, "ln_f.w": found["ln_f.weight"], "ln_f.b": found["ln_f.bias"],
            "wte.weight": found["wte.weight"], "wpe.weight": found["wpe.weight"]}

# %% generate_cached wrong (misconception position-counts-the-passes): adds to done the length of new after new has become the chosen token, so a prompt counts as one position
def generate_cached(model, tokens, n_tokens):
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        n = new.shape[1]
        place = torch.arange(done, done + n, device=tokens.device)
        x = model.wte(new) + model.wpe(place)
        for i, block in enumerate(model.blocks):
            h = block.ln_1(x)
            q, k, v = (w(h).unflatten(-1, (model.config.n_heads, -1)).transpose(1, 2)
                       for w in (block.attn.W_query, block.attn.W_key, block.attn.W_value))
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = k, v
            scores = q @ k.mT / q.shape[-1] ** 0.5
            future = torch.ones_like(scores, dtype=torch.bool).triu(k.shape[2] - n + 1)
            weights = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
            x = x + block.attn.out_proj((weights @ v).transpose(1, 2).flatten(2))
            x = x + block.mlp(block.ln_2(x))
        new = (model.ln_f(x[:, -1:]) @ model.wte.weight.T).argmax(dim=-1)
        done += new.shape[1]
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (property first_wrong_pass): joins the new values to the kept keys, a slip of copying
def generate_cached(model, tokens, n_tokens):
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        n = new.shape[1]
        x = model.wte(new) + model.wpe.weight[done : done + n]
        for i, block in enumerate(model.blocks):
            attn, h = block.attn, block.ln_1(x)
            heads = lambda t: t.view(*t.shape[:2], model.config.n_heads, -1).transpose(1, 2)
            q, k, v = heads(attn.W_query(h)), heads(attn.W_key(h)), heads(attn.W_value(h))
            if kept[i]:
                old_k, old_v = kept[i]
                k = torch.cat([old_k, k], dim=-2)
                v = torch.cat([old_k, v], dim=-2)
            kept[i] = (k, v)
            scores = q @ k.transpose(-1, -2) / k.shape[-1] ** 0.5
            keys = torch.arange(done + n, device=x.device)
            scores = scores.masked_fill(keys > keys[done:, None], float("-inf"))
            mixed = torch.softmax(scores, -1) @ v
            x = x + attn.out_proj(mixed.transpose(1, 2).reshape(x.shape))
            x = x + block.mlp(block.ln_2(x))
        done += n
        new = (model.ln_f(x[:, -1]) @ model.wte.weight.T).argmax(-1, keepdim=True)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (misconception sees-the-first-only): uses is_causal in every pass, which lets a single new query see only the first key
def generate_cached(model, tokens, n_tokens):
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        x = model.wte(new) + model.wpe(torch.arange(done, done + new.shape[1], device=new.device))
        for i, block in enumerate(model.blocks):
            h = block.ln_1(x)
            q, k, v = [
                layer(h).unflatten(-1, (model.config.n_heads, -1)).transpose(1, 2)
                for layer in (block.attn.W_query, block.attn.W_key, block.attn.W_value)
            ]
            if kept[i] is not None:
                k = torch.cat([kept[i][0], k], dim=2)
                v = torch.cat([kept[i][1], v], dim=2)
            kept[i] = (k, v)
            mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + block.attn.out_proj(mixed.transpose(1, 2).flatten(2))
            x = x + block.mlp(block.ln_2(x))
        done += new.shape[1]
        new = (model.ln_f(x[:, -1:]) @ model.wte.weight.T).argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (misconception first-text-only): chooses the token for the first text and gives it to all texts
def generate_cached(model, tokens, n_tokens):
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        n = new.shape[1]
        x = model.wte(new) + model.wpe(torch.arange(done, done + n, device=new.device))
        for i, block in enumerate(model.blocks):
            h = block.ln_1(x)
            q, k, v = (w(h).unflatten(-1, (model.config.n_heads, -1)).transpose(1, 2)
                       for w in (block.attn.W_query, block.attn.W_key, block.attn.W_value))
            if kept[i] is not None:
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
            kept[i] = k, v
            mask = torch.ones(n, done + n, dtype=torch.bool, device=x.device).tril(done)
            mixed = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            x = x + block.attn.out_proj(mixed.transpose(1, 2).flatten(2))
            x = x + block.mlp(block.ln_2(x))
        done += n
        logits = model.ln_f(x[0, -1]) @ model.wte.weight.T
        new = logits.argmax().expand(len(tokens), 1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (property leaves_its_inputs): keeps keys and values on the blocks and never removes them, so a second call sees the first call's text
def generate_cached(model, tokens, n_tokens):
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        n = new.shape[1]
        x = model.wte(new) + model.wpe(torch.arange(done, done + n, device=new.device))
        for block in model.blocks:
            h = block.ln_1(x)
            q, k, v = (w(h).unflatten(-1, (model.config.n_heads, -1)).transpose(1, 2)
                       for w in (block.attn.W_query, block.attn.W_key, block.attn.W_value))
            if hasattr(block, "kept"):
                k, v = torch.cat([block.kept[0], k], dim=2), torch.cat([block.kept[1], v], dim=2)
            block.kept = (k, v)
            scores = q @ k.mT / q.shape[-1] ** 0.5
            future = torch.ones_like(scores, dtype=torch.bool).triu(k.shape[2] - n + 1)
            weights = scores.masked_fill(future, -torch.inf).softmax(dim=-1)
            x = x + block.attn.out_proj((weights @ v).transpose(1, 2).flatten(2))
            x = x + block.mlp(block.ln_2(x))
        done += n
        new = (model.ln_f(x[:, -1:]) @ model.wte.weight.T).argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached wrong (raised): recognises the first pass by more than one new token, which fails for a prompt of one token
def generate_cached(model, tokens, n_tokens):
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    for _ in range(n_tokens):
        n = new.shape[1]
        x = model.wte(new) + model.wpe(torch.arange(done, done + n, device=new.device))
        for i, block in enumerate(model.blocks):
            h = block.ln_1(x)
            q, k, v = (w(h).unflatten(-1, (model.config.n_heads, -1)).transpose(1, 2)
                       for w in (block.attn.W_query, block.attn.W_key, block.attn.W_value))
            if n > 1:  # the prompt
                scores = q @ k.mT / q.shape[-1] ** 0.5
                scores = scores.masked_fill(torch.ones(n, n, dtype=torch.bool, device=x.device).triu(1), -torch.inf)
            else:  # one new token sees everything before it
                k, v = torch.cat([kept[i][0], k], dim=2), torch.cat([kept[i][1], v], dim=2)
                scores = q @ k.mT / q.shape[-1] ** 0.5
            kept[i] = k, v
            x = x + block.attn.out_proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
            x = x + block.mlp(block.ln_2(x))
        done += n
        new = (model.ln_f(x[:, -1:]) @ model.wte.weight.T).argmax(dim=-1)
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached right (passed): keys and values written into tensors that have the final length from the start
def generate_cached(model, tokens, n_tokens):
    kept = [None] * len(model.blocks)
    new, done = tokens, 0
    total, heads = tokens.shape[1] + n_tokens, model.config.n_heads
    for _ in range(n_tokens):
        end = done + new.shape[1]
        places = torch.arange(end, device=tokens.device)
        x = model.wte(new) + model.wpe(places[done:])
        for i, block in enumerate(model.blocks):
            attn, h = block.attn, block.ln_1(x)
            q, k, v = (w(h).unflatten(-1, (heads, -1)).transpose(1, 2) for w in (attn.W_query, attn.W_key, attn.W_value))
            if kept[i] is None:
                kept[i] = [t.new_empty(t.shape[0], heads, total, t.shape[-1]) for t in (k, v)]
            for store, t in zip(kept[i], (k, v)):
                store[:, :, done:end] = t.detach()
            keys, values = (store[:, :, :end].clone() for store in kept[i])
            scores = torch.einsum("bhqd,bhkd->bhqk", q, keys) * q.shape[-1] ** -0.5
            scores = torch.where(places[None] <= places[done:, None], scores, -torch.inf)
            mixed = torch.einsum("bhqk,bhkd->bqhd", scores.softmax(dim=-1), values)
            x = x + attn.out_proj(mixed.flatten(2))
            x = x + block.mlp(block.ln_2(x))
        new, done = (model.ln_f(x)[:, -1:] @ model.wte.weight.T).argmax(dim=-1), end
        tokens = torch.cat([tokens, new], dim=1)
    return tokens

# %% generate_cached right (passed): a helper for one pass, with an additive mask in scaled_dot_product_attention and topk for the choice
def generate_cached(model, tokens, n_tokens):
    kept = [None] * len(model.blocks)

    def attend(i, block, h, done):
        attn, n = block.attn, h.shape[1]
        split = lambda t: torch.stack(t.chunk(model.config.n_heads, dim=-1), dim=1)
        pair = torch.stack([split(attn.W_key(h)), split(attn.W_value(h))])
        kept[i] = pair if kept[i] is None else torch.cat([kept[i], pair], dim=-2)
        mask = torch.full((n, done + n), -torch.inf, dtype=h.dtype, device=h.device).triu(done + 1)
        mixed = nn.functional.scaled_dot_product_attention(split(attn.W_query(h)), *kept[i], attn_mask=mask)
        return attn.out_proj(torch.cat(mixed.unbind(dim=1), dim=-1))

    new, done = tokens, 0
    for _ in range(n_tokens):
        x = model.wte(new) + model.wpe.weight[done:][: new.shape[1]]
        for i, block in enumerate(model.blocks):
            x = x + attend(i, block, block.ln_1(x), done)
            x = x + block.mlp(block.ln_2(x))
        done = done + new.shape[1]
        new = nn.functional.linear(model.ln_f(x[:, -1]), model.wte.weight).topk(1, dim=-1).indices
        tokens = torch.cat([tokens, new], dim=1)
    return tokens
