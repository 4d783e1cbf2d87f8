# %% CogModel wrong (misconception stream-added-twice): adds the layer's output to the stream once more, although the layer already adds it
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


# %% CogModel wrong (misconception mirror-image): the mask is True at the positions to hide (triu), so each position attends to itself and later ones
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
        mask = torch.triu(torch.ones(seq, seq, device=src.device)).bool()
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))


# %% CogModel wrong (difference milestone): the mask also hides tokens with id 0 (subtle: shows only in rows that could attend to a 0)
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
        causal = torch.tril(torch.ones(seq, seq, dtype=torch.bool, device=src.device))
        itself = torch.eye(seq, dtype=torch.bool, device=src.device)
        mask = causal & ((src != 0)[:, None, :] | itself)
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))


# %% CogModel wrong (raised): the table of positions has only 64 rows (subtle: texts of more than 64 tokens raise an error)
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim, 64)
        self.layers = nn.ModuleList(SelfAttentionLayer(embed_dim) for _ in range(num_layers))
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        seq = src.size(1)
        mask = torch.ones(seq, seq, dtype=torch.bool, device=src.device).tril()
        stream = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            stream = layer(stream, mask)
        return self.decoder(self.norm(stream))


# %% CogModel wrong (property draws_nothing): drops 10 % of the stream after the positions in training mode (subtle: right after eval())
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
        seq = src.size(1)
        mask = torch.ones(seq, seq, dtype=torch.bool, device=src.device).tril()
        stream = F.dropout(self.pos_encoder(self.embed(src)), p=0.1, training=self.training)
        for layer in self.layers:
            stream = layer(stream, mask)
        return self.decoder(self.norm(stream))


# %% CogModel right (passed): a list of layers and a mask made with tril
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
            x = layer(x, mask)
        return self.decoder(self.norm(x))


# %% CogModel right (passed): layers appended one by one, the mask from a comparison of indices
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
        self.decoder = nn.Linear(in_features=embed_dim, out_features=vocab_size, bias=True)

    def causal_mask(self, src):
        index = torch.arange(src.shape[-1], device=src.device)
        return index.unsqueeze(1) >= index.unsqueeze(0)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        may_attend = self.causal_mask(src)
        stream = self.embed(src)
        stream = self.pos_encoder(stream)
        for number in range(len(self.layers)):
            stream = self.layers[number](stream, mask=may_attend)
        stream = self.norm(stream)
        return self.decoder(stream)


# %% answer_loss wrong (misconception asks-the-place-before): shifts the logits and the tokens, but takes the marks at the logits' positions (asked[:, :-1])
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    scores = logits[:, :-1]
    targets = tokens[:, 1:]
    wanted = asked[:, :-1]
    return F.cross_entropy(scores[wanted], targets[wanted])


# %% answer_loss wrong (misconception mean-of-means): takes the mean of each text first, then the mean over the texts
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    losses = []
    for scores, ids, wanted in zip(logits, tokens, asked):
        losses.append(F.cross_entropy(scores[:-1][wanted[1:]], ids[1:][wanted[1:]]))
    return torch.stack(losses).mean()


# %% answer_loss wrong (difference milestone): limits probabilities to at least 1e-7 (subtle: shows where a right token has a smaller probability)
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    probabilities = logits[:, :-1].softmax(dim=-1)
    right = probabilities.gather(-1, tokens[:, 1:, None]).squeeze(-1)
    return -right[asked[:, 1:]].clamp(min=1e-7).log().mean()


# %% answer_loss wrong (difference): counts all tokens from the first to the last mark of a text (subtle: shows if the marks have gaps)
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    scores, targets = [], []
    for i in range(len(tokens)):
        places = asked[i].nonzero().flatten()
        if len(places) == 0:
            continue
        start, end = places[0], places[-1] + 1
        scores.append(logits[i, start - 1 : end - 1])
        targets.append(tokens[i, start:end])
    return F.cross_entropy(torch.cat(scores), torch.cat(targets))


# %% answer_loss wrong (property gradients): no gradient through the normaliser of the softmax (subtle: the value is right, the gradients are not)
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    scores, targets, wanted = logits[:, :-1], tokens[:, 1:], asked[:, 1:]
    right = scores.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    total = torch.logsumexp(scores.detach(), dim=-1)
    return (total - right)[wanted].mean()


# %% answer_loss right (passed): F.cross_entropy on the selected rows
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    wanted = asked[:, 1:]
    return F.cross_entropy(logits[:, :-1][wanted], tokens[:, 1:][wanted])


# %% answer_loss right (passed): log_softmax at every position, then the entries at the indices of the marks
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    text, place = asked.nonzero(as_tuple=True)
    text, place = text[place > 0], place[place > 0]
    log_probs = torch.log_softmax(logits, dim=-1)
    picked = log_probs[text, place - 1, tokens[text, place]]
    return -picked.sum() / picked.numel()


# %% training_step wrong (misconception old-gradients-added): clears the gradients only at the end, so stored gradients affect this step
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


# %% training_step wrong (misconception loss-after-the-step): returns the loss after the step
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    optimizer.zero_grad()
    answer_loss(model(tokens), tokens, asked).backward()
    optimizer.step()
    with torch.no_grad():
        loss = answer_loss(model(tokens), tokens, asked)
    return loss.item()


# %% training_step wrong (misconception clipped): clips the gradients to a norm of 1 (subtle: shows only if their norm is larger)
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception eval-mode-until-the-step): computes the loss in eval mode (subtle: shows for a model with dropout)
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


# %% training_step wrong (misconception old-gradients-of-biases): clears only the first group of parameters (subtle: shows if the optimizer has several groups)
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    for parameter in optimizer.param_groups[0]["params"]:
        parameter.grad = None
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
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


# %% training_step right (passed): computes the loss first, clears the gradients by hand in the model and in every group
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    logits = model(batch[0])
    loss = answer_loss(logits, *batch)
    before = float(loss.detach())
    for parameter in model.parameters():
        parameter.grad = None
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = None
    torch.autograd.backward(loss)
    optimizer.step()
    return before


# %% generate_text wrong (misconception answer-only): returns only the new tokens, without the prompt
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    start = ids.shape[1]
    with torch.no_grad():
        for _ in range(max_len):
            token = model(ids)[0, -1].argmax()
            if token == 0:
                break
            ids = torch.cat((ids, token.view(1, 1)), dim=1)
    return tokenizer.decode(ids[0, start:])


# %% generate_text wrong (misconception max-len-of-the-whole): max_len limits the whole text instead of the new tokens
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        while ids.shape[1] < max_len:
            token = model(ids)[0, -1].argmax()
            if token == 0:
                break
            ids = torch.cat((ids, token.view(1, 1)), dim=1)
    return tokenizer.decode(ids[0])


# %% generate_text wrong (misconception stops-at-the-full-stop): also stops after a full stop (subtle: shows for a model that goes on after one)
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        for _ in range(max_len):
            token = model(ids)[0, -1].argmax().item()
            if token == 0:
                break
            ids = torch.cat((ids, torch.tensor([[token]])), dim=1)
            if tokenizer.decode(token) == ".":
                break
    return tokenizer.decode(ids[0])


# %% generate_text wrong (property training): puts the model into training mode at the end (subtle: shows if it was in eval mode)
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    model.eval()
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        for _ in range(max_len):
            next_id = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
            if next_id.item() == 0:
                break
            ids = torch.cat([ids, next_id], dim=1)
    model.train()
    return tokenizer.decode(ids[0])


# %% generate_text wrong (property sizes): the model reads only the last 32 tokens (subtle: shows for a text of more than 32 tokens)
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        for _ in range(max_len):
            next_id = model(ids[:, -32:])[:, -1].argmax(dim=-1, keepdim=True)
            if next_id.item() == 0:
                break
            ids = torch.cat([ids, next_id], dim=1)
    return tokenizer.decode(ids[0])


# %% generate_text right (passed): argmax and cat in a for loop
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        for _ in range(max_len):
            token = model(ids)[0, -1].argmax()
            if token == 0:
                break
            ids = torch.cat((ids, token.view(1, 1)), dim=1)
    return tokenizer.decode(ids[0])


# %% generate_text right (passed): writes into a tensor with room for the whole text, and keeps count of its length
@torch.no_grad()
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    asked = tokenizer.encode(prompt, return_tensors="pt")
    length = asked.shape[1]
    limit = length + max_len
    room = torch.zeros(1, limit, dtype=asked.dtype, device=asked.device)
    room[:, :length] = asked
    while length < limit:
        scores = model(room[:, :length])
        best = int(scores[0, length - 1].max(dim=-1).indices)
        if best == 0:
            break
        room[0, length] = best
        length += 1
    return tokenizer.decode(room[0, :length])


