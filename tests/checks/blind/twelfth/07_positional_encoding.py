# %% positional_encoding wrong (misconception halves): all sines in the first half, all cosines in the second half
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    speeds = base ** (-torch.arange(0, d_model, 2) / d_model)
    angles = position[:, None] * speeds
    return torch.cat((angles.sin(), angles.cos()), dim=-1)


# %% positional_encoding wrong (misconception half-the-exponent): exponent i / d_model instead of 2i / d_model
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    pe = torch.zeros(len(position), d_model)
    i = torch.arange(d_model // 2)
    angles = position[:, None] / base ** (i / d_model)
    pe[:, 0::2] = torch.sin(angles)
    pe[:, 1::2] = torch.cos(angles)
    return pe


# %% positional_encoding wrong (misconception positions-ignored): subtle, counts the rows instead of using the positions, right only for 0, 1, 2, ...
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    pe = torch.zeros(len(position), d_model)
    for p in range(len(position)):
        for i in range(d_model // 2):
            angle = torch.tensor(p / base ** (2 * i / d_model))
            pe[p, 2 * i] = torch.sin(angle)
            pe[p, 2 * i + 1] = torch.cos(angle)
    return pe


# %% positional_encoding wrong (misconception base-fixed): subtle, base 100 is written into the code, shows for another base
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    angles = torch.outer(position, 100.0 ** (-torch.arange(0, d_model, 2) / d_model))
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


# %% positional_encoding right (passed): fills sines and cosines into a table
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    exponents = torch.arange(0, d_model, 2, dtype=position.dtype, device=position.device) / d_model
    angles = position[:, None] / base**exponents
    pe = torch.zeros(len(position), d_model, dtype=angles.dtype, device=position.device)
    pe[:, 0::2] = torch.sin(angles)
    pe[:, 1::2] = torch.cos(angles)
    return pe


# %% positional_encoding right (passed): one column after another, sines for even and cosines for odd entries
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    columns = []
    for entry in range(d_model):
        angle = position * base ** (-2 * (entry // 2) / d_model)
        columns.append(torch.cos(angle) if entry % 2 else torch.sin(angle))
    return torch.stack(columns, dim=1)


# %% PositionalEncoding wrong (misconception batch-axis-of-three): table of shape [max_len, 1, d_model], sliced by x.size(0)
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model).unsqueeze(1))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        if x.size(0) > self.max_len:
            raise ValueError("text too long")
        return x + self.pe[: x.size(0)]


# %% PositionalEncoding wrong (property refuses): does not check the length, a text that is too long raises a RuntimeError
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.register_buffer("pe", positional_encoding(torch.arange(max_len).float(), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        return x + self.pe[: x.shape[-2]]


# %% PositionalEncoding wrong (raised): subtle, >= instead of >, a text of exactly max_len tokens raises an error
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        self.register_buffer("pe", positional_encoding(torch.arange(max_len).float(), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        seq = x.shape[-2]
        if seq >= self.max_len:
            raise ValueError(f"{seq} tokens, but only {self.max_len} rows")
        return x + self.pe[:seq]


# %% PositionalEncoding wrong (structure): subtle, the table is a parameter and not a buffer, so an optimizer changes it
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.table = nn.Parameter(positional_encoding(torch.arange(max_len).float(), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        seq = x.shape[-2]
        if seq > len(self.table):
            raise ValueError(f"{seq} tokens, but only {len(self.table)} rows")
        return x + self.table[:seq]


# %% PositionalEncoding right (passed): buffer, sliced to x.shape[-2]
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.register_buffer("pe", positional_encoding(torch.arange(max_len).float(), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        seq = x.shape[-2]
        if seq > self.pe.shape[0]:
            raise ValueError(f"{seq} tokens, but only {self.pe.shape[0]} rows")
        return x + self.pe[:seq]


# %% PositionalEncoding right (passed): buffer with a batch axis that is not saved, narrow and torch.add
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        pairs, left_over = divmod(d_model, 2)
        if left_over:
            raise ValueError(f"d_model = {d_model} cannot be split into pairs")
        speeds = 100.0 ** (-torch.arange(pairs) / pairs)
        angles = torch.outer(torch.arange(max_len, dtype=torch.float32), speeds)
        table = torch.stack((angles.sin(), angles.cos()), dim=2).reshape(max_len, d_model)
        self.register_buffer("table", table, persistent=False)

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        *_, seq, _ = x.shape
        if seq > self.table.size(0):
            raise ValueError(f"a text of {seq} tokens is longer than the table")
        return torch.add(x, self.table.narrow(0, 0, seq))


# %% apply_rope wrong (misconception halves-as-pairs): pairs entry i with entry i + d_head / 2 instead of its neighbour
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), dim=-1)


# %% apply_rope wrong (misconception other-direction): rotates clockwise
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    a, b = x[..., 0::2], x[..., 1::2]
    rotated = a * angles.cos() + b * angles.sin(), b * angles.cos() - a * angles.sin()
    return torch.stack(rotated, dim=-1).flatten(-2)


# %% apply_rope wrong (misconception turned-by-the-batch): subtle, takes the number of positions from axis 0, right only without axes in front of seq
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    positions = torch.arange(x.shape[0], device=x.device)
    speeds = base ** (-torch.arange(0, x.shape[-1], 2, device=x.device) / x.shape[-1])
    angles = positions.view(-1, *[1] * (x.dim() - 1)) * speeds
    a, b = x[..., 0::2], x[..., 1::2]
    rotated = torch.empty_like(x)
    rotated[..., 0::2] = a * angles.cos() - b * angles.sin()
    rotated[..., 1::2] = a * angles.sin() + b * angles.cos()
    return rotated


# %% apply_rope wrong (property lets_gradients_through): subtle, right numbers, but under no_grad, so no gradient flows back
@torch.no_grad()
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    rotated = torch.zeros_like(x)
    rotated[..., 0::2] = x[..., 0::2] * angles.cos() - x[..., 1::2] * angles.sin()
    rotated[..., 1::2] = x[..., 0::2] * angles.sin() + x[..., 1::2] * angles.cos()
    return rotated


# %% apply_rope right (passed): even and odd entries, stacked as pairs and flattened
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device, dtype=x.dtype) / d_head)
    angles = torch.arange(seq, device=x.device, dtype=x.dtype)[:, None] * speeds
    a, b = x[..., 0::2], x[..., 1::2]
    rotated = a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()
    return torch.stack(rotated, dim=-1).flatten(-2)


# %% apply_rope right (passed): each position has a list of 2 x 2 rotation matrices, one einsum
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    *front, seq, d_head = x.shape
    pairs = torch.arange(d_head // 2, dtype=x.dtype, device=x.device)
    angles = torch.outer(torch.arange(seq, dtype=x.dtype, device=x.device), base ** (-2 * pairs / d_head))
    cos, sin = angles.cos(), angles.sin()
    turn = torch.stack((torch.stack((cos, -sin), dim=-1), torch.stack((sin, cos), dim=-1)), dim=-2)
    points = x.reshape(*front, seq, d_head // 2, 2)
    return torch.einsum("spij,...spj->...spi", turn, points).reshape(x.shape)
