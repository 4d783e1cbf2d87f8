# %% CogModel wrong (misconception no-final-norm): forward never applies self.norm: the decoder reads the unnormalised stream (norm exists but gets no gradient), so all logits differ
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        # The five parts, in this order.
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        # From ids to logits, with a causal mask.
        seq = src.shape[1]
        mask = torch.tril(torch.ones(seq, seq, dtype=torch.bool, device=src.device))
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(x)


# %% CogModel wrong (raised): the mask has the size of the batch (src.shape[0]) instead of the length: with one text the 1 x 1 mask broadcasts and nothing is causal, otherwise it crashes unless batch equals seq
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        # The five parts, in this order.
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList(SelfAttentionLayer(embed_dim) for _ in range(num_layers))
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        # From ids to logits, with a causal mask.
        n = src.shape[0]
        mask = torch.ones(n, n, device=src.device).tril().bool()
        x = self.embed(src)
        x = self.pos_encoder(x)
        for layer in self.layers:
            x = layer(x, mask)
        x = self.norm(x)
        return self.decoder(x)


# %% CogModel wrong (structure): [layer] * num_layers puts the same layer object into the list num_layers times, so all layers share their parameters; shows with two or more layers (too few parameters)
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        # The five parts, in this order.
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim)] * num_layers)
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        # From ids to logits, with a causal mask.
        length = src.size(-1)
        mask = torch.tril(torch.ones(length, length, dtype=torch.bool, device=src.device))
        stream = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            stream = layer(stream, mask)
        return self.decoder(self.norm(stream))


# %% CogModel wrong (property moves_with_its_module): the mask is made in the first call and kept for all later calls, so a second call with a text of another length uses a mask of the wrong size and crashes
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        # The five parts, in this order.
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)
        self.mask = None

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        # From ids to logits, with a causal mask.
        if self.mask is None:
            seq = src.shape[1]
            self.mask = torch.tril(torch.ones(seq, seq, dtype=torch.bool, device=src.device))
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, self.mask)
        return self.decoder(self.norm(x))


# %% CogModel wrong (misconception stream-added-twice): x = x + layer(x, mask) adds the stream a second time, because a SelfAttentionLayer already returns the stream plus its result; the stream is doubled in each layer
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        # The five parts, in this order.
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        # From ids to logits, with a causal mask.
        seq = src.shape[1]
        mask = torch.tril(torch.ones(seq, seq, dtype=torch.bool, device=src.device))
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = x + layer(x, mask)
        return self.decoder(self.norm(x))


# %% CogModel right (passed): list comprehension for the layers, torch.tril for the mask, a loop over the layers
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        # The five parts, in this order.
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        # From ids to logits, with a causal mask.
        seq = src.shape[1]
        mask = torch.tril(torch.ones(seq, seq, dtype=torch.bool, device=src.device))
        x = self.embed(src)
        x = self.pos_encoder(x)
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))


# %% CogModel right (passed): layers appended one by one, the mask by comparing positions in a helper method
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        # The five parts, in this order.
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList()
        for _ in range(num_layers):
            self.layers.append(SelfAttentionLayer(embed_dim))
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size, bias=True)

    def causal(self, src):
        place = torch.arange(src.size(1), device=src.device)
        return place.unsqueeze(1) >= place.unsqueeze(0)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        # From ids to logits, with a causal mask.
        may_attend = self.causal(src)
        stream = self.pos_encoder(self.embed(src))
        for attend in self.layers:
            stream = attend(stream, mask=may_attend)
        normalised = self.norm(stream)
        logits = self.decoder(normalised)
        return logits


# %% answer_loss wrong (misconception backwards): the shift goes the wrong way: logits at position i + 1 are compared with token i (they have already seen it), instead of logits at i - 1
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    wanted = asked[:, :-1]
    return F.cross_entropy(logits[:, 1:][wanted], tokens[:, :-1][wanted])


# %% answer_loss wrong (misconception shared-among-all): the sum of the asked losses is divided by the number of all positions, not by the number of asked tokens; too small unless every token from the second on is asked
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    each = F.cross_entropy(logits[:, :-1].transpose(1, 2), tokens[:, 1:], reduction="none")
    return (each * asked[:, 1:]).mean()


# %% answer_loss wrong (misconception stop-left-out): tokens that are not asked become target 0 and ignore_index=0 skips them, but this also skips the asked stop tokens, whose id is 0
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    targets = tokens.masked_fill(~asked, 0)[:, 1:]
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), targets.flatten(), ignore_index=0)


# %% answer_loss wrong (misconception mean-of-means): takes the mean within each text and then the mean over the texts, so tokens of short answers count more; shows when texts have different numbers of asked tokens
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    losses = []
    for scores, ids, wanted in zip(logits, tokens, asked):
        wanted = wanted[1:]
        losses.append(F.cross_entropy(scores[:-1][wanted], ids[1:][wanted]))
    return torch.stack(losses).mean()


# %% answer_loss wrong (difference milestone): log(softmax + 1e-9) is finite but caps each loss at 20.7 and its gradient vanishes there; shows where the right token's probability is tiny (its loss should be e.g. 200)
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    probs = torch.softmax(logits[:, :-1], dim=-1)
    right = probs.gather(-1, tokens[:, 1:].unsqueeze(-1)).squeeze(-1)
    losses = -torch.log(right + 1e-9)
    return losses[asked[:, 1:]].mean()


# %% answer_loss right (passed): log_softmax, gather the right token's entry, and the mean over the asked ones
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    log_probs = logits[:, :-1].log_softmax(dim=-1)
    targets = tokens[:, 1:]
    right = log_probs.gather(2, targets[:, :, None])[:, :, 0]
    return -right[asked[:, 1:]].mean()


# %% answer_loss right (passed): F.cross_entropy with ignore_index=-100 for the tokens that are not asked
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    vocab = logits.shape[-1]
    targets = torch.where(asked, tokens, torch.full_like(tokens, -100))
    return F.cross_entropy(
        logits[:, :-1].reshape(-1, vocab), targets[:, 1:].reshape(-1), ignore_index=-100
    )


# %% training_step wrong (misconception no-gradients): zero_grad stands between backward and step, so the new gradients are cleared and the step does not use them: no parameter moves
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception loss-after-the-step): returns the loss after the step, from a second forward pass, instead of the loss before the step
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


# %% training_step wrong (misconception old-gradients-added): clears the gradients only at the end, after the step; gradients already stored when the function is called are added to this step's gradients
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


# %% training_step wrong (misconception clipped): clips the gradients to norm 1 before the step, although gradients must not be changed; shows only when their norm exceeds 1
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception eval-mode-until-the-step): switches to eval mode for the forward pass and back to training mode afterwards, so the loss and its gradients are computed in eval mode; shows in a model with dropout
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


# %% training_step right (passed): zero_grad, forward, backward, step, item
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% training_step right (passed): sets each stored gradient to None by hand, after the forward pass and before backward, and takes the float before the step
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    ids, wanted = batch
    logits = model(ids)
    cost = answer_loss(logits, ids, wanted)
    before = float(cost.detach())
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = None
    cost.backward()
    optimizer.step()
    return before


# %% generate_text wrong (structure): the return is inside the loop, so at most one token is added; if the first token is 0 or max_len is 0, the result is None
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(max_len):
        with torch.no_grad():
            next_id = model(ids)[0, -1].argmax()
        if next_id == 0:
            break
        ids = torch.cat((ids, next_id.view(1, 1)), dim=1)
        return tokenizer.decode(ids[0])


# %% generate_text wrong (misconception answer-only): returns only the new tokens, without the prompt
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    start = ids.shape[1]
    with torch.no_grad():
        for _ in range(max_len):
            next_id = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
            if next_id.item() == 0:
                break
            ids = torch.cat([ids, next_id], dim=1)
    return tokenizer.decode(ids[0, start:])


# %% generate_text wrong (misconception stops-at-the-full-stop): also stops after a full stop, not only at token 0; shows when the model writes something other than token 0 after a full stop
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        for _ in range(max_len):
            next_id = model(ids)[0, -1].argmax().item()
            if next_id == 0:
                break
            ids = torch.cat([ids, torch.tensor([[next_id]])], dim=1)
            if tokenizer.decode(ids[0, -1:]) == ".":
                break
    return tokenizer.decode(ids[0])


# %% generate_text wrong (property training): calls model.eval() and at the end always model.train(), so a model that was in eval mode is left in training mode
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


# %% generate_text wrong (misconception max-len-of-the-whole): max_len limits the whole text including the prompt, not the new tokens; shows when prompt and answer together are longer than max_len
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    while ids.shape[1] < max_len:
        with torch.no_grad():
            next_id = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
        if next_id.item() == 0:
            break
        ids = torch.cat([ids, next_id], dim=1)
    return tokenizer.decode(ids[0])


# %% generate_text right (passed): for loop with break, torch.cat of the ids
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        for _ in range(max_len):
            next_id = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
            if next_id.item() == 0:
                break
            ids = torch.cat([ids, next_id], dim=1)
    return tokenizer.decode(ids[0])


# %% generate_text right (passed): while loop, new ids in a Python list, argmax by topk
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    start = tokenizer.encode(prompt, return_tensors="pt")
    text, new = start, []
    while len(new) < max_len:
        scores = model(text).detach()[0, -1, :]
        best = int(scores.topk(1).indices[0])
        if best == 0:
            return tokenizer.decode(text[0])
        new.append(best)
        text = torch.cat((start, start.new_tensor([new])), dim=1)
    return tokenizer.decode(text[0])
