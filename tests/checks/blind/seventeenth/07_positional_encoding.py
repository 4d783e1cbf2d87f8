# %% positional_encoding wrong (misconception halves): all sines first, then all cosines, instead of even and odd entries
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    speeds = base ** (-torch.arange(0, d_model, 2) / d_model)
    angles = position[:, None] * speeds
    return torch.cat((angles.sin(), angles.cos()), dim=-1)


# %% positional_encoding wrong (misconception half-the-exponent): the exponent is i / d_model instead of 2i / d_model
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    angles = position[:, None] / base ** (torch.arange(d_model // 2) / d_model)
    table = torch.zeros(len(position), d_model)
    table[:, 0::2] = torch.sin(angles)
    table[:, 1::2] = torch.cos(angles)
    return table


# %% positional_encoding wrong (misconception base-fixed): always uses base 100; shows for any other base
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    angles = position[:, None] / 100 ** (torch.arange(0, d_model, 2) / d_model)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


# %% positional_encoding wrong (misconception cut-to-whole): turns the positions into whole numbers; shows for fractions
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    pe = torch.zeros(len(position), d_model)
    for row, p in enumerate(position.long()):
        for i in range(d_model // 2):
            angle = p / base ** (2 * i / d_model)
            pe[row, 2 * i] = torch.sin(angle)
            pe[row, 2 * i + 1] = torch.cos(angle)
    return pe


# %% positional_encoding wrong (property angles): counts on from the first position; shows for gaps, fractions of a step or another order
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    steps = position[0] + torch.arange(len(position))
    angles = torch.outer(steps, base ** (-torch.arange(0, d_model, 2) / d_model))
    table = torch.empty(len(position), d_model)
    table[:, ::2], table[:, 1::2] = angles.sin(), angles.cos()
    return table


# %% positional_encoding right (passed): an outer product of positions and speeds, sines and cosines stacked and flattened
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    even = torch.arange(0, d_model, 2, device=position.device, dtype=position.dtype)
    angles = torch.outer(position, base ** (-even / d_model))
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(start_dim=1)


# %% positional_encoding right (passed): one column after another in a loop, stacked at the end
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    columns = []
    for entry in range(d_model):
        angle = position / base ** ((entry - entry % 2) / d_model)
        columns.append(torch.cos(angle) if entry % 2 else torch.sin(angle))
    return torch.stack(columns, dim=1)


# %% PositionalEncoding wrong (misconception batch-axis): x.size(0) is the number of texts in a batch, not the number of positions
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2:
            raise ValueError("d_model must be even")
        pe = positional_encoding(torch.arange(float(max_len)), d_model)
        self.register_buffer("pe", pe.unsqueeze(1))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        if x.shape[-2] > self.pe.shape[0]:
            raise ValueError("the text is longer than max_len")
        if x.dim() == 2:
            return x + self.pe[: x.size(0), 0]
        return x + self.pe[: x.size(0)]


# %% PositionalEncoding wrong (property moves_with_its_module): only assigns the table, which does not move with the module
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2:
            raise ValueError("d_model must be even")
        self.table = positional_encoding(torch.arange(max_len).float(), d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        seq = x.shape[-2]
        if seq > len(self.table):
            raise ValueError("the text is longer than max_len")
        return x + self.table[:seq]


# %% PositionalEncoding wrong (raised): >= rejects a text of exactly max_len positions
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 == 1:
            raise ValueError(f"d_model must be even, not {d_model}")
        self.max_len = max_len
        self.register_buffer("table", positional_encoding(torch.arange(max_len, dtype=torch.float), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        if x.shape[-2] >= self.max_len:
            raise ValueError(f"the text has more than {self.max_len} positions")
        return x + self.table[: x.shape[-2]]


# %% PositionalEncoding wrong (property refuses): leaves a text that is too long to torch, which raises a RuntimeError, or none at max_len 1
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("an odd d_model cannot be split into pairs")
        self.register_buffer("table", positional_encoding(torch.arange(0.0, max_len), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        return x + self.table[: x.shape[-2]]


# %% PositionalEncoding wrong (structure): a frozen parameter instead of a buffer; shows in parameters() and buffers()
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2:
            raise ValueError("d_model must be even")
        table = positional_encoding(torch.arange(float(max_len)), d_model)
        self.table = nn.Parameter(table, requires_grad=False)

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        seq = x.shape[-2]
        if seq > self.table.shape[0]:
            raise ValueError("the text is longer than max_len")
        return x + self.table[:seq]


# %% PositionalEncoding right (passed): the table of positional_encoding as a buffer, cut to the length of the text
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2:
            raise ValueError(f"d_model must be even, not {d_model}")
        self.register_buffer("pe", positional_encoding(torch.arange(max_len, dtype=torch.float32), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        seq = x.shape[-2]
        if seq > self.pe.shape[0]:
            raise ValueError(f"{seq} positions, but the table has only {self.pe.shape[0]} rows")
        return x + self.pe[:seq]


# %% PositionalEncoding right (passed): fills its own table of waves with base 100 and looks the rows up with embedding
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        pairs, rest = divmod(d_model, 2)
        if rest == 1:
            raise ValueError("d_model must be even")
        table = torch.empty(max_len, d_model)
        places = torch.arange(max_len, dtype=torch.float32)
        for i in range(pairs):
            angles = places / 100.0 ** (2 * i / d_model)
            table[:, 2 * i] = angles.sin()
            table[:, 2 * i + 1] = angles.cos()
        self.max_len = max_len
        self.register_buffer("table", table, persistent=False)

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        length = x.size(-2)
        if not length <= self.max_len:
            raise ValueError(f"a text may have at most {self.max_len} positions")
        rows = nn.functional.embedding(torch.arange(length, device=self.table.device), self.table)
        return torch.add(x, rows)


# %% apply_rope wrong (misconception halves-as-pairs): pairs entry i with entry i + d_head / 2 instead of neighbouring entries
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    first, second = x.chunk(2, dim=-1)
    return torch.cat(
        (first * angles.cos() - second * angles.sin(), first * angles.sin() + second * angles.cos()), dim=-1
    )


# %% apply_rope wrong (misconception other-direction): the sines have the wrong signs, so that it rotates clockwise
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    a, b = x[..., 0::2], x[..., 1::2]
    rotated = torch.stack((a * angles.cos() + b * angles.sin(), b * angles.cos() - a * angles.sin()), dim=-1)
    return rotated.flatten(-2)


# %% apply_rope wrong (raised): takes the number of positions from axis 0; shows with axes before seq
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    d_head = x.shape[-1]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.outer(torch.arange(len(x), device=x.device), speeds)
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


# %% apply_rope wrong (misconception starts-at-one): numbers the positions from 1; all scores stay right, but row 0 is rotated
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    position = torch.arange(1, seq + 1, device=x.device)
    angles = position[:, None] * base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    rotated = torch.empty_like(x)
    rotated[..., 0::2] = x[..., 0::2] * angles.cos() - x[..., 1::2] * angles.sin()
    rotated[..., 1::2] = x[..., 0::2] * angles.sin() + x[..., 1::2] * angles.cos()
    return rotated


# %% apply_rope wrong (property lets_gradients_through): rotates a detached copy, so that no gradient flows back to x
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    rotated = x.detach().clone()
    a, b = rotated[..., 0::2].clone(), rotated[..., 1::2].clone()
    rotated[..., 0::2] = a * angles.cos() - b * angles.sin()
    rotated[..., 1::2] = a * angles.sin() + b * angles.cos()
    return rotated


# %% apply_rope right (passed): even and odd entries by the formula, stacked and flattened
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    position = torch.arange(seq, device=x.device, dtype=torch.float32)
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device, dtype=torch.float32) / d_head)
    angles = position[:, None] * speeds
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


# %% apply_rope right (passed): a 2 by 2 rotation matrix for each position and pair, applied with einsum
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    pair = torch.arange(d_head // 2, device=x.device, dtype=torch.float32)
    place = torch.arange(seq, device=x.device, dtype=torch.float32)
    angles = torch.outer(place, torch.pow(base, -2 * pair / d_head))
    upper = torch.stack((angles.cos(), -angles.sin()), dim=-1)
    lower = torch.stack((angles.sin(), angles.cos()), dim=-1)
    matrices = torch.stack((upper, lower), dim=-2).to(x.dtype)
    pairs = x.reshape(*x.shape[:-1], d_head // 2, 2)
    return torch.einsum("spij,...spj->...spi", matrices, pairs).reshape(x.shape)


