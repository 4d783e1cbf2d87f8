# %% positional_encoding wrong (misconception half-the-exponent): exponent i / d where 2i / d is meant, the speeds fall only half as fast
def positional_encoding(position, d_model, base=100.0):
    i = torch.arange(d_model // 2)
    angles = position[:, None] / base ** (i / d_model)
    pe = torch.zeros(len(position), d_model)
    pe[:, 0::2] = torch.sin(angles)
    pe[:, 1::2] = torch.cos(angles)
    return pe

# %% positional_encoding wrong (misconception halves): all sines in front and all cosines behind, not in even and odd entries
def positional_encoding(position, d_model, base=100.0):
    speeds = base ** (-torch.arange(0, d_model, 2) / d_model)
    angles = position.unsqueeze(1) * speeds
    return torch.cat((angles.sin(), angles.cos()), dim=-1)

# %% positional_encoding wrong (misconception positions-ignored): counts the rows from 0 and never reads the positions themselves
def positional_encoding(position, d_model, base=100.0):
    pos = torch.arange(position.shape[0]).unsqueeze(1)
    speeds = base ** (-torch.arange(0, d_model, 2) / d_model)
    pe = torch.zeros(position.shape[0], d_model)
    pe[:, 0::2] = torch.sin(pos * speeds)
    pe[:, 1::2] = torch.cos(pos * speeds)
    return pe

# %% positional_encoding wrong (misconception base-fixed): base written as 100 in the formula, the argument is ignored
def positional_encoding(position, d_model, base=100.0):
    pe = torch.zeros(len(position), d_model)
    for i in range(d_model // 2):
        angle = position / 100.0 ** (2 * i / d_model)
        pe[:, 2 * i] = torch.sin(angle)
        pe[:, 2 * i + 1] = torch.cos(angle)
    return pe

# %% positional_encoding wrong (misconception every-entry-its-own-speed): each entry has its own exponent, so a cosine is slower than the sine of its pair
def positional_encoding(position, d_model, base=100.0):
    entries = torch.arange(d_model)
    angles = position[:, None] / base ** (entries / d_model)
    pe = torch.zeros(len(position), d_model)
    pe[:, 0::2] = torch.sin(angles[:, 0::2])
    pe[:, 1::2] = torch.cos(angles[:, 1::2])
    return pe

# %% positional_encoding wrong (misconception cut-to-whole): rounds positions to whole numbers, those that lie between get the mark of their neighbour
def positional_encoding(position, d_model, base=100.0):
    position = position.long().unsqueeze(1)
    speeds = torch.exp(torch.arange(0, d_model, 2) * (-torch.log(torch.tensor(base)) / d_model))
    pe = torch.zeros(position.shape[0], d_model)
    pe[:, 0::2] = torch.sin(position * speeds)
    pe[:, 1::2] = torch.cos(position * speeds)
    return pe

# %% positional_encoding wrong (misconception exponents-up-to-one): spreads the exponents from 0 to 1 with linspace, the last has to be (d - 2) / d
def positional_encoding(position, d_model, base=100.0):
    exponents = torch.linspace(0, 1, d_model // 2)
    angles = torch.outer(position, base**-exponents)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)

# %% positional_encoding wrong (raised): no new axis between positions and speeds, it raises unless their numbers happen to agree
def positional_encoding(position, d_model, base=100.0):
    speeds = base ** (-torch.arange(0, d_model, 2) / d_model)
    angles = position * speeds
    pe = torch.zeros(len(position), d_model)
    pe[:, 0::2] = torch.sin(angles)
    pe[:, 1::2] = torch.cos(angles)
    return pe

# %% positional_encoding right (passed): two plain loops and the math module
import math


def positional_encoding(position, d_model, base=100.0):
    table = torch.zeros(len(position), d_model, dtype=position.dtype, device=position.device)
    for row, p in enumerate(position.tolist()):
        for i in range(d_model // 2):
            angle = p / base ** (2 * i / d_model)
            table[row, 2 * i] = math.sin(angle)
            table[row, 2 * i + 1] = math.cos(angle)
    return table

# %% positional_encoding right (passed): speeds by exp and log, even and odd columns filled
import math


def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Sinusoids of each position; entries 2i and 2i + 1 turn by base ** (-2i / d_model) radians a position."""
    div_term = torch.exp(torch.arange(0, d_model, 2, device=position.device) * (-math.log(base) / d_model))
    pe = position.new_empty(position.shape[0], d_model)
    pe[:, 0::2] = torch.sin(position.unsqueeze(1) * div_term)
    pe[:, 1::2] = torch.cos(position.unsqueeze(1) * div_term)
    return pe

# %% positional_encoding right (passed): points on the unit circle as complex numbers, real and imaginary part swapped
def positional_encoding(position, d_model, base=100.0):
    pair = torch.arange(d_model // 2, dtype=position.dtype, device=position.device)
    angle = torch.outer(position, torch.pow(base, -2 * pair / d_model))
    circle = torch.polar(torch.ones_like(angle), angle)
    return torch.view_as_real(circle).flip(-1).reshape(len(position), d_model)

# %% positional_encoding right (passed): sines only, every second one a quarter turn ahead, in double precision inside
def positional_encoding(position, d_model, base=100.0):
    entry = torch.arange(d_model, device=position.device, dtype=torch.float64)
    odd = entry % 2
    phase = position.double()[:, None] * base ** ((odd - entry) / d_model) + odd * torch.pi / 2
    return phase.sin().to(position.dtype)

# %% PositionalEncoding wrong (misconception batch-axis): cuts the table by x.size(0), in a batch that is the number of texts
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x):
        if x.size(0) > self.max_len:
            raise ValueError("text too long")
        pe = self.pe[: x.size(0)]
        if x.dim() == 3:
            pe = pe.unsqueeze(1)
        return x + pe

# %% PositionalEncoding wrong (structure): the table is an nn.Parameter, so training changes it; a buffer was asked for
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        self.pe = nn.Parameter(positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x):
        seq = x.shape[-2]
        if seq > self.max_len:
            raise ValueError(f"{seq} positions, but only {self.max_len} rows")
        return x + self.pe[:seq]

# %% PositionalEncoding wrong (property moves_with_its_module): the table is a plain attribute and does not move with the module
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        self.pe = positional_encoding(torch.arange(float(max_len)), d_model)

    def forward(self, x):
        seq = x.shape[-2]
        if seq > self.max_len:
            raise ValueError(f"{seq} positions, but only {self.max_len} rows")
        return x + self.pe[:seq]

# %% PositionalEncoding wrong (misconception dropout): dropout on top, but forward adds the rows and does no more, in training neither
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.dropout = nn.Dropout(0.1)
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x):
        seq = x.shape[-2]
        if seq > self.pe.shape[0]:
            raise ValueError("the text is longer than max_len")
        return self.dropout(x + self.pe[:seq])

# %% PositionalEncoding wrong (property refuses): asserts, so that an odd d_model gets an AssertionError and no ValueError
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        assert d_model % 2 == 0, "d_model must be even"
        self.max_len = max_len
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x):
        if x.shape[-2] > self.max_len:
            raise ValueError("the text is longer than max_len")
        return x + self.pe[: x.shape[-2]]

# %% PositionalEncoding wrong (raised): off by one, a text of exactly max_len positions has all its rows and is refused
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 == 1:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x):
        seq = x.shape[-2]
        if seq >= self.max_len:
            raise ValueError("the text is longer than max_len")
        return x + self.pe[:seq]

# %% PositionalEncoding wrong (property leaves_its_inputs): += writes the marks into the caller's x, the page goes on to use its zeros after the call
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x):
        seq = x.shape[-2]
        if seq > self.max_len:
            raise ValueError("the text is longer than max_len")
        x += self.pe[:seq]
        return x

# %% PositionalEncoding wrong (shape): the table has a batch axis, so a [seq, d_model] text comes back as [1, seq, d_model]
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        pe = positional_encoding(torch.arange(float(max_len)), d_model)
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        seq = x.size(-2)
        if seq > self.max_len:
            raise ValueError("the text is longer than max_len")
        return x + self.pe[:, :seq]

# %% PositionalEncoding right (passed): register_buffer left out of the state dict, torch.add
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model & 1:
            raise ValueError(f"d_model must be even to form pairs, got {d_model}")
        rows = positional_encoding(torch.arange(max_len, dtype=torch.float32), d_model)
        self.register_buffer("marks", rows, persistent=False)

    def forward(self, x):
        *_, seq, _ = x.shape
        if seq > len(self.marks):
            raise ValueError(f"text of {seq} positions, table of {len(self.marks)}")
        return torch.add(x, self.marks[:seq])

# %% PositionalEncoding right (passed): own table without the function of before, kept transposed, narrowed and turned back
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        pairs, left = divmod(d_model, 2)
        if left:
            raise ValueError("an odd d_model has no pairs")
        waves = []
        positions = torch.arange(max_len).double()
        for i in range(pairs):
            angle = positions * 100.0 ** (-2 * i / d_model)
            waves += [angle.sin(), angle.cos()]
        self.register_buffer("waves", torch.stack(waves).float())

    def forward(self, x):
        seq = x.size(-2)
        if seq > self.waves.size(1):
            raise ValueError("the text is longer than max_len")
        return x + self.waves.narrow(1, 0, seq).t()

# %% PositionalEncoding right (passed): the table has a leading batch axis, x is brought to three axes and back to its own shape
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2:
            raise ValueError("d_model has to be even")
        self.max_len = max_len
        table = positional_encoding(torch.arange(0.0, max_len), d_model=d_model)
        self.register_buffer("pe", table[None])

    def forward(self, x):
        seq, width = x.shape[-2:]
        if self.max_len < seq:
            raise ValueError(f"at most {self.max_len} positions")
        marked = x.reshape(-1, seq, width) + self.pe[:, :seq].to(x.dtype)
        return marked.reshape(x.shape)

# %% PositionalEncoding right (passed): nn.Buffer, and the rows fetched like an embedding
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        if d_model % 2 != 0:
            raise ValueError("d_model is odd")
        super().__init__()
        self.table = nn.Buffer(positional_encoding(torch.tensor([float(p) for p in range(max_len)]), d_model))

    def forward(self, x):
        rows = torch.arange(x.shape[-2], device=self.table.device)
        if rows.numel() > self.table.shape[0]:
            raise ValueError("more positions than rows")
        return nn.functional.embedding(rows, self.table) + x

# %% apply_rope wrong (misconception halves-as-pairs): pairs entry i with entry i + d / 2, but neighbours are pairs
def apply_rope(x, base=10000.0):
    seq, d = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d, 2, device=x.device) / d)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., : d // 2], x[..., d // 2 :]
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)

# %% apply_rope wrong (misconception other-direction): turns the other way, the signs of the sines are swapped
def apply_rope(x, base=10000.0):
    seq, d = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d, 2, device=x.device) / d)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos + b * sin, b * cos - a * sin), dim=-1).flatten(-2)

# %% apply_rope wrong (misconception starts-at-one): counts positions from 1, so row 0 is turned; the scores do not show it
def apply_rope(x, base=10000.0):
    seq, d = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d, 2, device=x.device) / d)
    angles = torch.arange(1, seq + 1, device=x.device)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)

# %% apply_rope wrong (property lets_gradients_through): works on x.detach(), no gradient flows back through the turn
def apply_rope(x, base=10000.0):
    seq, d = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d, 2, device=x.device) / d)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    out = x.detach().clone()
    a, b = out[..., 0::2].clone(), out[..., 1::2].clone()
    out[..., 0::2] = a * cos - b * sin
    out[..., 1::2] = a * sin + b * cos
    return out

# %% apply_rope wrong (property works_where_its_input_is): positions and speeds are made on the CPU and not on x.device
def apply_rope(x, base=10000.0):
    seq, d = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d, 2) / d)
    angles = torch.arange(seq)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)

# %% apply_rope wrong (property leaves_its_inputs): writes the turned pairs into x itself, which fails on the page's expanded query and spoils the caller's x elsewhere
def apply_rope(x, base=10000.0):
    seq, d = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d, 2, device=x.device) / d)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2].clone(), x[..., 1::2].clone()
    x[..., 0::2] = a * cos - b * sin
    x[..., 1::2] = a * sin + b * cos
    return x

# %% apply_rope wrong (misconception first-overwritten): the second entry is computed from the first one already turned
def apply_rope(x, base=10000.0):
    seq, d = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d, 2, device=x.device) / d)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    a = a * cos - b * sin
    b = a * sin + b * cos
    return torch.stack((a, b), dim=-1).flatten(-2)

# %% apply_rope wrong (misconception base-ignored): base written as 10000 in the formula, the argument is ignored
def apply_rope(x, base=10000.0):
    seq, d = x.shape[-2:]
    i = torch.arange(d // 2, device=x.device)
    angles = torch.arange(seq, device=x.device)[:, None] * 10000.0 ** (-2 * i / d)
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)

# %% apply_rope right (passed): pairs as complex numbers, multiplied by points of the unit circle
def apply_rope(x, base=10000.0):
    *_, seq, d_head = x.shape
    wide = torch.promote_types(x.dtype, torch.float32)
    pairs = torch.view_as_complex(x.to(wide).unflatten(-1, (d_head // 2, 2)).contiguous())
    speed = base ** (-torch.arange(0, d_head, 2, dtype=wide, device=x.device) / d_head)
    angle = torch.outer(torch.arange(seq, dtype=wide, device=x.device), speed)
    turned = pairs * torch.polar(torch.ones_like(angle), angle)
    return torch.view_as_real(turned).flatten(-2).to(x.dtype)

# %% apply_rope right (passed): a two by two rotation matrix for each position and pair, einsum
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Each pair of entries turned by its position times base ** (-2i / d_head)."""
    seq, d_head = x.shape[-2:]
    p = torch.arange(seq, device=x.device, dtype=x.dtype)
    i = torch.arange(d_head // 2, device=x.device, dtype=x.dtype)
    t = torch.einsum("p,i->pi", p, base ** (-2 * i / d_head))
    rotation = torch.stack((t.cos(), -t.sin(), t.sin(), t.cos()), dim=-1).view(seq, d_head // 2, 2, 2)
    points = x.reshape(*x.shape[:-1], d_head // 2, 2)
    return torch.einsum("piab,...pib->...pia", rotation, points).reshape(x.shape)

# %% apply_rope right (passed): a loop over the pairs, columns collected and stacked
def apply_rope(x, base=10000.0):
    width = x.shape[-1]
    place = torch.arange(x.shape[-2], device=x.device).to(x.dtype)
    columns = []
    for i in range(width // 2):
        angle = place * base ** (-2 * i / width)
        first, second = x[..., 2 * i], x[..., 2 * i + 1]
        columns.append(first * torch.cos(angle) - second * torch.sin(angle))
        columns.append(first * torch.sin(angle) + second * torch.cos(angle))
    return torch.stack(columns, dim=-1)

# %% apply_rope right (passed): cosines on x itself, signed sines on x with each pair swapped by an index
def apply_rope(x, base=10000.0):
    n, d = x.size(-2), x.size(-1)
    entry = torch.arange(d, device=x.device)
    even = entry - entry % 2
    angle = torch.arange(n, device=x.device).to(x.dtype).unsqueeze(-1) * torch.pow(base, -even.to(x.dtype) / d)
    sign = (entry % 2 * 2 - 1).to(x.dtype)
    return x * angle.cos() + x[..., entry ^ 1] * (sign * angle.sin())
