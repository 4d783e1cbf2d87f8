# %% PositionalEncoding wrong (raised): the table has a batch axis and is cut by x.size(1), which is the width of an unbatched x
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        self.register_buffer("pe", positional_encoding(torch.arange(max_len).float(), d_model).unsqueeze(0))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        if x.size(1) > self.max_len:
            raise ValueError("text too long")
        return x + self.pe[:, : x.size(1)]

# %% PositionalEncoding wrong (misconception tokens-enlarged): x is scaled by the root of d_model first, as the paper of 2017 does
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2:
            raise ValueError("d_model must be even")
        self.d_model, self.max_len = d_model, max_len
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        seq = x.shape[-2]
        if seq > self.max_len:
            raise ValueError("text too long")
        return x * self.d_model**0.5 + self.pe[:seq]

# %% apply_rope right (passed): complex numbers, each pair times e to the i t
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Each pair of entries turned by its position times base ** (-2i / d_head)."""
    seq, d = x.shape[-2:]
    freqs = 1.0 / (base ** (torch.arange(0, d, 2, device=x.device).to(x.dtype) / d))
    angles = torch.outer(torch.arange(seq, device=x.device).to(x.dtype), freqs)
    turns = torch.polar(torch.ones_like(angles), angles)
    pairs = torch.view_as_complex(x.contiguous().view(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turns).flatten(-2)
