# %% CogModel wrong (structure): the list repeats one layer num_layers times, so all layers share their parameters (right for num_layers 1)
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
        seq = src.shape[-1]
        mask = torch.ones(seq, seq, dtype=torch.bool, device=src.device).tril()
        stream = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            stream = layer(stream, mask)
        return self.decoder(self.norm(stream))


# %% CogModel wrong (raised): passes vocab_size as the max_len of the positions, so texts longer than vocab_size raise an error
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim, vocab_size)
        self.layers = nn.ModuleList(SelfAttentionLayer(embed_dim) for _ in range(num_layers))
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        seq = src.shape[-1]
        mask = torch.ones(seq, seq, dtype=torch.bool, device=src.device).tril()
        stream = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            stream = layer(stream, mask)
        return self.decoder(self.norm(stream))


# %% CogModel wrong (difference milestone): hides the zeros of the batch too (a padding mask from the first text), so a text's result depends on which text comes first in the batch when it contains zeros
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
        seq = src.shape[-1]
        causal = torch.ones(seq, seq, dtype=torch.bool, device=src.device).tril()
        own = torch.eye(seq, dtype=torch.bool, device=src.device)
        mask = causal & ((src[0] != 0) | own)
        stream = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            stream = layer(stream, mask)
        return self.decoder(self.norm(stream))


# %% CogModel right (passed): mask from comparing positions, layers built with a loop and append
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(num_embeddings=vocab_size, embedding_dim=embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList()
        while len(self.layers) < num_layers:
            self.layers.append(SelfAttentionLayer(embed_dim))
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size, bias=True)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        place = torch.arange(src.size(1), device=src.device)
        may_attend = place.unsqueeze(1) >= place
        stream = self.embed(src)
        stream = self.pos_encoder(stream)
        for depth in range(len(self.layers)):
            stream = self.layers[depth](stream, mask=may_attend)
        stream = self.norm(stream)
        return self.decoder(stream)


# %% answer_loss wrong (misconception its-own-token): no shift, the logits at position i are compared with token i
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    return F.cross_entropy(logits[asked], tokens[asked])


# %% answer_loss wrong (misconception mean-of-means): mean of the texts' means, so texts with short answers count more per token (differs when texts have different numbers of asked tokens)
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    losses = []
    for scores, text, wanted in zip(logits[:, :-1], tokens[:, 1:], asked[:, 1:]):
        if wanted.any():
            losses.append(F.cross_entropy(scores[wanted], text[wanted]))
    return torch.stack(losses).mean()


# %% answer_loss wrong (misconception stop-left-out): sets targets that are not asked to 0 and ignores index 0, so asked stop tokens (id 0) do not count
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    targets = tokens.masked_fill(~asked, 0)[:, 1:]
    return F.cross_entropy(logits[:, :-1].transpose(1, 2), targets, ignore_index=0)


# %% answer_loss right (passed): indices from nonzero, logsumexp minus the score of the right token
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    row, before = asked[:, 1:].nonzero(as_tuple=True)
    scores = logits[row, before]
    right = scores.gather(-1, tokens[row, before + 1].long().unsqueeze(-1)).squeeze(-1)
    return (scores.logsumexp(dim=-1) - right).mean()


# %% training_step wrong (misconception no-gradients): clears the gradients between backward and step, so the step follows zero gradients
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception loss-after-the-step): returns the loss after the step, computed again
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        loss = answer_loss(model(tokens), tokens, asked)
    return loss.item()


# %% training_step right (passed): clears the gradients after the forward pass, just before backward; float(loss.detach())
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch[0], batch[1]
    logits = model(tokens)
    loss = answer_loss(logits, tokens, asked)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    value = float(loss.detach())
    optimizer.step()
    return value


# %% generate_text wrong (misconception never-stops): does not test for token 0, always adds max_len tokens
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        for _ in range(max_len):
            best = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
            ids = torch.cat([ids, best], dim=1)
    return tokenizer.decode(ids[0])


# %% generate_text wrong (misconception stops-at-the-full-stop): also ends after a full stop, so a text in which the model goes on after a full stop is cut
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    full_stop = tokenizer.encode(".")[0]
    with torch.no_grad():
        for _ in range(max_len):
            best = model(ids)[0, -1].argmax()
            if best == 0:
                break
            ids = torch.cat([ids, best.view(1, 1)], dim=1)
            if best == full_stop:
                break
    return tokenizer.decode(ids[0])


# %% generate_text wrong (misconception max-len-of-the-whole): max_len limits the length of the whole text, prompt included, so it writes too few letters after long prompts
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        while ids.shape[1] < max_len:
            best = model(ids)[0, -1].argmax()
            if best == 0:
                break
            ids = torch.cat([ids, best.view(1, 1)], dim=1)
    return tokenizer.decode(ids[0])


# %% generate_text right (passed): counts down in a while loop, topk for the best token, decodes a list of ids
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids, left = tokenizer.encode(prompt, return_tensors="pt"), max_len
    with torch.inference_mode():
        while left > 0:
            last = model(ids)[0, -1]
            token = int(last.topk(1).indices)
            if token == 0:
                return tokenizer.decode(ids[0])
            ids = torch.cat((ids, ids.new_full((1, 1), token)), dim=-1)
            left -= 1
    return tokenizer.decode(ids[0])




# %% text_loss/already-shifted wrong (misconception as-in-the-lesson): shifts by one position, as in the lesson
def text_loss(logits: Tensor, tokens: Tensor, marked: Tensor) -> Tensor:
    """Return the loss of the batch, as your task says."""
    return F.cross_entropy(logits[:, :-1][marked[:, 1:]], tokens[:, 1:][marked[:, 1:]])


# %% text_loss/already-shifted wrong (difference influence): subtle, leaves out the first position of each text: right if it is never marked
def text_loss(logits: Tensor, tokens: Tensor, marked: Tensor) -> Tensor:
    """Return the loss of the batch, as your task says."""
    logits, tokens, marked = logits[:, 1:], tokens[:, 1:], marked[:, 1:]
    return F.cross_entropy(logits[marked], tokens[marked])


# %% text_loss/already-shifted right (passed): log_softmax and gather, then the mean over the marked targets
def text_loss(logits: Tensor, tokens: Tensor, marked: Tensor) -> Tensor:
    """Return the loss of the batch, as your task says."""
    log_probabilities = torch.log_softmax(logits, dim=-1)
    losses = -log_probabilities.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
    return losses[marked].mean()


# %% text_loss/two-ahead wrong (misconception as-in-the-lesson): shifts by one position, as in the lesson
def text_loss(logits: Tensor, tokens: Tensor, marked: Tensor) -> Tensor:
    """Return the loss of the batch, as your task says."""
    return F.cross_entropy(logits[:, :-1][marked[:, 1:]], tokens[:, 1:][marked[:, 1:]])


# %% text_loss/two-ahead wrong (property lets_gradients_through): subtle, puts the losses into a new tensor: the right number, but no gradient
def text_loss(logits: Tensor, tokens: Tensor, marked: Tensor) -> Tensor:
    """Return the loss of the batch, as your task says."""
    losses = []
    for row, text, counts in zip(logits[:, :-2], tokens[:, 2:], marked[:, 2:]):
        losses += F.cross_entropy(row[counts], text[counts], reduction="none").tolist()
    return torch.tensor(losses).mean()


# %% text_loss/two-ahead right (passed): the sum of the losses that count, divided by their number
def text_loss(logits: Tensor, tokens: Tensor, marked: Tensor) -> Tensor:
    """Return the loss of the batch, as your task says."""
    counts = marked[:, 2:]
    losses = F.cross_entropy(logits[:, :-2].transpose(1, 2), tokens[:, 2:], reduction="none")
    return torch.where(counts, losses, 0.0).sum() / counts.sum()


# %% text_loss/true-hides wrong (misconception as-in-the-lesson): counts the marked tokens, as in the lesson
def text_loss(logits: Tensor, tokens: Tensor, marked: Tensor) -> Tensor:
    """Return the loss of the batch, as your task says."""
    counts = marked[:, 1:]
    return F.cross_entropy(logits[:, :-1][counts], tokens[:, 1:][counts])


# %% text_loss/true-hides wrong (difference influence): subtle, turns marked tokens into 0 and ignores every 0: an unmarked token with the id 0 does not count either
def text_loss(logits: Tensor, tokens: Tensor, marked: Tensor) -> Tensor:
    """Return the loss of the batch, as your task says."""
    targets = tokens.masked_fill(marked, 0)[:, 1:]
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), targets.flatten(), ignore_index=0)


# %% text_loss/true-hides right (passed): ignore_index -100, an id that no token has
def text_loss(logits: Tensor, tokens: Tensor, marked: Tensor) -> Tensor:
    """Return the loss of the batch, as your task says."""
    targets = tokens.masked_fill(marked, -100)[:, 1:]
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), targets.flatten(), ignore_index=-100)


# %% text_loss/backwards wrong (misconception as-in-the-lesson): shifts in the direction of the lesson
def text_loss(logits: Tensor, tokens: Tensor, marked: Tensor) -> Tensor:
    """Return the loss of the batch, as your task says."""
    counts = marked[:, 1:]
    return F.cross_entropy(logits[:, :-1][counts], tokens[:, 1:][counts])


# %% text_loss/backwards wrong (difference influence): subtle, never counts the first token: right if it is not marked
def text_loss(logits: Tensor, tokens: Tensor, marked: Tensor) -> Tensor:
    """Return the loss of the batch, as your task says."""
    counts = marked[:, 1:-1]
    return F.cross_entropy(logits[:, 2:][counts], tokens[:, 1:-1][counts])


# %% text_loss/backwards right (passed): finds the marked places, and takes the logits one place later
def text_loss(logits: Tensor, tokens: Tensor, marked: Tensor) -> Tensor:
    """Return the loss of the batch, as your task says."""
    text, place = marked.nonzero(as_tuple=True)
    scores = logits[text, place + 1]
    right = scores[torch.arange(len(text), device=scores.device), tokens[text, place]]
    return (scores.logsumexp(dim=-1) - right).mean()
