# %% rotate_texts/seq-first right: positions along axis 0
def rotate_texts(x, base):
    seq, batch, d = x.shape
    speeds = base ** (-torch.arange(0, d, 2) / d)
    angles = (torch.arange(seq)[:, None] * speeds)[:, None]
    first, second = x[..., 0::2], x[..., 1::2]
    pair = first * angles.cos() - second * angles.sin(), first * angles.sin() + second * angles.cos()
    return torch.stack(pair, dim=-1).flatten(2)
# %% rotate_texts/seq-first right: with the function of the lesson
def rotate_texts(x, base):
    return apply_rope(x.transpose(0, 1), base).transpose(0, 1)
# %% rotate_texts/seq-first right: one text after the other, and one position after the other
def rotate_texts(x, base):
    seq, batch, d = x.shape
    result = torch.zeros(seq, batch, d)
    for p in range(seq):
        for i in range(d // 2):
            angle = torch.tensor(p * base ** (-2 * i / d))
            a, b = x[p, :, 2 * i], x[p, :, 2 * i + 1]
            result[p, :, 2 * i] = a * angle.cos() - b * angle.sin()
            result[p, :, 2 * i + 1] = a * angle.sin() + b * angle.cos()
    return result
# %% rotate_texts/halves right: cuts the entries into two halves
def rotate_texts(x, base):
    d = x.shape[-1]
    angles = torch.arange(x.shape[1])[:, None] * base ** (-torch.arange(0, d, 2) / d)
    first, second = x.chunk(2, dim=-1)
    return torch.cat(
        (first * angles.cos() - second * angles.sin(), first * angles.sin() + second * angles.cos()), dim=-1
    )
# %% rotate_texts/halves right: multiplies all entries by the cosines, and swapped entries by the sines
def rotate_texts(x, base):
    n = x.shape[2] // 2
    angles = torch.outer(torch.arange(x.shape[1]).float(), 1 / base ** (torch.arange(n) / n))
    angles = torch.cat((angles, angles), dim=1)
    swapped = torch.cat((-x[..., n:], x[..., :n]), dim=2)
    return x * angles.cos() + swapped * angles.sin()
# %% rotate_texts/halves right: sorts the entries, and uses the function of the lesson
def rotate_texts(x, base):
    d = x.shape[-1]
    order = torch.stack((torch.arange(d // 2), torch.arange(d // 2, d)), dim=1).flatten()
    return apply_rope(x[..., order], base)[..., order.argsort()]
# %% rotate_texts/from-the-end right: counts down
def rotate_texts(x, base):
    seq, d = x.shape[1:]
    speeds = base ** (-torch.arange(0, d, 2) / d)
    angles = torch.arange(seq - 1, -1, -1)[:, None] * speeds
    first, second = x[..., 0::2], x[..., 1::2]
    pair = first * angles.cos() - second * angles.sin(), first * angles.sin() + second * angles.cos()
    return torch.stack(pair, dim=-1).flatten(2)
# %% rotate_texts/from-the-end right: reverses the text twice
def rotate_texts(x, base):
    return apply_rope(x.flip(1), base).flip(1)
# %% rotate_texts/from-the-end right: one token after the other
def rotate_texts(x, base):
    seq, d = x.shape[1:]
    result = x.clone()
    for j in range(seq):
        for i in range(d // 2):
            angle = torch.tensor((seq - 1 - j) * base ** (-2 * i / d))
            a, b = x[:, j, 2 * i], x[:, j, 2 * i + 1]
            result[:, j, 2 * i] = a * angle.cos() - b * angle.sin()
            result[:, j, 2 * i + 1] = a * angle.sin() + b * angle.cos()
    return result
# %% rotate_texts/first-half right: rotates the first half and joins the parts
def rotate_texts(x, base):
    n = x.shape[-1] // 2
    angles = torch.arange(x.shape[1])[:, None] * base ** (-torch.arange(0, n, 2) / n)
    first, second = x[..., 0:n:2], x[..., 1:n:2]
    pair = first * angles.cos() - second * angles.sin(), first * angles.sin() + second * angles.cos()
    return torch.cat((torch.stack(pair, dim=-1).flatten(2), x[..., n:]), dim=-1)
# %% rotate_texts/first-half right: with the function of the lesson
def rotate_texts(x, base):
    half = x.shape[2] // 2
    return torch.cat([apply_rope(x[:, :, :half], base), x[:, :, half:]], dim=2)
# %% rotate_texts/first-half right: overwrites the pairs of a copy
def rotate_texts(x, base):
    n, result = x.shape[-1] // 2, x.clone()
    for i in range(n // 2):
        angles = torch.arange(x.shape[1]) * base ** (-2 * i / n)
        a, b = x[..., 2 * i], x[..., 2 * i + 1]
        result[..., 2 * i] = a * angles.cos() - b * angles.sin()
        result[..., 2 * i + 1] = a * angles.sin() + b * angles.cos()
    return result


# %% rotate_texts/first-half right: d checked as the task promises
def rotate_texts(x, base):
    d = x.shape[-1]
    assert d % 4 == 0
    head, tail = x.chunk(2, -1)
    n = d // 2
    t = torch.arange(x.shape[1])[:, None] * base ** (-2 * torch.arange(n // 2) / n)
    u, v = head[..., ::2], head[..., 1::2]
    return torch.cat([torch.stack([u * t.cos() - v * t.sin(), u * t.sin() + v * t.cos()], -1).flatten(-2), tail], -1)
