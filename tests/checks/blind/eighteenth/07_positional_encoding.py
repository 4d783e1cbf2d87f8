# %% positional_encoding wrong (misconception halves): all sines first, then all cosines, instead of in turn
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    speeds = base ** (-torch.arange(0, d_model, 2, device=position.device) / d_model)
    angles = position[:, None] * speeds
    return torch.cat((angles.sin(), angles.cos()), dim=-1)


# %% positional_encoding wrong (misconception half-the-exponent): the exponent is i / d_model, the 2 is forgotten
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


# %% positional_encoding wrong (misconception cut-to-whole): (subtle) looks up whole positions in a table, so fractions are cut off
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    speeds = base ** (-torch.arange(0, d_model, 2, device=position.device) / d_model)
    angles = position.long()[:, None] * speeds
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)


# %% positional_encoding wrong (property angles): (subtle) takes each position once and in ascending order (unique); shows when positions come in another order
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    position = position.unique()
    speeds = base ** (-torch.arange(0, d_model, 2, device=position.device) / d_model)
    angles = torch.outer(position, speeds)
    pe = torch.empty(len(position), d_model, device=position.device)
    pe[:, 0::2], pe[:, 1::2] = angles.sin(), angles.cos()
    return pe


# %% positional_encoding wrong (raised): (subtle) arange with the step 2 / d_model gives one exponent too many for some widths (98, 196), which raises an error
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    exponents = torch.arange(0, 1, 2 / d_model, device=position.device)
    angles = position[:, None] / base**exponents
    pe = torch.empty(len(position), d_model, device=position.device)
    pe[:, 0::2], pe[:, 1::2] = angles.sin(), angles.cos()
    return pe


# %% positional_encoding right (passed): outer product of positions and speeds, sine and cosine stacked as pairs
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    speeds = base ** (-torch.arange(0, d_model, 2, device=position.device) / d_model)
    angles = position[:, None] * speeds
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(start_dim=-2)


# %% positional_encoding right (passed): fills one column after another, with Python numbers as divisors
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    columns = []
    for i in range(d_model // 2):
        angle = position / base ** (2 * i / d_model)
        columns += [torch.sin(angle), torch.cos(angle)]
    return torch.stack(columns, dim=1)


# %% PositionalEncoding wrong (misconception batch-axis-of-three): a table of shape [max_len, 1, d_model], sliced to x.size(0), the number of texts in a batch
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2:
            raise ValueError("d_model must be even")
        table = positional_encoding(torch.arange(max_len, dtype=torch.float), d_model)
        self.register_buffer("pe", table.unsqueeze(1))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        if x.size(0) > self.pe.size(0):
            raise ValueError("the text is too long")
        return x + self.pe[: x.size(0)]


# %% PositionalEncoding wrong (structure): keeps the table as a parameter, which the optimizer changes, instead of a buffer
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.table = nn.Parameter(positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        seq = x.shape[-2]
        if seq > len(self.table):
            raise ValueError("the text is too long")
        return x + self.table[:seq]


# %% PositionalEncoding wrong (property leaves_its_inputs): (subtle) x += changes x in place, which the page forbids
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.register_buffer("table", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        seq = x.shape[-2]
        if seq > self.table.shape[0]:
            raise ValueError("the text is longer than max_len")
        x += self.table[:seq]
        return x


# %% PositionalEncoding wrong (raised): (subtle) off by one: raises the error also for a text of exactly max_len tokens
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        self.register_buffer("table", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        seq = x.shape[-2]
        if seq >= self.max_len:
            raise ValueError("the text is longer than max_len")
        return x + self.table[:seq]


# %% PositionalEncoding wrong (property refuses): (subtle) compares len(x) with max_len; in a batch this is the number of texts: a batch of many short texts raises, a long text gives no ValueError
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.register_buffer("table", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        if len(x) > len(self.table):
            raise ValueError("the text is longer than max_len")
        return x + self.table[: x.shape[-2], :]


# %% PositionalEncoding right (passed): a buffer made with positional_encoding, sliced to x.shape[-2]
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError(f"d_model is {d_model}, but must be even")
        self.register_buffer("table", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        seq = x.shape[-2]
        if seq > self.table.shape[0]:
            raise ValueError(f"{seq} tokens, but only {self.table.shape[0]} positions")
        return x + self.table[:seq]


# %% PositionalEncoding right (passed): writes the table entry by entry in pairs, unsaved buffer, narrow and torch.add
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 == 1:
            raise ValueError("an odd d_model cannot be split into pairs")
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(max_len, dtype=torch.float32)
        for i in range(0, d_model, 2):
            angle = position / 100.0 ** (i / d_model)
            pe[:, i] = torch.sin(angle)
            pe[:, i + 1] = torch.cos(angle)
        self.register_buffer("pe", pe, persistent=False)

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        length = x.size(-2)
        if length > self.pe.size(0):
            raise ValueError("this text is longer than max_len")
        return torch.add(x, self.pe.narrow(0, 0, length))


# %% apply_rope wrong (misconception halves-as-pairs): pairs entry i with entry i + d_head / 2 instead of neighbouring entries
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


# %% apply_rope wrong (misconception base-ignored): ignores base and always uses 10000; shows when another base is passed
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = 1.0 / 10000 ** (torch.arange(0, d_head, 2, device=x.device).float() / d_head)
    angles = torch.outer(torch.arange(seq, device=x.device).float(), speeds)
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


# %% apply_rope wrong (difference milestone): (subtle) numbers the rows of all texts in one go; from the second text or head on, positions do not start at 0
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    d_head = x.shape[-1]
    rows = x.reshape(-1, d_head)
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(len(rows), device=x.device)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    a, b = rows[:, 0::2], rows[:, 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).reshape(x.shape)


# %% apply_rope wrong (property works_where_its_input_is): (subtle) makes positions and speeds on the CPU; raises an error when x is on another device
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2) / d_head)
    angles = torch.arange(seq)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


# %% apply_rope wrong (property lets_gradients_through): (subtle) runs under no_grad, so no gradient flows back
@torch.no_grad()
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    out = torch.empty_like(x)
    a, b = x[..., 0::2], x[..., 1::2]
    out[..., 0::2] = a * angles.cos() - b * angles.sin()
    out[..., 1::2] = a * angles.sin() + b * angles.cos()
    return out


# %% apply_rope right (passed): takes the pairs apart, rotates them and stacks them again
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    a, b = x.unflatten(-1, (-1, 2)).unbind(dim=-1)
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(start_dim=-2)


# %% apply_rope right (passed): a table of 2 by 2 rotation matrices for each position and pair, applied with einsum
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2], x.shape[-1]
    pairs = x.reshape(*x.shape[:-1], d_head // 2, 2)
    position = torch.arange(seq, dtype=torch.float64, device=x.device)
    exponent = torch.arange(d_head // 2, dtype=torch.float64, device=x.device) * 2 / d_head
    angles = position[:, None] / base**exponent
    sin, cos = torch.sin(angles).to(x.dtype), torch.cos(angles).to(x.dtype)
    turn = torch.stack((torch.stack((cos, -sin), dim=-1), torch.stack((sin, cos), dim=-1)), dim=-2)
    return torch.einsum("spij,...spj->...spi", turn, pairs).reshape(x.shape)


