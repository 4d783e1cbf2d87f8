# %% CogModel wrong (misconception true-hides): the mask is the wrong way round: True above the diagonal, so each token may attend only to later ones
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
        seq = src.size(1)
        mask = torch.triu(torch.ones(seq, seq, device=src.device), diagonal=1).bool()
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))


# %% CogModel wrong (misconception only-the-last-layer): every layer reads the initial stream, so only the last layer counts
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
        seq = src.size(1)
        mask = torch.tril(torch.ones(seq, seq, dtype=torch.bool, device=src.device))
        x = self.pos_encoder(self.embed(src))
        out = x
        for layer in self.layers:
            out = layer(x, mask)
        return self.decoder(self.norm(out))


# %% CogModel wrong (misconception norm-in-every-layer): subtle, the final norm is applied after every layer; shows with two or more layers
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
        seq = src.size(1)
        mask = torch.tril(torch.ones(seq, seq, dtype=torch.bool, device=src.device))
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = self.norm(layer(x, mask))
        return self.decoder(x)


# %% CogModel wrong (property moves_with_its_module): subtle, the mask of the first text is kept; shows when a later text is longer
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)
        self.mask = None

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        seq = src.size(1)
        if self.mask is None:
            self.mask = torch.ones(seq, seq, dtype=torch.bool, device=src.device).tril()
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, self.mask[:seq, :seq])
        return self.decoder(self.norm(x))


# %% CogModel wrong (structure): subtle, the decoder shares its weights with embed instead of having its own; the logits have the right form
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
        seq = src.size(1)
        mask = torch.ones(seq, seq, dtype=torch.bool, device=src.device).tril()
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))


# %% CogModel right (passed): tril of a table of ones, a loop over the layers
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
        seq = src.size(1)
        mask = torch.tril(torch.ones(seq, seq, dtype=torch.bool, device=src.device))
        x = self.embed(src)
        x = self.pos_encoder(x)
        for layer in self.layers:
            x = layer(x, mask)
        x = self.norm(x)
        return self.decoder(x)


# %% CogModel right (passed): layers appended one by one, the mask by comparing positions
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(num_embeddings=vocab_size, embedding_dim=embed_dim)
        self.pos_encoder = PositionalEncoding(d_model=embed_dim)
        self.layers = nn.ModuleList()
        while len(self.layers) < num_layers:
            self.layers.append(SelfAttentionLayer(embed_dim=embed_dim))
        self.norm = LayerNorm(d_model=embed_dim)
        self.decoder = nn.Linear(in_features=embed_dim, out_features=vocab_size, bias=True)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        position = torch.arange(src.shape[-1], device=src.device)
        may_attend = position.unsqueeze(1) >= position.unsqueeze(0)
        stream = self.pos_encoder(self.embed(src))
        for i in range(len(self.layers)):
            stream = self.layers[i](stream, mask=may_attend)
        return self.decoder(self.norm(stream))


# %% answer_loss wrong (misconception its-own-token): no shift, the logits at position i score token i
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    return F.cross_entropy(logits[asked], tokens[asked])


# %% answer_loss wrong (misconception mean-of-means): takes the mean of each text first, then the mean of the texts; differs if the answers have different lengths
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    losses = []
    for scores, text, wanted in zip(logits, tokens, asked):
        losses.append(F.cross_entropy(scores[:-1][wanted[1:]], text[1:][wanted[1:]]))
    return torch.stack(losses).mean()


# %% answer_loss wrong (difference milestone): subtle, adds 1e-12 before the logarithm; finite, but too small where a probability is tiny
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    probabilities = torch.softmax(logits[:, :-1], dim=-1)
    right = probabilities.gather(-1, tokens[:, 1:, None]).squeeze(-1)
    return -(right + 1e-12).log()[asked[:, 1:]].mean()


# %% answer_loss wrong (misconception stop-left-out): subtle, ignores id 0 as padding, and with it every asked stop token
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    wanted = asked[:, 1:]
    return F.cross_entropy(logits[:, :-1][wanted], tokens[:, 1:][wanted], ignore_index=0)


# %% answer_loss wrong (property leaves_its_inputs): subtle, writes -100 into the caller's tokens through a view; the value is right, but the batch is spoilt for the next step
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    targets = tokens[:, 1:]
    targets[~asked[:, 1:]] = -100
    return F.cross_entropy(logits[:, :-1].transpose(1, 2), targets)


# %% answer_loss right (passed): selects the asked positions, then F.cross_entropy
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    wanted = asked[:, 1:]
    return F.cross_entropy(logits[:, :-1][wanted], tokens[:, 1:][wanted])


# %% answer_loss right (passed): loops over the asked positions, log_softmax of one row at a time
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    losses = []
    for text, i in asked.nonzero().tolist():
        if i > 0:
            log_probabilities = torch.log_softmax(logits[text, i - 1], dim=-1)
            losses.append(-log_probabilities[tokens[text, i]])
    return torch.stack(losses).mean()


# %% training_step wrong (misconception no-gradients): clears the gradients between backward and step, so that nothing is learned
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception everything-asked): the loss of every next token instead of the asked ones
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    optimizer.zero_grad()
    logits = model(tokens)
    loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception old-gradients-added): subtle, clears the gradients only after the step; shows if gradients are stored when it is called
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


# %% training_step wrong (misconception clipped): subtle, clips the gradients to a norm of 1; shows if their norm is larger
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception eval-mode-until-the-step): subtle, runs the model in evaluation mode and switches back afterwards; shows if the model has dropout
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    model.eval()
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    model.train()
    optimizer.step()
    return loss.item()


# %% training_step right (passed): clear, loss, backward, step
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% training_step right (passed): forward first; sets each stored gradient to None by hand just before backward
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    logits = model(tokens)
    loss = answer_loss(logits, tokens, asked)
    before = float(loss.detach())
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = None
    model.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return before


# %% generate_text wrong (misconception answer-only): returns only the new characters, without the prompt
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    start = ids.size(1)
    with torch.no_grad():
        for _ in range(max_len):
            new = model(ids)[:, -1].argmax(dim=-1)
            if new.item() == 0:
                break
            ids = torch.cat((ids, new[:, None]), dim=1)
    return tokenizer.decode(ids[0, start:])


# %% generate_text wrong (property prompt_then_new): does not stop at token 0, only removes the zeros at the end; tokens after a 0 stay in
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        for _ in range(max_len):
            new = model(ids)[:, -1].argmax(dim=-1)
            ids = torch.cat((ids, new[:, None]), dim=1)
    return tokenizer.decode(ids[0][ids[0] != 0])


# %% generate_text wrong (misconception max-len-of-the-whole): subtle, max_len counts the tokens of the prompt too; shows if the model would write beyond max_len tokens in all
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        while ids.size(1) < max_len:
            new = model(ids)[:, -1].argmax(dim=-1)
            if new.item() == 0:
                break
            ids = torch.cat((ids, new[:, None]), dim=1)
    return tokenizer.decode(ids[0])


# %% generate_text wrong (property prompt_then_new): subtle, tests the length only after a token has been appended; shows with max_len=0
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    added = 0
    with torch.no_grad():
        while True:
            new = model(ids)[:, -1].argmax(dim=-1)
            if new.item() == 0:
                break
            ids = torch.cat((ids, new[:, None]), dim=1)
            added += 1
            if added >= max_len:
                break
    return tokenizer.decode(ids[0])


# %% generate_text wrong (property training): subtle, switches to evaluation mode and always back to training mode; a model in evaluation mode ends in training mode
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    model.eval()
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        for _ in range(max_len):
            new = model(ids)[:, -1].argmax(dim=-1)
            if new.item() == 0:
                break
            ids = torch.cat((ids, new[:, None]), dim=1)
    model.train()
    return tokenizer.decode(ids[0])


# %% generate_text right (passed): a for loop with cat
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        for _ in range(max_len):
            new = model(ids)[:, -1].argmax(dim=-1)
            if new.item() == 0:
                break
            ids = torch.cat((ids, new[:, None]), dim=1)
    return tokenizer.decode(ids[0])


# %% generate_text right (passed): an inner recursive function over the ids, topk instead of argmax
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""

    def extend(ids, left):
        if left <= 0:
            return ids
        _, best = model(ids)[0, -1].detach().topk(1)
        if int(best) == 0:
            return ids
        return extend(torch.hstack([ids, best.view(1, 1)]), left - 1)

    start = tokenizer.encode(prompt, return_tensors="pt")
    return tokenizer.decode(extend(start, max_len)[0])


