# %% normalised wrong (misconception min-max): stretched to lie between 0 and 1
normalised = (x - x.min()) / (x.max() - x.min())

# %% SelfAttentionLayer wrong (misconception norm-on-the-stream): the norm of the stream is added, not that of what attention found
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim: int):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(
        self, src: Float[Tensor, "... seq embed_dim"], mask: Bool[Tensor, "seq seq"] | None = None
    ) -> Float[Tensor, "... seq embed_dim"]:
        return self.self_attn(src, mask) + self.norm1(src)

# %% LayerNorm right (passed): std with a correction of 0, squared again for eps
class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.w, self.b = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))

    def forward(self, residual: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        var, mean = torch.var_mean(residual, dim=-1, correction=0, keepdim=True)
        return torch.addcmul(self.b, (residual - mean) * torch.rsqrt(var + self.eps), self.w)
