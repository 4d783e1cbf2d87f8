"""Lesson 09: right answers, written differently, and the claims of its prose."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from utils.sorting import SEP, VOCAB, encode


def _make_weight(A, B, base=None, temp=1.0):
    gate = torch.softmax(A @ B / temp, dim=-1)
    return gate if base is None else base * gate


class ByEinsum(nn.Module):
    def __init__(self, embed_dim, num_heads, context_length, rank=3, temp=1.0, strict=False):
        super().__init__()
        self.temp, self.num_heads, self.d_head = temp, num_heads, embed_dim // num_heads
        for n in "qkv":
            setattr(self, f"{n}A", nn.Parameter(torch.randn(num_heads, embed_dim, rank)))
            setattr(self, f"{n}B", nn.Parameter(torch.randn(num_heads, rank, self.d_head)))
            self.register_parameter(f"{n}_base", None if strict else nn.Parameter(torch.randn(num_heads, embed_dim, self.d_head)))
        self.o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.register_buffer("mask", torch.ones(context_length, context_length, dtype=torch.bool).tril())

    def project(self, x):
        return [
            torch.einsum("bse,hed->bhsd", x, _make_weight(getattr(self, f"{n}A"), getattr(self, f"{n}B"), getattr(self, f"{n}_base"), self.temp))
            for n in "qkv"
        ]

    def forward(self, x, return_weights=False):
        q, k, v = self.project(x)
        seq = x.shape[1]
        scores = (q @ k.mT / self.d_head**0.5).masked_fill(~self.mask[:seq, :seq], -torch.inf)
        weights = scores.softmax(-1)
        y = self.o((weights @ v).transpose(1, 2).flatten(2))
        return (y, weights) if return_weights else y


class OneHeadAtATime(ByEinsum):
    def forward(self, x, return_weights=False):
        outs, patterns = [], []
        for h in range(self.num_heads):
            W = [_make_weight(getattr(self, f"{n}A")[h], getattr(self, f"{n}B")[h], None if self.q_base is None else getattr(self, f"{n}_base")[h], self.temp)
                 for n in "qkv"]
            q, k, v = (x @ w for w in W)
            blocked = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
            w = F.softmax((q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])).masked_fill(blocked, float("-inf")), -1)
            outs.append(w @ v)
            patterns.append(w)
        y = self.o(torch.cat(outs, -1))
        return (y, torch.stack(patterns, 1)) if return_weights else y


class ByTorch(ByEinsum):
    def forward(self, x, return_weights=False):
        q, k, v = self.project(x)
        y = self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).permute(0, 2, 1, 3).reshape(x.shape))
        if return_weights:
            eye = torch.eye(x.shape[1]).expand(*q.shape[:2], -1, -1)
            return y, F.scaled_dot_product_attention(q, k, eye, is_causal=True)
        return y


def _softmax_rows(A, B, base=None, temp=1.0):
    table = torch.matmul(A, B).div(temp)
    gate = torch.exp(table - table.logsumexp(-1, keepdim=True))
    return gate if base is None else torch.mul(gate, base)


def _weight_by_loop(A, B, base=None, temp=1.0):
    if A.dim() == 3:
        bases = [None] * len(A) if base is None else base
        return torch.stack([_weight_by_loop(a, b, c, temp) for a, b, c in zip(A, B, bases)])
    rows = torch.stack([F.softmax((row @ B) / temp, dim=0) for row in A])
    return rows if base is None else rows * base


def _rate_by_cases(step, steps, base_lr, warmup_steps):
    if step >= warmup_steps:
        t = (step - warmup_steps) / max(1, steps - warmup_steps)
        return base_lr * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * t)))
    return base_lr * (step + 1) / warmup_steps


def _rate_by_half_angle(step, steps, base_lr, warmup_steps):
    climbed = min(1.0, (step + 1) / warmup_steps)
    t = max(0, step - warmup_steps) / (steps - warmup_steps)
    return climbed * base_lr * (1 - 0.9 * math.sin(math.pi * t / 2) ** 2)


def _rate_by_torch(step, steps, base_lr, warmup_steps):
    if step < warmup_steps:
        return base_lr * float(torch.linspace(1 / warmup_steps, 1, warmup_steps, dtype=torch.float64)[step])
    t = torch.tensor((step - warmup_steps) / (steps - warmup_steps), dtype=torch.float64)
    return float(base_lr * torch.lerp(torch.tensor(0.1, dtype=torch.float64), torch.tensor(1.0, dtype=torch.float64), (1 + torch.cos(t * torch.pi)) / 2))


def _sort_in_a_loop(model, letters):
    ids = encode(letters)
    for _ in range(3):
        logits = model(ids)[0, -1].clone()
        logits[SEP] = -float("inf")
        ids = torch.cat([ids, logits.argmax()[None, None]], dim=1)
    return "".join(VOCAB[i] for i in ids[0, -3:].tolist())


def _sort_with_a_list(model, letters):
    ids = encode(letters)[0].tolist()
    while len(ids) < 7:
        scores = model(torch.tensor([ids]))[0][-1].tolist()
        ids.append(max((1, 2, 3), key=lambda i: scores[i]))
    return VOCAB[ids[4]] + VOCAB[ids[5]] + VOCAB[ids[6]]


def _sort_by_words(model, letters):
    said = ""
    while len(said) < 3:
        known = torch.tensor([["·abc".index(c) for c in letters + "·" + said]])
        said += "abc"[int(model(known).squeeze(0)[-1][1:].argmax())]
    return said


RIGHT = {
    "make_weight": [_make_weight, _softmax_rows, _weight_by_loop],
    "DeepQKVAttention": [ByEinsum, OneHeadAtATime, ByTorch],
    "lr_at": [_rate_by_cases, _rate_by_half_angle, _rate_by_torch],
    "sort_letters": [_sort_in_a_loop, _sort_with_a_list, _sort_by_words],
}
