# %% make_weight wrong (shape): gate @ base, a matrix product where entries should be multiplied
def make_weight(
    A: Float[Tensor, "*heads embed_dim rank"],
    B: Float[Tensor, "*heads rank d_head"],
    base: Float[Tensor, "*heads embed_dim d_head"] | None = None,
    temp: float = 1.0,
) -> Float[Tensor, "*heads embed_dim d_head"]:
    """The gate softmax(A B / temp), each row sharing out one unit; times base where there is one."""
    gate = torch.softmax(A @ B / temp, dim=-1)
    return gate if base is None else gate @ base.transpose(-1, -2)

# %% lr_at wrong (misconception tenth-added): the cosine is added to a tenth of the rate, so it begins at 1.1 of it
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step < warmup_steps:
        return base_lr * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / (steps - warmup_steps)
    return base_lr / 10 + 0.5 * base_lr * (1 + math.cos(math.pi * progress))

# %% lr_at right (passed): interpolation between the two ends with a sine
def lr_at(step: int, steps: int, base_lr: float, warmup_steps: int) -> float:
    """Linear warm-up to base_lr, then half a cosine down to base_lr / 10."""
    if step + 1 <= warmup_steps:
        return (step + 1) * base_lr / warmup_steps
    done = (step - warmup_steps) / (steps - warmup_steps)
    share = math.cos(math.pi / 2 * done) ** 2
    return share * base_lr + (1 - share) * base_lr / 10
