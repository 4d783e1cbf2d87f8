# %% positional_encoding wrong (misconception halves): all sines in the first half, all cosines in the second half
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    speeds = base ** (-torch.arange(0, d_model, 2, device=position.device) / d_model)
    angles = position[:, None] * speeds
    return torch.cat((angles.sin(), angles.cos()), dim=-1)


# %% positional_encoding wrong (misconception every-entry-its-own-speed): each entry has its own speed, so that a cosine is slower than the sine of its pair
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    entry = torch.arange(d_model, device=position.device)
    angles = position[:, None] / base ** (entry / d_model)
    return torch.where(entry % 2 == 0, angles.sin(), angles.cos())


# %% positional_encoding wrong (misconception base-fixed): always uses base 100; shows only with another base
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    speeds = 100.0 ** (-torch.arange(0, d_model, 2, device=position.device) / d_model)
    angles = position[:, None] * speeds
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


# %% positional_encoding wrong (misconception positions-ignored): numbers the rows 0, 1, 2 ... instead of using the positions; shows if they do not start at 0 or are not in order
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    rows = torch.arange(len(position), dtype=position.dtype, device=position.device)
    encoding = torch.zeros(len(position), d_model, dtype=position.dtype, device=position.device)
    for i in range(0, d_model, 2):
        encoding[:, i] = torch.sin(rows / base ** (i / d_model))
        encoding[:, i + 1] = torch.cos(rows / base ** (i / d_model))
    return encoding


# %% positional_encoding wrong (misconception cut-to-whole): looks the positions up in a table of whole positions; fractions are cut off
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    speeds = base ** (-torch.arange(0, d_model, 2, device=position.device) / d_model)
    angles = position.long()[:, None] * speeds
    encoding = torch.empty(len(position), d_model, device=position.device)
    encoding[:, 0::2], encoding[:, 1::2] = angles.sin(), angles.cos()
    return encoding


# %% positional_encoding right (passed): a table of angles; sines and cosines are stacked and flattened
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    exponents = torch.arange(0, d_model, 2, dtype=position.dtype, device=position.device) / d_model
    angles = position[:, None] * base**-exponents
    return torch.stack((torch.sin(angles), torch.cos(angles)), dim=-1).flatten(start_dim=1)


# %% positional_encoding right (passed): one column after another in a loop, with the divisors of the formula
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    columns = []
    for i in range(d_model // 2):
        angle = position / base ** (2 * i / d_model)
        columns += [angle.sin(), angle.cos()]
    return torch.stack(columns, dim=1)


# %% PositionalEncoding wrong (misconception batch-axis-of-three): cuts the table to x.size(0), which is the number of texts in a batch
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        self.register_buffer("table", positional_encoding(torch.arange(float(max_len)), d_model)[:, None])

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        if x.shape[-2] > self.max_len:
            raise ValueError("the text is too long")
        return x + self.table[: x.size(0)]


# %% PositionalEncoding wrong (misconception starts-at-one): counts positions from 1, so that position 0 gets the row of position 1
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        positions = torch.arange(1, max_len + 1, dtype=torch.float32)
        self.register_buffer("table", positional_encoding(positions, d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        seq = x.shape[-2]
        if seq > len(self.table):
            raise ValueError("the text is longer than max_len")
        return x + self.table[:seq]


# %% PositionalEncoding wrong (raised): raises an error already for a text of exactly max_len positions
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 == 1:
            raise ValueError(f"d_model = {d_model} is odd")
        self.max_len = max_len
        self.register_buffer("pe", positional_encoding(torch.arange(max_len, dtype=torch.float32), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        seq = x.shape[-2]
        if seq >= self.max_len:
            raise ValueError("the text is too long")
        return x + self.pe[:seq]


# %% PositionalEncoding wrong (raised): takes the number of positions from axis 1, which is d_model for a single text [seq, d_model]
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2:
            raise ValueError("an odd d_model cannot be split into pairs")
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model), persistent=False)

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        if x.shape[1] > self.pe.shape[0]:
            raise ValueError("the text has positions without a row")
        return x + self.pe[: x.shape[1]]


# %% PositionalEncoding wrong (structure): keeps the table as a parameter, which the optimizer changes, instead of a buffer
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2:
            raise ValueError("d_model must be even")
        self.pe = nn.Parameter(positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        seq = x.size(-2)
        if seq > self.pe.size(0):
            raise ValueError(f"{seq} positions, but only {self.pe.size(0)} rows")
        return x + self.pe[:seq]


# %% PositionalEncoding right (passed): the table of positional_encoding as a buffer, cut to x.shape[-2]
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError(f"d_model must be even, not {d_model}")
        self.register_buffer("table", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        seq = x.shape[-2]
        if seq > self.table.shape[0]:
            raise ValueError(f"a text of {seq} positions, but the table has only {self.table.shape[0]} rows")
        return x + self.table[:seq]


# %% PositionalEncoding right (passed): computes the waves itself, in even and odd columns of a buffer that is not saved
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        pairs, odd = divmod(d_model, 2)
        if odd:
            raise ValueError("an odd d_model cannot be split into pairs")
        table = torch.zeros(max_len, d_model)
        position = torch.arange(max_len, dtype=torch.float32)
        for i in range(pairs):
            speed = 100.0 ** (-2 * i / d_model)
            table[:, 2 * i] = torch.sin(position * speed)
            table[:, 2 * i + 1] = torch.cos(position * speed)
        self.register_buffer("waves", table, persistent=False)

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        if x.size(-2) > self.waves.size(0):
            raise ValueError("the text is longer than max_len")
        return torch.add(x, self.waves.narrow(0, 0, x.size(-2)))


# %% apply_rope wrong (misconception halves-as-pairs): pairs entry i with entry i + d_head / 2 instead of its neighbour
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    position = torch.arange(seq, device=x.device)[:, None]
    angle = position * base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    a, b = x.chunk(2, dim=-1)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


# %% apply_rope wrong (misconception halves-at-the-end): returns the first entries of all pairs, then all second entries
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    position = torch.arange(seq, device=x.device)[:, None]
    angle = position * base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    a, b = x[..., 0::2], x[..., 1::2]
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


# %% apply_rope wrong (raised): counts the positions with len(x), which is the number of texts or heads as soon as x has more than two axes
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    d_head = x.shape[-1]
    position = torch.arange(len(x), device=x.device)[:, None]
    angle = position * base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    a, b = x[..., 0::2], x[..., 1::2]
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


# %% apply_rope wrong (misconception base-ignored): always uses base 10000; shows only with another base and more than one pair
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = 10000.0 ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angle = torch.outer(torch.arange(seq, device=x.device).float(), speeds)
    pairs = x.unflatten(-1, (d_head // 2, 2))
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    turned = (pairs[..., 0] * cos - pairs[..., 1] * sin, pairs[..., 0] * sin + pairs[..., 1] * cos)
    return torch.stack(turned, dim=-1).reshape(x.shape)


# %% apply_rope wrong (property lets_gradients_through): takes the rotated pairs from x.detach(), so that no gradient flows back
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    position = torch.arange(seq, device=x.device)[:, None]
    angle = position * base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    out = x.detach().clone()
    a, b = x.detach()[..., 0::2], x.detach()[..., 1::2]
    out[..., 0::2] = a * cos - b * sin
    out[..., 1::2] = a * sin + b * cos
    return out


# %% apply_rope right (passed): even and odd entries, rotated, stacked and flattened
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    exact = torch.promote_types(x.dtype, torch.float32)
    speeds = base ** (-torch.arange(0, d_head, 2, dtype=exact, device=x.device) / d_head)
    angle = torch.arange(seq, dtype=exact, device=x.device)[:, None] * speeds
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(start_dim=-2)


# %% apply_rope right (passed): a table of 2 x 2 rotation matrices for each position and pair, applied with einsum
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    exact = torch.promote_types(x.dtype, torch.float32)
    position = torch.arange(seq, dtype=exact, device=x.device)
    columns = []
    for i in range(d_head // 2):
        t = position * base ** (-2 * i / d_head)
        top, bottom = torch.stack((t.cos(), -t.sin()), dim=-1), torch.stack((t.sin(), t.cos()), dim=-1)
        columns.append(torch.stack((top, bottom), dim=-2))
    rotations = torch.stack(columns, dim=1).to(x.dtype)
    pairs = x.reshape(*x.shape[:-1], d_head // 2, 2)
    return torch.einsum("spij,...spj->...spi", rotations, pairs).reshape(x.shape)


