# %% positional_encoding wrong (misconception halves): all sines first, then all cosines
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    speeds = base ** (-torch.arange(0, d_model, 2) / d_model)
    angles = position[:, None] * speeds
    return torch.cat((torch.sin(angles), torch.cos(angles)), dim=-1)


# %% positional_encoding wrong (misconception half-the-exponent): the exponent is i / d and not 2i / d, so the hands are too fast
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    speeds = base ** (-torch.arange(d_model // 2) / d_model)
    angles = position[:, None] * speeds
    pe = torch.zeros(len(position), d_model)
    pe[:, 0::2] = torch.sin(angles)
    pe[:, 1::2] = torch.cos(angles)
    return pe


# %% positional_encoding wrong (misconception positions-ignored): subtle: counts the rows 0, 1, 2, ... and does not use the given positions; right only for positions from 0 in order
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    places = torch.arange(float(len(position)))
    speeds = base ** (-torch.arange(0, d_model, 2) / d_model)
    angles = places[:, None] * speeds
    return torch.stack((torch.sin(angles), torch.cos(angles)), dim=-1).flatten(1)


# %% positional_encoding wrong (misconception cut-to-whole): subtle: turns the positions into whole numbers, wrong for fractions
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    speeds = base ** (-torch.arange(0, d_model, 2) / d_model)
    angles = position.long()[:, None] * speeds
    return torch.stack((torch.sin(angles), torch.cos(angles)), dim=-1).flatten(1)


# %% positional_encoding wrong (property angles): subtle: every hand is slower than the one before by the square root of base, right only for d_model 2 and 4
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    pe = torch.zeros(len(position), d_model)
    speed = 1.0
    for i in range(0, d_model, 2):
        pe[:, i] = torch.sin(position * speed)
        pe[:, i + 1] = torch.cos(position * speed)
        speed = speed / base**0.5
    return pe


# %% positional_encoding right (passed): a table of angles, stack and flatten
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    even = torch.arange(0, d_model, 2, device=position.device, dtype=position.dtype)
    angles = position[:, None] * base ** (-even / d_model)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(start_dim=1)


# %% positional_encoding right (passed): column by column in a loop, with the speed as a Python number
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    columns = []
    for pair in range(d_model // 2):
        angle = position / base ** (2 * pair / d_model)
        columns += [torch.sin(angle), torch.cos(angle)]
    return torch.stack(columns, dim=1)


# %% PositionalEncoding wrong (misconception batch-axis-of-three): a table [max_len, 1, d_model] cut to x.size(0), which is the number of texts in a batch
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        table = positional_encoding(torch.arange(float(max_len)), d_model)
        self.register_buffer("pe", table.unsqueeze(1))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        if x.size(-2) > self.max_len:
            raise ValueError("the text is too long")
        return x + self.pe[: x.size(0)]


# %% PositionalEncoding wrong (structure): the table is a parameter, which training would change, and not a buffer
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        self.pe = nn.Parameter(positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        seq = x.shape[-2]
        if seq > self.max_len:
            raise ValueError("the text is too long")
        return x + self.pe[:seq]


# %% PositionalEncoding wrong (property moves_with_its_module): subtle: the table is only assigned to self, so it stays behind when the module moves to another device
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        self.pe = positional_encoding(torch.arange(float(max_len)), d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        seq = x.shape[-2]
        if seq > self.max_len:
            raise ValueError("the text is too long")
        return x + self.pe[:seq]


# %% PositionalEncoding wrong (raised): subtle: >= and not >, so a text of exactly max_len positions raises an error
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


# %% PositionalEncoding wrong (property refuses): subtle: compares x.size(0) with max_len, in a batch the number of texts: no ValueError for long texts, and one for large batches
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        if x.size(0) > self.max_len:
            raise ValueError("the text is too long")
        return x + self.pe[: x.shape[-2]]


# %% PositionalEncoding right (passed): buffer from positional_encoding, cut to the length of the text
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2:
            raise ValueError(f"d_model is {d_model}, but must be even")
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        seq = x.shape[-2]
        if seq > len(self.pe):
            raise ValueError(f"the text has {seq} positions, but the table only {len(self.pe)}")
        return x + self.pe[:seq]


# %% PositionalEncoding right (passed): fills the table itself, keeps it as a buffer that is not saved, and reads the rows by index_select
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 == 1:
            raise ValueError("an odd d_model cannot be split into pairs")
        self.max_len = max_len
        speeds = 100.0 ** (torch.arange(0, d_model, 2) / -d_model)
        angles = torch.outer(torch.arange(max_len).float(), speeds)
        table = torch.empty(max_len, d_model)
        table[:, 0::2] = angles.sin()
        table[:, 1::2] = angles.cos()
        self.register_buffer("table", table, persistent=False)

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        length = x.size(-2)
        if self.max_len < length:
            raise ValueError("the text is longer than max_len")
        places = torch.arange(length, device=self.table.device)
        return torch.add(x, self.table.index_select(0, places))


# %% apply_rope wrong (misconception halves-as-pairs): pairs entry i with entry i + d_head / 2 and not with its neighbour
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., : d_head // 2], x[..., d_head // 2 :]
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


# %% apply_rope wrong (misconception other-direction): rotates clockwise, the sine has the wrong sign in both entries
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos + b * sin, b * cos - a * sin), dim=-1).flatten(-2)


# %% apply_rope wrong (difference milestone): subtle: the positions run on from text to text (or head to head), right only without axes in front
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    rows = x.reshape(-1, x.shape[-1])
    speeds = base ** (-torch.arange(0, x.shape[-1], 2, device=x.device) / x.shape[-1])
    angles = torch.arange(len(rows), device=x.device)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    a, b = rows[:, 0::2], rows[:, 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).reshape(x.shape)


# %% apply_rope wrong (property lets_gradients_through): subtle: fills the new tensor under no_grad, so no gradient flows back
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    out = torch.zeros_like(x)
    with torch.no_grad():
        out[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
        out[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
    return out


# %% apply_rope wrong (property works_where_its_input_is): subtle: the angles are always made on the CPU, so it raises an error for x on another device
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2) / d_head)
    angles = torch.arange(seq)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


# %% apply_rope right (passed): even and odd entries, stack and flatten
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    dtype = torch.promote_types(x.dtype, torch.float32)
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device, dtype=dtype) / d_head)
    angles = torch.arange(seq, device=x.device, dtype=dtype)[:, None] * speeds
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


# %% apply_rope right (passed): one 2 by 2 rotation matrix for each position and pair, multiplied by einsum
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    dtype = torch.promote_types(x.dtype, torch.float32)
    place = torch.arange(seq, device=x.device, dtype=dtype)
    pair = torch.arange(d_head // 2, device=x.device, dtype=dtype)
    angles = torch.outer(place, 1 / base ** (2 * pair / d_head))
    first = torch.stack((angles.cos(), -angles.sin()), dim=-1)
    second = torch.stack((angles.sin(), angles.cos()), dim=-1)
    rotation = torch.stack((first, second), dim=-2).to(x.dtype)
    pairs = x.unflatten(-1, (d_head // 2, 2))
    return torch.einsum("spij,...spj->...spi", rotation, pairs).flatten(-2)


