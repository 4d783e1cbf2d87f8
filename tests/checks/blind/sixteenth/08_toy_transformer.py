# %% CogModel wrong (misconception stream-added-twice): adds the stream again around each layer, although SelfAttentionLayer already adds its input
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

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


# %% CogModel wrong (misconception true-hides): the mask is True where a position may not attend (inverted), so positions see the future
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

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
        x = self.embed(src)
        x = self.pos_encoder(x)
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))


# %% CogModel wrong (property moves_with_its_module): subtle, the mask is always created on the CPU, so the model fails on another device
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        n = src.shape[-1]
        mask = torch.ones(n, n, dtype=torch.bool).tril()
        stream = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            stream = layer(stream, mask)
        return self.decoder(self.norm(stream))


# %% CogModel wrong (raised): subtle, the mask is a buffer for 64 positions, so a text with more than 64 tokens fails
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)
        self.register_buffer("mask", torch.ones(64, 64, dtype=torch.bool).tril(), persistent=False)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        n = src.shape[-1]
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, self.mask[:n, :n])
        return self.decoder(self.norm(x))


# %% CogModel wrong (structure): subtle, the decoder shares its matrix with embed; shows when the two should differ (training, loading weights)
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)
        self.decoder.weight = self.embed.weight

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        n = src.shape[-1]
        mask = torch.tril(torch.ones((n, n), device=src.device)) == 1
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))


# %% CogModel right (passed): a list comprehension for the layers, and tril of a table of True on the device of src
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        seq = src.shape[-1]
        mask = torch.ones(seq, seq, dtype=torch.bool, device=src.device).tril()
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask=mask)
        return self.decoder(self.norm(x))


# %% CogModel right (passed): appends the layers in a loop, and compares positions to make the mask
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(num_embeddings=vocab_size, embedding_dim=embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList()
        for _ in range(num_layers):
            self.layers.append(SelfAttentionLayer(embed_dim))
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size, bias=True)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        place = torch.arange(src.size(1), device=src.device)
        may_attend = place.unsqueeze(1) >= place.unsqueeze(0)
        stream = self.embed(src)
        stream = self.pos_encoder(stream)
        for i in range(len(self.layers)):
            stream = self.layers[i](stream, may_attend)
        stream = self.norm(stream)
        return self.decoder(stream)


# %% answer_loss wrong (misconception its-own-token): does not shift: scores token i with the logits at position i
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    return F.cross_entropy(logits[asked], tokens[asked])


# %% answer_loss wrong (misconception asks-the-place-before): shifts logits and tokens, but reads asked one position too early
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    scores, targets = logits[:, :-1], tokens[:, 1:]
    keep = asked[:, :-1]
    return F.cross_entropy(scores[keep], targets[keep])


# %% answer_loss wrong (misconception mean-of-means): subtle, takes the mean of each text first; shows when texts have different numbers of asked tokens
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    losses = []
    for scores, text, wanted in zip(logits, tokens, asked):
        keep = wanted[1:]
        losses.append(F.cross_entropy(scores[:-1][keep], text[1:][keep]))
    return torch.stack(losses).mean()


# %% answer_loss wrong (difference milestone): subtle, clamps the probability at 1e-9, so a lower probability gives too small a loss and no gradient
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    probabilities = torch.softmax(logits[:, :-1], dim=-1)
    right = probabilities.gather(-1, tokens[:, 1:].unsqueeze(-1)).squeeze(-1)
    right = right[asked[:, 1:]].clamp(min=1e-9)
    return -right.log().mean()


# %% answer_loss wrong (misconception stop-left-out): subtle, marks the tokens to leave out with id 0, so an asked stop token (id 0) is left out too
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    targets = tokens.masked_fill(~asked, 0)[:, 1:]
    scores = logits[:, :-1]
    return F.cross_entropy(scores.flatten(0, 1), targets.flatten(), ignore_index=0)


# %% answer_loss right (passed): shifts, selects the asked tokens, F.cross_entropy
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    keep = asked[:, 1:]
    return F.cross_entropy(logits[:, :-1][keep], tokens[:, 1:][keep])


# %% answer_loss right (passed): finds the asked places with nonzero; logsumexp minus the score of the right token
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    text, before = torch.nonzero(asked[:, 1:], as_tuple=True)
    scores = logits[text, before]
    right = scores.gather(1, tokens[text, before + 1].unsqueeze(1)).squeeze(1)
    return (torch.logsumexp(scores, dim=1) - right).mean()


# %% training_step wrong (misconception old-gradients-added): never clears the stored gradients
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception no-gradients): clears the gradients between backward and the step, so the step does nothing
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception clipped): subtle, clips the gradients to norm 1; shows when their norm is larger
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception eval-mode-until-the-step): subtle, computes the loss in eval mode and switches back afterwards; shows in a model with dropout
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    optimizer.zero_grad()
    model.eval()
    loss = answer_loss(model(tokens), tokens, asked)
    model.train()
    loss.backward()
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception old-gradients-of-biases): subtle, clears only the gradients of the optimizer's first parameter group; shows with two groups
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    for parameter in optimizer.param_groups[0]["params"]:
        parameter.grad = None
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    return float(loss)


# %% training_step right (passed): zero_grad, loss, backward, step
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    optimizer.zero_grad()
    tokens, asked = batch
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% training_step right (passed): computes the loss first, replaces each stored gradient by the result of torch.autograd.grad, then steps
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    loss = answer_loss(model(tokens), tokens, asked)
    optimizer.zero_grad(set_to_none=True)
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    gradients = torch.autograd.grad(loss, parameters, allow_unused=True)
    for parameter, gradient in zip(parameters, gradients):
        parameter.grad = gradient
    before = float(loss.detach())
    optimizer.step()
    return before


# %% generate_text wrong (misconception never-stops): never checks for token 0, so it goes on after the stop token
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        for _ in range(max_len):
            best = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
            ids = torch.cat((ids, best), dim=1)
    return tokenizer.decode(ids[0])


# %% generate_text wrong (misconception answer-only): returns only the continuation, without the prompt
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    start = ids.shape[1]
    with torch.no_grad():
        for _ in range(max_len):
            best = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
            if best.item() == 0:
                break
            ids = torch.cat((ids, best), dim=1)
    return tokenizer.decode(ids[0, start:])


# %% generate_text wrong (misconception stops-at-the-full-stop-alone): subtle, stops after a full stop instead of at token 0; shows when one comes without the other
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    full_stop = tokenizer.encode(".", return_tensors="pt")[0, 0]
    with torch.no_grad():
        for _ in range(max_len):
            best = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
            ids = torch.cat((ids, best), dim=1)
            if best.item() == full_stop.item():
                break
    return tokenizer.decode(ids[0])


# %% generate_text wrong (property prompt_then_new): subtle, tests max_len only after a token has been added, so max_len=0 adds one token
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    added = 0
    while True:
        with torch.no_grad():
            best = model(ids)[0, -1].argmax()
        if best == 0:
            break
        ids = torch.cat((ids, best.view(1, 1)), dim=1)
        added += 1
        if added >= max_len:
            break
    return tokenizer.decode(ids[0])


# %% generate_text wrong (property leaves_its_inputs): subtle, puts the model into eval mode and leaves it there; shows when the model was in training mode
@torch.no_grad()
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    model.eval()
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(max_len):
        best = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
        if best.item() == 0:
            break
        ids = torch.cat((ids, best), dim=1)
    return tokenizer.decode(ids[0])


# %% generate_text right (passed): a for loop that concatenates, and breaks before token 0 is added
@torch.no_grad()
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(max_len):
        best = model(ids)[0, -1].argmax().item()
        if best == 0:
            break
        ids = torch.cat((ids, torch.tensor([[best]], device=ids.device)), dim=1)
    return tokenizer.decode(ids[0])


# %% generate_text right (passed): a while loop that writes into a table with room for max_len more ids, topk instead of argmax
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    start = tokenizer.encode(prompt, return_tensors="pt")
    length = start.shape[1]
    end = length + max_len
    table = start.new_zeros(1, end)
    table[:, :length] = start
    with torch.no_grad():
        while length < end:
            scores = model(table[:, :length])[:, -1, :]
            best = scores.topk(1, dim=-1).indices[0, 0]
            if best == 0:
                break
            table[0, length] = best
            length += 1
    return tokenizer.decode(table[0, :length])
