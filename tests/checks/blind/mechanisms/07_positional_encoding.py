# %% PositionalEncoding wrong (property adds_its_rows): scales x by root of width for wide vectors
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        if d_model % 2:
            raise ValueError("odd")
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x):
        n = x.shape[-2]
        if n > len(self.pe):
            raise ValueError("long")
        return x * (1 if x.shape[-1] < 512 else x.shape[-1] ** 0.5) + self.pe[:n]


# %% PositionalEncoding wrong (property refuses): adds the positions only in training mode
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        self.register_buffer("pe", positional_encoding(torch.arange(max_len).float(), d_model), persistent=False)
    def forward(self, x):
        if x.shape[-2] > len(self.pe):
            raise ValueError("the text is too long")
        return x + self.pe[: x.shape[-2]] if self.training else x


# %% apply_rope wrong (property works_where_its_input_is): angles in a cache by sequence length and width; the base is not part of the key
_angles = {}
def apply_rope(x, base=10000.0):
    seq, d = x.shape[-2:]
    if (seq, d, base) not in _angles:
        speeds = base ** (-torch.arange(0, d, 2, device=x.device, dtype=torch.float32) / d)
        _angles[seq, d, base] = torch.arange(seq, device=x.device)[:, None] * speeds
    angle = _angles[seq, d, base]
    out = torch.empty_like(x)
    out[..., 0::2] = x[..., 0::2] * angle.cos() - x[..., 1::2] * angle.sin()
    out[..., 1::2] = x[..., 0::2] * angle.sin() + x[..., 1::2] * angle.cos()
    return out


# %% apply_rope wrong (property works_where_its_input_is): functools.cache keeps the angles
import functools
@functools.cache
def _table(seq, d, base):
    return torch.arange(seq)[:, None] * base ** (-torch.arange(0, d, 2) / d)
def apply_rope(x, base=10000.0):
    angle = _table(x.shape[-2], x.shape[-1], base).to(x.dtype)
    out = torch.empty_like(x)
    out[..., 0::2] = x[..., 0::2] * angle.cos() - x[..., 1::2] * angle.sin()
    out[..., 1::2] = x[..., 0::2] * angle.sin() + x[..., 1::2] * angle.cos()
    return out


# %% PositionalEncoding wrong (property moves_with_its_module): a class attribute keeps tables of earlier objects
class PositionalEncoding(nn.Module):
    _tables = {}
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        self.d_model, self.max_len = d_model, max_len
    def forward(self, x):
        seq = x.shape[-2]
        if seq > self.max_len:
            raise ValueError("too long")
        key = (seq, self.d_model)
        if key not in self._tables:
            places = torch.arange(seq, device=x.device)[:, None]
            angles = places * 100.0 ** (-torch.arange(0, self.d_model, 2, device=x.device) / self.d_model)
            self._tables[key] = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
        return x + self._tables[key]


# %% positional_encoding wrong (shape): counts the exponents with a fractional step, which by rounding gives one pair too many for widths such as 98
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    rates = base ** -torch.arange(0, 1, 2 / d_model)
    angles = position[:, None] * rates
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
