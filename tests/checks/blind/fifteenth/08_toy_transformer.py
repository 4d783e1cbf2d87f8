# %% CogModel wrong (misconception mirror-image): builds the mask with triu, so each position attends to itself and to later positions
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src):
        seq = src.shape[1]
        mask = torch.triu(torch.ones(seq, seq, dtype=torch.bool, device=src.device))
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))


# %% CogModel wrong (misconception stream-added-twice): adds the stream a second time, although each layer already adds its result to the stream
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src):
        seq = src.shape[1]
        mask = torch.tril(torch.ones(seq, seq, dtype=torch.bool, device=src.device))
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = x + layer(x, mask)
        return self.decoder(self.norm(x))


# %% CogModel wrong (structure): the list repeats one and the same layer; shows with two or more layers
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim)] * num_layers)
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src):
        seq = src.shape[1]
        mask = torch.tril(torch.ones(seq, seq, dtype=torch.bool, device=src.device))
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))


# %% CogModel wrong (structure): the decoder shares the weights of embed instead of having its own; shows when one of the two changes, or when a state is loaded
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

    def forward(self, src):
        seq = src.shape[1]
        mask = torch.tril(torch.ones(seq, seq, dtype=torch.bool, device=src.device))
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))


# %% CogModel wrong (raised): the mask is made once for 32 positions; shows (an error) for texts of more than 32 tokens
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)
        self.register_buffer("mask", torch.ones(32, 32, dtype=torch.bool).tril(), persistent=False)

    def forward(self, src):
        seq = src.shape[1]
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, self.mask[:seq, :seq])
        return self.decoder(self.norm(x))


# %% CogModel right (passed): tril of ones, a loop over the layers
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src):
        seq = src.shape[-1]
        mask = torch.ones(seq, seq, dtype=torch.bool, device=src.device).tril()
        stream = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            stream = layer(stream, mask)
        return self.decoder(self.norm(stream))


# %% CogModel right (passed): compares indices for the mask, appends the layers one by one, decodes with F.linear
class CogModel(nn.Module):
    """A transformer with attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList()
        for _ in range(num_layers):
            self.layers.append(SelfAttentionLayer(embed_dim))
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size, bias=True)

    def forward(self, src):
        place = torch.arange(src.size(1), device=src.device)
        may_attend = place[None, :] <= place[:, None]
        out = self.pos_encoder(self.embed(src))
        for i in range(len(self.layers)):
            out = self.layers[i](out, mask=may_attend)
        out = self.norm(out)
        return F.linear(out, self.decoder.weight, self.decoder.bias)


# %% answer_loss wrong (misconception its-own-token): forgets the shift, and scores token i with the logits at position i
def answer_loss(logits, tokens, asked):
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    return F.cross_entropy(logits[asked], tokens[asked])


# %% answer_loss wrong (misconception asks-the-place-before): shifts the tokens but not the marks, so each mark counts the token after the marked one
def answer_loss(logits, tokens, asked):
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    marked = asked[:, :-1]
    return F.cross_entropy(logits[:, :-1][marked], tokens[:, 1:][marked])


# %% answer_loss wrong (misconception mean-of-means): the mean over the texts of each text's mean; shows when the texts have different numbers of marked tokens
def answer_loss(logits, tokens, asked):
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    losses = F.cross_entropy(logits[:, :-1].transpose(1, 2), tokens[:, 1:], reduction="none")
    marked = asked[:, 1:].to(losses.dtype)
    return ((losses * marked).sum(dim=1) / marked.sum(dim=1)).mean()


# %% answer_loss wrong (difference milestone): raises each probability to at least 1e-8; shows when a right token is less probable than that
def answer_loss(logits, tokens, asked):
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    probs = torch.softmax(logits[:, :-1], dim=-1)
    right = probs.gather(-1, tokens[:, 1:].unsqueeze(-1)).squeeze(-1)
    return -right.clamp_min(1e-8).log()[asked[:, 1:]].mean()


# %% answer_loss wrong (misconception stop-left-out): ignores token 0 as padding; shows when a stop token is marked
def answer_loss(logits, tokens, asked):
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    targets = torch.where(asked, tokens, torch.zeros_like(tokens))[:, 1:]
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), targets.flatten(), ignore_index=0)


# %% answer_loss right (passed): cross_entropy of the marked positions, picked by the shifted marks
def answer_loss(logits, tokens, asked):
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    marked = asked[:, 1:]
    return F.cross_entropy(logits[:, :-1][marked], tokens[:, 1:][marked])


# %% answer_loss right (passed): logsumexp minus the right score, at the indices of the marked tokens
def answer_loss(logits, tokens, asked):
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    row, place = asked[:, 1:].nonzero(as_tuple=True)
    scores = logits[row, place]
    right = tokens[row, place + 1]
    losses = torch.logsumexp(scores, dim=-1) - scores[torch.arange(len(right), device=scores.device), right]
    return losses.sum() / losses.numel()


# %% training_step wrong (misconception no-gradients): clears the gradients between backward and step, so the step has nothing to use
def training_step(model, optimizer, batch):
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception loss-after-the-step): returns the loss after the step
def training_step(model, optimizer, batch):
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        loss = answer_loss(model(tokens), tokens, asked)
    return loss.item()


# %% training_step wrong (misconception old-gradients-added): clears the gradients only after the step; shows when gradients are stored before the call
def training_step(model, optimizer, batch):
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


# %% training_step wrong (misconception clipped): clips the gradients to norm 1; shows when their norm is larger
def training_step(model, optimizer, batch):
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception eval-mode-until-the-step): computes the loss in evaluation mode and switches back afterwards; shows for a model with dropout
def training_step(model, optimizer, batch):
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
def training_step(model, optimizer, batch):
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% training_step right (passed): computes the loss first, keeps it as a float, and clears the gradients just before backward
def training_step(model, optimizer, batch):
    """Take one optimizer step down the answer_loss of a batch; return the loss before the step."""
    loss = answer_loss(model(batch[0]), *batch)
    before = float(loss.detach())
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = None
    model.zero_grad(set_to_none=True)
    torch.autograd.backward(loss)
    optimizer.step()
    return before


# %% generate_text wrong (misconception answer-only): returns only the new text, without the prompt
def generate_text(model, tokenizer, prompt, max_len=28):
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    start = ids.shape[1]
    with torch.no_grad():
        for _ in range(max_len):
            token = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
            if token.item() == 0:
                break
            ids = torch.cat((ids, token), dim=1)
    return tokenizer.decode(ids[0, start:])


# %% generate_text wrong (misconception max-len-of-the-whole): takes max_len as the length of the whole text, prompt included
def generate_text(model, tokenizer, prompt, max_len=28):
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        while ids.shape[1] < max_len:
            token = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
            if token.item() == 0:
                break
            ids = torch.cat((ids, token), dim=1)
    return tokenizer.decode(ids[0])


# %% generate_text wrong (property training): leaves the model in training mode; shows when it was in evaluation mode
def generate_text(model, tokenizer, prompt, max_len=28):
    """Return the prompt and the model's greedy continuation, up to token 0."""
    model.eval()
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        for _ in range(max_len):
            token = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
            if token.item() == 0:
                break
            ids = torch.cat((ids, token), dim=1)
    model.train()
    return tokenizer.decode(ids[0])


# %% generate_text wrong (misconception stops-at-the-full-stop): stops after a full stop; shows when the model writes on after a full stop
def generate_text(model, tokenizer, prompt, max_len=28):
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        for _ in range(max_len):
            token = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
            if token.item() == 0:
                break
            ids = torch.cat((ids, token), dim=1)
            if tokenizer.decode(token[0]) == ".":
                break
    return tokenizer.decode(ids[0])


# %% generate_text wrong (property prompt_then_new): tests max_len only after a token is added; shows with max_len 0
def generate_text(model, tokenizer, prompt, max_len=28):
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    added = 0
    with torch.no_grad():
        while True:
            token = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
            if token.item() == 0:
                break
            ids = torch.cat((ids, token), dim=1)
            added += 1
            if added >= max_len:
                break
    return tokenizer.decode(ids[0])


# %% generate_text right (passed): argmax and cat in a for loop
@torch.no_grad()
def generate_text(model, tokenizer, prompt, max_len=28):
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(max_len):
        token = model(ids)[0, -1].argmax()
        if token == 0:
            break
        ids = torch.cat((ids, token.view(1, 1)), dim=1)
    return tokenizer.decode(ids[0])


# %% generate_text right (passed): a while loop with topk, a tensor with room for all tokens, decoded at the end
def generate_text(model, tokenizer, prompt, max_len=28):
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    start = length = ids.size(1)
    room = torch.cat((ids, ids.new_zeros(1, max_len)), dim=1)
    while length < start + max_len:
        with torch.no_grad():
            best = model(room[:, :length])[0, length - 1].topk(1).indices.item()
        if best == 0:
            break
        room[0, length] = best
        length += 1
    return tokenizer.decode(room[0, :length])


