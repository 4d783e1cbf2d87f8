# %% CogModel wrong (misconception norm-in-every-layer): the norm is applied after every layer, not once after the last one
class CogModel(nn.Module):
    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src):
        mask = torch.ones(src.shape[1], src.shape[1], dtype=torch.bool, device=src.device).tril()
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = self.norm(layer(x, mask))
        return self.decoder(x)

# %% CogModel wrong (misconception one-step-ahead): the diagonal of the mask is off by one, so each position sees the next token
class CogModel(nn.Module):
    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList(SelfAttentionLayer(embed_dim) for _ in range(num_layers))
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src):
        place = torch.arange(src.size(-1), device=src.device)
        mask = place[None, :] <= place[:, None] + 1
        stream = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            stream = layer(stream, mask)
        return self.decoder(self.norm(stream))

# %% CogModel wrong (misconception norm-first): the norm comes before the layers instead of after them
class CogModel(nn.Module):
    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.norm = LayerNorm(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src):
        n = src.shape[1]
        mask = torch.tril(torch.ones((n, n), device=src.device)) == 1
        out = self.norm(self.pos_encoder(self.embed(src)))
        for layer in self.layers:
            out = layer(out, mask)
        return self.decoder(out)

# %% CogModel wrong (misconception positions-in-every-layer): positions are added again before every layer, right for a single layer
class CogModel(nn.Module):
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
        x = self.embed(src)
        if not len(self.layers):
            x = self.pos_encoder(x)
        for layer in self.layers:
            x = layer(self.pos_encoder(x), mask)
        return self.decoder(self.norm(x))

# %% CogModel wrong (misconception no-mask): the layers are called without the mask
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
        self.mask = torch.tril(torch.ones(seq, seq, dtype=torch.bool, device=src.device))
        x = self.pos_encoder(self.embed(src))
        for i in range(len(self.layers)):
            x = self.layers[i](x)
        return self.decoder(self.norm(x))

# %% CogModel wrong (property uses_everything): the logits are made with the embedding's matrix, so the decoder's own weight is never used
class CogModel(nn.Module):
    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src):
        mask = torch.ones(src.shape[1], src.shape[1], device=src.device).tril().bool()
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return F.linear(self.norm(x), self.embed.weight, self.decoder.bias)

# %% CogModel wrong (property moves_with_its_module): the mask of the first call is kept, so a longer text in a later call does not fit
class CogModel(nn.Module):
    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)
        self._mask = None

    def forward(self, src):
        seq = src.shape[-1]
        if self._mask is None:
            self._mask = torch.ones(seq, seq, dtype=torch.bool, device=src.device).tril()
        mask = self._mask[:seq, :seq]
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))

# %% CogModel wrong (property future_changes_nothing): the causal mask is used in training only, so in evaluation positions see later tokens
class CogModel(nn.Module):
    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src):
        _, seq = src.shape
        mask = torch.ones((seq, seq), dtype=torch.bool, device=src.device).tril() if self.training else None
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))

# %% CogModel wrong (property sizes): forward runs two layers whatever num_layers is, right for two layers
class CogModel(nn.Module):
    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src):
        mask = torch.ones(src.shape[1], src.shape[1], dtype=torch.bool, device=src.device).tril()
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers[:2]:
            x = layer(x, mask)
        return self.decoder(self.norm(x))

# %% CogModel wrong (raised): the table of positions has only as many rows as the model is wide, so longer texts are refused
class CogModel(nn.Module):
    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim, embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src):
        mask = torch.ones(src.shape[1], src.shape[1], dtype=torch.bool, device=src.device).tril()
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))

# %% CogModel right (passed): functools.reduce over the layers, mask from comparing two aranges
class CogModel(nn.Module):
    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(num_embeddings=vocab_size, embedding_dim=embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList(map(SelfAttentionLayer, [embed_dim] * num_layers))
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size, bias=True)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        from functools import reduce

        place = torch.arange(src.size(1), device=src.device)
        may = torch.ge(place.unsqueeze(1), place.unsqueeze(0))
        stream = reduce(lambda x, layer: layer(x, may), self.layers, self.pos_encoder(self.embed(src)))
        return self.decoder(self.norm(stream))

# %% CogModel right (passed): layers appended one by one, and a recursive helper runs them
class CogModel(nn.Module):
    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.decoder = nn.Linear(embed_dim, vocab_size)
        self.norm = LayerNorm(embed_dim)
        self.layers = nn.ModuleList()
        while len(self.layers) < num_layers:
            self.layers.append(SelfAttentionLayer(embed_dim))
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.embed = nn.Embedding(vocab_size, embed_dim)

    def _through(self, x, mask, depth=0):
        if depth == len(self.layers):
            return x
        return self._through(self.layers[depth](x, mask), mask, depth + 1)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        seq = src.shape[-1]
        later = torch.full((seq, seq), True, device=src.device).triu(diagonal=1)
        return self.decoder(self.norm(self._through(self.pos_encoder(self.embed(src)), ~later)))

# %% answer_loss wrong (misconception asks-the-place-before): logits and tokens are shifted, but the marks are not, so it counts the tokens after the asked ones
def answer_loss(logits, tokens, asked):
    scores, targets, marks = logits[:, :-1], tokens[:, 1:], asked[:, :-1]
    return F.cross_entropy(scores[marks], targets[marks])

# %% answer_loss wrong (misconception backwards): shifts the wrong way, so logits at position i + 1 score token i
def answer_loss(logits, tokens, asked):
    chosen = asked[:, :-1]
    return F.cross_entropy(logits[:, 1:][chosen], tokens[:, :-1][chosen])

# %% answer_loss wrong (misconception shared-among-all): unasked tokens are multiplied by 0 but still divide the mean
def answer_loss(logits, tokens, asked):
    each = F.cross_entropy(logits[:, :-1].mT, tokens[:, 1:], reduction="none")
    return (each * asked[:, 1:]).mean()

# %% answer_loss wrong (difference milestone): the classes axis is moved with reshape instead of a transpose, so the scores are scrambled
def answer_loss(logits, tokens, asked):
    batch, seq, vocab = logits.shape
    scores = logits[:, :-1].reshape(batch, vocab, seq - 1)
    each = F.cross_entropy(scores, tokens[:, 1:], reduction="none")
    return each[asked[:, 1:]].mean()

# %% answer_loss wrong (difference influence): the marks of the first text are used for all texts
def answer_loss(logits, tokens, asked):
    columns = asked[0].nonzero().flatten()
    columns = columns[columns > 0]
    logprobs = torch.log_softmax(logits[:, columns - 1], dim=-1)
    return -logprobs.gather(-1, tokens[:, columns].unsqueeze(-1)).mean()

# %% answer_loss wrong (misconception stop-left-out): unasked targets become 0 and id 0 is ignored, so asked stop tokens are not counted either
def answer_loss(logits, tokens, asked):
    targets = tokens * asked
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), targets[:, 1:].flatten(), ignore_index=0)

# %% answer_loss wrong (difference milestone): a small number inside the logarithm limits the loss of very unlikely tokens
def answer_loss(logits, tokens, asked):
    probabilities = logits.softmax(dim=-1)[:, :-1]
    right = torch.take_along_dim(probabilities, tokens[:, 1:, None], dim=-1).squeeze(-1)
    return -torch.log(right[asked[:, 1:]] + 1e-6).mean()

# %% answer_loss wrong (property gradients): the normaliser is detached, so the value is right but the gradient lacks the softmax
def answer_loss(logits, tokens, asked):
    rows, columns = asked[:, 1:].nonzero(as_tuple=True)
    scores = logits[rows, columns]
    right = scores[torch.arange(len(rows), device=scores.device), tokens[rows, columns + 1]]
    return (scores.detach().logsumexp(dim=-1) - right).mean()

# %% answer_loss wrong (difference): counts everything from the first to the last asked token of a text, right if there are no gaps
def answer_loss(logits, tokens, asked):
    parts = []
    for row in range(len(tokens)):
        places = asked[row].nonzero().flatten().tolist()
        places = [i for i in places if i > 0]
        if places:
            start, end = places[0], places[-1] + 1
            parts.append(F.cross_entropy(logits[row, start - 1 : end - 1], tokens[row, start:end], reduction="none"))
    return torch.cat(parts).mean()

# %% answer_loss wrong (misconception mean-of-means): the mean of each text is taken first, so tokens of short answers count more
def answer_loss(logits, tokens, asked):
    each = F.cross_entropy(logits[:, :-1].transpose(1, 2), tokens[:, 1:], reduction="none")
    marks = asked[:, 1:].to(each.dtype)
    return torch.einsum("bs,bs,b->", each, marks, 1 / marks.sum(1).clamp_min(1)) / len(tokens)

# %% answer_loss right (passed): indices of the asked tokens, logsumexp minus the right score
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    rows, before = torch.nonzero(asked[:, 1:], as_tuple=True)
    scores = logits[rows, before]
    right = scores.gather(1, tokens[rows, before + 1, None]).squeeze(1)
    return torch.mean(scores.logsumexp(dim=1) - right)

# %% answer_loss right (passed): unasked targets are replaced by the index that cross_entropy ignores
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    ignored = -100
    targets = torch.where(asked, tokens, ignored)[:, 1:]
    return nn.CrossEntropyLoss(ignore_index=ignored)(logits[:, :-1].mT, targets)

# %% answer_loss right (passed): a Python list of single losses
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    losses = [
        -torch.log_softmax(logits[b, i - 1], dim=0)[tokens[b, i]]
        for b, i in asked.nonzero().tolist()
        if i > 0
    ]
    return torch.stack(losses).mean()

# %% training_step wrong (difference): the model already gets the texts without their last token, and the loss shifts a second time
def training_step(model, optimizer, batch):
    tokens, asked = batch
    optimizer.zero_grad()
    logits = model(tokens[:, :-1])
    loss = answer_loss(logits, tokens[:, 1:], asked[:, 1:])
    loss.backward()
    optimizer.step()
    return loss.item()

# %% training_step wrong (misconception old-gradients-added): clears the gradients after the step only, so gradients stored before the call count
def training_step(model, optimizer, batch):
    tokens, asked = batch
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return float(loss)

# %% training_step wrong (difference): asks for every token that is not padding instead of the marked ones
def training_step(model, optimizer, batch):
    tokens, _ = batch
    asked = tokens != 0
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    return loss.item()

# %% training_step wrong (misconception by-hand): subtracts the gradient by hand, which ignores what kind of optimizer it is
def training_step(model, optimizer, batch):
    tokens, asked = batch
    for p in model.parameters():
        p.grad = None
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    with torch.no_grad():
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p -= group["lr"] * p.grad
    return loss.item()

# %% training_step wrong (misconception eval-mode-until-the-step): runs the model in evaluation mode and switches back, so dropout is off in the step
def training_step(model, optimizer, batch):
    tokens, asked = batch
    model.eval()
    loss = answer_loss(model(tokens), tokens, asked)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    model.train()
    return loss.detach().item()

# %% training_step wrong (misconception old-gradients-of-biases): clears the gradients of the matrices only, so old gradients of biases and norms remain
def training_step(model, optimizer, batch):
    tokens, asked = batch
    for weight in model.parameters():
        if weight.dim() > 1:
            weight.grad = None
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    return loss.item()

# %% training_step wrong (property moves_as_far_as_expected): divides the loss by the number of texts before the backward pass, so the gradients are too small
def training_step(model, optimizer, batch):
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    (loss / tokens.shape[0]).backward()
    optimizer.step()
    return loss.item()

# %% training_step wrong (difference): limits every entry of the gradient to between -0.1 and 0.1, right while the gradients are small
def training_step(model, optimizer, batch):
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    torch.nn.utils.clip_grad_value_(model.parameters(), 0.1)
    optimizer.step()
    return loss.item()

# %% training_step wrong (raised): makes a fresh optimizer of the same kind in each call, so the given one never steps
def training_step(model, optimizer, batch):
    tokens, asked = batch
    fresh = type(optimizer)(model.parameters(), lr=optimizer.param_groups[0]["lr"])
    fresh.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    fresh.step()
    return loss.item()

# %% training_step wrong (misconception own-learning-rate): sets the learning rate to 5e-3 itself, so a schedule has no effect
def training_step(model, optimizer, batch):
    tokens, asked = batch
    for group in optimizer.param_groups:
        group["lr"] = 5e-3
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    return loss.item()

# %% training_step wrong (difference rounded): returns the loss rounded to two decimals
def training_step(model, optimizer, batch):
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    return round(loss.item(), 2)

# %% training_step right (passed): the optimizer gets a closure
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    tokens, asked = batch

    def closure():
        optimizer.zero_grad()
        loss = answer_loss(model(tokens), tokens, asked)
        loss.backward()
        return loss

    return float(optimizer.step(closure))

# %% training_step right (passed): torch.autograd.grad, with the gradients written over the stored ones
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    loss = answer_loss(model(batch[0]), *batch)
    learned = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
    for p, gradient in zip(learned, torch.autograd.grad(loss, learned, allow_unused=True)):
        p.grad = gradient
    optimizer.step()
    return loss.item()

# %% training_step right (passed): clears the gradients of the model and of the optimizer after the forward pass
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    tokens, asked = batch
    loss = answer_loss(logits=model(tokens), tokens=tokens, asked=asked)
    before = loss.tolist()
    model.zero_grad(set_to_none=True)
    optimizer.zero_grad(set_to_none=True)
    torch.autograd.backward(loss)
    optimizer.step()
    return before

# %% generate_text wrong (property prompt_then_new): takes the argmax over all positions and tokens at once, not over the last position
@torch.no_grad()
def generate_text(model, tokenizer, prompt, max_len=28):
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(max_len):
        logits = model(ids)
        new = int(logits.argmax()) % logits.shape[-1]
        if new == 0:
            break
        ids = torch.cat((ids, torch.tensor([[new]])), dim=1)
    return tokenizer.decode(ids[0])

# %% generate_text wrong (misconception forgets-the-prompt): feeds only the newest token after the first step, so the model forgets the word
@torch.no_grad()
def generate_text(model, tokenizer, prompt, max_len=28):
    ids = tokenizer.encode(prompt, return_tensors="pt")
    seen = ids
    for _ in range(max_len):
        new = model(seen)[:, -1:].argmax(dim=-1)
        if new.item() == 0:
            break
        ids = torch.cat([ids, new], dim=-1)
        seen = new
    return tokenizer.decode(ids.flatten())

# %% generate_text wrong (property prompt_then_new): the prompt is put in front of a text that already contains it
def generate_text(model, tokenizer, prompt, max_len=28):
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        for _ in range(max_len):
            best = model(ids)[0, -1].argmax()
            if best == 0:
                break
            ids = torch.cat((ids, best.view(1, 1)), 1)
    return prompt + tokenizer.decode(ids[0])

# %% generate_text wrong (property draws_nothing): samples from the probabilities instead of taking the most likely token
@torch.no_grad()
def generate_text(model, tokenizer, prompt, max_len=28):
    ids = tokenizer.encode(prompt, return_tensors="pt")
    while max_len > 0:
        p = F.softmax(model(ids)[:, -1], dim=-1)
        new = torch.multinomial(p, num_samples=1)
        if new.item() == 0:
            break
        ids = torch.hstack((ids, new))
        max_len -= 1
    return tokenizer.decode(ids[0])

# %% generate_text wrong (misconception stops-at-the-full-stop-alone): stops after a full stop instead of at token 0
@torch.no_grad()
def generate_text(model, tokenizer, prompt, max_len=28):
    text = prompt
    for _ in range(max_len):
        scores = model(tokenizer.encode(text, return_tensors="pt"))[0, -1]
        letter = tokenizer.decode(scores.argmax().item())
        text += letter
        if letter == ".":
            break
    return text

# %% generate_text wrong (property prompt_then_new): adds a token before it looks at max_len, so max_len 0 still adds one
@torch.no_grad()
def generate_text(model, tokenizer, prompt, max_len=28):
    ids = tokenizer.encode(prompt, return_tensors="pt")
    added = 0
    while True:
        new = model(ids)[:, -1].argmax(-1, keepdim=True)
        if not new.any():
            break
        ids = torch.cat([ids, new], dim=1)
        added += 1
        if added >= max_len:
            break
    return tokenizer.decode(ids[0])

# %% generate_text wrong (property training): always ends in training mode, even if the model came in evaluation mode
@torch.no_grad()
def generate_text(model, tokenizer, prompt, max_len=28):
    model.eval()
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(max_len):
        new = model(ids)[:, -1].argmax(-1)
        if new == 0:
            break
        ids = torch.cat([ids, new[:, None]], dim=1)
    model.train()
    return tokenizer.decode(ids[0])

# %% generate_text wrong (difference prefix): the model sees only the last max_len tokens, so a small max_len cuts the prompt off
@torch.no_grad()
def generate_text(model, tokenizer, prompt, max_len=28):
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(max_len):
        best = model(ids[:, -max_len:])[0, -1].argmax().item()
        if best == 0:
            break
        ids = F.pad(ids, (0, 1), value=best)
    return tokenizer.decode(ids[0].tolist())

# %% generate_text wrong (misconception stripped): strips the text, so spaces at its ends are lost
@torch.no_grad()
def generate_text(model, tokenizer, prompt, max_len=28):
    ids = tokenizer.encode(prompt, return_tensors="pt")[0].tolist()
    for _ in range(max_len):
        row = model(torch.tensor([ids]))[0, -1].tolist()
        best = row.index(max(row))
        if not best:
            break
        ids.append(best)
    return tokenizer.decode(ids).strip()

# %% generate_text wrong (misconception max-len-of-the-whole): max_len limits the whole text, so a long prompt leaves less room for the answer
@torch.no_grad()
def generate_text(model, tokenizer, prompt, max_len=28):
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(ids.shape[1], max_len):
        new = model(ids)[:, -1:].argmax(-1)
        if new.item() == 0:
            break
        ids = torch.cat([ids, new], dim=1)
    return tokenizer.decode(ids[0])

# %% generate_text right (passed): recursion over the ids
@torch.no_grad()
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    def write(ids, left):
        if left <= 0:
            return ids
        new = model(ids)[:, -1:].argmax(dim=-1)
        return ids if new.item() == 0 else write(torch.cat((ids, new), dim=1), left - 1)

    return tokenizer.decode(write(tokenizer.encode(prompt, return_tensors="pt"), max_len)[0])

# %% generate_text right (passed): a generator of new ids in a list, topk, and take until 0
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    from itertools import islice, takewhile

    row = tokenizer.encode(prompt, return_tensors="pt")[0].tolist()

    def best_tokens():
        while True:
            with torch.no_grad():
                best = model(torch.tensor([row]))[0, -1].topk(1).indices.item()
            yield best

    for token in takewhile(bool, islice(best_tokens(), max_len)):
        row.append(token)
    return tokenizer.decode(row)

# %% generate_text right (passed): a preallocated row that is filled, and cut at the end
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    start = tokenizer.encode(prompt, return_tensors="pt")
    n = start.shape[-1]
    row = torch.cat((start, start.new_zeros(1, max_len)), dim=-1)
    with torch.no_grad():
        while n < row.shape[-1]:
            logits = model(row[:, :n])
            row[0, n] = logits[0, n - 1].max(dim=-1).indices
            if row[0, n] == 0:
                break
            n += 1
    return tokenizer.decode(row[0, :n])
