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
    i = torch.arange(d_model // 2, device=position.device)
    angles = position[:, None] / base ** (i / d_model)
    pe = torch.zeros(len(position), d_model, device=position.device)
    pe[:, 0::2] = torch.sin(angles)
    pe[:, 1::2] = torch.cos(angles)
    return pe


# %% positional_encoding wrong (misconception positions-ignored): numbers the rows 0, 1, 2, ... instead of using the given positions
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    p = torch.arange(position.shape[0], dtype=position.dtype, device=position.device)
    angles = p[:, None] * base ** (-torch.arange(0, d_model, 2, device=position.device) / d_model)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


# %% positional_encoding wrong (misconception cut-to-whole): turns the positions into integers, so fractions are cut off
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    pe = torch.zeros(len(position), d_model, dtype=position.dtype, device=position.device)
    p = position.long().unsqueeze(1)
    speeds = base ** (-torch.arange(0, d_model, 2, device=position.device) / d_model)
    pe[:, 0::2] = torch.sin(p * speeds)
    pe[:, 1::2] = torch.cos(p * speeds)
    return pe


# %% positional_encoding wrong (property angles): takes whole circles off the position before the slow hands are computed; wrong for positions beyond 2 pi or below 0
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    on_dial = position % (2 * torch.pi)  # the hand is back at the start after a circle
    speeds = base ** (-torch.arange(0, d_model, 2, device=position.device) / d_model)
    angles = torch.outer(on_dial, speeds)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).reshape(len(position), d_model)


# %% positional_encoding right (passed): sines and cosines stacked as pairs, then flattened
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    even = torch.arange(0, d_model, 2, dtype=position.dtype, device=position.device)
    angles = position[:, None] / base ** (even / d_model)
    return torch.stack((torch.sin(angles), torch.cos(angles)), dim=-1).flatten(start_dim=1)


# %% positional_encoding right (passed): pair by pair in a loop; the speeds are Python numbers
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    columns = []
    for i in range(d_model // 2):
        angle = position * base ** (-2 * i / d_model)
        columns += [angle.sin(), angle.cos()]
    return torch.stack(columns, dim=1)


# %% PositionalEncoding wrong (misconception batch-axis-of-three): x.size(0) rows of a table [max_len, 1, d_model]: in a batch this is the number of texts
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 == 1:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model).unsqueeze(1))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        if x.size(0) > self.max_len:
            raise ValueError("the text is too long")
        return x + self.pe[: x.size(0)]


# %% PositionalEncoding wrong (misconception starts-at-one): the table starts at position 1 instead of 0
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 == 1:
            raise ValueError("d_model must be even")
        self.register_buffer("table", positional_encoding(torch.arange(1.0, max_len + 1), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        seq = x.shape[-2]
        if seq > len(self.table):
            raise ValueError(f"a text of {seq} positions is longer than the table")
        return x + self.table[:seq]


# %% PositionalEncoding wrong (raised): off by one, a text of exactly max_len positions raises an error
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        self.register_buffer("table", positional_encoding(torch.arange(max_len).float(), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        seq = x.shape[-2]
        if seq >= self.max_len:
            raise ValueError("the text is too long")
        return x + self.table[:seq]


# %% PositionalEncoding wrong (property leaves_its_inputs): adds in place, so the caller's x changes too
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2:
            raise ValueError("d_model must be even")
        self.register_buffer("table", positional_encoding(torch.arange(float(max_len)), d_model), persistent=False)

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        if x.size(-2) > self.table.size(0):
            raise ValueError("the text is too long")
        return x.add_(self.table[: x.size(-2)])


# %% PositionalEncoding wrong (property refuses): an odd d_model raises no ValueError; the table is made one entry wider and cut
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        even = d_model + d_model % 2
        self.register_buffer("table", positional_encoding(torch.arange(float(max_len)), even)[:, :d_model])

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        seq = x.shape[-2]
        if seq > self.table.shape[0]:
            raise ValueError(f"{seq} positions, but only {self.table.shape[0]} rows")
        return x + self.table[:seq]


# %% PositionalEncoding right (passed): the table comes from positional_encoding and is cut to x.shape[-2]
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError(f"d_model must be even, not {d_model}")
        self.max_len = max_len
        self.register_buffer("table", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        seq = x.shape[-2]
        if seq > self.max_len:
            raise ValueError(f"a text of {seq} positions is longer than max_len = {self.max_len}")
        return x + self.table[:seq]


# %% PositionalEncoding right (passed): fills the table itself; narrow and torch.add
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        pairs, rest = divmod(d_model, 2)
        if rest:
            raise ValueError("an odd d_model cannot be split into pairs")
        angles = torch.arange(max_len)[:, None] * 100.0 ** (-torch.arange(pairs) * 2 / d_model)
        rows = torch.empty(max_len, d_model)
        rows[:, 0::2], rows[:, 1::2] = angles.sin(), angles.cos()
        self.register_buffer("rows", rows, persistent=False)

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        if x.size(-2) > self.rows.size(0):
            raise ValueError("the text has positions without a row")
        return torch.add(x, self.rows.narrow(0, 0, x.size(-2)))


# %% apply_rope wrong (misconception halves-as-pairs): pairs entry i with entry i + d_head / 2 instead of its neighbour
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    a, b = x.chunk(2, dim=-1)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


# %% apply_rope wrong (misconception other-direction): the signs are swapped, so the pairs rotate clockwise
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    a, b = x[..., 0::2], x[..., 1::2]
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    return torch.stack((a * cos + b * sin, b * cos - a * sin), dim=-1).flatten(-2)


# %% apply_rope wrong (misconception halves-at-the-end): returns all first entries, then all second entries; scores and lengths are right, the order is not (shows if d_head is above 2)
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    a, b = x[..., 0::2], x[..., 1::2]
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


# %% apply_rope wrong (misconception base-ignored): ignores base and always uses 10000
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = 1.0 / 10000 ** (torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    a, b = x[..., 0::2], x[..., 1::2]
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


# %% apply_rope wrong (difference milestone): counts the positions on through all texts and heads; right without axes before seq, or if these have size 1 (within each text the scores are right)
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    d_head = x.shape[-1]
    rows = x.reshape(-1, d_head // 2, 2)
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(rows.shape[0], device=x.device)[:, None] * speeds
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = rows.unbind(dim=-1)
    turned = torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1)
    return turned.reshape(x.shape)


# %% apply_rope right (passed): rotates even and odd entries and stacks them as pairs
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    dtype = torch.promote_types(x.dtype, torch.float32)
    speeds = base ** (-torch.arange(0, d_head, 2, dtype=dtype, device=x.device) / d_head)
    angles = torch.arange(seq, dtype=dtype, device=x.device)[:, None] * speeds
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(start_dim=-2)


# %% apply_rope right (passed): a 2 x 2 rotation matrix for each position and pair, applied with einsum
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    dtype = torch.promote_types(x.dtype, torch.float32)
    speeds = torch.tensor([base ** (-2 * i / d_head) for i in range(d_head // 2)], dtype=dtype, device=x.device)
    angles = torch.outer(torch.arange(seq, dtype=dtype, device=x.device), speeds)
    cos, sin = angles.cos(), angles.sin()
    matrices = torch.stack((torch.stack((cos, -sin), dim=-1), torch.stack((sin, cos), dim=-1)), dim=-2)
    pairs = x.reshape(*x.shape[:-1], d_head // 2, 2)
    return torch.einsum("spij,...spj->...spi", matrices.to(x.dtype), pairs).reshape(x.shape)
