# %% generate_text wrong (misconception stops-at-any-place): stops as soon as the best token of any position is 0, with `in`
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """The prompt and what the model writes after it, greedily, until it says token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(max_len):
        best = model(ids).argmax(-1)
        if 0 in best:
            break
        ids = torch.cat([ids, best[:, -1:]], dim=1)
    return tokenizer.decode(ids[0])

# %% generate_text wrong (misconception stops-at-any-place): stops where any position says 0, with any()
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """The prompt and what the model writes after it, greedily, until it says token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(max_len):
        best = model(ids).argmax(dim=-1)
        if (best == 0).any():
            break
        ids = torch.cat((ids, best[:, -1:]), dim=1)
    return tokenizer.decode(ids[0])

# %% generate_text wrong (misconception stripped): the text is stripped
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """The prompt and what the model writes after it, greedily, until it says token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(max_len):
        new = model(ids)[:, -1].argmax(-1)
        if new.item() == 0:
            break
        ids = torch.cat([ids, new[None]], dim=1)
    return tokenizer.decode(ids[0]).strip()

# %% generate_text wrong (property prompt_then_new): one round too many where it has to end
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """The prompt and what the model writes after it, greedily, until it says token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(max(max_len, 1)):
        new = model(ids)[:, -1].argmax(-1)
        if new.item() == 0:
            break
        ids = torch.cat([ids, new[None]], dim=1)
    return tokenizer.decode(ids[0])

# %% CogModel wrong (raised): the mask is a triangle of floats
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
        mask = torch.tril(torch.ones(seq, seq, device=src.device))
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))

# %% CogModel wrong (raised): the mask is a triangle of floats, turned with ~
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
        mask = ~torch.tril(torch.ones(seq, seq, device=src.device))
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))

# %% CogModel wrong (misconception true-hides): the mask is a triangle of bools, turned with ~
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
        mask = ~torch.tril(torch.ones(seq, seq, dtype=torch.bool, device=src.device))
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))

# %% CogModel wrong (raised): the mask is a triangle of floats above the diagonal
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
        mask = torch.triu(torch.ones(seq, seq, device=src.device), diagonal=1)
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))

# %% CogModel wrong (misconception true-hides): the mask is a triangle of bools above the diagonal
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
        mask = torch.triu(torch.ones(seq, seq, device=src.device), diagonal=1).bool()
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))

# %% CogModel wrong (misconception one-layer-too-few): one layer too few
class CogModel(nn.Module):
    """Attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers - 1)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        seq = src.shape[1]
        mask = torch.ones(seq, seq, dtype=torch.bool, device=src.device).tril()
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))

# %% CogModel right (passed): the mask by a comparison of positions
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
        mask = torch.arange(seq, device=src.device)[:, None] >= torch.arange(seq, device=src.device)
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))

# %% CogModel right (passed): the mask is what is not above the diagonal
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
        mask = ~torch.triu(torch.ones_like(src[0]).expand(seq, seq), diagonal=1).bool()
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))

# %% generate_text right (passed): asks the last position alone, by its number
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """The prompt and what the model writes after it, greedily, until it says token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(max_len):
        new = int(model(ids)[0, ids.shape[1] - 1].argmax())
        if not new:
            return tokenizer.decode(ids[0])
        ids = torch.cat((ids, torch.tensor([[new]])), dim=1)
    return tokenizer.decode(ids[0])

# %% generate_text right (passed): a list of ids that grows, and no strip
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    ids = list(tokenizer.encode(prompt))
    room = len(ids) + max_len
    while len(ids) < room:
        best = model(torch.tensor([ids])).argmax(-1)[0].tolist()[-1]
        if best == 0:
            break
        ids.append(best)
    return tokenizer.decode(ids)
