# %% positional_encoding wrong (misconception half-the-exponent): the exponent is i / d_model instead of 2i / d_model
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    i = torch.arange(d_model // 2)
    angles = position[:, None] / base ** (i / d_model)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


# %% positional_encoding wrong (misconception halves): all sines come first, then all cosines
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    speeds = base ** (-torch.arange(0, d_model, 2) / d_model)
    angles = position[:, None] * speeds
    return torch.cat((angles.sin(), angles.cos()), dim=-1)


# %% positional_encoding wrong (misconception cut-to-whole): subtle, positions become integers, so fractions are cut off
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    table = torch.zeros(len(position), d_model)
    for row, p in enumerate(position.long().tolist()):
        angles = p * base ** (-torch.arange(0, d_model, 2) / d_model)
        table[row, 0::2] = torch.sin(angles)
        table[row, 1::2] = torch.cos(angles)
    return table


# %% positional_encoding wrong (misconception base-fixed): subtle, the base is always 100, so another base has no effect
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    pairs = torch.arange(0, d_model, 2, device=position.device)
    angles = torch.outer(position, 100.0 ** (-pairs / d_model))
    out = position.new_zeros(len(position), d_model)
    out[:, 0::2], out[:, 1::2] = angles.sin(), angles.cos()
    return out


# %% positional_encoding right (passed): outer product, sines and cosines stacked and flattened
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    exponents = torch.arange(0, d_model, 2, device=position.device, dtype=position.dtype) / d_model
    angles = torch.outer(position, base**-exponents)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(start_dim=1)


# %% positional_encoding right (passed): a Python loop, one column after the other
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    columns = []
    for entry in range(d_model):
        speed = base ** (-(entry - entry % 2) / d_model)
        wave = torch.cos if entry % 2 else torch.sin
        columns.append(wave(position * speed))
    return torch.stack(columns, dim=1)


# %% PositionalEncoding wrong (misconception batch-axis): slices the table to x.size(0), the number of texts in a batch
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2:
            raise ValueError("d_model must be even")
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model).unsqueeze(1))
        self.max_len = max_len

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        if x.shape[-2] > self.max_len:
            raise ValueError("the text is too long")
        if x.dim() == 2:
            return x + self.pe[: x.size(0), 0]
        return x + self.pe[: x.size(0)]


# %% PositionalEncoding wrong (property refuses): forgets the errors for an odd d_model and for a text that is too long
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        self.register_buffer("table", positional_encoding(torch.arange(max_len).float(), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        return x + self.table[: x.shape[-2]]


# %% PositionalEncoding wrong (raised): subtle, a text of exactly max_len positions is refused
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.register_buffer("table", positional_encoding(torch.arange(max_len).float(), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        if x.shape[-2] >= len(self.table):
            raise ValueError("the text is too long")
        return x + self.table[: x.shape[-2]]


# %% PositionalEncoding wrong (misconception dropout): subtle, a dropout of 0.1 after the sum, as in the paper; shows only in training
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.dropout = nn.Dropout(0.1)
        self.register_buffer("table", positional_encoding(torch.arange(max_len).float(), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        if x.shape[-2] > len(self.table):
            raise ValueError("the text is too long")
        return self.dropout(x + self.table[: x.shape[-2]])


# %% PositionalEncoding right (passed): a buffer, sliced to the length of the text
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2:
            raise ValueError(f"d_model must be even, but it is {d_model}")
        self.register_buffer("table", positional_encoding(torch.arange(max_len, dtype=torch.float32), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        seq = x.shape[-2]
        if seq > self.table.shape[0]:
            raise ValueError(f"{seq} positions, but the table has {self.table.shape[0]}")
        return x + self.table[:seq]


# %% PositionalEncoding right (passed): looks the rows up by index, and keeps the buffer out of the state dict
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        pairs, rest = divmod(d_model, 2)
        if rest:
            raise ValueError("entries come in pairs")
        self.max_len = max_len
        rows = positional_encoding(torch.linspace(0, max_len - 1, max_len).round(), 2 * pairs)
        self.register_buffer("rows", rows, persistent=False)

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        if x.size(-2) > self.max_len:
            raise ValueError("no row for the last positions")
        index = torch.arange(x.size(-2), device=self.rows.device)
        return torch.add(x, nn.functional.embedding(index, self.rows))


# %% apply_rope wrong (misconception halves-as-pairs): pairs entry i with entry i + d_head / 2 instead of with its neighbour
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d, 2, device=x.device) / d)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    a, b = x[..., : d // 2], x[..., d // 2 :]
    return torch.cat((a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), dim=-1)


# %% apply_rope wrong (misconception first-overwritten): the second entry is made from the first one after it was already rotated
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d, 2, device=x.device) / d)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    out = x.clone()
    out[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
    out[..., 1::2] = out[..., 0::2] * sin + x[..., 1::2] * cos
    return out


# %% apply_rope wrong (property lets_gradients_through): subtle, the result is written without a graph, so no gradient flows back
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d, 2, device=x.device) / d)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    with torch.no_grad():
        out[..., 0::2] = x[..., 0::2] * angles.cos() - x[..., 1::2] * angles.sin()
        out[..., 1::2] = x[..., 0::2] * angles.sin() + x[..., 1::2] * angles.cos()
    return out


# %% apply_rope wrong (difference milestone): subtle, positions run along axis 0 of the flattened rows; right only if one text comes alone
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    d = x.shape[-1]
    rows = x.reshape(-1, d // 2, 2)
    speeds = base ** (-torch.arange(0, d, 2, device=x.device) / d)
    angles = torch.arange(len(rows), device=x.device)[:, None] * speeds
    a, b = rows.unbind(-1)
    turned = torch.stack((a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), dim=-1)
    return turned.reshape(x.shape)


# %% apply_rope right (passed): the formula on even and odd entries, stacked
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d = x.shape[-2:]
    exact = torch.promote_types(x.dtype, torch.float32)
    speeds = base ** (-torch.arange(0, d, 2, device=x.device, dtype=exact) / d)
    angles = torch.outer(torch.arange(seq, device=x.device, dtype=exact), speeds)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


# %% apply_rope right (passed): 2 x 2 rotation matrices and einsum
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d = x.shape[-2:]
    exact = torch.promote_types(x.dtype, torch.float32)
    p = torch.arange(seq, device=x.device, dtype=exact)
    angles = torch.stack([p * base ** (-2 * i / d) for i in range(d // 2)], dim=1)
    cos, sin = torch.cos(angles), torch.sin(angles)
    rotation = torch.stack((torch.stack((cos, -sin), -1), torch.stack((sin, cos), -1)), -2).to(x.dtype)
    pairs = x.unflatten(-1, (d // 2, 2))
    return torch.einsum("siab,...sib->...sia", rotation, pairs).reshape(x.shape)
