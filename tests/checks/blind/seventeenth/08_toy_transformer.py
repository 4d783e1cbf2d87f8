# %% CogModel wrong (structure): [SelfAttentionLayer(...)] * num_layers puts the same layer into the list several times
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
        mask = torch.tril(torch.ones(seq, seq, dtype=torch.bool, device=src.device))
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))


# %% CogModel wrong (misconception true-hides): the mask is the wrong way round, True where a position must not attend
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


# %% CogModel wrong (property moves_with_its_module): subtle, the mask is always made on the CPU; it shows when src is on another device
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
        mask = torch.tril(torch.ones(seq, seq)).bool()
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))


# %% CogModel wrong (difference milestone): subtle, the mask also hides every token 0 from the positions after it; it shows at and after a stop token
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
        own = torch.eye(seq, dtype=torch.bool, device=src.device)
        mask = causal & ((src != 0)[:, None, :] | own)
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))


# %% CogModel wrong (raised): subtle, vocab_size is passed to PositionalEncoding as max_len; it shows when a text has more tokens than the vocabulary
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim, vocab_size)
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


# %% CogModel right (passed): list comprehension, lower triangle of ones
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
            x = layer(x, mask)
        return self.decoder(self.norm(x))


# %% CogModel right (passed): parts added by name, layers appended one by one, the mask compares positions
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.add_module("embed", nn.Embedding(vocab_size, embed_dim))
        self.add_module("pos_encoder", PositionalEncoding(d_model=embed_dim))
        stack = nn.ModuleList()
        while len(stack) < num_layers:
            stack.append(SelfAttentionLayer(embed_dim))
        self.add_module("layers", stack)
        self.add_module("norm", LayerNorm(d_model=embed_dim))
        self.add_module("decoder", nn.Linear(in_features=embed_dim, out_features=vocab_size, bias=True))

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        where = torch.arange(src.size(1), device=src.device)
        may_attend = where.unsqueeze(1) >= where.unsqueeze(0)
        stream = self.embed(src)
        stream = self.pos_encoder(stream)
        for i in range(len(self.layers)):
            stream = self.layers[i](stream, mask=may_attend)
        stream = self.norm(stream)
        return self.decoder(stream)


# %% answer_loss wrong (misconception its-own-token): no shift, the logits at position i are compared with token i
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    return F.cross_entropy(logits[asked], tokens[asked])


# %% answer_loss wrong (misconception stop-left-out): ignore_index=0 drops the tokens that are not asked, but the stop token too
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    targets = (tokens * asked)[:, 1:]
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), targets.flatten(), ignore_index=0)


# %% answer_loss wrong (misconception mean-of-means): subtle, a mean for each text and then the mean over texts; it shows when the texts have different numbers of asked tokens
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    losses = []
    for scores, ids, wanted in zip(logits[:, :-1], tokens[:, 1:], asked[:, 1:]):
        if wanted.any():
            losses.append(F.cross_entropy(scores[wanted], ids[wanted]))
    return torch.stack(losses).mean()


# %% answer_loss wrong (difference milestone): subtle, probabilities are clamped at 1e-9 before the logarithm; it shows where the right token has a lower probability
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    probs = torch.softmax(logits[:, :-1], dim=-1)
    right = probs.gather(-1, tokens[:, 1:, None])[..., 0]
    return -right.clamp(min=1e-9).log()[asked[:, 1:]].mean()


# %% answer_loss wrong (property gradients): subtle, the normaliser of the softmax is detached: the value is right, the gradients are not
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    scores = logits[:, :-1]
    normaliser = torch.logsumexp(scores, dim=-1).detach()
    right = scores.gather(-1, tokens[:, 1:, None]).squeeze(-1)
    return (normaliser - right)[asked[:, 1:]].mean()


# %% answer_loss right (passed): cross_entropy with the classes on axis 1 and ignore_index -100 where nothing is asked
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    targets = tokens.masked_fill(~asked, -100)[:, 1:]
    return F.cross_entropy(logits[:, :-1].transpose(1, 2), targets, ignore_index=-100)


# %% answer_loss right (passed): indices of the asked tokens, logsumexp minus the right token's score
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    text, place = torch.nonzero(asked, as_tuple=True)
    text, place = text[place > 0], place[place > 0]
    scores = logits[text, place - 1]
    right = scores[torch.arange(len(text), device=scores.device), tokens[text, place]]
    return (torch.logsumexp(scores, dim=-1) - right).mean()


# %% training_step wrong (misconception old-gradients-added): the old gradients are never cleared
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception no-gradients): zero_grad comes between backward and step, so the step has no gradients
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception old-gradients-added): subtle, zero_grad comes only after the step; it shows when gradients are stored before the call
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


# %% training_step wrong (misconception clipped): subtle, clips the gradients to norm 1; it shows when their norm is larger
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception eval-mode-until-the-step): subtle, the loss is computed in evaluation mode; it shows with a model that has dropout
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


# %% training_step right (passed): gradients from torch.autograd.grad replace the stored ones
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    optimizer.zero_grad(set_to_none=True)
    loss = answer_loss(model(tokens), tokens, asked)
    parameters = [p for p in model.parameters() if p.requires_grad]
    for p, gradient in zip(parameters, torch.autograd.grad(loss, parameters, allow_unused=True)):
        p.grad = gradient
    optimizer.step()
    return float(loss.detach())


# %% training_step right (passed): a closure that clears, computes and runs backward, passed to optimizer.step
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    def closure():
        optimizer.zero_grad()
        loss = answer_loss(model(batch[0]), *batch)
        loss.backward()
        return loss

    return optimizer.step(closure).item()


# %% generate_text wrong (misconception answer-only): returns only the continuation, without the prompt
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    start = ids.shape[1]
    for _ in range(max_len):
        new = model(ids)[0, -1].argmax()
        if new == 0:
            break
        ids = torch.cat([ids, new.view(1, 1)], dim=1)
    return tokenizer.decode(ids[0, start:])


# %% generate_text wrong (misconception never-stops): no test for token 0, always adds max_len tokens
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(max_len):
        new = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
        ids = torch.cat([ids, new], dim=1)
    return tokenizer.decode(ids[0])


# %% generate_text wrong (misconception stops-at-the-full-stop): subtle, also ends after a full stop; it shows when the model goes on after a full stop
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(max_len):
        new = model(ids)[0, -1].argmax()
        if new.item() == 0:
            break
        ids = torch.cat([ids, new.view(1, 1)], dim=1)
        if tokenizer.decode(new.item()) == ".":
            break
    return tokenizer.decode(ids[0])


# %% generate_text wrong (property training): subtle, switches to eval and then always back to train; it shows when the model was in evaluation mode
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    model.eval()
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        for _ in range(max_len):
            new = model(ids)[0, -1].argmax()
            if new == 0:
                break
            ids = torch.cat([ids, new.view(1, 1)], dim=1)
    model.train()
    return tokenizer.decode(ids[0])


# %% generate_text wrong (property prompt_then_new): subtle, tests max_len only after a token was added; it shows with max_len 0, which adds one token
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    added = 0
    while True:
        new = model(ids)[0, -1].argmax()
        if new == 0:
            break
        ids = torch.cat([ids, new.view(1, 1)], dim=1)
        added += 1
        if added >= max_len:
            break
    return tokenizer.decode(ids[0])


# %% generate_text right (passed): no_grad, concatenates tensors
@torch.no_grad()
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(max_len):
        new = model(ids)[:, -1].argmax(dim=-1)
        if new.item() == 0:
            break
        ids = torch.cat((ids, new[:, None]), dim=1)
    return tokenizer.decode(ids[0])


# %% generate_text right (passed): a Python list of ids and a while loop, topk for the best token
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    known = tokenizer.encode(prompt, return_tensors="pt")[0].tolist()
    longest = len(known) + max_len
    while len(known) < longest:
        scores = model(torch.tensor([known])).detach()
        best = scores[0, len(known) - 1].topk(1).indices.item()
        if best == 0:
            return tokenizer.decode(known)
        known.append(best)
    return tokenizer.decode(known)


