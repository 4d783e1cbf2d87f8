# %% gram_determinant wrong (raised): the cross product, which three dimensions alone have
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """The squared volume that q, k and r span."""
    return (torch.cross(q, r, dim=-1) * k).sum(-1) ** 2

# %% gram_determinant wrong (misconception squares-added): the three squared dot products are added, not subtracted
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """The squared volume that q, k and r span."""
    dot = lambda a, b: (a * b).sum(-1)
    qq, kk, rr, qk, kr, qr = dot(q, q), dot(k, k), dot(r, r), dot(q, k), dot(k, r), dot(q, r)
    return qq * kk * rr + 2 * qk * kr * qr + qq * kr**2 + kk * qr**2 + rr * qk**2

# %% copy_batch wrong (difference fact): randperm, so no token comes twice within a half
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Random texts whose second half repeats the first, as (inputs, targets)."""
    if seq_len % 2 == 1:
        raise ValueError("seq_len must be even")
    n = seq_len // 2
    rows = [torch.cat([torch.randperm(vocab_size, generator=generator) for _ in range(n // vocab_size + 1)])[:n] for _ in range(batch_size)]
    text = torch.stack(rows).repeat(1, 2)
    return text[:, :-1], text[:, 1:]

# %% gram_determinant right (passed): the Gram matrix, and its determinant by a cross product
def gram_determinant(
    q: Float[Tensor, "... d"], k: Float[Tensor, "... d"], r: Float[Tensor, "... d"]
) -> Float[Tensor, "..."]:
    """The squared volume that q, k and r span."""
    M = torch.stack([q, k, r], dim=-2)
    G = torch.einsum("...id,...jd->...ij", M, M)
    a, b, c = G[..., 0, :], G[..., 1, :], G[..., 2, :]
    return (a * torch.linalg.cross(b, c, dim=-1)).sum(-1)

# %% copy_batch right (passed): numbers between 0 and 1, times vocab_size
def copy_batch(
    batch_size: int, seq_len: int, vocab_size: int, generator: torch.Generator | None = None
) -> tuple[Int[Tensor, "batch seq-1"], Int[Tensor, "batch seq-1"]]:
    """Random texts whose second half repeats the first, as (inputs, targets)."""
    if seq_len & 1:
        raise ValueError("an odd text has no halves")
    text = (torch.rand(batch_size, seq_len // 2, generator=generator) * vocab_size).long().tile(1, 2)
    return text[:, :-1].contiguous(), text[:, 1:].contiguous()
