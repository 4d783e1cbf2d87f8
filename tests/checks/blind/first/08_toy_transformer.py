# %% CogModel wrong (structure): one layer object put into the list num_layers times, so all layers share their weights
class CogModel(nn.Module):
    """Attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim)] * num_layers)
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        seq = src.shape[1]
        mask = torch.tril(torch.ones(seq, seq, dtype=torch.bool, device=src.device))
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))

# %% CogModel wrong (misconception one-step-ahead): the mask is one diagonal too wide, each position sees the next letter, which it should foretell
class CogModel(nn.Module):
    """Attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        seq = src.shape[1]
        mask = torch.tril(torch.ones(seq, seq, device=src.device), diagonal=1).bool()
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))

# %% CogModel wrong (property moves_with_its_module): the mask is always made on the CPU, the page wants it on the device of src
class CogModel(nn.Module):
    """Attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        batch, seq = src.shape
        mask = torch.ones(seq, seq, dtype=torch.bool).tril()
        x = self.embed(src)
        x = self.pos_encoder(x)
        for layer in self.layers:
            x = layer(x, mask)
        x = self.norm(x)
        return self.decoder(x)

# %% CogModel wrong (misconception stream-added-twice): adds the stream once more around each layer, though the layer already adds it, so the stream doubles
class CogModel(nn.Module):
    """Attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        seq = src.size(1)
        mask = torch.tril(torch.ones(seq, seq, dtype=torch.bool, device=src.device))
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = x + layer(x, mask)
        return self.decoder(self.norm(x))

# %% CogModel wrong (misconception always-two-layers): num_layers is ignored, there are always two layers, while the model that the course brings has three
class CogModel(nn.Module):
    """Attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim), SelfAttentionLayer(embed_dim)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        mask = torch.tril(torch.ones(src.size(1), src.size(1), dtype=torch.bool, device=src.device))
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))

# %% CogModel wrong (structure): layers is a plain Python list and no nn.ModuleList, so training and state_dict do not know them
class CogModel(nn.Module):
    """Attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = [SelfAttentionLayer(embed_dim) for _ in range(num_layers)]
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        seq = src.shape[-1]
        mask = torch.tril(torch.ones(seq, seq, dtype=torch.bool, device=src.device))
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))

# %% CogModel wrong (misconception true-hides): the mask is True where a position may not attend, the other convention, so all look at the future only
class CogModel(nn.Module):
    """Attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList(SelfAttentionLayer(embed_dim) for _ in range(num_layers))
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        seq = src.shape[1]
        mask = torch.triu(torch.ones(seq, seq, device=src.device), diagonal=1).bool()
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))

# %% CogModel wrong (misconception embedding-enlarged): embeddings are multiplied by the root of the width before the positions, a step that the five parts do not have, so the course's weights give other letters
class CogModel(nn.Module):
    """Attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed_dim = embed_dim
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        seq = src.shape[1]
        mask = torch.tril(torch.ones(seq, seq, dtype=torch.bool, device=src.device))
        x = self.embed(src) * self.embed_dim**0.5
        x = self.pos_encoder(x)
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))

# %% CogModel right (passed): part by part, layers appended in a loop
class CogModel(nn.Module):
    """Attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList()
        for _ in range(num_layers):
            self.layers.append(SelfAttentionLayer(embed_dim))
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        length = src.shape[1]
        mask = torch.zeros(length, length, dtype=torch.bool, device=src.device)
        for row in range(length):
            mask[row, : row + 1] = True
        stream = self.embed(src)
        stream = self.pos_encoder(stream)
        for layer in self.layers:
            stream = layer(stream, mask=mask)
        stream = self.norm(stream)
        scores = self.decoder(stream)
        return scores

# %% CogModel right (passed): a ModuleList of its own kind that runs its layers, so that forward is one line
class Stack(nn.ModuleList):
    def forward(self, stream):
        place = torch.arange(stream.shape[-2], device=stream.device)
        may_attend = place[None, :] <= place[:, None]
        for layer in self:
            stream = layer(stream, may_attend)
        return stream


class CogModel(nn.Module):
    """Attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = Stack(SelfAttentionLayer(embed_dim) for _ in range(num_layers))
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        return self.decoder(self.norm(self.layers(self.pos_encoder(self.embed(src)))))

# %% CogModel right (passed): parts made from the last to the first, and a reduce over the layers
from functools import reduce


class CogModel(nn.Module):
    """Attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        parts = {
            "decoder": nn.Linear(embed_dim, vocab_size),
            "norm": LayerNorm(embed_dim),
            "layers": nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)]),
            "pos_encoder": PositionalEncoding(embed_dim),
            "embed": nn.Embedding(vocab_size, embed_dim),
        }
        for name, part in parts.items():
            self.add_module(name, part)

    @staticmethod
    def causal_mask(src):
        n = src.shape[-1]
        return ~torch.ones((n, n), dtype=torch.bool, device=src.device).triu(1)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        mask = self.causal_mask(src)
        start = self.pos_encoder(self.embed(src))
        end = reduce(lambda stream, layer: layer(stream, mask), self.layers, start)
        return self.decoder(self.norm(end))

# %% CogModel right (passed): rows taken from the embedding by index, mask as a running sum of the identity, decoder as a product
class CogModel(nn.Module):
    """Attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed, self.decoder = nn.Embedding(vocab_size, embed_dim), nn.Linear(embed_dim, vocab_size)
        self.pos_encoder, self.norm = PositionalEncoding(embed_dim), LayerNorm(embed_dim)
        self.layers = nn.ModuleList(map(SelfAttentionLayer, [embed_dim] * num_layers))

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        mask = torch.eye(src.shape[1], device=src.device).cumsum(dim=0).bool()
        x = self.pos_encoder(self.embed.weight[src.long()])
        for i in range(len(self.layers)):
            x = self.layers[i](x, mask)
        return torch.einsum("bsd,vd->bsv", self.norm(x), self.decoder.weight) + self.decoder.bias

# %% generate_text wrong (misconception max-len-of-the-whole): max_len is taken for the length of the whole text, prompt included, and not for the new tokens
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """The prompt and what the model writes after it, greedily, until it says token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    while ids.shape[1] < max_len:
        best = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
        if best.item() == 0:
            break
        ids = torch.cat((ids, best), dim=1)
    return tokenizer.decode(ids[0])

# %% generate_text wrong (misconception nothing-without-a-stop): returns the text only where the model stops, after max_len tokens without a stop it returns None
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """The prompt and what the model writes after it, greedily, until it says token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        for _ in range(max_len):
            best = model(ids)[0, -1].argmax()
            if best == 0:
                return tokenizer.decode(ids[0])
            ids = torch.cat([ids, best.view(1, 1)], dim=1)

# %% generate_text wrong (misconception stops-at-the-full-stop-alone): stops after a full stop instead of at token 0, so a model that goes on after it, or stops without it, is not followed
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """The prompt and what the model writes after it, greedily, until it says token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(max_len):
        logits = model(ids)
        best = logits[0, -1].argmax()
        ids = torch.cat([ids, best.reshape(1, 1)], dim=1)
        if tokenizer.decode(best.reshape(1)) == ".":
            break
    return tokenizer.decode(ids[0])

# %% generate_text wrong (misconception answer-only): returns only what was written, the prompt is cut off
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """The prompt and what the model writes after it, greedily, until it says token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    start = ids.shape[1]
    for _ in range(max_len):
        best = model(ids)[:, -1, :].argmax(-1)
        if best.item() == 0:
            break
        ids = torch.cat([ids, best[:, None]], dim=1)
    return tokenizer.decode(ids[0, start:])

# %% generate_text wrong (misconception forgets-the-prompt): after the first step the model is given the new token alone and has forgotten the text
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """The prompt and what the model writes after it, greedily, until it says token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    seen = ids
    with torch.no_grad():
        for _ in range(max_len):
            best = model(seen)[:, -1].argmax(dim=-1, keepdim=True)
            if best.item() == 0:
                break
            ids = torch.cat((ids, best), dim=1)
            seen = best
    return tokenizer.decode(ids[0])

# %% generate_text wrong (misconception never-stops): no test for token 0, it always writes max_len tokens
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """The prompt and what the model writes after it, greedily, until it says token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(max_len):
        with torch.no_grad():
            logits = model(ids)[:, -1]
        ids = torch.cat([ids, logits.argmax(dim=-1, keepdim=True)], dim=1)
    return tokenizer.decode(ids[0])

# %% generate_text wrong (property draws_nothing): draws the next token from the probabilities, the docstring wants the best one
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """The prompt and what the model writes after it, greedily, until it says token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        for _ in range(max_len):
            probs = torch.softmax(model(ids)[:, -1], dim=-1)
            drawn = torch.multinomial(probs, num_samples=1)
            if drawn.item() == 0:
                break
            ids = torch.cat((ids, drawn), dim=1)
    return tokenizer.decode(ids[0])

# %% generate_text wrong (misconception one-too-few): off by one, at most max_len - 1 new tokens
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """The prompt and what the model writes after it, greedily, until it says token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        for _ in range(1, max_len):
            best = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
            if best.item() == 0:
                break
            ids = torch.cat((ids, best), dim=1)
    return tokenizer.decode(ids[0])

# %% generate_text right (passed): the loop as the page tells it
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """The prompt and what the model writes after it, greedily, until it says token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(max_len):
        with torch.no_grad():
            scores = model(ids)
        best = scores[:, -1, :].argmax(dim=-1)
        if best.item() == 0:
            break
        ids = torch.cat([ids, best.unsqueeze(-1)], dim=-1)
    return tokenizer.decode(ids[0])

# %% generate_text right (passed): a plain list of ids, a while loop with a counter, the maximum by hand
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """The prompt and what the model writes after it, greedily, until it says token 0."""
    ids = [int(i) for i in tokenizer.encode(prompt)]
    written = 0
    while written < max_len:
        last = model(torch.tensor([ids]))[0][-1].tolist()
        best = max(range(len(last)), key=last.__getitem__)
        if best == 0:
            break
        ids.append(best)
        written += 1
    return tokenizer.decode(torch.tensor(ids))

# %% generate_text right (passed): room for the whole text made at once, inference mode, eval and back, on the model's device
@torch.inference_mode()
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """The prompt and what the model writes after it, greedily, until it says token 0."""
    was_training = model.training
    model.eval()
    ids = tokenizer.encode(prompt, return_tensors="pt")
    device = next((p.device for p in model.parameters()), ids.device)
    end = ids.shape[1]
    text = torch.zeros(1, end + max_len, dtype=torch.long, device=device)
    text[:, :end] = ids
    try:
        while end < text.shape[1]:
            text[0, end] = model(text[:, :end])[0, -1].argmax()
            if text[0, end] == 0:
                break
            end += 1
    finally:
        model.train(was_training)
    return tokenizer.decode(text[0, :end].cpu())

# %% generate_text right (passed): iter with a sentinel of 0, and islice for max_len
from itertools import islice


def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """The prompt and what the model writes after it, greedily, until it says token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")

    def next_token():
        return model(ids)[0, -1].argmax().item()

    for token in islice(iter(next_token, 0), max_len):
        ids = torch.nn.functional.pad(ids, (0, 1), value=token)
    return tokenizer.decode(ids[0])
