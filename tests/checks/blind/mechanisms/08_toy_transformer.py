# %% CogModel wrong (property gradients): padding_idx 0: token 0's vector is zero and untrained
class CogModel(nn.Module):
    def __init__(self, vocab_size, embed_dim, num_layers):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim, padding_idx=0)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src):
        n = src.shape[1]
        mask = torch.ones(n, n, dtype=torch.bool, device=src.device).tril()
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))


# %% training_step wrong (property moves_as_far_as_expected): clips the gradients at 10
def training_step(model, optimizer, batch):
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 10.0)
    optimizer.step()
    return loss.item()


# %% training_step wrong (misconception old-gradients-of-biases): zeroes only the first param group
def training_step(model, optimizer, batch):
    tokens, asked = batch
    for p in optimizer.param_groups[0]["params"]:
        p.grad = None
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    return loss.item()


# %% answer_loss wrong (property finite): a text without an asked token makes the loss nan (0 times the mean of nothing)
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """Return the mean cross-entropy of the asked tokens; logits at position i - 1 predict token i."""
    total, count = 0.0, 0
    for scores, text, marked in zip(logits, tokens, asked):
        marked = marked[1:]
        loss = F.cross_entropy(scores[:-1][marked], text[1:][marked])
        total = total + loss * marked.sum()
        count = count + marked.sum()
    return total / count


# %% generate_text wrong (property prompt_then_new): its own search for the maximum starts at score 0, so it stops where all logits are negative
@torch.no_grad()
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """Return the prompt and the model's greedy continuation, up to token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(max_len):
        best, best_score = 0, 0.0
        for token, score in enumerate(model(ids)[0, -1].tolist()):
            if score > best_score:
                best, best_score = token, score
        if best == 0:
            break
        ids = torch.cat((ids, torch.tensor([[best]])), dim=1)
    return tokenizer.decode(ids[0])


# %% training_step wrong (property moves_as_far_as_expected): clips the gradients to a norm of 0.1
def training_step(model, optimizer, batch):
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    optimizer.step()
    return loss.item()


# %% training_step wrong (property moves_as_far_as_expected): steps along the gradient of half the loss
def training_step(model, optimizer, batch):
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    (loss / 2).backward()
    optimizer.step()
    return loss.item()
