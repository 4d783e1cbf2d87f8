# %% positional_encoding wrong (misconception positions-ignored): ignores the values of position and counts 0, 1, 2, ... instead
def positional_encoding(position, d_model, base=100.0):
    pos = torch.arange(len(position)).float().unsqueeze(1)
    i = torch.arange(0, d_model, 2)
    angles = pos / base ** (i / d_model)
    pe = torch.zeros(len(position), d_model)
    pe[:, 0::2] = torch.sin(angles)
    pe[:, 1::2] = torch.cos(angles)
    return pe

# %% positional_encoding wrong (misconception base-fixed): base is ignored, 100 is written into the formula
def positional_encoding(position, d_model, base=100.0):
    speeds = 100.0 ** (-torch.arange(0, d_model, 2) / d_model)
    angles = position[:, None] * speeds
    pe = torch.zeros(len(position), d_model)
    pe[:, 0::2] = angles.sin()
    pe[:, 1::2] = angles.cos()
    return pe

# %% positional_encoding wrong (misconception halves): all sines in front and all cosines behind, not in even and odd entries
def positional_encoding(position, d_model, base=100.0):
    i = torch.arange(d_model // 2)
    angles = position[:, None] / base ** (2 * i / d_model)
    return torch.cat((torch.sin(angles), torch.cos(angles)), dim=-1)

# %% positional_encoding wrong (misconception every-entry-its-own-speed): each entry has its own speed, so a cosine turns slower than the sine of its pair
def positional_encoding(position, d_model, base=100.0):
    entries = torch.arange(d_model)
    pe = position[:, None] / base ** (entries / d_model)
    pe[:, 0::2] = torch.sin(pe[:, 0::2])
    pe[:, 1::2] = torch.cos(pe[:, 1::2])
    return pe

# %% positional_encoding wrong (misconception exponents-up-to-one): exponents spread evenly from 0 to 1 inclusive instead of 2i / d_model, so all speeds but the first are off
def positional_encoding(position, d_model, base=100.0):
    exponents = torch.linspace(0, 1, d_model // 2)
    angles = torch.outer(position, base**-exponents)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)

# %% positional_encoding wrong (misconception cut-to-whole): positions are cut to whole numbers, so 0.5 gets the row of 0
def positional_encoding(position, d_model, base=100.0):
    position = position.long()
    div_term = base ** (torch.arange(0, d_model, 2) / d_model)
    pe = torch.zeros(position.shape[0], d_model)
    pe[:, 0::2] = torch.sin(position.unsqueeze(1) / div_term)
    pe[:, 1::2] = torch.cos(position.unsqueeze(1) / div_term)
    return pe

# %% positional_encoding wrong (misconception sine-and-cosine-swapped): cosines in the even entries and sines in the odd ones
def positional_encoding(position, d_model, base=100.0):
    speeds = base ** (-torch.arange(0, d_model, 2) / d_model)
    angles = position[:, None] * speeds[None, :]
    return torch.stack((torch.cos(angles), torch.sin(angles)), dim=-1).reshape(len(position), d_model)

# %% positional_encoding wrong (misconception half-the-exponent): the factor 2 is forgotten in the exponent, i / d_model instead of 2i / d_model
def positional_encoding(position, d_model, base=100.0):
    i = torch.arange(d_model // 2)
    angles = position[:, None] * base ** (-i / d_model)
    pe = torch.empty(len(position), d_model)
    pe[:, ::2] = torch.sin(angles)
    pe[:, 1::2] = torch.cos(angles)
    return pe

# %% positional_encoding right (passed): plain Python with math, entry by entry
def positional_encoding(position, d_model, base=100.0):
    import math

    rows = []
    for p in position.tolist():
        row = []
        for entry in range(d_model):
            angle = p * base ** (-2 * (entry // 2) / d_model)
            row.append(math.sin(angle) if entry % 2 == 0 else math.cos(angle))
        rows.append(row)
    return torch.tensor(rows, dtype=position.dtype, device=position.device).reshape(len(rows), d_model)

# %% positional_encoding right (passed): outer product of positions and speeds, written into every second column
def positional_encoding(position, d_model, base=100.0):
    exponent = torch.arange(0, d_model, 2, device=position.device, dtype=position.dtype) / d_model
    angles = torch.outer(position, torch.pow(base, -exponent))
    table = position.new_empty(position.numel(), d_model)
    table[:, 0::2], table[:, 1::2] = angles.sin(), angles.cos()
    return table

# %% positional_encoding right (passed): unit complex numbers, read as pairs of imaginary and real part
def positional_encoding(position, d_model, base=100.0):
    import math

    steps = torch.arange(d_model // 2, device=position.device, dtype=position.dtype)
    angles = position[:, None] * torch.exp(-2 * steps / d_model * math.log(base))
    turned = torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).flip(-1).flatten(-2)

# %% positional_encoding right (passed): sines only, a quarter turn added for the odd entries, in double precision
def positional_encoding(position, d_model, base=100.0):
    entry = torch.arange(d_model, device=position.device)
    odd = entry % 2
    speed = float(base) ** (-(entry - odd).double() / d_model)
    angle = torch.einsum("p,e->pe", position.double(), speed) + odd * (torch.pi / 2)
    return angle.sin().to(position.dtype)

# %% PositionalEncoding wrong (misconception batch-axis): cuts the table by x.size(0), the number of texts in a batch, so every position of a text gets the same mark
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        self.register_buffer("pe", positional_encoding(torch.arange(max_len).float(), d_model))

    def forward(self, x):
        if x.shape[-2] > self.max_len:
            raise ValueError("text too long")
        marks = self.pe[: x.size(0)]
        if x.dim() == 3:
            marks = marks.unsqueeze(1)
        return x + marks

# %% PositionalEncoding wrong (property moves_with_its_module): the table is a plain attribute and no buffer
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        if d_model % 2:
            raise ValueError(f"d_model must be even, got {d_model}")
        self.max_len = max_len
        self.pe = positional_encoding(torch.arange(float(max_len)), d_model)

    def forward(self, x):
        seq = x.shape[-2]
        if seq > self.max_len:
            raise ValueError(f"{seq} positions, but only {self.max_len} rows")
        return x + self.pe[:seq]

# %% PositionalEncoding wrong (raised): off by one, a text of exactly max_len positions is refused although the table has rows for it
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        if d_model % 2 == 1:
            raise ValueError("d_model is odd")
        self.register_buffer("pe", positional_encoding(torch.arange(0.0, max_len), d_model))

    def forward(self, x):
        n = x.shape[-2]
        if n >= self.pe.shape[0]:
            raise ValueError("x has more positions than the table has rows")
        return x + self.pe[:n]

# %% PositionalEncoding wrong (property leaves_its_inputs): += writes the marks into the caller's tensor, which the page still needs as zeros
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        if d_model % 2 == 1:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x):
        if x.shape[-2] > self.max_len:
            raise ValueError("sequence longer than max_len")
        x += self.pe[: x.shape[-2]]
        return x

# %% PositionalEncoding wrong (property refuses): an odd d_model fails with AssertionError, the page asks for ValueError
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        assert d_model % 2 == 0, "d_model must be even"
        position = torch.arange(max_len, dtype=torch.float32)
        self.register_buffer("table", positional_encoding(position, d_model))

    def forward(self, x):
        seq = x.shape[-2]
        if seq > len(self.table):
            raise ValueError(f"the text has {seq} positions, the table {len(self.table)}")
        return x + self.table[:seq]

# %% PositionalEncoding wrong (shape): the table carries a batch axis, so x of shape [seq, d_model] comes back as [1, seq, d_model]
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model has to be even")
        pe = positional_encoding(torch.arange(float(max_len)), d_model)
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        seq = x.shape[-2]
        if seq > self.pe.shape[1]:
            raise ValueError("too many positions")
        return x + self.pe[:, :seq]

# %% PositionalEncoding wrong (misconception starts-at-one): positions are counted from 1, so the first row of the table is not that of position 0
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("odd d_model")
        self.max_len = max_len
        self.register_buffer("pe", positional_encoding(torch.arange(1.0, max_len + 1), d_model))

    def forward(self, x):
        if x.shape[-2] > self.max_len:
            raise ValueError("text longer than max_len")
        return x + self.pe[: x.shape[-2], :]

# %% PositionalEncoding wrong (property refuses): a text longer than max_len gets a longer table instead of a ValueError
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
            self.pe = positional_encoding(torch.arange(float(seq)), self.d_model).to(x.device)
        return x + self.pe[:seq]

# %% PositionalEncoding right (passed): table from positional_encoding, cut by the axis before the last
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        if d_model % 2:
            raise ValueError(f"d_model must be even, got {d_model}")
        self.register_buffer("table", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x):
        *_, seq, _ = x.shape
        if seq > self.table.size(0):
            raise ValueError(f"{seq} positions, but only {self.table.size(0)} marks")
        return self.table[:seq] + x

# %% PositionalEncoding right (passed): builds the table itself with the exponential of logarithms, unsaved buffer, rows looked up as an embedding
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        if d_model & 1:
            raise ValueError("sines and cosines come in pairs: d_model must be even")
        p = torch.arange(max_len, dtype=torch.float).unsqueeze(-1)
        rate = torch.exp(torch.arange(0, d_model, 2) * (-torch.log(torch.tensor(100.0)) / d_model))
        rows = torch.empty(max_len, d_model)
        rows[:, 0::2] = torch.sin(p * rate)
        rows[:, 1::2] = torch.cos(p * rate)
        self.register_buffer("sinusoids", rows, persistent=False)

    def forward(self, x):
        n = x.size(-2)
        if n > len(self.sinusoids):
            raise ValueError("text is longer than max_len")
        index = torch.arange(n, device=x.device)
        return x + nn.functional.embedding(index, self.sinusoids)

# %% PositionalEncoding right (passed): position by position in a loop over the rows of x
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        if d_model != 2 * (d_model // 2):
            raise ValueError("an odd width has no pairs")
        self.max_len = max_len
        marks = positional_encoding(torch.tensor([float(p) for p in range(max_len)]), d_model)
        self.register_buffer("marks", marks)

    def forward(self, x):
        rows = x.unbind(dim=-2)
        if len(rows) > self.max_len:
            raise ValueError("more positions than rows")
        return torch.stack([row + self.marks[p] for p, row in enumerate(rows)], dim=-2)

# %% PositionalEncoding right (passed): the table is kept as waves in rows and positions in columns, checked by helpers, added with narrow and mT
class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        self._require(d_model % 2 == 0, f"d_model = {d_model} is odd")
        table = positional_encoding(torch.arange(max_len, dtype=torch.get_default_dtype()), d_model)
        self.register_buffer("waves", table.T.contiguous())

    @staticmethod
    def _require(condition, message):
        if not condition:
            raise ValueError(message)

    def forward(self, x):
        length, available = x.shape[-2], self.waves.shape[-1]
        self._require(length <= available, f"{length} positions do not fit into {available}")
        return torch.add(x, self.waves.narrow(-1, 0, length).mT)

# %% apply_rope wrong (misconception halves-as-pairs): pairs entry i with entry i + d_head / 2 (halves) instead of with its neighbour
def apply_rope(x, base=10000.0):
    seq, d = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d, 2, device=x.device) / d)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., : d // 2], x[..., d // 2 :]
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)

# %% apply_rope wrong (misconception halves-at-the-end): turned entries are put back shuffled, all first ones in front and all second ones behind
def apply_rope(x, base=10000.0):
    seq, d = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d, 2, device=x.device) / d)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    a, b = x[..., 0::2], x[..., 1::2]
    first = a * angles.cos() - b * angles.sin()
    second = a * angles.sin() + b * angles.cos()
    return torch.cat((first, second), dim=-1)

# %% apply_rope wrong (misconception base-a-hundred): takes sines and cosines from positional_encoding but does not hand base on, so it turns with base 100
def apply_rope(x, base=10000.0):
    positions = torch.arange(float(x.shape[-2]))
    pe = positional_encoding(positions, x.shape[-1]).to(x.device)
    sin, cos = pe[:, 0::2], pe[:, 1::2]
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)

# %% apply_rope wrong (misconception starts-at-one): positions are counted from 1, so row 0 is turned (scores stay the same, the rows do not)
def apply_rope(x, base=10000.0):
    seq, d = x.shape[-2], x.shape[-1]
    positions = torch.arange(1, seq + 1, device=x.device)
    speeds = base ** (-torch.arange(0, d, 2, device=x.device) / d)
    angles = torch.outer(positions, speeds)
    a, b = x[..., 0::2], x[..., 1::2]
    out = torch.empty_like(x)
    out[..., 0::2] = a * torch.cos(angles) - b * torch.sin(angles)
    out[..., 1::2] = a * torch.sin(angles) + b * torch.cos(angles)
    return out

# %% apply_rope wrong (property works_where_its_input_is): positions and speeds are made on the CPU, the page asks for x.device
def apply_rope(x, base=10000.0):
    seq, d_head = x.shape[-2:]
    positions = torch.arange(seq).float()
    speeds = base ** (-torch.arange(0, d_head, 2).float() / d_head)
    angles = positions[:, None] * speeds[None, :]
    cos, sin = torch.cos(angles), torch.sin(angles)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)

# %% apply_rope wrong (raised): takes axis 1 for the positions, which holds only for [batch, seq, d_head]; with heads in front the rows are turned by their head's number
def apply_rope(x, base=10000.0):
    d = x.shape[-1]
    speeds = base ** (-torch.arange(0, d, 2, device=x.device) / d)
    out = torch.zeros_like(x)
    for p in range(x.shape[1]):
        row = x[:, p]
        a, b = row[..., 0::2], row[..., 1::2]
        cos, sin = torch.cos(p * speeds), torch.sin(p * speeds)
        out[:, p] = torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)
    return out

# %% apply_rope wrong (misconception first-overwritten): the first entry of a pair is overwritten before the second is computed from it, so it is no rotation and lengths change
def apply_rope(x, base=10000.0):
    seq, d = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d, 2, device=x.device) / d)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    out = x.clone()
    out[..., 0::2] = out[..., 0::2] * cos - out[..., 1::2] * sin
    out[..., 1::2] = out[..., 0::2] * sin + out[..., 1::2] * cos
    return out

# %% apply_rope wrong (misconception other-direction): the sign of the sine is on the wrong line, so it turns the other way round
def apply_rope(x, base=10000.0):
    seq, d = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d, 2, device=x.device) / d)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos + b * sin, b * cos - a * sin), dim=-1).flatten(-2)

# %% apply_rope right (passed): complex multiplication, a pair is one complex number
def apply_rope(x, base=10000.0):
    seq, d = x.shape[-2:]
    kind = torch.promote_types(x.dtype, torch.float32)
    speed = base ** (-torch.arange(0, d, 2, device=x.device, dtype=kind) / d)
    angle = torch.outer(torch.arange(seq, device=x.device, dtype=kind), speed)
    turn = torch.polar(torch.ones_like(angle), angle)
    pairs = torch.view_as_complex(x.to(kind).reshape(*x.shape[:-1], d // 2, 2).contiguous())
    return torch.view_as_real(pairs * turn).flatten(-2).to(x.dtype)

# %% apply_rope right (passed): a 2 x 2 rotation matrix for each position and pair, applied by einsum
def apply_rope(x, base=10000.0):
    *lead, seq, d = x.shape
    i = torch.arange(d // 2, device=x.device)
    p = torch.arange(seq, device=x.device)
    t = torch.einsum("p,i->pi", p.double(), float(base) ** (-2.0 * i.double() / d))
    rotation = torch.stack((t.cos(), -t.sin(), t.sin(), t.cos()), dim=-1).reshape(seq, d // 2, 2, 2).to(x)
    points = x.reshape(*lead, seq, d // 2, 2)
    return torch.einsum("piuv,...piv->...piu", rotation, points).reshape(x.shape)

# %% apply_rope right (passed): explicit loops over positions and pairs with math.cos and math.sin
def apply_rope(x, base=10000.0):
    import math

    seq, d = x.shape[-2], x.shape[-1]
    rows = []
    for p in range(seq):
        entries = []
        for i in range(d // 2):
            t = p * base ** (-2 * i / d)
            a, b = x[..., p, 2 * i], x[..., p, 2 * i + 1]
            entries += [a * math.cos(t) - b * math.sin(t), a * math.sin(t) + b * math.cos(t)]
        rows.append(torch.stack(entries, dim=-1))
    return torch.stack(rows, dim=-2)

# %% apply_rope right (passed): matrix exponential of a skew-symmetric generator, one turn matrix for each position
def apply_rope(x, base=10000.0):
    seq, d = x.shape[-2:]
    speeds = torch.pow(float(base), -torch.arange(0, d, 2, device=x.device, dtype=torch.float64) / d)
    quarter = torch.tensor([[0.0, -1.0], [1.0, 0.0]], device=x.device, dtype=torch.float64)
    generator = torch.block_diag(*(speed * quarter for speed in speeds))
    steps = torch.arange(seq, device=x.device, dtype=torch.float64)
    turns = torch.linalg.matrix_exp(steps[:, None, None] * generator)
    return (turns.to(x.dtype) @ x.unsqueeze(-1)).squeeze(-1)
