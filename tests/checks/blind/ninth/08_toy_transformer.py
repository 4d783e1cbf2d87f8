# %% answer_loss wrong (difference milestone): the log-softmax runs over the positions, not over the vocabulary
def answer_loss(logits, tokens, asked):
    log_p = logits[:, :-1].log_softmax(dim=1)
    right = log_p.gather(-1, tokens[:, 1:, None]).squeeze(-1)
    return -right[asked[:, 1:]].mean()

# %% answer_loss wrong (misconception shared-among-all): the tokens that are not asked count as zeros in the mean
def answer_loss(logits, tokens, asked):
    each = F.cross_entropy(logits[:, :-1].transpose(1, 2), tokens[:, 1:], reduction="none")
    return (each * asked[:, 1:]).mean()

# %% answer_loss wrong (misconception summed-for-each-text): divides the sum by the number of texts, not by the number of asked tokens
def answer_loss(logits, tokens, asked):
    total = logits.new_zeros(())
    for scores, text, marked in zip(logits, tokens, asked):
        where = marked[1:].nonzero().squeeze(1)
        total = total + F.cross_entropy(scores[where], text[where + 1], reduction="sum")
    return total / len(tokens)

# %% answer_loss wrong (misconception stop-left-out): unasked targets become 0 and 0 is ignored, so asked stop tokens are ignored too
def answer_loss(logits, tokens, asked):
    targets = torch.where(asked, tokens, 0)[:, 1:]
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), targets.flatten(), ignore_index=0)

# %% answer_loss wrong (misconception mean-of-means): takes the mean of each text first, so tokens of short answers count more
def answer_loss(logits, tokens, asked):
    marked = asked[:, 1:]
    each = F.cross_entropy(logits[:, :-1].mT, tokens[:, 1:], reduction="none").masked_fill(~marked, 0.0)
    return (each.sum(dim=1) / marked.sum(dim=1)).mean()

# %% answer_loss wrong (difference milestone): adds 1e-8 to the probabilities, so the loss of a token never goes above 18.5
def answer_loss(logits, tokens, asked):
    rows, columns = torch.where(asked[:, 1:])
    probabilities = logits[rows, columns].softmax(dim=-1)
    right = probabilities[torch.arange(len(rows), device=logits.device), tokens[rows, columns + 1]]
    return -torch.log(right + 1e-8).mean()

# %% answer_loss right (passed): log-probabilities go into cross_entropy, which leaves them as they are
def answer_loss(logits, tokens, asked):
    targets = tokens.masked_fill(~asked, -100)[:, 1:]
    return nn.CrossEntropyLoss()(logits[:, :-1].log_softmax(-1).mT, targets)

# %% answer_loss right (passed): logsumexp minus the score of the right token, at the indices of the asked tokens
def answer_loss(logits, tokens, asked):
    text, place = asked[:, 1:].nonzero(as_tuple=True)
    scores = logits[text, place]
    chosen = scores.gather(1, tokens[text, place + 1].unsqueeze(1)).squeeze(1)
    return torch.mean(scores.logsumexp(dim=1) - chosen)

# %% generate_text wrong (misconception stops-at-the-full-stop-alone): stops after a full stop instead of at token 0
def generate_text(model, tokenizer, prompt, max_len=28):
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(max_len):
        with torch.no_grad():
            best = model(ids)[0, -1].argmax()
        ids = torch.cat((ids, best.view(1, 1)), dim=1)
        if tokenizer.decode([best.item()]) == ".":
            break
    return tokenizer.decode(ids[0].tolist())

# %% generate_text wrong (misconception max-len-of-the-whole): max_len limits the whole text, prompt included
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    ids = tokenizer.encode(prompt, return_tensors="pt")
    while ids.shape[1] < max_len:
        with torch.no_grad():
            logits = model(ids)
        best = logits[:, -1].argmax(dim=-1, keepdim=True)
        if best.item() == 0:
            break
        ids = torch.cat([ids, best], dim=1)
    return tokenizer.decode(ids[0].tolist())

# %% generate_text wrong (misconception forgets-the-prompt): after the first step the model reads only the newest token
@torch.no_grad()
def generate_text(model, tokenizer, prompt, max_len=28):
    ids = tokenizer.encode(prompt, return_tensors="pt")
    written = ids[0].tolist()
    for _ in range(max_len):
        ids = model(ids)[:, -1:].argmax(-1)
        if ids.item() == 0:
            break
        written.append(ids.item())
    return tokenizer.decode(written)

# %% generate_text wrong (property leaves_its_inputs): restores the mode of the model alone, its parts stay in evaluation mode
def generate_text(model, tokenizer, prompt, max_len=28):
    training = model.training
    model.eval()
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        for _ in range(max_len):
            best = model(ids)[0, -1].argmax()
            if best == 0:
                break
            ids = torch.cat((ids, best.reshape(1, 1)), dim=-1)
    model.training = training
    return tokenizer.decode(ids[0].tolist())

# %% generate_text wrong (property prompt_then_new): a max_len of 0 counts as not given and becomes 28
def generate_text(model, tokenizer, prompt, max_len=28):
    left = max_len or 28
    ids = tokenizer.encode(prompt, return_tensors="pt")
    while left:
        with torch.no_grad():
            token = model(ids)[0, -1].topk(1).indices
        if not token.item():
            break
        ids = torch.hstack((ids, token[None]))
        left -= 1
    return tokenizer.decode(ids[0].tolist())

# %% generate_text wrong (misconception stripped): strips the text, so a space at the end of it is lost
def generate_text(model, tokenizer, prompt, max_len=28):
    ids = tokenizer.encode(prompt, return_tensors="pt")
    with torch.no_grad():
        for _ in range(max_len):
            token = torch.argmax(model(ids)[:, -1, :], dim=-1)
            if token == 0:
                break
            ids = torch.cat((ids, token.unsqueeze(0)), dim=1)
    return tokenizer.decode(ids[0].tolist()).strip()

# %% generate_text right (passed): an iterator that ends at the sentinel 0, cut after max_len tokens
def generate_text(model, tokenizer, prompt, max_len=28):
    from itertools import islice

    start = tokenizer.encode(prompt, return_tensors="pt")
    ids = start[0].tolist()

    def best():
        with torch.no_grad():
            return int(model(torch.tensor([ids], device=start.device))[0, -1].argmax())

    for token in islice(iter(best, 0), max_len):
        ids.append(token)
    return tokenizer.decode(ids)

# %% generate_text right (passed): an inner function that calls itself with one token more
def generate_text(model, tokenizer, prompt, max_len=28):
    @torch.no_grad()
    def extend(ids, left):
        if left == 0:
            return ids
        token = model(ids)[:, -1].max(dim=-1).indices
        return ids if token.item() == 0 else extend(torch.cat((ids, token[:, None]), dim=1), left - 1)

    return tokenizer.decode(extend(tokenizer.encode(prompt, return_tensors="pt"), max_len)[0].tolist())
