# %% CogModel wrong (structure): the same layer num_layers times, the layers share their parameters
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim)] * num_layers)
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        seq = src.shape[1]
        mask = torch.ones(seq, seq, dtype=torch.bool, device=src.device).tril()
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))


# %% CogModel wrong (misconception no-mask): makes the mask but does not pass it to the layers, so every position sees the future
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
        mask = torch.tril(torch.ones(src.size(1), src.size(1), device=src.device)).bool()
        stream = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            stream = layer(stream)
        return self.decoder(self.norm(stream))


# %% CogModel wrong (raised): subtle, the positions end after 64 tokens, a longer text raises an error
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim, 64)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        seq = src.shape[1]
        mask = torch.ones(seq, seq, dtype=torch.bool, device=src.device).tril()
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))


# %% CogModel wrong (property moves_with_its_module): subtle, the mask is made on the CPU and not on the device of src, shows on another device
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList(SelfAttentionLayer(embed_dim) for _ in range(num_layers))
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        batch, seq = src.shape
        mask = torch.tril(torch.ones(seq, seq, dtype=torch.bool))
        x = self.embed(src)
        x = self.pos_encoder(x)
        for layer in self.layers:
            x = layer(x, mask)
        x = self.norm(x)
        return self.decoder(x)


# %% CogModel right (passed): tril mask on the device of src, loop over the layers
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
        mask = torch.ones(seq, seq, dtype=torch.bool, device=src.device).tril()
        stream = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            stream = layer(stream, mask)
        return self.decoder(self.norm(stream))


# %% CogModel right (passed): mask from comparing indices, layers appended, mask by keyword
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
        places = torch.arange(src.size(-1), device=src.device)
        visible = places <= places.unsqueeze(1)
        x = self.embed(src)
        x = self.pos_encoder(x)
        for i in range(len(self.layers)):
            x = self.layers[i](x, mask=visible)
        x = self.norm(x)
        return self.decoder(x)


# %% answer_loss wrong (misconception its-own-token): no shift, the logits at position i score token i
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    return F.cross_entropy(logits[asked], tokens[asked])


# %% answer_loss wrong (misconception asks-the-place-before): asked is cut at the wrong end, it marks the positions that predict instead of the tokens
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    wanted = asked[:, :-1]
    return F.cross_entropy(logits[:, :-1][wanted], tokens[:, 1:][wanted])


# %% answer_loss wrong (misconception mean-of-means): subtle, the mean over the texts of each text's mean, shows if texts have different numbers of asked tokens
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    losses = []
    for text_logits, text, wanted in zip(logits[:, :-1], tokens[:, 1:], asked[:, 1:]):
        losses.append(F.cross_entropy(text_logits[wanted], text[wanted]))
    return torch.stack(losses).mean()


# %% answer_loss wrong (property lets_gradients_through): subtle, logarithm of a softmax, a probability that is rounded to 0 gives an infinite loss
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    wanted = asked[:, 1:]
    probabilities = torch.softmax(logits[:, :-1], dim=-1)[wanted]
    right = probabilities.gather(1, tokens[:, 1:][wanted][:, None])
    return -right.log().mean()


# %% answer_loss right (passed): shift, choose, cross_entropy
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    wanted = asked[:, 1:]
    return F.cross_entropy(logits[:, :-1][wanted], tokens[:, 1:][wanted])


# %% answer_loss right (passed): indices of the asked tokens, logsumexp minus the score of the right token
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    text, place = asked[:, 1:].nonzero(as_tuple=True)
    scores = logits[text, place]
    right = scores[torch.arange(len(place), device=scores.device), tokens[text, place + 1]]
    return (torch.logsumexp(scores, dim=-1) - right).mean()


# %% training_step wrong (misconception old-gradients-added): forgets to clear the old gradients
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception no-gradients): clears the gradients between backward and step, so the step has nothing to use
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception old-gradients-added): subtle, clears the gradients only after the step, so gradients that are stored before the first call still count
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


# %% training_step wrong (property moves_as_far_as_expected): subtle, clips the gradients to a total length of 5, shows if they are longer
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    return loss.item()


# %% training_step right (passed): zero_grad, loss, backward, step
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% training_step right (passed): loss and number first, gradients set to None one by one, just before backward
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    loss = answer_loss(model(batch[0]), *batch)
    before = float(loss.detach())
    for parameter in model.parameters():
        parameter.grad = None
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return before


# %% generate_text wrong (misconception answer-only): returns only the new text, without the prompt
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    start = ids.shape[1]
    with torch.no_grad():
        for _ in range(max_len):
            next_id = model(ids)[0, -1].argmax()
            if next_id == 0:
                break
            ids = torch.cat((ids, next_id.view(1, 1)), dim=1)
    return tokenizer.decode(ids[0, start:])


# %% generate_text wrong (misconception forgets-the-prompt): after the first step, only the newest token is given to the model
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    newest = ids
    with torch.no_grad():
        for _ in range(max_len):
            newest = model(newest)[:, -1].argmax(dim=-1, keepdim=True)
            if newest.item() == 0:
                break
            ids = torch.cat((ids, newest), dim=1)
    return tokenizer.decode(ids[0])


# %% generate_text wrong (property prompt_then_new): subtle, tests the number of new tokens after appending, so max_len=0 still adds one
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    added = 0
    with torch.no_grad():
        while True:
            next_id = model(ids)[0, -1].argmax()
            if next_id == 0:
                break
            ids = torch.cat((ids, next_id.view(1, 1)), dim=1)
            added += 1
            if added >= max_len:
                break
    return tokenizer.decode(ids[0])


# %% generate_text wrong (property leaves_its_inputs): subtle, leaves the model in eval mode, shows if it was in training mode
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    model.eval()
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        for _ in range(max_len):
            next_id = model(ids)[0, -1].argmax().item()
            if next_id == 0:
                break
            ids = torch.cat((ids, torch.tensor([[next_id]])), dim=1)
    return tokenizer.decode(ids[0])


# %% generate_text right (passed): for loop with break, argmax of the last position, cat
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        for _ in range(max_len):
            next_id = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
            if next_id.item() == 0:
                break
            ids = torch.cat((ids, next_id), dim=1)
    return tokenizer.decode(ids[0])


# %% generate_text right (passed): while loop that fills a prepared row of ids, topk for the most likely token
@torch.no_grad()
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    start = tokenizer.encode(prompt, return_tensors="pt")
    row = torch.cat((start, start.new_zeros(1, max_len)), dim=1)
    length, longest = start.size(1), row.size(1)
    while length < longest:
        best = model(row[:, :length])[0, length - 1].topk(1).indices
        if not best.any():
            break
        row[0, length] = best.item()
        length += 1
    return tokenizer.decode(row[0, :length])
