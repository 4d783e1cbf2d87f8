"""Lesson 07: right answers, written differently, and the claims of its prose."""

import math

import pytest
import torch
from torch import nn


def _pe_by_slices(position, d_model, base=100.0):
    pe = torch.zeros(len(position), d_model)
    speeds = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(base) / d_model))
    pe[:, 0::2] = torch.sin(position[:, None] * speeds)
    pe[:, 1::2] = torch.cos(position[:, None] * speeds)
    return pe


def _pe_by_loops(position, d_model, base=100.0):
    rows = [[(math.sin if j % 2 == 0 else math.cos)(float(p) / base ** (2 * (j // 2) / d_model)) for j in range(d_model)] for p in position]
    return torch.tensor(rows)


def _pe_by_shift(position, d_model, base=100.0):
    entry = torch.arange(d_model)
    return torch.sin(position[:, None] * base ** -((entry - entry % 2) / d_model) + (entry % 2) * math.pi / 2)


class PEAdded(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        if d_model % 2:
            raise ValueError(f"d_model must be even; got {d_model}")
        self.register_buffer("pe", _pe_by_slices(torch.arange(max_len).float(), d_model))

    def forward(self, x):
        if x.shape[-2] > len(self.pe):
            raise ValueError("too long")
        return x + self.pe[: x.shape[-2]]


class PENotSaved(PEAdded):
    def __init__(self, d_model, max_len=5000):
        nn.Module.__init__(self)
        self.register_buffer("table", _pe_by_shift(torch.arange(max_len), d_model), persistent=False)

    def forward(self, x):
        return torch.add(x, self.table.narrow(0, 0, x.size(-2)))


class PEOnTheFly(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        self.d_model, self.max_len = d_model, max_len

    def forward(self, x):
        return x + _pe_by_slices(torch.arange(x.shape[-2], dtype=torch.float), self.d_model)


def _rope_by_stack(x, base=10000.0):
    d = x.shape[-1]
    angle = torch.arange(x.shape[-2])[:, None] * base ** (-torch.arange(0, d, 2) / d)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()), dim=-1).flatten(-2)


def _rope_by_matrices(x, base=10000.0):
    d = x.shape[-1]
    angle = torch.arange(x.shape[-2])[:, None] * base ** (-torch.arange(0, d, 2) / d)
    turn = torch.stack((torch.stack((angle.cos(), -angle.sin()), -1), torch.stack((angle.sin(), angle.cos()), -1)), -2)
    return torch.einsum("sdij,...sdj->...sdi", turn, x.unflatten(-1, (d // 2, 2))).flatten(-2)


def _rope_by_slices(x, base=10000.0):
    d, out = x.shape[-1], torch.empty_like(x)
    for i in range(d // 2):
        t = torch.arange(x.shape[-2]) / base ** (2 * i / d)
        out[..., 2 * i] = x[..., 2 * i] * t.cos() - x[..., 2 * i + 1] * t.sin()
        out[..., 2 * i + 1] = x[..., 2 * i] * t.sin() + x[..., 2 * i + 1] * t.cos()
    return out


RIGHT = {
    "positional_encoding": [_pe_by_slices, _pe_by_loops, _pe_by_shift],
    "PositionalEncoding": [PEAdded, PENotSaved, PEOnTheFly],
    "apply_rope": [_rope_by_stack, _rope_by_matrices, _rope_by_slices],
}
