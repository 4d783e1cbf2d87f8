# %% positional_encoding wrong (misconception exponents-up-to-one): the exponents run from 0 to 1 inclusive, so the last hand is base times slower than the first
def positional_encoding(position, d_model, base=100.0):
    exponents = torch.linspace(0, 1, d_model // 2)
    angles = torch.outer(position, base**-exponents)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)

# %% positional_encoding wrong (misconception halves): stacks sines and cosines along axis 1, so all sines come first and all cosines after them
def positional_encoding(position, d_model, base=100.0):
    i = torch.arange(d_model // 2)
    angles = position[:, None] / base ** (2 * i / d_model)
    return torch.stack([torch.sin(angles), torch.cos(angles)], dim=1).reshape(len(position), d_model)

# %% positional_encoding wrong (misconception sine-and-cosine-swapped): the real part of a complex number is the cosine, so cosines land in the even entries
def positional_encoding(position: Float[Tensor, "seq"], d_model: int, base: float = 100.0):
    speed = torch.pow(base, -torch.arange(0, d_model, 2) / d_model)
    angle = position.unsqueeze(-1) * speed
    return torch.view_as_real(torch.polar(torch.ones_like(angle), angle)).flatten(start_dim=-2)

# %% positional_encoding wrong (property angles): multiplies by base to the power of 2i / d_model, so the later hands are faster
def positional_encoding(position, d_model, base=100.0):
    out = torch.zeros(len(position), d_model)
    for i in range(d_model // 2):
        speed = base ** (2 * i / d_model)
        out[:, 2 * i] = torch.sin(position * speed)
        out[:, 2 * i + 1] = torch.cos(position * speed)
    return out

# %% positional_encoding wrong (property angles): reduces the position to one circle before it slows the later hands down, right below 2 pi
def positional_encoding(position, d_model, base=100.0):
    circle = 2 * torch.pi
    turned = torch.remainder(position, circle)
    speeds = torch.tensor([base ** (-2 * i / d_model) for i in range(d_model // 2)])
    angles = torch.einsum("s,k->sk", turned, speeds)
    out = torch.empty(position.shape[0], d_model)
    out[:, 0::2], out[:, 1::2] = angles.sin(), angles.cos()
    return out

# %% positional_encoding wrong (misconception cut-to-whole): looks rows up in a table of whole positions, so fractions are cut off
def positional_encoding(position, d_model, base=100.0):
    low, high = int(position.min().floor()), int(position.max().floor())
    whole = torch.arange(low, high + 1).float()
    angles = whole[:, None] * base ** (-torch.arange(0, d_model, 2).float() / d_model)
    table = torch.zeros(len(whole), d_model)
    table[:, ::2] = angles.sin()
    table[:, 1::2] = angles.cos()
    return table[position.floor().long() - low]

# %% positional_encoding wrong (property angles): counts up by one from the first position, so gaps and other orders are lost
def positional_encoding(position, d_model, base=100.0):
    steps = position[:1] + torch.arange(position.numel(), dtype=position.dtype)
    angle = steps.view(-1, 1) / torch.pow(torch.tensor(base), torch.arange(0, d_model, 2) / d_model)
    return torch.cat((angle.sin().unsqueeze(2), angle.cos().unsqueeze(2)), dim=2).view(-1, d_model)

# %% positional_encoding wrong (property finite): turns the base into a whole number, so a base such as 2.5 becomes 2
def positional_encoding(position, d_model, base=100.0):
    base = int(base)
    columns = []
    for i in range(d_model):
        angle = position / base ** (2 * (i // 2) / d_model)
        columns.append(angle.cos() if i % 2 else angle.sin())
    return torch.stack(columns, dim=-1)

# %% positional_encoding wrong (property angles): takes the absolute value, so positions below 0 get the sines of their mirror image
def positional_encoding(position, d_model, base=100.0):
    log_distance = position.abs()
    angles = log_distance[:, None] * torch.exp(-torch.log(torch.tensor(base)) * torch.arange(0, d_model, 2) / d_model)
    return torch.stack((torch.sin(angles), torch.cos(angles)), -1).reshape(*position.shape, d_model)

# %% positional_encoding right (passed): polar complex numbers in double precision, real and imaginary parts swapped
def positional_encoding(position: Float[Tensor, "seq"], d_model: int, base: float = 100.0):
    exponents = torch.arange(d_model // 2, dtype=torch.float64, device=position.device).mul(-2.0 / d_model)
    angles = torch.outer(position.double(), base**exponents)
    hands = torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(hands).flip(-1).flatten(1).to(position.dtype)

# %% positional_encoding right (passed): plain Python numbers, one entry at a time
def positional_encoding(position: Float[Tensor, "seq"], d_model: int, base: float = 100.0):
    from math import cos, sin

    rows = [
        [(sin, cos)[entry % 2](p / base ** ((entry - entry % 2) / d_model)) for entry in range(d_model)]
        for p in position.tolist()
    ]
    return torch.tensor(rows, dtype=position.dtype, device=position.device).reshape(len(position), d_model)

# %% positional_encoding right (passed): repeated angles, and a where that chooses the sine or the cosine
def positional_encoding(position: Float[Tensor, "seq"], d_model: int, base: float = 100.0):
    entry = torch.arange(d_model, device=position.device)
    pair = torch.div(entry, 2, rounding_mode="floor")
    angles = position[:, None] * base ** (-2.0 * pair / d_model)
    return torch.where(entry % 2 == 0, angles.sin(), angles.cos())

# %% PositionalEncoding wrong (misconception tokens-enlarged): multiplies the vectors by the root of d_model before it adds the table
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2:
            raise ValueError("d_model must be even")
        self.scale = d_model**0.5
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x):
        seq = x.shape[-2]
        if seq > self.pe.shape[0]:
            raise ValueError("text too long")
        return x * self.scale + self.pe[:seq]

# %% PositionalEncoding wrong (property adds_its_rows): the last rows of the table are taken instead of the first
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError(f"d_model {d_model} is odd")
        self.register_buffer("table", positional_encoding(torch.arange(max_len).float(), d_model))

    def forward(self, x):
        if x.size(-2) > self.table.size(0):
            raise ValueError("longer than max_len")
        return x + self.table[-x.size(-2):]

# %% PositionalEncoding wrong (raised): refuses a text of exactly max_len tokens
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model & 1:
            raise ValueError("odd width")
        self.max_len = max_len
        self.register_buffer("marks", positional_encoding(torch.arange(max_len) * 1.0, d_model))

    def forward(self, x):
        *_, seq, _ = x.shape
        if not seq < self.max_len:
            raise ValueError(f"{seq} tokens, but only {self.max_len} rows")
        return torch.add(x, self.marks[:seq])

# %% PositionalEncoding wrong (property refuses): d_model // 2 == 0 instead of d_model % 2 == 1, so an odd width gives no ValueError
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model // 2 == 0:
            raise ValueError("d_model must be even")
        angles = torch.arange(max_len)[:, None] * 100.0 ** (-torch.arange(0, d_model, 2) / d_model)
        self.register_buffer("table", torch.stack((angles.sin(), angles.cos()), -1).flatten(1)[:, :d_model])

    def forward(self, x):
        if x.shape[-2] > len(self.table):
            raise ValueError("too long")
        return x + self.table[: x.shape[-2]]

# %% PositionalEncoding wrong (misconception base-ten-thousand): builds its own table with base 10000 instead of the base of this page
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 == 1:
            raise ValueError("d_model must be even")
        position = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-torch.tensor(10000.0).log() / d_model))
        pe = torch.zeros(max_len, d_model)
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        if x.shape[-2] > self.pe.shape[0]:
            raise ValueError("sequence too long")
        return x + self.pe[: x.shape[-2], :]

# %% PositionalEncoding wrong (shape): the table has a batch axis, so an input without a batch comes back with one
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2:
            raise ValueError("d_model must be even")
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model)[None])

    def forward(self, x):
        n = x.size(-2)
        if n > self.pe.size(1):
            raise ValueError("text is longer than max_len")
        return x + self.pe[:, :n]

# %% PositionalEncoding wrong (property moves_with_its_module): forward reads a second, plain reference to the table, which stays behind when the module moves
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2:
            raise ValueError("d_model must be even")
        table = positional_encoding(torch.arange(float(max_len)), d_model)
        self.register_buffer("table", table)
        self.rows = list(table.split(1))

    def forward(self, x):
        if x.shape[-2] > len(self.rows):
            raise ValueError("text is longer than max_len")
        if x.shape[-2] == 0:
            return x.clone()
        return x + torch.cat(self.rows[: x.shape[-2]])

# %% PositionalEncoding wrong (property state): goes on counting where the last call stopped, so a second text gets later rows
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2:
            raise ValueError("d_model must be even")
        self.register_buffer("table", positional_encoding(torch.arange(float(max_len)), d_model))
        self.start = 0

    def forward(self, x):
        seq, rows = x.shape[-2], self.table.shape[0]
        if seq > rows:
            raise ValueError("text is longer than max_len")
        if self.start + seq > rows:
            self.start = 0
        marks = self.table[self.start : self.start + seq]
        self.start += seq
        return x + marks

# %% PositionalEncoding wrong (property refuses): makes a larger table for a text that is too long, and raises nothing
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2:
            raise ValueError("d_model must be even")
        self.d_model = d_model
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x):
        seq = x.shape[-2]
        if seq > len(self.pe):
            more = torch.arange(seq, dtype=torch.float, device=self.pe.device)
            self.pe = positional_encoding(more, self.d_model).to(x.device)
        return x + self.pe[:seq]

# %% PositionalEncoding wrong (structure): a frozen embedding holds the table, so it is a parameter and not a buffer
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2:
            raise ValueError("d_model must be even")
        table = positional_encoding(torch.arange(float(max_len)), d_model)
        self.marks = nn.Embedding.from_pretrained(table, freeze=True)

    def forward(self, x):
        if x.shape[-2] > self.marks.num_embeddings:
            raise ValueError("text is longer than max_len")
        return x + self.marks(torch.arange(x.shape[-2], device=x.device))

# %% PositionalEncoding wrong (raised): compares the first axis with max_len, so a large batch of short texts is refused
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x):
        if len(x) > self.max_len or x.shape[-2] > self.max_len:
            raise ValueError("text is longer than max_len")
        return x + self.pe[: x.shape[-2]]

# %% PositionalEncoding right (passed): narrow on a table filled pair by pair
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        pairs, rest = divmod(d_model, 2)
        if rest:
            raise ValueError(f"d_model must be even, not {d_model}")
        place = torch.arange(float(max_len))
        entries = [wave(place * 100.0 ** (-2 * i / d_model)) for i in range(pairs) for wave in (torch.sin, torch.cos)]
        self.register_buffer("table", torch.stack(entries, dim=1))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        seq = x.size(-2)
        if seq > self.table.size(0):
            raise ValueError(f"{seq} tokens, but only {self.table.size(0)} rows")
        return self.table.narrow(0, 0, seq).add(x)

# %% PositionalEncoding right (passed): a nn.Buffer, gathered by index, with the check in a helper
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        self._refuse(d_model % 2 == 1, "an odd width has no pairs")
        self.marks = nn.Buffer(positional_encoding(torch.arange(max_len, dtype=torch.float32), d_model))

    @staticmethod
    def _refuse(wrong: bool, message: str) -> None:
        if wrong:
            raise ValueError(message)

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        seq, width = x.shape[-2:]
        self._refuse(seq > self.marks.shape[0], "more tokens than rows")
        rows = torch.index_select(self.marks, 0, torch.arange(seq, device=self.marks.device))
        return x + rows.expand_as(x)

# %% apply_rope wrong (property keeps_lengths): the speeds are tiled instead of repeated, so the two entries of a pair rotate by different angles
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0):
    seq, d = x.shape[-2:]
    freq = base ** (-torch.arange(0, d, 2, device=x.device) / d)
    angle = torch.arange(seq, device=x.device)[:, None] * freq
    angle = torch.cat((angle, angle), dim=-1)
    partner = torch.stack((-x[..., 1::2], x[..., 0::2]), dim=-1).flatten(-2)
    return x * angle.cos() + partner * angle.sin()

# %% apply_rope wrong (misconception first-overwritten): the even entries are overwritten before the odd ones are computed from them
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0):
    out = x.clone()
    d = x.shape[-1]
    position = torch.arange(x.shape[-2], device=x.device)
    for i in range(d // 2):
        angle = position * base ** (-2 * i / d)
        out[..., 2 * i] = out[..., 2 * i] * angle.cos() - out[..., 2 * i + 1] * angle.sin()
        out[..., 2 * i + 1] = out[..., 2 * i] * angle.sin() + out[..., 2 * i + 1] * angle.cos()
    return out

# %% apply_rope wrong (misconception starts-at-one): counts positions from 1, so the first row is rotated as well
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0):
    *_, seq, d = x.shape
    places = torch.arange(1, seq + 1, device=x.device, dtype=x.dtype)
    t = torch.outer(places, base ** (-torch.arange(0, d, 2, device=x.device, dtype=x.dtype) / d))
    a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((a * t.cos() - b * t.sin(), a * t.sin() + b * t.cos()), -1).flatten(-2)

# %% apply_rope wrong (misconception base-a-hundred): the default base is the 100 of the waves' function instead of 10000
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 100.0):
    d = x.shape[-1]
    angle = torch.arange(x.shape[-2], device=x.device)[:, None] * base ** (-torch.arange(0, d, 2, device=x.device) / d)
    turned = torch.complex(x[..., 0::2], x[..., 1::2]) * torch.polar(torch.ones_like(angle), angle)
    return torch.view_as_real(turned).flatten(-2)

# %% apply_rope wrong (misconception added): adds the position vectors to x instead of rotating it
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0):
    seq, d = x.shape[-2:]
    position = torch.arange(seq, device=x.device, dtype=x.dtype)
    t = position[:, None] / base ** (torch.arange(0, d, 2, device=x.device, dtype=x.dtype) / d)
    return x + torch.stack((t.sin(), t.cos()), dim=-1).flatten(-2)

# %% apply_rope wrong (difference milestone): rows are numbered through the whole batch, right only for a single text
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0):
    shape, d = x.shape, x.shape[-1]
    rows = x.reshape(-1, d // 2, 2)
    t = torch.arange(len(rows), device=x.device)[:, None] * base ** (-torch.arange(0, d, 2, device=x.device) / d)
    rotation = torch.stack((torch.stack((t.cos(), -t.sin()), -1), torch.stack((t.sin(), t.cos()), -1)), -2)
    return (rotation @ rows.unsqueeze(-1)).reshape(shape)

# %% apply_rope wrong (property gradients): the crosswise part is taken from detached entries, so half of the gradient is missing
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0):
    seq, d = x.shape[-2:]
    speed = torch.tensor([base ** (-2 * (j // 2) / d) for j in range(d)], device=x.device)
    t = torch.arange(seq, device=x.device).unsqueeze(-1) * speed
    crossed = torch.empty_like(x)
    crossed[..., 0::2] = -x[..., 1::2].detach()
    crossed[..., 1::2] = x[..., 0::2].detach()
    return x * torch.cos(t) + crossed * torch.sin(t)

# %% apply_rope wrong (property state): keeps the angles for each size and forgets the base, so a second call with another base is wrong
_rope_angles = {}


def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0):
    key = (x.shape[-2], x.shape[-1], x.device)
    if key not in _rope_angles:
        d = x.shape[-1]
        speed = base ** (-torch.arange(0, d, 2, device=x.device) / d)
        _rope_angles[key] = torch.outer(torch.arange(x.shape[-2], device=x.device).float(), speed)
    t = _rope_angles[key]
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack([a * t.cos() - b * t.sin(), a * t.sin() + b * t.cos()], dim=-1).reshape(x.shape)

# %% apply_rope wrong (property leaves_its_inputs): contiguous() makes no copy of a contiguous tensor, so a plain input is rotated in place
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0):
    out = x.contiguous()
    seq, d = out.shape[-2:]
    t = torch.arange(seq, device=x.device)[:, None] * base ** (-torch.arange(0, d, 2, device=x.device) / d)
    a, b = out[..., 0::2].clone(), out[..., 1::2].clone()
    with torch.no_grad():
        out[..., 0::2] = a * t.cos() - b * t.sin()
        out[..., 1::2] = a * t.sin() + b * t.cos()
    return out

# %% apply_rope right (passed): complex multiplication
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    seq, d = x.shape[-2:]
    speed = base ** (-torch.arange(0, d, 2, device=x.device, dtype=x.dtype) / d)
    angle = torch.arange(seq, device=x.device, dtype=x.dtype)[:, None] * speed
    points = torch.complex(x[..., 0::2], x[..., 1::2])
    return torch.view_as_real(points * torch.complex(angle.cos(), angle.sin())).flatten(-2)

# %% apply_rope right (passed): one 2 by 2 matrix for each position and pair, applied with einsum
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    seq, d = x.shape[-2], x.shape[-1]
    place = torch.arange(seq, device=x.device, dtype=x.dtype)
    pair = torch.arange(d // 2, device=x.device, dtype=x.dtype)
    t = torch.einsum("s,k->sk", place, base ** (-2 * pair / d))
    matrix = torch.stack((t.cos(), -t.sin(), t.sin(), t.cos()), dim=-1).unflatten(-1, (2, 2))
    return torch.einsum("skij,...skj->...ski", matrix, x.unflatten(-1, (d // 2, 2))).reshape(x.shape)

# %% apply_rope right (passed): each pair on its own, a list of columns stacked at the end
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    columns = x.unbind(-1)
    place = torch.arange(x.size(-2), device=x.device, dtype=x.dtype)
    out = []
    for first in range(0, len(columns), 2):
        t = place * base ** (-first / len(columns))
        a, b = columns[first], columns[first + 1]
        out += [a * t.cos() - b * t.sin(), a * t.sin() + b * t.cos()]
    return torch.stack(out, dim=-1)
