# %% positional_encoding wrong (property angles): whole-number division makes every exponent 0, so all hands have the same speed
def positional_encoding(position, d_model, base=100.0):
    exponent = torch.arange(0, d_model, 2, device=position.device) // d_model
    angle = position[:, None] / base**exponent
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)

# %% positional_encoding wrong (property angles): multiplies the position by the power of the base, so later hands are faster
def positional_encoding(position: Float[Tensor, "seq"], d_model: int, base: float = 100.0) -> Float[Tensor, "seq d_model"]:
    pe = position.new_zeros(len(position), d_model)
    for i in range(d_model // 2):
        angle = position * base ** (2 * i / d_model)
        pe[:, 2 * i] = torch.sin(angle)
        pe[:, 2 * i + 1] = torch.cos(angle)
    return pe

# %% positional_encoding wrong (property angles): reshapes the list of columns where it should be transposed
def positional_encoding(position, d_model, base=100.0):
    columns = []
    for i in range(0, d_model, 2):
        angle = position / base ** (i / d_model)
        columns += [torch.sin(angle), torch.cos(angle)]
    return torch.stack(columns).reshape(len(position), d_model)

# %% positional_encoding wrong (property angles): counts from the smallest position of the list instead of from 0
def positional_encoding(position, d_model, base=100.0):
    position = position - position.min()
    speed = base ** (-torch.arange(0, d_model, 2, device=position.device) / d_model)
    angle = torch.outer(position, speed)
    return torch.stack([torch.sin(angle), torch.cos(angle)], dim=2).reshape(-1, d_model)

# %% positional_encoding wrong (property angles): a fraction gets a straight mix of the rows of the two whole positions around it
def positional_encoding(position, d_model, base=100.0):
    def whole(p):
        angle = p.unsqueeze(1) * base ** (-torch.arange(0, d_model, 2, device=p.device) / d_model)
        return torch.stack((angle.sin(), angle.cos()), -1).flatten(-2)

    below = position.floor()
    return torch.lerp(whole(below), whole(below + 1), (position - below).unsqueeze(1))

# %% positional_encoding wrong (property angles): sorts the positions first, so rows of an unordered list are in the wrong places
def positional_encoding(position, d_model, base=100.0):
    ordered = torch.sort(position).values
    rates = torch.tensor([base ** (-2 * i / d_model) for i in range(d_model // 2)], device=position.device)
    table = torch.empty(len(ordered), d_model, device=position.device)
    table[:, 0::2] = (ordered[:, None] * rates).sin()
    table[:, 1::2] = (ordered[:, None] * rates).cos()
    return table

# %% positional_encoding right (passed): complex exponentials, whose imaginary parts are put before the real parts
def positional_encoding(position, d_model, base=100.0):
    speed = base ** (-torch.arange(0, d_model, 2, device=position.device, dtype=torch.float64) / d_model)
    angle = torch.outer(position.double(), speed)
    tips = torch.polar(torch.ones_like(angle), angle)
    return torch.view_as_real(tips).flip(-1).flatten(1).to(position.dtype)

# %% positional_encoding right (passed): one comprehension over pairs and functions, stacked as columns
def positional_encoding(position, d_model, base=100.0):
    return torch.stack(
        [wave(position / base ** (2 * i / d_model)) for i in range(d_model // 2) for wave in (torch.sin, torch.cos)],
        dim=1,
    )

# %% apply_rope wrong (misconception first-overwritten): overwrites the first entry before the second one is computed from it
def apply_rope(x, base=10000.0):
    seq, d = x.shape[-2:]
    speed = base ** (-torch.arange(0, d, 2, device=x.device) / d)
    angle = torch.arange(seq, device=x.device)[:, None] * speed
    cos, sin = angle.cos(), angle.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    a = a * cos - b * sin
    b = a * sin + b * cos
    return torch.stack((a, b), dim=-1).flatten(-2)

# %% apply_rope wrong (raised): takes the positions from axis 1, which is the sequence only in [batch, seq, d_head]
def apply_rope(x, base=10000.0):
    d_head = x.size(-1)
    positions = torch.arange(x.size(1), device=x.device).float()
    angle = torch.outer(positions, base ** (-torch.arange(0, d_head, 2, device=x.device) / d_head))
    even, odd = x[..., ::2], x[..., 1::2]
    out = torch.empty_like(x)
    out[..., ::2] = even * angle.cos() - odd * angle.sin()
    out[..., 1::2] = even * angle.sin() + odd * angle.cos()
    return out

# %% apply_rope wrong (property keeps_lengths): the exponents are spread evenly from 0 to 1 and reach 1 at the last pair
def apply_rope(x: Float[Tensor, "... seq d_head"], base: float = 10000.0) -> Float[Tensor, "... seq d_head"]:
    seq, d_head = x.shape[-2], x.shape[-1]
    exponents = torch.linspace(0, 1, d_head // 2, device=x.device)
    angles = torch.arange(seq, device=x.device).unsqueeze(1) / base**exponents
    pairs = x.unflatten(-1, (-1, 2))
    a, b = pairs.unbind(-1)
    return torch.stack((a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), -1).flatten(-2)

# %% apply_rope wrong (property state): remembers the angles by the sizes alone, so a second base gets the angles of the first
_rope_angles = {}


def apply_rope(x, base=10000.0):
    seq, d = x.shape[-2:]
    key = (seq, d, x.device, x.dtype)
    if key not in _rope_angles:
        speed = base ** (-torch.arange(0, d, 2, device=x.device) / d)
        angle = torch.outer(torch.arange(seq, device=x.device).float(), speed).to(x.dtype)
        _rope_angles[key] = angle.cos(), angle.sin()
    cos, sin = _rope_angles[key]
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).reshape(x.shape)

# %% apply_rope wrong (property lets_gradients_through): the whole function runs without gradients, because positions are not trained
@torch.no_grad()
def apply_rope(x, base=10000.0):
    seq, d = x.shape[-2:]
    speed = base ** (-torch.arange(0, d, 2, device=x.device) / d)
    angle = (torch.arange(seq, device=x.device)[:, None] * speed).repeat_interleave(2, dim=-1)
    turned = torch.stack((-x[..., 1::2], x[..., 0::2]), dim=-1).flatten(-2)
    return x * angle.cos() + turned * angle.sin()

# %% apply_rope wrong (property keeps_lengths): takes full circles of 6.28 off the angles, so the error grows with each circle
def apply_rope(x, base=10000.0):
    seq, d = x.shape[-2:]
    angle = torch.arange(seq, device=x.device)[:, None] * base ** (-torch.arange(0, d, 2, device=x.device) / d)
    angle = angle % (2 * 3.14)
    c, s = torch.cos(angle), torch.sin(angle)
    a, b = x.unflatten(-1, (d // 2, 2)).unbind(dim=-1)
    return torch.stack((c * a - s * b, s * a + c * b), dim=-1).flatten(start_dim=-2)

# %% apply_rope right (passed): pairs as complex numbers, multiplied by unit numbers
def apply_rope(x, base=10000.0):
    seq, d = x.shape[-2:]
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    speed = base ** (-torch.arange(0, d, 2, device=x.device, dtype=wide.dtype) / d)
    angle = torch.outer(torch.arange(seq, device=x.device, dtype=wide.dtype), speed)
    points = torch.view_as_complex(wide.unflatten(-1, (d // 2, 2)).contiguous())
    turned = points * torch.polar(torch.ones_like(angle), angle)
    return torch.view_as_real(turned).flatten(-2).to(x.dtype)

# %% apply_rope right (passed): a copy of x whose pairs are filled one by one in a loop
def apply_rope(x, base=10000.0):
    seq, d_head = x.shape[-2:]
    kind = torch.promote_types(x.dtype, torch.float32)
    where = torch.arange(seq, device=x.device, dtype=kind)
    out = x.clone()
    for first in range(0, d_head, 2):
        angle = where * base ** (-first / d_head)
        cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        out[..., first] = x[..., first] * cos - x[..., first + 1] * sin
        out[..., first + 1] = x[..., first] * sin + x[..., first + 1] * cos
    return out
