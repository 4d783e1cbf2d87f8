# %% positional_encoding wrong (misconception sine-and-cosine-swapped): sines and cosines are exchanged: cosines are in the even entries and sines in the odd entries
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    i = torch.arange(d_model // 2, device=position.device)
    angles = position[:, None] * base ** (-2 * i / d_model)
    pe = torch.zeros(len(position), d_model, device=position.device)
    pe[:, 0::2] = torch.cos(angles)
    pe[:, 1::2] = torch.sin(angles)
    return pe


# %% positional_encoding wrong (misconception divided-twice): the position is multiplied by base ** (2i / d_model) instead of divided by it (missing minus sign), so later pairs rotate faster instead of slower
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    i = torch.arange(d_model // 2, device=position.device)
    angles = position[:, None] * base ** (2 * i / d_model)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


# %% positional_encoding wrong (misconception twice-the-exponent): arange(0, d_model, 2) already counts in steps of two, and the exponent doubles it again, so pair i has the speed base ** (-4i / d_model); right for d_model = 2
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    i = torch.arange(0, d_model, 2, device=position.device)
    angles = position[:, None] / base ** (2 * i / d_model)
    pe = torch.zeros(len(position), d_model, device=position.device)
    pe[:, 0::2] = torch.sin(angles)
    pe[:, 1::2] = torch.cos(angles)
    return pe


# %% positional_encoding wrong (misconception cut-to-whole): the positions are converted to whole numbers with long(), so fractions such as 0.5 are cut off; whole positions are right
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    steps = position.long().unsqueeze(1)
    speeds = base ** (-torch.arange(0, d_model, 2, device=position.device) / d_model)
    angles = steps * speeds
    return torch.stack((torch.sin(angles), torch.cos(angles)), dim=2).reshape(len(position), d_model)


# %% positional_encoding wrong (misconception every-entry-its-own-speed): every entry j gets a speed of its own, base ** (-j / d_model), so the cosine in entry 2i + 1 is slower than the sine in entry 2i instead of having the same speed
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    entries = torch.arange(d_model, device=position.device)
    angles = position[:, None] / base ** (entries / d_model)
    pe = torch.zeros_like(angles)
    pe[:, 0::2] = torch.sin(angles[:, 0::2])
    pe[:, 1::2] = torch.cos(angles[:, 1::2])
    return pe


# %% positional_encoding right (passed): angles by broadcasting, sines and cosines stacked as pairs and flattened
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    even = torch.arange(0, d_model, 2, dtype=position.dtype, device=position.device)
    angles = position[:, None] * base ** (-even / d_model)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(start_dim=1)


# %% positional_encoding right (passed): a loop over the pairs fills two columns of a table at a time
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    table = position.new_zeros(position.shape[0], d_model)
    for i in range(d_model // 2):
        angle = position / base ** (2 * i / d_model)
        table[:, 2 * i] = torch.sin(angle)
        table[:, 2 * i + 1] = torch.cos(angle)
    return table


# %% PositionalEncoding wrong (misconception tokens-enlarged): x is multiplied by the square root of d_model before the rows are added, although forward should do nothing but add
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        # The table as a buffer, and an error for an odd d_model.
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.d_model, self.max_len = d_model, max_len
        self.register_buffer("table", positional_encoding(torch.arange(max_len).float(), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        # The vectors plus one row of the table for each position, and an error for a text that is too long.
        seq = x.shape[-2]
        if seq > self.max_len:
            raise ValueError("the text is too long")
        return x * self.d_model**0.5 + self.table[:seq]


# %% PositionalEncoding wrong (property moves_with_its_module): the table is an ordinary attribute, not a buffer, so it stays behind when the module moves to another device
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        # The table as a buffer, and an error for an odd d_model.
        if d_model % 2 == 1:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        self.table = positional_encoding(torch.arange(float(max_len)), d_model)

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        # The vectors plus one row of the table for each position, and an error for a text that is too long.
        if x.shape[-2] > self.max_len:
            raise ValueError("the text is longer than max_len")
        return x + self.table[: x.shape[-2]]


# %% PositionalEncoding wrong (shape): the table is kept with a batch axis, [1, max_len, d_model], so a single text [seq, d_model] comes back with an extra axis, [1, seq, d_model]; a batch is right
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        # The table as a buffer, and an error for an odd d_model.
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        table = positional_encoding(torch.arange(max_len).float(), d_model)
        self.register_buffer("pe", table.unsqueeze(0))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        # The vectors plus one row of the table for each position, and an error for a text that is too long.
        seq = x.size(-2)
        if seq > self.pe.size(1):
            raise ValueError(f"{seq} positions, but only {self.pe.size(1)} rows")
        return x + self.pe[:, :seq]


# %% PositionalEncoding wrong (property refuses): the length check uses len(x), in a batch the number of texts: a batch of more than max_len short texts raises a ValueError, and too long texts in a small batch raise no ValueError
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        # The table as a buffer, and an error for an odd d_model.
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        self.register_buffer("pe", positional_encoding(torch.arange(max_len).float(), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        # The vectors plus one row of the table for each position, and an error for a text that is too long.
        if len(x) > self.max_len:
            raise ValueError("the text is longer than max_len")
        return x + self.pe[: x.shape[-2]]


# %% PositionalEncoding wrong (raised): the length check is >= instead of >, so a text of exactly max_len positions, which has all its rows, raises a ValueError
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        # The table as a buffer, and an error for an odd d_model.
        if d_model % 2:
            raise ValueError(f"d_model is {d_model}, but must be even")
        self.max_len = max_len
        positions = torch.arange(max_len, dtype=torch.float32)
        self.register_buffer("table", positional_encoding(positions, d_model), persistent=False)

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        # The vectors plus one row of the table for each position, and an error for a text that is too long.
        length = x.shape[-2]
        if length >= self.max_len:
            raise ValueError(f"a text of {length} positions is too long")
        return x + self.table[:length]


# %% PositionalEncoding right (passed): a buffer of shape [max_len, d_model], sliced to x.shape[-2]
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        # The table as a buffer, and an error for an odd d_model.
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        self.register_buffer("table", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        # The vectors plus one row of the table for each position, and an error for a text that is too long.
        seq = x.shape[-2]
        if seq > self.max_len:
            raise ValueError(f"{seq} positions are more than max_len = {self.max_len}")
        return x + self.table[:seq]


# %% PositionalEncoding right (passed): a buffer that is not saved, its length read from the buffer itself, rows taken with narrow, and torch.add
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        # The table as a buffer, and an error for an odd d_model.
        pairs, left_over = divmod(d_model, 2)
        if left_over:
            raise ValueError("an odd d_model cannot be split into pairs")
        rows = positional_encoding(torch.arange(0, max_len, dtype=torch.float32), 2 * pairs)
        self.register_buffer("rows", rows, persistent=False)

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        # The vectors plus one row of the table for each position, and an error for a text that is too long.
        length, available = x.size(-2), self.rows.size(0)
        if length > available:
            raise ValueError(f"no row for positions from {available} on")
        return torch.add(x, self.rows.narrow(0, 0, length))


# %% apply_rope wrong (property keeps_lengths): wrong sign in the second entry: a sin t - b cos t instead of a sin t + b cos t, so each pair is mirrored and not rotated (at position 0 the second entries change their sign)
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin - b * cos), dim=-1).flatten(-2)


# %% apply_rope wrong (misconception half-the-exponent): the factor 2 is missing in the exponent: pair i rotates with the speed base ** (-i / d_head) instead of base ** (-2i / d_head); right only for d_head = 2
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2], x.shape[-1]
    i = torch.arange(d_head // 2, device=x.device)
    angles = torch.arange(seq, device=x.device)[:, None] * base ** (-i / d_head)
    cos, sin = torch.cos(angles), torch.sin(angles)
    out = torch.empty_like(x)
    out[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
    out[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
    return out


# %% apply_rope wrong (misconception first-overwritten): a is a view of out, so after the first entries are written, the second line uses the already rotated a instead of the old one; all second entries after position 0 are wrong
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    out = x.clone()
    a, b = out[..., 0::2], out[..., 1::2]
    out[..., 0::2] = a * cos - b * sin
    out[..., 1::2] = a * sin + b * cos
    return out


# %% apply_rope wrong (property state): the angles are kept between calls under (seq, d_head) only, so a later call of the same size with another base gets the angles of the first base
kept_angles = {}


def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    if (seq, d_head) not in kept_angles:
        speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
        kept_angles[seq, d_head] = torch.arange(seq, device=x.device)[:, None] * speeds
    angles = kept_angles[seq, d_head].to(x.device)
    cos, sin = angles.cos(), angles.sin()
    first, second = x[..., 0::2], x[..., 1::2]
    return torch.stack((first * cos - second * sin, first * sin + second * cos), dim=-1).flatten(-2)


# %% apply_rope wrong (raised): the number of positions is read from axis 0 or 1 and not from axis -2; right for [seq, d_head] and [batch, seq, d_head], but for [batch, heads, seq, d_head] the heads are counted (an error if heads differs from seq and is not 1, no rotation for one head)
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq = x.shape[0] if x.dim() == 2 else x.shape[1]
    d_head = x.shape[-1]
    i = torch.arange(d_head // 2, device=x.device)
    angles = torch.arange(seq, device=x.device)[:, None] / base ** (2 * i / d_head)
    cos, sin = torch.cos(angles), torch.sin(angles)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


# %% apply_rope right (passed): even and odd entries by slicing, rotated pairs stacked and flattened
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    position = torch.arange(seq, device=x.device, dtype=x.dtype)
    speed = base ** (-torch.arange(0, d_head, 2, device=x.device, dtype=x.dtype) / d_head)
    angle = position[:, None] * speed
    cos, sin = angle.cos(), angle.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


# %% apply_rope right (passed): a 2 x 2 rotation matrix for each position and pair, multiplied with the pairs by einsum
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    n_pairs = x.shape[-1] // 2
    pair = torch.arange(n_pairs, dtype=x.dtype, device=x.device)
    p = torch.arange(x.shape[-2], dtype=x.dtype, device=x.device)
    t = torch.outer(p, base ** (-2 * pair / x.shape[-1]))
    upper = torch.stack((torch.cos(t), -torch.sin(t)), dim=-1)
    lower = torch.stack((torch.sin(t), torch.cos(t)), dim=-1)
    rotation = torch.stack((upper, lower), dim=-2)  # [seq, n_pairs, 2, 2]
    pairs = x.unflatten(-1, (n_pairs, 2))
    return torch.einsum("spij,...spj->...spi", rotation, pairs).flatten(-2)
