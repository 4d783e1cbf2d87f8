"""The attention layers of the experiment, and the products of their weights.

A head's four matrices act only through two products. The scores are z_q · QK · zᵀ and the output is Σ weights · z · OV,
with QK = W_Qᵀ W_K / √D and OV = W_Vᵀ W_Oᵀ for weights [out, in] as in nn.Linear (Elhage et al., "A Mathematical
Framework for Transformer Circuits", 2021). The layers here compute with these products. The results are the same, and
for tokens of 6 numbers this needs much less work.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

INITS = ("random", "small_id", "small_id_qk", "oppo_small_id")
WRITES = ("token", "y")


class Layer(nn.Module):
    """The weights of `n_head` heads, each as wide as a token: `q_proj, k_proj, v_proj` [heads · D, D] and `o_proj`
    [n_out, heads · D]."""

    def __init__(self, n_embd: int, n_head: int, n_out: int) -> None:
        super().__init__()
        self.n_embd, self.n_head, self.n_out = n_embd, n_head, n_out
        for name in ("q_proj", "k_proj", "v_proj"):
            setattr(self, name, nn.Linear(n_embd, n_embd * n_head, bias=False))
        self.o_proj = nn.Linear(n_embd * n_head, n_out, bias=False)

    def initialise(self, init: str, gain_qk: float, gain_ov: float) -> None:
        """Set the initial values: the defaults of nn.Linear times a gain, or small multiples of the identity in every
        head."""
        eye, heads = torch.eye(self.n_embd), self.n_head
        with torch.no_grad():
            if init == "random":
                for proj, gain in (
                    (self.q_proj, gain_qk),
                    (self.k_proj, gain_qk),
                    (self.v_proj, gain_ov),
                    (self.o_proj, gain_ov),
                ):
                    proj.weight.mul_(gain)
                return
            size = 1e-4 if init == "small_id_qk" else 1e-6
            self.q_proj.weight.copy_(size * eye.repeat(heads, 1))
            self.k_proj.weight.copy_(size * eye.repeat(heads, 1))
            if init == "oppo_small_id":  # only the queries get the sign; with negated keys too, it would cancel
                self.q_proj.weight[heads // 2 * self.n_embd :].neg_()
            if init == "small_id":
                self.v_proj.weight.copy_(size * eye.repeat(heads, 1))
                if self.n_out == self.n_embd:
                    self.o_proj.weight.copy_(size * eye.repeat(1, heads))

    def qk_ov_products(self) -> tuple[Tensor, Tensor]:
        """Return QK [heads, D, D], which includes the scale 1/√D, and OV [heads, D, n_out]."""
        q, k, v = (
            p.weight.view(self.n_head, self.n_embd, self.n_embd) for p in (self.q_proj, self.k_proj, self.v_proj)
        )
        o = self.o_proj.weight.view(self.n_out, self.n_head, self.n_embd).permute(1, 2, 0)
        return q.mT @ k * self.n_embd**-0.5, v.mT @ o


class QueryLayer(Layer):
    """One layer whose questions attend only to the examples, not to questions: (z_q, z) to [n, queries, n_out].

    `allowed` [queries, L] is True at the examples to which a question may attend. The output is zero for a question
    that may attend to no example.
    """

    def forward(self, z_q: Tensor, z: Tensor, allowed: Tensor | None = None) -> Tensor:
        qk, ov = self.qk_ov_products()
        n, queries, D = z_q.shape
        queries_by_head = (z_q @ qk.permute(1, 0, 2).reshape(D, -1)).view(n, queries * self.n_head, D)
        scores = queries_by_head @ z.mT
        if allowed is None:
            weights = torch.softmax(scores, dim=-1)
        else:
            rows = allowed.repeat_interleave(self.n_head, dim=0)
            weights = torch.softmax(scores.masked_fill(~rows, -1e9), dim=-1) * rows
        mixed = (weights @ z).view(n, queries, self.n_head * D)
        return mixed @ ov.reshape(self.n_head * D, self.n_out)


class Stack(nn.Module):
    """Several layers on one residual stream, and a linear map that reads out the questions: (z_q, z) to [n, queries,
    n_out].

    Each layer adds the output of its heads, which attend to the examples, to every token. No token attends to a
    question.

    Args:
        weight_tying: True shares one set of weights between all layers.
        causal: True lets an example attend only to earlier examples, as in a language model; False lets it attend to
            all examples.
        writes: "token", or "y" if the layers may change only the last number of a token.
    """

    def __init__(
        self, n_embd: int, n_head: int, n_layers: int, n_out: int, weight_tying: bool, causal: bool, writes: str
    ) -> None:
        super().__init__()
        layers = [QueryLayer(n_embd, n_head, n_embd) for _ in range(1 if weight_tying else n_layers)]
        self.layers = nn.ModuleList(layers * n_layers if weight_tying else layers)
        self.final_linear = nn.Linear(n_embd, n_out, bias=False)
        self.causal = causal
        written = torch.ones(n_embd) if writes == "token" else torch.eye(n_embd)[-1]
        self.register_buffer("kept", written, persistent=False)

    def initialise(self, init: str, gain_qk: float, gain_ov: float) -> None:
        for layer in set(self.layers):
            layer.initialise(init, gain_qk, gain_ov)

    def streams(self, z_q: Tensor, z: Tensor) -> list[Tensor]:
        """Return the residual stream of the questions before the first layer and after each layer, [n, queries, D]
        each."""
        L, streams = z.shape[1], [z_q]
        allowed = torch.ones(L, L, dtype=torch.bool, device=z.device).tril(-1) if self.causal else None
        for layer in self.layers:
            streams.append(streams[-1] + self.kept * layer(streams[-1], z))
            if len(streams) <= len(self.layers):
                z = z + self.kept * layer(z, z, allowed)
        return streams

    def forward(self, z_q: Tensor, z: Tensor) -> Tensor:
        return self.final_linear(self.streams(z_q, z)[-1])


def build_model(config) -> nn.Module:
    """Build the untrained model of a `RegressionConfig` from its seed; the global random state does not change."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        if config.n_layers == 1:
            model = QueryLayer(config.d + 1, config.n_head, config.n_out)
        else:
            options = (config.weight_tying, config.causal, config.writes)
            model = Stack(config.d + 1, config.n_head, config.n_layers, config.n_out, *options)
        model.initialise(config.init, config.gain_qk, config.gain_ov)
    return model


def circuits(model: nn.Module) -> tuple[Tensor, list[Tensor]]:
    """Return the two products of every head: QK [layers, heads, D, D], and for each layer OV [heads, D, out].

    `model` is a `QueryLayer`, a `Stack`, or any module with `q_proj, k_proj, v_proj, o_proj` in the shapes of `Layer`.
    In a stack, the last layer's OV includes the final linear map.

    Raises:
        ValueError: the module has no such weights.
    """
    layers = list(getattr(model, "layers", [model]))
    with torch.no_grad():
        products = [_layer_products(layer) for layer in layers]
        ov = [o for _, o in products]
        if hasattr(model, "final_linear"):
            ov = [o * model.kept for o in ov]
            ov[-1] = ov[-1] @ model.final_linear.weight.mT
        return torch.stack([qk for qk, _ in products]), ov


def _layer_products(layer: nn.Module) -> tuple[Tensor, Tensor]:
    missing = [
        name
        for name in ("q_proj", "k_proj", "v_proj", "o_proj")
        if not isinstance(getattr(layer, name, None), nn.Linear)
    ]
    if missing:
        raise ValueError(
            f"{type(layer).__name__} has no nn.Linear called {', '.join(missing)}; circuits() needs q_proj,"
            " k_proj, v_proj and o_proj."
        )
    rows, D = layer.q_proj.weight.shape
    if rows % D:
        raise ValueError(f"q_proj returns {rows} numbers for a token of {D}; each head must be as wide as a token.")
    folded = Layer.__new__(Layer)
    nn.Module.__init__(folded)
    folded.n_embd, folded.n_head, folded.n_out = D, rows // D, layer.o_proj.weight.shape[0]
    folded.q_proj, folded.k_proj, folded.v_proj, folded.o_proj = layer.q_proj, layer.k_proj, layer.v_proj, layer.o_proj
    return folded.qk_ov_products()


@dataclass(frozen=True)
class HeadStatistics:
    """The deviation of a head from "w times the identity on x, and μ times y".

    Attributes:
        layer, head: the position of the head in the model.
        w, w_variance: the mean and the variance of QK's diagonal on x.
        qk_rest: the largest absolute value of the other entries in the x block of QK.
        mu: OV's entry from y to the first output, or to y in a stack's inner layers.
        ov_rest: the largest absolute value of the other entries in the same column of OV.
    """

    layer: int
    head: int
    w: float
    w_variance: float
    qk_rest: float
    mu: float
    ov_rest: float


def statistics(model: nn.Module) -> list[HeadStatistics]:
    """Compute the `HeadStatistics` of every head."""
    qk, ov = circuits(model)
    d = qk.shape[-1] - 1
    head_statistics = []
    for layer, (qks, ovs) in enumerate(zip(qk, ov)):
        for head, (block, column) in enumerate(zip(qks[:, :d, :d], ovs[:, :, -1])):
            diagonal = block.diagonal()
            rest = (block - diagonal.diag()).abs().max().item() if d > 1 else 0.0
            head_statistics.append(
                HeadStatistics(
                    layer,
                    head,
                    diagonal.mean().item(),
                    diagonal.var(correction=0).item(),
                    rest,
                    column[-1].item(),
                    column[:-1].abs().max().item(),
                )
            )
    return head_statistics
