# %% CogModel wrong (structure): the layers stand in a plain list, so they are not registered, trained, moved or saved
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
        seq = src.shape[1]
        mask = torch.ones(seq, seq, dtype=torch.bool, device=src.device).tril()
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))

# %% CogModel wrong (structure): one and the same layer num_layers times, so all layers share their weights
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

# %% CogModel wrong (misconception stream-added-twice): adds the stream once more around each layer, which adds to it already
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
        mask = torch.tril(torch.ones(seq, seq, dtype=torch.bool, device=src.device))
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = x + layer(x, mask)
        return self.decoder(self.norm(x))

# %% CogModel wrong (misconception embedding-enlarged): multiplies the embedding by the root of embed_dim, a step that the lesson's model does not have and the brought weights do not fit
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
        x = self.pos_encoder(self.embed(src) * self.embed_dim**0.5)
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))

# %% CogModel wrong (property moves_with_its_module): the mask is made on the CPU and not on the device of src
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
        mask = torch.tril(torch.ones(seq, seq)).bool()
        x = self.embed(src)
        x = self.pos_encoder(x)
        for layer in self.layers:
            x = layer(x, mask)
        x = self.norm(x)
        return self.decoder(x)

# %% CogModel wrong (raised): the mask gets the size of the batch instead of the length of the text
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
        seq = src.size(0)
        mask = torch.tril(torch.ones(seq, seq, dtype=torch.bool, device=src.device))
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))

# %% CogModel wrong (misconception no-final-norm): makes the last norm and never uses it
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
        mask = torch.tril(torch.ones(seq, seq, dtype=torch.bool, device=src.device))
        stream = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            stream = layer(stream, mask)
        return self.decoder(stream)

# %% CogModel wrong (structure): torch's LayerNorm instead of the one built in lesson 06, so its weights have other names and the brought ones do not fit
class CogModel(nn.Module):
    """Attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = nn.LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        seq = src.shape[1]
        mask = torch.tril(torch.ones(seq, seq, dtype=torch.bool, device=src.device))
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))

# %% CogModel right (passed): the parts in their order, line by line
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
        length = src.shape[-1]
        mask = torch.ones(length, length, device=src.device).tril().bool()
        stream = self.embed(src)
        stream = self.pos_encoder(stream)
        for layer in self.layers:
            stream = layer(stream, mask=mask)
        stream = self.norm(stream)
        return self.decoder(stream)

# %% CogModel right (passed): reduce over the layers, mask by comparing positions
class CogModel(nn.Module):
    """Attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed, self.decoder = nn.Embedding(vocab_size, embed_dim), nn.Linear(embed_dim, vocab_size)
        self.pos_encoder, self.norm = PositionalEncoding(embed_dim), LayerNorm(embed_dim)
        self.layers = nn.ModuleList(map(SelfAttentionLayer, [embed_dim] * num_layers))

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        from functools import reduce

        places = torch.arange(src.shape[1], device=src.device)
        may = places <= places[:, None]
        start = self.pos_encoder(self.embed(src))
        return self.decoder(self.norm(reduce(lambda stream, layer: layer(stream, may), self.layers, start)))

# %% CogModel right (passed): text by text, with the rows of the embedding picked by index and the decoder as a product
class CogModel(nn.Module):
    """Attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.decoder = nn.Linear(embed_dim, vocab_size)
        self.norm = LayerNorm(embed_dim)
        self.layers = nn.ModuleList()
        while len(self.layers) < num_layers:
            self.layers.append(SelfAttentionLayer(embed_dim))
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.embed = nn.Embedding(vocab_size, embed_dim)

    def causal(self, n, device):
        mask = torch.zeros(n, n, dtype=torch.bool, device=device)
        for i in range(n):
            mask[i, : i + 1] = True
        return mask

    def scores_of(self, ids, mask):
        x = self.pos_encoder(self.embed.weight[ids])
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x) @ self.decoder.weight.T + self.decoder.bias

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        mask = self.causal(src.shape[1], src.device)
        return torch.stack([self.scores_of(ids, mask) for ids in src])

# %% CogModel right (passed): embedding from drawn rows, the mask from the one that torch's own Transformer makes
class CogModel(nn.Module):
    """Attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding.from_pretrained(torch.randn(vocab_size, embed_dim), freeze=False)
        self.pos_encoder = PositionalEncoding(d_model=embed_dim)
        self.layers = nn.ModuleList()
        for i in range(num_layers):
            self.layers.add_module(str(i), SelfAttentionLayer(embed_dim))
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(in_features=embed_dim, out_features=vocab_size)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        additive = nn.Transformer.generate_square_subsequent_mask(src.size(-1), device=src.device)
        visible = additive == 0
        hidden_states = self.pos_encoder(self.embed(src))
        for i in range(len(self.layers)):
            hidden_states = self.layers[i](hidden_states, visible)
        return self.decoder(self.norm(hidden_states))

# %% generate_text wrong (misconception never-stops): no test for token 0, so it writes on after the stop
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """The prompt and what the model writes after it, greedily, until it says token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(max_len):
        with torch.no_grad():
            best = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
        ids = torch.cat((ids, best), dim=1)
    return tokenizer.decode(ids[0])

# %% generate_text wrong (misconception max-len-of-the-whole): max_len limits the whole text, prompt included, and not the new tokens
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """The prompt and what the model writes after it, greedily, until it says token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    while ids.shape[1] < max_len:
        with torch.no_grad():
            best = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
        if best.item() == 0:
            break
        ids = torch.cat((ids, best), dim=1)
    return tokenizer.decode(ids[0])

# %% generate_text wrong (property draws_nothing): draws the next token by its probability instead of taking the best
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """The prompt and what the model writes after it, greedily, until it says token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(max_len):
        with torch.no_grad():
            probabilities = torch.softmax(model(ids)[:, -1], dim=-1)
        token = torch.multinomial(probabilities, 1)
        if token.item() == 0:
            break
        ids = torch.cat((ids, token), dim=1)
    return tokenizer.decode(ids[0])

# %% generate_text wrong (misconception forgets-the-prompt): after the first step the model is shown only the newest token, and forgets the text
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """The prompt and what the model writes after it, greedily, until it says token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    seen = ids
    for _ in range(max_len):
        with torch.no_grad():
            best = model(seen)[:, -1].argmax(dim=-1, keepdim=True)
        if best.item() == 0:
            break
        ids = torch.cat((ids, best), dim=1)
        seen = best
    return tokenizer.decode(ids[0])

# %% generate_text wrong (misconception stops-at-the-full-stop-alone): stops after a full stop instead of at token 0
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """The prompt and what the model writes after it, greedily, until it says token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    full_stop = tokenizer.encode(".")[0]
    for _ in range(max_len):
        with torch.no_grad():
            best = model(ids)[0, -1].argmax()
        ids = torch.cat((ids, best.view(1, 1)), dim=1)
        if best.item() == full_stop:
            break
    return tokenizer.decode(ids[0])

# %% generate_text wrong (property prompt_then_new): always cuts off the last token as the stop, also when max_len was reached without one
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """The prompt and what the model writes after it, greedily, until it says token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(max_len):
        with torch.no_grad():
            best = model(ids)[:, -1:].argmax(dim=-1)
        ids = torch.cat((ids, best), dim=1)
        if best.item() == 0:
            break
    return tokenizer.decode(ids[0, :-1])

# %% generate_text wrong (misconception nothing-without-a-stop): returns only inside the test for the stop, so None comes back when max_len is reached
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """The prompt and what the model writes after it, greedily, until it says token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(max_len):
        with torch.no_grad():
            best = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
        if best.item() == 0:
            return tokenizer.decode(ids[0])
        ids = torch.cat((ids, best), dim=1)

# %% generate_text wrong (misconception answer-only): returns only what was written, without the prompt
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """The prompt and what the model writes after it, greedily, until it says token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    start = ids.shape[1]
    for _ in range(max_len):
        with torch.no_grad():
            best = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
        if best.item() == 0:
            break
        ids = torch.cat((ids, best), dim=1)
    return tokenizer.decode(ids[0, start:])

# %% generate_text right (passed): the loop of ids, with torch.cat and break
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """The prompt and what the model writes after it, greedily, until it says token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(max_len):
        with torch.no_grad():
            logits = model(ids)
        best = logits[:, -1, :].argmax(dim=-1, keepdim=True)
        if best.item() == 0:
            break
        ids = torch.cat((ids, best), dim=1)
    return tokenizer.decode(ids[0])

# %% generate_text right (passed): grows the text itself and reads it anew each time
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """The prompt and what the model writes after it, greedily, until it says token 0."""
    text, left = prompt, max_len
    while left > 0:
        scores = model(tokenizer.encode(text, return_tensors="pt"))[0, -1].tolist()
        token = scores.index(max(scores))
        if token == 0:
            return text
        text += tokenizer.decode(token)
        left -= 1
    return text

# %% generate_text right (passed): fills places that were set aside for the longest possible text
@torch.inference_mode()
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """The prompt and what the model writes after it, greedily, until it says token 0."""
    given = tokenizer.encode(prompt, return_tensors="pt")
    end = given.shape[1]
    page = torch.zeros(1, end + max_len, dtype=given.dtype, device=given.device)
    page[:, :end] = given
    limit = end + max_len
    stopped = False
    while end < limit and not stopped:
        values, candidates = model(page[:, :end])[0, -1].topk(1)
        stopped = int(candidates[0]) == 0
        if not stopped:
            page[0, end] = candidates[0]
            end += 1
    return tokenizer.decode(page[0, :end])

# %% generate_text right (passed): an iterator with 0 as its sentinel, cut to max_len
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """The prompt and what the model writes after it, greedily, until it says token 0."""
    from itertools import islice

    ids = tokenizer.encode(prompt, return_tensors="pt")[0].tolist()
    written = []

    def next_token():
        with torch.no_grad():
            return int(model(torch.tensor([ids + written]))[0, -1].argmax())

    for token in islice(iter(next_token, 0), max_len):
        written.append(token)
    return prompt + "".join(map(tokenizer.decode, written))
