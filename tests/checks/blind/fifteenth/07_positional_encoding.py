# %% positional_encoding wrong (misconception halves): all sines first, then all cosines
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    speeds = base ** (-torch.arange(0, d_model, 2, device=position.device) / d_model)
    angles = position[:, None] * speeds
    return torch.cat((angles.sin(), angles.cos()), dim=-1)


# %% positional_encoding wrong (misconception half-the-exponent): the exponent is i / d_model instead of 2i / d_model
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    speeds = base ** (-torch.arange(d_model // 2, device=position.device) / d_model)
    angles = position[:, None] * speeds
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


# %% positional_encoding wrong (misconception positions-ignored): subtle, counts the rows from 0 instead of using the positions' values, right for 0, 1, 2, ...
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    rows = torch.arange(len(position), dtype=position.dtype, device=position.device)
    speeds = base ** (-torch.arange(0, d_model, 2, device=position.device) / d_model)
    angles = rows[:, None] * speeds
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


# %% positional_encoding wrong (misconception cut-to-whole): subtle, looks the positions up in a table of whole numbers, so fractions are cut off
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    whole = position.long()
    speeds = base ** (-torch.arange(0, d_model, 2, device=position.device) / d_model)
    angles = whole[:, None] * speeds
    out = torch.empty(len(position), d_model, dtype=position.dtype, device=position.device)
    out[:, 0::2] = angles.sin()
    out[:, 1::2] = angles.cos()
    return out


# %% positional_encoding wrong (misconception base-fixed): subtle, always uses base 100, which shows with another base
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    exponents = torch.arange(0, d_model, 2, device=position.device) / d_model
    angles = position[:, None] / 100.0**exponents
    out = torch.empty(len(position), d_model, dtype=position.dtype, device=position.device)
    out[:, 0::2] = angles.sin()
    out[:, 1::2] = angles.cos()
    return out


# %% positional_encoding right (passed): stacks sine and cosine on a new last axis and flattens it
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    exponents = torch.arange(0, d_model, 2, dtype=position.dtype, device=position.device) / d_model
    angles = position[:, None] / base**exponents
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(start_dim=1)


# %% positional_encoding right (passed): one column of sines and one of cosines for each pair in a loop
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    columns = []
    for i in range(d_model // 2):
        angle = position * base ** (-2 * i / d_model)
        columns += [torch.sin(angle), torch.cos(angle)]
    return torch.stack(columns, dim=1)


# %% PositionalEncoding wrong (misconception batch-axis): takes the number of positions from x.size(0), which is the batch size for a batch
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model)[:, None])

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        if x.shape[-2] > self.max_len:
            raise ValueError("the text is too long")
        if x.dim() == 2:
            return x + self.pe[: x.size(0), 0]
        return x + self.pe[: x.size(0)]


# %% PositionalEncoding wrong (structure): the table is a parameter, so the optimizer trains it
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.pe = nn.Parameter(positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        if x.shape[-2] > len(self.pe):
            raise ValueError("the text is too long")
        return x + self.pe[: x.shape[-2]]


# %% PositionalEncoding wrong (raised): subtle, refuses a text of exactly max_len positions too
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        seq = x.shape[-2]
        if seq >= self.max_len:
            raise ValueError("the text is too long")
        return x + self.pe[:seq]


# %% PositionalEncoding wrong (raised): subtle, takes the number of positions from axis 1, which is d_model for a text without a batch axis
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        seq = x.shape[1]
        if seq > len(self.pe):
            raise ValueError("the text is too long")
        return x + self.pe[:seq]


# %% PositionalEncoding wrong (property refuses): subtle, no check of the length, so a text that is too long raises a RuntimeError instead of a ValueError
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        return x + self.pe[: x.shape[-2]]


# %% PositionalEncoding right (passed): positional_encoding in a buffer, sliced to the length
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2:
            raise ValueError(f"d_model is {d_model}, which is odd")
        self.max_len = max_len
        self.register_buffer("pe", positional_encoding(torch.arange(max_len, dtype=torch.float32), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        if x.shape[-2] > self.max_len:
            raise ValueError(f"the text has {x.shape[-2]} positions, the table {self.max_len}")
        return x + self.pe[: x.shape[-2]]


# %% PositionalEncoding right (passed): computes the table itself, an unsaved buffer with a batch axis, narrow and torch.add
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        pairs, rest = divmod(d_model, 2)
        if rest:
            raise ValueError("an odd d_model cannot be split into pairs")
        angles = torch.outer(torch.arange(float(max_len)), 100.0 ** (-2 * torch.arange(pairs) / d_model))
        table = torch.zeros(max_len, d_model)
        table[:, 0::2], table[:, 1::2] = torch.sin(angles), torch.cos(angles)
        self.register_buffer("table", table, persistent=False)

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        seq = x.size(-2)
        if seq > self.table.size(0):
            raise ValueError("no row for the last positions")
        return torch.add(x, self.table.narrow(0, 0, seq))


# %% apply_rope wrong (misconception halves-as-pairs): pairs entry i with entry i + d_head / 2 instead of its neighbour
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., : d_head // 2], x[..., d_head // 2 :]
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


# %% apply_rope wrong (misconception minus-misplaced): a sign slip, both products are added, so it is not a rotation
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos + b * sin, a * sin + b * cos), dim=-1).flatten(-2)


# %% apply_rope wrong (misconception halves-at-the-end): subtle, returns all first entries and then all second entries, which keeps lengths and scores
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


# %% apply_rope wrong (difference milestone): subtle, numbers the positions on through all texts of a batch, right for a single text
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    d_head = x.shape[-1]
    rows = x.reshape(-1, d_head)
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(len(rows), device=x.device)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    a, b = rows[:, 0::2], rows[:, 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).reshape(x.shape)


# %% apply_rope wrong (property lets_gradients_through): subtle, rotates a detached copy, so no gradient flows back
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    out = x.detach().clone()
    for i in range(d_head // 2):
        angle = torch.arange(seq, device=x.device) * base ** (-2 * i / d_head)
        a, b = out[..., 2 * i].clone(), out[..., 2 * i + 1].clone()
        out[..., 2 * i] = a * angle.cos() - b * angle.sin()
        out[..., 2 * i + 1] = a * angle.sin() + b * angle.cos()
    return out


# %% apply_rope right (passed): x times the cosines plus the pairs turned by 90 degrees times the sines
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.outer(torch.arange(float(seq), device=x.device), speeds).repeat_interleave(2, dim=-1)
    turned = torch.stack((-x[..., 1::2], x[..., 0::2]), dim=-1).flatten(-2)
    return x * angles.cos().to(x.dtype) + turned * angles.sin().to(x.dtype)


# %% apply_rope right (passed): a 2 x 2 rotation matrix for each position and pair, and einsum
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2], x.shape[-1]
    position = torch.arange(seq, device=x.device, dtype=x.dtype)
    pair = torch.arange(d_head // 2, device=x.device, dtype=x.dtype)
    angle = position[:, None] * base ** (-2 * pair / d_head)
    cos, sin = torch.cos(angle), torch.sin(angle)
    rotation = torch.stack((torch.stack((cos, -sin), dim=-1), torch.stack((sin, cos), dim=-1)), dim=-2)
    rotated = torch.einsum("spij,...spj->...spi", rotation, x.unflatten(-1, (d_head // 2, 2)))
    return rotated.flatten(-2)


