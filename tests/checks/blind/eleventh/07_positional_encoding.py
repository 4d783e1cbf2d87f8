# %% positional_encoding wrong (misconception halves): sines fill the first half of the row and cosines the second half, instead of even and odd entries
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    speeds = base ** (-torch.arange(0, d_model, 2, device=position.device) / d_model)
    angles = position[:, None] * speeds
    return torch.cat((angles.sin(), angles.cos()), dim=-1)


# %% positional_encoding wrong (property angles): the exponents are spread evenly from 0 to 1/2, right for d_model 2 and 4 only (wrong from d_model 6 on)
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    half = d_model // 2
    exponent = torch.linspace(0, 0.5, half, device=position.device) if half > 1 else torch.zeros(1, device=position.device)
    angles = position[:, None] / base**exponent
    pe = torch.empty(len(position), d_model, device=position.device)
    pe[:, 0::2], pe[:, 1::2] = angles.sin(), angles.cos()
    return pe


# %% positional_encoding wrong (property angles): builds each next row by rotating the row before by one step, so steps other than 1 (gaps, descending order, fractions) are ignored after the first position
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    speeds = base ** (-torch.arange(0, d_model, 2, dtype=torch.float32, device=position.device) / d_model)
    angle = position[0] * speeds
    s, c = angle.sin(), angle.cos()
    ds, dc = speeds.sin(), speeds.cos()
    rows = []
    for _ in range(len(position)):
        rows.append(torch.stack((s, c), dim=-1).flatten())
        s, c = s * dc + c * ds, c * dc - s * ds
    return torch.stack(rows)


# %% positional_encoding right (passed): one angle for every entry, and a cosine is chosen by where() on the parity
def positional_encoding(
    position: Float[Tensor, "seq"], d_model: int, base: float = 100.0
) -> Float[Tensor, "seq d_model"]:
    """Return each position's sinusoids; entries 2i, 2i + 1 rotate by base ** (-2i / d_model) radians per position."""
    entry = torch.arange(d_model, device=position.device)
    pair = torch.div(entry, 2, rounding_mode="floor")
    exponent = (-2.0 * pair).to(position.dtype) / d_model
    angle = torch.outer(position, torch.pow(base, exponent))
    return torch.where(entry % 2 == 0, torch.sin(angle), torch.cos(angle))


# %% PositionalEncoding wrong (property leaves_its_inputs): adds the rows to the caller's x in place, so the input is changed
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 != 0:
            raise ValueError("d_model must be even")
        self.register_buffer("pe", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        seq = x.shape[-2]
        if seq > self.pe.shape[0]:
            raise ValueError("text too long")
        x += self.pe[:seq]
        return x


# %% PositionalEncoding wrong (property refuses): compares the length with max_len after broadcasting the rows, so max_len 1 (a table of one row) is added to longer texts without an error
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2:
            raise ValueError("d_model must be even")
        self.register_buffer("table", positional_encoding(torch.arange(float(max_len)), d_model))

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        try:
            return x + self.table[: x.shape[-2]]
        except RuntimeError:
            raise ValueError("the text is longer than max_len") from None


# %% PositionalEncoding wrong (property moves_with_its_module): the table sits in a plain list of rows, so .to(device) and .double() do not move it (shows after moving the module)
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2:
            raise ValueError("d_model must be even")
        self.max_len = max_len
        self.rows = [positional_encoding(torch.arange(float(max_len)), d_model)]

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        if x.shape[-2] > self.max_len:
            raise ValueError("the text is longer than max_len")
        return x + self.rows[0][: x.shape[-2]]


# %% PositionalEncoding right (passed): looks the rows up by index with F.embedding, non-persistent buffer
class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 5000):
        super().__init__()
        if d_model % 2 == 1:
            raise ValueError(f"d_model must be even, got {d_model}")
        self.d_model, self.max_len = d_model, max_len
        self.register_buffer("rows", positional_encoding(torch.arange(max_len).float(), d_model), persistent=False)

    def forward(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        *_, seq, width = x.size()
        if seq > self.max_len:
            raise ValueError(f"{seq} positions, but the table has {self.max_len} rows")
        index = torch.arange(seq, device=self.rows.device)
        return torch.add(nn.functional.embedding(index, self.rows), x)


# %% apply_rope wrong (misconception halves-as-pairs): pairs entry i with entry i + d_head / 2 (the GPT-NeoX layout), not neighbouring entries
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d, 2, device=x.device, dtype=torch.float32) / d)
    angle = torch.arange(seq, device=x.device)[:, None] * speeds
    cos, sin = angle.cos(), angle.sin()
    a, b = x[..., : d // 2], x[..., d // 2 :]
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


# %% apply_rope wrong (property works_where_its_input_is): keeps the tables of angles in a cache whose key is only the width and base, so a longer text after a shorter one reuses positions modulo the cached length
_rope_cache = {}


def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d = x.shape[-2:]
    key = (d, base)
    if key not in _rope_cache:
        _rope_cache[key] = base ** (-torch.arange(0, d, 2, device=x.device, dtype=torch.float32) / d), max(seq, 64)
    speeds, length = _rope_cache[key]
    positions = torch.arange(seq, device=x.device) % length
    angle = positions[:, None] * speeds
    cos, sin = angle.cos(), angle.sin()
    out = torch.empty_like(x)
    out[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
    out[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
    return out


# %% apply_rope wrong (difference milestone): flattens the leading axes into the positions: right for [seq, d] and one text with one head, but positions run on over the texts of a batch
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    d = x.shape[-1]
    flat = x.reshape(-1, d)
    speeds = base ** (-torch.arange(0, d, 2, device=x.device, dtype=torch.float32) / d)
    angle = torch.arange(len(flat), device=x.device)[:, None] * speeds
    a, b = flat[:, 0::2], flat[:, 1::2]
    pairs = torch.stack((a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()), dim=-1)
    return pairs.reshape(x.shape)


# %% apply_rope right (passed): multiplies each pair by a 2 x 2 rotation matrix with einsum
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    """Rotate each pair of entries by its position times base ** (-2i / d_head)."""
    seq, d = x.shape[-2], x.shape[-1]
    work = torch.promote_types(x.dtype, torch.float32)
    position = torch.arange(seq, dtype=work, device=x.device)
    speed = torch.exp(-torch.arange(0, d, 2, dtype=work, device=x.device) / d * torch.tensor(base, dtype=work, device=x.device).log())
    t = torch.einsum("s,i->si", position, speed)
    c, s = torch.cos(t), torch.sin(t)
    turn = torch.stack((torch.stack((c, -s), dim=-1), torch.stack((s, c), dim=-1)), dim=-2).to(x.dtype)
    return torch.einsum("siab,...sib->...sia", turn, x.unflatten(-1, (d // 2, 2))).flatten(-2)




# %% rotate_texts/seq-first wrong (misconception as-in-the-lesson): takes the second axis for the position, as in the lesson
def rotate_texts(x: Tensor, base: float) -> Tensor:
    """Return the rotated vectors, as your task says."""
    seq, d = x.shape[-2:]
    speeds = base ** (-torch.arange(0, d, 2, device=x.device) / d)
    angles = torch.arange(seq, device=x.device)[:, None] * speeds
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), dim=-1).flatten(-2)


# %% rotate_texts/seq-first wrong (misconception base-ignored): subtle, ignores base and always uses 10000, the default of the lesson: right for base 10000
def rotate_texts(x: Tensor, base: float) -> Tensor:
    """Return the rotated vectors, as your task says."""
    seq, _, d = x.shape
    speeds = 10000.0 ** (-torch.arange(0, d, 2, device=x.device) / d)
    angles = (torch.arange(seq, device=x.device)[:, None] * speeds)[:, None]
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), dim=-1).flatten(-2)


# %% rotate_texts/seq-first right (passed): writes even and odd entries into a new tensor, angles [seq, 1, d / 2]
def rotate_texts(x: Tensor, base: float) -> Tensor:
    """Return the rotated vectors, as your task says."""
    seq, _, d = x.shape
    i = torch.arange(d // 2, dtype=x.dtype, device=x.device)
    p = torch.arange(seq, dtype=x.dtype, device=x.device)
    angles = p.view(seq, 1, 1) * base ** (-2 * i / d)
    out = torch.empty_like(x)
    out[..., 0::2] = x[..., 0::2] * angles.cos() - x[..., 1::2] * angles.sin()
    out[..., 1::2] = x[..., 0::2] * angles.sin() + x[..., 1::2] * angles.cos()
    return out


# %% rotate_texts/halves wrong (misconception other-direction): pairs halves, but rotates clockwise, from the second half towards the first
def rotate_texts(x: Tensor, base: float) -> Tensor:
    """Return the rotated vectors, as your task says."""
    seq, d = x.shape[-2:]
    angles = torch.arange(seq, device=x.device)[:, None] * base ** (-2 * torch.arange(d // 2, device=x.device) / d)
    a, b = x[..., : d // 2], x[..., d // 2 :]
    return torch.cat((a * angles.cos() + b * angles.sin(), b * angles.cos() - a * angles.sin()), dim=-1)


# %% rotate_texts/halves wrong (raised): subtle, split takes the size of a part, not the number of parts: right for d = 4, an error for other d
def rotate_texts(x: Tensor, base: float) -> Tensor:
    """Return the rotated vectors, as your task says."""
    seq, d = x.shape[-2:]
    angles = torch.arange(seq, device=x.device)[:, None] * base ** (-2 * torch.arange(d // 2, device=x.device) / d)
    a, b = x.split(2, dim=-1)
    return torch.cat((a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), dim=-1)


# %% rotate_texts/halves right (passed): x times cos plus the exchanged halves times sin
def rotate_texts(x: Tensor, base: float) -> Tensor:
    """Return the rotated vectors, as your task says."""
    half = x.shape[-1] // 2
    speeds = torch.tensor([base ** (-2 * i / x.shape[-1]) for i in range(half)], dtype=x.dtype, device=x.device)
    angles = torch.outer(torch.arange(x.shape[1], dtype=x.dtype, device=x.device), speeds).repeat(1, 2)
    exchanged = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * angles.cos() + exchanged * angles.sin()


# %% rotate_texts/from-the-end wrong (misconception last-is-one): the last token has position 1 instead of 0
def rotate_texts(x: Tensor, base: float) -> Tensor:
    """Return the rotated vectors, as your task says."""
    seq, d = x.shape[-2:]
    positions = torch.arange(seq, 0, -1, device=x.device)
    angles = positions[:, None] * base ** (-torch.arange(0, d, 2, device=x.device) / d)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), dim=-1).flatten(-2)


# %% rotate_texts/from-the-end wrong (difference milestone): subtle, counts back from len(x), the number of texts: right if there are as many texts as positions
def rotate_texts(x: Tensor, base: float) -> Tensor:
    """Return the rotated vectors, as your task says."""
    seq, d = x.shape[-2:]
    positions = len(x) - 1 - torch.arange(seq, device=x.device)
    angles = positions[:, None] * base ** (-torch.arange(0, d, 2, device=x.device) / d)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), dim=-1).flatten(-2)


# %% rotate_texts/from-the-end right (passed): reverses the texts, rotates as in the lesson, and reverses back
def rotate_texts(x: Tensor, base: float) -> Tensor:
    """Return the rotated vectors, as your task says."""
    backwards = x.flip(1)
    d = x.shape[-1]
    i = torch.arange(0, d, 2, dtype=x.dtype, device=x.device)
    angles = torch.arange(x.shape[1], dtype=x.dtype, device=x.device).unsqueeze(1) / base ** (i / d)
    a, b = backwards.unflatten(-1, (-1, 2)).unbind(-1)
    rotated = torch.stack((a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), dim=-1)
    return rotated.flatten(-2).flip(1)


# %% rotate_texts/first-half wrong (misconception second-half-left-out): rotates the first half, but returns only this half
def rotate_texts(x: Tensor, base: float) -> Tensor:
    """Return the rotated vectors, as your task says."""
    n = x.shape[-1] // 2
    angles = torch.arange(x.shape[1], device=x.device)[:, None] * base ** (-torch.arange(0, n, 2, device=x.device) / n)
    a, b = x[..., 0:n:2], x[..., 1:n:2]
    return torch.stack((a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), dim=-1).flatten(-2)


# %% rotate_texts/first-half wrong (misconception half-the-exponent): subtle, the exponents divide by d instead of n: right for d = 4, where only one pair rotates
def rotate_texts(x: Tensor, base: float) -> Tensor:
    """Return the rotated vectors, as your task says."""
    d = x.shape[-1]
    n = d // 2
    angles = torch.arange(x.shape[1], device=x.device)[:, None] * base ** (-torch.arange(0, n, 2, device=x.device) / d)
    a, b = x[..., 0:n:2], x[..., 1:n:2]
    rotated = torch.stack((a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), dim=-1).flatten(-2)
    return torch.cat((rotated, x[..., n:]), dim=-1)


# %% rotate_texts/first-half right (passed): pairs as complex numbers; a rotation is a product
def rotate_texts(x: Tensor, base: float) -> Tensor:
    """Return the rotated vectors, as your task says."""
    n = x.shape[-1] // 2
    i = torch.arange(n // 2, dtype=x.dtype, device=x.device)
    p = torch.arange(x.shape[1], dtype=x.dtype, device=x.device)
    angles = p[:, None] * base ** (-2 * i / n)
    pairs = torch.complex(x[..., 0:n:2], x[..., 1:n:2]) * torch.polar(torch.ones_like(angles), angles)
    return torch.cat((torch.view_as_real(pairs).flatten(-2), x[..., n:]), dim=-1)
