# %% training_step wrong (raised): gradients are zeroed one by one, and a new model has none
def training_step(model, optimizer, batch):
    model.train()
    for p in model.parameters():
        p.grad.zero_()
    tokens, asked = batch
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    return loss.item()

# %% training_step right (passed): gradients are zeroed one by one, where there are some
def training_step(model, optimizer, batch):
    model.train()
    for p in model.parameters():
        if p.grad is not None:
            p.grad.zero_()
    tokens, asked = batch
    loss = answer_loss(model(tokens), tokens, asked)
    loss.backward()
    optimizer.step()
    return loss.item()

# %% CogModel wrong (raised): positions for 32 tokens only
class CogModel(nn.Module):
    def __init__(self, vocab_size: int, embed_dim: int, num_layers: int):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, embed_dim)
        self.pos_encoder = PositionalEncoding(embed_dim, 32)
        self.layers = nn.ModuleList([SelfAttentionLayer(embed_dim) for _ in range(num_layers)])
        self.norm = LayerNorm(embed_dim)
        self.decoder = nn.Linear(embed_dim, vocab_size)

    def forward(self, src):
        mask = torch.ones(src.shape[1], src.shape[1], dtype=torch.bool, device=src.device).tril()
        x = self.pos_encoder(self.embed(src))
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))

# %% CogModel wrong (misconception embeddings-added-twice): the embeddings are added to what holds them already
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
        x = self.embed(src)
        x = x + self.pos_encoder(x)
        for layer in self.layers:
            x = layer(x, mask)
        return self.decoder(self.norm(x))
