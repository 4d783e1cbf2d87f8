# %% CogModel wrong (misconception mirror-image): the mask is upper triangular (triu with the diagonal), so every position attends to itself and later tokens instead of earlier ones; any text with more than one token shows it
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
        mask = torch.triu(torch.ones(seq, seq, dtype=torch.bool, device=src.device))
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))


# %% CogModel wrong (misconception stream-added-twice): the loop adds the layer's output to the stream once more (x = x + layer(x, mask)), although the layer already returns stream plus result, so the stream is doubled in every layer
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
        x = self.embed(src)
        x = self.pos_encoder(x)
        for layer in self.layers:
            x = x + layer(x, mask)
        x = self.norm(x)
        return self.decoder(x)


# %% CogModel wrong (misconception norm-in-every-layer): the norm is applied inside the loop after every layer instead of once at the end; with one layer the logits are right, with two or more the stream is rescaled between the layers
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
        mask = torch.tril(torch.ones(seq, seq, device=src.device)).bool()
        stream = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            stream = self.norm(layer(stream, mask))
        return self.decoder(stream)


# %% CogModel wrong (property moves_with_its_module): the mask is created in the first forward and kept; later calls only slice it, so a text longer than the first one gets a mask that is too small and the call fails
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
        n = src.shape[1]
        if self.mask is None:
            self.mask = torch.tril(torch.ones(n, n, dtype=torch.bool, device=src.device))
        mask = self.mask[:n, :n]
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))


# %% CogModel wrong (structure): the decoder shares its weight with the embedding (decoder.weight = embed.weight) instead of having its own weights; shapes are right, but there are vocab_size * embed_dim parameters too few
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
        seq = src.shape[1]
        mask = torch.ones(seq, seq, dtype=torch.bool, device=src.device).tril()
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))


# %% CogModel right (passed): list comprehension for the layers, tril of a boolean table of ones on the device of src
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
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))


# %% CogModel right (passed): layers appended in a loop, the mask from a comparison of two aranges, made in a helper method
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

    def causal_mask(self, src):
        where = torch.arange(src.shape[-1], device=src.device)
        return where[None, :] <= where[:, None]

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        may_attend = self.causal_mask(src)
        stream = self.embed(src)
        stream = self.pos_encoder(stream)
        for attend in self.layers:
            stream = attend(stream, mask=may_attend)
        stream = self.norm(stream)
        return self.decoder(stream)


# %% answer_loss wrong (misconception its-own-token): no shift, the logits at position i are compared with the token at position i instead of those at i - 1
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    return F.cross_entropy(logits[asked], tokens[asked])


# %% answer_loss wrong (misconception everything-asked): asked is not used, the loss is the mean over every next token of the batch, question and padding included
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    scores = logits[:, :-1].flatten(0, 1)
    right = tokens[:, 1:].flatten()
    return F.cross_entropy(scores, right)


# %% answer_loss wrong (misconception mean-of-means): takes the mean of each text first and then the mean over the texts, so a token of a text with few asked tokens counts more; wrong as soon as texts have different numbers of asked tokens
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    each = F.cross_entropy(logits[:, :-1].mT, tokens[:, 1:], reduction="none")
    marked = asked[:, 1:].float()
    per_text = (each * marked).sum(dim=1) / marked.sum(dim=1)
    return per_text.mean()


# %% answer_loss wrong (difference milestone): softmax, then the logarithm of probability + 1e-12, so no token's loss can exceed about 27.6; a token with a smaller probability gets a loss that is finite but too small
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    probabilities = torch.softmax(logits[:, :-1], dim=-1)
    right = probabilities.gather(-1, tokens[:, 1:].unsqueeze(-1)).squeeze(-1)
    losses = -torch.log(right + 1e-12)
    return losses[asked[:, 1:]].mean()


# %% answer_loss wrong (misconception stop-left-out): ignore_index=0 drops every asked token with id 0, so the stop token at the end of an answer, which is asked, never counts
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    marked = asked[:, 1:]
    return F.cross_entropy(logits[:, :-1][marked], tokens[:, 1:][marked], ignore_index=0)


# %% answer_loss right (passed): shift by slices, select with the shifted mask, F.cross_entropy
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    marked = asked[:, 1:]
    return F.cross_entropy(logits[:, :-1][marked], tokens[:, 1:][marked])


# %% answer_loss right (passed): the places of the asked tokens from nonzero, logsumexp minus the score of the right token, then the mean
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    text, before = asked[:, 1:].nonzero(as_tuple=True)
    target = tokens[text, before + 1]
    scores = logits[text, before]
    right_scores = scores.gather(1, target[:, None])[:, 0]
    return (torch.logsumexp(scores, dim=1) - right_scores).mean()


# %% training_step wrong (misconception no-gradients): zero_grad stands between backward and step, so the optimizer finds no gradients and the parameters do not move
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception loss-after-the-step): computes the loss again after the step and returns this value instead of the loss before the step
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    optimizer.zero_grad()
    answer_loss(model(tokens), tokens, asked).backward()
    optimizer.step()
    with torch.no_grad():
        loss = answer_loss(model(tokens), tokens, asked)
    return loss.item()


# %% training_step wrong (misconception old-gradients-added): clears the gradients only at the end of the step, so gradients stored before the first call are added to this batch's gradients
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    logits = model(tokens)
    loss = answer_loss(logits, tokens, asked)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


# %% training_step wrong (misconception clipped): clips the gradients to norm 1 before the step, although they must not be changed; shows only if their norm is larger than 1
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception eval-mode-until-the-step): switches to eval mode for the forward pass and back to train mode at the end, so a model with dropout is trained without its dropout
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    model.eval()
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    model.train()
    return loss.item()


# %% training_step right (passed): zero_grad, loss, backward, step, item
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% training_step right (passed): forward first, old gradients set to None by hand just before backward, the loss converted to a float before the step
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    loss = answer_loss(model(batch[0]), *batch)
    before = float(loss.detach())
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = None
    loss.backward()
    optimizer.step()
    return before


# %% generate_text wrong (misconception answer-only): returns only the new characters, without the prompt
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


# %% generate_text wrong (misconception max-len-of-the-whole): max_len limits the length of the whole text, prompt included, instead of the number of new tokens
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        while ids.shape[1] < max_len:
            best = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
            if best.item() == 0:
                break
            ids = torch.cat((ids, best), dim=1)
    return tokenizer.decode(ids[0])


# %% generate_text wrong (property training): calls eval() at the start and train() at the end, so a model that was in eval mode is left in training mode
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    model.eval()
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        for _ in range(max_len):
            best = model(ids)[0, -1].argmax()
            if best == 0:
                break
            ids = torch.cat((ids, best.view(1, 1)), dim=1)
    model.train()
    return tokenizer.decode(ids[0])


# %% generate_text wrong (misconception stops-at-the-full-stop): also stops after a full stop, although only token 0 ends the text; a model that writes on after a full stop is cut off
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        for _ in range(max_len):
            best = model(ids)[0, -1].argmax().item()
            if best == 0:
                break
            ids = torch.cat((ids, torch.tensor([[best]])), dim=1)
            if tokenizer.decode(best) == ".":
                break
    return tokenizer.decode(ids[0])


# %% generate_text wrong (property prompt_then_new): the limit is tested only after a token has been appended, so max_len=0 still adds one token
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    added = 0
    while True:
        with torch.no_grad():
            logits = model(ids)
        best = logits[:, -1].argmax(dim=-1, keepdim=True)
        if best.item() == 0:
            break
        ids = torch.cat((ids, best), dim=1)
        added += 1
        if added >= max_len:
            break
    return tokenizer.decode(ids[0])


# %% generate_text right (passed): for loop over max_len, argmax at the last position, torch.cat, decode the whole row
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        for _ in range(max_len):
            best = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
            if best.item() == 0:
                break
            ids = torch.cat((ids, best), dim=1)
    return tokenizer.decode(ids[0])


# %% generate_text right (passed): while loop with a counter and topk under the no_grad decorator, the continuation collected as characters behind the prompt
@torch.no_grad()
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    sequence = tokenizer.encode(prompt, return_tensors="pt")
    text = prompt
    left = max_len
    while left > 0:
        scores = model(sequence)[0, -1]
        token = int(scores.topk(1).indices[0])
        if token == 0:
            return text
        text += tokenizer.decode(token)
        sequence = torch.cat([sequence, sequence.new_tensor([[token]])], dim=1)
        left -= 1
    return text
