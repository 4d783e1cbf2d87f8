# %% CogModel wrong (misconception norm-in-every-layer): the final norm stands in the loop and is applied after every layer
class CogModel(nn.Module):
    """Attention only: embed, positions, layers, norm, decoder."""

    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src: Int[Tensor, "batch seq"]) -> Float[Tensor, "batch seq vocab_size"]:
        n = src.shape[1]
        mask = torch.ones(n, n, dtype=torch.bool, device=src.device).tril()
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = self.norm(layer(x, mask))
        return self.decoder(x)

# %% answer_loss wrong (misconception mean-of-means): the mean of the means of the texts, so a text with a short answer counts as much as a long one
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """The mean cross-entropy of the asked tokens, each told by the logits of the place before it."""
    losses = []
    for row in range(len(tokens)):
        wanted = asked[row, 1:]
        losses.append(F.cross_entropy(logits[row, :-1][wanted], tokens[row, 1:][wanted]))
    return torch.stack(losses).mean()

# %% answer_loss wrong (misconception stop-left-out): tokens that are not asked are set to 0, and ignore_index is left as it is
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """The mean cross-entropy of the asked tokens, each told by the logits of the place before it."""
    targets = tokens.masked_fill(~asked, 0)[:, 1:]
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), targets.flatten(), ignore_index=0)

# %% training_step wrong (structure): loss.item without brackets
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """One step of the optimizer down the answer_loss of a batch; returns the loss before the step."""
    tokens, asked = batch
    optimizer.zero_grad()
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    return loss.item

# %% generate_text wrong (misconception stops-at-the-full-stop): stops at the full stop and not at token 0
def generate_text(model: nn.Module, tokenizer, prompt: str, max_len: int = 28) -> str:
    """The prompt and what the model writes after it, greedily, until it says token 0."""
    ids = tokenizer.encode(prompt, return_tensors="pt")
    for _ in range(max_len):
        with torch.no_grad():
            best = model(ids)[:, -1].argmax(-1)
        if best.item() == 0:
            break
        ids = torch.cat([ids, best[None]], dim=1)
        if tokenizer.decode(best) == ".":
            break
    return tokenizer.decode(ids[0])

# %% answer_loss right (passed): ignore_index for all that is not asked
def answer_loss(
    logits: Float[Tensor, "batch seq vocab"], tokens: Int[Tensor, "batch seq"], asked: Bool[Tensor, "batch seq"]
) -> Float[Tensor, ""]:
    """The mean cross-entropy of the asked tokens, each told by the logits of the place before it."""
    targets = torch.where(asked, tokens, -100)[:, 1:]
    return F.cross_entropy(logits[:, :-1].mT, targets)

# %% training_step right (passed): the loss is read before backward, gradients are set to zero one by one
def training_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: tuple[Tensor, Tensor]) -> float:
    """One step of the optimizer down the answer_loss of a batch; returns the loss before the step."""
    for p in model.parameters():
        if p.grad is not None:
            p.grad.detach_().zero_()
    loss = answer_loss(model(batch[0]), *batch)
    before = float(loss)
    loss.backward()
    optimizer.step()
    return before
