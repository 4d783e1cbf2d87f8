# %% gate_base/columns right: a softmax along the second-to-last axis
def gate_base(A, B, base, temp):
    gate = torch.softmax(A @ B / temp, dim=-2)
    return gate * base
# %% gate_base/columns right: transposes the factors, and uses the function of the lesson
def gate_base(A, B, base, temp):
    return make_weight(B.mT, A.mT, base.mT, temp).mT
# %% gate_base/columns right: one head after the other
def gate_base(A, B, base, temp):
    weights = []
    for a, b, free in zip(A, B, base):
        powers = torch.exp(a @ b / temp - (a @ b / temp).amax(dim=0))
        weights.append(free * powers / powers.sum(dim=0))
    return torch.stack(weights)
# %% gate_base/heads-compete right: a softmax along the first axis
def gate_base(A, B, base, temp):
    gate = torch.softmax(A @ B / temp, dim=0)
    return base * gate
# %% gate_base/heads-compete right: moves the heads to the end
def gate_base(A, B, base, temp):
    scores = torch.einsum("her,hrd->edh", A, B) / temp
    return base * scores.softmax(dim=-1).permute(2, 0, 1)
# %% gate_base/heads-compete right: from exp
def gate_base(A, B, base, temp):
    scores = torch.bmm(A, B) / temp
    powers = (scores - scores.amax(0)).exp()
    return powers * base / powers.sum(0)
# %% gate_base/closing right: one minus the softmax
def gate_base(A, B, base, temp):
    blocked = torch.softmax(A @ B / temp, dim=-1)
    return base * (1 - blocked)
# %% gate_base/closing right: subtracts what is blocked, with the function of the lesson
def gate_base(A, B, base, temp):
    return base - make_weight(A, B, base, temp)
# %% gate_base/closing right: one head after the other
def gate_base(A, B, base, temp):
    weights = []
    for a, b, free in zip(A, B, base):
        passing = 1 - torch.softmax((a @ b) / temp, dim=1)
        weights.append(passing * free)
    return torch.stack(weights)
# %% gate_base/neutral right: multiplies by the number of outputs
def gate_base(A, B, base, temp):
    gate = torch.softmax(A @ B / temp, dim=-1)
    return base * gate * base.shape[-1]
# %% gate_base/neutral right: divides by the mean of each row
def gate_base(A, B, base, temp):
    gate = torch.softmax(A @ B / temp, dim=-1)
    return base * gate / gate.mean(dim=-1, keepdim=True)
# %% gate_base/neutral right: with the function of the lesson
def gate_base(A, B, base, temp):
    return B.shape[2] * make_weight(A, B, base, temp)
# %% gate_base/neutral right: divides the powers by their mean
def gate_base(A, B, base, temp):
    scores = torch.einsum("her,hrd->hed", A, B) / temp
    powers = torch.exp(scores - scores.amax(-1, keepdim=True))
    return base * powers / powers.mean(-1, keepdim=True)
