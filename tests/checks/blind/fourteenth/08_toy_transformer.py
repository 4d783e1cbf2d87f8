# %% CogModel wrong (misconception stream-added-twice): adds the layer's output to the stream, although the layer has already added the stream
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


# %% CogModel wrong (misconception true-hides): the mask is True where a position may not attend
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
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))


# %% CogModel wrong (structure): all entries of the ModuleList are one and the same layer; shows with two or more layers
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


# %% CogModel wrong (property moves_with_its_module): keeps the mask of the first call; a later call with a longer text fails
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList(SelfAttentionLayer(embed_dim) for _ in range(num_layers))
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)
        self.mask = None

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        seq = src.shape[1]
        if self.mask is None:
            self.mask = torch.tril(torch.ones(seq, seq, dtype=torch.bool, device=src.device))
        mask = self.mask[:seq, :seq]
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))


# %% CogModel wrong (property moves_with_its_module): the mask is always created on the CPU, so the model fails on another device
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
        mask = torch.tril(torch.ones(seq, seq, dtype=torch.bool, device="cpu"))
        x = self.embed(src)
        x = self.pos_encoder(x)
        for layer in self.layers:
            x = layer(x, mask)
        x = self.norm(x)
        return self.decoder(x)


# %% CogModel right (passed): a list comprehension of layers and a lower triangle as the mask
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
        seq = src.size(-1)
        mask = torch.ones((seq, seq), dtype=torch.bool, device=src.device).tril()
        stream = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            stream = layer(stream, mask)
        return self.decoder(self.norm(stream))


# %% CogModel right (passed): appends the layers in a loop, compares indices for the mask, and multiplies by the decoder's matrix
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.add_module("embed", nn.Embedding(vocab_size, embed_dim))
        self.add_module("pos_encoder", PositionalEncoding(embed_dim))
        self.layers = nn.ModuleList()
        for _ in range(num_layers):
            self.layers.append(SelfAttentionLayer(embed_dim))
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size, bias=True)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        index = torch.arange(src.shape[1], device=src.device)
        may_attend = index.unsqueeze(1) >= index.unsqueeze(0)
        stream = self.embed.weight[src]
        stream = self.pos_encoder(stream)
        for i in range(len(self.layers)):
            stream = self.layers[i](stream, mask=may_attend)
        return self.norm(stream) @ self.decoder.weight.T + self.decoder.bias


# %% answer_loss wrong (misconception its-own-token): no shift, so the logits at position i are compared with token i
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    return F.cross_entropy(logits[asked], tokens[asked])


# %% answer_loss wrong (misconception mean-of-means): takes the mean of each text first, then the mean of these means
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    losses = F.cross_entropy(logits[:, :-1].transpose(1, 2), tokens[:, 1:], reduction="none")
    marks = asked[:, 1:].to(losses.dtype)
    per_text = (losses * marks).sum(dim=1) / marks.sum(dim=1)
    return per_text.mean()


# %% answer_loss wrong (property lets_gradients_through): takes softmax and log separately, so the loss is infinite when a probability underflows
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    probs = torch.softmax(logits[:, :-1], dim=-1)
    right = probs.gather(-1, tokens[:, 1:].unsqueeze(-1)).squeeze(-1)
    return -right[asked[:, 1:]].log().mean()


# %% answer_loss wrong (difference milestone): counts a run of tokens from the first asked one; shows when the asked tokens have gaps
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    total, count = 0.0, 0
    for row_logits, row, marks in zip(logits, tokens, asked):
        n = int(marks.sum())
        if n == 0:
            continue
        start = int(marks.int().argmax())
        total = total + F.cross_entropy(row_logits[start - 1 : start + n - 1], row[start : start + n], reduction="sum")
        count += n
    return total / count


# %% answer_loss wrong (property lets_gradients_through): collects the losses as numbers; the value is right, but no gradient flows
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    losses = []
    for b in range(tokens.shape[0]):
        for i in range(1, tokens.shape[1]):
            if asked[b, i]:
                losses.append(F.cross_entropy(logits[b, i - 1], tokens[b, i]).item())
    return torch.tensor(losses, requires_grad=True).mean()


# %% answer_loss right (passed): selects the shifted logits and tokens with the mask, then takes cross_entropy
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    wanted = asked[:, 1:]
    return F.cross_entropy(logits[:, :-1][wanted], tokens[:, 1:][wanted])


# %% answer_loss right (passed): logsumexp minus the right token's logit at the marked indices
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    row, position = asked[:, 1:].nonzero(as_tuple=True)
    scores = logits[row, position]
    scores = scores - scores.amax(dim=-1, keepdim=True).detach()
    right = scores[torch.arange(len(row), device=scores.device), tokens[row, position + 1]]
    return (torch.logsumexp(scores, dim=-1) - right).sum() / len(row)


# %% training_step wrong (misconception old-gradients-added): never clears the stored gradients
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception no-gradients): clears the gradients between backward and step, so nothing moves
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception old-gradients-added): clears the gradients only after the step; shows when gradients are stored before the first call
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


# %% training_step wrong (misconception clipped): clips the gradients to norm 1; shows when they are larger
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception eval-mode-until-the-step): computes the loss in eval mode and goes back afterwards; shows in a model with dropout
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


# %% training_step right (passed): zero_grad, loss, backward, step
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% training_step right (passed): first the forward pass, then drops the stored gradients one by one, just before backward
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    logits = model(tokens)
    loss = answer_loss(logits, tokens, asked)
    before = float(loss.detach())
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = None
    for parameter in model.parameters():
        parameter.grad = None
    torch.autograd.backward(loss)
    optimizer.step()
    return before


# %% generate_text wrong (misconception answer-only): returns only the continuation, without the prompt
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    start = ids.shape[1]
    for _ in range(max_len):
        with torch.no_grad():
            new = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
        if new.item() == 0:
            break
        ids = torch.cat((ids, new), dim=1)
    return tokenizer.decode(ids[0, start:])


# %% generate_text wrong (misconception forgets-the-prompt): after the first token, the model sees only the newest token
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    text = prompt
    for _ in range(max_len):
        with torch.no_grad():
            ids = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
        if ids.item() == 0:
            break
        text += tokenizer.decode(ids[0])
    return text


# %% generate_text wrong (misconception stops-at-the-full-stop): also stops after a full stop; shows when the model goes on after one
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(max_len):
        with torch.no_grad():
            new = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
        if new.item() == 0:
            break
        ids = torch.cat((ids, new), dim=1)
        if tokenizer.decode(new[0]) == ".":
            break
    return tokenizer.decode(ids[0])


# %% generate_text wrong (property prompt_then_new): tests the length after adding a token, so max_len=0 adds one token
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    added = 0
    while True:
        with torch.no_grad():
            new = model(ids)[0, -1].argmax()
        if new == 0:
            break
        ids = torch.cat((ids, new.view(1, 1)), dim=1)
        added += 1
        if added >= max_len:
            break
    return tokenizer.decode(ids[0])


# %% generate_text wrong (property leaves_its_inputs): puts the model into eval mode and leaves it there
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    model.eval()
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        for _ in range(max_len):
            new = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
            if new.item() == 0:
                break
            ids = torch.cat((ids, new), dim=1)
    return tokenizer.decode(ids[0])


# %% generate_text right (passed): a for loop that appends the argmax and decodes the whole row
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        for _ in range(max_len):
            new = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
            if new.item() == 0:
                break
            ids = torch.cat((ids, new), dim=1)
    return tokenizer.decode(ids[0])


# %% generate_text right (passed): a while loop over a Python list of new ids, decoded and appended to the prompt
@torch.no_grad()
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    start = tokenizer.encode(prompt, return_tensors="pt")
    new = []
    while len(new) < max_len:
        ids = torch.cat((start, torch.tensor([new], dtype=start.dtype)), dim=1)
        best = torch.topk(model(ids)[0, -1], k=1).indices.item()
        if best == 0:
            break
        new.append(best)
    return prompt + "".join(tokenizer.decode(i) for i in new)


