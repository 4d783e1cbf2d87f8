# %% CogModel wrong (misconception stream-added-twice): adds the layer's output to the stream again, although the layer has already added it
class CogModel(nn.Module):
    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src):
        seq = src.shape[1]
        mask = torch.ones(seq, seq, dtype=torch.bool, device=src.device).tril()
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = x + layer(x, mask)
        return self.decoder(self.norm(x))


# %% CogModel wrong (misconception mirror-image): the mask is upside down, True for the current and the later positions
class CogModel(nn.Module):
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


# %% CogModel wrong (raised): cuts the mask out of a fixed 32 x 32 mask; shows with texts of more than 32 tokens
class CogModel(nn.Module):
    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src):
        seq = src.shape[1]
        mask = torch.ones(32, 32, dtype=torch.bool, device=src.device).tril()[:seq, :seq]
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))


# %% CogModel wrong (structure): the decoder shares the weights of the embedding; shows in the parameters and in training
class CogModel(nn.Module):
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
        mask = torch.ones(seq, seq, dtype=torch.bool, device=src.device).tril()
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))


# %% CogModel wrong (property moves_with_its_module): the mask is always created on the CPU; shows when the model and src are on another device
class CogModel(nn.Module):
    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src):
        seq = src.shape[1]
        mask = torch.ones(seq, seq, dtype=torch.bool, device="cpu").tril()
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))


# %% CogModel right (passed): a lower triangle of ones as the mask
class CogModel(nn.Module):
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
            x = layer(x, mask)
        return self.decoder(self.norm(x))


# %% CogModel right (passed): compares positions to get the mask, and appends the layers one by one
class CogModel(nn.Module):
    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(d_model=embed_dim)
        self.layers = nn.ModuleList()
        for _ in range(num_layers):
            self.layers.append(SelfAttentionLayer(embed_dim))
        self.norm = LayerNorm(d_model=embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size, bias=True)

    def forward(self, src):
        where = torch.arange(src.size(-1), device=src.device)
        may_attend = where.unsqueeze(1) >= where.unsqueeze(0)
        stream = self.embed(src)
        stream = self.pos_encoder(stream)
        for i in range(len(self.layers)):
            stream = self.layers[i](stream, mask=may_attend)
        stream = self.norm(stream)
        return self.decoder(stream)


# %% answer_loss wrong (misconception its-own-token): no shift, so the logits at position i are compared with token i
def answer_loss(logits, tokens, asked):
    return F.cross_entropy(logits[asked], tokens[asked])


# %% answer_loss wrong (misconception asks-the-place-before): shifts the tokens but not the marks
def answer_loss(logits, tokens, asked):
    keep = asked[:, :-1]
    return F.cross_entropy(logits[:, :-1][keep], tokens[:, 1:][keep])


# %% answer_loss wrong (misconception mean-of-means): the mean of each text's mean; shows when the texts have different numbers of asked tokens
def answer_loss(logits, tokens, asked):
    keep = asked[:, 1:].float()
    losses = F.cross_entropy(logits[:, :-1].transpose(1, 2), tokens[:, 1:], reduction="none")
    per_text = (losses * keep).sum(dim=1) / keep.sum(dim=1)
    return per_text.mean()


# %% answer_loss wrong (difference milestone): clamps the probability at 1e-12; shows when a right token is less probable than that
def answer_loss(logits, tokens, asked):
    keep = asked[:, 1:]
    probabilities = torch.softmax(logits[:, :-1], dim=-1)
    right = probabilities.gather(-1, tokens[:, 1:, None])[..., 0]
    return -right.clamp(min=1e-12).log()[keep].mean()


# %% answer_loss wrong (misconception stop-left-out): uses token 0 as the mark of what to ignore; shows when the stop token is asked
def answer_loss(logits, tokens, asked):
    targets = torch.where(asked, tokens, 0)[:, 1:]
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), targets.flatten(), ignore_index=0)


# %% answer_loss right (passed): selects the asked tokens and their logits, then cross_entropy
def answer_loss(logits, tokens, asked):
    keep = asked[:, 1:]
    return F.cross_entropy(logits[:, :-1][keep], tokens[:, 1:][keep])


# %% answer_loss right (passed): log_softmax and gather at the indices of the asked tokens
def answer_loss(logits, tokens, asked):
    row, column = asked.nonzero(as_tuple=True)
    later = column > 0
    row, column = row[later], column[later]
    log_probabilities = logits[row, column - 1].log_softmax(dim=-1)
    picked = log_probabilities.gather(1, tokens[row, column].unsqueeze(1))
    return -picked.sum() / len(row)


# %% training_step wrong (misconception old-gradients-added): clears the gradients only after the step, so that stored gradients count in this step
def training_step(model, optimizer, batch):
    tokens, asked = batch
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


# %% training_step wrong (misconception no-gradients): clears the gradients between backward and step, so that nothing moves
def training_step(model, optimizer, batch):
    tokens, asked = batch
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.zero_grad()
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception clipped): clips the gradients to norm 1; shows when their norm is larger
def training_step(model, optimizer, batch):
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception eval-mode-until-the-step): computes the loss in eval mode; shows when the model contains dropout
def training_step(model, optimizer, batch):
    tokens, asked = batch
    optimizer.zero_grad()
    model.eval()
    loss = answer_loss(model(tokens), tokens, asked)
    model.train()
    loss.backward()
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception by-hand): moves the parameters by hand with the rate; shows with any optimizer but plain SGD
def training_step(model, optimizer, batch):
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    with torch.no_grad():
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p -= group["lr"] * p.grad
    return loss.item()


# %% training_step right (passed): zero_grad, loss, backward, step
def training_step(model, optimizer, batch):
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% training_step right (passed): runs the model first, and sets every stored gradient to None by hand before backward
def training_step(model, optimizer, batch):
    tokens, asked = batch
    logits = model(tokens)
    loss = answer_loss(logits, tokens, asked)
    before = float(loss.detach())
    for parameter in model.parameters():
        parameter.grad = None
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = None
    loss.backward()
    optimizer.step()
    return before


# %% generate_text wrong (misconception answer-only): returns only the continuation, without the prompt
def generate_text(model, tokenizer, prompt, max_len=28):
    ids = tokenizer.encode(prompt, return_tensors="pt")
    text = ""
    with torch.no_grad():
        for _ in range(max_len):
            token = model(ids)[0, -1].argmax()
            if token == 0:
                break
            text += tokenizer.decode(token.item())
            ids = torch.cat((ids, token.view(1, 1)), dim=1)
    return text


# %% generate_text wrong (misconception forgets-the-text): gives the model only the last token instead of the whole text
def generate_text(model, tokenizer, prompt, max_len=28):
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        for _ in range(max_len):
            token = model(ids[:, -1:])[0, -1].argmax()
            if token == 0:
                break
            ids = torch.cat((ids, token.view(1, 1)), dim=1)
    return tokenizer.decode(ids[0])


# %% generate_text wrong (misconception stops-at-the-full-stop): stops after a full stop too; shows when the model goes on after a full stop
def generate_text(model, tokenizer, prompt, max_len=28):
    ids = tokenizer.encode(prompt, return_tensors="pt")
    text = prompt
    with torch.no_grad():
        for _ in range(max_len):
            token = model(ids)[0, -1].argmax()
            if token == 0:
                break
            letter = tokenizer.decode(token.item())
            text += letter
            if letter == ".":
                break
            ids = torch.cat((ids, token.view(1, 1)), dim=1)
    return text


# %% generate_text wrong (misconception max-len-of-the-whole): max_len limits the whole text, prompt included; shows when prompt and answer exceed it
def generate_text(model, tokenizer, prompt, max_len=28):
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        while ids.shape[1] < max_len:
            token = model(ids)[0, -1].argmax()
            if token == 0:
                break
            ids = torch.cat((ids, token.view(1, 1)), dim=1)
    return tokenizer.decode(ids[0])


# %% generate_text wrong (property training): always leaves the model in training mode; shows when it was in eval mode
def generate_text(model, tokenizer, prompt, max_len=28):
    ids = tokenizer.encode(prompt, return_tensors="pt")
    model.eval()
    with torch.no_grad():
        for _ in range(max_len):
            token = model(ids)[0, -1].argmax()
            if token == 0:
                break
            ids = torch.cat((ids, token.view(1, 1)), dim=1)
    model.train()
    return tokenizer.decode(ids[0])


# %% generate_text right (passed): appends to the ids and decodes the whole text at the end
@torch.no_grad()
def generate_text(model, tokenizer, prompt, max_len=28):
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(max_len):
        token = model(ids)[:, -1].argmax(dim=-1, keepdim=True)
        if token.item() == 0:
            break
        ids = torch.cat((ids, token), dim=1)
    return tokenizer.decode(ids[0])


# %% generate_text right (passed): a while loop that adds one decoded letter at a time to the prompt
def generate_text(model, tokenizer, prompt, max_len=28):
    ids = tokenizer.encode(prompt, return_tensors="pt")
    text, written = prompt, 0
    while written < max_len:
        with torch.no_grad():
            scores = model(ids)[0, -1, :]
        best = int(torch.topk(scores, 1).indices)
        if best == 0:
            return text
        text += tokenizer.decode(best)
        ids = torch.cat([ids, ids.new_tensor([[best]])], dim=-1)
        written += 1
    return text
