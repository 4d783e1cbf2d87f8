# %% positional_encoding wrong (misconception halves): puts all sines in the first half and all cosines in the second half instead of in even and odd entries
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    speeds = base ** (-torch.arange(0, d_model, 2) / d_model)
    angles = position[:, None] * speeds
    return torch.cat((angles.sin(), angles.cos()), dim=-1)


# %% positional_encoding wrong (misconception divided-twice): the exponent has the wrong sign, so later hands turn faster instead of slower; the first pair is right
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    speeds = base ** (torch.arange(0, d_model, 2) / d_model)
    angles = position[:, None] * speeds
    pe = torch.zeros(len(position), d_model)
    pe[:, 0::2] = torch.sin(angles)
    pe[:, 1::2] = torch.cos(angles)
    return pe


# %% positional_encoding wrong (misconception every-entry-its-own-speed): uses the number of the entry for every entry's exponent, so the cosine in entry 2i + 1 gets the speed of exponent (2i + 1) / d_model instead of its sine's 2i / d_model
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    entry = torch.arange(d_model)
    angles = position.unsqueeze(1) / base ** (entry / d_model)
    pe = torch.zeros_like(angles)
    pe[:, 0::2] = torch.sin(angles[:, 0::2])
    pe[:, 1::2] = torch.cos(angles[:, 1::2])
    return pe


# %% positional_encoding wrong (misconception cut-to-whole): converts the positions to integers, so fractions of positions are cut off
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    pe = torch.zeros(len(position), d_model)
    p = position.long()
    for i in range(d_model // 2):
        angle = p / base ** (2 * i / d_model)
        pe[:, 2 * i] = torch.sin(angle)
        pe[:, 2 * i + 1] = torch.cos(angle)
    return pe


# %% positional_encoding wrong (misconception base-fixed): the base is written as 100 in the formula, so another value of the argument base changes nothing
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    speeds = 100.0 ** (-torch.arange(0, d_model, 2) / d_model)
    angles = torch.outer(position, speeds)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


# %% positional_encoding right (passed): fills even and odd columns of an empty table
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    even = torch.arange(0, d_model, 2, device=position.device)
    angles = position[:, None] / base ** (even / d_model)
    pe = torch.empty(len(position), d_model, dtype=angles.dtype, device=angles.device)
    pe[:, 0::2] = torch.sin(angles)
    pe[:, 1::2] = torch.cos(angles)
    return pe


# %% positional_encoding right (passed): a loop over the pairs that collects columns, then torch.stack
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    columns = []
    for i in range(d_model // 2):
        angle = position * base ** (-2 * i / d_model)
        columns += [angle.sin(), angle.cos()]
    return torch.stack(columns, dim=1)


# %% PositionalEncoding wrong (property moves_with_its_module): the table is only assigned to self and not registered as a buffer, so it does not move with the module
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        # The table as a buffer, and an error for an odd d_model.
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        self.pe = positional_encoding(torch.arange(float(max_len)), d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        # The vectors plus one row of the table for each position, and an error for a text that is too long.
        seq = x.shape[-2]
        if seq > self.max_len:
            raise ValueError("the text is too long")
        return x + self.pe[:seq]


# %% PositionalEncoding wrong (misconception starts-at-one): the table begins at position 1 instead of 0, so every position gets the row of the next position
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        # The table as a buffer, and an error for an odd d_model.
        if d_model % 2 == 1:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        positions = torch.arange(1, max_len + 1).float()
        self.register_buffer("pe", positional_encoding(positions, d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        # The vectors plus one row of the table for each position, and an error for a text that is too long.
        seq = x.shape[-2]
        if seq > self.max_len:
            raise ValueError("the text is too long")
        return x + self.pe[:seq]


# %% PositionalEncoding wrong (shape): keeps the table as [1, max_len, d_model], so a single text [seq, d_model] comes back with an extra batch axis
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        # The table as a buffer, and an error for an odd d_model.
        if d_model % 2:
            raise ValueError(f"d_model must be even, not {d_model}")
        table = positional_encoding(torch.arange(float(max_len)), d_model)
        self.register_buffer("pe", table.unsqueeze(0))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        # The vectors plus one row of the table for each position, and an error for a text that is too long.
        seq = x.shape[-2]
        if seq > self.pe.shape[1]:
            raise ValueError(f"a text of {seq} tokens is too long")
        return x + self.pe[:, :seq]


# %% PositionalEncoding wrong (raised): the length test uses >= instead of >, so a text of exactly max_len tokens raises an error although every position has a row
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        # The table as a buffer, and an error for an odd d_model.
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.register_buffer("table", positional_encoding(torch.arange(float(max_len)), d_model), persistent=False)

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        # The vectors plus one row of the table for each position, and an error for a text that is too long.
        seq = x.size(-2)
        if seq >= len(self.table):
            raise ValueError("the text is longer than max_len")
        return x + self.table[:seq]


# %% PositionalEncoding wrong (property leaves_its_inputs): adds the table to x in place, so the caller's x changes, and a second call on the same x adds the positions twice
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        # The table as a buffer, and an error for an odd d_model.
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        # The vectors plus one row of the table for each position, and an error for a text that is too long.
        seq = x.shape[-2]
        if seq > self.pe.shape[0]:
            raise ValueError("the text is longer than max_len")
        x += self.pe[:seq]
        return x


# %% PositionalEncoding right (passed): a saved buffer, sliced to x.shape[-2]
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        # The table as a buffer, and an error for an odd d_model.
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        # The vectors plus one row of the table for each position, and an error for a text that is too long.
        seq = x.shape[-2]
        if seq > self.pe.shape[0]:
            raise ValueError(f"{seq} positions, but the table has {self.pe.shape[0]} rows")
        return x + self.pe[:seq]


# %% PositionalEncoding right (passed): a buffer that is not saved, with sines and cosines computed in __init__; narrow and torch.add
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        # The table as a buffer, and an error for an odd d_model.
        half, rest = divmod(d_model, 2)
        if rest:
            raise ValueError("an odd d_model cannot be split into pairs")
        speeds = 100.0 ** (-torch.arange(half) / half)
        angles = torch.outer(torch.arange(max_len, dtype=torch.float32), speeds)
        rows = torch.stack((torch.sin(angles), torch.cos(angles)), dim=-1).reshape(max_len, d_model)
        self.register_buffer("rows", rows, persistent=False)
        self.max_len = max_len

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        # The vectors plus one row of the table for each position, and an error for a text that is too long.
        length = x.size(-2)
        if length > self.max_len:
            raise ValueError("the text is longer than max_len")
        return torch.add(x, self.rows.narrow(0, 0, length))


# %% apply_rope wrong (misconception halves-as-pairs): pairs entry i with entry i + d_head / 2 instead of neighbouring entries
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


# %% apply_rope wrong (misconception half-the-exponent): the exponent is -i / d_head instead of -2i / d_head, so all pairs after the first turn too fast
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    i = torch.arange(d_head // 2, device=x.device)
    speeds = base ** (-i / d_head)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


# %% apply_rope wrong (misconception first-overwritten): overwrites the first entry of each pair and then uses the new value for the second entry, so from position 1 on it is no rotation and lengths change
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    cos, sin = torch.cos(angles), torch.sin(angles)
    out = x.clone()
    out[..., 0::2] = out[..., 0::2] * cos - out[..., 1::2] * sin
    out[..., 1::2] = out[..., 0::2] * sin + out[..., 1::2] * cos
    return out


# %% apply_rope wrong (misconception halves-at-the-end): returns the first entries of all pairs and then all second entries, so the rotated pairs are not in their old places; scores between two such vectors hide it
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.outer(torch.arange(seq, device=x.device).float(), speeds)
    a, b = x[..., 0::2], x[..., 1::2]
    first = a * angles.cos() - b * angles.sin()
    second = a * angles.sin() + b * angles.cos()
    return torch.cat((first, second), dim=-1)


# %% apply_rope wrong (property works_where_its_input_is): creates positions and speeds on the CPU instead of x.device, so it fails when x is on another device
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2], x.shape[-1]
    speeds = base ** (-torch.arange(0, d_head, 2) / d_head)
    angles = torch.arange(seq)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    rotated = torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1)
    return rotated.reshape(x.shape)


# %% apply_rope right (passed): even and odd entries, the rotation formula, then stack and flatten
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


# %% apply_rope right (passed): whole width at once, x * cos plus the quarter-turned pairs (-b, a) * sin, with every angle repeated twice
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    n, d = x.shape[-2], x.shape[-1]
    position = torch.arange(n, dtype=torch.float32, device=x.device)
    exponent = torch.arange(0, d, 2, dtype=torch.float32, device=x.device) / d
    angle = torch.outer(position, base**-exponent).repeat_interleave(2, dim=-1)
    pairs = x.unflatten(-1, (d // 2, 2))
    quarter_turn = torch.stack((-pairs[..., 1], pairs[..., 0]), dim=-1).flatten(-2)
    return x * angle.cos().to(x.dtype) + quarter_turn * angle.sin().to(x.dtype)
