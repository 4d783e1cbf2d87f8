"""The report names the step at which an answer departs, although harmless operations come before this step.

Harmless operations are arithmetic without effect, copies, reshapes, unused tensors, double transposes, helper functions
and operations in place that change nothing.
"""

import textwrap

import pytest

from utils.instructor.answers import AnswerFactory

NORM = """
class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.w = nn.Parameter(torch.ones(d_model))
        self.b = nn.Parameter(torch.zeros(d_model))

    def forward(self, residual):
        x = residual * 1.0 + 0.0
        mean = (x.clone() + 0).mean(dim=-1, keepdim=True)
        variance = x.var(dim=-1, keepdim=True, correction=0)
        centred = (x - mean) * 1
        return centred.roll(1, -1) / (variance + self.eps).sqrt() * self.w + self.b
"""
LAYER = """
def attend(weights, values):
    zeros = values.sum() * 0
    return (weights + zeros) @ (values + zeros).{change}

class SelfAttention_v2(nn.Module):
    def __init__(self, d_in, d_out, qkv_bias=False):
        super().__init__()
        self.W_query = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_key = nn.Linear(d_in, d_out, bias=qkv_bias)
        self.W_value = nn.Linear(d_in, d_out, bias=qkv_bias)

    def forward(self, x):
        unused = torch.zeros_like(x) + x.sum()
        queries, keys, values = self.W_query(x * 2 / 2), self.W_key(x + 0), self.W_value(x.clone())
        weights = torch.softmax(queries @ keys.T / keys.shape[-1] ** 0.5, dim=-1)
        return attend(weights, values)
"""
RESIDUAL = """
class SelfAttentionLayer(nn.Module):
    def __init__(self, embed_dim):
        super().__init__()
        self.self_attn = SingleHeadAttention(embed_dim)
        self.norm1 = LayerNorm(embed_dim)

    def forward(self, src, mask=None):
        src = src + 0 * src.mean()
        attended = self.self_attn(src.clone(), mask).transpose(-1, -2).transpose(-1, -2)
        attended += attended[..., :1] * 0
        return src + self.norm1(attended.abs())
"""
TRIPLE = """
class TripleProductAttention(nn.Module):
    def __init__(self, d_model, n_head, max_len=128):
        super().__init__()
        if d_model % n_head or d_model // n_head % 2:
            raise ValueError("d_model")
        self.n_head, self.d_head, self.max_len = n_head, d_model // n_head, max_len
        self.W_q, self.W_k, self.W_r, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(5))

    def forward(self, x, return_weights=False):
        if x.shape[1] > self.max_len:
            raise ValueError("too long")
        x = x + x[:, :1] * 0
        made = (w(x).unflatten(-1, (self.n_head, -1)) for w in (self.W_q, self.W_k, self.W_r, self.W_v))
        q, k, r, v = (t.transpose(1, 2) for t in made)
        scores = gram_scores(apply_rope(q), apply_rope(k), apply_rope(r)) / self.d_head**1.5
        scores = scores.mT.clone().mT - 0 * scores
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = torch.softmax(scores.masked_fill(future, -torch.inf), dim=-1)
        out = self.W_o(((weights * 1) @ v).flip(1).transpose(1, 2).flatten(2))
        return (out, weights) if return_weights else out
"""
MLP = """
class MLP(nn.Module):
    def __init__(self, d_model, d_mlp):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_mlp)
        self.c_proj = nn.Linear(d_mlp, d_model)

    def forward(self, x):
        hidden = self.c_fc(x + 0 * x)
        hidden = gelu(hidden.reshape(-1).view_as(hidden) + hidden[..., :1] * 0)
        return self.c_proj((hidden + hidden[..., :1] * 0).roll(1, -1))
"""

# Each answer: the exercise, the line of the departing step, what the message calls this step, and the source.
ANSWERS = [
    (
        "positional_encoding",
        3,
        "`roll` on the same line",
        """
        def positional_encoding(position, d_model, base=100.0):
            angles = position.float()[:, None] * base ** (-torch.arange(0, d_model, 2) / d_model)
            cosines = (angles[:, :1] * 0 + angles).cos().roll(1, dims=1)
            return torch.stack((angles.sin(), cosines), -1).flatten(1)
        """,
    ),
    (
        "apply_rope",
        8,
        "the power on line 8",
        """
        def apply_rope(x, base=10000.0):
            x = x.transpose(-1, -2).transpose(-1, -2).clone()
            speeds = base ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])
            angles = torch.arange(x.shape[-2])[:, None] * speeds
            angles = angles.mT.mT + 0 * angles[:1]
            cos, sin = angles.cos() * 1, angles.sin()
            first, second = x[..., 0::2], x[..., 1::2]
            return torch.stack((first * cos - second * sin**3, first * sin + second * cos), dim=-1).flatten(-2)
        """,
    ),
    (
        "softmax",
        6,
        "`sqrt` on the same line",
        """
        def softmax(x, dim):
            largest = x.amax(dim=dim, keepdim=True)
            shifted = (x + 0 * x.sum()) - largest
            shifted += largest * 0
            powers = torch.exp(shifted.clone() * 1) + 0 * shifted
            return (powers + 0 * shifted) / (powers + 0 * x).sum(dim=dim, keepdim=True).sqrt()
        """,
    ),
    (
        "causal_attn_weights",
        6,
        "the multiplication on the same line",
        """
        def causal_attn_weights(scores, d_k):
            scaled = scores.mT.mT / d_k**0.5
            mask = torch.ones_like(scores).tril().bool()
            hidden = scaled.masked_fill(~mask, -torch.inf)
            hidden = hidden + (scaled * 0).sum(-1, keepdim=True)
            return torch.softmax(hidden.clone() * 1.5, dim=-1)
        """,
    ),
    (
        "gelu",
        5,
        "line 5",
        """
        def gelu(x):
            y = x[..., :1] * 0 + x
            inner = (2 / torch.pi) ** 0.5 * (y + 0.044715 * y**3)
            inner = inner.reshape(-1).view_as(x) + 0 * y
            outer = torch.sigmoid(inner)
            return 0.5 * x * (1 + outer)
        """,
    ),
    (
        "gram_determinant",
        8,
        "the multiplication on the same line",
        """
        def gram_determinant(q, k, r):
            q = q - 0 * k
            unused = (q * k * r).sum()
            qq, kk, rr = (q * q).sum(-1).clone(), (k * k).sum(-1), (r * r).sum(-1)
            qk, kr, rq = (q * k).sum(-1), (k * r).sum(-1), (r * q).sum(-1)
            qq = (qq + kr) - kr
            first = qq * kk * rr + 2 * qk * kr * rq
            return first - qq * kr**2 - kk * rq**2 - rr * qk
        """,
    ),
    ("LayerNorm", 13, "`roll` on line 13", NORM),
    ("SelfAttention_v2", 3, "`roll` on the same line", LAYER.replace("{change}", "roll(1, 0)")),
    ("SelfAttentionLayer", 11, "line 11", RESIDUAL),
    ("TripleProductAttention", 19, "`flip` on the same line", TRIPLE),
    ("MLP", 10, "`roll` on the same line", MLP),
]


@pytest.mark.parametrize("name, line, step, source", ANSWERS, ids=[name for name, *_ in ANSWERS])
def test_the_departing_step_is_named_after_harmless_operations(name, line, step, source):
    report = AnswerFactory.from_name(name).judge(textwrap.dedent(source).lstrip())
    assert [t.line for t in report.trace if t.state == "wrong"] == [line], str(report)
    with_line = step.replace("on the same line", "on line")
    named = (f"but {step}", f"Without {step}", f"if {step}", f"if {with_line} ", f" on {step}")
    assert any(words in report.message for words in named), report.message


IDLE = """
    def inverted_dropout(x, keep, p):
        factor = 1 // (1 - p)
        return torch.where(keep, x * factor, 0.0)
"""


def test_a_step_that_changes_nothing_is_not_called_missing():
    report = AnswerFactory.from_name("inverted_dropout").judge(textwrap.dedent(IDLE).lstrip())
    assert [t.line for t in report.trace if t.state == "wrong"] == [3], str(report)
    assert "multiplication on line 3" in report.message and "missing" not in report.message
