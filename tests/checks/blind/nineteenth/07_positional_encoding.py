# %% positional_encoding wrong (misconception halves): all sines first, then all cosines
def positional_encoding(position, d_model, base=100.0):
    exponents = torch.arange(0, d_model, 2, device=position.device) / d_model
    angles = position[:, None] / base**exponents
    return torch.cat((angles.sin(), angles.cos()), dim=-1)


# %% positional_encoding wrong (misconception half-the-exponent): the exponent is i / d_model instead of 2i / d_model
def positional_encoding(position, d_model, base=100.0):
    pairs = torch.arange(d_model // 2, device=position.device)
    angles = position[:, None] * base ** (-pairs / d_model)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)


# %% positional_encoding wrong (misconception positions-ignored): counts the rows from 0 instead of reading their positions; right for 0, 1, 2, ... only
def positional_encoding(position, d_model, base=100.0):
    rows = torch.arange(len(position), dtype=torch.float32, device=position.device)
    angles = rows[:, None] / base ** (torch.arange(0, d_model, 2, device=position.device) / d_model)
    pe = torch.zeros(len(position), d_model, device=position.device)
    pe[:, 0::2] = torch.sin(angles)
    pe[:, 1::2] = torch.cos(angles)
    return pe


# %% positional_encoding wrong (misconception cut-to-whole): makes the positions whole numbers, so that fractions are cut off
def positional_encoding(position, d_model, base=100.0):
    whole = position.long().unsqueeze(1)
    speeds = base ** (-torch.arange(0, d_model, 2, device=position.device) / d_model)
    angles = whole * speeds
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)


# %% positional_encoding wrong (shape): the exponents are made in steps of 2 / d_model, and rounding makes one too many for some widths (98, for example)
def positional_encoding(position, d_model, base=100.0):
    exponents = torch.arange(0, 1, 2 / d_model, device=position.device)
    angles = position[:, None] / base**exponents
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)


# %% positional_encoding right (passed): stacks sines and cosines on a new last axis and flattens
def positional_encoding(position, d_model, base=100.0):
    exponents = torch.arange(0, d_model, 2, device=position.device) / d_model
    angles = position[:, None] / base**exponents
    return torch.stack((torch.sin(angles), torch.cos(angles)), dim=-1).flatten(start_dim=1)


# %% positional_encoding right (passed): fills an empty table column by column
def positional_encoding(position, d_model, base=100.0):
    table = position.new_empty(len(position), d_model)
    for i in range(d_model // 2):
        speed = base ** (-2 * i / d_model)
        table[:, 2 * i] = torch.sin(position * speed)
        table[:, 2 * i + 1] = torch.cos(position * speed)
    return table


# %% PositionalEncoding wrong (misconception batch-axis): takes x.size(0) as the number of positions, although it is the number of texts in a batch
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        if d_model % 2:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model)[:, None])

    def forward(self, x):
        if x.size(0) > self.max_len:
            raise ValueError("the text is too long")
        if x.dim() == 2:
            return x + self.pe[: x.size(0), 0]
        return x + self.pe[: x.size(0)]


# %% PositionalEncoding wrong (misconception tokens-enlarged): multiplies x by the square root of d_model first, as the paper of 2017 does
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        if d_model % 2:
            raise ValueError("d_model must be even")
        self.d_model = d_model
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x):
        seq = x.shape[-2]
        if seq > len(self.pe):
            raise ValueError("the text is too long")
        return x * self.d_model**0.5 + self.pe[:seq]


# %% PositionalEncoding wrong (property moves_with_its_module): the table is only assigned, so it does not move with the module
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        self.pe = positional_encoding(torch.arange(max_len, dtype=torch.float32), d_model)

    def forward(self, x):
        seq = x.shape[-2]
        if seq > self.max_len:
            raise ValueError("the text is too long")
        return x + self.pe[:seq]


# %% PositionalEncoding wrong (raised): raises the error already for a text of exactly max_len positions
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model), persistent=False)

    def forward(self, x):
        seq = x.shape[-2]
        if seq >= self.max_len:
            raise ValueError("the text is too long")
        return x + self.pe[:seq]


# %% PositionalEncoding wrong (property refuses): compares the number of texts with max_len when x is a batch: long texts get no ValueError, large batches do
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x):
        if len(x) > self.max_len:
            raise ValueError("the text is too long")
        return x + self.pe[: x.shape[-2]]


# %% PositionalEncoding right (passed): buffer made by positional_encoding, cut to x.shape[-2]
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError(f"d_model must be even, but it is {d_model}")
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x):
        seq = x.shape[-2]
        if seq > self.pe.shape[0]:
            raise ValueError(f"{seq} positions, but the table has only {self.pe.shape[0]}")
        return x + self.pe[:seq]


# %% PositionalEncoding right (passed): computes its own table with strided assignments, unsaved buffer, narrow
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        pairs, odd = divmod(d_model, 2)
        if odd:
            raise ValueError("an odd d_model cannot be split into pairs")
        speeds = torch.tensor([100.0 ** (-2 * i / d_model) for i in range(pairs)])
        angles = torch.outer(torch.arange(max_len, dtype=torch.float32), speeds)
        table = torch.empty(max_len, d_model)
        table[:, 0::2] = angles.sin()
        table[:, 1::2] = angles.cos()
        self.max_len = max_len
        self.register_buffer("table", table, persistent=False)

    def forward(self, x):
        seq = x.size(-2)
        if seq > self.max_len:
            raise ValueError("the text is longer than max_len")
        return torch.add(x, self.table.narrow(0, 0, seq))


# %% apply_rope wrong (misconception halves-as-pairs): pairs each entry of the first half with one of the second half, instead of neighbours
def apply_rope(x, base=10000.0):
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), dim=-1)


# %% apply_rope wrong (misconception first-overwritten): uses the first entries of the pairs, already rotated, to compute the second ones
def apply_rope(x, base=10000.0):
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    out = x.clone()
    out[..., 0::2] = out[..., 0::2].clone() * cos - out[..., 1::2].clone() * sin
    out[..., 1::2] = out[..., 0::2].clone() * sin + out[..., 1::2].clone() * cos
    return out


# %% apply_rope wrong (property works_where_its_input_is): keeps the angles for each length and uses them again for another width or base; shows in later calls
_angles = {}


def apply_rope(x, base=10000.0):
    seq, d_head = x.shape[-2:]
    if seq not in _angles:
        speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
        _angles[seq] = torch.arange(seq, device=x.device)[:, None] * speeds
    cos, sin = _angles[seq].cos(), _angles[seq].sin()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


# %% apply_rope wrong (property gradients): the second entry of each pair is cut from the gradient; the values are right
def apply_rope(x, base=10000.0):
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2].detach()
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


# %% apply_rope wrong (property works_where_its_input_is): the angles are always made on the CPU, so the function fails for an x on another device
def apply_rope(x, base=10000.0):
    seq, d_head = x.shape[-2:]
    angles = torch.arange(seq)[:, None] * base ** (-torch.arange(0, d_head, 2) / d_head)
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


# %% apply_rope right (passed): even and odd entries, stacked and flattened
def apply_rope(x, base=10000.0):
    seq, d_head = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(start_dim=-2)


# %% apply_rope right (passed): a table of 2 x 2 rotation matrices and one einsum
def apply_rope(x, base=10000.0):
    seq, d_head = x.shape[-2:]
    pairs = torch.arange(d_head // 2, device=x.device, dtype=torch.float32)
    angles = torch.outer(torch.arange(seq, device=x.device, dtype=torch.float32), base ** (-2 * pairs / d_head))
    cos, sin = torch.cos(angles), torch.sin(angles)
    turn = torch.stack((torch.stack((cos, -sin), dim=-1), torch.stack((sin, cos), dim=-1)), dim=-2)
    points = x.unflatten(-1, (d_head // 2, 2))
    turned = torch.einsum("spij,...spj->...spi", turn.to(x.dtype), points)
    return turned.flatten(-2)


